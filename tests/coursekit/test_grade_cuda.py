"""Exercises whose answers are CUDA C: graded in a process in which no student's Python has run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from made_course import answer, graded, new_course, save

import warplens
from coursekit import notebooks
from coursekit.box import kernels as box_kernels
from coursekit.grading import launches
from coursekit.grading.assemble import assemble, load_chapter
from coursekit.grading.control import Conditions, control
from coursekit.grading.flow import Flow
from coursekit.grading.pointers import pointers
from coursekit.grading.sandbox import Box
from coursekit.grading.state import fingerprint
from coursekit.grading.submissions import Submission, answers_of
from coursekit.make.definitions import SourceError
from coursekit.make.exercises import exercise as made_exercise
from warplens.report import messages

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]

SETUP = """import numpy as np
from minilib.cuda import cp
%load_ext minilib.cuda"""

HIDDEN_SETUP = """### BEGIN HIDDEN TESTS
from coursekit.box.kernels import probe_kernel
from coursekit.box.probe import probe
### END HIDDEN TESTS"""

FLIP = """%%cuda flip
// exercise: 4.1
extern "C" __global__ void flip(const float* x, float* y, int n) {
    // BEGIN SOLUTION
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[n - 1 - i];
    // END SOLUTION
}"""

VALUES = """### BEGIN HIDDEN TESTS
for n in (1, 33, 100):
    x = cp.asarray(rng.normal(size=n).astype(np.float32))
    probe_kernel(f"n = {n}", flip, (-(-n // 32),), (32,), (x, cp.empty(n, cp.float32), np.int32(n)))
### END HIDDEN TESTS"""

COUNTS = """### BEGIN HIDDEN TESTS
x = cp.asarray(rng.normal(size=64).astype(np.float32))
args = (x, cp.empty(64, cp.float32), np.int32(64))
probe_kernel("counts", flip, (2,), (32,), args, at_most=("global_load_sectors", "barriers"))
### END HIDDEN TESTS"""

TWICE = """# exercise: 4.2
def twice(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION"""

TWICE_TEST = """### BEGIN HIDDEN TESTS
probe("value", twice(float(rng.normal())))
### END HIDDEN TESTS"""

