"""Keeps an answer from looking at what tests it, and lets what the tests show be proved to be theirs.

Frames and functions show what is harmless in place of what is secret: the names of hidden tests, of the
kernel, of what shows values; so does what Python has built in and asks the frame that calls it. References,
traces and other processes are refused, by an audit hook. What the grader sends is locked, and what is shown
is signed, with a secret to which no object leads.

Nothing here depends on what an answer can change: functions look up their builtins in this module's copy, and
`coursekit.box.kernel` lets go of the module. What it does not prevent: to read or write memory by its
address, as NumPy can.
"""

from __future__ import annotations

import _imp
import builtins
import ctypes
import gc
import os
import sys
from collections.abc import Callable, Collection, Sequence
from hashlib import blake2b
from types import FrameType, FunctionType, SimpleNamespace
from typing import Any

globals()["__builtins__"] = dict(vars(builtins))  # what follows is defined with these

REFUSED = {
    "gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys.settrace", "sys.setprofile",
    "sys.monitoring.register_callback", "cpython.PyInterpreterState_New", "mmap.__new__", "os.fork",
    "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen", "pty.spawn",
}  # fmt: skip
NOT_MEASURED = {
    "sqlite3.connect", "os.link", "os.mkdir", "os.rename", "os.setxattr", "os.symlink", "os.truncate",
    "os.utime", "resource.prlimit", "resource.setrlimit", "socket.__new__",
}  # fmt: skip
OF_PYTHON = ("_test", "_xx", "_interp", "_posixsub")  # modules that reach frames, interpreters and processes
OF_THE_MACHINE = ("/threadpoolctl.py", "/minilib/parallel.py")  # what may ask /proc and the C library
REFUSAL = "an answer is graded without traces, other processes, raw memory, and files for numbers ({})"
TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT

NOT_MADE_ANEW = {"builtins", "_imp", "sys"}

Names = dict[str, Any]


def ask_frames() -> None:
    """Replace what Python has built in and asks the frame that calls it, before anybody keeps it.

    Those of C would ask a hidden test's frame where C calls them, as in `len(x)` of an `x` whose class has
    `__len__ = globals`. These ask as Python does, and so see what frames show.
    """
    plain, frame_at = vars(builtins), sys._getframe
    evaluate, execute, names_of, list_of = eval, exec, vars, dir
    make: Any = _imp.create_builtin

    def names(frame: FrameType) -> Any:
        found = frame.f_locals
        return found if isinstance(found, dict) or hasattr(found, "__missing__") else {**found}

    def spaces(frame: FrameType, globals: Any, locals: Any) -> tuple[Any, Any]:
        if globals is None:
            return frame.f_globals, names(frame) if locals is None else locals
        if isinstance(globals, dict) and "__builtins__" not in globals:
            globals["__builtins__"] = frame.f_builtins or plain
        return globals, locals

    def eval_(source: Any, /, globals: Any = None, locals: Any = None) -> Any:
        return evaluate(source, *spaces(frame_at(1), globals, locals))

    def exec_(source: Any, /, globals: Any = None, locals: Any = None, **more: Any) -> None:
        execute(source, *spaces(frame_at(1), globals, locals), **more)

    def globals_() -> Names:
        return frame_at(1).f_globals

    def locals_() -> Any:
        return names(frame_at(1))

    def vars_(*thing: Any) -> Any:
        return names_of(*thing) if thing else names(frame_at(1))

    def dir_(*thing: Any) -> list[str]:
        return list_of(*thing) if thing else sorted(names(frame_at(1)))

    def create_builtin(spec: Any) -> Any:
        name = spec.name
        if type(name) is not str or name in NOT_MADE_ANEW:
            raise PermissionError(REFUSAL.format(f"{name}, made anew"))
        return make(SimpleNamespace(name=name))

    for function in (eval_, exec_, globals_, locals_, vars_, dir_):
        function.__name__ = function.__qualname__ = function.__name__.rstrip("_")
        function.__doc__, function.__module__ = plain[function.__name__].__doc__, "builtins"
        plain[function.__name__] = function
    _imp.create_builtin = create_builtin


