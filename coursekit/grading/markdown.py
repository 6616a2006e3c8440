"""The Markdown of a task as HTML that a page may hold: no HTML of its own, no images, nothing that runs."""

from __future__ import annotations

import functools
import html
import re
from typing import Any

from markupsafe import Markup
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

_DETAILS = re.compile(r"<details>\s*<summary>(.*?)</summary>(.*?)</details>", re.DOTALL)


@functools.cache
def task(markdown: str) -> Markup:
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
    return Markup(re.sub(r"\A\s*<h\d[^>]*>.*?</h\d>\s*", "", "\n".join(parts), flags=re.DOTALL))


def _markdown(source: str) -> str:
    renderer: Any = _Renderer()
    return MarkdownWithMath(renderer=renderer).render(source)


def _inline(source: str) -> str:
    return _markdown(source).strip().removeprefix("<p>").removesuffix("</p>")


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
