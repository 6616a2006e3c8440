"""Second right answers to the exercises of chapter 08c, by another way than the reference's: each earns all points."""

# %% exercise=8.13
def fits(wheel, python, platform):
    *_, tag, abi, place = wheel[: -len(".whl")].split("-")
    versions = {"py3": range(1000)}.get(tag)
    if versions is None:
        minor = int(tag[3:])
        versions = range(minor, 1000 if abi == "abi3" else minor + 1)
    return python[0] == 3 and python[1] in versions and place in {platform, "any"}


# %% exercise=8.14
def launch(kernel, x):
    y = cp.zeros(len(x), np.float32)
    grid, block = len(x), 256
    kernel((grid,), (block,), (x, y, np.int32(x.shape[1])))
    return y


# %% exercise=8.15
def view(memory, description):
    numbers = memory[description["byte_offset"] :]
    dtype, shape = np.dtype(description["dtype"]), tuple(description["shape"])
    strides = description["strides"]
    if strides is None:
        strides, step = [], 1
        for n in reversed(shape):
            strides.insert(0, step)
            step *= n
    whole = memory[description["byte_offset"] % dtype.itemsize :]
    whole = whole[: len(whole) // dtype.itemsize * dtype.itemsize].view(dtype)
    start = whole[description["byte_offset"] // dtype.itemsize :]
    return np.lib.stride_tricks.as_strided(start, shape, [s * dtype.itemsize for s in strides])


def describe(x, memory):
    offset = x.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    steps = [each // x.dtype.itemsize for each in x.strides]
    return {"dtype": str(x.dtype), "shape": list(x.shape), "strides": steps, "byte_offset": offset}


# %% exercise=8.16
def races(program):
    """A graph of what comes right before what, and a search along it."""
    edges, last, recorded = {}, {}, {}
    for node, (stream, what, name, *_) in enumerate(program):
        edges[node] = [last[stream]] if stream in last else []
        if what == "wait" and name in recorded:
            edges[node].append(recorded[name])
        if what == "record":
            recorded[name] = node
        last[stream] = node

    def comes_before(first, node):
        return node == first or any(comes_before(first, one) for one in edges[node] if one >= first)

    runs = [node for node, step in enumerate(program) if step[1] == "run"]
    found = []
    for place, later in enumerate(runs):
        for earlier in runs[:place]:
            (reads, writes), (old_reads, old_writes) = (tuple(map(set, program[n][3:])) for n in (later, earlier))
            clash = writes & old_writes or writes & old_reads or reads & old_writes
            if clash and not comes_before(earlier, later):
                found.append((program[earlier][2], program[later][2]))
    return found
