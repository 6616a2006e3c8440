"""The inference engine, on models that our own writer writes."""

from __future__ import annotations

import itertools
import random
import struct
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minilib.infer as tract
from minilib.wire import Message, write

FLOAT, INT64 = 1, 7


def info(name: str, *sizes: int | str, kind: int = FLOAT) -> Message:
    """An input or output; a size with a name is a symbol."""
    dims = [Message("Dimension", **{"dim_param" if isinstance(n, str) else "dim_value": n}) for n in sizes]
    shape = Message("TensorShapeProto", dim=dims)
    kind_of = Message("TypeProto", tensor_type=Message("Tensor", elem_type=kind, shape=shape))
    return Message("ValueInfoProto", name=name, type=kind_of)


def constant(name: str, array: Any) -> Message:
    kind = {"float32": FLOAT, "int64": INT64}[array.dtype.name]
    dims = list(array.shape)
    return Message("TensorProto", dims=dims, data_type=kind, name=name, raw_data=array.tobytes())


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> Message:
    made = []
    for name, value in attributes.items():
        if isinstance(value, list):
            made.append(Message("AttributeProto", name=name, ints=value, type=7))
        elif isinstance(value, float):
            made.append(Message("AttributeProto", name=name, f=value, type=1))
        else:
            made.append(Message("AttributeProto", name=name, i=value, type=2))
    return Message(
        "NodeProto", op_type=op, input=inputs.split(" "), output=outputs.split(" "), attribute=made
    )


def model(
    nodes: list[Message], inputs: list[Message], outputs: str = "y", constants: Any = (), opset: int = 18
) -> Message:
    graph = Message(
        "GraphProto",
        node=nodes,
        input=inputs,
        output=[Message("ValueInfoProto", name=name) for name in outputs.split(" ")],
        initializer=[one if isinstance(one, Message) else constant(*one) for one in constants],
    )
    opsets = [Message("OperatorSetIdProto", domain="", version=opset)]
    return Message("ModelProto", ir_version=8, graph=graph, opset_import=opsets)


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def loaded(message: Message | bytes) -> tract.InferenceModel:
        path = tmp_path / "model.onnx"
        path.write_bytes(message if isinstance(message, bytes) else write(message))
        return tract.onnx().load(path)

    return loaded


WEIGHTS = np.arange(32, dtype=np.float32).reshape(8, 4)
LINEAR = model([node("MatMul", "x w", "y")], [info("x", "batch", 8)], constants=[("w", WEIGHTS)])


def test_a_batch_goes_through_as_a_symbol(load: Any) -> None:
    linear = load(LINEAR)
    linear.set_input_fact(0, "B,8,f32")
    linear.analyse()
    assert str(linear.output_fact(0)) == "B,4,f32"
    runnable = linear.into_model().into_runnable()
    for n in (0, 1, 5):
        x = np.ones((n, 8), np.float32)
        assert np.array_equal(runnable.run([x])[0].to_numpy(), x @ WEIGHTS)


def test_a_number_can_be_set_where_the_file_has_a_symbol(load: Any) -> None:
    linear = load(LINEAR)
    assert str(linear.input_fact(0)) == "batch,8,f32"
    linear.set_input_fact(0, "32,8,f32")
    assert str(linear.into_model().output_fact(0)) == "32,4,f32"


def test_set_symbols_fixes_the_batch(load: Any) -> None:
    typed = load(LINEAR).into_model()
    typed.transform(tract.SetSymbols({"batch": 3}))
    assert str(typed.input_fact(0)) == "3,8,f32" and str(typed.output_fact(0)) == "3,4,f32"
    with pytest.raises(tract.ModelError, match=r"no input has the symbol 'B'; there are none"):
        typed.transform(tract.SetSymbols({"B": 3}))


def test_sizes_are_expressions_as_in_tract(load: Any) -> None:
    fact = load(LINEAR).into_model().parse_fact("B,S+P,64,f32")
    twelve = fact.dim(1).eval({"P": 12})
    assert (str(fact.dim(1)), str(twelve), int(twelve.eval({"S": 2}))) == ("P+S", "S+12", 14)


@pytest.mark.parametrize(
    "attributes, size",
    [({}, "S-2"), ({"strides": [2]}, "S//2+0"), ({"pads": [1, 1]}, "S"), ({"dilations": [2]}, "S-4")],
)
def test_the_rule_of_conv_holds_for_every_length(load: Any, attributes: Any, size: str) -> None:
    w = np.ones((2, 1, 3), np.float32)
    conv = load(model([node("Conv", "x w", "y", **attributes)], [info("x", 1, 1, "S")], constants=[("w", w)]))
    conv.analyse()
    told = conv.output_fact(0).dim(2)
    runnable = conv.into_model().into_runnable()
    for n in range(5, 12):
        (y,) = runnable.run([np.ones((1, 1, n), np.float32)])
        assert int(told.eval({"S": n})) == y.to_numpy().shape[2]
    if "strides" not in attributes:
        assert str(told) == size


def test_sizes_that_a_program_computes_are_followed(load: Any) -> None:
    """Reshape to (batch, -1), the batch read from the input's shape, as exporters write it."""
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "b"),
        node("Unsqueeze", "b axis", "b1"),
        node("Concat", "b1 rest", "to", axis=0),
        node("Reshape", "x to", "y"),
    ]
    constants = [("zero", np.array(0)), ("axis", np.array([0])), ("rest", np.array([-1]))]
    flat = load(model(nodes, [info("x", "B", 3, 4)], constants=constants))
    flat.analyse()
    assert str(flat.output_fact(0)) == "B,12,f32"


