"""Every kernel of minilib/kernels, and those made of expressions, in every order in which threads may run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import cupy_of_stand_in
import numpy as np
import pytest
from gpu_cases import agree, near

import minilib
import minilib.functional as F
import minilib.gpu as gpu
import minilib.optim as optim
from minilib.cuda import RawModule, cp, profile, simulate
from minilib.functional.attention import attend
from minilib.functional.layers import causal_conv1d
from minilib.functional.scan import selective_scan
from minilib.gpu import matmul
from minilib.gpu.device import kernels
from minilib.tensor import Generator, ones, tensor
from warplens.kernel import Kernel

pytestmark = pytest.mark.filterwarnings("ignore:there is no GPU here")

FOLDER = Path(minilib.__file__).parent / "kernels"
KERNEL = re.compile(r"__global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\(")


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


# Small works, of several warps and blocks where a kernel has them, and of sizes that fill neither.


def elements() -> None:
    agree(lambda x, y: (x * y.mT).tanh(), [floats(7, 40), floats(40, 7, seed=1)])
    agree(lambda x: x.permute(2, 0, 1).clone(), [floats(2, 35, 33)])


def sums() -> None:
    agree(lambda x: x.sum(0).sum() + x.sum(1).sum(), [floats(40, 35)])
    agree(lambda x: x.sum(), [floats(1, 4097)])
    agree(lambda x: x.sum(0), [floats(513, 2)])
    agree(lambda x: x.amax(0).sum() + x.amax(1).sum() + x.amin(0).sum() + x.amin(1).sum(), [floats(9, 35)])


def softmaxes() -> None:
    for each in (F.softmax, F.log_softmax):
        agree(lambda x, each=each: each(x, -1), [floats(2, 300)])
        agree(lambda x, each=each: each(x, -1), [floats(1, 8200)])  # longer than a block's registers
    for n in (300, 8200):
        agree(lambda x, n=n: F.cross_entropy(x, tensor([3, n - 1], device=x.device)), [floats(2, n)])


def norms() -> None:
    x, w, b = floats(2, 300), floats(300, seed=1), floats(300, seed=2)
    agree(lambda x, w, b: F.layer_norm(x, (300,), w, b), [x, w, b])
    agree(lambda x, w: F.rms_norm(x, (300,), w, 1e-5), [x, w])


def products() -> None:
    x, y = floats(2, 19, 37), floats(2, 37, 70, seed=1)
    agree(lambda x, y: x @ y, [x, y])
    agree(F.linear, [floats(66, 34), floats(7, 34, seed=1), floats(7, seed=2)])
    a, b = cp.asarray(x[0]), cp.asarray(y[0])
    for tile in (64, 128):
        near(matmul.product(a, b, tile=tile), x[0].astype(float) @ y[0])
        near(matmul.product(b.T, a.T, tile=tile), y[0].T.astype(float) @ x[0].T)


def convolutions() -> None:
    agree(lambda x, w, b: F.conv2d(x, w, b, 2, 1), [floats(2, 3, 7, 6), floats(9, 3, 3, 3), floats(9)])
    agree(lambda x: F.max_pool2d(x, 3, 2, 1), [floats(2, 3, 9, 7)])
    agree(causal_conv1d, [floats(2, 66, 33), floats(33, 1, 4, seed=1), floats(33, seed=2)])


def tables() -> None:
    index = np.random.default_rng(0).integers(0, 6, (3, 13))
    agree(lambda w, i: F.embedding(i, w, padding_idx=2), [floats(6, 40), index])


def attention() -> None:
    agree(lambda x: F.causal_self_attention(x, 2), [floats(2, 19, 3 * 2 * 5)])
    agree(lambda q, k, v: F.causal_attention(q, k, v, 1), [floats(1, n, 20) for n in (3, 18, 18)])
    ends = []
    for where in (nullcontext(), gpu.without()):
        x = tensor(floats(1, 18, 12), device="cuda", requires_grad=True)
        with where:
            y = F.causal_self_attention(x, 1, 0.4, generator=Generator(1))
            y.backward(tensor(floats(1, 18, 4), device="cuda"))
        assert x.grad is not None
        ends.append((y.data, x.grad.data))
    for a, b in zip(*ends, strict=True):
        near(a, cp.asnumpy(b))
    q, k, v = (floats(2, 18, 20, seed=seed) for seed in range(3))
    args = [*map(cp.asarray, (q, k, v)), cp.empty((2, 18, 20), cp.float32), *map(np.int32, (18, 18, 20))]
    kernels("attention")("attention")((2, 2), (16, 16), tuple(args))
    near(args[3], attend(q, k, v)[0])


def scan() -> None:
    x, B, C = floats(2, 35, 9), floats(2, 35, 3, seed=1), floats(2, 35, 3, seed=2)
    delta, A = np.abs(floats(2, 35, 9, seed=3)), -np.abs(floats(9, 3, seed=4))
    agree(lambda *arrays: selective_scan(*arrays), [x, delta, A, B, C])


def steps() -> None:
    x = ones(1030, device="cuda", requires_grad=True)
    y = F.dropout(x, 0.3, generator=Generator(4))
    y.sum().backward()
    with gpu.without():
        assert y.tolist() == F.dropout(x, 0.3, generator=Generator(4)).tolist()
    assert x.grad is not None and x.grad.tolist() == y.tolist()
    ends = []
    for dtype, device in ((np.float64, "cpu"), (np.float32, "cuda")):
        p = tensor(floats(300).astype(dtype), device=device, requires_grad=True)
        p.grad = tensor(floats(300, seed=1).astype(dtype), device=device)
        optim.AdamW([p], lr=0.1, weight_decay=0.1).step()
        ends.append(p.data)
    near(ends[1], ends[0])


WORKS: list[Callable[[], None]] = [
    *(elements, sums, softmaxes, norms, products, convolutions, tables, attention, scan, steps),
]
RAN: set[str] = set()  # names of kernels


@contextmanager
def each_launch(run: Callable[..., None]) -> Iterator[None]:
    """In this block `run(kernel, grid, block, args, shared_mem)` takes the place of every launch."""

    def call(self: Kernel, grid: Any, block: Any, args: Any, *, shared_mem: int = 0) -> None:
        RAN.add(self.name.partition("<")[0])
        run(self, grid, block, args, shared_mem)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "__call__", call)
        yield


def simulated(schedule: str) -> Callable[..., None]:
    return lambda *launch: simulate(*launch, schedule=schedule)


def watched(*launch: Any) -> None:
    report = profile(*launch)
    assert report.ok and not report.races, report
    simulate(*launch)


RUNS = {"watched": watched, "forward": simulated("forward"), "reverse": simulated("reverse")}


@pytest.mark.thorough
@pytest.mark.parametrize("order", RUNS)
@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
def test_a_kernel_has_no_findings_and_the_same_numbers_in_every_order(
    work: Callable[[], None], order: str
) -> None:
    """Watched, there is no race, no access out of bounds and no number that nobody wrote."""
    with each_launch(RUNS[order]):
        work()


@pytest.mark.slow
def test_every_kernel_is_among_them() -> None:
    """In the order of the simulator's launches, lockstep."""
    RAN.clear()
    names = {
        name for path in FOLDER.glob("*.cu") for name in KERNEL.findall(path.read_text(encoding="utf-8"))
    }
    with each_launch(simulated("lockstep")):
        for work in WORKS:
            work()
    assert names and names | {"elementwise"} == RAN


