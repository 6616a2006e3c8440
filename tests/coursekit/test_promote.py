"""`promote`: cells of notebooks become modules that read as if written by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from made_course import MUL, NODE, VALUE, answer, new_course, save, scalar_course

from coursekit.__main__ import main
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.make.promote import promoted

EXPECTED = '''"""Scalars that know their derivative.

Promoted from chapters/01_scalar.ipynb and solutions/01_scalar.ipynb; edit there, then `make promote`.
"""

from __future__ import annotations

import math

# Expressions remember how they were made


class Value:
    """A number."""

    __slots__ = ("data",)

    def __init__(self, data: float) -> None:
        self.data = data  # as it is

    def __mul__(self, other: Value) -> Value:
        """The product."""
        return node(self.data * other.data)

    def tanh(self) -> Value:
        """Hyperbolic tangent."""
        t = math.tanh(self.data)  # reference
        return node(t)

    def exp(self) -> Value:
        """e to the power of it."""
        return node(math.exp(self.data))  # reference


def node(data: float) -> Value:
    """The result of an operation."""
    return Value(data)
'''


def promote(course: Course, *options: str) -> int:
    return main(["--course", str(course.root), "promote", *options])


def chapter(course: Course, *cells: str) -> Course:
    """A chapter 01 of these cells, which export to the module `m`."""
    save(course.chapters / "01_m.ipynb", "#| default_exp m\n#| default_doc One.", *cells)
    return course


def body(course: Course) -> str:
    """The module `m` below its docstring and the future import."""
    return promoted(course)["m"].partition("annotations\n")[2].strip("\n")


def error(course: Course) -> str:
    with pytest.raises(CourseError) as caught:
        promoted(course)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_chapters_and_answers_make_a_module_as_if_written_by_hand(tmp_path: Path) -> None:
    assert promoted(scalar_course(tmp_path))["scalar"] == EXPECTED


def test_promote_writes_once_and_then_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = scalar_course(tmp_path / "Kurs für Leute")
    assert promote(course) == 0
    path = course.library / "scalar.py"
    assert path.read_text() == EXPECTED
    assert "wrote minilib/scalar.py" in capsys.readouterr().out
    before = path.stat().st_mtime_ns
    assert promote(course) == 0 and promote(course, "--check") == 0
    assert path.stat().st_mtime_ns == before


def test_check_shows_a_diff_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = scalar_course(tmp_path)
    promote(course)
    path = course.library / "scalar.py"
    path.write_text(EXPECTED.replace("math.tanh", "math.sinh"))
    assert promote(course, "--check") == 1
    out = capsys.readouterr().out
    assert "-        t = math.sinh(self.data)" in out and "+        t = math.tanh(self.data)" in out
    assert "sinh" in path.read_text()


def test_chapters_stand_before_solutions_of_the_same_part(tmp_path: Path) -> None:
    course = new_course(tmp_path)
    for path in ("chapters/02b_x", "chapters/01_x", "solutions/01_x", "chapters/02a_x", "solutions/02a_x"):
        name = path.replace("/", "_")
        save(course.root / f"{path}.ipynb", "#| default_exp m", f"#| export\n{name} = 1")
    names = [line.split(" ")[0] for line in body(course).splitlines() if line]
    assert names == ["chapters_01_x", "solutions_01_x", "chapters_02a_x", "solutions_02a_x", "chapters_02b_x"]


def test_one_cell_can_go_to_another_module(tmp_path: Path) -> None:
    course = chapter(new_course(tmp_path), "#| export\nA = 1", "#| export other\nB = 2")
    texts = promoted(course)
    assert "A = 1" in texts["m"] and "B = 2" in texts["other"] and "B" not in texts["m"]


def test_assigned_members_move_into_the_class(tmp_path: Path) -> None:
    cell = MUL + "\n\nValue.__rmul__ = Value.__mul__\nValue.sq = lambda self: Value.__mul__(self, self)"
    text = body(chapter(new_course(tmp_path), VALUE, NODE, cell))
    assert "    __rmul__ = __mul__\n    sq = lambda self: Value.__mul__(self, self)\n\n\ndef node" in text


def test_properties_with_setters_move_into_the_class(tmp_path: Path) -> None:
    getter = "#| export\n@add_to(Value)\n@property\ndef item(self): return self.data"
    setter = "#| export\n@add_to(Value)\n@item.setter\ndef item(self, value): self.data = value"
    text = body(chapter(new_course(tmp_path), VALUE, getter, setter))
    assert "    @property\n    def item(self):\n        return self.data\n\n    @item.setter\n" in text


def test_strings_of_several_lines_keep_their_value(tmp_path: Path) -> None:
    cell = (
        '#| export\n@add_to(Value)\ndef text(self):\n    a = f"""{self}\nb\n  c"""\n    return a, """d\n e"""'
    )
    text = body(chapter(new_course(tmp_path), VALUE, cell))
    assert 'a = f"""{self}\nb\n  c"""' in text and '"""d\n e"""' in text


def test_comments_stay_with_the_code_that_they_speak_of(tmp_path: Path) -> None:
    cell = """#| export
