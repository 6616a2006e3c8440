"""Chapter 05c, graded; its pictures; and the counts that its lesson claims, against sums done by hand."""

from __future__ import annotations

import numpy as np
import pytest
from graded import COURSE, Exercises, ExerciseTests
from lesson_kernels import lesson_kernels

from coursekit import notebooks
from coursekit.pictures import draw_columns, draw_limits, draw_registers
from minilib.cuda import RawKernel, cp, profile, simulate

# Right answers by another way than the reference's.
OTHERS = {
    "5.12": """
def for_each_fma(rows, columns, wide):
    words, loads, fma = 0, 0, 0
    for count in (rows, columns):
        words += count
        loads += len(range(0, count, wide))
    for _ in range(rows):
        fma += columns
    return words / fma, loads / fma
""",
    "5.13": """
// Row after row of the sums, so that only four numbers of a and T / 16 of b are held at a time.
template <int T>
__device__ void multiply(const float* as, const float* bs, float (&sum)[8][T / 16], int depth) {
    const float *a = as + 4 * threadIdx.y, *b = bs + 4 * threadIdx.x;
    for (; depth > 0; depth--, a += T + 4, b += T + 4) {
        float4 y[T / 64];
        for (int group = 0; group < T / 64; group++) y[group] = *(const float4*)&b[64 * group];
        for (int half = 0; half < 2; half++) {
            float4 x = *(const float4*)&a[half * T / 2];
            for (int group = 0; group < T / 64; group++) {
                float4 v = y[group];
                float rows[4] = {x.x, x.y, x.z, x.w}, columns[4] = {v.x, v.y, v.z, v.w};
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++) {
                        float& into = sum[4 * half + i][4 * group + j];
                        into = fmaf(rows[i], columns[j], into);
                    }
            }
        }
    }
}
""",
    "5.14": """
#define ROWS 64
#define COLUMNS 32
#define BLOCK_X 8
#define BLOCK_Y 16
extern "C" __global__ void weight_gradient(const float* x, const float* dy, float* dw, int k, int m, int n) {
    __shared__ __align__(16) float a[4][ROWS + 4], b[4][COLUMNS + 4];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * BLOCK_X + tx;
    int top = blockIdx.y * ROWS, left = blockIdx.x * COLUMNS;
    float4 sum[4] = {};
    for (int start = 0; start < k; start += 4) {
        for (int p = t; p < 4 * ROWS; p += 128) {
            int s = p / ROWS, i = p % ROWS;
            a[s][i] = 0.0f;
            if (start + s < k && top + i < m) a[s][i] = x[(start + s) * m + top + i];
        }
        int s = t / COLUMNS, i = t % COLUMNS;
        b[s][i] = start + s < k && left + i < n ? dy[(start + s) * n + left + i] : 0.0f;
        __syncthreads();
        for (int s = 0; s < 4; s++) {
            float4 u = *(float4*)&a[s][4 * ty], v = *(float4*)&b[s][4 * tx];
            float rows[4] = {u.x, u.y, u.z, u.w};
            for (int i = 0; i < 4; i++) {
                sum[i].x += rows[i] * v.x;
                sum[i].y += rows[i] * v.y;
                sum[i].z += rows[i] * v.z;
                sum[i].w += rows[i] * v.w;
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) {
        float four[4] = {sum[i].x, sum[i].y, sum[i].z, sum[i].w};
        int row = top + 4 * ty + i, col = left + 4 * tx;
        for (int j = 0; j < 4; j++)
            if (row < m && col + j < n) dw[row * n + col + j] = four[j];
    }
}
""",
    "5.15": """
#define DEPTH 8
#define T 32
extern "C" __global__ void mended(const float* x, const float* y, float* C, int k, int m, int n) {
    __shared__ float a[DEPTH][T], b[DEPTH][T];
    int tx = threadIdx.x, ty = threadIdx.y, top = blockIdx.y * T, left = blockIdx.x * T;
    float sum[2][2] = {};
    for (int start = 0; start < k; start += DEPTH) {
        int s = ty % DEPTH, i = tx + 16 * (ty / DEPTH);
        a[s][i] = b[s][i] = 0.0f;
        if (start + s < k) {
            if (top + i < m) a[s][i] = x[(start + s) * m + top + i];
            if (left + i < n) b[s][i] = y[(start + s) * n + left + i];
        }
        __syncthreads();
        for (int s = 0; s < DEPTH; s++)
            for (int u = 0; u < 2; u++)
                for (int v = 0; v < 2; v++) sum[u][v] += a[s][ty + 16 * u] * b[s][tx + 16 * v];
        __syncthreads();
    }
    for (int u = 0, row = top + ty; u < 2; u++, row += 16)
        for (int v = 0, col = left + tx; v < 2; v++, col += 16)
            if (row < m && col < n) C[row * n + col] = sum[u][v];
}
""",
    "5.16": """
extern "C" __global__ void in_turn(const float* x, const float* y, float* C, int k, int m, int n) {
    __shared__ float tiles[4][16][16];
    int tx = threadIdx.x, ty = threadIdx.y, top = blockIdx.y * 16, left = blockIdx.x * 16;
    float sum = 0.0f, next_a = 0.0f, next_b = 0.0f;
    if (ty < k && top + tx < m) next_a = x[ty * m + top + tx];
    if (ty < k && left + tx < n) next_b = y[ty * n + left + tx];
    for (int step = 0; step * 16 < k; step++) {  // fetch the next tile while this one is multiplied
        int from = step % 2 * 2, s = step * 16 + 16 + ty;
        tiles[from][ty][tx] = next_a;
        tiles[from + 1][ty][tx] = next_b;
        __syncthreads();
        next_a = s < k && top + tx < m ? x[s * m + top + tx] : 0.0f;
        next_b = s < k && left + tx < n ? y[s * n + left + tx] : 0.0f;
        for (int i = 0; i < 16; i++) sum = fmaf(tiles[from][i][ty], tiles[from + 1][i][tx], sum);
    }
    if (top + ty < m && left + tx < n) C[(top + ty) * n + left + tx] = sum;
}
""",
}

