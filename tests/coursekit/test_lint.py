"""The linters, of the versions that pyproject.toml pins, find nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words", ["ruff check --quiet .", "ruff format --check --quiet .", "mypy --no-error-summary"]
)
def test_a_linter_finds_nothing(words: str) -> None:
    done = subprocess.run([sys.executable, "-m", *words.split()], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
