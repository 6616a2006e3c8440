"""Figures in prose: a test asks for the number, never for the words around it."""

from __future__ import annotations

import re


def tells(text: str, *figures: object) -> bool:
    """Whether each of `figures` stands in the text as a number of its own."""
    return all(re.search(rf"(?<![\d.,]){re.escape(str(one))}(?!\d|[.,]\d)", text) for one in figures)
