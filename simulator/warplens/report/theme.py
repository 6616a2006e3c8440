"""Colours of what a notebook shows as HTML, in the notebook's own theme: light, dark or another.

They are JupyterLab's where it sets them, else those of VS Code, else light or dark as the page around says it
is. A hue is mixed into the colour of the letters, or thinly into the ground, so that both themes can read it.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from warplens.report.pictures import EVENTS, POOR, WRONG


def _theme(jupyter: str, code: str, light: str, dark: str) -> str:
    return f"var(--jp-{jupyter}, var(--vscode-{code}, light-dark({light}, {dark})))"


def _letters(hue: str) -> str:
    return f"color-mix(in srgb, {hue} 66%, var(--ink))"


def _ground(hue: str) -> str:
    return f"color-mix(in srgb, {hue} 22%, var(--paper))"


VARIABLES = {
    "paper": _theme("layout-color0", "editor-background", "#fff", "#111"),
    "ink": _theme("content-font-color1", "editor-foreground", "#1f2933", "#e4e7eb"),
    "muted": "color-mix(in srgb, var(--ink) 72%, var(--paper))",
    "line": "color-mix(in srgb, var(--ink) 12%, var(--paper))",
    "red": _letters(WRONG),
    "orange": _letters(POOR),
    "green": _letters("#1c8a4a"),
    "blue": _letters(EVENTS["load"]),
    "purple": _letters(EVENTS["atomic"]),
    "red-ground": _ground(WRONG),
    "orange-ground": _ground(POOR),
}
COLOURS = "".join(f"--{name}: {value}; " for name, value in VARIABLES.items())

# On a page of its own the reader's system chooses between light and dark.
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>:root {{color-scheme: light dark}} body {{margin: 0; background: light-dark(#fff, #111)}}</style>
</head><body>{body}</body></html>
"""


def save(path: str | Path, title: str, body: str) -> None:
    """Write HTML that a notebook would show to a file, which a browser opens."""
    path = Path(path)
    if path.suffix not in (".html", ".htm"):
        raise ValueError(f"save: a report is saved as HTML: {path.name!r} must end in .html")
    path.write_text(_PAGE.format(title=escape(title), body=body), encoding="utf-8")
