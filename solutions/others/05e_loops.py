"""Second right answers to the exercises of chapter 05e, by another way than the reference's: each earns all points."""

# %% exercise=5.22
def fetched(rows, columns, room, along_rows):
    each = 1 if along_rows or rows <= room else 16
    return each * rows * (columns // 16)


# %% exercise=5.23
def column_sums(x, threads):
    parts = np.zeros((len(x) // 8 + 1, x.shape[1]), np.float32)

    def work(start, stop, x, parts):
        for k in range(start, stop):
            parts[k] = x[8 * k : 8 * k + 8].sum(axis=0, dtype=np.float64)

    run(work, len(parts), threads, x, parts)
    return parts.sum(axis=0)


# %% exercise=5.24
def cross_entropy(x, target, p, losses):
    for i in range(x.shape[0]):
        top = max(x[i, j] for j in range(x.shape[1]))
        total = math.fsum(math.exp(x[i, j] - top) for j in range(x.shape[1]))
        logarithm = top + math.log(total)
        losses[i] = logarithm - x[i, target[i]]
        for j in range(x.shape[1]):
            p[i, j] = math.exp(x[i, j] - logarithm)


def cross_entropy_backward(grad, target, p, dx):
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            dx[i, j] = grad[i] * (p[i, j] - (target[i] == j))


# %% exercise=5.25
def statistics(x, mean, variance):
    rows, columns = x.shape
    first, sums, squares = ([0.0] * columns for _ in range(3))
    for i in range(rows):
        for j in range(columns):
            if i == 0:
                first[j] = x[i, j]
            d = x[i, j] - first[j]
            sums[j] += d
            squares[j] += d * d
    for j in range(columns):
        m = sums[j] / rows
        mean[j] = first[j] + m
        variance[j] = squares[j] / rows - m * m


# %% exercise=5.26
def total(numbers):
    result = lost = Single(0)
    for number in numbers:
        now = number - lost
        after = result + now
        lost = (after - result) - now
        result = after
    return result
