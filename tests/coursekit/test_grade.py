"""`coursekit grade` on a class of strangers: points, words, hints, refusals, files that tell nothing."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import tiny_course as tiny
from jinja2 import UndefinedError
from replay import Replay

from coursekit import __main__ as command
from coursekit import notebooks
from coursekit.errors import CourseError
from coursekit.grading import control, gradebook, hints, submissions, wording
from coursekit.grading.assemble import assemble, disarm, find_notebook, load_chapter
from coursekit.grading.compare import against
from coursekit.grading.misconceptions import Misconception
from coursekit.grading.model import CellRun, NotebookRun, Probe
from coursekit.grading.page import page
from coursekit.grading.results import Measure
from coursekit.grading.sandbox import Box
from coursekit.grading.state import State

pytestmark = pytest.mark.slow

SEED = 7
REFERENCE = tiny.reference_answers()
WRONG = re.findall(r"# %% exercise=(\S+) hint=.*\n((?:(?!# %%).*\n)+)", tiny.MISCONCEPTIONS)
HINTS = list(tiny.HINTS.values())


def wrong(number: int) -> dict[str, str]:
    """The reference with the misconception of this number."""
    exercise, source = WRONG[number]
    return REFERENCE | {exercise: source}


# A class


def _split() -> Any:
    """JupyterLab's *Split Cell* copies the metadata."""
    made = tiny.submission(REFERENCE)
    at = next(i for i, cell in enumerate(made.cells) if cell.source == tiny.DOUBLE)
    half = json.loads(json.dumps(made.cells[at]))
    made.cells[at].source = "# exercise: 1.1\ndef double(x):\n    y = 2 * x"
    half["source"] = "    return y"
    made.cells.insert(at + 1, half)
    return made


def _without_metadata() -> Any:
    """nbformat 4.0 from an editor that keeps nothing but the text."""
    made = json.loads(json.dumps(tiny.submission(REFERENCE | {"helpers": "# helpers\nTWO = 2"})))
    made["metadata"], made["nbformat_minor"] = {}, 0
    for cell in made["cells"]:
        cell["metadata"] = {}
        cell.pop("id")
        cell["source"] = cell["source"].replace("2 * x", "TWO * x").splitlines(keepends=True)
    return made


def _helper_in_an_added_cell(more: str = "") -> Any:
    made = tiny.submission(REFERENCE | {"1.1": "# exercise: 1.1\ndef double(x):\n    return twice(x)"})
    made.cells.insert(5, tiny.code(f"def twice(x):\n    return 2 * x\n{more}"))
    return made


def _edited_tests() -> Any:
    """Test cells replaced by others of the same name."""
    made = tiny.submission(wrong(0))
    for cell in made.cells:
        if cell.source.startswith("assert"):
            cell.source = "pass"
    forged = 'from coursekit.box.probe import probe\nprobe("value", 1.0)\nprobe("of an array", 1.0)'
    made.cells.append(tiny.code(forged, tiny.meta("double-hidden", grade=True, points=100)))
    return made


def _scripts() -> Any:
    """HTML wherever a student can write it."""
    attack = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    made = tiny.submission(REFERENCE | {"1.1": f'# exercise: 1.1\n# {attack}\nx = """{attack}"""'})
    made.cells.insert(1, tiny.text(attack))
    made.cells.append(tiny.code(f'print("{attack}")'))
    made.cells[-1].outputs = [{"output_type": "display_data", "metadata": {}, "data": {"text/html": attack}}]
    return made


def _leaks() -> Any:
    """Answers that say what they can see of the hidden test."""
    look = "get_ipython().user_ns"
    return tiny.submission(
        {
            "1.1": f"# exercise: 1.1\ndef double(x):\n    raise ValueError(repr({look}))",
            "1.2": "# exercise: 1.2\ndef unbroadcast(grad, shape):\n"
            "    return type('rng_normal_' + str(shape).strip('(),').replace(', ', '_'), (), {})()",
            "1.3": "# exercise: 1.3\nclass Secret(Exception): pass\nSecret.__name__ = 'probe_order'\n"
            "def order(graph):\n    raise Secret(graph)",
        }
    )


