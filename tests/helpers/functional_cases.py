"""The table of `minilib.functional`, like that of tensor_cases: each operation with a way to draw its inputs.

A case's function takes `minilib.tensor` or `torch` first and finds the operation in the library's functional
module, or else in itself. Arrays among the options (weights of classes, running averages) have no gradient.
"""

from __future__ import annotations

import importlib
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from tensor_cases import (
    Case,
    Drawn,
    an_axis,
    floats,
    np_dims,
    one,
    reduced,
    shapes,
    sides,
    spaced,
    with_options,
)

FUNCTIONAL = {"minilib.tensor": "minilib.functional", "torch": "torch.nn.functional"}


def op(lib: Any, name: str) -> Any:
    """The operation `name` of a library, `minilib.tensor` or `torch`."""
    return getattr(importlib.import_module(FUNCTIONAL[lib.__name__]), name, None) or getattr(lib, name)


def given_tensors(lib: Any, options: dict[str, Any], like: Any) -> dict[str, Any]:
    """The options with arrays made tensors, of the dtype of `like` and where it is."""
    return {
        key: lib.tensor(np.array(value), dtype=like.dtype, device=like.device)
        if isinstance(value, np.ndarray)
        else value
        for key, value in options.items()
    }


def plain_call(name: str) -> Any:
    """A case's function for an operation whose tensors come first and whose options have names."""
    return lambda lib, x, *others, **o: op(lib, name)(x, *others, **given_tensors(lib, o, x))


def named(names: Any, bugs: Any = ()) -> pytest.MarkDecorator:
    """Run a test over `names`; `bugs` says of some why they fail until they are mended."""
    assert set(bugs) <= set(names)
    marks = {name: [pytest.mark.xfail(strict=True, reason=why)] for name, why in dict(bugs).items()}
    return pytest.mark.parametrize("name", [pytest.param(n, marks=marks.get(n, [])) for n in names])


def each(cases: list[Case], bugs: Any = ()) -> pytest.MarkDecorator:
    """The same for `cases`."""
    marks = {name: [pytest.mark.xfail(strict=True, reason=why)] for name, why in dict(bugs).items()}
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=case.name, marks=marks.get(case.name, [])) for case in cases]
    )


# ---------------------------------------------------------------- activations


def along_an_axis(low: int = 0) -> st.SearchStrategy[Drawn]:
    return with_options(lambda draw, shape: {"dim": an_axis(draw, shape)}, low=low)


np_erf = np.vectorize(math.erf, otypes=[float])


def np_sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def np_gelu(x: np.ndarray, approximate: str = "none") -> np.ndarray:
    if approximate == "tanh":
        return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x / 2 * (1 + np_erf(x / math.sqrt(2)))


def np_softplus(x: np.ndarray, beta: float = 1.0, threshold: float = 20.0) -> np.ndarray:
    return np.where(beta * x > threshold, x, np.log1p(np.exp(beta * x)) / beta)


def np_softmax(x: np.ndarray, dim: int) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum(dim, keepdims=True) if x.ndim else np.ones(())


def np_log_softmax(x: np.ndarray, dim: int) -> np.ndarray:
    return np.log(np_softmax(x, dim))


def np_logsumexp(x: np.ndarray, **options: Any) -> np.ndarray:
    return np.log(np.exp(x).sum(**np_dims(options))) if x.ndim else x


# ---------------------------------------------------------------- losses

REDUCTIONS = ["mean", "sum", "none"]


