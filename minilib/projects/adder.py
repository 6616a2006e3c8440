"""A GPT that adds: it reads the digits of two numbers, then says those of their sum.

python -m minilib.projects.adder
python -m minilib.projects.adder --ndigit 3 --model gpt-mini --steps 8000

As in minGPT, the sum comes with its last digit first, as one adds on paper: 85 + 50 = 135 is 8 5 5 0 5 3 1.
500 pairs of numbers are held out. The last line tells how many of them it adds without a mistake.
"""

from __future__ import annotations

import argparse

import numpy as np

from minilib.data import TensorDataset
from minilib.gpt import GPT
from minilib.projects.running import Parser, Samples, at_least_one, options, right_answers, started, trained
from minilib.tensor import Array, Tensor

# Sums as samples


class AdditionDataset(TensorDataset):
    """idx, targets (3 ndigit) of all sums of two numbers of `ndigit` digits in the split "train" or "test".

    The digits of both, then of their sum, last one first. The target is -1 up to the sum's first digit.
    """

    def __init__(self, split: str, ndigit: int = 2, held_out: int = 500, seed: int = 1337) -> None:
        if ndigit > 3:
            raise ValueError(f"there are 10 to the power of {2 * ndigit} sums: ndigit is at most 3")
        pairs = np.random.default_rng(seed).permutation(100**ndigit)
        held_out = min(held_out, len(pairs) // 5)
        a, b = np.divmod(pairs[:held_out] if split == "test" else pairs[held_out:], 10**ndigit)
        last_first = digits_of(a + b, ndigit + 1)[:, ::-1]
        whole = np.concatenate([digits_of(a, ndigit), digits_of(b, ndigit), last_first], axis=1)
        targets = whole[:, 1:].copy()
        targets[:, : 2 * ndigit - 1] = -1
        super().__init__(Tensor(whole[:, :-1]), Tensor(targets))


def digits_of(numbers: Array, n: int) -> Array:
    """The last n decimal digits of whole numbers (N,), as (N, n), the last one at the end."""
    places: Array = 10 ** np.arange(n)[::-1]
    return numbers[:, None] // places % 10


# The program


def parser() -> Parser:
    made = options("adder", __doc__, steps=4000, model="gpt-nano", batch=64, lr=2e-3, dropout=0.0, every=500)
    made.add_argument("--ndigit", type=at_least_one, default=2, help="digits of each number, at most 3")
    return made


def added_by(model: GPT, asked: Tensor) -> str:
    """What the model makes of the digits of pairs (n, 2 ndigit), one sum a line; mistakes are marked."""
    ndigit = asked.shape[1] // 2
    lines = []
    for row in model.generate(asked, ndigit + 1).numpy():
        a, b, found = (
            int("".join(map(str, part)))
            for part in (row[:ndigit], row[ndigit : 2 * ndigit], row[: 2 * ndigit - 1 : -1])
        )
        lines.append(f"{a} + {b} = {found}" + f"  wrong: {a + b}" * (a + b != found))
    return "\n".join(lines)


def run(args: argparse.Namespace) -> tuple[Samples, dict[str, int | float]]:
    """Train and test; the samples, and the figures."""
    train, test = (AdditionDataset(split, args.ndigit) for split in ("train", "test"))
    shown = test.tensors[0][:4, : 2 * args.ndigit]
    model, samples = trained(args, train, test, 10, lambda model: added_by(model, shown))
    right = right_answers(model, test, 2 * args.ndigit)
    return samples, {"right": right, "asked": len(test), "parameters": model.num_parameters()}


def main(argv: list[str] | None = None) -> None:
    started(parser(), run, "adder: {right} of {asked} held-out sums right", argv)


if __name__ == "__main__":
    main()
