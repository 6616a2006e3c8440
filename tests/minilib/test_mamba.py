"""Mamba: sizes, keys, gradients, what a token may see, padding, what is refused, and its folders."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from minilib import functional as F
from minilib import nn
from minilib.mamba import Mamba, MambaBlock, MambaConfig, next_token
from minilib.pretrained import CONFIG, WEIGHTS, save_pretrained
from minilib.tensor import Tensor, gradcheck, manual_seed

RNG = np.random.default_rng(0)


def mamba(seed=0, **sizes):
    manual_seed(seed)
    return Mamba(MambaConfig(**{"d_model": 8, "n_layer": 2, "vocab_size": 11, "d_state": 3} | sizes))


def tokens(*shape, below=11):
    return Tensor(RNG.integers(0, below, shape))


def noisy(model):
    """Weights that matter: those of the start are small."""
    for p in model.parameters():
        p.data[...] += RNG.standard_normal(p.shape).astype(p.data.dtype) * 0.2
    return model


# Sizes and names


def test_sizes_are_worked_out_as_in_mamba_minimal():
    config = MambaConfig(d_model=100, n_layer=1, vocab_size=50_277)
    assert (config.d_inner, config.dt_rank, config.vocab_size) == (200, 7, 50_280)
    assert MambaConfig(100, 1, 9, pad_vocab_size_multiple=1).vocab_size == 9
    assert MambaConfig(100, 1, 9, dt_rank=3).dt_rank == 3


def test_state_dict_has_the_keys_and_shapes_of_mamba_minimal():
    c, e, n, r, k, v = 8, 16, 3, 1, 4, 16
    mixer = {
        "in_proj.weight": (2 * e, c), "conv1d.weight": (e, 1, k), "conv1d.bias": (e,),
        "x_proj.weight": (r + 2 * n, e), "dt_proj.weight": (e, r), "dt_proj.bias": (e,),
        "A_log": (e, n), "D": (e,), "out_proj.weight": (c, e),
    }  # fmt: skip
    expected = {"embedding.weight": (v, c), "norm_f.weight": (c,), "lm_head.weight": (v, c)}
    for layer in range(2):
        expected |= {f"layers.{layer}.mixer.{name}": shape for name, shape in mixer.items()}
        expected[f"layers.{layer}.norm.weight"] = (c,)
    model = mamba()
    assert {name: tensor.shape for name, tensor in model.state_dict().items()} == expected
    counted = sum(math.prod(shape) for name, shape in expected.items() if name != "lm_head.weight")
    assert model.num_parameters() == counted


def test_biases_are_there_or_not():
    names = set(mamba(bias=True, conv_bias=False).state_dict())
    assert {"layers.0.mixer.in_proj.bias", "layers.1.mixer.out_proj.bias"} <= names
    assert "layers.0.mixer.conv1d.bias" not in names


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"d_model": 0}, "d_model must be a whole number of at least 1, and is 0"),
        ({"n_layer": -1}, "n_layer must be a whole number of at least 1, and is -1"),
        ({"d_state": 2.5}, "d_state must be a whole number of at least 1, and is 2.5"),
        ({"expand": True}, "expand must be a whole number"),
        ({"pad_vocab_size_multiple": 0}, "pad_vocab_size_multiple must be"),
        ({"dt_rank": 0}, "dt_rank must be a whole number of at least 1, and is 0"),
        ({"dt_rank": "small"}, "dt_rank is a whole number or 'auto', and not 'small'"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message) as caught:
        mamba(**sizes)
    assert "\n" not in str(caught.value)


# At the start


def test_weights_start_as_they_should():
    model = mamba(d_model=64, n_layer=4, vocab_size=200, d_state=5)
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    assert state["embedding.weight"].std() == pytest.approx(0.02, rel=0.05)
    for layer in range(4):
        mixer = {n.partition("mixer.")[2]: a for n, a in state.items() if n.startswith(f"layers.{layer}.")}
        assert abs(mixer["out_proj.weight"]).max() == pytest.approx(1 / math.sqrt(128 * 4), rel=0.01)
        assert abs(mixer["dt_proj.weight"]).max() == pytest.approx(1 / 2, rel=0.05)  # rank 4
        steps = np.logaddexp(0, mixer["dt_proj.bias"].astype(float))
        assert 0.00099 < steps.min() < 0.0015 and 0.07 < steps.max() < 0.101
        assert np.log(steps).mean() == pytest.approx(math.log(0.01), abs=0.4)
        assert np.allclose(np.exp(mixer["A_log"]), np.arange(1, 6)) and (mixer["D"] == 1).all()


def test_the_loss_starts_at_that_of_a_guess():
    model = mamba(d_model=32, vocab_size=104)
    loss = model.loss(tokens(8, 16, below=104), tokens(8, 16, below=104))
    assert loss.item() == pytest.approx(math.log(104), abs=0.2)


def test_the_head_is_the_embedding():
    model = mamba()
    assert model.lm_head.weight is model.embedding.weight


def test_matrices_decay_and_the_rest_does_not():
    model = mamba(bias=True)
    optimizer = model.configure_optimizers(0.01, (0.8, 0.9), 0.3)
    names = {id(p): name for name, p in model.named_parameters()}
    decays = {names[id(p)]: g["weight_decay"] for g in optimizer.param_groups for p in g["params"]}
    assert decays.keys() == {name for name, _ in model.named_parameters()}
    decaying = {name.partition("mixer.")[2] for name, decay in decays.items() if decay == 0.3}
    assert decaying == {
        "in_proj.weight", "conv1d.weight", "x_proj.weight", "dt_proj.weight", "out_proj.weight"
    }  # fmt: skip
    assert {g["lr"] for g in optimizer.param_groups} == {0.01}


# Losses and gradients


def test_the_loss_leaves_out_targets_of_minus_1():
    model, ids, targets = mamba(), tokens(3, 6), RNG.integers(0, 11, (3, 6))
    targets[:, :4] = -1
    rows = model(ids).numpy()[:, 4:].reshape(6, -1).astype(np.float64)
    losses = np.log(np.exp(rows).sum(1)) - rows[np.arange(6), targets[:, 4:].ravel()]
    assert model.loss(ids, Tensor(targets)).item() == pytest.approx(losses.mean(), abs=1e-6)
    total, count = next_token(model, (ids, Tensor(targets)))
    assert count == 6 and total.item() == pytest.approx(losses.sum(), abs=1e-5)


def test_every_parameter_gets_a_gradient():
    model = mamba(bias=True)
    model.loss(tokens(4, 6), tokens(4, 6)).backward()
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.numpy().any()] == []


@pytest.mark.slow
def test_gradients_are_those_of_difference_quotients():
    """Of the loss of a tiny model in float64, for some numbers of each parameter."""
    model = noisy(mamba(d_model=4, n_layer=1, vocab_size=5, pad_vocab_size_multiple=1).to(np.float64))
    ids, targets = tokens(2, 5, below=5), Tensor([[1, -1, 3, 0, 2], [4, 4, -1, 2, 0]])
    model.loss(ids, targets).backward()
    for name, p in model.named_parameters():
        for place in {int(i) for i in RNG.integers(0, p.numel(), 5)}:
            number, losses = p.data.flat[place], []
            for h in (1e-5, -1e-5):
                p.data.flat[place] = number + h
                losses.append(model.loss(ids, targets).item())
            p.data.flat[place] = number
            slope = (losses[0] - losses[1]) / 2e-5
            assert p.grad.data.flat[place] == pytest.approx(slope, abs=1e-8, rel=1e-6), (name, place)


# What it sees


@pytest.mark.parametrize("place", [1, 2, 7, 9])
def test_a_token_changes_no_logit_before_it(place):
    model, ids = noisy(mamba()), tokens(2, 10)
    changed = ids.numpy().copy()
    changed[:, place:] = (changed[:, place:] + 1 + RNG.integers(0, 10, changed[:, place:].shape)) % 11
    before, after = model(ids).numpy(), model(Tensor(changed)).numpy()
    np.testing.assert_allclose(before[:, :place], after[:, :place], atol=1e-6)
    assert (before[:, place:] != after[:, place:]).any(axis=2).all()


def test_samples_of_a_batch_do_not_see_each_other():
    model, ids = noisy(mamba()), tokens(3, 6)
    alone = np.concatenate([model(ids[i : i + 1]).numpy() for i in range(3)])
    np.testing.assert_allclose(model(ids).numpy(), alone, atol=1e-5)


@pytest.mark.parametrize("bias", [False, True])
def test_left_padding_with_a_mask_equals_none(bias):
    model, ids = noisy(mamba(bias=bias)), tokens(3, 8)
    mask = np.ones((3, 8), int)
    mask[1, :3], mask[2, :7] = 0, 0
    padded = model(ids, Tensor(mask)).numpy()
    for row, start in enumerate((0, 3, 7)):
        alone = model(ids[row : row + 1, start:]).numpy()[0]
        np.testing.assert_allclose(padded[row, start:], alone, atol=1e-5)
    everything = model(ids, Tensor(np.ones((3, 8), bool))).numpy()
    np.testing.assert_allclose(everything, model(ids).numpy(), atol=1e-6)


def test_a_block_is_its_recurrence():
    """Worked out token by token in NumPy, in float64."""
    block = noisy(MambaBlock(MambaConfig(6, 1, 8, d_state=3, d_conv=2)).to(np.float64))
    p = {name: tensor.numpy() for name, tensor in block.state_dict().items()}
    u = RNG.standard_normal((7, 6))

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    state, before, out = np.zeros((12, 3)), np.zeros(12), []
    for token in u:
        now, gate = np.split(p["in_proj.weight"] @ token, 2)
        x = p["conv1d.weight"][:, 0, 0] * before + p["conv1d.weight"][:, 0, 1] * now + p["conv1d.bias"]
        x, before = x * sigmoid(x), now
        chosen = p["x_proj.weight"] @ x
        delta = np.logaddexp(0, p["dt_proj.weight"] @ chosen[:1] + p["dt_proj.bias"])
        state = np.exp(-delta[:, None] * np.exp(p["A_log"])) * state + np.outer(delta * x, chosen[1:4])
        y = state @ chosen[4:] + p["D"] * x
        out.append(p["out_proj.weight"] @ (y * gate * sigmoid(gate)))
    np.testing.assert_allclose(block(Tensor(u[None])).numpy()[0], out, atol=1e-12)


# What it refuses


@pytest.mark.parametrize(
    ("ids", "kind", "message"),
    [
        (np.array([[0, 16]]), IndexError, "tokens are from 0 to 15, and ids has 0 to 16"),
        (np.array([[0, -1]]), IndexError, "tokens are from 0 to 15, and ids has -1 to 0"),
        (np.zeros((1, 3)), ValueError, r"ids must be integers of shape \(B, T\), not float64 of \(1, 3\)"),
        (np.zeros(3, int), ValueError, r"ids must be integers of shape \(B, T\), not int64 of \(3,\)"),
        (np.zeros((2, 0), int), ValueError, r"ids of shape \(2, 0\) hold no token: give at least one"),
        (np.zeros((0, 2), int), ValueError, r"ids of shape \(0, 2\) hold no token"),
    ],
)
def test_ids_that_are_no_tokens_are_refused(ids, kind, message):
    with pytest.raises(kind, match=message) as caught:
        mamba()(Tensor(ids))
    assert "\n" not in str(caught.value)


def test_masks_and_targets_that_do_not_fit_are_refused():
    model, ids = mamba(), tokens(2, 3)
    with pytest.raises(ValueError, match=r"mask must have the shape of ids, \(2, 3\), not \(2, 4\)"):
        model(ids, Tensor(np.ones((2, 4))))
    with pytest.raises(ValueError, match="mask must hold 1 for a token and 0 for padding"):
        model(ids, Tensor(np.full((2, 3), 0.5)))
    with pytest.raises(ValueError, match=r"targets must be integers .*\(2, 3\), not int64 of \(2, 2\)"):
        model.loss(ids, tokens(2, 2))
    with pytest.raises(ValueError, match=r"targets must be integers .*float32"):
        model.loss(ids, Tensor(np.zeros((2, 3), np.float32)))


# The convolution


@pytest.mark.parametrize("shape", [(2, 7, 3, 4), (1, 2, 3, 4), (2, 5, 1, 1)], ids=str)
def test_the_causal_convolution_is_a_depthwise_conv_that_is_cut(shape):
    b, t, e, k = shape
    conv = nn.Conv1d(e, e, k, padding=k - 1, groups=e)
    x = Tensor(RNG.standard_normal((b, t, e)).astype(np.float32))
    expected = conv(x.transpose(1, 2))[:, :, :t].transpose(1, 2)
    found = F.causal_conv1d(x, conv.weight, conv.bias)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-6)


@pytest.mark.parametrize("bias", [True, False])
def test_gradients_of_the_causal_convolution(bias):
    shapes = [(2, 5, 3), (3, 1, 4), (3,)][: 2 + bias]
    inputs = tuple(Tensor(RNG.standard_normal(shape), requires_grad=True) for shape in shapes)
    assert gradcheck(lambda *inputs: F.causal_conv1d(*inputs), inputs)


def test_a_convolution_of_wrong_shapes_is_refused():
    x = Tensor(np.zeros((1, 5, 3)))
    with pytest.raises(RuntimeError, match=r"causal_conv1d: input .* \(B, T, E\), .* \(E, 1, K\)"):
        F.causal_conv1d(x, Tensor(np.zeros((4, 1, 2))))
    with pytest.raises(RuntimeError, match="one number for each of 3"):
        F.causal_conv1d(x, Tensor(np.zeros((3, 1, 2))), Tensor(np.zeros(2)))


# Folders


@pytest.fixture
def folder(tmp_path):
    return save_pretrained(noisy(mamba(pad_vocab_size_multiple=1)), tmp_path / "model")


def refused(folder, kind, *words):
    with pytest.raises(kind) as caught:
        Mamba.from_pretrained(folder)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 500
    assert [word for word in words if word not in message] == [], message


def change(folder, **values):
    config = json.loads((folder / CONFIG).read_bytes()) | values
    (folder / CONFIG).write_text(json.dumps({n: v for n, v in config.items() if v is not None}))


def rewrite(folder, edit):
    save_file(edit(load_file(folder / WEIGHTS)), folder / WEIGHTS)


def test_what_was_saved_is_read_bit_for_bit(tmp_path):
    model = noisy(mamba(vocab_size=13, d_conv=3, expand=3, dt_rank=5, bias=True, conv_bias=False))
    again = Mamba.from_pretrained(save_pretrained(model, tmp_path))
    assert not again.training and again.config.pad_vocab_size_multiple == 1
    assert again.config.vocab_size == model.config.vocab_size == 16
    for name, tensor in model.state_dict().items():
        assert np.array_equal(again.state_dict()[name].numpy(), tensor.numpy()), name
    assert again.lm_head.weight is again.embedding.weight


def test_weights_lie_in_the_file_as_transformers_has_them(folder):
    found = load_file(folder / WEIGHTS)
    assert "lm_head.weight" not in found and found["backbone.embeddings.weight"].shape == (11, 8)
    assert found["backbone.layers.1.mixer.A_log"].shape == (16, 3)
    assert "backbone.norm_f.weight" in found


def test_older_names_and_a_head_that_is_the_embedding_are_read(folder):
    expected = Mamba.from_pretrained(folder).state_dict()

    def older(arrays):
        named = {name.replace("embeddings.", "embedding."): array for name, array in arrays.items()}
        return named | {"lm_head.weight": arrays["backbone.embeddings.weight"].copy()}

    rewrite(folder, older)
    found = Mamba.from_pretrained(folder).state_dict()
    assert all(np.array_equal(found[name].numpy(), expected[name].numpy()) for name in expected)


def test_what_does_not_fit_is_refused_in_one_line(folder):
    change(folder, model_type="gpt2")
    refused(folder, ValueError, "model_type is 'gpt2', and only 'mamba' is read")
    change(folder, model_type="mamba", hidden_size=None)
    refused(folder, ValueError, "needs whole numbers for hidden_size")
    change(folder, hidden_size=8, hidden_act="gelu")
    refused(folder, ValueError, "hidden_act is 'gelu', and our Mamba has 'silu'")
    change(folder, hidden_act="silu", intermediate_size=20)
    refused(folder, ValueError, "intermediate_size is 20, and our Mamba has 16")
    change(folder, intermediate_size=16, time_step_rank=0)
    refused(folder, ValueError, "dt_rank must be a whole number of at least 1, and is 0")
    change(folder, time_step_rank=2)
    refused(folder, ValueError, "of another shape", "dt_proj.weight is (16, 1) and not (16, 2)")


def test_missing_and_unknown_weights_are_named(folder):
    def lose(arrays):
        arrays["backbone.layers.0.mixer.E"] = arrays.pop("backbone.layers.0.mixer.D")
        return arrays

    rewrite(folder, lose)
    refused(folder, ValueError, "missing: layers.0.mixer.D", "unknown: layers.0.mixer.E")


def test_a_head_of_its_own_is_refused(folder):
    rewrite(folder, lambda arrays: arrays | {"lm_head.weight": arrays["backbone.embeddings.weight"] + 1})
    refused(folder, ValueError, "lm_head.weight is not the embedding")


def test_the_original_bin_is_refused_by_name(tmp_path):
    """As in state-spaces/mamba-130m, whose config.json has other names too."""
    (tmp_path / CONFIG).write_text(json.dumps({"d_model": 768, "n_layer": 24, "vocab_size": 50277}))
    (tmp_path / "pytorch_model.bin").write_bytes(b"a pickle")
    refused(tmp_path, FileNotFoundError, "pytorch_model.bin", "may run any code")
