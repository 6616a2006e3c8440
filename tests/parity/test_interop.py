"""Our operators inside PyTorch: its opcheck and gradcheck, its own results, compile and export."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from interop_cases import LAYOUTS, NAMES, arguments

import minilib.tensor as t
from minilib.cuda import backend
from minilib.functional.activations import Softmax
from minilib.gpu import memory
from parity.peer import torch

interop = pytest.importorskip("minilib.interop.torch")
F = torch.nn.functional
ops = torch.ops.minilib


@pytest.fixture(params=["numpy", "kernels"])
def road(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both roads of a CPU tensor: NumPy's Functions, and the kernels that CUDA tensors go through."""
    with interop.through_kernels() if request.param == "kernels" else nullcontext():
        yield request.param


def attention(q: Any, k: Any, v: Any, n_head: int) -> Any:
    """PyTorch's, with heads split off; the queries are the last of the positions."""
    q, k, v = (x.unflatten(-1, (n_head, -1)).transpose(1, 2) for x in (q, k, v))
    mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
    return F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2)


def scan(x: Any, delta: Any, A: Any, B: Any, C: Any, D: Any) -> Any:
    h, ys = torch.zeros(x.shape[0], *A.shape, dtype=x.dtype), []
    for now in range(x.shape[1]):
        step = delta[:, now, :, None]  # (B, E, 1)
        h = torch.exp(step * A) * h + step * B[:, now, None] * x[:, now, :, None]
        ys.append((h * C[:, now, None]).sum(-1))
    return torch.stack(ys, 1) + D * x


THEIRS: dict[str, Callable[..., Any]] = {
    "softmax": F.softmax,
    "layer_norm": lambda x, w, b: F.layer_norm(x, w.shape, w, b),
    "rms_norm": lambda x, w: F.rms_norm(x, w.shape, w),
    "conv2d": F.conv2d,
    "causal_attention": attention,
    "selective_scan": scan,
}


def first(made: Any) -> Any:
    """The result itself, without what is kept for backward."""
    return made[0] if isinstance(made, tuple | list) else made


def with_gradients(call: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
    """The result, and the gradients of a sum of its products with 1, 2, 3, ..."""
    leaves = [x for x in args if isinstance(x, torch.Tensor)]
    out = first(call(*args))
    weights = torch.arange(1.0, out.numel() + 1).reshape(out.shape) / max(out.numel(), 1)
    return [out, *torch.autograd.grad((out * weights.to(out.dtype)).sum(), leaves)]


def close(found: list[Any], expected: list[Any], relative: float = 1e-5, least: float = 0.05) -> None:
    """Equal up to `relative` of the largest number, or of `least`: additions may go in another order."""
    for a, b in zip(found, expected, strict=True):
        size = max(float(b.detach().abs().max()), least) if b.numel() else 1
        torch.testing.assert_close(a, b, rtol=relative, atol=relative * size)


# What an operator owes


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_pytorchs_opcheck_passes_each_operator(name: str, layout: str, road: str) -> None:
    found = torch.library.opcheck(getattr(ops, name).default, arguments(name, torch, layout))
    assert set(found.values()) == {"SUCCESS"}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_gradients_pass_gradcheck_in_float64(name: str) -> None:
    args = arguments(name, torch, dtype=np.float64)
    if name == "selective_scan":  # a few tokens tell as much, and it asks for each number
        args = (*(x[:1, :4].detach().requires_grad_() if x.ndim == 3 else x for x in args),)
    assert torch.autograd.gradcheck(lambda *args: first(getattr(ops, name)(*args)), args)


@pytest.mark.parametrize("layout", ["plain", "transposed", "sliced", "one"])
@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients_are_pytorchs(name: str, layout: str, road: str) -> None:
    args = arguments(name, torch, layout)
    # Of a single number PyTorch's layer norm leaves a rest of its rounding, where ours is 0.
    least = 1.0 if layout == "one" else 0.05
    close(with_gradients(getattr(ops, name), args), with_gradients(THEIRS[name], args), least=least)


@pytest.mark.parametrize("name", NAMES)
def test_an_expanded_gradient_is_read_as_it_lies(name: str, road: str) -> None:
    args = arguments(name, torch)
    leaves = [x for x in args if isinstance(x, torch.Tensor)]
    grads = [
        torch.autograd.grad(first(call(*args)).sum(), leaves) for call in (getattr(ops, name), THEIRS[name])
    ]
    for a, b in zip(*grads):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-4)  # softmax's are 0 but for rounding


def test_attention_goes_back_the_way_it_came() -> None:
    args = arguments("causal_attention", torch)
    expected = torch.autograd.grad(attention(*args).square().sum(), args[:3])
    with interop.through_kernels():
        inside = first(ops.causal_attention(*args)).square().sum()
    outside = first(ops.causal_attention(*args)).square().sum()
    close(list(torch.autograd.grad(inside, args[:3])), list(expected))
    with interop.through_kernels():
        close(list(torch.autograd.grad(outside, args[:3])), list(expected))


