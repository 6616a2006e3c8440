"""Pictures of graphs, of lessons and of kernels' reports use the same colours for the same things."""

from __future__ import annotations

from coursekit.pictures import plots
from cudasim.reports import pictures
from minilib.draw import palette


def test_reports_and_graphs_agree_though_neither_package_knows_the_other() -> None:
    assert (pictures.INK, pictures.MUTED) == (palette.INK, palette.MUTED)
    assert palette.GLOW[1] == pictures.WRONG
    assert pictures.WARPS[0] == pictures.EVENTS["load"] == palette.BLUE[1]


def test_lessons_and_reports_agree() -> None:
    assert (
        pictures.INK,
        pictures.WARPS[0],
        pictures.EVENTS["store"],
        pictures.WRONG,
        pictures.GRID,
    ) == (plots.INK, plots.BLUE, plots.ORANGE, plots.RED, plots.LIGHT)
