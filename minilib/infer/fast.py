"""How operators become calls of NumPy that write where the plan wants them: no checks, no new arrays.

Importing this module fills `plan.EMITTERS`. What has no line here runs as the table of operators has it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import numpy as np

from minilib.infer.elementwise import COMBINED, COMPARED, ERF, OF_ALL, UNARY, axes_of, reduce_axes
from minilib.infer.model import Node
from minilib.infer.operators import OPERATORS
from minilib.infer.plan import Builder, Slot, emitter

__all__ = ["SHIFTED", "VIEWS", "Maybe", "written"]

Maybe = Slot | None

# Views, which cost nothing

VIEWS = (
    "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split", "Expand", "Identity",
    "Dropout", "DepthToSpace",
)  # fmt: skip


@emitter(*VIEWS)
def views(b: Builder, node: Node, x: Slot, *others: Maybe) -> Any:
    """Run now, on memory whose numbers are not there yet: what comes out is a view of the same memory."""
    if x.constant or any(other is not None and not other.constant for other in others):
        return None
    if x.name:
        return moved(b, node, x)
    arrays = [None if other is None else other.array for other in others]
    made = OPERATORS[node.op](x.array, *arrays, **node.attributes)[: 1 if node.op == "Dropout" else None]
    if all(np.may_share_memory(one, x.array) for one in made) or not x.array.size:
        return tuple(Slot(one, x.pieces) for one in made)
    if node.op not in ("Reshape", "Flatten"):
        return None
    out = b.result()
    target = b.reshaped(out, x.shape)
    if target is not None:
        b.call(np.copyto, target, x)
    return target and out


def moved(b: Builder, node: Node, x: Slot) -> Any:
    """A view of an input, which is another array at each run."""
    if node.op in ("Reshape", "Flatten", "Squeeze", "Unsqueeze"):
        return b.view(x, "reshape", b.fact().shape)
    if node.op == "Transpose":
        return b.view(x, "transpose", tuple(node.attributes.get("perm") or range(x.ndim)[::-1]))
    return x if node.op == "Identity" else None


@emitter("Gather")
def gather(b: Builder, node: Node, x: Slot, indices: Slot) -> Any:
    (axis,) = axes_of([node.attributes.get("axis", 0)], x.ndim)
    if indices.constant and indices.array.size == 1 and indices.ndim == 0 and not x.constant:
        i = int(indices.array)
        if -x.shape[axis] <= i < x.shape[axis]:
            return b.view(x, "__getitem__", (*[slice(None)] * axis, i))
    out = b.result()
    b.call(np.take, x, indices, axis=axis, out=out)
    return out


@emitter("Concat")
def concat(b: Builder, node: Node, *xs: Slot) -> Slot:
    out = b.result()
    b.call(np.concatenate, list(xs), axis=node.attributes["axis"], out=out)
    return out


@emitter("Cast")
def cast(b: Builder, node: Node, x: Slot) -> Slot:
    out = b.result(like=x)
    b.call(np.copyto, out, x, casting="unsafe")
    return out


@emitter("Where")
def where(b: Builder, node: Node, condition: Slot, x: Slot, y: Slot) -> Slot:
    out = b.result(like=y, over=[y])
    if out is not y:
        b.call(np.copyto, out, y)
    b.call(np.copyto, out, x, where=condition)
    return out


# Number by number

ONE = {
    **{name: function for name, function in UNARY.items() if isinstance(function, np.ufunc)},
    "Not": np.logical_not, "IsNaN": np.isnan,
}  # fmt: skip
TWO = {**COMPARED, **COMBINED, **OF_ALL, "Div": np.divide}


@emitter(*ONE)
def one(b: Builder, node: Node, x: Slot) -> Maybe:
    if x.dtype.kind not in "fb":
        return None
    out = b.result(like=x, over=[x])
    b.call(ONE[node.op], x, out=out)
    return out


@emitter(*TWO)
def two(b: Builder, node: Node, x: Slot, *ys: Slot) -> Maybe:
    if not ys or (node.op == "Div" and x.dtype.kind != "f") or x.dtype == object:
        return None
    first = max((x, ys[0]), key=lambda slot: slot.array.size)
    out = b.result(like=first, over=[x, ys[0]] if len(ys) == 1 else [])
    for y in ys:
        b.call(TWO[node.op], x, y, out=out)
        x = out
    return out


@emitter("Clip")
def clip(b: Builder, node: Node, x: Slot, low: Maybe = None, high: Maybe = None) -> Slot:
    steady = all(bound is None or bound.constant for bound in (low, high))
    out = b.result(like=x, over=[x] if steady else [])
    for function, bound in ((np.maximum, low), (np.minimum, high)):
        if bound is not None:
            b.call(function, x, bound, out=out)
            x = out
    if low is None and high is None:
        b.call(np.copyto, out, x)
    return out


def erf_of(x: str) -> str:
    """out = erf(x) = tanh(x q(x²)), as steps."""
    inner = "".join(f"out = add out {c}; out = multiply out square; " for c in ERF[-2:0:-1])
    return (
        f"square = multiply {x} {x}; square = minimum square 12.25; out = multiply square {ERF[-1]}; {inner}"
        f"out = add out {ERF[0]}; out = multiply out {x}; out = tanh out"
    )


_BENT = -2 * math.sqrt(2 / math.pi)
GATE = "out = exp out; out = add out 1; "  # what x is divided by, to be x * sigmoid(-out)
SPREAD = "row = multiply row 1/n; row = add row epsilon; row = sqrt row; "
SHIFTED = "row = maximum.reduce x; out = subtract x row; out = exp out; row = add.reduce out"
STEPS = {
    "Relu": "out = maximum x 0",
    "Sigmoid": f"out = negative x; {GATE} out = reciprocal out",
    "Swish": f"out = multiply x -alpha; {GATE} out = divide x out",
    # max(x, 0) + log(1 + exp(-|x|)): no exponential overflows
    "Softplus": "out = absolute x; out = negative out; out = exp out; out = log1p out; "
    "top = maximum x 0; out = add out top",
    "Erf": erf_of("x"),
    # x (1 + erf(x / sqrt 2)) / 2
    "Gelu": f"inner = multiply x {math.sqrt(0.5)}; {erf_of('inner')}; "
    "out = add out 1; out = multiply out x; out = multiply out 0.5",
    # x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x³)
    "Gelu tanh": f"out = multiply x x; out = multiply out {0.044715 * _BENT}; out = add out {_BENT}; "
    f"out = multiply out x; {GATE} out = divide x out",
    "Pow 2": "out = multiply x x",
    "Pow 3": "out = multiply x x; out = multiply out x",
    "Pow 0.5": "out = sqrt x",
    "Softmax": f"{SHIFTED}; out = divide out row",
    # (x - mean) / sqrt(mean((x - mean)²) + epsilon), and the same without the mean
    "LayerNormalization": "row = add.reduce x; row = multiply row 1/n; out = subtract x row; "
    f"row = vecdot out out; {SPREAD} out = divide out row; out = multiply out scale; out = add out shift",
    "RMSNormalization": f"row = vecdot x x; {SPREAD} out = divide x row; out = multiply out scale",
}


@emitter("Relu", "Sigmoid", "Swish", "Softplus", "Erf", "Gelu")
def stepwise(b: Builder, node: Node, x: Slot) -> Maybe:
    name = "Gelu tanh" if node.attributes.get("approximate", "none") == "tanh" else node.op
    if x.dtype.kind != "f" or (name in ("Erf", "Gelu") and x.dtype != np.float32):
        return None
    return written(b, STEPS[name], x, {"-alpha": -node.attributes.get("alpha", 1.0)})


@emitter("Pow")
def power(b: Builder, node: Node, x: Slot, y: Slot) -> Maybe:
    exponent = f"Pow {y.array.reshape(-1)[0]:g}" if y.constant and y.array.size == 1 else ""
    if x.dtype.kind != "f" or b.fact().shape != x.shape or (x.dtype != y.dtype and exponent not in STEPS):
        return None
    return written(b, STEPS.get(exponent, "out = power x y"), x, {"y": y})


@emitter("Softmax", "LayerNormalization", "RMSNormalization")
def rows(b: Builder, node: Node, x: Slot, scale: Maybe = None, shift: Maybe = None) -> Maybe:
    axis = node.attributes.get("axis", -1) % max(x.ndim, 1)
    if x.dtype.kind != "f" or not x.array.size or x.ndim == 0 or node.attributes.get("flat"):
        return None
    if node.op != "Softmax" and axis != x.ndim - 1:
        return None
    numbers = {"1/n": 1 / x.shape[axis], "epsilon": node.attributes.get("epsilon", 1e-5)}
    return written(b, STEPS[node.op], x, {**numbers, "scale": scale, "shift": shift}, axis)


def written(b: Builder, steps: str, x: Slot, known: Mapping[str, Any], axis: int = -1) -> Slot:
    """Calls as STEPS has them, "target = function arguments", on x along an axis; returns `out`.

    Arguments are numbers, `known` ones, or arrays like x; of a `row` one number is left along the axis. A
    step that reads what is absent is left out.
    """
    todo = [step.split() for step in steps.split(";")]
    first = next(i for i, (target, *_) in enumerate(todo) if target == "out")
    slots = {"x": x, **{name: one for name, one in known.items() if isinstance(one, Slot)}}
    if "out" not in slots:
        again = any("x" in words for words in todo[first + 1 :])
        looked_at = any(one.pieces & x.pieces for name, one in slots.items() if name != "x")
        slots["out"] = b.result(like=x, over=[] if again or looked_at else [x])

    def slot(word: str) -> Slot:
        return slots[word] if word in slots else b.number(float(known.get(word, word)), x.dtype)

    for target, _, function, *words in todo:
        if any(known.get(word, word) is None for word in words):
            continue
        if target not in slots:
            shape = list(x.shape)
            if target == "row":
                shape[axis] = 1
            slots[target] = b.piece(shape, x.dtype)
        along: dict[str, Any] = {"axis": axis, "keepdims": True} if function.endswith(".reduce") else {}
        along |= {"keepdims": True} if function == "vecdot" else {}
        b.call(attrgetter(function)(np), *map(slot, words), **along, out=slots[target])
    return slots["out"]


# Along axes

REDUCED: dict[str, Any] = {
    "ReduceSum": np.add, "ReduceMean": np.add, "ReduceMax": np.maximum, "ReduceMin": np.minimum,
    "ReduceProd": np.multiply, "GlobalAveragePool": np.add,
}  # fmt: skip


@emitter(*REDUCED)
def reduction(b: Builder, node: Node, x: Slot, axes: Maybe = None) -> Maybe:
    told = node.attributes
    if x.dtype.kind != "f" or not x.array.size or (axes is not None and not axes.constant):
        return None
    gone = reduce_axes(axes and axes.array, x.ndim, told.get("noop_with_empty_axes", 0))
    gone = tuple(range(2, x.ndim)) if node.op == "GlobalAveragePool" else gone
    out = b.result()
    b.call(REDUCED[node.op].reduce, x, axis=gone, keepdims=bool(told.get("keepdims", 1)), out=out)
    if node.op in ("ReduceMean", "GlobalAveragePool"):
        b.call(np.divide, out, b.number(math.prod(x.shape[i] for i in gone), x.dtype), out=out)
    return out
