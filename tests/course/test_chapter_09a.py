"""Chapter 09a, graded; its pictures; and what its `evaluate` computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graded import Exercises, ExerciseTests

import minilib.graph as tf
from coursekit.pictures import draw_program, draw_runs_of, step_run
from minilib import reference


class TestExercises(ExerciseTests):
    exercises = Exercises("09a_sessions")


@pytest.fixture(autouse=True)
def empty_graph() -> None:
    tf.reset_default_graph()


def drawn_program(seed: int) -> tuple[list[Any], dict[Any, Any]]:
    """Nodes of a drawn program, and feeds for its placeholders."""
    rng = np.random.default_rng(seed)
    nodes = [tf.placeholder(tf.float64, (3,)) for _ in range(2)] + [tf.constant(rng.normal(size=3))]
    feeds = {node: rng.normal(size=3) for node in nodes[:2]}
    for _ in range(20):
        x, y = (nodes[i] for i in rng.integers(0, len(nodes), 2))
        nodes.append([x + y, x * y, x - y, tf.tanh(x), tf.maximum(x, y)][rng.integers(5)])
    return nodes, feeds


@pytest.mark.parametrize("seed", range(5))
def test_the_lessons_evaluate_computes_what_a_session_does(seed):
    nodes, feeds = drawn_program(seed)
    values = dict(feeds)
    found = reference.evaluate(tf.get_default_graph().nodes, nodes[-3:], values)
    for told, right in zip(found, tf.Session().run(nodes[-3:], feeds), strict=True):
        np.testing.assert_array_equal(told, right)
    assert len(values) < len(nodes)  # and what nobody needs was not run


def test_a_run_is_played_node_by_node():
    nodes, feeds = drawn_program(0)
    values = dict(feeds)
    reference.evaluate(tf.get_default_graph().nodes, nodes[5:6], values)
    ran = [node for node in values if node not in feeds]
    picture = step_run(nodes, ran, values)
    page = picture._repr_mimebundle_()[0]["text/html"]
    assert page.count("<img") == len(ran) + 1
    assert "not needed: none" not in picture.alt and "waiting: none" in picture.alt


def test_pictures_of_programs_say_what_they_show():
    x = tf.placeholder(tf.float32, (None, 4), name="x")
    y = tf.matmul(x, tf.zeros((4, 2)))
    alt = draw_program([*y.inputs, y]).alt
    assert "3 nodes" in alt and "MatMul(x, zeros) of shape (x_0, 2)" in alt
    assert "twice: 3 of 1, 7 of 2" in draw_runs_of({"twice": [3, 7]}, [1, 2]).alt
