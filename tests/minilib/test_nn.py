"""minilib.nn, layer by layer: against NumPy and difference quotients, in training and in evaluation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from functional_cases import CASES, given_tensors, options_of
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_cases import Drawn, floats, shapes
from test_tensor import leaves, one_of_each, quick, slopes

import minilib.tensor as lib
from minilib import nn
from minilib.tensor import Generator, Tensor, no_grad, tensor

few = settings(quick, max_examples=8)


@dataclass(frozen=True)
class Layer:
    """A kind of module, with a way to draw its inputs, then its parameters in order, and its options."""

    name: str
    make: Callable[..., nn.Module]  # make(*arrays, **options)
    drawn: st.SearchStrategy[Drawn]
    plain: Callable[..., Any] | None = None  # the same of arrays
    inputs: int = 1
    tolerance: float = 1e-6

    def build(self, arrays: list[np.ndarray], options: dict[str, Any]) -> nn.Module:
        """The module in float64, with the drawn numbers as its parameters."""
        module = self.make(*arrays, **options).to("float64")
        with no_grad():
            for parameter, array in zip(module.parameters(), arrays[self.inputs :], strict=True):
                assert type(parameter) is nn.Parameter and parameter.shape == array.shape
                parameter.copy_(Tensor(array))
        return module


BY_NAME = {case.name: case for case in CASES}


def like(operation: str, make: Callable[..., nn.Module], name: str = "", inputs: int = 1) -> Layer:
    """A layer that computes what an operation of the functional table does, and draws as that does."""
    case = BY_NAME[operation]
    return Layer(name or operation, make, case.inputs, case.plain, inputs, case.tolerance)


def where(layer: Layer, ndims: tuple[int, ...]) -> Layer:
    """Only for inputs of so many axes."""
    return replace(layer, drawn=layer.drawn.filter(lambda drawn: drawn[0][0].ndim in ndims))


# ---------------------------------------------------------------- the table


def linear(x: Any, weight: Any, *bias: Any) -> nn.Module:
    return nn.Linear(weight.shape[1], weight.shape[0], bool(bias))


def conv(x: Any, weight: Any, *bias: Any, **options: Any) -> nn.Module:
    kind = nn.Conv1d if x.ndim == 3 else nn.Conv2d
    return kind(x.shape[1], weight.shape[0], weight.shape[2:], bias=bool(bias), **options)


def layer_norm(x: Any, *affine: Any, shape: Any, **options: Any) -> nn.Module:
    return nn.LayerNorm(shape, elementwise_affine=bool(affine), bias=len(affine) == 2, **options)


def rms_norm(x: Any, *affine: Any, shape: Any, **options: Any) -> nn.Module:
    return nn.RMSNorm(shape, elementwise_affine=bool(affine), **options)


def batch_norm(
    x: Any, *affine: Any, training: bool, running_mean: Any = None, running_var: Any = None, **options: Any
) -> nn.Module:
    kind = nn.BatchNorm2d if x.ndim == 4 else nn.BatchNorm1d
    module = kind(x.shape[1], affine=bool(affine), **options).to("float64").train(training)
    if not training:
        module.running_mean.copy_(tensor(running_mean))
        module.running_var.copy_(tensor(running_var))
    return module


def cross_entropy(x: Any, target: Any, **options: Any) -> nn.Module:
    return nn.CrossEntropyLoss(**given_tensors(lib, options, Tensor(x)))


def dropout(x: Any, p: float, seed: int) -> nn.Module:
    """Its generator starts anew at each call, so that a difference quotient meets one mask."""
    module = nn.Dropout(p)
    module.register_forward_pre_hook(lambda m, inputs: setattr(m, "generator", Generator(seed)))
    return module


def flatten(x: Any, start_dim: int = 1, end_dim: int = -1) -> nn.Module:
    return nn.Flatten(start_dim, end_dim)


def np_flatten(x: np.ndarray, start_dim: int, end_dim: int) -> np.ndarray:
    last = end_dim % x.ndim
    return x.reshape(*x.shape[:start_dim], int(np.prod(x.shape[start_dim : last + 1])), *x.shape[last + 1 :])


@st.composite
def flattened(draw: Any) -> Drawn:
    shape = draw(shapes(2, 4))
    start = draw(st.integers(0, len(shape) - 1))
    end = draw(st.integers(start, len(shape) - 1)) - len(shape) * draw(st.integers(0, 1))
    return draw(floats(shape)), {"start_dim": start, "end_dim": end}


def by_name(x: Any, *others: Any) -> nn.Module:
    layers = nn.ModuleDict({"first": nn.Linear(x.shape[1], 2), "last": nn.Linear(2, x.shape[1])})
    return Chosen(layers)


class Chosen(nn.Module):
    """Modules in a dict, by their names and as attributes."""

    def __init__(self, layers: nn.ModuleDict) -> None:
        self.layers = layers

    def forward(self, x: Tensor) -> Tensor:
        return self.layers["last"](self.layers.first(x).tanh())


class Wired(nn.Module):
    """Modules in a list, one of them called twice."""

    def __init__(self, width: int) -> None:
        self.layers = nn.ModuleList([nn.Linear(width, width), nn.Linear(width, width, bias=False)])

    def forward(self, x: Tensor) -> Tensor:
        first, second = self.layers
        return x + first(second(first(x).tanh()).tanh())


@st.composite
def layers_of(draw: Any, *sizes: str) -> Drawn:
    """An input (n, k) and parameters whose shapes are written with n, k, m."""
    side = {name: draw(st.integers(1, 3)) for name in "nkm"}
    return draw(floats(*[tuple(side.get(name) or int(name) for name in size) for size in sizes])), {}


def sequential(x: Any, weight: Any, *others: Any) -> nn.Module:
    k, m = x.shape[1], len(weight)
    return nn.Sequential(nn.Linear(k, m), nn.Tanh(), nn.Sequential(nn.Linear(m, k, bias=False), nn.SiLU()))


LAYERS = [
    like("linear", linear),
    like("linear of nothing", linear),
    like("conv1d", conv),
    like("conv2d", conv),
    like("conv1d, padding by name", conv),
    like("conv2d, padding by name", conv),
    like("max_pool2d", lambda x, **o: nn.MaxPool2d(**o)),
    like("avg_pool2d", lambda x, **o: nn.AvgPool2d(**o)),
    like("adaptive_avg_pool2d", lambda x, **o: nn.AdaptiveAvgPool2d(**o)),
    like("layer_norm", layer_norm),
    like("rms_norm", rms_norm),
    *[
        where(like(operation, batch_norm, f"{operation}, {name}"), ndims)
        for operation in ("batch_norm", "batch_norm in training")
        for name, ndims in {"1d": (2, 3), "2d": (4,)}.items()
    ],
    like("embedding", lambda x, weight: nn.Embedding(*weight.shape)),
    like("relu", lambda x: nn.ReLU()),
    like("tanh", lambda x: nn.Tanh()),
    like("sigmoid", lambda x: nn.Sigmoid()),
    like("silu", lambda x: nn.SiLU()),
    like("gelu", lambda x, **o: nn.GELU(**o)),
    like("cross_entropy", cross_entropy, inputs=2),
    like("mse_loss", lambda x, y, **o: nn.MSELoss(**o), inputs=2),
    Layer("identity", lambda x: nn.Identity(), layers_of("nk"), lambda x: x),
    Layer("a dict", by_name, layers_of("nk", "2k", "2", "k2", "k")),
    Layer("flatten", flatten, flattened(), np_flatten),
    Layer("dropout", dropout, options_of(p=[0.0, 0.3, 1.0], seed=[0, 1, 2])),
    Layer("sequential", sequential, layers_of("nk", "mk", "m", "km")),
    Layer("a list", lambda x, *others: Wired(x.shape[1]), layers_of("nk", "kk", "k", "kk")),
]

every_layer = pytest.mark.parametrize("layer", [pytest.param(one, id=one.name) for one in LAYERS])


def kinds_in(layer: Layer) -> set[type]:
    seen: set[type] = set()

    @one_of_each
    @given(layer.drawn)
    def run(drawn: Any) -> None:
        seen.update(type(module) for module in layer.build(*drawn).modules())

    run()
    return seen


@pytest.mark.slow
def test_every_public_module_is_in_the_table() -> None:
    seen = set().union(*[kinds_in(layer) for layer in LAYERS])
    public = {
        item
        for name, item in inspect.getmembers(nn, inspect.isclass)
        if issubclass(item, nn.Module) and item.__module__ == nn.__name__ and not name.startswith("_")
    }
    assert public - seen == {nn.Module}
    assert len(public) >= 20


# ---------------------------------------------------------------- every layer


@pytest.mark.parametrize("layer", [pytest.param(one, id=one.name) for one in LAYERS if one.plain])
def test_forward_equals_numpy(layer: Layer) -> None:
    @few
    @given(layer.drawn)
    def check(drawn: Any) -> None:
        arrays, options = drawn
        y = layer.build(arrays, options)(*[Tensor(x) for x in arrays[: layer.inputs]])
        expected = layer.plain(*arrays, **options) if layer.plain else None
        assert (y.shape, y.dtype) == (np.shape(expected), np.float64)
        np.testing.assert_allclose(y.data, expected, rtol=1e-10, atol=1e-12)

    check()


@every_layer
def test_gradients_equal_difference_quotients(layer: Layer) -> None:
    """With respect to the inputs and to each parameter."""

    @few
    @given(layer.drawn, st.integers(0, 99))
    def check(drawn: Any, seed: int) -> None:
        arrays, options = drawn
        module = layer.build(arrays, options)
        inputs = leaves(arrays[: layer.inputs])
        y = module(*inputs)
        weight = np.random.default_rng(seed).uniform(0.5, 1.5, y.shape)

        def loss() -> float:
            with no_grad():
                return float((module(*[Tensor(x.data) for x in inputs]).data * weight).sum())

        if y.requires_grad:
            y.backward(Tensor(weight))
        for x in (*[x for x in inputs if x.requires_grad], *module.parameters()):
            expected = slopes(loss, x.data, 1e-6)
            got = np.zeros(x.shape) if x.grad is None else x.grad.data
            np.testing.assert_allclose(got, expected, rtol=layer.tolerance, atol=layer.tolerance)

    check()


@every_layer
def test_a_state_makes_another_module_give_the_same(layer: Layer) -> None:
    @one_of_each
    @given(layer.drawn)
    def check(drawn: Any) -> None:
        arrays, options = drawn
        module, other = layer.build(arrays, options), layer.make(*arrays, **options).to("float64")
        other.load_state_dict(module.state_dict())
        a, b = (m(*[Tensor(x) for x in arrays[: layer.inputs]]) for m in (module, other))
        np.testing.assert_array_equal(a.data, b.data)
        assert repr(module) == repr(other)

    check()


# ---------------------------------------------------------------- what a layer does beside that


@given(st.integers(1, 3), st.sampled_from([(4,), (2, 3), (3, 2, 2)]), st.sampled_from([0.1, 0.7]))
@few
def test_batch_norm_keeps_averages_in_training_and_uses_them_in_evaluation(
    features: int, others: tuple[int, ...], momentum: float
) -> None:
    """Of the batch's mean and of its unbiased variance: 1 - momentum of the old and momentum of the new."""
    n, *places = others
    kind = nn.BatchNorm2d if len(places) == 2 else nn.BatchNorm1d
    module, rng = kind(features, momentum=momentum).to("float64"), np.random.default_rng(features)
    over, mean, var = (0, *range(2, 2 + len(places))), np.zeros(features), np.ones(features)
    for _ in range(3):
        x = rng.normal(2, 3, (n, features, *places))
        module(Tensor(x))
        mean = (1 - momentum) * mean + momentum * x.mean(over)
        var = (1 - momentum) * var + momentum * x.var(over, ddof=1)
    np.testing.assert_allclose(module.running_mean.data, mean, rtol=1e-12)
    np.testing.assert_allclose(module.running_var.data, var, rtol=1e-12)
    assert module.num_batches_tracked.item() == 3
    module.eval()
    wide = (slice(None), *[None] * len(places))
    y = module(Tensor(x[:1])).data
    np.testing.assert_allclose(y, (x[:1] - mean[wide]) / np.sqrt(var[wide] + 1e-5), rtol=1e-10)
    assert module.num_batches_tracked.item() == 3


