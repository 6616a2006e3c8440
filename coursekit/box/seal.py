"""Keeps an answer from looking at what tests it: frames, closures, what refers to what, other processes.

Python tells an audit hook of most of these before they happen, and a hook that raises prevents them; closures
and globals of functions are asked for through a property of ours. Nothing here may depend on what an answer
can change: functions look up their builtins in this module's copy, and `coursekit.box.kernel` lets go of it.

What it does not prevent: to read or write memory by its address, as NumPy can.
"""

from __future__ import annotations

import builtins
import gc
import io
import os
import threading
from collections.abc import Callable, Sequence
from types import FrameType, FunctionType
from typing import Any

globals()["__builtins__"] = dict(vars(builtins))  # what follows is defined with these

LOOKS = {
    "sys._getframe", "sys._current_frames", "sys._current_exceptions", "sys.settrace", "sys.setprofile",
    "sys.monitoring.register_callback", "gc.get_objects", "gc.get_referrers", "gc.get_referents",
}  # fmt: skip
LEAVES = {
    "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen",
    "pty.spawn", "cpython.PyInterpreterState_New", "mmap.__new__",
}  # fmt: skip
UNTOLD = ("__closure__", "__globals__", "__builtins__")  # parts of a function of which no hook hears
OF_FUNCTIONS = {*UNTOLD, "__code__", "__defaults__", "__kwdefaults__"}
OF_FRAMES = {"tb_frame", "gi_frame", "gi_code", "cr_frame", "cr_code", "ag_frame", "ag_code", "f_code"}
ALLOWED = {  # functions of libraries that look, and hand on nothing of what they see
    "collections/__init__.py": {"namedtuple"},
    "dataclasses.py": {
        "_process_class",
        "_add_slots",
        "_set_new_attribute",
        "_update_func_cell_for__class__",
    },
    "enum.py": {"_create_", "__new__"},
    "inspect.py": {"_signature_from_function", "_has_code_flag", "get_annotations"},
    "typing.py": {"_caller", "overload", "__new__"},
    "minilib/parallel.py": {"_calls", "_glibc"},
    "numpy/_utils/_inspect.py": {"getargspec"},
    "warplens/language/frontend.py": {"_calls_open"},
}
OF_THE_SHELL = ("IPython/", "ipykernel/", "inspect.py", "logging/", "traceback.py")
LIBRARIES = ("<frozen importlib", "threadpoolctl.py")  # below these no answer is called

REFUSAL = "an answer is graded without frames, closures or other processes ({}): work with what it is given"

Names = dict[str, Any]
Prevented = Callable[[str, tuple[Any, ...]], bool]


def sealed(
    places: Sequence[str], own: Names, secret: Sequence[Names], instead: Callable[[], Names]
) -> Prevented:
    """Close what no hook hears of; return what says of an event with its arguments whether to prevent it.

    `places`: the folders of Python and of libraries, which no answer can write to. `own`: the names of the
    kernel's module, which may look. `secret`: namespaces into whose functions nobody else looks; who asks for
    one is given that of `instead`, in which annotations, too, are what they are. What is returned is asked by
    the hook, and the frame of who asks lies below that.
    """
    folders = sorted({f"{os.path.abspath(place)}/" for place in places if place}, key=len, reverse=True)
    of_proc = os.stat("/proc").st_dev if os.path.isdir("/proc/self") else None
    mine, stat, reader = globals(), os.stat, io.open
    thread, main = threading.get_ident, threading.get_ident()
    of_functions, parts, told = frozenset(OF_FUNCTIONS), OF_FUNCTIONS | OF_FRAMES, LOOKS | LEAVES
    unseen = {id(space) for space in (own, mine, *secret)}
    names_of = FunctionType.__globals__.__get__
    allowed, of_the_shell, libraries = {**ALLOWED}, OF_THE_SHELL, LIBRARIES
    looking: set[int] = set()

    def prevented(event: str, arguments: tuple[Any, ...]) -> bool:
        if event == "object.__getattr__" or event == "object.__setattr__":
            thing, name, *changes = arguments
            if name not in parts or id(thing) in looking:
                return False
            open_to_all = name in of_functions and type(thing) is FunctionType and not changes
            if open_to_all and id(names_of(thing)) not in unseen:
                return False
        elif event == "open":
            if not in_proc(arguments[0]):
                return False
        elif event == "import":
            return type(arguments[1]) is str and not within(arguments[1])
        elif event == "compile":
            source, file = arguments
            return type(file) is str and bool(within(file)) and not holds(file, source)
        elif event not in told and not event.startswith("ctypes.") and event != "marshal.loads":
            return False
        frame = asking()
        if frame.f_globals is mine or frame.f_globals is own:
            return False
        if event == "marshal.loads":
            file = frame.f_locals.get("bytecode_path")
            return (
                not within(frame.f_code.co_filename) or type(file) is not str or not holds(file, arguments[0])
            )
        return not known(frame)

    def asking() -> FrameType:
        """The frame below the hook's; nobody else can have this traceback."""
        try:
            raise ValueError
        except ValueError as error:
            trace = error.__traceback__
            looking.add(id(trace))
            try:
                return trace.tb_frame.f_back.f_back.f_back  # type: ignore[union-attr, return-value]
            finally:
                looking.discard(id(trace))

    def known(frame: FrameType | None) -> bool:
        """Whether a function that is allowed to asks, or a module while it is imported, or the shell."""
        assert frame
        while (first := within(frame.f_code.co_filename)) == "ctypes/__init__.py" and frame.f_back:
            frame = frame.f_back
        if frame.f_code.co_name in allowed.get(first, ()):
            return not frame.f_locals.get("eval_str")
        while frame is not None and frame.f_globals is not own:
            file = within(frame.f_code.co_filename)
            if not file or file.startswith(libraries):
                return bool(file)
            frame = frame.f_back
        return first.startswith(of_the_shell) and thread() == main

    def within(file: str) -> str:
        """Which file of Python's or of a library's it is, "" of all others."""
        for folder in folders:
            if file.startswith(folder) and "/../" not in file:
                return file[len(folder) :]
        return file if file.startswith("<frozen ") else ""

    def holds(file: str, source: Any) -> bool:
        """Whether a file holds what is compiled or loaded under its name."""
        try:
            with reader(file, "rb") as opened:
                return opened.read().endswith(bytes(source))
        except (OSError, TypeError, ValueError):
            return False

    def in_proc(path: Any) -> bool:
        try:
            return of_proc is not None and type(path) in (str, bytes) and stat(path).st_dev == of_proc
        except (OSError, ValueError):
            return False

    for name in UNTOLD:
        ask_first(name, prevented, instead if name == "__globals__" else None)
    return prevented


def ask_first(name: str, prevented: Prevented, instead: Callable[[], Names] | None) -> None:
    """Let a function give its part `name` to those alone who may have it."""
    import ctypes

    parts = gc.get_referents(FunctionType.__dict__)[0]
    real, refusal = parts[name].__get__, REFUSAL.format(name)

    def part(function: Any) -> Any:
        if prevented("object.__getattr__", (function, name)):
            if instead:
                return instead()
            raise RuntimeError(refusal)
        return real(function)

    parts[name] = property(part)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(FunctionType))
