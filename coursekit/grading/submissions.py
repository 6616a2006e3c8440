"""Submissions as strangers hand them in: found, read with limits, and reduced to their answer cells.

Nothing here writes, follows a symbolic link, or believes a file. What is wrong with one submission becomes
one line for that student; the class goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from coursekit.errors import CourseError
from coursekit.grading.assemble import Chapter
from coursekit.notebooks import first_line

LARGEST = 10_000_000  # bytes of one notebook
MOST_PARTS = 200_000  # objects in its JSON: each takes a hundred times its bytes in memory

_EXERCISE = re.compile(r"(?:#|//)\s*(?:exercise:\s*(\d+\.\d+)|(helpers))\s*$")


class Refused(Exception):
    """Why one submission is not graded, in one line that says what to do."""


@dataclass(frozen=True)
class RawCell:
    """A cell of a stranger's notebook: all that the grader reads of it."""

    kind: str
    source: str
    grade_id: str | None

    @property
    def key(self) -> str | None:
        """The exercise ("1.4") or "helpers" that the first line names."""
        found = _EXERCISE.match(first_line(self.source))
        return (found[1] or found[2]) if found else None


@dataclass(frozen=True)
class Submission:
    """One student's answers, by exercise or "helpers"; `refused` says why there are none."""

    student: str
    slug: str  # the student's name as the name of a folder
    source: str  # the file, for messages
    answers: Mapping[str, str] = field(default_factory=dict)
    added: tuple[str, ...] = ()  # code cells that are no answers
    refused: str = ""


def collect(folder: Path, chapter: Chapter, names: str | None = None) -> tuple[list[Submission], list[str]]:
    """The submissions in `folder` by student's name, and remarks on what was passed over.

    `folder` holds STUDENT/*.ipynb or STUDENT.ipynb. The first group of the regular expression `names` picks
    the student's name out of a file's or a folder's name.
    """
    pattern = _pattern(names)
    found: dict[str, list[Path]] = {}
    remarks = []
    for entry in _entries(folder):
        is_notebook = entry.suffix == ".ipynb"
        if not is_notebook and not (entry.is_dir() or entry.is_symlink()):
            remarks.append(f"{printable(entry.name)}: passed over: neither a notebook nor a folder")
            continue
        student = _student(entry, pattern)
        if student is None:
            remarks.append(f"{printable(entry.name)}: passed over: its name does not match --names")
            continue
        found.setdefault(student, []).append(entry)
    if not found:
        raise CourseError(f"{folder}: holds no submissions; expected STUDENT/*.ipynb or STUDENT.ipynb in it")
    return _with_slugs([_submission(name, found[name], chapter) for name in sorted(found)]), remarks


def _pattern(names: str | None) -> re.Pattern[str] | None:
    if names is None:
        return None
    try:
        pattern = re.compile(names)
    except re.error as error:
        raise CourseError(f"--names {names!r} is no regular expression: {error}") from None
    if pattern.groups < 1:
        raise CourseError(f"--names {names!r} needs a group that is the student's name: '(.+?)_.*'")
    return pattern


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except NotADirectoryError:
        raise CourseError(f"{folder}: is a file; expected a folder of submissions") from None
    except FileNotFoundError:
        raise CourseError(f"{folder}: no such folder; expected a folder of submissions") from None
    except OSError as error:
        raise CourseError(f"{folder}: cannot be read ({error.strerror}); check its permissions") from None


def _student(entry: Path, pattern: re.Pattern[str] | None) -> str | None:
    if pattern is None:
        return entry.stem if entry.suffix == ".ipynb" else entry.name
    found = pattern.match(entry.name)
    return next((group for group in found.groups() if group), None) if found else None


def _submission(student: str, entries: list[Path], chapter: Chapter) -> Submission:
    source = " and ".join(printable(entry.name) for entry in entries)
    try:
        _check_name(student)
        path, cells = _the_notebook(entries, chapter)
        answers, added = _split(cells, chapter)
        return Submission(student, "", printable(str(path.name)), answers, added)
    except Refused as reason:
        return Submission(printable(student), "", source, refused=str(reason))


def _check_name(student: str) -> None:
    if student in (".", "..") or "/" in student or "\\" in student or "\0" in student:
        raise Refused("its name is a path; rename the file after the student")
    if printable(student) != student or not student.strip() or len(student) > 120:
        raise Refused("its name holds characters that cannot be printed, or too many; rename the file")


def _the_notebook(entries: list[Path], chapter: Chapter) -> tuple[Path, list[RawCell]]:
    """The one notebook of this chapter among a student's files."""
    paths = list(_notebooks(entries))
    if not paths:
        raise Refused("no notebook in the folder; expected one *.ipynb")
    if len(paths) > 20:
        raise Refused(f"{len(paths)} notebooks in the folder; keep the one to grade")
    read, refused = [], []
    for path in paths:
        try:
            read.append((path, read_cells(path, chapter)))
        except Refused as reason:
            refused.append(reason)
        if len(read) > 1:
            names = " and ".join(printable(path.name) for path, _ in read)
            raise Refused(f"two notebooks of this chapter ({names}); keep the one to grade")
    if not read:
        raise refused[0]
    return read[0]


def _notebooks(entries: list[Path]) -> Iterator[Path]:
    for entry in entries:
        if entry.is_symlink():
            raise Refused(f"{printable(entry.name)} is a symbolic link; expected the notebook itself")
        if entry.is_dir():
            try:
                yield from (path for path in sorted(entry.glob("*.ipynb")) if not path.name.startswith("."))
            except OSError as error:
                raise Refused(f"the folder cannot be read ({error.strerror})") from None
        else:
            yield entry


