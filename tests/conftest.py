"""Asserts of shared tests say as much as those of test files, Ctrl-C reaches what tests start, and slow files
come first, so that no worker is left with a long one at the end."""

import os
import re
import signal
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

# The same tests on every machine. Those that need a GPU ask for it: tests/gpu.
os.environ.setdefault("MINILIB_CUDA", "simulate")

pytest.register_assert_rewrite("graded")

# Run in the background (`make test &`, `nohup make test`), tests and what they start would ignore these.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


HERE = Path(__file__).parent
MANY, SOME = 12, 6  # of a test with more cases than MANY, SOME are fast


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow = set()
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow") and not item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.thorough)  # the simulator has a workflow of its own
        if item.path.suffix == ".ipynb" or any(map(item.get_closest_marker, ("slow", "thorough"))):
            slow.add(item.path)
        elif item.path.is_relative_to(HERE):
            cases[item.nodeid.partition("[")[0]].append(item)
    for same in cases.values():
        fast = same[:: -(-len(same) // SOME)] if len(same) > MANY else same
        for item in {*same} - {*fast}:
            item.add_marker(pytest.mark.slow)
    first = (HERE / "parity", HERE / "browser")  # minutes in one piece
    items.sort(key=lambda item: (not any(map(item.path.is_relative_to, first)), item.path not in slow))


@pytest.hookimpl(optionalhook=True)  # where xdist is
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files stay whole, in the order above; random kernels, a minute in one file, are dealt out by seed, and
    one worker alone loads PyTorch."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith("tests/parity/"):
                return "tests/parity"
            seed = re.search(r"random\.py::.*\[(\d+)\]$", nodeid)
            return super()._split_scope(nodeid) + (f" {int(seed[1]) // 50}" if seed else "")

    config.option.loadscopereorder = False
    return Scheduling(config, log)
