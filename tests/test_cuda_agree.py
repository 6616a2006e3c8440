"""The simulator against NumPy, and against the second implementation on random kernels, in all schedules."""

from __future__ import annotations

import dataclasses
import os
from functools import cache

import numpy as np
import pytest
from cuda_agree import SCHEDULES, by_oracle, difference, on_device, on_host, simulated
from cuda_cases import CASES, Case
from cuda_oracle import SCHEDULES as ORDERS
from cuda_oracle import Library, load, why_not
from cuda_random import make, shrink, smaller, statement_count
from cuda_snippets import SNIPPETS

from minilib.cuda import CompileError, RawKernel, RawModule, profile, simulate
from minilib.cuda.kernel import Kernel

KERNELS = int(os.environ.get("CUDA_RANDOM_KERNELS", "100"))
AT_ONCE = 50  # kernels in one call of g++: half of its time goes into headers
needs_oracle = [pytest.mark.oracle, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]


def second(seed: int) -> bool:
    return seed % 3 == 0


@cache
def library(batch: int) -> Library:
    """The kernels of 50 seeds."""
    seeds = range(batch * AT_ONCE, min(KERNELS, (batch + 1) * AT_ONCE))
    made = [make(seed, second(seed)) for seed in seeds]
    return Library([(random.source, [random.name]) for random in made])


# ------------------------------------------------------------------------------------ real kernels


def kernel_of(case: Case) -> Kernel:
    """The kernel of a case, an instance of a template by its expression."""
    names = (case.kernel,) if "<" in case.kernel else None
    return RawModule(code=case.source, name_expressions=names).get_function(case.kernel)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_simulator_equals_numpy(case: Case, schedule: str) -> None:
    args = on_device(case.args)
    kernel = kernel_of(case)
    simulate(kernel, case.grid, case.block, args, shared_mem=case.shared_mem, schedule=schedule)
    case.check(on_host(args))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_profile_equals_numpy_and_finds_nothing(case: Case) -> None:
    args = on_device(case.args)
    report = profile(kernel_of(case), case.grid, case.block, args, shared_mem=case.shared_mem)
    assert report.ok, str(report)
    assert not report.races, str(report)
    case.check(report.outputs)
    for before, after in zip(case.args, on_host(args), strict=True):
        if after is not None:
            np.testing.assert_array_equal(after, before, err_msg="profile wrote to its arguments")


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_oracle) for name in SNIPPETS])
def test_snippet_equals_the_oracle(name: str, schedule: str) -> None:
    """Or it is refused as unsupported."""
    body, before = SNIPPETS[name]
    head = 'extern "C" __global__ void k(const int* x, int* out, float* f) {\n    int t = threadIdx.x;'
    source = f"{before}\n{head}{body}\n}}\n"
    host = [np.arange(64, dtype=np.int32) * 3 % 64, np.zeros(64, np.int32), np.zeros(64, np.float32)]
    want, args = load(source, "k")((1,), (64,), host), on_device(host)
    try:
        simulate(RawKernel(source, "k"), (1,), (64,), args, schedule=schedule)
    except CompileError as error:
        assert error.kind == "unsupported", str(error)
        pytest.skip(str(error).splitlines()[0])
    for a, b in zip(on_host(args), want, strict=True):
        assert a is not None and b is not None
        np.testing.assert_array_equal(a, b)


# ---------------------------------------------------------------------------------- random kernels


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=needs_oracle) for seed in range(KERNELS)])
def test_simulator_equals_the_oracle(seed: int) -> None:
    random = make(seed, second(seed))
    want = by_oracle(random, library(seed // AT_ONCE)[random.name])
    for schedule in SCHEDULES:
        found = difference(random, simulated(random, schedule), want)
        flag = " --second" if second(seed) else ""
        assert found is None, f"{schedule}: {found}; shrink it with python tests/cuda_agree.py {seed}{flag}"


@pytest.mark.parametrize("seed", range(0, KERNELS, 4))
def test_profile_finds_nothing_in_a_kernel_without_races(seed: int) -> None:
    random = make(seed, second(seed))
    kernel, args = RawKernel(random.source, random.name), on_device(random.arguments())
    report = profile(kernel, random.grid, random.block, args, shared_mem=random.shared_mem)
    assert report.ok and not report.races, str(report)
    assert difference(random, report.outputs, simulated(random, "forward")) is None


@pytest.mark.parametrize(
    "batch", [pytest.param(b, marks=needs_oracle) for b in range(-(-KERNELS // AT_ONCE))]
)
def test_random_kernels_give_the_same_in_every_order_of_threads(batch: int) -> None:
    for seed in range(batch * AT_ONCE, min(KERNELS, (batch + 1) * AT_ONCE)):
        random = make(seed, second(seed))
        kernel = library(batch)[random.name]
        runs = [
            kernel(random.grid, random.block, random.arguments(), random.shared_mem, schedule)
            for schedule in ORDERS
        ]
        for run in runs[1:]:
            assert difference(random, run, runs[0]) is None, seed


def test_a_difference_is_seen() -> None:
    random = make(3)
    got = simulated(random, "lockstep")
    want = [None if a is None else a.copy() for a in got]
    assert difference(random, got, want) is None
    assert want[2] is not None
    want[2][0, 0, 1] += 1
    assert "argument 2 at (0, 0, 1)" in (difference(random, got, want) or "")


def test_a_seed_gives_the_same_kernel_again() -> None:
    assert make(7).source == make(7).source != make(8).source


def test_shrink_keeps_what_fails_and_little_else() -> None:
    random = next(r for r in map(make, range(100)) if "atomicXor" in r.source)
    small = shrink(random, lambda r: "atomicXor" in r.source)
    assert "atomicXor" in small.source
    assert statement_count(small) <= 10 < statement_count(random) / 2


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=needs_oracle) for seed in (1, 2, 3)])
def test_every_smaller_kernel_compiles(seed: int) -> None:
    random = make(seed, second=True)
    bodies = list(smaller(random.body))[:: max(1, len(list(smaller(random.body))) // 20)]
    units = []
    for i, body in enumerate(bodies):
        source = dataclasses.replace(random, body=body).source.replace(f"_{seed}", f"_{seed}_{i}")
        units.append((source, [f"{random.name}_{i}"]))
    assert len(Library(units).kernels) == len(bodies)
