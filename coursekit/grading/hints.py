"""Which mistake is it? Values of known wrong answers, and names from added cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from coursekit.grading.assemble import HELPERS
from coursekit.grading.compare import Judge, verdict, words
from coursekit.grading.misconceptions import Misconception
from coursekit.grading.model import CellRun, NotebookRun
from coursekit.grading.wording import texts_in

SAME_VALUES = 11
_NAME_ERROR = re.compile(r"NameError: name '(\w+)' is not defined")


def bundles(misconceptions: Iterable[Misconception]) -> list[dict[str, Misconception]]:
    """The k-th misconception of each exercise together, so that few notebooks run them all."""
    made: list[dict[str, Misconception]] = []
    for one in misconceptions:
        bundle = next((bundle for bundle in made if one.exercise not in bundle), None)
        if bundle is None:
            made.append(bundle := {})
        bundle[one.exercise] = one
    return made


@dataclass(frozen=True)
class Known:
    """What one misconception showed at this run's seed."""

    misconception: Misconception
    cells: Mapping[str, CellRun]  # by grade_id
    _shows: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    def shows(self, grade_id: str, right: CellRun | None, judge: Judge | None) -> bool:
        """Whether the mistake shows there, worked out once: beside thousands of answers it is the same.

        What a judge refuses may be equal by comparison, and the other way.
        """
        if grade_id not in self._shows:
            own = self.cells.get(grade_id)
            self._shows[grade_id] = (
                own is not None
                and right is not None
                and any(verdict(right, own, one) is not None for one in (judge, None))
            )
        return self._shows[grade_id]


def known(made: Sequence[Mapping[str, Misconception]], runs: Sequence[NotebookRun]) -> list[Known]:
    """What each misconception in the bundles `made` showed, from the runs of these bundles."""
    return [
        Known(one, {cell.grade_id: cell for cell in run.cells if cell.exercise == exercise})
        for bundle, run in zip(made, runs, strict=True)
        for exercise, one in bundle.items()
    ]


def hint(
    failed: Sequence[CellRun],
    knowns: Iterable[Known],
    right: Mapping[str, CellRun],
    judges: Mapping[str, Judge],
    blamed: Callable[[Misconception], bool] = lambda one: True,
) -> str | None:
    """The hint of the misconception that shows what the `failed` tests of one exercise showed.

    It explains all of them: one that explains some would be told to those who made another mistake, and so
    would one that `blamed` finds no ground for in the answer. The same values are preferred to the same words
    of a judge. Where the values of one test are the same, it is enough
    that a judge refuses both in another, which counts what they cost. `right` is the reference.
    """
    best, most = None, 0
    for one in knowns:
        if not blamed(one.misconception):
            continue
        explained = [
            _likeness(right[cell.grade_id], one.cells[cell.grade_id], cell, judges.get(cell.grade_id))
            if one.shows(cell.grade_id, right.get(cell.grade_id), judges.get(cell.grade_id))
            else 0
            for cell in failed
        ]
        sure = min(explained, default=0) > 1 or SAME_VALUES in explained
        if all(explained) and sure and sum(explained) > most:
            best, most = one.misconception.hint, sum(explained)
    return best


def blames(one: Misconception, answer: str, reference: str) -> bool:
    """Whether an answer has what the hint names of the mistake's code, and the reference does without."""
    named = re.findall(r"`([A-Za-z_][\w.]*)`", one.hint)
    return all(_has(answer, name) for name in named if _has(one.source, name) and not _has(reference, name))


def _has(source: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}\b", source) is not None


def _likeness(right: CellRun, mistake: CellRun, cell: CellRun, judge: Judge | None) -> int:
    """How much a mistake that shows explains of `cell`: 10 or SAME_VALUES for the same, 0 for nothing.

    9 where the judge says the same of both, 8 for all up to an error that another mistake makes, 7 where
    kernels leave the same wrong numbers, 1 where the judge refuses both.
    """
    ran = mistake.status == cell.status == "ok"
    if _same(mistake, cell, right):
        return SAME_VALUES if ran and judge is None and _drawn(right, cell) else 10
    if ran and (bare := [_uncounted(run) for run in (mistake, cell, right)]) != [mistake, cell, right]:
        one, other, best = bare  # whatever they cost
        if verdict(best, one) is not None and _same(one, other, best):
            return 7
    if not ran:
        return 8 if cell.status == "error" and _so_far(mistake, cell, right) else 0
    said = words(right, cell, judge)
    if any(said) and said == words(right, mistake, judge):
        return 9
    return 1 if judge is not None and not any(said) else 0


