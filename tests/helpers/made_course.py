"""Small courses made of small notebooks, for the tests of promote, exercises, build and release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from coursekit import notebooks
from coursekit.course import Course
from coursekit.make import promote

PROJECT = "[tool.coursekit]\n[tool.ruff]\nline-length = 110\n"


def new_course(folder: Path) -> Course:
    """A course without notebooks."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(PROJECT)
    for name in ("chapters", "solutions", "exercises", "minilib"):
        (folder / name).mkdir()
    (folder / "minilib" / "__init__.py").write_text('"""The library."""\n')
    return Course(folder)


def save(path: Path, *made: NotebookNode | str) -> Path:
    """A notebook of cells; a string is a code cell, or a Markdown cell where it begins with `# ` or `##`."""
    found = [_cell(item) if isinstance(item, str) else item for item in made]
    for number, cell in enumerate(found):
        cell["id"] = f"{path.parent.name}-{number}"
    notebooks.write(path, new_notebook(cells=found))  # type: ignore[no-untyped-call]
    return path


def _cell(text: str) -> NotebookNode:
    is_prose = text.startswith(("# ", "## ", "### ")) and "BEGIN" not in text and "exercise:" not in text
    made: NotebookNode = new_markdown_cell(text) if is_prose else new_code_cell(text)  # type: ignore[no-untyped-call]
    return made


def graded(source: str, grade_id: str, **marks: Any) -> NotebookNode:
    """A code cell with nbgrader's metadata."""
    marks = {"grade": False, "locked": False, "points": 0, "solution": False, "task": False} | marks
    data = {"grade_id": grade_id, "schema_version": 3, **marks}
    cell: NotebookNode = new_code_cell(source, metadata={"nbgrader": data})  # type: ignore[no-untyped-call]
    return cell


def answer(source: str, grade_id: str) -> NotebookNode:
    return graded(source, grade_id, solution=True)


VALUE = '''#| export
class Value:
    """A number."""

    __slots__ = ("data",)

    def __init__(self, data: float) -> None:
        self.data = data  # as it is'''

MUL = '''#| export
@add_to(Value)
def __mul__(self, other: "Value") -> "Value":
    """The product."""
    return node(self.data * other.data)'''

NODE = '''#| export
def node(data: float) -> Value:
    """The result of an operation."""
    return Value(data)'''

GIVEN = """from coursekit.given import given

given("scalar", without=["Value.tanh", "Value.exp"])"""

TANH = '''# exercise: 1.1
#| export
@add_to(Value)
def tanh(self) -> Value:
    """Hyperbolic tangent."""
    ### BEGIN SOLUTION
    t = math.tanh(self.data)  # reference
    return node(t)
    ### END SOLUTION'''

EXP = '''# exercise: 1.2
#| export
@add_to(Value)
def exp(self) -> Value:
    """e to the power of it."""
    ### BEGIN SOLUTION
    return node(math.exp(self.data))  # reference
    ### END SOLUTION'''

HIDDEN = """### BEGIN HIDDEN TESTS
probe("secret input", Value(0.123).tanh().data)
### END HIDDEN TESTS"""

MILESTONE = """#| milestone
import minilib.scalar
from minilib.scalar import Value
print("tanh is", Value(0.5).tanh().data)"""


def scalar_course(folder: Path, *, promoted: bool = True) -> Course:
    """A course of one chapter, two exercises and a milestone, and their library where it is `promoted`."""
    course = new_course(folder)
    save(
        course.chapters / "01_scalar.ipynb",
        "# 01 Scalar",
        "#| default_exp scalar\n#| default_doc Scalars that know their derivative.",
        "#| export\nimport math\n\nfrom coursekit import add_to",
        "## Expressions remember how they were made",
        VALUE,
        NODE,
        "Value(2.0).data",
        "## Multiply",
        MUL,
        MILESTONE,
    )
    save(
        course.solutions / "01_scalar.ipynb",
        "#| default_exp scalar",
        graded("import math\nfrom coursekit import add_to", "imports", locked=True),
        graded(GIVEN, "given", locked=True),
        answer("# helpers", "helpers"),
        "### 1.1 tanh (core, 8 minutes)",
        answer(TANH, "tanh"),
        graded("assert Value(0.0).tanh().data == 0", "tanh-checks", grade=True, locked=True),
        graded(HIDDEN, "tanh-hidden", grade=True, locked=True, points=3),
        "### 1.2 exp (core, 8 minutes)",
        answer(EXP, "exp"),
        graded(HIDDEN.replace("tanh", "exp"), "exp-hidden", grade=True, locked=True, points=2),
    )
    if promoted:
        for name, text in promote.promoted(course).items():
            (course.library / name).write_text(text)
    return course
