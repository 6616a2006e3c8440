"""The box in which a student's kernel runs.

What the box guarantees, where the kernel of the operating system keeps its word:

- no network: an own network namespace with nothing in it, not even the host's abstract Unix sockets;
- no process of the host is visible, and none of the box survives it: an own process namespace, killed as one;
- an unprivileged user in an own user namespace, without capabilities; a grader that is root becomes `nobody`;
- a file system of its own: Python's standard library, the packages on a list (`PACKAGES` and what they
  require), `coursekit.box`, and the modules of `minilib` that the notebook names, all read-only, no bytecode
  but theirs. Not there: the checkout, solutions, submissions, the grader's files, `.pth` files, others;
- nothing is writable but three small file systems in memory (home, /tmp, /dev/shm), gone with the box;
- two inherited sockets are the only way out; the grader reads bounded messages from them and trusts none;
- limits on address space, CPU time, processes (counted inside the box), file size and open files; the grader
  also watches the memory of all processes, files and sockets of the box together, the amount of output, and
  the clock, between its requests too;
- a session keyring of its own, and a filter of system calls (`coursekit.grading.syscalls`): none for keys,
  other processes, namespaces, file systems, or for memory that belongs to no process.

What it does not: a hole in the Linux kernel is a hole in the box. The watch looks some times a second, and a
box may hold more in between. Boxes share the machine's cores: one can slow others down.
The text of a hidden test is visible to the answer that it tests, its values are not; one line (the message
of an error) comes back.
"""

from __future__ import annotations

import ast
import compileall
import contextlib
import functools
import gzip
import importlib.metadata
import itertools
import json
import os
import platform
import py_compile
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import warplens
from coursekit.errors import CourseError
from coursekit.grading import syscalls

PACKAGES = (
    "ipykernel",
    "numpy",
    "matplotlib",
    "graphviz",
    "pygraphviz",
    "safetensors",
    "threadpoolctl",
    "tqdm",
    "regex",
)
# Of scikit-learn a box has its digits alone, by the writers that an answer may see: the rest of the library,
# and SciPy behind it, would do half of the exercises.
DIGITS = """
from types import SimpleNamespace

import numpy as np


def load_digits():
    images, target = {images}, {target}
    images = np.frombuffer(bytes.fromhex(images), np.uint8).reshape(-1, 8, 8)
    return SimpleNamespace(images=images.astype(float), target=np.array([*map(int, target)]))
"""
WRITERS = 1415  # digits by those of them
NOT_NEEDED = {"debugpy", "jedi", "parso"}  # a debugger and completion: they only make the start slow

MEGABYTE = 2**20
MEMORY = 2048 * MEGABYTE  # of all processes in a box together
LIMITS = {
    "AS": 2 * MEMORY,  # of one process, the part included that it never touches
    "CPU": 900,
    "NPROC": 64,
    "FSIZE": 64 * MEGABYTE,
    "NOFILE": 256,
    "CORE": 0,
    "MEMLOCK": MEGABYTE,
    "MSGQUEUE": MEGABYTE,
}
TMPFS = 64 * MEGABYTE
INODE = 1024  # bytes that a file takes in the Linux kernel, its name included
SOCKET = 212_992  # bytes that wait in a socket at most, where its size cannot be set
TCP_SOCKET = 5 * MEGABYTE  # a pair of them has 4 MB to send and 6 MB to read
NOBODY = "65534"

HOME = "/home/student"
SITE = "/box/site"
LIBRARY = "/box/library"
KERNEL = "/box/kernel.py"
KERNEL_SOURCE = Path(__file__).parents[1] / "box" / "kernel.py"
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "MINILIB_CUDA": "simulate",
    "WARPLENS": "simulate",  # kernels in CUDA C are graded without minilib
    "MPLBACKEND": "agg",
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
BOX_ENVIRONMENT = {
    "HOME": HOME,
    "TMPDIR": "/tmp",
    "IPYTHONDIR": f"{HOME}/.ipython",
    "MPLCONFIGDIR": f"{HOME}/.matplotlib",
    "JUPYTER_PLATFORM_DIRS": "1",
}
HINT = (
    "install bubblewrap (Debian, Ubuntu: `apt install bubblewrap`; Fedora: `dnf install bubblewrap`), "
    "or pass `--sandbox off` for notebooks that you trust"
)


