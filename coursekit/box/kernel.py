"""The kernel that runs a notebook for the grader: an IPython kernel on two sockets that it inherits.

This one file is started inside the box; of the course it imports `coursekit.box` alone. It sets the limits,
then serves. Requests that come with the code, or alone, let the grader start each exercise from the same
state: `mark` remembers the state after the set-up cells, `restore` brings it back, `answer` gives the answer
a namespace of its own, `test` runs one hidden test beside it.

An answer runs in one process with its hidden tests. It sees the names of the set-up and its own; those of the
tests are in a namespace that no object leads to, what they show is signed, and who looks for either finds
what is harmless (`coursekit.box.seal`). What an answer changed is taken back before each test. Who reads
memory by its address can show what it likes in a test's place: in vain where it has to be worked out, since
values are compared elsewhere.
"""

from __future__ import annotations

import _posixsubprocess
import asyncio
import builtins
import contextlib
import gc
import json
import os
import re
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache
from hashlib import blake2b
from types import FunctionType, ModuleType
from typing import Any

globals()["__builtins__"] = dict(vars(builtins))  # no answer changes what is called here

SCAN: Any = vars(json.JSONDecoder())["scan_once"]  # in C, made before any answer
LIMITS = {"AS", "CPU", "NPROC", "FSIZE", "NOFILE", "CORE", "MEMLOCK", "MSGQUEUE"}
CHANGEABLE = re.compile(  # modules that answers may patch, beside those of Python's own library
    r"(coursekit|warplens|minilib|numpy)(\..*)?"
    r"|IPython\.(display|core\.display(_functions|hook|pub)?)|ipykernel\.(displayhook|zmqshell)",
).fullmatch
OF_THE_LOOP = re.compile(r"(asyncio|concurrent|selectors|logging|tempfile|multiprocessing)(\..*)?").fullmatch
OF_TESTS = "coursekit.box"
STANDARD = os.path.dirname(os.__file__)  # where Python's own library is
COPIED = ("", "random", "linalg", "fft", "testing")  # parts of NumPy of which hidden tests have their own
MOST_TOLD = 4000  # characters of an error's message
REQUESTS = ("restore", "answer", "test")
CLASS: Any = vars(object)["__class__"]
MODULES: set[type] = set()  # classes that modules have before any answer
LATE = "numpy.testing", "sklearn"  # what an answer may be the first to import
OF_THE_COURSE = ("warplens", "minilib")
TO_BE_GROWN = ("__main__", "minilib")  # an answer may go on where these stop, as in `@add_to(Tensor)`
NOT_TAKEN_BACK = ("sys.addaudithook", "ctypes.")  # events after which a process is not what it was
WATCHES: tuple[Any, ...] = (
    (sys.gettrace, sys.settrace),
    (sys.getprofile, sys.setprofile),
    (threading.gettrace, threading.settrace),
    (threading.getprofile, threading.setprofile),
)


def main() -> None:
    settings = json.loads(sys.argv[1])
    sys.argv[1:] = []
    os.environ["COURSEKIT_BOX"] = "1"  # what coursekit.box.check starts in a reader's kernel is not for here
    limit(settings["limits"])
    sys.path[:0] = settings["path"]
    if settings["sealed"]:
        from coursekit.box import seal

        seal.ask_frames()
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

    zmq.COPY_THRESHOLD = 2**30  # bytes; a longer message would start a thread, which outlives the exercise
    state: State | None = None  # known to no object that an answer can come by

    def prepare(request: str, *arguments: Any) -> None:
        nonlocal state
        if request == "mark" and state is None:
            state = State(app.shell, guard, settings["sealed"], *arguments)
        elif state and request in REQUESTS:
            getattr(state, request)(*arguments)

    def set_up(code: str) -> str:
        """Run a cell of plain Python, in which IPython would look for magics, slowly; what is left to run."""
        shell: Any = app.shell
        try:
            compiled = shell.compile(code, shell.compile.cache(code), "exec")
        except SyntaxError:
            return code
        exec(compiled, shell.user_ns)
        return ""

    class Shell(ZMQInteractiveShell):
        def ask_exit(self) -> None:
            os._exit(0)  # quit() ends the kernel now, not at some time during the next cells

    class Kernel(IPythonKernel):
        shell_class = Shell

        async def do_execute(
            self,
            code: str,
            silent: bool,
            store_history: bool = True,
            user_expressions: dict[str, Any] | None = None,
            allow_stdin: bool = False,
            **options: Any,
        ) -> Any:
            request = (user_expressions or {}).pop("coursekit", None)  # the shell keeps the message
            try:
                if request == ["set up"] and state is None:
                    code = set_up(code)
                elif request:
                    prepare(*request)
            except Exception as error:
                return refusal(error)
            if not code:
                return {"status": "ok", "execution_count": 0, "user_expressions": {}, "payload": []}
            try:
                return await super().do_execute(  # type: ignore[no-untyped-call]
                    code, silent, store_history, {}, allow_stdin, **options
                )
            finally:
                if state:
                    state.keep_the_shell()

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
    guard = Guard()
    app = App.instance(kernel_class=Kernel, transport="ipc", default_extensions=[], log_level=50)
    for name, value in options.items():
        owner, _, field = name.partition(".")
        app.config[owner][field] = value
    app.initialize([])  # type: ignore[no-untyped-call]
    app.start()  # type: ignore[no-untyped-call]


