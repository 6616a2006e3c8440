"""Plausible wrong answers to the exercises of chapter 03a, each with the hint that it earns."""

# %% exercise=3.2 hint="exp of a large score is infinite. Subtract the largest number of the row first, and add it after the logarithm."
def logsumexp(input, dim, keepdim=False):
    return input.exp().sum(dim, keepdim=keepdim).log()

# %% exercise=3.2 hint="You took the largest number out and did not put it back: add it after the logarithm."
-     with np.errstate(divide="ignore"):  # of nothing but -inf the sum is 0, whose logarithm is -inf
-         out = (input - top).exp().sum(dim, keepdim=True).log() + top
+     out = (input - top).exp().sum(dim, keepdim=True).log()

# %% exercise=3.2 hint="A row whose largest number is infinite gives nan: inf - inf. Take 0 out of such a row instead."
def logsumexp(input, dim, keepdim=False):
    top = input.amax(dim, keepdim=True).detach()  # a shift changes nothing, so no gradient through it
    out = (input - top).exp().sum(dim, keepdim=True).log() + top
    return out if keepdim else out.squeeze(dim)

# %% exercise=3.2 hint="You subtract the largest number of the whole array. A row that is far below it underflows to log(0): take each row's own."
def logsumexp(input, dim, keepdim=False):
    top = input.amax().detach()
    top = where(abs(top) < math.inf, top, 0.0)  # inf - inf would be nan
    return (input - top).exp().sum(dim, keepdim=keepdim).log() + top

# %% exercise=3.2 hint="The sum has lost its axis and the largest number has kept its own, so the two broadcast against each other. Keep the axis in both, and take it away at the end."
def logsumexp(input, dim, keepdim=False):
    top = input.amax(dim, keepdim=True)
    return (input - top).exp().sum(dim, keepdim=keepdim).log() + top

# %% exercise=3.2 hint="The sum has lost its axis and the largest number has kept its own, so the two broadcast against each other. Keep the axis in both, and take it away at the end."
def logsumexp(input, dim, keepdim=False):
    top = input.amax(dim, keepdim=True).detach()
    return (input - top).exp().sum(dim, keepdim=keepdim).log() + top

# %% exercise=3.2 hint="The sum has lost its axis and the largest number has kept its own, so the two broadcast against each other. Keep the axis in both, and take it away at the end."
def logsumexp(input, dim, keepdim=False):
    top = input.amax(dim, keepdim=True).detach()
    top = where(abs(top) < math.inf, top, 0.0)
    return (input - top).exp().sum(dim, keepdim=keepdim).log() + top

# %% exercise=3.2 hint="Subtract the largest number while it still has its axis: `keepdim=True` in amax, whatever the caller wants. Only the result loses it."
def logsumexp(input, dim, keepdim=False):
    top = input.amax(dim, keepdim=keepdim).detach()
    top = where(abs(top) < math.inf, top, 0.0)
    return (input - top).exp().sum(dim, keepdim=keepdim).log() + top

# %% exercise=3.2 hint="That is the logarithm of the mean of the exponentials; here it is their sum."
-     with np.errstate(divide="ignore"):  # of nothing but -inf the sum is 0, whose logarithm is -inf
-         out = (input - top).exp().sum(dim, keepdim=True).log() + top
+     out = (input - top).exp().mean(dim, keepdim=True).log() + top

# %% exercise=3.2 hint="squeeze() takes away every axis of length 1, also one that was there before. Tell it which."
def logsumexp(input, dim, keepdim=False):
    top = input.amax(dim, keepdim=True).detach()  # a shift changes nothing, so no gradient through it
    top = where(abs(top) < math.inf, top, 0.0)  # inf - inf would be nan
    out = (input - top).exp().sum(dim, keepdim=True).log() + top
    return out if keepdim else out.squeeze()

# %% exercise=3.3 hint="You treat each output as if it came from its own score alone. Raising one score lowers all the others' shares: subtract the row's sum of grad * y."
def softmax_backward(grad, y, out):
    out[:] = grad * y * (1 - y)

# %% exercise=3.3 hint="The sum that you subtract is that of grad alone. Weigh it by y: the sum of grad * y."
-     array_module(y).subtract(grad, row_dot(grad, y), out=out)  # (n, C) - (n, 1)
+     np.subtract(grad, row_sum(grad), out=out)

