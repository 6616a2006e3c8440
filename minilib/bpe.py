"""Byte-pair encoding: from text to the numbers of tokens, and back.

Taught in chapters/06a_tokens.ipynb and solutions/06a_tokens.ipynb: what they export is edited there, then
`make promote`.

A *byte character* stands for one byte, a *token* is a string of byte characters, a *piece* is what no merge
may cross: about a word with the space before it. A *merge* is two tokens that become one; its *rank* is its
place in the order of training. The names of `Encoder` and its files are GPT-2's.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import regex

Merge: TypeAlias = tuple[str, str]

END_OF_TEXT = "<|endoftext|>"


# Bytes that one can read


def bytes_to_unicode() -> dict[int, str]:
    """GPT-2's byte characters: each of the 256 bytes as a character that one can see.

    A byte that Latin-1 shows keeps its character; the others take those from 256 on, in their order. The
    space becomes U+0120 that way. The characters, sorted, are the tokens 0 to 255.
    """
    # Without spaces, controls and the soft hyphen.
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in shown]
    return {byte: chr(byte) for byte in shown} | {byte: chr(256 + i) for i, byte in enumerate(others)}


BYTE_CHARACTERS = bytes_to_unicode()
BYTE_OF = {character: byte for byte, character in BYTE_CHARACTERS.items()}


def visible(data: bytes) -> str:
    """Bytes as byte characters. (Latin-1 reads byte n as character n.)"""
    return data.decode("latin-1").translate(BYTE_CHARACTERS)


def bytes_of(tokens: str) -> bytes:
    """Byte characters as the bytes that they stand for."""
    return bytes(map(BYTE_OF.__getitem__, tokens))


# Pieces that no merge may cross


PIECE = regex.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d"  # what English hangs on to a word
    r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+"  # letters, digits, or neither, with one space before them
    r"|\s+(?!\S)|\s+"  # white space but its last character: a space goes to the next word, others stay alone
)


def pieces(text: str) -> list[str]:
    """GPT-2's pieces of a text; joined, they are the text."""
    return list(PIECE.findall(text))


# Training


def merged(word: Sequence[Any], pair: tuple[Any, Any], token: Any) -> list[Any]:
    """The word with `token` in place of each `pair`, from left to right."""
    new, i = [], 0
    while i < len(word):
        both = i + 1 < len(word) and (word[i], word[i + 1]) == pair
        new.append(token if both else word[i])
        i += 2 if both else 1
    return new


def train(texts: str | Iterable[str], vocab_size: int) -> list[Merge]:
    """The merges that byte-pair encoding learns from a text, or from several, the commonest pair first.

    Of pairs that are equally frequent, the one with the older first token goes first, then the one with the
    older second token; byte characters are older than merges, and among them the smaller one is. `vocab_size`
    counts the 256 byte characters and the merges; there are fewer where no pair is left. arXiv:1508.07909,
    algorithm 1. Raises ValueError for a `vocab_size` below 256.
    """
    if vocab_size < 256:
        raise ValueError(f"train: vocab_size must be at least 256, one for each byte, not {vocab_size}")
    times = count_pieces(texts)  # each piece once with its count: a text has far fewer pieces than words
    tokens = sorted(BYTE_OF)
    number = {token: i for i, token in enumerate(tokens)}
    words = [[number[c] for c in visible(piece.encode("utf-8"))] for piece in times]
    weights = list(times.values())
    counts: Counter[tuple[int, int]] = Counter()
    places: defaultdict[tuple[int, int], set[int]] = defaultdict(set)  # in which words a pair stands
    for i, word in enumerate(words):
        for pair in pairwise(word):
            counts[pair] += weights[i]
            places[pair].add(i)
    queue = [(-count, pair) for pair, count in counts.items()]
    heapify(queue)
    merges: list[Merge] = []
    while queue and len(tokens) < vocab_size:
        count, pair = heappop(queue)
        if -count != counts[pair]:  # it has become rarer since it was put there
            if counts[pair]:
                heappush(queue, (-counts[pair], pair))
            continue
        new = len(tokens)
        merges.append((tokens[pair[0]], tokens[pair[1]]))
        tokens.append("".join(merges[-1]))
        changed = set()  # pairs that the new token stands in: only these can have become more frequent
        for i in places.pop(pair):  # only these words change
            old, words[i] = words[i], merged(words[i], pair, new)
            for gone in pairwise(old):
                counts[gone] -= weights[i]
            for come in pairwise(words[i]):
                counts[come] += weights[i]
                if new in come:
                    places[come].add(i)
                    changed.add(come)
        for come in changed:
            # An older entry of the pair stays, and is skipped when popped.
            heappush(queue, (-counts[come], come))
    return merges


