"""A file of CUDA C in the library: kernels and helpers are replaced by name where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from coursekit.make.definitions import SourceError, is_marker
from coursekit.notebooks import CUDA_SOLUTION, Cell, cuda_text

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[{};#\n]|[^{};#\n"\'/]+|/', re.S
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_NAME = re.compile(r"#\s*define\s+(\w+)|\b(?:struct|enum|union|using|namespace)\s+(\w+)|(\w+)\s*\(")
_ARRAY = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|;|$)")
_NOT_NAMES = {"__launch_bounds__", "__align__", "alignas"}


@dataclass
class Part:
    """A kernel, a helper, a constant or a line for the preprocessor, with the comments above it."""

    text: str
    cell: Cell | None = None

    @property
    def name(self) -> str:
        """What it is known by: its own name, or its text where it has none (`#include <...>`)."""
        code = _COMMENT.sub("", self.text).strip()
        for found in _NAME.finditer(code.partition("{")[0]):
            name = found[1] or found[2] or found[3]
            if name not in _NOT_NAMES:
                return name
        found_array = _ARRAY.search(code)
        return found_array[1] if found_array and not code.startswith("#") else code

    @property
    def is_kernel(self) -> bool:
        return "__global__" in _COMMENT.sub("", self.text).partition("{")[0]


@dataclass
class CudaFile:
    """The file `minilib/kernels/rows.cu`. What no cell exports is left as it stands."""

    name: str
    text: str = ""
    parts: list[Part] = field(init=False)

    def __post_init__(self) -> None:
        self.parts = [Part(text) for text in split(self.text)]

    @property
    def file(self) -> str:
        return f"minilib/{self.name}"

    def place(self, cell: Cell) -> None:
        """Put each definition of a `%%cuda` cell where its name stands; new helpers go above the kernels."""
        for text in split(code_of(cell)):
            part = Part(text, cell)
            known = next((number for number, other in enumerate(self.parts) if other.name == part.name), None)
            if known is not None and self.parts[known].cell is not None:
                other = self.parts[known].cell
                assert other is not None
                if self.parts[known].text != text:
                    raise SourceError(
                        cell,
                        None,
                        f"`{part.name}` is already defined in {other.where()}; keep one, or rename one",
                    )
            elif known is not None:
                self.parts[known] = part
            else:
                self.parts.insert(self._room(part), part)

    def _room(self, part: Part) -> int:
        if part.is_kernel:
            return len(self.parts)
        return next((number for number, other in enumerate(self.parts) if other.is_kernel), len(self.parts))

    def rendered(self) -> str:
        """The whole file: lines for the preprocessor stand together, everything else apart."""
        lines: list[str] = []
        for before, part in zip([None, *self.parts], self.parts):
            together = before is not None and all(one.text.startswith("#") for one in (before, part))
            lines += [] if before is None or together else [""]
            lines.append(part.text)
        return "\n".join(lines) + "\n"


def code_of(cell: Cell) -> str:
    """The CUDA C of a cell without directives, `// exercise:` lines and markers of solutions."""
    lines = cuda_text(cell.source).replace("\r\n", "\n").split("\n")
    return "\n".join(
        line
        for line in lines
        if line.strip() not in CUDA_SOLUTION and not is_marker(re.sub(r"^\s*//", "#", line))
    )


def split(text: str) -> Iterator[str]:
    """The definitions of a source, each with the comments above it."""
    part, depth, directive = "", 0, False
    for token in _TOKEN.findall(text):
        part += token
        if token == "#" and depth == 0 and not _COMMENT.sub("", part[:-1]).strip():
            directive = True
        elif token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
        ends = (
            token == "\n" and not part.endswith("\\\n") if directive else token in ("}", ";") and depth == 0
        )
        is_type = token == "}" and re.match(r"(struct|enum|union)\b", _COMMENT.sub("", part).strip())
        if ends and not is_type:
            yield part.strip("\n").rstrip()
            part, directive = "", False
    if part.strip():
        yield part.strip("\n").rstrip()
