"""The stand-in for CuPy: its numbers against NumPy's. Its names are held by tests/course/test_cp_names.py."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import functional_cases
import numpy as np
import pytest
import tensor_cases
from hypothesis import Phase, given, settings
from tensor_cases import Case

import minilib.functional as F
import minilib.optim as optim
import minilib.tensor as lib
from minilib.tensor import DEVICES, Device, Tensor
from warplens.device.allocation import ALIGNMENT, FIRST, MemoryPointer
from warplens.device.names import FUNCTIONS, UFUNCS
from warplens.device.stand_in import cp, ndarray

DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64"]


def same(device: Any, host: Any) -> None:
    """The same shape, dtype and numbers, on the device."""
    assert type(device) is ndarray, type(device)
    host = np.asarray(host)
    assert (device.shape, device.dtype) == (host.shape, host.dtype)
    np.testing.assert_array_equal(device.get(), host)


def numbers(shape: Any, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(0).integers(1, 9, shape).astype(dtype)


# ------------------------------------------------------------------------------------------------- addresses


def test_bases_are_multiples_of_512_and_come_once() -> None:
    kept = [cp.zeros(n, cp.uint8) for n in (0, 1, 511, 512, 513, 0)]
    ranges = sorted((x.data.mem.base, x.data.mem.nbytes) for x in kept)
    assert ranges[0][0] >= FIRST == 0x7000_0000_0000
    for (base, nbytes), (after, _) in pairwise(ranges):
        assert base % ALIGNMENT == 0 and base + nbytes < after
    highest = ranges[-1][0]
    del kept
    gc.collect()
    assert cp.zeros(1).data.ptr > highest


@pytest.mark.parametrize(
    ("view", "offset"),
    [
        (lambda x: x[1], 16),
        (lambda x: x[1, 2], 24),
        (lambda x: x[:, 1:], 4),
        (lambda x: x[::-1], 32),
        (lambda x: x.T, 0),
        (lambda x: x.reshape(4, 3)[2:], 24),
        (lambda x: x.ravel()[5:], 20),
        (lambda x: x[None, ..., 0], 0),
        (lambda x: x.view(cp.int32)[1:], 16),
        (lambda x: cp.broadcast_to(x[2], (5, 4)), 32),
        (lambda x: cp.split(x, 3)[1], 16),
        (lambda x: x[1:][1:].swapaxes(0, 1), 32),
        (lambda x: cp.expand_dims(x[1], 0), 16),
        (lambda x: next(iter(x[2:])), 32),
    ],
)
def test_a_view_keeps_the_memory_and_has_an_offset(view: Callable[[Any], Any], offset: int) -> None:
    x = cp.arange(12, dtype=cp.float32).reshape(3, 4)
    part = view(x)
    assert part.data.mem is x.data.mem and part.base is x.base
    assert part.data.ptr == x.data.ptr + offset == x.data.mem.base + offset


def test_a_base_is_the_array_itself() -> None:
    x = cp.zeros((3, 4))
    assert x.base is None and x[1].base is x and x[1][2:].T.base is x
    assert not x[1].flags.owndata and x.flags.owndata


def test_what_is_computed_has_memory_of_its_own() -> None:
    x = cp.zeros((3, 4))
    for made in (
        x + 1,
        x.copy(),
        x[[0, 1]],
        x[x == 0],
        x.sum(),
        x.astype(cp.float64),
        cp.concatenate([x, x]),
    ):
        assert made.data.mem is not x.data.mem and made.base is None
        assert made.data.ptr == made.data.mem.base


def test_the_bytes_of_an_allocation_are_those_of_the_array() -> None:
    x = cp.arange(6, dtype=cp.int32)
    x.data.mem.bytes.view(np.int32)[2] = 77
    assert x.tolist() == [0, 1, 77, 3, 4, 5]
    turned = cp.asfortranarray(x.reshape(2, 3)) + 1
    assert turned.flags.f_contiguous
    assert turned.data.mem.bytes.view(np.int32).tolist() == turned.get().ravel("F").tolist()


def test_an_array_can_be_made_of_a_pointer() -> None:
    x = cp.arange(6, dtype=cp.float32)
    part = cp.ndarray((2, 2), cp.float32, x.data + 8)
    assert part.tolist() == [[2, 3], [4, 5]] and part.data.ptr == x.data.ptr + 8
    part[0, 0] = 9
    assert x[2] == 9
    assert part[1].data.mem is x.data.mem and part[1].data.ptr == x.data.ptr + 16
    assert isinstance(x.data + 4, MemoryPointer) and (x.data + 4 - 4).ptr == int(x.data)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), 4])
def test_flags_and_strides_are_numpys(shape: Any, dtype: str) -> None:
    x, host = cp.zeros(shape, dtype), np.zeros(shape, dtype)
    for a, b in [(x, host), (x.T, host.T), (x[..., None], host[..., None])]:
        assert (a.strides, a.size, a.nbytes, a.ndim, a.itemsize) == (
            b.strides,
            b.size,
            b.nbytes,
            b.ndim,
            b.itemsize,
        )
        assert a.flags.c_contiguous == a.flags["C_CONTIGUOUS"] == b.flags.c_contiguous
        assert a.flags.f_contiguous == b.flags.f_contiguous and a.flags.forc == b.flags.forc


def test_an_unknown_flag_is_named() -> None:
    with pytest.raises(KeyError, match="WRITEABLE"):
        cp.zeros(1).flags["WRITEABLE"]


# ---------------------------------------------------------------------------------------------------- poison


def test_memory_that_nobody_has_written_is_poisoned() -> None:
    for x in (cp.empty(4), cp.empty_like(cp.ones(4)), cp.ndarray((4,))):
        assert x.data.mem.poisoned and not x.data.mem.written.any()
        assert cp.isnan(x).all()
    assert (cp.empty(4, cp.int32) < -1000).all() and cp.empty(1, cp.bool_).item() is True
    assert not cp.zeros(4).data.mem.poisoned and not cp.asarray([1]).data.mem.poisoned
    assert not cp.empty(0).data.mem.poisoned


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.fill(0),
        lambda x: x.__setitem__(slice(None), 0),
        lambda x: x.__setitem__(cp.array([0, 1, 2, 3]), 0),
        lambda x: x.set(np.zeros(4)),
        lambda x: cp.add(1, 2, out=x),
        lambda x: cp.add(1, 2, x),
        lambda x: cp.copyto(x, 0),
        lambda x: cp.sum(cp.ones((2, 4)), 0, out=x),
        lambda x: cp.sum(cp.ones((2, 4)), 0, None, x),
        lambda x: cp.ones((2, 4)).sum(0, out=x),
        lambda x: x.__imul__(2),
        lambda x: cp.add.at(x, slice(None), 1),
        lambda x: x.reshape(2, 2).T.fill(1),
        lambda x: x.data.mem.wrote(),
    ],
)
def test_a_write_takes_the_poison_away(write: Callable[[Any], Any]) -> None:
    x = cp.empty(4)
    write(x)
    assert not x.data.mem.poisoned


def test_only_what_was_written_counts_as_written() -> None:
    x = cp.empty((2, 3), cp.float32)
    x[0, 1:] = 1
    x.T[0] = 2
    expected = [[True, True, True], [True, False, False]]
    assert x.data.mem.written.reshape(2, 3, 4).all(-1).tolist() == expected
    assert x.data.mem.written.reshape(2, 3, 4).any(-1).tolist() == expected
    x[cp.isnan(x)] = 3
    assert not x.data.mem.poisoned and x.tolist() == [[2, 1, 1], [2, 3, 3]]


@pytest.mark.parametrize(
    "index",
    [
        (..., 0), (0, ...), (slice(None, None, -1), 1), (..., slice(1, None), 2), ([0, 1], [2, 0]), (None, 1),
        ((True, False),), (slice(0, 0),), (1, 1), (..., None, 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("turn", [lambda x: x, lambda x: x.T, lambda x: x[::-1], lambda x: x[:, 1:]])
def test_a_write_at_any_index_counts_where_it_went(index: Any, turn: Callable[[Any], Any]) -> None:
    x = cp.empty((3, 3), cp.int16)
    try:
        turn(x)[index] = 5
    except IndexError:  # not all indices fit all views
        pytest.skip("out of range")
    assert ((x == 5).get()[..., None] == x.data.mem.written.reshape(3, 3, 2)).all()


# -------------------------------------------------------------------------------------- to and from the host


def test_numpy_does_not_take_a_device_array_by_itself() -> None:
    x = cp.zeros(3)
    for call in (np.asarray, np.array, np.linalg.norm, np.add.accumulate, lambda a: np.zeros(3) + a):
        with pytest.raises(TypeError):
            call(x)
    with pytest.raises(
        TypeError, match=r"Implicit conversion to a NumPy array is not allowed\. Please use `.get"
    ):
        np.asarray(x)


def test_elementwise_functions_of_numpy_go_to_the_device() -> None:
    """CuPy's arrays take them too."""
    x, out = cp.array([1.0, 4.0]), cp.empty(2)
    same(np.sqrt(x), np.array([1.0, 2.0]))
    assert np.multiply(x, x, out=out) is out and out.tolist() == [1, 16]
    same(np.matmul(x, x), np.float64(17))
    same(np.divmod(x, 3)[1], np.array([1.0, 1.0]))
    with pytest.raises(TypeError):
        np.add(x, x, out=np.empty(2))


