"""minilib.nn and PyTorch, asked the same: layers, their state, their hooks, their first numbers, what they refuse."""

# ruff: noqa: E501 (one fact, one line)

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from functional_cases import named

import minilib.nn as ours
import minilib.tensor as lib
from parity.peer import torch
from parity.test_tensor import assert_same, dtype_name, numbers

theirs = torch.nn
FLOATS, INTEGERS = (5, 4), "integers"
IMAGES, LINES = (3, 4, 6, 5), (3, 4, 7)

# Each layer by the library that makes it, and the shape of its input.
LAYERS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "Linear": (lambda nn: nn.Linear(4, 3), FLOATS),
    "Linear without bias": (lambda nn: nn.Linear(4, 3, bias=False), (2, 3, 4)),
    "Conv1d": (lambda nn: nn.Conv1d(4, 6, 3), LINES),
    "Conv1d with all options": (lambda nn: nn.Conv1d(4, 6, 3, 2, 1, 2, 2, bias=False), LINES),
    "Conv2d": (lambda nn: nn.Conv2d(4, 6, 3), IMAGES),
    "Conv2d with all options": (lambda nn: nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), (1, 2), 2), IMAGES),
    "Conv2d, each channel alone": (
        lambda nn: nn.Conv2d(4, 4, 3, padding="same", groups=4, bias=False),
        IMAGES,
    ),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2), IMAGES),
    "MaxPool2d with all options": (lambda nn: nn.MaxPool2d((3, 2), (2, 1), (1, 0), (1, 2)), IMAGES),
    "AvgPool2d": (lambda nn: nn.AvgPool2d(2), IMAGES),
    "AvgPool2d with steps and padding": (lambda nn: nn.AvgPool2d((3, 2), (2, 1), (1, 0)), IMAGES),
    "AvgPool2d of what is not padding": (
        lambda nn: nn.AvgPool2d(3, 1, 1, count_include_pad=False),
        IMAGES,
    ),
    "AdaptiveAvgPool2d to one": (lambda nn: nn.AdaptiveAvgPool2d(1), IMAGES),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d((4, 3)), IMAGES),
    "AdaptiveAvgPool2d of one side, to more": (lambda nn: nn.AdaptiveAvgPool2d((None, 7)), IMAGES),
    "Identity": (lambda nn: nn.Identity(7, unused=3), FLOATS),
    "Flatten": (lambda nn: nn.Flatten(), IMAGES),
    "Flatten some": (lambda nn: nn.Flatten(0, 2), IMAGES),
    "LayerNorm": (lambda nn: nn.LayerNorm(4), FLOATS),
    "LayerNorm over two axes": (lambda nn: nn.LayerNorm((6, 5), eps=1e-3), IMAGES),
    "LayerNorm without weights": (lambda nn: nn.LayerNorm(4, elementwise_affine=False), FLOATS),
    "LayerNorm without bias": (lambda nn: nn.LayerNorm(4, bias=False), FLOATS),
    "RMSNorm": (lambda nn: nn.RMSNorm(4), FLOATS),
    "RMSNorm over two axes": (lambda nn: nn.RMSNorm((6, 5), eps=1e-3), IMAGES),
    "RMSNorm without weights": (lambda nn: nn.RMSNorm(4, elementwise_affine=False), FLOATS),
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(4), FLOATS),
    "BatchNorm1d of lines": (lambda nn: nn.BatchNorm1d(4, 1e-3, 0.3), LINES),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(4), IMAGES),
    "BatchNorm2d without weights": (lambda nn: nn.BatchNorm2d(4, affine=False), IMAGES),
    "BatchNorm2d without averages": (lambda nn: nn.BatchNorm2d(4, track_running_stats=False), IMAGES),
    "Embedding": (lambda nn: nn.Embedding(7, 3), INTEGERS),
    "Embedding with padding": (lambda nn: nn.Embedding(7, 3, padding_idx=2), INTEGERS),
    "ReLU": (lambda nn: nn.ReLU(), FLOATS),
    "Tanh": (lambda nn: nn.Tanh(), FLOATS),
    "Sigmoid": (lambda nn: nn.Sigmoid(), FLOATS),
    "SiLU": (lambda nn: nn.SiLU(), FLOATS),
    "GELU": (lambda nn: nn.GELU(), FLOATS),
    "GELU, the near formula": (lambda nn: nn.GELU(approximate="tanh"), FLOATS),
    "Dropout of none": (lambda nn: nn.Dropout(0.0), FLOATS),
    "Dropout of all": (lambda nn: nn.Dropout(1.0), FLOATS),
    "Sequential by names": (
        lambda nn: nn.Sequential(OrderedDict(first=nn.Linear(4, 3), bend=nn.Tanh(), last=nn.Linear(3, 2))),
        FLOATS,
    ),
    "ModuleDict": (
        lambda nn: nn.Sequential(*nn.ModuleDict({"b": nn.Linear(4, 3), "a": nn.Linear(3, 2)}).values()),
        FLOATS,
    ),
    "Sequential": (
        lambda nn: nn.Sequential(
            nn.Conv2d(4, 3, 3), nn.BatchNorm2d(3), nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(36, 2))
        ),
        IMAGES,
    ),
}


