"""Second right answers to the exercises of chapter 03a, by another way than the reference's: each earns all points."""

# %% exercise=3.2
def logsumexp(input, dim, keepdim=False):
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    top = input.data.max(axis=dims, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    total = (input - Tensor(top)).exp().sum(dims, keepdim=keepdim).log()
    return total + Tensor(top if keepdim else top.squeeze(dims))


# %% exercise=3.3
def softmax_backward(grad, y, out):
    for g, p, o in zip(grad, y, out):
        o[:] = (np.diag(p) - np.outer(p, p)) @ g


# %% exercise=3.4
class Softplus(Function):
    def __init__(self, threshold=20.0):
        self.threshold = threshold

    def forward(self, x):
        y = np.logaddexp(0, x)
        self.saved = (np.where(x > self.threshold, 1, np.exp(x - y)),)
        return np.where(x > self.threshold, x, y).astype(x.dtype)

    def backward(self, grad):
        return grad * self.saved[0]


# %% exercise=3.7
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        self.saved = x, weight
        return weight * x / np.sqrt((x * x).mean(1, keepdims=True) + x.dtype.type(self.eps))

    def backward(self, grad):
        x, weight = self.saved
        r2 = (x * x).mean(1, keepdims=True) + x.dtype.type(self.eps)
        g = grad * weight
        dx = (g - x * (g * x).mean(1, keepdims=True) / r2) / np.sqrt(r2)
        return dx, (grad * x / np.sqrt(r2)).sum(0)


# %% exercise=3.9
def online_logsumexp(pieces):
    total = -math.inf
    for piece in pieces:
        for x in piece.tolist():
            total = float(np.logaddexp(total, x))
    return total

# %% exercise=3.36
def loss_and_gradient(x, target):
    total, dx, count = 0.0, np.zeros_like(x), 0
    for row, t, out in zip(x, target, dx):
        if t == -100:
            continue
        count += 1
        total += np.logaddexp.reduce(row) - row[t]
        out[:] = np.exp(row - np.logaddexp.reduce(row)) - (np.arange(len(row)) == t)
    return float(total / max(count, 1)), dx / max(count, 1)
