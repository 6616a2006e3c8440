"""Chapter 05c, graded; its pictures; and the counts that its lesson claims, against sums done by hand."""

from __future__ import annotations

import numpy as np
import pytest
from graded import COURSE, Exercises, ExerciseTests
from lesson_kernels import lesson_kernels

from coursekit import notebooks
from coursekit.pictures import compiled, draw_columns, draw_limits, draw_registers
from minilib.cuda import RawKernel, cp, profile, simulate

# One thread of each block makes the whole tile.
ALONE = """
#define ROWS 16
#define COLUMNS 16
#define BLOCK_X 16
#define BLOCK_Y 16
extern "C" __global__ void NAME(const float* x, const float* y, float* C, int k, int m, int n) {
    if (threadIdx.x || threadIdx.y) return;
    for (int row = blockIdx.y * SIDE; row < min(m, (int)(blockIdx.y + 1) * SIDE); row++)
        for (int col = blockIdx.x * SIDE; col < min(n, (int)(blockIdx.x + 1) * SIDE); col++) {
            float sum = 0.0f;
            for (int s = 0; s < k; s++) sum += x[s * m + row] * y[s * n + col];
            C[row * n + col] = sum;
        }
}
"""


class TestExercises(ExerciseTests):
    exercises = Exercises("05c_product")

    @pytest.mark.thorough
    @pytest.mark.nightly
    def test_one_thread_of_each_block_earns_nothing(self):
        names = {"5.14": ("weight_gradient", "16"), "5.15": ("mended", "32"), "5.16": ("in_turn", "16")}
        sources = [
            (number, ALONE.replace("NAME", name).replace("SIDE", side))
            for number, (name, side) in names.items()
        ]
        assert self.exercises.points(sources) == [0, 0, 0]


# --------------------------------------------------------------------------------------- what the lesson says

ORDERS = ("lockstep", "forward", "reverse")


@pytest.fixture(scope="module")
def kernels():
    return lesson_kernels("05c_product")


def numbers(*shape):
    return cp.asarray(np.random.default_rng(5).normal(size=shape).astype(np.float32))


def product(kernel, m, n, k, side):
    """The arguments of a launch, with its grid."""
    args = (numbers(m, k), numbers(k, n), cp.zeros((m, n), np.float32), *np.int32([m, n, k]))
    return args, (-(-n // side), -(-m // side))


@pytest.mark.parametrize("r", [1, 2, 4])
def test_a_register_tile_divides_the_bytes_of_shared_memory(kernels, r):
    kernel = RawKernel(kernels["registers"].source, "registers", options=(f"-DR={r}",))
    m, n, k, side = 64, 64, 16, 16 * r
    args, grid = product(kernel, m, n, k, side)
    report = profile(kernel, grid, (16, 16), args)
    assert report.ok and report.bank_conflicts == 0
    assert report.shared_bytes_read == m * n * k * 8 // r
    assert report.bytes_read == m * n * k * 8 // side
    assert report.shared_load_requests == m * n * k // 32 * 2 // r


@pytest.mark.parametrize(("name", "side"), [("registers", 32), ("fours", 64)])
def test_the_kernels_of_the_lesson_are_right_at_the_edges_in_every_order(kernels, name, side):
    kernel = kernels[name]
    if name == "registers":
        kernel = RawKernel(kernel.source, name, options=("-DR=2",))
    args, grid = product(kernel, 35, 36, 19, side)
    assert profile(kernel, grid, (16, 16), args).ok
    for order in ORDERS:
        args[2][...] = 0
        simulate(kernel, grid, (16, 16), args, schedule=order)
        np.testing.assert_allclose(args[2].get(), args[0].get() @ args[1].get(), atol=1e-4)


def test_fours_load_a_quarter_as_often_and_padding_keeps_them_apart(kernels):
    args, grid = product(kernels["fours"], 64, 64, 16, 64)
    report = profile(kernels["fours"], grid, (16, 16), args)
    assert report.shared_bytes_read == 64 * 64 * 16 * 2
    assert report.shared_load_requests == 64 * 64 * 16 // 32 // 8
    careless = RawKernel(kernels["fours"].source.replace("T + 4", "T"), "fours")
    bad = profile(careless, grid, (16, 16), args)
    # In each of two tiles, 64 * 8 numbers are stored by 16 warps, each in 8 turns in place of one.
    assert (report.bank_conflicts, bad.bank_conflicts) == (0, 2 * 16 * 7)
    assert np.array_equal(report.outputs[2], bad.outputs[2])


def test_the_compiler_reads_the_tile_of_04c_by_fours_and_one_result_as_written():
    kinds = {name: kernel["of"] for name, kernel in compiled()["kernels"].items()}
    assert [kinds["matmul_tiled"][kind] for kind in ("LDS", "LDS.128", "FFMA")] == [
        16,
        4,
        16,
    ]  # 1.25 loads each
    one = kinds["registers, R = 1"]
    assert one["LDS"] == 2 * one["FFMA"] and "LDS.128" not in one
    for side in (2, 4, 8):
        tile = kinds[f"registers, R = {side}"]
        assert tile["LDS"] / tile["FFMA"] == 2 / side
    assert kinds["fours"]["LDS.128"] / kinds["fours"]["FFMA"] == 1 / 8


def test_a_block_of_the_largest_tile_is_alone_on_its_multiprocessor():
    registers = compiled()["kernels"]["matmul_128"]["registers"]
    assert 65_536 // (256 * registers) == 1


def test_the_table_of_the_recap_is_what_the_lesson_counted():
    path = COURSE.chapters / "05c_product.ipynb"
    printed = "".join(
        output.get("text", "")
        for cell in notebooks.cells(path, notebooks.read(path))
        if cell.is_code
        for output in cell.node.outputs
    )
    for side, r in (("1 x 1", 1), ("4 x 4", 4), ("8 x 8", 8)):
        assert (
            f"{side}  right: True, conflicts: 0; for each FMA {8 / r:g} shared, {0.5 / r:g} device" in printed
        )
    assert "fours  0.125 loads" in printed and "8 x 8  0.250 loads" in printed


@pytest.mark.thorough
def test_a_slider_shows_one_register_tile_at_a_time():
    picture = draw_registers((1, 2, 8))
    assert (
        "16 products" not in picture.alt and "8 of a and 8 of b make 64 products, 0.25 words" in picture.alt
    )
    page = picture.page
    assert page.count("<img") == 3 and page.count("display: block") == 1
    assert "2 of a and 2 of b make 4 products, 1 words each" in page


def test_columns_and_limits_are_told_in_words():
    columns = draw_columns({"side by side": [0, 0, 1, 1, 2, 2]})
    assert "side by side: thread 0 has [0, 1], thread 1 has [2, 3]" in columns.alt
    assert "1 x 1: 20% by device memory, 12.5% by shared memory" in draw_limits({"1 x 1": (0.2, 0.125)}).alt
