"""What hidden tests measure in the kernel."""

from __future__ import annotations

import gc
import os
import ssl
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from coursekit.box import probe
from coursekit.box.probe import held, most

N = 40_000  # numbers
KEPT: list[Any] = []


@pytest.fixture(autouse=True, scope="module")
def what_others_made_is_left_alone() -> Iterator[None]:
    """A measurement collects garbage several times, which need not look through all that pytest has made."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


class Function:
    def forward(self, x: np.ndarray) -> np.ndarray:
        y: np.ndarray = x * 2
        self.elsewhere = y.copy()
        return y


def through_a_closure(x: np.ndarray) -> Callable[[], np.ndarray]:
    y = x * 2
    return lambda: y


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (lambda x: x, 0),
        (lambda x: x[::2], 0),
        (lambda x: (x * 2).sum(), 0),
        (lambda x: x * 2, 8 * N),
        (lambda x: (x * 2)[:3], 8 * N),
        (lambda x: np.packbits(x > 0), N // 8),
        (lambda x: Function().forward(x), 8 * N),
        (lambda x: (f := Function(), f.forward(x)), 16 * N),
        (through_a_closure, 8 * N),
        (lambda x: KEPT.append(x * 2), 8 * N),
        (lambda x: x.tobytes(), 8 * N),
    ],
)
def test_what_lives_after_an_action_counts_wherever_it_is_kept(action: Any, expected: int) -> None:
    x = np.random.default_rng(1).normal(size=N)
    _, found = held(lambda: action(x))
    assert expected <= found <= expected + 4096


@pytest.mark.slow
def test_what_is_kept_in_a_list_of_numbers_counts() -> None:
    x = np.random.default_rng(1).normal(size=N)
    result, found = held(x.tolist)
    assert result == x.tolist() and found >= 8 * N


def test_garbage_in_a_cycle_does_not_count() -> None:
    def cycle() -> None:
        items: list[Any] = [np.zeros(N)]
        items.append(items)

    assert held(cycle)[1] < 4096


def start_again() -> None:
    tracemalloc.stop()
    tracemalloc.start()


@pytest.mark.parametrize("action", [tracemalloc.stop, tracemalloc.clear_traces, start_again])
def test_an_answer_that_ends_the_measurement_is_told(action: Callable[[], None]) -> None:
    with pytest.raises(RuntimeError, match="tracemalloc"):
        held(action)
    assert not tracemalloc.is_tracing()


@pytest.mark.parametrize("pieces", [1, 4, 10])
def test_the_most_bytes_at_a_time_are_those_of_one_piece_where_pieces_come_one_by_one(pieces: int) -> None:
    x = np.random.default_rng(1).normal(size=N)
    total, found = most(lambda: sum(float((part * 2).sum()) for part in np.split(x, pieces)))
    assert total == pytest.approx(2 * x.sum())
    assert 8 * N // pieces <= found <= 8 * N // pieces + 8192


def test_whoever_stops_the_measuring_of_the_most_is_told_so() -> None:
    with pytest.raises(RuntimeError, match="tracemalloc"):
        most(tracemalloc.stop)


@pytest.mark.parametrize(
    "ends", [tracemalloc.reset_peak, lambda: (tracemalloc.reset_peak(), bytearray(1000))]
)
def test_whoever_resets_the_peak_is_told_so(ends: Callable[[], object]) -> None:
    def much() -> None:
        np.ones(N).sum()
        ends()

    with pytest.raises(RuntimeError, match="tracemalloc"):
        most(much, floor=2 * N)


def test_the_peak_is_at_least_the_floor_and_more_is_seen() -> None:
    assert most(lambda: None, floor=100_000)[1] == pytest.approx(100_000, abs=1000)
    assert most(lambda: np.ones(N), floor=100_000)[1] >= 8 * N


def test_what_is_kept_in_many_small_pieces_counts() -> None:
    x = np.random.default_rng(1).normal(size=N)
    content = x.tobytes()
    assert held(lambda: [content[at : at + 800] for at in range(0, len(content), 800)])[1] >= 8 * N


@pytest.mark.skipif(probe._tell is None, reason="the C library does not tell of its memory")
def test_what_c_keeps_counts_at_the_end_and_where_the_test_looks() -> None:
    def kept(look: Callable[[], None]) -> list[ssl.MemoryBIO]:
        made = [ssl.MemoryBIO() for _ in range(100)]
        for one in made:
            one.write(bytes(20_000))
        look()
        return made

    assert held(lambda: kept(int))[1] > 1_500_000
    assert most(lambda: kept(probe.look).clear())[1] > 1_500_000
    assert most(lambda: kept(int).clear())[1] < 500_000


def test_who_opens_what_numbers_could_be_kept_in_is_told_so() -> None:
    pipes: list[int] = []
    with pytest.raises(RuntimeError, match="opened files or pipes"):
        held(lambda: pipes.extend(os.pipe()))
    for handle in pipes:
        os.close(handle)

    def closes() -> None:
        some = os.pipe()
        probe.look()
        for handle in some:
            os.close(handle)

    with pytest.raises(RuntimeError, match="opened files or pipes"):
        most(closes)
    with open(os.devnull, "w") as nothing, open(__file__) as this:
        assert not {nothing.fileno(), this.fileno()} & {handle for handle, *_ in probe.open_files()}


def test_a_case_is_named_as_one_would_write_it() -> None:
    asked = [
        (31, -1),
        ("abc", [2]),
        np.int64(3),
        np.array([1, 2]),
        (np.float64(0.5), np.True_),
        "a b",
        9 * "0123456789",
    ]
    names = [probe._case(one) for one in asked]
    assert names == ["31, -1", "'abc', [2]", "3", "[1, 2]", "0.5, True", "a b", 8 * "0123456789"]
