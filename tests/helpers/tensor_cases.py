"""One table of operations, each with a way to draw inputs, that several tests walk over.

A case's function takes the library first, `minilib.tensor` or `torch`, so that both can be asked the same
thing; `plain` says in NumPy what should come out, where NumPy has the same rules. Hypothesis draws shapes,
memory layouts and options; the numbers are spaced and away from zero, so that a difference quotient never
steps over a kink.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

Arrays = list[np.ndarray]
Drawn = tuple[Arrays, dict[str, Any]]  # arrays and options of one call

LAYOUTS = ["contiguous", "transposed", "strided", "reversed"]


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable[..., Any]  # function(library, *tensors, **options): a tensor or a tuple of them
    inputs: st.SearchStrategy[Drawn]
    plain: Callable[..., Any] | None = None  # the same of arrays
    step: float = 1e-6  # of the difference quotient
    tolerance: float = 1e-6


# ---------------------------------------------------------------- drawing

sides = st.sampled_from([2, 3, 1, 0])


def shapes(low: int = 0, high: int = 3) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(sides, min_size=low, max_size=high).map(tuple)


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """The same numbers, otherwise in memory. Always the only view of its memory."""
    if layout == "transposed":
        return np.array(array, order="F")
    if layout == "contiguous" or not array.ndim:
        return np.array(array, order="C")
    step = 2 if layout == "strided" else -1
    where = (slice(None, None, step),) * array.ndim
    buffer = np.zeros([abs(step) * n for n in array.shape], array.dtype)
    buffer[where] = array
    return buffer[where]


def real(x: np.ndarray) -> np.ndarray:
    return x


def positive(x: np.ndarray) -> np.ndarray:
    return abs(x) + 0.3


def nonzero(x: np.ndarray) -> np.ndarray:
    return x + 0.3 * np.sign(x)


def spaced(seed: int, *sizes: tuple[int, ...]) -> Arrays:
    """Arrays of numbers between -3 and 3, none of which is near another, near 0 or near 0.75."""
    counts = [math.prod(shape) for shape in sizes]
    total = sum(counts)
    numbers = (np.arange(total) - total // 2 + 0.3) * (4 / max(total, 8))
    parts = np.split(np.random.default_rng(seed).permutation(numbers), np.cumsum(counts)[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, sizes)]


@st.composite
def floats(draw: Any, *sizes: tuple[int, ...], domains: tuple[Callable[..., Any], ...] = ()) -> Arrays:
    """float64 arrays of the given shapes, each in a layout of its own."""
    numbers = spaced(draw(st.integers(0, 99)), *sizes)
    kinds = domains or (real,) * len(sizes)
    return [laid_out(kind(x), draw(st.sampled_from(LAYOUTS))) for kind, x in zip(kinds, numbers)]


@st.composite
def alike(draw: Any, *domains: Callable[..., Any]) -> Drawn:
    """Arrays whose shapes broadcast against each other."""
    whole = draw(shapes())
    sizes = []
    for _ in domains:
        lost = draw(st.integers(0, len(whole))) if draw(st.booleans()) else 0
        sizes.append(tuple(draw(st.sampled_from([n, 1])) for n in whole[lost:]))
    return draw(floats(*sizes, domains=domains)), {}


def one(domain: Callable[..., Any] = real, low: int = 0) -> st.SearchStrategy[Drawn]:
    return shapes(low).flatmap(lambda shape: floats(shape, domains=(domain,))).map(lambda x: (x, {}))


@st.composite
def some_integers(draw: Any, count: int, bools: bool | None = None, low: int = -9) -> Drawn:
    """Integer or boolean arrays that broadcast, with many equal numbers."""
    arrays, _ = draw(alike(*[real] * count))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    as_bools = draw(st.booleans()) if bools is None else bools
    dtype = bool if as_bools else np.int64
    return [rng.integers(0 if as_bools else max(low, -2), 2, x.shape).astype(dtype) for x in arrays], {}


@st.composite
def reduced(
    draw: Any,
    many: bool = True,
    least: int = 0,
    must: bool = False,
    low: int = 0,
    domain: Callable[..., Any] = real,
) -> Drawn:
    """An array, and `dim` (none, one, with `many` several; always, if it `must`) and `keepdim`.

    At least `least` numbers meet in one.
    """
    shape = draw(shapes(low))
    places = list(range(len(shape))) or [0, -1]
    choices: list[Any] = [] if must else [None]
    choices += [d for d in range(-len(shape), len(shape))] or [0, -1]
    if many:
        pairs = itertools.permutations(range(len(shape)), 2)
        choices += [(a, b - len(shape)) for a, b in pairs] + [tuple(places[: len(shape)])]

    def count(dim: Any) -> int:
        if not shape:
            return 1
        dims = range(len(shape)) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
        return math.prod(shape[d] for d in dims)

    choices = [dim for dim in choices if count(dim) >= least]
    if not choices:
        shape = (3,) * max(low, 1)
        choices = [0]
    dim = draw(st.sampled_from(choices))
    options = {} if dim is None else {"dim": dim, "keepdim": draw(st.booleans())}
    return draw(floats(shape, domains=(domain,))), options


def nonempty(arrays: Arrays) -> Arrays:
    return [x if x.size else np.array([0.5, 0.25]) for x in arrays]


def np_dims(options: dict[str, Any]) -> dict[str, Any]:
    """NumPy's names for the options of a reduction; () is all axes, as in PyTorch."""
    dim = options.get("dim")
    return {"axis": None if dim == () else dim, "keepdims": options.get("keepdim", False)}


