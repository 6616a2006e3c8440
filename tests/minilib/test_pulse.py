"""Models in pulses give what they give for the whole stream; two streams know nothing of each other."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minilib.functional as F
import minilib.graph as tf
import minilib.infer as tract
import minilib.tensor as t
from minilib.gpt import CausalSelfAttention, GPTConfig
from minilib.infer.facts import Fact, parse_fact
from minilib.infer.model import Graph, Node, analyse, evaluate
from minilib.mamba import MambaBlock, MambaConfig
from minilib.reference import PulsedConv1d

FLOAT = np.float32


def graph_of(
    nodes: list[Node], constants: dict[str, Any], facts: dict[str, str], outputs: Any = ("y",)
) -> Graph:
    inputs = {name: parse_fact(fact) for name, fact in facts.items()}
    graph = Graph(inputs, list(outputs), nodes, constants).sorted()
    graph.facts = analyse(graph)
    return graph


def typed(graph: Graph) -> tract.Model:
    return tract.InferenceModel(graph).into_model()


def in_pulses(
    graph: Graph, pulse: int, arrays: list[Any], turns: int | None = None
) -> tuple[list[Any], list[int]]:
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
        kind = draw.choice(
            ["conv", "conv", "causal", "max", "mean", "relu", "norm", "pad", "cut", "skip", "turn"]
        )
        k, d = draw.randint(1, 4), draw.choice([1, 1, 2])
        reach = d * (k - 1)
        if kind in ("conv", "causal"):
            s = draw.choice([1, 1, 1, 2]) if stride < 4 else 1
            before, after = (
                (reach, 0) if kind == "causal" else (draw.randint(0, reach), draw.randint(0, reach))
            )
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
            pads = np.array(
                [0, 0, draw.randint(0, 3), *[0] * (ndim - 1), 0, 0, draw.randint(0, 3), *[0] * (ndim - 1)]
            )
            name = add("Pad", [name, array(pads), array(np.array(0.5, FLOAT))])
        elif kind == "cut":
            ends = array(np.array([draw.choice([-1, -2, 2**62])]))
            name = add("Slice", [name, array(np.array([draw.randint(0, 2)])), ends, array(np.array([2]))])
        elif kind == "norm":
            name = add(
                "BatchNormalization", [name, *(array(rng.uniform(1, 2, 3).astype(FLOAT)) for _ in range(4))]
            )
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
    return graph_of(
        [*nodes, Node("Identity", [name], ["y"])],
        constants,
        {"x": ",".join(["B,3,S", *["5"] * (ndim - 1), "f32"])},
    )


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


def test_a_pulsed_model_tells_its_pulses() -> None:
    """As tract does: facts of a pulse, and the delay as a property."""
    model = typed(conv(pads=[1, 1]))
    model.transform(tract.Pulse("8", symbol="S"))
    assert (str(model.input_fact(0)), str(model.output_fact(0))) == ("1,1,8,f32", "1,2,8,f32")
    assert (model.input_count(), model.output_count()) == (1, 1)
    assert {"pulse.delay", "pulse.input_axes", "pulse.output_axes"} <= set(model.property_keys())
    assert model.property("pulse.delay").to_numpy().tolist() == [1]


def test_the_batch_can_be_the_stream() -> None:
    """As in tract's own test of pulses: images one behind the other, and no delay."""
    w = np.random.default_rng(0).normal(size=(2, 1, 3, 3)).astype(FLOAT)
    nodes = [
        Node("Conv", ["x", "w"], ["a"], {"pads": [1, 1, 1, 1]}),
        Node("GlobalAveragePool", ["a"], ["b"]),
        Node("Flatten", ["b"], ["c"]),
        Node("Softmax", ["c"], ["y"], {"axis": 1}),
    ]
    graph = graph_of(nodes, {"w": w}, {"x": "B,1,6,6,f32"})
    model = typed(graph)
    model.transform(tract.Pulse("5", symbol="B"))
    assert (str(model.input_fact(0)), str(model.output_fact(0))) == ("5,1,6,6,f32", "5,2,f32")
    assert model.property("pulse.delay").to_numpy().tolist() == [0]
    x = np.random.default_rng(1).normal(size=(5, 1, 6, 6)).astype(FLOAT)
    (y,) = model.into_runnable().run([x])
    assert np.allclose(y.to_numpy(), evaluate(graph, [x])[0], atol=1e-6)


