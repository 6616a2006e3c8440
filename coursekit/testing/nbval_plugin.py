"""A pytest plugin for nbval: kernels over Unix sockets, text compared, no cell left unrun.

Hidden tests must run without an error, and that is all: what they show is not stored. What needs PyTorch is
skipped where that is missing (see coursekit/needs.py).
"""

from __future__ import annotations

import nbval.kernel
import pytest
from nbval.plugin import IPyNbCell

from coursekit import needs
from coursekit.course import chapter_number
from coursekit.notebooks import HIDDEN
from coursekit.sockets import SocketKernelManager
from coursekit.testing.test import LONG_CHAPTERS

# Pictures change with the version of what draws them.
NOT_COMPARED = ("image/png", "image/jpeg", "image/svg+xml")


def pytest_configure() -> None:
    nbval.kernel.KernelManager = SocketKernelManager


def pytest_itemcollected(item: pytest.Item) -> None:
    if isinstance(item, IPyNbCell):
        skipped = item.parent.skip_compare
        item.parent.skip_compare = (*skipped, *(kind for kind in NOT_COMPARED if kind not in skipped))
        if HIDDEN[0] in item.cell.source:
            item.options["check"] = False
        gone = needs.missing([*needs.of_notebook(item.parent.nb), *needs.of_cell(item.cell)])
        if chapter_number(item.path) in LONG_CHAPTERS and item.path.parent.name == "chapters":
            item.add_marker(pytest.mark.long)
        if gone:
            item.add_marker(pytest.mark.skip(reason=f"missing: {gone}"))


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """nbval compares nothing where `execution_count` is None; here such a cell fails, after it has run."""
    if not isinstance(item, IPyNbCell) or not item.options["check"] or item.options["skip"]:
        return
    if item.cell.source.strip() and item.cell.execution_count is None:
        pytest.fail("this cell was stored without being run: Restart & Run All, then save", pytrace=False)
