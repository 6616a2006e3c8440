"""One address and the titles, written into the README and all notebooks, and nothing else touched."""

from __future__ import annotations

import difflib
import json
from argparse import Namespace
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from coursekit import notebooks
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.files import write_text
from coursekit.make import exercises as make_exercises
from coursekit.make import exports, stamp

ROOT = Path(__file__).parents[2]
PROJECT = """[project]
name = "x"
version = "1.2"

[tool.coursekit]
# the address
repository = ""

[tool.ruff]
repository = ""
"""
OPENING = f"# Scalar ünd more\n\n{stamp.OPEN}\n{stamp.CLOSE}\n\nText."


def options(repository: str | None = None, *, check: bool = False) -> Namespace:
    return Namespace(repository=repository, check=check)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    course = Course(tmp_path / "kürs eins")
    cells = [
        new_markdown_cell(OPENING, id="opening"),
        new_code_cell("# setup", id="setup"),
        new_code_cell("1 + 1", id="sum", execution_count=2, metadata={"tags": ["a"]}),
    ]
    notebooks.write(course.chapters / "01_scalar.ipynb", new_notebook(cells=cells))
    (course.root / "README.md").write_text(f"# Course\n\n{stamp.OPEN}{stamp.CLOSE}\n\nEnd.\n")
    (course.root / "pyproject.toml").write_text(PROJECT)
    course.solutions.mkdir()
    return course


def chapter(course: Course) -> str:
    return (course.chapters / "01_scalar.ipynb").read_text(encoding="utf-8")


def setup(course: Course) -> str:
    return str(notebooks.read(course.chapters / "01_scalar.ipynb").cells[1].source)


def test_an_address_goes_everywhere(course: Course) -> None:
    assert stamp.run(course, options("ada/course")) == 0
    assert course.settings()["repository"] == "ada/course"
    readme = (course.root / "README.md").read_text()
    assert "git clone https://github.com/ada/course" in readme and "mybinder.org/v2/gh/ada/course" in readme
    assert "github/ada/course/blob/v1.2/chapters/01_scalar.ipynb" in chapter(course)
    assert "ada/course/v1.2?urlpath=lab/tree/work/chapters/01_scalar.ipynb" in chapter(course)
    installs = '%pip install --quiet "minilib-course[notebooks] @ git+https://github.com/ada/course@v1.2"'
    assert installs in setup(course)
    assert stamp.run(course, options(check=True)) == 0


def test_without_an_address_the_readme_and_first_cells_say_how_to_install_from_a_clone(
    course: Course,
) -> None:
    stamp.run(course, options("ada/course"))
    stamp.run(course, options(""))
    assert course.settings()["repository"] == ""
    assert "github" not in chapter(course) + (course.root / "README.md").read_text()
    assert "make lab" in setup(course) and "make lab" in (course.root / "README.md").read_text()


def test_there_and_back_gives_the_same_bytes(course: Course) -> None:
    stamp.run(course, options(""))
    before = {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()}
    stamp.run(course, options("ada/course"))
    stamp.run(course, options(""))
    assert before == {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()}


def test_only_the_two_sources_of_a_chapter_change(course: Course) -> None:
    before = chapter(course)
    stamp.run(course, options("ada/course"))
    old, new = json.loads(before), json.loads(chapter(course))
    for notebook in (old, new):
        for cell in notebook["cells"][:2]:
            cell["source"] = None
    assert old == new
    changed = [line for line in difflib.ndiff(before.splitlines(), chapter(course).splitlines())]
    assert not [line for line in changed if line.startswith(("- ", "+ ")) and '"id"' in line]


def exercises(course: Course) -> None:
    """A solution as authors write it, without markers and first cell, and the exercises made from it."""
    cells = [
        new_markdown_cell("# 1: exercises\n\nTen of them.", id="opening"),
        new_code_cell("#| default_exp scalar\n#| export\nimport math", id="imports", execution_count=1),
    ]
    notebooks.write(course.solutions / "01_scalar.ipynb", new_notebook(cells=cells))
    for path, text in make_exercises.made(course).items():
        write_text(path, text)


def test_exercises_get_markers_and_a_first_cell_and_stay_what_solutions_say(course: Course) -> None:
    exercises(course)
    stamp.run(course, options("ada/course"))
    path = course.exercises / "01_exercises.ipynb"
    opening, back, install, imports, _ = notebooks.read(path).cells
    assert opening.source.startswith(f"# 1: exercises\n\n{stamp.OPEN}\n")
    assert opening.source.endswith(f"{stamp.CLOSE}\n\nTen of them.")
    assert "blob/v1.2/exercises/01_exercises.ipynb" in opening.source
    assert "lab/tree/work/exercises/01_exercises.ipynb" in opening.source
    assert (
        install.source == stamp.Address("ada/course", "v1.2").setup_cell()
        and not install.metadata["editable"]
    )
    assert back.id == "back" and imports.id == "imports"
    assert make_exercises.made(course)[path] == path.read_text(encoding="utf-8")
    assert stamp.run(course, options(check=True)) == 0
    for notebook in (course.chapters, course.solutions):
        nbformat.validate(notebooks.read(notebook / "01_scalar.ipynb"))


