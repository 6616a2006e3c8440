"""NVIDIA's own compiler takes the kernels of minilib.gpu, for GPUs from 2018 on."""

from __future__ import annotations

import re
from pathlib import Path

import nvrtc
import pytest
from gpu_cases import ELEMENTWISE

import minilib
from minilib.cuda import RawKernel
from minilib.gpu import elements, reductions, rows
from minilib.tensor import rand

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason=nvrtc.WHY_NOT)

FOLDER = Path(minilib.__file__).parent / "kernels"
NUMBERS = {"rows": rows.EACH, "reductions": (reductions.ADD, reductions.LARGEST, reductions.SMALLEST)}
_TEMPLATE = re.compile(r"template <int \w+> __global__ void (\w+)")


@pytest.mark.parametrize("architecture", [75, 80, 90])
@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.cu")), ids=lambda path: path.stem)
def test_nvrtc_compiles_a_file_of_kernels(file: Path, architecture: int) -> None:
    source = file.read_text(encoding="utf-8")
    names = [f"{name}<{n}>" for name in _TEMPLATE.findall(source) for n in NUMBERS[file.stem]]
    assert nvrtc.compile_ptx(source, architecture, names) is None


@pytest.fixture(scope="module")
def made() -> set[str]:
    """The sources of all kernels that are made of expressions, for arrays in order and for strided ones."""
    sources: set[str] = set()

    def collecting(source: str, name: str) -> RawKernel:
        sources.add(source)
        return RawKernel(source, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elements, "RawKernel", collecting)
        elements.elementwise_kernel.cache_clear()
        for function in ELEMENTWISE.values():
            count = function.__code__.co_argcount
            for view in (lambda x: x, lambda x: x.permute(2, 0, 1)[::2]):
                x = [rand(4, 5, 6, device="cuda", requires_grad=True) for _ in range(count)]
                function(*map(view, x)).sum().backward()
    elements.elementwise_kernel.cache_clear()
    return sources


@pytest.mark.filterwarnings("ignore:there is no GPU here")
@pytest.mark.parametrize("architecture", [75, 80, 90])
def test_nvrtc_compiles_what_is_made_of_expressions(made: set[str], architecture: int) -> None:
    assert len(made) > 2 * len(ELEMENTWISE)
    assert [source for source in sorted(made) if nvrtc.compile_ptx(source, architecture, [])] == []
