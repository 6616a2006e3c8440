"""Each `cp.name` of the course is in CuPy 13, CuPy 14 and the stand-in, with the parameters it is given."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import pytest
from cupy_names import VERSIONS, found, has, parameters, record, recorded

from warplens import RawKernel, RawModule
from warplens.device.array import ndarray
from warplens.device.names import FUNCTIONS, METHODS, OWN, RANDOM, SAME, UFUNCS
from warplens.device.stand_in import cp

ROOT = Path(__file__).parents[2]


class Use(NamedTuple):
    """`cp.random.normal(size=3)`: the path "random.normal", and what it is called with by name."""

    path: str
    keywords: tuple[str, ...]
    where: str


def uses(source: str, where: str, roots: tuple[str, ...]) -> Iterator[Use]:
    """What Python source takes from an array module that is called by one of `roots`."""
    tree = ast.parse(source)
    keywords = {
        id(node.func): tuple(k.arg for k in node.keywords if k.arg)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }
    inner = set()
    for node in ast.walk(tree):  # outer attributes come before those within
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            path, below = [node.attr], node.value
            while isinstance(below, ast.Attribute) and below.attr not in roots:
                inner.add(id(below))
                path.insert(0, below.attr)
                below = below.value
            if _is_root(below, roots) and path != ["__name__"]:  # which every module has
                yield Use(".".join(path), keywords.get(id(node), ()), f"{where}:{node.lineno}")


def _is_root(node: ast.expr, roots: tuple[str, ...]) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in roots
        case ast.Call(func=ast.Name(id="array_module")):
            return "xp" in roots
    return False


def cells(path: Path) -> Iterator[tuple[str, str]]:
    """The Python of a notebook, cell by cell, without magics."""
    for number, cell in enumerate(nbformat.read(path, as_version=4).cells):
        if cell.cell_type == "code" and not cell.source.lstrip().startswith("%%"):
            lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in cell.source.split("\n")]
            yield "\n".join(lines), f"{path.relative_to(ROOT)}, cell {number}"


@cache
def all_uses() -> tuple[Use, ...]:
    made: list[Use] = []
    for folder in ("chapters", "exercises", "solutions"):
        for path in sorted((ROOT / folder).glob("*.ipynb")):
            for source, where in cells(path):
                made += uses(source, where, ("cp", "xp"))
    for path in sorted(
        path for folder in ("minilib", "simulator/warplens") for path in (ROOT / folder).rglob("*.py")
    ):
        made += uses(path.read_text(encoding="utf-8"), path.name, ("cp", "xp", "cupy"))
    for name in (
        "helpers/lesson_kernels.py",
        "../simulator/tests/helpers/agreement.py",
        "gpu/both.py",
        "gpu/test_facade.py",
        "gpu/test_kernels.py",
    ):
        path = ROOT / "tests" / name
        if path.exists():
            made += uses(path.read_text(encoding="utf-8"), name, ("cp", "cupy"))
    return tuple(made)


def ours(path: str) -> bool:
    try:
        found(cp, path)
    except AttributeError:
        return False
    return True


# For a GPU alone: warplens.through_cupy, minilib.interop.torch and their tests use them of the real CuPy.
ONLY_CUPYS = {"RawModule", "cuda.ExternalStream", "cuda.UnownedMemory", "from_dlpack"}


@pytest.mark.slow
def test_uses_are_found_in_every_form() -> None:
    source = (
        "x = cp.random.normal(size=3) + cp.add.at\ny = self.xp.where(x.data.xp.pi, 1, 2)\n"
        "array_module(x).exp(cp.float32(1).item())"
    )
    assert [(use.path, use.keywords) for use in sorted(uses(source, "", ("cp", "xp")))] == [
        ("add.at", ()), ("exp", ()), ("float32", ()), ("pi", ()), ("random.normal", ("size",)), ("where", ()),
    ]  # fmt: skip
    assert len({use.path for use in all_uses()}) > 40


@pytest.mark.slow
def test_the_stand_in_has_every_name_that_is_used() -> None:
    assert [use for use in all_uses() if use.path not in ONLY_CUPYS and not ours(use.path)] == []


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_cupy_has_every_name_that_is_used(version: str) -> None:
    assert [use for use in all_uses() if not has(recorded(version), use.path)] == []


OTHERS = {"einsum": ("optimize",)}  # taken as **kwargs, and in CuPy's documentation


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_given_by_name_is_called_so_in_cupy(version: str) -> None:
    known = recorded(version)["parameters"]
    wrong = [
        (use, known[use.path])
        for use in all_uses()
        if use.path in known
        and use.path not in UFUNCS
        and {*use.keywords} - {*known[use.path], *OTHERS.get(use.path, ()), "dtype", "out"}
    ]
    assert wrong == []


# ----------------------------------------------------------------------------------- the stand-in as a whole


@pytest.mark.parametrize("version", VERSIONS)
def test_cupy_has_every_name_of_the_stand_in(version: str) -> None:
    names = [*UFUNCS, *FUNCTIONS, *OWN, *SAME, *(f"random.{name}" for name in RANDOM)]
    names += [name for name in dir(cp) if not name.startswith("_")]
    names += [f"ndarray.{name}" for name in vars(ndarray) if not name.startswith("_")]
    names += [f"cuda.{name}" for name in vars(cp.cuda)]
    names += [f"cuda.runtime.{name}" for name in vars(cp.cuda.runtime)]
    for kind in ("Device", "Event", "MemoryPool", "Stream"):
        names += [f"cuda.{kind}.{name}" for name in vars(getattr(cp.cuda, kind)) if not name.startswith("_")]
    names += [f"random.Generator.{name}" for name in vars(cp.random.Generator) if not name.startswith("_")]
    assert [name for name in names if not has(recorded(version), name)] == []


VARIADIC = {
    "meshgrid",
    "broadcast_arrays",
    "einsum",
    "atleast_1d",
    "atleast_2d",
    "result_type",
    "pad",
    "matmul",
}


@pytest.mark.parametrize("version", VERSIONS)
def test_functions_of_the_stand_in_have_cupys_parameters_in_cupys_order(version: str) -> None:
    known = recorded(version)["parameters"]
    rows = {name: words for name, words in FUNCTIONS.items() if name not in VARIADIC}
    rows |= {f"ndarray.{name}": words for name, words in METHODS.items() if name != "transpose"}
    wrong = []
    for name, words in rows.items():
        theirs = [word.lstrip("*") for word in known.get(name, ())]
        if not theirs:
            continue
        plain = [word.rstrip("!?[]").lstrip("*") for word in words if word not in ("/", "*")]
        unnamed = words.index("/") if "/" in words else 0
        positional = words[: words.index("*")] if "*" in words else words
        count = len([word for word in positional if word != "/"])
        if plain[unnamed:count] != theirs[unnamed:count] or set(plain[unnamed:]) - set(theirs):
            wrong.append((name, plain, theirs))
    assert wrong == []


WRITTEN_OUT = "array", "asarray", "ascontiguousarray", "asfortranarray", "asnumpy", "empty"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [*WRITTEN_OUT, *(f"random.{n}" for n in RANDOM)])
def test_what_is_written_out_has_cupys_parameters(name: str, version: str) -> None:
    theirs = recorded(version)["parameters"].get(name)
    if theirs is None or name in ("random.rand", "random.randn", "random.Generator"):
        pytest.skip("CuPy does not tell its parameters by name")
    mine = parameters(found(cp, name))
    assert mine == [each for each in theirs if each in (mine or ())]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("ours", [RawKernel, RawModule])
def test_raw_kernels_and_modules_take_what_cupys_take(ours: Any, version: str) -> None:
    theirs = recorded(version)["parameters"][ours.__name__]
    mine = [name for name in parameters(ours) or () if name != "name" or ours is RawKernel]
    assert sorted(mine) == sorted(theirs)
    if ours is RawKernel:  # RawModule's are all by name
        assert mine == theirs


# --------------------------------------------------------------------------------------- a CuPy that is here


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="CuPy is not installed")
def test_the_record_is_what_the_cupy_that_is_here_has() -> None:
    import cupy

    major = cupy.__version__.partition(".")[0]
    if major not in VERSIONS:
        pytest.skip(
            f"there is no record of CuPy {cupy.__version__}: "
            "python simulator/tests/helpers/cupy_names makes one"
        )
    here = record(cupy)
    assert [use for use in all_uses() if not has(here, use.path)] == []
    if here["version"] == recorded(major)["version"]:
        assert here == recorded(major)