def test_the_row_for_padding_starts_at_0_and_gets_no_gradient() -> None:
    table = nn.Embedding(4, 2, padding_idx=1)
    assert table.weight[1].tolist() == [0.0, 0.0] and (table.weight.data[[0, 2, 3]] != 0).all()
    table(tensor([[1, 3], [1, 1]])).sum().backward()
    assert table.weight.grad.tolist() == [[0, 0], [0, 0], [0, 0], [1, 1]]


def test_dropout_does_nothing_in_evaluation() -> None:
    x = tensor([1.0, 2.0])
    assert nn.Sequential(nn.Dropout(0.7)).eval()(x) is x


def test_a_summary_lists_each_tensor_once() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    model[0].bias.requires_grad_(False)
    rows = {row[0]: row[1:] for row in model.summary()}
    assert rows["0.weight"] == ((4, 3), 12, 48, "learned") and rows["0.bias"][-1] == "frozen"
    assert rows["1.running_mean"] == ((4,), 4, 16, "buffer")
    assert model.num_parameters() == 12 + 4 + 4 + 4
    assert "24 parameters" in repr(model.summary())


def test_any_module_is_saved_and_loaded(tmp_path) -> None:
    here, there = (nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)) for _ in range(2))
    there.load(here.save(tmp_path / "weights.safetensors"))
    for name, t in here.state_dict().items():
        np.testing.assert_array_equal(there.state_dict()[name].numpy(), t.numpy())
    with pytest.raises(ValueError, match="safetensors"):
        here.save(tmp_path / "weights.pt")
    with pytest.raises(RuntimeError, match="missing"):
        nn.Linear(3, 4).load(tmp_path / "weights.safetensors")


def test_sizes_that_are_no_whole_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match=r"3\.5"):
        nn.Conv2d(3, 4, 3.5)
