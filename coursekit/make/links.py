"""Write the links between lessons, their exercises and the next lesson: one cell each, made of the titles.

A lesson ends with the cell `next`. Exercises have the cell `back` below their opening, and end with `next`
too. All folders of the course lie side by side, here as in `work/`, so that the same links hold in both.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from coursekit.course import Course, chapter_number
from coursekit.errors import CourseError
from coursekit.make.drift import settle
from coursekit.make.exports import notebooks_in
from coursekit.notebooks import as_text, read

BACK, NEXT = "back", "next"  # the ids of the cells


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check", action="store_true", help="write nothing; show what differs, and exit with 1"
    )


def run(course: Course, args: argparse.Namespace) -> int:
    code = settle(
        course,
        made(course),
        check=args.check,
        differ="links and titles differ: run `python3 -m coursekit links`",
        same="the links are as the titles say",
    )
    if not code and not args.check:
        print("exercises/ takes its links from solutions/: run `python3 -m coursekit exercises`")
    return code


def made(course: Course) -> dict[Path, str]:
    """The texts that lessons and solutions should have."""
    lessons = notebooks_in(course.chapters)
    titles = {path: _title(path) for path in lessons}
    solutions = {chapter_number(path): path for path in notebooks_in(course.solutions)}
    texts: dict[Path, str] = {}
    for place, lesson in enumerate(lessons):
        number = chapter_number(lesson)
        after = next(iter(lessons[place + 1 :]), None)
        exercises = f"../exercises/{course.exercise(number).name}" if number in solutions else ""
        practice = [f"**Now yours**: [the exercises]({exercises})"] if exercises else []
        onward = [f"**Next chapter**: [{titles[after]}]({after.name})"] if after else []
        texts[lesson] = _with(lesson, {NEXT: practice + onward})
        if exercises:
            back = [f"**The chapter**: [{titles[lesson]}](../chapters/{lesson.name})"]
            next_one = [f"**Next chapter**: [{titles[after]}](../chapters/{after.name})"] if after else []
            texts[solutions[number]] = _with(solutions[number], {BACK: back, NEXT: back + next_one})
    return texts


def _title(path: Path) -> str:
    first = str(read(path).cells[0].source).partition("\n")[0]
    if not first.startswith("# "):
        raise CourseError(f"{path}: its first cell must begin with its title, `# ...`")
    return first.removeprefix("# ")


def _with(path: Path, wanted: dict[str, list[str]]) -> str:
    """The notebook's text with these links: `back` second, `next` last."""
    before = path.read_text(encoding="utf-8")
    notebook = read(path)
    old = [(cell.get("id"), cell.source) for cell in notebook.cells]
    kept = [cell for cell in notebook.cells if cell.get("id") not in (BACK, NEXT)]
    notebook.cells = [
        kept[0],
        *_cell(BACK, wanted.get(BACK, [])),
        *kept[1:],
        *_cell(NEXT, wanted.get(NEXT, [])),
    ]
    same = old == [(cell.get("id"), cell.source) for cell in notebook.cells]
    return before if same else as_text(notebook)


def _cell(name: str, links: list[str]) -> list[NotebookNode]:
    source = " · ".join(links)
    return [nbformat.v4.new_markdown_cell(source, id=name)] if links else []  # type: ignore[no-untyped-call]
