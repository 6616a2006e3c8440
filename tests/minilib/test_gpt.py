"""GPT: sizes, keys, gradients, what it may see, what it refuses, and that training can be resumed."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from minilib.data import DataLoader
from minilib.gpt import GPT, MODELS, GPTConfig, next_token
from minilib.optim import WarmupCosine
from minilib.projects.sort import SortDataset
from minilib.tensor import Generator, Tensor, manual_seed
from minilib.train import Trainer

RNG = np.random.default_rng(0)
TINY = {"n_layer": 2, "n_head": 2, "n_embd": 8}


def gpt(vocab_size=11, block_size=6, dropout=0.0, seed=0, **sizes):
    manual_seed(seed)
    drops = dict.fromkeys(("embd_pdrop", "resid_pdrop", "attn_pdrop"), dropout)
    return GPT(GPTConfig(vocab_size, block_size, **(sizes or TINY), **drops))


def tokens(*shape, below=11):
    return Tensor(RNG.integers(0, below, shape))


# Sizes and names


@pytest.mark.parametrize(
    ("name", "count"), [("gpt-nano", 85_680), ("gpt-micro", 795_392), ("gpt-mini", 2_672_640)]
)
def test_parameters_are_as_many_as_in_mingpt(name, count):
    assert gpt(10, 6, model_type=name).num_parameters() == count


@pytest.mark.parametrize(
    ("name", "millions"),
    [("gpt2", 124), ("gpt2-medium", 354), ("gpt2-large", 774), ("gpt2-xl", 1557), ("openai-gpt", 124)],
)
def test_the_sizes_of_gpt2_are_those_of_its_paper(name, millions):
    """By the formula, without a model of 6 GB: 12 C² + 13 C a block, embeddings, last norm."""
    layers, _, c = MODELS[name]
    count = layers * (12 * c * c + 13 * c) + (50_257 + 1_024) * c + 2 * c
    assert count // 1_000_000 == millions


def test_a_state_of_mingpt_may_have_its_masks():
    model, other = gpt(seed=1), gpt(seed=2)
    masks = {f"transformer.h.{i}.attn.bias": Tensor(np.ones((1, 1, 6, 6))) for i in range(2)}
    other.load_state_dict({**model.state_dict(), **masks})
    for name, p in other.state_dict().items():
        assert np.array_equal(p.data, model.state_dict()[name].data)


def shapes(vocab_size, block_size, n_layer, c):
    """The keys of minGPT's state_dict but its masks, and their shapes."""
    found = {"transformer.wte.weight": (vocab_size, c), "transformer.wpe.weight": (block_size, c)}
    for layer in range(n_layer):
        block = {
            **{"ln_1.weight": (c,), "ln_1.bias": (c,)},
            **{"attn.c_attn.weight": (3 * c, c), "attn.c_attn.bias": (3 * c,)},
            **{"attn.c_proj.weight": (c, c), "attn.c_proj.bias": (c,)},
            **{"ln_2.weight": (c,), "ln_2.bias": (c,)},
            **{"mlp.c_fc.weight": (4 * c, c), "mlp.c_fc.bias": (4 * c,)},
            **{"mlp.c_proj.weight": (c, 4 * c), "mlp.c_proj.bias": (c,)},
        }
        found |= {f"transformer.h.{layer}.{name}": shape for name, shape in block.items()}
    last = {"transformer.ln_f.weight": (c,), "transformer.ln_f.bias": (c,)}
    return {**found, **last, "lm_head.weight": (vocab_size, c)}