def test_a_skip_meets_its_own_frames_again() -> None:
    """Around a convolution that waits for two frames, the skip waits as well, in a buffer of two."""
    w = np.ones((1, 1, 5), FLOAT)
    nodes = [Node("Conv", ["x", "w"], ["a"], {"pads": [2, 2]}), Node("Add", ["a", "x"], ["y"])]
    graph = graph_of(nodes, {"w": w}, {"x": "1,1,S,f32"})
    x = np.random.default_rng(0).normal(size=(1, 1, 17)).astype(FLOAT)
    (made,), delays = in_pulses(graph, 4, [x])
    assert delays == [2] and np.allclose(made, evaluate(graph, [x])[0], atol=1e-5)


def test_outputs_may_be_late_by_different_numbers_of_frames() -> None:
    w = np.ones((1, 1, 3), FLOAT)
    nodes = [
        Node("Conv", ["x", "w"], ["a"], {"pads": [1, 1]}),
        Node("Conv", ["a", "w"], ["b"], {"pads": [1, 1]}),
    ]
    graph = graph_of(nodes, {"w": w}, {"x": "1,1,S,f32"}, outputs=["a", "b"])
    x = np.random.default_rng(0).normal(size=(1, 1, 11)).astype(FLOAT)
    made, delays = in_pulses(graph, 4, [x])
    assert delays == [1, 2]
    for one, whole in zip(made, evaluate(graph, [x])):
        assert np.allclose(one, whole, atol=1e-5)


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_stream_may_be_shorter_than_the_delay(length: int) -> None:
    w = np.random.default_rng(0).normal(size=(1, 1, 9)).astype(FLOAT)
    graph = graph_of([Node("Conv", ["x", "w"], ["y"], {"pads": [4, 4]})], {"w": w}, {"x": "1,1,S,f32"})
    x = np.random.default_rng(0).normal(size=(1, 1, length)).astype(FLOAT)
    (made,), _ = in_pulses(graph, 2, [x])
    assert made.shape == (1, 1, length)
    if length:
        assert np.allclose(made, evaluate(graph, [x])[0], atol=1e-5)


def test_two_streams_know_nothing_of_each_other() -> None:
    graph = conv(pads=[2, 0])
    model = typed(graph)
    model.transform(tract.Pulse(4))
    runnable = model.into_runnable()
    one, other = runnable.spawn_state(), runnable.spawn_state()
    a, b = np.random.default_rng(0).normal(size=(2, 1, 1, 12)).astype(FLOAT)
    made: Any = ([], [])
    for i in range(0, 12, 4):
        for state, x, found in ((one, a, made[0]), (other, b, made[1])):
            (y,) = state.run([x[:, :, i : i + 4]])
            found.append(y.to_numpy().copy())
            y.to_numpy()[:] = np.nan  # what a caller does to a result is no business of the state's
    for x, found in ((a, made[0]), (b, made[1])):
        assert np.allclose(np.concatenate(found, 2), evaluate(graph, [x])[0], atol=1e-6)


# Models with a state of their own


