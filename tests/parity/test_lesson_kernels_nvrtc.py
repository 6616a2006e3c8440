"""NVIDIA's own compiler judges the CUDA C of the notebooks: lessons, reference answers, known mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nvrtc
import pytest
from lesson_kernels import cuda_cells

from coursekit.grading.assemble import load_chapter
from coursekit.grading.misconceptions import load_misconceptions
from warplens.errors import CompileError
from warplens.language.frontend import compile_source

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason=nvrtc.WHY_NOT)

ROOT = Path(__file__).parents[2]


def lesson_sources() -> Iterator[tuple[str, str, list[str]]]:
    """Where a `%%cuda` cell stands, its source, and the instances of templates that it asks for."""
    for folder in ("chapters", "solutions"):
        for path in sorted((ROOT / folder).glob("*.ipynb")):
            for cell in cuda_cells(path):
                macros = "".join(f"#define {macro.replace('=', ' ', 1)}\n" for macro in cell.macros)
                yield cell.where, macros + cell.source, list(cell.instances)


def mistakes() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "solutions" / "misconceptions").glob("*.cu")):
        chapter = load_chapter(ROOT / "solutions" / f"{path.stem}.ipynb")
        languages = {one.number: one.cuda for one in chapter.exercises}
        for number, one in enumerate(load_misconceptions(path.with_suffix(".py"), chapter)):
            if languages[one.exercise]:
                yield f"{path.stem} {one.exercise} #{number}", one.source


SOURCES, MISTAKES = list(lesson_sources()), list(mistakes())


@pytest.mark.parametrize("architecture", [75, 90])
@pytest.mark.parametrize(("source", "names"), [s[1:] for s in SOURCES], ids=[s[0] for s in SOURCES])
def test_nvrtc_compiles_the_kernels_of_a_notebook(source: str, names: list[str], architecture: int) -> None:
    assert nvrtc.compile_ptx(source, architecture, names) is None


@pytest.mark.parametrize("source", [s[1] for s in MISTAKES], ids=[s[0] for s in MISTAKES])
def test_nvrtc_and_we_agree_whether_a_known_mistake_compiles(source: str) -> None:
    try:
        compile_source(source)
        ours = True
    except CompileError as error:
        ours = error.kind == "unsupported"
    assert (nvrtc.compile_ptx(source, 80, []) is None) == ours


@pytest.mark.parametrize("architecture", [75, 80, 90])
@pytest.mark.parametrize(
    "path", sorted((ROOT / "minilib" / "kernels").glob("*.cu")), ids=lambda path: path.name
)
def test_nvrtc_compiles_the_kernels_of_the_library(path: Path, architecture: int) -> None:
    assert nvrtc.compile_ptx(path.read_text(encoding="utf-8"), architecture, []) is None


def test_there_are_kernels_to_judge() -> None:
    assert len(SOURCES) > 20