@dataclass(frozen=True)
class Launch:
    """How kernels of one run are started: plain data, made once, handed to the processes that start them."""

    wrapper: tuple[str, ...]  # the command of the box; () without one
    python: tuple[str, ...]
    path: tuple[str, ...]
    environment: dict[str, str]
    limits: dict[str, int] = field(default_factory=dict)
    door: tuple[str, str] = ("", "")  # the folder of libraries, and where bubblewrap finds it
    sealed: bool = True

    def spawn(self, library: Path, cwd: Path, shell: int, iopub: int, key: str) -> subprocess.Popen[bytes]:
        """Start a kernel on two listening Unix sockets, with `library` (see `make_library`) on its path."""
        path = [LIBRARY if self.wrapper else str(library), *self.path]
        settings: dict[str, Any] = {"shell": shell, "iopub": iopub, "key": key, "path": path}
        settings |= {"limits": self.limits, "sealed": self.sealed}
        orphaned = {} if self.wrapper else {"JPY_PARENT_PID": str(os.getpid())}  # then it ends by itself
        folder, door = self.door
        placeholder, source = f"{door}/{ANY}", str(library).replace(folder, door, 1)
        wrapper = [source if part == placeholder else part for part in self.wrapper]
        if wrapper:
            syscalls.join_new_keyring()  # the box's alone: the next one gets another
        with filtered(wrapper) as (command, handles):
            return subprocess.Popen(
                [*command, *self.python, json.dumps(settings)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(shell, iopub, *handles),
                start_new_session=True,
                env=self.environment | orphaned,
                cwd=cwd,
            )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Launch:
        return Launch(
            tuple(data["wrapper"]),
            tuple(data["python"]),
            tuple(data["path"]),
            data["environment"],
            data["limits"],
            tuple(data["door"]),
            data["sealed"],
        )


@contextlib.contextmanager
def filtered(command: Sequence[str]) -> Iterator[tuple[list[str], list[int]]]:
    """`command` with its `FILTER` filled in, and the open files that it then needs."""
    if FILTER not in command:
        yield list(command), []
        return
    reading, writing = os.pipe()
    try:
        os.write(writing, syscalls.seccomp_filter(platform.machine()))
    finally:
        os.close(writing)
    try:
        yield [str(reading) if part == FILTER else part for part in command], [reading]
    finally:
        os.close(reading)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a kernel and, in a box, everything that it ever started."""
    stop(process)
    process.wait()


def stop(process: subprocess.Popen[bytes]) -> None:
    """As `kill`, and leave it to others to wait for its end.

    The end of the first process of a namespace ends all others there, and bubblewrap takes note and follows.
    """
    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
        for pid in family(process.pid):
            if is_first(pid):
                os.kill(pid, signal.SIGKILL)
                process.wait(2)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def memory(process: subprocess.Popen[bytes], boxed: bool = True) -> int:
    """Bytes that `process` and all below it hold; 0 where the system has no /proc.

    In a box, also what they keep in files and sockets, of which no process is told. Shared memory without a
    file, pipes of more than a few pages and memory of other kinds are refused by the filter of system calls.
    """
    pids = [*family(process.pid)]
    first = next(filter(is_first, pids), None) if boxed else None
    return sum(map(resident, pids)) + (beside_processes(first) if first else 0)


def beside_processes(first: int) -> int:
    """Bytes in the files and, at most, in the sockets of a box whose first process is `first`."""
    held = 0
    with contextlib.suppress(OSError, ValueError):
        for folder in ("/tmp", "/dev/shm", HOME):
            system = os.statvfs(f"/proc/{first}/root{folder}")
            if system.f_blocks * system.f_frsize != TMPFS:
                continue  # the machine's: the box is not yet made
            held += (system.f_blocks - system.f_bfree) * system.f_frsize
            held += (system.f_files - system.f_ffree) * INODE
        text = Path(f"/proc/{first}/net/sockstat").read_text(encoding="utf-8")
        of_all, tcp = re.search(r"sockets: used (\d+)", text), re.search(r"TCP: inuse (\d+)", text)
        held += int(of_all[1]) * SOCKET if of_all else 0
        held += int(tcp[1]) * TCP_SOCKET if tcp else 0
    return held


def resident(pid: int | str) -> int:
    """Bytes of anonymous and shared memory that a process holds; 0 where it is gone."""
    with contextlib.suppress(OSError, ValueError):
        fields = re.findall(
            r"^Rss(?:Anon|Shmem):\s*(\d+) kB$", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"), re.M
        )
        return 1024 * sum(map(int, fields))
    return 0


def family(pid: int) -> Iterator[int]:
    """The process `pid` and all below it, parents first, as the host numbers them."""
    waiting = [pid]
    while waiting:
        pid = waiting.pop()
        yield pid
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                waiting += [int(child) for child in (thread / "children").read_text(encoding="utf-8").split()]


def is_first(pid: int) -> bool:
    """Whether `pid` is the first process of a namespace, so that all others there end with it."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("NSpid:"):
                return len(line.split()) > 2 and line.split()[-1] == "1"
    return False


@dataclass(frozen=True)
class Box:
    """Whether kernels are locked in. Make one with `Box.required()` or `Box.off()`."""

    bubblewrap: str | None = None
    root: bool = False  # the grader is root, and must not stay so
    closes_namespaces: bool = True  # bubblewrap 0.8 and newer
    filters: bool = True  # system calls, by seccomp
    sealed: bool = True  # answers, by `coursekit.box.seal`; what the walls keep is tested without

    @staticmethod
    def required() -> Box:
        """The box, tried once; CourseError with the install hint where it does not work."""
        bubblewrap = shutil.which("bwrap")
        if bubblewrap is None:
            raise CourseError(f"the sandbox needs bubblewrap 0.7 or newer, which is not installed; {HINT}")
        usage = subprocess.run([bubblewrap, "--help"], capture_output=True, encoding="utf-8").stdout
        box = Box(bubblewrap, is_root(), "--disable-userns" in usage, syscalls.supported())
        reason = box.trial()
        if reason and box.filters:
            box = replace(box, filters=False)
            reason = box.trial()
        if reason:
            raise CourseError(f"bubblewrap is installed but does not work here ({reason}); {HINT}")
        if not box.filters:
            say_once("the sandbox works without its filter of system calls, which this machine does not have")
        return box

    def trial(self) -> str:
        """What is wrong with this box, "" where it works."""
        layout = Layout(Path("/usr"), [(str(KERNEL_SOURCE), KERNEL)], self.root)
        with filtered([*self.wrapper(layout), "/usr/bin/test", "-e", KERNEL]) as (command, handles):
            done = subprocess.run(
                command, capture_output=True, encoding="utf-8", env=PLAIN, pass_fds=tuple(handles)
            )
        if not done.returncode:
            return ""
        return " ".join(done.stderr.split())[-200:] or f"exit code {done.returncode}"

    @staticmethod
    def off() -> Box:
        """No box: plain kernels, for notebooks that one trusts."""
        return Box()

    def prepare(self, folder: Path, hide: Sequence[Path] = ()) -> Launch:
        """What starts kernels; `folder` is private, its folder `library` is for libraries."""
        if self.bubblewrap is None:
            own = folder / "own"  # a kernel that is killed leaves its temporary files there
            own.mkdir()
            environment = {**os.environ, **ENVIRONMENT, "IPYTHONDIR": str(own), "TMPDIR": str(own)}
            python = (sys.executable, "-P", str(KERNEL_SOURCE))
            return Launch((), python, (), environment, sealed=self.sealed)
        copies = folder / "box"
        copies.mkdir()
        shutil.copyfile(KERNEL_SOURCE, copies / "kernel.py")
        libraries = folder / "library"
        binds = [
            *package_binds(copies),
            (str(copies / "kernel.py"), KERNEL),
            (str(libraries / ANY), LIBRARY),
        ]
        open_to_all(copies)
        libraries.chmod(0o755)
        layout = Layout(Path(sys.base_prefix).resolve(), binds, self.root, [*hide, folder])
        return Launch(
            tuple(self.wrapper(layout)),
            (os.path.realpath(sys.executable), "-P", "-s", "-S", KERNEL),
            (f"{SITE}/modules", f"{SITE}/packages"),
            PLAIN,
            LIMITS,
            (str(libraries), layout.source(str(libraries))),
            self.sealed,
        )

    def wrapper(self, layout: Layout) -> Iterator[str]:
        """The command line up to the interpreter."""
        assert self.bubblewrap is not None
        if self.root:
            yield from (
                "unshare",
                "--mount",
                "--propagation",
                "private",
                "sh",
                "-c",
                layout.open_doors(),
                "sh",
            )
            yield from ("setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups")
            yield from ("--inh-caps=-all", "--bounding-set=-all", "--no-new-privs")
        yield from (self.bubblewrap, *UNSHARE)
        if self.closes_namespaces:
            yield "--disable-userns"
        yield from layout.arguments()
        yield from (
            "--proc",
            "/proc",
            *UNSEEN,
            *MEMORY_FOLDERS,
            "--remount-ro",
            "/",
            "--chdir",
            HOME,
            "--clearenv",
        )
        libraries = {"LD_LIBRARY_PATH": f"{layout.prefix}/lib"}  # some builds of Python need it
        for name, value in {**ENVIRONMENT, **BOX_ENVIRONMENT, **libraries}.items():
            yield from ("--setenv", name, value)
        if self.filters:
            yield from ("--seccomp", FILTER)
        yield "--"


FILTER = "any-filter"  # stands in a command line for the open file with the filter
ANY = "any-library"  # stands in a command line for the library of one notebook
PLAIN = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
UNSHARE = ("--unshare-all", "--unshare-user", "--die-with-parent", "--hostname", "box", "--cap-drop", "ALL")
SMALL = ("--size", str(TMPFS), "--tmpfs")
MEMORY_FOLDERS = (
    *("--dev", "/dev", "--ro-bind", "/dev/null", "/dev/zero", *SMALL, "/dev/shm", "--remount-ro", "/dev"),
    *(*SMALL, "/tmp", *SMALL, HOME),
)
UNSEEN = tuple(part for name in ("keys", "key-users") for part in ("--ro-bind", "/dev/null", f"/proc/{name}"))


FOLDERS = ("/etc", "/tmp", "/home", HOME, "/box", SITE, f"{SITE}/packages")
DOORS = "/mnt"


@functools.cache
def say_once(line: str) -> None:
    print(f"note: {line}", file=sys.stderr)


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


class Layout:
    """What is visible in a box: the system and the interpreter at `prefix`, without any package, and `binds`.

    `nobody` makes the mounts, and cannot reach into folders that are closed to others, such as /root. So
    where the grader is root, it first opens a door to each below /mnt, in a mount namespace of the box alone.
    """

    def __init__(
        self, prefix: Path, binds: Sequence[tuple[str, str]], root: bool, hide: Sequence[Path] = ()
    ) -> None:
        self.prefix, self.binds = prefix, binds
        self.roots = [Path("/usr"), *([] if prefix.is_relative_to("/usr") else [prefix])]
        self.hidden = sorted({*packages_of([*self.roots, prefix]), *hidden_below(self.roots, hide)})
        self.doors: dict[str, str] = {}
        if root:
            behind = {*map(str, self.roots[1:]), *(os.path.dirname(source) for source, _ in binds)}
            self.doors = {folder: f"{DOORS}/{place}" for place, folder in enumerate(sorted(behind))}

    def open_doors(self) -> str:
        """What root runs in a shell, in a mount namespace of its own, before it runs the rest as `nobody`."""
        lines = [f"mount -t tmpfs -o mode=755,size=64k doors {DOORS}"]
        for folder, door in self.doors.items():
            lines += [f"mkdir {door}", f"mount --rbind {shlex.quote(folder)} {door}"]
        return " && ".join([*lines, 'exec "$@"'])

    def source(self, path: str) -> str:
        """`path` as bubblewrap reaches it."""
        for folder in (path, os.path.dirname(path)):
            if folder in self.doors:
                return self.doors[folder] + path.removeprefix(folder)
        return path

    def arguments(self) -> Iterator[str]:
        parents = {parent for root in self.roots for parent in root.parents} - {Path("/")}
        for folder in (*sorted(map(str, parents)), *FOLDERS):
            yield from ("--perms", "0755", "--dir", folder)
        for root in self.roots:
            yield from ("--ro-bind", self.source(str(root)), str(root))
        for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
            if os.path.islink(name):
                yield from ("--symlink", os.readlink(name), name)
            elif os.path.isdir(name):
                yield from ("--ro-bind", name, name)
        for name in ("/etc/ld.so.cache", "/etc/fonts", "/etc/alternatives", "/etc/localtime"):
            yield from ("--ro-bind-try", name, name)
        for hidden in map(str, self.hidden):
            yield from ("--size", "4096", "--tmpfs", hidden, "--remount-ro", hidden)
        for source, target in self.binds:
            yield from ("--ro-bind", self.source(source), target)


def packages_of(roots: Sequence[Path]) -> Iterator[Path]:
    """Folders below `roots` where some Python keeps packages, or conda its caches and other environments."""
    for root in roots:
        for top in (root, root / "local"):
            yield from (path for path in top.glob("lib*/python3*/*-packages") if path.is_dir())
            yield from (path for name in ("pkgs", "envs", "conda-meta") if (path := top / name).is_dir())
        yield from (path for name in ("src", "local/src") if (path := root / name).is_dir())


def hidden_below(roots: Sequence[Path], hide: Sequence[Path]) -> Iterator[Path]:
    for path in (path.resolve() for path in hide):
        if path.is_dir() and any(path.is_relative_to(root) for root in roots):
            yield path


def package_binds(folder: Path) -> Iterator[tuple[str, str]]:
    """The packages on the list: folders as they are, single files as copies with bytecode (faster)."""
    modules = folder / "modules"
    modules.mkdir()
    for name, path in sorted(installed_parts().items()):
        if path.is_dir():
            yield str(path), f"{SITE}/packages/{name}"
        elif path.is_file():
            shutil.copyfile(path, modules / name)
            if path.suffix == ".py":
                py_compile.compile(
                    str(modules / name), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
                )
    (modules / "sklearn").mkdir()
    (modules / "sklearn" / "__init__.py").touch()
    (modules / "sklearn" / "datasets.py").write_text(digits(), encoding="utf-8")
    yield str(modules), f"{SITE}/modules"


@functools.cache
def digits() -> str:
    """What a box has of `sklearn.datasets`."""
    try:
        file = importlib.metadata.distribution("scikit-learn").locate_file(
            "sklearn/datasets/data/digits.csv.gz"
        )
        with gzip.open(str(file), "rt", encoding="ascii") as lines:
            rows = [bytes(map(int, line.split(","))) for line in itertools.islice(lines, WRITERS)]
    except (importlib.metadata.PackageNotFoundError, OSError):
        rows = []
    target = "".join(str(row[-1]) for row in rows)
    return DIGITS.format(images=repr(b"".join(row[:-1] for row in rows).hex()), target=repr(target))


@functools.cache
def installed_parts() -> dict[str, Path]:
    """Top-level files and folders of the packages on the list, by name. Never `.pth` files."""
    parts: dict[str, Path] = {}
    for distribution in closure(PACKAGES):
        for file in distribution.files or ():
            name = file.parts[0]
            if name not in ("..", "__pycache__") and not name.endswith((".pth", ".dist-info", ".egg-info")):
                parts[name] = Path(str(distribution.locate_file(name)))
    return parts


def closure(names: Iterable[str]) -> Iterator[importlib.metadata.Distribution]:
    """The installed distributions `names` and all that they require, extras left out."""
    seen: set[str] = set(NOT_NEEDED)
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        yield distribution
        for requirement in distribution.requires or ():
            found = re.match(r"[A-Za-z0-9._-]+", requirement)
            if found and "extra ==" not in requirement:
                waiting.append(found[0])


OPENING = ".__init__"  # ends the name of a package of which a library has nothing else


def make_library(folder: Path, course_library: Path, modules: Sequence[str]) -> Path:
    """Write the packages of the course that one notebook may import into `folder`; return it.

    `coursekit` is `add_to` and the package `box`; `minilib` is `modules` and what these import of it; of
    `tensor.__init__` that file alone, with those of its imports that the other modules can serve; of
    `graph.nodes` that file of the package, what it imports, and such a first file. `warplens` comes with
    modules that import it.
    """
    source = Path(__file__).parents[1]
    no_bytecode = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source / "box", folder / "coursekit" / "box", ignore=no_bytecode)
    shutil.copyfile(source / "__init__.py", folder / "coursekit" / "__init__.py")
    library = folder / "minilib"
    library.mkdir()
    chosen = closed_under_imports(course_library, modules)
    (library / "__init__.py").write_text(opening(course_library / "__init__.py", chosen), encoding="utf-8")
    for name in chosen:
        path = course_library / name
        package, _, opened = name.partition(".")
        if opened:
            (library / package).mkdir(exist_ok=True)
            text = opening(course_library / package / "__init__.py", chosen)
            (library / package / "__init__.py").write_text(text, encoding="utf-8")
            if not name.endswith(OPENING):
                shutil.copyfile(course_library / package / f"{opened}.py", library / package / f"{opened}.py")
        elif path.is_dir():
            shutil.copytree(path, library / name, ignore=no_bytecode)
        else:
            shutil.copyfile(path.with_suffix(".py"), library / f"{name}.py")
    if any(imports_simulator(path) for path in library.glob("*.py")):
        simulator = Path(warplens.__file__).parent
        shutil.copytree(simulator, folder / "warplens", ignore=no_bytecode)
    compileall.compile_dir(  # else each kernel would, anew
        folder,
        quiet=2,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        stripdir=str(folder),
        prependdir=LIBRARY,
    )
    open_to_all(folder)
    return folder


