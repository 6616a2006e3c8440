"""What the lesson of 03d says to a reader's first weights."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from coursekit import turns
from coursekit.turns import first_numbers

RIGHT = inspect.getsource(first_numbers._lent).replace("_lent", "first_weights")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "right: wide layers"),
        ("    return", "    return\n    return", "not written yet"),
        ("np.sqrt(inputs)", "np.sqrt(outputs)", "root of the outputs"),
        ("np.sqrt(inputs)", "inputs", "that is the variance"),
        (" / np.sqrt(inputs)", "", "multiplies the mean square by"),
        ("(outputs, inputs)", "(inputs, outputs)", "your shape is (100, 300)"),
        ("rng.normal(", "1 + rng.normal(", "mean 0"),
    ],
)
def test_first_weights(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"np": np, "Any": object}
    assert old in RIGHT
    exec(RIGHT.replace(old, new, 1) if old else RIGHT, names)
    turns.judge_first_weights(names)
    assert said in capsys.readouterr().out
    assert abs(names["first_weights"](80, 400, np.random.default_rng(1)).std() * 20 - 1) < 0.05
