"""Chapter 02b, graded: wrong answers earn their hints, other right answers earn all points."""

from __future__ import annotations

import pytest
from graded import Exercises, ExerciseTests

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


# What the box holds, called instead of written, and by the name that it had when the answer was run.
GIVEN = [
    (
        "2.16",
        """
way_back = propagate


def walk_owned(root, seed):
    return {node: array for node, (array, _) in way_back(root, seed.copy()).items()}
""",
    ),
    (
        "2.16",
        """
def walk_owned(root, seed):
    grads, owned, queue = {root: seed}, set(), [(-root.serial, root)]
    while queue:
        f = heappop(queue)[1]
        accumulate(f, f.backward(grads.pop(f)), grads, owned, queue)
    return grads
""",
    ),
    (
        "2.11",  # a state that means nothing in another process
        """
KEPT = []


@add_to(Generator)
def get_state(self):
    KEPT.append(dict(self.numbers.bit_generator.state))
    return {"place": len(KEPT) - 1}


@add_to(Generator)
def set_state(self, state):
    self.numbers.bit_generator.state = KEPT[state["place"]]
""",
    ),
]


@pytest.mark.slow
def test_the_given_engine_does_not_do_the_exercise():
    assert TestExercises.exercises.points(GIVEN) == [0] * len(GIVEN)


STATE_AS_TEXT = """
@add_to(Generator)
def get_state(self):
    return json.dumps(self.numbers.bit_generator.state)


@add_to(Generator)
def set_state(self, state):
    self.numbers.bit_generator.state = json.loads(state)
"""

KEPT_OUTSIDE_OF_THE_GRAPH = """
KEPT = []


class Checkpoint(Function):
    def __init__(self, func):
        self.func = func

    def forward(self, *arrays):
        self.saved = arrays
        with enable_grad():
            KEPT.append(self.func(*(Tensor(array, requires_grad=True) for array in arrays)))
        return KEPT[-1].data.copy()

    def backward(self, grad):
        leaves = [Tensor(array, requires_grad=self.needs(i)) for i, array in enumerate(self.saved)]
        self.func(*leaves).backward(Tensor(grad))
        return tuple(None if leaf.grad is None else leaf.grad.data for leaf in leaves)


def checkpoint(func, *inputs):
    return apply(Checkpoint(func), *inputs)
"""


@pytest.mark.slow
def test_a_state_may_have_any_form_and_memory_counts_wherever_it_is_kept():
    answers = [("2.11", STATE_AS_TEXT), ("2.18", KEPT_OUTSIDE_OF_THE_GRAPH)]
    assert TestExercises.exercises.points(answers) == [2, 2]


class TestExercises(ExerciseTests):
    exercises = Exercises("02b_engine", OTHERS)
