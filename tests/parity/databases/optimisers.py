"""The database of optimisers: several steps with the same gradients."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from torch.testing._internal.common_optimizers import optim_db

import minilib.optim
from minilib.tensor import Tensor

from ..peer import torch
from .compare import Difference, array_of, ask, asked, settled, value_difference

STEPS = 5


def entries() -> dict[str, Any]:
    """The entries of the database that have a class of their name in minilib.optim."""
    named = {info.optim_cls.__name__: info for info in optim_db}
    return {name: info for name, info in named.items() if hasattr(minilib.optim, name)}


def differences(info: Any, most: int | None = None) -> Iterator[Difference | None]:
    """Run an entry; each run gives its difference or None. It has few samples: all of them run."""
    name = info.optim_cls.__name__
    for label, sample, dtype in samples(info):
        yield from asked(
            f"optim.{name}",
            f"{label}, {sample.desc}",
            (partial(constructed, getattr(minilib.optim, name)), partial(constructed, info.optim_cls)),
            parameters(dtype) if sample.params is None else sample.params,
            sample.kwargs,
            compared,
        )


def samples(info: Any) -> Iterator[tuple[str, Any, str]]:
    for dtype in ("float32", "float64"):
        for i, sample in enumerate(info.optim_inputs_func("cpu")):
            yield f"sample {i}, {dtype}", sample, dtype
        for i, error in enumerate(info.optim_error_inputs_func("cpu", getattr(torch, dtype))):
            yield f"error {i}, {dtype}", error.optimizer_error_input, dtype


def parameters(dtype: str) -> list[Any]:
    torch.manual_seed(0)
    return [torch.randn(size, dtype=getattr(torch, dtype), requires_grad=True) for size in ((3, 4), (4,))]


def constructed(kind: Any, params: Any, options: Any) -> Any:
    return kind(params, **options)


def compared(ours: Any, theirs: Any, mine: Any, peers: Any) -> tuple[str, str] | None:
    """In what the parameters differ after one of some steps."""
    pairs = list(
        zip(*([p for group in each.param_groups for p in group["params"]] for each in (ours, theirs)))
    )
    torch.manual_seed(1)
    for step in range(1, STEPS + 1):
        for p, q in pairs:
            q.grad = torch.randn(q.shape, dtype=q.dtype)
            p.grad = Tensor(array_of(q.grad))
        a, b = ask(ours.step), ask(theirs.step)
        found = settled(a, b)
        if found is not None or b.error is not None:
            return found
        for i, (p, q) in enumerate(pairs):
            text = value_difference(p, q)
            if text:
                return "wrong", f"parameter {i} after step {step}: {text}"
    return None