def test_in_colab_a_link_to_a_notebook_has_its_page_there_beside_it(course: Course) -> None:
    exercises(course)
    more = (
        f"See [the next](02_arrays.ipynb) and [its source](../minilib/scalar.py).\n{stamp.OPEN}{stamp.CLOSE}"
    )
    cells = [new_markdown_cell(f"# Arrays\n\n{more}", id="opening"), new_code_cell("# setup", id="setup")]
    notebooks.write(course.chapters / "02_arrays.ipynb", new_notebook(cells=cells))
    stamp.run(course, options(""))
    before = {path: path.read_bytes() for path in course.root.rglob("*.ipynb")}
    stamp.run(course, options("ada/course"))
    assert stamp.run(course, options(check=True)) == 0
    page = "https://colab.research.google.com/github/ada/course/blob/v1.2"
    lesson, other = (notebooks.read(path).cells for path in sorted(course.chapters.iterdir()))
    assert f"](../exercises/01_exercises.ipynb) ([in Colab]({page}/exercises/01_exercises.ipynb))" in (
        lesson[-1].source
    )
    assert f"](02_arrays.ipynb) ([in Colab]({page}/chapters/02_arrays.ipynb))" in lesson[-1].source
    assert f"](02_arrays.ipynb) ([in Colab]({page}/chapters/02_arrays.ipynb)) and" in other[0].source
    assert "[its source](../minilib/scalar.py)." in other[0].source
    mine = notebooks.read(course.exercises / "01_exercises.ipynb").cells
    assert f"](../chapters/01_scalar.ipynb) ([in Colab]({page}/chapters/01_scalar.ipynb))" in mine[1].source
    stamp.run(course, options("bob/course"))
    stamp.run(course, options(""))
    assert before == {path: path.read_bytes() for path in course.root.rglob("*.ipynb")}


def test_the_readme_has_the_badges_of_exercises_and_the_tag(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    exercises(course)
    stamp.run(course, options("ada/course"))
    row = next(
        line for line in (course.root / "README.md").read_text().splitlines() if "`01_scalar.ipynb`" in line
    )
    lesson, practice = row.strip("|").split("|")[1:]
    for cell, path in ((lesson, "chapters/01_scalar.ipynb"), (practice, "exercises/01_exercises.ipynb")):
        assert f"blob/v1.2/{path}" in cell and f"urlpath=lab/tree/work/{path}" in cell
    assert "git tag v1.2" in capsys.readouterr().out


def test_where_colab_has_no_hints_the_exercises_say_so(course: Course) -> None:
    exercises(course)
    stamp.run(course, options("ada/course"))
    opening = notebooks.read(course.exercises / "01_exercises.ipynb").cells[0].source
    assert stamp.NO_HINTS in opening and stamp.NO_HINTS not in chapter(course)


def test_promotion_reads_past_a_first_cell_that_installs(course: Course) -> None:
    exercises(course)
    stamp.run(course, options("ada/course"))
    found = exports.read_source(course.solutions / "01_scalar.ipynb", course).exports
    assert [export.cell.source.splitlines()[-1] for export in found] == ["import math"]


def test_other_tables_of_pyproject_are_left_alone(course: Course) -> None:
    stamp.run(course, options("ada/course"))
    text = (course.root / "pyproject.toml").read_text()
    assert text == PROJECT.replace('repository = ""', 'repository = "ada/course"', 1)


def test_check_names_what_differs_and_changes_nothing(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    before = chapter(course)
    assert stamp.run(course, options(check=True)) == 1
    assert "+++ chapters/01_scalar.ipynb" in capsys.readouterr().out
    assert chapter(course) == before


def test_the_first_cell_does_nothing_where_the_course_is_installed() -> None:
    exec(compile(stamp.Address("", "v1").setup_cell(), "setup", "exec"), {})


@pytest.mark.parametrize("name", ["ada", "https://github.com/ada/course", "ada/course/x", "a b/c", 'a/b"'])
def test_what_is_no_address_is_refused(course: Course, name: str) -> None:
    with pytest.raises(CourseError, match="is not OWNER/NAME"):
        stamp.run(course, options(name))
    assert course.settings()["repository"] == ""


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([new_markdown_cell("# No markers"), new_code_cell("# setup")], "no Markdown cell holds"),
        ([new_markdown_cell(OPENING + OPENING), new_code_cell("# setup")], "it holds them 2 times"),
        ([new_markdown_cell(OPENING), new_code_cell("1 + 1")], "must begin with `# setup`"),
        ([new_markdown_cell(OPENING)], "must begin with `# setup`"),
    ],
)
def test_a_chapter_without_a_place_is_told_and_nothing_is_written(
    course: Course, cells: list[object], said: str
) -> None:
    notebooks.write(course.chapters / "02_other.ipynb", new_notebook(cells=cells))
    before = {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()}
    with pytest.raises(CourseError, match=said):
        stamp.run(course, options("ada/course"))
    assert before == {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()}


