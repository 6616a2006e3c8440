"""What the cell below a "Your turn" says: right, or which mistake it is."""

# ruff: noqa: F401
# mypy: implicit-reexport

from coursekit.turns.arrays import (
    judge_add,
    judge_matmul,
    judge_note,
    judge_scatter,
    judge_sum_to,
    judge_walk,
)
from coursekit.turns.engine import judge_engine
from coursekit.turns.first_numbers import judge_first_weights
from coursekit.turns.losses import judge_both_ways, judge_norm_back
from coursekit.turns.modules import judge_found
from coursekit.turns.scalars import (
    judge_backward,
    judge_by_height,
    judge_plus,
    judge_slope,
    judge_training,
)
from coursekit.turns.steps import judge_adam_step, judge_roll
from coursekit.turns.training import judge_epoch
from coursekit.turns.windows import judge_give_back, judge_look
