"""Compiled loops against NumPy's code of the same operation in float64, both ways."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="numba is not installed: the extra `fast`")

import minilib.compiled as compiled
import minilib.functional as F
from minilib.compiled.loops import exp, loop
from minilib.compiled.pairs import PAIRS
from minilib.engine import DEVICES
from minilib.functional.counted import CountedDropout
from minilib.functional.scan import selective_scan
from minilib.optim import SGD, AdamW
from minilib.parallel import get_num_threads, keep_memory, set_num_threads
from minilib.tensor import Tensor, apply, tensor

ROOT = Path(__file__).parents[2]

_elsewhere = compiled.off()  # to import it turns it on, also for the tests of other files
_elsewhere.__enter__()
_kept = []


@pytest.fixture(autouse=True, scope="module")
def turned_on():
    _elsewhere.__exit__(None, None, None)
    yield
    again = compiled.off()
    again.__enter__()
    _kept.append(again)  # one that nobody holds ends, and turns them on


Case = tuple[Callable[..., Tensor], list[Any]]


def drawn(*shapes: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def targets(n: int, classes: int) -> Tensor:
    return tensor(np.random.default_rng(1).integers(classes, size=n))


def scan_inputs(batch: int, length: int, width: int, n: int) -> list[np.ndarray]:
    x, delta, A, B, C, D = drawn(
        (batch, length, width),
        (batch, length, width),
        (width, n),
        (batch, length, n),
        (batch, length, n),
        (width,),
    )
    return [x, np.exp(delta - 2), -np.exp(A), B, C, D]


def one_head(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.causal_attention(q, k, v, 1)


CASES: dict[str, Case] = {
    "softmax": (lambda x: F.softmax(x, -1), drawn((70, 33))),
    "softmax of one column": (lambda x: F.softmax(x, -1), drawn((5, 1))),
    "log_softmax": (lambda x: F.log_softmax(x, -1), drawn((70, 33))),
    "cross_entropy": (lambda x: F.cross_entropy(x, targets(70, 33), label_smoothing=0.1), drawn((70, 33))),
    "ignored rows": (lambda x: F.cross_entropy(x, targets(70, 5), ignore_index=2), drawn((70, 5))),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (33,), w, b), drawn((7, 20, 33), (33,), (33,))),
    "layer_norm of two axes": (
        lambda x, w, b: F.layer_norm(x, (5, 7), w, b),
        drawn((9, 5, 7), (5, 7), (5, 7)),
    ),
    "rms_norm": (lambda x, w: F.rms_norm(x, (33,), w), drawn((140, 33), (33,))),
    "gelu": (F.gelu, drawn((4, 1000))),
    "gelu by tanh": (lambda x: F.gelu(x, "tanh"), drawn((4, 1000))),
    "silu": (F.silu, drawn((4, 1000))),
    "softplus": (lambda x: F.softplus(x * 10), drawn((4, 1000))),
    "sigmoid": (lambda x: (x * 10).sigmoid(), drawn((4, 1000))),
    "exp": (lambda x: x.exp(), drawn((4, 1000))),
    "tanh": (lambda x: (x * 3).tanh(), drawn((4, 1000))),
    "relu": (lambda x: x.relu(), drawn((4, 1000))),
    "clip": (lambda x: x.clip(-1, 0.5), drawn((4, 1000))),
    "clip from below": (lambda x: x.clip(0.5, None), drawn((4, 1000))),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, padding=1), drawn((9, 3, 8, 9), (4, 3, 3, 3), (4,))),
    "conv2d of all settings": (
        lambda x, w: F.conv2d(x, w, stride=(2, 1), padding=(2, 3), dilation=(1, 2), groups=2),
        drawn((3, 4, 9, 10), (6, 2, 3, 2)),
    ),
    "conv2d that skips pixels": (lambda x, w: F.conv2d(x, w, stride=3), drawn((2, 1, 8, 8), (2, 1, 2, 2))),
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, padding=2, stride=2), drawn((5, 3, 11), (4, 3, 4), (4,))),
    "causal_conv1d": (F.causal_conv1d, drawn((5, 9, 6), (6, 1, 4), (6,))),
    "causal_conv1d of few tokens": (F.causal_conv1d, drawn((2, 2, 6), (6, 1, 4), (6,))),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, stride=2, padding=1), drawn((3, 4, 9, 8))),
    "embedding": (lambda w: F.embedding(targets(200, 7), w), drawn((7, 5))),
    "attention": (lambda q, k, v: F.causal_attention(q, k, v, 3), drawn((2, 9, 12), (2, 9, 12), (2, 9, 12))),
    "attention with a past": (one_head, drawn((2, 3, 8), (2, 9, 8), (2, 9, 8))),
    "selective_scan": (selective_scan, scan_inputs(2, 70, 70, 5)),
    "selective_scan of one token": (selective_scan, scan_inputs(1, 1, 3, 2)),
}  # fmt: skip


def both_ways(function: Callable[..., Tensor], arrays: list[Any]) -> list[np.ndarray]:
    """The result, and the gradient of each array for a drawn gradient of the result."""
    leaves = [Tensor(a, requires_grad=True) for a in arrays]
    y = function(*leaves)
    y.backward(Tensor(np.random.default_rng(2).standard_normal(y.shape).astype(y.dtype)))
    return [y.numpy(), *(leaf.grad.numpy() for leaf in leaves)]


def ran_compiled(function: Callable[..., Tensor], arrays: list[Any]) -> set[str]:
    """The operations below a result that ran loops."""
    found, todo = set(), [function(*[Tensor(a, requires_grad=True) for a in arrays]).function]
    while todo:
        f = todo.pop()
        if getattr(f, "pair", None) is not None:
            found.add(f.name)
        todo += getattr(f, "inputs", ())
    return found


@pytest.mark.parametrize("name", CASES)
def test_loops_give_what_numpy_gives_in_float64(name):
    function, arrays = CASES[name]
    assert ran_compiled(function, arrays), "NumPy did it"
    with compiled.off():
        assert not ran_compiled(function, arrays)
        expected = both_ways(function, [a.astype(np.float64) for a in arrays])
    for got, wanted in zip(both_ways(function, arrays), expected):
        assert got.dtype == np.float32 and got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5 * max(1, np.abs(wanted).max()))


@pytest.mark.parametrize("name", CASES)
def test_results_do_not_depend_on_the_number_of_threads(name):
    function, arrays = CASES[name]
    arrays = [np.concatenate([a] * 40) if len(arrays) == 1 and a.ndim > 1 else a for a in arrays]
    if name in ("cross_entropy", "ignored rows"):
        arrays = CASES[name][1]
    before, made = get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            set_num_threads(threads)
            made.append(both_ways(function, arrays))
    finally:
        set_num_threads(before)
    for others in made[1:]:
        for one, other in zip(made[0], others):
            assert np.array_equal(one, other)


def test_each_pair_has_a_case():
    ran = set().union(*(ran_compiled(*case) for case in CASES.values())) | {"CountedDropout"}
    assert {kind.__name__ for kind in PAIRS} <= ran


@pytest.mark.parametrize("name", [
    "softmax", "log_softmax", "layer_norm", "rms_norm", "gelu", "silu", "max_pool2d", "sigmoid", "exp",
    "softplus", "tanh", "relu", "clip", "conv2d", "causal_conv1d", "attention",
])  # fmt: skip
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_go_where_numpy_sends_them(name, value):
    function, arrays = CASES[name]
    arrays = [arrays[0].copy(), *arrays[1:]]
    arrays[0].flat[5] = value
    with np.errstate(all="ignore"):
        got = function(*map(Tensor, arrays)).numpy()
        with compiled.off():
            expected = function(*map(Tensor, arrays)).numpy()
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    assert np.array_equal(np.isinf(got), np.isinf(expected))


@pytest.mark.parametrize("change", [lambda a: a.astype(np.float64), lambda a: a[:, ::-1], lambda a: a[:0]],
                         ids=["float64", "reversed", "empty"])  # fmt: skip
@pytest.mark.parametrize("name", ["softmax", "gelu", "layer_norm", "rms_norm"])
def test_what_does_not_fit_runs_in_numpy(name, change):
    function, (first, *others) = CASES[name]
    arrays = [change(first), *(a.astype(change(first).dtype) for a in others)]
    with compiled.off():
        expected = function(*map(Tensor, arrays)).numpy()
    np.testing.assert_allclose(function(*map(Tensor, arrays)).numpy(), expected, rtol=1e-5, atol=1e-6)


def test_exp_is_off_by_two_in_the_last_place_over_all_numbers():
    @loop
    def all_of(x, y):
        for i in range(len(x)):
            y[i] = exp(x[i])

    bits = np.arange(0, 2**32, 257, dtype=np.uint64).astype(np.uint32)
    x = bits.view(np.float32)
    x = np.concatenate([x[~np.isnan(x)], np.linspace(-104, 89, 2_000_003, dtype=np.float32)])
    y = np.empty_like(x)
    all_of(x, y)
    with np.errstate(over="ignore", under="ignore"):
        wanted = np.exp(x.astype(np.float64))
        rounded = wanted.astype(np.float32)
    inside = (rounded > np.finfo(np.float32).tiny) & (rounded < np.inf)
    assert np.abs(y[inside] / wanted[inside] - 1).max() < 2.5e-7
    assert np.array_equal(y[rounded == np.inf], rounded[rounded == np.inf])
    small = rounded <= np.finfo(np.float32).tiny
    assert np.abs(y[small] - rounded[small]).max() <= 2 * np.finfo(np.float32).smallest_subnormal


def test_tanh_is_right_to_four_in_the_last_place_over_all_numbers():
    x = np.arange(0, 2**32, 257, dtype=np.uint64).astype(np.uint32).view(np.float32)
    x = np.concatenate([x[~np.isnan(x)], np.linspace(-1, 1, 2_000_003, dtype=np.float32)])
    y, wanted = Tensor(x).tanh().numpy(), np.tanh(x.astype(np.float64))
    inside = np.abs(wanted) > np.finfo(np.float32).tiny
    assert np.abs(y[inside] / wanted[inside] - 1).max() < 2.5e-7
    assert np.abs(y[~inside] - wanted[~inside]).max() <= 2 * np.finfo(np.float32).smallest_subnormal


def test_sums_over_two_million_rows_lose_no_digits():
    x, w, b = np.random.default_rng(0).standard_normal((2_000_000, 2)).astype(np.float32), *drawn((2,), (2,))
    arrays = [x, w, np.abs(b) + 1]

    def norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.layer_norm(x, (2,), w, b)

    grads = both_ways(norm, arrays)
    with compiled.off():
        wanted = both_ways(norm, [a.astype(np.float64) for a in arrays])
    for got, right in zip(grads[2:], wanted[2:]):
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("make", [
    lambda p: AdamW(p, lr=0.1), lambda p: AdamW(p, lr=0.1, weight_decay=0), lambda p: SGD(p, lr=0.1),
    lambda p: SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1),
    lambda p: SGD(p, lr=0.1, momentum=0.9, dampening=0.5),
    lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True),
])  # fmt: skip
def test_steps_of_optimisers_are_numpys(make):
    def after(steps: int, dtype: Any) -> np.ndarray:
        rng = np.random.default_rng(0)
        p = Tensor(rng.standard_normal((50, 7)).astype(dtype), requires_grad=True)
        optimiser = make([p])
        for _ in range(steps):
            p.grad = Tensor(rng.standard_normal((50, 7)).astype(dtype))
            optimiser.step()
        return p.numpy()

    with compiled.off():
        expected = after(20, np.float64)
    np.testing.assert_allclose(after(20, np.float32), expected, rtol=1e-4, atol=1e-5)


def test_dropout_drops_what_numpy_drops():
    def drop() -> np.ndarray:
        x = Tensor(drawn((7, 9))[0], requires_grad=True)
        y = apply(CountedDropout(0.4, key=2**40 + 77), x)
        y.backward(Tensor(np.ones_like(x.numpy())))
        return np.stack([y.numpy(), x.grad.numpy()])

    with compiled.off():
        expected = drop()
    assert np.array_equal(drop(), expected)


def test_a_state_goes_on_from_call_to_call():
    x, delta, A, B, C, _ = scan_inputs(2, 40, 6, 3)
    whole = selective_scan(*map(Tensor, (x, delta, A, B, C))).numpy()
    state = np.zeros((2, 6, 3), np.float32)
    parts = [
        selective_scan(*map(Tensor, (x[:, t], delta[:, t], A, B[:, t], C[:, t])), state=state).numpy()
        for t in (slice(0, 13), slice(13, 40))
    ]
    np.testing.assert_allclose(np.concatenate(parts, 1), whole, rtol=1e-5, atol=1e-5)


def test_two_python_threads_at_once_get_their_own_results():
    function, arrays = CASES["layer_norm"]
    arrays = [np.tile(arrays[0], (20, 1, 1)), *arrays[1:]]
    expected = both_ways(function, arrays)
    wrong = []

    def work() -> None:
        for _ in range(10):
            wrong.extend(not np.array_equal(a, b) for a, b in zip(both_ways(function, arrays), expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wrong) == 160 and not any(wrong)


def test_off_may_be_nested_and_puts_everything_back():
    before = dict(DEVICES[np.ndarray].pairs)
    with compiled.off(), compiled.off():
        assert not DEVICES[np.ndarray].pairs
    assert DEVICES[np.ndarray].pairs == before
    assert "LayerNorm" in compiled.coverage() and "optim.adam" in compiled.coverage()


# Where compiled code is kept, and who runs it

DOUBLE = """
import sys
import numpy as np
from minilib.compiled.loops import loop

