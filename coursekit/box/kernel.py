"""The kernel that runs a notebook for the grader: an IPython kernel on two sockets that it inherits.

This one file runs inside the box, so it imports nothing of the course. It sets the limits, then serves. Three
silent requests let the grader start each exercise from the same state: `mark` remembers the state after the
set-up cells, `restore` brings it back, `rng` makes the generator of one hidden test. Answers run in the same
process and can break all three: that costs their own points, since values are compared elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from copy import copy
from types import ModuleType
from typing import Any

LIMITS = {"AS", "CPU", "NPROC", "FSIZE", "NOFILE", "CORE", "MEMLOCK", "MSGQUEUE"}
CHANGEABLE = re.compile(  # the modules that answers are likely to patch
    r"builtins|sys|os|os\.path|posixpath|io|math|cmath|random|time|json|operator|functools|itertools|copy"
    r"|collections|dataclasses|contextlib|types|typing|(coursekit|cudasim|minilib)(\..*)?"
    r"|numpy(\.(random|linalg|fft|testing))?|IPython\.(display|core\.display(_functions|hook|pub)?)",
).fullmatch
REQUEST = "# coursekit: "


def main() -> None:
    settings = json.loads(sys.argv[1])
    sys.argv[1:] = []
    os.environ["COURSEKIT_BOX"] = "1"  # what coursekit.box.check starts in a reader's kernel is not for here
    limit(settings["limits"])
    sys.path[:0] = settings["path"]
    serve(settings)


def limit(limits: dict[str, int]) -> None:
    """Set hard limits. `NPROC` counts inside this user namespace only, because it is set in here."""
    import resource

    for name in sorted(LIMITS & limits.keys()):
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        value = limits[name] if hard == resource.RLIM_INFINITY else min(limits[name], hard)
        resource.setrlimit(kind, (value, value))
    if limits:
        with open(
            "/proc/self/oom_score_adj", "w", encoding="utf-8"
        ) as file:  # where memory runs out, the box goes first
            file.write("1000")


def serve(settings: dict[str, Any]) -> None:
    """Start the kernel and serve until it is killed."""
    import zmq
    from ipykernel.ipkernel import IPythonKernel
    from ipykernel.kernelapp import IPKernelApp
    from ipykernel.zmqshell import ZMQInteractiveShell

    class Shell(ZMQInteractiveShell):
        def ask_exit(self) -> None:
            os._exit(0)  # quit() ends the kernel now, not at some time during the next cells

    class Kernel(IPythonKernel):
        shell_class = Shell
        state: State | None = None

        async def do_execute(self, code: str, silent: bool, *args: Any, **options: Any) -> Any:
            if not (silent and code.startswith(REQUEST)):
                return await super().do_execute(code, silent, *args, **options)  # type: ignore[no-untyped-call]
            action, _, argument = code.removeprefix(REQUEST).partition(" ")
            try:
                if action == "mark":
                    self.state = State(self.shell)
                elif action == "restore" and self.state:
                    self.state.restore()
                elif action == "rng" and self.state:
                    self.state.make_rng(int(argument))
                return {"status": "ok", "execution_count": 0, "user_expressions": {}, "payload": []}
            except Exception as error:
                return {
                    "status": "error",
                    "execution_count": 0,
                    "ename": type(error).__name__,
                    "evalue": str(error),
                    "traceback": [],
                }

    sockets = iter(
        [settings["shell"], None, None, settings["iopub"]]
    )  # in the order in which ipykernel binds

    class App(IPKernelApp):
        def _try_bind_socket(self, socket: Any, port: int) -> int:
            handle = next(sockets)
            if handle is not None:
                socket.setsockopt(zmq.USE_FD, handle)
                socket.bind(f"ipc:///inherited-{handle}")  # the name is not used, the handle is
            socket.bind(f"inproc://{id(socket)}")
            return 1

        def init_heartbeat(self) -> None:
            pass

        def write_connection_file(self, **kwargs: Any) -> None:
            pass

        def log_connection_info(self) -> None:
            pass

        def init_connection_file(self) -> None:
            self.session.key = settings["key"].encode()

    options = {
        "HistoryManager.enabled": False,
        "IPCompleter.use_jedi": False,
        "InteractiveShell.colors": "nocolor",
        "InteractiveShell.cache_size": 0,
        "InteractiveShell.xmode": "Minimal",
        "InteractiveShellApp.exec_PYTHONSTARTUP": False,
    }
    app = App.instance(kernel_class=Kernel, transport="ipc", default_extensions=[], log_level=50)
    for name, value in options.items():
        owner, _, field = name.partition(".")
        app.config[owner][field] = value
    app.initialize([])  # type: ignore[no-untyped-call]
    app.start()  # type: ignore[no-untyped-call]


class State:
    """What the set-up cells left: names, classes, the parts of Python and IPython that cells can change."""

    def __init__(self, shell: Any) -> None:
        import random

        import numpy.testing

        self.shell = shell
        self.random = random
        self.numpy_random = numpy.random
        self.default_rng = numpy.random.default_rng
        self.names = dict(shell.user_ns)
        self.modules = dict(sys.modules)
        self.saved = [(thing, dict(vars(thing))) for thing in self.things()]
        self.contents = [(items, copy(items)) for items in (*self.shell_lists(), *self.containers())]
        self.numpy_errors = (numpy.seterr, numpy.geterr())
        self.environment = dict(os.environ)
        self.folder = os.getcwd()
        self.tasks = tasks()
        self.seed(0)

    def things(self) -> Iterator[Any]:
        """Modules and classes whose attributes an answer might replace."""
        seen: set[int] = set()
        named = [module for name, module in self.modules.items() if CHANGEABLE(name)]
        shell = type(self.shell).__mro__[:4]
        for thing in (*named, *shell, *self.names.values()):
            own_class = isinstance(thing, type) and thing.__module__ != "builtins"
            if (own_class or isinstance(thing, ModuleType)) and id(thing) not in seen:
                seen.add(id(thing))
                yield thing
        yield from (self.shell, self.shell.display_pub, self.shell.displayhook)

    def shell_lists(self) -> Iterator[list[Any]]:
        manager = self.shell.input_transformer_manager
        yield self.shell.ast_transformers
        yield from (manager.cleanup_transforms, manager.line_transforms, manager.token_transformers)
        yield self.shell.input_transformers_post
        yield from self.shell.events.callbacks.values()
        yield from (sys.path, sys.meta_path, sys.path_hooks)

    def containers(self) -> Iterator[Any]:
        """What the set-up cells and the library keep: registries, for example."""
        library = (vars(m) for name, m in self.modules.items() if name.startswith(("cudasim", "minilib")))
        spaces = [self.names, *library]
        for space in spaces:
            for name, value in space.items():
                if (
                    type(value) in (list, dict, set)
                    and not name.startswith("_")
                    and name not in ("In", "Out")
                ):
                    yield value

    def restore(self) -> None:
        if tasks() > self.tasks:
            raise RuntimeError("an answer left threads or processes behind")
        for thing, attributes in self.saved:
            put_back(thing, attributes)
        for items, content in self.contents:
            refill(items, content)
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):  # they hold on to what failed
            sys.__dict__.pop(name, None)
        names = self.shell.user_ns
        names.clear()
        names.update(self.names)
        sys.modules.update(self.modules)
        os.environ.clear()
        os.environ.update(self.environment)
        os.chdir(self.folder)
        seterr, errors = self.numpy_errors
        seterr(**errors)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.seed(0)

    def seed(self, entropy: int) -> None:
        """Also the generators that an answer may use unasked, so that the same seed gives the same grades."""
        self.random.seed(entropy)
        self.numpy_random.seed(entropy % 2**32)

    def make_rng(self, entropy: int) -> None:
        self.seed(entropy)
        self.shell.user_ns["rng"] = self.default_rng(entropy)


def refill(items: Any, content: Any) -> None:
    items.clear()
    if isinstance(items, list):
        items += content
    else:
        items.update(content)


def tasks() -> int:
    """Threads of this process and its children: what would outlive an exercise."""
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:
        return threading.active_count()
    children = 0
    for thread in threads:
        with (
            contextlib.suppress(OSError),
            open(f"/proc/self/task/{thread}/children", encoding="utf-8") as file,
        ):
            children += len(file.read().split())
    return len(threads) + children


def put_back(thing: Any, attributes: dict[str, Any]) -> None:
    """Give a module, class or object the attributes it had (of an object, its functions alone).

    New ones go, but not those of modules: importing a submodule adds one, and does so once.
    """
    now = vars(thing)
    whole = isinstance(thing, (type, ModuleType))
    for name, value in attributes.items():
        if now.get(name, attributes) is not value and (whole or callable(value)):
            setattr(thing, name, value)
    keeps_new = isinstance(thing, ModuleType) and thing.__name__ != "builtins"
    for name in [name for name in now if name not in attributes and not keeps_new]:
        if whole or callable(now[name]):
            delattr(thing, name)


if __name__ == "__main__":
    main()
