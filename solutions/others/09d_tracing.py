"""Second right answers to the exercises of chapter 09d, by another way than the reference's: each earns all points."""


# %% exercise=9.17
def kept(function, example, array):
    inputs, output = traced(function, example)
    with output.graph.as_default(), tf.Session() as session:
        return output.eval({inputs[0]: array}, session)


# %% exercise=9.18
class lent:
    """A block in which tensors hold other data than their own."""

    def __init__(self, tensors, data):
        self.tensors, self.data = tensors, data

    def __enter__(self):
        self.own = [one.data for one in self.tensors.values()]
        for name, one in self.tensors.items():
            one.data = self.data[name]

    def __exit__(self, *error):
        for one, array in zip(self.tensors.values(), self.own):
            one.data = array


def trace(function, tensors, *arrays):
    graph = tf.Graph()
    with graph.as_default():
        variables = {}
        for name, one in tensors.items():
            variables[name] = tf.Variable(one.data, name=f"tensor_{name}")
        nodes = {name: tf.identity(v) for name, v in variables.items()}
        inputs = [tf.placeholder(a.dtype, list(a.shape), name="x") for a in arrays]
        updates = []
        with lent(tensors, nodes):
            output = function(*[Tensor(node) for node in inputs]).data
            for name, one in tensors.items():
                if one.data is not nodes[name]:
                    updates.append(variables[name].assign(one.data))
        return inputs, output, variables, updates


# %% exercise=9.19
def differing(one, other):
    def told(output):
        program = prune([output])
        place = {id(node): i for i, node in enumerate(program)}
        return [
            (type(node.f).__name__, frozen(vars(node.f)), *[place[id(x)] for x in node.inputs])
            for node in program
        ]

    return [i for i, (a, b) in enumerate(zip(told(one), told(other))) if a != b]


# %% exercise=9.20
def lines(inputs, output):
    nodes, weights, known = [], [], {id(x): x.name for x in inputs}

    def visit(node):
        if id(node) in known:
            return known[id(node)]
        names = [visit(x) for x in node.inputs]
        kind, name = type(node.f).__name__, f"{node.name}_of_mine"
        if isinstance(node.f, kinds.Constant):
            weights.append(weight(name, node.f.value))
        elif kind in ("Sum", "LongSum") and node.shape == ():
            nodes.append(line("ReduceSum", names, name))
        elif kind == "Permute":
            nodes.append(line("Transpose", names, name, perm=list(node.f.dims)))
        else:
            known_as = {**KINDS, "Identity": "Identity"}.get(kind)
            if known_as is None:
                raise ValueError(f"no line for {kind}")
            nodes.append(line(known_as, names, name))
        known[id(node)] = name
        return name

    last = visit(output)
    return nodes + [line("Identity", [last], "output")], weights


# %% exercise=9.21
def growing(values, lengths):
    if len({repr(v) for v in values}) == 1:
        return values[0]
    if {type(v) for v in values} == {tuple} and len({len(v) for v in values}) == 1:
        return tuple(growing([v[i] for v in values], lengths) for i in range(len(values[0])))
    if any(not isinstance(v, int) for v in values):
        raise ValueError("no whole numbers")
    for slope in range(-1000, 1001):
        starts = {v - slope * n for v, n in zip(values, lengths)}
        if len(starts) == 1:
            return slope, starts.pop()
    raise ValueError("no line")
