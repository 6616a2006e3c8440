# Plausible wrong answers to the exercises of chapter 10d, each with the hint that it earns.
# One is a whole program, or an edit of the reference answer: "- " a line that goes, "+ " one that comes.

# %% exercise=10.14 hint="You add up the delays in frames of the sound. A layer with a stride counts in frames of its own: divide by it, and round up."
-         delay = max(-(-(delay + span - stride - before) // stride), 0)
+         delay = max(delay + span - stride - before, 0)

# %% exercise=10.14 hint="You round down. A result that needs half a frame more is a whole frame later."
-         delay = max(-(-(delay + span - stride - before) // stride), 0)
+         delay = max((delay + span - stride - before) // stride, 0)

# %% exercise=10.14 hint="Your delay falls below 0 where there is more padding than the window needs: no frame goes out before there is a pulse."
-         delay = max(-(-(delay + span - stride - before) // stride), 0)
+         delay = -(-(delay + span - stride - before) // stride)

# %% exercise=10.14 hint="A pulse has to be divisible by all strides that it meets, one behind the other: they multiply."
-         pulse *= stride
+         pulse = max(pulse, stride)

# %% exercise=10.15 hint="Your convolution is late by the padding behind, and not by what the window still needs: the delay comes from the span, the stride and the padding before."
-         self.delay = max(-(-(max(self.span - stride, 0) - self.before) // stride), 0)
+         self.delay = self.after

# %% exercise=10.15 hint="A dilated window spans more frames than it has taps: dilation * (K - 1) + 1."
-         self.span = dilation * (weight.shape[2] - 1) + 1
+         self.span = weight.shape[2]

# %% exercise=10.15 hint="You forget the stream at each pulse: the buffer has to keep the latest frames of what was seen."
-         self.past = seen[:, x.shape[1] :]
+         self.past = self.past * 0

# %% exercise=10.15 hint="You keep the latest frames of the pulse alone. With a pulse shorter than the buffer some come from the buffer: keep the end of both together."
-         self.past = seen[:, x.shape[1] :]
+         kept = self.past.shape[1]
+         self.past = np.concatenate([np.zeros_like(self.past), x], axis=1)[:, x.shape[1] :] if kept else self.past

# %% exercise=10.15 hint="At the end you return what the last frames give, and forget the results that are late, which zeros would still push out."
-         padded = np.zeros((len(x), max(need, x.shape[1] + -x.shape[1] % self.stride)), self.weight.dtype)
+         padded = np.zeros((len(x), x.shape[1] + -x.shape[1] % self.stride), self.weight.dtype)

# %% exercise=10.15 hint="Where a stream is shorter than the delay, finish returns frames that are none of the stream's: drop those whose number is below 0."
-         return self.run(padded)[:, max(-first, 0) : max(total - first, 0)]
+         return self.run(padded)[:, : max(total - first, 0)]

# %% exercise=10.15 hint="The bias belongs to each result once: you add it for each tap of the kernel."
-             made += self.weight[:, :, k] @ taken
+             made += self.weight[:, :, k] @ taken + self.bias[:, None] * (k > 0)

# %% exercise=10.15 hint="Your buffer belongs to the class, and all streams share it: make it in __init__, for each one."
-         self.past = np.zeros((weight.shape[1], self.delay * stride + self.before), weight.dtype)
+         memory = PulsedConv1d.__dict__.get("memory", {})
+         PulsedConv1d.memory = memory
+         shape = (weight.shape[1], self.delay * stride + self.before)
+         self.past = memory.setdefault(shape, np.zeros(shape, weight.dtype))

-         self.past = seen[:, x.shape[1] :]
+         self.past[:] = seen[:, x.shape[1] :]

# %% exercise=10.15 hint="-0 is 0: where nothing need be kept, your slice keeps everything, and the next run begins with old frames again. Count from the front where it begins."
-         self.past = seen[:, x.shape[1] :]
+         self.past = seen[:, -(self.delay * self.stride + self.before) :]

# %% exercise=10.15 hint="-0 is 0: where nothing need be kept, your slice keeps everything, and the next run begins with old frames again. Count from the front where it begins."
-         self.past = seen[:, x.shape[1] :]
+         self.past = seen[:, -(self.delay * self.stride + self.before) :]

+         self.past = self.past[:, self.past.shape[1] - self.delay * self.stride - self.before :]
          return self.run(padded)[:, max(-first, 0) : max(total - first, 0)]

# %% exercise=10.15 hint="`run` hands out the same array each time, and writes over what it has handed out before. Whose are the results that somebody keeps?"
-         self.frames = self.results = 0
+         self.frames = self.results = 0
+         self.made = np.zeros((len(weight), 0), weight.dtype)

-         made = np.zeros((len(self.weight), count), self.weight.dtype)
+         if self.made.shape[1] != count:
+             self.made = np.zeros((len(self.weight), count), self.weight.dtype)
+         made = self.made
+         made[...] = self.bias[:, None]

-         return made + self.bias[:, None]
+         return made

# %% exercise=10.16 hint="Two things are shared yet. Follow one array with a finger: from the model to a stream, and from a caller's pulse to `past`. Who else holds it?"
-         return Stream(self.silence.copy())
+         return Stream(self.silence)

-         span = len(self.past)
-         self.past = np.concatenate([self.past, pulse])[-span:]
+         span, new = len(self.past), len(pulse)
+         if new >= span:
+             self.past = pulse[new - span :]
+         else:
+             self.past[: span - new] = self.past[new:]
+             self.past[span - new :] = pulse

# %% exercise=10.16 hint="Streams still share the silence of their model: spawn has to make an array for each."
-         return Stream(self.silence.copy())
+         return Stream(self.silence)

-         self.past = np.concatenate([self.past, pulse])[-span:]
+         span, new = len(self.past), min(len(pulse), len(self.past))
+         self.past[: span - new] = self.past[new:]
+         self.past[span - new :] = pulse[len(pulse) - new :]

# %% exercise=10.16 hint="You keep a view of the array that the caller gave, where a pulse is as long as the memory. When the caller uses it again, your past changes: copy."
-         self.past = np.concatenate([self.past, pulse])[-span:]
+         self.past = pulse[-span:] if len(pulse) >= span else np.concatenate([self.past, pulse])[-span:]

# %% exercise=10.16 hint="You begin anew in each run: a stream has to remember what came before."
-         self.past = np.concatenate([self.past, pulse])[-span:]
+         self.past = np.concatenate([np.zeros(span), pulse])[-span:]

# %% exercise=10.18 hint="An output goes out of the dictionary with the first input that reads it, and a second input may read the same one: leave it in until all are served."
-         self.kept = {name: made[output].copy() for name, output in self.back.items()}
-         return {name: array for name, array in made.items() if name not in self.back.values()}
+         self.kept = {name: made.pop(output).copy() for name, output in self.back.items()}
+         return made

# %% exercise=10.19 hint="You look through the whole buffer for each number. Which of its numbers can never become the largest again?"
-             while self.kept and self.kept[-1][1] < number:
-                 self.kept.pop()
-             self.kept.append((self.place, number))
-             if self.kept[0][0] <= self.place - self.k:
-                 self.kept.popleft()
-             self.place += 1
-             made.append(self.kept[0][1])
+             self.kept.append(number)
+             if len(self.kept) > self.k:
+                 self.kept.popleft()
+             best = self.kept[0]
+             for other in self.kept:
+                 if best < other:
+                     best = other
+             made.append(best)

# %% exercise=10.19 hint="Your largest never leaves: throw out the first number when it is k places old."
-             if self.kept[0][0] <= self.place - self.k:
-                 self.kept.popleft()

# %% exercise=10.19 hint="Your stream begins anew with each pulse: what is kept has to live as long as the object."
-         made = []
+         made, self.kept = [], deque()

# %% exercise=10.19 hint="Places go on counting from pulse to pulse; `enumerate` begins at 0 again in each. Keep the place in self."
-         for number in pulse:
+         for self.place, number in enumerate(pulse):

-             self.place += 1

# %% exercise=10.19 hint="`maxlen` counts the numbers that are kept, not those that have come: small ones were thrown out, so the deque is seldom full, and an old largest stays. How could you tell how old it is?"
-         self.k, self.place = k, 0
-         self.kept: deque[tuple[int, Any]] = deque()
+         self.kept: deque[Any] = deque(maxlen=k)

-             while self.kept and self.kept[-1][1] < number:
+             while self.kept and self.kept[-1] < number:

-             self.kept.append((self.place, number))
-             if self.kept[0][0] <= self.place - self.k:
-                 self.kept.popleft()
-             self.place += 1
-             made.append(self.kept[0][1])
+             self.kept.append(number)
+             made.append(self.kept[0])

# %% exercise=10.17 hint="Nobody waits: you add frames with different numbers. A stream that is less late than the latest has to be kept back."
-         self.waiting = [np.zeros(self.delay - delay) for delay in delays]
+         self.waiting = [np.zeros(0) for delay in delays]

# %% exercise=10.17 hint="You make the late ones wait, and let the early ones through: it is the other way round."
-         self.waiting = [np.zeros(self.delay - delay) for delay in delays]
+         self.waiting = [np.zeros(delay) for delay in delays]

# %% exercise=10.17 hint="Your queue is only as long as one pulse allows: a stream may have to wait for more frames than a pulse has."
-         self.waiting = [np.zeros(self.delay - delay) for delay in delays]
+         self.waiting = [np.zeros(self.delay - delay) for delay in delays]
+         self.first = True

-             made += queue[: len(pulse)]
-             self.waiting[i] = queue[len(pulse) :]
+             made += queue[: len(pulse)]
+             self.waiting[i] = pulse[max(len(pulse) - len(self.waiting[i]), 0) :]

# %% exercise=10.17 hint="The sum is as late as the latest of its streams, not as all delays together."
-         self.delay = max(delays)
+         self.delay = sum(delays)

# %% exercise=10.18 hint="You keep the very arrays that the caller gets. When he writes into one, your next run reads it: copy what you keep."
-         self.kept = {name: made[output].copy() for name, output in self.back.items()}
+         self.kept = {name: made[output] for name, output in self.back.items()}

# %% exercise=10.18 hint="Your streams begin with the same arrays. A step that writes into its input writes into start: copy it."
-         self.kept = {name: array.copy() for name, array in start.items()}
+         self.kept = start

# %% exercise=10.18 hint="You carry nothing: the next run has to read the outputs of this one."
-         self.kept = {name: made[output].copy() for name, output in self.back.items()}

# %% exercise=10.18 hint="You return what is kept as well. A caller gets the outputs that do not come back."
-         return {name: array for name, array in made.items() if name not in self.back.values()}
+         return made

# %% exercise=10.14 hint="round goes to the nearest whole number, and a result is promised before its window is there. Round up: math.ceil, or -(-a // b)."
-         delay = max(-(-(delay + span - stride - before) // stride), 0)
+         delay = max(round((delay + span - stride - before) / stride), 0)

# %% exercise=10.14 hint="With a stride the pulse brings whole strides: a layer waits for span - stride - before frames, not for span - 1 - before."
def lateness(layers: Iterable[tuple[int, int, int]]) -> tuple[int, int]:
    """How late a stack of layers (span, stride, before) is, in its own frames, and its smallest pulse."""
    delay, pulse = 0, 1
    for span, stride, before in layers:
        waiting = delay + span - 1 - before
        delay = max(-(-waiting // stride), 0)
        pulse = pulse * stride
    return delay, pulse

# %% exercise=10.18 hint="Your buffer was handed to the step, which may have given it back as an output, and you write over it: keep a new copy each time, `array.copy()`."
-         self.kept = {name: made[output].copy() for name, output in self.back.items()}
+         for name, output in self.back.items():
+             self.kept[name][:] = made[output]

# %% exercise=10.18 hint="A step may keep what the caller gave it, and the caller may write into that later: copy what you keep, not only what you return."
-         self.kept = {name: made[output].copy() for name, output in self.back.items()}
-         return {name: array for name, array in made.items() if name not in self.back.values()}
+         self.kept = {name: made[output] for name, output in self.back.items()}
+         return {name: array.copy() for name, array in made.items() if name not in self.back.values()}
