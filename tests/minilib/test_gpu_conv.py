"""Convolutions, pooling and rows of a table on the device: the numbers of the CPU, and what is moved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu_cases import agree, reported

import minilib.functional as F
from minilib.functional.layers import causal_conv1d
from minilib.gpu import conv
from minilib.tensor import tensor

pytestmark = pytest.mark.filterwarnings("ignore:there is no GPU here")


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


# Convolution

IMAGES = [
    # x, weight, settings
    ((1, 1, 1, 1), (1, 1, 1, 1), {}),
    ((2, 3, 5, 6), (4, 3, 3, 3), {}),
    ((2, 3, 5, 6), (4, 3, 3, 3), {"padding": 1}),
    ((2, 3, 7, 6), (4, 3, 3, 2), {"stride": 2, "padding": (1, 0)}),
    ((2, 4, 9, 7), (6, 2, 3, 3), {"stride": (2, 3), "padding": 2, "dilation": 2, "groups": 2}),
    ((2, 5, 6, 6), (5, 1, 3, 3), {"padding": "same", "groups": 5}),
    ((3, 2, 4, 4), (9, 2, 4, 4), {}),
    ((2, 2, 3, 3), (2, 2, 1, 1), {"padding": 3}),
    ((1, 2, 5, 5), (3, 2, 2, 2), {"stride": 4}),
    ((1, 1, 20, 40), (2, 1, 3, 5), {"padding": (1, 2)}),
    ((1, 1, 2, 300), (2, 1, 1, 3), {"padding": (0, 1)}),
    ((1, 40, 3, 3), (17, 40, 3, 3), {"padding": 1}),
    ((1, 1, 30, 30), (1, 1, 17, 17), {"dilation": 1}),
]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("x", "weight", "settings"), IMAGES, ids=str)
def test_conv2d_has_the_numbers_of_the_cpu(x: Any, weight: Any, settings: Any, bias: bool) -> None:
    arrays = [floats(*x), floats(*weight, seed=1), *([floats(weight[0], seed=2)] if bias else [])]
    agree(lambda *tensors: F.conv2d(*tensors, **settings), arrays)


@pytest.mark.parametrize(
    ("x", "weight", "settings"),
    [
        ((2, 3, 9), (4, 3, 3), {}),
        ((2, 4, 300), (4, 2, 4), {"stride": 2, "padding": 3, "dilation": 2, "groups": 2}),
        ((2, 6, 11), (6, 1, 4), {"groups": 6, "padding": 3}),
    ],
    ids=str,
)
def test_conv1d_has_the_numbers_of_the_cpu(x: Any, weight: Any, settings: Any) -> None:
    arrays = [floats(*x), floats(*weight, seed=1), floats(weight[0], seed=2)]
    agree(lambda *tensors: F.conv1d(*tensors, **settings), arrays)


def test_conv_runs_our_kernels_and_saves_only_what_is_wanted() -> None:
    x, w = tensor(floats(2, 3, 5, 5)).to("cuda"), tensor(floats(4, 3, 3, 3)).to("cuda")
    for wanted in (x, w):
        wanted.requires_grad_()
        y = F.conv2d(x, w)
        assert "pair" in vars(y.function)
        assert [array is None for array in y.function.saved] == [wanted is not w, wanted is not x]
        wanted.requires_grad_(False)
    b = tensor(floats(4)).to("cuda").requires_grad_()
    F.conv2d(x, w, b).sum().backward()
    assert b.grad.tolist() == [18.0] * 4


def test_views_are_never_misread() -> None:
    x, w = floats(4, 6, 7, 3), floats(3, 3, 4, 4)
    agree(lambda x, w: F.conv2d(x.permute(0, 3, 2, 1), w.mT.flip(0)[..., ::2, ::2]), [x, w])
    agree(lambda x: F.max_pool2d(x.permute(0, 3, 1, 2)[:, ::2], 2), [x])
    agree(lambda x, w: causal_conv1d(x.permute(2, 0, 1), w[:, :1, ::2]), [floats(9, 4, 2), floats(4, 2, 6)])
    agree(lambda w: F.embedding(tensor([[0, 2], [2, 1]]).to(w.device), w.mT), [floats(5, 3)])


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_other_dtypes_and_large_kernels_are_left_to_the_array_module(dtype: str) -> None:
    x = tensor(floats(1, 2, 4, 4), dtype=dtype).to("cuda").requires_grad_()
    assert "pair" not in vars(F.conv2d(x, x.detach()[:, :, :2, :2]).function)
    assert "pair" not in vars(F.max_pool2d(x, 2).function)
    assert "pair" not in vars(F.embedding(tensor([1]).to("cuda"), x[0, 0]).function)
    wide = tensor(floats(1, 1, 40, 40)).to("cuda").requires_grad_()
    assert "pair" not in vars(F.conv2d(wide, tensor(floats(1, 1, 34, 34)).to("cuda")).function)
    assert "pair" not in vars(causal_conv1d(wide[0], tensor(floats(40, 1, 9)).to("cuda")).function)


def moved(
    x: tuple[int, ...], outs: int, taps: int, halo: float = 1.0, tiles: int = 1, more: int = 0
) -> float:
    """The bytes that `conv` states, for results as large as the planes of x."""
    n, c, h, w = x
    eighths = -(-outs // 8)
    return 4 * (n * c * h * w * halo * eighths + n * tiles * outs * c * taps + n * outs * h * w + more)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("x", "outs", "halo", "tiles", "more"),
    [
        ((2, 8, 8, 8), 16, 1.0, 1, 1.0),
        ((1, 3, 32, 32), 8, 38 / 32, 4, 1.0),  # four tiles of 8 rows, and of their neighbours 1, 2, 2 and 1
        ((2, 5, 9, 11), 7, 1.0, 1, 1.25),  # rows that begin within a sector
    ],
    ids=str,
)
def test_convolutions_move_what_their_tiles_need(
    x: tuple[int, ...], outs: int, halo: float, tiles: int, more: float
) -> None:
    weight = floats(outs, x[1], 3, 3, seed=1)
    a, w, b = (tensor(array).to("cuda").requires_grad_() for array in (floats(*x), weight, floats(outs)))
    with reported("conv") as seen:
        y = F.conv2d(a, w, b, padding=1)
        y.backward(tensor(floats(*y.shape)).to("cuda"))
    forward, to_x, to_weight = seen
    assert forward.bytes_moved <= 1.1 * more * moved(x, outs, 9, halo, tiles)
    back = (x[0], outs, *x[2:])
    assert to_x.bytes_moved <= 1.1 * more * moved(back, x[1], 9, halo, tiles)
    eighths, images = -(-outs // 8), x[0]
    ideal = 4 * (a.numel() * halo * eighths + y.numel() + images * (weight.size + outs))
    assert to_weight.bytes_moved <= 1.1 * more * ideal


@pytest.mark.slow
def test_shares_of_the_weight_gradient_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many images, of which each block takes some; and several blocks of channels."""
    arrays = [floats(7, 40, 3, 3), floats(3, 40, 3, 3, seed=1), floats(3)]
    for busy in (1, 4, 256):
        monkeypatch.setattr(conv, "BUSY", busy)
        agree(lambda x, w, b: F.conv2d(x, w, b, padding=1), arrays)


