"""The filter of system calls: as a program, and from inside a box."""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from coursekit.errors import CourseError
from coursekit.grading import sandbox, syscalls
from coursekit.grading.client import Kernel
from coursekit.grading.run import private_folder
from coursekit.grading.sandbox import Box, make_library

ALLOWED = "allowed"
MACHINES = [*syscalls.MACHINES]


def verdict(machine: str, number: int, *arguments: int, architecture: int | None = None) -> str:
    """What the filter says to a call: an interpreter of the few operations that it consists of."""
    program = list(struct.iter_unpack("=HBBI", syscalls.seccomp_filter(machine)))
    _, own = syscalls.MACHINES[machine]
    full = [argument % 2**64 for argument in (*arguments, *[0] * 6)][:6]
    data = struct.pack("<IIQ6Q", number, own if architecture is None else architecture, 0, *full)
    counter, loaded = 0, 0
    while True:
        operation, yes, no, operand = program[counter]
        counter += 1
        if operation == syscalls.RETURN:
            return meaning(operand)
        if operation == syscalls.LOAD:
            (loaded,) = struct.unpack_from("<I", data, operand)
            continue
        tests = {
            syscalls.EQUAL: loaded == operand,
            syscalls.AT_LEAST: loaded >= operand,
            syscalls.ANY_BIT: bool(loaded & operand),
        }
        counter += yes if tests[operation] else no


def meaning(returned: int) -> str:
    if returned & 0xFFFF0000 == syscalls.REFUSE:
        return errno.errorcode[returned & 0xFFFF]
    return {syscalls.ALLOW: ALLOWED, syscalls.KILL: "killed"}[returned]


@pytest.mark.parametrize("machine", MACHINES)
def test_every_call_on_the_list_is_refused(machine: str) -> None:
    place = MACHINES.index(machine)
    for numbers in syscalls.REFUSED.values():
        if (number := numbers[place]) is not None:
            assert verdict(machine, number) == "EPERM"
    assert {verdict(machine, number) for number in syscalls.UNKNOWN.values()} == {"ENOSYS"}
    assert verdict(machine, 463) == verdict(machine, 5000) == "ENOSYS"


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("CLONE", (0x3D0F00,), ALLOWED),  # a thread
        ("CLONE", (17,), ALLOWED),  # fork
        ("CLONE", (0x10000011,), "EPERM"),
        ("CLONE", (0x20011,), "EPERM"),
        ("PERSONALITY", (0xFFFFFFFF,), ALLOWED),
        ("PERSONALITY", (0,), ALLOWED),
        ("PERSONALITY", (0x0040000,), "EPERM"),
        ("SOCKET", (1, 1, 0), ALLOWED),
        ("SOCKET", (2, 1, 0), ALLOWED),
        ("SOCKET", (10, 1, 0), "EAFNOSUPPORT"),
        ("SOCKET", (16, 3, 0), ALLOWED),
        ("SOCKET", (16, 3, 9), "EAFNOSUPPORT"),
        ("SOCKET", (38, 5, 0), "EAFNOSUPPORT"),  # ciphers of the Linux kernel
        ("SOCKET", (40, 1, 0), "EAFNOSUPPORT"),  # the machine below a virtual one
        ("SOCKETPAIR", (1, 1, 0), ALLOWED),
        ("FCNTL", (3, 1031, 2**20), "EPERM"),
        ("FCNTL", (3, 3, 0), ALLOWED),
        ("SETSOCKOPT", (3, 1, 7), "EPERM"),
        ("SETSOCKOPT", (3, 1, 33), "EPERM"),
        ("SETSOCKOPT", (3, 1, 2), ALLOWED),
        ("SETSOCKOPT", (3, 6, 7), ALLOWED),
        ("MMAP", (0, 4096, 3, 0x22), ALLOWED),
        ("MMAP", (0, 4096, 3, 0x01), ALLOWED),
        ("MMAP", (0, 4096, 3, 0x21), "EPERM"),
        ("MMAP", (0, 4096, 3, 0x23), "EPERM"),
        ("IOCTL", (0, 0x5412), "EPERM"),
        ("IOCTL", (0, 0x5401), ALLOWED),
    ],
)
def test_some_calls_go_by_their_arguments(
    machine: str, name: str, arguments: tuple[int, ...], expected: str
) -> None:
    number = getattr(syscalls, name)[MACHINES.index(machine)]
    assert verdict(machine, number, *arguments) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_another_architecture_end_the_process(machine: str) -> None:
    assert verdict(machine, 1, architecture=0x40000003) == "killed"
    assert verdict(machine, 1 + syscalls.X32) == "killed"
    assert verdict(machine, {"x86_64": 1, "aarch64": 64}[machine]) == ALLOWED  # write


# In a box


@contextmanager
def kernel_in_a_box(box: Box) -> Iterator[Kernel]:
    with private_folder() as folder:
        library = make_library(folder / "library" / "0", folder, [])
        kernel = Kernel(box.prepare(folder), library, folder / "k")
        try:
            assert kernel.wait_until_ready().status == "ok"
            yield kernel
        finally:
            kernel.close()


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    try:
        box = Box.required()
    except CourseError as error:
        pytest.skip(str(error))
    if not box.filters:
        pytest.skip("no seccomp here")
    with kernel_in_a_box(box) as one:
        yield one


