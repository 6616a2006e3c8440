"""One random kernel in the simulator and in the oracle: where they differ, and the shortest kernel that does.

`python simulator/tests/helpers/agreement.py SEED` shows that kernel, of the generation that the tests run
for the seed; `--first`, `--second`, `--third` and `--fourth` name another one.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from oracle import Kernel, OracleError, load
from random_kernels import FEATURES, RandomKernel, make, shrink, usual

from warplens import RawKernel, cp, simulate

SCHEDULES = ("lockstep", "forward", "reverse")


def on_device(args: Sequence[Any]) -> list[Any]:
    """The arrays among `args` as device arrays."""
    return [cp.asarray(a) if isinstance(a, np.ndarray) else a for a in args]


def on_host(args: Sequence[Any]) -> list[np.ndarray | None]:
    """What device arrays hold; None for scalars."""
    return [cp.asnumpy(a) if isinstance(a, cp.ndarray) else None for a in args]


@lru_cache(maxsize=2)
def compiled(source: str, name: str) -> RawKernel:
    """The kernel, made once for all schedules."""
    return RawKernel(source, name)


def simulated(random: RandomKernel, schedule: str) -> list[np.ndarray | None]:
    args = on_device(random.arguments())
    kernel = compiled(random.source, random.name)
    simulate(kernel, random.grid, random.block, args, shared_mem=random.shared_mem, schedule=schedule)
    return on_host(args)


def by_oracle(random: RandomKernel, kernel: Kernel) -> list[np.ndarray | None]:
    return kernel(random.grid, random.block, random.arguments(), random.shared_mem)


def difference(
    random: RandomKernel, got: list[np.ndarray | None], want: list[np.ndarray | None]
) -> str | None:
    """Where two runs differ, in words; None: nowhere."""
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        if a is None or b is None:
            continue
        with np.errstate(all="ignore"):
            close = (a == b) | ((a != a) & (b != b))
            if i in random.inexact:
                close |= np.isclose(a, b, rtol=1e-4, atol=1e-4)
        if not close.all():
            at = tuple(int(k) for k in np.argwhere(~close)[0])
            return f"argument {i} at {at}: {a[at]!r}, the oracle has {b[at]!r} ({(~close).sum()} differ)"
    return None


def failure(random: RandomKernel, schedules: Sequence[str] = SCHEDULES) -> str | None:
    """What is wrong with the simulator on this kernel, if the oracle can run it."""
    try:
        want = by_oracle(random, load(random.source, random.name))
    except OracleError:
        return None
    for schedule in schedules:
        try:
            found = difference(random, simulated(random, schedule), want)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        if found:
            return f"{schedule}: {found}"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--features", nargs="*", choices=FEATURES, help="instead of those of the tests")
    parser.add_argument("--tries", type=int, default=300)
    options = parser.parse_args()
    random = usual(options.seed) if options.features is None else make(options.seed, *options.features)
    first = failure(random)
    if first is None:
        print("no difference")
        return
    schedule, _, message = first.partition(": ")
    kind = message.split(":")[0] if message.split(":")[0].isidentifier() else "argument"

    def fails(candidate: RandomKernel) -> bool:
        return (failure(candidate, [schedule]) or "").partition(": ")[2].startswith(kind)

    small = shrink(random, fails, options.tries)
    print(small.source, f"grid {small.grid}, block {small.block}", failure(small, [schedule]), sep="\n")


if __name__ == "__main__":
    main()
