"""GPT beside PyTorch on the CPU: a training step, and tokens a second; the same weights, a process each.

    python -m benchmarks.gpt                         # writes benchmarks/results/gpt.json and README.md
    python -m benchmarks.gpt --case step --rounds 1  # a part is only printed

gpt-micro (4 layers, 4 heads, 128 numbers), block 128, batch 16, vocabulary 96. The peers are minGPT's
architecture in PyTorch, once plain, as minGPT writes it (attention as a chain of operations, AdamW as it
comes), once tuned (`scaled_dot_product_attention`, `F.gelu`, fused AdamW). All clip the gradient to 1.
Ours trains in two shards, each a process with one thread: two threads would wait for Python's lock. In
generation both keep keys and values.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.sidebyside import Call, Case, Suite, main

VOCABULARY, BLOCK, BATCH, LAYERS, HEADS, WIDTH = 96, 128, 16, 4, 4, 128
PROMPT, TOKENS = 16, 100  # generation: one sample
LR, BETAS, DECAY = 3e-4, (0.9, 0.95), 0.1


@dataclass(frozen=True)
class Library:
    """How one library builds a model and what is timed with it."""

    model: Callable[[float, bool], Any]  # dropout, tuned
    step: Callable[[Any, Any, Any, bool], Call]  # model, idx, targets, tuned
    generate: Callable[[Any, Any], Call]
    logits: Callable[[Any, Any], Any]  # without dropout, as an array
    threads: int

    def numpy(self, result: Any) -> Any:
        return np.asarray(result)


def start(shapes: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    """The same first weights for each library, by name, spread as GPT-2's."""
    rng = np.random.default_rng(0)
    made = {}
    for name in sorted(shapes):
        normal = 0.02 * rng.standard_normal(shapes[name], dtype=np.float32)
        made[name] = normal + np.float32(name.endswith("weight") and len(shapes[name]) == 1)
    return made


def tokens(batch: int = BATCH, length: int = BLOCK) -> Any:
    return np.random.default_rng(1).integers(0, VOCABULARY, (batch, length))


# minilib


def minilib(threads: int) -> Library:
    threadpool_limits(threads)
    from minilib.gpt import GPT, GPTConfig, next_token
    from minilib.tensor import no_grad, tensor

    def model(dropout: float, tuned: bool) -> Any:
        drops = dict.fromkeys(("embd_pdrop", "resid_pdrop", "attn_pdrop"), dropout)
        made = GPT(GPTConfig(VOCABULARY, BLOCK, n_layer=LAYERS, n_head=HEADS, n_embd=WIDTH, **drops))
        weights = start({name: p.shape for name, p in made.state_dict().items()})
        made.load_state_dict({name: tensor(array) for name, array in weights.items()})
        return made

    def step(model: Any, idx: Any, targets: Any, tuned: bool) -> Call:
        from minilib.data import DataLoader, TensorDataset
        from minilib.parallel import memory_kept
        from minilib.train import Trainer

        batch = tensor(idx), tensor(targets)
        loader = DataLoader(TensorDataset(*batch), batch_size=BATCH)
        optimizer = model.configure_optimizers(LR, BETAS, DECAY)
        shards = {"shards": threads, "workers": "processes"}
        trainer = Trainer(model, optimizer, loader, next_token, callbacks=[], clip=1.0, **shards)
        fit = ExitStack()  # what `fit` sets up once for all of its steps
        fit.enter_context(memory_kept())
        trainer._shards = trainer._open_shards()

        def call(fit: ExitStack = fit) -> Any:
            return trainer.train_step(batch)

        return call

    def generate(model: Any, idx: Any) -> Call:
        return lambda: model.generate(tensor(idx), TOKENS).numpy()

    def logits(model: Any, idx: Any) -> Any:
        with no_grad():
            return model.eval()(tensor(idx))[0].numpy()

    return Library(model, step, generate, logits, threads)


# PyTorch


def pytorch(threads: int) -> Library:
    try:
        import torch
    except ImportError:
        sys.exit("error: PyTorch is missing: `make test-all` installs it")
    torch.set_num_threads(threads)

    def model(dropout: float, tuned: bool) -> Any:
        from benchmarks.gpt_in_torch import GPT

        made = GPT(VOCABULARY, BLOCK, LAYERS, HEADS, WIDTH, dropout, tuned)
        weights = start({name: tuple(p.shape) for name, p in made.state_dict().items()})
        made.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
        return made

    def step(model: Any, idx: Any, targets: Any, tuned: bool) -> Call:
        idx, targets = torch.from_numpy(idx), torch.from_numpy(targets)
        named = dict(model.named_parameters())
        decay = [p for n, p in named.items() if p.ndim == 2 and ".wte." not in n and ".wpe." not in n]
        others = [p for n, p in named.items() if all(p is not each for each in decay)]
        groups = [{"params": decay, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups, lr=LR, betas=BETAS, fused=tuned or None)

        def call() -> Any:
            _, loss = model(idx, targets)
            model.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            return loss.item()

        return call

    def generate(model: Any, idx: Any) -> Call:
        return lambda: model.eval().generate(torch.from_numpy(idx), TOKENS).numpy()

    def logits(model: Any, idx: Any) -> Any:
        with torch.no_grad():
            return model.eval()(torch.from_numpy(idx))[0].numpy()

    return Library(model, step, generate, logits, threads)


# Cases


def step(library: Library, dropout: float = 0.0, tuned: bool = False) -> Call:
    """A training step. With dropout the libraries' losses differ; the weights' first scores must not."""
    model, idx, targets = library.model(dropout, tuned), tokens(), np.roll(tokens(), -1, 1)
    scores = library.logits(model, idx)
    model.train()
    timed = library.step(model, idx, targets, tuned)

    def call() -> Any:
        loss = timed()
        if not math.isfinite(loss):
            raise SystemExit("error: the loss is not finite")
        return scores if dropout else loss

    return call


def generate(library: Library, tuned: bool = False) -> Call:
    return library.generate(library.model(0.0, tuned), tokens(1, PROMPT))


SUITE = Suite(
    module="benchmarks.gpt",
    title="gpt-micro, batch 16, block 128, on 2 threads",
    libraries={"minilib": minilib, "torch": pytorch},
    names={"minilib": "`minilib`", "torch": "PyTorch"},
    versions=("numpy", "torch"),
    cases=(
        Case("step", "training step, beside minGPT as it is written", step, 1.0),
        Case("dropout", "the same, with dropout 0.1", partial(step, dropout=0.1), 0.8),
        Case("tuned", "training step, beside the tuned one", partial(step, tuned=True), 1.25),
        Case("token", f"a token, {TOKENS} behind {PROMPT}, cached", generate, 1.0, per=TOKENS),
    ),
)

if __name__ == "__main__":
    main(SUITE)
