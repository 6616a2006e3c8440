"""Two toy libraries side by side: what is measured, what is refused, what the table says."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from toy_benchmark import SUITE

from benchmarks import sidebyside

pytestmark = pytest.mark.slow

CASES = {case.name: case for case in SUITE.cases}


def measured(name: str, rounds: int = 1) -> sidebyside.Row:
    return sidebyside.measure(SUITE, [CASES[name]], list(SUITE.libraries), rounds=rounds)[0]


def test_seconds_are_those_of_one_operation_and_the_ratio_is_to_the_peer() -> None:
    row = measured("sleep", rounds=3)  # a busy machine lets one of them sleep too long
    assert row["unit"] == "seconds"
    assert 0.006 <= row["heavy"] < 0.02  # a call of ten operations takes 0.06 s, and more on a busy machine
    assert 1.5 < row["ratio"] <= 3.1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="an earlier peak is only forgotten on Linux")
def test_memory_is_the_peak_above_the_level_after_set_up() -> None:
    row = measured("allocate")
    assert row["unit"] == "bytes"
    assert row["heavy"] == pytest.approx(60e6, rel=0.1)
    assert row["light"] == pytest.approx(20e6, rel=0.1)


@pytest.mark.thorough
def test_libraries_that_compute_different_things_are_not_compared() -> None:
    with pytest.raises(SystemExit, match="error: disagree: call 1 gave"):
        measured("disagree")


def test_a_library_that_fails_ends_the_run_with_its_message(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"error: .*--child fail heavy` failed"):
        measured("fail")
    assert "heavy cannot do this" in capfd.readouterr().err


def test_each_round_gives_each_key_its_turn() -> None:
    seen: list[str] = []
    assert sidebyside.in_turn("ab", 2, lambda key: seen.append(key) or len(seen)) == {
        "a": [1, 3],
        "b": [2, 4],
    }


def test_the_ratio_is_the_median_of_the_ratios_within_a_round() -> None:
    def rounds(*values: float) -> list[sidebyside.Row]:
        return [{"value": value, "results": [[1.0, 1.0]]} for value in values]

    found = {"heavy": rounds(1.0, 20.0, 6.0), "light": rounds(1.0, 10.0, 2.0)}  # a slow second round
    row = sidebyside.row(SUITE, CASES["sleep"], found)
    assert (row["heavy"], row["light"], row["ratio"], row["target"]) == (6.0, 2.0, 2.0, 2.0)


ROWS = [
    {"case": "sleep", "unit": "seconds", "heavy": 0.00512, "light": 2.5e-06, "ratio": 2048, "target": 2.0},
    {"case": "allocate", "unit": "bytes", "heavy": 6e7, "light": 2e7, "ratio": 3.0, "target": 4.0},
    {"case": "disagree", "unit": "seconds", "heavy": 1.5, "light": 0.15, "ratio": 10.0, "target": None},
]


def test_the_table_names_units_and_says_where_a_target_is_missed() -> None:
    assert sidebyside.table(SUITE, ROWS).splitlines() == [
        "| toys | `heavy` | Light | ratio, median of the rounds |",
        "| --- | --- | --- | --- |",
        "| ten naps | 5.12 ms | 2.50 µs | 2048.00 (target 2: missed) |",
        "| an array | 60 MB | 20 MB | 3.00 |",
        "| two answers | 1.50 s | 150 ms | 10.00 (more) |",
    ]


def test_one_library_alone_has_no_ratio() -> None:
    rows = [{"case": "sleep", "unit": "seconds", "light": 0.05}]
    assert sidebyside.table(SUITE, rows).splitlines()[::2] == ["| toys | Light |", "| ten naps | 50.0 ms |"]


@pytest.fixture
def readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A README, and results, of this test's own."""
    monkeypatch.setattr(sidebyside, "ROOT", tmp_path)
    monkeypatch.setattr(sidebyside, "README", tmp_path / "README.md")
    (tmp_path / "benchmarks").mkdir()
    return tmp_path / "README.md"


def test_a_whole_run_is_recorded_and_shown_in_the_readme(
    readme: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sidebyside, "measure", lambda suite, cases, libraries, rounds: ROWS)
    readme.write_text("before\n<!-- bench toy_benchmark -->\n<!-- /bench toy_benchmark -->\nafter\n")
    sidebyside.main(SUITE, ["--rounds", "2"])
    data = json.loads(SUITE.results.read_text())
    assert data["rows"] == ROWS and data["rounds"] == 2 and data["threads"] == sidebyside.THREADS
    assert set(data["versions"]) == {"numpy"} and data["machine"]["cores"] >= 1
    assert sidebyside.marked(SUITE.name, readme.read_text()) == sidebyside.table(SUITE, ROWS)
    assert readme.read_text().startswith("before\n<!--") and readme.read_text().endswith("-->\nafter\n")
    again = readme.read_text()
    sidebyside.main(SUITE, ["--table"])
    assert readme.read_text() == again


def test_a_part_of_a_run_is_only_printed(
    readme: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sidebyside, "measure", lambda suite, cases, libraries, rounds: ROWS[:1])
    readme.write_text("mine\n")
    sidebyside.main(SUITE, ["--case", "sleep"])
    assert "| ten naps |" in capsys.readouterr().out
    assert readme.read_text() == "mine\n" and not SUITE.results.exists()


def test_a_readme_without_markers_is_left_and_told(readme: Path, capsys: pytest.CaptureFixture[str]) -> None:
    readme.write_text("mine\n")
    sidebyside.record(SUITE, ROWS, 1)
    sidebyside.write_readme(SUITE)
    assert readme.read_text() == "mine\n"
    assert "put <!-- bench toy_benchmark -->" in capsys.readouterr().out


def test_the_first_library_is_divided_by_the_second() -> None:
    assert (SUITE.ours, SUITE.peer) == ("heavy", "light")
    assert replace(SUITE, module="benchmarks.tensor").results.name == "tensor.json"
