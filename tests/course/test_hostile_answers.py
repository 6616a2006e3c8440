"""Answers that go for the process, the shell, files or the clock earn nothing and take nothing from others.

Each stands in a solved notebook in the place of one answer, and is graded by the command, in the box.
"""

# ruff: noqa: E501

from __future__ import annotations

import csv
import io
from pathlib import Path

import honest
import pytest

from coursekit import __main__ as command

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

WRONG = {  # of each chapter an exercise, and an answer that is wrong and runs
    "01": ("1.1", "def derivative(f, x, h=1e-5):\n    ACT\n    return 0.0"),
    "09a": ("9.1", "def runs(program, fetches, fed):\n    ACT\n    return []"),
    "10a": ("10.1", "def varint_bytes(value):\n    ACT\n    return b''"),
}
FRAMES = """
def frames():
    import sys
    frame = sys._getframe(1)
    while frame:
        yield frame
        frame = frame.f_back
"""
ACTS = {  # what is done when the answer is defined, and when it is called
    "probe in the frames": (
        FRAMES,
        "[f.f_globals.update(probe=lambda *a, **k: None) for f in frames() if 'probe' in f.f_globals]",
    ),
    "probe's code": (
        "import gc, types\nfor one in gc.get_objects():\n"
        "    if isinstance(one, types.FunctionType) and one.__name__ in ('probe', 'show', 'encode'):\n"
        "        one.__code__ = (lambda *a, **k: True).__code__",
        "pass",
    ),
    "probe's defaults": (
        "import coursekit.box.probe as p\np.probe.__kwdefaults__['tolerance'] = 1e300\np.MANY = p.LARGE = 10**18",
        "pass",
    ),
    "encode by a finder": (
        "import sys\nclass Finder:\n    def find_spec(self, name, *rest):\n        raise ImportError(name)\n"
        "sys.meta_path.insert(0, Finder())\nfor name in [n for n in sys.modules if 'coursekit' in n]:\n    del sys.modules[name]",
        "pass",
    ),
    "at exit": (
        "import atexit\nfrom coursekit.box.probe import probe as show\n"
        "for _ in range(9):\n    atexit.register(show, 'numbers', True)",
        "pass",
    ),
    "a finalizer": (
        "from coursekit.box.probe import probe as show\nclass Last:\n    def __del__(self):\n        show('who runs', [])\nkept = [Last()]",
        "kept.clear()",
    ),
    "a thread that shows": (
        "import threading, time\nfrom coursekit.box.probe import probe as show\n"
        "threading.Thread(target=lambda: [(time.sleep(0.01), show('late', 1)) for _ in range(50)], daemon=True).start()",
        "pass",
    ),
    "a timer": (
        "import signal\nsignal.signal(signal.SIGALRM, lambda *a: get_ipython().user_ns.update(rng=None))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)",
        "pass",
    ),
    "an alarm for those who come after": (
        "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_DFL)",
        "signal.alarm(1)",
    ),
    "a tracer": (
        "import sys\ndef trace(frame, event, arg):\n    frame.f_locals.update(x=0)\n    frame.f_trace_opcodes = True\n    return trace",
        "sys.settrace(trace)",
    ),
    "a profiler": (
        "import sys, threading",
        "sys.setprofile(lambda f, e, a: f.f_globals.pop('rng', None)); threading.setprofile(print)",
    ),
    "monitoring": (
        "import sys\nmonitoring = getattr(sys, 'monitoring', None)\nif monitoring:\n    monitoring.use_tool_id(3, 'x')\n"
        "    monitoring.register_callback(3, monitoring.events.PY_RETURN, lambda *a: None)\n    monitoring.set_events(3, monitoring.events.PY_RETURN)",
        "pass",
    ),
    "a generator that draws nothing": (
        "import numpy as np\nclass Still(np.random.Generator):\n    def __getattribute__(self, name):\n        return lambda *a, **k: 0\n"
        "np.random.default_rng = np.random.Generator = lambda *a: Still(np.random.PCG64(0))",
        "get_ipython().user_ns['rng'] = np.random.default_rng()",
    ),
    "small numbers": (
        "import ctypes\naddress = id(7) + 24",
        "ctypes.c_uint32.from_address(address).value = 8",
    ),
    "a formatter": (
        "class Formatter:\n    def format(self, *a, **k):\n        return {}, {}\nget_ipython().display_formatter = Formatter()\n"
        "get_ipython().display_pub.publish = lambda *a, **k: None",
        "pass",
    ),
    "the session's key": (
        "session = get_ipython().kernel.session\nsession.key = b'x'\nsession.send = lambda *a, **k: None\nsession.pack = lambda x: b'{}'",
        "pass",
    ),
    "a subclass that lies": (
        "class float(float):\n    def __float__(self): return 1.0\n    def hex(self): return '0x1p+0'\n    def __sub__(self, o): return 0.0\n"
        "    __rsub__ = __sub__\n    def __eq__(self, o): return True\n    __hash__ = None",
        "return float(0)",
    ),
    "an array that lies": (
        "import numpy as np\nclass ndarray(np.ndarray):\n    def tolist(self): return []\n    def ravel(self): return self\n"
        "    def __eq__(self, o): return np.True_\nndarray.__module__ = 'numpy'",
        "return np.zeros(()).view(ndarray)",
    ),
    "a mock of everything": (
        "from unittest.mock import MagicMock\nimport pickle\nclass Any(MagicMock):\n    def __reduce__(self): return eval, ('1',)\n"
        "Any.__module__ = 'numpy'",
        "return Any()",
    ),
    "assertions of NumPy": (
        "import numpy as np\nfor name in ('allclose', 'array_equal', 'isclose', 'asarray', 'array'):\n    setattr(np, name, lambda *a, **k: True)",
        "pass",
    ),
    "what is built in": (
        "import builtins\nfor name in ('sorted', 'repr', 'isinstance', 'type', 'print', 'len', 'getattr', 'compile', 'exec'):\n"
        "    setattr(builtins, name, lambda *a, **k: 1)",
        "pass",
    ),
    "files for the next": (
        "import os, sys\nfor place in (os.getcwd(), os.path.expanduser('~'), '/tmp', '/dev/shm', *sys.path):\n"
        "    for name in ('numpy.py', 'sitecustomize.py', 'usercustomize.py', 'coursekit.py', 'random.py'):\n"
        "        try: open(os.path.join(place, name), 'w').write('raise SystemExit')\n        except OSError: pass",
        "pass",
    ),
    "a start-up file of IPython": (
        "import os\nfolder = os.path.join(os.environ.get('IPYTHONDIR', '.'), 'profile_default', 'startup')\n"
        "os.makedirs(folder, exist_ok=True)\nopen(folder + '/00.py', 'w').write('probe = print')",
        "pass",
    ),
    "the environment": (
        "import os\nos.environ.update({k: '/nowhere' for k in ('PATH', 'HOME', 'TMPDIR', 'PYTHONPATH', 'PYTHONSTARTUP')})\n"
        "os.environ.pop('COURSEKIT_BOX', None)\nos.chdir('/')",
        "pass",
    ),
    "limits": (
        "import resource, sys\nresource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))\nsys.setrecursionlimit(60)\nsys.setswitchinterval(10)",
        "pass",
    ),
    "open files": ("import os\nkept = []", "kept.extend(os.open('/dev/null', 0) for _ in range(9))"),
    "a child that stays": ("import os, time", "(os.fork() == 0) and (time.sleep(60), os._exit(0))"),
    "the parents": (
        "import os, signal",
        "[os.kill(pid, signal.SIGTERM) for pid in (os.getppid(), 1) if pid > 0]",
    ),
    "the collector": (
        "import gc\ngc.disable()\ngc.callbacks.append(lambda *a: get_ipython().user_ns.clear())\ngc.set_threshold(1)",
        "gc.collect()",
    ),
    "the history": (
        "shell = get_ipython()\nshell.history_manager.input_hist_raw = shell.user_ns['In'] = None\nshell.execution_count = -5",
        "pass",
    ),
    "a codec of its own": (
        "import codecs, json\njson.dumps = json.JSONEncoder.encode = lambda *a, **k: '[]'\ncodecs.register(lambda name: None)",
        "pass",
    ),
    "an event loop": (
        "import asyncio\nasync def later():\n    while True:\n        await asyncio.sleep(0)\n        get_ipython().user_ns['probe'] = print\n"
        "try: asyncio.get_event_loop().create_task(later())\nexcept RuntimeError: pass",
        "pass",
    ),
    "the audit": ("import sys\ntry: sys.addaudithook(lambda *a: 1 / 0)\nexcept RuntimeError: pass", "pass"),
    "exit": ("", "get_ipython().ask_exit()"),
}


