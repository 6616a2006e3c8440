"""`edit`: a save of the text form goes into the notebook, the library and the exercises, or nothing does."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from made_course import answer, graded, save, scalar_course
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output

from coursekit import notebooks
from coursekit.__main__ import main
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.make.desk import Desk
from coursekit.make.execute import executed, joined, keep_outputs
from coursekit.make.session import Session
from coursekit.make.textform import as_percent, merged

ROOT = Path(__file__).parents[2]
WHERE = Path("text.py")


def notebook(*sources: str) -> NotebookNode:
    """A notebook of cells that have run; `=` begins those of Markdown."""
    made = []
    for number, source in enumerate(sources, 1):
        cell = new_code_cell(source, execution_count=number)  # type: ignore[no-untyped-call]
        cell.outputs = [new_output("stream", text=f"of {source}")]  # type: ignore[no-untyped-call]
        cell.id = f"id-{number}"
        made.append(cell)
    return NotebookNode(
        cells=made, metadata={"kernelspec": {"name": "python3"}}, nbformat=4, nbformat_minor=5
    )  # type: ignore[no-untyped-call]


def ids(found: NotebookNode) -> list[str]:
    return [cell.id for cell in found.cells]


@pytest.mark.thorough
@pytest.mark.parametrize("folder", ["chapters", "solutions"])
def test_the_text_form_of_every_notebook_gives_back_the_notebook(folder: str) -> None:
    for path in sorted((ROOT / folder).glob("*.ipynb")):
        before = notebooks.read(path)
        found = merged(as_percent(before), before, WHERE)
        assert found.is_same
        assert notebooks.as_text(found.notebook) == notebooks.as_text(before)


@pytest.mark.slow
def test_what_a_hidden_test_shows_is_not_stored(tmp_path: Path) -> None:
    hidden = "### BEGIN HIDDEN TESTS\nprint(a)\n### END HIDDEN TESTS"
    made = executed(notebook("a = 1", hidden, "print(a)"), tmp_path / "01.ipynb", Course(tmp_path))
    assert [(len(cell.outputs), cell.execution_count) for cell in made.cells] == [(0, 1), (0, None), (1, 3)]


def test_text_that_the_kernel_sent_in_pieces_is_one_output() -> None:
    names = ("stdout", "stdout", "stderr", "", "stdout")
    sent = [
        new_output("stream", name=name, text="a\n") if name else new_output("display_data") for name in names
    ]
    assert [output.get("text") for output in joined(sent)] == ["a\na\n", "a\n", None, "a\n"]


def test_a_deleted_cell_takes_its_id_and_outputs_with_it() -> None:
    before = notebook("a = 1", "b = 2", "c = 3", "d = 4")
    found = merged(as_percent(before).replace("# %%\nb = 2\n", ""), before, WHERE)
    assert ids(found.notebook) == ["id-1", "id-3", "id-4"]
    assert found.notebook.cells[1].outputs[0].text == "of c = 3"
    assert found.summary() == "1 gone"


def test_cells_that_change_or_move_keep_their_ids_and_a_new_one_gets_its_own() -> None:
    before = notebook("first = 1", "second = 2", "third = 3", "fourth = 4")
    moved = merged(as_percent(notebook("third = 3", "first = 1", "second = 2", "fourth = 4")), before, WHERE)
    assert ids(moved.notebook) == ["id-3", "id-1", "id-2", "id-4"]
    assert moved.summary() == "order changed"
    text = as_percent(before).replace("second = 2", "import math\n\n# %%\nsecond = 22")
    changed = merged(text, before, WHERE)
    assert [ids(changed.notebook)[n] for n in (0, 2, 3, 4)] == ["id-1", "id-2", "id-3", "id-4"]
    assert changed.summary() == "1 cell changed, 1 new" and changed.code_changed


def test_prose_alone_needs_no_run() -> None:
    before = notebook("a = 1", "b = 2")
    text = as_percent(before) + "\n# %% [markdown]\n# A sentence.\n"
    assert not merged(text, before, WHERE).code_changed
    before.cells[1].execution_count = None
    assert merged(as_percent(before), before, WHERE).code_changed


def test_metadata_can_be_edited_and_what_the_text_does_not_show_stays() -> None:
    before = notebook("a = 1", "b = 2")
    before.cells[0].metadata.update(tags=["slow"], collapsed=True)
    found = merged(as_percent(before).replace('tags=["slow"]', 'tags=["fast"]'), before, WHERE)
    assert found.notebook.cells[0].metadata == {"tags": ["fast"], "collapsed": True}
    assert found.summary() == "metadata changed"


def test_an_answer_that_is_rewritten_is_known_by_its_grade_id() -> None:
    before = notebook("a = 1", "b = 2")
    before.cells[0] = answer("def f(): return 1", "f")
    before.cells[0].id = "id-f"
    text = as_percent(before).replace("def f(): return 1", "import operator\nf = operator.itemgetter(0)")
    assert ids(merged(text, before, WHERE).notebook) == ["id-f", "id-2"]


def test_cuda_cells_stand_in_the_text_as_they_are() -> None:
    before = notebook("%%cuda add -q\n__global__ void add() {\n    // doesn't say '''\n}", "b = 2")
    text = as_percent(before)
    assert "\n%%cuda add -q\n__global__" in text and merged(text, before, WHERE).is_same


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds"),
        ("# %%\na = 1\n", "holds 1 of 3 cells"),
        ('# %% tags=["a\na\n\n# %%\nb\n', "cannot be read"),
    ],
)
def test_an_empty_or_broken_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(CourseError, match=message):
        merged(text, notebook("a = 1", "b = 2", "c = 3"), WHERE)


def test_outputs_stay_where_they_differ_in_nothing_that_matters() -> None:
    before, ran = (notebook("a", "b", "c", "d") for _ in range(2))
    for cell, name in ((before.cells[0], "0x7f00aa00aa"), (ran.cells[0], "0x7f99bb99bb")):
        cell.outputs = [new_output("stream", text=f"<f at {name}>")]  # type: ignore[no-untyped-call]
    for cell in ran.cells[1:]:
        cell.outputs = [new_output("stream", text="another")]  # type: ignore[no-untyped-call]
    ran.cells[3].metadata["tags"] = ["nbval-ignore-output"]
    keep_outputs(ran, {0: before.cells[0], 2: before.cells[2], 3: before.cells[3]})
    assert [cell.outputs[0].text for cell in ran.cells] == [
        "<f at 0x7f00aa00aa>",
        "another",
        "another",
        "of d",
    ]


# A save, all the way


@pytest.fixture
def course(tmp_path: Path) -> Course:
    course = scalar_course(tmp_path / "kürs eins")
    assert main(["--course", str(course.root), "exercises"]) == 0
    return course


def desk(course: Course, folder: str = "chapters") -> Desk:
    made = Desk(course, course.root / folder / "01_scalar.ipynb")
    made.lay_out()
    return made


def change(made: Desk, old: str, new: str) -> None:
    text = made.text.read_text()
    assert old in text
    made.text.write_text(text.replace(old, new))


def state(course: Course) -> dict[Path, bytes]:
    folders = (course.chapters, course.solutions, course.library, course.exercises)
    return {
        path: path.read_bytes()
        for folder in folders
        for path in folder.rglob("*.*")
        if path.is_file() and path.suffix != ".pyc"
    }


@pytest.mark.slow
def test_a_save_runs_the_notebook_and_reaches_the_library(course: Course) -> None:
    made = desk(course)
    change(made, "The product.", "The product of both.")
    said = made.bring()
    assert said[0].startswith("1 cell changed; ran 7 code cells in ")
    assert said[1] == "wrote chapters/01_scalar.ipynb, minilib/scalar.py" and said[2].startswith(
        "right after"
    )
    assert "The product of both." in (course.library / "scalar.py").read_text()
    ran = notebooks.read(made.notebook)
    assert ran.cells[6].outputs[0].data["text/plain"] == "2.0"
    assert "execution" not in ran.cells[6].metadata and "language_info" not in ran.metadata
    assert made.bring() == ["nothing changed"]


@pytest.mark.slow
def test_a_save_of_a_solution_reaches_library_and_exercises(course: Course) -> None:
    save(course.solutions / "01_scalar.ipynb", *plain(course))
    made = desk(course, "solutions")
    change(made, "Hyperbolic tangent.", "The hyperbolic tangent.")
    written = made.bring()[1]
    assert written == "wrote solutions/01_scalar.ipynb, minilib/scalar.py, exercises/01_exercises.ipynb"
    learners = (course.exercises / "01_exercises.ipynb").read_text()
    assert "The hyperbolic tangent." in learners and "math.tanh" not in learners


def plain(course: Course) -> list[NotebookNode]:
    """The solutions without the hidden tests, which need the grader's `probe`."""
    found = notebooks.read(course.solutions / "01_scalar.ipynb").cells
    return [cell for cell in found if "HIDDEN" not in cell.source] + [graded("1 + 1", "sum", locked=True)]


