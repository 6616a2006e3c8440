"""The differences that are meant, from `expected.toml`, each with its reason."""

from __future__ import annotations

import importlib
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import minilib

from .compare import KINDS, Difference

FILE = Path(__file__).with_name("expected.toml")


@dataclass(frozen=True)
class Expected:
    """Differences of one kind whose form and message fit two patterns of `fnmatch`, and a word for why."""

    kind: str
    form: str
    message: str
    reason: str
    in_sample: bool = True  # whether the sample that the tests run meets it

    def fits(self, found: Difference) -> bool:
        return (
            self.kind == found.kind
            and fnmatchcase(found.form, self.form)
            and fnmatchcase(found.message, f"*{self.message}*")
        )


@cache
def expected() -> list[Expected]:
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return [
        Expected(kind, *row, in_sample=part == "differences")
        for part in ("differences", "beyond_the_sample")
        for kind in KINDS
        for row in table[part].get(kind, [])
    ]


@cache
def reasons() -> dict[str, dict[str, str]]:
    """For each word the docstring that gives the reason ("in") and what it says there ("says")."""
    table: dict[str, dict[str, str]] = tomllib.loads(FILE.read_text(encoding="utf-8"))["reasons"]
    return table


def reason_for(found: Difference) -> Expected | None:
    return next((each for each in expected() if each.fits(found)), None)


def docstring(path: str) -> str:
    """The docstring of "minilib.optim.Adam", or the text of "minilib/README.md", in one line."""
    if path.endswith(".md"):
        return " ".join((Path(minilib.__file__).parents[1] / path).read_text(encoding="utf-8").split())
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            found = getattr(found, name)
        return " ".join((found.__doc__ or "").split())
    raise ModuleNotFoundError(path)
