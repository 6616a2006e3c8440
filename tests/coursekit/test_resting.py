"""What rests while an answer runs refuses, by whatever name it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from coursekit.box.resting import resting
from minilib import functional as F
from minilib.tensor import Tensor, apply

ONES = np.ones((2, 3))
TAKEN = F.attend  # before it rests


class Inherited(F.CausalConv):
    """What an answer makes of the finished class."""


@pytest.mark.parametrize(
    "action",
    [
        lambda: Tensor(ONES) + 1,
        lambda: F.scaled_dot_product_attention(*[Tensor(ONES)] * 3),
        lambda: TAKEN(ONES, ONES, ONES),
        lambda: Inherited().forward(np.ones((1, 2, 1)), np.ones((1, 1, 1))),
        lambda: apply(F.CausalConv(), Tensor(np.ones((1, 2, 1))), Tensor(np.ones((1, 1, 1)))),
        lambda: F.layer_norm(Tensor(ONES), (3,)),
    ],
)
def test_the_library_refuses_while_it_rests_and_works_afterwards(action: Callable[[], Any]) -> None:
    with resting("functional", "tensor.core.apply"), pytest.raises(RuntimeError, match="rests here"):
        action()
    action()


def test_what_does_not_rest_works() -> None:
    with resting("functional.layers", "no.such.module"):
        assert F.row_max(ONES).shape == (2, 1)
        assert float((Tensor(ONES) * 2).sum().item()) == 12
