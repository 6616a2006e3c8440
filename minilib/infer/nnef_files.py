"""NNEF, both ways: a model as text that people read, `graph.nnef`, and a file of numbers for each variable.

    version 1.0;
    graph network(x) -> (y) {
        x = external(shape = [1, 8]);
        w = variable(shape = [4, 8], label = 'w');
        y = linear(x, w, 0.5);
    }

Flat files are read and written: names, numbers and calls, no arithmetic and no fragments of one's own. Sizes
that are symbols are not in the standard: tract's extension tells them. (Khronos, "Neural Network Exchange
Format", 1.0.5)
"""

from __future__ import annotations

import ast
import io
import math
import re
import struct
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from minilib.infer.model import MOST_BYTES, Graph, ModelError, path_of
from minilib.infer.nnef_read import Reader
from minilib.infer.nnef_write import written

__all__ = ["load", "save"]

# Of a file of numbers: magic and version, bytes of data, rank, sizes, bits and type of a number.
HEADER = struct.Struct("<4s2I8I2I76x")
MAGIC = b"\x4e\xef\x01\x00"
TYPES = dict(enumerate("fuuiib"))  # the third and fourth are quantised ones, which tract calls its int64

# Text: names and calls are written as in Python, whose parser reads them


WHOLE = re.compile(
    r"\s*version\s+1\.\d+\s*;(?P<before>.*?)\bgraph\s+\w+\s*"
    r"\((?P<inputs>[\w\s,]*)\)\s*->\s*\((?P<outputs>[\w\s,]*)\)\s*\{(?P<body>.*)\}\s*", re.DOTALL
)  # fmt: skip
TEXT = r"'[^'\n]*'|\"[^\"\n]*\""
NAMES = re.compile(rf"({TEXT}|\d[\w.]*)|([A-Za-z_]\w*)(?:\s*<\s*(\w+)\s*>)?")


def parse(text: str) -> tuple[list[str], list[str], Iterator[tuple[int, ast.Assign]]]:
    """Names of inputs and outputs, then each line's number and assignment. Names begin with _ there."""
    text = re.sub(rf"({TEXT})|#[^\n]*", r"\1", text)
    whole = WHOLE.fullmatch(text)
    if whole is None:
        raise ModelError("graph.nnef does not read version 1.0; graph NAME(INPUTS) -> (OUTPUTS) { ... }")
    own = set(re.findall(r"\bfragment\s+(\w+)", whole["before"])) - {"tract_core_properties"}
    if own:
        raise ModelError(f"it defines the fragment {min(own)!r}; only flat graphs are read")
    return whole["inputs"].split(","), whole["outputs"].split(","), statements(text, *whole.span("body"))


def statements(text: str, start: int, end: int) -> Iterator[tuple[int, ast.Assign]]:
    for found in re.compile(rf"(?:{TEXT}|[^;'\"\s]|\s(?!\s*\Z))+").finditer(text, start, end):
        code = NAMES.sub(lambda one: one[1] or f"_{one[2]}" + (f"._{one[3]}" if one[3] else ""), found[0])
        code = " ".join(code.split("\n")).strip()
        line = text.count("\n", 0, found.end() - len(found[0].lstrip())) + 1
        try:
            made = ast.parse(code).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            made = []
        if len(made) != 1 or not isinstance(made[0], ast.Assign) or len(made[0].targets) != 1:
            raise ModelError(f"line {line}: {found[0].strip()[:60]!r} is no NAME = OPERATION(...)")
        yield line, made[0]


# Files


def load(path: str | Path) -> Graph:
    """The graph of a folder, a .tar or a .tgz. Raises ModelError for all that is wrong with it."""
    path = path_of(path)
    try:
        fetch = folder(path) if path.is_dir() else archive(path)
        try:
            text = fetch("graph.nnef").decode()
        except UnicodeDecodeError:
            raise ModelError("graph.nnef is not written in UTF-8") from None
        return Reader(lambda label: array_of(fetch(f"{label}.dat"), label)).graph(*parse(text))
    except ModelError as error:
        raise ModelError(f"{path.name}: {error}") from None
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from None


