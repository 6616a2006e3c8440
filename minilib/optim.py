"""Optimisers, schedules of the learning rate, gradient clipping: PyTorch's, in place on arrays.

Taught in chapters/03e_optimisers.ipynb and solutions/03e_optimisers.ipynb: what they export is edited there,
then `make promote`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from minilib.parallel import elementwise, one_blas_thread
from minilib.tensor import Array, Tensor, array_module, wrote

# Parameters in groups


Group: TypeAlias = dict[str, Any]


class Optimizer:
    """Parameters in groups, each with options of its own, and what is remembered for each parameter.

    `params`: tensors, or dicts with "params" and options that differ from the defaults. A parameter whose
    `grad` is None is left alone, weight decay too.
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[Group], **defaults: Any) -> None:
        self.defaults = defaults
        self.param_groups: list[Group] = []
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)  # tensors hash by identity
        groups: list[Any] = _listed(params)
        if not groups:
            raise ValueError("an optimizer needs at least one parameter: was the generator used before?")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, group: Group) -> None:
        """Add parameters with options of their own.

        Raises ValueError for a parameter that is here already and for options out of range, TypeError for
        what is not a leaf.
        """
        if "params" not in group:
            raise ValueError(f"a parameter group needs 'params', it has {sorted(group)}")
        group = {**self.defaults, **group, "params": _listed(group["params"])}
        known = {id(p) for p in self._all()}  # `in` a list of tensors would compare numbers
        for p in group["params"]:
            _check_leaf(p)
            if id(p) in known:
                raise ValueError(f"a parameter of shape {p.shape} stands in two groups, or twice in one")
            known.add(id(p))
        _check_options(group)
        self.param_groups.append(group)

    def _all(self) -> Iterator[Tensor]:
        for group in self.param_groups:
            yield from group["params"]

    # A step

    def step(self) -> None:
        """Change each parameter that has a gradient."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:  # weight decay, too, leaves alone what took no part
                    self.update(p, group)

    def update(self, p: Tensor, group: Group) -> None:
        """Change one parameter, in place, by its gradient and the options of its group."""
        raise NotImplementedError(f"{type(self).__name__} has no update")

    def remember(self, p: Tensor, *names: str) -> list[Array]:
        """The arrays of these names in the state of `p`: of its shape, zeros at first."""
        state = self.state[p]
        for name in names:
            if name not in state:
                # At the first step: no gradient, no memory.
                state[name] = array_module(p.data).zeros(p.shape, p.dtype)
        return [state[name] for name in names]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients; those that are there are filled with zeros instead if not `set_to_none`."""
        for p in self._all():
            if p.grad is not None and not set_to_none:
                p.grad.zero_()
            else:
                p.grad = None

    def __repr__(self) -> str:
        told = []
        for group in self.param_groups:
            options = ", ".join(f"{name}={value}" for name, value in group.items() if name != "params")
            numbers = sum(p.numel() for p in group["params"])
            told.append(f"{len(group['params'])} tensors, {numbers} numbers: {options}")
        return f"{type(self).__name__}({'; '.join(told)})"

    # State

    def state_dict(self) -> dict[str, Any]:
        """Options and what is remembered, parameters by their number: PyTorch's layout. Arrays are shared."""
        numbers = {id(p): i for i, p in enumerate(self._all())}
        return {
            "state": {numbers[id(p)]: dict(state) for p, state in self.state.items()},
            "param_groups": [
                {**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups
            ],
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave, copied; one of PyTorch's too.

        Raises ValueError, before anything is changed, where it does not fit.
        """
        groups, params = state_dict["param_groups"], list(self._all())
        sizes = [[len(group["params"]) for group in each] for each in (groups, self.param_groups)]
        if sizes[0] != sizes[1]:
            raise ValueError(f"the state is of groups of {sizes[0]} parameters; here are {sizes[1]}")
        for name in ("amsgrad", "maximize"):
            if any(group.get(name) for group in groups):
                raise ValueError(f"the state is of an optimizer with {name}, which is not known here")
        by_number = dict(zip([i for group in groups for i in group["params"]], params))
        if not set(state_dict["state"]) <= set(by_number):
            raise ValueError(
                f"the state has parameters {list(state_dict['state'])}, groups {list(by_number)}"
            )
        state = {by_number[i]: _loaded(values, by_number[i]) for i, values in state_dict["state"].items()}
        for own, group in zip(self.param_groups, groups):
            own |= {name: value for name, value in group.items() if name != "params"}
        self.state = defaultdict(dict, state)


def _listed(params: Any) -> list[Any]:
    """Tensors or groups as a list; unlike PyTorch, an optimizer takes one tensor alone as well."""
    if isinstance(params, Tensor):
        return [params]
    if not isinstance(params, Iterable):  # a module, most often
        raise TypeError(f"needs tensors, not a {type(params).__name__}: use model.parameters()")
    return list(params)


def _check_leaf(p: Any) -> None:
    if not isinstance(p, Tensor):
        raise TypeError(f"an optimizer takes tensors, not {type(p).__name__}")
    if p.function is not None:
        name = p.function.name
        raise TypeError(f"an optimizer takes leaf tensors, not a result of {name}: use x.detach()")


def _check_options(group: Group) -> None:
    betas = group.get("betas", ())
    rates = {name: group.get(name, 0) for name in ("lr", "momentum", "weight_decay", "eps")}
    for name, value in [*rates.items(), *(("a beta", beta) for beta in betas)]:
        if not isinstance(value, Real):  # a tensor of one element, as PyTorch takes, is refused
            raise TypeError(f"{name} is a number, not a {type(value).__name__}: use x.item()")
    for name, value in rates.items():
        if not value >= 0:
            raise ValueError(f"{name} must not be negative, and is {value}")
    for beta in betas:
        if not 0 <= beta < 1:
            raise ValueError(f"betas must be at least 0 and below 1, and are {group['betas']}")


def _loaded(values: Mapping[str, Any], p: Tensor) -> dict[str, Any]:
    """Copies of what is remembered for one parameter, in its dtype and on its device."""
    loaded: dict[str, Any] = {}
    for name, value in values.items():
        if name == "step":
            loaded[name] = int(value)
        elif value is not None:  # PyTorch's SGD keeps a None where there is no momentum
            loaded[name] = array_module(p.data).array(value, p.dtype)
            if loaded[name].shape != p.shape:
                raise ValueError(f"{name} has shape {loaded[name].shape}, its parameter {p.shape}")
    return loaded


def in_place(p: Tensor, rule: Callable[..., None], *remembered: Array) -> None:
    """rule(parameter, gradient, *remembered), in flat pieces of their memory, which the rule changes."""
    grad = p.grad
    if grad is None or grad.shape != p.shape:
        raise ValueError(f"a parameter of shape {p.shape} has a gradient of {grad and grad.shape}")
    # Flat pieces of a strided array would be copies.
    data = p.data if p.data.flags.c_contiguous else p.data.copy()
    elementwise(rule, data, grad.data, *remembered)  # piece by piece: all arrays of a step stay in the cache
    if data is not p.data:
        p.data[...] = data
    wrote(p.data)  # a graph that saved the old weights must refuse to go back


# Stochastic gradient descent


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum (Nesterov's, if wanted), as PyTorch's."""

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum needs momentum > 0 and dampening = 0")
        options = {"lr": lr, "momentum": momentum, "dampening": dampening}
        super().__init__(params, **options, weight_decay=weight_decay, nesterov=nesterov)

    def update(self, p: Tensor, group: Group) -> None:
        """Change one parameter. The first velocity is the gradient itself, not dampened, as in PyTorch."""
        options = {name: group[name] for name in ("lr", "momentum", "dampening", "weight_decay")}
        velocity: list[Array] = []
        if group["momentum"]:
            if "momentum_buffer" not in self.state[p]:
                options["dampening"] = 0
            velocity = self.remember(p, "momentum_buffer")
        in_place(p, partial(sgd, **options, look_ahead=group["nesterov"]), *velocity)


# The step of gradient descent, and momentum


def sgd(
    x: Array,
    grad: Array,
    velocity: Array | None = None,
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    look_ahead: bool = False,
) -> None:
    """One step of stochastic gradient descent: changes `x` and `velocity` in place, never `grad`."""
    if weight_decay:
        grad = grad + weight_decay * x
    if velocity is not None and look_ahead:
        grad = nesterov(grad, velocity, momentum)
    elif velocity is not None:
        grad = heavy_ball(grad, velocity, momentum, dampening)
    x -= lr * grad


def heavy_ball(grad: Array, velocity: Array, momentum: float, dampening: float = 0.0) -> Array:
    """Move `velocity`, in place, and return it as the direction of the step. Polyak 1964."""
    velocity *= momentum
    # PyTorch's form: lr outside, not in the velocity.
    velocity += (1 - dampening) * grad if dampening else grad
    return velocity


def nesterov(grad: Array, velocity: Array, momentum: float) -> Array:
    """Move `velocity`, in place, and return the step's direction. Nesterov 1983; Sutskever et al. 2013."""
    velocity *= momentum
    velocity += grad
    return grad + momentum * velocity  # a look ahead: where momentum will have carried us


# Adam and AdamW


class Adam(Optimizer):
    """Steps of about the size `lr`, whatever the gradient's scale. Kingma & Ba 2014, arXiv:1412.6980.

    `weight_decay` is added to the gradient (L2); see AdamW for the decoupled one.
    """

    decoupled = False

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def update(self, p: Tensor, group: Group) -> None:
        options = {name: group[name] for name in ("lr", "betas", "eps", "weight_decay")}
        state = self.state[p]
        # From 1: the corrections divide by 1 - beta**step.
        options["step"] = state["step"] = state.get("step", 0) + 1
        moments = self.remember(p, "exp_avg", "exp_avg_sq")
        in_place(p, partial(adam, **options, decoupled=self.decoupled), *moments)


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter itself. Loshchilov & Hutter 2017, arXiv:1711.05101."""

    decoupled = True

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)


# The step of Adam


def adam(
    x: Array,
    grad: Array,
    mean: Array,
    square: Array,
    *,
    step: int,
    lr: float,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float = 0.0,
    decoupled: bool = False,
) -> None:
    """One step of Adam or AdamW: changes `x`, `mean` and `square` in place, never `grad`."""
    if weight_decay and decoupled:
        x *= 1 - lr * weight_decay  # apart from the gradient, so that its scale does not shrink the decay
    elif weight_decay:
        grad = grad + weight_decay * x
    work = (1 - betas[0]) * grad  # one work array for all that follows: the formula as it stands makes nine
    mean *= betas[0]
    mean += work
    np.multiply(grad, grad, out=work)
    work *= 1 - betas[1]
    square *= betas[1]
    square += work  # m and v of arXiv:1412.6980, algorithm 1
    root = math.sqrt(1 - betas[1] ** step)  # the corrections as two numbers, not as two arrays
    np.sqrt(square, out=work)
    work += eps * root
    np.divide(mean, work, out=work)
    work *= lr * root / (1 - betas[0] ** step)
    x -= work


def bias_corrected(lr: float, betas: tuple[float, float], eps: float, step: int) -> tuple[float, float]:
    """Scale and eps with which scale * mean / (sqrt(square) + eps) is Adam's step, both means corrected.

    arXiv:1412.6980, the end of section 2.
    """
    root = math.sqrt(1 - betas[1] ** step)
    return lr * root / (1 - betas[0] ** step), eps * root


def adam_numbers(
    *,
    step: int,
    lr: float,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float = 0.0,
    decoupled: bool = False,
) -> tuple[float, ...]:
    """What a kernel that does the step of `adam` in one pass has to know, all else being arrays.

    By how much x shrinks, what of x joins the gradient, each beta and 1 minus it, scale and eps.
    """
    scale, eps = bias_corrected(lr, betas, eps, step)
    shrink, decay = (1 - lr * weight_decay, 0.0) if decoupled else (1.0, weight_decay)
    return shrink, decay, betas[0], 1 - betas[0], betas[1], 1 - betas[1], scale, eps


# Gradient clipping


def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float) -> Tensor:
    """Shorten all gradients together, in place, to the length `max_norm` where they are longer.

    Returns the length before. PyTorch's nn.utils.clip_grad_norm_; arXiv:1211.5063.
    """
    parameters = _listed(parameters)
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = grad_norm(parameters)
    scale = max_norm / (norm + 1e-6)  # PyTorch's 1e-6: a gradient of 0 divides by no 0
    if not scale >= 1:  # where the norm is NaN too, as in PyTorch
        for grad in grads:
            grad.data *= scale
    return Tensor(norm, grads[0].dtype if grads else np.float32)


def grad_norm(parameters: Tensor | Iterable[Tensor]) -> float:
    """The length of all gradients together, as one vector."""
    grads = [p.grad.data.reshape(-1) for p in _listed(parameters) if p.grad is not None]
    with one_blas_thread():  # each of them is soon done
        return math.sqrt(sum(float(g @ g) for g in grads))  # a dot product each: no array of squares


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Hold each number of the gradients between -clip_value and clip_value, in place."""
    for p in _listed(parameters):
        if p.grad is not None:
            np.clip(p.grad.data, -clip_value, clip_value, out=p.grad.data)


# Schedules of the learning rate


class LRScheduler:
    """Sets each group's learning rate as a function of the steps taken: `step()` after the optimizer's."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])  # the optimiser's state keeps it for a resume
        self.last_epoch = -1  # PyTorch's name for the number of steps
        self.step()

    def step(self) -> None:
        """Go on by one step."""
        self.last_epoch += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.moved(group)

    def moved(self, group: Group) -> float:
        """The rate of a group after this step: by the schedule, from the rate that the group has now.

        So schedulers of one optimizer multiply, a rate that was set by hand is gone on from, and a group that
        joined later begins with its own, as in PyTorch. (Multiplied is the distance from `floor`.)
        """
        lr: float = group["lr"]
        initial: float = group.setdefault("initial_lr", lr)
        was = self.rate(initial, self.last_epoch - 1) if self.last_epoch else initial
        now = self.rate(initial, self.last_epoch)
        if lr == was:  # nobody else has touched it: take the formula, free of rounding
            return now
        if was == self.floor:  # nothing is left to multiply
            return lr + now - was
        return self.floor + (lr - self.floor) * (now - self.floor) / (was - self.floor)

    @property
    def floor(self) -> float:
        """What the rate is measured from: 0, or the rate that a schedule goes down to."""
        return 0.0

    def rate(self, initial: float, step: int) -> float:
        """The learning rate after `step` steps of a group that began with `initial`."""
        raise NotImplementedError(f"{type(self).__name__} has no rate")

    def get_last_lr(self) -> list[float]:
        """The learning rate of each group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """How many steps were taken; the initial rates are in the optimizer's groups."""
        return {"last_epoch": self.last_epoch}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Stand where `state_dict` was called. The rates come with the optimizer's, as in PyTorch."""
        self.last_epoch = int(state_dict["last_epoch"])


# Steps, lines and cosines


class LambdaLR(LRScheduler):
    """The initial rate times `lr_lambda(step)`, whatever the rate is now, as in PyTorch.

    Raises ValueError at the next step where a group has joined the optimizer since it was made.
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float]) -> None:
        self.lr_lambda = lr_lambda
        super().__init__(optimizer)

    def moved(self, group: Group) -> float:
        if "initial_lr" not in group:
            raise ValueError("LambdaLR: a group has joined the optimizer since; make the schedule after it")
        return self.rate(group["initial_lr"], self.last_epoch)

    def rate(self, initial: float, step: int) -> float:
        return initial * self.lr_lambda(step)


class StepLR(LRScheduler):
    """Times `gamma` every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        if step_size < 1:
            raise ValueError(f"step_size must be at least 1 step, and is {step_size}")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer)

    def rate(self, initial: float, step: int) -> float:
        return initial * self.gamma ** (step // self.step_size)


class LinearLR(LRScheduler):
    """From `start_factor` to `end_factor` times the initial rate in `total_iters` steps, in a line."""

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5
    ) -> None:
        if total_iters < 1:
            raise ValueError(f"total_iters must be at least 1 step, and is {total_iters}")
        if not (0 < start_factor <= 1 and 0 <= end_factor <= 1):
            raise ValueError(
                f"factors lie above 0 and up to 1, the last may be 0: {start_factor}, {end_factor}"
            )
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer)

    def rate(self, initial: float, step: int) -> float:
        part = min(step, self.total_iters) / self.total_iters
        return initial * (self.start_factor + (self.end_factor - self.start_factor) * part)