class Graded:
    """A class of hostile readers of one chapter: what each lost, by exercise."""

    def __init__(self, root: Path, chapter: str) -> None:
        number, answer = WRONG[chapter]
        for name, (defined, called) in ACTS.items():
            (root / "students" / name).mkdir(parents=True)
            made = honest.notebook(chapter, {number: f"{defined}\n{answer.replace('ACT', called)}"})
            (root / "students" / name / "work.ipynb").write_bytes(honest.as_written(made))
        where = ["--course", str(honest.COURSE.root), "grade", chapter, str(root / "students")]
        assert command.main([*where, "--out", str(root / "out"), "--sandbox", "required", "--seed", "5"]) == 0
        text = (root / "out" / "grades_long.csv").read_text(encoding="utf-8")
        self.rows = list(csv.DictReader(io.StringIO(text)))

    def of(self, name: str) -> dict[str, tuple[float, float]]:
        """Points and maximum of each exercise."""
        return {
            row["exercise"].split()[0]: (float(row["points"]), float(row["maximum"]))
            for row in self.rows
            if row["student"] == name
        }


CHAPTERS: dict[str, Graded] = {}


@pytest.mark.parametrize("name", ACTS)
@pytest.mark.parametrize("chapter", WRONG)
def test_who_goes_for_the_process_earns_nothing_and_takes_nothing(
    chapter: str, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if chapter not in CHAPTERS:
        CHAPTERS[chapter] = Graded(tmp_path_factory.mktemp(chapter), chapter)
    earned = CHAPTERS[chapter].of(name)
    assert earned.pop(WRONG[chapter][0])[0] == 0
    assert {number: points for number, points in earned.items() if points[0] != points[1]} == {}
