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
