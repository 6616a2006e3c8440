"""Training: losses as sums and counts, shards, a Trainer with callbacks, exact checkpoints.

Promoted from chapters/03d_training.ipynb and solutions/03d_training.ipynb; edit there, then `make promote`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import mmap
import multiprocessing
import os
import platform
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from minilib import functional as F
from minilib.nn import Module
from minilib.optim import LRScheduler, Optimizer, clip_grad_norm_
from minilib.parallel import alone, one_blas_thread
from minilib.tensor import Array, Tensor, default_generator, mode, no_grad, propagate

# Sums and counts


Batch: TypeAlias = Any  # tensors, or tuples and dicts of tensors, whose axis 0 counts the samples
Loss: TypeAlias = Callable[[Module, Batch], tuple[Tensor, int]]
Key: TypeAlias = tuple[int, int, int]  # seed, step, number of the first sample; `keyed_dropout` counts layers
Share: TypeAlias = tuple[float, int, list[Array | None]]  # loss sum, count, gradient of each parameter


def classification(model: Module, batch: Batch) -> tuple[Tensor, int]:
    """The sum of the cross-entropies of a batch (inputs, targets), and how many count: not -100."""
    inputs, targets = batch
    return F.cross_entropy(model(inputs), targets, reduction="sum"), int((targets != -100).sum().item())


def regression(model: Module, batch: Batch) -> tuple[Tensor, int]:
    """The sum of the squared errors of a batch (inputs, targets), and how many numbers they are of."""
    inputs, targets = batch
    return F.mse_loss(model(inputs), targets, reduction="sum"), targets.numel()


@contextmanager
def evaluating(model: Module) -> Iterator[None]:
    """Evaluation mode without gradients; each module is put back into its own mode afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


# Shards


def gradients(loss: Loss, model: Module, batch: Batch, params: Sequence[Tensor], key: Key) -> Share:
    """Loss sum, count and the gradient of each parameter, whose own `grad` stays as it is.

    Dropout draws by `key`, so that a sample gets the same mask in whichever shard it is.
    """
    with F.keyed_dropout(*key):
        total, count = loss(model, batch)
    if total.function is None:
        raise RuntimeError("the loss does not depend on any parameter: is it under no_grad, or frozen?")
    found = propagate(total.function, np.ones_like(total.data))
    return float(total.item()), count, [found[p][0] if p in found else None for p in params]


def parts(batch: Batch, n: int) -> list[Batch]:
    """A batch cut along axis 0 into at most `n` parts that differ by one sample at most."""
    size = len(first_tensor(batch))
    cuts = [size * i // n for i in range(n + 1)]
    return [cut(batch, start, stop) for start, stop in itertools.pairwise(cuts) if stop > start]


def first_tensor(batch: Batch) -> Tensor:
    """A tensor of the batch, to count its samples by."""
    if isinstance(batch, Mapping):
        return first_tensor(next(iter(batch.values())))
    return first_tensor(batch[0]) if isinstance(batch, tuple | list) else batch


def cut(batch: Batch, start: int, stop: int) -> Batch:
    """The samples from `start` to `stop` of every tensor of the batch."""
    if isinstance(batch, Mapping):
        return {key: cut(value, start, stop) for key, value in batch.items()}
    if isinstance(batch, tuple | list):
        return tuple(cut(value, start, stop) for value in batch)
    return batch[start:stop]


class ThreadShards:
    """One thread for each part, since NumPy lets go of Python's lock. BLAS keeps to one thread each."""

    def __init__(self, n: int, loss: Loss, model: Module, params: Sequence[Tensor]) -> None:
        self.loss, self.model, self.params = loss, model, params
        self.pool = ThreadPoolExecutor(n) if n > 1 else None

    def run(self, work: Sequence[tuple[Batch, Key]]) -> list[Share]:
        """The share of each part, in order."""
        if self.pool is None:
            return [self._one(batch, key, mode.grad_enabled) for batch, key in work]
        with one_blas_thread():
            found = [self.pool.submit(self._alone, batch, key, mode.grad_enabled) for batch, key in work]
            return [future.result() for future in found]

    def _one(self, batch: Batch, key: Key, grad_enabled: bool) -> Share:
        mode.grad_enabled = grad_enabled  # each thread has its own
        return gradients(self.loss, self.model, batch, self.params, key)

    def _alone(self, batch: Batch, key: Key, grad_enabled: bool) -> Share:
        with alone():
            return self._one(batch, key, grad_enabled)

    def close(self) -> None:
        """End the threads."""
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)


