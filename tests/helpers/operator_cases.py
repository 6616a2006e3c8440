"""Operators, most of them broken, in one source for `minilib.library` and for `torch.library`.

No `from __future__ import annotations` here: a schema is read from annotations, and these are local names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Case:
    """An operator, arguments, the tests of ours that condemn it, and what PyTorch's opcheck says."""

    op: Any
    args: tuple[Any, ...]
    fails: str = ""  # names of tests, "" where it is right
    kwargs: dict[str, Any] | None = None
    torch_passes: str = ""  # why PyTorch's does not condemn it, "" where it does


def cases(library: Any, t: Any, space: str = "cases") -> dict[str, Case]:
    """All operators, built on `library` over the tensors of `t`."""
    Tensor = t.Tensor
    made: dict[str, Case] = {}

    def operator(kernel: Any, mutates: Any = ()) -> Any:
        return library.custom_op(f"{space}::{kernel.__name__}", kernel, mutates_args=mutates)

    def matrix(*shape: int, grad: bool = True) -> Any:
        array = np.random.default_rng(len(made)).standard_normal(shape).astype(np.float32)
        return t.from_numpy(array).requires_grad_(grad)

    def like(x: Any, *rest: Any) -> Any:
        return x.new_empty(x.shape)

    def as_new(array: Any) -> Any:
        return t.from_numpy(np.ascontiguousarray(array))

    # Right ones

    def scale(x: Tensor, by: float = 2.0) -> Tensor:
        return as_new(x.numpy() * np.float32(by) if x.dtype == t.float32 else x.numpy() * by)

    def keep_by(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.by = inputs[1]

    def scaled(kernel: Any, fake: Any = like, formula: Any = lambda ctx, g: (g * ctx.by, None)) -> Any:
        op = operator(kernel)
        if fake is not None:
            op.register_fake(fake)
        if formula is not None:
            op.register_autograd(formula, setup_context=keep_by)
        return op

    made["scale"] = Case(scaled(scale), (matrix(3, 4), 3.0))

    def matmul(x: Tensor, y: Tensor) -> Tensor:
        return t.from_numpy(x.numpy() @ y.numpy())

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def product(kernel: Any, formula: Any) -> Any:
        op = operator(kernel)
        op.register_fake(lambda x, y: x.new_empty((x.shape[0], y.shape[1])))
        op.register_autograd(formula, setup_context=keep)
        return op

    def through_product(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g @ y.transpose(0, 1), x.transpose(0, 1) @ g

    made["matmul"] = Case(product(matmul, through_product), (matrix(3, 4), matrix(4, 2)))

    def softmax(x: Tensor) -> Tensor:
        e = np.exp(x.numpy() - x.numpy().max(-1, keepdims=True, initial=-1e30))
        return as_new(e / e.sum(-1, keepdims=True))

    softmax_op = operator(softmax)
    softmax_op.register_fake(like)

    def keep_result(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)

    def through_softmax(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(-1, keepdim=True))

    softmax_op.register_autograd(through_softmax, setup_context=keep_result)
    made["softmax"] = Case(softmax_op, (matrix(3, 4),))

    def normalise(x: Tensor, eps: float = 1e-5) -> tuple[Tensor, Tensor]:
        a = x.numpy()
        centred = a - a.mean(-1, keepdims=True)
        scale = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + a.dtype.type(eps))
        return as_new(centred * scale), as_new(scale)

    normalise_op = operator(normalise)
    normalise_op.register_fake(lambda x, eps=1e-5: (x.new_empty(x.shape), x.new_empty((*x.shape[:-1], 1))))

    def keep_results(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*output)

    def through_norm(ctx: Any, g: Any, g_scale: Any) -> Any:
        y, scale = ctx.saved_tensors
        inner = g - g.mean(-1, keepdim=True) - y * (g * y).mean(-1, keepdim=True)
        return scale * inner - scale * scale * y * g_scale / y.shape[-1], None

    normalise_op.register_autograd(through_norm, setup_context=keep_results)
    made["two results"] = Case(normalise_op, (matrix(3, 4),))

    def normalise_alone(x: Tensor, eps: float = 1e-5) -> tuple[Tensor, Tensor]:
        return normalise(x, eps)

    def keep_constant(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*output)

    alone_op = operator(normalise_alone)
    alone_op.register_fake(lambda x, eps=1e-5: (x.new_empty(x.shape), x.new_empty((*x.shape[:-1], 1))))
    alone_op.register_autograd(through_norm, setup_context=keep_constant)
    made["a result for backward alone"] = Case(alone_op, (matrix(3, 4),))

    def embedding(weight: Tensor, index: Tensor) -> Tensor:
        return t.from_numpy(weight.numpy()[index.numpy()])

    def embedding_backward(g: Tensor, index: Tensor, rows: int) -> Tensor:
        total = np.zeros((rows, g.shape[-1]), g.numpy().dtype)
        np.add.at(total, index.numpy(), g.numpy())
        return t.from_numpy(total)

    embedding_op, back_op = operator(embedding), operator(embedding_backward)
    embedding_op.register_fake(lambda weight, index: weight.new_empty((*index.shape, weight.shape[1])))
    back_op.register_fake(lambda g, index, rows: g.new_empty((rows, g.shape[-1])))

    def keep_index(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[1])
        ctx.rows = inputs[0].shape[0]

    embedding_op.register_autograd(
        lambda ctx, g: (back_op(g, ctx.saved_tensors[0], ctx.rows), None), setup_context=keep_index
    )
    made["an index"] = Case(embedding_op, (matrix(5, 3), t.tensor([[1, 4], [1, 0]])))

    def add_into(out: Tensor, x: Tensor) -> None:
        out.numpy()[...] += x.numpy()

    made["a declared write"] = Case(
        operator(add_into, {"out"}), (matrix(2, 3, grad=False), matrix(2, 3, grad=False))
    )

    def total(xs: Sequence[Tensor]) -> Tensor:
        return as_new(np.sum([x.numpy() for x in xs], axis=0))

    total_op = operator(total)
    total_op.register_fake(lambda xs: xs[0].new_empty(xs[0].shape))

    def keep_count(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.count = len(inputs[0])

    total_op.register_autograd(lambda ctx, g: ([g] * ctx.count,), setup_context=keep_count)
    made["a list"] = Case(total_op, ([matrix(2, 3), matrix(2, 3)],))

    def relu(x: Tensor) -> Tensor:
        return as_new(np.maximum(x.numpy(), 0))

    def through_relu(ctx: Any, g: Any) -> Any:
        return g * (ctx.saved_tensors[0] > 0)

    relu_op = operator(relu)
    relu_op.register_fake(like)
    relu_op.register_autograd(through_relu, setup_context=keep)
    made["a kink, met at 0"] = Case(relu_op, (t.tensor([[0.0, -1.0], [2.0, 0.0]], requires_grad=True),))

    def linear(x: Tensor, bias: Tensor | None = None, *, by: int = 2) -> Tensor:
        return as_new(x.numpy() * by + (0 if bias is None else bias.numpy()))

    def keep_options(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        ctx.by, ctx.biased = keyword_only_inputs["by"], inputs[1] is not None

    linear_op = operator(linear)
    linear_op.register_fake(lambda x, bias=None, *, by=2: x.new_empty(x.shape))
    linear_op.register_autograd(
        lambda ctx, g: (g * ctx.by, g.sum(0) if ctx.biased else None), setup_context=keep_options
    )
    made["optional, given"] = Case(linear_op, (matrix(3, 4), matrix(4)), kwargs={"by": 3})
    made["optional, not given"] = Case(linear_op, (matrix(3, 4),))

    def twice(x: Tensor) -> Tensor:
        return t.from_numpy(x.numpy() * 2)  # NumPy keeps the order of axes

    twice_op = operator(twice)
    twice_op.register_fake(lambda x: t.empty_like(x))
    twice_op.register_autograd(lambda ctx, g: g * 2)
    made["keeps the order of axes"] = Case(twice_op, (matrix(3, 4).transpose(0, 1),))

    def largest(x: Tensor) -> tuple[Tensor, Tensor]:
        index = x.numpy().argmax(-1)
        return as_new(np.take_along_axis(x.numpy(), index[..., None], -1)[..., 0]), as_new(index)

    largest_op = operator(largest)
    largest_op.register_fake(lambda x: (x.new_empty(x.shape[:-1]), x.new_empty(x.shape[:-1], dtype=t.int64)))

    def largest_backward(g: Tensor, index: Tensor, n: int) -> Tensor:
        out = np.zeros((*g.shape, n), g.numpy().dtype)
        np.put_along_axis(out, index.numpy()[..., None], g.numpy()[..., None], -1)
        return t.from_numpy(out)

    largest_back = operator(largest_backward)
    largest_back.register_fake(lambda g, index, n: g.new_empty((*g.shape, n)))

    def keep_place(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output[1])
        ctx.n = inputs[0].shape[-1]

    largest_op.register_autograd(
        lambda ctx, g, g_index: largest_back(g, ctx.saved_tensors[0], ctx.n), setup_context=keep_place
    )
    made["a whole-number result"] = Case(largest_op, (matrix(3, 4),))

    # Memory that it may not touch, or hand out

    def writes_unseen(x: Tensor, by: float) -> Tensor:
        x.numpy()[...] *= by
        return as_new(x.numpy().copy())

    made["writes unseen"] = Case(scaled(writes_unseen), (matrix(3, 4, grad=False), 3.0), "test_schema")

    def writes_where_contiguous(x: Tensor, by: float) -> Tensor:
        a = np.ascontiguousarray(x.numpy())  # a copy, or else x itself
        a *= by
        return t.from_numpy(a.copy())

    written = Case(
        scaled(writes_where_contiguous), (matrix(3, 4, grad=False).transpose(0, 1), 3.0), "test_schema"
    )
    written.torch_passes = "it tries no other layout, and here the arguments were copied"
    made["writes where contiguous"] = written

    def writes_more(out: Tensor, x: Tensor) -> None:
        out.numpy()[...] = x.numpy()
        x.numpy()[...] = 0

    made["declares half of its writes"] = Case(
        operator(writes_more, {"out"}), (matrix(2, 3, grad=False), matrix(2, 3, grad=False)), "test_schema"
    )

    def returns_input(x: Tensor, by: float) -> Tensor:
        return x

    def returns_view(x: Tensor, by: float) -> Tensor:
        return x[:1]

    def returns_copy_or_not(x: Tensor, by: float) -> Tensor:
        return as_new(x.numpy())

    def picks(xs: Sequence[Tensor]) -> Tensor:
        return xs[0]

    def shares(x: Tensor) -> tuple[Tensor, Tensor]:
        both = np.stack([x.numpy(), x.numpy()])
        return t.from_numpy(both[0]), t.from_numpy(both[1])

    storages = "it compares storages, and each from_numpy makes one of its own over the same memory"
    x = matrix(3, 4, grad=False)
    made["returns its input"] = Case(scaled(returns_input), (x, 1.0), "test_schema")
    made["returns a view"] = Case(
        scaled(returns_view, lambda x, by: x.new_empty((1, *x.shape[1:]))), (x, 1.0), "test_schema"
    )
    made["returns its input where contiguous"] = Case(
        scaled(returns_copy_or_not), (x, 1.0), "test_schema", torch_passes=storages
    )
    picks_op, shares_op = operator(picks), operator(shares)
    picks_op.register_fake(lambda xs: xs[0].new_empty(xs[0].shape))
    shares_op.register_fake(lambda x: (x.new_empty(x.shape), x.new_empty(x.shape)))
    made["returns one of a list"] = Case(picks_op, ([x, x + 1],), "test_schema")
    made["two results in one memory"] = Case(shares_op, (x,), "test_schema", torch_passes=storages)

    # Fakes that do not tell the truth

    def scale_1(x: Tensor, by: float) -> Tensor:
        return as_new(x.numpy() * np.float32(by))

    def scale_2(x: Tensor, by: float) -> Tensor:
        return scale_1(x, by)

    def scale_3(x: Tensor, by: float) -> Tensor:
        return scale_1(x, by)

    def scale_4(x: Tensor, by: float) -> Tensor:
        return scale_1(x, by)

    def scale_5(x: Tensor, by: float) -> Tensor:
        return scale_1(x, by)

    def scale_12(x: Tensor, by: float) -> Tensor:
        return scale_1(x, by)

    made["a fake with its axes swapped"] = Case(
        scaled(scale_12, lambda x, by: x.new_empty((x.shape[1], x.shape[0]))),
        *((matrix(3, 4), 2.0), "test_faketensor"),
    )
    made["no fake"] = Case(scaled(scale_1, None), (matrix(3, 4), 2.0), "test_faketensor")
    made["a fake of another shape"] = Case(
        scaled(scale_2, lambda x, by: x.new_empty(x.shape[:1])), (matrix(3, 4), 2.0), "test_faketensor"
    )
    made["a fake of another dtype"] = Case(
        scaled(scale_3, lambda x, by: x.new_empty(x.shape, dtype=t.float64)),
        (matrix(3, 4), 2.0),
        "test_faketensor",
    )
    made["a fake that keeps strides"] = Case(
        scaled(scale_4, lambda x, by: t.empty_like(x)), (matrix(3, 4).transpose(0, 1), 2.0), "test_faketensor"
    )
    made["a fake that reads numbers"] = Case(
        scaled(scale_5, lambda x, by: x.new_empty((int(x.sum().item()), 4))),
        (matrix(3, 4), 2.0),
        "test_faketensor",
    )

    def upcasts(x: Tensor, by: float) -> Tensor:
        return as_new(x.numpy() * np.asarray([by]))  # an array of float64 makes float64

    made["a kernel that upcasts"] = Case(scaled(upcasts), (matrix(3, 4, grad=False), 2.0), "test_faketensor")

    def squeezes(x: Tensor, by: float) -> Tensor:
        return as_new(x.numpy().squeeze() * np.float32(by)).reshape(-1)

    flat = scaled(squeezes, lambda x, by: x.new_empty(x.shape), None)
    made["wrong for a row of one"] = Case(flat, (matrix(1, 4, grad=False), 2.0), "test_faketensor")

    # Gradients

    def scale_6(x: Tensor, by: float) -> Tensor:
        return scale_1(x, by)

    def scale_7(x: Tensor, by: float) -> Tensor:
        return scale_1(x, by)

    def scale_8(x: Tensor, by: float) -> Tensor:
        return scale_1(x, by)

    def scale_9(x: Tensor, by: float) -> Tensor:
        return scale_1(x, by)

    def scale_10(x: Tensor, by: float) -> Tensor:
        return scale_1(x, by)

    made["no formula"] = Case(
        scaled(scale_6, formula=None), (matrix(3, 4), 2.0), "test_autograd_registration test_gradients"
    )
    made["a gradient for a number"] = Case(
        scaled(scale_7, formula=lambda ctx, g: (g * ctx.by, g)), (matrix(3, 4), 2.0), "test_gradients"
    )
    made["a gradient of another shape"] = Case(
        scaled(scale_8, formula=lambda ctx, g: (g[:2], None)), (matrix(3, 4), 2.0), "test_gradients"
    )
    made["a factor forgotten"] = Case(
        scaled(scale_9, formula=lambda ctx, g: (g, None)),
        *((matrix(3, 4), 2.0), "test_gradients"),
        torch_passes="numbers of gradients are a matter of torch.autograd.gradcheck",
    )

    def in_place(ctx: Any, g: Any) -> Any:
        g *= ctx.by
        return g, None

    made["writes into its gradient"] = Case(
        scaled(scale_10, formula=in_place),
        *((matrix(3, 4), 2.0), "test_gradients"),
    )

    def matmul_1(x: Tensor, y: Tensor) -> Tensor:
        return matmul(x, y)

    def matmul_2(x: Tensor, y: Tensor) -> Tensor:
        return matmul(x, y)

    def matmul_3(x: Tensor, y: Tensor) -> Tensor:
        return matmul(x, y)

    made["one gradient for two arguments"] = Case(
        product(matmul_1, lambda ctx, g: g @ ctx.saved_tensors[1].transpose(0, 1)),
        *((matrix(3, 4), matrix(4, 2)), "test_gradients"),
    )
    made["a transpose forgotten"] = Case(
        product(matmul_2, lambda ctx, g: (g @ ctx.saved_tensors[1], ctx.saved_tensors[0] @ g)),
        *((matrix(3, 3), matrix(3, 3)), "test_gradients"),
        torch_passes="numbers of gradients are a matter of torch.autograd.gradcheck",
    )
    made["None for one that counts"] = Case(
        product(matmul_3, lambda ctx, g: (g @ ctx.saved_tensors[1].transpose(0, 1), None)),
        *((matrix(3, 4), matrix(4, 2)), "test_gradients"),
        torch_passes="numbers of gradients are a matter of torch.autograd.gradcheck",
    )

    def square(x: Tensor) -> Tensor:
        return as_new(x.numpy() ** 2)

    memory: list[Any] = []

    def keep_outside(ctx: Any, inputs: Any, output: Any) -> None:
        memory[:] = inputs

    square_op = operator(square)
    square_op.register_fake(like)
    square_op.register_autograd(lambda ctx, g: 2 * g * memory[0], setup_context=keep_outside)
    made["a memory of its own"] = Case(
        square_op, (matrix(3, 4),), "test_gradients", torch_passes="it makes no other call before backward"
    )

    # Order in memory

    def flat_forward(x: Tensor, by: float) -> Tensor:
        return as_new(x.numpy().ravel(order="K").reshape(x.shape) * np.float32(by))

    def flat_backward(g: Tensor, by: float) -> Tensor:
        return flat_forward(g, by)

    def scale_11(x: Tensor, by: float) -> Tensor:
        return scale_1(x, by)

    flat_op = operator(flat_backward)
    flat_op.register_fake(like)
    made["forward for contiguous inputs"] = Case(
        scaled(flat_forward),
        *((matrix(3, 4).transpose(0, 1), 2.0), "test_layouts"),
        torch_passes="both of its runs read the same wrong places",
    )
    made["backward for contiguous gradients"] = Case(
        scaled(scale_11, formula=lambda ctx, g: (flat_op(g, ctx.by), None)),
        *((matrix(3, 4), 2.0), "test_layouts"),
        torch_passes="its gradients are contiguous",
    )

    # Results that are not as promised

    def returns_array(x: Tensor, by: float) -> Tensor:
        return x.numpy() * by

    def returns_one(x: Tensor) -> tuple[Tensor, Tensor]:
        return (as_new(x.numpy() * 2),)

    made["an array for a tensor"] = Case(scaled(returns_array), (x, 2.0), "test_schema")
    one_op = operator(returns_one)
    one_op.register_fake(lambda x: (x.new_empty(x.shape), x.new_empty(x.shape)))
    made["one result for two"] = Case(one_op, (x,), "test_schema")
    return made