def sealed(
    secret: Sequence[Names],
    classes: Collection[type],
    libraries: Sequence[str],
    instead: Callable[[], Names],
    measured: Callable[[], bool],
) -> Callable[[str, tuple[Any, ...]], bool]:
    """Hide what is `secret`; return what says of an audit event, with its arguments, whether to refuse it.

    `secret` are namespaces: functions and frames that have one give that of `instead`, and none of their
    values. `classes` are nobody's subclasses any more. `libraries` are the folders of what may use ctypes and
    /proc. While memory is `measured`, nothing is written into files. The frame of who asks lies below that
    of the hook.
    """
    of_function, of_frame, of_class = map(_attributes, (FunctionType, FrameType, type))
    names_of, names_in = of_function["__globals__"].__get__, of_frame["f_globals"].__get__
    below, code_of = of_frame["f_back"].__get__, of_frame["f_code"].__get__
    real_subclasses, frame_at, stat = of_class["__subclasses__"], sys._getframe, os.stat
    hidden = {id(globals()), *map(id, secret)}
    fixed = hidden | {id(vars(module)) for module in [*sys.modules.values()]}
    unlisted, refused, unseen = set(map(id, classes)), set(REFUSED), set(NOT_MEASURED)
    folders = tuple(f"{os.path.abspath(folder)}/" for folder in libraries)
    of_proc = os.stat("/proc").st_dev if os.path.isdir("/proc/self") else None

    def harmless(attribute: Any, names: Callable[[Any], Names], otherwise: Callable[[], Any]) -> property:
        """An attribute that of what is secret is `otherwise()`; what others share nobody sets."""
        get, put = attribute.__get__, getattr(attribute, "__set__", None)

        def value(thing: Any) -> Any:
            return otherwise() if id(names(thing)) in hidden else get(thing)

        def change(thing: Any, value: Any) -> None:
            if put is None or id(names(thing)) in fixed:
                raise PermissionError("an answer changes no functions but its own")
            put(thing, value)

        return property(value, change)

    def caller(frame: FrameType) -> FrameType | None:
        back: FrameType | None = below(frame)
        while back is not None and id(names_in(back)) in hidden:
            back = below(back)
        return back

    def subclasses(kind: type) -> list[type]:
        return [one for one in real_subclasses(kind) if id(one) not in unlisted]

    def refuses(event: str, arguments: tuple[Any, ...]) -> bool:
        if event in refused:
            return True
        if event == "import" and arguments[0].startswith(OF_PYTHON):
            return True
        if ((event == "open" and arguments[2] & TO_WRITE) or event in unseen) and measured():
            return True
        if event == "open" and of_proc is not None and isinstance(arguments[0], str | bytes):
            try:
                return stat(arguments[0]).st_dev == of_proc and not by_library(frame_at(2))
            except (OSError, ValueError):
                return False
        return event.startswith("ctypes.") and not by_library(frame_at(2))

    def by_library(frame: FrameType | None) -> bool:
        while frame is not None and code_of(frame).co_filename.endswith("/ctypes/__init__.py"):
            frame = below(frame)
        if frame is None or id(names_in(frame)) in hidden:
            return frame is not None
        file: str = code_of(frame).co_filename
        return file.startswith(folders) and file.endswith(OF_THE_MACHINE)

    for name, otherwise in (("__globals__", instead), ("__closure__", _none), ("__builtins__", dict)):
        of_function[name] = harmless(of_function[name], names_of, otherwise)
    for name in ("__defaults__", "__kwdefaults__"):
        of_function[name] = harmless(of_function[name], names_of, _none)
    code = of_function["__code__"]
    of_function["__code__"] = property(code.__get__, harmless(code, names_of, _none).fset)
    for name, otherwise in (("f_globals", instead), ("f_locals", dict), ("f_builtins", dict)):
        of_frame[name] = harmless(of_frame[name], names_in, otherwise)
    of_frame["f_back"] = property(caller)
    of_class["__subclasses__"] = subclasses
    for kind in (FunctionType, FrameType, type):
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
    return refuses


def _attributes(kind: type) -> dict[str, Any]:
    """The attributes of a type of Python's own, to be changed."""
    found: dict[str, Any] = gc.get_referents(kind.__dict__)[0]
    return found


def _none() -> None:
    return None


def lock(secret: bytes, number: int, text: str) -> str:
    """`text`, to be read by whoever has the `secret`, as request of this `number` alone."""
    plain = text.encode()
    locked = _mixed(_derived(secret, "text", number), plain)
    return (locked + _derived(_derived(secret, "whole", number), locked)).hex()


def unlock(secret: bytes, number: int, locked: str) -> str:
    """What was locked. Raises ValueError where it was not, or with another number."""
    data = bytes.fromhex(locked)
    data, proof = data[:-64], data[-64:]
    if _derived(_derived(secret, "whole", number), data) != proof:
        raise ValueError("no request of the grader")
    return _mixed(_derived(secret, "text", number), data).decode()


def signer(secret: bytes, number: int) -> Callable[[Names], str]:
    """Marks what the request of this `number` shows: nothing is changed, left out or repeated unnoticed."""
    key, shown = _derived(secret, "shown", number), 0

    def mark(data: Names) -> str:
        nonlocal shown
        shown += 1
        return _derived(key, f"{shown} {data!r}".encode("utf-8", "surrogatepass")).hex()

    return mark


def _derived(key: bytes, what: str | bytes, number: int | str = "") -> bytes:
    what = what if isinstance(what, bytes) else f"{what} {number}".encode()
    return blake2b(what, key=key).digest()


def _mixed(key: bytes, data: bytes) -> bytes:
    stream = b"".join(_derived(key, "", at) for at in range(0, len(data), 64))[: len(data)]
    return (int.from_bytes(data) ^ int.from_bytes(stream)).to_bytes(len(data))
