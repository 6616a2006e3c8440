"""What programs of TensorFlow 1 ask: structures in cond, shapes, names by their place, and clear refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import minilib.graph as tf
import minilib.tensor as t
from minilib import functional as F


@pytest.fixture(autouse=True)
def empty_graph() -> None:
    tf.reset_default_graph()


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        return s.run(fetches, feeds)


def problem(do: Callable[[], Any]) -> str:
    """What is said, in one line."""
    with pytest.raises((ValueError, TypeError, AttributeError, RuntimeError)) as caught:
        do()
    text = str(caught.value)
    assert "\n" not in text and len(text) < 250
    return text


def flat(values: Any) -> Any:
    return np.concatenate([np.ravel(v) for v in values]) if isinstance(values, list) else np.ravel(values)


# Choices


class Pair(NamedTuple):
    left: Any
    right: Any


@pytest.mark.parametrize("kind", [tuple, list, Pair._make, lambda pair: dict(zip("ab", pair))])
def test_both_sides_of_cond_may_give_a_structure(kind: Callable[[Any], Any]) -> None:
    x, p = tf.placeholder(tf.float64, (None,)), tf.placeholder(tf.bool, ())
    w, runs = tf.Variable(np.float64(3.0)), tf.Variable(0.0)

    def powers() -> Any:
        with tf.control_dependencies([tf.assign_add(runs, 1.0)]):
            square = x * x
        return kind([tf.reduce_sum(square * w), square * x])

    chosen = tf.cond(p, powers, lambda: kind([tf.reduce_sum(tf.sin(x)), x]))
    assert type(chosen) is type(kind([0, 0]))
    one, other = chosen.values() if isinstance(chosen, dict) else chosen
    assert one.shape == () and other.shape == x.shape
    gradients = tf.gradients([one * 2.0, other], [x, w])
    second = tf.gradients(gradients[0], x)
    value = np.array([1.0, 2.0])
    plan = tf.compile([one, other, gradients, second], [x, p])
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        for yes in (True, False):
            expected = [
                3 * (value**2).sum() if yes else np.sin(value).sum(),
                value**3 if yes else value,
                [12 * value + 3 * value**2, 10.0] if yes else [2 * np.cos(value) + 1, 0.0],
                [12 + 6 * value if yes else -2 * np.sin(value)],
            ]
            found = s.run([one, other, gradients, second], {x: value, p: yes})
            for way in (found, plan.run(value, yes, session=s)):
                for a, b in zip(map(flat, way), map(flat, expected)):
                    assert np.allclose(a, b)
        before = s.run(runs)
        s.run(chosen, {x: value, p: True})
        assert s.run(runs) == before + 1  # one side is run once, however much it gives


def test_a_list_of_one_is_that_one_and_a_side_may_give_what_is_outside() -> None:
    x, y = tf.constant(2.0), tf.constant(3.0)
    one = tf.cond(x < y, lambda: [x], lambda: (y,))
    assert isinstance(one, tf.Tensor)
    assert isinstance(tf.cond(x < y, lambda: [x], lambda: [y], strict=True, name="kept"), list)
    a, b = tf.cond(x < y, lambda: (y, x), lambda: (x, y))
    assert run([one, a, b, *tf.gradients(a * a * b, [x, y])]) == [2, 3, 2, 9, 12]
    same = tf.cond(x < y, lambda: {"a": x, "b": y}, lambda: {"b": x, "a": y})
    assert run(same) == {"a": 2, "b": 3}


@pytest.mark.parametrize(
    "sides",
    [
        (lambda: (tf.constant(1.0), tf.constant(2.0)), lambda: tf.constant(1.0)),
        (lambda: (tf.constant(1.0), tf.constant(2.0)), lambda: [tf.constant(1.0), tf.constant(2.0)]),
        (lambda: {"a": tf.constant(1.0)}, lambda: {"b": tf.constant(1.0)}),
        (lambda: (tf.constant(1.0), [tf.constant(2.0)] * 2), lambda: (tf.constant(1.0), tf.constant(2.0))),
    ],
)
def test_other_structures_on_the_two_sides_are_refused(sides: Any) -> None:
    assert "cond: both sides give one structure, and not" in problem(lambda: tf.cond(True, *sides))


# Shapes


def test_a_shape_is_asked_as_in_tensorflow() -> None:
    x = tf.placeholder(tf.float32, [None, 28, 28, 3], "pixels")
    assert x.shape[1].value == 28 and x.get_shape()[3].value == 3 and x.shape[0].value is None
    assert x.get_shape().as_list() == x.shape.as_list() == [None, 28, 28, 3]
    assert x.shape.ndims == x.get_shape().ndims == len(x.shape) == 4 and int(x.shape[1]) == 28
    assert x.shape[1:].as_list() == [28, 28, 3] and x.get_shape()[1:4].num_elements() == 28 * 28 * 3
    assert x.shape.num_elements() is None and x.shape[-1] == 3
    assert [n.value for n in x.shape] == [None, 28, 28, 3]
    flat = tf.reshape(x, [-1, x.get_shape()[1:4].num_elements()])
    again = tf.reshape(flat, [tf.shape(flat)[0], x.shape[1].value, int(x.shape[2]), x.shape[3]])
    assert again.shape == x.shape and flat.shape.as_list() == [None, 2352]
    w = tf.Variable(tf.zeros([flat.get_shape()[1].value, 10]))
    assert w.get_shape() == (2352, 10)
    assert "pixels_0" in problem(lambda: int(x.shape[0]))
    total = 0
    for variable in tf.trainable_variables():
        parameters = 1
        for n in variable.get_shape():
            parameters *= n.value
        total += parameters
    assert total == 23520
    bare = tf.placeholder(tf.float32, name="bare")
    assert "unknown axes" in problem(lambda: bare.get_shape().as_list())


def test_what_an_index_picks_has_as_many_places_as_the_index() -> None:
    rows, w = tf.placeholder(tf.int32, [None], "rows"), tf.Variable(np.arange(10.0).reshape(5, 2))
    picked = w[rows]
    assert str(picked.shape) == "(rows_0, 2)"
    (g,) = tf.gradients(picked**3, w)
    (h,) = tf.gradients(g, w)
    plan = tf.compile([picked, g, h], [rows])
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        for feed in ([0, 1, 1], [4]):
            times, value = np.bincount(feed, minlength=5)[:, None], np.arange(10.0).reshape(5, 2)
            for way in (s.run([picked, g, h], {rows: feed}), plan.run(feed, session=s)):
                for found, expected in zip(way, (value[feed], 3 * times * value**2, 6 * times * value)):
                    assert np.allclose(found, expected)
    assert tf.ones([4, 3, 5])[:, rows].shape.as_list() == [4, None, 5]


# Names and options by their place


CALLS: dict[str, Callable[[Any], Any]] = {
    "placeholder": lambda x: tf.placeholder(tf.float32, [None, 2], "placeholder"),
    "variable": lambda x: tf.Variable([1.0], True, None, True, None, "variable"),
    "constant": lambda x: tf.constant(1.0, tf.float32, [2], "constant"),
    "fill": lambda x: tf.fill([2], 1.0, "fill"),
    "zeros": lambda x: tf.zeros([2], tf.float32, "zeros"),
    "ones_like": lambda x: tf.ones_like(x, tf.float32, "ones_like"),
    "convert": lambda x: tf.convert_to_tensor([1.0], tf.float32, "convert"),
    "normal": lambda x: tf.random_normal([2], 0.0, 1.0, tf.float32, None, "normal"),
    "truncated": lambda x: tf.truncated_normal([2], 0.0, 1.0, tf.float32, None, "truncated"),
    "uniform": lambda x: tf.random_uniform([2], 0.0, 1.0, tf.float32, None, "uniform"),
    "tanh": lambda x: tf.tanh(x, "tanh"),
    "add": lambda x: tf.add(x, x, "add"),
    "less": lambda x: tf.less(x, x, "less"),
    "clip": lambda x: tf.clip_by_value(x, 0.0, 1.0, "clip"),
    "where": lambda x: tf.where(x > 0, x, x, "where"),
    "cast": lambda x: tf.cast(x, tf.int32, "cast"),
    "sum": lambda x: tf.reduce_sum(x, 1, True, "sum"),
    "mean": lambda x: tf.reduce_mean(x, 1, True, "mean"),
    "argmax": lambda x: tf.argmax(x, 1, "argmax"),
    "argmin": lambda x: tf.argmin(x, 1, "argmin"),
    "matmul": lambda x: tf.matmul(x, x, False, True, name="matmul"),
    "reshape": lambda x: tf.reshape(x, [-1], "reshape"),
    "transpose": lambda x: tf.transpose(x, [1, 0], "transpose"),
    "expanded": lambda x: tf.expand_dims(x, 0, "expanded"),
    "squeezed": lambda x: tf.squeeze(x[None], 0, "squeezed"),
    "concat": lambda x: tf.concat([x, x], 1, "concat"),
    "stack": lambda x: tf.stack([x, x], 1, "stack"),
    "slice": lambda x: tf.slice(x, [0, 0], [1, 1], "slice"),
    "shape": lambda x: tf.shape(x, "shape"),
    "one_hot": lambda x: tf.one_hot([1], 3, 1.0, 0.0, -1, tf.float32, "one_hot"),
    "softmax": lambda x: tf.nn.softmax(x, -1, "softmax"),
    "relu": lambda x: tf.nn.relu(x, "relu"),
    "assign": lambda x: tf.assign(tf.Variable([1.0]), [2.0], True, None, "assign"),
    "more": lambda x: tf.assign_add(tf.Variable([1.0]), [2.0], None, "more"),
    "less_of_it": lambda x: tf.Variable([1.0]).assign_sub([2.0], False, "less_of_it"),
    "set": lambda x: tf.Variable([1.0]).assign([2.0], False, "set"),
    "cond": lambda x: tf.cond(True, lambda: x, lambda: x, False, "cond"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_name_stands_where_tensorflow_has_it(name: str) -> None:
    made = CALLS[name](tf.constant([[1.0, 2.0]]))
    assert made.name == name and made.graph.get_tensor_by_name(f"{name}:0") is made


def test_older_names_of_options_are_taken() -> None:
    x = tf.constant([[3.0, 2.0], [1.0, 0.0]])
    assert tf.reduce_sum(x, reduction_indices=[1], keep_dims=True).shape == (2, 1)
    assert tf.reduce_mean(x, 1, keep_dims=True, name="m").shape == (2, 1)
    assert run(tf.argmax(x, dimension=1)).tolist() == [0, 0]
    assert tf.squeeze(x[None], squeeze_dims=[0]).shape == tf.expand_dims(x, dim=0).shape[1:]
    assert np.allclose(run(tf.nn.softmax(x, dim=0)).sum(0), 1)
    assert run(tf.one_hot([0, 2], 3, axis=0)).tolist() == [[1, 0], [0, 0], [0, 1]]
    assert run(tf.one_hot([0], 2, 5, -1, dtype=tf.int32)).tolist() == [[5, -1]]
    with tf.Session() as s:
        for step in (
            tf.train.MomentumOptimizer(0.1, 0.9, False, "m", True), tf.train.AdamOptimizer(0.1, name="a"),
            tf.train.GradientDescentOptimizer(0.1, use_locking=True, name="g"),
        ):  # fmt: skip
            v = tf.Variable(1.0)
            train = step.minimize(v * v, var_list=[v], name="train")
            s.run(tf.global_variables_initializer())
            s.run(train)
            assert s.run(v) < 1


@pytest.mark.parametrize(
    ("said", "call"),
    [
        ("concat: needs a list of nodes, and then an axis", lambda x: tf.concat(0, [x, x])),
        ("concat: needs a list of nodes, and then an axis", lambda x: tf.concat(1, x)),
        ("split: needs a node, and then how many parts", lambda x: tf.split(1, 2, x)),
        ("the axis is given twice", lambda x: tf.reduce_sum(x, 1, reduction_indices=[0])),
        ("has no 'layers'", lambda x: tf.layers),
        ("has no 'get_variable'", lambda x: tf.get_variable("w", [2])),
        ("has no 'conv2d'", lambda x: tf.nn.conv2d(x, x)),
        ("train has no 'RMSPropOptimizer'", lambda x: tf.train.RMSPropOptimizer(0.1)),
        ("has no 'square_difference', but squared_difference", lambda x: tf.square_difference(x, x)),
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused_in_one_line(said: str, call: Callable[[Any], Any]) -> None:
    assert said in problem(lambda: call(tf.constant([[1.0, 2.0]])))


def test_a_variable_keeps_its_shape_unless_it_was_made_without() -> None:
    v, free = tf.Variable([1.0, 2.0], name="v"), tf.Variable([1.0], validate_shape=False, name="free")
    same = tf.assign(v, [3.0, 4.0], validate_shape=False)
    other = tf.assign(free, [1.0, 2.0, 3.0], validate_shape=False)
    told = problem(lambda: tf.assign(v, np.zeros(3, np.float32), validate_shape=False))
    assert "shape (3,) into v" in told and "tf.Variable(..., validate_shape=False)" in told
    assert [found.tolist() for found in run([same, other])] == [[3, 4], [1, 2, 3]]
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        s.run(other)
        assert s.run(free * 2.0).tolist() == [2, 4, 6]


def test_numbers_are_tensorflows() -> None:
    a, b = tf.constant([7, -7]), tf.constant(2)
    assert run(tf.div(a, b)).tolist() == [3, -4] and tf.div(a, b).dtype == tf.int32
    assert run([a / b, tf.divide(a, b)])[0].tolist() == [3.5, -3.5] and tf.div(1.0, 2.0).dtype == tf.float32
    drawn = run(tf.truncated_normal([4000], 1.0, 2.0, seed=1))
    assert (
        np.abs(drawn - 1).max() < 4 and abs(drawn.std() - 2 * 0.8796) < 0.1 and (drawn > 4.99).mean() < 0.01
    )
    assert run(tf.truncated_normal([])).shape == ()


def test_short_programs_of_books() -> None:
    x, y = tf.placeholder(tf.float32, [None, 4, 3]), tf.placeholder(tf.int32, [None])
    state = tf.zeros([tf.shape(x)[0], 5])
    inner, outer = tf.Variable(tf.random_normal([3, 5])), tf.Variable(tf.random_normal([5, 5]) * 0.1)
    for step in tf.unstack(x, axis=1):
        state = tf.tanh(tf.matmul(state, outer) + tf.matmul(step, inner))
    words = tf.Variable(tf.random_uniform([7, 5], -1.0, 1.0))
    near = tf.squared_difference(tf.nn.embedding_lookup(words, y), state)
    loss = tf.add_n([tf.reduce_mean(near), 0.01 * tf.reduce_sum(tf.gather(words, [[0, 6]]) ** 2)])
    clipped = tf.train.GradientDescentOptimizer(0.5)
    pairs = [(tf.clip_by_value(g, -1.0, 1.0), v) for g, v in clipped.compute_gradients(loss)]
    train = clipped.apply_gradients(pairs, name="train")
    feeds = {x: np.random.default_rng(0).standard_normal((6, 4, 3)), y: [0, 1, 2, 3, 4, 4]}
    with tf.Session() as s:
        assert tf.get_default_session() is s
        tf.global_variables_initializer().run()
        first = loss.eval(feeds)
        for _ in range(50):
            train.run(feeds)
        assert loss.eval(feeds) < 0.3 * first
    assert tf.get_default_session() is None
    assert run(tf.tile(tf.constant([[1], [2]]), [1, 3])).tolist() == [[1, 1, 1], [2, 2, 2]]
    assert tf.tile(x, [2, 1, 1]).shape.as_list() == [None, 4, 3]
    scores = tf.nn.xw_plus_b(state, tf.ones([5, 2]), tf.zeros([2]), "scores")
    assert scores.name == "scores" and scores.shape.as_list() == [None, 2]
    assert run([tf.reduce_any(tf.constant([True, False])), tf.reduce_all([True, False])]) == [True, False]


def test_a_list_of_nodes_counts_as_their_array() -> None:
    x = tf.constant([1.0, 2.0])
    both = tf.convert_to_tensor([x, [3.0, x[0]]])
    assert run(both).tolist() == [[1, 2], [3, 1]] and run(tf.gradients(both * both, x)[0]).tolist() == [4, 4]
    assert run(tf.reduce_mean([x[0], x[1]])) == 1.5 and run(tf.concat([[x[0]], [5.0]], 0)).tolist() == [1, 5]
    before = len(tf.get_default_graph().nodes)
    tf.convert_to_tensor([[1.0, 2.0], [3.0, 4.0]])
    assert len(tf.get_default_graph().nodes) == before + 1
    assert "cast one" in problem(lambda: tf.convert_to_tensor([x[0], tf.constant(1)]))
    assert "give it as num" in problem(lambda: tf.unstack(tf.placeholder(tf.float32, [None, 2])))
    assert [part.name for part in tf.unstack(x, name="part")] == ["part", "part_1"]


def test_an_operation_taken_whole_needs_known_lengths() -> None:
    x, known = tf.placeholder(tf.float32, [None, 3], "x"), tf.placeholder(tf.float32, [4, 3])
    assert F.softmax(t.Tensor(known), 1).data.shape == (4, 3)
    assert "tf.trace" in problem(lambda: F.softmax(t.Tensor(x), 1))