def inputs(shape: Any, dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 7, (3, 4)) if shape == INTEGERS else rng.normal(size=shape).astype(dtype)


def both(name: str, dtype: str = "float32") -> tuple[Any, Any]:
    """The layer of each library, with the same numbers: PyTorch's, loaded into ours through NumPy."""
    torch.manual_seed(0)
    mine, peer = LAYERS[name][0](ours), LAYERS[name][0](theirs)
    mine, peer = mine.to(dtype), peer.to(getattr(torch, dtype))
    mine.load_state_dict({key: lib.tensor(value.numpy()) for key, value in peer.state_dict().items()})
    return mine, peer


@named({name: case for name, case in LAYERS.items() if name.partition(" ")[0] != "RMSNorm"})
def test_the_input_may_be_given_by_its_name(name: str) -> None:
    """PyTorch calls it `input`, and in RMSNorm `x`."""
    mine, peer = both(name)
    array = inputs(LAYERS[name][1], "float32", 0)
    assert_same(mine(input=lib.tensor(array)), peer(input=torch.tensor(array)), rtol=1e-4)


def assert_same_state(mine: Any, peer: Any) -> None:
    own, other = mine.state_dict(), peer.state_dict()
    assert list(own) == list(other)
    for key in own:
        assert_same(own[key], other[key])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@named(LAYERS)
def test_layers_give_the_same_in_training_and_evaluation(name: str, dtype: str) -> None:
    """Three batches in training, then one in evaluation; gradients add up; running averages follow."""
    mine, peer = both(name, dtype)
    assert [n for n, _ in mine.named_parameters()] == [n for n, _ in peer.named_parameters()]
    assert [n for n, _ in mine.named_buffers()] == [n for n, _ in peer.named_buffers()]
    for step in range(4):
        if step == 3:
            assert mine.eval() is mine
            peer.eval()
        array = inputs(LAYERS[name][1], dtype, step)
        wants = array.dtype.kind == "f"
        x, y = lib.tensor(array, requires_grad=wants), torch.tensor(array, requires_grad=wants)
        out, expected = mine(x), peer(y)
        assert_same(out, expected, rtol=1e-4 if dtype == "float32" else 1e-10)
        assert out.requires_grad == expected.requires_grad
        if expected.requires_grad:
            weight = np.random.default_rng(9).normal(size=out.shape).astype(dtype)
            out.backward(lib.tensor(weight))
            expected.backward(torch.tensor(weight))
        for a, b in zip([x, *mine.parameters()], [y, *peer.parameters()]):
            assert (a.grad is None) == (b.grad is None)
            if b.grad is not None:
                scale = 1e-4 if dtype == "float32" else 1e-9
                np.testing.assert_allclose(numbers(a.grad), numbers(b.grad), rtol=scale, atol=scale)
                assert dtype_name(a.grad) == dtype_name(b.grad)
        assert_same_state(mine, peer)


