"""The table of operators: for each ONNX name what it computes, and what can be known of its results before.

An operator is two functions with the same arguments: inputs (None for one that is absent), then attributes by
their ONNX names, with ONNX's defaults. `run` takes arrays; `facts` takes facts and gives those of results.
Every operator is here in the form of its newest opset: `load` brings older ones into that form.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minilib.infer.facts import Fact, FactError, Unknown, broadcast_shapes

__all__ = [
    "FAILURES",
    "OPERATORS",
    "Operator",
    "boolean",
    "broadcast",
    "define",
    "floats",
    "one_kind",
    "operator",
    "same",
]


# What NumPy and Python raise where arrays, facts or attributes are not what an operator takes.
FAILURES = (ArithmeticError, AttributeError, IndexError, KeyError, MemoryError, TypeError, ValueError)


@dataclass(frozen=True)
class Operator:
    """One line of the table."""

    name: str
    run: Callable[..., Any]
    facts: Callable[..., Any]
    attributes: frozenset[str]  # those that it knows
    least: int  # inputs that have to be there, the first ones
    most: float  # inputs that there may be
    own: bool = False  # made by our passes: no file has it

    def __call__(self, *arrays: Any, **attributes: Any) -> tuple[Any, ...]:
        """The results, always as a tuple. Raises what NumPy does, one of FAILURES."""
        with np.errstate(all="ignore"):
            made = self.run(*arrays, **attributes)
        return made if isinstance(made, tuple) else (made,)

    def infer(self, *facts: Fact | None, **attributes: Any) -> tuple[Fact, ...]:
        """The facts of the results. Raises FactError where those of the inputs cannot be."""
        try:
            with np.errstate(all="ignore"):
                made = self.facts(*facts, **attributes)
        except Unknown:
            made = Fact(facts[0].dtype if facts[0] is not None else None)
        except FAILURES as error:
            raise error if isinstance(error, FactError) else FactError(str(error)) from None
        return made if isinstance(made, tuple) else (made,)


OPERATORS: dict[str, Operator] = {}


def define(
    name: str, run: Callable[..., Any], facts: Callable[..., Any], more: Iterable[str] = (), own: bool = False
) -> None:
    """A line of the table; its attributes are the keywords of `run`, and `more`. No file has our `own`."""
    if isinstance(run, np.ufunc):  # its keywords are NumPy's
        OPERATORS[name] = Operator(name, run, facts, frozenset(more), run.nin, run.nin, own)
        return
    parameters = inspect.signature(run).parameters.values()
    attributes = frozenset(one.name for one in parameters if one.kind is one.KEYWORD_ONLY)
    inputs = [one for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    least = sum(one.default is one.empty for one in inputs)
    most = math.inf if any(one.kind is one.VAR_POSITIONAL for one in parameters) else len(inputs)
    OPERATORS[name] = Operator(name, run, facts, attributes.union(more), least, most, own)


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
    """The result is as large as the first input, and of its kind; `axis` has to be one of its own."""
    axis, many = attributes.get("axis"), x.shape and len(x.shape)
    if many and isinstance(axis, int) and not -many <= axis < many and not attributes.get("flat"):
        raise FactError(f"axis {axis} of {x}, which has {many}")
    return Fact(x.dtype, x.shape)


def floats(x: Fact, *others: Fact | None, **attributes: Any) -> Fact:
    """The same, of floats alone: NumPy would make whole numbers to floats of its own choice."""
    if x.dtype is not None and x.dtype.kind != "f":
        raise FactError(f"floats are taken, and {x} is none; cast it")
    return same(x, *others, **attributes)


def one_kind(*inputs: Fact | None) -> np.dtype[Any] | None:
    """The kind of numbers that all inputs are of."""
    dtypes = {one.dtype for one in inputs if one is not None and one.dtype is not None}
    if len(dtypes) > 1:
        raise FactError(f"inputs of different kinds: {' and '.join(str(one) for one in inputs)}; cast one")
    return dtypes.pop() if dtypes else None


def broadcast(*inputs: Fact | None, **attributes: Any) -> Fact:
    """Inputs of one kind, whose shapes broadcast, as NumPy's do."""
    return Fact(one_kind(*inputs), broadcast_shapes(*(one.shape for one in inputs if one is not None)))


def boolean(*inputs: Fact | None, **attributes: Any) -> Fact:
    """The same, and the result is true or false."""
    return Fact(np.dtype(bool), broadcast(*inputs).shape)
