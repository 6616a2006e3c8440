"""What the lessons measure with, and that nothing but lessons imports it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from coursekit.pictures import count_passes, operations, peak_bytes, saved_bytes, seconds
from minilib.tensor import Tensor

ROOT = Path(__file__).parents[2]


def test_seconds_is_the_shortest_of_so_many_times():
    calls = []
    assert 0 <= seconds(lambda: calls.append(1), 3) < 1
    assert len(calls) == 3


def test_peak_bytes_counts_what_is_let_go_again():
    assert 8_000_000 <= peak_bytes(lambda: np.ones(1_000_000).sum()) < 9_000_000


def test_operations_are_counted_once_and_leaves_are_none():
    x = Tensor(np.ones(3, np.float32), requires_grad=True)
    y = x.exp()
    assert sorted(f.name for f in operations(y * y)) == ["Exp", "Mul"]


def test_an_array_that_two_operations_save_counts_once():
    x = Tensor(np.ones(1000, np.float32), requires_grad=True)
    y = x.exp()  # saves its result
    assert saved_bytes(y) == saved_bytes(y * y) == 4000


def test_passes_over_memory():
    assert count_passes(lambda x: x + x, np.zeros(4)) == (1, 2)
    assert count_passes(lambda x: x * 2 + x, np.zeros(4)) == (2, 5)


def test_only_notebooks_and_rewards_import_the_stage():
    files = [
        path for folder in ("minilib", "coursekit", "benchmarks") for path in (ROOT / folder).rglob("*.py")
    ]
    inside = ("rewards.py", "mamba_rates.py")  # the latter repeats the race of a lesson
    outside = [path for path in files if path.parent.name != "pictures" and path.name not in inside]
    assert not [path for path in outside if re.search(r"coursekit(\.| import )pictures", path.read_text())]
