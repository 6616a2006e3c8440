"""Handwritten digits: two networks, five seeds each, and what the larger one loses without each of its parts.

    python -m benchmarks.digits            # writes benchmarks/results/digits.json; about 10 minutes

"random" is scikit-learn's stratified split with seed 0, a fifth held out; "check" holds out a fifth of the
rest, by the same split again; "writers" holds out the last three of the forms that were filled in. Widths,
rates and epochs were once chosen with the random fifth in view, which flatters that column a little. One
thread, so that the seconds mean the same everywhere. They are null where the machine was busy.
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
SPLITS = ("check", "random", "writers")
OTHERS = 1415  # where the last three forms begin: on each the labels start anew with 0 to 9, three times
MODELS = {
    "mlp": "MLP: 64, 512, 512, 10 units, dropout 0.4, 100 epochs",
    "cnn": "CNN: 32, 32, 64 channels, batch norm, shifts by a pixel, 30 epochs",
}
# The same CNN, less one thing; only asked about the digits by which one may choose.
WITHOUT = {
    "shifts": "without shifts",
    "norm": "without batch norm",
    "all": "without either, nor dropout, weight decay and schedule",
}


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(),
        *(nn.Linear(64, 512), nn.ReLU(), nn.Dropout(0.4)),
        *(nn.Linear(512, 512), nn.ReLU(), nn.Dropout(0.4)),
        nn.Linear(512, 10),
    )


def cnn(norm: bool = True, dropout: float = 0.3) -> nn.Module:
    def window(inputs: int, outputs: int) -> list[nn.Module]:
        conv: list[nn.Module] = [nn.Conv2d(inputs, outputs, 3, padding=1)]
        return [*conv, nn.BatchNorm2d(outputs), nn.ReLU()] if norm else [*conv, nn.ReLU()]

    return nn.Sequential(
        *window(1, 32),
        *(*window(32, 32), nn.MaxPool2d(2)),
        *(*window(32, 64), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Dropout(dropout), nn.Linear(256, 128), nn.ReLU(), nn.Dropout(dropout)),
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
        if name == "check":
            kept, held = train_test_split(kept, test_size=0.2, stratify=labels[kept], random_state=0)
    return TensorDataset(*data[kept]), TensorDataset(*data[held])


def run(name: str, where: str, seed: int, less: str = "") -> dict[str, Any]:
    """One training, `less` one of WITHOUT: accuracy on what was held out, and seconds."""
    train, test = split(where)
    start = time.perf_counter()
    manual_seed(seed)
    bare = less == "all"
    model = mlp() if name == "mlp" else cnn(norm=less != "norm" and not bare, dropout=0.0 if bare else 0.3)
    epochs, decay, transform = (100, 0.05, None) if name == "mlp" else (30, 0.01, shifted)
    transform, decay = None if bare or less == "shifts" else transform, 0.0 if bare else decay
    loader = DataLoader(train, 64, shuffle=True, generator=Generator(seed), transform=transform)
    optimizer = optim.AdamW(model.parameters(), lr=2e-3, weight_decay=decay)
    schedule = optim.WarmupCosine(optimizer, 50, epochs * len(loader)) if not bare else None
    Trainer(model, optimizer, loader, scheduler=schedule, callbacks=[], seed=seed).fit(epochs=epochs)
    seconds = time.perf_counter() - start
    right = accuracy(model, DataLoader(test, 512))
    made = f"{name} without {less}" if less else name
    return {"model": made, "split": where, "seed": seed, "accuracy": right, "seconds": round(seconds, 1)}


def shares(rows: list[dict[str, Any]], name: str, where: str) -> list[float]:
    """The accuracy of one network on one split, by seed."""
    return [row["accuracy"] for row in rows if (row["model"], row["split"]) == (name, where)]


def told(rows: list[dict[str, Any]], name: str, where: str) -> str:
    """Mean, least and most: "99.3% (99.0 to 99.7)"."""
    found = shares(rows, name, where)
    return f"{statistics.mean(found):.1%} ({100 * min(found):.1f} to {100 * max(found):.1f})"


def table(rows: list[dict[str, Any]]) -> str:
    """The figures as chapter 03f shows them."""
    held = ["the 288 to choose by", "the 360 to measure by", f"{1797 - OTHERS} by other writers"]
    lines = [f"| {' | '.join(['five seeds', *held, 'seconds'])} |", "|---|---|---|---|---|"]
    for name, words in MODELS.items():
        seconds = statistics.median(row["seconds"] for row in rows if row["model"] == name and row["seconds"])
        cells = " | ".join(told(rows, name, where) for where in SPLITS)
        lines.append(f"| {words} | {cells} | {seconds:.0f} |")
    return "\n".join(lines)


def parts_table(rows: list[dict[str, Any]]) -> str:
    """What the CNN loses without each of its parts, as chapter 03f shows it."""
    lines = ["| the CNN | of the 288 digits |", "|---|---|", f"| whole | {told(rows, 'cnn', 'check')} |"]
    lines += [
        f"| {words} | {told(rows, f'cnn without {less}', 'check')} |" for less, words in WITHOUT.items()
    ]
    return "\n".join(lines)


def main() -> None:
    without_options(__doc__)
    plan = [(name, where, "") for where in SPLITS for name in MODELS]
    plan += [("cnn", "check", less) for less in WITHOUT]
    rows = []
    for name, where, less in plan:
        for seed in SEEDS:
            rows.append(run(name, where, seed, less))
            print(rows[-1], flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", encoding="utf-8")
    print(table(rows), parts_table(rows), sep="\n\n")
    print(f"wrote {RESULTS}; chapter 03f shows these tables")


if __name__ == "__main__":
    main()
