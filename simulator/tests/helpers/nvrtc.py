"""NVIDIA's runtime compiler through ctypes. It needs no GPU: `pip install nvidia-cuda-nvrtc-cu12`, and for
cuda_fp16.h nvidia-cuda-runtime-cu12; or name the folder of such an installation in WARPLENS_NVRTC."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

LIBRARY = "libnvrtc.so.12"
OF_C = Path(__file__).parents[2] / "warplens" / "headers"  # what a GPU's NVRTC is given as well
CRASHED = "NVRTC crashed"


def folders(package: str, folder: str) -> list[Path]:
    """Where that folder of a package may stand."""
    found = []
    if named := os.environ.get("WARPLENS_NVRTC"):
        found += [Path(named), Path(named) / "nvidia" / package / folder, Path(named) / folder]
    try:
        spec = importlib.util.find_spec(f"nvidia.{package}")
    except ModuleNotFoundError:
        spec = None
    for place in (spec.submodule_search_locations or []) if spec else []:
        found.append(Path(place) / folder)
    return found


@functools.cache
def headers() -> Path | None:
    """The folder of cuda_fp16.h, or None where it is missing."""
    places = folders("cuda_runtime", "include")
    return next((place for place in places if (place / "cuda_fp16.h").exists()), None)


@functools.cache
def of_cccl() -> Path | None:
    """The folder of the headers that cooperative groups need, or None: pip install nvidia-cuda-cccl-cu12."""
    places = folders("cuda_cccl", "include")
    return next((place for place in places if (place / "cuda" / "std" / "type_traits").exists()), None)


@functools.cache
def library() -> ctypes.CDLL | None:
    """The library, or None where it is missing."""
    for folder in folders("cuda_nvrtc", "lib"):
        if (folder / LIBRARY).exists():
            try:
                return ctypes.CDLL(str(folder / LIBRARY))
            except OSError:
                continue
    return None


WHY_NOT = "NVRTC is missing: pip install nvidia-cuda-nvrtc-cu12, or set WARPLENS_NVRTC to its folder"


def compile_ptx(
    source: str, architecture: int = 75, name_expressions: Sequence[str] = (), options: Sequence[str] = ()
) -> str | None:
    """None where NVRTC accepts the source, else its log."""
    nvrtc = library()
    assert nvrtc is not None
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    try:
        for expression in name_expressions:
            nvrtc.nvrtcAddNameExpression(program, expression.encode())
        flags = ["--std=c++17", f"--gpu-architecture=compute_{architecture}", *options]
        if place := headers():
            flags.append(f"--include-path={place}")
        flags += [f"--include-path={place}" for place in (OF_C, of_cccl()) if place]
        array = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
        if nvrtc.nvrtcCompileProgram(program, len(flags), array) == 0:
            return None
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        return log.value.decode()
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


class Apart:
    """NVRTC in a process of its own: some sources that are wrong make it crash."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool:
            self._pool.shutdown()

    def compile_ptx(
        self, source: str, architecture: int, name_expressions: Sequence[str], options: Sequence[str] = ()
    ) -> str | None:
        """As `compile_ptx`; CRASHED where that ended the process."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        try:
            return self._pool.submit(compile_ptx, source, architecture, name_expressions, options).result()
        except BrokenProcessPool:
            self._pool = None
            return CRASHED
