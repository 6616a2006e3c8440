"""`build`: the learner's own answers become a library of their own."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from made_course import EXP, MILESTONE, TANH, answer, graded, new_course, save, scalar_course
from nbformat import NotebookNode

from coursekit import notebooks
from coursekit.__main__ import main
from coursekit.course import Course
from coursekit.mine.answers import Answer
from coursekit.mine.build import table
from coursekit.mine.library import Library

pytestmark = pytest.mark.slow

MY_TANH = TANH.replace("reference", "mine")
MY_EXP = EXP.replace("reference", "mine")


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The exercises that pass; `check` decides it elsewhere."""
    numbers = {"1.1"}
    monkeypatch.setattr("coursekit.mine.answers.passed_exercises", lambda course, chapter: numbers)
    return numbers


def learner(course: Course, **answers: str) -> Path:
    """The learner's notebook: the exercise with these answers in it, by grade_id."""
    main(["--course", str(course.root), "exercises"])
    main(["--course", str(course.root), "promote"])
    notebook = notebooks.read(course.exercises / "01_exercises.ipynb")
    for cell in notebooks.cells(Path(), notebook):
        if cell.is_answer and cell.grade_id in answers:
            cell.node.source = answers[cell.grade_id]
    path = course.work / "exercises" / "01_exercises.ipynb"
    notebooks.write(path, notebook)
    return path


def build(course: Course, *options: str) -> int:
    return main(["--course", str(course.root), "build", *options])


def text(course: Course, name: str = "scalar") -> str:
    return (course.mine / "minilib" / f"{name}.py").read_text()


def without_solutions(course: Course) -> Course:
    for path in course.solutions.iterdir():
        path.unlink()
    course.solutions.rmdir()
    return course


@pytest.mark.parametrize("bundle", [False, True])
def test_passing_answers_go_in_and_the_reference_fills_the_rest(
    tmp_path: Path, passed: set[str], capfd: pytest.CaptureFixture[str], bundle: bool
) -> None:
    course = scalar_course(tmp_path / "Mein Kurs ä")
    learner(course, tanh=MY_TANH, exp=MY_EXP)
    if bundle:
        without_solutions(course)
    assert build(course) == 0
    out = capfd.readouterr().out
    assert "scalar.Value.tanh  yours      1.1\n" in out
    assert "scalar.Value.exp   reference  1.2   does not pass its tests\n" in out
    assert "1 of the 2 parts in the chapters that you have begun are yours" in out
    assert f"tanh is {math.tanh(0.5)}\nthe milestone works\n" in out
    made = text(course)
    assert "t = math.tanh(self.data)  # mine" in made
    assert "math.exp(self.data))  # reference" in made
    assert made.index("def __mul__") < made.index("def tanh") < made.index("def exp")
    assert "Built from minilib/scalar.py and work/exercises/01_exercises.ipynb;" in made
    assert "Scalars that know their derivative." in made
    assert made.index("class Value") < made.index("def node")


def test_what_is_not_yours_says_why(
    tmp_path: Path, passed: set[str], capfd: pytest.CaptureFixture[str]
) -> None:
    course = scalar_course(tmp_path)
    learner(course, tanh=MY_TANH, exp=MY_EXP)
    said = {"1.2": {"passed": False, "wrong": True, "points": 3, "of": 4}}
    (course.work / ".progress.json").write_text(json.dumps({"01": said}))
    assert build(course) == 0
    assert "scalar.Value.exp   reference  1.2   3 of 4 points\n" in capfd.readouterr().out
    learner(course, tanh=MY_TANH)
    assert build(course) == 0
    assert "scalar.Value.exp   reference  1.2   not solved yet\n" in capfd.readouterr().out


def test_kernels_are_parts_too() -> None:
    asked = {"kernels/adamw.cu:5.1": "5.1", "kernels/rows.cu:5.2": "5.2", "kernels/scan.cu:7.1": "7.1"}
    library = Library({}, {}, [cast(Answer, SimpleNamespace(exercise="5.1"))])
    assert list(table(library, asked, {"5.2": "not solved yet"}))[:3] == [
        "  kernels/adamw.cu  yours      5.1",
        "  kernels/rows.cu   reference  5.2   not solved yet",
        "mine/ is built; 1 of the 2 parts in the chapters that you have begun are yours",
    ]


