"""`make lab`: what is copied into work/, that nothing of a learner's is lost, and how answers move over."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from coursekit import notebooks
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.install import lab, workspace

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROJECT = "[project]\nname = 'x'\n[tool.coursekit]\n[tool.ruff]\n"
MINE = "# exercise: 1.1\ndef double(x):\n    return x + x  # mine"


def answer(exercise: str, name: str, source: str) -> NotebookNode:
    data = {"grade_id": name, "solution": True, "grade": False, "locked": False, "points": 0}
    cell: NotebookNode = new_code_cell(f"# exercise: {exercise}\n{source}", id=name)
    cell.metadata["nbgrader"] = {**data, "schema_version": 3, "task": False}
    return cell


def exercise(title: str = "# Exercises", *, triple: str = "triple", stub: str = "STUB") -> NotebookNode:
    """The exercises of chapter 01: 1.1 `double` and 1.2 under the name that `triple` says."""
    body = "    raise NotImplementedError"
    made: NotebookNode = new_notebook(
        cells=[
            new_markdown_cell(title, id="title"),
            answer("1.1", "double", f"def double(x):\n{body}  # {stub}"),
            new_code_cell("double(2)", id="check"),
            answer("1.2", triple, f"def {triple}(x):\n{body}"),
        ]
    )
    return made


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    course = Course(tmp_path / "kürs eins")
    notebooks.write(course.exercises / "01_exercises.ipynb", exercise())
    lesson = new_notebook(cells=[new_markdown_cell("# Scalar", id="a")])
    notebooks.write(course.chapters / "01_scalar.ipynb", lesson)
    notebooks.write(course.chapters / "00_start_here.ipynb", lesson)
    (course.chapters / "picture.svg").write_text("<svg/>")
    (course.chapters / ".ipynb_checkpoints").mkdir()
    (course.chapters / ".ipynb_checkpoints" / "x.ipynb").write_text("{}")
    (course.root / "pyproject.toml").write_text(PROJECT)
    return course


def mine(course: Course) -> Path:
    return course.work / "exercises" / "01_exercises.ipynb"


def solve(course: Course, source: str = MINE) -> bytes:
    """The learner writes an answer and saves."""
    notebook = notebooks.read(mine(course))
    notebook.cells[1].source = source
    notebooks.write(mine(course), notebook)
    return mine(course).read_bytes()


def sources(path: Path) -> list[str]:
    return [cell.source for cell in notebooks.read(path).cells]


def test_lessons_and_exercises_lie_in_work_under_their_names(course: Course) -> None:
    lines = workspace.prepare(course)
    found = sorted(str(path.relative_to(course.work)) for path in course.work.rglob("*") if path.is_file())
    assert found == [
        ".coursekit.json",
        "chapters/00_start_here.ipynb",
        "chapters/01_scalar.ipynb",
        "chapters/picture.svg",
        "exercises/01_exercises.ipynb",
    ]
    names = "exercises/01_exercises.ipynb, chapters/00_start_here.ipynb, chapters/01_scalar.ipynb"
    assert lines == [f"copied into work/: {names}"]


def test_a_second_time_does_nothing(course: Course) -> None:
    workspace.prepare(course)
    before = {path: path.read_bytes() for path in course.work.rglob("*") if path.is_file()}
    assert workspace.prepare(course) == []
    assert before == {path: path.read_bytes() for path in course.work.rglob("*") if path.is_file()}


def test_what_is_to_be_predicted_comes_without_its_output(course: Course) -> None:
    """Else the answer stands below the question. Whether a reader has run it does not make a copy another."""

    def printed(text: str, *tags: str) -> NotebookNode:
        out = new_output("stream", text=text)
        return new_code_cell(f"print({text})", id=text, outputs=[out], metadata={"tags": [*tags]})

    original, copy = (folder / "01_scalar.ipynb" for folder in (course.chapters, course.work / "chapters"))
    for first in ("17", "18"):  # copied, then updated
        notebooks.write(original, new_notebook(cells=[printed(first), printed("131071", "predict")]))
        if first == "17":
            workspace.prepare(course)
        else:
            workspace.update(course, "01")
        assert [len(cell.outputs) for cell in notebooks.read(copy).cells] == [1, 0]
        assert notebooks.holds_the_same(original, copy)
        notebooks.write(copy, notebooks.read(original))  # who has run it
        assert notebooks.holds_the_same(original, copy)


def test_copies_are_trusted(course: Course) -> None:
    workspace.prepare(course)
    assert NotebookNotary().check_signature(notebooks.read(mine(course)))


def test_a_changed_notebook_survives_make_lab(course: Course) -> None:
    workspace.prepare(course)
    before = solve(course)
    assert workspace.prepare(course) == []
    assert mine(course).read_bytes() == before


def test_a_changed_notebook_survives_a_newer_exercise_and_the_learner_is_told(course: Course) -> None:
    workspace.prepare(course)
    before = solve(course)
    notebooks.write(course.exercises / "01_exercises.ipynb", exercise("# Better exercises"))
    lines = workspace.prepare(course)
    assert mine(course).read_bytes() == before
    assert len(lines) == 1
    assert (
        "newer: exercises/01_exercises.ipynb" in lines[0]
        and "python3 -m coursekit lab --update 01" in lines[0]
    )


def test_what_nobody_touched_is_renewed(course: Course) -> None:
    workspace.prepare(course)
    before = solve(course)
    lesson = new_notebook(cells=[new_markdown_cell("# A better lesson", id="a")])
    notebooks.write(course.chapters / "01_scalar.ipynb", lesson)
    (course.chapters / "picture.svg").write_text("<svg />")
    assert workspace.prepare(course) == ["now the newest version: 2 files that you had not touched"]
    assert sources(course.work / "chapters" / "01_scalar.ipynb") == ["# A better lesson"]
    assert mine(course).read_bytes() == before
    assert workspace.prepare(course) == []


def test_update_moves_answers_and_keeps_the_old_notebook(course: Course) -> None:
    workspace.prepare(course)
    before = solve(course)
    notebooks.write(course.exercises / "01_exercises.ipynb", exercise("# Better", stub="NEW"))
    lines = workspace.update(course, "01")
    assert "1 of your answers moved over" in lines[0]
    assert sources(mine(course))[:2] == ["# Better", MINE]
    assert mine(course).with_name("01_exercises.before-update-1.ipynb").read_bytes() == before
    assert workspace.prepare(course) == []


def test_an_untouched_stub_becomes_the_new_stub(course: Course) -> None:
    workspace.prepare(course)
    notebooks.write(course.exercises / "01_exercises.ipynb", exercise(stub="NEW STUB"))
    workspace.update(course, "01")
    assert sources(mine(course)) == sources(course.exercises / "01_exercises.ipynb")


def test_a_second_update_keeps_both_old_notebooks(course: Course) -> None:
    workspace.prepare(course)
    solve(course)
    for title in ("# Two", "# Three"):
        notebooks.write(course.exercises / "01_exercises.ipynb", exercise(title))
        workspace.update(course, "01")
    assert len(list(course.work.rglob("*.before-update-?.ipynb"))) == 2
    assert sources(mine(course))[:2] == ["# Three", MINE]


def test_an_update_without_a_newer_version_changes_nothing(course: Course) -> None:
    workspace.prepare(course)
    before = solve(course)
    assert all("newest version already" in line for line in workspace.update(course, "01"))
    assert mine(course).read_bytes() == before


def test_cells_that_the_learner_added_stay_where_they_were(course: Course) -> None:
    workspace.prepare(course)
    notebook = notebooks.read(mine(course))
    notebook.cells.insert(3, new_code_cell("my_own_check()", id="mine"))
    notebooks.write(mine(course), notebook)
    notebooks.write(course.exercises / "01_exercises.ipynb", exercise("# Better"))
    workspace.update(course, "01")
    assert sources(mine(course))[2:4] == ["double(2)", "my_own_check()"]


def test_a_split_answer_is_joined(course: Course) -> None:
    workspace.prepare(course)
    notebook = notebooks.read(mine(course))
    notebook.cells[1].source = "# exercise: 1.1\nimport math"
    second = answer("1.1", "double", "def double(x): ...")
    second["id"] = "split"
    notebook.cells.insert(2, second)
    notebooks.write(mine(course), notebook)
    notebooks.write(course.exercises / "01_exercises.ipynb", exercise("# Better"))
    workspace.update(course, "01")
    assert sources(mine(course))[1].startswith("# exercise: 1.1\nimport math\n\n# exercise: 1.1\ndef double")


def test_an_answer_whose_metadata_an_editor_lost_is_found_by_its_first_line(course: Course) -> None:
    workspace.prepare(course)
    notebook = notebooks.read(mine(course))
    notebook.cells[1].source = MINE
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)
    notebooks.write(mine(course), notebook)
    notebooks.write(course.exercises / "01_exercises.ipynb", exercise("# Better"))
    workspace.update(course, "01")
    assert sources(mine(course))[1] == MINE


def test_an_answer_without_a_place_is_kept_at_the_end(course: Course) -> None:
    workspace.prepare(course)
    notebook = notebooks.read(mine(course))
    notebook.cells[3].source = "# exercise: 1.2\ndef triple(x): return 3 * x"
    notebooks.write(mine(course), notebook)
    notebooks.write(course.exercises / "01_exercises.ipynb", exercise(triple="quadruple"))
    workspace.update(course, "01")
    assert "return 3 * x" in sources(mine(course))[-1]


@pytest.mark.parametrize("together", [True, False])
def test_an_answer_follows_its_exercise_into_another_part(course: Course, together: bool) -> None:
    old, new = course.exercises / "01_exercises.ipynb", course.exercises / "01b_exercises.ipynb"
    workspace.prepare(course)
    solve(course)
    notebooks.write(new, exercise("# Part b"))
    notebook = exercise("# Part a")
    del notebook.cells[1:3]
    notebooks.write(old, notebook)
    workspace.prepare(course)  # as `make lab` after a `git pull`
    for asked in ["1"] if together else ["01", "01b"]:
        workspace.update(course, asked)
    assert sources(course.work / "exercises" / new.name)[1] == MINE
    assert not any(MINE in source for source in sources(mine(course)))
    assert workspace.prepare(course) == []


def test_a_lost_record_loses_no_answer(course: Course) -> None:
    workspace.prepare(course)
    before = solve(course)
    (course.work / ".coursekit.json").write_text("damaged")
    assert workspace.prepare(course) == []
    assert mine(course).read_bytes() == before
    notebooks.write(course.exercises / "01_exercises.ipynb", exercise("# Better"))
    workspace.update(course, "01")
    assert sources(mine(course))[:2] == ["# Better", MINE]


def test_a_lesson_is_updated_too_and_the_old_one_kept(course: Course) -> None:
    workspace.prepare(course)
    own = course.work / "chapters" / "01_scalar.ipynb"
    notebooks.write(own, new_notebook(cells=[new_markdown_cell("# Scalar, and a note of mine", id="a")]))
    lesson = new_notebook(cells=[new_markdown_cell("# Better", id="a")])
    notebooks.write(course.chapters / "01_scalar.ipynb", lesson)
    assert "chapters/01_scalar.ipynb" in workspace.prepare(course)[0]
    assert any("without what you typed; the old one" in line for line in workspace.update(course, "01"))
    assert sources(course.work / "chapters" / "01_scalar.ipynb") == ["# Better"]
    assert (course.work / "chapters" / "01_scalar.before-update-1.ipynb").exists()


def test_update_of_an_unknown_chapter_names_those_there_are(course: Course) -> None:
    with pytest.raises(CourseError, match="no chapter '07' to update; there are: 00, 01"):
        workspace.update(course, "07")


def test_update_of_a_damaged_notebook_changes_nothing(course: Course) -> None:
    workspace.prepare(course)
    mine(course).write_text("not json")
    notebooks.write(course.exercises / "01_exercises.ipynb", exercise("# Better"))
    with pytest.raises(CourseError, match="is not a notebook"):
        workspace.update(course, "01")
    assert mine(course).read_text() == "not json"


def test_a_stop_in_the_middle_is_mended_by_the_next_time(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(workspace, "write_record", stop)
        workspace.prepare(course)
    workspace.prepare(course)
    notebooks.write(course.exercises / "01_exercises.ipynb", exercise("# Better"))
    assert "newer: exercises/01_exercises.ipynb" in workspace.prepare(course)[0]


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_a_changed_notebook_survives_git_pull_with_a_changed_exercise(course: Course, tmp_path: Path) -> None:
    shutil.copy(ROOT / ".gitignore", course.root)
    git(course.root, "init")
    git(course.root, "add", ".")
    git(course.root, "commit", "-m", "first")
    git(tmp_path, "clone", str(course.root), "clone")
    learner = Course(tmp_path / "clone")
    workspace.prepare(learner)
    before = solve(learner)
    notebooks.write(course.exercises / "01_exercises.ipynb", exercise("# Better"))
    git(course.root, "commit", "-am", "better")
    git(learner.root, "pull")
    assert "newer: exercises/01_exercises.ipynb" in workspace.prepare(learner)[0]
    assert mine(learner).read_bytes() == before
    workspace.update(learner, "01")
    assert sources(mine(learner))[:2] == ["# Better", MINE]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, list[str]]]:
    """What would have been opened, with which flags."""
    calls: list[tuple[Path, list[str]]] = []
    monkeypatch.setattr(lab, "open_jupyterlab", lambda folder, flags: calls.append((folder, flags)))
    return calls


def options(**changed: object) -> Namespace:
    return Namespace(**{"dir": None, "update": None, "prepare": False, "rest": [], **changed})


def test_the_first_time_opens_chapter_00_and_passes_flags_on(
    course: Course, opened: list[tuple[Path, list[str]]]
) -> None:
    lab.run(course, options(rest=["--no-browser"]))
    lab.run(course, options(rest=["--no-browser"]))
    start = "--LabApp.default_url=/lab/tree/chapters/00_start_here.ipynb"
    tabs = f"--LabApp.workspaces_dir={course.work / '.workspaces' / 'work'}"
    assert opened == [(course.work, [tabs, start, "--no-browser"]), (course.work, [tabs, "--no-browser"])]


def as_root(*words: str) -> subprocess.CompletedProcess[str]:
    """The command of a first time, with nothing installed, as root."""
    program = (
        "import os, sys; os.geteuid = lambda: 0; from coursekit.install import bootstrap; "
        "bootstrap.enter = lambda *_: sys.exit('installs'); "
        "from coursekit.__main__ import main; sys.exit(main(sys.argv[1:], as_program=True))"
    )
    return subprocess.run([sys.executable, "-c", program, *words], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize(
    "flags, remedy",
    [
        ([], "make lab LAB_FLAGS=--allow-root"),
        (["--no-browser", "--port=9"], 'make lab LAB_FLAGS="--no-browser --port=9 --allow-root"'),
        (["--dir", "chapters"], "make lab DIR=chapters LAB_FLAGS=--allow-root"),
    ],
)
def test_root_is_told_the_flag_before_anything_is_installed(flags: list[str], remedy: str) -> None:
    refused = as_root("lab", *flags)
    assert refused.returncode == 2 and refused.stderr.endswith(f": {remedy}\n")


@pytest.mark.parametrize("flag", ["--allow-root", "--prepare", "--update=01"])
def test_root_may_do_what_needs_no_server_or_was_allowed(flag: str) -> None:
    assert as_root("lab", flag).stderr == "installs\n"


def test_contributors_open_the_sources_with_tabs_of_their_own(
    course: Course, opened: list[tuple[Path, list[str]]]
) -> None:
    lab.run(course, options(dir="chapters"))
    tabs = f"--LabApp.workspaces_dir={course.work / '.workspaces' / 'chapters'}"
    assert opened == [(course.chapters, [tabs])]
    assert not course.work.exists()


@pytest.mark.parametrize("name", ["nowhere", "..", "pyproject.toml"])
def test_a_folder_that_is_not_of_the_course_is_refused(course: Course, name: str) -> None:
    with pytest.raises(CourseError, match="no such folder"):
        lab.run(course, options(dir=name))


def test_prepare_and_update_open_nothing(course: Course, opened: list[tuple[Path, list[str]]]) -> None:
    assert lab.run(course, options(prepare=True)) == 0
    assert lab.run(course, options(update="01")) == 0
    assert opened == []


def test_settings_of_the_learner_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings" / "overrides.json"
    lab.write_settings(path)
    assert "fetchNews" in path.read_text() and "Markdown Preview" in path.read_text()
    path.write_text(json.dumps({}))
    lab.write_settings(path)
    assert path.read_text() == "{}"


def as_plain_user() -> list[str]:
    """What goes before a command so that permissions hold even for root, as in a container."""
    if os.name != "posix":
        pytest.skip("permissions of POSIX")
    if os.getuid() != 0:
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root may write everywhere, and setpriv is not installed")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"]


def test_a_read_only_course_is_told_in_one_line(course: Course) -> None:
    command = [sys.executable, "-m", "coursekit", "--course", str(course.root), "lab", "--prepare"]
    course.root.chmod(0o555)
    result = subprocess.run([*as_plain_user(), *command], cwd=ROOT, capture_output=True, text=True)
    course.root.chmod(0o755)
    assert result.returncode == 2
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert "cannot be written" in result.stderr


@pytest.mark.skipif(not shutil.which("make"), reason="no make")
def test_make_works_in_work_too(course: Course) -> None:
    (course.root / "Makefile").write_text(
        "help:\n\t@echo help in $(notdir $(CURDIR))\ncheck:\n\t@echo check $(NN)\n"
    )
    workspace.prepare(course)
    (course.work / "check").touch()  # a file of a target's name

    def said(*words: str) -> str:
        # Not as a make below `make test`, which says where it enters and leaves.
        own = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        done = subprocess.run(["make", *words], cwd=course.work, capture_output=True, text=True, env=own)
        return done.stdout

    assert said("check", "NN=01") == "check 01\n"
    assert said().startswith("help in ")


def test_a_makefile_of_the_learners_stays(course: Course) -> None:
    (course.root / "Makefile").touch()
    course.work.mkdir()
    (course.work / "Makefile").write_text("mine")
    workspace.prepare(course)
    assert (course.work / "Makefile").read_text() == "mine"


def test_what_make_lab_was_told_does_not_reach_a_make_in_its_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, str]] = []
    monkeypatch.setattr(lab, "become", lambda command: seen.append(dict(os.environ)))
    monkeypatch.setattr(lab, "write_settings", lambda path: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.environ["PATH"])
    for name in lab.OF_MAKE:
        monkeypatch.setenv(name, "--lint")
    lab.open_jupyterlab(tmp_path, [])
    assert not set(lab.OF_MAKE) & set(seen[0])
