"""minilib.tensor and PyTorch, asked the same: numbers, gradients, dtypes, shared memory and refusals."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensor_cases import CASES, Case

import minilib.tensor as lib
from minilib.tensor import Tensor
from parity.peer import torch

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*degrees of freedom"),
    pytest.mark.filterwarnings("ignore:grad and param do not obey"),
]
quick = settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


def each(cases: list[Case], **bugs: str) -> pytest.MarkDecorator:
    """Run a test over `cases`; `bugs` names those that fail until they are mended."""
    marks = {name: [pytest.mark.xfail(strict=True, reason=why)] for name, why in bugs.items()}
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=case.name, marks=marks.get(case.name, [])) for case in cases]
    )


def dtype_name(x: Any) -> str:
    return str(x.dtype).removeprefix("torch.")


def numbers(x: Any) -> np.ndarray:
    return x.detach().numpy() if isinstance(x, torch.Tensor) else x.data


def assert_same(ours: Any, theirs: Any, rtol: float = 1e-10) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert dtype_name(ours) == dtype_name(theirs)
    rtol = max(rtol, {"float32": 1e-5, "float16": 1e-2}.get(dtype_name(ours), 0))
    np.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=rtol, atol=rtol)


def as_tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, tuple | list) else (x,)


# ---------------------------------------------------------------- every operation


@each(CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_gradients_dtypes_and_shapes_equal(case: Case, dtype: str) -> None:
    @settings(quick, max_examples=12 if dtype == "float64" else 4)
    @given(case.inputs, st.integers(0, 99))
    def check(drawn: Any, seed: int) -> None:
        arrays, options = drawn
        arrays = [x.astype(dtype) if x.dtype.kind == "f" else x for x in arrays]
        ours = [Tensor(x, requires_grad=x.dtype.kind == "f") for x in arrays]
        theirs = [torch.tensor(x.copy(), requires_grad=x.dtype.kind == "f") for x in arrays]
        rng = np.random.default_rng(seed)
        outs = (
            as_tuple(case.function(lib, *ours, **options)),
            as_tuple(case.function(torch, *theirs, **options)),
        )
        assert len(outs[0]) == len(outs[1])
        for a, b in zip(*outs):
            assert_same(a, b)
            assert a.requires_grad == b.requires_grad
            if b.requires_grad:
                weight = rng.uniform(0.5, 1.5, a.shape).astype(a.dtype)
                a.backward(Tensor(weight), retain_graph=True)
                b.backward(torch.tensor(weight), retain_graph=True)
        for x, y in zip(ours, theirs):
            assert (x.grad is None) == (y.grad is None)
            if y.grad is not None:
                assert_same(x.grad, y.grad)

    check()


# ---------------------------------------------------------------- dtypes

DTYPES = ["bool", "uint8", "int32", "int64", "float16", "float32", "float64"]
NUMBERS = {"a bool": True, "an int": 2, "a float": 2.0}
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    "<": operator.lt,
    "==": operator.eq,
}


def tensor_of(library: Any, data: Any, grad: bool = False, dtype: str | None = None) -> Any:
    """Python floats become float32 in both."""
    array = np.array(data, dtype)
    if dtype is None and array.dtype == np.float64:
        array = array.astype(np.float32)
    return library.tensor(array, requires_grad=grad)


def operands() -> list[tuple[str, Any]]:
    """Arrays and 0-d arrays of each dtype, and Python numbers: (name, what makes it in a library)."""
    made: list[tuple[str, Any]] = []
    for dtype in DTYPES:
        made.append((f"{dtype} array", lambda library, d=dtype: tensor_of(library, [1, 1], dtype=d)))
        made.append((f"{dtype} 0-d", lambda library, d=dtype: tensor_of(library, 1, dtype=d)))
    return made + [(name, lambda library, n=number: n) for name, number in NUMBERS.items()]


def refused_for_booleans(symbol: str, pair: tuple[str, str]) -> bool:
    """PyTorch has no `-` with booleans and no power of two; NumPy counts."""
    bools = [name.startswith(("bool", "a bool")) for name in pair]
    return (symbol == "-" and any(bools)) or (symbol == "**" and all(bools))


@pytest.mark.parametrize("symbol", OPERATORS)
def test_two_operands_promote_alike(symbol: str) -> None:
    for (a, left), (b, right) in itertools.product(operands(), operands()):
        if (a in NUMBERS and b in NUMBERS) or refused_for_booleans(symbol, (a, b)):
            continue
        results = []
        for library in (lib, torch):
            results.append(OPERATORS[symbol](left(library), right(library)))
        ours, theirs = results
        assert dtype_name(ours) == dtype_name(theirs), f"{a} {symbol} {b}"
        assert_same(ours, theirs)


def test_result_type_is_pytorchs() -> None:
    for (a, left), (b, right) in itertools.product(operands(), operands()):
        if not (a in NUMBERS and b in NUMBERS):
            ours, theirs = (
                lib.result_type(left(lib), right(lib)),
                torch.result_type(left(torch), right(torch)),
            )
            assert str(ours) == str(theirs).removeprefix("torch."), f"{a}, {b}"


@pytest.mark.parametrize("join", ["cat", "stack", "where", "maximum"])
def test_joining_promotes_alike(join: str) -> None:
    def run(library: Any, a: str, b: str) -> Any:
        x, y = tensor_of(library, [1, 1], dtype=a), tensor_of(library, [1, 0], dtype=b)
        if join in ("cat", "stack"):
            return getattr(library, join)([x, y])
        return library.where(x == y, x, y) if join == "where" else library.maximum(x, y)

    for a, b in itertools.product(DTYPES, DTYPES):
        assert_same(run(lib, a, b), run(torch, a, b))


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_operand_keeps_or_lifts_its_dtype_alike(dtype: str) -> None:
    def run(library: Any) -> list[Any]:
        x = tensor_of(library, [1, 0, 1], dtype=dtype)
        results = [x.sum(), x.cumsum(0), x.exp(), x.sqrt(), x.tanh(), x.sigmoid(), x.sin(), x.amax()]
        results += [x.long(), x.float(), x.double(), library.zeros_like(x), library.ones_like(x), x.flip(0)]
        if dtype != "bool":
            results += [x.relu(), x.abs(), x**2, -x, x.clip(0, 1)]
            results += [x.clip(0.5, 1.5)] if dtype.startswith("float") or dtype == "int64" else []
        if dtype.startswith("float"):
            results += [x.mean(), x.var(), x.std(0), (x + 1).log(), x @ x]
        return results

    for ours, theirs in zip(run(lib), run(torch)):
        assert_same(ours, theirs, rtol=1e-3 if dtype == "float16" else 1e-6)


# ---------------------------------------------------------------- the same facts

INF, NAN = float("inf"), float("nan")
t = tensor_of


def ramp(library: Any, *shape: int, grad: bool = False) -> Any:
    return t(library, np.arange(float(np.prod(shape))).reshape(shape), grad)


def slope(library: Any, data: Any, f: Any) -> Any:
    """What `f` makes of the numbers, and their gradient."""
    x = t(library, data, grad=True)
    y = f(x)
    y.sum().backward()
    return y, x.grad


def slopes(library: Any, first: Any, second: Any, f: Any) -> Any:
    x, y = t(library, first, grad=True), t(library, second, grad=True)
    z = f(x, y)
    z.sum().backward()
    return z, x.grad, y.grad


def changed(x: Any, change: Any) -> Any:
    """`x` after `change`, and what was bound to it before."""
    before = x
    after = change(x)
    return before, x if after is None else after


def put(x: Any, index: Any, value: Any) -> Any:
    x[index] = value
    return x


def grad_of(library: Any) -> Any:
    return library.grad if library is lib else library.autograd.grad


POWERS = [
    (0.0, 0.0), (0.0, 2.0), (0.0, 0.5), (0.0, -1.0), (-2.0, 2.0), (-2.0, 3.0), (-2.0, 0.5), (INF, 0.0),
    (NAN, 0.0), (0.0, 1.0), (2.0, 0.0), (-0.0, 2.0), (0.0, NAN), (NAN, 2.0), (-2.0, -3.0), (4.0, -0.5),
]  # fmt: skip

SAME = {
    # ties, edges and nan
    "max of all shares a tie": lambda L: slope(L, [1.0, 3.0, 3.0], lambda x: x.max()),
    "amax shares a tie": lambda L: slope(L, [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], lambda x: x.amax(1)),
    "amin shares a tie": lambda L: slope(L, [1.0, 1.0, 3.0], lambda x: x.amin()),
    "max along an axis takes the first": lambda L: slope(L, [1.0, 3.0, 3.0], lambda x: x.max(0)[0]),
    "indices of equal numbers": lambda L: (
        t(L, [[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]).min(0)[1],
        t(L, [[1.0, 1.0], [1.0, 1.0]]).max(1)[1],
        t(L, [2.0, 1.0, 2.0]).argmax(),
        t(L, [2.0, 1.0, 1.0]).argmin(0),
    ),
    "maximum shares a tie": lambda L: slopes(L, [1.0, 3.0], [1.0, 2.0], L.maximum),
    "minimum shares a tie": lambda L: slopes(L, [1.0, 3.0], [1.0, 2.0], L.minimum),
    "maximum of nan": lambda L: L.maximum(t(L, [1.0, NAN]), t(L, [NAN, 2.0])),
    "max of nan": lambda L: (t(L, [1.0, NAN, 3.0, NAN]).max(), t(L, [1.0, NAN, NAN]).argmax()),
    "min of nan": lambda L: tuple(t(L, [1.0, NAN, -3.0]).min(0)),
    "abs at 0": lambda L: slope(L, [0.0, -1.0], lambda x: x.abs()),
    "relu at 0": lambda L: slope(L, [0.0, -1.0, 2.0], lambda x: x.relu()),
    "relu of inf and nan": lambda L: t(L, [NAN, INF, -INF]).relu(),
    "relu's gradient at nan": lambda L: slope(L, [NAN, 1.0], lambda x: x.relu()),
    "clip at its edges": lambda L: slope(L, [-1.0, 1.0, 0.0, 2.0, NAN], lambda x: x.clip(-1, 1)),
    "clip with min over max": lambda L: t(L, [1.0, 5.0, 9.0]).clip(6, 3),
    "clip of integers by fractions": lambda L: (t(L, [1, 5]).clip(1.5, 3.5), t(L, [1, 5]).clip(1, 3.5)),
    "sqrt at 0": lambda L: slope(L, [0.0, 4.0], lambda x: x.sqrt()),
    "1 / x at 0": lambda L: slope(L, [0.0, 4.0], lambda x: 1 / x),
    "division by the integer 0": lambda L: t(L, [1, 0, -1]) / t(L, [0, 0, 0]),
    "log of 0 and below": lambda L: t(L, [-1.0, 0.0]).log(),
    "sigmoid far out": lambda L: t(L, [-1e4, -80.0, -20.0, -5.0, 20.0, 1e4, NAN]).sigmoid().log(),
    "sigmoid's gradient far out": lambda L: slope(L, [-1e4, -80.0, -20.0, 20.0], lambda x: x.sigmoid()),
    "where keeps a nan out of the values": lambda L: slope(
        L, [0.0, 1.0], lambda x: L.where(x > 0, x.log(), 0.0)
    ),
    "masked_fill before log": lambda L: slope(L, [0.0, 2.0], lambda x: x.masked_fill(x == 0, 1.0).log()),
    # powers
    "x ** y": lambda L: slopes(L, [x for x, _ in POWERS], [y for _, y in POWERS], lambda x, y: x**y),
    "x ** y without axes": lambda L: [slopes(L, x, y, lambda x, y: x**y) for x, y in POWERS],
    "x ** number": lambda L: [
        slope(L, [0.0, 4.0, -2.0, NAN, INF], lambda x, n=n: x**n) for n in (0, 1, 2, 3, 0.5, -1, -2, 0.0, 4)
    ],
    "number ** x": lambda L: [slope(L, [0.0, 2.0, -1.0, 0.5], lambda x, n=n: n**x) for n in (0, 1, 2, -2.0)],
    "integers to a power": lambda L: (
        t(L, [2, 3]) ** 2,
        t(L, [4, 9]) ** 0.5,
        t(L, [2, 3]) ** 2.0,
        2 ** t(L, [2, 3]),
    ),
    # reductions
    "std and var by correction": lambda L: [
        (ramp(L, 4).std(correction=c), ramp(L, 4).var(0, correction=c)) for c in (0, 1, 2)
    ],
    "std of one number": lambda L: (t(L, [1.0]).std(), t(L, [1.0]).var(), t(L, [1.0]).var(correction=0)),
    "var with more correction than numbers": lambda L: t(L, [1.0, 2.0]).var(correction=5),
    "std of equal numbers": lambda L: slope(L, [2.0, 2.0], lambda x: x.std()),
    "mean of nothing": lambda L: (t(L, np.zeros(0)).mean(), t(L, np.zeros((0, 2))).mean(0)),
    "sum of nothing": lambda L: (t(L, np.zeros(0)).sum(), t(L, np.zeros((2, 0))).sum(1)),
    "all and any of nothing": lambda L: (t(L, np.zeros(0)).all(), t(L, np.zeros(0)).any()),
    "amax along another axis than the empty one": lambda L: t(L, np.zeros((0, 3))).amax(1),
    "max along another axis than the empty one": lambda L: tuple(t(L, np.zeros((0, 3))).max(1)),
    "sum over no axes is over all": lambda L: ramp(L, 2, 3).sum(()),
    "sum by position": lambda L: (ramp(L, 2, 3).sum(0, True), ramp(L, 2, 3).mean((0, 1), True)),
    "keepdim alone": lambda L: ramp(L, 2, 3).sum(dim=None, keepdim=True),
    "an axis of no axes": lambda L: (
        t(L, 1.0).sum(0),
        t(L, 1.0).sum(-1),
        tuple(t(L, 1.0).max(0)),
        t(L, 2.0).argmax(0),
    ),
    "any of nan": lambda L: t(L, [0.0, NAN]).any(),
    # matrices
    "vectors and matrices": lambda L: (
        ramp(L, 3) @ ramp(L, 3),
        ramp(L, 3) @ ramp(L, 3, 2),
        ramp(L, 2, 3) @ ramp(L, 3),
        ramp(L, 4, 2, 3) @ ramp(L, 3),
        ramp(L, 3) @ ramp(L, 4, 3, 2),
        ramp(L, 2, 1, 2, 3) @ ramp(L, 4, 3, 2),
    ),
    "integer matrices": lambda L: t(L, [[1, 2]]) @ t(L, [[2], [3]]),
    "nothing times nothing": lambda L: (
        t(L, np.zeros((2, 0))) @ t(L, np.zeros((0, 3))),
        t(L, np.zeros(0)) @ t(L, np.zeros(0)),
    ),
    # shapes
    "reshape of nothing": lambda L: (
        t(L, np.zeros((0, 3))).reshape(-1, 3),
        t(L, np.zeros((0, 3))).reshape(5, 0),
    ),
    "expand to nothing": lambda L: slope(L, [[1.0, 2.0, 3.0]], lambda x: x.expand(0, 3)),
    "T of a matrix": lambda L: ramp(L, 2, 3).T,
    "squeeze of a longer axis": lambda L: (ramp(L, 1, 3).squeeze(1), ramp(L, 1, 3, 1).squeeze((0, 1))),
    "sizes": lambda L: (
        tuple(ramp(L, 3, 2).size()),
        ramp(L, 3, 2).size(-1),
        ramp(L, 3, 2).dim(),
        ramp(L, 3, 2).numel(),
    ),
    "length and content": lambda L: (len(ramp(L, 3, 2)), 1.0 in t(L, [1.0]), 5 in t(L, [1.0])),
    # picking
    "slices out of range": lambda L: (ramp(L, 3)[5:], ramp(L, 3)[-9:2], ramp(L, 3)[2:1], ramp(L, 3)[::5]),
    "None and dots": lambda L: (
        ramp(L, 2, 3)[None, :, None, 1:],
        ramp(L, 2, 3)[..., 0],
        ramp(L, 2, 3)[..., None],
    ),
    "no index at all": lambda L: (ramp(L, 2, 3)[()], ramp(L, 2, 3)[...], ramp(L)[()], ramp(L)[...]),
    "True and False": lambda L: (t(L, [1.0, 2.0])[True], t(L, [1.0, 2.0])[False], t(L, 1.0)[t(L, True)]),
    "a list is an array": lambda L: (
        ramp(L, 3, 2)[[0, -1]],
        ramp(L, 3, 2)[[True, False, True]],
        ramp(L, 3, 2)[[0, 1], [1, 0]],
    ),
    "an empty list": lambda L: ramp(L, 3, 2)[[]],
    "an array without axes": lambda L: (
        ramp(L, 3, 2)[t(L, 1)],
        ramp(L, 3, 2)[:, t(L, 1)],
        ramp(L, 3, 2)[0, t(L, -1)],
    ),
    "int32 indices": lambda L: ramp(L, 4)[t(L, [1, 0, 3], dtype="int32")],
    "an integer and an array apart": lambda L: ramp(L, 2, 3, 4)[0, :, t(L, [0, 1])],
    "two arrays apart": lambda L: ramp(L, 2, 3, 4)[t(L, [0, 1]), :, t(L, [0, 1])],
    "an integer between arrays": lambda L: ramp(L, 2, 3, 4)[t(L, [0, 1]), 0, t(L, [0, 1])],
    "None between arrays": lambda L: ramp(L, 2, 3, 4)[t(L, [0, 1]), None, t(L, [0, 1])],
    "a slice, an integer, an array": lambda L: ramp(L, 2, 3, 4)[:, 0, t(L, [0, 1, 1])],
    "a mask and an integer": lambda L: ramp(L, 2, 3, 4)[:, t(L, [True, False, True]), 0],
    "a mask and an array": lambda L: ramp(L, 2, 3, 4)[:, t(L, [True, False, True]), t(L, [0, 1])],
    "masks of two axes": lambda L: (
        ramp(L, 2, 3, 4)[t(L, np.eye(2, 3, dtype=bool))],
        ramp(L, 2, 3, 4)[0, t(L, np.eye(3, 4, dtype=bool))],
    ),
    "a repeated index adds its gradients": lambda L: slope(L, [1.0, 2.0], lambda x: x[t(L, [0, 0, -1, 1])]),
    "gather without axes": lambda L: t(L, 1.0).gather(0, t(L, 0)),
    "split": lambda L: (
        ramp(L, 7).split(3),
        ramp(L, 2, 7).split([3, 0, 4], 1),
        t(L, np.zeros((0, 2))).split(2),
    ),
    "split of nothing": lambda L: (t(L, np.zeros((0, 2))).split(0), t(L, np.zeros((0, 2))).split([])),
    "chunk": lambda L: (
        ramp(L, 7).chunk(5),
        ramp(L, 4).chunk(3),
        ramp(L, 2).chunk(5),
        t(L, np.zeros(0)).chunk(2),
    ),
    "cat of other dtypes": lambda L: L.cat([t(L, [1.0]), t(L, [1]), t(L, [1.0], dtype="float64")]),
    "stack of numbers": lambda L: (
        L.stack([t(L, 1), t(L, True)]),
        L.stack([t(L, 1.0), t(L, 1.0, dtype="float64")]),
    ),
    "where with numbers": lambda L: (
        L.where(t(L, [True, False]), 1, 2),
        L.where(t(L, [True, False]), 1, 2.5),
        L.where(t(L, [True, False]), t(L, [1, 2]), 2.5),
    ),
    "masked_fill keeps the dtype": lambda L: (
        t(L, [1, 2]).masked_fill(t(L, [True, False]), 0.5),
        t(L, [True, True]).masked_fill(t(L, [True, False]), 0),
    ),
    # numbers
    "a NumPy number is a number": lambda L: (
        t(L, [1]) * np.float32(2.5),
        t(L, [1.0]) * np.float64(2),
        t(L, [1.0]) * np.int64(2),
        t(L, [1]) + np.int64(2),
    ),
    "logic with a number on the left": lambda L: (
        True & t(L, [True, False]),
        1 | t(L, [2, 3]),
        2 ^ t(L, [2, 3]),
    ),
    "float32 against 0.1": lambda L: (t(L, [0.1]) == 0.1, t(L, [1, 2]) < 1.5, t(L, [1.0, 2.0]) != 1),
    "equal to something else": lambda L: (operator.eq(t(L, [1.0]), None), t(L, [1.0]) == "a"),
    "casts cut": lambda L: (t(L, [2.9, -2.9]).long(), t(L, [True]).float(), t(L, [3]).double()),
    "a cast passes the gradient on": lambda L: slope(L, [1.0, 2.0], lambda x: x.double() * 2),
    "a cast to its own dtype": lambda L: (lambda x: x.float() is x and x.contiguous() is x)(t(L, [1.0])),
    # writing
    "written values": lambda L: (
        put(ramp(L, 3), slice(0, 2), t(L, [[7.0, 8.0]])),
        put(ramp(L, 3), ramp(L, 3) > 0, 0.0),
        put(ramp(L, 3), ramp(L, 3) > 0, t(L, [7.0, 8.0])),
        put(t(L, [1, 2]), 0, 2.7),
        put(t(L, [1, 2]), 1, t(L, 2.7)),
        put(ramp(L, 2, 3), (slice(None), t(L, [0, 2])), -1.0),
        put(ramp(L, 2, 3), (..., 0), t(L, [5.0, 6.0])),
    ),
    "in place keeps the dtype": lambda L: (
        changed(t(L, [1.0, 2.0]), lambda x: x.__iadd__(t(L, [1, 2]))),
        changed(t(L, [1.0, 2.0]), lambda x: x.__iadd__(t(L, [1.0, 2.0], dtype="float64"))),
        changed(t(L, [1], dtype="uint8"), lambda x: x.__iadd__(t(L, [300]))),
        changed(t(L, [True, False]), lambda x: x.__iadd__(True)),
    ),
    "power in place": lambda L: changed(t(L, [2.0, 3.0]), lambda x: operator.ipow(x, 2)),
    "fill": lambda L: (
        t(L, [1, 2]).fill_(3.7),
        t(L, 1.0).fill_(3),
        t(L, 1.0).zero_(),
        t(L, [1, 2]).copy_(t(L, 2.5)),
    ),
    # gradients
    "a second backward where nothing was saved": lambda L: slope_twice(L, lambda x: x + x),
    "gradients of other dtypes are cast": lambda L: (seeded(L, t(L, [1.0, 1.0], dtype="float64")),),
    "grad of an intermediate": lambda L: (lambda x: (lambda y: grad_of(L)((y * y).sum(), [y, x]))(x * 2))(
        t(L, [1.5], True)
    ),
    "grad of the same twice": lambda L: (lambda x: grad_of(L)((x * x).sum(), [x, x]))(t(L, [1.5], True)),
    "grad of itself": lambda L: (lambda x: grad_of(L)(x, [x]))(t(L, 1.5, True)),
    "grad of one that plays no part": lambda L: (
        lambda x, y: grad_of(L)((x * 2).sum(), [x, y], allow_unused=True)
    )(t(L, [1.0], True), t(L, [1.0], True)),
    "changes of what was not saved": lambda L: [
        unsaved(L, f) for f in ("constant of +", "result of sin", "argument of sqrt", "leaf of *2")
    ],
    # making
    "arange": lambda L: (
        L.arange(3),
        L.arange(1, 4),
        L.arange(0, 1, 0.25),
        L.arange(5, 0, -2),
        L.arange(3.0),
    ),
    "linspace": lambda L: (L.linspace(0, 1, 3), L.linspace(0, 1, 1), L.linspace(0, 1, 0)),
    "zeros and others": lambda L: (
        L.zeros(2, 3),
        L.ones((2, 3)),
        L.zeros([2]),
        L.zeros(()),
        L.eye(2),
        L.eye(2, 3),
        L.full((2,), 1),
        L.full((2,), 1.5),
        L.full((2,), True),
        L.full((), 2),
    ),
    "numbers and lists": lambda L: (
        L.tensor([1, 2.5]),
        L.tensor([True, 2]),
        L.tensor([]),
        L.tensor(True),
        L.tensor([True, 1.5]),
        L.tensor(2),
        L.tensor(np.ones(2)),
        L.tensor(np.float64(1)),
        L.tensor(np.float32(1)),
        L.tensor([L.tensor(1.0), L.tensor(2.0)]),
    ),
    "random integers": lambda L: (L.randint(3, 4, (2,)), L.randperm(1), L.randint(1, (2,))),
}


def slope_twice(library: Any, f: Any) -> Any:
    x = t(library, [1.0, 2.0], grad=True)
    y = f(x).sum()
    y.backward()
    y.backward()
    return x.grad


def seeded(library: Any, gradient: Any) -> Any:
    x = t(library, [1.0, 2.0], grad=True)
    (x * x).backward(gradient)
    return x.grad


def unsaved(library: Any, what: str) -> Any:
    x, w = t(library, [1.0, 2.0], grad=True), t(library, [3.0, 4.0])
    if what == "constant of +":
        y = (x + w).sum()
        w += 1
    elif what == "result of sin":
        y = x.sin()
        y *= 2
    elif what == "argument of sqrt":
        z = x * 1
        y = z.sqrt()
        z *= 2
    else:
        y = x * 2
        with library.no_grad():
            x += 1
    y.sum().backward()
    return x.grad


def refused_alike(call: Any) -> None:
    """Both libraries raise; the types of PyTorch's errors vary."""
    with pytest.raises(Exception):  # noqa: B017
        call(torch)
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)):
        call(lib)