class CosineAnnealingLR(LRScheduler):
    """Down to `eta_min` in `T_max` steps along half a cosine. arXiv:1608.03983, eq. 5, without restarts."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0) -> None:
        if T_max < 1:
            raise ValueError(f"T_max must be at least 1 step, and is {T_max}")
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer)

    @property
    def floor(self) -> float:
        return self.eta_min

    def rate(self, initial: float, step: int) -> float:
        return self.eta_min + (initial - self.eta_min) * (1 + math.cos(math.pi * step / self.T_max)) / 2


class WarmupCosine(LRScheduler):
    """Up in a straight line for `warmup` steps, then down to `min_lr` along half a cosine until step `total`.

    Step k of the warm-up has (k + 1) / (warmup + 1) of the rate, so that the first step is not lost; after
    `total` the rate stays. In PyTorch: SequentialLR of a LinearLR and a CosineAnnealingLR.
    """

    def __init__(self, optimizer: Optimizer, warmup: int, total: int, min_lr: float = 0.0) -> None:
        if not 0 <= warmup < total:
            raise ValueError(f"warm-up ({warmup} steps) must end before the schedule does ({total} steps)")
        self.warmup, self.total, self.min_lr = warmup, total, min_lr
        super().__init__(optimizer)

    @property
    def floor(self) -> float:
        return self.min_lr if self.last_epoch > self.warmup else 0.0

    def rate(self, initial: float, step: int) -> float:
        """The learning rate after `step` steps of a group that began with `initial`."""
        if step < self.warmup:
            return initial * (step + 1) / (self.warmup + 1)
        part = min(step - self.warmup, self.total - self.warmup) / (self.total - self.warmup)
        return self.min_lr + (initial - self.min_lr) * (1 + math.cos(math.pi * part)) / 2
