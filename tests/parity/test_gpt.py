"""Our GPT and transformers' GPT2LMHeadModel with the same random weights; PyTorch trains both ways."""

from __future__ import annotations

import numpy as np
import pytest

from minilib.gpt import GPT
from minilib.optim import clip_grad_norm_
from minilib.pretrained import save_pretrained
from minilib.tensor import Tensor
from parity.peer import torch

transformers = pytest.importorskip("transformers", reason="`make test-all` installs transformers")

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
# vocab_size, n_positions, n_embd, n_layer, n_head
CONFIGS = [(17, 8, 12, 1, 1), (31, 16, 24, 2, 3), (50, 12, 32, 3, 8), (7, 33, 20, 2, 5)]
TURNED = ("c_attn.weight", "c_proj.weight", "c_fc.weight")


@pytest.fixture(params=CONFIGS, ids=str)
def pair(request, tmp_path):
    """Their model with random weights, large enough to matter, and ours, read from the folder they saved."""
    vocab_size, n_positions, n_embd, n_layer, n_head = request.param
    config = transformers.GPT2Config(
        vocab_size=vocab_size, n_positions=n_positions, n_embd=n_embd, n_layer=n_layer, n_head=n_head,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    torch.manual_seed(sum(request.param))
    theirs = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for p in theirs.parameters():
            p.add_(torch.randn_like(p) * 0.1)
    theirs.save_pretrained(tmp_path / "theirs")
    return theirs, GPT.from_pretrained(tmp_path / "theirs")


def some_tokens(model, *shape):
    return np.random.default_rng(0).integers(0, model.config.vocab_size, shape)


def logits_of(theirs, idx):
    return theirs(torch.tensor(idx)).logits


def test_a_folder_that_transformers_saved_gives_its_logits(pair):
    theirs, ours = pair
    idx = some_tokens(ours, 3, ours.block_size)
    np.testing.assert_allclose(ours(Tensor(idx))[0].numpy(), logits_of(theirs, idx).detach().numpy(), **CLOSE)


def test_all_gradients_are_those_of_transformers(pair):
    """Its head is the embedding of its tokens: their gradient is the sum of ours and our head's."""
    theirs, ours = pair
    idx = some_tokens(ours, 3, ours.block_size)
    targets = some_tokens(ours, 3, ours.block_size + 1)[:, 1:]
    targets[0, :5] = -1
    loss = torch.nn.functional.cross_entropy(
        logits_of(theirs, idx).flatten(0, 1), torch.tensor(targets).flatten(), ignore_index=-1
    )
    loss.backward()
    found = ours(Tensor(idx), Tensor(targets))[1]
    found.backward()
    assert found.item() == pytest.approx(loss.item(), abs=1e-5)
    grads = {name: p.grad.numpy() for name, p in ours.named_parameters()}
    grads["transformer.wte.weight"] = grads["transformer.wte.weight"] + grads.pop("lm_head.weight")
    assert grads.keys() == dict(theirs.named_parameters()).keys()
    for name, p in theirs.named_parameters():
        grad = p.grad.T if name.endswith(TURNED) else p.grad
        np.testing.assert_allclose(grads[name], grad.numpy(), **CLOSE, err_msg=name)


def test_the_likeliest_tokens_are_those_of_transformers(pair):
    theirs, ours = pair
    idx = some_tokens(ours, 2, 3)
    new = ours.block_size - 3
    expected = theirs.generate(
        torch.tensor(idx), attention_mask=torch.ones(idx.shape), max_new_tokens=new, do_sample=False,
        pad_token_id=0,
    )  # fmt: skip
    assert ours.generate(Tensor(idx), new).numpy().tolist() == expected.tolist()


def test_transformers_loads_what_we_save(pair, tmp_path):
    """A head of its own too: it is not tied afterwards."""
    _, ours = pair
    with_head = ours.state_dict()["lm_head.weight"]
    with_head += Tensor(np.random.default_rng(1).standard_normal(with_head.shape).astype(np.float32))
    save_pretrained(ours, tmp_path / "ours")
    theirs, report = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(report.values()), report
    idx = some_tokens(ours, 2, ours.block_size)
    found = logits_of(theirs.eval(), idx).detach().numpy()
    np.testing.assert_allclose(ours(Tensor(idx))[0].numpy(), found, **CLOSE)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_of_16_bits_in_several_files_are_read(pair, tmp_path, dtype):
    theirs, ours = pair
    theirs.to(getattr(torch, dtype)).save_pretrained(tmp_path / "half", max_shard_size="2KB")
    assert len(list((tmp_path / "half").glob("model-*.safetensors"))) > 1
    again = GPT.from_pretrained(tmp_path / "half")
    for name, tensor in again.state_dict().items():
        rounded = torch.tensor(ours.state_dict()[name].numpy()).to(getattr(torch, dtype)).float().numpy()
        assert np.array_equal(tensor.numpy(), rounded), name


def test_twenty_steps_of_training_are_those_of_pytorch(pair, tmp_path):
    """AdamW in two groups and clipping, from equal weights, without dropout; the head is not tied."""
    _, ours = pair
    save_pretrained(ours, tmp_path / "ours")
    theirs = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "ours").eval()
    optimizer = ours.configure_optimizers(1e-3)
    decaying = [
        p
        for n, p in theirs.named_parameters()
        if p.ndim == 2 and not n.endswith(("wte.weight", "wpe.weight"))
    ]
    others = [p for p in theirs.parameters() if not any(p is one for one in decaying)]
    groups = [{"params": decaying, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    peer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95))
    for step in range(20):
        numbers = np.random.default_rng(step)
        whole = numbers.integers(0, ours.config.vocab_size, (4, ours.block_size + 1))
        idx, targets = whole[:, :-1], whole[:, 1:]
        ours.zero_grad()
        loss = ours(Tensor(idx), Tensor(targets))[1]
        loss.backward()
        clip_grad_norm_(ours.parameters(), 1.0)
        optimizer.step()
        peer.zero_grad()
        expected = torch.nn.functional.cross_entropy(
            logits_of(theirs, idx).flatten(0, 1), torch.tensor(targets).flatten()
        )
        expected.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        peer.step()
        assert loss.item() == pytest.approx(expected.item(), abs=1e-4), step
    for name, p in theirs.named_parameters():
        here = ours.state_dict()[name].numpy()
        there = p.detach().numpy()
        # Adam divides by the size of a gradient: where that is next to nothing, rounding shows
        np.testing.assert_allclose(here.T if name.endswith(TURNED) else here, there, atol=1e-3, err_msg=name)
