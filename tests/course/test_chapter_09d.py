"""Chapter 09d, graded; its pictures."""

from __future__ import annotations

import numpy as np
from graded import COURSE, Exercises, ExerciseTests

import minilib.graph as tf
from coursekit import notebooks
from coursekit.pictures import draw_file, draw_guard, draw_twice, step_trace
from minilib.tensor import Tensor
from minilib.wire import Message

CELLS = notebooks.read(COURSE.chapters / "09d_tracing.ipynb").cells


class TestExercises(ExerciseTests):
    exercises = Exercises("09d_tracing")


# Pictures


def test_two_traces_say_in_words_where_they_differ():
    outputs = []
    for rows in (4, 5):
        with tf.Graph().as_default():
            x = Tensor(tf.placeholder(np.float32, (rows, 3), name="x"))
            outputs.append((x * x).mean().data)
    picture = draw_twice(*outputs)
    assert "Const = 12; Const = 15" in picture.alt and "Two traces of 5 nodes" in picture.alt


def test_a_trace_is_told_line_by_line():
    def doubled(x):
        for _ in range(2):
            x = x * 2.0
        return x.tanh()

    with tf.Graph().as_default() as graph:
        page = step_trace(doubled, [Tensor(tf.placeholder(np.float32, (3,)))], graph.nodes).page
    said = [alt.partition('"')[0] for alt in page.split('alt="')[1:]]
    assert len(graph.nodes) == 6 and len(said) == 6
    assert said[0].endswith("has written no node; so far 0 nodes.")
    assert said[1] == "x = x * 2.0 has written Constant, Mul; so far 2 nodes."
    assert said[-1].endswith("has written Tanh; so far 5 nodes.")


def test_a_file_and_a_guard_say_what_they_show():
    weights = [Message("TensorProto", name="w", dims=[2], data_type=1, raw_data=bytes(8))]
    model = Message("ModelProto", graph=Message("GraphProto", initializer=weights))
    assert "w: 8; the program: 12" in draw_file(model, 20).alt
    assert "behind it y alone" in draw_guard("x > 0", "y", "z", taken=True).alt
