"""Operations that remember what they were made of, and the way back through them.

Taught in solutions/02b_engine.ipynb: what it exports is edited there, then `make promote`.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import sys
import threading
import types
import weakref
from collections import abc
from collections.abc import Callable, Collection, Iterator
from contextlib import ContextDecorator, contextmanager
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, TypeVar

import numpy as np

from minilib.sums import float_sum

if TYPE_CHECKING:
    from minilib.tensor.core import Tensor

__all__ = [
    "DEVICES",
    "FREED",
    "Array",
    "Device",
    "Function",
    "Mode",
    "Node",
    "Number",
    "Record",
    "Shape",
    "Switch",
    "WriteLog",
    "Writes",
    "accumulate",
    "array_module",
    "enable_grad",
    "first_gradient",
    "hand_out",
    "is_grad_enabled",
    "leading_to",
    "mode",
    "no_grad",
    "owner_of",
    "propagate",
    "record",
    "refuse_overwritten",
    "refuse_unusable",
    "run_hooks",
    "set_grad_enabled",
    "shares_for",
    "sum_to",
    "wanted_only",
    "wrote",
]  # fmt: skip

Array: TypeAlias = Any  # a numpy.ndarray, or the array of another device
Number: TypeAlias = bool | int | float
Shape: TypeAlias = tuple[int, ...]


# Operations


_clock = itertools.count(1).__next__  # each operation and each write in place gets the next number
FREED: tuple[Array, ...] = (None,)  # known by identity


class Function:
    """One operation: `forward` makes an array of arrays, `backward` a gradient for each of them.

    Attributes are plain values (axes, shapes, eps); every array is an input. `apply` sets `inputs`: for each
    argument the Function that made it, or the Tensor itself where it is a leaf. `forward` leaves in `saved`
    the arrays that `backward` needs. `backward` may return its argument, views of it, or None where an input
    wants no gradient; the engine sums over broadcast axes and never writes into what it gets.
    """

    inputs: tuple[Function | Tensor, ...] = ()
    saved: tuple[Array, ...] = ()  # FREED once backward has used it
    requires_grad: bool = True  # False: the result has no gradient (a comparison, an argmax)
    view = False  # True: the result may share the memory of the input
    xp: Any = np  # the array module of the inputs
    hooks: list[Callable[[Tensor], Tensor | None]] | None = None
    pair: Pair | None = None  # the kernels of its own that ran forward: backward is theirs, too
    serial: int
    shape: Shape
    dtype: np.dtype[Any]

    def forward(self, *arrays: Array) -> Array:
        raise NotImplementedError(f"{self.name} has no forward")

    def backward(self, grad: Array) -> Array | tuple[Array | None, ...]:
        raise NotImplementedError(f"{self.name} has no backward: nothing before it can get a gradient")

    # In PyTorch: ctx.needs_input_grad[i].
    def needs(self, i: int) -> bool:
        """Whether input `i` requires a gradient."""
        return self.inputs[i].requires_grad

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def op(self) -> str:
        return self.name


Node: TypeAlias = "Function | Tensor"  # an operation, or a leaf


# Tensors, whose class the engine does not know


# A list, since the class is made in a file that imports this one: an import here would be a circle.
TENSORS: list[type[Tensor]] = []  # the class of leaves and results: minilib/tensor/core.py enters it


def leaf_of(data: Any) -> Tensor:
    """A leaf that holds `data`."""
    return TENSORS[0](data)


# Modes: whether operations are remembered


class Mode(threading.local):
    """Settings of this thread: whether operations are recorded for backward, and who traces them."""

    grad_enabled = True
    tracer: Callable[[Function, tuple[Tensor, ...], Tensor], None] | None = None

    def __init__(self) -> None:
        # A stack: the same `no_grad` object may be entered twice, and each exit undoes its own entry.
        self.before: list[bool] = []  # what each block that was entered has found


mode = Mode()


Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Switch(ContextDecorator):
    """A context that decorates functions, and generators and coroutines for as long as they run.

    Between their steps the mode is the caller's. (In PyTorch coroutines are not covered.)
    """

    def __call__(self, func: Decorated) -> Decorated:
        if inspect.isasyncgenfunction(func):
            raise TypeError(f"{type(self).__name__}: cannot decorate an asynchronous generator: use `with`")
        if not (inspect.isgeneratorfunction(func) or inspect.iscoroutinefunction(func)):
            return super().__call__(func)

        def steps(*args: Any, **kwargs: Any) -> Any:
            # The mode must not leak: between two steps of a generator its caller runs, in a mode of its own.
            return (yield from self._steps(func(*args, **kwargs)))

        if inspect.isgeneratorfunction(func):
            return functools.wraps(func)(steps)  # type: ignore[return-value]

        awaitable: Any = types.coroutine(steps)

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return await awaitable(*args, **kwargs)

        return functools.wraps(func)(coroutine)  # type: ignore[return-value]

    def _steps(self, run: Any) -> abc.Generator[Any, Any, Any]:
        """What the generator or coroutine `run` yields, each step of it within this context."""
        step, sent = run.send, None
        while True:
            with self._recreate_cm():  # type: ignore[attr-defined]
                try:
                    given = step(sent)
                except StopIteration as end:
                    return end.value  # what the generator or coroutine returns
            try:
                step, sent = run.send, (yield given)
            except GeneratorExit:  # closed by its caller: what it cleans up runs in this mode, too
                with self._recreate_cm():  # type: ignore[attr-defined]
                    run.close()
                raise
            except BaseException as error:  # thrown into it by the caller: pass it on with the next step
                step, sent = run.throw, error


class no_grad(Switch):
    """A block or function in which no graph is recorded: results have no gradient and need less memory."""

    enabled = False

    def __enter__(self) -> None:
        mode.before.append(mode.grad_enabled)
        mode.grad_enabled = self.enabled

    def __exit__(self, *error: object) -> None:
        mode.grad_enabled = mode.before.pop()


class enable_grad(no_grad):
    """Record again, within `no_grad`."""

    enabled = True


class set_grad_enabled(Switch):
    """Turn the recording of the graph on or off: from now on, for a `with` block, or for a function."""

    def __init__(self, enabled: bool) -> None:
        self.before = mode.grad_enabled
        self.enabled = mode.grad_enabled = enabled  # at once: as a plain call it needs no `with`

    def __enter__(self) -> None:
        mode.grad_enabled = self.enabled

    def __exit__(self, *error: object) -> None:
        mode.grad_enabled = self.before

    def __call__(self, func: Any) -> Any:
        mode.grad_enabled = self.before  # a decorator waits until the function is called
        return super().__call__(func)

    def _recreate_cm(self) -> set_grad_enabled:
        return type(self)(self.enabled)


def is_grad_enabled() -> bool:
    return mode.grad_enabled


# Records: who listens to the operations


Record: TypeAlias = "tuple[Function, tuple[Tensor, ...], Tensor]"


@contextmanager
def record() -> Iterator[list[Record]]:
    """Collect every operation of this thread in order, also under `no_grad`: (function, inputs, output)."""
    records: list[Record] = []
    before = mode.tracer  # records may be nested: the inner one takes over for its block
    mode.tracer = lambda f, inputs, output: records.append((f, inputs, output))
    try:
        yield records
    finally:
        mode.tracer = before


# Writes in place


@dataclass
class Writes:
    """How often and when the memory of an array was written to."""

    owner: weakref.ref[Array]
    count: int = 0
    last: int = 0  # on the clock of the operations


class WriteLog(dict[int, Writes]):
    """All writes, by the id of the array that owns the memory."""

    last = 0  # the newest of them all


_writes = WriteLog()


def owner_of(array: Array) -> Array:
    """The array whose memory `array` looks at; views share it."""
    while isinstance(array.base, type(array)):  # NumPy's `base` may be a view itself, or a foreign buffer
        array = array.base
    return array


def wrote(array: Array) -> None:
    """Note that the memory of `array` was written to: operations that saved it must refuse to go back."""
    owner = owner_of(array)
    key = id(owner)
    if key not in _writes:
        # An id is given again to a new array when the old one dies, so its entry has to die with it.
        _writes[key] = Writes(weakref.ref(owner, lambda _: _writes.pop(key, None)))
    log = _writes[key]
    log.count += 1
    # The clock of the operations: a write is later than an operation where its number is larger.
    log.last = _writes.last = _clock()


def refuse_write(x: Tensor, *others: Tensor) -> None:
    """Raise where `others` cannot be written into `x`, or where that would break gradients."""
    if not getattr(x.data.flags, "writeable", True):  # an expanded view: one number stands in many places
        raise RuntimeError(
            "an expanded view (or a read-only array) cannot be changed in place: clone it first"
        )
    if not mode.grad_enabled:  # as the optimisers' steps: nothing remembers, so nothing can become wrong
        return
    base = x.origin.base if x.origin is not None else x
    if any(t.requires_grad and t.function is None for t in (x, base)):
        raise RuntimeError(
            "a leaf that wants a gradient, or a view of one, cannot be changed in place: use no_grad(), or "
            "x = x + ..."
        )
    if x.origin is not None and not x.origin.remembered and any(t.requires_grad for t in (base, *others)):
        refuse_forgotten()


def refuse_overwritten(f: Function) -> None:
    """Raise RuntimeError where an array that `f` saved was written to since."""
    for array in f.saved:
        log = _writes.get(id(owner_of(array))) if array is not None else None
        if log and log.last > f.serial:  # written to after f had saved it
            raise RuntimeError(
                f"{f.name}: an array of shape {array.shape} that backward needs was changed in place since; "
                "change a copy (x = x + 1 instead of x += 1, or x.clone())"
            )


# Views: one memory, one history


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a view comes from: the tensor whose memory it looks at, and the operations that lead there.

    A write in place gives the base another history. A view notices when it is used next: what made the base
    is no longer what it has `seen`. (A write within no_grad() gives it none. After one, PyTorch makes the
    view's history anew, and refuses a view that was not `remembered`; ours takes its numbers as they are.)
    """

    base: Tensor
    path: tuple[Function, ...]
    seen: Function | None
    remembered: bool  # False where it was taken within no_grad()


