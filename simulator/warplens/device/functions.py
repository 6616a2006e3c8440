"""NumPy's functions for device arrays, with the parameters that CuPy has: one wrapper for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from warplens.device.array import index_of, lower, ndarray, operand, required, upper, wrap
from warplens.device.names import PLAIN, WRITERS


class Parameters:
    """The parameters of one function as `device_names` lists them; a call is checked and brought to NumPy."""

    def __init__(self, function: str, words: Sequence[str]) -> None:
        self.function = function
        self.names: list[str] = []
        self.kinds: list[str] = []  # "!", "?", "[]" or ""
        self.positional = 0  # so many at most
        self.unnamed = 0  # so many cannot be given by name
        self.repeated = ""  # the kind of a last parameter that stands for any number, or "none"
        star = False
        for word in words:
            if word == "/":
                self.unnamed = len(self.names)
            elif word == "*":
                star = True
            elif word.startswith("*"):
                self.repeated = word.lstrip("*").lstrip("abcdefghijklmnopqrstuvwxyz_") or "any"
                star = True
            else:
                name = word.rstrip("!?[]")
                self.names.append(name)
                self.kinds.append(word[len(name) :])
                self.positional += not star

    def lowered(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any], list[ndarray]]:
        """The arguments for NumPy, and the device arrays among them. Raises TypeError where CuPy would."""
        if len(args) > self.positional and not self.repeated:
            raise TypeError(
                f"{self.function}: takes {self.positional} positional arguments, got {len(args)}; it has "
                f"({', '.join(self.names)})"
            )
        sources: list[ndarray] = []
        lowered = [
            self._one(self.names[i], self.kinds[i], value, sources)
            if i < self.positional
            else self._one("an argument", self.repeated, value, sources)
            for i, value in enumerate(args)
        ]
        named = {}
        for name, value in kwargs.items():
            if name not in self.names[self.unnamed :]:
                raise TypeError(
                    f"{self.function}: there is no {name!r} in CuPy; it has ({', '.join(self.names)})"
                )
            named[name] = self._one(name, self.kinds[self.names.index(name)], value, sources)
        return lowered, named, sources

    def _one(self, name: str, kind: str, value: Any, sources: list[ndarray]) -> Any:
        if kind == "!":
            required(self.function, name, value)
        elif kind == "?" and not (value is None or isinstance(value, ndarray)):
            return operand(value)
        elif kind == "[]":
            for item in value:
                required(self.function, "every item", item)
        return lower(value, sources)

    def out(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What was given as `out`, or None."""
        if "out" not in self.names:
            return None
        place = self.names.index("out")
        return args[place] if place < len(args) else kwargs.get("out")


def function(name: str, words: Sequence[str], numpy: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function for device arrays."""
    parameters = Parameters(name, words)
    plain, writer = name in PLAIN, name in WRITERS

    def call(*args: Any, **kwargs: Any) -> Any:
        lowered, named, sources = parameters.lowered(args, kwargs)
        result = numpy(*lowered, **named)
        if writer:
            args[0]._wrote()
        out = parameters.out(args, kwargs)
        if out is not None:
            out._wrote()
            return out
        return result if plain else upper(result, sources)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"NumPy's `{name}` for device arrays: {name}({', '.join(parameters.names)})."
    return call


class ufunc:
    """An operation on each element. Arguments are device arrays and numbers; the result is on the device."""

    def __init__(self, numpy: np.ufunc, name: str) -> None:
        self._numpy = numpy
        self.__name__ = self.name = name
        self.nin, self.nout, self.nargs = numpy.nin, numpy.nout, numpy.nargs

    def __call__(self, *args: Any, out: Any = None, dtype: Any = None, casting: str = "same_kind") -> Any:
        if not self.nin <= len(args) <= self.nargs:
            raise TypeError(f"{self.name}: takes {self.nin} arguments, got {len(args)}")
        sources: list[ndarray] = []
        inputs = [operand(arg) for arg in args[: self.nin]]
        outs = args[self.nin :] or (out if isinstance(out, tuple) else () if out is None else (out,))
        places = tuple(None if each is None else required(self.name, "out", each) for each in outs)
        keywords = {"out": places} if places else {}
        result = self._numpy(*inputs, dtype=dtype, casting=casting, **keywords)
        for each in outs:
            if each is not None:
                each._wrote()
                sources.append(each)
        return upper(result, sources)

    def at(self, a: ndarray, indices: Any, b: Any = None) -> None:
        """Without buffering: where `indices` takes an element twice, both count."""
        host, index = required(f"{self.name}.at", "a", a), index_of(indices)
        self._numpy.at(host, index, *(() if b is None else (operand(b),)))
        a._wrote(index)

    def reduce(
        self, array: ndarray, axis: int = 0, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> ndarray:
        """The operation between all elements along an axis."""
        host = required(f"{self.name}.reduce", "array", array)
        made = wrap(self._numpy.reduce(host, axis, dtype, keepdims=keepdims))
        if out is None:
            return made
        out[...] = made
        return out  # type: ignore[no-any-return]

    def outer(self, A: ndarray, B: ndarray) -> ndarray:
        """Between each element of A and each of B."""
        made = wrap(self._numpy.outer(operand(A), operand(B)))
        return made

    def __repr__(self) -> str:
        return f"<ufunc {self.name!r}>"


def method(name: str, words: Sequence[str]) -> Callable[..., Any]:
    """NumPy's method for device arrays."""
    call = function(name, ["self!", *words], getattr(np.ndarray, name))
    call.__doc__ = f"NumPy's method `{name}`."
    return call