def refusal(error: Exception) -> dict[str, Any]:
    """The reply to a request that failed."""
    told = {"ename": type(error).__name__, "evalue": str(error), "traceback": []}
    return {"status": "error", "execution_count": 0, **told}


class Guard:
    """Refuses audit hooks and, once there is a seal, what it refuses.

    It remembers that something happened which cannot be taken back.
    """

    def __init__(self) -> None:
        self.alarm = ""
        self.refuses: Callable[[str, tuple[Any, ...]], bool] | None = None
        self.refusal = ""
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.refuses and self.refuses(event, arguments):
            raise PermissionError(self.refusal.format(event))
        if event.startswith(NOT_TAKEN_BACK):
            self.alarm = event
            if event == "sys.addaudithook":
                raise RuntimeError("no other hook here")  # the answer that asks is not told


class State:
    """What the set-up cells left: names, classes, the parts of Python and IPython that cells can change."""

    def __init__(
        self, shell: Any, guard: Guard, sealed: bool, secret: str, hidden_set_up: Sequence[str] = ()
    ) -> None:
        import random

        import numpy

        from coursekit.box import probe, seal

        self.shell, self.guard = shell, guard
        self.unlock, self.signer, self.probe = seal.unlock, seal.signer, probe
        self.secret, self.number = bytes.fromhex(secret), 0
        self.flags = shell.compile.flags
        self.random = random
        self.numpy_random = numpy.random
        self.numpy, self.shared_numpy = own_copy(numpy, COPIED), numpy
        self.default_rng = numpy.random.default_rng
        self.main = shell.user_module
        self.hidden_set_up = hidden_set_up  # names that only hidden tests know
        self.names = dict(shell.user_ns)
        self.seen = {name for name, value in self.names.items() if not self.of_tests(name, value)}
        if sealed:  # no audit event tells of it
            refuse = refusing(seal.REFUSAL.format("fork_exec"))
            subprocess._fork_exec = _posixsubprocess.fork_exec = refuse  # type: ignore[attr-defined]
        self.modules = dict(sys.modules)
        MODULES.update(type(one) for one in (*self.modules.values(), *self.names.values()))
        self.saved = [(thing, dict(vars(thing))) for thing in self.things()]
        self.lists = [(items, copy(items)) for items in self.shell_lists()]
        self.contents = [(items, copy(items)) for items in self.containers()]
        self.handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
        shell = {id(one) for one in (json, *self.classes_of_the_shell(), *self.objects_of_the_shell())}
        self.of_the_shell = [one for one in self.saved if id(one[0]) in shell]
        self.kinds = [(thing, type(thing)) for thing in self.of_the_course()]
        self.about: Collection[str] = ()
        self.limits = (sys.getrecursionlimit(), sys.getswitchinterval())
        self.numpy_options = (numpy.seterr, numpy.geterr(), numpy.set_printoptions, numpy.get_printoptions())
        self.environment = dict(os.environ)
        self.folder = os.getcwd()
        self.tasks = tasks()
        self.answers: ModuleType | None = None
        self.testing = self.measured = False
        self.rebound: list[str] = []
        self.seed(0)
        if sealed:
            own = [vars(module) for name, module in self.modules.items() if name.startswith(f"{OF_TESTS}.")]
            self.guard.refusal = seal.REFUSAL
            self.guard.refuses = seal.sealed(
                [vars(self.main), globals(), *own],
                [one for one in globals().values() if isinstance(one, type)],
                [path for path in sys.path if path and path not in (STANDARD, f"{STANDARD}/lib-dynload")],
                lambda: vars(self.answers) if self.answers else {},
                lambda: self.probe.measuring,
            )
        self.guard.alarm = ""

    def of_tests(self, name: str, value: Any) -> bool:
        """Whether a name of the set-up is for hidden tests alone."""
        home = str(getattr(value, "__module__", "")) + "."
        of_tests = home.startswith(f"{OF_TESTS}.") and home != f"{OF_TESTS}.check."
        return name in self.hidden_set_up or of_tests

    def things(self) -> Iterator[Any]:
        """Modules and classes whose attributes an answer might replace."""
        seen: set[int] = set()
        own = sys.stdlib_module_names
        named = [
            module
            for name, module in self.modules.items()
            if CHANGEABLE(name) or (name.partition(".")[0] in own and not OF_THE_LOOP(name))
        ]
        classes = (*self.classes_of_the_shell(), *self.of_the_course())
        for thing in (*named, *classes, *self.names.values()):
            own_class = isinstance(thing, type) and thing.__module__ != "builtins"
            if (own_class or isinstance(thing, ModuleType)) and id(thing) not in seen:
                seen.add(id(thing))
                yield thing
        yield from self.objects_of_the_shell()

    def of_the_course(self) -> list[Any]:
        """What the library's modules hold that is made by it: its classes, and objects of such classes."""
        spaces = [vars(m) for name, m in self.modules.items() if name.startswith(OF_THE_COURSE)]
        held = [one for space in spaces for one in space.values()]
        return [
            one
            for one in held
            if str((one if isinstance(one, type) else type(one)).__module__).startswith(OF_THE_COURSE)
        ]

    def objects_of_the_shell(self) -> Sequence[Any]:
        shell = self.shell
        parts = (shell.display_pub, shell.displayhook, shell.compile, shell.kernel, shell.kernel.session)
        return shell, *parts

    def classes_of_the_shell(self) -> list[type]:
        return [one for part in self.objects_of_the_shell() for one in type(part).__mro__[:4]]

    def shell_lists(self) -> Iterator[Any]:
        manager = self.shell.input_transformer_manager
        yield self.shell.ast_transformers
        yield from (manager.cleanup_transforms, manager.line_transforms, manager.token_transformers)
        yield self.shell.input_transformers_post
        yield from self.shell.events.callbacks.values()
        yield self.shell.kernel.shell_handlers
        yield from (sys.path, sys.meta_path, sys.path_hooks, gc.callbacks)

    def containers(self) -> Iterator[Any]:
        """What the set-up cells and the library keep: registries, for example."""
        yield warnings.filters
        library = (vars(m) for name, m in self.modules.items() if name.startswith(OF_THE_COURSE))
        spaces = [self.names, *library]
        for space in spaces:
            for name, value in space.items():
                if (
                    type(value) in (list, dict, set)
                    and not name.startswith("_")
                    and name not in ("In", "Out")
                ):
                    yield value

    def asked(self, locked: str, what: str = "") -> str:
        """What the grader asks for, this time. Raises ValueError where it was somebody else."""
        told: str = self.unlock(self.secret, self.number + 1, locked)
        if what and told != what:
            raise ValueError("no request of the grader")
        self.number += 1
        return told

    def restore(self, locked: str) -> None:
        """Bring back the state after the set-up cells, for another exercise."""
        self.asked(locked, "restore")
        if tasks() > self.tasks:
            raise RuntimeError("an answer left threads, processes or tasks behind")
        if self.guard.alarm:
            raise RuntimeError(f"an answer did what cannot be taken back: {self.guard.alarm}")
        self.take_back()
        for items, content in self.contents:
            refill(items, content)
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):  # they hold on to what failed
            sys.__dict__.pop(name, None)
        sys.modules.update(self.modules)
        os.environ.clear()
        os.environ.update(self.environment)
        os.chdir(self.folder)
        seterr, errors, set_options, options = self.numpy_options
        seterr(**errors)
        set_options(**options)
        sys.setrecursionlimit(self.limits[0])
        sys.setswitchinterval(self.limits[1])
        self.answers, self.rebound, self.testing = None, [], False
        self.back_to_set_up()
        self.enter(self.main)
        self.seed(0)

    def answer(self, locked: str, measured: bool = False) -> None:
        """Let what follows, helpers and answer, run in a namespace of their own.

        It begins with the names of the set-up, whose own functions keep theirs. What it lacks is looked up
        there at each use, as Python's names are: a hidden test may rebind what an answer calls. Where its
        memory is `measured`, what it makes here is counted.
        """
        self.asked(locked, "answer")
        self.measured = measured
        self.answers = ModuleType("__main__")
        self.begun = {name: self.names[name] for name in self.seen if name != "rng"}
        vars(self.answers).update({**self.begun, "__builtins__": below(vars(self.main), self.seen)})
        self.enter(self.answers)
        self.hide()
        self.pools: int | None = 0
        if measured:
            self.files = self.probe.open_files()
            self.had_beside = self.probe.watch_pools()

    def test(self, locked: str) -> None:
        """Run a hidden test, with what it needs to know, that only the grader can have sent.

        What it shows is signed; at its end that it has ended, and by which error.
        """
        request = SCAN(self.asked(locked), 0)[0]
        self.hidden(*request["about"])
        self.probe.mark = self.signer(self.secret, self.number)
        told = None
        try:
            exec(compile(request["code"], "hidden test", "exec", self.flags, True), vars(self.main))
        except BaseException as error:
            told = [type(error).__name__, str(error)[:MOST_TOLD]]
        self.probe.publish({"end": True, "error": told}, "")
        self.probe.mark = None
        self.take_back(self.may_be_grown())

    def hidden(self, entropy: int, about: Sequence[str] = (), binds: Sequence[str] = ()) -> None:
        """Prepare for a hidden test, which finds the names of the set-up as they were.

        Of the answer's it finds those that the set-up has not, and those that the exercise is `about`.
        `binds` are the names that the test binds. It runs where no answer finds its names.
        """
        self.about = about
        self.take_back(self.may_be_grown())
        tests = vars(self.main)
        for name in self.rebound:  # by a test before this one, which an error kept from putting it back
            if name in self.names and self.testing:
                tests[name] = self.names[name]
        self.rebound = [name for name in binds if name not in about]
        if self.answers:
            space = vars(self.answers)
            plain = {name: value for name, value in space.items() if type(name) is str}  # others may compare
            own = {name: value for name, value in plain.items() if self.begun.get(name, space) is not value}
            for name in binds:
                if name not in own:
                    space.pop(name, None)  # from now on it is looked up
                space["__builtins__"].pop(name, None)
            if not self.testing:  # the first hidden test
                if self.measured:
                    self.pools = self.probe.counted_pools(self.had_beside)
                self.back_to_set_up()
                taken = self.names.keys() | vars(builtins).keys()
                tests.update({name: own[name] for name in own if name in about or name not in taken})
                tests["__builtins__"] = {**vars(builtins), "__import__": self.imported}
                self.testing = True
        self.probe.pools = self.pools
        self.probe.files = self.files if self.measured else None
        self.hide()
        self.seed(entropy)
        tests["rng"] = self.default_rng(entropy)

    def hide(self) -> None:
        """Let no answer find the modules that are for tests."""
        for name in [name for name in sys.modules if name.startswith(f"{OF_TESTS}.")]:
            forget(name)
        for name in (name for name in self.modules if name.startswith(f"{OF_TESTS}.")):
            vars(sys.modules[OF_TESTS]).pop(name.rpartition(".")[2], None)

    def imported(self, name: str, *how: Any) -> Any:
        """`import` in hidden tests, which find what is hidden from answers."""
        if name not in self.modules or not name.startswith(f"{OF_TESTS}."):
            return __import__(name, *how)
        return self.modules[name]  # never in sys.modules, as hidden tests write `from ... import ...`

    def may_be_grown(self) -> dict[int, bool]:
        """Modules and classes of the course to which an answer may add something for its own tests.

        What the exercise is about it may change as well.
        """
        unseen = {id(self.names[name]) for name in self.hidden_set_up if name in self.names}
        unseen |= set(map(id, self.classes_of_the_shell()))
        about = {id(self.names[name]) for name in self.about if name in self.seen}
        found = {}
        for thing, _ in self.saved:
            home = getattr(thing, "__name__" if isinstance(thing, ModuleType) else "__module__", None)
            if str(home).startswith(TO_BE_GROWN) and id(thing) not in unseen:
                found[id(thing)] = id(thing) in about
        return found

    def take_back(self, grown: Mapping[int, bool] | None = None) -> None:
        """Undo what was done to modules and classes, to the shell, and what watches and rings.

        Those `grown` keep what is new there, and where it says True what is changed.
        """
        grown = grown or {}
        stop_watching()
        gc.set_debug(0)
        gc.garbage.clear()
        for name in LATE:
            if name not in self.modules:
                forget(name)
        for thing, kind in self.kinds:
            if type(thing) is not kind:
                CLASS.__set__(thing, kind)
        for thing, attributes in self.saved:
            if not grown.get(id(thing)):
                put_back(thing, attributes, id(thing) in grown)
        for items, content in self.lists:
            refill(items, content)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self.handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)

    def keep_the_shell(self) -> None:
        """Undo what was done to the shell, so that it does with the next cell what it should."""
        for thing, attributes in self.of_the_shell:
            put_back(thing, attributes)
        for items, content in self.lists:
            refill(items, content)

    def back_to_set_up(self) -> None:
        names = vars(self.main)
        names.clear()
        names.update(self.names)
        names.update({name: self.numpy for name, value in self.names.items() if value is self.shared_numpy})

    def enter(self, module: ModuleType) -> None:
        """Let cells run in the namespace of `module`."""
        self.shell.user_module, self.shell.user_ns = module, vars(module)
        self.shell.ns_table.update(user_global=vars(module), user_local=vars(module))
        self.shell.set_completer_frame()
        sys.modules["__main__"] = module

    def seed(self, entropy: int) -> None:
        """Also the generators that an answer may use unasked, so that the same seed gives the same grades.

        By a number that says nothing about the other.
        """
        told = int.from_bytes(blake2b(str(entropy).encode()).digest()[:4])
        self.random.seed(told)
        self.numpy_random.seed(told)


