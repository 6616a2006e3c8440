"""Second right answers to the exercises of chapter 06c, by another way than the reference's: each earns all points."""

# %% exercise=6.13
def embed(wte, wpe, idx, start=0):
    out = np.empty((*idx.shape, wte.shape[1]))
    for b, text in enumerate(idx):
        for t, token in enumerate(text):
            out[b, t] = wte[token] + wpe[start + t]
    return out


# %% exercise=6.14
def next_token_pairs(tokens, prompt=1):
    places = np.arange(1, tokens.shape[1])
    return Tensor(tokens[:, :-1].copy()), Tensor(np.where(places < prompt, -1, tokens[:, 1:]))


# %% exercise=6.15
class Block(nn.Module):
    def __init__(self, config):
        width = config.n_embd
        self.mlp, self.attn = MLP(config), CausalSelfAttention(config)
        self.ln_2, self.ln_1 = nn.LayerNorm(width), nn.LayerNorm((width,))

    def forward(self, x, cache=None):
        fetched = self.attn(self.ln_1(x), cache)
        return x + fetched + self.mlp(self.ln_2(x + fetched))


# %% exercise=6.16
def configure_optimizers(self, learning_rate=3e-4, betas=(0.9, 0.95), weight_decay=0.1):
    decay = {id(m.weight) for m in self.modules() if isinstance(m, nn.Linear)}
    groups = [
        {"params": [p], "weight_decay": weight_decay if id(p) in decay else 0.0, "lr": learning_rate}
        for p in self.parameters()
    ]
    return AdamW(groups, betas=betas)


GPT.configure_optimizers = configure_optimizers


# %% exercise=6.17
@add_to(GPT)
@no_grad()
def reset_parameters(self, generator=None):
    numbers = generator or Generator(0)
    for module in self.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            module.weight.normal_(0, 0.02, numbers)
            if getattr(module, "bias", None) is not None:
                module.bias.fill_(0)
        elif isinstance(module, nn.LayerNorm):
            module.weight.fill_(1)
            module.bias.fill_(0)
    for module in self.modules():
        if hasattr(module, "c_proj"):
            module.c_proj.weight.data *= (2 * len(self.transformer.h)) ** -0.5


# %% exercise=6.18
def both_ways(x, gamma, beta, W, b, targets, eps=1e-5):
    n, c = x.shape
    centred = x - x.mean(1)[:, None]
    deviation = np.sqrt((centred**2).mean(1) + eps)[:, None]
    y = centred / deviation
    logits = (y * gamma + beta).dot(W.T) + b
    top = logits.max(1, keepdims=True)
    log_p = logits - top - np.log(np.exp(logits - top).sum(1, keepdims=True))
    wanted = np.eye(len(b))[targets]
    dlogits = (np.exp(log_p) - wanted) / n
    dz = dlogits.dot(W)
    dy = dz * gamma
    pull = np.einsum("nc,nc->n", dy, centred)[:, None]  # a sum for each row is no matrix product
    dcentred = dy / deviation - centred * pull / (c * deviation**3)
    dx = dcentred - dcentred.mean(1, keepdims=True)
    loss = -(log_p * wanted).sum() / n
    dW = dlogits.T.dot(y * gamma + beta)
    return float(loss), (dlogits, dx, np.einsum("nc,nc->c", dz, y), np.sum(dz, 0), dW, np.sum(dlogits, 0))