def plain(result: Any) -> Any:
    """Results of both libraries in one form, numbers rounded."""
    if isinstance(result, tuple | list):
        return [plain(item) for item in result]
    if isinstance(result, Tensor | torch.Tensor):
        shown = [f"{x:.5g}" for x in numbers(result).ravel().tolist()]
        return dtype_name(result), tuple(result.shape), result.requires_grad, shown
    return result


def named(table: dict[str, Any]) -> pytest.MarkDecorator:
    """Run a test over the names of `table`."""
    return pytest.mark.parametrize("name", list(table))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SAME)
def test_the_same_comes_out(name: str) -> None:
    ours, theirs = plain(SAME[name](lib)), plain(SAME[name](torch))
    assert ours == theirs


# ---------------------------------------------------------------- the same refusals


def backward_twice(library: Any) -> None:
    x = t(library, [1.0, 2.0], grad=True)
    y = (x * x).sum()
    y.backward()
    y.backward()


def write_between(library: Any, what: str) -> None:
    """A value that backward needs changes before backward."""
    x, w = t(library, [1.0, 2.0], grad=True), t(library, [3.0, 4.0])
    y = x * 1
    if what == "a factor":
        z = (y * y).sum()
        y += 1
    elif what == "part of a factor":
        z = (y * y).sum()
        y[0] = 1.0
    elif what == "a constant factor":
        z = (x * w).sum()
        w += 1
    elif what == "the leaf":
        z = (x * x).sum()
        with library.no_grad():
            x += 1
    elif what == "a view of a factor":
        z = (x * w).sum()
        w[1:] += 1
    elif what == "an index":
        i = t(library, [0, 1])
        z = x[i].sum()
        i += 0
    else:
        z = getattr(x, what)()
        z *= 2
        z = z.sum()
    z.backward()


