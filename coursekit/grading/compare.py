"""Does a hidden test show what the reference showed? Data against data, outside the student's process.

What counts as equal:
- numbers by value, within the reference's tolerance (absolute plus relative): 2, 2.0 and a NumPy scalar are
  one number; True is not 1; NaN equals NaN; infinities must be the same;
- a list and a tuple with equal items; a dictionary by its keys, in any order;
- arrays with one shape, element by element; an array is not a list. Dtypes count where the name of the probe
  says so ("float32", "dtypes");
- what kernels did as `launches` says; text and None exactly; any other object by the name of its type.

Messages go to students. They name probes, and an expected value only where a test is public. Where the hidden
tests are private, they tell of what the student's process made up what `wording` lets pass: for one value a
choice of a few hundred texts at most, whatever it shows.
"""

from __future__ import annotations

import json
import math
import re
import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from coursekit.errors import CourseError
from coursekit.grading import launches, wording
from coursekit.grading.model import MALFORMED, CellRun, NotebookRun, Probe, from_json, to_json
from coursekit.grading.pair import AS_IT_WAS
from coursekit.grading.plain import items, plain

Judge = Callable[[str, Any, Any], str | None]

KINDS = ("int", "float", "array", "list", "tuple", "dict", "object", "kernel")
LONGEST = 240  # characters of one message
PLACES = 4  # of a list, that are told by their number
LONGEST_VALUE = 60  # characters of what is told as "expected ..., got ..."

_NAMES_A_DTYPE = re.compile(r"dtype|\b(float|u?int)(8|16|32|64)\b")
_DTYPE = re.compile(r"(float|int|uint|complex)(8|16|32|64|128)|bool|object")
_WORDS = {"int": "an int", "float": "a float", "list": "a list", "tuple": "a tuple"}
_KNOWN = {"function", "generator", "map", "zip", "range", "set", "filter", "type", "complex"}
_ODD = "is not of the expected form"  # and what else a judge may have to say of forged data


def verdict(expected: CellRun, got: CellRun, judge: Judge | None = None, *, own: bool = False) -> str | None:
    """None where `got` is right, else a message: `broadcast: expected shape (4,), got (3, 4)`.

    `own`: on the machine of whom it is told, where nothing has to be kept from them.
    """
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
    pairs = zip(expected.probes, got.probes, strict=True)
    wrong = (judged(judge, want, have, own=own) for want, have in pairs)
    return next((message for message in wrong if message), None)


def share(expected: CellRun, got: CellRun) -> float:
    """The part of a test's values that is right, from 0 to 1, of a test that may have stopped early.

    What nobody may have changed earns nothing by itself, since doing nothing keeps it, and costs its part.
    """
    pairs = list(zip(expected.probes, got.probes, strict=False))
    if len(got.probes) > len(pairs) or any(want.name != have.name for want, have in pairs):
        return 0.0
    right = [(not judged(None, want, have), bool(AS_IT_WAS.search(want.name))) for want, have in pairs]
    earned = right.count((True, False)) - right.count((False, True))
    return max(0, earned) / max(1, sum(not AS_IT_WAS.search(want.name) for want in expected.probes))


def _stopped(run: CellRun) -> str:
    """Why a test did not run to its end."""
    if run.status == "unsolved":
        return "not solved yet"
    if run.status == "error" and run.error.startswith("CompileError: "):
        return f"does not compile: {run.error.removeprefix('CompileError: ')}"
    return {
        "timeout": run.error or "took too long and was stopped: is a loop endless, is work done twice?",
        "died": "the kernel died",
        "flood": "showed too much output and was stopped",
        "missing": run.error or "did not run",
    }.get(run.status, f"stopped with {run.error}" if run.error else "stopped with an error")


