# ruff: noqa: E501 (lines of the format)
"""NNEF, both ways: files as the standard and as tract 0.23.9 write them, and our own, read again."""

from __future__ import annotations

import random
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minilib.infer as tract
from minilib.infer.model import Graph, Node
from minilib.infer.nnef_files import array_of, bytes_of

# As tract wrote it: a whole number of 64 bits, which it calls a quantised one. Its array of rank 0 is 8.
EIGHT = struct.pack("<4s12I76xq", b"\x4e\xef\x01\x00", 8, 0, *[0] * 8, 64, 3, 8)

# Its file for the CNN of digits, smaller: literals as arrays, a convolution's bias (2,), its own external.
TRACTS = """version 1.0;

extension tract_registry tract_core;
extension tract_symbol B;

fragment tract_core_properties(
) -> (properties: (string, tensor<scalar>)[])
{
  properties = [("onnx.ir_version", tract_core_cast(8, to = "i64")), ("tract_nnef_ser_version", "0.23.9")];
}

graph network(x) -> (y) {
  x = tract_core_external(shape = [B, 1, 4, 4], datum_type = "F32");
  __0_Conv_kernel = variable<scalar>(label = "/0/Conv.kernel", shape = [2, 1, 3, 3]);
  __0_Conv_bias = [0.5, -0.25];
  __0_Conv_conv = conv(x, __0_Conv_kernel, __0_Conv_bias, dilation = [1, 1], stride = [1, 1], border = "constant", groups = 1, padding = [(1, 1), (1, 1)]);
  __0_Conv = __0_Conv_conv;
  __1_Relu_low_cst = [[[[0.0]]]];
  __1_Relu_low = max(__0_Conv, __1_Relu_low_cst);
  __2_MaxPool = max_pool(__1_Relu_low, size = [1, 1, 2, 2], dilation = [1, 1, 1, 1], stride = [1, 1, 2, 2], border = "ignore", padding = [(0, 0), (0, 0), (0, 0), (0, 0)]);
  __3_Gemm_merge = reshape(__2_MaxPool, shape = [8], axis_start = 1, axis_count = 3);
  __3_Gemm_in1 = variable<scalar>(label = "/3/Gemm.in1", shape = [3, 8]);
  __3_Gemm_ab = matmul(__3_Gemm_merge, __3_Gemm_in1, transposeA = false, transposeB = true);
  y = __3_Gemm_ab;
}
"""


def drawn(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def folder(path: Path, text: str, **arrays: Any) -> Path:
    path.mkdir(exist_ok=True)
    (path / "graph.nnef").write_text(text)
    for name, array in arrays.items():
        (path / f"{name}.dat").write_bytes(bytes_of(array))
    return path


def body(path: Path, lines: str, ends: str = "y", inputs: str = "x", **arrays: Any) -> tract.Model:
    text = f"version 1.0;\ngraph g( {inputs} ) -> ( {ends} )\n{{\n{lines}\n}}\n"
    return tract.nnef().load(folder(path / "model", text, **arrays))


def answers(model: tract.Model, *arrays: Any) -> list[Any]:
    return [one.to_numpy() for one in model.into_runnable().run(list(arrays))]


def test_a_file_of_tracts_is_read_and_answers(tmp_path: Path) -> None:
    kernel, weight = drawn(2, 1, 3, 3), drawn(3, 8)
    path = folder(tmp_path / "model", TRACTS)
    for label, array in (("0/Conv.kernel", kernel), ("3/Gemm.in1", weight)):
        (path / label).parent.mkdir()
        (path / f"{label}.dat").write_bytes(bytes_of(array))
    model = tract.nnef().load(path)
    assert (str(model.input_fact(0)), str(model.output_fact(0))) == ("B,1,4,4,f32", "B,3,f32")
    x = drawn(5, 1, 4, 4)
    wide = np.pad(x[:, 0], ((0, 0), (1, 1), (1, 1)))
    seen = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (1, 2))
    made = np.einsum("nijkl,okl->noij", seen, kernel[:, 0]) + np.float32([0.5, -0.25])[:, None, None]
    pooled = np.maximum(made, 0).reshape(5, 2, 2, 2, 2, 2).max((3, 5))
    np.testing.assert_allclose(answers(model, x)[0], pooled.reshape(5, 8) @ weight.T, rtol=1e-5, atol=1e-5)