REFUSED = {
    # gradients
    "a gradient for integers": lambda L: t(L, [1, 2], grad=True),
    "a gradient for integers, later": lambda L: t(L, [1, 2]).requires_grad_(),
    "a gradient for booleans": lambda L: t(L, [True], grad=True),
    "backward of many numbers": lambda L: (t(L, [1.0, 2.0], True) * 2).backward(),
    "backward of what wants none": lambda L: t(L, [1.0]).sum().backward(),
    "a second backward": backward_twice,
    "a gradient of another shape": lambda L: (t(L, [1.0, 2.0], True) * 2).backward(t(L, [1.0])),
    "no gradient any more for a result": lambda L: (t(L, [1.0], True) * 2).requires_grad_(False),
    "a hook where no gradient comes": lambda L: t(L, [1.0]).register_hook(print),
    "retain_grad where no gradient comes": lambda L: t(L, [1.0]).retain_grad(),
    "grad of one that plays no part": lambda L: grad_of(L)(
        (t(L, [1.0], True) * 2).sum(), [t(L, [1.0], True)]
    ),
    "grad of one that wants none": lambda L: (lambda x, y: grad_of(L)((x * y).sum(), [y]))(
        t(L, [1.0], True), t(L, [1.0])
    ),
    # writing
    "+= on a leaf": lambda L: t(L, [1.0], True).__iadd__(1),
    "assignment to a leaf": lambda L: put(t(L, [1.0], True), 0, 1.0),
    "zero_ of a leaf": lambda L: t(L, [1.0], True).zero_(),
    "+= on a view of a leaf": lambda L: t(L, [1.0, 2.0], True)[0:1].__iadd__(1),
    **{
        f"{what} changes before backward": lambda L, what=what: write_between(L, what)
        for what in (
            "a factor",
            "part of a factor",
            "a constant factor",
            "the leaf",
            "a view of a factor",
            "an index",
            "exp",
            "relu",
            "tanh",
            "sigmoid",
            "sqrt",
        )
    },
    "+= of a larger shape": lambda L: t(L, [1.0, 2.0]).__iadd__(t(L, [[1.0], [2.0]])),
    "integers += a fraction": lambda L: t(L, [1, 2]).__iadd__(1.5),
    "integers /= 2": lambda L: t(L, [1, 2]).__itruediv__(2),
    "a value of another shape": lambda L: put(t(L, [1.0, 2.0, 3.0]), slice(0, 2), t(L, [1.0, 2.0, 3.0])),
    "copy_ of another shape": lambda L: t(L, [1.0, 2.0]).copy_(t(L, [1.0, 2.0, 3.0])),
    "assignment out of range": lambda L: put(t(L, [1.0]), 1, 1.0),
    # one number
    "item of many": lambda L: t(L, [1.0, 2.0]).item(),
    "item of none": lambda L: t(L, np.zeros(0)).item(),
    "truth of many": lambda L: bool(t(L, [1.0, 2.0])),
    "truth of none": lambda L: bool(t(L, np.zeros(0))),
    "float of many": lambda L: float(t(L, [1.0, 2.0])),
    "int of many": lambda L: int(t(L, [1.0, 2.0])),
    "a fraction as an index": lambda L: [1, 2][t(L, 1.0)],
    "length of a number": lambda L: len(t(L, 1.0)),
    "looping over a number": lambda L: list(t(L, 1.0)),
    # arithmetic
    "shapes that do not broadcast": lambda L: t(L, [1.0, 2.0]) + t(L, [1.0, 2.0, 3.0]),
    "comparison of such shapes": lambda L: t(L, [1.0, 2.0]) != t(L, [1.0, 2.0, 3.0]),
    "where of such shapes": lambda L: L.where(t(L, [True, False]), t(L, [1, 2, 3]), 0),
    "adding None": lambda L: t(L, [1.0]) + None,
    "adding a word": lambda L: t(L, [1.0]) + "a",
    "adding a list": lambda L: t(L, [1.0]) + [1],  # noqa: RUF005
    "less than None": lambda L: t(L, [1.0]) < None,
    "& of fractions": lambda L: t(L, [1.0]) & t(L, [1.0]),
    "~ of fractions": lambda L: ~t(L, [1.0]),
    "- of booleans": lambda L: -t(L, [True]),
    "an integer to the power -1": lambda L: t(L, [2, 3]) ** -1,
    "clip without limits": lambda L: t(L, [1.0]).clip(),
    "where with integers as the condition": lambda L: L.where(t(L, [0.5, 0.0]), t(L, [1.0, 2.0]), 0.0),
    "masked_fill with integers as the mask": lambda L: t(L, [1.0]).masked_fill(t(L, [1]), 0.0),
    "booleans minus booleans": lambda L: t(L, [True]) - t(L, [True]),
    # reductions
    "mean of integers": lambda L: t(L, [1, 2]).mean(),
    "mean of booleans": lambda L: t(L, [True]).mean(),
    "var of integers": lambda L: t(L, [1, 2]).var(),
    "std of integers": lambda L: t(L, [1, 2]).std(),
    "amax of nothing": lambda L: t(L, np.zeros(0)).amax(),
    "amax along an empty axis": lambda L: t(L, np.zeros((0, 3))).amax(0),
    "max of nothing": lambda L: t(L, np.zeros(0)).max(),
    "max along an empty axis": lambda L: t(L, np.zeros((0, 3))).max(0),
    "argmax of nothing": lambda L: t(L, np.zeros(0)).argmax(),
    "an axis that is not there": lambda L: ramp(L, 2, 3).sum(2),
    "an axis twice": lambda L: ramp(L, 2, 3).sum((1, -1)),
    "axis 1 of a number": lambda L: t(L, 1.0).sum(1),
    "cumsum along an axis that is not there": lambda L: t(L, [1.0]).cumsum(1),
    # matrices
    "inner dimensions": lambda L: ramp(L, 2, 3) @ ramp(L, 2, 3),
    "inner dimensions of vectors": lambda L: ramp(L, 2) @ ramp(L, 3),
    "batches that do not broadcast": lambda L: ramp(L, 2, 2, 3) @ ramp(L, 3, 3, 2),
    "matmul of numbers": lambda L: t(L, 1.0) @ t(L, 1.0),
    "matmul with a Python number": lambda L: t(L, [1.0]) @ 2,
    "matmul of two dtypes": lambda L: t(L, [1.0]) @ t(L, [1.0], dtype="float64"),
    # shapes
    "reshape to another number of elements": lambda L: ramp(L, 2, 3).reshape(4),
    "two lengths left open": lambda L: ramp(L, 2, 3).reshape(-1, -1),
    "a length of -2": lambda L: ramp(L, 2, 3).reshape(-2, 3),
    "an open length beside 0": lambda L: t(L, np.zeros((0, 3))).reshape(-1, 0),
    "view of a transposed matrix": lambda L: ramp(L, 2, 3).T.view(6),
    "flatten backwards": lambda L: ramp(L, 2, 3).flatten(1, 0),
    "squeeze of an axis that is not there": lambda L: ramp(L, 2, 3).squeeze(2),
    "unsqueeze too far": lambda L: ramp(L, 2, 3).unsqueeze(3),
    "permute with too few": lambda L: ramp(L, 2, 3).permute(0),
    "permute with one twice": lambda L: ramp(L, 2, 3).permute(0, 0),
    "transpose of an axis that is not there": lambda L: ramp(L, 2, 3).transpose(0, 2),
    "mT of a vector": lambda L: ramp(L, 2).mT,
    "expand of a longer axis": lambda L: ramp(L, 2, 3).expand(4, 3),
    "expand to fewer axes": lambda L: ramp(L, 2, 3).expand(3),
    "expand by an unknown axis": lambda L: ramp(L, 3).expand(-1, 3),
    "expand to -2": lambda L: ramp(L, 1, 3).expand(-2, 3),
    "flip of an axis that is not there": lambda L: ramp(L, 2, 3).flip(2),
    "flip of an axis twice": lambda L: ramp(L, 2, 3).flip((0, 0)),
    "tril of a vector": lambda L: ramp(L, 2).tril(),
    "triu of a vector": lambda L: ramp(L, 2).triu(),
    "size of an axis that is not there": lambda L: ramp(L, 2).size(1),
    # picking and joining
    "a negative step": lambda L: ramp(L, 3)[::-1],
    "a step of 0": lambda L: ramp(L, 3)[::0],
    "an index out of range": lambda L: ramp(L, 3)[3],
    "a negative index out of range": lambda L: ramp(L, 3)[-4],
    "an array of indices out of range": lambda L: ramp(L, 3)[t(L, [0, 3])],
    "too many indices": lambda L: ramp(L, 3)[0, 0],
    "0.5 as an index": lambda L: ramp(L, 3)[0.5],
    "fractions as indices": lambda L: ramp(L, 3)[t(L, [0.0])],
    "a mask of another length": lambda L: ramp(L, 3)[t(L, [True, False])],
    "index arrays that do not broadcast": lambda L: ramp(L, 4, 4)[t(L, [0, 1]), t(L, [0, 1, 2])],
    "gather by fractions": lambda L: ramp(L, 3).gather(0, t(L, [0.0])),
    "gather by booleans": lambda L: ramp(L, 3).gather(0, t(L, [True])),
    "gather out of range": lambda L: ramp(L, 3).gather(0, t(L, [3])),
    "gather by an index of other axes": lambda L: ramp(L, 3).gather(0, t(L, [[0]])),
    "gather by a larger index": lambda L: ramp(L, 2, 2).gather(0, t(L, np.zeros((2, 3), np.int64))),
    "gather by a negative index": lambda L: ramp(L, 3).gather(0, t(L, [-1])),
    "cat of different shapes": lambda L: L.cat([ramp(L, 2, 3), ramp(L, 2, 2)]),
    "cat of different numbers of axes": lambda L: L.cat([ramp(L, 2, 3), ramp(L, 3)]),
    "cat of numbers": lambda L: L.cat([t(L, 1.0), t(L, 2.0)]),
    "cat of none": lambda L: L.cat([]),
    "cat along an axis that is not there": lambda L: L.cat([ramp(L, 3)], 1),
    "stack of none": lambda L: L.stack([]),
    "stack of different shapes": lambda L: L.stack([ramp(L, 1), ramp(L, 2)]),
    "split into parts of 0": lambda L: ramp(L, 2).split(0),
    "split into parts of -1": lambda L: ramp(L, 2).split(-1),
    "split by sizes that do not add up": lambda L: ramp(L, 2).split([1, 2]),
    "split by a negative size": lambda L: ramp(L, 2).split([3, -1]),
    "split of a number": lambda L: t(L, 1.0).split(1),
    "chunk into 0": lambda L: ramp(L, 2).chunk(0),
    "chunk of a number": lambda L: t(L, 1.0).chunk(2),
    "unbind of a number": lambda L: t(L, 1.0).unbind(),
    # making
    "a ragged list": lambda L: L.tensor([[1], [1, 2]]),
    "a word": lambda L: L.tensor("a"),
    "None": lambda L: L.tensor(None),
    "arange in steps of 0": lambda L: L.arange(0, 3, 0),
    "linspace of -1 steps": lambda L: L.linspace(0, 1, -1),
    "a negative length": lambda L: L.zeros(-1),
    "a random integer out of none": lambda L: L.randint(3, 3, (2,)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@named(REFUSED)
def test_the_same_is_refused(name: str) -> None:
    with pytest.raises(Exception):  # noqa: B017 (PyTorch's types vary)
        REFUSED[name](torch)
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)) as ours:
        REFUSED[name](lib)
    assert type(ours.value) is not NotImplementedError


