# Plausible wrong answers to the exercises of chapter 07b, each with the hint that it earns.
# One is a whole program, or an edit of the reference answer: "- " a line that goes, "+ " one that comes.

# %% exercise=7.6 hint="You take a logarithm to the base 2 or 10. exp has the base e: math.log without a second argument."
-     room = math.log(np.finfo(dtype).max)
+     room = math.log2(np.finfo(dtype).max)

# %% exercise=7.6 hint="You take a logarithm to the base 2 or 10. exp has the base e: math.log without a second argument."
-     room = math.log(np.finfo(dtype).max)
+     room = math.log10(np.finfo(dtype).max)

# %% exercise=7.6 hint="One token too many: the last step must still fit, so round down."
-     return int(room // (delta * -A))
+     return int(room // (delta * -A)) + 1

# %% exercise=7.6 hint="You round to the nearest number of tokens. Half a step does not fit: round down."
-     return int(room // (delta * -A))
+     return round(room / (delta * -A))

# %% exercise=7.6 hint="You take float32's range for every dtype. np.finfo(dtype).max is the largest number of that one."
-     room = math.log(np.finfo(dtype).max)
+     room = math.log(np.finfo(np.float32).max)

# %% exercise=7.6 hint="The rate counts too: a step fades by exp(delta * A), not by exp(delta)."
-     return int(room // (delta * -A))
+     return int(room // delta)

# %% exercise=7.6 hint="A number of tokens is whole: turn what fits into an int, rounding down."
-     return int(room // (delta * -A))
+     return room / (delta * -A)

# %% exercise=7.7 hint="a and b are combined in the wrong order: b needs the later pair's a as it was, so multiply a only after b."
-     b[right] += a[right] * b[left]  # two steps in a row: a = a2 a1, b = a2 b1 + b2
-     a[right] *= a[left]
+     a[right] *= a[left]
+     b[right] += a[right] * b[left]

# %% exercise=7.7 hint="You join the pairs the wrong way round: the earlier b is multiplied by the later pair's a, not by its own."
-     b[right] += a[right] * b[left]  # two steps in a row: a = a2 a1, b = a2 b1 + b2
+     b[right] += a[left] * b[left]

# %% exercise=7.7 hint="The way down is missing: tokens 2, 4, 6 stand between, and have yet to take in what is on their left."
-     tree(a[right], b[right])  # half as many, in place through the views
-     b[2::2] += a[2::2] * b[1:-1:2]  # those in between: one step behind what is right already
+     tree(a[right], b[right])

# %% exercise=7.7 hint="On the way up a pair's a must become the product of both: else the next level fades by one step only."
-     a[right] *= a[left]

# %% exercise=7.7 hint="Only one level arrives in b. The pairs at odd places must be scanned themselves: call tree on their slices. An array of indices makes copies, and what is written there nobody sees."
-     tree(a[right], b[right])  # half as many, in place through the views

# %% exercise=7.7 hint="An odd number of tokens leaves one over: it is on the left of nobody. End the left ones at len(b) // 2 * 2, and on the way down those to take in at -1."
-     left, right = slice(0, len(b) // 2 * 2, 2), slice(1, None, 2)
+     left, right = slice(0, None, 2), slice(1, None, 2)

# %% exercise=7.7 hint="On the way down, too, it is the later pair's a that multiplies: a[2::2], that of the token which takes in."
-     b[2::2] += a[2::2] * b[1:-1:2]  # those in between: one step behind what is right already
+     b[2::2] += a[1:-1:2] * b[1:-1:2]

# %% exercise=7.7 hint="On the way down you take in what stands on the right, a later step. Token 2 takes in pair 1, and token 0 is right from the start."
-     b[2::2] += a[2::2] * b[1:-1:2]  # those in between: one step behind what is right already
+     b[left] += a[left] * b[right]

# %% exercise=7.7 hint="You scan a copy. The caller looks at the b that it handed over: write into it."
-     left, right = slice(0, len(b) // 2 * 2, 2), slice(1, None, 2)
+     left, right = slice(0, len(b) // 2 * 2, 2), slice(1, None, 2)
+     a, b = a.copy(), b.copy()

# %% exercise=7.7 hint="The states are right, but token by token: a loop of T steps. Work on whole slices, level by level."
def tree(a, b):
    for t in range(1, len(b)):
        b[t] += a[t] * b[t - 1]

# %% exercise=7.7 hint="The states are right, but each level works on all tokens: that is Hillis and Steele's scan. Go on with every second pair alone."
def tree(a, b):
    offset = 1
    while offset < len(b):
        b[offset:] += a[offset:] * b[:-offset].copy()
        a[offset:] *= a[:-offset].copy()
        offset *= 2

# %% exercise=7.7 hint="Only one level arrives in b. The pairs at odd places must be scanned themselves: call tree on their slices. An array of indices makes copies, and what is written there nobody sees."
-     left, right = slice(0, len(b) // 2 * 2, 2), slice(1, None, 2)
+     left, right = np.arange(0, len(b) - 1, 2), np.arange(1, len(b), 2)

# %% exercise=7.8 hint="Each chunk begins with the same state. It must begin with the last state of the chunk before it."
-         _, h = chunk_states(x[now], delta[now], A, B[now], carried[i])
+         _, h = chunk_states(x[now], delta[now], A, B[now], before)

# %% exercise=7.8 hint="Each chunk begins with an empty state. It must begin with the last state of the chunk before it, the first one with `before`."
-         _, h = chunk_states(x[now], delta[now], A, B[now], carried[i])
+         _, h = chunk_states(x[now], delta[now], A, B[now], np.zeros_like(before))

# %% exercise=7.8 hint="You carry the first state of a chunk. What the next chunk begins with is the last one, h[-1]."
-         carried[i + 1] = h[-1]  # all that backward needs to work out the next chunk again
+         carried[i + 1] = h[0]

# %% exercise=7.8 hint="`carried` begins with the state that came before the first chunk: `before`, then each chunk's last state."
-     return y, carried
+     return y, carried[1:]

# %% exercise=7.8 hint="A shorter chunk at the end is left out: the number of chunks is rounded up."
-     starts = range(0, len(x), size)
-     y, carried = np.empty_like(x), np.empty((len(starts) + 1, *A.shape), x.dtype)
+     starts = range(0, len(x) - size + 1, size)
+     y, carried = np.zeros_like(x), np.empty((len(starts) + 1, *A.shape), x.dtype)

# %% exercise=7.8 hint="`before` is left out: the first chunk begins with the state that it is given."
-     carried[0] = before
+     carried[0] = 0

# %% exercise=7.8 hint="y is C times the state, summed over the N numbers of it: you sum without C."
-         y[now] = (h * C[now][:, None, :]).sum(2)  # (T, E, N) times (T, 1, N), summed over N: eq. 2b
+         y[now] = h.sum(2)

# %% exercise=7.8 hint="The last chunk's last state is missing from `carried`: it holds one state more than there are chunks."
-     return y, carried
+     return y, carried[:-1]

# %% exercise=7.8 hint="The numbers are right, but all states exist at the same time. Call chunk_states for one chunk after the other."
def sample_forward(x, delta, A, B, C, before, size):
    _, h = chunk_states(x, delta, A, B, before)
    ends = [min(start + size, len(x)) - 1 for start in range(0, len(x), size)]
    return (h * C[:, None, :]).sum(2), np.concatenate([before[None], h[ends]])

# %% exercise=7.8 hint="You keep a view of each chunk's last state, and a view keeps alive what it looks at: the states of all chunks. Keep h[-1].copy()."
def sample_forward(x, delta, A, B, C, before, size):
    y, carried = [], [before]
    for start in range(0, len(x), size):
        now = slice(start, start + size)
        _, h = chunk_states(x[now], delta[now], A, B[now], carried[-1])
        y.append((C[now][:, None] * h).sum(-1))
        carried.append(h[-1])
    return np.concatenate(y), np.array(carried)

# %% exercise=7.8 hint="You change what came in, and it belongs to the caller. Make new arrays."
-         _, h = chunk_states(x[now], delta[now], A, B[now], carried[i])
+         x[now] *= delta[now]
+         _, h = chunk_states(x[now] / delta[now], delta[now], A, B[now], carried[i])

# %% exercise=7.8 hint="C has a number for each of the N, and yours meets the E channels: give it its axis in the middle, C[now][:, None, :]."
-         y[now] = (h * C[now][:, None, :]).sum(2)  # (T, E, N) times (T, 1, N), summed over N: eq. 2b
+         y[now] = (h * C[now][:, :, None]).sum(2)

# %% exercise=7.9 hint="You run the scan backwards with the factors one place off: into g[t] comes a[t + 1], so turn around a[1:], with the 1 at its end."
-         g = scan_loop(a[:0:-1], g[::-1], later)[::-1]  # and by all later ones: g[t] += a[t+1] g[t+1]
+         g = scan_loop(a[-2::-1], g[::-1], later)[::-1]

# %% exercise=7.9 hint="The carry on the way back is missing: the last state of a chunk also counts for the chunk after it. Hand a[0] * g[0] to the chunk before."
-         later = a[0] * g[0]  # what the chunk before this one hears
+         later = np.zeros_like(A)

# %% exercise=7.9 hint="What you carry back lacks its factor: the state before a chunk enters its first state times a[0], so its gradient is a[0] * g[0]."
-         later = a[0] * g[0]  # what the chunk before this one hears
+         later = g[0]

# %% exercise=7.9 hint="The scan runs forwards in yours. A state counts for all later ones, so its gradient comes from the later: turn time around."
-         g = scan_loop(a[:0:-1], g[::-1], later)[::-1]  # and by all later ones: g[t] += a[t+1] g[t+1]
+         g = scan_loop(a[:-1], g, later)

# %% exercise=7.9 hint="Only a token's own y counts in yours: its state is also what all later states are made of. Run the scan backwards over dy C."
-         g = scan_loop(a[:0:-1], g[::-1], later)[::-1]  # and by all later ones: g[t] += a[t+1] g[t+1]

# %% exercise=7.9 hint="a[t] was multiplied by the state before it, h[t - 1], not by h[t]: the first of a chunk by what was carried in."
-         dz = g * a[:-1] * np.concatenate([carried[i : i + 1], h[:-1]])  # of delta A: (T, E, N)
+         dz = g * a[:-1] * h

# %% exercise=7.9 hint="The first state of a chunk follows on what was carried in: carried[i] belongs to its fade."
-         dz = g * a[:-1] * np.concatenate([carried[i : i + 1], h[:-1]])  # of delta A: (T, E, N)
+         dz = g * a[:-1] * np.concatenate([np.zeros((1, *A.shape)), h[:-1]])

# %% exercise=7.9 hint="delta works twice: it writes x into the state, and it fades the state, exp(delta A). You have only one of both."
-         ddelta[now] = dbx * x[now] + (dz * A).sum(2)
+         ddelta[now] = dbx * x[now]

# %% exercise=7.9 hint="A is the same in all chunks, so their parts of its gradient add up: +=."
-         dA += (dz * delta[now][:, :, None]).sum(0)
+         dA = (dz * delta[now][:, :, None]).sum(0)

# %% exercise=7.9 hint="The exponent is delta A, so the gradient of A is that of the exponent times delta, summed over time."
-         dA += (dz * delta[now][:, :, None]).sum(0)
+         dA += dz.sum(0)

# %% exercise=7.9 hint="x is written into the state times delta: its gradient takes delta along."
-         dx[now] = dbx * delta[now]
+         dx[now] = dbx

# %% exercise=7.9 hint="The chunks go by from first to last. What comes back to a chunk comes from the one after it: begin with the last, reversed(range(...))."
-     for i in reversed(range(len(carried) - 1)):
+     for i in range(len(carried) - 1):

# %% exercise=7.9 hint="The scan ran backwards, and its result still does: turn it around once more, [::-1]."
-         g = scan_loop(a[:0:-1], g[::-1], later)[::-1]  # and by all later ones: g[t] += a[t+1] g[t+1]
+         g = scan_loop(a[:0:-1], g[::-1], later)

# %% exercise=7.9 hint="The gradient of the exponent delta A lacks a factor: exp is its own slope, so it is g times a[t] times h[t - 1]."
-         dz = g * a[:-1] * np.concatenate([carried[i : i + 1], h[:-1]])  # of delta A: (T, E, N)
+         dz = g * np.concatenate([carried[i : i + 1], h[:-1]])

# %% exercise=7.9 hint="The gradients are right, but the states of all chunks exist at the same time. Work out those of one chunk, use them, and go on to the chunk before."
def sample_backward(dy, x, delta, A, B, C, carried, size):
    a, h = chunk_states(x, delta, A, B, carried[0])
    g = scan_loop(a[:0:-1], (dy[:, :, None] * C[:, None, :])[::-1], np.zeros_like(A))[::-1]
    dC, dB = (h * dy[:, :, None]).sum(1), (g * (delta * x)[:, :, None]).sum(1)
    dbx = (g * B[:, None, :]).sum(2)
    fades = g * a[:-1] * np.concatenate([carried[:1], h[:-1]])
    dA = (fades * delta[:, :, None]).sum(0)
    return dbx * delta, dbx * x + (fades * A).sum(2), dA, dB, dC

# %% exercise=7.9 hint="The engine goes the way back for you here. It is the way that this exercise asks for: work it out on arrays."
def sample_backward(dy, x, delta, A, B, C, carried, size):
    x, delta, A, B, C = (Tensor(a, requires_grad=True) for a in (x, delta, A, B, C))
    h, loss = Tensor(carried[0]), 0
    for t in range(len(dy)):
        h = (delta[t].unsqueeze(-1) * A).exp() * h + (delta[t] * x[t]).unsqueeze(-1) * B[t]
        loss = loss + ((h * C[t]).sum(-1) * Tensor(dy[t])).sum()
    loss.backward()
    return tuple(t.grad.numpy() for t in (x, delta, A, B, C))

# %% exercise=7.9 hint="Only delta's gradient is wrong. Each of the N numbers fades at its own rate of A: multiply first, then sum over them. The product of two sums is something else."
-         ddelta[now] = dbx * x[now] + (dz * A).sum(2)
+         ddelta[now] = dbx * x[now] + dz.sum(2) * A.sum(1)

# %% exercise=7.6 hint="The shortcut divides by p, and dies when 1 / p is above the largest number there is: finfo.max. The smallest, finfo.tiny, is not one over that."
-     room = math.log(np.finfo(dtype).max)
+     room = -math.log(np.finfo(dtype).tiny)

# %% exercise=7.8 hint="From the second chunk on you read the states with the C of the first: take each chunk's own part of C."
-         y[now] = (h * C[now][:, None, :]).sum(2)  # (T, E, N) times (T, 1, N), summed over N: eq. 2b
+         y[now] = (h * C[: len(h)][:, None, :]).sum(2)

# %% exercise=7.8 hint="Your chunks are of nearly one length, as np.array_split makes them. How many tokens has a chunk, and which one alone may have fewer?"
-     starts = range(0, len(x), size)
-     y, carried = np.empty_like(x), np.empty((len(starts) + 1, *A.shape), x.dtype)
+     parts = np.array_split(np.arange(len(x)), -(-len(x) // size))
+     y, carried = np.empty_like(x), np.empty((len(parts) + 1, *A.shape), x.dtype)

-     for i, start in enumerate(starts):
-         now = slice(start, start + size)
+     for i, part in enumerate(parts):
+         now = slice(part[0], part[-1] + 1)
