"""What the lesson of 03a says to a reader's softmax with cross-entropy."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from coursekit import turns
from coursekit.turns import losses

RIGHT = inspect.getsource(losses._lent).replace("_lent", "both_ways")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "right: small scores"),
        ("    rows", "    return\n    rows", "not written yet"),
        (".mean(), dx", ".sum(), dx", "yours is the sum"),
        ("dx / len(x)", "dx", "gradient of the sum"),
        ("-= 1", "+= 1", "disagrees with the nudge"),
        ("x - x.max(axis=1, keepdims=True)", "x", "overflow"),
        ("np.log(sums[:, 0]) - shifted[rows, target]", "-np.log(dx[rows, target] + 1)", "should cost 1000"),
        ("(np.log(sums[:, 0])", "1 / 0 + (np.log(sums[:, 0])", "ZeroDivisionError"),
    ],
)
def test_both_ways(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"np": np, "Any": object}
    assert old in RIGHT
    exec(RIGHT.replace(old, new, 1) if old else RIGHT, names)
    turns.judge_both_ways(names)
    assert said in capsys.readouterr().out
    assert np.isclose(names["both_ways"](np.array([[0.0, 1000.0]]), np.array([0]))[0], 1000)