def shown(kernel: Kernel, code: str) -> Any:
    """What `code` binds to `found`."""
    result = kernel.execute(f"from coursekit.box.probe import probe\n{code}\nprobe('found', found)", 60)
    assert result.error == ""
    return result.probes[0].value


CALLS = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    return -1 if libc.syscall(number, *map(ctypes.c_long, arguments)) != -1 else ctypes.get_errno()
"""


@pytest.mark.slow
def test_calls_are_refused_inside_a_box(kernel: Kernel) -> None:
    place = MACHINES.index(platform.machine())
    calls = {name: numbers[place] for name, numbers in syscalls.REFUSED.items() if numbers[place] is not None}
    found = shown(kernel, f"{CALLS}\nfound = [call(n, 0, 0, 0, 0, 0, 0) for n in {[*calls.values()]}]")
    said = dict(zip(calls, (int(one["int"]) for one in found["list"]), strict=True))
    assert {name: code for name, code in said.items() if code != errno.EPERM} == {}
    found = shown(kernel, f"found = [call(n, 0, 0) for n in {[*syscalls.UNKNOWN.values()]}]")
    assert {int(one["int"]) for one in found["list"]} == {errno.ENOSYS}


@pytest.mark.slow
@pytest.mark.parametrize(
    "attempt",
    [
        "import mmap; mmap.mmap(-1, 4096)",
        "import mmap; mmap.mmap(os.open('/dev/zero', os.O_RDWR), 4096)",
        "os.memfd_create('x')",
        "socket.socket(socket.AF_INET6)",
        "socket.socket(40, socket.SOCK_STREAM)",
        "socket.socket(38, socket.SOCK_SEQPACKET)",
        "fcntl.fcntl(os.pipe()[1], 1031, 2**20)",
        "socket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**20)",
        "open('/proc/keys').read()",
        "open('/proc/key-users').read()",
    ],
)
def test_what_holds_memory_or_keys_of_others_is_an_error_inside_a_box(kernel: Kernel, attempt: str) -> None:
    code = f"""
import fcntl, os, socket
try:
    {attempt}
    found = "possible"
except OSError: found = "refused"
"""
    assert shown(kernel, code) == "refused"


@pytest.mark.slow
def test_what_notebooks_need_works_inside_a_box(kernel: Kernel) -> None:
    code = """
import asyncio, concurrent.futures, multiprocessing, os, subprocess, threading
import matplotlib.pyplot as plt, numpy as np
found = []
plt.plot([1, 2]); plt.savefig("/tmp/picture.png"); plt.close()
found.append(os.path.getsize("/tmp/picture.png") > 1000)
found.append(subprocess.run(["echo", "hi"], capture_output=True).stdout)
with concurrent.futures.ThreadPoolExecutor(3) as pool: found.append(list(pool.map(abs, [-1, 2])))
with multiprocessing.Pool(2) as pool: found.append(pool.map(abs, [-3]))
found.append((np.eye(300) @ np.eye(300)).shape)
loop = asyncio.new_event_loop(); loop.close()
found = repr(found)"""
    assert shown(kernel, code) == "[True, b'hi\\n', [1, 2], [3], (300, 300)]"


@pytest.mark.slow
def test_each_box_has_a_keyring_of_its_own() -> None:
    try:
        box = Box.required()
    except CourseError as error:
        pytest.skip(str(error))
    unfiltered = replace(box, filters=False)  # else no key could be asked for
    place = MACHINES.index(platform.machine())
    add, ask = (syscalls.REFUSED[name][place] for name in ("add_key", "keyctl"))
    found = []
    for _ in range(2):
        with kernel_in_a_box(unfiltered) as kernel:
            found.append(
                shown(
                    kernel,
                    f"""{CALLS}
text = ctypes.c_char_p
known = libc.syscall({ask}, 10, -3, text(b"user"), text(b"mine"), 0)
added = libc.syscall({add}, text(b"user"), text(b"mine"), text(b"secret"), 6, -3)
found = [known == -1, added != -1]""",
                )
            )
    assert found == [{"list": [True, True]}] * 2


@pytest.mark.slow
def test_a_call_of_another_architecture_ends_the_kernel_inside_a_box() -> None:
    try:
        box = Box.required()
    except CourseError as error:
        pytest.skip(str(error))
    if not box.filters or platform.machine() != "x86_64":
        pytest.skip("no x32 here")
    with kernel_in_a_box(box) as kernel:
        assert kernel.execute(f"{CALLS}\ncall({syscalls.X32 + 39})", 30).status == "died"


@pytest.mark.slow
def test_a_box_without_a_filter_works_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        Box.required()
    except CourseError as error:
        pytest.skip(str(error))
    capsys.readouterr()
    sandbox.say_once.cache_clear()
    monkeypatch.setattr(syscalls, "seccomp_filter", lambda machine: b"no program")
    boxes = [Box.required(), Box.required()]
    assert not any(box.filters for box in boxes)
    assert capsys.readouterr().err.count("without its filter") == 1
