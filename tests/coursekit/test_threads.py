"""Kernels in words: by what their threads touched, and by what was counted. And values side by side."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from coursekit.box.kernels import packed
from coursekit.box.probe import encode
from coursekit.grading.beside import side_by_side, smallest
from coursekit.grading.diagnosis import pairs_of
from coursekit.grading.hints import Known, hint
from coursekit.grading.misconceptions import Misconception
from coursekit.grading.model import CellRun, Probe
from coursekit.grading.threads import of_kernels, reported, without_advice

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
RIGHT = np.random.default_rng(1).normal(size=200).astype(np.float32)


def launch(out: Any, grid: int = 4, block: int = 64, **more: Any) -> CellRun:
    changed = np.flatnonzero(out)
    touched = [int(changed[0]), int(changed[-1]) + 1, changed.size] if changed.size else [0, 0, 0]
    shown = {
        "runs": {"lockstep": {"outputs": [packed(out)]}},
        "arrays": ["y"],
        "findings": [],
        "work": {},
        "counts": {},
        "launch": {"grid": [grid], "block": [block]},
        "touched": [touched],
    }
    return CellRun("t-hidden", "4.1", "ok", (Probe("case", {"kernel": {**shown, **more}}, 1e-5),))


def said(
    have: CellRun,
    want: CellRun | None = None,
    answer: str = INDEX,
    *,
    own: bool = True,
    reference: str = INDEX,
) -> str:
    return of_kernels([(want or launch(RIGHT), have)], answer, reference, own=own) or ""


def only(*places: Any) -> Any:
    out = np.zeros_like(RIGHT)
    for some in places:
        out[some] = RIGHT[some]
    return out


TOUCHED = [
    (only(slice(0, 64)), "`blockIdx.x * blockDim.x` is missing"),
    (only(slice(0, 67)), "multiplied by `blockDim.x`"),
    (only(slice(0, 200, 64)), "`threadIdx.x` is missing"),
]


@pytest.mark.parametrize("out, words", TOUCHED, ids=[words for _, words in TOUCHED])
def test_what_threads_touched_says_what_the_index_lacks(out: Any, words: str) -> None:
    assert words in said(launch(out))


def test_a_loop_that_does_not_go_on() -> None:
    have, want = launch(only(slice(0, 128)), grid=2), launch(RIGHT, grid=2)
    assert "a loop goes on by" in said(have, want, reference=f"{INDEX} i += gridDim.x * blockDim.x;")
    assert said(have, want) == ""  # as many numbers as threads, where a thread takes four


def test_other_wrong_numbers_say_nothing_of_the_index() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        out = np.where(rng.random(200) < rng.random(), RIGHT, 0).astype(np.float32)
        assert said(launch(out)) == ""
    assert said(launch(-RIGHT)) == ""


def stopped(told: str) -> CellRun:
    return launch(RIGHT, runs={"lockstep": {"fault": "out-of-bounds", "told": told}})


def test_what_is_behind_the_end_with_a_guard_and_without() -> None:
    run = stopped("line 3: thread (40,0,0) reads x[40], and x has 33 elements (0 to 32)")
    assert "guard them" in said(run)
    for guard in ("if (i <= n) y[i] = 1;", "for (; i <= n; i += 9) y[i] = 1;"):
        assert "the end of `x` although it asks before" in said(run, answer=f"{INDEX} {guard}")


def test_a_condition_on_other_numbers_is_no_guard_of_this_index() -> None:
    run = stopped("line 4: thread (40,0,0) reads x[40], and x has 33 elements (0 to 32)")
    answer = "int o = 40, i = 0;\nif (i < n)\n    y[i] = x[o + i];"
    assert "no condition asks about `o`" in said(run, answer=answer.replace("int o", "__global__ int o"))


def test_what_is_written_is_no_part_of_the_index() -> None:
    run = stopped("line 4: thread (16,0,0) writes 2 elements from y[64], but y has 62 elements (0 to 61)")
    answer = "__global__\nif (i >= n) return;\n((float2*)y)[2 * i] = f(p.x, p.y);"
    assert "although it asks before" in said(run, answer=f"int k;\n{answer}")


def test_beside_the_cause_a_report_gives_no_other_advice() -> None:
    who = "both write C[33] at line 17, and which value stays is open"
    advice = "give each thread an element of its own, let one thread write, or use an atomic"
    assert without_advice(f"{who}: {advice}.") == f"{who}."
    assert without_advice(f"{who}: give e…") == who
    assert without_advice("x has 33. Guard the access with an if that keeps it inside.") == "x has 33."


def test_what_is_before_the_first_element_is_not_behind_the_end() -> None:
    run = stopped("line 3: thread (0,0,0) reads x[-1], before the first element; x has 33 elements (0 to 32)")
    assert "before the first element of `x`" in said(run, answer=f"{INDEX} if (i < n) y[i] = x[i - 1];")


def test_what_the_answer_never_asks_for() -> None:
    assert said(launch(-RIGHT), answer="int i = threadIdx.x;").startswith("`blockIdx.x` is nowhere in it")


def test_a_report_that_names_a_cause_is_known() -> None:
    right, race = launch(RIGHT), launch(RIGHT, findings=[["race", "line 3: ..."]])
    assert reported([(right, race)]) and not reported([(right, right)])
    assert not reported([(right, CellRun("t-hidden", "4.1", "error"))])


def test_counts_in_words() -> None:
    def counts(number: int) -> dict[str, Any]:
        return {"global_load_sectors": [encode(number), "at most", 1.0]}

    want, have = launch(RIGHT, counts=counts(24)), launch(RIGHT, counts=counts(48))
    assert said(have, want).startswith("48 sectors read where 24 would do: neighbours of a warp")
    assert "about 8 bytes apart" in said(have, want)
    have = launch(RIGHT, counts=counts(480))  # 20 times as many: no layout makes more than 8 times
    assert "read again and again" in said(have, want) and "apart" not in said(have, want)
    assert not re.search(r"48|24", said(have, want, own=False)), "where tests are private"
    assert said(want, want) == ""


def test_the_smallest_wrong_value_side_by_side() -> None:
    x = np.arange(20.0).reshape(2, 10)
    wrong = x.copy()
    wrong[1, 9] = 0.125
    want, have = ((Probe("<b>", encode([x, x[0]])),), (Probe("<b>", encode([wrong, x[0] + 0.5])),))
    pairs = pairs_of(CellRun("t", "1.1", "ok", want), CellRun("t", "1.1", "ok", have))
    found = smallest(pairs)
    assert found is pairs[1]
    shown = side_by_side(pairs[0])
    assert "&lt;b&gt;</code>, value 1 of 2" in shown and "<b>" not in shown
    assert shown.count("background") == 2 and "0.125" in shown and "from [0, 5]" in shown
    assert smallest([]) is None and side_by_side(pairs[1]).count("<td") == 16


@pytest.mark.parametrize(("value", "shown"), [(np.inf, ">inf<"), (-np.inf, ">-inf<"), (np.nan, ">nan<")])
def test_what_is_no_number_is_shown_too(value: float, shown: str) -> None:
    want, have = ((Probe("loss", encode([np.array(x)])),) for x in (1.5, value))
    (pair,) = pairs_of(CellRun("t", "1.1", "ok", want), CellRun("t", "1.1", "ok", have))
    assert shown in side_by_side(pair)


@pytest.mark.parametrize("value, earns", [(2, "twice"), (3, "thrice"), (4, None), (1, None)])
def test_the_same_wrong_numbers_are_the_same_mistake_whatever_they_cost(
    value: int, earns: str | None
) -> None:
    def cost(reads: int) -> dict[str, Any]:
        return {"sectors": [{"int": str(reads)}, "at most", 1.0]}

    knowns = [
        Known(Misconception("4.1", name, ""), {"t-hidden": launch(k * RIGHT, counts=cost(9))})
        for k, name in ((1, "dear"), (2, "twice"), (3, "thrice"))
    ]
    right = {"t-hidden": launch(RIGHT, counts=cost(8))}
    assert hint([launch(value * RIGHT, counts=cost(99))], knowns, right, {}) == earns
