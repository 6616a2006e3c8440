"""Random numbers, new ones in each run."""

from __future__ import annotations

from typing import Any

from minilib.graph import kinds
from minilib.graph.functions import dtype_called, float32, named
from minilib.graph.nodes import Node, source
from minilib.graph.programs import get_default_graph
from minilib.graph.shapes import sizes

__all__ = ["random_normal", "random_uniform", "set_random_seed", "truncated_normal"]


def set_random_seed(seed: int | None) -> None:
    """What draws of this graph made from now on begin with, each with another number."""
    get_default_graph().seed = seed


def _draw(
    method: str, shape: Any, dtype: Any, seed: Any, kind: type[kinds.Draw] = kinds.Draw, **options: Any
) -> Node:
    graph = get_default_graph()
    if seed is None and graph.seed is not None:
        seed = graph.seed + len(graph.nodes)
        seed = seed if graph.writing is None else [seed, len(graph.writing)]  # within a side of a cond
    f = kind(method, sizes(shape), dtype_called(dtype), seed, options)
    return source(f, shape, dtype_called(dtype), method)


@named
def random_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Node:  # fmt: skip
    """Numbers from N(mean, stddev²), new ones in each run."""
    return _draw("normal", shape, dtype, seed, loc=mean, scale=stddev)


@named
def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Node:  # fmt: skip
    """The same within two standard deviations: what lies further out is drawn again."""
    return _draw("normal", shape, dtype, seed, kinds.Truncated) * stddev + mean


@named
def random_uniform(
    shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = float32, seed: Any = None,
    name: str | None = None,
) -> Node:  # fmt: skip
    """Numbers from U[minval, maxval), new ones in each run."""
    return _draw("uniform", shape, dtype, seed, low=minval, high=maxval)
