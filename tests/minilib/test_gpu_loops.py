"""Loops of planned graphs as kernels: the numbers of NumPy, and no more traffic than has to be."""

from __future__ import annotations

import random
from typing import Any

import loop_cases
import numpy as np
import pytest
from gpu_cases import near

import minilib.gpu as gpu
import minilib.graph as tf
from minilib.cuda import cp
from minilib.gpu import loops
from minilib.graph import kinds

pytestmark = pytest.mark.filterwarnings("ignore")  # there is no GPU here; drawn programs divide by 0


@pytest.fixture(autouse=True)
def empty_graph() -> None:
    tf.reset_default_graph()


def launches(loop: Any, arrays: list[np.ndarray]) -> list[Any]:
    """Reports of the launches that a loop takes on the device, whose numbers are compared with NumPy's."""
    with gpu.reports() as seen:
        made = loops.run(loop, *map(cp.asarray, arrays))
    for found, expected in zip(made, loop.f.forward(*arrays), strict=True):
        near(found, expected)
    assert all(report.ok for _, report in seen)
    return [report for _, report in seen]


def one_by_one(loop: Any, arrays: list[np.ndarray]) -> list[Any]:
    """The same for its operations, each by a kernel of its own."""
    with gpu.without(kinds.Loop):
        return launches(loop, arrays)


def ideal(loop: Any, arrays: list[np.ndarray]) -> int:
    """The bytes where each input is read once and each result written once."""
    whole = 4 * max(x.size for x in arrays)
    return sum(x.nbytes for x in arrays) + whole * len(loop.f.results)


@pytest.mark.parametrize(("make", "times"), [(loop_cases.gelu, 14), (loop_cases.adamw, 4)])
def test_a_loop_of_whole_arrays_moves_what_has_to_be_moved(make: Any, times: int) -> None:
    loop = make().loops[-1]
    arrays = loop_cases.inputs_of(loop)
    (report,) = launches(loop, arrays)
    assert report.bytes_moved <= 1.1 * ideal(loop, arrays)
    separate = one_by_one(loop, arrays)
    assert len(separate) >= len(loop.f.steps) - 2
    assert sum(r.bytes_moved for r in separate) >= times * report.bytes_moved


def test_a_loop_between_sums_moves_its_arrays_once_and_a_sector_of_each_column() -> None:
    for loop in loop_cases.gated_norm().loops:
        arrays = loop_cases.inputs_of(loop)
        size = max(x.size for x in arrays)
        reports = launches(loop, arrays)
        if size > 16:  # not that over the column
            columns = sum(x.size < size for x in arrays)
            whole = len(arrays) - columns + len(loop.f.results)
            assert [r.bytes_moved for r in reports] == [4 * size * whole + size * columns]


def test_drawn_loops_have_the_numbers_of_numpy() -> None:
    rng, tried = random.Random(0), 0
    for _ in range(60):
        with tf.Graph().as_default():
            for loop in loop_cases.drawn(rng).loops:
                reports = launches(loop, loop_cases.inputs_of(loop))
                truths = any(loop.f.dtypes[i - len(loop.inputs)].kind == "b" for i in loop.f.results)
                assert len(reports) == 1 or truths
                tried += len(reports)
    assert tried > 40


def test_what_has_no_kernel_runs_one_operation_after_the_other() -> None:
    x, n = tf.placeholder(tf.float64, (3,)), tf.placeholder(tf.int32, (3,))
    for fetch, feed in ((tf.tanh(x * 2.0) + 1.0, x), ((n + 1) * n - 3, n), (tf.cast(x, tf.float32) > 0.5, x)):
        (loop,) = tf.compile(fetch, [feed]).loops
        assert launches(loop, loop_cases.inputs_of(loop)) == []


def test_a_loop_has_no_derivative_of_its_own() -> None:
    (loop,) = loop_cases.gelu().loops
    with pytest.raises(RuntimeError, match="take gradients before"):
        gpu.DEVICE.pairs[type(loop.f)].backward(loop.f, None)
