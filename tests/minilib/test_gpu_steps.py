"""Attention, scans, dropout and whole training steps on the device, beside the CPU's."""

from __future__ import annotations

import itertools
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpu_cases import agree, near, reported

import minilib.functional as F
import minilib.gpu as gpu
import minilib.nn as nn
import minilib.optim as optim
import minilib.tensor as lib
from minilib.cuda import cp
from minilib.data import digits
from minilib.functional.counted import counted
from minilib.functional.scan import selective_scan
from minilib.gpt import GPT, GPTConfig
from minilib.gpu.device import watched
from minilib.mamba import Mamba, MambaConfig
from minilib.tensor import Generator, Tensor, manual_seed, tensor

pytestmark = pytest.mark.filterwarnings("ignore:there is no GPU here")

# ------------------------------------------------------------------------------------------------- attention


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("batch", "time", "heads", "d"),
    [
        (1, 1, 1, 1),
        (2, 15, 2, 8),
        pytest.param(1, 16, 1, 64, marks=pytest.mark.slow),
        (2, 17, 3, 5),
        pytest.param(1, 70, 2, 33, marks=pytest.mark.slow),
    ],
)
def test_attention_of_a_sequence_to_itself(batch: int, time: int, heads: int, d: int) -> None:
    x = np.random.default_rng(0).normal(size=(batch, time, 3 * heads * d))
    with gpu.reports() as found:
        agree(lambda x: F.causal_self_attention(x, heads), [x])
    assert [name for name, _ in found if name.startswith("flash")] == ["flash", "flash_dq", "flash_dkv"]


@pytest.mark.parametrize(("time", "seen"), [(1, 40), (5, 5), (20, 33), (3, 16), (17, 18)])
def test_attention_of_the_last_positions(time: int, seen: int) -> None:
    rng = np.random.default_rng(1)
    q, k, v = (rng.normal(size=(2, n, 3 * 6)) for n in (time, seen, seen))
    agree(lambda q, k, v: F.causal_attention(q, k, v, 3), [q, k, v])


def test_scores_without_a_bound_do_not_overflow() -> None:
    x = 100 * np.random.default_rng(2).normal(size=(1, 20, 3 * 4))
    here, away = (
        F.causal_self_attention(tensor(x.astype(t), device=d), 1) for t, d in (("f8", "cpu"), ("f4", "cuda"))
    )
    near(away.data, here.data)


def test_attention_that_does_not_fit_goes_to_the_array_module() -> None:
    agree(lambda x: F.causal_self_attention(x, 1), [np.random.default_rng(0).normal(size=(1, 4, 3 * 65))])


@pytest.mark.parametrize("p", [0.3, 1.0])
@pytest.mark.parametrize(("time", "seen"), [(19, 19), (3, 18)])
def test_attention_drops_the_weights_that_the_array_module_would(time: int, seen: int, p: float) -> None:
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=(2, n, 2 * 5)).astype(np.float32) for n in (time, seen, seen)]
    results = []
    for ours, where in ((True, nullcontext()), (False, gpu.without())):
        q, k, v = (tensor(array, device="cuda", requires_grad=True) for array in arrays)
        with where:
            y = F.causal_attention(q, k, v, 2, p, generator=Generator(5))
            assert ("pair" in vars(y.function)) == ours
            (y * tensor(arrays[0], device="cuda")).sum().backward()
        results.append([y.data, q.grad.data, k.grad.data, v.grad.data])
    for a, b in zip(*results, strict=True):
        near(a, cp.asnumpy(b))
    if p < 1:
        whole = F.causal_attention(*(tensor(a, device="cuda") for a in arrays), 2)
        assert np.abs(cp.asnumpy(whole.data - results[0][0])).max() > 0.1  # something was dropped


def test_attention_draws_as_dropout_does() -> None:
    """One text of the generator in two files, for kernels cannot share one."""
    folder = Path(gpu.__file__).parents[1] / "kernels"
    found = [
        re.search(r"__device__ uint4 philox.*?\n}\n", (folder / f"{name}.cu").read_text("utf-8"), re.DOTALL)
        for name in ("dropout", "flash")
    ]
    assert found[0] and found[1] and found[0].group() == found[1].group()


