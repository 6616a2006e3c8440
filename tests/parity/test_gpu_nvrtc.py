"""NVIDIA's own compiler takes the kernels of minilib.gpu, for GPUs from 2018 on."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import loop_cases
import nvrtc
import pytest
from gpu_cases import ELEMENTWISE

import minilib
from minilib.cuda import RawKernel, cp
from minilib.gpu import elements, loops, reductions, rows
from minilib.tensor import rand

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason=nvrtc.WHY_NOT)

FOLDER = Path(minilib.__file__).parent / "kernels"
NUMBERS = {"rows": rows.EACH, "reductions": (reductions.ADD, reductions.LARGEST, reductions.SMALLEST)}
_TEMPLATE = re.compile(r"template <int \w+> __global__ void (?:__launch_bounds__\(\d+\)\s+)?(\w+)")
REGISTERS = 65_536  # of a multiprocessor


def instances(file: Path) -> list[str]:
    names = _TEMPLATE.findall(file.read_text(encoding="utf-8"))
    return [f"{name}<{n}>" for name in names for n in NUMBERS[file.stem]]


def threads(kernel: str) -> int:
    """Of the largest block with which the library launches a kernel."""
    if any(name in kernel for name in _ROWS):
        return rows.MOST_THREADS
    return 128 if "matmul_64" in kernel else 256


_ROWS = _TEMPLATE.findall((FOLDER / "rows.cu").read_text(encoding="utf-8"))


@pytest.mark.parametrize("architecture", [75, 80, 90])
@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.cu")), ids=lambda path: path.stem)
def test_no_kernel_spills_and_a_block_of_each_finds_registers(file: Path, architecture: int) -> None:
    _, used = nvrtc.compile_cubin(file.read_text(encoding="utf-8"), architecture, instances(file))
    assert len(used) >= len(instances(file)) and used
    assert {name: one for name, one in used.items() if one.local} == {}
    # A multiprocessor hands out registers to warps by eights for a thread.
    too_many = {
        name: n for name, one in used.items() if (n := -(-one.registers // 8) * 8 * threads(name)) > REGISTERS
    }
    assert too_many == {}


@pytest.mark.parametrize("architecture", [75, 80, 90])
def test_rows_leave_half_of_the_warps_their_registers(architecture: int) -> None:
    file = FOLDER / "rows.cu"
    _, used = nvrtc.compile_cubin(file.read_text(encoding="utf-8"), architecture, instances(file))
    assert max(one.registers for one in used.values()) <= 64


def sources(of: Callable[[], None]) -> set[str]:
    """The sources of all kernels that are made of expressions while a function runs."""
    found: set[str] = set()

    def collecting(source: str, name: str) -> RawKernel:
        found.add(source)
        return RawKernel(source, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elements, "RawKernel", collecting)
        elements.elementwise_kernel.cache_clear()
        of()
    elements.elementwise_kernel.cache_clear()
    return found


def run_pairs() -> None:
    """Each pair on elements, for arrays in order and for strided ones."""
    for function in ELEMENTWISE.values():
        count = function.__code__.co_argcount
        for view in (lambda x: x, lambda x: x.permute(2, 0, 1)[::2]):
            x = [rand(4, 5, 6, device="cuda", requires_grad=True) for _ in range(count)]
            function(*map(view, x)).sum().backward()


def run_loops() -> None:
    rng = random.Random(1)
    drawn = [loop_cases.drawn(rng) for _ in range(20)]
    for plan in (loop_cases.gelu(), loop_cases.adamw(), loop_cases.gated_norm(), *drawn):
        for loop in plan.loops:
            loops.run(loop, *map(cp.asarray, loop_cases.inputs_of(loop)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("architecture", [75, 80, 90])
def test_nvrtc_compiles_what_is_made_of_expressions(architecture: int) -> None:
    for made, least in ((sources(run_pairs), 2 * len(ELEMENTWISE)), (sources(run_loops), 20)):
        assert len(made) > least
        assert [source for source in sorted(made) if nvrtc.compile_ptx(source, architecture, [])] == []
