"""`python3 -m coursekit build`: the library made of the learner's answers, and the milestone run on it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from coursekit.course import Course, chapter_number, meant
from coursekit.errors import CourseError
from coursekit.make.book import Book
from coursekit.make.exports import notebooks_in
from coursekit.make.promote import library_texts
from coursekit.mine.answers import originals, standing, tasks
from coursekit.mine.folder import write_mine
from coursekit.mine.library import Library, built, homes, in_package, locked
from coursekit.mine.milestone import run_milestone, scripts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "chapter",
        nargs="?",
        metavar="NN",
        help="run this chapter's milestone (default: of all that you have answers in)",
    )
    parser.add_argument(
        "--force", action="store_true", help="write over files in mine/ that were changed by hand"
    )


def run(course: Course, args: argparse.Namespace) -> int:
    wanted = _chapters(course, args.chapter)
    if not any(path.is_file() for path in (course.own(chapter_number(path)) for path in originals(course))):
        raise CourseError(f"{course.work}: holds no exercises yet; `make lab` puts them there")
    bases = library_texts(course)
    book, exports = Book.of(course, bases), [task.export for _, found in tasks(course) for task in found]
    asked = homes(book, exports)
    own = locked(book, exports, asked)
    print("checking your answers ...", flush=True)
    found = standing(course, wanted if args.chapter else ())
    library = built(course, bases, own, found.answers)
    found.why.update((exercise, "does not fit into the library") for exercise, _ in library.left_out)
    if not args.chapter:
        wanted &= {chapter_number(answer.cell.notebook) for answer in library.answers}
    milestones = scripts(course, wanted)
    texts = {**in_package(library.texts), **milestones}
    write_mine(course, texts, force=args.force)
    print("\n".join(table(library, asked, found.why)))
    for exercise, line in library.left_out:
        print(f"{exercise}: your answer passes its tests but does not fit into the library: {line}")
    failed = [name for name in milestones if not run_milestone(course, name)]
    return 1 if failed or library.left_out else 0


def _chapters(course: Course, asked: str | None) -> set[str]:
    """The numbers of all chapters, or of those that `asked` means: "02" is 02a and 02b."""
    numbers = sorted({chapter_number(path) for path in notebooks_in(course.chapters)})
    found = set(meant(asked, numbers) if asked else numbers)
    if asked and not found:
        raise CourseError(f"there is no chapter {asked!r}; there are: {', '.join(numbers) or 'none'}")
    return found


def table(library: Library, asked: dict[str, str], why: dict[str, str]) -> Iterator[str]:
    """Which member of the library is whose, in the chapters that were begun.

    `asked` are the names of exercises with their numbers, `why` the numbers of those that are not the
    learner's, with the reasons.
    """
    begun = {*why, *(answer.exercise for answer in library.answers)}
    rows = [row for row in _rows(library, asked) if row[1] == "yours" or row[2] in begun]
    width = max([len(name) for name, _, _ in rows], default=0)
    for name, whose, exercise in rows:
        reason = why.get(exercise, "not in your answer") if whose == "reference" else ""
        yield f"  {name:<{width}}  {whose:<9}  {exercise:<4}  {reason}".rstrip()
    yours = sum(whose == "yours" for _, whose, _ in rows)
    count = f"{yours} of the {len(rows)} parts in the chapters that you have begun are yours"
    yield f"mine/ is built; {count if rows else 'all of it is the reference: no part is yours yet'}"
    if yours < len(rows):
        yield "`python3 -m coursekit check` has hints for the rest"
    yield "use it: `cd mine`, and there `from minilib...` is your library"


def _rows(library: Library, asked: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Each part that comes from an exercise, whose it is, and the exercise; a class is named once."""
    mine = {answer.exercise for answer in library.answers}
    for module in library.modules.values():
        if not any(name.startswith(f"{module.name}:") for name in asked) and not module.placed:
            continue
        classes: dict[str, str] = {}
        for name, item in module.members():
            is_answer = item.source is not None and not item.source.is_import
            if not is_answer and f"{module.name}:{name}" not in asked:
                continue
            if not is_answer and "." not in name and asked[f"{module.name}:{name}"] in mine:
                continue  # a helper that the learner's answer, which passes, can do without
            whose = "yours" if is_answer else "reference"
            if classes.get(name.partition(".")[0]) != whose:
                yield f"{module.name}.{name}", whose, asked.get(f"{module.name}:{name}", "")
            if item.members is not None:
                classes[name] = whose
    for name, exercise in asked.items():
        file = name.partition(":")[0]
        if file.endswith(".cu"):
            yield file, "yours" if exercise in mine else "reference", exercise
