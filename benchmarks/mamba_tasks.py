"""What a state remembers: the program `minilib.projects.remember`, trained for the record.

    python -m benchmarks.mamba_tasks                              # writes benchmarks/results/mamba_tasks.json
    python -m benchmarks.mamba_tasks copying-mamba                # one of RUNS; the others stay
    python -m benchmarks.mamba_tasks copying-mamba --keep FOLDER  # with a checkpoint there

Each run says the command that repeats it; `benchmarks/trainings.py` says what its figures are. `right` of the
figures is the fraction of what was asked, on held-out samples, by their length or number of pairs; the other
`right` belongs to its steps.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import trainings
from minilib.projects import remember

RESULTS = Path(__file__).parent / "results" / "mamba_tasks.json"
RUNS = {  # the options of each, beside those that the program has by itself
    "induction-mamba": "--task induction --model mamba --steps 1500 --lr 5e-3 --decay 0",
    "induction-gpt": "--task induction --model gpt --steps 6000 --lr 1e-3 --decay 0",
    "copying-mamba": "--task copying --model mamba --steps 7000",
    "copying-fixed": "--task copying --model fixed --steps 7000",
    "recall-mamba": "--task recall --model mamba --steps 3000 --batch 64 --decay 0",
    "recall-gpt": "--task recall --model gpt --steps 3000 --batch 64 --lr 1e-3 --decay 0",
}


def run(name: str, keep: Path | None) -> trainings.Row:
    """One training, as its program does it with these options."""
    _, samples, row = trainings.trained(remember, RUNS[name], keep)
    return {"run": name, **row, "right": [float(text.split()[0]) for text in samples.texts]}


if __name__ == "__main__":
    trainings.main(__doc__, RESULTS, "run", list(RUNS), run)
