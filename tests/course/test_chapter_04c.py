"""Chapter 04c, graded; and the counts that its lesson claims, against sums done by hand."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
from graded import COURSE, Exercises, ExerciseTests
from lesson_kernels import lesson_kernels

from coursekit import notebooks
from coursekit.pictures import draw_roofline
from coursekit.pictures.scans import scan_rows
from minilib import functional as F
from minilib.cuda import RawKernel, cp, profile, simulate
from minilib.tensor import tensor


class TestExercises(ExerciseTests):
    exercises = Exercises("04c_reductions")


# --------------------------------------------------------------------------------------- what the lesson says

KERNELS = lesson_kernels("04c_reductions")
BLOCK = 256
ORDERS = ("lockstep", "forward", "reverse")


def numbers(*shape):
    return cp.asarray(np.random.default_rng(4).normal(size=shape).astype(np.float32))


def tree(name, threads=BLOCK):
    x = numbers(threads)
    report = profile(KERNELS[name], (1,), (threads,), (x, cp.zeros(1, np.float32), np.int32(threads)))
    np.testing.assert_allclose(report.outputs[1], [x.get().sum(dtype=np.float64)], rtol=1e-5, atol=1e-5)
    assert report.ok
    return report


def test_neighbours_first_diverge_in_every_warp_while_a_pair_fits_into_a_warp():
    warps = BLOCK // 32
    steps = [min(warps, BLOCK // (2 * stride)) for stride in 2 ** np.arange(int(math.log2(BLOCK)))]
    assert steps == [8, 8, 8, 8, 8, 4, 2, 1]
    report = tree("tree_neighbours")
    assert report.divergent_branches == sum(steps) + 1 == 48  # the last line diverges in warp 0
    assert (report.bank_conflicts, report.barriers, report.flops) == (0, 8, BLOCK - 1)


def packed_conflicts():
    """Conflicts of one access in all steps, where worker t takes number 2 * stride * t."""
    conflicts = 0
    for stride in 2 ** np.arange(8):
        workers = np.arange(BLOCK // (2 * stride))
        for warp in range(0, len(workers), 32):
            conflicts += np.bincount(2 * stride * workers[warp : warp + 32] % 32).max() - 1
    return conflicts


def test_packed_neighbours_collide_in_banks():
    report = tree("tree_packed")
    assert report.bank_conflicts == 3 * packed_conflicts() == 105  # two loads and a store
    assert report.divergent_branches == 5 + 1  # 16, 8, 4, 2, 1 of 32 lanes; and the last line


def test_halves_first_neither_collide_nor_diverge_before_the_last_warp():
    report = tree("tree_halves")
    assert (report.bank_conflicts, report.divergent_branches, report.barriers) == (0, 5 + 1, 8)
    assert (report.flops, report.shared_bytes, report.bytes_read) == (BLOCK - 1, 4 * BLOCK, 4 * BLOCK)


def test_shuffles_need_one_barrier_and_128_bytes():
    report = tree("sum_shuffle")
    assert (report.barriers, report.shared_bytes, report.bank_conflicts) == (1, 4 * 32, 0)
    assert report.flops == BLOCK + 5 * BLOCK + 5 * 32  # own number; five steps of all; five of a warp
    assert report.divergent_branches == 8 + 1  # lane 0 of each warp; thread 0


def two_sums(kernel, schedule):
    sums = cp.zeros(2, np.float32)
    simulate(kernel, (1,), (BLOCK,), (cp.full(BLOCK, 2, dtype=np.float32), sums), schedule=schedule)
    return sums.get().tolist()


def test_block_sum_may_be_called_twice_only_with_a_second_barrier():
    mended = KERNELS["two_sums"]
    kernel_alone = mended.source[mended.source.index('extern "C"') :]
    careless = RawKernel(KERNELS["sum_shuffle"].source + kernel_alone, "two_sums")
    args = (numbers(BLOCK), cp.zeros(2, np.float32))
    race = profile(careless, (1,), (BLOCK,), args).races[0]
    assert (race.kind, race.array) == ("shared", "of_warp")
    report = profile(mended, (1,), (BLOCK,), args)
    assert (report.ok, report.barriers) == (True, 2 * 2)
    x = args[0].get().astype(np.float64)
    np.testing.assert_allclose(report.outputs[1], [x.sum(), (x * x).sum()], rtol=1e-5, atol=1e-5)
    right = [2 * BLOCK, 4 * BLOCK]
    assert [two_sums(mended, order) == right for order in ORDERS] == [True, True, True]
    assert [two_sums(careless, order) == right for order in ORDERS] == [True, True, False]


def test_a_tree_keeps_the_digits_that_one_sum_loses():
    level = cp.full(1 << 20, 0.1, dtype=np.float32)
    exact = (1 << 20) * float(np.float32(0.1))
    assert abs(np.cumsum(level.get())[-1] / exact - 1) > 0.009
    while level.size > 1:
        sums = cp.empty(-(-level.size // BLOCK), dtype=np.float32)
        KERNELS["tree_halves"](sums.shape, (BLOCK,), (level, sums, np.int32(level.size)))
        level = sums
    assert abs(float(level[0]) / exact - 1) < 1e-6


def test_a_shuffle_behind_the_guard_misses_24_lanes():
    args = (numbers(256), cp.zeros(2, np.float32), np.int32(40))
    report = profile(KERNELS["guarded"], (1,), (64,), args)
    assert report.warp_sync[0].line == 6
    assert report.warp_sync[0].count == 24 * 5


@pytest.mark.parametrize(("name", "reads"), [("softmax_three", 3), ("softmax_online", 2)])
def test_online_softmax_reads_a_row_twice(name, reads):
    x = numbers(6, 1000)
    report = profile(
        KERNELS[name], (2,), (32, 4), (x, cp.empty_like(x), np.int32(6), np.int32(1000)), max_steps=9999
    )
    assert report.global_load_sectors == reads * 6 * 1000 * 4 // 32
    assert report.global_store_sectors == 6 * 1000 * 4 // 32
    e = np.exp(x.get().astype(np.float64))
    np.testing.assert_allclose(report.outputs[1], e / e.sum(1, keepdims=True), rtol=1e-4)
    # Of a row: numbers, and 32 lanes in each of 5 steps; x - m, exp and / of the last walk.
    # The larger of two is no flop.
    merges, last = 1000 + 5 * 32, 3 * 1000
    flops = {"softmax_three": (3 * 1000 + 5 * 32) + last, "softmax_online": 7 * merges + last}
    assert report.flops == 6 * flops[name]
    if name == "softmax_online":
        assert (report.flops, round(report.flops_per_byte, 2)) == (66720, 0.93)


@pytest.mark.parametrize("name", ["softmax_three", "softmax_online"])
def test_softmax_of_minus_infinities_is_that_of_minilib(name):
    low, lowest = -np.inf, np.finfo(np.float32).min
    rows = [
        [1, 2, low],
        [low, low, low],
        [low, 3, low],
        [lowest, lowest, low],
        [low, np.nan, 0],
        [np.inf, 0, 0],
    ]
    x = cp.asarray(np.array(rows, np.float32))
    args = (x, cp.empty_like(x), np.int32(6), np.int32(3))
    report = profile(KERNELS[name], (2,), (32, 4), args)
    assert report.ok
    with np.errstate(invalid="ignore"):
        expected = F.softmax(tensor(x.get()), -1).data
    assert np.isnan(expected).all(1).tolist() == [False, True, False, False, True, True]
    np.testing.assert_allclose(report.outputs[1], expected, atol=1e-6)


def test_two_lanes_that_saw_nothing_must_not_subtract_infinities():
    x = numbers(1, 10)
    args = (x, cp.empty_like(x), np.int32(1), np.int32(10))
    source = KERNELS["softmax_online"].source
    unasked = source.replace("top == -INFINITY ? 0.0f : top", "top")
    assert unasked != source
    assert np.isfinite(profile(KERNELS["softmax_online"], (1,), (32, 4), args).outputs[1]).all()
    assert np.isnan(profile(RawKernel(unasked, "softmax_online"), (1,), (32, 4), args).outputs[1]).all()


@pytest.mark.parametrize("tile", [1, 16, 32])
def test_a_tile_divides_the_bytes_read(tile):
    n = 64
    a, b, size = numbers(n, n), numbers(n, n), np.int32(n)
    kernel, side = KERNELS["matmul_naive"], 16
    if tile > 1:
        source = KERNELS["matmul_tiled"].source.replace("TILE 16", f"TILE {tile}")
        kernel, side = RawKernel(source, "matmul_tiled"), tile
    args = (a, b, cp.empty_like(a), size, size, size)
    report = profile(kernel, (n // side, n // side), (side, side), args)
    assert report.bytes_read == 2 * n**3 * 4 // tile
    assert report.flops == 2 * n**3
    assert report.flops_per_byte == pytest.approx(2 * n / (8 * n / tile + 4))  # towards tile / 4
    assert report.barriers == (0 if tile == 1 else (n // tile) ** 2 * 2 * (n // tile))
    assert report.bank_conflicts == 0
    # A warp of the plain kernel reads 2 numbers of A and 16 of B: 2 sectors each. One with tiles reads 32 of
    # each, side by side: 4 sectors, but less often, by the side of a tile.
    warps = n * n // 32
    assert report.global_load_sectors == warps * (4 * n if tile == 1 else 8 * n // tile)
    np.testing.assert_allclose(report.outputs[2], a.get() @ b.get(), atol=1e-4)


def test_the_ridge_of_the_roofline():
    peak, bandwidth = 67e12, 3.35e12
    assert peak / bandwidth == pytest.approx(20)
    assert 4 * peak / bandwidth == pytest.approx(80)  # tiles of 80 would reach it, at a quarter of their side
    assert 2 * 128**2 / (2 * 128 * 4) == 32  # for each step along k: flops of a tile of 128, and bytes read


def test_points_of_the_roofline_are_drawn_on_the_roof_and_the_picture_says_so(monkeypatch):
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gca()))
    points = {"below": 0.5, "on the ridge": 20.0, "beyond": 40.0}
    draw_roofline(points, 67, 3.35)
    heights = {line.get_label().split(":")[0]: line.get_ydata()[0] for line in shown[0].lines}
    assert [heights[name] for name in points] == pytest.approx([0.5 * 3.35, 67, 67])
    assert "nothing here was timed" in shown[0].get_title()
    plt.close("all")


def test_a_second_roof_is_that_of_shared_memory(monkeypatch):
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gca()))
    draw_roofline({"tile": 4.0, "registers": 40.0}, 67, 3.35, 33.0, {"tile": 0.25, "registers": 1.0})
    heights = {line.get_label().split(":")[0]: line.get_ydata() for line in shown[0].lines}
    assert heights["roof of shared memory"][0] == pytest.approx(3.3)
    assert heights["tile"][0] == pytest.approx(33 * 0.25)  # shared memory gives less than 4 x 3.35
    assert heights["registers"][0] == pytest.approx(33)
    hollow = [line for line in shown[0].lines if line.get_markerfacecolor() == "none"]
    assert [(*line.get_xdata(), *line.get_ydata()) for line in hollow] == [(0.25, 33 * 0.25), (1.0, 33.0)]
    plt.close("all")


def test_blelloch_adds_less_and_waits_more():
    x = cp.asarray(np.random.default_rng(1).integers(-9, 9, 256).astype(np.float32))
    steps = profile(KERNELS["scan_steps"], (1,), (256,), (x, cp.empty_like(x)))
    tree = profile(KERNELS["scan_tree"], (1,), (128,), (x, cp.empty_like(x)))
    sums = np.cumsum(x.get())
    assert steps.ok and tree.ok
    np.testing.assert_array_equal(steps.outputs[1], sums)
    np.testing.assert_array_equal(tree.outputs[1], sums - x.get())
    assert steps.flops == 256 * 8 - 255 == 1793
    assert tree.flops == 2 * 255
    assert (steps.barriers, tree.barriers) == (8, 8 + 1 + 8 + 1)
    assert steps.bank_conflicts == 0
    assert tree.bank_conflicts == (3 + 5) * packed_conflicts()  # three accesses on the way up, five down


def test_one_row_is_a_race():
    x = numbers(256)
    source = KERNELS["scan_steps"].source.replace("        rows[1 - from][t] = rows[from][t];\n", "")
    one_row = RawKernel(source.replace("1 - from", "from"), "scan_steps")
    race = profile(one_row, (1,), (256,), (x, cp.empty_like(x))).races[0]
    assert race.line == 9 and "+=" in one_row.source.splitlines()[race.line - 1]


def test_the_pictures_of_scans_show_the_rows_that_the_kernels_leave():
    (cell,) = (
        c for c in notebooks.read(COURSE.chapters / "04c_reductions.ipynb").cells if "up = {" in c.source
    )
    names = {"draw_scan": scan_rows, "numbers": [3, 1, 4, 1, 5, 9, 2, 6]}
    *before, last = cell.source.splitlines()
    exec("\n".join([*before, f"rows = {last}"]), names)
    source = KERNELS["scan_tree"].source.replace("SIZE 256", "SIZE 8")
    x = cp.asarray(np.array(names["numbers"], np.float32))
    whole = profile(RawKernel(source, "scan_tree"), (1,), (4,), (x, cp.empty_like(x)))
    row = np.array(names["numbers"], float)
    rows = [row.tolist()]
    for stride in (1, 2, 4):
        row[2 * stride - 1 :: 2 * stride] += row[stride - 1 :: 2 * stride]
        rows.append(row.tolist())
    row[-1] = 0
    rows.append(row.tolist())
    for stride in (4, 2, 1):
        at, left = slice(2 * stride - 1, None, 2 * stride), slice(stride - 1, None, 2 * stride)
        row[left], row[at] = row[at].copy(), row[at] + row[left]
        rows.append(row.tolist())
    assert [[each for (each,) in values] for _, values, _ in names["rows"]] == rows
    assert whole.outputs[1].tolist() == rows[-1]


@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (31, 64, 33), (1000, 7, 10), (17, 33, 16)])
@pytest.mark.parametrize("relu", [0, 1])
def test_a_dense_layer_is_that_of_numpy(m, k, n, relu):
    x, w, bias = numbers(m, k), numbers(k, n), numbers(n)
    args = (x, w, bias, cp.empty((m, n), np.float32), *map(np.int32, (m, n, k, relu)))
    report = profile(KERNELS["dense"], (-(-n // 16), -(-m // 16)), (16, 16), args)
    expected = x.get() @ w.get() + bias.get()
    assert report.ok
    np.testing.assert_allclose(report.outputs[3], np.maximum(expected, 0) if relu else expected, atol=1e-4)