@named(LAYERS)
def test_state_goes_both_ways_through_numpy(name: str) -> None:
    mine, peer = LAYERS[name][0](ours), LAYERS[name][0](theirs)
    state = {key: torch.tensor(value.data) for key, value in mine.state_dict().items()}
    peer.load_state_dict(state)
    assert_same_state(mine, peer)
    mine, peer = both(name)
    assert_same_state(mine, peer)


# ---------------------------------------------------------------- the first numbers


@named([name for name in LAYERS if "norm" not in name.lower()])
def test_first_numbers_lie_within_the_same_bounds(name: str) -> None:
    """Many layers' numbers: the largest and the spread of PyTorch's, for each parameter."""
    lib.manual_seed(0)
    torch.manual_seed(0)
    samples: list[dict[str, list[np.ndarray]]] = []
    for nn in (ours, theirs):
        found: dict[str, list[np.ndarray]] = {}
        for _ in range(30):
            for key, value in LAYERS[name][0](nn).state_dict().items():
                found.setdefault(key, []).append(numbers(value).ravel())
        samples.append(found)
    for key, peers in samples[1].items():
        a, b = np.concatenate(samples[0][key]), np.concatenate(peers)
        few = 5 / math.sqrt(len(a))
        assert a.std() == pytest.approx(b.std(), rel=few)
        assert abs(a).max() == pytest.approx(abs(b).max(), rel=0.05 if "Emb" not in name else 0.4)
        assert abs(a.mean() - b.mean()) <= few * b.std() + 1e-12


INITS = {
    "kaiming_normal_": [
        {},
        {"a": 1.0},
        {"mode": "fan_out", "nonlinearity": "relu"},
        {"nonlinearity": "tanh"},
    ],
    "kaiming_uniform_": [{}, {"a": math.sqrt(5)}, {"mode": "fan_out"}, {"nonlinearity": "linear"}],
    "xavier_normal_": [{}, {"gain": 2.0}],
    "xavier_uniform_": [{}, {"gain": 0.5}],
}


@pytest.mark.parametrize("shape", [(60, 40), (40, 60), (12, 8, 5, 5), (50, 9, 6)])
@pytest.mark.parametrize("name", INITS)
def test_initialisations_have_the_same_spread_and_bound(name: str, shape: tuple[int, ...]) -> None:
    for options in INITS[name]:
        a, b = lib.zeros(*shape, requires_grad=True), torch.zeros(*shape, requires_grad=True)
        torch.manual_seed(0)
        assert getattr(ours, name)(a, **options, generator=lib.Generator(0)) is a
        getattr(theirs.init, name)(b, **options)
        assert a.requires_grad and a.is_leaf
        assert numbers(a).std() == pytest.approx(numbers(b).std(), rel=0.08)
        if "uniform" in name:
            assert abs(numbers(a)).max() == pytest.approx(abs(numbers(b)).max(), rel=0.01)


def test_one_kind_of_number_is_filled_in_by_the_same_names() -> None:
    for name, options in (("constant_", (3.5,)), ("ones_", ()), ("zeros_", ())):
        a, b = (
            getattr(nn.init, name)(nn.Parameter(lib_of(nn).rand(2, 3)), *options) for nn in (ours, theirs)
        )
        assert_same(a, b)
    for name, options in (
        ("uniform_", (-2.0, 1.0)),
        ("normal_", (1.0, 3.0)),
        ("uniform_", ()),
        ("normal_", ()),
    ):
        a, b = (
            numbers(getattr(nn.init, name)(lib_of(nn).zeros(200, 200), *options)) for nn in (ours, theirs)
        )
        assert a.mean() == pytest.approx(b.mean(), abs=0.1) and a.std() == pytest.approx(b.std(), rel=0.02)
    assert ours.init.kaiming_normal_ is ours.kaiming_normal_


