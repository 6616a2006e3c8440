"""Chapter 03f, graded: wrong answers earn their hints, other right answers all points. And its figures."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
from graded import COURSE, Exercises, ExerciseTests

from benchmarks import digits
from coursekit import notebooks
from coursekit.pictures import reading
from minilib import functional as F
from minilib import nn
from minilib.nn import evaluating
from minilib.tensor import Tensor, manual_seed


class TestExercises(ExerciseTests):
    exercises = Exercises("03f_training")


def recorded():
    return json.loads(digits.RESULTS.read_text())["rows"]


def test_the_recorded_shares_are_what_the_course_promises():
    rows = recorded()
    assert sum(digits.shares(rows, "mlp", "random")) / 5 >= 0.975
    assert min(digits.shares(rows, "cnn", "random")) >= 0.99
    assert {row["seed"] for row in rows} == set(range(5))


def test_the_chapter_shows_what_was_recorded():
    rows, chapter = recorded(), notebooks.read(COURSE.chapters / "03f_training.ipynb")
    text = "\n".join(cell.source for cell in chapter.cells)
    assert digits.table(rows) in text and digits.parts_table(rows) in text
    mean = {
        (name, where): sum(digits.shares(rows, name, where)) / 5
        for name in digits.MODELS
        for where in digits.SPLITS
    }
    bars = dict(re.findall(r'"(MLP|CNN)": \(([\d., ]+)\)', text))
    for name in digits.MODELS:
        shown = [f"{100 * mean[name, where]:.1f}" for where in ("random", "writers")]
        assert bars[name.upper()] == ", ".join(shown)
        assert re.search(rf"\| 3f \|.*\| {mean[name, 'check']:.1%} \|", text)
    assert all(
        f"{mean['cnn', where]:.1%}" in text.split("## What training did")[1] for where in digits.SPLITS
    )


def test_the_page_reads_a_drawing_as_the_network_does():
    """The page counts dots as the digits were made; its weights have a byte each."""
    three = reading.as_image(reading.THREE)
    assert three.shape == (8, 8) and three.min() == 0 and 0.9 < three.max() <= 1
    moved = [[(3 * x + 50, 3 * y - 7) for x, y in stroke] for stroke in reading.THREE]
    assert np.array_equal(reading.as_image(moved), three)  # neither place nor size of a drawing matters
    manual_seed(0)
    model = digits.cnn()
    for layer in model:
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.data[...] = 0.1
            layer.running_var.data[...] = 0.5
    x = digits.split("check")[1].tensors[0]
    with evaluating(model):
        right = model(x).numpy()
    for one in reading.packed(model):
        x = _played(one, x)
    assert np.abs(x.numpy() - right).max() < 0.02 * np.abs(right).max()


def _played(one, x):
    """A layer of the page, done by the library."""
    if one["kind"] == "ReLU":
        return F.relu(x)
    if one["kind"] == "MaxPool2d":
        return F.max_pool2d(x, 2)
    rows = np.frombuffer(base64.b64decode(one["weight"]), np.int8).reshape(one["outputs"], -1)
    weight, bias = rows * np.float32(one["scale"])[:, None], Tensor(np.float32(one["bias"]))
    if one["kind"] == "Linear":
        return F.linear(x.flatten(1), Tensor(weight.astype("float32")), bias)
    return F.conv2d(x, Tensor(weight.reshape(len(rows), -1, 3, 3).astype("float32")), bias, padding=1)