def judged(judge: Judge | None, want: Probe, have: Probe, *, own: bool = False) -> str | None:
    """None where `have` is right beside `want`, by the `judge` or by comparison, else a message."""
    if have.name == MALFORMED:  # the reference's own too: nothing of it was compared
        return f"{have.name}: not the form of a probe, or a name of several lines or of over 200 characters"
    if judge is None:
        dtypes = bool(_NAMES_A_DTYPE.search(want.name))
        message = difference(want.value, have.value, want.tolerance, own=own, dtypes=dtypes)
        if message and own and (case := _case(want, have, dtypes)):
            return shortened(f"{want.name}, {case}")
    else:
        try:
            message = judge(want.name, want.value, have.value)
        except Exception:  # the judge met data of a form that its author did not think of
            message = _ODD
        if message and not own:
            message = _bounded(judge, want, message)
    return f"{want.name}: {shortened(message)}" if message else None


def _bounded(judge: Judge, want: Probe, message: str) -> str:
    """What a judge says, in its own words and the reference's, with one number that is neither's, rounded."""
    ours = [*wording.numbers_in(want.name), *wording.numbers_in(want.value)]
    if not isinstance(judge, Spoken):
        return wording.quiet(message, ours)
    theirs = {word for text in wording.texts_in([want.name, want.value]) for word in wording.words_in(text)}
    return wording.quiet(message, [*judge.said, *ours], (judge.words | theirs).__contains__)


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
    pairs = zip(expected.probes, got.probes, strict=True)
    return [judged(judge, want, have, own=True) for want, have in pairs]


def shortened(message: str) -> str:
    """At most `LONGEST` characters that can be printed, and whole words."""
    message = "".join(character if character.isprintable() else " " for character in message)
    return message if len(message) <= LONGEST else f"{message[: LONGEST - 4].rpartition(' ')[0]} ..."


def difference(
    expected: Any, got: Any, tolerance: float, *, own: bool = False, dtypes: bool = False
) -> str | None:
    """How `got` differs from `expected`, None where it does not; both as `encode` in `box.probe` writes."""
    try:
        return _Comparison(tolerance, own, dtypes).difference(expected, got)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError, RecursionError):
        return _ODD  # only a forged probe gets here


def _case(want: Probe, have: Probe, dtypes: bool) -> str | None:
    """Of the cases that a probe names, the one of the shortest name whose result is wrong: both, if short."""
    try:
        results = list(zip(want.of, items(want.value), items(have.value), strict=True))
        wrong = [
            (case, one, other, said)
            for case, one, other in results
            if (said := difference(one, other, want.tolerance, own=True, dtypes=dtypes))
        ]
        case, one, other, said = min(wrong, key=lambda result: len(result[0]))
        expected, got = _brief(plain(one)), _brief(plain(other))
    except (TypeError, KeyError, ValueError):  # another number of results, no list, or no data
        return None
    if expected and got and expected != got:
        said = f"expected {expected}, got {got}"
    more = f"; {len(wrong)} of {len(results)} are wrong" if len(wrong) > 1 else ""
    return f"of {case}: {said}{more}"


