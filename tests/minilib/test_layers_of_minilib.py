"""Who may know whom in minilib: the imports of its files, held against a table."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TypeGuard

import pytest

import minilib

FOLDER = Path(minilib.__file__).parent

# For each room, the rooms and packages that it may import; everybody may import the standard library. A room
# is a file ("tensor.core" is tensor/core.py, "tensor" its __init__.py) or, with a slash, a folder's files.
ROOMS = {
    "minilib": "",
    "scalar": "",
    "reference": "numpy engine dag functional functional/ nn optim tensor",  # imported by nobody
    "parallel": "numpy threadpoolctl",
    "sums": "numpy",
    "engine": "numpy sums",
    "operations": "numpy engine sums",
    "tensor.random": "numpy",
    "tensor.rules": "numpy engine operations",
    "tensor.hooks": "",
    "tensor.arguments": "numpy engine",
    "tensor.applying": "numpy engine operations tensor.rules",
    "tensor.composed": "numpy engine operations tensor.applying tensor.rules",
    "tensor.outside": "numpy engine",
    "tensor.core": "numpy engine operations sums tensor.rules tensor.random tensor.hooks tensor.applying "
    "tensor.composed tensor.outside functional/",  # softmax and log_softmax, when they are first called
    "tensor.functions": "engine operations tensor.applying tensor.core tensor.rules",
    "tensor.creation": "numpy engine tensor.core tensor.rules tensor.random",
    "tensor.derivatives": "numpy engine tensor.core",
    "names": "numpy tensor.core",
    "tensor": "engine operations names parallel tensor.applying tensor.core tensor.rules tensor.random "
    "tensor.functions tensor.creation tensor.derivatives tensor.hooks tensor.arguments",
    "functional/": "numpy tensor parallel cuda/",  # its kernels, where they are asked for
    "init": "tensor",
    "nn": "numpy safetensors tensor functional/ init",
    "optim": "numpy tensor parallel",
    "data": "numpy tensor sklearn",
    "bpe": "numpy regex huggingface_hub",
    "train/": "numpy tensor functional/ nn optim data parallel "
    "IPython matplotlib safetensors threadpoolctl tqdm",
    "sampling": "numpy tensor",
    "gpt": "tensor functional/ nn optim sampling pretrained",  # which it imports when it is asked for weights
    "mamba": "numpy tensor functional/ nn optim sampling pretrained",  # the same
    "pretrained": "numpy safetensors huggingface_hub tensor nn gpt mamba",
    "projects/": "numpy tensor functional/ nn optim data gpt mamba train/ tqdm",
    "draw/": "graphviz pygraphviz matplotlib PIL",  # imported by nobody
    "gpu.loops": "numpy cuda/ engine gpu/ graph/ operations tensor",  # imported by nobody
    "gpu/": "numpy cuda/ engine operations tensor functional/ optim parallel",
    "compiled/": "numpy numba engine operations tensor functional/ optim parallel",  # imported by nobody
    "meta": "numpy engine",
    "dims": "",
    "dag": "",
    "graph/": "numpy engine operations dag dims wire safetensors",  # never Tensor
    "library/": "numpy engine meta tensor",
    "interop": "",
    "interop.operators": "numpy tensor functional/",  # imported by lessons and interop.torch
    "interop.torch": "numpy torch tensor functional/ cuda/ gpu/ interop.operators",  # imported by nobody
    "wire": "",
    "infer.__main__": "numpy infer/ onnxruntime",  # to compare with, where it is asked for
    "infer/": "numpy dims wire dag",  # a program that only runs models imports nothing else
    "cuda/": "warplens numpy cupy IPython matplotlib pygments",
}


def name_of(path: Path) -> str:
    """The dotted name of a file below minilib: "tensor.core", "tensor"; "minilib" for its own __init__.py."""
    parts = path.relative_to(FOLDER).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "minilib"


EXTENSION = FOLDER / "interop" / "extension"  # a package of its own, which imports nothing of minilib
FILES = {name_of(path): path for path in sorted(FOLDER.rglob("*.py")) if EXTENSION not in path.parents}


def room_of(name: str) -> str | None:
    """The room that a file of this dotted name is in; None where the table has no line for it."""
    folder = name.partition(".")[0] + "/"
    return name if name in ROOMS else folder if folder in ROOMS else None


def imported_names(node: ast.Import | ast.ImportFrom, package: list[str]) -> Iterator[str]:
    """What a statement imports, as absolute dotted names; `package` is that of the file."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    start = package[: len(package) - node.level + 1] if node.level else []
    module = ".".join([*start, *([node.module] if node.module else [])])
    for alias in node.names:
        inner = f"{module}.{alias.name}"
        yield inner if inner.removeprefix("minilib.") in FILES else module