def test_state_dict_has_the_keys_and_shapes_of_mingpt():
    state = {name: tensor.shape for name, tensor in gpt().state_dict().items()}
    assert state == shapes(11, 6, 2, 8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "missing: n_layer, n_head, n_embd"),
        ({"n_layer": 2, "n_head": 2}, "missing: n_embd"),
        ({"model_type": "gpt2", "n_layer": 2}, "not both: n_layer"),
        ({"model_type": "gpt-5"}, "'gpt-5' is not one of openai-gpt, gpt2, .*gpt-nano"),
        ({"n_layer": 2, "n_head": 3, "n_embd": 8}, "n_embd 8 must be a multiple of n_head 3"),
        ({"n_layer": -1, "n_head": 2, "n_embd": 8}, "n_layer must be at least 1, and is -1"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message) as caught:
        GPTConfig(10, 6, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sizes", [(0, 6), (10, 0)])
def test_a_model_without_tokens_or_places_is_refused(sizes):
    with pytest.raises(ValueError, match="must be at least 1, and is 0"):
        GPTConfig(*sizes, model_type="gpt-nano")


# At the start


def test_weights_start_as_in_gpt2():
    model = gpt(500, 200, n_layer=3, n_head=2, n_embd=64)
    for name, p in model.named_parameters():
        numbers = p.numpy()
        if p.ndim == 2:
            spread = 0.02 / math.sqrt(2 * 3) if name.endswith("c_proj.weight") else 0.02
            assert numbers.std() == pytest.approx(spread, rel=0.06), name
            assert abs(numbers.mean()) < 6 * spread / math.sqrt(numbers.size), name
        else:
            assert (numbers == (0 if name.endswith("bias") else 1)).all(), name


def test_the_loss_starts_at_that_of_a_guess():
    model = gpt(100, 16, n_layer=2, n_head=2, n_embd=32)
    _, loss = model(tokens(8, 16, below=100), tokens(8, 16, below=100))
    assert loss.item() == pytest.approx(math.log(100), abs=0.05)


# Losses


def test_the_loss_leaves_out_targets_of_minus_1():
    model, idx, targets = gpt(), tokens(3, 6), RNG.integers(0, 11, (3, 6))
    targets[:, :4] = -1
    logits, loss = model(idx, Tensor(targets))
    rows = logits.numpy()[:, 4:].reshape(-1, 11).astype(np.float64)
    losses = np.log(np.exp(rows).sum(1)) - rows[np.arange(6), targets[:, 4:].ravel()]
    assert loss.item() == pytest.approx(losses.mean(), abs=1e-6)
    assert next_token(model, (idx, Tensor(targets)))[1] == 6


def test_with_no_target_left_the_loss_is_nan_as_in_pytorch():
    _, loss = gpt()(tokens(2, 6), Tensor(np.full((2, 6), -1)))
    assert math.isnan(loss.item())


def test_without_targets_there_is_no_loss():
    logits, loss = gpt()(tokens(2, 5))
    assert logits.shape == (2, 5, 11) and loss is None


def test_every_parameter_gets_a_gradient():
    model = gpt()
    model(tokens(4, 6), tokens(4, 6))[1].backward()
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.numpy().any()] == []


def test_gradients_are_those_of_difference_quotients():
    """Of the loss of a tiny model in float64, for some numbers of each parameter."""
    model = gpt(5, 4, n_layer=1, n_head=2, n_embd=4).to(np.float64)
    for p in model.parameters():  # weights that matter: those of the start are small
        p.data[...] += RNG.standard_normal(p.shape) * 0.3
    idx, targets = tokens(2, 4, below=5), Tensor([[1, -1, 3, 0], [4, 4, -1, 2]])
    model(idx, targets)[1].backward()
    for name, p in model.named_parameters():
        for place in {int(i) for i in RNG.integers(0, p.numel(), 6)}:
            number, losses = p.data.flat[place], []
            for h in (1e-5, -1e-5):
                p.data.flat[place] = number + h
                losses.append(model(idx, targets)[1].item())
            p.data.flat[place] = number
            slope = (losses[0] - losses[1]) / 2e-5
            assert p.grad.data.flat[place] == pytest.approx(slope, abs=1e-8, rel=1e-6), (name, place)


# What it sees


@pytest.mark.parametrize("place", range(1, 6))
def test_a_token_changes_no_logit_before_it(place):
    model = gpt()
    idx = tokens(2, 6)
    changed = idx.numpy().copy()
    changed[:, place:] = (changed[:, place:] + 1 + RNG.integers(0, 10, changed[:, place:].shape)) % 11
    before, after = model(idx)[0].numpy(), model(Tensor(changed))[0].numpy()
    assert np.array_equal(before[:, :place], after[:, :place])
    assert (before[:, place:] != after[:, place:]).any(axis=2).all()