def note_view(out: Tensor, x: Tensor, f: Function) -> None:
    """Note that `out` = f(x) is a view of `x`, if it looks at its memory: a reshape may have copied."""
    owner = out.data.base
    # NumPy links a view of a view to the array that owns the memory, not to the view between.
    if owner is not None and (owner is x.data or owner is x.data.base):
        remembered = mode.grad_enabled
        if x.origin is None:
            out.origin = Origin(x, (f,), x._function, remembered)
        else:
            o = x.origin
            # A view of a view leads to the same base by a longer path.
            out.origin = Origin(o.base, (*o.path, f), o.base._function, remembered and o.remembered)


def renew(x: Tensor, origin: Origin) -> None:
    """Take the history of the view `x` from its base again, where that was given another one in place."""
    base = origin.base
    if base._function is origin.seen or base._function is None:  # nobody wrote into the base since
        return
    if not origin.remembered:
        if mode.grad_enabled:
            refuse_forgotten()
        return
    node, array = base._function, base.data
    path: list[Function] = []
    for f in origin.path:
        array = f.forward(array)  # a view again, so this costs no copy
        node = _replayed(f, node, array)
        path.append(node)
    x.origin = Origin(base, tuple(path), base._function, True)
    take_over(x, node)


def _replayed(f: Function, made_from: Function, array: Array) -> Function:
    """`f` applied once more, to what `made_from` has made, with the result `array`."""
    f = copy.copy(f)
    vars(f).pop("retained", None)  # what `retain_grad` asked for stays with the old operation
    f.inputs, f.hooks = (made_from,), None
    f.serial, f.shape, f.dtype = _clock(), array.shape, array.dtype
    return f


