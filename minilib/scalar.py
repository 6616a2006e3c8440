"""Scalars that know their derivative, and the neural networks that one can build of them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

Inputs = Sequence["Value"]
Slopes = Sequence[float]

# A number that remembers


class Value:
    """A number, its gradient, and the operation that made it.

    `Value(data)` is a leaf. An operation may make its result as chapter 01 does, with a tuple of `inputs` and
    one of the `derivatives` of `data` with respect to them; those here call `node`, which is quicker.

    `op` is "" for a leaf. `a` and `b` are the inputs (None where there is none),
    `da` and `db` the derivatives of `data` with respect to them. `grad` is the derivative of the value that
    `backward` was called on. Raises TypeError for what is not one real number.
    """

    __slots__ = ("a", "b", "da", "data", "db", "grad", "op")

    rest: tuple[Value, ...] = ()  # inputs beyond the second, and their derivatives: see Wide
    d_rest: tuple[float, ...] = ()
    __array_ufunc__ = None  # NumPy, leave `array * value` to us

    def __new__(cls, *args: Any, **named: Any) -> Value:
        (inputs,) = args[2:3] or (named.get("inputs", ()),)
        if cls is Value and not isinstance(inputs, (tuple, list)):  # one of your own may be made otherwise
            raise _no_tuple(args[1] if len(args) > 1 else named.get("op", ""), "inputs", inputs)
        return _new(Wide if cls is Value and len(inputs) > 2 else cls)

    def __init__(self, data: float, op: str = "", inputs: Inputs = (), derivatives: Slopes = ()) -> None:
        self.data = number(data)
        self.grad: float = 0  # nothing has been told to it yet
        self.op = op
        self.a: Value | None = None
        self.b: Value | None = None
        self.da = self.db = 0.0  # two slots instead of a list: most operations have one or two inputs
        if inputs:
            self._keep(inputs, derivatives)

    def _keep(self, inputs: Inputs, derivatives: Slopes) -> None:
        if not isinstance(derivatives, (tuple, list)):
            raise _no_tuple(self.op, "derivatives", derivatives)
        if len(inputs) != len(derivatives):
            raise ValueError(f"{self.op}: got {len(inputs)} inputs and {len(derivatives)} derivatives")
        self.a, self.da = inputs[0], derivatives[0]
        if len(inputs) > 1:
            self.b, self.db = inputs[1], derivatives[1]
        if isinstance(self, Wide):
            self.rest, self.d_rest = tuple(inputs[2:]), tuple(derivatives[2:])

    def __repr__(self) -> str:
        return f"Value(data={self.data}, grad={self.grad})"

    # Arithmetic

    def __add__(self, other: Value | float) -> Value:
        if not isinstance(other, Value):
            other = Value(other)
        return node(self.data + other.data, "+", self, 1.0, other, 1.0)  # d(a + b)/da = d(a + b)/db = 1

    def __radd__(self, other: float) -> Value:
        return self + other

    def __sub__(self, other: Value | float) -> Value:
        return self + (-other)

    def __rsub__(self, other: float) -> Value:
        return -self + other

    def __mul__(self, other: Value | float) -> Value:
        if not isinstance(other, Value):
            other = Value(other)
        # D(ab)/da = b, d(ab)/db = a.
        return node(self.data * other.data, "*", self, other.data, other, self.data)

    def __rmul__(self, other: float) -> Value:
        return self * other

    def __truediv__(self, other: Value | float) -> Value:
        return self * other**-1  # a product and a power know their derivatives already

    def __rtruediv__(self, other: float) -> Value:
        return self**-1 * other

    def __neg__(self) -> Value:
        return self * -1

    # Powers, exponentials and logarithms

    def __pow__(self, other: Value | float) -> Value:
        """x**n. Raises ValueError for a negative x with a fractional n, ZeroDivisionError for 0**-1."""
        x, n = self.data, other.data if isinstance(other, Value) else number(other)
        if x < 0 and n != math.floor(n):
            raise ValueError(
                f"power: {x} ** {n} is not a real number; a negative base needs a whole exponent"
            )
        power = x**n
        steep = x == 0 and 0 < n < 1  # 0 ** (n - 1) would divide by 0: the tangent is vertical
        slope = math.inf if steep else n * x ** (n - 1) if n else 0.0  # x ** 0 is constant, also at 0
        if not isinstance(other, Value):
            return node(power, f"**{n}", self, slope)
        if x > 0:
            return node(power, "**", self, slope, other, power * math.log(x))
        return node(power, "**", self, slope, other, 0.0 if x == 0 else math.nan)

    def __rpow__(self, other: float) -> Value:
        return Value(other) ** self

    def exp(self) -> Value:
        """e**x. Raises OverflowError above 709.78, where a float ends."""
        e = math.exp(self.data)  # its own derivative, so it is worked out once
        return node(e, "exp", self, e)

    def log(self) -> Value:
        """Natural logarithm. Raises ValueError for a number that is not positive."""
        if self.data <= 0:
            raise ValueError(f"log: expected a positive number, got {self.data}")
        return node(math.log(self.data), "log", self, 1 / self.data)

    # Activations

    def tanh(self) -> Value:
        """Hyperbolic tangent; derivative 1 - tanh(x)**2."""
        t = math.tanh(self.data)
        return node(t, "tanh", self, 1 - t * t)  # by the result, which spares a second tanh

    def relu(self) -> Value:
        """max(x, 0). The derivative at 0 is 0, as in PyTorch."""
        x = self.data
        return node(0.0 if x <= 0 else x, "ReLU", self, 1.0 if x > 0 else 0.0)  # `x <= 0` lets nan through

    # Comparisons

    def __lt__(self, other: Value | float) -> bool:
        return self.data < (other.data if isinstance(other, Value) else other)

    def __le__(self, other: Value | float) -> bool:
        return self.data <= (other.data if isinstance(other, Value) else other)

    def __gt__(self, other: Value | float) -> bool:
        return self.data > (other.data if isinstance(other, Value) else other)

    def __ge__(self, other: Value | float) -> bool:
        return self.data >= (other.data if isinstance(other, Value) else other)

    # Gradients

    def backward(self) -> None:
        """Set the `grad` of every value that this one was computed from to the derivative with respect to it.

        Gradients of leaves accumulate over calls until they are reset to 0; those of operations start afresh,
        as in PyTorch with `retain_graph=True`.
        """
        order = topological_order(self)  # sets the gradients of all operations to 0
        self.grad = 1.0  # the derivative of a value with respect to itself
        value: Any  # what stands in the order has an input: no check for None is needed
        for value in reversed(order):
            grad = value.grad
            value.a.grad += value.da * grad  # the chain rule; += since a value may be used more than once
            if value.b is not None:
                value.b.grad += value.db * grad
            if value.rest:
                for i, derivative in zip(value.rest, value.d_rest):
                    i.grad += derivative * grad

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The operands of the operation, twice if used twice; `()` for a leaf."""
        return tuple(v for v in (self.a, self.b) if v is not None) + self.rest

    @property
    def derivatives(self) -> tuple[float, ...]:
        """The derivative of this value with respect to each of `inputs`."""
        if self.a is None:
            return ()
        return ((self.da,) if self.b is None else (self.da, self.db)) + self.d_rest

    # The graph by micrograd's names

    @property
    def _prev(self) -> set[Value]:
        return set(self.inputs)

    @property
    def _op(self) -> str:
        return self.op


