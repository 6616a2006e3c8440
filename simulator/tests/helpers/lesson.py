"""What a lesson does, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import warplens

# What a lesson does, in a process of its own that may find a CuPy; the last line is about that.
LESSON = """
import sys
from warplens import RawKernel, backend, cp, profile
source = 'extern "C" __global__ void add(const float* x, float* y) { y[threadIdx.x] += x[threadIdx.x]; }'
add = RawKernel(source, "add")
x, y = cp.arange(32, dtype=cp.float32), cp.ones(32, dtype=cp.float32)
add((1,), (32,), (x, y))
print(y, profile(add, (1,), (32,), (x, y)))
print(backend(), cp, "cupy" in sys.modules)
"""


def lesson(first: str = "", **environment: str) -> str:
    """What LESSON prints after `first`."""
    root = str(Path(warplens.__file__).parents[1])
    path = environment.pop("path", "")
    env = {name: value for name, value in os.environ.items() if name != "WARPLENS"}
    env |= {"PYTHONPATH": f"{root}{os.pathsep}{path}", "CUDA_VISIBLE_DEVICES": "", **environment}
    done = subprocess.run([sys.executable, "-c", first + LESSON], env=env, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else done.stderr.strip().splitlines()[-1]