CLASS = {
    "right": tiny.submission(REFERENCE),
    "other": tiny.submission(tiny.ALTERNATIVES),
    "empty": tiny.submission(),
    "half": tiny.submission({"1.1": tiny.DOUBLE}),
    **{f"wrong {number}": tiny.submission(wrong(number)) for number in range(len(WRONG))},
    "split": _split(),
    "lost": _without_metadata(),
    "added": _helper_in_an_added_cell(),
    "spoilt": _helper_in_an_added_cell("this is no Python"),
    "debugged": tiny.submission(REFERENCE | {"1.1": f"{tiny.DOUBLE}\nprint(double(3))\ngone(4)"}),
    "edited": _edited_tests(),
    "scripts": _scripts(),
    "leaks": _leaks(),
    "marked": tiny.submission(
        REFERENCE | {"1.1": "# exercise: 1.1\n# NBVAL_SKIP\n# NBVAL_RAISES_EXCEPTION\n1 / 0"}
    ),
    "planted": tiny.submission(REFERENCE),
    "=cmd()": tiny.submission({"1.1": tiny.DOUBLE}),
    "Zoë Müller-Ångström": tiny.submission({"1.1": tiny.DOUBLE}),
}
POINTS = {
    "right": "2 3 2",
    "other": "2 3 2",
    "empty": "0 0 0",
    "half": "2 0 0",
    "wrong 0": "0 3 2",
    "wrong 1": "2 1 2",
    "wrong 2": "2 1 2",
    "wrong 3": "2 3 0",
    "split": "2 3 2",
    "lost": "2 3 2",
    "added": "2 3 2",
    "spoilt": "0 3 2",
    "debugged": "2 3 2",
    "edited": "0 3 2",
    "scripts": "0 3 2",
    "leaks": "0 0 0",
    "marked": "0 3 2",
    "planted": "2 3 2",
    "'=cmd()": "2 0 0",
    "Zoë Müller-Ångström": "2 0 0",
}


def _plant(folder: Path) -> None:
    """Files beside a notebook that pytest or Python would run, if they saw them."""
    act = f"open({str(folder.parent.parent / 'planted was here')!r}, 'w')\nraise SystemExit\n"
    for name in ("conftest.py", "sitecustomize.py", "usercustomize.py", "numpy.py", "probe.py"):
        (folder / name).write_text(act)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")


def _refused(folder: Path) -> None:
    """Files that are no submissions, one for each way of being none."""
    (folder / "damaged.ipynb").write_text('{"cells": [')
    (folder / "nested.ipynb").write_text("[" * 100_000)
    with open(folder / "large.ipynb", "wb") as file:
        file.truncate(100_000_000)
    (folder / "old.ipynb").write_text('{"nbformat": 3, "worksheets": []}')
    (folder / "listed.ipynb").write_text("[1, 2]")
    (folder / "binary.ipynb").write_bytes(b"\x80\x81\xff")
    os.symlink("/etc/passwd", folder / "link.ipynb")
    os.symlink(folder / "right", folder / "linked folder")
    (folder / "inner").mkdir()
    os.symlink(folder / "right" / "01_tiny.ipynb", folder / "inner" / "01_tiny.ipynb")
    os.mkfifo(folder / "pipe.ipynb")
    (folder / "nothing").mkdir()
    elsewhere = tiny.submission(REFERENCE)
    elsewhere.metadata["coursekit"]["chapter"] = "02"
    tiny.submit(folder, "elsewhere", elsewhere)
    tiny.submit(folder, "unrelated", tiny.notebook(tiny.code("1 + 1")))
    shutil.copy(folder / "right" / "01_tiny.ipynb", folder / "new\nline.ipynb")
    shutil.copy(folder / "right" / "01_tiny.ipynb", folder / "up\\..\\etc.ipynb")
    (folder / "notes.txt").write_text("no submission")


REFUSED = {
    "damaged": "not JSON",
    "nested": "not JSON",
    "large": "larger than 10 MB",
    "old": "nbformat 3, not 4",
    "listed": "no nbformat",
    "binary": "not JSON",
    "link": "symbolic link",
    "linked folder": "symbolic link",
    "inner": "symbolic link",
    "pipe": "not a file",
    "nothing": "no notebook",
    "elsewhere": "of chapter 02, not 01",
    "unrelated": "no answer cell of chapter 01",
    "new\\nline": "characters that cannot be printed",
    "up\\..\\etc": "its name is a path",
}


