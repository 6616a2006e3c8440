"""An array or a list where a tensor is expected: each public function and module says so, in one line."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import minilib.functional as F
import minilib.tensor as T
from minilib import init, nn
from minilib.gpt import GPT, GPTConfig
from minilib.mamba import Mamba, MambaConfig
from minilib.tensor import Tensor, creation, derivatives, functions, tensor

ARRAY = np.ones((2, 3), np.float32)
# What takes NumPy's arrays as it takes tensors, and what is no function of tensors but works on functions.
TAKE_ARRAYS = {
    *("tensor", "as_tensor", "from_numpy", "allclose", "eq", "ne", "lt", "le", "gt", "ge", "pow", "unbind"),
}
ON_FUNCTIONS = {"in_float32", "gradcheck", "result_type"}


def of_tensors() -> Iterator[tuple[str, FunctionType, str]]:
    """Public functions, each with a parameter of theirs that is a tensor or several."""
    names = {name: getattr(F, name) for name in F.__all__}
    names |= {name: getattr(T, name) for one in (creation, derivatives, functions) for name in one.__all__}
    names |= {name: getattr(T, name) for name in vars(T._names) if not name.startswith("_")}
    names |= {name: one for name, one in vars(init).items() if name.endswith("_") and name[0] != "_"}
    for name, function in sorted(names.items()):
        if isinstance(function, FunctionType) and name not in TAKE_ARRAYS | ON_FUNCTIONS:
            for one in inspect.signature(function).parameters.values():
                if one.name == "self" or str(one.annotation).startswith(("Tensor", "Sequence[Tensor")):
                    yield name, function, one.name


CASES = list(of_tensors())


def arguments(function: FunctionType, wrong: str, value: Any) -> tuple[list[Any], dict[str, Any]]:
    """`value` for the parameter that is wrong, a tensor for each other one that must be given."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.VAR_POSITIONAL:
            positional += [value] if one.name == wrong else []
        elif one.name == wrong:
            named[one.name] = value
        elif one.default is one.empty and one.kind is not one.VAR_KEYWORD:
            named[one.name] = tensor(ARRAY) if "Tensor" in str(one.annotation) or one.name == "self" else 1
    return positional, named


def test_there_are_functions_to_look_at() -> None:
    assert len(CASES) > 100


@pytest.mark.parametrize("value", [ARRAY, ARRAY.tolist()], ids=["array", "list"])
def test_a_function_names_what_is_no_tensor(value: Any) -> None:
    silent = []
    for name, function, wrong in CASES:
        positional, named = arguments(function, wrong, value)
        try:
            made = function(*positional, **named)
        except TypeError as error:
            if wrong.replace("self", "input") not in str(error) or "tensor(...)" not in str(error):
                silent.append((name, wrong, str(error)))
        except Exception as error:
            silent.append((name, wrong, repr(error)))
        else:
            if not isinstance(made, Tensor):  # where an array does as well as a tensor, nothing is wrong
                silent.append((name, wrong, f"returned {type(made).__name__}"))
    assert silent == []


def modules() -> dict[str, nn.Module]:
    """One of each kind that takes a tensor."""
    made: dict[str, nn.Module] = {
        "GPT": GPT(GPTConfig(vocab_size=9, block_size=4, n_layer=1, n_head=1, n_embd=4, model_type=None)),
        "Mamba": Mamba(MambaConfig(vocab_size=9, d_model=4, n_layer=1)),
    }
    for name, kind in vars(nn).items():
        if isinstance(kind, type) and issubclass(kind, nn.Module) and not name.startswith("_"):
            if kind.forward is nn.Module.forward:  # a container
                continue
            needed = [
                one
                for one in inspect.signature(kind).parameters.values()
                if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
            ]
            made[name] = kind(*[3 for _ in needed])
    return made


@pytest.mark.parametrize("value", [ARRAY, ARRAY.tolist()], ids=["array", "list"])
def test_a_module_names_what_is_no_tensor(value: Any) -> None:
    for name, module in modules().items():
        if name in ("Identity", "Sequential"):  # these hand on whatever comes
            continue
        more = () if "target" not in inspect.signature(module.forward).parameters else (tensor(ARRAY),)
        with pytest.raises(TypeError, match=r"tensor\(\.\.\.\)") as caught:
            module(value, *more)
        assert name in str(caught.value)


def test_what_a_right_call_raises_is_left_alone() -> None:
    with pytest.raises(RuntimeError, match="as many features"):
        F.linear(tensor(ARRAY), tensor(ARRAY[:, :2]))
    with pytest.raises(TypeError, match="missing 2 required"):
        F.softmax()  # type: ignore[call-arg]


def test_a_list_that_holds_an_array_is_told_by_its_place() -> None:
    with pytest.raises(TypeError, match=r"tensors\[1\]"):
        T.cat([tensor(ARRAY), ARRAY])  # type: ignore[list-item]


def test_load_state_dict_takes_arrays() -> None:
    linear = nn.Linear(3, 2)
    state = {"weight": np.arange(6.0).reshape(2, 3), "bias": np.ones(2)}
    linear.load_state_dict(state)  # type: ignore[arg-type]
    np.testing.assert_array_equal(linear.weight.numpy(), state["weight"])
    with pytest.raises(TypeError, match="str"):
        linear.load_state_dict("weights.safetensors")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["gpu", "mps", "float65"])
def test_to_names_what_is_neither_device_nor_dtype(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        tensor(ARRAY).to(name)


def test_a_batched_product_names_the_shapes_that_do_not_fit() -> None:
    with pytest.raises(RuntimeError, match=r"\(2, 3, 4\) @ \(3, 4, 5\)"):
        T.ones(2, 3, 4) @ T.ones(3, 4, 5)


def test_lists_of_different_lengths_are_told_so() -> None:
    with pytest.raises(ValueError, match="length"):
        tensor([[1, 2], [3]])


@pytest.mark.parametrize("name", ["GPT", "Mamba"])
@pytest.mark.parametrize("value", [np.zeros((1, 2), np.int64), [[0, 0]]], ids=["array", "list"])
def test_generate_names_a_prompt_that_is_no_tensor(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=r"tensor\(\.\.\.\)"):
        modules()[name].generate(value, 2)
