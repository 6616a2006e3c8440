"""Chapter 05b, graded; its pictures; and what its lesson says of bytes, blocks and widths."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from graded import COURSE, Exercises, ExerciseTests
from lesson_kernels import cuda_cells

from coursekit.pictures import draw_block, draw_moves, draw_threads
from coursekit.pictures.rows import _block_frames
from minilib.cuda import RawModule, cp, profile
from minilib.gpu import rows

# Right answers by another way than the reference's.
OTHERS = {
    "5.7": """
def bytes_moved(rows, columns, blocks):
    numbers = 0
    for block in range(blocks):
        numbers += columns
        for row in range(block, rows, blocks):
            numbers += 2 * columns
    return numbers * np.dtype(np.float32).itemsize
""",
    "5.8": """
template <int EACH> __global__ void softmax_backward(const float* grad, const float* y, float* dx, int rows,
                                                     int columns) {
    __shared__ float board[1024];  // a tree in place of shuffles, and pointers that walk
    int t = threadIdx.x;
    const float *g = grad + blockIdx.x * columns, *p = y + blockIdx.x * columns;
    float* out = dx + blockIdx.x * columns;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        float products[EACH], ours[EACH];
        board[t] = 0.0f;
        for (int i = 0; i < EACH; i++) {
            int c = t + i * blockDim.x;
            ours[i] = c < columns ? p[c] : 0.0f;
            products[i] = c < columns ? ours[i] * g[c] : 0.0f;
            board[t] += products[i];
        }
        float dot = block_sum(board[t]);
        for (int i = 0; i < EACH; i++)
            if (t + i * blockDim.x < columns) out[t + i * blockDim.x] = products[i] - ours[i] * dot;
        g += gridDim.x * columns;
        p += gridDim.x * columns;
        out += gridDim.x * columns;
    }
}
""",
    "5.9": """
#define INFINITY __int_as_float(0x7f800000)
extern "C" __global__ void mended(const float* x, float* y, int columns) {
    extern __shared__ float row[];
    __shared__ float of_warp[2][32];  // a board for each of the two results, so that none is used again
    int t = threadIdx.x, start = blockIdx.x * columns;
    float top = -INFINITY, sum = 0.0f;
    for (int c = t; c < columns; c += blockDim.x) top = fmaxf(top, row[c] = x[start + c]);
    for (int o = 1; o < 32; o *= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, o));
    of_warp[0][t / 32] = top;
    __syncthreads();
    for (int w = 0; w < blockDim.x / 32; w++) top = fmaxf(top, of_warp[0][w]);
    for (int c = t; c < columns; c += blockDim.x) sum += row[c] = expf(row[c] - top);
    for (int o = 1; o < 32; o *= 2) sum += __shfl_xor_sync(0xffffffff, sum, o);
    of_warp[1][t / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < blockDim.x / 32; w++) sum += of_warp[1][w];
    for (int c = t; c < columns; c += blockDim.x) y[start + c] = row[c] / sum;
}
""",
    "5.10": """
template <int EACH> __global__ void rms_norm(const float* x, const float* weight, float* out, float* scale,
                                             float eps, int rows, int columns) {
    float w[EACH];
    for (int i = 0; i < EACH; i++) {
        int c = threadIdx.x + i * blockDim.x;
        w[i] = c < columns ? weight[c] : 0.0f;
    }
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const float* from = x + row * columns;
        float kept[EACH], squares = 0.0f;
        load<EACH>(from, kept, columns, 0.0f);
        for (int i = EACH - 1; i >= 0; --i) squares = fmaf(kept[i], kept[i], squares);
        float s = 1.0f / sqrtf(block_sum(squares) / (float)columns + eps);
        scale[row] = s;  // all threads write the same
        for (int i = 0; i < EACH; i++) {
            int c = threadIdx.x + i * blockDim.x;
            if (c < columns) out[row * columns + c] = w[i] * s * kept[i];
        }
    }
}

