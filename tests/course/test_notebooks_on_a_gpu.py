"""The lessons on CUDA where `backend()` says "gpu": the same outputs, by launches through a kind of CuPy."""

from __future__ import annotations

import os
from pathlib import Path

import cupy_of_stand_in
import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FIRST = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "tests")!r}]
import cupy  # who has imported it is not asked for a driver
from gpu import both
both.install()
"""
LAST = """
from gpu import both
from minilib.cuda import backend, cp
print(backend(), cp is cupy, len(both.launched))
"""


def texts(cells: list[nbformat.NotebookNode]) -> list[str]:
    """What each cell that always prints the same has printed."""
    kept = [cell for cell in cells if "nbval-ignore-output" not in cell.metadata.get("tags", [])]
    return ["".join(out.get("text", "") for out in cell.get("outputs", [])).strip() for cell in kept]


COUNTS_LOOKS = "05d_training"  # and the comparison of launches looks, too
PARTS_OF_05 = "05a_elements", "05b_rows", "05c_product", "05d_training"


@pytest.mark.parametrize(
    "name",
    [
        "04a_threads",
        pytest.param("04c_reductions", marks=pytest.mark.thorough),
        *(pytest.param(name, marks=pytest.mark.nightly) for name in PARTS_OF_05),
    ],
)
def test_a_lesson_prints_the_same_on_a_gpu(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And each launch leaves what the simulator leaves (see tests/gpu/both.py)."""
    path = ROOT / "chapters" / f"{name}.ipynb"
    cupy_of_stand_in.write(tmp_path)
    monkeypatch.delenv("WARPLENS", raising=False)  # which the simulator's own tests set
    monkeypatch.setenv("MINILIB_CUDA", "gpu")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
    notebook = nbformat.read(path, as_version=4)
    recorded, count = texts(notebook.cells), len(notebook.cells)
    notebook.cells = [new_code_cell(FIRST), *notebook.cells, new_code_cell(LAST)]
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
    if name != COUNTS_LOOKS:
        assert texts(notebook.cells[1 : count + 1]) == recorded
    where, is_cupy, launches = notebook.cells[-1].outputs[0].text.split()
    assert (where, is_cupy) == ("gpu", "True") and int(launches) > 5