# Max-pooling


@pytest.mark.parametrize(
    ("shape", "kernel", "settings"),
    [
        ((1, 1, 1, 1), 1, {}),
        ((2, 3, 8, 8), 2, {}),
        ((2, 3, 9, 7), (3, 2), {"stride": (2, 1), "padding": (1, 1)}),
        ((1, 2, 11, 13), 3, {"stride": 2, "padding": 1, "dilation": 2}),
        ((1, 700, 2, 2), 2, {"stride": 1}),
        ((1, 1, 20, 1100), (2, 3), {"stride": (3, 1)}),
    ],
    ids=str,
)
def test_max_pool_has_the_numbers_of_the_cpu(shape: Any, kernel: Any, settings: Any) -> None:
    x = np.random.default_rng(0).integers(-3, 4, shape).astype(np.float32)  # many are equal
    agree(lambda x: F.max_pool2d(x, kernel, **settings), [x])
    agree(lambda x: F.max_pool2d(x, kernel, **settings), [floats(*shape)])


def test_max_pool_keeps_nan_and_infinity() -> None:
    x = np.array([[[[np.nan, 1, -np.inf, -np.inf], [2, 3, -np.inf, np.inf]]]], np.float32)
    got = F.max_pool2d(tensor(x).to("cuda"), 2)
    np.testing.assert_array_equal(got.cpu().numpy(), F.max_pool2d(tensor(x), 2).numpy())


