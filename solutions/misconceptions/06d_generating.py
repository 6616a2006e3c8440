"""Plausible wrong answers to the exercises of chapter 06d, each with the hint that it earns."""

# %% exercise=6.19 hint="One pass too many: the last token is generated, and goes through no pass of its own."
-     lengths = range(prompt, prompt + new)
+     lengths = range(prompt, prompt + new + 1)

# %% exercise=6.19 hint="The first pass is over the prompt: the text has `prompt` tokens there, not one more."
-     lengths = range(prompt, prompt + new)
+     lengths = range(prompt + 1, prompt + new + 1)

# %% exercise=6.19 hint="The cache is empty at first: the prompt goes through as a whole, with or without it."
-     cached = sum(one_pass(prompt if s == prompt else 1, s) for s in lengths)
+     cached = sum(one_pass(1, s) for s in lengths)

# %% exercise=6.19 hint="With a cache one position is new, but it still looks back at the whole text: s grows."
-     cached = sum(one_pass(prompt if s == prompt else 1, s) for s in lengths)
+     cached = sum(one_pass(s, s) if s == prompt else one_pass(1, 1) for s in lengths)

# %% exercise=6.19 hint="These are the multiplications of the last pass alone. A text is the sum of all its passes."
-     anew = sum(one_pass(s, s) for s in lengths)
-     cached = sum(one_pass(prompt if s == prompt else 1, s) for s in lengths)
-     return anew, cached
+     return one_pass(lengths[-1], lengths[-1]), one_pass(prompt if new == 1 else 1, lengths[-1])

# %% exercise=6.19 hint="The pair is the wrong way round: first all worked out anew, then with a cache."
-     return anew, cached
+     return cached, anew

# %% exercise=6.20 hint="The new keys overwrite old ones: they go behind the `length` tokens that are there, not to the beginning."
-         new = slice(self.length, self.length + k.shape[1])
+         new = slice(0, k.shape[1])

# %% exercise=6.20 hint="Off by one: you write over the last key. The first free place is number `length`."
-         new = slice(self.length, self.length + k.shape[1])
+         start = max(self.length - 1, 0)
+         new = slice(start, start + k.shape[1])

# %% exercise=6.20 hint="Off by one: you write over the last key. The first free place is number `length`."
-             self.k, self.v = (array_module(k.data).empty(shape, k.dtype) for _ in "kv")
+             self.k, self.v = (np.zeros(shape, k.dtype) for _ in "kv")

-         new = slice(self.length, self.length + k.shape[1])
-         self.k[:, new], self.v[:, new], self.length = k.data, v.data, new.stop
+         start = max(self.length - 1, 0)
+         new = slice(start, start + k.shape[1])
+         self.k[:, new], self.v[:, new], self.length = k.data, v.data, self.length + k.shape[1]

# %% exercise=6.20 hint="`length` counts tokens, not calls: it grows by as many as came, T."
-             self.k, self.v = (array_module(k.data).empty(shape, k.dtype) for _ in "kv")
+             self.k, self.v = (np.zeros(shape, k.dtype) for _ in "kv")

-         self.k[:, new], self.v[:, new], self.length = k.data, v.data, new.stop
+         self.k[:, new], self.v[:, new] = k.data, v.data
+         self.length += 1

# %% exercise=6.20 hint="Right, but it copies all old keys for each new token: a text costs the square of its length. Make room once, and write behind."
class LayerCache:
    def __init__(self, block_size):
        self.block_size, self.length = block_size, 0

    def extend(self, k, v):
        if self.length:
            k, v = cat([self.k, k], 1), cat([self.v, v], 1)
        self.k, self.v, self.length = k, v, k.shape[1]
        return k, v

# %% exercise=6.20 hint="Right, but it copies all old keys for each new token: a text costs the square of its length. Make room once, and write behind."
class LayerCache:
    def __init__(self, block_size):
        self.length, self.pairs = 0, []

    def extend(self, k, v):
        self.pairs.append((k.data, v.data))
        self.length += k.shape[1]
        return tuple(Tensor(np.concatenate(parts, 1)) for parts in zip(*self.pairs))

# %% exercise=6.20 hint="You return the new keys and values alone. The new query needs those of all tokens."
-         return Tensor(self.k[:, : self.length]), Tensor(self.v[:, : self.length])  # views (B, S, C)
+         return k, v

