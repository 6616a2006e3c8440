"""Checkpoints: all that a training is made of, in two files that are whole or not there."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minilib.tensor import Array, Tensor
from minilib.train.callbacks import Callback

if TYPE_CHECKING:
    from minilib.train.trainer import Trainer

__all__ = [
    "FIELDS",
    "FORMAT",
    "SEAL",
    "TENSOR",
    "Checkpoint",
    "CheckpointError",
    "read_checkpoint",
    "sealed",
    "unsealed",
]  # fmt: skip

FORMAT = "minilib checkpoint 2"


FIELDS = {
    "tensors", "sha256", "step", "epoch", "seed", "losses", "optimizer", "scheduler", "loader", "generator",
    "callbacks", "made_with",
}  # fmt: skip


SEAL = "sha256 of the rest"  # in the JSON, first


TENSOR = "in the tensors"  # in the JSON, {TENSOR: NAME} stands for a tensor


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be used, and why."""


class Checkpoint(Callback):
    """Save every `every` steps and at the end, unless that comes in the middle of a step.

    So it holds what the other callbacks have noted, and parameters that none of them has put back yet.
    """

    saves = True

    def __init__(self, path: str | Path, every: int = 100) -> None:
        self.path, self.every = Path(path), every

    def on_step(self, trainer: Trainer) -> None:
        if trainer.step % self.every == 0:
            trainer.save(self.path)

    def on_end(self, trainer: Trainer) -> None:
        if not trainer.amid:
            trainer.save(self.path)


# Files


def read_checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """The JSON and the tensors of a checkpoint. Raises CheckpointError where it is not whole."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_safetensors

    try:
        state = unsealed(path.read_bytes())
    except FileNotFoundError:
        raise CheckpointError(f"{path}: there is no such checkpoint") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: is damaged, or no checkpoint ({error})") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        found = state.get("format") if isinstance(state, dict) else None
        raise CheckpointError(f"{path}: is not a {FORMAT!r}, but {found!r}")
    if missing := FIELDS - state.keys():
        raise CheckpointError(f"{path}: lacks {', '.join(sorted(missing))}")
    beside = path.with_name(Path(str(state["tensors"])).name)
    try:
        data = beside.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{beside}: cannot be read ({error.strerror})") from None
    if hashlib.sha256(data).hexdigest() != state["sha256"]:
        raise CheckpointError(f"{beside}: truncated or changed: it is not what was saved")
    try:
        return state, from_safetensors(data)
    except SafetensorError as error:
        raise CheckpointError(f"{beside}: is no safetensors file ({error})") from None


def _as_json(path: str | Path) -> Path:
    path = Path(path)
    if path.suffix in (".pt", ".pth", ".ckpt", ".safetensors"):
        told = f"a checkpoint is two files, {path.name}.json and the tensors beside it; call it {path.stem!r}"
        warnings.warn(told, stacklevel=3)
    return path if path.suffix == ".json" else path.with_name(path.name + ".json")


def sealed(state: Mapping[str, Any]) -> bytes:
    """The JSON of a checkpoint, with a hash of itself: `unsealed` finds each number that is another."""
    text = _text(state)
    return _text({SEAL: hashlib.sha256(text.encode()).hexdigest(), **json.loads(text)}).encode()


def unsealed(data: bytes) -> Any:
    """What `sealed` was given, as JSON has it. Raises ValueError where something in it has changed."""
    state = json.loads(data)
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        return state  # for whoever asks for another format
    seal = state.pop(SEAL, None)
    if hashlib.sha256(_text(state).encode()).hexdigest() != seal:
        raise ValueError("it is not what was saved")
    return state


def _text(state: Mapping[str, Any]) -> str:
    return json.dumps(state, indent=1, default=lambda number: number.item())


def _replace(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    unfinished = path.with_name(path.name + ".part")
    with open(unfinished, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())  # else a power cut may leave the new name with an empty file
    os.replace(unfinished, path)  # atomic on one file system


def _named_by(path: Path) -> Path | None:
    """The file of tensors that the checkpoint at `path`, if there is one, belongs to."""
    try:
        return path.with_name(Path(str(json.loads(path.read_bytes())["tensors"])).name)
    except (OSError, ValueError, KeyError, TypeError):
        return None


# Nested state as JSON and arrays


def _apart(value: Any, name: str, tensors: dict[str, Array]) -> Any:
    """A value as JSON can hold it: a tensor in it goes to `tensors` and leaves its name."""
    if isinstance(value, Tensor):
        tensors[name] = np.asarray(value.data, order="C")
        return {TENSOR: name}
    if isinstance(value, Mapping):
        return {key: _apart(one, f"{name}.{key}", tensors) for key, one in value.items()}
    return value


def _together(value: Any, tensors: dict[str, Array]) -> Any:
    """What `_apart` was given."""
    if not isinstance(value, dict):
        return value
    if value.keys() == {TENSOR}:
        return Tensor(tensors[value[TENSOR]])
    return {key: _together(one, tensors) for key, one in value.items()}


def _optimizer_state(saved: dict[str, Any], tensors: dict[str, Array]) -> dict[str, Any]:
    """The optimiser's state_dict, put together again from JSON and tensors."""
    state: dict[int, dict[str, Any]] = {int(i): dict(values) for i, values in saved["numbers"].items()}
    for name, array in tensors.items():
        if name.startswith("optimizer."):
            _, i, key = name.split(".", 2)
            state.setdefault(int(i), {})[key] = array
    return {"state": state, "param_groups": saved["groups"]}