class Graded:
    """One run of the command on the class."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.course = tiny.make_tiny_course(root / "the course")
        self.submissions = root / "hand in"
        self.submissions.mkdir()
        for student, made in CLASS.items():
            tiny.submit(self.submissions, student, made)
        _plant(self.submissions / "planted")
        _refused(self.submissions)
        self.out = root / "out"

    def grade(self, out: Path, *more: str, private: bool = True) -> int:
        where = ["--course", str(self.course.root), "grade", "01", str(self.submissions)]
        solutions = ["--solutions", str(self.course.solutions)] if private else []
        return command.main([*where, "--out", str(out), "--sandbox", SANDBOX, *solutions, *more])

    def rows(self) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO((self.out / "grades_long.csv").read_text(encoding="utf-8"))))

    def verdicts(self, student: str) -> list[str]:
        return [row["verdict"] for row in self.rows() if row["student"] == student]

    def page(self, student: str) -> str:
        return (self.out / "feedback" / student / "01.html").read_text(encoding="utf-8")

    def tree(self) -> dict[str, str]:
        """What the submissions' folder holds, with times."""
        found = {}
        for path in sorted(self.submissions.rglob("*")):
            about = path.lstat()
            small = path.is_file() and not path.is_symlink() and about.st_size < 10**6
            content = hashlib.sha256(path.read_bytes()).hexdigest() if small else ""
            found[str(path)] = f"{about.st_mtime_ns} {about.st_size} {content}"
        return found


def _sandbox() -> str:
    try:
        Box.required()
        return "required"
    except CourseError:
        return "off"


SANDBOX = _sandbox()


@pytest.fixture(scope="module")
def replay() -> Iterator[Replay]:
    with pytest.MonkeyPatch.context() as patch:
        stand_in = Replay()
        patch.setattr(control, "run_notebooks", stand_in)
        yield stand_in


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, replay: Replay) -> Graded:
    made = Graded(tmp_path_factory.mktemp("a class"))
    made.before = made.tree()  # type: ignore[attr-defined]
    made.code = made.grade(made.out, "--seed", str(SEED))  # type: ignore[attr-defined]
    return made


# Points


def test_each_student_earns_what_the_answers_deserve(graded: Graded) -> None:
    points: dict[str, list[str]] = {}
    for row in graded.rows():
        if not row["verdict"].startswith("not graded"):
            points.setdefault(row["student"], []).append(row["points"])
    assert {student: " ".join(each) for student, each in points.items()} == POINTS


def test_columns_and_maxima(graded: Graded) -> None:
    rows = [row for row in graded.rows() if row["student"] == "right"]
    assert [list(row.values())[:6] for row in rows] == [
        ["right", "1.1", "2", "2", "passed", ""],
        ["right", "1.2", "3", "3", "passed", ""],
        ["right", "1.3", "2", "2", "passed", ""],
    ]


def test_the_untouched_exercise_is_not_solved_yet(graded: Graded) -> None:
    assert graded.verdicts("empty") == ["not solved yet"] * 3


def test_verdicts_are_words(graded: Graded) -> None:
    assert graded.verdicts("wrong 0")[0].startswith("value: differs from the expected by ")
    assert graded.verdicts("wrong 1")[1] == "broadcast: expected shape (4,), got (3, 4)"
    assert graded.verdicts("wrong 2")[1] == "size 1: expected shape (3, 1), got (3,)"
    assert re.fullmatch(r"order: \d nodes stand before one of their inputs", graded.verdicts("wrong 3")[2])


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_each_misconception_earns_its_hint_and_no_other(graded: Graded, number: int) -> None:
    page = graded.page(f"wrong {number}")
    assert [hint for hint in HINTS if hint in page] == [HINTS[number]]


def test_a_helper_in_an_added_cell_runs_with_the_answer_and_is_named(graded: Graded) -> None:
    assert "It ran together with <code>twice</code> of a cell that you added." in graded.page("added")
    assert "ran together" not in graded.page("right")


def test_a_helper_that_cannot_be_taken_along_is_told_where_it_belongs(graded: Graded) -> None:
    assert graded.verdicts("spoilt")[0] == "stopped with NameError: name 'twice' is not defined"
    assert "<code>twice</code> is defined in a cell that you added" in graded.page("spoilt")


def test_an_error_after_the_definitions_costs_nothing_and_is_told(graded: Graded) -> None:
    said = "Its cell stopped with NameError: name &#39;gone&#39; is not defined, after what was graded."
    assert said in graded.page("debugged").replace("&#x27;", "&#39;")


