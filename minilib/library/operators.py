"""Operators: a table from devices to kernels, and what backward needs of a call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from minilib.engine import (  # isort: skip
    Array, Function, _clock, array_module, mode, no_grad, owner_of, refuse_write, wrote,
)  # fmt: skip
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
    """A call finds the kernel for the device of its tensors, and remembers what backward needs."""

    def __init__(self, name: str, schema: Schema) -> None:
        self.name, self.schema = name, schema
        self.kernels: dict[str | None, Callable[..., Any]] = {}  # by device; None: where there is no other
        self.fake: Callable[..., Any] | None = None
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
        self.fake = fn
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
        inputs, options = self.schema.bind(self.name, args, kwargs)
        tensors = [*tensors_in(inputs)]
        kernel = self.kernel_for(self.device_of(tensors))
        written = [*tensors_in(self.written_of(inputs))]
        remembered = mode.grad_enabled and any(x.requires_grad for x in tensors)
        if written and remembered:
            self.refuse_history(written)
        with opaque():
            made = self.run(kernel, changed(inputs, Tensor.detach), options)
        results = tuple(x.detach() for x in self.schema.results(self.name, made))
        self.refuse_aliases(results, tensors)
        for x in written:
            wrote(x.data)  # a kernel may have written past the tensor: backward must know
        if remembered or mode.tracer is not None:
            call = OperatorCall(self, inputs, options, tensors)
            if remembered:
                call.remember(inputs, results)
            if mode.tracer is not None:
                for x in results:
                    mode.tracer(x.function or call, tuple(tensors), x)
        return None if not results else results[0] if self.schema.single else results

    def device_of(self, tensors: Sequence[Tensor]) -> str:
        """The one device of all tensors; "cpu" where there are none. Raises RuntimeError for several."""
        if len({x.device for x in tensors}) > 1:
            where = ", ".join(f"{x.shape} on {x.device}" for x in tensors)
            raise RuntimeError(
                f"{self.name}: its tensors are {where}: bring them to one device with .to(...)"
            )
        return tensors[0].device if tensors else "cpu"

    def kernel_for(self, device: str) -> Callable[..., Any]:
        """What runs on `device`: on "meta" the fake, elsewhere a kernel."""
        if device == META.name:
            if self.fake is None and self.schema.returns:
                raise RuntimeError(
                    f"{self.name} has no fake: tell its result's shape with .register_fake(...)"
                )
            return self.fake or (lambda *args, **kwargs: None)
        kernel = self.kernels.get(device) or self.kernels.get(None)
        if kernel is None:
            there = ", ".join(sorted(str(one) for one in self.kernels)) or "none"
            raise NotImplementedError(f"{self.name} has no kernel for {device!r}; there is: {there}")
        return kernel

    def run(self, kernel: Callable[..., Any], inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        try:
            return kernel(*inputs, **options)
        except TypeError as error:  # most often a dtype that the kernel does not take: say which it was
            given = ", ".join(f"{x.dtype} of shape {x.shape} on {x.device}" for x in tensors_in(inputs))
            raise TypeError(f"{self.name}: {error} (its tensors: {given})") from error

    def written_of(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Those of the arguments that the operator writes into."""
        return tuple(x for x, name in zip(inputs, self.schema.types) if name in self.schema.written)

    def refuse_history(self, written: list[Tensor]) -> None:
        for x in written:
            refuse_write(x)
        raise RuntimeError(
            f"{self.name}: writes into an argument, so no gradient can flow through it: call it in no_grad()"
        )

    def refuse_aliases(self, results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
        """Raise RuntimeError where a result looks at the memory of an argument or of another result."""
        others = list(tensors)
        for result in results:
            if any(shares_memory(result.data, other.data) for other in others):
                raise RuntimeError(
                    f"{self.name}: a result lies in the memory of an argument or of another result: "
                    "return a copy, x.clone()"
                )
            others.append(result)


def shares_memory(a: Array, b: Array) -> bool:
    near = type(a) is type(b) is np.ndarray and np.may_share_memory(a, b)  # also past a foreign buffer
    return near or owner_of(a) is owner_of(b)


@contextmanager
def opaque() -> Iterator[None]:
    """A block whose operations nobody remembers or traces: an operator is one."""
    tracer, mode.tracer = mode.tracer, None
    try:
        with no_grad():
            yield
    finally:
        mode.tracer = tracer


def tensors_in(inputs: Any) -> Iterator[Tensor]:
    """The tensors among arguments, also those in lists, in order."""
    for one in inputs:
        if isinstance(one, Tensor):
            yield one
        elif isinstance(one, list | tuple):
            yield from tensors_in(one)


def changed(inputs: Any, change: Callable[[Tensor], Any]) -> Any:
    """The arguments with `change(x)` in the place of each tensor x."""
    if isinstance(inputs, Tensor):
        return change(inputs)
    return (
        type(inputs)(changed(one, change) for one in inputs) if isinstance(inputs, list | tuple) else inputs
    )


# Backward of an operator


class Context:
    """What `setup_context` leaves for backward: tensors by `save_for_backward`, all else as attributes."""

    def __init__(self, call: OperatorCall, needs_input_grad: tuple[Any, ...]) -> None:
        self._call = call
        self._constant: tuple[Tensor, ...] = ()
        self.needs_input_grad = needs_input_grad  # for each argument by position; of a list a list

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        self._call.saved = tuple(None if x is None else x.data for x in tensors)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        return tuple(None if array is None else Tensor(array) for array in self._call.saved)

    def mark_non_differentiable(self, *results: Tensor) -> None:
        """These results have no gradient: what forward returns for backward alone. Its gradient is zeros."""
        self._constant = results


class Parts:
    """The gradients of an operator's several results on their way as one; None where none has come."""

    shape, dtype = (), np.dtype(object)

    def __init__(self, *arrays: Array | None) -> None:
        self.arrays = arrays

    def __add__(self, other: Parts) -> Parts:
        pairs = zip(self.arrays, other.arrays)
        return Parts(*[b if a is None else a if b is None else a + b for a, b in pairs])


class OperatorCall(Function):
    """One call of an operator. Its backward is the formula that was registered."""

    def __init__(
        self, operator: CustomOpDef, inputs: tuple[Any, ...], options: dict[str, Any], tensors: list[Tensor]
    ) -> None:
        self.operator, self.options = operator, options
        self.arguments = changed(inputs, lambda x: ...)  # an ellipsis stands where a tensor was
        self.inputs = tuple(x.function or x for x in tensors)
        self.xp = array_module(tensors[0].data) if tensors else np

    @property
    def name(self) -> str:
        return self.operator.name

    def remember(self, inputs: tuple[Any, ...], results: tuple[Tensor, ...]) -> None:
        """Let `setup_context` keep what backward needs, and make the results know this call."""
        self.ctx = Context(self, changed(inputs, lambda x: x.requires_grad))
        if self.operator.setup_context is not None:
            output = results[0] if self.operator.schema.single else results
            by_name = {"keyword_only_inputs": self.options} if self.options else {}
            # By name, as in PyTorch, whose parameters have these names.
            self.operator.setup_context(ctx=self.ctx, inputs=inputs, **by_name, output=output)
        self.made = [(x.shape, x.dtype) for x in results]
        self.serial = _clock()
        self.shape, self.dtype = self.made[0] if len(results) == 1 else (Parts.shape, Parts.dtype)
        for i, x in enumerate(results):
            if x.dtype.kind == "f" and not any(x is one for one in self.ctx._constant):
                x.function = self if len(results) == 1 else Result(self, i)
                x._requires_grad = True

    def backward(self, grad: Array | Parts) -> tuple[Array | None, ...]:
        if self.operator.formula is None:
            raise RuntimeError(f"{self.name} has no formula for backward: give it one with register_autograd")
        arrays = grad.arrays if isinstance(grad, Parts) else (grad,)
        # As in PyTorch, zeros where no gradient has come.
        grads = [self.xp.zeros(*made) if array is None else array for array, made in zip(arrays, self.made)]
        with no_grad():
            found = self.operator.formula(self.ctx, *map(Tensor, grads))
        return tuple(self.checked(found))

    def checked(self, found: Any) -> Iterator[Array | None]:
        """The gradients that a formula gave, one for each tensor. Raises RuntimeError for misfits."""
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(self.arguments):
            raise RuntimeError(
                f"{self.name}: its backward gave {len(found)} gradients for {len(self.arguments)} arguments: "
                "one each, None for what is no tensor"
            )
        nodes = iter(self.inputs)
        for i, (argument, gradient) in enumerate(zip(self.arguments, found)):
            if not isinstance(argument, list | tuple):
                argument, gradient = [argument], [gradient]
            elif gradient is None:
                gradient = [None] * len(argument)
            if len(gradient) != len(argument):
                raise RuntimeError(
                    f"{self.name}: argument {i} is a list of {len(argument)}, its gradient is not"
                )
            for one, part in zip(argument, gradient):
                if one is ...:
                    yield self.fitting(i, next(nodes), part)
                elif part is not None:
                    raise RuntimeError(
                        f"{self.name}: its backward gave argument {i}, no tensor, a gradient: None"
                    )

    def fitting(self, i: int, node: Any, gradient: Tensor | None) -> Array | None:
        """The array of a gradient that fits the input `node`: on its device, in a shape that sums to its."""
        if gradient is None:
            return None
        if not isinstance(gradient, Tensor):
            raise RuntimeError(f"{self.name}: gradient {i} is a {type(gradient).__name__}, not a tensor")
        if array_module(gradient.data) is not self.xp:
            raise RuntimeError(f"{self.name}: gradient {i} is on {gradient.device}, and its argument is not")
        extra = gradient.ndim - len(node.shape)
        if extra < 0 or any(n not in (1, m) for n, m in zip(node.shape, gradient.shape[extra:])):
            raise RuntimeError(
                f"{self.name}: gradient {i} has shape {gradient.shape}, its argument {node.shape}"
            )
        return gradient.data


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
