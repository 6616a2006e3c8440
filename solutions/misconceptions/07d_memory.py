"""Plausible wrong answers to the exercises of chapter 07d, each with the hint that it earns."""

# %% exercise=7.16 hint="A GPT keeps two vectors a token in each layer: a key and a value."
-     each = 2 * gpt_layers * width
+     each = gpt_layers * width

# %% exercise=7.16 hint="The block is twice as wide inside: each column of its window and of its state has E numbers, twice the width."
-     mamba = mamba_layers * 2 * width * (N + K - 1)
+     mamba = mamba_layers * width * (N + K - 1)

# %% exercise=7.16 hint="The window is missing: K - 1 columns beside the N of the state."
-     mamba = mamba_layers * 2 * width * (N + K - 1)
+     mamba = mamba_layers * 2 * width * N

# %% exercise=7.16 hint="A window holds K - 1 columns: the K-th is the token that has come in."
-     mamba = mamba_layers * 2 * width * (N + K - 1)
+     mamba = mamba_layers * 2 * width * (N + K)

# %% exercise=7.16 hint="There both may keep as much as the other. More is one token later, wherever they are even."
-     return tokens * each, mamba, mamba // each + 1
+     return tokens * each, mamba, -(-mamba // each)

# %% exercise=7.16 hint="The state of a Mamba is for all tokens together: it does not grow with them."
-     return tokens * each, mamba, mamba // each + 1
+     return tokens * each, tokens * mamba, mamba // each + 1

# %% exercise=7.16 hint="At that length both keep as much, or the GPT less: count one token further."
-     return tokens * each, mamba, mamba // each + 1
+     return tokens * each, mamba, mamba // each

# %% exercise=7.16 hint="Numbers are asked for, not bytes."
-     each = 2 * gpt_layers * width
-     mamba = mamba_layers * 2 * width * (N + K - 1)
+     each = 4 * 2 * gpt_layers * width
+     mamba = 4 * mamba_layers * 2 * width * (N + K - 1)

# %% exercise=7.16 hint="That is one layer. Each layer keeps a cache, or a window and a state, of its own."
-     each = 2 * gpt_layers * width
-     mamba = mamba_layers * 2 * width * (N + K - 1)
+     each = 2 * width
+     mamba = 2 * width * (N + K - 1)

# %% exercise=7.17 hint="A new list of the same arrays is no copy: `step` writes into the arrays, and all endings share them. Copy each array."
-         own = MambaState([w.copy() for w in state.windows], [h.copy() for h in state.states])
+         own = MambaState(state.windows[:], state.states[:])

# %% exercise=7.17 hint="A new list of the same arrays is no copy: `step` writes into the arrays, and all endings share them. Copy each array."
-         own = MambaState([w.copy() for w in state.windows], [h.copy() for h in state.states])
+         own = state

# %% exercise=7.17 hint="The windows are shared still: what the convolution saw last belongs to an ending as much as its state does."
-         own = MambaState([w.copy() for w in state.windows], [h.copy() for h in state.states])
+         own = MambaState(list(state.windows), [h.copy() for h in state.states])

# %% exercise=7.17 hint="A new list of the same arrays is no copy: `step` writes into the arrays, and all endings share them. Copy each array."
-         own = MambaState([w.copy() for w in state.windows], [h.copy() for h in state.states])
+         own = MambaState([w.copy() for w in state.windows], list(state.states))

# %% exercise=7.17 hint="You forget the prompt: each ending begins with what was read, not with nothing."
-         own = MambaState([w.copy() for w in state.windows], [h.copy() for h in state.states])
+         own = model.init_state(1)

# %% exercise=7.17 hint="Right, but the prompt is read again for each ending. Read it once, and copy what the model remembers."
-     for token in prompt:
-         model.step(Tensor([token]), state)
-     for token in firsts:
-         own = MambaState([w.copy() for w in state.windows], [h.copy() for h in state.states])
+     for token in firsts:
+         own = model.init_state(1)
+         for t in prompt:
+             model.step(Tensor([t]), own)

# %% exercise=7.17 hint="Each ending begins with its first token; yours has only what comes after it."
-         found.append(ending)
+         found.append(ending[1:])

# %% exercise=7.18 hint="The window that came in is as before: `window = ...` gives the name to another array. Write into it, `window[:] = ...`, all but the oldest column."
-     window[:] = seen.data[:, :, 1:]  # the oldest column falls out
+     window = seen.data[:, :, 1:]

# %% exercise=7.18 hint="The state that came in is as before: `state = ...` gives the name to another array. Write into it, with `*=` and `+=` or `state[:] = ...`."
-     state *= (delta.unsqueeze(2) * A).exp().data  # (B, E, 1) * (E, N): what fades
-     state += ((delta * x).unsqueeze(2) * B.unsqueeze(1)).data  # (B, E, 1) * (B, 1, N), eq. 2a
+     state = state * (delta.unsqueeze(2) * A).exp().data
+     state = state + ((delta * x).unsqueeze(2) * B.unsqueeze(1)).data

# %% exercise=7.18 hint="The convolution sees its window backwards: weight 0 belongs to the oldest column, the last weight to the new one."
-     x = (seen * self.conv1d.weight[:, 0]).sum(2)  # (B, E, K) times (E, K), summed: (B, E)
+     x = (seen * Tensor(self.conv1d.weight.data[:, 0, ::-1].copy())).sum(2)

# %% exercise=7.18 hint="The window holds what goes into the convolution, as it comes from `in_proj`; you keep what comes out of it."
-     window[:] = seen.data[:, :, 1:]  # the oldest column falls out
-     x = (seen * self.conv1d.weight[:, 0]).sum(2)  # (B, E, K) times (E, K), summed: (B, E)
-     x = F.silu(x if self.conv1d.bias is None else x + self.conv1d.bias)
+     x = (seen * self.conv1d.weight[:, 0]).sum(2)
+     x = F.silu(x if self.conv1d.bias is None else x + self.conv1d.bias)
+     window[:] = cat([Tensor(window), x.unsqueeze(2)], 2).data[:, :, 1:]

# %% exercise=7.18 hint="The bias of the convolution is missing."
-     x = F.silu(x if self.conv1d.bias is None else x + self.conv1d.bias)
+     x = F.silu(x)

# %% exercise=7.18 hint="Behind the convolution comes SiLU, as in `forward`."
-     x = F.silu(x if self.conv1d.bias is None else x + self.conv1d.bias)
+     x = x if self.conv1d.bias is None else x + self.conv1d.bias

# %% exercise=7.18 hint="A step has a length above 0: softplus of what `dt_proj` says."
-     delta, A, B, C = self.select(x)
+     _, A, B, C = self.select(x)
+     delta = self.dt_proj(self.x_proj(x)[:, : self.dt_proj.in_features])

# %% exercise=7.18 hint="A is -exp(A_log): below 0, so that the state fades."
-     state *= (delta.unsqueeze(2) * A).exp().data  # (B, E, 1) * (E, N): what fades
+     state *= (delta.unsqueeze(2) * self.A_log.exp()).exp().data

# %% exercise=7.18 hint="A is -exp(A_log): below 0, so that the state fades."
-     state *= (delta.unsqueeze(2) * A).exp().data  # (B, E, 1) * (E, N): what fades
+     state *= (delta.unsqueeze(2) * -self.A_log).exp().data

# %% exercise=7.18 hint="The old state fades by exp(Δ A), not by Δ A."
-     state *= (delta.unsqueeze(2) * A).exp().data  # (B, E, 1) * (E, N): what fades
+     state *= (delta.unsqueeze(2) * A).data

# %% exercise=7.18 hint="What is written is Δ B x: a long step writes more. Δ is missing there."
-     state += ((delta * x).unsqueeze(2) * B.unsqueeze(1)).data  # (B, E, 1) * (B, 1, N), eq. 2a
+     state += (x.unsqueeze(2) * B.unsqueeze(1)).data

# %% exercise=7.18 hint="First the old state fades, then the new token is written: you let the new one fade as well."
-     state *= (delta.unsqueeze(2) * A).exp().data  # (B, E, 1) * (E, N): what fades
-     state += ((delta * x).unsqueeze(2) * B.unsqueeze(1)).data  # (B, E, 1) * (B, 1, N), eq. 2a
+     state += ((delta * x).unsqueeze(2) * B.unsqueeze(1)).data
+     state *= (delta.unsqueeze(2) * A).exp().data

# %% exercise=7.18 hint="You read the state before the token is in it: y comes after the update."
-     state *= (delta.unsqueeze(2) * A).exp().data  # (B, E, 1) * (E, N): what fades
-     state += ((delta * x).unsqueeze(2) * B.unsqueeze(1)).data  # (B, E, 1) * (B, 1, N), eq. 2a
-     y = (Tensor(state) @ C.unsqueeze(2)).squeeze(2) + self.D * x  # eq. 2b
+     y = (Tensor(state) @ C.unsqueeze(2)).squeeze(2) + self.D * x
+     state *= (delta.unsqueeze(2) * A).exp().data
+     state += ((delta * x).unsqueeze(2) * B.unsqueeze(1)).data

# %% exercise=7.18 hint="D x passes by the state, and is missing."
-     y = (Tensor(state) @ C.unsqueeze(2)).squeeze(2) + self.D * x  # eq. 2b
+     y = (Tensor(state) @ C.unsqueeze(2)).squeeze(2)

# %% exercise=7.18 hint="The gate goes through SiLU before it multiplies."
-     return self.out_proj(y * F.silu(gate))
+     return self.out_proj(y * gate)

# %% exercise=7.18 hint="The gate is missing: the second half of `in_proj` says what of y goes on."
-     return self.out_proj(y * F.silu(gate))
+     return self.out_proj(y)

# %% exercise=7.18 hint="B and C have changed places: `x_proj` says first what delta is made of, then B, then C."
-     delta, A, B, C = self.select(x)
+     delta, A, C, B = self.select(x)

# %% exercise=7.18 hint="x and the gate have changed places: `in_proj` says x first."
-     x, gate = self.in_proj(u).chunk(2, dim=1)  # (B, E) each
+     gate, x = self.in_proj(u).chunk(2, dim=1)

# %% exercise=7.18 hint="You begin with nothing at every token: what came before is in `window` and `state`."
-     x, gate = self.in_proj(u).chunk(2, dim=1)  # (B, E) each
+     window[:], state[:] = 0, 0
+     x, gate = self.in_proj(u).chunk(2, dim=1)

# %% exercise=7.18 hint="The convolution sees its window backwards: the oldest column stands first, and the new one last."
-     seen = cat([Tensor(window), x.unsqueeze(2)], 2)  # (B, E, K)
-     window[:] = seen.data[:, :, 1:]  # the oldest column falls out
+     seen = cat([x.unsqueeze(2), Tensor(window)], 2)
+     window[:] = seen.data[:, :, :-1]

# %% exercise=7.18 hint="`dt_proj` has a bias, which is missing: call the layer, not only its weight."
-     delta, A, B, C = self.select(x)
+     _, A, B, C = self.select(x)
+     step = self.x_proj(x)[:, : self.dt_proj.in_features]
+     delta = F.softplus(step @ self.dt_proj.weight.transpose(0, 1))

# %% exercise=7.18 hint="What is written into the state is the x that has passed the convolution and SiLU; you write it as it came from `in_proj`."
-     state += ((delta * x).unsqueeze(2) * B.unsqueeze(1)).data  # (B, E, 1) * (B, 1, N), eq. 2a
+     state += ((delta * self.in_proj(u).chunk(2, dim=1)[0]).unsqueeze(2) * B.unsqueeze(1)).data

# %% exercise=7.18 hint="D multiplies the x that has passed the convolution and SiLU; yours is as it came from `in_proj`."
-     y = (Tensor(state) @ C.unsqueeze(2)).squeeze(2) + self.D * x  # eq. 2b
+     y = (Tensor(state) @ C.unsqueeze(2)).squeeze(2) + self.D * self.in_proj(u).chunk(2, dim=1)[0]

# %% exercise=7.18 hint="The gate goes through SiLU, gate * sigmoid(gate), not through the sigmoid alone."
-     return self.out_proj(y * F.silu(gate))
+     return self.out_proj(y * gate.sigmoid())

# %% exercise=7.18 hint="The old state fades by exp(Δ A): without Δ the token cannot say how much."
-     state *= (delta.unsqueeze(2) * A).exp().data  # (B, E, 1) * (E, N): what fades
+     state *= A.exp().data

# %% exercise=7.18 hint="B writes and C reads: you read the state with B."
-     y = (Tensor(state) @ C.unsqueeze(2)).squeeze(2) + self.D * x  # eq. 2b
+     y = (Tensor(state) @ B.unsqueeze(2)).squeeze(2) + self.D * x

# %% exercise=7.19 hint="The text is in the state already: a second time it is read as if it were said twice. Only the token chosen last is new."
-         logits = self.prefill(idx, state) if logits is None else self.step(idx[:, -1], state)
+         logits = self.prefill(idx, state)

# %% exercise=7.19 hint="Right, but the whole text goes through the model for each token. The state is made once, and remembers it."
-     state, logits = self.init_state(idx.shape[0]), None
-     for _ in range(max_new_tokens):
-         logits = self.prefill(idx, state) if logits is None else self.step(idx[:, -1], state)
+     for _ in range(max_new_tokens):
+         logits = self.prefill(idx, self.init_state(idx.shape[0]))

# %% exercise=7.19 hint="The last token of the prompt is in the state twice: the scores of what comes next are those that `prefill` returns."
-     state, logits = self.init_state(idx.shape[0]), None
-     for _ in range(max_new_tokens):
-         logits = self.prefill(idx, state) if logits is None else self.step(idx[:, -1], state)
+     state = self.init_state(idx.shape[0])
+     self.prefill(idx, state)
+     for _ in range(max_new_tokens):
+         logits = self.step(idx[:, -1], state)

# %% exercise=7.19 hint="The prompt is lost: only its last token is read. `prefill` takes all of it."
-         logits = self.prefill(idx, state) if logits is None else self.step(idx[:, -1], state)
+         logits = self.step(idx[:, -1], state)

# %% exercise=7.19 hint="Each step begins with an empty state: make it once, before the loop."
-         logits = self.prefill(idx, state) if logits is None else self.step(idx[:, -1], state)
+         new = self.init_state(idx.shape[0])
+         logits = self.prefill(idx, state) if logits is None else self.step(idx[:, -1], new)

# %% exercise=7.19 hint="One step too many: behind the last token nobody asks what comes next."
-     for _ in range(max_new_tokens):
-         logits = self.prefill(idx, state) if logits is None else self.step(idx[:, -1], state)
-         idx = cat([idx, choose(logits, temperature, do_sample, top_k, top_p, generator)], 1)
+     for _ in range(max_new_tokens):
+         logits = self.prefill(idx, state) if logits is None else logits
+         idx = cat([idx, choose(logits, temperature, do_sample, top_k, top_p, generator)], 1)
+         logits = self.step(idx[:, -1], state)

# %% exercise=7.19 hint="You return only what is new. The prompt belongs to the answer."
-     return idx
+     return idx[:, idx.shape[1] - max_new_tokens :]

# %% exercise=7.19 hint="`choose` was not told everything: temperature, do_sample, top_k, top_p and the generator all matter to it."
-         idx = cat([idx, choose(logits, temperature, do_sample, top_k, top_p, generator)], 1)
+         idx = cat([idx, choose(logits)], 1)

# %% exercise=7.19 hint="`choose` was not told everything: temperature, do_sample, top_k, top_p and the generator all matter to it."
-         idx = cat([idx, choose(logits, temperature, do_sample, top_k, top_p, generator)], 1)
+         idx = cat([idx, choose(logits, temperature, do_sample, top_k, top_p)], 1)

# %% exercise=7.19 hint="`choose` was not told everything: temperature, do_sample, top_k, top_p and the generator all matter to it."
-         idx = cat([idx, choose(logits, temperature, do_sample, top_k, top_p, generator)], 1)
+         idx = cat([idx, logits.argmax(-1).unsqueeze(1)], 1)

# %% exercise=7.19 hint="`choose` takes top_k before top_p: in your call they have changed places."
-         idx = cat([idx, choose(logits, temperature, do_sample, top_k, top_p, generator)], 1)
+         idx = cat([idx, choose(logits, temperature, do_sample, top_p, top_k, generator)], 1)

# %% exercise=7.19 hint="`step` takes one token of each text, (B,), and `choose` returns (B, 1)."
-         logits = self.prefill(idx, state) if logits is None else self.step(idx[:, -1], state)
+         logits = self.prefill(idx, state) if logits is None else self.step(idx[:, -1:], state)

# %% exercise=7.19 hint="That is one token too many: `max_new_tokens` are to be chosen."
-     for _ in range(max_new_tokens):
+     for _ in range(max_new_tokens + 1):

# %% exercise=7.19 hint="Only the token chosen last is new: it stands at the end of the text, and you read another."
-         logits = self.prefill(idx, state) if logits is None else self.step(idx[:, -1], state)
+         logits = self.prefill(idx, state) if logits is None else self.step(idx[:, 0], state)

# %% exercise=7.20 hint="The window is forgotten: the first new tokens look at zeros instead of those before them."
-     seen = cat([Tensor(window).transpose(1, 2), x], 1)  # (B, K - 1 + T, E)
-     window[:] = seen.data[:, seen.shape[1] - before :].swapaxes(1, 2)  # [-0:] would be all of it
-     x = F.silu(F.causal_conv1d(seen, self.conv1d.weight, self.conv1d.bias)[:, before:])  # (B, T, E)
+     seen = cat([Tensor(window).transpose(1, 2), x], 1)
+     window[:] = seen.data[:, seen.shape[1] - before :].swapaxes(1, 2)
+     x = F.silu(F.causal_conv1d(x, self.conv1d.weight, self.conv1d.bias))

# %% exercise=7.20 hint="The window is not written back: the next stretch needs the last K - 1 inputs of this one."
-     window[:] = seen.data[:, seen.shape[1] - before :].swapaxes(1, 2)  # [-0:] would be all of it
+     pass

# %% exercise=7.20 hint="The state is forgotten: give it to `selective_scan`, which begins with it and leaves the last one there."
-     y = selective_scan(x, *self.select(x), self.D, state)
+     y = selective_scan(x, *self.select(x), self.D)

# %% exercise=7.20 hint="The window holds what goes into the convolution, as it comes from `in_proj`; you keep what comes out of it."
-     window[:] = seen.data[:, seen.shape[1] - before :].swapaxes(1, 2)  # [-0:] would be all of it
-     x = F.silu(F.causal_conv1d(seen, self.conv1d.weight, self.conv1d.bias)[:, before:])  # (B, T, E)
+     x = F.silu(F.causal_conv1d(seen, self.conv1d.weight, self.conv1d.bias)[:, before:])
+     kept = cat([Tensor(window).transpose(1, 2), x], 1)
+     window[:] = kept.data[:, kept.shape[1] - before :].swapaxes(1, 2)

# %% exercise=7.20 hint="Right, but a scan for each token is as many small steps as before. Give `selective_scan` all of them at once."
-     y = selective_scan(x, *self.select(x), self.D, state)
+     delta, A, B, C = self.select(x)
+     each = [[v[:, t : t + 1] for v in (x, delta, B, C)] for t in range(u.shape[1])]
+     y = cat([selective_scan(x, d, A, b, c, self.D, state) for x, d, b, c in each], 1)

# %% exercise=7.20 hint="The last K - 1 inputs may be older than this stretch: take them from the window with the new ones behind it, not from the new ones alone."
-     window[:] = seen.data[:, seen.shape[1] - before :].swapaxes(1, 2)  # [-0:] would be all of it
+     window[:] = x.data[:, max(0, x.shape[1] - before) :].swapaxes(1, 2)

# %% exercise=7.20 hint="Where K = 1 the window is empty, and `[-0:]` is everything, not nothing. Count from the front."
-     window[:] = seen.data[:, seen.shape[1] - before :].swapaxes(1, 2)  # [-0:] would be all of it
+     window[:] = seen.data[:, -before:].swapaxes(1, 2)

# %% exercise=7.20 hint="What comes first out of the convolution belongs to the old tokens: leave out the first K - 1, not the last."
-     x = F.silu(F.causal_conv1d(seen, self.conv1d.weight, self.conv1d.bias)[:, before:])  # (B, T, E)
+     x = F.silu(F.causal_conv1d(seen, self.conv1d.weight, self.conv1d.bias)[:, : u.shape[1]])

# %% exercise=7.16 hint="The GPT's numbers come first, then the Mamba's: yours have changed places."
-     return tokens * each, mamba, mamba // each + 1
+     return mamba, tokens * each, mamba // each + 1

# %% exercise=7.16 hint="A Mamba keeps by its own layers, mamba_layers; you count them by gpt_layers."
-     mamba = mamba_layers * 2 * width * (N + K - 1)
+     mamba = gpt_layers * 2 * width * (N + K - 1)

# %% exercise=7.16 hint="Your length is that of one layer of each. That holds where both have as many layers: have they?"
-     return tokens * each, mamba, mamba // each + 1
+     return tokens * each, mamba, (N + K - 1) + 1

# %% exercise=7.17 hint="One token too few: `new` of them come behind the first one, which was given."
-         for _ in range(new):
+         for _ in range(new - 1):

# %% exercise=7.19 hint="There is room for one text: the state is of as many as `idx` has rows, idx.shape[0]."
-     state, logits = self.init_state(idx.shape[0]), None
+     state, logits = self.init_state(1), None

# %% exercise=7.20 hint="D x is added twice: `selective_scan` does so already, where it is given D."
-     return self.out_proj(y * F.silu(gate))
+     return self.out_proj((y + self.D * x) * F.silu(gate))

# %% exercise=7.20 hint="The window has the right numbers in the wrong places: reshape counts the same memory off anew, and exchanges no axes. Which axis of the window is time?"
-     window[:] = seen.data[:, seen.shape[1] - before :].swapaxes(1, 2)  # [-0:] would be all of it
+     window[:] = seen.data[:, seen.shape[1] - before :].reshape(window.shape)

# %% exercise=7.18 hint="The convolution may have no bias: then `conv1d.bias` is None, and nothing is added."
@add_to(MambaBlock)
def step(self, u: Tensor, window: Array, state: Array) -> Tensor:
    """One token: (B, C) -> (B, C). `window` (B, E, K - 1) and `state` (B, E, N) take it in, in place."""
    x, gate = self.in_proj(u).chunk(2, dim=1)
    seen = np.concatenate([window, x.data[:, :, None]], axis=2)  # (B, E, K)
    window[:] = seen[:, :, 1:]
    mixed = (seen * self.conv1d.weight.data[:, 0, :]).sum(axis=2) + self.conv1d.bias.data
    x = F.silu(Tensor(mixed[:, None, :]))  # (B, 1, E)
    delta, A, B, C = self.select(x)
    x, delta, B, C = x.data[:, 0], delta.data[:, 0], B.data[:, 0], C.data[:, 0]
    state[:] = np.exp(delta[:, :, None] * A.data) * state + (delta * x)[:, :, None] * B[:, None, :]
    y = (state * C[:, None, :]).sum(axis=2) + self.D.data * x
    return self.out_proj(Tensor(y) * F.silu(gate))
