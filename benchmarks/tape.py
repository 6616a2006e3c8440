"""Where a training step of a GPT goes: how much of it is arithmetic, and how much the tape that records it.

    python -m benchmarks.tape        # writes benchmarks/results/tape.json

The step of benchmarks/gpt.py (gpt-micro, 16 x 128 tokens) in one thread. Each operation's forward and
backward are timed, and the optimiser's step and clipping; what is left is the tape: making operations, the
order of backward, adding up gradients, the Trainer. Processor time, the median of 30 steps.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from timing import machine

from benchmarks import gpt
from minilib import optim
from minilib.engine import Function
from minilib.parallel import set_num_threads
from minilib.train import trainer

RESULTS = Path(__file__).parent / "results" / "tape.json"
STEPS, WARM_UPS = 30, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dropout", type=float, default=0.0)
    dropout = parser.parse_args().dropout
    set_num_threads(1)
    step = gpt.step(gpt.minilib(1), dropout)
    spent: dict[str, float] = defaultdict(float)
    time_operations(spent)
    rows = [one(step, spent) for _ in range(WARM_UPS + STEPS)][WARM_UPS:]
    shares = {name: statistics.median(row.get(name, 0.0) for row in rows) for name in rows[0]}
    found = {"machine": machine(), "dropout": dropout, "milliseconds": rounded(shares)}
    for name, share in found["milliseconds"].items():
        print(f"{name:<28}{share:8.2f} ms{share / found['milliseconds']['whole step']:8.1%}")
    if not dropout:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def one(step: Callable[[], Any], spent: dict[str, float]) -> dict[str, float]:
    """Seconds of one step by what they went into."""
    spent.clear()
    start = time.process_time()
    step()
    whole = time.process_time() - start
    return {"whole step": whole, "tape": whole - sum(spent.values()), **spent}


def time_operations(spent: dict[str, float]) -> None:
    """From here on each operation, the optimiser and clipping add their time to `spent`."""
    for operation in operations(Function):
        for direction in ("forward", "backward"):
            if direction in vars(operation):
                timed(operation, direction, f"{operation.__name__}.{direction}", spent)
    timed(optim.Optimizer, "step", "AdamW", spent)
    timed(trainer, "clip_grad_norm_", "clipping", spent)


def timed(owner: Any, name: str, title: str, spent: dict[str, float]) -> None:
    function = getattr(owner, name)

    def call(*args: Any, **options: Any) -> Any:
        start = time.process_time()
        result = function(*args, **options)
        spent[title] += time.process_time() - start
        return result

    setattr(owner, name, call)


def operations(kind: type[Function]) -> Iterator[type[Function]]:
    """All kinds of operation that there are."""
    for below in kind.__subclasses__():
        yield below
        yield from operations(below)


def rounded(shares: dict[str, float]) -> dict[str, float]:
    """Milliseconds, the most first."""
    return {name: round(1000 * s, 3) for name, s in sorted(shares.items(), key=lambda item: -item[1])}


if __name__ == "__main__":
    main()
