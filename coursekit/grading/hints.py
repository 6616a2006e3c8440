"""Which mistake is it? Values of known wrong answers, names from added cells, and errors that may be told."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from coursekit.grading.assemble import HELPERS
from coursekit.grading.compare import verdict
from coursekit.grading.misconceptions import Misconception
from coursekit.grading.model import CellRun, NotebookRun

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


def known(made: Sequence[Mapping[str, Misconception]], runs: Sequence[NotebookRun]) -> list[Known]:
    """What each misconception in the bundles `made` showed, from the runs of these bundles."""
    return [
        Known(one, {cell.grade_id: cell for cell in run.cells if cell.exercise == exercise})
        for bundle, run in zip(made, runs, strict=True)
        for exercise, one in bundle.items()
    ]


def hint(failed: Sequence[CellRun], knowns: Iterable[Known], right: Mapping[str, CellRun]) -> str | None:
    """The hint of the misconception that shows what the `failed` tests of one exercise showed.

    One that explains all of them is preferred to one that explains some. `right` is the reference.
    """
    best, most = None, 0
    for one in knowns:
        explained = sum(
            _wrong(right.get(cell.grade_id), one.cells.get(cell.grade_id))
            and _same(one.cells.get(cell.grade_id), cell, right.get(cell.grade_id))
            for cell in failed
        )
        if explained > most:
            best, most = one.misconception.hint, explained
    return best


def _wrong(right: CellRun | None, mistake: CellRun | None) -> bool:
    return right is not None and mistake is not None and verdict(right, mistake) is not None


def _same(mistake: CellRun | None, cell: CellRun, right: CellRun | None) -> bool:
    """Both ended in the same way and showed the same values up to there.

    Asked both ways: a kernel is right where it costs at most so much, and a mistake is the same where the
    costs are.
    """
    if mistake is None or right is None or mistake.status != cell.status:
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


def _defines(source: str, name: str) -> bool:
    """Looks at lines, not at a syntax tree: a stranger's cell may hold anything."""
    patterns = (
        rf"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+{name}\b",
        rf"^[ \t]*{name}[ \t]*(?::[^=\n]*)?=(?!=)",
        rf"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import[ \t][^\n]*\b{name}\b",
    )
    return any(re.search(pattern, source, re.MULTILINE) for pattern in patterns)


# Errors: what a student's process says may carry hidden tests out, so only known sentences pass

_TOLD = re.compile(
    r"name '(\w+)' is not defined"
    r"|No module named '([\w.]+)'"
    r"|cannot access local variable '(\w+)' where it is not associated with a value"
    r"|'(\w+)' object has no attribute '(\w+)'"
    r"|'(\w+)' object is not (?:callable|iterable|subscriptable)"
    r"|unsupported operand type\(s\) for [-+*/%@&|^<>=]{1,3}(?: or pow\(\))?: '(\w+)' and '(\w+)'"
    r"|(?:(\w+)\.)?(\w+)\(\) (?:got an unexpected keyword argument '(\w+)'"
    r"|missing \d positional arguments?|missing \d required positional arguments?: '(\w+)'"
    r"|takes (?:no arguments|\d positional arguments? but \d (?:was|were) given))"
    r"|(?:list|tuple|string) index out of range|division by zero|float division by zero"
    r"|math domain error|math range error|expected a (?:positive|nonnegative) input"  # so since 3.14
    r"|maximum recursion depth exceeded"
    r"|'[\[({]' was never closed|expected ':'|unterminated (?:triple-quoted )?(?:f-)?string literal"
    r"|invalid syntax|unexpected indent|expected an indented block|unmatched '[)\]}]'"
)
_TYPES = {"NoneType", "function", "method", "ndarray", "builtin_function_or_method", "module", "generator"}


def told(error: str, answer: str) -> str:
    """As much of `error` as says nothing but what the student's own `answer` says.

    An exception's message is made in the student's process, beside the hidden test: it could hold its source.
    """
    kind, _, message = error.partition(": ")
    exception = getattr(builtins, kind, None) if kind.isidentifier() else None
    if not (isinstance(exception, type) and issubclass(exception, BaseException)):
        return "an exception that is not one of Python's"
    found = _TOLD.match(message)
    if found and all(_harmless(word, answer) for word in found.groups() if word):
        return f"{kind}: {found[0]}"
    if len(message) > 2 and len(answer) < 20_000 and message in answer:  # no dictionary to pick words from
        return error
    return kind


def _harmless(word: str, answer: str) -> bool:
    return hasattr(builtins, word) or word in _TYPES or bool(re.search(rf"\b{re.escape(word)}\b", answer))
