"""Folders in Hugging Face's form: what is read, what is written, and what is refused in one line."""

from __future__ import annotations

import json
import sys
import types

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from minilib import pretrained
from minilib.gpt import GPT, GPTConfig
from minilib.pretrained import CONFIG, INDEX, WEIGHTS, save_pretrained
from minilib.tensor import Tensor, manual_seed

IDX = Tensor([[1, 4, 2, 0, 3]])


@pytest.fixture
def model():
    manual_seed(0)
    return GPT(GPTConfig(7, 5, n_layer=2, n_head=2, n_embd=8)).eval()


@pytest.fixture
def folder(model, tmp_path):
    return save_pretrained(model, tmp_path / "model")


def change(folder, **values):
    """Write other values into the config; None takes a name out."""
    config = json.loads((folder / CONFIG).read_bytes()) | values
    kept = {name: value for name, value in config.items() if name not in values or value is not None}
    (folder / CONFIG).write_text(json.dumps(kept))


def rewrite(folder, edit):
    """Write what `edit` makes of the weights."""
    save_file(edit(load_file(folder / WEIGHTS)), folder / WEIGHTS)


def refused(folder, kind, *words):
    """The message, which is one line and has the words."""
    with pytest.raises(kind) as caught:
        GPT.from_pretrained(folder)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 500
    assert [word for word in words if word not in message] == [], message
    return message


def logits(model):
    return model(IDX)[0].numpy()


# Read and written


def test_what_was_saved_is_read_bit_for_bit(model, folder):
    again = GPT.from_pretrained(folder)
    assert not again.training and again.config == model.config
    for name, tensor in model.state_dict().items():
        assert np.array_equal(again.state_dict()[name].numpy(), tensor.numpy()), name


def test_linear_weights_lie_in_the_file_as_gpt2_has_them(model, folder):
    found = load_file(folder / WEIGHTS)
    assert found["transformer.h.1.mlp.c_fc.weight"].shape == (8, 32)
    assert found["transformer.h.1.attn.c_attn.weight"].shape == (8, 24)
    assert found["lm_head.weight"].shape == found["transformer.wte.weight"].shape == (7, 8)
    weight = model.transformer.h[0].attn.c_proj.weight.numpy()
    assert np.array_equal(found["transformer.h.0.attn.c_proj.weight"], weight.T)


def test_the_head_is_not_tied_in_what_is_saved(folder):
    config = json.loads((folder / CONFIG).read_bytes())
    assert config["tie_word_embeddings"] is False and config["architectures"] == ["GPT2LMHeadModel"]


def test_a_model_is_saved_over_another_whole(model, folder):
    (folder / INDEX).write_text("{}")
    save_pretrained(model, folder)
    assert {path.name for path in folder.iterdir()} == {CONFIG, WEIGHTS}


def test_a_model_in_float64_is_saved_in_float32(model, tmp_path):
    folder = save_pretrained(model.to(np.float64), tmp_path / "double")
    assert {array.dtype for array in load_file(folder / WEIGHTS).values()} == {np.dtype(np.float32)}


def test_names_without_transformer_and_old_masks_are_read(model, folder):
    """As in the file that the hub has of gpt2."""

    def as_on_the_hub(arrays):
        named = {name.removeprefix("transformer."): array for name, array in arrays.items()}
        mask = {"h.0.attn.bias": np.ones((1, 1, 5, 5), np.uint8), "h.0.attn.masked_bias": np.float32([-1e4])}
        return named | mask

    rewrite(folder, as_on_the_hub)
    assert np.array_equal(logits(GPT.from_pretrained(folder)), logits(model))


@pytest.mark.parametrize("tie", [True, None])
def test_a_tied_head_is_the_embedding_of_tokens(folder, tie):
    """Where the config says so, or nothing."""
    change(folder, tie_word_embeddings=tie)
    rewrite(folder, lambda arrays: {n: a for n, a in arrays.items() if n != "lm_head.weight"})
    again = GPT.from_pretrained(folder)
    assert np.array_equal(again.lm_head.weight.numpy(), again.transformer.wte.weight.numpy())
    assert again.lm_head.weight.data is not again.transformer.wte.weight.data


def test_weights_in_several_files_are_read(model, folder):
    arrays = load_file(folder / WEIGHTS)
    where = {name: f"model-0000{i % 3 + 1}-of-00003.safetensors" for i, name in enumerate(arrays)}
    for file in set(where.values()):
        save_file({name: arrays[name] for name in arrays if where[name] == file}, folder / file)
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": where}))
    (folder / WEIGHTS).unlink()
    assert np.array_equal(logits(GPT.from_pretrained(folder)), logits(model))
    (folder / "model-00002-of-00003.safetensors").unlink()
    refused(folder, FileNotFoundError, "model-00002-of-00003.safetensors: is missing")


def test_an_index_leads_to_no_other_folder(folder):
    (folder / INDEX).write_text(json.dumps({"weight_map": {"a": "../../elsewhere.safetensors"}}))
    (folder / WEIGHTS).rename(folder.parent / "elsewhere.safetensors")
    refused(folder, FileNotFoundError, str(folder / "elsewhere.safetensors"))


@pytest.mark.parametrize(
    ("dtype", "bits", "expected"),
    [
        ("F16", [0x3C00, 0xC248, 0x0001], [1, -3.140625, 2**-24]),
        ("BF16", [0x3F80, 0xC049, 0x0001], [1, -3.140625, 2.0**-133]),
    ],
)
def test_numbers_of_16_bits_are_what_their_bits_say(dtype, bits, expected):
    array = pretrained.as_float32("x", dtype, [3], np.array(bits, "<u2").tobytes())
    assert array.dtype == np.float32 and array.tolist() == expected


