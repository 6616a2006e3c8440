"""How much is told of an answer: all where tests are public, else one of a fixed list of sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tiny_course as tiny

from coursekit.box.probe import encode
from coursekit.course import Course
from coursekit.grading.assemble import Chapter, load_chapter
from coursekit.grading.compare import against, difference
from coursekit.grading.feedback import feedback
from coursekit.grading.live import in_html, in_words
from coursekit.grading.model import CellRun, NotebookRun, Probe
from coursekit.grading.report import Run, candidates
from coursekit.grading.results import ExerciseResult, Measure, Result
from coursekit.grading.submissions import Submission

GRADS = np.random.default_rng(1).normal(size=(2, 4))
ANSWER = "# exercise: 1.2\ndef unbroadcast(grad, shape):\n    return -grad\n"


@pytest.fixture(scope="module")
def chapter(tmp_path_factory: pytest.TempPathFactory) -> Chapter:
    course: Course = tiny.make_tiny_course(tmp_path_factory.mktemp("told"))
    return load_chapter(course.solutions / f"{tiny.NAME}.ipynb")


def cells(scale: float, **how: Any) -> tuple[CellRun, ...]:
    shown = CellRun("unbroadcast-hidden", "1.2", "ok", (Probe("secret", encode(scale * GRADS)),))
    return (
        replace(shown, **how),
        CellRun("unbroadcast-hidden-2", "1.2", "ok", (Probe("same", encode(1.5)),)),
    )


def result(chapter: Chapter, own: bool, **how: Any) -> Result:
    only = replace(chapter, exercises=tuple(one for one in chapter.exercises if one.number == "1.2"))
    right = NotebookRun("", cells(1.0))
    measure = Measure(only, against(right, {}, own=own), {one.grade_id: one for one in right.cells}, own=own)
    mine = Submission("anna", "anna", "anna.ipynb", {"1.2": ANSWER}, ())
    return measure.result(mine, NotebookRun("", cells(-1.0, **how)))


def test_a_relation_is_told_of_what_a_judge_refuses_and_no_place(chapter: Chapter) -> None:
    def judge(name: str, expected: Any, got: Any) -> str | None:
        return None if name == "free" else difference(expected, got, 1e-9)

    shown = [
        CellRun(
            "order-hidden",
            "1.3",
            "ok",
            (Probe("free", encode(k * GRADS)), Probe("secret", encode(-k * GRADS))),
        )
        for k in (1.0, -1.0)
    ]
    only = replace(chapter, exercises=tuple(one for one in chapter.exercises if one.number == "1.3"))
    judges = {"order-hidden": judge}
    right = NotebookRun("", tuple(shown[:1]))
    measure = Measure(only, against(right, judges), {"order-hidden": shown[0]}, judges=judges, own=True)
    mine = Submission("anna", "anna", "anna.ipynb", {"1.3": ANSWER}, ())
    one = measure.result(mine, NotebookRun("", tuple(shown[1:]))).exercises[0]
    assert (one.diagnosis, one.example) == ("The right numbers with the wrong sign.", None)


def exercise(chapter: Chapter, own: bool, **how: Any) -> ExerciseResult:
    return result(chapter, own, **how).exercises[0]


def test_public_tells_the_relation_the_place_and_both_values(chapter: Chapter) -> None:
    one = exercise(chapter, True, quoted="whatever a process says")
    assert one.diagnosis.startswith(
        "The right numbers with the wrong sign. Right in `same`, wrong in `secret`"
    )
    assert one.quoted == "whatever a process says" and one.example is not None
    page = feedback(chapter, result(chapter, True))
    assert f"{GRADS[0, 0]:.4g}" in page and "side by side" in page


def test_private_tells_one_of_a_list_of_sentences(chapter: Chapter) -> None:
    one = exercise(chapter, False, quoted="the hidden test's source")
    assert (one.diagnosis, one.quoted, one.example) == ("The right numbers with the wrong sign.", "", None)
    assert exercise(chapter, False, quoted="sum over axis 0").quoted == "sum over axis 0"
    page = feedback(chapter, result(chapter, False, quoted="the hidden test's source"))
    assert "side by side" not in page and "hidden test&#39;s source" not in page
    assert f"{GRADS[0, 0]:.4g}" not in page


def test_an_error_is_explained_where_the_values_say_no_more_than_places(chapter: Chapter) -> None:
    shown = Probe("secret", encode(GRADS)), Probe("more", encode(GRADS)), Probe("last", encode(GRADS))
    right = CellRun("unbroadcast-hidden", "1.2", "ok", shown)
    made = (shown[0], Probe("more", encode(np.sin(GRADS) ** 3)))
    wrong = replace(
        right, status="error", probes=made, error="RecursionError: maximum recursion depth exceeded"
    )
    only = replace(chapter, exercises=tuple(one for one in chapter.exercises if one.number == "1.2"))
    cases = [NotebookRun("", (one, cells(1.0)[1])) for one in (right, wrong)]
    known = {one.grade_id: one for one in cases[0].cells}
    measure = Measure(only, against(cases[0], {}, own=True), known, own=True)
    answer = "# exercise: 1.2\ndef unbroadcast(grad, shape):\n    return unbroadcast(grad, shape)\n"
    mine = Submission("anna", "anna", "anna.ipynb", {"1.2": answer}, ())
    said = measure.result(mine, cases[1]).exercises[0].diagnosis
    assert "calls itself" in said and "Right in `secret`" in said


def test_below_the_cell_three_lines_come_first_and_the_rest_is_folded(chapter: Chapter) -> None:
    one = exercise(chapter, True, quoted="sum <b>over</b> axis 0")
    shown = in_html(one)
    first, _, folded = shown.partition("<details>")
    assert first.count("<div>") == 3 and "wrong sign" in first and "axis 0" in first
    assert "<table" in folded and "<b>over" not in shown
    assert "Hint: The right numbers with the wrong sign." in in_words(one).splitlines()[1]


def test_an_answers_own_not_implemented_is_no_stub(chapter: Chapter) -> None:
    one = exercise(chapter, True, status="unsolved", error="NotImplementedError: shapes", probes=())
    assert not one.unsolved and one.messages[0].startswith("stopped with NotImplementedError")
    stub = exercise(chapter, True, status="unsolved", error="Unsolved: 1.2 is not solved yet", probes=())
    assert "not solved yet" in stub.messages


def test_what_nothing_explains_is_grouped_by_what_it_has_in_common(chapter: Chapter) -> None:
    def wrong(student: str, message: str, **more: Any) -> Result:
        one = ExerciseResult(chapter.exercises[1], 0, (message,), **more)
        return Result(Submission(student, student, "x", {"1.2": ANSWER + "#" * len(student)}, ()), (one,))

    results = [wrong("anna", "secret: differs by 0.3"), wrong("bo", "secret: differs by 17")]
    results += [wrong("cy", "other"), wrong("di", "secret: differs by 5", diagnosis="told")]
    run = Run(chapter, results, 1, "", "", 0.0)
    first, second = candidates(run)
    assert (first.exercise, first.students, first.example) == ("1.2", ["anna", "bo"], ANSWER + "##")
    assert second.students == ["cy"]
