"""Ruff, pinned in pyproject.toml, over text in memory: the same text gives the same bytes everywhere."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass

from coursekit.course import Course
from coursekit.errors import CourseError


@dataclass(frozen=True)
class Undefined:
    """A name that a module reads and nothing defines."""

    message: str
    line: int

    @property
    def name(self) -> str:
        """The name itself, which the message quotes."""
        return self.message.partition("`")[2].partition("`")[0]


def tidy(text: str, course: Course, name: str = "module.py") -> str:
    """`text` formatted, its imports sorted, without the quotes that a notebook needs around annotations."""
    text = _ruff(course, ["check", "--select", "I,UP037", "--fix", "--quiet"], name, text)
    return _ruff(course, ["format", "--quiet"], name, text)


def undefined_names(text: str, course: Course, name: str = "module.py") -> list[Undefined]:
    """The names in `text` that would be a NameError."""
    options = ["check", "--select", "F821", "--exit-zero", "--ignore-noqa", "--output-format", "json"]
    found = json.loads(_ruff(course, options, name, text))
    return [Undefined(item["message"], item["location"]["row"]) for item in found]


def _ruff(course: Course, options: list[str], name: str, text: str) -> str:
    try:
        from ruff import find_ruff_bin  # itself: `python -m ruff` takes five times as long
    except ImportError:
        raise CourseError("ruff is missing, which formats minilib: `make lab` installs it") from None
    settings = ["--config", str(course.root / "pyproject.toml"), "--no-cache", "--stdin-filename", name, "-"]
    done = subprocess.run(
        [find_ruff_bin(), *options, *settings],
        input=text.encode(),
        capture_output=True,
        cwd=course.root,
        check=False,
    )
    if done.returncode != 0:
        problem = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise CourseError(f"ruff cannot format {name}: {problem}")
    return done.stdout.decode()