def test_nbval_markers_in_an_answer_do_nothing(graded: Graded) -> None:
    assert graded.verdicts("marked")[0] == "stopped with ZeroDivisionError: division by zero"


# Refusals


@pytest.mark.parametrize("student, reason", REFUSED.items())
def test_a_bad_submission_is_one_line_and_no_points(graded: Graded, student: str, reason: str) -> None:
    rows = [row for row in graded.rows() if row["student"] == student]
    assert [row["points"] for row in rows] == ["0"] * 3
    assert all(row["verdict"].startswith("not graded: ") and reason in row["verdict"] for row in rows)


def test_the_class_goes_on_and_the_exit_code_asks_for_attention(graded: Graded) -> None:
    assert graded.code == 1  # type: ignore[attr-defined]
    assert len({row["student"] for row in graded.rows()}) == len(CLASS) + len(REFUSED)


def test_nothing_is_written_into_the_submissions(graded: Graded) -> None:
    assert graded.tree() == graded.before  # type: ignore[attr-defined]


# Files


def test_a_name_is_no_formula_and_no_path(graded: Graded) -> None:
    assert "=cmd()" not in {row["student"] for row in graded.rows()}
    folders = {path.name for path in (graded.out / "feedback").iterdir()}
    assert len(folders) == len(CLASS) + len(REFUSED)
    assert all(re.fullmatch(r"[\w .@+-]+", name) for name in folders)
    assert {path.name for path in graded.root.iterdir()} == {"the course", "hand in", "out"}


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "\uff1d1", "|x"])
def test_what_a_spreadsheet_would_run_is_quoted(cell: str) -> None:
    assert gradebook.inert(cell) == f"'{cell}"


class Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}
        self.links |= {value or "" for name, value in attributes if name in ("href", "src")}


def test_nothing_in_a_page_runs_in_a_browser(graded: Graded) -> None:
    pages = [*graded.out.glob("feedback/*/*.html"), graded.out / "report.html"]
    for path in pages:
        found = Tags(path.read_text(encoding="utf-8"))
        assert not found.tags & {
            "script",
            "img",
            "iframe",
            "object",
            "embed",
            "link",
            "base",
            "form",
            "input",
        }
        assert not [name for name in found.attributes if name.startswith("on")]
        assert all(link.startswith(("#exercise-", "feedback/")) for link in found.links)
        assert "default-src &#x27;none&#x27;" in path.read_text() or "default-src 'none'" in path.read_text()


@pytest.mark.parametrize("template", ["feedback.html", "report.html"])
def test_a_page_without_one_of_its_values_is_an_error_and_no_gap(template: str) -> None:
    with pytest.raises(UndefinedError):
        page(template)


def test_feedback_shows_no_hidden_source_input_or_output(graded: Graded) -> None:
    lines = [line for body in tiny.HIDDEN.values() for line in body.splitlines()]
    for path in graded.out.glob("feedback/*/*.html"):
        page = path.read_text(encoding="utf-8")
        assert not [line for line in lines if line in page]
        assert "rng.normal" not in page
    assert graded.verdicts("leaks") == [
        "stopped with ValueError",
        "broadcast: expected an array of shape (4,), got an object of another type; "
        "same: expected an array of shape (2, 5), got an object of another type",
        "stopped with an exception that is not one of Python's usual ones",
    ]


def test_with_public_solutions_feedback_says_what_errors_and_shapes_say(
    graded: Graded, tmp_path: Path
) -> None:
    graded.grade(tmp_path / "out", "--seed", str(SEED), private=False)
    said = (tmp_path / "out" / "grades_long.csv").read_text(encoding="utf-8")
    rows = {(row["student"], row["exercise"]): row for row in csv.DictReader(io.StringIO(said))}
    assert rows["leaks", "1.1"]["verdict"].startswith("stopped with ValueError: {'")
    assert rows["leaks", "1.3"]["verdict"].startswith("stopped with probe_order: ")
    points = {(row["student"], row["exercise"]): row["points"] for row in graded.rows()}
    assert {key: row["points"] for key, row in rows.items()} == points


def test_feedback_shows_the_task_and_the_answer(graded: Graded) -> None:
    page = graded.page("wrong 1")
    assert "Sum over the axes of" in page and "<summary>The idea</summary>" in page
    assert re.search(r'<span class="nf">unbroadcast</span>', page)
    assert "Give back <strong>twice</strong>" in page


