"""Blocks that a schedule runs side by side leave what they leave one by one, to the bit."""

from __future__ import annotations

import itertools
from typing import Any
from unittest import mock

import numpy as np
import pytest
from agreement import compiled, on_device, on_host
from kernel_files import Example, examples
from random_kernels import usual
from real_kernels import FILES, Case
from tiers import check_each, slow_but

from warplens import KernelFault, RawKernel, RawModule, simulate
from warplens.engine import run
from warplens.engine.batched_blocks import boxes

SCHEDULES = ("forward", "reverse")
by_schedule = pytest.mark.parametrize("schedule", SCHEDULES)


def left(kernel: Any, launch: Any, schedule: str, host: list[Any], max_steps: int) -> list[Any]:
    """What a run leaves in its arrays, and what stopped it."""
    args, said = on_device(host), "no fault"
    try:
        simulate(
            kernel, launch.grid, launch.block, args, shared_mem=launch.shared_mem,
            schedule=schedule, max_steps=max_steps,
        )  # fmt: skip
    except KernelFault as error:
        said = str(error)
    return [said, *[None if a is None else a.tobytes() for a in on_host(args)]]


def both(kernel: Any, launch: Any, schedule: str, host: list[Any], max_steps: int = 20_000) -> bool:
    """Run it in both ways, which must leave the same; whether all boxes ran side by side."""
    done: list[bool] = []

    def noted(*args: Any) -> bool:
        done.append(real(*args))
        return done[-1]

    real = run.run_box
    with mock.patch.object(run, "run_box", noted):
        found = left(kernel, launch, schedule, host, max_steps)
    with mock.patch.object(run, "run_box", lambda *args: False):
        assert found == left(kernel, launch, schedule, host, max_steps)
    return bool(done) and all(done)


@pytest.mark.nightly
@pytest.mark.parametrize("file", FILES)
def test_of_real_kernels(file: str) -> None:
    def check(case: Case) -> None:
        names = (case.kernel,) if "<" in case.kernel else None
        kernel = RawModule(code=case.source, name_expressions=names).get_function(case.kernel)
        for schedule in SCHEDULES:
            both(kernel, case, schedule, list(case.args))

    check_each(FILES[file], check)


@pytest.mark.parametrize(
    "launch",
    slow_but(5, examples("bug", "correct")),
    ids=lambda one: one.id,
)
def test_of_planted_bugs_and_correct_kernels(launch: Example) -> None:
    kernel = RawKernel(launch.source, "k")
    for schedule in SCHEDULES:
        both(kernel, launch, schedule, launch.host_args())


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(3), id="few"),
        pytest.param(range(3, 10), id="some", marks=pytest.mark.slow),
        *(pytest.param(range(n, n + 10), id=f"{n}-", marks=pytest.mark.nightly) for n in range(10, 200, 10)),
    ],
)
def test_of_random_kernels(seeds: range) -> None:
    def check(seed: int) -> None:
        random = usual(seed)
        for schedule in SCHEDULES:
            both(compiled(random.source, random.name), random, schedule, list(random.arguments()))

    check_each(seeds, check)


class Grid:
    """A launch of `k`."""

    shared_mem = 0

    def __init__(self, grid: Any, block: Any) -> None:
        self.grid, self.block = grid, block


def ran(body: str, schedule: str, grid: Any = (5, 3, 2), block: Any = (8, 9)) -> bool:
    """Whether the blocks of `k(x, y, n)` ran side by side, after the comparison with one by one."""
    source = f"""
    __device__ int total; __device__ float sum;
    extern "C" __global__ void k(const int *x, int *y, float *f, int n) {{
        __shared__ int s[128]; s[0] = 0;
        int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        int t = threadIdx.x + blockDim.x * threadIdx.y, size = blockDim.x * blockDim.y, i = b * size + t;
        {body}
    }}"""
    n = int(np.prod(grid)) * int(np.prod(block))
    rng = np.random.default_rng(0)
    x = rng.integers(0, 40, n).astype(np.int32)
    host = [x, np.arange(n, dtype=np.int32), rng.standard_normal(n).astype(np.float32), n]
    return both(RawKernel(source, "k"), Grid(grid, block), schedule, host, max_steps=1000)


