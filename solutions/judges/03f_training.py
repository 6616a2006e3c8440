"""Exercises 3.28 and 3.29 draw at random: any order and any split will do that has the properties asked for.

The others say in words what values from a model with moods mean: its scores are other ones in training mode,
while a graph is recorded, and for rows that it has seen before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coursekit.grading.compare import difference, telling
from coursekit.grading.plain import numbers, plain
from minilib import functional as F
from minilib.data import digits
from minilib.tensor import Tensor, no_grad

MOODS = {
    "modes": "the model is asked in training mode, or while a graph is recorded",
    "afterwards": "a module is in another mode than before",
    "each its own mode afterwards": "a module is in another mode than before",
    "mode afterwards": "the model is in another mode than before",
    "of one pass": "are not those of a model that is asked about each row once",
    "without a graph": "are not those of a model in evaluation mode, without a graph",
}
UNEQUAL = (
    "a row is missing from the matrix, or counted twice: its numbers do not add up to the number of rows"
)


@telling
def judge_shuffled_hidden(name: str, expected: Any, got: Any) -> str | None:
    """All examples once, with their labels, in an order that is random and comes from the numbers."""
    if name != "batches":
        return difference(expected, got, 1e-9) and "you write into the caller's arrays"
    images, labels, *right = plain(expected)
    runs = plain(got)[2:]
    if len(runs) != len(right):
        raise ValueError("a run is missing")
    known = {_example(image, label): place for place, (image, label) in enumerate(zip(images, labels))}
    orders = [[known.get(one, -1) for batch in run for one in _examples(batch)] for run in runs]
    sizes = [[len(batch[1]) for batch in run] for run in runs]
    wanted = [len(batch[1]) for batch in right[0]]
    return (
        next(filter(None, (_wrong_order(*both, wanted) for both in zip(orders, sizes))), None)
        or ("one seed gives two orders" if orders[0] != orders[1] else None)
        or ("the order is the same whatever the seed is" if orders[0] == orders[2] else None)
    )


def _examples(batch: Any) -> list[Any]:
    images, labels = batch
    if len(images) != len(labels):
        raise ValueError("not as many labels as images")
    return [_example(image, label) for image, label in zip(images, labels)]


def _example(image: Any, label: Any) -> Any:
    return (*numbers(image).tolist(), int(label))


def _wrong_order(order: list[int], sizes: list[int], wanted: list[int]) -> str | None:
    everything = list(range(sum(wanted)))
    if -1 in order:
        return "an image has got the label of another one"
    if len(set(order)) < len(order):
        return "an example comes twice"
    if sorted(order) != everything:
        return "an example is missing"
    if order == everything:
        return "nothing is shuffled"
    if _walks(order):
        return "most examples lie as far from the one before as all others do"
    start = 0
    for size in sizes:
        places = sorted(order[start : start + size])
        if size == wanted[0] and places == list(range(places[0], places[0] + size)):
            return "a batch holds neighbours of the file"
        start += size
    return None if sizes == wanted else "the batches are not of the sizes asked for"


def _walks(order: list[int]) -> bool:
    """Whether most numbers are as far from the one before, round the end: no shuffled ones are."""
    steps = np.bincount(np.diff(order) % len(order))
    return bool(steps.max() > len(order) / 2)


@telling
def judge_split_hidden(name: str, expected: Any, got: Any) -> str | None:
    """Of each class its share, at random, by the generator."""
    if not name.startswith("lists"):
        return difference(expected, got, 1e-9) and "a fraction that is not between 0 and 1 raises ValueError"
    fraction, labels, *right = plain(expected)
    runs = [_two_lists(run) for run in got["list"][2:]]
    if len(runs) != len(right):
        raise ValueError("a run is missing")
    wrong = next(filter(None, (_wrong_split(*run, labels, fraction) for run in runs)), None)
    if wrong:
        return wrong
    held = [sorted(run[1]) for run in runs]
    if held[0] != held[2]:
        return "one seed of the generator gives two splits"
    if held[0] == held[1]:
        return "the split is the same whatever the generator is"
    return None if held[3] == held[4] else "without a generator the default one does not decide"


def _two_lists(run: Any) -> list[list[int]]:
    kept, held = run["tuple" if "tuple" in run else "list"]
    if "list" not in kept or "list" not in held:
        raise ValueError("not two lists")
    return [[int(number) for number in plain(one)] for one in (kept, held)]


def _wrong_split(kept: list[int], held: list[int], labels: Any, fraction: float) -> str | None:
    if set(kept) & set(held):
        return "an item is in both lists"
    if sorted(kept + held) != list(range(len(labels))):
        return "an item is missing, or comes twice"
    members = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    shares = [sorted(set(one.tolist()) & set(held)) for one in members]
    exact, counts = [len(one) * fraction for one in members], [len(share) for share in shares]
    for rule, words in (
        ([round(n) for n in exact], None),
        ([len(one) - round(n) for one, n in zip(members, exact)], "the two lists are the wrong way round"),
        ([int(n) for n in exact], "the number of a class is not rounded to the nearest"),
        ([int(n) + 1 for n in exact], "the number of a class is not rounded to the nearest"),
    ):
        if counts == rule:
            wrong = words
            break
    else:
        return "a class has another share than the others"
    if wrong:
        return wrong
    firsts = [one[: len(share)].tolist() for one, share in zip(members, shares)]
    lasts = [one[len(one) - len(share) :].tolist() for one, share in zip(members, shares)]
    if shares in (firsts, lasts):
        return "the first or the last items of each class are held out"
    places = [np.isin(one, share) for one, share in zip(members, shares)]
    runs = [np.sum(there & ~np.roll(there, 1)) for there in places]  # a run may go on round the end
    return "the items held out of each class are neighbours" if max(runs) == 1 else None


def judge_heart_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    """Each example once an epoch, in an order that comes from the seed and is another one each time."""
    if name != "orders":
        return difference(expected, got, 1e-3)
    ((n,), *right), (_, *batches) = plain(expected), plain(got)
    sizes = [len(batch) for batch in right]
    if [len(batch) for batch in batches] != sizes:
        return "the batches are not of the sizes asked for"
    runs = [batches[k : k + len(sizes) // 3] for k in range(0, len(sizes), len(sizes) // 3)]
    per_epoch = len(runs[0]) // 3
    epochs = [
        [int(i) for batch in run[k * per_epoch : (k + 1) * per_epoch] for i in numbers(batch)]
        for run in runs
        for k in range(3)
    ]
    everything = list(range(int(n)))
    if any(sorted(epoch) != everything for epoch in epochs):
        return "an example comes twice in an epoch, or never"
    if everything in epochs or any(map(_walks, epochs)):
        return "nothing is shuffled"
    if epochs[:3] != epochs[3:6]:
        return "one seed gives two orders"
    if epochs[0] == epochs[1]:
        return "each epoch has the same order"
    return "the order is the same whatever the seed is" if epochs[0] == epochs[6] else None


def judge_heart_hidden_3(name: str, expected: Any, got: Any) -> str | None:
    """The one that took over goes where the first one went, whatever order each answer draws."""
    if not name.startswith("resumed"):
        return difference(expected, got, 1e-3)
    through, at_once, later, twice = plain(got)
    if any(len(losses) != 9 for losses, _ in (through, at_once, later, twice)):
        return "are not nine losses"
    if wrong := _goes_elsewhere(*through, *at_once):
        return wrong
    if _goes_elsewhere(*through, *later):
        return "the state has changed while the first one trained on"
    return _goes_elsewhere(*through, *twice) and "the state has changed while one that loaded it trained on"


def _goes_elsewhere(through: Any, kept: Any, resumed: Any, there: Any) -> str | None:
    if numbers(through)[0] != numbers(resumed)[0]:
        return "the first loss after the cut differs"
    if not np.allclose(numbers(through), numbers(resumed), rtol=1e-6):
        return "the first loss after the cut agrees, a later one differs"
    same = len(kept) == len(there) and all(np.allclose(a, b, rtol=1e-5) for a, b in zip(kept, there))
    return None if same else "the losses agree, and the weights at the end differ"


def judge_accuracy_hidden(name: str, expected: Any, got: Any) -> str | None:
    if name == "modes":  # each time that a layer was asked; how often is the answer's business
        wanted, found = ({tuple(modes) for modes in plain(shown)} for shown in (expected, got))
        return None if found == wanted else MOODS[name]
    return _in_words(name, expected, got)


def judge_report_hidden(name: str, expected: Any, got: Any) -> str | None:
    """The matrix holds whole numbers, of whatever width."""
    if name != "confusion matrix":
        return _in_words(name, expected, got)
    found = plain(got)
    if not isinstance(found, np.ndarray) or found.shape != plain(expected).shape:
        return difference(expected, got, 1e-9)
    if found.dtype.kind not in "iu":
        return "does not hold integers"
    if found.sum() != np.sum(plain(expected)):
        return UNEQUAL
    return None if (found == plain(expected)).all() else "has other numbers than expected"


def judge_report_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    return _of_a_report(name, expected, got)


def judge_report_hidden_3(name: str, expected: Any, got: Any) -> str | None:
    return _of_a_report(name, expected, got)


def _of_a_report(name: str, expected: Any, got: Any) -> str | None:
    """A model with moods spoils loss and matrix too: where they are right, it was asked as it should be."""
    if name.startswith("rows"):
        return None if np.sum(plain(got)) <= np.sum(plain(expected)) else MOODS["of one pass"]
    (loss, share, matrix), (wanted_loss, wanted, wanted_matrix) = plain(got), plain(expected)
    if abs(share - wanted) > 1e-5 >= abs(loss - wanted_loss) and matrix == wanted_matrix:
        return "the accuracy alone is wrong"
    if abs(loss - wanted_loss) <= 1e-5 and np.sum(matrix) != np.sum(wanted_matrix):
        return UNEQUAL
    return _in_words(name, expected, got)


def _in_words(name: str, expected: Any, got: Any) -> str | None:
    message = difference(expected, got, 1e-5)
    return message and MOODS.get(name, message)


@telling
def judge_strangers_hidden(name: str, expected: Any, got: Any) -> str | None:
    return _strangers(expected, got, 0.85)


@telling
def judge_strangers_hidden_2(name: str, expected: Any, got: Any) -> str | None:
    return _strangers(expected, got, 0.93)


def _strangers(expected: Any, got: Any, least: float) -> str | None:
    """Put the network together, count its parameters, have it read digits that its maker has not got."""
    (names, turned, _), (_, _, layers) = plain(expected), plain(got)
    if any(kind not in READS for kind, _, _ in layers):
        return "is not an nn.Sequential of the layers that are allowed"
    counts = {array.tobytes(): array.size for _, _, held in layers for array in held[:2] if array is not None}
    if sum(counts.values()) >= 2000:
        return "has too many parameters"
    images, labels = _other_writers()
    images = images[..., :: 1 - 2 * int(turned[0]), :: 1 - 2 * int(turned[1])]
    x = Tensor(np.ascontiguousarray(images.swapaxes(2, 3) if turned[2] else images))
    if _scores(layers, x[:1]) is None:  # one image first: no padding of a forger's may fill the memory
        return "makes maps that are too large"
    scores = _scores(layers, x)
    if scores.shape != (len(labels), 10):
        return "does not give ten scores to each image"
    share = (scores.numpy().argmax(1) == names[labels]).mean()
    if share < 0.3:
        return "reads hardly more of the strangers' digits than guessing does"
    return None if share >= least else "reads too few of the strangers' digits"


def _scores(layers: Any, x: Tensor) -> Any:
    """What the layers make of images; None where a map of one of them has more than 10,000 numbers."""
    with no_grad():
        for kind, options, held in layers:
            sizes = [n for one in options.values() if not isinstance(one, str | float) for n in np.ravel(one)]
            if any(n > 8 for n in sizes):
                return None
            x = READS[kind](x, options, *(None if one is None else Tensor(np.float32(one)) for one in held))
            if x.numel() > 10_000 * len(x):
                return None
    return x


def _other_writers() -> tuple[Any, Any]:
    """The 382 digits at the end of the file, whose writers have written none of the others."""
    images, labels = (t.numpy() for t in digits().tensors)
    return images[1415:], labels[1415:]


def _batch_norm(x: Tensor, how: Any, weight: Any, bias: Any, mean: Any, var: Any) -> Tensor:
    return F.batch_norm(x, mean, var, weight, bias, training=False, eps=how["eps"])


READS = {  # what each layer does once it is trained: input, options, weight, bias, running mean and variance
    "Conv2d": lambda x, how, weight, bias, *_: F.conv2d(x, weight, bias, **how),
    "Linear": lambda x, how, weight, bias, *_: F.linear(x, weight, bias),
    "BatchNorm2d": _batch_norm,
    "MaxPool2d": lambda x, how, *_: F.max_pool2d(x, **how),
    "ReLU": lambda x, *_: F.relu(x),
    "Tanh": lambda x, *_: x.tanh(),
    "GELU": lambda x, how, *_: F.gelu(x, **how),
    "Flatten": lambda x, *_: x.flatten(1),
    "Dropout": lambda x, *_: x,
}
