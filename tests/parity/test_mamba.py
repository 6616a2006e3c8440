"""Our Mamba and transformers' MambaForCausalLM with the same random weights; PyTorch trains both ways."""

from __future__ import annotations

import numpy as np
import pytest

from minilib.mamba import Mamba, next_token
from minilib.optim import clip_grad_norm_
from minilib.pretrained import save_pretrained
from minilib.tensor import Tensor
from parity.peer import torch

transformers = pytest.importorskip("transformers", reason="`make test-all` installs transformers")

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
CONFIGS = [
    {"vocab_size": 17, "hidden_size": 12, "num_hidden_layers": 1, "state_size": 5},
    {"vocab_size": 33, "hidden_size": 24, "num_hidden_layers": 2, "state_size": 16, "time_step_rank": 3},
    {"vocab_size": 8, "hidden_size": 16, "num_hidden_layers": 3, "state_size": 1, "expand": 3,
     "conv_kernel": 2},
    {"vocab_size": 50, "hidden_size": 20, "num_hidden_layers": 2, "state_size": 8, "use_conv_bias": False},
    {"vocab_size": 21, "hidden_size": 8, "num_hidden_layers": 2, "state_size": 4, "use_bias": True,
     "conv_kernel": 6},
]  # fmt: skip


@pytest.fixture(params=CONFIGS, ids=lambda config: "-".join(map(str, config.values())))
def pair(request, tmp_path):
    """Their model with random weights, large enough to matter, and ours, read from the folder they saved."""
    config = transformers.MambaConfig(
        **request.param, pad_token_id=None, bos_token_id=None, eos_token_id=None
    )
    torch.manual_seed(sum(map(int, request.param.values())))
    theirs = transformers.MambaForCausalLM(config).eval()
    with torch.no_grad():
        for name, p in theirs.named_parameters():
            p.add_(torch.randn_like(p) * (0.1 if "embeddings" not in name else 0.02))
    theirs.save_pretrained(tmp_path / "theirs")
    return theirs, Mamba.from_pretrained(tmp_path / "theirs")


def some_tokens(model, *shape, seed=0):
    return np.random.default_rng(seed).integers(0, model.config.vocab_size, shape)


def logits_of(theirs, ids, mask=None):
    mask = None if mask is None else torch.tensor(mask)
    return theirs(torch.tensor(ids), attention_mask=mask, use_cache=False).logits


def our_name(name):
    return name.removeprefix("backbone.").replace("embeddings.", "embedding.")


def left_padded(batch, length):
    """A mask (B, T): the first sample is whole, the others begin later and later."""
    return (np.arange(length) >= 3 * np.arange(batch)[:, None]).astype(int)


def test_a_folder_that_transformers_saved_gives_its_logits(pair):
    theirs, ours = pair
    assert ours.config.vocab_size == theirs.config.vocab_size  # not padded
    ids = some_tokens(ours, 3, 19)
    np.testing.assert_allclose(ours(Tensor(ids)).numpy(), logits_of(theirs, ids).detach().numpy(), **CLOSE)


@pytest.mark.parametrize("padded", [False, True])
def test_all_gradients_are_those_of_transformers(pair, padded):
    theirs, ours = pair
    if padded and theirs.config.use_bias:
        pytest.skip("there the bias of in_proj is still in the padding, which our mask leaves out")
    ids, targets = some_tokens(ours, 3, 17), some_tokens(ours, 3, 17, seed=1)
    mask = left_padded(3, 17) if padded else np.ones((3, 17), int)
    targets[mask == 0] = -1
    targets[0, :5] = -1
    logits = logits_of(theirs, ids, mask if padded else None)
    loss = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), torch.tensor(targets).flatten(), ignore_index=-1
    )
    loss.backward()
    found = ours.loss(Tensor(ids), Tensor(targets), Tensor(mask) if padded else None)
    found.backward()
    assert found.item() == pytest.approx(loss.item(), abs=1e-5)
    grads = {name: p.grad.numpy() for name, p in ours.named_parameters()}
    assert grads.keys() == {our_name(name) for name, _ in theirs.named_parameters()}
    for name, p in theirs.named_parameters():
        np.testing.assert_allclose(grads[our_name(name)], p.grad.numpy(), **CLOSE, err_msg=name)


