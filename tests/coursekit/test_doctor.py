"""What `doctor` says of a machine, and what it says where something is missing."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from coursekit.course import Course
from coursekit.install import doctor

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


def test_in_a_notebook_it_does_not_tell_where_the_clone_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.coursekit]\n")
    (tmp_path / "chapters").mkdir()
    monkeypatch.chdir(tmp_path / "chapters")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert [row.name for row in doctor.table().rows] == [*NAMES, "disk"]
    assert str(tmp_path) not in repr(doctor.table())
    assert str(tmp_path) in repr(doctor.table(Course(tmp_path)))


def test_text_and_html_hold_the_same_and_html_is_escaped() -> None:
    report = doctor.Report((doctor.Row("disk", "<1 GB", doctor.MISSING, "make room"),))
    assert "<1 GB" in repr(report) and "make room" in repr(report)
    assert "&lt;1 GB" in report._repr_html_() and "<1 GB" not in report._repr_html_()


def test_only_what_the_course_needs_makes_it_incomplete() -> None:
    assert doctor.Report((doctor.Row("GPU", "none", doctor.OPTIONAL),)).complete
    assert not doctor.Report((doctor.Row("NumPy", "not installed", doctor.MISSING),)).complete


@pytest.mark.parametrize("threads", [1, 2])
def test_who_shares_a_server_is_told_what_to_set(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = {"user_api": "blas", "internal_api": "openblas", "version": "1", "num_threads": threads}
    monkeypatch.setattr("threadpoolctl.threadpool_info", lambda: [pool])
    assert ("OPENBLAS_NUM_THREADS=1" in doctor.blas().found) == (threads > 1)


def test_without_programs_each_row_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    monkeypatch.setenv("PATH", "")
    assert doctor.gpu().found == "none found; kernels are simulated on the CPU"
    assert "grade" in doctor.sandbox().remedy
    assert "plain layout" in doctor.pictures().found and doctor.pictures().state == doctor.OPTIONAL
    assert doctor.git().state == doctor.OPTIONAL


@pytest.mark.parametrize(
    ("wanted", "missing", "found", "remedy"),
    [
        ("", "CuPy is not installed: pip install x", "; kernels are simulated", "CuPy is not installed: pip"),
        ("gpu", "CuPy finds no GPU", "; kernels are simulated", "to use it: CuPy finds no GPU"),
        ("simulate", None, "; MINILIB_CUDA=simulate, so kernels are simulated", ""),
        ("", None, "; kernels run on it", ""),
    ],
)
def test_of_a_card_it_says_whether_kernels_run_on_it(
    monkeypatch: pytest.MonkeyPatch, wanted: str, missing: str | None, found: str, remedy: str
) -> None:
    card = "NVIDIA H200, 143771 MiB"
    monkeypatch.setenv("MINILIB_CUDA", wanted)
    monkeypatch.setattr(doctor, "_output", lambda *command: card)
    monkeypatch.setattr(import_module("warplens.backend"), "missing_for_gpu", lambda: missing)
    row = doctor.gpu()
    assert row.found == card + found and remedy in row.remedy
    assert (row.state == doctor.OK) == found.endswith("run on it")


def test_a_container_limit_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"cpu.max": "50000 100000", "memory.max": "1000000000"}
    monkeypatch.setattr(doctor, "_cgroup", limits.__getitem__)
    assert doctor.cores().found.endswith("of which 0.5 may be used")
    assert doctor.memory().state == doctor.MISSING
