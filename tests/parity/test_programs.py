"""Random programs have PyTorch's values, gradients and refusals; parity/programs.py runs 10,000 of them."""

from __future__ import annotations

import numpy as np
import pytest

from minilib import tensor as lib
from parity.peer import torch
from parity.programs import compared, verdict


@pytest.mark.filterwarnings("ignore:.*expanded tensors", "ignore:overflow")
def test_random_programs_end_alike() -> None:
    ended, different = compared(700, 5, lib, torch)
    assert not different
    assert ended["same"] > 500


def test_a_difference_is_seen() -> None:
    numbers, others = ([None], [np.array(0.5)]), ([None], [np.array(0.25)])
    assert verdict(numbers, numbers) == "same"
    assert verdict(numbers, others).startswith("differs")
    assert verdict(([RuntimeError("no")], []), ([None], [])).startswith("differs: only ours")
    assert verdict(([None], []), ([RuntimeError("no")], [])).startswith("differs: only PyTorch")
