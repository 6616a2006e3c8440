"""The reader of chapter 06b from nine starts, with one head and with two: does its seed favour it?

    python -m benchmarks.reader            # writes benchmarks/results/reader.json; two minutes

Sentences, network and training are the lesson's. `loss` is the mean of steps 91 to 100, `right` the share of
the pronouns understood in 500 sentences that were not trained on, after all 300 steps.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from timing import machine

from benchmarks.trainings import milestone, without_options

RESULTS = Path(__file__).parent / "results" / "reader.json"
HEADS, SEEDS = [1, 2], list(range(9))


def run(names: dict[str, Any], heads: int, seed: int, steps: int = 300) -> dict[str, Any]:
    """One reader, trained as in the lesson."""
    model, losses = names["trained"](heads, steps, seed)
    loss = round(float(np.mean(losses[90:100])), 4)
    return {"heads": heads, "seed": seed, "loss": loss, "right": round(float(names["share_right"](model)), 4)}


def main() -> None:
    without_options(__doc__)
    names, rows = milestone("06b", reward=True), []
    for seed in SEEDS:
        for heads in HEADS:
            rows.append(run(names, heads, seed))
            print(rows[-1], flush=True)
    text = json.dumps({"machine": machine(), "rows": rows}, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
