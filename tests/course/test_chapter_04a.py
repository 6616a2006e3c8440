"""Chapter 04a: what the lesson counts, by hand; wrong answers earn hints, other right ones all points."""

from __future__ import annotations

import numpy as np
import pytest
from graded import Exercises, ExerciseTests
from lesson_kernels import lesson_kernels

from coursekit.pictures import draw_memories
from minilib.cuda import cp, profile


class TestExercises(ExerciseTests):
    exercises = Exercises("04a_threads")


KERNELS = lesson_kernels("04a_threads")


def floats(*shape):
    return cp.zeros(shape, dtype=cp.float32)


def test_the_two_threads_too_many_read_and_write_behind_the_end():
    report = profile(KERNELS["scale_blindly"], (3,), (4,), (np.float32(2), floats(10)))
    (finding,) = report.out_of_bounds
    assert (finding.line, finding.index, finding.count) == (4, 10, 2 * 2)
    guarded = profile(KERNELS["scale"], (3,), (4,), (np.float32(2), floats(10), np.int32(10)))
    assert guarded.ok


@pytest.mark.parametrize(("kernel", "sectors"), [("in_turn", 4), ("in_chunks", 32)])
def test_a_request_in_turn_touches_4_sectors_and_in_chunks_32(kernel, sectors):
    report = profile(KERNELS[kernel], (1,), (32,), (cp.zeros(256, dtype=cp.int32), np.int32(256)))
    requests = 256 // 32
    assert (report.global_store_requests, report.global_store_sectors) == (requests, requests * sectors)


@pytest.mark.parametrize("kernel", ["in_turn", "in_chunks"])
@pytest.mark.parametrize(("grid", "block", "n"), [(2, 4, 32), (1, 1, 5), (3, 40, 33), (5, 32, 7)])
def test_both_ways_to_share_give_each_number_to_one_thread(kernel, grid, block, n):
    owner = cp.full(n, -1, dtype=cp.int32)
    report = profile(KERNELS[kernel], (grid,), (block,), (owner, np.int32(n)))
    share, threads = -(-n // (grid * block)), grid * block
    expected = np.arange(n) % threads if kernel == "in_turn" else np.arange(n) // share
    assert report.ok
    np.testing.assert_array_equal(report.outputs[0], expected)


@pytest.mark.parametrize("stride", [*range(1, 21), 32, 100])
def test_a_stride_costs_four_sectors_for_each_float_up_to_32(stride):
    args = floats(32 * stride), floats(32), np.int32(0), np.int32(stride)
    report = profile(KERNELS["strided"], (1,), (32,), args)
    assert report.ok
    assert report.global_load_sectors == min(4 * stride, 32)


@pytest.mark.parametrize("start", range(17))
def test_a_start_within_a_sector_costs_one_more(start):
    report = profile(KERNELS["strided"], (1,), (32,), (floats(64), floats(32), np.int32(start), np.int32(1)))
    assert report.global_load_sectors == 4 + (start % 8 > 0)


@pytest.mark.parametrize(("kernel", "sectors"), [("by_rows", 4), ("by_columns", 32)])
def test_a_copy_by_columns_moves_eight_times_what_it_needs(kernel, sectors):
    report = profile(KERNELS[kernel], (2, 8), (32, 8), (floats(64, 64), floats(64, 64), np.int32(64)))
    warps = 64 * 64 // 32
    assert report.ok
    assert report.bytes_read == 64 * 64 * 4
    assert report.global_load_sectors == report.global_store_sectors == warps * sectors
    assert report.bytes_moved == 2 * 32 * warps * sectors


def test_the_8_warps_of_a_block_by_columns_want_the_same_32_sectors():
    report = profile(KERNELS["by_columns"], (1, 1), (32, 8), (floats(64, 64), floats(64, 64), np.int32(64)))
    row, col = np.mgrid[:32, :8]
    different = len(np.unique((row * 64 + col) * 4 // 32))
    assert (different, report.global_load_sectors) == (32, 8 * 32)


@pytest.mark.parametrize(("kernel", "shape", "sectors"), [("structs", (64, 4), 32), ("arrays", (64,), 8)])
def test_structs_load_four_times_the_sectors_of_arrays(kernel, shape, sectors):
    report = profile(KERNELS[kernel], (1,), (64,), (floats(*shape), np.int32(64)))
    assert report.global_load_sectors == sectors  # two warps


def test_add_does_one_operation_for_twelve_bytes():
    report = profile(KERNELS["add"], (1,), (8,), (floats(8), floats(8), floats(8)))
    assert report.flops_per_byte == 1 / 12


def test_memories_are_drawn_to_scale_and_told_in_words():
    picture = draw_memories({"registers": (35e6, 1), "L2": (50e6, 270), "device memory": (80e9, 600)})
    assert (
        "registers: 35 MB, 1 cycles; L2: 50 MB, 270 cycles; device memory: 80 GB, 600 cycles" in picture.alt
    )
    assert picture.png.startswith(b"\x89PNG")


def test_the_fractal_is_the_one_that_numpy_draws():
    image = cp.zeros((45, 60), dtype=cp.uint8)
    report = profile(KERNELS["fractal"], (2, 6), (32, 8), (image, np.int32(60), np.int32(45)))
    y, x = np.mgrid[:45, :60].astype(np.float32)
    c = (np.float32(3) * x / 60 - np.float32(2.1)) + 1j * (np.float32(2) * y / 45 - np.float32(1))
    z, steps = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(60):
        inside = np.abs(z) < 2
        z = np.where(inside, z * z + c, z)
        steps += inside
    assert report.ok
    assert np.mean(report.outputs[0] == steps) > 0.99  # rounding may tip a pixel at the fringe
