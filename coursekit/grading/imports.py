"""Answers that import what the grader hides: for the instructor to look at, never a verdict."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

from coursekit.course import Course
from coursekit.grading.assemble import Chapter
from coursekit.grading.sandbox import closed_under_imports, installed_parts
from coursekit.grading.submissions import Submission
from coursekit.notebooks import cuda_line

_START = r"(?m)(?:^|[;:])[ \t]*"
_NAME = r"[\w.]+(?:[ \t]+as[ \t]+\w+)?"
_IMPORT = re.compile(_START + rf"import[ \t]+({_NAME}(?:[ \t]*,[ \t]*{_NAME})*)[ \t]*(?=[;#]|$)")
_FROM = re.compile(_START + r"from[ \t]+([\w.]+)[ \t]+import[ \t]+([\w, \t]+|\([\w, \t\n]+)")
_OURS = ("minilib", "coursekit")  # packages of which a part is hidden
_CALLED = re.compile(r"(?:__import__|import_module)\(\s*[\"']([\w.]+)[\"']")


def hidden_imports(course: Course, chapter: Chapter, submissions: Iterable[Submission]) -> list[str]:
    """A line for each student whose answers import what is not there when they are graded."""
    visible = _Visible(course, chapter)
    remarks = []
    for one in submissions:
        found = []
        loans = chapter.loans(one.answers, one.added)
        beside = {f"what {key} runs with": loan.code for key, loan in loans.items()}
        for key, source in {**one.answers, **beside}.items():
            names = {} if cuda_line(source) else dict.fromkeys(imported(source))
            hidden = [f"`{name[:40]}`" for name in names if name not in visible]
            if hidden:
                found.append(f"{key} imports {' and '.join(hidden[:3])}")
        if found:
            remarks.append(f"{one.student}: {', '.join(found)}, which the grader hides; read the answer")
    return remarks


class _Visible:
    """Which modules an answer of this chapter can import."""

    def __init__(self, course: Course, chapter: Chapter) -> None:
        modules = chapter.notebook.metadata.get("coursekit", {}).get("minilib", [])
        self._minilib = {"", *closed_under_imports(course.library, modules)}
        packages = {name.partition(".")[0] for name in installed_parts()}
        self._tops = {*sys.stdlib_module_names, *packages, "warplens"}

    def __contains__(self, name: str) -> bool:
        top, _, rest = name.partition(".")
        below = rest.partition(".")[0]
        if top == "minilib":
            return below in self._minilib
        return below in ("", "box", "add_to") if top == "coursekit" else top in self._tops


def imported(source: str) -> Iterator[str]:
    """The modules that a stranger's code imports, by its lines: a syntax tree may be too deep to build."""
    for found in _IMPORT.finditer(source):
        yield from (name.split()[0] for name in found[1].split(",") if name.strip(" .\t"))
    for found in _FROM.finditer(source):
        names = [name.split()[0] for name in found[2].strip("(").split(",") if name.strip()]
        yield from (f"{found[1]}.{name}" for name in names) if found[1] in _OURS else (found[1],)
    yield from (found[1] for found in _CALLED.finditer(source))