# %% exercise=6.20 hint="You return the whole array with its empty places. Only the first `length` are keys; attention would look at the rest."
-             self.k, self.v = (array_module(k.data).empty(shape, k.dtype) for _ in "kv")
+             self.k, self.v = (np.zeros(shape, k.dtype) for _ in "kv")

-         return Tensor(self.k[:, : self.length]), Tensor(self.v[:, : self.length])  # views (B, S, C)
+         return Tensor(self.k), Tensor(self.v)

# %% exercise=6.20 hint="Keys and values lie in one array: the second overwrites the first. Each needs its own."
-             self.k, self.v = (array_module(k.data).empty(shape, k.dtype) for _ in "kv")
+             self.k = self.v = array_module(k.data).empty(shape, k.dtype)

# %% exercise=6.20 hint="All caches share one array: what one layer remembers, another one overwrites. Make it in the instance."
class LayerCache:
    kept = {}

    def __init__(self, block_size):
        self.block_size, self.length = block_size, 0

    def extend(self, k, v):
        if not self.length:
            shape = (k.shape[0], self.block_size, k.shape[2])
            if "k" not in self.kept or self.kept["k"].shape != shape or self.kept["k"].dtype != k.dtype:
                self.kept["k"], self.kept["v"] = np.empty(shape, k.dtype), np.empty(shape, k.dtype)
        new = slice(self.length, self.length + k.shape[1])
        self.kept["k"][:, new], self.kept["v"][:, new], self.length = k.data, v.data, new.stop
        return Tensor(self.kept["k"][:, : self.length]), Tensor(self.kept["v"][:, : self.length])

# %% exercise=6.20 hint="The arrays are float32 whatever came in: keep the dtype of the keys."
-             self.k, self.v = (array_module(k.data).empty(shape, k.dtype) for _ in "kv")
+             self.k, self.v = (np.empty(shape, np.float32) for _ in "kv")

# %% exercise=6.20 hint="Float64, whatever came in: np.zeros and np.empty take a dtype, that of the keys."
-             self.k, self.v = (array_module(k.data).empty(shape, k.dtype) for _ in "kv")
+             self.k, self.v = (np.zeros(shape) for _ in "kv")

# %% exercise=6.20 hint="There is room for one sample alone: the first axis of the array is the batch, k.shape[0]."
-             shape = (k.shape[0], self.block_size, k.shape[2])
+             shape = (1, self.block_size, k.shape[2])

# %% exercise=6.20 hint="You return arrays. What comes in are tensors, and what goes out too: Tensor(...) around each."
-         return Tensor(self.k[:, : self.length]), Tensor(self.v[:, : self.length])  # views (B, S, C)
+         return self.k[:, : self.length], self.v[:, : self.length]

# %% exercise=6.21 hint="Row i of the queries is position S - T + i. Your mask still counts from 0, so a new token sees only the first keys."
def attend_new(q, k, v):
    scores = q @ k.T / math.sqrt(q.shape[1])
    scores = np.where(np.triu(np.ones(scores.shape, bool), 1), -np.inf, scores)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v

# %% exercise=6.21 hint="Off by one: a token may see its own key as well. The diagonal moves by S - T from 1, not from 0."
-     hidden = np.triu(np.ones(scores.shape, bool), len(k) - len(q) + 1)
-     scores = np.where(hidden, -np.inf, scores)
+     hidden = np.triu(np.ones(scores.shape, bool), len(k) - len(q))
+     scores = np.where(hidden, -1e30, scores)

# %% exercise=6.21 hint="Off by one: a token may see its own key as well. The diagonal moves by S - T from 1, not from 0."
-     hidden = np.triu(np.ones(scores.shape, bool), len(k) - len(q) + 1)
+     hidden = np.triu(np.ones(scores.shape, bool), len(k) - len(q))

# %% exercise=6.21 hint="Without a mask one new token is right, and several are not: the first of them sees the last."
-     hidden = np.triu(np.ones(scores.shape, bool), len(k) - len(q) + 1)
-     scores = np.where(hidden, -np.inf, scores)

# %% exercise=6.21 hint="Without a mask one new token is right, and several are not: the first of them sees the last."
-     hidden = np.triu(np.ones(scores.shape, bool), len(k) - len(q) + 1)
+     hidden = np.triu(np.ones(scores.shape, bool), len(k))

# %% exercise=6.21 hint="You count one place too far: each new token sees the one behind it."
-     hidden = np.triu(np.ones(scores.shape, bool), len(k) - len(q) + 1)
+     hidden = np.triu(np.ones(scores.shape, bool), len(k) - len(q) + 2)

