# Plausible wrong answers to the exercises of chapter 08b, each with the hint that it earns.
# One is a whole program, or an edit of the reference answer: "- " a line that goes, "+ " one that comes.

# %% exercise=8.7 hint="You ask which threads stay inside the memory. A thread may read a number that is inside, and still not its own."
-     return sum(place == thread for thread, place in enumerate(places))
+     return sum(thread <= max(places, default=0) for thread in range(len(places)))

# %% exercise=8.7 hint="You go through the columns first. Number i of a matrix is counted row by row: the last index moves fastest."
-     places = [sum(i * step for i, step in zip(index, strides)) for index in np.ndindex(*shape)]
+     places = [sum(i * step for i, step in zip(index[::-1], strides)) for index in np.ndindex(*shape[::-1])]

# %% exercise=8.7 hint="All or nothing? Some threads of a strided gradient are lucky: compare place and thread one by one."
-     return sum(place == thread for thread, place in enumerate(places))
+     return len(places) if places == [*range(len(places))] else 0

# %% exercise=8.8 hint="Your test_schema compares only the first argument with what it was before. Watch all that are not declared as written."
-     others = [x for x in tensors_in(args) if not any(x is one for one in written)]
+     others = [x for x in tensors_in(args) if not any(x is one for one in written)][:1]

# %% exercise=8.8 hint="You condemn an operator that says what it writes into. Leave out the arguments of op.written_of(args)."
-     others = [x for x in tensors_in(args) if not any(x is one for one in written)]
+     others = tensors_in(args)

# %% exercise=8.8 hint="You compare the shapes of result and fake, and not their dtypes and strides: described(x) tells all three."
-         if described(a) != described(b):
+         if a.shape != b.shape:

# %% exercise=8.8 hint="You compare shape and dtype, and not strides: a fake of empty_like passes in yours."
-         if described(a) != described(b):
+         if (a.shape, a.dtype) != (b.shape, b.dtype):

# %% exercise=8.8 hint="You look at the first result alone. An operator may have several, and its fake owes the truth about each."
-         if described(a) != described(b):
+         if i == 0 and described(a) != described(b):

# %% exercise=8.8 hint="You compare gradients in float32, where a difference quotient has few digits: a small mistake passes. Take in_float64(op, args, kwargs) first."
-     args = in_float64(op, args, kwargs)
+     args = laid(args, contiguous)

# %% exercise=8.8 hint="An operator that keeps its input in a list passes in yours: make another call, with other numbers, before you go back."
-     accepts(op, laid(args, lambda x: x[(slice(None, None, -1),) * x.ndim]), kwargs)  # it has no memory

# %% exercise=8.8 hint="You pass over an argument whose gradient is None. To send none is to say that the gradient is 0: compare that with the slopes."
-         got = 0.0 if grad is None else float(grad.data[place])
+         if grad is None:
+             continue
+         got = float(grad.data[place])

# %% exercise=8.8 hint="You try strided inputs, and only contiguous gradients. Backward must take them however they lie: try each layout of the gradients."
-     for layout in (contiguous, transposed, sliced, expanded):
+     for layout in (contiguous,):

# %% exercise=8.8 hint="Your test_layouts compares an outcome with itself: lay one of the two out anew, contiguous."
-         plain = outcome(op, laid(args, contiguous), kwargs, layout, contiguous)
+         plain = outcome(op, args, kwargs, layout, contiguous)

# %% exercise=8.8 hint="A gradient of contiguous arguments and one of strided ones differ by rounding. equal(a, b) allows for it; comparing bytes condemns right operators."
-     for i, place, low, high in slopes(op, args, kwargs, seeds):
-         grad = grads[i]
-         got = 0.0 if grad is None else float(grad.data[place])
-         if not low <= got <= high:
+     for i, place, low, high in slopes(op, args, kwargs, seeds):
+         grad = grads[i]
+         got = 0.0 if grad is None else float(grad.data[place])
+         if got != (low + high) / 2:

# %% exercise=8.8 hint="You condemn every operator, right ones as well: a test of yours fails by itself. A layout is a function, such as contiguous, and not its name in quotes: a string cannot be called."
-         plain = outcome(op, laid(args, contiguous), kwargs, layout, contiguous)
+         plain = outcome(op, laid(args, "contiguous"), kwargs, layout, contiguous)

# %% exercise=8.8 hint="An operator that keeps its input in a list passes in yours: make another call, with other numbers, before you go back."
-     accepts(op, laid(args, lambda x: x[(slice(None, None, -1),) * x.ndim]), kwargs)  # it has no memory
+     accepts(op, in_float64(op, args, kwargs), kwargs)

# %% exercise=8.9 hint="The axis does not come back: the same moveaxis once more takes another axis to the end. From the end to its place it is np.moveaxis(y, -1, dim)."
-         return fresh(t, np.moveaxis(y, -1, dim))
+         return fresh(t, np.moveaxis(y, dim, -1))

