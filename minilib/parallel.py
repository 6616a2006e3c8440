"""Large arrays in pieces: small enough for a core's cache, on as many threads as there are cores.

NumPy lets go of Python's lock while it computes, so threads help where cores are idle; and a piece that stays
in the cache between one operation and the next saves most of the way to memory. Chapter 03 measures both.

Matrix products have threads of their own, those of BLAS. OpenBLAS's keep a core busy while they wait for each
other: that is quick where cores are idle, but beside other work a product of 50 microseconds waits 50
milliseconds for a core. So small products take one thread, and only large ones all of them.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from queue import SimpleQueue
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

__all__ = [
    "CHUNK",
    "LARGE",
    "alone",
    "chunked",
    "elementwise",
    "get_num_threads",
    "keep_memory",
    "memory_kept",
    "one_blas_thread",
    "set_num_threads",
    "small_on_one_thread",
]

CHUNK = 65_536  # numbers: a few arrays of that length stay in the cache of one core
LARGE = 2**25  # multiplications of one product, half a millisecond of a core: from here on, all threads
_TINY = 2**18  # multiplications: OpenBLAS itself gives so few to one thread
PARTS = 2  # of a loop, for each thread
_FEW = 2**13  # numbers, of which it makes a sum of rows with one thread


class _Blas:
    """How many threads a matrix product takes. As a context: one, until the last to enter has left again.

    What the user has set is read on the way in, and stands again on the way out.
    """

    def __init__(self) -> None:
        found = ThreadpoolController().select(user_api="blas").lib_controllers
        self.libraries = [_calls(library) for library in found]
        self.lock = threading.Lock()
        self.inside = 0
        self.before: list[tuple[Callable[[int], Any], int]] = []  # what to call, and with which number

    def __enter__(self) -> None:  # no comprehensions here: this stands around products of 10 microseconds
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                for get, set_ in self.libraries:
                    number = get()
                    if number > 1:
                        self.before.append((set_, number))
                        set_(1)

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0 and self.before:
                for set_, number in self.before:
                    set_(number)
                self.before.clear()

    @property
    def number(self) -> int:
        """How many threads a product takes where no block keeps it to one."""
        with self.lock:
            return max([get() for get, _ in self.libraries] + [n for _, n in self.before], default=1)

    @number.setter
    def number(self, number: int) -> None:
        with self.lock:
            if self.inside:  # one thread until the block ends
                self.before = [(set_, number) for _, set_ in self.libraries]
                return
            for _, set_ in self.libraries:
                set_(number)


def _calls(library: Any) -> tuple[Callable[[], int], Callable[[int], Any]]:
    """How to ask a library of threadpoolctl for its number of threads, and how to set it.

    OpenBLAS's own functions, where they are found: threadpoolctl takes ten times as long, microseconds, and
    two calls stand around each small product. PyDLL keeps Python's lock: none of them waits for anything.
    """
    if library.internal_api == "openblas":
        own = ctypes.PyDLL(library.filepath)
        for prefix, suffix in itertools.product(("", "scipy_"), ("", "64_", "_64")):
            with suppress(AttributeError):
                get = own[f"{prefix}openblas_get_num_threads{suffix}"]
                set_ = own[f"{prefix}openblas_set_num_threads{suffix}"]
                get.argtypes, set_.argtypes, set_.restype = [], [ctypes.c_int], None
                return get, set_
    return library.get_num_threads, library.set_num_threads


class _Threads:
    """How many threads, the pool of those that help the caller, and whose turn it is to be helped."""

    def __init__(self, number: int | None = None) -> None:
        if number is not None:
            _blas().number = number
        self.number = number or _blas().number
        self.turn = threading.Lock()
        self.jobs: SimpleQueue[_Help | None] = SimpleQueue()
        self.helpers = 0

    def call(self, some: Callable[[], Any]) -> list[_Help]:
        """Ask all helpers to come and do some of the work. They are started when they are first asked."""
        for i in range(self.helpers, self.number - 1):
            threading.Thread(target=_serve, args=(self.jobs,), name=f"minilib_{i}", daemon=True).start()
            self.helpers += 1
        asked = [_Help(some) for _ in range(self.number - 1)]
        for help in asked:
            self.jobs.put(help)
        return asked

    def dismiss(self) -> None:
        for _ in range(self.helpers):
            self.jobs.put(None)


class _Help:
    """What one helper does in one call of `parallel`: it may come when nothing is left."""

    def __init__(self, some: Callable[[], Any]) -> None:
        self.some = some
        self.came = False
        self.error: BaseException | None = None
        self.busy = threading.Lock()
        self.busy.acquire()

    def __call__(self) -> None:
        self.came = True  # before anything is taken: so who finds nothing left knows whom to wait for
        try:
            self.some()
        except BaseException as error:
            self.error = error
        finally:
            self.busy.release()

    def over(self) -> None:
        """Nothing is left: wait for who has come, and for nobody else."""
        if self.came:
            self.busy.acquire()
        else:
            self.some = lambda: None  # who comes late does not keep arrays alive until then


def _serve(jobs: SimpleQueue[_Help | None]) -> None:
    while (help := jobs.get()) is not None:
        help()
        del help  # what it worked on may be large


class _Mine(threading.local):
    alone = False


_mine = _Mine()
_threads: _Threads | None = None


def _all_threads() -> _Threads:
    global _threads
    if _threads is None:
        _threads = _Threads()
    return _threads


@functools.cache
def _blas() -> _Blas:
    return _Blas()


def _forget() -> None:
    global _threads
    _threads = None
    _blas.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)  # a forked child inherits no threads


def get_num_threads() -> int:
    """How many threads large arrays and matrix products are worked on by."""
    return _all_threads().number


def set_num_threads(number: int) -> None:
    """Use `number` threads, for matrix products too. PyTorch's function of that name."""
    if number < 1:
        raise ValueError(f"the number of threads must be at least 1, not {number}")
    global _threads
    before, _threads = _threads, _Threads(number)
    if before is not None:
        before.dismiss()


