"""The simulator against NumPy on real kernels, and against the second implementation on snippets."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import SCHEDULES, on_device, on_host
from kernel_files import examples
from oracle import Library, why_not
from real_kernels import FILES, Case
from tiers import check_each

from warplens import CompileError, RawKernel, RawModule, profile, simulate
from warplens.kernel import Kernel

SNIPPETS = examples("snippet")
needs_oracle = [pytest.mark.oracle, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]


# ------------------------------------------------------------------------------------ real kernels


def kernel_of(case: Case) -> Kernel:
    """The kernel of a case, an instance of a template by its expression."""
    names = (case.kernel,) if "<" in case.kernel else None
    return RawModule(code=case.source, name_expressions=names).get_function(case.kernel)


@pytest.mark.parametrize(
    "schedules", [SCHEDULES[:1], pytest.param(SCHEDULES[1:], marks=pytest.mark.slow)], ids="-".join
)
@pytest.mark.parametrize("file", FILES)
def test_simulator_equals_numpy(file: str, schedules: tuple[str, ...]) -> None:
    def check(case: Case) -> None:
        kernel = kernel_of(case)
        for schedule in schedules:
            args = on_device(case.args)
            simulate(kernel, case.grid, case.block, args, shared_mem=case.shared_mem, schedule=schedule)
            case.check(on_host(args))

    check_each(FILES[file], check)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_profile_equals_numpy_and_finds_nothing(file: str) -> None:
    def check(case: Case) -> None:
        args = on_device(case.args)
        report = profile(kernel_of(case), case.grid, case.block, args, shared_mem=case.shared_mem)
        assert report.ok, str(report)
        assert not report.races, str(report)
        case.check(report.outputs)
        for before, after in zip(case.args, on_host(args), strict=True):
            if after is not None:
                np.testing.assert_array_equal(after, before, err_msg="profile wrote to its arguments")

    check_each(FILES[file], check)


@pytest.fixture(scope="module")
def compiled() -> Library:
    """All snippets."""
    return Library([(snippet.source, ["k"]) for snippet in SNIPPETS])


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [pytest.param(i, marks=needs_oracle, id=one.id) for i, one in enumerate(SNIPPETS)]
)
def test_snippet_equals_the_oracle(
    number: int, compiled: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    """Or it is refused as unsupported."""
    snippet = SNIPPETS[number]
    around_classes = snippet.where.startswith("classes")
    t = np.arange(64, dtype=np.int32)
    numbers = t * 37 % 23 - 5 if around_classes else t * 3 % 64
    host = [numbers, np.zeros(64, np.int32), np.zeros(64, np.float32)]
    by_oracle = compiled.kernels[number]["k"]
    want = by_oracle((1,), (64,), host)
    try:
        kernel = RawKernel(snippet.source, "k")
    except CompileError as error:
        assert error.kind == "unsupported", str(error)
        pytest.skip(str(error).splitlines()[0])
    for schedule in SCHEDULES:
        args = on_device(host)
        simulate(kernel, (1,), (64,), args, schedule=schedule)
        for a, b in zip(on_host(args), want, strict=True):
            assert a is not None and b is not None
            np.testing.assert_array_equal(a, b, schedule)
        said = capsys.readouterr().out
        assert sorted(said.splitlines()) == sorted(by_oracle.printed.splitlines())
    if around_classes:
        report = profile(kernel, (1,), (64,), on_device(host))
        assert report.ok, str(report)