@loop
def double(x, y):
    for i in range(len(x)):
        y[i] = x[i] + x[i]

y = np.empty(3, np.float32)
double(np.float32([1, 2, 3]), y)
assert y.tolist() == [2, 4, 6]
print(len(double.compiled.stats.cache_hits))
"""


def doubled(folder: Path, cache: Path, **elsewhere: str) -> int:
    """How often a process of its own found its loop in `cache`."""
    script = folder / "double.py"
    if not script.exists():  # its age is part of what the cache goes by
        script.write_text(DOUBLE)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT), **elsewhere}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.slow
def test_a_loop_is_compiled_once_and_again_where_its_source_has_changed(tmp_path):
    cache = tmp_path / "cache"
    assert [doubled(tmp_path, cache), doubled(tmp_path, cache)] == [0, 1]
    (tmp_path / "double.py").write_text(DOUBLE + "# newer\n")
    assert doubled(tmp_path, cache) == 0


@pytest.mark.slow
def test_a_damaged_cache_is_done_without(tmp_path):
    cache = tmp_path / "cache"
    doubled(tmp_path, cache)
    for index in cache.rglob("*double*.nbi"):
        index.write_text("garbage")
    assert doubled(tmp_path, cache) == 0


@pytest.mark.slow
def test_where_no_folder_can_be_written_to_each_process_compiles(tmp_path):
    for name in ("file", "__pycache__"):  # in whose place no folder can be made, by root neither
        (tmp_path / name).touch()
    nowhere = str(tmp_path / "file" / "cache")
    for _ in range(2):
        assert doubled(tmp_path, Path(nowhere), HOME=nowhere, XDG_CACHE_HOME=nowhere) == 0


SHARDS = """
import os
import numpy as np
import minilib.compiled
import minilib.functional as F
from minilib.data import DataLoader, TensorDataset
from minilib.nn import LayerNorm, Linear, Sequential
from minilib.optim import AdamW
from minilib.tensor import Tensor
from minilib.train import Trainer

