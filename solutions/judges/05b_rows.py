"""Exercise 5.11 counts launches: many blocks are right, if they hold a row and waste little."""

from __future__ import annotations

from typing import Any

from coursekit.grading.compare import difference, telling
from coursekit.grading.plain import among, plain, written

WARP, MOST = 32, 1024  # threads of a warp, and of a block at most
ROOMY = 4  # times as many places as a row has numbers
FEW = 8  # rows that one block may take, where there are more


@telling
def judge_pair_hidden(name: str, expected: Any, got: Any) -> str | None:
    """Losses and gradients as the reference has them, from kernels."""
    return _unwritten(expected, got) if name.startswith("launches") else difference(expected, got, 1e-5)


@telling
def judge_pair_launches(name: str, expected: Any, got: Any) -> str | None:
    """Losses as the reference has them; one launch each way, whose blocks hold a row and little more."""
    if not name.startswith("launches"):
        return difference(expected, got, 1e-5)
    wanted, launches = _shapes(expected), _shapes(got)
    if [each[0] for each in launches] != [each[0] for each in wanted]:
        return "one launch forward and one launch backward can do"
    if any(each[4] != right[4] for each, right in zip(launches, wanted)):
        return "the last two numbers for a kernel are rows and columns"
    return next(filter(None, (_wrong(*each) for each in launches)), None) or _unwritten(expected, got)


def _unwritten(expected: Any, got: Any) -> str | None:
    """Whether what the reference's kernels wrote is among what the answer's wrote."""
    wanted, made = (
        [each for launch in plain(one) for each in written(launch[-1])] for one in (expected, got)
    )
    if among(wanted, made, 1e-4):
        return None
    return "the right numbers are not among those that your kernels wrote: they should work them out"


def _shapes(shown: Any) -> list[Any]:
    """Of each launch the kernel, how many numbers a thread has, grid, block, and the last two numbers."""
    made = []
    for name, grid, block, numbers, *_ in plain(shown):
        kernel, _, each = name.partition("<")
        made.append([kernel, int(each.rstrip(">")), grid, block, numbers[-2:]])
    return made


def _wrong(name: str, each: int, grid: list[int], block: list[int], sizes: list[int]) -> str | None:
    rows, columns = sizes
    threads, blocks = block[0], grid[0]
    if any(axis != 1 for axis in (*block[1:], *grid[1:])):
        return "grid and block have one axis: rows and threads"
    if threads % WARP or not WARP <= threads <= MOST:
        return "a block is made of whole warps, at most 32 of them"
    if threads * each < columns:
        return "the block does not hold the row: threads times each is less than columns"
    if threads * each > max(ROOMY * columns, WARP):
        return "most of the block has no number: take fewer threads, or fewer numbers to each"
    if blocks * FEW < rows:
        return "a few blocks take all rows: give each row a block, up to some thousand"
    return None