def test_what_reads_only_constants_runs_once(load: Any) -> None:
    nodes = [node("Mul", "a a", "b"), node("Exp", "b", "c"), node("Add", "x c", "y")]
    typed = load(model(nodes, [info("x", "B")], constants=[("a", np.ones(1, np.float32))])).into_model()
    assert [one.op for one in typed.graph.nodes] == ["Add"]
    (y,) = typed.into_runnable().run([np.zeros(2, np.float32)])
    assert np.allclose(y.to_numpy(), np.e)


@pytest.mark.parametrize(
    "opset, expected", [(11, [[0.25, 0.25], [0.25, 0.25]]), (13, [[0.5, 0.5], [0.5, 0.5]])]
)
def test_softmax_before_opset_13_makes_one_row_of_all_axes_behind(
    load: Any, opset: int, expected: Any
) -> None:
    softmax = load(model([node("Softmax", "x", "y", axis=1)], [info("x", 1, 2, 2)], opset=opset))
    (y,) = softmax.into_model().into_runnable().run([np.zeros((1, 2, 2), np.float32)])
    assert np.allclose(y.to_numpy(), expected)


def test_whole_numbers_are_divided_towards_zero(load: Any) -> None:
    inputs = [info("a", 4, kind=INT64), info("b", 4, kind=INT64)]
    divided = load(model([node("Div", "a b", "y")], inputs)).into_model().into_runnable()
    (y,) = divided.run([np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2])])
    assert y.to_numpy().tolist() == [3, -3, -3, 3]


@pytest.mark.parametrize("opset", [12, 13])
def test_attributes_that_became_inputs_are_read_as_both(load: Any, opset: int) -> None:
    old = model([node("Squeeze", "x", "y", axes=[1])], [info("x", 2, 1)], opset=12)
    new = model([node("Squeeze", "x a", "y")], [info("x", 2, 1)], constants=[("a", np.array([1]))], opset=13)
    squeezed = load(old if opset == 12 else new)
    squeezed.analyse()
    assert str(squeezed.output_fact(0)) == "2,f32"


# What is wrong is told in one line

X = [info("x", "B", 8)]


