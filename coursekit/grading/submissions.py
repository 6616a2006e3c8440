"""Submissions of strangers: one a student, the newest, read with limits, and reduced to its answer cells.

Nothing here writes or believes a file. What is wrong with one submission becomes one line for that student;
the class goes on. Of a notebook only the code is kept, and never two whole notebooks at a time: JSON takes
twenty times its bytes in memory.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from coursekit.errors import CourseError
from coursekit.grading.assemble import Chapter, adopted
from coursekit.grading.gradescope import METADATA, submitters
from coursekit.grading.handins import HandIn, handed_in, printable, read_file
from coursekit.grading.handins import Refused as Refused
from coursekit.notebooks import exercise_of, first_comments

MOST_NOTEBOOKS = 50  # of one student
MOST_PARTS = 200_000  # objects and lists in its JSON: each takes twenty times its bytes in memory
MOST_CODE = 1_000_000  # characters of all answers

_EXERCISE = re.compile(r"(?:#|//)\s*(?:exercise:\s*(\d+\.\d+)|(helpers))\s*$")
_LATE = re.compile(r"^[^_]+_LATE_\d+_\d+_")  # Canvas: NAME_LATE_ID_NUMBER_FILE
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)  # of JSON


class Elsewhere(Refused):
    """A notebook that belongs to something else than this chapter."""


@dataclass(frozen=True)
class RawCell:
    """A code cell of a stranger's notebook: all that the grader reads of it."""

    source: str
    grade_id: str | None

    @property
    def key(self) -> str | None:
        """The exercise ("1.4") or "helpers" that the first line names, or a comment right below it."""
        found = next(filter(None, map(_EXERCISE.match, first_comments(self.source))), None)
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
    id: str = ""  # the platform's number for the student, "" where it is not known
    note: str = ""  # which of several hand-ins this is
    handed_in: str = ""  # when, as its file or its zip file says, to the second
    late: bool = False  # the platform says so in the file's name
    place: str = ""  # the uppermost name of its file, as the platform made it
    digest: str = ""  # of the file's bytes


def collect(place: Path, chapter: Chapter, names: str | None = None) -> tuple[list[Submission], list[str]]:
    """The newest submission of each student in `place`, by name, and remarks on what was passed over.

    `place` is a folder or a platform's zip file, with notebooks, folders or zip files named after students.
    The first group of the regular expression `names` picks the student's name out of the name of a file or a
    folder, its group `id` the platform's number for the student. Without it, Gradescope's list
    tells, where there is one.
    """
    pattern = _pattern(names)
    files, remarks = handed_in(place)
    listed = submitters(place) if names is None else {}
    if listed:
        remarks = [remark for remark in remarks if not remark.startswith(METADATA)]
    found: dict[tuple[str, str], list[HandIn]] = {}
    unmatched = []
    for one in files:
        known = listed.get(one.parts[0])
        who = (known.student, known.sid) if known else _student(one.parts, pattern)
        if known and known.when:
            one = replace(one, modified=known.when)
        if who:
            found.setdefault(who, []).append(one)
        else:
            unmatched.append(one.parts[0])
    named = {one.parts[0] for entries in found.values() for one in entries}
    remarks += [
        f"{printable(top)}: passed over: its name does not match --names"
        for top in dict.fromkeys(unmatched)
        if top not in named
    ]
    if not found:
        raise CourseError(f"{place}: holds no submissions; expected STUDENT/*.ipynb or STUDENT.ipynb in it")
    sharing = Counter(student for student, _ in found)
    submissions = []
    for (student, number), entries in sorted(found.items()):
        name = f"{student} ({number})" if sharing[student] > 1 else student
        submissions.append(replace(_submission(name, entries, chapter), id=printable(number)))
    remarks += [f"{one.student}: {one.note}" for one in submissions if one.note]
    return _with_slugs(submissions), remarks


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


def _student(parts: Sequence[str], pattern: re.Pattern[str] | None) -> tuple[str, str] | None:
    """Name and number of the student to whom a file belongs, by the uppermost name that tells."""
    if pattern is None:
        top = parts[0]
        is_folder = len(parts) > 1 and not top.lower().endswith(".zip")
        return (top if is_folder else _without_suffix(top)), ""
    for part in parts:
        found = pattern.match(part)
        if found:
            groups = found.groupdict()
            number = groups.get("id") or ""
            places = [place for name, place in pattern.groupindex.items() if name == "id"]
            texts = [text for place, text in enumerate(found.groups(), 1) if text and place not in places]
            return (texts[0], number) if texts else None
    return None


