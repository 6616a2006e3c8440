"""What the source tells of findings: which do no harm, what guards them, and how each may be mended."""

from __future__ import annotations

from warplens.analysis.facts import Facts
from warplens.report import messages
from warplens.report.data import ReportData
from warplens.report.findings import Race


def explain(report: ReportData, facts: Facts) -> None:
    """Add to the findings of a report what is known of the kernel's source."""
    for finding in report.out_of_bounds:
        if finding.array != facts.dynamic_shared_array:  # of which the launch may have given too little
            finding.guards = facts.guard_lines.get(finding.line, ())
    _note_speculation(report, facts.speculative_reads)
    for race in report.races:
        if race.is_harmful:
            race.message += _hint(race, facts)


def _note_speculation(report: ReportData, reads: frozenset[tuple[int, int]]) -> None:
    """Make notes of races between a speculative read and the atomicCAS that checks it."""
    kept = []
    for race in report.races:
        lines = race.line, race.other_line
        if race.is_harmful and (lines in reads or lines[::-1] in reads):
            race.kind, race.message = "guess", race.message.partition(". ")[0] + messages.SPECULATIVE
            report.notes.append(race)
        else:
            kept.append(race)
    report.races[:] = kept


def _hint(race: Race, facts: Facts) -> str:
    """That a loop repeats the lines of a race, an update wants an atomic, or a wait is not marked."""
    within = race.block == race.other_block
    waiting = race.line if race.access == "load" else race.other_line
    if waiting in facts.unmarked_waits:
        return messages.UNMARKED_WAIT.format(facts.unmarked_waits[waiting])
    update = facts.updates_in_place.get(race.line) if race.line == race.other_line else None
    if update:
        return messages.UPDATE.format(update)
    if update == "" and race.access == "store" and within:
        return messages.IN_PLACE
    loop = facts.innermost_loop(race.line, race.other_line)
    later = race.line < race.other_line or (race.line == race.other_line and race.access == "load")
    if within and loop is not None and later:
        return messages.LOOP_CARRIED.format(race.line, loop)
    return ""
