"""A graph that is wrong is drawn: the reader's own, never the expected one."""

from __future__ import annotations

from typing import Any

import pytest

from coursekit.box.probe import encode
from coursekit.grading.graphs import picture, wrong_graph
from coursekit.grading.model import Probe

RIGHT = [[2.0, "", []], [3.0, "", []], [6.0, "*", [0, 1]], [8.0, "+", [2, 0]]]
WRONG = [[2.0, "", []], [3.0, "", []], [5.0, "+", [0, 1]], [10.0, "*", [2, 0]]]


def both(want: Any, have: Any, name: str = "graph") -> list[tuple[Probe, Probe]]:
    return [(Probe(name, encode(want)), Probe(name, encode(have)))]


def test_the_smallest_wrong_graph_is_drawn_and_marked() -> None:
    large = [[float(i), "", []] for i in range(9)]
    graph = wrong_graph([*both(large, large, "large"), *both(RIGHT, WRONG)])
    assert graph and (graph.probe, graph.marked) == ("graph", {2, 3})
    shown = picture(graph)
    assert "data:image/png;base64," in shown and "4 nodes, 2 of them" in shown


def test_where_other_graphs_are_right_too_nothing_is_marked() -> None:
    graph = wrong_graph(both(RIGHT, WRONG), free=True)
    assert graph and not graph.marked


@pytest.mark.parametrize(
    "have",
    [
        3,
        [[1.0, "+", [0]]] * 2,
        [[1.0, "", []], [2.0, "+", [7]]],
        "text",
        [[[], "", []]] * 3,
        WRONG * 20,
        None,
    ],
)
def test_what_is_no_graph_is_not_drawn(have: Any) -> None:
    assert wrong_graph(both(RIGHT, have)) is None


def test_forged_data_breaks_nothing() -> None:
    forged: Any = {"list": [{"list": [{"float": "x"}, "", {"list": []}]}] * 2}
    assert wrong_graph([(Probe("graph", encode(RIGHT)), Probe("graph", forged))]) is None


def test_a_name_cannot_bring_markup() -> None:
    graph = wrong_graph(both(RIGHT, [[2.0, "<b>", []], [2.0, "<img onerror=x>", [0]]], "<script>"))
    assert graph and "<script>" not in picture(graph) and "onerror" not in picture(graph)
