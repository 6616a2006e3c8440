"""An answer and its hidden tests run in one process, each in a namespace of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import tiny_course

from coursekit.course import Course
from coursekit.grading.assemble import Chapter, assemble, load_chapter, subjects
from coursekit.grading.model import CellRun, NotebookRun
from coursekit.grading.run import run_notebooks
from coursekit.grading.sandbox import Box

pytestmark = pytest.mark.thorough

VISIBLE = """
LOG = []
def note(value):
    LOG.append(value)
    return len(LOG)
class Number:
    def __init__(self, value): self.value = value
    def read(self): return float(self.value)
"""
HIDDEN = '''
def outer(action): return inner(action)
def inner(action):
    """What an action gives, or its error."""
    try: return ["gives", action()]
    except ValueError as error: return ["raises", type(error).__name__]
def apart(one, other):
    """Whether NumPy says that two numbers differ."""
    import numpy.testing
    try: numpy.testing.assert_equal(one, other)
    except AssertionError: return True
class Reader:
    def read(self, number): return ["read", number.read()]
'''
TEST = """
x = float(rng.normal())
probe("value", double(x))
probe("outer", outer(lambda: double(x)))
probe("read", Reader().read(Number(double(x))))
probe("noted", note(x))
probe("is right", double(x) == 2 * x)
probe("told apart", outer(lambda: apart(1, 2)))
"""
SECOND = """
given_note = note
def note(value): return "watched"
probe("calls what the test rebinds", counted(float(rng.normal())))
note = given_note
"""

# Each gives `double` wrong, and would have the hidden test show what the right one would.
CHEATS = {
    "rebinds": """
def probe(name, value, **options): real(name, {"is right": True}.get(name, value))
from coursekit.box.probe import probe as real
def outer(action): return ["gives", 1.0]
inner = Reader = outer""",
    "in the shell": """
get_ipython().user_ns["probe"] = __builtins__["inner"] = lambda *args, **named: ["gives", 1.0]
__builtins__["bool"] = lambda *args: True""",
    "contents of functions": """
note.__code__ = (lambda *args: ["gives", 1.0]).__code__
Reader.read = lambda self, number: ["read", 1.0]""",
    "a class of the set-up": """
Number.read = lambda number: float(number.value) * 2 / 3
Number.__float__ = lambda number: 1.0
Number.__getattribute__ = lambda number, name: (lambda: 1.0)""",
    "functions of the probe": """
import coursekit.box.probe as module
module.encode = lambda value: True
module.show.__globals__["MIME"] = "text/plain"
module.probe.__globals__["encode"] = lambda value: True""",
    "the publisher": """
publisher = get_ipython().display_pub
publisher.publish = type(publisher).publish = lambda *args, **named: None
get_ipython().__class__.transform_cell = lambda shell, code: "pass"
get_ipython().displayhook.__class__.__call__ = lambda *args: None""",
    "a module that is first imported here": """
import numpy.testing
numpy.testing.assert_equal = lambda *args, **named: None""",
    "a function of a module that is first imported here": """
import numpy.testing
numpy.testing.assert_equal.__kwdefaults__ = {}
numpy.testing.assert_equal.__code__ = (lambda *args, **named: None).__code__""",
    "a trace": """
import sys, threading
def watch(frame, event, arg):
    if "probe" in frame.f_code.co_name: frame.f_globals["encode"] = lambda value: True
    return watch
sys.settrace(watch)
sys.setprofile(watch)
threading.settrace(watch)""",
    "an audit hook": """
import sys
def hear(event, arguments):
    if event == "compile": get_ipython().user_ns["probe"] = lambda *args, **named: None
sys.addaudithook(hear)""",
    "a signal": """
import signal
def ring(*arguments): get_ipython().user_ns["probe"] = lambda *args, **named: None
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)""",
}
REFUSED = {"contents of functions", "a trace"}
WRONG = "\ndef double(x): return 3 * x\ndef counted(x): return note(x)"

# Each is right, and has names that the set-up or the hidden test has too.
HONEST = {
    "a helper with the name of a test's": """
def outer(x): return x + x
def inner(x): return outer(x)
def double(x): return inner(x)
def counted(x): return note(x)""",
    "names that the test binds": """
x, rng, given_note = 2, None, 7
def double(y): return x * y
def counted(x): return note(x)""",
    "names of Python": """
def sum(x): return x + x
def float(x): return sum(x)
len = list = print = id = 3
def double(x): return float(x)
def counted(x): return note(x)""",
    "a debugging line at the end": """
