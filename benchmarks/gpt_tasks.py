"""The three programs of `minilib.projects`, trained for the record: losses, samples, scores.

    python -m benchmarks.gpt_tasks                       # writes benchmarks/results/gpt_tasks.json
    python -m benchmarks.gpt_tasks char                  # one of sort, adder, char; the others stay
    python -m benchmarks.gpt_tasks char --keep FOLDER    # with a checkpoint there, and goes on with it

Each run says the command that repeats it. `steps`, `losses` (the mean since the step before), `held_out` and
`samples` belong together; `curve` has the mean loss of every ten steps. `seconds` are those of the clock,
`cpu_seconds` those of all threads: where they are fewer than the clock's, the machine had other work too.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.machine import machine
from minilib.data import checksum
from minilib.parallel import set_num_threads
from minilib.projects import adder, chargpt, sort

RESULTS = Path(__file__).parent / "results" / "gpt_tasks.json"
TASKS: dict[str, Any] = {"sort": sort, "adder": adder, "char": chargpt}


def run(task: str, keep: Path | None) -> dict[str, Any]:
    """One training, as its program does it with the options that it has by itself."""
    program = TASKS[task]
    resume = keep is not None and (keep / "training.json").exists()
    argv = [] if keep is None else ["--resume" if resume else "--checkpoint", str(keep)]
    args = program.parser().parse_args(argv)
    set_num_threads(args.shards)
    samples, figures = program.run(args)
    losses = samples.losses
    text = {"text_sha256": checksum(chargpt.read(args))} if task == "char" else {}
    return {
        "task": task,
        "command": f"{program.parser().prog} --seed {args.seed}",
        "options": {
            name: value for name, value in vars(args).items() if isinstance(value, int | float | str)
        },
        **text,
        "machine": machine(),
        "figures": figures,
        "seconds": samples.seconds[-1],
        "cpu_seconds": samples.cpu_seconds[-1],
        "steps": samples.steps,
        "losses": [
            float(f"{fmean(losses[start:stop]):.4g}")
            for start, stop in itertools.pairwise([0, *samples.steps])
        ],
        "held_out": [float(f"{loss:.4g}") for loss in samples.held_out],
        "curve": [float(f"{fmean(losses[i : i + 10]):.3g}") for i in range(0, len(losses), 10)],
        "samples": [{"step": s, "text": text} for s, text in zip(samples.steps, samples.texts)],
    }


def write(row: dict[str, Any]) -> None:
    """Put a run into the file, in the place of an earlier one of the same task."""
    runs = json.loads(RESULTS.read_text(encoding="utf-8"))["runs"] if RESULTS.exists() else []
    runs = [other for other in runs if other["task"] != row["task"]] + [row]
    runs.sort(key=lambda one: list(TASKS).index(one["task"]))
    RESULTS.write_text(json.dumps({"runs": runs}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "tasks", nargs="*", metavar="TASK", help=f"of {', '.join(TASKS)}; all, if none is named"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="of the checkpoint of one task")
    args = parser.parse_args()
    if strange := [task for task in args.tasks if task not in TASKS]:
        parser.error(f"no task {strange[0]!r}: there are {', '.join(TASKS)}")
    if args.keep and len(args.tasks) != 1:
        parser.error("--keep belongs to one task: name it")
    for task in args.tasks or TASKS:
        row = run(task, args.keep)
        write(row)
        print(task, row["figures"], f"{row['seconds']:.0f} s, {row['cpu_seconds']:.0f} s of processors")
    print(f"wrote {RESULTS}")


if __name__ == "__main__":
    main()
