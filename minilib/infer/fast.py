"""How operators become calls of NumPy that write where the plan wants them: no checks, no new arrays.

Importing this module fills `plan.EMITTERS`. What has no line here runs as the table of operators has it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minilib.infer.elementwise import COMBINED, COMPARED, ERF, OF_ALL, UNARY, axes_of
from minilib.infer.model import Node
from minilib.infer.operators import OPERATORS
from minilib.infer.plan import Builder, Slot, emitter

__all__ = ["VIEWS", "Maybe", "shifted"]

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


@emitter("Pow")
def power(b: Builder, node: Node, x: Slot, y: Slot) -> Maybe:
    if x.dtype.kind != "f" or b.fact().shape != x.shape:
        return None
    exponent = float(y.array.reshape(-1)[0]) if y.constant and y.array.size == 1 else None
    out = b.result(like=x)
    if exponent in (2, 3):
        b.call(np.multiply, x, x, out=out)
        if exponent == 3:
            b.call(np.multiply, out, x, out=out)
    elif exponent == 0.5:
        b.call(np.sqrt, x, out=out)
    elif x.dtype == y.dtype:
        b.call(np.power, x, y, out=out)
    else:
        return None
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
}


@emitter("Relu", "Sigmoid", "Swish", "Softplus", "Erf", "Gelu")
def stepwise(b: Builder, node: Node, x: Slot) -> Maybe:
    """Calls as STEPS has them, "target = function arguments": names are arrays like x, others are numbers."""
    told = node.attributes
    name = "Gelu tanh" if told.get("approximate", "none") == "tanh" else node.op
    if x.dtype.kind != "f" or (name in ("Erf", "Gelu") and x.dtype != np.float32):
        return None
    steps = [step.split() for step in STEPS[name].split(";")]
    again = any("x" in words for words in steps[1:])
    known = {"x": x, "out": b.result(like=x, over=[] if again else [x])}
    known["-alpha"] = b.number(-told.get("alpha", 1.0), x.dtype)
    for target, _, function, *words in steps:
        if target not in known:
            known[target] = b.piece(x.shape, x.dtype)
        arguments = [known[word] if word in known else b.number(float(word), x.dtype) for word in words]
        b.call(getattr(np, function), *arguments, out=known[target])
    return known["out"]


# Along axes


def rows_like(x: Slot) -> tuple[int, ...]:
    return (*x.shape[:-1], 1)


@emitter("Softmax")
def softmax(b: Builder, node: Node, x: Slot) -> Maybe:
    axis = node.attributes.get("axis", -1) % max(x.ndim, 1)
    if node.attributes.get("flat") or not x.array.size or x.ndim == 0:
        return None
    out = b.result(like=x, over=[x])
    some = b.piece([1 if i == axis else n for i, n in enumerate(x.shape)], x.dtype)
    shifted(b, x, some, out, axis)
    b.call(np.divide, out, some, out=out)
    return out


def shifted(b: Builder, x: Slot, some: Slot, out: Slot, axis: int) -> None:
    """out = exp(x - max), and some = its sum, along the axis."""
    b.call(np.maximum.reduce, x, axis=axis, keepdims=True, out=some)
    b.call(np.subtract, x, some, out=out)
    b.call(np.exp, out, out=out)
    b.call(np.add.reduce, out, axis=axis, keepdims=True, out=some)


REDUCED: dict[str, Any] = {
    "ReduceSum": np.add, "ReduceMean": np.add, "ReduceMax": np.maximum, "ReduceMin": np.minimum,
    "ReduceProd": np.multiply,
}  # fmt: skip


@emitter(*REDUCED)
def reduction(b: Builder, node: Node, x: Slot, axes: Maybe = None) -> Maybe:
    noop = node.attributes.get("noop_with_empty_axes", 0)
    if x.dtype.kind != "f" or not x.array.size or (axes is not None and not axes.constant):
        return None
    if axes is None or not axes.array.size:
        if noop:
            return None
        gone = tuple(range(x.ndim))
    else:
        gone = axes_of(axes.array, x.ndim)
    out, keep = b.result(), bool(node.attributes.get("keepdims", 1))
    b.call(REDUCED[node.op].reduce, x, axis=gone, keepdims=keep, out=out)
    if node.op == "ReduceMean":
        count = math.prod(x.shape[i] for i in gone)
        b.call(np.divide, out, b.number(count, x.dtype), out=out)
    return out


def scaled_rows(b: Builder, x: Slot, away: Slot, epsilon: float, out: Slot) -> None:
    """out = away / sqrt(mean(away²) + epsilon), a row at a time"""
    spread = b.piece(rows_like(x), x.dtype)
    b.call(np.vecdot, away, away, keepdims=True, out=spread)
    b.call(np.multiply, spread, b.number(1 / x.shape[-1], x.dtype), out=spread)
    b.call(np.add, spread, b.number(epsilon, x.dtype), out=spread)
    b.call(np.sqrt, spread, out=spread)
    b.call(np.divide, away, spread, out=out)


@emitter("LayerNormalization")
def layer_norm(b: Builder, node: Node, x: Slot, scale: Slot, shift: Maybe = None) -> Maybe:
    if not last_axis(node, x):
        return None
    out, mean = b.result(like=x), b.piece(rows_like(x), x.dtype)
    b.call(np.add.reduce, x, axis=-1, keepdims=True, out=mean)
    b.call(np.multiply, mean, b.number(1 / x.shape[-1], x.dtype), out=mean)
    b.call(np.subtract, x, mean, out=out)
    scaled_rows(b, x, out, node.attributes.get("epsilon", 1e-5), out)
    b.call(np.multiply, out, scale, out=out)
    if shift is not None:
        b.call(np.add, out, shift, out=out)
    return out


@emitter("RMSNormalization")
def rms_norm(b: Builder, node: Node, x: Slot, scale: Slot) -> Maybe:
    if not last_axis(node, x):
        return None
    out = b.result(like=x)
    scaled_rows(b, x, x, node.attributes.get("epsilon", 1e-5), out)
    b.call(np.multiply, out, scale, out=out)
    return out


def last_axis(node: Node, x: Slot) -> bool:
    axis = node.attributes.get("axis", -1)
    return x.dtype.kind == "f" and x.ndim > 0 and axis % x.ndim == x.ndim - 1 and bool(x.array.size)
