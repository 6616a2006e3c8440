"""The CUDA C of notebooks, so that tests count what a lesson says of it, and other compilers judge it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from coursekit import notebooks
from minilib.cuda import RawModule
from warplens.kernel import Kernel

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class CudaCell:
    """A `%%cuda` cell: lines of `source` are counted as in the cell, after -a from the other one on."""

    where: str
    title: str
    source: str
    macros: tuple[str, ...]  # "TILE=16"
    instances: tuple[str, ...]  # "scale<float>"


def cuda_cells(path: Path) -> Iterator[CudaCell]:
    """The `%%cuda` cells of a notebook, in their order."""
    sources: dict[str, str] = {}
    for cell in notebooks.cells(path.relative_to(ROOT), notebooks.read(path)):
        line = notebooks.cuda_line(cell.source) if cell.is_code else None
        if line:
            words = shlex.split(line)
            before = "".join(sources[name] for flag, name in pairwise(words) if flag in ("-a", "--after"))
            sources[words[1]] = f"{before}\n{notebooks.cuda_text(cell.source)}"
            yield CudaCell(
                cell.where(),
                words[1],
                sources[words[1]],
                tuple(value for flag, value in pairwise(words) if flag in ("-D", "--define")),
                tuple(value for flag, value in pairwise(words) if flag in ("-i", "--instance")),
            )


@cache
def lesson_kernels(name: str, folder: str = "chapters") -> dict[str, Kernel]:
    """Each extern "C" kernel of the `%%cuda` cells in FOLDER/NAME.ipynb.

    Where two cells have a kernel of one name, the later one counts, as in the notebook.
    """
    found: dict[str, Kernel] = {}
    for cell in cuda_cells(ROOT / folder / f"{name}.ipynb"):
        options = [f"-D{macro}" for macro in cell.macros]
        module = RawModule(code=cell.source, options=options, name=f"{cell.title}.cu")
        found |= {kernel: module.get_function(kernel) for kernel in module.names}
    return found
