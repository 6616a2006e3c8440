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


# %% exercise=3.5
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    t = target.data
    share = (t != ignore_index) * (1.0 if weight is None else weight.data[np.where(t == ignore_index, 0, t)])
    onehot = np.moveaxis(np.eye(input.shape[1])[np.where(t == ignore_index, 0, t)], -1, 1)
    chosen = (onehot > 0) & np.expand_dims(t != ignore_index, 1)
    losses = where(Tensor(chosen), -input, 0.0).sum(1) * Tensor(np.asarray(share, input.dtype))
    if reduction == "none":
        return losses
    return losses.sum() * (1 / share.sum()) if reduction == "mean" else losses.sum()


# %% exercise=3.6
def track_mended(running_mean, running_var, x, momentum=0.1):
    n, mean = len(x), x.mean(0)
    var = ((x - mean) ** 2).sum(0) / (n - 1)
    return running_mean + momentum * (mean - running_mean), running_var + momentum * (var - running_var)


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
