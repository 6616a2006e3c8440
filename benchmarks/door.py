"""The opening of chapter 07a: how much of a number at the door comes back after others that are all noise?

    python -m benchmarks.door              # writes benchmarks/results/door.json; two minutes
    python -m benchmarks.door 100          # one of LENGTHS; the other stays

Networks, games and training are the lesson's. The recurrent network is tried as it comes and begun small,
at each of SCALES and RATES, from one seed. The best pair for a length is then run from SEEDS, and so is the
best rate of the network as it comes; the state space has one rate for all lengths. What is told is the
share of the number that is recovered, in 1,000 games that were not trained on. The pair is chosen by these
1,000, which favours its network.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks import trainings
from minilib.tensor import manual_seed

RESULTS = Path(__file__).parent / "results" / "door.json"
LENGTHS, TUNED_ON, SEEDS = ["20", "100"], 0, [1, 2, 3]
SCALES, RATES = [None, 0.1, 0.03, 0.01], [0.001, 0.003, 0.01, 0.03]  # None: as it comes
ONE_RATE = 0.05  # of the state space


def share(names: dict[str, Any], chosen: dict[str, Any], length: int, seed: int, steps: int = 300) -> float:
    """How much is recovered by this network, its inputs begun at this scale, trained at this rate."""
    manual_seed(seed)
    if chosen["network"] == "state space":
        model = names["Spaced"]()
    else:
        model = names["RNN"]() if chosen["scale"] is None else names["begun_small"](chosen["scale"])
    return round(float(names["trained"](model, length, chosen["rate"], steps)[1]), 4)


def run(name: str, keep: Path | None) -> trainings.Row:
    """All networks at one length."""
    del keep  # there is no checkpoint
    names, length = trainings.milestone("07a"), int(name)
    begun, processor = time.perf_counter(), time.process_time()
    tried: list[dict[str, Any]] = []
    for scale in SCALES:
        for rate in RATES:
            kind = "as it comes" if scale is None else "tuned"
            tried.append({"network": kind, "scale": scale, "rate": rate})
            tried[-1]["share"] = share(names, tried[-1], length, TUNED_ON)
            print(name, tried[-1], flush=True)
    best = [
        max((one for one in tried if one["network"] == kind), key=lambda one: one["share"])
        for kind in ("as it comes", "tuned")
    ]
    chosen = [
        *({key: one[key] for key in ("network", "scale", "rate")} for one in best),
        {"network": "state space", "scale": None, "rate": ONE_RATE},
    ]
    rows = [one | {"shares": [share(names, one, length, seed) for seed in SEEDS]} for one in chosen]
    return {
        "length": name,
        "seconds": time.perf_counter() - begun,
        "cpu_seconds": time.process_time() - processor,
        "tried": tried,
        "figures": {row["network"]: row for row in rows},
    }


if __name__ == "__main__":
    trainings.main(__doc__, RESULTS, "length", LENGTHS, run)
