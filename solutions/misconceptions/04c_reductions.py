"""Plausible wrong answers in Python to the exercises of chapter 04c, each with the hint that it earns."""

# %% exercise=4.20 hint="At the edge a block is only partly filled, but it fetches all the same: round the number of blocks up."
def bytes_read(m, n, k, tile):
    return 4 * k * (m * (n // tile) + n * (m // tile))

# %% exercise=4.20 hint="You count whole tiles. What lies outside the matrices is not read: of A there are m * k numbers, and each is read once for every block across."
def bytes_read(m, n, k, tile):
    across, down, steps = -(-n // tile), -(-m // tile), -(-k // tile)
    return across * down * steps * 2 * tile * tile * 4

# %% exercise=4.20 hint="You have the two directions mixed up: a number of A is fetched by all blocks of its rows, so it is n that says how many there are."
def bytes_read(m, n, k, tile):
    return 4 * k * (m * -(-m // tile) + n * -(-n // tile))

# %% exercise=4.20 hint="A float32 has 4 bytes: you count numbers."
def bytes_read(m, n, k, tile):
    return k * (m * -(-n // tile) + n * -(-m // tile))

# %% exercise=4.20 hint="Dividing by the tile's side is right where tiles fit. At the edges they are not full: round the blocks across and down up."
def bytes_read(m, n, k, tile):
    return 4 * 2 * m * n * k // tile

# %% exercise=4.20 hint="You count what is written to C as well. Only what is read from A and B is asked for."
-     return 4 * k * (m * across + n * down)
+     return 4 * (k * (m * across + n * down) + m * n)

# %% exercise=4.20 hint="A float32 has 4 bytes, not 8: yours is twice as many."
-     return 4 * k * (m * across + n * down)
+     return 8 * k * (m * across + n * down)

# %% exercise=4.20 hint="Dividing by the tile's side is right where tiles fit. At the edges they are not full: round the blocks across and down up."
def bytes_read(m, n, k, tile):
    return 4 * (2 * m * n * k // tile)

# %% exercise=4.20 hint="Dividing by the tile's side is right where tiles fit. At the edges they are not full: round the blocks across and down up."
def bytes_read(m, n, k, tile):
    return 4 * 2 * m * n * k / tile

# %% exercise=4.20 hint="Along k you count whole tiles. There, too, nothing is read outside the matrices: it is k itself, not rounded up."
-     across, down = -(-n // tile), -(-m // tile)
-     return 4 * k * (m * across + n * down)
+     across, down, steps = -(-n // tile), -(-m // tile), -(-k // tile)
+     return 4 * steps * tile * (m * across + n * down)
