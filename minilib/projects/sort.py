"""A GPT that sorts: it reads six digits, then says them in order.

python -m minilib.projects.sort
python -m minilib.projects.sort --length 8 --digits 5 --steps 4000

A quarter of all sequences is held out. The last line tells how many of 5,000 of them come out right.
"""

from __future__ import annotations

import argparse

import numpy as np

from minilib.data import TensorDataset
from minilib.gpt import GPT
from minilib.projects.running import Parser, Samples, at_least_one, options, right_answers, started, trained
from minilib.tensor import Array, Generator, Tensor, default_generator

# Sequences as samples


def sort_batch(
    n: int, length: int = 6, digits: int = 3, generator: Generator | None = None
) -> tuple[Tensor, Tensor]:
    """idx, targets (n, 2 length - 1) of n random sequences of digits, each followed by itself in order."""
    numbers = (generator or default_generator).numbers
    return answered(numbers.integers(0, digits, (n, length)))


def answered(sequences: Array) -> tuple[Tensor, Tensor]:
    """idx, targets (n, 2 length - 1) of sequences (n, length); the target is -1 up to the first answer."""
    whole = np.concatenate([sequences, np.sort(sequences, axis=1)], axis=1)  # (n, 2 length)
    targets = whole[:, 1:].copy()
    targets[:, : sequences.shape[1] - 1] = -1
    return Tensor(whole[:, :-1]), Tensor(targets)


class SortDataset(TensorDataset):
    """`n` random sequences of the split "train" or "test", as in `sort_batch`; no sequence is in both."""

    def __init__(self, split: str, n: int = 10_000, length: int = 6, digits: int = 3, seed: int = 0) -> None:
        numbers = np.random.default_rng((seed, split == "test"))
        drawn = numbers.integers(0, digits, (8 * n, length))
        sequences = drawn[is_held_out(drawn) == (split == "test")][:n]
        if len(sequences) < n:
            raise ValueError(f"too few sequences of {length} digits below {digits}: make either larger")
        super().__init__(*answered(sequences))


def is_held_out(sequences: Array) -> Array:
    """Which of the sequences (n, length) belong to the test: a quarter of all, by a hash, in any run."""
    code = np.zeros(len(sequences), np.uint64)
    for column in sequences.T:
        code = (code + column.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        code ^= code >> np.uint64(29)
    return code % np.uint64(4) == 0


# The program


def parser() -> Parser:
    made = options("sort", __doc__, steps=2000, model="gpt-nano", batch=64, lr=2e-3, dropout=0.0, every=250)
    made.add_argument("--length", type=at_least_one, default=6, help="digits in a sequence")
    made.add_argument("--digits", type=at_least_one, default=3, help="how many kinds of them")
    return made


def sorted_by(model: GPT, sequences: Tensor) -> str:
    """What the model makes of sequences (n, length), one a line; mistakes are marked."""
    length = sequences.shape[1]
    lines = []
    for row in model.generate(sequences, length).numpy():
        asked, found = (" ".join(map(str, part)) for part in (row[:length], row[length:]))
        lines.append(f"{asked} -> {found}" + "  wrong" * (list(row[length:]) != sorted(row[:length])))
    return "\n".join(lines)


def run(args: argparse.Namespace) -> tuple[Samples, dict[str, int | float]]:
    """Train and test; the samples, and the figures."""
    train, test = (SortDataset(split, n, args.length, args.digits) for split, n in SIZES.items())
    shown = test.tensors[0][:4, : args.length]
    model, samples = trained(args, train, test, args.digits, lambda model: sorted_by(model, shown))
    right = right_answers(model, test, args.length)
    distinct = len(np.unique(test.tensors[0].numpy(), axis=0))
    figures = {"right": right, "asked": len(test), "distinct": distinct}
    return samples, {**figures, "parameters": model.num_parameters()}


SIZES = {"train": 10_000, "test": 5_000}


def main(argv: list[str] | None = None) -> None:
    started(parser(), run, "sort: {right} of {asked} held-out sequences ({distinct} distinct) right", argv)


if __name__ == "__main__":
    main()