# ---------------------------------------------------------------- shared memory

MEMORY = {
    "x[0]": lambda x: x[0],
    "x[0, 1, 2]": lambda x: x[0, 1, 2],
    "x[1:, ..., None]": lambda x: x[1:, ..., None],
    "x[()]": lambda x: x[()],
    "x[[0, 1]]": lambda x: x[[0, 1]],
    "x[x > 2]": lambda x: x[x > 2],
    "reshape": lambda x: x.reshape(4, 6),
    "reshape of what is transposed": lambda x: x.transpose(0, 2).reshape(4, 6),
    "view": lambda x: x.view(-1),
    "flatten": lambda x: x.flatten(),
    "flatten of what is transposed": lambda x: x.permute(2, 1, 0).flatten(),
    "squeeze": lambda x: x.squeeze(),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, 1),
    "mT": lambda x: x.mT,
    "T": lambda x: x[0].T,
    "expand": lambda x: x.expand(5, 2, 3, 4),
    "split": lambda x: x.split(1)[1],
    "chunk": lambda x: x.chunk(2, 2)[1],
    "unbind": lambda x: x.unbind(1)[2],
    "looping": lambda x: next(iter(x)),
    "detach": lambda x: x.detach(),
    "contiguous": lambda x: x.contiguous(),
    "contiguous of what is transposed": lambda x: x.mT.contiguous(),
    "to its own dtype": lambda x: x.float(),
    "to another dtype": lambda x: x.double(),
    "clone": lambda x: x.clone(),
    "flip": lambda x: x.flip(0),
    "flip along no axis": lambda x: x.flip(()),
    "+ 0": lambda x: x + 0,
    "** 1": lambda x: x**1,
    "clip": lambda x: x.clip(-99, 99),
    "tril": lambda x: x.tril(9),
    "relu": lambda x: x.relu(),
    "sum over an axis of 1": lambda x: x[:1].sum(0),
    "gather": lambda x: x[0, 0].gather(0, x[0, 0].long()),
    "masked_fill": lambda x: x.masked_fill(x > 99, 0.0),
}


