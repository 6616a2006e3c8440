"""Chapter 05b, graded; its pictures; and what its lesson says of bytes, blocks and widths."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from graded import COURSE, Exercises, ExerciseTests
from lesson_kernels import cuda_cells

from coursekit.pictures import compiled, draw_block, draw_moves, draw_threads
from coursekit.pictures.rows import _block_frames
from minilib.cuda import RawModule, cp, profile
from minilib.gpu import rows

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
    exercises = Exercises("05b_rows")


@pytest.mark.thorough
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


@pytest.mark.parametrize(("threads", "warps"), [(1024, 64), (256, 64), (128, 64), (32, 25)])
def test_occupancy_of_softmax_is_what_its_registers_leave(threads, warps):
    registers = compiled()["kernels"][f"softmax, {threads} threads"]["registers"]
    assert min(65_536 // (registers * threads), 2048 // threads, 32) * threads // 32 == warps


def test_more_threads_and_not_more_numbers_hold_the_longest_row():
    few, many = (
        compiled()["kernels"][f"layer_norm_backward<{each}>, {8192 // each} threads"] for each in (32, 8)
    )
    assert few["registers"] > 128 and many == many | {"registers": 64, "local": 0}


def test_as_many_bytes_are_on_their_way_as_the_lesson_says():
    cycle = 3.35e12 / 1.98e9
    assert round(cycle, -1) == 1690 and 0.95e6 < 600 * cycle < 1.05e6 and round(600 * cycle / 132 / 1000) == 8


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


@pytest.mark.thorough
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
    threads = draw_threads({"warps": {64: 36, 32: 25}, "KiB": {64: 72, 32: 100}}, {"KiB": 7.5})
    assert "warps: 36 with 64 threads, 25 with 32 threads; KiB: 72" in threads.alt
    assert threads.alt.endswith("; at least 7.5 KiB")
