"""Chapter 06b, graded; the picture that one points at; and the kernel that needs no matrix."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from graded import COURSE, Exercises, ExerciseTests
from lesson_kernels import lesson_kernels

from coursekit import notebooks
from coursekit.pictures import draw_look, draw_losses, draw_maps, draw_masks
from minilib.cuda import cp, profile, simulate
from minilib.functional.attention import attend

# Right answers by another way than the reference's.
OTHERS = {
    "6.7": """
def in_order(out, order):
    return out[np.argsort(order)]
""",
    "6.8": """
def attend(q, k, v, mask=None):
    s, t = k.shape[-2], q.shape[-2]
    weights = np.zeros((*q.shape[:-1], s), q.dtype)
    for at in np.ndindex(q.shape[:-1]):
        seen = s - t + at[-1] + 1
        scores = k[at[:-1]][:seen] @ q[at] / np.sqrt(np.array(q.shape[-1], q.dtype))
        exps = np.exp(scores - scores.max())
        weights[at][:seen] = exps / exps.sum()
    kept = weights if mask is None else weights * mask
    return np.einsum("...ts,...sd->...td", kept, v), weights
""",
    "6.9": """
def attend_backward(grad, q, k, v, out, weights, mask=None):
    d = q.shape[-1]
    kept = np.ones_like(weights) if mask is None else mask
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for at in np.ndindex(q.shape[:-1]):
        head, p = at[:-1], weights[at]
        dv[head] += np.outer(p * kept[at], grad[at])
        slopes = (np.diag(p) - np.outer(p, p)) @ (kept[at] * (v[head] @ grad[at])) / np.sqrt(d)
        dq[at] += slopes @ k[head]
        dk[head] += np.outer(slopes, q[at])
    return dq, dk, dv
""",
    "6.10": """
from numpy.lib.stride_tricks import as_strided

