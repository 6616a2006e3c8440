"""What it takes to bring a kernel out of a notebook: seconds and bytes of each way, with PyTorch and g++.

    python -m benchmarks.extension             # three rounds, into results/extension.json and README.md
    python -m benchmarks.extension --rounds 1
    python -m benchmarks.extension --table     # measures nothing: the recorded figures into README.md

Each way starts in a process and a folder of its own. `inline` is torch.utils.cpp_extension.load_inline on
the same kernel below each of two headers; `wheel` is minilib/interop/extension from its folder to a file that
pip installs; `nvcc` compiles the same folder with its CUDA part for three architectures and PTX, where the
packages nvidia-cuda-nvcc, -cccl and -runtime 13 are installed. No kernel is timed, and no GPU is needed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from timing import answer, in_turn, machine, rounded

from benchmarks import sidebyside

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "minilib" / "interop" / "extension"
RESULTS = Path(__file__).parent / "results" / "extension.json"
ARCHITECTURES = (75, 80, 90)
HEADERS = {
    "torch/extension.h": ["torch/extension.h"],
    "torch/library.h": ["torch/library.h", "ATen/ops/empty_like.h"],
}
INLINE = r"""
import json, os, sys, time
import torch
from torch.utils.cpp_extension import load_inline

headers, folder = json.loads(sys.argv[1]), sys.argv[2]
source = "".join(f"#include <{name}>\n" for name in headers) + '''
at::Tensor doubled(const at::Tensor& given) {
    at::Tensor x = given.contiguous(), y = at::empty_like(x);
    const float* in = x.const_data_ptr<float>();
    float* out = y.mutable_data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); i++) out[i] = 2 * in[i];
    return y;
}
TORCH_LIBRARY(measured, m) { m.def("doubled(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(measured, CPU, m) { m.impl("doubled", &doubled); }
'''
start = time.perf_counter()
load_inline("measured", source, is_python_module=False, no_implicit_headers=True, build_directory=folder)
seconds = time.perf_counter() - start
assert torch.ops.measured.doubled(torch.ones(3)).tolist() == [2, 2, 2]
print(json.dumps(seconds))
"""


def inline(headers: list[str]) -> float:
    """Seconds from C++ in a string to an operator that runs, below these headers."""
    with tempfile.TemporaryDirectory(prefix="inline-") as folder:
        seconds: float = answer("-c", INLINE, json.dumps(headers), folder)
        return seconds


def wheel(folder: Path) -> Path:
    """The wheel of the extension, built in `folder` from a copy of its sources."""
    sources = folder / "sources"
    shutil.copytree(PACKAGE, sources, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(sources)], check=True)
    return next(folder.glob("*.whl"))


def installed(wheel: Path, folder: Path) -> Path:
    """`folder` with what the wheel holds, as pip installs it; this Python's own packages stay as they are."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    subprocess.run([*command, str(wheel)], check=True)
    return folder


def cuda_toolkit() -> Path | None:
    """The folder of NVIDIA's compiler and headers, version 13, from PyPI's packages; None without them."""
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(one, "cu13") for one in (spec.submodule_search_locations or [])] if spec else []
    needed = "bin/nvcc", "include/cuda_runtime.h", "include/cccl"
    return next((one for one in folders if all((one / name).exists() for name in needed)), None)


