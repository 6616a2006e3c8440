"""Sort, adder and chargpt: their data, their programs, and how these begin, stop, go on and refuse."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from thinned import slow_where

from minilib import data
from minilib.parallel import get_num_threads, set_num_threads
from minilib.projects import adder, chargpt, remember, sort
from minilib.projects.running import right_answers
from minilib.tensor import Generator, Tensor

ROOT = Path(__file__).parents[2]
TEXT = "It was the best of times, it was the worst of times.\n" * 8
SMALL = ["--every", "20", "--batch", "8", "--steps", "60"]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Models as small as these are quicker so, and where the machine is busy much quicker."""
    before = get_num_threads()
    set_num_threads(1)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    yield
    set_num_threads(before)


class Perfect:
    """A stand-in for a model: it knows the answers of a data set."""

    def __init__(self, dataset, wrong=0):
        idx, targets = (tensor.numpy() for tensor in dataset.tensors)
        self.whole = np.concatenate([idx, targets[:, -1:]], axis=1)
        self.whole[:wrong, -1] += 1

    def generate(self, idx, new):
        assert np.array_equal(self.whole[:, : idx.shape[1]], idx.numpy())
        assert idx.shape[1] + new == self.whole.shape[1]
        return Tensor(self.whole)


# Data


def test_a_sequence_is_followed_by_itself_in_order():
    idx, targets = sort.sort_batch(100, length=5, digits=7, generator=Generator(0))
    asked = idx.numpy()[:, :5]
    assert idx.shape == targets.shape == (100, 9)
    assert set(asked.ravel()) == set(range(7))
    assert np.array_equal(targets.numpy()[:, 4:], np.sort(asked, axis=1))
    assert np.array_equal(idx.numpy()[:, 5:], targets.numpy()[:, 4:-1])
    assert (targets.numpy()[:, :4] == -1).all()


def test_no_sequence_is_in_both_splits_and_a_quarter_is_held_out():
    everything = np.indices((3,) * 6).reshape(6, -1).T
    held = sort.is_held_out(everything)
    assert 0.2 < held.mean() < 0.3
    train, test = (sort.SortDataset(split, 3_000).tensors[0].numpy()[:, :6] for split in ("train", "test"))
    assert not sort.is_held_out(train).any() and sort.is_held_out(test).all()
    assert {tuple(row) for row in test} == {tuple(row) for row in everything[held]}


def test_data_sets_are_the_same_each_time():
    for make in (lambda: sort.SortDataset("test", 50), lambda: adder.AdditionDataset("test")):
        assert np.array_equal(make().tensors[0].numpy(), make().tensors[0].numpy())


def test_a_sum_comes_with_its_last_digit_first():
    """minGPT's example: 85 + 50 = 135 is 8 5 5 0 5 3 1."""
    rows = {
        (*idx.tolist(), int(targets[-1]))
        for idx, targets in zip(*(t.numpy() for t in adder.AdditionDataset("train").tensors), strict=True)
    }
    rows |= {
        (*i.tolist(), int(t[-1])) for i, t in zip(*(t.numpy() for t in adder.AdditionDataset("test").tensors))
    }
    assert (8, 5, 5, 0, 5, 3, 1) in rows and (0, 1, 0, 2, 3, 0, 0) in rows
    assert len(rows) == 10_000


