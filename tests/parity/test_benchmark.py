"""What `benchmarks/tensor.py` measures is the same computation in both libraries."""

from __future__ import annotations

import pytest

from benchmarks import sidebyside
from benchmarks.tensor import SUITE
from parity.peer import torch


def results(case: sidebyside.Case, library: str) -> list[list[float]]:
    """What the first two calls return: the second one sees what the first one's step did."""
    loaded = SUITE.libraries[library](torch.get_num_threads())
    call = case.setup(loaded)
    return [sidebyside.summary(loaded.numpy(call())) for _ in range(2)]


@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: case.name)
def test_both_libraries_compute_the_same(case: sidebyside.Case) -> None:
    theirs = results(case, "torch")
    try:
        ours = results(case, "minilib")
    except ModuleNotFoundError as error:  # chapters 02 and 03 are being written: until then, what there is
        pytest.skip(f"minilib does not have it yet: {error}")
    sidebyside.compare(case, ours, theirs)
