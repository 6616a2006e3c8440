"""Functions and methods that public GPTs and Mambas use, and PyTorch's of the same name."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import minilib.functional as lib_functional
import minilib.tensor as lib
from minilib import names
from parity.peer import torch
from parity.test_tensor import INF, NAN, named, numbers, plain, ramp, refused_alike, slope, slopes, t

RANDOM = np.random.default_rng(0).normal(size=(4, 3, 5, 2))


def drawn(library: Any, *shape: int) -> Any:
    return t(library, RANDOM.reshape(-1)[: int(np.prod(shape))].reshape(shape), grad=True, dtype="float64")


def functional(library: Any) -> Any:
    return lib_functional if library is lib else torch.nn.functional


def grads(f: Any, *leaves: Any) -> Any:
    """What `f` makes of the leaves, and their gradients where the numbers of the result count differently."""
    y = f(*leaves)
    weight = np.linspace(0.5, 1.5, int(np.prod(y.shape))).reshape(tuple(y.shape))
    y.backward(torch.tensor(weight) if isinstance(y, torch.Tensor) else lib.tensor(weight))
    return y, [leaf.grad for leaf in leaves]


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ij->ji", (2, 3)),
    ("bij->b", (2, 3, 4)), ("i,j->ij", (2,), (3,)), ("b l d, d n -> b l d n", (2, 3, 4), (4, 2)),
    ("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ba", (2, 3)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 2)), ("...i->...", (2, 3)), ("ij->", (2, 3)), ("i,i", (3,), (3,)),
    ("bld,dn,bln->bl", (2, 3, 2), (2, 2), (2, 3, 2)), ("ij,ij->ij", (2, 3), (1, 3)),
    ("ij,k->i", (2, 3), (4,)),
]  # fmt: skip


def heads(library: Any, *shape: int) -> Any:
    numbers = np.random.default_rng(sum(shape)).normal(size=shape)
    return t(library, numbers, grad=True, dtype="float64")


def attention(library: Any, t_: int = 5, s: int = 5, mask: Any = None, **options: Any) -> Any:
    if mask is not None:
        options["attn_mask"] = t(library, mask, dtype=mask.dtype.name)
    attend = functional(library).scaled_dot_product_attention
    qkv = heads(library, 2, 3, t_, 4), heads(library, 2, 3, s, 4), heads(library, 2, 3, s, 4) * 1
    y, slopes = grads(lambda q, k: attend(q, k, qkv[2], **options), *qkv[:2])
    return [np.round(numbers(x), 9).tolist() for x in (y, *slopes)]


DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
DTYPES += ["short", "int", "long", "half", "float", "double"]

SAME = {
    "expm1 and log1p near 0": lambda L: (
        slope(L, [1e-8, -1e-8, 0.0, 2.0], lambda x: L.expm1(x)),
        slope(L, [1e-8, -1e-8, 0.0, 2.0], lambda x: x.log1p()),
        t(L, [1, 2]).expm1(),
    ),
    "floor and ceil": lambda L: (
        slope(L, [1.5, -1.5, 2.0, NAN, INF], lambda x: L.floor(x)),
        slope(L, [1.5, -1.5, 2.0], lambda x: x.ceil()),
        t(L, [1, -2]).floor(),
    ),
    "%": lambda L: (
        slopes(L, [5.5, -5.5, 5.5, -5.5, 0.0], [2.0, 2.0, -2.0, -2.0, 3.0], lambda x, y: x % y),
        slope(L, [5.5, -5.5], lambda x: x % 3),
        7 % t(L, [1.5, -1.5]),
        (t(L, [5, -5]) % 3, 7 % t(L, [5, -5]), t(L, [5, -5]) % 3.5, L.remainder(t(L, [5]), 2)),
        t(L, [1.0, -1.0]) % 0,
    ),
    "//": lambda L: (
        t(L, [5.5, -5.5, 0.0]) // 2,
        t(L, [5, -5]) // 3,
        7 // t(L, [5, -5]),
        t(L, [5, -5]) // 2.5,
        t(L, [1.0, -1.0, 0.0]) // 0,
        L.floor_divide(t(L, [5]), t(L, [2])),
    ),
    "norm": lambda L: [
        (
            grads(lambda x, p=p: L.norm(x, p), drawn(L, 3, 5)),
            grads(lambda x, p=p: x.norm(p, dim=1, keepdim=True), drawn(L, 3, 5)),
        )
        for p in (2, 1, INF, -INF, 3, "fro")
    ],
    "norm of zeros": lambda L: slope(L, [0.0, 0.0], lambda x: x.norm()),
    "topk": lambda L: (
        grads(lambda x: x.topk(2)[0], drawn(L, 3, 5)),
        grads(lambda x: L.topk(x, 2, dim=0, largest=False).values, drawn(L, 3, 5)),
        drawn(L, 3, 5).topk(5)[1],
        drawn(L, 3, 5).topk(0)[1],
        tuple(t(L, 3.0).topk(1)),
        t(L, [1.0, NAN, 3.0]).topk(2)[0],
    ),
    "roll": lambda L: [
        grads(lambda x, a=a: L.roll(x, *a), drawn(L, 3, 5))
        for a in [(1,), (-2, 1), (7, 0), ((1, 2), (0, 1))]
    ],
    "repeat": lambda L: [
        grads(lambda x, s=s: x.repeat(*s), drawn(L, 3, 2))
        for s in [(2, 1), (1, 1), (2, 3, 2), (0, 1), ((2, 2),)]
    ],
    "bmm and outer": lambda L: (
        grads(lambda x, y: L.bmm(x, y), drawn(L, 2, 3, 4), drawn(L, 2, 4, 3)),
        grads(lambda x, y: L.outer(x, y), drawn(L, 3), drawn(L, 4)),
    ),
    "einsum": lambda L: [
        grads(lambda *xs, e=e: L.einsum(e, *xs), *[drawn(L, *shape) for shape in shapes])
        for e, *shapes in EINSUMS
    ],
    "equal and allclose": lambda L: (
        [L.equal(ramp(L, 3), y) for y in (ramp(L, 3), ramp(L, 3) + 1, ramp(L, 4), ramp(L, 3, 1))],
        [L.allclose(ramp(L, 3), ramp(L, 3) + d) for d in (0, 1e-9, 1e-3)],
        [L.allclose(t(L, [NAN]), t(L, [NAN]), equal_nan=e) for e in (True, False)],
    ),
    "comparisons by name": lambda L: [
        getattr(ramp(L, 3), name)(1) for name in ("eq", "ne", "lt", "le", "gt", "ge")
    ],
    "F.pad": lambda L: [
        grads(lambda x, p=p: functional(L).pad(x, p), drawn(L, 2, 3, 4))
        for p in [(1, 2), (0, 0, 1, 0), (1, 1, 2, 0, 0, 3), (-1, 2), (-1, -1, 1, -1), ()]
    ]
    + [functional(L).pad(t(L, [1, 2]), (1, 1), value=7)]
    + [functional(L).pad(ramp(L, 2), (1, 0), "constant", -INF)],
    "scaled_dot_product_attention": lambda L: [
        attention(L),
        attention(L, is_causal=True),
        attention(L, 3, 5),
        attention(L, 3, 5, is_causal=True),
        attention(L, scale=0.3, is_causal=True),
        attention(L, mask=np.tri(5, dtype=bool)),
        attention(L, mask=np.linspace(-1, 1, 25).reshape(5, 5)),
    ],
    "attention with three axes": lambda L: functional(L).scaled_dot_product_attention(
        drawn(L, 2, 3, 4), drawn(L, 2, 3, 4), drawn(L, 2, 3, 4), is_causal=True
    ),
    "constructors on a device": lambda L: (
        L.zeros(2, device="cpu"), L.ones(2, 3, device="cpu", requires_grad=True),
        L.full((2,), 3.0, device="cpu"), L.arange(3, device="cpu"), L.linspace(0, 1, 3, device="cpu"),
        L.eye(2, device="cpu"),
        L.tensor([1, 2], device="cpu"),
        L.zeros_like(ramp(L, 2), device="cpu"), L.ones_like(ramp(L, 2), device="cpu"),
        [tuple(x.shape) for x in (
            L.randn(2, device="cpu"), L.rand(2, device="cpu"), L.randint(0, 3, (2,), device="cpu"),
            L.randperm(3, device="cpu"), L.empty(2, 3, device="cpu"),
        )],
    ),
    "dtypes by name": lambda L: [L.zeros(2, dtype=getattr(L, name)) for name in DTYPES],
    "multinomial of one possible class": lambda L: (
        L.multinomial(t(L, [0.0, 3.0, 0.0]), 4, replacement=True),
        L.multinomial(t(L, [[0.0, 2.0], [0.5, 0.0]]), 1),
        L.multinomial(t(L, [0.0, 3.0, 0.0]), 1).shape[0],
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@named(SAME)
def test_the_same_comes_out(name: str) -> None:
    assert plain(SAME[name](lib)) == plain(SAME[name](torch))


def test_a_causal_mask_and_another_are_refused() -> None:
    """PyTorch's documentation says so."""
    with pytest.raises(RuntimeError, match="not both"):
        attention(lib, mask=np.tri(5, dtype=bool), is_causal=True)


