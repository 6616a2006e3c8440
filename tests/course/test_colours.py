"""Pictures of graphs, of lessons and of kernels' reports use the same colours for the same things."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from coursekit.pictures import draw_look, draw_spring, plots
from coursekit.pictures.attention import STRONGEST
from minilib.draw import palette
from warplens.report import page, pictures

# What each sort of eye sees of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
EYES = {
    "all cones": np.eye(3),
    "no red": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.052]],
    "no green": [[0.3673, 0.8606, -0.228], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "no blue": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}  # fmt: skip
XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
WHITE = [0.95047, 1, 1.08883]


def linear(colour):
    c = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* of linear RGB: distances below about 2 cannot be seen."""
    x, y, z = np.cbrt(XYZ @ np.clip(rgb, 0, 1) / WHITE)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one, other):
    low, high = sorted(float(XYZ[1] @ linear(colour)) + 0.05 for colour in (one, other))
    return high / low


def test_reports_and_graphs_agree_though_neither_package_knows_the_other() -> None:
    assert (pictures.INK, pictures.MUTED) == (palette.INK, palette.MUTED)
    assert pictures.WARPS[0] == pictures.EVENTS["load"] == palette.BLUE[1]


def test_lessons_and_reports_agree() -> None:
    assert (
        pictures.INK,
        pictures.WARPS[0],
        pictures.EVENTS["store"],
        pictures.POOR,
        pictures.WRONG,
        pictures.GRID,
    ) == (plots.INK, plots.BLUE, plots.ORANGE, plots.ORANGE, plots.RED, plots.LIGHT)


@pytest.mark.parametrize("eye", EYES)
def test_blue_orange_red_and_ink_are_four_colours_to_every_eye(eye: str) -> None:
    named = {"blue": plots.BLUE, "orange": plots.ORANGE, "red": plots.RED, "ink": plots.INK}
    seen = {name: lab(EYES[eye] @ linear(colour)) for name, colour in named.items()}
    apart = {pair: np.linalg.norm(seen[pair[0]] - seen[pair[1]]) for pair in combinations(named, 2)}
    assert {pair: round(far) for pair, far in apart.items() if far < 30} == {}


def test_what_is_wrong_is_red_and_what_could_be_better_is_orange() -> None:
    css = page.CSS
    assert f".poor {{background: {pictures.POOR};" in css and "p.wrong {color: var(--red)}" in css
    assert f"--red: color-mix(in srgb, {pictures.WRONG} " in css
    assert contrast(pictures.INK, pictures.POOR) > 4.5 < contrast(pictures.WRONG, "#ffffff")
    assert "p.slow {color: var(--orange)}" in css
    assert f"--orange: color-mix(in srgb, {pictures.POOR} " in css  # how well it is read: tests/browser


@pytest.mark.parametrize(
    ("ground", "text"), [("#ffffff", "#212121"), ("#111111", "#ffffff")], ids=["light", "dark"]
)
def test_a_word_that_is_looked_at_can_be_read_in_both_of_jupyterlabs_themes(ground: str, text: str) -> None:
    for weight in np.linspace(0, 1, 11):
        share = weight * STRONGEST
        parts = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (plots.BLUE, ground)]
        mixed = share * np.array(parts[0]) + (1 - share) * np.array(parts[1])
        behind = "#" + "".join(f"{round(part):02x}" for part in mixed)
        assert contrast(behind, text) >= 4.5


def test_scripts_of_lessons_draw_words_and_axes_in_the_pages_own_colour() -> None:
    look = draw_look(["a", "b"], np.tril(np.ones((1, 2, 2)) / 2)).page
    for script in (look, draw_spring().page, draw_spring(step=0.5).page):
        assert plots.INK not in script and plots.LIGHT not in script
        assert "currentColor" in script
