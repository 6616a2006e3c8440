"""Programs as graphs without circles: in what order, who is needed, who is alive when, and where in memory.

Taught in chapters/09a_sessions.ipynb, chapters/09c_passes.ipynb and solutions/09c_passes.ipynb: what they
export is edited there, then `make promote`.

A node is anything with `inputs`, in which the nodes are that have to come before it. Nodes are told apart by
what they are, never by `==`: a node of `minilib.graph` answers that with a node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

__all__ = ["ancestors", "consumers", "lifetimes", "offsets", "order", "peak"]

N = TypeVar("N", bound=Hashable)


def inputs_of(node: Any) -> Iterable[Any]:
    return node.inputs


def order(
    wanted: Iterable[N], inputs: Callable[[Any], Iterable[Any]] = inputs_of, known: Collection[N] = ()
) -> list[N]:
    """All nodes that `wanted` need, each once and behind its inputs. What comes before `known` is not asked.

    Depth first, without recursion: a chain of 100,000 nodes works. Raises ValueError for a circle.
    """
    done: dict[N, bool] = dict.fromkeys(known, True)  # False: its inputs are being looked at
    found: list[N] = []
    stack = [(node, False) for node in reversed(list(wanted))]
    while stack:
        node, ready = stack.pop()
        if ready:
            done[node] = True
            found.append(node)
        elif node not in done:
            done[node] = False
            stack.append((node, True))  # it comes again, when all before it are done
            before = list(inputs(node))
            if any(done.get(other) is False for other in before):
                raise ValueError("a circle: a node needs its own result")
            stack += [(other, False) for other in reversed(before)]
    return found


def ancestors(
    wanted: Iterable[N], inputs: Callable[[Any], Iterable[Any]] = inputs_of, known: Collection[N] = ()
) -> set[N]:
    """All nodes that `wanted` need, themselves among them. What comes before `known` is not asked."""
    stack, known, found = list(wanted), set(known), set[N]()  # sets: `in` a list would ask ==
    while stack:
        node = stack.pop()
        if node not in known and node not in found:
            found.add(node)
            stack += inputs(node)
    return found


def consumers(nodes: Iterable[N], inputs: Callable[[Any], Iterable[Any]] = inputs_of) -> dict[N, list[N]]:
    """For each of the nodes, which of them it is an input of; twice where it is twice."""
    listed = list(nodes)
    found: dict[N, list[N]] = {node: [] for node in listed}
    for node in listed:
        for other in inputs(node):
            if other in found:
                found[other].append(node)
    return found


def lifetimes(
    nodes: Sequence[N], wanted: Iterable[N] = (), inputs: Callable[[Any], Iterable[Any]] = inputs_of
) -> dict[N, tuple[int, int]]:
    """When each node of a program in order is made, and when it is read last; `wanted` live to the end."""
    spans = {node: (step, step) for step, node in enumerate(nodes)}
    for step, node in enumerate(nodes):
        for other in inputs(node):
            if other in spans:
                spans[other] = spans[other][0], step
    for node in wanted:
        if node in spans:
            spans[node] = spans[node][0], len(nodes)
    return spans


def peak(spans: Mapping[N, tuple[int, int]], sizes: Mapping[N, int]) -> int:
    """The largest sum of sizes that are alive at one time: no memory plan needs less."""
    changes: dict[int, int] = {}
    for node, (first, last) in spans.items():
        changes[first] = changes.get(first, 0) + sizes[node]
        changes[last + 1] = changes.get(last + 1, 0) - sizes[node]
    most = now = 0
    for step in sorted(changes):
        now += changes[step]
        most = max(most, now)
    return most


def offsets(spans: Mapping[N, tuple[int, int]], sizes: Mapping[N, int]) -> tuple[dict[N, int], int]:
    """Where in one block of memory each node lies, so that no two which are alive together overlap.

    Returns the places, and how long the block is: the shortest of three, in which the largest go first, or
    those that are large for long, or the oldest. (The best plan of all is NP-hard to find: it is bin packing
    with time.)
    """
    keys: list[Callable[[N], int]] = [
        lambda node: -sizes[node],
        lambda node: -sizes[node] * (spans[node][1] - spans[node][0] + 1),
        lambda node: spans[node][0],
    ]
    beside = _beside(spans)
    plans = [_placed(sorted(spans, key=key), beside, sizes) for key in keys]
    return min(plans, key=lambda plan: plan[1])


def _beside(spans: Mapping[N, tuple[int, int]]) -> dict[N, list[N]]:
    """For each node all others that live while it does: of 5,000 in a row each meets only a few."""
    found: dict[N, list[N]] = {node: [] for node in spans}
    alive: list[N] = []
    for node in sorted(spans, key=lambda one: spans[one][0]):
        alive = [other for other in alive if spans[other][1] >= spans[node][0]]
        for other in alive:
            found[other].append(node)
            found[node].append(other)
        alive.append(node)
    return found


def _placed(
    nodes: Iterable[N], beside: Mapping[N, list[N]], sizes: Mapping[N, int]
) -> tuple[dict[N, int], int]:
    """Each node, in this order, at the lowest place that is free while it lives."""
    placed: dict[N, int] = {}
    for node in nodes:
        at = 0
        for other in sorted(filter(placed.__contains__, beside[node]), key=placed.__getitem__):
            if placed[other] < at + sizes[node]:
                at = max(at, placed[other] + sizes[other])
        placed[node] = at
    return placed, max((at + sizes[node] for node, at in placed.items()), default=0)
