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
def sample_forward(x, delta, A, B, C, before, size):
    x, delta, A, B, C = (each.copy() for each in (x, delta, A, B, C))  # nobody else writes into these
    h, y, carried = before, np.zeros_like(x), [before]
    for t in range(len(x)):
        h = np.exp(delta[t][:, None] * A) * h + np.outer(delta[t] * x[t], B[t])
        y[t] = h @ C[t]
        if (t + 1) % size == 0 or t + 1 == len(x):
            carried.append(h)
    return y, np.array(carried)


# %% exercise=7.9
def sample_backward(dy, x, delta, A, B, C, carried, size):
    dx, ddelta, dA, dB, dC = (np.zeros_like(each) for each in (x, delta, A, B, C))
    back = np.zeros_like(A)
    for chunk in range(len(carried) - 2, -1, -1):
        states = [carried[chunk]]
        times = range(chunk * size, min((chunk + 1) * size, len(x)))
        for t in times:
            states.append(np.exp(delta[t][:, None] * A) * states[-1] + np.outer(delta[t] * x[t], B[t]))
        for t in reversed(times):
            after, before = states.pop(), states[-1]
            dC[t] = dy[t] @ after
            g = back + np.outer(dy[t], C[t])
            back = np.exp(delta[t][:, None] * A) * g
            dx[t] = delta[t] * (g @ B[t])
            dB[t] = (delta[t] * x[t]) @ g
            ddelta[t] = x[t] * (g @ B[t]) + (back * before * A).sum(1)
            dA += back * before * delta[t][:, None]
    return dx, ddelta, dA, dB, dC
