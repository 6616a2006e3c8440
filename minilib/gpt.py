"""GPT: a stack of blocks, each of which looks back and then thinks, that says what comes next.

Taught in chapters/06c_gpt.ipynb, solutions/06c_gpt.ipynb and solutions/06d_generating.ipynb: what they export
is edited there, then `make promote`.

    B        samples in a batch                     n_layer   blocks
    T        tokens of a sample                     n_head    heads of attention in a block
    C        n_embd, the numbers that a token is    d         C / n_head, the numbers that a head works with
    V        vocab_size                             idx       tokens as integers from 0 to V - 1, (B, T)

Radford et al. 2019, Language Models are Unsupervised Multitask Learners; names, keys and shapes of parameters
are those of minGPT, so that weights load both ways.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from minilib import functional as F
from minilib import nn
from minilib.nn import evaluating
from minilib.optim import AdamW
from minilib.sampling import check_dials, choose
from minilib.tensor import Array, Generator, Tensor, arange, array_module, cat, no_grad, refuse_arrays

__all__ = [
    "GPT",
    "MLP",
    "MODELS",
    "Block",
    "CausalSelfAttention",
    "GPTConfig",
    "LayerCache",
    "Transformer",
    "next_token",
]


def __dir__() -> list[str]:
    return __all__  # what is its own, without what it imports


# Sizes


MODELS = {  # n_layer, n_head, n_embd
    "openai-gpt": (12, 12, 768),  # 117 million parameters
    "gpt2": (12, 12, 768),  # 124
    "gpt2-medium": (24, 16, 1024),  # 350
    "gpt2-large": (36, 20, 1280),  # 774
    "gpt2-xl": (48, 25, 1600),  # 1,558
    "gopher-44m": (8, 16, 512),
    "gpt-mini": (6, 6, 192),
    "gpt-micro": (4, 4, 128),
    "gpt-nano": (3, 3, 48),
}


@dataclass
class GPTConfig:
    """The sizes of a GPT: by name (`model_type`, one of MODELS) or by n_layer, n_head and n_embd, never both.

    Raises ValueError where a size is missing, given twice, or does not fit.
    """

    vocab_size: int
    block_size: int  # the longest sequence
    model_type: str | None = None
    n_layer: int = 0  # 0: by model_type
    n_head: int = 0
    n_embd: int = 0
    embd_pdrop: float = 0.1
    resid_pdrop: float = 0.1
    attn_pdrop: float = 0.1

    def __post_init__(self) -> None:
        names = ("n_layer", "n_head", "n_embd")
        given = [name for name in names if getattr(self, name)]
        if self.model_type is not None:
            if self.model_type not in MODELS:
                raise ValueError(f"model_type {self.model_type!r} is not one of {', '.join(MODELS)}")
            if given:
                raise ValueError(f"give a model_type or sizes, not both: {', '.join(given)} came with it")
            self.n_layer, self.n_head, self.n_embd = MODELS[self.model_type]
        elif len(given) < 3:
            missing = ", ".join(name for name in names if name not in given)
            raise ValueError(f"give model_type, or all of n_layer, n_head and n_embd; missing: {missing}")
        for name in ("vocab_size", "block_size", *names):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, and is {getattr(self, name)}")
        if self.n_embd % self.n_head:
            raise ValueError(f"n_embd {self.n_embd} must be a multiple of n_head {self.n_head}")


# Attention


class CausalSelfAttention(nn.Module):
    """Each position looks back at all up to itself, through several heads: (B, T, C) -> (B, T, C)."""

    def __init__(self, config: GPTConfig) -> None:
        self.n_head, self.attn_pdrop = config.n_head, config.attn_pdrop
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)  # query, key and value side by side
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.resid_dropout = nn.Dropout(config.resid_pdrop)

    def forward(self, x: Tensor, cache: LayerCache | None = None) -> Tensor:
        qkv = self.c_attn(x)  # (B, T, 3 C)
        if cache is None:
            y = F.causal_self_attention(qkv, self.n_head, self.attn_pdrop, self.training)
        else:
            q, k, v = qkv.split(x.shape[2], dim=2)  # (B, T, C) each
            # T queries, S keys and values: (B, T, C).
            y = F.causal_attention(q, *cache.extend(k, v), self.n_head)
        return self.resid_dropout(self.c_proj(y))


class LayerCache:
    """Keys and values of all `length` tokens that a layer has seen, in arrays (B, block_size, C)."""

    k: Array
    v: Array

    def __init__(self, block_size: int) -> None:
        self.block_size, self.length = block_size, 0

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Put those of T new tokens (B, T, C) behind the others; returns all of them, (B, S, C)."""
        if not self.length:
            shape = (k.shape[0], self.block_size, k.shape[2])
            self.k, self.v = (array_module(k.data).empty(shape, k.dtype) for _ in "kv")
        new = slice(self.length, self.length + k.shape[1])
        self.k[:, new], self.v[:, new], self.length = k.data, v.data, new.stop
        return Tensor(self.k[:, : self.length]), Tensor(self.v[:, : self.length])  # views (B, S, C)