def test_arrays_of_fewer_axes_are_stretched_at_their_end(tmp_path: Path) -> None:
    model = body(tmp_path, "x = external(shape = [2,3,4]);\nc = [[1.0, 2.0, 3.0]];\ny = mul(x, c);")
    x = drawn(2, 3, 4)
    np.testing.assert_array_equal(answers(model, x)[0], x * np.float32([[1], [2], [3]]))


def test_operations_of_the_standard(tmp_path: Path) -> None:
    x = drawn(2, 4, 6)
    logistic = 1 / (1 + np.exp(-x))
    for line, wanted in {
        "y = sigmoid(x);": logistic,
        "y = clamp(x, -0.5, 0.5);": x.clip(-0.5, 0.5),
        "y = rsqrt(add(x, x));": None,  # calls inside of calls are no flat syntax
        "a, b = split(x, axis = 2, ratios = [1, 2]);\ny = concat([b, a], axis = 2);": np.concatenate(
            [x[..., 2:], x[..., :2]], 2
        ),
        "y = slice(x, axes = [1, 2], begin = [1, -3], end = [3, 0]);": x[:, 1:3, -3:],
        "y = pad(x, padding = [(0,0),(1,0),(0,2)], value = 2.0);": np.pad(
            x, [(0, 0), (1, 0), (0, 2)], constant_values=2
        ),
        "m = mean_reduce(x, axes = [0, 2]);\ny = squeeze(m, axes = [0]);": x.mean((0, 2))[:, None],
        "y = transpose(x, axes = [1, 0]);": x.transpose(1, 0, 2),
        "y = reshape(x, shape = [0, -1]);": x.reshape(2, 24),
        "y = reshape(x, shape = [2, 2], axis_start = 1, axis_count = 1);": x.reshape(2, 2, 2, 6),
        "y = softmax(x);": np.exp(x) / np.exp(x).sum(1, keepdims=True),
        "# all\ny = box(x, size = [1,1,2], stride = [1,1,2], padding = [(0,0),(0,0),(0,0)]);": x.reshape(
            2, 4, 3, 2
        ).sum(3),
        "y = avg_pool(x, size = [1,1,3], border = 'ignore');": np.stack(
            [x[..., max(i - 1, 0) : i + 2].mean(-1) for i in range(6)], -1
        ),
        "y = max_pool(x, size = [1,1,3], padding = [(0,0),(0,0),(2,0)]);": np.lib.stride_tricks.sliding_window_view(
            np.pad(x, [(0, 0), (0, 0), (2, 0)]), 3, 2
        ).max(-1),  # the zeros of a constant border take part
        "z = gt(x, 0.0);\nn = not(z);\ny = select(n, x, 1.0);": np.where(x > 0, np.float32(1), x),
    }.items():  # fmt: skip
        lines = f"x = external<scalar>(shape = [2, 4, 6]);\n{line}"
        if wanted is None:
            with pytest.raises(tract.ModelError, match=r"model: line 5: .* calls stand alone"):
                body(tmp_path, lines)
            continue
        found = answers(body(tmp_path, lines), x)[0]
        assert found.dtype == wanted.dtype, line
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6, err_msg=line)


def test_a_convolution_pads_by_itself_where_no_padding_is_told(tmp_path: Path) -> None:
    lines = (
        "x = external(shape=[1,1,5]);\nw = variable(shape=[1,1,4], label='w');\ny = conv(x, w, stride=[2]);"
    )
    x, w = drawn(1, 1, 5), drawn(1, 1, 4)
    wide = np.pad(x[0, 0], (1, 2))
    wanted = [[[wide[i : i + 4] @ w[0, 0] for i in (0, 2, 4)]]]
    np.testing.assert_allclose(answers(body(tmp_path, lines, w=w), x)[0], wanted, rtol=1e-5, atol=1e-6)