ALONE = {
    "reads and writes its own": "y[i] = x[i] + y[i]; y[i] *= 2;",
    "shared memory": "s[t] = x[i]; __syncthreads(); y[i] = s[(t + 5) % size];",
    "shared memory without its barrier": "s[t] = x[i]; y[i] = s[(t + 5) % size];",
    "all read one element of what is written": "int first = f[0] > 9.0f; if (i > 0) f[i] += first;",
    "integer atomics": "atomicAdd(&y[x[i]], b); atomicSub(&y[x[i]], 3);",
    "an integer atomic at file scope": "atomicMax(&total, x[i]); y[i] = b;",
    "a float atomic of one thread": "if (t == 0) atomicAdd(&f[0], f[b + 1]);",
    "tickets": "__shared__ int mine; if (t == 0) mine = atomicAdd(&y[0], 1); __syncthreads(); s[1] = mine;",
    "votes": "y[i] = __syncthreads_count(x[i] > 20 - b);",
    "vectors": "if (t < size / 4) { float4 v = ((float4*)f)[b * size / 4 + t]; v.x = b;"
    " ((float4*)f)[b * size / 4 + t] = v; } __syncthreads(); f[i] += 1.0f;",
    "loops of other lengths": "for (int j = 0; j < x[i]; j++) y[i] += j * b;",
    "an array that few write": "float v = f[i]; if (b == 12) f[i] = v + 1; y[i] = b;",
    "warps": "y[i] = __shfl_xor_sync(0xffffffff, x[i], 1);",
}
TOGETHER = {
    "reads a neighbour's": "y[i] = i + size < n ? y[i + size] : 0;",
    "reads what was written": "y[i] = i >= size ? y[i - size] + 1 : 0;",
    "writes the same": "y[t] = b;",
    "one reads, another writes": "int v = y[0]; if (i == n - 1) y[0] = 7; y[i] = v;",
    "one reads, another reads, the first writes": "int v = 0; if (t == 0) { if (b == 18) v = y[7];"
    " if (b == 20) v = y[7]; if (b == 18) y[7] = 99; } y[i] = v;",
    "one warp of all reads, one writes": "int v = 0; if (t == 0) v = y[0];"
    " if (i == n - size) y[0] = 7; y[i] = v;",
    "an array that few write and all read": "if (t == 0) { y[i] = f[7] * 8; if (b == 12) f[7] = 3.0f; }",
    "two float atomics": "if (t == 0) { atomicAdd(&f[0], f[b + 1]); atomicAdd(&f[0], 1e-3f * b); }",
    "an atomic and a store": "if (t == 0) { atomicAdd(&y[0], b); if (b == 7) y[0] = 3; }",
    "two sorts of atomics": "if (t == 0) { atomicAdd(&y[0], b); atomicMax(&y[0], 50); }",
    "the last block": "__shared__ int last; y[n - 1 - b] = b; __threadfence();"
    " if (t == 0) last = atomicAdd(&y[0], 1); __syncthreads();"
    " if (last == 29) for (int j = 0; j < 30; j++) f[j] = y[n - 1 - j];",
    "barriers that blocks differ in": "for (int j = 0; j < b % 3; j++) { s[t] = s[(t + 1) % size] + j;"
    " __syncthreads(); } y[i] = s[t];",
    "out of bounds in one block": "y[i + (b == 17) * n] = 1;",
    "out of bounds in two blocks": "if (t == 3) y[b == 20 || b == 11 ? -1 : i] = 1;",
    "one block without end": "while (b == 13 && y[i] >= 0) y[i] = t;",
    "an assertion": "assert(b != 12 || t != 40); y[i] = 1;",
}  # fmt: skip


@by_schedule
@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in ALONE.items()])
def test_blocks_that_do_not_meet_run_side_by_side(body: str, schedule: str) -> None:
    assert ran(body, schedule)


@by_schedule
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(body, id=name, marks=[pytest.mark.slow] if "without end" in name else [])
        for name, body in TOGETHER.items()
    ],
)
def test_blocks_that_meet_run_one_by_one(body: str, schedule: str) -> None:
    assert not ran(body, schedule)


@pytest.mark.parametrize("grid", [(1, 1, 1), (7, 1, 1), (3, 4, 5), (1, 6, 2), (9, 1, 3), (2, 2, 1)])
def test_boxes_are_the_grid_in_its_order(grid: Any) -> None:
    for most, reverse in itertools.product([1, 2, 5, 7, 1000], [False, True]):
        check_boxes(grid, most, reverse)


def check_boxes(grid: Any, most: int, reverse: bool) -> None:
    made = list(boxes(grid, most, reverse))
    found = [block for box in made for block in run.blocks_of(box, reverse)]
    gx, gy, gz = grid
    blocks = [(x, y, z) for z in range(gz) for y in range(gy) for x in range(gx)]
    assert found == (blocks[::-1] if reverse else blocks)
    assert max(int(np.prod(count)) for _, count in made) <= most and made[0][1] == (1, 1, 1)