def test_a_mamba_remembers_in_its_state_what_it_forgets_between_runs(tmp_path: Path) -> None:
    """A step, traced and exported with its state as inputs and outputs, equals the block on all tokens."""
    t.manual_seed(0)
    config = MambaConfig(8, 1, 7)
    block = MambaBlock(config)

    def step(u: Any, window: Any, state: Any) -> Any:
        x, gate = block.in_proj(u).chunk(2, dim=1)
        seen = t.cat([window, x.unsqueeze(2)], 2)
        x = F.silu((seen * block.conv1d.weight[:, 0]).sum(2) + block.conv1d.bias)
        delta, A, B, C = block.select(x)
        new = state * (delta.unsqueeze(2) * A).exp() + (delta * x).unsqueeze(2) * B.unsqueeze(1)
        y = (new @ C.unsqueeze(2)).squeeze(2) + block.D * x
        return block.out_proj(y * F.silu(gate)), seen[:, :, 1:], new

    window, state = np.zeros((2, 16, 3), FLOAT), np.zeros((2, 16, 16), FLOAT)
    tf.trace(step, np.zeros((2, 8), FLOAT), window, state).save_onnx(tmp_path / "step.onnx")
    runnable = tract.onnx().load(tmp_path / "step.onnx").into_model().into_runnable()
    stream = runnable.spawn_state({"input_1": "output_1", "input_2": "output_2"})
    u = np.random.default_rng(0).normal(size=(3, 6, 8)).astype(FLOAT)
    whole = block(t.Tensor(u)).data
    for i in range(6):
        (y,) = stream.run([u[:, i]])
        assert np.allclose(y.to_numpy(), whole[:, i], atol=1e-6)


def test_the_cache_of_a_gpt_grows_in_its_state(tmp_path: Path) -> None:
    t.manual_seed(0)
    attention = CausalSelfAttention(
        GPTConfig(7, 8, n_layer=1, n_head=2, n_embd=8, attn_pdrop=0, resid_pdrop=0)
    )

    def step(x: Any, keys: Any, values: Any) -> Any:
        """x (B, 8); keys and values (B, 2 heads, P, 4)"""
        q, k, v = (one.unsqueeze(2) for one in attention.c_attn(x).reshape(-1, 3, 2, 4).unbind(1))
        keys, values = t.cat([keys, k], 2), t.cat([values, v], 2)
        scores = (q @ keys.transpose(2, 3)) / 2.0  # (B, 2, 1, P + 1)
        y = (F.softmax(scores, 3) @ values).reshape(-1, 8)
        return attention.c_proj(y), keys, values

    past = np.zeros((2, 2, 5, 4), FLOAT)
    tf.trace(step, np.zeros((2, 8), FLOAT), past, past).save_onnx(tmp_path / "step.onnx")
    model = tract.onnx().load(tmp_path / "step.onnx")
    for i in (1, 2):
        model.set_input_fact(i, "N,2,P,4,f32")
    typed = model.into_model()
    assert str(typed.output_fact(1)) == "N,2,P+1,4,f32"
    runnable, carry = typed.into_runnable(), {"input_1": "output_1", "input_2": "output_2"}
    stream = runnable.spawn_state(carry, symbols={"P": 0})
    x = np.random.default_rng(0).normal(size=(3, 6, 8)).astype(FLOAT)
    whole = attention(t.Tensor(x)).data
    for i in range(6):
        (y,) = stream.run([x[:, i]])
        assert np.allclose(y.to_numpy(), whole[:, i], atol=1e-6)
    with pytest.raises(tract.ModelError, match="'input_1' is N,2,P,4,f32: it needs a size to begin with"):
        runnable.spawn_state(carry).run([x[:, 0]])
    with pytest.raises(tract.ModelError, match="no output is called 'output_7'"):
        runnable.spawn_state({"input_1": "output_7"})


# What cannot be cut is told in one line


