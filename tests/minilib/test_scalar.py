"""minilib.scalar against micrograd, finite differences, and what micrograd gets wrong."""

from __future__ import annotations

import gc
import math
import random
import sys
from pathlib import Path

import numpy as np
import pytest

from minilib import reference
from minilib.scalar import MLP, Layer, Module, Neuron, Value, topological_order, weighted_sum

micrograd_engine = pytest.importorskip("micrograd.engine", reason="micrograd is not installed")
micrograd_nn = pytest.importorskip("micrograd.nn")

# ---------------------------------------------------------------- the same as micrograd


OPERATIONS = {
    "+": lambda a, b, c: a + b,
    "*": lambda a, b, c: a * b,
    "-": lambda a, b, c: a - b,
    "/": lambda a, b, c: a / (b * b + 1.5),
    "neg": lambda a, b, c: -a,
    "relu": lambda a, b, c: a.relu(),
    "**": lambda a, b, c: (a * a + 0.5) ** c,
    "+c": lambda a, b, c: a + c,
    "c+": lambda a, b, c: c + a,
    "c*": lambda a, b, c: c * a,
    "c-": lambda a, b, c: c - a,
    "c/": lambda a, b, c: c / (a * a + 1.5),
}


def random_program(rng: random.Random) -> list[tuple[str, int, int, float]]:
    """Operations over a growing list of values: (name, position, position, constant)."""
    return [
        (rng.choice([*OPERATIONS]), rng.randrange(4 + k), rng.randrange(4 + k), rng.choice([-2, 0.5, 1.5, 3]))
        for k in range(rng.randrange(3, 12))
    ]


def run_program(program, numbers, value):
    """The leaves and the last value of `program` in the arithmetic of the class `value`."""
    values = [value(x) for x in numbers]
    for name, i, j, c in program:
        values.append(OPERATIONS[name](values[i], values[j], c))
    return values[:4], values[-1]


def test_a_thousand_random_expressions_equal_micrograd():
    rng = random.Random(0)
    compared = 0
    while compared < 1000:
        program = random_program(rng)
        numbers = [rng.uniform(-2, 2) for _ in range(4)]
        theirs, their_root = run_program(program, numbers, micrograd_engine.Value)
        if not abs(their_root.data) < 1e8:
            continue  # a tower of products, where rounding says more than the derivative
        ours, root = run_program(program, numbers, Value)
        their_root.backward()
        root.backward()
        assert root.data == pytest.approx(their_root.data, rel=1e-9, abs=1e-12)
        for mine, other in zip(ours, theirs):
            assert mine.grad == pytest.approx(other.grad, rel=1e-9, abs=1e-9)
        compared += 1


def test_the_expression_of_micrograds_readme():
    a, b = Value(-4.0), Value(2.0)
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    g.backward()
    assert g.data == pytest.approx(24.70408163265306, abs=1e-12)
    assert a.grad == pytest.approx(138.83381924198252, abs=1e-10)
    assert b.grad == pytest.approx(645.5772594752187, abs=1e-10)


def test_reprs_equal_micrograds():
    for make in (
        lambda m: m.Neuron(2),
        lambda m: m.Neuron(3, nonlin=False),
        lambda m: m.Layer(2, 3),
        lambda m: m.MLP(2, [4, 1]),
    ):
        assert repr(make(sys.modules["minilib.scalar"])) == repr(make(micrograd_nn))
    for number in (2, -0.5):
        assert repr(Value(number)) == repr(micrograd_engine.Value(number))
        assert repr(Value(number) * 2.5) == repr(micrograd_engine.Value(number) * 2.5)


def test_names_equal_micrograds():
    x = Value(2.0)
    theirs = micrograd_engine.Value(2.0)
    for make in (lambda v: v + 1, lambda v: v * v, lambda v: v**2, lambda v: v.relu()):
        assert make(x)._op == make(theirs)._op
        assert sorted(p.data for p in make(x)._prev) == sorted(p.data for p in make(theirs)._prev)
    assert issubclass(MLP, Module) and issubclass(Layer, Module) and issubclass(Neuron, Module)


