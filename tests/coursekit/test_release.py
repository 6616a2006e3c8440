"""`release`: a bundle for students that works on its own and holds no answers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from made_course import MILESTONE, save, scalar_course

from coursekit import notebooks
from coursekit.__main__ import main
from coursekit.course import Course
from coursekit.make.release import files, for_students

REPOSITORY = Path(__file__).parents[2]
MARKERS = (*notebooks.SOLUTION, *notebooks.HIDDEN)


def full_course(folder: Path) -> Course:
    """A course with all that a bundle needs, and with what must not get into one."""
    course = scalar_course(folder)
    for name in ("Makefile", "README.md", "LICENSE", ".gitignore"):
        (folder / name).write_text(f"{name}\n")
    for name in ("coursekit", "simulator/warplens"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (
        "solutions/misconceptions",
        "solutions/judges",
        "solutions/others",
        "tests",
        "benchmarks/results",
        "minilib/__pycache__",
    ):
        (folder / name).mkdir(parents=True)
        (folder / name / "01_scalar.py").write_text("secret = 1\n")
    for command in ("exercises", "promote"):
        main(["--course", str(folder), command])
    return course


def release(course: Course, target: Path) -> int:
    return main(["--course", str(course.root), "release", "--to", str(target)])


def in_bundle(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full course")
    target = folder / "für alle" / "Bündel 1"
    assert release(full_course(folder / "the course"), target) == 0
    return target


def test_a_bundle_holds_what_students_need_and_nothing_else(bundle: Path) -> None:
    names = {path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if path.is_file()}
    assert {name for name in names if not name.startswith(("coursekit/", "simulator/warplens/"))} == {
        ".gitignore",
        "LICENSE",
        "Makefile",
        "README.md",
        "benchmarks/results/01_scalar.py",
        "chapters/01_scalar.ipynb",
        "exercises/01_exercises.ipynb",
        "minilib/__init__.py",
        "minilib/scalar.py",
        "pyproject.toml",
    }
    assert {"coursekit/box/probe.py", "simulator/warplens/kernel.py"} <= names
    assert not any("__pycache__" in name for name in names)


def test_no_file_of_a_bundle_holds_an_answer_or_a_hidden_test(bundle: Path) -> None:
    for path in bundle.rglob("*"):
        if path.is_file() and path.relative_to(bundle).parts[0] != "coursekit":
            data = path.read_bytes().decode()
            assert not any(marker in data for marker in MARKERS), path
            assert "secret input" not in data


@pytest.mark.slow
@pytest.mark.parametrize("command", ["promote", "exercises"])
def test_in_a_bundle_the_makers_commands_say_that_solutions_are_missing(bundle: Path, command: str) -> None:
    done = in_bundle(bundle, "-m", "coursekit", command, "--check")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "a bundle for students has no solutions" in done.stderr


def test_in_a_bundle_the_library_can_be_imported(bundle: Path) -> None:
    done = in_bundle(bundle, "-c", "import minilib.scalar as s; print(s.Value(0.0).tanh().data, s.__file__)")
    assert done.stdout.startswith(f"0.0 {bundle}")


@pytest.mark.thorough
def test_in_a_bundle_build_makes_a_library(bundle: Path) -> None:
    done = in_bundle(bundle, "-m", "coursekit", "build", "01")
    assert done.returncode == 2 and "holds no exercises yet" in done.stderr
    shutil.copytree(bundle / "exercises", bundle / "work" / "exercises")
    done = in_bundle(bundle, "-m", "coursekit", "build", "01")
    assert done.returncode == 0, done.stderr
    assert "scalar.Value.tanh  reference" in done.stdout and "the milestone works" in done.stdout


def test_a_bundles_readme_speaks_to_students_alone() -> None:
    ours = (REPOSITORY / "README.md").read_text()
    theirs = for_students(ours)
    assert "CONTRIBUTING" in ours and "docs/instructors.md" in ours
    assert "CONTRIBUTING" not in theirs and "docs/" not in theirs and "make lab" in theirs


def test_the_readme_of_a_bundle_has_its_pictures_and_pages() -> None:
    theirs = for_students((REPOSITORY / "README.md").read_text())
    named = re.findall(r'(?:\]\(|src=")(?!https?:)([^)"#]+)', theirs)
    held = list(files(Course(REPOSITORY)))
    assert len(named) > 30
    assert [one for one in named if not any(name == one or name.startswith(one) for name in held)] == []


@pytest.mark.slow
def test_a_bundle_of_a_bundle_is_refused(bundle: Path, tmp_path: Path) -> None:
    done = in_bundle(bundle, "-m", "coursekit", "release", "--to", str(tmp_path / "x"))
    assert done.returncode == 2 and "made from the full course" in done.stderr
    assert not (tmp_path / "x").exists()


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return full_course(tmp_path / "course")


def test_a_place_inside_the_course_is_refused(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    assert "inside the course" in error(course, course.chapters / "x", capsys)


def error(course: Course, target: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert release(course, target) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return err


@pytest.mark.slow
def test_an_empty_folder_is_used(course: Course, tmp_path: Path) -> None:
    target = tmp_path / "empty"
    target.mkdir()
    assert release(course, target) == 0
    assert (target / "README.md").exists()


@pytest.mark.slow
def test_a_folder_with_something_in_it_is_refused(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "used"
    target.mkdir()
    (target / "thesis.txt").write_text("years of work")
    assert "is there already" in error(course, target, capsys)
    assert [path.name for path in target.iterdir()] == ["thesis.txt"]
    assert "is there already" in error(course, target / "thesis.txt", capsys)


@pytest.mark.slow
def test_what_is_out_of_date_is_refused(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = course.library / "scalar.py"
    path.write_text(path.read_text() + "\n")
    assert "minilib/scalar.py is not what its sources say: run `make promote`" in error(
        course, tmp_path / "x", capsys
    )
    (course.exercises / "01_exercises.ipynb").unlink()
    assert "run `make exercises`" in error(course, tmp_path / "x", capsys)
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_a_missing_file_is_named(course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (course.root / "LICENSE").unlink()
    assert "LICENSE: is missing" in error(course, tmp_path / "x", capsys)


@pytest.mark.slow
def test_a_chapter_that_shows_an_answer_is_refused(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(course.chapters / "02_x.ipynb", MILESTONE, "### BEGIN SOLUTION\n1\n### END SOLUTION")
    assert "chapters/02_x.ipynb holds `### BEGIN SOLUTION`" in error(course, tmp_path / "x", capsys)


@pytest.mark.slow
def test_a_target_below_a_file_is_one_line(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert "file/x" in error(course, tmp_path / "file" / "x", capsys)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failure", "code"), [(OSError(28, "No space left on device"), 2), (KeyboardInterrupt(), 130)]
)
def test_a_copy_that_stops_in_the_middle_leaves_nothing(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException, code: int
) -> None:
    def stop(*args: object) -> None:
        raise failure

    folder = tmp_path / "out"
    folder.mkdir()
    monkeypatch.setattr("shutil.copyfile", stop)
    assert release(course, folder / "bundle") == code
    assert not list(folder.iterdir())


@pytest.mark.slow
def test_a_read_only_folder_is_one_line(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **options: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    assert "cannot be written (Permission denied)" in error(course, tmp_path / "x", capsys)