# %% exercise=6.21 hint="The diagonal moves the other way: each key that is there before the queries moves it to the right, by S - T in all."
-     hidden = np.triu(np.ones(scores.shape, bool), len(k) - len(q) + 1)
+     hidden = np.triu(np.ones(scores.shape, bool), len(q) - len(k) + 1)

# %% exercise=6.21 hint="One new token is right, and several are not: their mask still counts from 0. S - T is right for any number of them."
-     hidden = np.triu(np.ones(scores.shape, bool), len(k) - len(q) + 1)
+     hidden = np.triu(np.ones(scores.shape, bool), len(k) if len(q) == 1 else 1)

# %% exercise=6.22 hint="top_p keeps the fewest tokens that are enough. A threshold keeps all that equal the last of them as well: that is top_k's rule."
-         order = np.argsort(-p, axis=-1, kind="stable")
-         ordered = np.take_along_axis(p, order, -1)
-         before = ordered.cumsum(-1) - ordered  # the sum of all that are likelier
-         np.put_along_axis(p, order, np.where(before < top_p, ordered, 0), -1)
+         ordered = -np.sort(-p, axis=-1)
+         before = ordered.cumsum(-1) - ordered
+         least = np.where(before < top_p, ordered, np.inf).min(-1, keepdims=True)
+         p = np.where(p < least, 0, p)

# %% exercise=6.22 hint="You leave out the token with which the sum reaches top_p. It stays: look at the sum before each, not with it."
-         before = ordered.cumsum(-1) - ordered  # the sum of all that are likelier
+         before = ordered.cumsum(-1)

# %% exercise=6.22 hint="You leave out the token with which the sum reaches top_p. It stays: look at the sum before each, not with it."
-         before = ordered.cumsum(-1) - ordered  # the sum of all that are likelier
-         np.put_along_axis(p, order, np.where(before < top_p, ordered, 0), -1)
+         inside = ordered.cumsum(-1) <= top_p
+         inside[:, 0] = True
+         np.put_along_axis(p, order, np.where(inside, ordered, 0), -1)

# %% exercise=6.22 hint="Scores that equal the k-th largest stay as well: no order among equals decides who is cut."
-         least = np.partition(scores, -top_k, axis=-1)[:, -top_k, None]  # (B, 1), without a sort
-         scores = np.where(scores < least, -np.inf, scores)
+         first = np.argsort(-scores, axis=-1, kind="stable")[:, :top_k]
+         cut = np.full(scores.shape, -np.inf)
+         np.put_along_axis(cut, first, np.take_along_axis(scores, first, -1), -1)
+         scores = cut

# %% exercise=6.22 hint="What is kept has to add up to 1 again: divide by its sum after the cut."
-         np.put_along_axis(p, order, np.where(before < top_p, ordered, 0), -1)
-         p /= p.sum(-1, keepdims=True)
+         np.put_along_axis(p, order, np.where(before < top_p, ordered, 0), -1)

# %% exercise=6.22 hint="A score of 0 is not out: e to the 0 is 1. What may not be chosen gets -inf before the softmax."
-         scores = np.where(scores < least, -np.inf, scores)
+         scores = np.where(scores < least, 0.0, scores)

# %% exercise=6.22 hint="You skip the token that would reach top_p, and go on to smaller ones. It stays, and ends the list."
-         order = np.argsort(-p, axis=-1, kind="stable")
-         ordered = np.take_along_axis(p, order, -1)
-         before = ordered.cumsum(-1) - ordered  # the sum of all that are likelier
-         np.put_along_axis(p, order, np.where(before < top_p, ordered, 0), -1)
+         for row in p:
+             total = 0
+             for i in np.argsort(-row, kind="stable"):
+                 if total + row[i] >= top_p:
+                     row[i] = 0
+                 else:
+                     total += row[i]

# %% exercise=6.22 hint="The probabilities stand in sorted order: put each back to its token."
-         np.put_along_axis(p, order, np.where(before < top_p, ordered, 0), -1)
+         p = np.where(before < top_p, ordered, 0)

# %% exercise=6.22 hint="top_p is a sum, not a threshold for each token."
-         order = np.argsort(-p, axis=-1, kind="stable")
-         ordered = np.take_along_axis(p, order, -1)
-         before = ordered.cumsum(-1) - ordered  # the sum of all that are likelier
-         np.put_along_axis(p, order, np.where(before < top_p, ordered, 0), -1)
-         p /= p.sum(-1, keepdims=True)
+         p = np.where(p >= np.minimum(1 - top_p, p.max(-1, keepdims=True)), p, 0)
+         p = p / p.sum(-1, keepdims=True)

