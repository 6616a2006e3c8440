"""The second implementation by itself: against NumPy, in every order of threads, and in a deadlock."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import SCHEDULES, Kernel, Library, OracleError, why_not
from real_kernels import FILES, FOLDER, Case
from tiers import check_each

pytestmark = [
    pytest.mark.slow,
    pytest.mark.oracle,
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
]


@pytest.fixture(scope="module")
def kernels() -> dict[tuple[str, str], Kernel]:
    """Every kernel of every case."""
    names = {file: sorted({case.kernel for case in cases}) for file, cases in FILES.items()}
    library = Library([((FOLDER / file).read_text(), of_file) for file, of_file in names.items()])
    return {(file, name): found[name] for file, found in zip(names, library.kernels) for name in found}


def test_every_file_has_cases() -> None:
    assert {*FILES} == {path.name for path in FOLDER.glob("*.cu")}


@pytest.mark.parametrize("file", FILES)
def test_a_kernel_equals_numpy_in_every_order(file: str, kernels: dict[tuple[str, str], Kernel]) -> None:
    def check(case: Case) -> None:
        for schedule in SCHEDULES:
            kernel = kernels[case.file, case.kernel]
            case.check(kernel(case.grid, case.block, case.args, case.shared_mem, schedule))

    check_each(FILES[file], check)


def run(body: str, block: int = 32, seconds: float = 5.0) -> np.ndarray:
    """What `out` of 64 zeros holds after a kernel with this body."""
    source = f'extern "C" __global__ void k(int* out) {{\n    int t = threadIdx.x;\n{body}\n}}'
    [out] = Library([(source, ["k"])])["k"]((1,), (block,), [np.zeros(64, np.int32)], seconds=seconds)
    assert out is not None
    return out


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("if (t < 5)\n__syncthreads();\nelse\n__syncthreads();", "barrier of line"),
        ("if (t >= 5) while (1) out[t]++;\n__syncthreads();", "still running"),
        ("if (t == 3) out[0] = __shfl_sync(0xffffffff, t, 0); else __syncwarp(0x8);", "not in its own mask"),
        ("if (t < 16) out[t] = __shfl_sync(0xffff, t, 20);", "takes no part"),
        ("if (t < 16) __syncwarp(); else __syncthreads();", "deadlock: waits in __syncwarp"),
        ("if (t < 16) __syncwarp(); else out[t] = __ballot_sync(~0u, 1);", "while others"),
        ("out[64] = 1;", "writes outside the array of argument 0"),
    ],
)  # fmt: skip
def test_what_cannot_go_on_is_an_error(body: str, message: str) -> None:
    with pytest.raises(OracleError, match=message):
        run(body, seconds=0.5)


WAITS = """
extern "C" __global__ void k(volatile int* flag, int* sum, int* out) {
    __shared__ int own[32];
    int mine = gridDim.x - 1 - blockIdx.x, t = threadIdx.x;
    own[t] = 100 * mine + t;
    __syncthreads();
    if (t == 0) {
        while (*flag != mine) {}
        out[blockIdx.x] = *sum = 2 * *sum + own[t ^ 1];
        *flag = NEXT;
    }
}"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_blocks_wait_for_each_other_and_keep_their_shared_memory(schedule: str) -> None:
    kernel = Library([(WAITS.replace("NEXT", "mine + 1"), ["k"])])["k"]
    numbers = [np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(3, np.int32)]
    out = kernel((3,), (32,), numbers, schedule=schedule)[2]
    assert out is not None and out.tolist() == [2 * 103 + 201, 2 * 1 + 101, 1]


def test_a_wait_for_ever_ends_with_the_time() -> None:
    kernel = Library([(WAITS.replace("NEXT", "mine"), ["k"])])["k"]
    numbers = [np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(3, np.int32)]
    with pytest.raises(OracleError, match="still running"):
        kernel((3,), (32,), numbers, seconds=0.5)


def test_threads_that_returned_are_not_waited_for() -> None:
    out = run(
        "if (t >= 20) return;\n__syncthreads();\nout[t] = __popc(__ballot_sync(0xffffffff, 1));", block=40
    )
    assert list(out[:21]) == [20] * 20 + [0]


def test_shared_memory_and_locals_are_poisoned() -> None:
    out = run("__shared__ int s[4]; int local[4]; out[0] = s[t]; out[1] = local[t];", block=1)
    assert 0 not in out[:2]


def test_halves_of_a_warp_meet_apart() -> None:
    out = run("unsigned m = t < 16 ? 0xffffu : 0xffff0000u; out[t] = __shfl_sync(m, t, t < 16 ? 3 : 30);")
    assert list(out[:32]) == [3] * 16 + [30] * 16


@pytest.mark.parametrize(
    ("call", "source"),
    [
        ("__shfl_up_sync(~0u, t, 1, 8)", lambda t: t - 1 if t % 8 else t),
        ("__shfl_down_sync(~0u, t, 2, 16)", lambda t: t + 2 if t % 16 < 14 else t),
        ("__shfl_xor_sync(~0u, t, 8, 8)", lambda t: t ^ 8 if t & 8 else t),
        ("__shfl_sync(~0u, t, 11, 8)", lambda t: t // 8 * 8 + 3),
    ],
)
def test_shuffles_in_segments_follow_ptx(call: str, source) -> None:  # type: ignore[no-untyped-def]
    """PTX ISA, shfl.sync: `bfly` gives a lane its own value only where the source lies beyond its segment."""
    assert list(run(f"out[t] = {call};")[:32]) == [source(t) for t in range(32)]
