"""Chapter 01, graded: wrong answers earn their hints, other right answers earn all points."""

from __future__ import annotations

from pathlib import Path

import pytest

from coursekit.course import find_course
from coursekit.grading.assemble import assemble, load_chapter
from coursekit.grading.control import Conditions, control, misconceptions_of, mistaken
from coursekit.grading.hints import bundles
from coursekit.grading.sandbox import Box
from coursekit.grading.submissions import Submission

COURSE = find_course(Path(__file__).parent)
CHAPTER = load_chapter(COURSE.solutions / "01_scalar.ipynb")
MISTAKES = misconceptions_of(CHAPTER)
CORE = {"1.2", "1.4", "1.5", "1.6", "1.7", "1.8"}

# Right answers by another way than the reference's.
OTHERS = {
    "1.1": """
def derivative(f, x, h=1e-5):
    left, right = (f(x + step) for step in (-h, h))
    return 0.5 * (right - left) / h
""",
    "1.2": """
@add_to(Value)
def __add__(self, other):
    other = other if isinstance(other, Value) else Value(other)
    total = Value(self.data + other.data)
    total.op, total.a, total.da, total.b, total.db = "+", self, 1, other, 1
    return total
""",
    "1.3": """
def visits(n, known={0: 1, 1: 1}):
    if n not in known:
        known[n] = 1 + visits(n - 1) + visits(n - 2)
    return known[n]
""",
    "1.4": """
@add_to(Value)
def tanh(self):
    down, up = math.exp(-abs(self.data)), 1.0
    t = (up - down * down) / (up + down * down) * (1 if self.data >= 0 else -1)
    return node(t, "tanh", self, (1 + t) * (1 - t))
""",
    "1.5": """
@add_to(Value)
def exp(self):
    return node(math.e**self.data, "exp", self, math.e**self.data)


@add_to(Value)
def log(self):
    if not self.data > 0:
        raise ValueError("there is no logarithm of " + str(self.data))
    return node(math.log2(self.data) * math.log(2), "log", self, self.data**-1)
""",
    "1.6": """
@add_to(Value)
def __pow__(self, other):
    exponent = other.data if isinstance(other, Value) else float(other)
    power = self.data**exponent
    if isinstance(power, complex):
        raise ValueError("no real result")
    try:
        slope = exponent * self.data ** (exponent - 1) if exponent != 0 else 0.0
    except ZeroDivisionError:
        slope = math.inf
    if isinstance(other, Value):
        by_exponent = power * math.log(self.data) if self.data > 0 else 0.0 if self.data == 0 else math.nan
        return node(power, "**", self, slope, other, by_exponent)
    return node(power, f"**{other}", self, slope)


@add_to(Value)
def __rpow__(self, other):
    return Value(other).__pow__(self)
""",
    "1.7": """
def backward_by_counting(root):
    order, seen = [], set()

    def visit(value):
        if value not in seen:
            seen.add(value)
            for i in value.inputs:
                visit(i)
            order.append(value)

    visit(root)
    for value in order:
        if value.op:
            value.grad = 0.0
    root.grad = 1.0
    for value in reversed(order):
        for i, derivative in zip(value.inputs, value.derivatives):
            i.grad += derivative * value.grad
""",
    "1.8": """
CHAINS = {1: [1], 2: [1, 2]}


def whole_power(x, n):
    longest = n.bit_length() - 1
    while n not in CHAINS:
        longest += 1
        search([1, 2], n, longest + 1)
    powers = {1: x}
    for k in CHAINS[n][1:]:
        i = next(i for i in powers if k - i in powers)
        powers[k] = powers[i] * powers[k - i]
    return powers[n]


def search(chain, n, length):
    if chain[-1] == n:
        CHAINS.setdefault(n, chain)
    elif len(chain) < length and chain[-1] * 2 ** (length - len(chain)) >= n and n not in CHAINS:
        for i in chain:
            if chain[-1] < chain[-1] + i <= n:
                search([*chain, chain[-1] + i], n, length)
""",
    "1.9": """
def descend(parameters, learning_rate):
    for p in parameters:
        p.data, p.grad = p.data - learning_rate * p.grad, 0
""",
    "1.10": """
def weighted_sum(weights, inputs, bias):
    total, made_of, derivatives = bias.data, [], []
    for w, x in zip(weights, inputs):
        known = x.data if isinstance(x, Value) else x
        total = total + w.data * known
        made_of.append(w)
        derivatives.append(known)
        if isinstance(x, Value):
            made_of.append(x)
            derivatives.append(w.data)
    return wide_node(total, "dot", [*made_of, bias], [*derivatives, 1])
""",
}


@pytest.fixture(scope="module")
def graded():
    """Results by name: mistakes-0, ..., others. `control` raises where a stub earns a point."""
    conditions = Conditions(COURSE, seed=7, box=Box.off(), workers=1)
    _, measure = control(CHAPTER, conditions)
    made = {f"mistakes-{k}": mistaken(CHAPTER, bundle) for k, bundle in enumerate(bundles(MISTAKES))}
    runs = conditions.run(made | {"others": assemble(CHAPTER, OTHERS)})
    return {
        name: {
            one.exercise.number: one
            for one in measure.result(Submission(name, name, name, OTHERS, {}), run).exercises
        }
        for name, run in runs.items()
    }


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: f"{one.exercise} {one.hint[:40]}")
def test_a_wrong_answer_loses_points_and_earns_its_hint(graded, mistake):
    place = next(k for k, bundle in enumerate(bundles(MISTAKES)) if mistake in bundle.values())
    result = graded[f"mistakes-{place}"][mistake.exercise]
    assert result.points < result.exercise.points
    assert result.hint == mistake.hint


@pytest.mark.parametrize("exercise", CHAPTER.exercises, ids=lambda one: one.number)
def test_another_right_answer_earns_all_points(graded, exercise):
    result = graded["others"][exercise.number]
    assert (result.points, result.messages) == (exercise.points, ())


def test_each_core_exercise_knows_three_mistakes_and_each_exercise_has_points():
    counts = {one.number: sum(m.exercise == one.number for m in MISTAKES) for one in CHAPTER.exercises}
    assert all(counts[number] >= 3 for number in CORE)
    assert len(CHAPTER.exercises) >= 8 and all(one.points for one in CHAPTER.exercises)