def test_a_mask_of_left_padding_gives_the_logits_of_transformers(pair):
    theirs, ours = pair
    if theirs.config.use_bias:
        pytest.skip("there the bias of in_proj is still in the padding, which our mask leaves out")
    ids, mask = some_tokens(ours, 4, 15), left_padded(4, 15)
    found, expected = ours(Tensor(ids), Tensor(mask)).numpy(), logits_of(theirs, ids, mask).detach().numpy()
    np.testing.assert_allclose(found[mask == 1], expected[mask == 1], **CLOSE)


def test_the_likeliest_tokens_are_those_of_transformers(pair):
    theirs, ours = pair
    if not hasattr(ours, "generate"):
        pytest.skip("our Mamba does not generate yet")
    ids = some_tokens(ours, 2, 5)
    expected = theirs.generate(
        torch.tensor(ids), attention_mask=torch.ones(ids.shape), max_new_tokens=12, do_sample=False,
        pad_token_id=0,
    )  # fmt: skip
    assert ours.generate(Tensor(ids), 12).numpy().tolist() == expected.tolist()


def test_transformers_loads_what_we_save(pair, tmp_path):
    _, ours = pair
    save_pretrained(ours, tmp_path / "ours")
    theirs, report = transformers.MambaForCausalLM.from_pretrained(
        tmp_path / "ours", output_loading_info=True
    )
    assert not any(report.values()), report
    ids = some_tokens(ours, 2, 9)
    found = logits_of(theirs.eval(), ids).detach().numpy()
    np.testing.assert_allclose(ours(Tensor(ids)).numpy(), found, **CLOSE)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_of_16_bits_in_several_files_are_read(pair, tmp_path, dtype):
    theirs, ours = pair
    theirs.to(getattr(torch, dtype)).save_pretrained(tmp_path / "half", max_shard_size="2KB")
    assert len(list((tmp_path / "half").glob("model-*.safetensors"))) > 1
    again = Mamba.from_pretrained(tmp_path / "half")
    for name, tensor in again.state_dict().items():
        rounded = torch.tensor(ours.state_dict()[name].numpy()).to(getattr(torch, dtype)).float().numpy()
        assert np.array_equal(tensor.numpy(), rounded), name


def test_twenty_steps_of_training_are_those_of_pytorch(pair, tmp_path):
    """AdamW in two groups and clipping, from equal weights."""
    theirs, ours = pair
    optimizer = ours.configure_optimizers(1e-3)
    decaying = [p for n, p in theirs.named_parameters() if n.endswith(("proj.weight", "conv1d.weight"))]
    others = [p for p in theirs.parameters() if not any(p is one for one in decaying)]
    groups = [{"params": decaying, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    peer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95))
    for step in range(20):
        whole = some_tokens(ours, 4, 13, seed=step)
        ids, targets = whole[:, :-1], whole[:, 1:]
        ours.zero_grad()
        total, count = next_token(ours, (Tensor(ids), Tensor(targets)))
        loss = total / count
        loss.backward()
        clip_grad_norm_(ours.parameters(), 1.0)
        optimizer.step()
        peer.zero_grad()
        expected = torch.nn.functional.cross_entropy(
            logits_of(theirs, ids).flatten(0, 1), torch.tensor(targets).flatten()
        )
        expected.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        peer.step()
        assert loss.item() == pytest.approx(expected.item(), abs=1e-4), step
    state = ours.state_dict()
    for name, p in theirs.named_parameters():
        # Adam divides by the size of a gradient: where that is next to nothing, rounding shows
        there = p.detach().numpy()
        np.testing.assert_allclose(state[our_name(name)].numpy(), there, atol=1e-3, err_msg=name)
