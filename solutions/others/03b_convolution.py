"""Second right answers to the exercises of chapter 03b, by another way than the reference's: each earns all points."""

# %% exercise=3.1
def count_windows(n, kernel, stride=1, padding=0, dilation=1):
    last = n + 2 * padding - dilation * (kernel - 1)
    return len(range(0, last, stride))


# %% exercise=3.8
def max_pool_backward(grad, winner, taps, out):
    places = np.arange(out.size).reshape(out.shape)
    at = np.choose(winner, [places[tap] for tap in taps])
    np.add.at(out.reshape(-1), at, grad)


# %% exercise=3.37
def slices(x, weight):
    high, wide = x.shape[2] - weight.shape[2] + 1, x.shape[3] - weight.shape[3] + 1
    for i in range(weight.shape[2]):
        for j in range(weight.shape[3]):
            yield i, j, (..., slice(i, i + high), slice(j, j + wide))


def convolve(x, weight):
    return sum(np.einsum("nchw,oc->nohw", x[at], weight[:, :, i, j]) for i, j, at in slices(x, weight))


def convolve_backward(grad, x, weight):
    dx, dw = np.zeros_like(x), np.zeros_like(weight)
    for i, j, at in slices(x, weight):
        dx[at] += np.einsum("nohw,oc->nchw", grad, weight[:, :, i, j])
        dw[:, :, i, j] = np.einsum("nohw,nchw->oc", grad, x[at])
    return dx, dw
