"""The README of warplens says what its code prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import warplens

README = Path(warplens.__file__).parents[1] / "README.md"


def test_the_readme_shows_what_its_code_prints(capsys: pytest.CaptureFixture[str]) -> None:
    text, names = README.read_text(encoding="utf-8"), {}
    pairs = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(pairs) == text.count("```python") > 3
    for code, shown in pairs:
        exec(code, names)
        assert capsys.readouterr().out == shown
