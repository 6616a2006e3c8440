"""What CuPy 13 and CuPy 14 have, kept in 13.json and 14.json, so that nobody needs to install both.

`python simulator/tests/helpers/cupy_names` where a CuPy is installed writes the file of its version;
a GPU is not needed.
"""

from __future__ import annotations

import inspect
import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
VERSIONS = ("13", "14")

# Whose names are kept, and the parameters of what can be called in them.
PLACES = (
    "", "ndarray", "RawKernel", "RawModule", "random", "random.Generator", "cuda", "cuda.Device",
    "cuda.Event", "cuda.Stream", "cuda.MemoryPointer", "cuda.UnownedMemory", "cuda.runtime", "linalg",
)  # fmt: skip


def found(module: Any, path: str) -> Any:
    """`module` at a path like "cuda.Stream"; raises AttributeError."""
    for part in filter(None, path.split(".")):
        module = getattr(module, part)
    return module


def parameters(function: Any) -> list[str] | None:
    """The parameters of a function, of one in C from the first line of its docstring; None: it tells none."""
    try:
        names = list(inspect.signature(function).parameters)
    except (ValueError, TypeError):
        lines = (getattr(function, "__doc__", None) or "").splitlines()
        if not lines or "(" not in lines[0] or ")" not in lines[0]:
            return None
        inside = lines[0][lines[0].index("(") + 1 : lines[0].rindex(")")]
        names = [word.partition("=")[0].split()[-1] for word in inside.split(",") if word.strip()]
    return [
        name for name in names if name.lstrip("*\\") not in ("", "self", "args", "kwargs", "_obj", "_no_init")
    ]


def record(cupy: Any) -> dict[str, Any]:
    """The names of a CuPy, and the parameters of what can be called."""
    names = {place: [n for n in sorted(dir(found(cupy, place))) if not n.startswith("_")] for place in PLACES}
    for place in filter(None, PLACES):  # dir() does not show what a module loads when it is asked for
        parent, _, name = place.rpartition(".")
        names[parent] = sorted({*names[parent], name})
    signatures = {}
    for place, inside in names.items():
        if place in ("", "ndarray", "random", "cuda", "RawModule", "random.Generator"):
            for name in inside:
                path = f"{place}.{name}".lstrip(".")
                value = found(cupy, path)
                told = parameters(value) if callable(value) else None
                if told:
                    signatures[path] = told
    return {"version": cupy.__version__, "names": names, "parameters": signatures}


@cache
def recorded(version: str) -> dict[str, Any]:
    """What 13.json or 14.json says."""
    data: dict[str, Any] = json.loads((FOLDER / f"{version}.json").read_text(encoding="utf-8"))
    return data


def has(data: dict[str, Any], path: str) -> bool:
    """Whether a CuPy has "cuda.Stream.null", as far as the record knows: other places are not looked into."""
    place, _, name = path.rpartition(".")
    if place not in data["names"]:
        return has(data, place)
    return name in data["names"][place]
