"""Chapter 04b: what the lesson counts is what one counts by hand; its exercises, graded."""

from __future__ import annotations

import re

import numpy as np
import pytest
from graded import Exercises, ExerciseTests
from lesson_kernels import lesson_kernels

from coursekit.pictures import compiled
from minilib.cuda import RawKernel, cp, profile, simulate
from warplens.report.pictures import POOR, WRONG


class TestExercises(ExerciseTests):
    exercises = Exercises("04b_sharing")


# What the lesson counts

LESSON = lesson_kernels("04b_sharing")


def zeros(n, dtype=np.float32):
    return cp.zeros(n, dtype=dtype)


def in_orders(kernel, grid, block, args, out):
    """What array `out` holds after a run in each order."""
    held = []
    for order in ("lockstep", "forward", "reverse"):
        copies = tuple(a.copy() if isinstance(a, cp.ndarray) else a for a in args)
        simulate(kernel, grid, block, copies, schedule=order)
        held.append(cp.asnumpy(copies[out]))
    return held


@pytest.mark.parametrize(("threads", "kind"), [(8, "warp"), (64, "shared")])
def test_mirror_races_within_a_warp_and_between_two(threads, kind):
    args = cp.arange(threads, dtype=np.float32), zeros(threads)
    (race,) = profile(LESSON["mirror"], (1,), (threads,), args).races
    assert (race.kind, race.line, race.other_line, race.count) == (kind, 6, 5, threads)


def test_a_barrier_of_one_warp_is_enough_for_eight_threads_and_not_for_64():
    kernel = RawKernel(LESSON["mirror_safe"].source.replace("__syncthreads", "__syncwarp"), "mirror_safe")
    for threads, enough in ((8, True), (64, False)):
        args = cp.arange(threads, dtype=np.float32), zeros(threads)
        assert profile(kernel, (1,), (threads,), args).ok == enough


def test_mirror_is_right_in_lockstep_and_half_wrong_in_the_other_orders():
    args, want = (cp.arange(64, dtype=np.float32), zeros(64)), np.arange(64)[::-1]
    right = [got == want for got in in_orders(LESSON["mirror"], (1,), (64,), args, 1)]
    assert [int(one.sum()) for one in right] == [64, 32, 32]
    assert right[1][32:].all() and right[2][:32].all()
    for got in in_orders(LESSON["mirror_safe"], (1,), (64,), args, 1):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("n", [1000, 1024, 515])
