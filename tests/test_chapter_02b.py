"""Chapter 02b, graded: wrong answers earn their hints, other right answers earn all points."""

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
CHAPTER = load_chapter(COURSE.solutions / "02b_engine.ipynb")
MISTAKES = misconceptions_of(CHAPTER)
CORE = {"2.12", "2.13", "2.14", "2.15", "2.16", "2.17"}

# Right answers by another way than the reference's.
OTHERS = {
    "2.10": """
def predicted(n):
    return max(n, 1), min(n, 2)


def longest_queue(root):
    waiting, met, longest = {root}, {root}, 1
    while waiting:
        longest = max(longest, len(waiting))
        newest = max(waiting, key=lambda f: f.serial)
        waiting.discard(newest)
        fresh = {node for node in newest.inputs if hasattr(node, "serial")} - met
        waiting |= fresh
        met |= fresh
    return longest
""",
    "2.11": """
import copy


@add_to(Generator)
def get_state(self):
    return copy.deepcopy(self.numbers.bit_generator.state)


@add_to(Generator)
def set_state(self, state):
    self.numbers = np.random.default_rng()
    self.numbers.bit_generator.state = state
""",
    "2.12": """
def quotient(f, array, index, eps):
    kept, values = array.copy(), []
    for sign in (1, -1):
        array[index] = kept[index] + sign * eps
        values.append(f())
    array[...] = kept
    return 0.5 * (values[0] - values[1]) / eps
""",
    "2.13": """
def grad(outputs, inputs, grad_outputs=None, retain_graph=False, allow_unused=False):
    if isinstance(inputs, Tensor):
        inputs = [inputs]
    nodes = [x if x.function is None else x.function for x in inputs]
    root = outputs if outputs.function is None else outputs.function
    found = propagate(root, first_gradient(outputs, grad_outputs), retain_graph, nodes)
    results = []
    for node in nodes:
        if node in found:
            results.append(tensor(found[node][0]))
        elif allow_unused:
            results.append(None)
        else:
            raise RuntimeError("unused")
    return tuple(results)
""",
    "2.14": """
@add_to(Tensor)
def retain_grad(self):
    hooks = self.function.hooks or [] if self.function else [Keeper(None)]
    if not any(isinstance(hook, Keeper) for hook in hooks):
        self.register_hook(Keeper(weakref.ref(self)))


class Keeper:
    def __init__(self, ref):
        self.ref = ref

    def __call__(self, gradient):
        tensor = self.ref()
        if tensor is None:
            return
        if tensor.grad is None:
            tensor.grad = gradient.clone()
        else:
            tensor.grad.data += gradient.data
""",
    "2.15": """
def refuse_overwritten(f):
    owners = [id(owner_of(array)) for array in f.saved if array is not None]
    newest = max((_writes[key].last for key in owners if key in _writes), default=0)
    if newest > f.serial:
        raise RuntimeError("written to")
""",
    "2.16": """
def walk_owned(root, seed):
    grads, order, stack = {root: seed}, {root}, [root]
    while stack:
        for node in stack.pop().inputs:
            if isinstance(node, Function) and node not in order:
                order.add(node)
                stack.append(node)
    for f in sorted(order, key=lambda f: -f.serial):
        shares = f.backward(grads.pop(f))
        for node, share in zip(f.inputs, shares if isinstance(shares, tuple) else (shares,)):
            grads[node] = grads[node] + share if node in grads else share
    return grads
""",
    "2.17": """
def clip_to(limit):
    def hook(gradient):
        length = float(np.linalg.norm(gradient.numpy()))
        return gradient * min(1.0, limit / max(length, 1e-30))

    return hook
""",
    "2.18": """
class Again(Function):
    def __init__(self, func):
        self.func = func

    def forward(self, *arrays):
        self.saved = arrays
        with no_grad():
            return self.func(*[Tensor(array) for array in arrays]).data.copy()

    def backward(self, gradient):
        wanted = [self.needs(i) for i in range(len(self.saved))]
        leaves = [Tensor(array, requires_grad=want) for array, want in zip(self.saved, wanted)]
        out = self.func(*leaves)
        out.backward(Tensor(gradient.copy()))
        return tuple(leaf.grad.data if want else None for leaf, want in zip(leaves, wanted))


def checkpoint(func, *inputs):
    return apply(Again(func), *inputs)
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
