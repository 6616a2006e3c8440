"""Kernels on a GPU beside what the simulator's report foretells of them.

    python -m benchmarks.gpu                 # writes benchmarks/results/gpu.json
    python -m benchmarks.gpu --size 0.25     # smaller arrays, only printed

A report counts sectors, bank conflicts and operations at a small size; for each unit of work they are the
same at the large one. Rows that differ in one count show what it costs: the three transposes move the same
numbers, the naive one in more sectors, that with tiles of 32 x 32 with bank conflicts. Times are medians by
CUDA's events after warm-up, and results are checked against NumPy's. All but the products are larger than
what a GPU caches.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from timing import machine, source

from minilib.cuda import RawKernel, profile
from warplens.backend import missing_for_gpu
from warplens.device import stand_in

RESULTS = Path(__file__).parent / "results" / "gpu.json"
ROUNDS, WARM_UPS = 20, 3
TOLERANCE = 1e-3  # of results, relative to their size

COPY = r"""
extern "C" __global__ void copy(const float *x, int n, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""

NAIVE_TRANSPOSE = r"""
extern "C" __global__ void transpose(const float *x, int rows, int columns, float *y) {
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    for (int i = 0; i < 32; i += 8) y[column * rows + row + i] = x[(row + i) * columns + column];
}
"""


@dataclass(frozen=True)
class Row:
    """A kernel; `launch(n)` gives grid, block, arguments in NumPy (the last is written), and the result."""

    name: str
    title: str
    source: str
    kernel: str
    launch: Callable[[int], tuple[Any, Any, tuple[Any, ...], Any]]
    large: int
    small: int
    step: int  # sizes are multiples of it


def floats(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def copying(n: int) -> tuple[Any, Any, tuple[Any, ...], Any]:
    x = floats(n)
    return (-(-n // 256),), (256,), (x, np.int32(n), np.zeros_like(x)), x


def adding(n: int) -> tuple[Any, Any, tuple[Any, ...], Any]:
    x = floats(n)
    return (-(-n // 256),), (256,), (x, x[::-1].copy(), np.int32(n), np.zeros_like(x)), x + x[::-1]


def turning(n: int) -> tuple[Any, Any, tuple[Any, ...], Any]:
    x = floats(n, n)
    args = (x, np.int32(n), np.int32(n), np.zeros_like(x))
    return (n // 32, n // 32), (32, 8), args, x.T


def reducing(n: int) -> tuple[Any, Any, tuple[Any, ...], Any]:
    x = floats(n)
    return (n // 256,), (256,), (x, np.zeros(n // 256, np.float32)), x.reshape(-1, 256).sum(1)


def product(n: int) -> tuple[Any, Any, tuple[Any, ...], Any]:
    a, b = floats(n, n), floats(n, n).T.copy()
    args = (a, b, np.int32(n), np.int32(n), np.zeros_like(a))
    return (n // 16, n // 16), (16, 16), args, a @ b


MEGA = 1 << 20
ADD, NAIVE, REDUCE, TILED, TRANSPOSE = map(source, ("add", "naive", "reduce", "tiled", "transpose"))
CONFLICTS = TRANSPOSE.replace("[33]", "[32]")
ROWS = [
    Row("copy", "copy", COPY, "copy", copying, 64 * MEGA, 4096, 256),
    Row("add", "vector add", ADD, "add", adding, 64 * MEGA, 4096, 256),
    Row("transpose_naive", "transpose, naive", NAIVE_TRANSPOSE, "transpose", turning, 8192, 64, 32),
    Row("transpose_tiled", "transpose, tiles of 32 x 32", CONFLICTS, "transpose", turning, 8192, 64, 32),
    Row("transpose_padded", "transpose, tiles of 32 x 33", TRANSPOSE, "transpose", turning, 8192, 64, 32),
    Row("reduce", "reduction by blocks", REDUCE, "reduce", reducing, 64 * MEGA, 4096, 256),
    Row("matmul_naive", "matmul, naive", NAIVE, "naive", product, 2048, 64, 16),
    Row("matmul_tiled", "matmul, tiles of 16 x 16", TILED, "tiled", product, 2048, 64, 16),
]


def foretold(row: Row) -> dict[str, float]:
    """What the report says of a small launch: sectors beside the fewest possible, conflicts, FLOPs a byte."""
    grid, block, args, _ = row.launch(row.small)
    here = tuple(stand_in.cp.asarray(a) if isinstance(a, np.ndarray) else a for a in args)
    report = profile(RawKernel(row.source, row.kernel), grid, block, here)
    if not report.ok:
        raise SystemExit(f"error: {row.name}: {report}")
    requests = report.global_load_requests + report.global_store_requests
    sectors = report.global_load_sectors + report.global_store_sectors
    ideal = report.global_load_sectors_ideal + report.global_store_sectors_ideal
    return {
        "sectors_by_ideal": sectors / ideal,
        "bank_conflicts_by_request": report.bank_conflicts / requests,
        "flops_by_byte": report.flops_per_byte,
    }


def measured(row: Row, n: int) -> dict[str, float]:
    """The time of a launch on the GPU, and what that makes in GB/s of distinct bytes and in GFLOP/s."""
    import cupy

    grid, block, args, expected = row.launch(n)
    there = tuple(cupy.asarray(a) if isinstance(a, np.ndarray) else a for a in args)
    kernel = RawKernel(row.source, row.kernel)
    times = []
    for _ in range(WARM_UPS + ROUNDS):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        kernel(grid, block, there)
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)
    result = cupy.asnumpy(there[-1])
    wrong = float(np.abs(result - expected).max() / np.abs(expected).max())
    if not wrong < TOLERANCE:
        raise SystemExit(f"error: {row.name} is wrong by {wrong:.1e} of its largest number")
    seconds = statistics.median(times[WARM_UPS:])
    nbytes = sum(a.nbytes for a in args if isinstance(a, np.ndarray))
    made = {"n": n, "seconds": seconds, "gb_per_second": nbytes / seconds / 1e9}
    if row.name.startswith("matmul"):
        made["gflops"] = 2 * n**3 / seconds / 1e9
    return made


def table(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| kernel | time | GB/s | GFLOP/s | sectors / ideal | bank conflicts / request | FLOPs / byte |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        gflops = f"{row['gflops']:,.0f}" if "gflops" in row else ""
        lines.append(
            f"| {row['title']}, n = {row['n']:,} | {row['seconds'] * 1e3:.3f} ms "
            f"| {row['gb_per_second']:,.0f} | {gflops} | {row['sectors_by_ideal']:.2f} "
            f"| {row['bank_conflicts_by_request']:.2f} | {row['flops_by_byte']:.2f} |"
        )
    return "\n".join(lines)


def gpu_name() -> str:
    import cupy

    name = cupy.cuda.runtime.getDeviceProperties(0)["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--size", type=float, default=1.0, help="of the arrays' sides or lengths; only printed"
    )
    args = parser.parse_args(argv)
    missing = missing_for_gpu()
    if missing is not None:
        print(f"benchmarks.gpu measures nothing here: {missing}")
        return
    import cupy

    rows = []
    for row in ROWS:
        n = max(row.step, int(row.large * args.size) // row.step * row.step)
        rows.append({"name": row.name, "title": row.title} | measured(row, n) | foretold(row))
    print(f"{gpu_name()}, CuPy {cupy.__version__}\n{table(rows)}")
    if args.size == 1.0:
        data = {"gpu": gpu_name(), "cupy": cupy.__version__, "machine": machine(), "rows": rows}
        RESULTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
