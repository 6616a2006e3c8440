"""Notebooks as the course's tools see them: read with clear errors, written with the same bytes each time."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import nbformat
from nbformat import NotebookNode

from coursekit.errors import CourseError
from coursekit.files import read_bytes, read_text, write_text

SOLUTION = ("### BEGIN SOLUTION", "### END SOLUTION")
CUDA_SOLUTION = ("// BEGIN SOLUTION", "// END SOLUTION")  # in a cell that begins with %%cuda
HIDDEN = ("### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS")
STUB = 'raise Unsolved("{}")'  # of coursekit.box.check
CUDA_STUB = "// your code here"
_STUB_LINE = re.compile(r"\s*(?://|###) STUB: ?(.*)")  # in a solution: what learners get in its place

N = TypeVar("N", bound=dict[str, Any])

_EXERCISE = re.compile(r"(?:#|//)\s*exercise:\s*(\d+\.\d+)\s*$")
_DIRECTIVE = re.compile(r"(?:#|//)\|\s*(\w+)\s*(.*?)\s*$")


def read(path: Path) -> NotebookNode:
    """The notebook at `path` as nbformat 4. Raises CourseError in one line for anything that is not one."""
    return from_text(read_text(path, otherwise="is not a notebook: it is not UTF-8 text"), path)


def from_text(text: str, path: Path) -> NotebookNode:
    """The notebook whose JSON is `text`; `path` is for the error message."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nbformat warns of what it mends
            notebook: NotebookNode = nbformat.reads(_with_ids(text), as_version=4)  # type: ignore[no-untyped-call]
        if not isinstance(notebook.cells, list):
            raise TypeError
        for cell in notebook.cells:
            if not isinstance(cell.source, str) or not isinstance(cell.cell_type, str):
                raise TypeError
    except Exception:
        raise CourseError(
            f"{path}: is not a notebook of nbformat 4; save it again from JupyterLab, or restore a good copy"
        ) from None
    return notebook


def _with_ids(text: str) -> str:
    """`text` with an id for each cell that lacks one: nbformat would draw them at random."""
    data = json.loads(text)
    if (data["nbformat"], data.get("nbformat_minor", 0)) < (4, 5):
        return text
    lacking = [(number, cell) for number, cell in enumerate(data["cells"], 1) if "id" not in cell]
    for number, cell in lacking:
        cell["id"] = f"cell-{number}"
    return json.dumps(data) if lacking else text


def write(path: Path, notebook: NotebookNode) -> None:
    """Write `notebook` at once or not at all."""
    write_text(path, as_text(notebook))


def as_text(notebook: NotebookNode) -> str:
    """The JSON text of `notebook`, as JupyterLab writes it."""
    return str(nbformat.writes(notebook, version=4)).rstrip("\n") + "\n"  # type: ignore[no-untyped-call]


def holds_the_same(original: Path, copy: Path) -> bool:
    """Whether a learner's copy holds what the original does. Which kernel ran it does not count."""
    texts = read_bytes(original), read_bytes(copy)
    if original.suffix != ".ipynb" or texts[0] == texts[1]:
        return texts[0] == texts[1]
    try:
        cells = [unanswered(json.loads(text))["cells"] for text in texts]
    except (ValueError, TypeError, KeyError, AttributeError):  # it is damaged
        return False
    return bool(cells[0] == cells[1])


def unanswered(notebook: N) -> N:
    """The lesson as its reader gets it: without the outputs of what they are asked to predict."""
    for cell in notebook["cells"]:
        if "predict" in cell["metadata"].get("tags", []) and "outputs" in cell:
            cell["outputs"], cell["execution_count"] = [], None
    return notebook


