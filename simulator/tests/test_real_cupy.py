"""The real CuPy on a machine without a GPU: nothing breaks, and it is not even imported.

CuPy is one that is installed, or the folder that WARPLENS_CUPY names, as made by
`pip install --target FOLDER cupy-cuda12x`.
"""

from __future__ import annotations

import importlib.util
import os

import pytest
from lesson import lesson

FOLDER = os.environ.get("WARPLENS_CUPY", "")
pytestmark = [
    pytest.mark.parity,
    pytest.mark.skipif(
        not FOLDER and importlib.util.find_spec("cupy") is None,
        reason="CuPy is missing: pip install cupy-cuda12x, or set WARPLENS_CUPY to its folder",
    ),
]


def test_a_lesson_is_the_same_with_cupy_and_without_a_gpu() -> None:
    absent, present = lesson(WARPLENS="simulate"), lesson(path=FOLDER)
    assert absent == present and present.endswith("simulate <stand-in for CuPy on NumPy> False\n")


def test_a_lesson_is_the_same_where_cupy_is_imported_by_hand() -> None:
    assert lesson("import cupy", path=FOLDER).endswith("simulate <stand-in for CuPy on NumPy> True\n")


def test_who_wants_a_gpu_is_told_in_cupys_words() -> None:
    said = lesson("import cupy", path=FOLDER, WARPLENS="gpu")
    assert said.startswith("RuntimeError: WARPLENS=gpu, but CuPy cannot use a GPU (cudaError")