def take_over(x: Tensor, f: Function) -> None:
    """`f` has made the numbers of `x`, in place; what `retain_grad` asked for is asked of `f` now."""
    old = x._function
    keep = None if old is None else vars(old).pop("retained", None)  # the hook that `retain_grad` has left
    if old is not None and old.hooks is not None and keep in old.hooks:
        old.hooks.remove(keep)
        f.hooks = [*(f.hooks or []), keep]
        vars(f)["retained"] = keep
    x._function, x._requires_grad = f, True


def refuse_forgotten() -> NoReturn:
    raise RuntimeError(
        "a view taken within no_grad() cannot follow a change in place where gradients flow: take it again"
    )


# Devices


class Pair(Protocol):
    """Kernels of our own for one operation: what forward saves only its own backward can read."""

    def forward(self, f: Function, *arrays: Array) -> Array:
        """The result of `f`, with `f.saved` set; NotImplemented where these arrays do not fit the kernels."""

    def backward(self, f: Function, grad: Array) -> Array | tuple[Array | None, ...]:
        """As `f.backward`, from what `forward` of this pair has saved."""


@dataclass
class Device:
    """Where arrays of one type live: its name, the module that works on them, and kernels of our own."""

    name: str
    xp: Any
    from_numpy: Callable[[Array], Array] = np.asarray
    to_numpy: Callable[[Array], Array] = np.asarray
    pairs: dict[type[Function], Pair] = field(default_factory=dict)


DEVICES: dict[type, Device] = {np.ndarray: Device("cpu", np)}


def array_module(array: Array) -> Any:
    """NumPy, or the module of another device, that `array` belongs to."""
    return np if type(array) is np.ndarray else DEVICES[type(array)].xp