# %% exercise=3.3 hint="You left out the last factor: the difference is multiplied by y."
def softmax_backward(grad, y, out):
    np.subtract(grad, row_dot(grad, y), out=out)

# %% exercise=3.3 hint="The sum runs over each row, not over all the rows you were given: keep it as a column."
-     array_module(y).subtract(grad, row_dot(grad, y), out=out)  # (n, C) - (n, 1)
+     np.subtract(grad, (grad * y).sum(), out=out)

# %% exercise=3.3 hint="Your sum has lost its axis: a number for each row has to stand beside its row, as a column. `row_dot` keeps it."
-     array_module(y).subtract(grad, row_dot(grad, y), out=out)  # (n, C) - (n, 1)
+     np.subtract(grad, (grad * y).sum(1), out=out)

# %% exercise=3.3 hint="out = ... gives the name to a new array and leaves the caller's as it was. Write into it: out[:] = ..."
def softmax_backward(grad, y, out):
    out = y * (grad - row_dot(grad, y))

# %% exercise=3.3 hint="Your sign is the other way round: the row's sum is taken from grad."
-     array_module(y).subtract(grad, row_dot(grad, y), out=out)  # (n, C) - (n, 1)
+     np.subtract(row_dot(grad, y), grad, out=out)

# %% exercise=3.3 hint="You add up down the columns. The sum runs along each row: it is the classes that share a probability of 1."
-     array_module(y).subtract(grad, row_dot(grad, y), out=out)  # (n, C) - (n, 1)
+     np.subtract(grad, (grad * y).sum(0), out=out)

# %% exercise=3.3 hint="You subtract the row's mean of grad * y. It is its sum: the probabilities y are weights already."
-     array_module(y).subtract(grad, row_dot(grad, y), out=out)  # (n, C) - (n, 1)
+     np.subtract(grad, (grad * y).mean(1, keepdims=True), out=out)

# %% exercise=3.3 hint="You write into grad, and it belongs to the caller, who may need it again. Only out is yours."
def softmax_backward(grad, y, out):
    grad -= row_dot(grad, y)
    out[:] = grad * y

# %% exercise=3.4 hint="For very negative x, 1 + e^x is rounded to 1, whose logarithm is 0. np.log1p(t) is ln(1 + t) without that rounding."
class Softplus(Function):
    def __init__(self, threshold=20.0):
        self.threshold = threshold

    def forward(self, x):
        self.saved = (x,)
        return np.where(x > self.threshold, x, np.maximum(x, 0) + np.log(1 + np.exp(-abs(x))))

    def backward(self, grad):
        (x,) = self.saved
        return grad * np.where(x > self.threshold, 1, logistic(x))

# %% exercise=3.4 hint="Above the threshold softplus is x itself, and its slope is 1. Your function does not look at it."
class Softplus(Function):
    def __init__(self, threshold=20.0):
        self.threshold = threshold

    def forward(self, x):
        self.saved = (x,)
        return np.maximum(x, 0) + np.log1p(np.exp(-abs(x)))

    def backward(self, grad):
        (x,) = self.saved
        return grad * logistic(x)

# %% exercise=3.4 hint="The slope of softplus is logistic(x). Yours is that of relu, 0 or 1."
class Softplus(Function):
    def __init__(self, threshold=20.0):
        self.threshold = threshold

    def forward(self, x):
        self.saved = (x,)
        return np.where(x > self.threshold, x, np.maximum(x, 0) + np.log1p(np.exp(-abs(x))))

    def backward(self, grad):
        (x,) = self.saved
        return grad * (x > 0)

# %% exercise=3.4 hint="backward returns the slope, but not times grad, the gradient that arrives: the chain rule multiplies."
class Softplus(Function):
    def __init__(self, threshold=20.0):
        self.threshold = threshold

    def forward(self, x):
        self.saved = (x,)
        return np.where(x > self.threshold, x, np.maximum(x, 0) + np.log1p(np.exp(-abs(x))))

    def backward(self, grad):
        (x,) = self.saved
        return np.where(x > self.threshold, 1, logistic(x))

