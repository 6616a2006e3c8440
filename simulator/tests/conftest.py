"""What the tests find beside themselves, and the marks that they carry."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "helpers"), str(HERE.parent / "benchmarks")]

os.environ.setdefault("WARPLENS", "simulate")  # the same tests on every machine


def pytest_configure(config: pytest.Config) -> None:
    for mark in (
        "slow: takes a third of a second or more, or is one of many cases",
        "thorough: takes a second or more where quicker tests tell a gross break",
        "nightly: takes minutes of processor in all",
        "parity: compares with PyTorch or NVRTC; skipped where they are missing",
        "oracle: compiles CUDA C as C++; skipped where there is no g++",
    ):
        config.addinivalue_line("markers", mark)
