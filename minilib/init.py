"""Initial weights by Kaiming and Xavier, so that signals neither grow nor vanish with depth.

Taught in solutions/03d_first_numbers.ipynb: what it exports is edited there, then `make promote`.
"""

from __future__ import annotations

import math

from minilib.tensor import Generator, Number, Tensor, explain, no_grad

# One kind of number


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Numbers from the uniform distribution on [a, b)."""
    return tensor.uniform_(a, b, generator)


@no_grad()
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normal numbers."""
    return tensor.normal_(mean, std, generator)


@no_grad()
def constant_(tensor: Tensor, val: Number) -> Tensor:
    """The same number everywhere."""
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Ones everywhere."""
    return constant_(tensor, 1)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros everywhere."""
    return constant_(tensor, 0)


# Kaiming


@no_grad()
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers with standard deviation gain / sqrt(fan). He et al. 2015, arXiv:1502.01852."""
    return tensor.normal_(0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


@no_grad()
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform numbers, standard deviation gain / sqrt(fan). He et al. 2015, arXiv:1502.01852."""
    bound = math.sqrt(3) * _kaiming_std(tensor, a, mode, nonlinearity)  # U(-b, b) has the variance b² / 3
    return tensor.uniform_(-bound, bound, generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode is fan_in or fan_out, not {mode!r}")
    fan_in, fan_out = fan(tensor)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


# Xavier


@no_grad()
def xavier_normal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Normal numbers with variance gain**2 * 2 / (fan_in + fan_out). Glorot & Bengio 2010."""
    return tensor.normal_(0, gain * math.sqrt(2 / sum(fan(tensor))), generator)  # a mean of both fans


@no_grad()
def xavier_uniform_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Uniform numbers, variance gain**2 * 2 / (fan_in + fan_out). Glorot & Bengio 2010."""
    bound = gain * math.sqrt(6 / sum(fan(tensor)))  # the root of 3 times that variance
    return tensor.uniform_(-bound, bound, generator)


# What both ask of a weight


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the spread of numbers through a nonlinearity. PyTorch's table.

    `param`: the slope of "leaky_relu" below 0, 0.01 by default.
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    gains = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "sigmoid": 1.0}
    gains |= {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75}
    if nonlinearity not in gains:
        known = ", ".join(["leaky_relu", *gains])
        raise ValueError(f"no gain is known for {nonlinearity!r}; there are: {known}")
    return gains[nonlinearity]


def fan(weight: Tensor) -> tuple[int, int]:
    """How many numbers each output is a sum of, and how many outputs each input goes into.

    For a weight (out, in, *kernel): in * kernel and out * kernel. Raises ValueError for fewer than two axes.
    """
    if weight.ndim < 2:
        raise ValueError(f"a weight needs at least two axes, not shape {weight.shape}")
    kernel = math.prod(weight.shape[2:])  # 1 for a matrix
    return weight.shape[1] * kernel, weight.shape[0] * kernel


explain(globals(), [name for name in globals() if name.endswith("_") and not name.startswith("_")])
