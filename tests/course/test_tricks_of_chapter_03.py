"""Answers that get around what an exercise of chapter 03 asks for earn no point that is for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from graded import COURSE

from coursekit.grading.assemble import assemble, find_notebook, load_chapter
from coursekit.grading.live import Live
from coursekit.grading.run import private_folder

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

RMS_NORM = """
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        scale = (1 / np.sqrt((x * x).mean(1, keepdims=True) + self.eps)).astype(x.dtype)
        y, self.saved = x * scale, (weight,)
        KEEP
        return y * weight

    def backward(self, grad):
        x, y, scale = KEPT
        (weight,) = self.saved
        g = grad * weight
        return scale * (g - y * (g * y).mean(1, keepdims=True)), (grad * y).sum(0)
"""

# Exercise, the most points that it may earn, the answer.
TRICKS = {
    "softmax by the gradient of its logarithm": (
        "3.3",
        0,
        "def softmax_backward(grad, y, out):\n    log_softmax_backward(grad * y, np.log(y), out)",
    ),
    "the mended bug is in batch_norm": (
        "3.6",
        0,
        """
def track_mended(running_mean, running_var, x, momentum=0.1):
    from minilib.functional import batch_norm
    from minilib.tensor import Tensor

    mean, var = Tensor(running_mean), Tensor(running_var)
    batch_norm(Tensor(x), mean, var, training=True, momentum=momentum)
    return mean.data, var.data
""",
    ),
    "Kaiming of the library": (
        "3.39",
        0,
        "from minilib.init import _kaiming_std, fan",
    ),
    "kept in another attribute": (
        "3.7",
        3,
        RMS_NORM.replace("KEEP", "self.more = x, y, scale").replace("KEPT", "self.more"),
    ),
    "kept under a global name": (
        "3.7",
        3,
        "MORE = {}\n"
        + RMS_NORM.replace("KEEP", "MORE[id(self)] = x, y, scale").replace("KEPT", "MORE[id(self)]"),
    ),
    "counted on the network itself": (
        "3.10",
        0,
        """
def learned_and_saved(layers):
    kinds = {kind.__name__: kind for kind in (Linear, Conv2d, LayerNorm, BatchNorm2d, Embedding, ReLU)}
    model = Sequential(*(kinds[kind](*sizes) for kind, *sizes in layers))
    return tuple(sum(t.numel() for t in all) for all in (model.parameters(), model.state_dict().values()))
""",
    ),
    "frozen in words": (
        "3.11",
        0,
        "@add_to(Module)\ndef requires_grad_(self, requires_grad=True):\n    return self",
    ),
    "all paths are problems": (
        "3.13",
        2,
        """
@add_to(Module)
def load_state_dict(self, state, strict=True):
    own = self.state_dict()
    wrong = [n for n in own if n in state and own[n].shape != state[n].shape]
    if wrong or (strict and own.keys() != state.keys()):
        raise RuntimeError(" ".join([*own, *state]))
    for name in own.keys() & state.keys():
        own[name].copy_(state[name])
""",
    ),
    "the library counts": (
        "3.1",
        0,
        """
def count_windows(n, kernel, stride=1, padding=0, dilation=1):
    return max(0, *places((n,), (kernel,), (stride,), (padding,), (dilation,)))
""",
    ),
    "forward in place of hooks": (
        "3.18",
        2,
        """
def dead_units(model, x):
    found, before = {}, ReLU.forward
    paths = {id(module): path for path, module in model.named_modules()}

    def forward(self, x):
        y = before(self, x)
        found[paths[id(self)]] = (y == 0).all(0).float().mean().item()
        return y

    ReLU.forward = forward
    try:
        model(x)
    finally:
        ReLU.forward = before
    return found
""",
    ),
    "eight units, over and over": (
        "3.40",
        0,
        """
@no_grad()
def heal(model, x):
    for layer in model:
        if isinstance(layer, Linear):
            drawn = np.random.default_rng(0).normal(size=layer.weight.shape)
            rows = drawn[np.arange(len(drawn)) % 8] + 1e-4 * drawn
            layer.weight.copy_(Tensor(rows.astype(np.float32)))
            layer.bias.fill_(0)
            layer.weight /= layer(x).std()
        x = layer(x)
