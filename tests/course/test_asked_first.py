"""An answer that hands back a program or a rule is asked before the numbers are drawn on which that runs.

Numbers that are there already can be read from frames, worked out, and written down in place of the program.
So here the reference, once it has answered, winds the generator of the hidden test to another place: what the
test shows has to be something else then. Where a hidden test of its own asks, the others ask no more.
"""

from __future__ import annotations

import pytest
from graded import COURSE

from coursekit.grading.assemble import Chapter, assemble, load_chapter
from coursekit.grading.compare import against
from coursekit.grading.flow import info
from coursekit.grading.model import NotebookRun
from coursekit.grading.run import run_notebooks
from coursekit.grading.sandbox import Box

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

PROGRAMS = {  # by notebook: exercise -> what is asked
    "05e_loops": {"5.26": "total"},
    "09b_gradients": {"9.9": "hessian_vector", "9.10": "forward_gradient"},
    "09c_passes": {"9.16": "loop_lines"},
    "09d_tracing": {"9.20": "lines"},
    "10c_declutter": {"10.10": "batch_norm_into_conv", "10.11": "transpose_twice", "10.13": "gelu"},
}
WOUND = """

plain_answer = {name}


def {name}(*arguments, **options):
    import sys

    made = plain_answer(*arguments, **options)
    frame = sys._getframe()
    while frame is not None:
        if "rng" in frame.f_globals and hasattr(frame.f_globals["rng"], "bit_generator"):
            frame.f_globals["rng"].bit_generator.advance(1000)
        frame = frame.f_back
    return made
"""


def wound(chapter: Chapter, asked: dict[str, str]) -> dict[str, str]:
    """The reference's answers, each of which winds the generator when it has answered."""
    by_number = {one.number: one.reference for one in chapter.exercises}
    return {number: by_number[number] + WOUND.format(name=name) for number, name in asked.items()}


def graded(chapter: Chapter, answers: dict[str, str]) -> dict[str, NotebookRun]:
    """The hidden tests of these exercises, over the reference and over these answers."""
    made = {
        "reference": assemble(chapter, chapter.reference()),
        "answer": assemble(chapter, answers),
    }
    for notebook in made.values():
        notebook.cells = [
            cell
            for cell in notebook.cells
            if info(cell)["role"] != "hidden" or info(cell)["exercise"] in answers
        ]
    return run_notebooks(made, course=COURSE, seed=7, box=Box.required(), workers=1, timeout=120)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_numbers_are_drawn_when_the_program_is_there(name: str) -> None:
    chapter, asked = load_chapter(COURSE.solutions / f"{name}.ipynb"), PROGRAMS[name]
    runs = graded(chapter, wound(chapter, asked))
    assert {cell.status for cell in (*runs["reference"].cells, *runs["answer"].cells)} == {"ok"}
    decide = against(runs["reference"], {})
    assert [cell.grade_id for cell in runs["answer"].cells if decide(cell) is None] == []


APART = {"05a_elements": ("5.6", "way_back", "SAID")}  # and what there is once all has been asked
ONCE = """

plain_answer = {name}


def {name}(*arguments, **options):
    assert "{said}" not in globals(), "asked when there may be numbers"
    return plain_answer(*arguments, **options)
"""


@pytest.mark.parametrize("name", APART)
def test_who_was_asked_in_a_test_before_is_not_asked_again(name: str) -> None:
    chapter, (number, function, said) = load_chapter(COURSE.solutions / f"{name}.ipynb"), APART[name]
    (answer,) = (one.reference for one in chapter.exercises if one.number == number)
    cells = graded(chapter, {number: answer + ONCE.format(name=function, said=said)})["answer"].cells
    assert len(cells) > 1 and {cell.status for cell in cells} == {"ok"}
