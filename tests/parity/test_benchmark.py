"""What `benchmarks/tensor.py` and `benchmarks/gpt.py` measure is the same computation in both libraries."""

from __future__ import annotations

import pytest

from benchmarks import gpt, sidebyside, tensor
from parity.peer import torch

CASES = [(suite, case) for suite in (tensor.SUITE, gpt.SUITE) for case in suite.cases]
LONG = {"dropout", "memory", "token", "tuned"}  # the seconds of a day go to the others


def results(suite: sidebyside.Suite, case: sidebyside.Case, library: str) -> list[list[float]]:
    """What the first two calls return: the second one sees what the first one's step did."""
    loaded = suite.libraries[library](torch.get_num_threads())
    call = case.setup(loaded)
    return [sidebyside.summary(loaded.numpy(call())) for _ in range(2)]


@pytest.mark.parametrize(
    ("suite", "case"),
    [
        pytest.param(suite, case, id=case.name, marks=[pytest.mark.nightly] if case.name in LONG else [])
        for suite, case in CASES
    ],
)
def test_both_libraries_compute_the_same(suite: sidebyside.Suite, case: sidebyside.Case) -> None:
    ours, theirs = (results(suite, case, library) for library in ("minilib", "torch"))
    sidebyside.compare(case, ours, theirs)