def test_prose_is_brought_back_without_a_run(course: Course) -> None:
    path = course.chapters / "01_scalar.ipynb"
    cells = notebooks.read(path).cells
    for number, cell in enumerate(cell for cell in cells if cell.cell_type == "code"):
        cell.execution_count = number
    save(path, *cells)
    made = desk(course)
    made.text.write_text(made.text.read_text() + "\n# %% [markdown]\n# The end.\n")
    assert made.bring()[0] == "1 new; no code changed, so nothing was run"
    made.fresh = True
    assert "ran" in made.bring()[0].partition("nothing changed; ")[2]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "Value(2.0).data",
            "x = 1\nValue(2.0).date",
            "line 2: AttributeError: 'Value' object has no attribute",
        ),
        ("Value(2.0).data", "Value(2.0", "SyntaxError"),
        ("def node(", "import that_is_not_there\n\ndef node(", "ModuleNotFoundError"),
        ("#| milestone", "#| milstone", "unknown directive `#| milstone`"),
        ("# %%", "#%", "holds 1 of"),
    ],
)
def test_where_a_step_fails_everything_is_as_before(course: Course, old: str, new: str, message: str) -> None:
    made, before = desk(course), state(course)
    change(made, old, new)
    text = made.text.read_text()
    with pytest.raises(CourseError) as caught:
        made.bring()
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert state(course) == before and made.text.read_text() == text


