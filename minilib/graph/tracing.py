"""Models as graphs: a function of tensors runs once on nodes, and what it did is a program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from minilib.dims import Dim, symbol
from minilib.engine import TENSORS, Array, leaf_of
from minilib.graph import kinds
from minilib.graph.nodes import Node, make, source
from minilib.graph.onnx import save_onnx
from minilib.graph.passes import frozen
from minilib.graph.plan import Plan, compile
from minilib.graph.programs import Graph
from minilib.graph.session import Session, evaluate, leaves, structured
from minilib.graph.shapes import Shape, has_sizes
from minilib.graph.variables import Variable, assign, group

__all__ = ["Program", "trace"]

DRAWN = (
    "a number that was drawn, or read off an array, does not belong to the program (switch dropout off, or "
    "give the number as an input)"
)
LENGTHS = (2, 3, 5)  # of the batch in three traces: what grows with them is a size


def trace(function: Callable[..., Any], *examples: Any, batch: bool = True) -> Program:
    """The program of function(*examples): a model, or a function of tensors that uses models.

    `examples` are arrays or tensors. With `batch` the program takes any length where the first axis of an
    example is as long as the first example's: it is traced at three lengths, and what grows with them becomes
    a size. Raises ValueError where the traces differ otherwise: a number that was drawn or read is not in a
    program. The truth of a condition is that of the examples, and each run checks that it still holds. What
    is detached, or computed within no_grad, counts as a constant for gradients.
    """
    arrays = [np.asarray(x.data if is_tensor(x) else x) for x in examples]
    batch = batch and bool(arrays) and arrays[0].ndim > 0
    long = [batch and x.ndim > 0 and len(x) == len(arrays[0]) for x in arrays]
    traces = []
    for n in LENGTHS if batch else LENGTHS[:2]:
        fitted = [np.resize(x, (n, *x.shape[1:])) if grows else x for x, grows in zip(arrays, long)]
        traces.append(_once(function, fitted))
    return generalised(traces)


class Program:
    """A traced function: `run(*arrays)` does what it did.

    `graph`, `inputs` and `outputs` are there for `gradients` and optimisers; `session` holds the values of
    the model's parameters, and `write_back()` brings them into the model.
    """

    def __init__(
        self, graph: Graph, inputs: list[Node], outputs: Any, updates: list[Node], parameters: Any
    ) -> None:
        self.graph, self.inputs, self.outputs, self.updates = graph, inputs, outputs, updates
        self.parameters: dict[Node, Any] = parameters
        self.session = Session(graph=graph)
        self.read_model()
        self.plan: Plan | None = None

    def read_model(self) -> None:
        """Copy the values that the tensors of the model have into the session."""
        for variable, tensor in self.parameters.items():
            self.session.state[variable] = tensor.data.copy()

    def run(self, *arrays: Any) -> Any:
        """The outputs for these inputs, as arrays; parameters that the function changed are changed again."""
        if self.plan is None:
            self.plan = compile([self.made(), self.updates], self.inputs)
        found = iter(self.plan.run(*arrays, session=self.session)[0])
        if self.updates:
            self.write_back()
        return structured(self.outputs, lambda node: None if node is None else next(found))

    def made(self) -> list[Node]:
        """The outputs that are nodes: a model may return None, as a loss without targets."""
        return [node for node in leaves(self.outputs) if node is not None]

    def save_onnx(self, path: str | Path) -> None:
        """Write the outputs' program, with the values that the session has, as an ONNX file.

        Raises ValueError for an operation that has no translation.
        """
        save_onnx(path, self.inputs, self.made(), self.session.state)

    def write_back(self) -> None:
        """Copy the values that the session has into the tensors of the model."""
        for variable, tensor in self.parameters.items():
            tensor.data[...] = self.session.state[variable]


def _once(function: Callable[..., Any], arrays: Sequence[Array]) -> Program:
    """Run the function on placeholders; its parameters are variables for as long."""
    tensors = dict(parameters_of(function))
    kept = {name: (tensor.data, tensor._grad) for name, tensor in tensors.items()}
    graph = Graph()
    graph.stale = set()
    with graph.as_default():
        inputs = [source(kinds.Placeholder(), x.shape, x.dtype, f"input_{i}") for i, x in enumerate(arrays)]
        variables = {
            name: Variable(array, tensors[name].requires_grad, name=name) for name, (array, _) in kept.items()
        }
        reads = {name: make(kinds.Identity(), variable) for name, variable in variables.items()}
        guards: list[Node] = []
        values: dict[Node, Array] = {variables[name]: array for name, (array, _) in kept.items()}
        graph.decide = partial(_decide, guards, dict(zip(inputs, arrays)), values)
        detached: list[Any] = [(kind, kind.detach) for kind in TENSORS]
        try:
            for kind, _ in detached:
                kind.detach = lambda x: leaf_of(make(kinds.Stop(), x.data))
            for name, tensor in tensors.items():
                tensor.data, tensor._grad = reads[name], None
            made = function(*(map(leaf_of, inputs) if TENSORS else inputs))
            outputs = structured(made, _node_of)
            updates = [
                assign(variables[name], tensor.data)
                for name, tensor in tensors.items()
                if tensor.data is not reads[name]
            ]
        except AttributeError as error:
            if TENSORS:
                raise
            raise AttributeError(f"trace: {error}; import minilib.tensor for functions of tensors") from None
        finally:
            for name, tensor in tensors.items():
                tensor.data, tensor._grad = kept[name]
            for kind, detach in detached:
                kind.detach = detach
        graph.stale = graph.decide = None
        updates = [*updates, *([group(*guards, name="guards")] if guards else [])]
    return Program(graph, inputs, outputs, updates, {variables[name]: tensors[name] for name in tensors})


def is_tensor(x: Any) -> bool:
    return isinstance(x, tuple(TENSORS))  # none where nobody has imported minilib.tensor


def _node_of(x: Any) -> Any:
    if is_tensor(x):
        x = x.data
    return x if isinstance(x, Node) or x is None else make(kinds.Identity(), x)


def _decide(guards: list[Node], values: dict[Node, Array], state: dict[Node, Array], node: Node) -> bool:
    """The truth of a node for the examples; the program checks it in each run."""
    (value,) = evaluate([node], dict(values), dict(state), {})
    if node.size != 1:
        raise ValueError(f"{node.name}, of shape {node.shape}, is not one truth: use .all() or .any()")
    of = f"{node.type} of {', '.join(x.name for x in node.inputs)}"
    guards.append(Node(node.graph, kinds.Guard(bool(value), of), (node,), Shape(()), node.dtype, "guard"))
    return bool(value)


# Parameters


def parameters_of(function: Any) -> Iterator[tuple[str, Any]]:
    """The tensors that a function can reach, with names: of modules in its closure, globals and arguments."""
    seen: set[int] = set()
    for name, tensor in _tensors_in(function, "", set()):
        if id(tensor) not in seen and tensor.data is not None:
            seen.add(id(tensor))
            yield name or f"tensor_{len(seen)}", tensor


def _tensors_in(thing: Any, name: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if is_tensor(thing):
        yield name, thing
    elif hasattr(thing, "named_parameters"):
        yield from thing.named_parameters()
        yield from thing.named_buffers()
    elif isinstance(thing, partial):
        for part in (thing.func, *thing.args, *thing.keywords.values()):
            yield from _tensors_in(part, name, seen)
    elif inspect.ismethod(thing):
        for part in (thing.__self__, thing.__func__):
            yield from _tensors_in(part, name, seen)
    elif inspect.isfunction(thing):
        found = inspect.getclosurevars(thing)
        for key, part in {**found.nonlocals, **found.globals}.items():
            if not inspect.ismodule(part) and not inspect.isclass(part):
                yield from _tensors_in(part, key, seen)
    elif isinstance(thing, list | tuple | dict):
        for i, part in thing.items() if isinstance(thing, dict) else enumerate(thing):
            yield from _tensors_in(part, f"{name}.{i}", seen)


# Any batch through one program


def generalised(traces: Sequence[Program]) -> Program:
    """The first of the traces, with a size in the place of each number that grows with the batch."""
    first = traces[0]
    rows = [program.graph.nodes for program in traces]
    if len({len(nodes) for nodes in rows}) > 1:
        raise ValueError(f"trace: the program has {[len(nodes) for nodes in rows]} nodes at {LENGTHS} rows")
    numbers = [{node: i for i, node in enumerate(nodes)} for nodes in rows]
    for same in zip(*rows):
        node = same[0]
        wired = {tuple(number[x] for x in n.inputs) for n, number in zip(same, numbers)}
        if len({type(n.f) for n in same}) > 1 or len(wired) > 1:
            raise ValueError(f"trace: {node.name} is another operation for another batch")
        if node.known_shape is not None:
            node.known_shape = Shape(_sizes(node, [n.known_shape for n in same]))
        if isinstance(node.f, kinds.Fused) and len({frozen(vars(n.f.f)) for n in same}) > 1:
            raise ValueError(f"trace: {node.name} differs from trace to trace: {DRAWN}")
        if isinstance(node.f, kinds.Constant):
            _generalise_constant(node, [n.f.value for n in same])
        else:
            for name, value in vars(node.f).items():
                own = isinstance(value, bool) or name in ("inputs", "saved", "keeps", "needs_grad")
                if isinstance(value, int | tuple | list | slice) and not own:
                    vars(node.f)[name] = _sizes(node, [vars(n.f)[name] for n in same])
        node.sized = has_sizes(vars(node.f))
    return first


def _sizes(node: Node, values: Sequence[Any]) -> Any:
    """What three values have in common: themselves, or a size that grows as they do."""
    one = values[0]
    if isinstance(one, tuple | list) and len({len(v) for v in values}) == 1:
        return tuple(_sizes(node, part) for part in zip(*values))
    if isinstance(one, slice):
        return slice(*(_sizes(node, [getattr(v, end) for v in values]) for end in ("start", "stop", "step")))
    if all(type(v) is type(one) and v == one for v in values):
        return one
    if len(values) == len(LENGTHS) and all(isinstance(v, int | np.integer) for v in values):
        slope, rest = divmod(int(values[1]) - int(one), LENGTHS[1] - LENGTHS[0])
        start = int(one) - slope * LENGTHS[0]
        if not rest and all(v == slope * n + start for v, n in zip(values, LENGTHS)):
            return slope * symbol("N") + start
    raise ValueError(f"trace: {node.name} holds {values}, which do not grow with the batch {LENGTHS}")


def _generalise_constant(node: Node, values: Sequence[Array]) -> None:
    if all(np.array_equal(values[0], v, equal_nan=v.dtype.kind == "f") for v in values):
        return
    shape = _sizes(node, [v.shape for v in values])
    numbers = {v.reshape(-1)[0].item() for v in values if v.size and (v == v.reshape(-1)[0]).all()}
    if any(isinstance(n, Dim) for n in shape) and len(numbers) == 1:
        node.f = kinds.Fill(shape, numbers.pop(), values[0].dtype)
    elif all(v.ndim == 0 and float(v).is_integer() for v in values):
        node.f = kinds.SizeOf(_sizes(node, [int(v) for v in values]), values[0].dtype)
    else:
        raise ValueError(
            f"trace: {node.name}, a constant of shape {shape}, differs from trace to trace: {DRAWN}"
        )
