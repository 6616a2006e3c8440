"""`edit Value.tanh` finds the one place in which a definition is edited."""

from __future__ import annotations

import pytest
from made_course import scalar_course

from coursekit.__main__ import main
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.make.home import home


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    made = scalar_course(tmp_path_factory.mktemp("course"))
    (made.library / "more.py").write_text(
        "class Value2:\n    def sinh(self): ...\n\n    @property\n    def grad(self): ...\n\n"
        "    @grad.setter\n    def grad(self, g): ...\n\n\ndef tanh(x): ...\n"
    )
    return made


@pytest.mark.parametrize(
    ("asked", "name", "folder"),
    [
        ("Value.tanh", "Value.tanh", "solutions"),
        ("Value.__mul__", "Value.__mul__", "chapters"),
        ("exp", "Value.exp", "solutions"),
        ("sinh", "Value2.sinh", "minilib"),
        ("tanh", "tanh", "minilib"),
        ("Value2.grad", "Value2.grad", "minilib"),
    ],
)
def test_a_name_is_edited_where_a_cell_exports_it_or_else_in_its_file(
    course: Course, asked: str, name: str, folder: str
) -> None:
    found = home(course, asked)
    assert (found.name, found.path.parent.name) == (name, folder)
    assert found.is_cell == (folder != "minilib")


@pytest.mark.parametrize("asked", ["Value.cosh", "__init__"])
def test_no_name_and_many_are_refused_by_name(course: Course, asked: str) -> None:
    (course.library / "other.py").write_text("class A:\n    def __init__(self): ...\n")
    with pytest.raises(CourseError, match=asked):
        home(course, asked)


def test_a_file_opens_in_the_editor(
    course: Course, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "echo opened")
    assert main(["--course", str(course.root), "edit", "sinh"]) == 0
    said = capfd.readouterr().out
    assert "minilib/more.py, line 2" in said and f"opened {course.library / 'more.py'}" in said