# %% exercise=3.4 hint="Above the threshold yours is 1 whatever arrives. The slope is 1 there, and the gradient is grad times the slope: grad."
-             self.xp.multiply(grad, self.xp.where(x > self.threshold, 1, logistic(x)), out=out)
+             out[:] = self.xp.where(x > self.threshold, 1, grad * logistic(x))

# %% exercise=3.4 hint="exp(x) overflows for large x. Take max(x, 0) out first: ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|)."
class Softplus(Function):
    def __init__(self, threshold=20.0):
        self.threshold = threshold

    def forward(self, x):
        self.saved = (x,)
        return np.where(x > self.threshold, x, np.log(1 + np.exp(x)))

    def backward(self, grad):
        (x,) = self.saved
        return grad * np.where(x > self.threshold, 1, logistic(x))

# %% exercise=3.4 hint="exp(x) overflows for large x. Take max(x, 0) out first: ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|)."
class Softplus(Function):
    def __init__(self, threshold=20.0):
        self.threshold = threshold

    def forward(self, x):
        self.saved = (x,)
        return np.where(x > self.threshold, x, np.log1p(np.exp(x)))

    def backward(self, grad):
        (x,) = self.saved
        return grad * np.where(x > self.threshold, 1, logistic(x))

# %% exercise=3.4 hint="The slope overflows: e^x / (1 + e^x) is infinity over infinity for large x. logistic(x) is the same number without that."
class Softplus(Function):
    def __init__(self, threshold=20.0):
        self.threshold = threshold

    def forward(self, x):
        self.saved = (x,)
        return np.where(x > self.threshold, x, np.maximum(x, 0) + np.log1p(np.exp(-abs(x))))

    def backward(self, grad):
        (x,) = self.saved
        return grad * np.where(x > self.threshold, 1, np.exp(x) / (1 + np.exp(x)))

# %% exercise=3.4 hint="Forward looks at the threshold, backward does not: above it the slope is 1."
class Softplus(Function):
    def __init__(self, threshold=20.0):
        self.threshold = threshold

    def forward(self, x):
        self.saved = (x,)
        return np.where(x > self.threshold, x, np.maximum(x, 0) + np.log1p(np.exp(-abs(x))))

    def backward(self, grad):
        (x,) = self.saved
        return grad * logistic(x)

# %% exercise=3.4 hint="Your slope falls where it should rise: from 0 on the left to 1 on the right."
class Softplus(Function):
    def __init__(self, threshold=20.0):
        self.threshold = threshold

    def forward(self, x):
        self.saved = (x,)
        return np.where(x > self.threshold, x, np.maximum(x, 0) + np.log1p(np.exp(-abs(x))))

    def backward(self, grad):
        (x,) = self.saved
        return grad * np.where(x > self.threshold, 1, logistic(-x))

# %% exercise=3.4 hint="The slope is logistic(x), and you take it at the result. Save what backward needs: x."
class Softplus(Function):
    def __init__(self, threshold=20.0):
        self.threshold = threshold

    def forward(self, x):
        y = np.where(x > self.threshold, x, np.maximum(x, 0) + np.log1p(np.exp(-abs(x))))
        self.saved = (y,)
        return y

    def backward(self, grad):
        (y,) = self.saved
        return grad * np.where(y > self.threshold, 1, logistic(y))

# %% exercise=3.7 hint="In backward the weight comes first: what arrives at y is grad times the weight, and of that the part along y is taken away."
-             self.xp.multiply(grad, weight, out=dx)
+             dx[:] = grad

-             dx *= scale
+             dx *= scale * weight

# %% exercise=3.7 hint="You subtract the mean first, as layer norm does. RMS norm leaves it in: divide x itself by r."
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        centred = x - x.mean(1, keepdims=True)
        scale = 1 / np.sqrt((centred * centred).mean(1, keepdims=True) + self.eps)
        y = centred * scale
        self.saved = y, scale.astype(x.dtype), weight
        return y * weight

    def backward(self, grad):
        y, scale, weight = self.saved
        g = grad * weight
        return scale * (g - g.mean(1, keepdims=True) - y * (g * y).mean(1, keepdims=True)), (grad * y).sum(0)

