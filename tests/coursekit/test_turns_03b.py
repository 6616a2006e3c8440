"""What the lesson of 03b says to a reader's window, and to the gradient that comes back through it."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from coursekit import turns
from coursekit.turns import windows

LOOK = inspect.getsource(windows._look).replace("_look", "look")
BACK = inspect.getsource(windows._give_back).replace("_give_back", "give_back")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "right: images and windows"),
        ("    return", "    return\n    return", "not written yet"),
        ("* window)", "* window[::-1, ::-1])", "turned round"),
        (".sum(", ".mean(", "that is the mean"),
        (" * window)", ")", "the weights of the window are missing"),
        ("window.shape", "(2, 2)", "ValueError"),
        (".sum((2, 3))", ".sum((2, 3)) + 1", "and yours is"),
        (".sum((2, 3))", ".sum((2, 3))[1:]", "has the shape (3, 5)"),
    ],
)
def test_look(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"sliding_window_view": windows.sliding_window_view, "Any": object}
    assert old in LOOK
    exec(LOOK.replace(old, new, 1) if old else LOOK, names)
    turns.judge_look(names)
    assert said in capsys.readouterr().out
    assert names["look"](np.ones((3, 4)), np.ones((2, 2))).tolist() == [[4, 4, 4], [4, 4, 4]]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "right: each pixel"),
        ("    return image", "    return None", "`return` missing?"),
        ("window[i, j] * grad", "window[h - 1 - i, w - 1 - j] * grad", "turn the window round"),
        ("window[i, j] * grad", "grad", "times the weight that met the pixel"),
        ("return image", "return image[1:-1, 1:-1]", "has the shape (4, 5)"),
        ("return image", "return np.pad(image[1:-1, 1:-1], 1)", "wrong at the border"),
        ("window[i, j] * grad", "2 * window[i, j] * grad", "nudge pixel"),
    ],
)
def test_give_back(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"np": np, "Any": object}
    assert old in BACK
    exec(BACK.replace(old, new, 1) if old else BACK, names)
    turns.judge_give_back(names)
    assert said in capsys.readouterr().out
    assert names["give_back"](np.ones((1, 2)), np.ones((2, 2))).tolist() == [[1, 2, 1], [1, 2, 1]]
