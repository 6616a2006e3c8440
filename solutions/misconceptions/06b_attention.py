"""Plausible wrong answers to the exercises of chapter 06b, each with the hint that it earns."""

# %% exercise=6.7 hint="out[order] shuffles a second time. Row i of out belongs at place order[i]: write there instead of reading there."
def in_order(out, order):
    return out[order]

# %% exercise=6.7 hint="The output is not the same: its rows come in the order in which the words came. Put them back."
def in_order(out, order):
    return out.copy()

# %% exercise=6.7 hint="Sorting the numbers tears the rows apart. Whole rows move: row i belongs at place order[i]."
def in_order(out, order):
    return np.sort(out, 0)

# %% exercise=6.7 hint="You write into `out` while you still read it: rows are gone before they are needed. Write into a new array; `out[:]` of a NumPy array is none, it looks into the same numbers."
-     back = np.empty_like(out)
-     back[order] = out
-     return back
+     for i, place in enumerate(order):
+         out[place] = out[i]
+     return out

# %% exercise=6.8 hint="The softmax runs down the columns: each key's weights add up to 1. It is each query whose weights do: along the last axis."
-     rows = weights.reshape(-1, weights.shape[-1])  # a view: what follows works in place, (rows, S)
-     rows -= row_max(rows)
-     xp.exp(rows, out=rows)
-     rows *= 1 / xp.einsum("ij->i", rows)[:, None]  # einsum: faster than sum on short rows
+     weights = np.exp(weights - weights.max(-2, keepdims=True))
+     weights /= weights.sum(-2, keepdims=True)

# %% exercise=6.8 hint="The scores lack their scale: divide them by the root of d, the last axis of q."
-     weights = (q * q.dtype.type(1 / math.sqrt(q.shape[-1]))) @ k.swapaxes(-1, -2)  # (..., T, S)
+     weights = q @ k.swapaxes(-1, -2)

# %% exercise=6.8 hint="You divide by d itself. The scores' variance is d, so it is the root of d that brings them back to 1."
-     weights = (q * q.dtype.type(1 / math.sqrt(q.shape[-1]))) @ k.swapaxes(-1, -2)  # (..., T, S)
+     weights = q @ k.swapaxes(-1, -2) / q.shape[-1]

# %% exercise=6.8 hint="The root is of the number of keys or queries. It is d, the numbers of one query, q.shape[-1], that the scores grow with."
-     weights = (q * q.dtype.type(1 / math.sqrt(q.shape[-1]))) @ k.swapaxes(-1, -2)  # (..., T, S)
+     weights = q @ k.swapaxes(-1, -2) / math.sqrt(k.shape[-2])

# %% exercise=6.8 hint="Nothing keeps a query from looking ahead: add future(T, S, ...) to the scores before the softmax."
-     weights += future(*weights.shape[-2:], weights.dtype, xp)  # -inf becomes a weight of 0

# %% exercise=6.8 hint="Your mask is off by one: each query sees the next word too, and the model learns to copy it. The last key it may see is its own."
-     weights += future(*weights.shape[-2:], weights.dtype, xp)  # -inf becomes a weight of 0
+     t, s = weights.shape[-2:]
+     weights += np.triu(np.full((t, s), -np.inf), s - t + 2)

# %% exercise=6.8 hint="Your mask is off by one: no query sees its own word. The first one then may look at nothing, and a row of -inf has no softmax but nan."
-     weights += future(*weights.shape[-2:], weights.dtype, xp)  # -inf becomes a weight of 0
+     t, s = weights.shape[-2:]
+     weights += np.triu(np.full((t, s), -np.inf), s - t)

# %% exercise=6.8 hint="With more keys than queries, your queries are taken for the first positions. They are the last T of S: query i sees keys 0 to S - T + i."
-     weights += future(*weights.shape[-2:], weights.dtype, xp)  # -inf becomes a weight of 0
+     weights += np.triu(np.full(weights.shape[-2:], -np.inf), 1)

# %% exercise=6.8 hint="You set what lies ahead to 0 after the softmax, so the rest of the row no longer adds up to 1. Put -inf into the scores before it."
-     weights += future(*weights.shape[-2:], weights.dtype, xp)  # -inf becomes a weight of 0
      rows = weights.reshape(-1, weights.shape[-1])  # a view: what follows works in place, (rows, S)

