"""What a state remembers: the program `minilib.projects.remember`, trained for the record.

    python -m benchmarks.mamba_tasks                              # writes benchmarks/results/mamba_tasks.json
    python -m benchmarks.mamba_tasks copying-mamba                # one of RUNS; the others stay
    python -m benchmarks.mamba_tasks copying-mamba --keep FOLDER  # with a checkpoint there

Each run says the command that repeats it. `right` of the figures is the fraction of what was asked, on held-
out samples, by their length or number of pairs. `steps`, `losses` (the mean since the step before),
`held_out` and `right` belong together. `seconds` are those of the clock, `cpu_seconds` those of all threads:
where they are fewer than the clock's, the machine had other work too.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.machine import machine
from minilib.parallel import set_num_threads
from minilib.projects import remember

RESULTS = Path(__file__).parent / "results" / "mamba_tasks.json"
RUNS = {  # the options of each, beside those that the program has by itself
    "induction-mamba": "--task induction --model mamba --steps 1500 --lr 5e-3 --decay 0",
    "induction-gpt": "--task induction --model gpt --steps 6000 --lr 1e-3 --decay 0",
    "copying-mamba": "--task copying --model mamba --steps 8000",
    "copying-fixed": "--task copying --model fixed --steps 8000",
    "recall-mamba": "--task recall --model mamba --steps 3000 --batch 64 --decay 0",
    "recall-gpt": "--task recall --model gpt --steps 3000 --batch 64 --lr 1e-3 --decay 0",
}


def run(name: str, keep: Path | None) -> dict[str, Any]:
    """One training, as its program does it with these options."""
    folder = []
    if keep is not None:
        folder = ["--resume" if (keep / "training.json").exists() else "--checkpoint", str(keep)]
    args = remember.parser().parse_args([*RUNS[name].split(), *folder])
    set_num_threads(args.shards)
    samples, figures = remember.run(args)
    losses = samples.losses
    return {
        "run": name,
        "command": f"{remember.parser().prog} {RUNS[name]} --seed {args.seed}",
        "options": {
            option: value for option, value in vars(args).items() if isinstance(value, int | float | str)
        },
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
        "right": [float(text.split()[0]) for text in samples.texts],
    }


def write(row: dict[str, Any]) -> None:
    """Put a run into the file, in the place of an earlier one of the same name."""
    runs = json.loads(RESULTS.read_text(encoding="utf-8"))["runs"] if RESULTS.exists() else []
    runs = [other for other in runs if other["run"] != row["run"]] + [row]
    runs.sort(key=lambda one: list(RUNS).index(one["run"]))
    RESULTS.write_text(json.dumps({"runs": runs}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help=f"of {', '.join(RUNS)}; all, if none is named")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="of the checkpoint of one run")
    args = parser.parse_args()
    if strange := [name for name in args.runs if name not in RUNS]:
        parser.error(f"no run {strange[0]!r}: there are {', '.join(RUNS)}")
    if args.keep and len(args.runs) != 1:
        parser.error("--keep belongs to one run: name it")
    for name in args.runs or RUNS:
        row = run(name, args.keep)
        write(row)
        print(
            name,
            row["figures"]["scores"],
            f"{row['seconds']:.0f} s, {row['cpu_seconds']:.0f} s of processors",
        )
    print(f"wrote {RESULTS}")


if __name__ == "__main__":
    main()