# One thread of each block makes the whole tile.
ALONE = """
#define ROWS 16
#define COLUMNS 16
#define BLOCK_X 16
#define BLOCK_Y 16
extern "C" __global__ void NAME(const float* x, const float* y, float* C, int k, int m, int n) {
    if (threadIdx.x || threadIdx.y) return;
    for (int row = blockIdx.y * SIDE; row < min(m, (int)(blockIdx.y + 1) * SIDE); row++)
        for (int col = blockIdx.x * SIDE; col < min(n, (int)(blockIdx.x + 1) * SIDE); col++) {
            float sum = 0.0f;
            for (int s = 0; s < k; s++) sum += x[s * m + row] * y[s * n + col];
            C[row * n + col] = sum;
        }
}
"""


class TestExercises(ExerciseTests):
    exercises = Exercises("05c_product", OTHERS)

    @pytest.mark.slow
    @pytest.mark.nightly
    def test_one_thread_of_each_block_earns_nothing(self):
        names = {"5.14": ("weight_gradient", "16"), "5.15": ("mended", "32"), "5.16": ("in_turn", "16")}
        sources = [
            (number, ALONE.replace("NAME", name).replace("SIDE", side))
            for number, (name, side) in names.items()
        ]
        assert self.exercises.points(sources) == [0, 0, 0]


# --------------------------------------------------------------------------------------- what the lesson says

ORDERS = ("lockstep", "forward", "reverse")


@pytest.fixture(scope="module")
def kernels():
    return lesson_kernels("05c_product")


def numbers(*shape):
    return cp.asarray(np.random.default_rng(5).normal(size=shape).astype(np.float32))


