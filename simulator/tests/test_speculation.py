"""The first guess of a CAS loop is read without an atomic, as NVIDIA's guide does it: a note, no race."""

from __future__ import annotations

import pytest

from warplens import RawKernel, cp, profile
from warplens.report.report import Report

GUIDE = """
__device__ float raised(float* address, float value) {
    int* bits = (int*)address;
    int old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __float_as_int(value + __int_as_float(assumed)));
    } while (assumed != old);
    return __int_as_float(old);
}
extern "C" __global__ void f(float* x, float* y) {
    raised(x, 1.0f);
}"""
IN_THE_LOOP = """
extern "C" __global__ void f(float* x, float* y) {
    float old;
    do {
        old = *x;
        if (old >= threadIdx.x) break;
    } while (atomicCAS((int*)x, __float_as_int(old), __float_as_int(threadIdx.x)) != __float_as_int(old));
}"""


def report(source: str) -> Report:
    return profile(RawKernel(source, "f"), (2,), (64,), (cp.zeros(1, cp.float32), cp.zeros(128, cp.float32)))


@pytest.mark.parametrize(("source", "line", "wanted"), [(GUIDE, 4, 128), (IN_THE_LOOP, 5, 63)])
def test_the_guess_of_a_cas_loop_is_a_note(source: str, line: int, wanted: int) -> None:
    found = report(source)
    assert found.ok and not found.races and ": ok" in str(found).splitlines()[0]
    assert {note.kind for note in found.notes} == {"guess"}
    assert all(line in (note.line, note.other_line) for note in found.notes)
    assert "atomicCAS" in found.notes[0].message
    assert found.outputs[0].tolist() == [wanted]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "    raised(x, 1.0f);",
            "    raised(x, 1.0f); y[threadIdx.x + 64 * blockIdx.x] = *x;",
        ),  # a read beside it
        ("int old = *bits, assumed;", "int old = *bits + *bits, assumed;"),  # no guess that it compares with
        ("int old = *bits, assumed;", "int old = *bits, assumed; *address = 3;"),  # a write on the same line
        ("} while (assumed != old);", "} while (false);"),  # it does not try again
        ("atomicCAS(bits, assumed,", "atomicCAS(bits, 0,"),
    ],
)
def test_what_no_cas_loop_checks_stays_a_race(old: str, new: str) -> None:
    assert old in GUIDE
    found = report(GUIDE.replace(old, new))
    assert found.races and not found.ok
