"""The same kernels on a GPU and on the simulator: those of the lessons, and random ones."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from agreement import simulated
from random_kernels import make
from real_kernels import CASES, Case

from gpu.both import difference, held, launch_on_both, to_gpu
from minilib.cuda import RawKernel, RawModule, profile
from warplens.device import stand_in
from warplens.kernel import Kernel

RANDOM = int(os.environ.get("GPU_RANDOM_KERNELS", "200"))


def kernel_of(case: Case) -> Kernel:
    names = (case.kernel,) if "<" in case.kernel else None
    return RawModule(code=case.source, name_expressions=names).get_function(case.kernel)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_kernel_gives_numpys_numbers_and_the_simulators(case: Case) -> None:
    args = to_gpu(case.args)
    launch_on_both(kernel_of(case), case.grid, case.block, args, shared_mem=case.shared_mem)
    case.check(held(args))


@pytest.mark.parametrize("case", CASES[::5], ids=lambda case: case.id)
def test_a_report_of_arrays_on_the_gpu_is_that_of_simulated_ones(case: Case) -> None:
    there = to_gpu(case.args)
    here = [stand_in.cp.asarray(a) if isinstance(a, np.ndarray) else a for a in case.args]
    kernel = kernel_of(case)
    ours, theirs = (
        profile(kernel, case.grid, case.block, args, shared_mem=case.shared_mem) for args in (here, there)
    )
    assert str(ours) == str(theirs)
    for before, after in zip(case.args, held(there)):
        if after is not None:
            np.testing.assert_array_equal(after, before)


def run(seed: int, *options: str) -> tuple[list[Any], list[Any]]:
    """What a random kernel leaves behind: on the GPU, and simulated."""
    features = ["classes"] if seed % 3 == 0 else []
    random = make(seed, *features)
    args = to_gpu(random.arguments())
    kernel = RawKernel(random.source, random.name, options)
    kernel(random.grid, random.block, args, shared_mem=random.shared_mem)
    return held(args), simulated(random, "lockstep")


@pytest.mark.parametrize("seed", range(RANDOM))
def test_a_random_kernel_gives_the_same_on_both(seed: int) -> None:
    """Without the one rounding of a product and a sum, so that only what is `inexact` may differ by much."""
    found = difference(*run(seed, "--fmad=false"), rtol=1e-4, atol=1e-6)
    assert found is None, f"{found}; see random_kernels.py, seed {seed}"


@pytest.mark.parametrize("seed", range(0, RANDOM, 10))
def test_a_random_kernel_gives_the_same_integers_as_a_user_compiles_it(seed: int) -> None:
    got, want = run(seed)
    for a, b in zip(got, want):
        if a is not None and a.dtype.kind in "iu":
            np.testing.assert_array_equal(a, b)