# The Trainer


class Callback:
    """Something that is told how training goes. Override what you need."""

    remembers: tuple[str, ...] = ()  # attributes that belong into a checkpoint
    saves = False  # whether it makes checkpoints: then it is told after all others, at the end before them

    def on_start(self, trainer: Trainer) -> None:
        """Before the first step."""

    def on_step(self, trainer: Trainer) -> None:
        """After each step: `trainer.loss`, `trainer.step`, `trainer.lr`."""

    def on_epoch(self, trainer: Trainer) -> None:
        """After each epoch, before the `on_step` of its last step."""

    def on_end(self, trainer: Trainer) -> None:
        """At the end, also of a training that was interrupted; here the last callback is told first."""

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint must hold: numbers, text, lists of them, tensors, and dicts of all these."""
        return {name: getattr(self, name) for name in self.remembers}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        for name in self.remembers:
            setattr(self, name, state[name])


class Trainer:
    """Trains `model` on the batches of `loader`, such as a DataLoader.

    `loss(model, batch)` returns a sum and a count, such as `classification`. With `shards` > 1 each batch is
    cut into that many parts, worked out at the same time by "threads" or "processes"; the gradients are those
    of the whole batch (not with batch norm). `clip`: the longest gradient allowed. `seed`: of dropout.
    `callbacks` are told what happens; None chooses a display, an empty list is silent.
    """

    def __init__(
        self, model: Module, optimizer: Optimizer, loader: Loader, loss: Loss = classification,
        scheduler: LRScheduler | None = None, callbacks: Sequence[Callback] | None = None,
        clip: float | None = None, shards: int = 1, workers: str = "threads", seed: int = 0,
    ) -> None:  # fmt: skip
        if shards < 1 or workers not in ("threads", "processes"):
            raise ValueError(f"shards must be >= 1, workers threads or processes, not {shards}, {workers!r}")
        self.model, self.optimizer, self.loader, self.loss_function = model, optimizer, loader, loss
        self.scheduler, self.clip, self.seed = scheduler, clip, seed
        self.shards, self.workers = shards, workers
        callbacks = default_callbacks() if callbacks is None else callbacks
        self.callbacks = sorted(callbacks, key=lambda one: one.saves)
        self.step = self.epoch = 0
        self.total_steps: int | None = None
        self.loss = math.nan
        self.losses: list[float] = []
        self.stopped = self.amid = False  # asked to stop; within a step
        self._shards: ThreadShards | ProcessShards | None = None
        self._place: dict[str, Any] = {"position": 0, "seed": 0}  # where the loader's next batch is

    def train_step(self, batch: Batch) -> float:
        """One step on one batch: gradients, clipping, optimiser, schedule. Returns the mean loss."""
        self.amid = True
        pieces = parts(batch, self.shards)
        firsts = itertools.accumulate((len(first_tensor(piece)) for piece in pieces), initial=0)
        shards = self._shards or ThreadShards(1, self.loss_function, self.model, self._trained())
        shares = shards.run([(piece, (self.seed, self.step, first)) for piece, first in zip(pieces, firsts)])
        loss = sum(share[0] for share in shares) / max(sum(share[1] for share in shares), 1)
        self._check_loss(loss)
        for p, grad in zip(self._trained(), averaged(shares)):
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

    def fit(self, epochs: int | None = None, steps: int | None = None) -> Trainer:
        """Train until `epochs` epochs or `steps` steps are done in all, those before a resume included.

        Ctrl-C ends it after the step, and raises KeyboardInterrupt once all callbacks have ended; a second
        one ends it at once.
        """
        if (epochs is None) == (steps is None):
            raise ValueError("fit: give either epochs or steps")
        if not len(self.loader):
            raise ValueError("fit: the loader has no batches; fewer items than batch_size, with drop_last?")
        self.total_steps = steps if steps is not None else (epochs or 0) * len(self.loader)
        self.model.train()
        self.stopped = self.amid = False
        self.loader.load_state_dict(self._place)
        try:
            self._shards = self._open_shards()
            with no_overflow_warnings(), interrupted_later() as interrupts:
                self._tell("on_start")
                while self.step < self.total_steps and not self.stopped:
                    self._epoch(self.total_steps, interrupts)
        finally:
            if self._shards is not None:
                self._shards.close()
                self._shards = None
            self._tell("on_end")
        return self

    def evaluate(self, loader: Iterable[Batch]) -> float:
        """The mean loss over all targets in the batches of `loader`, in evaluation mode."""
        total, count = 0.0, 0
        with evaluating(self.model):
            for batch in loader:
                share, n = self.loss_function(self.model, batch)
                total, count = total + float(share.item()), count + n
        return total / max(count, 1)

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

    def _trained(self) -> list[Tensor]:
        return [p for p in self.model.parameters() if p.requires_grad]

    def _open_shards(self) -> ThreadShards | ProcessShards:
        kind = ProcessShards if self.workers == "processes" and self.shards > 1 else ThreadShards
        return kind(self.shards, self.loss_function, self.model, self._trained())

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
        _replace(path, json.dumps(state, indent=1, default=lambda number: number.item()).encode())
        if before is not None:
            before.unlink(missing_ok=True)
        return path

    def load(self, path: str | Path) -> Trainer:
        """Go on where `save` was called: model, optimiser, schedule, loader, generators and callbacks.

        Raises CheckpointError, before anything is changed, for a file that is damaged, foreign, or of another
        model. Warns where NumPy, shards or threads differ: then a resumed run may differ in the last bits.
        """
        path = _as_json(path)
        state, tensors = read_checkpoint(path)
        self._take_over(path, state, tensors)
        self.loader.load_state_dict(state["loader"])
        default_generator.set_state(state["generator"])
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
        """Tensors of a checkpoint into model and optimiser, or CheckpointError and nothing."""
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
        own = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
        before = [callback.state_dict() for callback in callbacks]
        try:
            self.model.load_state_dict(model)
            for callback, (_, kept) in zip(callbacks, state["callbacks"]):
                callback.load_state_dict(_together(kept, tensors))
            self.optimizer.load_state_dict(_optimizer_state(state["optimizer"], tensors))
        except (RuntimeError, ValueError, KeyError, TypeError, IndexError) as error:
            self.model.load_state_dict(own)
            for callback, kept in zip(callbacks, before):
                callback.load_state_dict(kept)
            raise CheckpointError(f"{path}: is of another model or optimiser: {error}") from None
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])

    def _remembering(self) -> list[Callback]:
        return [callback for callback in self.callbacks if callback.state_dict()]

    def _of_callbacks(self, tensors: dict[str, Array]) -> list[tuple[str, Any]]:
        """The kind and the state of each that has one; tensors in it go to `tensors`."""
        states = [(type(callback).__name__, callback.state_dict()) for callback in self._remembering()]
        return [(kind, _apart(state, f"callback.{i}", tensors)) for i, (kind, state) in enumerate(states)]

    def _circumstances(self) -> dict[str, Any]:
        """What must be equal for a resumed run to equal an uninterrupted one bit for bit."""
        from threadpoolctl import threadpool_info

        threads = [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]
        return {
            "machine": platform.machine(), "python": platform.python_version(), "numpy": np.__version__,
            "shards": self.shards, "workers": self.workers, "blas_threads": threads[0] if threads else 0,
        }  # fmt: skip


class Validation(Callback):
    """The mean loss on held-out batches after each epoch, in `losses`, and at which step, in `steps`."""

    remembers = ("steps", "losses")

    def __init__(self, loader: Iterable[Batch]) -> None:
        self.loader = loader
        self.steps: list[int] = []
        self.losses: list[float] = []

    def on_epoch(self, trainer: Trainer) -> None:
        self.steps.append(trainer.step)
        self.losses.append(trainer.evaluate(self.loader))


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


def default_callbacks() -> list[Callback]:
    """A bar and a live plot in a notebook, lines elsewhere."""
    return [ProgressBar(), LivePlot()] if in_notebook() else [Lines()]


def in_notebook() -> bool:
    """Whether somebody looks at pictures here."""
    ipython = sys.modules.get("IPython")  # where a notebook runs, it is imported already
    return ipython is not None and type(ipython.get_ipython()).__name__ == "ZMQInteractiveShell"


class Lines(Callback):
    """Plain lines for a terminal or a log: step, mean loss since the last one, learning rate, speed."""

    def __init__(self, every: int = 100) -> None:
        self.every = every

    def on_start(self, trainer: Trainer) -> None:
        self.before, self.then = trainer.step, time.perf_counter()

    def on_step(self, trainer: Trainer) -> None:
        if trainer.step % self.every == 0:
            self.write(trainer)

    def on_end(self, trainer: Trainer) -> None:
        if trainer.step > self.before:
            self.write(trainer)

    def write(self, trainer: Trainer) -> None:
        """One line."""
        steps, now = trainer.step - self.before, time.perf_counter()
        loss, speed = sum(trainer.losses[-steps:]) / steps, steps / (now - self.then)
        self.before, self.then = trainer.step, now
        told = f"step {trainer.step:>6}  loss {loss:.4f}  lr {trainer.lr:.2e}  {speed:.0f} steps/s"
        print(told, flush=True)


class ProgressBar(Callback):
    """A bar with loss, learning rate and steps a second: tqdm's, and in a notebook one of its own."""

    def on_start(self, trainer: Trainer) -> None:
        self.bar: Any = None
        self.shown: Any = None
        self.next, self.before, self.then = 0.0, trainer.step, time.perf_counter()
        if not in_notebook():
            from tqdm import tqdm

            self.bar = tqdm(total=trainer.total_steps, initial=trainer.step, unit="step")

    def on_step(self, trainer: Trainer) -> None:
        if self.bar is not None:
            self.bar.set_postfix(loss=f"{trainer.loss:.4f}", lr=f"{trainer.lr:.1e}", refresh=False)
            self.bar.update()
        elif time.perf_counter() > self.next:
            self.draw(trainer)

    def on_end(self, trainer: Trainer) -> None:
        if self.bar is not None:
            self.bar.close()
        elif trainer.losses:
            self.draw(trainer)

    def draw(self, trainer: Trainer) -> None:
        """Show the bar in the notebook, or replace the one that is shown."""
        now = time.perf_counter()
        self.next = now + 0.2
        speed = (trainer.step - self.before) / (now - self.then)
        bar = f"<progress value='{trainer.step}' max='{trainer.total_steps}'></progress>"
        told = f"loss {trainer.loss:.4f}, lr {trainer.lr:.1e}, {speed:.0f} steps/s"
        self.shown = _shown(self.shown, f"{bar} {trainer.step}/{trainer.total_steps}: {told}")