def test_gains_are_pytorchs() -> None:
    for name in ("linear", "conv1d", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"):
        assert ours.calculate_gain(name) == pytest.approx(theirs.init.calculate_gain(name))
    assert ours.calculate_gain("leaky_relu", 0.3) == theirs.init.calculate_gain("leaky_relu", 0.3)


# ---------------------------------------------------------------- modules


def lib_of(nn: Any) -> Any:
    return lib if nn is ours else torch


def network(nn: Any) -> Any:
    """Parameters, a tied weight, buffers of both kinds, a list, a frozen part, a module reached on two paths."""

    class Network(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            make = lib_of(nn)
            self.scale = nn.Parameter(make.ones(1))
            self.table = nn.Embedding(5, 4)
            self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))])
            self.norm = nn.BatchNorm1d(4)
            self.again = self.blocks[0]
            self.out = nn.Linear(4, 5, bias=False)
            self.out.weight = self.table.weight
            self.register_buffer("mask", make.ones(2))
            self.register_buffer("cache", make.zeros(3), persistent=False)
            self.words = ["not a module"]
            self.nothing = None
            self.last = nn.Parameter(make.zeros(2, 2))

        def forward(self, x: Any) -> Any:
            y = self.table(x) * self.scale
            for block in self.blocks:
                y = block(y)
            return self.out(self.norm(self.again(y)))

    return Network()


