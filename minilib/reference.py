"""The simple version of what has a fast one: tests prove that both give the same.

Taught in chapters/01_scalar.ipynb, solutions/01_scalar.ipynb, solutions/02b_engine.ipynb,
chapters/03a_losses.ipynb, solutions/03a_losses.ipynb, solutions/03b_convolution.ipynb,
solutions/03c_modules.ipynb, solutions/03f_training.ipynb, chapters/06b_attention.ipynb,
chapters/07b_scan.ipynb, solutions/07b_scan.ipynb, chapters/09a_sessions.ipynb and
solutions/10d_streams.ipynb: what they export is edited there, then `make promote`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from minilib import functional as F
from minilib.dag import ancestors
from minilib.engine import FREED, Array, Function, Node, Shape
from minilib.functional.scan import scan_loop
from minilib.nn import Module, Parameter
from minilib.optim import LRScheduler, Optimizer
from minilib.tensor import Tensor, default_generator

# Scalars: a number that knows its derivative


class Value:
    def __init__(self, data, op="", inputs=(), derivatives=()):
        self.data, self.grad, self.op = data, 0.0, op
        self.inputs, self.derivatives = inputs, derivatives

    def __add__(self, other):
        if not isinstance(other, Value):
            other = Value(other)
        return Value(self.data + other.data, "+", (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.data * other.data, "*", (self, other), (other.data, self.data))

    def relu(self):
        return Value(max(self.data, 0.0), "ReLU", (self,), (float(self.data > 0),))

    def tanh(self):
        """Hyperbolic tangent; derivative 1 - tanh(x)**2."""
        t = math.tanh(self.data)
        return Value(t, "tanh", (self,), (1 - t * t,))  # by the result, which spares a second tanh

    def exp(self):
        """e**x. Raises OverflowError above 709.78, where a float ends."""
        e = math.exp(self.data)  # its own derivative, so it is worked out once
        return Value(e, "exp", (self,), (e,))

    def log(self):
        """Natural logarithm. Raises ValueError for a number that is not positive."""
        if self.data <= 0:
            raise ValueError(f"log: expected a positive number, got {self.data}")
        return Value(math.log(self.data), "log", (self,), (1 / self.data,))

    def backward(self):
        """Add to the `grad` of each leaf the derivative of this value; set that of each operation to it."""
        order = topological_order(self)
        for value in order:
            value.grad = 0.0
        self.grad = 1.0
        for value in reversed(order):  # the newest first: all that use its result have spoken
            for i, derivative in zip(value.inputs, value.derivatives):
                i.grad += derivative * value.grad


def topological_order(root):
    """The operations below `root`, each after those that it was made of. Leaves are left out."""
    order, seen, stack = [], set(), [root]
    while stack:
        value = stack.pop()
        if value is None:  # the inputs of the next one are in the order by now
            order.append(stack.pop())
        elif value.op and value not in seen:
            seen.add(value)
            stack += [value, None, *value.inputs]
    return order


def weighted_sum(weights, inputs, bias):
    """bias + w[0]*x[0] + w[1]*x[1] + ..., as one node. Inputs that are plain numbers get no gradient."""
    x = [v.data if isinstance(v, Value) else v for v in inputs]
    total = bias.data
    for weight, value in zip(weights, x, strict=True):  # strict: one input for each weight
        total += weight.data * value
    made_of, derivatives = [bias, *weights], [1.0, *x]  # d/d bias = 1, d/d w[i] = x[i]
    for weight, v in zip(weights, inputs):
        if isinstance(v, Value):
            made_of.append(v)
            derivatives.append(weight.data)  # d/d x[i] = w[i]
    return Value(total, "weighted_sum", tuple(made_of), tuple(derivatives))


# Losses: cross-entropy


def chain_cross_entropy(scores: Any, target: Any) -> Any:
    """Mean of -log softmax(scores) at the targets, operation by operation: tensors (N, C) and (N,)."""
    shifted = scores - scores.amax(1, keepdim=True).detach()
    log_sums = shifted.exp().sum(1).log()
    picked = shifted.gather(1, target.unsqueeze(1)).squeeze(1)
    return (log_sums - picked).mean()


# Norms: layer norm


def chain_layer_norm(x: Any, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
    """Rows of mean 0 and variance 1, times weight plus bias, operation by operation."""
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred * centred).mean(-1, keepdim=True) + eps).sqrt() * weight + bias


# Layers: convolution


def convolve(x: Array, weight: Array) -> Array:
    """Each window times weights, summed: x (N, C, H, W), weight (O, C, h, w) give (N, O, H - h + 1, ..)."""
    windows = sliding_window_view(x, weight.shape[2:], axis=(2, 3))  # (N, C, H', W', h, w)
    n, _, high, wide = windows.shape[:4]
    rows = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n, high * wide, -1)  # im2col: a row for each place
    out = rows @ weight.reshape(len(weight), -1).T  # (N, places, O)
    return out.swapaxes(1, 2).reshape(n, -1, high, wide)


def convolve_backward(grad: Array, x: Array, weight: Array) -> tuple[Array, Array]:
    """The gradients of x and of weight, from that of the result."""
    (h, w), turned = weight.shape[2:], weight[:, :, ::-1, ::-1]
    around = np.pad(grad, ((0, 0), (0, 0), (h - 1, h - 1), (w - 1, w - 1)))
    dx = convolve(around, turned.swapaxes(0, 1))  # a pixel gathers from all windows that it lies in
    dw = convolve(x.swapaxes(0, 1), grad.swapaxes(0, 1))  # a weight collects from all places and images
    return dx, dw.swapaxes(0, 1)


# Optimisers: Adam


def adam(x: Any, grad: Any, mean: Any, square: Any, step: int, lr: float, betas: Any, eps: float) -> Any:
    """Step number `step` (from 1) of Adam: the new x, mean and square. arXiv:1412.6980, algorithm 1."""
    beta1, beta2 = betas
    mean = beta1 * mean + (1 - beta1) * grad
    square = beta2 * square + (1 - beta2) * grad**2
    corrected = mean / (1 - beta1**step), square / (1 - beta2**step)
    return x - lr * corrected[0] / (corrected[1] ** 0.5 + eps), mean, square


# Attention


def chain_attention(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """Attention, operation by operation: q (..., T, d), k and v (..., S, d), mask (T, S) of 0 and -inf."""
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + mask  # (..., T, S)
    exps = (scores - scores.amax(-1, keepdim=True).detach()).exp()
    return (exps / exps.sum(-1, keepdim=True)) @ v


# The engine: newest first


def walk(root: Function, seed: Array) -> dict[Node, Array]:
    """The gradients of all leaves below the operation `root`, whose result has the gradient `seed`."""
    grads: dict[Node, Array] = {root: seed}
    queue = [(-root.serial, root)]
    while queue:
        f = heappop(queue)[1]  # the newest: all that use its result have spoken
        shares = f.backward(grads.pop(f))
        f.saved = FREED
        for node, dx in zip(f.inputs, shares if isinstance(shares, tuple) else (shares,)):
            if dx is not None and node.requires_grad:
                if dx.shape != node.shape:
                    dx = sum_to(dx, node.shape)
                if isinstance(node, Function) and node not in grads:
                    heappush(queue, (-node.serial, node))
                grads[node] = grads[node] + dx if node in grads else dx  # not +=: others may have the array
    return grads


# Gradients: what broadcasting had repeated


def sum_to(array: Array, shape: Shape) -> Array:
    """The sum of `array` over the axes that broadcasting from `shape` had added or repeated."""
    extra = array.ndim - len(shape)
    repeated = tuple(extra + i for i, n in enumerate(shape) if n == 1 and array.shape[extra + i] != 1)
    summed = array.sum(axis=(*range(extra), *repeated), keepdims=True)
    return summed.reshape(shape)


# The selective scan, of one sample


def chunk_states(x: Array, delta: Array, A: Array, B: Array, before: Array) -> tuple[Array, Array]:
    """exp(Δ A), with a 1 for the step after the last, (T + 1, E, N), and the states (T, E, N) of one sample.

    x and delta (T, E), A (E, N), B (T, N); `before` (E, N) is the state that came before.
    """
    a = np.ones((len(x) + 1, *A.shape), x.dtype)
    np.exp(delta[:, :, None] * A, out=a[:-1])
    b = (delta * x)[:, :, None] * B[:, None, :]  # (T, E, 1) times (T, 1, N)
    return a, scan_loop(a[:-1], b, before)


def sample_forward(
    x: Array, delta: Array, A: Array, B: Array, C: Array, before: Array, size: int
) -> tuple[Array, Array]:
    """y (T, E) of one sample, and what is carried: `before`, then each chunk's last state.

    x and delta (T, E), A and before (E, N), B and C (T, N); what is carried is (chunks + 1, E, N).
    arXiv:2312.00752, eq. 2a and 2b.
    """
    starts = range(0, len(x), size)
    y, carried = np.empty_like(x), np.empty((len(starts) + 1, *A.shape), x.dtype)
    carried[0] = before
    for i, start in enumerate(starts):
        now = slice(start, start + size)
        _, h = chunk_states(x[now], delta[now], A, B[now], carried[i])
        y[now] = (h * C[now][:, None, :]).sum(2)  # (T, E, N) times (T, 1, N), summed over N: eq. 2b
        carried[i + 1] = h[-1]  # all that backward needs to work out the next chunk again
    return y, carried


def sample_backward(
    dy: Array, x: Array, delta: Array, A: Array, B: Array, C: Array, carried: Array, size: int
) -> tuple[Array, ...]:
    """Gradients of x, delta, A, B and C from that of y (T, E); `carried` is of `sample_forward`."""
    dx, ddelta, dB, dC = (np.empty_like(array) for array in (x, delta, B, C))
    dA, later = np.zeros_like(A), np.zeros_like(A)
    for i in reversed(range(len(carried) - 1)):
        now = slice(i * size, (i + 1) * size)
        a, h = chunk_states(x[now], delta[now], A, B[now], carried[i])  # once more
        g = dy[now][:, :, None] * C[now][:, None, :]  # (T, E, N): by its own y
        g = scan_loop(a[:0:-1], g[::-1], later)[::-1]  # and by all later ones: g[t] += a[t+1] g[t+1]
        later = a[0] * g[0]  # what the chunk before this one hears
        dC[now] = (h * dy[now][:, :, None]).sum(1)
        dB[now] = (g * (delta[now] * x[now])[:, :, None]).sum(1)
        dbx = (g * B[now][:, None, :]).sum(2)  # of delta x: (T, E)
        dz = g * a[:-1] * np.concatenate([carried[i : i + 1], h[:-1]])  # of delta A: (T, E, N)
        dx[now] = dbx * delta[now]
        ddelta[now] = dbx * x[now] + (dz * A).sum(2)
        dA += (dz * delta[now][:, :, None]).sum(0)
    return dx, ddelta, dA, dB, dC


def evaluate(program: Sequence[Any], wanted: Sequence[Any], values: dict[Any, Any]) -> list[Any]:
    """The values of `wanted`: what they need runs once, in the order of `program`, and joins `values`."""
    needed = ancestors(wanted, known=values)
    for node in program:
        if node in needed:
            values[node] = node.f.forward(*[values[x] for x in node.inputs])
    return [values[node] for node in wanted]


class PulsedConv1d:
    """A convolution over a stream of frames (C,), pulse by pulse; its results are `delay` frames late."""

    def __init__(
        self, weight: Any, bias: Any, stride: int = 1, dilation: int = 1, padding: tuple[int, int] = (0, 0)
    ) -> None:
        self.weight, self.bias, self.stride, self.dilation = weight, bias, stride, dilation
        self.before, self.after = padding
        self.span = dilation * (weight.shape[2] - 1) + 1
        self.delay = max(-(-(max(self.span - stride, 0) - self.before) // stride), 0)
        self.past = np.zeros((weight.shape[1], self.delay * stride + self.before), weight.dtype)
        self.frames = self.results = 0

    def run(self, x: Any) -> Any:
        """The next results, (M, P / stride), for a pulse (C, P)."""
        seen = np.concatenate([self.past, x], axis=1)
        self.past = seen[:, x.shape[1] :]
        self.frames += x.shape[1]
        count = x.shape[1] // self.stride
        self.results += count
        made = np.zeros((len(self.weight), count), self.weight.dtype)
        for k in range(self.weight.shape[2]):  # a tap of the kernel at a time, for all windows
            start = k * self.dilation
            stop = start + (count - 1) * self.stride + 1 if count else 0
            taken = seen[:, start : stop : self.stride]
            made += self.weight[:, :, k] @ taken
        return made + self.bias[:, None]

    def finish(self, x: Any) -> Any:
        """The stream ends with these frames: all results that are still to come."""
        length = self.frames + x.shape[1] + self.before + self.after
        total = max((length - self.span) // self.stride + 1, 0)
        first = self.results - self.delay  # the number of the next result
        need = max(total - first, 0) * self.stride
        padded = np.zeros((len(x), max(need, x.shape[1] + -x.shape[1] % self.stride)), self.weight.dtype)
        padded[:, : x.shape[1]] = x
        return self.run(padded)[:, max(-first, 0) : max(total - first, 0)]


def column_conv2d(x: Any, weight: Any) -> Any:
    """Windows as columns, then one matrix product: x (N, C, H, W), weight (O, C, kH, kW)."""
    windows = sliding_window_view(x, weight.shape[2:], axis=(2, 3))
    n, _, h, w = windows.shape[:4]
    columns = windows.transpose(0, 1, 4, 5, 2, 3).reshape(n, -1, h * w)  # (N, C kH kW, H' W')
    return (weight.reshape(len(weight), -1) @ columns).reshape(n, -1, h, w)


def below(part, path=""):
    """Every path to a parameter, with the parameter."""
    if isinstance(part, Parameter):
        yield path, part
    inside = vars(part).items() if isinstance(part, Part) else ()
    inside = enumerate(part) if isinstance(part, list) else inside
    for name, one in inside:
        yield from below(one, f"{path}.{name}" if path else str(name))


class Part:
    """What knows its parameters: its own, and those of its parts and of its lists."""

    def named_parameters(self) -> list:
        seen, pairs = set(), []
        for path, parameter in below(self):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                pairs.append((path, parameter))
        return pairs

    def state_dict(self) -> dict:
        return {path: parameter.detach().numpy().copy() for path, parameter in below(self)}


class Training:
    """Cross-entropy steps on images (N, ...) and labels (N,), which can be cut off after any of them."""

    def __init__(
        self, model: Module, optimizer: Optimizer, scheduler: LRScheduler,
        images: Tensor, labels: Tensor, batch_size: int, seed: int,
    ) -> None:  # fmt: skip
        self.model, self.optimizer, self.scheduler = model, optimizer, scheduler
        self.images, self.labels, self.batch_size = images, labels, batch_size
        self.numbers = np.random.default_rng(seed)
        self.left = np.zeros(0, int)  # of this epoch

    def run(self, steps: int) -> list[float]:
        """Take so many steps more; returns their losses."""
        self.model.train()
        losses = []
        for _ in range(steps):
            if not len(self.left):
                self.left = self.numbers.permutation(len(self.labels))
            batch, self.left = self.left[: self.batch_size], self.left[self.batch_size :]
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(self.images[batch]), self.labels[batch])
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            losses.append(loss.item())
        return losses

    def state_dict(self) -> dict[str, Any]:
        """All that another Training needs to go on; what happens afterwards does not change it."""
        return {
            "model": {name: t.clone() for name, t in self.model.state_dict().items()},
            "optimizer": copy.deepcopy(self.optimizer.state_dict()),
            "scheduler": self.scheduler.state_dict(),
            "left": self.left.copy(),
            "numbers": self.numbers.bit_generator.state,
            "generator": default_generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was called."""
        for name in ("model", "optimizer", "scheduler"):
            getattr(self, name).load_state_dict(state[name])
        self.left = state["left"]
        self.numbers.bit_generator.state = state["numbers"]
        default_generator.set_state(state["generator"])


def loss_and_gradient(x: Array, target: Array) -> tuple[float, Array]:
    """Mean cross-entropy of the rows that have a target, and its gradient."""
    there = target != -100
    count = max(int(there.sum()), 1)
    rows, at = np.arange(len(x)), np.where(there, target, 0)
    shifted = x - x.max(axis=1, keepdims=True)
    exps = np.exp(shifted)
    sums = exps.sum(axis=1, keepdims=True)
    losses = np.log(sums[:, 0]) - shifted[rows, at]
    dx = exps / sums
    dx[rows, at] -= 1
    dx *= (there / count)[:, None]
    return float((losses * there).sum() / count), dx