def open_to_all(folder: Path) -> None:
    """Whatever the umask says, the box's user reads what is below `folder`."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def closed_under_imports(library: Path, modules: Sequence[str]) -> list[str]:
    """`modules` and what they import: of a package some of whose files are listed, files, else the whole."""
    chosen: set[str] = set()
    cut = {name.partition(".")[0] for name in modules if "." in name and not name.endswith(OPENING)}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in chosen:
            continue
        path = library / f"{name.replace('.', '/')}.py"
        if name.endswith(OPENING) and (library / name.removesuffix(OPENING)).is_dir():
            chosen.add(name)
            continue
        if not re.fullmatch(r"\w+(\.\w+)?", name) or not (path.is_file() or (library / name).is_dir()):
            raise CourseError(
                f"{library}: has no module {name!r}, which a notebook's metadata lists under "
                "coursekit.minilib; mend the list, or run `python3 -m coursekit promote`"
            )
        chosen.add(name)
        for file in [path] if path.is_file() else sorted((library / name).rglob("*.py")):
            waiting += sorted(imported(file, library, cut) - chosen)
    return sorted(chosen)


def imported(path: Path, library: Path, cut: Collection[str] = ()) -> set[str]:
    """The modules of minilib that a file of it imports when it is run; files of the packages in `cut`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {name for node in _run_nodes(tree) for name in minilib_names(node, library, cut)}


