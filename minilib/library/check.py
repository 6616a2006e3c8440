"""`opcheck`: does an operator keep its promises? Five tests of one operator on one sample of arguments.

Taught in chapters/08b_contracts.ipynb and solutions/08b_contracts.ipynb: what they export is edited there,
then `make promote`.

A test is called as `test(op, args, kwargs)` and raises where a promise is broken. `opcheck` makes the samples
of the arguments that it is given: in several layouts, cut to one element, and cut to none.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minilib.engine import DEVICES, Array, array_module, no_grad, propagate
from minilib.library.operators import CustomOpDef, Parts, Result, changed, tensors_in
from minilib.tensor import Tensor

__all__ = ["OpCheckError", "opcheck"]

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class OpCheckError(Exception):
    """A promise that an operator does not keep."""


# Layouts: the same numbers, otherwise in memory


def unchanged(x: Array) -> Array:
    """A copy whose axes are in the same order in memory; those that were expanded still are."""
    once = x[tuple(slice(1) if step == 0 else slice(None) for step in x.strides)]
    order = sorted(range(x.ndim), key=lambda i: -abs(x.strides[i]))
    copied = once.transpose(order).copy().transpose(np.argsort(order).tolist())
    return array_module(x).broadcast_to(copied, x.shape) if once.shape != x.shape else copied


def contiguous(x: Array) -> Array:
    return x.copy(order="C")


def transposed(x: Array) -> Array:
    """The first axis is the fastest in memory."""
    return x.transpose().copy(order="C").transpose()


def sliced(x: Array) -> Array:
    """Every other place in memory holds something else."""
    nothing = {"f": math.nan, "b": True}.get(x.dtype.kind, 99)
    room = array_module(x).full([2 * n + 1 for n in x.shape], nothing, x.dtype)
    part = room[(*(slice(1, None, 2) for _ in x.shape), ...)]
    part[...] = x
    return part


def expanded(x: Array) -> Array:
    """The first number everywhere, with strides of 0: what `sum().backward()` gives as a gradient."""
    return array_module(x).broadcast_to(x[(slice(1),) * x.ndim], x.shape)


LAYOUTS = (unchanged, contiguous, transposed, sliced, expanded)


def laid(args: Args, layout: Callable[[Array], Array]) -> Args:
    """Fresh leaves with the numbers of the arguments in this layout."""
    return changed(args, lambda x: Tensor(layout(x.data)).requires_grad_(x.requires_grad))


# Samples


def samples(op: CustomOpDef, args: Args, kwargs: Kwargs) -> Iterator[tuple[str, Callable[[], Args]]]:
    """In words how arguments lie in memory, and what makes them anew for each test.

    All layouts of what was given, which the operator has to take; and smaller ones, which it may refuse.
    """
    written = {id(x) for x in tensors_in(op.written_of(args))}

    def make(layout: Callable[[Array], Array]) -> Args:
        def change(x: Tensor) -> Tensor:
            # Nobody can write into an expanded array.
            fixed = id(x) in written and layout in (unchanged, expanded)
            return laid((x,), contiguous if fixed else layout)[0]

        return changed(args, change)

    for layout in LAYOUTS:
        # Numbers that are all equal may be refused, however they lie.
        if layout is not expanded or accepts(op, laid(make(expanded), contiguous), kwargs):
            yield f"{layout.__name__} inputs", functools.partial(make, layout)
    for words, cut in cuts(args):
        if accepts(op, laid(args, cut), kwargs):
            yield words, functools.partial(laid, args, cut)


def cuts(args: Args) -> Iterator[tuple[str, Callable[[Array], Array]]]:
    """To one number each, and to none along all axes of one length."""
    yield "inputs of one element", lambda x: cut(x, [min(n, 1) for n in x.shape])
    tensors = [*tensors_in(args)]
    indices = [x.shape for x in tensors if x.dtype.kind in "iu"]  # what an index counts must not vanish
    for gone in sorted({n for x in tensors for n in x.shape if all(n in shape for shape in indices)}):
        yield f"empty inputs ({gone} cut to 0)", functools.partial(emptied, gone)


def emptied(length: int, x: Array) -> Array:
    return cut(x, [0 if n == length else n for n in x.shape])


def cut(x: Array, shape: Sequence[int]) -> Array:
    part = x[tuple(map(slice, shape))]
    return contiguous(part if x.dtype.kind == "f" else part * 0)  # an index must fit the new lengths


def accepts(op: CustomOpDef, args: Args, kwargs: Kwargs) -> bool:
    """Call the operator: whether it takes these arguments."""
    try:
        op(*args, **kwargs)
    except Exception:
        return False
    return True


# What the tests are made of


def results_of(op: CustomOpDef, args: Args, kwargs: Kwargs) -> list[Tensor]:
    """Call the operator: its results, one or several or none, as a list."""
    return [*tensors_in([op(*args, **kwargs)])]


def numbers(tensors: Sequence[Tensor]) -> list[bytes]:
    """What stands in memory, to be compared with what stands there later."""
    return [DEVICES[type(x.data)].to_numpy(x.data).tobytes() for x in tensors]


def described(x: Tensor) -> str:
    """Shape and dtype, and the strides of axes that have one: longer than 1, in an array that has numbers."""
    steps = [step if n > 1 else "any" for n, step in zip(x.shape, x.stride())]
    return f"{x.dtype} of shape {x.shape}" + (f" with strides {steps}" if x.numel() else "")


def drawn(results: Sequence[Tensor], *layouts: Callable[[Array], Array]) -> list[Tensor | None]:
    """For each result that can have one a gradient, always the same numbers, in these layouts in turn."""
    draw = np.random.default_rng(0).uniform
    made: list[Tensor | None] = []
    for x in results:
        array = array_module(x.data).asarray(draw(0.5, 1.5, x.shape).astype(x.dtype))
        for layout in layouts:
            array = layout(array)
        made.append(Tensor(array) if x.requires_grad else None)
    return made


def gradients(results: Sequence[Tensor], seeds: Sequence[Tensor | None], args: Args) -> list[Tensor | None]:
    """Backward: the gradient of each tensor among `args`, from `seeds`, those of all results of one call."""
    function = next(x.function for x in results if x.requires_grad)
    call = function.call if isinstance(function, Result) else function
    arrays = [None if seed is None else seed.data for seed in seeds]
    assert call is not None
    found = propagate(call, arrays[0] if len(arrays) == 1 else Parts(*arrays))
    return [Tensor(found[x][0]) if x in found else None for x in tensors_in(args)]


def in_float64(op: CustomOpDef, args: Args, kwargs: Kwargs) -> Args:
    """Copies of the arguments, in float64 where the operator computes in it: quotients need the digits.

    It does if changes that float32 cannot hold change a result.
    """
    draw = np.random.default_rng(0).uniform

    def nudged(x: Array) -> Array:
        return x + 1e-10 * (1 + abs(x)) * array_module(x).asarray(draw(size=x.shape))

    wide = laid(args, lambda x: contiguous(x.astype(np.float64) if x.dtype.kind == "f" else x))
    near = laid(wide, lambda x: nudged(x) if x.dtype.kind == "f" else x)
    if accepts(op, wide, kwargs) and accepts(op, near, kwargs):
        before, after = results_of(op, wide, kwargs), results_of(op, near, kwargs)
        if any(x.dtype == np.float64 for x in before) and numbers(before) != numbers(after):
            return wide
    return laid(args, contiguous)


def slopes(
    op: CustomOpDef, args: Args, kwargs: Kwargs, seeds: Sequence[Tensor | None]
) -> Iterator[tuple[int, tuple[int, ...], float, float]]:
    """(i, place, low, high): the derivative of sum(seed * result) by tensor i of `args` lies between both.

    From the difference quotient on one side to that on the other, so that a kink is no mistake, and what
    rounding adds. At up to 20 places, drawn, of each tensor that requires a gradient, where both are defined.
    """

    def total(absolute: Callable[[Any], Any] = lambda x: x) -> float:
        with no_grad():
            pairs = zip(results_of(op, args, kwargs), seeds)
        return sum(
            float(absolute(s.data * x.data).astype(np.float64).sum()) for x, s in pairs if s is not None
        )

    middle, size = total(), total(abs)
    for i, x in enumerate(tensors_in(args)):
        if not x.requires_grad:
            continue
        eps = max(float(np.finfo(one.dtype).eps) for one in (x, *seeds) if one is not None)
        step = eps ** (1 / 3)  # shorter ones lose digits in the difference, longer ones see the curve
        for flat in np.random.default_rng(0).permutation(x.numel())[:20]:
            place = tuple(map(int, np.unravel_index(flat, x.shape)))
            before, sides = float(x.data[place]), []
            for there in (before - step, before + step):
                x.data[place] = there
                moved = float(x.data[place]) - before  # not quite a step in float32
                sides.append((total() - middle) / moved)
            x.data[place] = before
            slack = 2 * step * max(map(abs, sides)) + 20 * eps * size / step
            if not math.isnan(slack):
                yield i, place, min(sides) - slack, max(sides) + slack


def outcome(
    op: CustomOpDef, args: Args, kwargs: Kwargs, *layouts: Callable[[Array], Array]
) -> list[Tensor | None]:
    """Results, arguments that were written into, and all gradients, from gradients in these layouts."""
    results = results_of(op, args, kwargs)
    made: list[Tensor | None] = [x.detach().clone() for x in (*results, *tensors_in(op.written_of(args)))]
    if any(x.requires_grad for x in results):
        made += gradients(results, drawn(results, *layouts), args)
    return made


def equal(some: Sequence[Tensor | None], others: Sequence[Tensor | None]) -> bool:
    """Whether two outcomes agree but for rounding: another order of additions is no mistake."""
    pairs = [
        [None if x is None else DEVICES[type(x.data)].to_numpy(x.data) for x in pair]
        for pair in zip(some, others, strict=True)
    ]
    # Gradients may cancel: how large the numbers are that were added is told by all others.
    largest = [np.max(np.abs(a), initial=0, where=np.isfinite(a)) for a, _ in pairs if a is not None]

    def alike(a: Any, b: Any) -> bool:
        if a is None or b is None:
            return a is b
        if a.dtype.kind != "f" or a.shape != b.shape:
            return np.array_equal(a, b)
        rounding = 1000 * float(np.finfo(a.dtype).eps)
        return np.allclose(a, b, rtol=rounding, atol=rounding * float(max(largest)), equal_nan=True)

    return all(alike(a, b) for a, b in pairs)


# The tests


def test_schema(op: CustomOpDef, args: Args, kwargs: Kwargs) -> None:
    """No argument changes but those in `mutates_args`, and no result lies in the memory of an argument."""
    written = [*tensors_in(op.written_of(args))]
    others = [x for x in tensors_in(args) if not any(x is one for one in written)]
    before = numbers(others)
    op(*args, **kwargs)  # a call refuses results that lie in the memory of an argument, or of each other
    if numbers(others) != before:
        raise OpCheckError("it writes into an argument that mutates_args does not name")


def test_autograd_registration(op: CustomOpDef, args: Args, kwargs: Kwargs) -> None:
    """Where an argument requires a gradient and a result can have one, there is a formula."""
    if any(x.requires_grad for x in results_of(op, args, kwargs)) and op.formula is None:
        raise OpCheckError("an argument requires a gradient, and there is no formula: use register_autograd")


def test_faketensor(op: CustomOpDef, args: Args, kwargs: Kwargs) -> None:
    """The fake gives results of the same shape, dtype and strides as the kernel."""
    blank = changed(args, lambda x: x.detach().to("meta"))
    with no_grad():
        real, fake = results_of(op, args, kwargs), results_of(op, blank, kwargs)
    for i, (a, b) in enumerate(zip(real, fake, strict=True)):
        if described(a) != described(b):
            raise OpCheckError(f"result {i} is {described(a)}, and the fake says {described(b)}")


def test_gradients(op: CustomOpDef, args: Args, kwargs: Kwargs) -> None:
    """Backward gives what difference quotients give, and writes into nothing that it is given."""
    args = in_float64(op, args, kwargs)
    results = results_of(op, args, kwargs)
    if not any(x.requires_grad for x in results):
        return
    accepts(op, laid(args, lambda x: x[(slice(None, None, -1),) * x.ndim]), kwargs)  # it has no memory
    seeds = drawn(results)
    watched = [*tensors_in(seeds), *tensors_in(args)]
    before = numbers(watched)
    grads = gradients(results, seeds, args)
    if numbers(watched) != before:
        raise OpCheckError("backward writes into a gradient or an argument that it was given")
    for i, place, low, high in slopes(op, args, kwargs, seeds):
        grad = grads[i]
        got = 0.0 if grad is None else float(grad.data[place])
        if not low <= got <= high:
            raise OpCheckError(
                f"tensor {i} at {place} has gradient {got:.6g}, and difference quotients lie between "
                f"{low:.6g} and {high:.6g}"
            )


def test_layouts(op: CustomOpDef, args: Args, kwargs: Kwargs) -> None:
    """Results and gradients are those of contiguous arguments and gradients with the same numbers."""
    for layout in (contiguous, transposed, sliced, expanded):
        plain = outcome(op, laid(args, contiguous), kwargs, layout, contiguous)
        if not equal(plain, outcome(op, args, kwargs, layout)):
            raise OpCheckError(f"{layout.__name__} gradients: other numbers than with contiguous ones")


# All of them


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
    names = [test_utils] if isinstance(test_utils, str) else [*test_utils]
    found: dict[str, Any] = dict.fromkeys(names, "SUCCESS")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the mean of nothing
        for words, make in samples(op, inputs, options):
            for name in names:
                try:
                    if found[name] == "SUCCESS":
                        TESTS[name](op, make(), options)
                except Exception as error:
                    found[name] = OpCheckError(f"{words}: {error}")
                    if raise_exception:
                        raise OpCheckError(f"opcheck({op.name}): {name}: {words}: {error}") from error
    return found
