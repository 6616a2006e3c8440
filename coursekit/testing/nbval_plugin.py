"""A pytest plugin for nbval: kernels over Unix sockets, text compared, no cell left unrun."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

import nbval.kernel
import pytest
from jupyter_client.manager import KernelManager
from jupyter_core.paths import jupyter_runtime_dir
from nbval.plugin import IPyNbCell

# Pictures change with the version of what draws them. What a probe shows is compared as text, where the
# sanitising patterns apply, and not a second time bit by bit.
NOT_COMPARED = ("image/png", "image/jpeg", "image/svg+xml", "application/vnd.coursekit.probe+json")


class SocketKernelManager(KernelManager):
    """Kernels over Unix sockets: no ports that others can take, no warning about TCP."""

    def __init__(self, **settings: Any) -> None:
        # A full path: the default is relative, and the kernel runs in another folder.
        os.makedirs(jupyter_runtime_dir(), exist_ok=True)
        socket = Path(jupyter_runtime_dir(), f"nb-{uuid.uuid4().hex[:8]}")
        super().__init__(transport="ipc", ip=str(socket), **settings)


def pytest_configure() -> None:
    if os.name == "posix":
        nbval.kernel.KernelManager = SocketKernelManager


def pytest_itemcollected(item: pytest.Item) -> None:
    if isinstance(item, IPyNbCell):
        skipped = item.parent.skip_compare
        item.parent.skip_compare = (*skipped, *(kind for kind in NOT_COMPARED if kind not in skipped))


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """nbval compares nothing where `execution_count` is None; here such a cell fails, after it has run."""
    if not isinstance(item, IPyNbCell) or not item.options["check"] or item.options["skip"]:
        return
    if item.cell.source.strip() and item.cell.execution_count is None:
        pytest.fail("this cell was stored without being run: Restart & Run All, then save", pytrace=False)