def test_a_scan_lets_go_of_what_it_saved() -> None:
    x, delta = (lib.rand(1, 40, 3, device="cuda", requires_grad=True) for _ in range(2))
    A, B, C = (lib.rand(*size, device="cuda") for size in ((3, 2), (1, 40, 2), (1, 40, 2)))
    y = selective_scan(x, delta, -A, B, C, method="chunked")
    scan = y.function
    assert type(vars(scan)["pair"]).__name__ == "ScanKernels" and scan.saved
    y.sum().backward()
    assert scan.saved is lib.FREED and not vars(scan)["by_kernel"].saved


def test_more_sequences_than_a_grid_has_layers_go_to_the_array_module() -> None:
    x = lib.zeros(65_536, 1, 3, device="cuda", requires_grad=True)
    y = F.causal_self_attention(x, 1)
    assert "pair" not in vars(y.function) and not y.sum().item()


@pytest.mark.thorough
@pytest.mark.parametrize(("time", "d", "p"), [(64, 64, 0.0), (48, 32, 0.0), (48, 32, 0.5)])
def test_attention_moves_what_its_tiles_see_without_conflicts(time: int, d: int, p: float) -> None:
    """The bytes that flash.cu states: a tile of 16 queries sees keys in tiles too, up to its own."""
    x = lib.rand(2, time, 3 * d, device="cuda", requires_grad=True)
    with reported("flash") as seen:
        F.causal_self_attention(x, 1, p, generator=Generator(0)).sum().backward()
    tokens, pairs = 2 * time, time // 16 * (time // 16 + 1)  # of both samples
    tiles = pairs * 2 * 16 * d
    ideals = 2 * tokens * d + tokens + tiles, 3 * tokens * d + 2 * tokens + tiles
    for report, ideal in zip(seen, (*ideals, 4 * tokens * d + tiles + pairs * 2 * 16), strict=True):
        assert report.bank_conflicts == 0 and report.bytes_moved <= 1.1 * 4 * ideal


@pytest.mark.thorough
def test_a_scan_moves_its_inputs_and_a_state_for_each_chunk() -> None:
    """B and C once for each eight channels; gradients of A, B and C are added by atomics."""
    batch, time, width, n = 2, 96, 32, 16
    x, delta = (lib.rand(batch, time, width, device="cuda", requires_grad=True) for _ in range(2))
    A, B, C = (lib.rand(*s, device="cuda") for s in ((width, n), (batch, time, n), (batch, time, n)))
    with reported("scan") as seen:
        selective_scan(x, delta, -A, B, C).sum().backward()
    tokens, shared = batch * time * width, 2 * batch * time * n * (width // 8)
    states = batch * (time // 32 + 1) * width * n + batch * width * n
    for report, arrays in zip(seen, (3, 5), strict=True):
        assert report.bytes_moved <= 1.1 * 4 * (arrays * tokens + shared + states)


# --------------------------------------------------------------------------------------- dropout by counting


@pytest.mark.parametrize("size", [4096, 5000])
def test_dropout_moves_its_arrays_once(size: int) -> None:
    x = lib.rand(size, device="cuda")
    with reported("dropout") as seen:
        F.dropout(x, 0.5, generator=Generator(0))
    assert seen[0].bytes_moved <= 1.1 * 2 * 4 * size and seen[0].bank_conflicts == 0


def test_numbers_that_are_counted_are_those_of_the_paper() -> None:
    """Of Random123's table of known answers, counter and key 0, and of a key with both halves."""
    assert counted(0, 4).tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert len(set(counted(2**40 + 3, 1000).tolist())) == 1000


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 1023, 4097])
def test_dropout_drops_the_same_numbers_in_both_ways_and_everywhere(size: int) -> None:
    x = lib.ones(size, device="cuda", requires_grad=True)
    y = F.dropout(x, 0.3, generator=Generator(4))
    y.sum().backward()
    assert x.grad is not None and y.tolist() == x.grad.tolist()
    with gpu.without():
        again = F.dropout(x, 0.3, generator=Generator(4))
    assert again.tolist() == y.tolist()
    assert set(np.unique(np.float32(y.tolist()))) <= {np.float32(0), np.float32(1 / 0.7)}


