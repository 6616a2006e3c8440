"""The learner's folder `work/`: copies of lessons and exercises, never written over.

Lessons lie in `chapters/` and exercises in `exercises/`, as in the course, so that links between them hold.

`work/.coursekit.json` remembers what each copy was made from, so that a newer original is noticed and the
learner's answers can be told from the stubs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from coursekit.course import Course, chapter_number, meant
from coursekit.errors import CourseError
from coursekit.files import COPIES, read_bytes, read_record, short_hash, write_record, write_text
from coursekit.notebooks import cells, holds_the_same, read, unanswered, write

HOMELESS = "has no place in this version"
MAKEFILE = """\
# JupyterLab's terminals open here: hand each target to the course's own Makefile.
.DEFAULT_GOAL := help
.PHONY: FORCE
%: FORCE
\t@$(MAKE) --no-print-directory -C .. $@
FORCE: ;
Makefile: ;
"""


@dataclass(frozen=True)
class Copy:
    """One file of the course and where the learner's copy of it lies."""

    original: Path
    target: Path
    name: str  # relative to work/, as the record keeps it

    @property
    def is_notebook(self) -> bool:
        return self.original.suffix == ".ipynb"

    @property
    def is_exercise(self) -> bool:
        return self.is_notebook and self.name.startswith("exercises/")

    @property
    def chapter(self) -> str:
        """`"03"` of all parts of chapter 03."""
        return chapter_number(self.original)[:2]


def copies(course: Course) -> list[Copy]:
    """What belongs into work/."""
    found = [(path, f"exercises/{path.name}") for path in sorted(course.exercises.glob("*.ipynb"))]
    for path in sorted(course.chapters.rglob("*")):
        inside = path.relative_to(course.chapters)
        if path.is_file() and not any(part.startswith((".", "_")) for part in inside.parts):
            found.append((path, f"chapters/{inside.as_posix()}"))
    return [Copy(path, course.work / name, name) for path, name in found]


def prepare(course: Course) -> list[str]:
    """Copy what is missing or was never touched, and trust it; returns lines for the learner.

    Writes over nothing of the learner's.
    """
    record = _read_record(course)
    before = json.dumps(record)
    new, renewed, outdated = [], [], []
    for copy in copies(course):
        if not copy.target.exists():
            record[copy.name] = _copied(copy)
            new.append(copy)
        elif copy.name not in record:
            record[copy.name] = _adopt(copy)
        elif record[copy.name].get("sha256") == digest(copy.original):
            continue
        elif record[copy.name].get("copy") == digest(copy.target):
            record[copy.name] = _copied(copy)
            renewed.append(copy)
        elif copy.is_notebook:
            outdated.append(copy)
    if json.dumps(record) != before:
        write_record(course.work / COPIES, record)
    makefile = course.work / "Makefile"
    if (course.root / "Makefile").is_file() and not makefile.exists():
        write_text(makefile, MAKEFILE)
    trust(copy.target for copy in (*new, *renewed) if copy.is_notebook)
    return [*_report_new(new), *_report_renewed(len(renewed)), *_report_outdated(outdated, record)]


def _copied(copy: Copy) -> dict[str, Any]:
    """Copy it; the record of it."""
    _copy(copy)
    return {**describe(copy.original), "copy": digest(copy.target)}


def _adopt(copy: Copy) -> dict[str, Any]:
    """The record of a copy that this program did not make, or was stopped before it could note it."""
    return (
        describe(copy.original)
        if holds_the_same(copy.original, copy.target)
        else {"sha256": digest(copy.original)}
    )


def _report_new(new: list[Copy]) -> Iterator[str]:
    names = [copy.name for copy in new if copy.is_notebook]
    if names:
        yield f"copied into work/: {', '.join(names)}"


def _report_renewed(count: int) -> Iterator[str]:
    if count:
        yield f"now the newest version: {count} file{'s' * (count > 1)} that you had not touched"


def _report_outdated(outdated: list[Copy], record: dict[str, Any]) -> Iterator[str]:
    """One line for each number: `work/` holds the older version, and how to get the newer one."""
    numbers: dict[str, list[str]] = {}
    for copy in outdated:
        if not holds_the_same(copy.original, copy.target):
            numbers.setdefault(chapter_number(copy.original), []).append(copy.name)
    for found, names in numbers.items():
        yield (
            f"newer: {' and '.join(names)}; yours in work/ is untouched. To bring your answers over: "
            f"python3 -m coursekit lab --update {found}"
        )


