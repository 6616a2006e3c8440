"""Models that others have trained: folders in the form of Hugging Face, read and written.

config.json     sizes, and which kind of model it is
model.safetensors, or model.safetensors.index.json and the pieces that it names: the weights

A folder on this machine, or by its name from the hub, which needs huggingface_hub: pip install
'minilib[pretrained]'. Weights in .bin are refused: they are pickles, and opening one runs whatever it holds.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from minilib.gpt import GPT, GPTConfig
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
            f"{name}: there is no such folder; models from the hub need pip install 'minilib[pretrained]'"
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
    if config.get("model_type") != "gpt2":
        raise ValueError(f"{where}: model_type is {config.get('model_type')!r}, and only 'gpt2' is read")
    if missing := [name for name in SIZES if not isinstance(config.get(name), int)]:
        raise ValueError(f"{where}: needs whole numbers for {', '.join(missing)}")
    expected = {**ONLY, "n_inner": (None, 4 * config["n_embd"])}
    for name, values in expected.items():
        if config.get(name, values[0]) not in values:
            raise ValueError(f"{where}: {name} is {config[name]!r}, and our GPT has {values[-1]!r}")
    drops = {name: config.get(name, 0.1) for name in ("embd_pdrop", "resid_pdrop", "attn_pdrop")}
    vocab_size, block_size, n_embd, n_layer, n_head = (config[name] for name in SIZES)
    return GPTConfig(vocab_size, block_size, n_layer=n_layer, n_head=n_head, n_embd=n_embd, **drops)


def save_pretrained(model: GPT, folder: str | Path) -> Path:
    """Write the model into a folder, in float32, as transformers' GPT2LMHeadModel reads it."""
    from safetensors.numpy import save

    weights = {
        name: np.ascontiguousarray(array.T if name.endswith(TRANSPOSED) else array, np.float32)
        for name, array in ((name, tensor.numpy()) for name, tensor in model.state_dict().items())
    }
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / INDEX).unlink(missing_ok=True)  # of another model that was here
    _replace(folder / WEIGHTS, save(weights, {"format": "pt"}))
    _replace(folder / CONFIG, json.dumps(_their_config(model.config), indent=2).encode() + b"\n")
    return folder


def _their_config(config: GPTConfig) -> dict[str, Any]:
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


def _replace(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_bytes(data)
    os.replace(unfinished, path)
