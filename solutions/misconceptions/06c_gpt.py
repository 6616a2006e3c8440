"""Plausible wrong answers to the exercises of chapter 06c, each with the hint that it earns."""

# %% exercise=6.13 hint="`len(idx)` counts texts. Places count tokens within a text: there are idx.shape[1] of them."
def embed(wte, wpe, idx, start=0):
    places = np.arange(start, start + len(idx))
    return wte[idx] + wpe[places][:, None]

# %% exercise=6.13 hint="`len(idx)` counts texts. Places count tokens within a text: there are idx.shape[1] of them."
-     places = np.arange(start, start + idx.shape[1])
+     places = np.arange(start, start + len(idx))

# %% exercise=6.13 hint="`np.arange` takes where to begin and where to stop, not how many: the last token sits at start + T - 1."
-     places = np.arange(start, start + idx.shape[1])
+     places = np.arange(start, idx.shape[1])

# %% exercise=6.13 hint="The first token sits at place `start`, not always at 0."
-     places = np.arange(start, start + idx.shape[1])
+     places = np.arange(idx.shape[1])

# %% exercise=6.13 hint="The rows are added, not put side by side: the result has C numbers for a token, not 2 C."
-     return wte[idx] + wpe[places]
+     return np.concatenate([wte[idx], np.broadcast_to(wpe[places], wte[idx].shape)], axis=-1)

# %% exercise=6.13 hint="The place comes from where a token stands, not from which token it is."
-     places = np.arange(start, start + idx.shape[1])
-     return wte[idx] + wpe[places]
+     return wte[idx] + wpe[idx + start]

# %% exercise=6.13 hint="`+=` on rows that are a view of a table writes into the table. Make a new array."
-     places = np.arange(start, start + idx.shape[1])
-     return wte[idx] + wpe[places]
+     rows = wpe[start : start + idx.shape[1]]
+     out = np.empty((*idx.shape, wte.shape[1]))
+     for i, text in enumerate(idx):
+         rows += wte[text]
+         out[i] = rows
+     return out

# %% exercise=6.14 hint="Your targets are the inputs: nothing is shifted. The loss would fall to 0, and the model would repeat what it reads."
-     targets = tokens[:, 1:].copy()
+     targets = tokens[:, :-1].copy()

# %% exercise=6.14 hint="You shift the wrong way: the target of a token is the one after it, not the one before it."
-     return Tensor(tokens[:, :-1]), Tensor(targets)
+     return Tensor(tokens[:, 1:]), Tensor(np.where(targets == -1, -1, tokens[:, :-1]))

# %% exercise=6.14 hint="You ignore one target too many: the last token of the question has to say the first of the answer."
-     targets[:, : max(prompt - 1, 0)] = -1
+     targets[:, :prompt] = -1

# %% exercise=6.14 hint="-1 is written into the texts themselves: a slice is a view. Copy it first."
-     targets = tokens[:, 1:].copy()
+     targets = tokens[:, 1:]

# %% exercise=6.14 hint="With a prompt of 0, `targets[:, :-1]` is all but the last column. No question means that nothing is ignored."
-     targets[:, : max(prompt - 1, 0)] = -1
+     targets[:, : prompt - 1] = -1

# %% exercise=6.14 hint="Nothing is ignored: targets that are part of the question become -1."
-     targets[:, : max(prompt - 1, 0)] = -1

# %% exercise=6.14 hint="`np.roll` goes round: after the last token of a text its first one would come. The last token is no input."
def next_token_pairs(tokens, prompt=1):
    targets = np.roll(tokens, -1, axis=1)
    targets[:, : max(prompt - 1, 0)] = -1
    return Tensor(tokens.copy()), Tensor(targets)

# %% exercise=6.14 hint="What is ignored is -1 here, not -100."
-     targets[:, : max(prompt - 1, 0)] = -1
+     targets[:, : max(prompt - 1, 0)] = -100

# %% exercise=6.14 hint="You ignore inputs. They are read as they are: -1 belongs in the targets."
-     targets[:, : max(prompt - 1, 0)] = -1
-     return Tensor(tokens[:, :-1]), Tensor(targets)
+     inputs = tokens[:, :-1].copy()
+     inputs[:, : max(prompt - 1, 0)] = -1
+     return Tensor(inputs), Tensor(targets)

# %% exercise=6.14 hint="You ignore inputs as well. They are read as they are: only targets become -1."
-     targets[:, : max(prompt - 1, 0)] = -1
-     return Tensor(tokens[:, :-1]), Tensor(targets)
+     inputs = tokens[:, :-1].copy()
+     inputs[:, : max(prompt - 1, 0)] = targets[:, : max(prompt - 1, 0)] = -1
+     return Tensor(inputs), Tensor(targets)