@dataclass(frozen=True)
class Cell:
    """One cell, with what the course's markers say about it."""

    notebook: Path
    number: int  # from 1, as a person counts cells
    node: NotebookNode

    @property
    def source(self) -> str:
        return str(self.node.source)

    @property
    def is_code(self) -> bool:
        return bool(self.node.cell_type == "code")

    @property
    def nbgrader(self) -> dict[str, Any]:
        """nbgrader's cell metadata, `{}` where there is none or it is damaged."""
        data = self.node.metadata.get("nbgrader", {})
        return dict(data) if isinstance(data, dict) else {}

    @property
    def grade_id(self) -> str | None:
        name = self.nbgrader.get("grade_id")
        return name if isinstance(name, str) else None

    @property
    def is_answer(self) -> bool:
        return self.is_code and bool(self.nbgrader.get("solution"))

    @property
    def is_hidden_test(self) -> bool:
        return self.is_code and HIDDEN[0] in self.source

    @property
    def points(self) -> float:
        return float(self.nbgrader.get("points", 0) or 0)

    @property
    def by_probe(self) -> bool:
        """Whether the values that a hidden test shows are independent, and earn points one by one."""
        return bool(self.node.metadata.get("coursekit", {}).get("by_probe"))

    @property
    def exercise(self) -> str | None:
        """`"1.4"` for a cell whose first line (after `%%cuda`) is `# exercise: 1.4` or `// exercise: 1.4`."""
        return exercise_of(self.source)

    def directives(self) -> Iterator[tuple[str, str]]:
        """The `#| name argument` lines at the top of the cell (`//|` in CUDA C), comments allowed."""
        if not self.is_code:
            return
        comment = "//" if cuda_line(self.source) else "#"
        for line in cuda_text(self.source).splitlines():
            if line.strip() and not line.lstrip().startswith(comment):
                return
            found = _DIRECTIVE.match(line.strip())
            if found:
                yield found[1], found[2]

    def directive(self, name: str) -> str | None:
        """The argument of the directive `name` (`""` when it has none), or None where it is absent."""
        return next((argument for found, argument in self.directives() if found == name), None)

    def where(self, line: int | None = None) -> str:
        """`chapters/01_scalar.ipynb, cell 7, line 3`, for error messages."""
        return f"{self.notebook}, cell {self.number}" + (f", line {line}" if line else "")


def cells(path: Path, notebook: NotebookNode) -> list[Cell]:
    return [Cell(path, number, node) for number, node in enumerate(notebook.cells, 1)]


def locked_cell(source: str, name: str) -> NotebookNode:
    """A code cell with the id `name` that nbgrader knows, and that earns nothing."""
    flags = {"grade": False, "solution": False, "task": False, "points": 0, "schema_version": 3}
    about = {"nbgrader": {**flags, "grade_id": name, "locked": True}}
    made: NotebookNode = nbformat.v4.new_code_cell(source, id=name, metadata=about)  # type: ignore[no-untyped-call]
    return made


def cuda_line(source: str) -> str | None:
    """The line `%%cuda NAME` of a cell that holds CUDA C, None for Python."""
    first, _, _ = source.lstrip().partition("\n")
    return first.strip() if re.match(r"%%cuda\b", first) else None


def cuda_text(source: str) -> str:
    """The CUDA C of a cell, without its `%%cuda` line where it has one."""
    return source.lstrip().partition("\n")[2] if cuda_line(source) else source


def first_comments(source: str) -> Iterator[str]:
    """The comments that a cell begins with, after `%%cuda` and other magics: each a line."""
    for line in cuda_text(source).split("\n"):
        if (text := line.strip()) and not text.startswith(("%", "!")):
            if not text.startswith(("#", "//")):
                return
            yield text


def exercise_of(source: str) -> str | None:
    """The number of the exercise that the first line of a cell names, or a comment right below it."""
    found = next(filter(None, map(_EXERCISE.match, first_comments(source))), None)
    return found[1] if found else None


def solution_markers(source: str) -> tuple[str, str]:
    """What encloses the answer in a cell of this language."""
    return CUDA_SOLUTION if cuda_line(source) else SOLUTION


def stubbed(source: str) -> str:
    """An answer cell as learners get it."""
    stub = CUDA_STUB if cuda_line(source) else STUB.format(exercise_of(source) or "this exercise")
    return cut(source, solution_markers(source), stub)


def cut(source: str, markers: tuple[str, str], replacement: str = "") -> str:
    """`source` with each region between the two marker lines replaced, indented as its marker was.

    Lines `// STUB: text` in a region say what replaces it; one without text: the region leaves no trace.
    """
    lines: list[str] = []
    inside = False
    for line in source.split("\n"):
        if line.strip() == markers[0]:
            inside, indent, told = True, line[: len(line) - len(line.lstrip())], list[str]()
        elif line.strip() == markers[1]:
            inside = False
            lines += [indent + text for text in told or [replacement] if text]
        elif not inside:
            lines.append(line)
        elif found := _STUB_LINE.match(line):
            told.append(found[1])
    return "\n".join(lines)


def strip_markers(source: str, markers: tuple[str, str]) -> str:
    """`source` without the two marker lines and STUB lines, the text between them kept."""
    lines = source.split("\n")
    return "\n".join(line for line in lines if line.strip() not in markers and not _STUB_LINE.match(line))
