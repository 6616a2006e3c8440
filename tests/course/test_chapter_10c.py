"""Chapter 10c, graded; its pictures; and what it says of nodes and bytes."""

from __future__ import annotations

import numpy as np
from graded import COURSE, Exercises, ExerciseTests

import minilib.infer as tract
from coursekit import notebooks
from coursekit.pictures import digits_onnx, draw_chains, draw_flame, draw_laid_out, draw_sweeps
from minilib.infer.plan import Plan
from minilib.infer.profile import profile

CELLS = notebooks.read(COURSE.chapters / "10c_declutter.ipynb").cells
TEXT = " ".join(" ".join(cell.source for cell in CELLS).split())


class TestExercises(ExerciseTests):
    exercises = Exercises("10c_declutter")


# What the lesson says


def shown(start: str) -> str:
    """What the cell that holds `start` has printed or returned."""
    (cell,) = [cell for cell in CELLS if cell.cell_type == "code" and start in cell.source]
    parts = [one.get("text", "") or one.get("data", {}).get("text/plain", "") for one in cell.outputs]
    return "\n".join("".join(part) for part in parts)


def test_the_nodes_of_the_opening_are_those_of_the_sweeps() -> None:
    told = shown("before, after = evaluate")
    assert told.startswith("([116, ") and ", 30]" in told
    assert "116 nodes" in TEXT and "has 30 nodes" in TEXT


def test_the_plan_of_the_lesson_takes_at_most_a_tenth_more_than_what_is_alive() -> None:
    plan = Plan(tract.onnx().load(digits_onnx()).into_model().graph)
    plan.run([np.zeros((32, 1, 8, 8), np.float32)])
    assert f"{plan.program.bytes:,}" in shown("each array for itself")
    assert plan.program.bytes <= 1.1 * plan.program.live_bytes


def test_images_in_columns_are_flat_without_a_copy() -> None:
    many, one = eval(shown("def copied(n)"))
    assert many == one > 0


# Pictures


def test_the_sweeps_have_a_slider_and_words() -> None:
    model = tract.onnx().load(digits_onnx())
    model.analyse()
    small = model.into_model()
    made = draw_sweeps([("as it came", model.graph), ("decluttered", small.graph)])
    data, _ = made._repr_mimebundle_()
    assert data["text/html"].count("<img") == 2 and 'type="range"' in data["text/html"]
    assert "decluttered: 8 nodes: 2 Conv" in made.alt
    assert "BatchNormalization" in draw_chains({"as it came": model.graph}).alt


def test_a_profile_and_a_plan_are_told_in_words() -> None:
    small, x = tract.onnx().load(digits_onnx()).into_model(), np.zeros((2, 1, 8, 8), np.float32)
    assert "Conv" in draw_flame(profile(small, [x])).alt
    plan = Plan(small.graph)
    plan.run([x])
    assert f"{plan.program.bytes:,}" in draw_laid_out(plan.program).alt