@pytest.mark.parametrize("name", MEMORY)
def test_memory_is_shared_where_pytorch_shares_it(name: str) -> None:
    x, y = ramp(lib, 2, 3, 4), ramp(torch, 2, 3, 4)
    ours, theirs = MEMORY[name](x), MEMORY[name](y)
    shared = theirs.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    assert np.shares_memory(x.data, ours.data) == shared
    assert (ours is x) == (theirs is y)


def test_cat_of_one_tensor_is_a_copy_in_both() -> None:
    for library in (lib, torch):
        x = ramp(library, 3)
        y = library.cat([x])
        y += 1
        assert x.tolist() == [0, 1, 2]


def test_tensor_copies_and_from_an_array_too() -> None:
    for library in (lib, torch):
        array = np.zeros(2, np.float32)
        x = library.tensor(array)
        array += 1
        assert x.tolist() == [0, 0]


def test_versions_count_alike() -> None:
    def versions(library: Any) -> list[int]:
        x = ramp(library, 4)
        seen = [x._version]
        view = x[1:]
        for write in (
            lambda: operator.iadd(x, 1),
            lambda: operator.imul(view, 2),
            lambda: x.detach().zero_(),
            lambda: put(view, 0, 5.0),
            lambda: x + 1,
            lambda: operator.iadd(x.clone(), 1),
        ):
            write()
            seen += [x._version, view._version]
        return [*seen, x.clone()._version]

    assert versions(lib) == versions(torch)


