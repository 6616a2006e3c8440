"""`python3 -m coursekit promote`: what chapters and solutions export takes its place in minilib/."""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.make.book import Book, is_taught, taught, with_origin
from coursekit.make.exports import Source, course_notebooks, read_source
from coursekit.notebooks import write_text

LIBRARY_FILES = (".py", ".cu", ".cuh", ".typed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; show where modules and notebooks differ, and exit with 1",
    )


def run(course: Course, args: argparse.Namespace) -> int:
    texts = promoted(course)
    changed = {name: text for name, text in texts.items() if read_text(course.library / name) != text}
    for name, text in changed.items():
        path = course.library / name
        if args.check:
            sys.stdout.writelines(difference(path, course, read_text(path), text))
        else:
            write_text(path, text)
            print(f"wrote {path.relative_to(course.root)}")
    for name in changed:
        if is_taught(read_text(course.library / name) or "") and not is_taught(texts[name]):
            print(f"minilib/{name}: no notebook exports to it any more; it is an ordinary file now")
    if args.check and changed:
        print("minilib/ and its notebooks differ: run `make promote`")
    if not changed:
        print(f"minilib/ is as the notebooks say ({len(texts)} files with what they teach)")
    return 1 if args.check and changed else 0


def promoted(course: Course) -> dict[str, str]:
    """The text of each file of minilib that chapters and solutions export to, by its name below minilib/."""
    need_solutions(course, "minilib/ is complete as it is")
    old = library_texts(course)
    book = opened(course, old)
    texts = book.texts({name: taught(notebooks) for name, notebooks in book.touched.items()})
    forgotten = {name: with_origin(text, "") for name, text in old.items() if name.endswith(".py")}
    gone = {name: text for name, text in forgotten.items() if name not in texts and text != old[name]}
    return {**texts, **gone}


def opened(course: Course, texts: dict[str, str]) -> Book:
    """The library with everything in its place that chapters and solutions export."""
    sources = [read_source(path, course) for path in course_notebooks(course)]
    book = Book.of(course, texts)
    book.docs = _docs(sources)
    for source in sources:
        for export in source.exports:
            book.add(export)
    return book


def _docs(sources: list[Source]) -> dict[str, str]:
    """The sentence of each `#| default_doc`, by the module that it is for."""
    found: dict[str, Source] = {}
    for source in sources:
        for name in source.modules[:1] if source.doc else ():
            other = found.setdefault(name, source)
            if other.doc != source.doc:
                raise CourseError(
                    f"{source.path}: its `#| default_doc` differs from the one in {other.path}; keep one"
                )
    return {name: source.doc or "" for name, source in found.items()}


def library_texts(course: Course) -> dict[str, str]:
    """The files of minilib, by their names below it."""
    paths = sorted(path for path in course.library.rglob("*") if path.suffix in LIBRARY_FILES)
    return {path.relative_to(course.library).as_posix(): read_text(path) or "" for path in paths}


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


def difference(path: Path, course: Course, old: str | None, new: str) -> list[str]:
    """A unified diff of the file at `path` and the text that it should have."""
    name = path.relative_to(course.root).as_posix()
    before, after = (old or "").splitlines(keepends=True), new.splitlines(keepends=True)
    return list(difflib.unified_diff(before, after, name, f"{name} (from the notebooks)"))


def read_text(path: Path) -> str | None:
    """The text of a file, None where there is none."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CourseError(f"{path}: cannot be read ({reason})") from None