rng = np.random.default_rng(0)
x = rng.standard_normal((256, 192)).astype(np.float32)  # more than loops give to one thread
data = DataLoader(TensorDataset(Tensor(x), Tensor(rng.integers(0, 5, 256))), batch_size=256)

def loss(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1], reduction="sum"), len(batch[1])

def trained(**options):
    model = Sequential(LayerNorm(192), Linear(192, 5))
    draw = np.random.default_rng(1)
    for p in model.parameters():
        p.data[...] = draw.standard_normal(p.shape)
    trainer = Trainer(model, AdamW(model.parameters(), lr=0.01), data, loss=loss, **options)
    trainer.fit(steps=3)
    return np.concatenate([p.numpy().ravel() for p in model.parameters()])

alone = trained()
for options in ({"shards": 2}, {"shards": 2, "workers": "processes"}):
    np.testing.assert_allclose(trained(**options), alone, rtol=1e-4, atol=1e-5)

child = os.fork()  # threads have run, and their pool is not inherited
if not child:
    os._exit(0 if np.array_equal(trained(), alone) else 1)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_shards_on_threads_and_processes_and_a_forked_child_train_alike():
    done = subprocess.run(
        [sys.executable, "-c", SHARDS], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


FAULTS = """
import resource, sys
import numpy as np
if "keep" in sys.argv:
    from minilib.parallel import keep_memory
    assert keep_memory()
for step in range(12):
    if step == 2:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    arrays = [np.ones(1_900_000, np.float32) for _ in range(5)]  # 38 MB, in sizes below huge pages and 32 MB
    del arrays
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not keep_memory(), reason="this C library keeps no memory")
def test_freed_memory_is_kept_for_the_next_array():
    def faults(*how):
        command = [sys.executable, "-c", FAULTS, *how]
        return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)

    kept, plain = faults("keep"), faults()
    assert kept < plain / 5, f"{kept} pages of {plain} were asked for again"
