"""Are public kernels right on the simulator? They are run, compared with NumPy, and profiled.

    python benchmarks/public_runs.py FOLDER  # writes results/public_runs.json
    python benchmarks/public_runs.py FOLDER --only transpose  # shows those with such words in path or name
    python benchmarks/public_runs.py FOLDER --digests  # the digests of the kernels as they are now

FOLDER is that of `public_kernels`. `public_tables` says which kernels, with which arguments, and what they
must give: our own reference, in float64. Each is run in three schedules and profiled. It comes out as

    right     right in all three, and the report finds nothing
    found     the source is wrong, by `why` of its entry, and the report says so, in the sections `found`
    wrong     not what the reference says, and nobody knows why: the simulator, the reference or the source
    alarm     the report finds what its entry does not explain: nobody has looked at it yet, or a false alarm
    logic     the source computes something else, by `why`, in all schedules; nothing in it is undefined
    silent    the source is wrong, and the report has not found it
    refused   outside of our language (or changed, or slow: the text is another, the budget is spent)
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import multiprocessing
import re
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import numpy as np
from kernel_cutter import Item, Reader, bare, needed, source
from timing import machine

from warplens.device.array import ndarray
from warplens.device.stand_in import asarray, empty
from warplens.engine.run import SCHEDULES
from warplens.errors import CompileError, LaunchError
from warplens.kernel import Kernel, profile, simulate
from warplens.module import RawModule
from warplens.report.data import SECTIONS
from warplens.report.report import Report

RESULTS = Path(__file__).parent / "results" / "public_runs.json"
BUDGET = 60  # seconds for one kernel
PROCESSES = 2
SIZE = 1000  # of an array that says none
Dims: TypeAlias = int | tuple[int, ...]
Array: TypeAlias = np.ndarray[Any, Any]
KINDS = {"f": "f4", "d": "f8", "h": "f2", "i": "i4", "u": "u4", "b": "u1", "c": "i1", "l": "i8", "s": "i2"}
# How far from float64 a result may be: relative, and absolute in units of the largest value.
TOLERANCE = {"f2": 2e-2, "f4": 2e-4, "f8": 1e-9}


@dataclass(frozen=True)
class Run:
    """A kernel, what it is called with, and what it must give.

    `arguments`, in the order of the parameters, separated by spaces:

        x  x[40,30]  x[40]:i<9   an array that is read: its shape (1000), its kind (float), all below 9
        x[40]:f>0                all above 0
        =y[40]  +y[40]  ~x[40]   what must come out: memory never written to, zeros, a random array
        n=40  a=0.5  a=0.5d  40  a number: int, float, double; without a name where the reference needs none
        $rows                    made by `given`
        %mask[7]                 a variable at file scope (after the parameters)

    `expected` gets inputs and numbers by the names of its parameters, in float64 and int64, and returns what
    must come out: one array, or a tuple of them in order. NaN stands for what does not matter.
    """

    name: str
    digest: str
    arguments: str
    expected: Callable[..., Any]
    grid: Dims = 1
    block: Dims = 1
    shared: int = 0
    given: Callable[[np.random.Generator], dict[str, Any]] | None = None
    sizes: dict[str, str] = field(default_factory=dict)  # constants of the source, with smaller values
    found: str = ""  # what the report must find, as it is wrong: sections, with a space between
    why: str = ""  # what is wrong in the source
    tolerance: float = 1  # a factor
    within: str = ""  # the file that includes the kernel's, where that needs its macros


Table: TypeAlias = dict[str, dict[str, tuple[Run, ...]]]


@dataclass
class Outcome:
    repository: str
    path: str
    name: str
    digest: str
    verdict: str
    schedules: dict[str, str] = field(default_factory=dict)  # right, or what is wrong
    findings: dict[str, int] = field(default_factory=dict)  # by section
    said: list[str] = field(default_factory=list)  # the report's lines, and why a run stopped
    why: str = ""


# -------------------------------------------------------------------------------------------------- arguments

_TOKEN = re.compile(
    r"(?P<mark>[=+~%$]?)(?P<name>[A-Za-z_]\w*)?(?:\[(?P<shape>[\d,]+)\])?(?::(?P<kind>\w))?(?P<range>[<>]-?[\d.]+)?"
)
_NUMBER = re.compile(r"(?:(?P<name>\w+)=)?(?P<value>-?[\d.]+(?:e-?\d+)?)(?P<kind>[dfu]?)")


@dataclass
class Arguments:
    """Arguments as NumPy has them, and what must be in them afterwards."""

    parameters: list[
        tuple[str, Any]
    ]  # an array of which nothing is written yet is an np.dtype with its shape
    outputs: list[str]
    variables: dict[str, Array]
    expected: dict[str, Array]

    def on_device(self) -> tuple[list[Any], dict[str, ndarray]]:
        """For one launch: the arguments, and the arrays to be looked at."""
        there = [(name, _moved(value)) for name, value in self.parameters]
        return [value for _, value in there], {name: v for name, v in there if name in self.outputs}


def _moved(value: Any) -> Any:
    if isinstance(value, Unwritten):
        return empty(value.shape, value.dtype)
    if isinstance(value, tuple):
        return tuple(_moved(part) for part in value)
    return asarray(value) if isinstance(value, np.ndarray) and value.ndim else value


@dataclass(frozen=True)
class Unwritten:
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def arguments(run: Run) -> Arguments:
    g = np.random.default_rng(7)
    given = run.given(g) if run.given else {}
    made = Arguments([], [], {}, {})
    known: dict[str, Any] = {name: _wide(value) for name, value in given.items()}
    for token in run.arguments.split():
        if number := _NUMBER.fullmatch(token):
            value = _number(number["value"], number["kind"])
            made.parameters.append(("", value))
            known[number["name"] or ""] = value
            continue
        parts = _TOKEN.fullmatch(token)
        if parts is None or not parts["name"]:
            raise ValueError(f"{run.name}: cannot read the argument {token!r}")
        name, mark = parts["name"], parts["mark"]
        value = (
            given[name] if name in given else _array(g, mark, parts["shape"], parts["kind"], parts["range"])
        )
        if mark == "%":
            made.variables[name] = value
        else:
            made.parameters.append((name, value))
        if mark in ("=", "+", "~"):
            made.outputs.append(name)
        known.setdefault(name, _wide(value))
    names = [p.name for p in inspect.signature(run.expected).parameters.values() if p.default is p.empty]
    wanted = run.expected(*(known[name] for name in names))
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    made.expected = dict(zip(made.outputs, map(np.asarray, wanted), strict=True))
    return made


def _number(text: str, kind: str) -> Any:
    if kind == "u":
        return np.uint32(text)
    if kind == "d":
        return float(text)
    return np.float32(text) if kind == "f" or "." in text or "e" in text else int(text)


def _array(g: np.random.Generator, mark: str, shape: str | None, kind: str | None, limit: str | None) -> Any:
    dtype = np.dtype(KINDS[kind or "f"])
    shape_ = tuple(map(int, shape.split(","))) if shape else (SIZE,)
    if mark == "=":
        return Unwritten(shape_, dtype)
    if mark == "+":
        return np.zeros(shape_, dtype)
    bound = float(limit[1:]) if limit else None
    if dtype.kind == "f":
        low, high = (0.1, 2.0) if limit == ">0" else (0.0, bound) if bound is not None else (-2.0, 2.0)
        return g.uniform(low, high, shape_).astype(dtype)
    low, high = (0, int(bound)) if bound is not None else (0, 256) if dtype.kind == "u" else (-20, 20)
    return g.integers(low, high, shape_).astype(dtype)


def _wide(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return (
            value.astype(np.float64 if value.dtype.kind == "f" else np.int64)
            if value.dtype.names is None
            else value
        )
    return value


# ------------------------------------------------------------------------------------------------- the kernel


@lru_cache(maxsize=4)
def _reader(root: Path) -> Reader:
    return Reader(root)


@lru_cache(maxsize=4)
def _items(root: Path, path: str) -> list[Item]:
    return _reader(root).items(root / path)


def digest(kernel: Item) -> str:
    return hashlib.sha256(bare(kernel.text).encode()).hexdigest()[:8]


def cut(root: Path, path: str, run: Run) -> str | None:
    """The source that a compiler gets; None where the kernel is not there with this text."""
    items = _items(root, run.within or path)
    name, _, of_template = run.name.partition("<")
    for item in items:
        if item.kind == "kernel" and item.qualified == name and digest(item) == run.digest:
            text = source(needed(item, items, re.findall(r"[A-Za-z_]\w*", of_template)))
            return _resized(text, run.sizes)
    return None


def _resized(text: str, sizes: dict[str, str]) -> str:
    """With other values of macros and constants, so that a run is short."""
    for name, value in sizes.items():
        text, there = re.subn(
            rf"(#define[ \t]+{name}[ \t]+|\b{name}\s*=\s*)[^\n,;]+", rf"\g<1>{value}", text, count=1
        )
        if not there:
            raise ValueError(f"the source has no constant {name}")
    return text


def kernel_of(text: str, name: str) -> tuple[RawModule, Kernel]:
    plain = 'extern "C"' in text
    module = RawModule(code=text, name_expressions=() if plain else (name,), name="kernel.cu")
    if plain and name not in module.names:
        module = RawModule(code=text, name_expressions=(name,), name="kernel.cu")
    return module, module.get_function(name)


# ------------------------------------------------------------------------------------------------------ a run


class OverBudget(Exception):
    """The budget of a kernel is spent."""


def judged(text: str, run: Run) -> Outcome:
    """The kernel in three schedules and under `profile`."""
    outcome = Outcome("", "", run.name, run.digest, "", why=run.why)
    try:
        module, kernel = kernel_of(text, run.name)
    except CompileError as error:
        outcome.verdict, outcome.said = "refused", [error.message]
        return outcome
    made = arguments(run)
    for schedule in SCHEDULES:
        _set(module, made)
        outcome.schedules[schedule] = _ran(kernel, run, made, schedule)
    _set(module, made)
    report = _profiled(kernel, run, made, outcome)
    if report is not None:
        _note(report, outcome)
    outcome.verdict = verdict(run, outcome)
    return outcome


def _set(module: RawModule, made: Arguments) -> None:
    for name, value in made.variables.items():
        there = ndarray(value.shape, value.dtype, module.get_global(name))
        there[...] = asarray(value)


def _lengths(dims: Dims) -> tuple[int, ...]:
    return dims if isinstance(dims, tuple) else (dims,)


def _ran(kernel: Kernel, run: Run, made: Arguments, schedule: str) -> str:
    given, outputs = made.on_device()
    try:
        simulate(kernel, _lengths(run.grid), _lengths(run.block), tuple(given), run.shared, schedule=schedule)
    except LaunchError as error:
        return str(error).split("\n")[0]
    for name, there in outputs.items():
        if why := differs(there.get(), made.expected[name], run.tolerance):
            return f"{name}: {why}"
    return "right"


def _profiled(kernel: Kernel, run: Run, made: Arguments, outcome: Outcome) -> Report | None:
    given, _ = made.on_device()
    try:
        return profile(kernel, _lengths(run.grid), _lengths(run.block), tuple(given), run.shared)
    except LaunchError as error:
        outcome.said.append(str(error))
        return None


def _note(report: Report, outcome: Outcome) -> None:
    for section, _ in SECTIONS:
        found = [f for f in getattr(report, section) if f.kind != "same-value"]
        if section != "notes" and found:
            outcome.findings[section] = len(found)
            outcome.said += [f.message for f in found]


def differs(got: Array, wanted: Array, factor: float = 1) -> str:
    """Where it is not what it must be; "" where it is."""
    got = got.reshape(-1)
    wanted = np.broadcast_to(wanted, got.shape).reshape(-1) if wanted.ndim == 0 else wanted.reshape(-1)
    if got.size != wanted.size:
        return f"{got.size} elements, and the reference has {wanted.size}"
    tolerance = factor * TOLERANCE.get(got.dtype.str[1:], 0)
    numbers = got.astype(np.float64)
    matter = ~np.isnan(wanted.astype(np.float64))
    scale = np.abs(wanted[matter], dtype=np.float64).max(initial=0)
    with np.errstate(invalid="ignore"):
        off = np.abs(numbers - wanted) > tolerance * (np.abs(wanted) + 0.1 * scale)
    wrong = np.flatnonzero(matter & (off | np.isnan(numbers)) & ~(numbers == wanted))
    if not wrong.size:
        return ""
    at = wrong[0]
    return f"{wrong.size} of {got.size} differ, at {at} first: {got[at]} and not {wanted[at]}"


def verdict(run: Run, outcome: Outcome) -> str:
    right = all(said == "right" for said in outcome.schedules.values())
    sections = set(run.found.split())
    if sections:
        return "found" if sections == set(outcome.findings) else "silent"
    if run.why:
        agree = len(set(outcome.schedules.values())) == 1 and not right
        return "logic" if agree and not outcome.findings else "silent"
    if outcome.findings:
        return "alarm"
    return "right" if right else "wrong"


# --------------------------------------------------------------------------------------------------- all runs


def rows(table: Table) -> Iterator[tuple[str, str, Run]]:
    for repository, paths in table.items():
        for path, runs in paths.items():
            for run in runs:
                yield repository, path, run


def _spent(number: int, frame: FrameType | None) -> None:
    raise OverBudget


def one(folder: Path, repository: str, path: str, run: Run) -> Outcome:
    """What becomes of one entry, whatever happens."""
    outcome = Outcome(repository, path, run.name, run.digest, "refused", why=run.why)
    signal.signal(signal.SIGALRM, _spent)
    signal.alarm(BUDGET)
    try:
        text = cut((folder / repository.replace("/", "+", 1)).resolve(), path, run)
        if text is None:
            outcome.said = ["no kernel of this name has this text"]
        else:
            outcome = judged(text, run)
            outcome.repository, outcome.path = repository, path
    except OverBudget:
        outcome.said = [f"not done in {BUDGET} s"]
    except Exception:
        outcome.verdict, outcome.said = "wrong", traceback.format_exc().splitlines()[-3:]
    finally:
        signal.alarm(0)
    return outcome


_ALL: tuple[Path, list[tuple[str, str, Run]]] = (Path(), [])


def _numbered(number: int) -> Outcome:
    folder, todo = _ALL
    return one(folder, *todo[number])


def outcomes(folder: Path, todo: list[tuple[str, str, Run]]) -> Iterator[Outcome]:
    """In the order of the table, from several processes."""
    global _ALL
    _ALL = folder, todo  # lambdas go into other processes by fork only
    with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
        yield from pool.imap(_numbered, range(len(todo)), chunksize=4)


def summary(found: Sequence[Outcome]) -> dict[str, Any]:
    verdicts = Counter(outcome.verdict for outcome in found)
    repositories = {}
    for name in dict.fromkeys(outcome.repository for outcome in found):
        own = Counter(outcome.verdict for outcome in found if outcome.repository == name)
        repositories[name] = dict(own)
    return {"kernels": len(found), "verdicts": dict(verdicts), "repositories": repositories}


def table_of(found: Sequence[Outcome]) -> str:
    told = summary(found)
    kinds = ("right", "found", "logic", "wrong", "alarm", "silent", "refused")
    lines = [" ".join(f"{kind:>8}" for kind in kinds)]
    for name, own in [*told["repositories"].items(), ("all", told["verdicts"])]:
        lines.append(" ".join(f"{own.get(kind, 0):8}" for kind in kinds) + f"  {name}")
    lines.append("")
    for outcome in found:
        if outcome.verdict != "right":
            lines.append(
                f"{outcome.verdict:8} {outcome.repository} {outcome.path} {outcome.name}: {outcome.why}"
            )
    return "\n".join(lines)


def written(found: Sequence[Outcome]) -> str:
    """As JSON, with a line for each kernel."""
    head = {
        **summary(found),
        "machine": machine(),
        "command": "python benchmarks/public_runs.py FOLDER",
    }
    lines = []
    for outcome in found:
        row = asdict(outcome)
        del row["said"]
        lines.append(json.dumps(row))
    return json.dumps(head, indent=1)[:-2] + ',\n "kernel_rows": [\n' + ",\n".join(lines) + "\n ]\n}\n"


def digests(folder: Path, todo: Sequence[tuple[str, str, Run]]) -> Iterator[str]:
    for repository, path, run in todo:
        root = (folder / repository.replace("/", "+", 1)).resolve()
        name = run.name.partition("<")[0]
        found = [k for k in _items(root, run.within or path) if k.kind == "kernel" and k.qualified == name]
        yield f"{repository} {path} {run.name} {' '.join(map(digest, found))}"


def main() -> None:
    from public_tables import TABLE

    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="those whose repository, path and name have such words")
    parser.add_argument("--digests", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    todo = [row for row in rows(TABLE) if re.search(asked.only or "", f"{row[0]} {row[1]} {row[2].name}")]
    if asked.digests:
        print("\n".join(digests(asked.folder, todo)))
        return
    found = list(outcomes(asked.folder, todo))
    if asked.only:
        for outcome in found:
            print(
                outcome.verdict,
                outcome.path,
                outcome.name,
                outcome.schedules,
                outcome.findings,
                *outcome.said,
                sep="\n    ",
            )
    else:
        asked.out.write_text(written(found), encoding="utf-8")
    print(table_of(found))


if __name__ == "__main__":
    main()