def test_junit_counts_every_exercise(graded: Graded) -> None:
    suites = ElementTree.parse(graded.out / "junit.xml").getroot()
    by_name = {suite.get("name"): suite for suite in suites}
    assert len(by_name) == len(CLASS) + len(REFUSED)
    assert by_name["wrong 1"].get("failures") == "1" and len(by_name["wrong 1"]) == 3
    assert by_name["damaged"].get("errors") == "3"


def test_the_report_has_seed_distribution_misconceptions_and_links(graded: Graded) -> None:
    page = (graded.out / "report.html").read_text(encoding="utf-8")
    assert f"seed {SEED}" in page and "<svg" in page
    assert all(hint in page for hint in HINTS)
    assert all(reason in page for reason in ("larger than 10 MB", "notes.txt: passed over"))
    links = {link for link in Tags(page).links if link.startswith("feedback/")}
    assert len(links) == len(CLASS) + len(REFUSED)


# Again


def _files(out: Path) -> dict[str, bytes]:
    kept = [out / "grades.csv", out / "grades_long.csv", *out.glob("feedback/*/*.html")]
    return {str(path.relative_to(out)): path.read_bytes() for path in kept}


def test_an_interrupted_run_continues_with_its_seed_and_gives_the_same_bytes(
    graded: Graded, replay: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "again"
    saved = []
    save = State.save

    def stop_after_three(self: State, name: str, run: NotebookRun) -> None:
        save(self, name, run)
        saved.append(name)
        if len(saved) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(State, "save", stop_after_three)
    assert graded.grade(out, "--seed", str(SEED)) == 130
    assert not (out / "grades.csv").exists()
    monkeypatch.setattr(State, "save", save)
    replay.asked.clear()
    assert graded.grade(out) == 1  # no seed: it goes on with the interrupted one
    begun = len(CLASS) - 1  # there is nothing to run of the empty one
    assert len([name for name in replay.asked if re.fullmatch(r"n\d+", name)]) == begun - 3
    assert _files(out) == _files(graded.out)
    assert not (out / ".coursekit" / "runs").exists()


def test_a_folder_of_other_files_is_left_alone(graded: Graded, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "grades.csv").write_text("mine")
    assert graded.grade(tmp_path) == 2
    assert "holds other files than grades" in capsys.readouterr().err
    assert (tmp_path / "grades.csv").read_text() == "mine"


def test_the_grades_of_another_chapter_are_left_alone(tmp_path: Path) -> None:
    with closing(State(tmp_path, "01", "key", None)) as state:
        state.finish()
    with pytest.raises(CourseError, match="holds the grades of chapter 01"):
        State(tmp_path, "02", "key", None)


def _saved_run(out: Path, key: str, seed: int | None) -> NotebookRun | None:
    with closing(State(out, "01", key, seed)) as state:
        return state.load("x")


def test_a_finished_run_begins_afresh_and_a_changed_solution_too(tmp_path: Path) -> None:
    with closing(State(tmp_path, "01", "key", 5)) as first:
        first.save("x", NotebookRun("x"))
    assert _saved_run(tmp_path, "key", None) == NotebookRun("x")
    assert _saved_run(tmp_path, "other key", 5) is None
    with closing(State(tmp_path, "01", "key", None)) as second:
        second.finish()
    with closing(State(tmp_path, "01", "key", 5)) as third:
        assert not third.continued


@pytest.mark.parametrize("key, seed", [("key", 6), ("other key", 5)])
def test_a_saved_run_is_read_back_at_its_own_seed_and_tests_alone(
    tmp_path: Path, key: str, seed: int
) -> None:
    with closing(State(tmp_path, "01", "key", 5)) as state:
        state.save("x", NotebookRun("x"))
        state.seed, state.key = seed, key  # as if another run had left its files here
        assert state.load("x") is None


def test_one_grading_at_a_time_writes_into_a_folder(tmp_path: Path) -> None:
    with closing(State(tmp_path, "01", "key", 5)) as state:
        state.save("x", NotebookRun("x"))
        with pytest.raises(CourseError) as refused:
            State(tmp_path, "01", "key", 6)
        assert str(refused.value) == (
            f"{tmp_path}: another grading (process {os.getpid()}) is writing into this folder; wait until it "
            "ends, or choose another folder"
        )
        assert state.load("x") == NotebookRun("x")
    assert _saved_run(tmp_path, "key", 6) is None


# The control


def _shown(value: float, status: str = "ok") -> NotebookRun:
    tests = [("double", "1.1"), ("unbroadcast", "1.2"), ("unbroadcast", "1.2"), ("order", "1.3")]
    names = ["double-hidden", "unbroadcast-hidden", "unbroadcast-hidden-2", "order-hidden"]
    probe = Probe("value", {"float": value.hex()})
    return NotebookRun(
        "any",
        tuple(
            CellRun(name, exercise, status, (probe,) if status == "ok" else ())
            for name, (_, exercise) in zip(names, tests, strict=True)
        ),
    )


@pytest.mark.parametrize(
    "reference, again, empty, message",
    [
        (
            _shown(1.0, "error"),
            _shown(1.0),
            _shown(0.0, "error"),
            "the reference does not pass double-hidden",
        ),
        (_shown(1.0), _shown(2.0), _shown(0.0, "error"), "when it runs twice at one seed"),
        (_shown(1.0), _shown(1.0), _shown(1.0), "the empty notebook passes double-hidden"),
        (NotebookRun("any"), _shown(1.0), _shown(1.0), "the reference does not pass double-hidden"),
    ],
    ids=["broken", "varies", "empty", "nothing"],
)
def test_a_broken_set_up_stops_the_run(
    graded: Graded,
    monkeypatch: pytest.MonkeyPatch,
    reference: NotebookRun,
    again: NotebookRun,
    empty: NotebookRun,
    message: str,
) -> None:
    runs = {"reference": reference, "reference-again": again, "empty": empty}
    monkeypatch.setattr(control.Conditions, "run", lambda self, made: {n: runs.get(n, empty) for n in made})
    chapter = load_chapter(find_notebook(graded.course.solutions, "01"))
    object.__setattr__(chapter, "path", graded.root / "01_other.ipynb")  # a chapter without judges
    with pytest.raises(CourseError, match=message):
        control.control(chapter, control.Conditions(graded.course, 1, Box.off(), 1))


@pytest.mark.parametrize("grade_id", ["double-hidden", "order-hidden"])
def test_a_judge_and_points_by_probe_exclude_each_other(tmp_path: Path, grade_id: str) -> None:
    path = find_notebook(tiny.make_tiny_course(tmp_path).solutions, "01")
    made = tiny.solution_notebook()
    cells = {cell.grade_id: cell for cell in notebooks.cells(path, made)}
    cells[grade_id].node.metadata["coursekit"] = {"by_probe": True}
    notebooks.write(path, made)
    if grade_id == "double-hidden":  # without a judge
        assert control.measured(load_chapter(path), _shown(1.0)).reference
        return
    with pytest.raises(CourseError) as error:
        control.measured(load_chapter(path), _shown(1.0))
    assert str(error.value) == (
        f'{path}: order-hidden has a judge and "by_probe" in its metadata, but points that go value by '
        "value are counted without a judge, so nothing is graded; drop one of them"
    )


def test_a_known_mistake_that_no_test_notices_is_named(graded: Graded) -> None:
    chapter = load_chapter(find_notebook(graded.course.solutions, "01"))
    mistake = Misconception("1.1", "a hint", "")
    run = _shown(1.0)
    caught = hints.Known(mistake, {"double-hidden": _shown(2.0).cells[0]})
    passed = hints.Known(mistake, {"double-hidden": run.cells[0]})
    cells = {cell.grade_id: cell for cell in run.cells}
    for known, expected in ((caught, []), (passed, [mistake])):
        assert control.unnoticed(Measure(chapter, against(run, {}), cells, [known])) == expected


# The instructor's mistakes


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["09", "{subs}", "--out", "{out}"], "no notebook of chapter '09'"),
        (["../01", "{subs}", "--out", "{out}"], "no notebook of chapter '../01'"),
        (["01", "{subs}/absent", "--out", "{out}"], "no such folder"),
        (["01", "{subs}/damaged.ipynb", "--out", "{out}"], "is a file; expected a folder"),
        (["01", "{subs}/nothing", "--out", "{out}"], "holds no submissions"),
        (["01", "{subs}", "--out", "{subs}/out"], "lies in the submissions' folder"),
        (["01", "{subs}", "--out", "{subs}"], "lies in the submissions' folder"),
        (["01", "{subs}", "--out", "{out}", "--names", "("], "is no regular expression"),
        (["01", "{subs}", "--out", "{out}", "--names", "x"], "needs a group"),
        (["01", "{subs}", "--out", "{out}", "--solutions", "{subs}/absent"], "no such folder"),
        (["01", "{subs}", "--out", "{subs}/../the course/pyproject.toml", "--sandbox", "off"], "is a file"),
    ],
)
def test_a_mistake_is_one_line(
    graded: Graded, tmp_path: Path, capsys: Any, arguments: list[str], message: str
) -> None:
    filled = [each.format(subs=graded.submissions, out=tmp_path / "out") for each in arguments]
    assert command.main(["--course", str(graded.course.root), "grade", *filled]) == 2
    said = capsys.readouterr().err
    assert message in said and said.startswith("error: ") and said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_names_of_a_learning_platform(graded: Graded, tmp_path: Path) -> None:
    source = graded.submissions / "right" / "01_tiny.ipynb"
    shutil.copy(source, tmp_path / "Ada Lovelace_123_assignsubmission_file_01.ipynb")
    (tmp_path / "Grace Hopper_45_assignsubmission_file_").mkdir()
    shutil.copy(source, tmp_path / "Grace Hopper_45_assignsubmission_file_" / "my work.ipynb")
    (tmp_path / "other").mkdir()
    chapter = load_chapter(find_notebook(graded.course.solutions, "01"))
    found, remarks = submissions.collect(tmp_path, chapter, r"(.+?)_\d+_assign.*")
    assert [(one.student, one.slug, one.refused) for one in found] == [
        ("Ada Lovelace", "Ada Lovelace", ""),
        ("Grace Hopper", "Grace Hopper", ""),
    ]
    assert remarks == ["other: passed over: its name does not match --names"]


