"""Chapter 07d, graded: wrong answers earn their hints, other right answers all points. And its figures."""

from __future__ import annotations

import ast
import json
import re

from figures import tells
from graded import COURSE, Exercises, ExerciseTests

from benchmarks.mamba_tasks import RUNS
from coursekit import notebooks
from coursekit.pictures.mamba import RECORDED
from minilib.gpt import MODELS
from minilib.mamba import Mamba, MambaConfig
from minilib.parallel import get_num_threads, set_num_threads


class TestExercises(ExerciseTests):
    exercises = Exercises("07d_memory")


LESSON = notebooks.read(COURSE.chapters / "07d_memory.ipynb")
PROSE = re.sub(r"\s+", " ", "\n".join(cell.source for cell in LESSON.cells if cell.cell_type == "markdown"))


def recorded(name):
    """A run of benchmarks/results/mamba_tasks.json."""
    runs = json.loads((COURSE.root / "benchmarks" / "results" / "mamba_tasks.json").read_text())["runs"]
    return next(run for run in runs if run["run"] == name)


def said(name):
    """The numbers that a cell of the lesson gives to this name."""
    cells = [ast.parse(cell.source) for cell in LESSON.cells if cell.cell_type == "code"]
    nodes = [node for cell in cells for node in cell.body if isinstance(node, ast.Assign)]
    (found,) = [node.value for node in nodes if ast.unparse(node.targets[0]) == name]
    return ast.literal_eval(found)


def as_sizes(right):
    """Shares by size, to a tenth of a percent, as the lesson gives them."""
    return {int(size): round(share, 3) for size, share in right.items()}


def test_what_was_recorded_of_induction_heads_is_told():
    for name, curve in said("recorded").items():
        assert curve == as_sizes(recorded(f"induction-{name.lower()}")["figures"]["right"]), name


def test_what_was_recorded_of_selective_copying_is_told():
    for name, run in (("Mamba", "copying-mamba"), ("without selection", "copying-fixed")):
        row = recorded(run)
        assert RECORDED["copying"][name] == round(row["figures"]["right"]["64"], 3)
        assert tells(PROSE, f"{row['options']['steps']:,}", row["options"]["batch"])


def test_what_was_recorded_of_recall_is_told():
    for name, curve in RECORDED["recall"].items():
        row = recorded(f"recall-{name.lower()}")
        assert curve == as_sizes(row["figures"]["right"]), name
        assert tells(PROSE, f"{row['options']['steps']:,}")
    row = recorded("recall-gpt")
    right = dict(zip(row["steps"], row["right"], strict=True))
    assert tells(PROSE, f"{100 * right[750]:.0f} %", f"{100 * right[1000]:.1f} %")


def test_the_mamba_that_recalls_is_called_undertrained_while_it_was():
    row = recorded("recall-mamba")
    right = dict(zip(row["steps"], row["right"], strict=True))
    last = row["options"]["steps"]
    assert right[last] - right[last - 250] > 0.01  # still rising; with a longer record, mend the prose
    assert tells(PROSE, f"{100 * right[last - 1000]:.0f}", f"{100 * right[last]:.0f} %")


def test_what_was_recorded_of_a_token_is_told():
    rows = json.loads((COURSE.root / "benchmarks" / "results" / "mamba_tokens.json").read_text())["rows"]
    last = rows[-1]
    gpt, mamba = last["seconds"]
    cache, state = last["bytes"]
    assert tells(PROSE, f"{last['tokens']:,}", f"{1e3 * gpt:.2f} ms", f"{1e3 * mamba:.2f} ms")
    assert tells(PROSE, f"{cache / 1e6:.1f} MB", f"{state / 1e3:.0f} kB")
    assert {row["bytes"][1] for row in rows} == {state} and [r["bytes"][0] for r in rows] == [
        2048 * row["tokens"] for row in rows
    ]


def test_the_recorded_runs_reach_what_selection_promises():
    induction = recorded("induction-mamba")["figures"]["right"]
    assert min(induction[size] for size in ("64", "128", "256")) >= 0.99
    assert recorded("copying-mamba")["figures"]["right"]["64"] >= 0.98
    assert recorded("copying-fixed")["figures"]["right"]["64"] < 0.65
    for run in ("induction-mamba", "induction-gpt", "copying-mamba", "copying-fixed"):
        row = recorded(run)
        assert row["cpu_seconds"] < 20 * 60 and "--seed 0" in row["command"]
        assert row["command"] == f"python -m minilib.projects.remember {RUNS[run]} --seed 0"


def test_the_recorded_time_of_a_training_step_grows_no_faster_than_its_text():
    rows = json.loads((COURSE.root / "benchmarks" / "results" / "mamba.json").read_text())["rows"]
    a_token = {row["case"]: row["minilib"] for row in rows}
    assert 2 * a_token["length-2048"] / a_token["length-1024"] <= 2.2


def test_a_gpt_2_keeps_more_after_39_tokens():
    layers, _, width = MODELS["gpt2"]
    state = 24 * 2 * width * (16 + 3)
    assert state / (2 * layers * width) == 38 and tells(PROSE, 39)


def test_the_bytes_that_are_told_are_those_that_are_kept():
    state = Mamba(MambaConfig(128, 4, 16)).init_state(1)
    assert state.nbytes == 38 * 2048 and tells(PROSE, "2{,}048", 38)
    numbers = Mamba(MambaConfig(64, 2, 16)).init_state(1).nbytes // 4
    assert tells(PROSE, f"{numbers:,}", "131,072")


def test_the_two_that_were_compared_were_trained_as_the_lesson_says():
    for name in ("mamba", "gpt"):
        options = recorded(f"induction-{name}")["options"]
        assert tells(PROSE, f"{options['steps']:,}"), name


def test_the_length_that_7_16_lets_predict_stands_not_in_the_lesson():
    cells = notebooks.read(COURSE.solutions / "07d_memory.ipynb").cells
    printed = "".join(o.get("text", "") for cell in cells for o in cell.get("outputs", []))
    (length,) = re.findall(r"from (\d+) tokens on GPT-2 keeps more", printed)
    assert int(length) == 24 * 2 * (64 + 3) // (2 * 12) + 1
    assert not tells("\n".join(cell.source for cell in LESSON.cells), length)


FILLED = {
    "kept = ...": "kept = 4 * 256 * (3 + 16) * 4",
    "return ...": "return np.exp(delta * A) * h + delta * B * x",
    "cached = ...": "cached = 2 * 2 * 64 * 512",
}


def test_who_fills_in_the_lesson_rightly_is_told_so(capsys):
    cells = [cell for cell in LESSON.cells if cell.cell_type == "code"]
    first = next(k for k, cell in enumerate(cells) if "#| milestone" in cell.source)
    ours = [cell for cell in cells[:first] if "nbval-ignore-output" not in cell.metadata.get("tags", [])]
    cached = next(k for k, cell in enumerate(cells) if "cached = ..." in cell.source)
    names: dict[str, object] = {}
    threads = get_num_threads()
    try:
        for cell in (*ours, *cells[cached : cached + 2]):
            source = cell.source
            for blank, answer in FILLED.items():
                source = source.replace(blank, answer)
            exec(compile(source, "a cell of 07d", "exec"), names)
    finally:
        set_num_threads(threads)
    said = capsys.readouterr().out
    assert said.splitlines().count("right") == len(FILLED), said
