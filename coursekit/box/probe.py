"""What hidden tests call: they show values, and the grader compares them outside the student's process.

Runs inside kernels, in the grader's box too: imports nothing of the course, and NumPy. There an answer
cannot find this module (`coursekit.box.kernel`), and what it changes in Python's own does not reach here:
builtins are looked up in a copy, and what measures is imported by name.
"""

from __future__ import annotations

import builtins
import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from gc import collect
from math import isfinite
from os import O_RDONLY, fstat, listdir
from stat import S_IFIFO, S_IFMT, S_IFREG, S_IFSOCK
from tracemalloc import (
    get_object_traceback,
    get_traced_memory,
    get_tracemalloc_memory,
    is_tracing,
    reset_peak,
    start,
    stop,
    take_snapshot,
)
from types import SimpleNamespace
from typing import Any, TypeVar

from numpy import generic, ndarray

try:
    from fcntl import F_GETFL, fcntl
    from os import O_ACCMODE, close, dup
    from resource import RLIMIT_NOFILE, getrlimit, setrlimit
except ImportError:  # Windows, which has no /proc either
    pass

globals()["__builtins__"] = dict(vars(builtins))

MIME = "application/vnd.coursekit.probe+json"
LARGE = 1024  # bytes; smaller blocks are names, tuples and other things that any object has ...
FEW = 16 * LARGE  # ... but what all of them together take beyond that counts

POOLS = 128 * LARGE  # what an answer may have in all before memory is measured, beside ...
CODE = 1024 * LARGE  # ... small blocks: what it imports consists of them
BESIDE = 128 * LARGE  # what C takes for itself beside what Python counts: more of it is an answer's

NOTED = 10_000  # numbers that a test's notes hold in all: more would be taken for a flood
DRAWN = "what was drawn"  # the last probe of a test that is run with `noting`
MANY = 4000  # numbers of one array that are noted

LONGEST_CASE = 80  # characters of what names a case
_NUMPY = re.compile(r"\bnp\.(?:(?:str_|u?int\d+|float\d+)\(([^()]*)\)|(True|False)_)")

Result = TypeVar("Result")

mark: Callable[[dict[str, Any]], str] | None = None  # signs what is shown, for the grader
measuring = False  # memory: then no answer writes files
pools: int | None = 0  # what `counted_pools` said of the answer
files: frozenset[tuple[int, ...]] | None = None  # what could be written into before the answer
first_beside = seen_beside = 0  # what C held for itself at first, and the most that `look` saw since
were_open: frozenset[tuple[int, ...]] = frozenset()  # while memory is measured: at first, and ...
seen_open: frozenset[tuple[int, ...]] = frozenset()  # ... beside them, whenever `look` was called


PLAIN: tuple[tuple[type, Callable[[Any], Any]], ...] = (  # what a subclass holds, by its base's own methods
    (int, int.__int__),
    (float, float.__float__),
    (str, str.__str__),
    (list, lambda value: [*list.__iter__(value)]),
    (tuple, lambda value: (*tuple.__iter__(value),)),
    (dict, lambda value: dict(dict.items(value))),
)


def encode(value: Any) -> Any:
    """`value` as plain JSON data that says its type: numbers as hex floats, arrays with shape and dtype.

    What is not data becomes `{"object": type name}`, so that a comparison never calls the student's code.
    """
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return {"int": str(value)}
    if kind is float:
        return {"float": value.hex() if isfinite(value) else repr(value)}
    if kind is list or kind is tuple:
        return {kind.__name__: [encode(item) for item in value]}
    if kind is dict:
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, ndarray | generic):
        plain_array = ndarray.view(value, ndarray) if isinstance(value, ndarray) else generic.ravel(value)
        return {
            "array": [encode(item) for item in plain_array.ravel().tolist()],
            "shape": list(plain_array.shape) if isinstance(value, ndarray) else [],
            "dtype": str(plain_array.dtype),
        }
    for base, plain in PLAIN:
        if issubclass(kind, base):
            return encode(plain(value))
    return {"object": kind.__name__}


def probe(name: str, value: Any, *, tolerance: float = 1e-9, of: Sequence[Any] | None = None) -> None:
    """Show `value` under `name`. `tolerance` is absolute and relative; the grader takes the reference's.

    `of`: where `value` is a list of results, what each is the result of. Of those that are wrong the feedback
    then names one: "sectors, of 31, -1: expected 4, got 5".
    """
    show(name, encode(value), tolerance, f"{name}: {value!r}", [_case(one) for one in of or ()])


def _case(asked: Any) -> str:
    """What was asked, as short as it can be read: a tuple as arguments, NumPy's numbers as Python's."""
    asked = asked.tolist() if hasattr(asked, "tolist") else asked
    text = ", ".join(map(repr, asked)) if type(asked) is tuple else str(asked)
    return _NUMPY.sub(r"\1\2", text)[:LONGEST_CASE]


