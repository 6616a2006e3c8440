"""What strangers handed in, as platforms export it: files in folders, in folders of folders, in zip files.

Nothing here writes, follows a symbolic link, unpacks a zip file, or believes the size that a file claims.
"""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from coursekit.errors import CourseError

LARGEST = 10_000_000  # bytes of one notebook, or of one student's zip file
MOST_FILES = 5_000  # below one student's folder, or in one student's zip file
DEEPEST = 2  # zip files in one another, below a folder; a platform's export is one more
NO_NOTEBOOK = "no notebook in the folder; expected one *.ipynb"
NEITHER = "passed over: neither a notebook, a folder nor a zip file"

_OUTSIDE = re.compile(r"^/|^[A-Za-z]:|\\|(^|/)\.\.(/|$)|\0")


class Refused(Exception):
    """Why one submission is not graded, in one line that says what to do."""


@dataclass(frozen=True)
class HandIn:
    """One notebook that was handed in, or what stands in its place and cannot be read."""

    parts: tuple[str, ...]  # names below the submissions, those of zip files included
    modified: float  # seconds since 1970, of the file or of the entry in the zip file
    read: Callable[[], bytes]  # raises Refused

    @property
    def name(self) -> str:
        return printable(self.parts[-1])

    @property
    def where(self) -> str:
        """Its place below the submissions."""
        return "/".join(map(printable, self.parts))

    @property
    def age(self) -> tuple[int, list[tuple[int, str]]]:
        """What newer ones have more of: whole seconds; where they are equal, the number in the name."""
        pieces = re.findall(r"0*(\d+)|(\D+)", self.where.removesuffix(".ipynb"))
        return int(self.modified), [(len(digits), digits or word) for digits, word in pieces]


def handed_in(place: Path) -> tuple[list[HandIn], list[str]]:
    """What lies below the folder, or in the zip file, `place`; and remarks on what was passed over."""
    if place.suffix.lower() == ".zip" and place.is_file():
        return _exported(place)
    found: list[HandIn] = []
    remarks = []
    for entry in _entries(place):
        if entry.is_symlink() or entry.is_dir() or _is_wanted(entry.name):
            found += _one_entry(entry)
        else:
            remarks.append(f"{printable(entry.name)}: {NEITHER}")
    return found, remarks


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except NotADirectoryError:
        raise CourseError(
            f"{folder}: is a file; expected a folder of submissions, or a platform's zip file"
        ) from None
    except FileNotFoundError:
        raise CourseError(f"{folder}: no such folder; expected a folder of submissions") from None
    except OSError as error:
        raise CourseError(f"{folder}: cannot be read ({error.strerror}); check its permissions") from None


def _exported(place: Path) -> tuple[list[HandIn], list[str]]:
    """The zip file that a platform made: a folder around the whole class does not count."""
    try:
        archive = _opened(printable(place.name), place)
        found = list(_members((), lambda: archive, 0))
    except Refused as reason:
        raise CourseError(f"{place}: {reason}") from None
    files = [inner for entry in archive.infolist() if (inner := _inner(entry))]
    while _is_wrapped(files, len(found)):
        files = [inner[1:] for inner in files]
        found = [HandIn(one.parts[1:], one.modified, one.read) for one in found]
    missing = {inner[0] for inner in files} - {one.parts[0] for one in found}
    folders = {inner[0] for inner in files if len(inner) > 1}
    found += [_refused((name,), NO_NOTEBOOK) for name in sorted(missing & folders)]
    return found, [f"{printable(name)}: {NEITHER}" for name in sorted(missing - folders)]


def _is_wrapped(files: list[tuple[str, ...]], notebooks: int) -> bool:
    """Whether all lies in one folder that is not that of a single student."""
    depth = min(map(len, files), default=0)
    return len({inner[0] for inner in files}) == 1 and (depth > 2 or (depth == 2 and notebooks > 1))


def _one_entry(entry: Path) -> list[HandIn]:
    """The notebooks of one entry of the submissions; at least one, so that nobody is forgotten."""
    try:
        found = list(_below(entry, (entry.name,)))
        if not found:
            raise Refused(NO_NOTEBOOK)
        return found
    except OSError as error:
        return [_refused((entry.name,), f"the folder cannot be read ({error.strerror})")]
    except Refused as reason:
        return [_refused((entry.name,), str(reason))]


def _below(path: Path, parts: tuple[str, ...]) -> Iterator[HandIn]:
    if path.is_symlink():
        yield _refused(parts, f"{printable(path.name)} is a symbolic link; expected the notebook itself")
    elif path.is_dir():
        yield from _in_folder(path, parts)
    elif path.suffix.lower() == ".zip":
        yield from _in_zip(parts, lambda: read_file(path), 1)
    else:
        yield HandIn(parts, path.stat().st_mtime, lambda: read_file(path))


def _in_folder(folder: Path, parts: tuple[str, ...]) -> Iterator[HandIn]:
    seen = 0
    for inner, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        linked = [name for name in folders if os.path.islink(os.path.join(inner, name))]
        seen += len(folders) + len(files)
        if seen > MOST_FILES:
            raise Refused(f"more than {MOST_FILES} files in the folder; keep the notebook to grade")
        for name in [*linked, *sorted(name for name in files if _is_wanted(name))]:
            path = Path(inner, name)
            yield from _below(path, (*parts, *path.relative_to(folder).parts))


def _raise(error: OSError) -> NoReturn:
    raise error


def _is_wanted(name: str) -> bool:
    return name.endswith((".ipynb", ".zip", ".ZIP")) and not _is_hidden(name)


