"""docs/exercise.py, from which contributors copy, is graded as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import jupytext
import pytest
from made_course import new_course

from coursekit.files import write_text
from coursekit.grading.assemble import load_chapter
from coursekit.grading.control import Conditions, control, misconceptions_of, unnoticed
from coursekit.grading.hints import hint
from coursekit.grading.sandbox import Box
from coursekit.notebooks import write

TEMPLATE = Path(__file__).parents[2] / "docs" / "exercise.py"


@pytest.mark.slow
def test_the_template_grades_its_reference_and_hints_at_its_wrong_answers(tmp_path: Path) -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    wrong = "".join(
        f"{line}\n" for line in re.findall(r"(?m)^#   ?(.*)$", text.partition("# Wrong answers")[2])
    )
    course = new_course(tmp_path)
    path = course.solutions / "09_template.ipynb"
    write(path, jupytext.reads(text.partition("# Wrong answers")[0], "py:percent"))
    write_text(course.solutions / "misconceptions" / "09_template.py", wrong)
    chapter = load_chapter(path)
    known = misconceptions_of(chapter)
    _, measure = control(chapter, Conditions(course, seed=7, box=Box(), workers=1))
    assert len(known) == 3 and unnoticed(measure) == []
    for one in measure.known:
        failed = [cell for cell in one.cells.values() if measure.decide(cell)]
        assert hint(failed, measure.known, measure.reference, measure.judges) == one.misconception.hint