HOST = np.ones(3)


@pytest.mark.parametrize(
    "mix",
    [
        lambda x: x + HOST,
        lambda x: HOST + x,
        lambda x: HOST @ x,
        lambda x: x == HOST,
        lambda x: x < HOST,
        lambda x: x.__iadd__(HOST),
        lambda x: x.__setitem__(0, HOST[0:1]),
        lambda x: x.__setitem__(slice(None), HOST),
        lambda x: cp.exp(HOST),
        lambda x: cp.add(x, HOST),
        lambda x: cp.add(x, x, out=HOST),
        lambda x: cp.maximum(x, [1, 2, 3]),
        lambda x: cp.sum(HOST),
        lambda x: cp.sum([1, 2]),
        lambda x: cp.matmul(x, HOST),
        lambda x: cp.where(x > 0, x, HOST),
        lambda x: cp.where(HOST > 0),
        lambda x: cp.concatenate([x, HOST]),
        lambda x: cp.concatenate([x, [1.0]]),
        lambda x: cp.einsum("i,i", x, HOST),
        lambda x: cp.zeros_like(HOST),
        lambda x: cp.empty_like(HOST),
        lambda x: cp.allclose(x, HOST),
        lambda x: cp.array_equal(x, HOST),
        lambda x: x.dot(HOST),
        lambda x: cp.take(x, np.array([0])),
        lambda x: cp.bincount(np.array([1])),
        lambda x: cp.copyto(x, HOST),
    ],
)
def test_arrays_of_the_host_do_not_mix_with_those_of_the_device(mix: Callable[[Any], Any]) -> None:
    x = cp.zeros(3)
    with pytest.raises(TypeError):
        mix(x)
    assert x.tolist() == [0, 0, 0]


