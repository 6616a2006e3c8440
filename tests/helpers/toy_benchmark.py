"""A benchmark of two toy libraries: one needs three times as long and three times the memory of the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.sidebyside import Case, Suite, main

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Toy:
    name: str
    effort: int

    def numpy(self, result: Any) -> Any:
        return result


def sleep(toy: Toy) -> Callable[[], Any]:
    def call() -> Any:
        time.sleep(0.02 * toy.effort)
        return np.array(1.0)

    return call


def allocate(toy: Toy) -> Callable[[], Any]:
    np.ones(200 * MEGABYTE, np.int8)  # an earlier peak, which must not count
    return lambda: np.ones(20 * toy.effort * MEGABYTE, np.int8)[:1]


def disagree(toy: Toy) -> Callable[[], Any]:
    return lambda: np.array([1.0, toy.effort])


def fail(toy: Toy) -> Callable[[], Any]:
    raise SystemExit(f"{toy.name} cannot do this")


SUITE = Suite(
    module="tests.helpers.toy_benchmark",
    title="toys",
    libraries={"heavy": lambda threads: Toy("heavy", 3), "light": lambda threads: Toy("light", 1)},
    names={"heavy": "`heavy`", "light": "Light"},
    versions=("numpy",),
    cases=(
        Case("sleep", "ten naps", sleep, target=2.0, per=10),
        Case("allocate", "an array", allocate, target=4.0, memory=True),
        Case("disagree", "two answers", disagree),
        Case("fail", "none", fail),
    ),
)

if __name__ == "__main__":
    main(SUITE)