def trace(root):
    """The walk of micrograd's graph notebook: all nodes and edges, by `_prev`."""
    nodes, edges = set(), set()

    def build(v):
        if v not in nodes:
            nodes.add(v)
            for child in v._prev:
                edges.add((child, v))
                build(child)

    build(root)
    return nodes, edges


def test_micrograds_graph_walk_sees_the_same_graph():
    sizes = []
    for module in (sys.modules["minilib.scalar"], micrograd_nn):
        random.seed(7)
        y = module.Neuron(2)([module.Value(1.0), module.Value(-2.0)])
        y.backward()
        nodes, edges = trace(y)
        sizes.append((len(nodes), len(edges), sorted(n._op for n in nodes), sorted(n.grad for n in nodes)))
    assert sizes[0] == sizes[1]


# ---------------------------------------------------------------- two moons


def moons():
    """micrograd's demo: data, and its loss over a model built from `Value`."""
    make_moons = pytest.importorskip("sklearn.datasets").make_moons
    np.random.seed(1337)
    random.seed(1337)
    X, y = make_moons(n_samples=100, noise=0.1)
    y = y * 2 - 1

    def loss(model):
        inputs = [list(map(Value, row)) for row in X]
        scores = list(map(model, inputs))
        losses = [(1 + -yi * score).relu() for yi, score in zip(y, scores)]
        data_loss = sum(losses) * (1.0 / len(losses))
        reg_loss = 1e-4 * sum(p * p for p in model.parameters())
        accuracy = [(yi > 0) == (score.data > 0) for yi, score in zip(y, scores)]
        return data_loss + reg_loss, sum(accuracy) / len(accuracy)

    return loss


