# Plausible wrong answers to the exercises of chapter 09a, each with the hint that it earns.
# One is a whole program, or an edit of the reference answer: "- " a line that goes, "+ " one that comes.

# %% exercise=9.1 hint="What is fed is known already: it does not run, and nobody asks for what stands above it."
-         if name not in needed and name not in fed:
+         if name not in needed:

# %% exercise=9.1 hint="You leave out what is fed, but still visit its inputs. Feeding cuts the graph: what stands above is needed only if another way leads there."
-         if name not in needed and name not in fed:
+         if name not in needed:

-     return [name for name in program if name in needed]
+     return [name for name in program if name in needed and name not in fed]

# %% exercise=9.1 hint="The order is that in which the program was written, not the one in which you have found the nodes."
-     return [name for name in program if name in needed]
+     return sorted(needed)

# %% exercise=9.1 hint="At the first node that is fed you stop altogether, and whatever still waits is never looked at. Pass over this one, and go on with the others."
-         if name not in needed and name not in fed:
+         if name in fed:
+             break
+         if name not in needed:

# %% exercise=9.2 hint="A node still takes its place the first time that it is met. If it is met again further away, whoever is met there needs it earlier than it stands: a node has to wait until its inputs have been placed."
-     found: list[str] = []
-
-     def visit(node: str) -> None:
-         if node not in found:
-             for x in inputs[node]:
-                 visit(x)
-             found.append(node)
-
-     visit(wanted)
-     return found
+     found, queue = [], [wanted]
+     while queue:
+         node = queue.pop(0)
+         if node not in found:
+             found.append(node)
+             queue += inputs[node]
+     return found[::-1]

# %% exercise=9.2 hint="You bring the inputs of a node in front of it, but not those that they need in turn: visit an input fully before you place it."
-             for x in inputs[node]:
-                 visit(x)
-             found.append(node)
+             found.extend(x for x in dict.fromkeys(inputs[node]) if x not in found)
+             found.append(node)
+             for x in inputs[node]:
+                 visit(x)

# %% exercise=9.2 hint="A stack in place of the queue is not yet an order: you still place a node when you meet it, before its inputs. It has to wait until they are placed."
-     found: list[str] = []
-
-     def visit(node: str) -> None:
-         if node not in found:
-             for x in inputs[node]:
-                 visit(x)
-             found.append(node)
-
-     visit(wanted)
-     return found
+     found, stack = [], [wanted]
+     while stack:
+         node = stack.pop()
+         if node not in found:
+             found.append(node)
+             stack += inputs[node]
+     return found[::-1]

# %% exercise=9.2 hint="A node that two others read stands in your list twice. Before you visit a node, ask whether it has been placed."
-         if node not in found:
-             for x in inputs[node]:
-                 visit(x)
-             found.append(node)
+         if len(found) > 500:
+             return
+         for x in inputs[node]:
+             visit(x)
+         found.append(node)

# %% exercise=9.3 hint="When an axis is deleted, all behind it move down by one, and the next number means another axis. Make a new tuple, or delete from the back."
-     return tuple(1 if i in dims else n for i, n in enumerate(x) if f.keepdim or i not in dims)
+     left = list(x)
+     for i in dims:
+         if f.keepdim:
+             left[i] = 1
+         else:
+             del left[i]
+     return tuple(left)

# %% exercise=9.3 hint="A negative axis counts from the end: ops.axes turns it into one that you can compare."
-     dims = ops.axes(f.dim, len(x))
+     dims = range(len(x)) if f.dim is None else f.dim

# %% exercise=9.3 hint="With keepdim the axes of a sum stay, as ones. Without it they go."
-     return tuple(1 if i in dims else n for i, n in enumerate(x) if f.keepdim or i not in dims)
+     return tuple(n for i, n in enumerate(x) if i not in dims)

# %% exercise=9.3 hint="A reshape that does not hold the same numbers has to be refused: multiply the lengths of both shapes, after the -1 is replaced."
-     if math.prod(full) != total:
-         raise ValueError(f"reshape: {Shape(old)} holds {total} numbers, which do not fit into {Shape(shape)}")

# %% exercise=9.3 hint="Along the axis of concat lengths add up; there they need not agree. Along all others they do."
-         made = [n + m if i == f.dim else equations.equate(n, m) for i, (n, m) in enumerate(zip(made, shape))]
+         made = [equations.equate(n, m) for n, m in zip(made, shape)]

# %% exercise=9.3 hint="The lengths beside the axis of concat have to agree, and a letter may learn from that what it is: equations.equate tells it."
-         made = [n + m if i == f.dim else equations.equate(n, m) for i, (n, m) in enumerate(zip(made, shape))]
+         made = [n + m if i == f.dim else n for i, (n, m) in enumerate(zip(made, shape))]

