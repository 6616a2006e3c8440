"""Run a notebook whole, and keep of its old outputs what differs in nothing that matters."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from coursekit import needs
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.make.definitions import SourceError
from coursekit.notebooks import Cell, cells
from coursekit.sockets import own_socket

CELL_TIMEOUT = 600
IGNORED = "nbval-ignore-output"  # the tag of a cell whose output differs from run to run
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def executed(notebook: NotebookNode, path: Path, course: Course) -> NotebookNode:
    """A copy of `notebook`, run in the folder of `path`. Raises CourseError with the cell and its line.

    What hidden tests show is not kept: grading runs the reference again, and nobody reads those numbers.
    Cells that need what is missing here keep the output that they have; one that has none is refused.
    """
    made = copy.deepcopy(notebook)
    shown = path.relative_to(course.root)
    left = _left_out(made, shown)
    try:
        _execute(made, path.parent, course)
    except (CellExecutionError, CellTimeoutError):
        raise _error(made, shown) from None
    except DeadKernelError:
        raise CourseError(f"{shown}: its kernel died; is there memory enough?") from None
    if left:
        _count_again(made)
    made.metadata = copy.deepcopy(notebook.metadata)  # as it was: the version of this Python is no news
    for cell in cells(path, made):
        if cell.is_hidden_test:
            cell.node.outputs, cell.node.execution_count = [], None
        elif cell.is_code:
            cell.node.outputs = joined(cell.node.outputs)
    return made


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Outputs whose printed text is in one piece; the kernel sends it in as many as the clock wants."""
    made: list[NotebookNode] = []
    for output in outputs:
        if made and output.output_type == "stream" == made[-1].output_type and output.name == made[-1].name:
            made[-1].text += output.text
        else:
            made.append(output)
    return made


def _left_out(notebook: NotebookNode, path: Path) -> bool:
    """Whether cells are left out for want of what they need. Raises CourseError for one without an output."""
    if gone := needs.missing(needs.of_notebook(notebook)):
        raise CourseError(f"{path}: its code changed, and it runs only where there is {gone}")
    found = [cell for cell in cells(path, notebook) if needs.missing(needs.of_cell(cell.node))]
    for cell in found:
        if cell.node.execution_count is None:
            raise SourceError(
                cell, None, f"is new or changed, and runs only where there is {needs.missing(['torch'])}"
            )
    return bool(found)


def _count_again(notebook: NotebookNode) -> None:
    """Number the cells that have run in their order, as if none had been left out."""
    ran = [cell for cell in notebook.cells if cell.get("execution_count") is not None]
    for number, cell in enumerate(ran, 1):
        cell.execution_count = number
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number


def _execute(notebook: NotebookNode, folder: Path, course: Course) -> None:
    """Run the cells, in a thread: in the main one nbclient would take Ctrl-C for itself."""
    kernel = AsyncKernelManager(kernel_name="python3", **own_socket())
    client = NotebookClient(
        notebook,
        kernel,
        timeout=CELL_TIMEOUT,
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
        skip_cells_with_tag=needs.CELL_TAG if needs.missing([needs.CELL_TAG]) else "",
    )
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(client.execute, env=environment(course), cleanup_kc=True)
        try:
            while not running.done():  # by the second: a Ctrl-C that another thread has caught wakes nobody
                wait([running], timeout=1)
            running.result()
        except KeyboardInterrupt:
            process = getattr(kernel.provisioner, "process", None)
            if process is not None:
                process.kill()  # which ends the thread
            raise


def environment(course: Course) -> dict[str, str]:
    """For the kernel: this course's packages, and kernels of CUDA C simulated unless told otherwise."""
    above = os.environ.get("PYTHONPATH")
    path = os.pathsep.join(filter(None, [str(course.root), above]))
    return {"MINILIB_CUDA": "simulate", **os.environ, "PYTHONPATH": path}


def _error(notebook: NotebookNode, path: Path) -> CourseError:
    """What stopped the run: the error of a cell, or the time."""
    for cell in cells(path, notebook):
        for output in cell.node.get("outputs", ()):
            if output.output_type == "error":
                what = f"{output.ename}: {_COLOUR.sub('', output.evalue)}".strip().partition("\n")[0]
                return SourceError(cell, _line(output), what)
    waiting = [cell for cell in cells(path, notebook) if cell.is_code and cell.node.execution_count is None]
    what = f"took longer than {CELL_TIMEOUT} seconds"
    return SourceError(waiting[0], None, what) if waiting else CourseError(f"{path}: {what}")


def _line(error: Mapping[str, Any]) -> int | None:
    """The line of the failing cell itself, which stands first in IPython's traceback."""
    text = _COLOUR.sub("", "\n".join(error["traceback"]))
    found = re.search(r"(?:Cell In\[\d+\], line |<ipython-input[^>]*>, line )(\d+)", text)
    return int(found[1]) if found else None


def keep_outputs(ran: NotebookNode, kept: Mapping[int, NotebookNode]) -> None:
    """Give cells of `ran` the outputs of `kept`, the same cells before by their positions.

    Those whose output differs from run to run keep it, and those above the first change where only pictures
    or addresses differ.
    """
    above = True
    for position, cell in enumerate(ran.cells):
        if cell.cell_type != "code":
            continue
        old = kept.get(position)
        above = above and old is not None
        if old is None or old.execution_count is None:
            continue
        if IGNORED in cell.metadata.get("tags", ()) or (above and _essence(old) == _essence(cell)):
            cell.outputs = copy.deepcopy(old.outputs)
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = cell.execution_count


def _essence(cell: NotebookNode) -> list[Any]:
    """The outputs without pictures, counts and addresses."""
    return [
        (
            output.output_type,
            output.get("name"),
            _ADDRESS.sub("0x", str(output.get("text", ""))),
            {
                kind: _ADDRESS.sub("0x", str(text)) if kind.startswith("text/") else None
                for kind, text in output.get("data", {}).items()
            },
        )
        for output in cell.outputs
    ]


def at_cell(text: str, cell: Cell, line: int | None) -> int | None:
    """The line of the text form `text` at which a line of a code cell stands; None if that is unclear."""
    if not cell.is_code or not cell.source.strip() or text.count(cell.source) != 1:
        return None
    return text[: text.index(cell.source)].count("\n") + (line or 1)