-     rows *= 1 / xp.einsum("ij->i", rows)[:, None]  # einsum: faster than sum on short rows
+     rows *= 1 / xp.einsum("ij->i", rows)[:, None]
+     weights = weights * (future(*weights.shape[-2:], weights.dtype, xp) == 0)

# %% exercise=6.8 hint="You set the scores of what lies ahead to 0, and exp(0) is 1: a weight like any other. It takes -inf to make none."
-     weights += future(*weights.shape[-2:], weights.dtype, xp)  # -inf becomes a weight of 0
+     weights = weights * (future(*weights.shape[-2:], weights.dtype, xp) == 0)

# %% exercise=6.8 hint="exp of a large score is infinite, and infinity over infinity is nan. Subtract the largest score of each row first."
-     rows -= row_max(rows)

# %% exercise=6.8 hint="You subtract the largest score of all. A row that lies far below it becomes 0 / 0: take each row's own."
-     rows -= row_max(rows)
+     rows -= rows.max()

# %% exercise=6.8 hint="The mask of dropout multiplies the weights, after the softmax. Multiplied into the scores, it drops nothing: exp(0) is 1."
-     weights += future(*weights.shape[-2:], weights.dtype, xp)  # -inf becomes a weight of 0
+     weights = weights if mask is None else weights * mask
+     weights += future(*weights.shape[-2:], weights.dtype, xp)

-     return (weights if mask is None else weights * mask) @ v, weights
+     return weights @ v, weights

# %% exercise=6.8 hint="You divide the weights again after the mask of dropout. It has made the others larger already; leave the product as it is."
-     return (weights if mask is None else weights * mask) @ v, weights
+     kept = weights if mask is None else weights * mask / (weights * mask).sum(-1, keepdims=True)
+     return kept @ v, weights

# %% exercise=6.8 hint="The output is right. Return the weights as they are before the mask of dropout: backward needs them so."
-     return (weights if mask is None else weights * mask) @ v, weights
+     weights = weights if mask is None else weights * mask
+     return weights @ v, weights

# %% exercise=6.8 hint="You do not use `mask`: where it is given, it multiplies the weights, element by element, before they meet v."
-     return (weights if mask is None else weights * mask) @ v, weights
+     return weights @ v, weights

# %% exercise=6.8 hint=".T turns all axes round, those of samples and heads too. Swap only the last two: k.swapaxes(-1, -2)."
-     weights = (q * q.dtype.type(1 / math.sqrt(q.shape[-1]))) @ k.swapaxes(-1, -2)  # (..., T, S)
+     weights = (q * q.dtype.type(1 / math.sqrt(q.shape[-1]))) @ k.T

# %% exercise=6.8 hint="You change q, and it belongs to the caller, who needs it for backward. Work on a new array."
-     weights = (q * q.dtype.type(1 / math.sqrt(q.shape[-1]))) @ k.swapaxes(-1, -2)  # (..., T, S)
+     q /= math.sqrt(q.shape[-1])
+     weights = q @ k.swapaxes(-1, -2)

# %% exercise=6.9 hint="You stop at the weights. Between them and the scores is the softmax: subtract from each row its sum of dscores * weights, and multiply by the weights."
-     dscores -= (grad * out).sum(-1, keepdims=True)  # the same number as (weights * dscores).sum(-1)
-     dscores *= weights
      dscores *= scale

# %% exercise=6.9 hint="You treat each weight as if it came from its own score alone. Raising one score lowers all others of the row: subtract the row's sum of dscores * weights first."
-     dscores -= (grad * out).sum(-1, keepdims=True)  # the same number as (weights * dscores).sum(-1)

# %% exercise=6.9 hint="p (1 - p) is how a weight answers to its own score. It answers to all other scores of its row too: weights * (dscores - the row's sum of dscores * weights)."
-     dscores -= (grad * out).sum(-1, keepdims=True)  # the same number as (weights * dscores).sum(-1)
-     dscores *= weights
+     dscores *= weights * (1 - weights)

