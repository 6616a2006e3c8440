"""Does a hidden test show what the reference showed? Data against data, outside the student's process.

What counts as equal:
- numbers by value, within the reference's tolerance (absolute plus relative): 2, 2.0 and a NumPy scalar are
  one number; True is not 1; NaN equals NaN; infinities must be the same;
- a list and a tuple with equal items; a dictionary by its keys, in any order;
- arrays with one shape and dtype, element by element; an array is not a list;
- what kernels did as `launches` says; text and None exactly; any other object by the name of its type.

Messages go to students. They name probes, shapes, dtypes, types and distances, never an expected value, and
of what the student's process made up (names of types, shapes) only what could not carry a message out.
"""

from __future__ import annotations

import json
import math
import re
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from coursekit.errors import CourseError
from coursekit.grading import launches
from coursekit.grading.model import CellRun, NotebookRun, Probe, from_json, to_json

Judge = Callable[[str, Any, Any], str | None]

KINDS = ("int", "float", "array", "list", "tuple", "dict", "object", "kernel")
LONGEST = 240  # characters of one message: what a judge says may quote a student

_DTYPE = re.compile(r"(float|int|uint|complex)(8|16|32|64|128)|bool|object")
_WORDS = {"int": "an int", "float": "a float", "list": "a list", "tuple": "a tuple"}
_KNOWN = {"NoneType", "function", "generator", "map", "zip", "range", "set", "filter", "type", "complex"}


def verdict(expected: CellRun, got: CellRun, judge: Judge | None = None) -> str | None:
    """None where `got` is right, else a message: `broadcast: expected shape (4,), got (3, 4)`."""
    if got.status != "ok":
        return _stopped(got)
    wanted, shown = [p.name for p in expected.probes], [p.name for p in got.probes]
    if wanted != shown:
        absent = next((name for name in wanted if name not in shown), None)
        return (
            f"{absent}: was not shown"
            if absent
            else "more was shown than the test shows, or in another order"
        )
    wrong = [judged(judge, want, have) for want, have in zip(expected.probes, got.probes, strict=True)]
    return next((message for message in wrong if message), None)


def share(expected: CellRun, got: CellRun) -> float:
    """The part of a test's values that is right, from 0 to 1, of a test that may have stopped early."""
    pairs = list(zip(expected.probes, got.probes, strict=False))
    if len(got.probes) > len(pairs) or any(want.name != have.name for want, have in pairs):
        return 0.0
    return sum(not judged(None, want, have) for want, have in pairs) / len(expected.probes)


def _stopped(run: CellRun) -> str:
    """Why a test did not run to its end."""
    if run.status == "unsolved":
        return "not solved yet"
    if run.status == "error" and run.error.startswith("CompileError: "):
        return f"does not compile: {run.error.removeprefix('CompileError: ')}"
    return {
        "timeout": "took too long and was stopped",
        "died": "the kernel died",
        "flood": "showed too much output and was stopped",
        "missing": "did not run",
    }.get(run.status, f"stopped with {run.error}" if run.error else "stopped with an error")


def judged(judge: Judge | None, want: Probe, have: Probe) -> str | None:
    """None where `have` is right beside `want`, by the `judge` or by comparison, else a message."""
    if judge is None:
        message = difference(want.value, have.value, want.tolerance)
    else:
        try:
            message = judge(want.name, want.value, have.value)
        except Exception:  # the judge met data of a form that its author did not think of
            message = "is not of the expected form"
    return f"{want.name}: {shortened(message)}" if message else None


def telling(judge: Judge) -> Judge:
    """Mark a judge of drawn data: of mistakes that it meets with the same words, one hint fits all.

    Without it, a hint goes to those who show the very values of a known mistake.
    """
    judge.telling = True  # type: ignore[attr-defined]
    return judge


def words(expected: CellRun, got: CellRun, judge: Judge | None) -> list[str | None]:
    """What a judge that tells mistakes apart says of each value; nothing, of any other judge."""
    if not getattr(judge, "telling", False) or len(expected.probes) != len(got.probes):
        return []
    return [judged(judge, want, have) for want, have in zip(expected.probes, got.probes, strict=True)]