@contextmanager
def alone() -> Iterator[None]:
    """In this block the calling thread gets no help: there are others like it already."""
    before, _mine.alone = _mine.alone, True
    try:
        yield
    finally:
        _mine.alone = before


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """In this block a matrix product uses one thread: those who call it keep all cores busy."""
    with _blas():
        yield


def small_on_one_thread(operation: Any, products: Callable[..., int]) -> None:
    """Let forward and backward of `operation` keep BLAS to one thread where their products are not LARGE.

    products(*arrays): how many multiplications forward's product has; those of backward have as many each.
    """
    forward, backward = operation.forward, operation.backward

    @functools.wraps(forward)
    def run_forward(self: Any, *arrays: Any) -> Any:
        if type(arrays[0]) is np.ndarray and _TINY < products(*arrays) < LARGE:
            self.small = True
            with _blas():
                return forward(self, *arrays)
        return forward(self, *arrays)

    @functools.wraps(backward)
    def run_backward(self: Any, grad: Any) -> Any:
        if self.small:
            with _blas():
                return backward(self, grad)
        return backward(self, grad)

    operation.small, operation.forward, operation.backward = False, run_forward, run_backward


@contextmanager
def memory_kept() -> Iterator[None]:
    """In this block memory that was freed stays with the process, for the next array (glibc; else nothing).

    Otherwise glibc gives large arrays back to the system, which hands their pages out again one by one, and
    filled with zeros: thousands of them in a training step of a small GPT. Afterwards what is free goes back,
    and glibc does as it does where arrays of 32 MB come and go.
    """
    libc = _glibc()
    if libc is None or _kept_for_good:
        yield
        return
    _keep(libc)
    try:
        yield
    finally:
        if not _kept_for_good:
            libc.mallopt(_TRIM_THRESHOLD, 64 * 2**20)
            libc.malloc_trim(0)


