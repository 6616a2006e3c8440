"""Chapter 05e, graded; and what its pictures count."""

from __future__ import annotations

from graded import Exercises, ExerciseTests

from coursekit.pictures import draw_ceiling, draw_speeds, loads, step_cache


class TestExercises(ExerciseTests):
    exercises = Exercises("05e_loops")


def test_a_cache_that_is_too_small_by_one_finds_nothing_again():
    walk = [("x", row) for _ in range(2) for row in range(4)]
    assert loads(walk, 3)[-1][1] == 8 and loads(walk, 4)[-1][1] == 4
    assert loads([("x", 0), ("y", 0), ("x", 0)], 2)[-1] == ([("y", 0), ("x", 0)], 2)


def test_pictures_say_in_words_what_they_show():
    passes = [(array, row) for line in ("xy", "yz") for row in range(4) for array in line]
    rows = [(array, row) for row in range(4) for line in ("xy", "yz") for array in line]
    moving = step_cache({"passes": passes, "rows": rows}, room=3)
    assert moving.alt == "16/16 of the work done. passes: 16 rows loaded; rows: 12 rows loaded"
    assert "16 KiB 3, 1 MiB 2" in draw_speeds({2**14: 3e9, 2**20: 2e9}, marked=2**20).alt
    assert "a: 2.0 at 0.5" in draw_ceiling({"a": (0.5, 2e9)}, 1e11, 1e10).alt
