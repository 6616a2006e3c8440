"""Random kernels without races: the simulator in all schedules against the second implementation."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from functools import cache, partial

import pytest
from _pytest.mark import ParameterSet
from agreement import SCHEDULES, by_oracle, compiled, difference, on_device, simulated
from cuda_random import RandomKernel, make, shrink, smaller, statement_count
from cuda_random_fourth import make_fourth, usual
from cuda_random_third import make_third
from oracle import SCHEDULES as ORDERS
from oracle import Library, why_not

from warplens import profile
from warplens.engine import endless

KERNELS = int(os.environ.get("CUDA_RANDOM_KERNELS", "500"))
AT_ONCE = 50  # kernels in one call of g++: half of its time goes into headers
needs_oracle = [pytest.mark.oracle, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]


FEW, MORE = 6, 200  # in the quick tests, and by day


def seeds(step: int = 1, *marks: pytest.MarkDecorator) -> list[ParameterSet]:
    """A parameter for each kernel; all but a few are slow, and most are for the night."""
    when = {
        seed: [] if seed < FEW else [pytest.mark.slow if seed < MORE else pytest.mark.nightly]
        for seed in range(0, KERNELS, step)
    }
    return [pytest.param(seed, marks=[*marks, *more]) for seed, more in when.items()]


@cache
def library(batch: int) -> Library:
    """The kernels of 50 seeds."""
    of_batch = range(batch * AT_ONCE, min(KERNELS, (batch + 1) * AT_ONCE))
    made = [usual(seed) for seed in of_batch]
    return Library([(random.source, [random.name]) for random in made])


@pytest.mark.parametrize("seed", seeds(1, *needs_oracle))
def test_simulator_equals_the_oracle(seed: int) -> None:
    random = usual(seed)
    want = by_oracle(random, library(seed // AT_ONCE)[random.name])
    for schedule in SCHEDULES:
        found = difference(random, simulated(random, schedule), want)
        assert found is None, (
            f"{schedule}: {found}; shrink it with python simulator/tests/helpers/agreement.py {seed}"
        )


@pytest.mark.parametrize("seed", seeds(4))
def test_profile_finds_nothing_in_a_kernel_without_races(seed: int) -> None:
    random = usual(seed)
    kernel, args = compiled(random.source, random.name), on_device(random.arguments())
    report = profile(kernel, random.grid, random.block, args, shared_mem=random.shared_mem)
    assert report.ok and not report.races, str(report)
    assert difference(random, report.outputs, simulated(random, "forward")) is None


@pytest.mark.parametrize("seed", seeds(10))
def test_a_loop_that_ends_is_never_taken_for_one_without_end(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endless, "FIRST", 1)  # looked at from the first iteration on
    random = usual(seed)
    for schedule in SCHEDULES:
        simulated(random, schedule)


@pytest.mark.slow
@pytest.mark.parametrize(
    "batch", [pytest.param(b, marks=needs_oracle) for b in range(-(-KERNELS // AT_ONCE))]
)
def test_random_kernels_give_the_same_in_every_order_of_threads(batch: int) -> None:
    for seed in range(batch * AT_ONCE, min(KERNELS, (batch + 1) * AT_ONCE)):
        random = usual(seed)
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


@pytest.mark.parametrize("made", [make, make_third, make_fourth])
def test_a_seed_gives_the_same_kernel_again(made: Callable[[int], RandomKernel]) -> None:
    assert made(7).source == made(7).source != made(8).source


def test_of_every_fifth_seed_the_kernel_is_of_the_third_generation_and_of_the_fourth() -> None:
    assert [usual(seed).source for seed in range(8)] == [
        *(make(seed, seed % 3 == 0).source for seed in range(2)),
        make_fourth(2).source,
        make(3, True).source,
        make_third(4).source,
        *(make(seed, seed % 3 == 0).source for seed in range(5, 7)),
        make_fourth(7).source,
    ]


@pytest.mark.slow
def test_the_third_generation_has_all_that_is_new() -> None:
    sources = [usual(seed).source for seed in range(4, 500, 5)]
    for word in (
        "block.sync()", "cg::sync(", "tiled_partition<2>", "tiled_partition<32>", ".shfl_xor(", ".shfl_down(",
        ".ballot(", ".any(", ".all(", "cg::reduce(", "cg::inclusive_scan(", "cg::exclusive_scan(",
        "cg::greater<", "cg::plus<float>", "cg::coalesced_threads()", "cg::labeled_partition(",
        "cg::binary_partition(", "meta_group_rank()", "cg::thread_group g", "half h", "half2 h",
        "__nv_bfloat16 h", "__nv_bfloat162 h", "__hfma(", "__hfma2(", "cg::plus<__nv_bfloat16>",
        "(const __nv_bfloat16*)in_f", "(__nv_bfloat162*)(own", "__bfloat16_as_ushort(",
    ):  # fmt: skip
        assert sum(word in source for source in sources) >= 2, word


def test_the_fourth_generation_has_volatile_everywhere_and_waits() -> None:
    sources = [usual(seed).source for seed in range(2, 500, 5)]
    for word in (
        "while (*(volatile int*)&", "do { __nanosleep(", "for (;;) { if (", "atomicAdd(&gate[",
        "atomicOr(&gate[", "__ldcv(&gate[", " wait_", " spin_", "atomicAdd(&lamp, 0)", "flag = ",
        "const_cast<volatile int&>", "(blocks - 1 - own_block)", "= mail[", "((volatile int*)mail)",
        "if (t / 32 == 1) {", "    Kept_", "volatile double v", "const volatile int& c",
        "volatile int* volatile", "= sh_i;", "sh_u[t] = ", "sh_v[t] = ", "volatile Kept_",
    ):  # fmt: skip
        assert sum(word in source for source in sources) >= 2, word
    waiting = [source for source in sources if "gate[" in source or "lamp" in source.split("int lamp;")[-1]]
    assert len(waiting) > 40


@pytest.mark.parametrize(
    ("made", "word"), [(make, "atomicXor"), (make_third, "cg::reduce("), (make_fourth, "gate[")]
)
def test_shrink_keeps_what_fails_and_little_else(made: Callable[[int], RandomKernel], word: str) -> None:
    random = next(r for r in map(made, range(100)) if word in r.source)
    small = shrink(random, lambda r: word in r.source)
    assert word in small.source
    assert statement_count(small) <= 10 < statement_count(random) / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "seed"),
    [
        pytest.param(made, seed, marks=needs_oracle)
        for made, seed in [
            (partial(make, second=True), 1),
            (partial(make, second=True), 2),
            (make_third, 3),
            (make_fourth, 3),
        ]
    ],
)
def test_every_smaller_kernel_compiles(made: Callable[[int], RandomKernel], seed: int) -> None:
    random = made(seed)
    bodies = list(smaller(random.body))[:: max(1, len(list(smaller(random.body))) // 20)]
    units = []
    for i, body in enumerate(bodies):
        source = dataclasses.replace(random, body=body).source.replace(f"_{seed}", f"_{seed}_{i}")
        units.append((source, [f"{random.name}_{i}"]))
    assert len(Library(units).kernels) == len(bodies)
