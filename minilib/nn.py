"""Modules: pieces of a network that find their own parameters.

Taught in chapters/03c_modules.ipynb, solutions/03c_modules.ipynb, chapters/03f_training.ipynb and
chapters/06a_tokens.ipynb: what they export is edited there, then `make promote`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from minilib import functional as F
from minilib import init as init
from minilib.init import (  # noqa: F401 (re-exported)
    calculate_gain,
    fan,
    kaiming_normal_,
    kaiming_uniform_,
    xavier_normal_,
    xavier_uniform_,
)
from minilib.tensor import Generator, RemovableHandle, Tensor, no_grad, ones, randn, refuse_arrays, zeros

# Parameters


class Parameter(Tensor):
    """A tensor that a module learns: a leaf that wants a gradient."""

    __slots__ = ()

    def __init__(self, data: Any, requires_grad: bool = True) -> None:
        super().__init__(data, requires_grad=requires_grad)


# Modules


Hook: TypeAlias = Callable[..., Any]


class Module:
    """A piece of a network: parameters, buffers and further modules as attributes, and `forward`.

    What belongs to it is found by looking at its attributes: each Parameter, each Module, and each Tensor
    that `register_buffer` has named.
    """

    training = True  # of the class: an instance has one only where `train` or `eval` has set it
    _buffers: Mapping[str, bool] = {}  # their names, and whether state_dict has them
    _hooks_before: tuple[Hook, ...] = ()
    _hooks_after: tuple[Hook, ...] = ()

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        for hook in self._hooks_before:
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
        try:
            output = self.forward(*inputs, **options)
        except Exception:  # that an array was given for a tensor is told before anything else
            refuse_arrays(type(self).__name__, self.forward, inputs, options)
            raise
        for hook in self._hooks_after:
            changed = hook(self, inputs, output)
            if changed is not None:
                output = changed
        return output

    def forward(self, *inputs: Any) -> Any:
        """What the module computes: each kind of module has its own."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    # What it is made of

    def __setattr__(self, name: str, value: Any) -> None:
        """Raises TypeError, as PyTorch does, where a parameter, module or buffer would silently get lost.

        None may take its place.
        """
        there = vars(self).get(name)
        # `self.weight = array` would lose a parameter silently.
        kinds = _may_replace(there, name in self._buffers)
        if kinds and value is not None and not isinstance(value, kinds):
            what = "a buffer" if name in self._buffers else f"a {type(there).__name__}"
            raise TypeError(
                f"{type(self).__name__}.{name} is {what}, and {type(value).__name__} cannot take its place: "
                f"write into it, `with no_grad(): module.{name}.copy_(...)`, or assign a Parameter or None"
            )
        if name in self._buffers and isinstance(value, Parameter | Module):
            self._buffers = {one: kept for one, kept in self._buffers.items() if one != name}
        super().__setattr__(name, value)

    def children(self) -> Iterator[Module]:
        """The modules that are attributes of this one, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules that are attributes of this one, each once, with the first of its names."""
        seen: set[Module] = set()
        for name, module in self._own_modules().items():
            if module not in seen:
                seen.add(module)
                yield name, module

    def _own_modules(self) -> dict[str, Module]:
        """The modules that are attributes of this very one, by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Module)}

    def add_module(self, name: str, module: Module) -> None:
        """Make `module` an attribute. Raises KeyError for a name with a dot, or that something else has."""
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__} holds modules, not {type(module).__name__}")
        if not name or "." in name or (hasattr(self, name) and name not in self._own_modules()):
            raise KeyError(f"a module cannot be called {name!r}: empty, with a dot, or an attribute already")
        setattr(self, name, module)

    def modules(self) -> Iterator[Module]:
        """This module and all below it, each once."""
        for _, module in self.named_modules():
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it with their paths: "", "layers", "layers.0", ...

        A module that is reached on several paths comes once, unless `remove_duplicate` is False. `memo` holds
        those that have come already.
        """
        memo = set() if memo is None else memo
        if self in memo:  # a module that is shared comes once, and so do its parameters
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._own_modules().items():
            yield from child.named_modules(memo, path_of(prefix, name), remove_duplicate)

    def get_submodule(self, target: str) -> Module:
        """The module at the path `target`, as `named_modules` gives it.

        Raises AttributeError, with the path, where no module is there.
        """
        module = self
        for name in target.split(".") if target else []:
            child = getattr(module, name, None)
            if not isinstance(child, Module):
                names = ", ".join(name for name, _ in module.named_children())
                raise AttributeError(
                    f"get_submodule({target!r}): {type(module).__name__} has no module {name!r}; "
                    f"there is: {names or 'none'}"
                )
            module = child
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at the path `target`, as `named_parameters` gives it, or at another of its paths.

        Raises AttributeError where none is there.
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = module._own_parameters().get(name)
        if found is None:
            raise AttributeError(
                f"get_parameter({target!r}): {type(module).__name__} has no parameter {name!r}"
            )
        return found

    # Parameters and buffers

    def parameters(self) -> Iterator[Parameter]:
        """All parameters, each once."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their paths; one that several modules share comes once."""
        seen: set[Tensor] = set()
        for prefix, module in self.named_modules():
            for name, parameter in module._own_parameters().items():
                if parameter not in seen:  # tied weights are one parameter: an optimiser must not step twice
                    seen.add(parameter)
                    yield path_of(prefix, name), parameter

    def _own_parameters(self) -> dict[str, Parameter]:
        """The parameters of this very module, by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Parameter)}

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their paths; one that several modules share comes once."""
        seen: set[Tensor] = set()
        for prefix, module in self.named_modules():
            for name in module._buffers:
                buffer = getattr(module, name)
                if buffer not in seen:
                    seen.add(buffer)
                    yield path_of(prefix, name), buffer

    def register_buffer(self, name: str, tensor: Tensor, persistent: bool = True) -> None:
        """Make `tensor` an attribute that belongs to the module but is not learned.

        `persistent`: it is saved with the parameters. Raises KeyError if a parameter or module has that name.
        """
        if isinstance(vars(self).get(name), Parameter | Module):
            raise KeyError(f"register_buffer: {type(self).__name__} has a {name!r} already")
        self._buffers = {**self._buffers, name: persistent}  # a new dict: the old one may be the class's own
        setattr(self, name, tensor)

    def num_parameters(self) -> int:
        """How many numbers are learned; those that several modules share count once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def summary(self) -> Summary:
        """Each parameter and buffer: path, shape, numbers and bytes; shown as a table."""
        learned = [
            (name, p, "learned" if p.requires_grad else "frozen") for name, p in self.named_parameters()
        ]
        kept = [(name, buffer, "buffer") for name, buffer in self.named_buffers()]
        return Summary(
            [
                (name, t.shape, t.numel(), t.numel() * t.dtype.itemsize, kind)
                for name, t, kind in learned + kept
            ]
        )

    # All of them at once

    def train(self, mode: bool = True) -> Self:
        """Training mode, for this module and all below: dropout drops, batch norm uses the batch."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Evaluation mode: `train(False)`."""
        return self.train(False)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients; those that are there are filled with zeros instead if not `set_to_none`."""
        for parameter in self.parameters():
            if parameter.grad is not None and not set_to_none:
                parameter.grad.zero_()
            else:
                parameter.grad = None

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Let all parameters be trained, or freeze them."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call `fn` on each module, those below first: for initialisation."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def to(self, *target: DTypeLike | str, device: str | None = None, dtype: DTypeLike | None = None) -> Self:
        """Move parameters, their gradients and buffers to another device or floating dtype, in place.

        One of them or both, by position or by name. Raises TypeError for a dtype that holds no fractions.
        """
        for one in (*target, device, dtype):
            if one is not None:
                self._move(one)
        return self

    def _move(self, target: DTypeLike | str) -> None:
        for own in {*self.parameters(), *(buffer for _, buffer in self.named_buffers())}:
            moved = own.detach().to(target)
            if own.dtype.kind != "f" and moved.dtype != own.dtype:
                continue  # whole numbers stay whole
            if own.dtype.kind == "f" and moved.dtype.kind != "f":
                raise TypeError(f"to: parameters need a floating-point dtype, not {moved.dtype}")
            own.data = moved.data
            if own.grad is not None:
                own.grad = own.grad.to(target)

    # State

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and persistent buffers by path; they share memory with the module."""
        state: dict[str, Tensor] = {}
        for prefix, module in self.named_modules(remove_duplicate=False):  # all names, as PyTorch saves them
            saved = [name for name, persistent in module._buffers.items() if persistent]
            own = {**module._own_parameters(), **{name: getattr(module, name) for name in saved}}
            # No history, same memory.
            state |= {path_of(prefix, name): tensor.detach() for name, tensor in own.items()}
        return state

    def load_state_dict(self, state: Mapping[str, Tensor], strict: bool = True) -> IncompatibleKeys:
        """Copy `state` into parameters and buffers, all or nothing; returns the names that only one side has.

        Raises RuntimeError, before anything is changed, where shapes differ, or, if `strict`, where names do.
        """
        if not isinstance(state, Mapping):  # the path of a file, say
            raise TypeError(f"load_state_dict: needs a dict of tensors by path, not a {type(state).__name__}")
        own = self.state_dict()
        missing, unknown = [n for n in own if n not in state], [n for n in state if n not in own]
        problems = [
            f"{name}: shape {state[name].shape} in the state, {here.shape} here"
            for name, here in own.items()
            if name in state and state[name].shape != here.shape
        ]
        if strict:
            problems += [f"{name}: missing in the state" for name in missing]
            problems += [f"{name}: unknown here" for name in unknown]
        if problems:
            raise RuntimeError("load_state_dict: nothing was loaded\n  " + "\n  ".join(problems))
        for name, here in own.items():
            if name in state:
                # Into the memory that is there: an optimiser holds on to it.
                here.copy_(Tensor(state[name]).to(here.device))  # arrays are taken as well
        return IncompatibleKeys(missing, unknown)

    def save(self, path: str | Path) -> Path:
        """Write `state_dict()` into a file of safetensors, which `load` reads. Returns its path."""
        from safetensors.numpy import save_file

        path = Path(path)
        if path.suffix != ".safetensors":
            raise ValueError(
                f"save: the file is safetensors, so call it {path.stem}.safetensors, not {path.name}"
            )
        save_file({name: np.asarray(t.numpy(), order="C") for name, t in self.state_dict().items()}, path)
        return path

    def load(self, path: str | Path) -> Self:
        """Read what `save` wrote into this module, all or nothing. Raises as `load_state_dict` does."""
        from safetensors.numpy import load_file

        self.load_state_dict({name: Tensor(array) for name, array in load_file(path).items()})
        return self

    # Hooks

    def register_forward_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, inputs)` before each forward, to look or to return other inputs.

        Returns a handle that takes the hook away again.
        """
        return self._add_hook("_hooks_before", hook)

    def register_forward_hook(self, hook: Hook) -> Callable[[], None]:
        """Call `hook(module, inputs, output)` after each forward, to look or to return another output.

        Returns a function that takes the hook away again.
        """
        return self._add_hook("_hooks_after", hook)

    def _add_hook(self, kind: str, hook: Hook) -> RemovableHandle:
        # A new tuple: one that is being looped over stays whole.
        setattr(self, kind, (*getattr(self, kind), hook))

        def remove() -> None:
            hooks = list(getattr(self, kind))
            if hook in hooks:
                hooks.remove(hook)
            setattr(self, kind, tuple(hooks))

        return RemovableHandle(remove)

    # As text

    def __repr__(self) -> str:
        children = [
            f"({name}): {child!r}".replace("\n", "\n  ") for name, child in self._own_modules().items()
        ]
        below = "".join(f"\n  {child}" for child in children) + "\n" * bool(children)
        return f"{type(self).__name__}({self.extra_repr()}{below})"

    def extra_repr(self) -> str:
        """What stands in the brackets of the module's repr."""
        return ""


class Summary(list[tuple[str, tuple[int, ...], int, int, str]]):
    """What `Module.summary` returns: (path, shape, numbers, bytes, kind) for each tensor."""

    def __repr__(self) -> str:
        learned = sum(numbers for *_, numbers, _, kind in self if kind != "buffer")
        total = f"{learned:,} parameters, {sum(size for *_, size, _ in self):,} bytes with buffers"
        rows = [(name, str(shape), f"{n:,}", f"{size:,}", kind) for name, shape, n, size, kind in self]
        rows.insert(0, ("name", "shape", "numbers", "bytes", ""))
        wide = [max(map(len, column)) for column in zip(*rows)]
        lines = [
            f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c:>{wide[2]}}  {d:>{wide[3]}}  {e}".rstrip()
            for a, b, c, d, e in rows
        ]
        return "\n".join([*lines, total])


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` returns: names that the state lacks, and those that the module does not have."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def _may_replace(there: Any, is_buffer: bool) -> tuple[type, ...]:
    """What may be assigned where this stands; anything, if the answer is empty."""
    if isinstance(there, Parameter):
        return (Parameter,)
    if isinstance(there, Module):
        return (Parameter, Module)
    return (Tensor, Module) if is_buffer else ()