def test_the_message_of_a_mix_says_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"Unsupported type <class 'numpy.ndarray'>.*cp\.asarray"):
        cp.zeros(3) + HOST
    with pytest.raises(TypeError, match=r"sum: a must be a device array, not list: use cp\.asarray"):
        cp.sum([1])


@pytest.mark.parametrize(
    "source", [3, 2.5, True, [1, 2], [[1.0], [2.0]], np.arange(4, dtype=np.int8), np.float32(2)]
)
def test_arrays_come_from_the_host_as_copies(source: Any) -> None:
    for make in (cp.array, cp.asarray, cp.asanyarray):
        x = make(source)
        same(x, np.array(source))
        if isinstance(source, np.ndarray):
            x.fill(0)
            assert source.any()


def test_asarray_gives_back_what_is_there_already() -> None:
    x = cp.arange(6).reshape(2, 3)
    assert cp.asarray(x) is x and cp.asarray(x, cp.int64) is x and cp.ascontiguousarray(x) is x
    same(cp.asarray(x, cp.float32), np.arange(6, dtype=np.float32).reshape(2, 3))
    assert cp.array(x) is not x and cp.array(x).data.mem is not x.data.mem
    assert cp.ascontiguousarray(x.T).flags.c_contiguous
    same(cp.array([x[0], x[1]]), np.arange(6).reshape(2, 3))


@pytest.mark.parametrize("bad", ["text", [None], object(), np.array(["a"]), np.zeros(1, "datetime64[s]")])
def test_only_numbers_go_to_the_device(bad: Any) -> None:
    with pytest.raises(ValueError, match="Unsupported dtype"):
        cp.asarray(bad)


def test_get_and_asnumpy_copy() -> None:
    x = cp.arange(6).reshape(2, 3)
    for host in (x.get(), cp.asnumpy(x)):
        assert type(host) is np.ndarray and host.tolist() == [[0, 1, 2], [3, 4, 5]]
        host[:] = 0
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x.T.get().flags.c_contiguous
    out = np.empty((2, 3), np.int64)
    assert x.get(out=out) is out and out[1, 2] == 5
    assert cp.asnumpy([1, 2]).tolist() == [1, 2]
    with pytest.raises(ValueError, match="out must be int64 of shape"):
        x.get(out=np.empty(3))


