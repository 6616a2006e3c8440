"""Kernels on the CPU: `warplens`, PoCL (compiled by LLVM) and numba's CUDA simulator, one process each.

    python benchmarks/launches.py                                  # writes results/cuda.json
    python benchmarks/launches.py --case tiled --library warplens  # a part is only printed

Every case is one source: PoCL gets it in OpenCL's words, and numba the same steps in Python. A launch is
timed with its synchronisation and without compilation. numba's simulator makes a Python thread of each thread
and would take minutes: it gets fewer blocks, each with the same work, and its time is multiplied by what is
left out. PoCL may use all cores, the others use one. Each result is checked against NumPy's. Peers:

    pip install numba pyopencl pocl-binary-distribution
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from timing import Call, answer, call_times, in_turn, machine, rounded, shown, source

RESULTS = Path(__file__).parent / "results" / "cuda.json"
ROUNDS = 5
TOLERANCE = 1e-3  # of results, relative to their size
LIBRARIES = {
    "warplens": "`warplens`",
    "pocl": "PoCL",
    "numba": "numba's simulator, extrapolated",
}
PACKAGES = {"pocl": "pyopencl pocl-binary-distribution", "numba": "numba"}
# Our time divided by theirs, at most.
# ours / peer at most; a launch of one block computes nothing, so it has none
TARGETS: dict[str, dict[str, float]] = {
    "pocl": {"tiled": 2.0},
    "numba": dict.fromkeys(("add", "tiled", "naive", "reduce", "histogram", "transpose"), 1e-3),
}

Dim = tuple[int, ...]
Args = tuple[Any, ...]  # NumPy arrays, of which the last one is the result, and NumPy scalars


# The kernels of kernels/, for numba. It puts its simulator where these functions find its module.

cuda: Any = None


def add(x: Any, y: Any, n: Any, z: Any) -> None:
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < n:
        z[i] = x[i] + y[i]


def naive(a: Any, b: Any, n: Any, m: Any, c: Any) -> None:
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    column = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    total = np.float32(0)
    for k in range(m):
        total += a[row * m + k] * b[k * n + column]
    c[row * n + column] = total


def tiled(a: Any, b: Any, n: Any, m: Any, c: Any) -> None:
    left = cuda.shared.array((16, 16), np.float32)
    right = cuda.shared.array((16, 16), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * 16 + ty, cuda.blockIdx.x * 16 + tx
    total = np.float32(0)
    for tile in range(0, m, 16):
        left[ty, tx] = a[row * m + tile + tx]
        right[ty, tx] = b[(tile + ty) * n + column]
        cuda.syncthreads()
        for k in range(16):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    c[row * n + column] = total


def reduce(x: Any, sums: Any) -> None:
    part = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    part[t] = x[cuda.blockIdx.x * 256 + t]
    cuda.syncthreads()
    stride = 128
    while stride > 0:
        if t < stride:
            part[t] += part[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]


def histogram(x: Any, counts: Any) -> None:
    bins = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    bins[t] = 0
    cuda.syncthreads()
    for i in range(16):
        cuda.atomic.add(bins, x[(cuda.blockIdx.x * 16 + i) * 256 + t], 1)
    cuda.syncthreads()
    cuda.atomic.add(counts, t, bins[t])


def transpose(x: Any, rows: Any, columns: Any, y: Any) -> None:
    tile = cuda.shared.array((32, 33), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for i in range(ty, 32, 8):
        tile[i, tx] = x[(row + i) * columns + column + tx]
    cuda.syncthreads()
    for i in range(ty, 32, 8):
        y[(column + i) * rows + row + tx] = tile[tx, i]


# What they get ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Launch:
    """A launch, and what its result must be."""

    grid: Dim
    block: Dim
    args: Args
    expected: Any

    @property
    def blocks(self) -> int:
        return int(np.prod(self.grid))


@dataclass(frozen=True)
class Ready:
    """What is timed, how its result is read, and what it ran on."""

    call: Call
    result: Callable[[], Any]
    version: str


@dataclass(frozen=True)
class Case:
    """One row: `launch(size)` of a source that is there for all libraries; numba gets the size `small`."""

    title: str
    source: str
    python: Callable[..., None]
    launch: Callable[[Any], Launch]
    size: Any
    small: Any

    @property
    def name(self) -> str:
        return self.python.__name__


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def adding(n: int) -> Launch:
    x, y = floats(n), floats(n, seed=1)
    return Launch(((n + 255) // 256,), (256,), (x, y, np.int32(n), np.zeros_like(x)), x + y)


def product(sizes: tuple[int, int]) -> Launch:
    """n x 256 times 256 x n: with a smaller n there are fewer blocks, and each thread does the same."""
    n, m = sizes
    a, b = floats(n, m), floats(m, n, seed=1)
    out = np.zeros(n * n, np.float32)
    args = (a.ravel(), b.ravel(), np.int32(n), np.int32(m), out)
    return Launch((n // 16, n // 16), (16, 16), args, (a @ b).ravel())


def reducing(n: int) -> Launch:
    x = floats(n)
    blocks = n // 256
    return Launch((blocks,), (256,), (x, np.zeros(blocks, np.float32)), x.reshape(blocks, 256).sum(1))


def counting(n: int) -> Launch:
    x = np.random.default_rng(0).integers(0, 256, n).astype(np.int32)
    return Launch((n // 4096,), (256,), (x, np.zeros(256, np.int32)), np.bincount(x, minlength=256))


def turning(n: int) -> Launch:
    x = floats(n, n)
    args = (x.ravel(), np.int32(n), np.int32(n), np.zeros(n * n, np.float32))
    return Launch((n // 32, n // 32), (32, 8), args, x.T.ravel())


MEGA = 1 << 20
CASES = {
    name: case
    for name, case in {
        "add": Case("vector add, 1M", source("add"), add, adding, MEGA, 8 * 256),
        "tiled": Case(
            "tiled matmul 256 x 256, 16 x 16 tiles", source("tiled"), tiled, product, (256, 256), (16, 256)
        ),
        "naive": Case("naive matmul 256 x 256", source("naive"), naive, product, (256, 256), (32, 256)),
        "reduce": Case("block reduction, 1M", source("reduce"), reduce, reducing, MEGA, 4 * 256),
        "histogram": Case(
            "histogram 1M, shared atomics", source("histogram"), histogram, counting, MEGA, 2 * 4096
        ),
        "transpose": Case("transpose 1024 x 1024", source("transpose"), transpose, turning, 1024, 64),
        "launch": Case("launch of one block", source("add"), add, adding, 32, 32),
    }.items()
}


# The libraries ----------------------------------------------------------------------------------------------


def warplens(case: Case, launch: Launch) -> Ready:
    """The simulator."""
    from warplens import RawKernel
    from warplens.device.stand_in import cp  # in place of CuPy: the launch is simulated on any machine

    kernel = RawKernel(case.source, case.name)
    args = tuple(cp.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in launch.args)
    return Ready(
        lambda: kernel(launch.grid, launch.block, args),
        lambda: cp.asnumpy(args[-1]),
        f"NumPy {np.__version__}",
    )


def pocl(case: Case, launch: Launch) -> Ready:
    """PoCL through pyopencl."""
    try:
        import pyopencl as cl
    except ImportError:
        sys.exit("error: pyopencl is missing: pip install pyopencl pocl-binary-distribution")
    warnings.simplefilter("ignore")
    devices = [d for p in cl.get_platforms() for d in p.get_devices() if "Portable" in p.name]
    if not devices:
        sys.exit("error: there is no PoCL here: pip install pocl-binary-distribution")
    context = cl.Context(devices[:1])
    queue = cl.CommandQueue(context)
    kernel = getattr(cl.Program(context, opencl(case.source)).build(), case.name)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    args = [
        cl.Buffer(context, flags, hostbuf=arg) if isinstance(arg, np.ndarray) else arg for arg in launch.args
    ]
    everything = tuple(blocks * threads for blocks, threads in zip(launch.grid, launch.block))

    def call() -> None:
        kernel(queue, everything, launch.block, *args)
        queue.finish()

    def result() -> Any:
        out = np.empty_like(launch.args[-1])
        cl.enqueue_copy(queue, out, args[-1])
        return out

    return Ready(
        call, result, f"{devices[0].platform.version.strip()}, {devices[0].max_compute_units} threads"
    )


def numba(case: Case, launch: Launch) -> Ready:
    """numba with NUMBA_ENABLE_CUDASIM=1."""
    global cuda
    try:
        from numba import __version__, cuda
    except ImportError:
        sys.exit("error: numba is missing: pip install numba")
    kernel = cuda.jit(case.python)
    args = [cuda.to_device(arg) if isinstance(arg, np.ndarray) else arg for arg in launch.args]
    return Ready(
        lambda: kernel[launch.grid, launch.block](*args),
        lambda: args[-1].copy_to_host(),
        f"numba {__version__}",
    )


LOADERS = {"warplens": warplens, "pocl": pocl, "numba": numba}
WORDS = {
    'extern "C" __global__': "__kernel",
    "__shared__": "__local",
    "__syncthreads()": "barrier(CLK_LOCAL_MEM_FENCE)",
    "atomicAdd": "atomic_add",
    **{f"threadIdx.{axis}": f"(int)get_local_id({i})" for i, axis in enumerate("xyz")},
    **{f"blockIdx.{axis}": f"(int)get_group_id({i})" for i, axis in enumerate("xyz")},
    **{f"blockDim.{axis}": f"(int)get_local_size({i})" for i, axis in enumerate("xyz")},
}


def opencl(source: str) -> str:
    """A kernel of this file in OpenCL C: all pointers in it are parameters."""
    for word, other in WORDS.items():
        source = source.replace(word, other)
    return re.sub(r"((?:const )?\w+ \*\w)", r"__global \1", source)


# Measuring --------------------------------------------------------------------------------------------------


def measure_here(case: Case, library: str) -> dict[str, Any]:
    """Seconds of one launch in this process, and how many times it was multiplied to stand for all blocks."""
    small = library == "numba"
    launch = case.launch(case.small if small else case.size)
    ready = LOADERS[library](case, launch)
    ready.call()
    check(case, library, ready.result(), launch.expected)
    times = few_times(ready.call) if small else call_times(ready.call)
    factor = case.launch(case.size).blocks / launch.blocks if small else 1
    return {"value": statistics.median(times) * factor, "factor": factor, "version": ready.version}


def few_times(call: Call) -> list[float]:
    """Seconds of three calls: these are long."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds


