"""Chapter 09b, graded; its pictures; and XOR at the seeds of the lesson."""

from __future__ import annotations

import numpy as np
import pytest
from graded import COURSE, Exercises, ExerciseTests

import minilib.graph as tf
from coursekit.grading.assemble import assemble
from coursekit.grading.control import Conditions
from coursekit.grading.sandbox import Box
from coursekit.pictures import draw_answers_of, draw_derivatives, draw_trainings, step_gradients


class TestExercises(ExerciseTests):
    exercises = Exercises("09b_gradients")


@pytest.mark.thorough
def test_an_error_of_an_answer_is_told_where_a_tool_of_other_exercises_rests():
    exercises = TestExercises.exercises
    answers = exercises.chapter.reference() | {"9.8": "raise ValueError('as answers do')"}
    conditions = Conditions(COURSE, seed=7, box=Box.off(), workers=1)
    (run,) = conditions.run({"wrong": assemble(exercises.chapter, answers)}).values()
    told = {one.error for one in run.cells if one.error}
    assert told and all("as answers do" in error for error in told)


@pytest.fixture(autouse=True)
def empty_graph() -> None:
    tf.reset_default_graph()


def trained(seed: int) -> float:
    """The last loss of the lesson's network on XOR."""
    inputs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    x, y = tf.placeholder(tf.float32, (None, 2)), tf.placeholder(tf.float32, (None, 1))
    w1 = tf.Variable(tf.random_normal((2, 8), seed=2 * seed))
    w2 = tf.Variable(tf.random_normal((8, 1), seed=2 * seed + 1))
    b1, b2 = tf.Variable(tf.zeros((8,))), tf.Variable(tf.zeros((1,)))
    logits = tf.matmul(tf.tanh(tf.matmul(x, w1) + b1), w2) + b2
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
    step = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    feeds = {x: inputs, y: np.float32(inputs[:, :1] != inputs[:, 1:])}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(400):
            last = session.run([loss, step], feeds)[0]
    return float(last)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_xor_is_learned_at_each_seed_of_the_lesson(seed):
    assert trained(seed) < 0.05


def test_a_growing_program_has_a_frame_for_each_stage():
    x = tf.placeholder(tf.float64, ())
    stages = [("y", [x])]
    y = tf.tanh(x)
    stages.append(("tanh", list(y.graph.nodes)))
    page = step_gradients(stages)._repr_mimebundle_()[0]["text/html"]
    assert page.count("<img") == 2 and "1 are new" in page


def test_pictures_say_in_words_what_they_show():
    x = np.linspace(-1, 1, 5)
    assert "x from -1 to 1" in draw_derivatives(x, {"x": x}).alt
    assert "a: 1 to 0.5" in draw_trainings({"a": [1.0, 0.5]}).alt
    assert "0 and 1 make 1" in draw_answers_of(np.zeros((4, 4)), [(0, 1)], [1]).alt
