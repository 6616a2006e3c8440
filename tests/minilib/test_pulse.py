"""Models in pulses give what they give for the whole stream; states of two streams know nothing of each other."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import minilib.infer as tract
from minilib.infer.facts import Fact, parse_fact
from minilib.infer.model import Graph, Node, analyse, evaluate
from minilib.infer.state import State

FLOAT = np.float32


def graph_of(nodes: list[Node], constants: dict[str, Any], facts: dict[str, str], outputs: Any = ("y",)) -> Graph:
    inputs = {name: parse_fact(fact) for name, fact in facts.items()}
    graph = Graph(inputs, list(outputs), nodes, constants).sorted()
    graph.facts = analyse(graph)
    return graph


def typed(graph: Graph) -> tract.Model:
    return tract.InferenceModel(graph).into_model()


def in_pulses(graph: Graph, pulse: int, arrays: list[Any], turns: int | None = None) -> tuple[list[Any], list[int]]:
    """The outputs, put together from pulses, without the frames of the delay; and the delays."""
    model = typed(graph)
    model.transform(tract.Pulse(pulse))
    delays = model.property("pulse.delay").to_numpy().tolist()
    inward, outward = (model.property(f"pulse.{one}_axes").to_numpy().tolist() for one in ("input", "output"))
    state = model.into_runnable().spawn_state()

    def piece(start: int, stop: int) -> list[Any]:
        return [one[(slice(None),) * axis + (slice(start, stop),)] for one, axis in zip(arrays, inward)]

    length = arrays[0].shape[inward[0]]
    turns = length // pulse if turns is None else turns
    parts = [state.run(piece(i * pulse, (i + 1) * pulse)) for i in range(turns)]
    rest = state.finish(piece(turns * pulse, length))
    made = []
    for i, (axis, delay) in enumerate(zip(outward, delays)):
        before = [np.concatenate([part[i].to_numpy() for part in parts], axis)] if parts else []
        kept = [one[(slice(None),) * axis + (slice(delay, None),)] for one in before]
        made.append(np.concatenate([*kept, rest[i].to_numpy()], axis))
    return made, delays


def conv(**attributes: Any) -> Graph:
    w = np.random.default_rng(0).normal(size=(2, 1, 3)).astype(FLOAT)
    b = np.array([1, -1], FLOAT)
    return graph_of([Node("Conv", ["x", "w", "b"], ["y"], attributes)], {"w": w, "b": b}, {"x": "1,1,S,f32"})


@pytest.mark.parametrize(
    "attributes, delay",
    [
        ({"pads": [1, 1]}, 1),
        ({"pads": [2, 0]}, 0),
        ({"pads": [0, 2]}, 2),
        ({}, 2),
        ({"dilations": [3], "pads": [3, 3]}, 3),
        ({"strides": [2], "pads": [1, 1]}, 0),
        ({"strides": [4]}, 0),
        ({"auto_pad": "SAME_UPPER"}, 1),
    ],
)
def test_a_convolution_waits_for_the_frames_on_its_right(attributes: Any, delay: int) -> None:
    graph = conv(**attributes)
    for pulse in (4, 8):
        for length in (pulse, 3 * pulse, 3 * pulse + 3):
            x = np.random.default_rng(1).normal(size=(1, 1, length)).astype(FLOAT)
            (made,), delays = in_pulses(graph, pulse, [x])
            assert delays == [delay]
            np.testing.assert_allclose(made, evaluate(graph, [x])[0], atol=1e-6)


def stack(draw: random.Random, ndim: int) -> tuple[Graph, int]:
    """Convolutions, pools, padding, cuts, skips and whatever works number by number; and its stride."""
    rng = np.random.default_rng(draw.randrange(2**30))
    nodes: list[Node] = []
    constants: dict[str, Any] = {}
    name, channels, stride = "x", 3, 1
    alive = [(name, channels, stride, "S")]  # results of the same length may meet

    def add(op: str, inputs: list[str], **told: Any) -> str:
        nodes.append(Node(op, inputs, [f"n{len(nodes)}"], told))
        return nodes[-1].outputs[0]

    def array(value: Any) -> str:
        constants[f"c{len(constants)}"] = value
        return f"c{len(constants) - 1}"

    def wide(a: int, b: int) -> list[int]:
        return [a, *[1] * (ndim - 1), b, *[1] * (ndim - 1)]

    for _ in range(draw.randint(2, 7)):
        kind = draw.choice(["conv", "conv", "causal", "max", "mean", "relu", "norm", "pad", "cut", "skip", "turn"])
        k, d = draw.randint(1, 4), draw.choice([1, 1, 2])
        reach = d * (k - 1)
        if kind in ("conv", "causal"):
            s = draw.choice([1, 1, 1, 2]) if stride < 4 else 1
            before, after = (reach, 0) if kind == "causal" else (draw.randint(0, reach), draw.randint(0, reach))
            w = rng.normal(size=(3, channels, k, *[3] * (ndim - 1))).astype(FLOAT) / 3
            told = {"pads": wide(before, after), "dilations": [d, *[1] * (ndim - 1)]}
            told |= {"strides": [s, *[1] * (ndim - 1)]}
            name = add("Conv", [name, array(w), array(rng.normal(size=3).astype(FLOAT))], **told)
            stride *= s
        elif kind in ("max", "mean"):
            s = draw.choice([1, 2]) if stride < 4 else 1
            most = k // 2
            told = {"kernel_shape": [k, *[3] * (ndim - 1)], "strides": [s, *[1] * (ndim - 1)]}
            told["pads"] = wide(draw.randint(0, most), draw.randint(0, most))
            told["ceil_mode"] = ceil = draw.randint(0, 1)
            if kind == "mean":
                told["count_include_pad"] = draw.randint(0, 1) if not ceil else 0
            name = add("MaxPool" if kind == "max" else "AveragePool", [name], **told)
            stride *= s
        elif kind == "pad":
            pads = np.array([0, 0, draw.randint(0, 3), *[0] * (ndim - 1), 0, 0, draw.randint(0, 3), *[0] * (ndim - 1)])
            name = add("Pad", [name, array(pads), array(np.array(0.5, FLOAT))])
        elif kind == "cut":
            ends = array(np.array([draw.choice([-1, -2, 2**62])]))
            name = add("Slice", [name, array(np.array([draw.randint(0, 2)])), ends, array(np.array([2]))])
        elif kind == "norm":
            name = add("BatchNormalization", [name, *(array(rng.uniform(1, 2, 3).astype(FLOAT)) for _ in range(4))])
        elif kind == "turn":
            order = [0, 2, *range(3, ndim + 2), 1]
            name = add("Transpose", [name], perm=order)
            name = add("MatMul", [name, array(rng.normal(size=(3, 3)).astype(FLOAT))])
            name = add("Transpose", [name], perm=[0, ndim + 1, *range(1, ndim + 1)])
        elif kind == "skip":
            other = draw.choice(alive)[0]
            if sizes(nodes, constants, ndim, other) == sizes(nodes, constants, ndim, name):
                name = add(draw.choice(["Add", "Mul", "Max"]), [name, other])
        else:
            name = add(draw.choice(["Relu", "Tanh", "Sigmoid"]), [name])
        alive.append((name, channels, stride, ""))
    graph = part(nodes, constants, ndim, name)
    return graph, stride


def part(nodes: list[Node], constants: dict[str, Any], ndim: int, name: str) -> Graph:
    return graph_of([*nodes, Node("Identity", [name], ["y"])], constants, {"x": ",".join(["B,3,S", *["5"] * (ndim - 1), "f32"])})


def sizes(nodes: list[Node], constants: dict[str, Any], ndim: int, name: str) -> Any:
    return part(nodes, constants, ndim, name).facts["y"].shape


@pytest.mark.parametrize("seed", range(60))
def test_random_stacks_in_pulses_equal_the_whole(seed: int) -> None:
    draw = random.Random(seed)
    ndim = draw.choice([1, 1, 2])
    graph, stride = stack(draw, ndim)
    pulse = stride * draw.choice([1, 2, 3, 5])
    for length in (40, 40 + draw.randint(1, 9)):
        x = np.random.default_rng(seed).normal(size=(2, 3, length, *[5] * (ndim - 1))).astype(FLOAT)
        (made,), _ = in_pulses(graph, pulse, [x])
        (whole,) = evaluate(graph, [x])
        assert made.shape == whole.shape
        np.testing.assert_allclose(made, whole, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("k, s, pads", [(1, 2, [0, 0]), (2, 2, [0, 1]), (3, 2, [1, 1]), (2, 3, [1, 0])])
def test_with_ceil_mode_a_size_in_symbols_is_the_size_of_the_result(k: int, s: int, pads: list[int]) -> None:
    told = {"kernel_shape": [k], "strides": [s], "pads": pads, "ceil_mode": 1}
    graph = graph_of([Node("MaxPool", ["x"], ["y"], told)], {}, {"x": "1,1,S,f32"})
    told_size = Fact(None, graph.facts["y"].shape).dim(2)
    for n in range(3, 12):
        (y,) = evaluate(graph, [np.ones((1, 1, n), FLOAT)])
        assert int(told_size.eval({"S": n})) == y.shape[2]
