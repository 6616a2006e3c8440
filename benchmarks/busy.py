"""A training step alone, and beside neighbours that keep all cores busy, as on the server of a class.

    python -m benchmarks.busy                            # writes benchmarks/results/busy.json and README.md
    python -m benchmarks.busy --case digits --rounds 1   # a part is only printed

Each case runs in a process of its own, in turn, alone and beside four processes that spin: as it comes, and
with all of BLAS's threads for each product, as before only large products got them. What counts is the mean
step of a process: the few that wait for a core are what is felt.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from typing import Any

from timing import Call, call_times, in_turn, machine, rounded, shown

from benchmarks import sidebyside, tensor
from benchmarks.sidebyside import THREADS, WARM_UPS, Row, Suite, spawn

NEIGHBOURS, ROUNDS, GOAL = 4, 5, 4.0  # so many times as long, at most, beside the neighbours
WAYS = ("one thread", "all threads")  # for products that are not large: as it comes, and as it was

SUITE = Suite("benchmarks.busy", "training step, on 2 threads", {}, {}, ("numpy",), ())  # names its places


def mlp(*widths: int, batch: int) -> Callable[[], Call]:
    def setup() -> Call:
        library = tensor.minilib(THREADS)
        return tensor.train(library, widths, batch, library.optim.AdamW)

    return setup


def gpt() -> Call:
    """gpt-nano as `python -m minilib.projects.sort` trains it."""
    tensor.minilib(THREADS)
    from minilib.data import DataLoader
    from minilib.gpt import GPT, GPTConfig, next_token
    from minilib.projects.sort import SortDataset
    from minilib.train import Trainer

    data = SortDataset("train", 64)
    model = GPT(GPTConfig(3, data.tensors[0].shape[1], "gpt-nano"))
    optimizer = model.configure_optimizers(2e-3)
    trainer = Trainer(model, optimizer, DataLoader(data, 64), next_token, callbacks=[], clip=1.0)
    return lambda: trainer.train_step(data.tensors)


CASES: dict[str, tuple[str, Callable[[], Call]]] = {
    "digits": ("64-128-10, batch 64, AdamW", mlp(64, 128, 10, batch=64)),
    "mlp": ("784-256-256-10, batch 128, AdamW", mlp(784, 256, 256, 10, batch=128)),
    "gpt": ("gpt-nano, 64 sequences of 11 digits", gpt),
}


# In a process of its own


def measure_here(case: str, way: str) -> float:
    """Seconds of the mean step."""
    from minilib import parallel

    if way == "all threads":
        parallel.LARGE = 0  # each product is
    call = CASES[case][1]()
    for _ in range(WARM_UPS):
        call()
    return statistics.mean(call_times(call))


# In the process that starts the others


@contextlib.contextmanager
def busy(neighbours: int) -> Iterator[None]:
    """A block beside so many processes that spin."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(neighbours)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def measure(cases: Sequence[str], rounds: int) -> list[Row]:
    """A row for each case: for each way the seconds alone and beside the neighbours, and their ratio."""

    def one(key: tuple[str, str, int]) -> float:
        case, way, neighbours = key
        print(".", end="", file=sys.stderr, flush=True)
        with busy(neighbours):
            found: float = spawn(SUITE.module, "--child", case, way)
        return found

    keys = [(case, way, neighbours) for case in cases for way in WAYS for neighbours in (0, NEIGHBOURS)]
    found = in_turn(keys, rounds, one)
    print(file=sys.stderr)
    rows: list[Row] = []
    for case in cases:
        row: Row = {"case": case, "goal": GOAL}
        for way in WAYS:
            alone, beside = found[case, way, 0], found[case, way, NEIGHBOURS]
            row[way] = {
                "alone": rounded(statistics.median(alone)),
                "beside": rounded(statistics.median(beside)),
                "ratio": rounded(statistics.median(b / a for a, b in zip(alone, beside))),
            }
        rows.append(row)
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as Markdown."""
    heads = [SUITE.title, "alone", "beside four", "ratio", "all threads: alone", "beside four", "ratio"]
    lines = [heads, ["---"] * len(heads)]
    for row in rows:
        line = [CASES[row["case"]][0]]
        for way in WAYS:
            each: dict[str, Any] = row[way]
            missed = f" (goal {GOAL:g}: missed)" if way == WAYS[0] and each["ratio"] > GOAL else ""
            line += [shown(each["alone"], "s"), shown(each["beside"], "s"), f"{each['ratio']:.1f}{missed}"]
        lines.append(line)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {SUITE.module}", description=SUITE.title)
    parser.add_argument("--case", action="append", choices=CASES, help="only this one; may be repeated")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"(default: {ROUNDS})")
    parser.add_argument("--child", nargs=2, metavar=("CASE", "WAY"), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.child:
        print(json.dumps(measure_here(*args.child)))
        return
    rows = measure(args.case or list(CASES), args.rounds)
    print(table(rows))
    if args.case:
        return
    data = {
        "machine": machine(),
        "versions": {name: version(name) for name in SUITE.versions},
        "threads": THREADS,
        "neighbours": NEIGHBOURS, "rounds": args.rounds,
        "seconds": "median over the rounds of each process's mean step", "rows": rows,
    }  # fmt: skip
    SUITE.results.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    readme = sidebyside.README.read_text(encoding="utf-8")
    sidebyside.README.write_text(sidebyside.with_table(SUITE.name, readme, table(rows)), encoding="utf-8")


if __name__ == "__main__":
    main()