# %% exercise=6.9 hint="The gradients of q and k lack the scale: the scores were divided by the root of d, so their gradients are too."
-     dscores *= scale

# %% exercise=6.9 hint="You divide by d. The scores were divided by the root of d, so that is what comes back."
-     dscores *= scale
+     dscores /= q.shape[-1]

# %% exercise=6.9 hint="The gradients of q and k are swapped: return them in the order q, k, v."
-     return dscores @ k, dscores.swapaxes(-1, -2) @ q, dv
+     return dscores.swapaxes(-1, -2) @ q, dscores @ k, dv

# %% exercise=6.9 hint="For the gradient of k those of the scores must be transposed: key j hears from all queries i, through dscores[i, j]."
-     return dscores @ k, dscores.swapaxes(-1, -2) @ q, dv
+     return dscores @ k, dscores @ q, dv

# %% exercise=6.9 hint="For the gradient of v the weights must be transposed: value j hears from all queries i, with the weight [i, j]."
-     dv = (weights if mask is None else weights * mask).swapaxes(-1, -2) @ grad  # (..., S, d)
+     dv = (weights if mask is None else weights * mask) @ grad

# %% exercise=6.9 hint="On its way to the scores the gradient meets the mask of dropout before the softmax: multiply the gradient of the weights by it."
-     if mask is not None:
-         dscores *= mask

# %% exercise=6.9 hint="Where a mask of dropout is given, the values were weighted by weights * mask: their gradient is too."
-     dv = (weights if mask is None else weights * mask).swapaxes(-1, -2) @ grad  # (..., S, d)
+     dv = weights.swapaxes(-1, -2) @ grad

# %% exercise=6.9 hint="You multiply by the mask of dropout after the softmax's backward. It came after the softmax on the way forward, so on the way back it comes first."
-     if mask is not None:
-         dscores *= mask
-     dscores -= (grad * out).sum(-1, keepdims=True)  # the same number as (weights * dscores).sum(-1)
-     dscores *= weights
+     dscores -= (dscores * weights).sum(-1, keepdims=True)
+     dscores *= weights
+     if mask is not None:
+         dscores = dscores * mask

# %% exercise=6.9 hint="You subtract one number from the whole. It is a number for each row, its own sum: keepdims, and the last axis."
-     dscores -= (grad * out).sum(-1, keepdims=True)  # the same number as (weights * dscores).sum(-1)
+     dscores -= (grad * out).sum()

# %% exercise=6.9 hint="You subtract the row's mean. What is subtracted is its sum of dscores * weights: the weights make it a mean already."
-     dscores -= (grad * out).sum(-1, keepdims=True)  # the same number as (weights * dscores).sum(-1)
+     dscores -= dscores.mean(-1, keepdims=True)

# %% exercise=6.9 hint="You change `weights`, which belongs to the caller. Make a new array."
-     dscores *= weights
+     weights *= dscores
+     dscores = weights.copy()

# %% exercise=6.9 hint="You add up each column of dscores * weights. A softmax runs along a row, the last axis, and so does its sum."
-     dscores -= (grad * out).sum(-1, keepdims=True)  # the same number as (weights * dscores).sum(-1)
+     dscores -= (dscores * weights).sum(-2, keepdims=True)

# %% exercise=6.9 hint="dscores[i, j] is that of query i and key j. Query i gathers its row, dscores @ k; key j its column, the transposed dscores @ q."
-     return dscores @ k, dscores.swapaxes(-1, -2) @ q, dv
+     return dscores.swapaxes(-1, -2) @ k, dscores @ q, dv

# %% exercise=6.9 hint="On its way to the scores the gradient meets the mask of dropout before the softmax: multiply the gradient of the weights by it."
-     if mask is not None:
-         dscores *= mask
-     dscores -= (grad * out).sum(-1, keepdims=True)  # the same number as (weights * dscores).sum(-1)
+     dscores -= (dscores * weights).sum(-1, keepdims=True)

# %% exercise=6.10 hint="The values are right, but split_heads copies: what is written into a head does not reach qkv. reshape, slices and swapaxes give views; np.stack, .copy() and np.ascontiguousarray do not."
-     q, k, v = (parts[:, :, i].swapaxes(1, 2) for i in range(3))
+     q, k, v = (np.ascontiguousarray(parts[:, :, i].swapaxes(1, 2)) for i in range(3))

