"""NVIDIA's runtime compiler through ctypes. It needs no GPU: `pip install nvidia-cuda-nvrtc-cu12`, and for
cuda_fp16.h nvidia-cuda-runtime-cu12; or name the folder of such an installation in WARPLENS_NVRTC."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import multiprocessing
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
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
    with _compiled(source, f"compute_{architecture}", name_expressions, options) as (program, error):
        return _text(program, "ProgramLog") if error else None


@dataclass(frozen=True)
class Used:
    """What a compiled kernel takes: registers of a thread, and its bytes of local memory."""

    registers: int
    local: int


def compile_cubin(
    source: str, architecture: int, name_expressions: Sequence[str] = (), options: Sequence[str] = ()
) -> tuple[bytes, dict[str, Used]]:
    """Machine code, and what each kernel takes, by its mangled name. Raises ValueError with NVRTC's log."""
    options = ["--ptxas-options=-v", *options]
    with _compiled(source, f"sm_{architecture}", name_expressions, options) as (program, error):
        log = _text(program, "ProgramLog")
        if error:
            raise ValueError(log)
        used = {name: Used(int(registers), int(local)) for name, local, registers in _USED.findall(log)}
        return _bytes(program, "CUBIN"), used


_USED = re.compile(r"entry function '(\w+)'(?:.*\n){2}.*?(\d+) bytes stack frame.*\n.*?Used (\d+) registers")


def version() -> str:
    """NVRTC's version, such as 12.9."""
    nvrtc, major, minor = library(), ctypes.c_int(), ctypes.c_int()
    assert nvrtc is not None
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


@contextmanager
def _compiled(
    source: str, architecture: str, name_expressions: Sequence[str], options: Sequence[str]
) -> Iterator[tuple[ctypes.c_void_p, int]]:
    """A program, and 0 where NVRTC accepts it."""
    nvrtc = library()
    assert nvrtc is not None
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    try:
        for expression in name_expressions:
            nvrtc.nvrtcAddNameExpression(program, expression.encode())
        flags = ["--std=c++17", f"--gpu-architecture={architecture}", *options]
        if place := headers():
            flags.append(f"--include-path={place}")
        flags += [f"--include-path={place}" for place in (OF_C, of_cccl()) if place]
        array = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
        yield program, nvrtc.nvrtcCompileProgram(program, len(flags), array)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _bytes(program: ctypes.c_void_p, what: str) -> bytes:
    nvrtc, size = library(), ctypes.c_size_t()
    assert nvrtc is not None
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    found = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, found)
    return found.raw


def _text(program: ctypes.c_void_p, what: str) -> str:
    return _bytes(program, what).rstrip(b"\0").decode()


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
