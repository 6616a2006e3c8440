"""Second right answers to the exercises of chapter 07a, by another way than the reference's: each earns all points."""

# %% exercise=7.1
def euler_growth(A, step):
    powers = np.linalg.eigvals(np.eye(len(A)) + step * A)
    return max(float(np.hypot(one.real, one.imag)) for one in powers)


# %% exercise=7.2
def discretize(delta, A, B, euler=False):
    delta = np.asarray(delta, dtype=A.real.dtype)
    z = np.multiply.outer(delta, np.ones(A.shape[-1], A.real.dtype)) * A
    b = np.empty(z.shape, z.dtype) * B
    for at in np.ndindex(z.shape):
        if euler or z[at] == 0:
            factor = 1
        elif abs(z[at]) < 1e-2:  # the series of (exp(z) - 1) / z
            factor = 1 + z[at] / 2 * (1 + z[at] / 3 * (1 + z[at] / 4 * (1 + z[at] / 5)))
        else:
            factor = (np.exp(z[at]) - 1) / z[at]
        d = delta[at[:-1]] if delta.ndim == z.ndim - 1 else delta
        b[at] = d * factor * np.broadcast_to(B, z.shape)[at]
    return np.exp(z), b


# %% exercise=7.3
def ssm_kernel(a, b, C, length):
    h, answers = b.copy(), []
    for _ in range(length):
        answers.append((C * h).sum(-1).real)
        h = a * h
    return np.array(answers)


# %% exercise=7.4
def fft_convolve(x, kernel):
    T, L = x.shape[-2], kernel.shape[-2]
    x_long = np.concatenate([x, np.zeros((*x.shape[:-2], L, x.shape[-1]))], -2)
    kernel_long = np.concatenate([kernel, np.zeros((*kernel.shape[:-2], T, x.shape[-1]))], -2)
    y = np.fft.ifft(np.fft.fft(x_long, axis=-2) * np.fft.fft(kernel_long, axis=-2), axis=-2)
    return y.real[..., :T, :].astype(x.dtype)


# %% exercise=7.5
def fft_convolve_backward(grad, x, kernel):
    def convolve(a, b, keep):
        n = a.shape[-2] + b.shape[-2]
        product = np.fft.fft(a, n, axis=-2) * np.fft.fft(b, n, axis=-2)
        return np.fft.ifft(product, axis=-2).real[..., :keep, :]

    T, L = x.shape[-2], kernel.shape[-2]
    back = grad[..., ::-1, :]  # time runs backwards
    dx = convolve(back, kernel, T)[..., ::-1, :]
    each = convolve(back, x, T)[..., ::-1, :].reshape(-1, *x.shape[-2:]).sum(0)
    dkernel = np.zeros(kernel.shape)
    dkernel[:T] = each[:L]
    return dx, dkernel