# %% exercise=6.10 hint="The values are right, but join_heads copies even where the numbers lie side by side already. Swap the axes back and reshape; np.concatenate always copies."
-     return heads.swapaxes(1, 2).reshape(b, t, n_head * d)
+     return np.concatenate([heads[:, i] for i in range(n_head)], axis=-1)

# %% exercise=6.10 hint="reshape cannot bring the heads to the front: it keeps the order in memory and mixes words with heads. Cut first, (B, T, n_head, d), then swap axes."
-     parts = qkv.reshape(*qkv.shape[:2], 3, n_head, -1)
-     q, k, v = (parts[:, :, i].swapaxes(1, 2) for i in range(3))
-     return q, k, v
+     b, t, c = qkv.shape
+     q, k, v = (x.reshape(b, n_head, t, -1) for x in np.split(qkv, 3, 2))
+     return q, k, v

# %% exercise=6.10 hint="You cut each token into heads first and into q, k, v then. In memory all of q comes first: (B, T, 3, n_head, d)."
-     parts = qkv.reshape(*qkv.shape[:2], 3, n_head, -1)
-     q, k, v = (parts[:, :, i].swapaxes(1, 2) for i in range(3))
+     parts = qkv.reshape(*qkv.shape[:2], n_head, 3, -1)
+     q, k, v = (parts[:, :, :, i].swapaxes(1, 2) for i in range(3))

# %% exercise=6.10 hint="Neighbouring channels go to different heads in yours. Head 0 has the first d channels: cut into (n_head, d), not (d, n_head)."
-     parts = qkv.reshape(*qkv.shape[:2], 3, n_head, -1)
-     q, k, v = (parts[:, :, i].swapaxes(1, 2) for i in range(3))
+     parts = qkv.reshape(*qkv.shape[:2], 3, -1, n_head)
+     q, k, v = (parts[:, :, i].transpose(0, 3, 1, 2) for i in range(3))

# %% exercise=6.10 hint="join_heads must swap the axes back before it joins them: (B, T, n_head, d), and then (B, T, C)."
-     return heads.swapaxes(1, 2).reshape(b, t, n_head * d)
+     return heads.reshape(b, t, n_head * d)

# %% exercise=6.10 hint="The heads still stand behind the words, (B, T, n_head, d). Swap those two axes."
-     q, k, v = (parts[:, :, i].swapaxes(1, 2) for i in range(3))
+     q, k, v = (parts[:, :, i] for i in range(3))

# %% exercise=6.11 hint="-1e9 is a score like any other: of a row with nothing else, each place gets an equal share, and where allowed scores are lower still, the forbidden ones win. Keep -inf, and look after its row."
def weights_mended(scores, allowed):
    scores = np.where(allowed, scores, -1e9)
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    return exps / exps.sum(-1, keepdims=True)

# %% exercise=6.11 hint="A small number under the fraction mends 0 / 0. But the row is nan before that: its largest number is -inf, and -inf - (-inf) is nan."
-     exps = np.exp(scores - np.where(top == -np.inf, 0, top))
-     sums = exps.sum(-1, keepdims=True)
-     return exps / np.where(sums == 0, 1, sums)
+     exps = np.exp(scores - top)
+     return exps / (exps.sum(-1, keepdims=True) + 1e-6)

# %% exercise=6.11 hint="The row is no longer -inf - (-inf), but its sum is 0 now, and 0 / 0 is nan too: divide such a row by 1."
-     sums = exps.sum(-1, keepdims=True)
-     return exps / np.where(sums == 0, 1, sums)
+     return exps / exps.sum(-1, keepdims=True)

# %% exercise=6.11 hint="You set the forbidden weights to 0 after the softmax, so what is left of a row adds up to less than 1. Keep them out of the sum."
def weights_mended(scores, allowed):
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    return exps / exps.sum(-1, keepdims=True) * allowed

