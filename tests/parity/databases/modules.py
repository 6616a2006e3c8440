"""The database of modules: constructed, given PyTorch's state, run forward and backward in both modes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from torch.testing._internal.common_modules import module_db

import minilib.nn
from minilib.tensor import Tensor

from ..peer import torch
from .compare import (
    Difference,
    array_of,
    ask,
    asked,
    leaves,
    results_differ,
    settled,
    spread,
    value_difference,
)

DRAWN = {"Dropout"}


def entries() -> dict[str, Any]:
    """The entries of the database that have a class of their name in minilib.nn."""
    named = {info.module_cls.__name__: info for info in module_db}
    return {name: info for name, info in named.items() if hasattr(minilib.nn, name)}


def differences(info: Any, most: int | None = None) -> Iterator[Difference | None]:
    """Run an entry; each run gives its difference or None."""
    name = info.module_cls.__name__
    for label, sample, dtype, training in samples(info, most):
        inputs = sample.forward_input
        yield from asked(
            f"nn.{name}",
            label,
            (partial(constructed, getattr(minilib.nn, name)), partial(constructed, info.module_cls)),
            (sample.constructor_input.args, (inputs.args, inputs.kwargs) if inputs is not None else ((), {})),
            sample.constructor_input.kwargs,
            partial(compared, dtype, training),
        )


def samples(info: Any, most: int | None) -> Iterator[tuple[str, Any, str, bool]]:
    """Those of the database, with dtype and mode, and those that PyTorch refuses."""
    for dtype in ("float32", "float64"):
        for training in (True, False):
            torch.manual_seed(0)
            made = info.module_inputs_func(info, "cpu", getattr(torch, dtype), True, training)
            for i, sample in spread(enumerate(made), most):
                yield (
                    f"sample {i}, {dtype}, {'training' if training else 'evaluation'}",
                    sample,
                    dtype,
                    training,
                )
    torch.manual_seed(0)
    if info.module_error_inputs_func is not None:
        for i, error in enumerate(info.module_error_inputs_func(info, "cpu", torch.float32, False, True)):
            yield f"error {i}", error.module_error_input, "float32", True


def constructed(kind: Any, given: Any, options: Any) -> Any:
    return kind(*given[0], **options)


def compared(
    dtype: str, training: bool, ours: Any, theirs: Any, mine: Any, peers: Any
) -> tuple[str, str] | None:
    """In what two modules differ: names of the state, outputs, gradients, state afterwards."""
    ours, theirs = ours.to(dtype).train(training), theirs.to(getattr(torch, dtype)).train(training)
    state = theirs.state_dict()
    if list(ours.state_dict()) != list(state):
        return "wrong", f"state_dict has {list(ours.state_dict())} and not {list(state)}"
    loaded = ask(ours.load_state_dict, {path: Tensor(array_of(x)) for path, x in state.items()})
    if loaded.error is not None:
        return "wrong", f"load_state_dict: {loaded.message}"
    (args, kwargs), (their_args, their_kwargs) = mine[0][1], peers[0][1]
    a, b = ask(lambda: ours(*args, **kwargs)), ask(lambda: theirs(*their_args, **their_kwargs))
    found = settled(a, b)
    if found is not None or b.error is not None:
        return found
    inputs = list(zip(leaves(mine, Tensor), leaves(peers, torch.Tensor)))
    inputs += zip(ours.parameters(), theirs.parameters())
    drawn = training and type(theirs).__name__ in DRAWN
    found = results_differ(a.value, b.value, inputs, drawn=drawn, tolerance=10.0)
    for path, x in theirs.state_dict().items():
        text = value_difference(ours.state_dict()[path], x)
        if found is None and text:
            found = "wrong", f"{path} afterwards: {text}"
    return found