# A block


class MLP(nn.Module):
    """Each position thinks on its own, in four times the width: (B, T, C) -> (B, T, C)."""

    def __init__(self, config: GPTConfig) -> None:
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd)
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd)
        self.dropout = nn.Dropout(config.resid_pdrop)

    def forward(self, x: Tensor) -> Tensor:
        wide = F.gelu(self.c_fc(x), "tanh")  # (B, T, 4 C)
        return self.dropout(self.c_proj(wide))


class Block(nn.Module):
    """Attention, then the MLP; both are added to the residual stream: (B, T, C) -> (B, T, C)."""

    def __init__(self, config: GPTConfig) -> None:
        self.ln_1 = nn.LayerNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd)
        self.mlp = MLP(config)

    def forward(self, x: Tensor, cache: LayerCache | None = None) -> Tensor:
        x = x + self.attn(self.ln_1(x), cache)  # the norm is inside the branch: the stream runs through
        x = x + self.mlp(self.ln_2(x))
        return x


# The model


class Transformer(nn.Module):
    """Tokens and their places become vectors, which go through the blocks: idx (B, T) -> (B, T, C)."""

    def __init__(self, config: GPTConfig) -> None:
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.drop = nn.Dropout(config.embd_pdrop)
        self.h = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.ln_f = nn.LayerNorm(config.n_embd)  # the stream has grown with each block

    def forward(self, idx: Tensor, caches: list[LayerCache] | None = None) -> Tensor:
        start = caches[0].length if caches else 0  # the place of the first new token
        places = arange(start, start + idx.shape[1], device=idx.device)  # (T,)
        x = self.drop(self.wte(idx) + self.wpe(places))  # (B, T, C) + (T, C)
        for i, block in enumerate(self.h):
            x = block(x, caches[i] if caches else None)
        return self.ln_f(x)