def test_nobody_can_take_anothers_place_by_a_name(graded: Graded, tmp_path: Path) -> None:
    digest = hashlib.sha256(b"Pat Jr.").hexdigest()[:8]
    names = ["Pat Jr.", f"Pat Jr-{digest}", "pat jr.", "\u5b66" * 70, "O\u2019Brien"]
    for name in names:
        shutil.copytree(graded.submissions / "right", tmp_path / name)
    chapter = load_chapter(find_notebook(graded.course.solutions, "01"))
    found, _ = submissions.collect(tmp_path, chapter)
    slugs = {one.student: one.slug for one in found}
    assert slugs[names[1]] == names[1]
    assert len({slug.casefold() for slug in slugs.values()}) == len(names)
    assert max(len(slug.encode()) for slug in slugs.values()) < 100


def test_json_that_would_fill_the_memory_is_refused(graded: Graded, tmp_path: Path) -> None:
    (tmp_path / "ada.ipynb").write_text('{"nbformat": 4, "cells": [' + "{}," * 300_000 + "{}]}")
    chapter = load_chapter(find_notebook(graded.course.solutions, "01"))
    (found,), _ = submissions.collect(tmp_path, chapter)
    assert "too many parts" in found.refused


def test_a_folder_with_notebooks_of_many_chapters(graded: Graded, tmp_path: Path) -> None:
    shutil.copytree(graded.submissions / "right", tmp_path / "ada")
    shutil.copy(graded.submissions / "elsewhere" / "01_tiny.ipynb", tmp_path / "ada" / "02_other.ipynb")
    chapter = load_chapter(find_notebook(graded.course.solutions, "01"))
    (found,), _ = submissions.collect(tmp_path, chapter)
    assert found.source == "01_tiny.ipynb" and not found.refused


