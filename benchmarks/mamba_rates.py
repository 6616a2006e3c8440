"""The race of chapter 07c, with and without selection: does its rate, or its seed, favour one of them?

    python -m benchmarks.mamba_rates       # writes benchmarks/results/mamba_rates.json; a few minutes

Networks, schedule and sequences are the lesson's; the seed is that of the first weights. `right` is the
fraction of the letters of 1,024 held-out texts. `behind`, where tokens decide on the lengths of their steps,
says how many tokens behind a letter they are longest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from timing import machine

from benchmarks.trainings import without_options
from coursekit.pictures import steps_of
from minilib.data import selective_copying
from minilib.mamba import Mamba, MambaConfig
from minilib.optim import clip_grad_norm_
from minilib.parallel import memory_kept
from minilib.projects.remember import FixedMamba
from minilib.tensor import manual_seed, no_grad

RESULTS = Path(__file__).parent / "results" / "mamba_rates.json"
KINDS = {"selective": Mamba, "fixed": FixedMamba}
RATES, SEEDS, STEPS = [0.003, 0.01, 0.02, 0.05], [0, 1, 2], 300
LENGTH, MEMORY, TOKENS = 24, 3, 8


def run(kind: str, rate: float, seed: int, steps: int = STEPS) -> dict[str, Any]:
    """One network, trained as in the lesson."""
    manual_seed(seed)
    model = KINDS[kind](MambaConfig(64, 1, 10, d_state=8))
    optimizer = model.configure_optimizers(rate, weight_decay=0.0)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * (1 - 0.95 * step / steps)
        model.zero_grad()
        model.loss(*selective_copying(32, LENGTH, MEMORY, TOKENS, seed=(2, step))).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    ids, answers = selective_copying(1024, LENGTH, MEMORY, TOKENS, seed=1)
    with no_grad():
        said = model(ids).numpy()[:, LENGTH:].argmax(axis=2)
        row = {"kind": kind, "rate": rate, "seed": seed}
        row["right"] = round(float((said == answers.numpy()[:, LENGTH:]).mean()), 4)
        return row | ({"behind": behind(model, ids)} if kind == "selective" else {})


def behind(model: Any, ids: Any) -> int:
    """How many tokens behind a letter steps are longest: mean over channels (geometric) and over letters."""
    with np.errstate(divide="ignore"):  # a step of 0 has a mean of 0
        lengths = np.exp(np.log(steps_of(model, ids)).mean(2))
    texts, places = np.nonzero((ids.numpy() > 0) & (ids.numpy() <= TOKENS))
    by_lag = []
    for lag in range(6):
        inside = places + lag < LENGTH
        by_lag.append(lengths[texts[inside], places[inside] + lag].mean())
    return int(np.argmax(by_lag))


def main() -> None:
    without_options(__doc__)
    rows = []
    with memory_kept():
        for seed in SEEDS:
            for kind in KINDS:
                for rate in RATES:
                    rows.append(run(kind, rate, seed))
                    print(rows[-1], flush=True)
    text = json.dumps({"machine": machine(), "steps": STEPS, "rows": rows}, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