def below(tests: dict[str, Any], seen: Collection[str]) -> dict[str, Any]:
    """What an answer's names are looked up in where it has none: Python's, and those `tests` that are `seen`.

    Take a name away, and it is looked up among the tests' at each use.
    """
    python = dict(vars(builtins))

    @lru_cache(maxsize=0)  # what it is made of, nobody can ask
    def missing(self: Any, name: str) -> Any:
        if type(name) is str and (name in seen or name in python):
            return tests[name] if name in tests else python[name]
        raise KeyError(name)

    del missing.__wrapped__
    made: dict[str, Any] = type("Names", (dict,), {"__missing__": missing})(python)
    for name in seen:
        made.pop(name, None)
    return made


def own_copy(module: ModuleType, parts: Sequence[str]) -> ModuleType:
    """A module with the same attributes, and such of its `parts`: it stays when those are changed."""
    copied = ModuleType(module.__name__)
    vars(copied).update(vars(module))
    for name in parts:
        if isinstance(part := vars(module).get(name), ModuleType):
            setattr(copied, name, own_copy(part, ()))
    return copied


def stop_watching() -> None:
    """End what an answer had called at each line or call."""
    for present, put in WATCHES:
        if present() is not None:
            put(None)
    monitoring = getattr(sys, "monitoring", None)  # Python 3.12 and newer
    if monitoring:
        for tool in range(6):
            if monitoring.get_tool(tool) is not None:
                monitoring.set_events(tool, 0)
                for event in range(32):
                    with contextlib.suppress(ValueError):
                        monitoring.register_callback(tool, 1 << event, None)
                monitoring.free_tool_id(tool)