def device_named(name: str) -> Device:
    """The device that is called `name`. Raises RuntimeError where none has registered by it."""
    for device in DEVICES.values():
        if device.name == name.removesuffix(":0"):
            return device
    if name.partition(":")[0] == "cuda" and not any(device.name == "cuda" for device in DEVICES.values()):
        raise RuntimeError(
            "there is no device 'cuda' yet: `import minilib.gpu` brings it, simulated where there is no GPU"
        )
    raise RuntimeError(
        f"there is no device {name!r} here; there is: {', '.join(d.name for d in DEVICES.values())}"
    )


def refuse_mix(f: Function, arrays: list[Array]) -> None:
    """Raise TypeError where the inputs of `f` are on different devices."""
    if len({type(array) for array in arrays}) > 1:
        where = " and ".join(f"{array.shape} on {DEVICES[type(array)].name}" for array in arrays)
        raise TypeError(f"{f.name}: its inputs are {where}: move them to one device with .to(device)")


def _on_device(f: Function, arrays: list[Array]) -> Array:
    """Run `f` where its arrays are: by the pair of kernels registered there, or else by its own forward."""
    refuse_mix(f, arrays)
    device = DEVICES[type(arrays[0])]
    f.xp = device.xp
    pair = device.pairs.get(type(f))
    made = NotImplemented if pair is None else pair.forward(f, *arrays)
    if made is NotImplemented:
        made = f.forward(*arrays)
    else:
        f.pair = pair  # backward must come from the same pair: only it knows what forward has saved
    return made if type(made) in DEVICES else device.xp.asarray(made)  # NumPy's scalars become arrays


# Backward


def first_gradient(x: Tensor, gradient: Tensor | None) -> Array:
    """The gradient that backward from `x` starts with: `gradient`, or 1 where `x` is a single number."""
    if not x.requires_grad:
        raise RuntimeError(
            "backward: nothing that this tensor was made of wants a gradient (requires_grad=True)"
        )
    if gradient is None:
        if x.data.size != 1:
            raise RuntimeError(
                f"backward: a tensor of shape {x.shape} has many numbers; reduce it to one (.sum(), .mean()) "
                "or give their gradient"
            )
        return array_module(x.data).ones_like(x.data)  # dx/dx = 1
    if not isinstance(gradient, TENSORS[0]):
        kind = type(gradient).__name__
        raise TypeError(
            f"backward: gradient is of type {kind}, and a tensor is expected: wrap it in tensor(...)"
        )
    if gradient.shape != x.shape:
        raise RuntimeError(f"backward: gradient has shape {gradient.shape}, the tensor {x.shape}")
    return gradient.data.astype(x.dtype, copy=False)


def propagate(
    root: Node, seed: Array, retain_graph: bool = False, wanted: Collection[Node] = ()
) -> dict[Node, tuple[Array, bool]]:
    """Send `seed`, the gradient of what `root` stands for, back through the operations that made it.

    Returns for each leaf, or for each node in `wanted`, its gradient, and whether the array is nobody else's.
    With `wanted`, operations that lead to none of them are left alone. The newest operation goes first: all
    that use its result are newer, so its gradient is complete.
    """
    ancestors = leading_to(root, wanted) if wanted else None
    pending: dict[Node, Array] = {root: seed}
    owned: set[Node] = set()
    found: dict[Node, tuple[Array, bool]] = {}
    # A heap gives the smallest: minus serial.
    queue = [(-root.serial, root)] if isinstance(root, Function) else []
    while queue:
        f = heappop(queue)[1]
        gradient = pending.pop(f)  # complete: all that use f's result have a higher serial, and have been
        if f.hooks is not None:
            gradient = run_hooks(f.hooks, gradient)
        if f in wanted:
            found[f] = gradient, False  # not ours: f's backward will read it, and may hand it on
        if ancestors is not None and f not in ancestors:
            continue
        if f.saved is FREED or f.serial < _writes.last:  # one comparison rules out a write, mostly
            refuse_unusable(f)
        grad_inputs = f.backward(gradient) if f.pair is None else f.pair.backward(f, gradient)
        if f.saved and not retain_graph:
            f.saved = FREED  # activations are most of a training step's memory: let go as soon as possible
        if ancestors is not None:
            grad_inputs = wanted_only(f, grad_inputs, ancestors, wanted)
        accumulate(f, grad_inputs, pending, owned, queue)
        del grad_inputs  # not ours to hold: who holds what is asked below
    for leaf in pending:
        ours = leaf in owned or held_by_nobody_else(pending, leaf)
        gradient = pending[leaf]
        array = run_hooks(leaf.hooks, gradient) if leaf.hooks else gradient
        found[leaf] = array, ours and array is gradient
    return found


