"""Files of the course: read with errors in one line, written at once or not at all. Standard library only."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from coursekit.errors import CourseError

COPIES = ".coursekit.json"  # in work/: what was copied there, and of notebooks with which stubs


def short_hash(text: str) -> str:
    """Something that changes when `text` does."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_bytes(path: Path) -> bytes:
    """What the file at `path` holds."""
    with reading(path):
        return path.read_bytes()


def read_text(path: Path, otherwise: str = "is not UTF-8 text; restore a good copy") -> str:
    """The text of the file at `path`, each line ended by `\\n`; `otherwise` is what to say of no text."""
    with reading(path):
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise CourseError(f"{path}: {otherwise}") from None


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Tell in one line what stopped the body from reading `path`."""
    try:
        yield
    except OSError as error:
        raise CourseError(f"{path}: cannot be read ({error.strerror})") from None


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path`; a stop in the middle leaves the old file: a temporary one, then a rename."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with open(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Tell in one line what stopped the body from writing `path`."""
    try:
        yield
    except OSError as error:
        raise CourseError(
            f"{path}: cannot be written ({error.strerror}); check the folder's permissions and the disk"
        ) from None


def read_record(path: Path) -> dict[str, Any]:
    """What `write_record` wrote to `path`; {} where there is nothing, or something else."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def write_record(path: Path, data: Mapping[str, Any]) -> None:
    """Keep `data` as JSON for `read_record`: small, and for a person to read as well."""
    write_text(path, json.dumps(data, indent=1, sort_keys=True) + "\n")
