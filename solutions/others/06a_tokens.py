"""Second right answers to the exercises of chapter 06a, by another way than the reference's: each earns all points."""

# %% exercise=6.1
def pair_counts(words):
    row = [(pair, times) for word, times in words.items() for pair in zip(word, word[1:])]
    return Counter({pair: sum(n for other, n in row if other == pair) for pair, _ in row})


# %% exercise=6.2
def train(texts, vocab_size):
    if vocab_size < 256:
        raise ValueError("a vocabulary holds 256 bytes")
    words = {tuple(visible(piece.encode())): n for piece, n in count_pieces(texts).items()}
    age = {token: i for i, token in enumerate(sorted(BYTE_OF))}
    merges = []
    while len(age) < vocab_size:
        counts = Counter()
        for word, n in words.items():
            for pair in zip(word, word[1:]):
                counts[pair] += n
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], age[pair[0]], age[pair[1]]))
        merges.append(best)
        age[best[0] + best[1]] = len(age)
        words = {tuple(merged(word, best, best[0] + best[1])): n for word, n in words.items()}
    return merges


# %% exercise=6.3
def merge_by_rank(word, ranks):
    word = list(word)
    for pair in sorted(ranks, key=ranks.get):
        i = 0
        while i < len(word) - 1:
            if (word[i], word[i + 1]) == pair:
                word[i : i + 2] = ["".join(pair)]
            i += 1
    return word


# %% exercise=6.4
def shown(tokens):
    texts, waiting = [], b""
    for token in tokens:
        waiting += token
        keep = 0
        for n in range(1, min(4, len(waiting) + 1)):
            last = waiting[-n:]
            if last[0] >= 0xC0:
                try:
                    last.decode()
                except UnicodeDecodeError as error:
                    keep = n if error.reason == "unexpected end of data" else 0
                break
        texts.append(waiting[: len(waiting) - keep].decode(errors="replace"))
        waiting = waiting[len(waiting) - keep :]
    return [*texts, waiting.decode(errors="replace")]


# %% exercise=6.5
@add_to(Embedding)
def backward(self, grad):
    rows, width = self.inputs[0].shape
    one_hot = (self.saved[0].reshape(-1, 1) == np.arange(rows)).astype(grad.dtype)
    if self.padding_idx is not None:
        one_hot[:, self.padding_idx] = 0
    return one_hot.T @ grad.reshape(-1, width)


# %% exercise=6.6
def fewest(text, vocabulary):
    reached, ways = {0: ()}, [0]
    while len(text) not in reached:
        after = []
        for i in ways:
            for n in range(1, max(map(len, vocabulary)) + 1):
                if i + n <= len(text) and i + n not in reached and text[i : i + n] in vocabulary:
                    reached[i + n] = (i,)
                    after.append(i + n)
        ways = after
    tokens, i = [], len(text)
    while i:
        (j,) = reached[i]
        tokens.append(text[j:i])
        i = j
    return tokens[::-1]
