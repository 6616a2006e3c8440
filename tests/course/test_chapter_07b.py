"""Chapter 07b, graded; its pictures; and what it says of the shortcut, the tree and the kernel."""

from __future__ import annotations

import numpy as np
import pytest
from figures import tells
from graded import COURSE, Exercises, ExerciseTests
from lesson_kernels import lesson_kernels

from coursekit import notebooks
from coursekit.pictures import draw_carry, draw_overflow, draw_tree, draw_waits, draw_ways
from coursekit.pictures.scans import carry_rows, tree_rows
from minilib.cuda import cp, profile, simulate
from minilib.functional.scan import scan_loop
from minilib.reference import sample_forward


class TestExercises(ExerciseTests):
    exercises = Exercises("07b_scan")


# The kernel of exercise 7.10

LANE_FOR_A_STATE = """        float out = 0.0f;
        for (int t = 0; t < TIME; t++) {
            float d = ds[t * ROW + warp], v = xs[t * ROW + warp], part = 0.0f;
            if (lane < N) {
                state = expf(d * rate) * state + d * v * bs[t * (N + 1) + lane];
                part = state * cs[t * (N + 1) + lane];
            }
            for (int offset = 16; offset > 0; offset /= 2) part += __shfl_xor_sync(ALL, part, offset);
            if (lane == t) out = part;
        }
        __syncwarp();
"""


@pytest.mark.thorough
def test_a_lane_for_each_state_earns_all_points():
    exercises = TestExercises.exercises
    before, own = exercises.others["7.10"].split("        float step = ")
    answer = before + LANE_FOR_A_STATE + own[own.index("        if (e < E && lane < N) carried") :]
    assert exercises.points([("7.10", answer)]) == [5]


def launch(batch: int, t: int, e: int, n: int) -> tuple[tuple[int, int], tuple[int, int], tuple, list]:
    rng = np.random.default_rng(t)
    x, delta, A, B, C = (
        rng.standard_normal(s).astype(np.float32)
        for s in ((batch, t, e), (batch, t, e), (e, n), (batch, t, n), (batch, t, n))
    )
    arrays = [x, abs(delta), -abs(A), B, C]
    made = [cp.zeros((batch, t, e), np.float32), cp.zeros((batch, -(-t // 32) + 1, e, n), np.float32)]
    args = (*map(cp.asarray, arrays), *made, *np.int32([t, e, n]))
    return (-(-e // 8), batch), (32, 8), args, arrays


@pytest.mark.thorough
@pytest.mark.parametrize("schedule", ["lockstep", "forward", "reverse"])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (2, 33, 9, 3), (1, 70, 4, 5)], ids=str)
def test_the_kernel_equals_the_loop_in_every_order_of_its_warps(sizes, schedule):
    kernel = lesson_kernels("07b_scan", "solutions")["scan_forward"]
    grid, block, args, (x, delta, A, B, C) = launch(*sizes)
    simulate(kernel, grid, block, args, shared_mem=128 * (18 + 2 * (sizes[3] + 1)), schedule=schedule)
    for i, y in enumerate(cp.asnumpy(args[5])):
        right = sample_forward(x[i], delta[i], A, B[i], C[i], np.zeros_like(A), 32)
        np.testing.assert_allclose(y, right[0], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(cp.asnumpy(args[6])[i], right[1], rtol=1e-4, atol=1e-4)


@pytest.mark.thorough
def test_the_kernel_has_no_finding_and_moves_little_more_than_inputs_and_outputs():
    kernel = lesson_kernels("07b_scan", "solutions")["scan_forward"]
    report = profile(kernel, *launch(1, 128, 8, 4)[:3], shared_mem=128 * (18 + 2 * 5))
    assert report.ok
    moved, ideal = report.bytes_read + report.bytes_written, 4 * (3 * 128 * 8 + 2 * 128 * 4)
    assert ideal < moved < 1.1 * ideal


# What the lesson says


def test_the_shortcut_ends_where_the_lesson_says():
    text = " ".join(
        " ".join(c.source for c in notebooks.read(COURSE.chapters / "07b_scan.ipynb").cells).split()
    )
    assert tells(text, 0.35, 15, 0.1, 55)
    for step, tokens in ((0.35, 15), (0.1, 55)):
        assert int(np.log(float(np.finfo(np.float32).max)) // (step * 16)) == tokens


def test_the_lesson_names_the_steps_of_the_picture_and_the_picture_those_of_the_tree():
    said = draw_waits().alt.split(": ", 1)[1].split("; ")
    done = [list(map(int, each.split(": ")[1].split(", "))) for each in said]
    text = " ".join(c.source for c in notebooks.read(COURSE.chapters / "07b_scan.ipynb").cells)
    assert [max(each) for each in done] == [31, 10, 9] and tells(text, 31, 10, 9)
    assert done[2][-1] == 5 and len(tree_rows([1] * 32, [1] * 32)) - 1 == 9


# Pictures


def test_a_tree_ends_with_the_states_in_as_many_steps_as_it_says():
    a, b = [1, 2, 1, 0, 2, 1, 2, 1], [1, 0, 3, 1, 0, 2, 0, 1]
    rows = tree_rows(a, b)
    assert [row[0] for row in rows] == ["start", "up", "up", "up", "down", "down"]
    states = scan_loop(np.array(a, float), np.array(b, float))
    assert [pair[1] for pair in rows[-1][1]] == states.tolist()


def test_a_tree_has_a_slider_and_a_still_picture_and_words_beside_it():
    tree = draw_tree([1, 2, 1, 0], [1, 0, 3, 1])
    data, metadata = tree._repr_mimebundle_()
    assert {"text/html", "image/png", "text/plain"} == set(data)
    assert "the states: 1, 2, 5, 1" in metadata["image/png"]["alt"]
    assert data["text/html"].count("<img") == 4 and 'type="range"' in data["text/html"]
    assert data["image/png"] in data["text/html"] and data["text/html"].count("<script>") == 1


@pytest.mark.parametrize(("a", "b"), [([1], [1]), ([1, 2, 3], [1, 2, 3]), ([1, 2], [1, 2, 3, 4])])
def test_a_tree_of_other_sizes_is_refused(a, b):
    with pytest.raises(ValueError, match="a power of two"):
        draw_tree(a, b)


def test_chunks_with_a_carry_end_with_the_states_that_a_loop_finds():
    a, b = np.tile([1.0, 2, 1, 0, 2, 1, 2, 1], 2), np.tile([1.0, 0, 3, 1, 0, 2, 0, 1], 2)
    chunks = carry_rows(a, b, 4)
    assert [h for _, _, states in chunks for h in states] == scan_loop(a, b.copy()).tolist()
    assert chunks[0][0] == chunks[2][0] and [carry for _, carry, _ in chunks] == [0, 1, 9, 1]
    assert draw_carry(a, b, 4)._repr_mimebundle_()[0]["text/html"].count("<img") == 9
    with pytest.raises(ValueError, match="a multiple of 4"):
        draw_carry(a[:6], b[:6], 4)


@pytest.mark.thorough
def test_pictures_say_in_words_what_they_show():
    alt = draw_waits(4, 2).alt
    assert "loop: 0, 1, 2, 3; chunks of 2: 0, 1, 2, 2; tree: 0, 1, 3, 2" in alt
    never = draw_overflow(lambda a, b: b, (0.35,))
    assert "delta 0.35: finite" in never.alt
    assert "loop: 125 at 8, 250 at 16" in draw_ways({"loop": [1e-3, 4e-3]}, (8, 16)).alt
