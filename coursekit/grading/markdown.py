"""The Markdown of a task as HTML that a page may hold: no HTML of its own, no images, nothing that runs."""

from __future__ import annotations

import functools
import html
import re
from typing import Any
from xml.etree import ElementTree

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
    # tasks write code as HTML where Jupyter does not read Markdown, in `<details>`
    source = re.sub(r"<code>([^`\n]+?)</code>", lambda found: f"`{html.unescape(found[1])}`", source)
    renderer: Any = _Renderer()
    return MarkdownWithMath(renderer=renderer).render(source)


def _inline(source: str) -> str:
    return _markdown(source).strip().removeprefix("<p>").removesuffix("</p>")


_TAGS = re.compile(
    "math|mrow|m[inos]|mtext|mspace|mfrac|msqrt|mroot|msub|msup|msubsup|munder|mover|munderover|"
    "mtable|mtr|mtd|mstyle|mpadded|menclose"
)


def _formula(latex: str, display: str) -> str:
    """LaTeX as MathML, which browsers set without a script; as it was typed where that cannot be."""
    try:
        from latex2mathml.converter import convert

        made = convert(html.unescape(latex), display=display)
        tree = ElementTree.fromstring(made)
    except Exception:  # it raises a dozen kinds on what it does not know
        return f"<code>{html.escape(html.unescape(latex))}</code>"
    names = {element.tag.rpartition("}")[2] for element in tree.iter()}
    harmful = any(
        name == "href" or name.startswith("on") for element in tree.iter() for name in element.attrib
    )
    if harmful or not all(map(_TAGS.fullmatch, names)):
        return f"<code>{html.escape(html.unescape(latex))}</code>"
    return str(made)


class _Renderer(IPythonRenderer):
    """Markdown without raw HTML, images or addresses that run; formulas in MathML."""

    def __init__(self) -> None:
        super().__init__(escape=True, allow_harmful_protocols=False, exclude_anchor_links=True)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return f"<em>{html.escape(text)}</em>"

    def inline_math(self, body: str) -> str:
        return _formula(body, "inline")

    def block_math(self, body: str) -> str:
        return _formula(body, "block")

    def block_mermaidjs(self, code: str) -> str:
        return f"<pre>{html.escape(code)}</pre>"