-         return fresh(t, np.moveaxis(dx, -1, dim))
+         return fresh(t, np.moveaxis(dx, dim, -1))

# %% exercise=8.9 hint="You keep the scores, and backward asks for the probabilities: save the output."
-         ctx.save_for_backward(output)
+         ctx.save_for_backward(inputs[0])

# %% exercise=8.9 hint="The axis is lost on the way back: keep inputs[1] in ctx, and hand it to the backward operator."
-         return backward(grad, *ctx.saved_tensors, ctx.dim), None
+         return backward(grad, *ctx.saved_tensors, -1), None

# %% exercise=8.9 hint="A fake of empty_like keeps the order of the axes, and your kernel makes contiguous results: x.new_empty(x.shape)."
-         return x.new_empty(x.shape)
+         return t.empty_like(x)

# %% exercise=8.9 hint="The axis is moved to the end, and never moved back."
-         return fresh(t, np.moveaxis(y, -1, dim))
+         return fresh(t, y.reshape(x.shape))

# %% exercise=8.9 hint="What you return lies as y did after the axis was moved: strided. The fake promises a contiguous result: use fresh(t, ...)."
-         return fresh(t, np.moveaxis(y, -1, dim))
+         return t.from_numpy(np.moveaxis(y, -1, dim))

# %% exercise=8.10 hint="Mean and rstd have as many axes as x, the last of length 1: in the fake, and where backward hands them on. In one place yours have lost it."
-         return x.new_empty(x.shape), *(x.new_empty((*x.shape[:-1], 1)) for _ in range(2))
+         return x.new_empty(x.shape), *(x.new_empty(x.shape[:-1]) for _ in range(2))

# %% exercise=8.10 hint="Mean and rstd have as many axes as x, the last of length 1: in the fake, and where backward hands them on. In one place yours have lost it."
-         f.saved = y.reshape(-1, y.shape[-1]), rstd.numpy().reshape(-1, 1), weight.numpy()
+         f.saved = y.reshape(-1, y.shape[-1]), rstd.numpy().reshape(-1), weight.numpy()

# %% exercise=8.10 hint="You make y again without its scale: it is (x - mean) * rstd."
-         y = (x.numpy() - mean.numpy()) * rstd.numpy()  # once more: kept, it would be as large as x
+         y = x.numpy() - mean.numpy()

# %% exercise=8.10 hint="mean and rstd are results for backward, and have no gradient of their own: ctx.mark_non_differentiable(mean, rstd)."
-         ctx.mark_non_differentiable(mean, rstd)

# %% exercise=8.10 hint="eps does not come to the kernel: LayerNorm(eps)."
-         f = LayerNorm(eps)
+         f = LayerNorm()

# %% exercise=8.10 hint="rstd lacks eps. Backward needs the very one that forward divided by, 1 / sqrt(var + eps): LayerNorm has kept it for you in f.saved."
-         y, rstd, _ = f.saved
-         y, rstd = y.reshape(x.shape), rstd.reshape(*x.shape[:-1], 1)
-         mean = x.numpy()[..., :1] - y[..., :1] / rstd  # since y = (x - mean) * rstd
+         mean = x.numpy().mean(-1, keepdims=True)
+         rstd = 1 / x.numpy().std(-1, keepdims=True)

# %% exercise=8.10 hint="dw and db are rows of one array, and results of an operator share no memory: return a copy of one of them."
-         return fresh(t, dx, dw, db.copy())  # dw and db are rows of one array, and results share no memory
+         return fresh(t, dx, dw, db)

# %% exercise=8.11 hint="In your fake the weights have T columns. Queries look at all S positions: weights_shape(q, k, v, n_head) is (B, n_head, T, S)."
-         return q.new_empty(q.shape), q.new_empty(weights_shape(q, k, v, n_head))
+         b, h, n, _ = weights_shape(q, k, v, n_head)
+         return q.new_empty(q.shape), q.new_empty((b, h, n, n))

# %% exercise=8.11 hint="The backward's fake gives all three gradients the shape of q. Those of k and v are as long as k and v."
-         return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)
+         return tuple(q.new_empty(q.shape) for _ in range(3))

# %% exercise=8.11 hint="The weights are a result for backward, and have no gradient of their own: ctx.mark_non_differentiable(weights)."
-         ctx.mark_non_differentiable(weights)

