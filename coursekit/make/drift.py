"""Files that are made from others: written where they differ from what they should be, or shown to differ."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from pathlib import Path

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.files import write_text


def settle(course: Course, texts: Mapping[Path, str], *, check: bool, differ: str, same: str) -> int:
    """Write each text to its file where that holds another; with `check`, show the differences instead.

    `differ` and `same` are what to say at the end. Returns the exit code: 1 where a check found a difference.
    """
    changed = {path: text for path, text in texts.items() if text_of(path) != text}
    for path, text in changed.items():
        if check:
            sys.stdout.writelines(difference(path, course, text_of(path), text))
        else:
            write_text(path, text)
            print(f"wrote {path.relative_to(course.root)}")
    if check and changed:
        print(differ)
    if not changed:
        print(same)
    return 1 if check and changed else 0


def difference(path: Path, course: Course, old: str | None, new: str) -> list[str]:
    """A unified diff of the file at `path` and the text that it should have."""
    name = path.relative_to(course.root).as_posix()
    before, after = (old or "").splitlines(keepends=True), new.splitlines(keepends=True)
    return list(difflib.unified_diff(before, after, name, f"{name} (from the notebooks)"))


def text_of(path: Path) -> str | None:
    """The text of a file with its line ends as they are, None where there is none."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CourseError(f"{path}: cannot be read ({reason})") from None


def need_solutions(course: Course, then: str) -> None:
    """Raise where there is nothing to make things from: in a student bundle."""
    if not course.chapters.is_dir():
        raise CourseError(
            f"no chapters/ in {course.root}: is this the course's folder? give it with --course DIR"
        )
    if not course.solutions.is_dir():
        raise CourseError(
            f"no solutions/ in {course.root}: a bundle for students has no solutions, and {then}"
        )
