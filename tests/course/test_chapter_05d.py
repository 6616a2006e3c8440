"""Chapter 05d, graded; what the lesson counts; its clocks and its pictures."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from few_threads import few
from figures import tells
from graded import COURSE, Exercises, ExerciseTests
from lesson_kernels import lesson_kernels

import minilib.functional as F
import minilib.gpu as gpu
import minilib.tensor as lib
from coursekit import notebooks
from coursekit.pictures import draw_clocks, draw_dropped, draw_launches, looks, step_clocks
from minilib.cuda import cp, profile, simulate
from minilib.functional.counted import counted

pytestmark = pytest.mark.filterwarnings("ignore:there is no GPU here")


class TestExercises(ExerciseTests):
    exercises = Exercises("05d_training")


# The work is shared

SOLUTIONS = lesson_kernels("05d_training", "solutions")
SERIAL = {
    "5.18": """
extern "C" __global__ void adamw(
    float* x, const float* grad, float* mean, float* square, float shrink, float decay, float beta1,
    float rest1, float beta2, float rest2, float scale, float eps, int n
) {
    FEW;
    for (int i = FIRST; i < n; i += STEP) {
        float now = x[i], g = grad[i] + decay * now;
        float m = beta1 * mean[i] + rest1 * g, s = beta2 * square[i] + rest2 * (g * g);
        mean[i] = m;
        square[i] = s;
        x[i] = now * shrink - scale * (m / (sqrtf(s) + eps));
    }
}
""",
    "5.19": """
extern "C" __global__ void slopes_of_x(
    const float* dy, const float* w, float* dx, int images, int outs, int channels, int height, int width
) {
    FEW;
    int plane = height * width;
    for (int at = FIRST; at < images * channels * plane; at += STEP) {
        int q = at % width, r = at / width % height, c = at / plane % channels, n = at / plane / channels;
        float sum = 0.0f;
        for (int o = 0; o < outs; o++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    int row = r - i + 1, col = q - j + 1;
                    if (row < 0 || row >= height || col < 0 || col >= width) continue;
                    float slope = dy[(n * outs + o) * plane + row * width + col];
                    sum += w[((o * channels + c) * 3 + i) * 3 + j] * slope;
                }
        dx[at] = sum;
    }
}
""",
}


@pytest.mark.thorough
@pytest.mark.nightly
@pytest.mark.parametrize("number", SERIAL)
@pytest.mark.parametrize("players", ["one thread", "one warp", "one block"])
def test_a_few_threads_that_do_all_earn_nothing(number, players):
    assert TestExercises.exercises.points([(number, few(SERIAL[number], players))]) == [0]


# The kernels


@pytest.mark.thorough
@pytest.mark.parametrize("schedule", ["lockstep", "forward", "reverse"])
def test_the_gradient_to_x_is_that_of_the_library(schedule):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 3, 5, 6)), rng.normal(size=(4, 3, 3, 3))
    dy = rng.normal(size=(2, 4, 5, 6))
    leaf = lib.tensor(x, requires_grad=True)
    F.conv2d(leaf, lib.tensor(w), padding=1).backward(lib.tensor(dy))
    dx = cp.zeros(x.shape, np.float32)
    args = *(cp.asarray(one.astype(np.float32)) for one in (dy, w)), dx, *np.int32([2, 4, 3, 5, 6])
    simulate(SOLUTIONS["slopes_of_x"], (3,), (64,), args, schedule=schedule)
    assert leaf.grad is not None
    np.testing.assert_allclose(dx.get(), leaf.grad.numpy(), atol=1e-5)


def test_the_lessons_kernel_drops_what_counting_says():
    x, key, n = cp.ones(37, np.float32), 7, 37
    y = cp.zeros(n, np.float32)
    args = x, y, np.uint32(key), np.uint32(0), np.uint32(2**30), np.float32(2), np.int32(n)
    report = profile(lesson_kernels("05d_training")["dropout"], (1,), (256,), args)
    np.testing.assert_array_equal(report.outputs[1], 2.0 * (counted(key, n) >= 2**30))
    assert report.ok


# What the lesson says


def text() -> str:
    cells = notebooks.read(COURSE.chapters / "05d_training.ipynb").cells
    return " ".join(" ".join(cell.source for cell in cells if cell.cell_type == "markdown").split())


def names() -> dict:
    """What the lesson defines by functions of its own."""
    made: dict = {"np": np}
    for cell in notebooks.read(COURSE.chapters / "05d_training.ipynb").cells:
        if cell.cell_type == "code" and cell.source.startswith("def clocks"):
            exec(cell.source, made)
    return made


def test_the_clocks_are_at_the_times_that_the_lesson_names():
    clocks, one_step = names()["clocks"], [("forward", 4), ("backward", 8), ("update", 2)]
    spans = clocks(2 * one_step + [("look", 0)])
    assert spans[-1] == ("host", "wait", 6, 29) and tells(text(), 6, 29)
    device = [span for span in spans if span[0] == "device"]
    assert all(a[3] == b[2] for a, b in pairwise(device))  # it never stands still
    once = clocks(one_step)
    assert (once[-2][3], once[-1][3]) == (3, 15)


def test_nothing_is_looked_at_in_a_step_and_each_item_is_one():
    x = lib.rand(4, 6, device="cuda", requires_grad=True)
    with looks() as seen:
        loss = F.cross_entropy(F.dropout(x, 0.5), lib.tensor([0, 1, 2, 3], device="cuda"))
        loss.backward()
    assert seen == [] and x.grad is not None
    with looks() as seen:
        loss.item()
        assert bool(loss.data > 0)
    assert [one.split(" in ")[0] for one in seen] == ["item", "bool"] and seen[0] == "item in Tensor.item"
    with looks() as seen:
        pass
    assert seen == [] and loss.item() > 0  # outside nobody notes


# Pictures


def test_a_step_of_launches_is_said_in_words():
    a = lib.rand(256, device="cuda")
    with gpu.reports() as found:
        a + a
    said = draw_launches({"forward": found, "backward": []}).alt
    assert "forward: elementwise 3; backward: " in said or "forward: elementwise 2; backward: " in said


def test_clocks_move_line_by_line_and_end_with_all():
    spans = names()["clocks"]([("forward", 2), ("look", 0)])
    moving = step_clocks("one", spans)
    html = moving.page
    assert html.count("<img") == 2 and 'type="range"' in html and "line of the program" in html
    assert "host wait 1 to 3" in moving.alt and draw_clocks({"one": spans}).alt.endswith("host wait 1 to 3")


def test_a_mask_is_told_by_its_columns():
    assert "one: dropped columns of each row 1, 0" in draw_dropped({"one": np.eye(2)}).alt
