"""The look that feedback and report share: one file each, no script, nothing fetched from anywhere."""

from __future__ import annotations

import functools
import html
import re

from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]

# With this policy a browser runs no script and loads nothing, whatever a page holds.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

CSS = """
:root { color-scheme: light dark; --paper: #fcfcfb; --card: #fff; --ink: #1f2328; --soft: #626b76;
  --line: #dfe3e8; --code: #f5f6f8; --good: #1a7f4b; --part: #9a6a00; --bad: #c2372e; --none: #7b8490;
  --hint: #eef4fd; --hint-line: #3b78c9; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --card: #1c2025; --ink: #e4e7eb;
  --soft: #9aa4af; --line: #323941; --code: #16191d; --good: #4cc285; --part: #e0ad45;
  --bad: #f0776d; --none: #8b95a1;
  --hint: #1a2839; --hint-line: #6aa5f0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 54rem; padding: 2.5rem 1.25rem 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .25rem; letter-spacing: -.01em; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; }
h3, h4 { font-size: 1rem; margin: 1rem 0 .25rem; }
p { margin: .5rem 0; }
.soft { color: var(--soft); }
.good { color: var(--good); } .part { color: var(--part); } .bad { color: var(--bad); }
.none { color: var(--none); }
code, pre { font: .875em/1.5 ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace; }
code { background: var(--code); border-radius: 4px; padding: .1em .3em; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem;
  margin: .75rem 0; overflow-x: auto; }
pre code { background: none; padding: 0; }
a { color: inherit; text-underline-offset: .2em; text-decoration-color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: .9375rem; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: .8125rem; }
th, td { padding: .4rem .6rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
@media print { body { max-width: none; padding: 0; } }
"""


def page(title: str, body: str, css: str = "") -> str:
    """A whole HTML page. `title` is text, `body` is HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{CSS}{css}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def text(words: str) -> str:
    """Plain words as HTML, with `code` in backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(words))


def number(points: float) -> str:
    """Points without needless zeros: 3, 2.5."""
    return f"{points:g}"


@functools.cache
def code_css() -> str:
    """Colours of Pygments' classes, for light and dark."""
    light = HtmlFormatter(style="default").get_style_defs(".code")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".code")
    kept = [
        "\n".join(line for line in style.splitlines() if line.startswith(".code ."))
        for style in (light, dark)
    ]
    dark_only = f"@media (prefers-color-scheme: dark) {{\n.code span {{ color: inherit; }}\n{kept[1]}\n}}\n"
    return f"{kept[0]}\n{dark_only}"
