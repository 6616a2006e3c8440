"""Rules that recognise what an exporter has written in many nodes: affine layers, norms, GELU, attention.

Taught in chapters/10c_declutter.ipynb and solutions/10c_declutter.ipynb: what they export is edited there,
then `make promote`.

Importing this module adds them to those of `declutter`, and to the table the operators that ONNX has not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minilib.infer.declutter import Patch, View, alike, instead, order_of, rule
from minilib.infer.elementwise import softmax_rows
from minilib.infer.facts import Fact, broadcast_shapes
from minilib.infer.model import Node
from minilib.infer.operators import OPERATORS, operator

__all__ = ["factors"]

Array = Any

# Operators of our own


def _linear_facts(x: Fact, w: Fact, b: Fact) -> Fact:
    (made,) = OPERATORS["MatMul"].infer(x, w)
    return Fact(made.dtype, broadcast_shapes(made.shape, b.shape))


@operator("Linear", _linear_facts, own=True)
def linear(x: Array, w: Array, b: Array) -> Array:
    """x (..., K) by w (K, N), plus b (N,)"""
    return np.matmul(x, w) + b


def _attention_facts(q: Fact, k: Fact, v: Fact, *_: Fact | None, **__: Any) -> Fact:
    batch = broadcast_shapes(*(one.sizes[:-2] for one in (q, k, v))) or ()
    return Fact(q.dtype, (*batch, q.sizes[-2], v.sizes[-1]))


@operator("ScaledDotProductAttention", _attention_facts, own=True)
def attention(
    q: Array, k: Array, v: Array, more: Array | None = None, drop: Array | None = None, *,
    scale: float = 1.0, fill: float = -math.inf,
) -> Array:  # fmt: skip
    """softmax(q k scale + more) v: q (..., T, D), k as columns (..., D, S), v (..., S, D).

    Where `drop` is true a score counts as `fill`.
    """
    scores = np.matmul(q * np.asarray(scale, q.dtype), k)
    scores = scores if more is None else scores + more
    scores = scores if drop is None else np.where(drop, np.asarray(fill, q.dtype), scores)
    return np.matmul(softmax_rows(scores), v)


def _heads_facts(q: Fact, k: Fact, v: Fact, *_: Fact | None, heads: int, **__: Any) -> Fact:
    return Fact(q.dtype, (*q.sizes[:-1], v.sizes[-1]))


@operator("MultiHeadAttention", _heads_facts, own=True)
def multi_head_attention(
    q: Array, k: Array, v: Array, more: Array | None = None, drop: Array | None = None, *,
    heads: int, scale: float = 1.0, fill: float = -math.inf,
) -> Array:  # fmt: skip
    """The same for each head by itself: q (B, T, heads D), k and v (B, S, heads D) -> (B, T, heads D)."""
    q, k, v = (one.reshape(*one.shape[:2], heads, one.shape[2] // heads).swapaxes(1, 2) for one in (q, k, v))
    made = attention(q, k.swapaxes(-1, -2), v, more, drop, scale=scale, fill=fill)
    return made.swapaxes(1, 2).reshape(len(made), made.shape[2], heads * made.shape[3])


# Affine layers


@rule("BatchNormalization")
def batch_norm_into_conv(view: View, node: Node) -> Patch | None:
    """Batch norm is x * factor + shift a channel: a convolution before it takes both into its weights."""
    conv = view.inner(node.inputs[0], "Conv")
    if conv is None or node.attributes.get("training_mode") or any(view.reads[n] for n in node.outputs[1:]):
        return None
    scale, shift, mean, variance = (view.constant(name) for name in node.inputs[1:5])
    w, old = view.constant(conv.inputs[1]), conv.inputs[2] if len(conv.inputs) > 2 else ""
    b = view.constant(old) if old else np.zeros(1, np.float32)
    if any(one is None for one in (scale, shift, mean, variance, w, b)):
        return None
    factor = scale / np.sqrt(variance + node.attributes.get("epsilon", 1e-5))
    weights = (w * factor.reshape(-1, *[1] * (w.ndim - 1))).astype(w.dtype)
    bias = ((b - mean) * factor + shift).astype(w.dtype)
    names = [f"{node.outputs[0]}.weight", f"{node.outputs[0]}.bias"]
    made = Node("Conv", [conv.inputs[0], *names], node.outputs[:1], conv.attributes, conv.name)
    return Patch([made], dict(zip(names, (weights, bias))))


@rule("Conv")
def pad_into_conv(view: View, node: Node) -> Patch | None:
    """Zeros that stand around only for a convolution are its own padding: a causal one has no delay then."""
    pad, told = view.inner(node.inputs[0], "Pad"), node.attributes
    if pad is None or told.get("auto_pad", "NOTSET") != "NOTSET" or len(pad.inputs) > 3:
        return None
    wide = view.constant(pad.inputs[1])
    zeros = not pad.reads(2) or view.scalar(pad.reads(2)) == 0
    if wide is None or not zeros or pad.attributes.get("mode", "constant") != "constant" or (wide < 0).any():
        return None
    outer, inner = wide.reshape(2, -1)[:, :2], wide.reshape(2, -1)[:, 2:]
    if outer.any() or not inner.size:
        return None
    pads = np.add(told.get("pads", [0] * inner.size), inner.reshape(-1)).tolist()
    return instead(node, "Conv", [pad.inputs[0], *node.inputs[1:]], {**told, "pads": pads})


@rule("Add")
def linear_from_matmul(view: View, node: Node) -> Patch | None:
    """A product with constant weights, and a constant row that is added."""
    for product, row in (node.inputs, node.inputs[::-1]):
        inner, b = view.inner(product, "MatMul"), view.constant(row)
        w = None if inner is None else view.constant(inner.inputs[1])
        if inner is None or w is None or b is None or w.ndim != 2 or b.shape != w.shape[1:]:
            continue
        return Patch([Node("Linear", [*inner.inputs, row], node.outputs, {}, inner.name)])
    return None


@rule("Gemm")
def linear_from_gemm(view: View, node: Node) -> Patch | None:
    """Weights are transposed and scaled once, and not at each run."""
    told = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0} | node.attributes
    w = view.constant(node.inputs[1])
    b = view.constant(node.reads(2))
    if told["transA"] or w is None or w.dtype.kind != "f" or (b is None and node.reads(2)):
        return None
    w = np.ascontiguousarray(w.T if told["transB"] else w) * w.dtype.type(told["alpha"])
    b = np.zeros(w.shape[1], w.dtype) if b is None else b * b.dtype.type(told["beta"])
    if b.size not in (1, w.shape[1]) or b.shape[:-1] not in ((), (1,)):
        return None
    whole = np.ascontiguousarray(np.broadcast_to(b.reshape(-1), w.shape[1:]))
    names = [f"{node.outputs[0]}.weight", f"{node.outputs[0]}.bias"]
    return instead(node, "Linear", [node.inputs[0], *names], {}, dict(zip(names, (w, whole))))


# Products, taken apart


def factors(view: View, name: str, wanted: str = "") -> tuple[float, list[str], list[str]]:
    """A result as number * product of names / product of names.

    Taken apart is `wanted`, and what nobody else reads.
    """
    number, above, below = 1.0, list[str](), list[str]()
    todo = [(name, 1)]
    while todo:
        name, power = todo.pop()
        value = view.scalar(name)
        node = view.maker(name, "Mul", "Div", "Neg", "Pow", "Reciprocal")
        if node is not None and name != wanted and view.reads[name] > 1 and node.op != "Pow":
            node = None
        exponent = view.scalar(node.inputs[1]) if node is not None and node.op == "Pow" else None
        if value is not None and view.is_float(name):
            number *= value**power if value else math.nan
        elif node is not None and node.op in ("Mul", "Div"):
            todo += [(node.inputs[0], power), (node.inputs[1], power if node.op == "Mul" else -power)]
        elif node is not None and node.op in ("Neg", "Reciprocal"):
            number *= -1 if node.op == "Neg" else 1
            todo.append((node.inputs[0], power if node.op == "Neg" else -power))
        elif node is not None and exponent in (2, 3):
            todo += [(node.inputs[0], power)] * int(exponent)
        else:
            (above if power > 0 else below).append(name)
    return number, above, below


def near(x: float, y: float) -> bool:
    return math.isclose(x, y, rel_tol=1e-4)


def plus(view: View, name: str, op: str = "Add") -> list[tuple[str, str]]:
    """Both ways to read a sum that nobody else reads; none of everything else."""
    node = view.inner(name, op)
    return [] if node is None else [(node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])]


@rule("Mul", "Div")
def gates(view: View, node: Node) -> Patch | None:
    """GELU, with erf or tanh, and x * sigmoid(alpha x), out of any order of their factors."""
    result = node.outputs[0]
    if not view.is_float(result):
        return None
    number, above, below = factors(view, result, result)
    if len(above) != 2 or below:
        return None
    for x, gate in (above, above[::-1]):
        if not alike(view.facts[x], view.facts[result]):
            continue
        if near(number, 1) and (sigmoid := view.inner(gate, "Sigmoid")):
            alpha, inner, under = factors(view, sigmoid.inputs[0])
            if inner == [x] and not under:
                return instead(node, "Swish", [x], {"alpha": alpha})
        for one, bent in plus(view, gate) if near(number, 0.5) else ():
            if view.scalar(one) == 1 and (kind := gelu_of(view, bent, x)):
                return instead(node, "Gelu", [x], {"approximate": kind})
    return None


def gelu_of(view: View, bent: str, x: str) -> str | None:
    """Which of the two GELUs the bent part belongs to: erf(x / sqrt 2), or tanh of a polynomial."""
    node = view.inner(bent, "Erf", "Tanh")
    if node is None:
        return None
    number, above, below = factors(view, node.inputs[0])
    if node.op == "Erf":
        return "none" if near(number, math.sqrt(0.5)) and above == [x] and not below else None
    # number * x^times * (linear + cubic), where the linear part has the x that stand before the sum no more
    rest, times = [n for n in above if n != x], above.count(x)
    if len(rest) != 1 or times > 1 or below:
        return None
    slope = math.sqrt(2 / math.pi)
    for linear, cubic in plus(view, rest[0]):
        (a, xs, under), (b, cube, beneath) = factors(view, linear), factors(view, cubic)
        if under or beneath or (xs, cube) != ([x] * (1 - times), [x] * (3 - times)):
            continue
        if near(number * a, slope) and near(number * b, slope * 0.044715):
            return "tanh"
    return None


# Norms


def mean_of(view: View, name: str) -> str | None:
    """What a name is the mean of, along its last axis, which stays; None of everything else."""
    node = view.maker(name, "ReduceMean")
    if node is None or not node.attributes.get("keepdims", 1) or view.shape(node.inputs[0]) is None:
        return None
    axes = view.constant(node.reads(1))
    rank = len(view.shape(node.inputs[0]))
    last = axes is not None and axes.size == 1 and int(axes.reshape(-1)[0]) % rank == rank - 1
    return node.inputs[0] if last else None


@rule("Mul", "Div")
def norm(view: View, node: Node) -> Patch | None:
    """x / sqrt(mean(x²) + epsilon) * scale: RMS norm; layer norm where x is what is left of its own mean."""
    result = node.outputs[0]
    if not view.is_float(result):
        return None
    number, above, below = factors(view, result, result)
    if not near(number, 1) or len(below) != 1 or len(above) not in (1, 2):
        return None
    root = view.maker(below[0], "Sqrt")
    for spread, small in plus(view, root.inputs[0]) if root is not None else ():
        epsilon, squares = view.scalar(small), mean_of(view, spread)
        if epsilon is None or squares is None:
            continue
        one, xs, under = factors(view, squares)
        x = xs[0] if xs else ""
        rest = [n for n in above if n != x]
        if not x or not alike(view.facts[x], view.facts[result]):
            continue
        if one != 1 or under or len(xs) != 2 or xs[1] != x or len(rest) != len(above) - 1:
            continue
        width = view.shape(x)[-1]
        scale = view.constant(rest[0]) if rest else np.ones(1, view.facts[x].dtype)
        if scale is None or not isinstance(width, int) or scale.size not in (1, width) or scale.ndim > 1:
            continue
        name = f"{result}.scale"
        constants = {name: np.ascontiguousarray(np.broadcast_to(scale, (width,)))}
        away = view.maker(x, "Sub")
        told = {"axis": -1, "epsilon": epsilon}
        if away is not None and mean_of(view, away.inputs[1]) == away.inputs[0]:
            return instead(node, "LayerNormalization", [away.inputs[0], name], told, constants)
        return instead(node, "RMSNormalization", [x, name], told, constants)
    return None


@rule("Add")
def norm_with_bias(view: View, node: Node) -> Patch | None:
    """A row that is added to a layer norm is its bias."""
    for product, row in (node.inputs, node.inputs[::-1]):
        inner, b = view.inner(product, "LayerNormalization"), view.constant(row)
        if inner is None or b is None or any(inner.inputs[2:]):
            continue
        if b.shape == view.shape(inner.inputs[1]):
            return instead(node, inner.op, [*inner.inputs[:2], row], inner.attributes)
    return None


# Attention


@rule("MatMul")
def attention_from_products(view: View, node: Node) -> Patch | None:
    """softmax(scale q k, masked) v, in one node."""
    softmax = view.inner(node.inputs[0], "Softmax")
    if softmax is None or softmax.attributes.get("flat") or view.shape(softmax.inputs[0]) is None:
        return None
    scores, rank = softmax.inputs[0], len(view.shape(softmax.inputs[0]))
    if softmax.attributes.get("axis", -1) % rank != rank - 1 or rank < 3:
        return None
    more, drop, told = "", "", dict[str, Any]()
    where = view.inner(scores, "Where")
    if where is not None and (fill := view.scalar(where.inputs[1])) is not None:
        drop, scores, told = where.inputs[0], where.inputs[2], {"fill": fill}
    elif (added := view.inner(scores, "Add")) is not None:
        scores, more = added.inputs if scaled(view, added.inputs[0]) else added.inputs[::-1]
    found = scaled(view, scores)
    if found is None:
        return None
    scale, product = found
    if not alike(view.facts[product.outputs[0]], view.facts[softmax.inputs[0]]):
        return None
    inputs = [*product.inputs, node.inputs[1], more, drop]
    while not inputs[-1]:
        inputs.pop()
    return instead(node, "ScaledDotProductAttention", inputs, {"scale": scale, **told})


def scaled(view: View, name: str) -> tuple[float, Node] | None:
    """A product of matrices that nobody else reads, and a number that it is multiplied by."""
    number, above, below = factors(view, name)
    product = view.inner(above[0], "MatMul") if len(above) == 1 and not below else None
    ok = product is not None and view.reads[name] == 1 and not math.isnan(number)
    return (number, product) if ok and product is not None else None


@rule("Reshape")
def heads_from_attention(view: View, node: Node) -> Patch | None:
    """Heads cut out of rows before attention, and laid side by side again behind it."""
    turned = view.inner(node.inputs[0], "Transpose")
    core = None if turned is None else view.inner(turned.inputs[0], "ScaledDotProductAttention")
    if core is None or turned is None or order_of(view, turned) != [0, 2, 1, 3]:
        return None
    orders = [0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]
    rows = [rows_of(view, name, order) for name, order in zip(core.inputs, orders)]
    heads = view.shape(core.inputs[0])[1]
    if None in rows or {view.shape(name)[1] for name in core.inputs[:3]} != {heads}:
        return None
    q, v, after = view.shape(core.inputs[0]), view.shape(core.inputs[2]), view.shape(node.outputs[0])
    if not isinstance(heads, int) or after != (q[0], q[2], heads * v[3]):
        return None
    inputs = [str(name) for name in rows] + core.inputs[3:]
    return instead(node, "MultiHeadAttention", inputs, {**core.attributes, "heads": heads})


def rows_of(view: View, name: str, perm: list[int]) -> str | None:
    """(B, T, heads * D) where a name is (B, T, heads, D) of it in the order `perm`."""
    turned = view.inner(name, "Transpose")
    parts = None if turned is None else view.inner(turned.inputs[0], "Reshape")
    if parts is None or turned is None or order_of(view, turned) != perm:
        return None
    before, after = view.shape(parts.inputs[0]), view.shape(parts.outputs[0])
    if before is None or after is None or len(before) != 3 or len(after) != 4:
        return None
    return parts.inputs[0] if (*after[:2], after[2] * after[3]) == tuple(before) else None
