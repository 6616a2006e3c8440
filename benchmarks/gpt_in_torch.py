"""The peer of benchmarks/gpt.py: GPT-2's architecture in PyTorch, with minGPT's names of parameters.

Written for the benchmark from the papers (arXiv:1706.03762; Radford et al. 2019). `tuned` takes PyTorch's
fused attention and GELU where minGPT has chains of operations. Not a program: nothing to run here.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Past = list[list[Tensor]]  # for each layer, its keys and its values


class ChainGELU(nn.Module):
    """GELU's tanh formula, an operation at a time."""

    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class Attention(nn.Module):
    def __init__(self, block: int, heads: int, width: int, dropout: float, tuned: bool) -> None:
        super().__init__()
        self.heads, self.tuned, self.p = heads, tuned, dropout
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.attn_dropout, self.resid_dropout = nn.Dropout(dropout), nn.Dropout(dropout)
        mask = torch.tril(torch.ones(block, block)).view(1, 1, block, block)
        self.register_buffer("bias", mask, persistent=False)

    def forward(self, x: Tensor, past: list[Tensor] | None) -> Tensor:
        b, t, c = x.shape
        parts = self.c_attn(x).split(c, dim=2)
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in parts)
        if past is not None:
            past[:] = [torch.cat([old, new], 2) for old, new in zip(past, (k, v))] if past else [k, v]
            k, v = past
        if self.tuned or past is not None:
            dropout = self.p if self.training else 0.0
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=t > 1)
        else:
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            scores = scores.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
            y = self.attn_dropout(F.softmax(scores, dim=-1)) @ v
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c)))


class Block(nn.Module):
    def __init__(self, block: int, heads: int, width: int, dropout: float, tuned: bool) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(block, heads, width, dropout, tuned)
        act = nn.GELU(approximate="tanh") if tuned else ChainGELU()
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(width, 4 * width), "c_proj": nn.Linear(4 * width, width)})
        self.act, self.dropout = act, nn.Dropout(dropout)

    def forward(self, x: Tensor, past: list[Tensor] | None) -> Tensor:
        x = x + self.attn(self.ln_1(x), past)
        return x + self.dropout(self.mlp["c_proj"](self.act(self.mlp["c_fc"](self.ln_2(x)))))


class GPT(nn.Module):
    """logits, loss = model(idx, targets); `generate` takes the likeliest token each time."""

    def __init__(
        self, vocabulary: int, block: int, layers: int, heads: int, width: int, dropout: float, tuned: bool
    ) -> None:
        super().__init__()
        blocks = nn.ModuleList(Block(block, heads, width, dropout, tuned) for _ in range(layers))
        embeddings = {"wte": nn.Embedding(vocabulary, width), "wpe": nn.Embedding(block, width)}
        rest = {"drop": nn.Dropout(dropout), "h": blocks, "ln_f": nn.LayerNorm(width)}
        self.transformer = nn.ModuleDict({**embeddings, **rest})
        self.lm_head = nn.Linear(width, vocabulary, bias=False)

    def forward(
        self, idx: Tensor, targets: Tensor | None = None, past: Past | None = None
    ) -> tuple[Tensor, Tensor | None]:
        parts: Any = self.transformer
        start = past[0][0].shape[2] if past and past[0] else 0
        places = torch.arange(start, start + idx.shape[1])
        x = parts["drop"](parts["wte"](idx) + parts["wpe"](places))
        for i, block in enumerate(parts["h"]):
            x = block(x, None if past is None else past[i])
        logits = self.lm_head(parts["ln_f"](x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    @torch.no_grad()
    def generate(self, idx: Tensor, count: int) -> Tensor:
        past: Past = [[] for _ in self.transformer["h"]]
        new = idx
        for _ in range(count):
            logits, _ = self(new, past=past)
            new = logits[:, -1].argmax(-1, keepdim=True)
            idx = torch.cat([idx, new], 1)
        return idx
