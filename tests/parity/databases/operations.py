"""The database of operations: each that has a name here, as function, method, operator and in place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from torch.testing._internal.common_methods_invocations import op_db

import minilib.functional
import minilib.tensor
from minilib.tensor import Tensor

from ..peer import torch
from .compare import Difference, asked, leaves, results_differ, spread

DTYPES = ("float32", "float64", "int64", "bool", "float16", "uint8", "int32")
OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "true_divide": "truediv", "div": "truediv", "pow": "pow",
    "floor_divide": "floordiv", "remainder": "mod", "matmul": "matmul", "neg": "neg", "abs": "abs",
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "bitwise_not": "invert",
}  # fmt: skip
# Their numbers differ from PyTorch's: shapes and dtypes alone are compared.
DRAWN = {
    "bernoulli", "multinomial", "normal", "rand_like", "randn_like", "randint", "randint_like", "randn",
    "rand", "randperm", "uniform", "empty", "empty_like", "new_empty", "nn.functional.dropout",
}  # fmt: skip

Form = tuple[str, Callable[..., Any], Callable[..., Any], bool]  # name, ours, PyTorch's, whether in place


def entries() -> dict[str, Any]:
    """The entries of the database that have a form here, by name: "sum", "nn.functional.gelu"."""
    return {
        op.name + (f".{op.variant_test_name}" if op.variant_test_name else ""): op
        for op in op_db
        if forms(op)
    }


def forms(op: Any) -> list[Form]:
    """Under which names an operation is here, each with what PyTorch calls so."""
    found: list[Form] = []
    for name in (op.name, *(alias.name for alias in op.aliases)):
        if name.startswith("nn.functional."):
            name = name.removeprefix("nn.functional.")
            add(found, f"functional.{name}", minilib.functional, torch.nn.functional, name)
        elif "." not in name:
            add(found, f"Tensor.{name}", Tensor, torch.Tensor, name)
            add(found, f"Tensor.{name}_", Tensor, torch.Tensor, f"{name}_", in_place=True)
            if name in OPERATORS:
                dunder, writes = f"__{OPERATORS[name]}__", f"__i{OPERATORS[name]}__"
                add(found, f"Tensor.{dunder}", Tensor, torch.Tensor, dunder)
                add(found, f"Tensor.{writes}", Tensor, torch.Tensor, writes, in_place=True)
            add(found, f"tensor.{name}", minilib.tensor, torch, name)
            add(found, f"functional.{name}", minilib.functional, torch.nn.functional, name)
    return found


def add(found: list[Form], form: str, ours: Any, theirs: Any, name: str, in_place: bool = False) -> None:
    if not hasattr(ours, name) or not hasattr(theirs, name) or form in [known for known, *_ in found]:
        return
    a, b = getattr(ours, name), getattr(theirs, name)
    if isinstance(inspect.getattr_static(ours, name), property):
        a, b = a.fget, b.__get__
    # A function that is a method runs as the method; `explained` wraps it.
    here = [inspect.unwrap(known) for _, known, *_ in found]
    if callable(a) and not inspect.isclass(a) and inspect.unwrap(a) not in here:
        found.append((form, a, b, in_place))


# Runs


def differences(op: Any, most: int | None = None) -> Iterator[Difference | None]:
    """Run an entry; each run gives its difference or None. At most `most` samples of each dtype."""
    every_form = forms(op)
    for label, sample in samples(op, most):
        for form, ours, theirs, in_place in every_form:
            if form.startswith("Tensor.") and not isinstance(sample.input, torch.Tensor):
                continue
            yield from asked(
                form,
                label,
                (partial(called, ours, in_place), partial(called, theirs, in_place)),
                (sample.input, *sample.args),
                sample.kwargs,
                partial(compared, op),
            )


def samples(op: Any, most: int | None) -> Iterator[tuple[str, Any]]:
    """Those of the database, and those that PyTorch refuses, straight from its functions."""
    for dtype in DTYPES:
        if getattr(torch, dtype) in op.supported_dtypes("cpu"):
            torch.manual_seed(0)
            wants_gradient = op.supports_autograd and dtype.startswith("float")
            made = op.sample_inputs_func(op, "cpu", getattr(torch, dtype), wants_gradient)
            for i, sample in spread(enumerate(made), most):
                yield f"sample {i}, {dtype}", sample
    torch.manual_seed(0)
    for i, error in enumerate(op.error_inputs_func(op, "cpu") if op.error_inputs_func is not None else ()):
        yield f"error {i}", error.sample_input


def called(function: Callable[..., Any], in_place: bool, given: Any, options: Any) -> Any:
    """What a function gives, and in place what it leaves behind: of a copy, since no leaf may be written."""
    if in_place:
        x = given[0].clone()
        return [function(x, *given[1:], **options), x]
    out = function(*given, **options)
    return list(out) if isinstance(out, Iterator) else out


def compared(op: Any, ours: Any, theirs: Any, mine: Any, peers: Any) -> tuple[str, str] | None:
    """What differs. Which of equal numbers `topk` finds, PyTorch leaves open."""
    inputs = list(zip(leaves(mine, Tensor), leaves(peers, torch.Tensor)))
    if op.name == "topk":
        ours, theirs = ours[0], theirs[0]
        inputs = [] if theirs.dtype is torch.float16 else inputs
    drawn = op.name in DRAWN or peers[1].get("dropout_p", 0) > 0
    return results_differ(ours, theirs, inputs, drawn=drawn)