def folder(path: Path) -> Callable[[str], bytes]:
    """What gives the bytes of a file in a folder."""

    def fetch(name: str) -> bytes:
        place = (path / name.lstrip("/")).resolve()  # follows links
        if not place.is_relative_to(path.resolve()):
            raise ModelError(f"{name!r} lies outside of the model's folder")
        if not place.is_file():
            raise ModelError(f"there is no file {name!r} in it")
        return within(place.stat().st_size, name, place.read_bytes)

    return fetch


def archive(path: Path) -> Callable[[str], bytes]:
    """What gives the bytes of a file in a .tar or .tgz."""
    found, total = {}, 0
    try:
        with tarfile.open(path) as files:
            for one in files:
                if file := files.extractfile(one) if one.isfile() else None:
                    total += one.size  # of all: they are in memory together
                    found[str(Path(one.name)).lstrip("/")] = within(total, one.name, file.read)
    except (tarfile.TarError, EOFError, zlib.error):
        raise ModelError("it is no .tar or .tgz, or not whole") from None

    def fetch(name: str) -> bytes:
        if (key := str(Path(name)).lstrip("/")) not in found:
            raise ModelError(f"there is no file {name!r} in it")
        return found[key]

    return fetch


def within(size: int, name: str, read: Callable[[], bytes]) -> bytes:
    if size > MOST_BYTES:
        raise ModelError(f"with {name!r} there are {size:,} bytes; up to {MOST_BYTES:,} are read")
    return read()


def array_of(data: bytes, name: str) -> Any:
    """The array in a .dat file."""
    if len(data) < HEADER.size or data[:4] != MAGIC:
        raise ModelError(f"{name!r} is no file of numbers of NNEF 1.0")
    _, length, rank, *sizes, bits, kind = HEADER.unpack(data[: HEADER.size])
    shape, body = tuple(sizes[:rank]), data[HEADER.size :]
    if rank > 8 or kind not in TYPES or bits not in ((1, 8) if kind == 5 else (8, 16, 32, 64)):
        raise ModelError(f"{name!r} has numbers of {bits} bits and type {kind}, and {rank} axes: not read")
    count = math.prod(shape)
    if length != len(body) or len(body) != (count * bits + 7) // 8:
        raise ModelError(f"{name!r} has {len(body)} bytes for an array of {shape} of {bits} bits each")
    if bits == 1:
        return np.unpackbits(np.frombuffer(body, np.uint8), count=count).astype(bool).reshape(shape)
    dtype = np.dtype("?" if kind == 5 else f"<{TYPES[kind]}{bits // 8}")
    if dtype == np.float16:
        raise ModelError(f"{name!r} has numbers of 16 bits; 32 and 64 are read")
    return np.frombuffer(body, dtype).reshape(shape)


def bytes_of(array: Any) -> bytes:
    """The .dat file of an array."""
    bits, kind = array.dtype.itemsize * 8, {"f": 0, "u": 1, "i": 4, "b": 5}[array.dtype.kind]
    body = array.tobytes()
    if kind == 5:
        bits, body = 1, np.packbits(array).tobytes()
    if array.ndim > 8 or max(array.shape, default=0) >= 2**32:
        raise ModelError(f"an array of the shape {array.shape} does not fit into a file of NNEF")
    sizes = [*array.shape, *[0] * (8 - array.ndim)]
    return HEADER.pack(MAGIC, len(body), array.ndim, *sizes, bits, kind) + body


def save(graph: Graph, path: str | Path, form: str = "", symbols: bool = True) -> None:
    """Writes a graph into a new folder, or as a tar ("w") or a compressed one ("w:gz").

    Raises ModelError where NNEF cannot say it, all operators at once; also for symbols if they may not be.
    """
    text, arrays = written(graph, symbols)
    files = {"graph.nnef": text.encode(), **{f"{name}.dat": bytes_of(one) for name, one in arrays.items()}}
    path = path_of(path)
    try:
        if form:
            with tarfile.open(path, form) as archive:  # type: ignore[call-overload]
                for name, data in files.items():
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
            return
        path.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (path / name).write_bytes(data)
    except OSError as error:
        raise ModelError(f"{path} cannot be written: {error.strerror}") from None
