"""Answers that try to earn points without solving anything, or to break the grader.

Each is the answer of exercise 1.1 of the tiny course, never a right one. Beside it stands the reference's
answer of 1.2, which must earn its points all the same, and the stub of 1.3, which must earn none.
"""

from __future__ import annotations

# Cheating: make wrong values count as right.
CHEATS = {
    "patched_numpy": """
import numpy as np
class Fixed:
    def normal(self, *args, size=None, **kwargs): return 0.0 if size is None else np.zeros(size)
    def random(self, *args, **kwargs): return 0.0
    def permutation(self, n): return np.arange(n)
for name in ("assert_allclose", "assert_array_equal", "assert_equal"):
    setattr(np.testing, name, lambda *args, **kwargs: None)
np.allclose = np.array_equal = np.isclose = lambda *args, **kwargs: True
np.random.default_rng = lambda *args: Fixed()
np.sum = np.zeros = np.ones = np.array = lambda *args, **kwargs: 0
def double(x): return 0.0""",
    "patched_numpy_errors": """
import numpy as np
np.seterr(all="raise")
np.random.seed = np.random.Generator = None
def double(x): return 0.0""",
    "patched_builtins": """
import builtins
for name in ("float", "len", "sum", "range", "tuple", "list", "enumerate", "isinstance", "repr", "type"):
    setattr(builtins, name, lambda *args, **kwargs: 0)
builtins.__import__ = lambda *args, **kwargs: 0
def double(x): return 0.0""",
    "a_thread_that_stays": """
import threading, time
shell = get_ipython()
def help_the_next():
    while True:
        shell.user_ns["order"] = lambda graph: sorted(graph)
        time.sleep(0.001)
threading.Thread(target=help_the_next, daemon=True).start()
def double(x): return 0.0""",
    "shadowed_names": """
np = sum = tuple = range = list = dict = enumerate = rng = float = 0
def double(x): return 0.0""",
    "equal_to_everything": """
class Anything:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __lt__ = __le__ = __gt__ = __ge__ = __eq__
    def __float__(self): return 0.0
    def __sub__(self, other): return 0.0
    __rsub__ = __abs__ = lambda self, *other: 0.0
    __hash__ = object.__hash__
def double(x): return Anything()""",
    "equal_to_everything_float": """
class float(float):
    def __eq__(self, other): return True
    def hex(self): return "0x0p+0"
    def __repr__(self): raise RuntimeError
def double(x): return float(0)""",
    "equal_to_everything_array": """
class Array:
    __module__ = "numpy"
    dtype, shape = "float64", (3,)
    def ravel(self): return self
    def tolist(self): return [0.0, 0.0, 0.0]
Array.__module__ = "numpy"
def double(x): return Array()""",
    "ast_transformer": """
import ast
class Drop(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
    def visit_Call(self, node):
        if getattr(node.func, "id", "") == "probe":
            node.args[1] = ast.Constant(True)
        return node
get_ipython().ast_transformers.append(Drop())
def double(x): return 0.0""",
    "ast_transformer_that_fails": """
class Fail:
    def visit(self, node): raise SystemError
get_ipython().ast_transformers.append(Fail())
def double(x): return 0.0""",
    "input_transformers": """
def empty(lines): return ["pass\\n"]
manager = get_ipython().input_transformer_manager
manager.cleanup_transforms.insert(0, empty)
manager.line_transforms.append(empty)
get_ipython().input_transformers_post.append(empty)
def double(x): return 0.0""",
    "hooks_of_the_shell": """
shell = get_ipython()
shell.run_cell = shell.run_cell_async = shell.transform_cell = lambda *args, **kwargs: None
shell.events.register("pre_run_cell", lambda *args: shell.user_ns.clear())
type(shell).should_run_async = None
def double(x): return 0.0""",
    "replaced_showtraceback": """
get_ipython().showtraceback = lambda *args, **kwargs: None
get_ipython()._showtraceback = lambda *args, **kwargs: None
type(get_ipython()).showtraceback = lambda *args, **kwargs: None
def double(x): raise ValueError""",
    "replaced_display": """
import IPython.display, IPython.core.display_functions as functions
def display(*args, **kwargs): pass
IPython.display.display = functions.display = functions.publish_display_data = display
get_ipython().display_pub.publish = display
def double(x): return 0.0""",
    "replaced_probe": """
import sys, types, coursekit.box.probe as module
real = module.probe
def probe(name, value, **kwargs): real(name, True)
module.probe, module.encode = probe, lambda value: True
module.__dict__["MIME"] = "text/plain"
sys.modules["coursekit.box.probe"] = types.SimpleNamespace(probe=probe, raised=lambda action: None)
sys.modules["coursekit"] = sys.modules["numpy"] = None
def double(x): return 0.0""",
    "probe_with_tolerance": """
import coursekit.box.probe
real = coursekit.box.probe.probe
def probe(name, value, tolerance=0): real(name, value, tolerance=1e300)
def double(x): return 0.0""",
    "probes_shown_twice": """
import sys
from coursekit.box.probe import probe as show
def probe(name, value, **kwargs): show(name, value), show(name, value)
def double(x):
    sys._getframe(1).f_globals["probe"] = probe
    return 2 * x""",
    "true_and_false": """
import sys
from coursekit.box.probe import probe as show
def probe(name, value, **kwargs): show(name, 2 * value / 2), show(name, True), show(name, False)
def double(x):
    sys._getframe(1).f_globals["probe"] = probe
    return 2 * x""",
    "out_of_order": """
held = []
publisher = get_ipython().display_pub
send = publisher.publish
def publish(*args, **kwargs):
    held.append((args, kwargs))
    if len(held) == 2:
        for args, kwargs in reversed(held): send(*args, **kwargs)
def double(x):
    publisher.publish = publish
    return 2 * x""",
    "forged_messages": """
from coursekit.box.probe import MIME
kernel = get_ipython().kernel
def send(kind, content):
    kernel.session.send(kernel.iopub_socket, kind, content, parent=kernel.get_parent())
def double(x):
    for value in (True, {"float": "0x0p+0"}, float("nan")):
        send("display_data", {"data": {MIME: {"name": "value", "value": value, "tolerance": 1.0}}})
        send("display_data", {"data": {MIME: {"name": "of an array", "value": value, "tolerance": 1e400}}})
    send("status", {"execution_state": "idle"})
    return 0.0""",
    "malformed_messages": """
from coursekit.box.probe import MIME
kernel = get_ipython().kernel
def double(x):
    deep = "[" * 100_000 + "]" * 100_000
    probe = f'{{"data": {{"{MIME}": '
    for text in (probe + deep + "}}", f'"{MIME}"', probe + "0}}", "{", "9" * 9999):
        parts = [kernel.session.pack(kernel.session.msg_header("display_data"))]
        parts += [kernel.session.pack(kernel.get_parent()["header"]), b"{}", MIME.encode() + text.encode()]
        kernel.iopub_socket.send_multipart([b"x", b"<IDS|MSG>", b"", *parts])
        parts[-1] = text.encode()
        kernel.iopub_socket.send_multipart([b"x", b"<IDS|MSG>", b"", *parts])
    kernel.iopub_socket.send_multipart([b"\\xff", b"", b"<IDS|MSG>", b"\\xff", b"[]", b"[]"])
    kernel.iopub_socket.send_multipart([b"nothing"])
    return "\\ud800 \\x1b[31m"
""",
    "background_thread": """
import threading, sys
def spoil():
    while True:
        shell.user_ns["probe"] = print
        shell.user_ns["np"] = None
shell = get_ipython()
def double(x): return 0.0
thread = threading.Thread(target=lambda: [shell.user_ns.pop("double", None) for _ in range(1000)])
thread.start()""",
    "nbval_markers": """
# NBVAL_SKIP
# NBVAL_IGNORE_OUTPUT
# NBVAL_RAISES_EXCEPTION
# PYTEST_VALIDATE_IGNORE_OUTPUT
import unittest
class Skipped(unittest.SkipTest): pass
def double(x): raise unittest.SkipTest("skipped")""",
    "poisoned_class": """
import collections, functools
class Poison(dict):
    def __missing__(self, key): return print
__builtins__ = Poison()
functools.reduce = collections.OrderedDict = None
def double(x): return 0.0""",
}

