"""An answer does not find what tests it: neither names, nor frames, nor closures, nor a way to sign."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from coursekit.errors import CourseError
from coursekit.grading.client import MALFORMED, Kernel, Shown
from coursekit.grading.run import private_folder
from coursekit.grading.sandbox import Box, make_library

pytestmark = pytest.mark.thorough

SET_UP = """
import numpy as np
from coursekit.box.probe import probe, series
SECRET = 7
def visible(x): return x
"""
TEST = """
expected = [SECRET]
def counted(action):
    calls = [0]
    def count(): calls[0] += 1
    action(count)
    return calls[0]
"""
# Each is an expression. Refused where the answer is defined and where it is called, in the same words.
REFUSED = {
    "a frame": "sys._getframe()",
    "frames of all threads": "sys._current_frames()",
    "the frame of a traceback": "caught().tb_frame",
    "the frame of a generator": "(n for n in []).gi_frame",
    "the stack, by the library": "inspect.stack()",
    "the stack, as a walk": "list(traceback.walk_stack(None))",
    "the stack of a task": "[task.get_stack() for task in asyncio.all_tasks()]",
    "code": "visible.__code__",
    "code, replaced": "setattr(visible, '__code__', (lambda: 0).__code__)",
    "code of the library, replaced": "setattr(np.testing.assert_equal, '__code__', (lambda: 0).__code__)",
    "a closure": "visible.__closure__",
    "a closure, by C": "operator.attrgetter('__closure__')(visible)",
    "a closure, by object": "object.__getattribute__(visible, '__closure__')",
    "a closure, by the class": "types.FunctionType.__dict__['__closure__'].fget(visible)",
    "a closure, by a text": "'{0.__closure__}'.format(visible)",
    "a closure, by a text of the library's": "string.Formatter().format('{0.__closure__}', visible)",
    "a closure, by NumPy": "np.vectorize(operator.attrgetter('__closure__'), otypes=[object])([visible])",
    "a closure, in a thread": "in_a_thread(operator.attrgetter('__closure__'), visible)",
    "a closure, under a library's name": "forged(visible)",
    "all objects": "gc.get_objects()",
    "what refers to it": "gc.get_referrers(visible)",
    "what it refers to": "gc.get_referents(visible)",
    "a trace": "sys.settrace(print)",
    "a profile": "sys.setprofile(print)",
    "a process": "os.fork()",
    "another program": "subprocess.run(['true'])",
    "memory beside Python's": "mmap.mmap(-1, 4096)",
    "its own memory, as a file": "open('/proc/self/maps').read()",
}
# Each finds nothing.
EMPTY = {
    "the namespace of visible functions": "known(visible.__globals__)",
    "what is built in": "known(__builtins__) + [n for n in ('SECRET', 'expected') if n in looked_up(n)]",
    "the shell's names": "known(get_ipython().user_ns)",
    "the main module": "known(vars(sys.modules['__main__']))",
    "modules of tests": "[n for n in sys.modules if n[14:] in ('probe', 'seal', 'kernels')]",
    "parts of the package": "[n for n in vars(sys.modules['coursekit.box']) if n in ('probe', 'seal')]",
    "the state of the kernel": "[n for n in map(str, vars(get_ipython().kernel)) if 'state' in n]",
    "the request": "[*get_ipython().kernel.get_parent()['content']['user_expressions']]",
}
HELPERS = """
import asyncio, gc, inspect, mmap, operator, os, string, subprocess, sys, traceback, types
from concurrent.futures import ThreadPoolExecutor
import numpy as np
def caught():
    try: 1 / 0
    except ZeroDivisionError as error: return error.__traceback__
def in_a_thread(function, value):
    with ThreadPoolExecutor(1) as pool: return [*pool.map(function, [value])]
def forged(function):
    exec(compile("def look(f): return f.__closure__", os.__file__, "exec"), space := {})
    return space["look"](function)
def known(names): return [name for name in ("SECRET", "expected", "counted", "probe") if name in names]
def looked_up(name):
    try: return [name, eval(name)]
    except NameError: return []
