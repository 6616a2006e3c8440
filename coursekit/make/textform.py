"""A notebook as text to edit, and back: ids, metadata and outputs stay with the cells that stay."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

import jupytext
from nbformat import NotebookNode

from coursekit.errors import CourseError

# `%%cuda` cells stand as they are; the notebook's own metadata never leaves it.
_FORM = {
    "extension": ".py",
    "format_name": "percent",
    "comment_magics": False,
    "notebook_metadata_filter": "-all",
}
_OF_THE_TEXT = "lines_to_next_cell"  # how jupytext remembers empty lines
_BROKEN = "incorrectly_encoded_metadata"
_ALIKE = 0.5  # how much of its text a changed cell keeps; with less it is another


@dataclass
class Merged:
    """What a text form makes of a notebook."""

    notebook: NotebookNode
    kept: dict[int, NotebookNode] = field(default_factory=dict)  # by position: cells with the same source
    changed: int = 0
    new: int = 0
    gone: int = 0
    is_moved: bool = False  # cells stand in another order
    is_marked: bool = False  # the metadata of a cell is another
    code_changed: bool = False  # something must run

    @property
    def is_same(self) -> bool:
        return not (self.changed or self.new or self.gone or self.is_moved or self.is_marked)

    def summary(self) -> str:
        """`2 cells changed, 1 new`."""
        parts = [f"{n} {word}" for n, word in ((self.new, "new"), (self.gone, "gone")) if n]
        if self.changed:
            parts.insert(0, f"{self.changed} cell{'s' * (self.changed > 1)} changed")
        if self.is_moved:
            parts.append("order changed")
        if self.is_marked:
            parts.append("metadata changed")
        return ", ".join(parts) or "nothing changed"


def as_percent(notebook: NotebookNode) -> str:
    """The text form (py:percent) of a notebook."""
    return str(jupytext.writes(copy.deepcopy(notebook), fmt=_FORM))


def merged(text: str, before: NotebookNode, path: Path) -> Merged:
    """The notebook `before` with the cells of `text`; `path` is the text's, for error messages.

    Raises CourseError for a text that has lost most of its cells, or cannot be read.
    """
    new, old = _cells(text, path), before.cells
    if len(new) * 2 < len(old):
        raise CourseError(
            f"{path}: holds {len(new)} of {len(old)} cells, nothing was changed; was it saved whole? "
            "Take out so many in several steps, if you mean it"
        )
    as_it_was = _cells(as_percent(before), path)
    origin = pairs(as_it_was, new)
    made = Merged(copy.copy(before), gone=len(old) - len(origin))
    made.notebook.cells = []
    for position, cell in enumerate(new):
        at = origin.get(position)
        if at is None:
            made.new += 1
        else:
            is_same = _key(cell) == _key(as_it_was[at])
            made.changed += not is_same
            made.is_marked |= cell.metadata != as_it_was[at].metadata
            cell = _brought(cell, old[at], as_it_was[at], is_same=is_same)
            if is_same:
                made.kept[position] = old[at]
        made.notebook.cells.append(cell)
    places = [origin[position] for position in sorted(origin)]
    made.is_moved = places != sorted(places)
    made.code_changed = _code(old) != _code(made.notebook.cells) or _has_unrun(made.notebook)
    return made


def _cells(text: str, path: Path) -> list[NotebookNode]:
    try:
        found: list[NotebookNode] = list(jupytext.reads(text, fmt=_FORM).cells)
    except Exception as error:
        line = str(error).partition("\n")[0]
        raise CourseError(f"{path}: jupytext cannot read it ({line}); nothing was changed") from None
    for number, cell in enumerate(found, 1):
        cell.metadata.pop(_OF_THE_TEXT, None)
        if _BROKEN in cell.metadata:
            raise CourseError(
                f"{path}: the `# %%` line of cell {number} cannot be read: {cell.metadata[_BROKEN]}"
            )
    return found


def _brought(
    cell: NotebookNode, old: NotebookNode, as_it_was: NotebookNode, *, is_same: bool
) -> NotebookNode:
    """The old cell with the text's source, and the text's metadata beside what no text shows."""
    made = copy.deepcopy(old)
    if not is_same:
        made.source = cell.source
        if made.cell_type == "code":
            made.outputs, made.execution_count = (
                [],
                None,
            )  # of another source: a cell that cannot run here has none
    if cell.metadata != as_it_was.metadata:
        for name in as_it_was.metadata:
            del made.metadata[name]
        made.metadata.update(cell.metadata)
    return made


# Which cell is which


def pairs(old: Sequence[NotebookNode], new: Sequence[NotebookNode]) -> dict[int, int]:
    """For each position in `new` that is a cell of `old`, changed or not, its position there."""
    found: dict[int, int] = {}
    matcher = SequenceMatcher(
        None, [_key(cell) for cell in old], [_key(cell) for cell in new], autojunk=False
    )
    for block in matcher.get_matching_blocks():
        found.update((block.b + i, block.a + i) for i in range(block.size))
    everywhere = range(len(old)), range(len(new))
    _pair(found, old, new, everywhere, _moved)
    _pair(found, old, new, everywhere, _same_grade_id)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "replace":
            _pair(found, old, new, (range(a, b), range(c, d)), _likeness)
    return found


def _pair(
    found: dict[int, int],
    old: Sequence[NotebookNode],
    new: Sequence[NotebookNode],
    places: tuple[range, range],
    likeness: Callable[[NotebookNode, NotebookNode], float],
) -> None:
    """Add the pairs of cells that have none yet and are most alike, the best first."""
    taken = set(found.values())
    candidates = [
        (-score, j, i)
        for j in places[1]
        for i in places[0]
        if j not in found and i not in taken and (score := likeness(old[i], new[j])) >= _ALIKE
    ]
    for _, j, i in sorted(candidates):
        if j not in found and i not in taken:
            found[j] = i
            taken.add(i)


def _moved(old: NotebookNode, new: NotebookNode) -> float:
    return float(_key(old) == _key(new))


def _same_grade_id(old: NotebookNode, new: NotebookNode) -> float:
    ids = [(cell.metadata.get("nbgrader") or {}).get("grade_id") for cell in (old, new)]
    return float(ids[0] is not None and ids[0] == ids[1])


def _likeness(old: NotebookNode, new: NotebookNode) -> float:
    if old.cell_type != new.cell_type:
        return 0.0
    return SequenceMatcher(None, old.source, new.source, autojunk=False).ratio()


def _key(cell: NotebookNode) -> tuple[str, str]:
    return cell.cell_type, cell.source


def _code(cells: Sequence[NotebookNode]) -> list[str]:
    return [cell.source for cell in cells if cell.cell_type == "code"]


def _has_unrun(notebook: NotebookNode) -> bool:
    return any(
        cell.execution_count is None and cell.source.strip()
        for cell in notebook.cells
        if cell.cell_type == "code"
    )