# %% exercise=6.14 hint="The last token is among the inputs, and nothing follows it. Inputs are `tokens[:, :-1]`."
-     return Tensor(tokens[:, :-1]), Tensor(targets)
+     return Tensor(tokens.copy()), Tensor(targets)

# %% exercise=6.15 hint="Your norm stands on the road, after the sum (post-norm). It belongs in the branch: x + attn(ln_1(x))."
-         x = x + self.attn(self.ln_1(x), cache)  # the norm is inside the branch: the stream runs through
-         x = x + self.mlp(self.ln_2(x))
+         x = self.ln_1(x + self.attn(x, cache))
+         x = self.ln_2(x + self.mlp(x))

# %% exercise=6.15 hint="There is no road: what a worker says replaces the stream. Add it to what is there."
-         x = x + self.attn(self.ln_1(x), cache)  # the norm is inside the branch: the stream runs through
-         x = x + self.mlp(self.ln_2(x))
+         x = self.attn(self.ln_1(x), cache)
+         x = self.mlp(self.ln_2(x))

# %% exercise=6.15 hint="Attention is added, but the MLP replaces the stream. Both add."
-         x = x + self.mlp(self.ln_2(x))
+         x = self.mlp(self.ln_2(x))

# %% exercise=6.15 hint="You hand on the normed stream: x = ln(x), and then the sum. The norm is only for the worker's eyes."
-         x = x + self.attn(self.ln_1(x), cache)  # the norm is inside the branch: the stream runs through
-         x = x + self.mlp(self.ln_2(x))
+         x = self.ln_1(x)
+         x = x + self.attn(x, cache)
+         x = self.ln_2(x)
+         x = x + self.mlp(x)

# %% exercise=6.15 hint="Both workers read what came in. The MLP reads the stream to which attention has added already."
-         x = x + self.attn(self.ln_1(x), cache)  # the norm is inside the branch: the stream runs through
-         x = x + self.mlp(self.ln_2(x))
+         x = x + self.attn(self.ln_1(x), cache) + self.mlp(self.ln_2(x))

# %% exercise=6.15 hint="`ln_1` is used for both workers, and `ln_2` for none: each has a norm of its own."
-         x = x + self.mlp(self.ln_2(x))
+         x = x + self.mlp(self.ln_1(x))

# %% exercise=6.15 hint="Workers read the bare stream: its size grows from layer to layer. Each reads through its norm."
-         x = x + self.attn(self.ln_1(x), cache)  # the norm is inside the branch: the stream runs through
-         x = x + self.mlp(self.ln_2(x))
+         x = x + self.attn(x, cache)
+         x = x + self.mlp(x)

# %% exercise=6.15 hint="Look back first, then think: the MLP comes after attention."
-         x = x + self.attn(self.ln_1(x), cache)  # the norm is inside the branch: the stream runs through
-         x = x + self.mlp(self.ln_2(x))
+         x = x + self.mlp(self.ln_2(x))
+         x = x + self.attn(self.ln_1(x), cache)

# %% exercise=6.15 hint="Without a cache all is right. Hand `cache` on to attention, or it forgets what it has read."
-         x = x + self.attn(self.ln_1(x), cache)  # the norm is inside the branch: the stream runs through
+         x = x + self.attn(self.ln_1(x))

# %% exercise=6.15 hint="Your own dropout also drops in evaluation. Both workers bring theirs: add none, or say training=self.training."
-         x = x + self.attn(self.ln_1(x), cache)  # the norm is inside the branch: the stream runs through
-         x = x + self.mlp(self.ln_2(x))
+         x = x + F.dropout(self.attn(self.ln_1(x), cache), 0.1)
+         x = x + F.dropout(self.mlp(self.ln_2(x)), 0.1)

# %% exercise=6.15 hint="The two norms are one module under two names, so they share their numbers. Make two."
-         self.ln_2 = nn.LayerNorm(config.n_embd)
+         self.ln_2 = self.ln_1

# %% exercise=6.15 hint="`x +=` writes into the array that came in, which others still need. Write x = x + ..., which makes a new one."
-         x = x + self.attn(self.ln_1(x), cache)  # the norm is inside the branch: the stream runs through
-         x = x + self.mlp(self.ln_2(x))
+         x += self.attn(self.ln_1(x), cache)
+         x += self.mlp(self.ln_2(x))

