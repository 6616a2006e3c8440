"""Chapter 07c, graded: wrong answers earn their hints, other right answers all points. And its figures."""

from __future__ import annotations

import itertools
import json
import math
import re

import numpy as np
import pytest
from graded import COURSE, Exercises, ExerciseTests

from benchmarks import mamba_rates
from coursekit import notebooks
from minilib.mamba import Mamba, MambaConfig

# Right answers by another way than the reference's.
OTHERS = {
    "7.11": """
def lengths(step, weight, bias):
    out = np.empty((len(step), len(weight)))
    for t, few in enumerate(step):
        z = weight.dot(few) + bias
        out[t] = np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))
    return out
""",
    "7.12": """
class CausalConv(Function):
    def forward(self, x, weight, bias=None):
        self.saved = x, weight
        windows = self.windows(x, weight.shape[2])
        y = (windows * weight[:, 0]).sum(3)
        return y if bias is None else y + bias

    def windows(self, x, k):
        wide = np.concatenate([np.zeros((len(x), k - 1, x.shape[2]), x.dtype), x], 1)
        return np.lib.stride_tricks.sliding_window_view(wide, k, axis=1)

    def backward(self, grad):
        x, weight = self.saved
        k = weight.shape[2]
        dw = np.einsum("bte,btek->ek", grad, self.windows(x, k))[:, None]
        turned = self.windows(grad[:, ::-1], k)
        dx = (turned * weight[:, 0]).sum(3)[:, ::-1]
        return (dx, dw, grad.sum((0, 1))) if len(self.inputs) == 3 else (dx, dw)
""",
    "7.13": """
class MambaBlock(nn.Module):
    def __init__(self, config):
        E, N, R = config.d_inner, config.d_state, config.dt_rank
        self.N, self.R, self.E = N, R, E
        self.out_proj = nn.Linear(E, config.d_model, bias=config.bias)
        self.in_proj = nn.Linear(config.d_model, E + E, bias=config.bias)
        self.x_proj, self.dt_proj = nn.Linear(E, R + N + N, bias=False), nn.Linear(R, E)
        self.conv1d = nn.Conv1d(
            E, E, config.d_conv, groups=E, padding=config.d_conv - 1, bias=config.conv_bias
        )
        self.D = nn.Parameter(np.ones(E, np.float32))
        self.A_log = nn.Parameter(np.tile(np.log(np.arange(1, N + 1, dtype=np.float32)), (E, 1)))

    def forward(self, u, mask=None):
        both = self.in_proj(u)
        x, gate = both[:, :, : self.E], both[:, :, self.E :]
        keep = 1.0 if mask is None else mask
        x = F.silu(self.conv1d((x * keep).transpose(1, 2))[:, :, : u.shape[1]].transpose(1, 2)) * keep
        chosen = self.x_proj(x)
        B, C = chosen[:, :, self.R : self.R + self.N], chosen[:, :, self.R + self.N :]
        delta, A = F.softplus(self.dt_proj(chosen[:, :, : self.R])), -self.A_log.exp()
        state, said = 0.0, []
        for t in range(u.shape[1]):
            now = delta[:, t, :, None]
            state = (now * A).exp() * state + now * B[:, t, None] * x[:, t, :, None]
            said.append((state * C[:, t, None]).sum(2) + x[:, t] * self.D)
        from minilib.tensor import stack

        return self.out_proj(stack(said, 1) * F.silu(gate))
""",
    "7.14": """
@add_to(Mamba)
@no_grad()
def reset_parameters(self, generator=None):
    numbers = generator or Generator(0)
    self.embedding.weight.normal_(0, 0.02, numbers)
    for layer in self.layers:
        out, bias = layer.mixer.out_proj, layer.mixer.dt_proj.bias
        bound = out.weight.shape[1] ** -0.5 * len(self.layers) ** -0.5
        out.weight.uniform_(-bound, bound, numbers)
        bias.uniform_(-3, -1, numbers)
        steps = 10.0 ** bias.numpy().astype(float)
        bias.copy_(Tensor(steps + np.log(-np.expm1(-steps))))
""",
    "7.15": """
RATES = (-2.0, -2.0)


def bank(kind, value):
    if kind == "noise":
        return 0.0, 0.0, (1.0, 1.0), (0.0, 0.0)
    if kind == "clear":
        return 0.0, 50.0, (1.0, 1.0), (0.0, 0.0)
    if kind in "ab":
        return value * 1e12, 1e-12, (float(kind == "a"), float(kind == "b")), (0.0, 0.0)
    return 0.0, 0.0, (0.0, 0.0), tuple(float(kind in ("ask both", "ask " + name)) for name in "ab")
""",
}


class TestExercises(ExerciseTests):
    exercises = Exercises("07c_mamba", OTHERS)


@pytest.fixture(scope="module")
def lesson():
    return notebooks.read(COURSE.chapters / "07c_mamba.ipynb").cells


def output_of(lesson, beginning):
    """The text of all outputs of the only code cell with a line that begins so."""
    (cell,) = [
        c for c in lesson
        if c.cell_type == "code" and re.search(f"(?m)^ *{re.escape(beginning)}", c.source)
    ]  # fmt: skip
    return "\n".join(o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs)