# Pieces


def test_comments_that_steer_nbval_are_disarmed_and_no_other_text() -> None:
    from nbval.plugin import find_comment_markers

    for marker in ("# NBVAL_SKIP", "  ## NBVAL_IGNORE_OUTPUT\r", "x\u2028#PYTEST_VALIDATE_IGNORE_OUTPUT"):
        assert list(find_comment_markers(marker)) and not list(find_comment_markers(disarm(marker)))
    assert disarm("x = 'NBVAL_SKIP'  # NBVAL_SKIP") == "x = 'NBVAL_SKIP'  # NBVAL_SKIP"


def test_graded_notebooks_hold_the_instructors_cells_around_the_answers(graded: Graded) -> None:
    chapter = load_chapter(find_notebook(graded.course.solutions, "01"))
    made = assemble(chapter, {"1.1": "mine = 1", "9.9": "strange", "helpers": "h = 1"})
    roles = [(cell.metadata.coursekit.role, cell.metadata.coursekit.exercise) for cell in made.cells]
    assert roles == [
        *[("setup", None)] * 4,  # the first is what stubs need
        ("answer", None),
        ("answer", "1.1"),
        ("hidden", "1.1"),
        ("answer", "1.2"),
        *[("hidden", "1.2")] * 2,
        ("answer", "1.3"),
        ("hidden", "1.3"),
    ]
    sources = "\n".join(cell.source for cell in made.cells)
    assert "mine = 1" in sources and "h = 1" in sources and "strange" not in sources
    assert "BEGIN" not in sources and "assert" not in sources and "done" not in sources


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda cells: cells[8].metadata.nbgrader.update(grade_id="double"),
            "another cell has grade_id 'double'",
        ),
        (lambda cells: cells[8].metadata.nbgrader.pop("grade_id"), "cell 9: has no grade_id"),
        (lambda cells: cells[10].update(source="# exercise: 1.1\n"), "exercise 1.1 has two answer cells"),
        (lambda cells: cells[6].update(source="x = 1"), "begins with a line such as `# exercise: 1.4`"),
        (lambda cells: cells.insert(4, cells.pop(8)), "stands after the answer cell that it tests"),
        (lambda cells: cells.__delitem__(slice(4, None)), "has no exercise"),
    ],
)
def test_a_mistake_in_a_solution_is_one_line_with_its_place(
    tmp_path: Path, change: Any, message: str
) -> None:
    made = tiny.solution_notebook()
    change(made.cells)
    notebooks.write(tmp_path / "01_tiny.ipynb", made)
    with pytest.raises(CourseError, match=re.escape(message)):
        load_chapter(tmp_path / "01_tiny.ipynb")


