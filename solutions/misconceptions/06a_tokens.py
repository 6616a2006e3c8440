"""Plausible wrong answers to the exercises of chapter 06a, each with the hint that it earns."""

# %% exercise=6.1 hint="You count each word once. A pair of a word that comes five times occurs five times more."
-             counts[pair] += times
+             counts[pair] += 1

# %% exercise=6.1 hint="You skip every second pair: in abc there are two pairs, a b and b c."
-         for pair in pairwise(word):
+         for pair in zip(word[::2], word[1::2]):

# %% exercise=6.1 hint="A pair that stands twice in a word counts twice for it. A set forgets the second time."
-         for pair in pairwise(word):
+         for pair in set(pairwise(word)):

# %% exercise=6.1 hint="You pair single letters. The tokens of a word may be longer: they are the items of the tuple."
-         for pair in pairwise(word):
+         for pair in pairwise("".join(word)):

# %% exercise=6.1 hint="The last token of one word and the first of the next are no neighbours: words come in any order."
def pair_counts(words):
    row = [token for word, times in words.items() for token in word * times]
    return Counter(pairwise(row))

# %% exercise=6.1 hint="Of two words that hold a pair you keep only the last. Add to the count instead of setting it."
-             counts[pair] += times
+             counts[pair] = times

# %% exercise=6.2 hint="You count each distinct piece once. A pair in a piece that comes 50 times occurs 50 times more."
def train(texts, vocab_size):
    if vocab_size < 256:
        raise ValueError("vocab_size")
    words = [list(visible(piece.encode())) for piece in count_pieces(texts)]
    age = {token: i for i, token in enumerate(sorted(BYTE_OF))}
    merges = []
    while len(age) < vocab_size:
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], age[pair[0]], age[pair[1]]))
        merges.append(best)
        age["".join(best)] = len(age)
        words = [merged(word, best, "".join(best)) for word in words]
    return merges

# %% exercise=6.2 hint="You count the pairs once, at the start. Each merge makes new pairs and breaks old ones: count again after it."
def train(texts, vocab_size):
    if vocab_size < 256:
        raise ValueError("vocab_size")
    counts = Counter()
    for piece, times in count_pieces(texts).items():
        for pair in pairwise(visible(piece.encode())):
            counts[pair] += times
    order = sorted(counts, key=lambda pair: (-counts[pair], pair))
    return order[: vocab_size - 256]

# %% exercise=6.2 hint="Your merges cross the pieces: the end of one word is glued to the next. Count the pairs inside each piece."
def train(texts, vocab_size):
    if vocab_size < 256:
        raise ValueError("vocab_size")
    rows = [list(visible(text.encode())) for text in ([texts] if isinstance(texts, str) else texts)]
    age = {token: i for i, token in enumerate(sorted(BYTE_OF))}
    merges = []
    while len(age) < vocab_size:
        counts = Counter(pair for row in rows for pair in pairwise(row))
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], age[pair[0]], age[pair[1]]))
        merges.append(best)
        age["".join(best)] = len(age)
        rows = [merged(row, best, "".join(best)) for row in rows]
    return merges

# %% exercise=6.2 hint="vocab_size counts the 256 byte characters too: there are at most vocab_size - 256 merges."
-     while queue and len(tokens) < vocab_size:
+     while queue and len(merges) < vocab_size:

# %% exercise=6.2 hint="One merge too many: with vocab_size tokens it is time to stop."
-     while queue and len(tokens) < vocab_size:
+     while queue and len(tokens) <= vocab_size:

# %% exercise=6.2 hint="Begin with bytes, not with letters: é is two byte characters, visible(piece.encode('utf-8'))."
def train(texts, vocab_size):
    if vocab_size < 256:
        raise ValueError("vocab_size")
    times = count_pieces(texts)  # each piece once with its count: a text has far fewer pieces than words
    words = [list(piece) for piece in times]
    age = {token: i for i, token in enumerate(sorted({c for word in words for c in word}))}
    merges = []
    while len(merges) < vocab_size - 256:
        counts = Counter()
        for word, n in zip(words, times.values()):
            for pair in pairwise(word):
                counts[pair] += n
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], age[pair[0]], age[pair[1]]))
        merges.append(best)
        age["".join(best)] = len(age)
        words = [merged(word, best, "".join(best)) for word in words]
    return merges

