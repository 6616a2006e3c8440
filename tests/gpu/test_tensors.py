"""The tests of tensors on the device, once more with arrays on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "minilib").glob("test_gpu*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_tensors_have_the_same_numbers_on_a_gpu(path: Path) -> None:
    """In a process of its own, for a device is chosen once."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(path)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"MINILIB_CUDA": "gpu"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:]