def test_a_chapter_that_nobody_has_begun_is_left_out(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    course = scalar_course(tmp_path)
    learner(course)
    assert build(course) == 0
    out = capfd.readouterr().out
    assert "scalar.Value" not in out and "all of it is the reference: no part is yours yet" in out
    assert build(course, "01") == 0
    assert "scalar.Value.exp   reference  1.2   not solved yet\n" in capfd.readouterr().out


def test_nothing_of_the_learner_changes(tmp_path: Path, passed: set[str]) -> None:
    course = scalar_course(tmp_path)
    path = learner(course, tanh=MY_TANH)
    before = path.read_bytes(), (course.library / "scalar.py").read_bytes()
    build(course)
    assert (path.read_bytes(), (course.library / "scalar.py").read_bytes()) == before


def test_untouched_stubs_are_not_even_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course = scalar_course(tmp_path)
    learner(course)

    def never(*args: object) -> set[str]:
        raise AssertionError

    monkeypatch.setattr("coursekit.mine.answers.passed_exercises", never)
    assert build(course) == 0
    assert "# reference" in text(course)


def test_the_milestone_uses_the_learners_library(
    tmp_path: Path, passed: set[str], capfd: pytest.CaptureFixture[str]
) -> None:
    course = scalar_course(tmp_path)
    learner(course, tanh=MY_TANH.replace("math.tanh(self.data)", "42.0"))
    assert build(course) == 0
    assert "tanh is 42.0" in capfd.readouterr().out
    done = subprocess.run(
        [sys.executable, "mine/milestone_01.py"], cwd=course.root, capture_output=True, text=True
    )
    assert done.stdout == "tanh is 42.0\n"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("raise ValueError('of the milestone')", "the milestone fails (exit code 1)"),
        ("while True: pass", "longer than"),
    ],
)
def test_a_milestone_that_fails_is_said_plainly(
    tmp_path: Path,
    passed: set[str],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    line: str,
) -> None:
    monkeypatch.setattr("coursekit.mine.milestone.MILESTONE_SECONDS", 1.0)
    course = scalar_course(tmp_path)
    learner(course, tanh=MY_TANH)
    notebook = notebooks.read(course.chapters / "01_scalar.ipynb")
    notebook.cells[-1].source = MILESTONE + "\n" + code
    notebooks.write(course.chapters / "01_scalar.ipynb", notebook)
    assert build(course) == 1
    assert line in capfd.readouterr().out


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (MY_TANH + "\n%timeit 1", "syntax error"),
        (MY_TANH + "\ndef node(data): return Value(data)", "`node` is already defined in minilib/scalar.py"),
        (MY_TANH.replace("math.tanh", "tanh_of"), "undefined name `tanh_of`"),
        (
            MY_TANH + "\nimport nowhere_at_all\nclass A(nowhere_at_all.B): x = 1",
            "No module named 'nowhere_at_all'",
        ),
        (MY_TANH + "\nclass A:\n    x = 1 / 0", "ZeroDivisionError"),
        ("# exercise: 1.1\ndef my(self): return node(0.5)\nValue.tanh = my", "`my` is not defined yet"),
    ],
)
def test_an_answer_that_passes_but_does_not_fit_is_left_out_and_said(
    tmp_path: Path, passed: set[str], capfd: pytest.CaptureFixture[str], wrong: str, line: str
) -> None:
    passed.add("1.2")
    course = scalar_course(tmp_path)
    learner(course, tanh=wrong, exp=MY_EXP)
    assert build(course) == 1
    out = capfd.readouterr().out
    found = [
        row for row in out.split("\n") if row.startswith("1.1: your answer passes its tests but does not fit")
    ]
    assert len(found) == 1 and line in found[0] and "work/exercises/01_exercises.ipynb, cell " in found[0]
    assert "t = math.tanh(self.data)  # reference" in text(course)
    assert "math.exp(self.data))  # mine" in text(course)


