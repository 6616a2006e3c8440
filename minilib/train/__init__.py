"""Training: losses as sums and counts, shards, a Trainer with callbacks, exact checkpoints.

Each file lists in its `__all__` what is re-exported here; a name stands in one list.
"""

from __future__ import annotations

from minilib.nn import evaluating
from minilib.train import callbacks, checkpoint, shards, trainer
from minilib.train.callbacks import *  # noqa: F403
from minilib.train.checkpoint import *  # noqa: F403
from minilib.train.shards import *  # noqa: F403
from minilib.train.trainer import *  # noqa: F403

__all__ = ["evaluating"]
__all__ += callbacks.__all__
__all__ += checkpoint.__all__
__all__ += shards.__all__
__all__ += trainer.__all__