# Why one
def f():
    return 1  # here
    # at the end of f


# Why two
A = 1
B = 2; C = 3  # both"""
    assert body(chapter(new_course(tmp_path), cell)) == (
        "# Why one\ndef f():\n    return 1  # here\n    # at the end of f\n\n\n"
        "# Why two\nA = 1\nB = 2\nC = 3  # both"
    )


def test_a_class_on_one_line_can_grow(tmp_path: Path) -> None:
    cell = "#| export\nclass E(Exception): ...\n\n@add_to(E)\ndef f(self): return 1"
    text = body(chapter(new_course(tmp_path), cell))
    assert text == "class E(Exception):\n    def f(self):\n        return 1"


def test_imports_are_gathered_and_sorted(tmp_path: Path) -> None:
    text = body(
        chapter(
            new_course(tmp_path),
            "#| export\nimport os\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import ast",
            "#| export\nimport math\nfrom coursekit import add_to\nA: ast.AST | None = None\nB = os, math",
            "#| export\nimport math\nfrom math import tau, pi\nC = pi + tau",
        )
    )
    assert text.startswith(
        "import math\nimport os\nfrom math import pi, tau\nfrom typing import TYPE_CHECKING\n\n"
        "if TYPE_CHECKING:\n    import ast\n\n\nA: ast.AST | None = None\n"
    )


def test_a_heading_with_exports_becomes_a_section(tmp_path: Path) -> None:
    course = chapter(
        new_course(tmp_path),
        "## 1. **First** things",
        "#| export\nA = 1",
        "## Nothing exported here",
        "## Second",
        "#| export\nB = 1",
    )
    assert body(course) == "# First things\n\n\nA = 1\n\n\n# Second\n\n\nB = 1"


def test_an_exercise_gives_a_section_without_its_number_and_minutes(tmp_path: Path) -> None:
    course = new_course(tmp_path)
    cell = answer("# exercise: 1.9\n#| export\nA = 1", "a")
    save(
        course.solutions / "01_m.ipynb",
        "#| default_exp m",
        "### 1.9 A fused neuron (stretch, 20 minutes)",
        cell,
    )
    assert body(course) == "# A fused neuron\n\n\nA = 1"


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["#| export\nA = (1"], "chapters/01_m.ipynb, cell 2, line 2: syntax error: '(' was never closed"),
        (["#| export\n%matplotlib inline"], "cell 2, line 2: syntax error"),
        (
            ["#| export\nA = 1", "#| export\n\nA = 2"],
            "cell 3, line 3: `A` is already defined in chapters/01_m",
        ),
        (
            ["#| export\ndef f(): ...", "#| export\nf = 1"],
            "`f` is already defined in chapters/01_m.ipynb, cell 2",
        ),
        (["#| export\nimport math", "#| export\nmath = 1"], "`math` is already defined"),
        (["#| export\nfrom a import x", "#| export\nfrom b import x"], "`x` is already defined"),
        (
            [VALUE, NODE, MUL, MUL],
            "cell 5, line 2: `__mul__` is already defined in chapters/01_m.ipynb, cell 4",
        ),
        (
            [NODE.replace("node", "f"), MUL, VALUE],
            "cell 3, line 2: add_to(Value): module m has no class Value",
        ),
        (["#| export\n@add_to(x.Y)\ndef f(self): ..."], "add_to(x.Y): module m has no class x.Y"),
        (
            [VALUE, "#| export\n@property\n@add_to(Value)\ndef f(self): ..."],
            "stands above the other decorators",
        ),
        (["#| exprot\nA = 1"], "cell 2, line 1: unknown directive `#| exprot`"),
        (["A = 1\n#| export\nB = 2"], "cell 2, line 2: a directive below code does nothing"),
        (["#| export a-b\nA = 1"], "`a-b` is no module name"),
        (["#| default_exp n"], "a second `#| default_exp`"),
        (["#| export\nA = 1\nA"], "line 3: an exported cell defines things"),
        (["#| export\nA = 1 + b"], "cell 2, line 2: in module m: undefined name `b`"),
        (["#| export\nfrom minilib.m import A"], "cannot stand in module m"),
        (["#| export\nfrom math import *"], "cannot stand in module m"),
        (["#| export\nfrom coursekit import errors"], "only `add_to` of coursekit"),
        (
            [VALUE, "#| export\ndef deco(f): return f\n\n@add_to(Value)\n@deco\ndef f(self): ..."],
            "line 4: in the module, `deco` is not defined yet when class Value is made",
        ),
        ([VALUE, "#| export\nValue.one = Value(1)"], "Value does not exist yet while its body is being run"),
    ],
)
def test_errors_name_notebook_cell_and_line(tmp_path: Path, cells: list[str], message: str) -> None:
    found = error(chapter(new_course(tmp_path), *cells))
    assert message in found
    assert "chapters/01_m.ipynb, cell " in found


