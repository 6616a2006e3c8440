"""`opcheck`: does an operator keep its promises? Five tests, each a function."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minilib.engine import DEVICES, Array, array_module, no_grad, propagate
from minilib.library.operators import CustomOpDef, OperatorCall, Parts, Result, changed, tensors_in
from minilib.tensor import Tensor

__all__ = ["OpCheckError", "opcheck"]


class OpCheckError(Exception):
    """A promise that an operator does not keep."""


@dataclass
class Sample:
    """Arguments for one call, and in words how they lie in memory; `sure`: the operator has to take them."""

    words: str
    inputs: tuple[Any, ...]
    options: dict[str, Any]
    sure: bool = True


def given(x: Array) -> Array:
    """A copy whose axes are in the same order in memory; those that were expanded still are."""
    once = x[tuple(slice(1) if step == 0 else slice(None) for step in x.strides)]
    order = sorted(range(x.ndim), key=lambda i: -abs(x.strides[i]))
    copied = once.transpose(order).copy().transpose(np.argsort(order).tolist())
    return array_module(x).broadcast_to(copied, x.shape) if once.shape != x.shape else copied


def contiguous(x: Array) -> Array:
    return x.copy(order="C")


def transposed(x: Array) -> Array:
    """The same numbers; the first axis is the fastest in memory."""
    return x.transpose().copy(order="C").transpose()


def sliced(x: Array) -> Array:
    """The same numbers; every other place in memory holds something else."""
    nothing = {"f": math.nan, "b": True}.get(x.dtype.kind, 99)
    room = array_module(x).full([2 * n + 1 for n in x.shape], nothing, x.dtype)
    part = room[(*(slice(1, None, 2) for _ in x.shape), ...)]
    part[...] = x
    return part


def expanded(x: Array) -> Array:
    """The first number everywhere, with strides of 0: what `sum().backward()` gives as a gradient."""
    return array_module(x).broadcast_to(x[(slice(1),) * x.ndim], x.shape)


LAYOUTS = (given, contiguous, transposed, sliced, expanded)


def samples(op: CustomOpDef, inputs: tuple[Any, ...], options: dict[str, Any]) -> Iterator[Sample]:
    """The arguments in every layout; and smaller ones, which the operator may refuse."""
    for layout in LAYOUTS:
        sample = laid(op, Sample(f"{layout.__name__} inputs", inputs, options), layout)
        if layout is expanded:  # numbers that are all equal may be refused, however they lie
            copied = laid(op, sample, contiguous)
            copied.sure = False
            sample.sure = called(op, copied) is not None
        yield sample
    yield from smaller(inputs, options)


def laid(op: CustomOpDef, sample: Sample, layout: Callable[[Array], Array]) -> Sample:
    """Fresh leaves with the numbers of a sample in this layout."""
    written = {id(x) for x in tensors_in(op.written_of(sample.inputs))}

    def change(x: Tensor) -> Tensor:
        # Nobody can write into an expanded array.
        array = contiguous(x.data) if id(x) in written and layout in (given, expanded) else layout(x.data)
        return Tensor(array).requires_grad_(x.requires_grad)

    return Sample(sample.words, changed(sample.inputs, change), sample.options, sample.sure)


def smaller(inputs: tuple[Any, ...], options: dict[str, Any]) -> Iterator[Sample]:
    """The arguments cut to one number each, and without any along all axes of one length."""

    def cut(words: str, to: Callable[[int], int]) -> Sample:
        def change(x: Tensor) -> Tensor:
            part = x.data[tuple(slice(to(n)) for n in x.shape)]
            array = contiguous(part if x.dtype.kind == "f" else part * 0)  # an index must fit the new lengths
            return Tensor(array).requires_grad_(x.requires_grad)

        return Sample(words, changed(inputs, change), options, sure=False)

    tensors = [*tensors_in(inputs)]
    yield cut("inputs of one element", lambda n: min(n, 1))
    # What an index counts must not vanish.
    lengths = {
        n for x in tensors for n in x.shape if all(n in y.shape for y in tensors if y.dtype.kind in "iu")
    }
    for length in sorted(lengths):
        yield cut(f"empty inputs ({length} cut to 0)", functools.partial(_without, length))


def _without(length: int, n: int) -> int:
    return 0 if n == length else n


def called(op: CustomOpDef, sample: Sample) -> tuple[Tensor, ...] | None:
    """The results; None where the operator refuses arguments that it may refuse."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            if not sample.sure:
                warnings.simplefilter("ignore")  # of the mean of nothing
            made = op(*sample.inputs, **sample.options)
    except Exception as error:
        if not sample.sure:
            return None
        raise OpCheckError(f"{sample.words}: {error}") from error
    return () if made is None else (made,) if isinstance(made, Tensor) else made


