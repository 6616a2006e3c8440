"""Declutter, plan and profile: never another answer, fewer nodes, memory used again; costs in symbols."""

from __future__ import annotations

import json
import math
import threading
from typing import Any

import numpy as np
import pytest

import minilib.infer as tract
from minilib.infer.api import Model
from minilib.infer.declutter import declutter, sweep
from minilib.infer.facts import parse_fact
from minilib.infer.model import Graph, ModelError, Node, analyse, evaluate, fold
from minilib.infer.plan import Plan
from minilib.infer.profile import profile
from minilib.wire import Message, write

rng = np.random.default_rng(0)


def drawn(*shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def graph_of(inputs: dict[str, str], lines: str, outputs: str = "y", **constants: Any) -> Graph:
    """Each line is "result result = Operator input input", with its attributes in {} behind it."""
    nodes = []
    for line in lines.strip().splitlines():
        left, _, right = line.strip().partition(" = ")
        words, _, told = right.partition(" {")
        op, *read = words.split(" ")
        attributes = eval("{" + told, {"inf": math.inf}) if told else {}
        nodes.append(Node(op, ["" if name == "_" else name for name in read], left.split(" "), attributes))
    facts = {name: parse_fact(fact) for name, fact in inputs.items()}
    arrays = {name: np.asarray(value) for name, value in constants.items()}
    graph = Graph(facts, outputs.split(" "), nodes, arrays).sorted()
    graph.facts = analyse(graph)
    return graph


def smaller(graph: Graph, *inputs: Any, tolerance: float = 1e-5) -> Graph:
    """The decluttered graph; that it answers as before, by the table and by plan, and is a fixed point."""
    wanted = evaluate(graph, list(inputs))
    found = declutter(graph)
    assert found.outputs == graph.outputs and list(found.inputs) == list(graph.inputs)
    plan = Plan(found)
    for answers in (evaluate(found, list(inputs)), plan.run(inputs), plan.run(inputs)):
        for one, expected in zip(answers, wanted):
            assert one.shape == expected.shape and one.dtype == expected.dtype
            largest = np.abs(expected[np.isfinite(expected)].astype(float)).max(initial=1)
            np.testing.assert_allclose(one, expected, atol=tolerance * largest, rtol=tolerance)
    assert sweep(fold(found)) is None
    assert plan.program.bytes <= 1.1 * plan.program.live_bytes
    return found


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


# Rules, one by one


@pytest.mark.parametrize(
    "lines",
    [
        "y = Identity a\na = Relu x",
        "a = Relu x\nb = Add a zero\nc = Mul one b\nd = Div c one\ny = Pow d one",
        "a = Relu x\nb = Transpose a {'perm': [1, 0]}\ny = Transpose b {'perm': [1, 0]}",
        "a = Identity x\nb = Identity a\nc = Dropout b\nd = Identity c\ny = Relu d",
        "a = Relu x\nb = Reshape a three\ny = Reshape b same",
        "a = Relu x\nb = Cast a {'to': 1}\ny = Sum b",
        "a = Relu x\nb = Slice a lo hi\ny = Pad b none",
    ],
)
def test_what_changes_nothing_goes_and_an_output_keeps_its_name(lines: str) -> None:
    constants = {
        "zero": np.float32(0), "one": np.float32(1), "three": np.array([3, 2, 2]), "same": np.array([3, 4]),
        "lo": np.array([0, 0]), "hi": np.array([2**31, 2**31]), "none": np.zeros(4, int),
    }  # fmt: skip
    assert ops(smaller(graph_of({"x": "3,4,f32"}, lines, **constants), drawn(3, 4))) == ["Relu"]


@pytest.mark.parametrize(
    "lines",
    [
        "y = Add x tall",  # it broadcasts
        "y = Slice x lo hi _ back",  # it turns round
        "a = Exp x\ny = Add a x\nz = Identity x",
    ],
)
def test_what_looks_like_nothing_and_is_something_stays(lines: str) -> None:
    constants = {"tall": np.zeros((1, 1, 1), np.float32), "lo": np.array([-1]), "hi": np.array([-(2**31)])}
    lines = lines.replace("lo hi _ back", "lo hi axes back")
    graph = graph_of(
        {"x": "3,4,f32"}, lines, "y z" if "z =" in lines else "y", **constants,
        axes=np.array([1]), back=np.array([-1]),
    )  # fmt: skip
    assert len(smaller(graph, drawn(3, 4)).nodes) == len(graph.nodes)


@pytest.mark.parametrize("line", ["PRelu a c", "Max a c", "Where m a c", "Softsign a"])
def test_a_transpose_goes_behind_all_that_works_number_by_number(line: str) -> None:
    lines = f"a = Transpose x {{'perm': [1, 0]}}\nb = {line}\ny = Transpose b {{'perm': [1, 0]}}"
    graph = graph_of({"x": "3,4,f32"}, lines, c=drawn(4, 3), m=rng.random((4, 1)) > 0.5)
    assert ops(smaller(graph, drawn(3, 4))) == [line.split(" ")[0]]


def test_what_is_computed_twice_is_computed_once() -> None:
    graph = graph_of(
        {"x": "B,4,f32"}, "a = Add x c\nb = Add x d\ne = Exp a\nf = Exp b\ny = Mul e f",
        c=np.float32([1, 2, 3, 4]), d=np.float32([1, 2, 3, 4]),
    )  # fmt: skip
    assert ops(smaller(graph, drawn(2, 4))) == ["Add", "Exp", "Mul"]


def test_batch_norm_goes_into_the_convolution() -> None:
    lines = "a = Conv x w {'pads': [1, 1, 1, 1]}\ny _1 = BatchNormalization a s b m v"
    graph = graph_of(
        {"x": "B,2,5,5,f32"}, lines, w=drawn(3, 2, 3, 3), s=drawn(3), b=drawn(3), m=drawn(3),
        v=np.abs(drawn(3)),
    )  # fmt: skip
    assert ops(smaller(graph, drawn(2, 2, 5, 5))) == ["Conv"]
    shared = Graph(graph.inputs, ["y", "a"], graph.nodes, graph.constants)
    assert ops(smaller(shared, drawn(2, 2, 5, 5))) == ["Conv", "BatchNormalization"]


@pytest.mark.parametrize("transposed", [False, True])
def test_products_with_a_row_added_are_linear(transposed: bool) -> None:
    w = drawn(4, 3)
    gemm = graph_of(
        {"x": "B,4,f32"}, f"y = Gemm x w b {{'transB': {int(transposed)}, 'alpha': 2.0, 'beta': 0.5}}",
        w=w.T.copy() if transposed else w, b=drawn(3),
    )  # fmt: skip
    assert ops(smaller(gemm, drawn(5, 4))) == ["Linear"]
    product = graph_of({"x": "B,T,4,f32"}, "a = MatMul x w\ny = Add b a", w=w, b=drawn(3))
    assert ops(smaller(product, drawn(2, 5, 4))) == ["Linear"]


GELUS = [
    "a = Mul x s\nb = Erf a\nc = Add b one\nd = Mul x c\ny = Mul d half",
    "a = Div x r\nb = Erf a\nc = Add one b\nd = Mul half x\ny = Mul d c",
    "a = Div x r\nb = Erf a\nc = Add b one\nd = Mul half c\ny = Mul x d",
    "a = Mul half x\nb = Pow x three\nc = Mul b k\nd = Add x c\ne = Mul d p\nf = Tanh e\n"
    "g = Add f one\ny = Mul a g",
    "b = Mul x x\nc = Mul b x\nd = Mul k c\ne = Add x d\nf = Mul p e\ng = Tanh f\nh = Add one g\n"
    "i = Mul half h\n"
    "y = Mul i x",
    "b = Mul x x\nc = Mul k b\nd = Add c one\ne = Mul x p\nf = Mul e d\ng = Tanh f\nh = Add g one\n"
    "i = Mul x h\n"
    "y = Div i two",
    "b = Mul x x\nc = Mul pk b\nd = Add c p\ne = Mul x d\ng = Tanh e\nh = Add g one\ni = Mul h half\n"
    "y = Mul x i",
]


@pytest.mark.parametrize("lines", GELUS)
def test_gelu_is_recognised_however_it_is_written(lines: str) -> None:
    numbers = {
        "s": 0.5**0.5, "r": 2**0.5, "half": 0.5, "one": 1, "two": 2, "three": 3, "k": 0.044715,
        "p": (2 / math.pi) ** 0.5, "pk": (2 / math.pi) ** 0.5 * 0.044715,
    }  # fmt: skip
    graph = graph_of({"x": "B,6,f32"}, lines, **{name: np.float32(value) for name, value in numbers.items()})
    assert ops(smaller(graph, drawn(3, 6) * 3)) == ["Gelu"]
    other = graph_of(
        {"x": "B,6,f32"}, lines, **{name: np.float32(value + 0.01) for name, value in numbers.items()}
    )
    assert "Gelu" not in ops(smaller(other, drawn(3, 6)))


def test_a_gate_of_the_input_is_swish() -> None:
    graph = graph_of(
        {"x": "B,6,f32"}, "a = Mul x k\nb = Sigmoid a\ny = Mul x b", k=np.float32(1.702)
    )  # QuickGELU
    assert ops(smaller(graph, drawn(3, 6))) == ["Swish"]


def test_norms_are_recognised() -> None:
    numbers = {"two": np.float32(2), "eps": np.float32(1e-5), "one": np.float32(1), "axes": np.array([-1])}
    layer = (
        "m = ReduceMean x axes\nd = Sub x m\np = Pow d two\nv = ReduceMean p axes\ne = Add v eps\n"
        "r = Sqrt e\n"
        "q = Div d r\ns = Mul q g\ny = Add s b"
    )
    graph = graph_of({"x": "B,3,8,f32"}, layer, g=drawn(8), b=drawn(8), **numbers)
    assert ops(smaller(graph, drawn(2, 3, 8))) == ["LayerNormalization"]
    rms = (
        "p = Mul x x\nv = ReduceMean p axes\ne = Add eps v\nr = Sqrt e\ni = Div one r\n"
        "q = Mul x i\ny = Mul g q"
    )
    graph = graph_of({"x": "B,3,8,f32"}, rms, g=drawn(8), **numbers)
    assert ops(smaller(graph, drawn(2, 3, 8))) == ["RMSNormalization"]
    first = graph_of(
        {"x": "B,3,8,f32"}, rms.replace("axes", "axis1"), g=drawn(8), axis1=np.array([1]), **numbers
    )
    assert "RMSNormalization" not in ops(smaller(first, drawn(2, 3, 8)))


def attention_graph(mask: str = "") -> Graph:
    lines = (
        "q k v = Split x {'axis': 2, 'num_outputs': 3}\n"
        "q1 = Reshape q to\nq2 = Transpose q1 {'perm': [0, 2, 1, 3]}\n"
        "k1 = Reshape k to\nk2 = Transpose k1 {'perm': [0, 2, 1, 3]}\n"
        "k3 = Transpose k2 {'perm': [0, 1, 3, 2]}\n"
        "v1 = Reshape v to\nv2 = Transpose v1 {'perm': [0, 2, 1, 3]}\n"
        "s = MatMul q2 k3\ns1 = Div s root\n" + mask + "p = Softmax s2 {'axis': -1}\n"
        "o = MatMul p v2\no1 = Transpose o {'perm': [0, 2, 1, 3]}\ny = Reshape o1 back"
    )
    return graph_of(
        {"x": "B,5,24,f32"}, lines.replace("s2", "s2" if mask else "s1"), to=np.array([0, 0, 2, 4]),
        back=np.array([0, 0, 8]), root=np.float32(2), hide=np.triu(np.ones((5, 5), bool), 1),
        low=np.float32(-np.inf), bias=drawn(5, 5),
    )  # fmt: skip


@pytest.mark.parametrize("mask", ["", "s2 = Where hide low s1\n", "s2 = Add s1 bias\n"])
def test_attention_and_its_heads_are_one_node(mask: str) -> None:
    assert ops(smaller(attention_graph(mask), drawn(3, 5, 24))) == ["Split", "MultiHeadAttention"]


def test_transposes_move_until_they_meet() -> None:
    lines = "a = Transpose x {'perm': [0, 2, 1]}\nb = Relu a\nc = Add b row\nd = Mul c two\n"
    graph = graph_of(
        {"x": "B,3,4,f32"}, lines + "y = Transpose d {'perm': [0, 2, 1]}", row=drawn(3), two=np.float32(2)
    )
    assert ops(smaller(graph, drawn(2, 3, 4))) == ["Relu", "Add", "Mul"]
    alone = graph_of({"x": "B,3,4,f32"}, lines + "y = Exp d", row=drawn(3), two=np.float32(2))
    assert ops(smaller(alone, drawn(2, 3, 4))) == ["Transpose", "Relu", "Add", "Mul", "Exp"]


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_shape_that_a_program_computes_is_written_down(n: int) -> None:
    lines = (
        "s = Shape x\nb = Gather s i\nb1 = Unsqueeze b axes\nto = Concat b1 rest {'axis': 0}\n"
        "a = Reshape x to\ny = Exp a"
    )
    graph = graph_of({"x": "B,3,4,f32"}, lines, i=np.array(0), axes=np.array([0]), rest=np.array([12]))
    assert ops(smaller(graph, drawn(n, 3, 4))) == ["Reshape", "Exp"]


@pytest.mark.slow
def test_random_graphs_answer_as_before() -> None:
    draw = np.random.default_rng(1)
    one = ["Relu", "Sigmoid", "Exp", "Tanh", "Neg", "Identity", "Erf", "Transpose", "Softmax", "Abs", "Gelu"]
    two = ["Add", "Mul", "Sub", "Max"]
    for _ in range(150):
        names, lines = ["x", "c", "zero", "unit"], []
        for i in range(draw.integers(2, 14)):
            op = str(draw.choice(one + two))
            read = [str(draw.choice(names)) for _ in range(1 if op in one else 2)]
            lines.append(f"n{i} = {op} {' '.join(read)}")
            names.append(f"n{i}")
        graph = graph_of(
            {"x": "4,4,f32"}, "\n".join(lines), f"{names[-1]} {draw.choice(names[4:])}",
            c=drawn(4, 4), zero=np.float32(np.zeros((1, 1))), unit=np.ones((1, 1), np.float32),
        )  # fmt: skip
        found = smaller(graph, drawn(4, 4) / 4, tolerance=1e-4)
        assert len(found.nodes) <= len(graph.nodes)


# Plans


def cnn() -> Graph:
    lines = (
        "a = Conv x w c {'pads': [1, 1, 1, 1]}\nb = Relu a\n"
        "p _1 = MaxPool b {'kernel_shape': [2, 2], 'strides': [2, 2]}\n"
        "d = Conv p k {'group': 4}\ne = AveragePool d {'kernel_shape': [2, 2], 'pads': [1, 1, 1, 1]}\n"
        "f = Flatten e\ny = Gemm f g h"
    )
    return graph_of(
        {"x": "B,2,8,8,f32"}, lines, w=drawn(4, 2, 3, 3), c=drawn(4), k=drawn(4, 1, 3, 3), g=drawn(36, 5),
        h=drawn(5),
    )  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 7])