def test_dropout_keeps_its_part_and_changes_from_call_to_call() -> None:
    manual_seed(0)
    x = lib.ones(20_000, device="cuda")
    one, other = F.dropout(x, 0.25), F.dropout(x, 0.25)
    for y in (one, other):
        assert abs((y == 0).float().mean().item() - 0.25) < 0.02
    assert ((one == 0) & (other == 0)).float().mean().item() < 0.08
    assert F.dropout(x, 1.0).sum().item() == 0 and F.dropout(x, 0.5, training=False) is x


# ------------------------------------------------------------------------------------------------ optimisers


@pytest.mark.parametrize("kind", [optim.AdamW, optim.Adam])
@pytest.mark.parametrize("shape", [(1,), (257,), (3, 5)], ids=str)
def test_a_step_of_adam_is_one_kernel(kind: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    start, grads = rng.normal(size=shape), rng.normal(size=(4, *shape))
    ends = []
    for dtype, device in ((np.float64, "cpu"), (np.float32, "cuda")):
        p = tensor(start.astype(dtype), device=device, requires_grad=True)
        optimizer = kind([p], lr=0.1, weight_decay=0.1)
        with gpu.reports() as found:
            for grad in grads:
                p.grad = tensor(grad.astype(dtype), device=device)
                optimizer.step()
        ends.append(p.data)
    assert [name for name, _ in found] == 4 * ["adamw"]
    near(ends[1], ends[0])


def test_a_step_of_adam_moves_seven_arrays() -> None:
    p = lib.rand(4096, device="cuda", requires_grad=True)
    p.grad = lib.rand(4096, device="cuda")
    with gpu.reports() as found:
        optim.AdamW([p]).step()
    ((_, report),) = found
    assert report.ok and report.bytes_moved == 7 * 4 * 4096


def test_sgd_runs_on_the_device_too() -> None:
    p = tensor([1.0, 2.0], device="cuda", requires_grad=True)
    p.grad = tensor([1.0, -1.0], device="cuda")
    optim.SGD([p], lr=0.5, momentum=0.9).step()
    assert p.tolist() == [0.5, 2.5]


# ----------------------------------------------------------------------------------------- nothing comes home


def test_a_target_that_is_no_class_makes_the_loss_no_number() -> None:
    """On the CPU it is an error; here to look for one would be to wait."""
    x, target = lib.rand(3, 4, device="cuda", requires_grad=True), tensor([1, 4, -1], device="cuda")
    losses = F.cross_entropy(x, target, reduction="none")
    assert np.isnan(losses.tolist()).tolist() == [False, True, True]
    assert np.isnan(F.cross_entropy(x, target).item())
    with pytest.raises(IndexError, match="target 4 is no class"):
        F.cross_entropy(x.cpu(), target.cpu())


@pytest.mark.parametrize("target", [[0, 1, 2], [0, -100, 2], [-100, -100, -100]], ids=str)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_targets_to_be_ignored_count_as_on_the_cpu(target: list[int], smoothing: float) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4))
    agree(lambda x, y: F.cross_entropy(x, y, label_smoothing=smoothing), [x, np.array(target)])


# --------------------------------------------------------------------------------------------- models, whole


RAN: set[str] = set()


def trained(
    model: Any, x: np.ndarray, loss: Any, device: str, steps: int, make: Any
) -> dict[str, np.ndarray]:
    """The parameters after some steps, which take the kernels that RAN then names."""
    model.to(device)
    optimizer = make(model.parameters())
    with watched(lambda *_: None) as seen:
        for _ in range(steps):
            optimizer.zero_grad()
            loss(model, tensor(x, device=device)).backward()
            optimizer.step()
    RAN.clear()
    RAN.update(name.partition("<")[0] for name, _ in seen)
    return {name: p.cpu().numpy().copy() for name, p in model.named_parameters()}


def same_steps(build: Any, x: np.ndarray, loss: Any, steps: int, make: Any) -> None:
    """The same steps on both devices end at the same parameters, to 1e-4."""
    here, away = (trained(build(), x, loss, device, steps, make) for device in ("cpu", "cuda"))
    for name, expected in here.items():
        np.testing.assert_allclose(
            away[name], expected, rtol=0, atol=1e-4 * max(1, np.abs(expected).max()), err_msg=name
        )