def numbers(x: Tensor) -> bytes:
    return DEVICES[type(x.data)].to_numpy(x.data).tobytes()


# 1: it writes only where it says so, and returns new memory


def test_schema(op: CustomOpDef, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
    """No argument changes but those in `mutates_args`, and no result lies in the memory of an argument."""
    for sample in samples(op, inputs, options):
        written = {id(x) for x in tensors_in(op.written_of(sample.inputs))}
        watched = [x for x in tensors_in(sample.inputs) if id(x) not in written]
        before = [numbers(x) for x in watched]
        called(op, sample)  # which refuses results that alias
        for x, was in zip(watched, before):
            if numbers(x) != was:
                raise OpCheckError(
                    f"{sample.words}: it writes into an argument that mutates_args does not name"
                )


# 2: backward is registered


def test_autograd_registration(op: CustomOpDef, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Where an argument wants a gradient and a result can have one, there is a formula."""
    sample = laid(op, Sample("given inputs", inputs, options), given)
    if any(x.requires_grad for x in called(op, sample) or ()) and op.formula is None:
        raise OpCheckError("an argument requires a gradient, and there is no formula: use register_autograd")


# 3: the fake tells the truth


def test_faketensor(op: CustomOpDef, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
    """The fake gives results of the same shape, dtype and strides as the kernel.

    Along an axis of length 1 there is no stride, and what an expanded argument leads to is nobody's promise.
    """
    for sample in samples(op, inputs, options):
        with no_grad():
            real = called(op, sample)
            if real is None:
                continue
            blank = changed(sample.inputs, lambda x: x.detach().to("meta"))
            try:
                fake = op(*blank, **sample.options)
            except Exception as error:
                raise OpCheckError(f"{sample.words}: the fake fails: {error}") from error
        faked = () if fake is None else (fake,) if isinstance(fake, Tensor) else fake
        strides = all(0 not in x.stride() for x in tensors_in(sample.inputs))
        for i, (a, b) in enumerate(zip(real, faked)):
            told, true = described(b, strides), described(a, strides)
            if told != true:
                raise OpCheckError(f"{sample.words}: result {i} is {true}, and the fake says {told}")


def described(x: Tensor, strides: bool) -> str:
    """Shape and dtype, and the strides that count."""
    steps = [step if n > 1 else "any" for n, step in zip(x.shape, x.stride())]
    return f"{x.dtype} of shape {x.shape}" + (f" with strides {steps}" if strides and x.numel() else "")


# 4: gradients are right


def test_gradients(op: CustomOpDef, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Backward gives what difference quotients give, at up to 50 numbers of each argument, drawn.

    A number passes between the slopes on either side, so that a kink does not count as a mistake; where the
    operator is not defined on both sides none is asked. In float64 where the operator computes in it.
    """
    for sample in (Sample("given inputs", inputs, options), *smaller(inputs, options)):
        precise = laid(op, sample, lambda x: contiguous(x.astype(np.float64)) if x.dtype.kind == "f" else x)
        fine = computes_in_float64(op, precise)
        sample = precise if fine else laid(op, sample, contiguous)
        grads = backward_of(op, sample, contiguous)
        if grads is not None:
            compare_with_quotients(op, sample, grads, np.float64 if fine else np.float32)


def computes_in_float64(op: CustomOpDef, sample: Sample) -> bool:
    """Whether a change that float32 cannot hold changes a result in float64."""
    nudged = laid(op, sample, lambda x: x * (1 + 1e-10) if x.dtype.kind == "f" else x)
    try:
        with no_grad():
            pairs = [*zip(called(op, sample) or (), called(op, nudged) or ())]
    except OpCheckError:  # it takes no float64
        return False
    return any(a.dtype == np.float64 and numbers(a) != numbers(b) for a, b in pairs)


def seeds_of(results: Sequence[Tensor], layout: Callable[[Array], Array]) -> list[Array | None]:
    """A gradient for each result that can have one, drawn, in this layout."""
    draw = np.random.default_rng(0).uniform
    return [
        layout(array_module(x.data).asarray(draw(0.5, 1.5, x.shape).astype(x.dtype)))
        if x.requires_grad
        else None
        for x in results
    ]


def backward_of(
    op: CustomOpDef, sample: Sample, layout: Callable[[Array], Array]
) -> list[Array | None] | None:
    """The gradient of each tensor among the arguments, from gradients of the results in this layout.

    None where nothing can have one. Raises OpCheckError where backward writes into what it is given.
    """
    results = called(op, sample)
    if not results or not any(x.requires_grad for x in results):
        return None
    first = next(x.function for x in results if x.requires_grad)
    call = first.call if isinstance(first, Result) else first
    assert isinstance(call, OperatorCall)
    # An operator has no memory: a call with other numbers before backward must not matter.
    other = Sample(sample.words, sample.inputs, sample.options, sure=False)
    called(op, laid(op, other, lambda x: x * x.dtype.type(0.5) if x.dtype.kind == "f" else x))
    seeds = seeds_of(results, layout)
    watched = [Tensor(seed) for seed in seeds if seed is not None] + [*tensors_in(sample.inputs)]
    before = [numbers(x) for x in watched]
    try:
        with np.errstate(all="ignore"):
            found = propagate(call, seeds[0] if len(seeds) == 1 else Parts(*seeds))
    except Exception as error:
        raise OpCheckError(f"{sample.words}, {layout.__name__} gradients: backward fails: {error}") from error
    if [numbers(x) for x in watched] != before:
        raise OpCheckError(
            f"{sample.words}: backward writes into a gradient or an argument that it was given"
        )
    return [found[x][0] if x in found else None for x in tensors_in(sample.inputs)]


def compare_with_quotients(
    op: CustomOpDef, sample: Sample, grads: list[Array | None], computed: type[np.floating[Any]]
) -> None:
    """Compare gradients with quotients of numbers that were computed in `computed`, or in float16."""
    for i, (x, grad) in enumerate(zip(tensors_in(sample.inputs), grads)):
        if not x.requires_grad:
            continue
        rounding = max(float(np.finfo(dtype).eps) for dtype in (x.dtype, computed))
        eps = rounding ** (1 / 3)  # shorter steps lose digits in the difference, longer ones see the curve
        places = np.random.default_rng(0).permutation(x.numel())[:50]
        for place in places.tolist():
            index = np.unravel_index(place, x.shape)
            got = 0.0 if grad is None else float(grad[index])
            left, right, size = slopes(op, sample, x.data, index, eps)
            low, high = min(left, right), max(left, right)
            slack = 2 * eps * max(abs(low), abs(high)) + 20 * rounding * size / eps
            if got < low - slack or got > high + slack or (math.isnan(got) and not math.isnan(low + high)):
                raise OpCheckError(
                    f"{sample.words}: tensor {i} at {tuple(map(int, index))} has gradient {got:.6g}, and the "
                    f"difference quotients are {left:.6g} and {right:.6g}"
                )


def slopes(
    op: CustomOpDef, sample: Sample, array: Array, index: Any, eps: float
) -> tuple[float, float, float]:
    """The difference quotients on either side, and how large the numbers are whose difference they are."""

    def total() -> tuple[float, float]:
        with no_grad():
            results = called(op, sample) or ()
        pairs = [
            (
                float((seed * x.data).astype(np.float64).sum()),
                float(abs(seed * x.data).astype(np.float64).sum()),
            )
            for x, seed in zip(results, seeds)
            if seed is not None
        ]
        return sum(one for one, _ in pairs), sum(size for _, size in pairs)

    seeds = seeds_of(called(op, sample) or (), contiguous)
    before = float(array[index])
    middle, size = total()
    sides = []
    for step in (-eps, eps):
        array[index] = before + step
        moved = float(array[index]) - before  # not quite eps in float32
        sides.append((total()[0] - middle) / moved)
        array[index] = before
    return sides[0], sides[1], size


# 5: nothing depends on how numbers lie in memory


def test_layouts(op: CustomOpDef, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Results and gradients are those of contiguous arguments and gradients with the same numbers."""
    for sample in samples(op, inputs, options):
        compare_layouts(op, sample, contiguous)
        compare_layouts(op, laid(op, sample, contiguous), expanded)
    for layout in (transposed, sliced):
        compare_layouts(op, laid(op, Sample("contiguous inputs", inputs, options), contiguous), layout)


def compare_layouts(op: CustomOpDef, sample: Sample, layout: Callable[[Array], Array]) -> None:
    """Compare this sample, and gradients in this layout, with copies of both that are contiguous."""

    def copied(x: Array) -> Array:
        return contiguous(layout(x))

    plain = laid(op, sample, contiguous)
    expected, got = outcome(op, plain, copied), outcome(op, sample, layout)
    if expected is None or got is None:
        return  # refused, and may be
    # Gradients may cancel: how large they are is told by others, which differ from place to place.
    usual = outcome(op, plain, contiguous) if layout is expanded else expected
    for a, b, like in zip(expected, got, usual or expected):
        if (a is None) != (b is None) or (a is not None and not close(a, b, like)):
            raise OpCheckError(
                f"{sample.words}, {layout.__name__} gradients: other numbers than with contiguous ones"
            )


def outcome(op: CustomOpDef, sample: Sample, layout: Callable[[Array], Array]) -> list[Array | None] | None:
    """Results, arguments that were written into, and gradients of all arguments."""
    results = called(op, sample)
    if results is None:
        return None
    made = [x.data.copy() for x in (*results, *tensors_in(op.written_of(sample.inputs)))]
    return made + (backward_of(op, sample, layout) or [])


def close(a: Array, b: Array, like: Array) -> bool:
    """Equal but for rounding of numbers as large as `like`: another order of additions is no mistake."""
    a, b, like = (DEVICES[type(x)].to_numpy(x) for x in (a, b, like))
    if a.shape != b.shape or a.dtype.kind != "f":
        return a.shape == b.shape and np.array_equal(a, b)
    eps = float(np.finfo(a.dtype).eps) * 1000
    size = max(float(np.max(np.abs(x), initial=0, where=np.isfinite(x))) for x in (a, like))
    return np.allclose(a, b, rtol=eps, atol=eps * size, equal_nan=True)


TESTS = {
    test.__name__: test
    for test in (test_schema, test_autograd_registration, test_faketensor, test_gradients, test_layouts)
}


def opcheck(
    op: CustomOpDef,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = tuple(TESTS),
    raise_exception: bool = True,
) -> dict[str, Any]:
    """Whether an operator keeps its promises on these arguments: "SUCCESS" or the error, by test.

    Each test also tries the arguments in other layouts, and cut to one element and to none. Gradients are
    looked at where an argument requires one. Raises OpCheckError at the first failure unless told otherwise.
    An operator that draws at random gives other numbers each time and cannot pass.
    (`test_gradients` and `test_layouts` are ours: PyTorch leaves the first to `gradcheck` and the second to
    the arguments that it is given, and has `test_aot_dispatch_dynamic`.)
    """
    inputs, options = op.schema.bind(op.name, args, kwargs or {})
    found: dict[str, Any] = {}
    for name in [test_utils] if isinstance(test_utils, str) else test_utils:
        try:
            TESTS[name](op, inputs, options)
            found[name] = "SUCCESS"
        except OpCheckError as error:
            if raise_exception:
                raise OpCheckError(f"opcheck({op.name}): {name}: {error}") from error
            found[name] = error
    return found
