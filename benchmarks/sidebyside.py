"""The same case in two libraries, one process each, in turn: seconds a call, or the memory that a call needs.

A benchmark declares a `Suite` and hands it to `main`; `benchmarks/tensor.py` is one. Each round measures
every case once in each library, in a new process. A process takes the median of its calls; the table shows
the median over the rounds, and that of the ratios in each round: a slow minute counts for both.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import re
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from timing import Call, answer, call_times, in_turn, machine, resident, rounded, shown

ROOT = Path(__file__).parents[1]
README = ROOT / "benchmarks" / "README.md"
THREADS, ROUNDS = 2, 5
WARM_UPS = 3  # calls before the clock runs; their results are compared between the libraries
TOLERANCE = 1e-3  # of the libraries' results, relative to their size
MEMORY = "peak of resident memory in a process's first call, above the level after set-up; malloc fixed"
# With its own, moving threshold malloc keeps freed arrays or not as luck has it: the peak of one and the same
# step was 127 or 211 MB. With a fixed one an array goes back when freed: the peak is what a library holds.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "65536"}

Row = dict[str, Any]


class Library(Protocol):
    """What a case gets: the names of one library, and how its results become arrays."""

    def numpy(self, result: Any) -> Any:
        """The array in what a call returned."""


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    title: str
    setup: Callable[[Any], Call]  # gets the library, returns what is measured
    target: float | None = None  # the ratio that is aimed at
    per: int = 1  # operations in one call, of which one is shown
    memory: bool = False  # measure the peak of memory in place of the time


@dataclass(frozen=True)
class Suite:
    """The cases of one benchmark module and its libraries: ours first, last the peer, the divisor."""

    module: str
    title: str
    libraries: Mapping[str, Callable[[int], Library]]  # name -> load it with so many threads
    names: Mapping[str, str]  # name -> how the table calls it
    versions: Sequence[str]  # packages whose versions stand beside the figures
    cases: Sequence[Case]
    threads: int = THREADS

    @property
    def name(self) -> str:
        return self.module.rpartition(".")[2]

    @property
    def results(self) -> Path:
        return ROOT / "benchmarks" / "results" / f"{self.name}.json"

    @property
    def ours(self) -> str:
        return next(iter(self.libraries))

    @property
    def peer(self) -> str:
        return list(self.libraries)[-1]


# In a process of its own ----------------------------------------------------------------------------------


def measure_here(suite: Suite, case: Case, library: str, threads: int) -> Row:
    """The value of one case in this process: seconds an operation, or bytes; and what its calls returned."""
    loaded = suite.libraries[library](threads)
    call = case.setup(loaded)
    if case.memory:
        value, result = peak_memory(call)
        return {"value": value, "results": [summary(loaded.numpy(result))]}
    results = [summary(loaded.numpy(call())) for _ in range(WARM_UPS)]
    return {"value": statistics.median(call_times(call)) / case.per, "results": results}


def peak_memory(call: Call) -> tuple[int, Any]:
    """Bytes by which resident memory rose above its level before the call, at most; and what it returned."""
    gc.collect()
    before, peak = memory_gauge()
    level = before()
    result = call()
    return peak() - level, result


def memory_gauge() -> tuple[Callable[[], int], Callable[[], int]]:
    """How to read the level and the peak of this process's memory, in bytes.

    Linux can forget an earlier peak. Elsewhere the level is the highest one so far, which is more than the
    present one where the set-up has given memory back.
    """
    try:
        Path("/proc/self/clear_refs").write_text(
            "5", encoding="utf-8"
        )  # from here on the peak is counted anew
    except OSError:
        return highest_ever, highest_ever
    return lambda: resident("VmRSS"), lambda: resident("VmHWM")


def highest_ever() -> int:
    import resource  # not on Windows

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else 1024 * used


def summary(array: Any) -> list[float]:
    """Mean and mean size of the elements: enough to see that two libraries did the same."""
    return [float(array.mean()), float(abs(array).mean())]


# In the process that starts the others ----------------------------------------------------------------------


def spawn(module: str, *words: str, environment: Mapping[str, str] | None = None) -> Any:
    """What `python -m module words` prints, as JSON."""
    return answer("-m", module, *words, cwd=ROOT, environment=environment)


def measure(suite: Suite, cases: Sequence[Case], libraries: Sequence[str], rounds: int) -> list[Row]:
    """A row for each case. Raises SystemExit where the libraries' results differ."""

    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    threads = dict.fromkeys(names, str(suite.threads))

    def one(key: tuple[Case, str]) -> Row:
        case, library = key
        print(".", end="", file=sys.stderr, flush=True)
        environment = {**threads, **(MALLOC if case.memory else {})}
        found: Row = spawn(suite.module, "--child", case.name, library, environment=environment)
        return found

    found = in_turn([(case, library) for case in cases for library in libraries], rounds, one)
    print(file=sys.stderr)
    return [row(suite, case, {name: found[case, name] for name in libraries}) for case in cases]