REFUSED = {
    "i // 0": lambda L: t(L, [1]) // 0,
    "i % 0": lambda L: t(L, [1]) % t(L, [0]),
    "backward of //": lambda L: slope(L, [1.0], lambda x: x // 2),
    "topk of too many": lambda L: ramp(L, 3).topk(4),
    "topk along no axis": lambda L: ramp(L, 3).topk(1, dim=1),
    "roll without a shift": lambda L: ramp(L, 3, 2).roll((1, 1), 0),
    "repeat with too few counts": lambda L: ramp(L, 3, 2).repeat(2),
    "repeat of less than none": lambda L: ramp(L, 3).repeat(-1),
    "bmm of matrices": lambda L: L.bmm(ramp(L, 2, 2), ramp(L, 2, 2)),
    "bmm of other batches": lambda L: L.bmm(ramp(L, 1, 2, 2), ramp(L, 3, 2, 2)),
    "outer of matrices": lambda L: L.outer(ramp(L, 2, 2), ramp(L, 2)),
    "einsum with one operand too few": lambda L: L.einsum("ij,jk->ik", ramp(L, 2, 2)),
    "einsum of other shapes": lambda L: L.einsum("ij,jk->ik", ramp(L, 2, 2), ramp(L, 3, 2)),
    "einsum with a letter too many": lambda L: L.einsum("ijk->i", ramp(L, 2, 2)),
    "einsum with an unknown letter": lambda L: L.einsum("ij->k", ramp(L, 2, 2)),
    "allclose of two dtypes": lambda L: L.allclose(ramp(L, 2), ramp(L, 2).double()),
    "pad of an odd number": lambda L: functional(L).pad(ramp(L, 3), (1,)),
    "pad of too many axes": lambda L: functional(L).pad(ramp(L, 3), (1, 1, 1, 1)),
    "pad that cuts off too much": lambda L: functional(L).pad(ramp(L, 3), (-2, -2)),
    "multinomial of integers": lambda L: L.multinomial(t(L, [1, 2]), 1),
    "multinomial of nothing": lambda L: L.multinomial(t(L, [0.0, 0.0]), 1),
    "multinomial below 0": lambda L: L.multinomial(t(L, [1.0, -1.0]), 1),
    "multinomial of nan": lambda L: L.multinomial(t(L, [1.0, NAN]), 1),
    "multinomial of more than there are": lambda L: L.multinomial(t(L, [1.0, 1.0]), 3),
    "multinomial, none drawn": lambda L: L.multinomial(t(L, [1.0, 1.0]), 0),
    "from_numpy of a list": lambda L: L.from_numpy([1.0]),
    "norm of integers": lambda L: t(L, [1, 2]).norm(),
    "an unknown device": lambda L: L.zeros(2, device="cuda:7"),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@named(REFUSED)
def test_the_same_is_refused(name: str) -> None:
    refused_alike(REFUSED[name])


def test_from_numpy_shares_memory() -> None:
    array = np.zeros(3)
    lib.from_numpy(array)[0] = 1
    assert array[0] == 1


def test_multinomial_draws_by_the_weights() -> None:
    """Shares of 20,000 draws, four standard deviations apart at most; the same in both libraries' law."""
    weights, generator = np.array([1.0, 0.0, 3.0, 6.0]), lib.Generator(0)
    rows = lib.tensor(np.tile(weights, (20_000, 1)))
    for drawn_ in (
        lib.multinomial(rows, 1, generator=generator),
        lib.multinomial(rows[0], 20_000, replacement=True, generator=generator),
    ):
        shares = np.bincount(drawn_.numpy().ravel(), minlength=4) / 20_000
        np.testing.assert_allclose(shares, weights / 10, atol=0.014)
    pairs = lib.multinomial(rows, 2, generator=generator).numpy()
    assert (pairs[:, 0] != pairs[:, 1]).all()
    theirs = torch.multinomial(torch.tensor(rows.numpy()), 2).numpy()
    for place in range(2):
        shares = [np.bincount(p[:, place], minlength=4) / 20_000 for p in (pairs, theirs)]
        np.testing.assert_allclose(*shares, atol=0.02)


def test_each_name_is_one_of_pytorchs_and_reached_through_the_tensor_module() -> None:
    public = {name for name, value in vars(names).items() if not (name[0] == "_" or inspect.ismodule(value))}
    for name in public - {"annotations", "Tensor"}:
        assert hasattr(torch, name), name
        ours = getattr(lib, name)  # a method as a function is wrapped, to explain its errors
        assert (inspect.unwrap(ours) if callable(ours) else ours) is getattr(names, name)


@pytest.mark.parametrize(
    "name", ["exp", "log", "rsqrt", "tanh", "abs", "square", "sum", "var", "std", "amax"]
)
def test_a_method_is_a_function_too(name: str) -> None:
    ours, theirs = (plain(getattr(L, name)(t(L, [[0.5, 1.5], [2.5, 3.0]]))) for L in (lib, torch))
    assert ours == theirs