MISTAKES = """// %% exercise=4.1 hint="Your index runs the same way on both sides."
extern "C" __global__ void flip(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = new_course(tmp_path_factory.mktemp("course"))
    (course.library / "cuda.py").symlink_to(ROOT / "minilib" / "cuda.py")
    (course.solutions / "misconceptions").mkdir()
    (course.solutions / "misconceptions" / "04_kernels.cu").write_text(MISTAKES)
    path = save(
        course.solutions / "04_kernels.ipynb",
        "# 4 Kernels: exercises",
        graded(SETUP, "setup", locked=True),
        graded(HIDDEN_SETUP, "hidden-setup", locked=True),
        answer("# helpers", "helpers"),
        "### 4.1 flip (core, 5 minutes)",
        answer(FLIP, "flip"),
        graded(VALUES, "flip-hidden", grade=True, locked=True, points=2),
        graded(COUNTS, "flip-counts-hidden", grade=True, locked=True, points=1),
        "### 4.2 twice (warm-up, 1 minute)",
        answer(TWICE, "twice"),
        graded(TWICE_TEST, "twice-hidden", grade=True, locked=True, points=1),
    )
    notebook = notebooks.read(path)
    notebook.metadata["coursekit"] = {"chapter": "04", "minilib": ["cuda"], "timeout": 30}
    notebooks.write(path, notebook)
    return course


@pytest.fixture(scope="module")
def chapter(course):
    return load_chapter(course.solutions / "04_kernels.ipynb")


INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def body(text, name="flip", parameters="const float* x, float* y, int n"):
    return f'extern "C" __global__ void {name}({parameters}) {{\n    {INDEX}\n    {text}\n}}'


RIGHT = body("if (i < n) y[n - 1 - i] = x[i];")
ANSWERS = {
    "right by another way": {"4.1": RIGHT},
    "as the learner's cell": {"4.1": f"%%cuda flip\n// exercise: 4.1\n{RIGHT}"},
    "remembers its launches": {
        "4.1": "__device__ int seen;\n"
        + body("if (i < n) y[i] = !i && seen ? 7 : x[n - 1 - i];\n    if (!i) seen = 1;")
    },
    "atomics in place of loads": {
        "4.1": body("if (i < n) atomicExch(&y[i], atomicAdd((float*)&x[n - 1 - i], 0.0f));")
    },
    "no guard": {"4.1": body("y[i] = x[n - 1 - i];")},
    "the same way": {"4.1": body("if (i < n) y[i] = x[i];")},
    "reads twice": {"4.1": body("if (i < n) { y[i] = x[i]; y[i] = x[n - 1 - i]; }")},
    "writes nothing": {"4.1": body("")},
    "writes its input": {"4.1": body("if (i < n) { y[i] = x[n - 1 - i]; x[i] = 0; }").replace("const ", "")},
    "one thread does it all": {"4.1": body("if (i == 0) for (; i < n; i++) y[i] = x[n - 1 - i];")},
    "each thread does it all": {"4.1": body("for (i = 0; i < n; i++) y[i] = x[n - 1 - i];")},
    "a very long thread": {"4.1": body("for (int k = 0; k < 5000; k++) if (i < n) y[i] = x[n - 1 - i];")},
    "four numbers for each thread": {
        "4.1": body("for (int k = 4 * i; k < n && k < 4 * i + 4; k++) y[k] = x[n - 1 - k];")
    },
    "race": {"4.1": body("if (i < n) { y[i] = x[n - 1 - i]; y[0] += 0 * y[n - 1]; }")},
    "not C": {"4.1": body("if (i < n) y[i] = x[n - 1 - j];")},
    "renamed": {"4.1": body("if (i < n) y[i] = x[n - 1 - i];", name="flop")},
    "other parameters": {"4.1": body("if (i < n) y[i] = x[i];", parameters="float* x, float* y, float n")},
    "endless": {"4.1": body("while (true) { if (i < n) y[i] = x[n - 1 - i]; i = n; }")},
    "stub": {},
    "stub with more space": {
        "4.1": "// exercise: 4.1\n" + body("").replace(INDEX, "//  your code here").replace("\n    \n", "\n")
    },
    "python instead": {"4.1": "import warplens.kernel\nwarplens.kernel.simulate = print"},
    "python in the magic's line": {"4.1": f"%%cuda {{__import__('os')._exit(1)}}\n{RIGHT}"},
    "patched from another answer": {
        "4.1": body("if (i < n) y[i] = x[i];"),
        "4.2": "import coursekit.box.kernels as own, minilib.cuda\nown.simulate = lambda *a, **k: None\n"
        "def twice(x):\n    return 2 * x",
        "helpers": "# helpers\nimport coursekit.box.kernels as own\nown.simulate = lambda *a, **k: None\n"
        "def probe_kernel(*a, **k): pass",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def results(course, chapter):
    conditions = Conditions(course, seed=7, box=Box.off(), workers=1, public=False)
    _, measure = control(chapter, conditions)
    answers = {name: {"4.2": chapter.exercises[1].reference} | own for name, own in ANSWERS.items()}
    runs = conditions.run({name: assemble(chapter, all_of_it) for name, all_of_it in answers.items()})
    results = {n: measure.result(Submission(n, n, n, answers[n], {}), run) for n, run in runs.items()}
    return {name: {one.exercise.number: one for one in result.exercises} for name, result in results.items()}


@pytest.mark.parametrize(
    "name", ["right by another way", "as the learner's cell", "python in the magic's line"]
)
def test_a_right_kernel_earns_all_points(results, name):
    assert (results[name]["4.1"].points, results[name]["4.1"].messages) == (3, ())


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "no guard",
            "n = 1: line 4: a thread reads x[-1], which lies before the first element; x has 1 element",
        ),
        ("the same way", "n = 33: array y: values differ from the expected by up to "),
        ("one thread does it all", "n = 33: thread 0 of block 0 does most of the reads and writes; share "),
        ("each thread does it all", "n = 33: thread 0 of block 0 takes "),
        ("a very long thread", "n = 1: thread 0 of block 0 takes "),
        ("writes nothing", "n = 1: array y: is as it was before the launch"),
        ("writes its input", "n = 1: array x: values differ from the expected by up to "),
        ("race", "n = 33: race (global): line 4"),
        ("not C", "does not compile: flip.cu:4:33: error: identifier 'j' is undefined; hint: declare it"),
        ("renamed", "not RawModule: take a kernel with .get_function(name); its kernels: flop"),
        ("other parameters", "stopped with LaunchTypeError: "),
        ("endless", "this loop was stopped"),
        ("stub", "not solved yet"),
        ("stub with more space", "not solved yet"),
        ("python instead", "does not compile: flip.cu:2:1: error: "),
        ("patched from another answer", "n = 33: array y: values differ from the expected by up to "),
    ],
)
def test_a_wrong_kernel_loses_points_and_is_told_why(results, name, told):
    result = results[name]["4.1"]
    assert result.points < 3
    assert told in result.messages[0]


def test_right_values_at_a_higher_cost_keep_the_points_for_values(results):
    result = results["reads twice"]["4.1"]
    assert result.points == 2
    assert result.messages == ("counts: global_load_sectors is 16; 8 can do",)


def test_a_thread_that_does_the_work_of_four_keeps_the_points_for_values(results):
    result = results["four numbers for each thread"]["4.1"]
    assert result.points == 2
    assert result.messages[0].startswith("counts: global_load_sectors is ")


def test_atomics_do_not_dodge_the_counts(results):
    assert results["atomics in place of loads"]["4.1"].messages == ("counts: atomics is 128; 0 can do",)


def test_variables_at_file_scope_start_afresh_in_each_run(results):
    result = results["remembers its launches"]["4.1"]
    assert result.points == 2  # all but the count: its variable is one more load
    assert result.messages == ("counts: global_load_sectors is 9; 8 can do",)


def found(thread, block, index, line=4, length=33):
    who = messages.Actor((block, 0, 0), (thread, 0, 0))
    told = messages.bounds(messages.element("x", index), "x", who, "load", index, 1, length)
    return f"line {line}: {told}"


def test_which_element_a_kernel_misses_is_told_at_the_ends_alone():
    texts = {
        launches.without_data(found(t, b, i)) for t in (0, 5, 31) for b in (0, 9) for i in range(33, 999)
    }
    texts |= {launches.without_data(found(0, 0, -i)) for i in range(1, 999)}
    assert sorted(re.sub(r" (but|which) .*", "", text) for text in texts) == [
        "line 4: a thread reads x[-1],",
        "line 4: a thread reads x[33],",
        "line 4: a thread reads x[…],",
        "line 4: a thread reads x[…],",
    ]
    assert launches.without_data(found(0, 0, 33)).endswith(
        "reads x[33], but x has 33 elements (0 to 32). Guard the access with an if that keeps it inside."
    )


def test_findings_keep_lines_arrays_and_the_source_and_lose_other_numbers():
    who, other = (messages.Actor((1, 0, 0), (thread, 0, 0)) for thread in (2, 9))
    racing = messages.race("tile[7]", "store", 12, "load", 9, who, other, False, False, None)
    assert launches.without_data(racing) == (
        "a thread writes tile[…] at line 12, while a thread may still be reading it at line 9 with neither "
        "__syncthreads() nor __syncwarp() between them. The threads of a warp run in no fixed order either."
    )
    parted = messages.barrier_divergence(messages.Actor((0, 0, 0), (5, 0, 0)), "__syncthreads", 3, 32)
    assert launches.without_data(parted).startswith(
        "only … of … running threads of block (…) reach this __sync"
    )
    endless = (
        "line 6: this loop was stopped, it has run 20,000 times (max_steps): it seems never to end: x += 17;"
    )
    assert launches.without_data(endless) == endless
    proved = (
        "line 6: this loop was stopped, nothing that its end depends on changes any more: it seems never to "
        "end: x += 17;"
    )
    assert launches.without_data(proved) == proved


def test_counts_and_distances_of_kernels_are_rounded_in_a_grade_alone():
    run = {"outputs": [box_kernels.packed(np.arange(3.0))]}
    off = {"outputs": [box_kernels.packed(np.arange(3.0) + 0.0371)]}
    made = {
        "runs": {"lockstep": run},
        "arrays": ["y"],
        "findings": [],
        "work": {},
        "counts": {"loads": [{"int": "8"}, "at most", 1]},
    }
    wrong, many = (
        made | {"runs": {"lockstep": off}},
        made | {"counts": {"loads": [{"int": "73"}, "at most", 1]}},
    )
    told = [launches.difference(made, got, 1e-5, own=own) for got in (wrong, many) for own in (True, False)]
    assert told == [
        "array y: 3 of 3 values differ from the expected, by up to 0.037; the first is y[0]",
        "array y: values differ from the expected by up to about 0.1",
        "loads is 73; 8 can do",
        "loads is about 70; 8 can do",
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "solutions").glob("*.ipynb")), ids=lambda path: path.stem)
def test_what_kernels_did_is_shown_for_answers_in_cuda_alone(path):
    """Of an answer in Python, findings could be text of its own."""
    chapter = load_chapter(path)
    shown = {one for one, sources in chapter.tests.items() if "probe_kernel" in "".join(sources)}
    assert shown <= {one.number for one in chapter.exercises if one.cuda}


def test_a_known_mistake_earns_its_hint(results):
    assert results["the same way"]["4.1"].hint == "Your index runs the same way on both sides."
    assert results["no guard"]["4.1"].hint is None


def test_a_stub_counts_as_unsolved(results):
    assert results["stub"]["4.1"].unsolved
    assert not results["no guard"]["4.1"].unsolved


def test_python_answers_are_graded_beside_them(results):
    assert all(result["4.2"].points == 1 for result in results.values())


def test_the_learners_notebook_has_a_stub_that_compiles(course):
    path = course.solutions / "04_kernels.ipynb"
    notebook = made_exercise(notebooks.read(path), Path("solutions/04_kernels.ipynb"))
    cell = next(cell.source for cell in notebook.cells if "exercise: 4.1" in cell.source)
    assert cell.splitlines()[3] == "    // your code here"
    assert "BEGIN" not in cell and "blockIdx" not in cell
    assert not any("probe_kernel" in cell.source for cell in notebook.cells)


def test_answers_are_found_by_their_line_where_the_metadata_is_lost(course, chapter, tmp_path):
    path = save(tmp_path / "04_kernels.ipynb", f"%%cuda flip\n// exercise: 4.1\n{RIGHT}")
    answers, _ = answers_of(path, chapter)
    assert RIGHT in answers["4.1"]


CELL = f"%%cuda flip\n// exercise: 4.1\n{RIGHT}"
OTHER = "%%cuda other\n// exercise: 4.9\n__global__ void other() {}"
COPIES = {
    "a cell that was copied": [CELL, CELL],
    "an older one above": [CELL.replace("x[i]", "0"), CELL],
    "a copy in the same cell": [f"{CELL}\n\n{CELL}"],
    "another exercise's below it": [f"{CELL}\n{OTHER}"],
    "another exercise's above it": [f"{OTHER}\n\n{CELL}\n"],
}


@pytest.mark.parametrize("sources", COPIES.values(), ids=COPIES)
def test_of_several_kernels_in_one_answer_its_last_one_counts(chapter, tmp_path, sources):
    """As it would be in Python, where a definition may stand twice."""
    path = save(tmp_path / "04_kernels.ipynb", *(answer(source, "flip") for source in sources))
    answers, _ = answers_of(path, chapter)
    assert answers["4.1"] == CELL


def test_a_kernel_in_two_halves_is_joined(chapter, tmp_path):
    first, second = CELL.split("\n", 2)[0], CELL.split("\n", 1)[1]
    path = save(tmp_path / "04_kernels.ipynb", answer(first, "flip"), answer(second, "flip"))
    assert answers_of(path, chapter)[0]["4.1"] == CELL


def test_a_kernel_in_a_cell_that_was_added_is_pointed_at(chapter):
    stub = chapter.exercises[0].stub
    (told,) = pointers(chapter, [Submission("ada", "ada", "", {"4.1": stub}, (RIGHT,))])
    assert told.startswith("ada: 4.1 is not done in its answer cell, but another cell defines `flip`")


def test_a_solution_without_markers_would_show_its_answer(course):
    path = course.solutions / "04_kernels.ipynb"
    notebook = notebooks.read(path)
    cell = next(cell for cell in notebook.cells if "exercise: 4.1" in cell.source)
    cell.source = cell.source.replace("    // BEGIN SOLUTION\n", "").replace("    // END SOLUTION\n", "")
    with pytest.raises(SourceError, match="// BEGIN SOLUTION"):
        made_exercise(notebook, path)


def test_a_grade_depends_on_the_simulator(course, chapter, tmp_path, monkeypatch):
    shutil.copytree(Path(warplens.__file__).parent, tmp_path / "warplens")
    monkeypatch.setattr(warplens, "__file__", str(tmp_path / "warplens" / "__init__.py"))
    before = fingerprint(course, chapter, ())
    assert fingerprint(course, chapter, ()) == before
    (tmp_path / "warplens" / "launch.py").write_text("")
    assert fingerprint(course, chapter, ()) != before


class FakeKernel:
    closed = False

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(("trouble", "trusted"), [(False, False), (True, False), (True, True)])
def test_a_kernel_in_which_a_stranger_failed_does_not_serve_the_next_notebook(chapter, trouble, trusted):
    kernel, spare = FakeKernel(), []
    flow = Flow(assemble(chapter, {}), FakeKernel, seed=0, room="cuda", spare=spare, trusted=trusted)
    flow.kernel, flow.trouble = kernel, trouble
    flow.end()
    assert (spare, kernel.closed) == (([], True) if trouble and not trusted else ([kernel], False))
