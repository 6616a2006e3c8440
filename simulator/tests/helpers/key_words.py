"""Messages are tested by key words, names and numbers: how they are worded is free to change."""

from __future__ import annotations

import re


def says(text: str, words: str) -> bool:
    """Whether each of `words` stands in a text, in any order; what is quoted or in brackets is one word."""
    found = re.findall(r"""'[^']*'|"[^"]*"|`[^`]*`|\([^()]*\)|\S+""", words)
    return all(re.search(rf"(?<!\w){re.escape(w)}" if w[0].isalnum() else re.escape(w), text) for w in found)
