"""What the recorder counts and finds, worked out by hand."""

from __future__ import annotations

import time

import numpy as np
import pytest
from key_words import says
from recording import FakeMemory, Run, shared

from warplens import LongThread, RawKernel, cp, profile

# ---------------------------------------------------------------------------------------------------- sectors


def loads(index, dtype="float32", size=None, where=True, block=32, count=4096):
    run = Run(block=block)
    run.load(1, FakeMemory("x", count, dtype), index if not callable(index) else index(run.t), where, size)
    r = run.report()
    return r.global_load_requests, r.global_load_sectors, r.global_load_lines, r.global_load_sectors_ideal


@pytest.mark.parametrize(
    "stride, sectors, lines, ideal",
    [(0, 1, 1, 1), (1, 4, 1, 4), (2, 8, 2, 4), (8, 32, 8, 4), (32, 32, 32, 4)],
)
def test_a_strided_load_touches_more_sectors(stride, sectors, lines, ideal):
    assert loads(lambda t: t * stride) == (1, sectors, lines, ideal)


def test_an_offset_of_one_element_costs_a_fifth_sector():
    assert loads(lambda t: t + 1) == (1, 5, 2, 4)


def test_the_order_of_lanes_does_not_matter():
    assert loads(lambda t: 31 - t) == (1, 4, 1, 4)
    assert loads(lambda t: t ^ 5) == (1, 4, 1, 4)


def test_a_float4_is_one_request_of_sixteen_sectors():
    assert loads(lambda t: 4 * t, size=16) == (1, 16, 4, 16)


def test_a_float3_counts_its_twelve_bytes():
    assert loads(lambda t: 3 * t, size=12) == (1, 12, 3, 12)


def test_doubles_and_bytes():
    assert loads(lambda t: t, "float64") == (1, 8, 2, 8)
    assert loads(lambda t: t, "int8") == (1, 1, 1, 1)
    assert loads(lambda t: 32 * t, "int8") == (1, 32, 8, 1)


def test_lanes_that_are_masked_do_not_count():
    where = np.arange(32) < 9
    assert loads(lambda t: t, where=where) == (1, 2, 1, 2)
    assert loads(lambda t: t * 8, where=np.arange(32) % 2 == 1) == (1, 16, 8, 2)
    assert loads(lambda t: t, where=False) == (0, 0, 0, 0)


def test_a_last_warp_with_few_threads_is_a_request_of_its_own():
    assert loads(lambda t: t, block=40) == (2, 5, 2, 5)


def test_each_warp_is_a_request():
    run = Run(grid=4, block=64)
    run.load(3, FakeMemory("x", 256), run.g)
    run.store(4, FakeMemory("y", 256, base=0x7000_0001_0000), run.g)
    r = run.report()
    assert (r.global_load_requests, r.global_load_sectors) == (8, 32)
    assert (r.global_store_requests, r.global_store_sectors, r.global_store_lines) == (8, 32, 8)
    assert (r.bytes_read, r.bytes_written, r.bytes_moved, r.unique_bytes) == (1024, 1024, 2048, 2048)
    assert r.lines[3].global_load_sectors == 32 and r.lines[3].global_store_sectors == 0
    assert r.lines[4].unique_bytes == 1024
    assert (r.threads, r.warps, r.lines[3].threads, r.lines[3].warps) == (256, 8, 256, 8)
    assert r.ok


def test_a_slice_keeps_its_offset_in_the_allocation():
    run = Run()
    x = FakeMemory("x", 64, low=4, high=4 + 128)
    run.load(1, x, run.t)
    assert run.report().global_load_sectors == 5


def test_bytes_read_twice_are_unique_once():
    run = Run()
    x = FakeMemory("x", 64)
    for _ in range(3):
        run.load(1, x, run.t)
    run.load(2, x, run.t + 16)
    r = run.report()
    assert r.bytes_read == 4 * 128
    assert (r.unique_bytes, r.lines[1].unique_bytes, r.lines[2].unique_bytes) == (192, 128, 128)


def test_atomics_count_by_lane_and_stay_out_of_sectors():
    run = Run()
    run.atomic(2, FakeMemory("bins", 8, "int32"), run.t % 8)
    r = run.report()
    assert (r.atomics, r.lines[2].atomics) == (32, 32)
    assert (r.bytes_moved, r.bytes_read, r.global_store_requests) == (0, 0, 0)
    assert r.ok


