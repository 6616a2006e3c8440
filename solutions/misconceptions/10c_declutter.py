# Plausible wrong answers to the exercises of chapter 10c, each with the hint that it earns.
# One is a whole program, or an edit of the reference answer: "- " a line that goes, "+ " one that comes.

# %% exercise=10.9 hint="You take as many places as there are pixels. Without padding a window of 3 has two places fewer, and a stride leaves some out: part 10b has the rule."
-     rows = (height + pads[0] + pads[2] - kh) // strides[0] + 1
-     columns = (width + pads[1] + pads[3] - kw) // strides[1] + 1
+     rows, columns = height, width

# %% exercise=10.9 hint="You multiply by the channels of x. With groups a filter sees fewer of them: its own are in w."
-     return n * m * rows * columns * math.prod(w[1:])
+     return n * m * rows * columns * x[1] * kh * kw

# %% exercise=10.9 hint="The pads are (top, left, bottom, right): to the height belong the first and the third."
-     rows = (height + pads[0] + pads[2] - kh) // strides[0] + 1
-     columns = (width + pads[1] + pads[3] - kw) // strides[1] + 1
+     rows = (height + pads[0] + pads[1] - kh) // strides[0] + 1
+     columns = (width + pads[2] + pads[3] - kw) // strides[1] + 1

# %% exercise=10.9 hint="With a stride you count too few places: the first window comes without a step, so its 1 is added behind the division, not before."
-     rows = (height + pads[0] + pads[2] - kh) // strides[0] + 1
-     columns = (width + pads[1] + pads[3] - kw) // strides[1] + 1
+     rows = (height + pads[0] + pads[2] - kh + 1) // strides[0]
+     columns = (width + pads[1] + pads[3] - kw + 1) // strides[1]

# %% exercise=10.10 hint="The bias goes through the batch norm too: the mean is taken off it before the factor, and the shift comes behind."
-     bias = ((b - mean) * factor + shift).astype(w.dtype)
+     bias = (b + shift - mean * factor).astype(w.dtype)

# %% exercise=10.10 hint="A convolution may come without a bias: then it is 0, and it gets one from the mean and the shift."
-     b = view.constant(old) if old else np.zeros(1, np.float32)
+     b = view.constant(old) if old else None

# %% exercise=10.10 hint="You take epsilon for 1e-5 everywhere. It is an attribute of the node, and 1e-5 only where it is missing."
-     factor = scale / np.sqrt(variance + node.attributes.get("epsilon", 1e-5))
+     factor = scale / np.sqrt(variance + 1e-5)

# %% exercise=10.10 hint="Somebody else reads what the convolution makes: it stays, and you would convolve twice. Ask view.inner, not view.maker."
-     conv = view.inner(node.inputs[0], "Conv")
+     conv = view.maker(node.inputs[0], "Conv")

# %% exercise=10.10 hint="With training_mode the batch norm takes mean and variance from the batch: there is nothing to know before it."
-     if conv is None or node.attributes.get("training_mode") or any(view.reads[n] for n in node.outputs[1:]):
+     if conv is None:

# %% exercise=10.10 hint="The new convolution has lost its attributes: padding, strides and groups stay as they were."
-     made = Node("Conv", [conv.inputs[0], *names], node.outputs[:1], conv.attributes, conv.name)
+     made = Node("Conv", [conv.inputs[0], *names], node.outputs[:1], {}, conv.name)

# %% exercise=10.10 hint="The new weights have the old ones' name, and another convolution that reads these gets them as well. Give them a name of their own."
-     names = [f"{node.outputs[0]}.weight", f"{node.outputs[0]}.bias"]
+     names = [conv.inputs[1], f"{node.outputs[0]}.bias"]

# %% exercise=10.10 hint="Two batch norms of a network get new arrays of the same names in yours: make the names of the result's."
-     names = [f"{node.outputs[0]}.weight", f"{node.outputs[0]}.bias"]
+     names = ["new.weight", "new.bias"]

# %% exercise=10.10 hint="Two batch norms of a network get new arrays of the same names in yours: make the names of the result's."
-     names = [f"{node.outputs[0]}.weight", f"{node.outputs[0]}.bias"]
+     names = ["new_weight", "new_bias"]

# %% exercise=10.11 hint="You look the inner order up in the outer one. Axis i of the result is axis outer[i] of the middle, and that is axis inner[outer[i]] of the first."
-     perm = [first[i] for i in order_of(view, node)]
+     perm = [order_of(view, node)[i] for i in first]

