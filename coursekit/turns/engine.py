"""Chapter 02b: the engine, `walk`."""

from __future__ import annotations

from typing import Any

import numpy as np

from coursekit.turns.lending import lend, told, tried

SIGNS = {
    "'tuple' object has no attribute": ". The heap holds pairs, (-serial, operation): take the second half",
    "'Tensor' object has no attribute": ". A leaf is no operation: it has no serial, and does not speak",
}


def judge_engine(names: dict[str, Any]) -> None:
    """Say which rule the notebook's engine, `walk`, breaks; one that is not right is lent another."""
    if not told(_engine(names["walk"]), "right: newest first, added, summed, let go"):
        lend(["walk"], "walk", names)


def _engine(walk: Any) -> str | None:
    from minilib.tensor import FREED, Function, apply, tensor

    class Square(Function):
        spoken = 0

        def forward(self, x: Any) -> Any:
            self.x = x
            return x * x

        def backward(self, grad: Any) -> Any:
            self.spoken += 1
            return 2 * self.x * grad

    a, b = tensor([1.0, 2.0, 3.0], requires_grad=True), tensor([1.0, 1.0, 1.0], requires_grad=True)
    data = tensor([2.0, 2.0, 2.0])
    seed = np.ones(3)
    found, trouble = tried(walk, (a * a).function, seed)
    if trouble:
        return f"{trouble}{next((why for sign, why in SIGNS.items() if sign in trouble), '')}"
    if not isinstance(found, dict) or a not in found:
        return "not yet: it should return a dictionary, in which each leaf finds its gradient"
    if found[a].tolist() == [1.0, 2.0, 3.0]:
        return "not yet. a * a tells a its share twice, and the second replaces the first. Shares add up"
    if found[a].tolist() != [2.0, 4.0, 6.0]:
        return f"not yet: the slope of a**2 is 2 a, at 1, 2 and 3; yours is {found[a]}"
    asked = Square()
    square: Any = apply(asked, a)
    alone, trouble = tried(walk, asked, np.ones(3))
    if trouble or not np.array_equal(alone.get(a), [2.0, 4.0, 6.0]):
        lone = "an operation with one input may answer with a lone array instead of a tuple"
        return f"not yet: {lone}, and yours takes it apart, number by number: ask isinstance(answer, tuple)"
    try:
        asked.spoken = 0
        late = walk((square * a + square).function, seed)[a].tolist()
        total, product = a + b, a * b
        shared = walk((product + total).function, seed)
        row = walk((tensor([[1.0], [2.0]]) * a).function, np.ones((2, 3)))[a]
        told = walk((a + data).function, seed)
        square = deep = a * a
        for _ in range(3000):
            deep = -deep
        in_the_end = walk(deep.function, seed)
    except KeyError:
        return "not yet: a KeyError. Was an operation pushed each time it was told something? Once is enough"
    except Exception as error:
        return f"not yet: a**2 is right, and then it stops with {type(error).__name__}: {error}"
    if asked.spoken > 1:
        return "not yet: in a**3 + a**2 the square spoke before all that used it, then again. Newest first"
    if late != [5.0, 16.0, 33.0]:
        return f"not yet: the slope of a**3 + a**2 at 1, 2, 3 is 5, 16, 33; yours is {late}. Newest first"
    to_a, to_b = shared[a].tolist(), shared[b].tolist()
    if (to_a, to_b) != ([2.0, 2.0, 2.0], [2.0, 3.0, 4.0]) or seed.tolist() != [1.0, 1.0, 1.0]:
        return "not yet: in ab + (a + b) an array was handed to two, and one of them wrote into it"
    if row.shape != a.shape:
        return f"not yet: a was repeated in two rows, and yours has shape {row.shape}: sum_to(share, shape)"
    if data in told:
        return "not yet: data without requires_grad were told something as well"
    if set(in_the_end) != {a}:
        return "not yet: what operations were told stays in the dictionary. pop it as they speak"
    if square.function.saved is not FREED:
        return "all numbers are right. But nobody lets go: f.saved = FREED, once f has spoken"
    return None