# %% exercise=6.11 hint="You leave the largest number out altogether: nothing is nan in small rows, but exp of a large score overflows, and of a low one is 0. Take it out wherever it is finite."
-     exps = np.exp(scores - np.where(top == -np.inf, 0, top))
+     exps = np.exp(scores)

# %% exercise=6.11 hint="A row that may look at nothing gets equal weights in yours. It should get none: 0."
-     return exps / np.where(sums == 0, 1, sums)
+     return np.where(sums == 0, 1 / scores.shape[-1], exps / np.where(sums == 0, 1, sums))

# %% exercise=6.11 hint="You take no largest number out: exp of a large score overflows, and a row whose allowed scores are all low gets no weights. Take out the largest that is allowed."
def weights_mended(scores, allowed):
    exps = np.exp(scores) * allowed
    sums = exps.sum(-1, keepdims=True)
    return exps / np.where(sums == 0, 1, sums)

# %% exercise=6.11 hint="You take the largest of all places. Where a forbidden score is far above those that are allowed, exp makes 0 of all of them: take the largest that is allowed."
-     scores = np.where(allowed, scores, -np.inf)
-     top = scores.max(-1, keepdims=True)
-     exps = np.exp(scores - np.where(top == -np.inf, 0, top))
+     top = scores.max(-1, keepdims=True)
+     exps = np.where(allowed, np.exp(scores - top), 0)

# %% exercise=6.9 hint="The engine goes the way back for you here. It is the way that this exercise asks for: work it out on arrays."
def attend_backward(grad, q, k, v, out, weights, mask=None):
    from minilib.tensor import Tensor

    tensors = [Tensor(a, requires_grad=True) for a in (q, k, v)]
    scores = tensors[0] @ tensors[1].mT * (1 / math.sqrt(q.shape[-1]))
    scores = scores + Tensor(np.triu(np.full(weights.shape[-2:], -np.inf), k.shape[-2] - q.shape[-2] + 1))
    shares = scores.exp() / scores.exp().sum(-1, keepdim=True)
    ((shares if mask is None else shares * Tensor(mask)) @ tensors[2]).backward(Tensor(grad))
    return tuple(t.grad.numpy() for t in tensors)

# %% exercise=6.9 hint="Axis 1 is the last one of a matrix only. With others in front, such as heads, a row still lies along the last one: count from the end, -1."
-     dscores -= (grad * out).sum(-1, keepdims=True)  # the same number as (weights * dscores).sum(-1)
+     dscores -= (weights * dscores).sum(1, keepdims=True)

# %% exercise=6.9 hint="`weights *= mask` writes into the caller's weights, and the softmax's way back needs them as they were: weights * mask is an array of its own."
def attend_backward(
    grad: Array, q: Array, k: Array, v: Array, out: Array, weights: Array, mask: Array | None = None
) -> tuple[Array, Array, Array]:
    """Gradients of q, k and v from that of out; `out` and `weights` are what `attend` returned."""
    dscores = grad @ v.swapaxes(-1, -2)
    if mask is not None:
        weights *= mask
        dscores *= mask
    dv = weights.swapaxes(-1, -2) @ grad
    dscores -= (grad * out).sum(-1, keepdims=True)
    dscores *= weights
    dscores /= math.sqrt(q.shape[-1])
    dq = dscores @ k
    dk = dscores.swapaxes(-1, -2) @ q
    return dq, dk, dv

# %% exercise=6.11 hint="-1e9 is a score like any other: where the allowed ones are lower still, the largest of the row is a forbidden one, and the others come out as 0. Keep -inf, and look after its row."
def weights_mended(scores: Array, allowed: Array) -> Array:
    """Softmax of each row over the places that are allowed, (T, S); 0 in a row without any."""
    scores = np.where(allowed, scores, -1e9)
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    exps = np.where(allowed, exps, 0.0)
    total = exps.sum(-1, keepdims=True)
    total = np.where(total == 0, 1.0, total)
    return exps / total

# %% exercise=6.7 hint="You write into `out` while you still read it: rows are gone before they are needed. Write into a new array; `out[:]` of a NumPy array is none, it looks into the same numbers."
# predicted: about a fifth
def in_order(out, order):
    back = out[:]
    for i, place in enumerate(order):
        back[place] = out[i]
    return back
