"""Known wrong answers: whole programs, and edits that must fit the reference answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from coursekit.course import find_course
from coursekit.errors import CourseError
from coursekit.grading.assemble import assemble, load_chapter
from coursekit.grading.control import misconceptions_of, mistaken
from coursekit.grading.flow import info
from coursekit.grading.misconceptions import Misconception, load_misconceptions

COURSE = find_course(Path(__file__).parent)

PYTHON = '''# exercise: 1.1
def clamp(x: float, low: float, high: float) -> float:
    """The number of the interval that is nearest to `x`."""
    if x < low:
        return low
    if x > high:
        return high

    return x'''

CUDA = """%%cuda flip
// exercise: 1.2
extern "C" __global__ void flip(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[n - 1 - i];
}"""

REFERENCES = {"1.1": PYTHON, "1.2": CUDA, "1.3": "a = 0\nb = 1\na = 0"}

WHOLE = """def clamp(x, low, high):
    return low if x < low else x - -high


def other():
    pass"""

Load = Callable[..., list[Misconception]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Writes cells, each below a header, to 01.py (or .cu), and loads them."""

    def load(
        *cells: str, exercise: str = "1.1", suffix: str = ".py", newline: str = "\n"
    ) -> list[Misconception]:
        exercises = [SimpleNamespace(number=key, reference=text) for key, text in REFERENCES.items()]
        chapter = SimpleNamespace(path=Path("01_tiny.ipynb"), exercises=exercises)
        header = f"{'#' if suffix == '.py' else '//'} %% exercise={exercise} hint="
        text = "\n".join(f'{header}"{place}"\n{cell}\n' for place, cell in enumerate(cells))
        (tmp_path / "01.py").with_suffix(suffix).write_text(text, encoding="utf-8", newline=newline)
        return load_misconceptions(tmp_path / "01.py", chapter)

    return load


def edited(old: str, new: str) -> str:
    assert PYTHON.count(old) == 1
    return PYTHON.replace(old, new) + "\n"


def test_a_whole_program_stays_as_it_is(load: Load) -> None:
    assert [one.source for one in load(WHOLE, "\n" + WHOLE + "\n\n")] == [WHOLE + "\n"] * 2


@pytest.mark.parametrize(
    "cell, old, new",
    [
        ("-     if x < low:\n+     if x <= low:", "x < low:", "x <= low:"),
        ("-     if x < low:\n-         return low", "    if x < low:\n        return low\n", ""),
        (
            "-         return high\n-\n-     return x\n+         x = high\n+\n+     return x",
            "return high\n",
            "x = high\n",
        ),
        ("+     low = -low\n      if x < low:", "    if x < low:", "    low = -low\n    if x < low:"),
        ("          return low\n+     x += 1", "return low\n", "return low\n    x += 1\n"),
        ("      if x > high:\n-         return high\n+         return low", "return high", "return low"),
        ("-     return x\n+     return  x ", "    return x", "    return  x"),
    ],
)
def test_an_edit_is_applied_exactly(load: Load, cell: str, old: str, new: str) -> None:
    assert load(cell) == [Misconception("1.1", "0", edited(old, new))]


def test_hunks_stand_apart_and_in_any_order(load: Load) -> None:
    (made,) = load("-     return x\n+     return -x\n\n\n-     if x < low:\n+     if not x:")
    assert made.source == edited("return x", "return -x").replace("x < low:", "not x:")


def test_an_edit_of_cuda_c_has_no_line_for_the_magic(load: Load) -> None:
    (made,) = load("-     if (i < n) y[i] = x[n - 1 - i];\n+     y[i] = x[i];", exercise="1.2", suffix=".cu")
    assert made.source.startswith('// exercise: 1.2\nextern "C"')
    assert made.source.endswith("threadIdx.x;\n    y[i] = x[i];\n}\n")


def test_line_endings_of_windows_make_no_difference(load: Load) -> None:
    cells = (WHOLE, "-         return high\n-\n-     return x\n+         x = high\n+\n+     return x")
    assert load(*cells, newline="\r\n") == load(*cells)


@pytest.mark.parametrize(
    "cell, line, message",
    [
        (
            "\n-     return y\n+     return -x",
            3,
            "'    return y' is not in the reference answer; if that has changed",
        ),
        ("- return x\n+ return -x", 2, "'return x' has another indentation in the reference answer; copy it"),
        (
            "      if x < low:\n-     if x > high:\n+     pass",
            2,
            "'    if x < low:' and the lines below it do not",
        ),
        ("+     x = 0", 2, "new lines alone do not say where; add a line of the reference answer"),
        ("-     return x\n+     return x", 2, "these lines change nothing; mark old ones"),
        (
            "-     return x\n+     pass\n\n      return x\n+     pass",
            5,
            "these lines stand in a hunk above as well",
        ),
        (
            "-     return x\n    return -x\nx",
            4,
            "a line of an edit begins with `- `, `+ ` or two spaces, got 'x'",
        ),
        ("-     return x\n+\treturn -x", 3, "a line of an edit begins with `- `, `+ ` or two spaces, got"),
    ],
)
def test_an_edit_that_does_not_fit_is_one_line_with_its_place(
    load: Load, tmp_path: Path, cell: str, line: int, message: str
) -> None:
    with pytest.raises(CourseError) as error:
        load(cell)
    assert str(error.value).startswith(f"{tmp_path / '01.py'}, line {line}: exercise 1.1: {message}")
    assert "\n" not in str(error.value)


def test_an_edit_that_fits_twice_asks_for_a_line_more(load: Load) -> None:
    with pytest.raises(CourseError, match=r"line 2: exercise 1.3: 'a = 0' stands 2 times in .*; add a line"):
        load("- a = 0\n+ a = 1", exercise="1.3")
    assert load("  b = 1\n- a = 0\n+ a = 1", exercise="1.3")[0].source == "a = 0\nb = 1\na = 1\n"


@pytest.mark.parametrize(
    "text, message",
    [
        ("# %% exercise=1.1 hint=no quotes\nx", "01.py, line 1: expected"),
        ('# %% exercise=7.7 hint="a"\nx', "01.py: exercise 7.7 is not in 01_tiny.ipynb"),
    ],
)
def test_a_header_that_cannot_be_read_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "01.py").write_text(text)
    with pytest.raises(CourseError, match=message):
        load_misconceptions(tmp_path / "01.py", SimpleNamespace(path=Path("01_tiny.ipynb"), exercises=[]))


def test_a_wrong_answer_runs_amid_right_ones_and_with_its_own_hidden_tests_alone() -> None:
    chapter = load_chapter(next(COURSE.solutions.glob("01_*.ipynb")))
    wrong = misconceptions_of(chapter)[0]
    made, whole = mistaken(chapter, {wrong.exercise: wrong}), assemble(chapter, chapter.reference())
    assert {info(cell)["exercise"] for cell in made.cells if info(cell)["role"] == "hidden"} == {
        wrong.exercise
    }
    rest = [cell.source for cell in whole.cells if info(cell)["role"] != "hidden"]
    changed = [
        cell.source for cell in made.cells if info(cell)["role"] != "hidden" and cell.source not in rest
    ]
    assert changed == [wrong.source]


@pytest.mark.parametrize("path", sorted(COURSE.solutions.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_edits_of_a_chapter_fit_its_answers(path: Path) -> None:
    assert misconceptions_of(load_chapter(path))