def reduce_0d(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy refuses axis 0 of an array without axes; PyTorch takes it as none."""

    def plain(x: np.ndarray, **options: Any) -> Any:
        return function(x, **(np_dims(options) if x.ndim else {}))

    return plain


@st.composite
def matrices(draw: Any) -> Drawn:
    n, k, m = draw(sides), draw(sides), draw(sides)
    batch = draw(shapes(0, 2))
    left = tuple(draw(st.sampled_from([b, 1])) for b in batch[draw(st.integers(0, len(batch))) :])
    right = tuple(draw(st.sampled_from([b, 1])) for b in batch[draw(st.integers(0, len(batch))) :])
    a = draw(st.sampled_from([(*left, n, k), (k,)]))
    b = draw(st.sampled_from([(*right, k, m), (k,)]))
    return draw(floats(a, b)), {}


@st.composite
def with_options(draw: Any, options: Callable[[Any, tuple[int, ...]], dict[str, Any]], low: int = 0) -> Drawn:
    """An array and what `options(draw, shape)` draws for it."""
    shape = draw(shapes(low))
    return draw(floats(shape)), options(draw, shape)


def an_axis(draw: Any, shape: tuple[int, ...], extra: int = 0) -> int:
    n = len(shape) + extra
    return int(draw(st.integers(-n, n - 1))) if n else int(draw(st.sampled_from([0, -1])))


def draw_reshape(draw: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    total = math.prod(shape)
    choices = [(total,), (1, total), (total, 1, 1)] + [(n, total // n) for n in (2, 3) if total % n == 0]
    if total:
        choices += [(-1,), (1, -1)] + [(n, -1) for n in (2, 3) if total % n == 0]
    if total == 1:
        choices.append(())
    return {"shape": draw(st.sampled_from(choices))}


def draw_order(draw: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    order = draw(st.permutations(range(len(shape))))
    return {"dims": tuple(d - draw(st.sampled_from([0, len(shape)])) for d in order)}


def draw_expand(draw: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    sizes = [draw(sides) if n == 1 else draw(st.sampled_from([n, -1])) for n in shape]
    return {"sizes": tuple([*draw(shapes(0, 1)), *sizes])}


def np_expand(x: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    own = (1,) * (len(sizes) - x.ndim) + x.shape
    return np.broadcast_to(x, [b if a == -1 else a for a, b in zip(sizes, own)])


def draw_squeeze(draw: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    axis = an_axis(draw, shape)
    several = tuple(range(len(shape)))[:2]
    return {"dim": draw(st.sampled_from([axis, *([several] if several else [])]))}


def np_squeeze(x: np.ndarray, dim: Any) -> np.ndarray:
    dims = {d % x.ndim for d in ((dim,) if isinstance(dim, int) else dim)} if x.ndim else set()
    return x.reshape([n for i, n in enumerate(x.shape) if n != 1 or i not in dims])


def np_flatten(x: np.ndarray, start_dim: int, end_dim: int) -> np.ndarray:
    if not x.ndim:
        return x.reshape(1)
    start, end = start_dim % x.ndim, end_dim % x.ndim
    return x.reshape(*x.shape[:start], math.prod(x.shape[start : end + 1]), *x.shape[end + 1 :])


def draw_flatten(draw: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    if not shape:
        return {"start_dim": 0, "end_dim": -1}
    first = draw(st.integers(0, len(shape) - 1))
    last = draw(st.integers(first, len(shape) - 1))
    return {"start_dim": first, "end_dim": last - draw(st.sampled_from([0, len(shape)]))}


def draw_flip(draw: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    dims = draw(st.lists(st.sampled_from(range(len(shape))), unique=True)) if shape else []
    return {"dims": tuple(d - draw(st.sampled_from([0, len(shape)])) for d in dims)}


# ---------------------------------------------------------------- drawing indices

limits = st.sampled_from([None, 0, 1, 2, -1, -2, 5, -5])
slices = st.builds(slice, limits, limits, st.sampled_from([None, 1, 2]))


def draw_basic(draw: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """Integers, slices, None and `...` for some of the axes."""
    taken = draw(st.integers(0, len(shape)))
    parts: list[Any] = [
        draw(slices) if n == 0 or draw(st.booleans()) else draw(st.integers(-n, n - 1)) for n in shape[:taken]
    ]
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), None)
    if taken == len(shape) and draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), Ellipsis)
    return {"index": tuple(parts)}


ARRAY = "array"  # stands in an index for the next of the arrays


def indexed(index: tuple[Any, ...], arrays: Any) -> tuple[Any, ...]:
    left = iter(arrays)
    return tuple(next(left) if isinstance(part, str) else part for part in index)


@st.composite
def picked(draw: Any, written: bool = False, unique: bool = False, only_arrays: bool = False) -> Drawn:
    """An array and an index with at least one integer array (repeated and negative indices) or a mask.

    Beside them stand integers, slices and None. `written`: with a value that fits into x[index]. `unique`:
    no number is picked twice, so that the order of writing plays no part.
    """
    shape = tuple(draw(st.lists(st.sampled_from([2, 3, 1]), min_size=1, max_size=3)))
    places = draw(st.sets(st.sampled_from(range(len(shape))), min_size=1, max_size=1 if unique else 3))
    whole = tuple(draw(st.lists(st.sampled_from([2, 3, 1, 0]), min_size=0, max_size=2)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    index: list[Any] = []
    arrays: Arrays = []
    mask_axes = draw(st.integers(1, len(shape))) if draw(st.integers(0, 3)) == 0 else 0
    if mask_axes:
        index.append(ARRAY)
        arrays.append(rng.integers(0, 2, shape[:mask_axes]).astype(bool))
    else:
        for i, n in enumerate(shape):
            if i in places:
                if unique:
                    chosen = rng.permutation(n)[: draw(st.integers(0, n))]
                    chosen = np.where(rng.integers(0, 2, chosen.shape), chosen, chosen - n)
                else:
                    lost = draw(st.integers(0, len(whole)))
                    size = tuple(draw(st.sampled_from([m, 1])) for m in whole[lost:])
                    chosen = rng.integers(-n, n, size)
                index.append(ARRAY)
                arrays.append(np.asarray(chosen, np.int64))
            elif only_arrays:
                index.append(slice(None))
            else:
                index.append(draw(slices) if draw(st.booleans()) else draw(st.integers(-n, n - 1)))
    if not only_arrays and draw(st.booleans()):
        index.insert(draw(st.integers(0, len(index))), None)
    if draw(st.booleans()):
        index.append(Ellipsis)
    options = {"index": tuple(index)}
    if not written:
        return [*draw(floats(shape)), *arrays], options
    # one number, which fits any index
    value = draw(st.sampled_from([(), (1,)]))
    return [*draw(floats(shape, value)), *arrays], options


def written(lib: Any, x: Any, value: Any, *arrays: Any, index: tuple[Any, ...]) -> Any:
    y = x.clone()
    y[indexed(index, arrays)] = value
    return y


def np_written(x: np.ndarray, value: np.ndarray, *arrays: np.ndarray, index: tuple[Any, ...]) -> np.ndarray:
    y = x.copy()
    y[indexed(index, arrays)] = value.reshape(()) if value.size == 1 else value
    return y


@st.composite
def written_basic(draw: Any) -> Drawn:
    shape = draw(shapes())
    options = draw_basic(draw, shape)
    part = np.zeros(shape)[options["index"]].shape
    lost = draw(st.integers(0, len(part)))
    value = tuple(draw(st.sampled_from([n, 1])) for n in part[lost:])
    return draw(floats(shape, value)), options


@st.composite
def gathered(draw: Any) -> Drawn:
    shape = tuple(draw(st.lists(st.sampled_from([2, 3, 1]), min_size=0, max_size=3)))
    at = an_axis(draw, shape)
    dim = at % len(shape) if shape else 0
    size = tuple(draw(st.integers(0, 4 if i == dim else n)) for i, n in enumerate(shape))
    n = shape[dim] if shape else 1
    index = np.random.default_rng(draw(st.integers(0, 99))).integers(0, n, size)
    return [*draw(floats(shape)), np.asarray(index)], {"dim": at}


def np_gather(x: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray:
    out = np.empty(index.shape)
    for place in np.ndindex(index.shape):
        source = list(place)
        if source:
            source[dim] = index[place]
        out[place] = x[tuple(source)]
    return out


@st.composite
def joined(draw: Any, same: bool) -> Drawn:
    shape = draw(shapes(0 if same else 1))
    dim = an_axis(draw, shape, extra=1 if same else 0)
    sizes = [shape] * draw(st.integers(1, 3))
    if not same:
        sizes = [tuple(draw(sides) if i == dim % len(s) else n for i, n in enumerate(s)) for s in sizes]
    return draw(floats(*sizes)), {"dim": dim}


@st.composite
def parted(draw: Any, kind: str) -> Drawn:
    shape = draw(shapes(1))
    dim = an_axis(draw, shape)
    n = shape[dim]
    if kind == "chunk":
        part: Any = draw(st.integers(1, 4))
    elif draw(st.booleans()):
        part = draw(st.integers(1, 4))
    else:
        first = draw(st.integers(0, n))
        part = [first, n - first, 0]
    return draw(floats(shape)), {"part": part, "dim": dim}


def in_place(change: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """`change` applied to a copy of the first tensor."""

    def function(lib: Any, x: Any, y: Any) -> Any:
        z = x.clone()
        out = change(z, y)
        return z if out is None else out

    return function


def iadd(x: Any, y: Any) -> Any:
    x += y
    return x


def isub(x: Any, y: Any) -> Any:
    x -= y
    return x


def imul(x: Any, y: Any) -> Any:
    x *= y
    return x


def idiv(x: Any, y: Any) -> Any:
    x /= y
    return x


@st.composite
def smaller_second(draw: Any, domain: Callable[..., Any] = real) -> Drawn:
    """Two arrays, the second of which broadcasts into the first."""
    shape = draw(shapes())
    lost = draw(st.integers(0, len(shape)))
    size = tuple(draw(st.sampled_from([n, 1])) for n in shape[lost:])
    return draw(floats(shape, size, domains=(real, domain))), {}


@st.composite
def masked(draw: Any, *domains: Callable[..., Any], into_first: bool = False) -> Drawn:
    """A mask first, then arrays; all broadcast."""
    arrays, _ = draw(smaller_second() if into_first else alike(real, *domains))
    if into_first:
        x, mask = arrays
        return [np.asarray(mask > 0), x], {}
    return [np.asarray(arrays[0] > 0), *arrays[1:]], {}


# ---------------------------------------------------------------- the table

CASES = [
    # two operands
    Case("add", lambda lib, x, y: x + y, alike(real, real), np.add),
    Case("sub", lambda lib, x, y: x - y, alike(real, real), np.subtract),
    Case("mul", lambda lib, x, y: x * y, alike(real, real), np.multiply),
    Case("div", lambda lib, x, y: x / y, alike(real, nonzero), np.divide),
    Case("pow", lambda lib, x, y: x**y, alike(positive, real), np.power),
    Case("maximum", lambda lib, x, y: lib.maximum(x, y), alike(real, real), np.maximum),
    Case("minimum", lambda lib, x, y: lib.minimum(x, y), alike(real, real), np.minimum),
    Case("a tensor with itself", lambda lib, x: x * x + x / x - x, one(nonzero), lambda x: x * x + 1 - x),
    # a number on one side
    Case("x + 2", lambda lib, x: x + 2, one(), lambda x: x + 2),
    Case("2.5 + x", lambda lib, x: 2.5 + x, one(), lambda x: 2.5 + x),
    Case("x - 2", lambda lib, x: x - 2, one(), lambda x: x - 2),
    Case("2 - x", lambda lib, x: 2 - x, one(), lambda x: 2 - x),
    Case("x * 0.5", lambda lib, x: x * 0.5, one(), lambda x: x * 0.5),
    Case("3 * x", lambda lib, x: 3 * x, one(), lambda x: 3 * x),
    Case("x / 4", lambda lib, x: x / 4, one(), lambda x: x / 4),
    Case("1 / x", lambda lib, x: 1 / x, one(nonzero), lambda x: 1 / x),
    Case("2 ** x", lambda lib, x: 2**x, one(), lambda x: 2.0**x),
    *[
        Case(f"x ** {n}", lambda lib, x, n=n: x**n, one(nonzero), lambda x, n=n: np.power(x, float(n)))
        for n in (0, 1, 2, 3, 4, -1, -2)
    ],
    *[
        Case(f"x ** {n}", lambda lib, x, n=n: x.pow(n), one(positive), lambda x, n=n: np.power(x, n))
        for n in (0.5, -0.5, 2.5, 2.0)
    ],
    # one operand
    Case("neg", lambda lib, x: -x, one(), np.negative),
    Case("exp", lambda lib, x: x.exp(), one(), np.exp),
    Case("log", lambda lib, x: x.log(), one(positive), np.log),
    Case("sqrt", lambda lib, x: x.sqrt(), one(positive), np.sqrt),
    Case("rsqrt", lambda lib, x: x.rsqrt(), one(positive), lambda x: 1 / np.sqrt(x)),
    Case("tanh", lambda lib, x: x.tanh(), one(), np.tanh),
    Case("sigmoid", lambda lib, x: x.sigmoid(), one(), lambda x: 1 / (1 + np.exp(-x))),
    Case("sin", lambda lib, x: x.sin(), one(), np.sin),
    Case("cos", lambda lib, x: x.cos(), one(), np.cos),
    Case("relu", lambda lib, x: x.relu(), one(), lambda x: np.maximum(x, 0)),
    Case("abs", lambda lib, x: x.abs(), one(), np.abs),
    Case("square", lambda lib, x: x.square(), one(), np.square),
    Case("clip", lambda lib, x: x.clip(-0.75, 0.75), one(), lambda x: np.clip(x, -0.75, 0.75)),
    Case("clip below", lambda lib, x: x.clip(min=0.75), one(), lambda x: np.maximum(x, 0.75)),
    Case("clamp above", lambda lib, x: x.clamp(max=-0.75), one(), lambda x: np.minimum(x, -0.75)),
    Case("where", lambda lib, c, x, y: lib.where(c, x, y), masked(real, real), np.where),
    Case(
        "where a number",
        lambda lib, c, x: lib.where(c, 1.5, x),
        masked(real),
        lambda c, x: np.where(c, 1.5, x),
    ),
    Case(
        "masked_fill",
        lambda lib, mask, x: x.masked_fill(mask, -7.0),
        masked(into_first=True),
        lambda mask, x: np.where(mask, -7.0, x),
    ),
    Case(
        "float",
        lambda lib, x: x.float(),
        one(),
        lambda x: x.astype(np.float32),
        step=0.5,
        tolerance=1e-5,
    ),
    Case("to long and back", lambda lib, x: x * x.long(), one(), lambda x: x * np.trunc(x)),
    Case("expm1", lambda lib, x: x.expm1(), one(), np.expm1),
    Case("log1p", lambda lib, x: x.log1p(), one(positive), np.log1p),
    Case("floor", lambda lib, x: x.floor(), one(), np.floor),
    Case("ceil", lambda lib, x: x.ceil(), one(), np.ceil),
    Case("x % 2.9", lambda lib, x: x % 2.9, one(), lambda x: np.remainder(x, 2.9)),
    Case("topk", lambda lib, x: x.topk(x.shape[-1])[0], one(low=1), lambda x: -np.sort(-x)),
    Case("roll", lambda lib, x: x.roll(1, 0), one(low=1), lambda x: np.roll(x, 1, 0)),
    Case("repeat", lambda lib, x: x.repeat(2, *x.shape), one(), lambda x: np.tile(x, (2, *x.shape))),
    Case("einsum", lambda lib, x, y: lib.einsum("...,...->...", x, y), alike(real, real), np.multiply),
    # without a gradient
    Case("x // 3", lambda lib, x: x // 3, some_integers(1, bools=False), lambda x: x // 3),
    Case("x == y", lambda lib, x, y: x == y, some_integers(2, bools=False), np.equal),
    Case("x != y", lambda lib, x, y: x != y, some_integers(2, bools=False), np.not_equal),
    Case("x < y", lambda lib, x, y: x < y, alike(real, real), np.less),
    Case("x <= y", lambda lib, x, y: x <= y, some_integers(2, bools=False), np.less_equal),
    Case("x > 0", lambda lib, x: x > 0, one(), lambda x: x > 0),
    Case("x >= y", lambda lib, x, y: x >= y, some_integers(2), np.greater_equal),
    Case("x & y", lambda lib, x, y: x & y, some_integers(2), np.bitwise_and),
    Case("x | y", lambda lib, x, y: x | y, some_integers(2), np.bitwise_or),
    Case("x ^ y", lambda lib, x, y: x ^ y, some_integers(2), np.bitwise_xor),
    Case("~x", lambda lib, x: ~x, some_integers(1), np.invert),
    # reductions
    Case("sum", lambda lib, x, **o: x.sum(**o), reduced(), reduce_0d(np.sum)),
    Case("sum of many", lambda lib, x: x.expand(1025, *x.shape).sum(), one(), lambda x: 1025 * np.sum(x)),
    Case("sum of integers", lambda lib, x: x.sum(), some_integers(1), lambda x: x.sum(dtype=np.int64)),
    Case("mean", lambda lib, x, **o: x.mean(**o), reduced(least=1), reduce_0d(np.mean)),
    Case(
        "var",
        lambda lib, x, **o: x.var(**o),
        reduced(least=2),
        lambda x, **o: np.var(x, ddof=1, **np_dims(o)),
    ),
    Case(
        "std of all there is",
        lambda lib, x, **o: x.std(correction=0, **o),
        reduced(least=2),
        lambda x, **o: np.std(x, ddof=0, **np_dims(o)),
    ),
    Case("amax", lambda lib, x, **o: x.amax(**o), reduced(least=1), reduce_0d(np.max)),
    Case("amin", lambda lib, x, **o: x.amin(**o), reduced(least=1), reduce_0d(np.min)),
    Case("max", lambda lib, x: x.max(), one().map(lambda drawn: (nonempty(drawn[0]), {})), np.max),
    Case("min", lambda lib, x: x.min(), one().map(lambda drawn: (nonempty(drawn[0]), {})), np.min),
    Case(
        "max along an axis",
        lambda lib, x, **o: tuple(x.max(**o)),
        reduced(many=False, least=1, must=True),
        lambda x, **o: (reduce_0d(np.max)(x, **o), reduce_0d(np.argmax)(x, **o)),
    ),
    Case(
        "min along an axis",
        lambda lib, x, **o: tuple(x.min(**o)),
        reduced(many=False, least=1, must=True),
        lambda x, **o: (reduce_0d(np.min)(x, **o), reduce_0d(np.argmin)(x, **o)),
    ),
    Case("argmax", lambda lib, x, **o: x.argmax(**o), reduced(many=False, least=1), reduce_0d(np.argmax)),
    Case("argmin", lambda lib, x, **o: x.argmin(**o), reduced(many=False, least=1), reduce_0d(np.argmin)),
    Case(
        "all", lambda lib, x, **o: (x > 0).all(**o), reduced(), reduce_0d(lambda x, **o: np.all(x > 0, **o))
    ),
    Case(
        "any", lambda lib, x, **o: (x > 0).any(**o), reduced(), reduce_0d(lambda x, **o: np.any(x > 0, **o))
    ),
    Case(
        "cumsum",
        lambda lib, x, dim: x.cumsum(dim),
        with_options(lambda draw, shape: {"dim": an_axis(draw, shape)}),
        lambda x, dim: np.cumsum(x, dim) if x.ndim else x,
    ),
    # matrices
    Case("matmul", lambda lib, x, y: x @ y, matrices(), np.matmul),
    # shapes
    Case(
        "reshape",
        lambda lib, x, shape: x.reshape(shape),
        with_options(draw_reshape),
        lambda x, shape: x.reshape(shape),
    ),
    Case(
        "view",
        lambda lib, x, shape: x.clone().contiguous().view(*shape),
        with_options(draw_reshape).filter(lambda drawn: drawn[1]["shape"] != ()),
        lambda x, shape: x.reshape(shape),
    ),
    Case("flatten", lambda lib, x, **o: x.flatten(**o), with_options(draw_flatten), np_flatten),
    Case("squeeze all", lambda lib, x: x.squeeze(), one(), np.squeeze),
    Case("squeeze", lambda lib, x, dim: x.squeeze(dim), with_options(draw_squeeze), np_squeeze),
    Case(
        "unsqueeze",
        lambda lib, x, dim: x.unsqueeze(dim),
        with_options(lambda draw, shape: {"dim": an_axis(draw, shape, extra=1)}),
        lambda x, dim: np.expand_dims(x, dim),
    ),
    Case(
        "permute",
        lambda lib, x, dims: x.permute(dims),
        with_options(draw_order),
        lambda x, dims: x.transpose(dims),
    ),
    Case(
        "transpose",
        lambda lib, x, a, b: x.transpose(a, b),
        with_options(lambda draw, shape: {"a": an_axis(draw, shape), "b": an_axis(draw, shape)}),
        lambda x, a, b: np.swapaxes(x, a, b) if x.ndim else x,
    ),
    Case("mT", lambda lib, x: x.mT, one(low=2), lambda x: np.swapaxes(x, -1, -2)),
    Case("expand", lambda lib, x, sizes: x.expand(sizes), with_options(draw_expand), np_expand),
    Case(
        "flip", lambda lib, x, dims: x.flip(dims), with_options(draw_flip), lambda x, dims: np.flip(x, dims)
    ),
    Case(
        "tril",
        lambda lib, x, diagonal: x.tril(diagonal),
        with_options(lambda draw, shape: {"diagonal": draw(st.integers(-3, 3))}, low=2),
        lambda x, diagonal: np.tril(x, diagonal),
    ),
    Case(
        "triu",
        lambda lib, x, diagonal: x.triu(diagonal),
        with_options(lambda draw, shape: {"diagonal": draw(st.integers(-3, 3))}, low=2),
        lambda x, diagonal: np.triu(x, diagonal),
    ),
    Case("contiguous", lambda lib, x: x.contiguous() * 2, one(), lambda x: x * 2),
    Case("clone", lambda lib, x: x.clone(), one(), np.copy),
    # picking and joining
    Case("x[basic]", lambda lib, x, index: x[index], with_options(draw_basic), lambda x, index: x[index]),
    Case(
        "x[arrays]",
        lambda lib, x, *arrays, index: x[indexed(index, arrays)],
        picked(only_arrays=True),
        lambda x, *arrays, index: x[indexed(index, arrays)],
    ),
    Case("x[arrays and others]", lambda lib, x, *arrays, index: x[indexed(index, arrays)], picked()),
    Case("gather", lambda lib, x, i, dim: x.gather(dim, i), gathered(), np_gather),
    Case(
        "unbind",
        lambda lib, x, dim: x.unbind(dim),
        with_options(lambda draw, shape: {"dim": an_axis(draw, shape)}, low=1),
        lambda x, dim: tuple(np.moveaxis(x, dim, 0)),
    ),
    Case("split", lambda lib, x, part, dim: x.split(part, dim), parted("split")),
    Case("chunk", lambda lib, x, part, dim: x.chunk(part, dim), parted("chunk")),
    Case("cat", lambda lib, *x, dim: lib.cat(x, dim), joined(False), lambda *x, dim: np.concatenate(x, dim)),
    Case("stack", lambda lib, *x, dim: lib.stack(x, dim), joined(True), lambda *x, dim: np.stack(x, dim)),
    # writing
    Case("x[basic] = value", written, written_basic(), np_written),
    Case("x[arrays] = value", written, picked(written=True, unique=True)),
    Case("x += y", in_place(iadd), smaller_second(), np.add),
    Case("x -= y", in_place(isub), smaller_second(), np.subtract),
    Case("x *= y", in_place(imul), smaller_second(), np.multiply),
    Case("x /= y", in_place(idiv), smaller_second(nonzero), np.divide),
    Case("copy_", in_place(lambda x, y: x.copy_(y)), smaller_second(), lambda x, y: y + 0 * x),
    Case("zero_ and more", in_place(lambda x, y: x.zero_() + y), smaller_second(), lambda x, y: y + 0 * x),
]