@st.composite
def classified(draw: Any, plain_rows: bool = False, options: bool = True) -> Drawn:
    """Scores (N, C, ..) or (C,), targets some of which are ignored, and the options of cross_entropy.

    For "mean" at least one target counts: the mean of none is nan.
    """
    classes = draw(st.integers(1, 4))
    batch = () if not plain_rows and draw(st.integers(0, 5)) == 0 else (draw(sides),)
    more = () if plain_rows or not batch else draw(shapes(0, 2))
    places = (*batch, *more)
    count = math.prod(places)
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    target = rng.integers(0, classes, places)
    o: dict[str, Any] = {"reduction": draw(st.sampled_from(REDUCTIONS if count else REDUCTIONS[1:]))}
    if draw(st.booleans()):
        o["ignore_index"] = draw(st.sampled_from([-100, -1, 0, 1, 99]))
        target = np.where(rng.integers(0, 2, places), o["ignore_index"], target)
        if o["reduction"] == "mean" and (target == o["ignore_index"]).all():
            if classes == 1 and o["ignore_index"] == 0:
                o["reduction"] = "sum"
            else:
                kept = 1 if o["ignore_index"] == 0 else 0
                target = np.where(np.arange(count).reshape(places) == 0, kept, target)
    if options and draw(st.booleans()):
        o["weight"] = rng.uniform(0.2, 2, classes)
    if options and draw(st.booleans()):
        o["label_smoothing"] = draw(st.sampled_from([0.1, 0.75, 1.0]))
    return [*draw(floats((*batch, classes, *more))), np.asarray(target, np.int64)], o


def np_cross_entropy(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    normalised: bool = False,
) -> np.ndarray:
    """PyTorch's definition, sample by sample."""
    axis = min(1, x.ndim - 1)
    classes = x.shape[axis]
    weight = np.ones(classes) if weight is None else weight
    losses, mass = np.zeros(target.shape), 0.0
    for place in np.ndindex(target.shape):
        label = target[place]
        if label == ignore_index:
            continue
        row = x[(*place[:axis], slice(None), *place[axis:])]
        logp = row if normalised else row - np.log(np.exp(row).sum())
        smooth = -(weight * logp).sum() / classes
        losses[place] = (1 - label_smoothing) * -weight[label] * logp[label] + label_smoothing * smooth
        mass += weight[label]
    return (
        {"none": losses, "sum": losses.sum()}.get(reduction) if reduction != "mean" else losses.sum() / mass
    )


@st.composite
def compared(draw: Any) -> Drawn:
    shape = draw(shapes())
    reductions = REDUCTIONS if math.prod(shape) else REDUCTIONS[1:]
    return draw(floats(shape, shape)), {"reduction": draw(st.sampled_from(reductions))}


def np_reduce(x: np.ndarray, reduction: str) -> Any:
    return x if reduction == "none" else x.mean() if reduction == "mean" else x.sum()


@st.composite
def labels(draw: Any) -> Drawn:
    classes = draw(st.integers(1, 4))
    shape = draw(shapes())
    target = np.random.default_rng(draw(st.integers(0, 99))).integers(0, classes, shape)
    count = classes if not target.size or draw(st.booleans()) else -1
    return [np.asarray(target)], {"num_classes": count}


# ---------------------------------------------------------------- linear, embedding


@st.composite
def affine(draw: Any) -> Drawn:
    """Rows of features, weight and maybe bias."""
    lead, features, out = draw(shapes(0, 2)), *(draw(st.sampled_from([2, 1, 3])) for _ in range(2))
    sizes: list[tuple[int, ...]] = [(*lead, features), (out, features)]
    if draw(st.booleans()):
        sizes.append((out,))
    return draw(floats(*sizes)), {}


