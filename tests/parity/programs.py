"""Random programs on tensors, run here and in PyTorch: the same values, gradients and refusals.

`python tests/parity/programs.py 10000` runs as many, and prints how they ended and the shortest that differ.
A program is a list of steps, and each step works on tensors that earlier ones made: views of views, aliases,
writes in place, buffers without gradients, detached tensors, blocks without gradients.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

Step: TypeAlias = "tuple[str, int, int, int]"  # a name, two tensors to work on, a number to choose by
Action: TypeAlias = Callable[[Any, Any, Any, int], Any]

# What a step does, from (library, x, y, number) to a new tensor, or to one that was there and has changed


def like(x: Any, y: Any) -> Any:
    """The numbers of `y` that fill the shape of x."""
    flat = y.reshape(-1)
    n = int(np.prod(tuple(x.shape)))
    return flat[[i % flat.shape[0] for i in range(n)]].reshape(tuple(x.shape))


def part(x: Any, n: int) -> Any:
    """An index into the first axis, or `...` where there is none."""
    if not x.shape:
        return ...
    at = n % x.shape[0]
    return [at, slice(at, None), slice(None, at + 1), slice(None, None, 2), None, ...][n % 6]


def put(x: Any, index: Any, value: Any) -> Any:
    x[index] = value
    return x


def mask(L: Any, x: Any, n: int) -> Any:
    size = int(np.prod(tuple(x.shape)))
    return L.tensor([(i * 7 + n) % 3 > 0 for i in range(size)]).reshape(tuple(x.shape))


def changed(x: Any, y: Any, n: int) -> Any:
    """x after += and its like."""
    if n % 5 == 0:
        x += y
    elif n % 5 == 1:
        x *= y
    elif n % 5 == 2:
        x -= y
    elif n % 5 == 3:
        x *= 0.5
    else:
        x /= y * y + 1
    return x


def retained(x: Any) -> Any:
    """x, which keeps its gradient; used before, or PyTorch ignores it for a view whose buffer has changed."""
    if (x * 1).requires_grad:
        x.retain_grad()
    return x


def without(action: Action) -> Action:
    def quiet(L: Any, x: Any, y: Any, n: int) -> Any:
        with L.no_grad():
            return action(L, x, y, n)

    return quiet


VIEWS: dict[str, Action] = {
    "x[i]": lambda L, x, y, n: x[part(x, n)],
    "x[..., i]": lambda L, x, y, n: x[..., n % x.shape[-1]],
    "transposed": lambda L, x, y, n: x.permute(tuple(range(len(x.shape))[::-1])),
    "view(-1)": lambda L, x, y, n: x.view(-1),
    "reshape": lambda L, x, y, n: x.reshape(1, -1) if n % 2 else x.reshape(-1, 1),
    "unsqueeze": lambda L, x, y, n: x.unsqueeze(n % (len(x.shape) + 1)),
    "squeeze": lambda L, x, y, n: x.squeeze(),
    "expand": lambda L, x, y, n: x.expand(2, *x.shape),
    "split": lambda L, x, y, n: x.split(1 + n % 2)[-1],
    "detach": lambda L, x, y, n: x.detach(),
    "itself": lambda L, x, y, n: x,
}
MADE: dict[str, Action] = {
    "x + y": lambda L, x, y, n: x + like(x, y),
    "x * y": lambda L, x, y, n: x * like(x, y),
    "x * 2": lambda L, x, y, n: x * 2,
    "tanh": lambda L, x, y, n: x.tanh(),
    "sum": lambda L, x, y, n: x.sum(),
    "clone": lambda L, x, y, n: x.clone(),
    "contiguous": lambda L, x, y, n: x.contiguous(),
    "cat": lambda L, x, y, n: L.cat([x.reshape(-1), y.reshape(-1)])[:6],
    "where": lambda L, x, y, n: L.where(mask(L, x, n), x, like(x, y)),
    "masked_fill": lambda L, x, y, n: x.masked_fill(mask(L, x, n), y.reshape(-1)[0]),
    "x[[...]]": lambda L, x, y, n: x.reshape(-1)[[0, n % x.reshape(-1).shape[0], 0]],
    "buffer": lambda L, x, y, n: x.detach() * 0 + n % 3,
}
WRITES: dict[str, Action] = {
    "x += y": lambda L, x, y, n: changed(x, like(x, y), n),
    "x += x": lambda L, x, y, n: changed(x, x, n),
    "x += number": lambda L, x, y, n: changed(x, y.detach().sum() * 0 + 2, n),
    "x[i] = y": lambda L, x, y, n: put(x, part(x, n), y.reshape(-1)[0]),
    "x[i] = x": lambda L, x, y, n: put(x, part(x, n), like(x[part(x, n)], y)),
    "x[i] += 1": lambda L, x, y, n: put(x, part(x, n), changed(x[part(x, n)], like(x[part(x, n)], y), n)),
    "x[mask] = y": lambda L, x, y, n: put(x, mask(L, x, n), y.reshape(-1)[0]),
    "x[[...]] = y": lambda L, x, y, n: put(x, [0, -1], y.reshape(-1)[0]) if len(x.shape) else x,
    "copy_": lambda L, x, y, n: x.copy_(like(x, y)),
    "fill_": lambda L, x, y, n: x.fill_(n % 4),
    "retain_grad": lambda L, x, y, n: retained(x),
}
QUIET: dict[str, Action] = {
    f"no_grad: {name}": without(action)
    for name, action in [*VIEWS.items(), *WRITES.items()]
    if name in ("x[i]", "view(-1)", "x += y", "fill_", "x[i] = y")
}
STEPS = {**VIEWS, **MADE, **WRITES, **QUIET}
GROUPS = [[*VIEWS], [*MADE], [*WRITES], [*QUIET]]


def drawn(rng: np.random.Generator) -> list[Step]:
    names = (GROUPS[k] for k in rng.choice(4, int(rng.integers(3, 12)), p=[0.37, 0.2, 0.37, 0.06]))
    steps = [(group[rng.integers(len(group))], *map(int, rng.integers(0, 60, 3))) for group in names]
    if any(step[0] in QUIET for step in steps):  # after one PyTorch loses part of what a view retains
        steps = [step for step in steps if step[0] != "retain_grad"]
    return steps


# Running


def run(L: Any, program: Sequence[Step]) -> Any:
    """The error of each step that raised, and the values and gradients of all tensors at the end.

    A step that raises leaves everything as it was, and the next one is taken.
    """
    dtype = np.float64 if L.__name__ == "minilib.tensor" else L.float64
    rng = np.random.default_rng(0)
    shapes = [(2, 3), (3,), (2, 3), (4,)]
    made = [L.tensor(rng.uniform(0.5, 1.5, shape).tolist(), dtype=dtype) for shape in shapes]
    leaves = [x.requires_grad_() for x in made[:2]]  # the others are buffers
    made += [leaf * 1 for leaf in leaves]
    raised: list[Exception | None] = []
    for name, i, j, n in program:
        try:
            made.append(STEPS[name](L, made[-1 - i % min(len(made), 8)], made[-1 - j % len(made)], n))
            raised.append(None)
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            raised.append(error)
    try:
        loss = sum(((x * x).sum() * (0.1 + 0.01 * k) for k, x in enumerate(made)), made[0].sum() * 0)
        loss.backward()
        raised.append(None)
    except RuntimeError as error:
        raised.append(error)
    found = [*made, *(x.grad for x in made)]
    return raised, [None if x is None else np.array(x.detach().tolist()) for x in found]


# What PyTorch refuses and ours does, each with the docstring that says so: `_in_place` in tensor/core.py
LENIENT = {
    "overlap": ("some elements of the input tensor and the written-to tensor refer to a single memory",),
    "saved of itself": ("modified by an inplace operation",),
    "parts": ("is the output of a function that returns multiple views",),
    "made without gradients": ("created in no_grad mode",),
    "older view of a buffer": ("a leaf Variable that requires grad is being used in an in-place operation",),
}


def verdict(ours: Any, theirs: Any) -> str:
    """ "same", the reason for which PyTorch alone refuses a step, or what differs."""
    for mine, other in zip(ours[0], theirs[0], strict=True):
        if mine and not other and "expanded view" in str(mine):
            return "ours alone refuses: an expanded view"
        if mine and not other:
            return f"differs: only ours refuses: {mine}"
        if other and not mine:
            text = str(other)
            reasons = [name for name, parts in LENIENT.items() if any(p in text for p in parts)]
            if reasons:
                return f"PyTorch alone refuses: {reasons[0]}"
            return f"differs: only PyTorch refuses: {text}"
    if ours[0][-1]:
        return "backward is refused by both"
    for a, b in zip(ours[1], theirs[1], strict=True):
        if (a is None) != (b is None):
            return "differs: one has a gradient"
        if a is not None and not (a.shape == b.shape and np.allclose(a, b, 1e-8, 1e-10, equal_nan=True)):
            return f"differs: {a.tolist()} and {b.tolist()}"
    return "same"


def shortened(program: list[Step], differs: Callable[[list[Step]], bool]) -> list[Step]:
    """The program without the steps that it differs without too."""
    for k in reversed(range(len(program))):
        less = program[:k] + program[k + 1 :]
        if differs(less):
            program = less
    return program


def compared(
    count: int, seed: int, ours: Any, theirs: Any
) -> tuple[Counter[str], list[tuple[list[Step], str]]]:
    """How `count` programs ended, and those that differ."""
    rng = np.random.default_rng(seed)
    ended: Counter[str] = Counter()
    different: list[tuple[list[Step], str]] = []

    def compare(program: list[Step]) -> str:
        with np.errstate(all="ignore"):
            return verdict(run(ours, program), run(theirs, program))

    for _ in range(count):
        program = drawn(rng)
        found = compare(program)
        ended[found.partition(":")[0] if found.startswith("differs") else found] += 1
        if found.startswith("differs"):
            program = shortened(program, lambda p: compare(p).startswith("differs"))
            different.append((program, compare(program)))
    return ended, different


def main() -> None:
    import torch

    from minilib import tensor

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    ended, different = compared(args.count, args.seed, tensor, torch)
    for name, number in ended.most_common():
        print(f"{number:7} {name}")
    for program, found in sorted(different, key=lambda pair: len(pair[0]))[:10]:
        print(program, found, sep="\n  ")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