def _is_hidden(name: str) -> bool:
    """What editors and systems leave behind: checkpoints, resource forks."""
    return name.startswith(".") or name == "__MACOSX"


def _refused(parts: tuple[str, ...], reason: str) -> HandIn:
    def read() -> bytes:
        raise Refused(reason)

    return HandIn(parts, 0.0, read)


def read_file(path: Path) -> bytes:
    """The bytes of a regular file that is no symbolic link and not too large. Raises Refused."""
    name = printable(path.name)
    try:
        _check_is_file(name, path.lstat().st_mode)  # before it is opened: a device may act on that
        handle = os.open(
            path,
            os.O_RDONLY
            | getattr(os, "O_NOFOLLOW", 0)
            | getattr(os, "O_NONBLOCK", 0)
            | getattr(os, "O_BINARY", 0),
        )
        try:
            _check_is_file(name, os.fstat(handle).st_mode)  # again: it may have been exchanged
        except Refused:
            os.close(handle)
            raise
        with open(handle, "rb") as file:
            return _limited(name, file.read(LARGEST + 1))
    except OSError as error:
        raise Refused(f"{name} cannot be read ({error.strerror})") from None


def _check_is_file(name: str, mode: int) -> None:
    if stat.S_ISLNK(mode):
        raise Refused(f"{name} is a symbolic link; expected the notebook itself")
    if stat.S_ISDIR(mode):
        raise Refused(f"{name} is a folder; expected the notebook itself")
    if not stat.S_ISREG(mode):
        raise Refused(f"{name} is not a file; expected the notebook itself")


def _limited(name: str, content: bytes) -> bytes:
    if len(content) > LARGEST:
        what = (
            "keep the notebook alone in it"
            if name.lower().endswith(".zip")
            else "clear its outputs and save it"
        )
        raise Refused(f"{name} is larger than {LARGEST // 1_000_000} MB; {what}")
    return content


# Zip files


def _in_zip(parts: tuple[str, ...], content: Callable[[], bytes], depth: int) -> Iterator[HandIn]:
    """The notebooks in a student's zip file; `content` reads it, and again for each of them."""
    name = printable(parts[-1])
    try:
        if depth > DEEPEST:
            raise Refused(f"{name} lies in a zip file in a zip file; hand in the notebook itself")
        found = list(_members(parts, lambda: _opened(name, io.BytesIO(content())), depth))
        if not found:
            raise Refused(f"no notebook in {name}; expected one *.ipynb")
    except Refused as reason:
        found = [_refused(parts, str(reason))]
    yield from found


def _opened(name: str, file: Path | io.BytesIO) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except Exception:  # zipfile raises a dozen kinds on what is none
        raise Refused(f"{name} is no zip file that can be read; zip it again") from None


def _members(parts: tuple[str, ...], opened: Callable[[], zipfile.ZipFile], depth: int) -> Iterator[HandIn]:
    """The notebooks among the entries of a zip file."""
    entries = opened().infolist()
    name = printable(parts[-1]) if parts else "the zip file"
    if parts and len(entries) > MOST_FILES:
        raise Refused(f"more than {MOST_FILES} files in {name}; keep the notebook to grade")
    outside = [entry for entry in entries if _OUTSIDE.search(entry.orig_filename)]
    if outside and parts:
        raise Refused(_strays(name, outside[0]))
    for entry in entries:
        inner = _inner(entry)
        if not inner or not _is_wanted(inner[-1]):
            continue
        here = (*parts, *inner)
        if _OUTSIDE.search(entry.orig_filename):  # of one student, in the zip file of a class
            yield _refused(here, _strays(name, entry))
            continue

        def read(entry: zipfile.ZipInfo = entry) -> bytes:
            return _unpacked(opened(), entry)

        if inner[-1].lower().endswith(".zip"):
            yield from _in_zip(here, read, depth + 1)
        else:
            yield HandIn(here, _time(entry), read)


def _strays(name: str, entry: zipfile.ZipInfo) -> str:
    return f"{name} names a place outside of itself ({printable(entry.orig_filename[:40])}); zip it again"


def _inner(entry: zipfile.ZipInfo) -> tuple[str, ...]:
    """The names of an entry from the top down; none of a folder or of what editors leave behind."""
    inner = tuple(part for part in entry.filename.split("/") if part not in ("", ".", ".."))
    return () if entry.is_dir() or any(map(_is_hidden, inner)) else inner


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of one entry, of which no more are ever made than a notebook may have."""
    name = printable(entry.filename.rpartition("/")[2])
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise Refused(f"{name} is a symbolic link; expected the notebook itself")
    if entry.flag_bits & 1:
        raise Refused(f"{name} is locked with a password; zip it again without one")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Refused(f"{name} is packed in an unusual way; zip it again")
    try:
        with closing(archive.open(entry)) as file:
            content = file.read(LARGEST + 1)
    except Exception:  # zipfile and zlib raise a dozen kinds on what is damaged
        raise Refused(f"{name} is damaged in its zip file; zip it again") from None
    return _limited(name, content)


def _time(entry: zipfile.ZipInfo) -> float:
    try:
        return datetime(*entry.date_time).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


# Names


def printable(name: str) -> str:
    """`name` in one line, with characters that do not print written as escapes."""
    return "".join(_shown(character) for character in name)


def _shown(character: str) -> str:
    if character.isprintable() or character in "\u200c\u200d":  # joiners: parts of names in some scripts
        return character
    return character.encode("unicode_escape", "backslashreplace").decode("ascii", "backslashreplace")
