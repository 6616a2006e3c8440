"""Plausible wrong answers in Python to the exercises of chapter 05c, each with the hint that it earns."""

# %% exercise=5.12 hint="That is for a step along k. For each FMA, divide by how many there are: rows times columns."
def for_each_fma(rows, columns, wide):
    return rows + columns, -(-rows // wide) + -(-columns // wide)

# %% exercise=5.12 hint="A step loads rows words of a and columns of b: the sum of the two, not their product."
def for_each_fma(rows, columns, wide):
    fma = rows * columns
    return 1.0, -(-fma // wide) / fma

# %% exercise=5.12 hint="3 rows by fours are one load, not three quarters of one: round the loads up."
-     loads = -(-rows // wide) + -(-columns // wide)
+     loads = (rows + columns) / wide

# %% exercise=5.12 hint="3 rows by fours are one load too: round up, not down."
-     loads = -(-rows // wide) + -(-columns // wide)
+     loads = rows // wide + columns // wide

# %% exercise=5.12 hint="a and b are two arrays, so a load brings words of one of them: round each up by itself."
-     loads = -(-rows // wide) + -(-columns // wide)
+     loads = -(-(rows + columns) // wide)

# %% exercise=5.12 hint="A wide load saves instructions. It brings as many words as before."
-     return (rows + columns) / fma, loads / fma
+     return loads / fma, loads / fma

# %% exercise=5.12 hint="You count bytes: a word has four of them."
-     return (rows + columns) / fma, loads / fma
+     return 4 * (rows + columns) / fma, loads / fma

# %% exercise=5.12 hint="You count each load as full. The last one along a side may bring fewer words: a step needs one for each row and one for each column, however wide the loads are."
-     return (rows + columns) / fma, loads / fma
+     return loads * wide / fma, loads / fma
