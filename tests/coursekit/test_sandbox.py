"""The box, the conversation with a kernel in it, and the order of a run."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import psutil
import pytest
import tiny_course

from coursekit.box.probe import MIME
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.grading import client, sandbox
from coursekit.grading.assemble import Chapter, assemble, load_chapter
from coursekit.grading.flow import entropy
from coursekit.grading.model import CellRun, NotebookRun, Probe
from coursekit.grading.run import private_folder, run_notebooks
from coursekit.grading.sandbox import Box, make_library

pytestmark = pytest.mark.slow

REFERENCE = tiny_course.reference_answers()


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return tiny_course.make_tiny_course(tmp_path_factory.mktemp("sandbox") / "course")


@pytest.fixture(scope="module")
def box() -> Box:
    try:
        return Box.required()
    except CourseError as error:
        pytest.skip(str(error))


def run(
    course: Course, box: Box, answers: Mapping[str, Mapping[str, str]], **options: Any
) -> dict[str, NotebookRun]:
    chapter = load_chapter(course.solutions / f"{tiny_course.NAME}.ipynb")
    notebooks = {name: assemble(chapter, one) for name, one in answers.items()}
    return run_notebooks(notebooks, course=course, box=box, **{"seed": 1, "workers": 1, **options})


def timeless(run: NotebookRun) -> list[CellRun]:
    return [replace(cell, seconds=0.0) for cell in run.cells]


# The box


def test_without_bubblewrap_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(CourseError, match=r"apt install bubblewrap.*--sandbox off"):
        Box.required()


def test_bubblewrap_that_does_not_work_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/false")
    with pytest.raises(CourseError, match="does not work here"):
        Box.required()


def test_nothing_of_other_packages_is_in_the_box() -> None:
    parts = sandbox.installed_parts()
    assert {"numpy", "ipykernel", "matplotlib", "regex", "IPython", "zmq"} <= parts.keys()
    absent = {"micrograd", "torch", "minilib", "coursekit", "nbval", "pytest", "_pytest", "pip", "debugpy"}
    assert not absent & parts.keys()
    assert not [name for name in parts if name.endswith((".pth", ".dist-info"))]


def test_a_library_holds_the_listed_modules_and_what_they_import(tmp_path: Path) -> None:
    source = tmp_path / "minilib"
    for name, text in {
        "__init__": "from minilib.tensor import Tensor\nfrom minilib import draw\nX = compute()\n",
        "draw": "import minilib.shapes\nfrom minilib.colours import red\n",
        "shapes": "from . import points\nimport numpy\n",
        "colours": "def red(): from .paint import mix\n",
        **dict.fromkeys(("points", "paint", "tensor", "answer"), "Tensor = 1\n"),
    }.items():
        (source / f"{name}.py").parent.mkdir(exist_ok=True)
        (source / f"{name}.py").write_text(text)
    (source / "__pycache__").mkdir()
    (source / "__pycache__" / "answer.cpython-311.pyc").write_bytes(b"")
    made = sandbox.make_library(tmp_path / "made", source, ["draw"])
    modules = {"__init__", "draw", "shapes", "points", "colours", "paint"}
    assert {path.name for path in (made / "minilib").iterdir()} == {
        "__pycache__",
        *(f"{name}.py" for name in modules),
    }
    bytecode = sorted((made / "minilib" / "__pycache__").iterdir())
    assert {path.name.partition(".")[0] for path in bytecode} == modules
    assert not any(str(tmp_path).encode() in path.read_bytes() for path in bytecode)
    assert (made / "minilib" / "__init__.py").read_text() == "from minilib import draw\n"
    assert {path.name for path in (made / "coursekit").iterdir()} == {"__init__.py", "__pycache__", "box"}


def test_of_a_package_a_library_may_hold_some_files(tmp_path: Path) -> None:
    source = tmp_path / "minilib"
    for name, text in {
        "__init__": "",
        "dag": "",
        "graph/__init__": "from minilib.graph import nodes, passes\nfrom minilib.graph.passes import fold\n",
        "graph/nodes": "from minilib.graph import kinds\nfrom minilib.dag import order\n",
        "graph/kinds": "",
        "graph/passes": "from minilib.graph.nodes import Node\n",
    }.items():
        (source / f"{name}.py").parent.mkdir(parents=True, exist_ok=True)
        (source / f"{name}.py").write_text(text)
    made = sandbox.make_library(tmp_path / "made", source, ["graph.nodes"]) / "minilib"
    there = {str(path.relative_to(made)) for path in made.rglob("*.py")}
    assert there == {
        "__init__.py",
        "dag.py",
        *(f"graph/{name}.py" for name in ("__init__", "nodes", "kinds")),
    }
    assert (made / "graph" / "__init__.py").read_text() == "from minilib.graph import nodes\n"


@pytest.mark.parametrize("name", ["missing", "../solutions", "__init__.py"])
def test_a_library_refuses_what_is_no_module(tmp_path: Path, course: Course, name: str) -> None:
    with pytest.raises(CourseError, match="has no module"):
        sandbox.make_library(tmp_path / "made", course.library, [name])


# What comes back from a kernel


def message(probe: Any) -> bytes:
    return json.dumps({"data": {MIME: probe}}).encode()


def test_a_probe_is_taken_as_it_was_shown() -> None:
    shown = message({"name": "sum", "value": {"float": "0x1p+0"}, "tolerance": 0.5})
    assert client.as_probes(shown) == [Probe("sum", {"float": "0x1p+0"}, 0.5)]


DEEP: Any = 1
for _ in range(200):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "probe",
    [
        None,
        [],
        {"name": "sum"},
        {"name": 1, "value": 1, "tolerance": 0},
        {"name": "a\nb", "value": 1, "tolerance": 0},
        {"name": "sum", "value": 1, "tolerance": "much"},
        {"name": "sum", "value": 1, "tolerance": float("inf")},
        {"name": "sum", "value": DEEP, "tolerance": 0},
        {"name": "sum", "value": "\ud800", "tolerance": 0},
    ],
)
def test_a_malformed_probe_has_a_name_that_no_test_has(probe: Any) -> None:
    assert client.as_probes(message(probe)) == [Probe("(malformed)", None)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb\r\x1b[31mred\x00", "a b [31mred"),
        ("\u202eevil \u200b\ud800", "evil"),
        ("x" * 1000, "x" * 199 + "…"),
    ],
)
def test_text_becomes_one_printable_line(text: str, line: str) -> None:
    assert client.one_line(text) == line


def frames(kind: str, content: bytes, parent: str = "me") -> list[bytes]:
    header, before = {"msg_type": kind}, {"msg_id": parent}
    return [
        b"topic",
        b"<IDS|MSG>",
        b"",
        json.dumps(header).encode(),
        json.dumps(before).encode(),
        b"{}",
        content,
    ]


def test_only_messages_of_the_request_count() -> None:
    talk = client.Conversation("me")
    good = {"name": "a", "value": 1, "tolerance": 0}
    talk.read(frames("display_data", message(good), parent="another"))
    talk.read(frames("execute_result", message(good)))
    talk.read([b"\xff"])
    assert talk.shown.probes == []
    talk.read(frames("display_data", message(good)))
    talk.read(frames("status", b'{"execution_state": "idle"}', parent="another"))
    talk.read(frames("execute_reply", b'{"status": "ok"}'))
    assert [probe.name for probe in talk.shown.probes] == ["a"]
    assert not talk.complete
    talk.read(frames("status", b'{"execution_state": "idle"}'))
    assert talk.complete


def series_of(*parts: tuple[Any, int, bool]) -> list[tuple[str, Any]]:
    """What comes of a series whose messages have these values and places, some of them the last."""
    talk = client.Conversation("me")
    for value, place, last in parts:
        data = {"name": "a", "value": value, "tolerance": 0, "place": place, "last": last}
        talk.read(frames("display_data", message(data)))
    return [(probe.name, probe.value) for probe in talk.shown.probes]


def test_the_items_of_a_series_become_one_list() -> None:
    assert series_of((None, 0, False), (1, 1, False), (2, 2, False), (None, 2, True)) == [
        ("a", {"list": [1, 2]})
    ]


@pytest.mark.parametrize(
    "parts",
    [
        [(None, 0, False), (2, 2, False), (None, 2, True)],  # the first was kept from being shown
        [(None, 0, False), (1, 1, False), (None, 2, True)],  # the second
        [(None, 0, False), (None, 0, True), (1, 1, False)],  # one comes after the end
        [(None, 0, False), (None, 0, False), (None, 0, True)],  # begun twice
        [(1, 1, False)],
        [(None, 0, False), (1, None, False)],
    ],
)
def test_a_series_that_lacks_an_item_is_spoilt(parts: list[tuple[Any, int, bool]]) -> None:
    names = [name for name, _ in series_of(*parts)]
    assert "(malformed)" in names or len(names) > 1


def test_shared_memory_counts() -> None:
    before = sandbox.resident("self")
    with mmap.mmap(-1, 10**8) as shared:
        shared.write(bytes(10**8))
        assert sandbox.resident("self") - before >= 10**8


def test_a_syntax_error_names_the_line_of_the_cell() -> None:
    talk = client.Conversation("me")
    error = {"status": "error", "ename": "SyntaxError", "evalue": "invalid syntax (2138565741.py, line 4)"}
    talk.read(frames("execute_reply", json.dumps(error).encode()))
    assert talk.shown.error == "SyntaxError: invalid syntax (line 4 of the cell)"


def test_too_much_output_is_a_flood() -> None:
    many, long, wide = (client.Conversation("me") for _ in range(3))
    for _ in range(client.MAX_MESSAGES + 1):
        many.read([b""])
    long.read([b"x" * (client.MAX_BYTES + 1)])
    wide.read(frames("display_data", message({"name": "a", "value": "x" * client.MAX_PROBE, "tolerance": 0})))
    assert [talk.shown.status for talk in (many, long, wide)] == ["flood"] * 3


# A run


def loads(module: str) -> bool:
    """Whether a module can be imported on this machine: a wheel may want a library that Debian lacks."""
    return (
        subprocess.run([sys.executable, "-c", f"import {module}"], stderr=subprocess.DEVNULL).returncode == 0
    )


IMPORTS = "matplotlib.pyplot, sklearn.datasets, graphviz, safetensors.numpy, threadpoolctl, tqdm, " + (
    "pygraphviz, minilib.draw" if loads("pygraphviz") else "minilib.draw"
)
ANSWERS = {
    "reference": REFERENCE,
    "again": REFERENCE,
    "name with / and \n": REFERENCE,
    "=cmd()": {},
    "raises": {**REFERENCE, "1.1": "np.random.normal(size=100)\nraise ValueError('x\\ny')"},
    "imports": {"1.1": f"import {IMPORTS}\nmatplotlib.pyplot.plot([1, 2])\ndef double(x): return 2 * x"},
    "leaves": {
        "helpers": "def helper(): return 1",
        "1.1": "sum = tuple = range = np = 0\nrest = registry['a'] = 1\ndef double(x): return x + x",
        "1.2": tiny_course.UNBROADCAST,
        "1.3": "def order(graph): return [x for x in ('rest', 'helper') if x in globals()] + [registry]",
    },
    "slow": {**REFERENCE, "1.1": "import time\ntime.sleep(60)"},
}


@pytest.fixture(scope="module")
def chapter(course: Course) -> Chapter:
    return load_chapter(course.solutions / f"{tiny_course.NAME}.ipynb")


@pytest.fixture(scope="module")
def boxed(course: Course, chapter: Chapter, box: Box) -> dict[str, NotebookRun]:
    """One run that several tests look at."""
    notebooks = {name: assemble(chapter, one) for name, one in ANSWERS.items()}
    notebooks["slow"].metadata["coursekit"]["timeout"] = 5
    notebooks["leaves"].cells[0].source += "\nregistry = {}"
    return run_notebooks(notebooks, course=course, box=box, seed=1, workers=2)


def statuses(run: NotebookRun) -> list[str]:
    return [cell.status for cell in run.cells]


@pytest.mark.thorough
def test_one_seed_gives_one_result(boxed: dict[str, NotebookRun]) -> None:
    assert timeless(boxed["reference"]) == timeless(boxed["again"])


def test_another_seed_gives_other_values(course: Course, boxed: dict[str, NotebookRun]) -> None:
    (other,) = run(course, Box.off(), {"a": REFERENCE}, seed=2).values()
    assert statuses(other) == ["ok"] * 4
    for one, two in zip(other.cells, boxed["reference"].cells, strict=True):
        assert one.probes != two.probes


def test_an_early_exception_shifts_no_inputs(boxed: dict[str, NotebookRun]) -> None:
    assert boxed["raises"].cells[0].error == "ValueError: x y"
    assert timeless(boxed["raises"])[1:] == timeless(boxed["reference"])[1:]
    assert entropy(1, "a") != entropy(1, "b") != entropy(2, "b")


def test_the_usual_packages_can_be_imported_in_the_box(boxed: dict[str, NotebookRun]) -> None:
    assert boxed["imports"].cells[0].error == ""
    assert statuses(boxed["imports"]) == ["ok"] + ["unsolved"] * 3


def test_each_exercise_runs_as_if_it_stood_alone(boxed: dict[str, NotebookRun]) -> None:
    assert statuses(boxed["leaves"]) == ["ok"] * 4
    assert boxed["leaves"].cells[3].probes[0].value["list"][1] == {"list": ["helper", {"dict": []}]}


def test_a_time_limit_comes_from_the_notebook(boxed: dict[str, NotebookRun]) -> None:
    assert statuses(boxed["slow"]) == ["timeout", "ok", "ok", "ok"]


def test_plain_kernels_show_what_boxed_ones_show(
    course: Course, boxed: dict[str, NotebookRun], tmp_path: Path
) -> None:
    plain: dict[str, NotebookRun] = {}
    junit = tmp_path / "junit.xml"
    names = ["name with / and \n", "=cmd()"]
    answers = {name: ANSWERS[name] for name in names}
    run(course, Box.off(), answers, on_done=lambda one: plain.update({one.name: one}), junit=junit)
    assert [timeless(plain[name]) for name in names] == [timeless(boxed[name]) for name in names]
    assert list(plain) == names
    cases = ElementTree.parse(junit).getroot().iter("testcase")
    assert [len(case) for case in cases] == [0] * 4 + [1] * 4  # a child element says what failed


FLOODS = {
    "a message without an end": """
    one.setblocking(True)
    while True: one.sendall(b"\\x03" + (1 << 20).to_bytes(8, "big") + bytes(1 << 20))""",
    "messages without an end": """
    while True: kernel.session.send(kernel.iopub_socket, "stream", {"text": "x" * 2**20})""",
}
LATER = """
import os, socket, threading, time
kernel = get_ipython().kernel
def find():
    for name in os.listdir("/proc/self/fd"):
        try:
            one = socket.socket(fileno=os.dup(int(name)))
            if str(one.getsockname()).endswith("iopub") and one.getpeername() is not None: return one
        except OSError: pass
