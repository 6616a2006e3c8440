"""The instructor's desk: from a platform's export to its gradebook, with second thoughts, and again."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import shutil
import stat
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny_course as tiny
from graded import Exercises
from replay import Replay

from coursekit import __main__ as command
from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.files import write_record, write_text
from coursekit.grading import control, gradebook, learned
from coursekit.grading.assemble import Chapter, find_notebook, load_chapter
from coursekit.grading.feedback import feedback
from coursekit.grading.handins import LARGEST
from coursekit.grading.learned import Row
from coursekit.grading.markdown import task
from coursekit.grading.overrides import Overrides
from coursekit.grading.pointers import hidden_imports, identical, imported
from coursekit.grading.results import ExerciseResult, Result
from coursekit.grading.sandbox import Box
from coursekit.grading.similar import form, similar
from coursekit.grading.submissions import Submission, collect

ROOT = Path(__file__).parents[2]
CANVAS = r"([^_]+)_(?:LATE_)?(?P<id>\d+)_\d+_.*"
MOODLE = r"(.+?)_(?P<id>\d+)_assignsubmission_.*"
CLASSROOM = r"(.+?) - .*"
RIGHT = tiny.reference_answers()


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return tiny.make_tiny_course(tmp_path_factory.mktemp("desk") / "course")


@pytest.fixture(scope="module")
def chapter(course: Course) -> Chapter:
    return load_chapter(find_notebook(course.solutions, "01"))


def written(answers: Mapping[str, str] | None = None) -> bytes:
    """A student's notebook, as a file."""
    return json.dumps(tiny.submission(RIGHT if answers is None else answers)).encode()


def double(factor: str) -> bytes:
    """A notebook that one can tell from others."""
    return written({"1.1": f"# exercise: 1.1\ndef double(x):\n    return x * {factor}"})


Entry = tuple[str, bytes, tuple[int, int]]  # name, content, (day of November 2026, hour)


def zipped(*entries: Entry) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, (day, hour) in entries:
            archive.writestr(
                zipfile.ZipInfo(name, (2026, 11, day, hour, 0, 0)), content, zipfile.ZIP_DEFLATED
            )
    return file.getvalue()


def put(path: Path, content: bytes, hour: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (1_800_000_000 + 3600 * hour,) * 2)
    return path


def grade(course: Course, submitted: Path, out: Path, *more: str) -> int:
    """The command, boxed where this machine can."""
    try:
        Box.required()
        sandbox = "required"
    except CourseError:
        sandbox = "off"
    where = ["--course", str(course.root), "grade", "01", str(submitted), "--out", str(out)]
    return command.main([*where, "--seed", "7", "--sandbox", sandbox, *more])


# Two hundred students


def _variants() -> dict[str, list[tuple[str | None, int]]]:
    """By exercise: answers and the points that they earn."""
    wrong = re.findall(r"# %% exercise=(\S+) hint=.*\n((?:(?!# %%).*\n)+)", tiny.MISCONCEPTIONS)
    points = {"1.1": (2, 0), "1.2": (3, 1), "1.3": (2, 0)}
    return {
        key: [(RIGHT[key], full), (tiny.ALTERNATIVES[key], full), (None, 0)]
        + [(source, part) for exercise, source in wrong if exercise == key]
        for key, (full, part) in points.items()
    }


class Class:
    """200 students of Canvas: resubmissions, late pairs, zip files, and two that cannot be graded."""

    def __init__(self) -> None:
        self.random = random.Random(12)
        self.variants = _variants()
        self.expected: dict[str, list[int]] = {}
        self.entries: list[Entry] = []
        for number in range(200):
            self._hand_in(f"student{number:03}", number)

    def _written(self, student: str) -> bytes:
        chosen = {key: self.random.choice(of) for key, of in self.variants.items()}
        self.expected[student] = [points for _, points in chosen.values()]
        return written({key: source for key, (source, _) in chosen.items() if source})

    def _hand_in(self, student: str, number: int) -> None:
        stem = f"{student}_{1000 + number}_{5000 + number}_01_tiny"
        if number == 7:
            self.entries.append((f"{stem}.ipynb", b'{"cells": [', (2, 9)))
        elif number == 8:
            self.entries.append((f"{stem}.zip", zipped(("../../01_tiny.ipynb", b"{}", (2, 9))), (2, 9)))
        elif number % 10 == 1:  # one more, which is newer
            self.entries.append((f"{stem}.ipynb", self._written(student), (2, 9)))
            self.entries.append((f"{stem}-1.ipynb", self._written(student), (3, 9)))
        elif number % 10 == 2:  # in time and late
            late = stem.replace("_", "_LATE_", 1)
            self.entries.append((f"{stem}.ipynb", self._written(student), (2, 9)))
            self.entries.append((f"{late}.ipynb", self._written(student), (2, 10)))
        elif number % 10 == 3:
            inner = ("my work/part one/01_tiny.ipynb", self._written(student), (2, 9))
            self.entries.append((f"{stem}.zip", zipped(inner, ("__MACOSX/._x.ipynb", b"", (2, 9))), (2, 9)))
        else:
            self.entries.append((f"{stem}.ipynb", self._written(student), (2, 9)))

    def again(self, student: str, answers: Mapping[str, str], points: list[int]) -> None:
        """One more hand-in after the first grading."""
        number = int(student[-3:])
        name = f"{student}_{1000 + number}_{9000 + number}_01_tiny-2.ipynb"
        self.entries.append((name, written(answers), (20, 9)))
        self.expected[student] = points