# `Value(data)` would check a number that our own arithmetic has made, again at each operation.
_new = object.__new__


def node(data: float, op: str, a: Value, da: float, b: Value | None = None, db: float = 0.0) -> Value:
    """The result of `op` on `a` (and `b`), with the derivative of the result with respect to each."""
    made: Value = _new(Value)
    made.data = data
    made.grad = 0
    made.op = op
    made.a = a
    made.da = da
    made.b = b
    made.db = db
    return made


def number(x: float) -> float:
    """`x` as a Python int or float. Raises TypeError, with what it was, for anything else."""
    kind = type(x)
    if kind is float or kind is int:  # the common case first: isinstance is slower, and lets bool through
        return x
    if isinstance(x, (int, float)):
        return float(x)
    if getattr(x, "shape", None) == () and isinstance(getattr(x, "item", lambda: None)(), (int, float)):
        return float(x)
    shape = f" of shape {tuple(x.shape)}; make one Value per element" if hasattr(x, "shape") else ""
    raise TypeError(f"Value: expected one real number, got {kind.__name__}{shape}")


def _no_tuple(op: str, what: str, got: object) -> TypeError:
    """What to say where one input, or one derivative, was handed over without the tuple around it."""
    return TypeError(f"{op}: expected {what} in a tuple, as in (x,) for one alone; got {type(got).__name__}")


# The order of the way back