# %% exercise=6.15 hint="The numbers are right, but what you return has no history: no gradient finds its way back. Look where the graph ends, at `.data` and at each new Tensor."
-         x = x + self.attn(self.ln_1(x), cache)  # the norm is inside the branch: the stream runs through
-         x = x + self.mlp(self.ln_2(x))
-         return x
+         stream = x.data + self.attn(self.ln_1(x), cache).data
+         stream = stream + self.mlp(self.ln_2(Tensor(stream))).data
+         return Tensor(stream)

# %% exercise=6.16 hint="Everything decays. Norms, biases and embeddings do not: they need a group with weight_decay=0.0."
-     named = dict(self.named_parameters())
-     decay = {n for n, p in named.items() if p.ndim == 2 and not n.endswith(("wte.weight", "wpe.weight"))}
-     groups = [
-         {"params": [named[n] for n in sorted(decay)], "weight_decay": weight_decay},
-         {"params": [named[n] for n in sorted(named.keys() - decay)], "weight_decay": 0.0},
-     ]
-     return AdamW(groups, lr=learning_rate, betas=betas)
+     return AdamW(self.parameters(), lr=learning_rate, betas=betas, weight_decay=weight_decay)

# %% exercise=6.16 hint="Your norms decay: their weights end with `weight` too, but have one axis. Pulled to 0 they block the way."
-     decay = {n for n, p in named.items() if p.ndim == 2 and not n.endswith(("wte.weight", "wpe.weight"))}
+     decay = {n for n in named if n.endswith("weight") and not n.endswith(("wte.weight", "wpe.weight"))}

# %% exercise=6.16 hint="Your embeddings decay: they have two axes, but a row gets a gradient only when its token comes."
-     decay = {n for n, p in named.items() if p.ndim == 2 and not n.endswith(("wte.weight", "wpe.weight"))}
+     decay = {n for n, p in named.items() if p.ndim == 2}

# %% exercise=6.16 hint="Your biases decay. Only the weights of linear layers do."
-     decay = {n for n, p in named.items() if p.ndim == 2 and not n.endswith(("wte.weight", "wpe.weight"))}
+     decay = {n for n in named if "ln_" not in n and not n.endswith(("wte.weight", "wpe.weight"))}

# %% exercise=6.16 hint="Norms and embeddings decay: only biases are left out. What has one axis, and what picks rows, stays too."
-     decay = {n for n, p in named.items() if p.ndim == 2 and not n.endswith(("wte.weight", "wpe.weight"))}
+     decay = {n for n in named if n.endswith("weight")}

# %% exercise=6.16 hint="It is the other way round: matrices decay, the rest does not."
-         {"params": [named[n] for n in sorted(decay)], "weight_decay": weight_decay},
-         {"params": [named[n] for n in sorted(named.keys() - decay)], "weight_decay": 0.0},
+         {"params": [named[n] for n in sorted(decay)], "weight_decay": 0.0},
+         {"params": [named[n] for n in sorted(named.keys() - decay)], "weight_decay": weight_decay},

# %% exercise=6.16 hint="A group that does not name weight_decay takes AdamW's default, 0.01. Say 0.0."
-         {"params": [named[n] for n in sorted(named.keys() - decay)], "weight_decay": 0.0},
+         {"params": [named[n] for n in sorted(named.keys() - decay)]},

# %% exercise=6.16 hint="The head is missing: it would never learn. Go through all parameters of the model, not of `transformer`."
-     named = dict(self.named_parameters())
+     named = dict(self.transformer.named_parameters())

# %% exercise=6.16 hint="The head does not decay, and it is a linear layer like the others."
-     decay = {n for n, p in named.items() if p.ndim == 2 and not n.endswith(("wte.weight", "wpe.weight"))}
+     decay = {n for n, p in named.items() if p.ndim == 2 and ".h." in n}

# %% exercise=6.16 hint="learning_rate or betas do not arrive: hand both on to AdamW."
-     return AdamW(groups, lr=learning_rate, betas=betas)
+     return AdamW(groups)

# %% exercise=6.16 hint="betas do not arrive: hand them on to AdamW."
-     return AdamW(groups, lr=learning_rate, betas=betas)
+     return AdamW(groups, lr=learning_rate)

# %% exercise=6.16 hint="wpe, the embedding of the places, decays: you leave out wte alone. In Python ('wpe' and 'wte') is just 'wte', so ask for each name by itself."
-     decay = {n for n, p in named.items() if p.ndim == 2 and not n.endswith(("wte.weight", "wpe.weight"))}
+     decay = {n for n, p in named.items() if p.ndim == 2 and ("wpe" and "wte") not in n}

