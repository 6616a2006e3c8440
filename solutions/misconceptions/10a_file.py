"""Wrong answers to the exercises of part 10a, and the hint that each earns."""

# %% exercise=10.1 hint="`/` makes a float, which holds only 53 bits of a number: large ones lose their last digits. `//` and `%` stay whole."
def varint_bytes(value: int) -> bytes:
    """The bytes of a whole number, as `varint` reads them."""
    if not -(2**63) <= value < 2**64:
        raise WireError(f"{value} does not fit into 64 bits")
    value %= 2**64
    made = bytearray()
    while value > 127:
        made.append(value % 128 + 128)
        value = int(value / 128)
    made.append(value)
    return bytes(made)

# %% exercise=10.1 hint="You write the highest seven bits first. The lowest come first: take value & 127, then shift."
-     return bytes([*parts, value])
+     return bytes([value | 128 if parts else value, *parts[:0:-1], *[part & 127 for part in parts[:1]]])

# %% exercise=10.1 hint="Every byte but the last one carries the flag of 128, which says that more follow."
-         parts.append(value & 127 | 128)
+         parts.append(value & 127)

# %% exercise=10.1 hint="A byte carries seven bits of the number, and you take eight: shift by 7."
-         value >>= 7
+         value >>= 8

# %% exercise=10.2 hint="A number of type int may be negative: from 2**63 on, subtract 2**64."
-         return [n - 2**64 if of == "int" and n >> 63 else n for n in found]  # negative: modulo 2**64
+         return found

# %% exercise=10.2 hint="A uint is never negative: only int is read with a sign."
-         return [n - 2**64 if of == "int" and n >> 63 else n for n in found]  # negative: modulo 2**64
+         return [n - 2**64 if n >> 63 else n for n in found]

# %% exercise=10.2 hint="A field of many comes several times, and each time the list grows: you keep only what came last."
-                 vars(message).setdefault(field.name, []).extend(found)
+                 vars(message)[field.name] = found

# %% exercise=10.2 hint="Of a field that is no list the last one counts, and you keep the first."
-                 vars(message)[field.name] = found[-1]  # the last one counts
+                 vars(message).setdefault(field.name, found[0])

# %% exercise=10.2 hint="A message of a message of a message has no end in yours: pass depth + 1 on, and refuse what is over 100."
-     return [read(value, of, depth + 1)]
+     return [read(value, of, depth)]

# %% exercise=10.2 hint="Bytes that are not UTF-8 are no text. Let WireError say so, and do not replace letters."
-         return [str(value, "utf-8") if of == "str" else bytes(value)]
+         return [str(value, "utf-8", "replace") if of == "str" else bytes(value)]

# %% exercise=10.2 hint="A whole number stands where the schema says text or a message: raise WireError."
-         raise WireError(f"a whole number stands where {of} should")
+         return [value]

# %% exercise=10.3 hint="Nothing is let go of in yours: after a node, drop what no later node reads."
-         for name in {*node.inputs, *node.outputs} - {*graph.outputs}:
-             if last.get(name, i) == i:
-                 values.pop(name, None)

# %% exercise=10.3 hint="You drop what nodes have read, and keep what nobody will ever read: look at node.outputs, too."
-         for name in {*node.inputs, *node.outputs} - {*graph.outputs}:
+         for name in {*node.inputs} - {*graph.outputs}:

# %% exercise=10.3 hint="A variable of yours still holds a node's results when the next one runs, so they are alive then, too: hand run(...) straight on, or `del` it."
-         values.update(zip(node.outputs, run(node, [values[name] for name in node.inputs])))
+         results = run(node, [values[name] for name in node.inputs])
+         values.update(zip(node.outputs, results))

# %% exercise=10.3 hint="`return` stands inside the loop, so it ends with the first node. It belongs behind the loop, indented as `for` is."
-         values[""] = None  # an input that is absent; results that nobody asked for have no name either
-     return [values[name] for name in graph.outputs]
+         values[""] = None
+         return [values[name] for name in graph.outputs]

# %% exercise=10.3 hint="You find the first node that reads a name, and a later one misses it. The last one lets go."
-     last = {name: i for i, node in enumerate(graph.nodes) for name in node.inputs}
+     last = {name: i for i, node in reversed([*enumerate(graph.nodes)]) for name in node.inputs}

# %% exercise=10.3 hint="An output of the graph is dropped after its last reader. Outputs stay until the end."
-         for name in {*node.inputs, *node.outputs} - {*graph.outputs}:
+         for name in {*node.inputs, *node.outputs} - {*graph.outputs[:1]}:

# %% exercise=10.3 hint="A result of the name \"\" stays in the dictionary, and the next absent input gets it. Put None back."
-         values[""] = None  # an input that is absent; results that nobody asked for have no name either

# %% exercise=10.4 hint="Before opset 13 all axes from the given one on are one row, and you take the axis alone."
-     if opset < 13:
-         rows = x.reshape(int(np.prod(x.shape[: axis % x.ndim])), -1)
-         return softmax(rows, 13).reshape(x.shape)

# %% exercise=10.4 hint="You make one row of each image, whatever the axis is: cut the shape at the axis, and not always at 1."
-         rows = x.reshape(int(np.prod(x.shape[: axis % x.ndim])), -1)
+         rows = x.reshape(len(x), -1)

# %% exercise=10.4 hint="You flatten for every opset. From 13 on the softmax is along the axis alone."
-     if opset < 13:
+     if opset < 99 and axis != x.ndim - 1 and x.ndim > 2 and axis != -1:

# %% exercise=10.2 hint="Where bytes belong and a whole number stands, it is an error, too: bytes(5) makes five zeros of it. Ask for whole numbers first."
-     if isinstance(value, int):
-         raise WireError(f"a whole number stands where {of} should")
+     if of == "bytes":
+         return [bytes(value)]
+     if isinstance(value, int):
+         raise WireError(f"a whole number stands where {of} should")

# %% exercise=10.2 hint="Numbers that are packed may be negative, too: those, as the ones that stand alone, are modulo 2**64."
-         return [n - 2**64 if of == "int" and n >> 63 else n for n in found]  # negative: modulo 2**64
+         return [n - 2**64 if of == "int" and isinstance(value, int) and n >> 63 else n for n in found]

# %% exercise=10.3 hint="A node may read one name twice, as in x * x: it is let go of once. Go through the set of its inputs."
def evaluate(graph: Graph, arrays: list[Any], run: Callable[..., Any] | None = None) -> list[Any]:
    """The outputs for these inputs, node by node; what is read no more is let go of.

    `run` takes a node and its arrays, None for one that is absent, and gives its results in a tuple.
    """
    run = run or run_node
    values = {"": None, **graph.constants, **dict(zip(graph.inputs, arrays))}
    keep = {*values, *graph.outputs}
    last = {name: number for number, node in enumerate(graph.nodes) for name in node.inputs}
    for number, node in enumerate(graph.nodes):
        values.update(zip(node.outputs, run(node, [values[name] for name in node.inputs])))
        values[""] = None
        for name in node.inputs:
            if last[name] == number and name not in keep:
                del values[name]
        for name in node.outputs:
            if name not in last and name not in keep:
                del values[name]
    return [values[name] for name in graph.outputs]