class GPT(nn.Module):
    """logits, loss = model(idx, targets): scores (B, T, V) of what comes after each token, and their loss."""

    def __init__(self, config: GPTConfig) -> None:
        self.config, self.block_size = config, config.block_size
        self.transformer = Transformer(config)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.reset_parameters()

    def reset_parameters(self, generator: Generator | None = None) -> None:
        """Draw anew as GPT-2: N(0, 0.02²), or N(0, 0.02² / (2 n_layer)) where it is added to the stream."""
        with no_grad():
            for name, p in self.named_parameters():
                if name.endswith("c_proj.weight"):
                    p.normal_(0, 0.02 / math.sqrt(2 * self.config.n_layer), generator)
                elif p.ndim == 2:
                    p.normal_(0, 0.02, generator)
                else:
                    p.fill_(0 if name.endswith("bias") else 1)

    def forward(
        self, idx: Tensor, targets: Tensor | None = None, caches: list[LayerCache] | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Scores and, with targets (B, T), the mean cross-entropy of those that are not -1.

        Raises ValueError for a sequence longer than block_size, IndexError for a token that does not exist.
        """
        self.check(idx, caches[0].length if caches else 0)
        logits = self.lm_head(self.transformer(idx, caches))  # (B, T, V)
        if targets is None:
            return logits, None
        # (B T, V), (B T,).
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)

    def check(self, idx: Tensor, before: int = 0) -> None:
        """Raise where `idx` is no (B, T) of tokens that fits behind `before` others."""
        if idx.ndim != 2 or idx.dtype.kind not in "iu":
            raise ValueError(f"idx must be integers of shape (B, T), not {idx.dtype} of {idx.shape}")
        length, size = before + idx.shape[1], self.config.vocab_size
        if length > self.block_size:
            raise ValueError(f"the sequence has {length} tokens, the model's block_size is {self.block_size}")
        low, high = (idx.data.min(), idx.data.max()) if idx.numel() else (0, 0)
        if low < 0 or high >= size:
            raise IndexError(f"tokens are from 0 to {size - 1}, and idx has {low} to {high}")

    def num_parameters(self) -> int:
        """How many numbers are learned, but for those of the head, as minGPT counts."""
        return sum(p.numel() for p in self.transformer.parameters())

    @classmethod
    def from_pretrained(cls, name_or_folder: str | Path) -> GPT:
        """GPT-2's weights from a folder, or from Hugging Face's hub by name: `pretrained.load_gpt`."""
        from minilib.pretrained import load_gpt  # which imports this file

        return load_gpt(name_or_folder)

    def load_state_dict(self, state: Mapping[str, Tensor], strict: bool = True) -> nn.IncompatibleKeys:
        """As any module does, without the constants `attn.bias` that a state of minGPT has."""
        kept = {n: t for n, t in state.items() if not n.endswith(".attn.bias")}  # minGPT's mask of the future
        return super().load_state_dict(kept, strict)

    def configure_optimizers(
        self, learning_rate: float = 3e-4, betas: tuple[float, float] = (0.9, 0.95), weight_decay: float = 0.1
    ) -> AdamW:
        """AdamW in two groups: matrices of products decay; biases, norms and embeddings do not."""
        named = dict(self.named_parameters())
        decay = {n for n, p in named.items() if p.ndim == 2 and not n.endswith(("wte.weight", "wpe.weight"))}
        groups = [
            {"params": [named[n] for n in sorted(decay)], "weight_decay": weight_decay},
            {"params": [named[n] for n in sorted(named.keys() - decay)], "weight_decay": 0.0},
        ]
        return AdamW(groups, lr=learning_rate, betas=betas)

    # Generating

    def generate(
        self,
        idx: Tensor,
        max_new_tokens: int,
        temperature: float = 1.0,
        do_sample: bool = False,
        top_k: int | None = None,
        top_p: float | None = None,
        generator: Generator | None = None,
    ) -> Tensor:
        """`idx` (B, T) and max_new_tokens more: the likeliest each time, or drawn with `do_sample`.

        Without dropout. Keys and values are kept until the block is full; then all places change, and the
        last block_size tokens are worked out anew for each one.
        """
        self.check_choice(idx, max_new_tokens, temperature, top_k, top_p)
        caches = self.new_caches()
        with evaluating(self):
            for _ in range(max_new_tokens):
                if idx.shape[1] <= self.block_size:
                    x = self.transformer(idx[:, caches[0].length :], caches)
                else:
                    x = self.transformer(idx[:, -self.block_size :])
                logits = self.lm_head(x[:, -1])  # (B, V): of the last position, the others were asked before
                token = choose(logits, temperature, do_sample, top_k, top_p, generator)
                idx = cat([idx, token], 1)
        return idx

    def new_caches(self) -> list[LayerCache]:
        """A cache for each layer, empty."""
        return [LayerCache(self.block_size) for _ in range(self.config.n_layer)]

    def check_choice(
        self, idx: Tensor, new: int, temperature: float, top_k: int | None, top_p: float | None
    ) -> None:
        """Raise where `new` tokens cannot be generated behind `idx` by these."""
        refuse_arrays("generate", self.check_choice, (idx, new, temperature, top_k, top_p), {})
        if idx.ndim == 2 and not idx.numel():
            raise ValueError(f"generate: the prompt is empty, {idx.shape}: give at least one token")
        self.check(idx, -idx.shape[-1])  # it may be longer than the block
        check_dials(self.config.vocab_size, new, temperature, top_k, top_p)


# A loss for the Trainer


def next_token(model: nn.Module, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, int]:
    """The sum of the cross-entropies of a batch (idx, targets), and how many count: not -1."""
    idx, targets = batch
    logits, _ = model(idx)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1, reduction="sum")
    return loss, int((targets != -1).sum().item())
