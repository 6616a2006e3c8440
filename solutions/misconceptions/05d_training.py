# Plausible wrong answers to the exercises of chapter 05d, each with the hint that it earns.
# One is a whole program, or an edit of the reference answer: "- " a line that goes, "+ " one that comes.

# %% exercise=5.17 hint="You count numbers, not bytes: a float32 number has four."
-     return 4 * apart, 4 * (len(loaded) + len(kept))
+     return apart, len(loaded) + len(kept)

# %% exercise=5.17 hint="A kernel that reads a name twice, as in x * x, loads it once: count different names."
-     apart = sum(len(set(reads)) + 1 for _, reads in lines)
+     apart = sum(len(reads) + 1 for _, reads in lines)

# %% exercise=5.17 hint="What an earlier line has made is in a register of the fused kernel: it is not loaded."
-         loaded |= set(reads) - made
+         loaded |= set(reads)

# %% exercise=5.17 hint="A line that reads what it makes itself, as v = 0.9 v, has to load it: put the name among the made ones after looking at what is read."
-         loaded |= set(reads) - made
-         made.add(name)
+         made.add(name)
+         loaded |= set(reads) - made

# %% exercise=5.17 hint="The fused kernel writes what is kept and nothing else: what lies between stays in registers."
-     return 4 * apart, 4 * (len(loaded) + len(kept))
+     return 4 * apart, 4 * (len(loaded) + len(made))

# %% exercise=5.17 hint="Each of the separate kernels writes its result too: one number more for each line."
-     apart = sum(len(set(reads)) + 1 for _, reads in lines)
+     apart = sum(len(set(reads)) for _, reads in lines)

# %% exercise=5.17 hint="A name that is read before a line makes it must come in, even if it is made later: walk through the lines in order."
-     for name, reads in lines:
-         loaded |= set(reads) - made
-         made.add(name)
+     made = {name for name, _ in lines}
+     loaded = {read for _, reads in lines for read in reads} - made

# %% exercise=5.17 hint="You leave out lines whose result nobody needs. A clever compiler would too, but here every line is worked out: what it reads must come in."
-     for name, reads in lines:
-         loaded |= set(reads) - made
-         made.add(name)
+     loaded = set(kept)
+     for name, reads in reversed(lines):
+         if name in loaded:
+             loaded = loaded - {name} | set(reads)

# %% exercise=5.17 hint="You leave out lines whose result nobody needs. A clever compiler would too, but here every line is worked out: what it reads must come in."
-     made, loaded = set(), set()
-     for name, reads in lines:
+     needed, used = set(kept), []
+     for name, reads in reversed(lines):
+         if name in needed:
+             needed |= set(reads)
+             used.append((name, reads))
+     made, loaded = set(), set()
+     for name, reads in reversed(used):

# %% exercise=5.20 hint="Backward must not count: a number it takes is missing for the next forward. Remember the key in forward."
-         return grad * self.mask(grad.shape, self.key)
+         Dropped.calls += 1
+         return grad * self.mask(grad.shape, Dropped.calls)

# %% exercise=5.20 hint="The key that you go back by stands in the class: it is the last forward's, whoever's that was, and with two layers another's. Keep your own in self."
-         return grad * self.mask(grad.shape, self.key)
+         return grad * self.mask(grad.shape, Dropped.calls)

# %% exercise=5.20 hint="Counting back, or taking the last from a list, fits if operations go back in the opposite order, each once. They need not: let each remember its key."
-         return grad * self.mask(grad.shape, self.key)
+         Dropped.calls -= 1
+         return grad * self.mask(grad.shape, Dropped.calls + 1)

# %% exercise=5.20 hint="Right gradients, but a mask is kept: as many bytes as x has. Keep the key, and draw the mask again."
-         return x * self.mask(x.shape, self.key)
+         self.kept = self.mask(x.shape, self.key)
+         return x * self.kept

-         return grad * self.mask(grad.shape, self.key)
+         return grad * self.kept