def row(suite: Suite, case: Case, found: Mapping[str, Sequence[Row]]) -> Row:
    """The medians of one case, and how many times the peer's value ours is."""
    values = {name: [each["value"] for each in rounds] for name, rounds in found.items()}
    made: Row = {"case": case.name, "unit": "bytes" if case.memory else "seconds"}
    made |= {name: rounded(statistics.median(each)) for name, each in values.items()}
    if {suite.ours, suite.peer} <= {*found}:
        for rounds in found.values():
            compare(case, rounds[0]["results"], found[suite.peer][0]["results"])
        ratios = [mine / theirs for mine, theirs in zip(values[suite.ours], values[suite.peer])]
        made |= {"ratio": rounded(statistics.median(ratios)), "target": case.target}
    return made


def compare(case: Case, ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> None:
    """Raise SystemExit unless both libraries computed the same: else their times say nothing."""
    for call, (mine, peer) in enumerate(zip(ours, theirs), 1):
        size = max(mine[1], peer[1])
        if not all(abs(a - b) <= TOLERANCE * size for a, b in zip(mine, peer)):
            raise SystemExit(f"error: {case.name}: call {call} gave mean and size {mine} here, {peer} there")


# The table --------------------------------------------------------------------------------------------------


def table(suite: Suite, rows: Sequence[Row]) -> str:
    """The rows as Markdown; only the libraries that were measured have a column."""
    libraries = [name for name in suite.libraries if name in rows[0]]
    both = {suite.ours, suite.peer} <= {*libraries}
    heads = [suite.title, *(suite.names[name] for name in libraries)]
    heads += ["ratio, median of the rounds"] if both else []
    titles = {case.name: case.title for case in suite.cases}
    lines = [heads, ["---"] * len(heads)]
    for each in rows:
        cells = [shown(each[name], each["unit"]) for name in libraries]
        lines.append([titles[each["case"]], *cells, *([ratio(each)] if both else [])])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def ratio(each: Row) -> str:
    """`1.08`, and the target where it is missed; where there is none, whether we are slower."""
    target = each["target"]
    if target is None:
        return f"{each['ratio']:.2f}" + (" (more)" if each["ratio"] > 1 else "")
    return f"{each['ratio']:.2f}" + (f" (target {target:g}: missed)" if each["ratio"] > target else "")


def marked(name: str, text: str) -> str | None:
    """What stands between a benchmark's markers in `text`, or None where it has none."""
    found = re.search(_markers(name), text, re.DOTALL)
    return found[2] if found else None


def with_table(name: str, text: str, made: str) -> str:
    """`text` with `made` between the benchmark's markers, if it has them."""
    return re.sub(_markers(name), lambda found: f"{found[1]}{made}{found[3]}", text, flags=re.DOTALL)


def _markers(name: str) -> str:
    return f"(<!-- bench {name} -->\n)(.*?)(\n?<!-- /bench {name} -->)"


def recorded(suite: Suite) -> str:
    """The table of the recorded figures."""
    return table(suite, json.loads(suite.results.read_text(encoding="utf-8"))["rows"])


def record(suite: Suite, rows: Sequence[Row], rounds: int) -> None:
    """Write the figures, with what they were measured on and how, beside the other results."""
    data = {
        "machine": machine(),
        "versions": {name: importlib.metadata.version(name) for name in suite.versions},
        "threads": suite.threads,
        "rounds": rounds,
        "seconds": "median over the rounds of each process's median call",
        "bytes": MEMORY,
        "rows": rows,
    }
    suite.results.parent.mkdir(exist_ok=True)
    suite.results.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def write_readme(suite: Suite) -> None:
    """Put the recorded table between the README's markers, or say which markers it needs."""
    text, made = README.read_text(encoding="utf-8"), recorded(suite)
    print(made)
    README.write_text(with_table(suite.name, text, made), encoding="utf-8")
    if marked(suite.name, text) is None:
        print(
            f"{README}: put <!-- bench {suite.name} --> and <!-- /bench {suite.name} --> there, then --table"
        )


def main(suite: Suite, argv: Sequence[str] | None = None) -> None:
    """The command of a benchmark module."""
    cases = {case.name: case for case in suite.cases}
    parser = argparse.ArgumentParser(prog=f"python -m {suite.module}", description=suite.title)
    parser.add_argument("--case", action="append", choices=cases, help="only this one; may be repeated")
    parser.add_argument("--library", choices=suite.libraries, help="only this one")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"(default: {ROUNDS})")
    parser.add_argument(
        "--table", action="store_true", help="measure nothing: recorded figures to the README"
    )
    parser.add_argument("--child", nargs=2, metavar=("CASE", "LIBRARY"), help=argparse.SUPPRESS)
    parser.epilog = "A whole run is recorded and shown in the README; a part of one is only printed."
    args = parser.parse_args(argv)
    if args.child:
        print(json.dumps(measure_here(suite, cases[args.child[0]], args.child[1], suite.threads)))
        return
    if not args.table:
        chosen = [cases[name] for name in args.case or cases]
        rows = measure(suite, chosen, [args.library] if args.library else list(suite.libraries), args.rounds)
        if args.case or args.library:
            print(table(suite, rows))
            return
        record(suite, rows, args.rounds)
    write_readme(suite)
