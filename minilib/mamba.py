"""Mamba: a stack of blocks, each of which decides at every token what its state takes in, keeps and says.

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

from minilib import functional as F
from minilib import nn
from minilib.optim import AdamW
from minilib.functional.scan import selective_scan
from minilib.tensor import Array, Generator, Tensor, arange, array_module, cat, no_grad, ones, rand
from minilib.sampling import check_dials, choose

# Sizes


@dataclass
class MambaConfig:
    """The sizes of a Mamba; names and defaults are those of mamba-minimal."""

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
        self.d_inner = self.expand * self.d_model
        if self.dt_rank == "auto":
            self.dt_rank = math.ceil(self.d_model / 16)
        self.vocab_size += -self.vocab_size % self.pad_vocab_size_multiple


# A block


class MambaBlock(nn.Module):
    """(B, T, C) -> (B, T, C)"""

    def __init__(self, config: MambaConfig) -> None:
        self.config = config
        c, e, n, r = config.d_model, config.d_inner, config.d_state, int(config.dt_rank)
        self.in_proj = nn.Linear(c, 2 * e, bias=config.bias)
        self.conv1d = nn.Conv1d(
            e, e, config.d_conv, padding=config.d_conv - 1, groups=e, bias=config.conv_bias
        )
        self.x_proj = nn.Linear(e, r + 2 * n, bias=False)
        self.dt_proj = nn.Linear(r, e)
        self.A_log = nn.Parameter((arange(1, n + 1).float() * ones((e, 1))).log())
        self.D = nn.Parameter(ones(e))
        self.out_proj = nn.Linear(e, c, bias=config.bias)
        step = rand(e) * (math.log(0.1) - math.log(0.001)) + math.log(0.001)
        step = step.exp().clip(1e-4)
        with no_grad():
            self.dt_proj.weight.uniform_(-(r**-0.5), r**-0.5)
            self.dt_proj.bias.data[:] = (
                (step + (-(-step).expm1()).log()).data
                if hasattr(step, "expm1")
                else (step.exp() - 1).log().data
            )
            self.out_proj.weight.data[:] /= math.sqrt(config.n_layer)

    def forward(self, u: Tensor) -> Tensor:
        x, gate = self.in_proj(u).split(self.config.d_inner, dim=2)
        x = F.silu(self.conv1d(x.transpose(1, 2))[:, :, : u.shape[1]].transpose(1, 2))
        r, n = self.dt_proj.weight.shape[1], self.config.d_state
        parts = self.x_proj(x)
        step, B, C = parts[:, :, :r], parts[:, :, r : r + n], parts[:, :, r + n :]
        delta = F.softplus(self.dt_proj(step))
        y = selective_scan(x, delta, -self.A_log.exp(), B, C, self.D)
        return self.out_proj(y * F.silu(gate))

    def step(self, u: Tensor, window: Array, state: Array) -> Tensor:
        """One token: (B, C) -> (B, C). `window` (B, E, K - 1) and `state` (B, E, N) take it in."""
        x, gate = self.in_proj(u).split(self.config.d_inner, dim=1)  # (B, E)
        seen = cat([Tensor(window), x[:, :, None]], 2)  # (B, E, K)
        window[:] = seen.data[:, :, 1:]
        x = (seen * self.conv1d.weight[:, 0]).sum(2)
        x = F.silu(x if self.conv1d.bias is None else x + self.conv1d.bias)
        r, n = self.dt_proj.weight.shape[1], self.config.d_state
        step, B, C = self.x_proj(x).split([r, n, n], dim=1)
        delta = F.softplus(self.dt_proj(step))  # (B, E)
        state *= (delta[:, :, None] * -self.A_log.exp()).exp().data
        state += ((delta * x)[:, :, None] * B[:, None]).data
        y = (Tensor(state) @ C[:, :, None])[:, :, 0] + self.D * x
        return self.out_proj(y * F.silu(gate))

    def prefill(self, u: Tensor, window: Array, state: Array) -> Tensor:
        """Many tokens behind those that were there: (B, T, C) -> (B, T, C), as so many steps."""
        x, gate = self.in_proj(u).split(self.config.d_inner, dim=2)  # (B, T, E)
        seen = cat([Tensor(window), x.transpose(1, 2)], 2)  # (B, E, K - 1 + T)
        window[:] = seen.data[:, :, seen.shape[2] - window.shape[2] :]
        x = F.conv1d(seen, self.conv1d.weight, self.conv1d.bias, groups=self.config.d_inner)
        x = F.silu(x.transpose(1, 2))
        r, n = self.dt_proj.weight.shape[1], self.config.d_state
        step, B, C = self.x_proj(x).split([r, n, n], dim=2)
        delta = F.softplus(self.dt_proj(step))
        y = selective_scan(x, delta, -self.A_log.exp(), B, C, self.D, state)
        return self.out_proj(y * F.silu(gate))


@dataclass
class MambaState:
    """What the layers remember of all tokens before, in a size that does not depend on how many they were."""

    windows: list[Array]  # (B, E, K - 1): the last inputs of each layer's convolution
    states: list[Array]  # (B, E, N)


class ResidualBlock(nn.Module):
    """A norm, a block, and what came in added to it."""

    def __init__(self, config: MambaConfig) -> None:
        self.mixer = MambaBlock(config)
        self.norm = nn.RMSNorm(config.d_model, 1e-5)

    def forward(self, x: Tensor) -> Tensor:
        return self.mixer(self.norm(x)) + x


# The model


class Mamba(nn.Module):
    """ids (B, T) -> logits (B, T, V)"""

    def __init__(self, config: MambaConfig) -> None:
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.layers = nn.ModuleList(ResidualBlock(config) for _ in range(config.n_layer))
        self.norm_f = nn.RMSNorm(config.d_model, 1e-5)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.lm_head.weight = self.embedding.weight
        with no_grad():
            self.embedding.weight.normal_(0, 0.02)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm_f(x))

    def configure_optimizers(
        self, learning_rate: float = 3e-4, betas: tuple[float, float] = (0.9, 0.95), weight_decay: float = 0.1
    ) -> AdamW:
        """AdamW in two groups: matrices of products decay; A_log, D, biases, norms and embeddings do not."""
        named = dict(self.named_parameters())
        decay = {
            n for n, p in named.items() if p.ndim == 2 and not n.endswith(("A_log", "embedding.weight", ".C"))
        }
        groups = [
            {"params": [named[n] for n in sorted(decay)], "weight_decay": weight_decay},
            {"params": [named[n] for n in sorted(named.keys() - decay)], "weight_decay": 0.0},
        ]
        return AdamW(groups, lr=learning_rate, betas=betas)

    # One token at a time

    def init_state(self, batch_size: int) -> MambaState:
        """Nothing remembered yet, by any layer."""
        c = self.config
        like = self.embedding.weight.data
        xp = array_module(like)
        shapes = (batch_size, c.d_inner, c.d_conv - 1), (batch_size, c.d_inner, c.d_state)
        return MambaState(*([xp.zeros(shape, like.dtype) for _ in self.layers] for shape in shapes))

    def step(self, ids: Tensor, state: MambaState) -> Tensor:
        """One token of each sample (B,) -> scores (B, V) of what comes next. `state` takes it in."""
        with no_grad():
            x = self.embedding(ids)  # (B, C)
            for layer, window, h in zip(self.layers, state.windows, state.states, strict=True):
                x = x + layer.mixer.step(layer.norm(x), window, h)
            logits: Tensor = self.lm_head(self.norm_f(x))
        return logits

    def prefill(self, ids: Tensor, state: MambaState) -> Tensor:
        """Many tokens at once (B, T) -> scores (B, V) of what comes behind the last; `state` takes them in."""
        with no_grad():
            x = self.embedding(ids)  # (B, T, C)
            for layer, window, h in zip(self.layers, state.windows, state.states, strict=True):
                x = x + layer.mixer.prefill(layer.norm(x), window, h)
            logits: Tensor = self.lm_head(self.norm_f(x[:, -1]))
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
        check_dials(self.config.vocab_size, max_new_tokens, temperature, top_k, top_p)
        state = self.init_state(idx.shape[0])
        new = idx
        for _ in range(max_new_tokens):
            logits = self.prefill(new, state)
            new = choose(logits, temperature, do_sample, top_k, top_p, generator)
            idx = cat([idx, new], 1)
        return idx