def test_blur_loads_each_number_seven_times_and_with_a_tile_once_and_at_borders_twice(n):
    x = np.random.default_rng(0).normal(size=n).astype(np.float32)
    args, blocks = (cp.asarray(x), zeros(n), np.int32(n)), -(-n // 128)
    plain, shared = (profile(LESSON[name], (blocks,), (128,), args) for name in ("blur", "blur_shared"))
    assert plain.ok and shared.ok
    assert plain.bytes_read == 4 * (7 * n - 2 * (1 + 2 + 3))
    assert shared.bytes_read == 4 * (n + 6 * (blocks - 1))
    assert (plain.barriers, shared.barriers) == (0, blocks)
    for report in (plain, shared):
        np.testing.assert_allclose(report.outputs[1], np.convolve(x, np.ones(7) / 7, "same"), atol=1e-6)


def test_blur_requests_of_the_lesson():
    args = zeros(1000), zeros(1000), np.int32(1000)
    plain, shared = (profile(LESSON[name], (8,), (128,), args) for name in ("blur", "blur_shared"))
    assert plain.global_load_requests == 32 * 7
    assert shared.global_load_requests == 8 * 5 - 1  # the last block has no halo on its right


def test_threads_that_return_early_are_missing_when_the_halo_is_loaded():
    guard = "if (blockIdx.x * BLOCK + threadIdx.x >= n) return; int first"
    early = RawKernel(LESSON["blur_shared"].source.replace("int first", guard), "blur_shared")
    (found,) = profile(early, (8,), (128,), (zeros(1000), zeros(1000), np.int32(1000))).uninitialised
    assert (found.thread, found.index) == ((103, 0, 0), 104)  # 104 is x[896 - 3 + 104], the first of three


def test_the_guarded_barrier_is_missed_by_those_who_do_not_enter():
    args = zeros(64), zeros(64), np.int32(20)
    (found,) = profile(LESSON["mirror_first"], (1,), (64,), args).barrier_divergence
    assert (found.line, found.thread) == (7, (20, 0, 0)) and "20 of 64" in found.message
    assert profile(LESSON["mirror_first_safe"], (1,), (64,), args).ok


def test_transposing_in_sectors_and_conflicts():
    turn = LESSON["turn"]
    padded = RawKernel(turn.source.replace("WIDTH 32", "WIDTH 33"), "turn")
    image = np.random.default_rng(0).normal(size=(256, 256)).astype(np.float32)
    args = cp.asarray(image), zeros((256, 256)), np.int32(256), np.int32(256)
    warps = 256 * 256 // 32
    for kernel, stored, conflicts in (
        (LESSON["turn_plain"], 32 * warps, 0),
        (turn, 4 * warps, 31 * warps),
        (padded, 4 * warps, 0),
    ):
        report = profile(kernel, (8, 8), (32, 32), args)
        assert report.ok
        np.testing.assert_array_equal(report.outputs[1], image.T)
        assert report.global_load_sectors == 4 * warps
        assert (report.global_store_sectors, report.bank_conflicts) == (stored, conflicts)
        assert report.lines[10].bank_conflicts == conflicts


def test_a_transpose_has_a_floor_and_the_plain_one_asks_for_more_than_it_must():
    side, times, per_ms = 256, (8192 // 256) ** 2, 3.35e12 / 1000
    args = zeros((side, side)), zeros((side, side)), np.int32(side), np.int32(side)
    padded = RawKernel(LESSON["turn"].source.replace("WIDTH 32", "WIDTH 33"), "turn")
    plain, tile = (profile(kernel, (8, 8), (32, 32), args) for kernel in (LESSON["turn_plain"], padded))
    assert round(times * plain.bytes_moved / per_ms, 2) == 0.72
    assert times * tile.bytes_moved == 2 * 4 * 8192**2  # each number once in and once out
    assert round(2 * 4 * 8192**2 / per_ms, 2) == 0.16
    assert plain.global_store_sectors == 8 * (side * side * 4 // 32)  # eight warps store into each sector


def test_what_waits_at_a_bank_is_orange_and_what_misses_a_barrier_red():
    args = zeros((32, 32)), zeros((32, 32)), np.int32(32), np.int32(32)
    banks = profile(LESSON["turn"], (1, 1), (32, 32), args).picture("banks", line=10).svg
    assert (banks.count(f"fill='{POOR}'"), WRONG in banks) == (31, False)
    missed = profile(LESSON["mirror_first"], (1,), (64,), (zeros(64), zeros(64), np.int32(20)))
    bars = missed.picture("barriers").svg
    assert re.findall("fill='([^']+)' stroke='([^']+)'", bars) == [(WRONG, WRONG), ("#ffffff", WRONG)]


@pytest.mark.thorough
def test_pixels_are_lost_without_atomics_and_few_of_them_need_global_memory():
    from sklearn.datasets import load_digits  # takes two seconds, and one slow test needs it

    pixels = load_digits().data.astype(np.uint8).ravel()
    args = cp.asarray(pixels), zeros(17, np.uint32), np.int32(pixels.size)
    lost = profile(LESSON["count_plain"], (450,), (256,), args)
    assert not lost.ok and lost.races
    lockstep, *others = in_orders(LESSON["count_plain"], (450,), (256,), args, 1)
    assert lockstep.tolist() == [2] * 17 and all(one.sum() > 1000 for one in others)
    for name, blocks, atomics in (
        ("count", 450, {4: 115_008}),
        ("count_shared", 32, {7: 115_008, 10: 32 * 17}),
    ):
        report = profile(LESSON[name], (blocks,), (256,), args)
        assert report.ok
        np.testing.assert_array_equal(report.outputs[1], np.bincount(pixels, minlength=17))
        assert {line: c.atomics for line, c in report.lines.items() if c.atomics} == atomics


def test_float_atomics_depend_on_the_order_and_the_last_block_does_not():
    noise = cp.asarray(np.random.default_rng(0).normal(size=10_000).astype(np.float32))
    args = noise, zeros(1), np.int32(10_000)
    assert profile(LESSON["add_up"], (79,), (128,), args).ok
    assert len({float(got[0]) for got in in_orders(LESSON["add_up"], (79,), (128,), args, 1)}) > 1
    args = noise, zeros(16), zeros(1), zeros(1, np.uint32), np.int32(10_000)
    assert profile(LESSON["add_up_last"], (16,), (1,), args).ok
    assert len({float(got[0]) for got in in_orders(LESSON["add_up_last"], (16,), (1,), args, 2)}) == 1


def test_the_last_block_races_without_its_fences():
    source = LESSON["add_up_last"].source.replace("__threadfence();", "")
    args = zeros(100), zeros(16), zeros(1), zeros(1, np.uint32), np.int32(100)
    races = profile(RawKernel(source, "add_up_last"), (16,), (1,), args).races
    assert races and {race.kind for race in races} == {"global"}


def test_the_compiler_makes_one_load_of_what_both_arms_load():
    assert compiled()["kernels"]["by_lane"]["of"]["LDG.E"] == 1


def test_warps_divide_by_lane_and_not_by_warp():
    args = zeros(1024), zeros(1024)
    reports = [profile(LESSON[name], (8,), (128,), args) for name in ("by_lane", "by_warp")]
    assert [report.divergent_branches for report in reports] == [32, 0]
    assert [report.global_load_requests for report in reports] == [64, 32]
