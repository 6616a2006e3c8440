"""What a report finds: one thing that is wrong; or several, where one condition lets all of them through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from textwrap import wrap

__all__ = ["Finding", "Race", "at_their_guards"]

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
        "Make it stricter."
    )
    return replace(first, kind="guard", message=told, line=line, source=source, count=1)
