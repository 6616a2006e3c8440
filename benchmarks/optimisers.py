"""The longer race of chapter 03e: three optimisers, three schedules, each pair tuned on the same grid.

    python -m benchmarks.optimisers        # writes benchmarks/results/optimisers.json; a few minutes

A perceptron of 64, 64, 64, 10 units on handwritten digits, 600 batches of 64, the same for all.
For each of the nine pairs the rate is chosen among the same 16, by the loss of the last 50 batches, mean of
three starts; what is reported is that mean from four other starts. None gets a trial more than the others.
With a schedule plain descent takes the last rate before nothing is learned: twelve starts of it, and of the
rate one step of the grid lower, are recorded beside the race, and change nothing in it.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from timing import machine

from benchmarks.trainings import without_options
from minilib import functional as F
from minilib import nn, optim
from minilib.data import digits
from minilib.tensor import manual_seed, tensor

RESULTS = Path(__file__).parent / "results" / "optimisers.json"
STEPS, LAST = 600, 50  # batches in all; the mean loss of so many at the end is what counts
RATES = [float(f"{rate:.2g}") for rate in np.logspace(-4, 1, 16)]
TUNED_ON, STARTS = (0, 1, 2), (3, 4, 5, 6)  # seeds of the first weights
CLIFF = [(schedule, rate) for schedule in ("cosine", "warm-up and cosine") for rate in (0.46, 1.0)]
TWELVE = range(3, 15)  # none that a rate was chosen by

KINDS: dict[str, Callable[..., optim.Optimizer]] = {
    "SGD": optim.SGD,
    "momentum 0.9": partial(optim.SGD, momentum=0.9),
    "AdamW": optim.AdamW,
}
SCHEDULES: dict[str, Callable[[optim.Optimizer], optim.LRScheduler]] = {
    "constant": lambda optimizer: optim.LambdaLR(optimizer, lambda step: 1.0),
    "cosine": lambda optimizer: optim.CosineAnnealingLR(optimizer, STEPS),
    "warm-up and cosine": lambda optimizer: optim.WarmupCosine(optimizer, STEPS // 10, STEPS),
}


def run(kind: str, schedule: str, rate: float, start: int, steps: int = STEPS) -> float:
    """The mean loss of the last batches; infinity where the loss is no number any more."""
    images, labels = (t.numpy() for t in digits().tensors)
    manual_seed(start)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = KINDS[kind](model.parameters(), lr=rate)
    scheduler = SCHEDULES[schedule](optimizer)
    losses = []
    with np.errstate(all="ignore"):  # with the longest steps numbers overflow
        for step in range(steps):
            chosen = np.random.default_rng(step).integers(0, len(images), 64)
            loss = F.cross_entropy(model(tensor(images[chosen].reshape(64, 64))), tensor(labels[chosen]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    mean = float(np.mean(losses[-LAST:]))
    return mean if math.isfinite(mean) else math.inf


def tuned(kind: str, schedule: str) -> dict[str, Any]:
    """The best rate of the grid from some starts, and the loss that it gives from others."""
    grid = [statistics.mean(run(kind, schedule, rate, start) for start in TUNED_ON) for rate in RATES]
    rate = RATES[int(np.argmin(grid))]
    found = [run(kind, schedule, rate, start) for start in STARTS]
    finite = [loss if math.isfinite(loss) else None for loss in grid]  # JSON has no infinity
    return {"optimiser": kind, "schedule": schedule, "rate": rate, "losses": found, "grid": finite}


def beside_the_cliff() -> dict[str, Any]:
    """What twelve starts of plain descent give at the rate that the grid took, and at the one below it."""
    rows = []
    for schedule, rate in CLIFF:
        losses = [run("SGD", schedule, rate, start) for start in TWELVE]
        rows.append({"optimiser": "SGD", "schedule": schedule, "rate": rate, "losses": losses})
        print(rows[-1], flush=True)
    return {"machine": machine(), "rows": rows}


def mean(rows: Sequence[dict[str, Any]], kind: str, schedule: str) -> float:
    """Mean over the starts of the loss at the end."""
    (row,) = (row for row in rows if (row["optimiser"], row["schedule"]) == (kind, schedule))
    return statistics.mean(row["losses"])


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The figures as chapter 03e shows them: loss at the end, and the rate that was best."""
    lines = [
        f"| loss at the end (best rate) | {' | '.join(SCHEDULES)} |",
        "|---" * (len(SCHEDULES) + 1) + "|",
    ]
    rates = {(row["optimiser"], row["schedule"]): row["rate"] for row in rows}
    for kind in KINDS:
        cells = [f"{mean(rows, kind, schedule):.4f} ({rates[kind, schedule]:g})" for schedule in SCHEDULES]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    without_options(__doc__)
    rows = []
    for kind in KINDS:
        for schedule in SCHEDULES:
            rows.append(tuned(kind, schedule))
            print(rows[-1], flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    recorded = {"machine": machine(), "rows": rows, "cliff": beside_the_cliff()}
    RESULTS.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    print(table(rows))
    print(f"wrote {RESULTS}; chapter 03e shows this table")


if __name__ == "__main__":
    main()
