# Plausible wrong answers to the exercises of chapter 05b in Python, each with the hint that it earns.

# %% exercise=5.7 hint="You count numbers. A float32 has 4 bytes."
-     return 4 * (2 * rows * columns + blocks * columns)
+     return 2 * rows * columns + blocks * columns

# %% exercise=5.7 hint="You load the weights once for each row. They are loaded above the loop: once for each block."
-     return 4 * (2 * rows * columns + blocks * columns)
+     return 4 * 3 * rows * columns

# %% exercise=5.7 hint="You count the weights once. Blocks share nothing: each of them loads its own copy."
-     return 4 * (2 * rows * columns + blocks * columns)
+     return 4 * (2 * rows * columns + columns)

# %% exercise=5.7 hint="A block that finds no row has loaded the weights all the same: look at the order of the lines."
-     return 4 * (2 * rows * columns + blocks * columns)
+     return 4 * (2 * rows * columns + min(blocks, rows) * columns)

# %% exercise=5.11 hint="A block of 256 threads for a row of a few numbers: most of its warps only wait. Let the block grow with the row."
-         threads = min(1024, 32 * -(-columns // 128))
+         threads = 256

# %% exercise=5.11 hint="One block walks through all rows while the rest of the GPU looks on. Launch as many blocks as there are rows, up to some thousand."
-         kernel(name, each)((min(rows, 1024),), (threads,), (*args, np.int32(rows), np.int32(columns)))
+         kernel(name, each)((1,), (threads,), (*args, np.int32(rows), np.int32(columns)))

# %% exercise=5.11 hint="The gradient of the losses is multiplied twice: the kernel does it, with the gradient that you hand over."
-         return dx
+         return dx * grad

# %% exercise=5.11 hint="There is one pair for all calls, and between a forward and its backward another forward may run. What belongs to one call is kept in its own f."
-         f.saved = p, target, share
+         self.saved = p, target, share

-         p, target, share = f.saved
+         p, target, share = self.saved