def count_pieces(texts: str | Iterable[str]) -> Counter[str]:
    """How often each piece occurs in a text, or in several. Raises TypeError for what is no text."""
    times: Counter[str] = Counter()
    for text in [texts] if isinstance(texts, str) else texts:
        times.update(pieces(_checked("train", text)))
    return times


def _checked(name: str, text: object) -> str:
    """The text, if it is one that has bytes."""
    if not isinstance(text, str):
        also = "; encode_bytes takes bytes" if isinstance(text, bytes) else ""
        raise TypeError(f"{name}: needs a str, not {type(text).__name__}{also}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name}: character {error.start} is a lone surrogate, {text[error.start]!a}, which is no text: "
            "decode the bytes that it came from, or give them to encode_bytes"
        ) from None
    return text


# Encoding


def merge_by_rank(word: Sequence[str], ranks: Mapping[Merge, int]) -> list[str]:
    """The tokens of a word: of all pairs that stand in it, the one of lowest rank is merged first."""
    word = list(word)
    while len(word) > 1:
        best = min(pairwise(word), key=lambda pair: ranks.get(pair, len(ranks)))
        if best not in ranks:
            break
        word = merged(word, best, best[0] + best[1])
    return word


LONG = 64  # from here on `merge_by_rank`, which looks at the whole word for each merge, is the slower way


def merge_long(word: Sequence[str], ranks: Mapping[Merge, int]) -> list[str]:
    """What `merge_by_rank` gives, in time n log n: pairs wait in a queue, tokens know their neighbours."""
    tokens: list[str | None] = list(word)
    before, after = [i - 1 for i in range(len(word))], [i + 1 for i in range(len(word))]
    queue = [(ranks[pair], i, pair) for i, pair in enumerate(pairwise(word)) if pair in ranks]
    heapify(queue)
    while queue:
        _, i, pair = heappop(queue)
        right = after[i]
        if tokens[i] != pair[0] or right == len(tokens) or tokens[right] != pair[1]:
            continue  # another merge has taken one of the two
        tokens[i] = pair[0] + pair[1]
        tokens[right], end = None, after[right]
        after[i] = end
        if end < len(tokens):
            before[end] = i
        for left, other in ((before[i], i), (i, end)):
            if left >= 0 and other < len(tokens):
                made = (tokens[left] or "", tokens[other] or "")
                if made in ranks:
                    heappush(queue, (ranks[made], left, made))
    return [token for token in tokens if token is not None]