def test_flops_and_their_intensity():
    run = Run()
    run.load(1, FakeMemory("x", 32), run.t)
    run.recorder.count(1, 2, 1, 32)
    run.recorder.count(2, 1, 0, 32)
    r = run.report()
    assert (r.flops, r.int_ops, r.lines[1].flops, r.flops_per_byte) == (96, 32, 64, 0.75)
    assert Run().report().flops_per_byte == 0.0


# --------------------------------------------------------------------------------------------- bank conflicts


def conflicts(index, size=4, dtype="float32", where=True):
    run = Run()
    run.load(1, shared("tile", 4096, dtype), index(run.t), where, size)
    return run.report().bank_conflicts


@pytest.mark.parametrize(
    "stride, expected", [(0, 0), (1, 0), (2, 1), (3, 0), (4, 3), (8, 7), (16, 15), (32, 31)]
)
def test_conflicts_of_a_stride(stride, expected):
    assert conflicts(lambda t: t * stride) == expected


def test_doubles_go_in_two_half_warps():
    assert conflicts(lambda t: t, 8, "float64") == 0
    assert conflicts(lambda t: 2 * t, 8, "float64") == 2  # each half: two words in a bank
    assert conflicts(lambda t: 16 * t, 8, "float64") == 30
    assert conflicts(lambda t: 16 * t, 8, "float64", where=np.arange(32) < 16) == 15


def test_float4_goes_in_four_quarter_warps():
    assert conflicts(lambda t: 4 * t, 16) == 0
    assert conflicts(lambda t: 8 * t, 16) == 4
    assert conflicts(lambda t: 32 * t, 16) == 28
    assert conflicts(lambda t: 0 * t, 16) == 0


