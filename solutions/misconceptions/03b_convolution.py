"""Plausible wrong answers to the exercises of chapter 03b, each with the hint that it earns."""

# %% exercise=3.1 hint="Padding makes the row longer: compare the window's span with n + 2 * padding, not with n."
-     return max(0, (n + 2 * padding - span) // stride + 1)
+     return max(0, (n + 2 * padding - span) // stride + 1) if span <= n else 0

# %% exercise=3.1 hint="You count the steps of the window, not its places: it also has the place where it starts. Add 1."
-     return max(0, (n + 2 * padding - span) // stride + 1)
+     return max(0, (n + 2 * padding - span) // stride)

# %% exercise=3.1 hint="Padding is added on both sides of the row: twice."
-     return max(0, (n + 2 * padding - span) // stride + 1)
+     return max(0, (n + padding - span) // stride + 1)

# %% exercise=3.1 hint="A window of k numbers that are d apart has k - 1 gaps of d: it spans d (k - 1) + 1, not d k."
def count_windows(n, kernel, stride=1, padding=0, dilation=1):
    return max(0, (n + 2 * padding - dilation * kernel) // stride + 1)

# %% exercise=3.1 hint="A window of k numbers that are d apart has k - 1 gaps of d: it spans d (k - 1) + 1, not d k. And where it does not fit, there are 0 places."
def count_windows(n, kernel, stride=1, padding=0, dilation=1):
    span = kernel * dilation
    return (n + 2 * padding - span) // stride + 1

# %% exercise=3.1 hint="Where the window does not fit, the number of places is 0; yours is below."
def count_windows(n, kernel, stride=1, padding=0, dilation=1):
    return (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1

# %% exercise=3.1 hint="Your answer does not depend on the dilation. How far is it from the window's first number to its last?"
def count_windows(n, kernel, stride=1, padding=0, dilation=1):
    return max(0, (n + 2 * padding - kernel) // stride + 1)

# %% exercise=3.1 hint="You round up. Where less than a whole stride is left, the window cannot move once more."
-     return max(0, (n + 2 * padding - span) // stride + 1)
+     return max(0, -(-(n + 2 * padding - span) // stride) + 1)

# %% exercise=3.1 hint="Where the window is too long by less than a stride, int(a / b) cuts towards 0, and you count one place. a // b rounds down, to -1."
-     return max(0, (n + 2 * padding - span) // stride + 1)
+     return max(0, int((n + 2 * padding - span) / stride) + 1)

# %% exercise=3.8 hint="Windows overlap, and one place can win several of them. Yours keeps the last: add, with +=."
-         out[tap] += grad * (winner == i)
+         out[tap] = np.where(winner == i, grad, out[tap])

# %% exercise=3.8 hint="Only the winner of a window gets its gradient. Yours gives it to every place in the window."
def max_pool_backward(grad, winner, taps, out):
    for tap in taps:
        out[tap] += grad

# %% exercise=3.8 hint="The gradient that arrives is missing: each place gets 1 for a window that it won, instead of that window's gradient."
-         out[tap] += grad * (winner == i)
+         out[tap] += winner == i

# %% exercise=3.8 hint="Each tap overwrites what others brought to the same places, with zeros where it did not win. Add, with +=."
-         out[tap] += grad * (winner == i)
+         out[tap] = grad * (winner == i)

# %% exercise=3.8 hint="winner counts the taps from 0."
-     for i, tap in enumerate(taps):
+     for i, tap in enumerate(taps, 1):

# %% exercise=3.8 hint="The last tap gets nothing: go through all of them."
-     for i, tap in enumerate(taps):
+     for i, tap in enumerate(taps[:-1]):

# %% exercise=3.8 hint="out = ... gives the name to a new array and leaves the caller's as it was. Write into it: out[tap] += ..."
+     out = np.zeros_like(out)
      for i, tap in enumerate(taps):

# %% exercise=3.8 hint="`grad *= ...` writes into grad itself: after the first tap nothing is left for the windows that another one won. Make a new array for each tap."
-         out[tap] += grad * (winner == i)
+         grad *= winner == i
+         out[tap] += grad

# %% exercise=3.37 hint="A weight is used on every image of the batch: its gradient adds up over all of them, not over the first alone."
-     dw = convolve(x.swapaxes(0, 1), grad.swapaxes(0, 1))  # a weight collects from all places and images
+     dw = convolve(x[:1].swapaxes(0, 1), grad[:1].swapaxes(0, 1))

# %% exercise=3.37 hint="On the way back the weight's channels change places, too: grad has the O of the results, and dx gets the C of x. Swap the first two axes of the turned weight."
-     dx = convolve(around, turned.swapaxes(0, 1))  # a pixel gathers from all windows that it lies in
+     dx = convolve(around, turned)

# %% exercise=3.37 hint="Your filters are not turned round on the way back: in the window that begins at a pixel, the pixel met the first weight, upper left."
-     (h, w), turned = weight.shape[2:], weight[:, :, ::-1, ::-1]
+     (h, w), turned = weight.shape[2:], weight

# %% exercise=3.37 hint="Forward turns the filters round, as mathematicians do. Here the upper left weight meets the upper left pixel."
-     out = rows @ weight.reshape(len(weight), -1).T  # (N, places, O)
+     out = rows @ weight[:, :, ::-1, ::-1].reshape(len(weight), -1).T

# %% exercise=3.37 hint="A pixel at the border lies in fewer windows, and gets less. Yours fills the border from the other side of the picture."
-     around = np.pad(grad, ((0, 0), (0, 0), (h - 1, h - 1), (w - 1, w - 1)))
+     around = np.pad(grad, ((0, 0), (0, 0), (h - 1, h - 1), (w - 1, w - 1)), mode="wrap")

# %% exercise=3.37 hint="Each weight overwrites what the others brought to the same pixels: add, with +=."
def convolve(x, weight):
    (n, _, high, wide), (o, _, h, w) = x.shape, weight.shape
    high, wide = high - h + 1, wide - w + 1
    y = np.zeros((n, o, high, wide), x.dtype)
    for i in range(h):
        for j in range(w):
            y += np.einsum("nchw,oc->nohw", x[:, :, i : i + high, j : j + wide], weight[:, :, i, j])
    return y


def convolve_backward(grad, x, weight):
    (h, w), (high, wide) = weight.shape[2:], grad.shape[2:]
    dx, dw = np.zeros_like(x), np.zeros_like(weight)
    for i in range(h):
        for j in range(w):
            dx[:, :, i : i + high, j : j + wide] = np.einsum("nohw,oc->nchw", grad, weight[:, :, i, j])
            dw[:, :, i, j] = np.einsum("nohw,nchw->oc", grad, x[:, :, i : i + high, j : j + wide])
    return dx, dw

# %% exercise=3.37 hint="The gradient of a weight is a sum over all images, not a mean: each of them has used it."
-     return dx, dw.swapaxes(0, 1)
+     return dx, dw.swapaxes(0, 1) / len(x)

# %% exercise=3.37 hint="Two gradients, in the order of the inputs: first that of x, then that of the weight."
-     return dx, dw.swapaxes(0, 1)
+     return dw.swapaxes(0, 1), dx

# %% exercise=3.37 hint="Each share is the gradient of its window times the weight that met the pixel. Yours leaves out the weight."
-     (h, w), turned = weight.shape[2:], weight[:, :, ::-1, ::-1]
+     (h, w), turned = weight.shape[2:], np.ones_like(weight)

# %% exercise=3.37 hint="Your result becomes float64, whatever comes in. Make new arrays with the dtype of x."
-     out = rows @ weight.reshape(len(weight), -1).T  # (N, places, O)
+     out = rows.astype(np.float64) @ weight.reshape(len(weight), -1).T

# %% exercise=3.37 hint="You turn the filters twice: once for the image, which is right, and once for the weights. A weight collects from the places as they lie."
-     return dx, dw.swapaxes(0, 1)
+     return dx, dw.swapaxes(0, 1)[:, :, ::-1, ::-1]

# %% exercise=3.8 hint="A mask in brackets gives its numbers in one row, and the shape is gone: `np.where(winner == i, grad, 0)` keeps it."
def max_pool_backward(grad: Array, winner: Array, taps: list[Any], out: Array) -> None:
    """Add each of `grad` to the place in `out`, the padded image, whose tap won that window."""
    for i, tap in enumerate(taps):
        out[tap] += grad[winner == i]

# %% exercise=3.8 hint="Where a place stands twice among the indices in the brackets, NumPy writes it once: all shares but the last are lost, with += too. Which places won more than one window?"
-     for i, tap in enumerate(taps):
-         out[tap] += grad * (winner == i)
+     places = np.arange(out.size).reshape(out.shape)
+     places = np.stack([places[tap] for tap in taps])
+     won = np.take_along_axis(places, winner[None].astype(np.int64), axis=0)[0]
+     out.reshape(-1)[won] += grad
