"""`promote`: cells of notebooks become modules that read as if written by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from made_course import MUL, NODE, VALUE, new_course, save, scalar_course

from coursekit.__main__ import main
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.make.promote import promoted

EXPECTED = '''"""Scalars that know their derivative.

Taught in chapters/01_scalar.ipynb and solutions/01_scalar.ipynb: what they export is edited there, then `make
promote`.
"""

from __future__ import annotations

import math


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
    return promoted(course)["m.py"].partition("annotations\n")[2].strip("\n")


def error(course: Course) -> str:
    with pytest.raises(CourseError) as caught:
        promoted(course)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_chapters_and_answers_make_a_module_as_if_written_by_hand(tmp_path: Path) -> None:
    assert promoted(scalar_course(tmp_path, promoted=False))["scalar.py"] == EXPECTED


def test_promote_writes_once_and_then_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = scalar_course(tmp_path / "Kurs für Leute", promoted=False)
    assert promote(course) == 0
    path = course.library / "scalar.py"
    assert path.read_text() == EXPECTED
    assert "wrote minilib/scalar.py" in capsys.readouterr().out
    before = path.stat().st_mtime_ns
    assert promote(course) == 0 and promote(course, "--check") == 0
    assert path.stat().st_mtime_ns == before


def test_check_shows_a_diff_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = scalar_course(tmp_path, promoted=False)
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
    assert "A = 1" in texts["m.py"] and "B = 2" in texts["other.py"] and "B" not in texts["m.py"]


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


MODULE = """'''By hand.'''

from __future__ import annotations

import math

# First things


def double(x):
    return 2 * x


# Numbers


class Value:
    '''A number.'''

    # Arithmetic

    def __neg__(self):
        return Value(-self.data)

    # why: old
    def __mul__(self, other):
        return "old"

    # Functions

    def tanh(self):
        return math.tanh(self.data)


A = 1  # a constant
""".replace("'''", '"' * 3)
TAUGHT = "Taught in chapters/01_m.ipynb: what it exports is edited there, then `make promote`."


def in_place(course: Course, *cells: str, text: str = MODULE) -> str:
    """The text of a module `m` that has `text` and gets what these cells export."""
    (course.library / "m.py").write_text(text)
    return promoted(chapter(course, *cells))["m.py"]


def test_a_definition_is_replaced_where_it_stands(tmp_path: Path) -> None:
    cell = "#| export\n# why: new\n@add_to(Value)\ndef __mul__(self, other):\n    return math.nan"
    made = in_place(new_course(tmp_path), cell, "#| export\nA = 2  # new")
    expected = MODULE.replace("why: old", "why: new").replace('"old"', "math.nan")
    expected = expected.replace("A = 1  # a constant", "A = 2  # new")
    assert made == expected.replace("By hand.", f"By hand.\n\n{TAUGHT}\n")


def test_what_stands_there_by_hand_stays(tmp_path: Path) -> None:
    cell = "#| export\nclass Value:\n    'New.'\n    def __mul__(self, o): return 1"
    made = in_place(new_course(tmp_path), cell)
    assert "New." in made and "A number." not in made and made.count("def __mul__") == 1
    order = ["def double", "# Arithmetic", "def __neg__", "def __mul__", "# Functions", "def tanh", "A = 1"]
    assert [made.index(word) for word in order] == sorted(made.index(word) for word in order)


def test_what_is_new_joins_the_definition_before_it(tmp_path: Path) -> None:
    cell = (
        "#| export\ndef double(x): return x + x\n\ndef half(x): return x / 2\n\n"
        "@add_to(Value)\ndef __neg__(self): return 0\n\n@add_to(Value)\ndef __pos__(self): return self"
    )
    made = in_place(new_course(tmp_path), cell)
    order = ["def double", "def half", "# Numbers", "def __neg__", "def __pos__", "def __mul__", "# Fun"]
    assert [made.index(word) for word in order] == sorted(made.index(word) for word in order)


def test_a_property_that_lost_its_setter_loses_it_in_the_module(tmp_path: Path) -> None:
    both = "    @property\n    def x(self):\n        return 1\n\n    @x.setter\n    def x(self, v): ...\n\n"
    cell = "#| export\n@add_to(Value)\n@property\ndef x(self): return 2"
    text = MODULE.replace("    # Functions", f"{both}    # Functions")
    made = in_place(new_course(tmp_path), cell, text=text)
    assert "return 2" in made and "setter" not in made


@pytest.mark.slow
def test_each_definition_goes_to_its_file_of_a_package(tmp_path: Path) -> None:
    course = new_course(tmp_path)
    folder = course.library / "pack"
    folder.mkdir()
    (folder / "__init__.py").write_text("from minilib.pack.one import f\n")
    (folder / "one.py").write_text('"""One."""\n\n\ndef f():\n    return 1\n')
    (folder / "two.py").write_text('"""Two."""\n\n\nclass C:\n    def g(self):\n        return 1\n')
    save(
        course.chapters / "01_p.ipynb",
        "#| default_exp pack",
        "#| export\ndef f(): return 2\n\n@add_to(C)\ndef g(self): return math.pi",
        "#| export\nimport math",
        "#| export pack.one\nA = 1",
    )
    texts = promoted(course)
    assert sorted(texts) == ["pack/one.py", "pack/two.py"]
    assert "return 2" in texts["pack/one.py"] and "A = 1" in texts["pack/one.py"]
    assert "import math" in texts["pack/two.py"] and "import math" not in texts["pack/one.py"]
    for name, text in texts.items():
        (course.library / name).write_text(text)
    assert promoted(course) == texts


def test_a_name_in_two_files_must_say_which(tmp_path: Path) -> None:
    course = new_course(tmp_path)
    for name in ("one", "two"):
        (course.library / f"{name}.py").write_text("def f():\n    return 1\n")
    save(course.chapters / "01_p.ipynb", "#| default_exp one two", "#| export\ndef f(): return 2")
    assert error(course).endswith("`f` stands in one and in two; say which: `#| export one`")


KERNELS = """// Rows.

