"""Second right answers to the exercises of chapter 07b, by another way than the reference's: each earns all points."""

# %% exercise=7.6
def reach(delta, A, dtype):
    n, largest = 0, float(np.finfo(dtype).max)
    exponent = -delta * A
    while math.log(largest) - (n + 1) * exponent >= 0:
        n += 1
    return n


# %% exercise=7.7
def tree(a, b):
    strides, stride = [], 1
    while 2 * stride <= len(b):
        left, right = slice(stride - 1, len(b) - stride, 2 * stride), slice(2 * stride - 1, None, 2 * stride)
        b[right] = b[right] + a[right] * b[left]
        a[right] = a[right] * a[left]
        strides.append(stride)
        stride *= 2
    for stride in reversed(strides):
        on = slice(3 * stride - 1, None, 2 * stride)
        some = len(b[on])
        b[on] += a[on] * b[2 * stride - 1 :: 2 * stride][:some]


# %% exercise=7.8
def sample_forward(x, delta, A, B, C, before, size, scan=None, room=None):
    h, y, carried = before, np.zeros_like(x), [before]
    for t in range(len(x)):
        write = np.einsum("...n,...e->...ne", B[t], delta[t] * x[t])
        h = np.exp(np.expand_dims(delta[t], -2) * A) * h + write
        y[t] = np.einsum("...n,...ne->...e", C[t], h)
        if (t + 1) % size == 0 or t + 1 == len(x):
            carried.append(h)
    return y, np.array(carried)


# %% exercise=7.9
def sample_backward(dy, x, delta, A, B, C, carried, size, scan=None, room=None):
    if x.ndim == 3:  # one sample after the other
        each = [
            sample_backward(*(v[:, s] for v in (dy, x, delta)), A, B[:, s], C[:, s], carried[:, s], size)
            for s in range(x.shape[1])
        ]
        dx, ddelta, dA, dB, dC = zip(*each)
        return np.stack(dx, 1), np.stack(ddelta, 1), sum(dA), np.stack(dB, 1), np.stack(dC, 1)
    dx, ddelta, dA, dB, dC = (np.zeros_like(each) for each in (x, delta, A, B, C))
    back = np.zeros_like(A)
    for chunk in range(len(carried) - 2, -1, -1):
        states = [carried[chunk]]
        times = range(chunk * size, min((chunk + 1) * size, len(x)))
        for t in times:
            states.append(np.exp(delta[t] * A) * states[-1] + np.outer(B[t], delta[t] * x[t]))
        for t in reversed(times):
            after, before = states.pop(), states[-1]
            dC[t] = after @ dy[t]
            g = back + np.outer(C[t], dy[t])
            fade = np.exp(delta[t] * A)
            back = fade * g
            dx[t] = delta[t] * (B[t] @ g)
            dB[t] = g @ (delta[t] * x[t])
            ddelta[t] = x[t] * (B[t] @ g) + (back * before * A).sum(0)
            dA += back * before * delta[t]
    return dx, ddelta, dA, dB, dC
