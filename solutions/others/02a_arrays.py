"""Second right answers to the exercises of chapter 02a, by another way than the reference's: each earns all points."""

# %% exercise=2.1
def strides(n, m, itemsize, step):
    def of(down, right):
        return np.int64(down) * itemsize, np.int64(right) * itemsize

    return [of(m, 1), of(1, m), of(m, step), of(-m, 1), of(0, 1)]


# %% exercise=2.2
class Div(Function):
    def forward(self, x, y):
        self.saved = x, y
        return np.divide(x, y)

    def backward(self, grad):
        x, y = self.saved
        reciprocal = 1 / y
        return grad * reciprocal, -grad * x * reciprocal * reciprocal


# %% exercise=2.3
def unbroadcast(grad, shape):
    padded = (1,) * (grad.ndim - len(shape)) + tuple(shape)
    summed = tuple(axis for axis, n in enumerate(padded) if n == 1)
    return grad.sum(axis=summed, keepdims=True).reshape(shape)


# %% exercise=2.4
class Where(Function):
    def forward(self, condition, x, y):
        self.saved = (condition,)
        out = np.array(np.broadcast_arrays(x, condition, y)[2])
        np.copyto(out, x, where=condition)
        return out

    def backward(self, grad):
        (condition,) = self.saved
        return None, grad * condition, grad * ~condition


# %% exercise=2.5
class Extreme(Reduction):
    def __init__(self, largest, dim=None, keepdim=False):
        super().__init__(dim, keepdim)
        self.largest = largest

    def forward(self, x):
        dims = axes(self.dim, x.ndim)
        y = (np.max if self.largest else np.min)(x, axis=dims, keepdims=True)
        winners = x == y
        self.saved = (winners / winners.sum(axis=dims, keepdims=True),)
        return y if self.keepdim else y.squeeze(dims)

    def backward(self, grad):
        return self.saved[0] * self.keep(grad)


# %% exercise=2.6
class Permute(Function):
    view = True

    def __init__(self, dims):
        self.dims = dims

    def forward(self, x):
        return np.moveaxis(x, self.dims, range(x.ndim))

    def backward(self, grad):
        return np.moveaxis(grad, range(grad.ndim), self.dims)


# %% exercise=2.7
class Cat(Function):
    def __init__(self, dim):
        self.dim = dim

    def forward(self, *arrays):
        return np.concatenate(arrays, axis=self.dim)

    def backward(self, grad):
        pieces, start = [], 0
        for node in self.inputs:
            end = start + node.shape[self.dim]
            pieces.append(grad.take(range(start, end), self.dim))
            start = end
        return tuple(pieces)


# %% exercise=2.8
class LeakyReLU(Function):
    """Notes the shape that it met, as one does in PyTorch."""

    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        self.before, self.count = x.shape, x.size
        self.saved = (np.frombuffer(np.packbits(x > 0).tobytes(), np.int8),)
        return np.maximum(x, 0) + self.slope * np.minimum(x, 0)

    def backward(self, grad):
        bits = np.unpackbits(self.saved[0].view(np.uint8), count=self.count).reshape(self.before)
        return grad * bits + self.slope * grad * (1 - bits)


# %% exercise=2.9
class Windows(Function):
    view = True

    def __init__(self, size):
        self.size = size

    def forward(self, x):
        return np.lib.stride_tricks.sliding_window_view(x, self.size)

    def backward(self, grad):
        out = np.zeros(self.inputs[0].shape, grad.dtype)
        for k in range(self.size):
            out[k : k + len(grad)] += grad[:, k]
        return out