def keep_memory() -> bool:
    """From now on memory that was freed stays with the process, as in `memory_kept`. False without glibc."""
    global _kept_for_good
    libc = _glibc()
    if libc is not None:
        _keep(libc)
    _kept_for_good = libc is not None
    return _kept_for_good


_kept_for_good = False
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of malloc.h


def _keep(libc: Any) -> None:
    libc.mallopt(_MMAP_THRESHOLD, 32 * 2**20)  # the most that glibc allows
    libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)


def _glibc() -> Any:
    """The C library of this process where it is glibc, or None."""
    with suppress(OSError, AttributeError, TypeError):
        libc = ctypes.CDLL(None)
        libc.gnu_get_libc_version  # noqa: B018 (raises where there is none)
        return libc
    return None


def parallel(work: Callable[[int, int], Any], n: int, step: int = 1) -> list[Any]:
    """work(start, stop) on parts of range(n), two for each thread; parts begin at multiples of `step`.

    Who is free takes the next part. A helper needs 50 microseconds to wake up, and long beside other work:
    nobody waits for one that has not come.
    """
    threads = _all_threads()
    count = 1 if threads.number == 1 else PARTS * threads.number
    cuts = [n // step * i // count * step for i in range(count)] + [n]  # whole steps but for the last part
    parts = [(start, stop) for start, stop in itertools.pairwise(cuts) if start < stop] or [(0, n)]
    if _mine.alone or count == 1 or not threads.turn.acquire(blocking=False):  # somebody else is being helped
        return [work(*part) for part in parts]
    made: list[Any] = [None] * len(parts)
    left = iter(enumerate(parts))  # each part goes to one thread: Python's lock is held while one is taken

    def some() -> None:
        for i, part in left:
            made[i] = work(*part)

    try:
        with _blas():  # else each thread's products would start threads of their own
            helpers = threads.call(some)
            try:
                some()  # the caller works too, instead of waiting
            finally:
                for _ in left:  # after an error, too, nobody writes into the arrays any more
                    pass
                for help in helpers:
                    help.over()
            for error in [help.error for help in helpers if help.error is not None]:
                raise error
            return made
    finally:
        threads.turn.release()


def chunked(f: Callable[..., Any], *arrays: Any, rows: int | None = None) -> Any:
    """f on one slice after another along axis 0 of the arrays (None stays None); the sum of what it returns.

    A slice has `rows` rows, by default as many as hold CHUNK numbers. Arrays of another device go to f whole.
    """
    n, size = len(arrays[0]), arrays[0].size
    rows = rows or max(1, CHUNK * n // max(size, 1))
    if type(arrays[0]) is not np.ndarray or (n <= rows and size <= _FEW):  # a GPU has its own pieces
        return f(*arrays)

    def run(start: int, stop: int) -> Any:
        total = None
        for i in range(start, stop, rows):
            part = f(*[a if a is None else a[i : min(i + rows, stop)] for a in arrays])
            total = part if total is None else total + part
        return total

    if n < 4 * rows:  # waking threads would cost more than they save
        with _blas() if size <= 8 * CHUNK * n // min(n, rows) else nullcontext():
            return run(0, n) if n > rows else f(*arrays)
    first, *rest = parallel(run, n, rows)
    return first if first is None else sum(rest, first)


# By the type of an array and a function on such arrays: a kernel of that device with the same arguments. It
# returns NotImplemented where it does not fit.
KERNELS: dict[tuple[type, Callable[..., Any]], Callable[..., Any]] = {}


def elementwise(f: Callable[..., Any], *arrays: Any) -> None:
    """f on flat pieces of the arrays (None stays None), for what it writes into them; or its kernel."""
    kernel = KERNELS.get((type(arrays[0]), getattr(f, "func", f)))
    if kernel is not None and kernel(*arrays, **getattr(f, "keywords", {})) is not NotImplemented:
        return

    def write(*pieces: Any) -> None:
        f(*pieces)

    chunked(write, *[a if a is None else a.reshape(-1) for a in arrays])