def update(course: Course, wanted: str) -> list[str]:
    """Put the newest version of number `wanted` into work/, with the learner's answers moved over.

    What was there is kept beside it as `NAME.before-update-N.ipynb`. Returns lines for the learner.
    """
    found = [copy for copy in copies(course) if copy.is_notebook]
    numbers = sorted({chapter_number(copy.original) for copy in found})
    chosen = [copy for copy in found if chapter_number(copy.original) in meant(wanted, numbers)]
    if not chosen:
        known = ", ".join(numbers) or "none"
        raise CourseError(f"there is no chapter {wanted!r} to update; there are: {known}")
    record = _read_record(course)
    written = {chapter: _written(course, chapter) for chapter in {copy.chapter for copy in chosen}}
    lines = []
    for copy in chosen:
        lines.append(_update_one(copy, record, written[copy.chapter]))
        record[copy.name] = describe(copy.original)
        write_record(course.work / COPIES, record)
    trust(copy.target for copy in chosen)
    return lines


def _update_one(copy: Copy, record: dict[str, Any], elsewhere: Written) -> str:
    if not copy.target.exists():
        _copy(copy)
        came = _move_in(copy, elsewhere)
        return f"{copy.name}: copied into work/" + (f", with {came} of your answers" if came else "")
    if holds_the_same(copy.original, copy.target) or (
        record.get(copy.name, {}).get("sha256") == digest(copy.original)
    ):
        came = _move_in(copy, elsewhere)
        answers = f", and now holds {came} of your answers from other parts" if came else ""
        return f"{copy.name}: yours is made from the newest version already{answers}"
    fresh, moved = merge(copy, record.get(copy.name, {}), elsewhere)
    kept = _backup(copy.target)
    write(copy.target, fresh)
    answers = f", {moved} of your answers moved over" if copy.is_exercise else ", without what you typed"
    homeless = sum(HOMELESS in cell.source for cell in fresh.cells)
    answers += f"; {homeless} without a place stand at its end as text" if homeless else ""
    return f"{copy.name}: now the newest version{answers}; the old one is kept as {kept.name}"


def _backup(path: Path) -> Path:
    """A copy of `path` beside it, under the first free name."""
    taken = 1
    while (kept := path.with_name(f"{path.stem}.before-update-{taken}{path.suffix}")).exists():
        taken += 1
    write_text(kept, path.read_text(encoding="utf-8"))
    return kept


Written = dict[str, tuple[str, str]]  # by exercise: the part in which it was answered, and the answer


def _written(course: Course, chapter: str) -> Written:
    """The learner's answers from all parts of a chapter: an exercise may move from one to another.

    What earlier updates have kept comes first, so that a newer answer wins.
    """
    paths = (course.work / "exercises").glob(f"{chapter}*.ipynb")
    stubs = {
        cell.source
        for path in course.exercises.glob(f"{chapter}*.ipynb")
        for cell in cells(path, read(path))
        if cell.is_answer
    }
    answers: Written = {}
    for path in sorted(paths, key=lambda path: (".before-update-" not in path.name, path.name)):
        parts: dict[str, list[str]] = {}
        for cell in cells(path, read(path)):
            if cell.is_answer and cell.exercise:
                parts.setdefault(cell.exercise, []).append(cell.source)
        for exercise, sources in parts.items():
            text = "\n\n".join(sources)
            if text not in stubs and "raise Unsolved" not in text:
                answers[exercise] = chapter_number(path), text
    return answers


def _move_in(copy: Copy, elsewhere: Written) -> int:
    """Put answers from other parts into the learner's copy, where it has stubs; returns how many."""
    if not copy.is_exercise:
        return 0
    mine = read(copy.target)
    if came := _fill(copy, mine, elsewhere):
        write(copy.target, mine)
    return came


def _fill(copy: Copy, mine: NotebookNode, elsewhere: Written) -> int:
    """Put answers from other parts in place of the stubs in `mine`; returns how many."""
    own = chapter_number(copy.original)
    answers = {exercise: text for exercise, (part, text) in elsewhere.items() if part != own}
    stubs = {cell.source for cell in cells(copy.original, read(copy.original)) if cell.is_answer}
    found = [cell for cell in cells(copy.target, mine) if cell.exercise in answers and cell.source in stubs]
    for cell in found:
        cell.node.source = answers[cell.exercise or ""]
    return len(found)