@pytest.mark.parametrize(
    "nodes, fact, message",
    [
        ([Node("ReduceMean", ["x", "two"], ["y"])], "1,3,S,f32", "works along axis 2 of 1,3,S,f32"),
        ([Node("Softmax", ["x"], ["y"], {"axis": 2})], "1,3,S,f32", "needs the whole stream"),
        (
            [Node("Transpose", ["x"], ["t"], {"perm": [0, 2, 1]}), Node("MatMul", ["t", "x"], ["y"])],
            "1,3,S,f32",
            "2 axes grow with S",
        ),
        (
            [Node("MaxPool", ["x"], ["y"], {"kernel_shape": [3], "strides": [3]})],
            "1,3,S,f32",
            "take a multiple of 12",
        ),
        ([Node("Flatten", ["x"], ["y"])], "1,3,S,f32", "have to stay one axis"),
        (
            [Node("TopK", ["x", "two"], ["y", "z"], {"axis": 1})],
            "1,3,S,f32",
            "TopK cannot be cut into pulses",
        ),
        ([Node("Relu", ["x"], ["y"])], "1,3,2*S,f32", "its axis 2 should be S"),
        ([Node("Relu", ["x"], ["y"])], "1,3,T,f32", "no input has the symbol 'S'; there are T"),
        ([Node("Shape", ["x"], ["y"])], "1,3,S,f32", "does not depend on the stream"),
    ],
)
def test_a_node_that_needs_the_whole_stream_is_named(nodes: Any, fact: str, message: str) -> None:
    model = typed(graph_of(nodes, {"two": np.array([2])}, {"x": fact}))
    with pytest.raises(tract.ModelError) as caught:
        model.transform(tract.Pulse(4))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_wrong_pulses_and_streams_are_told_in_one_line() -> None:
    for pulse in ("0", "S", "-1", "x y"):
        with pytest.raises(tract.ModelError, match="pulse"):
            typed(conv()).transform(tract.Pulse(pulse))
    model = typed(conv())
    model.transform(tract.Pulse(4))
    with pytest.raises(tract.ModelError, match="in pulses already"):
        model.transform(tract.Pulse(4))
    state = model.into_runnable().spawn_state()
    with pytest.raises(tract.ModelError, match="is 1,1,3,f32, and should be 1,1,4,f32"):
        state.run([np.ones((1, 1, 3), FLOAT)])
    with pytest.raises(tract.ModelError, match="nothing has run yet"):
        state.finish()
    with pytest.raises(tract.ModelError, match="at most a pulse, 4 frames"):
        state.finish([np.ones((1, 1, 5), FLOAT)])
    with pytest.raises(tract.ModelError, match="0 inputs were given, and the model has 1"):
        state.run([])
    state.finish([np.ones((1, 1, 4), FLOAT)])
    with pytest.raises(tract.ModelError, match="this stream has ended"):
        state.run([np.ones((1, 1, 4), FLOAT)])
    with pytest.raises(tract.ModelError, match="run takes a list"):
        state.run(5)  # type: ignore[arg-type]
    with pytest.raises(tract.ModelError, match="only a model in pulses has an end"):
        typed(conv()).into_runnable().spawn_state().finish()


@pytest.mark.parametrize("told", [{"padding": (2, 1)}, {"stride": 2, "dilation": 2, "padding": (3, 1)}])
def test_the_convolution_in_pulses_of_10_15_is_as_late_as_ours(told: Any) -> None:
    """Written by hand in the exercise, made by the transform here: the same frames in the same runs."""
    rng = np.random.default_rng(0)
    w, b, x = rng.normal(size=(2, 3, 4)), rng.normal(size=2), rng.normal(size=(3, 24))
    stride, dilation = told.get("stride", 1), told.get("dilation", 1)
    attributes = {"pads": list(told["padding"]), "strides": [stride], "dilations": [dilation]}
    model = typed(
        graph_of([Node("Conv", ["x", "w", "b"], ["y"], attributes)], {"w": w, "b": b}, {"x": "1,3,S,f64"})
    )
    model.transform(tract.Pulse(6))
    state, simple = model.into_runnable().spawn_state(), PulsedConv1d(w, b, **told)
    assert model.property("pulse.delay").to_numpy().tolist() == [simple.delay]
    for i in range(0, 24, 6):
        (y,), expected = state.run([x[None, :, i : i + 6]]), simple.run(x[:, i : i + 6])
        late = max(simple.delay - i // stride, 0)  # what comes before frame 0 is nobody's
        assert np.allclose(y.to_numpy()[0, :, late:], expected[:, late:])
    assert np.allclose(state.finish()[0].to_numpy()[0], simple.finish(x[:, :0]))