def _brief(value: Any) -> str:
    """A number, a text or a short list as one writes it; "" of all else."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.size < LONGEST_VALUE else None
    if isinstance(value, list | tuple):
        parts = [_brief(one) for one in value]
        text = ", ".join(parts) if all(parts) else ""
        return f"[{text}]" if (text or not parts) and len(text) <= LONGEST_VALUE else ""
    text = repr(value) if value is None or isinstance(value, bool | int | str) else ""
    return text if len(text) <= LONGEST_VALUE else ""


@dataclass(frozen=True)
class _Comparison:
    tolerance: float
    own: bool  # everything is told
    dtypes: bool  # those of arrays must be equal too
    inside: bool = False  # a list or a dictionary: its places are not told again

    def difference(self, expected: Any, got: Any) -> str | None:
        expected, got = _bare(expected), _bare(got)
        wanted, found = _number(expected), _number(got)
        if wanted is not None and found is not None:
            return self.distance([wanted], [found])
        kind, other = _kind(expected), _kind(got)
        if kind != other and {kind, other} != {"list", "tuple"}:
            return f"expected {_called(expected)}, got {self.called(expected, got)}"
        if kind == "kernel":
            return launches.difference(expected["kernel"], got["kernel"], self.tolerance, own=self.own)
        if kind == "array":
            return self.arrays(expected, got)
        if kind in ("list", "tuple"):
            return self.sequences(expected[kind], got[other])
        if kind == "dict":
            return self.dictionaries(expected["dict"], got["dict"])
        if kind == "object":
            return None if expected == got else f"expected {_called(expected)}, got another type of object"
        if expected == got:
            return None
        if kind != "str":
            return f"should not be {got}"
        if _DTYPE.fullmatch(expected) and _DTYPE.fullmatch(got):
            return f"expected dtype {expected}, got {got}"
        if self.own and got and expected:
            return _texts(got, expected)
        return "is another text than expected"

    def called(self, expected: Any, got: Any) -> str:
        """The type of `got` in words: of an object the name only if everyone knows it."""
        kind = _kind(got)
        if kind == "array" and got["shape"] != []:
            if not self.own and _kind(expected) != "array":
                return "an array"
            return f"an array of shape {self.shape(expected.get('shape', []), got)}"
        if kind == "object":
            name = str(got["object"])
            return f"a {name}" if name in _KNOWN else "an object of another type"
        return f"the text {_short(got)}" if self.own and kind == "str" else _called(got)

    def shape(self, expected: Any, got: Any) -> str:
        return wording.shape(expected, got["shape"], len(got["array"]), self.own)

    def arrays(self, expected: Any, got: Any) -> str | None:
        if expected["shape"] != got["shape"]:
            return f"expected shape {tuple(expected['shape'])}, got {self.shape(expected['shape'], got)}"
        if self.dtypes and expected["dtype"] != got["dtype"]:
            found = got["dtype"] if _DTYPE.fullmatch(got["dtype"]) else "another"
            return f"expected dtype {expected['dtype']}, got {found}"
        wanted, shown = [_number(x) for x in expected["array"]], [_number(x) for x in got["array"]]
        if len(wanted) != len(shown):
            return _ODD
        if None not in wanted and None not in shown:
            return self.distance(wanted, shown)
        return self.sequences(expected["array"], got["array"])

    def distance(self, wanted: list[Any], found: list[Any]) -> str | None:
        """The largest distance between two lists of numbers where it is beyond the tolerance."""
        worst = 0.0
        for want, have in zip(wanted, found, strict=True):
            if want == have or (want != want and have != have):
                continue
            if not (_finite(want) and _finite(have)):
                return f"expected {_finiteness(want)}, got {_finiteness(have)}"
            worst = max(worst, _beyond(want, have, self.tolerance))
        if not worst:
            return None
        much = wording.distance(worst, self.own)
        return f"differ{'s' * (len(wanted) == 1)} from the expected by {'up to ' * (len(wanted) > 1)}{much}"

    def sequences(self, expected: list[Any], got: list[Any]) -> str | None:
        if len(expected) != len(got):
            many = f"{len(expected)} item{'s' * (len(expected) != 1)}"
            return f"expected {many}, got {self.items(len(expected), len(got))}"
        wanted, found = [_number(x) for x in expected], [_number(x) for x in got]
        if wanted and None not in wanted and None not in found:
            return self.distance(wanted, found)
        within = replace(self, inside=True)
        for number, (want, have) in enumerate(zip(expected, got, strict=True), 1):
            message = within.difference(want, have)
            if message:
                return f"{self.place(number, len(expected))}{message}"
        return None

    def place(self, number: int, count: int) -> str:
        """Where in a list something is wrong: by its number in a short one that is in no other."""
        if self.own or (count <= PLACES and not self.inside):
            return f"value {number} of {count}: "
        return "" if self.inside else f"one of {count} values: "

    def items(self, expected: int, got: int) -> str:
        """How many there are, beside how many there should be."""
        if self.own and got < 100:
            return str(got)
        if abs(expected - got) == 1:
            return "one more" if got > expected else "one fewer"
        return "more" if got > expected else "fewer" if got else "none"

    def dictionaries(self, expected: list[Any], got: list[Any]) -> str | None:
        wanted = {_key(key): value for key, value in expected}
        found = {_key(key): value for key, value in got}
        if wanted.keys() != found.keys() or len(expected) != len(got):
            return "has other keys than expected"
        within = replace(self, inside=True)
        for key, value in wanted.items():
            message = within.difference(value, found[key])
            if message:
                return message if self.inside else f"a value {message}"
        return None


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool | str):
        return {bool: "bool", str: "str"}.get(type(value), "None")
    kinds = [kind for kind in KINDS if kind in value]
    return kinds[0]


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:36]} ...")


def _texts(got: str, expected: str) -> str:
    """Two texts, of long ones what stands around the first place where they differ."""
    differ = (k for k, (one, other) in enumerate(zip(got, expected)) if one != other)
    same = next(differ, min(len(got), len(expected)))
    if same <= 20 or max(len(got), len(expected)) <= 40:
        return f"is {_short(got)}, and should be {_short(expected)}"
    parts = (repr(f"... {text[same - 8 : same + 24]}") for text in (got, expected))
    return "from character {} on is {}, and should be {}".format(same + 1, *parts)


def _called(value: Any) -> str:
    """A type in words."""
    kind = _kind(value)
    if kind == "array":
        return "a number" if value["shape"] == [] else f"an array of shape {tuple(value['shape'])}"
    if kind == "object":
        return f"a {value['object']}"
    return _WORDS.get(kind, kind if kind == "None" else f"a {kind}")


def _bare(value: Any) -> Any:
    """The item of a 0-d array, such as a NumPy bool or text."""
    if isinstance(value, dict) and value.get("shape") == [] and len(value["array"]) == 1:
        return value["array"][0]
    return value


def _number(value: Any) -> int | float | None:
    """The number that `value` encodes, a 0-d array's too, else None."""
    value = _bare(value)
    if not isinstance(value, dict):
        return None
    if "int" in value:
        return int(value["int"])
    return float.fromhex(value["float"]) if "float" in value else None


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


