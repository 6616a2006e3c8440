"""The table of operators: for each ONNX name what it computes, and what can be known of its results before.

An operator is two functions with the same arguments: inputs (None for one that is absent), then attributes by
their ONNX names, with ONNX's defaults. `run` takes arrays; `facts` takes facts and gives those of results.
Every operator is here in the form of its newest opset: `load` brings older ones into that form.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minilib.infer.facts import Fact, FactError, broadcast_shapes

__all__ = ["OPERATORS", "Operator", "boolean", "broadcast", "define", "operator", "same"]


@dataclass(frozen=True)
class Operator:
    """One line of the table."""

    name: str
    run: Callable[..., Any]
    facts: Callable[..., Any]
    attributes: frozenset[str]  # those that it knows
    own: bool = False  # made by our passes: no file has it

    def __call__(self, *arrays: Any, **attributes: Any) -> tuple[Any, ...]:
        """The results, always as a tuple. Raises ValueError, IndexError or TypeError, as NumPy does."""
        with np.errstate(all="ignore"):
            made = self.run(*arrays, **attributes)
        return made if isinstance(made, tuple) else (made,)

    def infer(self, *facts: Fact | None, **attributes: Any) -> tuple[Fact, ...]:
        """The facts of the results. Raises FactError where those of the inputs cannot be."""
        made = self.facts(*facts, **attributes)
        return made if isinstance(made, tuple) else (made,)


OPERATORS: dict[str, Operator] = {}


def define(
    name: str, run: Callable[..., Any], facts: Callable[..., Any], more: Iterable[str] = (), own: bool = False
) -> None:
    """A line of the table; its attributes are the keywords of `run`, and `more`. No file has our `own`."""
    parameters = inspect.signature(run).parameters.values()
    attributes = frozenset(one.name for one in parameters if one.kind is one.KEYWORD_ONLY)
    OPERATORS[name] = Operator(name, run, facts, attributes.union(more), own)


def operator(
    name: str, facts: Callable[..., Any], more: Iterable[str] = (), own: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`define` as a decorator of what the operator runs."""

    def decorated(run: Callable[..., Any]) -> Callable[..., Any]:
        define(name, run, facts, more, own)
        return run

    return decorated


# Rules that many operators share


def same(x: Fact, *others: Fact | None, **attributes: Any) -> Fact:
    """The result is as large as the first input, and of its kind."""
    return Fact(x.dtype, x.shape)


def broadcast(*inputs: Fact | None, **attributes: Any) -> Fact:
    """Inputs of one kind, whose shapes broadcast, as NumPy's do."""
    there = [one for one in inputs if one is not None]
    dtypes = {one.dtype for one in there if one.dtype is not None}
    if len(dtypes) > 1:
        raise FactError(f"inputs of different kinds: {' and '.join(str(one) for one in there)}; cast one")
    return Fact(dtypes.pop() if dtypes else None, broadcast_shapes(*(one.shape for one in there)))


def boolean(*inputs: Fact | None, **attributes: Any) -> Fact:
    """The same, and the result is true or false."""
    return Fact(np.dtype(bool), broadcast(*inputs).shape)