def shortened(message: str) -> str:
    """At most `LONGEST` characters that can be printed, and whole words."""
    message = "".join(character if character.isprintable() else " " for character in message)
    return message if len(message) <= LONGEST else f"{message[: LONGEST - 4].rpartition(' ')[0]} ..."


def difference(expected: Any, got: Any, tolerance: float) -> str | None:
    """How `got` differs from `expected`, None where it does not; both as `encode` in `box.probe` writes."""
    try:
        return _difference(expected, got, tolerance)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError, RecursionError):
        return "is not of the expected form"  # only a forged probe gets here


def _difference(expected: Any, got: Any, tolerance: float) -> str | None:
    if _number(expected) is not None and _number(got) is not None:
        return _distance([_number(expected)], [_number(got)], tolerance)
    kind, other = _kind(expected), _kind(got)
    if {kind, other} == {"bool", "array"}:
        expected, got = _bare(expected), _bare(got)
        kind, other = _kind(expected), _kind(got)
    if kind != other and {kind, other} != {"list", "tuple"}:
        return f"expected {_called(expected)}, got {_called(got, told=False)}"
    if kind == "kernel":
        return launches.difference(expected["kernel"], got["kernel"], tolerance)
    if kind == "array":
        return _arrays(expected, got, tolerance)
    if kind in ("list", "tuple"):
        return _sequences(expected[kind], got[other], tolerance)
    if kind == "dict":
        return _dictionaries(expected["dict"], got["dict"], tolerance)
    if kind == "object":
        return None if expected == got else f"expected {_called(expected)}, got another type of object"
    return (
        None
        if expected == got
        else "is another text than expected"
        if kind == "str"
        else f"should not be {got}"
    )


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool | str):
        return {bool: "bool", str: "str"}.get(type(value), "None")
    kinds = [kind for kind in KINDS if kind in value]
    return kinds[0]


def _called(value: Any, told: bool = True) -> str:
    """A type in words. Of an object the name is told only if the reference made it or everyone knows it."""
    kind = _kind(value)
    if kind == "array":
        return "a number" if value["shape"] == [] else f"an array of shape {_shape(value['shape'])}"
    if kind == "object":
        name = str(value["object"])
        return f"a {name}" if told or name in _KNOWN else "an object of another type"
    return _WORDS.get(kind, kind if kind == "None" else f"a {kind}")


def _bare(value: Any) -> Any:
    """A NumPy bool as a bool."""
    if _kind(value) == "array" and value["shape"] == [] and isinstance(value["array"][0], bool):
        return value["array"][0]
    return value


def _number(value: Any) -> int | float | None:
    """The number that `value` encodes, a 0-d array's too, else None."""
    if not isinstance(value, dict):
        return None
    if "int" in value:
        return int(value["int"])
    if "float" in value:
        return float.fromhex(value["float"])
    if value.get("shape") == [] and len(value["array"]) == 1:
        return _number(value["array"][0])
    return None


def _arrays(expected: Any, got: Any, tolerance: float) -> str | None:
    if expected["shape"] != got["shape"]:
        return f"expected shape {_shape(expected['shape'])}, got {_shape(got['shape'])}"
    if expected["dtype"] != got["dtype"]:
        found = got["dtype"] if _DTYPE.fullmatch(got["dtype"]) else "another"
        return f"expected dtype {expected['dtype']}, got {found}"
    wanted, found = [_number(x) for x in expected["array"]], [_number(x) for x in got["array"]]
    if len(wanted) != len(found):
        return "is not of the expected form"
    if None not in wanted:
        return _distance(wanted, found, tolerance)
    return _sequences(expected["array"], got["array"], tolerance)


def _shape(shape: list[int]) -> str:
    if len(shape) > 6 or not all(type(n) is int and 0 <= n < 10_000 for n in shape):
        return "(..., another one)"
    return str(tuple(shape))


