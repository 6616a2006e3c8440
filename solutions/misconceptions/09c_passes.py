# Plausible wrong answers to the exercises of chapter 09c, each with the hint that it earns.
# One is a whole program, or an edit of the reference answer: "- " a line that goes, "+ " one that comes.

# %% exercise=9.11 hint="You compare numbers: for == the two zeros are one. Compare their bits, as in a.view(np.int32)."
-     same = (a.view(np.int32) == b.view(np.int32)) | (np.isnan(a) & np.isnan(b))
+     same = (a == b) | (np.isnan(a) & np.isnan(b))

# %% exercise=9.11 hint="A NaN has many bit patterns, and all of them are NaN: let those off that are NaN on both sides, and only those."
-     same = (a.view(np.int32) == b.view(np.int32)) | (np.isnan(a) & np.isnan(b))
+     same = (a.view(np.int32) == b.view(np.int32)) | np.isnan(a) | np.isnan(b)

# %% exercise=9.11 hint="You give back what a function made of the values. Asked for are the values themselves."
-     return values[~same]
+     return a[~same]

# %% exercise=9.11 hint="Nearly equal is not equal: a compiler that promises the same bits may not use a tolerance."
-     same = (a.view(np.int32) == b.view(np.int32)) | (np.isnan(a) & np.isnan(b))
+     same = np.isclose(a, b, equal_nan=True) & (np.signbit(a) == np.signbit(b))

# %% exercise=9.12 hint="The numbers are handed on, but not always in the shape and the dtype that `node` has: the one that stands in its place has to agree in both."
-     if same is None or (same.shape, same.dtype) != (node.shape, node.dtype):
-         return node
-     return same
+     return node if same is None else same

# %% exercise=9.12 hint="The shape agrees now, and the dtype does not: a cast to float64 hands its numbers on, but whoever reads it counts on float64."
-     if same is None or (same.shape, same.dtype) != (node.shape, node.dtype):
+     if same is None or same.shape != node.shape:

# %% exercise=9.12 hint="You compare how many axes there are, or how many numbers. A row of four is no table of two by two: compare the whole shape."
-     if same is None or (same.shape, same.dtype) != (node.shape, node.dtype):
+     if same is None or (same.size, same.dtype) != (node.size, node.dtype):

# %% exercise=9.12 hint="Only products and casts are mended in yours, or it does nothing at all any more. Whatever the operation, compare shape and dtype, and shorten where both agree."
-     if same is None or (same.shape, same.dtype) != (node.shape, node.dtype):
-         return node
-     return same
+     return node

# %% exercise=9.13 hint="Your name does not say what an operation's attributes are: sums along two axes have become one. Add frozen(vars(node.f))."
-             key = type(node.f), frozen(vars(node.f)), reads, _ids(new.controls)
+             key = type(node.f), reads, _ids(new.controls)

# %% exercise=9.13 hint="You look at the inputs as they were, and not as they have become. So only the innermost of two equal trees is found: take the inputs of changed(node, became)."
-             reads = tuple((id(x), versions.get(x, 0)) for x in new.inputs)
+             reads = tuple((id(x), versions.get(x, 0)) for x in node.inputs)

# %% exercise=9.13 hint="A variable that was assigned in between is read as if nothing had happened. Count the assignments to it, and put the count beside the input."
-             reads = tuple((id(x), versions.get(x, 0)) for x in new.inputs)
+             reads = tuple((id(x), 0) for x in new.inputs)

# %% exercise=9.13 hint="One assignment makes all variables new in yours: those that were not written are read twice for nothing. Count for each variable by itself."
-             versions[v] = versions.get(v, 0) + 1
+             versions[None] = versions.get(None, 0) + 1

-             reads = tuple((id(x), versions.get(x, 0)) for x in new.inputs)
+             reads = tuple((id(x), versions.get(None, 0) * isinstance(x.f, kinds.Stored)) for x in new.inputs)

# %% exercise=9.13 hint="Behind an assignment you keep apart even nodes that read no variable. Count for each variable by itself, and put its count beside that input alone."
-             versions[v] = versions.get(v, 0) + 1
+             versions[None] = versions.get(None, 0) + 1

-             reads = tuple((id(x), versions.get(x, 0)) for x in new.inputs)
-             key = type(node.f), frozen(vars(node.f)), reads, _ids(new.controls)
+             key = type(node.f), frozen(vars(node.f)), _ids(new.inputs), _ids(new.controls), versions.get(None)