def split_heads(qkv, n_head):
    (b, t, c), (sb, st, sc) = qkv.shape, qkv.strides
    d = c // 3 // n_head
    view = as_strided(qkv, (3, b, n_head, t, d), (c // 3 * sc, sb, d * sc, st, sc))
    return view[0], view[1], view[2]

def join_heads(heads):
    moved = np.moveaxis(heads, 1, 2)
    return moved.reshape(*moved.shape[:2], -1)
""",
    "6.11": """
def weights_mended(scores, allowed):
    weights = np.zeros_like(scores)
    for row, s, a in zip(weights, scores, allowed):
        if a.any():
            exps = np.exp(s[a] - s[a].max())
            row[a] = exps / exps.sum()
    return weights
""",
    "6.12": """
#define INFINITY __int_as_float(0x7f800000)
#define TILE 16
#define WIDEST 64

extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* out,
                                     int T, int S, int d) {
    __shared__ float kt[WIDEST][TILE + 1], vs[TILE][WIDEST], p[TILE][TILE + 1], qt[TILE][WIDEST + 1];
    int tx = threadIdx.x, ty = threadIdx.y, first = blockIdx.x * TILE, row = first + ty, head = blockIdx.y;
    float largest = -INFINITY, total = 0.0f, sums[WIDEST / TILE];
    for (int i = 0; i < WIDEST / TILE; ++i) sums[i] = 0.0f;
    for (int c = tx; c < d; c += TILE) qt[ty][c] = row < T ? q[(head * T + row) * d + c] : 0.0f;
    int last = S - T + min(first + TILE, T) - 1;
    for (int start = 0; start <= last; start += TILE) {
        int key = start + ty;
        __syncthreads();
        for (int c = tx; c < d; c += TILE) {
            kt[c][ty] = key <= last ? k[(head * S + key) * d + c] : 0.0f;
            vs[ty][c] = key <= last ? v[(head * S + key) * d + c] : 0.0f;
        }
        __syncthreads();
        float score = 0.0f;
        for (int c = 0; c < d; ++c) score = fmaf(qt[ty][c], kt[c][tx], score);
        p[ty][tx] = score / sqrtf(d);
        __syncthreads();
        for (int j = 0; j < TILE && start + j <= S - T + row && row < T; ++j) {  // one key after the other
            float x = p[ty][j], top = fmaxf(largest, x), shrink = expf(largest - top), weight = expf(x - top);
            total = total * shrink + weight;
            for (int i = 0, c = tx; c < d; ++i, c += TILE) sums[i] = sums[i] * shrink + weight * vs[j][c];
            largest = top;
        }
    }
    for (int i = 0; tx + TILE * i < d; ++i) {
        if (row < T) out[(head * T + row) * d + tx + TILE * i] = sums[i] / total;
    }
}
""",
}


class TestExercises(ExerciseTests):
    exercises = Exercises("06b_attention", OTHERS)


# Attention without its matrix


def launch(heads: int, t: int, s: int, d: int) -> tuple[tuple[int, int], tuple[int, int], tuple, list]:
    rng = np.random.default_rng(heads + t + s + d)
    arrays = [rng.normal(size=(heads, n, d)).astype(np.float32) for n in (t, s, s)]
    args = (*map(cp.asarray, arrays), cp.zeros((heads, t, d), np.float32), *np.int32([t, s, d]))
    return (-(-t // 16), heads), (16, 16), args, arrays


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["lockstep", "forward", "reverse"])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (2, 17, 33, 8), (1, 64, 64, 64), (2, 48, 48, 20)], ids=str)
def test_the_kernel_equals_attend_in_every_order_of_its_warps(sizes, schedule):
    kernel = lesson_kernels("06b_attention", "solutions")["attention"]
    grid, block, args, arrays = launch(*sizes)
    simulate(kernel, grid, block, args, schedule=schedule)
    np.testing.assert_allclose(cp.asnumpy(args[3]), attend(*arrays)[0], atol=1e-5)


@pytest.mark.slow
def test_the_kernel_has_no_finding_and_moves_fewer_bytes_than_three_kernels():
    kernel = lesson_kernels("06b_attention", "solutions")["attention"]
    report = profile(kernel, *launch(1, 64, 64, 64)[:3])
    assert report.ok
    array = 4 * 64 * 64  # q, k, v, out and the matrix are all of this size here
    tiles = 2 * (1 + 2 + 3 + 4) / 4  # of keys and values, for four tiles of queries
    moved, three = report.bytes_read + report.bytes_written, (2 + 1) + (1 + 1) + (2 + 1)
    assert moved == (1 + tiles + 1) * array and three * array == 131_072
    text = "\n".join(cell.source for cell in notebooks.read(COURSE.chapters / "06b_attention.ipynb").cells)
    assert f"moves {moved / 1e3:.0f} kB" in " ".join(text.split()) and "131 kB" in text


# The reader's sentences


def test_the_500_sentences_are_new_to_the_reader():
    names: dict = {}
    for cell in notebooks.read(COURSE.chapters / "06b_attention.ipynb").cells:
        if cell.source.startswith("#| milestone"):
            exec(cell.source, names)
            if "sentences" in names:
                break
    texts = [" ".join(words) for words, _ in names["sentences"]]
    assert len(texts) == len(set(texts)) == 2500


# Pictures


def weights(heads=2, words=4):
    made = np.tril(np.random.default_rng(0).random((heads, words, words)))
    return made / made.sum(-1, keepdims=True)


def test_a_sentence_to_point_at_has_a_still_picture_and_words_beside_its_script():
    data, metadata = draw_look(["the", "king", "and", "he"], weights())._repr_mimebundle_()
    assert {"text/html", "image/png", "text/plain"} == set(data)
    assert metadata["image/png"]["alt"].startswith("'he' looks back. head 1: he at")
    assert data["image/png"] in data["text/html"]


def test_words_cannot_end_the_script_or_become_markup():
    words = ["</script><b>", "<i>", '"quoted" & more', "\N{GREEK SMALL LETTER ALPHA}"]
    html = draw_look(words, weights()).html()
    assert html.count("</script>") == 1 and "<b>" not in html and "<i>" not in html
    listed = re.search(r'", \.\.\.(\[.*\])\)</script>', html)
    assert json.loads(listed[1])[0] == words


def test_weights_that_do_not_fit_the_words_are_told():
    with pytest.raises(ValueError, match=r"weights are \(heads, 3, 3\), not \(2, 4, 4\)"):
        draw_look(["one", "two", "three"], weights())


def test_pictures_say_in_words_what_they_show():
    assert "head 2" in draw_maps(["a", "b", "c", "d"], weights()).alt
    mask = np.triu(np.full((3, 3), -np.inf), 1)
    assert "right: word 1 sees 1, word 2 sees 2, word 3 sees 3" in draw_masks({"right": mask, "b": mask}).alt
    assert "fair, from 2.00 to 2.00" in draw_losses({"fair": [2.0] * 20}, (1.0, "1")).alt
