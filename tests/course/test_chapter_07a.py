"""Chapter 07a, graded; the spring that one moves; and the figures that its prose gives."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pytest
from figures import tells
from graded import COURSE, Exercises, ExerciseTests

from benchmarks import door
from benchmarks.trainings import milestone
from coursekit import notebooks
from coursekit.pictures import (
    draw_answers,
    draw_budget,
    draw_forgetting,
    draw_responses,
    draw_selection,
    draw_spring,
    draw_unrolled,
)
from coursekit.pictures.states import SECONDS, euler_steps, motion


class TestExercises(ExerciseTests):
    exercises = Exercises("07a_state_spaces")
    test_a_chapter_has_six_exercises_four_of_them_core = None

    def test_a_part_has_five_exercises_three_of_them_core(self):
        assert len(self.exercises.core) >= 3
        assert len(self.exercises.chapter.exercises) == 5


# What the lesson says


class Lesson:
    cells = notebooks.read(COURSE.chapters / "07a_state_spaces.ipynb").cells
    prose = " ".join("\n".join(c.source for c in cells if c.cell_type == "markdown").split())

    @classmethod
    def printed(cls, text: str) -> str:
        """What the only cell with this text printed."""
        (cell,) = [c for c in cls.cells if c.cell_type == "code" and text in c.source]
        return "".join(output.get("text", "") for output in cell.outputs)

    @classmethod
    def shown(cls, text: str) -> str:
        """What the only cell with this text shows, in words."""
        (cell,) = [c for c in cls.cells if c.cell_type == "code" and text in c.source]
        return "".join(output.get("data", {}).get("text/plain", "") for output in cell.outputs)


OPENING = {"as it comes": "as it comes", "tuned by hand": "tuned", "state space": "state space"}


def test_the_table_at_the_beginning_is_the_record():
    runs = {run["length"]: run for run in json.loads(door.RESULTS.read_text(encoding="utf-8"))["runs"]}
    assert [*runs] == door.LENGTHS
    assert "| steps since the door | " + " | ".join(runs) + " |" in Lesson.prose
    for row, network in OPENING.items():
        (told,) = re.findall(rf"\| [^|]*{row}[^|]* \| ([-\d., |]+) \|", Lesson.prose)
        for cell, run in zip(told.strip(" |").split(" | "), runs.values(), strict=True):
            shares = run["figures"][network]["shares"]
            assert [float(one) for one in cell.split(", ")] == pytest.approx(shares, abs=0.0051)


@pytest.mark.thorough
def test_a_share_of_that_record_is_found_by_the_program():
    names = milestone("07a")
    for network, scale in (("as it comes", None), ("tuned", 0.03), ("state space", None)):
        chosen = {"network": network, "scale": scale, "rate": 0.01}
        assert door.share(names, chosen, 5, 0, steps=1) < door.share(names, chosen, 5, 0, steps=60)


def test_the_rival_was_tuned_more_than_the_model_that_beats_it():
    for run in json.loads(door.RESULTS.read_text(encoding="utf-8"))["runs"]:
        tried = [(one["scale"], one["rate"]) for one in run["tried"]]
        assert tried == [*itertools.product(door.SCALES, door.RATES)]
        tuned, plain, ours = (run["figures"][name] for name in ("tuned", "as it comes", "state space"))
        best = max(run["tried"], key=lambda one: (one["scale"] is not None, one["share"]))
        assert (tuned["scale"], tuned["rate"]) == (best["scale"], best["rate"])
        assert ours["rate"] == door.ONE_RATE
        assert min(ours["shares"]) > max(tuned["shares"] + plain["shares"]) - 0.001


def test_the_lesson_s_own_runs_are_of_that_kind():
    assert re.findall(r"steps: (\S+) recovered", Lesson.printed("spaced = {}")) == ["1.00"] * 3
    _, _, plain = (float(one) for one in re.findall(r"steps: (\S+) recovered", Lesson.printed("rnn = {}")))
    for small in re.findall(r"steps: (\S+) recovered", Lesson.printed("share = trained(begun_small")):
        assert float(small) > max(0.95, plain + 0.1)


def test_noise_in_the_state_takes_its_part_of_what_it_holds():
    """Without QR: the best guess from a noisy state, by the covariances of state and noise."""
    a = np.exp(-0.1 * np.arange(1.0, 9.0))
    tails = a ** np.arange(2000)[:, None] * (1 - a) / np.arange(1.0, 9.0)
    swing = tails.T @ tails
    noisy = np.linalg.inv(swing + np.diag(1e-4 * np.diag(swing)))
    left = np.einsum("kn,nm,km->", tails, noisy, tails)
    (told,) = re.findall(r"1% noise: .*?([\d.]+) in all", Lesson.shown("noise=0.01"))
    assert abs(left - float(told)) < 0.02 and abs(left - 4.5) < 0.05


def test_what_hippo_s_numbers_hold_is_the_best_polynomial_but_for_the_steps():
    late = np.linspace(0, 1, 1000)
    past = np.sin(12 * late**1.3) + 0.6 * np.cos(5 * late)
    fit = np.polynomial.legendre.Legendre.fit(late, past, 7)
    away = np.sqrt(((past - fit(late)) ** 2).mean()) / past.std()
    (told,) = re.findall(r"follows it, (\d+)% of", Lesson.shown("draw_recalled("))
    assert 0 <= int(told) / 100 - away < 0.02


def test_a_fixed_kernel_recovers_what_theory_says():
    x, both = map(float, re.findall(r"([\d.]+) (?:with|if)", Lesson.shown("fixed, share = best(")))
    assert abs(x - 0.1 / 1.9) < 0.01 and abs(both - 1 / 1.9) < 0.03
    assert tells(Lesson.prose, f"{0.1 / 1.9:.3f}", f"{1 / 1.9:.3f}")


def test_a_kernel_pays_from_some_samples_on():
    text = Lesson.printed("by_step, by_fft, making")
    by_step, by_fft, making, samples = map(float, re.findall(r"([\d.]+) (?:ms|samples)", text))
    assert samples == pytest.approx(making / (by_step - by_fft), rel=0.1)
    assert round(samples) == 5 and round((making + by_fft) / by_step) == 4  # as the lesson tells


def test_a_state_of_n_numbers_holds_n_inputs_worth():
    """Without QR: the weights v of an input in the state, through the inverse of the state's covariance."""
    a = np.exp(-0.3 * np.arange(1.0, 5.0))
    rows = a ** np.arange(400)[:, None]  # (steps ago, N)
    shares = np.einsum("kn,nm,km->k", rows, np.linalg.inv(rows.T @ rows), rows)
    assert abs(shares.sum() - 4) < 1e-9
    assert np.allclose(shares, (np.linalg.qr(rows)[0] ** 2).sum(1))