def later():
    one = find()
    time.sleep(0.5){flood}
threading.Thread(target=later, daemon=True).start()
"""


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_after_the_end_of_a_test_does_not_fill_the_grader(box: Box, name: str) -> None:
    with private_folder() as folder:
        library = make_library(folder / "library" / "0", folder, [])
        kernel = client.Kernel(box.prepare(folder), library, folder / "k")
        try:
            assert kernel.wait_until_ready().status == "ok"
            assert kernel.execute("", 30, first=["mark"]).status == "ok"
            assert kernel.execute(LATER.format(flood=FLOODS[name]), 30, first=["answer"]).status == "ok"
            before, most = sandbox.resident("self"), 0
            for _ in range(60):  # six seconds in which nobody asks for anything
                time.sleep(0.1)
                most = max(most, sandbox.resident("self") - before)
            assert most < 2 * client.MAX_BACKLOG
            if name == "a message without an end":
                assert kernel.process.poll() is not None
                assert kernel.execute("1", 10).status == "flood"
        finally:
            kernel.close()


SCRIPT = """
import sys
from pathlib import Path
sys.path[:0] = {tests!r}
import test_sandbox, tiny_course
from coursekit.course import Course
from coursekit.grading.sandbox import Box
box = Box.required() if {boxed} else Box.off()
answers = {{"1.1": "print('x')\\nwhile True: pass"}}
test_sandbox.run(Course(Path({root!r})), box, {{str(i): answers for i in range(4)}}, workers={workers})
"""


@pytest.mark.thorough
@pytest.mark.parametrize("boxed", [True, False])
def test_ctrl_c_leaves_nothing(course: Course, box: Box, tmp_path: Path, boxed: bool) -> None:
    folder, workers = Path(tempfile.mkdtemp(prefix="ck")), 2 if boxed else 1
    tests = [str(Path(file).parent) for file in (__file__, tiny_course.__file__)]
    script = textwrap.dedent(SCRIPT).format(
        tests=tests,
        root=str(course.root),
        boxed=boxed,
        workers=workers,
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(folder)}, stderr=subprocess.DEVNULL
    )
    try:
        assert wait_for(lambda: len(kernels_below(process.pid)) >= workers)
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        process.wait(300)
        gone = wait_for(lambda: not [one for one in family if one.is_running() and one.status() != "zombie"])
        assert gone
        assert list(folder.iterdir()) == []
    finally:
        process.kill()
        shutil.rmtree(folder)


START = """
import sys, time
from pathlib import Path
from coursekit.grading.client import Kernel
from coursekit.grading.sandbox import Box, make_library
folder = Path(sys.argv[1])
(folder / "library").mkdir()
library = make_library(folder / "library" / "0", folder, [])
kernel = Kernel(Box.required().prepare(folder), library, folder)
assert kernel.wait_until_ready().status == "ok"
Path(folder / "ready").touch()
time.sleep(900)
"""


def test_a_box_ends_with_the_process_that_started_it(box: Box) -> None:
    folder = Path(tempfile.mkdtemp(prefix="ck"))
    process = subprocess.Popen([sys.executable, "-c", START, str(folder)])
    try:
        assert wait_for(lambda: (folder / "ready").exists())
        family = psutil.Process(process.pid).children(recursive=True)
        assert len(family) >= 2
        process.kill()
        process.wait()
        assert wait_for(lambda: not [one for one in family if one.is_running() and one.status() != "zombie"])
    finally:
        process.kill()
        shutil.rmtree(folder)


def kernels_below(pid: int) -> list[str]:
    lines = (" ".join(one.cmdline()) for one in psutil.Process(pid).children(recursive=True))
    return [line for line in lines if "kernel.py" in line and "bwrap" not in line]


def wait_for(condition: Any) -> bool:
    for _ in range(6000):  # five minutes
        try:
            if condition():
                return True
        except psutil.Error:
            continue
        finally:
            time.sleep(0.05)
    return False
