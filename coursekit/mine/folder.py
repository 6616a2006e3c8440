"""The folder mine/: written by `build`, and never over what somebody changed there by hand."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.files import read_record, write_record, write_text
from coursekit.make.drift import text_of

RECORD = ".built.json"


def write_mine(course: Course, texts: Mapping[str, str], *, force: bool) -> None:
    """Make mine/ hold these texts by file name. Raises CourseError where that would lose a change by hand."""
    known = _read_record(course)
    if not force:
        _refuse_changed(course, texts, known)
    new = {name: [_hash(text)] for name, text in texts.items()}
    # Until all is written, both the old and the new text are ours: a stop in between looks like no change.
    write_record(
        course.mine / RECORD, {name: [*known.get(name, []), *new.get(name, [])] for name in {*known, *new}}
    )
    for name, text in texts.items():
        if text_of(course.mine / name) != text:
            write_text(course.mine / name, text)
    for name in known.keys() - new.keys():
        with contextlib.suppress(OSError):
            (course.mine / name).unlink()
    write_record(course.mine / RECORD, new)


def _refuse_changed(course: Course, texts: Mapping[str, str], known: Mapping[str, list[str]]) -> None:
    for name in sorted({*known, *texts}):
        found = text_of(course.mine / name)
        if found is not None and found != texts.get(name) and _hash(found) not in known.get(name, []):
            raise CourseError(
                f"mine/{name} was changed by hand since the last build: "
                "copy it somewhere else, then `python3 -m coursekit build --force` writes over it"
            )


def _read_record(course: Course) -> dict[str, list[str]]:
    try:
        return {
            str(name): [str(item) for item in hashes]
            for name, hashes in read_record(course.mine / RECORD).items()
            if _is_inside(course, name)
        }
    except (OSError, ValueError, TypeError):
        return {}


def _is_inside(course: Course, name: str) -> bool:
    return (course.mine / name).resolve().is_relative_to(course.mine.resolve()) and not Path(
        name
    ).is_absolute()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