def forget(package: str) -> None:
    """Let the next import of `package` begin anew, with its parts: nobody knows what was done to them."""
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
        del sys.modules[name]
    above, _, part = package.rpartition(".")
    if above in sys.modules:
        vars(sys.modules[above]).pop(part, None)


def refill(items: Any, content: Any) -> None:
    items.clear()
    if isinstance(items, list):
        items += content
    else:
        items.update(content)


def tasks() -> int:
    """Threads, children, tasks of the event loop: what would outlive an exercise."""
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:
        return threading.active_count() + len(asyncio.all_tasks())
    children = 0
    for thread in threads:
        with (
            contextlib.suppress(OSError),
            open(f"/proc/self/task/{thread}/children", encoding="utf-8") as file,
        ):
            children += len(file.read().split())
    return len(threads) + children + len(asyncio.all_tasks())


def refusing(told: str) -> Any:
    """A function that nobody may call."""

    def refuse(*_: Any) -> None:
        raise PermissionError(told)

    return refuse


def put_back(thing: Any, attributes: dict[str, Any], grown: bool = False) -> None:
    """Give a module, class or object the attributes it had (of an object, its functions alone).

    New ones go, but not those of modules: importing a submodule adds one, and does so once. A class that has
    `grown` keeps methods that take the place of nothing.
    """
    whole = isinstance(thing, (type, ModuleType))
    if isinstance(thing, ModuleType) and type(thing) not in MODULES:
        object.__setattr__(thing, "__class__", ModuleType)
    now = vars(thing)
    for name, value in attributes.items():
        if now.get(name, attributes) is not value and (whole or callable(value)):
            setattr(thing, name, value)
    keeps_new = isinstance(thing, ModuleType) and thing.__name__ != "builtins"
    above = [vars(one) for one in thing.__mro__[1:]] if grown and isinstance(thing, type) else []
    for name in [name for name in now if name not in attributes and not keeps_new]:
        method = isinstance(now[name], FunctionType) and not name.startswith("__")  # attributes go before it
        if above and method and not any(name in names for names in above):
            continue
        if whole or callable(now[name]):
            delattr(thing, name)


if __name__ == "__main__":
    main()
