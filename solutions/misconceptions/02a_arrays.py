"""Plausible wrong answers to the exercises of chapter 02a, each with the hint that it earns."""

# %% exercise=2.1 hint="Strides are in bytes. You count numbers: multiply by itemsize."
def strides(n, m, itemsize, step):
    return [(m, 1), (1, m), (m, step), (-m, 1), (0, 1)]

# %% exercise=2.1 hint="To get to the next row you pass a whole row of m numbers, not a column of n."
-     row = m * itemsize
+     row = n * itemsize

# %% exercise=2.1 hint="A reversed axis is walked backwards: its stride is negative, and its first number is the last one in memory."
-     return [(row, itemsize), (itemsize, row), (row, step * itemsize), (-row, itemsize), (0, itemsize)]
+     return [(row, itemsize), (itemsize, row), (row, step * itemsize), (row, itemsize), (0, itemsize)]

# %% exercise=2.1 hint="An expanded row repeats without a copy: the step to its next repetition leads nowhere, so that stride is 0."
-     return [(row, itemsize), (itemsize, row), (row, step * itemsize), (-row, itemsize), (0, itemsize)]
+     return [(row, itemsize), (itemsize, row), (row, step * itemsize), (-row, itemsize), (row, itemsize)]

# %% exercise=2.1 hint="The last one repeats its row downwards: it is the step from row to row that leads nowhere. Along the row it is as before."
-     return [(row, itemsize), (itemsize, row), (row, step * itemsize), (-row, itemsize), (0, itemsize)]
+     return [(row, itemsize), (itemsize, row), (row, step * itemsize), (-row, itemsize), (row, 0)]