@pytest.mark.parametrize("ndigit", slow_where([1, 2, 3], lambda ndigit: ndigit == 3))
def test_all_sums_are_in_one_split_and_right(ndigit):
    wholes = []
    for split in ("train", "test"):
        idx, targets = (tensor.numpy() for tensor in adder.AdditionDataset(split, ndigit).tensors)
        assert idx.shape[1] == 3 * ndigit and (targets[:, : 2 * ndigit - 1] == -1).all()
        assert np.array_equal(idx[:, 2 * ndigit :], targets[:, 2 * ndigit - 1 : -1])
        wholes.append(np.concatenate([idx, targets[:, -1:]], axis=1))
    assert len(wholes[1]) == min(500, 100**ndigit // 5)
    whole = np.concatenate(wholes)
    places = 10 ** np.arange(ndigit + 1)
    a, b = whole[:, :ndigit] @ places[:-1][::-1], whole[:, ndigit : 2 * ndigit] @ places[:-1][::-1]
    assert np.array_equal(whole[:, 2 * ndigit :] @ places, a + b)
    assert len(np.unique(10**ndigit * a + b)) == 100**ndigit


def test_a_stretch_of_text_is_followed_by_the_same_one_place_on():
    made = data.CharDataset("hello world", 4)
    assert made.characters == " dehlorw" and len(made) == 7
    idx, targets = made[2]
    assert (made.decode(idx), made.decode(targets)) == ("llo ", "lo w")
    assert np.array_equal(made.encode("hold"), [3, 5, 4, 1])


def test_the_last_tenth_of_each_tenth_is_held_out_and_comes_once():
    text = "".join(chr(97 + i % 26) + chr(65 + i // 26 % 26) for i in range(500))
    train, test = chargpt.split(text, 9)
    assert train.characters == test.characters and len(train) == 900 - 9
    assert train.decode(train[80][0]) == text[80:89] and train.decode(train[91][0]) == text[101:110]
    held = "".join(test.decode(targets) for _, targets in test)
    assert held == "".join(text[i : i + 10] for i in range(90, 1000, 100))[1:]


def test_answers_are_counted():
    for dataset, asked in ((sort.SortDataset("test", 70), 6), (adder.AdditionDataset("test"), 4)):
        assert right_answers(Perfect(dataset), dataset, asked) == len(dataset)
        assert right_answers(Perfect(dataset, wrong=3), dataset, asked) == len(dataset) - 3


def test_what_is_shown_says_what_is_wrong():
    two = sort.SortDataset("test", 2)
    lines = sort.sorted_by(Perfect(two, wrong=1), two.tensors[0][:, :6]).splitlines()
    assert lines[0].endswith("wrong") and not lines[1].endswith("wrong")
    sums = adder.AdditionDataset("test")
    first, second = adder.added_by(Perfect(sums, wrong=1), sums.tensors[0][:, :4]).splitlines()[:2]
    assert re.fullmatch(r"\d+ \+ \d+ = \d+  wrong: \d+", first)
    a, b, c = map(int, re.fullmatch(r"(\d+) \+ (\d+) = (\d+)", second).groups())
    assert a + b == c


# Programs


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def options_of(name, file):
    """Those that make a program quick."""
    more = {
        "adder": ["--ndigit", "1"],
        "chargpt": ["--file", str(file), "--block", "8", "--model", "gpt-nano", "--shards", "1"],
    }
    return [*SMALL, *more.get(name, [])]


@pytest.mark.slow
def test_each_held_out_character_is_asked_once_behind_its_context():
    text = "".join(chr(97 + i % 7) for i in range(3000))
    plain, late = (chargpt.split(text, 10, context)[1].tensors[1].numpy() for context in (0, 4))
    assert (plain != -1).all() and (late[:, :4] == -1).all() and (late[:, 4:] != -1).all()
    assert np.array_equal(late[:, 4:].reshape(-1)[:200], plain.reshape(-1)[4:204])


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    slow_where([sort, adder, chargpt], lambda program: program is not adder),
    ids=lambda program: program.__name__,
)
def test_a_program_shows_samples_and_ends_with_its_score(program, file, capsys, monkeypatch):
    monkeypatch.setattr(sort, "SIZES", {"train": 500, "test": 100})
    name = program.__name__.rpartition(".")[2]
    program.main(options_of(name, file))
    out = capsys.readouterr().out
    assert [int(step) for step in re.findall(r"(?m)^step (\d+): held out \d", out)] == [1, 20, 40, 60]
    last = {
        "sort": r"sort: \d+ of 100 held-out sequences \(\d+ distinct\) right",
        "adder": r"adder: \d+ of 20 held-out sums right",
        "chargpt": r"chargpt: \d\.\d{4} nats per character on 40 held-out characters; "
        r"\d\.\d{4} where at least 4 stand before each",
    }
    assert re.fullmatch(last[name], out.splitlines()[-1])


def started(name, *options):
    return subprocess.Popen(
        [sys.executable, "-m", f"minilib.projects.{name}", *options],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def training(folder):
    """Losses and samples of a checkpoint, without times."""
    state = json.loads((folder / "training.json").read_text())
    ((_, kept),) = state["callbacks"]
    return state["losses"], [kept[name] for name in ("steps", "held_out", "texts")]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["adder", *(pytest.param(n, marks=pytest.mark.nightly) for n in ("sort", "chargpt"))]
)
def test_an_interrupted_program_goes_on_as_if_it_had_not_been(name, file, tmp_path):
    options = [*options_of(name, file), "--steps", "240", "--every", "80", "--dropout", "0.1"]
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    out, err = started(name, *options, "--checkpoint", str(whole)).communicate(timeout=300)
    process = started(name, *options, "--checkpoint", str(halved))
    for line in process.stdout:
        if line.startswith("step 80:"):
            process.send_signal(signal.SIGINT)
    told = process.stderr.read()
    assert process.wait(300) != 0 and f"--resume {halved} goes on" in told and "Traceback" not in told
    assert 80 <= len(training(halved)[0]) < 240
    again, err = started(name, *options, "--resume", str(halved)).communicate(timeout=300)
    assert again.splitlines()[-1] == out.splitlines()[-1], err
    assert training(halved) == training(whole)


def refused(program, options, capsys):
    """What a program says of its options: one line, and it does not begin."""
    with pytest.raises(SystemExit) as caught:
        program.main(options)
    told = capsys.readouterr().err.strip() if isinstance(caught.value.code, int) else caught.value.code
    assert "\n" not in told and caught.value.code != 0
    assert told.startswith(f"python -m {program.__name__}: ")
    return told


@pytest.mark.parametrize("program", [sort, adder, chargpt, remember])
def test_help_keeps_the_lines_of_the_description(program, capsys):
    with pytest.raises(SystemExit):
        program.main(["--help"])
    assert program.__doc__.strip() in capsys.readouterr().out


@pytest.mark.parametrize(
    ("program", "options", "words"),
    [
        (sort, ["--steps", "0"], "argument --steps: '0' is no whole number from 1 on"),
        (sort, ["--shards", "two"], "argument --shards: 'two' is no whole number from 1 on"),
        (sort, ["--model", "gpt-5"], "argument --model: invalid choice: 'gpt-5'"),
        (sort, ["--speed", "9"], "unrecognized arguments: --speed 9; --help lists the options"),
        (sort, ["--checkpoint", "a", "--resume", "a"], "not allowed with argument --checkpoint"),
        (sort, ["--resume", "/nowhere"], "/nowhere/training.json: there is no such checkpoint"),
        (sort, ["--length", "1", "--digits", "1"], "make either larger"),
        (sort, ["--dropout", "1.5"], "dropout"),
        (sort, ["--lr", "-1"], "lr"),
        (adder, ["--ndigit", "4"], "ndigit is at most 3"),
        (chargpt, ["--file", "/nowhere.txt"], "No such file or directory: '/nowhere.txt'"),
        (chargpt, ["--prompt", "\u20ac"], "the character '\u20ac' does not occur in the text"),
        (chargpt, ["--block", "100000"], "is too short for a block of 100000"),
    ],
)
def test_bad_options_are_told_in_one_line(program, options, words, capsys):
    assert words in refused(program, options, capsys)


def test_a_file_that_is_no_text_is_refused(tmp_path, capsys):
    (tmp_path / "picture").write_bytes(b"\x89PNG\xff")
    assert "picture is no text in UTF-8" in refused(chargpt, ["--file", str(tmp_path / "picture")], capsys)


def test_without_a_network_shakespeare_is_refused(tmp_path, capsys, monkeypatch):
    def no_network(address):
        raise OSError(f"cannot download {address}: use topics(), which needs no network")

    monkeypatch.setattr(data, "_downloaded", no_network)
    assert "needs no network" in refused(chargpt, ["--shakespeare", str(tmp_path)], capsys)


@pytest.mark.slow
def test_a_training_is_not_overwritten_nor_taken_for_another(file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sort, "SIZES", {"train": 500, "test": 100})
    folder = tmp_path / "run"
    sort.main([*SMALL, "--checkpoint", str(folder)])
    capsys.readouterr()
    told = refused(sort, [*SMALL, "--checkpoint", str(folder)], capsys)
    assert told.endswith(f"{folder} holds a training already: --resume {folder} goes on with it")
    told = refused(sort, [*SMALL, "--model", "gpt-micro", "--resume", str(folder)], capsys)
    assert "is of another model or optimiser" in told
