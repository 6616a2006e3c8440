"""Tensors on the device: the numbers of the CPU in float64, by kernels of our own where there are any."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import functional_cases
import numpy as np
import pytest
import tensor_cases
from gpu_cases import ELEMENTWISE, agree, reported
from hypothesis import Phase, given, settings
from tensor_cases import Case

import minilib.gpu as gpu
import minilib.nn as nn
import minilib.tensor as lib
from minilib.cuda import backend, cp
from minilib.gpu import copies, elements
from minilib.operations import Add, Exp, Mul, Tanh
from minilib.tensor import DEVICES, Tensor, tensor

pytestmark = pytest.mark.filterwarnings("ignore:there is no GPU here")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name) for case in (*tensor_cases.CASES, *functional_cases.CASES)],
)
def test_every_operation_has_the_numbers_of_the_cpu(case: Case) -> None:
    @settings(max_examples=4, derandomize=True, deadline=None, database=None, phases=[Phase.generate])
    @given(case.inputs)
    def check(drawn: Any) -> None:
        arrays, options = drawn
        agree(lambda *tensors: case.function(lib, *tensors, **options), list(arrays))

    check()


SHAPES = [(), (0,), (1,), (255,), (257,), (3, 0, 2), (7, 13), (2, 3, 5, 7)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_kernels_on_elements_work_at_every_size(name: str, shape: tuple[int, ...]) -> None:
    rng, function = np.random.default_rng(1), ELEMENTWISE[name]
    agree(function, [rng.uniform(0.5, 2, shape) for _ in range(function.__code__.co_argcount)])


def test_every_pair_on_elements_is_tried_above() -> None:
    pairs = gpu.DEVICE.pairs.items()
    assert {kind.__name__ for kind, pair in pairs if type(pair) is elements.Elementwise} == ELEMENTWISE.keys()


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 1), (4,)),
        ((2, 1, 3), (2, 1)),
        ((), (2, 3)),
        ((1, 1), (5, 7)),
        ((4, 1, 6, 1), (5, 1, 7)),
        ((0, 3), (3,)),
    ],
    ids=str,
)
def test_kernels_on_elements_broadcast_both_ways(shapes: tuple[tuple[int, ...], ...]) -> None:
    rng = np.random.default_rng(2)
    for name in ("Add", "Sub", "Mul", "Div"):
        agree(ELEMENTWISE[name], [rng.uniform(0.5, 2, shape) for shape in shapes])


VIEWS = {
    "transposed": lambda x: x.permute(2, 0, 1),
    "every other": lambda x: x[::2, :, 1::2],
    "turned": lambda x: x.flip(1),
    "one repeated": lambda x: x[:, :1].expand(4, 6, 5),
    "a part of the middle": lambda x: x[1:3, 2:5],
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_are_never_misread(view: str) -> None:
    x = np.random.default_rng(3).uniform(0.5, 2, (4, 6, 5))
    agree(lambda x: (VIEWS[view](x) * VIEWS[view](x).tanh()).exp(), [x])


@pytest.mark.parametrize("shape", [(0, 3, 2), (1, 1, 9), (9, 33, 40), (2, 8, 8)], ids=str)
@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1), (1, 0, 2)], ids=str)
def test_copies_of_what_lies_across(order: tuple[int, ...], shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(4).normal(size=shape)
    agree(lambda x: x.permute(*order).clone(), [x])
    agree(lambda x: x.permute(*order)[::2].contiguous(), [x])


def test_a_copy_by_tiles_follows_two_leading_axes_and_negative_steps() -> None:
    x = np.random.default_rng(4).normal(size=(3, 40, 5, 12)).astype(np.float32)
    for order in ((0, 2, 3, 1), (2, 0, 3, 1), (2, 3, 0, 1), (0, 3, 2, 1)):
        for turn in (1, -1):
            view = cp.asarray(x).transpose(*order)[::turn, :, ::turn]
            np.testing.assert_array_equal(copies.copied(view).get(), x.transpose(*order)[::turn, :, ::turn])


@pytest.mark.parametrize(("shape", "order"), [((64, 96), (1, 0)), ((2, 32, 4, 64), (0, 2, 3, 1))])
def test_a_copy_by_tiles_moves_its_arrays_once(shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    x = cp.zeros(shape, cp.float32).transpose(order)
    with reported("transpose") as seen:
        copies.copied(x)
    assert seen[0].bytes_moved == 2 * x.nbytes and seen[0].bank_conflicts == 0


def test_negative_strides_are_followed() -> None:
    x = cp.arange(12, dtype=cp.float32).reshape(3, 4)[::-1, ::-1]
    assert (Tensor(x) + Tensor(x.T[::-1, :3][:3, :3][:, :1])).tolist()[0][0] == 11 + float(x.T[::-1][0, 0])


def test_axes_that_lie_in_one_row_become_one() -> None:
    """The work of finding a place shrinks with the axes; the report counts it."""

    def int_ops(array: Any) -> int:
        with gpu.reports() as found:
            elements.run_elementwise({"x": array}, {"y": cp.empty(array.shape, cp.float32)}, ["y = x"])
        return int(found[0][1].int_ops)

    x = cp.zeros((8, 8, 8), cp.float32)
    assert int_ops(x) < int_ops(x.transpose(0, 2, 1)) and int_ops(x[::2]) < int_ops(x.transpose(2, 1, 0)[::2])


def test_numbers_of_another_dtype_are_left_to_the_array_module() -> None:
    x = tensor([1.0, 2.0], dtype="float64").to("cuda").requires_grad_()
    y = (x * x).exp()
    y.sum().backward()
    assert y.dtype == np.float64 and "pair" not in vars(y.function)
    np.testing.assert_allclose(x.grad.tolist(), [2 * np.e, 4 * np.e**4])
    assert (tensor([1, 2]).to("cuda") + tensor([3, 4]).to("cuda")).tolist() == [4, 6]


def test_a_pair_runs_where_it_fits_and_can_be_switched_off() -> None:
    x = tensor([1.0, 2.0], requires_grad=True).to("cuda")
    assert vars(x.exp().function)["pair"] is gpu.DEVICE.pairs[Exp]
    with gpu.without(Exp):
        assert "pair" not in vars(x.exp().function) and "pair" in vars(x.tanh().function)
        assert dict(line.split() for line in gpu.coverage().splitlines())["Exp"] != "ours"
    with gpu.without():
        assert "pair" not in vars(x.tanh().function)
    table = dict(line.split() for line in gpu.coverage().splitlines())
    assert table["Exp"] == table["Tanh"] == table["MatMul"] == "ours"
    assert (table["Permute"], table["CumSum"]) == ("view", "cupy") and "Reduction" not in table


def test_a_pair_of_ones_own_takes_the_place_of_ours() -> None:
    before = gpu.DEVICE.pairs[Tanh]
    try:

        @gpu.pair(Tanh)
        class Twice:
            def forward(self, f: Any, x: Any) -> Any:
                f.saved = ()
                return x * 2

            def backward(self, f: Any, grad: Any) -> Any:
                return grad * 2

        x = tensor([1.5], requires_grad=True)
        y = x.to("cuda").tanh()
        y.backward(tensor([1.0]).to("cuda"))
        assert (y.tolist(), x.grad.tolist(), x.grad.device) == ([3.0], [2.0], "cpu")
    finally:
        gpu.DEVICE.pairs[Tanh] = before


def test_forward_saves_only_what_backward_reads() -> None:
    x, data = (tensor([1.0, 2.0]).to("cuda") for _ in range(2))
    x.requires_grad_()
    saved = (x * data).function.saved
    assert [array is None for array in saved] == [True, False, True]
    assert (x + data).function.saved == (None, None, None)


def test_gradients_come_back_to_where_the_numbers_were() -> None:
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x.to("cuda")
    z = (y * y).cpu()
    z.sum().backward()
    assert (y.device, z.device, x.grad.device, x.grad.tolist()) == ("cuda", "cpu", "cpu", [2.0, 4.0])
    assert y.to("cuda") is y and y.to("cuda:0") is y and x.cuda().device == "cuda"


def test_the_bytes_in_use_rise_on_the_way_forward_and_fall_on_the_way_back() -> None:
    gc.collect()  # what others left in circles
    x = lib.rand(32, 32, device="cuda", requires_grad=True)
    start = gpu.bytes_in_use()
    with gpu.memory() as seen:
        y = x.tanh().exp().sigmoid().sum()
        forward = len(seen)
        y.backward()
    size = 4 * 32 * 32
    assert [held - start for name, held in seen[:3] if name == "elementwise"] == [size, 2 * size, 3 * size]
    assert seen[forward - 1][1] >= start + 3 * size  # the sum's launch: what backward needs is there
    del y
    assert gpu.bytes_in_use() == start + size  # of all that, the gradient stays
    with gpu.memory() as outside, lib.no_grad():
        x.tanh().exp().sigmoid()
    assert max(held for _, held in outside) == start + size + 2 * size  # an array and the one it is made of


def test_a_module_moves_with_its_gradients_and_buffers() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    model(tensor(np.ones((5, 3), np.float32))).sum().backward()
    model.to("cuda")
    assert {t.device for t in (*model.parameters(), *(b for _, b in model.named_buffers()))} == {"cuda"}
    assert {p.grad.device for p in model.parameters()} == {"cuda"}
    out = model(lib.ones(5, 3, device="cuda"))
    assert out.device == "cuda"
    model.to("cpu")
    assert {p.device for p in model.parameters()} == {"cpu"}


def test_a_mix_of_devices_names_both_operands() -> None:
    x, y = lib.ones(2, 3), lib.ones(3, 4, device="cuda")
    with pytest.raises(TypeError, match=r"MatMul: its inputs are \(2, 3\) on cpu and \(3, 4\) on cuda: move"):
        x @ y


def in_a_new_process(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")


@pytest.mark.slow
def test_without_the_module_the_message_says_how_to_have_the_device() -> None:
    done = in_a_new_process("import minilib.tensor as t\nt.tensor(1.0).to('cuda')")
    said = "there is no device 'cuda' yet: `import minilib.gpu` brings it, simulated where there is no GPU"
    assert done.stderr.strip().splitlines()[-1] == f"RuntimeError: {said}"
    done = in_a_new_process("import minilib.gpu, minilib.tensor as t\nt.tensor(1.0).to('cuda:1')")
    assert "there is no device 'cuda:1' here; there is: cpu, cuda" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(backend() == "gpu", reason="there is a GPU")
def test_a_simulated_device_says_so_once() -> None:
    code = "import minilib.gpu, minilib.tensor as t\nfor _ in range(3): t.tensor(1.0).to('cuda')"
    assert in_a_new_process(code).stderr.count("there is no GPU here") == 1
    assert not in_a_new_process("import minilib.gpu").stderr


def test_one_import_registers_one_device() -> None:
    assert [d for d in DEVICES.values() if d.name == "cuda"] == [gpu.DEVICE]
    assert {Add, Mul} <= gpu.DEVICE.pairs.keys()
