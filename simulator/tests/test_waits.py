"""Threads that wait for each other as professionals write it: flags, locks, barriers of a whole grid, queues.

What each kernel deserves was said from CUDA's memory model first: it is right, or it races, or it never ends.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from key_words import says
from tiers import slow_where

from warplens import KernelFault, RawKernel, cp, profile, simulate
from warplens.kernel import Kernel

SCHEDULES = ["lockstep", "forward", "reverse"]


def kernel(body: str, before: str = "") -> Kernel:
    parameters = "int* a, int* data, int* out, int n"
    return RawKernel(f'{before}\nextern "C" __global__ void k({parameters}) {{\n{body}\n}}', "k")


def given(n: int = 3) -> tuple[Any, ...]:
    return cp.zeros(256, cp.int32), cp.arange(256, dtype=cp.int32), cp.zeros(256, cp.int32), n


# ------------------------------------------------------------------------------------------------ the kernels

CHAIN = """__shared__ int b, before;
volatile int* flag = a; volatile int* sum = a + 64;
if (threadIdx.x == 0) {
    b = atomicAdd(a + 128, 1);
    before = 0;
    if (b > 0) { while (flag[b - 1] == 0) { } __threadfence(); before = sum[b - 1]; }
    sum[b] = before + 1;
    __threadfence();
    flag[b] = 1;
}
__syncthreads();
if (threadIdx.x < 8) out[b * 8 + threadIdx.x] = before;"""
LOOK_BACK = """__shared__ int before;
volatile unsigned long long* state = (volatile unsigned long long*)a;
if (threadIdx.x == 0) {
    int b = gridDim.x - 1 - blockIdx.x;
    state[b] = (b == 0 ? 2ull << 32 : 1ull << 32) | 1;
    before = 0;
    for (int j = b - 1; j >= 0; ) {
        unsigned long long s = state[j];
        if (s >> 32 == 0) continue;
        before += (int)s;
        if (s >> 32 == 2) break;
        --j;
    }
    if (b > 0) state[b] = 2ull << 32 | (before + 1);
}
__syncthreads();
if (threadIdx.x < 8) out[(gridDim.x - 1 - blockIdx.x) * 8 + threadIdx.x] = before;"""
ROUNDS = """for (int r = 0; r < n; ++r) {
    if (threadIdx.x < 8) data[blockIdx.x * 8 + threadIdx.x] = r;
    meet(a, a + 1);
    if (threadIdx.x < 8) out[blockIdx.x * 8 + threadIdx.x] += data[(blockIdx.x + 1) % gridDim.x * 8];
    meet(a, a + 1);
}"""
MEET = """__device__ void meet(int* count, volatile int* sense) {
    __syncthreads();
    if (threadIdx.x == 0) {
        int before = *sense;
        __threadfence();
        if (atomicAdd(count, 1) == gridDim.x - 1) { *count = 0; __threadfence(); *sense = before + 1; }
        else { while (*sense == before) { } }
        __threadfence();
    }
    __syncthreads();
}"""
TICKETS = """if (threadIdx.x % 32 == 0) {
    int mine = atomicAdd(a, 1);
    while (*(volatile int*)(a + 1) != mine) { }
    __threadfence();
    out[0] += 1;
    __threadfence();
    *(volatile int*)(a + 1) = mine + 1;
}"""
TEST_FIRST = """if (threadIdx.x == 0) {
    do { while (*(volatile int*)a != 0) { } } while (atomicCAS(a, 0, 1) != 0);
    __threadfence();
    out[0] += 1;
    __threadfence();
    *(volatile int*)a = 0;
}"""
BACK_OFF = """if (threadIdx.x == 0) {
    unsigned wait = 8;
    while (atomicCAS(a, 0, 1) != 0) { __nanosleep(wait); wait *= 2; }
    __threadfence();
    out[0] += 1;
    __threadfence();
    atomicExch(a, 0);
}"""
DONE = """bool done = false;
while (!done) {
    if (atomicCAS(a, 0, 1) == 0) {
        __threadfence();
        out[0] += 1;
        __threadfence();
        atomicExch(a, 0);
        done = true;
    }
}"""
SEMAPHORE = """if (threadIdx.x == 0) {
    if (blockIdx.x == 0) atomicAdd(a, 2);
    while (atomicSub(a, 1) <= 0) atomicAdd(a, 1);
    atomicAdd(out, 1);
    atomicAdd(a, 1);
}"""
SLOT = """__shared__ int slot[32];
__shared__ volatile int full;
int lane = threadIdx.x % 32;
if (threadIdx.x == 0) full = 0;
__syncthreads();
for (int i = 0; i < n; ++i) {
    if (threadIdx.x < 32) {
        while (full != 0) { }
        __threadfence_block();
        slot[lane] = data[i * 32 + lane];
        __threadfence_block();
        __syncwarp();
        if (lane == 0) full = 1;
    } else {
        while (full == 0) { }
        __threadfence_block();
        out[i * 32 + lane] = slot[lane];
        __threadfence_block();
        __syncwarp();
        if (lane == 0) full = 0;
    }
    __syncwarp();
}"""
PUBLISHED = """__shared__ int ready;
if (blockIdx.x == gridDim.x - 1) {
    out[threadIdx.x] = 7;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(a, 1);
    return;
}
while (true) {
    if (threadIdx.x == 0) ready = *(volatile int*)a;
    __syncthreads();
    bool go = ready;
    __syncthreads();
    if (go) break;
}
__threadfence();
out[(blockIdx.x + 1) * 64 + threadIdx.x] = out[threadIdx.x] + 1;"""
QUEUE = """__shared__ int item;
while (true) {
    if (threadIdx.x == 0) item = ((volatile int*)a)[1] ? n : atomicAdd(a, 1);
    __syncthreads();
    int mine = item;
    __syncthreads();
    if (mine >= n) { if (threadIdx.x == 0) ((volatile int*)a)[1] = 1; break; }
    out[mine * 64 + threadIdx.x] = mine + 1;
}"""
SWITCHED = """bool go = true;
if (threadIdx.x == 0) {
    while (go) { switch (*(volatile int*)a) { case 1: go = false; break; default: go = true; } }
    out[0] = 1;
}
else if (threadIdx.x == 32) *(volatile int*)a = 1;"""
COUNTED = "if (threadIdx.x == 0) { C c; c.n = 0; while (c.more(a)) { } out[0] = c.n; }"
COUNTS = "struct C { int n; __device__ bool more(volatile int* p) { return ++n < 3000 && *p == 0; } };"
CROSSED = """if (threadIdx.x == 0) {
    while (((volatile int*)a)[1 - blockIdx.x % 2] == 0) { }
    ((volatile int*)a)[blockIdx.x % 2] = 1;
}"""
HALVES = """__shared__ volatile int s[64];
s[threadIdx.x] = data[threadIdx.x];
__syncthreads();
if (threadIdx.x < 32)
    for (int h = 32; h > 0; h /= 2) s[threadIdx.x] += s[threadIdx.x + h];
