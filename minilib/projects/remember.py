"""What a model can remember: a Mamba, the same without selection, or a GPT of as many parameters.

python -m minilib.projects.remember --task induction
python -m minilib.projects.remember --task copying --model fixed
python -m minilib.projects.remember --task recall --model gpt

copying     16 tokens stand among noise in 64 places: say them in their order
induction   a special token, and again at the end: what followed it the first time? Tested to 1,024 places
recall      up to 16 keys with a value each: say the value of each key

The last line tells how much of what was asked on held-out samples comes out right.
"""

from __future__ import annotations

import argparse
from typing import Any, TypeAlias

from minilib import functional as F
from minilib import gpt, mamba, nn
from minilib.data import DataLoader, TensorDataset, induction_heads, recall, selective_copying
from minilib.gpt import GPT, GPTConfig
from minilib.mamba import Mamba, MambaBlock, MambaConfig
from minilib.nn import evaluating
from minilib.projects.running import Parser, Samples, fitted, options, started
from minilib.tensor import Tensor, arange, manual_seed, no_grad, randn, where, zeros

# Tasks


LENGTHS = (64, 128, 256, 512, 1024)  # that induction heads are tested on, and trained on the first
PAIRS = (2, 4, 8, 16)  # that recall is trained and tested on; the last are all keys that there are
VOCABULARY = {"copying": 16, "induction": 16, "recall": 2 * PAIRS[-1]}
BLOCK = {"copying": 80, "induction": LENGTHS[-1], "recall": 3 * PAIRS[-1]}  # of a GPT: the longest test
TESTED = 131_072  # tokens in all, at most 1,024 samples

Tests: TypeAlias = dict[int, TensorDataset]


