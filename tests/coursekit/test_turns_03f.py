"""What the lesson of 03f says to a reader's loop."""

from __future__ import annotations

import inspect

import pytest

from coursekit import turns
from coursekit.turns import training

RIGHT = inspect.getsource(training._lent).replace("_lent", "train_epoch")
STEP = "        optimizer.step()\n"
FORGET = "        optimizer.zero_grad()\n"
LOSS = "        loss = F.cross_entropy(model(images), labels)\n"
BACK = "        loss.backward()\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "right: forgotten"),
        ("    losses = []", "    return None\n    losses = []", "not written yet"),
        ("    return losses", "    return losses[:1]", "one loss for each"),
        ("loss.item()", "loss", "as a float"),
        (STEP, "", "no weight has moved"),
        ("        optimizer.zero_grad()\n", "", "add up"),
        (
            "F.cross_entropy(model(images), labels)",
            "F.cross_entropy(-model(images), labels)",
            "the first loss is",
        ),
        (STEP, STEP + STEP, "not yet"),
        (FORGET + LOSS + BACK + STEP, LOSS + STEP + FORGET + BACK, "changed in place"),
        ("    losses = []", "    1 / 0", "ZeroDivisionError"),
    ],
)
def test_epoch(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {"Any": object}
    assert old in RIGHT
    exec(RIGHT.replace(old, new, 1) if old else RIGHT, names)
    turns.judge_epoch(names)
    assert said in capsys.readouterr().out
    assert training._epoch(names["train_epoch"]) is None  # type: ignore[arg-type]
