"""Second right answers to the exercises of chapter 05b, by another way than the reference's: each earns all points."""

# %% exercise=5.7
def bytes_moved(rows, columns, blocks):
    numbers = 0
    for block in range(blocks):
        numbers += columns
        for row in range(block, rows, blocks):
            numbers += 2 * columns
    return numbers * np.dtype(np.float32).itemsize


# %% exercise=5.11
class CrossEntropyPair:
    def forward(self, f, x, target, share):
        n, c = x.shape
        if n * c == 0 or c > 8192:
            return NotImplemented
        f.threads = 32
        while f.threads < 1024 and 2 * f.threads < c:
            f.threads *= 2
        f.each = 1
        while f.each * f.threads < c:
            f.each *= 2
        x, target, share = x.copy(), target.copy(), share.copy()
        p, made = cp.zeros((n, c), np.float32), cp.zeros((n, 1), np.float32)
        args = (x, target, share, p, made, np.int32(n), np.int32(c))
        kernel("cross_entropy", f.each)((n,), (f.threads,), args)
        f.saved = p, target, share
        return made

    def backward(self, f, grad):
        p, target, share = f.saved
        (n, c), dx = p.shape, cp.zeros(p.shape, np.float32)
        args = (grad.copy(), target, share, p, dx, np.int32(n), np.int32(c))
        kernel("cross_entropy_backward", f.each)((n,), (f.threads,), args)
        return dx
