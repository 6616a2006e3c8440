"""What NVIDIA's compiler makes of kernels of lessons and library: machine code and registers, without a GPU.

    python -m benchmarks.compiled       # writes coursekit/pictures/compiled.json, which lessons show

Needs `pip install nvidia-cuda-nvrtc-cu12 nvidia-cuda-nvdisasm`. Nothing here is timed: these are instructions
and registers, by the compiler whose version the record names, for one architecture.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.trainings import without_options
from minilib.gpu.elements import Read, elementwise_source

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT / "tests" / "helpers"), str(ROOT / "simulator" / "tests" / "helpers")]
import nvrtc  # noqa: E402
from lesson_kernels import cuda_cells  # noqa: E402

RESULTS = ROOT / "coursekit" / "pictures" / "compiled.json"
ARCHITECTURE = 90
THREADS = (1024, 512, 256, 128, 64, 32)  # of a block that has a row of 1,000 numbers
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", re.MULTILINE)


def disassembler() -> Path | None:
    """nvdisasm, or None where it is missing."""
    spec = importlib.util.find_spec("nvidia")
    folders = map(Path, (spec.submodule_search_locations or []) if spec else [])
    return next((found for folder in folders for found in folder.glob("*/bin/nvdisasm")), None)


def instructions(cubin: bytes) -> dict[str, list[str]]:
    """The instructions of each kernel by its mangled name, without what fills up its end."""
    tool = disassembler()
    if tool is None:
        raise SystemExit("error: nvdisasm is missing: pip install nvidia-cuda-nvdisasm")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        made = subprocess.run([tool, "-c", file.name], capture_output=True, check=True, encoding="utf-8")
    parts = re.split(r"(?m)^\.text\.(\w+):$", made.stdout)[1:]
    return {name: ended(_INSTRUCTION.findall(text)) for name, text in zip(parts[::2], parts[1::2])}


def ended(made: list[str]) -> list[str]:
    """Without NOPs at the end, and the branch to itself before them."""
    while made[-1] == "NOP":
        made = made[:-1]
    return made[:-1]


def kernel(source: str, name: str) -> dict[str, Any]:
    """What a kernel of a source takes, and how many instructions it has, in all and of some kinds: LDG loads
    from memory, LDS from shared memory, and FFMA is an FMA."""
    instance = [name] if "<" in name else []
    cubin, used = nvrtc.compile_cubin(source, ARCHITECTURE, instance)
    mangled = next(iter(used)) if instance else name
    kinds = Counter(map(kind, instructions(cubin)[mangled]))
    kept = {one: kinds[one] for one in sorted(kinds) if re.match("LDG|STG|LDS|FFMA", one)}
    return vars(used[mangled]) | {"instructions": sum(kinds.values()), "of": kept}


def kind(instruction: str) -> str:
    """`LDS.128` of `@P0 LDS.128 R8, [R19]`."""
    return re.sub(r"^@!?U?P\w+ +", "", instruction).split()[0]


def between_barriers(made: list[str]) -> list[str]:
    """What stands between the first two __syncthreads(): where tiled products multiply."""
    first, second = [i for i, line in enumerate(made) if line.startswith("BAR.SYNC")][:2]
    return made[first + 1 : second]


def lesson(name: str, title: str, *macros: str) -> str:
    """The source of a `%%cuda` cell."""
    (path,) = (ROOT / "chapters").glob(f"{name}_*.ipynb")
    (source,) = {cell.source for cell in cuda_cells(path) if cell.title == title}
    return "".join(f"#define {macro}\n" for macro in macros) + source


def library(file: str) -> str:
    return (ROOT / "minilib" / "kernels" / f"{file}.cu").read_text(encoding="utf-8")


def record() -> dict[str, Any]:
    made: dict[str, Any] = {
        "compiler": f"NVRTC {nvrtc.version()}",
        "disassembler": f"nvdisasm {importlib.metadata.version('nvidia-cuda-nvdisasm')}",
        "architecture": f"sm_{ARCHITECTURE}",
        "kernels": {},
        "between_barriers": {},
    }
    kernels, inner = made["kernels"], made["between_barriers"]
    for name in ("by_lane", "by_warp"):
        kernels[name] = kernel(lesson("04b", "waves"), name)
    for axes in (0, 3):
        source = elementwise_source([Read("x", axes=axes)], ["y"], ["y = x"])
        kernels[f"elementwise, {axes} axes"] = kernel(source, "elementwise")
    for threads in THREADS:
        source = lesson("05b", "softmax").replace("__launch_bounds__(1024)", f"__launch_bounds__({threads})")
        kernels[f"softmax, {threads} threads"] = kernel(source, f"softmax<{1024 // threads}>")
    tiled = [("matmul_tiled", lesson("04c", "matmul_tiled")), ("fours", lesson("05c", "fours"))]
    tiled += [(f"registers, R = {r}", lesson("05c", "registers", f"R {r}")) for r in (1, 2, 4, 8)]
    for title, source in tiled:
        name = title.partition(",")[0]
        kernels[title] = kernel(source, name)
        cubin, _ = nvrtc.compile_cubin(source, ARCHITECTURE)
        inner[title] = between_barriers(instructions(cubin)[name])
    for name in ("matmul_64", "matmul_128"):
        kernels[name] = kernel(library("matmul"), name)
    source = library("rows")
    kernels["layer_norm_backward<8>, 1024 threads"] = kernel(source, "layer_norm_backward<8>")
    # As many numbers in a quarter of the threads: what the library does not do.
    source = source.replace("__launch_bounds__(1024)", "__launch_bounds__(256)")
    kernels["layer_norm_backward<32>, 256 threads"] = kernel(source, "layer_norm_backward<32>")
    return made


def main() -> None:
    without_options(__doc__)
    RESULTS.write_text(json.dumps(record(), indent=1) + "\n", encoding="utf-8")
    print(f"wrote {RESULTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