# %% exercise=5.20 hint="The gradient passes where the number did, times 2 as the number was: use the mask as it is."
-         return grad * self.mask(grad.shape, self.key)
+         return grad * (self.mask(grad.shape, self.key) > 0)

# %% exercise=5.20 hint="All operations have the key 1 now, and drop the same numbers: count the calls of forward."
-         Dropped.calls += 1
-         self.key = Dropped.calls
+         self.key = 1

# %% exercise=5.21 hint="You wait for all that the other stream has been given until now. An event stands for what came before its record: note the time then, and not the name of the stream."
-             events[thing] = now
+             events[thing] = stream

-             now = max(now, events[thing])
+             now = max(now, done[events[thing]])

# %% exercise=5.21 hint="The host does not wait for what it launches: add the launch to its clock, and nothing else."
-         if what == "run":
-             now += thing
+         if what == "run":
+             now += thing
+             host = now

# %% exercise=5.21 hint="A stream works one thing after the other: what is launched begins at the later of the host's clock and the stream's."
-         now = max(host, now)
+         now = host

# %% exercise=5.21 hint="Nothing starts before it is launched: an idle stream begins at the host's clock."
-         now = max(host, now)

# %% exercise=5.21 hint="Two streams have two clocks: work in one does not wait for work in the other, unless an event says so."
-         now = done.get(stream, 0)
+         now = max(done.values(), default=0)

# %% exercise=5.21 hint="An event happens when the stream gets there, not when the host says so."
-             events[thing] = now
+             events[thing] = host

# %% exercise=5.21 hint="Only the stream waits for an event. The host has put the waiting into the queue and goes on."
-             now = max(now, events[thing])
+             now = max(now, events[thing])
+             host = max(host, now)

# %% exercise=5.21 hint="To wait is to move on to the event's time only if that is later: a stream that is further on stays where it is."
-             now = max(now, events[thing])
+             now = events[thing]

# %% exercise=5.21 hint="A look costs no launch: the host waits until the stream is done, and nothing else."
-         if what == "look":
-             host = max(host, now)
-             continue
-         host += launch
+         host += launch
+         if what == "look":
+             host = max(host, now)
+             continue

# %% exercise=5.21 hint="A record is in the queue as well: it happens when it has been launched, and before that its stream is not done."
-             events[thing] = now
+             events[thing] = now
+             now = done.get(stream, 0)

# %% exercise=5.21 hint="Records and waits are launched as kernels are: neither happens before the host has said so."
-         now = max(host, now)
-         if what == "run":
-             now += thing
+         if what == "run":
+             now = max(host, now) + thing

# %% exercise=5.21 hint="A stream that waits has its own queue as well: it goes on when the event is over and when all that stands before is done, whichever is later."
-             now = max(now, events[thing])
+             now = max(host, events[thing])

# %% exercise=5.20 hint="The key that you go back by stands in the class: it is the last forward's, whoever's that was, and with two layers another's. Keep your own in self."
class Mended(Dropped):
    """Dropped, whose gradient passes where the number did."""

    key = 0

    def forward(self, x: Array) -> Array:
        Dropped.calls += 1
        Mended.key = Dropped.calls
        return x * self.mask(x.shape, Mended.key)

    def backward(self, grad: Array) -> Array:
        return grad * self.mask(grad.shape, Mended.key)

# %% exercise=5.17 hint="One kernel loads an input once, however many of its lines read it: collect what is loaded in a set."
def moved(lines: list[tuple[str, list[str]]], kept: set[str]) -> tuple[int, int]:
    """Bytes for each float32 number: with a kernel for each line, and with one kernel for all."""
    apart = sum(len(set(reads)) + 1 for _, reads in lines)
    loads, made = 0, set()
    for name, reads in lines:
        loads += len(set(reads) - made)
        made.add(name)
    fused = loads + len(kept & made)
    return 4 * apart, 4 * fused
