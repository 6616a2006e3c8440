"""What the source tells of races that were found: what does no harm, and how each may be mended."""

from __future__ import annotations

from typing import Protocol

from warplens.report import messages
from warplens.report.data import ReportData
from warplens.report.findings import Race


class RoundsLike(Protocol):
    """What is known of a kernel's loops and updates: see `engine.rounds`."""

    @property
    def updates(self) -> dict[int, str]: ...

    @property
    def waits(self) -> dict[int, int]: ...

    def loop(self, *lines: int) -> int | None: ...


def note_guesses(report: ReportData, guesses: frozenset[tuple[int, int]]) -> None:
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


def tell_rounds(report: ReportData, rounds: RoundsLike) -> None:
    """Say of races what the source tells: that a loop comes round, or that an update wants an atomic."""
    for race in report.races:
        if race.is_harmful:
            race.message += _round(race, rounds)


def _round(race: Race, rounds: RoundsLike) -> str:
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
