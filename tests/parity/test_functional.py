"""minilib.functional and PyTorch, asked the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from functional_cases import CASES, THEIRS, each, named, op
from tensor_cases import Case

import minilib.tensor as lib
from parity import test_tensor as shared
from parity.peer import torch
from parity.test_tensor import INF, NAN, numbers, plain, ramp, slope, t


@each(CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_gradients_dtypes_and_shapes_equal(case: Case, dtype: str) -> None:
    shared.test_numbers_gradients_dtypes_and_shapes_equal(case, dtype)


@each(THEIRS)
def test_padding_gets_no_gradient_in_both(case: Case) -> None:
    shared.test_numbers_gradients_dtypes_and_shapes_equal(case, "float64")


# ---------------------------------------------------------------- the same facts

FAR = [-INF, -1e4, -200.0, -90.0, -20.0, -6.0, 0.0, 6.0, 20.0, 90.0, 200.0, 1e4, INF]


def far(library: Any, g: Any, data: list[float] = FAR) -> Any:
    """What `g` makes of them, and the slopes, in float64: PyTorch's float32 has other last bits out there."""
    x = t(library, data, grad=True, dtype="float64")
    y = g(x)
    y.sum().backward()
    return y, x.grad


def f(library: Any, name: str, *args: Any, **options: Any) -> Any:
    return op(library, name)(*args, **options)


def loss_of(library: Any, scores: Any, target: Any, dtype: str = "float64", **options: Any) -> Any:
    """The loss and the gradient of the scores."""
    x = library.tensor(np.array(scores, dtype), requires_grad=True)
    if "weight" in options:
        options["weight"] = library.tensor(np.array(options["weight"], dtype))
    loss = f(library, "cross_entropy", x, library.tensor(np.array(target)), **options)
    loss.sum().backward()
    return loss, x.grad


def pooled(library: Any, data: Any, *args: Any, **options: Any) -> Any:
    return slope(library, np.array(data)[None, None], lambda x: f(library, "max_pool2d", x, *args, **options))


def running(library: Any, x: Any, dtype: str = "float64", times: int = 1, **options: Any) -> Any:
    """Outputs, and running averages after several batches."""
    x = np.array(x, dtype)
    mean, var = (library.tensor(np.full(x.shape[1], n, dtype)) for n in (0.5, 2.0))
    outs = [f(library, "batch_norm", library.tensor(x * (i + 1)), mean, var, **options) for i in range(times)]
    return outs, mean, var


SCORES = [[1.0, -2.0, 0.5], [0.0, 3.0, 1.0], [2.0, 2.0, -1.0]]
MAPS = np.random.default_rng(0).normal(size=(3, 2, 4))

