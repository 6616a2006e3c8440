"""Sessions: where a program runs, and its variables have their values."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from minilib.dag import ancestors
from minilib.dims import Equations
from minilib.engine import Array
from minilib.graph import kinds
from minilib.graph.nodes import Node, before, by_age, graph_of
from minilib.graph.programs import Graph, get_default_graph, sessions
from minilib.graph.shapes import agree, as_array, with_sizes


def evaluate(
    wanted: Sequence[Node], values: dict[Node, Any], state: dict[Node, Array], sizes: Mapping[str, int]
) -> list[Any]:
    """The values of `wanted`, where those in `values` are given: each node that they need runs once.

    The order is that in which the nodes were made. A variable is read when it is needed, so that what was
    written behind an assignment sees the new value.
    """

    def read(node: Node) -> Any:
        return values[node] if node in values else stored(node, state)

    for node in sorted(ancestors(wanted, before, values), key=by_age):
        if not isinstance(node.f, kinds.Stored):
            values[node] = compute(node, [read(x) for x in node.inputs], state, sizes)
    return [read(node) for node in wanted]


def compute(node: Node, arrays: Sequence[Any], state: dict[Node, Array], sizes: Mapping[str, int]) -> Any:
    """What one node makes of the values of its inputs."""
    f = node.f
    if isinstance(f, kinds.Placeholder):
        raise ValueError(
            f"placeholder {node.name!r} of shape {node.shape} has no value: feed one, as in "
            f"run(fetches, {{{node.name}: ...}})"
        )
    if node.sized:
        f = copy.copy(f)
        vars(f).update(with_sizes(vars(f), sizes))
    made = f.act(state, *arrays) if isinstance(f, kinds.Effect) else f.forward(*arrays)
    f.saved = ()
    return np.asarray(made) if isinstance(made, np.generic) else made


def stored(variable: Node, state: Mapping[Node, Array]) -> Array:
    if variable not in state:
        raise RuntimeError(
            f"variable {variable.name!r} has no value in this session: "
            "run tf.global_variables_initializer() first"
        )
    return state[variable]


class Session:
    """Runs programs of a graph. Each session has its own values of the variables."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        self.graph = graph or get_default_graph()
        self.state: dict[Node, Array] = {}
        self.spares: dict[Node, Array] = {}  # second arrays of variables, which plans write into
        self.closed = False
        self.blocks = ExitStack()

    def run(
        self, fetches: Any, feed_dict: Mapping[Node, Any] | None = None, options: Any = None,
        run_metadata: Any = None,
    ) -> Any:  # fmt: skip
        """The values of `fetches`: a node, or lists, tuples and dicts of them, in the same structure.

        `feed_dict` gives values to placeholders, or to any other nodes, which then are not computed. Raises
        ValueError for a missing feed and for one that does not fit, RuntimeError for a variable without a
        value.
        """
        self.refuse_closed()
        wanted = [self.checked(one, "fetch") for one in leaves(fetches)]
        values, sizes = self.fed(feed_dict or {})
        # Copies: what the caller does to a value must not reach a constant or a variable.
        made = evaluate(wanted, values, self.state, sizes)
        found = iter([None if v is None else handed_out(np.array(v)) for v in made])
        return structured(fetches, lambda _: next(found))

    def refuse_closed(self) -> None:
        if self.closed:
            raise RuntimeError("this session is closed: open another with tf.Session()")

    def give(self, variable: Node, value: Any) -> None:
        """Set the value of a variable, without a node."""
        self.refuse_closed()
        self.state[self.checked(variable, "variable")] = kinds.fitting(
            variable, as_array(value, variable.dtype)
        )

    def as_default(self) -> Any:
        """A block in which this session is the one that `eval` asks; it stays open behind it."""
        return sessions.within(self)

    def checked(self, node: Any, role: str) -> Node:
        if isinstance(node, str):
            return self.graph.get_tensor_by_name(node)
        graph_of(f"run: a {role}", [node], self.graph)
        return node

    def fed(self, feeds: Mapping[Any, Any]) -> tuple[dict[Node, Any], dict[str, int]]:
        """The values of fed nodes as arrays, and the sizes that follow from their lengths."""
        values: dict[Node, Any] = {}
        equations = Equations()
        equations.known, equations.open = dict(self.graph.equations.known), list(self.graph.equations.open)
        if not isinstance(feeds, Mapping):
            raise TypeError(f"run: feeds are a dict of nodes and their values, not {feeds!r}")
        for key, value in feeds.items():
            node = self.checked(key, "key of feed_dict")
            told, shape = f"run: the feed of {node.name!r}", node.shape
            try:
                values[node] = as_array(value, node.dtype)
            except (TypeError, ValueError) as error:
                raise TypeError(f"{told} does not fit {node.dtype}: {error}") from None
            given = values[node].shape
            agree(equations, shape, given, f"{told} has shape {given}, expected {shape}")
        return values, {name: size for name, size in equations.known.items() if isinstance(size, int)}

    def close(self) -> None:
        """Forget all values; the session cannot be used again."""
        self.state.clear()
        self.closed = True

    def __enter__(self) -> Session:
        self.blocks.enter_context(self.graph.as_default())
        self.blocks.enter_context(sessions.within(self))
        return self

    def __exit__(self, *_: Any) -> None:
        self.blocks.close()
        self.close()


class InteractiveSession(Session):
    """A session that stands for all from now on, so that `node.eval()` works without a block."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        sessions.entered.append(self)

    def close(self) -> None:
        super().close()
        sessions.entered[:] = [session for session in sessions.entered if session is not self]


# Structures of fetches


def handed_out(value: Any) -> Any:
    """A value as the caller gets it: one number is a scalar of NumPy, which can be a key."""
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


def leaves(fetches: Any) -> list[Any]:
    found: list[Any] = []
    structured(fetches, found.append)
    return found


def structured(fetches: Any, value: Any) -> Any:
    """The same lists, tuples and dicts, with value(leaf) in the place of each leaf; keys by their names."""
    if isinstance(fetches, Mapping):
        kind: Any = type(fetches)
        found = {key: structured(fetches[key], value) for key in sorted(fetches, key=str)}
        return kind((key, found[key]) for key in fetches)
    if isinstance(fetches, list | tuple):
        parts = [structured(part, value) for part in fetches]
        return type(fetches)(*parts) if hasattr(fetches, "_fields") else type(fetches)(parts)
    return value(fetches)
