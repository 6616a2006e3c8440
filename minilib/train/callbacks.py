"""Callbacks, which follow a training: they display it, save it, or end it.

Taught in solutions/03f_training.ipynb: what it exports is edited there, then `make promote`.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minilib.tensor import Tensor
from minilib.train.shards import Batch

if TYPE_CHECKING:
    from minilib.train.trainer import Trainer

__all__ = [
    "Accuracy", "Callback", "EarlyStopping", "Lines", "LivePlot", "ProgressBar", "Validation",
    "default_callbacks", "in_notebook", "last_validation", "loss_figure", "with_display",
]  # fmt: skip


class Callback:
    """Follows a training. Override the events that you need."""

    remembers: tuple[str, ...] = ()  # attributes that belong into a checkpoint
    displays = False  # whether it shows how the training goes
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


# On held-out batches


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


class Accuracy(Validation):
    """A Validation that also notes the fraction of right classes after each epoch, in `accuracies`."""

    remembers = ("steps", "losses", "accuracies")  # type: ignore[assignment]

    def __init__(self, loader: Iterable[Batch]) -> None:
        super().__init__(loader)
        self.accuracies: list[float] = []

    def on_epoch(self, trainer: Trainer) -> None:
        from minilib.train.trainer import accuracy  # which imports this file

        super().on_epoch(trainer)
        self.accuracies.append(accuracy(trainer.model, self.loader))


# Lines for a terminal


class Lines(Callback):
    """Plain lines for a terminal or a log: epoch, step, mean loss since the last one, learning rate, speed.

    After each epoch also what a Validation or an Accuracy found.
    """

    displays = True

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

    def on_epoch(self, trainer: Trainer) -> None:
        if told := last_validation(trainer):
            print(f"epoch {trainer.epoch:>3}  {told}", flush=True)

    def write(self, trainer: Trainer) -> None:
        """One line."""
        steps, now = trainer.step - self.before, time.perf_counter()
        loss, speed = sum(trainer.losses[-steps:]) / steps, steps / (now - self.then)
        self.before, self.then = trainer.step, now
        where = f"epoch {trainer.epoch:>3}  step {trainer.step:>6}"
        print(f"{where}  loss {loss:.4f}  lr {trainer.lr:.2e}  {speed:.0f} steps/s", flush=True)


def last_validation(trainer: Trainer) -> str:
    """What the Validations of a training noted last, as text: "held out: loss 0.1312, accuracy 96.4%"."""
    told = []
    for callback in trainer.callbacks:
        if isinstance(callback, Validation) and callback.losses:
            told.append(f"held out: loss {callback.losses[-1]:.4f}")
            for share in getattr(callback, "accuracies", [])[-1:]:  # an Accuracy has them
                told[-1] += f", accuracy {share:.1%}"
    return "; ".join(told)


# A bar and a curve for a notebook


class ProgressBar(Callback):
    """A bar with loss, learning rate and steps a second: tqdm's, and in a notebook one of its own."""

    displays = True

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
        parts = [
            f"loss {trainer.loss:.4f}, lr {trainer.lr:.1e}, {speed:.0f} steps/s",
            last_validation(trainer),
        ]
        told = "; ".join(filter(None, parts))
        self.shown = _shown(self.shown, f"{bar} {trainer.step}/{trainer.total_steps}: {told}")


class LivePlot(Callback):
    """In a notebook, the loss so far as a growing curve, and that of a Validation; elsewhere nothing."""

    displays = True

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
        validations = [callback for callback in trainer.callbacks if isinstance(callback, Validation)]
        self.shown = _shown(self.shown, loss_figure(trainer.losses, *validations[:1]))


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


def _shown(handle: Any, what: Any) -> Any:
    """Show a figure or HTML, in place of what the handle shows if there is one. Returns the handle."""
    import IPython.display

    made = IPython.display.HTML(what) if isinstance(what, str) else what  # type: ignore[no-untyped-call]
    if handle is None:
        return IPython.display.display(made, display_id=True)  # type: ignore[no-untyped-call]
    handle.update(made)
    return handle


# Which of them, where nobody chose


def default_callbacks() -> list[Callback]:
    """A bar and a live plot in a notebook, lines elsewhere."""
    return [ProgressBar(), LivePlot()] if in_notebook() else [Lines()]


def with_display(callbacks: Sequence[Callback] | None, display: bool) -> list[Callback]:
    """The callbacks of a training and, where nobody asked for silence or chose a display, the usual one."""
    given = [] if callbacks is None else list(callbacks)
    silent = not display or (callbacks is not None and not given)
    return given if silent or any(one.displays for one in given) else [*given, *default_callbacks()]


def in_notebook() -> bool:
    """Whether somebody looks at pictures here."""
    ipython = sys.modules.get("IPython")  # where a notebook runs, it is imported already
    return ipython is not None and type(ipython.get_ipython()).__name__ == "ZMQInteractiveShell"