SAME = {
    # far out
    **{
        f"{name} far out": lambda L, name=name: far(L, lambda x: f(L, name, x))
        for name in ("sigmoid", "softplus", "silu", "erf", "tanh", "relu")
    },
    "gelu far out": lambda L: far(L, lambda x: f(L, "gelu", x), FAR[1:-1]),
    "gelu, the near formula, far out": lambda L: far(
        L, lambda x: f(L, "gelu", x, approximate="tanh"), FAR[1:-1]
    ),
    "activations of nan": lambda L: [
        slope(L, [NAN, 1.0], lambda x, n=n: f(L, n, x))
        for n in ("gelu", "silu", "softplus", "erf", "sigmoid")
    ],
    "softplus at its threshold": lambda L: slope(
        L, [19.9, 20.0, 20.1, 30.0], lambda x: f(L, "softplus", x, 1.0, 20.0)
    ),
    "softplus with beta and threshold": lambda L: slope(
        L, [-3.0, 0.5, 0.7, 1.0, 1e4, -1e4], lambda x: f(L, "softplus", x, 3.0, 2.0)
    ),
    "softmax far out": lambda L: [
        slope(L, row, lambda x, n=n: f(L, n, x, dim=0))
        for row in (
            [1e4, -1e4, 0.0],
            [INF, 1.0],
            [-INF, 1.0, 2.0],
            [-INF, -INF],
            [NAN, 1.0],
            [INF, INF],
            [1e4, 1e4],
        )
        for n in ("softmax", "log_softmax")
    ],
    "logsumexp far out": lambda L: [
        slope(L, row, lambda x: f(L, "logsumexp", x, 0))
        for row in (
            [1e4, -1e4, 0.0],
            [INF, 1.0],
            [-INF, 1.0, 2.0],
            [-INF, -INF],
            [NAN, 1.0],
            [INF, INF],
            [INF, -INF],
        )
    ],
    "logsumexp over several axes": lambda L: (
        f(L, "logsumexp", ramp(L, 2, 3, 4), (0, -1)),
        f(L, "logsumexp", ramp(L, 2, 3, 4), (0, 2), keepdim=True),
        f(L, "logsumexp", ramp(L, 2, 3), 1, True),
    ),
    "logsumexp of nothing": lambda L: f(L, "logsumexp", t(L, np.zeros((0, 2))), 1),
    "logsumexp along an empty axis": lambda L: f(L, "logsumexp", t(L, np.zeros((0, 2))), 0),
    "softmax of nothing": lambda L: [
        f(L, n, t(L, np.zeros(shape)), dim=d)
        for n in ("softmax", "log_softmax")
        for shape, d in (((0,), 0), ((0, 3), 1), ((0, 3), 0), ((3, 0), 1))
    ],
    "softmax along a negative axis": lambda L: (
        f(L, "softmax", ramp(L, 2, 3, 2), dim=-2),
        f(L, "softmax", ramp(L, 2, 3), -2),
    ),
    # cross-entropy
    "cross_entropy far out": lambda L: [
        loss_of(L, [[1e4, -1e4, 0.0]], [k], dtype=d) for k in range(3) for d in ("float32", "float64")
    ],
    "cross_entropy of inf": lambda L: [
        loss_of(L, [[-INF, 1.0, 2.0], [0.0, 1.0, 2.0]], [k, 1]) for k in range(3)
    ],
    "cross_entropy of inf, ignored": lambda L: [
        loss_of(L, [[-INF, 0.0, -1.0], [-0.1, -0.2, -0.3]], [-100, 1], reduction=r, **o)
        for r in ("mean", "sum", "none")
        for o in ({}, {"label_smoothing": 0.1}, {"weight": [1.0, 2.0, 3.0]})
    ],
    "cross_entropy smoothed far out": lambda L: loss_of(L, [[1e4, -1e4, 0.0]], [1], label_smoothing=0.1),
    "all ignored": lambda L: [
        loss_of(L, SCORES, [-100, -100, -100], reduction=r, **o)
        for r in ("mean", "sum", "none")
        for o in ({}, {"label_smoothing": 0.1}, {"weight": [1.0, 2.0, 3.0]})
    ],
    "a class of weight 0": lambda L: [
        loss_of(L, SCORES, [0, 1, 1], reduction=r, weight=[1.0, 0.0, 3.0]) for r in ("mean", "sum", "none")
    ],
    "a class of weight 0, smoothed": lambda L: [
        loss_of(L, SCORES, [0, 1, 1], reduction=r, weight=[1.0, 0.0, 3.0], label_smoothing=0.3)
        for r in ("mean", "sum", "none")
    ],
    "a class that is ignored": lambda L: loss_of(
        L, SCORES, [0, 1, 2], ignore_index=1, weight=[1.0, 2.0, 3.0]
    ),
    "an ignored number beyond the classes": lambda L: loss_of(
        L, SCORES, [0, 7, 2], ignore_index=7, label_smoothing=0.2
    ),
    "cross_entropy of nothing": lambda L: [
        loss_of(L, np.zeros((0, 3)), np.zeros(0, int), reduction=r) for r in ("mean", "sum", "none")
    ],
    "nll_loss of all ignored": lambda L: [
        f(L, "nll_loss", t(L, SCORES), t(L, [-100, -100, -100]), reduction=r) for r in ("mean", "sum", "none")
    ],
    "nll_loss by position": lambda L: f(L, "nll_loss", t(L, SCORES), t(L, [0, 1, 2]), t(L, [1.0, 2.0, 3.0])),
    "mse_loss of nothing": lambda L: [
        f(L, "mse_loss", t(L, np.zeros((0, 2))), t(L, np.zeros((0, 2))), reduction=r)
        for r in ("mean", "sum", "none")
    ],
    # norms
    "running averages": lambda L: [
        running(L, MAPS, dtype=d, times=3, training=True, momentum=m)
        for m in (0.1, 0.0, 1.0, 0.5)
        for d in ("float32", "float64")
    ],
    "running averages in evaluation": lambda L: running(L, MAPS, times=2, training=False),
    "no running averages": lambda L: f(L, "batch_norm", t(L, MAPS), None, None, training=True),
    "layer_norm of equal numbers": lambda L: slope(
        L, [[2.0, 2.0, 2.0]], lambda x: f(L, "layer_norm", x, (3,))
    ),
    "rms_norm of zeros": lambda L: slope(L, [[0.0, 0.0], [1e-8, 0.0]], lambda x: f(L, "rms_norm", x, (2,))),
    "rms_norm's eps by dtype": lambda L: [
        f(L, "rms_norm", t(L, [[1e-9, -2e-9]], dtype=d), (2,)) for d in ("float32", "float64")
    ],
    # windows
    "max_pool2d takes the first of equals": lambda L: [
        pooled(L, [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]], *args)
        for args in ((2, 1), (3,), (2, 2), (3, 2, 1), (2, 1, 1))
    ],
    "max_pool2d of nan": lambda L: pooled(L, [[1.0, NAN, 0.0], [2.0, 0.0, NAN], [3.0, 1.0, 1.0]], 2, 1),
    "max_pool2d of -inf": lambda L: pooled(L, [[-INF, -INF], [-INF, -INF]], 2, 2, 1),
    "max_pool2d with dilation and padding": lambda L: pooled(
        L, np.arange(30.0).reshape(5, 6), (3, 2), (1, 2), (1, 0), (2, 3)
    ),
    "conv as large as the input": lambda L: f(L, "conv2d", ramp(L, 1, 2, 3, 4), ramp(L, 3, 2, 3, 4)),
    # the rest
    "one_hot of nothing": lambda L: f(L, "one_hot", L.tensor(np.zeros(0, int)), 3),
    "embedding of int32": lambda L: f(L, "embedding", t(L, [0, 2], dtype="int32"), ramp(L, 3, 2)),
    "dropout of all and of none": lambda L: [
        slope(L, [1.0, -2.0], lambda x, p=p, m=m: f(L, "dropout", x, p, m) * 1.0)
        for p, m in ((1.0, True), (0.0, True), (0.5, False), (1.0, False))
    ],
    "dropout of none is the input itself": lambda L: [
        (lambda x: f(L, "dropout", x, p, m) is x)(t(L, [1.0])) for p, m in ((0.5, False),)
    ],
    "linear of a vector": lambda L: f(L, "linear", ramp(L, 3), ramp(L, 2, 3), ramp(L, 2)),
}

