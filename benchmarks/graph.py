"""Training steps as planned graphs against eager ones: MLPs and small GPTs, in one thread.

    python -m benchmarks.graph        # writes benchmarks/results/graph.json

A step is the loss, its gradients and the optimiser (SGD for MLPs, AdamW for GPTs), from the same arrays.
Processor time, medians, eager and planned in turn in one process, as both use the same NumPy. Then chains of
elementwise nodes, planned, against this library's own fused operation: GELU by its formula, forward and
backward of 2,048 x 512, and a step of AdamW on as many numbers.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from timing import machine

import minilib.graph as tf
import minilib.tensor as t
from minilib import functional as F
from minilib import nn, optim
from minilib.gpt import GPT, GPTConfig
from minilib.graph.passes import prune
from minilib.parallel import set_num_threads

RESULTS = Path(__file__).parent / "results" / "graph.json"
SECONDS = 1.0  # of each of the two, about


def main() -> None:
    set_num_threads(1)
    t.manual_seed(0)
    rows = {name: training(*make()) for name, make in STEPS.items()} | {"GELU": gelu(), "AdamW": adamw()}
    for name, row in rows.items():
        print(f"{name:<18}" + "  ".join(f"{key} {value}" for key, value in row.items()))
    RESULTS.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", encoding="utf-8")


def mlp(*sizes: int, batch: int) -> tuple[Any, ...]:
    layers: list[Any] = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), nn.ReLU()]
    model, rng = nn.Sequential(*layers[:-1]), np.random.default_rng(0)
    x = rng.standard_normal((batch, sizes[0])).astype(np.float32)
    return model, lambda x, y: F.cross_entropy(model(x), y), (x, rng.integers(0, sizes[-1], batch)), False


def gpt(batch: int, length: int, vocabulary: int = 64, **sizes: Any) -> tuple[Any, ...]:
    model = GPT(GPTConfig(vocabulary, length, embd_pdrop=0, resid_pdrop=0, attn_pdrop=0, **sizes))
    idx = np.random.default_rng(0).integers(0, vocabulary, (batch, length))
    return model, lambda x, y: model(x, y)[1], (idx, idx), True


STEPS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "2-16-16-2 at 8": lambda: mlp(2, 16, 16, 2, batch=8),
    "64-128-10 at 32": lambda: mlp(64, 128, 10, batch=32),
    "784-256-10 at 256": lambda: mlp(784, 256, 10, batch=256),
    "GPT 2 x 32": lambda: gpt(16, 16, n_layer=2, n_head=2, n_embd=32),
    "GPT 3 x 48": lambda: gpt(16, 16, n_layer=3, n_head=3, n_embd=48),
    "gpt-micro": lambda: gpt(16, 128, model_type="gpt-micro"),
}


def training(model: Any, loss: Callable[..., Any], arrays: tuple[Any, ...], adam: bool) -> dict[str, Any]:
    """Milliseconds of an eager step and of a planned one, nodes before and after passes, bytes."""
    tensors = [t.from_numpy(array) for array in arrays]
    optimizer = (optim.AdamW if adam else optim.SGD)(model.parameters(), lr=1e-3)

    def eager() -> None:
        value = loss(*tensors)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()

    program = tf.trace(loss, *arrays)
    with program.graph.as_default():
        rule = tf.train.AdamWOptimizer(0.01, 1e-3) if adam else tf.train.GradientDescentOptimizer(1e-3)
        step = rule.minimize(program.outputs)
        own: list[Any] = [v for v in program.graph.variables if v not in program.parameters]
        program.session.run([v.initializer for v in own])
    plan = tf.compile([program.outputs, step], program.inputs)
    row = compared(eager, lambda: plan.run(*arrays, session=program.session))
    row |= {"nodes": len(prune([program.outputs, step])), "after passes": plan.nodes}
    return row | {
        "bytes / live": round(plan.bytes / plan.live_bytes, 3),
        "bytes / all": round(plan.bytes / plan.all_bytes, 3),
    }


def gelu() -> dict[str, Any]:
    """A chain of small nodes against `functional.gelu`."""
    x = np.random.default_rng(0).standard_normal((2048, 512)).astype(np.float32)
    node = tf.placeholder(tf.float32, x.shape)
    y = 0.5 * node * (1.0 + tf.tanh(math.sqrt(2 / math.pi) * (node + 0.044715 * node * node * node)))
    plan = tf.compile([y, *tf.gradients(y, [node], grad_ys=[node])], [node])

    def by_hand() -> None:
        leaf = t.from_numpy(x).requires_grad_()
        F.gelu(leaf, "tanh").backward(t.from_numpy(x))

    return compared(by_hand, lambda: plan.run(x), "by hand")


def adamw() -> dict[str, Any]:
    """A step on a million numbers against `optim.AdamW`."""
    rng = np.random.default_rng(0)
    leaf, grad = (t.from_numpy(rng.standard_normal((2048, 512)).astype(np.float32)) for _ in "xg")
    leaf.requires_grad_().grad = grad
    optimizer = optim.AdamW([leaf], lr=1e-3)
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        variable, node = tf.Variable(leaf.data), tf.placeholder(tf.float32, grad.shape)
        step = tf.train.AdamWOptimizer(0.01, 1e-3).apply_gradients([(node, variable)])
        session.run(tf.global_variables_initializer())
        plan = tf.compile(step, [node])
        return compared(optimizer.step, lambda: plan.run(grad.data, session=session), "by hand")


def compared(other: Callable[[], Any], planned: Callable[[], Any], name: str = "eager") -> dict[str, Any]:
    """Medians in milliseconds, taken in turn."""
    times: dict[str, list[float]] = {name: [], "planned": []}
    for function in (other, planned) * 3:
        function()
    start = time.perf_counter()
    while time.perf_counter() - start < 2 * SECONDS or len(times[name]) < 7:
        for key, function in ((name, other), ("planned", planned)):
            before = time.process_time()
            function()
            times[key].append(time.process_time() - before)
    middle = {key: 1000 * statistics.median(spent) for key, spent in times.items()}
    row: dict[str, Any] = {key: round(value, 3) for key, value in middle.items()}
    return row | {"ratio": round(middle["planned"] / middle[name], 3)}


if __name__ == "__main__":
    main()