def _run_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and what is in it, without what stands below `if TYPE_CHECKING:`."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from _run_nodes(child)


def imports_simulator(path: Path) -> bool:
    """Whether the module at `path` imports `warplens`."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return any(
        isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "warplens" for alias in node.names)
        for node in nodes
    )


def minilib_names(node: ast.AST, library: Path, cut: Collection[str] = ()) -> set[str]:
    """The modules of minilib that one import statement names; of a package in `cut` its files."""
    if isinstance(node, ast.Import):
        parts = [alias.name.split(".") for alias in node.names]
        return {part[1] for part in parts if part[0] == "minilib" and len(part) > 1}
    if not isinstance(node, ast.ImportFrom):
        return set()
    full = (node.module or "").split(".") if not node.level else ["minilib", *(node.module or "").split(".")]
    if full[0] != "minilib":
        return set()
    if len(full) > 1 and full[1] in cut:
        below = [full[2]] if len(full) > 2 else [alias.name for alias in node.names]
        return {f"{full[1]}.{name}" for name in below if (library / full[1] / f"{name}.py").is_file()}
    if len(full) > 1 and full[1]:
        return {full[1]}
    names = {alias.name for alias in node.names}
    return {name for name in names if (library / f"{name}.py").is_file() or (library / name).is_dir()}


def opening(path: Path, chosen: Sequence[str]) -> str:
    """The `__init__.py` of minilib or of a package with those imports that `chosen` can serve, no more."""
    if not path.is_file():
        return ""
    library = path.parents[1] if (path.parents[1] / "__init__.py").is_file() else path.parent
    cut = {name.partition(".")[0] for name in chosen if "." in name and not name.endswith(OPENING)}
    kept = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module == f"minilib.{path.parent.name}":
            node.names = [one for one in node.names if f"{path.parent.name}.{one.name}" in chosen]
        names = minilib_names(node, library, cut)
        if names and names <= set(chosen):
            kept.append(f"{ast.unparse(node)}\n")
    return "".join(kept)