if (threadIdx.x == 0) out[blockIdx.x] = s[0];"""
DATA = """volatile int* v = a;
if (threadIdx.x == 0) v[blockIdx.x] = 1;
if (threadIdx.x == 32) out[blockIdx.x] = v[(blockIdx.x + 1) % gridDim.x];"""

EIGHTS = [b for b in range(4) for _ in range(8)]
MET = [3] * 32  # the rounds 0, 1, 2 together
Change = tuple[str, str]  # what is there, and what is written in its place
# The kernel, what comes before it, how many blocks there are, and what comes out at first, or the change.
RIGHT: dict[str, tuple[str, str, int, list[int]]] = {
    "a chained scan": (CHAIN, "", 4, EIGHTS),
    "a look-back over packed states": (LOOK_BACK, "", 4, EIGHTS),
    "a barrier of the grid, used again": (ROUNDS, MEET, 4, MET),
    "a ticket lock": (TICKETS, "", 4, [8]),
    "a lock that is tested first": (TEST_FIRST, "", 4, [4]),
    "a lock with a back-off": (BACK_OFF, "", 4, [4]),
    "a lock for each thread": (DONE, "", 2, [128]),
    "a semaphore": (SEMAPHORE, "", 4, [4]),
    "a slot between two warps": (SLOT, "", 1, [*range(96)]),
    "one thread polls for its block": (PUBLISHED, "", 3, [7] * 64 + [8] * 128),
    "a queue of work": (QUEUE, "", 3, [1] * 64 + [2] * 64 + [3] * 64),
    "a switch asks for a flag": (SWITCHED, "", 1, [1]),
    "an object that counts while it waits": (COUNTED, COUNTS, 1, [3000]),
}
FENCE, BLOCK_FENCE = "__threadfence();", "__threadfence_block();"
RACES: dict[str, tuple[str, str, int, Change]] = {
    "no fence behind a poll on the same line": (CHAIN, "", 4, ("{ } __threadfence();", "{ }")),
    "no fence before a flag": (CHAIN, "", 4, (f"1;\n    {FENCE}\n    flag", "1;\n    flag")),
    "a flag before its data": (
        CHAIN, "", 4, (f"sum[b] = before + 1;\n    {FENCE}\n    flag[b] = 1;",
                       f"flag[b] = 1;\n    {FENCE}\n    sum[b] = before + 1;"),
    ),
    "no __syncthreads() behind a poll": (CHAIN, "", 4, ("__syncthreads();", "")),
    "a ticket lock without a fence": (TICKETS, "", 4, (f"{FENCE}\n    out", "out")),
    "a lock given back too early": (
        TICKETS, "", 4, (f"out[0] += 1;\n    {FENCE}\n    *(volatile int*)(a + 1) = mine + 1;",
                         "*(volatile int*)(a + 1) = mine + 1;\n    out[0] += 1;"),
    ),
    "no __syncwarp() before a flag": (
        SLOT, "", 1, ("__syncwarp();\n        if (lane == 0) full = 1", "if (lane == 0) full = 1"),
    ),
    "a slot without a fence": (SLOT, "", 1, (f"lane];\n        {BLOCK_FENCE}", "lane];")),
    "a block that asks too early": (PUBLISHED, "", 3, ("go = ready;\n    __syncthreads();", "go = ready;")),
    "the lanes of a warp in step": (HALVES, "", 2, ("", "")),
    "volatile data without a flag": (DATA, "", 4, ("", "")),
}  # fmt: skip
ENDLESS: dict[str, tuple[str, str, int, Change]] = {
    "a lock that is never given back": (BACK_OFF, "", 4, ("atomicExch(a, 0);", "")),
    "a lock for each thread that is kept": (DONE, "", 2, ("atomicExch(a, 0);", "")),
    "a ticket lock that is kept": (TICKETS, "", 4, ("*(volatile int*)(a + 1) = mine + 1;", "")),
    "two blocks that wait for each other": (CROSSED, "", 2, ("", "")),
    "a barrier of the grid that a block misses": (ROUNDS, MEET, 4, ("r < n", "r < n - (blockIdx.x == 2)")),
}


def changed(what: tuple[str, str, int, Change]) -> Kernel:
    body, before, _, (old, new) = what
    assert old in body
    return kernel(body.replace(old, new) if old else body, before)


LONG = ("a lock for each thread", "an object that counts while it waits")


@pytest.mark.parametrize("what", slow_where(RIGHT, LONG.__contains__))
def test_what_is_right_gives_the_same_in_each_schedule_and_no_race(what: str) -> None:
    body, before, blocks, expected = RIGHT[what]
    made = kernel(body, before)
    for schedule in SCHEDULES:
        args = given()
        simulate(made, (blocks,), (64,), args, schedule=schedule)
        assert args[2].get()[: len(expected)].tolist() == expected, schedule
    report = profile(made, (blocks,), (64,), given())
    assert report.ok, str(report)
    assert {note.kind for note in report.notes} <= {"resident"}
    assert report.outputs[2][: len(expected)].tolist() == expected


@pytest.mark.parametrize("what", RACES)
def test_a_mistake_is_a_race_and_ends(what: str) -> None:
    made, blocks = changed(RACES[what]), RACES[what][2]
    for schedule in SCHEDULES:
        simulate(made, (blocks,), (64,), given(), schedule=schedule)
    report = profile(made, (blocks,), (64,), given())
    assert any(race.is_harmful for race in report.races), str(report)
    assert not report.endless


@pytest.mark.parametrize("what", ENDLESS)
def test_what_never_ends_is_known_without_a_clock(what: str) -> None:
    made, blocks = changed(ENDLESS[what]), ENDLESS[what][2]
    for schedule in SCHEDULES:
        with pytest.raises(KernelFault, match=r"never"):
            simulate(made, (blocks,), (64,), given(), schedule=schedule, patience=None, max_steps=5000)
    report = profile(made, (blocks,), (64,), given(), patience=None, max_steps=5000)
    assert len(report.endless) == 1 and "max_steps" not in report.endless[0].message


# --------------------------------------------------------------------------------------------------- messages


def test_a_plain_wait_is_named_where_it_races() -> None:
    made = kernel(ROUNDS.replace("a + 1)", "(int*)(a + 1))"), MEET.replace("volatile ", ""))
    report = profile(made, (4,), (64,), given())
    told = [race.message for race in report.races if race.line == 7]
    assert told and all(says(text, "once") for text in told)
    assert not any(says(race.message, "once") for race in report.races if race.line > 12)


def test_a_flag_that_is_volatile_on_one_side_is_told_so() -> None:
    made = kernel(CHAIN.replace("flag[b] = 1", "a[b] = 1"))
    told = [race for race in profile(made, (4,), (64,), given()).races if "volatile" in race.message]
    assert [(race.line, race.other_line, race.access) for race in told] == [(8, 11, "load")]
    assert says(told[0].message, "both")


def test_a_search_is_no_plain_wait() -> None:
    body = "if (threadIdx.x == 0) { int i = 0; while (data[i] != 3) ++i; data[i + blockIdx.x] = 3; }"
    report = profile(kernel(body), (2,), (64,), given())
    assert report.races and not any(says(race.message, "once") for race in report.races)


# ----------------------------------------------------------------------------------------------- the patience

TWO_TALK = """volatile int* v = a;
int warp = threadIdx.x / 32;
if (threadIdx.x % 32 == 0) {
    if (warp == 0) { int seen = 0; while (v[0] == 0) { seen = 3; } out[0] = seen; }
    else for (int i = 0; i < n; ++i) {
        while (v[1] != 2 * i + warp - 1) { }
        v[1] = 2 * i + warp;
        if (warp == 2 && i == n - 1) v[0] = 1;
    }
}"""


@pytest.mark.slow
def test_who_waits_while_others_go_on_is_not_stopped_by_the_clock() -> None:
    for schedule in SCHEDULES:
        simulate(kernel(TWO_TALK), (1,), (96,), given(600), schedule=schedule, patience=0)
    assert not profile(kernel(TWO_TALK), (1,), (96,), given(600), patience=0).endless


def test_a_report_runs_warp_by_warp_only_where_threads_of_one_block_wait() -> None:
    before = "volatile int* v = a; int warp = threadIdx.x / 32 + blockIdx.x;\nif (threadIdx.x % 32) return;\n"
    for body, grid, modes in (
        ("if (warp == 1) while (v[0] == 0) { }\nelse v[0] = 1;", 1, {"watched", "watched warps"}),
        ("if (warp == 0) while (v[0] == 0) { }\nelse if (warp == 2) v[0] = 1;", 2, {"watched"}),
    ):
        k = kernel(before + body)
        with mock.patch.object(k, "code", wraps=k.code) as code:
            assert profile(k, (grid,), (64,), given()).ok
        assert {call.args[0] for call in code.call_args_list} == modes
