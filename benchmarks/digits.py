"""Handwritten digits: two networks, five seeds each, tested on a random fifth and on other writers' digits.

    python -m benchmarks.digits            # writes benchmarks/results/digits.json; about 10 minutes

"random" is scikit-learn's stratified split with seed 0, a fifth held out; "writers" holds out the last three
of the forms that were filled in. Widths, rates and epochs were chosen with the random fifth in view, which
flatters that column a little. One thread, so that the seconds mean the same everywhere.
"""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from timing import machine

from benchmarks.trainings import without_options
from minilib import nn, optim
from minilib.data import DataLoader, TensorDataset, digits, shifted
from minilib.tensor import Generator, manual_seed
from minilib.train import Trainer, accuracy

RESULTS = Path(__file__).parent / "results" / "digits.json"
SEEDS = range(5)
SPLITS = ("random", "writers")
OTHERS = 1415  # where the last three forms begin: on each the labels start anew with 0 to 9, three times
MODELS = {
    "mlp": "MLP: 64, 512, 512, 10 units, dropout 0.4, 100 epochs",
    "cnn": "CNN: 32, 32, 64 channels, batch norm, shifts by a pixel, 30 epochs",
}


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(),
        *(nn.Linear(64, 512), nn.ReLU(), nn.Dropout(0.4)),
        *(nn.Linear(512, 512), nn.ReLU(), nn.Dropout(0.4)),
        nn.Linear(512, 10),
    )


def cnn() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()),
        *(nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Dropout(0.3), nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.3)),
        nn.Linear(128, 10),
    )


def split(name: str) -> tuple[TensorDataset, TensorDataset]:
    """The digits to train on, and those held out."""
    from sklearn.model_selection import train_test_split

    data, numbers = digits(), np.arange(1797)
    if name == "writers":
        kept, held = numbers[:OTHERS], numbers[OTHERS:]
    else:
        labels = data.tensors[1].numpy()
        kept, held = train_test_split(numbers, test_size=0.2, stratify=labels, random_state=0)
    return TensorDataset(*data[kept]), TensorDataset(*data[held])


def run(name: str, where: str, seed: int) -> dict[str, Any]:
    """One training: accuracy on what was held out, and seconds."""
    train, test = split(where)
    start = time.perf_counter()
    manual_seed(seed)
    model = mlp() if name == "mlp" else cnn()
    epochs, decay, transform = (100, 0.05, None) if name == "mlp" else (30, 0.01, shifted)
    loader = DataLoader(train, 64, shuffle=True, generator=Generator(seed), transform=transform)
    optimizer = optim.AdamW(model.parameters(), lr=2e-3, weight_decay=decay)
    schedule = optim.WarmupCosine(optimizer, 50, epochs * len(loader))
    Trainer(model, optimizer, loader, scheduler=schedule, callbacks=[], seed=seed).fit(epochs=epochs)
    seconds = time.perf_counter() - start
    right = accuracy(model, DataLoader(test, 512))
    return {"model": name, "split": where, "seed": seed, "accuracy": right, "seconds": round(seconds, 1)}


def mean(rows: list[dict[str, Any]], name: str, where: str) -> float:
    """Mean accuracy of one network on one split."""
    return statistics.mean(row["accuracy"] for row in rows if (row["model"], row["split"]) == (name, where))


def table(rows: list[dict[str, Any]]) -> str:
    """The figures as chapter 03f shows them."""
    others = f"{1797 - OTHERS} by other writers"
    head = [f"mean of {len(SEEDS)} seeds", "a random fifth", others, "seconds a training"]
    lines = [f"| {' | '.join(head)} |", "|---|---|---|---|"]
    for name, words in MODELS.items():
        seconds = statistics.median(row["seconds"] for row in rows if row["model"] == name)
        shares = " | ".join(f"{mean(rows, name, where):.1%}" for where in SPLITS)
        lines.append(f"| {words} | {shares} | {seconds:.0f} |")
    return "\n".join(lines)


def main() -> None:
    without_options(__doc__)
    rows = []
    for where in SPLITS:
        for name in MODELS:
            for seed in SEEDS:
                rows.append(run(name, where, seed))
                print(rows[-1], flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", encoding="utf-8")
    print(table(rows))
    print(f"wrote {RESULTS}; chapter 03f shows this table")


if __name__ == "__main__":
    main()
