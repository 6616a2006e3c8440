"""Lessons and solutions on CUDA run on a GPU, and each of their launches gives what the simulator gets."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted([*ROOT.glob("chapters/0[45]*.ipynb"), *ROOT.glob("solutions/0[45]*.ipynb")])
FIRST = """
import sys
sys.path[:0] = [{root!r}, {tests!r}]
from gpu import both
both.install()
"""
LAST = "from gpu import both\nfrom minilib.cuda import backend\nprint(backend(), len(both.launched))"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_notebook_runs_on_a_gpu(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WARPLENS", raising=False)
    monkeypatch.setenv("MINILIB_CUDA", "gpu")
    notebook = nbformat.read(path, as_version=4)
    first = FIRST.format(root=str(ROOT), tests=str(ROOT / "tests"))
    notebook.cells = [new_code_cell(first), *notebook.cells, new_code_cell(LAST)]
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(path.parent)}})
    client.execute()  # raises CellExecutionError with the cell and its traceback
    assert notebook.cells[-1].outputs[0].text.startswith("gpu ")
