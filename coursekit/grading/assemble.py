"""A chapter as the grader sees it, and what it runs: the instructor's cells around given answers."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import compress
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from coursekit import given, notebooks
from coursekit.course import Course, chapter_number, meant
from coursekit.errors import CourseError
from coursekit.grading.borrowed import ADDED, Loan, loan, names_of, without_magics
from coursekit.notebooks import Cell

FUTURE = "from __future__ import annotations"
STUBS = "from coursekit.box.check import Unsolved"  # what stubs need, also where set-up cells lack it
HIDDEN_SET_UP = "hidden-setup"  # the end of the grade_id of what only hidden tests know
MEASURING = ("held", "most")  # what `coursekit.box.probe` measures memory by
SHARED = ("python", "cuda")  # the kernels of exercises that have no other, by language
HELPERS = "helpers"  # the key of the answer cell of zero points

_HEADING = re.compile(r"^#+\s+(.*?)\s*$", re.MULTILINE)
_NUMBER = re.compile(r"^(chapter\s+)?\d+[a-z]?\b[\s.:\u00b7\u2013\u2014-]*|:\s*exercises$", re.IGNORECASE)
_TIER = re.compile(r"\s*\([^()]*\)$")
_NAMED = re.compile(r"%%cuda\s+(\w+)")
_MARKER = re.compile(r"\s*#[#\s]*(?:NBVAL_|PYTEST_VALIDATE_)")


@dataclass(frozen=True)
class HiddenTest:
    """A hidden test, or a visible check where there are no hidden ones."""

    grade_id: str
    exercise: str
    points: float
    by_probe: bool = False  # each value that it shows earns its part of the points


@dataclass(frozen=True)
class Exercise:
    number: str  # "1.4"
    title: str  # "tanh"
    grade_id: str  # of its answer cell
    task: str  # Markdown
    reference: str  # the answer cell with the solution; the stub in a notebook that has none
    stub: str
    tests: tuple[HiddenTest, ...]
    cuda: str | None = None  # the line `%%cuda NAME` of an answer in CUDA C
    room: str = "python"  # the kernel that it shares with others: "python", "cuda", or that of a `Room`

    @property
    def name(self) -> str:
        return f"{self.number} {self.title}"

    @property
    def points(self) -> float:
        return sum(test.points for test in self.tests)

    def left_alone(self, answer: str | None) -> bool:
        """Whether an answer is the stub still."""
        return answer is None or _words(answer) == _words(self.stub)


@dataclass(frozen=True)
class Room:
    """A box of their own for exercises whose answer the library of the others could give.

    Its set-up: what the notebook imports from outside the library, its hidden set-up, cells of its set-up
    that are named, and one hidden cell, whose metadata says all this.
    """

    name: str  # the grade_id of that cell
    modules: tuple[str, ...]
    exercises: frozenset[str]
    cells: frozenset[str]  # the grade_ids of those that are named


@dataclass(frozen=True)
class Chapter:
    """A chapter's solution notebook (or, in a bundle without solutions, its exercise notebook)."""

    path: Path
    number: str  # "01"
    title: str
    notebook: NotebookNode = field(repr=False)
    exercises: tuple[Exercise, ...]
    helpers: str | None  # source of the helpers cell, None where there is none
    helpers_id: str | None
    visible: bool  # tests are the visible checks
    rooms: tuple[Room, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.number} {self.title}".strip()

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises)

    @property
    def libraries(self) -> dict[str, tuple[str, ...]]:
        """The modules of minilib that the answers in a room may import, by the name of the room."""
        modules = tuple(self.notebook.metadata.get("coursekit", {}).get("minilib", ()))
        return dict.fromkeys(SHARED, modules) | {one.name: one.modules for one in self.rooms}

    def rooms_for(self, cell: Cell) -> list[str]:
        """The rooms in which a cell of the set-up runs."""
        if own := room_of(cell):
            return [own.name]
        found = [room.name for room in self.rooms if cell.is_hidden_test or cell.grade_id in room.cells]
        return [*SHARED, *found]

    @property
    def answer_ids(self) -> dict[str, str]:
        """`grade_id` of an answer cell -> the key of its answer: the exercise's number, or "helpers"."""
        ids = {exercise.grade_id: exercise.number for exercise in self.exercises}
        return ids | ({self.helpers_id: HELPERS} if self.helpers_id else {})

    @cached_property
    def set_up(self) -> tuple[str, ...]:
        """The set-up cells, with what `given` gives."""
        cells = notebooks.cells(self.path, self.notebook)
        shared = [cell for cell in cells if role(cell) == "setup" and room_of(cell) is None]
        return (STUBS, *(self.spelled_out[cell.number] for cell in shared))

    @cached_property
    def spelled_out(self) -> dict[int, str]:
        """The cells of the set-up, by their number, with what `given` gives."""
        cells = notebooks.cells(self.path, self.notebook)
        return {cell.number: _spelled_out(cell) for cell in cells if role(cell) == "setup"}

    @cached_property
    def tests(self) -> dict[str, list[str]]:
        """The source of the tests, by exercise."""
        tests = {test.grade_id: test.exercise for one in self.exercises for test in one.tests}
        found: dict[str, list[str]] = {}
        for cell in notebooks.cells(self.path, self.notebook):
            if cell.grade_id in tests:
                found.setdefault(tests[cell.grade_id], []).append(cell.source)
        return found

    @cached_property
    def measuring(self) -> frozenset[str]:
        """The functions by which tests measure memory: also what the set-up defines by them."""
        found = set(MEASURING)
        for cell in self.set_up:
            for node in ast.parse(_plain(cell)).body:
                if isinstance(node, ast.FunctionDef) and found & _called(node):
                    found.add(node.name)
        return frozenset(found)

    def measures(self, test: str) -> bool:
        """Whether a test measures memory."""
        return bool(self.measuring & _called(test))

    @cached_property
    def checks(self) -> dict[str, list[str]]:
        """The source of the visible checks, by exercise."""
        found: dict[str, list[str]] = {}
        number = ""
        for cell in notebooks.cells(self.path, self.notebook):
            kind = role(cell)
            if kind == "answer":
                number = cell.exercise or ""
            elif kind == "checks" and number:
                found.setdefault(number, []).append(cell.source)
        return found

    def attempted(self, answers: Mapping[str, str]) -> set[str]:
        """The numbers of the exercises whose stub was not left alone."""
        return {one.number for one in self.exercises if not one.left_alone(answers.get(one.number))}

    def loans(self, answers: Mapping[str, str], added: Sequence[str]) -> dict[str, Loan]:
        """What answers need of each other and of `added` cells, by exercise, where they need anything."""
        done = self.attempted(answers)
        written = [one for one in self.exercises if one.number in done and not one.cuda]
        beside = [(ADDED, source) for source in reversed(added) if not notebooks.cuda_line(source)]
        helpers, made = answers.get(HELPERS, ""), {}
        for one in written:
            cells = [(other.number, answers[other.number]) for other in written if other is not one]
            needing = [answers[one.number], helpers]
            found = loan(needing, self.set_up, [*cells, *beside], self.tests[one.number])
            if found.code:
                made[one.number] = found
        return made

    def reference(self) -> dict[str, str]:
        """The instructor's answers."""
        answers = {exercise.number: exercise.reference for exercise in self.exercises}
        return answers | ({HELPERS: self.helpers} if self.helpers is not None else {})