def held_by_nobody_else(pending: dict[Node, Array], node: Node) -> bool:
    """Whether `pending` alone has its array of `node`: then it may be kept and written to without a copy.

    Backward of an operation may hand one array, or views of it, to many, and may keep it. Whoever does has a
    reference to it, and Python counts them. (In PyTorch AccumulateGrad asks the same: `use_count`.)
    """
    if type(pending[node]) is not np.ndarray or sys.getrefcount(pending[node]) != _ONE_HOLDER:
        return False
    flags = pending[node].flags
    return flags.owndata and flags.carray  # no view, can be written to, and laid out as a copy would be


_held = {0: np.empty(0)}
_ONE_HOLDER = sys.getrefcount(_held[0])  # the dictionary's reference, and that of the call


def refuse_unusable(f: Function) -> None:
    """Raise RuntimeError where `f` no longer has what its backward needs."""
    if f.saved is FREED:
        raise RuntimeError(
            f"{f.name}: what backward needs was freed by an earlier backward; "
            "give that one retain_graph=True to go through the graph twice"
        )
    refuse_overwritten(f)


# What backward does where only some gradients are wanted


def leading_to(root: Node, wanted: Collection[Node]) -> set[Node]:
    """The operations on a path from `root` to a node in `wanted`: the only ones that backward must visit."""
    wanted = {*wanted}  # `in` a list would compare numbers
    ancestors: set[Node] = set()
    todo, seen = [root], {root}
    order: list[Function] = []
    while todo:
        node = todo.pop()
        if isinstance(node, Function):
            order.append(node)
            todo += [x for x in node.inputs if x.requires_grad and x not in seen]
            seen.update(node.inputs)
    for f in sorted(order, key=lambda f: f.serial):  # oldest first
        if any(x in ancestors or x in wanted for x in f.inputs):
            ancestors.add(f)  # its inputs are older, and have been asked before
    return ancestors


def wanted_only(
    f: Function, grad_inputs: Any, ancestors: set[Node], wanted: Collection[Node]
) -> tuple[Any, ...]:
    """The gradients of those inputs of `f` that are wanted or lead there, None for the others."""
    grad_inputs = grad_inputs if isinstance(grad_inputs, tuple) else (grad_inputs,)
    return tuple(
        grad if node in ancestors or any(node is x for x in wanted) else None
        for node, grad in zip(f.inputs, grad_inputs)
    )


# What backward does at each operation


def run_hooks(hooks: list[Callable[[Tensor], Tensor | None]], grad: Array) -> Array:
    """Call each hook with `grad`; what a hook returns replaces it."""
    for hook in list(hooks):  # a copy: a hook may take itself away
        changed = hook(leaf_of(grad.copy()))  # a copy, as the hook may write into it
        if changed is not None:
            if (changed.shape, changed.dtype) != (grad.shape, grad.dtype):
                gave, had = (f"{x.dtype} of shape {x.shape}" for x in (changed, grad))
                raise RuntimeError(f"hook: gave a gradient in {gave} for one in {had}")
            grad = changed.data
    return grad


def accumulate(
    f: Function, grads: Any, pending: dict[Node, Array], owned: set[Node], queue: list[tuple[int, Function]]
) -> None:
    """Add the gradients that `f` gives its inputs to `pending`; operations not seen before join the queue.

    `owned` holds the nodes whose pending array is a sum made here, so that adding in place is safe.
    """
    for node, dx in zip(f.inputs, grads if isinstance(grads, tuple) else (grads,)):
        if dx is None or not node.requires_grad:
            continue
        if dx.shape != node.shape:  # forward has broadcast this input
            dx = sum_to(dx, node.shape)
        if dx.dtype is not node.dtype:  # `is`: NumPy has one object for each dtype, and == is slower
            dx = dx.astype(node.dtype)
        if node not in pending:
            pending[node] = dx
            if isinstance(node, Function):
                heappush(queue, (-node.serial, node))  # serials are unique: nodes are never compared
        elif node in owned or held_by_nobody_else(pending, node):
            pending[node] += dx
        else:
            pending[node] = pending[node] + dx  # not +=: backward may have returned somebody else's array
            owned.add(node)


def sum_to(array: Array, shape: Shape) -> Array:
    """The sum of `array` over the axes that broadcasting from `shape` had added or repeated."""
    extra = array.ndim - len(shape)  # axes that broadcasting has put in front
    repeated = tuple(extra + i for i, n in enumerate(shape) if n == 1 and array.shape[extra + i] != 1)
    return float_sum(array, (*range(extra), *repeated), keepdims=True).reshape(shape)


# Names of version 0.1, which notebooks that learners have written may still import

hand_out, shares_for = accumulate, wanted_only
