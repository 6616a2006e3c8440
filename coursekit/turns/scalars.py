"""Chapters 00 and 01: a slope, a sum, `backward`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from coursekit.turns.lending import lend, nothing_from, told


def judge_slope(slope: Any) -> None:
    """Say what is wrong with chapter 00's `slope`, which is asked for two lines."""
    for line, expected in (((0, 0, 2, 6), 3.0), ((1, 5, 3, 1), -2.0), ((0, 0, 2, 1), 0.5)):
        try:
            got = slope(*line)
        except Exception as error:
            print(f"not yet: it stops with {type(error).__name__}: {error}")
            return
        if got != expected:
            x0, y0, x1, y1 = line
            asked = f"from ({x0}, {y0}) to ({x1}, {y1}) the slope is {expected:g}"
            print(f"not yet: {asked}, and yours is {got}. {_bare(slope) or _of_a_slope(got, expected)}")
            return
    print("right: well done")


def _bare(slope: Any) -> str:
    """What to say of a formula without its parentheses."""
    x0, y0, x1, y1 = 1, 5, 3, 7
    with suppress(Exception):
        if slope(x0, y0, x1, y1) in (y1 - y0 / x1 - x0, (y1 - y0) / x1 - x0, y1 - y0 / (x1 - x0)):
            return "`/` comes before `-`: each difference needs parentheses of its own"
    return ""


def _of_a_slope(got: Any, expected: float) -> str:
    if got is None:
        return "Something is worked out and thrown away: `return` hands it over"
    if isinstance(got, (int, float)) and got == int(expected):
        return "`//` drops what is behind the point: divide with `/`"
    if got == 1 / expected:
        return "It is upside down: you divide the run by the rise"
    if got == -expected:
        return "One of the two differences is taken the other way round: the second point comes first in both"
    return "Which difference is the rise, and which the run?"


def judge_by_height(by_height: Any) -> None:
    """Say whether the height of chapter 01's rectangle, 3 wide, was nudged and the change divided."""
    wrong = (
        f"not yet: yours is {by_height}. The strip that you add on top is as long as the rectangle is wide"
    )
    if by_height is ...:
        wrong = "not filled in yet: the lesson goes on without it"
    elif not isinstance(by_height, (int, float)):
        wrong = "not yet: it should be a number"
    elif abs(by_height - 0.003) < 1e-9:
        wrong = "not yet: 0.003 is by how much the area grew. How fast it grows is that, divided by the nudge"
    elif abs(by_height - 2.0) < 1e-6:
        wrong = "not yet: 2 is how fast it grows with the width. This time nudge the height"
    elif abs(by_height) > 1000:
        wrong = f"not yet: yours is {by_height:g}. Subtract first, in parentheses, then divide by the nudge"
    elif abs(by_height - 1.0) < 1e-6:
        wrong = "not yet: 1 is what you get if you nudge the area itself. Nudge the height, in parentheses"
    told(None if isinstance(by_height, (int, float)) and abs(by_height - 3.0) < 1e-6 else wrong, "right")


def judge_training(loss: Any) -> None:
    """Say what the loop of chapter 01 does wrong, by the loss of its step 9."""
    loss = getattr(loss, "data", loss)
    if loss is ...:
        print("not filled in yet: the lesson goes on without it")
        return
    mistakes = {
        0.8958441: "the loss has not moved. Were the gradients cleared before they were used?",
        0.5710978: "this is the loop from above: the gradients of the parameters still add up over the steps",
        0.2450702: "you took ten steps and then looked once more. `loss` should be what step 9 began with",
    }
    if not isinstance(loss, (int, float)):
        print("not yet: `loss` should hold the loss of the last step, a Value")
        return
    near = (text for value, text in mistakes.items() if abs(loss - value) < 1e-3)
    other = f"at step 9 it should be 0.2705, and yours is {loss:.4f}. Who is cleared when?"
    told(None if abs(loss - 0.2704862551637922) < 1e-6 else f"not yet: {next(near, other)}", "right")


def _outside(names: dict[str, Any], name: str) -> str | None:
    """What to say of a function that stands in the notebook and not in its class."""
    mine = names.get(name)
    if mine is None or vars(names["Value"]).get(name) is mine:
        return None
    return f"not yet: your {name} is not in the class. Put @add_to(Value) on the line above it"


def judge_plus(names: dict[str, Any]) -> None:
    """Say what is wrong with the `+` of the notebook's `Value`; one that is not right is lent."""
    a, b = (names["Value"](number) for number in (2.0, -3.0))
    if not told(_outside(names, "__add__") or _plus(a, b), "right: Value has your +, and 2 + (-3) is -1"):
        lend(["Value.__add__"], "+", names)