# ---------------------------------------------------------------- in place, with a history


def overwritten(library: Any, program: str) -> Any:
    x, y = t(library, [1.0, 2.0, 3.0], grad=True), t(library, [4.0, 5.0], grad=True)
    z = x * 2
    if program == "x[i] = y":
        z[1:] = y * y
    elif program == "twice":
        z[0] = y[0]
        z[:2] = y
    elif program == "into numbers":
        z = library.zeros(3)
        z[:2] = y
        z[2] = x[0] * x[1]
    elif program == "+= on a result":
        z += x
        z -= y[:1]
    elif program == "*= by a constant":
        z *= t(library, [1.0, 0.5, -1.0])
    elif program == "/= by a constant":
        z /= t(library, [1.0, 0.5, -1.0])
    elif program == "+= itself":
        z += z
    elif program == "masked":
        z[t(library, [True, False, True])] = y
    elif program == "zero_":
        z.zero_()
    elif program == "copy_":
        z.copy_(y[:1])
    elif program == "view after the write":
        z[0] = y[0]
        z = z[:2] * y
    elif program == "*= by a result":
        z *= x
    else:
        z /= x
    (z * z).sum().backward()
    return z, x.grad, y.grad


OVERWRITTEN = [
    "x[i] = y", "twice", "into numbers", "masked", "zero_", "copy_", "view after the write", "+= on a result",
    "+= itself", "*= by a constant", "/= by a constant", "*= by a result", "/= by a result",
]  # fmt: skip


