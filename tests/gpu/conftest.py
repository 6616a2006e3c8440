"""Every test in this folder has the marker `gpu`, runs with MINILIB_CUDA=gpu and skips without a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_cupy import asked_anew

from warplens.backend import missing_for_gpu


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if item.path.is_relative_to(Path(__file__).parent)]
    missing = missing_for_gpu() if here else None
    for item in here:
        item.add_marker(pytest.mark.gpu)
        if missing is not None:
            item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture(autouse=True)
def on_a_gpu() -> Iterator[None]:
    with asked_anew("gpu"):
        yield
