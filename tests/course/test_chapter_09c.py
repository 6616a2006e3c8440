"""Chapter 09c, graded; its pictures; and what it says of nodes, loops and bytes."""

from __future__ import annotations

import math
from contextlib import nullcontext

import loop_cases
import numpy as np
import pytest
from figures import tells
from graded import COURSE, Exercises, ExerciseTests

import minilib.graph as tf
from coursekit import notebooks
from coursekit.pictures import draw_addresses, draw_blocks, draw_passes
from minilib import gpu
from minilib.cuda import cp
from minilib.dag import offsets, peak
from minilib.gpu import loops
from minilib.graph import kinds
from minilib.graph.passes import prune

TEXT = " ".join(
    " ".join(c.source for c in notebooks.read(COURSE.chapters / "09c_passes.ipynb").cells).split()
)


class TestExercises(ExerciseTests):
    exercises = Exercises("09c_passes")


# What the lesson says


def test_the_program_of_the_lesson_has_as_many_nodes_and_loops_as_it_says():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, (None, 512))

        def centred():
            return x - tf.reduce_mean(x, 1, keepdims=True)

        h = centred() / tf.sqrt(tf.reduce_mean(centred() ** 2.0, 1, keepdims=True) + 1e-5)
        y = h * tf.sigmoid(1.702 * h)
        (dx,) = tf.gradients(y, [x], grad_ys=[x])
        plan = tf.compile([y, dx], [x])
        steps = [unit for unit in plan.units if not isinstance(unit[0].f, kinds.Constant)]
        assert tells(TEXT, len(prune([y, dx], {x})), plan.nodes, len(steps))
        plan.run(np.ones((2048, 512), np.float32))
        assert plan.bytes < 0.36 * plan.all_bytes


@pytest.mark.filterwarnings("ignore:there is no GPU here")
def test_the_kernel_of_the_longest_loop_moves_what_the_lesson_says():
    plan = loop_cases.gated_norm(None, 512)
    loop = max(plan.loops, key=lambda loop: len(loop.f.steps))
    arrays = [cp.ones((64, one.shape[1]), np.float32) for one in loop.inputs]
    moved = []
    for block in (nullcontext(), gpu.without(kinds.Loop)):
        with block, gpu.reports() as seen:
            loops.run(loop, *arrays)
        moved.append((len(seen), sum(report.bytes_moved for _, report in seen) / arrays[0].nbytes))
    assert moved == [(1, 6.25), (14, 36.25)] and "14 kernels" in TEXT


# Pictures


def test_pictures_of_programs_say_in_words_what_they_show():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, (3,))
        y = tf.tanh(x) * 1.0
        assert not draw_passes({"before": prune([y], {x})}, {"Tanh"}).page  # one program has no slider
        page = draw_passes({"before": prune([y], {x}), "after": prune([tf.optimise(y, [x])], {x})}, {"Tanh"})
    assert (
        "before: 3 nodes; the next pass takes away Const, Mul" in page.page and "after: 1 nodes" in page.page
    )
    spans, sizes = {"a": (0, 1), "b": (1, 2), "c": (2, 3)}, {"a": 2048, "b": 1024, "c": 2048}
    picture = draw_addresses(spans, sizes, {"plan": offsets(spans, sizes)[0]})
    assert "plan ends at 3" in picture.alt and math.isclose(peak(spans, sizes), 3072)
    assert "Step 0: 2 of memory are alive" in picture.page
    assert "3 at 16; without blocks 4" in draw_blocks([1, 16], [5e-3, 3e-3], 4e-3).alt