def _distance(wanted: list[Any], found: list[Any], tolerance: float) -> str | None:
    """The largest distance between two lists of numbers where it is beyond the tolerance."""
    worst = 0.0
    for want, have in zip(wanted, found, strict=True):
        if want == have or (want != want and have != have):
            continue
        if not (_finite(want) and _finite(have)):
            return f"expected {_finiteness(want)}, got {_finiteness(have)}"
        worst = max(worst, _beyond(want, have, tolerance))
    if not worst:
        return None
    if len(wanted) == 1:
        return f"differs from the expected by {_much(worst)}"
    return f"differ from the expected by up to {_much(worst)}"


def _much(distance: float) -> str:
    return f"{distance:.2g}" if distance < 1e100 else "more than 1e100"


def _finite(number: int | float) -> bool:
    return isinstance(number, int) or math.isfinite(number)


def _beyond(want: int | float, have: int | float, tolerance: float) -> float:
    """The distance where it is beyond the tolerance, else 0."""
    try:
        away = float(abs(want - have))
        return away if away > tolerance + tolerance * abs(want) else 0.0
    except OverflowError:  # whole numbers too large for a float, and not equal
        return math.inf


def _finiteness(number: int | float) -> str:
    if _finite(number):
        return "a finite number"
    return "nan" if number != number else "plus infinity" if number > 0 else "minus infinity"


def _sequences(expected: list[Any], got: list[Any], tolerance: float) -> str | None:
    if len(expected) != len(got):
        told = f"got {len(got)}" if len(got) < 100 else "got many"  # a count could carry a message out
        return f"expected {len(expected)} items, {told}"
    wanted, found = [_number(x) for x in expected], [_number(x) for x in got]
    if wanted and None not in wanted and None not in found:
        return _distance(wanted, found, tolerance)
    for number, (want, have) in enumerate(zip(expected, got, strict=True), 1):
        message = _difference(want, have, tolerance)
        if message:
            return f"value {number} of {len(expected)}: {message}"
    return None


def _dictionaries(expected: list[Any], got: list[Any], tolerance: float) -> str | None:
    wanted = {_key(key): value for key, value in expected}
    found = {_key(key): value for key, value in got}
    if wanted.keys() != found.keys() or len(expected) != len(got):
        return "has other keys than expected"
    for key, value in wanted.items():
        message = _difference(value, found[key], tolerance)
        if message:
            return f"a value {message}"
    return None


def _key(key: Any) -> str:
    """One text for keys that Python takes as one: 2 and 2.0."""
    number = _number(key)
    return (
        json.dumps(key, sort_keys=True)
        if number is None
        else repr(number + 0.0 if _small(number) else number)
    )


def _small(number: int | float) -> bool:
    return abs(number) < 2**53


# The reference, on its way to the plugin


def load_judges(path: Path | None) -> dict[str, Judge]:
    """The judges of a chapter by `grade_id` (`judge_order_hidden` judges `order-hidden`)."""
    if path is None or not path.is_file():
        return {}
    try:
        names = runpy.run_path(str(path))
    except Exception as error:
        raise CourseError(f"{path}: cannot be loaded: {type(error).__name__}: {error}; mend it") from None
    return {
        name.removeprefix("judge_").replace("_", "-"): function
        for name, function in names.items()
        if name.startswith("judge_") and callable(function)
    }


def save_expected(path: Path, reference: NotebookRun, judges: Path | None) -> None:
    """Write what `load_expected` reads. Never into a place that a student's kernel can see."""
    data = {"reference": to_json(reference), "judges": str(judges) if judges else None}
    path.write_text(json.dumps(data), encoding="utf-8")


def load_expected(path: Path) -> Callable[[CellRun], str | None]:
    """The verdict on one cell, by the reference that `save_expected` wrote to `path`."""
    data = json.loads(path.read_text(encoding="utf-8"))
    judges = load_judges(Path(data["judges"]) if data["judges"] else None)
    return against(from_json(data["reference"]), judges)


def against(reference: NotebookRun, judges: Mapping[str, Judge]) -> Callable[[CellRun], str | None]:
    """The verdict on one cell, by the cell of the reference with its `grade_id`."""
    expected = {cell.grade_id: cell for cell in reference.cells}

    def decide(got: CellRun) -> str | None:
        if got.grade_id not in expected:
            return "is no test of this chapter"
        return verdict(expected[got.grade_id], got, judges.get(got.grade_id))

    return decide