LISTS: dict[str, Callable[[Any, Any], Any]] = {
    "parameters": lambda nn, m: [(n, tuple(p.shape)) for n, p in m.named_parameters()],
    "how many": lambda nn, m: (len(list(m.parameters())), len(list(m.modules())), len(list(m.children()))),
    "buffers": lambda nn, m: [(n, tuple(b.shape)) for n, b in m.named_buffers()],
    "modules": lambda nn, m: [(n, type(x).__name__) for n, x in m.named_modules()],
    "modules on all paths": lambda nn, m: [n for n, _ in m.named_modules(remove_duplicate=False)],
    "children": lambda nn, m: [n for n, _ in m.named_children()],
    "state": lambda nn, m: sorted((n, tuple(x.shape)) for n, x in m.state_dict().items()),
    "state's order": lambda nn, m: list(m.state_dict()),
    "a submodule": lambda nn, m: m.get_submodule("blocks.1.0") is m.blocks[1][0] and m.get_submodule("") is m,
    "a parameter by its path": lambda nn, m: (
        m.get_parameter("blocks.1.0.weight") is m.blocks[1][0].weight
        and m.get_parameter("out.weight") is m.table.weight
        and m.get_parameter("scale") is m.scale
    ),
    "tied": lambda nn, m: m.out.weight is m.table.weight,
    "training": lambda nn, m: (
        [x.training for x in m.eval().modules()] + [x.training for x in m.train().modules()]
    ),
    "part in evaluation": lambda nn, m: (m.blocks.eval(), [x.training for x in m.modules()])[1],
    "frozen": lambda nn, m: [p.requires_grad for p in m.requires_grad_(False).parameters()],
    "partly frozen": lambda nn, m: (m.norm.requires_grad_(False), [p.requires_grad for p in m.parameters()])[
        1
    ],
    "to another dtype": lambda nn, m: [
        dtype_name(x) for x in m.to(np.float64 if nn is ours else torch.float64).state_dict().values()
    ],
    "to a device and a dtype by name": lambda nn, m: [
        dtype_name(x)
        for x in m.to(device="cpu", dtype=np.float64 if nn is ours else torch.float64).state_dict().values()
    ],
    "to a device and a dtype in turn": lambda nn, m: [
        dtype_name(x) for x in m.to("cpu", np.float64 if nn is ours else torch.float64).state_dict().values()
    ],
    "apply": lambda nn, m: (lambda seen: (m.apply(lambda x: seen.append(type(x).__name__)), seen)[1])([]),
    "state has no gradients": lambda nn, m: [x.requires_grad for x in m.state_dict().values()],
    "lists": lambda nn, m: (
        len(m.blocks),
        len(m.blocks[1]),
        type(m.blocks[:1]).__name__,
        type(m.blocks[1][-1]).__name__,
    ),
    "slices of Sequential": lambda nn, m: [
        type(x).__name__ for x in nn.Sequential(nn.ReLU(), nn.Tanh(), nn.GELU())[1:]
    ],
    "a slice of Sequential keeps its names": lambda nn, m: list(
        nn.Sequential(nn.Linear(1, 1), nn.Tanh(), nn.Linear(1, 1))[1:].state_dict()
    ),
    "children that are shared": lambda nn, m: (
        setattr(m, "third", m.norm),
        [n for n, _ in m.named_children()],
        [type(x).__name__ for x in m.children()],
    )[1:],
    "a module twice in one list": lambda nn, m: (
        lambda one, two: [len(nn.Sequential(one, two, one)), repr(nn.Sequential(two, two)).count("ReLU")]
    )(nn.Linear(2, 2), nn.ReLU()),
    "a buffer that two modules share": lambda nn, m: (
        m.blocks[0].register_buffer("mask", m.mask),
        [n for n, _ in m.named_buffers()],
        sorted(n for n in m.state_dict() if n.endswith("mask")),
    )[1:],
    "zero_grad with zeros": lambda nn, m: (
        m(lib_of(nn).tensor(np.array([0, 1, 2]))).sum().backward(),
        setattr(m.last, "grad", None),
        m.zero_grad(set_to_none=False),
        [None if p.grad is None else abs(p.grad).max().item() for p in m.parameters()],
    )[-1],
    "another parameter in its place": lambda nn, m: (
        setattr(m.blocks[0], "weight", nn.Parameter(lib_of(nn).zeros(7, 4))),
        [tuple(p.shape) for p in m.parameters()],
    )[1],
    "None in the place of a parameter": lambda nn, m: (
        setattr(m.blocks[0], "bias", None),
        [n for n, _ in m.named_parameters()],
    )[1],
    "a parameter in the place of a buffer": lambda nn, m: (
        setattr(m, "mask", nn.Parameter(lib_of(nn).zeros(2))),
        sorted(n for n, _ in m.named_parameters()),
        [n for n, _ in m.named_buffers()],
    )[1:],
    "another tensor in the place of a buffer": lambda nn, m: (
        setattr(m, "mask", lib_of(nn).zeros(3)),
        [(n, tuple(b.shape)) for n, b in m.named_buffers()],
    )[1],
    "what loading answers": lambda nn, m: [
        [n for n in names if "num_batches" not in n]  # PyTorch forgives old states of batch norm
        for names in m.load_state_dict({"scale": lib_of(nn).ones(1), "x": lib_of(nn).ones(1)}, False)
    ],
    "what loading all answers": lambda nn, m: (lambda answer: [answer.missing_keys, answer.unexpected_keys])(
        m.load_state_dict(m.state_dict())
    ),
    "a dict of modules": lambda nn, m: (
        lambda d: [
            (d.update({"c": nn.Tanh()}), list(d), len(d), "a" in d, "c" in d, d.a is d["a"])[1:],
            (d.__delitem__("a"), list(d.keys()), [n for n, _ in d.items()])[1:],
            repr(d),
            list(d.state_dict()),
        ]
    )(nn.ModuleDict(dict(b=nn.Tanh(), a=nn.Linear(2, 2)))),
    "append": lambda nn, m: list(nn.Sequential(nn.Linear(1, 1)).append(nn.Linear(1, 2)).state_dict()),
    "a removed attribute": lambda nn, m: (delattr(m, "again"), [n for n, _ in m.named_modules()])[1],
    "a replaced module": lambda nn, m: (setattr(m, "norm", nn.ReLU()), [n for n, _ in m.named_parameters()])[
        1
    ],
    "a module set to None": lambda nn, m: (setattr(m, "norm", None), [n for n, _ in m.named_modules()])[1],
    "zero_grad": lambda nn, m: (
        m(lib_of(nn).tensor(np.array([0, 1, 2]))).sum().backward(),
        [p.grad is None for p in m.parameters()],
        m.zero_grad(),
        [p.grad is None for p in m.parameters()],
    )[1::2],
}


