"""Our Mamba and transformers' MambaForCausalLM, token by token: equal scores, equal greedy text."""

from __future__ import annotations

import numpy as np
import pytest

from minilib.mamba import Mamba
from minilib.tensor import Tensor
from parity.peer import torch

transformers = pytest.importorskip("transformers", reason="`make test-all` installs transformers")

CONFIGS = [
    {"vocab_size": 32, "hidden_size": 24, "num_hidden_layers": 2, "state_size": 16},
    {"vocab_size": 16, "hidden_size": 16, "num_hidden_layers": 3, "state_size": 3, "conv_kernel": 2},
]


@pytest.fixture(params=CONFIGS, ids=lambda config: "-".join(map(str, config.values())))
def pair(request, tmp_path):
    config = transformers.MambaConfig(
        **request.param, pad_token_id=None, bos_token_id=None, eos_token_id=None
    )
    torch.manual_seed(0)
    theirs = transformers.MambaForCausalLM(config).eval()
    with torch.no_grad():
        for p in theirs.parameters():
            p.add_(torch.randn_like(p) * 0.1)
    theirs.save_pretrained(tmp_path / "theirs")
    return theirs, Mamba.from_pretrained(tmp_path / "theirs")


def test_scores_of_each_step_are_theirs(pair):
    theirs, ours = pair
    ids = np.random.default_rng(0).integers(0, ours.config.vocab_size, (2, 20))
    with torch.no_grad():
        wanted = theirs(torch.tensor(ids), use_cache=False).logits.numpy()
    state = ours.init_state(2)
    said = np.stack([ours.step(Tensor(ids[:, t]), state).numpy() for t in range(20)], 1)
    np.testing.assert_allclose(said, wanted, atol=1e-5, rtol=1e-5)


def test_greedy_text_is_theirs(pair):
    theirs, ours = pair
    ids = np.random.default_rng(1).integers(0, ours.config.vocab_size, (3, 7))
    with torch.no_grad():
        wanted = theirs.generate(
            torch.tensor(ids), attention_mask=torch.ones(3, 7, dtype=torch.long), max_new_tokens=24,
            do_sample=False, use_cache=True,
        )  # fmt: skip
    assert np.array_equal(ours.generate(Tensor(ids), 24).numpy(), wanted.numpy())
