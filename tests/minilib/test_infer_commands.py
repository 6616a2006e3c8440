"""`python -m minilib.infer`, on models that our own writer writes."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_infer import info, model, node

from minilib.infer.__main__ import main
from minilib.wire import write


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A convolution over a stream, with a skip around it."""
    nodes = [node("Conv", "x w", "a", pads=[1, 1]), node("Relu", "a", "b"), node("Add", "b x", "y")]
    w = np.arange(3, dtype=np.float32).reshape(1, 1, 3)
    (tmp_path / "m.onnx").write_bytes(write(model(nodes, [info("x", 1, 1, "S")], constants=[("w", w)])))
    return str(tmp_path / "m.onnx")


def test_dump_draws_nodes_with_their_facts_and_rails(path: str, capsys: Any) -> None:
    assert main([path, "dump"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "input   x: 1,1,S,f32" and "output  y: 1,1,S,f32" in lines
    drawn = [line.split() for line in lines[1:4]]
    assert [line[-2:] for line in drawn] == [[op, "1,1,S,f32"] for op in ("Conv", "Relu", "Add")]
    assert [line[:-2] for line in drawn] == [["├", "●"], ["│", "●"], ["●", "┴"]]


def test_dump_as_json_after_each_pass(path: str, capsys: Any) -> None:
    for stage, size in (("load", "..,?"), ("analyse", "1,1,40,f32"), ("declutter", "1,1,40,f32")):
        assert main([path, "-i", "1,1,40,f32", "--pass", stage, "dump", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert [one["op"] for one in told["nodes"]] == ["Conv", "Relu", "Add"]
        assert told["inputs"] == {"x": "1,1,40,f32"} and told["outputs"] == {"y": size}


def test_dump_in_pulses_tells_the_delay(path: str, capsys: Any) -> None:
    assert main([path, "--pulse", "8", "dump", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["inputs"] == {"x": "1,1,8,f32"} and told["properties"]["pulse.delay"] == [1]


def test_run_reads_and_writes_arrays(path: str, tmp_path: Path, capsys: Any) -> None:
    x = np.array([[[1, 2, 3]]], np.float32)
    np.savez(tmp_path / "in.npz", x=x)
    assert (
        main([path, "run", "--input", str(tmp_path / "in.npz"), "--output", str(tmp_path / "out.npz")]) == 0
    )
    assert "y: 1,1,3,f32" in capsys.readouterr().out
    expected = x + np.array([[[5, 8, 3]]], np.float32)
    assert np.array_equal(np.load(tmp_path / "out.npz")["y"], expected)


def test_compare_with_arrays_of_a_file(path: str, tmp_path: Path, capsys: Any) -> None:
    x = np.array([[[1, 2, 3]]], np.float32)
    right = x + np.array([[[5, 8, 3]]], np.float32)
    for y, code, word in (
        (right, 0, "equal"),
        (right + 1, 1, "DIFFERENT"),
        (right[:, :, 1:], 1, "shapes differ"),
    ):
        np.savez(tmp_path / "both.npz", x=x, y=y)
        assert main([path, "compare", "--with", str(tmp_path / "both.npz")]) == code
        assert word in capsys.readouterr().out


def test_compare_with_onnxruntime(path: str, capsys: Any) -> None:
    if importlib.util.find_spec("onnxruntime") is None:
        assert main([path, "-i", "1,1,9,f32", "compare", "--with", "onnxruntime"]) == 2
        assert "onnxruntime is not installed" in capsys.readouterr().err
        return
    assert main([path, "-i", "1,1,9,f32", "compare", "--with", "onnxruntime"]) == 0
    assert "y: equal" in capsys.readouterr().out


def test_bench_tells_how_long_a_run_takes(path: str, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("minilib.infer.__main__.SECONDS", 0.01)
    for more in ([], ["--pulse", "4"]):
        fact = [] if more else ["-i", "1,1,9,f32"]
        assert main([path, *fact, *more, "bench"]) == 0
        assert "median" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["nowhere.onnx", "dump"], "nowhere.onnx cannot be read"),
        (["PATH", "-i", "1,1,S", "dump"], "the fact '1,1,S' ends with 'S'"),
        (["PATH", "-i", "1,1,S,f32", "-i", "1,f32", "dump"], "there is no input 1"),
        (["PATH", "bench"], "the input 'x' is 1,1,S,f32: say how large it is with -i"),
        (["PATH", "run", "--input", "none.npz"], "none.npz cannot be read"),
        (["PATH", "run", "--input", "PATH"], "arrays are read from .npz files"),
        (["PATH", "--pulse", "many", "dump"], "a pulse is a number of frames"),
        (["PATH", "--pulse", "4", "--pass", "load", "dump"], "pulses are cut after declutter"),
        (["PATH", "-i", "1,1,2,f32", "run", "--output", "/nowhere/y.npz"], "/nowhere/y.npz: No such file"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    path: str, capsys: Any, arguments: list[str], message: str
) -> None:
    assert main([path if one == "PATH" else one for one in arguments]) == 2
    told = capsys.readouterr().err
    assert message in told and told.count("\n") == 1


def test_it_is_a_command(path: str) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "minilib.infer", path, "dump"], capture_output=True, text=True, check=True
    )
    assert "Conv" in made.stdout


def test_dump_tells_costs_times_and_the_program(path: str, capsys: Any) -> None:
    assert main([path, "dump", "--cost"]) == 0
    told = capsys.readouterr().out
    assert "3*S FMA" in told and "in all  3*S FMA" in told and " us" not in told
    assert main([path, "--pulse", "4", "dump", "--profile", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["nodes"]
    assert [(row["op"], row["cost"]) for row in rows if row["op"] == "Conv"] == [("Conv", 12)]
    assert all(row["seconds"] > 0 for row in rows)
    assert main([path, "-i", "1,1,9,f32", "--pass", "optimise", "dump"]) == 0
    assert "def " in capsys.readouterr().out
    assert main([path, "--pass", "optimise", "dump"]) == 2
    assert capsys.readouterr().out == ""
    assert main([path, "--pass", "load", "dump", "--cost"]) == 2
    assert "of a model that is analysed" in capsys.readouterr().err


def test_dump_takes_the_inputs_that_it_times(path: str, tmp_path: Path, capsys: Any) -> None:
    np.savez(tmp_path / "in.npz", x=np.ones((1, 1, 5), np.float32))
    assert main([path, "dump", "--profile", "--input", str(tmp_path / "in.npz")]) == 0
    assert capsys.readouterr().out.count(" us") == 4


def test_a_pipe_that_closes_early_is_no_error(path: str) -> None:
    command = f"{sys.executable} -m minilib.infer {path} -i 1,1,9,f32 dump --json | head -1"
    made = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert (made.returncode, made.stderr) == (0, "")


def test_arrays_of_words_are_not_compared(path: str, tmp_path: Path, capsys: Any) -> None:
    np.savez(tmp_path / "both.npz", x=np.ones((1, 1, 2), np.float32), y=np.array([[["a", "b"]]]))
    assert main([path, "compare", "--with", str(tmp_path / "both.npz")]) == 2
    assert "the array 'y' holds no numbers" in capsys.readouterr().err