# %% exercise=6.22 hint="Large scores overflow: subtract the row's largest before exp, as any softmax does."
-     p = np.exp(scores.astype(np.float64) - scores.max(-1, keepdims=True))
+     p = np.exp(scores.astype(np.float64))

# %% exercise=6.22 hint="You write into the caller's scores: make new ones, with np.where."
-         scores = np.where(scores < least, -np.inf, scores)
+         scores[scores < least] = -np.inf

# %% exercise=6.22 hint="The k-th largest is one for the whole batch in your answer. Each row has its own."
-         least = np.partition(scores, -top_k, axis=-1)[:, -top_k, None]  # (B, 1), without a sort
+         least = np.sort(scores, axis=None)[::-1][top_k - 1]
+         least = np.minimum(least, scores.max(-1, keepdims=True))

# %% exercise=6.22 hint="top_k changes nothing in your answer: only the k largest scores of a row may be chosen."
-     if top_k is not None:
-         least = np.partition(scores, -top_k, axis=-1)[:, -top_k, None]  # (B, 1), without a sort
-         scores = np.where(scores < least, -np.inf, scores)

# %% exercise=6.22 hint="top_p changes nothing in your answer: only the likeliest tokens that add up to it may be chosen."
-     if top_p is not None:
-         order = np.argsort(-p, axis=-1, kind="stable")
-         ordered = np.take_along_axis(p, order, -1)
-         before = ordered.cumsum(-1) - ordered  # the sum of all that are likelier
-         np.put_along_axis(p, order, np.where(before < top_p, ordered, 0), -1)
-         p /= p.sum(-1, keepdims=True)