def _shown(handle: Any, what: Any) -> Any:
    """Show a figure or HTML, in place of what the handle shows if there is one. Returns the handle."""
    import IPython.display

    made = IPython.display.HTML(what) if isinstance(what, str) else what  # type: ignore[no-untyped-call]
    if handle is None:
        return IPython.display.display(made, display_id=True)  # type: ignore[no-untyped-call]
    handle.update(made)
    return handle


class LivePlot(Callback):
    """In a notebook, the loss so far as a growing curve, and that of a Validation; elsewhere nothing."""

    def __init__(self, every: float = 0.5) -> None:
        self.every = every  # seconds; drawing takes at most a tenth of the time

    def on_start(self, trainer: Trainer) -> None:
        self.shown: Any = None
        self.next = 0.0

    def on_step(self, trainer: Trainer) -> None:
        start = time.perf_counter()
        if start > self.next and in_notebook():
            self.draw(trainer)
            self.next = start + max(self.every, 10 * (time.perf_counter() - start))

    def on_end(self, trainer: Trainer) -> None:
        if in_notebook() and trainer.losses:
            self.draw(trainer)

    def draw(self, trainer: Trainer) -> None:
        """Show the curve, or replace the one that is shown."""
        held_out = [callback for callback in trainer.callbacks if isinstance(callback, Validation)]
        self.shown = _shown(self.shown, loss_figure(trainer.losses, *held_out[:1]))