def test_a_damaged_chapter_is_told(course: Course) -> None:
    (course.chapters / "01_scalar.ipynb").write_text("[1]")
    with pytest.raises(CourseError, match="is not a notebook"):
        stamp.run(course, options(""))


def test_a_pyproject_without_the_setting_is_told(course: Course) -> None:
    (course.root / "pyproject.toml").write_text("[tool.coursekit]\n")
    with pytest.raises(CourseError, match="add it"):
        stamp.run(course, options("ada/course"))


def test_links_follow_the_titles_and_stand_once(course: Course) -> None:
    exercises(course)
    cells = [new_markdown_cell(f"# Then: {{an}} end\n\n{stamp.OPEN}{stamp.CLOSE}"), new_code_cell("# setup")]
    notebooks.write(course.chapters / "02_arrays.ipynb", new_notebook(cells=cells))
    assert stamp.run(course, options()) == 0
    assert stamp.run(course, options(check=True)) == 0
    lesson, last = (notebooks.read(path).cells for path in sorted(course.chapters.iterdir()))
    assert [cell.id for cell in lesson] == ["opening", "setup", "sum", "next"]
    assert "](../exercises/01_exercises.ipynb)" in lesson[-1].source
    assert "[Then: {an} end](02_arrays.ipynb)" in lesson[-1].source
    assert len(last) == 2
    mine = notebooks.read(course.exercises / "01_exercises.ipynb").cells
    assert [cell.id for cell in mine] == ["opening", "back", "install", "imports", "next"]
    assert mine[1].source == "**The chapter**: [Scalar ünd more](../chapters/01_scalar.ipynb)"
    solution = next(course.solutions.iterdir())  # through jupytext a cell may lose its id, and get another
    copied = notebooks.read(solution)
    copied.cells.insert(2, new_markdown_cell(mine[1].source, id="another"))
    notebooks.write(solution, copied)
    assert stamp.run(course, options()) == 0
    assert [cell.id for cell in notebooks.read(course.exercises / "01_exercises.ipynb").cells] == [
        *("opening", "back", "install", "imports", "next")
    ]
    (course.chapters / "02_arrays.ipynb").unlink()
    stamp.run(course, options())
    assert "02_arrays" not in chapter(course)


def test_minutes_are_counted_and_written_where_they_are_told(course: Course) -> None:
    path = course.chapters / "01_scalar.ipynb"
    notebook = notebooks.read(path)
    told = "**Time**: 5 minutes\nto read and run; the exercises take 1 more. A break is before the end."
    notebook.cells.append(new_markdown_cell("word " * 800 + told))
    notebook.cells.append(new_markdown_cell("$$x$$ **Your turn**: try it."))
    notebooks.write(path, notebook)
    assert stamp.run(course, options()) == 0
    # 814 words are 4.5 minutes, an equation and a turn 4
    assert "**Time**: 10 minutes to read and run. A break is before the end." in chapter(course)
    assert stamp.run(course, options(check=True)) == 0


def test_the_exercises_minutes_are_added_up_by_tier(course: Course) -> None:
    path = course.chapters / "01_scalar.ipynb"
    notebook = notebooks.read(path)
    notebook.cells.append(new_markdown_cell("**Time**: 5 minutes to read and run. More."))
    notebooks.write(path, notebook)
    tiers = ("warm-up, 3 minutes", "core, 9 minutes; stretch, 5", "stretch, 15 minutes")
    tasks = "\n\n".join(f"### 1.{k} A task ({tier})" for k, tier in enumerate(tiers, 1))
    cells = [new_markdown_cell(f"# Exercises\n\n{stamp.OPEN}\n{stamp.CLOSE}"), new_markdown_cell(tasks)]
    notebooks.write(course.solutions / "01_scalar.ipynb", new_notebook(cells=[*cells, new_code_cell("1")]))
    stamp.made(course)
    text = str(stamp.minutes(course, path))
    assert text == "**Time**: 5 minutes to read and run; the exercises take 15 more, the stretches 20"
