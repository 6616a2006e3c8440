"""An answer does not find what tests it: neither names, nor frames, nor closures, nor a way to sign."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from coursekit.errors import CourseError
from coursekit.grading.client import MALFORMED, Kernel, Shown
from coursekit.grading.run import private_folder
from coursekit.grading.sandbox import Box, make_library

pytestmark = pytest.mark.thorough

SET_UP = """
import types
import numpy as np
from coursekit.box.probe import probe, series
SECRET = 7
class Late(types.ModuleType): late = 1
late = Late("late")
def visible(x): return x
def made(secret):
    def secretive(x, kept=[1]): return x + secret
    return secretive
secretive = made(7)
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
    "all objects": "gc.get_objects()",
    "what refers to it": "gc.get_referrers(visible)",
    "what it refers to": "gc.get_referents(visible)",
    "what it refers to, by a library in C": "by_a_library(gc.get_referents, visible)",
    "a trace": "sys.settrace(print)",
    "a profile": "sys.setprofile(print)",
    "a process": "os.fork()",
    "another program": "subprocess.run(['true'])",
    "a process of which no event tells": "_posixsubprocess.fork_exec()",
    "the same, made anew": "anew('_posixsubprocess')",
    "a module of Python's own tests": "anew('_testcapi')",
    "its own memory, by another kind of text": "open(type('S', (str,), {})('/proc/self/maps')).read()",
    "memory beside Python's": "mmap.mmap(-1, 4096)",
    "its own memory, as a file": "open('/proc/self/maps').read()",
    "its own memory, as a path": "pathlib.Path('/proc/self/maps').read_text()",
    "a library in C": "ctypes.CDLL(None)",
    "code of a visible function, replaced": "setattr(visible, '__code__', (lambda: 0).__code__)",
    "code of the library, replaced": "setattr(inspect.signature, '__code__', (lambda: 0).__code__)",
    "defaults of a visible function, replaced": "setattr(visible, '__defaults__', (1,))",
}
# Each finds nothing that is a test's, when the answer is defined and when it is called.
EMPTY = {
    "the namespace of visible functions": "known(visible.__globals__)",
    "the same, by C": "known(operator.attrgetter('__globals__')(visible))",
    "the same, by object": "known(object.__getattribute__(visible, '__globals__'))",
    "the same, by its class": "known(types.FunctionType.__dict__['__globals__'].__get__(visible))",
    "the same, by what asks first": "known(types.FunctionType.__dict__['__globals__'].fget.__globals__)",
    "closures of visible functions": "[c for c in (visible.__closure__, secretive.__closure__) if c]",
    "defaults of visible functions": "[secretive.__defaults__] * bool(secretive.__defaults__)",
    "frames": "in_frames(sys._getframe())",
    "frames of all threads": "[n for f in sys._current_frames().values() for n in in_frames(f)]",
    "the frame of a traceback": "in_frames(caught().tb_frame)",
    "the frame of a signal": "in_frames(signalled())",
    "frames that are garbage": "[n for f in garbage() for n in in_frames(f)]",
    "the stack, by the library": "[n for one in inspect.stack() for n in in_frames(one.frame)]",
    "the stacks of tasks": "[n for t in asyncio.all_tasks() for f in t.get_stack() for n in in_frames(f)]",
    "what is built in": "known(__builtins__) + [n for n in ('SECRET', 'expected') if n in looked_up(n)]",
    "what is built in, by a changing name": "known_by_a_changing_name()",
    "the shell's names": "known(get_ipython().user_ns)",
    "names to complete": "known(get_ipython().Completer.namespace)",
    "the shell's tables": "[n for t in get_ipython().ns_table.values() for n in known(t)]",
    "the state before the answer": "restored()",
    "names that compare": "by_a_comparing_name()",
    "the main module": "known(vars(sys.modules['__main__']))",
    "modules of tests": "[n for n in sys.modules if n[14:] in ('probe', 'seal', 'kernels')]",
    "parts of the package": "[n for n in vars(sys.modules['coursekit.box']) if n in ('probe', 'seal')]",
    "the state of the kernel": "[n for n in map(str, vars(get_ipython().kernel)) if 'state' in n]",
    "the class of the state": "[c for c in object.__subclasses__() if 'take_back' in vars(c)]",
    "the request": "[*get_ipython().kernel.get_parent()['content']['user_expressions']]",
}
HELPERS = """
import _posixsubprocess, asyncio, collections, ctypes, functools, gc, inspect, mmap, operator, os, pathlib
import signal, subprocess, sys, types
import numpy as np
def caught():
    try: 1 / 0
    except ZeroDivisionError as error: return error.__traceback__
def signalled():
    found = []
    signal.signal(signal.SIGUSR1, lambda number, frame: found.append(frame))
    signal.raise_signal(signal.SIGUSR1)
    return found[0]
def garbage():
    def loop():
        try: 1 / 0
        except ZeroDivisionError as error: kept = error
    gc.set_debug(gc.DEBUG_SAVEALL)
    loop()
    gc.collect()
    return [one for one in gc.garbage if type(one) is types.FrameType]
def in_frames(frame):
    found = []
    while frame:
        found += known(frame.f_globals) + known(frame.f_builtins)
        found += [name for name in frame.f_locals if name in ("state", "secret")]
        frame = frame.f_back
    return found
def by_a_library(action, value):
    found = []
    before = collections._iskeyword
    collections._iskeyword = functools.partial(next, map(found.append, map(action, [value])))
    try: collections.namedtuple("A", "a")
    finally: collections._iskeyword = before
    return found
def known_by_a_changing_name():
    class Name(str):
        asked = 0
        def __hash__(self):
            self.asked += 1
            return hash("np" if self.asked < 3 else "SECRET")
        def __eq__(self, other): return True
    try: return [__builtins__[Name("a")]]
    except KeyError: return []
def anew(name):
    kept = sys.modules.pop(name, None)
    try: return __import__(name)
    finally: sys.modules.pop(name, None) if kept is None else sys.modules.update({name: kept})
def restored():
    request = {"coursekit": ["restore"]}, {"coursekit": ["restore", "00" * 80]}
    for asked in request:
        try: get_ipython().kernel.do_execute("", True, False, asked).send(None)
        except StopIteration: pass
    return known(get_ipython().user_ns)
def by_a_comparing_name():
    found = []
    class Name(str):
        def __hash__(self): return hash("expected")
        def __eq__(self, other):
            found.extend(known(sys._getframe(1).f_locals))
            return False
    sys.modules["__main__"].__dict__[Name("other")] = 1
    return found
def known(names): return [name for name in ("SECRET", "expected", "counted", "probe") if name in names]
def looked_up(name):
    try: return [name, eval(name)]
    except NameError: return []
"""
# What honest answers do, and what looks a little like the above.
HONEST = {
    "a module with a class of its own": "assert late.late == 1",
    "a dataclass": "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass A:\n    a: int = 1",
    "a dataclass with slots": "import dataclasses as d\n@d.dataclass(slots=True)\nclass A:\n    a: int = 1",
    "a named tuple": "from collections import namedtuple\nA = namedtuple('A', 'a b')",
    "a typed tuple": "import typing\nclass A(typing.NamedTuple):\n    a: int",
    "an enum": "from enum import Enum\nclass A(Enum): a = 1\nB = Enum('B', 'x y')",
    "a protocol": "import typing\n@typing.runtime_checkable\nclass A(typing.Protocol):\n    a: int",
    "wraps": "import functools\nfunctools.wraps(visible)(lambda x: x)",
    "a cache": "import functools\n@functools.lru_cache\ndef a(x): return x\na(1)",
    "an error, told": "import traceback\ntry: 1 / 0\nexcept ZeroDivisionError: traceback.print_exc()",
    "a log": "import logging\nlogging.getLogger().warning('x')",
    "defaults of a tuple": "import typing\nclass A(typing.NamedTuple):\n    a: int = 3",
    "dispatch": "import functools as f\n@f.singledispatch\ndef a(x): 0\n@a.register\ndef _(x: int): 1",
    "a signature": "import inspect\ninspect.signature(visible)",
    "parts of its own": "def a(x, y=2): return x\na.__defaults__, a.__code__.co_varnames",
    "its own closure": "def a(x):\n    return lambda: x\na(1).__closure__[0].cell_contents",
    "a copy": "import copy, pickle\nclass A: pass\ncopy.deepcopy(A()), pickle.loads(pickle.dumps([1]))",
    "a context": "import contextlib\n@contextlib.contextmanager\ndef a(): yield 1\nwith a(): pass",
    "a warning": "import warnings\nwarnings.warn('x')",
    "threads": "import threading\na = threading.Thread(target=print)\na.start()\na.join()",
    "a plot": "import matplotlib.pyplot as plt\nplt.plot([1])",
    "a large library": "import matplotlib.pyplot",
    "a file": "import tempfile\ntempfile.TemporaryFile().write(b'1')",
    "names": "a = 1\nassert locals()['a'] == vars()['a'] == 1 and 'a' in dir() and 'np' in globals()",
    "expressions": "a = 2\nassert eval('a + 1') == 3 and eval('abs(-a)', {'a': 1}) == 1",
    "statements": "a = {}\nexec('b = abs(-1)', a)\nassert a['b'] == 1 and '__builtins__' in a",
    "an expression of a comprehension": "assert [eval('c', {'c': c}) for c in range(2)] == [0, 1]",
    "a class body": "class A:\n    b = 1\n    c = [*locals()]\nassert 'b' in A.c",
    "assertions": "np.testing.assert_allclose(1, 1)\nimport unittest",
}