# Which road a tensor takes


@pytest.mark.parametrize("name", NAMES)
def test_both_ways_run_kernels_of_ours_within_the_block_alone(name: str) -> None:
    args = arguments(name, torch)
    with memory() as seen:
        with interop.through_kernels():
            out = first(getattr(ops, name)(*args))
            forward = len(seen)
            out.sum().backward()
        both = len(seen)
        first(getattr(ops, name)(*args)).sum().backward()
    assert 0 < forward < both == len(seen)


def test_numpys_functions_work_in_the_tensors_own_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def forward(self: Any, x: Any) -> Any:
        y = softmax(self, x)
        seen.extend((x.ctypes.data, y.ctypes.data))
        return y

    softmax = Softmax.forward
    monkeypatch.setattr(Softmax, "forward", forward)
    x = torch.randn(3, 4)
    y = ops.softmax(x)
    assert seen == [x.data_ptr(), y.data_ptr()]


# Where libraries of this kind have failed


def test_rows_of_16384_numbers_are_reduced_in_several_passes(road: str) -> None:
    x = torch.randn(2, 16_384, generator=torch.manual_seed(0)).requires_grad_()
    close(with_gradients(ops.softmax, (x,)), with_gradients(lambda x: F.softmax(x, -1), (x,)))


def test_equal_numbers_along_an_axis_share_alike(road: str) -> None:
    x = torch.full((3, 4), 2.0, requires_grad=True)
    assert torch.equal(ops.softmax(x, 1), torch.full((3, 4), 0.25))
    close(with_gradients(lambda x: ops.softmax(x, 1), (x,)), with_gradients(lambda x: F.softmax(x, 1), (x,)))


def test_gradients_of_weights_are_summed_over_what_they_are_broadcast_to(road: str) -> None:
    x, w, b = torch.randn(70, 40, 5), torch.randn(5, requires_grad=True), torch.randn(5, requires_grad=True)
    out, _, _ = ops.layer_norm(x, w, b)
    found = torch.autograd.grad(out.square().sum(), (w, b))
    expected = torch.autograd.grad(F.layer_norm(x, (5,), w, b).square().sum(), (w, b))
    close(list(found), list(expected))


# Shared memory


def test_a_tensor_is_handed_over_in_its_own_memory() -> None:
    ours = t.tensor([[1.0, 2.0], [3.0, 4.0]])
    theirs = interop.to_torch(ours)
    theirs[0, 1] = 7
    assert ours[0, 1].item() == 7
    again = interop.from_torch(theirs.T)
    theirs[1, 0] = 9
    assert again[0, 1].item() == 9


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: interop.to_torch(t.ones(2, requires_grad=True)), "detach() first"),
        (lambda: interop.to_torch(t.ones(1).expand(3)), "clone() first"),
        (lambda: interop.to_torch(t.from_numpy(np.ones(2)[::-1])), "clone() first"),
        (lambda: interop.to_torch(t.ones(2).to("meta")), "'meta'"),
        (lambda: interop.from_torch(torch.ones(2, requires_grad=True)), "detach() first"),
        (lambda: interop.from_torch(torch.ones(2, device="meta")), "memory of meta"),
        (lambda: interop.from_torch(torch.ones(2, 2).to_sparse()), "torch.sparse_coo"),
        (lambda: interop.from_torch(torch.ones(2, dtype=torch.bfloat16)), "torch.bfloat16"),
    ],
)
def test_what_cannot_be_shared_is_refused_in_one_line(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


# Bad input


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ops.softmax(torch.ones(3, dtype=torch.int64)), "torch.int64"),
        (lambda: ops.layer_norm(torch.ones(2, 6), torch.ones(3), torch.ones(3)), "(2, 6)"),
        (lambda: ops.rms_norm(torch.ones(2, 6), torch.ones(6, dtype=torch.float64)), "torch.float64"),
        (lambda: ops.rms_norm(torch.ones(2, 6), torch.ones(6, device="meta")), "on meta"),
        (lambda: ops.softmax(torch.ones(2, 2).to_sparse()), "not for torch.sparse_coo on cpu"),
    ],
)
def test_bad_input_is_refused_in_one_line(call: Callable[[], Any], words: str, road: str) -> None:
    with pytest.raises((RuntimeError, NotImplementedError)) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_kernels_take_no_float64() -> None:
    with interop.through_kernels(), pytest.raises(RuntimeError, match="need float32 tensors"):
        ops.softmax(torch.ones(3, dtype=torch.float64))