@pytest.mark.slow
@pytest.mark.parametrize("caught_by", ["any thread", "another thread"])
def test_ctrl_c_stops_a_run_and_nothing_is_written(course: Course, tmp_path: Path, caught_by: str) -> None:
    if caught_by == "another thread" and not hasattr(signal, "pthread_kill"):
        pytest.skip("signals of POSIX")
    made, before = desk(course), state(course)
    running = tmp_path / "running"
    change(
        made,
        "Value(2.0).data",
        f"import time, pathlib\npathlib.Path({str(running)!r}).touch()\ntime.sleep(500)",
    )

    def interrupt() -> None:
        while not running.exists():
            time.sleep(0.05)
        if caught_by == "another thread":
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        else:
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        made.bring()
    assert time.monotonic() - started < 300 and state(course) == before


@pytest.mark.slow
def test_an_error_names_the_line_of_the_text(course: Course) -> None:
    made = desk(course)
    change(made, "Value(2.0).data", "Value(2.0).date")
    line = made.text.read_text().split("\n").index("Value(2.0).date") + 1
    with pytest.raises(
        CourseError, match=rf"^\.edit/chapters/01_scalar\.py:{line}: chapters/01_scalar\.ipynb, "
    ):
        made.bring()


def test_what_something_else_wrote_meanwhile_is_not_lost(course: Course) -> None:
    made = desk(course)
    change(made, "The product.", "A product.")
    other = made.notebook.read_text().replace("A number.", "One number.")
    made.notebook.write_text(other)
    with pytest.raises(CourseError, match="was changed by something else meanwhile"):
        made.bring()
    with pytest.raises(CourseError, match="has changes to an older chapters/01_scalar"):
        desk(course)
    assert made.notebook.read_text() == other and "A product." in made.text.read_text()


@pytest.mark.slow
def test_the_text_is_made_anew_unless_it_has_changes_from_last_time(course: Course) -> None:
    made = desk(course)
    change(made, "The product.", "A product.")
    assert Desk(course, made.notebook).lay_out() and "A product." in made.text.read_text()
    made.bring()
    made.notebook.write_text(made.notebook.read_text().replace("A number.", "One number."))
    assert not Desk(course, made.notebook).lay_out() and "One number." in made.text.read_text()


# The command

REPLACE = (
    "import pathlib, sys; p = pathlib.Path(sys.argv[3]); p.write_text(p.read_text().replace(*sys.argv[1:3]))"
)


def editor(old: str, new: str) -> str:
    return shlex.join([sys.executable, "-c", REPLACE, old, new])


@pytest.mark.slow
def test_the_last_save_of_an_editor_is_brought_back(
    course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VISUAL", editor("The product.", "A product."))
    assert main(["--course", str(course.root), "edit", "1"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(
        "chapters/01_scalar.ipynb is in .edit/chapters/01_scalar.py as text\n1 cell changed"
    )
    monkeypatch.setenv("VISUAL", editor("Value(2.0).data", "Value(2.0).date"))
    assert main(["--course", str(course.root), "edit", "01"]) == 1
    assert "error: .edit/chapters/01_scalar.py:" in capsys.readouterr().out


@pytest.mark.thorough
def test_without_an_editor_saves_count_until_ctrl_c(course: Course) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("VISUAL", "EDITOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "coursekit", "--course", str(course.root), "edit", "01"],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        stdin=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        assert "as text" in process.stdout.readline() and "until Ctrl-C" in process.stdout.readline()
        time.sleep(0.3)
        change(Desk(course, course.chapters / "01_scalar.ipynb"), "The product.", "A product.")
        assert "1 cell changed" in process.stdout.readline()
        assert "wrote " in process.stdout.readline() and "right after" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=300) == ("\n", "") and process.returncode == 0
    finally:
        process.kill()


def test_a_chapter_that_is_not_there_is_one_line(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--course", str(course.root), "edit", "9"]) == 2
    assert capsys.readouterr().err == "error: chapters/ has no 9; it has 01\n"
    save(course.chapters / "02a_one.ipynb", "1")
    save(course.chapters / "02b_two.ipynb", "2")
    assert main(["--course", str(course.root), "edit", "2"]) == 2
    assert capsys.readouterr().err == "error: 2: which one? It may be 02a, 02b\n"


def test_an_editor_that_is_not_there_leaves_the_file_to_open(
    course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session(desk(course), "no-such-editor-1 -w")
    session.open()
    assert session.editor is None and "cannot be started" in capsys.readouterr().out


def test_an_editor_in_the_terminal_is_not_written_over(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session(desk(course), "/usr/bin/nano -l")
    session.editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    session.say("while it is open")
    assert capsys.readouterr().out == ""
    session.editor.communicate(b"\n")
    session.say("then")
    assert capsys.readouterr().out == "while it is open\nthen\n"