@contextmanager
def started() -> Iterator[Kernel]:
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


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with started() as one:
        yield one


@pytest.fixture
def last_kernel() -> Iterator[Kernel]:
    """One that the test may lose."""
    with started() as one:
        yield one


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
    except PermissionError as error: return str(error)
early = answer(0)"""
    _, shown = answered(kernel, says, "probe('said', [early, answer(0)])")
    early, late = value(shown)["list"]
    assert early.startswith(("an answer is graded without traces", "an answer changes no functions")), early
    assert late == early


@pytest.mark.parametrize("name", EMPTY)
def test_names_of_tests_are_nowhere(kernel: Kernel, name: str) -> None:
    answer = f"{HELPERS}\ndef answer(x): return {EMPTY[name]}\nearly = answer(0)"
    _, shown = answered(kernel, answer, "probe('found', [early, answer(0)])")
    assert value(shown) == {"list": [{"list": []}] * 2}


# What a test calls is Python's own, and asks the frame that calls it: the test's.
BY_C = {
    "globals": "globals",
    "locals": "locals",
    "vars": "vars",
    "dir": "dir",
    "eval": "functools.partial(eval, '{**locals(), **globals()}')",
    "exec": "functools.partial(exec, 'del SECRET')",
    "eval with names": "functools.partial(eval, 'repr(__builtins__.get(\"__import__\")).split()', {})",
    "what is built in, made anew": "type('A', (), {'__call__': staticmethod(again('globals'))})()",
}
AGAIN_BUILT_IN = """
def again(name):
    import _imp, types
    kept = sys.modules.pop("builtins")
    try: return vars(_imp.create_builtin(types.SimpleNamespace(name="builtins")))[name]
    except PermissionError: return dict
    finally: sys.modules["builtins"] = kept