def test_a_plan_answers_as_the_graph_for_every_batch(n: int) -> None:
    smaller(cnn(), drawn(n, 2, 8, 8))


def test_results_are_the_callers_own_and_inputs_stay() -> None:
    graph = graph_of(
        {"x": "B,4,f32"}, "y = Relu x\nz = Reshape x to\ne = Exp y", "y z x e", to=np.array([-1])
    )
    plan, x = Plan(graph), drawn(2, 4)
    kept = x.copy()
    first = plan.run([x])
    told = [one.copy() for one in first]
    plan.run([drawn(2, 4)])
    assert all(np.array_equal(one, other) for one, other in zip(first, told))
    for one in first:
        one[...] = 0
    assert np.array_equal(x, kept)


def test_strided_inputs_run_as_others() -> None:
    graph, x = cnn(), drawn(8, 8, 2, 3).T[::-1]
    np.testing.assert_allclose(Plan(graph).run([x])[0], evaluate(graph, [x])[0], rtol=1e-4, atol=1e-4)


def test_two_threads_do_not_write_into_each_other() -> None:
    graph = declutter(cnn())
    plan, xs = Plan(graph), [drawn(32, 2, 8, 8) for _ in range(4)]
    wanted, wrong = [evaluate(graph, [x])[0] for x in xs], []

    def work(x: Any, expected: Any) -> None:
        for _ in range(30):
            if not np.allclose(plan.run([x])[0], expected, atol=1e-4):
                wrong.append(1)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(xs, wanted)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def test_memory_is_used_again() -> None:
    lines = "\n".join(f"a{i + 1} = Softsign a{i}\nb{i + 1} = Add a{i + 1} a{i}" for i in range(6))
    chain = "\n".join(f"n{i + 1} = MatMul n{i} w" for i in range(8)) + "\ny = Relu n8"
    graph = graph_of({"n0": "16,16,f32"}, chain, w=drawn(16, 16))
    plan = Plan(graph)
    plan.run([drawn(16, 16)])
    assert plan.program.bytes == plan.program.live_bytes == 2 * 16 * 16 * 4
    assert plan.program.all_bytes == 8 * 16 * 16 * 4
    assert lines and "matmul" in plan.program.source


