"""What the programs have in common: their options, and a training with samples and checkpoints."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from minilib.data import DataLoader, TensorDataset
from minilib.gpt import GPT, MODELS, GPTConfig, next_token
from minilib.optim import Optimizer, WarmupCosine
from minilib.tensor import Generator, manual_seed
from minilib.train import Callback, Checkpoint, CheckpointError, Lines, Loss, ProgressBar, Trainer

# Options


class Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of a description."""


class Parser(argparse.ArgumentParser):
    """A mistake on the command line is told in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; --help lists the options\n")


def options(name: str, description: str | None, models: Iterable[str] = MODELS, **defaults: Any) -> Parser:
    """The options of all programs, with the defaults of one for those that need them."""
    parser = Parser(
        prog=f"python -m minilib.projects.{name}", description=description, allow_abbrev=False,
        formatter_class=Formatter,
    )  # fmt: skip
    parser.add_argument("--steps", type=at_least_one, help="of training, those before --resume included")
    parser.add_argument("--model", choices=list(models), help="its size or kind")
    parser.add_argument("--batch", type=at_least_one, help="samples in a step")
    parser.add_argument("--lr", type=float, help="learning rate, after a warm-up and before a cosine")
    if "dropout" in defaults:
        parser.add_argument("--dropout", type=float, help="probability, in all places")
    parser.add_argument(
        "--every", type=at_least_one, help="steps from one sample, and checkpoint, to the next"
    )
    parser.add_argument("--seed", type=int, default=0, help="of weights, order of the data, dropout")
    parser.add_argument("--shards", type=at_least_one, default=1, help="threads that share each batch")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--checkpoint", type=Path, metavar="FOLDER", help="save the training there")
    where.add_argument("--resume", type=Path, metavar="FOLDER", help="go on with the training saved there")
    parser.set_defaults(**defaults)
    return parser


def at_least_one(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


Run: TypeAlias = Callable[[argparse.Namespace], tuple["Samples", dict[str, int | float]]]


def started(parser: Parser, run: Run, last_line: str, argv: list[str] | None) -> None:
    """Run a program and print its last line, with its figures; what goes wrong is told in one line too."""
    args = parser.parse_args(argv)
    try:
        _, figures = run(args)
        print(last_line.format(**figures))
    except (ValueError, OSError, ImportError, CheckpointError, FloatingPointError) as error:
        sys.exit(f"{parser.prog}: {' '.join(str(error).split())}")
    except KeyboardInterrupt:
        folder = args.checkpoint or args.resume
        sys.exit(f"interrupted; --resume {folder} goes on" if folder else "interrupted, nothing was saved")


# Training


class Samples(Callback):
    """After the first step, every `every` steps and the last: the loss on held-out batches, and a text.

    `seconds` and `cpu_seconds` (of all threads) of training up to there, those before a resume included.
    """

    remembers = ("steps", "held_out", "texts", "seconds", "cpu_seconds")

    def __init__(self, write: Callable[[Any], str], held_out: DataLoader, every: int) -> None:
        self.write, self.loader, self.every = write, held_out, every
        self.steps: list[int] = []
        self.held_out: list[float] = []
        self.texts: list[str] = []
        self.seconds: list[float] = []
        self.cpu_seconds: list[float] = []

    def on_start(self, trainer: Trainer) -> None:
        self.losses = trainer.losses
        self.start = time.perf_counter() - sum(self.seconds[-1:])
        self.cpu_start = time.process_time() - sum(self.cpu_seconds[-1:])

    def on_step(self, trainer: Trainer) -> None:
        if trainer.step % self.every and trainer.step not in (1, trainer.total_steps):
            return
        self.seconds.append(round(time.perf_counter() - self.start, 1))
        self.cpu_seconds.append(round(time.process_time() - self.cpu_start, 1))
        self.steps.append(trainer.step)
        self.held_out.append(trainer.evaluate(self.loader))
        self.texts.append(self.write(trainer.model))
        say(f"step {trainer.step}: held out {self.held_out[-1]:.4f}\n{self.texts[-1]}\n")


def trained(
    args: argparse.Namespace,
    train: TensorDataset,
    test: TensorDataset,
    vocab_size: int,
    write: Callable[[GPT], str],
) -> tuple[GPT, Samples]:
    """A new GPT of the size that the options name, trained on (idx, targets) as they say, and its samples."""
    manual_seed(args.seed)
    drops = {name: args.dropout for name in ("embd_pdrop", "resid_pdrop", "attn_pdrop")}
    model = GPT(GPTConfig(vocab_size, train.tensors[0].shape[1], args.model, **drops))
    optimizer = model.configure_optimizers(args.lr)
    return model, fitted(args, model, optimizer, train, test, write, next_token)


def fitted(
    args: argparse.Namespace,
    model: Any,
    optimizer: Optimizer,
    train: TensorDataset,
    test: TensorDataset,
    write: Callable[[Any], str],
    loss: Loss,
) -> Samples:
    """Train a model on (idx, targets) as the options say; its samples."""
    schedule = WarmupCosine(optimizer, args.steps // 20, args.steps, args.lr / 10)
    loader = DataLoader(train, args.batch, shuffle=True, drop_last=True, generator=Generator(args.seed))
    samples = Samples(write, DataLoader(test, 64), args.every)
    trainer = Trainer(
        model, optimizer, loader, loss, schedule, [display(args.every), samples],
        clip=1.0, shards=args.shards, seed=args.seed,
    )  # fmt: skip
    folder = args.checkpoint or args.resume
    if args.checkpoint and (folder / "training.json").exists():
        raise ValueError(f"{folder} holds a training already: --resume {folder} goes on with it")
    if args.resume:
        trainer.load(folder / "training")
    if folder:
        trainer.callbacks.append(Checkpoint(folder / "training", args.every))
    trainer.fit(steps=args.steps)
    return samples


def right_answers(model: GPT, data: TensorDataset, asked: int) -> int:
    """How many samples (idx, targets) the model completes rightly from their first `asked` tokens."""
    idx, targets = data.tensors
    answers = targets[:, asked - 1 :]
    found = model.generate(idx[:, :asked], answers.shape[1])[:, asked:]
    return int((found == answers).numpy().all(axis=1).sum())


# A terminal


def display(every: int) -> Callback:
    """A progress bar on a terminal; lines in a file, or where tqdm is not installed."""
    return ProgressBar() if has_bar() else Lines(every)


def has_bar() -> bool:
    """Whether training shows a bar: only somebody who watches needs one."""
    return sys.stderr.isatty() and find_spec("tqdm") is not None


def say(text: str) -> None:
    """Print, without tearing the bar apart."""
    if has_bar():
        from tqdm import tqdm

        tqdm.write(text)
    else:
        print(text, flush=True)