#include <cuda_fp16.h>
#define ROWS 4

// The sum of a row.
__device__ float sum(const float* x) {
    return x[0];  // not "}" yet
}

extern "C" __global__ void rows(const float* x, float* y) { y[0] = sum(x); }
"""


def test_kernels_are_replaced_in_their_file_and_new_helpers_stand_above_them(tmp_path: Path) -> None:
    course = new_course(tmp_path)
    (course.library / "kernels").mkdir()
    path = course.library / "kernels" / "rows.cu"
    path.write_text(KERNELS)
    cell = (
        "%%cuda rows\n//| export kernels/rows.cu\n__device__ float twice(float x) { return x + x; }\n\n"
        '// New.\nextern "C" __global__ void rows(const float* x, float* y) {\n'
        "    if (x) { y[0] = twice(sum(x)); }\n}"
    )
    save(course.chapters / "05_k.ipynb", cell)
    made = promoted(course)["kernels/rows.cu"]
    assert made.startswith("// Taught in chapters/05_k.ipynb: what it exports is edited there, then")
    order = ["// Rows.", "#include", "#define", "// The sum", "twice(float", "// New.", "void rows"]
    assert [made.index(word) for word in order] == sorted(made.index(word) for word in order)
    assert made.count("void rows") == 1 and 'not "}" yet' in made and "{ y[0] = sum(x); }" not in made
    path.write_text(made)
    assert promoted(course)["kernels/rows.cu"] == made
    (course.chapters / "05_k.ipynb").unlink()
    assert promoted(course)["kernels/rows.cu"] == made.partition("\n\n")[2]


def test_a_module_that_lost_its_notebook_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = scalar_course(tmp_path, promoted=False)
    promote(course)
    for folder in (course.chapters, course.solutions):
        (folder / "01_scalar.ipynb").unlink()
    assert promote(course, "--check") == 1
    out = capsys.readouterr().out
    assert "minilib/scalar.py: no notebook exports to it any more; it is an ordinary file now" in out


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
    course = scalar_course(tmp_path, promoted=False)

    def refuse(*args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    assert promote(course) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "minilib/scalar.py: cannot be written (Permission denied)" in err


def test_a_stop_in_the_middle_leaves_the_old_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course = scalar_course(tmp_path, promoted=False)
    path = course.library / "scalar.py"
    path.write_text('"""Old."""\n\nfrom __future__ import annotations\n')

    def stop(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", stop)
    assert promote(course) == 130
    assert path.read_text().startswith('"""Old.')
    assert sorted(item.name for item in course.library.iterdir()) == ["__init__.py", "scalar.py"]


def test_without_ruff_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ruff", None)
    assert "make lab" in error(scalar_course(tmp_path, promoted=False))