class Desk:
    """What the instructor does: grades, has second thoughts, grades again, and once more."""

    def __init__(self, course: Course, root: Path) -> None:
        self.course, self.out = course, root / "grades"
        self.students, self.export = Class(), root / "submissions.zip"
        self.codes = [self.grade()]
        self.first, self.first_expected = self.files(), dict(self.students.expected)
        self.students.again("student000", RIGHT, [2, 3, 2])
        self.students.again("student001", {}, [0, 0, 0])
        self.overrides = root / "mine.csv"
        self.overrides.write_text(
            "\ufeffstudent;exercise;points;comment\r\n"
            "student004;1.2;2,5;You $saw$ it, see `np.sum`\r\n"
            "student005;;;<b>Well done</b>\r\n"
            "nobody;1.1;1;\r\n"
            "student007;1.1;1;\r\n",
            encoding="utf-8",
        )
        self.codes.append(self.grade("--overrides", str(self.overrides)))
        self.second = self.files()
        self.report = (self.out / "report.html").read_text()
        self.codes.append(self.grade())

    def grade(self, *more: str) -> int:
        self.export.write_bytes(zipped(*self.students.entries))
        return grade(self.course, self.export, self.out, "--names", CANVAS, *more)

    def files(self) -> dict[str, bytes]:
        kept = [self.out / "grades.csv", self.out / "grades_long.csv", *self.out.glob("feedback/*/*.html")]
        return {str(path.relative_to(self.out)): path.read_bytes() for path in kept}

    def wide(self) -> dict[str, dict[str, str]]:
        return {
            row["Student"]: row for row in csv.DictReader(io.StringIO(self.second["grades.csv"].decode()))
        }

    def page(self, student: str) -> str:
        return self.second[os.path.join("feedback", student, "01.html")].decode()