# %% exercise=10.11 hint="A Transpose without perm reverses all axes: order_of knows that, and the attribute alone does not."
-     perm = [first[i] for i in order_of(view, node)]
+     perm = [first[i] for i in node.attributes.get("perm", range(len(first)))]

# %% exercise=10.11 hint="The inner Transpose may be read by others: they keep it, and this node can read past it all the same. Use view.maker."
-     inner = view.maker(node.inputs[0], "Transpose")
+     inner = view.inner(node.inputs[0], "Transpose")

# %% exercise=10.12 hint="A result that no line reads may be one of `kept`: then its buffer is not free, although nobody reads it."
-             if name in where and name not in kept and last.get(name, i) <= i:
+             if name in where and (name not in kept or name not in last) and last.get(name, i) <= i:

# %% exercise=10.12 hint="No buffer is ever used again in yours. After the last line that reads a result its buffer is free."
-             if name in where and name not in kept and last.get(name, i) <= i:
+             if name in where and name not in kept and i < 0:

# %% exercise=10.12 hint="You free the buffers of the inputs before the line has its own: then it writes over what it reads."
-     for i, (result, inputs) in enumerate(steps):
-         wanted = sizes[result]
+     for i, (result, inputs) in enumerate(steps):
+         wanted = sizes[result]
+         free |= {where[name] for name in inputs if name not in kept and name in where and last[name] <= i}

# %% exercise=10.12 hint="What is in kept is read at the end: its buffer is never free."
-             if name in where and name not in kept and last.get(name, i) <= i:
+             if name in where and last.get(name, i) <= i:

# %% exercise=10.12 hint="You free an input as soon as one line has read it. Another line further down may read it again: keep it until the last one."
-             if name in where and name not in kept and last.get(name, i) <= i:
+             if name in where and name not in kept and name != result:

# %% exercise=10.12 hint="A free buffer may be too small for the result: let it grow, or take another."
-             lengths[chosen] = wanted
+             pass

# %% exercise=10.13 hint="Your rule knows one order of the two factors. Try x and the sum both ways round."
-     for x, gate in (above, above[::-1]):
+     for x, gate in (above,):

# %% exercise=10.13 hint="You do not look at what the erf reads: it has to be √½ times the same x."
-             if names == [x] and not under and math.isclose(inner, math.sqrt(0.5), rel_tol=1e-4):
+             if True:

# %% exercise=10.13 hint="The 1 may stand on either side of the sum: try both."
-         for one, other in (total.inputs, total.inputs[::-1]) if total is not None else ():
+         for one, other in (total.inputs[::-1],) if total is not None else ():

# %% exercise=10.13 hint="The numbers of a file are float32: their √½ is not Python's to the ninth digit, to which isclose looks by itself. Compare with rel_tol=1e-4."
-             if names == [x] and not under and math.isclose(inner, math.sqrt(0.5), rel_tol=1e-4):
+             if names == [x] and not under and math.isclose(inner, math.sqrt(0.5)):

# %% exercise=10.13 hint="The number before the product has to be ½: a product of x, 1 + erf and 0.6 is another curve."
-     if len(above) != 2 or below or not math.isclose(number, 0.5, rel_tol=1e-4):
+     if len(above) != 2 or below:

# %% exercise=10.12 hint="A line may read a result twice, as x * x does. You free its buffer twice then, and two results get it."
-     free: set[int] = set()
+     free: list[int] = []

-         free.discard(chosen)
+         if chosen in free:
+             free.remove(chosen)

-         for name in {*inputs, result}:
-             if name in where and name not in kept and last.get(name, i) <= i:
-                 free.add(where[name])
+         for name in inputs + [result] * (result not in last):
+             if name in where and name not in kept and last.get(name, i) <= i:
+                 free.append(where[name])

# %% exercise=10.12 hint="You spare a kept result only as long as a line still reads it, or where none does: behind its last reader its buffer goes to another. Who reads it after all lines?"
-             if name in where and name not in kept and last.get(name, i) <= i:
+             if name in where and (name in last or name not in kept) and last.get(name, i) <= i:

# %% exercise=10.9 hint="The four pads need not be equal: rows get the first and the third, columns the second and the fourth."
def conv_cost(x: tuple[int, ...], w: tuple[int, ...], pads=(0, 0, 0, 0), strides=(1, 1)) -> int:
    """FMAs of a convolution of shapes x and w."""
    n, _, h, w_in = x
    m, c, kh, kw = w
    rows = (h + 2 * pads[0] - kh) // strides[0] + 1
    columns = (w_in + 2 * pads[1] - kw) // strides[1] + 1
    return n * m * rows * columns * c * kh * kw