def test_what_comes_later_gets_no_gradient_from_an_earlier_loss():
    model, targets = gpt(), np.full((1, 6), -1)
    targets[0, 2] = 3
    model(Tensor([[0, 1, 2, 3, 4, 5]]), Tensor(targets))[1].backward()
    seen = model.transformer.wte.weight.grad.numpy().any(axis=1)
    assert seen[:3].all() and not seen[3:].any()
    assert not model.transformer.wpe.weight.grad.numpy()[3:].any()


def test_samples_of_a_batch_do_not_see_each_other():
    model, idx = gpt(), tokens(3, 6)
    together = model(idx)[0].numpy()
    alone = np.concatenate([model(idx[i : i + 1])[0].numpy() for i in range(3)])
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_dropout_is_for_training_only():
    model, idx = gpt(dropout=0.5), tokens(2, 6)
    assert not np.array_equal(model(idx)[0].numpy(), model(idx)[0].numpy())
    model.eval()
    assert np.array_equal(model(idx)[0].numpy(), model(idx)[0].numpy())


# What it refuses


@pytest.mark.parametrize(
    ("idx", "kind", "message"),
    [
        (np.zeros((1, 7), int), ValueError, "the sequence has 7 tokens, the model's block_size is 6"),
        (np.array([[0, 11]]), IndexError, "tokens are from 0 to 10, and idx has 0 to 11"),
        (np.array([[0, -1]]), IndexError, "tokens are from 0 to 10, and idx has -1 to 0"),
        (np.zeros((1, 3)), ValueError, r"idx must be integers of shape \(B, T\), not float64 of \(1, 3\)"),
        (np.zeros(3, int), ValueError, r"idx must be integers of shape \(B, T\), not int64 of \(3,\)"),
    ],
)
def test_what_are_no_tokens_is_refused(idx, kind, message):
    with pytest.raises(kind, match=message) as caught:
        gpt()(Tensor(idx))
    assert "\n" not in str(caught.value)


# Training


def test_each_parameter_is_in_one_group_and_only_matrices_of_products_decay():
    model = gpt()
    names = {id(p): name for name, p in model.named_parameters()}
    decaying, others = model.configure_optimizers(3e-4, weight_decay=0.1).param_groups
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
    decayed, left = ([names[id(p)] for p in group["params"]] for group in (decaying, others))
    assert sorted(decayed + left) == sorted(names.values())
    products = re.compile(r"transformer\.h\.\d+\.(attn\.c_attn|attn\.c_proj|mlp\.c_fc|mlp\.c_proj)\.weight")
    assert {n for n in names.values() if products.fullmatch(n)} | {"lm_head.weight"} == set(decayed)


def trainer(shards):
    model = gpt(3, 11, dropout=0.1, n_layer=2, n_head=2, n_embd=16)
    optimizer = model.configure_optimizers(1e-2)
    loader = DataLoader(SortDataset("train", 200), 32, shuffle=True, generator=Generator(1))
    schedule = WarmupCosine(optimizer, 3, 20)
    return Trainer(model, optimizer, loader, next_token, schedule, callbacks=[], clip=1.0, shards=shards)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2])
def test_resumed_training_equals_uninterrupted_training_bit_for_bit(shards, tmp_path):
    whole = trainer(shards).fit(steps=20)
    trainer(shards).fit(steps=9).save(tmp_path / "half")  # in the middle of the second epoch
    resumed = trainer(shards).load(tmp_path / "half").fit(steps=20)
    assert resumed.losses == whole.losses
    for ours, theirs in zip(resumed.model.parameters(), whole.model.parameters(), strict=True):
        assert np.array_equal(ours.data, theirs.data)


def test_it_learns_to_repeat_a_sentence():
    model, sentence = gpt(n_layer=1, n_head=2, n_embd=16), Tensor([[3, 1, 4, 1, 5, 9]])
    optimizer = model.configure_optimizers(1e-2)
    for _ in range(60):
        model.zero_grad()
        model(sentence[:, :-1], sentence[:, 1:])[1].backward()
        optimizer.step()
    assert model.generate(sentence[:, :1], 5).numpy().tolist() == sentence.numpy().tolist()
