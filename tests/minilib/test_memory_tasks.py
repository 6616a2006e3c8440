"""Selective copying, induction heads and recall: what is asked, that it can be known, and their program."""

from __future__ import annotations

import re

import numpy as np
import pytest

from minilib.data import TensorDataset, induction_heads, recall, selective_copying
from minilib.gpt import GPT
from minilib.nn import Module
from minilib.parallel import get_num_threads, set_num_threads
from minilib.projects import remember
from minilib.tensor import Tensor, manual_seed


@pytest.fixture(autouse=True)
def one_thread():
    before = get_num_threads()
    set_num_threads(1)
    yield
    set_num_threads(before)


def arrays(pair):
    return tuple(tensor.numpy() for tensor in pair)


# Selective copying


def test_what_is_copied_stands_in_order_among_noise():
    ids, targets = arrays(selective_copying(200, 20, 5, 7, seed=3))
    assert ids.shape == targets.shape == (200, 25)
    for row, asked in zip(ids, targets, strict=True):
        assert np.array_equal(row[:20][row[:20] > 0], asked[20:])
        assert (row[20:] == 8).all() and (asked[:20] == -1).all()
    assert set(targets[:, 20:].ravel()) == set(range(1, 8))


def test_every_place_is_as_likely():
    ids, _ = arrays(selective_copying(4000, 16, 4))
    np.testing.assert_allclose((ids[:, :16] > 0).mean(0), 0.25, atol=0.03)


def test_a_memory_may_fill_all_places():
    ids, targets = arrays(selective_copying(3, 4, 4))
    assert np.array_equal(ids[:, :4], targets[:, 4:])


# Induction heads


def test_what_followed_the_special_token_is_asked_at_the_end():
    ids, targets = arrays(induction_heads(300, 12, 5, seed=1))
    assert (targets[:, :-1] == -1).all() and ((ids == 5).sum(1) == 2).all()
    place = (ids == 5).argmax(1)
    assert np.array_equal(targets[:, -1], ids[np.arange(300), place + 1])
    assert set(place) == set(range(10)) and (ids[:, -1] == 5).all()


def test_the_shortest_sequence_is_of_three_tokens():
    ids, targets = arrays(induction_heads(9, 3, 4))
    assert (ids[:, [0, 2]] == 4).all() and np.array_equal(targets[:, 2], ids[:, 1])


# Recall


@pytest.mark.parametrize("pairs", [1, 5, 8, (2, 8)])
def test_each_key_is_asked_for_its_value_once(pairs):
    ids, targets = arrays(recall(100, pairs, 8, 6, seed=2))
    assert ids.shape == targets.shape == (100, 3 * np.max(pairs))
    sizes = set()
    for row, asked in zip(ids, targets, strict=True):
        places = np.flatnonzero(asked != -1)
        n = len(places)
        sizes.add(n)
        worth = dict(zip(row[0 : 2 * n : 2].tolist(), row[1 : 2 * n : 2].tolist(), strict=True))
        assert len(worth) == n and max(worth) < 8 <= min(worth.values())
        assert np.array_equal(places, np.arange(2 * n, 3 * n)) and set(row[places]) == set(worth)
        assert [worth[key] for key in row[places].tolist()] == asked[places].tolist()
        assert (row[3 * n :] == row[0]).all()
    assert sizes == set(np.atleast_1d(pairs))


# All of them


@pytest.mark.parametrize(
    "make", [selective_copying, induction_heads, lambda n, seed: recall(n, (2, 4), seed=seed)]
)
def test_a_seed_says_which_samples(make):
    one, same, other, pair = (arrays(make(20, seed=seed)) for seed in (1, 1, 2, (1, 1)))
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not np.array_equal(one[0], other[0]) and not np.array_equal(one[0], pair[0])
    assert one[0].dtype == one[1].dtype == np.int64


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: selective_copying(1, 4, 5), "5 tokens do not fit into a length of 4"),
        (lambda: selective_copying(1, 4, 0), "0 tokens do not fit"),
        (lambda: induction_heads(1, 2), "need a length of 3, not 2"),
        (lambda: recall(1, 9, 8), "from 1 to 8 pairs, as many as there are keys, not 9"),
        (lambda: recall(1, 0, 8), "from 1 to 8 pairs"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


# The program


@pytest.mark.parametrize("task", ["copying", "induction", "recall"])
def test_models_are_about_equally_large(task):
    sizes = {}
    for kind in ("mamba", "fixed", "gpt"):
        manual_seed(0)
        model = remember.model_of(kind, task)
        places = model.transformer.wpe.weight.numel() if isinstance(model, GPT) else 0
        head = model.lm_head.weight.numel() if isinstance(model, GPT) else 0  # a Mamba's is its embedding
        sizes[kind] = sum(p.numel() for p in model.parameters()) - places - head
    assert 0.88 < sizes["fixed"] / sizes["mamba"] < 1
    assert 0.95 < sizes["gpt"] / sizes["mamba"] < 1.05


class Oracle(Module):
    """Says what was asked, but for the first `wrong` samples that it sees."""

    def __init__(self, wrong):
        self.left = wrong

    def forward(self, ids):
        rows = [self.rows[tuple(row)] for row in ids.tolist()]
        logits = np.eye(16, dtype=np.float32)[np.maximum(np.array(rows), 0)]
        for i in range(min(self.left, len(rows))):
            logits[i] = np.roll(logits[i], 1, axis=-1)
        self.left -= min(self.left, len(rows))
        return Tensor(logits)


def test_right_answers_are_counted_where_something_is_asked():
    data = TensorDataset(*induction_heads(40, 6, seed=5))
    for wrong, share in ((0, 1.0), (10, 0.75), (40, 0.0)):
        oracle = Oracle(wrong)
        oracle.rows = {
            tuple(i): t for i, t in zip(*(tensor.tolist() for tensor in data.tensors), strict=True)
        }
        assert remember.right(oracle, data) == share


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mamba", "fixed", "gpt"])
@pytest.mark.parametrize(
    "task", ["induction", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("copying", "recall"))]
)
def test_the_program_ends_with_its_scores(task, kind, capsys, monkeypatch):
    monkeypatch.setattr(remember, "LENGTHS", (64, 128))
    monkeypatch.setattr(remember, "PAIRS", (4, 16))
    monkeypatch.setattr(remember, "TESTED", 512)
    remember.main(["--task", task, "--model", kind, "--steps", "4", "--every", "2", "--batch", "4"])
    out = capsys.readouterr().out
    assert [int(step) for step in re.findall(r"(?m)^step (\d+): held out \d", out)] == [1, 2, 4]
    assert re.fullmatch(
        r"remember: right on held-out samples of 6?4: \d+\.\d %(, \d+: \d+\.\d %)?", out.splitlines()[-1]
    )
