"""What hidden tests count is out of an answer's reach: shown at each call, and measured from a floor."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from graded import COURSE

from coursekit.grading.assemble import load_chapter
from coursekit.notebooks import cuda_line

CHAPTERS = sorted(COURSE.solutions.glob("*.ipynb"))
GROWS = {"append", "extend", "add", "update", "insert", "setdefault"}
TENSORS = {"data", "weight"}  # numbers that are moved, and no count
LAUNCHES = re.compile(r"RawKernel\(|self\.launch\(|\bkernel\(\(")
LIBRARY = 6000  # characters: a longer set-up cell is what `given` gives

# What is filled, and is no count that a grade rests on.
ALLOWED: dict[str, set[str]] = {
    "3.18": {"noted"},  # outputs, which an answer's own hooks saw
    "3.33": {"stops"},  # ends the test's own loop
    "5.20": {".calls"},  # by the task an answer counts it
    "5.23": {"added"},  # how many parts there are is the answer's affair: a series would show that
    "6.20": {"cache"},  # `extend` is its own
    "7.8": {"living"},  # the same as in 5.23, of calls
}


def trees_of(sources: Iterable[str]) -> list[ast.Module]:
    """Cells as trees, those in CUDA C and what magics say aside."""
    cells = [source for source in sources if not cuda_line(source)]
    plain = [
        "\n".join(line for line in cell.split("\n") if not line.startswith(("%", "!"))) for cell in cells
    ]
    return [ast.parse(cell) for cell in plain]


def functions_in(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.Lambda]:
    return (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.Lambda))


def filled(function: ast.FunctionDef | ast.Lambda) -> Iterator[str]:
    """Names and attributes, not the function's own, to which it adds something when it is called."""
    shared = {name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names}
    own = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    own |= {
        name.id
        for name in ast.walk(function)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GROWS:
            target = node.func.value
        elif isinstance(node, ast.AugAssign):
            target = node.target
        else:
            continue
        while isinstance(target, ast.Subscript):
            target = target.value
        if isinstance(target, ast.Attribute) and target.attr not in TENSORS:
            yield f".{target.attr}"
        elif isinstance(target, ast.Name) and target.id not in own - shared:
            yield target.id


def read(tree: ast.AST) -> Counter[str]:
    """How often each name and attribute is read."""
    nodes = (one for one in ast.walk(tree) if isinstance(one, ast.Name | ast.Attribute))
    return Counter(
        one.id if isinstance(one, ast.Name) else f".{one.attr}"
        for one in nodes
        if isinstance(one.ctx, ast.Load)
    )


def names_made(tree: ast.AST) -> set[str]:
    """Names that a cell binds, wherever in it."""
    kinds = ast.FunctionDef | ast.ClassDef
    made = {one.name for one in ast.walk(tree) if isinstance(one, kinds)}
    made |= {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}
    made |= {one.asname or one.name for one in ast.walk(tree) if isinstance(one, ast.alias)}
    return made | {
        one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }


def within_reach(tests: list[ast.Module], set_up: list[ast.Module]) -> set[str]:
    """What functions of tests and set-up add to, and tests look at elsewhere: an answer could, too.

    What lies in a closure is not within reach in this sense: what fills and what asks stand in one function.
    """
    all_read = sum((read(tree) for tree in tests), Counter())
    found = set()
    for tree in (*tests, *set_up):
        inner = {id(one) for outer in functions_in(tree) for one in functions_in(outer) if one is not outer}
        for function in functions_in(tree):
            if id(function) not in inner:
                here = read(function) if tree in tests else Counter()
                found |= {name for name in filled(function) if all_read[name] > here[name]}
    return found


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_nothing_that_is_counted_lies_where_an_answer_can_mend_it(path: Path) -> None:
    chapter = load_chapter(path)
    set_up = trees_of(source for source in chapter.set_up if len(source) < LIBRARY)
    found = {
        number: names
        for number, cells in chapter.tests.items()
        if (names := within_reach(trees_of(cells), set_up) - ALLOWED.get(number, set()))
    }
    assert found == {}


def test_a_count_in_a_list_or_an_attribute_is_seen_also_where_it_passes_through_another() -> None:
    noted = """
class Noting:
    def __call__(self, x):
        self.noted.append(x)
shown = []
ask(one := Noting())
shown.append(len(one.noted))
probe("calls", shown)
"""
    runs = "def kernel(x):\n    runs['cpu'] += 1\nask(kernel)\nprobe('runs', dict(runs))"
    closed = "def telling():\n    seen = set()\n    return lambda x: (x in seen, seen.add(x))\nask(telling())"
    loads = "class Memory:\n    def __getitem__(self, i):\n        self.loads += 1"
    assert within_reach([ast.parse(noted)], []) == {".noted"}
    assert within_reach([ast.parse(runs)], []) == {"runs"}
    assert within_reach([ast.parse(closed)], []) == set()
    assert within_reach([ast.parse("probe('loads', x.loads)")], [ast.parse(loads)]) == {".loads"}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_most_bytes_at_a_time_are_measured_from_a_floor(path: Path) -> None:
    for number, cells in load_chapter(path).tests.items():
        for tree in trees_of(cells):
            for call in ast.walk(tree):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "most":
                    assert "floor" in {one.arg for one in call.keywords}, number


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_where_memory_is_measured_no_name_of_a_test_before_is_needed(path: Path) -> None:
    """Each has a kernel of its own; then the tests that measure none run, in that of the last."""
    chapter = load_chapter(path)
    for number, cells in chapter.tests.items():
        measuring = [cell for cell in cells if chapter.measures(cell)]
        trees = dict(zip(cells, trees_of(cells), strict=True))
        for cell, tree in trees.items():
            gone = trees.keys() - {cell} if cell in measuring else set(measuring[:-1])
            names = set().union(*(names_made(trees[one]) for one in gone))
            assert not (set(read(tree)) & names) - names_made(tree), number


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_who_launches_from_python_is_judged_by_what_each_launch_shows(path: Path) -> None:
    """Arrays that it wrote, by `launched`; or a kernel that the test hands out tells of itself."""
    chapter = load_chapter(path)
    for exercise in chapter.exercises:
        if not exercise.cuda and LAUNCHES.search(exercise.reference):
            tests = "\n".join(chapter.tests[exercise.number])
            assert "launched(" in tests or "series(" in tests, exercise.name
