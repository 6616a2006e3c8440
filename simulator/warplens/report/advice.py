"""What a correct kernel pays for more than it need, and what to do about it.

Everything is counted, and told as it was counted. To say what is most expensive, costs of different sorts are
brought to turns, about one cycle of a multiprocessor: a turn of shared memory, or a step of a warp, is one;
a sector of global memory two (the bandwidth of a data sheet, shared among the multiprocessors; no cache is
thought of, which would help a small launch more than a large one); an operation of a warp 1/4, and so is the
test of a branch or a loop. Turns decide the order, and what is less than a tenth of all turns is not worth a
word. They are no forecast and are not shown.

| cost | counted | told where |
|---|---|---|
| sectors | sectors beyond `... at best`, by line and array | twice the best, four to a request |
| conflicts | bank conflicts, by line and array | at least one for every other request |
| alone | steps of the thread, warp or block that takes most of them | half of all, or 90% |
| divergence | steps that lanes wait for others | half of all (30%: a branch in ten steps), 8 warps |
| partial | lanes of the last warp of a block that do not exist | an eighth of all lanes, and 8 blocks |
| again | sectors of an array that a block loads, and how many are different | three times, 40% of all |
| atomics | atomics of one block, and on how many different bytes | eight to an element |
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from warplens.report.access_patterns import sector_hint, stride_of
from warplens.report.counters import ArrayCounters, LineCounters
from warplens.report.data import BlockMemory, ReportData
from warplens.report.messages import plural, triple
from warplens.report.transactions import LANES, SECTOR

Wasted = list[tuple[LineCounters, ArrayCounters]]

OF_A_SECTOR = 2  # turns
OPERATIONS = 128  # of lanes, in a turn
TESTS = 4  # of warps, in a turn
WORTH = 0.1  # of all turns
MANY = 64  # steps of one thread: below, nobody works for long
LONG = 512  # and from here on, one block for everything is too little
VERBS = {"load": "read", "store": "write"}
FEW_WARPS = 8  # with fewer, lanes mostly wait because there is no more to do

# What to do about loads that come again: where different threads want the same, and where one thread does.
KEEP = {
    False: (
        "keep it in shared memory",
        "Different threads want the same: let the block load it into shared memory once, wait at "
        "__syncthreads(), and take it from there. (A cache may do so for what is small.)",
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
    are those where most of it happens, if it happens somewhere. `short` stands in a report's first line;
    `message` says what was counted, and `advice` what to do. `lines` are all lines that are counted together.
    """

    kind: str
    count: int
    turns: float
    short: str
    message: str
    advice: str = ""
    line: int | None = None
    source: str = ""
    array: str | None = None
    lines: tuple[int, ...] = ()


def costs(report: ReportData) -> list[Cost]:
    """What is worth a word, the most expensive first."""
    whole = _turns(report)
    if not whole:
        return []
    found = [*_sectors(report), *_conflicts(report), *_partial(report)]
    alone = list(_alone(report, whole))
    found += alone or list(_divergence(report))
    found = [cost for cost in found if cost.turns >= WORTH * whole]
    found += _again(report, whole, {cost.array for cost in found})
    return _told_once(sorted(found, key=lambda cost: -cost.turns))


def _told_once(found: list[Cost]) -> list[Cost]:
    """The same advice in full where it comes first."""
    first: dict[str, Cost] = {}
    made = []
    for cost in found:
        before = first.setdefault(cost.advice.replace(f"`{cost.array}`", ""), cost)
        if before is not cost and cost.advice:
            cost = replace(cost, advice=f"As for `{before.array}` above." if before.array else "As above.")
        made.append(cost)
    return made


def _turns(report: ReportData) -> float:
    sectors = report.global_load_sectors + report.global_store_sectors + report.atomics
    steps = sum(line.warp_steps for line in report.lines.values())
    shared = report.shared_load_requests + report.shared_store_requests
    requests = shared + report.global_load_requests + report.global_store_requests
    others = (steps - requests) / TESTS + (report.flops + report.int_ops) / OPERATIONS
    return OF_A_SECTOR * sectors + requests + report.bank_conflicts + others


def _on_lines(report: ReportData) -> Iterator[tuple[LineCounters, ArrayCounters]]:
    for line in report.lines.values():
        for array in line.arrays.values():
            yield line, array


