"""What a correct kernel pays for more than it need, and what to do about it.

Everything is counted, and told as it was counted. To say what is most expensive, costs of different sorts are
brought to turns, about one cycle of a multiprocessor: a turn of shared memory, or a step of a warp, is one;
a sector of global memory two (the bandwidth of a data sheet, shared among the multiprocessors); an operation
1/128. Turns decide the order, and what is less than a tenth of all turns is not worth a word. They are no
forecast and are not shown.

| cost | counted | told where |
|---|---|---|
| sectors | sectors beyond `... at best`, by line and array | twice the best, four to a request |
| conflicts | bank conflicts, by line and array | at least one for every other request |
| alone | steps of the thread, warp or block that takes most of them | half of all, or 90% |
| divergence | steps that lanes of a warp wait for others | 30% of all, a branch in ten steps, 8 warps |
| partial | lanes of the last warp of a block that do not exist | an eighth of all lanes, and 8 blocks |
| again | what one block loads of an array, and how much is different | three times, 40% of all sectors |
| atomics | atomics of one block, and on how many different bytes | eight to an element |
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cudasim.reports.counters import LANES, SECTOR, ArrayCounters
from cudasim.reports.messages import triple
from cudasim.reports.patterns import padded, sector_hint, stride_of
from cudasim.reports.tables import plural

if TYPE_CHECKING:
    from cudasim.reports.report import LineCounters, Report

    Wasted = list[tuple[LineCounters, ArrayCounters]]

__all__ = ["Cost", "costs"]

OF_A_SECTOR = 2  # turns
OPERATIONS = 128  # in a turn
WORTH = 0.1  # of all turns
MANY = 64  # steps of one thread: below, nobody works for long
VERBS = {"load": "reads", "store": "writes"}
FEW_WARPS = 8  # with fewer, lanes mostly wait because there is no more to do

# What to do about loads that come again: where different threads want the same, and where one thread does.
KEEP = {
    False: (
        "keep it in shared memory",
        "Different threads want the same: let the block load it into shared memory once, wait at "
        "__syncthreads(), and take it from there.",
    ),
    True: (
        "keep it in registers",
        "The same threads want it again: let each keep what it has loaded in variables of its own, or do "
        "the work in one pass. (A compiler does it where it can see that nobody writes in between.)",
    ),
}


@dataclass(frozen=True)
class Cost:
    """Something that could be cheaper. `count` is what was counted, `turns` what costs are ordered by.

    `kind`: "sectors", "conflicts", "alone", "divergence", "partial", "again" or "atomics". `line` and `array`
    are those where most of it happens, if it happens somewhere. `short` stands in a report's first line.
    `lines` are all lines that are counted together.
    """

    kind: str
    count: int
    turns: float
    short: str
    message: str
    line: int | None = None
    source: str = ""
    array: str | None = None
    lines: tuple[int, ...] = ()


def costs(report: Report) -> list[Cost]:
    """What is worth a word, the most expensive first."""
    whole = _turns(report)
    if not whole:
        return []
    found = [*_sectors(report), *_conflicts(report), *_partial(report)]
    alone = list(_alone(report, whole))
    found += alone or list(_divergence(report))
    found = [cost for cost in found if cost.turns >= WORTH * whole]
    found += _again(report, whole, {cost.array for cost in found})
    return sorted(found, key=lambda cost: -cost.turns)


def _turns(report: Report) -> float:
    sectors = report.global_load_sectors + report.global_store_sectors + report.atomics
    steps = sum(line.warp_steps for line in report.lines.values())
    operations = (report.flops + report.int_ops) / OPERATIONS
    return OF_A_SECTOR * sectors + steps + report.bank_conflicts + operations


def _on_lines(report: Report) -> Iterator[tuple[LineCounters, ArrayCounters]]:
    for line in report.lines.values():
        for array in line.arrays.values():
            yield line, array


def _sectors(report: Report) -> Iterator[Cost]:
    """By array; lines on which it is the same are told together, and loads with stores that are like them."""
    alike: dict[tuple[str, tuple[int, ...], tuple[str, str]], list[tuple[str, Wasted]]] = {}
    for kind in VERBS:
        for name, wasted in _wasted(report, kind).items():
            worst = _worst(wasted, kind)
            hint = sector_hint(report.seen.requests[worst.line, kind, name])
            lines = tuple(sorted(line.line for line, _ in wasted))
            alike.setdefault((name, lines, hint), []).append((kind, wasted))
    for (name, lines, (short, told)), kinds in alike.items():
        sectors, ideal, requests = [
            sum(getattr(array, f"global_{kind}_{what}") for kind, wasted in kinds for _, array in wasted)
            for what in ("sectors", "sectors_ideal", "requests")
        ]
        kind, wasted = kinds[0]
        worst = _worst(wasted, kind)
        verb = " and ".join(VERBS[kind] for kind, _ in kinds)
        where = f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
        others = f" ({where} together)" if len(lines) > 1 else ""
        yield Cost(
            "sectors", sectors - ideal, OF_A_SECTOR * (sectors - ideal),
            f"{sectors:,} sectors at {where} where {ideal:,} would do: {short}",
            f"it {verb} {name} in {sectors:,} sectors{others}, and {ideal:,} would do for what its warps "
            f"ask for: {sectors / requests:.3g} to a request. {told}",
            worst.line, worst.source, name, lines,
        )  # fmt: skip


def _wasted(report: Report, kind: str) -> dict[str, Wasted]:
    """The lines that waste sectors, by array."""
    found: dict[str, Wasted] = {}
    for line, array in _on_lines(report):
        if _is_wasteful(report, kind, line.line, array):
            found.setdefault(array.array, []).append((line, array))
    return found


def _worst(wasted: Wasted, kind: str) -> LineCounters:
    return max(wasted, key=lambda both: _moved(both[1], kind))[0]


def _moved(array: ArrayCounters, kind: str) -> int:
    return int(getattr(array, f"global_{kind}_sectors"))


def _is_wasteful(report: Report, kind: str, line: int, array: ArrayCounters) -> bool:
    """Whether what is wrong with the sectors of a line is the addresses."""
    seen = report.seen.requests.get((line, kind, array.array))
    requests = getattr(array, f"global_{kind}_requests")
    ideal = getattr(array, f"global_{kind}_sectors_ideal")
    if seen is None or not requests or _moved(array, kind) < max(2 * ideal, 4 * requests):
        return False
    return abs(stride_of(seen) or 0) * seen.item != seen.size  # the gaps are lanes that wait


def _conflicts(report: Report) -> Iterator[Cost]:
    for line, array in _on_lines(report):
        requests = array.shared_load_requests + array.shared_store_requests
        if not array.bank_conflicts or array.bank_conflicts * 2 < requests:
            continue
        short, told = _conflict_hint(report, line, array)
        yield Cost(
            "conflicts", array.bank_conflicts, array.bank_conflicts,
            f"{plural(array.bank_conflicts, 'bank conflict')} at line {line.line}: {short}",
            f"{plural(array.bank_conflicts, 'bank conflict')} in {plural(requests, 'request')} to "
            f"{array.array}: words of one bank come one after the other. {told}",
            line.line, line.source, array.array, (line.line,),
        )  # fmt: skip


def _conflict_hint(report: Report, line: LineCounters, array: ArrayCounters) -> tuple[str, str]:
    name = array.array
    all_of_it = [r for r in report.seen.requests.values() if r.array == name and r.space == "shared"]
    whole = (
        math.prod(array.shape) * array.item == array.shared_bytes
    )  # its elements are numbers, and no records
    more = padded(all_of_it) if whole else None
    if more:
        shape = next(r.shape for r in all_of_it if len(r.shape) >= 2)
        longer = "".join(f"[{length}]" for length in (*shape[:-1], shape[-1] + more))
        return f"pad the rows of {name}: {name}{longer}", (
            f"Declare it {name}{longer}: with {more} more in each row, the rows begin in different banks."
        )
    here = [r for r in all_of_it if r.line == line.line]
    worst = max(here, key=lambda r: r.conflicts, default=None)
    stride = None if worst is None else stride_of(worst)
    if stride is not None and abs(stride) > 1:
        return f"let neighbouring threads touch neighbouring elements of {name}", (
            f"Neighbouring threads touch elements {abs(stride):,} apart: let them touch neighbours, or "
            f"store what they share with gaps, so that it falls into different banks."
        )
    return f"spread what a warp touches of {name} over the banks", (
        "Choose the index so that the 32 threads of a warp touch 32 different banks, or the same word."
    )


def _partial(report: Report) -> Iterator[Cost]:
    threads = report.block[0] * report.block[1] * report.block[2]
    warps = -(-threads // LANES)
    missing = warps * LANES - threads
    if missing * 8 < warps * LANES or len(report.steps_by_thread) < 8:
        return
    steps = sum(line.warp_steps for line in report.lines.values())
    better = f"take a multiple of {LANES} threads"
    yield Cost(
        "partial", missing, steps * missing / (warps * LANES),
        f"blocks of {plural(threads, 'thread')} leave {missing} of {warps * LANES} lanes empty: {better}",
        f"a block of {plural(threads, 'thread')} takes {plural(warps, 'warp')}, of whose {warps * LANES} "
        f"lanes {missing} have no thread: {better}.",
    )  # fmt: skip


def _alone(report: Report, whole: float) -> Iterator[Cost]:
    """One thread of each block, one warp of each, or one block does most of what is done."""
    by_thread = report.steps_by_thread
    total = int(by_thread.sum())
    if report.span < MANY or not total:
        return
    blocks, threads = by_thread.shape
    each = "" if blocks == 1 else " of each block"
    warps = np.add.reduceat(by_thread, np.arange(0, threads, LANES), axis=1)
    for what, steps, least, share in (
        ("thread", by_thread.sum(axis=0), 8, 0.5),
        ("warp", warps.sum(axis=0), 2 if blocks >= 4 else threads, 0.9),
        ("block", by_thread.sum(axis=1), 4, 0.9),
    ):
        if len(steps) < least or steps.max() < share * total:
            continue
        number, most = int(steps.argmax()), int(steps.max())
        who = f"{what} {number}{each if what != 'block' else ''}"
        others = f"the other {what}s"
        yield Cost(
            "alone", most, whole,
            f"{who} takes {most:,} of {total:,} steps: share its work with {others}",
            f"{who} takes {most:,} of all {total:,} steps, and {others} have little to do: share its loop "
            f"among them. The longest thread takes {report.span:,} steps, one after the other.",
        )  # fmt: skip
        return


def _divergence(report: Report) -> Iterator[Cost]:
    lines = [line for line in report.lines.values() if line.divergent_branches]
    steps = sum(line.warp_steps for line in report.lines.values())
    waiting = sum(line.idle_steps for line in report.lines.values())
    often = report.divergent_branches * 10 >= steps
    if not lines or not often or report.warps < FEW_WARPS or waiting * 10 < 3 * steps * LANES:
        return
    worst = max(lines, key=lambda line: line.divergent_branches)
    times = plural(report.divergent_branches, "time")
    share = 100 * waiting // (steps * LANES)
    yield Cost(
        "divergence", report.divergent_branches, waiting / LANES,
        f"warps part ways {times} (most at line {worst.line}), and {share}% of their lanes' steps are waits: "
        "let each warp go one way",
        f"warps part ways {times}, {worst.divergent_branches:,} of them here, and at least {waiting:,} of "
        f"{steps * LANES:,} steps of their lanes are spent waiting for the others. Let the threads of a warp "
        "go the same way: choose by warps and not by threads, or give them work of equal length.",
        worst.line, worst.source,
    )  # fmt: skip


def _again(report: Report, whole: float, taken: set[str | None]) -> Iterator[Cost]:
    """What one block loads or updates again and again; it runs once more, where the totals give reason to."""
    loads = {
        name: array
        for name, array in report.arrays.items()
        if SECTOR * array.global_load_sectors_ideal >= 3 * max(1, array.unique_bytes) and name not in taken
    }
    if report.rerun is None or not (loads or report.atomics * OF_A_SECTOR >= WORTH * whole):
        return
    number = len(report.steps_by_thread) // 2
    gx, gy, _ = report.grid
    block = f"block {triple((number % gx, number // gx % gy, number // (gx * gy)))}"
    for (kind, name), (asked, different, alone) in report.rerun.reuse(number).items():
        array = report.arrays.get(name)
        if array is None or not different:
            continue
        times, line = asked / different, _busiest(report, name, kind)
        where = (line.line, line.source, name) if line else (None, "", name)
        if kind == "load" and name in loads and times >= 3:
            turns = array.global_load_sectors_ideal * (1 - 1 / times)
            moved = report.global_load_sectors_ideal + report.global_store_sectors_ideal
            if turns >= WORTH * whole and array.global_load_sectors_ideal >= 0.4 * moved:
                yield Cost(
                    "again", asked - different, turns,
                    f"each block loads what it needs of {name} {times:.3g} times: {KEEP[alone][0]}",
                    f"the warps of {block} load {asked:,} bytes of {name}, of which {different:,} are "
                    f"different: each comes {times:.3g} times. {KEEP[alone][1]}", *where,
                )  # fmt: skip
        elif kind == "atomic" and times >= 8:
            turns = OF_A_SECTOR * array.atomics * (1 - 1 / times)
            if turns >= WORTH * whole:
                yield Cost(
                    "atomics", array.atomics, turns,
                    f"{array.atomics:,} atomics on few elements of {name}: combine them in the block first",
                    f"{block} makes {asked // array.item:,} atomics on "
                    f"{plural(different // array.item, 'element')} of {name}, and those on one element come "
                    "one after the other. Combine them within the block first, in shared memory or with "
                    "shuffles, and make one atomic for each element.", *where,
                )  # fmt: skip


def _busiest(report: Report, name: str, kind: str) -> LineCounters | None:
    """The line that asks most of an array."""
    field = "atomics" if kind == "atomic" else "global_load_requests"
    here = [line for line in report.lines.values() if name in line.arrays]
    return max(here, key=lambda line: getattr(line.arrays[name], field), default=None)