def prose(lesson):
    return " ".join("\n".join(c.source for c in lesson if c.cell_type == "markdown").split())


# The figures of the lesson


def test_the_opening_shows_the_networks_that_the_lesson_trains(lesson):
    rows = re.findall(r"(?m)^\| `([a-h· ]+)` \| `([a-h ]+)` \| `([a-h ]+)` \|$", lesson[0].source)
    assert len(rows) == 3
    printed = output_of(lesson, "for row, *said in")
    for row in rows:
        assert "    ".join(row) in printed
    told = re.search(r"letters right, of [\d,]+ texts \| (\d+) % \| (\d+) %", lesson[0].source).groups()
    ends = re.findall(r"ends at (\d+\.\d)%", output_of(lesson, "sizes, models, scores ="))
    assert [int(part) for part in told] == [round(float(end)) for end in ends]
    assert float(ends[0]) > 95 and float(ends[1]) < 65


def test_the_best_filter_explains_a_ninth(lesson):
    """Of the mark at p: the sum of p²(1-p)^2j is p / (2 - p)."""
    explained = int(output_of(lesson, "long, marks =").strip("%'\n")) / 100
    assert abs(explained - 0.2 / 1.8) < 0.015
    assert "About a ninth of it" in prose(lesson)


def test_a_steep_gate_holds_what_was_marked(lesson):
    off = dict(re.findall(r"steepness ([\d.]+): (\d+\.\d+)", output_of(lesson, "draw_standstill(")))
    assert float(off["0"]) > 0.3 and float(off["8"]) < 0.01


def test_the_last_places_of_the_convolution_see_the_future(lesson):
    assert "the first twelve: [6, 7, 8, 9]\nthe last twelve: [3, 4, 5, 6]" in output_of(lesson, "other = x")


def test_parameters_are_those_of_the_published_model(lesson):
    layers, width, vocabulary, n, r = 24, 768, 50_280, 16, 48
    e = 2 * width
    block = 2 * e * width + 5 * e + e * (r + 2 * n) + r * e + e + n * e + e + e * width
    count = vocabulary * width + layers * (block + width) + width
    assert f"{block + width:,} a layer, {count:,} in all" in output_of(lesson, "one = sum(")
    small = Mamba(MambaConfig(64, 2, 50_280 // 64))
    assert small.num_parameters() == sum(
        p.size for p in {id(p): p.numpy() for p in small.parameters()}.values()
    )


def test_a_large_embedding_starts_in_the_hundreds(lesson):
    told = output_of(lesson, "begun = ")
    large, small = (
        [float(part) for part in re.search(rf"std {spread}: ([\d., ]+\d)", told)[1].split(", ")]
        for spread in ("1", "0.02")
    )
    assert large[-1] > 300 and max(small) < math.log(256) + 0.6
    ratios = np.array(large) / [64, 128, 256, 512]
    assert ((ratios > 0.8) & (ratios < 1.2)).all()  # about C


def test_the_milestone_copies_nearly_all_letters(lesson):
    said = output_of(lesson, "said = model(asked)")
    assert float(re.search(r"([\d.]+)% of the letters copied", said)[1]) > 95


def test_no_rate_and_no_seed_turns_the_race_round(lesson):
    rows = json.loads(mamba_rates.RESULTS.read_text(encoding="utf-8"))["rows"]
    asked = itertools.product(mamba_rates.KINDS, mamba_rates.RATES, mamba_rates.SEEDS)
    assert {(row["kind"], row["rate"], row["seed"]) for row in rows} == {*asked}
    told = re.search(
        r"At rates of ([\d., ]+) and ([\d.]+), from three seeds each, the fixed network never gets beyond "
        r"(\d+) percent, and the selective one ends between (\d+) and (\d+)",
        prose(lesson),
    )
    rates = {float(rate) for rate in [*told[1].split(", "), told[2]]}
    ends = {
        kind: [100 * row["right"] for row in rows if row["kind"] == kind and row["rate"] in rates]
        for kind in mamba_rates.KINDS
    }
    assert max(ends["fixed"]) <= int(told[3]) < max(ends["fixed"]) + 1
    assert [round(f(ends["selective"])) for f in (min, max)] == [int(told[4]), int(told[5])]
    live = re.findall(r"ends at (\d+\.\d)%", output_of(lesson, "sizes, models, scores ="))
    for kind, end in zip(mamba_rates.KINDS, live, strict=True):
        (row,) = [r for r in rows if (r["kind"], r["rate"], r["seed"]) == (kind, 0.01, 0)]
        assert abs(100 * row["right"] - float(end)) < 3  # one training, on another day
    assert len({row["behind"] for row in rows if "behind" in row and row["rate"] in rates}) > 1


@pytest.mark.slow
def test_a_row_of_that_record_is_made_by_the_program():
    row = mamba_rates.run("selective", 0.01, 0, steps=1)
    assert 0 <= row["right"] <= 1 and row["behind"] in range(6)