@contextmanager
def evaluating(model: Module) -> Iterator[None]:
    """Evaluation mode without gradients; each module is put back into its own mode afterwards."""
    modes = [(module, module.training) for module in model.modules()]  # each may have a mode of its own
    model.eval()
    try:
        with no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


def path_of(prefix: str, name: str) -> str:
    """The path of what is called `name` in the module at `prefix`."""
    return f"{prefix}.{name}" if prefix else name


# Modules of modules


class ModuleList(Module):
    """Modules in a list."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        self.extend(modules)

    def append(self, module: Module) -> Self:
        """Put `module` at the end. Raises TypeError for what is no module."""
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__} holds modules, not {type(module).__name__}")
        setattr(self, str(len(self)), module)  # its number is its name: "layers.0.weight" in a state
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Put all of them at the end."""
        for module in modules:
            self.append(module)
        return self

    def __len__(self) -> int:
        return len(self._own_modules())

    def __iter__(self) -> Iterator[Module]:
        return iter(self._own_modules().values())

    def __getitem__(self, i: int | slice) -> Any:
        """Module number `i`; for a slice a container of the same kind."""
        found = list(self)[i]
        return type(self)().extend(found) if isinstance(found, list) else found


class ModuleDict(Module):
    """Modules by name, in the order in which they came; each is an attribute, too."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        self.update(modules or {})

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add or replace all of them."""
        for name, module in dict(modules).items():
            self[name] = module

    def __getitem__(self, name: str) -> Module:
        return self._own_modules()[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        delattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self._own_modules()

    def __len__(self) -> int:
        return len(self._own_modules())

    def __iter__(self) -> Iterator[str]:
        return iter(self._own_modules())

    def keys(self) -> Iterable[str]:
        return self._own_modules().keys()

    def values(self) -> Iterable[Module]:
        return self._own_modules().values()

    def items(self) -> Iterable[tuple[str, Module]]:
        return self._own_modules().items()


class Sequential(ModuleList):
    """Modules one after the other: each takes what the one before returns.

    One dict in place of the modules gives them names: Sequential(OrderedDict(first=..., last=...)).
    """

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            self.extend(modules)  # type: ignore[arg-type]

    def __getitem__(self, i: int | slice) -> Any:
        """Module number `i`; for a slice a Sequential whose modules keep their names, as in PyTorch."""
        found = list(self._own_modules().items())[i]
        return type(self)(dict(found)) if isinstance(found, list) else found[1]

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input


# Linear and embedding


class Linear(Module):
    """x @ weight.T + bias: (..., in_features) -> (..., out_features). weight: (out_features, in_features)."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        self.in_features, self.out_features = in_features, out_features
        # (out, in), as in PyTorch: `forward` transposes.
        self.weight = Parameter(zeros(out_features, in_features))
        self.bias = Parameter(zeros(out_features)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw anew, evenly between -1/sqrt(in_features) and 1/sqrt(in_features), as in PyTorch."""
        _reset(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        has_bias = self.bias is not None
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={has_bias}"


class Embedding(Module):
    """A vector for each integer: (...) -> (..., embedding_dim). weight: (num_embeddings, embedding_dim).

    The row `padding_idx` starts at 0 and gets no gradient.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None) -> None:
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx
        self.weight = Parameter(randn(num_embeddings, embedding_dim))
        if padding_idx is not None:
            with no_grad():
                self.weight[padding_idx] = 0

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


@no_grad()
def _reset(weight: Tensor, bias: Tensor | None) -> None:
    """PyTorch's default for Linear and Conv: drawn evenly up to 1/sqrt(fan_in)."""
    fan_in, _ = fan(weight)
    bound = 1 / math.sqrt(fan_in) if fan_in else 0
    for parameter in (weight, bias):
        if parameter is not None:
            parameter.uniform_(-bound, bound)


# Convolution


class _Conv(Module):
    """What Conv1d and Conv2d share. weight: (out_channels, in_channels // groups, *kernel_size)."""

    ndim: int
    convolve: Callable[..., Tensor]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] | str = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(f"groups={groups} must be positive and divide {in_channels} and {out_channels}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        sizes = kernel_size, stride, dilation
        self.kernel_size, self.stride, self.dilation = (F.per_axis(size, self.ndim) for size in sizes)
        self.padding = padding if isinstance(padding, str) else F.per_axis(padding, self.ndim)
        same = padding == "same" and max(self.stride) == 1
        if isinstance(padding, str) and padding != "valid" and not same:
            raise ValueError(f'padding is "valid", "same" (with stride 1) or numbers, not {padding!r}')
        self.weight = Parameter(zeros(out_channels, in_channels // groups, *self.kernel_size))
        self.bias = Parameter(zeros(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw anew, evenly between -1/sqrt(fan_in) and 1/sqrt(fan_in), as in PyTorch."""
        _reset(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        convolve = type(self).convolve
        return convolve(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        )
        options = {"padding": self.padding, "dilation": self.dilation, "groups": self.groups}
        defaults = (0,) * self.ndim, (1,) * self.ndim, 1
        text += "".join(f", {name}={n}" for (name, n), usual in zip(options.items(), defaults) if n != usual)
        return text + ("" if self.bias is not None else ", bias=False")


class Conv1d(_Conv):
    """(N, in_channels, L) -> (N, out_channels, L')."""

    ndim = 1
    convolve = F.conv1d


class Conv2d(_Conv):
    """(N, in_channels, H, W) -> (N, out_channels, H', W')."""

    ndim = 2
    convolve = F.conv2d


# Pooling


class MaxPool2d(Module):
    """The largest number of each window: (N, C, H, W) -> (N, C, H', W')."""

    def __init__(
        self,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
    ) -> None:
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool2d(input, self.kernel_size, self.stride, self.padding, self.dilation)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}, dilation={self.dilation}"
        )


class AvgPool2d(Module):
    """The mean of each window: (N, C, H, W) -> (N, C, H', W'). See `functional.avg_pool2d`."""

    def __init__(
        self,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override
        F.check_avg_pool2d(ceil_mode, divisor_override)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, count_include_pad=self.count_include_pad
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveAvgPool2d(Module):
    """Means of windows that share the input evenly: (N, C, H, W) -> (N, C, *output_size).

    None keeps the length of a side.
    """

    def __init__(self, output_size: int | tuple[int | None, int | None] | None) -> None:
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class Identity(Module):
    """What comes in, unchanged. What it is made with is ignored, as in PyTorch: it stands for any layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def forward(self, input: Tensor) -> Tensor:
        return input


class Flatten(Module):
    """The axes from `start_dim` to `end_dim` as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


# Norms


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last axes, then a learned scale and shift. arXiv:1607.06450."""

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
    ) -> None:
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps = shape, eps
        self.weight = Parameter(ones(shape)) if elementwise_affine else None
        self.bias = Parameter(zeros(shape)) if elementwise_affine and bias else None

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"


class RMSNorm(Module):
    """Root mean square 1 over the last axes, then a learned scale. arXiv:1910.07467."""

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float | None = None,
        elementwise_affine: bool = True,
    ) -> None:
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps = shape, eps
        self.weight = Parameter(ones(shape)) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"


# Batch norm


class _BatchNorm(Module):
    """Mean 0 and variance 1 for each channel, over the batch and all other axes. arXiv:1502.03167.

    In training the batch's own mean and variance are used, and running averages of them kept; in evaluation
    these averages stand in.
    """

    ndims: tuple[int, ...]
    num_batches_tracked: Tensor

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = Parameter(ones(num_features)) if affine else None
        self.bias = Parameter(zeros(num_features)) if affine else None
        self.running_mean: Tensor | None = None
        self.running_var: Tensor | None = None
        if track_running_stats:
            self.register_buffer("running_mean", zeros(num_features))
            self.register_buffer("running_var", ones(num_features))
            self.register_buffer("num_batches_tracked", zeros(dtype=np.int64))

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in self.ndims or input.shape[1] != self.num_features:
            raise ValueError(
                f"{type(self).__name__}({self.num_features}): got shape {input.shape}; expected "
                f"{' or '.join(map(str, self.ndims))} axes, with {self.num_features} features on axis 1"
            )
        # With no averages kept, evaluation has but the batch.
        by_batch = self.training or self.running_mean is None
        if self.training and self.running_mean is not None:
            self.num_batches_tracked.data += 1  # for PyTorch's state_dict; nothing here reads it
        return F.batch_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            by_batch,
            self.momentum,
            self.eps,
        )

    def extra_repr(self) -> str:
        tracks = self.running_mean is not None
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.weight is not None}, track_running_stats={tracks}"
        )


class BatchNorm1d(_BatchNorm):
    """(N, C) or (N, C, L)."""

    ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """(N, C, H, W)."""

    ndims = (4,)


# Dropout


class Dropout(Module):
    """In training each number becomes 0 with probability `p`, the others are divided by 1 - p."""

    def __init__(self, p: float = 0.5, generator: Generator | None = None) -> None:
        if not 0 <= p <= 1:
            raise ValueError(f"dropout: p is a probability between 0 and 1, not {p}")
        self.p, self.generator = p, generator

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.generator)

    def extra_repr(self) -> str:
        return f"p={self.p}"


# Activations


class ReLU(Module):
    """max(x, 0)."""

    def __init__(self, inplace: bool = False) -> None:
        if inplace:
            raise ValueError("ReLU: inplace=True is not done here: leave it out, the result is the same")

    def forward(self, input: Tensor) -> Tensor:
        return input.relu()


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class GELU(Module):
    """x times the probability that a normal number is below x. `approximate`: "none" or "tanh"."""

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class SiLU(Module):
    """x * sigmoid(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input)


# Losses


class CrossEntropyLoss(Module):
    """`functional.cross_entropy` with its options kept."""

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        self.weight: Tensor | None = None
        if weight is not None:
            self.register_buffer("weight", weight)
        self.ignore_index, self.reduction, self.label_smoothing = ignore_index, reduction, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


class MSELoss(Module):
    """The mean of squared differences."""

    def __init__(self, reduction: str = "mean") -> None:
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, self.reduction)
