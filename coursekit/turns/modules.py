"""Chapter 03c: who looks for the parameters of a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coursekit.turns.lending import judged, tried


def judge_found(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `found` makes; one that is not right is replaced."""
    wrong = _found(names["found"], names["Module"], names["Parameter"])
    judged(wrong, "right: at any depth, by its path", names, "found", _lent)


def _lent(module: Any, prefix: str = "") -> Any:
    pairs = [(prefix + name, parameter) for name, parameter in module._own_parameters().items()]
    for name, child in module._own_modules().items():
        pairs += _lent(child, prefix + name + ".")
    return pairs


def _found(found: Callable[..., Any], module: Any, parameter: Any) -> str | None:
    def made(parameters: str, **below: Any) -> Any:
        one = module()
        for name in parameters:
            setattr(one, name, parameter([1.0]))
        for name, child in below.items():
            setattr(one, name, child)
        return one

    flat = made("ab")
    pairs, trouble = tried(found, flat)
    if trouble:
        return trouble
    if not isinstance(pairs, list) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        return "not yet: return a list of pairs, (path, parameter)"
    if [path for path, _ in pairs] != ["a", "b"] or pairs[0][1] is not flat.a:
        return f"not yet: where a and b are parameters these are the paths; yours are {_paths(pairs)}"
    pairs, trouble = tried(found, made("", x=made("a")))
    if trouble:
        return trouble
    if not pairs:
        return "right for one module. But what belongs to the modules below it is not found"
    if _paths(pairs) != ["x.a"]:
        return f"right for one module. The path of a in x is x.a, and yours is {_paths(pairs)}"
    deep = made("a", x=made("b", y=made("c", z=made("d"))), w=made("e"))
    pairs, trouble = tried(found, deep)
    if trouble:
        return trouble
    want = ["a", "x.b", "x.y.c", "x.y.z.d", "w.e"]
    if set(_paths(pairs)) != set(want):
        return f"right for two levels. Deeper down the paths should be {want}, and yours are {_paths(pairs)}"
    if len(pairs) != len(want):
        return "not yet: some parameters come twice"
    again, _ = tried(found, flat)
    return (
        None if _paths(again) == ["a", "b"] else "not yet: a second call still holds what the first has found"
    )


def _paths(pairs: Any) -> list[Any]:
    return [path for path, _ in pairs or []]