@pytest.mark.parametrize("name", OVERWRITTEN)
def test_gradients_flow_through_writes_alike(name: str) -> None:
    assert plain(overwritten(lib, name)) == plain(overwritten(torch, name))


# ---------------------------------------------------------------- programs


STEPS = {
    "+": lambda L, x, y: x + y,
    "-": lambda L, x, y: x - y * 0.5,
    "*": lambda L, x, y: x * y,
    "/": lambda L, x, y: x / (y * y + 1),
    "@": lambda L, x, y: (x @ y.mT) * 0.3,
    "tanh": lambda L, x, y: x.tanh(),
    "relu": lambda L, x, y: x.relu(),
    "maximum": lambda L, x, y: L.maximum(x, y),
    "where": lambda L, x, y: L.where(x > y, x * 2, y),
    "transpose": lambda L, x, y: x.mT,
    "reshape": lambda L, x, y: x.T.reshape(3, 3),
    "flip": lambda L, x, y: x.flip(0),
    "row and column": lambda L, x, y: x[0] + y[:, 1:2],
    "rows by index": lambda L, x, y: x[t(L, [2, 0, 0])],
    "cat": lambda L, x, y: L.cat([x[:1], y[1:]]),
    "stack": lambda L, x, y: L.stack([x.sum(0), y.amax(1), x.mean(1)]),
    "detach": lambda L, x, y: x.detach() * y,
    "+=": lambda L, x, y: in_place(x, lambda z: operator.iadd(z, y)),
    "*=": lambda L, x, y: in_place(x, lambda z: operator.imul(z, y)),
    "x[0] = y": lambda L, x, y: in_place(x, lambda z: put(z, 0, y[1])),
    "x[:, i] = y": lambda L, x, y: in_place(x, lambda z: put(z, (slice(None), t(L, [0, 2])), y[:, :2])),
    "x itself += y": lambda L, x, y: operator.iadd(x, y.tanh()),
    "x itself [1] = y": lambda L, x, y: put(x, 1, y[0] * 0.5),
}