@pytest.fixture
def no_collector():
    """Values make no reference cycles, so the collector only costs time (three quarters of it here)."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.thorough
def test_two_moons_train_to_micrograds_losses(no_collector):
    loss = moons()
    model = MLP(2, [16, 16, 1])
    assert len(model.parameters()) == 337
    seen = {}
    for k in range(100):
        total, accuracy = loss(model)
        model.zero_grad()
        total.backward()
        for p in model.parameters():
            p.data -= (1.0 - 0.9 * k / 100) * p.grad
        seen[k] = total.data, accuracy
    assert seen[0][0] == pytest.approx(0.8958441028683222, abs=1e-12)
    assert seen[1][0] == pytest.approx(1.7235905336972, abs=1e-12)
    assert seen[9][0] == pytest.approx(0.2704862551637922, abs=1e-12)
    assert seen[99] == (pytest.approx(0.0109783701354927, abs=1e-12), 1.0)


# ---------------------------------------------------------------- what micrograd gets wrong


def test_backward_twice_accumulates_like_pytorch():
    a = Value(3.0)
    c = (a * a) ** 2
    c.backward()
    assert a.grad == 108.0
    c.backward()
    assert a.grad == 216.0


def test_a_chain_of_100_000_operations():
    x = Value(1.0)
    y = x
    for _ in range(100_000):
        y = y + x
    y.backward()
    assert x.grad == 100_001.0


def test_a_diamond_of_a_thousand_squares_takes_no_time():
    x = Value(1.0)
    y = x
    for _ in range(1000):
        y = y * y * 0.5 + y * 0.5
    y.backward()
    assert x.grad == pytest.approx(1.5**1000)


def test_a_value_used_a_thousand_times():
    x = Value(0.5)
    sum([x * x] * 500).backward()
    assert x.grad == pytest.approx(500.0)


@pytest.mark.parametrize("exponent", [np.float64(3), np.float32(3), np.int64(3), np.array(3.0)])
def test_numpy_scalars_as_exponents(exponent):
    x = Value(2.0)
    y = x**exponent
    y.backward()
    assert (y.data, x.grad) == (8.0, 12.0)


@pytest.mark.parametrize("scalar", [np.float64(2), np.float32(2), np.int64(2), np.array(2.0)])
def test_numpy_scalars_on_the_left_give_a_value(scalar):
    for y, expected in ((scalar * Value(3.0), 6.0), (scalar - Value(3.0), -1.0), (scalar ** Value(3.0), 8.0)):
        assert type(y) is Value
        assert type(y.data) is float and y.data == expected


@pytest.mark.parametrize(
    "action", [lambda a: a * Value(2.0), lambda a: Value(2.0) * a, lambda a: Value(2.0) + a]
)
def test_arrays_are_refused_in_words(action):
    with pytest.raises(TypeError, match=r"expected one real number, got ndarray of shape \(3,\)"):
        action(np.arange(3.0))


@pytest.mark.parametrize("data", ["2", None, 1j, [1.0], Value(1.0), np.array(["a"])])
def test_only_real_numbers_become_values(data):
    with pytest.raises(TypeError, match="expected one real number"):
        Value(data)


def test_numpy_numbers_become_python_numbers():
    assert type(Value(np.float32(0.5)).data) is float
    assert type((Value(np.float64(2)) * 3).data) is float


def test_a_neuron_counts_its_inputs():
    with pytest.raises(ValueError, match=r"ReLUNeuron\(2\): expected 2 inputs, got 3"):
        Neuron(2)([1.0, 2.0, 3.0])


def test_equality_is_identity_and_order_is_by_number():
    a, b = Value(2.0), Value(2.0)
    assert a != b and len({a, b}) == 2
    assert a <= b and a >= b and a < 3 and a > 1 and not a < b


def test_a_graph_is_freed_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        x = Value(2.0)
        y = (x * x + 1).relu()
        y.backward()
        before = sum(type(o) is Value for o in gc.get_objects())  # isinstance would ask a dead weakref.proxy
        del y
        after = sum(type(o) is Value for o in gc.get_objects())
    finally:
        gc.enable()
    assert before - after == 4  # x*x, the constant, the sum, the relu


# ---------------------------------------------------------------- derivatives


def slope(f, x, h=1e-6):
    return (f(x + h) - f(x - h)) / (2 * h)


@pytest.mark.parametrize(
    ("ours", "plain", "points"),
    [
        (lambda v: v.tanh(), math.tanh, [-3, -0.2, 0, 2]),
        (lambda v: v.exp(), math.exp, [-3, 0, 2]),
        (lambda v: v.log(), math.log, [0.1, 1, 7]),
        (lambda v: v**3, lambda x: x**3, [-2, 0, 1.5]),
        (lambda v: v**-2, lambda x: x**-2, [-2, 1.5]),
        (lambda v: v**0.5, lambda x: x**0.5, [0.3, 4]),
        (lambda v: v**v, lambda x: x**x, [0.3, 2]),
        (lambda v: 2**v, lambda x: 2**x, [-1, 0, 3]),
        (lambda v: 1 / v - v / 2, lambda x: 1 / x - x / 2, [-1, 3]),
        (lambda v: 1 - v, lambda x: 1 - x, [0, 3]),
        (lambda v: v.relu(), lambda x: max(x, 0), [-1, 2]),
    ],
)
def test_derivatives_equal_differences(ours, plain, points):
    for point in points:
        x = Value(float(point))
        y = ours(x)
        y.backward()
        assert y.data == pytest.approx(plain(point))
        assert x.grad == pytest.approx(slope(plain, point), rel=1e-5, abs=1e-6)


def test_power_at_the_edges_does_as_pytorch():
    gradients = []
    for base, exponent in [(0.0, 0.0), (0.0, 0.5), (0.0, 2.0), (-2.0, 2.0)]:
        x, n = Value(base), Value(exponent)
        (x**n).backward()
        gradients.append((x.grad, n.grad))
    assert gradients[:3] == [(0.0, 0.0), (math.inf, 0.0), (0.0, 0.0)]
    assert gradients[3][0] == -4.0 and math.isnan(gradients[3][1])


@pytest.mark.parametrize("power", [lambda: Value(-8.0) ** (1 / 3), lambda: Value(-8.0) ** Value(0.5)])
def test_a_negative_base_with_a_fractional_exponent_raises(power):
    with pytest.raises(ValueError, match="a negative base needs a whole exponent"):
        power()


def test_log_of_what_has_none_names_the_number():
    with pytest.raises(ValueError, match=r"expected a positive number, got -2\.0"):
        Value(-2.0).log()


def test_relu_keeps_nan():
    assert math.isnan(Value(math.nan).relu().data)


def test_weighted_sum_equals_products_and_sums():
    rng = random.Random(3)
    for size in range(6):
        numbers = [rng.uniform(-2, 2) for _ in range(2 * size + 1)]
        results = []
        for fused in (True, False):
            bias, *rest = [Value(x) for x in numbers]
            w, x = rest[:size], rest[size:]
            y = weighted_sum(w, x, bias) if fused else sum((a * b for a, b in zip(w, x)), bias)
            z = y * y
            z.backward()
            results.append((z.data, [v.grad for v in (bias, *rest)]))
            if fused:
                assert len(topological_order(z)) == 2
                assert len(y.inputs) == len(y.derivatives) == 2 * size + 1
        assert results[0] == results[1]


SIMPLE = {
    "+": lambda a, b, c: a + b,
    "+c": lambda a, b, c: a + c,
    "*": lambda a, b, c: a * b,
    "relu": lambda a, b, c: a.relu(),
    "tanh": lambda a, b, c: a.tanh(),
    "exp": lambda a, b, c: a.tanh().exp(),
    "log": lambda a, b, c: (a * a + 0.5).log(),
}


def test_the_fast_engine_equals_the_reference():
    rng = random.Random(5)
    for _ in range(300):
        program = [
            (rng.choice([*SIMPLE]), rng.randrange(4 + k), rng.randrange(4 + k), rng.uniform(-2, 2))
            for k in range(rng.randrange(3, 15))
        ]
        numbers = [rng.uniform(-1, 1) for _ in range(4)]
        found = []
        for module in (sys.modules["minilib.scalar"], reference):
            values = [module.Value(x) for x in numbers]
            for name, i, j, c in program:
                values.append(SIMPLE[name](values[i], values[j], c))
            root = module.weighted_sum(values[:2], [values[-1], 0.5], values[2])
            for _ in range(2):
                root.backward()
            found.append([number for v in [*values, root] for number in (v.data, v.grad)])
        assert found[0] == pytest.approx(found[1], rel=1e-12, abs=1e-12)


def test_the_reference_trains_the_moons_as_the_fast_engine_does():
    points = [(0.5, -1.0, 1.0), (-1.5, 0.3, -1.0)]
    losses = []
    for made in (Value, reference.Value):
        w = [made(0.3), made(-0.7), made(0.1)]
        for _ in range(5):
            loss = made(0.0)
            for u, v, y in points:
                score = w[0] * made(u) + w[1] * made(v) + w[2]
                loss = loss + (made(1.0) + made(-y) * score).relu()
            for p in w:
                p.grad = 0.0
            loss.backward()
            for p in w:
                p.data -= 0.1 * p.grad
            losses.append(loss.data)
    assert losses[:5] == losses[5:] and losses[4] < losses[0]


@pytest.mark.parametrize("inputs", [1, 2, 3, 5])
def test_a_value_can_be_made_as_in_chapter_01(inputs):
    made_of = tuple(Value(float(k)) for k in range(inputs))
    y = Value(2.0, "f", made_of, tuple(range(1, inputs + 1)))
    assert (y.op, y.inputs, y.derivatives) == ("f", made_of, tuple(range(1, inputs + 1)))
    y.backward()
    assert [v.grad for v in made_of] == [*range(1, inputs + 1)]


def test_as_many_derivatives_as_inputs():
    a = Value(1.0)
    for inputs, derivatives in (((a,), 1.0), (a, (1.0,))):
        with pytest.raises(TypeError, match=r"f: expected .* in a tuple, as in"):
            Value(1.0, "f", inputs, derivatives)
    with pytest.raises(ValueError, match="f: got 1 inputs and 2 derivatives"):
        Value(2.0, "f", (Value(1.0),), (1.0, 2.0))


def test_a_subclass_may_be_made_otherwise():
    class Known(Value):
        def __init__(self, data, *inputs):
            super().__init__(data, "f", inputs, (2.0,) * len(inputs))

    x = Known(1.0)
    Known(3.0, x, x).backward()
    assert x.grad == 4


def test_nothing_in_minilib_imports_reference():
    for path in Path(sys.modules["minilib"].__file__).parent.glob("*.py"):
        assert "import reference" not in path.read_text() and "minilib.reference" not in path.read_text()