@named(LISTS)
def test_modules_know_the_same_of_themselves(name: str) -> None:
    assert LISTS[name](ours, network(ours)) == LISTS[name](theirs, network(theirs))


def test_parameters_that_are_tied_get_both_gradients() -> None:
    peer, mine = network(theirs).eval(), network(ours).eval()
    mine.load_state_dict({k: lib.tensor(v.numpy()) for k, v in peer.state_dict().items()})
    index = np.array([[0, 1], [4, 4]]).reshape(4)
    mine(lib.tensor(index)).square().sum().backward()
    peer(torch.tensor(index)).square().sum().backward()
    for a, b in zip(mine.parameters(), peer.parameters()):
        assert (a.grad is None) == (b.grad is None)
        if b.grad is not None:
            np.testing.assert_allclose(a.grad.data, b.grad.numpy(), rtol=1e-4, atol=1e-5)


def hooked(nn: Any, kind: str) -> list[Any]:
    """What is seen and what comes out with hooks on a module and on one inside it."""
    make, seen = lib_of(nn), []
    model = nn.Sequential(nn.ReLU(), nn.Tanh())
    x = make.tensor(np.array([-1.0, 2.0], np.float32))

    def note(name: str, change: Any = None) -> Any:
        def hook(module: Any, *values: Any) -> Any:
            seen.append((name, type(module).__name__, [type(v) is tuple for v in values]))
            return change(values) if change else None

        return hook

    if kind == "order":
        model.register_forward_hook(note("outer after"))
        model.register_forward_pre_hook(note("outer before"))
        model[1].register_forward_hook(note("inner after"))
        model[1].register_forward_pre_hook(note("inner before"))
        model[1].register_forward_hook(note("inner after, second"))
    elif kind == "output replaced":
        model[0].register_forward_hook(note("one", lambda v: v[1] * 2))
        model[0].register_forward_hook(note("two", lambda v: v[1] + 1))
    elif kind == "input replaced":
        model.register_forward_pre_hook(note("bare", lambda v: v[0][0] + 1))
        model.register_forward_pre_hook(note("tuple", lambda v: (v[0][0] * 3,)))
    elif kind == "removed":
        first = model.register_forward_hook(note("first", lambda v: v[1] * 2))
        second = model.register_forward_pre_hook(note("second", lambda v: v[0][0] * 2))
        model(x)
        first.remove()
        model(x)
        second.remove()
        second.remove()
        with model.register_forward_hook(note("for a while", lambda v: v[1] * 2)):
            model(x)
    else:
        same = note("same", lambda v: v[1] * 2)
        handles = [model.register_forward_hook(same), model.register_forward_hook(same)]
        model(x)
        handles[0].remove()
    out = model(x)
    return [*seen, [f"{n:.5g}" for n in out.tolist()]]


@pytest.mark.parametrize("kind", ["order", "output replaced", "input replaced", "removed", "the same twice"])
def test_hooks_see_and_change_the_same(kind: str) -> None:
    assert hooked(ours, kind) == hooked(theirs, kind)


def test_hooks_of_tensors_are_taken_away_alike() -> None:
    found = []
    for make in (lib, torch):
        x = make.ones(2, requires_grad=True)
        y = x * 2
        handles = [y.register_hook(lambda g: g * 3), x.register_hook(lambda g: g * 5)]
        with x.register_hook(lambda g: g * 7):
            y.sum().backward(retain_graph=True)
        y.sum().backward(retain_graph=True)
        handles[0].remove()
        handles[0].remove()
        y.sum().backward(retain_graph=True)
        handles[1].remove()
        y.sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1] == [2 * (3 * 5 * 7 + 3 * 5 + 5 + 1)] * 2


# ---------------------------------------------------------------- refusals


def load(nn: Any, change: Callable[[dict[str, Any]], Any], strict: bool = True) -> Any:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    state = dict(model.state_dict())
    change(state)
    return model.load_state_dict(state, strict)


