"""One training step of the two moons: minilib.scalar beside micrograd, the same graph, one process each.

    python -m benchmarks.scalar            # writes benchmarks/results/scalar.json

"as used" is a step with the garbage collector as Python sets it up, "collector off" one without it. The fused
row is another graph: each neuron's weighted sum is one node.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import time
from pathlib import Path

from timing import machine

from benchmarks.sidebyside import in_turn, spawn

RESULTS = Path(__file__).parent / "results" / "scalar.json"
STEPS = 8
ROUNDS = 5
LIBRARIES = {
    "micrograd": "micrograd",
    "minilib": "`minilib.scalar`, the same graph",
    "fused": "`minilib.scalar`, one node for each neuron's sum",
}


def step_times(library: str, collector: bool) -> list[float]:
    """Seconds of each of STEPS training steps of micrograd's demo, in this process."""
    import numpy as np
    from sklearn.datasets import make_moons

    if library == "micrograd":
        from micrograd.engine import Value
        from micrograd.nn import MLP
    else:
        from minilib.scalar import MLP, Value

    np.random.seed(1337)
    random.seed(1337)
    X, y = make_moons(n_samples=100, noise=0.1)
    y = y * 2 - 1
    model = MLP(2, [16, 16, 1])
    if library == "fused":
        fuse(model)

    def step(k: int) -> float:
        inputs = [list(map(Value, row)) for row in X]
        scores = list(map(model, inputs))
        losses = [(1 + -yi * score).relu() for yi, score in zip(y, scores)]
        total = sum(losses) * (1.0 / len(losses)) + 1e-4 * sum(p * p for p in model.parameters())
        model.zero_grad()
        total.backward()
        for p in model.parameters():
            p.data -= (1.0 - 0.9 * k / 100) * p.grad
        return float(total.data)

    if not collector:
        gc.disable()
    seconds = []
    for k in range(STEPS):
        start = time.perf_counter()
        loss = step(k)
        seconds.append(time.perf_counter() - start)
        if not collector:
            gc.collect()  # between the steps, so that micrograd's cycles do not fill the memory
        if k == 0:
            assert abs(loss - 0.8958441028683222) < 1e-12, loss
    return seconds[1:]  # the first one warms up


def fuse(model):
    """Replace each neuron's products and sums by one `weighted_sum`."""
    from minilib.scalar import Neuron, weighted_sum

    class FusedNeuron(Neuron):
        def __call__(self, x):
            act = weighted_sum(self.w, x, self.b)
            return act.relu() if self.nonlin else act

    for layer in model.layers:
        for neuron in layer.neurons:
            neuron.__class__ = FusedNeuron


def measure(library: str, collector: bool) -> float:
    """Median seconds a step, from a process of its own."""
    options = [] if collector else ["--no-gc"]
    return statistics.median(spawn("benchmarks.scalar", "--child", library, *options))


def collect() -> list[dict[str, str | float]]:
    """A row for each library, with the collector as used and off: medians over ROUNDS."""
    cases = [(library, collector) for collector in (True, False) for library in LIBRARIES]
    times = in_turn(cases, ROUNDS, lambda case: measure(*case))
    rows = []
    for library, collector in cases:
        mine, peer = times[library, collector], times["micrograd", collector]
        rows.append(
            {
                "library": library,
                "collector": "as used" if collector else "off",
                "milliseconds": round(1000 * statistics.median(mine), 1),
                "times_faster": round(statistics.median(b / a for a, b in zip(mine, peer)), 1),
            }
        )
    return rows


def table(rows: list[dict[str, str | float]]) -> str:
    """The figures as benchmarks/README.md shows them; chapter 01 tells the first two."""
    lines = ["| one step of the two moons | as used | garbage collector off |", "|---|---|---|"]
    for library, name in LIBRARIES.items():
        cells = [
            f"{row['milliseconds']:.0f} ms"
            + (f", {row['times_faster']} times faster" if library != "micrograd" else "")
            for row in rows
            if row["library"] == library
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--child", choices=LIBRARIES, help=argparse.SUPPRESS)
    parser.add_argument("--no-gc", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(step_times(args.child, not args.no_gc)))
        return
    rows = collect()
    RESULTS.parent.mkdir(exist_ok=True)
    data = {"machine": machine(), "rounds": ROUNDS, "steps": STEPS - 1, "rows": rows}
    RESULTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(table(rows))
    print(f"wrote {RESULTS}; benchmarks/README.md shows this table, chapter 01 two of its figures")


if __name__ == "__main__":
    main()
