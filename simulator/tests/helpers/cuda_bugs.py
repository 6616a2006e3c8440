"""Planted bugs, each with what a report must say of it, and correct kernels of which it must say nothing.

In a bug's source the line that is wrong ends in `// BUG`; of a race the other line ends in `// OTHER`, or
it is the same line. Every kernel is called `k`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Empty:
    """An array as cp.empty makes it."""

    size: int
    dtype: Any = np.float32


@dataclass(frozen=True)
class Launch:
    """`args` makes new arguments: NumPy arrays, `Empty`, and scalars."""

    name: str
    source: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: Callable[[], Sequence[Any]]
    shared_mem: int = 0


@dataclass(frozen=True)
class Bug(Launch):
    """`section` of the report has a finding of this `kind` on the marked line. `array`, `index`, `at` (block
    and thread) and `count` are checked where they are given. `also`: sections that may have findings too; the
    others, but notes, are empty."""

    section: str = "races"
    kind: str = "shared"
    array: str | None = None
    index: int | None = None
    at: tuple[Triple, Triple] | None = None
    count: int | None = None
    also: tuple[str, ...] = ()

    @property
    def line(self) -> int:
        return self._marked("// BUG") or 0

    @property
    def other_line(self) -> int:
        return self._marked("// OTHER") or self.line

    def _marked(self, mark: str) -> int | None:
        found = [i for i, text in enumerate(self.source.splitlines(), 1) if text.endswith(mark)]
        assert len(found) <= 1, f"{self.name}: {mark} stands on {len(found)} lines"
        return found[0] if found else None


@dataclass(frozen=True)
class Correct(Launch):
    """`same_value` and `note` (its kind) say that the report shows these, and is `ok` nevertheless."""

    same_value: bool = False
    note: str = ""


def kernel(parameters: str, body: str, before: str = "") -> str:
    """The text of a kernel; the first line of `body` is its first line."""
    return f'{before}extern "C" __global__ void k({parameters}) {{\n{body.strip(chr(10))}\n}}\n'


def floats(n: int) -> np.ndarray:
    return np.arange(1, n + 1, dtype=np.float32)


def zeros(n: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(n, dtype)


MATMUL = """
    __shared__ float a[8][8], b[8][8];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
    float sum = 0.0f;
    for (int start = 0; start < n; start += 8) {
        a[ty][tx] = A[row * n + start + tx];
        b[ty][tx] = B[(start + ty) * n + col];STORE
        FIRST
        for (int i = 0; i < 8; ++i) {
            sum += a[ty][i] * b[i][tx];LOAD
        }
        SECOND
    }
    C[row * n + col] = sum;"""


def matmul(first: bool = True, second: bool = True, store: str = "", load: str = "") -> str:
    body = MATMUL.replace("FIRST", "__syncthreads();" * first).replace("SECOND", "__syncthreads();" * second)
    body = body.replace("STORE", store and "  " + store).replace("LOAD", load and "  " + load)
    return kernel("const float* A, const float* B, float* C, int n", body)


def matrices() -> list[Any]:
    return [floats(256), floats(256), zeros(256), 16]


GROUPS = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
"""
BFLOAT = "#include <cuda_bf16.h>\n"
Y_OUT = "const __nv_bfloat16* y, float* out"
XY = "const float* x, float* y, int n"
X_OUT = "const float* x, float* out"


def xy(n: int = 64, size: int | None = None) -> Callable[[], list[Any]]:
    return lambda: [floats(size or n), zeros(size or n), n]


def x_out(n: int) -> Callable[[], list[Any]]:
    return lambda: [floats(n), zeros(n)]


def bfloats(n: int) -> np.ndarray:
    """The numbers from 1 on, as the bits of a bfloat16."""
    return (floats(n).view(np.uint32) >> 16).astype(np.uint16)


def y_out(n: int) -> Callable[[], list[Any]]:
    return lambda: [bfloats(n), zeros(n)]


LAST_BLOCK = """
    __shared__ bool last;
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < 8; ++i) sum += x[blockIdx.x * 8 + i];
        sums[blockIdx.x] = sum;STORE
        FENCE1
        last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        FENCE2
        float total = 0.0f;
        for (int b = 0; b < gridDim.x; ++b) total += sums[b];LOAD
        *out = total;
    }"""


def last_block(writer: bool = True, reader: bool = True, store: str = "", load: str = "") -> str:
    body = LAST_BLOCK.replace("FENCE1", "__threadfence();" * writer).replace(
        "FENCE2", "__threadfence();" * reader
    )
    body = body.replace("STORE", store and "  " + store).replace("LOAD", load and "  " + load)
    return kernel("const float* x, float* sums, float* out, unsigned int* arrived", body)


def last_block_args() -> list[Any]:
    return [floats(32), zeros(4), zeros(1), zeros(1, np.uint32)]


HAND_ON = """
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        BEFORE
        data[t] = 2.0f * x[t];STORE
        FENCE1
        __syncthreads();
        if (t == 0) RAISED
    } else {
        if (t == 0) {
            WAITED
            FENCE2
        }
        __syncthreads();
        out[t] = data[t];LOAD
    }"""


def hand_on(
    fence: tuple[str, str] = ("__threadfence();", "__threadfence();"),
    raised: str = "*(volatile int*)flag = 1;",
    waited: str = "while (*(volatile int*)flag == 0) {}",
    before: str = "",
    marks: tuple[str, str] = ("", ""),
) -> str:
    """A block waits for a flag, and reads what another block has written before it set the flag."""
    words = {"BEFORE": before, "FENCE1": fence[0], "FENCE2": fence[1], "RAISED": raised, "WAITED": waited}
    words |= {"STORE": marks[0] and f"  {marks[0]}", "LOAD": marks[1] and f"  {marks[1]}"}
    body = HAND_ON
    for word, text in words.items():
        body = body.replace(word, text)
    return kernel("const float* x, float* data, float* out, int* flag", body)


def hand_on_args() -> list[Any]:
    return [floats(64), zeros(64), zeros(64), zeros(1, np.int32)]


def unfenced(name: str, source: str) -> Bug:
    """A kernel of `hand_on` that reads data too early."""
    return Bug(name, source, (2,), (64,), hand_on_args, kind="global", array="data")


WARPS = """
    __shared__ float s[64];
    __shared__ volatile int flag;
    int t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t < 32) {
        s[t] = x[t];STORE
        FENCE
        __syncwarp();
        if (t == 0) flag = 1;
        out[t] = 0.0f;
    } else {
        while (flag == 0) {}
        __threadfence_block();
        out[t] = s[63 - t];LOAD
    }"""


def hand_on_in_a_block(fence: bool = True, store: str = "", load: str = "") -> str:
    body = WARPS.replace("FENCE", "__threadfence_block();" * fence)
    return kernel(X_OUT, body.replace("STORE", store and "  " + store).replace("LOAD", load and "  " + load))


