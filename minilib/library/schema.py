"""What an operator takes and returns, read from the annotations of a function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from minilib.tensor import Tensor

__all__ = ["Schema", "infer_schema", "schema_of"]

PLAIN: dict[Any, str] = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str"}
ACCEPTED = {"Tensor": (Tensor,), "SymInt": (int,), "float": (float, int), "bool": (bool,), "str": (str,)}


def type_name(annotation: Any) -> str:
    """What a schema calls a type: "Tensor?" for `Tensor | None`, "SymInt[]" for `list[int]`."""
    if annotation in PLAIN:
        return PLAIN[annotation]
    inner = [one for one in get_args(annotation) if one is not NoneType]
    if get_origin(annotation) in (Union, UnionType) and len(inner) == 1:
        return type_name(inner[0]) + "?"
    if get_origin(annotation) in (list, Sequence) and inner:
        return type_name(inner[0]) + "[]"
    raise ValueError(f"{annotation} is no type of a schema: Tensor, int, float, bool, str, and lists of them")


def is_of(value: Any, type: str) -> bool:
    if type in ACCEPTED:
        return isinstance(value, ACCEPTED[type])
    if type.endswith("?"):
        return value is None or is_of(value, type[:-1])
    return isinstance(value, list | tuple) and all(is_of(one, type[:-2]) for one in value)


@dataclass(frozen=True)
class Schema:
    """The parameters of an operator, the types of its results, and which arguments it writes into."""

    signature: inspect.Signature
    types: dict[str, str]  # of the parameters
    returns: tuple[str, ...]
    single: bool  # one result that comes without a tuple
    written: frozenset[str]

    @functools.cached_property
    def defaults(self) -> tuple[Any, ...] | None:
        """The default of each parameter, `empty` where there is none; None where one goes by name alone."""
        parameters = self.signature.parameters.values()
        if any(one.kind is one.KEYWORD_ONLY for one in parameters):
            return None
        return tuple(one.default for one in parameters)

    def __str__(self) -> str:
        shown, keywords = [], False
        for i, (name, parameter) in enumerate(self.signature.parameters.items()):
            if parameter.kind is parameter.KEYWORD_ONLY and not keywords:
                keywords = True
                shown.append("*")
            type = self.types[name].replace("Tensor", f"Tensor(a{i}!)" if name in self.written else "Tensor")
            default = parameter.default
            value = f'"{default}"' if isinstance(default, str) else default
            shown.append(f"{type} {name}" + ("" if default is parameter.empty else f"={value}"))
        returned = self.returns[0] if self.single else f"({', '.join(self.returns)})"
        return f"({', '.join(shown)}) -> {returned}"

    def bind(self, name: str, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All arguments, defaults too: by position, and those by name alone. Raises TypeError."""
        if not kwargs and self.defaults is not None:  # a tenth of the time that `Signature.bind` takes
            inputs = (*args, *self.defaults[len(args) :])
            if len(inputs) == len(self.types) and all(map(is_of, inputs, self.types.values())):
                return inputs, {}
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}, of {self}") from None
        bound.apply_defaults()
        for parameter, value in bound.arguments.items():
            if not is_of(value, self.types[parameter]):
                raise TypeError(
                    f"{name}: {parameter} is a {type(value).__name__}, expected is {self.types[parameter]}"
                )
        return bound.args, bound.kwargs

    def results(self, name: str, made: Any) -> tuple[Tensor, ...]:
        """What a kernel or a fake returned, as a tuple. Raises TypeError where it is not as promised."""
        results = () if made is None else (made,) if self.single else made
        if not isinstance(results, tuple | list) or len(results) != len(self.returns):
            raise TypeError(f"{name}: returned {_what(made)}, and its schema says {self}")
        for one in results:
            if not isinstance(one, Tensor):
                raise TypeError(f"{name}: returned a {type(one).__name__} for a Tensor: t.from_numpy(...)?")
        return tuple(results)


def _what(made: Any) -> str:
    return f"{len(made)} results" if isinstance(made, tuple | list) else f"a {type(made).__name__}"


def schema_of(function: Callable[..., Any], mutates_args: str | Collection[str]) -> Schema:
    """The schema that the annotations of `function` tell. Raises ValueError for what no schema can say."""
    signature, hints, types = inspect.signature(function), get_type_hints(function), {}
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ValueError(f"infer_schema: *{name}: an operator has a fixed number of arguments")
        if name not in hints:
            raise ValueError(f"infer_schema: {name} needs a type: {name}: Tensor")
        types[name] = type_name(hints[name])
        if parameter.kind is parameter.KEYWORD_ONLY and "Tensor" in types[name]:
            raise ValueError(f"infer_schema: {name}: a tensor that is given by name alone is not supported")
    if "return" not in hints:
        raise ValueError("infer_schema: the type of the result is missing: -> Tensor")
    returned = hints["return"]
    several = get_origin(returned) is tuple
    returns = get_args(returned) if several else () if returned is NoneType else (returned,)
    if any(one is not Tensor for one in returns):
        raise ValueError(
            f"infer_schema: -> {returned}: an operator returns Tensor, tuple[Tensor, ...] or None"
        )
    written = frozenset([mutates_args] if isinstance(mutates_args, str) else mutates_args)
    for name in written:
        if "Tensor" not in types.get(name, ""):
            raise ValueError(
                f"infer_schema: mutates_args names {name!r}, which is no tensor among {[*types]}"
            )
    single = len(returns) == 1 and not several
    return Schema(signature, types, ("Tensor",) * len(returns), single, written)


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: str | Collection[str]) -> str:
    """The schema of a function as text: "(Tensor x, float by=2.0) -> Tensor"."""
    return str(schema_of(prototype_function, mutates_args))
