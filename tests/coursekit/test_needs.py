"""Cells and notebooks that need PyTorch: run where it is, skipped with a reason and kept where it is not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from made_course import new_course, save
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from coursekit import needs, notebooks
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.make.execute import executed
from coursekit.make.textform import as_percent, merged
from coursekit.testing import test as course_test

# Stands in for a machine without PyTorch and without a compiler, whatever this one has.
WITHOUT = """
from coursekit import needs

for name in ("torch", "c++"):
    needs.NEEDS[name] = needs.NEEDS[name]._replace(is_there=lambda: False)
"""
WITH = WITHOUT.replace("False", "True")
NEED = "from coursekit.needs import need\n\n"


def lacking(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    for name in names or ("torch",):
        monkeypatch.setitem(needs.NEEDS, name, needs.NEEDS[name]._replace(is_there=lambda: False))


def ran(source: str, shown: str, number: int, *tags: str) -> NotebookNode:
    result = new_output("execute_result", {"text/plain": shown}, execution_count=number)
    metadata = {"tags": list(tags)} if tags else {}
    return new_code_cell(source, execution_count=number, outputs=[result], metadata=metadata)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    course = new_course(tmp_path / "course")
    save(course.chapters / "08_a.ipynb", ran("1 + 1", "2", 1), ran("'there'", "'kept'", 2, "torch"))
    return course


@pytest.mark.slow
def test_a_cell_that_cannot_run_keeps_its_output_and_all_are_counted(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking(monkeypatch)
    path = course.chapters / "08_a.ipynb"
    notebook = notebooks.read(path)
    notebook.cells.append(new_code_cell("3 + 3", id="last"))
    made = executed(notebook, path, course)
    assert [cell.execution_count for cell in made.cells] == [1, 2, 3]
    assert [cell.outputs[0].data["text/plain"] for cell in made.cells] == ["2", "'kept'", "6"]
    assert [cell.outputs[0].execution_count for cell in made.cells] == [1, 2, 3]


@pytest.mark.slow
def test_where_it_is_there_a_cell_runs_as_others_do(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(needs.NEEDS, "torch", needs.NEEDS["torch"]._replace(is_there=lambda: True))
    path = course.chapters / "08_a.ipynb"
    made = executed(notebooks.read(path), path, course)
    assert made.cells[1].outputs[0].data["text/plain"] == "'there'"


def test_a_changed_cell_that_cannot_run_is_refused(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking(monkeypatch)
    path = course.chapters / "08_a.ipynb"
    before = notebooks.read(path)
    changed = merged(as_percent(before).replace("'there'", "'there' * 2"), before, Path("text.py")).notebook
    with pytest.raises(CourseError, match=r"08_a.ipynb, cell 2: is new or changed.*pip install torch"):
        executed(changed, path, course)


def test_a_notebook_that_cannot_run_is_refused_whole(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(needs.NEEDS, "torch", needs.NEEDS["torch"]._replace(is_there=lambda: True))
    lacking(monkeypatch, "c++")
    path = course.chapters / "08_a.ipynb"
    notebook = notebooks.read(path)
    notebook.metadata["coursekit"] = {"needs": ["torch", "c++"]}
    with pytest.raises(CourseError, match="there is a C\\+\\+ compiler \\(`apt install g\\+\\+`\\)"):
        executed(notebook, path, course)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plugin", "counted"), [(WITHOUT, "1 passed, 3 skipped"), (WITH, "1 failed, 3 passed")]
)
def test_nbval_skips_with_a_reason_what_cannot_run_and_compares_what_can(
    course: Course, tmp_path: Path, plugin: str, counted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = save(course.chapters / "08_b.ipynb", ran("1 + 1", "2", 1), ran("2 + 2", "4", 2))
    notebook = notebooks.read(whole)
    notebook.metadata["coursekit"] = {"needs": ["torch", "c++"]}
    notebooks.write(whole, notebook)
    (tmp_path / "stands_in.py").write_text(plugin)
    command = course_test.pytest_command(course, None, [])
    command[command.index("-n") + 1] = "0"
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parents[2]}:{tmp_path}")
    done = subprocess.run(
        [*command, "-rs", "-p", "stands_in"], cwd=course.root, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1].strip("= ").startswith(counted), done.stdout
    assert ("missing: PyTorch (`pip install torch`)" in done.stdout) is (plugin == WITHOUT)


def run_all(*sources: str, before: str) -> list[str]:
    """What each cell shows in a kernel, the first of which is `before`."""
    made = new_notebook(cells=[new_code_cell(source) for source in (before, *sources)])
    NotebookClient(made, timeout=60).execute()
    assert not [one for cell in made.cells for one in cell.outputs if one.output_type == "error"]
    return ["".join(one.get("text", "") for one in cell.outputs) for cell in made.cells[1:]]


@pytest.mark.slow
def test_a_learner_gets_one_line_and_run_all_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    cells = (NEED + 'need("torch")\nprint("on PyTorch")', "print('next')", 'need("torch")')
    line = "Not here: PyTorch (`pip install torch`). The lesson goes on without this cell.\n"
    assert run_all(*cells, before=WITHOUT) == [line, "next\n", line]
    assert run_all(*cells, before=WITH) == ["on PyTorch\n", "next\n", ""]
    assert run_all(cells[0], "def f(): need('torch')", "f()", "1", before=WITHOUT) == [line, "", line, ""]


@pytest.mark.slow
def test_a_whole_notebook_stops_at_its_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    cells = [
        new_code_cell(one) for one in (WITHOUT, NEED + 'need("torch", "c++", whole=True)', "print('no')")
    ]
    made = new_notebook(cells=cells)
    with pytest.raises(CellExecutionError):
        NotebookClient(made, timeout=60).execute()
    shown = "".join(one.text for one in made.cells[1].outputs)
    assert (
        "PyTorch (`pip install torch`), a C++ compiler (`apt install g++`)" in shown
        and shown.count("\n") == 1
    )
    assert not made.cells[2].outputs


def test_outside_of_a_notebook_it_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking(monkeypatch)
    with pytest.raises(needs.Missing, match="pip install torch"):
        needs.need("torch")
    needs.need()


def test_every_need_that_a_notebook_names_is_known() -> None:
    root = Path(__file__).parents[2]
    for folder in ("chapters", "solutions"):
        for path in sorted((root / folder).glob("*.ipynb")):
            assert {*needs.of_notebook(notebooks.read(path))} <= needs.NEEDS.keys()


def test_a_ninja_that_pip_installed_is_found_and_put_where_pytorch_looks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(needs, "_installed", lambda: str(tmp_path))
    assert needs.missing(["ninja"]) == "ninja (`pip install ninja`)"
    (tmp_path / "ninja").write_text("#!/bin/sh\n")
    (tmp_path / "ninja").chmod(0o755)
    needs.need("ninja")
    assert shutil.which("ninja") == str(tmp_path / "ninja")
