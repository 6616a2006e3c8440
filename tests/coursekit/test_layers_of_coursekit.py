"""Who may know whom: read from the imports, so that a wrong arrow is seen before it has become a habit."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Each package, and the other packages of this repository that it may import.
PACKAGES = {
    "minilib": {"warplens"},  # the course's tools are not needed to use the library
    "warplens": set(),
}
# Each room of coursekit, and what of coursekit it may import. "shared" are the files beside the rooms.
ROOMS = {
    "shared": set(),
    "box": set(),  # what enters the grader's box sees nothing but itself
    "pictures": set(),  # what lessons and rewards draw with
    "turns": {"shared"},  # what a lesson says to what its reader wrote
    "install": {"shared"},
    "make": {"shared"},
    "grading": {"shared", "box", "make"},
    "mine": {"shared", "make", "grading", "pictures"},  # grading says which answers pass
    "testing": {"shared"},
    "__main__": {
        "shared",
        "install",
    },  # the other rooms it imports by name, for the command that was asked for
}
# What runs before anything is installed, and with it all that these import at once.
BARE = ("__main__", "install.bootstrap", "install.lab", "install.doctor", "make.edit")


def modules(package: str) -> dict[str, Path]:
    """The files of a package by the name that imports them."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


COURSEKIT = modules("coursekit")


def room(module: str) -> str:
    """The room in which a module of coursekit lies."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else "shared"


def imports(path: Path, *, at_once: bool = False, root: Path = ROOT) -> Iterator[str]:
    """The full names that a file imports; `at_once`: leaves out what only a call of a function imports."""
    package = path.relative_to(root).parent.parts
    for node in statements(ast.parse(path.read_text(encoding="utf-8")), at_once):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            origin = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def statements(tree: ast.AST, at_once: bool) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        yield node
        if not (at_once and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)):
            yield from statements(node, at_once)


def module_of(name: str) -> str:
    """The module of coursekit that an imported name is, or comes from."""
    while name not in COURSEKIT:
        name = name.rpartition(".")[0]
    return name


def of_package(name: str, package: str) -> bool:
    return name.partition(".")[0] == package


def test_every_room_is_in_the_table() -> None:
    folders = {path.parent.name for path in (ROOT / "coursekit").glob("*/__init__.py")}
    assert folders == ROOMS.keys() - {"shared", "__main__"}


@pytest.mark.parametrize("name", COURSEKIT)
def test_a_room_imports_what_the_table_allows(name: str) -> None:
    mine = room(name)
    found = {module_of(one) for one in imports(COURSEKIT[name]) if of_package(one, "coursekit")}
    wrong = {one for one in found if room(one) not in ROOMS[mine] | {mine}}
    assert not wrong, f"{name} is in {mine}, which may import {sorted(ROOMS[mine])}"


@pytest.mark.parametrize("package", PACKAGES)
def test_the_libraries_know_nothing_of_the_course(package: str) -> None:
    others = {"coursekit", "benchmarks", "tests", *PACKAGES} - {package} - PACKAGES[package]
    wrong = {
        (name, one)
        for name, path in modules(package).items()
        for one in imports(path)
        if any(of_package(one, other) for other in others)
    }
    assert not wrong


def test_a_fresh_machine_needs_the_standard_library_alone() -> None:
    waiting, seen = [f"coursekit.{name}" for name in BARE], {"coursekit"}
    while waiting:
        name = waiting.pop()
        seen.add(name)
        for one in imports(COURSEKIT[name], at_once=True):
            if of_package(one, "coursekit"):
                waiting += {module_of(one)} - seen
            else:
                assert one.partition(".")[0] in sys.stdlib_module_names, f"{name} imports {one}"
    assert {"coursekit.course", "coursekit.files", "coursekit.machine"} <= seen


def test_imports_are_read_as_python_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.py"
    path.parent.mkdir(parents=True)
    path.write_text("import x.y\nfrom . import d\nfrom ..e import f\n\n\ndef late():\n    from g import h\n")
    assert list(imports(path, root=tmp_path)) == ["x.y", "a.b.d", "a.e.f", "g.h"]
    assert list(imports(path, at_once=True, root=tmp_path)) == ["x.y", "a.b.d", "a.e.f"]
