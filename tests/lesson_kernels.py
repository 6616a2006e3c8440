"""The kernels of a notebook by name, so that tests count what a lesson says of them."""

from __future__ import annotations

import shlex
from functools import cache
from itertools import pairwise
from pathlib import Path

from coursekit import notebooks
from minilib.cuda import RawModule
from minilib.cuda.kernel import Kernel

ROOT = Path(__file__).parents[1]


@cache
def lesson_kernels(name: str, folder: str = "chapters") -> dict[str, Kernel]:
    """Each extern "C" kernel of the `%%cuda` cells in FOLDER/NAME.ipynb; lines are counted as in the cell.

    Where two cells have a kernel of one name, the later one counts, as in the notebook.
    """
    path = ROOT / folder / f"{name}.ipynb"
    found: dict[str, Kernel] = {}
    for cell in notebooks.cells(path, notebooks.read(path)):
        first = notebooks.cuda_line(cell.source) if cell.is_code else None
        if first:
            words = shlex.split(first)
            options = [f"-D{value}" for flag, value in pairwise(words) if flag in ("-D", "--define")]
            source = "\n" + notebooks.cuda_text(cell.source)
            module = RawModule(code=source, options=options, name=f"{words[1]}.cu")
            found |= {kernel: module.get_function(kernel) for kernel in module.names}
    return found