def answers_of(path: Path, chapter: Chapter) -> tuple[dict[str, str], tuple[str, ...]]:
    """The answers in the notebook at `path`, and the code of added cells. Raises Refused."""
    return _split(read_cells(path, chapter), chapter)


def read_cells(path: Path, chapter: Chapter) -> list[RawCell]:
    """The cells of the notebook at `path`, of any nbformat 4.x. Raises Refused."""
    name = printable(path.name)
    try:
        content = _read(path)
        if content.count(b"{") > MOST_PARTS:
            raise Refused(
                f"{name} is not a notebook that JupyterLab wrote (too many parts); save it again there"
            )
        data = json.loads(content)
    except (ValueError, RecursionError, MemoryError):
        raise Refused(f"{name} is not a notebook (not JSON); save it again in JupyterLab") from None
    if not isinstance(data, dict) or not isinstance(data.get("nbformat"), int):
        raise Refused(f"{name} is not a notebook (no nbformat); save it again in JupyterLab")
    if data["nbformat"] != 4:
        raise Refused(f"{name} has nbformat {str(data['nbformat'])[:9]}, not 4; save it again in JupyterLab")
    if not isinstance(data.get("cells"), list):
        raise Refused(f"{name} is not a notebook (no cells); save it again in JupyterLab")
    cells = [_raw(cell) for cell in data["cells"] if isinstance(cell, dict)]
    _check_chapter(name, data, cells, chapter)
    return cells


def _read(path: Path) -> bytes:
    """The bytes of a regular file that is no symbolic link and not too large."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        if path.is_symlink():
            raise Refused(
                f"{printable(path.name)} is a symbolic link; expected the notebook itself"
            ) from None
        raise Refused(f"{printable(path.name)} cannot be read ({error.strerror})") from None
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Refused(f"{printable(path.name)} is not a file; expected the notebook itself")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise Refused(
            f"{printable(path.name)} is larger than {LARGEST // 1_000_000} MB; clear its outputs and save it"
        )
    return content


def _raw(cell: dict[str, Any]) -> RawCell:
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str):
        source = ""
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    # a lone surrogate is valid in JSON and cannot be written as UTF-8
    source = source.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    return RawCell(str(cell.get("cell_type")), source, grade_id if isinstance(grade_id, str) else None)


def _check_chapter(name: str, data: dict[str, Any], cells: list[RawCell], chapter: Chapter) -> None:
    metadata = data.get("metadata")
    about = metadata.get("coursekit") if isinstance(metadata, dict) else None
    other = about.get("chapter") if isinstance(about, dict) else None
    ours = any(cell.grade_id in chapter.answer_ids or cell.key in chapter.reference() for cell in cells)
    if isinstance(other, str) and other != chapter.number:
        raise Refused(f"{name} is of chapter {printable(other[:9])}, not {chapter.number}; grade it there")
    if not ours:
        raise Refused(f"{name} has no answer cell of chapter {chapter.number}; is it another notebook?")


def _split(cells: list[RawCell], chapter: Chapter) -> tuple[dict[str, str], tuple[str, ...]]:
    """Answers by exercise, and the code of added cells.

    An answer is the cells with its `grade_id`, joined in order (splitting a cell copies it); where an editor
    lost the metadata, the cells whose first line names the exercise.
    """
    ids = chapter.answer_ids
    given = {cell.source.strip() for cell in chapter.notebook.cells}
    code = [cell for cell in cells if cell.kind == "code"]
    named = {ids[cell.grade_id] for cell in code if cell.grade_id in ids}
    parts: dict[str, list[str]] = {}
    added = []
    for cell in code:
        key = ids.get(cell.grade_id or "")
        if key is None and not cell.grade_id and cell.key in chapter.reference() and cell.key not in named:
            key = cell.key
        if key is not None:
            parts.setdefault(key, []).append(cell.source)
        elif not cell.grade_id and cell.source.strip() not in given:
            added.append(cell.source)
    return {key: "\n".join(sources) for key, sources in parts.items()}, tuple(added)


# Names


def printable(name: str) -> str:
    """`name` in one line, with characters that do not print written as escapes."""
    return "".join(_shown(character) for character in name)


def _shown(character: str) -> str:
    if character.isprintable() or character in "\u200c\u200d":  # joiners: parts of names in some scripts
        return character
    return character.encode("unicode_escape", "backslashreplace").decode("ascii", "backslashreplace")


def _with_slugs(submissions: list[Submission]) -> list[Submission]:
    """Each with the name of a folder of its own, which no file system confuses with another's.

    Plain names come first, so that nobody can take one by naming himself after another's hash.
    """
    slugs: dict[int, str] = {}
    taken: set[str] = set()
    for i in sorted(range(len(submissions)), key=lambda i: _plain(submissions[i].student) == ""):
        student, tries = submissions[i].student, 0
        slug = _plain(student)
        while not slug or slug.casefold() in taken:
            digest = hashlib.sha256(f"{student}{tries or ''}".encode()).hexdigest()[:8]
            slug = f"{_shortened(student) or 'student'}-{digest}"
            tries += 1
        taken.add(slug.casefold())
        slugs[i] = slug
    return [replace(one, slug=slugs[i]) for i, one in enumerate(submissions)]


def _plain(student: str) -> str:
    """The name itself where it is one for a folder, else ""."""
    return student if _shortened(student) == student else ""


def _shortened(student: str) -> str:
    """What of a name can name a folder: at most 80 bytes."""
    safe = re.sub(r"[^\w .@+-]", "_", unicodedata.normalize("NFC", student))
    return safe.encode()[:80].decode("utf-8", "ignore").strip(" .")
