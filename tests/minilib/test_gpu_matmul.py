"""Matrix products on the device: the numbers of the CPU in float64, and what each kernel moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu_cases import agree, near, reported
from thinned import slow_where

import minilib.functional as F
from minilib.cuda import cp
from minilib.gpu import matmul
from minilib.tensor import Tensor, tensor

pytestmark = pytest.mark.filterwarnings("ignore:there is no GPU here")

TILES = (16, 64, 128)


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def multiply(x: Any, y: Any) -> Any:
    return x @ y


SIZES = [
    (1, 1, 1),
    (2, 3, 4),
    (16, 16, 16),
    (17, 33, 18),
    (64, 32, 64),
    (65, 34, 67),
    (20, 1, 40),
    (1, 70, 1),
]


@pytest.mark.parametrize("size", slow_where(SIZES, lambda size: max(size) > 60), ids=str)
@pytest.mark.parametrize("tile", TILES)
def test_each_tile_gives_the_product(tile: int, size: tuple[int, int, int]) -> None:
    n, k, m = size
    x, y, bias = floats(n, k), floats(k, m, seed=1), floats(m, seed=2)
    expected = x.astype(float) @ y
    for left in (cp.asarray(x), cp.asarray(np.asfortranarray(x))):
        for right in (cp.asarray(y), cp.asarray(np.asfortranarray(y))):
            near(matmul.product(left, right, tile=tile), expected)
    near(matmul.product(cp.asarray(x), cp.asarray(y), cp.asarray(bias), tile=tile), expected + bias)


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 4), (4, 5)),
        ((0, 4), (4, 5)),
        ((3, 0), (0, 5)),
        ((3, 4), (4, 0)),
        ((1, 1), (1, 1)),
        ((2, 3, 20, 18), (2, 3, 18, 19)),
        ((2, 1, 20, 18), (3, 18, 19)),
        ((20, 18), (2, 3, 18, 19)),
        ((2, 20, 18), (18, 19)),
        ((0, 20, 18), (0, 18, 19)),
        ((2, 1, 2, 5, 6), (1, 3, 1, 6, 4)),
    ],
    ids=str,
)
def test_products_and_their_gradients_have_the_numbers_of_the_cpu(shapes: Any) -> None:
    agree(multiply, [floats(*shape, seed=i) for i, shape in enumerate(shapes)])


VIEWS = {
    "transposed": lambda x: x.mT,
    "every other row": lambda x: x[..., ::2, :],
    "every other column": lambda x: x[..., ::2],
    "a part": lambda x: x[..., 1:18, 3:20],
    "heads": lambda x: x.reshape(-1, 20, 5, 4).permute(0, 2, 1, 3),
    "one row repeated": lambda x: x[..., :1, :].expand(3, 20, 20),
    "one column repeated": lambda x: x[..., :1].expand(3, 20, 20),
    "turned": lambda x: x.flip(-1).flip(-2),
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_are_never_misread(view: str) -> None:
    look = VIEWS[view]
    agree(lambda x, y: look(x) @ look(y).mT, [floats(3, 20, 20), floats(3, 20, 20, seed=1)])


def test_negative_strides_are_followed() -> None:
    x = floats(20, 24)
    y = cp.asarray(x)
    for turn in (np.s_[::-1], np.s_[:, ::-1], np.s_[::-1, ::-1]):
        near(matmul.product(y[turn], y[turn].T), x[turn].astype(float) @ x[turn].T)


@pytest.mark.slow
@pytest.mark.nightly
def test_more_products_than_a_grid_has_blocks() -> None:
    x, y = floats(65_600, 2, 3), floats(65_600, 3, 2, seed=1)
    near((Tensor(cp.asarray(x)) @ Tensor(cp.asarray(y))).data, x.astype(float) @ y)


@pytest.mark.slow
@pytest.mark.nightly
def test_more_rows_than_an_axis_of_a_grid_has_blocks() -> None:
    x, y = floats(16 * 65_536 + 1, 1), floats(1, 2, seed=1)
    near(matmul.product(cp.asarray(x), cp.asarray(y)), x.astype(float) @ y)


@pytest.mark.slow
def test_transposed_operands_and_heads_are_read_where_they_lie() -> None:
    """No copy is made on the way back, nor of what a head is a part of."""
    x = cp.asarray(floats(2, 20, 5, 24)).transpose(0, 2, 1, 3)
    for a, b in ((x, x.swapaxes(-1, -2)), (x.swapaxes(-1, -2), x)):
        with reported("") as seen:
            matmul.product(a, b)
        assert len(seen) == 1


# What the kernels move, by the report


def ideal(n: int, k: int, m: int, tile: int) -> int:
    """The bytes that matmul.cu states: A for each `tile` columns of C, B for each `tile` rows, and C."""
    return 4 * (n * k * -(-m // tile) + k * m * -(-n // tile) + n * m)


ORDERS = {"rows": lambda x: x, "columns": lambda x: np.asfortranarray(x)}


@pytest.mark.thorough
@pytest.mark.parametrize("right", ORDERS)
@pytest.mark.parametrize("left", ORDERS)
@pytest.mark.parametrize("tile", TILES)
def test_a_product_moves_what_its_tiles_need(tile: int, left: str, right: str) -> None:
    """No bank conflict, no race, and at most a quarter more where rows begin within a sector."""
    for (n, k, m), more in (((128, 32, 128), 1.0), ((67, 45, 71), 1.25)):
        x, y = cp.asarray(ORDERS[left](floats(n, k))), cp.asarray(ORDERS[right](floats(k, m)))
        with reported("matmul") as seen:
            matmul.product(x, y, tile=tile)
        report = seen[0]
        assert report.bank_conflicts == 0
        if tile > 16 or more == 1:
            assert report.bytes_moved <= 1.1 * more * ideal(n, k, m, tile), (n, k, m)


@pytest.mark.thorough
def test_registers_ask_less_of_shared_memory() -> None:
    """For each step along k a thread reads 1 + 1 numbers for one product, 8 + 4 for 32, 8 + 8 for 64."""
    x, y = cp.asarray(floats(128, 48)), cp.asarray(floats(48, 128))
    for tile, read, products in ((16, 2, 1), (64, 12, 32), (128, 16, 64)):
        with reported("matmul") as seen:
            matmul.product(x, y, tile=tile)
        report = seen[0]
        steps, turned = 128 * 128 * 48 // products, 128 * 128 if tile > 16 else 0  # C goes through it too
        assert report.shared_bytes_read == 4 * (steps * read + turned)
        assert report.flops == 128 * 128 * (2 * 48 + 1)


@pytest.mark.slow
def test_aligned_rows_are_read_four_numbers_at_a_time() -> None:
    counts = []
    for x in (cp.asarray(floats(64, 36))[:, :32], cp.asarray(floats(64, 35))[:, :32]):
        with reported("matmul") as seen:
            matmul.product(x, x.T, tile=64)
        counts.append(seen[0].global_load_requests)
    assert counts == [32, 128]


@pytest.mark.slow
def test_the_tile_is_chosen_as_the_report_says() -> None:
    """Where a side has 16 numbers and less a large tile multiplies zeros; else it moves fewer bytes."""

    def report(n: int, m: int, tile: int) -> Any:
        with reported("matmul") as seen:
            matmul.product(cp.asarray(floats(n, 32)), cp.asarray(floats(32, m)), tile=tile)
        return seen[0]

    assert matmul.tile_for(16, 64, 1) == 16 and matmul.tile_for(64, 64, 1) == 64
    assert 3 * report(16, 64, 16).flops < report(16, 64, 64).flops
    assert 2 * report(64, 64, 64).bytes_moved < report(64, 64, 16).bytes_moved
    assert matmul.tile_for(1024, 2048, 1) == 128 and matmul.tile_for(1024, 1024, 1) == 64
    assert ideal(2048, 2048, 2048, 64) > 1.9 * ideal(2048, 2048, 2048, 128)


# Linear


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", [(3,), (0, 3), (5, 3), (2, 3, 18), (66, 20)], ids=str)
def test_linear_has_the_numbers_of_the_cpu(shape: tuple[int, ...], bias: bool) -> None:
    arrays = [floats(*shape), floats(7, shape[-1], seed=1), *([floats(7, seed=2)] if bias else [])]
    agree(F.linear, arrays)


@pytest.mark.parametrize("bias", [False, True])
def test_linear_saves_and_returns_only_what_is_wanted(bias: bool) -> None:
    x, w = (tensor(floats(3, 4)).to("cuda"), tensor(floats(5, 4)).to("cuda"))
    b = tensor(floats(5)).to("cuda").requires_grad_(bias)
    y = F.linear(x, w.requires_grad_(), b)
    assert [array is None for array in y.function.saved] == [False, True]
    y.sum().backward()
    assert (x.grad, b.grad is None) == (None, not bias)
    assert [a is None for a in (x @ w.mT).function.saved] == [False, True]


def test_the_bias_is_added_by_the_product() -> None:
    x, w, b = (tensor(floats(*shape)).to("cuda") for shape in ((64, 32), (64, 32), (64,)))
    with reported("matmul") as seen:
        F.linear(x, w, b)
    (only,) = seen
    assert only.bytes_moved <= 1.1 * ideal(64, 32, 64, 64)


def test_other_dtypes_are_left_to_the_array_module() -> None:
    x = tensor(floats(3, 4).astype(np.float64)).to("cuda")
    assert "pair" not in vars((x.requires_grad_() @ x.mT).function)
    assert "pair" not in vars(F.linear(x, x).function)
    assert (tensor([[1, 2]]).to("cuda") @ tensor([[3], [4]]).to("cuda")).tolist() == [[11]]
