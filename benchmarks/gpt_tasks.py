"""The three programs of `minilib.projects`, trained for the record: losses, samples, scores.

    python -m benchmarks.gpt_tasks                       # writes benchmarks/results/gpt_tasks.json
    python -m benchmarks.gpt_tasks char                  # one of sort, adder, char; the others stay
    python -m benchmarks.gpt_tasks char --keep FOLDER    # with a checkpoint there, and goes on with it

Each run says the command that repeats it; `benchmarks/trainings.py` says what its figures are. `samples`
belong to its steps, and `curve` has the mean loss of every ten steps.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import trainings
from minilib.data import checksum
from minilib.projects import adder, chargpt, sort

RESULTS = Path(__file__).parent / "results" / "gpt_tasks.json"
TASKS: dict[str, Any] = {"sort": sort, "adder": adder, "char": chargpt}


def run(task: str, keep: Path | None) -> trainings.Row:
    """One training, as its program does it with the options that it has by itself."""
    args, samples, row = trainings.trained(TASKS[task], "", keep)
    losses = samples.losses
    return {
        "task": task,
        **row,
        **({"text_sha256": checksum(chargpt.read(args))} if task == "char" else {}),
        "curve": [float(f"{fmean(losses[i : i + 10]):.3g}") for i in range(0, len(losses), 10)],
        "samples": [{"step": step, "text": text} for step, text in zip(samples.steps, samples.texts)],
    }


if __name__ == "__main__":
    trainings.main(__doc__, RESULTS, "task", list(TASKS), run)