template <int EACH> __global__ void rms_norm_backward(const float* grad, const float* x, const float* weight,
                                                      const float* scale, float* dx, float* dw, int rows,
                                                      int columns) {
    float w[EACH], part[EACH];
    load<EACH>(weight, w, columns, 0.0f);
    for (int i = 0; i < EACH; i++) part[i] = 0.0f;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        float v[EACH], g[EACH], s = scale[row], dot = 0.0f;
        load<EACH>(x + row * columns, v, columns, 0.0f);
        load<EACH>(grad + row * columns, g, columns, 0.0f);
        for (int i = 0; i < EACH; i++) dot += g[i] * w[i] * v[i];  // with x in place of x_hat
        dot = block_sum(dot) * s * s * s / columns;
        for (int i = 0; i < EACH; i++) {
            part[i] = fmaf(g[i], v[i] * s, part[i]);
            g[i] = s * g[i] * w[i] - dot * v[i];
        }
        store<EACH>(dx + row * columns, g, columns);
    }
    store<EACH>(dw + blockIdx.x * columns, part, columns);
}
""",
    "5.11": """
class CrossEntropyPair:
    def forward(self, f, x, target, share):
        n, c = x.shape
        if n * c == 0 or c > 8192:
            return NotImplemented
        f.threads = 32
        while f.threads < 1024 and 2 * f.threads < c:
            f.threads *= 2
        f.each = 1
        while f.each * f.threads < c:
            f.each *= 2
        x, target, share = x.copy(), target.copy(), share.copy()
        p, made = cp.zeros((n, c), np.float32), cp.zeros((n, 1), np.float32)
        args = (x, target, share, p, made, np.int32(n), np.int32(c))
        kernel("cross_entropy", f.each)((n,), (f.threads,), args)
        f.saved = p, target, share
        return made

    def backward(self, f, grad):
        p, target, share = f.saved
        (n, c), dx = p.shape, cp.zeros(p.shape, np.float32)
        args = (grad.copy(), target, share, p, dx, np.int32(n), np.int32(c))
        kernel("cross_entropy_backward", f.each)((n,), (f.threads,), args)
        return dx
""",
}

# The same values by one thread of each block.
SERIAL = {
    "5.8": """
template <int EACH> __global__ void softmax_backward(const float* grad, const float* y, float* dx, int rows,
                                                     int columns) {
    if (threadIdx.x > 0) return;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        float sum = 0.0f;
        for (int c = 0; c < columns; c++) sum += grad[row * columns + c] * y[row * columns + c];
        for (int c = 0; c < columns; c++)
            dx[row * columns + c] = y[row * columns + c] * (grad[row * columns + c] - sum);
    }
}
""",
    "5.9": """
extern "C" __global__ void mended(const float* x, float* y, int columns) {
    if (threadIdx.x > 0) return;
    x += blockIdx.x * columns;
    y += blockIdx.x * columns;
    float top = x[0], sum = 0.0f;
    for (int c = 1; c < columns; c++) top = fmaxf(top, x[c]);
    for (int c = 0; c < columns; c++) sum += expf(x[c] - top);
    for (int c = 0; c < columns; c++) y[c] = expf(x[c] - top) / sum;
}
""",
    "5.10": """
template <int EACH> __global__ void rms_norm(const float* x, const float* weight, float* out, float* scale,
                                             float eps, int rows, int columns) {
    if (threadIdx.x > 0) return;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        float sum = 0.0f;
        for (int c = 0; c < columns; c++) sum += x[row * columns + c] * x[row * columns + c];
        scale[row] = rsqrtf(sum / columns + eps);
        for (int c = 0; c < columns; c++)
            out[row * columns + c] = x[row * columns + c] * scale[row] * weight[c];
    }
}