# %% exercise=6.2 hint="Every merge joins a commonest pair; of equally common ones you take the first that you meet. Take the one with the older tokens."
def train(texts, vocab_size):
    if vocab_size < 256:
        raise ValueError("vocab_size")
    times = count_pieces(texts)  # each piece once with its count: a text has far fewer pieces than words
    words = [list(visible(piece.encode())) for piece in times]
    merges = []
    while len(merges) < vocab_size - 256:
        counts = Counter()
        for word, n in zip(words, times.values()):
            for pair in pairwise(word):
                counts[pair] += n
        if not counts:
            break
        best = max(counts, key=counts.get)
        merges.append(best)
        words = [merged(word, best, "".join(best)) for word in words]
    return merges

# %% exercise=6.2 hint="Of equally common pairs you take the first in the alphabet. What counts is the age of the tokens: merges are younger than all byte characters."
def train(texts, vocab_size):
    if vocab_size < 256:
        raise ValueError("vocab_size")
    times = count_pieces(texts)  # each piece once with its count: a text has far fewer pieces than words
    words = [list(visible(piece.encode())) for piece in times]
    merges = []
    while len(merges) < vocab_size - 256:
        counts = Counter()
        for word, n in zip(words, times.values()):
            for pair in pairwise(word):
                counts[pair] += n
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        words = [merged(word, best, "".join(best)) for word in words]
    return merges

# %% exercise=6.2 hint="When no pair is left, there is no commonest one: stop there, with the merges that you have."
def train(texts, vocab_size):
    if vocab_size < 256:
        raise ValueError("vocab_size")
    times = count_pieces(texts)  # each piece once with its count: a text has far fewer pieces than words
    words = [list(visible(piece.encode())) for piece in times]
    age = {token: i for i, token in enumerate(sorted(BYTE_OF))}
    merges = []
    while len(age) < vocab_size:
        counts = Counter()
        for word, n in zip(words, times.values()):
            for pair in pairwise(word):
                counts[pair] += n
        best = min(counts, key=lambda pair: (-counts[pair], age[pair[0]], age[pair[1]]))
        merges.append(best)
        age["".join(best)] = len(age)
        words = [merged(word, best, "".join(best)) for word in words]
    return merges

# %% exercise=6.2 hint="A vocabulary below 256 cannot hold the bytes: raise ValueError before anything else."
-     if vocab_size < 256:
-         raise ValueError(f"train: vocab_size must be at least 256, one for each byte, not {vocab_size}")

# %% exercise=6.3 hint="You merge the leftmost pair that has a rank. Training did not read from left to right: the lowest rank goes first."
-         best = min(pairwise(word), key=lambda pair: ranks.get(pair, len(ranks)))
-         if best not in ranks:
+         best = next((pair for pair in pairwise(word) if pair in ranks), None)
+         if best is None:

# %% exercise=6.3 hint="You merge the pair of highest rank first. Rank 0 was learned first, and goes first."
-         best = min(pairwise(word), key=lambda pair: ranks.get(pair, len(ranks)))
+         best = max(pairwise(word), key=lambda pair: ranks.get(pair, -1))

# %% exercise=6.3 hint="You stop after one merge. Each merge makes new pairs, which may have a rank: look again."
def merge_by_rank(word, ranks):
    word = list(word)
    if len(word) > 1:
        best = min(pairwise(word), key=lambda pair: ranks.get(pair, len(ranks)))
        if best in ranks:
            word = merged(word, best, best[0] + best[1])
    return word