def next_token_loss(model: Any, x: Tensor) -> Tensor:
    logits = model(x[:, :-1])
    logits = logits[0] if isinstance(logits, tuple) else logits
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), x[:, 1:].reshape(-1))


NO_DROPOUT = dict.fromkeys(("embd_pdrop", "resid_pdrop", "attn_pdrop"), 0.0)


def tiny_gpt() -> GPT:
    manual_seed(0)
    return GPT(GPTConfig(vocab_size=11, block_size=12, n_layer=2, n_head=2, n_embd=16, **NO_DROPOUT))


def tiny_mamba() -> Mamba:
    manual_seed(0)
    return Mamba(MambaConfig(vocab_size=11, d_model=8, n_layer=2, d_state=4))


BOTH_WAYS = {f"{name}{way}" for name in ("embedding", "cross_entropy") for way in ("", "_backward")}
OF_GPT = BOTH_WAYS | {"flash", "flash_dq", "flash_dkv", "layer_norm", "layer_norm_backward"}
OF_MAMBA = BOTH_WAYS | {"scan_forward", "scan_backward", "causal_conv", "causal_conv_backward", "rms_norm"}


@pytest.mark.slow
@pytest.mark.parametrize(("build", "kernels"), [(tiny_gpt, OF_GPT), (tiny_mamba, OF_MAMBA)])
@pytest.mark.parametrize(("kind", "steps"), [(optim.SGD, 2), (optim.AdamW, 1)])
def test_a_language_model_takes_the_same_steps(build: Any, kernels: set[str], kind: Any, steps: int) -> None:
    x = np.random.default_rng(0).integers(0, 11, (2, 13))
    options = {"lr": 0.1} if kind is optim.SGD else {"lr": 1e-3, "eps": 1e-4}  # as for digits
    same_steps(build, x, next_token_loss, steps, lambda params: kind(params, **options))
    assert kernels <= RAN and any(name.startswith("matmul") for name in RAN)
    assert ("adamw" in RAN) == (kind is optim.AdamW)


def test_a_network_with_norms_and_curves_takes_the_same_steps_of_adamw() -> None:
    def build() -> nn.Sequential:
        manual_seed(0)
        return nn.Sequential(nn.Linear(6, 20), nn.LayerNorm(20), nn.GELU(), nn.Linear(20, 7))

    def loss(model: Any, x: Tensor) -> Tensor:
        return F.cross_entropy(model(x), tensor([1, 2, 3, 4, 5], device=x.device))

    x = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32)
    same_steps(build, x, loss, 1, lambda params: optim.AdamW(params, lr=1e-3))


@pytest.mark.thorough
def test_the_digits_network_takes_the_same_ten_steps_and_one_of_adamw() -> None:
    """The convolutional network of chapter 03f, batches of 8."""

    def build() -> nn.Module:
        manual_seed(0)
        return nn.Sequential(
            *(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()),
            *(nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(256, 10)),
        )

    images, labels = digits().tensors

    def loss(model: Any, start: Tensor) -> Tensor:
        at = 8 * next(counter)
        x, target = images[at : at + 8].to(start.device), labels[at : at + 8].to(start.device)
        return F.cross_entropy(model(x), target)

    # A bias before a norm has no gradient but rounding; Adam with a small eps would make a whole step of it.
    for steps, make in (
        (10, lambda p: optim.SGD(p, lr=0.05)),
        (1, lambda p: optim.AdamW(p, lr=1e-3, eps=1e-4)),
    ):
        ends = []
        for device in ("cpu", "cuda"):
            counter = itertools.count()
            ends.append(trained(build(), np.zeros(1, np.float32), loss, device, steps, make))
        assert {"conv", "conv_backward_x", "conv_backward_weight", "max_pool", "max_pool_backward"} <= RAN
        for name, expected in ends[0].items():
            bound = 1e-4 * max(1, np.abs(expected).max())
            np.testing.assert_allclose(ends[1][name], expected, rtol=0, atol=bound, err_msg=name)
