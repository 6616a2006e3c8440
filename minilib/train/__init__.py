"""Training: losses as sums and counts, shards, a Trainer with callbacks, exact checkpoints."""

from __future__ import annotations

from minilib.nn import evaluating
from minilib.train.callbacks import (
    Callback,
    EarlyStopping,
    Lines,
    LivePlot,
    ProgressBar,
    Validation,
    default_callbacks,
    in_notebook,
    loss_figure,
)
from minilib.train.checkpoint import (
    FIELDS,
    FORMAT,
    SEAL,
    TENSOR,
    Checkpoint,
    CheckpointError,
    read_checkpoint,
    sealed,
    unsealed,
)
from minilib.train.shards import (
    Batch,
    Key,
    Loss,
    ProcessShards,
    Share,
    ThreadShards,
    averaged,
    cut,
    first_tensor,
    gradients,
    parts,
    shared,
)
from minilib.train.trainer import (
    Loader,
    Trainer,
    accuracy,
    classification,
    interrupted_later,
    no_overflow_warnings,
    regression,
)

__all__ = [  # noqa: RUF022 (as they stand in the files above)
    "Callback", "EarlyStopping", "Lines", "LivePlot", "ProgressBar", "Validation", "default_callbacks",
    "in_notebook", "loss_figure",
    "Checkpoint", "CheckpointError", "FIELDS", "FORMAT", "SEAL", "TENSOR", "read_checkpoint", "sealed",
    "unsealed",
    "Batch", "Key", "Loss", "ProcessShards", "Share", "ThreadShards", "averaged", "cut", "first_tensor",
    "gradients", "parts", "shared",
    "Loader", "Trainer", "accuracy", "classification", "evaluating", "interrupted_later",
    "no_overflow_warnings", "regression",
]  # fmt: skip