# %% exercise=6.3 hint="You cut off the longest token that fits. That is another rule: merges go by rank, and may end with shorter tokens."
def merge_by_rank(word, ranks):
    known = {"".join(pair) for pair in ranks}
    tokens = []
    word = "".join(word)
    while word:
        n = next((n for n in range(len(word), 1, -1) if word[:n] in known), 1)
        tokens.append(word[:n])
        word = word[n:]
    return tokens

# %% exercise=6.3 hint="You fix the order of the pairs at the start. A merge makes new pairs: ask for the lowest rank again after each."
def merge_by_rank(word, ranks):
    word = list(word)
    for pair in sorted(set(pairwise(word)) & ranks.keys(), key=ranks.get):
        word = merged(word, pair, pair[0] + pair[1])
    return word

# %% exercise=6.3 hint="A pair without a rank comes last, not first: its default must be larger than all ranks."
-         best = min(pairwise(word), key=lambda pair: ranks.get(pair, len(ranks)))
+         best = min(pairwise(word), key=lambda pair: ranks.get(pair, -1))

# %% exercise=6.3 hint="The merge that was learned first never comes first: its rank 0 counts as False before an `or`."
-         best = min(pairwise(word), key=lambda pair: ranks.get(pair, len(ranks)))
+         best = min(pairwise(word), key=lambda pair: ranks.get(pair) or len(ranks))

# %% exercise=6.4 hint="You turn each token into text alone: half a character becomes U+FFFD. Hold its bytes back until the rest has come."
-     decoder = codecs.getincrementaldecoder("utf-8")("replace")
-     texts = [decoder.decode(token) for token in tokens]
-     return [*texts, decoder.decode(b"", final=True)]
+     return [token.decode("utf-8", errors="replace") for token in tokens] + [""]

# %% exercise=6.4 hint="What is unfinished at the end is lost. Ask the decoder once more, with final=True."
-     return [*texts, decoder.decode(b"", final=True)]
+     return [*texts, ""]

# %% exercise=6.4 hint="The text is right, but nothing is shown before the end. Show each character with its last byte."
def shown(tokens):
    tokens = list(tokens)
    return [""] * len(tokens) + [b"".join(tokens).decode("utf-8", errors="replace")]

# %% exercise=6.4 hint="You leave out what is no UTF-8. GPT-2 shows U+FFFD for it, so that one sees that something was there."
-     decoder = codecs.getincrementaldecoder("utf-8")("replace")
+     decoder = codecs.getincrementaldecoder("utf-8")("ignore")

# %% exercise=6.4 hint="You drop the bytes of half a character instead of keeping them for the next token."
def shown(tokens):
    return [token.decode("utf-8", errors="ignore") for token in tokens] + [""]

# %% exercise=6.4 hint="A model may say any bytes: where they are no UTF-8, show U+FFFD instead of raising."
-     decoder = codecs.getincrementaldecoder("utf-8")("replace")
+     decoder = codecs.getincrementaldecoder("utf-8")("strict")

# %% exercise=6.4 hint="You hold back for ever what can never become a character. Such a byte becomes U+FFFD at once."
def shown(tokens):
    texts, waiting = [], b""
    for token in tokens:
        waiting += token
        try:
            texts.append(waiting.decode())
            waiting = b""
        except UnicodeDecodeError:
            texts.append("")
    return [*texts, waiting.decode(errors="replace")]

# %% exercise=6.4 hint="One string is missing: after those of the tokens comes one for the end, even if it is empty."
-     return [*texts, decoder.decode(b"", final=True)]
+     return texts

# %% exercise=6.5 hint="`dw[index] += grad` writes a row that was picked twice only once: one of the gradients is lost."
-     for turn in turns(index, len(dw)):  # the obvious np.add.at(dw, index, grad) is slower
-         dw[index[turn]] += grad[turn]  # no index twice in a turn, so += loses nothing
+     dw[index] += grad

# %% exercise=6.5 hint="The padding row gets no gradient: set its row to 0 at the end. Row 0 may be the padding row, and 0 counts as False."
-     if self.padding_idx is not None:
+     if self.padding_idx:

# %% exercise=6.5 hint="The padding row gets a gradient. Where self.padding_idx is not None, its row must be 0."
-     if self.padding_idx is not None:
-         dw[self.padding_idx] = 0

# %% exercise=6.5 hint="Keep the dtype of grad: np.zeros makes float64 if you do not say otherwise."
-     dw = self.xp.zeros(self.inputs[0].shape, grad.dtype)
+     dw = self.xp.zeros(self.inputs[0].shape)

# %% exercise=6.5 hint="You divide by how often a row was picked. Its gradient is the sum, not the mean."
-     if self.padding_idx is not None:
+     dw = (dw / np.maximum(np.bincount(index, minlength=len(dw)), 1)[:, None]).astype(grad.dtype)
+     if self.padding_idx is not None:

# %% exercise=6.5 hint="`turns` gives places in the index. The row of such a place is index[turn], its gradient grad[turn]."
-         dw[index[turn]] += grad[turn]  # no index twice in a turn, so += loses nothing
+         dw[turn] += grad[turn]

# %% exercise=6.5 hint="An index may have several axes, or none: lay it flat to (n,), and the gradient to (n, d), before you loop."
-     index = self.saved[0].reshape(-1)
-     dw = self.xp.zeros(self.inputs[0].shape, grad.dtype)
-     grad = grad.reshape(index.size, dw.shape[1])  # (tokens, d)
-     for turn in turns(index, len(dw)):  # the obvious np.add.at(dw, index, grad) is slower
-         dw[index[turn]] += grad[turn]  # no index twice in a turn, so += loses nothing
+     dw = self.xp.zeros(self.inputs[0].shape, grad.dtype)
+     for i, g in zip(self.saved[0], grad):
+         dw[i] += g

# %% exercise=6.5 hint="A tensor's own indexing adds up here, by the backward that is finished. Add the rows up yourself, on arrays."
@add_to(Embedding)
def backward(self, grad):
    table = tensor(np.zeros(self.inputs[0].shape, grad.dtype), requires_grad=True)
    table[tensor(self.saved[0])].backward(tensor(grad))
    dw = table.grad.numpy()
    if self.padding_idx is not None:
        dw[self.padding_idx] = 0
    return dw

# %% exercise=6.6 hint="You give up a place at the first piece that is no token. A longer piece from there may be one again, as `the` is where `th` is not: go on to the next length."
def fewest(text: str, vocabulary: set[str]) -> list[str]:
    """The text cut into as few tokens of the vocabulary as possible."""
    longest = max(map(len, vocabulary), default=1)
    best, start = [0] + [len(text) + 1] * len(text), [0] * (len(text) + 1)
    for j in range(len(text)):
        for i in range(j + 1, min(j + longest, len(text)) + 1):
            if text[j:i] not in vocabulary:
                break
            if best[j] + 1 < best[i]:
                best[i], start[i] = best[j] + 1, j
    tokens = []
    end = len(text)
    while end > 0:
        tokens.append(text[start[end] : end])
        end = start[end]
    return tokens[::-1]

# %% exercise=6.6 hint="You cut off the longest token again and again. A shorter one at the start can save one later: look at all cuts."
def fewest(text, vocabulary):
    tokens = []
    while text:
        n = next(n for n in range(len(text), 0, -1) if text[:n] in vocabulary)
        tokens.append(text[:n])
        text = text[n:]
    return tokens

# %% exercise=6.6 hint="Single characters are a right cut, but the dearest one. Use the longer tokens of the vocabulary."
def fewest(text, vocabulary):
    return list(text)

# %% exercise=6.6 hint="You cut off the longest token again and again. A shorter one at the start can save one later: look at all cuts."
def fewest(text, vocabulary):
    tokens = []
    while text:
        n = next(n for n in range(len(text), 0, -1) if text[-n:] in vocabulary)
        tokens.append(text[-n:])
        text = text[:-n]
    return tokens[::-1]

