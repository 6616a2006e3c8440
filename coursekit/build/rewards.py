"""What a learner gets to see for it: a picture of what the milestone has trained on their own library.

The milestone's script calls `reward` at its end, in the process that uses the library of `mine/`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Names = Mapping[str, Any]  # what the milestone has defined
MOST_DIGITS = 48


def reward(names: Names, script: str) -> None:
    """Draw the picture of the milestone `script` beside it, and say where it is."""
    path = Path(script).with_suffix(".png")
    draw, words = REWARDS[path.stem.removeprefix("milestone_")]
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that Agg shows nothing
        draw(names)
    plt.savefig(path, dpi=120, bbox_inches="tight")
    print(f"{words}: {path.parent.name}/{path.name}")


def moons(names: Names) -> None:
    """The border that the network of chapter 01 has found."""
    from coursekit.pictures import draw_border

    u, v = np.linspace(-1.6, 2.6, 36), np.linspace(-1.2, 1.7, 26)
    scores = [[names["model"]([float(x), float(y)]).data for x in u] for y in v]
    draw_border(u, v, scores, names["X"], names["y"], title="The border that your library found")


def digits_of_03a(names: Names) -> None:
    right = names["right"]
    _draw(names["shuffled"][1437:][right], names["labels"][1437:][right])


def digits_of_03b(names: Names) -> None:
    images, labels = names["images"], names["labels"]
    right = (names["teacher"](images).argmax(1) == labels).numpy()
    _draw(images.numpy()[right], labels.numpy()[right])


def digits_of_03d(names: Names) -> None:
    model = names["model"].eval()
    images, labels, right = [], [], []
    for batch, targets in names["tested"]:
        images.append(batch.numpy())
        labels.append(targets.numpy())
        right.append((model(batch).argmax(-1) == targets).numpy())
    chosen = np.concatenate(right)
    _draw(np.concatenate(images)[chosen], np.concatenate(labels)[chosen])


def _draw(images: Any, labels: Any) -> None:
    """Digits that were read right, in full rows of 12, each below its label."""
    from coursekit.pictures import draw_digits

    count = min(len(images), MOST_DIGITS) // 12 * 12
    if count:
        draw_digits(list(images[:count]), [int(label) for label in labels[:count]])


# By chapter: what draws it, and the words for it.
REWARDS: dict[str, tuple[Callable[[Names], None], str]] = {
    "01": (moons, "the border between your moons"),
    "03a": (digits_of_03a, "digits that your library read right"),
    "03b": (digits_of_03b, "digits that your library read right"),
    "03d": (digits_of_03d, "digits that your library read right"),
}