template <int EACH> __global__ void rms_norm_backward(const float* grad, const float* x, const float* weight,
                                                      const float* scale, float* dx, float* dw, int rows,
                                                      int columns) {
    if (threadIdx.x > 0) return;
    for (int c = 0; c < columns; c++) dw[blockIdx.x * columns + c] = 0.0f;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        float dot = 0.0f, s = scale[row];
        for (int c = 0; c < columns; c++)
            dot += grad[row * columns + c] * weight[c] * x[row * columns + c] * s;
        for (int c = 0; c < columns; c++) {
            int at = row * columns + c;
            dx[at] = s * (grad[at] * weight[c] - x[at] * s * dot / columns);
            dw[blockIdx.x * columns + c] += grad[at] * x[at] * s;
        }
    }
}
""",
}


class TestExercises(ExerciseTests):
    exercises = Exercises("05b_rows", OTHERS)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("number", SERIAL)
def test_one_thread_of_a_block_that_does_all_earns_nothing(number):
    assert TestExercises.exercises.points([(number, SERIAL[number])]) == [0]


# What the lesson says


def lesson_kernel(cell: str, instance: str):
    (found,) = [one for one in cuda_cells(COURSE.chapters / "05b_rows.ipynb") if one.title == cell]
    return RawModule(code=found.source, name_expressions=(instance,)).get_function(instance)


@pytest.mark.parametrize(("threads", "flops", "span"), [(1024, 14.3, 77), (256, 6.7, 125), (32, 4.4, 573)])
def test_more_threads_shuffle_more_and_fewer_take_more_steps(threads, flops, span):
    x = cp.asarray(np.random.default_rng(0).normal(size=(8, 1000)).astype(np.float32))
    kernel = lesson_kernel("softmax", f"softmax<{1024 // threads}>")
    report = profile(kernel, (8,), (threads,), (x, cp.zeros_like(x), np.int32(8), np.int32(1000)))
    assert report.ok and report.bytes_moved == 2 * 4 * 8000
    assert report.flops / 8000 == pytest.approx(flops, abs=0.05) and report.span == span


def test_a_row_may_have_as_many_numbers_as_the_lesson_says():
    assert rows.WIDEST == 8192 and rows.WIDEST < 50_257 and 4 * 50_257 // 1024 == 196


# Pictures


def test_the_steps_of_a_block_are_those_of_softmax():
    row = [1, 2, 0, 3, 1, 1, 4, 0, 2, 2, 1, 3, 1]
    frames = _block_frames(row)
    names = [name for name, _, _ in frames]
    assert names[0] == "load" and names[-1] == "divide and store" and len(frames) == 8
    assert (frames[3][2] == 4).all() and np.isneginf(frames[0][1].ravel()[13:]).all()
    expected = np.exp(row) / np.exp(row).sum()
    np.testing.assert_allclose(frames[-1][1].ravel()[:13], expected)
    assert (frames[-1][1].ravel()[13:] == 0).all()


@pytest.mark.slow
def test_a_block_has_a_slider_and_a_still_picture_and_words_beside_it():
    data, metadata = draw_block(range(10))._repr_mimebundle_()
    assert {"text/html", "image/png", "text/plain"} == set(data)
    assert data["text/html"].count("<img") == 8 and 'type="range"' in data["text/html"]
    assert "the block's largest: shared memory: 9, 9" in metadata["image/png"]["alt"]
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")


@pytest.mark.parametrize("count", [8, 17])
def test_a_row_that_needs_other_than_two_numbers_to_a_thread_is_refused(count):
    with pytest.raises(ValueError, match="a row of 9 to 16 numbers"):
        draw_block([0] * count)


def test_pictures_say_in_words_what_they_show():
    x = cp.zeros((2, 64), np.float32)
    kernel = lesson_kernel("softmax", "softmax<1>")
    report = profile(kernel, (2,), (64,), (x, cp.zeros_like(x), np.int32(2), np.int32(64)))
    assert "one walk: 1 read, 1 written" in draw_moves({"one walk": [report]}, 512, 2).alt
    assert "32 threads: 4.42 flops, 573 steps" in draw_threads({32: (4.42, 573), 64: (6, 300)}).alt
