"""Variables, which a session keeps from one run to the next, and what has to run before what."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from minilib.graph import kinds
from minilib.graph.nodes import Node, constant, graph_of, source
from minilib.graph.programs import during, entered, get_default_graph
from minilib.graph.session import leaves
from minilib.graph.shapes import agree, as_array


class Variable(Node):
    """A node that keeps its value between runs of a session; it has none before its initialiser has run."""

    def __init__(
        self, initial_value: Any, trainable: bool = True, collections: Any = None,
        validate_shape: bool = True, caching_device: Any = None, name: str | None = None,
        variable_def: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        """Of TensorFlow's options those that say where a variable lives have no meaning here.

        Without `validate_shape` it takes values of any shape.
        """
        graph = get_default_graph()
        with during(graph, controls=()):  # it runs before anything else
            value = initial_value() if callable(initial_value) else initial_value
            if not isinstance(value, Node):
                value = constant(value, dtype, name="initial_value")
            value = value if dtype is None else value.astype(dtype)
            shape = value.shape if validate_shape else None
            super().__init__(graph, kinds.Stored(), (), shape, value.dtype, name or "Variable")
            self.trainable, self.initial_value = trainable, value
            self.initializer = _assign(self, value)
        graph.variables.append(self)

    def assign(self, value: Any, use_locking: Any = None, name: str | None = None) -> Node:
        return assign(self, value, name=name)

    def assign_add(self, delta: Any, use_locking: Any = None, name: str | None = None) -> Node:
        return assign_add(self, delta, name=name)

    def assign_sub(self, delta: Any, use_locking: Any = None, name: str | None = None) -> Node:
        return assign_sub(self, delta, name=name)

    def value(self) -> Node:
        return self

    read_value = initialized_value = value

    def load(self, value: Any, session: Any = None) -> None:
        """Set the value in a session, without a node."""
        entered(session, self.name).give(self, value)


def assign(
    ref: Node, value: Any, validate_shape: Any = None, use_locking: Any = None, name: str | None = None
) -> Node:
    """A node that gives a variable a new value of its shape in the session, and has it as its own."""
    if not isinstance(ref, Variable):
        raise TypeError(f"assign: {ref!r} is no variable: only tf.Variable keeps a value")
    if not isinstance(value, Node):
        with ref.graph.as_default():
            value = constant(as_array(value, ref.dtype))
    if value.dtype != ref.dtype:
        raise TypeError(f"assign: {value.dtype} into {ref.name}, which is {ref.dtype}: use tf.cast")
    agree(ref.graph.equations, value.shape, ref.shape, kinds.misfit(ref, value.shape))
    return _assign(ref, value, name)


def _assign(ref: Node, value: Node, name: str | None = None) -> Node:
    name = name or f"{ref.name.split('/')[-1]}/Assign"
    return Node(ref.graph, kinds.Assign(ref), (value,), ref.shape, ref.dtype, name)


def assign_add(ref: Node, value: Any, use_locking: Any = None, name: str | None = None) -> Node:
    """A node that adds to a variable in the session."""
    return assign(ref, ref + value, name=name)


def assign_sub(ref: Node, value: Any, use_locking: Any = None, name: str | None = None) -> Node:
    """A node that subtracts from a variable in the session."""
    return assign(ref, ref - value, name=name)


def control_dependencies(inputs: Sequence[Node] | None) -> AbstractContextManager[None]:
    """A block whose nodes run behind all of `inputs`, also where they do not need their values.

    With None they wait for nothing, also not for what a block around it names.
    """
    graph = get_default_graph()
    graph_of("control_dependencies", inputs or (), graph)
    return during(graph, controls=() if inputs is None else (*graph.controls, *inputs))


def group(*inputs: Any, name: str = "group_deps") -> Node:
    """A node without a value, behind all of `inputs`: nodes, and lists of them."""
    graph = graph_of("group", nodes := leaves(inputs), get_default_graph())
    with during(graph, controls=(*graph.controls, *nodes)):
        return source(kinds.Nothing(), (), bool, name)


def no_op(name: str = "NoOp") -> Node:
    return group(name=name)


def global_variables() -> list[Node]:
    return list(get_default_graph().variables)


def trainable_variables() -> list[Node]:
    return [v for v in get_default_graph().variables if isinstance(v, Variable) and v.trainable]


def global_variables_initializer() -> Node:
    """A node that gives all variables of the graph made so far their initial values."""
    return variables_initializer(global_variables(), "init")


def variables_initializer(variables: Sequence[Any], name: str = "init") -> Node:
    return group(*[v.initializer for v in variables], name=name)
