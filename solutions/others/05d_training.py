"""Second right answers to the exercises of chapter 05d, by another way than the reference's: each earns all points."""

# %% exercise=5.17
def moved(lines, kept):
    apart, needed = 0, set(kept)
    for name, reads in reversed(lines):
        apart += 4 * len({*reads}) + 4
        needed.discard(name)
        needed.update(reads)
    return apart, 4 * (len(needed) + len(kept))


# %% exercise=5.20
class Mended(Dropped):
    def forward(self, x):
        Dropped.calls = self.number = Dropped.calls + 1
        drawn = counted(self.number, x.size).reshape(x.shape)
        return np.where(drawn >= 2**31, 2 * x, 0)

    def backward(self, grad):
        drawn = counted(self.number, grad.size).reshape(grad.shape)
        return np.where(drawn < 2**31, 0, grad + grad)


# %% exercise=5.21
def finished(program, launch=1):
    host, queues = 0, {}
    for what, stream, thing in program:
        if what != "look":
            host += launch
            queues.setdefault(stream, []).append((what, thing, host))
        else:
            host = max(host, ends(queues).get(stream, 0))
    return host, ends(queues)


def ends(queues):
    events, done, places = {}, dict.fromkeys(queues, 0), dict.fromkeys(queues, 0)
    moving = True
    while moving:
        moving = False
        for stream, queue in queues.items():
            while places[stream] < len(queue):
                what, thing, launched = queue[places[stream]]
                if what == "wait" and thing not in events:
                    break
                begin = max(done[stream], launched, events[thing] if what == "wait" else 0)
                if what == "record":
                    events[thing] = begin
                done[stream] = begin + thing if what == "run" else begin
                places[stream] += 1
                moving = True
    return done