@pytest.mark.slow
@pytest.mark.nightly
def test_arrays_of_cupy_give_the_same_numbers(tmp_path: Path) -> None:
    """The side of a GPU, with a CuPy whose kernels run in the simulator."""
    cupy_of_stand_in.write(tmp_path)
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parent), *sys.path])
    works = "import cupy, minilib.cuda, test_gpu_schedules as t\nfor work in t.WORKS: work()\n"
    code = f"{works}print(minilib.cuda.backend(), t.cp.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"MINILIB_CUDA": "gpu", "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "gpu cupy\n", done.stderr


def test_a_missing_barrier_is_found() -> None:
    """What the tests above would see if a kernel lost one."""
    source = (FOLDER / "matmul.cu").read_text(encoding="utf-8").replace("__syncthreads();", "", 1)
    broken = RawModule(code=source).get_function("matmul_simple")
    x, y = cp.asarray(floats(40, 40)), cp.asarray(floats(40, 40, seed=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matmul, "matmul_kernels", lambda: lambda name: broken)
        with each_launch(watched), pytest.raises(AssertionError, match="Races"):
            matmul.product(x, y, tile=16)
        with each_launch(simulated("forward")), pytest.raises(AssertionError):
            near(matmul.product(x, y, tile=16), cp.asnumpy(x).astype(float) @ cp.asnumpy(y))
