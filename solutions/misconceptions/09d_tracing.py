# Plausible wrong answers to the exercises of chapter 09d, each with the hint that it earns.
# One is a whole program, or an edit of the reference answer: "- " a line that goes, "+ " one that comes.

# %% exercise=9.17 hint="You call the function once more, on the array. The program is what is asked for: trace with the example, and feed the array to the placeholder."
-     (x,), y = traced(function, example)
-     return tf.Session(graph=y.graph).run(y, {x: array})
+     return function(from_numpy(array)).data

# %% exercise=9.17 hint="The program runs on the example in yours. Feed it the array."
-     return tf.Session(graph=y.graph).run(y, {x: array})
+     return tf.Session(graph=y.graph).run(y, {x: example})

# %% exercise=9.17 hint="You trace with the array, so what is baked in is of another call. Trace with the example."
-     (x,), y = traced(function, example)
+     traced(function, example)
+     (x,), y = traced(function, array)

# %% exercise=9.18 hint="After an error the tensors hold nodes still, and nobody can train them any more. Put the arrays back in a finally."
-         finally:
-             for name, one in tensors.items():
-                 one.data = kept[name]
+         except ZeroDivisionError:
+             raise
+         for name, one in tensors.items():
+             one.data = kept[name]

# %% exercise=9.18 hint="You look for what has changed after the arrays are back in their tensors: then nothing has. Compare before the finally."
-             changed = {name: one.data for name, one in tensors.items() if one.data is not reads[name]}
+             changed = {}

# %% exercise=9.18 hint="Tokens are whole numbers, and your placeholders take floats of 32 bits only. Each array has its dtype: tf.placeholder(a.dtype, a.shape)."
-         inputs = [tf.placeholder(a.dtype, a.shape) for a in arrays]
+         inputs = [tf.placeholder(tf.float32, a.shape) for a in arrays]

# %% exercise=9.18 hint="Your parameters are constants. Gradients and optimisers ask for variables: a tf.Variable with the array as its first value, and an identity of it in the tensor."
-         reads = {name: tf.identity(variable) for name, variable in variables.items()}
+         reads = {name: tf.constant(array) for name, array in kept.items()}

# %% exercise=9.18 hint="You put a copy of the array back. Views of it and optimisers hold on to the very object: put that back."
-                 one.data = kept[name]
+                 one.data = kept[name].copy()

# %% exercise=9.18 hint="Every tensor gets an update in yours, the unchanged ones as well. Compare the nodes by `is`: where it is the one that you gave, nothing was written."
-             changed = {name: one.data for name, one in tensors.items() if one.data is not reads[name]}
+             changed = {name: one.data for name, one in tensors.items()}

# %% exercise=9.19 hint="Only the kinds of operations and the values of constants are compared. A program is more than its list of kinds: look at the attributes of each operation, and at which nodes it reads."
-         wires = [[places[x] for x in node.inputs] for node in (a, b)]
-         same = type(a.f) is type(b.f) and frozen(vars(a.f)) == frozen(vars(b.f)) and wires[0] == wires[1]
+         known = [getattr(node.f, "value", 0) for node in (a, b)]
+         same = type(a.f) is type(b.f) and np.array_equal(*known)

# %% exercise=9.19 hint="You compare the attributes now, and not which nodes are the inputs: a - b and b - a are alike for you. Look up the places of the inputs."
-         same = type(a.f) is type(b.f) and frozen(vars(a.f)) == frozen(vars(b.f)) and wires[0] == wires[1]
+         same = type(a.f) is type(b.f) and frozen(vars(a.f)) == frozen(vars(b.f))

# %% exercise=9.19 hint="You compare inputs as a set, or sorted. Their order counts: a - b is not b - a."
-         wires = [[places[x] for x in node.inputs] for node in (a, b)]
+         wires = [sorted(places[x] for x in node.inputs) for node in (a, b)]

# %% exercise=9.19 hint="You compare the wiring, and only the values of constants. A sum keeps its axis as an attribute: compare frozen(vars(node.f))."
-         same = type(a.f) is type(b.f) and frozen(vars(a.f)) == frozen(vars(b.f)) and wires[0] == wires[1]
+         same = type(a.f) is type(b.f) and wires[0] == wires[1]
+         same = same and np.array_equal(getattr(a.f, "value", 0), getattr(b.f, "value", 0))