def topological_order(root: Value) -> list[Value]:
    """The operations that `root` was computed by, each after its inputs, without the leaves.

    Iterative, so that depth is limited by memory alone. Sets the gradients of what it lists to 0.
    """
    order: list[Value] = []
    zero = float("0")  # a new object in each call: who has it as gradient has been seen in this one
    # A list instead of recursion, which dies at a depth of 1,000.
    stack: list[Any] = [root] if root.op else []
    while stack:
        value = stack.pop()
        if value is None:  # what the next one was made of is in the order, so now itself
            order.append(stack.pop())
        elif value.grad is not zero:
            value.grad = zero
            a, b = value.a, value.b
            a_first = a.a is not None and a.grad is not zero  # a leaf has nobody to tell
            b_first = b is not None and b.a is not None and b.grad is not zero  # the same for the second
            if not (a_first or b_first or value.rest):
                order.append(value)
                continue
            stack.append(value)
            stack.append(None)
            if a_first:
                stack.append(a)
            if b_first:
                stack.append(b)
            # Some may have been seen: they are skipped when popped.
            stack += [i for i in value.rest if i.a is not None]
    return order


# Values of many inputs


class Wide(Value):
    """A value with more than two inputs: those after the second in `rest`, their derivatives in `d_rest`.

    Their slots are a subclass's, so that plain values stay small.
    """

    __slots__ = ("d_rest", "rest")


def wide_node(data: float, op: str, inputs: Sequence[Value], derivatives: Sequence[float]) -> Value:
    """The result of `op` on one or more inputs, with the derivative of the result with respect to each."""
    return Wide(data, op, inputs, derivatives)


def weighted_sum(weights: Sequence[Value], inputs: Sequence[Value | float], bias: Value) -> Value:
    """bias + w[0]*x[0] + w[1]*x[1] + ..., as one node. Inputs that are plain numbers get no gradient."""
    x = [v.data if isinstance(v, Value) else number(v) for v in inputs]
    total = bias.data
    for weight, value in zip(weights, x, strict=True):  # strict: one input for each weight
        total += weight.data * value
    made_of, derivatives = [bias, *weights], [1.0, *x]  # d/d bias = 1, d/d w[i] = x[i]
    for weight, v in zip(weights, inputs):
        if isinstance(v, Value):
            made_of.append(v)
            derivatives.append(weight.data)  # d/d x[i] = w[i]
    return wide_node(total, "weighted_sum", made_of, derivatives)


# Neurons, layers, networks


class Module:
    """Something with parameters."""

    def parameters(self) -> list[Value]:
        """The values that learning may change."""
        return []

    def zero_grad(self) -> None:
        """Reset all gradients, since `backward` adds to them."""
        for p in self.parameters():
            p.grad = 0


class Neuron(Module):
    """relu(w . x + b), or w . x + b with `nonlin=False`, of `nin` inputs.

    Weights are drawn from U(-1, 1) by the global generator of `random`.
    """

    def __init__(self, nin: int, nonlin: bool = True) -> None:
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0)
        self.nonlin = nonlin

    def __call__(self, x: Sequence[Value | float]) -> Value:
        if len(x) != len(self.w):
            raise ValueError(f"{self}: expected {len(self.w)} inputs, got {len(x)}")
        # Start at the bias: without it, sum adds a useless 0.
        act = sum((wi * xi for wi, xi in zip(self.w, x)), self.b)
        return act.relu() if self.nonlin else act

    def parameters(self) -> list[Value]:
        return [*self.w, self.b]

    def __repr__(self) -> str:
        return f"{'ReLU' if self.nonlin else 'Linear'}Neuron({len(self.w)})"


class Layer(Module):
    """`nout` neurons over the same `nin` inputs. One neuron gives a value, several give a list."""

    def __init__(self, nin: int, nout: int, nonlin: bool = True) -> None:
        self.neurons = [Neuron(nin, nonlin) for _ in range(nout)]

    def __call__(self, x: Sequence[Value | float]) -> Any:
        out = [neuron(x) for neuron in self.neurons]
        return out[0] if len(out) == 1 else out  # one output is a value, which one can call backward on

    def parameters(self) -> list[Value]:
        # The order of state: neuron by neuron.
        return [p for neuron in self.neurons for p in neuron.parameters()]

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(str(neuron) for neuron in self.neurons)}]"


class MLP(Module):
    """Layers of `nouts` neurons in a row, from `nin` inputs; all but the last end in relu."""

    def __init__(self, nin: int, nouts: Sequence[int]) -> None:
        sizes = [nin, *nouts]
        last = len(nouts) - 1
        # No relu at the end: scores have to be able to be negative.
        self.layers = [Layer(sizes[i], sizes[i + 1], nonlin=i != last) for i in range(len(nouts))]

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def parameters(self) -> list[Value]:
        return [p for layer in self.layers for p in layer.parameters()]

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(str(layer) for layer in self.layers)}]"
