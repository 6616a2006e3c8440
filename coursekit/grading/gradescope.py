"""Whose submission is whose, and when it came, in what Gradescope exports: its submission_metadata.yml."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

METADATA = "submission_metadata.yml"
LARGEST = 50_000_000

_LINE = re.compile(r"(?P<deep> *)(?P<item>- )?:?(?P<key>\w+): ?(?P<value>.*)")


@dataclass
class Handed:
    """One submission: its people, the first one's number at the university, and its time."""

    names: list[str] = field(default_factory=list)
    sid: str = ""
    when: float = 0.0

    @property
    def student(self) -> str:
        return " and ".join(self.names)


def submitters(place: Path) -> dict[str, Handed]:
    """By the name of its folder, each submission that Gradescope's list in `place` names."""
    found: dict[str, Handed] = {}
    one = Handed()
    for line in _text(place).splitlines():
        match = _LINE.fullmatch(line)
        if not match:
            continue
        key, value = match["key"], match["value"].strip().strip("'\"")
        if not match["deep"] and not match["item"]:
            one = found.setdefault(key, Handed())
        elif key == "name":
            one.names.append(value)
        elif key == "sid":
            one.sid = one.sid or value
        elif key == "created_at" and not one.when:  # those of earlier tries stand below
            one.when = _time(value)
    return {folder: one for folder, one in found.items() if one.names}


def _time(text: str) -> float:
    try:
        return datetime.fromisoformat(re.sub(r"(\.\d+)? (?=Z|[+-])", "", text)).timestamp()
    except ValueError:
        return 0.0


def _text(place: Path) -> str:
    try:
        if place.is_dir():
            with open(place / METADATA, "rb") as file:
                return file.read(LARGEST).decode()
        with zipfile.ZipFile(place) as archive:
            name = next(name for name in archive.namelist() if name.split("/")[-1] == METADATA)
            with archive.open(name) as file:
                return file.read(LARGEST).decode()
    except Exception:  # no list, or none that can be read: folders then have the names that they have
        return ""