SAME_BUGS = {
    "logsumexp along an empty axis": "raises",
    "max_pool2d of nan": "the gradient goes elsewhere",
    "max_pool2d of -inf": "the gradient goes into the padding",
}


def unsigned(result: Any) -> Any:
    """Without the sign of 0, which is an accident in both."""
    if isinstance(result, list | tuple):
        return [unsigned(item) for item in result]
    return "0" if result == "-0" else result


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@named(SAME, SAME_BUGS)
def test_the_same_comes_out(name: str) -> None:
    assert unsigned(plain(SAME[name](lib))) == unsigned(plain(SAME[name](torch)))


# ---------------------------------------------------------------- the same refusals

REFUSED = {
    "gelu by another formula": lambda L: f(L, "gelu", ramp(L, 3), approximate="tan"),
    "gelu of integers": lambda L: f(L, "gelu", t(L, [1, 2])),
    "silu of integers": lambda L: f(L, "silu", t(L, [1, 2])),
    "softplus of integers": lambda L: f(L, "softplus", t(L, [1, 2])),
    "softmax along an axis that is not there": lambda L: f(L, "softmax", ramp(L, 2, 3), dim=2),
    "log_softmax along an axis that is not there": lambda L: f(L, "log_softmax", ramp(L, 2, 3), dim=-3),
    "softmax of integers": lambda L: f(L, "softmax", t(L, [1, 2]), dim=0),
    "softmax of a number along axis 1": lambda L: f(L, "softmax", t(L, 1.0), dim=1),
    "logsumexp along an axis that is not there": lambda L: f(L, "logsumexp", ramp(L, 2, 3), 2),
    "a target that is no class": lambda L: f(L, "cross_entropy", ramp(L, 2, 3), t(L, [0, 3])),
    "a negative target": lambda L: f(L, "cross_entropy", ramp(L, 2, 3), t(L, [0, -1])),
    "too few targets": lambda L: f(L, "cross_entropy", ramp(L, 2, 3), t(L, [0])),
    "targets of too many axes": lambda L: f(L, "cross_entropy", ramp(L, 2, 3), t(L, [[0], [1]])),
    "fractions of another shape as targets": lambda L: f(L, "cross_entropy", ramp(L, 2, 3), t(L, [0.0, 1.0])),
    "no axes of scores": lambda L: f(L, "cross_entropy", t(L, 1.0), t(L, 0)),
    "weights for too few classes": lambda L: f(
        L, "cross_entropy", ramp(L, 2, 3), t(L, [0, 1]), t(L, [1.0, 2.0])
    ),
    "weights for too many classes": lambda L: f(
        L, "cross_entropy", ramp(L, 2, 3), t(L, [0, 1]), t(L, [1.0] * 4)
    ),
    "another reduction": lambda L: f(L, "cross_entropy", ramp(L, 2, 3), t(L, [0, 1]), reduction="max"),
    "smoothing beyond 1": lambda L: f(L, "cross_entropy", ramp(L, 2, 3), t(L, [0, 1]), label_smoothing=1.5),
    "nll_loss of a target that is no class": lambda L: f(L, "nll_loss", ramp(L, 2, 3), t(L, [0, 3])),
    "another reduction of squares": lambda L: f(L, "mse_loss", ramp(L, 2), ramp(L, 2), reduction="max"),
    "one_hot of a negative number": lambda L: f(L, "one_hot", t(L, [0, -1])),
    "one_hot beyond the classes": lambda L: f(L, "one_hot", t(L, [0, 3]), 3),
    "one_hot of fractions": lambda L: f(L, "one_hot", t(L, [0.0, 1.0])),
    "one_hot of nothing, classes unknown": lambda L: f(L, "one_hot", L.tensor(np.zeros(0, int))),
    "linear with other features": lambda L: f(L, "linear", ramp(L, 2, 3), ramp(L, 3, 2)),
    "linear of a number": lambda L: f(L, "linear", t(L, 1.0), ramp(L, 3, 2)),
    "linear with another bias": lambda L: f(L, "linear", ramp(L, 2, 3), ramp(L, 4, 3), ramp(L, 3)),
    "linear of two dtypes": lambda L: f(L, "linear", t(L, [[1.0]], dtype="float64"), t(L, [[1.0]])),
    "embedding by fractions": lambda L: f(L, "embedding", t(L, [0.0]), ramp(L, 3, 2)),
    "embedding out of range": lambda L: f(L, "embedding", t(L, [3]), ramp(L, 3, 2)),
    "embedding by negative numbers": lambda L: f(L, "embedding", t(L, [-1]), ramp(L, 3, 2)),
    "padding beyond the rows": lambda L: f(L, "embedding", t(L, [1]), ramp(L, 3, 2), padding_idx=3),
    "dropout more than all": lambda L: f(L, "dropout", ramp(L, 3), 1.5),
    "dropout less than nothing": lambda L: f(L, "dropout", ramp(L, 3), -0.1),
    "layer_norm over other axes": lambda L: f(L, "layer_norm", ramp(L, 2, 3), (2,)),
    "layer_norm over no axes": lambda L: f(L, "layer_norm", ramp(L, 2, 3), ()),
    "layer_norm with another weight": lambda L: f(L, "layer_norm", ramp(L, 2, 3), (3,), ramp(L, 2)),
    "layer_norm with another bias": lambda L: f(L, "layer_norm", ramp(L, 2, 3), (3,), ramp(L, 3), ramp(L, 2)),
    "layer_norm with another weight and bias": lambda L: f(
        L, "layer_norm", ramp(L, 2, 3), (3,), ramp(L, 2), ramp(L, 2)
    ),
    "rms_norm over other axes": lambda L: f(L, "rms_norm", ramp(L, 2, 3), (2,)),
    "rms_norm with another weight": lambda L: f(L, "rms_norm", ramp(L, 2, 3), (3,), ramp(L, 1, 3, 1)),
    "batch_norm of one number in training": lambda L: f(
        L, "batch_norm", ramp(L, 1, 3), None, None, training=True
    ),
    "batch_norm without averages": lambda L: f(L, "batch_norm", ramp(L, 2, 3), None, None),
    "batch_norm with other averages": lambda L: f(L, "batch_norm", ramp(L, 2, 3), ramp(L, 2), ramp(L, 2)),
    "batch_norm with another weight": lambda L: f(
        L, "batch_norm", ramp(L, 2, 3), None, None, ramp(L, 2), ramp(L, 2), training=True
    ),
    "batch_norm in training with other averages": lambda L: f(
        L, "batch_norm", ramp(L, 2, 3), ramp(L, 1), ramp(L, 1), training=True
    ),
    "conv2d of other channels": lambda L: f(L, "conv2d", ramp(L, 1, 3, 4, 4), ramp(L, 2, 2, 2, 2)),
    "conv2d of groups that do not divide": lambda L: f(
        L, "conv2d", ramp(L, 1, 4, 4, 4), ramp(L, 3, 2, 2, 2), groups=2
    ),
    "conv2d of a kernel too large": lambda L: f(L, "conv2d", ramp(L, 1, 1, 2, 2), ramp(L, 1, 1, 3, 3)),
    "conv2d of a kernel too large by dilation": lambda L: f(
        L, "conv2d", ramp(L, 1, 1, 4, 4), ramp(L, 1, 1, 3, 3), dilation=2
    ),
    "conv2d of two axes": lambda L: f(L, "conv2d", ramp(L, 4, 4), ramp(L, 1, 1, 2, 2)),
    "conv2d in steps of 0": lambda L: f(L, "conv2d", ramp(L, 1, 1, 4, 4), ramp(L, 1, 1, 2, 2), stride=0),
    "conv2d with dilation 0": lambda L: f(L, "conv2d", ramp(L, 1, 1, 4, 4), ramp(L, 1, 1, 2, 2), dilation=0),
    "conv2d with negative padding": lambda L: f(
        L, "conv2d", ramp(L, 1, 1, 4, 4), ramp(L, 1, 1, 2, 2), padding=-1
    ),
    "conv2d with 0 groups": lambda L: f(L, "conv2d", ramp(L, 1, 1, 4, 4), ramp(L, 1, 1, 2, 2), groups=0),
    "conv2d with three strides": lambda L: f(
        L, "conv2d", ramp(L, 1, 1, 4, 4), ramp(L, 1, 1, 2, 2), stride=(1, 1, 1)
    ),
    "conv2d with another bias": lambda L: f(
        L, "conv2d", ramp(L, 1, 1, 4, 4), ramp(L, 2, 1, 2, 2), ramp(L, 1)
    ),
    "conv2d, the same in steps": lambda L: f(
        L, "conv2d", ramp(L, 1, 1, 4, 4), ramp(L, 1, 1, 3, 3), padding="same", stride=2
    ),
    "conv2d, padding by another name": lambda L: f(
        L, "conv2d", ramp(L, 1, 1, 4, 4), ramp(L, 1, 1, 3, 3), padding="full"
    ),
    "conv2d of two dtypes": lambda L: f(
        L, "conv2d", t(L, np.ones((1, 1, 2, 2)), dtype="float64"), ramp(L, 1, 1, 2, 2)
    ),
    "conv1d of four axes": lambda L: f(L, "conv1d", ramp(L, 1, 1, 4, 4), ramp(L, 1, 1, 2)),
    "max_pool2d of a kernel too large": lambda L: f(L, "max_pool2d", ramp(L, 1, 1, 2, 2), 3),
    "max_pool2d with too much padding": lambda L: f(L, "max_pool2d", ramp(L, 1, 1, 4, 4), 2, padding=2),
    "max_pool2d with padding for a kernel of 3": lambda L: f(
        L, "max_pool2d", ramp(L, 1, 1, 4, 4), 3, padding=2
    ),
    "max_pool2d of two axes": lambda L: f(L, "max_pool2d", ramp(L, 4, 4), 2),
    "max_pool2d in steps of 0": lambda L: f(L, "max_pool2d", ramp(L, 1, 1, 4, 4), 2, stride=0),
    "max_pool2d with a kernel of 0": lambda L: f(L, "max_pool2d", ramp(L, 1, 1, 4, 4), 0),
    "max_pool2d with negative padding": lambda L: f(L, "max_pool2d", ramp(L, 1, 1, 4, 4), 2, padding=-1),
    "max_pool2d with three kernels": lambda L: f(L, "max_pool2d", ramp(L, 1, 1, 4, 4), (2, 2, 2)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@named(REFUSED)
def test_the_same_is_refused(name: str) -> None:
    with pytest.raises(Exception):  # noqa: B017 (PyTorch's types vary)
        REFUSED[name](torch)
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)) as ours:
        REFUSED[name](lib)
    assert type(ours.value) is not NotImplementedError