BUGS = [
    # ---- what a kernel says of itself
    Bug(
        "an assert that fails in one thread",
        kernel(
            XY,
            """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(x[i] != 50.0f);  // BUG
    y[i] = 1.0f / (x[i] - 50.0f);""",
        ),
        (2,),
        (32,),
        xy(64),
        section="asserts",
        kind="assert",
        at=((1, 0, 0), (17, 0, 0)),
        count=1,
    ),
    Bug(
        "an assert in a loop",
        kernel(
            XY,
            """
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        sum += x[i];
        assert(sum < 70.0f && "too large");  // BUG
    }
    y[threadIdx.x] = sum;""",
        ),
        (1,),
        (32,),
        lambda: [floats(12), zeros(32), 12],
        section="asserts",
        kind="assert",
        count=32,
    ),
    Bug(
        "printf of a variable without a value",
        kernel(
            XY,
            """
    float sum;
    if (threadIdx.x < 31) sum = x[threadIdx.x];
    printf("%f\\n", sum);  // BUG
    y[threadIdx.x] = 0.0f;""",
        ),
        (1,),
        (32,),
        xy(32),
        section="uninitialised",
        kind="uninitialised",
        array="sum",
        at=((0, 0, 0), (31, 0, 0)),
        count=1,
    ),
    Bug(
        "printf of what is beyond the end",
        kernel(
            XY,
            """
    y[threadIdx.x] = 0.0f;
    printf("%f\\n", x[threadIdx.x + 1]);  // BUG""",
        ),
        (1,),
        (32,),
        xy(32),
        section="out_of_bounds",
        kind="out-of-bounds",
        array="x",
        index=32,
    ),
    Bug(
        "printf of what another thread writes",
        kernel(
            XY,
            """
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];  // OTHER
    if (threadIdx.x == 0) printf("%f %f\\n", s[0], s[63]);  // BUG
    y[threadIdx.x] = s[threadIdx.x];""",
        ),
        (1,),
        (64,),
        xy(64),
        array="s",
        index=63,
    ),
    # ---- barriers missing: races in a block
    Bug(
        "matmul without its first barrier",
        matmul(first=False, store="// OTHER", load="// BUG"),
        (2, 2),
        (8, 8),
        matrices,
        array="b",
    ),
    Bug(
        "matmul without its second barrier",
        matmul(second=False, store="// BUG", load="// OTHER"),
        (2, 2),
        (8, 8),
        matrices,
        array="b",
    ),
    Bug(
        "reduction without the barrier in its loop",
        kernel(
            X_OUT,
            """
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];  // BUG
    }
    if (t == 0) out[0] = s[0];""",
        ),
        (1,),
        (128,),
        x_out(128),
        array="s",
    ),
    Bug(
        "reduction without the barrier after loading",
        kernel(
            X_OUT,
            """
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];  // OTHER
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];  // BUG
        __syncthreads();
    }
    if (t == 0) out[0] = s[0];""",
        ),
        (1,),
        (128,),
        x_out(128),
        array="s",
    ),
    Bug(
        "stencil without its barrier",
        kernel(
            XY,
            """
    __shared__ float part[66];
    int t = threadIdx.x;
    part[t + 1] = x[t];  // OTHER
    if (t == 0) part[0] = part[65] = 0.0f;
    y[t] = part[t] + part[t + 1] + part[t + 2];  // BUG""",
        ),
        (1,),
        (64,),
        xy(64),
        array="part",
    ),
    Bug(
        "scan in one row",
        kernel(
            "const int* x, int* out",
            """
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int offset = 1; offset < 64; offset *= 2) {
        if (t >= offset) s[t] += s[t - offset];  // BUG
        __syncthreads();
    }
    out[t] = s[t];""",
        ),
        (1,),
        (64,),
        lambda: [np.ones(64, np.int32), zeros(64, np.int32)],
        array="s",
    ),
    Bug(
        "a result is overwritten while others read it",
        kernel(
            X_OUT,
            """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    float first = s[0];  // OTHER
    s[t] = first + t;  // BUG
    __syncthreads();
    out[t] = s[63 - t];""",
        ),
        (1,),
        (64,),
        x_out(64),
        array="s",
        index=0,
    ),
    Bug(
        "one thread tells the others without a barrier",
        kernel(
            X_OUT,
            """
    __shared__ float scale;
    int t = threadIdx.x;
    if (t == 0) scale = 2.0f * x[0];  // OTHER
    out[t] = scale * x[t];  // BUG""",
        ),
        (1,),
        (64,),
        x_out(64),
        array="scale",
    ),
    Bug(
        "counters are cleared without a barrier before they count",
        kernel(
            "const int* x, int* out",
            """
    __shared__ int bins[64];
    int t = threadIdx.x;
    bins[t] = 0;  // OTHER
    atomicAdd(&bins[x[t]], 1);  // BUG
    __syncthreads();
    out[t] = bins[t];""",
        ),
        (1,),
        (64,),
        lambda: [np.arange(63, -1, -1, dtype=np.int32), zeros(64, np.int32)],
        array="bins",
    ),
    Bug(
        "shared atomics read without a barrier",
        kernel(
            "const int* x, int* out",
            """
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (threadIdx.x < 32 && x[threadIdx.x] > 3) atomicAdd(&count, 1);  // OTHER
    if (threadIdx.x == 40) out[0] = count;  // BUG""",
        ),
        (1,),
        (64,),
        lambda: [np.full(64, 9, np.int32), zeros(1, np.int32)],
        array="count",
        index=0,
    ),
    # ---- within a warp
    Bug(
        "warp reduction without __syncwarp",
        kernel(
            X_OUT,
            """
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    for (int half = 16; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];  // BUG
    }
    out[t] = s[t];""",
        ),
        (1,),
        (32,),
        x_out(32),
        kind="warp",
        array="s",
    ),
    Bug(
        "neighbours exchange without __syncwarp",
        kernel(
            X_OUT,
            """
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];  // OTHER
    out[t] = s[t ^ 1];  // BUG""",
        ),
        (1,),
        (32,),
        x_out(32),
        kind="warp",
        array="s",
    ),
    Bug(
        "a shuffle orders no memory",
        kernel(
            X_OUT,
            """
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];  // OTHER
    float v = __shfl_xor_sync(0xffffffff, x[t], 1);
    out[t] = s[31 - t] + v;  // BUG""",
        ),
        (1,),
        (32,),
        x_out(32),
        kind="warp",
        array="s",
    ),
    Bug(
        "__syncwarp of one half does not order the other",
        kernel(
            X_OUT,
            """
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];  // OTHER
    if (t < 16) __syncwarp(0x0000ffff);
    else __syncwarp(0xffff0000);
    out[t] = s[31 - t];  // BUG""",
        ),
        (1,),
        (32,),
        x_out(32),
        kind="warp",
        array="s",
    ),
    Bug(
        "one instruction writes twice to one element",
        kernel(
            "int* out",
            """
    out[threadIdx.x / 2] = threadIdx.x;  // BUG""",
        ),
        (1,),
        (32,),
        lambda: [zeros(32, np.int32)],
        kind="warp",
        array="out",
    ),
    # ---- between blocks
    Bug(
        "blocks write to one place",
        kernel(
            "int* out",
            """
    out[threadIdx.x] = blockIdx.x;  // BUG""",
        ),
        (2,),
        (32,),
        lambda: [zeros(32, np.int32)],
        kind="global",
        array="out",
    ),
    Bug(
        "histogram without atomics",
        kernel(
            "const int* data, int* bins",
            """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bins[data[i]] += 1;  // BUG""",
        ),
        (2,),
        (64,),
        lambda: [np.arange(128, dtype=np.int32) % 3, zeros(3, np.int32)],
        kind="global",
        array="bins",
    ),
    Bug(
        "an atomic against a plain read",
        kernel(
            "int* count, int* out",
            """
    if (threadIdx.x == 0) {
        atomicAdd(count, 1);  // OTHER
        out[blockIdx.x] = count[0];  // BUG
    }""",
        ),
        (4,),
        (32,),
        lambda: [zeros(1, np.int32), zeros(4, np.int32)],
        kind="global",
        array="count",
        index=0,
    ),
    Bug(
        "an array is moved within itself",
        kernel(
            "float* x, int n",
            """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) x[i] = x[i + 1];  // BUG""",
        ),
        (2,),
        (64,),
        lambda: [floats(128), 128],
        kind="global",
        array="x",
    ),
    Bug(
        "a block reads what another wrote",
        kernel(
            "float* x, float* out",
            """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = i;  // OTHER
    __syncthreads();
    out[i] = x[127 - i];  // BUG""",
        ),
        (2,),
        (64,),
        lambda: [floats(128), zeros(128)],
        kind="global",
        array="x",
    ),
    Bug(
        "last block: the writer's fence is missing",
        last_block(writer=False, store="// OTHER", load="// BUG"),
        (4,),
        (32,),
        last_block_args,
        kind="global",
        array="sums",
    ),
    unfenced(
        "flag: the writer's fence is missing", hand_on(("", "__threadfence();"), marks=("// OTHER", "// BUG"))
    ),
    unfenced(
        "flag: the reader's fence is missing", hand_on(("__threadfence();", ""), marks=("// OTHER", "// BUG"))
    ),
    unfenced(
        "flag: the fence is one for a block",
        hand_on(("__threadfence_block();", "__threadfence();"), marks=("// OTHER", "// BUG")),
    ),
    unfenced(
        "flag: set before the data",
        hand_on(raised=";", before="if (t == 0) *(volatile int*)flag = 1;", marks=("// OTHER", "// BUG")),
    ),
    Bug(
        "flag: set by a plain store",
        hand_on(raised="flag[0] = 1;  // BUG", waited="while (*(volatile int*)flag == 0) {}  // OTHER"),
        (2,),
        (64,),
        hand_on_args,
        kind="global",
        array="flag",
        index=0,
    ),
    Bug(
        "flag of a warp: the fence is missing",
        hand_on_in_a_block(False, "// OTHER", "// BUG"),
        (1,),
        (64,),
        x_out(64),
        kind="shared",
        array="s",
    ),
    Bug(
        "a row too long runs into the next",
        kernel(
            "int* out, int rows, int cols",
            """
    int col = threadIdx.x, row = threadIdx.y;
    if (row < rows) {
        out[row * cols + col] = 100 * row + col;  // BUG
    }""",
        ),
        (1,),
        (8, 4),
        lambda: [zeros(15, np.int32), 3, 5],
        section="out_of_bounds",
        kind="out-of-bounds",
        array="out",
        index=15,
        at=((0, 0, 0), (5, 2, 0)),
        count=3,
        also=("races",),
    ),
    # ---- barriers
    Bug(
        "barrier in a branch",
        kernel(
            X_OUT,
            """
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t < 32) {
        s[t] = x[t];
        __syncthreads();  // BUG
    } else {
        s[t] = 0.0f;
    }
    __syncthreads();
    out[t] = s[63 - t];""",
        ),
        (1,),
        (64,),
        x_out(64),
        section="barrier_divergence",
        kind="barrier-divergence",
        also=("races",),
    ),
    Bug(
        "a loop whose end each thread decides for itself",
        kernel(
            "int* left, int* rounds",
            """
    int t = threadIdx.x, mine = left[t];
    while (mine > 0) {
        --mine;
        if (!__syncthreads_or(mine > 0)) break;  // BUG
        ++rounds[t];
    }
    __syncthreads();
    if (t == 0) rounds[0] += rounds[63];""",
        ),
        (1,),
        (64,),
        lambda: [np.arange(64, dtype=np.int32), zeros(64, np.int32)],
        section="barrier_divergence",
        kind="barrier-divergence",
    ),
    Bug(
        "counted in a branch",
        kernel(
            X_OUT,
            """
    int t = threadIdx.x;
    out[t] = 0.0f;
    if (x[t] > 20.0f) {
        out[t] = __syncthreads_count(x[t] > 30.0f);  // BUG
    }
    __syncthreads();""",
        ),
        (1,),
        (64,),
        x_out(64),
        section="barrier_divergence",
        kind="barrier-divergence",
    ),
    Bug(
        "barrier in a branch within a warp",
        kernel(
            X_OUT,
            """
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t % 2 == 0) __syncthreads();  // BUG
    out[t] = s[t];
    __syncthreads();""",
        ),
        (1,),
        (32,),
        x_out(32),
        section="barrier_divergence",
        kind="barrier-divergence",
    ),
    Bug(
        "barrier in a loop of unequal length",
        kernel(
            X_OUT,
            """
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int j = 0; j < t % 3; ++j) {
        sum += x[j];
        __syncthreads();  // BUG
    }
    out[t] = sum;
    __syncthreads();""",
        ),
        (1,),
        (64,),
        x_out(64),
        section="barrier_divergence",
        kind="barrier-divergence",
    ),
    Bug(
        "barrier after a break",
        kernel(
            X_OUT,
            """
    int t = threadIdx.x;
    for (int j = 0; j < 4; ++j) {
        if (x[t] + j > 60.0f) break;
        __syncthreads();  // BUG
    }
    out[t] = x[t];
    __syncthreads();""",
        ),
        (1,),
        (64,),
        x_out(64),
        section="barrier_divergence",
        kind="barrier-divergence",
    ),
    # ---- out of bounds
    Bug(
        "off by one",
        kernel(
            XY,
            """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) y[i] = 2.0f * i;  // BUG""",
        ),
        (2,),
        (64,),
        xy(100),
        section="out_of_bounds",
        kind="out-of-bounds",
        array="y",
        index=100,
        at=((1, 0, 0), (36, 0, 0)),
        count=1,
    ),
    Bug(
        "no guard at all",
        kernel(
            XY,
            """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];  // BUG
    if (i < n) y[i] = v;""",
        ),
        (2,),
        (64,),
        xy(100),
        section="out_of_bounds",
        kind="out-of-bounds",
        array="x",
        index=100,
        at=((1, 0, 0), (36, 0, 0)),
        count=28,
    ),
    Bug(
        "guard in the wrong order",
        kernel(
            XY,
            """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > 0.0f && i < n) {  // BUG
        y[i] = x[i];
    }""",
        ),
        (2,),
        (64,),
        xy(100),
        section="out_of_bounds",
        kind="out-of-bounds",
        array="x",
        index=100,
        at=((1, 0, 0), (36, 0, 0)),
        count=28,
    ),
    Bug(
        "negative index",
        kernel(
            XY,
            """
    int i = threadIdx.x;
    y[i] = x[i - 1];  // BUG""",
        ),
        (1,),
        (64,),
        xy(64),
        section="out_of_bounds",
        kind="out-of-bounds",
        array="x",
        index=-1,
        at=((0, 0, 0), (0, 0, 0)),
        count=1,
    ),
    Bug(
        "an unsigned index below zero",
        kernel(
            XY,
            """
    unsigned int i = threadIdx.x;
    y[i] = x[i - 1u];  // BUG""",
        ),
        (1,),
        (64,),
        xy(64),
        section="out_of_bounds",
        kind="out-of-bounds",
        array="x",
        index=4294967295,
        at=((0, 0, 0), (0, 0, 0)),
        count=1,
    ),
    Bug(
        "threadIdx.x - 1 is unsigned too",
        kernel(
            XY,
            """
    y[threadIdx.x] = x[threadIdx.x - 1];  // BUG""",
        ),
        (1,),
        (32,),
        xy(32),
        section="out_of_bounds",
        kind="out-of-bounds",
        array="x",
        index=4294967295,
        at=((0, 0, 0), (0, 0, 0)),
        count=1,
    ),
    Bug(
        "shared array too short",
        kernel(
            X_OUT,
            """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];  // BUG
    __syncthreads();
    out[t] = s[t % 64];""",
        ),
        (1,),
        (96,),
        x_out(96),
        section="out_of_bounds",
        kind="out-of-bounds",
        array="s",
        index=64,
        at=((0, 0, 0), (64, 0, 0)),
        count=32,
    ),
    Bug(
        "too little dynamic shared memory",
        kernel(
            X_OUT,
            """
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = x[t];  // BUG
    __syncthreads();
    out[t] = s[t % 32];""",
        ),
        (1,),
        (64,),
        x_out(64),
        shared_mem=128,
        section="out_of_bounds",
        kind="out-of-bounds",
        array="s",
        index=32,
        at=((0, 0, 0), (32, 0, 0)),
        count=32,
    ),
    Bug(
        "the end of the last row",
        kernel(
            X_OUT,
            """
    __shared__ float tile[8][8];
    int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = x[8 * ty + tx];
    __syncthreads();
    out[8 * ty + tx] = tile[ty][tx + 1];  // BUG""",
        ),
        (1,),
        (8, 8),
        x_out(64),
        section="out_of_bounds",
        kind="out-of-bounds",
        array="tile",
        index=64,
        at=((0, 0, 0), (7, 7, 0)),
        count=1,
    ),
    Bug(
        "local array too short",
        kernel(
            X_OUT,
            """
    float last[4];
    for (int j = 0; j < 4; ++j) last[j] = x[j];
    out[threadIdx.x] = last[threadIdx.x];  // BUG""",
        ),
        (1,),
        (5,),
        x_out(5),
        section="out_of_bounds",
        kind="out-of-bounds",
        array="last",
        index=4,
        at=((0, 0, 0), (4, 0, 0)),
        count=1,
    ),
    Bug(
        "float4 beyond the end",
        kernel(
            "const float* x, float* y",
            """
    int i = threadIdx.x;
    float4 v = *reinterpret_cast<const float4*>(&x[4 * i]);  // BUG
    y[i] = v.x + v.w;""",
        ),
        (1,),
        (8,),
        lambda: [floats(30), zeros(8)],
        section="out_of_bounds",
        kind="out-of-bounds",
        array="x",
        index=28,
        at=((0, 0, 0), (7, 0, 0)),
        count=1,
    ),
    # ---- read before written
    Bug(
        "half of shared memory was never written",
        kernel(
            X_OUT,
            """
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t < 32) s[t] = x[t];
    __syncthreads();
    out[t] = s[t];  // BUG""",
        ),
        (1,),
        (64,),
        x_out(64),
        section="uninitialised",
        kind="uninitialised",
        array="s",
        index=32,
        at=((0, 0, 0), (32, 0, 0)),
        count=32,
    ),
    Bug(
        "a local array was not filled",
        kernel(
            X_OUT,
            """
    float last[4];
    for (int j = 0; j < 3; ++j) last[j] = x[j];
    out[threadIdx.x] = last[3];  // BUG""",
        ),
        (1,),
        (32,),
        x_out(32),
        section="uninitialised",
        kind="uninitialised",
        array="last",
        index=3,
        at=((0, 0, 0), (0, 0, 0)),
        count=32,
    ),
    Bug(
        "a variable has a value in some threads only",
        kernel(
            X_OUT,
            """
    float v;
    if (threadIdx.x % 2 == 1) v = x[threadIdx.x];
    out[threadIdx.x] = v;  // BUG""",
        ),
        (1,),
        (32,),
        x_out(32),
        section="uninitialised",
        kind="uninitialised",
        at=((0, 0, 0), (0, 0, 0)),
        count=16,
    ),
    Bug(
        "a sum starts with nothing",
        kernel(
            X_OUT,
            """
    float sum;
    for (int j = 0; j < 4; ++j) {
        sum += x[j];  // BUG
    }
    out[threadIdx.x] = sum;""",
        ),
        (1,),
        (32,),
        x_out(32),
        section="uninitialised",
        kind="uninitialised",
    ),
    Bug(
        "cp.empty is not zero",
        kernel(
            "const float* x, float* total",
            """
    total[threadIdx.x] += x[threadIdx.x];  // BUG""",
        ),
        (1,),
        (32,),
        lambda: [floats(32), Empty(32)],
        section="uninitialised",
        kind="uninitialised",
        array="total",
        index=0,
        at=((0, 0, 0), (0, 0, 0)),
        count=32,
    ),
    # ---- misaligned
    Bug(
        "float4 from the second element",
        kernel(
            "const float* x, float* y",
            """
    int i = threadIdx.x;
    float4 v = *(const float4*)(x + 4 * i + 1);  // BUG
    y[i] = v.x;""",
        ),
        (1,),
        (8,),
        lambda: [floats(64), zeros(8)],
        section="misaligned",
        kind="misaligned",
        array="x",
        at=((0, 0, 0), (0, 0, 0)),
        count=8,
    ),
    Bug(
        "rows of 6 floats read as float4",
        kernel(
            "const float* x, float* y",
            """
    const float4* row = reinterpret_cast<const float4*>(x + 6 * threadIdx.x);
    float4 v = row[0];  // BUG
    y[threadIdx.x] = v.x + v.y + v.z + v.w;""",
        ),
        (1,),
        (8,),
        lambda: [floats(64), zeros(8)],
        section="misaligned",
        kind="misaligned",
        array="x",
        at=((0, 0, 0), (1, 0, 0)),
        count=4,
    ),
    # ---- groups of threads
    Bug(
        "the tile waits where the block should",
        GROUPS
        + kernel(
            X_OUT,
            """
    __shared__ float s[64];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int t = block.thread_rank();
    s[t] = x[t];  // OTHER
    tile.sync();
    out[t] = s[63 - t];  // BUG""",
        ),
        (1,),
        (64,),
        x_out(64),
    ),
    Bug(
        "a smaller tile waits than exchanges",
        GROUPS
        + kernel(
            X_OUT,
            """
    __shared__ float s[32];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x;
    s[t] = x[t];  // OTHER
    cg::sync(tile);
    out[t] = s[t ^ 8];  // BUG""",
        ),
        (1,),
        (32,),
        x_out(32),
        kind="warp",
    ),
    Bug(
        "a thread_group that is no block any more",
        GROUPS
        + "__device__ float last(cg::thread_group group, float* s, float v) {\n"
        + "    s[threadIdx.x] = v;  // OTHER\n"
        + "    group.sync();\n"
        + "    return s[63 - threadIdx.x];  // BUG\n}\n"
        + kernel(
            X_OUT,
            """
    __shared__ float s[64];
    out[threadIdx.x] = last(cg::tiled_partition(cg::this_thread_block(), 32), s, x[threadIdx.x]);""",
        ),
        (1,),
        (64,),
        x_out(64),
    ),
    Bug(
        "some of the block do not come to its barrier",
        GROUPS
        + kernel(
            X_OUT,
            """
    cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() < 40) block.sync();  // BUG
    block.sync();
    out[threadIdx.x] = x[threadIdx.x];""",
        ),
        (1,),
        (64,),
        x_out(64),
        section="barrier_divergence",
        kind="barrier-divergence",
    ),
    Bug(
        "a shuffle of a tile whose lanes have left",
        GROUPS
        + kernel(
            X_OUT,
            """
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int t = threadIdx.x;
    if (tile.thread_rank() > 11) return;
    out[t] = tile.shfl_down(x[t], 4);  // BUG""",
        ),
        (1,),
        (32,),
        x_out(32),
        section="warp_sync",
        kind="warp-sync",
        count=8,
    ),
    Bug(
        "a sum of a tile that is not complete",
        GROUPS
        + kernel(
            X_OUT,
            """
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int t = threadIdx.x;
    if (t < 20) {
        out[t] = cg::reduce(tile, x[t], cg::plus<float>());  // BUG
    }""",
        ),
        (1,),
        (32,),
        x_out(32),
        section="warp_sync",
        kind="warp-sync",
    ),
    Bug(
        "lanes that run together read what the others of the warp write",
        GROUPS
        + kernel(
            X_OUT,
            """
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = 0.0f;
    __syncwarp();
    if (t < 20) {
        cg::coalesced_group some = cg::coalesced_threads();
        some.sync();
        out[t] = s[31 - t];  // BUG
    } else {
        s[t] = x[t];  // OTHER
    }""",
        ),
        (1,),
        (32,),
        x_out(32),
        kind="warp",
        array="s",
    ),
    Bug(
        "a shuffle of lanes that ran together, and of which half have left",
        GROUPS
        + kernel(
            X_OUT,
            """
    int t = threadIdx.x;
    cg::coalesced_group all = cg::coalesced_threads();
    if (all.thread_rank() & 1) return;
    out[t] = all.shfl_down(x[t], 1);  // BUG""",
        ),
        (1,),
        (32,),
        x_out(32),
        section="warp_sync",
        kind="warp-sync",
        count=16,
    ),
    Bug(
        "a shuffle of those who say the same, in a branch",
        GROUPS
        + kernel(
            X_OUT,
            """
    int t = threadIdx.x;
    auto same = cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), t % 3);
    out[t] = x[t];
    if (t < 16) {
        out[t] = same.shfl(x[t], same.size() - 1);  // BUG
    }""",
        ),
        (1,),
        (32,),
        x_out(32),
        section="warp_sync",
        kind="warp-sync",
    ),
    # ---- bfloat16
    Bug(
        "a row of bfloat16 without a barrier",
        BFLOAT
        + kernel(
            Y_OUT,
            """
    __shared__ __nv_bfloat16 s[64];
    int t = threadIdx.x;
    s[t] = __hmul(y[t], y[t]);  // OTHER
    out[t] = __bfloat162float(s[63 - t]);  // BUG""",
        ),
        (1,),
        (64,),
        y_out(64),
        array="s",
    ),
    Bug(
        "pairs of bfloat16, and one of them too many",
        BFLOAT
        + kernel(
            Y_OUT,
            """
    const __nv_bfloat162* pairs = reinterpret_cast<const __nv_bfloat162*>(y);
    out[threadIdx.x] = __low2float(pairs[threadIdx.x]);  // BUG""",
        ),
        (1,),
        (32,),
        lambda: [bfloats(62), zeros(32)],
        section="out_of_bounds",
        kind="out-of-bounds",
        array="y",
        at=((0, 0, 0), (31, 0, 0)),
        count=1,
    ),
    Bug(
        "a pair that begins with the second bfloat16",
        BFLOAT
        + kernel(
            Y_OUT,
            """
    const __nv_bfloat162* pairs = reinterpret_cast<const __nv_bfloat162*>(y + 1);
    out[threadIdx.x] = __low2float(pairs[threadIdx.x]);  // BUG""",
        ),
        (1,),
        (32,),
        lambda: [bfloats(66), zeros(32)],
        section="misaligned",
        kind="misaligned",
        array="y",
    ),
    Bug(
        "a sum of bfloat16 that starts with nothing",
        BFLOAT
        + kernel(
            Y_OUT,
            """
    __shared__ __nv_bfloat162 sums[32];
    int t = threadIdx.x;
    if (t > 0) sums[t] = __float2bfloat162_rn(0.0f);
    sums[t] += __halves2bfloat162(y[t], y[t]);  // BUG
    out[t] = __high2float(sums[t]);""",
        ),
        (1,),
        (32,),
        y_out(32),
        section="uninitialised",
        kind="uninitialised",
        array="sums",
    ),
    Bug(
        "everybody adds to one bfloat16",
        BFLOAT
        + kernel(
            "const __nv_bfloat16* y, __nv_bfloat16* out",
            """
    out[0] += y[threadIdx.x];  // BUG""",
        ),
        (1,),
        (64,),
        lambda: [bfloats(64), zeros(1, np.uint16)],
        kind="global",
        array="out",
    ),
    # ---- warp functions
    Bug(
        "shuffle in a branch under the full mask",
        kernel(
            X_OUT,
            """
    int t = threadIdx.x;
    float v = x[t];
    if (t < 16) {
        v += __shfl_down_sync(0xffffffff, v, 8);  // BUG
    }
    out[t] = v;""",
        ),
        (1,),
        (32,),
        x_out(32),
        section="warp_sync",
        kind="warp-sync",
    ),
    Bug(
        "shuffle from a lane outside the mask",
        kernel(
            X_OUT,
            """
    int t = threadIdx.x;
    float v = x[t];
    if (t < 16) {
        v = __shfl_sync(0x0000ffff, v, 20);  // BUG
    }
    out[t] = v;""",
        ),
        (1,),
        (32,),
        x_out(32),
        section="warp_sync",
        kind="warp-sync",
    ),
    Bug(
        "shuffle from lanes that have returned",
        kernel(
            XY,
            """
    int t = threadIdx.x;
    if (t >= n) return;
    y[t] = __shfl_down_sync(0xffffffff, x[t], 16);  // BUG""",
        ),
        (1,),
        (32,),
        xy(20, 32),
        section="warp_sync",
        kind="warp-sync",
    ),
    Bug(
        "vote in a branch under the full mask",
        kernel(
            X_OUT,
            """
    int t = threadIdx.x;
    unsigned int votes = 0;
    if (t % 4 != 0) {
        votes = __ballot_sync(0xffffffff, x[t] > 5.0f);  // BUG
    }
    out[t] = __popc(votes);""",
        ),
        (1,),
        (32,),
        x_out(32),
        section="warp_sync",
        kind="warp-sync",
    ),
    Bug(
        "__syncwarp that half of the warp never reaches",
        kernel(
            X_OUT,
            """
    __shared__ float s[32];
    int t = threadIdx.x;
    if (t < 16) {
        s[t] = x[t];
        __syncwarp();  // BUG
        out[t] = s[15 - t];
    } else {
        out[t] = 0.0f;
    }""",
        ),
        (1,),
        (32,),
        x_out(32),
        section="warp_sync",
        kind="warp-sync",
        also=("races",),
    ),
    # ---- arithmetic
    Bug(
        "division by zero",
        kernel(
            "const int* x, int* out",
            """
    int t = threadIdx.x;
    out[t] = 100 / x[t];  // BUG""",
        ),
        (1,),
        (32,),
        lambda: [np.arange(-5, 27, dtype=np.int32), zeros(32, np.int32)],
        section="arithmetic",
        kind="arithmetic",
        at=((0, 0, 0), (5, 0, 0)),
        count=1,
    ),
    Bug(
        "remainder of a division by zero",
        kernel(
            "int* out, int n",
            """
    int t = threadIdx.x;
    out[t] = n % (t / 2);  // BUG""",
        ),
        (1,),
        (32,),
        lambda: [zeros(32, np.int32), 7],
        section="arithmetic",
        kind="arithmetic",
        at=((0, 0, 0), (0, 0, 0)),
        count=2,
    ),
]