def show(name: str, encoded: Any, tolerance: float, text: str, of: Sequence[str] = ()) -> None:
    """Show what is encoded already; `text` is for the eyes."""
    publish({"name": name, "value": encoded, "tolerance": tolerance, "of": [*of]}, text)


def publish(data: dict[str, Any], text: str) -> None:
    """Display plain data for the grader, signed where there is a `mark`."""
    from IPython.display import display

    signed = {**data, "mark": mark(data)} if mark else data
    display({MIME: signed, "text/plain": text}, raw=True)  # type: ignore[no-untyped-call]


@contextmanager
def series(name: str, *, tolerance: float = 1e-9) -> Iterator[Callable[[Any], None]]:
    """Show, under `name`, a list whose items come one by one: what is counted is shown when it happens.

    `with series("passes") as told:` gives a function that shows what it is told at once. Nothing is collected
    where an answer could mend it; each item has its number, and the end says how many there were, so that one
    that was kept from being shown is missed. Call it in the innermost layer, from a function that copies of
    the object share: the more an answer asks, the more is shown.
    """
    as_data, show_part, said = encode, publish, 0

    def part(value: Any, last: bool = False) -> None:
        data = {"name": name, "value": value, "tolerance": tolerance, "place": said, "last": last}
        show_part(data, f"{name}, {said}")

    def told(value: Any) -> None:
        nonlocal said
        said += 1
        part(as_data(value))

    part(None)
    yield told
    part(None, last=True)


def leaf(array: Any) -> Any:
    """What a `Function` sees of an input where there is no engine: an array that wants a gradient."""
    about = {name: getattr(array, name) for name in ("shape", "dtype", "ndim")}
    return SimpleNamespace(data=array, requires_grad=True, **about)


def raised(action: Callable[[], Any]) -> str | None:
    """The name of the type of exception that `action()` raises, or None; of an own one, what it extends."""
    try:
        action()
    except Exception as error:
        return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ != "__main__")
    return None


def kind_of(error: Exception) -> str:
    """The name of Python's own class that an exception is of, or that its class extends."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


def held(action: Callable[[], Result]) -> tuple[Result, int]:
    """What `action()` returns, and the bytes that live after it beside those before.

    Whoever keeps them: the result, an attribute, a closure, a global name. Arrays of NumPy count, a view as
    all of the array that it looks into; so do lists, bytes and whatever else takes `LARGE` bytes at a time,
    and what C keeps for itself. Let the arrays be of many kilobytes. What was there before counts for
    nothing, filled or not: take sizes from `rng`, and several actions before the first result is used. Memory
    that an answer has made before any is measured is refused, and so is an open file.
    """
    with _measured() as check:
        before = _live_bytes()
        result = action()
        collect()
        check()
        return result, _live_bytes() - before + max(0, seen_beside - BESIDE)


def most(action: Callable[[], Result], floor: int = 0) -> tuple[Result, int]:
    """What `action()` returns, and the most bytes that lived at a time while it ran, beside those before.

    But at least `floor`, which is reached before it begins: let it be what the judge allows, and whoever
    begins the measurement anew, so that less is measured, is told so. What C keeps for itself is seen at the
    end, and open files are, and wherever the test itself takes a `look` while the action runs.
    """
    with _measured() as check:
        before = get_traced_memory()[0]
        reset_peak()
        bytearray(floor)
        reached = get_traced_memory()[1]
        result = action()
        peak = get_traced_memory()[1]
        check(peak >= reached)
        return result, peak - before + max(0, seen_beside - BESIDE)


def look() -> None:
    """While memory is measured: see what C keeps for itself now, and which files are open."""
    global seen_beside, seen_open
    seen_beside = max(seen_beside, _beside() - first_beside)
    seen_open |= open_files() - were_open


@contextmanager
def _measured() -> Iterator[Callable[..., None]]:
    """In this block memory is counted; what this gives raises RuntimeError where an answer has meddled."""
    global measuring, seen_beside, first_beside, were_open, seen_open

    def check(plausible: bool = True) -> None:
        if get_object_traceback(witness) is None or not plausible:
            raise RuntimeError("the answer stopped or cleared tracemalloc, by which its memory is measured")
        look()
        if seen_open:
            raise RuntimeError("the answer has opened files or pipes while its memory is measured")

    without_pools()
    were_open, seen_open = open_files(), frozenset()
    collect()
    stop()
    start()
    witness = bytearray(LARGE)
    seen_beside, first_beside = 0, _beside()
    with _one_file_at_a_time():
        measuring = True
        try:
            yield check
        finally:
            measuring = False
            stop()


@contextmanager
def _one_file_at_a_time() -> Iterator[None]:
    """In the grader's box: a module may be imported, but a pipe, which has two ends, keeps no numbers."""
    if mark is None:
        yield
        return
    lowest, limits = dup(0), getrlimit(RLIMIT_NOFILE)
    close(lowest)
    setrlimit(RLIMIT_NOFILE, (lowest + 1, limits[1]))
    try:
        yield
    finally:
        setrlimit(RLIMIT_NOFILE, limits)


