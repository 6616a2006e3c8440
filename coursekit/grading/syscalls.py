"""What a box may ask of the Linux kernel: a filter for seccomp, and a keyring of its own.

Refused is what a Jupyter kernel with NumPy, matplotlib and threads does without, and what would
reach beyond the box, hold memory that no process is charged for, or open rarely used parts of Linux.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Iterator

# Numbers on x86_64 and on aarch64; None where one has none. From 424 on they are the same.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    # keys of the user, whose keyrings know no box
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "perf_event_open": (298, 241),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    # programs and modules for the Linux kernel
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "create_module": (174, None),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    # file systems and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "ustat": (136, None),
    "sysfs": (139, None),
    # memory that belongs to no process
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "msgctl": (71, 187),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "semget": (64, 190),
    "semctl": (66, 191),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "vmsplice": (278, 75),
    "splice": (275, 76),
    "tee": (276, 77),
    "remap_file_pages": (216, 234),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "io_setup": (206, 0),
    "io_destroy": (207, 1),
    "io_submit": (209, 2),
    # the machine
    "syslog": (103, 116),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "vhangup": (153, 58),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "_sysctl": (156, None),
}
UNKNOWN = {"clone3": 435, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427}
NEWEST = 462  # what came later is unknown too: the C library then takes an older call

# By an argument: its number, and what it is when the call is refused.
CLONE, PERSONALITY, SOCKET, SOCKETPAIR = (56, 220), (135, 92), (41, 198), (53, 199)
FCNTL, SETSOCKOPT, MMAP, IOCTL = (72, 25), (54, 208), (9, 222), (16, 29)
NEW_NAMESPACES = 0x7E020000
FAMILIES = UNIX, INET, NETLINK = 1, 2, 16  # ZeroMQ asks netlink which addresses there are
SET_PIPE_SIZE = 1031
SOCKET_LEVEL, BUFFER_SIZES = 1, (7, 8, 32, 33)
SHARED, ANONYMOUS = 0x01, 0x20  # pages that stay when they are no longer mapped to a process's own memory
TERMINAL_INPUT = (0x5412, 0x541C)

MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # place in a pair, AUDIT_ARCH
X32 = 0x40000000

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000

Instruction = tuple[int, int, int, int]  # operation, jump if true, jump if false, operand


def supported() -> bool:
    """Whether there is a filter for this machine."""
    return platform.machine() in MACHINES


def seccomp_filter(machine: str) -> bytes:
    """The program for `machine` ("x86_64", "aarch64"): calls of another architecture end the process."""
    place, architecture = MACHINES[machine]
    return b"".join(
        struct.pack("=HBBI", operation, yes, no, operand)
        for operation, yes, no, operand in _program(place, architecture)
    )


def _program(place: int, architecture: int) -> Iterator[Instruction]:
    yield from ((LOAD, 0, 0, 4), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL))
    yield from ((LOAD, 0, 0, 0), (AT_LEAST, 0, 1, X32), (RETURN, 0, 0, KILL))
    yield from ((AT_LEAST, 0, 1, NEWEST + 1), _refuse(errno.ENOSYS))
    for number in UNKNOWN.values():
        yield from ((EQUAL, 0, 1, number), _refuse(errno.ENOSYS))
    for numbers in REFUSED.values():
        if numbers[place] is not None:
            yield from ((EQUAL, 0, 1, numbers[place] or 0), _refuse())
    yield from _where(CLONE[place], _argument(0), (ANY_BIT, 0, 1, NEW_NAMESPACES), _refuse())
    yield from _where(
        PERSONALITY[place], _argument(0), (EQUAL, 2, 0, 0), (EQUAL, 1, 0, 0xFFFFFFFF), _refuse()
    )
    no_family = _refuse(errno.EAFNOSUPPORT)
    for call in (SOCKET, SOCKETPAIR):
        families = [(EQUAL, 3 - number, 0, family) for number, family in enumerate(FAMILIES)]
        yield from _where(call[place], _argument(0), *families, no_family)
    only_routes = ((EQUAL, 0, 3, NETLINK), _argument(2), (EQUAL, 1, 0, 0), no_family)
    yield from _where(SOCKET[place], _argument(0), *only_routes)
    yield from _where(FCNTL[place], _argument(1), (EQUAL, 0, 1, SET_PIPE_SIZE), _refuse())
    for option in BUFFER_SIZES:
        level = (_argument(1), (EQUAL, 0, 3, SOCKET_LEVEL))
        yield from _where(SETSOCKOPT[place], *level, _argument(2), (EQUAL, 0, 1, option), _refuse())
    yield from _where(
        MMAP[place], _argument(3), (ANY_BIT, 0, 2, ANONYMOUS), (ANY_BIT, 0, 1, SHARED), _refuse()
    )
    for request in TERMINAL_INPUT:
        yield from _where(IOCTL[place], _argument(1), (EQUAL, 0, 1, request), _refuse())
    yield (RETURN, 0, 0, ALLOW)


def _where(number: int, *rule: Instruction) -> Iterator[Instruction]:
    """`rule` for the call `number`: it ends with what it returns, or falls through."""
    yield from ((LOAD, 0, 0, 0), (EQUAL, 0, len(rule), number), *rule)


def _argument(number: int) -> Instruction:
    """Load the lower half of an argument."""
    return (LOAD, 0, 0, 16 + 8 * number)


def _refuse(reason: int = errno.EPERM) -> Instruction:
    return (RETURN, 0, 0, REFUSE | reason)


def join_new_keyring() -> None:
    """Give this thread, and the processes that it starts from now on, an empty session keyring of its

    Where the machine has no keyrings, or seccomp of its own refuses, there is nothing to share either.
    """
    machine = MACHINES.get(platform.machine())
    number = REFUSED["keyctl"][machine[0]] if machine else None
    if number is not None:
        ctypes.CDLL(None).syscall(ctypes.c_long(number), ctypes.c_long(1), None)