def test_set_wants_the_same_dtype_and_shape() -> None:
    x = cp.zeros(3, cp.float32)
    x.set(np.arange(3, dtype=np.float32))
    assert x.tolist() == [0, 1, 2]
    for bad, error in [
        (np.zeros(3), TypeError),
        (np.zeros(2, np.float32), ValueError),
        ([1, 2, 3], TypeError),
    ]:
        with pytest.raises(error):
            x.set(bad)


def test_one_number_goes_to_python_when_it_is_asked_for() -> None:
    x = cp.array([1.5, 2.5], cp.float32)
    total = x.sum()
    same(total, np.float32(4))
    assert (total.item(), float(total), int(total), bool(total), f"{total:.2f}") == (
        4.0,
        4.0,
        4,
        True,
        "4.00",
    )
    assert range(5)[cp.array(3)] == 3 and complex(total) == 4
    assert type(total.item()) is float
    assert 0 <= x.min() <= x.max() < 3
    for call in (bool, float, int):
        with pytest.raises(ValueError):
            call(x)


def test_a_device_array_shows_itself_as_numpy_does() -> None:
    x = cp.arange(3)
    assert (repr(x), str(x)) == ("array([0, 1, 2])", "[0 1 2]")


def test_copies_and_pickles_are_equal_and_separate() -> None:
    x = cp.arange(3)
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        same(other, np.arange(3))
        assert other.data.mem is not x.data.mem


def test_device_arrays_have_no_hash_and_do_iterate() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(cp.zeros(1))
    assert [float(v) for v in cp.arange(3)] == [0, 1, 2] and len(cp.zeros((4, 2))) == 4
    for call in (len, iter):
        with pytest.raises(TypeError):
            call(cp.array(1))


# --------------------------------------------------------------------------------- the same numbers as NumPy


@pytest.mark.parametrize("name", UFUNCS)
def test_elementwise_functions_are_numpys(name: str) -> None:
    function = getattr(np, name)
    kind = next((k for k in "fi" if any(set(t.partition("->")[0]) <= set(k) for t in function.types)), "?")
    hosts = [numbers((2, 3), {"f": np.float32, "i": np.int32, "?": bool}[kind]) for _ in range(function.nin)]
    if name == "ldexp":
        hosts[1] = hosts[1].astype(np.int32)
    if name in ("arcsin", "arccos", "arctanh"):
        hosts = [h / 10 for h in hosts]
    expected, got = function(*hosts), getattr(cp, name)(*map(cp.asarray, hosts))
    for a, b in zip(got, expected) if function.nout > 1 else [(got, expected)]:
        same(a, b)
    if function.nin == 2 and function.nout == 1 and name != "ldexp":
        number = hosts[1].flat[0].item()
        same(getattr(cp, name)(cp.asarray(hosts[0]), number), function(hosts[0], number))
        out = cp.empty(got.shape, got.dtype)
        assert getattr(cp, name)(*map(cp.asarray, hosts), out=out) is out
        same(out, expected)


OPERATORS = "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()  # noqa: SIM905


