"""A course of one chapter and three exercises: what the grader's tests grade."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from coursekit import notebooks
from coursekit.course import Course
from coursekit.files import write_text

NAME = "01_tiny"

DOUBLE = """# exercise: 1.1
#| export
def double(x: float) -> float:
    \"\"\"Twice `x`.\"\"\"
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION"""

UNBROADCAST = """# exercise: 1.2
#| export
def unbroadcast(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    \"\"\"Sum `grad` over the axes that were broadcast, so that it has `shape`.\"\"\"
    ### BEGIN SOLUTION
    grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1)
    return grad.sum(axis=axes, keepdims=True)
    ### END SOLUTION"""

ORDER = """# exercise: 1.3
#| export
def order(graph: dict[str, list[str]]) -> list[str]:
    \"\"\"The nodes of `graph` such that each stands after all of its inputs.\"\"\"
    ### BEGIN SOLUTION
    done: list[str] = []
    while len(done) < len(graph):
        done += [n for n in graph if n not in done and all(i in done for i in graph[n])]
    return done
    ### END SOLUTION"""

# Right answers of another form: they must earn full marks too.
ALTERNATIVES = {
    "1.1": "# exercise: 1.1\ndef double(x):\n    return x + x",
    "1.2": """# exercise: 1.2
def unbroadcast(grad, shape):
    while grad.ndim > len(shape):
        grad = grad.sum(axis=0)
    for axis, size in enumerate(shape):
        if size == 1:
            grad = grad.sum(axis=axis, keepdims=True)
    return grad""",
    "1.3": """# exercise: 1.3
def order(graph):
    done = []
    def visit(node):
        if node not in done:
            for child in reversed(graph[node]):
                visit(child)
            done.append(node)
    for node in sorted(graph, reverse=True):
        visit(node)
    return tuple(done)""",
}

HIDDEN = {
    "double-hidden": """x = float(rng.normal())
probe("value", double(x))
probe("of an array", double(rng.normal(size=3)))""",
    "unbroadcast-hidden": """probe("broadcast", unbroadcast(rng.normal(size=(3, 4)), (4,)))
probe("size 1", unbroadcast(rng.normal(size=(3, 4)), (3, 1)))""",
    "unbroadcast-hidden-2": 'probe("same", unbroadcast(rng.normal(size=(2, 5)), (2, 5)))',
    "order-hidden": """names = [f"n{i}" for i in range(6)]
graph = {n: [names[j] for j in range(i) if rng.random() < 0.6] for i, n in enumerate(names)}
graph = {names[i]: graph[names[i]] for i in rng.permutation(6)}
probe("order", [graph, order(graph)])""",
}

JUDGES = '''"""Where more than one order is right."""


def judge_order_hidden(name, expected, got):
    graph = {key: value["list"] for key, value in expected["list"][0]["dict"]}
    nodes = got["list"][1].get("list") or got["list"][1].get("tuple")
    if nodes is None or sorted(map(str, nodes)) != sorted(graph):
        return "each node stands in the order once"
    late = [n for n in nodes if any(nodes.index(i) > nodes.index(n) for i in graph[n])]
    return f"{len(late)} nodes stand before one of their inputs" if late else None
'''

HINTS = {
    "square": "You squared x. Twice x is x + x.",
    "same": "You returned the gradient before summing over the axes that were broadcast.",
    "keepdims": "An axis of size 1 stays: sum with keepdims=True.",
    "reverse": "Your order is upside down: inputs come first.",
}

MISCONCEPTIONS = f'''"""Plausible wrong answers."""
# %% exercise=1.1 hint="{HINTS["square"]}"
# exercise: 1.1
def double(x):
    return x ** 2

# %% exercise=1.2 hint="{HINTS["same"]}"
# exercise: 1.2
def unbroadcast(grad, shape):
    return grad

# %% exercise=1.2 hint="{HINTS["keepdims"]}"
# exercise: 1.2
def unbroadcast(grad, shape):
    grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
    return grad.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1))

# %% exercise=1.3 hint="{HINTS["reverse"]}"
# exercise: 1.3
def order(graph):
    done = []
    while len(done) < len(graph):
        done += [n for n in graph if n not in done and all(i in done for i in graph[n])]
    return done[::-1]
'''


def meta(grade_id: str, **more: Any) -> dict[str, Any]:
    """nbgrader's cell metadata."""
    base = {"solution": False, "grade": False, "locked": True, "points": 0, "schema_version": 3}
    return {"nbgrader": {"grade_id": grade_id, **base, "task": False, **more}}


def code(source: str, metadata: Mapping[str, Any] | None = None) -> NotebookNode:
    cell = nbformat.v4.new_code_cell(source, metadata=dict(metadata or {}))
    cell.id = "tiny"
    return cell


