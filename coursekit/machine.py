"""What this machine has: its Python, packages and cores. Standard library alone."""

# An old Python reads this file too, to say that it is too old: nothing newer than 3.8 stands here.
from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import metadata

OLDEST = (3, 11)  # Pythons that the course runs on
NEWEST_KNOWN = 14  # the minor version of the newest one to look for


def dotted(version: Iterable[object]) -> str:
    """`"3.11"` of `(3, 11)`."""
    return ".".join(map(str, version))


def installed(package: str) -> str | None:
    """The version of an installed package, None where it is missing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def cores() -> int:
    """The processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
