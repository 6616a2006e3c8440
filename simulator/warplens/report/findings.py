"""What a report finds: one thing that is wrong; or several, where one condition lets all of them through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from textwrap import wrap

Triple = tuple[int, int, int]


@dataclass
class Finding:
    """One thing that is wrong: `count` times in all, described by the first example.

    `kind`: "out-of-bounds", "uninitialised", "misaligned", "barrier-divergence", "warp-sync", "arithmetic",
    "assert", "endless"; of a note "early-return", "row", "shift", "last-block" or "guess"; of a race
    "shared", "global", "warp" or "same-value". `guards` are the lines of the conditions that let an access
    out of bounds through, the innermost first.
    """

    kind: str
    message: str
    line: int
    source: str
    array: str | None = None
    index: int | None = None
    block: Triple | None = None
    thread: Triple | None = None
    count: int = 1
    guards: tuple[int, ...] = field(default=(), kw_only=True)

    def __str__(self) -> str:
        times = "" if self.count == 1 else f" ({self.count:,} times)"
        told = wrap(f"line {self.line}: {self.message}{times}", 100, subsequent_indent="  ")
        return "\n".join([*told, f"    {self.source}"])


@dataclass
class Race(Finding):
    """Two accesses in no order: this one, and an earlier or later one on `other_line`."""

    other_line: int = 0
    other_block: Triple = (0, 0, 0)
    other_thread: Triple = (0, 0, 0)
    access: str = ""  # what this one does: "load", "store" or "atomic"

    @property
    def is_harmful(self) -> bool:
        return self.kind != "same-value"


@dataclass(frozen=True)
class Limit:
    """Something that was not recorded in full, as there was too much of it, and what the report may lack.

    `kind`: "releases", "fences", "max_steps", "patience", "printed", "arguments", "waiting" or "reuse".
    """

    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def by_line(findings: Sequence[Finding]) -> list[Finding]:
    """The first finding of each line."""
    return list({finding.line: finding for finding in reversed(findings)}.values())[::-1]


def for_one_barrier(races: Sequence[Race]) -> list[Race]:
    """The races that do harm, where one barrier would end several as one: those within a block that one line
    has with others, and the same two lines' in a warp, a block and the grid."""
    groups: list[list[Race]] = []
    for race in races:
        if race.is_harmful:
            near = [group for group in groups if any(_one_cause(race, other) for other in group)]
            groups = [group for group in groups if group not in near]
            groups.append([*(other for group in near for other in group), race])
    groups.sort(key=lambda group: min(races.index(race) for race in group))
    return [_leading(group) for group in groups]


def _one_cause(a: Race, b: Race) -> bool:
    if a.block == a.other_block and b.block == b.other_block:
        return a.line == b.line or a.other_line == b.other_line
    return a.array == b.array and {a.line, a.other_line} == {b.line, b.other_line}


def _leading(group: list[Race]) -> Race:
    """The race whose repair serves the others too, with what the others are."""
    first = min(group, key=lambda race: (race.block == race.other_block, race.kind == "warp"))
    told = {(first.array, *sorted((first.line, first.other_line)))}
    others = []
    for race in group:
        pair = race.array, *sorted((race.line, race.other_line))
        if pair not in told:
            told.add(pair)
            of = "" if race.array == first.array else f" of {race.array}"
            lines = (
                f"lines {pair[1]} and {pair[2]}" if pair[1] != pair[2] else f"the accesses of line {pair[1]}"
            )
            others.append(lines + of)
    count = sum(race.count for race in group)
    if not others:
        return replace(first, count=count)
    return replace(
        first, count=count, message=f"{first.message} The same between {'; between '.join(others)}."
    )


def at_their_guards(findings: Sequence[Finding], text: Sequence[str]) -> list[Finding]:
    """The findings, where several have one guard as one finding there; `text` are the lines of the source.

    A finding belongs to the outermost of its guards that is the innermost of some finding: what is wrong
    there shows in an access that nothing else guards.
    """
    nearest = Counter(finding.guards[0] for finding in findings if finding.guards)
    groups: dict[int, list[Finding]] = {}
    for finding in findings:
        guard = next((line for line in reversed(finding.guards) if line in nearest), None)
        if guard is not None:
            groups.setdefault(guard, []).append(finding)
    made: list[Finding] = []
    for finding in findings:
        guard = next((line for line, group in groups.items() if finding in group and len(group) > 1), None)
        if guard is None:
            made.append(finding)
        elif finding is groups[guard][0]:
            made.append(_one(guard, groups[guard], text[guard - 1].strip()))
    return made


def _one(line: int, group: list[Finding], source: str) -> Finding:
    first, count = group[0], sum(finding.count for finding in group)
    lines = sorted({finding.line for finding in group})
    where = f"line {lines[0]}" if len(lines) == 1 else "lines " + ", ".join(map(str, lines))
    arrays = ", ".join(dict.fromkeys(str(finding.array) for finding in group))
    example = first.message.partition(" Guard the access")[0]
    told = (
        f"this condition lets {count:,} accesses out of bounds through, at {where}, to {arrays}: {example} "
        f"Make it stricter{', as with < for <=' if '<=' in source else ''}."
    )
    return replace(first, kind="guard", message=told, line=line, source=source, count=1)