# %% exercise=9.13 hint="You note that a variable was assigned, but not how often: reads behind the first assignment and behind the second get one name. What would tell them apart?"
-             versions[v] = versions.get(v, 0) + 1
+             versions[v] = 1

# %% exercise=9.14 hint="If a sum stands between two that you join, its loop waits for itself. Look for a way through a third unit first, and follow what each unit needs to the end: the way may lead through several."
-             if there is not None and alike and there != here and not detour(there, here):
+             if there is not None and alike and there != here:

# %% exercise=9.14 hint="A node that needs two units joins only one of them in yours. Where it may, it makes one unit of all."
-             if there is not None and alike and there != here and not detour(there, here):
+             if there is not None and alike and here == at[node] and there != here and not detour(there, here):

# %% exercise=9.14 hint="Your units stand in the order of their first nodes. One that began early may have to wait for another: order them by what they need."
-     return [members[i] for i in order(ready, before.__getitem__)]
+     return [members[i] for i in sorted(members)]

# %% exercise=9.14 hint="You ask whether a way leads around among nodes. But two nodes that share a loop by now also share their ways: ask among loops, as they stand at that moment."
def fuse(
    program: Sequence[N], needs: Mapping[N, Iterable[N]], kind: Mapping[N, Hashable]
) -> list[list[N]]:
    """Units of nodes that may share a loop, in an order in which they can run."""
    place = {node: i for i, node in enumerate(program)}
    unit = dict(place)
    members = {i: [node] for node, i in place.items()}
    above: dict[N, set[N]] = {}  # all that a node waits for, however far away
    for node in program:
        direct = [one for one in needs[node] if one in place]
        above[node] = set(direct).union(*(above[one] for one in direct))

    for node in program:
        for other in needs[node]:
            if other not in place or kind[node] is None or kind[node] != kind[other]:
                continue
            if unit[other] == unit[node]:
                continue
            older, younger = set(members[unit[other]]), set(members[unit[node]])
            both = older | younger
            # a node outside of both that waits for the older, and for which the younger waits
            if any(one not in both and above[one] & older for last in younger for one in above[last]):
                continue
            keep, gone = unit[other], unit[node]
            members[keep] = sorted(both, key=place.get)
            del members[gone]
            for one in members[keep]:
                unit[one] = keep

    def waits(number: int) -> list[int]:
        found = {unit[one] for node in members[number] for one in needs[node] if one in place}
        return sorted(found - {number})

    return [members[number] for number in order(list(members), waits)]

# %% exercise=9.14 hint="None is no kind: a sum and a product of matrices do not share a loop because neither has one."
-             alike = there is not None and kind[node] is not None and kind[x] == kind[node]
+             alike = there is not None and kind[x] == kind[node]

# %% exercise=9.14 hint="If a sum stands between two that you join, its loop waits for itself. Look for a way through a third unit first, and follow what each unit needs to the end: the way may lead through several."
-         oldest, seen, todo = at[members[start][0]], {end}, [end]
-         while todo:
-             number = todo.pop()
-             for one in (unit[x] for node in members[number] for x in needs[node] if x in unit):
-                 if one == start and number != end:
-                     return True
-                 # What is older than all of a unit cannot come from it.
-                 if one not in seen and one != start and at[members[one][-1]] > oldest:
-                     seen.add(one)
-                     todo.append(one)
-         return False
+         def needed(number):
+             return {unit[x] for node in members[number] for x in needs[node] if x in unit} - {number}
+
+         return any(start in needed(one) for one in needed(end) if one != start)

# %% exercise=9.15 hint="In the order of their birth holes form that nothing fits into. Try the largest first."
-     plans = [_placed(sorted(spans, key=key), beside, sizes) for key in keys]
+     plans = [_placed(sorted(spans, key=key), beside, sizes) for key in keys[2:]]

# %% exercise=9.15 hint="Two arrays that are alive together overlap. Does the last step of a span count in yours, as it should? Can the place go back, where a neighbour that begins later ends earlier? And are those that lie already walked from low to high? Who moves up behind one may land on one that was asked before."
-         alive = [other for other in alive if spans[other][1] >= spans[node][0]]
+         alive = [other for other in alive if spans[other][1] > spans[node][0]]

# %% exercise=9.15 hint="Two arrays that are alive together overlap. Does the last step of a span count in yours, as it should? Can the place go back, where a neighbour that begins later ends earlier? And are those that lie already walked from low to high? Who moves up behind one may land on one that was asked before."
-                 at = max(at, placed[other] + sizes[other])
+                 at = placed[other] + sizes[other]