# %% exercise=3.7 hint="You treat r as a constant in backward. It depends on x: take from the gradient its part along y, y mean(g y)."
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        scale = 1 / np.sqrt((x * x).mean(1, keepdims=True) + self.eps)
        y = x * scale
        self.saved = y, scale.astype(x.dtype), weight
        return y * weight

    def backward(self, grad):
        y, scale, weight = self.saved
        return grad * weight * scale, (grad * y).sum(0)

# %% exercise=3.7 hint="The gradient that arrives belongs to w y. Multiply it by the weight before you use it as the gradient of y."
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        scale = 1 / np.sqrt((x * x).mean(1, keepdims=True) + self.eps)
        y = x * scale
        self.saved = y, scale.astype(x.dtype), weight
        return y * weight

    def backward(self, grad):
        y, scale, weight = self.saved
        return scale * (grad - y * (grad * y).mean(1, keepdims=True)), (grad * y).sum(0)

# %% exercise=3.7 hint="eps belongs under the root, beside the mean of the squares: it keeps a row of zeros from being divided by 0."
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        scale = 1 / (np.sqrt((x * x).mean(1, keepdims=True)) + self.eps)
        y = x * scale
        self.saved = y, scale.astype(x.dtype), weight
        return y * weight

    def backward(self, grad):
        y, scale, weight = self.saved
        g = grad * weight
        return scale * (g - y * (g * y).mean(1, keepdims=True)), (grad * y).sum(0)

# %% exercise=3.7 hint="Your values are right, and you keep more than you need: y and one number for each row are enough, and x is not among them."
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        scale = (1 / np.sqrt((x * x).mean(1, keepdims=True) + self.eps)).astype(x.dtype)
        y = x * scale
        self.saved = x, y, scale, weight
        return y * weight

    def backward(self, grad):
        x, y, scale, weight = self.saved
        g = grad * weight
        return scale * (g - y * (g * y).mean(1, keepdims=True)), (grad * y).sum(0)

# %% exercise=3.7 hint="You do not use eps. It stands under the root, and keeps a row of zeros from being divided by 0."
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        scale = (1 / np.sqrt((x * x).mean(1, keepdims=True))).astype(x.dtype)
        y = x * scale
        self.saved = y, scale, weight
        return y * weight

    def backward(self, grad):
        y, scale, weight = self.saved
        g = grad * weight
        return scale * (g - y * (g * y).mean(1, keepdims=True)), (grad * y).sum(0)

# %% exercise=3.7 hint="r is the root of the mean of the squares; yours is that of their sum."
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        scale = (1 / np.sqrt((x * x).sum(1, keepdims=True) + self.eps)).astype(x.dtype)
        y = x * scale
        self.saved = y, scale, weight
        return y * weight

    def backward(self, grad):
        y, scale, weight = self.saved
        g = grad * weight
        return scale * (g - y * (g * y).mean(1, keepdims=True)), (grad * y).sum(0)

# %% exercise=3.7 hint="You subtract the mean first, as layer norm does. RMS norm leaves it in: divide x itself by r."
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        x = x - x.mean(1, keepdims=True)
        scale = (1 / np.sqrt((x * x).mean(1, keepdims=True) + self.eps)).astype(x.dtype)
        y = x * scale
        self.saved = y, scale, weight
        return y * weight

    def backward(self, grad):
        y, scale, weight = self.saved
        g = grad * weight
        return scale * (g - y * (g * y).mean(1, keepdims=True)), (grad * y).sum(0)

# %% exercise=3.7 hint="In backward you take away the sum of g y times y. It is the mean: y has a mean square of 1, not a sum of 1."
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        scale = (1 / np.sqrt((x * x).mean(1, keepdims=True) + self.eps)).astype(x.dtype)
        y = x * scale
        self.saved = y, scale, weight
        return y * weight

    def backward(self, grad):
        y, scale, weight = self.saved
        g = grad * weight
        return scale * (g - y * (g * y).sum(1, keepdims=True)), (grad * y).sum(0)

# %% exercise=3.7 hint="mean() without an axis is one number for the whole array. Each row has a mean of its own: a column, (n, 1)."
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        scale = 1 / np.sqrt(row_dot(x, x) / x.shape[1] + self.eps)
        y = x * scale
        self.saved = y, scale, weight
        return y * weight

    def backward(self, grad):
        y, scale, weight = self.saved
        g = grad * weight
        return (g - y * (g * y).mean()) * scale, (grad * y).sum(0)