@pytest.mark.parametrize(
    "wrong, message",
    [
        (b"", "there is no graph in it; is it an ONNX file, and whole"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 64, "is it an ONNX file, and whole"),
        (write(LINEAR)[:-9], "should end at byte .* is it an ONNX file"),
        (model([node("Add", "y x", "z"), node("Neg", "z", "y")], X), "the nodes form a circle"),
        (model([node("Neg", "z", "y")], X), "Neg that makes 'y' reads 'z', which no node"),
        (model([node("Neg", "x", "y"), node("Exp", "x", "y")], X), "make 'y'; names must be different"),
        (
            model([node("Loop", "x", "a"), node("If", "a", "b"), node("If", "b", "y")], X),
            r"not supported: If \(2\), Loop \(1\)",
        ),
        (model([node("Re\nlu", "x", "y")], X), r"not supported: Re\\nlu \(1\)"),
        (model([node("Neg", "x", "y")], X, opset=99), "opset 99, and 1 to 28 are read"),
        (model([node("Neg", "x", "y", beta=1)], X), "has the attribute 'beta'"),
        (model([node("Neg", "x", "y")], [info("x", 2**40)]), "an axis of 1099511627776 numbers"),
        (model([node("Neg", "x", "y")], X, outputs="z"), "the output 'z' is made by no node"),
        (
            model(
                [node("Add", "x c", "y")],
                X,
                constants=[Message("TensorProto", dims=[3], data_type=1, name="c", raw_data=b"12345678")],
            ),
            r"'c' of shape \(3,\) has 8 bytes where 12 are needed",
        ),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_one_line(load: Any, wrong: Any, message: str) -> None:
    with pytest.raises(tract.ModelError, match=message) as caught:
        load(wrong)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("linked", [False, True])
def test_data_outside_of_the_folder_is_not_read(tmp_path: Path, linked: bool) -> None:
    (tmp_path / "secret").write_bytes(struct.pack("<2f", 1, 2))
    folder = tmp_path / "model"
    folder.mkdir()
    if linked:
        (folder / "data").symlink_to(tmp_path / "secret")
    entry = Message("StringStringEntryProto", key="location", value="data" if linked else "../secret")
    far = Message("TensorProto", dims=[2], data_type=1, name="c", external_data=[entry], data_location=1)
    (folder / "m.onnx").write_bytes(write(model([node("Add", "x c", "y")], [info("x", 2)], constants=[far])))
    with pytest.raises(tract.ModelError, match="outside of the model's folder"):
        tract.onnx().load(folder / "m.onnx")


def test_a_contradiction_names_both_sides(load: Any) -> None:
    nodes = [node("Neg", "x", "a"), node("MatMul", "a w", "y")]
    wrong = load(model(nodes, [info("x", "B", 7)], constants=[("w", WEIGHTS)]))
    with pytest.raises(
        tract.ModelError, match=r"inner sizes 7 and 8 differ.*'a' \(made by Neg.*'w' \(given\)"
    ):
        wrong.analyse()


@pytest.mark.parametrize(
    "inputs, message",
    [
        ([], "0 inputs were given, and the model has 1: x"),
        ([np.ones((2, 8))], "is 2,8,f64, and should be batch,8,f32; see astype"),
        ([np.ones((2, 7), np.float32)], "is 2,7,f32, and should be batch,8,f32"),
        ([np.ones(8, np.float32)], "is 8,f32, and should be batch,8,f32"),
    ],
)
def test_inputs_that_do_not_fit_are_told(load: Any, inputs: Any, message: str) -> None:
    runnable = load(LINEAR).into_model().into_runnable()
    with pytest.raises(tract.ModelError, match=message):
        runnable.run(inputs)


def test_a_symbol_has_one_value(load: Any) -> None:
    twice = model([node("Add", "x z", "y")], [info("x", "B"), info("z", "B")])
    with pytest.raises(tract.ModelError, match="the symbol B is 3, and in the input 'z' 1"):
        load(twice).into_model().into_runnable().run([np.ones(3, np.float32), np.ones(1, np.float32)])


@pytest.mark.parametrize("fact", ["B,8", "B,,f32", "-1,f32", "B/2,f32"])
def test_a_fact_that_is_not_written_so_is_refused(load: Any, fact: str) -> None:
    with pytest.raises(tract.FactError, match="the fact"):
        load(LINEAR).set_input_fact(0, fact)


@pytest.mark.slow
@pytest.mark.parametrize("files", [1_000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_mutated_files_are_run_or_refused_in_bounded_time_and_memory(load: Any, files: int) -> None:
    nodes = [
        node("Conv", "x w", "a", pads=[1, 1]),
        node("Relu", "a", "b"),
        node("MaxPool", "b", "c", kernel_shape=[2], strides=[2]),
        node("Transpose", "c", "d", perm=[0, 2, 1]),
        node("ReduceMean", "d", "e", axes=[2], keepdims=1),
        node("Sub", "d e", "f"),
        node("Softmax", "f", "g", axis=-1),
        node("Reshape", "g to", "y"),
    ]
    constants = [("w", np.ones((2, 1, 3), np.float32)), ("to", np.array([1, -1]))]
    data = write(model(nodes, [info("x", 1, 1, 8)], constants=constants, opset=17))
    x, draw, refused, slowest = np.ones((1, 1, 8), np.float32), random.Random(0), 0, 0.0

    def run(mutated: bytes) -> None:
        load(mutated).into_model().into_runnable(most_bytes=2**24).run([x])

    def mutate(times: int) -> None:
        nonlocal refused, slowest
        for i in range(times):
            mutated = bytearray(data)
            for _ in range(draw.randint(1, 4)):
                mutated[draw.randrange(len(data))] = draw.randrange(256)
            start = time.process_time()
            try:
                run(bytes(mutated[: draw.randrange(len(data))] if i % 10 == 0 else mutated))
            except tract.ModelError as error:
                refused += 1
                assert "\n" not in str(error)
            slowest = max(slowest, time.process_time() - start)

    run(data)
    assert peak_of(lambda: mutate(500)) < 2**27
    refused, slowest = 0, 0.0
    mutate(files)
    assert refused > files / 2 and slowest < 2


@pytest.mark.parametrize(
    "one, message",
    [
        (node("Add", "x x x", "y"), r"reads \['x', 'x', 'x'\]; Add needs 2 inputs, and there may be 2"),
        (node("Conv", "x", "y"), r"Conv needs 2 inputs, and there may be 3"),
        (Message("NodeProto", op_type="Sum", output=["y"]), r"Sum needs 1 inputs"),
        (Message("NodeProto", op_type="Relu", input=[""], output=["y"]), r"reads \[\]; Relu needs 1"),
        (node("Abs", "x", "y", casting=1), "has the attribute 'casting'"),
        (node("ReduceMax", "x", "y", f=1), "has the attribute 'f'"),
        (node("ReduceSum", "x", "y", axes=0.5), "has the attribute 'axes'"),
        (node("Transpose", "x", "y", perm=1), "Transpose"),
        (node("ConstantOfShape", "x", "y", value=1), "ConstantOfShape"),
        (node("Softmax", "x", "y", axis=7), "axis 7 of"),
        (node("Flatten", "x", "y", axis=7), "axis 7 of"),
        (node("Split", "x", "y z", num_outputs=3), "has 2 outputs, and num_outputs 3"),
    ],
)
def test_a_node_that_is_written_wrong_is_refused(load: Any, one: Message, message: str) -> None:
    with pytest.raises(tract.ModelError, match=message) as caught:
        load(model([one], X)).into_model()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "one, message",
    [
        (
            node("MaxPool", "x", "y", kernel_shape=[2], pads=[3, 3]),
            "a padding of 3 numbers, where a window of 2",
        ),
        (node("AveragePool", "x", "y", kernel_shape=[2], pads=[0, 2]), "a padding of 2 numbers"),
        (node("MaxPool", "x", "y", kernel_shape=[2], pads=[-1, 0]), r"pads \[-1, 0\] for a window"),
        (node("Conv", "x w", "y", pads=[0, -1]), r"pads \[0, -1\] for a window of 1 axes"),
    ],
)
def test_a_padding_that_no_window_fits_is_refused(load: Any, one: Message, message: str) -> None:
    pooled = load(model([one], [info("x", 1, 1, 5)], constants=[("w", np.ones((1, 1, 2), np.float32))]))
    with pytest.raises(tract.ModelError, match=message):
        pooled.into_model()


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "Conv"])
def test_a_window_of_many_thousands_makes_no_long_program(load: Any, op: str) -> None:
    wide = node(
        op, "x w" if op == "Conv" else "x", "y", **({} if op == "Conv" else {"kernel_shape": [90, 90]})
    )
    constants = [("w", np.ones((1, 1, 90, 90), np.float32))]
    runnable = (
        load(model([wide], [info("x", 1, 1, 99, 92)], constants=constants)).into_model().into_runnable()
    )
    start, x = time.process_time(), np.zeros((1, 1, 99, 92), np.float32)
    x[..., 50, 91] = 1
    (y,) = runnable.run([x])
    assert time.process_time() - start < 2 and runnable.plan.program.source.count("\n") < 20
    share = 1 / 8100 if op == "AveragePool" else 1
    np.testing.assert_allclose(y.to_numpy()[0, 0], np.tile([0, 0, share], (10, 1)).astype(np.float32))


@pytest.mark.parametrize(
    "one, weights",
    [
        (node("MaxPool", "x", "y", kernel_shape=[2**20] * 2, strides=[2**20] * 2, pads=[2**19] * 4), 1),
        (node("MaxPool", "x", "y i", kernel_shape=[80, 80], pads=[40] * 4), 1),
        (node("Conv", "x w", "y", pads=[40] * 4), (1, 1, 80, 80)),
        (node("ConvTranspose", "x w", "y", pads=[0, 0, 0, 8000]), (1, 1, 1, 8192)),
    ],
)  # fmt: skip
def test_a_window_takes_little_more_memory_than_its_result(load: Any, one: Message, weights: Any) -> None:
    pool = load(model([one], [info("x", 1, 1, 64, 64)], constants=[("w", np.zeros(weights, np.float32))]))
    runnable = pool.into_model().into_runnable()

    def run() -> None:
        try:
            runnable.run([np.zeros((1, 1, 64, 64), np.float32)])
        except tract.ModelError as error:
            assert "numbers" in str(error) or "most_bytes" in str(error)

    assert peak_of(run) < 2**29


def test_one_number_that_is_not_0_has_one_place(load: Any) -> None:
    runnable = load(model([node("NonZero", "x", "y")], [info("x")])).into_model().into_runnable()
    for number in (0, 3):
        (y,) = runnable.run([np.float32(number).reshape(())])
        assert y.to_numpy().shape == (1, int(number != 0))


@pytest.mark.parametrize(
    "one, message",
    [
        (node("MatMul", "x w", "y"), "inputs of different kinds: B,8,f32 and 8,2,i64; cast one"),
        (node("Gemm", "x w", "y"), "inputs of different kinds"),
        (node("Exp", "w", "y"), "floats are taken, and 8,2,i64 is none; cast it"),
        (node("Softmax", "w", "y"), "floats are taken"),
        (
            node("Cast", "x", "y", to=16),
            r"Cast to what is bfloat16 \(16\), and those that are read are f32, u8",
        ),
    ],
)
def test_numbers_of_another_kind_are_told(load: Any, one: Message, message: str) -> None:
    with pytest.raises(tract.ModelError, match=message):
        load(model([one], [info("x", "B", 8)], constants=[("w", np.ones((8, 2), np.int64))])).into_model()


def test_floats_of_16_bits_are_told_by_name(load: Any) -> None:
    half = Message("TensorProto", dims=[2], data_type=10, name="w", raw_data=bytes(4))
    with pytest.raises(
        tract.ModelError, match=r"the constant 'w' is float16 \(10\), and those that are read"
    ):
        load(model([node("Add", "x w", "y")], [info("x", 2)], constants=[half]))
    with pytest.raises(tract.ModelError, match=r"the input 'x' is bfloat16 \(16\)"):
        load(model([node("Neg", "x", "y")], [info("x", 2, kind=16)]))


def test_a_scatter_of_opset_9_is_read(load: Any) -> None:
    old = model(
        [node("Scatter", "x at one", "y", axis=1)],
        [info("x", 2, 3)],
        opset=9,
        constants=[("at", np.array([[1], [2]])), ("one", np.ones((2, 1), np.float32))],
    )
    (y,) = load(old).into_model().into_runnable().run([np.zeros((2, 3), np.float32)])
    assert y.to_numpy().tolist() == [[0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("size", ["7//0", "a//0", "1" + "+N" * 100_000], ids=["7//0", "a//0", "long"])
def test_a_size_that_cannot_be_read_is_not_known(load: Any, size: str) -> None:
    runnable = load(model([node("Relu", "x", "y")], [info("x", size)])).into_model().into_runnable()
    assert runnable.run([np.ones(3, np.float32)])[0].to_numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "attributes, message",
    [
        ({"dilations": [0, 1]}, r"dilations \[0, 1\] for a window of 2 axes"),
        ({"strides": [1, 1, 1]}, r"strides \[1, 1, 1\] for a window of 2 axes"),
        ({"pads": [1, 1]}, r"pads \[1, 1\] for a window of 2 axes"),
        ({"kernel_shape": [2, 3]}, r"kernel_shape \[2, 3\], and weights 1,1,3,3,f32"),
    ],
)
def test_a_window_that_is_none_is_refused(load: Any, attributes: Any, message: str) -> None:
    weights = [("w", np.ones((1, 1, 3, 3), np.float32))]
    with pytest.raises(tract.ModelError, match=message):
        load(
            model([node("Conv", "x w", "y", **attributes)], [info("x", 1, 1, 5, 5)], constants=weights)
        ).into_model()


# Sizes that are known for long inputs only are not told


STEPS = ("one", np.array([-1])), ("far", np.array([-7])), ("near", np.array([-2]))
SHORT: list[tuple[str, list[Message], list[Message], list[Any], list[float]]] = [
    (
        "two symbols of which one is 1",
        [node("Add", "a b", "c"), node("Shape", "c", "s"), node("Expand", "a s", "y")],
        [info("a", "P"), info("b", "Q")],
        [np.ones(1, np.float32), np.ones(5, np.float32)],
        [1] * 5,
    ),
    (
        "the last two of one",
        [node("Slice", "x near most", "c"), node("Shape", "c", "s"), node("Expand", "c s", "y")],
        [info("x", "S")],
        [np.ones(1, np.float32)],
        [1],
    ),
    (
        "backwards from before the first",
        [node("Slice", "x near far all one", "y")],
        [info("x", 1)],
        [np.full(1, 7, np.float32)],
        [7],
    ),
    (
        "an axis that may be 1 long",
        [node("Squeeze", "x", "c"), node("Flatten", "c", "f"), node("Relu", "f", "y")],
        [info("x", 1, "S", 2)],
        [np.ones((1, 1, 2), np.float32)],
        [1, 1],
    ),
]


@pytest.mark.parametrize(
    "nodes, inputs, given, expected", [one[1:] for one in SHORT], ids=[x[0] for x in SHORT]
)
def test_short_inputs_are_answered_as_long_ones(
    load: Any, nodes: list[Message], inputs: list[Message], given: Any, expected: list[float]
) -> None:
    constants = [*STEPS, ("most", np.array([2**62])), ("all", np.array([0]))]
    (made,) = load(model(nodes, inputs, constants=constants)).into_model().into_runnable().run(given)
    assert made.to_numpy().ravel().tolist() == expected


PIECES = [("two", np.array([2])), ("less", np.array([-1])), ("off", np.array([-2])), ("none", np.array([0]))]
PIECES += [("near", np.array([3])), ("most", np.array([2**62])), ("wide", np.zeros((6, 4), np.float32))]


@pytest.mark.parametrize(
    "cut, size, told",
    [
        ("x two most", lambda s: len(range(s)[2:]), "S-min(2,S)"),
        ("x two less", lambda s: len(range(s)[2:-1]), "S-min(3,S)"),
        ("x off most", lambda s: len(range(s)[-2:]), "min(2,S)"),
        ("x none near", lambda s: len(range(s)[:3]), "min(3,S)"),
        ("x near less none two", lambda s: len(range(s)[3:-1:2]), "(S+1)//2-min((S+1)//2,2)"),
        ("wide none s", lambda s: len(range(6)[:s]), "min(6,S)"),
        ("wide s most", lambda s: len(range(6)[s:]), "-min(6,S)+6"),
        ("x off s", lambda s: len(range(s)[-2:s]), "min(2,S)"),
    ],
)
def test_a_slice_of_a_symbol_is_as_long_as_in_python(load: Any, cut: str, size: Any, told: str) -> None:
    nodes = [node("Shape", "x", "s", end=1), node("Slice", cut, "y")]
    typed = load(model(nodes, [info("x", "S", 4)], constants=PIECES)).into_model()
    assert typed.output_fact(0).dump() == f"{told},4,f32"
    for n in range(8):
        (y,) = typed.into_runnable().run([np.ones((n, 4), np.float32)])
        assert len(y.to_numpy()) == size(n) == int(typed.output_fact(0).dim(0).eval({"S": n}))


def test_frames_that_a_window_and_a_slice_leave_are_the_same_ones(load: Any) -> None:
    nodes = [node("Conv", "x w", "c"), node("Slice", "x two most two", "d"), node("Add", "c d", "y")]
    constants = [*PIECES, ("w", np.ones((1, 1, 3), np.float32))]
    typed = load(model(nodes, [info("x", 1, 1, "S")], constants=constants)).into_model()
    assert typed.output_fact(0).dump() == "1,1,S-2,f32"
    typed.transform(tract.Pulse(4))


def test_rows_of_a_table_are_as_many_as_those_that_they_join(load: Any) -> None:
    nodes = [node("Shape", "x", "s", end=1), node("Slice", "wide none s", "t"), node("Add", "x t", "y")]
    typed = load(model(nodes, [info("x", "T", 4)], constants=PIECES)).into_model()
    assert typed.output_fact(0).dump() == "T,4,f32"
    with pytest.raises(tract.ModelError, match="Add"):
        typed.into_runnable().run([np.ones((7, 4), np.float32)])


def test_a_size_worked_out_below_0_is_no_slices(load: Any) -> None:
    """x[2:] of one number has 0, and S - 2 is -1."""
    nodes = [
        node("Slice", "x two most", "c"), node("Shape", "c", "long"),
        node("Shape", "x", "s"), node("Sub", "s two", "left"), node("Reshape", "c left", "y"),
    ]  # fmt: skip
    typed = load(model(nodes, [info("x", "S")], "long left y", PIECES)).into_model()
    assert typed.output_fact(2).dump() == "S-min(2,S),f32"
    for n in range(5):
        long, left, y = typed.into_runnable().run([np.ones(n, np.float32)])
        assert (long.to_numpy(), left.to_numpy(), y.to_numpy().size) == (max(n - 2, 0), n - 2, max(n - 2, 0))


def test_outputs_share_no_memory(load: Any) -> None:
    twice = model([node("Relu", "x", "y"), node("Identity", "y", "z")], [info("x", 3)], "y z")
    y, z = load(twice).into_model().into_runnable().run([np.ones(3, np.float32)])
    y.to_numpy()[:] = 9
    assert z.to_numpy().tolist() == [1, 1, 1]


def test_a_first_run_writes_out_no_arrays(load: Any) -> None:
    """A program of many numbers was printed, to be made into a name."""
    many = model([node("AveragePool", "x", "y", kernel_shape=[64])], [info("x", 1, 64, 4096)])
    runnable = load(many).into_model().into_runnable()
    start = time.process_time()
    runnable.run([np.ones((1, 64, 4096), np.float32)])
    assert time.process_time() - start < 1


# What would not fit into memory is refused before it is made


def doubling(times: int) -> Message:
    """x twice, that twice, and so on."""
    names = ["x", *(f"v{i}" for i in range(1, times)), "y"]
    nodes = [node("Concat", f"{a} {a}", b, axis=0) for a, b in itertools.pairwise(names)]
    return model(nodes, [info("x", "S")])


def peak_of(run: Any) -> int:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_model_that_doubles_its_size_is_refused_before_it_asks_for_memory(load: Any) -> None:
    runnable = load(doubling(36)).into_model().into_runnable()

    def run() -> None:
        with pytest.raises(tract.ModelError, match=r"Concat that makes 'v\d+': .* bytes.*most_bytes"):
            runnable.run([np.ones(2, np.float32)])

    assert peak_of(run) < 2**20
    (y,) = load(doubling(3)).into_model().into_runnable().run([np.ones(2, np.float32)])
    assert y.to_numpy().shape == (16,)


def test_how_much_memory_a_run_may_take_can_be_said(load: Any) -> None:
    typed = load(doubling(3)).into_model()
    with pytest.raises(tract.ModelError, match="v2"):
        typed.into_runnable(most_bytes=40).run([np.ones(2, np.float32)])
    assert typed.into_runnable(most_bytes=96).run([np.ones(2, np.float32)])[0].to_numpy().size == 16


def test_a_size_that_an_input_says_is_looked_at_before_it_is_made(load: Any) -> None:
    wide = load(
        model([node("Expand", "x to", "a"), node("Neg", "a", "y")], [info("x"), info("to", 1, kind=INT64)])
    )
    runnable = wide.into_model().into_runnable()
    x = np.float32(1).reshape(())
    assert runnable.run([x, np.array([3])])[0].to_numpy().tolist() == [-1, -1, -1]

    def run() -> None:
        with pytest.raises(tract.ModelError, match="most_bytes"):
            runnable.run([x, np.array([2**33])])

    assert peak_of(run) < 2**20


def test_constants_that_grow_are_not_all_worked_out_before(load: Any) -> None:
    nodes = [node("Expand", "c to", f"a{i}") for i in range(40)]
    nodes.append(node("Sum", " ".join(["x", *(f"a{i}" for i in range(40))]), "y"))
    constants = [("c", np.ones(1, np.float32)), ("to", np.array([2**23]))]
    assert peak_of(lambda: load(model(nodes, [info("x", 1)], constants=constants)).into_model()) < 2**28


@pytest.mark.parametrize("divided", [False, True])
def test_sizes_that_explode_as_algebra_are_given_up(load: Any, divided: bool) -> None:
    names = [f"s{i}" for i in range(40)]
    nodes = [node("Shape", "x", "all"), node("Gather", "all zero", "s0"), node("Gather", "all one", "t")]
    for a, b in itertools.pairwise(names):
        nodes.append(node("Mul", f"{a} {a}", f"{b}q" if divided else b))
        if divided:
            nodes += [node("Add", f"{b}q one", f"{b}r"), node("Div", f"{b}r t", b)]
    nodes.append(node("ConstantOfShape", "s39", "y"))
    start = time.process_time()
    grows = load(
        model(nodes, [info("x", "S", "T")], constants=[("zero", np.array([0])), ("one", np.array([1]))])
    )
    grows.analyse()
    assert time.process_time() - start < 2


@pytest.mark.parametrize("given", [5, None, "x", np.ones((2, 8), np.float32), {"x": 1}])
def test_run_takes_a_list(load: Any, given: Any) -> None:
    runnable = load(LINEAR).into_model().into_runnable()
    with pytest.raises(
        tract.ModelError, match=r"run takes a list with an array for each input: run\(\[x\]\)"
    ):
        runnable.run(given)


@pytest.mark.parametrize("given", [[[1.0], [1.0, 2.0]], "text", None, object()])
def test_an_input_that_is_no_array_of_numbers_is_told(load: Any, given: Any) -> None:
    runnable = load(LINEAR).into_model().into_runnable()
    with pytest.raises(tract.ModelError, match="the input 'x'") as caught:
        runnable.run([given])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sizes", [[2**40, 0], [2**62, 4], [2**63 - 1]])
def test_a_constant_of_too_many_numbers_is_refused(load: Any, sizes: list[int]) -> None:
    large = Message("TensorProto", dims=sizes, data_type=1, name="c", raw_data=b"")
    with pytest.raises(tract.ModelError, match="the constant 'c'"):
        load(model([node("Add", "x c", "y")], [info("x", 1)], constants=[large]))


def test_a_padding_without_end_is_refused(load: Any) -> None:
    pool = node("MaxPool", "x", "y", kernel_shape=[2**30], pads=[2**29, 2**29], strides=[2**30])
    with pytest.raises(tract.ModelError, match=f"a padding of {2**29} numbers"):
        load(model([pool], [info("x", 1, 1, 8)])).analyse()


def test_operators_of_our_own_are_refused_in_a_file(load: Any) -> None:
    from minilib.infer.operators import OPERATORS, define, same

    define("Fused", lambda x: x, same, own=True)
    try:
        with pytest.raises(tract.ModelError, match=r"not supported: Fused \(1\)"):
            load(model([node("Fused", "x", "y")], [info("x", 1)]))
    finally:
        del OPERATORS["Fused"]


def test_numbers_are_cast_to_bytes_as_tract_casts_them(load: Any) -> None:
    cast = load(model([node("Cast", "x", "y", to=3)], [info("x", 6)])).into_model().into_runnable()
    (y,) = cast.run([np.array([-1, -0.3, 0, 0.25, 0.75, 1.2], np.float32)])
    assert y.to_numpy().dtype == np.int8 and y.to_numpy().tolist() == [-1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    "nodes",
    [
        [node("MaxPool", "x", "y", kernel_shape=[2, 2])],
        [node("AveragePool", "x", "y", kernel_shape=[2, 2])],
        [node("Conv", "x w", "y")],
        [node("ConvTranspose", "x w", "y")],
        [node("GroupNormalization", "x one one", "y", num_groups=2)],
        [node("GlobalAveragePool", "x", "a"), node("Flatten", "a", "b"), node("Softmax", "b", "y")],
    ],
)
def test_a_batch_of_none_gives_a_batch_of_none(load: Any, nodes: list[Message]) -> None:
    constants = [("w", np.ones((4, 4, 2, 2), np.float32)), ("one", np.ones(4, np.float32))]
    typed = load(model(nodes, [info("x", "B", 4, 6, 6)], constants=constants, opset=21)).into_model()
    (y,) = typed.into_runnable().run([np.ones((0, 4, 6, 6), np.float32)])
    assert [0, *map(int, typed.output_fact(0).dims()[1:])] == list(y.to_numpy().shape)


def test_attention_of_no_words_is_of_no_words() -> None:
    from minilib.infer.operators import OPERATORS

    none = np.ones((2, 0, 8), np.float32)
    assert OPERATORS["MultiHeadAttention"](none, none, none, heads=2)[0].shape == (2, 0, 8)


def test_zeros_around_a_convolution_are_its_padding(load: Any) -> None:
    w, wide = np.ones((1, 2, 3), np.float32), np.array([0, 0, 2, 0, 0, 0])
    nodes = [node("Pad", "x p", "h"), node("Conv", "h w", "y", pads=[1, 0])]
    causal = load(model(nodes, [info("x", 1, 2, "S")], constants=[("p", wide), ("w", w)])).into_model()
    assert [(one.op, one.attributes["pads"]) for one in causal.graph.nodes] == [("Conv", [3, 0])]
    x = np.arange(8, dtype=np.float32).reshape(1, 2, 4)
    sums = np.convolve(x[0].sum(0), np.ones(3))[:4]
    np.testing.assert_array_equal(causal.into_runnable().run([x])[0].to_numpy()[0, 0], [0, *sums])
    ones = np.array(1, np.float32)  # what is no zero stays
    nodes[0] = node("Pad", "x p one", "h")
    other = load(model(nodes, [info("x", 1, 2, "S")], constants=[("p", wide), ("w", w), ("one", ones)]))
    assert [one.op for one in other.into_model().graph.nodes] == ["Pad", "Conv"]


def test_tracts_other_names(load: Any) -> None:
    linear = load(LINEAR)
    linear.set_output_fact(0, "batch,5,f32")
    with pytest.raises(tract.ModelError, match="the output 'y' is batch,4,f32, and not batch,5,f32"):
        linear.analyse()
    linear.set_output_fact(0, None)
    made = linear.into_model()
    made.transform(tract.SetSymbols().value("batch", "2*N"))
    made.transform('{"name": "set_symbols", "values": {"N": 3}}')
    assert made.output_fact(0).dump() == "6,4,f32"
    with pytest.raises(tract.ModelError, match="'f32_to_f16' is no transform"):
        made.transform("f32_to_f16")
    runnable = load(LINEAR).into_model().into_runnable()
    assert runnable.profile_json(None) == load(LINEAR).into_model().profile_json(None)
    (found,) = runnable.run([[[1] * 8]])  # rows of Python's numbers are of the input's kind
    assert found.datum_type() == made.input_fact(0).datum_type() == tract.DatumType.F32
    for kind in "int8", tract.DatumType.I8:
        assert found.convert_to(kind).to_numpy().dtype == np.int8
    assert tract.version().count(".") == 2
    assert found == found.convert_to(np.float32) != found.convert_to(np.float64)
    assert tract.nnef().with_onnx().with_pulse().with_tract_core().with_tract_extra() == tract.nnef()
    np.testing.assert_array_equal(found.into_numpy(), [WEIGHTS.sum(0)])
    state = runnable.spawn_state()
    assert (state.input_count(), state.output_count()) == (1, 1)


def test_kinds_of_numbers_have_tracts_names_and_numbers() -> None:
    kinds = {str(one): one for one in tract.DatumType}
    assert all(tract.DatumType.of(one.dtype) is one for one in kinds.values())
    assert (kinds["F32"], kinds["I64"], kinds["U8"], kinds["BOOL"]) == (
        52,
        40,
        17,
        1,
    )  # of its version 0.23.9
    assert [name for name, one in kinds.items() if one.is_float()] == ["F16", "F32", "F64"]
    assert [name for name, one in kinds.items() if one.is_signed()] == ["I8", "I16", "I32", "I64"]
    assert [name for name, one in kinds.items() if one.is_unsigned()] == ["U8", "U16", "U32", "U64"]
    assert [name for name, one in kinds.items() if not one.is_number()] == ["BOOL"]
    for kind in np.complex64, np.longdouble:
        with pytest.raises(tract.FactError, match="is none of the kinds BOOL, U8, "):
            tract.Tensor.from_numpy(np.ones(1, kind)).datum_type()


def test_a_model_is_prepared_by_a_runtime(load: Any) -> None:
    runtime = tract.runtime_for_name("default")
    assert runtime.name() == "cpu"
    (found,) = runtime.prepare(load(LINEAR).into_model()).run([[[1] * 8]])
    np.testing.assert_array_equal(found.to_numpy(), [WEIGHTS.sum(0)])
    with pytest.raises(tract.ModelError, match="no runtime is called 'cuda'; there is cpu"):
        tract.runtime_for_name("cuda")


def test_a_frozen_state_goes_on_as_often_as_one_likes(load: Any) -> None:
    nodes = [node("Add", "x old", "new"), node("Neg", "new", "y")]
    total = load(model(nodes, [info("x", 2), info("old", 2)], "y new"))
    stream = total.into_model().into_runnable().spawn_state({"old": "new"})
    one = np.ones(2, np.float32)
    stream.run([one])
    frozen = stream.freeze()
    assert [stream.run([one])[0].to_numpy()[0] for _ in range(3)] == [-2, -3, -4]
    for _ in range(2):  # what goes on from there does not thaw what is frozen
        again = frozen.unfreeze()
        assert [again.run([one])[0].to_numpy()[0] for _ in range(2)] == [-2, -3]


def test_pulses_are_told_along_a_symbol_either_way(load: Any) -> None:
    nodes = [node("Relu", "x", "y")]
    for transform in (
        tract.Pulse(4, symbol="T"),
        tract.Pulse("4").symbol("T"),
        '{"name":"pulse","pulse":"4","symbol":"T"}',
    ):
        stream = load(model(nodes, [info("x", 1, "T")])).into_model()
        stream.transform(transform)
        assert str(stream.output_fact(0)) == "1,4,f32"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m: tract.onnx().load(b"model"), "a file is given by its path, such as 'model.onnx', and"),
        (lambda m: tract.onnx().load("a\0b"), "cannot be read"),
        (lambda m: tract.nnef().load(None), "a file is given by its path, .* not NoneType"),
        (lambda m: tract.nnef().write_model_to_dir(m.into_model(), 5), "a file is given by its path"),
        (lambda m: tract.nnef().write_model_to_tar(m.into_model(), "/nowhere/x.tar"), "cannot be written"),
        (lambda m: m.set_input_fact("0", "B,8,f32"), "there is no input '0': the model has 1"),
        (lambda m: m.set_input_fact(0, 5), 'a fact is text such as "B,4,f32", and not 5'),
        (lambda m: m.output_name("y"), "there is no output 'y': the model has 1"),
        (lambda m: m.input_fact(0).dim(9), "batch,8,f32 has no axis 9; they are counted from 0"),
        (lambda m: m.input_fact(0).dim(0).eval({"batch": "2"}), "symbols are given as whole numbers by name"),
        (lambda m: m.into_model().transform(tract.SetSymbols("batch")), "takes sizes by name, .* 'batch'"),
        (lambda m: m.into_model().transform(tract.SetSymbols({"batch": 2.5})), "takes sizes by name"),
        (lambda m: m.into_model().into_runnable("1 GB"), "most_bytes is a number of bytes, and not '1 GB'"),
        (lambda m: m.into_model().into_runnable().spawn_state("x"), "carry names outputs by inputs"),
        (lambda m: m.into_model().into_runnable().spawn_state({}, {"B": "a"}), "symbols are given as whole"),
        (lambda m: m.into_model().profile_json(5), r"run takes a list .*: run\(\[x\]\), and not int"),
        (lambda m: tract.runtime_for_name("cpu").prepare(m), "a runtime takes what into_model gives"),
        (lambda m: tract.Tensor.from_numpy(["a"]).convert_to("float32"), "<U1 cannot become F32"),
        (lambda m: tract.Tensor.from_numpy([1]).convert_to("nope"), "nope is none of the kinds BOOL, U8"),
    ],
)  # fmt: skip
def test_what_is_of_the_wrong_type_is_told_in_one_line(load: Any, call: Any, message: str) -> None:
    with pytest.raises((tract.ModelError, tract.FactError), match=message) as caught:
        call(load(LINEAR))
    assert "\n" not in str(caught.value)
