"""The README and the manual of warplens say what their code prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import warplens

HOME = Path(warplens.__file__).parents[1]
PAGES = {
    page.relative_to(HOME).as_posix(): page for page in (HOME / "README.md", *(HOME / "docs").glob("*.md"))
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_its_code_prints(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text, names = PAGES[name].read_text(encoding="utf-8"), dict[str, object]()
    pairs = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(pairs) == text.count("```python")
    for code, shown in pairs:
        exec(code, names)
        assert capsys.readouterr().out == shown


@pytest.mark.parametrize("name", PAGES)
def test_a_page_links_to_what_is_there(name: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", PAGES[name].read_text(encoding="utf-8"))
    assert [link for link in links if not (PAGES[name].parent / link).exists()] == []


def test_the_readme_runs_a_kernel_finds_a_race_and_a_cost() -> None:
    assert PAGES["README.md"].read_text(encoding="utf-8").count("```python") >= 3