def loss_figure(losses: Sequence[float], validation: Validation | None = None) -> Any:
    """The losses and their running mean over the steps, on a logarithmic scale, as a matplotlib figure."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
    plt.close(figure)  # shown by whoever asked for it, once
    width = max(1, len(losses) // 50)
    axes.semilogy(losses, color="#b8c4d0", linewidth=0.8, label="each step")
    if width > 1:
        smooth = np.convolve(losses, np.ones(width) / width, "valid")
        axes.semilogy(np.arange(width - 1, len(losses)), smooth, color="#1f4e79", label=f"mean of {width}")
    if validation is not None and validation.losses:
        axes.semilogy(validation.steps, validation.losses, "o-", color="#c45a1f", ms=3, label="held out")
    axes.legend(frameon=False)
    axes.set(xlabel="step", ylabel="loss")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


# Checkpoints


FORMAT = "minilib checkpoint 1"
FIELDS = {
    "tensors", "sha256", "step", "epoch", "seed", "losses", "optimizer", "scheduler", "loader", "generator",
    "callbacks", "made_with",
}  # fmt: skip


TENSOR = "in the tensors"  # in the JSON, {TENSOR: NAME} stands for a tensor


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be used, and why."""


def _optimizer_state(saved: dict[str, Any], tensors: dict[str, Array]) -> dict[str, Any]:
    """The optimiser's state_dict, put together again from JSON and tensors."""
    state: dict[int, dict[str, Any]] = {int(i): dict(values) for i, values in saved["numbers"].items()}
    for name, array in tensors.items():
        if name.startswith("optimizer."):
            _, i, key = name.split(".", 2)
            state.setdefault(int(i), {})[key] = array
    return {"state": state, "param_groups": saved["groups"]}


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