# %% exercise=3.7 hint="The gradient of the weight is a sum over the rows, not a mean: each row adds to it."
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        scale = (1 / np.sqrt((x * x).mean(1, keepdims=True) + self.eps)).astype(x.dtype)
        y = x * scale
        self.saved = y, scale, weight
        return y * weight

    def backward(self, grad):
        y, scale, weight = self.saved
        g = grad * weight
        return scale * (g - y * (g * y).mean(1, keepdims=True)), (grad * y).mean(0)

# %% exercise=3.7 hint="The weight's gradient must not be multiplied by the weight: the derivative of w y by w is y."
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        scale = (1 / np.sqrt((x * x).mean(1, keepdims=True) + self.eps)).astype(x.dtype)
        y = x * scale
        self.saved = y, scale, weight
        return y * weight

    def backward(self, grad):
        y, scale, weight = self.saved
        g = grad * weight
        return scale * (g - y * (g * y).mean(1, keepdims=True)), (g * y).sum(0)

# %% exercise=3.7 hint="The gradient of x is divided by r. You saved 1 / r, and divide by that."
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        scale = (1 / np.sqrt((x * x).mean(1, keepdims=True) + self.eps)).astype(x.dtype)
        y = x * scale
        self.saved = y, scale, weight
        return y * weight

    def backward(self, grad):
        y, scale, weight = self.saved
        g = grad * weight
        return (g - y * (g * y).mean(1, keepdims=True)) / scale, (grad * y).sum(0)

# %% exercise=3.7 hint="Of the gradient that goes back through the weight, you take off the part along y: in that part the weight is missing, grad * weight times y."
-             dx -= y * (row_dot(dx, y) / weight.size)  # the part along y; no mean, since none was taken
+             dx -= y * (row_dot(grad, y) / weight.size)

# %% exercise=3.9 hint="When a larger number comes, the sum so far is still relative to the old one. Multiply it by exp(old - new)."
-             total = total * math.exp(top - largest) + float(np.exp(piece - largest).sum())
+             total = total + float(np.exp(piece - largest).sum())

# %% exercise=3.9 hint="You put the log-sum-exps of the pieces side by side and add them. A sum of exponentials has to be built up before the logarithm is taken."
def online_logsumexp(pieces):
    total = 0.0
    for piece in pieces:
        largest = piece.max(initial=-math.inf)
        if largest > -math.inf:
            total += float(largest + np.log(np.exp(piece - largest).sum()))
    return total or -math.inf

# %% exercise=3.9 hint="Minus infinity minus minus infinity is nan. Skip a piece that is empty or has nothing but minus infinity, as long as nothing larger came."
def online_logsumexp(pieces):
    top, total = -math.inf, 0.0
    for piece in pieces:
        with np.errstate(all="ignore"):
            largest = max(top, float(piece.max(initial=-math.inf)))
            total = total * float(np.exp(np.float64(top) - largest)) + float(np.exp(piece - largest).sum())
        top = largest
    return top + math.log(total) if total else -math.inf

# %% exercise=3.9 hint="Each piece is gone when the next one comes: take from it what you need at once, and keep two numbers only."
def online_logsumexp(pieces):
    row = np.concatenate([np.zeros(0), *pieces])
    largest = row.max(initial=-math.inf)
    if largest == -math.inf:
        return -math.inf
    return float(largest + np.log(np.exp(row - largest).sum()))

# %% exercise=3.9 hint="Each piece is gone when the next one comes: take from it what you need at once, and keep two numbers only."
def online_logsumexp(pieces):
    pieces = list(pieces)
    largest = max((float(piece.max(initial=-math.inf)) for piece in pieces), default=-math.inf)
    if largest == -math.inf:
        return -math.inf
    return largest + math.log(sum(float(np.exp(piece - largest).sum()) for piece in pieces))

