"""`python3 -m coursekit promote`: what chapters and solutions export takes its place in minilib/."""

from __future__ import annotations

import argparse

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.make.book import Book, is_taught, taught, without_origin
from coursekit.make.drift import need_solutions, settle, text_of
from coursekit.make.exports import Source, course_notebooks, read_source

LIBRARY_FILES = (".py", ".cu", ".cuh", ".typed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; show where modules and notebooks differ, and exit with 1",
    )


def run(course: Course, args: argparse.Namespace) -> int:
    texts = promoted(course)
    for name, text in texts.items():
        if is_taught(text_of(course.library / name) or "") and not is_taught(text):
            print(f"minilib/{name}: no notebook exports to it any more; it is an ordinary file now")
    return settle(
        course,
        {course.library / name: text for name, text in texts.items()},
        check=args.check,
        differ="minilib/ and its notebooks differ: run `make promote`",
        same=f"minilib/ is as the notebooks say ({len(texts)} files hold what they teach)",
    )


def promoted(course: Course) -> dict[str, str]:
    """The text of each file of minilib that chapters and solutions export to, by its name below minilib/."""
    need_solutions(course, "minilib/ is complete as it is")
    old = library_texts(course)
    book = opened(course, old)
    texts = book.texts({name: taught(notebooks) for name, notebooks in book.touched.items()})
    forgotten = {name: without_origin(name, text) for name, text in old.items() if is_taught(text)}
    return {name: text for name, text in forgotten.items() if name not in texts} | texts


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
    """The files of minilib, by their names below it; line ends are `\\n`, however they were checked out."""
    paths = sorted(path for path in course.library.rglob("*") if path.suffix in LIBRARY_FILES)
    return {
        path.relative_to(course.library).as_posix(): (text_of(path) or "").replace("\r\n", "\n")
        for path in paths
    }
