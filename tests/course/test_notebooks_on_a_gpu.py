"""What is for a GPU, tried without one: the lessons on CUDA and tests/gpu, through a kind of CuPy."""

from __future__ import annotations

import os
import subprocess
import sys
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


@pytest.mark.thorough
def test_what_a_gpu_is_tested_with_passes_on_the_fake() -> None:
    """Part of tests/gpu, on a CuPy without a GPU: so that it runs when there is one at last."""
    code = (
        "import sys, fake_cupy, pytest; fake_cupy.CHUNK <<= 5; sys.modules['cupy'] = fake_cupy.Fake();"
        "sys.exit(pytest.main(sys.argv[1:]))"
    )
    words = ["-q", "-p", "no:cacheprovider", "tests/gpu/test_kernels.py", "tests/gpu/test_facade.py"]
    chosen = "facade or vector_add or saxpy or histogram or flip or 3]"
    env = os.environ | {
        "PYTHONPATH": f"{ROOT / 'simulator/tests/helpers'}:{ROOT / 'simulator'}:{ROOT}",
        "GPU_RANDOM_KERNELS": "12",
    }
    command = [sys.executable, "-c", code, *words, "-k", chosen]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0 and " 3 skipped" in done.stdout, done.stdout + done.stderr