# %% exercise=6.6 hint="Your function calls itself once for each token, and Python gives up at a depth of 1,000. Fill a table from the front instead."
def fewest(text, vocabulary):
    known = {len(text): []}

    def rest(i):
        if i not in known:
            ends = range(i + 1, len(text) + 1)
            known[i] = min(([text[i:j], *rest(j)] for j in ends if text[i:j] in vocabulary), key=len)
        return known[i]

    return rest(0)

# %% exercise=6.2 hint="Byte characters are older than merges, and among them the smaller one is the older, whichever the text shows first."
-     tokens = sorted(BYTE_OF)
+     tokens = list(dict.fromkeys(c for piece in times for c in visible(piece.encode("utf-8"))))
+     tokens += [c for c in sorted(BYTE_OF) if c not in tokens]

# %% exercise=6.6 hint="You cut off the longest token again and again. A shorter one at the start can save one later: look at all cuts."
-     tokens, i = [], len(text)
-     while i:
-         tokens.append(text[start[i] : i])
-         i = start[i]
-     return tokens[::-1]
+     forwards, i = [], 0
+     while i < len(text):
+         end = next(j for j in range(min(len(text), i + longest), i, -1) if text[i:j] in vocabulary)
+         forwards.append(text[i:end])
+         i = end
+     backwards, i = [], len(text)
+     while i > 0:
+         at = next(j for j in range(max(0, i - longest), i) if text[j:i] in vocabulary)
+         backwards.append(text[at:i])
+         i = at
+     return min(forwards, backwards[::-1], key=len)

# %% exercise=6.5 hint="A row that was picked several times gets the sum of all its gradients. The first of them, times how often, is that only where they are equal."
-     for turn in turns(index, len(dw)):  # the obvious np.add.at(dw, index, grad) is slower
-         dw[index[turn]] += grad[turn]  # no index twice in a turn, so += loses nothing
+     rows, first, times = np.unique(index, return_index=True, return_counts=True)
+     dw[rows] = grad[first] * times[:, None]

# %% exercise=6.5 hint="What `grad.reshape` gives is a view: you set the caller's own gradient to 0, which others still need. Which array here is yours to write into?"
      grad = grad.reshape(index.size, dw.shape[1])  # (tokens, d)
+     if self.padding_idx is not None:
+         grad[index == self.padding_idx] = 0

-     if self.padding_idx is not None:
-         dw[self.padding_idx] = 0

# %% exercise=6.3 hint="You go through the mapping in the order in which it was written. The ranks are its values: of the pairs in the word, take the one whose rank is lowest."
def merge_by_rank(word, ranks):
    word = list(word)
    for pair in ranks:
        word = merged(word, pair, pair[0] + pair[1])
    return word

# %% exercise=6.6 hint="The longest tokens are never tried: one of `longest` characters that ends at i begins at i - longest, and range leaves out its end, not its beginning."
-         for j in range(max(0, i - longest), i):
+         for j in range(max(0, i - longest + 1), i):

# %% exercise=6.4 hint="Not every byte from C0 on begins a character: C0, C1 and F5 to FF never do, nor do pairs such as E0 80. For these the sign comes at once; you wait for more. The incremental decoder of `codecs` knows all of them."
def shown(tokens):
    out, rest = [], b""
    for token in tokens:
        rest += token
        i = len(rest) - 1
        while i >= 0 and len(rest) - i < 4 and rest[i] & 0xC0 == 0x80:
            i -= 1
        need = 4 if rest[i:] and rest[i] >= 0xF0 else 3 if rest[i:] and rest[i] >= 0xE0 else 2
        cut = i if 0 <= i and rest[i] >= 0xC0 and len(rest) - i < need else len(rest)
        out.append(rest[:cut].decode("utf-8", errors="replace"))
        rest = rest[cut:]
    return [*out, rest.decode("utf-8", errors="replace")]