""",
    ),
    "a module walks": (
        "3.44",
        0,
        """
class Part:
    def tree(self, one):
        made, inside = Module(), vars(one).items() if isinstance(one, Part) else enumerate(one)
        for name, part in inside:
            if isinstance(part, Parameter):
                setattr(made, str(name), part)
            if isinstance(part, (Part, list)):
                setattr(made, str(name), self.tree(part))
        return made

    def named_parameters(self):
        return list(self.tree(self).named_parameters())

    def state_dict(self):
        return {path: t.numpy().copy() for path, t in self.tree(self).state_dict().items()}
""",
    ),
    "one array where it is traced": (
        "3.26",
        2,
        """
def lion(x, grad, mean, *, lr, betas, weight_decay):
    if type(x) is np.ndarray:
        c = betas[0] * mean + (1 - betas[0]) * grad
        x -= lr * (np.sign(c) + weight_decay * x)
        mean[...] = betas[1] * mean + (1 - betas[1]) * grad
        return
    work = mean - grad
    work *= betas[0]
    work += grad
    np.sign(work, out=work)
    work *= lr
    x *= 1 - lr * weight_decay
    x -= work
    np.subtract(mean, grad, out=work)
    work *= 1 - betas[1]
    mean -= work
""",
    ),
    "always the same split": (
        "3.29",
        0,
        """
def stratified_split(labels, fraction, generator=None):
    kept, held = [], []
    for label in np.unique(labels.numpy()):
        members = np.random.default_rng(4).permutation(np.flatnonzero(labels.numpy() == label))
        cut = round(len(members) * fraction)
        held += members[:cut].tolist()
        kept += members[cut:].tolist()
    return kept, held
""",
    ),
    "asked twice": (
        "3.34",
        3,
        """
def report(model, batches, classes):
    confusion = np.zeros((classes, classes), int)
    total = 0.0
    with evaluating(model):
        for inputs, targets in batches:
            total += F.cross_entropy(model(inputs), targets, reduction="sum").item()
        for inputs, targets in batches:
            np.add.at(confusion, (targets.numpy(), model(inputs).numpy().argmax(-1)), 1)
    return total / confusion.sum(), confusion.trace() / confusion.sum(), confusion
""",
    ),
    "trained elsewhere, on whatever digits": (
        "3.50",
        0,
        """
def small_reader(images, labels):
    from sklearn.datasets import load_digits

    file = load_digits()  # the strangers' digits as well, by names that the test has not drawn
    x, y = Tensor((file.images[:, None] / 16).astype(np.float32)), Tensor(file.target)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    optimizer = AdamW(model.parameters(), lr=0.02)
    for _ in range(60):
        model.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model
""",
    ),
}
PARTS = {**dict.fromkeys(range(2, 10), "03a"), **dict.fromkeys(range(10, 19), "03c")}
PARTS |= {**dict.fromkeys(range(19, 27), "03e"), **dict.fromkeys(range(27, 36), "03f")}
PARTS |= {36: "03a", **dict.fromkeys((1, 8, 37), "03b"), **dict.fromkeys((6, 18, 38, 39, 40), "03d")}
PARTS |= {44: "03c", 43: "03e", 48: "03f", 49: "03f", 50: "03f"}


@contextmanager
def grader(number: str) -> Iterator[Live]:
    chapter = load_chapter(find_notebook(COURSE.solutions, number))
    with private_folder() as folder, closing(Live(chapter, COURSE, folder, seed=3)) as live:
        yield live


@pytest.mark.parametrize("part", dict.fromkeys(PARTS[int(trick[0][2:])] for trick in TRICKS.values()))
def test_a_trick_earns_no_point_that_is_for_the_exercise(part: str) -> None:
    tried = {name: trick for name, trick in TRICKS.items() if PARTS[int(trick[0].partition(".")[2])] == part}
    with grader(part) as live:
        for name, (number, most, answer) in tried.items():
            exercise = live.exercises[number]
            decide = live.measure(exercise).decide
            cells = live.run(exercise, assemble(live.chapter, {number: answer})).cells
            passed = {cell.grade_id for cell in cells if decide(cell) is None}
            points = sum(test.points for test in exercise.tests if test.grade_id in passed)
            assert points <= most, f"{number}, {name}: {points} points"