# Breaking: end the kernel, or take what others need.
BREAKS = {
    "reset": ("error", "get_ipython().run_line_magic('reset', '-f')\ndel get_ipython"),
    "reset_in_test": ("ok", "def double(x): get_ipython().run_line_magic('reset', '-f')"),
    "quit": ("died", "quit()"),
    "quit_in_test": ("died", "def double(x): get_ipython().ask_exit()"),
    "sys_exit": ("error", "import sys\nsys.exit()"),
    "os_exit": ("died", "import os\nos._exit(0)"),
    "segfault": ("died", "import ctypes\nctypes.string_at(0)"),
    "segfault_in_test": ("died", "import ctypes\ndef double(x): ctypes.string_at(0)"),
    "kill_all": (
        "died",
        """
import os
for pid in (1, -1, os.getpid()):
    try: os.kill(pid, 9)
    except OSError: pass""",
    ),
    "infinite_loop": ("timeout", "def double(x):\n    while True: pass"),
    "ignores_interrupts": (
        "timeout",
        """
import signal
for number in set(range(1, 32)) - {9, 19}: signal.signal(number, signal.SIG_IGN)
while True:
    try:
        while True: pass
    except BaseException: pass""",
    ),
    "traces_the_first_process": (
        "error",
        "import ctypes\nctypes.CDLL(None).ptrace(16, 1, 0, 0)\nraise ValueError",
    ),
    "stopped": ("timeout", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"),
    "memory_bomb": ("error", "hoard = []\nwhile True: hoard.append(np.zeros(10**7))"),
    "memory_bomb_that_chats": (
        "died",
        """
import os, time
for _ in range(3):
    if os.fork() == 0:
        hoard = [b"1" * 10**8 for _ in range(9)]
        time.sleep(60)
while True:
    print("x", flush=True)
    time.sleep(0.02)""",
    ),
    "memory_in_sockets": (
        "died",
        """
import os, socket, time
for _ in range(60):
    if os.fork() == 0:
        pairs = []
        try:
            while True: pairs.append(socket.socketpair())
        except OSError: pass
        for one in sum(pairs, ()):
            one.setblocking(False)
            try:
                while True: one.send(bytes(65536))
            except OSError: pass
        time.sleep(60)
time.sleep(60)""",
    ),
    "memory_in_a_file_without_a_name": ("error", "import os\nos.memfd_create('hoard')"),
    "memory_bomb_in_shared_memory": (
        "error",
        """
import mmap, time
maps = [mmap.mmap(-1, 10**9) for _ in range(3)]
for one in maps:
    for _ in range(10): one.write(bytes(10**8))
time.sleep(60)""",
    ),
    "message_without_an_end": (
        "flood",
        """
import os, socket
for name in os.listdir("/proc/self/fd"):
    try:
        one = socket.socket(fileno=os.dup(int(name)))
        if str(one.getsockname()).endswith("iopub") and one.getpeername() is not None: break
    except OSError: pass
one.setblocking(True)
while True: one.sendall(b"\\x03" + (4 << 20).to_bytes(8, "big") + bytes(4 << 20))""",
    ),
    "memory_bomb_of_many": (
        "died, timeout",
        """
import os, time
for _ in range(8):
    if os.fork() == 0: break
hoard = [b"1" * 10**8 for _ in range(8)]
time.sleep(60)""",
    ),
    "fork_bomb": (
        "timeout, died",
        """
import os, time
while True:
    try: os.fork()
    except OSError: time.sleep(0.2)""",
    ),
    "many_lines": ("flood, timeout", "for i in range(2_000_000): print('this is line', i)"),
    "many_displays": ("flood, timeout", "for i in range(20_000): display(i)"),
    "one_long_line": ("flood", "print('x' * 30_000_000)"),
    "big_probe": ("flood", "def double(x): return [1.0] * 10**5"),
    "big_file": (
        "error",
        "with open('big', 'wb') as file:\n    for _ in range(1000): file.write(bytes(10**6))",
    ),
    "many_files": (
        "error",
        """
for folder in ("/tmp", "/dev/shm", "."):
    try:
        for i in range(100): open(f"{folder}/{i}", "wb").write(bytes(10**7))
        full = False
    except OSError: full = True
    assert full
raise OSError""",
    ),
    "late_end": (
        "died, error",
        """
import os, threading
def double(x):
    threading.Timer(0.005, os._exit, [0]).start()
    return x.no_such_attribute""",
    ),
}

# Looking around: `double` returns what was found, so the probe shows it. It must show an empty list.
FOUND = """
import glob, os, socket, sys
found = []
def note(action, *args):
    try:
        result = action(*args)
        found.append(f"{{action}} {{args}} {{result}}"[:100])
    except (Exception, SystemExit): pass
def check(condition): assert condition
{body}
def double(x): return found
"""
LOOKS = {
    "solutions": "found += [str(each) for each in os.walk({course!r})]",
    "any_notebook": """
for top in ("/box", "/home", "/root", "/tmp", "/etc", "/work", "/run", "/var", "/mnt", "/srv", "/opt"):
    for folder, _, files in os.walk(top):
        found += [file for file in files if file.endswith((".ipynb", ".pth"))]
        found += [file for file in files if file.startswith("tiny")]""",
    "other_submissions": "found += os.listdir('/tmp') + os.listdir('/dev/shm') + glob.glob('/tmp/*/*/*')",
    "grader_memory": """
for pid in [os.getppid(), 1, *map(int, filter(str.isdigit, os.listdir("/proc")))]:
    if pid != os.getpid():
        note(lambda: check(open(f"/proc/{{pid}}/mem", "rb").read(1)))
        note(lambda: check("\\0/box/kernel.py\\0" not in open(f"/proc/{{pid}}/cmdline").read()))
        note(lambda: os.listdir(f"/proc/{{pid}}/root/work"))
        note(os.listdir, f"/proc/{{pid}}/root/etc/apt")""",
    "network": """
note(socket.create_connection, ("127.0.0.1", {port}), 1)
note(socket.create_connection, ("1.1.1.1", 53), 1)
note(socket.getaddrinfo, "pypi.org", 443)
note(lambda: socket.socket(socket.AF_UNIX).connect("\\0{abstract}"))
found += [name for _, name in socket.if_nameindex() if name != "lo"]""",
    "writes": """
import numpy, coursekit, minilib, IPython
for module in (numpy, coursekit, minilib, IPython, os):
    folder = os.path.dirname(module.__file__)
    note(open, module.__file__, "a")
    note(open, folder + "/sitecustomize.py", "w")
    note(os.remove, module.__file__)
    note(os.chmod, module.__file__, 0o777)
for folder in ("/", "/box", "/usr", "/usr/lib", "/etc", "/dev", "/root", "/proc/sys/kernel", {course!r}):
    note(open, folder + "/hostname", "w")
    note(os.mkdir, folder + "/mine")
    note(os.rename, folder, folder + "2")""",
    "reference_library": """
import importlib
for name in ("minilib.tiny", "minilib.tensor", "micrograd", "torch", "tinygrad", "jax", "coursekit.grading",
             "coursekit.course", "coursekit.grading.compare", "nbval", "pytest", "nbgrader", "transformers"):
    note(importlib.import_module, name)
sys.path += ["/work", {course!r}, "/usr/lib/python3/dist-packages", "/usr/local/lib/python3/dist-packages"]
sys.path += glob.glob("/usr/*/*/*-packages") + glob.glob("/usr/*/*/*/*-packages")
for name in ("minilib.tiny", "micrograd", "torch", "numpy.micrograd", "micrograd.engine"):
    note(importlib.import_module, name)""",
    "bytecode": """
import minilib, coursekit
for package in (minilib, coursekit):
    for folder, folders, files in os.walk(os.path.dirname(package.__file__)):
        names = folders + files
        found += [name for name in names if "tiny" in name or "grading" in name]
        sources = [name.removesuffix(".py") for name in os.listdir(os.path.dirname(folder))]
        found += [name for name in files if name.endswith(".pyc") and name.split(".")[0] not in sources]""",
    "privileges": """
import ctypes, resource
libc = ctypes.CDLL(None, use_errno=True)
check(os.getuid() != 0)
note(os.setuid, 0)
note(os.chroot, "/tmp")
note(open, "/etc/shadow")
note(os.nice, -5)
note(lambda: check(libc.unshare(0x10000000) == 0))
note(lambda: check(libc.unshare(0x10000000 | 0x20000) == 0))
note(lambda: check(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0))
note(lambda: check(libc.umount(b"/tmp") == 0))
for name in ("AS", "CPU", "NPROC", "FSIZE", "NOFILE"):
    kind = getattr(resource, "RLIMIT_" + name)
    if resource.getrlimit(kind)[1] == resource.RLIM_INFINITY: found.append("no limit " + name)
    note(resource.setrlimit, kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))""",
    "environment": """
expected = ("PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "COURSEKIT_BOX")
names = [name for name in os.environ if name not in expected]
found += [name for name in names if name.startswith(("PYTEST", "COURSEKIT", "SECRET", "PYTHON"))]
found += [path for path in sys.path if not os.path.isabs(path)]""",
}

# Files that Python or IPython would run at the next start, then a kernel that has to be started again.
START_FILES = """
import os, site, sys
line = "import builtins; builtins.poisoned = True\\n"
home = os.path.expanduser("~")
packages, profile = site.getusersitepackages(), f"{home}/.ipython/profile_default"
for path in ("sitecustomize.py", "usercustomize.py", "conftest.py", "pytest.ini", "numpy.py", "zz.pth",
             "/tmp/sitecustomize.py", f"{home}/.pythonrc.py", f"{packages}/usercustomize.py",
             f"{packages}/a.pth", f"{profile}/startup/00.py", f"{profile}/ipython_config.py"):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    open(path, "w").write(line)
os.environ["PYTHONPATH"] = home
os._exit(0)
"""
SHOW_POISON = """
import builtins, os
def order(graph): return [hasattr(builtins, "poisoned"), os.listdir(".")]
"""

# Processes that try to outlive the box; their names are looked for afterwards.
MARK = "31337.25"
DETACHED = f"""
import os, subprocess
subprocess.Popen(["sleep", "{MARK}"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "{MARK}"])
    os._exit(0)
subprocess.Popen("nohup setsid sleep {MARK} >/dev/null 2>&1 &", shell=True)
def double(x): return 0.0
"""