"""


@pytest.mark.parametrize("name", BY_C)
def test_what_c_calls_from_a_test_sees_nothing_of_it(kernel: Kernel, name: str) -> None:
    test = """
try: seen = [str(one) for one in answer() or () if str(one) in ("SECRET", "expected", "State.imported")]
except NameError: seen = []
probe("found", [seen, SECRET])"""
    _, shown = answered(kernel, f"{HELPERS}{AGAIN_BUILT_IN}answer = {BY_C[name]}", test)
    assert value(shown) == {"list": [{"list": []}, {"int": "7"}]}


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
    assert "'NoneType' object is not subscriptable" in shown.error
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
def test_nobody_else_shows_values(last_kernel: Kernel, answer: str) -> None:
    _, shown = answered(last_kernel, answer, "probe('value', answer(4))")
    assert MALFORMED in [probe.name for probe in shown.probes]


def test_what_is_kept_back_is_missed(last_kernel: Kernel) -> None:
    _, shown = answered(last_kernel, KEEP_BACK, "probe('value', answer(4))\nprobe('right', 3)")
    assert (shown.status, shown.probes) == ("died", [])


# Each changes what the next test runs through.
CHANGED = {
    "the kernel": "async def run(*args, **named): 1 / 0\ntype(get_ipython().kernel).do_execute = run",
    "the compiler": "type(get_ipython().compile).ast_parse = lambda *args, **named: 1 / 0",
    "JSON": "import json\njson.loads = lambda *args, **named: {'code': 'probe(1)', 'about': [1]}",
    "the shell": "type(get_ipython()).run_cell = type(get_ipython()).run_code = lambda *args, **named: 1 / 0",
    "its names": "get_ipython().user_ns = dict(__builtins__={})",
    "NumPy": "np.abs = np.max = np.random.default_rng = lambda *args: 7.0",
    "Python": "import builtins as b\nb.abs = b.repr = b.exec = b.compile = lambda *args: 7.0",
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_an_answer_changes_is_not_what_tests_run_through(kernel: Kernel, name: str) -> None:
    inside = CHANGED[name].replace("\n", "\n    ")
    answer = f"def answer(x):\n    {inside}\n    return -x"
    test = "probe('values', [answer(4), abs(answer(2)), float(np.abs(answer(5)))])"
    _, shown = answered(kernel, answer, test)
    second = kernel.execute(test, 30, first=["hidden", 6, ["answer"]])
    for each in (shown, second):
        assert value(each) == {"list": [{"int": "-4"}, {"int": "2"}, {"float": "0x1.4000000000000p+2"}]}


def test_modules_that_a_test_imports_are_what_they_were(kernel: Kernel) -> None:
    answer = """