def test_tensors_on_cpu_and_on_cuda_do_not_mix() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():  # there may be no GPU: a fake tensor says that it is on one
        x, w = torch.ones(2, 6, device="cuda"), torch.ones(6)
        with pytest.raises(RuntimeError, match=r"on one device, not .* on cuda:0, .* on cpu"):
            ops.rms_norm(x, w)
        with pytest.raises(RuntimeError, match=r"on one device, not .* on cuda:0, .* on cpu"):
            interop.refuse("minilib::rms_norm", [x, w])


@pytest.mark.skipif(backend() == "gpu", reason="there is a GPU, and CuPy")
def test_a_cuda_tensor_without_cupy_says_what_to_install() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(), pytest.raises(RuntimeError, match="install CuPy"):
        interop.refuse("minilib::softmax", [torch.ones(2, device="cuda")])


# Compiled and exported


class Layers(torch.nn.Module):
    def forward(self, x: Any, w: Any) -> Any:
        return ops.softmax(first(ops.rms_norm(x, w)) * 2, -1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "backend",
    [
        "aot_eager",
        pytest.param(
            "inductor",
            marks=[
                pytest.mark.nightly,
                pytest.mark.skipif(not shutil.which("g++"), reason="Inductor needs a compiler: g++"),
            ],
        ),
    ],
)
def test_a_compiled_graph_holds_the_operators(backend: str) -> None:
    args = torch.randn(3, 5, requires_grad=True), torch.randn(5, requires_grad=True)
    compiled = torch.compile(Layers(), fullgraph=True, backend=backend)
    close(with_gradients(compiled, args), with_gradients(Layers(), args))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_operator_compiles_with_its_backward(name: str) -> None:
    args = arguments(name, torch)
    compiled = torch.compile(getattr(ops, name), fullgraph=True, backend="aot_eager")
    close(with_gradients(compiled, args), with_gradients(getattr(ops, name), args))


@pytest.mark.slow
def test_an_exported_program_keeps_an_operator_as_one_node() -> None:
    program = torch.export.export(Layers(), (torch.randn(3, 5), torch.randn(5)))
    targets = [node.target for node in program.graph.nodes]
    assert targets.count(ops.softmax.default) == 1
    assert targets.count(ops.rms_norm.default) == 1


# Blocks of models


@pytest.mark.slow
def test_a_gpt_block_with_our_operators_is_that_of_transformers(road: str) -> None:
    transformers = pytest.importorskip("transformers", reason="`make test-all` installs transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=1, n_embd=12, n_head=3, attn_implementation="eager")
    block = transformers.GPT2Model(config).h[0].eval()  # no dropout
    x = torch.randn(2, 7, 12, requires_grad=True)

    def norm(layer: Any, x: Any) -> Any:
        return first(ops.layer_norm(x, layer.weight, layer.bias, layer.eps))

    def ours(x: Any, *_: Any) -> Any:
        q, k, v = block.attn.c_attn(norm(block.ln_1, x)).chunk(3, -1)
        x = x + block.attn.c_proj(first(ops.causal_attention(q, k, v, config.n_head)))
        return x + block.mlp(norm(block.ln_2, x))

    def theirs(x: Any, *_: Any) -> Any:
        ahead = torch.full((7, 7), -torch.inf).triu(1)[
            None, None
        ]  # which the whole model makes for its blocks
        return first(block(x, attention_mask=ahead))

    args = (x, *moved(block))
    close(with_gradients(ours, args), with_gradients(theirs, args))


@pytest.mark.slow
def test_a_mamba_block_with_our_operators_is_that_of_transformers(road: str) -> None:
    transformers = pytest.importorskip("transformers", reason="`make test-all` installs transformers")
    torch.manual_seed(0)
    config = transformers.MambaConfig(hidden_size=12, state_size=4, time_step_rank=3, num_hidden_layers=1)
    block = transformers.MambaModel(config).layers[0]  # a block by itself is memory as it was found
    mixer, eps = block.mixer, block.norm.variance_epsilon
    x = torch.randn(2, 35, 12, requires_grad=True)

    def ours(x: Any, *_: Any) -> Any:
        main, gate = mixer.in_proj(first(ops.rms_norm(x, block.norm.weight, eps))).chunk(2, -1)
        main = F.silu(mixer.conv1d(main.mT)[..., : x.shape[1]]).mT
        step, B, C = mixer.x_proj(main).split([3, 4, 4], -1)
        delta = F.softplus(mixer.dt_proj(step))
        y, _ = ops.selective_scan(main, delta, -mixer.A_log.exp(), B, C, mixer.D)
        return x + mixer.out_proj(y * F.silu(gate))

    args = (x, *moved(block))
    close(with_gradients(ours, args), with_gradients(lambda x, *_: block(x), args))


def moved(block: Any) -> list[Any]:
    """The parameters of a block, each moved: else norms are all ones and biases zeros."""
    with torch.no_grad():
        return [p.add_(0.1 * torch.randn_like(p)) for p in block.parameters()]