def adopted(
    chapter: Chapter, answers: Mapping[str, str], added: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """The answers, and where a stub was left alone the last of the `added` cells that defines what it does.

    In the reader's notebook that cell took the stub's place.
    """
    made, beside = dict(answers), list(added)
    for exercise in chapter.exercises:
        if exercise.left_alone(made.get(exercise.number)):
            fitting = [source for source in beside if _stands_for(source, exercise)]
            if fitting:
                made[exercise.number] = fitting[-1]
                beside = [source for source in beside if source != fitting[-1]]
    return made, beside


def _stands_for(source: str, exercise: Exercise) -> bool:
    """Whether a cell defines all that the stub of an exercise defines."""
    line = notebooks.cuda_line(source)
    if exercise.cuda or line:
        return (
            bool(exercise.cuda and line)
            and _NAMED.findall(str(line))[:1] == _NAMED.findall(str(exercise.cuda))[:1]
        )
    stub, own = names_of(exercise.stub), names_of(source)
    wanted, there = stub.bound | stub.members, own.bound | own.members
    return bool(wanted) and wanted <= there


def _words(answer: str) -> list[str]:
    return notebooks.cuda_text(answer).split()


def find_notebook(folder: Path, chapter: str) -> Path:
    """The notebook of `chapter` ("01", "1", or a part such as "02a") in `folder`."""
    if not folder.is_dir():
        raise CourseError(f"{folder}: no such folder; it should hold {chapter}_NAME.ipynb")
    paths = sorted(folder.glob("*.ipynb"))
    numbers = meant(chapter, map(chapter_number, paths))
    found = [path for path in paths if chapter_number(path) in numbers]
    if not found:
        have = ", ".join(path.stem for path in paths) or "none"
        raise CourseError(f"{folder}: no notebook of chapter {chapter!r}; there are: {have}")
    if len(numbers) > 1:
        raise CourseError(f"chapter {chapter} has parts, {' and '.join(numbers)}: name one of them")
    if len(found) > 1:
        raise CourseError(
            f"{folder}: two notebooks of chapter {chapter}: {found[0].name} and {found[1].name}; keep one"
        )
    return found[0]


def load_chapter(path: Path, *, visible: bool = False) -> Chapter:
    """The chapter in the notebook at `path`, with its hidden tests, or with its visible checks as tests."""
    notebook = notebooks.read(path)
    number = chapter_number(path)
    reader = _Reader(path, visible)
    for cell in notebooks.cells(path, notebook):
        reader.take(cell)
    if not reader.exercises:
        raise CourseError(
            f"{path}: has no exercise; an answer cell is one with solution: true and a grade_id"
        )
    return Chapter(
        path,
        number,
        _title(notebook),
        notebook,
        tuple(reader.finished()),
        reader.helpers,
        reader.helpers_id,
        visible,
        tuple(reader.rooms),
    )


def load_for_learners(course: Course, number: str) -> Chapter:
    """A chapter with its hidden tests where there are solutions, else with its visible checks."""
    visible = not meant(number, map(chapter_number, course.solutions.glob("*.ipynb")))
    folder = course.exercises if visible else course.solutions
    return load_chapter(find_notebook(folder, number), visible=visible)


def role(cell: Cell) -> str:
    """What a cell is for: text, answer, checks (visible), hidden (a hidden test) or setup."""
    if not cell.is_code:
        return "text"
    if cell.is_answer:
        return "answer"
    if cell.is_hidden_test:
        return "setup" if (cell.grade_id or "").endswith(HIDDEN_SET_UP) else "hidden"
    return "checks" if cell.nbgrader.get("grade") else "setup"


def room_of(cell: Cell) -> Room | None:
    """The room whose set-up a cell is."""
    about = cell.node.metadata.get("coursekit", {})
    if role(cell) != "setup" or "exercises" not in about:
        return None
    exercises, named = frozenset(about["exercises"]), frozenset(about.get("setup", ()))
    return Room(cell.grade_id or "", tuple(about["minilib"]), exercises, named)


class _Reader:
    """Takes a chapter's cells in order and keeps what belongs to which exercise."""

    def __init__(self, path: Path, visible: bool) -> None:
        self.path, self.tested = path, "checks" if visible else "hidden"
        self.exercises: list[Exercise] = []
        self.tests: dict[str, list[HiddenTest]] = {}
        self.helpers: str | None = None
        self.helpers_id: str | None = None
        self.rooms: list[Room] = []
        self._texts: list[str] = []
        self._seen: set[str] = set()

    def take(self, cell: Cell) -> None:
        kind = role(cell)
        if kind == "text":
            self._texts.append(cell.source)
        if kind in ("answer", "hidden", "checks"):
            self._name_once(cell)
        if room := room_of(cell):
            self.rooms.append(room)
        elif kind == "answer":
            self._answer(cell)
        elif kind == self.tested:
            self._test(cell)

    def finished(self) -> list[Exercise]:
        rooms = {number: room.name for room in self.rooms for number in room.exercises}
        return [
            replace(
                one,
                tests=tuple(self.tests[one.number]),
                room="cuda" if one.cuda else rooms.get(one.number, "python"),
            )
            for one in self.exercises
        ]

    def _name_once(self, cell: Cell) -> None:
        if not cell.grade_id:
            raise CourseError(f"{cell.where()}: has no grade_id; give it one that no other cell has")
        if cell.grade_id in self._seen:
            raise CourseError(f"{cell.where()}: another cell has grade_id {cell.grade_id!r}; rename one")
        self._seen.add(cell.grade_id)

    def _answer(self, cell: Cell) -> None:
        source = notebooks.strip_markers(cell.source, notebooks.solution_markers(cell.source))
        number = cell.exercise
        if number is None:
            if cell.grade_id != HELPERS:
                raise CourseError(
                    f"{cell.where()}: an answer cell begins with a line such as `# exercise: 1.4`"
                )
            self.helpers, self.helpers_id = source, cell.grade_id
            return
        if number in self.tests:
            raise CourseError(f"{cell.where()}: exercise {number} has two answer cells; join them")
        title, task = _task(self._texts, number)
        stub, cuda = notebooks.stubbed(cell.source), notebooks.cuda_line(cell.source)
        self.exercises.append(Exercise(number, title, str(cell.grade_id), task, source, stub, (), cuda))
        self.tests[number] = []
        self._texts = []

    def _test(self, cell: Cell) -> None:
        if not self.exercises:
            raise CourseError(f"{cell.where()}: a test stands after the answer cell that it tests")
        number = self.exercises[-1].number
        self.tests[number].append(HiddenTest(str(cell.grade_id), number, cell.points, cell.by_probe))


def _task(texts: list[str], number: str) -> tuple[str, str]:
    """Title and text of an exercise, from the Markdown cells above its answer."""
    start = next(
        (i for i in reversed(range(len(texts))) if re.match(rf"#+\s+{re.escape(number)}\b", texts[i])), None
    )
    if start is None:
        return f"exercise {number}", texts[-1] if texts else ""
    heading = _HEADING.match(texts[start])
    title = _TIER.sub("", heading[1]).removeprefix(number).strip() if heading else ""
    return title or f"exercise {number}", "\n\n".join(texts[start:])


def _title(notebook: NotebookNode) -> str:
    """The first heading, without the number."""
    for cell in notebook.cells:
        found = _HEADING.search(cell.source) if cell.cell_type == "markdown" else None
        if found:
            return _NUMBER.sub("", found[1])
    return ""


def assemble(chapter: Chapter, answers: Mapping[str, str], added: Sequence[str] = ()) -> NotebookNode:
    """The instructor's notebook with `answers` (by exercise or "helpers"), the stub where one is missing.

    Before an answer stands what it needs of the others and of `added` cells.

    Code cells alone, without outputs. Each carries `metadata.coursekit`: role, exercise, grade_id, points;
    a hidden test the `room` that it runs in, a set-up the `rooms` that it is for. The notebook's has the
    modules of each room, `libraries`.
    """
    stubs = {"role": "setup", "exercise": None, "grade_id": "", "points": 0, "rooms": [*chapter.libraries]}
    made = [_code(STUBS, "coursekit-stubs", stubs)]
    if chapter.rooms:
        imports = imports_from_outside(chapter.set_up)
        for_rooms = {"rooms": [room.name for room in chapter.rooms], "gives": sorted(given_by(imports))}
        made.append(_code(imports, "coursekit-imports", stubs | for_rooms))
    exercises = {exercise.grade_id: exercise for exercise in chapter.exercises}
    by_number = {exercise.number: exercise for exercise in chapter.exercises}
    loans = chapter.loans(answers, added)
    tests = {test.grade_id: test for exercise in chapter.exercises for test in exercise.tests}
    for cell in notebooks.cells(chapter.path, chapter.notebook):
        kind, name = role(cell), cell.grade_id or ""
        if kind == "setup":
            made.append(_cell(cell, chapter.spelled_out[cell.number], kind))
            made[-1].metadata["coursekit"]["rooms"] = chapter.rooms_for(cell)
            made[-1].metadata["coursekit"]["gives"] = sorted(given_by(chapter.spelled_out[cell.number]))
        elif kind == "answer" and name in exercises:
            exercise = exercises[name]
            source = disarm(answers.get(exercise.number, exercise.stub))
            if exercise.number in loans:
                borrowed = {"role": "borrowed", "exercise": exercise.number, "grade_id": "", "points": 0}
                made.append(_code(disarm(loans[exercise.number].code), f"borrowed-{len(made)}", borrowed))
            if exercise.cuda:  # the line with the magic is ours: what follows is never Python
                source = f"{exercise.cuda}\n{notebooks.cuda_text(source)}"
            made.append(_cell(cell, source, kind, exercise.number))
            made[-1].metadata["coursekit"]["about"] = sorted(subjects(exercise.reference))
        elif kind == "answer":
            made.append(_cell(cell, disarm(answers.get(HELPERS, "")), kind))
        elif name in tests:
            test = tests[name]
            made.append(_cell(cell, cell.source, "hidden", test.exercise, test.points))
            made[-1].metadata["coursekit"]["room"] = by_number[test.exercise].room
            made[-1].metadata["coursekit"]["measures"] = chapter.measures(cell.source)
            made[-1].metadata["coursekit"]["visible"] = chapter.checks.get(test.exercise, [])
    return _node({"nbformat": 4, "nbformat_minor": 5, "metadata": _metadata(chapter), "cells": made})


def testing(notebook: NotebookNode, exercises: Collection[str]) -> NotebookNode:
    """What `assemble` made, with the hidden tests of `exercises` alone."""
    about = [cell.metadata["coursekit"] for cell in notebook.cells]
    kept = [one["role"] != "hidden" or one["exercise"] in exercises for one in about]
    notebook.cells = [*compress(notebook.cells, kept)]
    return notebook


def _spelled_out(cell: Cell) -> str:
    """A cell of the set-up with what `given` gives: the files that it reads hold answers."""
    folders = [folder / "minilib" for folder in cell.notebook.resolve().parents]
    library = next((folder for folder in folders if folder.is_dir()), None)
    try:
        return given.spelled_out(cell.source, library or given.installed_library())
    except (SyntaxError, ValueError) as error:
        raise CourseError(f"{cell.where()}: {error}") from None


@lru_cache(maxsize=50)
def imports_from_outside(set_up: tuple[str, ...]) -> str:
    """The imports of set-up cells that are not of the library."""
    found = {FUTURE: None}
    for cell in set_up:
        for node in ast.parse(_plain(cell)).body:
            line = ast.unparse(node) if isinstance(node, ast.Import | ast.ImportFrom) else ""
            if line and not re.match(r"\w+ minilib\b", line):
                found[line] = None
    return "\n".join(found)


def _plain(cell: str) -> str:
    """The Python of a cell."""
    lines = [] if notebooks.cuda_line(cell) else cell.split("\n")
    return "\n".join(line for line in lines if not line.startswith(("%", "!")))


@lru_cache(maxsize=500)
def _called(source: str | ast.AST) -> set[str]:
    """The names that are called in a cell; none where it cannot be read."""
    try:
        tree = ast.parse(_plain(source)) if isinstance(source, str) else source
    except SyntaxError:  # its run says so
        return set()
    calls = (one.func for one in ast.walk(tree) if isinstance(one, ast.Call))
    return {called.id for called in calls if isinstance(called, ast.Name)}


@lru_cache(maxsize=500)
def given_by(source: str) -> frozenset[str]:
    """The names that a cell binds at its top level, those that it imports and CUDA's among them."""
    symbols = _symbols(_plain(source))
    line = notebooks.cuda_line(source) or ""
    return frozenset(
        [
            *(name.get_name() for name in symbols if name.is_assigned() or name.is_imported()),
            *line.split()[1:2],
        ]
    )


@lru_cache(maxsize=500)
def bound(source: str) -> frozenset[str]:
    """The names that a cell binds at its top level, those that it imports aside."""
    symbols = _symbols(source)
    return frozenset(name.get_name() for name in symbols if name.is_assigned() and not name.is_imported())


def _symbols(source: str) -> list[symtable.Symbol]:
    try:
        return symtable.symtable(source, "cell", "exec").get_symbols()
    except SyntaxError:
        return []


@lru_cache(maxsize=500)
def subjects(reference: str) -> frozenset[str]:
    """The names that an answer may give another meaning in its hidden tests, as `reference` does.

    Those that it binds, and the classes to which it adds: an answer may also bind a class of its own there.
    """
    line = notebooks.cuda_line(reference)
    if line:
        return frozenset([*line.split()[1:2], *re.findall(r"__global__[^(]*?(\w+)\s*\(", reference)])
    try:
        tree = ast.parse(reference)
    except SyntaxError:
        return frozenset()
    extended = {
        ast.unparse(node.args[0]).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "add_to" and node.args
    }
    changed = {
        ast.unparse(node.value).split(".")[0]
        for statement in tree.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return bound(reference) | extended | changed


def _metadata(chapter: Chapter) -> dict[str, Any]:
    """Only what the runner needs, and a fixed kernel: a notebook does not choose what runs it."""
    return {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "coursekit": {**chapter.notebook.metadata.get("coursekit", {}), "libraries": chapter.libraries},
    }


def _cell(
    cell: Cell,
    source: str,
    kind: str,
    exercise: str | None = None,
    points: float = 0,
) -> NotebookNode:
    about: dict[str, Any] = {
        "role": kind,
        "exercise": exercise,
        "grade_id": cell.grade_id or "",
        "points": points,
    }
    source = notebooks.strip_markers(source, notebooks.HIDDEN)
    if seconds := cell.node.metadata.get("coursekit", {}).get("timeout"):  # of this cell alone
        about["timeout"] = seconds
    if cell.is_hidden_test:
        about["binds"] = sorted(bound(cell.source))  # what `given` gives is for answers too
    return _code(source, cell.node.get("id") or f"cell-{cell.number}", about)


def _code(source: str, name: str, about: dict[str, Any]) -> NotebookNode:
    return _node(
        {
            "cell_type": "code",
            "id": name,
            "metadata": {"coursekit": about},
            "execution_count": None,
            "outputs": [],
            "source": source,
        }
    )


def _node(data: dict[str, Any]) -> NotebookNode:
    """A notebook node, without nbformat's validation of each cell: that takes longer than the grading."""
    return nbformat.from_dict(data)  # type: ignore[no-any-return, no-untyped-call]


def disarm(source: str) -> str:
    """`source` with the comments that steer nbval turned into comments that do not, and without magics that
    install or time something."""
    lines = (source if notebooks.cuda_line(source) else without_magics(source)).splitlines(keepends=True)
    return "".join(
        re.sub(r"(NBVAL|PYTEST)_", r"\1-", line) if _MARKER.match(line) else line for line in lines
    )
