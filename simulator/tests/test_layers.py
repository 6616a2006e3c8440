"""Who imports whom in warplens, read from the sources: nothing of the course, and nobody in a circle."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import warplens

FOLDER = Path(warplens.__file__).parent
FILES = {
    ".".join(("warplens", *path.relative_to(FOLDER).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(FOLDER.rglob("*.py"))
}


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text(encoding="utf-8"))


def run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """What is below `node`, but for functions, and what only type checkers read."""
    for inner in ast.iter_child_nodes(node):
        for_types = isinstance(inner, ast.If) and ast.unparse(inner.test) == "TYPE_CHECKING"
        if not for_types and not isinstance(inner, ast.FunctionDef):
            yield inner
            yield from run_at_import(inner)


@cache
def used(module: str) -> frozenset[str]:
    """All that a module imports, within functions too."""
    return frozenset(imported(module, ast.walk(tree(module))))


def imported(module: str, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The modules that some part of `module` imports."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            parts = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (part if part in FILES else str(node.module) for part in parts)


def test_nothing_of_the_course_is_imported() -> None:
    others = {(module, name.partition(".")[0]) for module in FILES for name in used(module)}
    assert [pair for pair in others if pair[1] in ("minilib", "coursekit", "tests", "benchmarks")] == []


def test_nobody_imports_in_a_circle() -> None:
    graph = {module: FILES.keys() & imported(module, run_at_import(tree(module))) for module in FILES}
    TopologicalSorter(graph).prepare()  # raises CycleError, which shows the circle


def test_each_class_has_a_name_of_its_own() -> None:
    classes = Counter(
        node.name for module in FILES for node in ast.walk(tree(module)) if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in classes.items() if count > 1] == []


def test_each_module_has_a_name_of_its_own() -> None:
    names = Counter(module.rpartition(".")[2] for module, path in FILES.items() if path.stem[0] != "_")
    assert [name for name, count in names.items() if count > 1] == []


# Rooms of the package, and whose modules each may use: what is imported within functions counts too, and what
# only type checkers read. Below them stand backend.py and errors.py, above them the modules at the top.
ROOMS = {
    "language": {"errors"},
    "report": {"errors"},
    "detect": {"errors", "report"},
    "analysis": {"errors", "language", "report"},
    "engine": {"errors", "device", "language", "report", "detect", "analysis"},
    "device": {"errors", "backend"},
}


def room(module: str) -> str:
    return (*module.split("."), "")[1]


def test_each_room_imports_only_those_below_it() -> None:
    rooms = {name: set[str]() for name in ROOMS}
    for module in FILES:
        for name in used(module):
            if name.startswith("warplens.") and room(module) in ROOMS:
                rooms[room(module)].add(room(name))
    assert {name: found - {name} - ROOMS[name] for name, found in rooms.items()} == {
        name: set() for name in ROOMS
    }


def test_no_late_import_hides_a_circle_in_the_language_the_detector_or_the_report() -> None:
    own = [module for module in FILES if room(module) in ("language", "detect", "report")]
    graph = {module: FILES.keys() & used(module) for module in own}
    TopologicalSorter(graph).prepare()


def test_what_is_plain_data_of_a_report_knows_nothing_of_showing_it() -> None:
    shown = {"advice", "page", "pictures", "report", "tables", "text", "trace"}
    todo, seen = ["warplens.report.data"], set[str]()
    while todo:
        module = todo.pop()
        seen.add(module)
        todo += (FILES.keys() & used(module)) - seen
    assert seen & {f"warplens.report.{name}" for name in shown} == set()
