"""Second right answers to the exercises of chapter 08b, by another way than the reference's: each earns all points."""

# %% exercise=8.7
def lucky(shape, strides):
    count = 0
    for thread in range(int(np.prod(shape))):
        index = np.unravel_index(thread, shape)
        count += int(np.dot(index, strides)) == thread
    return int(count)


# %% exercise=8.8
def require(promise, what):
    if not promise:
        raise OpCheckError(what)


def test_schema(op, args, kwargs):
    declared = {id(x) for x in tensors_in(op.written_of(args))}
    kept = [(x, x.numpy().tobytes()) for x in tensors_in(args) if id(x) not in declared]
    results_of(op, args, kwargs)
    for x, before in kept:
        require(x.numpy().tobytes() == before, "a write that nobody declared")


def test_autograd_registration(op, args, kwargs):
    if op.formula is None:
        require(not any(x.requires_grad for x in results_of(op, args, kwargs)), "no formula")


def test_faketensor(op, args, kwargs):
    fakes = results_of(op, changed(args, lambda x: x.detach().to("meta")), kwargs)
    told = [described(x) for x in fakes]
    require(told == [described(x) for x in results_of(op, args, kwargs)], "the fake lies")


def test_gradients(op, args, kwargs):
    wide = in_float64(op, args, kwargs)
    results = results_of(op, wide, kwargs)
    if any(x.requires_grad for x in results):
        accepts(op, changed(wide, lambda x: x * 0.5 if x.dtype.kind == "f" else x), kwargs)
        seeds = drawn(results)
        before = numbers(tensors_in([wide, seeds]))
        found = gradients(results, seeds, wide)
        require(numbers(tensors_in([wide, seeds])) == before, "backward writes")
        for i, place, low, high in slopes(op, wide, kwargs, seeds):
            got = 0 if found[i] is None else found[i].numpy()[place]
            require(low <= got <= high, "a wrong gradient")


def test_layouts(op, args, kwargs):
    copies = laid(args, contiguous)
    wanted = {
        layout: outcome(op, laid(copies, contiguous), kwargs, layout, contiguous)
        for layout in (contiguous, transposed, sliced, expanded)
    }
    if tensors_in(op.written_of(args)):
        wanted = {contiguous: wanted[contiguous]}
    for layout, one in wanted.items():
        require(equal(one, outcome(op, args, kwargs, layout)), "other numbers")


# %% exercise=8.9
def softmax(library, t):
    def forward(x: Tensor, dim: int = -1) -> Tensor:
        a = x.numpy()
        e = np.exp(a - a.max(dim, keepdims=True, initial=-np.inf))
        return t.from_numpy(np.array(e / e.sum(dim, keepdims=True), order="C"))

    def backward(grad: Tensor, y: Tensor, dim: int) -> Tensor:
        g, p = grad.numpy(), y.numpy()
        return t.from_numpy(np.array(p * (g - (g * p).sum(dim, keepdims=True)), order="C"))

    op = library.custom_op("minilib::softmax", forward, mutates_args=())
    back = library.custom_op("minilib::softmax_backward", backward, mutates_args=())
    op.register_fake(lambda x, dim=-1: x.new_empty(x.shape))
    back.register_fake(lambda grad, y, dim: y.new_empty(y.shape))

    def keep(ctx, inputs, output):
        ctx.axis = inputs[1]
        ctx.save_for_backward(output)

    op.register_autograd(lambda ctx, g: (back(g, *ctx.saved_tensors, ctx.axis), None), setup_context=keep)
    return op


# %% exercise=8.10
def layer_norm(library, t):
    def as_new(array):
        return t.from_numpy(np.array(array, order="C"))

    def forward(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> tuple[Tensor, Tensor, Tensor]:
        a = x.numpy()
        mean = a.mean(-1, keepdims=True)
        rstd = 1 / np.sqrt(a.var(-1, keepdims=True) + a.dtype.type(eps))
        return as_new((a - mean) * rstd * weight.numpy() + bias.numpy()), as_new(mean), as_new(rstd)

    def backward(g: Tensor, x: Tensor, w: Tensor, mean: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = (x.numpy() - mean.numpy()) * rstd.numpy()
        gw = g.numpy() * w.numpy()
        dx = rstd.numpy() * (gw - gw.mean(-1, keepdims=True) - y * (gw * y).mean(-1, keepdims=True))
        rows = tuple(range(y.ndim - 1))
        return as_new(dx), as_new((g.numpy() * y).sum(rows)), as_new(g.numpy().sum(rows))

    op = library.custom_op("minilib::layer_norm", forward, mutates_args=())
    back = library.custom_op("minilib::layer_norm_backward", backward, mutates_args=())
    op.register_fake(
        lambda x, weight, bias, eps=1e-5: (
            x.new_empty(x.shape), x.new_empty((*x.shape[:-1], 1)), x.new_empty((*x.shape[:-1], 1)),
        )
    )  # fmt: skip
    back.register_fake(
        lambda g, x, w, mean, rstd: (x.new_empty(x.shape), w.new_empty(w.shape), w.new_empty(w.shape))
    )

    def keep(ctx, inputs, output):
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*inputs[:2], *output[1:])

    op.register_autograd(lambda ctx, g, *_: (*back(g, *ctx.saved_tensors), None), setup_context=keep)
    return op


# %% exercise=8.11
def scale_rows(x, factors):
    return from_numpy(np.array(x.numpy() * factors.numpy()[:, None], order="C"))


# %% exercise=8.12
def square_backward(g, x):
    if g.strides == (0, 0):
        turned = x.flags.f_contiguous and not x.flags.c_contiguous
        one = x.T if turned else x if x.flags.c_contiguous else copy(x)
        made = launch_number(g[0, 0], one)
        return made.T if turned else made
    rows = [a.flags.c_contiguous for a in (g, x)]
    columns = [a.flags.f_contiguous for a in (g, x)]
    if sum(columns) > sum(rows):
        return square_backward(g.T, x.T).T
    return launch(*(a if fits else copy(a) for a, fits in zip((g, x), rows)))