class Encoder:
    """A vocabulary with its merges: `encode` makes token numbers of a text, `decode` a text of them.

    `encoder` gives the number of each token, `bpe_merges` are the merges in order of rank, both in byte
    characters. Raises ValueError where they do not fit together.
    """

    def __init__(self, encoder: Mapping[str, int], bpe_merges: Iterable[Sequence[str]]) -> None:
        self.encoder = dict(encoder)
        self.bpe_merges: list[Merge] = [_pair(i, merge) for i, merge in enumerate(bpe_merges)]
        self.bpe_ranks = {merge: rank for rank, merge in enumerate(self.bpe_merges)}
        self.decoder = {i: token for token, i in self.encoder.items()}
        _check(self)
        self.byte_encoder, self.byte_decoder = BYTE_CHARACTERS, BYTE_OF
        self._bytes = {i: _bytes_of(token) for i, token in self.decoder.items()}
        self._cache: dict[str, list[int]] = {}

    @classmethod
    def from_merges(cls, merges: Iterable[Merge]) -> Self:
        """The vocabulary in GPT-2's order: 256 byte characters, the merges, and `<|endoftext|>`."""
        merges = list(merges)
        tokens = [*sorted(BYTE_OF), *(a + b for a, b in merges), END_OF_TEXT]
        return cls({token: i for i, token in enumerate(tokens)}, merges)

    @classmethod
    def train(cls, texts: str | Iterable[str], vocab_size: int) -> Self:
        """`from_merges` of what `train` learns; `<|endoftext|>` comes on top of `vocab_size`."""
        return cls.from_merges(train(texts, vocab_size))

    def __len__(self) -> int:
        return len(self.encoder)

    def __repr__(self) -> str:
        return f"Encoder({len(self)} tokens, {len(self.bpe_merges)} merges)"

    # From text to numbers

    def encode(self, text: str, special: bool = False) -> list[int]:
        """The numbers of a text's tokens. With `special`, `<|endoftext|>` in it is that token, not thirteen
        characters. Raises TypeError for what is no str, ValueError for a lone surrogate.
        """
        text = _checked("encode", text)
        first, *others = text.split(END_OF_TEXT) if special and END_OF_TEXT in self.encoder else [text]
        ids = self._encode(first)
        for part in others:
            ids += [self.encoder[END_OF_TEXT], *self._encode(part)]
        return ids

    def encode_bytes(self, data: bytes) -> list[int]:
        """The numbers for any bytes; for those of a text, the same as `encode` gives."""
        if not isinstance(data, bytes | bytearray | memoryview):
            also = "; encode takes text" if isinstance(data, str) else ""
            raise TypeError(f"encode_bytes: needs bytes, not {type(data).__name__}{also}")
        return self._encode(bytes(data).decode("utf-8", "surrogateescape"))

    def encode_and_show_work(self, text: str) -> dict[str, Any]:
        """What `encode` does, step by step: `parts` has one dict for each piece, with minGPT's keys."""
        parts = []
        for piece in pieces(_checked("encode_and_show_work", text)):
            data = piece.encode("utf-8")
            ids = self._ids(piece)
            parts.append({
                "token": piece,
                "token_bytes": data,
                "token_translated": visible(data),
                "token_merged": [self.decoder[i] for i in ids],
                "token_ix": list(ids),
            })  # fmt: skip
        return {"bpe_idx": self.encode(text), "tokens": pieces(text), "parts": parts}

    def _encode(self, text: str) -> list[int]:
        """`encode` of what is known to be a text, or bytes with escapes for those that are none."""
        ids: list[int] = []
        cache = self._cache
        for piece in PIECE.findall(text):
            ids += cache[piece] if piece in cache else self._ids(piece)
        return ids

    def _ids(self, piece: str) -> list[int]:
        """The numbers of one piece's tokens; pieces that come again are not merged again."""
        if piece not in self._cache:
            word = visible(piece.encode("utf-8", "surrogateescape"))
            merge = merge_by_rank if len(word) < LONG else merge_long
            ids = [self.encoder[token] for token in merge(word, self.bpe_ranks)]
            if len(word) >= LONG or len(self._cache) >= 1_000_000:  # neither is likely to be worth its memory
                return ids
            self._cache[piece] = ids
        return self._cache[piece]

    # From numbers to text

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes that the tokens stand for. Raises IndexError for a number that is no token's."""
        ids = ids.tolist() if hasattr(ids, "tolist") else list(ids)
        try:
            return b"".join([self._bytes[i] for i in ids])
        except (KeyError, TypeError):
            bad = next(i for i in ids if isinstance(i, list) or i not in self._bytes)
        if isinstance(bad, list):
            raise TypeError("decode: needs token numbers in one row, not in several: decode row by row")
        raise IndexError(f"decode: {bad!r} is no token: the numbers run from 0 to {max(self.decoder)}")

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these tokens. Bytes that are no UTF-8, as half a character is, become U+FFFD."""
        return self.decode_bytes(ids).decode("utf-8", errors="replace")

    # Files

    def save(self, folder: str | Path) -> None:
        """Writes GPT-2's `vocab.json` and `merges.txt` and Hugging Face's `tokenizer.json` into `folder`."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        lines = ["#version: 0.2", *(f"{a} {b}" for a, b in self.bpe_merges)]
        (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
        _write_json(folder / "vocab.json", self.encoder)
        _write_json(folder / "tokenizer.json", _tokenizer_json(self))

    @classmethod
    def from_pretrained(cls, name: str | Path) -> Self:
        """From a folder with GPT-2's files or `tokenizer.json`, or by name ("gpt2") from Hugging Face's hub.

        Raises FileNotFoundError where the folder has none, ImportError where a name needs huggingface_hub.
        """
        if Path(name).is_dir():
            return cls(*_read(Path(name)))
        if isinstance(name, Path) or name.startswith((".", "/", "~")) or "\\" in name:
            raise FileNotFoundError(f"from_pretrained: there is no folder {name}")
        return cls(*_read(_download(name)))


def _pair(i: int, merge: Sequence[str]) -> Merge:
    """A merge as a tuple. Raises ValueError where it is not two tokens."""
    if isinstance(merge, str) or len(merge) != 2 or not all(isinstance(m, str) and m for m in merge):
        raise ValueError(f"merge {i} is {merge!r}: a merge is two tokens")
    return merge[0], merge[1]


def _check(coder: Encoder) -> None:
    """Raise where a vocabulary and its merges do not fit together."""
    if missing := [c for c in BYTE_OF if c not in coder.encoder]:
        raise ValueError(
            f"the vocabulary lacks {len(missing)} of the 256 byte characters, {missing[0]!r} first"
        )
    if len(coder.decoder) < len(coder.encoder):
        raise ValueError("the vocabulary has one number for two tokens")
    if bad := [i for i in coder.decoder if not isinstance(i, int) or i < 0]:
        raise ValueError(f"the vocabulary has a token of number {bad[0]!r}: they are 0, 1, 2, ...")
    if len(coder.bpe_ranks) < len(coder.bpe_merges):
        twice = next(merge for i, merge in enumerate(coder.bpe_merges) if coder.bpe_ranks[merge] != i)
        raise ValueError(f"the merge of {twice[0]!r} with {twice[1]!r} stands there twice")
    known = set(BYTE_OF)
    for i, (a, b) in enumerate(coder.bpe_merges):
        for part in (a, b):
            if part not in known:
                raise ValueError(
                    f"merge {i}, {a!r} with {b!r}: no merge before it makes {part!r}; is one missing?"
                )
        if a + b not in coder.encoder:
            raise ValueError(f"merge {i}, {a!r} with {b!r}, makes {a + b!r}, which is not in the vocabulary")
        known.add(a + b)


def _bytes_of(token: str) -> bytes:
    """The bytes of a token; of a special one, which is plain text, those of its characters."""
    return bytes_of(token) if set(token) <= BYTE_OF.keys() else token.encode("utf-8")


def _write_json(file: Path, data: Any) -> None:
    file.write_text(json.dumps(data, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def _tokenizer_json(coder: Encoder) -> dict[str, Any]:
    """What `tokenizers.Tokenizer.from_file` reads."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    end = {"id": coder.encoder.get(END_OF_TEXT), "content": END_OF_TEXT, **plain, "special": True}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [end] if END_OF_TEXT in coder.encoder else [],
        "normalizer": None, "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": coder.encoder, "merges": [f"{a} {b}" for a, b in coder.bpe_merges],
        },
    }  # fmt: skip


def _read(folder: Path) -> tuple[dict[str, int], list[list[str]]]:
    """Vocabulary and merges from a folder, by the names of Hugging Face, of OpenAI, or of `tokenizers`."""
    for vocab, merges in (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")):
        if (folder / vocab).exists() and (folder / merges).exists():
            lines = _text(folder / merges).split("\n")
            lines = lines[1:] if lines[0].startswith("#version") else lines
            return _json(folder / vocab), [line.split(" ") for line in lines if line.strip()]
    if (folder / "tokenizer.json").exists():
        return _from_tokenizer_json(folder / "tokenizer.json")
    raise FileNotFoundError(
        f"from_pretrained: {folder} has no vocab.json with merges.txt, no encoder.json with vocab.bpe, "
        "and no tokenizer.json"
    )


def _from_tokenizer_json(file: Path) -> tuple[dict[str, int], list[list[str]]]:
    """Vocabulary and merges of a byte-level BPE with GPT-2's pattern. Raises ValueError for another one."""
    data = _json(file)
    model, before = data.get("model") or {}, data.get("pre_tokenizer") or {}
    if (
        model.get("type", "BPE") != "BPE"
        or before.get("type") != "ByteLevel"
        or before.get("add_prefix_space")
    ):
        kind = f"{model.get('type')} after {before.get('type')}"
        raise ValueError(f"{file}: it is {kind}, not BPE over bytes with GPT-2's pattern")
    vocab = dict(model.get("vocab", {})) | {one["content"]: one["id"] for one in data.get("added_tokens", [])}
    return vocab, [m.split(" ") if isinstance(m, str) else list(m) for m in model.get("merges", [])]


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{file}: it is no text in UTF-8") from None


def _json(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(_text(file))
    except json.JSONDecodeError as error:
        raise ValueError(f"{file}: line {error.lineno} is no JSON: {error.msg}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{file}: it holds a {type(data).__name__}, not the names of tokens")
    return data


def _download(name: str) -> Path:
    """A folder with GPT-2's two files of this model, from the hub."""
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise ImportError(
            f"from_pretrained: {name!r} is no folder, and a name on the hub needs huggingface_hub: "
            "pip install huggingface_hub"
        ) from None
    hf_hub_download(name, "vocab.json")
    return Path(hf_hub_download(name, "merges.txt")).parent


def get_encoder() -> Encoder:
    """GPT-2's own encoder, from the hub: 50,257 tokens."""
    return Encoder.from_pretrained("gpt2")


class BPETokenizer:
    """An encoder whose answers are batches: calling it makes an int64 array (1, T) of a text.

    Without an `encoder` it takes GPT-2's own. In minGPT the array is a PyTorch tensor.
    """

    def __init__(self, encoder: Encoder | None = None) -> None:
        self.encoder = encoder or get_encoder()

    def __call__(self, text: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.array([self.encoder.encode(text)], dtype=np.int64)

    def decode(self, idx: Iterable[int]) -> str:
        """The text of token numbers (T,)."""
        return self.encoder.decode(idx)
