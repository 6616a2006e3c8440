"""Models that others have trained: folders in the form of Hugging Face, read and written.

config.json     sizes, and which kind of model it is
model.safetensors, or model.safetensors.index.json and the pieces that it names: the weights

A folder on this machine, or by its name from the hub, which needs huggingface_hub. Weights in .bin are
refused: they are pickles, and opening one runs whatever it holds.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from minilib.gpt import GPT, GPTConfig
from minilib.mamba import Mamba, MambaConfig
from minilib.nn import Module
from minilib.tensor import Array, Tensor

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
FLOATS = {"F64": np.float64, "F32": np.float32, "F16": np.float16}  # and BF16, which NumPy does not know

# A folder


def folder_of(name_or_folder: str | Path) -> Path:
    """The folder of a model: one on this machine, or what the hub has under this name, downloaded once.

    Raises FileNotFoundError, ImportError without huggingface_hub, OSError where the hub does not send it.
    """
    folder = Path(name_or_folder).expanduser()
    if folder.is_dir():
        return folder
    name = str(name_or_folder)
    if isinstance(name_or_folder, Path) or not re.fullmatch(r"\w[\w.-]*(/[\w.-]+)?", name):
        raise FileNotFoundError(f"{name}: there is no such folder")
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ImportError(
            f"{name}: there is no such folder; models from the hub need huggingface_hub: "
            f"{shlex.quote(sys.executable)} -m pip install huggingface_hub"
        ) from None
    try:
        return Path(snapshot_download(name, allow_patterns=[CONFIG, WEIGHTS, INDEX, "model-*.safetensors"]))
    except Exception as error:  # of whichever library it speaks to the network with
        why = shorten(f"{type(error).__name__}: {error}", 160)
        raise OSError(f"{name}: there is no such folder, and the hub did not send it ({why})") from None


def config_in(folder: Path) -> dict[str, Any]:
    """What config.json says. Raises FileNotFoundError or ValueError where it says nothing."""
    try:
        config = json.loads((folder / CONFIG).read_bytes())
    except FileNotFoundError:
        raise FileNotFoundError(f"{folder}: is no model: it has no {CONFIG}") from None
    except ValueError as error:
        raise ValueError(f"{folder / CONFIG}: is damaged: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(
            f"{folder / CONFIG}: is damaged: it holds {type(config).__name__}, not names and values"
        )
    return config


def weights_in(folder: Path, without: Iterable[str] = ()) -> dict[str, Array]:
    """All tensors by name, in float32, but those whose names end on one of `without`."""
    arrays: dict[str, Array] = {}
    for file in weight_files(folder):
        arrays |= tensors_in(file, tuple(without))
    return arrays


def weight_files(folder: Path) -> list[Path]:
    """The files that the weights are in. Raises FileNotFoundError where there are none."""
    if (folder / WEIGHTS).exists():
        return [folder / WEIGHTS]
    if (folder / INDEX).exists():
        try:
            names = set(json.loads((folder / INDEX).read_bytes())["weight_map"].values())
            return [folder / Path(name).name for name in sorted(names)]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{folder / INDEX}: is damaged ({type(error).__name__}: {error})") from None
    if pickles := sorted(path.name for path in folder.glob("*.bin")):
        raise FileNotFoundError(
            f"{folder}: has {pickles[0]}, which is not read, since opening it may run any code, and "
            f"no {WEIGHTS}: where you trust it, load it with transformers and save_pretrained it"
        )
    raise FileNotFoundError(f"{folder}: has no weights: neither {WEIGHTS} nor {INDEX}")


def tensors_in(file: Path, without: tuple[str, ...] = ()) -> dict[str, Array]:
    """The tensors of a safetensors file, in float32. Raises ValueError where it is damaged."""
    from safetensors import SafetensorError, deserialize

    try:
        found = deserialize(file.read_bytes())  # type: ignore[no-untyped-call]
    except FileNotFoundError:
        raise FileNotFoundError(f"{file}: is missing, and {INDEX} names it") from None
    except SafetensorError as error:
        raise ValueError(f"{file}: is damaged, or no safetensors file ({error})") from None
    return {name: as_float32(f"{file}: {name}", **what) for name, what in found if not name.endswith(without)}


def as_float32(name: str, dtype: str, shape: list[int], data: bytes) -> Array:
    """The numbers of a tensor: a bfloat16 is the first half of a float32."""
    if dtype == "BF16":
        halves = np.frombuffer(data, np.uint16).astype(np.uint32)
        return (halves << np.uint32(16)).view(np.float32).reshape(shape)
    if dtype not in FLOATS:
        raise ValueError(f"{name} is of type {dtype}; weights are BF16, {', '.join(FLOATS)}")
    return np.frombuffer(data, FLOATS[dtype]).astype(np.float32).reshape(shape)


def fill(model: Module, weights: Mapping[str, Array], where: Path, turned: tuple[str, ...] = ()) -> None:
    """Put the weights into the model, transposed where a name ends on one of `turned`.

    Raises ValueError, before anything is changed, where names or shapes do not fit.
    """
    own = {
        name: tensor.shape[::-1] if name.endswith(turned) else tensor.shape
        for name, tensor in model.state_dict().items()
    }
    shapes = [
        f"{name} is {weights[name].shape} and not {shape}"
        for name, shape in own.items()
        if name in weights and weights[name].shape != shape
    ]
    missing = [name for name in own if name not in weights]
    unknown = [name for name in weights if name not in own]
    problems = {"missing": missing, "unknown": unknown, "of another shape": shapes}
    if any(problems.values()):
        told = "; ".join(f"{what}: {listed(names)}" for what, names in problems.items() if names)
        raise ValueError(f"{where}: the weights do not fit {CONFIG}; {told}")
    model.load_state_dict(
        {name: Tensor(array.T if name.endswith(turned) else array) for name, array in weights.items()}
    )


def listed(names: list[str], most: int = 4) -> str:
    """The first few names, and how many more there are."""
    more = f", and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# GPT-2


# (in, out) in GPT-2's code, where a Linear has (out, in)
TRANSPOSED = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
MASKS = (".attn.bias", ".attn.masked_bias")  # older files have them: constants
SIZES = ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head")
ONLY: dict[str, tuple[Any, ...]] = {  # what our GPT does: the first is what a config that is silent means
    "activation_function": ("gelu_new", "gelu_pytorch_tanh"),  # two names of one formula
    "layer_norm_epsilon": (1e-5,),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
}


def load_gpt(name_or_folder: str | Path) -> GPT:
    """A GPT-2 in evaluation mode, with the weights of a folder or of a model on the hub.

    Raises ImportError, OSError or ValueError with one line that says what is wrong.
    """
    folder = folder_of(name_or_folder)
    config = config_in(folder)
    model = GPT(gpt_config(config, folder / CONFIG))
    weights = {_our_name(name): array for name, array in weights_in(folder, without=MASKS).items()}
    if config.get("tie_word_embeddings", True) and "transformer.wte.weight" in weights:
        weights["lm_head.weight"] = weights["transformer.wte.weight"]
    fill(model, weights, folder, TRANSPOSED)
    return model.eval()


def gpt_config(config: Mapping[str, Any], where: Path) -> GPTConfig:
    """The sizes that a config.json of GPT-2 gives. Raises ValueError for a model that is another one."""
    _check_config(config, where, "gpt2", SIZES)
    _check_only(config, where, {**ONLY, "n_inner": (None, 4 * config["n_embd"])}, "GPT")
    drops = {name: config.get(name, 0.1) for name in ("embd_pdrop", "resid_pdrop", "attn_pdrop")}
    vocab_size, block_size, n_embd, n_layer, n_head = (config[name] for name in SIZES)
    return GPTConfig(vocab_size, block_size, n_layer=n_layer, n_head=n_head, n_embd=n_embd, **drops)


def _their_gpt(model: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Weights and config.json of a GPT2LMHeadModel."""
    arrays = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    weights = {name: array.T if name.endswith(TRANSPOSED) else array for name, array in arrays.items()}
    return weights, _their_gpt_config(model.config)


