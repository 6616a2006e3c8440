"""Byte-pair encoding: training 2,000 merges on 1 MB, and encoding it, beside `tokenizers` and minGPT's way.

    python -m benchmarks.bpe               # writes benchmarks/results/bpe.json; about a minute

The text is made of `minilib.data.topics()`, three times, cut at 1,000,000 characters; in the second and the
third copy each letter is moved on by one and by two places of the alphabet, so that their words are new ones.
All three encode with the merges that minilib learned, and give the same numbers. "fresh" is an encoder's
first look at the text, "again" its second: all of them remember pieces. minGPT trains nothing; its way of
encoding is written here after the published algorithm. `tokenizers` is Rust; each library has one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import string
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from timing import machine

from benchmarks.sidebyside import in_turn, spawn
from minilib.bpe import BYTE_CHARACTERS, END_OF_TEXT, PIECE, Encoder, Merge, train
from minilib.data import checksum, topics

RESULTS = Path(__file__).parent / "results" / "bpe.json"
CHARACTERS, MERGES, ROUNDS = 1_000_000, 2000, 5
LIBRARIES = {
    "minilib": "`minilib.bpe`",
    "tokenizers": "`tokenizers` (Rust)",
    "mingpt": "minGPT's way, plain Python",
}
TASKS = {"train": "2,000 merges", "fresh": "encode, fresh", "again": "encode, again"}


def megabyte() -> str:
    """The text, 1,000,000 characters: three copies of the manual, two of them in cipher."""
    whole = topics()
    return "".join(whole.translate(moved(by)) for by in range(3))[:CHARACTERS]


def moved(by: int) -> dict[int, int]:
    """Each letter, so many places further on in its alphabet."""
    pairs = []
    for letters in (string.ascii_lowercase, string.ascii_uppercase):
        pairs += zip(letters, letters[by:] + letters[:by])
    return {ord(a): ord(b) for a, b in pairs}


class GPT2Way:
    """GPT-2's encoder as published, which minGPT follows: a set of pairs, the least by rank, a cache."""

    def __init__(self, merges: list[Merge]) -> None:
        self.encoder = Encoder.from_merges(merges).encoder
        self.ranks = {merge: i for i, merge in enumerate(merges)}
        self.cache: dict[str, str] = {}

    def bpe(self, token: str) -> str:
        if token in self.cache:
            return self.cache[token]
        word = tuple(token)
        pairs = set(zip(word, word[1:]))  # noqa: RUF007 (as published)
        while pairs:
            pair = min(pairs, key=lambda each: self.ranks.get(each, float("inf")))
            if pair not in self.ranks:
                break
            first, second = pair
            new: list[str] = []
            i = 0
            while i < len(word):
                try:
                    j = word.index(first, i)
                except ValueError:
                    new.extend(word[i:])
                    break
                new.extend(word[i:j])
                i = j
                both = word[i] == first and i < len(word) - 1 and word[i + 1] == second
                new.append(first + second if both else word[i])
                i += 2 if both else 1
            word = tuple(new)
            if len(word) == 1:
                break
            pairs = set(zip(word, word[1:]))  # noqa: RUF007 (as published)
        self.cache[token] = " ".join(word)
        return self.cache[token]

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        for piece in PIECE.findall(text):
            seen = "".join(BYTE_CHARACTERS[byte] for byte in piece.encode("utf-8"))
            ids.extend(self.encoder[token] for token in self.bpe(seen).split(" "))
        return ids


def rust(merges: list[Merge]) -> Any:
    """The encoder of `tokenizers`; without merges, to be trained."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocab = {token: i for token, i in Encoder.from_merges(merges).encoder.items() if token != END_OF_TEXT}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges) if merges else models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def trained_rust(text: str) -> list[Merge]:
    from tokenizers import pre_tokenizers, trainers

    tokenizer = rust([])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=256 + MERGES, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([text], trainer)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [tuple(merge.split(" ") if isinstance(merge, str) else merge) for merge in merges]


def encoding(library: str, merges: list[Merge]) -> Callable[[str], list[int]]:
    """A fresh encoder's method."""
    if library == "minilib":
        return Encoder.from_merges(merges).encode
    if library == "mingpt":
        return GPT2Way(merges).encode
    tokenizer = rust(merges)
    # The faster one of its ways: without the place of each token in the text, which the others do not tell.
    return lambda text: list(tokenizer.encode_batch_fast([text])[0].ids)


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def measure_here(library: str, task: str) -> dict[str, Any]:
    """Seconds of one task in this process, and the checksum of what it gave."""
    text = megabyte()
    if task == "train":
        learn = trained_rust if library == "tokenizers" else lambda text: train(text, 256 + MERGES)
        seconds, result = timed(lambda: learn(text))
    else:
        encode = encoding(library, train(text, 256 + MERGES))
        seconds, result = timed(lambda: encode(text))
        if task == "again":
            seconds, result = timed(lambda: encode(text))
    return {"seconds": seconds, "result": checksum(repr(list(map(repr, result)))), "tokens": len(result)}


def collect() -> list[dict[str, Any]]:
    """A row for each library and task: medians over ROUNDS. Raises SystemExit where results differ."""
    cases = [(name, task) for task in TASKS for name in LIBRARIES if (name, task) != ("mingpt", "train")]
    found = in_turn(cases, ROUNDS, lambda case: spawn("benchmarks.bpe", "--child", *case))
    rows = []
    for name, task in cases:
        peer = found["minilib", task]
        if {one["result"] for one in found[name, task]} != {peer[0]["result"]}:
            raise SystemExit(f"error: {name} gives another result than minilib in {task}")
        ratios = [a["seconds"] / b["seconds"] for a, b in zip(found[name, task], peer)]
        seconds = statistics.median(one["seconds"] for one in found[name, task])
        row = {"library": name, "task": task, "seconds": round(seconds, 3), "tokens": peer[0]["tokens"]}
        rows.append(row | {"times_minilib": round(statistics.median(ratios), 2)})
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """The figures as chapter 06a shows them."""
    seconds = {(row["library"], row["task"]): row["seconds"] for row in rows}
    lines = [f"| 1,000,000 characters | {' | '.join(TASKS.values())} |", "|---" * (len(TASKS) + 1) + "|"]
    for library, name in LIBRARIES.items():
        times = [seconds.get((library, task)) for task in TASKS]
        lines.append(f"| {name} | {' | '.join('' if t is None else f'{t:.2f} s' for t in times)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--child", nargs=2, metavar=("LIBRARY", "TASK"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure_here(*args.child)))
        return
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["RAYON_NUM_THREADS"] = "1"
    load = os.getloadavg()[0]
    rows = collect()
    text = megabyte()
    data = {
        "machine": machine(), "load_before": round(load, 1), "rounds": ROUNDS,
        "tokenizers": version("tokenizers"), "regex": version("regex"),
        "text": {"characters": len(text), "sha256": checksum(text), "topics_sha256": checksum(topics())},
        "rows": rows,
    }  # fmt: skip
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(table(rows))
    print(f"wrote {RESULTS}; chapter 06a shows this table")


if __name__ == "__main__":
    main()
