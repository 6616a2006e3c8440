"""Chapter 03b: a filter that moves over an image, and the gradient that comes back through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from coursekit.turns.lending import judged, tried


def judge_look(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `look` makes; one that is not right is replaced."""
    right = "right: images and filters of any size, each sum at its place"
    judged(_wrong_look(names["look"]), right, names, "look", _look)


def judge_give_back(names: dict[str, Any]) -> None:
    """Say which mistake the notebook's `give_back` makes; one that is not right is replaced."""
    right = "right: each pixel gets what all of its windows owe it"
    judged(_wrong_back(names["give_back"]), right, names, "give_back", _give_back)


def _look(image: Any, weights: Any) -> Any:
    return (sliding_window_view(image, weights.shape) * weights).sum((2, 3))


def _give_back(grad: Any, weights: Any) -> Any:
    (h, w), (high, wide) = weights.shape, grad.shape
    image = np.zeros((high + h - 1, wide + w - 1))
    for i, j in np.ndindex(h, w):
        image[i : i + high, j : j + wide] += weights[i, j] * grad
    return image


def _drawn() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(6, 7)), rng.normal(size=(3, 3))


def _wrong_look(look: Callable[..., Any]) -> str | None:
    image, weights = _drawn()
    found, trouble = tried(look, image.copy(), weights.copy())
    if trouble:
        return trouble
    want, found = _look(image, weights), np.asarray(found)
    if found.shape != want.shape:
        return f"not yet: 3 x 3 fits into 6 x 7 at 4 x 5 places, and your map has the shape {found.shape}"
    if np.allclose(found, want):
        return _of_other_sizes(look, _look, image[:5])
    if np.allclose(found, _look(image, weights[::-1, ::-1])):
        return "not yet: your filter is turned round; its upper left weight meets the upper left pixel"
    if np.allclose(found, want / 9):
        return "not yet: that is the mean of the nine products, and here it is their sum"
    if np.allclose(found, _look(image, np.ones((3, 3)))):
        return "not yet: you add up the pixels, and the weights of the filter are missing"
    at = tuple(int(i) for i in np.argwhere(~np.isclose(found, want))[0])
    return f"not yet: at place {at} the sum is {want[at]:.4f}, and yours is {found[at]:.4f}"


def _wrong_back(give_back: Callable[..., Any]) -> str | None:
    image, weights = _drawn()
    grad = np.random.default_rng(1).normal(size=(4, 5))
    found, trouble = tried(give_back, grad.copy(), weights.copy())
    if trouble:
        return trouble
    found = np.asarray(found)
    if found.shape != image.shape:
        return f"not yet: the image was 6 x 7, so its gradient is, and yours has the shape {found.shape}"
    want = _nudged(image, weights, grad)
    if np.allclose(found, want, atol=1e-6):
        return _of_other_sizes(give_back, _give_back, grad)
    if np.allclose(found, _give_back(grad, weights[::-1, ::-1]), atol=1e-6):
        return "not yet: turn the filter round. In the window that begins at a pixel it met the first weight"
    if np.allclose(found, _give_back(grad, np.ones((3, 3))), atol=1e-6):
        return "not yet: each share is the gradient of its window, times the weight that met the pixel"
    if np.allclose(found[2:4, 2:5], want[2:4, 2:5], atol=1e-6):
        return "right inside, and wrong at the border: a corner pixel lies in one window alone"
    if _overwritten(found, grad, weights):
        return "not yet: shares are overwritten. A pixel lies in several windows: add up, with +="
    at = tuple(int(i) for i in np.argwhere(~np.isclose(found, want, atol=1e-6))[0])
    return f"not yet: nudge pixel {at}, and the loss changes by {want[at]:.4f} a unit; yours: {found[at]:.4f}"


def _overwritten(found: Any, grad: Any, weights: Any) -> bool:
    """Whether the last share of each pixel is all that it has, place by place or weight by weight."""
    by_weight, by_place = np.zeros_like(found), np.zeros_like(found)
    for i, j in np.ndindex(*weights.shape):
        by_weight[i : i + grad.shape[0], j : j + grad.shape[1]] = weights[i, j] * grad
    for r, c in np.ndindex(*grad.shape):
        by_place[r : r + weights.shape[0], c : c + weights.shape[1]] = weights * grad[r, c]
    return any(np.allclose(found, one) for one in (by_weight, by_place))


def _of_other_sizes(yours: Callable[..., Any], right: Callable[..., Any], image: Any) -> str | None:
    """A filter of 2 x 4 after one of 3 x 3."""
    weights = np.random.default_rng(2).normal(size=(2, 4))
    found, trouble = tried(yours, image.copy(), weights.copy())
    want = right(image, weights)
    if trouble or np.shape(found) != want.shape or not np.allclose(found, want):
        return "right for a filter of 3 x 3, and not for one of 2 x 4: ask weights.shape for the size"
    return None


def _nudged(image: Any, weights: Any, grad: Any, h: float = 1e-6) -> Any:
    found = np.empty_like(image)
    for place in np.ndindex(*image.shape):
        up, down = image.copy(), image.copy()
        up[place] += h
        down[place] -= h
        found[place] = ((_look(up, weights) - _look(down, weights)) * grad).sum() / (2 * h)
    return found
