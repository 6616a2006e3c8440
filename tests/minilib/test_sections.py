"""An operation and its method are found under the same heading, in two files."""

from __future__ import annotations

import re
from pathlib import Path

import minilib

FOLDER = Path(minilib.__file__).parent


def headings(path: str, indent: str = "") -> list[str]:
    """The comments that stand alone between two empty lines."""
    text = (FOLDER / path).read_text(encoding="utf-8")
    return re.findall(rf"\n\n{indent}# (.+)\n(?=\n)", text)


def test_operations_and_tensor_have_the_same_sections_in_the_same_order() -> None:
    operations = headings("operations.py")
    methods = headings("tensor/core.py", " " * 4)
    assert len(operations) > 10
    assert [heading for heading in methods if heading in operations] == operations