def graph_of(nodes: list[Node], fact: str, constants: dict[str, Any], outputs: str = "y") -> tract.Model:
    graph = Graph({"x": tract.Fact()}, outputs.split(), nodes, constants)
    model = tract.InferenceModel(graph)
    model.set_input_fact(0, fact)
    return model.into_model()


def some_models() -> dict[str, tuple[tract.Model, Any]]:
    conv, pads = {"pads": [1, 0], "strides": [2]}, np.array([0, 0, 2, 0, 0, 0])
    statistics = {"scale": drawn(4), "offset": drawn(4), "mean": drawn(4), "variance": np.abs(drawn(4))}
    lines = {
        "mlp": ([Node("Gemm", ["x", "w", "b"], ["h"]), Node("Relu", ["h"], ["y"])], "B,8,f32"),
        "causal": (
            [Node("Pad", ["x", "pads"], ["p"]), Node("Conv", ["p", "k", "b"], ["a/b.0"]), Node("Tanh", ["a/b.0"], ["y"])],
            "1,2,S,f32",
        ),
        "norm": (
            [Node("Conv", ["x", "k"], ["c"], conv), Node("Relu", ["c"], ["r"]), Node("BatchNormalization", ["r", *statistics], ["y"])],
            "B,2,9,f32",
        ),
        "means": ([Node("ReduceMean", ["x", "axes"], ["m"], {"keepdims": 0}), Node("Sub", ["x", "m"], ["y"])], "4,4,f32"),
        "twice": ([Node("Transpose", ["x"], ["t"]), Node("MatMul", ["t", "x"], ["y"])], "N,3,f32"),
        "whole": ([Node("Abs", ["x"], ["1 and"]), Node("Neg", ["1 and"], ["y"])], "3,f64"),
    }  # fmt: skip
    shapes = {
        "mlp": (3, 8),
        "causal": (1, 2, 7),
        "norm": (2, 2, 9),
        "means": (4, 4),
        "twice": (5, 3),
        "whole": (3,),
    }
    arrays = {
        "w": drawn(8, 4),
        "b": drawn(4),
        "k": drawn(4, 2, 3),
        "pads": pads,
        "axes": np.array([0]),
        **statistics,
    }
    return {
        name: (graph_of(nodes, fact, arrays), drawn(*shapes[name]).astype("f8" if "64" in fact[-3:] else "f4"))
        for name, (nodes, fact) in lines.items()
    }  # fmt: skip


@pytest.mark.parametrize("name", ["mlp", "causal", "norm", "means", "twice", "whole"])
def test_what_is_written_is_read_again_as_the_same_model(tmp_path: Path, name: str) -> None:
    model, x = some_models()[name]
    writer = tract.nnef()
    writer.write_model_to_dir(model, tmp_path / "m")
    writer.write_model_to_tar(model, tmp_path / "m.tar")
    writer.write_model_to_tar_gz(model, tmp_path / "m.tgz")
    assert (tmp_path / "m.tgz").read_bytes()[:2] == b"\x1f\x8b"
    for path in ("m", "m.tar", "m.tgz"):
        again = tract.nnef().load(tmp_path / path)
        assert (again.input_name(0), again.output_name(0)) == ("x", "y")
        assert str(again.input_fact(0)) == str(model.input_fact(0))
        assert str(again.output_fact(0)) == str(model.output_fact(0))
        np.testing.assert_allclose(answers(again, x)[0], answers(model, x)[0], rtol=1e-6, atol=1e-6)


