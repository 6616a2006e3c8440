"""What the cells below the turns of parts 03c and 03e say of right answers and of mistakes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from coursekit import turns
from coursekit.turns import modules, steps
from minilib import nn


def renamed(source: str, name: str, old: str, new: str) -> dict[str, Any]:
    assert old in source
    names: dict[str, Any] = {"np": np}
    exec("from __future__ import annotations\n" + source.replace(old, new), names)
    return {name: next(names[each] for each in reversed(names) if each.startswith("_lent"))}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("roll", "roll", "right: the velocity"),
        ("return", "pass #", "`return` missing?"),
        ("x - lr * velocity, velocity", "x - lr * velocity", "return two things"),
        ("velocity = momentum * velocity + grad", "velocity *= momentum; velocity += grad", "has changed"),
        ("+ grad", "+ (1 - momentum) * grad", "joins the velocity whole"),
        ("+ grad", "+ lr * grad", "rate stands at the step"),
        ("+ grad", "- grad", "half the old one plus the gradient"),
        ("x - lr", "x + lr", "goes against it"),
        ("x - lr * velocity", "x - velocity", "x should move by the rate times it"),
    ],
)
def test_a_roll(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    turns.judge_roll(renamed(inspect.getsource(steps._lent_roll), "roll", old, new))
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("adam", "adam", "right: both means"),
        ("return", "pass #", "`return` missing?"),
        ("(1 - b1) * grad,", "grad,", "takes 0.1 of the gradient"),
        ("grad**2", "grad", "The other one is of squares"),
        ("(1 - b2) * grad**2", "grad**2", "The square keeps 0.999"),
        ("m, s = mean / (1 - b1**t), square / (1 - b2**t)", "m, s = mean, square", "corrections are missing"),
        ("square / (1 - b2**t)", "square", "you correct the first alone"),
        ("x - lr", "x + lr", "all right but for the sign"),
        ("(np.sqrt(s) + options.get('eps', 1e-8))".replace("'", '"'), "np.sqrt(s)", "where does eps stand"),
        ("np.sqrt(s)", "s", "over the root of the corrected"),
    ],
)
def test_a_step_of_adam(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    turns.judge_adam_step(renamed(inspect.getsource(steps._lent_adam), "adam_step", old, new))
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("pairs", "pairs", "right: at any depth"),
        ("return", "pass #", "`return` missing?"),
        ("return pairs", "return dict(pairs)", "a list of pairs"),
        ("(prefix + name, parameter)", "(name + prefix + '!', parameter)", "these are the paths"),
        ("for name, child in module._own_modules().items()", "for name, child in ()", "is not found"),
        ('prefix + name + "."', 'prefix + name + "/"', "The path of a in x is x.a"),
        ('_lent(child, prefix + name + ".")', '_lent(child, name + ".")', "Deeper down"),
    ],
)
def test_who_is_found(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = renamed(inspect.getsource(modules._lent), "found", old, new)
    turns.judge_found({**made, "Module": nn.Module, "Parameter": nn.Parameter})
    assert said in capsys.readouterr().out