def _their_gpt_config(config: GPTConfig) -> dict[str, Any]:
    last = 50256 if config.vocab_size == 50257 else None  # GPT-2's only special token
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        **{name: getattr(config, name) for name in SIZES if name != "n_positions"},
        "n_positions": config.block_size,
        **{name: getattr(config, name) for name in ("embd_pdrop", "resid_pdrop", "attn_pdrop")},
        **{name: values[0] for name, values in ONLY.items()},
        "n_inner": None,
        "initializer_range": 0.02,
        "tie_word_embeddings": False,
        "bos_token_id": last,
        "eos_token_id": last,
        "torch_dtype": "float32",
    }


def _our_name(name: str) -> str:
    return name if name.startswith(("transformer.", "lm_head.")) else f"transformer.{name}"


# Mamba


MAMBA_SIZES = ("vocab_size", "hidden_size", "num_hidden_layers", "state_size", "expand", "conv_kernel")
MAMBA_ONLY: dict[str, tuple[Any, ...]] = {  # what our Mamba does
    "hidden_act": ("silu",),
    "layer_norm_epsilon": (1e-5,),
    "tie_word_embeddings": (True,),
}


def load_mamba(name_or_folder: str | Path) -> Mamba:
    """A Mamba in evaluation mode, with the weights of a folder or of a model on the hub, in "-hf" form.

    Raises ImportError, OSError or ValueError with one line that says what is wrong.
    """
    folder = folder_of(name_or_folder)
    weight_files(folder)  # the original form has other sizes in its config, and a .bin: that is what to tell
    model = Mamba(mamba_config(config_in(folder), folder / CONFIG))
    weights = {_our_mamba_name(name): array for name, array in weights_in(folder).items()}
    if "embedding.weight" in weights:
        head = weights.setdefault("lm_head.weight", weights["embedding.weight"])
        if not np.array_equal(head, weights["embedding.weight"]):
            raise ValueError(f"{folder}: lm_head.weight is not the embedding, and our Mamba ties them")
    fill(model, weights, folder)
    return model.eval()


