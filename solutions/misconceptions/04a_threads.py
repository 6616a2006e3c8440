"""Plausible wrong answers in Python to the exercises of chapter 04a, each with the hint that it earns."""

# %% exercise=4.2 hint="It makes no difference to your count at which byte of its sector the first element stands. Where that is not the first byte, the warp may reach into one sector more: divide once, at the end."
-     return len({(start + lane * stride) * size // 32 for lane in range(lanes)})
+     return len({lane * stride * size // 32 for lane in range(lanes)})

# %% exercise=4.2 hint="You count all sectors from the first to the last. Those between them that no lane reads are not delivered."
def sectors(start, stride, size=4, lanes=32):
    first, last = sorted((start * size // 32, (start + (lanes - 1) * stride) * size // 32))
    return last - first + 1

# %% exercise=4.2 hint="You always take 8 elements for a sector. That is right for 4 bytes: an element of another size begins at byte number * size."
-     return len({(start + lane * stride) * size // 32 for lane in range(lanes)})
+     return len({(start + lane * stride) // 8 for lane in range(lanes)})

# %% exercise=4.2 hint="min(lanes * stride * size / 32, lanes) is a good rule of thumb. But it knows nothing of the start, of strides of 0 and below, and of strides at which two lanes share some sectors and not others: count them."
-     return len({(start + lane * stride) * size // 32 for lane in range(lanes)})
+     return min(-(-lanes * abs(stride) * size // 32), lanes)

# %% exercise=4.2 hint="You count different elements. Elements that stand in one sector come together and count once: divide by 32 with //, which leaves out the fraction."
-     return len({(start + lane * stride) * size // 32 for lane in range(lanes)})
+     return len({start + lane * stride for lane in range(lanes)})

# %% exercise=4.2 hint="You take a warp of 32 lanes for granted; the argument lanes may be less."
-     return len({(start + lane * stride) * size // 32 for lane in range(lanes)})
+     return len({(start + lane * stride) * size // 32 for lane in range(32)})

# %% exercise=4.2 hint="A sector is 32 bytes; 128 bytes are a line of the cache."
-     return len({(start + lane * stride) * size // 32 for lane in range(lanes)})
+     return len({(start + lane * stride) * size // 128 for lane in range(lanes)})

# %% exercise=4.2 hint="The formula of the lesson is for 32 floats, from the beginning of a sector on, at a stride of 1 or more. Count sectors instead: which one does each lane touch?"
-     return len({(start + lane * stride) * size // 32 for lane in range(lanes)})
+     return min(4 * stride, 32)

# %% exercise=4.2 hint="The formula of the lesson is for 32 floats, from the beginning of a sector on, at a stride of 1 or more. Count sectors instead: which one does each lane touch?"
-     return len({(start + lane * stride) * size // 32 for lane in range(lanes)})
+     return max(1, min(4 * abs(stride), 32))

# %% exercise=4.2 hint="min(lanes * stride * size / 32, lanes) is a good rule of thumb. But it knows nothing of the start, of strides of 0 and below, and of strides at which two lanes share some sectors and not others: count them."
-     return len({(start + lane * stride) * size // 32 for lane in range(lanes)})
+     return min(lanes * abs(stride) * size // 32, lanes)

# %% exercise=4.2 hint="% 32 is the place of a byte within its sector. Which sector it is, // 32 says."
-     return len({(start + lane * stride) * size // 32 for lane in range(lanes)})
+     return len({(start + lane * stride) * size % 32 for lane in range(lanes)})
