"""What one student reads: the tasks, their own answers, points, and what is wrong in words.

On this page stand the instructor's task texts, the student's own code, and the grader's messages. No output
of any kernel, no hidden test, no input and no expected value: those are not even passed to this module.
"""

from __future__ import annotations

import functools
import html
import re
from typing import Any

from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments import highlight  # type: ignore[import-untyped]
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import CudaLexer, PythonLexer  # type: ignore[import-untyped]

from coursekit.grading.assemble import HELPERS, Chapter, Exercise
from coursekit.grading.page import code_css, number, page, text
from coursekit.grading.results import UNSOLVED, ExerciseResult, Result
from coursekit.notebooks import cuda_line

LONGEST = 20_000  # characters of an answer that a page shows

_DETAILS = re.compile(r"<details>\s*<summary>(.*?)</summary>(.*?)</details>", re.DOTALL)

CSS = """
header { display: flex; justify-content: space-between; align-items: flex-start; gap: 2rem;
  border-bottom: 1px solid var(--line); padding-bottom: 1.25rem; margin-bottom: 1.25rem; }
.total { font-size: 2rem; line-height: 1.1; font-weight: 650; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
.total small { font-size: 1rem; font-weight: 400; color: var(--soft); }
ol.overview { list-style: none; margin: 0 0 2rem; padding: 0; display: grid; gap: 0 2.5rem;
  grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); }
ol.overview li { display: flex; gap: .6rem; padding: .3rem 0; border-bottom: 1px solid var(--line); }
ol.overview a { flex: 1; text-decoration: none; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; margin: 1rem 0; }
section > details > summary { display: flex; gap: .75rem; align-items: baseline; padding: .9rem 1.25rem;
  cursor: pointer; font-weight: 600; list-style: none; }
section > details > summary::before { content: "\\25b8"; color: var(--soft); }
section > details[open] > summary::before { content: "\\25be"; }
section > details > summary span:first-of-type { flex: 1; }
section .inside { padding: 0 1.25rem 1.1rem; border-top: 1px solid var(--line); }
section .task { font-size: .9375rem; }
section .task details { margin: .35rem 0; color: var(--soft); }
.label { font-size: .8125rem; color: var(--soft); margin: 1rem 0 -.35rem; }
ul.wrong { margin: .75rem 0; padding: 0; list-style: none; }
ul.wrong li { border-left: 4px solid var(--bad); padding: .15rem 0 .15rem .8rem; margin: .4rem 0; }
.hint { background: var(--hint); border-left: 4px solid var(--hint-line); border-radius: 0 8px 8px 0;
  padding: .65rem .9rem; margin: .75rem 0; }
.math { font-family: "STIX Two Math", Cambria, "DejaVu Serif", serif; font-style: italic; }
footer { margin-top: 2.5rem; font-size: .875rem; color: var(--soft); }
"""


def feedback(chapter: Chapter, result: Result) -> str:
    """The page of one student."""
    title = f"{chapter.number} {chapter.title}".strip()
    if result.refused:
        body = (
            _header(title, result, chapter) + f'<div class="hint">Not graded: {text(result.refused)}.</div>'
        )
    else:
        overview = "\n".join(_line(one) for one in result.exercises)
        sections = "\n".join(_section(one, result) for one in result.exercises)
        body = _header(title, result, chapter) + f'<ol class="overview">{overview}</ol>\n{sections}\n'
        body += _footer(result)
    return page(f"{title}: {result.submission.student}", body, CSS + code_css())


def _header(title: str, result: Result, chapter: Chapter) -> str:
    who = f"{html.escape(result.submission.student)} &middot; {html.escape(result.submission.source)}"
    points = f"{number(result.points)}<small> / {number(chapter.points)}</small>"
    return (
        f'<header><div><h1>{html.escape(title)}</h1><div class="soft">{who}</div></div>'
        f'<div class="total">{points}</div></header>\n'
    )


def state(result: ExerciseResult) -> tuple[str, str]:
    """Style and word for how an exercise ended."""
    if result.passed:
        return "good", "right"
    if result.unsolved:
        return "none", UNSOLVED
    return ("part", "partly right") if result.points else ("bad", "not right")


def _points(result: ExerciseResult) -> str:
    style, word = state(result)
    mark = {"good": "\u2713", "part": "\u25d0", "bad": "\u2717", "none": "\u25cb"}[style]
    points = f"{number(result.points)}/{number(result.exercise.points)}"
    return f'<span class="{style} number" title="{word}">{points} {mark}</span>'


def _line(result: ExerciseResult) -> str:
    name = html.escape(f"{result.exercise.number} {result.exercise.title}")
    return f'<li><a href="#{_anchor(result.exercise)}">{name}</a>{_points(result)}</li>'


def _anchor(exercise: Exercise) -> str:
    return f"exercise-{exercise.number.replace('.', '-')}"


def _section(result: ExerciseResult, whole: Result) -> str:
    """An exercise, open where something is left to do."""
    exercise = result.exercise
    answer = whole.submission.answers.get(exercise.number)
    if answer is None:
        shown = '<p class="soft">Your notebook has no answer cell for this exercise.</p>'
    elif answer.strip() == exercise.stub.strip():
        shown = ""
    else:
        shown = f'<p class="label">Your answer</p>{_code(answer)}'
    name = html.escape(f"{exercise.number} {exercise.title}")
    return (
        f'<section id="{_anchor(exercise)}"><details{"" if result.passed else " open"}>'
        f"<summary><span>{name}</span>{_points(result)}</summary>\n"
        f'<div class="inside"><div class="task">{_task(exercise.task)}</div>\n{shown}\n{_wrong(result)}</div>'
        "</details></section>"
    )


