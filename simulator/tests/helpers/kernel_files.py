"""Reads the kernels of tests/kernels: .cu files in which each kernel stands below what is expected of it.

    // bug: reduction without the barrier in its loop
    // launch: <<<1, 128>>> x:f32[128]=1..128 out:f32[128]
    // expect: races shared array=s

`launch` says grid, block and bytes of dynamic shared memory as CUDA does, then the arguments: an array
`name:type[size]=values` holds the values from one to another (`1..128`) or those listed (`0,1,2`) over and
over, zeros where nothing is said, and is as cp.empty makes it if it is `empty`; `n=64` is a Python int. Of
`bug` and `endless` the wrong line ends in `// BUG`, of a race the other one in `// OTHER`.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from warplens import cp

FOLDER = Path(__file__).parents[1] / "kernels"
KINDS = ("bug", "endless", "correct", "snippet", "accepted", "refused")
WHOLE_FILE = (FOLDER / "whole_file.cu").read_text()  # kernels among host code, as people write them
FOLDERS = ("bugs", "correct", "snippets", "accepted", "refused")
TYPES = {"f32": np.float32, "i32": np.int32, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8}
EXPECTED: dict[str, Callable[[str], Any]] = {
    "array": str,
    "index": int,
    "at": literal_eval,
    "count": int,
    "also": lambda names: tuple(names.split(",")),
}
Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Empty:
    """An array as cp.empty makes it."""

    size: int
    dtype: Any = np.float32


@dataclass(frozen=True)
class Example:
    """One kernel, called `k`. Of a bug, `section` of the report has a finding of kind `finding` on the marked
    line; `array`, `index`, `at` (block and thread) and `count` are checked where they are given, and `also`
    are sections that may have findings too. Of a correct kernel, `same_value` and `note` (its kind) say that
    the report shows these and is `ok` nevertheless. Of a refused one, `name` has key words of the message."""

    kind: str
    name: str
    source: str
    where: str
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    shared_mem: int = 0
    arguments: tuple[str, ...] = ()
    section: str = ""
    finding: str = ""
    array: str | None = None
    index: int | None = None
    at: tuple[Triple, Triple] | None = None
    count: int | None = None
    also: tuple[str, ...] = ()
    same_value: bool = False
    note: str = ""

    @property
    def id(self) -> str:
        return self.name.replace(" ", "-") if self.kind not in ("accepted", "refused") else self.where

    @property
    def line(self) -> int:
        return self._marked("// BUG") or 0

    @property
    def other_line(self) -> int:
        return self._marked("// OTHER") or self.line

    def _marked(self, mark: str) -> int | None:
        found = [i for i, text in enumerate(self.source.splitlines(), 1) if text.endswith(mark)]
        assert len(found) <= 1, f"{self.where}: {mark} stands on {len(found)} lines"
        return found[0] if found else None

    def args(self) -> list[Any]:
        """New arguments: NumPy arrays, `Empty`, and scalars."""
        return [argument(text) for text in self.arguments]

    def host_args(self) -> list[Any]:
        return [np.zeros(v.size, v.dtype) if isinstance(v, Empty) else v for v in self.args()]

    def device_args(self) -> list[Any]:
        return [on_device(value) for value in self.args()]


def on_device(value: Any) -> Any:
    if isinstance(value, Empty):
        return cp.empty(value.size, dtype=value.dtype)
    return cp.asarray(value) if isinstance(value, np.ndarray) else value


def argument(text: str) -> Any:
    """What `x:f32[64]=1..64` or `n=64` stands for."""
    if scalar := re.fullmatch(r"\w+=(-?\d+)", text):
        return int(scalar[1])
    array = re.fullmatch(r"\w+:(\w+)\[(\d+)\](?:=(\S+))?", text)
    if not array or array[1] not in (*TYPES, "bf16"):
        raise ValueError(f"no argument: {text!r}; say name:type[size]=values or name=integer")
    dtype, size, values = array[1], int(array[2]), array[3] or "0"
    if values == "empty":
        return Empty(size, TYPES[dtype])
    first, ramp, last = values.partition("..")
    step = 1 if not ramp or int(last) >= int(first) else -1
    numbers = range(int(first), int(last) + step, step) if ramp else [float(v) for v in values.split(",")]
    if ramp and len(numbers) != size:
        raise ValueError(f"{text!r}: {len(numbers)} values for {size} elements")
    filled = np.resize(np.array(numbers), size)
    if dtype == "bf16":  # as its bits
        return (filled.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return filled.astype(TYPES[dtype])


def _launch(text: str) -> dict[str, Any]:
    found = re.fullmatch(r"<<<(.+)>>>(.*)", text)
    if not found:
        raise ValueError(f"no launch: {text!r}; say <<<grid, block>>> and the arguments")
    grid, block, *shared_mem = literal_eval(f"({found[1]},)")
    arguments = tuple(found[2].split())
    for one in arguments:
        argument(one)
    one_or_more = (size if isinstance(size, tuple) else (size,) for size in (grid, block))
    names = ("grid", "block", "shared_mem")
    return {**dict(zip(names, (*one_or_more, *shared_mem))), "arguments": arguments}


def _expect(text: str) -> dict[str, Any]:
    if text == "same-value":
        return {"same_value": True}
    if text.startswith("note "):
        return {"note": text.split()[1]}
    words = text.split()
    given = dict(word.split("=", 1) for word in words[2:] if "=" in word)
    if len(words) != 2 + len(given) or not given.keys() <= EXPECTED.keys():
        raise ValueError(f"no expectation: {text!r}; say section, kind, then any of {', '.join(EXPECTED)}")
    return {"section": words[0], "finding": words[1]} | {k: EXPECTED[k](v) for k, v in given.items()}


def read(path: Path) -> list[Example]:
    """The kernels of one file; ValueError names the line of a directive that is wrong."""
    lines, found = path.read_text().splitlines(), []
    starts = [i for i, line in enumerate(lines) if re.match(rf"// ({'|'.join(KINDS)}):", line)]
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        kind, _, name = lines[start].removeprefix("// ").partition(":")
        fields: dict[str, Any] = {}
        first = start + 1
        while directive := re.match(r"// (\w+): (.*)", lines[first]):
            where = f"{path.stem}:{first + 1}"
            if directive[1] not in ("launch", "expect"):
                raise ValueError(f"{where}: no directive: {directive[1]!r}; launch or expect")
            try:
                fields |= (_launch if directive[1] == "launch" else _expect)(directive[2])
            except (ValueError, SyntaxError) as error:
                raise ValueError(f"{where}: {error}") from error
            first += 1
        source = "\n".join(lines[first:end]).rstrip() + "\n"
        found.append(Example(kind, name.strip(), source, f"{path.stem}:{start + 1}", **fields))
    if not starts:
        raise ValueError(f"{path.name}: no kernel; one begins with // {': or // '.join(KINDS)}:")
    return found


@cache
def examples(*kinds: str) -> list[Example]:
    """All kernels of these kinds, file by file."""
    files = [path for name in FOLDERS for path in sorted((FOLDER / name).glob("*.cu"))]
    return [one for path in files for one in read(path) if one.kind in kinds]
