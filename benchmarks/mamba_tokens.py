"""One more token behind 1 to 16,384 others: its time, and what is kept for it, by a Mamba and by a GPT.

    python -m benchmarks.mamba_tokens    # writes benchmarks/results/mamba_tokens.json

Both models are those of chapter 07d, untrained, with as many parameters but for the GPT's places. Times are
the shortest of REPEATS, in seconds of the processor with one thread; the models take turns.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from timing import machine

from minilib.gpt import GPT, GPTConfig
from minilib.mamba import Mamba, MambaConfig
from minilib.parallel import set_num_threads
from minilib.tensor import Tensor, manual_seed, no_grad

RESULTS = Path(__file__).parent / "results" / "mamba_tokens.json"
LENGTHS = [1, 4, 16, 64, 256, 1024, 4096, 16384]
WIDTH, REPEATS = 128, 25


def asked(gpt: GPT, mamba: Mamba, length: int) -> tuple[list[Callable[[], object]], list[int]]:
    """A token behind `length` - 1 others in both, and the bytes that each keeps then."""
    caches, state, token = gpt.new_caches(), mamba.init_state(1), Tensor([[3]])
    for cache in caches:
        cache.extend(*(Tensor(np.zeros((1, length, WIDTH), np.float32)) for _ in "kv"))

    def ask_gpt() -> None:
        for cache in caches:
            cache.length = length - 1
        gpt(token, caches=caches)

    kept = sum(cache.k[:, :length].nbytes + cache.v[:, :length].nbytes for cache in caches)
    return [ask_gpt, lambda: mamba.step(token[:, 0], state)], [kept, state.nbytes]


def fastest(calls: list[Callable[[], object]]) -> list[float]:
    """The shortest time of each, in seconds of the processor; they take turns."""
    ticks: list[list[float]] = [[] for _ in calls]
    for _ in range(REPEATS):
        for call, taken in zip(calls, ticks):
            start = time.process_time()
            call()
            taken.append(time.process_time() - start)
    return [min(taken) for taken in ticks]


def main() -> None:
    set_num_threads(1)
    manual_seed(0)
    gpt = GPT(GPTConfig(16, LENGTHS[-1], n_layer=2, n_head=4, n_embd=WIDTH)).eval()
    mamba = Mamba(MambaConfig(WIDTH, 4, 16))
    rows = []
    with no_grad():
        for length in LENGTHS:
            calls, kept = asked(gpt, mamba, length)
            times = [float(f"{taken:.3g}") for taken in fastest(calls)]
            rows.append({"tokens": length, "seconds": times, "bytes": kept})
            ms = ", ".join(f"{1e3 * taken:.2f} ms" for taken in times)
            print(f"{length:6,} tokens: GPT, Mamba {ms}; {kept} bytes")
    found = {"machine": machine(), "models": ["GPT", "Mamba"], "rows": rows}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {RESULTS}")


if __name__ == "__main__":
    main()
