"""Kernels on rows and reductions: numbers at awkward sizes, no findings, and no byte moved twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu_cases import ELEMENTWISE, agree, near
from thinned import slow_where

import minilib.functional as F
import minilib.gpu as gpu
import minilib.tensor as lib
from minilib.cuda import cp
from minilib.gpu import rows
from minilib.gpu.reductions import LARGEST, SMALLEST, reduce_columns, reduce_rows
from minilib.tensor import Tensor, tensor

pytestmark = pytest.mark.filterwarnings("ignore:there is no GPU here")

WIDTHS = [1, 2, 31, 32, 33, 48, 255, 256, 257, 1000, 4096, 4097, 8192]
LONG = [8193, 50_257]  # wider than a block keeps: GPT-2 has 50,257 words


def losses(x: Tensor, target: Any) -> Tensor:
    return F.cross_entropy(x, tensor(target, device=x.device), reduction="none")


ROWS = {
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "cross_entropy": lambda x: losses(x, np.arange(x.shape[0]) * 7 % x.shape[1]),
    "layer_norm": lambda x, w, b: F.layer_norm(x, (x.shape[-1],), w, b),
    "rms_norm": lambda x, w: F.rms_norm(x, (x.shape[-1],), w, 1e-5),
}


def inputs(name: str, count: int, width: int) -> list[np.ndarray]:
    rng = np.random.default_rng(width)
    more = {"layer_norm": 2, "rms_norm": 1}.get(name, 0)
    return [3 * rng.normal(size=(count, width)), *[rng.normal(size=width) for _ in range(more)]]


@pytest.mark.parametrize("width", slow_where(WIDTHS, lambda width: width not in (1, 33, 257)))
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_every_width(name: str, width: int) -> None:
    if name == "layer_norm" and width == 1:
        pytest.skip("a row of one number has no variance: its gradient is rounding alone")
    agree(ROWS[name], inputs(name, 3, width))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ROWS)
def test_more_rows_than_a_grid_has_blocks_along_an_axis(name: str) -> None:
    agree(ROWS[name], inputs(name, 65_537, 3))


@pytest.mark.parametrize("width", slow_where(LONG, lambda width: True))
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "cross_entropy"])
def test_rows_that_no_block_can_keep(name: str, width: int) -> None:
    agree(ROWS[name], inputs(name, 2, width))


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_norms_of_rows_that_no_block_can_keep_go_to_the_array_module(name: str) -> None:
    agree(ROWS[name], inputs(name, 2, rows.WIDEST + 1))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_rows_along_another_axis(name: str) -> None:
    x = np.random.default_rng(0).normal(size=(3, 5, 4))
    agree(lambda x: getattr(F, name)(x, 1), [x])
    agree(lambda x: getattr(F, name)(x.permute(2, 0, 1), 0), [x])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("width", [3, rows.WIDEST + 3])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_scores_without_a_bound(name: str, width: int) -> None:
    x = np.full((7, width), -np.inf, np.float32)  # masked, as far as nothing else is said
    x[:4, -3:] = [[1e30, 0, -1e30], [-np.inf, 0, 1], [80, 90, 100], [np.nan, 0, 1]]
    x[4:6, -1], x[5, 0] = [np.inf, 3], 1  # the last row has nothing but masks
    here, away = (getattr(F, name)(tensor(x, device=device), 1) for device in ("cpu", "cuda"))
    near(away.data, here.data)


def test_large_numbers_that_lie_close_keep_their_digits() -> None:
    x = (1e5 + np.random.default_rng(0).integers(0, 8, (4, 300))).astype(np.float32)
    agree(lambda x: F.layer_norm(x, (300,)), [x])


def test_a_target_that_does_not_count_has_no_loss_and_no_gradient() -> None:
    x = np.random.default_rng(0).normal(size=(4, 5))
    x[2] = np.inf
    target = np.array([1, 4, -100, 0])
    with np.errstate(invalid="ignore"):
        here = F.cross_entropy(tensor(x), tensor(target))
    away = F.cross_entropy(tensor(x.astype(np.float32), device="cuda"), tensor(target, device="cuda"))
    near(away.data, here.data)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(2, 1), (5, 3), (3, 2, 300), (4, 7, 3, 5), (2, 300, 1, 2)], ids=str)
def test_batch_norm_has_the_numbers_of_the_cpu(shape: tuple[int, ...], training: bool) -> None:
    rng = np.random.default_rng(0)
    x, w, b = 3 * rng.normal(size=shape) + 5, rng.normal(size=shape[1]), rng.normal(size=shape[1])
    moments = rng.normal(size=shape[1]), rng.uniform(1, 2, size=shape[1])
    ends: dict[str, list[Tensor]] = {}

    def norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        running = ends[x.device] = [tensor(a.astype(x.dtype), device=x.device) for a in moments]
        return F.batch_norm(x, *running, w, b, training)

    agree(norm, [x, w, b])
    for here, away in zip(*ends.values(), strict=True):
        near(away.data, here.data)


def test_batch_norm_runs_our_kernels_and_never_misreads_views() -> None:
    x = lib.rand(4, 3, 2, 2, device="cuda", requires_grad=True)
    assert "pair" in vars(F.batch_norm(x, None, None, training=True).function)
    x = np.random.default_rng(0).normal(size=(4, 5, 3))
    agree(lambda x: F.batch_norm(x.permute(1, 2, 0)[::2], None, None, training=True).permute(2, 0, 1), [x])


# ------------------------------------------------------------------------------------------------ reductions

SHAPES = [(1,), (5000,), (4096, 3), (3, 4097), (5, 7, 11), (513, 2), (66_000, 1), (2, 70_000), (0, 3), (3, 0)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_along_any_axes(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).normal(size=shape)
    for dims in [None, *range(len(shape)), *([(0, 2)] if len(shape) > 2 else [])]:
        agree(lambda x, dims=dims: x.sum(dims, keepdim=x.size(0) > 5), [x])


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES[:-2], ids=str)
def test_extremes_along_any_axes_share_their_gradient(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).integers(0, 9, size=shape).astype(float)
    for dims in [None, *range(len(shape))]:
        agree(lambda x, dims=dims: x.amax(dims), [x])
        agree(lambda x, dims=dims: x.amin(dims, keepdim=True), [x])


def test_a_nan_among_numbers_is_their_extreme() -> None:
    x = cp.asarray(np.array([[1.0, np.nan, 3.0], [1.0, 2.0, 3.0]], np.float32))
    for kind, expected in ((LARGEST, [np.nan, 3.0]), (SMALLEST, [np.nan, 1.0])):
        np.testing.assert_array_equal(reduce_rows(x, kind).get(), expected)
        np.testing.assert_array_equal(reduce_columns(cp.ascontiguousarray(x.T), kind).get(), expected)


def test_sums_of_many_keep_their_digits() -> None:
    x = np.full((300_000, 2), 0.1, np.float32)
    expected = x.sum(0, dtype=np.float64)
    np.testing.assert_allclose(reduce_columns(cp.asarray(x)).get(), expected, rtol=1e-6)
    np.testing.assert_allclose(reduce_rows(cp.asarray(np.ascontiguousarray(x.T))).get(), expected, rtol=1e-6)


def test_views_are_summed_without_being_misread() -> None:
    x = np.random.default_rng(2).normal(size=(6, 5, 4))
    agree(lambda x: x.permute(2, 0, 1).sum(1) + x[:, ::2].flip(2).sum((0, 1)).sum(), [x])
    agree(lambda x: x[0, :1].expand(7, 4).sum(0), [x])


# -------------------------------------------------------------------------------------- what the reports say


def reported(name: str, count: int, width: int) -> tuple[Any, Any]:
    """The reports of the row kernels forward and backward."""
    tensors = [
        tensor(a.astype(np.float32), device="cuda").requires_grad_() for a in inputs(name, count, width)
    ]
    with gpu.reports() as forward:
        y = ROWS[name](*tensors)
    grad = lib.ones(*y.shape, device="cuda")
    with gpu.reports() as backward:
        y.backward(grad)
    return tuple(
        next(report for kernel, report in found if kernel.startswith(name)) for found in (forward, backward)
    )


# Arrays that go in and out, which the kernel's comment says; beside them numbers of a row and of a block.
# Forward and backward; those of rows that are walked along again; a walk more is an array more.
MOVED_BY_LONG = {"softmax": (3, 5), "log_softmax": (3, 4), "cross_entropy": (3, 2)}
MOVED = {
    "softmax": (2, 3),
    "log_softmax": (2, 3),
    "cross_entropy": (2, 2),
    "layer_norm": (2, 3),
    "rms_norm": (2, 3),
}


# Of these each block moves as many rows besides: weight and bias, or what it adds to their gradients.
PARTS = {"layer_norm": (2, 3), "rms_norm": (1, 2)}


@pytest.mark.slow
@pytest.mark.parametrize("width", [512, 1000, 4096])
@pytest.mark.parametrize("name", ROWS)
def test_each_number_is_moved_once(name: str, width: int) -> None:
    count = 6
    blocks = min(count, rows.BLOCKS)
    reports = reported(name, count, width)
    for way, report, arrays in zip((0, 1), reports, MOVED[name], strict=True):
        assert report.ok and not report.races and report.bank_conflicts == 0
        ideal = 4 * arrays * count * width + 4 * blocks * width * PARTS.get(name, (0, 0))[way]
        assert ideal <= report.bytes_moved + 64 * count and report.bytes_moved <= 1.1 * ideal


@pytest.mark.parametrize("name", MOVED_BY_LONG)
def test_a_row_that_no_block_can_keep_is_moved_once_more_for_each_walk(name: str) -> None:
    count, width = 2, 12_000
    for report, arrays in zip(reported(name, count, width), MOVED_BY_LONG[name], strict=True):
        assert report.ok and not report.races and report.bank_conflicts == 0
        ideal = 4 * arrays * count * width
        # Numbers of which a row has one are fetched by each of 32 warps.
        assert ideal <= report.bytes_moved <= 1.1 * ideal


@pytest.mark.parametrize("shape", [(64, 2048), (32, 4096), (1024, 40)])
@pytest.mark.parametrize("by", [reduce_rows, reduce_columns])
def test_reductions_move_an_array_once(by: Any, shape: tuple[int, int]) -> None:
    x = cp.asarray(np.random.default_rng(0).normal(size=shape).astype(np.float32))
    with gpu.reports() as found:
        by(x)
    assert all(report.ok and report.bank_conflicts == 0 for _, report in found)
    assert sum(report.bytes_moved for _, report in found) <= 1.1 * x.nbytes


@pytest.mark.parametrize(("name", "arrays"), [("Add", 3), ("Mul", 3), ("Tanh", 2), ("GELU", 2)])
def test_elements_move_once(name: str, arrays: int) -> None:
    function = ELEMENTWISE[name]
    x = [lib.rand(4096, device="cuda") for _ in range(function.__code__.co_argcount)]
    with gpu.reports() as found:
        function(*x)
    _, report = found[-1]
    assert report.ok and report.bytes_moved == 4 * arrays * 4096