def _without_suffix(name: str) -> str:
    return re.sub(r"\.(ipynb|zip|ZIP)$", "", name)


def _submission(student: str, entries: list[HandIn], chapter: Chapter) -> Submission:
    source = " and ".join(sorted({printable(entry.parts[0]) for entry in entries}))
    try:
        _check_name(student)
        chosen, cells, note, digest = _newest(entries, chapter)
        answers, added = _split(cells, chapter)
        when = datetime.fromtimestamp(chosen.modified).isoformat(" ", "seconds")
        late = any(_LATE.search(part) for part in chosen.parts)
        return Submission(
            student,
            "",
            chosen.name,
            answers,
            added,
            note=note,
            handed_in=when,
            late=late,
            place=chosen.parts[0],
            digest=digest,
        )
    except Refused as reason:
        return Submission(printable(student), "", source, refused=str(reason))


def _check_name(student: str) -> None:
    if student in (".", "..") or "/" in student or "\\" in student or "\0" in student:
        raise Refused("its name is a path; rename the file after the student")
    if printable(student) != student or not student.strip() or len(student) > 120:
        raise Refused("its name holds characters that cannot be printed, or too many; rename the file")


def _newest(entries: list[HandIn], chapter: Chapter) -> tuple[HandIn, list[RawCell], str, str]:
    """The newest notebook of this chapter of a student, what to say of the others, and its digest."""
    entries = _of_a_clone(entries, chapter)
    if len(entries) > MOST_NOTEBOOKS:
        raise Refused(f"{len(entries)} notebooks; keep the one to grade")
    digest = ""
    chosen: tuple[HandIn, list[RawCell]] | None = None
    older: list[str] = []
    refused: list[
        tuple[bool, str]
    ] = []  # whether it belongs elsewhere, and why: an exception holds on to all
    newer = ""
    for entry in sorted(entries, key=lambda one: one.age, reverse=True):
        try:
            content = entry.read()
            cells = parse(entry.name, content, chapter)
        except Refused as reason:
            elsewhere = isinstance(reason, Elsewhere)
            refused.append((elsewhere, str(reason)))
            if not (chosen or elsewhere or newer):
                newer = f"a newer one was passed over: {reason}"
        else:
            if chosen:
                older.append(f"{entry.where} ({_when(entry)})")
            digest = digest or hashlib.sha256(content).hexdigest()
            chosen = chosen or (entry, cells)
    if not chosen:
        raise Refused(next((why for elsewhere, why in refused if not elsewhere), refused[0][1]))
    graded = f"graded is the newest, {chosen[0].where} ({_when(chosen[0])}), not {', '.join(older)}"
    return *chosen, "; ".join(filter(None, [graded if older else "", newer])), digest


def _of_a_clone(entries: list[HandIn], chapter: Chapter) -> list[HandIn]:
    """Of a whole clone of the students' bundle, the notebook in which they write; else all of `entries`."""
    name = f"{chapter.number}_exercises.ipynb"
    places = {one.parts[-3:]: one for one in entries}
    given = [
        one for one in entries if one.parts[-2:] == ("exercises", name) and one.parts[-3:-2] != ("work",)
    ]
    written = places.get(("work", "exercises", name))
    if written and given:
        return [written]
    if given and len(entries) > MOST_NOTEBOOKS:
        raise Refused(f"a clone without work/exercises/{name}; was /work/ taken out of its .gitignore?")
    return entries


def _when(one: HandIn) -> str:
    return f"{datetime.fromtimestamp(one.modified):%d %B %Y, %H:%M:%S}"


def answers_of(path: Path, chapter: Chapter) -> tuple[dict[str, str], tuple[str, ...]]:
    """The answers in the notebook at `path`, and the code of added cells. Raises Refused."""
    return _split(read_cells(path, chapter), chapter)


def read_cells(path: Path, chapter: Chapter) -> list[RawCell]:
    """The code cells of the notebook at `path`, of any nbformat 4.x. Raises Refused."""
    return parse(printable(path.name), read_file(path), chapter)


