"""The headers that a kernel may include: those of C (`warplens/headers`), which NVRTC lacks, some of CUDA."""

from __future__ import annotations

import functools
import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "headers"  # NVRTC gets it as one of its include paths
# Of CUDA; what they declare is built in.
EMPTY = {
    "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h", "vector_types.h",
    "vector_functions.h", "driver_types.h", "builtin_types.h", "device_types.h", "host_defines.h",
}  # fmt: skip
# So begin the names of those that CUDA has and the simulator has not.
OF_CUDA = (
    "cuda", "cooperative_groups", "mma.h", "curand", "cub/", "cuComplex.h", "nv/", "thrust/",
)  # fmt: skip


@functools.cache
def text(name: str) -> str | None:
    """What stands in a header, "" where all of it is built in; None where there is none of that name."""
    if name in EMPTY:
        return ""
    return _files()[name].read_text(encoding="utf-8") if name in _files() else None


@functools.cache
def _files() -> dict[str, Path]:
    found = sorted(path for path in FOLDER.rglob("*") if path.is_file())
    return {path.relative_to(FOLDER).as_posix(): path for path in found}


@functools.cache
def _names() -> dict[str, str]:
    """Every name that a header defines, and that header."""
    made: dict[str, str] = {}
    for header, path in _files().items():
        content = path.read_text(encoding="utf-8")
        for name in re.findall(r"^#define (\w+) .+|^typedef .*?(\w+);", content, re.MULTILINE):
            made.setdefault(name[0] or name[1], header)
    return made


def include_for(name: str) -> str:
    """The line that brings a name, "" where no header does."""
    return f"#include <{_names()[name]}>" if name in _names() else ""
