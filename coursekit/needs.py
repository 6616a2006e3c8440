"""What a cell or a notebook needs that the course does not install: PyTorch, a C++ compiler, numba.

    from coursekit.needs import need

    need("torch")

as the first lines of a cell with the tag `torch`: where PyTorch is missing, the cell ends there with one
line that says what to install, and Run All goes on. A notebook that needs more as a whole says so in its
metadata, `"coursekit": {"needs": ["torch", "c++"]}`, and to its reader by `need("torch", "c++", whole=True)`
in its first cell, where Run All stops. Standard library alone.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

CELL_TAG = "torch"  # of a cell that is skipped where PyTorch is missing


class Need(NamedTuple):
    name: str
    remedy: str
    is_there: Callable[[], bool]


def _program(name: str) -> bool:
    return shutil.which(name) is not None or shutil.which(name, path=_installed()) is not None


def _installed() -> str:
    """The folder where pip puts programs: on the PATH only where somebody has activated the environment."""
    return sysconfig.get_path("scripts")


NEEDS = {
    "torch": Need("PyTorch", "pip install torch", lambda: importlib.util.find_spec("torch") is not None),
    "numba": Need("numba", "pip install numba", lambda: importlib.util.find_spec("numba") is not None),
    # The one that torch.utils.cpp_extension would call.
    "c++": Need("a C++ compiler", "apt install g++", lambda: _program(os.environ.get("CXX", "c++"))),
    "ninja": Need("ninja", "pip install ninja", lambda: _program("ninja")),
}


class Missing(Exception):
    """What `need` raises. In a notebook it is one line below the cell."""


def missing(names: Iterable[str]) -> str | None:
    """What of `names` this machine lacks and how to get it, in a few words; None where it lacks nothing."""
    gone = [NEEDS[name] for name in names if not NEEDS[name].is_there()]
    return ", ".join(f"{one.name} (`{one.remedy}`)" for one in gone) or None


def of_notebook(notebook: Mapping[str, Any]) -> list[str]:
    """What a notebook needs as a whole, as its metadata says."""
    return list(notebook["metadata"].get("coursekit", {}).get("needs", ()))


def of_cell(cell: Mapping[str, Any]) -> list[str]:
    """What a cell needs, as its tags say."""
    return [CELL_TAG] if CELL_TAG in cell["metadata"].get("tags", ()) else []


def need(*names: str, whole: bool = False) -> None:
    """End the cell that calls this in one line where this machine lacks one of `names`.

    Run All goes on with the next cell, or stops if the `whole` notebook needs them. Raises Missing outside of
    notebooks.
    """
    gone = missing(names)
    if gone is None:
        if "ninja" in names and shutil.which("ninja") is None:
            os.environ["PATH"] += os.pathsep + _installed()  # PyTorch looks for it there and nowhere else
        return
    shell = _shell()
    if whole:
        text = f"Not here: {gone}. This lesson needs it in every cell; what it shows stands below, recorded."
    else:
        text = f"Not here: {gone}. The lesson goes on without this cell."
    if shell is not None:
        _attend(shell, whole)
    raise Missing(text)


def _shell() -> Any:
    interactive = sys.modules.get("IPython")
    return interactive.get_ipython() if interactive else None


def _attend(shell: Any, whole: bool) -> None:
    """Let the cell that is running show its `Missing` as one line, an error if it ends the notebook."""

    def say(shell: Any, kind: type[BaseException], error: BaseException, trace: Any, **options: Any) -> None:
        print(error)

    def hear(result: Any) -> None:
        shell.events.unregister("post_run_cell", hear)
        if not whole and isinstance(result.error_in_exec, Missing):
            result.error_in_exec = None  # so that Run All goes on

    shell.set_custom_exc((Missing,), say)
    shell.events.register("post_run_cell", hear)