def watch_pools() -> int:
    """From now on, until it is asked for, note what memory an answer makes for itself; what C has by now."""
    collect()  # what another answer has left
    stop()
    start()
    return _beside()


def counted_pools(had_beside: int) -> int | None:
    """The bytes that an answer's cells have made, which no measurement would see; None if it stopped that."""
    found = None
    if is_tracing():
        collect()
        sizes = _sizes()
        small = sum(size for size in sizes if size < LARGE)
        beside = max(0, _beside() - had_beside - BESIDE)
        found = sum(sizes) - small + max(0, small - CODE) + beside
    stop()
    return found


def without_pools() -> None:
    """Raise RuntimeError where an answer has what it could keep numbers in unmeasured."""
    if pools is None or pools > POOLS:
        raise RuntimeError("the answer keeps memory of its own, made before any is measured")
    if files is not None and open_files() - files:
        raise RuntimeError("the answer keeps files or pipes open, and could keep in them what is measured")


def open_files() -> frozenset[tuple[int, ...]]:
    """Files, pipes and sockets that are open to be written into; none where the system does not tell."""
    found = []
    try:
        handles = [*map(int, listdir("/proc/self/fd"))]
    except OSError:
        return frozenset()
    for handle in handles:
        try:
            about, flags = fstat(handle), fcntl(handle, F_GETFL)
        except OSError:  # the folder's own, which is closed by now
            continue
        if S_IFMT(about.st_mode) in (S_IFREG, S_IFIFO, S_IFSOCK) and flags & O_ACCMODE != O_RDONLY:
            found.append((handle, about.st_dev, about.st_ino))
    return frozenset(found)


class _Malloc(ctypes.Structure):
    """What glibc tells of its memory: the 5th and the 8th are bytes in use."""

    _fields_ = [("sizes", ctypes.c_size_t * 10)]


def _teller() -> Any:
    """The function of the C library that tells of its memory; None where it has none."""
    try:
        tell = ctypes.CDLL(None).mallinfo2
    except (TypeError, AttributeError, OSError):  # the last in an answer, which may not
        return None
    tell.restype = _Malloc
    return tell


_tell = _teller()


def _beside() -> int:
    """The bytes that C has taken, for Python too, less what Python counts; 0 where it does not tell."""
    if _tell is None:
        return 0
    sizes = _tell().sizes
    return int(sizes[4] + sizes[7]) - get_traced_memory()[0] - get_tracemalloc_memory()


def _sizes() -> list[int]:
    return [trace.size for trace in take_snapshot().traces]


def _live_bytes() -> int:
    sizes = _sizes()
    small = sum(size for size in sizes if size < LARGE)
    return sum(size for size in sizes if size >= LARGE) + max(0, small - FEW)


def noting(rng: Any) -> Any:
    """A generator that draws what `rng` draws, and notes it: `shown_of` shows it. For the reference alone."""
    import numpy

    class Noting(numpy.random.Generator):
        pass

    def noted(name: str) -> Callable[..., Any]:
        draw = getattr(numpy.random.Generator, name)

        def method(self: Any, *args: Any, **options: Any) -> Any:
            made = draw(self, *args, **options)
            if isinstance(made, (float, numpy.ndarray)) and len(drawn) < 200 and numpy.size(made) <= MANY:
                drawn.append(numpy.array(made))
            return made

        return method

    drawn: list[Any] = []
    for name in ("normal", "uniform", "random", "integers", "permutation", "choice", "dirichlet"):
        setattr(Noting, name, noted(name))
    made = Noting(rng.bit_generator)
    setattr(made, "drawn", drawn)  # noqa: B010 (NumPy's type has no such attribute)
    return made


def shown_of(rng: Any, names: dict[str, Any]) -> None:
    """Show what was drawn from `noting(rng)`, and which of a test's names hold numbers."""
    import numpy

    def numbers(value: Any) -> Any:
        value = getattr(value, "data", value)
        plain = isinstance(value, (float, int, numpy.ndarray, numpy.floating)) and not isinstance(value, bool)
        return numpy.array(value) if plain and numpy.size(value) <= MANY else None

    named = [[name, numbers(value)] for name, value in names.items() if not name.startswith("_")]
    found = [[name, array] for name, array in named if array is not None and array.dtype.kind in "iuf"]
    shown, left = [], NOTED
    for name, array in [*found[-60:], *(["", array] for array in rng.drawn if array.dtype.kind in "iuf")]:
        left -= array.size
        if left >= 0:
            shown.append([name, array])
    probe(DRAWN, shown)
