"""One call, made in PyTorch and here, and in what the two differ."""

from __future__ import annotations

import itertools
import linecache
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

import minilib
from minilib.tensor import Tensor

from ..peer import torch

FOLDER = str(Path(minilib.__file__).parent)
TOLERANCES = {"float16": (1e-2, 1e-2), "float32": (2e-5, 2e-5), "float64": (1e-7, 1e-9)}  # relative, absolute
NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
KINDS = ("wrong", "accepted", "crash", "refused")  # the first two are silent


class OutOfScope(Exception):
    """A sample holds what no call of minilib can be given: complex numbers, sparse or quantised tensors."""


@dataclass(frozen=True)
class Difference:
    """What `form` ("Tensor.sum") did otherwise than PyTorch, and for which sample.

    Kinds: "wrong" (another value, gradient, dtype or shape), "accepted" (PyTorch raises), "crash" (an error
    that nobody here wrote), "refused" (an error that says why).
    """

    form: str
    kind: str
    message: str
    sample: str

    def __str__(self) -> str:
        return f"{self.kind:<9}{self.form}: {self.message}  [{self.sample}]"


# Samples, translated


def translated(x: Any) -> Any:
    """PyTorch's arguments as ours: tensors become leaves with a copy of the numbers, dtypes NumPy's."""
    if isinstance(x, torch.dtype):
        return numpy_dtype(x)
    if isinstance(x, torch.device):
        return str(x)
    if isinstance(x, complex | torch.Generator | torch.memory_format | torch.layout):
        raise OutOfScope(repr(x))
    return x


def our_leaf(x: Any) -> Tensor:
    if x.ndim > 64 or x.layout is not torch.strided or x.device.type != "cpu" or x.is_quantized:
        raise OutOfScope(f"{x.ndim} axes, {x.layout}, on {x.device}")
    out = Tensor(array_of(x))
    out.requires_grad = x.requires_grad
    return out


def their_leaf(x: Any) -> Any:
    return x.detach().clone().requires_grad_(x.requires_grad)


def mapped(x: Any, leaf: Callable[[Any], Any], other: Callable[[Any], Any], made: dict[int, Any]) -> Any:
    """Nested arguments with new leaves, one for each tensor, in however many places it stands."""
    if isinstance(x, torch.Tensor):
        if id(x) not in made:
            made[id(x)] = leaf(x)
        return made[id(x)]
    if isinstance(x, dict):
        return {name: mapped(value, leaf, other, made) for name, value in x.items()}
    if isinstance(x, list | tuple):
        return (list if isinstance(x, list) else tuple)(mapped(item, leaf, other, made) for item in x)
    return other(x)


def array_of(x: Any) -> np.ndarray:
    numpy_dtype(x.dtype)
    return x.detach().resolve_conj().resolve_neg().numpy().copy()


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    name = str(dtype).removeprefix("torch.")
    if name not in NAMES:
        raise OutOfScope(name)
    return np.dtype(name)


def leaves(x: Any, kind: type) -> list[Any]:
    """The tensors in nested lists, tuples and dicts, in order."""
    if isinstance(x, kind):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [leaf for item in x for leaf in leaves(item, kind)] if isinstance(x, list | tuple) else []


