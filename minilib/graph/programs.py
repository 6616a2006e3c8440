"""Programs, and which of them is meant: graphs with their names, scopes, and sessions that are entered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from minilib.dag import ancestors
from minilib.dims import Equations

if TYPE_CHECKING:
    from minilib.graph.nodes import Node


class Graph:
    """A program: its nodes in the order in which they were written, and what is known of unknown sizes."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.variables: list[Node] = []
        self.equations = Equations()
        self.finalized = False
        self.seed: int | None = None
        self.scope = ""  # "layer/"
        self.controls: tuple[Node, ...] = ()  # what has to run before each node that is made now
        self.writing: list[Node] | None = None  # where nodes go that are no part of the program itself
        self.stale: set[Node] | None = None  # in a traced program: nodes that were written over
        self.decide: Callable[[Node], bool] | None = None  # in a traced program: what answers bool(node)
        self._taken: dict[str, int] = {}  # how often each name was asked for again

    def as_default(self) -> Any:
        """A block in which nodes are made in this graph."""
        return _default.within(self)

    def finalize(self) -> None:
        """Refuse further nodes."""
        self.finalized = True

    def get_operations(self) -> list[Node]:
        return list(self.nodes)

    def unique_name(self, name: str) -> str:
        """`name` within the current scope; `name_1`, `name_2` where it is taken."""
        if name.endswith("/"):  # what a scope is called: its result may be called the same
            return name.removesuffix("/")
        full = tried = self.scope + name
        while tried in self._taken:
            self._taken[full] += 1
            tried = f"{full}_{self._taken[full]}"
        self._taken[tried] = 0
        return tried

    def rename(self, node: Node, name: str) -> None:
        """Give a new node another name; nobody has heard of its own."""
        self._taken.pop(node.name, None)
        node.name = self.unique_name(name)

    def get_tensor_by_name(self, name: str) -> Node:
        """The node that is called so, with or without TensorFlow's ":0". Raises KeyError where none is."""
        for node in self.nodes:
            if node.name == name.removesuffix(":0"):
                return node
        raise KeyError(f"no node of this graph is called {name!r}")

    get_operation_by_name = get_tensor_by_name

    def keep(self, made_since: int, wanted: Sequence[Node]) -> None:
        """Forget the nodes from number `made_since` on that `wanted` do not need."""
        needed = ancestors(wanted, lambda node: node.inputs + node.controls)
        self.nodes[made_since:] = [node for node in self.nodes[made_since:] if node in needed]


@contextmanager
def during(graph: Graph, **settings: Any) -> Iterator[None]:
    """A block in which attributes of a graph are others: its scope, its controls, where it writes."""
    outer = {name: getattr(graph, name) for name in settings}
    vars(graph).update(settings)
    try:
        yield
    finally:
        vars(graph).update(outer)


class _Stack(threading.local):
    """The graph, or the session, that stands for all where none is named."""

    def __init__(self) -> None:
        self.entered: list[Any] = []

    @contextmanager
    def within(self, one: Any) -> Iterator[Any]:
        self.entered.append(one)
        try:
            yield one
        finally:
            self.entered.pop()


_default, sessions = _Stack(), _Stack()
_always = [Graph()]


def get_default_graph() -> Graph:
    """The graph of the innermost `as_default` block, or the one that is always there."""
    return _default.entered[-1] if _default.entered else _always[0]


def get_default_session() -> Any:
    """The session of the innermost `with` block, or None."""
    return sessions.entered[-1] if sessions.entered else None


def entered(session: Any, who: str) -> Any:
    """The session, or that of the innermost `with` block. Raises ValueError where there is none."""
    session = session or get_default_session()
    if session is None:
        raise ValueError(f"{who}: no session is open here: use `with Session():`, or session.run")
    return session


def reset_default_graph() -> None:
    """Begin with an empty graph again."""
    _always[:] = [Graph()]


@contextmanager
def name_scope(name: str | None, default_name: str | None = None, values: Any = None) -> Iterator[str]:
    """A block whose nodes are called "name/..."; entered twice, the second is "name_1/...".

    A name that ends in "/" is that of a block, which is entered again; without any, all scopes are left.
    """
    graph = get_default_graph()
    name = name or default_name
    with during(graph, scope=graph.unique_name(name) + "/" if name else ""):
        yield graph.scope