"""
# What honest answers do, and what looks a little like the above.
HONEST = {
    "a dataclass": "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass A:\n    a: int = 1",
    "a dataclass with slots": "import dataclasses as d\n@d.dataclass(slots=True)\nclass A:\n    a: int = 1",
    "a named tuple": "from collections import namedtuple\nA = namedtuple('A', 'a b')",
    "a typed tuple": "import typing\nclass A(typing.NamedTuple):\n    a: int",
    "an enum": "from enum import Enum\nclass A(Enum): a = 1\nB = Enum('B', 'x y')",
    "a protocol": "import typing\n@typing.runtime_checkable\nclass A(typing.Protocol):\n    a: int",
    "wraps": "import functools\nfunctools.wraps(visible)(lambda x: x)",
    "a cache": "import functools\n@functools.lru_cache\ndef a(x): return x\na(1)",
    "dispatch": "import functools as f\n@f.singledispatch\ndef a(x): 0\n@a.register\ndef _(x: int): 1",
    "a signature": "import inspect\ninspect.signature(visible)",
    "parts of its own": "def a(x, y=2): return x\na.__defaults__, a.__code__.co_varnames",
    "its own closure": "def a(x):\n    return lambda: x\na(1).__closure__[0].cell_contents",
    "a copy": "import copy, pickle\nclass A: pass\ncopy.deepcopy(A()), pickle.loads(pickle.dumps([1]))",
    "a context": "import contextlib\n@contextlib.contextmanager\ndef a(): yield 1\nwith a(): pass",
    "a warning": "import warnings\nwarnings.warn('x')",
    "threads": "import threading\na = threading.Thread(target=print)\na.start()\na.join()",
    "a plot": "import matplotlib.pyplot as plt\nplt.plot([1])",
    "a large library": "from sklearn.datasets import load_digits",
    "a file": "import tempfile\ntempfile.TemporaryFile().write(b'1')",
    "assertions": "np.testing.assert_allclose(1, 1)\nimport unittest",
}


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    try:
        box = Box.required()
    except CourseError as error:
        pytest.skip(str(error))
    with private_folder() as folder:
        library = make_library(folder / "library" / "0", folder, [])
        kernel = Kernel(box.prepare(folder), library, folder / "k")
        try:
            assert kernel.wait_until_ready().status == "ok"
            assert kernel.execute(SET_UP, 30).error == ""
            assert kernel.execute("", 30, first=["mark", ["SECRET"]]).error == ""
            yield kernel
        finally:
            kernel.close()


def answered(kernel: Kernel, answer: str, test: str = "") -> tuple[Shown, Shown]:
    """What the cell of an answer shows, and its hidden test."""
    assert kernel.execute("", 30, first=["restore"]).error == ""
    first = kernel.execute(answer, 30, first=["answer"])
    return first, kernel.execute(TEST + test, 30, first=["hidden", 5, ["answer"], ["expected", "counted"]])


def value(shown: Shown) -> Any:
    assert shown.error == ""
    return shown.probes[0].value


@pytest.mark.parametrize("name", REFUSED)
def test_nobody_looks_at_what_tests_an_answer(kernel: Kernel, name: str) -> None:
    says = f"""{HELPERS}
def answer(x):
    try: return str({REFUSED[name]})
    except RuntimeError as error: return str(error)
early = answer(0)"""
    _, shown = answered(kernel, says, "probe('said', [early, answer(0)])")
    early, late = value(shown)["list"]
    assert early.startswith("an answer is graded without frames, closures or other processes"), early
    assert late == early


@pytest.mark.parametrize("name", EMPTY)
def test_names_of_tests_are_nowhere(kernel: Kernel, name: str) -> None:
    answer = f"{HELPERS}\ndef answer(x): return {EMPTY[name]}\nearly = answer(0)"
    _, shown = answered(kernel, answer, "probe('found', [early, answer(0)])")
    assert value(shown) == {"list": [{"list": []}] * 2}


@pytest.mark.parametrize("name", HONEST)
def test_what_honest_answers_do_is_not_refused(kernel: Kernel, name: str) -> None:
    indented = HONEST[name].replace("\n", "\n    ")
    answer = f"{HONEST[name]}\ndef answer(x):\n    {indented}\n    return x"
    first, shown = answered(kernel, answer, "probe('value', answer(3))")
    assert first.error == ""
    assert value(shown) == {"int": "3"}


def test_what_is_counted_in_a_closure_cannot_be_mended(kernel: Kernel) -> None:
    answer = "def answer(count):\n    count()\n    count.__closure__[0].cell_contents[0] = 100"
    _, shown = answered(kernel, answer, "probe('calls', counted(answer))")
    assert "graded without frames" in shown.error
    assert shown.probes == []


SHOW = """
from IPython.display import display
def answer(x):
    data = {"name": "value", "value": {"int": "3"}, "tolerance": 1e-9, "of": [], "mark": "0" * 128}
    display({"application/vnd.coursekit.probe+json": data, "text/plain": ""}, raw=True)
    return x
"""
COPY = "from coursekit.box.probe import probe\ndef answer(x):\n    probe('value', 3)\n    return x"
CHANGE = """
import IPython.display
shown = IPython.display.display
def changed(data, **options):
    for part in data.values():
        if isinstance(part, dict): part["value"] = {"int": "3"}
    shown(data, **options)
def answer(x):
    IPython.display.display = changed
    return x
"""
KEEP_BACK = """
import IPython.display
def answer(x):
    IPython.display.display = lambda *data, **options: None
    return x
"""
AGAIN = """
import IPython.display
shown = IPython.display.display
def answer(x):
    IPython.display.display = lambda data, **options: [shown(data, **options) for _ in "12"]
    return x
"""


@pytest.mark.parametrize("answer", [SHOW, COPY, CHANGE, AGAIN])
def test_nobody_else_shows_values(kernel: Kernel, answer: str) -> None:
    _, shown = answered(kernel, answer, "probe('value', answer(4))")
    assert MALFORMED in [probe.name for probe in shown.probes]


def test_what_is_kept_back_is_missed(kernel: Kernel) -> None:
    _, shown = answered(kernel, KEEP_BACK, "probe('value', answer(4))\nprobe('right', 3)")
    assert shown.probes == []


def test_a_shell_that_was_changed_does_with_the_next_test_what_it_should(kernel: Kernel) -> None:
    answer = """
Kernel, requests = type(get_ipython().kernel), []
before = Kernel.do_execute
async def do_execute(self, code, *args, **named):
    requests.append([code, args, named])
    return await before(self, "probe = print", *args, **named)
def answer(x):
    Kernel.do_execute = do_execute
    return len(requests)
"""
    answered(kernel, answer, "probe('value', answer(4))")
    second = kernel.execute("probe('value', answer(4))", 30, first=["hidden", 6, ["answer"]])
    assert value(second) == {"int": "0"}