# %% exercise=9.19 hint="You compare of which kind the inputs are. Two of the same kind may change places: for you a - b and b - a are alike then. Look up the places of the inputs."
-         wires = [[places[x] for x in node.inputs] for node in (a, b)]
+         wires = [[type(x.f) for x in node.inputs] for node in (a, b)]

# %% exercise=9.20 hint="Two nodes write one name in yours. Number the lines, or take node.name, which is there once."
-         read_from, name = [names[x] for x in node.inputs], f"v{i}"
+         read_from, name = [names[x] for x in node.inputs], node.type

# %% exercise=9.20 hint="You let an operation pass that has no translation. Refuse it by its name, with a ValueError: whoever reads the file cannot know better."
-         else:
-             raise ValueError(f"{kind} has no translation")
+         else:
+             nodes.append(line("Identity", read_from, name))

# %% exercise=9.20 hint="A transpose turns all axes around if nobody says how: hand the dims on as perm. In yours it does nothing."
-             nodes.append(line("Transpose", read_from, name, perm=[*node.f.dims]))
+             name = read_from[0]

# %% exercise=9.20 hint="The inputs of your lines stand in another order than those of the node: a - b has become b - a."
-         read_from, name = [names[x] for x in node.inputs], f"v{i}"
+         read_from, name = sorted(names[x] for x in node.inputs), f"v{i}"

# %% exercise=9.20 hint="The last line has to write the name output: that is where the reader looks."
-     return [*nodes, line("Identity", [names[output]], "output")], weights
+     return nodes, weights

# %% exercise=9.21 hint="zip stops at the shortest: tuples of different lengths are cut to one length, where ValueError should say that they differ."
-     if isinstance(one, tuple) and all(isinstance(v, tuple) and len(v) == len(one) for v in values):
+     if isinstance(one, tuple) and all(isinstance(v, tuple) for v in values):

# %% exercise=9.21 hint="A line goes through any two points. Ask the third trace before you believe it."
-         if not rest and all(v == slope * n + start for v, n in zip(values, lengths)):
+         if not rest:

# %% exercise=9.21 hint="Your line begins at the first trace. It begins at 0 rows: start is the first value less slope times its rows."
-         start = one - slope * lengths[0]
+         start = one

-         if not rest and all(v == slope * n + start for v, n in zip(values, lengths)):
+         if not rest and all(v == slope * (n - lengths[0]) + start for v, n in zip(values, lengths)):

# %% exercise=9.21 hint="Only numbers on a line are told; what is the same in all traces, a fraction for instance, belongs to the program as it is."
-     if all(v == one for v in values):
-         return one

# %% exercise=9.21 hint="`/` gives a float, even where nothing is left over. Whole numbers come from `//` or divmod."
-         slope, rest = divmod(values[1] - one, lengths[1] - lengths[0])
+         slope = (values[1] - one) / (lengths[1] - lengths[0])
+         rest = slope % 1

# %% exercise=9.19 hint="zip stops at the shorter of two lists: a node that reads one input more than the other, the rest alike, is the same for you."
-         same = type(a.f) is type(b.f) and frozen(vars(a.f)) == frozen(vars(b.f)) and wires[0] == wires[1]
+         alike = all(places[x] == places[y] for x, y in zip(a.inputs, b.inputs))
+         same = type(a.f) is type(b.f) and frozen(vars(a.f)) == frozen(vars(b.f)) and alike

# %% exercise=9.18 hint="You look for what has changed after the arrays are back in their tensors: then all of them seem changed, since an array is no node. Compare before the finally."
-             changed = {name: one.data for name, one in tensors.items() if one.data is not reads[name]}
-         finally:
-             for name, one in tensors.items():
-                 one.data = kept[name]
+         finally:
+             for name, one in tensors.items():
+                 one.data = kept[name]
+         changed = {name: one.data for name, one in tensors.items() if one.data is not reads[name]}

# %% exercise=9.20 hint="A sum along an axis is exported as the sum of all. Only a sum whose result is one number has a translation here: refuse the others by their name."
-         elif kind in ("Sum", "LongSum") and node.shape == ():
+         elif kind in ("Sum", "LongSum"):

# %% exercise=9.18 hint="A tensor may have got the node of another tensor: that is a change as well. Compare each with the one node that you gave it, by `is`."
-             changed = {name: one.data for name, one in tensors.items() if one.data is not reads[name]}
+             given = set(reads.values())
+             changed = {name: one.data for name, one in tensors.items() if one.data not in given}
