"""The inference engine beside ONNX's own cases, its reader, and onnxruntime."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minilib.dims import Dim
from minilib.infer.declutter import declutter
from minilib.infer.facts import DTYPES
from minilib.infer.load import graph_of
from minilib.infer.model import ModelError, analyse, evaluate
from minilib.infer.operators import OPERATORS
from minilib.infer.plan import Plan
from minilib.wire import read, write

onnx = pytest.importorskip("onnx", reason="onnx is missing: `make test-all` installs it")

# Cases that need only our operators and kinds of numbers, and are left out.
LEFT_OUT = {
    "test_training_dropout_default": "draws numbers",
    "test_training_dropout_default_mask": "draws numbers",
    "test_training_dropout": "draws numbers",
    "test_training_dropout_mask": "draws numbers",
}


@pytest.fixture(scope="module")
def cases() -> list[Any]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it divides by zero to make its cases
        return [case for case in collect_testcases(None) if case.model is not None]


def needs_only_ours(model: Any) -> bool:
    values = [*model.graph.input, *model.graph.output]
    return all(
        node.domain == "" and node.op_type in {*OPERATORS, "Constant"} for node in model.graph.node
    ) and all(
        v.type.WhichOneof("value") == "tensor_type" and v.type.tensor_type.elem_type in DTYPES for v in values
    )


def arrays(values: Any, infos: Any) -> list[Any]:
    """Some cases hold TensorProtos."""
    return [
        onnx.numpy_helper.to_array(one) if isinstance(one, onnx.TensorProto) else np.asarray(one)
        for one, _ in zip(values, infos)
    ]


@pytest.mark.thorough
def test_all_node_cases_that_need_only_our_operators(cases: list[Any]) -> None:
    ours = [case for case in cases if needs_only_ours(case.model)]
    assert len(ours) - len(LEFT_OUT) == 1028
    for case in ours:
        graph = graph_of(read(case.model.SerializeToString()), Path("."))
        graph.facts = analyse(graph)
        smaller = declutter(graph)
        for inputs, outputs in case.data_sets:
            given, wanted = arrays(inputs, case.model.graph.input), arrays(outputs, case.model.graph.output)
            if case.name in LEFT_OUT:
                with pytest.raises(ModelError, match=r"Dropout in training mode draws numbers"):
                    evaluate(graph, given)
                continue
            plan = Plan(smaller)
            runs = [lambda: evaluate(graph, given), lambda: evaluate(smaller, given)]  # noqa: B023
            for run in (*runs, lambda: plan.run(given), lambda: plan.run(given)):  # noqa: B023
                for name, found, expected in zip(graph.outputs, run(), wanted):
                    assert found.dtype == expected.dtype == graph.facts[name].dtype, case.name
                    np.testing.assert_allclose(found, expected, case.rtol, case.atol, err_msg=case.name)
                    if (shape := graph.facts[name].shape) is not None:
                        assert len(shape) == expected.ndim, case.name
                        assert all(isinstance(n, Dim) or n == m for n, m in zip(shape, expected.shape)), (
                            case.name
                        )


def assert_same(ours: Any, theirs: Any) -> None:
    for field in theirs.DESCRIPTOR.fields:
        mine, their = getattr(ours, field.name), getattr(theirs, field.name)
        if not field.is_repeated:
            assert (field.name in ours) == theirs.HasField(field.name), field.name
            mine, their = [mine], [their]
            if field.name not in ours:
                continue
        assert len(mine) == len(their), field.name
        for one, other in zip(mine, their):
            if field.message_type:
                assert_same(one, other)
            else:
                assert one == other or one != one, field.name


@pytest.mark.thorough
def test_the_reader_agrees_with_onnxs_own_on_all_models(cases: list[Any]) -> None:
    assert len(cases) == 1884
    for case in cases:
        data = case.model.SerializeToString()
        ours = read(data)
        assert_same(ours, case.model)
        assert write(ours) == data


def test_every_operator_is_onnxs_or_says_that_it_is_our_own() -> None:
    theirs = {schema.name for schema in onnx.defs.get_all_schemas()}
    assert [name for name, one in OPERATORS.items() if (name in theirs) == one.own] == []


def test_the_lessons_model_file_gives_what_onnxruntime_gives() -> None:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is missing: `make test-all` installs it")
    import minilib.infer as tract
    from coursekit.pictures import digits_onnx

    onnx.checker.check_model(onnx.load(digits_onnx()), full_check=True)
    session = runtime.InferenceSession(str(digits_onnx()))
    ours = tract.onnx().load(digits_onnx()).into_model().into_runnable()
    for n in (0, 1, 5):
        x = np.random.default_rng(n).normal(size=(n, 1, 8, 8)).astype(np.float32)
        assert np.allclose(ours.run([x])[0].to_numpy(), session.run(None, {"image": x})[0], atol=1e-4)


def exported(folder: Path, module: Any, x: Any, dynamic: Any) -> Path:
    import torch

    path = folder / "model.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that another exporter is the newer one
        torch.onnx.export(
            module.eval(), (x,), str(path), dynamo=False, input_names=["x"], dynamic_axes={"x": dynamic}
        )
    return path


def networks() -> dict[str, Any]:
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.deep = nn.Conv2d(4, 4, 3, padding=1, groups=4)

        def forward(self, x: Any) -> Any:
            return x + self.deep(torch.relu(self.norm(self.first(x))))

    class Block(nn.Module):
        """A causal transformer's, of 2 heads, written out as minGPT's."""

        def __init__(self) -> None:
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(16), nn.LayerNorm(16)])
            self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
            self.mlp = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))
            self.register_buffer("mask", torch.tril(torch.ones(8, 8))[None, None])

        def forward(self, x: Any) -> Any:
            b, t, c = x.shape
            q, k, v = (
                one.view(b, t, 2, 8).transpose(1, 2) for one in self.qkv(self.norms[0](x)).split(16, 2)
            )
            scores = (q @ k.transpose(-2, -1) / 8**0.5).masked_fill(self.mask[:, :, :t, :t] == 0, -torch.inf)
            mixed = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(b, t, c)
            x = x + self.out(mixed)
            return x + self.mlp(self.norms[1](x))

    class UNet(nn.Module):
        """Half the size and back, what was there before beside what comes back."""

        def __init__(self) -> None:
            super().__init__()
            self.down, self.deep = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
            self.up, self.last = nn.ConvTranspose2d(16, 8, 2, stride=2), nn.Conv2d(16, 2, 1)

        def forward(self, x: Any) -> Any:
            kept = nn.functional.silu(self.down(x))
            deep = torch.relu(self.deep(nn.functional.max_pool2d(kept, 2)))
            return self.last(torch.cat([kept, self.up(deep)], 1))

    class Patches(nn.Module):
        """A vision transformer: patches of 2 x 2 pixels as tokens, one more for the answer."""

        def __init__(self) -> None:
            super().__init__()
            self.cut, self.answer = nn.Conv2d(1, 16, 2, 2), nn.Parameter(torch.randn(1, 1, 16))
            self.places = nn.Parameter(torch.randn(1, 17, 16))
            self.norm, self.attend = nn.LayerNorm(16), nn.MultiheadAttention(16, 2, batch_first=True)
            self.head = nn.Linear(16, 10)

        def forward(self, x: Any) -> Any:
            tokens = self.cut(x).flatten(2).transpose(1, 2)
            tokens = torch.cat([self.answer.expand(x.shape[0], -1, -1), tokens], 1) + self.places
            seen = self.norm(tokens)
            return self.head((tokens + self.attend(seen, seen, seen)[0])[:, 0])

    class Gated(nn.Module):
        """Causal convolutions along time, one of them a gate."""

        def __init__(self) -> None:
            super().__init__()
            self.value, self.gate = nn.Conv1d(4, 8, 3, dilation=2), nn.Conv1d(4, 8, 3, dilation=2)
            self.back = nn.Conv1d(8, 4, 1)

        def forward(self, x: Any) -> Any:
            past = nn.functional.pad(x, (4, 0))
            return x + self.back(torch.tanh(self.value(past)) * torch.sigmoid(self.gate(past)))

    class Depthwise(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wide, self.each = nn.Conv2d(4, 12, 1), nn.Conv2d(12, 12, 3, 2, 1, groups=12)
            self.norm, self.narrow = nn.BatchNorm2d(12), nn.Conv2d(12, 6, 1)

        def forward(self, x: Any) -> Any:
            y = nn.functional.hardswish(self.norm(self.each(nn.functional.relu6(self.wide(x)))))
            return self.narrow(y).mean((2, 3))

    def convs() -> list[Any]:
        return [nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1)]

    return {
        "mlp": (nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)), (3, 64)),
        "cnn": (
            nn.Sequential(*convs(), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10)),
            (3, 1, 8, 8),
        ),
        "residual": (Residual(), (3, 4, 8, 8)),
        "depthwise": (Depthwise(), (3, 4, 8, 8)),
        "unet": (UNet(), (3, 1, 8, 8)),
        "patches": (Patches(), (3, 1, 8, 8)),
        "gated": (Gated(), (3, 4, 12)),
        "transformer": (Block(), (3, 5, 16)),
    }


@pytest.mark.parametrize(
    "name", ["mlp", "cnn", "residual", "depthwise", "unet", "patches", "gated", "transformer"]
)
def test_what_torch_exports_gives_what_onnxruntime_gives_for_any_batch(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is missing: `make test-all` installs it")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is missing: `make test-all` installs it")
    import minilib.infer as tract

    torch.manual_seed(0)
    module, shape = networks()[name]
    path = exported(tmp_path, module, torch.randn(shape), {0: "batch"})
    session = runtime.InferenceSession(str(path))
    ours = tract.onnx().load(path).into_model().into_runnable()
    fixed = tract.onnx().load(path)
    fixed.set_input_fact(0, ",".join(map(str, (7, *shape[1:]))) + ",f32")
    assert str(fixed.into_model().output_fact(0)).startswith("7,")
    for n in (1, 3, 7):
        x = torch.randn(n, *shape[1:]).numpy()
        (expected,) = session.run(None, {"x": x})
        assert np.allclose(ours.run([x])[0].to_numpy(), expected, atol=1e-5)


@pytest.fixture(scope="module")
def benchmarked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="PyTorch is missing: `make test-all` installs it")
    from benchmarks.infer_models import export

    folder = tmp_path_factory.mktemp("models")
    export(folder)
    return folder


@pytest.mark.parametrize(
    "name, before, after", [("mlp", 3, 3), ("cnn", 14, 8), ("gpt", 285, 60), ("mamba", 105, 90)]
)
def test_decluttered_models_of_torch_are_smaller_and_answer_as_onnxruntime(
    benchmarked: Path, name: str, before: int, after: int
) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is missing: `make test-all` installs it")
    import minilib.infer as tract

    path = benchmarked / f"{name}.onnx"
    loaded = tract.onnx().load(path)
    assert len(loaded.graph.nodes) == before
    model = loaded.into_model()
    assert len(model.graph.nodes) <= after
    session, runnable = runtime.InferenceSession(str(path)), model.into_runnable()
    rng = np.random.default_rng(0)
    tails = {"mlp": [(64,)], "cnn": [(1, 8, 8)], "gpt": [(2,), (64,)], "mamba": [(8, 64)]}
    for batch in (1, 5):
        for tail in tails[name]:
            drawn = rng.integers(0, 128, (batch, *tail)) if name == "gpt" else None
            x = rng.standard_normal((batch, *tail), np.float32) if drawn is None else drawn
            (expected,) = session.run(None, {"x": x})
            assert np.allclose(runnable.run([x])[0].to_numpy(), expected, atol=1e-5)
            program = runnable.plan.program
            assert program.bytes <= 1.1 * program.live_bytes
