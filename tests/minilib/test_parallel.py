"""minilib.parallel: work in pieces and on threads gives what work in one piece gives."""

from __future__ import annotations

import contextlib
import gc
import itertools
import multiprocessing
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from thinned import slow_where
from threadpoolctl import threadpool_info, threadpool_limits

import minilib.functional as F
from minilib import parallel
from minilib.functional import layers
from minilib.operations import MatMul
from minilib.parallel import CHUNK, alone, chunked, elementwise, get_num_threads, set_num_threads
from minilib.tensor import Tensor, tensor


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = get_num_threads()
    yield
    set_num_threads(before)


# ---------------------------------------------------------------- large arrays

RNG = np.random.default_rng(0)
CONV = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
LARGE: dict[str, tuple[Callable[..., Tensor], Callable[[int], tuple[int, ...]]]] = {
    "gelu": (F.gelu, lambda n: (n,)),
    "gelu, the near formula": (lambda x: F.gelu(x, "tanh"), lambda n: (n,)),
    "silu": (F.silu, lambda n: (n,)),
    "softplus": (F.softplus, lambda n: (n,)),
    "erf": (F.erf, lambda n: (n,)),
    "softmax": (lambda x: F.softmax(x, -1), lambda n: (-(-n // 50), 50)),
    "softmax along the first axis": (lambda x: F.softmax(x, 0), lambda n: (50, -(-n // 50))),
    "log_softmax": (lambda x: F.log_softmax(x, -1), lambda n: (-(-n // 50), 50)),
    "cross_entropy": (
        lambda x: F.cross_entropy(x, tensor(np.arange(len(x.data)) % 50), label_smoothing=0.1),
        lambda n: (-(-n // 50), 50),
    ),
    "layer_norm": (lambda x: F.layer_norm(x, (50,)), lambda n: (-(-n // 50), 50)),
    "rms_norm": (lambda x: F.rms_norm(x, (50,)), lambda n: (-(-n // 50), 50)),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), lambda n: (-(-n // 64), 4, 16)),
    "conv2d": (lambda x: F.conv2d(x, Tensor(CONV), padding=1), lambda n: (-(-n // 192), 3, 8, 8)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), lambda n: (-(-n // 192), 3, 8, 8)),
}
FEW = {"gelu", "cross_entropy", "conv2d"}  # that are not slow
SIZES = [CHUNK - 200, CHUNK + 200, 4 * CHUNK - 200, 4 * CHUNK + 200]


def run(name: str, size: int) -> list[np.ndarray]:
    """The result and the gradient of one operation."""
    f, shape = LARGE[name]
    numbers = np.random.default_rng(size).normal(size=shape(size)).astype(np.float32)
    x = Tensor(numbers, requires_grad=True)
    y = f(x)
    weight = np.random.default_rng(1).normal(size=y.shape).astype(np.float32)
    y.backward(Tensor(weight))
    assert x.grad is not None
    return [y.data, x.grad.data]


@pytest.mark.parametrize("name", slow_where(LARGE, lambda name: name not in FEW))
def test_pieces_and_threads_change_nothing_but_last_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in SIZES:
        with monkeypatch.context() as patch:
            patch.setattr(parallel, "CHUNK", 10**12)
            patch.setattr(layers, "CHUNK", 10**12)
            whole = run(name, size)
        for number in (1, 3):
            set_num_threads(number)
            for got, expected in zip(run(name, size), whole):
                np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", slow_where(LARGE, lambda name: name not in FEW))
def test_the_same_number_of_threads_gives_the_same_bits(name: str) -> None:
    """Alone, again, and from several threads of which one is helped."""
    set_num_threads(2)
    size = 4 * CHUNK + 200
    first = run(name, size)
    with alone():
        others = [run(name, size)]
    with ThreadPoolExecutor(3) as pool:
        others += pool.map(lambda _: run(name, size), range(3))
    for other in others:
        for a, b in zip(first, other):
            np.testing.assert_array_equal(a, b)


# ---------------------------------------------------------------- pieces


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 11, 12, 13, 100])
def test_each_row_is_in_one_piece(number: int, n: int) -> None:
    set_num_threads(number)
    x, seen = np.arange(n), np.zeros(n, int)
    sizes: list[int] = []

    def count(x: Any, seen: Any) -> Any:
        seen += 1
        sizes.append(len(x))
        return np.array([x.sum()])

    total = chunked(count, x, seen, rows=3)
    assert seen.tolist() == [1] * n
    assert total.tolist() == [n * (n - 1) // 2]
    assert max(sizes) <= 3 and sum(sizes) == n


def test_none_stays_none_in_each_piece() -> None:
    seen: list[Any] = []
    chunked(lambda x, nothing: seen.append(nothing), np.zeros(100), None, rows=3)
    assert len(seen) == 34 and set(seen) == {None}


def test_elementwise_takes_any_shape_and_writes_through() -> None:
    x, out = np.arange(24.0).reshape(2, 3, 4)[:, ::-1], np.zeros((2, 3, 4))
    elementwise(lambda x, out: np.multiply(x, 2, out=out), x, out)
    np.testing.assert_array_equal(out, 2 * x)
    number = np.zeros(())
    elementwise(lambda out: np.copyto(out, 5.0), number)
    assert number == 5


def test_work_is_shared_by_threads_and_not_when_alone() -> None:
    set_num_threads(3)
    meet = threading.Barrier(3, timeout=300)
    names: set[str] = set()

    def together(x: Any) -> None:
        names.add(threading.current_thread().name)
        if x[0] % 4 == 0:  # the first piece of each of the three
            meet.wait()

    chunked(together, np.arange(12), rows=1)
    assert len(names) == 3
    names.clear()
    with alone():
        chunked(lambda x: names.add(threading.current_thread().name), np.arange(12), rows=1)
    assert names == {threading.current_thread().name}


@pytest.mark.slow
def test_alone_is_per_thread_and_ends_after_an_error() -> None:
    def is_alone() -> bool:
        seen: set[int] = set()
        meet = threading.Barrier(2)

        def work(x: Any) -> None:
            seen.add(threading.get_ident())
            if x[0] in (0, 6):
                with contextlib.suppress(threading.BrokenBarrierError):
                    meet.wait(timeout=2)

        chunked(work, np.arange(12), rows=1)
        return len(seen) == 1

    set_num_threads(2)
    with pytest.raises(ZeroDivisionError), alone(), alone():
        raise ZeroDivisionError
    assert not is_alone()
    with alone():
        with alone():
            pass
        assert is_alone()
        with ThreadPoolExecutor(1) as pool:
            assert not pool.submit(is_alone).result()


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("where", [0, 5, 11])
def test_an_error_in_a_piece_comes_out_and_harms_nothing_later(where: int) -> None:
    set_num_threads(3)

    def fail(x: Any) -> None:
        if x[0] == where:
            raise ZeroDivisionError(f"piece {where}")

    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match=f"piece {where}"):
            chunked(fail, np.arange(12), rows=1)
    test_work_is_shared_by_threads_and_not_when_alone()
    assert get_num_threads() == 3


def test_after_an_error_nobody_is_at_work_any_more() -> None:
    set_num_threads(2)
    started, go, done = threading.Event(), threading.Event(), threading.Event()

    def work(x: Any) -> None:
        if x[0] == 0:
            started.wait(300)
            threading.Timer(0.2, go.set).start()
            raise ZeroDivisionError
        if x[0] == 11:
            started.set()
            go.wait(300)
            done.set()

    x = np.arange(12)
    x[6:] = 11  # the second thread's first piece
    with pytest.raises(ZeroDivisionError):
        chunked(work, x, rows=1)
    finished = done.is_set()
    done.wait(300)
    assert finished


# ---------------------------------------------------------------- helpers


def test_nobody_waits_for_a_helper_that_comes_late_and_it_keeps_nothing() -> None:
    set_num_threads(2)
    asleep = threading.Event()
    helper: Any = parallel._all_threads()
    helper.call(lambda: asleep.wait(300))
    x = np.arange(12)
    seen: set[int] = set()

    def work(start: int, stop: int) -> int:
        seen.add(threading.get_ident())
        return int(x[start:stop].sum())

    assert sum(parallel.parallel(work, len(x))) == 66
    assert seen == {threading.get_ident()}
    kept = weakref.ref(work)
    del work
    gc.collect()
    assert kept() is None
    asleep.set()


def test_helpers_leave_when_another_number_is_set() -> None:
    set_num_threads(3)
    test_work_is_shared_by_threads_and_not_when_alone()
    before = [thread for thread in threading.enumerate() if thread.name.startswith("minilib")]
    set_num_threads(1)
    for thread in before:
        thread.join(300)
    assert not [thread for thread in before if thread.is_alive()]


# ---------------------------------------------------------------- how many


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_number_is_what_was_set_for_matrix_products_too(number: int) -> None:
    set_num_threads(number)
    assert get_num_threads() == number
    blas = parallel.ThreadpoolController().select(user_api="blas").info()
    assert {library["num_threads"] for library in blas} == {number}


@pytest.mark.parametrize("number", [0, -1])
def test_less_than_one_is_refused(number: int) -> None:
    before = get_num_threads()
    with pytest.raises(ValueError, match="at least 1"):
        set_num_threads(number)
    assert get_num_threads() == before


def test_one_blas_thread_is_restored_also_after_an_error() -> None:
    def threads() -> set[int]:
        return {x["num_threads"] for x in parallel.ThreadpoolController().select(user_api="blas").info()}

    set_num_threads(2)
    with pytest.raises(ZeroDivisionError), parallel.one_blas_thread():
        assert threads() == {1}
        raise ZeroDivisionError
    assert threads() == {2} and get_num_threads() == 2


def blas_threads() -> int:
    """What BLAS itself says, asked by threadpoolctl."""
    return max(int(x["num_threads"]) for x in threadpool_info() if x["user_api"] == "blas")


def test_blocks_of_two_threads_may_overlap() -> None:
    set_num_threads(2)
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with parallel.one_blas_thread():
            entered.set()
            leave.wait(300)

    with ThreadPoolExecutor(1) as pool:
        with parallel.one_blas_thread():
            other = pool.submit(stay)
            entered.wait(300)
        within = blas_threads()
        leave.set()
        other.result()
    assert (within, blas_threads()) == (1, 2)


def test_a_number_that_is_set_within_a_block_holds_after_it() -> None:
    set_num_threads(2)
    with parallel.one_blas_thread():
        set_num_threads(3)
        assert (blas_threads(), get_num_threads()) == (1, 3)
    assert blas_threads() == 3


PRODUCTS: dict[str, tuple[type[Any], Callable[[Tensor, Tensor], Tensor]]] = {
    "linear": (layers.Linear, lambda x, y: F.linear(x, y.T)),
    "matmul": (MatMul, lambda x, y: x @ y),
    "matmul of many": (MatMul, lambda x, y: x.expand(3, *x.shape) @ y.expand(3, *y.shape)),
}


def there_and_back(name: str, rows: int, inner: int, columns: int) -> None:
    shapes = (rows, inner), (inner, columns)
    x, y = (Tensor(np.ones(shape, np.float32), requires_grad=True) for shape in shapes)
    PRODUCTS[name][1](x, y).sum().backward()


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize(
    "sizes, blocks",
    [
        ((64, 64, 10), 0),  # OpenBLAS takes one thread of its own accord
        ((704, 48, 192), 2),  # forward and backward
        ((1, 128, 384), 2),  # a token at a time: the weight is read by one thread
        ((128, 784, 256), 2),
        ((512, 512, 512), 0),
        ((1, 1024, 1024), 0),
    ],
)
def test_products_of_middling_size_run_in_a_block_of_one_thread(
    name: str, sizes: tuple[int, int, int], blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered = itertools.count()
    monkeypatch.setattr(parallel, "_blas", lambda: contextlib.nullcontext(next(entered)))
    there_and_back(name, *sizes)
    assert next(entered) == blocks


@pytest.mark.parametrize("name", ["linear", "matmul"])
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("setting", [set_num_threads, lambda number: threadpool_limits(number, "blas")])
def test_small_products_take_one_thread_large_ones_as_many_as_were_set(
    name: str, large: bool, setting: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = PRODUCTS[name][0]
    seen: list[int] = []
    for way in ("forward", "backward"):
        plain = getattr(operation, way).__wrapped__

        def noted(*args: Any, plain: Callable[..., Any] = plain) -> Any:
            seen.append(blas_threads())
            return plain(*args)

        monkeypatch.setattr(operation, way, noted)
    parallel.small_on_one_thread(operation, lambda *arrays: parallel.LARGE - (not large))
    for number in (3, 2):  # what was set last
        setting(number)
        there_and_back(name, 4, 4, 4)
        assert blas_threads() == number
    assert seen == ([3, 3, 2, 2] if large else [1, 1, 1, 1])


def test_pieces_that_fit_the_cache_take_one_thread() -> None:
    set_num_threads(2)
    seen: list[int] = []
    for size in (100, CHUNK - 200, 2 * CHUNK, 4 * CHUNK):
        chunked(lambda x: seen.append(blas_threads()), np.zeros(size), rows=CHUNK)
    assert seen[0] == 2 and set(seen[1:]) == {1}  # the first is too small for BLAS to share
    seen.clear()
    chunked(lambda x: seen.append(blas_threads()), np.zeros((2, 9 * CHUNK)), rows=1)  # rows of its own choice
    assert seen == [2, 2]


# ---------------------------------------------------------------- processes


def in_child(queue: Any) -> None:
    queue.put((get_num_threads(), [x.tolist() for x in run("gelu", 4 * CHUNK + 200)]))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_gets_threads_of_its_own() -> None:
    set_num_threads(2)
    expected = run("gelu", 4 * CHUNK + 200)  # the pool is at work before the fork
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=in_child, args=(queue,))
    child.start()
    try:
        number, got = queue.get(timeout=300)
    finally:
        child.join(300)
        if child.is_alive():
            child.kill()
    assert number == 2 and child.exitcode == 0
    for a, b in zip(got, expected):
        assert a == b.tolist()


# ---------------------------------------------------------------- memory

FAULTS = """
import resource
import numpy as np
from minilib.parallel import memory_kept

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        arrays = [np.ones(500_000) for _ in range(4)]  # 4 MB each, all freed at the end of the round
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
usual = faults()
with memory_kept():
    faults()
    kept = faults()
print(usual, kept, faults())
"""


@pytest.mark.slow
@pytest.mark.skipif(parallel._glibc() is None, reason="malloc's settings are those of glibc")
def test_memory_that_is_kept_is_not_handed_out_anew() -> None:
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    usual, kept, after = map(int, done.stdout.split())
    assert kept < 200 < 5_000 < usual
    assert after > 200  # it went back at the end of the block
