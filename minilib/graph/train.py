"""Optimisers as nodes: a step is an assignment to each variable. `tf.train`.

Taught in chapters/09b_gradients.ipynb and solutions/09b_gradients.ipynb: what they export is edited there,
then `make promote`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minilib.graph.device import XP
from minilib.graph.gradients import gradients, listed
from minilib.graph.names import absent
from minilib.graph.nodes import Node, constant, graph_of, make
from minilib.graph.programs import during, name_scope
from minilib.graph.session import Session
from minilib.graph.variables import Variable, assign, assign_add, global_variables, group, trainable_variables
from minilib.operations import Sqrt

__all__ = [
    "AdamOptimizer", "AdamWOptimizer", "GradientDescentOptimizer", "MomentumOptimizer", "Optimizer", "Saver",
]  # fmt: skip
__getattr__ = absent(__name__, __all__)


class Optimizer:
    """`minimize(loss)` is a node that changes trainable variables, or those of a list, by one step."""

    def __init__(self, learning_rate: Any, name: str | None = None) -> None:
        self.learning_rate, self.name = learning_rate, name or type(self).__name__.removesuffix("Optimizer")
        self.slots: dict[tuple[Any, str], Variable] = {}

    def minimize(
        self, loss: Node, global_step: Any = None, var_list: Any = None, name: str | None = None
    ) -> Node:
        """Gradients and step in one. Raises ValueError where the loss depends on no variable."""
        return self.apply_gradients(self.compute_gradients(loss, var_list), global_step, name)

    def compute_gradients(self, loss: Node, var_list: Any = None) -> list[tuple[Any, Any]]:
        """Pairs of a gradient, or None, and its variable."""
        with graph_of("minimize", [loss]).as_default():
            variables = trainable_variables() if var_list is None else listed(var_list)
            return list(zip(gradients(loss, variables), variables))

    def apply_gradients(
        self, grads_and_vars: Sequence[tuple[Any, Any]], global_step: Any = None, name: str | None = None
    ) -> Node:
        """A node that changes each variable by its gradient."""
        pairs = [(grad, v) for grad, v in grads_and_vars if grad is not None]
        if not pairs:
            raise ValueError("no gradient for any variable: the loss depends on none of them")
        graph = pairs[0][1].graph
        with graph.as_default():
            with name_scope(self.name) as scope:
                steps = self.prepare(pairs[0][1].dtype)
                # All gradients are older than all assignments, so each is of the values before the step.
                steps += [node for grad, v in pairs for node in self.update(v, grad)]
                steps += [] if global_step is None else [assign_add(global_step, 1)]
            return group(*steps, name=name or f"{scope.removeprefix(graph.scope)}update")

    def prepare(self, dtype: Any) -> list[Node]:
        """What is done once in a step, before the first variable changes."""
        return []

    def update(self, v: Any, grad: Node) -> list[Node]:
        """The assignments for one variable."""
        raise NotImplementedError

    def rate(self, dtype: Any) -> Any:
        """The learning rate for a variable of this dtype: a number, or a node that each run may feed."""
        rate = self.learning_rate
        return rate.astype(dtype) if isinstance(rate, Node) else rate

    def slot(self, v: Any, name: str) -> Variable:
        """What is remembered of a variable: of its shape, zeros at first."""
        if (v, name) not in self.slots:
            with during(v.graph, controls=()):
                self.slots[v, name] = Variable(XP.zeros(v.shape, v.dtype), False, name=f"{v.name}/{name}")
        return self.slots[v, name]


class GradientDescentOptimizer(Optimizer):
    """v - learning_rate * gradient"""

    def __init__(self, learning_rate: Any, use_locking: Any = False, name: str = "GradientDescent") -> None:
        super().__init__(learning_rate, name)

    def update(self, v: Any, grad: Node) -> list[Node]:
        return [assign(v, v - self.rate(v.dtype) * grad)]


class MomentumOptimizer(Optimizer):
    """Steps along a velocity, which decays by `momentum` and takes in each gradient."""

    def __init__(
        self, learning_rate: Any, momentum: Any, use_locking: Any = False, name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, name)
        self.momentum, self.use_nesterov = momentum, use_nesterov

    def update(self, v: Any, grad: Any) -> list[Any]:
        """The assignments of one step: the velocity takes in the gradient, the variable moves along it."""
        velocity = self.slot(v, "Momentum")
        moved = velocity * self.momentum + grad
        step = grad + self.momentum * moved if self.use_nesterov else moved
        return [assign(velocity, moved), assign(v, v - self.rate(v.dtype) * step)]


class AdamOptimizer(Optimizer):
    """Steps of about the size `learning_rate`, whatever the gradient's scale. arXiv:1412.6980.

    As in TensorFlow `epsilon` stands beside the root of the uncorrected mean ("epsilon hat" of the paper).
    """

    weight_decay = 0.0

    def __init__(
        self, learning_rate: Any = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
        use_locking: Any = False, name: str = "Adam",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, name)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.step: Variable | None = None

    def prepare(self, dtype: Any) -> list[Node]:
        """Count the steps; the corrections of both means come to one factor for all variables."""
        self.step = Variable(np.float64(0), False, name="step") if self.step is None else self.step
        count = self.step + 1.0
        self.root = make(Sqrt(), 1.0 - constant(np.float64(self.beta2)) ** count)
        self.scale = self.rate(np.float64) * self.root / (1.0 - constant(np.float64(self.beta1)) ** count)
        return [assign(self.step, count)]

    def update(self, v: Any, grad: Node) -> list[Node]:
        mean, square = self.slot(v, "m"), self.slot(v, "v")
        decayed = v * (1 - self.rate(v.dtype) * self.weight_decay) if self.weight_decay else v
        m = mean * self.beta1 + grad * (1 - self.beta1)
        s = square * self.beta2 + grad * grad * (1 - self.beta2)
        step = m / (make(Sqrt(), s) + self.offset(v.dtype)) * self.scale.astype(v.dtype)
        return [assign(mean, m), assign(square, s), assign(v, decayed - step)]

    def offset(self, dtype: Any) -> Any:
        return self.epsilon


class AdamWOptimizer(AdamOptimizer):
    """Adam whose weight decay shrinks the variable itself, as `minilib.optim.AdamW`. arXiv:1711.05101."""

    def __init__(
        self, weight_decay: float, learning_rate: Any = 0.001, beta1: float = 0.9, beta2: float = 0.999,
        epsilon: float = 1e-8, name: str = "AdamW",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, beta1, beta2, epsilon, name=name)
        self.weight_decay = weight_decay

    def offset(self, dtype: Any) -> Any:
        return (self.root * self.epsilon).astype(dtype)  # PyTorch's epsilon, beside the corrected mean


class Saver:
    """Values of variables in a file of safetensors, by their names."""

    def __init__(
        self, var_list: Sequence[Any] | Mapping[str, Any] | None = None, max_to_keep: int | None = 5
    ) -> None:
        """`var_list`: the variables, by their own names or, as a dict, by others; None is all of them.

        Of its files the last `max_to_keep` stay, and older ones are deleted; None or 0 keeps all.
        """
        if not isinstance(var_list, Mapping):
            var_list = {v.name: v for v in (global_variables() if var_list is None else var_list)}
        self.variables = dict(var_list)
        if not self.variables:
            raise ValueError("Saver: there is no variable to save: make them before")
        self.max_to_keep, self.last_checkpoints = max_to_keep, list[str]()

    def save(self, session: Session, path: str | Path, global_step: Any = None) -> str:
        """Write the values that the session has to `path`, or `path`-`global_step`, and return which.

        Raises RuntimeError for a variable without a value, FileNotFoundError where there is no such folder.
        """
        from safetensors.numpy import save_file

        global_step = session.run(global_step) if isinstance(global_step, Node) else global_step
        if not Path(path).parent.is_dir():
            raise FileNotFoundError(f"save: there is no folder {Path(path).parent}")
        path = str(path if global_step is None else f"{path}-{global_step}")
        values = session.run(self.variables)
        save_file({name: np.array(value, order="C") for name, value in values.items()}, path)
        self.last_checkpoints = [one for one in self.last_checkpoints if one != path] + [path]
        while self.max_to_keep and len(self.last_checkpoints) > self.max_to_keep:
            Path(self.last_checkpoints.pop(0)).unlink(missing_ok=True)
        return path

    def restore(self, session: Session, path: str | Path) -> None:
        """Give its variables the values in the file. Raises ValueError for a file of another program."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            values: Mapping[str, Any] = load_file(str(path))
        except (SafetensorError, OSError) as error:
            raise ValueError(f"restore: {path} is no file of safetensors: {error}") from None
        for name, v in self.variables.items():
            found = values.get(name)
            if found is None or found.shape != tuple(v.shape) or found.dtype != v.dtype:
                there = "nothing" if found is None else f"{found.dtype} of {found.shape}"
                raise ValueError(
                    f"restore: {path} is of another program: for {name!r}, {v.dtype} of {v.shape}, it has "
                    f"{there}"
                )
        for name, v in self.variables.items():
            session.give(v, values[name])
