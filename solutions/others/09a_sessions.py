"""Second right answers to the exercises of chapter 09a, by another way than the reference's: each earns all points."""


# %% exercise=9.1
def runs(program, fetches, fed):
    needed = []
    for name in reversed(program):
        readers = [other for other in needed if name in program[other]]
        if (name in fetches or readers) and name not in fed:
            needed.append(name)
    return needed[::-1]


# %% exercise=9.2
def in_order(wanted, inputs):
    needed, waiting = set(), [wanted]
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting.extend(inputs[node])
    order = []
    while len(order) < len(needed):
        for node in needed:
            if node not in order and all(x in order for x in inputs[node]):
                order.append(node)
    return order


# %% exercise=9.3
#| export
def reduced(f, x):
    made = list(x)
    for i in sorted(ops.axes(f.dim, len(x)), reverse=True):
        if f.keepdim:
            made[i] = 1
        else:
            del made[i]
    return tuple(made)


def full_shape(shape, old):
    shape, total = list(shape), 1
    for n in old:
        total = total * n
    if -1 in shape:
        place = shape.index(-1)
        shape[place] = 1
        shape[place] = total // math.prod(shape)
    if math.prod(shape) == total:
        return tuple(shape)
    raise ValueError(f"reshape: {total} numbers do not fit into {tuple(shape)}")


def joined(f, shapes, equations):
    if len({len(shape) for shape in shapes}) > 1:
        raise ValueError("concat: the shapes differ in their axes")
    made = []
    for axis, lengths in enumerate(zip(*shapes)):
        if axis == f.dim:
            made.append(sum(lengths))
        else:
            for n in lengths[1:]:
                equations.equate(lengths[0], n)
            made.append(lengths[0])
    return tuple(equations.resolve(n) if i != f.dim else n for i, n in enumerate(made))


# %% exercise=9.4
class Session:
    def __init__(self, program):
        self.program = program

    def look(self, node):
        if type(node) is not Node:
            raise TypeError(f"not a node: {node!r}")
        if node.program is not self.program:
            raise ValueError(f"{node.name} stands in another program")

    def leaves(self, one):
        if isinstance(one, (list, tuple, dict)):
            for part in one.values() if isinstance(one, dict) else one:
                yield from self.leaves(part)
        else:
            yield one

    def like(self, one, values):
        if isinstance(one, dict):
            return {key: self.like(part, values) for key, part in one.items()}
        if isinstance(one, (list, tuple)):
            parts = [self.like(part, values) for part in one]
            return parts if isinstance(one, list) else tuple(parts)
        return values[one]

    def run(self, fetches, feeds=None):
        values = dict(feeds or {})
        wanted = list(self.leaves(fetches))
        for node in [*wanted, *values]:
            self.look(node)
        # From the newest to the oldest: whether a node is needed is known when its turn comes.
        needed, steps = set(wanted), []
        for node in reversed(self.program):
            if node in needed and node not in values:
                needed.update(node.inputs)
                steps.append(node)
        missing = [node.name for node in steps if node.f is None]
        if missing:
            raise ValueError(f"feed {', '.join(missing)}")
        while steps:
            node = steps.pop()
            values[node] = node.f(*(values[x] for x in node.inputs))
        return self.like(fetches, values)


# %% exercise=9.5
class Contradiction(ValueError):
    """Two numbers for one length: an error of one's own is a ValueError, too."""


class Lengths:
    def __init__(self):
        self.groups = []

    def group(self, n):
        for group in self.groups:
            if n in group:
                return group
        self.groups.append({n})
        return self.groups[-1]

    def find(self, n):
        numbers = [m for m in self.group(n) if isinstance(m, int)]
        return numbers[0] if numbers else min(self.group(n))

    def equate(self, n, m):
        one, other = self.group(n), self.group(m)
        if one is not other:
            both = one | other
            self.groups = [g for g in self.groups if g is not one and g is not other] + [both]
            if len({k for k in both if isinstance(k, int)}) > 1:  # noted all the same: nobody asks after an error
                raise Contradiction(f"{n} and {m}")
        return self.find(n)

    def broadcast(self, x, y):
        made = []
        for i in range(1, max(len(x), len(y)) + 1):
            n = self.find(x[-i]) if i <= len(x) else 1
            m = self.find(y[-i]) if i <= len(y) else 1
            made.append(m if n == 1 else n if m == 1 else self.equate(n, m))  # the last axis first
        return tuple(self.find(n) for n in reversed(made))