def merge(copy: Copy, before: dict[str, Any], elsewhere: Written | None = None) -> tuple[NotebookNode, int]:
    """The original with the learner's answers and added cells in it, and how many answers were moved.

    `before` is what `describe` said of the version that the learner's copy was made from, {} if unknown;
    `elsewhere` holds what the learner wrote in other parts of the chapter.
    """
    fresh, mine = unanswered(read(copy.original)), read(copy.target)
    if not copy.is_exercise:
        return fresh, 0
    places = {cell.grade_id: cell for cell in cells(copy.original, fresh) if cell.is_answer and cell.grade_id}
    by_exercise = {cell.exercise: name for name, cell in places.items() if cell.exercise}
    answers: dict[str, list[str]] = {}
    gone = _exercises_beside(copy)
    for cell in cells(copy.target, mine):
        name = cell.grade_id if cell.is_answer else by_exercise.get(cell.exercise or "")
        if name and cell.exercise not in gone:
            answers.setdefault(name, []).append(cell.source)
    stubs = before.get("stubs", {})
    written = {
        name: "\n\n".join(parts)
        for name, parts in answers.items()
        if stubs.get(name) != short_hash("\n\n".join(parts))
    }
    moved = [name for name in written if name in places and written[name] != places[name].source]
    for name in moved:
        places[name].node.source = written[name]
    came = _fill(copy, fresh, elsewhere or {})
    _keep_added_cells(fresh, mine, set(before.get("cells", [])))
    _append_homeless(fresh, {name: text for name, text in written.items() if name not in places})
    return fresh, len(moved) + came


def _exercises_beside(copy: Copy) -> set[str]:
    """The exercises that stand in other parts of the chapter: answers to them have moved there."""
    paths = copy.original.parent.glob(f"{copy.chapter}*.ipynb")
    found = (cell.exercise for path in paths if path != copy.original for cell in cells(path, read(path)))
    return {exercise for exercise in found if exercise}


def _keep_added_cells(fresh: NotebookNode, mine: NotebookNode, known: set[str]) -> None:
    """Put cells that the learner added after the cell that they followed."""
    if not known:
        return
    after = None
    for cell in mine.cells:
        here = [index for index, other in enumerate(fresh.cells) if other.get("id") == cell.get("id")]
        if here:
            after = here[0]
        elif cell.get("id") not in known and not cell.metadata.get("nbgrader"):
            after = len(fresh.cells) - 1 if after is None else after
            after += 1
            fresh.cells.insert(after, cell)


def _append_homeless(fresh: NotebookNode, answers: dict[str, str]) -> None:
    """Answers whose exercise is gone from the newer version go to the end, as text that does not run."""
    for name, text in answers.items():
        note = f"Your answer `{name}` {HOMELESS}:\n\n```python\n{text}\n```"
        fresh.cells.append(nbformat.v4.new_markdown_cell(note))  # type: ignore[no-untyped-call]


def describe(original: Path) -> dict[str, Any]:
    """What to remember of an original when it is copied."""
    seen: dict[str, Any] = {"sha256": digest(original)}
    if original.suffix == ".ipynb":
        notebook = read(original)
        seen["cells"] = [cell.get("id") for cell in notebook.cells]
        seen["stubs"] = {
            cell.grade_id: short_hash(cell.source)
            for cell in cells(original, notebook)
            if cell.is_answer and cell.grade_id
        }
    return seen


def digest(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()


def trust(paths: Iterable[Path]) -> None:
    """Sign notebooks of the course, so that JupyterLab shows their stored pictures."""
    from nbformat.sign import NotebookNotary

    with contextlib.suppress(OSError):  # a home that cannot be written: pictures stay visible as PNG
        notary = NotebookNotary()  # type: ignore[no-untyped-call]
        for path in paths:
            notary.sign(read(path))  # type: ignore[no-untyped-call]


def _copy(copy: Copy) -> None:
    try:
        copy.target.parent.mkdir(parents=True, exist_ok=True)
        if copy.is_notebook:
            notebook = unanswered(read(copy.original))
            notebook.metadata.update(_of_this_kernel())
            write(copy.target, notebook)
        else:
            shutil.copyfile(copy.original, copy.target)
    except OSError as error:
        raise CourseError(
            f"{copy.target}: cannot be written ({error.strerror}); check the folder's permissions"
        ) from None


@cache
def _of_this_kernel() -> dict[str, Any]:
    """What JupyterLab writes into a notebook with this kernel: one that has it does not open as changed."""
    from ipykernel.ipkernel import IPythonKernel
    from jupyter_client.kernelspec import NATIVE_KERNEL_NAME, KernelSpecManager

    spec = KernelSpecManager().get_kernel_spec(NATIVE_KERNEL_NAME)
    kernel = {"name": NATIVE_KERNEL_NAME, "display_name": spec.display_name, "language": spec.language}
    return {"kernelspec": kernel, "language_info": IPythonKernel.language_info}


def _read_record(course: Course) -> dict[str, Any]:
    entries = read_record(course.work / COPIES).items()
    return {name: entry for name, entry in entries if isinstance(entry, dict)}
