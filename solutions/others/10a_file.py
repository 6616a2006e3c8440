"""Second right answers to the exercises of part 10a, by another way than the reference's: each earns all points."""

# %% exercise=10.1
def varint_bytes(value):
    if value < -(2**63) or value >= 2**64:
        raise WireError("too large")
    value &= 2**64 - 1
    count = max(1, -(-value.bit_length() // 7))
    groups = [value // 128**i % 128 for i in range(count)]
    return bytes(group + 128 * (i < count - 1) for i, group in enumerate(groups))


# %% exercise=10.2
def _value(value, kind, depth):
    if kind in ("int", "uint"):
        at, found = 0, [value] if isinstance(value, int) else []
        while not isinstance(value, int) and at < len(value):
            one, at = varint(value, at)
            found.append(one)
        return [one - 2**64 * (kind == "int" and one >= 2**63) for one in found]
    if isinstance(value, int):
        raise WireError("not a number")
    if kind == "bytes":
        return [value.tobytes()]
    if kind in ("float", "double"):
        try:
            return np.frombuffer(value, "<f4" if kind == "float" else "<f8").tolist()
        except ValueError:
            raise WireError("numbers that do not come out even") from None
    if kind == "str":
        try:
            return [value.tobytes().decode()]
        except UnicodeError:
            raise WireError("no text") from None
    return [read(value, kind, depth + 1)]


def read(data, kind="ModelProto", depth=0):
    if depth > 100:
        raise WireError("too deep")
    made = {}
    for number, value in fields(memoryview(data)):
        if number in SCHEMA[kind]:
            field = SCHEMA[kind][number]
            found = _value(value, field.type, depth)
            made[field.name] = made.get(field.name, []) + found if field.many else found[-1]
    return Message(kind, **made)


# %% exercise=10.3
def evaluate(graph, arrays, run=None):
    left = {}
    for node in graph.nodes:
        for name in node.inputs:
            left[name] = left.get(name, 0) + 1
    for name in graph.outputs:
        left[name] = left.get(name, 0) + 1
    values = dict(graph.constants)
    values.update(zip(graph.inputs, arrays))
    for node in graph.nodes:
        given = [values[name] if name else None for name in node.inputs]
        results = run(node, given)
        del given
        for name in node.inputs:
            left[name] -= 1
            if name and not left[name]:
                del values[name]
        for name, one in zip(node.outputs, results):
            if name and left.get(name):
                values[name] = one
        results = one = None
    return [values[name] for name in graph.outputs]


# %% exercise=10.4
def softmax(x, opset, axis=None):
    if axis is None:
        axis = 1 if opset < 13 else -1
    axes = tuple(range(axis % x.ndim, x.ndim)) if opset < 13 else axis
    e = np.exp(x - x.max(axes, keepdims=True))
    return e / e.sum(axes, keepdims=True)