def _sectors(report: ReportData) -> Iterator[Cost]:
    """By array; lines on which it is the same are told together, and loads with stores that are like them."""
    alike: dict[tuple[str, tuple[int, ...], tuple[str, str]], list[tuple[str, Wasted]]] = {}
    for kind in VERBS:
        for name, wasted in _wasted(report, kind).items():
            worst = _worst(wasted, kind)
            seen = report.seen.requests
            beside = [r for (line, _, other), r in seen.items() if line == worst.line and other != name]
            hint = sector_hint(seen[worst.line, kind, name], beside, report.block[0])
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
            f"warps {verb} `{name}` in {sectors:,} sectors{others}, and {ideal:,} would do for what they ask "
            f"for: {sectors / requests:.3g} to a request.",
            told, worst.line, worst.source, name, lines,
        )  # fmt: skip


def _wasted(report: ReportData, kind: str) -> dict[str, Wasted]:
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


def _is_wasteful(report: ReportData, kind: str, line: int, array: ArrayCounters) -> bool:
    """Whether what is wrong with the sectors of a line is the addresses."""
    seen = report.seen.requests.get((line, kind, array.array))
    requests = getattr(array, f"global_{kind}_requests")
    ideal = getattr(array, f"global_{kind}_sectors_ideal")
    if seen is None or not requests or _moved(array, kind) < max(2 * ideal, 4 * requests):
        return False
    return abs(stride_of(seen) or 0) * seen.item != seen.size  # the gaps are lanes that wait


def _conflicts(report: ReportData) -> Iterator[Cost]:
    for line, array in _on_lines(report):
        requests = array.shared_load_requests + array.shared_store_requests
        if not array.bank_conflicts or array.bank_conflicts * 2 < requests:
            continue
        short, told = _conflict_hint(report, line, array)
        yield Cost(
            "conflicts", array.bank_conflicts, array.bank_conflicts,
            f"{plural(array.bank_conflicts, 'bank conflict')} at line {line.line}: {short}",
            f"{plural(array.bank_conflicts, 'bank conflict')} in {plural(requests, 'request')} to "
            f"`{array.array}`: words of one bank come one after the other.",
            told, line.line, line.source, array.array, (line.line,),
        )  # fmt: skip


def _conflict_hint(report: ReportData, line: LineCounters, array: ArrayCounters) -> tuple[str, str]:
    name = array.array
    alone = _alone_again(report)
    more = alone.padded(name) if alone else 0
    if more:
        longer = name + "".join(f"[{length}]" for length in (*array.shape[:-1], array.shape[-1] + more))
        return f"pad the rows of {name}: {longer}", (
            f"Declare it `{longer}`: with {more} more in each row, the rows begin in different banks."
        )
    here = [r for r in report.seen.requests.values() if (r.array, r.line) == (name, line.line)]
    worst = max(here, key=lambda r: r.conflicts, default=None)
    stride = None if worst is None else stride_of(worst)
    if worst is not None and stride is not None and abs(stride) * worst.item > worst.size:
        return f"let neighbouring threads touch neighbouring elements of {name}", (
            f"Neighbouring threads touch what lies {abs(stride) * worst.item:,} bytes apart: let them touch "
            "neighbours, or store what they share with gaps, so that it falls into different banks."
        )
    return f"spread what a warp touches of {name} over the banks", (
        "Choose the index so that the 32 threads of a warp touch 32 different banks, or the same word."
    )


def _alone_again(report: ReportData) -> BlockMemory | None:
    """What a block in the middle of the grid asks of memory when it runs once more."""
    return None if report.rerun is None else report.rerun.alone(len(report.steps_by_thread) // 2)


def _partial(report: ReportData) -> Iterator[Cost]:
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
        f"lanes {missing} have no thread.",
        f"{better.capitalize()}.",
    )  # fmt: skip


def _alone(report: ReportData, whole: float) -> Iterator[Cost]:
    """One thread of each block, one warp of each, or one block does most of what is done."""
    by_thread = report.steps_by_thread
    total = int(by_thread.sum())
    if report.span < MANY or not total:
        return
    blocks, threads = by_thread.shape
    longest = f"The longest thread takes {report.span:,} steps, one after the other."
    if threads == 1 or (blocks == 1 and report.span >= LONG):
        what = "of one thread" if threads == 1 else "alone"
        share = "launch 128 or 256 threads in each" if threads == 1 else "share its work with others"
        yield Cost(
            "alone", total, whole if threads == 1 else WORTH * whole,
            f"{plural(blocks, 'block')} {what} take{'s' * (blocks == 1)} {total:,} steps: {share}",
            f"{plural(blocks, 'block')} of {plural(threads, 'thread')} make{'s' * (blocks == 1)} all "
            f"{total:,} steps; a GPU has many multiprocessors, and each has room for more. {longest}",
            f"{share.capitalize()}: let an index of block and thread say which part is whose.",
        )  # fmt: skip
        return
    each = "" if blocks == 1 else " of each block"
    warps = np.add.reduceat(by_thread, np.arange(0, threads, LANES), axis=1)
    for what, taken, least, part in (
        ("thread", by_thread.sum(axis=0), 8, 0.5),
        ("warp", warps.sum(axis=0), 2 if blocks >= 4 else math.inf, 0.9),
        ("block", by_thread.sum(axis=1), 4, 0.9),
    ):
        if len(taken) < least or taken.max() < part * total:
            continue
        number, most = int(taken.argmax()), int(taken.max())
        who = f"{what} {number}{each if what != 'block' else ''}"
        others = f"the other {what}s"
        yield Cost(
            "alone", most, whole,
            f"{who} takes {most:,} of {total:,} steps: share its work with {others}",
            f"{who} takes {most:,} of all {total:,} steps, and {others} have little to do. {longest}",
            "Share its loop among them.",
        )  # fmt: skip
        return


