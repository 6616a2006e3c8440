"""CUDA C compiled as C++ and run with threads as fibers: what `warplens` is compared with.

It shares no code with the simulator. The source is compiled by the system's g++ under
`cuda_on_fibers.h`; of CUDA C that C++ does not know, the header defines the words, and here
`extern __shared__` is rewritten. Libraries are kept in a temporary folder, by the hash of what made them.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

HEADER = Path(__file__).with_name("cuda_on_fibers.h")
# Without optimisation: the kernels run for milliseconds, and g++ takes half of the time.
FLAGS = ("-O0", "-std=c++17", "-fno-strict-aliasing", "-ffp-contract=off", "-U_FORTIFY_SOURCE", "-w")
FLAGS_IF_KNOWN = ("-ftrivial-auto-var-init=pattern",)  # poisons locals, from GCC 12 on
SCHEDULES = ("forward", "reverse", "random")
GUARD = 256  # bytes on both sides of an array; whoever writes there is caught
GUARD_BYTE = 0xA5


class OracleError(RuntimeError):
    """The kernel does not compile, cannot go on, or writes outside its arrays."""


# ---------------------------------------------------------------------------------------------------- compile


@functools.cache
def compiler() -> str | None:
    """The path of g++, or None."""
    return shutil.which(os.environ.get("CXX_ORACLE", "g++"))


@functools.cache
def why_not() -> str | None:
    """Why nothing can be compiled here; None: it can."""
    if os.name != "posix" or not os.uname().sysname.startswith("Linux"):
        return "the oracle needs Linux"
    if compiler() is None:
        return "no g++ on this machine"
    try:
        Library([('extern "C" __global__ void nothing() {}', ["nothing"])])
    except OracleError as error:
        return f"g++ cannot compile the oracle's header: {str(error)[:200]}"
    return None


@functools.cache
def flags() -> tuple[str, ...]:
    def known(flag: str) -> bool:
        command = [compiler() or "g++", flag, "-Werror", "-x", "c++", "-E", "-o", os.devnull, os.devnull]
        return subprocess.run(command, capture_output=True).returncode == 0

    return FLAGS + tuple(filter(known, FLAGS_IF_KNOWN))


@functools.cache
def cache_folder() -> Path:
    """A folder that belongs to this user alone."""
    folder = Path(tempfile.gettempdir()) / f"warplens-oracle-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return Path(tempfile.mkdtemp(prefix="warplens-oracle-"))
    return folder


def as_cpp(source: str) -> str:
    """`extern __shared__ float tile[];` as a pointer to the launch's memory, without the includes; a loop
    without a body lets others go on, for which it may wait."""
    source = re.sub(r"#include\s*[<\"](cuda_[fb][pf]16|cooperative_groups(/\w+)?).h[>\"]", "", source)
    source = re.sub(r"^(\s*while \(.*\)) \{\}$", r"\1 fibers::pause();", source, flags=re.MULTILINE)
    source = source.replace('extern "C"', "")  # in which kernels of two sources would be one
    pattern = r"extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w\s]+?)\s*\b(\w+)\s*\[\s*\]\s*;"
    return re.sub(pattern, r"\1 *const \2 = (\1 *)fibers::dynamic_shared;", source)


def program(units: Sequence[tuple[str, Sequence[str]]]) -> str:
    """The whole C++ text: each source in a namespace of its own, then a launcher for each of its kernels."""
    text = [f'#include "{HEADER}"']
    number = 0
    for at, (source, kernels) in enumerate(units):
        # Internal linkage, so that the shared variables of templates can stand in the section of the others.
        cpp = re.sub(r"(?<![\w>:])::(?=\w)", f"unit{at}::", as_cpp(source))  # ::name, of the whole source
        text += [f"namespace {{ namespace unit{at} {{", f'#line 1 "unit{at}.cu"', cpp, "}}"]
        for kernel in (f"unit{at}::{name}" for name in kernels):
            text.append(
                f'extern "C" size_t parameters_{number} = fibers::count_parameters(&{kernel});\n'
                f'extern "C" int launch_{number}(const unsigned *size, int schedule, double seconds, '
                "char *message, const fibers::Argument *arguments) {\n"
                "    fibers::arguments = arguments;\n"
                "    return fibers::run_grid(size, schedule, seconds, message,\n"
                f"                            [] {{ fibers::call(&{kernel}); }});"
                "\n}"
            )
            number += 1
        text += [f"#undef {name}" for name in re.findall(r"^\s*#\s*define\s+(\w+)", source, re.MULTILINE)]
    return "\n".join(text) + "\n"


def build(text: str) -> Path:
    """The shared library made from a C++ text."""
    made_of = "\0".join([text, HEADER.read_text(), *flags()])
    library = cache_folder() / f"{hashlib.sha256(made_of.encode()).hexdigest()[:32]}.so"
    if library.exists():
        return library
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        source, made = Path(folder) / "kernels.cpp", Path(folder) / "kernels.so"
        source.write_text(text)
        command = [compiler() or "g++", *flags(), "-fPIC", "-shared", "-o", str(made), str(source), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            raise OracleError("g++: " + "\n".join(errors[:5] or [done.stderr[-500:]]))
        made.replace(library)
    return library


# -------------------------------------------------------------------------------------------------------- run


class Library:
    """Several sources in one compilation: `units` are (source, names of kernels).

    A name may have template arguments: "copy<float, 32>". `kernels` has those of each source; where a name is
    in one of them alone, `library[name]` is its kernel.
    """

    def __init__(self, units: Sequence[tuple[str, Sequence[str]]]) -> None:
        self._library = ctypes.CDLL(str(build(program(units))))
        number = count()
        self.kernels = [
            {name: Kernel(self._library, next(number), name) for name in names} for _, names in units
        ]

    def __getitem__(self, name: str) -> Kernel:
        [kernel] = (kernels[name] for kernels in self.kernels if name in kernels)
        return kernel


@dataclass(frozen=True)
class Kernel:
    library: ctypes.CDLL
    number: int
    name: str

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Sequence[Any],
        shared_mem: int = 0,
        schedule: str = "forward",
        seconds: float = 20.0,
    ) -> list[np.ndarray | None]:
        """Run it on copies of `args`; the arrays afterwards, None for scalars.

        Raises OracleError where threads cannot go on, disagree on a barrier or mask, write just outside an
        array, or run for longer than `seconds`.
        """
        count = ctypes.c_size_t.in_dll(self.library, f"parameters_{self.number}").value
        if count != len(args):
            raise OracleError(f"{self.name} has {count} parameters, got {len(args)} arguments")
        copies = [Guarded(a) if isinstance(a, np.ndarray) else None for a in args]
        values = (ctypes.c_uint64 * max(1, len(args)))(*map(argument_bits, args, copies))
        size = (ctypes.c_uint * 6)(*(*grid, 1, 1)[:3], *(*block, 1, 1)[:3])
        message = ctypes.create_string_buffer(1024)
        launch = getattr(self.library, f"launch_{self.number}")
        if launch(size, SCHEDULES.index(schedule), ctypes.c_double(seconds), message, values):
            raise OracleError(f"{self.name}: {message.value.decode()}")
        for i, copy in enumerate(copies):
            if copy is not None and not copy.intact():
                raise OracleError(f"{self.name}: writes outside the array of argument {i}")
        return [None if copy is None else copy.array for copy in copies]

    @property
    def printed(self) -> str:
        """What the last run of any kernel of the library has printed, in the order of its threads."""
        text = self.library.printed_text
        text.restype = ctypes.c_char_p
        return str(text().decode())


class Guarded:
    """A copy of an array between two stretches of bytes that nobody may change."""

    def __init__(self, original: np.ndarray) -> None:
        self._bytes = np.full(original.nbytes + 2 * GUARD + 512, GUARD_BYTE, np.uint8)
        self._start = GUARD + -(self._bytes.ctypes.data + GUARD) % 256
        self._end = self._start + original.nbytes
        self.array = self._bytes[self._start : self._end].view(original.dtype).reshape(original.shape)
        self.array[...] = original

    def intact(self) -> bool:
        outside = np.concatenate([self._bytes[: self._start], self._bytes[self._end :]])
        return bool((outside == GUARD_BYTE).all())


def argument_bits(value: Any, copy: Guarded | None) -> int:
    """The 64 bits that the launcher expects: an address, an integer, or a double."""
    if copy is not None:
        return int(copy.array.ctypes.data)
    if isinstance(value, float | np.floating):
        return int(np.float64(value).view(np.uint64))
    return int(value) & (2**64 - 1)


@functools.cache
def load(source: str, kernel: str) -> Kernel:
    """One kernel of one source."""
    return Library([(source, [kernel])])[kernel]
