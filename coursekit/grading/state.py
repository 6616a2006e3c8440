"""What a run has done so far, kept in its output folder: an interrupted run continues where it stopped.

One run at a time writes into a folder: it holds a lock, which the system takes back when the process ends.
What is saved says at which seed and by which tests it was made, and is read back at the same alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import secrets
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import warplens
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.files import read_record, write_record, write_text, writing
from coursekit.grading.assemble import Chapter
from coursekit.grading.model import NotebookRun, from_json, to_json
from coursekit.machine import installed

FOLDER = ".coursekit"
CONTROL = "control.json"  # for a run that is continued or repeated
ANSWERS, OVERRIDES = "answers", "overrides"  # what is kept from run to run


def versions(course: Course) -> dict[str, str]:
    """What must be the same on two machines that give the same grades, solutions and seed aside."""
    packages = (Path(__file__).parents[1], course.library, Path(warplens.__file__).parent)
    digest = hashlib.sha256()
    for folder in packages:
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder)} {_digest(path)}".encode())
    return {
        "Python": platform.python_version(),
        "NumPy": str(installed("numpy")),
        "course": digest.hexdigest()[:16],
    }


def fingerprint(course: Course, chapter: Chapter, more: Iterable[object]) -> str:
    """A text that changes with everything but seed and submissions that a grade depends on."""
    stem = chapter.path.stem
    names = (f"misconceptions/{stem}.py", f"misconceptions/{stem}.cu", f"judges/{stem}.py")
    files = [chapter.path, *(chapter.path.parent / name for name in names)]
    parts = [sys.version, *versions(course).values(), str(list(more)), *map(_digest, files)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes() if path.is_file() else b"").hexdigest()


def answers_key(answers: Mapping[str, str]) -> str:
    """A text that changes with a student's answers."""
    return hashlib.sha256(json.dumps(answers, sort_keys=True).encode()).hexdigest()


class State:
    """The runs of one grading, below OUT/.coursekit. Close it: nobody else can open it before."""

    def __init__(self, out: Path, chapter: str, key: str, seed: int | None) -> None:
        self.out, self.folder, self.key = out, out / FOLDER, key
        self.about = self._read()
        self._check_folder(chapter)
        self._lock = self._locked()
        self.about = self._read()  # again: another run may have ended just now
        same = not self.about.get("done") and self.about.get("key") == key
        if same and (seed is None or seed == self.about.get("seed")):
            self.seed, self.continued = int(self.about["seed"]), True
            return
        self.seed = secrets.randbelow(2**32) if seed is None else seed
        self.continued = False
        shutil.rmtree(self.folder / "runs", ignore_errors=True)
        kept = {name: self.about[name] for name in (ANSWERS, OVERRIDES) if name in self.about}
        self.about = {**kept, "chapter": chapter, "key": key, "seed": self.seed, "done": False}
        self._write()

    def _locked(self) -> IO[str]:
        """The lock of the folder, an open file. CourseError where another grading has it."""
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            file = open(self.folder / "lock", "a+", encoding="utf-8")  # noqa: SIM115 (closed with the state)
        with contextlib.suppress(ImportError, OSError):  # Windows and some shared disks have no such lock
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                owner = file.read(20).strip()
                file.close()
                raise CourseError(
                    f"{self.out}: another grading (process {owner}) is writing into this folder; wait until "
                    "it ends, or choose another folder"
                ) from None
        file.truncate(0)
        print(os.getpid(), file=file, flush=True)
        return file

    def close(self) -> None:
        """Let others write into the folder."""
        self._lock.close()

    def _read(self) -> dict[str, Any]:
        about = read_record(self.folder / "run.json")
        return about if isinstance(about.get("seed"), int) else {}

    def _write(self) -> None:
        write_record(self.folder / "run.json", self.about)

    def _check_folder(self, chapter: str) -> None:
        """A folder is written to only if it is new, empty or from an earlier run of this chapter."""
        if self.out.exists() and not self.out.is_dir():
            raise CourseError(f"{self.out}: is a file; expected a folder for the grades")
        if self.about.get("chapter", chapter) != chapter:
            raise CourseError(
                f"{self.out}: holds the grades of chapter {self.about['chapter']}; choose another folder"
            )
        if not self.about and self.out.is_dir() and any(self.out.iterdir()):
            raise CourseError(f"{self.out}: holds other files than grades; choose a new or an empty folder")

    def load(self, name: str) -> NotebookRun | None:
        """The run that was saved under `name` at this seed and by these tests, None where there is none."""
        kept = read_record(self._run_file(name))
        if (kept.get("seed"), kept.get("key")) != (self.seed, self.key):
            return None
        try:
            return from_json(kept["run"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    def save(self, name: str, run: NotebookRun) -> None:
        made = {"seed": self.seed, "key": self.key, "run": to_json(run)}
        write_text(self._run_file(name), json.dumps(made))

    def control(self) -> dict[str, NotebookRun]:
        """The runs of the control that were saved at this seed and by these tests, {} without."""
        kept = read_record(self.folder / CONTROL)
        if (kept.get("seed"), kept.get("key")) != (self.seed, self.key):
            return {}
        return {name: from_json(run) for name, run in kept["runs"].items()}

    def save_control(self, runs: Mapping[str, NotebookRun]) -> None:
        made = {
            "seed": self.seed,
            "key": self.key,
            "runs": {name: to_json(one) for name, one in runs.items()},
        }
        write_text(self.folder / CONTROL, json.dumps(made))

    def _run_file(self, name: str) -> Path:
        return self.folder / "runs" / f"{name}.json"

    @property
    def answers(self) -> dict[str, str]:
        """The keys of the answers that the last finished run graded, by student."""
        kept = self.about.get(ANSWERS)
        return kept if isinstance(kept, dict) else {}

    def overrides(self, given: Path | None) -> Path | None:
        """The file of the instructor's points: the one now given, else that of the run before."""
        if given:
            self.about[OVERRIDES] = str(given.resolve())
            self._write()
        kept = self.about.get(OVERRIDES)
        return Path(kept) if isinstance(kept, str) else None

    def finish(self, answers: Mapping[str, str] | None = None) -> None:
        """The results are written: the next run begins afresh."""
        self.about |= {"done": True, ANSWERS: dict(answers or {})}
        self._write()
        (self.folder / "expected.json").unlink(missing_ok=True)
        shutil.rmtree(self.folder / "runs", ignore_errors=True)
