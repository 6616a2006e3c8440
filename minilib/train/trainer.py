"""The Trainer: steps on batches, by losses that are sums and counts.

Taught in solutions/03f_training.ipynb: what it exports is edited there, then `make promote`.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import platform
import signal
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from minilib import functional as F
from minilib.nn import Module, evaluating
from minilib.optim import LRScheduler, Optimizer, clip_grad_norm_
from minilib.parallel import memory_kept
from minilib.tensor import Array, Tensor, default_generator
from minilib.train.callbacks import Callback, with_display
from minilib.train.checkpoint import (
    FORMAT,
    CheckpointError,
    _apart,
    _as_json,
    _named_by,
    _optimizer_state,
    _replace,
    _together,
    read_checkpoint,
    sealed,
)
from minilib.train.shards import Batch, Loss, ProcessShards, ThreadShards, averaged, first_tensor, parts

__all__ = [
    "Loader", "Trainer", "accuracy", "classification", "interrupted_later", "no_overflow_warnings",
    "regression",
]  # fmt: skip

# Losses as sums and counts


def classification(model: Module, batch: Batch) -> tuple[Tensor, int]:
    """The sum of the cross-entropies of a batch (inputs, targets), and how many count: not -100."""
    inputs, targets = batch
    return F.cross_entropy(model(inputs), targets, reduction="sum"), int((targets != -100).sum().item())


def regression(model: Module, batch: Batch) -> tuple[Tensor, int]:
    """The sum of the squared errors of a batch (inputs, targets), and how many numbers they are of."""
    inputs, targets = batch
    return F.mse_loss(model(inputs), targets, reduction="sum"), targets.numel()


def accuracy(model: Module, loader: Iterable[Batch]) -> float:
    """The fraction of targets that equal the class with the largest score; -100 is missing, not counted."""
    right = total = 0
    with evaluating(model):
        for inputs, targets in loader:
            right += int((model(inputs).argmax(-1) == targets).sum().item())
            total += int((targets != -100).sum().item())
    return right / max(total, 1)


# The Trainer


class Loader(Protocol):
    """What a Trainer asks of a loader: batches, their number, and where it stands, as DataLoader does."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Batch]: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...