def test_what_asks_for_gigabytes_is_refused_before_it_gets_them() -> None:
    graph = graph_of(
        {"x": "B,f32"}, "a = Unsqueeze x one\nb = Add a x\nc = Exp b\ny = ReduceMax c", one=np.array([1])
    )
    with pytest.raises(ModelError, match="bytes would be in use"):
        Plan(graph).run([np.zeros(2**16, np.float32)])


def test_an_index_out_of_range_is_told_with_its_node() -> None:
    graph = graph_of({"i": "N,i64"}, "a = Gather w i\ny = Exp a", w=drawn(4, 2))
    with pytest.raises(ModelError, match="Gather"):
        Plan(graph).run([np.array([0, 9])])


def test_operators_of_our_own_are_refused_in_a_file(tmp_path: Any) -> None:
    node = Message("NodeProto", op_type="Linear", input=["x", "x", "x"], output=["y"])
    ends = [Message("ValueInfoProto", name=name) for name in "xy"]
    made = Message("GraphProto", node=[node], input=ends[:1], output=ends[1:])
    opset = [Message("OperatorSetIdProto", domain="", version=18)]
    (tmp_path / "m.onnx").write_bytes(write(Message("ModelProto", graph=made, opset_import=opset)))
    with pytest.raises(ModelError, match=r"not supported: Linear \(1\)"):
        tract.onnx().load(tmp_path / "m.onnx")


# Costs


def test_costs_are_counted_in_symbols() -> None:
    gemm = graph_of({"x": "3,8,f32"}, "y = Gemm x w", w=drawn(8, 4))
    assert [row["cost"] for row in profile(gemm)] == [96]
    model = Model(declutter(graph_of({"x": "B,8,f32"}, "a = MatMul x w\ny = Relu a", w=drawn(8, 4))))
    nodes = json.loads(model.profile_json())["nodes"]
    assert [one.get("cost") for one in nodes] == [{"FMA(F32)": "32*B"}, None]
    with_times = json.loads(model.profile_json([drawn(3, 8)]))["nodes"]
    assert all(one["secs_per_iter"] > 0 for one in with_times)


def test_the_cost_of_a_convolution_and_of_attention() -> None:
    conv = graph_of({"x": "B,4,8,8,f32"}, "y = Conv x w {'group': 2}", w=drawn(6, 2, 3, 3))
    assert str(profile(conv)[0]["cost"]).replace(" ", "") == f"{6 * 36 * 2 * 9}*B"
    heads = declutter(attention_graph())
    assert str(profile(heads)[1]["cost"]).replace(" ", "") == f"{2 * 2 * 5 * 5 * 4}*B"