def zeros(nn: Any, *shape: int) -> Any:
    return lib_of(nn).zeros(*shape)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "a missing key": lambda nn: load(nn, lambda s: s.pop("0.bias")),
    "a missing buffer": lambda nn: load(nn, lambda s: s.pop("1.running_mean")),
    "an unknown key": lambda nn: load(nn, lambda s: s.update(more=s["0.bias"])),
    "another shape": lambda nn: load(nn, lambda s: s.update({"0.bias": zeros(nn, 4)})),
    "another shape, not strict": lambda nn: load(nn, lambda s: s.update({"0.bias": zeros(nn, 4)}), False),
    "a shape that broadcasts": lambda nn: load(nn, lambda s: s.update({"0.bias": zeros(nn, 1)})),
    "no forward": lambda nn: nn.Module()(1),
    "Linear of other features": lambda nn: nn.Linear(2, 3)(zeros(nn, 2, 3)),
    "Conv2d of groups that do not divide": lambda nn: nn.Conv2d(4, 6, 3, groups=4),
    "Conv2d with 0 groups": lambda nn: nn.Conv2d(4, 6, 3, groups=0),
    "Conv2d of other channels": lambda nn: nn.Conv2d(4, 6, 3)(zeros(nn, 1, 3, 5, 5)),
    "Conv2d the same in steps": lambda nn: nn.Conv2d(4, 6, 3, stride=2, padding="same"),
    "Conv2d, padding by another name": lambda nn: nn.Conv2d(4, 6, 3, padding="full"),
    "BatchNorm1d of images": lambda nn: nn.BatchNorm1d(3)(zeros(nn, 2, 3, 4, 4)),
    "BatchNorm2d of lines": lambda nn: nn.BatchNorm2d(3)(zeros(nn, 2, 3, 4)),
    "BatchNorm1d of other features": lambda nn: nn.BatchNorm1d(3)(zeros(nn, 2, 4)),
    "BatchNorm1d of one row": lambda nn: nn.BatchNorm1d(3)(zeros(nn, 1, 3)),
    "LayerNorm over other axes": lambda nn: nn.LayerNorm(3)(zeros(nn, 2, 4)),
    "Embedding out of range": lambda nn: nn.Embedding(3, 2)(lib_of(nn).tensor([3])),
    "Embedding with padding beyond": lambda nn: nn.Embedding(3, 2, padding_idx=3),
    "Dropout more than all": lambda nn: nn.Dropout(1.5),
    "Dropout less than nothing": lambda nn: nn.Dropout(-0.5),
    "a module that is not there": lambda nn: network(nn).get_submodule("blocks.7"),
    "a submodule that is no module": lambda nn: network(nn).get_submodule("words"),
    "an index beyond the list": lambda nn: network(nn).blocks[2],
    "a list that is called": lambda nn: network(nn).blocks(zeros(nn, 1)),
    "something else in a list": lambda nn: nn.ModuleList([nn.ReLU(), 3]),
    "something else in a Sequential": lambda nn: nn.Sequential(nn.ReLU(), lambda x: x)(zeros(nn, 1)),
    "parameters as integers": lambda nn: nn.Linear(2, 2).to(np.int64 if nn is ours else torch.int64),
    "an unknown gain": lambda nn: (nn if nn is ours else nn.init).calculate_gain("gelus"),
    "kaiming by another mode": lambda nn: (nn if nn is ours else nn.init).kaiming_normal_(
        zeros(nn, 2, 2), mode="fan"
    ),
    "kaiming of a vector": lambda nn: (nn if nn is ours else nn.init).kaiming_normal_(zeros(nn, 2)),
    "xavier of a vector": lambda nn: (nn if nn is ours else nn.init).xavier_uniform_(zeros(nn, 2)),
    "a tensor in the place of a parameter": lambda nn: setattr(nn.Linear(2, 2), "weight", zeros(nn, 2, 2)),
    "a number in the place of a parameter": lambda nn: setattr(nn.Linear(2, 2), "weight", 0.0),
    "a module in the place of a parameter": lambda nn: setattr(nn.Linear(2, 2), "weight", nn.ReLU()),
    "a tensor in the place of a module": lambda nn: setattr(network(nn), "norm", zeros(nn, 2)),
    "a function in the place of a module": lambda nn: setattr(network(nn), "norm", abs),
    "an array in the place of a buffer": lambda nn: setattr(network(nn), "mask", np.ones(2)),
    "a module with a dot in its name": lambda nn: nn.ModuleDict({"a.b": nn.ReLU()}),
    "a module without a name": lambda nn: nn.Module().add_module("", nn.ReLU()),
    "a module called like a method": lambda nn: nn.ModuleDict({"keys": nn.ReLU()}),
    "a module called like a parameter": lambda nn: nn.Linear(2, 2).add_module("weight", nn.ReLU()),
    "something else in a dict": lambda nn: nn.ModuleDict({"a": 3}),
    "a name that a dict has not": lambda nn: nn.ModuleDict({"a": nn.ReLU()})["b"],
    "a name to delete that a dict has not": lambda nn: nn.ModuleDict({"a": nn.ReLU()}).__delitem__("b"),
    "AvgPool2d of more padding than half": lambda nn: nn.AvgPool2d(3, padding=2)(zeros(nn, 1, 1, 5, 5)),
    "AvgPool2d larger than the image": lambda nn: nn.AvgPool2d(6)(zeros(nn, 1, 1, 5, 5)),
    "AdaptiveAvgPool2d of three lengths": lambda nn: nn.AdaptiveAvgPool2d((1, 2, 3))(zeros(nn, 1, 1, 5, 5)),
    "AdaptiveAvgPool2d of less than nothing": lambda nn: nn.AdaptiveAvgPool2d(-1)(zeros(nn, 1, 1, 5, 5)),
    "batch norm without an eps": lambda nn: nn.BatchNorm1d(2, eps=0.0)(zeros(nn, 3, 2)),
    "batch norm with a negative eps": lambda nn: nn.BatchNorm1d(2, eps=-1.0).eval()(zeros(nn, 3, 2)),
    "a parameter that is not there": lambda nn: network(nn).get_parameter("norm.shift"),
    "a buffer as a parameter": lambda nn: network(nn).get_parameter("mask"),
    "an attribute that is not there": lambda nn: nn.ReLU().weight,
    "a buffer over an attribute": lambda nn: nn.Linear(2, 2).register_buffer("weight", zeros(nn, 1)),
    "a parameter of integers": lambda nn: nn.Parameter(lib_of(nn).tensor([1, 2])),
    "GELU by another formula": lambda nn: nn.GELU(approximate="no")(zeros(nn, 1)),
    "MSELoss of other shapes": lambda nn: nn.MSELoss()(zeros(nn, 2), zeros(nn, 3)),
    "MSELoss of another reduction": lambda nn: nn.MSELoss(reduction="max")(zeros(nn, 2), zeros(nn, 2)),
}


@pytest.mark.filterwarnings("ignore")
@named(REFUSED)
def test_the_same_is_refused(name: str) -> None:
    with pytest.raises(Exception):  # noqa: B017 (PyTorch's types vary)
        REFUSED[name](theirs)
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError, AttributeError, KeyError)):
        REFUSED[name](ours)


def test_losses_as_modules() -> None:
    scores, target = np.random.default_rng(0).normal(size=(4, 3)), np.array([0, 2, 1, -100])
    weight = np.array([1.0, 2.0, 0.5])
    for reduction in ("mean", "sum", "none"):
        results = []
        for nn in (ours, theirs):
            make = lib_of(nn)
            loss = nn.CrossEntropyLoss(make.tensor(weight), reduction=reduction, label_smoothing=0.1)
            results.append(loss(make.tensor(scores), make.tensor(target)))
            results.append(nn.MSELoss(reduction=reduction)(make.tensor(scores), make.tensor(scores * 2)))
            assert list(loss.state_dict()) == ["weight"] and list(loss.parameters()) == []
        assert_same(results[0], results[2])
        assert_same(results[1], results[3])
