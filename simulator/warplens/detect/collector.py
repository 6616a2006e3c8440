"""Collects the findings of a run: each sort once for each line, with a count and its first example."""

from __future__ import annotations

import math
from typing import Any

from warplens.report.findings import Finding
from warplens.report.messages import Actor, Triple
from warplens.report.transactions import LANES, Bools, Ints


class Collector:
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


def _triple(number: int, shape: Triple) -> Triple:
    x, y, _ = shape
    return number % x, number // x % y, number // (x * y)