import struct, sklearn.datasets
sklearn.datasets.load_digits = struct.pack = lambda *args: None
def answer(x): return x
"""
    test = "import struct\nfrom sklearn.datasets import load_digits\n"
    _, shown = answered(
        kernel, answer, test + "probe('v', [struct.pack('B', 7)[0], len(load_digits().target)])"
    )
    assert value(shown) == {"list": [{"int": "7"}, {"int": "1415"}]}


def test_what_is_kept_in_a_file_is_not_kept_while_memory_is_counted(kernel: Kernel) -> None:
    answer = """
import tempfile
def answer(x):
    try: open("/tmp/numbers", "wb").write(bytes(x))
    except PermissionError: return 1
    return 0
"""
    test = """
from coursekit.box.probe import held, most
probe("v", [answer(9), held(lambda: answer(9))[0], most(lambda: answer(9))[0], answer(9)])"""
    _, shown = answered(kernel, answer, test)
    assert value(shown) == {"list": [{"int": "0"}, {"int": "1"}, {"int": "1"}, {"int": "0"}]}


@pytest.mark.parametrize("ends", ["os.pipe()", "socket.socketpair()", "[socket.socket(socket.AF_UNIX)]"])
def test_no_pipe_and_no_socket_keeps_numbers_while_memory_is_counted(kernel: Kernel, ends: str) -> None:
    answer = f"""
import os, resource, socket
def answer(x):
    import colorsys  # a module may still be read
    try: ends = {ends}
    except OSError: return 1
    for end in ends: os.close(end) if type(end) is int else end.close()
    return 0
"""
    test = """