def double(x): return globals()["float"](2 * x) if "float" in globals() else 2 * x
def counted(x): return note(x)
[double(3.0)]
double(4.0)""",
    "names that are looked up late": """
def double(x): return globals()["Number"](2 * x).read()
def counted(x): return note(x)""",
    "a class of its own": """
class Number(Number):
    def twice(self): return 2 * self.value
def double(x): return Number(x).twice()
def counted(x): return note(x)""",
    "a method more for a class of the set-up": """
Number.twice = lambda number: 2 * number.value
def double(x): return Number(x).twice()
def counted(x): return note(x)""",
    "a dataclass": """
from dataclasses import dataclass
from typing import ClassVar
import pickle
@dataclass
class Pair:
    one: "float"
    two: "ClassVar[int]" = 2
    def times(self): return self.one * self.two
def double(x): return pickle.loads(pickle.dumps(Pair(x))).times()
def counted(x): return note(x)""",
    "a global counter": """
calls = 0
def double(x):
    global calls
    calls += 1
    return 2 * x
def counted(x): return note(x)""",
}
REFERENCE = "def double(x): return 2 * x\ndef counted(x): return note(x)"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, NotebookRun]:
    course = tiny_course.make_tiny_course(tmp_path_factory.mktemp("names") / "course")
    chapter = with_tests(load_chapter(course.solutions / f"{tiny_course.NAME}.ipynb"))
    made: dict[str, dict[str, str]] = {"reference": {"1.1": REFERENCE}}
    made |= {name: {"1.1": source} for name, source in HONEST.items()}
    made |= {name: {"1.1": source + WRONG, "1.2": tiny_course.UNBROADCAST} for name, source in CHEATS.items()}
    made["reference"]["1.2"] = tiny_course.UNBROADCAST
    notebooks = {name: assemble(chapter, answers) for name, answers in made.items()}
    return run_notebooks(notebooks, course=Course(course.root), seed=3, box=Box.off(), workers=1)


def with_tests(chapter: Chapter) -> Chapter:
    """The tiny chapter with other hidden tests of its first exercise, in two cells."""
    second = chapter.exercises[0].tests[0]
    for cell in chapter.notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name == "hidden-setup":
            cell.source += HIDDEN
        elif name == "double-hidden":
            cell.source = TEST + SECOND
    assert second.grade_id == "double-hidden"
    chapter.notebook.cells[1].source += VISIBLE
    return chapter


def first(run: NotebookRun) -> CellRun:
    return run.cells[0]


def shown(run: NotebookRun) -> list[tuple[str, Any]]:
    return [(probe.name, probe.value) for probe in first(run).probes]


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_answer_may_use_any_name(runs: Mapping[str, NotebookRun], name: str) -> None:
    assert first(runs[name]).error == ""
    assert shown(runs[name]) == shown(runs["reference"])


@pytest.mark.parametrize("name", CHEATS)
def test_no_name_of_the_test_is_the_answers(runs: Mapping[str, NotebookRun], name: str) -> None:
    right, got = dict(shown(runs["reference"])), shown(runs[name])
    wrong = {"value", "outer", "read", "is right"}
    if name in REFUSED:
        assert first(runs[name]).error.startswith("PermissionError: an answer ")
        assert got == []
        return
    assert [probe for probe, _ in got] == list(right)
    assert dict(got)["is right"] is False
    assert {probe for probe, value in got if value != right[probe]} == wrong


@pytest.mark.parametrize("name", CHEATS)
def test_the_next_exercise_does_not_notice(runs: Mapping[str, NotebookRun], name: str) -> None:
    next_ones = [[probe.value for probe in cell.probes] for cell in runs[name].cells[1:3]]
    assert next_ones == [[probe.value for probe in cell.probes] for cell in runs["reference"].cells[1:3]]


@pytest.mark.parametrize(
    ("reference", "names"),
    [
        ("import math\ndef f(x):\n    y = math.pi", {"f"}),
        ("class A: pass\nfor k in range(3): pass", {"A", "k"}),
        ("@add_to(Tensor)\ndef f(self): pass", {"f", "Tensor"}),
        ("def f(self): pass\nTensor.f = property(f)", {"f", "Tensor"}),
        ('%%cuda scale -q\nextern "C" __global__ void twice(float *x) {}', {"scale", "twice"}),
        ("def f(:", set()),
    ],
)
def test_the_reference_says_what_an_exercise_is_about(reference: str, names: set[str]) -> None:
    assert subjects(reference) == names