def product(kernel, m, n, k, side):
    """The arguments of a launch, with its grid."""
    args = (numbers(m, k), numbers(k, n), cp.zeros((m, n), np.float32), *np.int32([m, n, k]))
    return args, (-(-n // side), -(-m // side))


@pytest.mark.parametrize("r", [1, 2, 4])
def test_a_register_tile_divides_the_bytes_of_shared_memory(kernels, r):
    kernel = RawKernel(kernels["registers"].source, "registers", options=(f"-DR={r}",))
    m, n, k, side = 64, 64, 16, 16 * r
    args, grid = product(kernel, m, n, k, side)
    report = profile(kernel, grid, (16, 16), args)
    assert report.ok and report.bank_conflicts == 0
    assert report.shared_bytes_read == m * n * k * 8 // r
    assert report.bytes_read == m * n * k * 8 // side
    assert report.shared_load_requests == m * n * k // 32 * 2 // r


@pytest.mark.parametrize(("name", "side"), [("registers", 32), ("fours", 64)])
def test_the_kernels_of_the_lesson_are_right_at_the_edges_in_every_order(kernels, name, side):
    kernel = kernels[name]
    if name == "registers":
        kernel = RawKernel(kernel.source, name, options=("-DR=2",))
    args, grid = product(kernel, 35, 36, 19, side)
    assert profile(kernel, grid, (16, 16), args).ok
    for order in ORDERS:
        args[2][...] = 0
        simulate(kernel, grid, (16, 16), args, schedule=order)
        np.testing.assert_allclose(args[2].get(), args[0].get() @ args[1].get(), atol=1e-4)


def test_fours_load_a_quarter_as_often_and_padding_keeps_them_apart(kernels):
    args, grid = product(kernels["fours"], 64, 64, 16, 64)
    report = profile(kernels["fours"], grid, (16, 16), args)
    assert report.shared_bytes_read == 64 * 64 * 16 * 2
    assert report.shared_load_requests == 64 * 64 * 16 // 32 // 8
    careless = RawKernel(kernels["fours"].source.replace("T + 4", "T"), "fours")
    bad = profile(careless, grid, (16, 16), args)
    # In each of two tiles, 64 * 8 numbers are stored by 16 warps, each in 8 turns in place of one.
    assert (report.bank_conflicts, bad.bank_conflicts) == (0, 2 * 16 * 7)
    assert np.array_equal(report.outputs[2], bad.outputs[2])


def test_the_table_of_the_recap_is_what_the_lesson_counted():
    path = COURSE.chapters / "05c_product.ipynb"
    printed = "".join(
        output.get("text", "")
        for cell in notebooks.cells(path, notebooks.read(path))
        if cell.is_code
        for output in cell.node.outputs
    )
    for side, r in (("1 x 1", 1), ("4 x 4", 4), ("8 x 8", 8)):
        assert (
            f"{side}  right: True, conflicts: 0; for each FMA {8 / r:g} shared, {0.5 / r:g} device" in printed
        )
    assert "fours  0.125 loads" in printed and "8 x 8  0.250 loads" in printed


@pytest.mark.slow
def test_a_slider_shows_one_register_tile_at_a_time():
    picture = draw_registers((1, 2, 8))
    assert (
        "16 products" not in picture.alt and "8 of a and 8 of b make 64 products, 0.25 words" in picture.alt
    )
    page = picture.html()
    assert page.count("<img") == 3 and page.count("display: block") == 1
    assert "2 of a and 2 of b make 4 products, 1 words each" in page


def test_columns_and_limits_are_told_in_words():
    columns = draw_columns({"side by side": [0, 0, 1, 1, 2, 2]})
    assert "side by side: thread 0 has [0, 1], thread 1 has [2, 3]" in columns.alt
    assert "1 x 1: 20% by device memory, 12.5% by shared memory" in draw_limits({"1 x 1": (0.2, 0.125)}).alt
