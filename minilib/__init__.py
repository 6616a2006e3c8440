"""The library that the course builds, chapter by chapter: a small deep-learning framework on NumPy.

Where to start:

    from minilib.scalar import Value            numbers that know their derivative: chapter 01
    from minilib.tensor import tensor           arrays with gradients, as in PyTorch: 02
    from minilib import nn, optim               layers, modules, optimisers: 03
    from minilib.train import Trainer           the loop around them, with checkpoints
    from minilib.cuda import RawKernel          kernels in CUDA C, on a GPU or simulated: 04
    import minilib.gpu                          tensors on the device "cuda": 05
    from minilib.gpt import GPT, GPTConfig      06;  from minilib.mamba import Mamba, MambaConfig: 07

Names mean what they mean in PyTorch, or their docstring says where they differ. minilib/README.md has the
order in which to read the files.
"""

from __future__ import annotations


def __getattr__(name: str) -> str:
    """`__version__`, looked up when it is asked for: importing minilib stays quick."""
    if name != "__version__":
        raise AttributeError(f"module 'minilib' has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("minilib-course")
    except PackageNotFoundError:  # a copy of the files, not installed
        return "0"