def test_an_answer_cannot_replace_what_the_library_has_beside_the_lesson(
    tmp_path: Path, passed: set[str], capfd: pytest.CaptureFixture[str]
) -> None:
    course = scalar_course(tmp_path)
    learner(course, tanh=MY_TANH + "\n\ndef half(x): return x")
    with open(course.library / "scalar.py", "a") as file:
        file.write("\n\ndef half(x: float) -> float:\n    return x / 2\n")
    assert build(course) == 1
    assert "`half` is already defined in minilib/scalar.py; keep one" in capfd.readouterr().out
    assert "return x / 2" in text(course)


def test_what_only_tries_things_out_stays_out(tmp_path: Path, passed: set[str]) -> None:
    course = scalar_course(tmp_path)
    learner(
        course,
        tanh=MY_TANH + "\n\nx = Value(2.0)\nprint(x.tanh())\nx.tanh().data\nfor i in range(3): print(i)",
    )
    assert build(course) == 0
    assert "print" not in text(course) and "x = " not in text(course)


def test_helpers_and_split_cells_go_in_too(tmp_path: Path, passed: set[str]) -> None:
    course = scalar_course(tmp_path)
    path = learner(
        course,
        helpers="# helpers\nfrom math import tanh as th\n\n\ndef half(x): return x / 2",
        tanh="# exercise: 1.1",
    )
    notebook = notebooks.read(path)
    where = next(i for i, cell in enumerate(notebook.cells) if cell.source == "# exercise: 1.1")
    body = "@add_to(Value)\ndef tanh(self): return node(half(2 * th(self.data)))"
    notebook.cells.insert(where + 1, answer(body, "tanh"))
    notebooks.write(path, notebook)
    assert build(course) == 0
    assert "from math import tanh as th" in text(course) and "def half(x):" in text(course)
    assert "    def tanh(self):\n        return node(half(2 * th(self.data)))" in text(course)


def test_an_answer_is_found_by_its_first_line_where_metadata_is_lost(
    tmp_path: Path, passed: set[str]
) -> None:
    course = scalar_course(tmp_path)
    path = learner(course, tanh=MY_TANH)
    notebook = notebooks.read(path)
    for cell in notebook.cells:
        cell.metadata = NotebookNode()
    notebooks.write(path, notebook)
    assert build(course) == 0
    assert "# mine" in text(course)


