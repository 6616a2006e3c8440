"""PyTorch's databases of operations, modules and optimisers: what differs is listed, with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from parity.databases import modules, operations, optimisers
from parity.databases.expected import Expected, docstring, expected, reason_for, reasons

MOST = 12  # samples of each dtype, spread evenly; `python -m tests.parity.databases` runs all there are

CASES = [(database, name) for database in (operations, modules, optimisers) for name in database.entries()]


@pytest.fixture(scope="module")
def run() -> Iterator[dict[str, set[Expected]]]:
    """The entries that were run, and for each the lines of the list that it needed."""
    yield {}


@pytest.mark.parametrize(("database", "name"), CASES, ids=[name for _, name in CASES])
def test_every_difference_is_listed(database: Any, name: str, run: dict[str, set[Expected]]) -> None:
    found = [found for found in database.differences(database.entries()[name], MOST) if found is not None]
    listed = {each: reason_for(each) for each in found}
    run[name] = {line for line in listed.values() if line is not None}
    unlisted = {(each.kind, each.form, each.message): each for each in found if listed[each] is None}
    assert not unlisted, "not in expected.toml:\n" + "\n".join(map(str, unlisted.values()))


def test_every_listed_difference_still_occurs(run: dict[str, set[Expected]]) -> None:
    if set(run) != {name for _, name in CASES}:
        pytest.skip("not every entry was run")
    needed = set().union(*run.values())
    assert [line for line in expected() if line.in_sample and line not in needed] == []


@pytest.mark.parametrize("word", reasons())
def test_a_docstring_gives_the_reason(word: str) -> None:
    assert reasons()[word]["says"] in docstring(reasons()[word]["in"])


def test_each_reason_is_used_and_known() -> None:
    assert {line.reason for line in expected()} == set(reasons())
