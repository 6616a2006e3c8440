"""Mamba: a stack of blocks, each of which decides at every token what its state takes in, keeps and says.

Taught in chapters/07c_mamba.ipynb, solutions/07c_mamba.ipynb, chapters/07d_memory.ipynb and
solutions/07d_memory.ipynb: what they export is edited there, then `make promote`.

    B   samples in a batch                     E   d_inner = expand * d_model, channels of a block
    T   tokens of a sample (paper: L)          N   d_state, numbers that each channel remembers
    C   d_model, the numbers that a token is   R   dt_rank, numbers that the length of a step is made of
    V   vocabulary, padded                     K   d_conv, tokens that the convolution sees

    paper   code      shape       what it is
    x       x         (B, T, E)   what comes in
    Δ       delta     (B, T, E)   how long a step lasts: what is let in, and what fades
    A       A         (E, N)      how fast each number of the state fades, below 0; A_log is log(-A)
    B       B         (B, T, N)   how x is written into the state
    C       C         (B, T, N)   how y is read from it
    D       D         (E,)        how much of x passes by the state
    h       state     (B, E, N)   what is remembered
    y       y         (B, T, E)   what goes out

Gu and Dao 2023, Mamba, arXiv:2312.00752; names and shapes of parameters are those of mamba-minimal and of
Hugging Face's models in "-hf" form, but for their first name `backbone`, so that weights load both ways.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minilib import functional as F
from minilib import nn
from minilib.functional.scan import selective_scan
from minilib.optim import AdamW
from minilib.sampling import check_dials, choose
from minilib.tensor import Array, Generator, Tensor, arange, array_module, cat, no_grad, ones, refuse_arrays

__all__ = ["Mamba", "MambaBlock", "MambaConfig", "MambaState", "ResidualBlock", "next_token"]


def __dir__() -> list[str]:
    return __all__  # what is its own, without what it imports


# Sizes


@dataclass
class MambaConfig:
    """The sizes of a Mamba; names and defaults are those of mamba-minimal.

    The vocabulary is padded to a multiple of `pad_vocab_size_multiple`. Raises ValueError for sizes below 1.
    """

    d_model: int
    n_layer: int
    vocab_size: int
    d_state: int = 16
    expand: int = 2
    dt_rank: int | str = "auto"  # d_model / 16, rounded up
    d_conv: int = 4
    pad_vocab_size_multiple: int = 8
    conv_bias: bool = True
    bias: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.dt_rank, str) and self.dt_rank != "auto":
            raise ValueError(f"dt_rank is a whole number or 'auto', and not {self.dt_rank!r}")
        names = ("d_model", "n_layer", "vocab_size", "d_state", "expand", "d_conv", "pad_vocab_size_multiple")
        for name in (*names, *(["dt_rank"] if self.dt_rank != "auto" else [])):
            size = getattr(self, name)
            if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, and is {size!r}")
        if self.dt_rank == "auto":
            self.dt_rank = math.ceil(self.d_model / 16)
        self.d_inner = self.expand * self.d_model
        # -n % m is what n lacks to a multiple.
        self.vocab_size += -self.vocab_size % self.pad_vocab_size_multiple


# A block


class MambaBlock(nn.Module):
    """Each token selects what the state takes in, keeps and puts out: (B, T, C) -> (B, T, C)."""

    def __init__(self, config: MambaConfig) -> None:
        self.config = config
        c, e, n, r, k = config.d_model, config.d_inner, config.d_state, int(config.dt_rank), config.d_conv
        self.in_proj = nn.Linear(c, 2 * e, bias=config.bias)  # x and the gate side by side
        self.conv1d = nn.Conv1d(e, e, k, padding=k - 1, groups=e, bias=config.conv_bias)
        self.x_proj = nn.Linear(e, r + 2 * n, bias=False)  # what delta is made of, B and C
        self.dt_proj = nn.Linear(r, e)  # low rank: E steps from R numbers, section 3.6
        self.A_log = nn.Parameter((arange(1, n + 1).float() * ones(e, 1)).log())  # S4D-Real: -1, ..., -N
        self.D = nn.Parameter(ones(e))
        self.out_proj = nn.Linear(e, c, bias=config.bias)

    def forward(self, u: Tensor, mask: Tensor | None = None) -> Tensor:
        x, gate = self.in_proj(u).chunk(2, dim=2)  # (B, T, E) each
        x = x if mask is None else x * mask
        x = F.silu(F.causal_conv1d(x, self.conv1d.weight, self.conv1d.bias))
        x = x if mask is None else x * mask
        y = selective_scan(x, *self.select(x), self.D)  # (B, T, E)
        return self.out_proj(y * F.silu(gate))

    def select(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What the tokens x (..., E) choose for the scan: delta (..., E), A (E, N), B and C (..., N)."""
        n = self.config.d_state
        step, B, C = self.x_proj(x).split([self.dt_proj.in_features, n, n], dim=-1)
        delta = F.softplus(self.dt_proj(step))  # (..., E), above 0
        return delta, -self.A_log.exp(), B, C  # A stays below 0, whatever is learned: the state fades

    def step(self, u: Tensor, window: Array, state: Array) -> Tensor:
        """One token: (B, C) -> (B, C). `window` (B, E, K - 1) and `state` (B, E, N) take it in, in place."""
        x, gate = self.in_proj(u).chunk(2, dim=1)  # (B, E) each
        seen = cat([Tensor(window), x.unsqueeze(2)], 2)  # (B, E, K)
        window[:] = seen.data[:, :, 1:]  # the oldest column falls out
        x = (seen * self.conv1d.weight[:, 0]).sum(2)  # (B, E, K) times (E, K), summed: (B, E)
        x = F.silu(x if self.conv1d.bias is None else x + self.conv1d.bias)
        delta, A, B, C = self.select(x)
        state *= (delta.unsqueeze(2) * A).exp().data  # (B, E, 1) * (E, N): what fades
        state += ((delta * x).unsqueeze(2) * B.unsqueeze(1)).data  # (B, E, 1) * (B, 1, N), eq. 2a
        y = (Tensor(state) @ C.unsqueeze(2)).squeeze(2) + self.D * x  # eq. 2b
        return self.out_proj(y * F.silu(gate))

    def prefill(self, u: Tensor, window: Array, state: Array) -> Tensor:
        """Many tokens behind those that were there, as so many steps: (B, T, C) -> (B, T, C)."""
        x, gate = self.in_proj(u).chunk(2, dim=2)  # (B, T, E) each
        before = window.shape[2]  # K - 1
        seen = cat([Tensor(window).transpose(1, 2), x], 1)  # (B, K - 1 + T, E)
        window[:] = seen.data[:, seen.shape[1] - before :].swapaxes(1, 2)  # [-0:] would be all of it
        x = F.silu(F.causal_conv1d(seen, self.conv1d.weight, self.conv1d.bias)[:, before:])  # (B, T, E)
        y = selective_scan(x, *self.select(x), self.D, state)
        return self.out_proj(y * F.silu(gate))