def _uncounted(run: CellRun) -> CellRun:
    """What kernels left in their arrays and what was found in them, without what they cost."""
    bare: dict[str, Any] = {"work": {}, "counts": {}}
    values = [
        {"kernel": {**p.value["kernel"], **bare}}
        if isinstance(p.value, dict) and "kernel" in p.value
        else p.value
        for p in run.probes
    ]
    return replace(run, probes=tuple(replace(p, value=value) for p, value in zip(run.probes, values)))


def _so_far(mistake: CellRun, cell: CellRun, right: CellRun) -> bool:
    """Whether all values up to where an answer stopped are the mistake's, some of them wrong and drawn."""
    until = len(cell.probes)
    best, cut, shown = (
        replace(one, status="ok", probes=one.probes[:until]) for one in (right, mistake, cell)
    )
    wrong = len(cut.probes) == until and verdict(best, shown) is not None  # and not only in the last digits
    return wrong and _drawn(right, cell) and _same(cut, shown, right)


def _drawn(right: CellRun, cell: CellRun) -> bool:
    """Whether a value that is wrong has a number in it that nobody shows by chance."""
    wrong = [have.value for want, have in zip(right.probes, cell.probes) if want.value != have.value]
    floats = (text for text in texts_in(wrong) if text.startswith(("0x", "-0x")))
    return any(not float.fromhex(text).is_integer() for text in floats)


def _same(mistake: CellRun, cell: CellRun, right: CellRun) -> bool:
    """Both ended in the same way and showed the same values up to there.

    Asked both ways: a kernel is right where it costs at most so much, and a mistake is the same where the
    costs are.
    """
    if mistake.status != cell.status:
        return False
    if cell.status == "error" and _kind_of(mistake.error) != _kind_of(cell.error):
        return False
    tolerances = {probe.name: probe.tolerance for probe in right.probes}
    one, other = (
        replace(
            run,
            status="ok",
            probes=tuple(replace(p, tolerance=tolerances.get(p.name, p.tolerance)) for p in run.probes),
        )
        for run in (mistake, cell)
    )
    return verdict(one, other) is None and verdict(other, one) is None


def _kind_of(error: str) -> str:
    """An error to compare: RecursionError ends its message in more than one way."""
    return "RecursionError" if error.startswith("RecursionError") else error


# Names from added cells


def helper_hint(error: str, added: Iterable[str]) -> str | None:
    """What to do where an answer uses a name that an added cell defines."""
    found = _NAME_ERROR.match(error)
    if not found or not any(_defines(source, found[1]) for source in added):
        return None
    return (
        f"`{found[1]}` is defined in a cell that you added. Only answer cells are graded: "
        f"move it into this answer, or into the cell that begins with `# {HELPERS}`."
    )


def library_hint(error: str, set_up: Iterable[str]) -> str | None:
    """Why an answer misses what the notebook's `set_up` has, where its exercise does without the library."""
    found = _NAME_ERROR.match(error)
    gives = found and any(re.search(rf"\b{found[1]}\b", cell) for cell in set_up)
    if not gives and not re.match(r"(ImportError|ModuleNotFoundError): .*'minilib\b", error):
        return None
    return (
        "What of the library would work this out is not there while it is graded: NumPy is, and what the "
        "exercise says is given."
    )


def _defines(source: str, name: str) -> bool:
    """Looks at lines, not at a syntax tree: a stranger's cell may hold anything."""
    patterns = (
        rf"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+{name}\b",
        rf"^[ \t]*{name}[ \t]*(?::[^=\n]*)?=(?!=)",
        rf"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import[ \t][^\n]*\b{name}\b",
    )
    return any(re.search(pattern, source, re.MULTILINE) for pattern in patterns)
