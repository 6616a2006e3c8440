"""Tensors on a GPU: our kernels beside CuPy's own operations and PyTorch's.

    python -m benchmarks.gpu_tensors          # writes benchmarks/results/gpu_tensors.json
    python -m benchmarks.gpu_tensors --tiny   # each work once, on the simulator too; measures nothing

"cupy" is the same call within `gpu.without()`, and "torch" PyTorch's, where it is installed and finds the
GPU; both multiply in float32 without TF32. Times are medians by CUDA's events after warm-up, of the whole
call: work that is small shows what Python costs. "of a copy" is the bandwidth that the stated bytes make,
beside that of CuPy's own copy; "of cuBLAS" is cupy's time over ours. Arrays of rows have 256 MiB.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from timing import machine

from benchmarks.digits import cnn
from benchmarks.gpu import ROUNDS, WARM_UPS, gpu_name
from warplens.backend import missing_for_gpu

RESULTS = Path(__file__).parent / "results" / "gpu_tensors.json"
Call = Callable[[], Any]
COLUMNS = 4096
VOCABULARY = 96


@dataclass(frozen=True)
class Work:
    """`ours(n)` and `torch(n)` prepare it at a size and return what is timed."""

    name: str
    title: str
    ours: Callable[[int], Call]
    torch: Callable[[int], Call] | None
    size: int
    tiny: int
    arrays: int = 0  # of n rows that it moves, where it is bound by memory
    flops: Callable[[int], int] | None = None


# Prepared alike for both: n rows, some of them tensors that want a gradient


def floats(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def on_device(*arrays: Any, grad: bool = False) -> list[Any]:
    from minilib.tensor import tensor

    return [tensor(array, device="cuda", requires_grad=grad) for array in arrays]


def in_torch(*arrays: Any, grad: bool = False) -> list[Any]:
    import torch

    return [torch.tensor(array, device="cuda", requires_grad=grad) for array in arrays]


def rows(n: int) -> list[Any]:
    return [floats(n, COLUMNS), floats(COLUMNS), floats(COLUMNS)]


def copy_ours(n: int) -> Call:
    (x,) = on_device(floats(n, COLUMNS))
    return x.clone


def copy_torch(n: int) -> Call:
    (x,) = in_torch(floats(n, COLUMNS))
    return x.clone


def add_ours(n: int) -> Call:
    x, y = on_device(floats(n, COLUMNS), floats(n, COLUMNS))
    return lambda: x + y


def add_torch(n: int) -> Call:
    x, y = in_torch(floats(n, COLUMNS), floats(n, COLUMNS))
    return lambda: x + y


def softmax_ours(n: int) -> Call:
    import minilib.functional as F

    (x,) = on_device(floats(n, COLUMNS))
    return lambda: F.softmax(x, 1)


def softmax_torch(n: int) -> Call:
    import torch

    (x,) = in_torch(floats(n, COLUMNS))
    return lambda: torch.softmax(x, 1)


def norm_ours(n: int) -> Call:
    import minilib.functional as F

    x, w, b = on_device(*rows(n))
    return lambda: F.layer_norm(x, (COLUMNS,), w, b)


def norm_torch(n: int) -> Call:
    import torch

    x, w, b = in_torch(*rows(n))
    return lambda: torch.nn.functional.layer_norm(x, (COLUMNS,), w, b)


def norm_back_ours(n: int) -> Call:
    import minilib.functional as F

    (*given, grad) = *on_device(*rows(n), grad=True), *on_device(floats(n, COLUMNS))
    y = F.layer_norm(given[0], (COLUMNS,), *given[1:])

    def call() -> None:
        for tensor in given:
            tensor.grad = None
        y.backward(grad, retain_graph=True)

    return call


def norm_back_torch(n: int) -> Call:
    import torch

    given, (grad,) = in_torch(*rows(n), grad=True), in_torch(floats(n, COLUMNS))
    y = torch.nn.functional.layer_norm(given[0], (COLUMNS,), *given[1:])
    return lambda: torch.autograd.grad(y, given, grad, retain_graph=True)


def product_ours(n: int) -> Call:
    x, y = on_device(floats(n, n), floats(n, n))
    return lambda: x @ y


def product_torch(n: int) -> Call:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    x, y = in_torch(floats(n, n), floats(n, n))
    return lambda: x @ y


# Steps of training


def stepping(model: Any, loss: Callable[[Any], Any]) -> Call:
    """A step of AdamW on the device."""
    from minilib.optim import AdamW

    model.to("cuda")
    optimizer = AdamW(model.parameters(), lr=1e-3)

    def call() -> Any:
        optimizer.zero_grad()
        value = loss(model)
        value.backward()
        optimizer.step()
        return value

    return call


def digits_step(n: int) -> Call:
    """Of n images."""
    import minilib.functional as F
    from minilib.data import digits
    from minilib.tensor import manual_seed

    manual_seed(0)
    images, labels = (tensor[:n].to("cuda") for tensor in digits().tensors)
    return stepping(cnn(), lambda model: F.cross_entropy(model(images), labels))


def next_token(model: Any, n: int, length: int) -> Call:
    """Of n sequences."""
    import minilib.functional as F
    from minilib.tensor import tensor

    places = np.random.default_rng(1).integers(0, VOCABULARY, (n, length + 1))
    x, y = (tensor(part, device="cuda") for part in (places[:, :-1], places[:, 1:]))

    def loss(model: Any) -> Any:
        scores = model(x)
        scores = scores[0] if isinstance(scores, tuple) else scores
        return F.cross_entropy(scores.reshape(-1, VOCABULARY), y.reshape(-1))

    return stepping(model, loss)


def gpt_step(n: int) -> Call:
    from minilib.gpt import GPT, GPTConfig
    from minilib.tensor import manual_seed

    manual_seed(0)
    length = min(8 * n, 128)
    return next_token(GPT(GPTConfig(VOCABULARY, length, n_layer=4, n_head=4, n_embd=128)), n, length)


def mamba_step(n: int) -> Call:
    from minilib.mamba import Mamba, MambaConfig
    from minilib.tensor import manual_seed

    manual_seed(0)
    return next_token(Mamba(MambaConfig(64, 2, VOCABULARY, 16)), n, min(16 * n, 256))


WORKS = [
    Work("copy", "copy", copy_ours, copy_torch, 16_384, 2, 2),
    Work("add", "add", add_ours, add_torch, 16_384, 2, 3),
    Work("softmax", "softmax", softmax_ours, softmax_torch, 16_384, 2, 2),
    Work("layer_norm", "layer norm", norm_ours, norm_torch, 16_384, 2, 2),
    Work("layer_norm_back", "layer norm, backward", norm_back_ours, norm_back_torch, 16_384, 2, 3),
    *(
        Work(f"matmul_{n}", f"matmul {n}", product_ours, product_torch, n, 70, flops=lambda n: 2 * n**3)
        for n in (1024, 4096)
    ),
    Work("digits", "digits, a step of 64 images", digits_step, None, 64, 2),
    Work("gpt", "GPT-micro, a step of 16 x 128", gpt_step, None, 16, 1),
    Work("mamba", "Mamba, a step of 16 x 256", mamba_step, None, 16, 1),
]


# Measured


def seconds(call: Call, rounds: int, warm_ups: int) -> float:
    """The median time by events."""
    from minilib.cuda import cp

    times = []
    for _ in range(warm_ups + rounds):
        start, end = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, end) / 1e3)
    return statistics.median(times[warm_ups:])


def torch_is_here() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def measured(work: Work, tiny: bool) -> dict[str, Any]:
    """Times of ours, of CuPy and of PyTorch, on arrays of their own."""
    import minilib.gpu as gpu

    n, counts = (work.tiny, (1, 0)) if tiny else (work.size, (ROUNDS, WARM_UPS))
    row: dict[str, Any] = {"name": work.name, "title": work.title, "n": n}
    peers: dict[str, tuple[Callable[[int], Call] | None, AbstractContextManager[None]]] = {
        "ours": (work.ours, nullcontext()),
        "cupy": (work.ours, gpu.without()),
        "torch": (work.torch if torch_is_here() else None, nullcontext()),
    }
    for name, (prepare, where) in peers.items():
        if prepare is not None:
            with where:
                row[name] = seconds(prepare(n), *counts)
    if work.arrays:
        row["gb_per_second"] = work.arrays * 4 * n * COLUMNS / row["ours"] / 1e9
    if work.flops:
        row["gflops"] = work.flops(n) / row["ours"] / 1e9
    return row


def training(epochs: int, images: int) -> dict[str, Any]:
    """The digits network trained on the device: seconds of an epoch, and how many of the others it reads."""
    import minilib.functional as F
    from minilib.data import digits
    from minilib.optim import AdamW
    from minilib.tensor import manual_seed, no_grad

    manual_seed(0)
    x, y = (tensor[: images + images // 4].to("cuda") for tensor in digits().tensors)
    model = cnn().to("cuda")
    optimizer = AdamW(model.parameters(), lr=2e-3)
    order = np.random.default_rng(0)

    def epoch() -> None:
        model.train()
        places = order.permutation(images)
        for start in range(0, images, 64):
            some = places[start : start + 64].tolist()
            optimizer.zero_grad()
            F.cross_entropy(model(x[some]), y[some]).backward()
            optimizer.step()

    taken = seconds(epoch, epochs, 0)
    model.eval()
    with no_grad():
        right = model(x[images:]).argmax(1) == y[images:]
    return {"epochs": epochs, "images": images, "epoch": taken, "accuracy": right.float().mean().item()}


def table(rows: Sequence[dict[str, Any]]) -> str:
    lines = ["| work | ours | cupy | torch | GB/s | GFLOP/s | of a copy | of cuBLAS |", "|---" * 8 + "|"]
    copying = next(row["gb_per_second"] * row["ours"] / row["cupy"] for row in rows if row["name"] == "copy")
    for row in rows:
        times = [f"{row[peer] * 1e3:.3f} ms" if peer in row else "" for peer in ("ours", "cupy", "torch")]
        rates = [f"{row[rate]:,.0f}" if rate in row else "" for rate in ("gb_per_second", "gflops")]
        share = f"{row['gb_per_second'] / copying:.2f}" if "gb_per_second" in row else ""
        blas = f"{row['cupy'] / row['ours']:.2f}" if "gflops" in row else ""
        lines.append("| " + " | ".join([row["title"], *times, *rates, share, blas]) + " |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tiny", action="store_true", help="run each work once at a tiny size; only names them"
    )
    tiny = parser.parse_args(argv).tiny
    missing = missing_for_gpu()
    if missing is not None and not tiny:
        print(f"benchmarks.gpu_tensors measures nothing here: {missing}")
        return
    rows = [measured(work, tiny) for work in WORKS]
    trained = training(1, 8) if tiny else training(30, 1437)
    if tiny:
        print("ran:", ", ".join(row["title"] for row in rows), "and a training")
        return
    import cupy

    print(f"{gpu_name()}, CuPy {cupy.__version__}\n{table(rows)}")
    print(f"digits: {trained['epoch']:.2f} s an epoch, {trained['accuracy']:.1%} of the others")
    data = {
        "gpu": gpu_name(),
        "cupy": cupy.__version__,
        "machine": machine(),
        "rows": rows,
        "training": trained,
    }
    RESULTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
