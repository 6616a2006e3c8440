"""The milestone of a chapter: its cells marked `#| milestone` as a script, run on the learner's library.

One marked `#| milestone reward` asks for the chapter's picture of `rewards` at the end. What a lesson has
built itself, its script takes from the library: `#| milestone from minilib.scalar import Value`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from coursekit.course import Course, chapter_number
from coursekit.make.exports import notebooks_in, shown
from coursekit.mine.answers import originals
from coursekit.mine.library import environment
from coursekit.notebooks import Cell, cells, read

MILESTONE_SECONDS = 120
REWARD = """\
from coursekit.mine.rewards import reward

reward(globals(), __file__)"""


def scripts(course: Course, chapters: set[str]) -> dict[str, str]:
    """The milestones of these chapters ("01", "02a") as scripts, by their names in mine/."""
    found: dict[str, str] = {}
    for path in [*notebooks_in(course.chapters), *originals(course)]:
        name = f"milestone_{chapter_number(path)}.py"
        text = _script(path, name, course)
        if chapter_number(path) in chapters and text and name not in found:
            found[name] = text
    return found


def _script(path: Path, name: str, course: Course) -> str | None:
    marked = [cell for cell in cells(path, read(path)) if cell.directive("milestone") is not None]
    title = f'"""The milestone of {shown(path, course)} on your own library."""'
    parts = [_taken(cell) + _without_directives(cell.source) for cell in marked]
    if any(cell.directive("milestone") == "reward" for cell in marked):
        parts.append(REWARD)
    return "\n\n".join([title, *parts]) + "\n" if marked else None


def _taken(cell: Cell) -> str:
    """The import that a milestone's cell has in place of what the lesson built."""
    argument = cell.directive("milestone") or ""
    return f"{argument}\n" if argument.startswith("from ") else ""


def _without_directives(source: str) -> str:
    return "\n".join(line for line in source.split("\n") if not line.startswith("#|")).strip("\n")


def run_milestone(course: Course, name: str) -> bool:
    """Run a script of mine/ on the learner's library and show its output; whether it went well."""
    python = Path(sys.executable)
    if python.is_relative_to(course.root):
        python = python.relative_to(course.root)
    print(f"\nthe milestone, on your library ({python} mine/{name}):", flush=True)
    process = subprocess.Popen(
        [sys.executable, str(course.mine / name)],
        cwd=course.mine,
        env=environment(course, course.mine),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code = process.wait(timeout=MILESTONE_SECONDS)
    except subprocess.TimeoutExpired:
        print(
            f"the milestone takes longer than {MILESTONE_SECONDS} s and was stopped: something in your "
            "library is too slow or never ends, or this machine is busy; "
            f"`{python} mine/{name}` lets it go on"
        )
        return False
    finally:
        _stop(process)
    print(
        "the milestone works" if code == 0 else f"the milestone fails (exit code {code}): see the lines above"
    )
    return code == 0


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a milestone and all that it started."""
    if os.name == "nt":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
