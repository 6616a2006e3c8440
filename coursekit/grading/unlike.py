"""What an answer does and the reference does without, which is asked of wrong answers alone."""

from __future__ import annotations

import ast
import re

from coursekit.grading.answer import Answer, named


def conjugated(source: str, reference: str) -> str:
    """A conjugate that the reference does without: of real numbers it changes nothing."""
    names = ("conj", "conjugate", "vdot")
    if any(f"{name}(" in reference for name in names):
        return ""
    for one in Answer(source).nodes:
        if isinstance(one, ast.Call) and ast.unparse(one.func).split(".")[-1] in names:
            return (
                f"{named(one)} takes a conjugate, and that changes complex numbers alone: is it asked for? A "
                "sum of products is one without it."
            )
    return ""


def dropped(source: str, reference: str) -> str:
    """A call whose result goes nowhere, of a function whose result the reference uses."""
    answer = Answer(source)
    if answer.cuda:
        lines = (line.partition("//")[0].strip() for line in answer.lines)
        bare = [(found[1], found[0]) for line in lines if (found := re.fullmatch(r"(\w+)\(.*\);", line))]
    else:
        alone = [one.value for one in answer.nodes if isinstance(one, ast.Expr)]
        calls = [one for one in alone if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)]
        bare = [(ast.unparse(one.func), ast.unparse(one)) for one in calls]
    for name, line in bare:
        used = re.search(rf"(?m)^[^\n]*[=(+*/,-] *{name}\(|return {name}\(", reference)
        if used and not re.search(rf"(?m)^ *{name}\(|\b(def|void) {name}\b", reference):
            return (
                f"`{line.rstrip(';')}` gives its result back, and nothing takes it: what it was given stays "
                "as it is."
            )
    return ""