def text(source: str) -> NotebookNode:
    cell = nbformat.v4.new_markdown_cell(source)
    cell.id = "tiny"
    return cell


def answer(grade_id: str, source: str) -> NotebookNode:
    return code(source, meta(grade_id, solution=True, locked=False))


def checks(grade_id: str, source: str) -> NotebookNode:
    return code(source, meta(f"{grade_id}-checks", grade=True))


def hidden(grade_id: str, points: float) -> NotebookNode:
    body = f"### BEGIN HIDDEN TESTS\n{HIDDEN[grade_id]}\n### END HIDDEN TESTS"
    return code(body, meta(grade_id, grade=True, points=points))


def _number(cells: Iterable[NotebookNode]) -> list[NotebookNode]:
    result = list(cells)
    for number, cell in enumerate(result):
        cell.id = f"tiny-{number}"
    return result


def solution_notebook() -> NotebookNode:
    """The chapter with answers and hidden tests. 2 + 3 + 2 = 7 points."""
    return notebook(
        text("# 01 tiny\n\nThree exercises."),
        code("import numpy as np\n\nfrom coursekit import add_to"),
        code("#| default_exp tiny"),
        code(
            "### BEGIN HIDDEN TESTS\nfrom coursekit.box.probe import probe, raised\n"
            "rng = np.random.default_rng(0)\n### END HIDDEN TESTS",
            meta("hidden-setup", grade=True),
        ),
        answer("helpers", "# helpers\n"),
        text("### 1.1 double (warm-up, 2 minutes)\n\nGive back **twice** `x`. About 1 line."),
        answer("double", DOUBLE),
        checks("double", 'assert double(2.0) == 4.0, "twice 2 is 4"'),
        hidden("double-hidden", 2),
        text(
            "### 1.2 unbroadcast (core, 8 minutes)\n\nSum over the axes of $(3, 4)$.\n\n"
            "<details><summary>The idea</summary>Count the axes: `grad.ndim - len(shape)`.</details>"
        ),
        answer("unbroadcast", UNBROADCAST),
        checks("unbroadcast", 'assert unbroadcast(np.ones((2, 3)), (3,)).shape == (3,), "sum over axis 0"'),
        hidden("unbroadcast-hidden", 2),
        hidden("unbroadcast-hidden-2", 1),
        text("### 1.3 any order (core, 8 minutes)\n\nSort a graph so that inputs come first."),
        answer("order", ORDER),
        checks("order", 'assert order({"b": ["a"], "a": []}) == ["a", "b"]'),
        hidden("order-hidden", 2),
    )


def exercise_notebook() -> NotebookNode:
    """What a student gets: stubs, no hidden tests."""
    given = solution_notebook()
    given.cells = [cell for cell in given.cells if notebooks.HIDDEN[0] not in cell.source]
    for cell in given.cells:
        cell.source = notebooks.stubbed(cell.source)
    return given


def notebook(*cells: NotebookNode) -> NotebookNode:
    made: NotebookNode = nbformat.v4.new_notebook(
        cells=_number(cells),
        metadata={
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "coursekit": {"chapter": "01", "minilib": ["draw"], "timeout": 20},
        },
    )
    made.nbformat_minor = 5
    return made


def submission(answers: Mapping[str, str] | None = None) -> NotebookNode:
    """A student's notebook: the exercise notebook with answer cells replaced, by number or "helpers"."""
    made = exercise_notebook()
    for cell in notebooks.cells(Path("submission.ipynb"), made):
        key = cell.exercise or ("helpers" if cell.grade_id == "helpers" else None)
        if cell.is_answer and key in (answers or {}):
            cell.node.source = (answers or {})[str(key)]
    return made


def reference_answers() -> dict[str, str]:
    return {"1.1": DOUBLE, "1.2": UNBROADCAST, "1.3": ORDER}


def submit(folder: Path, student: str, made: NotebookNode) -> Path:
    """Write `made` as FOLDER/STUDENT/01_tiny.ipynb."""
    path = folder / student / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(made), encoding="utf-8")
    return path


def make_tiny_course(root: Path) -> Course:
    """A whole course in `root`; its library holds an answer that no student may import."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "pyproject.toml").write_text('[tool.coursekit]\nrepository = ""\n')
    course = Course(root)
    notebooks.write(course.solutions / f"{NAME}.ipynb", solution_notebook())
    notebooks.write(course.exercises / f"{NAME}.ipynb", exercise_notebook())
    write_text(course.solutions / "misconceptions" / f"{NAME}.py", MISCONCEPTIONS)
    write_text(course.solutions / "judges" / f"{NAME}.py", JUDGES)
    write_text(course.library / "__init__.py", "")
    write_text(course.library / "draw.py", "def picture() -> str:\n    return 'a picture'\n")
    library = "import numpy as np\n\n\ndef double(x):\n    return 2 * x\n"
    write_text(course.library / "tiny.py", library)
    return course