def _divergence(report: ReportData) -> Iterator[Cost]:
    lines = [line for line in report.lines.values() if line.divergent_branches]
    steps = sum(line.warp_steps for line in report.lines.values())
    waiting = sum(line.idle_steps for line in report.lines.values())
    share = waiting / (steps * LANES) if steps else 0
    often = report.divergent_branches * 10 >= steps
    if not lines or report.warps < FEW_WARPS or share < (0.3 if often else 0.5):
        return
    worst = max(lines, key=lambda line: line.divergent_branches)
    times = plural(report.divergent_branches, "time")
    yield Cost(
        "divergence", report.divergent_branches, waiting / LANES,
        f"warps part ways {times} (most at line {worst.line}), and {share:.0%} of their lanes' steps are "
        "waits: let each warp go one way",
        f"warps part ways {times}, {worst.divergent_branches:,} of them here, and at least {waiting:,} of "
        f"{steps * LANES:,} steps of their lanes are spent waiting for the others.",
        "Let the threads of a warp go the same way: choose by warps and not by threads, or give them work of "
        "equal length: let a warp share what one thread has too much of.",
        worst.line, worst.source,
    )  # fmt: skip


def _again(report: ReportData, whole: float, taken: set[str | None]) -> Iterator[Cost]:
    """What one block loads or updates again and again; it runs once more, where the totals give reason to."""
    loads = {
        name: array
        for name, array in report.arrays.items()
        if SECTOR * array.global_load_sectors >= 3 * max(1, array.unique_bytes) and name not in taken
    }
    if not (loads or report.atomics * OF_A_SECTOR >= WORTH * whole):
        return
    alone = _alone_again(report)
    if alone is None:
        return
    number = len(report.steps_by_thread) // 2
    gx, gy, _ = report.grid
    block = f"block {triple((number % gx, number // gx % gy, number // (gx * gy)))}"
    for (kind, name), (asked, different, by_itself) in alone.reuse().items():
        array = report.arrays.get(name)
        if array is None or not different:
            continue
        times, line = asked / different, _busiest(report, name, kind)
        same_thread = by_itself >= 2
        where = (line.line, line.source, name) if line else (None, "", name)
        if kind == "load" and name in loads and times >= 3 and not 2 <= by_itself <= 3:  # passes
            turns = array.global_load_sectors * (1 - 1 / times)
            moved = report.global_load_sectors + report.global_store_sectors
            if turns >= WORTH * whole and array.global_load_sectors >= 0.4 * moved:
                yield Cost(
                    "again", asked - different, turns,
                    f"each block loads what it needs of {name} {times:.3g} times: {KEEP[same_thread][0]}",
                    f"the warps of {block} load {asked:,} sectors of `{name}`, of which {different:,} are "
                    f"different: each comes {times:.3g} times.", KEEP[same_thread][1], *where,
                )  # fmt: skip
        elif kind == "atomic" and times >= 8:
            turns = OF_A_SECTOR * array.atomics * (1 - 1 / times)
            if turns >= WORTH * whole:
                yield Cost(
                    "atomics", array.atomics, turns,
                    f"{array.atomics:,} atomics on few elements of {name}: combine them in the block first",
                    f"{block} makes {asked:,} atomics on {plural(different, 'element')} of `{name}`, and "
                    "those on one element come one after the other.",
                    "Combine them within the block first, in shared memory or with shuffles, and make one "
                    "atomic for each element.", *where,
                )  # fmt: skip


def _busiest(report: ReportData, name: str, kind: str) -> LineCounters | None:
    """The line that asks most of an array."""
    field = "atomics" if kind == "atomic" else "global_load_requests"
    here = [line for line in report.lines.values() if name in line.arrays]
    return max(here, key=lambda line: getattr(line.arrays[name], field), default=None)