def test_who_knows_only_the_sign_recovers_three_quarters():
    told = np.linspace(-1, 1, 100_001)
    assert abs(1 - ((told - np.sign(told) / 2) ** 2).mean() / told.var() - 0.75) < 1e-3
    assert tells(Lesson.prose, 0.75)


# The spring


@pytest.mark.thorough
def test_the_spring_moves_as_tiny_steps_say():
    state, friction = np.array([1.0, 0.0]), 0.3
    for _ in range(200_000):
        p, v = state
        state = state + 1e-5 * np.array([v, -p - friction * v])
    np.testing.assert_allclose(motion(friction, 2.0), state, atol=1e-4)


def test_eulers_steps_grow_as_the_eigenvalue_says():
    path = euler_steps(0.3, 0.5)
    assert len(path) == SECONDS / 0.5 + 1
    growth = abs(1 + 0.5 * np.linalg.eigvals([[0, 1], [-1, -0.3]])).max()
    assert 0.8 < np.linalg.norm(path[-1]) / growth ** (len(path) - 1) < 1.25


@pytest.mark.parametrize("step", [None, 0.5])
def test_a_spring_has_a_still_picture_and_words_beside_its_script(step):
    data, metadata = draw_spring(0.3, step)._repr_mimebundle_()
    assert {"text/html", "image/png", "text/plain"} == set(data)
    assert metadata["image/png"]["alt"].startswith("A spring with friction 0.3")
    assert data["image/png"] in data["text/html"] and data["text/html"].count("</script>") == 1
    arguments = json.loads(re.search(r"\.\.\.(\[[^{]*\])\)</script>", data["text/html"])[1])
    assert arguments[:3] == [0.3, step, SECONDS]


@pytest.mark.thorough
def test_pictures_say_in_words_what_they_show():
    assert "fades: 1.0e+00 at once, 1e-01 after 1 steps" in draw_forgetting({"fades": [1, 0.1]}).alt
    tails = 0.5 ** np.arange(4)[:, None] * np.ones(2)
    assert "a: from 1.00 to 0.12" in draw_responses(tails, ["a", "b"], tails @ [1, -2], "mix").alt
    assert "step 1: 1.00, 0.50, 0.25, 0.00 at first" in draw_budget({"step 1": [1, 0.5, 0.25, 0]}, 4).alt
    assert "Inputs 1 at 0, -2 at 2" in draw_unrolled([1, 0, -2], [1, 0.5, 0.25]).alt
    told = np.array([-0.8, 0.0, 0.8])
    assert "x: -0.80 on average" in draw_answers({"x": (told, told)}).alt
    chosen = draw_selection([True, False, True], [1.0, 5.0, 2.0], {"one": [1, 1, 2]})
    assert "2 marked numbers among 3, the last 2.00. one ends at 2.00" in chosen.alt
