"""The simulator against NumPy on real kernels, and against the second implementation on snippets."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_agree import SCHEDULES, on_device, on_host
from cuda_cases import CASES, Case
from cuda_class_snippets import CLASS_SNIPPETS
from cuda_oracle import load, why_not
from cuda_snippets import SNIPPETS

from warplens import CompileError, RawKernel, RawModule, profile, simulate
from warplens.kernel import Kernel

IN_TURN = [SCHEDULES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in SCHEDULES[1:])]
needs_oracle = [pytest.mark.oracle, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]


# ------------------------------------------------------------------------------------ real kernels


def kernel_of(case: Case) -> Kernel:
    """The kernel of a case, an instance of a template by its expression."""
    names = (case.kernel,) if "<" in case.kernel else None
    return RawModule(code=case.source, name_expressions=names).get_function(case.kernel)


@pytest.mark.parametrize("schedule", IN_TURN)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_simulator_equals_numpy(case: Case, schedule: str) -> None:
    args = on_device(case.args)
    kernel = kernel_of(case)
    simulate(kernel, case.grid, case.block, args, shared_mem=case.shared_mem, schedule=schedule)
    case.check(on_host(args))


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_oracle) for name in SNIPPETS])
def test_snippet_equals_the_oracle(name: str, schedule: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Or it is refused as unsupported."""
    body, before = SNIPPETS[name]
    head = 'extern "C" __global__ void k(const int* x, int* out, float* f) {\n    int t = threadIdx.x;'
    source = f"{before}\n{head}{body}\n}}\n"
    host = [np.arange(64, dtype=np.int32) * 3 % 64, np.zeros(64, np.int32), np.zeros(64, np.float32)]
    by_oracle = load(source, "k")
    want, args = by_oracle((1,), (64,), host), on_device(host)
    try:
        simulate(RawKernel(source, "k"), (1,), (64,), args, schedule=schedule)
    except CompileError as error:
        assert error.kind == "unsupported", str(error)
        pytest.skip(str(error).splitlines()[0])
    for a, b in zip(on_host(args), want, strict=True):
        assert a is not None and b is not None
        np.testing.assert_array_equal(a, b)
    said = capsys.readouterr().out
    assert sorted(said.splitlines()) == sorted(by_oracle.printed.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_oracle) for name in CLASS_SNIPPETS])
def test_classes_do_what_the_oracle_says_and_have_no_finding(name: str) -> None:
    body, before = CLASS_SNIPPETS[name]
    head = 'extern "C" __global__ void k(const int* x, int* out, float* f) {\n    int t = threadIdx.x;'
    source = f"{before}\n{head}{body}\n}}\n"
    numbers = (np.arange(64) * 37 % 23 - 5).astype(np.int32)
    host = [numbers, np.zeros(64, np.int32), np.zeros(64, np.float32)]
    want, kernel = load(source, "k")((1,), (64,), host), RawKernel(source, "k")
    for schedule in SCHEDULES:
        args = on_device(host)
        simulate(kernel, (1,), (64,), args, schedule=schedule)
        for a, b in zip(on_host(args), want, strict=True):
            np.testing.assert_array_equal(a, b)
    report = profile(kernel, (1,), (64,), on_device(host))
    assert report.ok, str(report)