from coursekit.box.probe import held, most
probe("v", [answer(9), held(lambda: answer(9))[0], most(lambda: answer(9))[0], answer(9)])"""
    _, shown = answered(kernel, answer, test)
    assert value(shown) == {"list": [{"int": "0"}, {"int": "1"}, {"int": "1"}, {"int": "0"}]}


def test_a_large_value_leaves_no_thread_so_that_the_kernel_can_go_on(kernel: Kernel) -> None:
    _, shown = answered(kernel, "def answer(x): return 'x' * 10_000", "probe('large', [answer(9)] * 9)")
    assert len(value(shown)["list"]) == 9
    answered(kernel, "def answer(x): return x")  # restores


def test_a_value_is_what_it_is_when_it_is_shown(kernel: Kernel) -> None:
    answer = """
class Late:
    dtype, shape = "float64", ()
    def ravel(self): return self
    def tolist(self): return [3.0]
Late.__module__ = "numpy"
class Array(np.ndarray):
    def ravel(self): return Late()
    def tolist(self): return [3.0]
def answer(x): return [Late(), np.ones(1).view(Array)]
"""
    _, shown = answered(kernel, answer, "probe('value', answer(4))")
    late, array = value(shown)["list"]
    assert late == {"object": "Late"}
    assert array["array"] == [{"float": "0x1.0000000000000p+0"}]


def test_the_seed_of_others_says_nothing_about_the_tests_own(kernel: Kernel) -> None:
    answer = "import random\ndef answer(x): return [random.getrandbits(32), random.Random(5).getrandbits(32)]"
    _, shown = answered(kernel, answer, "probe('value', answer(4))")
    drawn, of_the_same_seed = value(shown)["list"]
    assert drawn != of_the_same_seed


OF_ITS_OWN = "the answer keeps memory of its own, made before any is measured"
OPEN = "the answer keeps files or pipes open, and could keep in them what is measured"
MADE_BEFORE = {
    "POOL = np.empty(100_000)": OF_ITS_OWN,
    "POOL = [np.empty(100) for _ in range(2_000)]": OF_ITS_OWN,
    "import ssl; POOL = ssl.MemoryBIO(); POOL.write(bytes(1_000_000))": OF_ITS_OWN,
    "import tempfile; FILE = tempfile.TemporaryFile()": OPEN,
    "import os; ENDS = os.pipe()": OPEN,
    "import os; os.dup2(os.pipe()[1], 0)": OPEN,
}


@pytest.mark.parametrize("made", MADE_BEFORE)
def test_memory_that_was_made_before_is_no_way_around_measuring(last_kernel: Kernel, made: str) -> None:
    assert last_kernel.execute("", 30, first=["restore"]).error == ""
    answer = f"{made}\ndef answer(x): return x"
    assert last_kernel.execute(answer, 30, first=["answer", True]).error == ""
    test = "from coursekit.box.probe import most\nprobe('value', most(lambda: answer(1)))"
    shown = last_kernel.execute(test, 30, first=["hidden", 5, ["answer"]])
    assert shown.error.startswith(f"RuntimeError: {MADE_BEFORE[made]}")


def test_who_keeps_nothing_is_measured(kernel: Kernel) -> None:
    assert kernel.execute("", 30, first=["restore"]).error == ""
    answer = "import fractions, statistics, decimal, dataclasses\ndef answer(x): return x"
    assert kernel.execute(answer, 30, first=["answer", True]).error == ""
    test = "from coursekit.box.probe import most\nprobe('value', most(lambda: answer(1)))"
    assert value(kernel.execute(test, 30, first=["hidden", 5, ["answer"]]))["tuple"][0] == {"int": "1"}


def test_who_ends_a_test_early_has_not_passed_it(last_kernel: Kernel) -> None:
    answer = """
def answer(x):
    kernel = get_ipython().kernel
    parent = kernel.get_parent()
    kernel.session.send(kernel.iopub_socket, "status", {"execution_state": "idle"}, parent=parent)
    done = {"status": "ok", "execution_count": 0, "user_expressions": {}, "payload": []}
    to = kernel._parent_ident["shell"]
    kernel.session.send(kernel.shell_stream, "execute_reply", done, parent=parent, ident=to)
    kernel.shell_stream.flush()
    import time
    time.sleep(0.3)
    return x
"""
    _, shown = answered(last_kernel, answer, "probe('value', 4)\nassert answer(4) == 5")
    assert shown.status == "died"