def _wrong(result: ExerciseResult) -> str:
    if result.unsolved or result.passed:
        return f'<p class="{state(result)[0]}">{state(result)[1].capitalize()}.</p>'
    items = "".join(f"<li>{text(message)}</li>" for message in result.messages)
    hint = f'<div class="hint">{text(result.hint)}</div>' if result.hint else ""
    return f'<ul class="wrong">{items}</ul>{hint}'


def _footer(result: Result) -> str:
    helpers = result.submission.answers.get(HELPERS, "")
    lines = "Points come from hidden tests on inputs that differ from run to run."
    if result.submission.added:
        lines += " Cells that you added were not run: only answer cells count."
    own = "".join(line for line in helpers.splitlines() if not line.startswith("#")).strip()
    shown = f'<p class="label">Your helpers</p>{_code(helpers)}' if own else ""
    return f"{shown}<footer>{lines}</footer>"


def _code(source: str) -> str:
    cut = source[:LONGEST].strip("\n")
    long = any(len(line) > 500 for line in cut.splitlines())  # which would keep the lexer busy for minutes
    long |= bool(cuda_line(source)) and len(cut) > 5000  # that of CUDA C goes back and forth over white space
    lexer = CudaLexer() if cuda_line(source) else PythonLexer()
    coloured = text(cut) if long else highlight(cut, lexer, HtmlFormatter(nowrap=True))
    more = '<p class="soft">(The rest of this long answer is not shown.)</p>' if len(source) > LONGEST else ""
    return f'<pre class="code"><code>{coloured.rstrip()}</code></pre>{more}'


# What is plain in text: the page has no script that could set formulas.
_SIGNS = {
    "ge": "\u2265", "geq": "\u2265", "le": "\u2264", "leq": "\u2264", "ne": "\u2260", "approx": "\u2248",
    "times": "\u00d7", "cdot": "\u00b7", "partial": "\u2202", "sum": "\u2211", "to": "\u2192",
    "infty": "\u221e",
    "alpha": "\u03b1", "beta": "\u03b2", "gamma": "\u03b3", "delta": "\u03b4", "eta": "\u03b7",
    "theta": "\u03b8", "lambda": "\u03bb", "mu": "\u03bc", "sigma": "\u03c3", "Delta": "\u0394",
    "qquad": "\u2003", "quad": "\u2002", "left": "", "right": "",
}  # fmt: skip


def _formula(latex: str) -> str:
    """A formula in one line: fractions with a stroke, indices raised and lowered."""
    line = re.sub(r"\\[,;! ]", " ", latex)
    for _ in range(3):  # from the inside out
        line = re.sub(r"\\d?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", _fraction, line)
        line = re.sub(r"\\(?:text|mathrm|mathbf|mathit|operatorname)\s*\{([^{}]*)\}", r"\1", line)
    line = html.escape(re.sub(r"\\([A-Za-z]+)", lambda found: _SIGNS.get(found[1], found[1]), line))
    line = re.sub(r"\^(?:\{([^{}]*)\}|(\w))", lambda found: f"<sup>{found[1] or found[2]}</sup>", line)
    return re.sub(r"_(?:\{([^{}]*)\}|(\w))", lambda found: f"<sub>{found[1] or found[2]}</sub>", line)


def _fraction(found: re.Match[str]) -> str:
    parts = [part if re.fullmatch(r"[\w\\ ^]+", part) else f"({part})" for part in found.groups()]
    return " / ".join(part.strip() for part in parts)


class _Renderer(IPythonRenderer):
    """Markdown without raw HTML, images or addresses that run; formulas as they were typed."""

    def __init__(self) -> None:
        super().__init__(escape=True, allow_harmful_protocols=False, exclude_anchor_links=True)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return f"<em>{html.escape(text)}</em>"

    def inline_math(self, body: str) -> str:
        return f'<span class="math">{_formula(body)}</span>'

    def block_math(self, body: str) -> str:
        return f'<p class="math">{_formula(body)}</p>'

    def block_mermaidjs(self, code: str) -> str:
        return f"<pre>{html.escape(code)}</pre>"


@functools.cache
def _task(markdown: str) -> str:
    """The task as HTML; `<details>` with a summary are the only tags of its own that it keeps."""
    parts: list[str] = []
    at = 0
    for found in _DETAILS.finditer(markdown):
        parts.append(_markdown(markdown[at : found.start()]))
        parts.append(
            f"<details><summary>{_inline(found[1])}</summary>{_markdown(found[2].strip())}</details>"
        )
        at = found.end()
    parts.append(_markdown(markdown[at:]))
    # the heading stands above already
    return re.sub(r"\A\s*<h\d[^>]*>.*?</h\d>\s*", "", "\n".join(parts), flags=re.DOTALL)


def _markdown(source: str) -> str:
    renderer: Any = _Renderer()
    return MarkdownWithMath(renderer=renderer).render(source)


def _inline(source: str) -> str:
    return _markdown(source).strip().removeprefix("<p>").removesuffix("</p>")
