"""What `import minilib` loads, and how long that takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from thinned import slow_where

import minilib

HEAVY = {"matplotlib", "sklearn", "scipy", "graphviz", "pygraphviz", "tqdm", "torch", "cupy", "IPython"}
FOLDER = Path(minilib.__file__).parent
MODULES = sorted(
    "minilib" if path.stem == "__init__" else f"minilib.{path.stem}"
    for path in FOLDER.glob("*.py")
    if path.stem not in ("draw", "gpu")
)
# A machine under load takes several times as long; a library that loads matplotlib, ten times.
LIMIT = 0.150
SLACK = 3


def run(code: str) -> str:
    env = os.environ | {"PYTHONPATH": str(FOLDER.parent), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("module", slow_where(MODULES, lambda module: module != "minilib.gpt"))
def test_a_module_loads_nothing_heavy(module: str) -> None:
    loaded = json.loads(run(f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"))
    assert module in loaded
    assert [name for name in loaded if name.partition(".")[0] in HEAVY] == []


def seconds(code: str) -> float:
    """The processor time of `code` in a new Python: the least of three."""
    timed = f"import time; start = time.process_time()\n{code}\nprint(time.process_time() - start)"
    return min(float(run(timed)) for _ in range(3))


@pytest.mark.slow
def test_importing_takes_at_most_150_ms_over_numpy() -> None:
    """The bound allows for a busy machine; what it is there to catch is much slower."""
    both = seconds("import numpy, minilib, minilib.tensor")
    assert both - seconds("import numpy") < SLACK * LIMIT


def test_importing_the_library_costs_no_second_numpy() -> None:
    """NumPy's own submodules that load late (random, linalg, ...) may come; testing and f2py may not."""
    loaded = json.loads(run("import json, sys, minilib.tensor; print(json.dumps(sorted(sys.modules)))"))
    assert [name for name in loaded if name in ("numpy.testing", "numpy.f2py", "unittest", "asyncio")] == []


def test_minilib_says_its_version_and_what_a_module_has_of_its_own() -> None:
    import minilib
    import minilib.gpt

    assert minilib.__version__[0].isdigit()
    assert "GPT" in dir(minilib.gpt) and "cat" not in dir(minilib.gpt)
    with pytest.raises(AttributeError, match="nonsense"):
        minilib.nonsense  # noqa: B018