# %% exercise=9.4 hint="You run all of the program. Only the ancestors of what is fetched should run."
-         steps = [node for node in self.program if node in needed]
+         steps = [node for node in self.program if node in needed or (node.f and node not in values)]

# %% exercise=9.4 hint="You run what was fed, or what only leads to it. A fed node is known, and the search for ancestors stops there."
-         needed = self.needed(wanted, values)
+         needed = self.needed(wanted, ())

# %% exercise=9.4 hint="A missing feed comes to light when functions have run already. Look at all nodes that will run before you call the first."
-         for node in steps:
-             if node.f is None:
-                 raise ValueError(f"{node.name} has no value: feed one")
-         for node in steps:
-             values[node] = node.f(*[values[x] for x in node.inputs])
+         for node in steps:
+             if node.f is None:
+                 raise ValueError(f"{node.name} has no value: feed one")
+             values[node] = node.f(*[values[x] for x in node.inputs])

# %% exercise=9.4 hint="The result has lost its structure: lists stay lists, tuples tuples and dicts dicts, nested as they came."
-     if isinstance(structure, list | tuple):
-         return type(structure)(rebuilt(part, leaf) for part in structure)
+     if isinstance(structure, list | tuple):
+         return [rebuilt(part, leaf) for part in structure]

# %% exercise=9.4 hint="A feed can be a node of another program, too: check the keys of the feeds as you check the fetches."
-         values = {self.checked(node): value for node, value in (feeds or {}).items()}
+         values = dict(feeds or {})

# %% exercise=9.4 hint="A program may be longer than Python lets functions call themselves. Find the ancestors with a list of nodes that wait to be visited."
-         found, waiting = set(), list(wanted)
-         while waiting:
-             node = waiting.pop()
-             if node not in found and node not in known:
-                 found.add(node)
-                 waiting += node.inputs
-         return found
+         found = set()
+         def visit(node):
+             if node not in found and node not in known:
+                 found.add(node)
+                 for x in node.inputs:
+                     visit(x)
+         for node in wanted:
+             visit(node)
+         return found

# %% exercise=9.5 hint="You tie the two lengths that you are given, and not the ends to which they lead. Find both first: else what they knew before is forgotten."
-         n, m = self.find(n), self.find(m)
-         if n == m:

# %% exercise=9.5 hint="The alphabetically first letter stands for all that are equal, and a number stands for any letter."
-         first, second = sorted((n, m), key=lambda length: (isinstance(length, str), length))
+         first, second = (m, n) if isinstance(n, str) else (n, m)

# %% exercise=9.5 hint="Beside a 1, or where an axis is missing, you give back the length as it was written: say what is known of it at the end, as of all others."
-         return tuple(map(self.find, made))
+         both = zip((1,) * (len(y) - len(x)) + tuple(x), (1,) * (len(x) - len(y)) + tuple(y))
+         return tuple(m if n == 1 else n if m == 1 else self.find(n) for n, m in both)

# %% exercise=9.5 hint="An axis on the right may teach something about one on its left, or the other way round: look at all lengths again at the end."
-         return tuple(map(self.find, made))
+         return tuple(made)

# %% exercise=9.5 hint="A letter may have become 1 before, and then it gives way like a 1: ask what is known of both lengths before you compare them with 1."
-             n, m = self.find(n), self.find(m)
-             made.append(m if n == 1 else n if m == 1 else self.equate(n, m))
+             made.append(m if n == 1 else n if m == 1 else self.equate(n, m))

# %% exercise=9.3 hint="A shape without -1 has to hold as many numbers as the old one, too: compare in both cases."
-     total, known = math.prod(old), math.prod(n for n in shape if n != -1)
+     if -1 not in shape:
+         return tuple(shape)
+     total, known = math.prod(old), math.prod(n for n in shape if n != -1)

# %% exercise=9.2 hint="You move a node that is met again, and its inputs stay where they were, now behind it. Place a node when all of its inputs are placed."
-     found: list[str] = []
-
-     def visit(node: str) -> None:
-         if node not in found:
-             for x in inputs[node]:
-                 visit(x)
-             found.append(node)
-
-     visit(wanted)
-     return found
+     found, queue = [], [wanted]
+     while queue:
+         node = queue.pop(0)
+         if node in found:
+             found.remove(node)
+         else:
+             queue += inputs[node]
+         found.append(node)
+     return found[::-1]

# %% exercise=9.4 hint="You write results among what was fed, into the caller's dictionary, or one that all calls share: the next run takes them for fed. Make a new one in each run."
-         values = {self.checked(node): value for node, value in (feeds or {}).items()}
+         values = feeds if feeds is not None else self.__dict__.setdefault("kept", {})
+         for node in values:
+             self.checked(node)
