"""`promote --distances`: lines between an operation and its caller, in one file and in two side by side."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_course import new_course

from coursekit.__main__ import main
from coursekit.make.distances import Distance, in_one_file, side_by_side

ROOT = Path(__file__).parents[2]

ONE = """\
class Base(Function):
    pass


class Erf(Base):
    pass


class Lost(Function):
    pass


class Other:
    pass


def erf(x):
    return apply(Erf(), x)


def twice(x):
    return apply(Erf(), apply(Other(), x))
"""

OPERATIONS = """\
import numpy

# Arithmetic


class Add(Function):
    \"\"\"x + y\"\"\"


# Only here


class Cat(Function):
    pass


# Sums


class Sum(Function):
    pass
"""

TENSOR = """\
def add(x):
    return Add()


class Tensor:
    data = None
    more = None

    # What it holds

    def shape(self):
        return ()

    # Arithmetic

    def neg(self):
        return 0
        # a comment is no heading

    def __add__(self, other):
        return apply(Add(), self, other)

    # Sums

    def sum(self):
        return apply(Sum(), self)
"""


def test_in_one_file_it_is_the_difference_of_the_lines_to_the_first_caller() -> None:
    assert in_one_file(ONE) == [Distance("Erf", "erf", 12), Distance("Lost")]


def test_side_by_side_it_is_the_difference_below_the_common_heading() -> None:
    found = side_by_side(OPERATIONS, TENSOR, "Tensor")
    assert found == [Distance("Add", "__add__", 3), Distance("Cat"), Distance("Sum", "sum", 1)]


def test_a_caller_below_another_heading_is_as_far_as_its_row() -> None:
    # `# Arithmetic` has 9 lines, Add stands at 3; then come the 7 of `# Only here`, and 2 to sum
    moved = TENSOR.replace("Sum()", "Add()").replace("apply(Add(), self, other)", "other")
    assert side_by_side(OPERATIONS, moved, "Tensor")[0] == Distance("Add", "sum", 9 - 3 + 7 + 2)


def test_the_command_prints_the_median_of_each_module(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = new_course(tmp_path)
    (course.library / "functional").mkdir()
    (course.library / "functional" / "curves.py").write_text(ONE)
    (course.library / "operations.py").write_text(OPERATIONS)
    (course.library / "tensor").mkdir()
    (course.library / "tensor" / "core.py").write_text(TENSOR)
    assert main(["--course", str(course.root), "promote", "--distances"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "functional/curves.py: 1 operations, median 12 lines",
        "    12  Erf from erf",
        "  called elsewhere: Lost",
        "operations.py beside tensor/core.py: 2 operations, median 2 lines",
        "     3  Add from __add__",
        "     1  Sum from sum",
        "  called elsewhere: Cat",
    ]


def test_in_minilib_a_reader_scrolls_less_than_a_screen() -> None:
    operations, tensor = (
        (ROOT / "minilib" / name).read_text(encoding="utf-8") for name in ("operations.py", "tensor/core.py")
    )
    lines = sorted(one.lines for one in side_by_side(operations, tensor, "Tensor") if one.lines is not None)
    assert len(lines) > 30 and lines[len(lines) // 2] < 60