# Kernels that never end: the error names the marked line.
ENDLESS = [
    Bug(
        "a flag that a compiler reads once",
        kernel(
            "int* flag, int* out",
            """
    if (threadIdx.x < 32) {
        while (flag[0] == 0) {}  // BUG
        out[threadIdx.x] = 1;
    } else {
        flag[0] = 1;
    }""",
        ),
        (1,),
        (64,),
        lambda: [zeros(1, np.int32), zeros(32, np.int32)],
    ),
    Bug(
        "a flag that nobody sets",
        hand_on(raised=";", waited="while (*(volatile int*)flag == 0) {}  // BUG"),
        (2,),
        (64,),
        hand_on_args,
    ),
    Bug(
        "two blocks wait for each other",
        kernel(
            "volatile int* flag",
            """
    if (threadIdx.x == 0) {
        while (flag[1 - blockIdx.x] == 0) {}  // BUG
        flag[blockIdx.x] = 1;
    }""",
        ),
        (2,),
        (32,),
        lambda: [zeros(2, np.int32)],
    ),
    Bug(
        "waits for what nobody writes",
        kernel(
            "int* flag, int* out",
            """
    while (flag[0] == 0) {  // BUG
    }
    out[threadIdx.x] = 1;""",
        ),
        (1,),
        (32,),
        lambda: [zeros(1, np.int32), zeros(32, np.int32)],
    ),
    Bug(
        "the step does not step",
        kernel(
            "int* out, int n",
            """
    int i = threadIdx.x;
    while (i < n) {  // BUG
        out[i % 32] = i;
    }""",
        ),
        (1,),
        (32,),
        lambda: [zeros(32, np.int32), 64],
    ),
    Bug(
        "a half that stays 0",
        kernel(
            "int* out, int n",
            """
    int sum = 0;
    for (int s = n / 2; s >= 0; s /= 2) {  // BUG
        sum += s;
    }
    out[threadIdx.x] = sum;""",
        ),
        (1,),
        (32,),
        lambda: [zeros(32, np.int32), 64],
    ),
    Bug(
        "an unsigned index counts down past 0",
        kernel(
            "int* out, unsigned int n",
            """
    for (unsigned int i = n - 1; i >= 0; --i) {  // BUG
        if (i < 32) out[i] = i;
    }""",
        ),
        (1,),
        (32,),
        lambda: [zeros(32, np.int32), 32],
    ),
    Bug(
        "runs past the end it waits for",
        kernel(
            "int* out",
            """
    unsigned int i = threadIdx.x;
    for (; i != 1; i += 2) {  // BUG
        out[threadIdx.x] = 1;
    }""",
        ),
        (1,),
        (32,),
        lambda: [zeros(32, np.int32)],
    ),
]


