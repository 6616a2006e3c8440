"""`minilib.cuda` is `warplens` by another name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import minilib.cuda
import warplens


@pytest.mark.parametrize("name", warplens.__all__)
def test_a_name_is_that_of_the_simulator(name: str) -> None:
    assert getattr(minilib.cuda, name) is getattr(warplens, name)


def test_no_other_name_is_there() -> None:
    with pytest.raises(AttributeError, match=r"module 'minilib\.cuda' has no attribute 'kernels'"):
        _ = minilib.cuda.kernels  # type: ignore[attr-defined]


def test_it_loads_nothing_before_it_is_asked() -> None:
    code = "import sys, minilib.cuda; print({'warplens.kernel', 'cupy', 'IPython', 'numpy'} & {*sys.modules})"
    root = str(Path(warplens.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env={"PYTHONPATH": root}, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")
