"""`python3 -m coursekit promote`: exported cells of chapters and solutions become the modules of minilib/."""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.make.exports import Source, course_notebooks, read_source
from coursekit.make.modules import Module, docstring
from coursekit.make.pieces import SourceError
from coursekit.make.tidy import tidy, undefined_names
from coursekit.notebooks import write_text

PROMOTED = "Promoted from "
ORIGIN = PROMOTED + "{notebooks}; edit there, then `make promote`."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; show where modules and notebooks differ, and exit with 1",
    )


def run(course: Course, args: argparse.Namespace) -> int:
    texts = promoted(course)
    stale = _no_longer_promoted(course, texts)
    changed = {name: text for name, text in texts.items() if _old_text(course, name) != text}
    for name, text in changed.items():
        path = _path(course, name)
        if args.check:
            sys.stdout.writelines(difference(path, course, _old_text(course, name), text))
        else:
            write_text(path, text)
            print(f"wrote {path.relative_to(course.root)}")
    for path in stale:
        print(f"{path.relative_to(course.root)}: no notebook exports to it any more; delete it")
    if args.check and changed:
        print("minilib/ and its notebooks differ: run `make promote`")
    if not changed:
        print(f"minilib/ is as the notebooks say ({len(texts)} promoted module{'s' * (len(texts) != 1)})")
    return 1 if stale or (args.check and changed) else 0


def promoted(course: Course) -> dict[str, str]:
    """The text of each module that chapters and solutions export to."""
    need_solutions(course, "minilib/ is complete as it is")
    return {name: module_text(module, course, doc) for name, (module, doc) in merged(course).items()}


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


def merged(course: Course) -> dict[str, tuple[Module, str]]:
    """Each module with its docstring, in the order of the course."""
    sources = [read_source(path, course) for path in course_notebooks(course)]
    modules = {export.module: Module(export.module) for source in sources for export in source.exports}
    for source in sources:
        for export in source.exports:
            modules[export.module].add(export)
    for module in modules.values():
        module.finish()
    return {name: (module, _docstring(name, sources)) for name, module in modules.items()}


def module_text(module: Module, course: Course, doc: str) -> str:
    """The formatted text of a module. Raises SourceError for a name that would not be defined."""
    text = tidy(module.text(doc), course, f"minilib/{module.name}.py")
    for name in undefined_names(text, course):
        piece = module.piece_at(text, name.line)
        if piece:
            message = f"in module {module.name}: {name.message[:1].lower() + name.message[1:]}"
            raise SourceError(piece.cell, piece.line, f"{message}; export what defines it, or import it")
    return text


def difference(path: Path, course: Course, old: str | None, new: str) -> list[str]:
    """A unified diff of the file at `path` and the text that it should have."""
    name = path.relative_to(course.root).as_posix()
    before, after = (old or "").splitlines(keepends=True), new.splitlines(keepends=True)
    return list(difflib.unified_diff(before, after, name, f"{name} (from the notebooks)"))


def _docstring(name: str, sources: list[Source]) -> str:
    """The sentence of `#| default_doc`, and the notebooks that export to the module."""
    sentence: Source | None = None
    for source in sources:
        if source.module == name and source.doc:
            if sentence and sentence.doc != source.doc:
                raise CourseError(
                    f"{source.path}: its `#| default_doc` differs from the one in {sentence.path}; keep one"
                )
            sentence = sentence or source
    notebooks = [source.path for source in sources if any(export.module == name for export in source.exports)]
    return docstring(sentence.doc if sentence else None, notebooks, ORIGIN)


def _path(course: Course, name: str) -> Path:
    return course.library / f"{name}.py"


def _old_text(course: Course, name: str) -> str | None:
    """What stands in minilib now. Raises where that was written by hand."""
    path = _path(course, name)
    text = read_text(path)
    if text is not None and text.strip() and not is_promoted(text):
        raise CourseError(
            f"{path.relative_to(course.root)}: is an ordinary file, not a promoted one; "
            "export to another module, or move it away"
        )
    return text


def read_text(path: Path) -> str | None:
    """The text of a file, None where there is none."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CourseError(f"{path}: cannot be read ({reason})") from None


def is_promoted(text: str) -> bool:
    """Whether the first lines say so."""
    return any(PROMOTED in line for line in text.split("\n")[:4])


def _no_longer_promoted(course: Course, texts: dict[str, str]) -> list[Path]:
    paths = sorted(course.library.glob("*.py"))
    return [path for path in paths if path.stem not in texts and is_promoted(read_text(path) or "")]
