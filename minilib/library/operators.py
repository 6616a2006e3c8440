"""Operators: a table from devices to kernels, and what backward needs of a call.

Taught in chapters/08a_dispatch.ipynb and solutions/08a_dispatch.ipynb: what they export is edited there, then
`make promote`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from minilib.engine import Array, Function, _clock, array_module, mode, no_grad, wrote
from minilib.library.refusals import (
    fitting_gradients,
    refuse_aliases,
    refuse_device,
    refuse_history,
    refuse_mixture,
)
from minilib.library.schema import Schema, schema_of
from minilib.meta import META
from minilib.tensor import Tensor

__all__ = [
    "Context", "CustomOpDef", "OperatorCall", "Parts", "Result", "changed", "custom_op", "register_autograd",
    "register_fake", "register_kernel", "tensors_in",
]  # fmt: skip

# An operator

OPERATORS: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """A table from devices to kernels. A call runs one of them, and remembers what backward needs."""

    def __init__(self, name: str, schema: Schema) -> None:
        self.name, self.schema = name, schema
        self.kernels: dict[str | None, Callable[..., Any]] = {}  # by device; None: where there is no other
        self.formula: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None

    def __repr__(self) -> str:
        return f"<CustomOpDef({self.name}{self.schema})>"

    # What is registered

    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /
    ) -> Any:
        """The kernel for some devices, None for all that have no other. Raises RuntimeError for a second."""
        if fn is None:
            return lambda fn: self.register_kernel(device_types, fn)
        several = [device_types] if isinstance(device_types, str | None) else device_types
        for device in several:
            if device in self.kernels:
                where = "all devices" if device is None else repr(device)
                raise RuntimeError(
                    f"{self.name}: there is a kernel for {where} already: make the operator anew"
                )
        self.kernels |= dict.fromkeys(several, fn)
        return fn

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """What makes of tensors without numbers results of the right shape, dtype and strides."""
        self.kernels[META.name] = fn
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """`backward(ctx, *grads)` gives a gradient for each argument by position, None where there is none.

        Before, `setup_context(ctx, inputs, output)` leaves in ctx what backward needs. For an operator with
        arguments by name alone it is setup_context(ctx, inputs, keyword_only_inputs, output).
        """
        if self.schema.written:
            raise RuntimeError(
                f"{self.name}: writes into {', '.join(sorted(self.schema.written))}, so it cannot have a "
                "gradient: make an operator that returns a new tensor"
            )
        self.formula, self.setup_context = backward, setup_context

    # A call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        inputs, options = self.bound(args, kwargs)
        tensors = tensors_in(inputs)
        kernel = self.kernel_for(self.device_of(tensors))
        with opaque():
            made = self.run(kernel, inputs, options)
        results = self.results(made, inputs)
        if mode.grad_enabled and any(x.requires_grad for x in tensors):
            OperatorCall(self, tensors).remember(inputs, options, results)
        if mode.tracer is not None:
            tell(mode.tracer, self, tensors, results)
        return results[0] if self.schema.single else results or None

    def device_of(self, tensors: Sequence[Tensor]) -> str:
        """The one device of all tensors; "cpu" where there are none. Raises RuntimeError for several."""
        devices = {x.device for x in tensors}
        if len(devices) > 1:
            refuse_mixture(self.name, tensors)
        return devices.pop() if devices else "cpu"

    def kernel_for(self, device: str) -> Callable[..., Any]:
        """The kernel of a device, or else the one for all; no kernel can run on "meta", only a fake."""
        kernel = self.kernels.get(device)
        if kernel is None and device != META.name:
            kernel = self.kernels.get(None)
        if kernel is None:
            refuse_device(self.name, device, self.kernels)
        return kernel

    def bound(self, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments by position, and those by name alone. Raises where the call cannot take them."""
        inputs, options = self.schema.bind(self.name, args, kwargs)
        if self.schema.written and mode.grad_enabled and any(x.requires_grad for x in tensors_in(inputs)):
            refuse_history(self.name, tensors_in(self.written_of(inputs)))
        return inputs, options

    def run(self, kernel: Callable[..., Any], inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        try:
            return kernel(*inputs, **options)
        except TypeError as error:  # most often a dtype that the kernel does not take: say which it was
            given = ", ".join(f"{x.dtype} of shape {x.shape} on {x.device}" for x in tensors_in(inputs))
            raise TypeError(f"{self.name}: {error} (its tensors: {given})") from error

    def results(self, made: Any, inputs: tuple[Any, ...]) -> tuple[Tensor, ...]:
        """What a kernel made, as new tensors without a history. Raises where they share memory."""
        results = tuple([x.detach() for x in self.schema.results(self.name, made)])
        refuse_aliases(self.name, results, tensors_in(inputs))
        if self.schema.written:
            for x in tensors_in(self.written_of(inputs)):
                wrote(x.data)  # a kernel may have written past the tensor: backward must know
        return results

    def written_of(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Those of the arguments that the operator writes into."""
        return tuple(x for x, name in zip(inputs, self.schema.types) if name in self.schema.written)


class opaque:
    """A block of which nothing is remembered or recorded: the inside of an operator."""

    def __enter__(self) -> None:
        self.before = mode.grad_enabled, mode.tracer
        mode.grad_enabled, mode.tracer = False, None

    def __exit__(self, *error: object) -> None:
        mode.grad_enabled, mode.tracer = self.before


# Arguments: tensors, lists of tensors, and what is no tensor


def tensors_in(inputs: Sequence[Any]) -> list[Tensor]:
    """The tensors among arguments, those in lists too, in their order."""
    found: list[Tensor] = []
    for one in inputs:
        if isinstance(one, Tensor):
            found.append(one)
        elif isinstance(one, list | tuple):
            found += tensors_in(one)
    return found


def changed(inputs: Any, change: Callable[[Tensor], Any]) -> Any:
    """The arguments with `change(x)` in the place of each tensor x."""
    if isinstance(inputs, Tensor):
        return change(inputs)
    if not isinstance(inputs, list | tuple):
        return inputs
    return type(inputs)([changed(one, change) for one in inputs])


def wants(x: Any) -> Any:
    """Whether an argument requires a gradient, a list of answers for a list; None for what is no tensor."""
    if isinstance(x, Tensor):
        return x.requires_grad
    return [wants(one) for one in x] if isinstance(x, list | tuple) else None


# Backward of an operator


class Context:
    """What `setup_context` leaves for backward: tensors by `save_for_backward`, all else as attributes."""

    def __init__(self, call: OperatorCall) -> None:
        self._call = call

    @property
    def needs_input_grad(self) -> tuple[Any, ...]:
        """Whether the gradient of each argument is wanted, in a list for a list."""
        return tuple([*map(bool, one)] if isinstance(one, list) else bool(one) for one in self._call.wanted)

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        self._call.saved = tuple(None if x is None else x.data for x in tensors)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        return tuple(None if array is None else Tensor(array) for array in self._call.saved)

    def mark_non_differentiable(self, *results: Tensor) -> None:
        """These results have no gradient: what forward returns for backward alone. Theirs comes as zeros."""
        self._call.constant = results


class OperatorCall(Function):
    """One call of an operator. Its backward is the formula that was registered."""

    constant: tuple[Tensor, ...] = ()  # results that no gradient flows through

    def __init__(self, operator: CustomOpDef, tensors: list[Tensor]) -> None:
        self.operator = operator
        self.inputs = tuple([x.function or x for x in tensors])
        self.xp = array_module(tensors[0].data) if tensors else np

    @property
    def name(self) -> str:
        return self.operator.name

    def remember(self, inputs: tuple[Any, ...], options: dict[str, Any], results: tuple[Tensor, ...]) -> None:
        """Let `setup_context` keep what backward needs, and make the results know this call."""
        self.wanted, self.ctx = [wants(x) for x in inputs], Context(self)
        if self.operator.setup_context is not None:
            output = results[0] if self.operator.schema.single else results
            by_name = {"keyword_only_inputs": options} if options else {}
            # By name, as in PyTorch, whose parameters have these names.
            self.operator.setup_context(ctx=self.ctx, inputs=inputs, **by_name, output=output)
        self.link(results)

    def backward(self, grad: Array | Parts) -> tuple[Array | None, ...]:
        """A gradient for each tensor among the arguments, from that of the result, or Parts of several."""
        if self.operator.formula is None:
            raise RuntimeError(f"{self.name} has no formula for backward: give it one with register_autograd")
        with no_grad():
            found = self.operator.formula(self.ctx, *self.grads(grad))
        return tuple(fitting_gradients(self, self.wanted, found))

    def link(self, results: tuple[Tensor, ...]) -> None:
        """Make each result that can have a gradient know this call, as results of the engine do."""
        self.made = [(x.shape, x.dtype) for x in results]
        self.serial = _clock()
        self.shape, self.dtype = self.made[0] if len(results) == 1 else (Parts.shape, Parts.dtype)
        for i, x in enumerate(results):
            if x.dtype.kind == "f" and not any(x is one for one in self.constant):
                x.function = self if len(results) == 1 else Result(self, i)
                x._requires_grad = True

    def grads(self, grad: Array | Parts) -> list[Tensor]:
        """The gradient of each result as a tensor; as in PyTorch, zeros where none has come."""
        arrays = grad.arrays if isinstance(grad, Parts) else (grad,)
        return [
            Tensor(self.xp.zeros(*made) if array is None else array) for array, made in zip(arrays, self.made)
        ]


# Several results


class Parts:
    """The gradients of an operator's several results on their way as one; None where none has come."""

    shape, dtype = (), np.dtype(object)

    def __init__(self, *arrays: Array | None) -> None:
        self.arrays = arrays

    def __add__(self, other: Parts) -> Parts:
        pairs = zip(self.arrays, other.arrays)
        return Parts(*[b if a is None else a if b is None else a + b for a, b in pairs])


class Result(Function):
    """One of several results of a call; its gradient joins those of the others on the way back."""

    def __init__(self, call: OperatorCall, index: int) -> None:
        self.call, self.index = call, index
        self.inputs, self.xp, self.serial = (call,), call.xp, _clock()
        self.shape, self.dtype = call.made[index]

    @property
    def name(self) -> str:
        return f"{self.call.name}[{self.index}]"

    def backward(self, grad: Array) -> Any:
        return Parts(*[grad if i == self.index else None for i in range(len(self.call.made))])


def tell(
    tracer: Callable[..., None], op: CustomOpDef, tensors: list[Tensor], results: Sequence[Tensor]
) -> None:
    """A record holds a call as one operation, also where nothing is remembered."""
    for x in results:
        tracer(x.function or OperatorCall(op, tensors), tuple(tensors), x)


# By name


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Collection[str],
    device_types: str | Sequence[str] | None = None,
) -> Any:
    """The operator "namespace::name" of a typed function, its kernel for `device_types`, None for all.

    Without `fn` a decorator. `mutates_args` names the arguments that it writes into. A second operator of the
    same name takes the place of the first, so that a cell of a notebook may run again.
    """
    if fn is None:
        return lambda fn: custom_op(name, fn, mutates_args=mutates_args, device_types=device_types)
    namespace, _, rest = name.partition("::")
    if not (namespace.isidentifier() and rest.replace(".", "_").isidentifier()):
        raise ValueError(f"custom_op: {name!r} needs a namespace and a name: 'mylib::{rest or namespace}'")
    OPERATORS[name] = operator = CustomOpDef(name, schema_of(fn, mutates_args))
    operator.register_kernel(device_types, fn)
    if not operator.schema.returns:
        operator.register_fake(lambda *args, **kwargs: None)  # nothing is all that there is to tell
    return operator


def _found(op: str | CustomOpDef) -> CustomOpDef:
    """The operator of this name. Raises RuntimeError where there is none."""
    if isinstance(op, CustomOpDef):
        return op
    if op not in OPERATORS:
        raise RuntimeError(f"there is no operator {op!r}; there is: {', '.join(OPERATORS) or 'none'}")
    return OPERATORS[op]


def register_kernel(
    op: str | CustomOpDef, device_types: str | Sequence[str] | None, func: Callable[..., Any] | None = None, /
) -> Any:
    """As the method of an operator, which may be given by name; without `func` a decorator."""
    return _found(op).register_kernel(device_types, func)


def register_fake(op: str | CustomOpDef, func: Callable[..., Any] | None = None, /) -> Any:
    """As the method of an operator, which may be given by name; without `func` a decorator."""
    return _found(op).register_fake if func is None else _found(op).register_fake(func)


def register_autograd(
    op: str | CustomOpDef,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
) -> None:
    """As the method of an operator, which may be given by name."""
    _found(op).register_autograd(backward, setup_context=setup_context)
