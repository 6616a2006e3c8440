"""The peer of benchmarks/mamba.py: Mamba in PyTorch with a sequential scan, and mamba-minimal's names.

Written for the benchmark from the paper (arXiv:2312.00752, algorithm 2 and figure 3), in the way that needs
no kernel of one's own: exp(ΔA) and ΔBx for the whole sequence, then one step after another. `unbind` takes
the sequence apart once: with an index at each step, backward would take quadratic time. Not a program:
nothing to run here.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def scan(x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor) -> Tensor:
    """x and delta (B, T, E), A (E, N), B and C (B, T, N), D (E,): y (B, T, E), token by token."""
    kept = torch.exp(torch.einsum("bte,en->bten", delta, A))
    taken = torch.einsum("bte,btn,bte->bten", delta, B, x)
    state = torch.zeros_like(taken[:, 0])
    said = []
    for a, b, c in zip(kept.unbind(1), taken.unbind(1), C.unbind(1), strict=True):
        state = a * state + b
        said.append(torch.einsum("ben,bn->be", state, c))
    return torch.stack(said, 1) + x * D


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class MambaBlock(nn.Module):
    def __init__(self, width: int, state: int) -> None:
        super().__init__()
        inner, self.state, self.rank = 2 * width, state, math.ceil(width / 16)
        self.in_proj = nn.Linear(width, 2 * inner, bias=False)
        self.conv1d = nn.Conv1d(inner, inner, 4, padding=3, groups=inner)
        self.x_proj = nn.Linear(inner, self.rank + 2 * state, bias=False)
        self.dt_proj = nn.Linear(self.rank, inner)
        rates = torch.arange(1, state + 1, dtype=torch.float32).repeat(inner, 1)
        self.A_log, self.D = nn.Parameter(torch.log(rates)), nn.Parameter(torch.ones(inner))
        self.out_proj = nn.Linear(inner, width, bias=False)

    def forward(self, u: Tensor) -> Tensor:
        x, gate = self.in_proj(u).chunk(2, dim=-1)
        x = F.silu(self.conv1d(x.transpose(1, 2))[:, :, : u.shape[1]].transpose(1, 2))
        step, B, C = self.x_proj(x).split([self.rank, self.state, self.state], dim=-1)
        delta = F.softplus(self.dt_proj(step))
        y = scan(x, delta, -torch.exp(self.A_log), B, C, self.D)
        return self.out_proj(y * F.silu(gate))


class ResidualBlock(nn.Module):
    def __init__(self, width: int, state: int) -> None:
        super().__init__()
        self.mixer, self.norm = MambaBlock(width, state), RMSNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.mixer(self.norm(x))


class Mamba(nn.Module):
    """ids (B, T) -> logits (B, T, V)"""

    def __init__(self, vocabulary: int, layers: int, width: int, state: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(ResidualBlock(width, state) for _ in range(layers))
        self.norm_f = RMSNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.embedding.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm_f(x))
