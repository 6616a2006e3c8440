"""Random programs: the races that are found, against every pair of accesses and full vector clocks."""

from __future__ import annotations

import numpy as np
import pytest
from recording import FakeMemory, Run, shared

pytestmark = pytest.mark.slow


class Slow:
    """Knows every access (thread, line, bytes, kind), and of each thread what it knows of all others."""

    def __init__(self, run):
        self.run, self.time = run, 0
        self.threads = {int(g): (w, lane) for w, lane in np.argwhere(run.exists) for g in [run.g[w, lane]]}
        self.knows = {g: dict.fromkeys(self.threads, -1) for g in self.threads}
        self.fences = {}  # of each thread, when it fenced last and what it knew
        self.released = []  # by the ticket's atomics
        self.pending = {
            g: 0 for g in self.threads
        }  # how many of these each has seen, and (fenced) may rely on
        self.certain = {g: 0 for g in self.threads}
        self.accesses = []
        self.races, self.notes = set(), set()  # a note: nothing but the reader's fence is missing

    def block(self, g):
        return int(self.run.b[self.threads[g]])

    def access(self, kind, line, space, where, index, item, size):
        self.time += 1
        new = []
        for g, at in self.threads.items():
            if where[at]:
                first = int(index[at]) * item
                home = self.block(g) if space == "shared" else -1
                new.append((g, self.time, line, kind, {(home, byte) for byte in range(first, first + size)}))
        for g, _, line, kind, bytes_ in new:
            for other, then, other_line, other_kind, others in self.accesses + new:
                if other == g or not bytes_ & others or {kind, other_kind} in ({"load"}, {"atomic"}):
                    continue
                if self.knows[g][other] < then and not self.published(g, other, then):
                    if self.published(g, other, then, self.pending):
                        self.notes.add(("last-block", line, other_line))
                        continue
                    same_warp = self.threads[g][0] == self.threads[other][0]
                    self.races.add(("warp" if same_warp else space, line, other_line))
        self.accesses += new

    def published(self, g, other, then, learnt=None):
        if self.block(g) == self.block(other):
            return False
        count = max(table[g] for table in (self.certain, learnt or self.certain))
        return any(known[other] >= then for known in self.released[:count])

    def fence(self, where):
        self.time += 1
        for g, at in self.threads.items():
            if where[at]:
                self.fences[g] = (self.time, {**self.knows[g], g: self.time})
                self.certain[g] = max(self.certain[g], self.pending[g])

    def ticket(self, where):
        self.time += 1
        for g, at in self.threads.items():
            if where[at]:
                self.pending[g] = len(self.released)
                known = dict.fromkeys(self.threads, -1)
                for other, (then, knew) in self.fences.items():
                    if other == g or self.knows[g][other] >= then:
                        known = {k: max(known[k], knew[k]) for k in known}
                self.released.append(known)

    def join(self, members):
        self.time += 1
        known = {g: max(self.knows[m][g] for m in members) for g in self.threads}
        known.update(dict.fromkeys(members, self.time))
        for table in (self.pending, self.certain):
            table.update(dict.fromkeys(members, max(table[m] for m in members)))
        for m in members:
            self.knows[m] = dict(known)

    def barrier(self):
        for block in range(int(self.run.b.max()) + 1):
            self.join([g for g in self.threads if self.block(g) == block])

    def syncwarp(self, mask):
        for w in range(len(self.run.warps)):
            members = [g for g, (row, lane) in self.threads.items() if row == w and mask >> lane & 1]
            if members:
                self.join(members)


