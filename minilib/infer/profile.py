"""What a model costs: multiplications in symbols before it runs, and seconds a node when it does."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from minilib.dims import Dim
from minilib.infer.facts import Fact
from minilib.infer.model import Graph, Node, analyse, evaluate, run_node

__all__ = ["cost", "profile", "profile_json", "total"]

SECONDS = 0.2  # of runs, about, that a profile takes
PRODUCTS = {"MatMul", "Linear", "Gemm"}
ATTENTION = {"ScaledDotProductAttention", "MultiHeadAttention"}


def cost(node: Node, facts: dict[str, Fact]) -> Any:
    """How often a node multiplies and adds (FMA): a whole number, or a size with symbols; None where unknown.

    Only products of matrices, convolutions, pools of sums and attention count, as in tract.
    """
    shapes: list[Any] = [facts[name].shape if name else None for name in node.inputs]
    made: Any = facts[node.outputs[0]].shape
    if made is None or any(n is None for shape in shapes if shape for n in shape):
        return None
    if node.op in PRODUCTS and shapes[0]:
        inner = shapes[0][0] if node.attributes.get("transA") else shapes[0][-1]
        return math.prod((*made, inner))
    if node.op == "Conv" and shapes[1]:
        return math.prod((*made, *shapes[1][1:]))
    if node.op == "ConvTranspose" and shapes[0] and shapes[1]:
        return math.prod((*shapes[0], *shapes[1][1:]))
    if node.op in ATTENTION and shapes[0] and shapes[1] and shapes[2]:
        # scores: each row of q meets each column of k; then each row of scores meets all of v
        q, v = shapes[0], shapes[2]
        return math.prod((*q, v[-2])) + math.prod((*made, v[-2]))
    if node.op == "Einsum" and all(shapes):
        terms = node.attributes["equation"].replace(" ", "").partition("->")[0].split(",")
        letters = {c: n for term, shape in zip(terms, shapes) for c, n in zip(term, shape or ())}
        return math.prod(letters.values()) if "." not in "".join(terms) else None
    return 0


def total(graph: Graph) -> Any:
    """The cost of all nodes, as far as it is known."""
    facts = graph.facts or analyse(graph)
    return sum(n for node in graph.nodes if (n := cost(node, facts)) is not None)


def profile(graph: Any, inputs: Sequence[Any] | None = None) -> list[dict[str, Any]]:
    """A row for each node: name, op, result, cost, and with `inputs` its seconds in a run, the median.

    The graph of a model, or a model that has one. Nodes run one by one, as the table of operators has them.
    """
    graph = getattr(graph, "graph", graph)
    facts = graph.facts or analyse(graph)
    rows = [
        {
            "name": node.name or node.outputs[0],
            "op": node.op,
            "result": str(facts[node.outputs[0]]),
            "cost": cost(node, facts),
        }
        for node in graph.nodes
    ]
    if inputs is not None:
        for row, taken in zip(rows, timed(graph, [np.asarray(one) for one in inputs])):
            row |= {"seconds": float(np.median(taken)), "runs": len(taken)}
    return rows


def timed(graph: Graph, arrays: list[Any]) -> list[list[float]]:
    """Seconds that each node takes, in each of some runs."""
    graph.bind(arrays)
    taken: dict[Node, list[float]] = {node: [] for node in graph.nodes}

    def run(node: Node, read: list[Any]) -> tuple[Any, ...]:
        before = time.perf_counter()
        made = run_node(node, read)
        taken[node].append(time.perf_counter() - before)
        return made

    start, turns = time.perf_counter(), 0
    while taken and (turns < 3 or time.perf_counter() - start < SECONDS):
        evaluate(graph, arrays, run)
        turns += 1
    return list(taken.values())


def profile_json(graph: Graph, inputs: Sequence[Any] | None = None) -> str:
    """The same as JSON, with tract's keys: "cost" is {"FMA(F32)": "32*B"}, where there is one."""
    rows = profile(graph, inputs)
    nodes = []
    for i, (node, row) in enumerate(zip(graph.nodes, rows)):
        kind = graph.facts[node.outputs[0]].dtype if graph.facts else None
        label = f"FMA({'F64' if kind == np.float64 else 'F32'})"
        worth = isinstance(row["cost"], Dim) or row["cost"]  # whether a symbol is 0 cannot be told
        one = {"qualified_id": [[], i], "node_name": row["name"], "op_name": row["op"]}
        one |= {"cost": {label: size_text(row["cost"])}} if worth else {}
        if "seconds" in row:
            one["secs_per_iter"] = row["seconds"]
        nodes.append(one)
    seconds, runs = (sum(row.get(key, 0) for row in rows) for key in ("seconds", "runs"))
    spent = {"iterations": runs // max(1, len(rows)), "secs_per_iter": seconds}
    return json.dumps({"nodes": nodes, "profiling_info": None if inputs is None else spent})


def size_text(size: Any) -> str:
    return str(size).replace(" ", "")