@pytest.mark.parametrize(
    ("shape", "more"), [((4, 8, 8, 8), 1.0), ((1, 2, 64, 64), 1.0), ((3, 5, 9, 10), 1.25)], ids=str
)
def test_pooling_moves_each_number_once(shape: tuple[int, ...], more: float) -> None:
    x = tensor(floats(*shape)).to("cuda").requires_grad_()
    with reported("max_pool") as seen:
        y = F.max_pool2d(x, 2)
        y.backward(tensor(floats(*y.shape)).to("cuda"))
    for report in seen:
        assert report.bytes_moved <= 1.1 * more * (4 * x.numel() + 5 * y.numel())


# Causal convolution


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("shape", "taps"),
    [((1, 1, 1), 1), ((2, 3, 5), 4), ((2, 64, 33), 4), ((1, 65, 130), 3), ((3, 130, 7), 8), ((1, 2, 40), 8)],
    ids=str,
)
def test_causal_conv_has_the_numbers_of_the_cpu(shape: Any, taps: int, bias: bool) -> None:
    arrays = [
        floats(*shape),
        floats(shape[2], 1, taps, seed=1),
        *([floats(shape[2], seed=2)] if bias else []),
    ]
    agree(causal_conv1d, arrays)


@pytest.mark.thorough
@pytest.mark.parametrize(("shape", "more"), [((2, 128, 128), 1.0), ((1, 64, 101), 1.25)], ids=str)
def test_causal_conv_moves_each_number_once(shape: tuple[int, ...], more: float) -> None:
    """And three tokens and the weight once more for each 64 tokens."""
    w, b = (tensor(array).to("cuda") for array in (floats(shape[2], 1, 4), floats(shape[2])))
    x = tensor(floats(*shape)).to("cuda").requires_grad_()
    with reported("causal_conv") as seen:
        y = causal_conv1d(x, w.requires_grad_(), b.requires_grad_())
        y.backward(tensor(floats(*shape)).to("cuda"))
    forward, back = seen
    n, runs = x.numel(), x.numel() / 64
    assert forward.bytes_moved <= 1.1 * more * 4 * (2 * n + (3 + 4 + 1) * runs)
    assert back.bytes_moved <= 1.1 * more * 4 * (3 * n + (6 + 4 + 5) * runs)


# Rows of a table


@pytest.mark.parametrize("padding", [None, 2, -1])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 7), (70,)], ids=str)
def test_embedding_has_the_numbers_of_the_cpu(
    shape: tuple[int, ...], dtype: Any, padding: int | None
) -> None:
    index = np.random.default_rng(0).integers(0, 6, shape).astype(dtype)
    agree(lambda w, i: F.embedding(i, w, padding_idx=padding), [floats(6, 33), index])


@pytest.mark.parametrize(("width", "more"), [(64, 1.0), (1, 8.0), (45, 1.25)])
def test_embedding_moves_the_rows_that_are_asked_for(width: int, more: float) -> None:
    """A row of one number is a sector of eight."""
    index = np.random.default_rng(0).integers(0, 50, 64)
    w = tensor(floats(50, width)).to("cuda").requires_grad_()
    with reported("embedding") as seen:
        F.embedding(tensor(index).to("cuda"), w).backward(tensor(floats(64, width)).to("cuda"))
    forward, back = seen
    assert forward.bytes_moved <= 1.1 * (more * 4 * 2 * 64 * width + 8 * 64)
    assert back.bytes_moved <= 1.1 * (more * 4 * 64 * width + 8 * 64) and back.atomics == 64 * width