def random_program(seed, space, masks):
    rng = np.random.default_rng(seed)
    run = Run(grid=int(rng.integers(1, 3)), block=int(rng.choice([8, 40])))
    slow = Slow(run)
    memory = shared("m", 16, "int32") if space == "shared" else FakeMemory("m", 16, "int32")
    # Few threads and few elements at a time: many programs race, and many do not.
    for line in range(1, int(rng.integers(4, 14))):
        what = rng.choice(["load", "store", "atomic", "barrier", "syncwarp"], p=[0.3, 0.2, 0.1, 0.15, 0.25])
        if what == "barrier":
            run.barrier(line)
            slow.barrier()
        elif what == "syncwarp":
            mask = int(rng.choice(masks))
            run.syncwarp(line, mask, where=(mask >> (run.t % 32)) & 1 == 1)
            slow.syncwarp(mask)
        else:
            size = 4 if what == "atomic" else int(rng.choice([4, 4, 4, 16]))
            if rng.random() < 0.3:
                where = run.exists
                index = run.t % 16 if rng.random() < 0.5 else 0 * run.t + rng.integers(0, 16)
            else:
                chosen = rng.choice(list(slow.threads), size=int(rng.integers(1, 5)))
                where = run.exists & np.isin(run.g, chosen)
                index = rng.integers(0, 16, run.t.shape)
            index = index // (size // 4) * (size // 4)
            value = [run.g * 100 + line] * 4 if size == 16 else run.g * 100 + line
            value = [v.astype(np.int32) for v in value] if size == 16 else value
            run.access(what, line, memory, index, where, size, value if what == "store" else None)
            slow.access(what, line, space, where, index, 4, size)
    return run, slow


FULL = (0xFFFFFFFF,)
HALVES = (0xFFFFFFFF, 0x0000000F, 0xFFFFFFF0, 0x0000FFFF)


@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize("masks", [FULL, HALVES], ids=["full masks", "partial masks"])
def test_what_is_reported_races_and_what_races_is_reported(space, masks):
    racy = 0
    for seed in range(60):
        run, slow = random_program(seed, space, masks)
        report = run.report()
        found = {(race.kind, race.line, race.other_line) for race in report.races}
        assert found <= slow.races, (seed, found - slow.races)
        assert bool(found) == bool(slow.races), (seed, slow.races)
        racy += bool(found)
    assert 10 < racy < 58


def random_tickets(seed):
    """Writes, fences, tickets and reads of a few threads of three blocks, with joins in between."""
    rng = np.random.default_rng(seed)
    run = Run(grid=3, block=int(rng.choice([1, 4, 40])))
    slow = Slow(run)
    memory = FakeMemory("m", 16, "int32", base=0x7000_0000_0000)
    counter = FakeMemory("counter", 1, "int32", base=0x7000_0001_0000)
    usual = ["store", "fence", "ticket", "fence", "load"]
    steps = [str(rng.choice(["barrier", "syncwarp"])) if rng.random() < 0.3 else step for step in usual]
    steps += usual[2:]
    for line, what in enumerate(steps, 1):
        low = 0 if rng.random() < 0.5 else int(rng.integers(0, 3))
        where = run.exists & (run.t == rng.integers(0, 2) * (rng.random() < 0.3)) & (run.b >= low)
        if what in ("barrier", "syncwarp"):
            run.barrier(line) if what == "barrier" else run.syncwarp(line)
            slow.barrier() if what == "barrier" else slow.syncwarp(0xFFFFFFFF)
        elif what == "fence":
            run.fence(line, where)
            slow.fence(where)
        elif what == "ticket":
            run.atomic(line, counter, 0, where)
            slow.ticket(where)
        else:
            index = run.b if what == "store" else (run.b + rng.integers(-1, 1)) % 3
            value = (run.g * 100 + line).astype(np.int32)
            run.access(what, line, memory, index, where, None, value if what == "store" else None)
            slow.access(what, line, "global", where, index, 4, 4)
    return run, slow


def test_tickets_order_blocks_as_the_slow_count_says():
    racy = noted = 0
    for seed in [*range(150), 1302]:  # in 1302 another lane of the warp fences
        run, slow = random_tickets(seed)
        report = run.report()
        races, notes = (
            {(one.kind, one.line, one.other_line) for one in found} for found in (report.races, report.notes)
        )
        assert races == slow.races, (seed, races, slow.races)
        assert notes <= slow.notes and bool(notes | races) == bool(slow.notes | slow.races), (
            seed,
            slow.notes,
        )
        racy += bool(races)
        noted += bool(notes)
    assert 20 < racy < 130 and 5 < noted < 100
