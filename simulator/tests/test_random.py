"""Random kernels without races: the simulator in all schedules against the second implementation."""

from __future__ import annotations

import dataclasses
import os
from functools import cache
from itertools import pairwise

import pytest
from _pytest.mark import ParameterSet
from agreement import SCHEDULES, by_oracle, compiled, difference, on_device, simulated
from oracle import SCHEDULES as ORDERS
from oracle import Library, why_not
from random_kernels import FEATURES, make, shrink, smaller, statement_count, usual
from tiers import check_each

from warplens import profile
from warplens.engine import endless

KERNELS = int(os.environ.get("CUDA_RANDOM_KERNELS", "500"))
AT_ONCE = 50  # kernels in one call of g++: half of its time goes into headers
needs_oracle = [pytest.mark.oracle, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]


FEW, SOME = 6, 2 * AT_ONCE  # in the quick tests, and in those of each day


def tier(seed: int) -> list[pytest.MarkDecorator]:
    """How long it takes until a kernel's turn comes: most are for the night."""
    if seed < SOME:
        return [pytest.mark.slow] if seed >= FEW else []
    return [pytest.mark.nightly]


def seeds(step: int = 1, *marks: pytest.MarkDecorator) -> list[ParameterSet]:
    """A parameter for each ten kernels, and for the first few."""
    starts = [0, *range(FEW, 10, 10), *range(10, KERNELS, 10)]
    return [
        pytest.param(range(-(-a // step) * step, b, step), id=f"{a}-", marks=[*marks, *tier(a)])
        for a, b in pairwise([*starts, KERNELS])
    ]


@cache
def library(batch: int) -> Library:
    """The kernels of 50 seeds."""
    of_batch = range(batch * AT_ONCE, min(KERNELS, (batch + 1) * AT_ONCE))
    made = [usual(seed) for seed in of_batch]
    return Library([(random.source, [random.name]) for random in made])


@pytest.mark.parametrize("seeds", seeds(1, *needs_oracle, pytest.mark.slow))
def test_simulator_equals_the_oracle(seeds: range) -> None:
    """Where it does not, helpers/agreement.py SEED shows the shortest kernel that differs."""

    def check(seed: int) -> None:
        random = usual(seed)
        want = by_oracle(random, library(seed // AT_ONCE)[random.name])
        for schedule in SCHEDULES:
            found = difference(random, simulated(random, schedule), want)
            assert found is None, f"{schedule}: {found}"

    check_each(seeds, check)


@pytest.mark.parametrize("seeds", seeds(4))
def test_profile_finds_nothing_in_a_kernel_without_races(seeds: range) -> None:
    def check(seed: int) -> None:
        random = usual(seed)
        kernel, args = compiled(random.source, random.name), on_device(random.arguments())
        report = profile(kernel, random.grid, random.block, args, shared_mem=random.shared_mem)
        assert report.ok and not report.races, str(report)
        assert difference(random, report.outputs, simulated(random, "forward")) is None

    check_each(seeds, check)


@pytest.mark.parametrize("seeds", seeds(10))
def test_a_loop_that_ends_is_never_taken_for_one_without_end(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endless, "FIRST", 1)  # looked at from the first iteration on

    def check(seed: int) -> None:
        for schedule in SCHEDULES:
            simulated(usual(seed), schedule)

    check_each(seeds, check)


@pytest.mark.slow
@pytest.mark.parametrize(
    "batch",
    [pytest.param(b, marks=[*needs_oracle, *tier(b * AT_ONCE)]) for b in range(-(-KERNELS // AT_ONCE))],
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


@pytest.mark.parametrize("features", [(), ("classes",), ("classes", "groups", "narrow"), FEATURES], ids=len)
def test_a_seed_gives_the_same_kernel_again(features: tuple[str, ...]) -> None:
    assert make(7, *features).source == make(7, *features).source != make(8, *features).source


def test_a_feature_that_there_is_not_is_told() -> None:
    with pytest.raises(ValueError, match=r"recursion.*classes"):
        make(7, "recursion")


# What tells that a feature occurs, in a part of 150 sources of it and in none without it.
WORDS = {
    "classes": ("switch (", "union Bytes_", "struct Record_", "Twice_"),
    "groups": (
        "block.sync()", "cg::sync(", "tiled_partition<2>", "tiled_partition<32>", ".shfl_xor(", ".shfl_down(",
        ".ballot(", ".any(", ".all(", "cg::reduce(", "cg::inclusive_scan(", "cg::exclusive_scan(",
        "cg::greater<", "cg::plus<float>", "cg::coalesced_threads()", "cg::labeled_partition(",
        "cg::binary_partition(", "meta_group_rank()", "cg::thread_group g", "cg::plus<__nv_bfloat16>",
    ),
    "narrow": (
        "half2 h", "__nv_bfloat16 h", "__nv_bfloat162 h", "__hfma(", "__hfma2(",
        "(const __nv_bfloat16*)in_f", "(__nv_bfloat162*)(own", "__nv_bfloat16 sh_b",
    ),
    "volatile": (
        "volatile double v", "const volatile int& c", "volatile int* volatile", "= sh_i;", "sh_u[t] = ",
        "sh_v[t] = ", "volatile Kept_", "    Kept_",
    ),
    "waits": (
        "while (*(volatile int*)&", "do { __nanosleep(", "for (;;) { if (", "atomicAdd(&gate[",
        "atomicOr(&gate[",
        "__ldcv(&gate[", " wait_", " spin_", "atomicAdd(&lamp, 0)", "flag = ", "const_cast<volatile int&>",
        "(blocks - 1 - own_block)", "= mail[", "((volatile int*)mail)", "if (t / 32 == 1) {",
    ),
}  # fmt: skip


@cache
def with_all_features() -> list[str]:
    return [make(seed, *FEATURES).source for seed in range(150)]


@pytest.mark.slow
@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_occurs_where_it_is_switched_on_and_nowhere_else(feature: str) -> None:
    others = [name for name in FEATURES if name != feature]
    sources = with_all_features()
    without = [make(seed, *others).source for seed in range(100)]
    for word in WORDS[feature]:
        assert sum(word in source for source in sources) >= 2, word
    telling = {"groups": "cg::", "narrow": "sh_b", "volatile": "sh_v", "waits": "gate["}.get(
        feature, WORDS[feature][0]
    )
    assert not any(telling in source for source in without)
    assert sum(telling in source for source in sources) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_alone_makes_kernels_that_compile_and_have_no_race(feature: str) -> None:
    for seed in range(6):
        random = make(seed, feature)
        kernel, args = compiled(random.source, random.name), on_device(random.arguments())
        report = profile(kernel, random.grid, random.block, args, shared_mem=random.shared_mem)
        assert report.ok and not report.races, f"{seed}: {report}"


def test_shrink_keeps_what_fails_and_little_else() -> None:
    for word in ("atomicXor", "cg::reduce(", "gate["):
        random = next(r for r in (make(seed, *FEATURES) for seed in range(100)) if word in r.source)
        small = shrink(random, lambda r, word=word: word in r.source)
        assert word in small.source
        assert statement_count(small) <= 10 < statement_count(random) / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("features", "seed"),
    [
        pytest.param(features, seed, marks=needs_oracle)
        for features, seed in [(("classes",), 1), (("classes", "groups", "narrow"), 3), (FEATURES, 3)]
    ],
)
def test_every_smaller_kernel_compiles(features: tuple[str, ...], seed: int) -> None:
    random = make(seed, *features)
    bodies = list(smaller(random.body))[:: max(1, len(list(smaller(random.body))) // 20)]
    units = []
    for i, body in enumerate(bodies):
        source = dataclasses.replace(random, body=body).source.replace(f"_{seed}", f"_{seed}_{i}")
        units.append((source, [f"{random.name}_{i}"]))
    assert len(Library(units).kernels) == len(bodies)
