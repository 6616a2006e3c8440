"""What the cells below the turns of chapter 03 say of right answers and of mistakes, and what they lend."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from coursekit import turns
from coursekit.turns import first_numbers, losses, modules, steps, training, windows
from minilib import functional as F
from minilib import nn


def changed(lent: Callable[..., Any], name: str, old: str, new: str) -> dict[str, Any]:
    """The names of a notebook whose answer is the course's own with `new` in the place of the first `old`."""
    source = inspect.getsource(lent).replace(lent.__name__, name)
    assert old in source
    names = {**vars(inspect.getmodule(lent))}
    exec(source.replace(old, new, 1), names)
    return names


# 03a


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "right: small scores"),
        ("    rows", "    return\n    rows", "not written yet"),
        (".mean(), dx", ".sum(), dx", "yours is the sum"),
        (".mean(), dx", ", dx", "a loss for each row"),
        ("np.log(sums[:, 0]) - shifted[rows, target]", "np.log(sums) - shifted[target]", "[row, target]"),
        (
            "np.exp(shifted).sum(axis=1, keepdims=True)",
            "np.full((len(x), 1), np.exp(shifted).sum())",
            "axis=1",
        ),
        ("dx / len(x)", "dx", "gradient of the sum"),
        ("-= 1", "+= 1", "disagrees with the nudge"),
        ("x - x.max(axis=1, keepdims=True)", "x", "overflow"),
        ("np.log(sums[:, 0]) - shifted[rows, target]", "-np.log(dx[rows, target] + 1)", "should cost 1000"),
        ("(np.log(sums[:, 0])", "1 / 0 + (np.log(sums[:, 0])", "ZeroDivisionError"),
    ],
)
def test_both_ways(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = changed(losses._lent, "both_ways", old, new)
    turns.judge_both_ways(names)
    assert said in capsys.readouterr().out
    assert np.isclose(names["both_ways"](np.array([[0.0, 1000.0]]), np.array([0]))[0], 1000)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "right: the gradient of x"),
        ("    return", "    return\n    return", "not written yet"),
        (" / sigma", "", "division by sigma"),
        (" - g.mean(axis=1, keepdims=True)", "", "the mean of g is missing"),
        (" - y * (g * y).mean(axis=1, keepdims=True)", "", "the part along y is missing"),
        ("y * (g * y).mean", "(g * y).mean", "multiplied by y"),
        (
            "(axis=1, keepdims=True) - y * (g * y).mean(axis=1, keepdims=True)",
            "() - y * (g * y).mean()",
            "axis=1",
        ),
        ("(g * y).mean(", "(g * y).sum(", "not the sum"),
        (
            "(g - g.mean(axis=1, keepdims=True) - y * (g * y).mean(axis=1, keepdims=True)) /",
            "g - g.mean(axis=1, keepdims=True) - y * (g * y).mean(axis=1, keepdims=True) /",
            "parentheses",
        ),
        ("(axis=1, keepdims=True)", "(axis=1)", "ValueError"),
        (" / sigma", " * sigma", "nudge x at"),
        (" / sigma", "[:, :2] / sigma", "yours (3, 2)"),
    ],
)
def test_norm_back(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = changed(losses._lent_back, "norm_back", old, new)
    turns.judge_norm_back(names)
    assert said in capsys.readouterr().out
    y = np.array([[1.0, -1.0]])
    assert np.allclose(names["norm_back"](np.array([[3.0, 1.0]]), y, np.ones((1, 1))), 0)


# 03b


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "right: images and filters"),
        ("    return", "    return\n    return", "not written yet"),
        ("* weights)", "* weights[::-1, ::-1])", "turned round"),
        (".sum(", ".mean(", "that is the mean"),
        (" * weights)", ")", "the weights of the filter are missing"),
        ("weights.shape", "(2, 2)", "ValueError"),
        (".sum((2, 3))", ".sum((2, 3)) + 1", "and yours is"),
        (".sum((2, 3))", ".sum((2, 3))[1:]", "has the shape (3, 5)"),
        ("(image, weights.shape)", "(image, (3, 3))", "2 x 4"),
    ],
)
def test_look(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = changed(windows._look, "look", old, new)
    turns.judge_look(names)
    assert said in capsys.readouterr().out
    assert names["look"](np.ones((3, 4)), np.ones((2, 2))).tolist() == [[4, 4, 4], [4, 4, 4]]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "right: each pixel"),
        ("    return image", "    return None", "`return` missing?"),
        ("weights[i, j] * grad", "weights[h - 1 - i, w - 1 - j] * grad", "turn the filter round"),
        ("weights[i, j] * grad", "grad", "times the weight that met the pixel"),
        ("return image", "return image[1:-1, 1:-1]", "has the shape (4, 5)"),
        ("return image", "return np.pad(image[1:-1, 1:-1], 1)", "wrong at the border"),
        ("weights[i, j] * grad", "2 * weights[i, j] * grad", "nudge pixel"),
        ("+=", "=", "overwritten"),
        ("np.ndindex(h, w)", "np.ndindex(3, 3)", "2 x 4"),
    ],
)
def test_give_back(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = changed(windows._give_back, "give_back", old, new)
    turns.judge_give_back(names)
    assert said in capsys.readouterr().out
    assert names["give_back"](np.ones((1, 2)), np.ones((2, 2))).tolist() == [[1, 2, 1], [1, 2, 1]]


# 03c


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("pairs", "pairs", "right: at any depth"),
        ("return", "pass #", "`return` missing?"),
        ("return pairs", "return dict(pairs)", "a list of pairs"),
        ("(prefix + name, parameter)", "(name + prefix + '!', parameter)", "these are the paths"),
        ("for name, child in module._own_modules().items()", "for name, child in ()", "is not found"),
        ('prefix + name + "."', 'prefix + name + "/"', "The path of a in x is x.a"),
        ('found(child, prefix + name + ".")', 'found(child, name + ".")', "Deeper down"),
    ],
)
def test_who_is_found(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = changed(modules._lent, "found", old, new)
    turns.judge_found({**made, "Module": nn.Module, "Parameter": nn.Parameter})
    assert said in capsys.readouterr().out


# 03d


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
        ("/ np.sqrt(inputs)", "* np.sqrt(inputs)", "you multiply by the root"),
    ],
)
def test_first_weights(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = changed(first_numbers._lent, "first_weights", old, new)
    turns.judge_first_weights(names)
    assert said in capsys.readouterr().out
    assert abs(names["first_weights"](80, 400, np.random.default_rng(1)).std() * 20 - 1) < 0.05


# 03e


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
    turns.judge_roll(changed(steps._lent_roll, "roll", old, new))
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
        ("np.sqrt(s) +", "np.sqrt(s + 1e-8) +", "outside of the root"),
    ],
)
def test_a_step_of_adam(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    turns.judge_adam_step(changed(steps._lent_adam, "adam_step", old, new))
    assert said in capsys.readouterr().out


# 03f

STEP = "        optimizer.step()\n"
FORGET = "        optimizer.zero_grad()\n"
LOSS = "        loss = F.cross_entropy(model(images), labels)\n"
BACK = "        loss.backward()\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "right: for each batch"),
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
        (STEP, STEP + STEP, "after each batch"),
        (STEP + "        losses", "        losses", "no weight has moved"),
        (FORGET + LOSS + BACK + STEP, LOSS + STEP + FORGET + BACK, "changed in place"),
        ("    losses = []", "    1 / 0", "ZeroDivisionError"),
    ],
)
def test_epoch(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = changed(training._lent, "train_epoch", old, new)
    turns.judge_epoch(names)
    assert said in capsys.readouterr().out
    assert training._epoch(names["train_epoch"]) is None


def test_one_step_for_all_batches_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    def once(model: Any, optimizer: Any, batches: Any) -> list[float]:
        optimizer.zero_grad()
        losses = []
        for images, labels in batches:
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            losses.append(loss.item())
        optimizer.step()
        return losses

    turns.judge_epoch({"train_epoch": once})
    assert "after each batch" in capsys.readouterr().out