# %% exercise=9.15 hint="Yours shares nothing: each array has a place of its own. Two that are never alive together may lie in the same place."
-         alive = [other for other in alive if spans[other][1] >= spans[node][0]]

# %% exercise=9.15 hint="You look at arrays in the order in which they were placed, and step over a gap below. From low to high, please."
-         for other in sorted(filter(placed.__contains__, beside[node]), key=placed.__getitem__):
+         for other in (one for one in placed if one in beside[node]):

# %% exercise=9.15 hint="Two arrays that are alive together overlap. Does the last step of a span count in yours, as it should? Can the place go back, where a neighbour that begins later ends earlier? And are those that lie already walked from low to high? Who moves up behind one may land on one that was asked before."
-                 at = max(at, placed[other] + sizes[other])
+                 at = placed[other] + sizes[other]

# %% exercise=9.16 hint="You never give a register back: each result has a new one. Those that a line reads for the last time are free for its own result."
-         free += [where[one] for one in dict.fromkeys(operands) if one in own and last[one] == name]

# %% exercise=9.16 hint="An operation that reads one register twice gives it back twice, and then two results share it. Give each back once."
-         free += [where[one] for one in dict.fromkeys(operands) if one in own and last[one] == name]
+         free += [where[one] for one in operands if one in own and last[one] == name]

# %% exercise=9.16 hint="You free the registers after the result has found its place. The line may write over what it reads: free them before."
-         free += [where[one] for one in dict.fromkeys(operands) if one in own and last[one] == name]

-         if name in own and name not in last:
-             free.append(where[name])
+         free += [where[one] for one in dict.fromkeys(operands) if one in own and last[one] == name]

# %% exercise=9.16 hint="You give back the place of a kept result as well, once it has been read, and a later line writes over it. Only registers are free again."
-         free += [where[one] for one in dict.fromkeys(operands) if one in own and last[one] == name]
+         free += [where[one] for one in dict.fromkeys(operands) if one in where and last[one] == name]

              where[name] = free.pop()
+         else:
+             where[name] = name

# %% exercise=9.14 hint="If a sum stands between two that you join, its loop waits for itself. Look for a way through a third unit first, and follow what each unit needs to the end: the way may lead through several."
def fuse(program, needs, kind):
    """The nodes in as few units as may be, each unit behind those that it needs."""
    place = {node: i for i, node in enumerate(program)}
    unit = {node: i for i, node in enumerate(program)}
    members = {i: [node] for i, node in enumerate(program)}

    def needed(number):
        """The units that this one needs directly."""
        found = []
        for node in members[number]:
            for other in needs[node]:
                if other in unit and unit[other] != number and unit[other] not in found:
                    found.append(unit[other])
        return found

    def way_around(old, young):
        """Is there a third unit that young needs, and that needs old?"""
        for third in needed(young):
            if third == old:
                continue
            for other in needed(third):
                if other == old:
                    return True
        return False

    for node in program:
        if kind[node] is None:
            continue
        for other in needs[node]:
            if other not in unit or kind[other] != kind[node]:
                continue
            old, young = unit[other], unit[node]
            if old == young or way_around(old, young):
                continue
            for member in members.pop(young):
                unit[member] = old
                members[old].append(member)
            members[old].sort(key=place.get)
    return [members[number] for number in order(list(members), needed)]

# %% exercise=9.15 hint="Two arrays that are alive together overlap. Does the last step of a span count in yours, as it should? Can the place go back, where a neighbour that begins later ends earlier? And are those that lie already walked from low to high? Who moves up behind one may land on one that was asked before."
def offsets(spans, sizes):
    places = {}
    for node in sorted(spans, key=lambda one: sizes[one], reverse=True):
        (first, last), at = spans[node], 0
        for other, place in places.items():
            together = spans[other][0] <= last and first <= spans[other][1]
            if together and place < at + sizes[node] and at < place + sizes[other]:
                at = place + sizes[other]
        places[node] = at
    return places, max((places[node] + sizes[node] for node in places), default=0)

# %% exercise=9.11 hint="You ask whether the values are NaN. Ask it of the two results: let those off that are NaN on both sides, and only those."
-     same = (a.view(np.int32) == b.view(np.int32)) | (np.isnan(a) & np.isnan(b))
+     same = (a.view(np.int32) == b.view(np.int32)) | np.isnan(values)