# %% exercise=3.9 hint="Each piece is gone when the next one comes: take from it what you need at once, and keep two numbers only."
def online_logsumexp(pieces):
    largest = max((float(piece.max(initial=-math.inf)) for piece in pieces), default=-math.inf)
    if largest == -math.inf:
        return -math.inf
    total = sum(float(np.exp(piece - largest).sum()) for piece in pieces)
    return largest + math.log(total) if total else -math.inf

# %% exercise=3.9 hint="Your factor is the wrong way round: when the largest number grows, the sum so far must shrink."
-             total = total * math.exp(top - largest) + float(np.exp(piece - largest).sum())
+             total = total * math.exp(largest - top) + float(np.exp(piece - largest).sum())

# %% exercise=3.9 hint="Your factor is the wrong way round: when the largest number grows, the sum so far must shrink."
-             total = total * math.exp(top - largest) + float(np.exp(piece - largest).sum())
+             total = total * math.exp(largest - top if total else 0) + float(np.exp(piece - largest).sum())

# %% exercise=3.9 hint="A piece may be empty, and then it has no largest number: skip it."
-         largest = max(top, piece.max(initial=-math.inf))
+         largest = max(top, piece.max())

# %% exercise=3.9 hint="The largest number so far stays when a later piece has only smaller ones. Yours falls, and the sum overflows."
-         largest = max(top, piece.max(initial=-math.inf))
+         largest = piece.max(initial=-math.inf)

# %% exercise=3.9 hint="The largest number so far stays when a later piece has only smaller ones. Yours falls, and the sum overflows."
-         largest = max(top, piece.max(initial=-math.inf))
+         largest = piece.max(initial=-math.inf)
          if largest > -math.inf:
-             total = total * math.exp(top - largest) + float(np.exp(piece - largest).sum())
+             total = total * float(np.exp(np.float64(top - largest))) + float(np.exp(piece - largest).sum())

# %% exercise=3.36 hint="exp of a large score is infinite. Subtract the largest score of each row first: no probability changes."
-     shifted = x - x.max(axis=1, keepdims=True)
+     shifted = x

# %% exercise=3.36 hint="You take away the largest score of the whole array, and a row far below it underflows. Each row has a largest of its own: axis=1."
-     shifted = x - x.max(axis=1, keepdims=True)
+     shifted = x - x.max()

# %% exercise=3.36 hint="You take the logarithm of a probability, which may be 0. Take it on paper first: log-sum-exp minus the score of the target."
-     losses = np.log(sums[:, 0]) - shifted[rows, at]
+     losses = -np.log((exps / sums)[rows, at])

# %% exercise=3.36 hint="The mean is over the rows that count. You divide by all of them, the missing ones too."
-     count = max(int(there.sum()), 1)
+     count = max(len(target), 1)

# %% exercise=3.36 hint="The loss is right. Its gradient is that of the sum: the gradient of a mean is divided by the count as well."
-     dx *= (there / count)[:, None]
+     dx *= there[:, None]

# %% exercise=3.36 hint="A row whose target is missing has no loss, so nothing comes back to it: its gradient is 0."
-     dx *= (there / count)[:, None]
+     dx /= count

# %% exercise=3.36 hint="The gradient is p minus one-hot, and you have it the other way round: this one climbs."
-     dx *= (there / count)[:, None]
+     dx *= -(there / count)[:, None]

# %% exercise=3.36 hint="Where no target counts at all, you divide by 0. Let the count be at least 1."
-     count = max(int(there.sum()), 1)
+     count = int(there.sum())

# %% exercise=3.9 hint="`.any()` asks whether a number is not 0, and not whether there are numbers: a piece of zeros counts. Ask for its size."
-         largest = max(top, piece.max(initial=-math.inf))
-         if largest > -math.inf:
+         largest = max(top, piece.max(initial=-math.inf))
+         if piece.any() and largest > -math.inf:

# %% exercise=3.7 hint="y cannot be had back from the result: where a weight is 0 it is 0 / 0. Keep y itself, before the weight is multiplied on."
class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, weight):
        scale = 1 / np.sqrt((x * x).mean(1, keepdims=True) + self.eps)
        out = x * scale * weight
        self.saved = out, scale, weight
        return out

    def backward(self, grad):
        out, scale, weight = self.saved
        y = out / weight
        g = grad * weight
        return (g - y * (g * y).mean(1, keepdims=True)) * scale, (grad * y).sum(0)