def test_conflicts_against_a_slow_count():
    rng = np.random.default_rng(0)
    for size, dtype in ((1, "int8"), (2, "int16"), (4, "int32"), (8, "int64"), (16, "int32")):
        lanes_at_once = 32 if size <= 4 else 128 // size
        for _ in range(20):
            run = Run(block=64)
            index = rng.integers(0, 200, (2, 32)) * max(1, size // np.dtype(dtype).itemsize)
            where = rng.random((2, 32)) < rng.choice([0.1, 0.6, 1.0])
            run.load(1, shared("s", 4096, dtype), index, where, size)
            expected = 0
            start = index * np.dtype(dtype).itemsize
            for w in range(2):
                for g in range(0, 32, lanes_at_once):
                    words = {
                        word
                        for lane in range(g, g + lanes_at_once)
                        if where[w, lane]
                        for word in range(start[w, lane] // 4, (start[w, lane] + size - 1) // 4 + 1)
                    }
                    if words:
                        banks = [word % 32 for word in words]
                        expected += max(banks.count(bank) for bank in banks) - 1
            assert run.report().bank_conflicts == expected


def test_conflicts_add_up_over_blocks_that_do_the_same():
    run = Run(grid=3, block=64)
    run.load(1, shared("tile", 4096), run.t * 2)
    r = run.report()
    assert r.bank_conflicts == 6
    assert r.shared_bytes == 4096 * 4


# --------------------------------------------------------------------------------------- races within a block


def only(found):
    assert len(found) == 1, found
    return found[0]


def test_a_missing_barrier_after_a_store_is_a_race():
    run = Run(block=64)
    tile = shared("tile", 65)
    run.store(7, tile, run.t)
    run.load(9, tile, run.t + 1, run.t < 63)
    r = run.report()
    assert not r.ok
    across = only([race for race in r.races if race.kind == "shared"])
    assert (across.line, across.other_line, across.array, across.index) == (9, 7, "tile", 32)
    assert (across.thread, across.other_thread) == ((31, 0, 0), (32, 0, 0))
    assert (across.block, across.other_block, across.count) == ((0, 0, 0), (0, 0, 0), 1)
    assert across.source == "line 9;"
    assert says(across.message, "(31,0,0) tile[32] 9 (32,0,0) 7 __syncthreads()")
    inside = only([race for race in r.races if race.kind == "warp"])
    assert inside.count == 62 and "__syncwarp()" in inside.message


def test_the_same_value_is_shown_and_does_no_harm():
    run = Run(block=64)
    run.store(3, shared("flag", 1), 0, value=1.0)
    r = run.report()
    race = only(r.races)
    assert (race.kind, race.count, r.ok) == ("same-value", 63, True)


def test_the_same_value_again_later_and_then_another():
    run = Run(block=64)
    flag = shared("flag", 1)
    run.store(3, flag, 0, where=run.t == 0, value=2.0)
    run.store(4, flag, 0, where=run.t == 40, value=2.0)
    run.store(5, flag, 0, where=run.t == 9, value=3.0)
    races = run.report().races
    assert [(race.kind, race.line, race.other_line) for race in races] == [
        ("shared", 5, 4),
        ("same-value", 4, 3),
    ]


def test_different_values_of_a_vector_are_no_same_value():
    for last, kind in ((3.0, "same-value"), (4.0, "warp")):
        run = Run(block=2)
        tile = shared("tile", 8)
        parts = [np.full(run.t.shape, v, dtype=np.float32) for v in (1, 2, 3)]
        parts.append(np.where(run.t == 0, 3.0, last).astype(np.float32))
        run.store(3, tile, 0, size=16, value=parts)
        assert only(run.report().races).kind == kind


def test_a_store_without_known_value_is_a_true_race():
    run = Run(block=2)
    out = FakeMemory("out", 1)
    active = run.exists
    run.recorder.access(1, "store", out, np.zeros((1, 32), dtype=np.int64), 4, active, run.warps, None)
    assert only(run.report().races).kind == "warp"


def test_a_reader_in_another_warp_is_remembered_behind_many_readers():
    run = Run(block=96)
    tile = shared("tile", 1)
    run.load(2, tile, 0)  # everybody
    run.store(3, tile, 0, where=run.t == 95)
    assert [race.kind for race in run.report().races] == ["shared"]
    run = Run(block=96)
    run.load(2, tile, 0, where=(run.t == 3) | (run.t == 95))
    run.store(3, tile, 0, where=run.t == 95)
    assert only(run.report().races).other_thread == (3, 0, 0)


def test_an_atomic_races_with_a_plain_read_and_a_plain_write():
    run = Run(block=64)
    n = shared("n", 1, "int32")
    run.atomic(2, n, 0)
    run.load(3, n, 0, where=run.t == 63)
    race = only(run.report().races)
    assert (race.kind, race.line, race.other_line) == ("shared", 3, 2) and "atomic" in race.message
    run = Run(block=64)
    run.store(1, n, 0, where=run.t == 0)
    run.atomic(2, n, 0)
    assert {race.kind for race in run.report().races} == {"shared", "warp"}


def test_a_float4_overlaps_a_float_and_a_char():
    run = Run(block=64)
    tile = shared("tile", 256)
    run.store(1, tile, 4 * run.t, size=16, value=[run.t.astype(np.float32)] * 4)
    run.load(2, tile, 7, where=run.t == 40)
    race = only(run.report().races)
    assert (race.index, race.other_thread, race.thread) == (7, (1, 0, 0), (40, 0, 0))
    run = Run(block=64)
    run.store(1, tile, run.t)
    chars = np.broadcast_to(np.int64(4 * 3 + 2), run.t.shape)
    run.recorder.access(2, "load", tile, chars, 1, run.t == 50, run.warps)
    assert only(run.report().races).other_thread == (3, 0, 0)
    run = Run(block=64)
    run.store(1, tile, run.t, where=run.t == 6)
    run.load(2, tile, 4, size=16, where=run.t == 40)
    assert only(run.report().races).other_thread == (6, 0, 0)


def test_neighbouring_chars_do_not_overlap():
    run = Run(block=64)
    run.store(1, shared("c", 64, "int8"), run.t)
    run.load(2, shared("c", 64, "int8"), run.t)
    assert run.report().ok


def test_two_names_of_one_allocation_share_their_shadow():
    run = Run(block=64)
    x = FakeMemory("x", 128)
    y = FakeMemory("y", 128, low=4, high=512)
    run.store(1, x, run.t)
    run.load(2, y, run.t)
    races = run.report().races
    assert {race.kind for race in races} == {"global", "warp"} and races[0].array == "y"
    assert races[0].index + 1 == races[0].other_thread[0]


def test_findings_are_merged_and_counted():
    run = Run(grid=4, block=64)
    tile = shared("tile", 64)
    for _ in range(3):
        run.store(7, tile, run.t)
        run.load(9, tile, 63 - run.t)
        run.barrier(10)
    race = only(run.report().races)
    assert (race.count, race.block, race.kind) == (3 * 4 * 64, (0, 0, 0), "shared")


def test_threads_and_blocks_are_named_by_their_three_numbers():
    run = Run(grid=(2, 3, 1), block=(8, 8, 2))
    out = FakeMemory("out", 4096)
    run.store(1, out, np.where((run.b == 5) & (run.t == 127), 7, run.g + 100))
    run.load(2, out, 7, where=(run.b == 5) & (run.t == 9))
    race = only(run.report().races)
    assert (race.thread, race.other_thread) == ((1, 1, 0), (7, 7, 1))
    assert (race.block, race.other_block) == ((1, 2, 0), (1, 2, 0))
    assert says(race.message, "(1,1,0) (1,2,0) out[7] (7,7,1)")


def test_a_chunk_of_blocks_has_fresh_shared_memory():
    run = Run(grid=2, block=32)
    tile = shared("tile", 32, initialised=False)
    run.recorder.chunk(0, 1)
    first, second = run.warps[:1], run.warps[1:]
    offset = run.t[:1] * 4
    run.recorder.access(1, "store", tile, offset, 4, run.exists[:1], first, offset)
    run.recorder.chunk(1, 1)
    run.recorder.access(2, "load", tile, offset, 4, run.exists[:1], second)
    r = run.report()
    assert r.races == [] and only(r.uninitialised).block == (1, 0, 0)


# -------------------------------------------------------------------------------------------------- in a warp


def test_only_syncwarp_orders_the_lanes_of_a_warp():
    run = Run()
    tile = shared("tile", 32)
    run.store(1, tile, run.t)
    run.shuffle(2, -1)
    run.fence(3)
    run.load(4, tile, 31 - run.t)
    assert only(run.report().races).kind == "warp"
    run = Run()
    run.store(1, tile, run.t)
    run.syncwarp(2)
    run.load(3, tile, 31 - run.t)
    run.syncwarp(4)
    run.store(5, tile, run.t)
    assert run.report().ok


def test_a_partial_mask_orders_only_its_lanes():
    run = Run()
    tile = shared("tile", 32)
    run.store(1, tile, run.t)
    run.syncwarp(2, 0x0000FFFF, where=run.t < 16)
    run.load(3, tile, (run.t + 1) % 16, where=run.t < 16)
    assert run.report().ok
    run.load(4, tile, run.t + 16, where=run.t < 16)
    assert only(run.report().races).line == 4


def test_two_masks_in_one_instruction_are_two_groups():
    run = Run()
    tile = shared("tile", 32)
    run.store(1, tile, run.t)
    run.syncwarp(2, np.where(run.t < 16, 0x0000FFFF, 0xFFFF0000))
    run.load(3, tile, run.t ^ 1)
    assert run.report().ok
    run.load(4, tile, run.t ^ 16)
    assert only(run.report().races).count == 32


def test_syncwarp_is_transitive():
    run = Run()
    cell = shared("cell", 1)
    run.store(1, cell, 0, where=run.t == 0)
    run.syncwarp(2, 0b011, where=run.t < 2)  # 0 with 1
    run.syncwarp(3, 0b110, where=(run.t == 1) | (run.t == 2))  # 1 with 2
    run.load(4, cell, 0, where=run.t == 2)
    assert run.report().ok
    run.load(5, cell, 0, where=run.t == 3)
    assert only(run.report().races).thread == (3, 0, 0)


def test_a_reader_after_syncwarp_takes_the_place_of_those_before():
    run = Run()
    cell = shared("cell", 1)
    run.load(1, cell, 0)
    run.syncwarp(2)
    run.load(3, cell, 0, where=run.t == 5)
    run.store(4, cell, 0, where=run.t == 6)
    race = only(run.report().races)
    assert (race.line, race.other_line, race.other_thread) == (4, 3, (5, 0, 0))


def test_a_mask_that_leaves_out_first_readers_does_not_order_them():
    run = Run()
    cell = shared("cell", 1)
    run.load(1, cell, 0)
    run.syncwarp(2, 0xFFFFFFF0, where=run.t >= 4)
    run.store(3, cell, 0, where=run.t == 31)
    assert only(run.report().races).other_thread[0] < 4


# --------------------------------------------------------------------------------------------- between blocks


def test_a_later_chunk_is_not_ordered_after_an_earlier_one():
    run = Run(grid=2, block=32)
    x = FakeMemory("x", 32)
    for b in (0, 1):
        run.recorder.chunk(b, 1)
        rows = slice(b, b + 1)
        offset = run.t[rows] * 4
        run.recorder.access(1, "store", x, offset, 4, run.exists[rows], run.warps[rows], offset + b)
    assert only(run.report().races).kind == "global"


def test_a_reader_of_an_older_epoch_still_races_with_another_block():
    run = Run(grid=2, block=32)
    x = FakeMemory("x", 1)
    run.load(1, x, 0, where=run.b == 0)
    run.barrier(2)
    run.load(3, x, 0, where=(run.b == 0) & (run.t == 0))
    run.store(4, x, 0, where=(run.b == 1) & (run.t == 0))
    assert only(run.report().races).kind == "global"


def last_block(
    run,
    *,
    fence=True,
    reader_fence=True,
    by_all=False,
    fence_all=False,
    barrier=True,
    ticket=True,
    reset=False,
):
    """Each block writes its part; the last one to come adds them up."""
    parts = FakeMemory("parts", 8, base=0x7000_0000_0000)
    counter = FakeMemory("counter", 1, "uint32", base=0x7000_0001_0000)
    first, last = run.t == 0, run.b == run.b.max()
    run.store(1, parts, run.b, where=first)
    if fence:
        run.fence(2, where=True if fence_all else first)
    if fence_all:
        run.barrier(2)
    if ticket:
        run.atomic(3, counter, 0, where=first)
    if reader_fence and not by_all:
        run.fence(4, where=first)
    if barrier:
        run.barrier(5)
    if reader_fence and by_all:
        run.fence(6, where=last)
    run.load(7, parts, run.t % 4, where=last & (run.t < 8))
    if reset:
        run.store(8, counter, 0, where=last & first)
    return run.report()


def test_the_last_block_may_read_what_all_have_written():
    assert last_block(Run(grid=4, block=64)).ok
    assert last_block(Run(grid=4, block=64), by_all=True).ok
    assert last_block(Run(grid=4, block=64), fence_all=True).ok
    assert last_block(Run(grid=4, block=64), reset=True).ok


def test_the_last_block_needs_every_part_of_the_pattern():
    assert only(last_block(Run(grid=4, block=64), fence=False).races).line == 7
    report = last_block(Run(grid=4, block=64), reader_fence=False)
    missing = only(report.notes)
    assert report.ok and missing.kind == "last-block" and says(missing.message, "__threadfence()")
    assert not last_block(Run(grid=4, block=64), ticket=False).ok
    assert not last_block(Run(grid=4, block=64), barrier=False).ok  # only thread 0 knows


def test_syncwarp_passes_on_what_fences_publish():
    run = Run(grid=2, block=32)
    parts = FakeMemory("parts", 64, base=0x7000_0000_0000)
    counter = FakeMemory("counter", 1, "uint32", base=0x7000_0001_0000)
    run.store(1, parts, run.g)
    run.syncwarp(2)
    run.fence(3, where=run.t == 0)
    run.atomic(4, counter, 0, where=run.t == 0)
    run.fence(5, where=run.t == 0)
    run.syncwarp(6)
    run.load(7, parts, 63 - run.g, where=run.b == 1)
    assert run.report().ok


def test_a_block_that_is_not_the_last_may_not_read():
    run = Run(grid=4, block=64)
    parts = FakeMemory("parts", 8, base=0x7000_0000_0000)
    counter = FakeMemory("counter", 1, "uint32", base=0x7000_0001_0000)
    first = run.t == 0
    run.store(1, parts, run.b, where=first)
    run.fence(2, where=first)
    run.atomic(3, counter, 0, where=first)
    run.fence(4, where=first)
    run.load(5, parts, run.t % 4, where=(run.b == 1) & first)  # parts[0] came before
    assert run.report().ok
    run.load(6, parts, 2, where=(run.b == 1) & first)
    assert only(run.report().races).other_block == (2, 0, 0)


def test_what_is_written_after_the_fence_is_not_published():
    run = Run(grid=2, block=1)
    parts = FakeMemory("parts", 8, base=0x7000_0000_0000)
    counter = FakeMemory("counter", 1, "uint32", base=0x7000_0001_0000)
    run.fence(1)
    run.store(2, parts, run.b)
    run.atomic(3, counter, 0)
    run.fence(4)
    run.load(5, parts, 0, where=run.b == 1)
    assert only(run.report().races).line == 5


def test_all_threads_of_a_block_may_write_before_a_barrier_and_one_fence():
    run = Run(grid=2, block=64)
    parts = FakeMemory("parts", 128, base=0x7000_0000_0000)
    counter = FakeMemory("counter", 1, "uint32", base=0x7000_0001_0000)
    run.store(1, parts, run.g)
    run.barrier(2)
    run.fence(3, where=run.t == 0)
    run.atomic(4, counter, 0, where=run.t == 0)
    run.fence(5, where=run.t == 0)
    run.barrier(6)
    run.load(7, parts, 127 - run.g, where=run.b == 1)
    assert run.report().ok


# ------------------------------------------------------------------------------------------ bounds and values


def test_out_of_bounds_names_element_thread_and_size():
    run = Run(grid=2, block=64)
    x = FakeMemory("x", 100)
    allowed = run.load(5, x, run.g)
    assert np.array_equal(allowed, run.g < 100)
    r = run.report()
    found = only(r.out_of_bounds)
    assert (found.kind, found.line, found.array, found.index, found.count) == (
        "out-of-bounds",
        5,
        "x",
        100,
        28,
    )
    assert (found.block, found.thread) == ((1, 0, 0), (36, 0, 0))
    assert says(found.message, "x[100] 100 99")
    assert not r.ok and r.bytes_read == 400


def test_negative_indices_and_unsigned_ones_that_wrapped():
    run = Run()
    x = FakeMemory("x", 64, low=64, high=192)
    run.load(1, x, run.t - 1)
    below = only(run.report().out_of_bounds)
    assert below.index == -1 and says(below.message, "before")
    run = Run()
    run.store(1, x, np.where(run.t == 0, 2**32 - 1, run.t - 1))
    wrapped = only(run.report().out_of_bounds)
    assert wrapped.index == 2**32 - 1 and "wrapped" in wrapped.message and "2**32" in wrapped.message


def test_a_vector_that_begins_inside_may_end_outside():
    run = Run(block=8)
    allowed = run.load(1, FakeMemory("x", 30), 4 * run.t, size=16)
    found = only(run.report().out_of_bounds)
    assert (found.index, found.count, int(allowed.sum())) == (28, 1, 7)
    assert says(found.message, "end")


def test_a_misaligned_vector_does_not_run():
    run = Run(block=4)
    allowed = run.load(1, FakeMemory("x", 64), 4 * run.t + 1, size=16)
    found = only(run.report().misaligned)
    assert (found.index, found.count, allowed.any()) == (1, 4, False)
    assert says(found.message, "16")


def test_a_float3_needs_the_alignment_of_a_float():
    run = Run()
    run.load(1, FakeMemory("x", 128), 3 * run.t + 1, size=12)
    assert run.report().ok


def test_reading_shared_memory_before_it_is_written():
    run = Run(block=64)
    tile = shared("tile", 64, initialised=False, shape=(8, 8))
    run.store(1, tile, run.t, where=run.t != 17)
    run.barrier(2)
    run.load(3, tile, run.t)
    found = only(run.report().uninitialised)
    assert (found.index, found.thread, found.count) == (17, (17, 0, 0), 1)
    assert "tile[2][1]" in found.message and "garbage" in found.message
    assert says(found.message, "no thread writes") and not says(found.message, "__syncthreads")


def test_reading_shared_memory_that_another_thread_writes_too_late():
    run = Run(grid=2, block=64)
    tile = shared("tile", 64, initialised=False)
    run.load(1, tile, 63 - run.t)
    run.barrier(2)
    run.store(3, tile, run.t)
    found = only(run.report().uninitialised)
    assert says(found.message, "__syncthreads") and not says(found.message, "no thread writes")


def test_reading_shared_memory_to_which_nobody_writes():
    run = Run(block=64)
    run.load(1, shared("tile", 64, initialised=False), run.t)
    found = only(run.report().uninitialised)
    assert says(found.message, "nothing written tile block") and not says(found.message, "__syncthreads")


def test_poisoned_global_and_local_memory():
    run = Run(grid=2, block=32)
    out = FakeMemory("out", 64, initialised=False)
    own = FakeMemory("own", 4, space="local", initialised=False, base=0)
    run.store(1, own, 2)
    run.load(2, own, 2)
    run.load(3, own, 1, where=run.t == 5)
    run.atomic(4, out, run.g)
    run.load(5, out, run.g)
    found = run.report().uninitialised
    assert [(f.line, f.array, f.index, f.count) for f in found] == [(3, "own", 1, 2), (4, "out", 0, 64)]
    assert "cp.zeros" in found[1].message


def test_memory_of_which_a_part_was_written_before_the_launch():
    run = Run()
    x = FakeMemory("x", 32, initialised=np.arange(128) < 80)
    run.load(1, x, run.t)
    found = only(run.report().uninitialised)
    assert (found.index, found.count) == (20, 12)


def test_a_float4_fills_four_floats():
    run = Run(block=8)
    tile = shared("tile", 32, initialised=False)
    run.store(1, tile, 4 * run.t, size=16, value=[run.t.astype(np.float32)] * 4)
    run.barrier(2)
    run.load(3, tile, run.t * 3)
    run.load(4, tile, (7 - run.t) * 4, size=16)
    assert run.report().ok


def test_a_variable_without_a_value_and_a_division_by_zero():
    run = Run(block=64)
    run.recorder.uninitialised(3, "sum", run.t == 40, run.warps)
    run.recorder.arithmetic(4, "integer division by zero", run.t > 61, run.warps)
    r = run.report()
    variable, division = only(r.uninitialised), only(r.arithmetic)
    assert (variable.array, variable.thread, variable.line) == ("sum", (40, 0, 0), 3)
    assert (division.kind, division.count, division.thread) == ("arithmetic", 2, (62, 0, 0))
    assert not r.ok


# ------------------------------------------------------------------------------- barriers, warps and branches


def test_barriers_count_once_for_each_block():
    run = Run(grid=3, block=64)
    run.barrier(4)
    run.barrier(4)
    r = run.report()
    assert (r.barriers, r.lines[4].barriers, r.ok) == (6, 6, True)


def test_warps_that_do_not_come_at_all_are_missing_too():
    run = Run(grid=2, block=64)
    run.recorder.barrier(4, run.exists[:1], run.warps[:1], run.exited[:1])
    found = only(run.report().barrier_divergence)
    assert (found.thread, found.count) == ((32, 0, 0), 1)
    assert says(found.message, "32 64")


def test_a_barrier_that_whole_blocks_pass_by_is_fine():
    run = Run(grid=4, block=48)
    run.barrier(4, where=run.b % 2 == 0)
    r = run.report()
    assert (r.ok, r.barriers) == (True, 2)


def test_an_early_return_is_a_note():
    run = Run(block=64)
    run.leave(run.t >= 50)
    run.barrier(4)
    r = run.report()
    note = only(r.notes)
    assert r.ok and (note.kind, note.line, note.thread, note.count) == ("early-return", 4, (50, 0, 0), 14)


def test_threads_that_have_left_do_not_count_as_missing_in_a_warp():
    run = Run()
    run.leave(run.t >= 20)
    run.syncwarp(4)
    assert run.report().ok


def test_live_lanes_of_a_mask_must_execute_the_intrinsic():
    run = Run()
    run.shuffle(4, run.t ^ 1, where=run.t < 16)
    found = only(run.report().warp_sync)
    assert (found.thread, found.count) == ((16, 0, 0), 16) and "16-31" in found.message
    run = Run()
    run.shuffle(4, run.t ^ 1, 0xFFFF, where=run.t < 16)
    assert run.report().ok


def test_a_shuffle_from_an_inactive_lane():
    run = Run(block=48)
    run.shuffle(4, np.where(run.t % 32 + 8 < 32, run.t % 32 + 8, -1))
    found = only(run.report().warp_sync)
    assert (found.thread, found.count) == ((40, 0, 0), 8) and says(found.message, "16")


def test_a_mask_without_the_callers_lane():
    run = Run()
    run.syncwarp(4, 0x0000FFFF)
    assert only(run.report().warp_sync).count == 16


def test_divergence_counts_warps_whose_lanes_disagree():
    run = Run(grid=2, block=64)
    run.recorder.branch(3, run.t < 16, run.exists, run.warps)
    run.recorder.branch(4, run.t < 32, run.exists, run.warps)
    run.recorder.branch(5, run.t % 2 == 0, run.t % 2 == 0, run.warps)
    r = run.report()
    assert (r.divergent_branches, r.lines[3].divergent_branches, r.lines[4].divergent_branches) == (2, 2, 0)


# ----------------------------------------------------------------------------------------------- in the large


def tiled_matmul(n=64, tile=16):
    run = Run(grid=(n // tile, n // tile, 1), block=(tile, tile, 1))
    a, b, c = (FakeMemory(name, n * n, base=0x7000_0000_0000 + i * 0x10000) for i, name in enumerate("abc"))
    ta, tb = (shared(name, tile * tile, initialised=False) for name in ("ta", "tb"))
    tx, ty = run.t % tile, run.t // tile
    row, col = run.b // (n // tile) * tile + ty, run.b % (n // tile) * tile + tx
    for k in range(0, n, tile):
        run.load(10, a, row * n + k + tx)
        run.store(10, ta, run.t)
        run.load(11, b, (k + ty) * n + col)
        run.store(11, tb, run.t)
        run.barrier(12)
        for i in range(tile):
            run.load(14, ta, ty * tile + i)
            run.load(14, tb, i * tile + tx)
            run.recorder.count(14, 2, 0, n * n)
        run.barrier(15)
    run.store(17, c, row * n + col)
    return run


def test_tiled_matmul_is_clean_and_counted():
    r = tiled_matmul().report()
    assert r.ok and r.races == []
    assert r.flops == 2 * 64**3
    assert r.bytes_read == 2 * 64 * 64 * 4 * 4  # each element four times
    assert r.global_load_sectors == r.global_load_sectors_ideal == r.bytes_read // 32
    assert r.bytes_written == 64 * 64 * 4 and r.bank_conflicts == 0
    assert r.barriers == 16 * 8 and r.shared_bytes == 2048
    assert r.unique_bytes == 3 * 64 * 64 * 4


def test_tiled_matmul_is_recorded_fast():
    assert min(_seconds(tiled_matmul) for _ in range(3)) < 0.2


def _seconds(what):
    start = time.process_time()
    what()
    return time.process_time() - start


@pytest.mark.parametrize(
    ("call", "flops"),
    [
        ("fmaf(a, a, a)", 2),
        ("__fmaf_rn(a, a, a)", 2),
        ("fmodf(a, a)", 1),
        ("fabsf(a)", 1),
        ("fmaxf(a, a)", 0),
        ("fminf(a, a)", 0),
        ("fmax((double)a, 1.0)", 0),
        ("max(a, a)", 0),
        ("isnan(a)", 0),
        ("a < 1.0f", 0),
        ("a == a ? a : 1.0f", 0),
    ],
)
def test_a_fused_multiply_and_add_counts_twice_and_a_comparison_not_at_all(call, flops):
    source = f'extern "C" __global__ void k(float* y) {{ float a = y[0]; y[threadIdx.x] = {call}; }}'
    kernel, y = RawKernel(source, "k"), cp.zeros(1, cp.float32)
    assert profile(kernel, (1,), (1,), (y,)).flops == flops


@pytest.mark.parametrize(("how", "flops"), [("plus", 5 * 32), ("greater", 0)])
def test_a_sum_of_a_tile_is_five_flops_of_each_lane_and_its_largest_is_none(how, flops):
    source = f"""#include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void k(float* y) {{
        auto warp = cg::tiled_partition<32>(cg::this_thread_block());
        y[threadIdx.x] = cg::reduce(warp, y[threadIdx.x], cg::{how}<float>());
    }}"""
    report = profile(RawKernel(source, "k"), (1,), (32,), (cp.zeros(32, cp.float32),))
    assert report.flops == flops


# ------------------------------------------------------------------------------------------ who does the work

SHARED_OUT = """
extern "C" __global__ void f(const float* x, float* y, int n) {
    __shared__ float board[64];
    int t = threadIdx.x;
    if (t < n) board[t] = x[t];
    __syncthreads();
    if (t == 0 && blockIdx.x == 1)
        for (int k = 0; k < n; k++) y[k] = board[k];
}"""


def test_steps_and_bytes_of_each_thread():
    x, y = cp.ones(40, dtype=cp.float32), cp.zeros(40, dtype=cp.float32)
    report = profile(RawKernel(SHARED_OUT, "f"), (3,), (50,), (x, y, 40))
    assert report.ok
    # if, load, store, barrier, if; the loop tests 41 times, and reads and writes 40 times
    steps = np.full((3, 50), 5)
    steps[:, 40:] = 3
    steps[1, 0] += 41 + 80
    np.testing.assert_array_equal(report.steps_by_thread, steps)
    assert report.span == 126
    moved = np.full((3, 50), 4)
    moved[:, 40:] = 0
    moved[1, 0] += 4 * 40
    np.testing.assert_array_equal(report.bytes_by_thread, moved)


def test_a_float4_and_an_atomic_are_bytes_and_one_step():
    source = """
extern "C" __global__ void f(const float* x, int* y) {
    float4 v = ((const float4*)x)[threadIdx.x];
    atomicAdd(y, (int)v.x);
}"""
    args = cp.ones(128, dtype=cp.float32), cp.zeros(1, dtype=cp.int32)
    report = profile(RawKernel(source, "f"), (1,), (32,), args)
    assert (report.steps_by_thread == 2).all() and (report.bytes_by_thread == 20).all()
    assert report.steps_by_thread.shape == (1, 32)


def test_a_thread_of_too_many_steps_is_named_and_the_run_ends():
    x, y = cp.ones(40, dtype=cp.float32), cp.zeros(40, dtype=cp.float32)
    kernel = RawKernel(SHARED_OUT, "f")
    assert profile(kernel, (3,), (50,), (x, y, 40), max_span=126).span == 126
    with pytest.raises(LongThread, match=r"\b0\b.*\b1\b.*125"):
        profile(kernel, (3,), (50,), (x, y, 40), max_span=125)
