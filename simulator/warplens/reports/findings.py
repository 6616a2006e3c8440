"""Findings of a run: each sort once for each line, with a count and its first example."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from warplens.reports import messages
from warplens.reports.counters import LANES, Bools, Ints
from warplens.reports.finding import Finding, Race
from warplens.reports.messages import Actor, Triple
from warplens.reports.report import Report

if TYPE_CHECKING:
    from warplens.engine.rounds import Rounds

__all__ = ["Findings", "note_guesses", "tell_rounds"]


class Findings:
    """`sections`: lists of findings by their name in the report."""

    def __init__(self, source: str, grid: Triple, block: Triple) -> None:
        self.text = source.splitlines()
        self.grid, self.block = grid, block
        self.alone = math.prod(grid) == 1
        self.lanes_per_block = -(-math.prod(block) // LANES) * LANES
        self.sections: dict[str, list[Finding]] = {}
        self._findings: dict[tuple[object, ...], Finding] = {}

    def source_line(self, line: int) -> str:
        return self.text[line - 1].strip() if 0 < line <= len(self.text) else ""

    def example(self, bad: Bools, warps: Ints) -> tuple[int, Actor]:
        """The first lane of `bad`: its place in the matrix, and its thread."""
        i = int(bad.argmax())
        return i, self.actor(int(warps[i // LANES]) * LANES + i % LANES)

    def actor(self, lane: int) -> Actor:
        block, thread = divmod(lane, self.lanes_per_block)
        return Actor(_triple(block, self.grid), _triple(thread, self.block), lane // LANES, self.alone)

    def number(self, block: Triple) -> int:
        return block[0] + self.grid[0] * (block[1] + self.grid[1] * block[2])

    def find(
        self, section: str, kind: str, line: int, text: str, who: Actor, bad: Bools, array: str | None = None,
        index: int | None = None, other: object = 0,
    ) -> Finding:  # fmt: skip
        count = int(bad.sum())
        finding = Finding(
            kind, text, line, self.source_line(line), array, index, who.block, who.thread, count
        )
        self.add(section, finding, other)
        return finding

    def add(self, section: str, finding: Finding, other: object) -> None:
        key = (section, finding.kind, finding.line, other, finding.array)
        if key in self._findings:
            self._findings[key].count += finding.count
        else:
            self._findings[key] = finding
            self.sections.setdefault(section, []).append(finding)

    def by_section(self) -> dict[str, Any]:
        """All findings by their name in the report, line by line, those that do no harm at the end."""
        sections = {
            name: sorted(found, key=lambda f: (f.kind == "same-value", f.line, f.kind == "warp"))
            for name, found in self.sections.items()
        }
        if "notes" in sections:  # what leaves the whole array is said there
            beyond = {(f.line, f.array) for f in sections.get("out_of_bounds", ())}
            notes = sections["notes"]
            sections["notes"] = [f for f in notes if f.kind != "row" or (f.line, f.array) not in beyond]
        return sections


def note_guesses(report: Report, guesses: frozenset[tuple[int, int]]) -> None:
    """Make notes of races between the first guess of a CAS loop and its atomic; `guesses`: lines of both."""
    kept = []
    for race in report.races:
        lines = race.line, race.other_line
        if race.is_harmful and (lines in guesses or lines[::-1] in guesses):
            race.kind, race.message = "guess", race.message.partition(". ")[0] + messages.GUESS
            report.notes.append(race)
        else:
            kept.append(race)
    report.races[:] = kept


def tell_rounds(report: Report, rounds: Rounds) -> None:
    """Say of races what the source tells: that a loop comes round, or that an update wants an atomic."""
    for race in report.races:
        if race.is_harmful:
            race.message += _round(race, rounds)


def _round(race: Race, rounds: Rounds) -> str:
    within = race.block == race.other_block
    waiting = race.line if race.access == "load" else race.other_line
    if waiting in rounds.waits:
        return messages.PLAIN_WAIT.format(rounds.waits[waiting])
    update = rounds.updates.get(race.line) if race.line == race.other_line else None
    if update:
        return messages.UPDATE.format(update)
    if update == "" and race.access == "store" and within:
        return messages.IN_PLACE
    loop = rounds.loop(race.line, race.other_line)
    later = race.line < race.other_line or (race.line == race.other_line and race.access == "load")
    if within and loop is not None and later:
        return messages.ROUND.format(race.line, loop)
    return ""


def _triple(number: int, shape: Triple) -> Triple:
    x, y, _ = shape
    return number % x, number // x % y, number // (x * y)
