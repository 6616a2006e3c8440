"""Models in files, run by `minilib.infer` beside onnxruntime and beside onnx's own NumPy evaluator.

    python -m benchmarks.infer                            # writes results/infer.json, README.md
    python -m benchmarks.infer --case mlp-1 --rounds 1    # a part is only printed

The models are those of benchmarks/infer_models.py, exported anew into a temporary folder. One thread, a
process for each library. The first calls, in which a program is planned, are not timed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.sidebyside import ROOT, Call, Case, Suite, main

FOLDER = "MINILIB_INFER_MODELS"  # in the environment: where the models are


@dataclass(frozen=True)
class Library:
    """What makes a function of an input out of a file: that of each library, or the peer's slow one."""

    load: Callable[[str], Callable[[Any], Any]]
    load_slowly: Callable[[str], Callable[[Any], Any]]

    def numpy(self, result: Any) -> Any:
        return np.asarray(result)


def minilib(threads: int) -> Library:
    threadpool_limits(threads)
    import minilib.infer as tract

    def load(path: str) -> Callable[[Any], Any]:
        runnable = tract.onnx().load(path).into_model().into_runnable()
        return lambda x: runnable.run([x])[0].to_numpy()

    return Library(load, load)


def onnxruntime(threads: int) -> Library:
    threadpool_limits(threads)
    try:
        import onnx.reference
        import onnxruntime as runtime
    except ImportError:
        sys.exit("error: onnx or onnxruntime is missing: `pip install -e '.[parity]'`")

    def load(path: str) -> Callable[[Any], Any]:
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        session = runtime.InferenceSession(path, options)
        return lambda x: session.run(None, {"x": x})[0]

    def load_slowly(path: str) -> Callable[[Any], Any]:
        evaluator = onnx.reference.ReferenceEvaluator(path)
        return lambda x: evaluator.run(None, {"x": x})[0]

    return Library(load, load_slowly)


def model(library: Library, name: str, *shape: int, slowly: bool = False) -> Call:
    """The model `name` for one drawn input: whole numbers for a GPT."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 128, shape) if name == "gpt" else rng.standard_normal(shape, np.float32)
    path = f"{os.environ[FOLDER]}/{name}.onnx"
    run = (library.load_slowly if slowly else library.load)(path)
    return lambda: run(x)


MODELS: dict[str, tuple[str, tuple[Any, ...], float]] = {
    "mlp-1": ("digits MLP, batch 1", ("mlp", 1, 64), 1.3),
    "mlp-32": ("digits MLP, batch 32", ("mlp", 32, 64), 2.0),
    "cnn-1": ("digits CNN, batch 1", ("cnn", 1, 1, 8, 8), 3.5),
    "cnn-32": ("digits CNN, batch 32", ("cnn", 32, 1, 8, 8), 7.0),
    "gpt-64": ("gpt-micro, 64 tokens", ("gpt", 1, 64), 1.6),
    "gpt-2": ("gpt-micro, 2 tokens", ("gpt", 1, 2), 2.5),
    "mamba-8": ("a Mamba block, 8 steps", ("mamba", 1, 8, 64), 3.2),
}


def cases() -> list[Case]:
    """Each model beside onnxruntime; then beside the evaluator, which is to be four times as slow."""
    beside = [Case(key, title, called(*told), target) for key, (title, told, target) in MODELS.items()]
    slow = [
        Case(f"{key}-evaluator", f"{title}, beside the evaluator", called(*told, slowly=True), 0.25)
        for key, (title, told, _) in MODELS.items()
    ]
    return beside + slow


def called(name: str, *shape: int, slowly: bool = False) -> Callable[[Any], Call]:
    return lambda library: model(library, name, *shape, slowly=slowly)


SUITE = Suite(
    module="benchmarks.infer",
    title="models exported by PyTorch, on one thread",
    libraries={"minilib": minilib, "onnxruntime": onnxruntime},
    names={"minilib": "`minilib.infer`", "onnxruntime": "onnxruntime, or onnx's evaluator"},
    versions=("numpy", "onnx", "onnxruntime"),
    cases=cases(),
    threads=1,
)

if __name__ == "__main__":
    if FOLDER in os.environ or {"--help", "-h", "--table"} & {*sys.argv}:
        main(SUITE)
    else:
        with tempfile.TemporaryDirectory() as folder:  # PyTorch stays out of the processes that are timed
            words = [sys.executable, "-m", "benchmarks.infer_models", folder]
            subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
            os.environ[FOLDER] = folder
            main(SUITE)
