"""What a learner gets to see for it: a picture of what the milestone has trained on their own library.

The milestone's script calls `reward` at its end, in the process that uses the library of `mine/`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from minilib.draw import Picture

Names = Mapping[str, Any]  # what the milestone has defined
MOST_DIGITS, MOST_LISTS, MOST_TEXTS = 48, 72, 12
SENTENCES = (
    "The function returns the value of the expression.",
    "If the name is not defined, an exception is raised.",
    "Where is the library?",
    "Sheep eat grass, and dogs eat sheep.",
)


def reward(names: Names, script: str) -> None:
    """Draw the picture of the milestone `script` beside it, and say where it is."""
    path = Path(script).with_suffix(".png")
    draw, words = REWARDS[path.stem.removeprefix("milestone_")]
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that Agg shows nothing
        picture = draw(names)
    if picture is None:
        plt.savefig(path, dpi=120, bbox_inches="tight")
    else:
        picture.save(path)
    print(f"{words}: {path.parent.name}/{path.name}")


def moons(names: Names) -> None:
    """The border that the network of chapter 01 has found."""
    from coursekit.pictures import draw_border
    from coursekit.pictures.scalars import scores_of

    u, v = np.linspace(-1.6, 2.6, 85), np.linspace(-1.2, 1.7, 59)
    grid = np.stack(np.meshgrid(u, v), axis=-1)
    scores = scores_of(names["network"], grid.reshape(-1, 2)).reshape(59, 85)
    draw_border(u, v, scores, names["X"], names["y"], title="The border that your library found")


def digits_of_03a(names: Names) -> None:
    new = names["check"][names["right"]]
    _draw(names["digits"].images[new] / 16, names["labels"][new])


def digits_of_03c(names: Names) -> None:
    images, labels = names["images"], names["labels"]
    right = (names["teacher"](images).argmax(1) == labels).numpy()
    _draw(images.numpy()[right], labels.numpy()[right])


def digits_of_03f(names: Names) -> None:
    model = names["model"].eval()
    images, labels, right = [], [], []
    for batch, targets in names["tested"]:
        images.append(batch.numpy())
        labels.append(targets.numpy())
        right.append((model(batch).argmax(-1) == targets).numpy())
    chosen = np.concatenate(right)
    _draw(np.concatenate(images)[chosen], np.concatenate(labels)[chosen])


def lists_of_06c(names: Names) -> None:
    """Lists that the network had never seen, beside its answers."""
    from coursekit.pictures import draw_sorted

    asked, said = names["asked"][:, :6], names["said"][:, 6:]
    draw_sorted(asked[:MOST_LISTS], said[:MOST_LISTS])


def sentences_of_06a(names: Names) -> Picture:
    """Sentences of a manual and of a farm, cut by the vocabulary that was learned from the manual."""
    from coursekit.pictures import draw_tokens

    def cut(text: str) -> list[str]:
        return [names["mine"].decode([i]) for i in names["mine"].encode(text)]

    return draw_tokens([cut(text) for text in SENTENCES])


def _draw(images: Any, labels: Any) -> None:
    """Digits that were read right, in full rows of 12, each below its label."""
    from coursekit.pictures import draw_digits

    count = min(len(images), MOST_DIGITS) // 12 * 12
    if count:
        draw_digits(list(images[:count]), [int(label) for label in labels[:count]])


def heads_of_06b(names: Names) -> None:
    """Where each head of the reader looks, in the first sentence that it has not seen."""
    from coursekit.pictures.attention import maps_figure

    words, _ = names["sentences"][2000]
    reader, seen = names["reader"], names["seen"][2000, : len(words)]
    asked = reader.asked(names["tensor"](seen[None])).data[0]  # (T, 3 C)
    heads = [part.reshape(len(words), reader.n_head, -1).swapaxes(0, 1) for part in np.split(asked, 3, 1)]
    maps_figure(words, names["F"].attend(*heads)[1])


def answers_of_07a(names: Names) -> None:
    """What the state space says of numbers that it was told 5, 20 and 100 steps before."""
    from coursekit.pictures.states import answers_figure

    answers_figure(names["spaced"])


def letters_of_07c(names: Names) -> None:
    """Sequences that the network had never seen, darker where time passes, and its answers behind them."""
    from coursekit.pictures.mamba import draw_copied, letters_of, steps_of

    asked, said = names["asked"][:MOST_TEXTS], names["said"][:MOST_TEXTS]
    delta = np.log(steps_of(names["model"], asked)).mean(axis=2)
    rows = [letters_of(row, 8) for row in asked.numpy()]
    draw_copied(rows, [letters_of(row, 8) for row in said], delta)


def echoes_of_07d(names: Names) -> None:
    """How long the state knows of a token that will be asked, and of one that will not."""
    from coursekit.pictures.memory import echo_figure

    tokens = np.random.default_rng(0).integers(0, 15, 200)
    tokens[20] = 15
    left = {"the token behind *": 21, "any other": 31}
    echo_figure({name: names["echo"](names["model"], tokens, place)[:160] for name, place in left.items()})


# By chapter: what draws it (a figure, or a picture that it returns), and the words for it.
REWARDS: dict[str, tuple[Callable[[Names], Picture | None], str]] = {
    "01": (moons, "the border between your moons"),
    "03a": (digits_of_03a, "digits that your library read right"),
    "03b": (digits_of_03a, "digits that your library read right"),
    "03c": (digits_of_03c, "digits that your library read right"),
    "03f": (digits_of_03f, "digits that your library read right"),
    "06a": (sentences_of_06a, "sentences, cut by your own merges"),
    "06b": (heads_of_06b, "where your attention looks, head by head"),
    "06c": (lists_of_06c, "lists that your library has sorted"),
    "07a": (answers_of_07a, "numbers from the door, as your state space remembers them"),
    "07c": (letters_of_07c, "letters that your library has picked out of noise"),
    "07d": (echoes_of_07d, "what your Mamba remembers of a token, and what it lets go"),
}