# %% exercise=6.17 hint="All matrices get 0.02. The projections that write on the road, c_proj, begin smaller: divide by sqrt(2 n_layer)."
-             if name.endswith("c_proj.weight"):
-                 p.normal_(0, 0.02 / math.sqrt(2 * self.config.n_layer), generator)
-             elif p.ndim == 2:
+             if p.ndim == 2:

# %% exercise=6.17 hint="You count one term for each block. A block adds twice: sqrt(2 n_layer)."
-                 p.normal_(0, 0.02 / math.sqrt(2 * self.config.n_layer), generator)
+                 p.normal_(0, 0.02 / math.sqrt(self.config.n_layer), generator)

# %% exercise=6.17 hint="You divide by 2 n_layer, not by its root. Variances add, so spreads grow with the root of the number of terms."
-                 p.normal_(0, 0.02 / math.sqrt(2 * self.config.n_layer), generator)
+                 p.normal_(0, 0.02 / (2 * self.config.n_layer), generator)

# %% exercise=6.17 hint="Only attention's projection is smaller. The MLP has a c_proj too, and writes on the same road."
-             if name.endswith("c_proj.weight"):
+             if name.endswith("attn.c_proj.weight"):

# %% exercise=6.17 hint="Only the MLP's projection is smaller. Attention has a c_proj too, and writes on the same road."
-             if name.endswith("c_proj.weight"):
+             if name.endswith("mlp.c_proj.weight"):

# %% exercise=6.17 hint="All matrices are divided. Only c_proj writes on the road; the others begin with 0.02."
-             if name.endswith("c_proj.weight"):
-                 p.normal_(0, 0.02 / math.sqrt(2 * self.config.n_layer), generator)
-             elif p.ndim == 2:
-                 p.normal_(0, 0.02, generator)
+             if p.ndim == 2:
+                 p.normal_(0, 0.02 / math.sqrt(2 * self.config.n_layer), generator)

# %% exercise=6.17 hint="The weights of norms are 0 now: nothing gets through. They begin at 1."
-                 p.fill_(0 if name.endswith("bias") else 1)
+                 p.fill_(0)

# %% exercise=6.17 hint="What has one axis keeps its old numbers: biases become 0, and norms' weights 1, also in a trained model."
-             else:
-                 p.fill_(0 if name.endswith("bias") else 1)

# %% exercise=6.17 hint="Norms' weights keep their old numbers: they become 1, also in a model that was trained."
-             else:
-                 p.fill_(0 if name.endswith("bias") else 1)
+             elif name.endswith("bias"):
+                 p.fill_(0)

# %% exercise=6.17 hint="The head is forgotten: go through all parameters of the model, not of `transformer`."
-         for name, p in self.named_parameters():
+         for name, p in self.transformer.named_parameters():

# %% exercise=6.17 hint="Draw from the `generator` that you are given: its seed repeats a model."
-                 p.normal_(0, 0.02 / math.sqrt(2 * self.config.n_layer), generator)
+                 p.normal_(0, 0.02 / math.sqrt(2 * self.config.n_layer))

-                 p.normal_(0, 0.02, generator)
+                 p.normal_(0, 0.02)

# %% exercise=6.17 hint="0.02 is the spread (standard deviation), not the variance: `normal_` takes the spread."
-                 p.normal_(0, 0.02, generator)
+                 p.normal_(0, math.sqrt(0.02), generator)

# %% exercise=6.17 hint="The biases of norms are 1 now. Their names have `ln_` in them as well: only the weights of norms begin at 1, all biases at 0."
-                 p.fill_(0 if name.endswith("bias") else 1)
+                 p.fill_(1 if "ln_" in name else 0)

# %% exercise=6.17 hint="`c_proj` is in the names of its bias, too: those biases should be 0. Ask for c_proj.weight."
-             if name.endswith("c_proj.weight"):
+             if "c_proj" in name:

# %% exercise=6.18 hint="The gradient of the mean loss has the factor 1/N: divide the logits' gradient by the number of rows."
-     dlogits = np.exp(log_p) / n
-     dlogits[rows, targets] -= 1 / n
+     dlogits = np.exp(log_p)
+     dlogits[rows, targets] -= 1

# %% exercise=6.18 hint="The mean moves with x: take off the mean of the gradient, dy.mean(1)."
-     dx = scale * (dy - dy.mean(1, keepdims=True) - y * (dy * y).mean(1, keepdims=True))
+     dx = scale * (dy - y * (dy * y).mean(1, keepdims=True))