def test_a_model_that_was_read_is_cut_into_pulses(tmp_path: Path) -> None:
    model, x = some_models()["causal"]
    tract.nnef().write_model_to_dir(model, tmp_path / "m")
    stream = tract.nnef().load(tmp_path / "m")
    stream.transform(tract.Pulse("7", symbol="S"))
    np.testing.assert_allclose(answers(stream, x)[0], answers(model, x)[0], rtol=1e-5, atol=1e-6)
    with pytest.raises(tract.ModelError, match="before it is cut into pulses"):
        tract.nnef().write_model_to_dir(stream, tmp_path / "n")


def test_what_nnef_cannot_say_is_told_at_once(tmp_path: Path) -> None:
    odd = [Node("Erf", ["x"], ["a"]), Node("Erf", ["a"], ["b"]), Node("IsNaN", ["b"], ["y"])]
    with pytest.raises(
        tract.ModelError, match=r"^operators that NNEF does not have: Erf \(2\), IsNaN \(1\)$"
    ):
        tract.nnef().write_model_to_dir(graph_of(odd, "3,f32", {}), tmp_path / "m")
    symbolic = graph_of([Node("Relu", ["x"], ["y"])], "B,3,f32", {})
    with pytest.raises(
        tract.ModelError, match=r"the input 'x' is B,3,f32, which is said with tract_core alone"
    ):
        tract.nnef().without_tract_core().write_model_to_dir(symbolic, tmp_path / "m")


def test_arrays_in_files() -> None:
    for array in (
        drawn(2, 3),
        drawn(1).astype("f8"),
        np.arange(5),
        np.uint8([[7]]),
        np.array(True),
        np.arange(11) > 4,
    ):
        data = bytes_of(array)
        found = array_of(data, "w")
        assert data[:4] == b"\x4e\xef\x01\x00"
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(found, array)
    assert array_of(EIGHT, "version") == 8
    assert array_of(EIGHT, "version").shape == ()
    for wrong in (
        b"",
        EIGHT[:-1],
        b"PK" + EIGHT,
        EIGHT[:8] + b"\x09" + EIGHT[9:],
        EIGHT[:48] + b"\x09" + EIGHT[49:],
    ):
        with pytest.raises(tract.ModelError, match="'version'"):
            array_of(wrong, "version")


LINE = "x = external(shape = [2, 3]);\n"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("y = foo(x);\nz = foo(x);\na = bar(x);", r"operators that are not supported: bar \(1\), foo \(2\)"),
        (f"{LINE}y = add(x, q);", "line 5: 'q' is read, and nothing before makes it"),
        (f"{LINE}y = relu(x);\ny = relu(x);", "line 6: 'y' is made twice"),
        (f"{LINE}y = relu(x, x);", "line 5: "),
        (f"{LINE}y = relu();", "line 5: "),
        (f"{LINE}y = reshape(x, shape = [5]);", "line 5: "),
        (f"{LINE}y = relu(x;", r"line 5: 'y = relu\(x' is no NAME = OPERATION"),
        (f"{LINE}y = x + x;", "line 5: "),
        (f"{LINE}relu(x);", "line 5: .* is no NAME = OPERATION"),
        (f"{LINE}z = relu(x);", "the output 'y' is made by no node"),
        ("y = external(shape = [2]);", r"its inputs are x, and external makes y"),
        ("x = external(shape = [0]);\ny = relu(x);", "an axis of 0 numbers"),
        (f"x = external(shape = [{2**40}]);\ny = relu(x);", "an axis of "),
        (f"{LINE}y = constant(shape = [{2**20}, {2**20}], value = [0.0]);", "a constant of the shape"),
        (f"{LINE}y = variable(shape = [2], label = 'gone');", "there is no file 'gone.dat' in it"),
        (
            f"{LINE}y = variable(shape = [2], label = '../out');",
            r"'\.\./out\.dat' lies outside of the model's folder",
        ),
        (
            f"{LINE}y = variable(shape = [2], label = 'w');",
            r"the variable 'w' is \[2\] here, and \[3\] in its file",
        ),
        (f"{LINE}y = max_pool(x, size = [2, 2]);", "steps over samples or channels"),
        (f"{LINE}y = {'[' * 300}0.0{']' * 300};", "is no NAME = OPERATION"),
        (f"{LINE}y = softmax(x, axes = [0, 1]);", "one is read"),
    ],
)
def test_bad_text_is_told_in_one_line(tmp_path: Path, lines: str, told: str) -> None:
    (tmp_path / "out.dat").write_bytes(bytes_of(drawn(2)))
    with pytest.raises(tract.ModelError, match=told) as caught:
        body(tmp_path, lines, w=drawn(3))
    assert "\n" not in str(caught.value)


