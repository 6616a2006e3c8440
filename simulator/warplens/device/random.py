"""`cp.random` of the stand-in: CuPy's functions, drawn by NumPy. The numbers differ from CuPy's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

Upload = Callable[[Any], Any]  # a NumPy array to the device
Size = int | tuple[int, ...] | None


class Draw:
    """What one stream of random numbers gives. It has the methods of CuPy's Generator."""

    def __init__(self, upload: Upload, seed: Any = None) -> None:
        self._upload = upload
        self._seed = seed

    @cached_property
    def _numbers(self) -> np.random.Generator:
        return np.random.default_rng(self._seed)  # at first use: to import numpy.random takes a while

    def random(self, size: Size = None, dtype: Any = float) -> Any:
        """Evenly from [0, 1)."""
        return self._upload(np.asarray(self._numbers.random(size, np.dtype(dtype))))

    def standard_normal(self, size: Size = None, dtype: Any = float) -> Any:
        return self._upload(np.asarray(self._numbers.standard_normal(size, np.dtype(dtype))))

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Size = None, dtype: Any = float) -> Any:
        """Evenly from [low, high)."""
        return self._upload(np.asarray(self._numbers.uniform(low, high, size), dtype))

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Any:
        """Evenly from [low, high), or from [0, low)."""
        return self._upload(np.asarray(self._numbers.integers(low, high, size, dtype, endpoint)))

    def exponential(self, scale: float = 1.0, size: Size = None) -> Any:
        return self._upload(np.asarray(self._numbers.exponential(scale, size)))


def make_random(upload: Upload) -> SimpleNamespace:
    """The namespace `cp.random`, with a stream of its own that `seed` starts anew."""
    one = [Draw(upload)]

    def numbers() -> np.random.Generator:
        return one[0]._numbers

    def seed(seed: Any = None) -> None:
        """Start the stream of this namespace anew."""
        one[0] = Draw(upload, seed)

    def default_rng(seed: Any = None) -> Draw:
        """A stream of its own."""
        return Draw(upload, seed)

    def random(size: Size = None, dtype: Any = float) -> Any:
        """Evenly from [0, 1)."""
        return one[0].random(size, dtype)

    def rand(*size: int, dtype: Any = float) -> Any:
        """Evenly from [0, 1), with the lengths of the axes as arguments."""
        return one[0].random(size, dtype)

    def randn(*size: int, dtype: Any = float) -> Any:
        """From the normal distribution, with the lengths of the axes as arguments."""
        return one[0].standard_normal(size, dtype)

    def standard_normal(size: Size = None, dtype: Any = float) -> Any:
        return one[0].standard_normal(size, dtype)

    def normal(loc: float = 0.0, scale: float = 1.0, size: Size = None, dtype: Any = float) -> Any:
        return upload(np.asarray(numbers().normal(loc, scale, size), dtype))

    def uniform(low: float = 0.0, high: float = 1.0, size: Size = None, dtype: Any = float) -> Any:
        """Evenly from [low, high)."""
        return one[0].uniform(low, high, size, dtype)

    def randint(low: int, high: int | None = None, size: Size = None, dtype: Any = "l") -> Any:
        """Evenly from [low, high), or from [0, low)."""
        return one[0].integers(low, high, size, np.dtype(dtype))

    def permutation(a: Any) -> Any:
        """The rows of an array, or 0 to a - 1, in random order."""
        order = numbers().permutation(a if isinstance(a, int) else len(a))
        return upload(order) if isinstance(a, int) else a[upload(order)]

    def shuffle(a: Any) -> None:
        """Change the order of the rows in place."""
        a[...] = permutation(a)

    def choice(a: Any, size: Size = None, replace: bool = True, p: Any = None) -> Any:
        """Elements of an array with one axis, or of 0 to a - 1; `p` are their probabilities."""
        weights = p.get() if hasattr(p, "get") else p
        index = upload(
            np.asarray(numbers().choice(a if isinstance(a, int) else len(a), size, replace, weights))
        )
        return index if isinstance(a, int) else a[index]

    functions = (
        seed, rand, randn, random, standard_normal, normal, uniform, randint, permutation, shuffle, choice,
        default_rng,
    )  # fmt: skip
    names: dict[str, Any] = {function.__name__: function for function in functions}
    return SimpleNamespace(**names, random_sample=random, Generator=Draw)