def mamba_config(config: Mapping[str, Any], where: Path) -> MambaConfig:
    """The sizes that a config.json of Mamba gives. Raises ValueError for a model that is another one."""
    defaults = {"state_size": 16, "expand": 2, "conv_kernel": 4, **config}
    _check_config(defaults, where, "mamba", MAMBA_SIZES)
    vocab_size, d_model, n_layer, d_state, expand, d_conv = (defaults[name] for name in MAMBA_SIZES)
    _check_only(config, where, {**MAMBA_ONLY, "intermediate_size": (expand * d_model,)}, "Mamba")
    biases = {"conv_bias": config.get("use_conv_bias", True), "bias": config.get("use_bias", False)}
    rank = config.get("time_step_rank", "auto")
    try:
        return MambaConfig(d_model, n_layer, vocab_size, d_state, expand, rank, d_conv, 1, **biases)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _their_mamba(model: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Weights and config.json of a MambaForCausalLM; its head is tied, and not written."""
    weights = {
        f"backbone.{name.replace('embedding.', 'embeddings.')}": tensor.numpy()
        for name, tensor in model.state_dict().items()
        if name != "lm_head.weight"
    }
    c = model.config
    sizes = c.vocab_size, c.d_model, c.n_layer, c.d_state, c.expand, c.d_conv
    end = 0 if c.vocab_size == 50_280 else None  # the vocabulary of the published ones
    return weights, {
        "architectures": ["MambaForCausalLM"],
        "model_type": "mamba",
        **dict(zip(MAMBA_SIZES, sizes)),
        "intermediate_size": c.d_inner,
        "time_step_rank": c.dt_rank,
        "use_conv_bias": c.conv_bias,
        "use_bias": c.bias,
        **{name: values[0] for name, values in MAMBA_ONLY.items()},
        "residual_in_fp32": True,
        **dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), end),
        "torch_dtype": "float32",
    }


def _our_mamba_name(name: str) -> str:
    name = name.removeprefix("backbone.")
    return name.replace("embeddings.", "embedding.")  # older files have it without the s


# Either


def save_pretrained(model: GPT | Mamba, folder: str | Path) -> Path:
    """Write the model into a folder, in float32, as transformers' class of that kind reads it."""
    from safetensors.numpy import save

    arrays, config = _their_gpt(model) if hasattr(model, "transformer") else _their_mamba(model)
    weights = {name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / INDEX).unlink(missing_ok=True)  # of another model that was here
    _replace(folder / WEIGHTS, save(weights, {"format": "pt"}))
    _replace(folder / CONFIG, json.dumps(config, indent=2).encode() + b"\n")
    return folder


def _check_config(config: Mapping[str, Any], where: Path, kind: str, sizes: Iterable[str]) -> None:
    """Raise ValueError where a config.json is of another kind of model, or lacks a size."""
    if config.get("model_type") != kind:
        raise ValueError(f"{where}: model_type is {config.get('model_type')!r}, and only {kind!r} is read")
    if missing := [name for name in sizes if not isinstance(config.get(name), int)]:
        raise ValueError(f"{where}: needs whole numbers for {', '.join(missing)}")


def _check_only(
    config: Mapping[str, Any], where: Path, only: Mapping[str, tuple[Any, ...]], ours: str
) -> None:
    """Raise ValueError where a config.json has a value that our model does not do."""
    for name, values in only.items():
        if config.get(name, values[0]) not in values:
            raise ValueError(f"{where}: {name} is {config[name]!r}, and our {ours} has {values[-1]!r}")


def _replace(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_bytes(data)
    os.replace(unfinished, path)