def with_nvcc(folder: Path, toolkit: Path) -> Path:
    """The extension's library with its CUDA part, for the architectures above and PTX for what comes later.

    setup.py leaves this to a CUDA build of PyTorch. The headers of a CPU build declare the same functions,
    so nvcc takes them too; the library wants three that only a CUDA build has
    (tests/parity/test_extension.py has stubs of them).
    """
    import torch

    made, home = folder / "_C.abi3.so", Path(torch.__file__).parent
    newest = ARCHITECTURES[-1]
    codes = [f"arch=compute_{one},code=sm_{one}" for one in ARCHITECTURES]
    codes += [f"arch=compute_{newest},code=compute_{newest}"]
    command = [
        *(str(toolkit / "bin" / "nvcc"), "-shared", "-std=c++17", "-O3", "-Xcompiler", "-fPIC,-g0"),
        *("-DTORCH_TARGET_VERSION=0x020a000000000000", "-DUSE_CUDA"),
        *("-isystem", str(home / "include"), "-isystem", str(toolkit / "include")),
        *(word for code in codes for word in ("-gencode", code)),
        *(str(PACKAGE / name) for name in ("ops.cpp", "softmax.cu")),
        *("-o", str(made), f"-L{home / 'lib'}", "-ltorch_cpu", "-lc10", f"-L{toolkit / 'lib'}"),
    ]
    subprocess.run(command, check=True)
    return made


def one_wheel() -> dict[str, float | str]:
    with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
        start = time.perf_counter()
        made = wheel(Path(folder))
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "bytes": made.stat().st_size, "file": made.name}


def one_with_nvcc(toolkit: Path) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="nvcc-") as folder:
        start = time.perf_counter()
        made = with_nvcc(Path(folder), toolkit)
        return {"seconds": time.perf_counter() - start, "bytes": made.stat().st_size}


def version(command: Path | str, pattern: str) -> str:
    said = subprocess.check_output([str(command), "--version"], encoding="utf-8")
    found = re.search(pattern, said)
    return found[1] if found else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--table", action="store_true", help="measure nothing: recorded figures to README")
    given = parser.parse_args()
    if not given.table:
        RESULTS.write_text(json.dumps(measured(given.rounds), indent=2) + "\n", encoding="utf-8")
    made = table(json.loads(RESULTS.read_text(encoding="utf-8")))
    text = sidebyside.README.read_text(encoding="utf-8")
    sidebyside.README.write_text(sidebyside.with_table("extension", text, made), encoding="utf-8")
    print(made)
    return 0


def measured(rounds: int) -> dict[str, Any]:
    import torch

    toolkit = cuda_toolkit()
    found: dict[str, Any] = {
        "machine": machine(),
        "torch": torch.__version__,
        "compiler": version("c++", r"\) (\S+)"),
        "nvcc": version(toolkit / "bin" / "nvcc", r"release (\S+),") if toolkit else None,
        "rounds": rounds,
    }
    times = in_turn([*HEADERS], rounds, lambda name: inline(HEADERS[name]))
    found["inline"] = {name: rounded(statistics.median(values)) for name, values in times.items()}
    wheels = [one_wheel() for _ in range(rounds)]
    found["wheel"] = {**wheels[0], "seconds": median(wheels)}
    if toolkit:
        made = [one_with_nvcc(toolkit) for _ in range(rounds)]
        found["compiled"] = {**made[0], "seconds": median(made), "architectures": [*ARCHITECTURES, "PTX"]}
    return found


def median(rows: list[Any]) -> float:
    return rounded(statistics.median(row["seconds"] for row in rows))


def table(found: dict[str, Any]) -> str:
    """In Markdown: what was made, in how many seconds, and how large it is."""
    rows = [(f"inline, below `{name}`", seconds, "") for name, seconds in found["inline"].items()]
    rows += [(f"`{found['wheel']['file']}`", found["wheel"]["seconds"], kilobytes(found["wheel"]["bytes"]))]
    if "compiled" in found:
        kinds = ", ".join(f"sm_{one}" if one != "PTX" else one for one in found["compiled"]["architectures"])
        size = kilobytes(found["compiled"]["bytes"])
        rows += [(f"with CUDA, by nvcc {found['nvcc']}: {kinds}", found["compiled"]["seconds"], size)]
    lines = ["| way out of the notebook | seconds | size |", "| --- | --- | --- |"]
    return "\n".join([*lines, *(f"| {name} | {seconds:.1f} | {size} |" for name, seconds, size in rows)])


def kilobytes(size: int) -> str:
    return f"{size / 1000:,.0f} kB"


if __name__ == "__main__":
    sys.exit(main())