def test_an_export_needs_a_module(tmp_path: Path) -> None:
    course = new_course(tmp_path)
    save(course.chapters / "01_m.ipynb", "## Title", "\n#| export\nA = 1")
    assert error(course).endswith(
        "cell 2, line 2: `#| export`, but the notebook has no `#| default_exp MODULE`"
    )


def test_two_sentences_for_one_module_are_refused(tmp_path: Path) -> None:
    course = chapter(new_course(tmp_path), "#| export\nA = 1")
    save(course.chapters / "02_m.ipynb", "#| default_exp m\n#| default_doc Two.", "#| export\nB = 1")
    assert "differs from the one in chapters/01_m.ipynb" in error(course)


def test_an_ordinary_file_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = chapter(new_course(tmp_path), "#| export\nA = 1")
    (course.library / "m.py").write_text("HAND = 1\n")
    assert promote(course) == 2
    assert "minilib/m.py: is an ordinary file" in capsys.readouterr().err
    assert (course.library / "m.py").read_text() == "HAND = 1\n"


def test_a_module_that_lost_its_notebook_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = scalar_course(tmp_path)
    promote(course)
    for folder in (course.chapters, course.solutions):
        (folder / "01_scalar.ipynb").unlink()
    assert promote(course, "--check") == 1
    assert "minilib/scalar.py: no notebook exports to it any more" in capsys.readouterr().out


def test_a_bundle_without_solutions_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = new_course(tmp_path)
    course.solutions.rmdir()
    assert promote(course, "--check") == 2
    assert "a bundle for students has no solutions" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"cells": 3}', "\xff", '{"nbformat": 4, "cells": [{"source": 3}]}']
)
def test_a_damaged_notebook_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    course = new_course(tmp_path)
    (course.chapters / "01_m.ipynb").write_bytes(text.encode("latin-1"))
    assert promote(course) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_notebook_without_a_number_is_refused(tmp_path: Path) -> None:
    course = new_course(tmp_path)
    save(course.chapters / "Untitled.ipynb", "#| default_exp m")
    assert "named NN_name.ipynb" in error(course)


def test_a_folder_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    course = scalar_course(tmp_path)

    def refuse(*args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    assert promote(course) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "minilib/scalar.py: cannot be written (Permission denied)" in err


def test_a_stop_in_the_middle_leaves_the_old_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course = scalar_course(tmp_path)
    path = course.library / "scalar.py"
    path.write_text('"""Old.\n\nPromoted from x.\n"""\n')

    def stop(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", stop)
    assert promote(course) == 130
    assert path.read_text().startswith('"""Old.')
    assert sorted(item.name for item in course.library.iterdir()) == ["__init__.py", "scalar.py"]


def test_without_ruff_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert "pip install 'minilib[course]'" in error(scalar_course(tmp_path))