# ---------------------------------------------------------------- as precise as PyTorch

X = np.random.default_rng(0).normal(size=(6, 4, 500))
PRECISE = {
    **{n: (lambda L, x, n=n: f(L, n, x)) for n in ("gelu", "silu", "softplus", "erf", "sigmoid", "tanh")},
    "gelu, the near formula": lambda L, x: f(L, "gelu", x, approximate="tanh"),
    "softmax": lambda L, x: f(L, "softmax", x, dim=-1),
    "log_softmax": lambda L, x: f(L, "log_softmax", x, dim=-1),
    "logsumexp": lambda L, x: f(L, "logsumexp", x, -1),
    "layer_norm": lambda L, x: f(L, "layer_norm", x, (500,)),
    "layer_norm far from 0": lambda L, x: f(L, "layer_norm", x + 100, (500,)),
    "rms_norm": lambda L, x: f(L, "rms_norm", x, (500,)),
    "batch_norm": lambda L, x: f(L, "batch_norm", x, None, None, training=True),
    "batch_norm far from 0": lambda L, x: f(L, "batch_norm", x + 100, None, None, training=True),
    "mse_loss": lambda L, x: f(L, "mse_loss", x, x * 1.5),
    "conv1d": lambda L, x: f(L, "conv1d", x, L.tensor(X[:2, :, :30], dtype=x.dtype)),
    "linear": lambda L, x: f(L, "linear", x, L.tensor(X[0], dtype=x.dtype)),
    "cross_entropy": lambda L, x: f(L, "cross_entropy", x * 3, L.tensor((X[:, 0] > 0) * 2), reduction="none"),
}


@pytest.mark.parametrize("name", PRECISE)
def test_float32_is_as_near_to_float64_as_pytorchs(name: str) -> None:
    """Outputs and gradients: the largest error may be three times PyTorch's, and a few last bits."""

    def run(library: Any, dtype: str) -> list[np.ndarray]:
        x = library.tensor(X.astype(np.float32).astype(dtype), requires_grad=True)
        y = PRECISE[name](library, x)
        weight = np.random.default_rng(1).normal(size=tuple(y.shape)).astype(np.float32)
        y.backward(library.tensor(weight.astype(dtype)))
        return [numbers(y), numbers(x.grad)]

    for exact, ours, theirs in zip(run(torch, "float64"), run(lib, "float32"), run(torch, "float32")):
        scale = np.abs(exact).max()
        error, peer = np.abs(ours - exact).max() / scale, np.abs(theirs - exact).max() / scale
        assert error <= 3 * peer + 2e-7