@pytest.fixture(scope="module")
def desk(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(control, "run_notebooks", Replay())
        yield Desk(course, tmp_path_factory.mktemp("two hundred"))


@pytest.mark.slow
@pytest.mark.nightly
class TestTwoHundredStudents:
    def test_each_earns_what_the_newest_submission_deserves(self, desk: Desk) -> None:
        rows = csv.DictReader(io.StringIO(desk.first["grades.csv"].decode()))
        found = {row["Student"]: [row["1.1"], row["1.2"], row["1.3"], row["Grade"]] for row in rows}
        assert len(found) == 200
        for student, points in desk.first_expected.items():
            assert found[student] == [*map(str, points), str(sum(points))], student

    def test_two_could_not_be_graded_and_get_no_zero(self, desk: Desk) -> None:
        assert desk.codes == [1, 1, 1]
        for student, reason in (("student007", "not JSON"), ("student008", "outside of itself (../../01")):
            row = desk.wide()[student]
            assert (row["1.1"], row["Grade"], row["Maximum Grade"]) == ("", "", "7")
            assert reason in desk.report

    def test_platforms_find_their_columns(self, desk: Desk) -> None:
        head = desk.second["grades.csv"].decode().splitlines()[0]
        moodles = "Identifier", "Last modified (grade)"  # its worksheet is refused without the second
        columns = ["Student", "ID", "Section", "1.1", "1.2", "1.3", "Grade", "Maximum Grade", *moodles]
        assert head == ",".join(f'"{column}"' for column in columns)
        row = desk.wide()["student011"]
        assert (row["ID"], row["Identifier"]) == ("1011", "Participant 1011")

    def test_the_report_says_which_of_several_was_graded(self, desk: Desk) -> None:
        assert len(re.findall(r"student\d+: graded is the newest, ", desk.report)) == 41
        late = "graded is the newest, student012_LATE_1012_5012_01_tiny.ipynb (02 November 2026, 10:00:00)"
        assert late in desk.report

    def test_the_instructors_points_and_comments_are_told_as_theirs(self, desk: Desk) -> None:
        row = desk.wide()["student004"]
        assert row["1.2"] == "2.5"
        page = desk.page("student004")
        assert "Your instructor" in page and "2.5 points instead of the tests" in page
        assert "<code>np.sum</code>" in page
        assert "&lt;b&gt;Well done&lt;/b&gt;" in desk.page("student005")
        assert "Your instructor" not in desk.page("student006")
        long = list(csv.DictReader(io.StringIO(desk.second["grades_long.csv"].decode())))
        mine = next(row for row in long if (row["student"], row["exercise"]) == ("student004", "1.2"))
        assert mine["verdict"].startswith("set by the instructor; the tests, ")
        assert mine["comment"] == "You $saw$ it, see `np.sum`"

    def test_lines_that_change_nothing_are_remarked(self, desk: Desk) -> None:
        assert "mine.csv, line 4: no submission of nobody" in desk.report
        assert "mine.csv, line 5: student007 was not graded" in desk.report

    def test_a_regrade_shows_what_changed_and_why(self, desk: Desk) -> None:
        section = desk.report.split("Against the last run")[1].split("<h2>")[0]
        changed = re.findall(r"<td>(student\d+)</td>.*?<td>(.*?)</td>", section, re.DOTALL)
        first, second = desk.first_expected, desk.students.expected
        differ = [
            (student, "another submission")
            for student in ("student000", "student001")
            for before, after in zip(first[student], second[student], strict=True)
            if before != after
        ]
        assert len(differ) > 1
        assert changed == [*differ, ("student004", "your points")]

    def test_the_old_results_are_kept(self, desk: Desk) -> None:
        kept = [path for path in (desk.out / "earlier").iterdir() if path.is_dir()]
        assert len(kept) == 2
        old = {
            str(path.relative_to(folder)): path.read_bytes()
            for folder in sorted(kept)[:1]
            for path in folder.rglob("*")
            if path.is_file()
        }
        assert {name: old[name] for name in desk.first} == desk.first
        assert {"report.html", "junit.xml", "exercises.csv"} <= old.keys()

    def test_overrides_survive_and_the_same_seed_gives_the_same_bytes(self, desk: Desk) -> None:
        assert desk.files() == desk.second
        assert "All points are those of the last run." in (desk.out / "report.html").read_text()


# What platforms export


def students(found: list[Submission]) -> list[tuple[str, str, str]]:
    return [(one.student, one.id, one.refused) for one in found]


def test_moodle_names_its_folders_after_students(chapter: Chapter, tmp_path: Path) -> None:
    when = (2, 9)
    export = put(
        tmp_path / "Course-Chapter 1-77.zip",
        zipped(
            ("Ada Lovelace_41_assignsubmission_file/01_tiny.ipynb", written(), when),
            ("Ada Lovelace_42_assignsubmission_file_/deep/er/01_tiny.ipynb", written(), when),
            ("Grace Hopper_43_assignsubmission_file/all.zip", zipped(("x/01.ipynb", written(), when)), when),
            ("Alan Turing_44_assignsubmission_file/report.pdf", b"%PDF", when),
        ),
    )
    found, remarks = collect(export, chapter, MOODLE)
    assert students(found) == [
        ("Ada Lovelace (41)", "41", ""),
        ("Ada Lovelace (42)", "42", ""),  # another person of the same name
        ("Alan Turing", "44", "no notebook in the folder; expected one *.ipynb"),
        ("Grace Hopper", "43", ""),
    ]
    assert remarks == []
    with zipfile.ZipFile(export) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert students(collect(tmp_path / "unpacked", chapter, MOODLE)[0]) == students(found)


def test_classroom_names_its_copies_after_students(chapter: Chapter, tmp_path: Path) -> None:
    export = put(
        tmp_path / "drive-download.zip",
        zipped(
            ("Chapter 1 - autograd/Ada Lovelace - 01_tiny.ipynb", double("2"), (2, 9)),
            ("Chapter 1 - autograd/Ada Lovelace - 01_tiny(1).ipynb", double("3"), (2, 9)),
            ("Chapter 1 - autograd/Zoë - 01_tiny.ipynb", double("4"), (2, 9)),
        ),
    )
    found, remarks = collect(export, chapter, CLASSROOM)
    assert students(found) == [("Ada Lovelace", "", ""), ("Zoë", "", "")]
    assert "x * 3" in found[0].answers["1.1"]  # of one time, the higher number
    assert len(remarks) == 1 and "Ada Lovelace - 01_tiny(1).ipynb" in remarks[0]


GRADESCOPE = """---
submission_901:
  :submitters:
  - :name: Ada Lovelace
    :sid: '12'
    :email: ada@example.org
  - :name: "Zo\u00eb: O'Neil"
    :sid: '13'
  :created_at: 2026-11-01 18:00:00.463867000 Z
  :history:
  - :id: 900
    :created_at: 2026-10-01 18:00:00.463867000 Z
submission_902:
  :submitters:
  - :name: Alan Turing
    :sid:
  :created_at: 2026-11-04 09:05:00.000000000 Z
"""


def test_gradescopes_list_names_its_folders_and_times(
    chapter: Chapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    top, fetched = "assignment_7_export", (10, 8)
    export = put(
        tmp_path / "export.zip",
        zipped(
            (f"{top}/submission_901/01_tiny.ipynb", double("2"), fetched),
            (f"{top}/submission_902/01_tiny.ipynb", double("3"), fetched),
            (f"{top}/submission_metadata.yml", GRADESCOPE.encode(), fetched),
        ),
    )
    found, remarks = collect(export, chapter)
    assert students(found) == [("Ada Lovelace and Zo\u00eb: O'Neil", "12", ""), ("Alan Turing", "", "")]
    assert [one.handed_in for one in found] == ["2026-11-01 18:00:00", "2026-11-04 09:05:00"]
    assert [one.place for one in found] == ["submission_901", "submission_902"] and not remarks
    with zipfile.ZipFile(export) as archive:
        archive.extractall(tmp_path)
    unpacked, remarks = collect(tmp_path / top, chapter)
    assert students(unpacked) == students(found) and not remarks


def test_a_students_own_list_renames_nobody(chapter: Chapter, tmp_path: Path) -> None:
    export = put(
        tmp_path / "export.zip",
        zipped(
            ("ada/submission_metadata.yml", GRADESCOPE.replace("submission_902", "bob").encode(), (10, 8)),
            ("ada/01_tiny.ipynb", double("2"), (10, 8)),
            ("bob/01_tiny.ipynb", double("3"), (10, 8)),
        ),
    )
    assert [one.student for one in collect(export, chapter)[0]] == ["ada", "bob"]


def test_of_a_clone_of_the_bundle_what_was_written_is_graded(chapter: Chapter, tmp_path: Path) -> None:
    for who in ("ada", "bob"):
        clone = tmp_path / f"minilib-{who}"
        for number in range(60):
            put(clone / "chapters" / f"{number:02}_lesson.ipynb", written({}), hour=9)
        put(clone / "exercises" / "01_exercises.ipynb", written({}), hour=9)
    put(tmp_path / "minilib-ada" / "work" / "exercises" / "01_exercises.ipynb", double("3"))
    put(tmp_path / "minilib-ada" / "work" / "exercises" / "01_exercises-Copy1.ipynb", double("4"), hour=2)
    found, remarks = collect(tmp_path, chapter, "minilib-(.+)")
    assert [one.student for one in found] == ["ada", "bob"] and not remarks
    assert "x * 3" in found[0].answers["1.1"] and not found[0].note
    assert "a clone without work/exercises/01_exercises.ipynb" in found[1].refused


def test_nobody_gets_into_anothers_place_by_the_name_of_a_file(chapter: Chapter, tmp_path: Path) -> None:
    folder = tmp_path / "Ada_1_assignsubmission_file"
    put(folder / "Grace_2_assignsubmission_file" / "01_tiny.ipynb", written())
    assert students(collect(tmp_path, chapter, MOODLE)[0]) == [("Ada", "1", "")]


def test_of_files_the_newest_that_can_be_read_is_graded(chapter: Chapter, tmp_path: Path) -> None:
    put(tmp_path / "ada" / "new" / "01.ipynb", double("2"), hour=2)
    put(tmp_path / "ada.ipynb", double("3"), hour=1)
    put(tmp_path / "ada" / "broken.ipynb", b"{", hour=3)
    put(tmp_path / "ada" / ".ipynb_checkpoints" / "01.ipynb", double("4"), hour=9)
    put(tmp_path / "ada" / "02.ipynb", json.dumps(tiny.notebook(tiny.code("1"))).encode(), hour=9)
    (found,), (remark,) = collect(tmp_path, chapter)
    assert "x * 2" in found.answers["1.1"] and not found.refused
    assert (
        "not ada.ipynb (" in remark
        and "a newer one was passed over: broken.ipynb is not a notebook" in remark
    )


def _link() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        entry = zipfile.ZipInfo("01_tiny.ipynb")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return file.getvalue()


def _lzma() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("01_tiny.ipynb", "{}")
    return file.getvalue()


def _locked() -> bytes:
    content = bytearray(zipped(("01_tiny.ipynb", b"{}", (2, 9))))
    for mark in (b"PK\x03\x04", b"PK\x01\x02"):
        content[content.index(mark) + (6 if mark.endswith(b"\x04") else 8)] |= 1
    return bytes(content)


def _damaged() -> bytes:
    content = bytearray(zipped(("01_tiny.ipynb", written(), (2, 9))))
    content[60:90] = bytes(30)
    return bytes(content)


WHEN = (2, 9)
BAD_ZIPS: dict[str, tuple[Callable[[], bytes], str]] = {
    "none": (lambda: b"no zip", "is no zip file that can be read"),
    "empty": (lambda: zipped(), "no notebook in empty.zip"),
    "bomb": (lambda: zipped(("01.ipynb", bytes(3 * LARGEST), WHEN)), "01.ipynb is larger than 10 MB"),
    "large": (lambda: b"PK\x03\x04" + os.urandom(LARGEST), "large.zip is larger than 10 MB"),
    "up": (lambda: zipped(("a/../../01.ipynb", written(), WHEN)), "names a place outside of itself"),
    "root": (lambda: zipped(("/01.ipynb", written(), WHEN)), "names a place outside of itself"),
    "drive": (lambda: zipped(("C:01.ipynb", written(), WHEN)), "names a place outside of itself"),
    "windows": (lambda: zipped(("..\\01.ipynb", written(), WHEN)), "names a place outside of itself"),
    "link": (_link, "is a symbolic link"),
    "lzma": (_lzma, "packed in an unusual way"),
    "locked": (_locked, "locked with a password"),
    "damaged": (_damaged, "is damaged in its zip file"),
    "many": (lambda: zipped(*[(f"{i}.txt", b"", WHEN) for i in range(5001)]), "more than 5000 files"),
    "nested": (
        lambda: zipped(("a.zip", zipped(("b.zip", zipped(("01.ipynb", written(), WHEN)), WHEN)), WHEN)),
        "lies in a zip file in a zip file",
    ),
    "copies": (lambda: zipped(*[(f"{i}.ipynb", b"{}", WHEN) for i in range(60)]), "60 notebooks"),
}


@pytest.mark.parametrize("name", BAD_ZIPS)
def test_a_bad_zip_file_is_one_line_and_nothing_is_written(
    name: str, chapter: Chapter, tmp_path: Path
) -> None:
    make, reason = BAD_ZIPS[name]
    folder = tmp_path / "hand in"
    put(folder / f"{name}.zip", make())
    put(folder / "good.zip", zipped(("01.ipynb", written(), WHEN)))
    before = sorted(tmp_path.rglob("*"))
    found = {one.student: one.refused for one in collect(folder, chapter)[0]}
    assert found["good"] == "" and reason in found[name] and "\n" not in found[name]
    assert sorted(tmp_path.rglob("*")) == before


def test_one_students_strange_name_does_not_cost_the_class_its_zip_file(
    chapter: Chapter, tmp_path: Path
) -> None:
    names = (
        "Ada_1_assignsubmission_file/01.ipynb",
        "Bob_2_assignsubmission_file/a\\..\\b.ipynb",
        "../../etc/x.ipynb",
    )
    export = put(tmp_path / "x.zip", zipped(*[(name, written(), WHEN) for name in names]))
    found, remarks = collect(export, chapter, MOODLE)
    assert [(one.student, bool(one.refused)) for one in found] == [("Ada", False), ("Bob", True)]
    assert remarks == ["etc: passed over: its name does not match --names"]


def test_a_platforms_zip_file_that_is_none_is_one_line(chapter: Chapter, tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"x\.zip is no zip file that can be read"):
        collect(put(tmp_path / "x.zip", b"PK"), chapter)


@pytest.mark.slow
def test_links_and_crowds_in_a_folder_are_one_line(chapter: Chapter, tmp_path: Path) -> None:
    put(tmp_path / "hidden.ipynb", written())
    folder = tmp_path / "hand in"
    put(folder / "ada" / "deep" / "notes.txt", b"")
    os.symlink(tmp_path / "hidden.ipynb", folder / "ada" / "deep" / "01_tiny.ipynb")
    (folder / "bob").mkdir()
    os.symlink(tmp_path, folder / "bob" / "inner")
    for number in range(5001):
        put(folder / "crowd" / f"{number}.txt", b"")
    found = {one.student: one.refused for one in collect(folder, chapter)[0]}
    assert "01_tiny.ipynb is a symbolic link" in found["ada"]
    assert "inner is a symbolic link" in found["bob"]
    assert "more than 5000 files" in found["crowd"]


def test_the_page_for_instructors_has_the_patterns_that_are_tested_here() -> None:
    text = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
    for pattern in (MOODLE, CANVAS, CLASSROOM):
        assert f"`'{pattern}'`" in text


# The instructor's points


@pytest.mark.parametrize(
    "name, text, message",
    [
        (
            "a.csv",
            "name,points\nada,1\n",
            "a.csv, line 1: expected the columns student, exercise, points, comment",
        ),
        ("a.csv", "", "a.csv, line 1: expected the columns"),
        ("a.csv", "student,exercise,points\nada,9.9,1\n", "line 2: no exercise '9.9' in this chapter"),
        ("a.csv", "student,exercise,points\nada,1.1,3\n", "line 2: 1.1 has from 0 to 2 points, not '3'"),
        ("a.csv", "student,exercise,points\nada,1.1,nan\n", "1.1 has from 0 to 2 points, not 'nan'"),
        ("a.csv", "student,exercise,points\nada,,1\n", "points need an exercise"),
        ("a.csv", "student,exercise,points\nada,1.1,\n", "needs a student, and points or a comment"),
        ("a.csv", "student,exercise,points\nada,1.1,1\nada,1.1,2\n", "line 3: a second line for ada, 1.1"),
        ("a.toml", "[[override]", "is not TOML"),
        ("a.toml", "override = 1", "expected tables that begin with [[override]]"),
        ("a.toml", "[[override]]\nstuden = 'ada'", "expected the columns"),
        ("a.csv", b"student,comment\nada,\xe4\n", "is not UTF-8 text"),
    ],
)
def test_a_mistake_in_overrides_is_one_line(
    chapter: Chapter, tmp_path: Path, name: str, text: str | bytes, message: str
) -> None:
    path = put(tmp_path / name, text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CourseError, match=re.escape(message)) as raised:
        Overrides(chapter, path)
    assert "\n" not in str(raised.value)


def _result(chapter: Chapter, student: str) -> Result:
    exercises = tuple(ExerciseResult(one, 0, ("wrong",)) for one in chapter.exercises)
    return Result(Submission(student, student, "x.ipynb"), exercises)


def test_overrides_in_toml(chapter: Chapter, tmp_path: Path) -> None:
    text = "[[override]]\nstudent = 'Ada'\nexercise = '1.1'\npoints = 1.5\ncomment = '''Two\nlines'''\n"
    found = Overrides(chapter, put(tmp_path / "a.toml", text.encode())).applied(_result(chapter, "Ada"))
    first = found.exercises[0]
    assert (found.points, first.points, first.tested, first.comment) == (1.5, 1.5, 0, "Two\nlines")


def test_a_name_that_a_spreadsheet_would_run_is_found_in_both_spellings(
    chapter: Chapter, tmp_path: Path
) -> None:
    for name in ("=cmd()", "'=cmd()"):
        path = put(tmp_path / "a.csv", f"student,exercise,points\n{name},1.1,2\n".encode())
        overrides = Overrides(chapter, path)
        result = _result(chapter, "=cmd()")
        assert overrides.applied(result).points == 2
        assert list(overrides.unused([result])) == []


def test_points_of_the_run_before_that_are_gone_stop_the_next(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in" / "ada.ipynb", written())
    record = json.dumps({"chapter": "01", "seed": 1, "done": True, "overrides": str(tmp_path / "gone.csv")})
    put(tmp_path / "out" / ".coursekit" / "run.json", record.encode())
    assert grade(course, tmp_path / "in", tmp_path / "out") == 2
    assert "gone.csv: is gone, and held your points and comments" in capsys.readouterr().err


# What an answer imports


def test_answers_that_import_what_the_grader_hides_are_named_in_words(
    course: Course, chapter: Chapter
) -> None:
    answers = {
        "1.1": "import os, numpy as np\nfrom minilib.draw import picture\nx = 1; import torch.nn",
        "1.2": "from minilib import (draw,\n    tiny)\nfrom coursekit import add_to\n"
        "__import__('coursekit.grading.run')",
        "1.3": "important = 1\nfrom_here = 2\nimport graphviz, math  # both\n'''\nimport the rest\n'''",
    }
    found = hidden_imports(
        course, chapter, [Submission("Ada", "Ada", "x", answers), Submission("Bob", "Bob", "x")]
    )
    assert found == [
        "Ada: 1.1 imports `torch.nn`, 1.2 imports `minilib.tiny` and `coursekit.grading.run`, "
        "which the grader hides; read the answer"
    ]


def test_reading_imports_takes_no_time_on_hostile_text() -> None:
    for text in (
        "import " + "a, " * 100_000,
        "from " * 100_000,
        "from a import (" + "\n" * 100_000,
        ";" * 10**6,
    ):
        list(imported(text))


# Feedback


def test_formulas_are_set_without_a_script(chapter: Chapter) -> None:
    made = task(r"Let $\frac{a}{b} < x_1$ and" + "\n\n" + r"$$\sum_i x_i$$" + "\n\nwith `$not$`.")
    assert (
        "<mfrac>" in made and "<msub>" in made and '<math xmlns="http://www.w3.org/1998/Math/MathML"' in made
    )
    assert 'display="block"' in made and "<code>$not$</code>" in made
    assert "\\frac" not in made


def test_code_in_a_hint_is_code() -> None:
    made = task("<details><summary>First</summary>Write <code>a *= b &lt; c</code>.</details>")
    assert "<code>a *= b &lt; c</code>" in made


@pytest.mark.parametrize("latex", [r"\text{<script>}", r"\href{javascript:x}{y}", r"\frac{", r"\left("])
def test_a_formula_that_cannot_be_set_stands_as_it_was_typed(latex: str) -> None:
    made = task(f"x ${latex}$ y")
    assert "<script" not in made and "href=" not in made


@pytest.mark.slow
def test_every_formula_of_the_course_is_set() -> None:
    for path in sorted((ROOT / "solutions").glob("*.ipynb")):
        for exercise in load_chapter(path).exercises:
            made = task(exercise.task)
            assert not re.search(r"<code>[^<]*\\[a-z]+\{", made), exercise.name
            assert "&lt;code" not in made, exercise.name
            outside = re.sub(r"<(code|pre)\b.*?</\1>", "", made, flags=re.DOTALL)
            assert not re.search(r"\\[a-zA-Z]+|\$", outside), exercise.name


def test_full_points_of_the_instructor_look_right(chapter: Chapter, tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", b"student,exercise,points\nAda,1.1,2\n")
    page = feedback(chapter, Overrides(chapter, path).applied(_result(chapter, "Ada")))
    assert page.count('class="good number" title="right"') == 2


# A new exercise


def test_a_new_exercise_is_told_by_name_what_it_lacks() -> None:
    new = Exercises("01_scalar")
    exercise = replace(new.chapter.exercises[0], number="1.11", title="new", tests=())
    assert new.lacking(exercise) == [
        "1.11 new lacks points: hidden tests with `points` in their metadata",
        "1.11 new lacks a second right answer in solutions/others/01_scalar.py or .cu",
        "1.11 new lacks its line in the table at the end of chapters/01_scalar.ipynb",
    ]


# Make


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("code, fails", [(0, False), (1, False), (2, True)])
def test_what_was_refused_is_no_error_of_make(tmp_path: Path, code: int, fails: bool) -> None:
    stand_in = tmp_path / "python"
    stand_in.write_text(f"#!/bin/sh\nexit {code}\n")
    stand_in.chmod(0o755)
    done = subprocess.run(
        ["make", "grade", f"PYTHON={stand_in}", "NN=01"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode != 0) == fails
    assert ("Error" in done.stderr) == fails


# What an instructor learns, and a term


def rows_of(count: int) -> list[Row]:
    """Students of growing strength: 1.1 goes with it, 1.2 with 1.1, 1.3 with nothing."""
    made = []
    for number in range(count):
        strong = number >= count // 2
        points = {"1.1": 2.0 * strong, "1.2": 3.0 * strong, "1.3": 2.0 * (number % 2)}
        for exercise, most in (("1.1", 2.0), ("1.2", 3.0), ("1.3", 2.0)):
            hint = "" if points[exercise] else f"the mistake in {exercise}"
            made.append(
                Row(
                    f"s{number:02}",
                    exercise,
                    points[exercise],
                    most,
                    hint,
                    0.5,
                    f"# {exercise}{'!' * number}",
                )
            )
    return made


def test_what_tells_strong_from_weak_and_what_goes_wrong_together() -> None:
    rows = rows_of(20)
    found = {one.exercise: one for one in learned.exercises(rows)}
    assert found["1.1"].discrimination > 0.8 and found["1.1"].words == "tells strong from weak"
    assert abs(found["1.3"].discrimination) < 0.1
    (pair,) = learned.together(rows)
    assert (pair.first, pair.second, pair.both, pair.either, pair.phi) == ("1.1", "1.2", 10, 10, 1.0)
    first = learned.mistakes(rows)[0]
    assert (first.exercise, first.count, first.share) == ("1.1", 10, 0.5)
    assert (first.student, first.answer) == ("s00", "# 1.1")  # the shortest
    assert [one.discrimination for one in learned.exercises(rows_of(8))] == [None] * 3


def graded_into(folder: Path, chapter: str, rows: list[tuple[str, float, str, str]]) -> Path:
    head = ["student", "exercise", "points", "maximum", "verdict", "comment", "hint", "handed in", "late"]
    lines = [
        [who, f"{chapter}.1", f"{points:g}", "10", "passed", "", "", when, late]
        for who, points, when, late in rows
    ]
    write_text(folder / "grades_long.csv", gradebook.table(head, lines))
    write_record(folder / ".coursekit" / "run.json", {"chapter": chapter, "seed": 1})
    return folder


RULES = """drop = 1
free_days = 1
per_day = 0.1
[weights]
02 = 2
[due]
01 = 2026-11-02
02 = 2026-11-09T18:00:00
"""


def term(tmp_path: Path, rules: str = RULES) -> dict[str, dict[str, str]]:
    one = graded_into(
        tmp_path / "one", "01", [("ada", 10, "2026-11-02 12:00:00", ""), ("bob", 4, "", "late")]
    )
    two = graded_into(tmp_path / "two", "02", [("ada", 8, "2026-11-11 18:00:01", ""), ("=bob", 5, "", "")])
    three = graded_into(tmp_path / "three", "03", [("ada", 5, "", ""), ("bob", 10, "", "")])
    write_text(tmp_path / "rules.toml", rules)
    folders = [str(one), str(two), str(three)]
    options = ["--out", str(tmp_path / "term"), "--rules", str(tmp_path / "rules.toml")]
    assert command.main(["--course", str(ROOT), "report", *folders, *options]) == 0
    with open(tmp_path / "term" / "gradebook.csv", encoding="utf-8") as file:
        return {row["Student"]: row for row in csv.DictReader(file)}


def test_a_term_has_weights_late_days_and_drops(tmp_path: Path) -> None:
    found = term(tmp_path)
    ada, bob = found["ada"], found["bob"]
    assert ada["Days late"] == "3" and ada["02"] == "64.0"  # one day free, two cost a tenth each
    assert ada["Dropped"] == "03" and ada["Grade"] == f"{(100 + 2 * 64) / 3:.1f}"
    assert (bob["01"], bob["02"], bob["Days late"], bob["Dropped"]) == ("40.0", "", "1", "02")
    assert bob["Grade"] == "70.0"
    assert "'=bob" in found  # no formula
    page = (tmp_path / "term" / "term.html").read_text(encoding="utf-8")
    assert "The term so far" in page and "<script" not in page


@pytest.mark.parametrize(
    "rules, message",
    [
        ("dropp = 1", "does not know 'dropp'"),
        ("drop = -1", "drop is a number from 0"),
        ("drop = 0.5", "drop is a whole number"),
        ("per_day = 2", "per_day is a share"),
        ("due = 3", "expected a table [due]"),
        ("[due]\n01 = 'today'", "due.01 is a date"),
        ("[weights]\n09 = 1", "names chapter 09, of which there is no folder"),
        ("[handed_in]\n01 = 'none.csv'", "none.csv"),
        ("[handed_in]\n01 = 3", "handed_in.01 is the name of a file"),
        ("[days_late.01]\nbob = 1.5", "days_late.01.bob is a whole number"),
        ("[days_late.01]\nbib = 1", "names bib, who handed in nothing of chapter 01"),
        ("[days_late]\n09.bob = 1", "names chapter 09, of which there is no folder"),
        ("[weights]\n01 = 0\n02 = 0\n03 = 0", "all weights are 0"),
        ("drop", "is not TOML"),
    ],
)
def test_a_mistake_in_the_rules_is_one_line(tmp_path: Path, rules: str, message: str, capsys: Any) -> None:
    with pytest.raises(AssertionError):
        term(tmp_path, rules)
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


# The times of hand-ins, as Moodle's grading worksheet, Gradescope's grades and a list of one's own have them
LISTS = {
    "moodle": """\ufeffIdentifier,"Full name","Last modified (submission)",Grade
"Participant 7",ada,"Sunday, 1 November 2026, 6:00 PM",
"Participant 8",bob,"Wednesday, 4 November 2026, 9:05 AM",
"Participant 9",cyd,-,
""",
    "gradescope": """First Name,Last Name,SID,Submission ID,Submission Time,Status
Ada,L,,7,2026-11-01 18:00:00 -0400,Graded
Bob,M,,8,2026-11-04 09:05:00 -0400,Graded
""",
    "mine": "student,handed in\nada,2026-11-01\nbob,2026-11-04 09:05\n",
}


@pytest.mark.parametrize("form", LISTS)
def test_a_platforms_list_tells_when_its_files_carry_the_time_of_the_download(
    tmp_path: Path, form: str, capsys: Any
) -> None:
    fetched = "2026-11-10 08:00:00"
    one = graded_into(tmp_path / "one", "01", [("ada", 10, fetched, ""), ("bob", 10, fetched, "")])
    ids = gradebook.table(["Student", "ID"], [["ada", "7"], ["bob", "8"]])
    write_text(one / "grades.csv", ids)
    write_text(tmp_path / "times.csv", LISTS[form])
    rules = tmp_path / "rules.toml"
    arguments = ["report", str(one), "--out", str(tmp_path / "term"), "--rules", str(rules)]

    write_text(rules, "per_day = 0.1\n[due]\n01 = 2026-11-02\n")
    assert command.main(["--course", str(ROOT), *arguments]) == 2
    said = capsys.readouterr().err
    assert "the time of the download?" in said and said.count("\n") == 1

    write_text(rules, "per_day = 0.1\n[due]\n01 = 2026-11-02\n[handed_in]\n01 = 'times.csv'\n")
    assert command.main(["--course", str(ROOT), *arguments]) == 0
    with open(tmp_path / "term" / "gradebook.csv", encoding="utf-8") as file:
        assert [row["Days late"] for row in csv.DictReader(file)] == ["0", "2"]

    with rules.open("a") as file:
        file.write("[days_late.01]\nbob = 0  # was ill\n")
    assert command.main(["--course", str(ROOT), *arguments]) == 0
    with open(tmp_path / "term" / "gradebook.csv", encoding="utf-8") as file:
        assert [row["Days late"] for row in csv.DictReader(file)] == ["0", "0"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("student,when\nada,today\n", "expected a column for the student and one for the time"),
        ("student,handed in\nada,2026-11-01\nbob,yesterday\n", "line 3: 'yesterday' is no time"),
    ],
)
def test_a_list_of_times_that_cannot_be_read_is_one_line(
    tmp_path: Path, text: str, message: str, capsys: Any
) -> None:
    one = graded_into(tmp_path / "one", "01", [("ada", 10, "", "")])
    write_text(tmp_path / "times.csv", text)
    write_text(tmp_path / "rules.toml", "[handed_in]\n01 = 'times.csv'\n")
    options = ["--out", str(tmp_path / "term"), "--rules", str(tmp_path / "rules.toml")]
    assert command.main(["--course", str(ROOT), "report", str(one), *options]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


# Hand-ins that are the same, and what goes back to a platform


def test_the_same_file_of_two_students_is_pointed_at_and_the_untouched_one_is_not(
    course: Course, chapter: Chapter, tmp_path: Path
) -> None:
    put(tmp_path / "ada" / "01_tiny.ipynb", double("2"))
    os.makedirs(tmp_path / "bob")
    os.link(tmp_path / "ada" / "01_tiny.ipynb", tmp_path / "bob" / "01_tiny.ipynb")
    put(tmp_path / "cy" / "01_tiny.ipynb", double("2.0"))
    for name in ("dan", "eve"):
        put(tmp_path / name / "01_tiny.ipynb", written({}))
    found, _ = collect(tmp_path, chapter)
    assert identical(chapter, found) == [
        "2 handed in the same file, byte by byte; ask how it came about: ada, bob"
    ]


def test_all_wrong_lines_of_an_overrides_file_are_told(chapter: Chapter, tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", b"student,exercise,points\nada,9.9,1\nada,1.1,1\nbob,1.1,30\n")
    with pytest.raises(CourseError) as error:
        Overrides(chapter, path)
    assert [line.split(": ")[0][-6:] for line in str(error.value).split("\n")] == ["line 2", "line 4"]


@pytest.mark.parametrize(
    "place, name",
    [
        ("ada_12_assignsubmission_file_/01_tiny.ipynb", "ada_12_assignsubmission_file_/01_feedback.html"),
        ("ada_LATE_12_345_01_tiny.ipynb", "ada_LATE_12_345_01_tiny.html"),
    ],
)
def test_feedback_goes_back_under_the_names_of_the_platform(
    course: Course, tmp_path: Path, place: str, name: str
) -> None:
    put(tmp_path / "in" / place, double("2"))
    pattern = MOODLE if "assign" in place else CANVAS
    assert grade(course, tmp_path / "in", tmp_path / "out", "--names", pattern) == 0
    with zipfile.ZipFile(tmp_path / "out" / "feedback.zip") as archive:
        assert archive.namelist() == [name]
        page = tmp_path / "out" / "feedback" / "ada" / "01.html"
        assert archive.read(name) == page.read_bytes()
    with open(tmp_path / "out" / "grades_long.csv", encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    assert row["late"] == ("late" if "LATE" in place else "") and row["handed in"].startswith("2027-")


SORTED = """# exercise: 1.3
def order(graph):
    done = []
    while len(done) < len(graph):
        for node, inputs in graph.items():
            if node not in done and all(one in done for one in inputs):
                done.append(node)
    return done"""
RENAMED = (
    SORTED.replace("done", "out")
    .replace("node", "n")
    .replace("inputs", "ins")
    .replace("):\n", "):  # mine\n")
)


def test_similar_answers_are_pointed_at_where_they_are_asked_for(chapter: Chapter) -> None:
    def one(name: str, source: str) -> Submission:
        return Submission(name, name, name, RIGHT | {"1.3": source})

    others = [one(f"s{number}", RIGHT["1.3"]) for number in range(9)]
    made = [one("ada", SORTED), one("bob", RENAMED), one("cy", tiny.ALTERNATIVES["1.3"]), *others]
    assert similar(chapter, made) == ["ada, bob: 1.3 is the same but for names and layout; read both"]
    assert form("def (") == "" and form("[" * 10_000) == ""
