"""What the cells below a "Your turn" say of right answers and of mistakes."""

from __future__ import annotations

import inspect
import random
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons

from coursekit import turns
from minilib import reference
from minilib.reference import Value
from minilib.scalar import MLP


@pytest.mark.parametrize(
    ("slope", "said"),
    [
        (lambda x0, y0, x1, y1: (y1 - y0) / (x1 - x0), "right"),
        (lambda x0, y0, x1, y1: (x1 - x0) / (y1 - y0), "yours is 0.3333333333333333. It is upside down"),
        (lambda x0, y0, x1, y1: (y1 - y0) / (x0 - x1), "other way round"),
        (lambda x0, y0, x1, y1: None, "`return` hands it over"),
        (lambda x0, y0, x1, y1: y1 - y0, "the slope is 3, and yours is 6. Which difference is the rise"),
        (lambda x0, y0, x1, y1: abs(y1 - y0) / (x1 - x0), "the slope is -2, and yours is 2.0"),
        (lambda x0, y0, x1, y1: (y1 - y0) // (x1 - x0), "`//` drops"),
        (lambda x0, y0, x1, y1: y1 - y0 / x1 - x0, "`/` comes before `-`"),
        (lambda x0, y0, x1, y1: 1 / 0, "stops with ZeroDivisionError"),
    ],
)
def test_a_slope(slope: Any, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    turns.judge_slope(slope)
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("by_height", "said"),
    [
        ((3 * 2.001 - 3 * 2) / 0.001, "right"),
        (3 * 2.001 - 3 * 2, "divided by the nudge"),
        ((3.001 * 2 - 3 * 2) / 0.001, "This time nudge the height"),
        (3 * 2.001 - 3 * 2 / 0.001, "Subtract first, in parentheses"),
        ((3 * 2 + 0.001 - 3 * 2) / 0.001, "nudge the area itself"),
        (-3.0, "yours is -3.0"),
        ("3", "a number"),
        (..., "not filled in yet"),
    ],
)
def test_a_nudge_of_the_height(by_height: Any, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    turns.judge_by_height(by_height)
    assert said in capsys.readouterr().out


def trained(clear: str) -> float:
    """The loss that chapter 01's loop of ten steps ends with, on the fast Value, where it clears as said."""
    random.seed(1337)
    np.random.seed(1337)
    X, kinds = make_moons(n_samples=100, noise=0.1)
    model = MLP(2, [16, 16, 1])
    parameters = model.parameters()

    def loss_of() -> Any:
        losses = [
            (1 - label * model(point)).relu() for point, label in zip(X.tolist(), (2 * kinds - 1).tolist())
        ]
        return sum(losses) * 0.01 + 1e-4 * sum(p * p for p in parameters)

    for k in range(10):
        loss = loss_of()
        loss.backward()
        if clear == "too early":
            model.zero_grad()
        for p in parameters:
            p.data -= (1.0 - 0.9 * k / 100) * p.grad
        if clear != "never":
            model.zero_grad()
    return float(loss_of().data if clear == "one more" else loss.data)


@pytest.mark.parametrize(
    ("clear", "said"),
    [
        ("after", "right"),
        ("never", "still add up over the steps"),
        ("too early", "cleared before they were used"),
        ("one more", "then looked once more"),
    ],
)
def test_a_loop_that_clears(clear: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    turns.judge_training(Value(trained(clear)))
    assert said in capsys.readouterr().out


def test_a_loop_that_is_not_written_or_something_else(capsys: pytest.CaptureFixture[str]) -> None:
    turns.judge_training(...)
    turns.judge_training(3.0)
    turns.judge_training("loss")
    assert capsys.readouterr().out.split("\n")[0].startswith("not filled in yet")


def plus(derivatives: Any) -> Any:
    return lambda a, b: Value(a.data + b.data, "+", (a, b), derivatives(a, b))


@pytest.mark.parametrize(
    ("plus", "said"),
    [
        (lambda a, b: Value(a.data + b.data, "+", a, (1.0, 1.0)), "in a tuple"),
        (plus(lambda a, b: (1.0, 1.0)), "right: Value has your +, and 2 + (-3) is -1"),
        (plus(lambda a, b: (b.data, a.data)), "the derivatives of a product"),
        (plus(lambda a, b: (2.0, 1.0)), "are not (2.0, 1.0)"),
        (lambda a, b: None, "not written yet"),
        (lambda a, b: print(a.data + b.data), "`return` missing?"),
        (lambda a, b: a.data + b.data, "yours is a plain number"),
        (lambda a, b: Value(a.data + b.data, "+", (a, b), 1.0), "one derivative for each input"),
        (lambda a, b: Value(a.data + b.data, "+", (a, b)), "one derivative for each input"),
        (lambda a, b: Value(a.data - b.data), "yours is 5.0"),
        (lambda a, b: Value(a.data + b.data, "*", (a, b), (1.0, 1.0)), "calls itself '*'"),
        (lambda a, b: Value(a.data + b.data, "+", (a,), (1.0,)), "yours remembers 1"),
        (lambda a, b: a.dat + b.data, "stops with AttributeError"),
    ],
)
def test_a_plus(
    plus: Any, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Value, "__add__", plus)
    turns.judge_plus({"Value": Value})
    assert said in capsys.readouterr().out


def in_order(value: Any) -> list[Any]:
    """Inputs before what is made of them."""
    found: dict[int, Any] = {}

    def visit(one: Any) -> None:
        if id(one) not in found:
            for i in one.inputs:
                visit(i)
            found[id(one)] = one

    visit(value)
    return list(found.values())


def speak(value: Any) -> None:
    for i, derivative in zip(value.inputs, value.derivatives):
        i.grad += derivative * value.grad


def right(self: Any) -> None:
    order = in_order(self)
    for value in order:
        value.grad = value.grad if not value.inputs else 0.0
    self.grad = 1.0
    for value in reversed(order):
        speak(value)


def never_afresh(self: Any) -> None:
    self.grad = 1.0
    for value in reversed(in_order(self)):
        speak(value)


def all_afresh(self: Any) -> None:
    for value in in_order(self):
        value.grad = 0.0
    right(self)


def each_path(self: Any, share: float = 1.0) -> None:
    self.grad += share
    for i, derivative in zip(self.inputs, self.derivatives):
        each_path(i, derivative * share)


def each_begins(self: Any) -> None:
    self.grad = 1.0
    speak(self)
    for i in self.inputs:
        each_begins(i)


def as_met(self: Any) -> None:
    self.grad = 1.0
    queue = [self]
    for value in queue:
        speak(value)
        queue += value.inputs


def once_as_met(self: Any) -> None:
    self.grad = 1.0
    queue = [self]
    for value in queue:
        speak(value)
        queue += [i for i in value.inputs if all(i is not one for one in queue)]


def by_luck(self: Any) -> None:
    """Each is listed when it comes off a stack: right for b * c, wrong for c * b."""
    order: list[Any] = []
    stack = [self]
    while stack:
        value = stack.pop()
        if all(value is not one for one in order):
            order.append(value)
            stack += value.inputs
    self.grad = 1.0
    for value in order:
        speak(value)


def overwrites(self: Any) -> None:
    self.grad = 1.0
    for value in reversed(in_order(self)):
        for i, derivative in zip(value.inputs, value.derivatives):
            i.grad = derivative * value.grad


def nothing(self: Any) -> None:
    self.grad = 1.0


def only_itself(self: Any) -> None:
    self.grad = 1.0
    speak(self)


def cleared_too_late(self: Any) -> None:
    self.grad = 1.0
    for value in in_order(self):
        value.grad = 0.0


@pytest.mark.parametrize(
    ("backward", "said"),
    [
        (right, "called twice it gives 160, twice 80"),
        (all_afresh, "not yet: 80, but called twice it gives 80 again"),
        (never_afresh, "called twice it gives 272"),
        (each_path, "walks each path by itself"),
        (each_begins, "1: each value that is called sets"),
        (as_met, "112: b spoke twice"),
        (once_as_met, "48: b spoke before c"),
        (by_luck, "with d = c * b in place of b * c it is 48"),
        (overwrites, "16: right order, but each value overwrites"),
        (nothing, "nobody has passed it on"),
        (only_itself, "its end"),
        (cleared_too_late, "Clear the operations first"),
        (lambda self: None, "not written yet"),
        (lambda self: self.gard, "stops with AttributeError"),
    ],
)
def test_a_backward(
    backward: Any, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Value, "backward", backward)
    turns.judge_backward({"Value": Value})
    assert said in capsys.readouterr().out


def test_a_function_that_is_not_in_the_class(capsys: pytest.CaptureFixture[str]) -> None:
    turns.judge_plus({"Value": Value, "__add__": lambda a, b: Value(1.0)})
    turns.judge_backward({"Value": Value, "backward": right})
    assert capsys.readouterr().out.count("@add_to(Value) on the line above it") == 2


# The engine of chapter 02b: the right one, and one that breaks each of its rules


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("walk", "walk", "right: newest first, added, summed, let go"),
        ("return grads", "pass", "`return` missing?"),
        ("heappop(queue)[1]", "heappop(queue)", "The heap holds pairs"),
        ("isinstance(node, Function) and ", "", "A leaf is no operation"),
        ("return grads", "return list(grads)", "return a dictionary"),
        ("heappop(queue)[1]", "heappop(queue)[2]", "stops with IndexError"),
        ("grads[node] + dx if node in grads else dx", "dx", "Shares add up"),
        ("(-node.serial, node)", "(node.serial, node)", "spoke before all that used it, then again"),
        ("grads[node] + dx if", "grads[node].__iadd__(dx) if", "one of them wrote into it"),
        ("sum_to(dx, node.shape)", "dx", "has shape (2, 3)"),
        (" and node.requires_grad", "", "data without requires_grad were told"),
        ("grads.pop(f)", "grads[f]", "pop it as they speak"),
        ("shares if isinstance(shares, tuple) else (shares,)", "shares", "takes it apart"),
        ("        f.saved = FREED\n", "", "nobody lets go"),
    ],
)
def test_an_engine(old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = {**vars(reference)}
    exec(inspect.getsource(reference.walk).replace(old, new), names)
    turns.judge_engine(names)
    assert said in capsys.readouterr().out