@dataclass
class MambaState:
    """What a model keeps of all tokens so far: no more after a million of them than after one."""

    windows: list[Array]  # of each layer, (B, E, K - 1): what its convolution saw last
    states: list[Array]  # of each layer, (B, E, N)

    @property
    def nbytes(self) -> int:
        """Bytes of all its arrays."""
        return sum(array.nbytes for array in [*self.windows, *self.states])

    def check(self, ids: Tensor, shape: str, ndim: int) -> None:
        """Raise where `ids` are not of this shape, with a row for each text of the state."""
        batch = len(self.states[0])
        if ids.ndim != ndim or len(ids) != batch or not ids.numel():
            raise ValueError(f"the state is of B = {batch} texts: ids must be {shape}, not {ids.shape}")


class ResidualBlock(nn.Module):
    """A block reads the residual stream through a norm and adds its output: (B, T, C) -> (B, T, C)."""

    def __init__(self, config: MambaConfig) -> None:
        self.mixer = MambaBlock(config)
        self.norm = nn.RMSNorm(config.d_model, 1e-5)  # no bias, no mean: half of LayerNorm's work

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return x + self.mixer(self.norm(x), mask)


# The model


class Mamba(nn.Module):
    """logits = model(ids): (B, T, V), of what comes after each token. The head is the embedding."""

    def __init__(self, config: MambaConfig) -> None:
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.layers = nn.ModuleList(ResidualBlock(config) for _ in range(config.n_layer))
        self.norm_f = nn.RMSNorm(config.d_model, 1e-5)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.lm_head.weight = self.embedding.weight  # tied: one matrix under two names
        self.reset_parameters()

    def reset_parameters(self, generator: Generator | None = None) -> None:
        """Draw anew what does not begin as its module does: embedding, out_proj and dt_proj.bias.

        N(0, 0.02²); 1 / sqrt(n_layer) of a linear layer's; steps softplus(bias) from 0.001 to 0.1, evenly by
        logarithm.
        """
        with no_grad():
            for name, p in self.named_parameters():
                if name == "embedding.weight":
                    p.normal_(0, 0.02, generator)
                elif name.endswith("out_proj.weight"):
                    bound = 1 / math.sqrt(p.shape[1] * self.config.n_layer)
                    p.uniform_(-bound, bound, generator)
                elif name.endswith("dt_proj.bias"):
                    steps = p.uniform_(math.log(0.001), math.log(0.1), generator).exp()
                    p.copy_((steps.exp() - 1).log())  # softplus backwards

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Logits for ids (B, T). Where mask (B, T) is 0, a token is padding, and nothing of it is remembered.

        Raises ValueError for another shape or dtype, IndexError for a token that does not exist.
        """
        self.check(ids, mask)
        x = self.embedding(ids)
        keep = None if mask is None else mask.unsqueeze(2).to(x.dtype)  # (B, T, 1)
        for layer in self.layers:
            x = layer(x, keep)
        return self.lm_head(self.norm_f(x))

    def loss(self, ids: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
        """The mean cross-entropy of the targets (B, T) that are not -1."""
        logits = self(ids, mask)
        if targets.shape != ids.shape or targets.dtype.kind not in "iu":
            given = f"{targets.dtype} of {targets.shape}"
            raise ValueError(f"targets must be integers of the shape of ids, {ids.shape}, not {given}")
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)

    def check(self, ids: Tensor, mask: Tensor | None = None) -> None:
        """Raise where `ids` are no tokens (B, T) of this model, or `mask` is none of 0 and 1 for them."""
        refuse_arrays("Mamba", self.check, (ids, mask), {})
        size = self.config.vocab_size
        if ids.ndim != 2 or ids.dtype.kind not in "iu":
            raise ValueError(f"ids must be integers of shape (B, T), not {ids.dtype} of {ids.shape}")
        if not ids.numel():
            raise ValueError(f"ids of shape {ids.shape} hold no token: give at least one")
        low, high = ids.data.min(), ids.data.max()
        if low < 0 or high >= size:
            raise IndexError(f"tokens are from 0 to {size - 1}, and ids has {low} to {high}")
        if mask is not None and mask.shape != ids.shape:
            raise ValueError(f"mask must have the shape of ids, {ids.shape}, not {mask.shape}")
        if mask is not None and not ((mask.data == 0) | (mask.data == 1)).all():
            raise ValueError("mask must hold 1 for a token and 0 for padding, and nothing else")

    @classmethod
    def from_pretrained(cls, name_or_folder: str | Path) -> Mamba:
        """Weights from a folder, or from Hugging Face's hub by name ("-hf"): `pretrained.load_mamba`."""
        from minilib.pretrained import load_mamba  # which imports this file

        return load_mamba(name_or_folder)

    def configure_optimizers(
        self, learning_rate: float = 1e-3, betas: tuple[float, float] = (0.9, 0.95), weight_decay: float = 0.1
    ) -> AdamW:
        """AdamW in two groups: weights of projections and convolutions decay; A_log, D and others do not."""
        named = dict(self.named_parameters())
        # Not A_log: 0 would be its centre.
        decay = {n for n in named if n.endswith(("proj.weight", "conv1d.weight"))}
        groups = [
            {"params": [named[n] for n in sorted(decay)], "weight_decay": weight_decay},
            {"params": [named[n] for n in sorted(named.keys() - decay)], "weight_decay": 0.0},
        ]
        return AdamW(groups, lr=learning_rate, betas=betas)

    # One token at a time

    def init_state(self, batch_size: int) -> MambaState:
        """A state for so many texts, of which nothing has been read yet."""
        c, weight = self.config, self.embedding.weight.data
        sizes = (batch_size, c.d_inner, c.d_conv - 1), (batch_size, c.d_inner, c.d_state)
        zeros = array_module(weight).zeros
        return MambaState(*([zeros(size, weight.dtype) for _ in self.layers] for size in sizes))

    def step(self, ids: Tensor, state: MambaState) -> Tensor:
        """One token of each text (B,) -> scores (B, V) of what comes next; `state` takes it in, in place."""
        state.check(ids, "(B,)", 1)
        with no_grad():
            x = self.embedding(ids)  # (B, C)
            layer: Any  # a ResidualBlock
            for layer, window, h in zip(self.layers, state.windows, state.states, strict=True):
                x = x + layer.mixer.step(layer.norm(x), window, h)
            logits: Tensor = self.lm_head(self.norm_f(x))
        return logits

    def prefill(self, ids: Tensor, state: MambaState) -> Tensor:
        """`step` for many tokens at once: ids (B, T) -> scores (B, V) of what comes behind the last."""
        state.check(ids, "(B, T)", 2)
        with no_grad():
            x = self.embedding(ids)  # (B, T, C)
            layer: Any  # a ResidualBlock
            for layer, window, h in zip(self.layers, state.windows, state.states, strict=True):
                x = x + layer.mixer.prefill(layer.norm(x), window, h)
            logits: Tensor = self.lm_head(self.norm_f(x[:, -1]))  # of the last token alone: (B, C) -> (B, V)
        return logits

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

        The prompt is read at once; each further token costs one step, however long the text is.
        """
        self.check(idx)
        check_dials(self.config.vocab_size, max_new_tokens, temperature, top_k, top_p)
        state, logits = self.init_state(idx.shape[0]), None
        for _ in range(max_new_tokens):
            logits = self.prefill(idx, state) if logits is None else self.step(idx[:, -1], state)
            idx = cat([idx, choose(logits, temperature, do_sample, top_k, top_p, generator)], 1)
        return idx


# A loss for the Trainer


def next_token(model: nn.Module, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, int]:
    """The sum of the cross-entropies of a batch (ids, targets), and how many count: not -1."""
    ids, targets = batch
    loss = F.cross_entropy(model(ids).flatten(0, 1), targets.flatten(), ignore_index=-1, reduction="sum")
    return loss, int((targets != -1).sum().item())
