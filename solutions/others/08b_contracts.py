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
def causal_attention(library, t):
    def heads(x, n_head):  # (B, T, C) as (B, n_head, T, C / n_head)
        return np.moveaxis(x.numpy().reshape(*x.shape[:2], n_head, -1), 2, 1)

    def joined(x):
        return t.from_numpy(np.array(np.moveaxis(x, 1, 2).reshape(x.shape[0], x.shape[2], -1), order="C"))

    def forward(q: Tensor, k: Tensor, v: Tensor, n_head: int) -> tuple[Tensor, Tensor]:
        a, b, c = (heads(x, n_head) for x in (q, k, v))
        scores = a @ b.swapaxes(2, 3) / a.shape[3] ** 0.5
        scores[..., ~np.tri(*scores.shape[2:], k.shape[1] - q.shape[1], dtype=bool)] = -np.inf
        e = np.exp(scores - scores.max(-1, keepdims=True))
        p = (e / e.sum(-1, keepdims=True)).astype(q.dtype)
        return joined(p @ c), t.from_numpy(np.array(p, order="C"))

    def backward(
        g: Tensor, q: Tensor, k: Tensor, v: Tensor, p: Tensor, n_head: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        dout, a, b, c = (heads(x, n_head) for x in (g, q, k, v))
        p = p.numpy()
        dp = dout @ c.swapaxes(2, 3)
        ds = p * (dp - (p * dp).sum(-1, keepdims=True)) / a.shape[3] ** 0.5
        return joined(ds @ b), joined(ds.swapaxes(2, 3) @ a), joined(p.swapaxes(2, 3) @ dout)

    op = library.custom_op("minilib::causal_attention", forward, mutates_args=())
    back = library.custom_op("minilib::causal_attention_backward", backward, mutates_args=())
    op.register_fake(
        lambda q, k, v, n_head: (
            q.new_empty(q.shape), q.new_empty((q.shape[0], n_head, q.shape[1], k.shape[1])),
        )
    )  # fmt: skip
    back.register_fake(lambda g, q, k, v, p, n_head: tuple(x.new_empty(x.shape) for x in (q, k, v)))

    def keep(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        *tensors, ctx.heads = inputs
        ctx.save_for_backward(*tensors, output[1])

    op.register_autograd(lambda ctx, g, _: (*back(g, *ctx.saved_tensors, ctx.heads), None), setup_context=keep)
    return op


# %% exercise=8.12
def scale_rows(x, factors):
    return from_numpy(np.array(x.numpy() * factors.numpy()[:, None], order="C"))


# %% exercise=8.13
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


# %% exercise=8.14
def selective_scan(library, t):
    """One token after the other, both ways; all states are made again on the way back."""

    def as_new(array):
        return t.from_numpy(np.array(array, order="C"))

    def states_of(x, delta, A, B):
        """(T + 1, B, E, N): the state before each token, and after the last."""
        made = [np.zeros((x.shape[0], *A.shape), x.dtype)]
        for now in range(x.shape[1]):
            step = delta[:, now, :, None]
            made.append(np.exp(step * A) * made[-1] + step * x[:, now, :, None] * B[:, now, None])
        return made

    def forward(
        x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        states = states_of(*(one.numpy() for one in (x, delta, A, B)))
        y = np.zeros(x.shape, x.dtype) if D is None else D.numpy() * x.numpy()
        for now, h in enumerate(states[1:]):
            y[:, now] += (h * C.numpy()[:, now, None]).sum(-1)
        kept = [*states[:-1:32], states[-1]]
        return as_new(y), as_new(np.stack(kept, 1).swapaxes(2, 3))

    def backward(
        g: Tensor, x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        dy, x, delta, A, B, C, D = (one.numpy() for one in (g, x, delta, A, B, C, D))
        states = states_of(x, delta, A, B)
        dx, ddelta, dA, dB, dC = (np.zeros_like(one) for one in (x, delta, A, B, C))
        dh = np.zeros_like(states[0])
        for now in reversed(range(x.shape[1])):
            step, taken, b = delta[:, now, :, None], x[:, now, :, None], B[:, now, None]
            dh = dh + dy[:, now, :, None] * C[:, now, None]
            dC[:, now] = (dy[:, now, :, None] * states[now + 1]).sum(1)
            fades = np.exp(step * A)
            through = dh * fades * states[now]  # of step * A
            dA += (through * step).sum(0)
            ddelta[:, now] = (through * A + dh * taken * b).sum(-1)
            dx[:, now] = (dh * step * b).sum(-1) + D * dy[:, now]
            dB[:, now] = (dh * step * taken).sum(1)
            dh = dh * fades
        return tuple(as_new(one) for one in (dx, ddelta, dA, dB, dC, (dy * x).sum((0, 1))))

    op = library.custom_op("minilib::selective_scan", forward, mutates_args=())
    back = library.custom_op("minilib::selective_scan_backward", backward, mutates_args=())

    def fake(x, delta, A, B, C, D=None):
        chunks = -(-x.shape[1] // 32)
        return x.new_empty(x.shape), x.new_empty((x.shape[0], chunks + 1, A.shape[1], A.shape[0]))

    op.register_fake(fake)
    back.register_fake(lambda g, *inputs: tuple(one.new_empty(one.shape) for one in inputs))

    def keep(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.skips = inputs[5] is not None
        ctx.save_for_backward(*inputs)

    def formula(ctx, g, _):
        *inputs, D = ctx.saved_tensors
        made = back(g, *inputs, D if ctx.skips else (inputs[2] * 0).sum(1))
        return *made[:5], made[5] if ctx.skips else None

    op.register_autograd(formula, setup_context=keep)
    return op