def _key(key: Any) -> str:
    """One text for keys that Python takes as one: 2 and 2.0, NumPy's and its own."""
    return json.dumps(_plain(key), sort_keys=True)


def _plain(value: Any) -> Any:
    value = _bare(value)
    number = _number(value)
    if number is not None:
        return {"number": repr(number + 0.0 if _small(number) else number)}
    if isinstance(value, dict) and "tuple" in value:
        return {"tuple": [_plain(one) for one in value["tuple"]]}
    return value


def _small(number: int | float) -> bool:
    return abs(number) < 2**53


# The reference, on its way to the plugin


@dataclass(frozen=True)
class Spoken:
    """A judge with the words and numbers that stand in its file: what it can say by itself."""

    judge: Judge
    words: frozenset[str]
    said: tuple[float, ...]

    def __call__(self, name: str, expected: Any, got: Any) -> str | None:
        return self.judge(name, expected, got)

    @property
    def telling(self) -> bool:
        """Whether the judge is marked so."""
        return getattr(self.judge, "telling", False)


def load_judges(path: Path | None) -> dict[str, Judge]:
    """The judges of a chapter by `grade_id` (`judge_order_hidden` judges `order-hidden`)."""
    if path is None or not path.is_file():
        return {}
    try:
        names = runpy.run_path(str(path))
    except Exception as error:
        raise CourseError(f"{path}: cannot be loaded: {type(error).__name__}: {error}; mend it") from None
    words = (
        wording.words_of(path) | wording.words_of(Path(__file__)) | wording.words_of(Path(wording.__file__))
    )
    said = tuple(wording.numbers_said(path))
    return {
        name.removeprefix("judge_").replace("_", "-"): Spoken(function, words, said)
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


def against(
    reference: NotebookRun, judges: Mapping[str, Judge], *, own: bool = False
) -> Callable[[CellRun], str | None]:
    """The verdict on one cell, by the cell of the reference with its `grade_id`."""
    expected = {cell.grade_id: cell for cell in reference.cells}

    def decide(got: CellRun) -> str | None:
        if got.grade_id not in expected:
            return "is no test of this chapter"
        return verdict(expected[got.grade_id], got, judges.get(got.grade_id), own=own)

    return decide