def parse(name: str, content: bytes, chapter: Chapter) -> list[RawCell]:
    """The code cells of the notebook `content`, called `name` in messages. Raises Refused."""
    try:
        if _parts(content) > MOST_PARTS:
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
    code = (cell for cell in data["cells"] if isinstance(cell, dict) and cell.get("cell_type") == "code")
    cells = [_raw(cell) for cell in code]
    _check_chapter(name, data, cells, chapter)
    return cells


def _parts(content: bytes) -> int:
    """How many objects and lists JSON has, at least where they are many: brackets in texts do not count."""
    parts = content.count(b"{") + content.count(b"[")
    if parts > MOST_PARTS:
        content = _STRING.sub(b"", content)
        parts = content.count(b"{") + content.count(b"[")
    return parts


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
    return RawCell(source, grade_id if isinstance(grade_id, str) else None)


def _check_chapter(name: str, data: dict[str, Any], cells: list[RawCell], chapter: Chapter) -> None:
    metadata = data.get("metadata")
    about = metadata.get("coursekit") if isinstance(metadata, dict) else None
    other = about.get("chapter") if isinstance(about, dict) else None
    ours = any(cell.grade_id in chapter.answer_ids or cell.key in chapter.reference() for cell in cells)
    if isinstance(other, str) and other != chapter.number:
        raise Elsewhere(f"{name} is of chapter {printable(other[:9])}, not {chapter.number}; grade it there")
    if not ours:
        raise Elsewhere(f"{name} has no answer cell of chapter {chapter.number}; is it another notebook?")


def _split(cells: list[RawCell], chapter: Chapter) -> tuple[dict[str, str], tuple[str, ...]]:
    """Answers by exercise, and the code of added cells.

    An answer is the cells with its `grade_id`, joined in order (splitting a cell copies it); where an editor
    lost the metadata, or they are the stub still, the cells that name the exercise; and where there is none,
    an added cell that defines what the stub does.
    """
    ids = chapter.answer_ids
    given = {cell.source.strip() for cell in chapter.notebook.cells}
    stubs = {exercise.number: exercise for exercise in chapter.exercises}

    def written(key: str, source: str) -> bool:
        return key not in stubs or not stubs[key].left_alone(source)

    named = {
        ids[one.grade_id] for one in cells if one.grade_id in ids and written(ids[one.grade_id], one.source)
    }
    parts: dict[str, list[str]] = {}
    added = []
    for cell in cells:
        key = ids.get(cell.grade_id or "")
        if key is None and not cell.grade_id and cell.key in chapter.reference() and cell.key not in named:
            key = cell.key
        if key is not None:
            parts.setdefault(key, []).append(cell.source)
        elif cell.source.strip() not in given:  # the reader's, or one of ours that they may have changed
            added.append(cell.source)
    answers = {
        key: "\n".join([one for one in sources if written(key, one)] or sources[-1:])
        for key, sources in parts.items()
    }
    answers, added = adopted(chapter, answers, added)
    if sum(map(len, answers.values())) > MOST_CODE:
        raise Refused(
            f"its answers hold more than {MOST_CODE // 1_000_000} million characters; keep code alone in them"
        )
    kernels = {exercise.number for exercise in chapter.exercises if exercise.cuda}
    return {
        key: _one_kernel(key, answer) if key in kernels else answer for key, answer in answers.items()
    }, _fitting(added)


def _fitting(sources: list[str]) -> tuple[str, ...]:
    """Those of the added cells that are not too much together: who stores data there loses nothing else."""
    ends = accumulate(map(len, sources))
    return tuple(source for source, end in zip(sources, ends, strict=True) if end <= MOST_CODE)


def _one_kernel(key: str, answer: str) -> str:
    """Of an answer in CUDA C that holds several whole cells the last one, as in Python it would be.

    A copy that was pasted below, or a cell of another exercise, would not compile beside it.
    """
    whole = [f"%%cuda{text}" for text in re.split(r"(?m)^%%cuda\b", answer)[1:]]
    mine = [text for text in whole if exercise_of(text) == key]
    return next(reversed(mine or whole)).rstrip("\n") if len(whole) > 1 else answer


# Names


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