def check(case: Case, library: str, result: Any, expected: Any) -> None:
    """Raise SystemExit unless the kernel computed what it should: else its time says nothing."""
    size = float(np.abs(expected).max())
    if not np.allclose(result, expected, rtol=TOLERANCE, atol=TOLERANCE * size):
        raise SystemExit(f"error: {case.name} of {library} is wrong by {np.abs(result - expected).max()}")


def measure(names: Sequence[str], libraries: Sequence[str], rounds: int) -> list[dict[str, Any]]:
    """A row for each case: the medians over the rounds."""
    environment = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1") | {
        "NUMBA_ENABLE_CUDASIM": "1"
    }

    def one(key: tuple[str, str]) -> Any:
        print(".", end="", file=sys.stderr, flush=True)
        return answer(__file__, "--child", *key, environment=environment)

    found = in_turn([(name, library) for name in names for library in libraries], rounds, one)
    print(file=sys.stderr)
    rows = []
    for name in names:
        values = {lib: [each["value"] for each in found[name, lib]] for lib in libraries}
        row: dict[str, Any] = {"case": name}
        row |= {lib: rounded(statistics.median(each)) for lib, each in values.items()}
        row["versions"] = {lib: found[name, lib][0]["version"] for lib in libraries}
        if "numba" in libraries:
            row["numba_factor"] = rounded(found[name, "numba"][0]["factor"])
        for peer in ("pocl", "numba"):
            if peer in libraries and "warplens" in libraries:
                ratios = [mine / theirs for mine, theirs in zip(values["warplens"], values[peer])]
                row[f"by_{peer}"] = rounded(statistics.median(ratios))
        rows.append(row)
    return rows


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as Markdown."""
    libraries = [name for name in LIBRARIES if name in rows[0]]
    heads = ["kernel", *(LIBRARIES[name] for name in libraries)]
    heads += [f"ours / {name}" for name in ("pocl", "numba") if f"by_{name}" in rows[0]]
    lines = [heads, ["---"] * len(heads)]
    for row in rows:
        cells = [CASES[row["case"]].title, *(shown(row[name], "seconds") for name in libraries)]
        if "numba_factor" in row and row["numba_factor"] > 1:
            cells[1 + libraries.index("numba")] += f" (x {row['numba_factor']:,.0f})"
        cells += [ratio(row, peer) for peer in ("pocl", "numba") if f"by_{peer}" in row]
        lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def ratio(row: Mapping[str, Any], peer: str) -> str:
    """`1.3`, or `1 / 4,200`; and the target where it is missed."""
    value = row[f"by_{peer}"]
    text = f"{value:.1f}" if value >= 1 else f"1 / {1 / value:,.{0 if value < 0.1 else 1}f}"
    target = TARGETS[peer].get(row["case"])
    return text + (f" (target {target:g}: missed)" if target is not None and value > target else "")


def installed() -> list[str]:
    """The libraries that are here; a peer that is missing is said so."""
    modules = {"warplens": "warplens", "pocl": "pyopencl", "numba": "numba"}
    here = [name for name, module in modules.items() if importlib.util.find_spec(module)]
    for name in PACKAGES:
        if name not in here:
            print(f"{name} is left out: pip install {PACKAGES[name]}", file=sys.stderr)
    return here


def _recorded() -> Any:
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python launches.py", description="Kernels on the CPU, side by side"
    )
    parser.add_argument("--case", action="append", choices=CASES, help="only this one; may be repeated")
    parser.add_argument(
        "--library", action="append", choices=LIBRARIES, help="only this one; may be repeated"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"(default: {ROUNDS})")
    parser.add_argument("--table", action="store_true", help="measure nothing: show the recorded figures")
    parser.add_argument("--child", nargs=2, metavar=("CASE", "LIBRARY"), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.child:
        print(json.dumps(measure_here(CASES[args.child[0]], args.child[1])))
        return
    if args.table:
        print(table(_recorded()["rows"]))
        return
    libraries = args.library or installed()
    rows = measure(args.case or list(CASES), libraries, args.rounds)
    print(table(rows))
    if args.case or set(libraries) != set(LIBRARIES):
        print("not recorded: only a run of every case with every library is")
        return
    versions = [row.pop("versions") for row in rows]
    data = {
        "machine": machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "versions": versions[0],
        "rounds": args.rounds,
        "seconds": "median over the rounds of each process's median launch; numba's times numba_factor",
        "rows": rows,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    if RESULTS.exists():  # what reports.py has measured stays
        data |= {key: value for key, value in _recorded().items() if key == "reports"}
    RESULTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