def samples_of(task: str, n: int, seed: int) -> tuple[TensorDataset, Tests]:
    """`n` samples to train on; and those to test on, by their length or number of pairs."""
    train, held_out = (seed, 0), (seed, 1)
    if task == "copying":
        return TensorDataset(*selective_copying(n, seed=train)), {
            64: TensorDataset(*selective_copying(1024, seed=held_out))
        }
    if task == "induction":
        return TensorDataset(*induction_heads(n, LENGTHS[0], seed=train)), {
            length: TensorDataset(*induction_heads(min(1024, TESTED // length), length, seed=held_out))
            for length in LENGTHS
        }
    kinds = PAIRS[-1], PAIRS[-1]  # of keys, of values
    return TensorDataset(*recall(n, PAIRS, *kinds, seed=train)), {
        pairs: TensorDataset(*recall(256, pairs, *kinds, seed=held_out)) for pairs in PAIRS
    }


# Models


class FixedBlock(MambaBlock):
    """The block without selection: how long a step lasts, what is written and what is read are learned
    once for all tokens. So what goes out is a convolution, with one kernel for each channel."""

    def __init__(self, config: MambaConfig) -> None:
        super().__init__(config)
        self.delta_bias = nn.Parameter(zeros(config.d_inner))  # FixedMamba draws it
        self.C = nn.Parameter(randn(config.d_inner, config.d_state))
        del self.x_proj, self.dt_proj

    def forward(self, u: Tensor, mask: Tensor | None = None) -> Tensor:
        x, gate = self.in_proj(u).chunk(2, dim=2)
        x = x if mask is None else x * mask
        x = F.silu(F.causal_conv1d(x, self.conv1d.weight, self.conv1d.bias))  # (B, T, E)
        x = x if mask is None else x * mask
        y = (self.kernels(u.shape[1]) @ x.permute(2, 1, 0)).permute(2, 1, 0)  # (E, T, T) @ (E, T, B)
        return self.out_proj((y + self.D * x) * F.silu(gate))

    def kernels(self, length: int) -> Tensor:
        """What a token gives to each one from itself on: (E, T, T)."""
        delta = F.softplus(self.delta_bias)  # (E,)
        after = arange(length).float()  # (T,)
        fading = (-(delta[:, None] * self.A_log.exp())[:, :, None] * after).exp()  # (E, N, T)
        response = delta[:, None] * (self.C[:, None, :] @ fading)[:, 0]  # (E, T)
        lag = arange(length)[:, None] - arange(length)
        return where(lag >= 0, response[:, lag.clip(0)], 0.0)


class FixedMamba(Mamba):
    """A Mamba whose blocks do not choose."""

    def __init__(self, config: MambaConfig) -> None:
        super().__init__(config)
        layer: Any  # a ResidualBlock
        for layer in self.layers:
            selective, fixed = layer.mixer, FixedBlock(config)
            with no_grad():  # what reset_parameters has drawn
                fixed.delta_bias.copy_(selective.dt_proj.bias)
                fixed.out_proj.weight.copy_(selective.out_proj.weight)
            layer.mixer = fixed


def model_of(kind: str, task: str) -> Any:
    """Two layers of width 64; a GPT of width 52, with as many parameters but for those of its places.

    It has two heads, and embeddings that begin five times as large as minGPT's: with four heads and those it
    learned neither induction nor recall in 3,000 steps.
    """
    vocabulary = VOCABULARY[task]
    if kind == "gpt":
        sizes = GPTConfig(vocabulary, BLOCK[task], n_layer=2, n_head=2, n_embd=52)
        sizes.embd_pdrop = sizes.resid_pdrop = sizes.attn_pdrop = 0.0
        model = GPT(sizes)
        with no_grad():
            for table in (model.transformer.wte, model.transformer.wpe):
                table.weight.normal_(0, 0.1)
        return model
    return (Mamba if kind == "mamba" else FixedMamba)(MambaConfig(64, 2, vocabulary))


def logits_of(model: Any, ids: Tensor) -> Tensor:
    """Scores (B, T, V) by either kind of model."""
    out = model(ids)
    return out[0] if isinstance(model, GPT) else out


def right(model: nn.Module, data: TensorDataset) -> float:
    """The fraction of what is asked in (ids, targets) that the model says rightly."""
    found = 0
    with evaluating(model):
        for ids, targets in DataLoader(data, 16):
            found += int((logits_of(model, ids).argmax(-1) == targets).sum().item())
    return found / int((data.tensors[1] != -1).sum().item())


# The program


def parser() -> Parser:
    made = options(
        "remember", __doc__, ("mamba", "fixed", "gpt"),
        steps=5000, model="mamba", batch=32, lr=3e-3, every=250,
    )  # fmt: skip
    made.add_argument(
        "--task", choices=list(VOCABULARY), default="induction", help="what is to be remembered"
    )
    made.add_argument("--decay", type=float, default=0.1, help="of the weights")
    return made


def run(args: argparse.Namespace) -> tuple[Samples, dict[str, Any]]:
    """Train and test; the samples, and the figures."""
    train, tests = samples_of(args.task, args.steps * args.batch, args.seed)
    manual_seed(args.seed)
    model = model_of(args.model, args.task)
    shown = tests[PAIRS[-1] if args.task == "recall" else 64][:256]
    data = TensorDataset(*shown)
    optimizer = model.configure_optimizers(args.lr, weight_decay=args.decay)
    loss = gpt.next_token if args.model == "gpt" else mamba.next_token
    samples = fitted(
        args, model, optimizer, train, data, lambda model: f"{right(model, data):.4f} right", loss
    )
    scores = {size: round(right(model, test), 4) for size, test in tests.items()}
    return samples, {
        "right": scores,
        "scores": ", ".join(f"{size:,}: {100 * score:.1f} %" for size, score in scores.items()),
        "asked": {size: int((test.tensors[1] != -1).sum().item()) for size, test in tests.items()},
        "parameters": sum(p.numel() for p in model.parameters()),
        "places": BLOCK[args.task] * 52 if args.model == "gpt" else 0,
    }


def main(argv: list[str] | None = None) -> None:
    started(parser(), run, "remember: right on held-out samples of {scores}", argv)


if __name__ == "__main__":
    main()