# %% exercise=8.11 hint="You cut the positions into heads. It is the channels that are cut: out becomes (B, T, n_head, C / n_head)."
-         heads = out.numpy().reshape(*out.shape[:2], n_head, out.shape[2] // n_head)  # (B, T, n_head, d)
+         b, n, c = out.shape
+         heads = out.numpy().reshape(b, n_head, n, c // n_head).swapaxes(1, 2)

# %% exercise=8.11 hint="f.backward wants out as forward had left it, cut into heads: (B, T, n_head, C / n_head). The result that you kept is (B, T, C)."
-         heads = out.numpy().reshape(*out.shape[:2], n_head, out.shape[2] // n_head)  # (B, T, n_head, d)
+         heads = out.numpy()

# %% exercise=8.12 hint="That is the order of columns. The loop goes over rows: order=\"C\"."
-     flat = x.numpy().ravel(order="C")
+     flat = x.numpy().ravel(order="F")

# %% exercise=8.12 hint="order=\"A\" keeps the order of columns where the array lies so. Ask for rows: order=\"C\"."
-     flat = x.numpy().ravel(order="C")
+     flat = x.numpy().ravel(order="A")

# %% exercise=8.12 hint="order=\"K\" gives the numbers as they lie in memory. The loop needs them row by row: order=\"C\"."
-     flat = x.numpy().ravel(order="C")
+     flat = x.numpy().ravel(order="K")

# %% exercise=8.13 hint="You copy an array that is contiguous already. Copy only what does not fit."
def square_backward(g, x):
    return launch(copy(g), copy(x))

# %% exercise=8.13 hint="Two arrays that are transposed alike need no copy: launch on g.T and x.T, and transpose the result."
def square_backward(g, x):
    if not x.flags.c_contiguous:
        x = copy(x)
    if g.strides == (0, 0):
        return launch_number(g[0, 0], x)
    return launch(g if g.flags.c_contiguous else copy(g), x)

# %% exercise=8.13 hint="An expanded gradient is one number: launch_number(g[0, 0], x), and no copy of g."
def square_backward(g, x):
    if x.flags.f_contiguous and g.flags.f_contiguous:
        return launch(g.T, x.T).T
    one, other = (a if a.flags.c_contiguous else copy(a) for a in (g, x))
    return launch(one, other)

# %% exercise=8.13 hint="Of a transposed matrix and a sliced one you copy both. One of the two has its numbers without gaps, only in another order: does it need a copy?"
def square_backward(g, x):
    if g.strides == (0, 0):
        if x.T.flags.c_contiguous:
            return launch_number(g[0, 0], x.T).T
        return launch_number(g[0, 0], x if x.flags.c_contiguous else copy(x))
    if g.T.flags.c_contiguous and x.T.flags.c_contiguous:
        return launch(g.T, x.T).T
    one, other = (a if a.flags.c_contiguous else copy(a) for a in (g, x))
    return launch(one, other)

# %% exercise=8.14 hint="D is lost on the way back: where there is one, the gradient of x has a part that went past the state, D times that of y."
-         skip = np.zeros(A.shape[0], arrays[0].dtype) if D is None else D.numpy()
+         skip = np.zeros(A.shape[0], arrays[0].dtype)

# %% exercise=8.14 hint="Your formula sends D no gradient. The backward operator has made it, as the last of six."
-         return *grads, dD if ctx.saved_tensors[5] is not None else None
+         return *grads, None

# %% exercise=8.14 hint="What is carried is a result for backward, and has no gradient of its own: ctx.mark_non_differentiable(carried)."
-         ctx.mark_non_differentiable(carried)

# %% exercise=8.9 hint="The gradient's axis goes to the end, and that of y does not: the two no longer belong together. Move both."
-         f.saved = (np.moveaxis(y.numpy(), dim, -1),)
+         f.saved = (y.numpy(),)

# %% exercise=8.14 hint="What is carried is the last of f.saved. Its place from the front depends on whether there is a D."
-         *_, carried = f.saved
+         carried = f.saved[5]

# %% exercise=8.14 hint="The fake promises other strides than the kernel makes: empty_like(x) keeps the order of x's axes, and your results are new, row by row. Say x.new_empty(x.shape)."
-         return x.new_empty(x.shape), x.new_empty(carried_shape(x, delta, A, B, C, D))
+         return t.empty_like(x), x.new_empty(carried_shape(x, delta, A, B, C, D))

# %% exercise=8.14 hint="In the place of a missing D you put zeros of another length: D has one number for each of the E channels, and A is (E, N)."
-         skip = np.zeros(A.shape[0], arrays[0].dtype) if D is None else D.numpy()
+         skip = np.zeros(A.shape[1], arrays[0].dtype) if D is None else D.numpy()

# %% exercise=8.11 hint="You keep a tensor as an attribute of ctx: nobody notices when it is written into before backward. Hand tensors to save_for_backward; numbers may be attributes."
-         ctx.save_for_backward(q, k, v, out, weights)
+         ctx.save_for_backward(q, k, v, out)
+         ctx.weights = weights

-         return *backward(grad, *ctx.saved_tensors, ctx.n_head), None
+         return *backward(grad, *ctx.saved_tensors, ctx.weights, ctx.n_head), None
