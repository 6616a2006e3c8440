"""Second right answers to the exercises of chapter 10c, by another way than the reference's: each earns all points."""

# %% exercise=10.9
def conv_cost(x, w, pads=(0, 0, 0, 0), strides=(1, 1)):
    places = 1
    for axis in range(2):
        room = x[2 + axis] + pads[axis] + pads[2 + axis]
        places *= len(range(0, room - w[2 + axis] + 1, strides[axis]))
    return x[0] * places * int(np.prod(w))


# %% exercise=10.10
def batch_norm_into_conv(view, node):
    constants = [view.constant(name) for name in node.inputs[1:]]
    conv = view.makers.get(node.inputs[0])
    alone = view.reads[node.inputs[0]] == 1
    if conv is None or conv.op != "Conv" or not alone or node.attributes.get("training_mode", 0) == 1:
        return None
    arrays = [view.constant(name) if name else None for name in [*conv.inputs, ""][1:3]]
    if any(one is None for one in constants) or arrays[0] is None:
        return None
    if len(conv.inputs) == 3 and conv.inputs[2] and arrays[1] is None:
        return None
    gamma, beta, mean, variance = constants
    spread = np.sqrt(variance + node.attributes.get("epsilon", 1e-5))
    filters = np.stack([f * (g / s) for f, g, s in zip(arrays[0], gamma, spread)]).astype(np.float32)
    old = 0 if arrays[1] is None else arrays[1]
    shift = (beta + (old - mean) / spread * gamma).astype(np.float32)
    result = node.outputs[0]
    new = Node("Conv", [conv.inputs[0], result + "/w", result + "/b"], [result], dict(conv.attributes))
    return Patch(nodes=[new], constants={result + "/w": filters, result + "/b": shift})


# %% exercise=10.11
def transpose_twice(view, node):
    inner = view.makers.get(node.inputs[0])
    if inner is None or inner.op != "Transpose":
        return None
    axes = np.arange(len(view.shape(inner.inputs[0])))
    axes = axes[order_of(view, inner)][order_of(view, node)]
    return Patch([Node("Transpose", [inner.inputs[0]], [node.outputs[0]], {"perm": axes.tolist()})])


# %% exercise=10.12
def buffers(steps, sizes, kept):
    end = {name: len(steps) for name in kept}
    for i, (_, inputs) in enumerate(steps):
        for name in inputs:
            end[name] = max(end.get(name, i), i)
    owners, lengths, where = [], [], {}
    for i, (result, _) in enumerate(steps):
        free = [b for b, owner in enumerate(owners) if end.get(owner, -1) < i]
        free.sort(key=lambda b: (lengths[b] < sizes[result], abs(lengths[b] - sizes[result])))
        if not free:
            owners.append(result)
            lengths.append(0)
            free = [len(owners) - 1]
        owners[free[0]] = result
        lengths[free[0]] = max(lengths[free[0]], sizes[result])
        where[result] = free[0]
    return where, lengths


# %% exercise=10.13
def gelu(view, node):
    number, above, below = factors(view, node.outputs[0], node.outputs[0])
    sums = [name for name in above if view.inner(name, "Add")]
    if below or len(above) != 2 or abs(number - 0.5) > 1e-4:
        return None
    for gate in sums:
        x = above[1 - above.index(gate)]
        parts = view.makers[gate].inputs
        ones = [name for name in parts if view.scalar(name) == 1]
        bent = [view.makers[name] for name in parts if view.inner(name, "Erf")]
        if ones and bent:
            slope, names, under = factors(view, bent[0].inputs[0])
            if (names, under) == ([x], []) and abs(slope * slope - 0.5) < 1e-4:
                return Patch(nodes=[Node("Gelu", [x], node.outputs, {})])
    return None