# %% exercise=6.22 hint="With both, top_p looks at the probabilities that top_k left: they add up to 1 before the second cut."
def probabilities(scores, top_k=None, top_p=None):
    p = np.exp(scores.astype(np.float64) - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    keep = np.ones(p.shape, bool)
    if top_k is not None:
        keep &= scores >= np.sort(scores, -1)[:, -top_k, None]
    if top_p is not None:
        order = np.argsort(-p, axis=-1, kind="stable")
        ordered = np.take_along_axis(p, order, -1)
        inside = np.empty(p.shape, bool)
        np.put_along_axis(inside, order, ordered.cumsum(-1) - ordered < top_p, -1)
        keep &= inside
    p = np.where(keep, p, 0)
    return p / p.sum(-1, keepdims=True)

# %% exercise=6.23 hint="Right, but the whole text goes through the model again, token after token. As long as it fits, asked anew for each token, give the model the same caches, and what is not in them."
-             if idx.shape[1] <= self.block_size:
-                 x = self.transformer(idx[:, caches[0].length :], caches)
-             else:
-                 x = self.transformer(idx[:, -self.block_size :])
+             x = self.transformer(idx[:, -self.block_size :])

# %% exercise=6.23 hint="Right, but the whole text goes through the model again, token after token. As long as it fits, asked anew for each token, give the model the same caches, and what is not in them."
-             if idx.shape[1] <= self.block_size:
-                 x = self.transformer(idx[:, caches[0].length :], caches)
-             else:
-                 x = self.transformer(idx[:, -self.block_size :])
+             x = self.transformer(idx[:, -self.block_size :], self.new_caches())

# %% exercise=6.23 hint="The text is in the cache twice: give the model only the tokens that are not in it yet."
-     with evaluating(self):
-         for _ in range(max_new_tokens):
-             if idx.shape[1] <= self.block_size:
-                 x = self.transformer(idx[:, caches[0].length :], caches)
+     with evaluating(self):
+         for _ in range(max_new_tokens):
+             if caches[0].length + idx.shape[1] <= self.block_size:
+                 x = self.transformer(idx, caches)

# %% exercise=6.23 hint="The block is full, and you go on as before: past block_size the last block_size tokens are worked out anew, without caches."
-             if idx.shape[1] <= self.block_size:
-                 x = self.transformer(idx[:, caches[0].length :], caches)
-             else:
-                 x = self.transformer(idx[:, -self.block_size :])
+             x = self.transformer(idx[:, caches[0].length :], caches)

# %% exercise=6.23 hint="The prompt is lost: only its last token goes through the model at first. The first pass is over all that is not cached."
-                 x = self.transformer(idx[:, caches[0].length :], caches)
+                 x = self.transformer(idx[:, -1:], caches)

# %% exercise=6.23 hint="Past the block a single token goes in without its past. The whole window has to be worked out anew."
-             else:
-                 x = self.transformer(idx[:, -self.block_size :])
+             else:
+                 x = self.transformer(idx[:, -1:])

# %% exercise=6.23 hint="One token too early: a text of exactly block_size tokens still fits, and its cache still holds."
-             if idx.shape[1] <= self.block_size:
+             if idx.shape[1] < self.block_size:

# %% exercise=6.23 hint="The window past the block is too short: the last block_size tokens count, not one less."
-                 x = self.transformer(idx[:, -self.block_size :])
+                 x = self.transformer(idx[:, 1 - self.block_size :])

# %% exercise=6.23 hint="Dropout is on, or a graph is kept, while you generate: evaluating(self) is for both, and puts the modes back."
-     with evaluating(self):
+     if True:

# %% exercise=6.23 hint="The modes are not put back: a part that was in evaluation mode before has to be so again. evaluating(self) does that."
-     with evaluating(self):
+     from minilib.tensor import no_grad
+     self.eval()
+     with no_grad():

-     return idx
+     self.train()
+     return idx

# %% exercise=6.23 hint="The block is full, and you go on as before: past block_size the last block_size tokens are worked out anew, without caches."
-             if idx.shape[1] <= self.block_size:
-                 x = self.transformer(idx[:, caches[0].length :], caches)
-             else:
-                 x = self.transformer(idx[:, -self.block_size :])
-             logits = self.lm_head(x[:, -1])  # (B, V): of the last position, the others were asked before
+             logits = self(idx[:, caches[0].length :], caches=caches)[0][:, -1]

# %% exercise=6.23 hint="The text is in the cache twice: give the model only the tokens that are not in it yet."
-             if idx.shape[1] <= self.block_size:
-                 x = self.transformer(idx[:, caches[0].length :], caches)
-             else:
-                 x = self.transformer(idx[:, -self.block_size :])
-             logits = self.lm_head(x[:, -1])  # (B, V): of the last position, the others were asked before
+             if idx.shape[1] <= self.block_size:
+                 logits = self(idx, caches=caches)[0][:, -1]
+             else:
+                 logits = self(idx[:, -self.block_size :])[0][:, -1]

# %% exercise=6.23 hint="`choose` takes (B, V), the scores of the last position alone: logits[:, -1]."
-             logits = self.lm_head(x[:, -1])  # (B, V): of the last position, the others were asked before
+             logits = self.lm_head(x)

# %% exercise=6.23 hint="That is the beginning of the text. Its last block_size tokens are idx[:, -self.block_size :]."
-                 x = self.transformer(idx[:, -self.block_size :])
+                 x = self.transformer(idx[:, : self.block_size])

# %% exercise=6.23 hint="The model stays in evaluation mode, and a graph is kept: evaluating(self) sees to both, and puts the modes back."
-     with evaluating(self):
+     self.eval()
+     if True:

# %% exercise=6.23 hint="You return only what is new. The prompt belongs to the answer."
-     caches = self.new_caches()
+     caches, first = self.new_caches(), idx.shape[1]

-     return idx
+     return idx[:, first:]

# %% exercise=6.23 hint="You ask for the scores of the first position. What comes next stands at the last one."
-             logits = self.lm_head(x[:, -1])  # (B, V): of the last position, the others were asked before
+             logits = self.lm_head(x[:, 0])

# %% exercise=6.23 hint="`choose` was not told everything: temperature, do_sample, top_k, top_p and the generator all matter to it."
-             token = choose(logits, temperature, do_sample, top_k, top_p, generator)
+             token = choose(logits, 1.0, do_sample, top_k, top_p, generator)

# %% exercise=6.23 hint="`choose` was not told everything: temperature, do_sample, top_k, top_p and the generator all matter to it."
-             token = choose(logits, temperature, do_sample, top_k, top_p, generator)
+             token = choose(logits)

# %% exercise=6.23 hint="`choose` was not told everything: temperature, do_sample, top_k, top_p and the generator all matter to it."
-             token = choose(logits, temperature, do_sample, top_k, top_p, generator)
+             token = choose(logits, temperature, do_sample, top_k, top_p)

# %% exercise=6.23 hint="Right, but the whole text goes through the model again, token after token. As long as it fits, asked anew for each token, give the model the same caches, and what is not in them."
      caches = self.new_caches()
+     fits = idx.shape[1] + max_new_tokens <= self.block_size

-             if idx.shape[1] <= self.block_size:
+             if fits:

# %% exercise=6.23 hint="A model returns two things, the scores and the loss. You index the pair: take it apart first."
-                 x = self.transformer(idx[:, caches[0].length :], caches)
+                 logits = self(idx[:, caches[0].length :], caches=caches)

-                 x = self.transformer(idx[:, -self.block_size :])
-             logits = self.lm_head(x[:, -1])  # (B, V): of the last position, the others were asked before
-             token = choose(logits, temperature, do_sample, top_k, top_p, generator)
+                 logits = self(idx[:, -self.block_size :])
+             token = choose(logits[:, -1], temperature, do_sample, top_k, top_p, generator)

# %% exercise=6.23 hint="You ask whether the cache has room, and an empty one has, however long the prompt is. What must be short enough to go through the model as a whole?"
-             if idx.shape[1] <= self.block_size:
+             if caches[0].length < self.block_size:

# %% exercise=6.24 hint="Off by one: what comes after the last token of `idx` is said by the row of that token, number T - 1."
-     says = logits[:, idx.shape[1] - 1 :].argmax(-1)  # (1, n + 1)
-     agreed = 0
-     while agreed < draft.shape[1] and says[0, agreed].item() == draft[0, agreed].item():
+     says = logits[:, idx.shape[1] :].argmax(-1)
+     agreed = 0
+     while agreed < says.shape[1] and says[0, agreed].item() == draft[0, agreed].item():

# %% exercise=6.24 hint="Behind the first wrong guess nothing counts: all that follows was worked out from a text that the model would not have said."
-     agreed = 0
-     while agreed < draft.shape[1] and says[0, agreed].item() == draft[0, agreed].item():
-         agreed += 1
+     agreed = int((says.numpy()[0, :-1] == draft.numpy()[0]).sum())

# %% exercise=6.24 hint="One token is missing: the pass has also said what comes behind the last right guess."
-     return cat([idx, says[:, : agreed + 1]], 1)
+     return cat([idx, says[:, :agreed]], 1)

# %% exercise=6.24 hint="You ask the model once for each guess. One pass over all of them has every row that you need."
def accept(model, idx, draft):
    with evaluating(model):
        for i in range(draft.shape[1] + 1):
            logits, _ = model(idx)
            token = logits[:, -1:].argmax(-1)
            idx = cat([idx, token], 1)
            if i == draft.shape[1] or token.item() != draft[0, i].item():
                return idx

# %% exercise=6.24 hint="Dropout is on while the model checks: evaluating(model) turns it off, and puts the modes back."
-     with evaluating(model):
-         logits, _ = model(cat([idx, draft], 1))
+     logits, _ = model(cat([idx, draft], 1))

# %% exercise=6.24 hint="You put the wrong guess where the model's own token belongs: take the row's likeliest, not the draft's."
-     return cat([idx, says[:, : agreed + 1]], 1)
+     return cat([idx, draft[:, : agreed + 1]], 1)

# %% exercise=6.24 hint="Where no guess is wrong, argmax of the differences says 0: nothing is accepted then, though all of it should be."
-     agreed = 0
-     while agreed < draft.shape[1] and says[0, agreed].item() == draft[0, agreed].item():
-         agreed += 1
+     agreed = int((says.numpy()[0, :-1] != draft.numpy()[0]).argmax())

# %% exercise=6.21 hint="That is the finished function of the library. The mistake is in one line of what is given: mend it there."
def attend_new(q, k, v):
    from minilib import functional as F

    return F.attend(q, k, v)[0]

# %% exercise=6.19 hint="The pass over the prompt is the first of the passes: with a cache it gives a token, too, and one-token passes follow for the lengths after it."
def text_cost(prompt: int, new: int, n_layer: int, C: int) -> tuple[int, int]:
    """Multiplications of all passes: everything worked out anew each time, and with a cache."""
    lengths = np.arange(prompt, prompt + new)
    anew = n_layer * lengths * (12 * C**2 + 2 * C * lengths)
    first = n_layer * prompt * (12 * C**2 + 2 * C * prompt)
    cached = n_layer * (12 * C**2 + 2 * C * lengths)
    return int(anew.sum()), int(first + cached.sum())
