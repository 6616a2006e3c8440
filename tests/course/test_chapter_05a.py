"""Chapter 05a, graded; its pictures; and what it says of gradients, steps and bytes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from few_threads import played
from figures import tells
from graded import COURSE, Exercises, ExerciseTests
from lesson_kernels import lesson_kernels

from coursekit import notebooks
from coursekit.pictures import compiled, draw_moved, draw_places, draw_who
from coursekit.pictures.devices import place
from minilib import gpu
from minilib.cuda import cp, profile
from minilib.gpu.elements import Read, collapsed, elementwise_kernel, elementwise_source, run_elementwise
from minilib.operations import Tanh
from minilib.tensor import tensor


class TestExercises(ExerciseTests):
    exercises = Exercises("05a_elements")


@pytest.mark.thorough
def test_the_work_of_a_few_threads_earns_nothing():
    exercises = TestExercises.exercises
    kernels = {
        one.number: notebooks.cuda_text(one.reference)
        for one in exercises.chapter.exercises
        if one.number in ("5.3", "5.5")
    }
    players = "one thread", "one warp of each block", "one block"
    answers = [(number, played(kernel, who)) for number, kernel in kernels.items() for who in players]
    assert exercises.points(answers) == [0] * 6


SILU = """
extern "C" __global__ void silu_backward(const float* dy, const float* x, float* dx, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    BODY
}
"""
WAYS = {  # to the end of exercise 5.3: none reads or writes more than it has to, or says so in fewer words
    "a stable sigmoid in two branches": """if (i < n) {
        float s;
        if (x[i] >= 0.0f) { s = 1.0f / (1.0f + expf(-x[i])); }
        else { float e = expf(x[i]); s = e / (1.0f + e); }
        dx[i] = dy[i] * (s + x[i] * s * (1.0f - s));
    }""",
    "a guard after the exponential": """float v = i < n ? x[i] : 0.0f, s = 1.0f / (1.0f + expf(-v));
    if (i >= n) return;
    dx[i] = dy[i] * s * (1.0f + v * (1.0f - s));""",
    "in two steps": """if (i >= n) return;
    float s = 1.0f / (1.0f + expf(-x[i])), slope = s + x[i] * s * (1.0f - s);
    dx[i] = slope;
    dx[i] *= dy[i];""",
    "two variables under one auto": """if (!(i < n)) return;
    auto v = x[i], e = expf(-v);
    auto s = 1.0f / (1.0f + e);
    dx[i] = dy[i] * (s + v * s * (1.0f - s));""",
}


@pytest.mark.thorough
def test_each_way_back_through_silu_earns_all_points():
    exercises = TestExercises.exercises
    answers = [("5.3", SILU.replace("BODY", way)) for way in WAYS.values()]
    assert dict(zip(WAYS, exercises.points(answers))) == dict.fromkeys(WAYS, 3)


# What the lesson says

TEXT = " ".join(
    " ".join(c.source for c in notebooks.read(COURSE.chapters / "05a_elements.ipynb").cells).split()
)


def test_the_kernels_by_hand_are_tanh_and_its_slope():
    kernels = lesson_kernels("05a_elements")
    x = np.linspace(-3, 3, 40, dtype=np.float32)
    y, dx = cp.zeros(40, np.float32), cp.zeros(40, np.float32)
    kernels["tanh_forward"]((2,), (32,), (cp.asarray(x), y, np.int32(40)))
    kernels["tanh_backward"]((2,), (32,), (cp.asarray(np.full(40, 2, np.float32)), y, dx, np.int32(40)))
    np.testing.assert_allclose(cp.asnumpy(y), np.tanh(x), rtol=1e-6)
    np.testing.assert_allclose(cp.asnumpy(dx), 2 / np.cosh(x) ** 2, rtol=1e-4)


def test_a_forward_alone_gives_the_wrong_slope_that_the_lesson_names():
    class ForwardAlone:
        def forward(self, f, x):
            f.saved = (x,)
            return cp.tanh(x)

        def backward(self, f, grad):
            return f.backward(grad)

    x = tensor([2.0], requires_grad=True)
    with gpu.without(Tanh):
        gpu.DEVICE.pairs[Tanh] = ForwardAlone()
        x.to("cuda").tanh().sum().backward()
    assert x.grad.item() == -3 and "1 - 2^2 = -3" in TEXT


def test_bytes_of_three_kernels_and_of_one_are_those_of_the_lesson():
    a, b, c = (cp.ones(4096, np.float32) for _ in range(3))
    out = cp.empty(4096, np.float32)
    with gpu.reports() as seen:
        run_elementwise({"a": a, "b": b}, {"p": out}, ["p = a * b"])
        run_elementwise({"p": a, "c": c}, {"s": out}, ["s = p + c"])
        run_elementwise({"s": a}, {"y": out}, ["y = tanhf(s)"])
        lines = ["p = a * b", "s = p + c", "y = tanhf(s)"]
        run_elementwise({"a": a, "b": b, "c": c}, {"y": out}, lines)
    assert [report.bytes_moved // 4096 for _, report in seen] == [12, 12, 8, 16]
    assert tells(TEXT, 12, 8, 16)


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_an_axis_costs_four_integer_operations_as_the_judge_of_5_2_counts(axes):
    view = cp.zeros((2,) * axes, np.float32).transpose()
    source = elementwise_source([Read("x", axes=axes)], ["y"], ["y = x"])
    walk = [np.int32(n) for pair in zip(view.shape, [s // 4 for s in view.strides]) for n in pair]
    args = (view.data, *walk, cp.zeros(2**axes, np.float32), np.int32(2**axes))
    in_order = elementwise_kernel(elementwise_source([Read("x")], ["y"], ["y = x"]))
    plain = profile(in_order, (1,), (2**axes,), (cp.zeros(2**axes, np.float32), *args[-2:]))
    walked = profile(elementwise_kernel(source), (1,), (2**axes,), args)
    assert walked.int_ops - plain.int_ops == 4 * axes * 2**axes


# Pictures


def test_three_axes_cost_82_instructions_of_the_compiler():
    in_order, axes = (compiled()["kernels"][f"elementwise, {n} axes"]["instructions"] for n in (0, 3))
    assert axes - in_order == 82


def test_places_are_those_of_numpys_strides():
    base = np.arange(6, dtype=np.int32)
    shape = (2, 3)
    for steps in ((3, 1), (1, 2), (0, 1)):
        view = np.lib.stride_tricks.as_strided(base, shape, [4 * step for step in steps])
        assert [place(i, shape, steps) for i in range(6)] == view.ravel().tolist()


@pytest.mark.thorough
def test_places_have_a_slider_and_a_still_picture_and_words():
    picture = draw_places({"in order": (3, 1), "turned": (1, 2)}, (2, 3))
    data, metadata = picture._repr_mimebundle_()
    assert {"text/html", "image/png", "text/plain"} == set(data)
    assert "turned: 0, 2, 4, 1, 3, 5" in metadata["image/png"]["alt"]
    assert data["text/html"].count("<img") == 6 and 'type="range"' in data["text/html"]
    assert data["image/png"] in data["text/html"]


def test_pictures_say_who_ran_an_operation_and_what_was_moved():
    with gpu.without():
        gpu.elementwise(Tanh, "y = tanhf(x)", "dx = dy * (1.0f - y * y)")
        x = tensor([1.0], requires_grad=True)
        alt = draw_who(x.to("cuda").tanh() * 3).alt
    assert "Tanh by Elementwise" in alt and re.search(r"Mul by (cp|cupy)", alt)
    with gpu.reports() as seen:
        run_elementwise({"x": cp.ones(1024, np.float32)}, {"y": cp.ones(1024, np.float32)}, ["y = x"])
    assert draw_moved({"a copy": [report for _, report in seen]}).alt.endswith("a copy: 8 KiB")


def test_what_collapses_in_the_lesson():
    assert collapsed((8, 8, 8), [(64, 8, 1)]) == ([512], [[1]])
    assert collapsed((8, 8, 8), [(64, 1, 8)]) == ([8, 8, 8], [[64, 1, 8]])
