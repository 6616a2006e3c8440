"""What `doctor` says of a machine, and what it says where something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from coursekit import doctor
from coursekit.course import Course

NAMES = [
    "Python", "system", "cores", "memory", "NumPy", "BLAS", "JupyterLab", "graph pictures", "GPU",
    "bubblewrap", "Chromium", "git",
]  # fmt: skip


def test_the_table_names_each_part_of_the_machine(tmp_path: Path) -> None:
    report = doctor.table(Course(tmp_path))
    assert [row.name for row in report.rows] == [*NAMES, "disk", "course"]


def test_it_works_outside_a_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [row.name for row in doctor.table().rows] == NAMES


def test_text_and_html_hold_the_same_and_html_is_escaped() -> None:
    report = doctor.Report((doctor.Row("disk", "<1 GB", doctor.MISSING, "make room"),))
    assert "<1 GB" in repr(report) and "make room" in repr(report)
    assert "&lt;1 GB" in report._repr_html_() and "<1 GB" not in report._repr_html_()


def test_only_what_the_course_needs_makes_it_incomplete() -> None:
    assert doctor.Report((doctor.Row("GPU", "none", doctor.OPTIONAL),)).complete
    assert not doctor.Report((doctor.Row("NumPy", "not installed", doctor.MISSING),)).complete


def test_without_programs_each_row_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    assert doctor.gpu().found == "none found; chapters 00 and 01 need none"
    assert "grade" in doctor.sandbox().remedy
    assert "make lab" in doctor.pictures().remedy
    assert doctor.git().state == doctor.OPTIONAL


def test_a_card_without_cupy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_output", lambda *command: "NVIDIA H200, 143771 MiB")
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    assert doctor.gpu().state == doctor.OPTIONAL
    assert "CuPy is not installed" in doctor.gpu().found


def test_a_container_limit_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"cpu.max": "50000 100000", "memory.max": "1000000000"}
    monkeypatch.setattr(doctor, "_cgroup", limits.__getitem__)
    assert doctor.cores().found.endswith("of which 0.5 may be used")
    assert doctor.memory().state == doctor.MISSING
