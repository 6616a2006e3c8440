"""What a worker of a cluster does: it shows that it grades as the grader's machine does, then it grades.

It gets a job once, and after that notebooks by number: no student's name, and none of the other submissions.
Nothing here knows Dask; `cluster` does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from coursekit.course import Course, find_course
from coursekit.errors import CourseError
from coursekit.grading.compare import load_expected, save_expected
from coursekit.grading.model import NotebookRun, from_json, to_json
from coursekit.grading.run import private_folder, run_notebooks
from coursekit.grading.sandbox import Box
from coursekit.grading.state import versions


class NotChecked(Exception):
    """This process does not know the job: it is another one than the one that was checked."""


@dataclass(frozen=True)
class Job:
    """What grading one chapter takes, beside submissions. It holds hidden tests and what they expect."""

    root: str  # the course, where the worker has it in the same place; else the one of its coursekit
    versions: Mapping[str, str]
    seed: int
    sandboxed: bool
    timeout: float | None
    budget: float | None
    reference: str  # the assembled notebook, as JSON
    expected: str  # what it shows, as JSON
    judges: str  # the source, "" where there are none

    @cached_property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    @property
    def course(self) -> Course:
        root = Path(self.root)
        return Course(root) if root.is_dir() else find_course(Path(__file__).parent)


_jobs: dict[str, Job] = {}  # the last one that this process may do


def check(job: Job) -> str:
    """Why this machine must not grade, or "": its versions, its box, and what the reference shows in it."""
    _jobs.clear()
    try:
        mine = versions(job.course)
        for name, theirs in job.versions.items():
            if mine[name] != theirs:
                return f"its {name} is {mine[name]}, the grader's {theirs}"
        with private_folder() as folder:
            decide = load_expected(_expected(job, folder))
            run = _run(job, {"reference": job.reference}, None)["reference"]
            for cell in run.cells:
                if message := decide(cell):
                    return f"there the reference does not pass {cell.grade_id} ({cell.error or message})"
    except CourseError as error:
        return str(error)
    _jobs[job.key] = job
    return ""


def grade(key: str, notebooks: Mapping[str, str]) -> list[dict[str, Any]]:
    """The runs of `notebooks` (name -> JSON), as JSON. Raises NotChecked; CourseError where pytest died."""
    job = _jobs.get(key)
    if job is None:
        raise NotChecked
    with private_folder() as folder:
        return [to_json(run) for run in _run(job, notebooks, _expected(job, folder)).values()]


def _run(job: Job, notebooks: Mapping[str, str], expected: Path | None) -> dict[str, NotebookRun]:
    return run_notebooks(
        {name: json.loads(text, object_hook=NotebookNode) for name, text in notebooks.items()},
        course=job.course,
        seed=job.seed,
        box=Box.required() if job.sandboxed else Box.off(),
        workers=1,
        timeout=job.timeout,
        budget=job.budget,
        expected=expected,
    )


def _expected(job: Job, folder: Path) -> Path:
    judges = folder / "judges.py"
    judges.write_text(job.judges, encoding="utf-8")
    save_expected(folder / "expected.json", from_json(json.loads(job.expected)), judges)
    return folder / "expected.json"