# %% exercise=6.18 hint="The variance moves with x as well: the term y * mean(dy * y) is missing."
-     dx = scale * (dy - dy.mean(1, keepdims=True) - y * (dy * y).mean(1, keepdims=True))
+     dx = scale * (dy - dy.mean(1, keepdims=True))

# %% exercise=6.18 hint="gamma multiplies the normed row, so it stands in the gradient of x too: dy = dz * gamma."
-     dy = dz * gamma
+     dy = dz

# %% exercise=6.18 hint="The linear layer reads z = gamma * y + beta, so the gradient of W is made with z, not with y."
-     dz, dW = dlogits @ W, dlogits.T @ z
+     dz, dW = dlogits @ W, dlogits.T @ y

# %% exercise=6.18 hint="NumPy's var with ddof=1 divides by C - 1. Layer norm divides by C."
-     scale = 1 / np.sqrt(x.var(1, keepdims=True) + eps)
+     scale = 1 / np.sqrt(x.var(1, keepdims=True, ddof=1) + eps)

# %% exercise=6.18 hint="Large scores overflow in exp: take off each row's largest first."
-     logits = logits - logits.max(1, keepdims=True)

# %% exercise=6.18 hint="The gradient of gamma is that of its product with y: dz times y, summed over the rows."
-     return float(loss), (dlogits, dx, (dz * y).sum(0), dz.sum(0), dW, dlogits.sum(0))
+     return float(loss), (dlogits, dx, (dz * z).sum(0), dz.sum(0), dW, dlogits.sum(0))

# %% exercise=6.18 hint="All right, with more matrix products than are needed: one forward, two back."
-     dz, dW = dlogits @ W, dlogits.T @ z
+     dz, dW = dlogits @ W, np.stack([dlogits[:, k] @ z for k in range(len(W))])

# %% exercise=6.18 hint="The engine goes the way back for you here. By hand means in NumPy: the formulas are what is asked for."
def both_ways(x, gamma, beta, W, b, targets, eps=1e-5):
    from minilib import functional as F

    tensors = [Tensor(np.asarray(a), requires_grad=True) for a in (x, gamma, beta, W, b)]
    z = F.layer_norm(tensors[0], x.shape[1:], tensors[1], tensors[2], eps)
    logits = F.linear(z, tensors[3], tensors[4])
    loss = F.cross_entropy(logits, Tensor(targets))
    loss.backward()
    shares = np.exp(logits.numpy() - logits.numpy().max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    shares[np.arange(len(x)), targets] -= 1
    return loss.item(), (shares / len(x), *(t.grad.numpy() for t in tensors))

# %% exercise=6.18 hint="eps belongs to the variance, inside of the root: 1 / sqrt(var + eps)."
-     scale = 1 / np.sqrt(x.var(1, keepdims=True) + eps)
+     scale = 1 / (np.sqrt(x.var(1, keepdims=True)) + eps)

# %% exercise=6.14 hint="You ask which tokens the question has, and leave out targets that equal one of them, in the answer too. It is a matter of places: the first columns."
-     targets[:, : max(prompt - 1, 0)] = -1
+     targets[(targets[:, :, None] == tokens[:, None, :prompt]).any(2)] = -1

# %% exercise=6.18 hint="You take the largest of all logits off. A row that lies far below it adds up to 0, whose logarithm is -inf: each row needs its own largest, max(1, keepdims=True)."
def both_ways(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, W: np.ndarray, b: np.ndarray,
    targets: np.ndarray, eps: float = 1e-5,
) -> tuple[float, tuple[np.ndarray, ...]]:  # fmt: skip
    """The loss, and the gradients of logits, x, gamma, beta, W, b."""
    N = len(x)
    scale = 1 / np.sqrt(x.var(1, keepdims=True) + eps)
    y = (x - x.mean(1, keepdims=True)) * scale
    normed = y * gamma + beta
    logits = normed @ W.T + b
    logits = logits - logits.max()
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    loss = float(-logs[np.arange(N), targets].mean())

    dlogits = np.exp(logs)
    dlogits[np.arange(N), targets] -= 1
    dlogits = dlogits / N
    dW = dlogits.T @ normed
    db = dlogits.sum(0)
    dnormed = dlogits @ W
    dgamma = (dnormed * y).sum(0)
    dbeta = dnormed.sum(0)
    dy = dnormed * gamma
    dx = scale * (dy - dy.mean(1, keepdims=True) - y * (dy * y).mean(1, keepdims=True))
    return loss, (dlogits, dx, dgamma, dbeta, dW, db)