def read_checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """The JSON and the tensors of a checkpoint. Raises CheckpointError where it is not whole."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_safetensors

    try:
        state = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise CheckpointError(f"{path}: there is no such checkpoint") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: is damaged, or no checkpoint: not JSON ({error})") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise CheckpointError(f"{path}: is not a {FORMAT!r}")
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
    return path if path.suffix == ".json" else path.with_name(path.name + ".json")


def _replace(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    unfinished = path.with_name(path.name + ".part")
    with open(unfinished, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)


def _named_by(path: Path) -> Path | None:
    """The file of tensors that the checkpoint at `path`, if there is one, belongs to."""
    try:
        return path.with_name(Path(str(json.loads(path.read_bytes())["tensors"])).name)
    except (OSError, ValueError, KeyError, TypeError):
        return None


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


# The rest of the family


class Loader(Protocol):
    """What a Trainer asks of a loader: batches, their number, and where it stands, as DataLoader does."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Batch]: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...


def shared(array: Array) -> Array:
    """An array like this one, in memory that processes forked from here see as well."""
    memory = mmap.mmap(-1, max(array.nbytes, 1))
    made = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    made[...] = array
    return made


class ProcessShards:
    """One process for each part. Parameters lie in memory that all of them see; gradients come back there.

    Each process has a copy of the model, made by `fork` (Linux, macOS). Buffers, such as batch norm's
    averages, stay with their process.
    """

    def __init__(self, n: int, loss: Loss, model: Module, params: Sequence[Tensor]) -> None:
        if "fork" not in multiprocessing.get_all_start_methods():
            raise RuntimeError("shards in processes need fork, which is missing here: use workers='threads'")
        context = multiprocessing.get_context("fork")
        self.loss, self.model, self.params = loss, model, params
        self.places = [shared(p.data) for p in params]
        self.grads = [[shared(p.data) for p in params] for _ in range(n)]
        self._share()
        self.pipes: list[Connection] = []
        self.processes = []
        for i in range(n):
            ours, theirs = context.Pipe()
            self.pipes.append(ours)
            self.processes.append(context.Process(target=self._serve, args=(i, theirs), daemon=True))
            self.processes[i].start()
            theirs.close()

    def _share(self) -> None:
        """Parameters that were put elsewhere come back into shared memory."""
        for p, place in zip(self.params, self.places):
            if p.data is not place:
                place[...] = p.data
                p.data = place

    def _serve(self, i: int, pipe: Connection) -> None:
        """A worker: parts of batches in, loss sums, counts and gradients out, until the pipe is closed."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who asks
        for theirs in self.pipes:
            theirs.close()  # a copy that was inherited would keep the pipe open when the other end is gone
        with suppress(EOFError, OSError), one_blas_thread(), alone():
            while True:
                batch, key = pipe.recv()
                try:
                    total, count, grads = gradients(self.loss, self.model, batch, self.params, key)
                except Exception as error:
                    pipe.send(f"{type(error).__name__}: {error}")
                    continue
                for place, grad in zip(self.grads[i], grads):
                    if grad is not None:
                        place[...] = grad
                pipe.send((total, count, [grad is not None for grad in grads]))

    def run(self, work: Sequence[tuple[Batch, Key]]) -> list[Share]:
        """The share of each part, in order. Raises RuntimeError for an error in a process, or its death."""
        self._share()
        shares: list[Share] = []
        i = 0
        try:
            for i, item in enumerate(work):
                self.pipes[i].send(item)
            for i in range(len(work)):
                answer = self.pipes[i].recv()
                if isinstance(answer, str):
                    raise RuntimeError(f"shard {i} failed: {answer}")
                total, count, there = answer
                shares.append((total, count, [g if yes else None for g, yes in zip(self.grads[i], there)]))
        except (EOFError, OSError):
            self.processes[i].join(1)
            code = self.processes[i].exitcode
            raise RuntimeError(f"the process of shard {i} ended (exit code {code}): out of memory?") from None
        return shares

    def close(self) -> None:
        """End the processes; the parameters get memory of their own again."""
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            process.join(1)
            if process.is_alive():
                process.kill()
                process.join()
        for p in self.params:
            p.data = p.data.copy()


# Accuracy


def accuracy(model: Module, loader: Iterable[Batch]) -> float:
    """The fraction of targets that equal the class with the largest score; -100 is missing, not counted."""
    right = total = 0
    with evaluating(model):
        for inputs, targets in loader:
            right += int((model(inputs).argmax(-1) == targets).sum().item())
            total += int((targets != -100).sum().item())
    return right / max(total, 1)


# One gradient of many shards


def averaged(shares: Sequence[Share]) -> list[Array | None]:
    """The gradient of the mean loss for each parameter: summed gradients over summed counts."""
    count = max(sum(share[1] for share in shares), 1)
    means: list[Array | None] = []
    for grads in zip(*(share[2] for share in shares)):
        there = [grad for grad in grads if grad is not None]
        means.append(sum(there[1:], there[0]) / there[0].dtype.type(count) if there else None)
    return means


# Stop in time


class EarlyStopping(Callback):
    """Stops when the loss on `loader` has not beaten its best for `patience` epochs in a row.

    At the end it puts back the parameters and buffers that had the best loss.
    """

    remembers = ("best", "waited", "state")  # a checkpoint saves these attributes

    def __init__(self, loader: Iterable[Batch], patience: int = 5) -> None:
        self.loader, self.patience = loader, patience
        self.best, self.waited = math.inf, 0
        self.state: dict[str, Tensor] = {}

    def on_epoch(self, trainer: Trainer) -> None:
        loss = trainer.evaluate(self.loader)
        self.waited += 1
        if loss < self.best:
            self.best, self.waited = loss, 0
            self.state = {name: t.clone() for name, t in trainer.model.state_dict().items()}
        if self.waited >= self.patience:
            trainer.stop()

    def on_end(self, trainer: Trainer) -> None:
        if self.state:
            trainer.model.load_state_dict(self.state)