def test_other_bad_files(tmp_path: Path) -> None:
    def told(path: Path) -> str:
        with pytest.raises(tract.ModelError) as caught:
            tract.nnef().load(path)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "No such file" in told(tmp_path / "gone")
    (tmp_path / "empty").mkdir()
    assert "there is no file 'graph.nnef' in it" in told(tmp_path / "empty")
    (tmp_path / "foreign.tgz").write_bytes(b"PK\x03\x04 something else")
    assert "no .tar or .tgz" in told(tmp_path / "foreign.tgz")
    own = "version 1.0;\nfragment f( x: tensor<scalar> ) -> ( y: tensor<scalar> ) { y = x; }\ngraph g(x) -> (y) { }"
    assert "it defines the fragment 'f'" in told(folder(tmp_path / "own", own))
    assert "does not read version 1.0" in told(
        folder(tmp_path / "new", "version 2.0;\ngraph g(x) -> (y) { }")
    )
    linked = folder(
        tmp_path / "linked", "version 1.0; graph g() -> (y) { y = variable(shape=[2], label='w'); }"
    )
    (tmp_path / "w.dat").write_bytes(bytes_of(drawn(2)))
    (linked / "w.dat").symlink_to(tmp_path / "w.dat")
    assert "lies outside of the model's folder" in told(linked)
    with tarfile.open(tmp_path / "link.tar", "w") as archive:
        member = tarfile.TarInfo("graph.nnef")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    assert "there is no file 'graph.nnef' in it" in told(tmp_path / "link.tar")


def test_an_archive_is_no_larger_than_memory_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tarfile.open(tmp_path / "many.tgz", "w:gz") as made:
        for number in range(3):
            (tmp_path / "one.dat").write_bytes(bytes(400))
            made.add(tmp_path / "one.dat", f"{number}.dat")
    monkeypatch.setattr("minilib.infer.nnef_files.MOST_BYTES", 1000)
    with pytest.raises(tract.ModelError, match=r"with '2.dat' there are 1,200 bytes; up to 1,000"):
        tract.nnef().load(tmp_path / "many.tgz")


def test_mutated_files_end_in_one_line_or_run(tmp_path: Path) -> None:
    model, x = some_models()["norm"]
    tract.nnef().write_model_to_dir(model, tmp_path / "m")
    tract.nnef().write_model_to_tar_gz(model, tmp_path / "m.tgz")
    text, whole = (tmp_path / "m" / "graph.nnef").read_bytes(), (tmp_path / "m.tgz").read_bytes()
    rng = random.Random(0)
    for i in range(600):
        data = bytearray(text if i % 2 else whole)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data))
            kind = rng.randrange(3)
            if kind == 0:
                data[at] = rng.randrange(256)
            elif kind == 1:
                del data[at : at + rng.randint(1, 30)]
            else:
                data[at:at] = rng.choice(
                    [b"[", b"(", b"9" * 30, b"-", b"'", b";", b"{", bytes(data[at : at + 20])]
                )
        path = tmp_path / "m" / "graph.nnef" if i % 2 else tmp_path / "n.tgz"
        path.write_bytes(data)
        try:
            answers(tract.nnef().load(tmp_path / "m" if i % 2 else path), x)
        except (tract.ModelError, tract.FactError) as error:
            assert "\n" not in str(error), data