CORRECT = [
    Correct("flag between two fences", hand_on(), (2,), (64,), hand_on_args),
    Correct(
        "flag of a block that begins later",
        hand_on().replace("blockIdx.x == 0", "blockIdx.x == 1"),
        (2,),
        (64,),
        hand_on_args,
        note="resident",
    ),
    Correct(
        "flag by atomics, with a pause",
        hand_on(raised="atomicExch(flag, 1);", waited="while (atomicAdd(flag, 0) == 0) __nanosleep(50);"),
        (2,),
        (64,),
        hand_on_args,
    ),
    Correct("flag of a warp", hand_on_in_a_block(), (1,), (64,), x_out(64)),
    Correct(
        "last block: the reader's fence is missing",
        last_block(reader=False),
        (4,),
        (32,),
        last_block_args,
        note="last-block",
    ),
    Correct("tiled matmul", matmul(), (2, 2), (8, 8), matrices),
    Correct("last block, with both fences", last_block(), (4,), (32,), last_block_args),
    Correct(
        "tree reduction",
        kernel(
            X_OUT,
            """
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) out[0] = s[0];""",
        ),
        (1,),
        (128,),
        x_out(128),
    ),
    Correct(
        "threads return before a barrier",
        kernel(
            XY,
            """
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t >= n) return;
    s[t] = x[t];
    __syncthreads();
    y[t] = s[n - 1 - t];""",
        ),
        (1,),
        (64,),
        xy(50, 64),
        note="early-return",
    ),
    Correct(
        "exchange in a warp, ordered by __syncwarp",
        kernel(
            X_OUT,
            """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    out[t] = s[t ^ 1];""",
        ),
        (1,),
        (64,),
        x_out(64),
    ),
    Correct(
        "warp reduction that reads, waits and writes",
        kernel(
            X_OUT,
            """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t % 32];
    if (t >= 32) return;
    for (int offset = 16; offset > 0; offset /= 2) {
        __syncwarp();
        float other = s[t ^ offset];
        __syncwarp();
        s[t] += other;
    }
    out[t] = s[t];""",
        ),
        (1,),
        (64,),
        x_out(64),
    ),
    Correct(
        "each half of a warp has its own mask",
        kernel(
            X_OUT,
            """
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t < 16) __syncwarp(0x0000ffff);
    else __syncwarp(0xffff0000);
    out[t] = s[t / 16 * 16 + (t + 1) % 16];""",
        ),
        (1,),
        (32,),
        x_out(32),
    ),
    Correct(
        "all write the same value",
        kernel(
            "const int* x, int* found",
            """
    if (x[blockIdx.x * blockDim.x + threadIdx.x] > 10) *found = 1;""",
        ),
        (2,),
        (64,),
        lambda: [np.arange(128, dtype=np.int32), zeros(1, np.int32)],
        same_value=True,
    ),
    Correct(
        "two buffers and one barrier a step",
        kernel(
            "const int* x, int* out",
            """
    __shared__ int s[2][64];
    int t = threadIdx.x, from = 0;
    s[0][t] = x[t];
    __syncthreads();
    for (int offset = 1; offset < 64; offset *= 2) {
        s[1 - from][t] = s[from][t] + (t >= offset ? s[from][t - offset] : 0);
        __syncthreads();
        from = 1 - from;
    }
    out[t] = s[from][t];""",
        ),
        (1,),
        (64,),
        lambda: [np.ones(64, np.int32), zeros(64, np.int32)],
    ),
    Correct(
        "two buffers, loaded ahead",
        kernel(
            X_OUT,
            """
    __shared__ float s[2][64];
    int t = threadIdx.x;
    float sum = 0.0f;
    s[0][t] = x[t];
    for (int step = 0; step < 4; ++step) {
        __syncthreads();
        if (step < 3) s[(step + 1) % 2][t] = x[64 * (step + 1) + t];
        sum += s[step % 2][63 - t];
    }
    out[t] = sum;""",
        ),
        (1,),
        (64,),
        lambda: [floats(256), zeros(64)],
    ),
    Correct(
        "histogram in shared memory",
        kernel(
            "const int* x, int* out",
            """
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[x[t] & 7], 1);
    __syncthreads();
    if (t < 8) atomicAdd(&out[t], bins[t]);""",
        ),
        (2,),
        (64,),
        lambda: [np.arange(64, dtype=np.int32), zeros(8, np.int32)],
    ),
    Correct(
        "atomics of several kinds on one place",
        kernel(
            "int* x",
            """
    atomicAdd(&x[0], 2 * (int)threadIdx.x);
    atomicMax(&x[1], (int)threadIdx.x);
    atomicOr(&x[0], 1);""",
        ),
        (2,),
        (64,),
        lambda: [zeros(2, np.int32)],
    ),
    Correct(
        "largest float by atomicCAS",
        kernel(
            "const float* x, int* largest",
            """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int seen = 0;
    while (x[i] > __int_as_float(seen)) {
        int old = atomicCAS(largest, seen, __float_as_int(x[i]));
        if (old == seen) break;
        seen = old;
    }""",
        ),
        (2,),
        (32,),
        lambda: [floats(64), zeros(1, np.int32)],
    ),
    Correct(
        "shared memory as a scratch of one's own",
        kernel(
            X_OUT,
            """
    __shared__ float s[4][64];
    int t = threadIdx.x;
    for (int j = 0; j < 4; ++j) s[j][t] = j * x[t];
    out[t] = s[3][t] - s[1][t];""",
        ),
        (1,),
        (64,),
        x_out(64),
    ),
    Correct(
        "barrier in a branch that a whole block takes",
        kernel(
            X_OUT,
            """
    __shared__ float s[64];
    int t = threadIdx.x;
    if (blockIdx.x == 1) {
        s[t] = x[t];
        __syncthreads();
        out[t] = s[63 - t];
    }""",
        ),
        (2,),
        (64,),
        x_out(64),
    ),
    Correct(
        "barrier in a loop of equal length",
        kernel(
            XY,
            """
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    int step = 0;
    do {
        s[t] = x[t] * step;
        __syncthreads();
        sum += s[63 - t];
        __syncthreads();
    } while (++step < n);
    y[t] = sum;""",
        ),
        (1,),
        (64,),
        xy(3, 64),
    ),
    Correct(
        "barrier in a function",
        kernel(
            X_OUT,
            """
    __shared__ float s[64];
    out[threadIdx.x] = turned(s, x[threadIdx.x]);
    __syncthreads();
    out[threadIdx.x] += turned(s, 1.0f);""",
            before="""__device__ float turned(float* s, float v) {
    s[threadIdx.x] = v;
    __syncthreads();
    return s[63 - threadIdx.x];
}
""",
        ),
        (1,),
        (64,),
        x_out(64),
    ),
    Correct(
        "guard before the access",
        kernel(
            XY,
            """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 3.0f) y[i] = i > 0 ? x[i - 1] : 0.0f;""",
        ),
        (2,),
        (64,),
        xy(100),
    ),
    Correct(
        "the arms of ?: load only where they are chosen",
        kernel(
            XY,
            """
    unsigned int i = threadIdx.x;
    float left = i == 0u ? 0.0f : x[i - 1u];
    float right = i + 1 < n ? x[i + 1] : 0.0f;
    y[i] = left + right;""",
        ),
        (1,),
        (64,),
        xy(64),
    ),
    Correct(
        "|| stops before it loads",
        kernel(
            XY,
            """
    int i = threadIdx.x;
    if (i >= n || x[i] < 0.0f) return;
    y[i] = x[i];""",
        ),
        (1,),
        (64,),
        xy(50),
    ),
    Correct(
        "float4, aligned",
        kernel(
            "const float* x, float* y",
            """
    int i = threadIdx.x;
    float4 v = reinterpret_cast<const float4*>(x)[i];
    v.x += 1.0f;
    *(float4*)&y[4 * i] = v;""",
        ),
        (1,),
        (16,),
        x_out(64),
    ),
    Correct(
        "written as float4, read one by one after a barrier",
        kernel(
            X_OUT,
            """
    __shared__ __align__(16) float s[64];
    int t = threadIdx.x;
    if (t < 16) *reinterpret_cast<float4*>(&s[4 * t]) = make_float4(x[t], 1.0f, 2.0f, 3.0f);
    __syncthreads();
    out[t] = s[63 - t];""",
        ),
        (1,),
        (64,),
        x_out(64),
    ),
    Correct(
        "bytes side by side are not one another",
        kernel(
            "const unsigned char* x, unsigned char* y",
            """
    __shared__ unsigned char s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    y[t] = s[t] + 1;""",
        ),
        (1,),
        (64,),
        lambda: [np.arange(64, dtype=np.uint8), zeros(64, np.uint8)],
    ),
    Correct(
        "blocks write side by side",
        kernel(
            X_OUT,
            """
    int i = blockIdx.x + gridDim.x * threadIdx.x;
    out[i] = x[0];""",
        ),
        (4,),
        (16,),
        x_out(64),
    ),
    Correct(
        "a local array, filled where it is read",
        kernel(
            X_OUT,
            """
    float last[4];
    for (int j = 0; j < 4; ++j) {
        if (j % 2 == threadIdx.x % 2) last[j] = x[j];
    }
    out[threadIdx.x] = last[threadIdx.x % 2 + 2];""",
        ),
        (1,),
        (32,),
        x_out(32),
    ),
    Correct(
        "a variable that every path sets",
        kernel(
            X_OUT,
            """
    float v;
    if (x[threadIdx.x] > 5.0f) {
        v = 1.0f;
    } else {
        v = 2.0f;
    }
    out[threadIdx.x] = v;""",
        ),
        (1,),
        (32,),
        x_out(32),
    ),
    Correct(
        "cp.empty, written before it is read",
        kernel(
            "const float* x, float* y",
            """
    int t = threadIdx.x;
    y[t] = x[t];
    y[t] += 1.0f;""",
        ),
        (1,),
        (32,),
        lambda: [floats(32), Empty(32)],
    ),
    Correct(
        "the divisor is looked at first",
        kernel(
            "const int* x, int* out",
            """
    int t = threadIdx.x;
    out[t] = x[t] != 0 ? 100 / x[t] : 0;
    if (x[t] != 0 && 7 % x[t] == 1) out[t] += 1;""",
        ),
        (1,),
        (32,),
        lambda: [np.arange(-5, 27, dtype=np.int32), zeros(32, np.int32)],
    ),
    Correct(
        "whole warps return",
        kernel(
            XY,
            """
    int row = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= n) return;
    float v = x[threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
    if (lane == 0) y[row] = v;""",
        ),
        (1,),
        (96,),
        xy(2, 96),
    ),
    Correct(
        "a shuffle under the mask of those that come",
        kernel(
            X_OUT,
            """
    int t = threadIdx.x;
    float v = x[t];
    if (t < 16) {
        v += __shfl_xor_sync(0x0000ffff, v, 8);
    } else {
        v -= __shfl_xor_sync(0xffff0000, v, 8);
    }
    out[t] = v;""",
        ),
        (1,),
        (32,),
        x_out(32),
    ),
    Correct(
        "compaction with a ballot",
        kernel(
            "const int* x, int* out, int* count",
            """
    int t = threadIdx.x, lane = t % 32;
    unsigned int keep = __ballot_sync(0xffffffff, x[t] % 3 == 0);
    int start = 0;
    if (lane == 0) start = atomicAdd(count, __popc(keep));
    start = __shfl_sync(0xffffffff, start, 0);
    if (keep >> lane & 1) out[start + __popc(keep & ((1u << lane) - 1))] = x[t];""",
        ),
        (1,),
        (96,),
        lambda: [np.arange(96, dtype=np.int32), zeros(96, np.int32), zeros(1, np.int32)],
    ),
    Correct(
        "written, read by others, written again",
        kernel(
            X_OUT,
            """
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int j = 0; j < 3; ++j) {
        s[(t + j) % 64] = x[t];
        __syncthreads();
        sum += s[t];
        __syncthreads();
    }
    out[t] = sum;""",
        ),
        (1,),
        (64,),
        x_out(64),
    ),
    Correct(
        "threads take turns, ordered by barriers",
        kernel(
            "float* x",
            """
    for (int turn = 0; turn < 64; turn += 16) {
        if (threadIdx.x == turn) x[0] += turn;
        __syncthreads();
    }""",
        ),
        (1,),
        (64,),
        lambda: [floats(1)],
    ),
    Correct(
        "all read what nobody writes",
        kernel(
            X_OUT,
            """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[0] + x[i % 2];""",
        ),
        (2,),
        (64,),
        x_out(128),
    ),
    Correct(
        "in place, each its own",
        kernel(
            "float* x, int n",
            """
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        x[i] = x[i] * x[i];
    }""",
        ),
        (2,),
        (32,),
        lambda: [floats(150), 150],
    ),
    Correct(
        "dynamic shared memory, just enough",
        kernel(
            X_OUT,
            """
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    out[t] = s[63 - t];""",
        ),
        (1,),
        (64,),
        x_out(64),
        shared_mem=256,
    ),
    Correct(
        "until nobody has anything left",
        kernel(
            "const float* x, float* out",
            """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    while (__syncthreads_or(s[t] > 2.0f)) {
        s[t] = 0.5f * s[t];
    }
    int many = __syncthreads_count(s[t] > 1.5f);
    out[t] = s[63 - t] + many;
    assert(__syncthreads_and(s[t] <= 2.0f));
    if (t == 0) printf("%d are left\\n", many);""",
        ),
        (2,),
        (64,),
        lambda: [floats(64), zeros(128)],
        same_value=True,
    ),
    Correct(
        "sums by tiles and by a block that is not full",
        GROUPS
        + kernel(
            "const float* x, float* out",
            """
    __shared__ float s[32];
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    float sum = cg::reduce(tile, x[block.thread_rank()], cg::plus<float>());
    if (tile.thread_rank() == 0) s[tile.meta_group_rank()] = sum;
    block.sync();
    if (tile.meta_group_rank() == 0) {
        float part = tile.thread_rank() < tile.meta_group_size() ? s[tile.thread_rank()] : 0.0f;
        sum = cg::reduce(tile, part, cg::plus<float>());
        if (tile.thread_rank() == 0) out[blockIdx.x] = sum;
    }
    auto parts = cg::labeled_partition(cg::tiled_partition<32>(block), (int)threadIdx.x & 1);
    if (threadIdx.x & 1) parts.sync();""",
        ),
        (2,),
        (40,),
        lambda: [floats(40), zeros(2)],
    ),
    Correct(
        "lanes that run together in both branches",
        GROUPS
        + kernel(
            X_OUT,
            """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t % 3 == 0) {
        cg::coalesced_group some = cg::coalesced_threads();
        some.sync();
        out[t] = cg::reduce(some, s[t], cg::plus<float>());
    } else {
        auto others = cg::coalesced_threads();
        out[t] = others.shfl(x[t], others.size() - 1);
    }
    __syncwarp();""",
        ),
        (1,),
        (64,),
        x_out(64),
    ),
    Correct(
        "a sum of bfloat16 by pairs",
        BFLOAT
        + kernel(
            Y_OUT,
            """
    __shared__ __nv_bfloat162 s[32];
    int t = threadIdx.x;
    s[t] = reinterpret_cast<const __nv_bfloat162*>(y)[t];
    __syncthreads();
    for (int i = 16; i > 0; i /= 2) {
        if (t < i) s[t] = __hfma2(s[t + i], __float2bfloat162_rn(1.0f), s[t]);
        __syncthreads();
    }
    if (t == 0) out[0] = (float)(s[0].x + s[0].y);""",
        ),
        (1,),
        (32,),
        lambda: [bfloats(64), zeros(1)],
    ),
]

SOME = {launch.name for launch in (*BUGS[::5], *CORRECT[::5])}  # for a quick look