def test_a_whole_class_can_be_an_answer(
    tmp_path: Path, passed: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    course = new_course(tmp_path)
    task = "# exercise: 1.1\n#| export\nclass Neuron:\n    ### BEGIN SOLUTION\n    {}\n    ### END SOLUTION"
    reference = "def a(self): return 'ref'\n    def b(self): return 1"
    save(
        course.solutions / "01_scalar.ipynb",
        "#| default_exp nn",
        answer(task.format(reference), "neuron"),
        "#| export\n@add_to(Neuron)\ndef c(self): return 3",
    )
    learner(course, neuron=task.format("def a(self): return 'mine'"))
    assert build(course) == 0
    made = text(course, "nn")
    assert "'mine'" in made.replace('"', "'") and "'ref'" not in made.replace('"', "'")
    assert "def b" in made and "def c" in made
    out = capsys.readouterr().out
    assert "nn.Neuron    yours" in out and "nn.Neuron.b  reference" in out


def test_a_change_by_hand_is_never_overwritten_without_force(
    tmp_path: Path, passed: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    course = scalar_course(tmp_path)
    learner(course, tanh=MY_TANH)
    assert build(course) == 0
    path = course.mine / "minilib" / "scalar.py"
    path.write_text(path.read_text() + "\nBY_HAND = 1\n")
    notes = course.mine / "notes.txt"
    notes.write_text("my notes")
    capsys.readouterr()
    assert build(course) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "mine/minilib/scalar.py was changed by hand" in err
    assert "BY_HAND" in path.read_text()
    assert build(course, "--force") == 0
    assert "BY_HAND" not in path.read_text() and notes.read_text() == "my notes"


@pytest.mark.thorough
@pytest.mark.parametrize("record", ["", "{", "[]", '{"../../x": ["a"]}', None])
def test_a_folder_mine_of_unknown_origin_is_left_alone(
    tmp_path: Path, passed: set[str], capsys: pytest.CaptureFixture[str], record: str | None
) -> None:
    course = scalar_course(tmp_path)
    learner(course, tanh=MY_TANH)
    (course.mine / "minilib").mkdir(parents=True)
    (course.mine / "minilib" / "scalar.py").write_text("# mine since long ago\n")
    if record is not None:
        (course.mine / ".built.json").write_text(record)
    assert build(course) == 2
    assert "changed by hand" in capsys.readouterr().err
    assert text(course) == "# mine since long ago\n"


def test_a_build_that_was_stopped_can_be_repeated(
    tmp_path: Path, passed: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    course = scalar_course(tmp_path)
    path = learner(course, tanh=MY_TANH)
    assert build(course) == 0
    path.write_text(path.read_text().replace("# mine", "# mine, second version"))
    with monkeypatch.context() as patch:
        patch.setattr("coursekit.mine.folder.text_of", _stop_at("milestone_01.py"))
        patch.setattr("coursekit.mine.folder._refuse_changed", lambda *args: None)
        assert build(course) == 130
    assert "second version" in text(course)
    path.write_text(path.read_text().replace("second version", "third version"))
    assert build(course) == 0
    assert "third version" in text(course)


def _stop_at(name: str):  # type: ignore[no-untyped-def]
    from coursekit.make.drift import text_of

    def read(path: Path) -> str | None:
        if path.name == name:
            raise KeyboardInterrupt
        return text_of(path)

    return read


def test_files_that_are_no_longer_built_go(tmp_path: Path, passed: set[str]) -> None:
    course = scalar_course(tmp_path)
    learner(course, tanh=MY_TANH)
    (course.library / "draw.py").write_text('"""By hand."""\n')
    assert build(course) == 0
    assert (course.mine / "minilib" / "draw.py").exists()
    (course.library / "draw.py").unlink()
    assert build(course) == 0
    assert not (course.mine / "minilib" / "draw.py").exists()


@pytest.mark.parametrize(
    ("options", "line"),
    [(["07"], "there is no chapter '07'; there are: 01"), (["--force", "x"], "there is no chapter 'x'")],
)
def test_an_unknown_chapter_is_one_line(
    tmp_path: Path, passed: set[str], capsys: pytest.CaptureFixture[str], options: list[str], line: str
) -> None:
    assert build(scalar_course(tmp_path), *options) == 2
    assert line in capsys.readouterr().err


def test_a_damaged_notebook_in_work_is_one_line(
    tmp_path: Path, passed: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    course = scalar_course(tmp_path)
    learner(course).write_text("{ not JSON")
    assert build(course) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "work/exercises/01_exercises.ipynb: is not a notebook" in err


def test_a_file_where_mine_should_be_is_one_line(
    tmp_path: Path, passed: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    course = scalar_course(tmp_path)
    learner(course, tanh=MY_TANH)
    course.mine.write_text("in the way")
    assert build(course) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "mine" in err
    assert course.mine.read_text() == "in the way"


@pytest.mark.thorough
def test_a_milestone_ends_with_ctrl_c_and_leaves_no_process(tmp_path: Path) -> None:
    course = scalar_course(tmp_path)
    learner(course)
    notebook = notebooks.read(course.chapters / "01_scalar.ipynb")
    notebook.cells[-1].source = "#| milestone\nimport os, time\nprint('pid', os.getpid())\ntime.sleep(900)"
    notebooks.write(course.chapters / "01_scalar.ipynb", notebook)
    process = subprocess.Popen(
        [sys.executable, "-m", "coursekit", "--course", str(course.root), "build", "01"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("pid"):
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130 and err == "\nstopped; nothing was lost\n"
    for _ in range(600):  # its end may take a moment
        if not Path(f"/proc/{line.split()[1]}").exists():
            return
        time.sleep(0.1)
    pytest.fail(f"{line} is still there")


def test_visible_cells_of_others_do_not_matter(tmp_path: Path, passed: set[str]) -> None:
    course = scalar_course(tmp_path)
    path = learner(course, tanh=MY_TANH)
    notebook = notebooks.read(path)
    notebook.cells.append(graded("#| export\ndef node(data): ...", "made-up"))
    notebooks.write(path, notebook)
    assert build(course) == 0
