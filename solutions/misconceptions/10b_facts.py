"""Wrong answers to the exercises of part 10b, and the hint that each earns."""

# %% exercise=10.5 hint="The first window takes the kernel; only what is left after it is divided into steps."
-     return (n - kernel) % stride
+     return n % stride

# %% exercise=10.5 hint="You leave the kernel out, as if a window could begin at the last number. It has to fit in whole: how many numbers does the first window leave for the steps?"
-     return (n - kernel) % stride
+     return (n - 1) % stride

# %% exercise=10.6 hint="A window that begins at n + before begins in the padding already: counted from 0, the last number stands at n + before - 1."
-     while isinstance(count, int) and (count - 1) * stride >= n + before:  # it begins in the padding
+     while isinstance(count, int) and (count - 1) * stride > n + before:

# %% exercise=10.6 hint="Dilation spreads the window: it covers dilation * (kernel - 1) + 1 places, and not dilation * kernel."
-     free = n + before + after - (dilation * (kernel - 1) + 1)
+     free = n + before + after - dilation * kernel

# %% exercise=10.6 hint="The first window is missing: what is left after it says how many more there are."
-         return free // stride + 1
+         return free // stride

# %% exercise=10.6 hint="With ceil a last window may begin in the padding behind the numbers. That one does not count."
-     while isinstance(count, int) and (count - 1) * stride >= n + before:  # it begins in the padding
-         count -= 1

# %% exercise=10.6 hint="A window that does not fit in even once is an error, and no number of windows."
-     if isinstance(free, int) and free < 0:
-         raise FactError(f"a window of {kernel} (dilated by {dilation}) does not fit into {n} numbers")

# %% exercise=10.7 hint="A factor of 0 is kept in yours, so that S - S is not 0: drop it."
-     return {names: factor for names, factor in size.items() if factor}
+     return dict(size)

# %% exercise=10.7 hint="S T and T S are the same product: sort the names."
-             both = tuple(sorted(left + right))
+             both = left + right

# %% exercise=10.7 hint="Two pairs of terms can give the same product, and their factors add up: you keep the last one alone."
-             made[both] = made.get(both, 0) + n * m
+             made[both] = n * m

# %% exercise=10.7 hint="You round towards zero. // rounds down, and the rest is then never negative."
-     whole = without_zeros({names: factor // n for names, factor in a.items()})
-     return whole, without_zeros({names: factor % n for names, factor in a.items()})
+     whole = without_zeros({names: int(factor / n) for names, factor in a.items()})
+     return whole, without_zeros({names: factor - n * int(factor / n) for names, factor in a.items()})

# %% exercise=10.7 hint="np.prod and np.sum work with floats, or with whole numbers of 64 bits, and large ones do not fit. Python's own whole numbers grow as they need: multiply with * or math.prod."
-         for name in names:
-             factor *= values[name]
-         total += factor
+         total += factor * np.prod([values[name] for name in names])

# %% exercise=10.8 hint="You begin to count the symbols anew at each node, so that sizes of two nodes share one. Count through the whole graph."
-                 for n in shape:
-                     unknown += n is None
+                 for unknown, n in enumerate(shape, 1):
                      fresh.append(symbol(f"?{unknown}") if n is None else n)

# %% exercise=10.8 hint="Two sizes that nothing is known of need not be equal: each gets a symbol of its own."
-                     unknown += n is None
+                     unknown = 1

# %% exercise=10.8 hint="You begin to count the symbols anew at each node, so that sizes of two nodes share one. Count through the whole graph."
+         unknown = 0
          for i, (name, fact) in enumerate(zip(node.outputs, made)):

# %% exercise=10.8 hint="The value of a large constant is not carried along: only up to SMALL numbers."
-         facts[name] = Fact(array.dtype, array.shape, array if array.size <= SMALL else None)
+         facts[name] = Fact(array.dtype, array.shape, array)

# %% exercise=10.8 hint="An axis of 2**40 numbers and more, or of fewer than none, is refused."
-             if shape is not None and (bad := [n for n in shape if isinstance(n, int) and not 0 <= n < 2**40]):
+             if shape is not None and (bad := [n for n in shape if isinstance(n, int) and n < 0]):

# %% exercise=10.8 hint="Your complaint does not say who makes the inputs: graph.makers() knows."
-                 f"{name!r} ({f'made by {makers[name]}' if name in makers else 'given'}) is {facts[name]}"
+                 f"{name!r} is {facts[name]}"

# %% exercise=10.6 hint="The windows begin at the padding, and the numbers end at n + before: only a window that begins there or later is dropped."
-     while isinstance(count, int) and (count - 1) * stride >= n + before:  # it begins in the padding
+     while isinstance(count, int) and (count - 1) * stride >= n:

# %% exercise=10.5 hint="That is how many numbers are missing for one more window: the remainder of kernel - n. What is left over is the remainder of n - kernel."
-     return (n - kernel) % stride
+     return (kernel - n) % stride

# %% exercise=10.5 hint="np.arange leaves its end out, but a last window may begin exactly at n - kernel: one beginning is missing then."
def unread(n: int, kernel: int, stride: int) -> int:
    """How many numbers at the end lie behind the last window."""
    starts = np.arange(0, n - kernel, stride)
    return int(n - (starts[-1] + kernel))
