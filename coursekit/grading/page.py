"""The pages that a grading writes, made from the templates beside: one file each, nothing that runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from coursekit.grading.results import UNSOLVED, ExerciseResult, number


def page(template: str, **values: Any) -> str:
    """A whole HTML page. All that is not Markup among `values` is text and gets escaped."""
    return _TEMPLATES.get_template(template).render(values)


def words(text: str) -> Markup:
    """Plain words as HTML, with `code` in backticks."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def state(result: ExerciseResult) -> tuple[str, str]:
    """Style and word for how an exercise ended, by the instructor's points where there are some."""
    full = result.points == result.exercise.points
    if result.passed if result.tested is None else full:
        return "good", "right"
    if result.unsolved:
        return "none", UNSOLVED
    return ("part", "partly right") if result.points else ("bad", "not right")


_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_TEMPLATES.filters |= {"number": number, "words": words}
_TEMPLATES.globals["state"] = state
