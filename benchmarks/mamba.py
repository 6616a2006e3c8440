"""Mamba beside a loop in PyTorch, and beside our own GPT by length; the same weights, a process each.

    python -m benchmarks.mamba          # writes benchmarks/results/mamba.json and README.md
    python -m benchmarks.mamba --case forward  # a part is only printed

2 layers of width 64 (d_state 16), vocabulary 96. The peer is Mamba as one writes it in PyTorch without a
kernel: a loop over tokens, as in mamba-minimal. The cases by length have no peer in PyTorch: their other
column is our GPT of about as many parameters, not counting its table of places (2 layers of width 52, 4
heads). They are training steps on 4,096 tokens, cut into sequences of that length.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.sidebyside import Call, Case, Suite, main

VOCABULARY, LAYERS, WIDTH, STATE = 96, 2, 64, 16
BATCH, LENGTH = 8, 256  # forward, and a step beside PyTorch
TOKENS, LENGTHS = 4096, (128, 256, 512, 1024, 2048)  # a step by length
GPT_WIDTH, GPT_HEADS = 52, 4
LR = 1e-3


@dataclass(frozen=True)
class Library:
    """How one library builds a model, runs it, and trains it for a step."""

    model: Callable[[], Any]
    forward: Callable[[Any, Any], Call]
    step: Callable[[Any, Any, Any], Call]
    ours: bool

    def numpy(self, result: Any) -> Any:
        return np.asarray(result)


def start(shapes: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    """The same first weights for each library, by name; steps of about 0.02, rates from 1 to N."""
    rng, made = np.random.default_rng(0), {}
    for name in sorted(shapes):
        shape = shapes[name]
        made[name] = rng.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(shape[-1]))
        if name.endswith("A_log"):
            made[name] = np.log(np.tile(np.arange(1, shape[1] + 1, dtype=np.float32), (shape[0], 1)))
        elif name.endswith("dt_proj.bias"):
            made[name] -= np.float32(4)
        elif name.endswith(("norm.weight", "norm_f.weight", ".D")):
            made[name] += np.float32(1)
    made["lm_head.weight"] = made["embedding.weight"]
    return made


def tokens(batch: int = BATCH, length: int = LENGTH) -> Any:
    return np.random.default_rng(1).integers(0, VOCABULARY, (batch, length))


# minilib


def minilib(threads: int) -> Library:
    threadpool_limits(threads)
    from minilib.mamba import Mamba, MambaConfig
    from minilib.parallel import set_num_threads
    from minilib.tensor import no_grad, tensor

    set_num_threads(threads)

    def model() -> Any:
        made = Mamba(MambaConfig(WIDTH, LAYERS, VOCABULARY, STATE))
        weights = start({name: p.shape for name, p in made.state_dict().items()})
        made.load_state_dict({name: tensor(array) for name, array in weights.items()})
        return made

    def forward(model: Any, ids: Any) -> Call:
        def call() -> Any:
            with no_grad():
                return model(tensor(ids)).numpy()

        return call

    def step(model: Any, ids: Any, targets: Any) -> Call:
        return our_step(model, ids, targets, lambda model, ids, targets: model.loss(ids, targets))

    return Library(model, forward, step, ours=True)


def our_step(model: Any, ids: Any, targets: Any, loss_of: Callable[[Any, Any, Any], Any]) -> Call:
    """A training step of a model of ours, with clipping and AdamW."""
    from minilib.optim import clip_grad_norm_
    from minilib.parallel import memory_kept
    from minilib.tensor import tensor

    optimizer, ids, targets = model.configure_optimizers(LR), tensor(ids), tensor(targets)
    kept = memory_kept()
    kept.__enter__()

    def call(kept: Any = kept) -> Any:
        model.zero_grad()
        loss = loss_of(model, ids, targets)
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return call


# PyTorch, and for the cases by length our GPT


def peer(threads: int) -> Library:
    try:
        import torch
    except ImportError:
        sys.exit("error: PyTorch is missing: `make test-all` installs it")
    torch.set_num_threads(threads)

    def model() -> Any:
        from benchmarks.mamba_in_torch import Mamba

        made = Mamba(VOCABULARY, LAYERS, WIDTH, STATE)
        weights = start({name: tuple(p.shape) for name, p in made.state_dict().items()})
        made.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
        return made

    def forward(model: Any, ids: Any) -> Call:
        def call() -> Any:
            with torch.no_grad():
                return model(torch.from_numpy(ids)).numpy()

        return call

    def step(model: Any, ids: Any, targets: Any) -> Call:
        ids, targets = torch.from_numpy(ids), torch.from_numpy(targets)
        optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.95), weight_decay=0.1)

        def call() -> Any:
            loss = torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            return loss.item()

        return call

    return Library(model, forward, step, ours=False)


def our_gpt() -> Any:
    from minilib.gpt import GPT, GPTConfig
    from minilib.tensor import manual_seed

    drops = {"embd_pdrop": 0.0, "resid_pdrop": 0.0, "attn_pdrop": 0.0}
    manual_seed(0)
    sizes = {"n_layer": LAYERS, "n_head": GPT_HEADS, "n_embd": GPT_WIDTH}
    return GPT(GPTConfig(VOCABULARY, LENGTHS[-1], **sizes, **drops))


# Cases


def forward(library: Library) -> Call:
    return library.forward(library.model(), tokens())


def step(library: Library) -> Call:
    ids = tokens()
    return library.step(library.model(), ids, np.roll(ids, -1, 1))


def by_length(library: Library, length: int) -> Call:
    """A step on TOKENS tokens in sequences of `length`: a Mamba, or for the peer our GPT."""
    ids = tokens(TOKENS // length, length)
    targets = np.roll(ids, -1, 1)
    if library.ours:
        timed = library.step(library.model(), ids, targets)
    else:
        timed = our_step(our_gpt(), ids, targets, lambda model, ids, targets: model(ids, targets)[1])

    def call() -> Any:
        if not math.isfinite(timed()):
            raise SystemExit("error: the loss is not finite")
        return ids  # the two models are not to be compared

    return call


SUITE = Suite(
    module="benchmarks.mamba",
    title="Mamba, 2 layers of width 64, on 2 threads",
    libraries={"minilib": minilib, "peer": peer},
    names={"minilib": "`minilib`", "peer": "PyTorch's loop, or our GPT"},
    versions=("numpy", "torch"),
    cases=(
        Case("forward", f"logits of {BATCH} x {LENGTH} tokens, beside a loop in PyTorch", forward, 0.5),
        Case("step", "training step on them, beside a loop in PyTorch", step, 0.5),
        *(
            Case(
                f"length-{length}",
                f"training, a token of {length:,}, beside our GPT",
                partial(by_length, length=length),
                per=TOKENS,
            )
            for length in LENGTHS
        ),
    ),
)

if __name__ == "__main__":
    main(SUITE)