class Trainer:
    """Trains `model` on the batches of `loader`, such as a DataLoader.

    `loss(model, batch)` returns a sum and a count, such as `classification`. With `shards` > 1 each batch is
    cut into that many parts, worked out at the same time by "threads" or "processes"; the gradients are those
    of the whole batch (not with batch norm: it is not synchronised). `clip`: the longest gradient allowed.
    `seed`: of dropout. `callbacks` are told what happens, beside a display of how it goes, unless one of them
    displays it; an empty list is silent, and so is `display=False`.
    """

    def __init__(
        self, model: Module, optimizer: Optimizer, loader: Loader, loss: Loss = classification,
        scheduler: LRScheduler | None = None, callbacks: Sequence[Callback] | None = None,
        clip: float | None = None, shards: int = 1, workers: str = "threads", seed: int = 0,
        display: bool = True,
    ) -> None:  # fmt: skip
        if shards < 1 or workers not in ("threads", "processes"):
            raise ValueError(f"shards must be >= 1, workers threads or processes, not {shards}, {workers!r}")
        self.model, self.optimizer, self.loader, self.loss_function = model, optimizer, loader, loss
        self.scheduler, self.clip, self.seed = scheduler, clip, seed
        self.shards, self.workers = shards, workers
        # Sorting is stable: those that save are told last, the others in their order.
        self.callbacks = sorted(with_display(callbacks, display), key=lambda one: one.saves)
        self.step, self.epoch, self.loss = 0, 0, math.nan
        self.total_steps: int | None = None
        self.losses: list[float] = []
        self.stopped = self.amid = False  # asked to stop; within a step
        self._shards: ThreadShards | ProcessShards | None = None
        self._place: dict[str, Any] = {"position": 0, "seed": 0}  # where the loader's next batch is

    # Training

    def fit(self, epochs: int | None = None, steps: int | None = None) -> Trainer:
        """Train until `epochs` epochs or `steps` steps are done in all, those before a resume included.

        Ctrl-C ends it after the step, and raises KeyboardInterrupt once all callbacks have ended; a second
        one ends it at once.
        """
        self.total_steps = self._goal(epochs, steps)
        self.model.train()
        self.stopped = self.amid = False
        self.loader.load_state_dict(self._place)
        try:
            self._shards = self._open_shards()
            with memory_kept(), no_overflow_warnings(), interrupted_later() as interrupts:
                self._tell("on_start")
                while self.step < self.total_steps and not self.stopped:
                    self._epoch(self.total_steps, interrupts)
        finally:
            if self._shards is not None:
                self._shards.close()
                self._shards = None
            self._tell("on_end")
        return self

    def _open_shards(self) -> ThreadShards | ProcessShards:
        self._check_optimizer()
        kind = ProcessShards if self.workers == "processes" and self.shards > 1 else ThreadShards
        return kind(self.shards, self.loss_function, self.model, self._trained())

    def _ready_shards(self) -> ThreadShards | ProcessShards:
        """Shards for what is learned now: new ones where that has changed since they were made."""
        if self._shards is None:  # a step outside of fit
            self._check_optimizer()
            return ThreadShards(1, self.loss_function, self.model, self._trained())
        if [*map(id, self._shards.params)] != [*map(id, self._trained())]:
            self._shards.close()
            self._shards = self._open_shards()
        return self._shards

    def _trained(self) -> list[Tensor]:
        return [p for p in self.model.parameters() if p.requires_grad]

    def _check_optimizer(self) -> None:
        """Raise ValueError where the optimizer learns another model's parameters in the place of this one's.

        It may leave some of the model's parameters out, or know more than all of them.
        """
        known = {p for group in self.optimizer.param_groups for p in group["params"]}
        own = set(self.model.parameters())
        left = [n for n, p in self.model.named_parameters() if p.requires_grad and p not in known]
        if left and known - own:
            more = f" and {len(left) - 1} more" if left[1:] else ""
            raise ValueError(
                f"the optimizer has {len(known - own)} parameters that are not the model's, and lacks "
                f"{left[0]}{more}: was the model, or a part of it, made anew? make the optimizer after it"
            )

    def _goal(self, epochs: int | None, steps: int | None) -> int:
        """The number of steps in all. Raises ValueError for what is no goal, TypeError as `_check_kinds`."""
        self._check_kinds()
        if (epochs is None) == (steps is None):
            raise ValueError("fit: give either epochs or steps")
        goal = steps if epochs is None else epochs
        if not isinstance(goal, int | np.integer) or goal < 0:
            raise ValueError(f"fit: epochs and steps are whole numbers from 0 on, not {goal!r}")
        if not len(self.loader):
            raise ValueError("fit: the loader has no batches; fewer items than batch_size, with drop_last?")
        steps_in_all = int(goal) * (1 if epochs is None else len(self.loader))
        if 0 < steps_in_all <= self.step:
            what = "steps" if epochs is None else "epochs"
            warnings.warn(
                f"fit: nothing to do: {what}={goal} counts from the beginning, and {self.epoch} epochs, "
                f"{self.step} steps, are done; ask for more in all",
                stacklevel=3,
            )
        return steps_in_all

    def _check_kinds(self) -> None:
        """Raise TypeError where model, optimizer and loader are not what their names say."""
        if isinstance(self.model, Optimizer) or not isinstance(self.optimizer, Optimizer):
            got = f"{type(self.model).__name__}, {type(self.optimizer).__name__}"
            raise TypeError(f"Trainer: needs (model, optimizer, loader), in this order, not ({got}, ...)")
        if not hasattr(self.loader, "load_state_dict"):
            raise TypeError(
                f"Trainer: the loader is a {type(self.loader).__name__}, which has no position: make a "
                "DataLoader(TensorDataset(inputs, targets), batch_size=64, shuffle=True)"
            )

    def _epoch(self, total_steps: int, interrupts: list[int]) -> None:
        """Steps on the batches that are left of an epoch, until it is time to stop."""
        for batch in self.loader:
            self.train_step(batch)
            place = self.loader.state_dict()
            self._place = {"position": place["position"], "seed": place["seed"]}
            ended = self._place["position"] == 0
            self.epoch += ended
            if ended:
                self._tell("on_epoch")
            self._tell("on_step")
            if interrupts:
                raise KeyboardInterrupt
            if self.step >= total_steps or self.stopped:
                break

    def train_step(self, batch: Batch) -> float:
        """One step on one batch: gradients, clipping, optimiser, schedule. Returns the mean loss."""
        self.amid = True
        pieces = parts(batch, self.shards)
        # For dropout's keys.
        firsts = itertools.accumulate((len(first_tensor(piece)) for piece in pieces), initial=0)
        shards = self._ready_shards()
        shares = shards.run([(piece, (self.seed, self.step, first)) for piece, first in zip(pieces, firsts)])
        loss = sum(share[0] for share in shares) / max(sum(share[1] for share in shares), 1)
        self._check_loss(loss)
        self.model.zero_grad()  # after the loss was checked: the message tells of the gradients before
        for p, grad in zip(shards.params, averaged(shares)):
            p.grad = None if grad is None else Tensor(grad)
        self._check_gradients()
        if self.clip is not None:
            clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()
        self.step, self.loss = self.step + 1, loss
        self.losses.append(loss)
        self.amid = False
        return loss

    def __repr__(self) -> str:
        of = f"of {self.total_steps} " if self.total_steps is not None else ""
        where = f"step {self.step} {of}in epoch {self.epoch}"
        return f"Trainer({type(self.model).__name__}: {where}, loss {self.loss:.4g})"

    def stop(self) -> None:
        """Ask `fit` to end after this step."""
        self.stopped = True

    @property
    def lr(self) -> float:
        """The learning rate of the first parameter group."""
        return float(self.optimizer.param_groups[0]["lr"])

    def _tell(self, event: str) -> None:
        for callback in reversed(self.callbacks) if event == "on_end" else self.callbacks:
            getattr(callback, event)(self)

    # Evaluation

    def evaluate(self, loader: Iterable[Batch]) -> float:
        """The mean loss over all targets in the batches of `loader`, in evaluation mode."""
        total, count = 0.0, 0
        with evaluating(self.model):
            for batch in loader:
                share, n = self.loss_function(self.model, batch)
                total, count = total + float(share.item()), count + n
        if not count:
            raise ValueError("evaluate: no targets, so no mean; is the loader empty, or a generator used up?")
        return total / count

    # What is not finite

    def _check_loss(self, loss: float) -> None:
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"the loss is {loss} at step {self.step} (learning rate {self.lr:.3g}); before it, "
                f"{self._largest_gradient()}; try a smaller learning rate, or clip=1.0"
            )

    def _check_gradients(self) -> None:
        for name, p in self.model.named_parameters():
            if (
                p.grad is not None
                # One pass and no array; only if the sum is bad, look at each.
                and not np.isfinite(p.grad.data.sum())
                and not np.isfinite(p.grad.data).all()
            ):
                raise FloatingPointError(
                    f"a gradient of {name} is not finite at step {self.step} (learning rate {self.lr:.3g}, "
                    f"loss {self.loss:.4g} before it); {self._largest_gradient()}"
                )

    def _largest_gradient(self) -> str:
        """Which parameter has the largest gradient, in words."""
        found = [
            (float(np.abs(p.grad.data).max()), name)
            for name, p in self.model.named_parameters()
            if p.grad is not None and p.grad.data.size
        ]
        found = [(size, name) for size, name in found if math.isfinite(size)]
        if not found:
            return "there was no finite gradient"
        return f"the largest gradient was {max(found)[0]:.3g}, in {max(found)[1]}"

    # Checkpoints

    def save(self, path: str | Path) -> Path:
        """Write PATH.json, and beside it the tensors: PATH-STEP.safetensors. Returns the JSON's path.

        The JSON file names the other and its hash and is put in place last, so that whatever happens in
        between, the checkpoint that was there stays good.
        """
        from safetensors.numpy import save as as_safetensors

        path = _as_json(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        tensors, numbers = self._remembered()
        data = as_safetensors(tensors)
        before, target = _named_by(path), path.with_name(f"{path.stem}-{self.step}.safetensors")
        if target == before:  # which has to stay until the new one is whole
            target = path.with_name(f"{path.stem}-{self.step}-again.safetensors")
        state = {
            "format": FORMAT,
            "tensors": target.name,
            "sha256": hashlib.sha256(data).hexdigest(),
            **numbers,
        }
        _replace(target, data)
        _replace(path, sealed(state))  # last: until now the old checkpoint is whole
        if before is not None:
            before.unlink(missing_ok=True)
        return path

    def _remembered(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """All that a training is made of: arrays by name, and what JSON can hold."""
        optimizer = self.optimizer.state_dict()
        tensors = {
            f"model.{name}": np.asarray(t.data, order="C") for name, t in self.model.state_dict().items()
        }
        numbers: dict[str, dict[str, Any]] = {}
        for i, values in optimizer["state"].items():
            for name, value in values.items():
                if isinstance(value, np.ndarray):
                    tensors[f"optimizer.{i}.{name}"] = np.asarray(value, order="C")
                else:
                    numbers.setdefault(str(i), {})[name] = value
        return tensors, {
            "step": self.step,
            "epoch": self.epoch,
            "seed": self.seed,
            "losses": self.losses,
            "optimizer": {"groups": optimizer["param_groups"], "numbers": numbers},
            "scheduler": self.scheduler.state_dict() if self.scheduler else None,
            "loader": {**self.loader.state_dict(), **self._place},
            "generator": default_generator.get_state(),
            "callbacks": self._of_callbacks(tensors),
            "made_with": self._circumstances(),
        }

    def _of_callbacks(self, tensors: dict[str, Array]) -> list[tuple[str, Any]]:
        """The kind and the state of each that has one; tensors in it go to `tensors`."""
        states = [(type(callback).__name__, callback.state_dict()) for callback in self._remembering()]
        return [(kind, _apart(state, f"callback.{i}", tensors)) for i, (kind, state) in enumerate(states)]

    def _remembering(self) -> list[Callback]:
        return [callback for callback in self.callbacks if callback.state_dict()]

    def _circumstances(self) -> dict[str, Any]:
        """What must be equal for a resumed run to equal an uninterrupted one bit for bit."""
        from threadpoolctl import threadpool_info

        threads = [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]
        return {
            "machine": platform.machine(), "python": platform.python_version(), "numpy": np.__version__,
            "shards": self.shards, "workers": self.workers, "blas_threads": threads[0] if threads else 0,
        }  # fmt: skip

    def load(self, path: str | Path) -> Trainer:
        """Go on where `save` was called: model, optimiser, schedule, loader, generators and callbacks.

        Raises CheckpointError, before anything is changed, for a file that is damaged, foreign, or of another
        model. Warns where NumPy, shards or threads differ: then a resumed run may differ in the last bits.
        """
        path = _as_json(path)
        state, tensors = read_checkpoint(path)
        self._take_over(path, state, tensors)
        self._place = {"position": state["loader"]["position"], "seed": state["loader"]["seed"]}
        self.step, self.epoch, self.seed = state["step"], state["epoch"], state["seed"]
        self.losses = list(state["losses"])
        self.loss = self.losses[-1] if self.losses else math.nan
        now, then = self._circumstances(), state["made_with"]
        differing = [
            f"{name} {then[name]} -> {now.get(name)}" for name in then if now.get(name) != then[name]
        ]
        if differing:
            warnings.warn(f"other circumstances, so not bit for bit: {', '.join(differing)}", stacklevel=2)
        return self

    def _take_over(self, path: Path, state: dict[str, Any], tensors: dict[str, Array]) -> None:
        """All that `state_dict`s gave goes back to where it came from, or CheckpointError and nothing."""
        if (self.scheduler is None) != (state["scheduler"] is None):
            raise CheckpointError(
                f"{path}: has a schedule of the learning rate and you have none, or vice versa"
            )
        callbacks = self._remembering()
        saved, here = [kind for kind, _ in state["callbacks"]], [type(one).__name__ for one in callbacks]
        if saved != here:
            raise CheckpointError(f"{path}: holds what the callbacks {saved} remember, and you have {here}")
        prefix = "model."
        model = {
            name.removeprefix(prefix): Tensor(a) for name, a in tensors.items() if name.startswith(prefix)
        }
        owners: list[Any] = [self.model, *callbacks, self.optimizer, self.loader]
        found = [
            model,
            *(_together(kept, tensors) for _, kept in state["callbacks"]),
            _optimizer_state(state["optimizer"], tensors),
            state["loader"],
        ]
        if self.scheduler is not None:
            owners, found = [*owners, self.scheduler], [*found, state["scheduler"]]
        before = [owner.state_dict() for owner in owners]
        before[0] = {name: tensor.clone() for name, tensor in before[0].items()}  # which is written into
        try:
            for owner, kept in zip(owners, found, strict=True):
                owner.load_state_dict(kept)
            default_generator.set_state(state["generator"])
        except Exception as error:
            for owner, kept in zip(owners, before):
                owner.load_state_dict(kept)
            raise CheckpointError(f"{path}: is of another model or optimiser: {error}") from None


# Interrupts and warnings


@contextmanager
def interrupted_later() -> Iterator[list[int]]:
    """Ctrl-C puts its number into the list; the second one raises KeyboardInterrupt.

    Where another handler than Python's own is in charge, nothing changes.
    """
    interrupts: list[int] = []

    def note(number: int, frame: Any) -> None:
        interrupts.append(number)
        if len(interrupts) > 1:
            raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupts
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def no_overflow_warnings() -> Iterator[None]:
    """NumPy's warnings of overflow stay unsaid, in all threads: the Trainer says it better."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* encountered in ", RuntimeWarning)
        yield