# %% exercise=2.1 hint="x[:, ::step] leaves numbers out, so it is further from one to the next: multiply by the step."
-     return [(row, itemsize), (itemsize, row), (row, step * itemsize), (-row, itemsize), (0, itemsize)]
+     return [(row, itemsize), (itemsize, row), (row, itemsize // step), (-row, itemsize), (0, itemsize)]

# %% exercise=2.1 hint="x[:, ::step] takes larger steps along a row. The rows themselves lie as far apart as before."
-     return [(row, itemsize), (itemsize, row), (row, step * itemsize), (-row, itemsize), (0, itemsize)]
+     return [(row, itemsize), (itemsize, row), (step * row, itemsize), (-row, itemsize), (0, itemsize)]

# %% exercise=2.1 hint="You make the array and ask it. Work the strides out: there are arrays for which no memory is large enough."
def strides(n, m, itemsize, step):
    x = np.zeros((n, m), f"V{itemsize}")
    return [v.strides for v in (x, x.T, x[:, ::step], x[::-1], np.broadcast_to(x[0], (n, m)))]

# %% exercise=2.1 hint="The row stride of x[:, ::step] is that of x: the memory has not moved, and the next row is still m numbers away."
-     return [(row, itemsize), (itemsize, row), (row, step * itemsize), (-row, itemsize), (0, itemsize)]
+     far = -(-m // step) * step * itemsize
+     return [(row, itemsize), (itemsize, row), (far, step * itemsize), (-row, itemsize), (0, itemsize)]

# %% exercise=2.2 hint="A larger divisor makes the quotient smaller: the gradient of y has a minus sign."
class Div(Function):
    def forward(self, x, y):
        self.saved = x, y
        return x / y

    def backward(self, grad):
        x, y = self.saved
        return grad / y, grad * x / (y * y)

# %% exercise=2.2 hint="The gradient of y has y squared below: the derivative of 1 / y is -1 / y**2."
class Div(Function):
    def forward(self, x, y):
        self.saved = x, y
        return x / y

    def backward(self, grad):
        x, y = self.saved
        return grad / y, -grad * x / y

# %% exercise=2.2 hint="These are the gradients of a product. The quotient x / y grows with x by 1 / y."
class Div(Function):
    def forward(self, x, y):
        self.saved = x, y
        return x / y

    def backward(self, grad):
        x, y = self.saved
        return grad * y, grad * x

# %% exercise=2.2 hint="You forgot the chain rule: each derivative is multiplied by the gradient that comes in."
class Div(Function):
    def forward(self, x, y):
        self.saved = x, y
        return x / y

    def backward(self, grad):
        x, y = self.saved
        return 1 / y + 0 * grad, -x / (y * y)

# %% exercise=2.2 hint="You forgot the chain rule: each derivative is multiplied by the gradient that comes in."
class Div(Function):
    def forward(self, x, y):
        self.saved = x, y
        return x / y

    def backward(self, grad):
        x, y = self.saved
        return 1 / y, -x / y**2

# %% exercise=2.2 hint="You computed in float64. A float32 operation makes float32 results: no array of another dtype may take part."
class Div(Function):
    def forward(self, x, y):
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        self.saved = x, y
        return x / y

    def backward(self, grad):
        x, y = self.saved
        return grad / y, -grad * x / (y * y)

# %% exercise=2.2 hint="backward unpacks self.saved, but forward has left nothing there."
class Div(Function):
    def forward(self, x, y):
        return x / y

    def backward(self, grad):
        x, y = self.saved
        return grad / y, -grad * x / (y * y)

# %% exercise=2.2 hint="There are two inputs, so backward returns two gradients: that of x, and that of y."
class Div(Function):
    def forward(self, x, y):
        self.saved = x, y
        return x / y

    def backward(self, grad):
        x, y = self.saved
        return grad / y

# %% exercise=2.2 hint="The gradient of x is right. That of y lacks the chain rule: it, too, is multiplied by the gradient that comes in."
class Div(Function):
    def forward(self, x, y):
        self.saved = x, y
        return x / y

    def backward(self, grad):
        x, y = self.saved
        return grad / y, -x / (y * y) + 0 * grad

# %% exercise=2.3 hint="This is still the given code: it sums the last axes away, but the axes that broadcasting adds stand in front."
-         grad = grad.sum(axis=0)
+         grad = grad.sum(axis=-1)

# %% exercise=2.3 hint="Broadcasting may have added more than one axis. Sum until there are as many as before."
-     while grad.ndim > len(shape):
+     if grad.ndim > len(shape):

# %% exercise=2.3 hint="Shares add up. You took their mean."
-         grad = grad.sum(axis=0)
+         grad = grad.mean(axis=0)

-             grad = grad.sum(axis=axis, keepdims=True)
+             grad = grad.mean(axis=axis, keepdims=True)

# %% exercise=2.3 hint="An axis of length 1 is summed, but it stays: the second loop was right with keepdims=True."
def unbroadcast(grad, shape):
    while grad.ndim > len(shape):
        grad = grad.sum(axis=0)
    return grad.sum(axis=tuple(axis for axis, length in enumerate(shape) if length == 1))

# %% exercise=2.3 hint="This calls the engine's sum_to, which is finished. The exercise is to mend the function below: change its one wrong line."
def unbroadcast(grad, shape):
    return sum_to(grad, shape)

# %% exercise=2.3 hint="Of the axes that the shape does not have, the next one is always the first: axis=0. What is left over stands at the end."
-         grad = grad.sum(axis=0)
+         grad = grad.sum(axis=1)

# %% exercise=2.3 hint="Of the axes that the shape does not have, the next one is always the first: axis=0. What is left over stands at the end."
-         grad = grad.sum(axis=0)
+         grad = grad.sum(axis=grad.ndim - 2)

# %% exercise=2.4 hint="Both operands got the whole gradient. Each should have it only where it was chosen, and 0 elsewhere."
class Where(Function):
    def forward(self, condition, x, y):
        self.saved = (condition,)
        return np.where(condition, x, y)

    def backward(self, grad):
        return None, grad, grad

# %% exercise=2.4 hint="Your gradients are swapped: x is chosen where the condition holds."
-         return self.xp.where(condition, x, y)
+         return np.where(condition, x, y)

-         zero = grad.dtype.type(0)
-         return None, self.xp.where(condition, grad, zero), self.xp.where(condition, zero, grad)
+         return None, np.where(condition, 0, grad), np.where(condition, grad, 0)

# %% exercise=2.4 hint="There are three inputs, so backward returns three things. The first, for the condition, is None."
-         return self.xp.where(condition, x, y)
+         return np.where(condition, x, y)

-         zero = grad.dtype.type(0)
-         return None, self.xp.where(condition, grad, zero), self.xp.where(condition, zero, grad)
+         return np.where(condition, grad, 0), np.where(condition, 0, grad)

# %% exercise=2.4 hint="You choose by multiplying with 0 and 1. But 0 times infinity is nan: what is not chosen leaks. np.where copies and does not compute."
-         return self.xp.where(condition, x, y)
+         return condition * x + ~condition * y

-         zero = grad.dtype.type(0)
-         return None, self.xp.where(condition, grad, zero), self.xp.where(condition, zero, grad)
+         return None, grad * condition, grad * ~condition

# %% exercise=2.4 hint="np.where with a number instead of y: the other operand is missing from the result."
-         return self.xp.where(condition, x, y)
+         return np.where(condition, x, 0 * y)

-         zero = grad.dtype.type(0)
-         return None, self.xp.where(condition, grad, zero), self.xp.where(condition, zero, grad)
+         return None, np.where(condition, grad, 0), np.where(condition, 0, grad)

# %% exercise=2.4 hint="saved is a tuple of arrays, even of one: self.saved = (condition,), with the comma."
class Where(Function):
    def forward(self, condition, x, y):
        self.saved = condition
        return np.where(condition, x, y)

    def backward(self, grad):
        condition = self.saved
        return None, np.where(condition, grad, 0), np.where(condition, 0, grad)

# %% exercise=2.4 hint="grad[condition] leaves out what was not chosen, and its shape is lost. Each gradient has the shape of the result, with 0 in those places."
-         return self.xp.where(condition, x, y)
+         return np.where(condition, x, y)

-         zero = grad.dtype.type(0)
-         return None, self.xp.where(condition, grad, zero), self.xp.where(condition, zero, grad)
+         return None, grad[condition], grad[~condition]

# %% exercise=2.4 hint="A boolean mask in brackets needs an array of the mask's own shape, so yours works only where condition, x and y have one shape. Who makes one shape of three?"
-         return self.xp.where(condition, x, y)
+         out = y.copy()
+         out[condition] = x[condition]
+         return out

# %% exercise=2.5 hint="With ties each winner got the whole gradient. They share it: divide by the number of winners along the same axes."
-         reduce = x.max if self.largest else x.min
-         y = reduce(axis=axes(self.dim, x.ndim), keepdims=self.keepdim)
+         y = (x.max if self.largest else x.min)(axis=axes(self.dim, x.ndim), keepdims=self.keepdim)

-         winners = x == self.keep(y)  # all that are as large as the largest
-         count = winners.sum(axis=axes(self.dim, x.ndim), dtype=grad.dtype, keepdims=True)
-         return winners * (self.keep(grad) / count)  # shared evenly, as in PyTorch's amax
+         return (x == self.keep(y)) * self.keep(grad)

# %% exercise=2.5 hint="saved is a tuple of arrays, even of one: self.saved = (winners,), with the comma."
-         self.saved = x, y
+         self.saved = x == self.keep(y)

-         x, y = self.saved
-         winners = x == self.keep(y)  # all that are as large as the largest
+         winners = self.saved

# %% exercise=2.5 hint="You divide by the number of winners in the whole array. Count them along the reduced axes, and keep those axes."
-         reduce = x.max if self.largest else x.min
-         y = reduce(axis=axes(self.dim, x.ndim), keepdims=self.keepdim)
+         y = (x.max if self.largest else x.min)(axis=axes(self.dim, x.ndim), keepdims=self.keepdim)

-         count = winners.sum(axis=axes(self.dim, x.ndim), dtype=grad.dtype, keepdims=True)
-         return winners * (self.keep(grad) / count)  # shared evenly, as in PyTorch's amax
+         return winners * (self.keep(grad) / grad.dtype.type(winners.sum()))

# %% exercise=2.5 hint="The reduced axes are gone from the result and its gradient. Without self.keep they broadcast against the wrong axes of x, or not at all."
-         reduce = x.max if self.largest else x.min
-         y = reduce(axis=axes(self.dim, x.ndim), keepdims=self.keepdim)
+         y = (x.max if self.largest else x.min)(axis=axes(self.dim, x.ndim), keepdims=self.keepdim)

-         winners = x == self.keep(y)  # all that are as large as the largest
+         winners = x == y
          count = winners.sum(axis=axes(self.dim, x.ndim), dtype=grad.dtype, keepdims=True)
-         return winners * (self.keep(grad) / count)  # shared evenly, as in PyTorch's amax
+         return winners * (grad / count)

# %% exercise=2.5 hint="You always take the largest. With self.largest False it should be the smallest."
-         reduce = x.max if self.largest else x.min
-         y = reduce(axis=axes(self.dim, x.ndim), keepdims=self.keepdim)
+         y = x.max(axis=axes(self.dim, x.ndim), keepdims=self.keepdim)

# %% exercise=2.5 hint="The result loses its axes even where keepdim asks for them: pass keepdims=self.keepdim to NumPy."
-         reduce = x.max if self.largest else x.min
-         y = reduce(axis=axes(self.dim, x.ndim), keepdims=self.keepdim)
+         y = (x.max if self.largest else x.min)(axis=axes(self.dim, x.ndim))

# %% exercise=2.6 hint="Backward permutes by dims once more. That undoes an exchange of two axes; to undo a turn of three you need the inverse order."
-         inverse = sorted(range(len(self.dims)), key=self.dims.__getitem__)  # an argsort undoes a permutation
-         return grad.transpose(inverse)
+         return grad.transpose(self.dims)

# %% exercise=2.6 hint="You have the two directions swapped: axis i of the result is axis dims[i] of the input."
-         return x.transpose(self.dims)
+         return x.transpose(sorted(range(len(self.dims)), key=self.dims.__getitem__))

-         inverse = sorted(range(len(self.dims)), key=self.dims.__getitem__)  # an argsort undoes a permutation
-         return grad.transpose(inverse)
+         return grad.transpose(self.dims)

# %% exercise=2.6 hint="Reshape gives the right shape and leaves the numbers in the order of memory. Permuting changes which number stands where: use transpose."
-         return x.transpose(self.dims)
+         return x.reshape([x.shape[d] for d in self.dims])

-         inverse = sorted(range(len(self.dims)), key=self.dims.__getitem__)  # an argsort undoes a permutation
-         return grad.transpose(inverse)
+         return grad.reshape(self.inputs[0].shape)

# %% exercise=2.6 hint="You reverse the order of the axes for the way back. The inverse of (1, 2, 0) is (2, 0, 1): for each axis its place in dims."
-         inverse = sorted(range(len(self.dims)), key=self.dims.__getitem__)  # an argsort undoes a permutation
-         return grad.transpose(inverse)
+         return grad.transpose(self.dims[::-1])

# %% exercise=2.6 hint="You copied the numbers. A permutation is a view: transpose alone moves nothing."
-         return x.transpose(self.dims)
+         return x.transpose(self.dims).copy()

-         inverse = sorted(range(len(self.dims)), key=self.dims.__getitem__)  # an argsort undoes a permutation
-         return grad.transpose(inverse)
+         return grad.transpose(np.argsort(self.dims).astype(int))

# %% exercise=2.6 hint="You hand the gradient on in the new order. It has to go back to the old one: permute by the inverse of dims."
-         inverse = sorted(range(len(self.dims)), key=self.dims.__getitem__)  # an argsort undoes a permutation
-         return grad.transpose(inverse)
+         return grad

# %% exercise=2.6 hint="`.T` reverses all axes, whatever dims says. Pass the order to transpose."
-         return x.transpose(self.dims)
+         return x.T

-         inverse = sorted(range(len(self.dims)), key=self.dims.__getitem__)  # an argsort undoes a permutation
-         return grad.transpose(inverse)
+         return grad.T

# %% exercise=2.7 hint="You cut into equal parts. The inputs may have different lengths; self.inputs[i].shape knows them."
-         return self.xp.concatenate(arrays, self.dim)
+         return np.concatenate(arrays, self.dim)

-         ends = list(itertools.accumulate(node.shape[self.dim] for node in self.inputs))
-         return tuple(self.xp.split(grad, ends[:-1], self.dim))
+         return tuple(np.array_split(grad, len(self.inputs), self.dim))

# %% exercise=2.7 hint="np.split wants the places where it cuts, counted from the start: the running sums of the lengths, not the lengths."
-         return self.xp.concatenate(arrays, self.dim)
+         return np.concatenate(arrays, self.dim)

-         ends = list(itertools.accumulate(node.shape[self.dim] for node in self.inputs))
-         return tuple(self.xp.split(grad, ends[:-1], self.dim))
+         return tuple(np.split(grad, [node.shape[self.dim] for node in self.inputs][:-1], self.dim))

# %% exercise=2.7 hint="np.split wants the places where it cuts, counted from the start: the running sums of the lengths, not the lengths."
-         ends = list(itertools.accumulate(node.shape[self.dim] for node in self.inputs))
-         return tuple(self.xp.split(grad, ends[:-1], self.dim))
+         return tuple(np.split(grad, [node.shape[self.dim] for node in self.inputs], self.dim))

# %% exercise=2.7 hint="You always work along axis 0. Pass self.dim to concatenate and to split."
-         return self.xp.concatenate(arrays, self.dim)
+         return np.concatenate(arrays)

-         ends = list(itertools.accumulate(node.shape[self.dim] for node in self.inputs))
-         return tuple(self.xp.split(grad, ends[:-1], self.dim))
+         places = np.cumsum([node.shape[0] for node in self.inputs])[:-1]
+         return tuple(np.split(grad, places))

# %% exercise=2.7 hint="You join along self.dim and cut along axis 0: the pieces are cut along self.dim, too."
-         return self.xp.concatenate(arrays, self.dim)
+         return np.concatenate(arrays, self.dim)

-         ends = list(itertools.accumulate(node.shape[self.dim] for node in self.inputs))
-         return tuple(self.xp.split(grad, ends[:-1], self.dim))
+         pieces, start = [], 0
+         for node in self.inputs:
+             pieces.append(grad[start : start + node.shape[self.dim]])
+             start += node.shape[self.dim]
+         return tuple(pieces)

# %% exercise=2.7 hint="The pieces come in the wrong order: one gradient for each input, the first input first."
-         return self.xp.concatenate(arrays, self.dim)
+         return np.concatenate(arrays, self.dim)

-         ends = list(itertools.accumulate(node.shape[self.dim] for node in self.inputs))
-         return tuple(self.xp.split(grad, ends[:-1], self.dim))
+         lengths = [node.shape[self.dim] for node in self.inputs][::-1]
+         return tuple(np.split(grad, np.cumsum(lengths)[:-1], self.dim))

# %% exercise=2.7 hint="np.split returns a list. backward returns a tuple, one piece for each input: tuple(...) around it."
-         return self.xp.concatenate(arrays, self.dim)
+         return np.concatenate(arrays, self.dim)

-         ends = list(itertools.accumulate(node.shape[self.dim] for node in self.inputs))
-         return tuple(self.xp.split(grad, ends[:-1], self.dim))
+         places = np.cumsum([node.shape[self.dim] for node in self.inputs])[:-1]
+         return np.split(grad, places, self.dim)

# %% exercise=2.7 hint="One piece too many: you cut at the end as well, and get an empty rest. Leave out the last of the running sums."
-         return self.xp.concatenate(arrays, self.dim)
+         return np.concatenate(arrays, self.dim)

-         ends = list(itertools.accumulate(node.shape[self.dim] for node in self.inputs))
-         return tuple(self.xp.split(grad, ends[:-1], self.dim))
+         places = np.cumsum([node.shape[self.dim] for node in self.inputs])
+         return tuple(np.split(grad, places, self.dim))

# %% exercise=2.8 hint="You keep eight bytes of each number (four in float32). Backward needs to know one thing of each: was it above 0?"
class LeakyReLU(Function):
    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        self.saved = (x,)
        return np.where(x > 0, x, self.slope * x)

    def backward(self, grad):
        (x,) = self.saved
        return np.where(x > 0, grad, self.slope * grad)

# %% exercise=2.8 hint="np.unpackbits gives back whole bytes, in one row. Tell it with `count=` how many bits there are, and give them the shape of grad."
-         positive = np.unpackbits(bits, count=grad.size).reshape(grad.shape).view(bool)
+         positive = np.unpackbits(bits)

# %% exercise=2.8 hint="The slope below 0 is missing from your gradient: what is let through forward lets its gradient through as well."
class LeakyReLU(Function):
    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        self.saved = (x > 0,)
        return np.where(x > 0, x, self.slope * x)

    def backward(self, grad):
        (positive,) = self.saved
        return grad * positive

# %% exercise=2.8 hint="At 0 the slope should be that of the negative side. You compare with >=."
class LeakyReLU(Function):
    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        self.saved = (np.packbits(x >= 0),)
        return np.where(x >= 0, x, self.slope * x)

    def backward(self, grad):
        positive = np.unpackbits(self.saved[0], count=grad.size).reshape(grad.shape)
        return np.where(positive, grad, self.slope * grad)

# %% exercise=2.8 hint="You keep a byte of each number. np.packbits puts eight booleans into one byte: that is the stretch."
class LeakyReLU(Function):
    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        self.saved = (x > 0,)
        return np.where(x > 0, x, self.slope * x)

    def backward(self, grad):
        (positive,) = self.saved
        return np.where(positive, grad, self.slope * grad)

# %% exercise=2.8 hint="saved is a tuple of arrays, even of one: self.saved = (positive,), with the comma."
class LeakyReLU(Function):
    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        self.saved = x > 0
        return np.where(x > 0, x, self.slope * x)

    def backward(self, grad):
        return np.where(self.saved, grad, self.slope * grad)

# %% exercise=2.8 hint="Your slopes are float64 numbers: they take eight bytes each and turn a float32 gradient into float64."
class LeakyReLU(Function):
    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        self.saved = (np.where(x > 0, 1.0, self.slope),)
        return x * self.saved[0]

    def backward(self, grad):
        return grad * self.saved[0]

# %% exercise=2.8 hint="Backward uses what forward keeps outside of self.saved, as an attribute of its own. All of it belongs in saved: there it is counted, and freed."
class LeakyReLU(Function):
    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        self.positive = x > 0
        return np.where(self.positive, x, self.slope * x)

    def backward(self, grad):
        return np.where(self.positive, grad, self.slope * grad)

# %% exercise=2.8 hint="Backward looks at self.inputs, so all of x must be kept. Save what backward needs of it in self.saved: a bit for each number will do."
class LeakyReLU(Function):
    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        return np.where(x > 0, x, self.slope * x)

    def backward(self, grad):
        return np.where(self.inputs[0].data > 0, grad, self.slope * grad)

# %% exercise=2.8 hint="saved is a tuple of arrays, even of one: self.saved = (bits,), with the comma."
class LeakyReLU(Function):
    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        self.saved = np.packbits(x > 0)
        return np.where(x > 0, x, self.slope * x)

    def backward(self, grad):
        positive = np.unpackbits(self.saved, count=grad.size).reshape(grad.shape)
        return np.where(positive, grad, self.slope * grad)

# %% exercise=2.8 hint="np.unpackbits gives whole bytes, so up to seven bits too many: tell it count=grad.size."
class LeakyReLU(Function):
    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        self.saved = (np.packbits(x > 0),)
        return np.where(x > 0, x, self.slope * x)

    def backward(self, grad):
        positive = np.unpackbits(self.saved[0]).reshape(grad.shape)
        return np.where(positive, grad, self.slope * grad)

# %% exercise=2.8 hint="The larger of x and slope * x is right for slopes up to 1 only. Choose by the sign of x."
class LeakyReLU(Function):
    def __init__(self, slope):
        self.slope = slope

    def forward(self, x):
        self.saved = (np.packbits(x > 0),)
        return np.maximum(x, self.slope * x)

    def backward(self, grad):
        positive = np.unpackbits(self.saved[0], count=grad.size).reshape(grad.shape)
        return np.where(positive, grad, self.slope * grad)

# %% exercise=2.9 hint="The gradient of a number that is in several windows is a sum. `=` keeps the share of one of them."
-         (step,) = x.strides
          shape = (len(x) - self.size + 1, self.size)
-         return np.lib.stride_tricks.as_strided(x, shape, (step, step))
+         return np.lib.stride_tricks.as_strided(x, shape, x.strides * 2)

-         return add_at(self.inputs[0].shape, self.forward, grad)
+         out = np.zeros(self.inputs[0].shape)
+         for i, row in enumerate(grad):
+             out[i : i + self.size] = row
+         return out

# %% exercise=2.9 hint="Your strides are right for an x without gaps only. If x is itself a view, its numbers lie x.strides[0] bytes apart."
-         (step,) = x.strides
          shape = (len(x) - self.size + 1, self.size)
-         return np.lib.stride_tricks.as_strided(x, shape, (step, step))
+         return np.lib.stride_tricks.as_strided(x, shape, (x.itemsize, x.itemsize))

-         return add_at(self.inputs[0].shape, self.forward, grad)
+         out = np.zeros(self.inputs[0].shape)
+         for i, row in enumerate(grad):
+             out[i : i + self.size] += row
+         return out

# %% exercise=2.9 hint="Strides count bytes, and yours count numbers: a step of 1 is one byte, in the middle of a number. x.strides says how many bytes lie between two."
-         (step,) = x.strides
          shape = (len(x) - self.size + 1, self.size)
-         return np.lib.stride_tricks.as_strided(x, shape, (step, step))
+         return np.lib.stride_tricks.as_strided(x, shape, (1, 1))

-         return add_at(self.inputs[0].shape, self.forward, grad)
+         out = np.zeros(self.inputs[0].shape)
+         for i, row in enumerate(grad):
+             out[i : i + self.size] += row
+         return out

# %% exercise=2.9 hint="You copied the numbers. as_strided makes the same table as a view, without memory of its own."
-         (step,) = x.strides
-         shape = (len(x) - self.size + 1, self.size)
-         return np.lib.stride_tricks.as_strided(x, shape, (step, step))
+         return np.stack([x[i : i + self.size] for i in range(len(x) - self.size + 1)])

# %% exercise=2.9 hint="The next window starts one number later, not one window later: both strides are the same."
-         shape = (len(x) - self.size + 1, self.size)
-         return np.lib.stride_tricks.as_strided(x, shape, (step, step))
+         return np.lib.stride_tricks.as_strided(x, (len(x) // self.size, self.size), (self.size * step, step))

# %% exercise=2.9 hint="grad has a row for each window, and the gradient has the shape of x: add up what each number got from its windows."
-         (step,) = x.strides
          shape = (len(x) - self.size + 1, self.size)
-         return np.lib.stride_tricks.as_strided(x, shape, (step, step))
+         return np.lib.stride_tricks.as_strided(x, shape, x.strides * 2)

-         return add_at(self.inputs[0].shape, self.forward, grad)
+         return grad

# %% exercise=2.9 hint="One window is missing: the last begins at n - size, so there are n - size + 1."
-         (step,) = x.strides
-         shape = (len(x) - self.size + 1, self.size)
-         return np.lib.stride_tricks.as_strided(x, shape, (step, step))
+         return np.lib.stride_tricks.as_strided(x, (len(x) - self.size, self.size), x.strides * 2)

# %% exercise=2.7 hint="Not all arrays are as long as the first: cut where each of them ends, which is the sum of the lengths until there."
-         ends = list(itertools.accumulate(node.shape[self.dim] for node in self.inputs))
+         ends = [k * self.inputs[0].shape[self.dim] for k in range(1, len(self.inputs) + 1)]

# %% exercise=2.9 hint="Neighbours in x need not be neighbours in memory: x may be a view itself. Within a row, too, one step is x's own stride."
-         return np.lib.stride_tricks.as_strided(x, shape, (step, step))
+         return np.lib.stride_tricks.as_strided(x, shape, (step, x.itemsize))

# %% exercise=2.8 hint="You write the result into x itself: `out = x` is another name, no other array. Whoever else reads x finds it changed."
class LeakyReLU(Function):
    """x where x > 0, slope * x elsewhere."""

    def __init__(self, slope: float) -> None:
        self.slope = slope

    def forward(self, x: Array) -> Array:
        positive = x > 0
        self.saved = (np.packbits(positive),)
        out = x
        out[~positive] *= self.slope
        return out

    def backward(self, grad: Array) -> Array:
        (bits,) = self.saved
        positive = np.unpackbits(bits, count=grad.size).view(bool).reshape(grad.shape)
        return np.where(positive, grad, grad * self.slope)

# %% exercise=2.5 hint="You divide within the array that came in: self.keep makes no copy. Whoever else holds that gradient finds it changed, and one that is only expanded cannot be written to."
-         return winners * (self.keep(grad) / count)  # shared evenly, as in PyTorch's amax
+         grad = self.keep(grad)
+         grad /= count
+         return winners * grad

# %% exercise=2.7 hint="A new array that is told no dtype is one of float64, whatever is written into it: float32 comes out twice as wide."
-         return self.xp.concatenate(arrays, self.dim)
+         shape = list(arrays[0].shape)
+         shape[self.dim] = sum(array.shape[self.dim] for array in arrays)
+         joined, start = np.empty(shape), 0
+         for array in arrays:
+             np.moveaxis(joined, self.dim, 0)[start : start + array.shape[self.dim]] = np.moveaxis(array, self.dim, 0)
+             start += array.shape[self.dim]
+         return joined