def is_for_types_only(node: ast.AST) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imported_by_name(node: ast.AST) -> str | None:
    """What `import_module("minilib.nn")` imports; None for all that is no such call."""
    match node:
        case ast.Call(
            func=ast.Name("import_module" | "__import__") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(str(name)), *_],
        ):
            return name
    return None


def imports(node: ast.AST, package: list[str], lazy: bool = True) -> Iterator[str]:
    """What this code imports at run time; without `lazy`, only what it does while it is imported itself."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from imported_names(node, package)
    elif name := imported_by_name(node):
        yield name
    elif is_for_types_only(node):
        yield from (name for other in node.orelse for name in imports(other, package, lazy))
    elif lazy or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from (name for child in ast.iter_child_nodes(node) for name in imports(child, package, lazy))


def imports_of(name: str, lazy: bool = True) -> set[str]:
    """The files of minilib, by dotted name, and the packages that a file imports."""
    path = FILES[name]
    package = ["minilib", *path.parent.relative_to(FOLDER).parts]
    found = imports(ast.parse(path.read_text(encoding="utf-8")), package, lazy)
    return {
        one.removeprefix("minilib.") if one.partition(".")[0] == "minilib" else one.partition(".")[0]
        for one in found
        if one.partition(".")[0] not in sys.stdlib_module_names
    }


@pytest.mark.parametrize("name", FILES)
def test_a_file_knows_only_whom_its_room_may_know(name: str) -> None:
    room = room_of(name)
    assert room is not None, (
        f'{FILES[name].relative_to(FOLDER.parent)} is in no room: add a line "{name}": "..." to ROOMS, '
        "with the rooms and packages that it may import"
    )
    allowed = {room, *ROOMS[room].split()}
    strangers = {one for one in imports_of(name) if (room_of(one) or one) not in allowed}
    assert not strangers, f"{name} ({room}) may know {sorted(allowed)}, and imports {sorted(strangers)}"


def test_the_table_has_no_line_for_what_is_not_there() -> None:
    rooms = {room_of(name) for name in FILES}
    assert sorted(ROOMS.keys() - rooms) == []


def test_imports_make_no_circle() -> None:
    """The simulator is not looked at: its files have a test of their own."""
    graph = {
        name: {one for one in imports_of(name, lazy=False) if one in FILES and one != name}
        for name in FILES
        if room_of(name) != "cuda/"
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' <- '.join(error.args[1])}")


def test_what_a_statement_imports_is_found() -> None:
    code = """
if TYPE_CHECKING:
    from minilib.tensor import Tensor
else:
    import cupy
from minilib import functional as F, scalar
from . import core
from .core import Tensor
from ..engine import Function

def late():
    import numpy.linalg
    importlib.import_module("minilib.nn")
"""
    found = set(imports(ast.parse(code), ["minilib", "tensor"]))
    assert found == {
        *("minilib.functional", "minilib.scalar", "minilib.tensor.core", "minilib.engine", "minilib.nn"),
        *("cupy", "numpy.linalg"),
    }
    assert "numpy.linalg" not in set(imports(ast.parse(code), ["minilib", "tensor"], lazy=False))
