"""Second right answers to the exercises of chapter 04c, by another way than the reference's: each earns all points."""

# %% exercise=4.20
def bytes_read(m, n, k, tile):
    total = 0
    for row in range(0, m, tile):
        for col in range(0, n, tile):
            total += (min(tile, m - row) + min(tile, n - col)) * k
    return 4 * total