# Refused


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    refused(tmp_path / "nothing", FileNotFoundError, "nothing: there is no such folder")
    refused(str(tmp_path / "nothing"), FileNotFoundError, "nothing: there is no such folder")
    refused(tmp_path, FileNotFoundError, "is no model: it has no config.json")


@pytest.mark.parametrize("text", ["", "{", "[1]", "\xff"])
def test_a_damaged_config_is_refused(folder, text):
    (folder / CONFIG).write_text(text, encoding="latin-1")
    refused(folder, ValueError, "config.json: is damaged")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("model_type", "llama", "model_type is 'llama', and only 'gpt2' is read"),
        ("model_type", None, "model_type is None"),
        ("activation_function", "relu", "activation_function is 'relu'"),
        ("n_inner", 99, "n_inner is 99, and our GPT has 32"),
        ("layer_norm_epsilon", 1e-6, "layer_norm_epsilon is 1e-06, and our GPT has 1e-05"),
        ("scale_attn_weights", False, "scale_attn_weights is False"),
        ("scale_attn_by_inverse_layer_idx", True, "scale_attn_by_inverse_layer_idx is True"),
        ("add_cross_attention", True, "add_cross_attention is True"),
        ("n_embd", None, "needs whole numbers for n_embd"),
        ("n_layer", "2", "needs whole numbers for n_layer"),
        ("n_head", 3, "n_embd 8 must be a multiple of n_head 3"),
    ],
)
def test_a_model_of_another_kind_is_refused_by_the_name_of_the_field(folder, name, value, words):
    change(folder, **{name: value})
    refused(folder, ValueError, words)


def test_pickles_are_refused_by_name(folder):
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")
    refused(folder, FileNotFoundError, "pytorch_model.bin", "may run any code", "save_pretrained")
    (folder / "pytorch_model.bin").unlink()
    refused(
        folder, FileNotFoundError, "has no weights: neither model.safetensors nor model.safetensors.index"
    )


def test_damaged_weights_are_refused(folder):
    whole = (folder / WEIGHTS).read_bytes()
    for data in (b"", whole[:100], whole[:-1], b"PK" + whole):
        (folder / WEIGHTS).write_bytes(data)
        refused(folder, ValueError, "model.safetensors: is damaged, or no safetensors file")


@pytest.mark.parametrize("text", ["", "{}", '{"weight_map": 3}'])
def test_a_damaged_index_is_refused(folder, text):
    (folder / WEIGHTS).unlink()
    (folder / INDEX).write_text(text)
    refused(folder, ValueError, "model.safetensors.index.json: is damaged")


def test_weights_that_do_not_fit_are_named_with_their_shapes(folder):
    def edit(arrays):
        del arrays["transformer.ln_f.bias"]
        arrays["transformer.wpe.weight"] = arrays["transformer.wpe.weight"][:3].copy()
        return arrays | {"score.weight": np.ones(3, np.float32)}

    rewrite(folder, edit)
    refused(
        folder, ValueError, "missing: transformer.ln_f.bias", "unknown: transformer.score.weight",
        "transformer.wpe.weight is (3, 8) and not (5, 8)",
    )  # fmt: skip


def test_of_many_missing_weights_a_few_are_named(folder):
    change(folder, n_layer=4)
    message = refused(folder, ValueError, "missing: transformer.h.2.", "and 20 more")
    assert message.count("transformer.h.") == 4


def test_a_matrix_that_is_the_wrong_way_round_is_refused(folder):
    name = "transformer.h.0.attn.c_attn.weight"
    rewrite(folder, lambda arrays: arrays | {name: np.ascontiguousarray(arrays[name].T)})
    refused(folder, ValueError, f"{name} is (24, 8) and not (8, 24)")


def test_whole_numbers_are_no_weights(folder):
    rewrite(folder, lambda arrays: arrays | {"transformer.ln_f.bias": np.ones(8, np.int64)})
    refused(folder, ValueError, "transformer.ln_f.bias is of type I64")


# The hub


@pytest.fixture
def hub(monkeypatch, folder):
    """A hub that has one model, "someone/tiny"; what it was asked for."""
    asked = []

    def snapshot_download(name, allow_patterns):
        asked.append((name, allow_patterns))
        if name != "someone/tiny":
            raise ConnectionError("cannot reach the hub\nfor some reason or other")
        return str(folder)

    fake = types.SimpleNamespace(snapshot_download=snapshot_download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", fake)
    return asked


def test_a_name_is_asked_of_the_hub_and_only_what_is_needed(hub, model):
    assert np.array_equal(logits(GPT.from_pretrained("someone/tiny")), logits(model))
    ((name, patterns),) = hub
    assert name == "someone/tiny"
    assert set(patterns) == {CONFIG, WEIGHTS, INDEX, "model-*.safetensors"}


def test_a_folder_is_not_asked_of_the_hub(hub, folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    GPT.from_pretrained("model")
    assert hub == []


def test_what_the_hub_does_not_send_is_told_in_one_line(hub):
    refused("gpt2", OSError, "gpt2: there is no such folder, and the hub did not send it", "cannot reach")


def test_without_huggingface_hub_it_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    refused("gpt2", ImportError, "gpt2: there is no such folder", "-m pip install huggingface_hub")