def _plus(a: Any, b: Any) -> str | None:
    try:
        c = a + b
    except Exception as error:
        return f"not yet: a + b stops with {type(error).__name__}: {error}"
    if c is None or c is ...:
        return nothing_from(type(a).__add__)
    if isinstance(c, (int, float)):
        return f"not yet: 2 + (-3) should be a Value of -1; yours is a plain number, {c:g}, without a memory"
    if getattr(c, "data", None) != -1.0:
        return f"not yet: 2 + (-3) should be a Value of -1; yours is {getattr(c, 'data', c)}"
    if a.data != 2.0:
        return "not yet: you changed a itself, and others may still need its old number. Make a new Value"
    if not isinstance(c.inputs, (tuple, list)):
        return "not yet: the inputs stand in a tuple, (self, other), with parentheses of its own"
    if len(c.inputs) != 2:
        return f"not yet: a sum has two inputs, and yours remembers {len(c.inputs)}: (self, other)"
    if not isinstance(c.derivatives, (tuple, list)) or len(c.derivatives) != 2:
        return f"not yet: one derivative for each input, two in a tuple, please; yours are {c.derivatives}"
    if tuple(c.derivatives) != (1.0, 1.0):
        if tuple(c.derivatives) == (b.data, a.data):
            return "not yet: these are the derivatives of a product. A summand grows by 1: and the sum?"
        return f"not yet: the local derivatives of a sum are not {tuple(c.derivatives)}"
    if getattr(c, "op", "+") != "+":
        return f"not yet: all right, but it calls itself {c.op!r}, and pictures show that name: it is '+'"
    return None


def judge_backward(names: dict[str, Any]) -> None:
    """Say which mistake a `backward` makes where a value is used by two others; lend one if need be."""
    if told(
        _outside(names, "backward") or _order(names),
        "80: right. From here on the gradients of this chapter are your own work",
    ):
        print(_twice(names))
    else:
        lend(["Value.backward", "topological_order"], "backward", names)


def _short_and_long(Value: Any, *, turned: bool = False) -> tuple[Any, Any, Any, Any]:
    a = Value(2.0)
    b = a * a
    c = b * a
    return a, b, c, c * b if turned else b * c


def _order(names: dict[str, Any]) -> str | None:
    a, b, c, d = _short_and_long(names["Value"])
    if not hasattr(d, "backward"):
        return "not written yet"
    try:
        d.backward()
    except Exception as error:
        return f"not yet: it stops with {type(error).__name__}: {error}"
    if not (a.grad or b.grad or c.grad):
        if d.grad == 1.0:
            return "not yet: d.grad is 1, but nobody has passed it on"
        empty = nothing_from(type(d).backward) == "not written yet"
        afterwards = " at the end. Clear the operations first, and set it after that" if d.grad == 0 else ""
        wrong = f"not yet: d.grad should begin with 1, and yours is {d.grad:g}{afterwards}"
        return "not written yet" if empty else wrong
    mistakes = {
        112.0: "112: b spoke twice, and the second time it repeated what it had said already",
        48.0: "48: b spoke before c had told it anything, so a heard only a part",
        1.0: "1: each value that is called sets its own gradient to 1. Only d, which was asked, has 1",
        16.0: "16: right order, but each value overwrites what its inputs were told before. Which sign adds?",
        0.0: "d told b and c, and a heard nothing. Read the list from its end, and let each one on it speak",
        144.0: "144: b stands on the list more than once, and spoke each time",
        64.0: "64: something was overwritten or lost. Compare with += in `speak`",
    }
    if a.grad != 80.0:
        return f"not yet. {mistakes.get(a.grad, f'a.grad is {a.grad:g}, and should be 80')}"
    if (b.grad, c.grad) != (16.0, 4.0):
        return f"not yet: a.grad is right, but b.grad and c.grad are {b.grad:g} and {c.grad:g}, not 16 and 4"
    a, *_, d = _short_and_long(names["Value"], turned=True)
    d.backward()
    if a.grad != 80.0:
        return (
            f"not yet: 80, but with d = c * b in place of b * c it is {a.grad:g}. You put a value on the "
            "list when you first meet it; it belongs there after all that it was made of"
        )
    again = _called_twice(names["Value"])
    if again == 80.0:
        return (
            "not yet: 80, but called twice it gives 80 again. Clear the operations only: leaves keep theirs"
        )
    asked = _reads(names["Value"])
    if asked > 200:
        return (
            f"80, but at a price: for 13 values it asked {asked:,} times for inputs, since it walks "
            "each path by itself. Let each value speak once"
        )
    return None


def _reads(Value: Any) -> int:
    """How often `backward` asks for inputs where 12 squarings lie below it: 13 values, 4,096 paths."""
    asked = 0

    class Counted(Value):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            nonlocal asked
            asked += name == "inputs"
            return super().__getattribute__(name)

    x = Counted(1.0)
    for _ in range(12):
        x = Counted(x.data * x.data, "*", (x, x), (x.data, x.data))
    asked = 0
    x.backward()
    return asked


def _called_twice(Value: Any) -> float:
    a, *_, d = _short_and_long(Value)
    d.backward()
    d.backward()
    return float(a.grad)


def _twice(names: dict[str, Any]) -> str:
    again = _called_twice(names["Value"])
    if again == 160.0:
        found = "called twice it gives 160, twice 80: leaves add up, operations start afresh"
    else:
        found = f"called twice it gives {again:g}: operations hold what the first call left in them"
    x = y = names["Value"](1.0)
    for _ in range(3000):
        y = y + x
    try:
        y.backward()
    except RecursionError:
        found += "\nsums of 1,000 numbers are too deep for it, since it calls itself; here that is no harm"
    return found
