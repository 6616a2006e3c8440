"""When hand-ins were made, by the platform's list: files in its zip file may carry the time of the download.

Read are Moodle's grading worksheet, Gradescope's grades, and any CSV with the columns "student" and
"handed in". Times are the platform's clock, as those in the rules are.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from coursekit.errors import CourseError
from coursekit.files import read_text

WHO = ("Identifier", "Submission ID", "ID", "Full name", "student")
WHEN = ("Last modified (submission)", "Submission Time", "handed in")
MOODLE = "%A, %d %B %Y, %I:%M %p"  # Sunday, 1 November 2026, 6:00 PM


def read_times(path: Path) -> dict[str, datetime]:
    """The time of each hand-in, by the platform's number for the student and by name."""
    reader = csv.DictReader(io.StringIO(read_text(path).removeprefix("\ufeff")), restval="")
    columns = reader.fieldnames or []
    who = [column for column in WHO if column in columns]
    when = next((column for column in WHEN if column in columns), "")
    if not who or not when:
        raise CourseError(
            f"{path}: expected a column for the student and one for the time, such as student and handed in"
        )
    found = {}
    for row in reader:
        text = row[when].strip()
        if text.strip("-"):  # who has handed in nothing
            time = _time(f"{path}, line {reader.line_num}", text)
            found.update({row[column].removeprefix("Participant ").strip(): time for column in who})
    return found


def _time(where: str, text: str) -> datetime:
    for read in (datetime.fromisoformat, lambda one: datetime.strptime(one, MOODLE)):
        try:
            return read(re.sub(r"\s+(?=[+-]\d\d:?\d\d$)", "", text)).replace(tzinfo=None)
        except ValueError:
            continue
    raise CourseError(
        f"{where}: {text!r} is no time; expected 2026-11-01 18:00 or {datetime(2026, 11, 1, 18):{MOODLE}}"
    )


def ids(grades: str) -> Mapping[str, str]:
    """The platform's number of each student, by name, from the table `grades`."""
    return {
        row["Student"]: row.get("ID", "") for row in csv.DictReader(io.StringIO(grades)) if "Student" in row
    }