def in_place(x: Any, change: Any) -> Any:
    z = x * 1
    change(z)
    return z


def run_program(library: Any, program: list[tuple[str, int, int]]) -> Any:
    """The gradients of two leaves, or "refused" where a step or backward raises."""
    rng = np.random.default_rng(0)
    leaves = [t(library, rng.uniform(-1, 1, (3, 3)), grad=True, dtype="float64") for _ in range(2)]
    values = [leaf * 1 for leaf in leaves]
    try:
        for name, i, j in program:
            values.append(STEPS[name](library, values[i % len(values)], values[j % len(values)]))
        loss = sum((value.sum() * 0.1 * (k + 1) for k, value in enumerate(values[-3:])), values[-1].mean())
        loss.backward()
    except RuntimeError:
        return "refused"
    return [loss.detach()] + [leaf.grad for leaf in leaves]


def test_random_programs_have_the_same_gradients() -> None:
    """Where one of them refuses there is nothing to compare: ours a stale view, PyTorch a write to what its
    division saved and ours did not need."""
    rng = np.random.default_rng(0)
    names = list(STEPS)
    both = 0
    for _ in range(300):
        size = int(rng.integers(2, 9))
        program = [(names[rng.integers(len(names))], *map(int, rng.integers(0, 12, 2))) for _ in range(size)]
        ours, theirs = run_program(lib, program), run_program(torch, program)
        if isinstance(ours, str) or isinstance(theirs, str):
            continue
        both += 1
        for a, b in zip(ours, theirs):
            assert (a is None) == (b is None), program
            if a is not None:
                np.testing.assert_allclose(
                    numbers(a), numbers(b), rtol=1e-9, atol=1e-12, err_msg=str(program)
                )
    assert both > 200
