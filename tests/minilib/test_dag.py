"""Order, ancestors, lifetimes and places in memory of any graph without circles."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minilib.dag import ancestors, consumers, lifetimes, offsets, order, peak


@dataclass(eq=False)
class Node:
    name: str
    inputs: tuple[Node, ...] = ()

    def __eq__(self, other: object) -> bool:
        raise AssertionError("nodes are told apart by what they are")

    __hash__ = object.__hash__


def names(nodes: list[Node]) -> str:
    return "".join(node.name for node in nodes)


def test_inputs_come_first_and_each_node_once() -> None:
    x = Node("x")
    f = Node("f", (x,))
    both = Node("+", (x, f))  # breadth first from the end would put x behind f
    unneeded = Node("u", (f,))
    assert names(order([both])) == "xf+"
    assert names(order([both, f, both])) == "xf+"
    assert unneeded not in ancestors([both])


def test_what_comes_before_known_nodes_is_not_asked() -> None:
    x = Node("x")
    f = Node("f", (x,))
    g = Node("g", (f,))
    assert names(order([g], known=[f])) == "g"


def test_a_chain_of_100_000_nodes_works() -> None:
    node = Node("a")
    for _ in range(100_000):
        node = Node("b", (node, node))
    assert len(order([node])) == 100_001


def test_a_circle_is_found() -> None:
    a = Node("a")
    a.inputs = (Node("b", (a,)),)
    with pytest.raises(ValueError, match="circle"):
        order([a])


def test_consumers_and_lifetimes() -> None:
    x = Node("x")
    f = Node("f", (x, x))
    g = Node("g", (f,))
    h = Node("h", (f, g))
    nodes = order([h])
    assert [names(consumers(nodes)[node]) for node in nodes] == ["ff", "gh", "h", ""]
    spans = lifetimes(nodes, [g])
    assert [spans[node] for node in nodes] == [(0, 1), (1, 3), (2, 4), (3, 3)]


SPANS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 8), st.integers(1, 50)).map(
        lambda t: (t[0], t[0] + t[1], t[2])
    ),
    min_size=1,
    max_size=25,
)


@given(SPANS)
def test_no_two_that_live_together_overlap_in_memory(drawn: list[tuple[int, int, int]]) -> None:
    spans = {i: (first, last) for i, (first, last, _) in enumerate(drawn)}
    sizes = {i: size for i, (_, _, size) in enumerate(drawn)}
    places, length = offsets(spans, sizes)
    for i, j in itertools.combinations(spans, 2):
        together = spans[i][0] <= spans[j][1] and spans[j][0] <= spans[i][1]
        apart = places[i] + sizes[i] <= places[j] or places[j] + sizes[j] <= places[i]
        assert apart or not together
    alive = [sum(sizes[i] for i, (a, b) in spans.items() if a <= step <= b) for step in range(30)]
    assert peak(spans, sizes) == max(alive) <= length <= sum(sizes.values())
    assert length == max(places[i] + sizes[i] for i in spans)


def test_5_000_arrays_are_placed_in_a_second() -> None:
    spans = {i: (i, 5000 if i % 50 == 0 else i + i % 5) for i in range(5000)}
    start = time.process_time()
    offsets(spans, {i: 64 * (1 + i % 7) for i in spans})
    assert time.process_time() - start < 2