@pytest.mark.parametrize("name", [*OPERATORS, "divmod", "matmul", "eq", "ne", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize("other", [2, np.int32(3), None])
def test_operators_are_numpys(name: str, other: Any) -> None:
    host = numbers((3, 3), np.int32)
    if name == "matmul" and other is not None:
        pytest.skip("a matrix product has no numbers")
    right = cp.asarray(host.T) if other is None else other
    plain = host.T if other is None else other
    forms = [f"__{name}__"] + ([f"__r{name}__"] if hasattr(np.ndarray, f"__r{name}__") else [])
    for form in forms:
        got, expected = getattr(cp.asarray(host), form)(right), getattr(host, form)(plain)
        for a, b in zip(got, expected) if isinstance(expected, tuple) else [(got, expected)]:
            same(a, b)
    if name in OPERATORS and name != "truediv":
        x, y = cp.asarray(host), host.copy()
        before = x
        x, y = getattr(x, f"__i{name}__")(right), getattr(y, f"__i{name}__")(plain)
        assert x is before
        same(x, y)


def test_numbers_of_either_side_stand_on_either_side() -> None:
    x = cp.array([1.0, 2.0], cp.float32)
    for got in (x * 2, 2 * x, x * 2.0, 2.0 * x, np.float32(2) * x, x * np.float32(2), x + x):
        same(got, np.array([2, 4], np.float32))
    same(np.float64(2) * x, np.array([2.0, 4.0]))
    same(1 - x, np.array([0, -1], np.float32))
    same(-x, np.array([-1, -2], np.float32))
    same(~(x > 1), np.array([True, False]))
    same(abs(-x), np.array([1, 2], np.float32))
    same(cp.exp(0.0), np.float64(1))


def test_what_does_not_know_device_arrays_gets_its_chance() -> None:
    class Right:
        def __rmul__(self, other: Any) -> str:
            return "right"

    assert cp.zeros(2) * Right() == "right"
    assert (cp.zeros(2) == "text") is False and (cp.zeros(2) != None) is True  # noqa: E711
    with pytest.raises(TypeError):
        cp.zeros(2) + "text"
    with pytest.raises(TypeError):
        _ = cp.zeros(2) * [1, 2]


x, y, k = numbers((2, 3)), numbers((3, 4)), np.array([[0, 2, 1], [1, 0, 2]])
CALLS: list[tuple[str, Callable[[Any, Callable[[Any], Any]], Any]]] = [
    (text, eval(f"lambda xp, to: {text}", {"x": x, "y": y, "k": k, "np": np}))
    for text in """
        xp.zeros((2, 3), xp.float32)
        xp.ones(3)
        xp.full((2,), 7, dtype=xp.int32)
        xp.zeros_like(to(x))
        xp.ones_like(to(x), dtype=xp.int8)
        xp.full_like(to(x), 2.5)
        xp.arange(5)
        xp.arange(1, 7, 2, dtype=xp.float32)
        xp.linspace(0, 1, 5)
        xp.eye(3)
        xp.identity(2, xp.float32)
        xp.tril(to(x))
        xp.triu(to(x), k=1)
        xp.diag(to(x)[0])
        xp.meshgrid(xp.arange(2), xp.arange(3), indexing="ij")[1]
        xp.sum(to(x), axis=1, keepdims=True)
        xp.sum(to(x))
        xp.sum(to(k), dtype=xp.float64)
        xp.prod(to(x), axis=0)
        xp.mean(to(x), axis=(0, 1))
        xp.var(to(x), axis=0, ddof=1)
        xp.std(to(x))
        xp.max(to(x), axis=0)
        xp.min(to(x))
        xp.argmax(to(x), axis=1)
        xp.argmin(to(x))
        xp.all(to(x) > 3, axis=1)
        xp.any(to(x) > 3)
        xp.cumsum(to(x), axis=1)
        xp.cumprod(to(x), axis=0)
        xp.count_nonzero(to(x) > 3)
        xp.median(to(x))
        xp.where(to(x) > 4, to(x), 0)
        xp.where(to(x) > 4)[0]
        xp.clip(to(x), 2, 5)
        xp.clip(to(x), a_min=2, a_max=None)
        xp.round(to(x) / 3, 1)
        xp.isclose(to(x), 3)
        xp.take(to(x), to(k), axis=1)
        xp.take(to(x), 1, axis=0)
        xp.take_along_axis(to(x), to(k), 1)
        xp.take_along_axis(to(x), to(k), axis=1)
        xp.nonzero(to(x) > 4)[1]
        xp.diagonal(to(x))
        xp.trace(to(x))
        xp.concatenate([to(x), to(x)], axis=1)
        xp.concatenate((to(x), to(x)))
        xp.stack([to(x), to(x)], axis=-1)
        xp.vstack([to(x), to(x)])
        xp.hstack([to(x), to(x)])
        xp.split(to(x), 3, axis=1)[2]
        xp.broadcast_to(to(x)[0], (4, 3))
        xp.reshape(to(x), (3, -1))
        xp.ravel(to(x))
        xp.transpose(to(x))
        xp.transpose(to(x), (1, 0))
        xp.swapaxes(to(x), 0, 1)
        xp.moveaxis(to(x), 0, 1)
        xp.expand_dims(to(x), 1)
        xp.squeeze(to(x)[:1])
        xp.flip(to(x), 0)
        xp.roll(to(x), 1, axis=1)
        xp.repeat(to(x), 2, axis=0)
        xp.tile(to(x), (2, 1))
        xp.pad(to(x), ((1, 0), (0, 2)))
        xp.pad(to(x), 1, mode="constant", constant_values=7)
        xp.dot(to(x), to(y))
        xp.inner(to(x), to(x))
        xp.outer(to(x)[0], to(x)[1])
        xp.tensordot(to(x), to(y), axes=1)
        xp.matmul(to(x), to(y))
        xp.matmul(to(x)[0], to(x)[1])
        xp.einsum("ij,jk->ik", to(x), to(y))
        xp.einsum("ij->", to(x))
        xp.sort(to(x), axis=0)
        xp.argsort(to(x), axis=1)
        xp.unique(to(x))
        xp.searchsorted(xp.sort(to(x)[0]), to(x)[1])
        xp.bincount(to(k).ravel(), minlength=5)
        xp.histogram(to(x), bins=4)[0]
        xp.nan_to_num(to(x) / 0 * 0)
        xp.newaxis is None and to(x)[xp.newaxis]
        to(x) @ to(y)
        to(x)[0, 1]
        to(x)[..., 1]
        to(x)[1, None, ::2]
        to(x)[to(x) > 4]
        to(x)[[1, 0, 1]]
        to(x)[to(k)[0] - 1, to(k)[1]]
        to(x)[:, to(k)[0]]
        to(x)[[]]
        to(x).sum(axis=0, keepdims=True)
        to(x).sum()
        to(x).mean(1)
        to(x).max(axis=1)
        to(x).argmax(-1, keepdims=True)
        to(x).reshape(3, 2)
        to(x).reshape((3, 2))
        to(x).reshape(-1)
        to(x).transpose()
        to(x).transpose(1, 0)
        to(x).T
        to(x).astype(xp.float64)
        to(x).astype("int32", copy=False)
        to(x).copy()
        to(x).flatten()
        to(x).squeeze()
        to(x).clip(2, 5)
        to(x).clip(min=2)
        to(x).cumsum(0)
        to(x).var(axis=1, ddof=1)
        to(x).take(to(k)[0], axis=1)
        to(x).dot(to(y))
        to(x).repeat(2)
        to(x).argsort(axis=0)
        to(x).any(axis=0)
        to(x).nonzero()[0]
        to(x).round(1)
        to(x).swapaxes(0, 1)
        xp.add.reduce(to(x))
        xp.multiply.outer(to(x)[0], to(x)[1])
    """.strip().splitlines()
    for text in [text.strip()]
]


@pytest.mark.parametrize(("text", "call"), CALLS, ids=[text for text, _ in CALLS])
@pytest.mark.filterwarnings("ignore:invalid value|divide by zero")
def test_functions_are_numpys(text: str, call: Callable[[Any, Any], Any]) -> None:
    same(call(cp, cp.asarray), call(np, np.asarray))


def test_every_function_of_numbers_is_called_here() -> None:
    """Each name of the table is a function of NumPy's, and no keyword of it is refused there."""
    for name, words in FUNCTIONS.items():
        function = getattr(np, name)
        for keyword in named(words):
            try:
                parameters = inspect.signature(function).parameters
            except ValueError:  # written in C
                continue
            takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
            assert keyword in parameters or takes_all, (name, keyword)


def named(words: list[str]) -> list[str]:
    """The parameters of a line of the table that can be given by name."""
    after = words[words.index("/") + 1 :] if "/" in words else words
    return [word.rstrip("!?[]") for word in after if not word.startswith("*")]


def test_comparisons_of_whole_arrays_stay_on_the_device() -> None:
    a = cp.array([1.0, 2.0])
    for got in (cp.allclose(a, a), cp.allclose(a, 1.5), cp.array_equal(a, a)):
        assert type(got) is ndarray and got.shape == () and got.dtype == bool
    assert cp.allclose(a, a) and not cp.allclose(a, 1.5) and not cp.array_equal(a, a + 1)
    assert cp.may_share_memory(a, a[1:]) is True and cp.may_share_memory(a, a.copy()) is False


def test_shapes_and_dtypes_stay_with_python() -> None:
    a = cp.zeros((2, 3), cp.int8)
    assert (cp.ndim(a), cp.shape(a), cp.size(a)) == (2, (2, 3), 6)
    assert cp.result_type(a, cp.float32) == np.float32 and cp.float32 is np.float32
    assert (cp.pi, cp.newaxis) == (np.pi, None) and cp.isnan(cp.nan) and cp.iinfo(cp.int8).max == 127


def test_writing_into_parts() -> None:
    a, host = cp.zeros((3, 4)), np.zeros((3, 4))
    for array, to in ((a, cp.asarray), (host, np.asarray)):
        array[0] = 1
        array[:, 1] = to([5.0, 6.0, 7.0])
        array[to([1, 2]), to([2, 3])] = 9
        array[array == 0] = -1
        array[[2], 0] = 4
        array[1:, 2:] += 10
        array[0, 0] *= 3
        array.T[3, 0] = 8
    same(a, host)
    b = a[1]
    b[...] = 0
    assert not a[1].any()


def test_add_at_counts_repeated_indices() -> None:
    a = cp.zeros(3)
    cp.add.at(a, cp.array([0, 0, 2]), 1)
    assert a.tolist() == [2, 0, 1]
    cp.copyto(a, cp.ones(3), where=cp.array([True, False, False]))
    assert a.tolist() == [1, 0, 1]
    b = cp.array([3, 1, 2])
    b.sort()
    assert b.tolist() == [1, 2, 3]


def test_an_index_out_of_range_raises() -> None:
    """CuPy goes round the end for arrays of indices; here it is an error, as in NumPy."""
    with pytest.raises(IndexError):
        cp.zeros(3)[cp.array([3])]
    with pytest.raises(IndexError):
        cp.zeros(3)[3]


def test_out_is_what_comes_back() -> None:
    out = cp.empty(2)
    assert cp.sum(cp.ones((3, 2)), axis=0, out=out) is out and out.tolist() == [3, 3]
    assert cp.multiply(out, 2, out=out) is out and out.tolist() == [6, 6]
    assert cp.matmul(cp.ones((2, 2)), out.copy(), out=out) is out and out.tolist() == [12, 12]
    assert cp.add.reduce(cp.ones((3, 2)), out=out) is out and out.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda a: cp.sum(a, where=a > 0),
            r"sum: there is no 'where' in CuPy; it has \(a, axis, dtype, out, keepdims",
        ),
        (lambda a: a.max(initial=0), "max: there is no 'initial' in CuPy"),
        (lambda a: cp.argmax(a, 0, None), "argmax: takes 2 positional arguments, got 3"),
        (lambda a: cp.zeros((2,), like=a), "zeros: there is no 'like'"),
        (lambda a: cp.exp(a, a, a), "exp: takes 1 arguments, got 3"),
        (lambda a: cp.add(a), "add: takes 2 arguments, got 1"),
    ],
)
def test_what_only_numpy_takes_is_refused(call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        call(cp.zeros(2))


def test_a_missing_name_says_so() -> None:
    with pytest.raises(
        AttributeError, match=r"cp\.polyfit: CuPy is not here, and its stand-in has no 'polyfit'"
    ):
        _ = cp.polyfit
    assert not hasattr(cp, "polyfit") and "zeros" in dir(cp) and "_array" not in dir(cp)


def test_the_fourier_transform_is_numpys() -> None:
    x = np.random.default_rng(0).normal(size=(2, 6))
    found = cp.fft.rfft(cp.asarray(x), 8, axis=-1)
    assert isinstance(found, cp.ndarray)
    np.testing.assert_array_equal(cp.asnumpy(found), np.fft.rfft(x, 8))
    np.testing.assert_array_equal(cp.asnumpy(cp.fft.irfft(found, 8)), np.fft.irfft(np.fft.rfft(x, 8), 8))


def test_get_array_module_tells_the_two_apart() -> None:
    assert cp.get_array_module(cp.zeros(1)) is cp and cp.get_array_module(np.zeros(1), 3) is np
    assert cp.get_array_module(1, cp.zeros(1)) is cp


# ------------------------------------------------------------------------------------------- random and cuda


def test_random_numbers_repeat_with_their_seed() -> None:
    for draw in (
        lambda: cp.random.rand(3, 2),
        lambda: cp.random.randn(4),
        lambda: cp.random.standard_normal((2, 2), dtype=cp.float32),
        lambda: cp.random.normal(1.0, 2.0, (3,)),
        lambda: cp.random.uniform(-1, 1, 5),
        lambda: cp.random.randint(0, 9, (2, 5)),
        lambda: cp.random.permutation(6),
        lambda: cp.random.permutation(cp.arange(6)),
        lambda: cp.random.choice(10, 4),
        lambda: cp.random.choice(cp.arange(5), (2, 2)),
        lambda: cp.random.random_sample((2,)),
    ):
        cp.random.seed(5)
        first, second = draw(), draw()
        cp.random.seed(5)
        again = draw()
        assert type(first) is ndarray and (first == again).all()
        assert first.shape == second.shape
    assert cp.random.rand(3, dtype=cp.float32).dtype == cp.float32
    assert cp.random.randint(3, size=4, dtype=cp.int32).dtype == cp.int32
    a = cp.arange(5)
    cp.random.shuffle(a)
    assert sorted(a.tolist()) == [0, 1, 2, 3, 4]


def test_a_generator_has_a_stream_of_its_own() -> None:
    one, two = cp.random.default_rng(3), cp.random.default_rng(3)
    cp.random.seed(1)
    assert (one.standard_normal((2, 3)) == two.standard_normal((2, 3))).all()
    assert one.random(4, dtype=cp.float32).dtype == cp.float32 and one.random().shape == ()
    assert one.integers(0, 5, 10).max() < 5 and one.uniform(2, 3, 4).min() >= 2
    assert one.exponential(2.0, 3).shape == (3,)


def test_devices_streams_and_events_do_nothing_well() -> None:
    with cp.cuda.Device(0) as device, cp.cuda.Stream(non_blocking=True) as stream:
        device.synchronize()
        stream.synchronize()
    start, end = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    cp.cuda.Stream.null.record(end)
    end.synchronize()
    cp.cuda.runtime.deviceSynchronize()
    assert 0 <= cp.cuda.get_elapsed_time(start, end) < 1000
    assert cp.zeros(1).device == cp.cuda.Device(0) and not cp.cuda.is_available()
    with pytest.raises(ValueError, match="no device 1"):
        cp.cuda.Device(1)
    with pytest.raises(RuntimeError, match="not recorded"):
        cp.cuda.get_elapsed_time(cp.cuda.Event(), end)


def test_a_pool_says_what_arrays_hold() -> None:
    gc.collect()  # what others left in circles
    pool = cp.get_default_memory_pool()
    before = pool.used_bytes()
    x = cp.zeros(1000, cp.float32)
    y = x[:10]  # a view holds nothing of its own
    assert pool.used_bytes() - before == pool.total_bytes() - before == 4096
    del x
    assert pool.used_bytes() - before == 4096
    del y
    assert pool.used_bytes() == before and pool.free_bytes() == 0
    z = cp.empty(1)
    assert pool.used_bytes() - before == 512 and z.nbytes == 8


# ---------------------------------------------------------------------------------------------- under Tensor


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    made = Device("cuda", cp, cp.asarray, cp.asnumpy)
    monkeypatch.setitem(DEVICES, ndarray, made)
    return made


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name) for case in (*tensor_cases.CASES, *functional_cases.CASES)],
)
def test_every_operation_runs_on_device_arrays(case: Case, device: Device) -> None:
    @settings(max_examples=3, derandomize=True, deadline=None, database=None, phases=[Phase.generate])
    @given(case.inputs)
    def check(drawn: Any) -> None:
        arrays, options = drawn
        here = [Tensor(x, requires_grad=x.dtype.kind == "f") for x in arrays]
        away = [Tensor(cp.asarray(x), requires_grad=x.dtype.kind == "f") for x in arrays]
        outs = [case.function(lib, *inputs, **options) for inputs in (here, away)]
        for a, b in zip(*[out if isinstance(out, tuple) else (out,) for out in outs]):
            assert type(b.data) is ndarray and b.device == "cuda"
            assert a.dtype == b.dtype
            np.testing.assert_allclose(b.data.get(), a.data, rtol=1e-10, atol=1e-12)
            if a.requires_grad:
                a.backward(lib.ones_like(a), retain_graph=True)
                b.backward(lib.ones_like(b), retain_graph=True)
        for p, q in zip(here, away):
            assert (p.grad is None) == (q.grad is None)
            if p.grad is not None and q.grad is not None:
                assert type(q.grad.data) is ndarray
                np.testing.assert_allclose(q.grad.data.get(), p.grad.data, rtol=1e-10, atol=1e-12)

    check()


def test_a_small_network_learns_on_the_device_as_on_the_host(device: Device) -> None:
    rng = np.random.default_rng(0)
    shapes = {"x": (8, 4), "w": (4, 5), "b": (5,)}
    data = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    targets = np.eye(5)[rng.integers(0, 5, 8)]
    losses = []
    for to in (np.asarray, cp.asarray):
        x = Tensor(to(data["x"]))
        w, b = (Tensor(to(data[name]).copy(), requires_grad=True) for name in "wb")
        optimizer = optim.Adam([w, b], lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            loss = -(F.log_softmax((x @ w + b).tanh(), dim=1) * Tensor(to(targets))).sum() / 8
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
        assert w.grad is not None and type(w.grad.data) is type(x.data)
    assert losses[0] == pytest.approx(losses[1], rel=1e-10) and losses[0] < 1.6