@st.composite
def looked_up(draw: Any, padding: bool = False) -> Drawn:
    """Integers, many of them equal, and a weight with a row for each."""
    n, d = draw(st.integers(1, 4)), draw(st.sampled_from([2, 1]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    shape = draw(st.lists(st.sampled_from([2, 3, 1]), max_size=3))
    index = np.asarray(rng.integers(0, n, shape))
    o = {"padding_idx": draw(st.integers(-n, n - 1))} if padding else {}
    dtype = draw(st.sampled_from([np.int64, np.int32]))
    return [index.astype(dtype), *draw(floats((n, d)))], o


# ---------------------------------------------------------------- normalisation


@st.composite
def rows_normalised(draw: Any, bias: bool) -> Drawn:
    """An input, how many of its last axes are a row, and maybe weight and bias of that shape."""
    row = tuple(draw(st.lists(st.sampled_from([2, 3, 1]), min_size=1, max_size=2)))
    shape = (*draw(shapes(0, 2)), *row)
    sizes = [shape]
    if draw(st.booleans()):
        sizes.append(row)
        if bias and draw(st.booleans()):
            sizes.append(row)
    o: dict[str, Any] = {"shape": row}
    if draw(st.booleans()):
        o["eps"] = draw(st.sampled_from([0.1, 1e-3]))
    return draw(floats(*sizes)), o


def np_layer_norm(x: np.ndarray, *affine: np.ndarray, shape: Any, eps: float = 1e-5) -> np.ndarray:
    over = tuple(range(-len(shape), 0))
    y = (x - x.mean(over, keepdims=True)) / np.sqrt(x.var(over, keepdims=True) + eps)
    weight, bias = (*affine, 1.0, 0.0)[:2] if len(affine) != 1 else (affine[0], 0.0)
    return y * weight + bias


def np_rms_norm(x: np.ndarray, weight: Any = 1.0, *, shape: Any, eps: float | None = None) -> np.ndarray:
    over = tuple(range(-len(shape), 0))
    eps = np.finfo(float).eps if eps is None else eps
    return x / np.sqrt((x * x).mean(over, keepdims=True) + eps) * weight


@st.composite
def channels(draw: Any, training: bool) -> Drawn:
    """(N, C, ..) and the options of batch_norm: in training more than one number for each channel."""
    c = draw(st.sampled_from([2, 1, 3]))
    more = draw(st.lists(st.sampled_from([2, 1, 3]), max_size=2))
    n = draw(st.sampled_from([2, 1, 3]))
    if training and n * math.prod(more) == 1:
        n = 2
    affine = [(c,)] * draw(st.sampled_from([0, 2]))
    o: dict[str, Any] = {"training": training}
    if not training:
        mean, var = spaced(draw(st.integers(0, 99)), (c,), (c,))
        o |= {"running_mean": mean, "running_var": abs(var) + 0.1}
    if draw(st.booleans()):
        o["eps"] = draw(st.sampled_from([0.1, 1e-3]))
    return draw(floats((n, c, *more), *affine)), o


def batch_norm(lib: Any, x: Any, *affine: Any, **options: Any) -> Any:
    o = given_tensors(lib, options, x)
    running = o.pop("running_mean", None), o.pop("running_var", None)
    return op(lib, "batch_norm")(x, *running, *affine, **o)


def np_batch_norm(
    x: np.ndarray,
    weight: Any = None,
    bias: Any = None,
    *,
    training: bool,
    eps: float = 1e-5,
    running_mean: Any = None,
    running_var: Any = None,
) -> np.ndarray:
    over = (0, *range(2, x.ndim))
    mean, var = (x.mean(over), x.var(over)) if training else (running_mean, running_var)
    wide = (slice(None), *[None] * (x.ndim - 2))
    y = (x - mean[wide]) / np.sqrt(var[wide] + eps)
    return y if weight is None else y * weight[wide] + bias[wide]


# ---------------------------------------------------------------- attention


@st.composite
def asked(draw: Any, packed: bool = False) -> Drawn:
    """Queries of the last T of S positions, keys and values; or, packed, all three side by side."""
    b, t, n_head, d = (draw(st.sampled_from(sizes)) for sizes in ([2, 1], [3, 1, 4], [2, 1, 3], [2, 1]))
    s, c = t + draw(st.sampled_from([0, 2])), n_head * d
    sizes = [(b, t, 3 * c)] if packed else [(b, t, c), (b, s, c), (b, s, c)]
    return draw(floats(*sizes)), {"n_head": n_head}


def attention(lib: Any, q: Any, k: Any, v: Any, n_head: int) -> Any:
    """The operation, or what PyTorch has for it: heads split off, and a mask that it is told."""
    if lib.__name__ == "minilib.tensor":
        return op(lib, "causal_attention")(q, k, v, n_head)
    heads = [x.reshape(*x.shape[:2], n_head, -1).transpose(1, 2) for x in (q, k, v)]
    t, s = q.shape[1], k.shape[1]
    seen = lib.ones(t, s, dtype=lib.bool).tril(s - t)
    out = op(lib, "scaled_dot_product_attention")(*heads, attn_mask=seen)
    return out.transpose(1, 2).flatten(2)


def self_attention(lib: Any, qkv: Any, n_head: int) -> Any:
    if lib.__name__ == "minilib.tensor":
        return op(lib, "causal_self_attention")(qkv, n_head)
    return attention(lib, *qkv.split(qkv.shape[2] // 3, dim=2), n_head)


def np_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, n_head: int) -> np.ndarray:
    """One weight after the other, as the formula reads."""
    (b, t, c), s = q.shape, k.shape[1]
    d, out = c // n_head, np.zeros(q.shape)
    for sample, head, at in itertools.product(range(b), range(n_head), range(t)):
        own, seen = slice(head * d, (head + 1) * d), s - t + at + 1
        scores = [q[sample, at, own] @ k[sample, j, own] / math.sqrt(d) for j in range(seen)]
        shares = [math.exp(x - max(scores)) for x in scores]
        for j in range(seen):
            out[sample, at, own] += shares[j] / sum(shares) * v[sample, j, own]
    return out


# ---------------------------------------------------------------- windows


@st.composite
def windows(draw: Any, n: int, pool: bool = False, same: bool = False) -> Drawn:
    """An input whose padded places are at least as many as the kernel's, often just as many."""
    kernel = tuple(draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    dilation = tuple(draw(st.sampled_from([1, 1, 2])) for _ in kernel)
    if same:  # or else one more place on one side than on the other, which is refused
        dilation = tuple(2 if k == 2 else d for k, d in zip(kernel, dilation))
    stride = tuple(1 if same else draw(st.sampled_from([1, 2, 3])) for _ in kernel)
    most = [k // 2 if pool else 2 for k in kernel]
    padding: Any = tuple(draw(st.integers(0, m)) for m in most)
    if same:
        padding = draw(st.sampled_from(["same", "valid"]))
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    around = (0,) * n if isinstance(padding, str) else padding
    least = [max(d if pool else 1, r - 2 * p) for r, p, d in zip(reach, around, dilation)]
    size = [m + draw(st.sampled_from([0, 1, 3] if n == 1 else [0, 0, 1])) for m in least]
    batch = draw(st.sampled_from([1, 2, 0] if pool else [1, 2]))
    o: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation}
    for key, value in list(o.items()):
        if isinstance(value, tuple) and len(set(value)) == 1 and draw(st.booleans()):
            o[key] = value[0]
    if pool:
        o["kernel_size"] = kernel[0] if len(set(kernel)) == 1 and draw(st.booleans()) else kernel
        if draw(st.integers(0, 3)) == 0:
            del o["stride"]
        return draw(floats((batch, draw(st.sampled_from([1, 2])), *size))), o
    groups, each, out = (draw(st.sampled_from([1, 2, 3])) for _ in range(3))
    if groups > 1:  # also each channel on its own
        each = draw(st.sampled_from([1, 2]))
    sizes: list[tuple[int, ...]] = [(batch, groups * each, *size), (groups * min(out, 2), each, *kernel)]
    if draw(st.booleans()):
        sizes.append(sizes[1][:1])
    o["groups"] = groups
    return draw(floats(*sizes)), o


def every(n: int, value: Any) -> tuple[int, ...]:
    return (value,) * n if isinstance(value, int) else tuple(value)


def padding_of(padding: Any, reach: list[int]) -> list[tuple[int, int]]:
    """Before and after each axis; "same" puts the odd one after."""
    if padding == "same":
        return [((r - 1) // 2, r // 2) for r in reach]
    return [(p, p) for p in every(len(reach), 0 if padding == "valid" else padding)]


def cut(x: np.ndarray, kernel: Any, stride: Any, padding: Any, dilation: Any, value: float) -> Any:
    """Each window of the padded input, and where it stands: (place, (N, C, *kernel))."""
    n = len(kernel)
    stride, dilation = every(n, stride), every(n, dilation)
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    x = np.pad(x, [(0, 0), (0, 0), *padding_of(padding, reach)], constant_values=value)
    starts = [range(0, size - r + 1, s) for size, r, s in zip(x.shape[2:], reach, stride)]
    found = []
    for place in itertools.product(*[range(len(s)) for s in starts]):
        at = [s[i] for s, i in zip(starts, place)]
        parts = (..., *[slice(a, a + r, d) for a, r, d in zip(at, reach, dilation)])
        found.append((place, x[parts]))
    return [len(s) for s in starts], found


def np_conv(
    x: np.ndarray,
    weight: np.ndarray,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> np.ndarray:
    size, found = cut(x, weight.shape[2:], stride, padding, dilation, 0)
    out = np.zeros((len(x), len(weight), *size))
    for place, window in found:
        for o in range(len(weight)):
            first = o // (len(weight) // groups) * weight.shape[1]
            part = window[:, first : first + weight.shape[1]] * weight[o]
            out[(slice(None), o, *place)] = part.sum(tuple(range(1, part.ndim)))
    return out if bias is None else out + bias[(slice(None), *[None] * len(size))]


def np_max_pool(
    x: np.ndarray, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1
) -> np.ndarray:
    kernel = every(2, kernel_size)
    size, found = cut(x, kernel, kernel if stride is None else stride, padding, dilation, -math.inf)
    out = np.zeros((*x.shape[:2], *size))
    for place, window in found:
        out[(..., *place)] = window.max((2, 3))
    return out


def np_avg_pool(
    x: np.ndarray, kernel_size: Any, stride: Any = None, padding: Any = 0, count_include_pad: bool = True
) -> np.ndarray:
    kernel = every(2, kernel_size)
    stride = kernel if stride is None else stride
    outside = 0.0 if count_include_pad else np.nan
    size, found = cut(x, kernel, stride, padding, 1, outside)
    out = np.zeros((*x.shape[:2], *size))
    for place, window in found:
        out[(..., *place)] = np.nanmean(window, (2, 3))
    return out


def np_adaptive_avg_pool(x: np.ndarray, output_size: Any) -> np.ndarray:
    """Each number from its own window."""
    wanted = output_size if isinstance(output_size, tuple) else (output_size,) * 2
    sizes = [m or n for m, n in zip(wanted, x.shape[2:])]
    out = np.empty((*x.shape[:2], *sizes))
    for place in np.ndindex(*sizes):
        window = [
            slice(math.floor(k * n / m), math.ceil((k + 1) * n / m))
            for k, n, m in zip(place, x.shape[2:], sizes)
        ]
        out[(..., *place)] = x[:, :, *window].mean((2, 3))
    return out


# ---------------------------------------------------------------- the table


def options_of(**choices: list[Any]) -> st.SearchStrategy[Drawn]:
    """An array, and one of the `choices` for each option."""

    def draw_options(draw: Any, shape: Any) -> dict[str, Any]:
        return {name: draw(st.sampled_from(values)) for name, values in choices.items()}

    return with_options(draw_options)


def these(*sizes: list[tuple[int, ...]], **choices: list[Any]) -> st.SearchStrategy[Drawn]:
    """One of the lists of shapes, and one of the `choices` for each option."""
    options = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in choices.items()})
    return st.sampled_from(sizes).flatmap(lambda some: st.tuples(floats(*some), options))


def without_axes() -> st.SearchStrategy[Drawn]:
    return these([()], dim=[0, -1])


CASES = [
    Case("causal_attention", attention, asked(), np_attention),
    Case(
        "causal_self_attention",
        self_attention,
        asked(packed=True),
        lambda x, n_head: np_attention(*np.split(x, 3, 2), n_head),
    ),
    Case("relu", plain_call("relu"), one(), lambda x: np.maximum(x, 0)),
    Case("tanh", plain_call("tanh"), one(), np.tanh),
    Case("sigmoid", plain_call("sigmoid"), one(), np_sigmoid),
    Case("erf", plain_call("erf"), one(), np_erf),
    Case("gelu", plain_call("gelu"), options_of(approximate=["none", "tanh"]), np_gelu),
    Case("silu", plain_call("silu"), one(), lambda x: x * np_sigmoid(x)),
    Case("softplus", plain_call("softplus"), options_of(beta=[1.0, 2.0], threshold=[20.0, 1.5]), np_softplus),
    Case("softmax", plain_call("softmax"), along_an_axis(low=1), np_softmax),
    Case("log_softmax", plain_call("log_softmax"), along_an_axis(low=1), np_log_softmax),
    Case("logsumexp", plain_call("logsumexp"), reduced(least=1, must=True), np_logsumexp),
    Case("cross_entropy", plain_call("cross_entropy"), classified(), np_cross_entropy),
    Case(
        "nll_loss",
        plain_call("nll_loss"),
        classified(plain_rows=True, options=False),
        lambda *arrays, **o: np_cross_entropy(*arrays, **o, normalised=True),
    ),
    Case(
        "mse_loss",
        plain_call("mse_loss"),
        compared(),
        lambda x, y, reduction: np_reduce((x - y) ** 2, reduction),
    ),
    Case(
        "one_hot",
        plain_call("one_hot"),
        labels(),
        lambda x, num_classes: np.eye(x.max() + 1 if num_classes == -1 else num_classes, dtype=int)[x],
    ),
    Case("linear", plain_call("linear"), affine(), lambda x, w, b=0.0: x @ w.T + b),
    Case("embedding", plain_call("embedding"), looked_up()),
    Case(
        "layer_norm",
        lambda lib, x, *affine, shape, **o: op(lib, "layer_norm")(x, shape, *affine, **o),
        rows_normalised(bias=True),
        np_layer_norm,
        tolerance=1e-5,
    ),
    Case(
        "rms_norm",
        lambda lib, x, *affine, shape, **o: op(lib, "rms_norm")(x, shape, *affine, **o),
        rows_normalised(bias=False),
        np_rms_norm,
        tolerance=1e-5,
    ),
    Case("batch_norm in training", batch_norm, channels(True), np_batch_norm, tolerance=1e-5),
    Case("batch_norm", batch_norm, channels(False), np_batch_norm),
    Case("conv1d", plain_call("conv1d"), windows(1), np_conv),
    Case("conv2d", plain_call("conv2d"), windows(2), np_conv),
    Case("conv1d, padding by name", plain_call("conv1d"), windows(1, same=True), np_conv),
    Case("conv2d, padding by name", plain_call("conv2d"), windows(2, same=True), np_conv),
    Case("max_pool2d", plain_call("max_pool2d"), windows(2, pool=True), np_max_pool),
    Case(
        "avg_pool2d",
        plain_call("avg_pool2d"),
        these(
            [(2, 1, 3, 5)],
            [(1, 3, 4, 4)],
            kernel_size=[2, (3, 2), 3],
            stride=[1, (2, 1), None],
            padding=[0, 1],
            count_include_pad=[True, False],
        ),
        np_avg_pool,
    ),
    Case(
        "adaptive_avg_pool2d",
        plain_call("adaptive_avg_pool2d"),
        these([(2, 1, 3, 5)], [(1, 3, 4, 4)], output_size=[1, (2, 3), (5, None), (None, 7)]),
        np_adaptive_avg_pool,
    ),
    Case(
        "pad",
        lambda lib, x, **o: op(lib, "pad")(x, (1, 2), value=3.0),
        one(low=1),
        lambda x: np.pad(x, [(0, 0)] * (x.ndim - 1) + [(1, 2)], constant_values=3.0),
    ),
    # the smallest
    *[
        Case(
            f"{name} of a number amid others",
            lambda lib, x, name=name, **o: op(lib, name)(x * 2, **o) / 2,
            these([()], **o),
        )
        for name, o in {
            "gelu": {"approximate": ["none", "tanh"]},
            "silu": {},
            "erf": {},
            "sigmoid": {},
            "softmax": {"dim": [0]},
            "log_softmax": {"dim": [-1]},
            "softplus": {"beta": [1.0, 2.0]},
        }.items()
    ],
    Case("softmax of a number", plain_call("softmax"), without_axes(), np_softmax),
    Case("log_softmax of a number", plain_call("log_softmax"), without_axes(), np_log_softmax),
    Case(
        "linear of nothing",
        plain_call("linear"),
        these(
            *[
                [(*lead, i), (o, i), (o,)][:n]
                for lead, i, o, n in itertools.product([(), (2,), (0, 3)], [0, 2], [0, 3], [2, 3])
            ]
        ),
        lambda x, w, b=0.0: x @ w.T + b,
    ),
    Case(
        "embedding of nothing",
        lambda lib, w, dim: op(lib, "embedding")(lib.tensor(np.zeros(dim, int), device=w.device), w),
        these([(3, 2)], [(1, 1)], [(3, 0)], dim=[(0,), (2, 0), ()]),
    ),
    Case(
        "batch_norm of nothing",
        batch_norm,
        these(
            *[[(0, 2), (2,), (2,)], [(0, 2, 3), (2,), (2,)], [(3, 2, 0)], [(0, 2, 1, 2)]],
            training=[False],
            running_mean=[np.array([0.5, 2.0])],
            running_var=[np.array([0.5, 2.0])],
        ),
        np_batch_norm,
    ),
    Case(
        "conv1d of no images",
        plain_call("conv1d"),
        these([(0, 4, 5), (2, 2, 3), (2,)], [(0, 4, 3), (4, 2, 3)], groups=[2], stride=[1, 2]),
        np_conv,
    ),
    Case(
        "conv2d of no images",
        plain_call("conv2d"),
        these([(0, 1, 5, 4), (2, 1, 3, 2), (2,)], [(0, 1, 3, 3), (4, 1, 3, 3)], padding=[0, 1]),
        np_conv,
    ),
]


def dropped(lib: Any, x: Any, p: float, seed: int) -> Any:
    """Each call draws the same."""
    return op(lib, "dropout")(x, p, True, lib.Generator(seed))


# What a difference quotient cannot be asked: the padding's gradient is 0 by decree.
THEIRS = [Case("embedding with padding", plain_call("embedding"), looked_up(padding=True))]


@st.composite
def short_sequences(draw: Any) -> Drawn:
    """Sequences (B, T, E), often shorter than the kernel, its weights (E, 1, K) and perhaps a bias."""
    batch, time, channels, kernel = (draw(st.integers(1, most)) for most in (2, 5, 3, 4))
    sizes: list[tuple[int, ...]] = [(batch, time, channels), (channels, 1, kernel)]
    return draw(floats(*sizes, *([(channels,)] if draw(st.booleans()) else []))), {}


def np_causal_conv(x: np.ndarray, weight: np.ndarray, bias: Any = 0.0) -> np.ndarray:
    taps = weight.shape[2]
    before = np.concatenate([np.zeros((len(x), taps - 1, x.shape[2])), x], axis=1)
    steps = [(before[:, t : t + taps] * weight[:, 0].T).sum(1) for t in range(x.shape[1])]
    return np.stack(steps, axis=1) + bias


# What PyTorch cannot be asked: it draws other numbers, or has no such operation.
OURS = [
    Case("dropout", dropped, options_of(p=[0.3, 0.9, 1.0], seed=[0, 1, 2])),
    Case("causal_conv1d", plain_call("causal_conv1d"), short_sequences(), np_causal_conv),
]
