"""Plausible wrong answers in Python to the exercises of chapter 04b, each with the hint that it earns."""

# %% exercise=4.9 hint="You count lanes. Lanes that want the same word of a bank get it together: count different words."
def conflicts(words):
    queues = [0] * 32
    for word in words:
        queues[word % 32] += 1
    return max(queues) - 1

# %% exercise=4.9 hint="One word for each bank is no conflict: take 1 off the longest queue."
def conflicts(words):
    return max(len({word for word in words if word % 32 == bank}) for bank in range(32))

# %% exercise=4.9 hint="You add up the queues of all banks. Banks work side by side: only the longest queue counts."
def conflicts(words):
    return len(set(words)) - len({word % 32 for word in words})

# %% exercise=4.9 hint="The bank of word w is w mod 32: words that are 32 apart share one. You take w // 32."
def conflicts(words):
    words = set(words)
    return max(len({word for word in words if word // 32 == bank}) for bank in {w // 32 for w in words}) - 1

# %% exercise=4.9 hint="The bank of word w is w mod 32: words that are 32 apart share one. You take w // 32."
-         queues[word % 32].add(word)
+         queues[word // 32].add(word)

# %% exercise=4.9 hint="You let 16 lanes ask at a time, as the first CUDA devices did. Now all 32 ask at once: one set of queues for the whole warp."
def conflicts(words):
    longest = 0
    for half in (words[:16], words[16:]):
        queues = [set() for _ in range(32)]
        for word in half:
            queues[word % 32].add(word)
        longest = max(longest, *(len(queue) for queue in queues))
    return longest - 1

# %% exercise=4.9 hint="Python calls one set larger than another if it holds it, so `max` of sets does not find the one with the most words: compare lengths."
-     return max(len(queue) for queue in queues) - 1
+     return len(max(queues)) - 1

# %% exercise=4.9 hint="Banks are counted in words, and `words` are words already: their number modulo 32, without the 4 bytes."
-         queues[word % 32].add(word)
+         queues[4 * word % 32].add(word)

# %% exercise=4.9 hint="The bank that most lanes ask need not be the slowest: lanes that want the same word are served at once. Count the different words of each bank, and take the most."
def conflicts(words):
    banks = [word % 32 for word in words]
    busiest = max(set(banks), key=banks.count)
    return len({word for word in words if word % 32 == busiest}) - 1

# %% exercise=4.9 hint="Banks are counted in words, and `words` are words already: their number modulo 32, without the 4 bytes."
-         queues[word % 32].add(word)
+         queues[word // 4 % 32].add(word)

# %% exercise=4.9 hint="Banks are counted in words, and `words` are words already: their number modulo 32, without the 4 bytes."
-         queues[word % 32].add(word)
+         queues[word // 4 % 32].add(word // 4)