def spread(items: Iterable[Any], most: int | None) -> list[Any]:
    """At most `most` of `items`, at equal distances. Where they are very many, of the first ones."""
    items = list(itertools.islice(items, most and 10 * most))
    if most is None or len(items) <= most:
        return items
    return [items[i * (len(items) - 1) // (most - 1)] for i in range(most)]


def shown(x: Any) -> str:
    """An argument in a few words: tensors as dtype and shape."""
    if isinstance(x, torch.Tensor):
        return f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}"
    if isinstance(x, dict):
        return ", ".join(f"{name}={shown(value)}" for name, value in x.items())
    return f"({', '.join(map(shown, x))})" if isinstance(x, list | tuple) else repr(x)


# Both asked


def asked(
    form: str,
    label: str,
    calls: tuple[Callable[..., Any], Callable[..., Any]],
    given: Any,
    options: dict[str, Any],
    compared: Callable[[Any, Any, Any, Any], tuple[str, str] | None],
) -> Iterator[Difference | None]:
    """Call ours and PyTorch's with `given` and `options`, then again without each option unknown here.

    `compared(ours, theirs, our arguments, their arguments)` looks at results. Nothing comes for a sample that
    cannot be translated.
    """
    options = dict(options)
    while True:
        try:
            mine = mapped((given, options), our_leaf, translated, {})
        except OutOfScope:
            return
        peers = mapped((given, options), their_leaf, lambda x: x, {})
        a, b = ask(calls[0], *mine), ask(calls[1], *peers)
        found = settled(a, b)
        if found is None and b.error is None:
            found = compared(a.value, b.value, mine, peers)
        sample = f"{label}: {shown(given)} {shown(options)}".strip()[:200]
        yield Difference(form, *found, sample=sample) if found else None
        unknown = unknown_option(a, options)
        if unknown is None:
            return
        del options[unknown]


# Answers


@dataclass
class Answer:
    """What a call gave, or the error that it raised."""

    value: Any = None
    error: Exception | None = None

    @property
    def message(self) -> str:
        lines = str(self.error).splitlines() or [""]
        return f"{type(self.error).__name__}: {lines[0]}"


def ask(call: Callable[..., Any], *args: Any) -> Answer:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Answer(call(*args))
    except OutOfScope:
        raise
    except Exception as error:
        return Answer(error=error)


def unknown_option(answer: Answer, options: dict[str, Any]) -> str | None:
    """The one of `options` that a call refused since nobody here knows it."""
    found = re.search(r"unexpected keyword argument '(\w+)'", str(answer.error or ""))
    return found[1] if found and found[1] in options and is_clear(answer.error) else None


def is_clear(error: Exception | None) -> bool:
    """Whether minilib raised it on purpose, or Python did since no such argument exists."""
    if isinstance(error, TypeError) and re.search(
        r"unexpected keyword|required positional|positional arg", str(error)
    ):
        return True
    last = None
    trace: TracebackType | None = error.__traceback__ if error else None
    while trace is not None:
        last, trace = trace, trace.tb_next
    if last is None:
        return False
    path = last.tb_frame.f_code.co_filename
    return path.startswith(FOLDER) and linecache.getline(path, last.tb_lineno).strip().startswith("raise")


def settled(ours: Answer, theirs: Answer) -> tuple[str, str] | None:
    """The difference where one of the two raised, as kind and message."""
    if ours.error is None and theirs.error is not None:
        return "accepted", f"PyTorch raises {theirs.message}"
    if ours.error is None or theirs.error is not None:  # both raise: one line is as good as another
        return None
    return "refused" if is_clear(ours.error) else "crash", ours.message


def drawn_difference(ours: Any, theirs: Any) -> str | None:
    """As `value_difference`, of random numbers: shapes and dtypes."""
    mine = [(x.shape, x.dtype.name) for x in leaves(ours, Tensor)]
    peers = [(tuple(x.shape), str(x.dtype).removeprefix("torch.")) for x in leaves(theirs, torch.Tensor)]
    return None if mine == peers else f"{mine} and not {peers}"


# Values


def value_difference(ours: Any, theirs: Any, tolerance: float = 1.0) -> str | None:
    """In what two results differ: kind, shape, dtype or numbers; None where they agree."""
    if isinstance(theirs, torch.Tensor):
        return tensor_difference(ours, theirs, tolerance)
    if isinstance(theirs, list | tuple):
        if not isinstance(ours, list | tuple) or len(ours) != len(theirs):
            return f"{kind_of(ours)} and not {kind_of(theirs)}"
        found = (value_difference(a, b, tolerance) for a, b in zip(ours, theirs))
        return next((text for text in found if text), None)
    if isinstance(theirs, float) and isinstance(ours, float):
        same = math.isclose(ours, theirs, rel_tol=1e-5) or (ours != ours and theirs != theirs)
        return None if same else f"{ours} and not {theirs}"
    if isinstance(theirs, torch.dtype):
        return None if str(ours) == str(theirs).removeprefix("torch.") else f"{ours} and not {theirs}"
    return None if type(ours) is type(theirs) and ours == theirs else f"{ours!r} and not {theirs!r}"


def tensor_difference(ours: Any, theirs: Any, tolerance: float) -> str | None:
    if not isinstance(ours, Tensor):
        return f"{kind_of(ours)} and not a tensor"
    if ours.shape != tuple(theirs.shape):
        return f"shape {ours.shape} and not {tuple(theirs.shape)}"
    name = str(theirs.dtype).removeprefix("torch.")
    if ours.dtype.name != name:
        return f"dtype {ours.dtype} and not {name}"
    relative, absolute = (tolerance * part for part in TOLERANCES.get(name, (0.0, 0.0)))
    expected = array_of(theirs)
    if np.allclose(ours.data, expected, relative, absolute, equal_nan=True):
        return None
    with np.errstate(all="ignore"):
        places = np.argwhere(~np.isclose(ours.data, expected, relative, absolute, equal_nan=True))
    at = tuple(places[0])
    return f"{ours.data[at]!s} and not {expected[at]!s}, in {len(places)} of {expected.size} places"


def kind_of(x: Any) -> str:
    return f"{type(x).__name__} of {len(x)}" if isinstance(x, list | tuple) else type(x).__name__


# Results


def results_differ(
    ours: Any, theirs: Any, inputs: list[tuple[Any, Any]], *, drawn: bool = False, tolerance: float = 5.0
) -> tuple[str, str] | None:
    """In what two results differ, then the gradients of the `inputs`, pairs of ours and PyTorch's.

    `drawn`: numbers are random, so that shapes and dtypes alone are compared.
    """
    if drawn:
        text = drawn_difference(ours, theirs)
        return ("wrong", text) if text else None
    try:
        text = value_difference(ours, theirs)
    except OutOfScope as reason:
        text = f"{kind_of(ours)} and not {reason}"
    if text is None:
        answer = ask(gradient_difference, ours, theirs, inputs, tolerance)
        if answer.error is not None:
            return "crash", f"backward: {answer.message}"
        text = answer.value
    return ("wrong", text) if text else None


# Gradients


def gradient_difference(
    ours: Any, theirs: Any, inputs: list[tuple[Any, Any]], tolerance: float
) -> str | None:
    """In what the gradients of the same weighted sum of all results differ, input by input."""
    mine = [x for x in leaves(ours, Tensor) if x.dtype.kind == "f"]
    peers = [x for x in leaves(theirs, torch.Tensor) if x.is_floating_point()]
    asks = [x.requires_grad for x in peers]
    if [x.requires_grad for x in mine] != asks:
        return f"requires_grad of the results: {[x.requires_grad for x in mine]} and not {asks}"
    rng = np.random.default_rng(0)
    for a, b in zip(mine, peers):
        if b.requires_grad:
            weight = rng.uniform(0.5, 1.5, a.shape).astype(a.dtype)
            b.backward(torch.tensor(weight), retain_graph=True)
            a.backward(Tensor(weight), retain_graph=True)
    for i, (a, b) in enumerate(inputs):
        if (a.grad is None) != (b.grad is None):
            return f"gradient of input {i}: {'none' if a.grad is None else 'one where PyTorch has none'}"
        found = b.grad is not None and tensor_difference(a.grad, b.grad, tolerance)
        if found:
            return f"gradient of input {i}: {found}"
    return None