def test_misconceptions_share_notebooks(graded: Graded) -> None:
    chapter = load_chapter(find_notebook(graded.course.solutions, "01"))
    made = hints.bundles(control.misconceptions_of(chapter))
    assert [sorted(bundle) for bundle in made] == [["1.1", "1.2", "1.3"], ["1.2"]]


@pytest.mark.parametrize(
    "error, answer, told",
    [
        ("NameError: name 'q' is not defined", "q + 1", "NameError: name 'q' is not defined"),
        ("NameError: name 'secret' is not defined", "q + 1", "NameError"),
        ("ModuleNotFoundError: No module named 'torch.nn'", "import torch.nn", None),
        ("ModuleNotFoundError: No module named 'secret'", "__import__(rng)", "ModuleNotFoundError"),
        ("ValueError: what I say", 'raise ValueError("what I say")', None),
        ("KeyError: what I say", 'raise ValueError("what I say")', "KeyError"),
        ("AssertionError: so", 'assert x, "so"', None),
        ("ValueError: what it holds", "raise ValueError(x)", "ValueError"),
        (
            "AttributeError: 'NoneType' object has no attribute 'data'",
            "%time\ndef f(x): return x.data",
            None,
        ),
        (
            "AttributeError: 'Value' object has no attribute 'data'",
            "x.data",
            "AttributeError: an object has no attribute 'data'",
        ),
        (
            "TypeError: f() missing 1 required positional argument: 'x'",
            "def f(x): pass",
            "TypeError: f() misses an argument",
        ),
        (
            "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
            "",
            "TypeError: unsupported operand types: 'int' and 'str'",
        ),
        ("TypeError: unsupported operand type(s) for +: 'int' and 'secret'", "", "TypeError"),
        (
            "UnboundLocalError: cannot access local variable 'x' where it is not associated with a value",
            "def f():\n    x += 1",
            "UnboundLocalError: 'x' is used before it has a value",
        ),
        ("Leak: x", "", "an exception that is not one of Python's usual ones"),
        ("print: x", "", "an exception that is not one of Python's usual ones"),
        ("", "", "an exception that is not one of Python's usual ones"),
        ("ValueError: expected a positive input, got 7.0", "", "ValueError: expected a positive input"),
        ("ZeroDivisionError: division by zero, secret", "", "ZeroDivisionError: division by zero"),
    ],
)
def test_of_an_error_only_known_sentences_are_told(error: str, answer: str, told: str | None) -> None:
    assert wording.error(error, answer) == (told or error)
