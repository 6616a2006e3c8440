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
from minilib import nn, reference
from minilib.data import DataLoader, TensorDataset
from minilib.nn import evaluating
from minilib.optim import AdamW, WarmupCosine
from minilib.tensor import Generator, Tensor, manual_seed
from minilib.train import Trainer


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


def test_the_simple_training_equals_the_trainer():
    """With whole batches, whose order is nobody's choice: the same losses and the same weights."""
    rng = np.random.default_rng(0)
    images, labels = Tensor(rng.normal(size=(12, 5)).astype("float32")), Tensor(rng.integers(0, 3, 12))
    losses, weights = [], []
    for simple in (True, False):
        manual_seed(0)
        model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
        optimizer = AdamW(model.parameters(), lr=0.05)
        schedule = WarmupCosine(optimizer, 3, 20)
        if simple:
            losses.append(reference.Training(model, optimizer, schedule, images, labels, 12, 0).run(20))
        else:
            loader = DataLoader(TensorDataset(images, labels), 12, shuffle=True, generator=Generator(0))
            trainer = Trainer(model, optimizer, loader, scheduler=schedule, callbacks=[], display=False)
            losses.append(trainer.fit(steps=20).losses)
        weights.append([p.numpy() for p in model.parameters()])
    np.testing.assert_allclose(*losses, rtol=1e-5)
    for a, b in zip(*weights):
        np.testing.assert_allclose(a, b, atol=1e-5)


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
