"""A GPT that writes text, character by character, after it has read some.

python -m minilib.projects.chargpt                       Python's own manual
python -m minilib.projects.chargpt --file letters.txt    a text of your own
python -m minilib.projects.chargpt --shakespeare ~/texts --checkpoint run

A tenth of the text is held out, in ten places. The last line is the loss on it, in nats per character: in
blocks as in training, whose first characters have nothing before them, and with half a block before each.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from minilib.data import CharDataset, DataLoader, shakespeare, topics
from minilib.gpt import GPT, next_token
from minilib.nn import evaluating
from minilib.projects.running import Parser, Samples, at_least_one, options, started, trained
from minilib.tensor import Generator, Tensor

# Text as samples


def split(text: str, block_size: int, context: int = 0) -> tuple[CharDataset, CharDataset]:
    """To train on and to test on: of each tenth of the text the first nine tenths, and the last.

    So what is held out comes from all over the text. In it, each character is a target once, behind at least
    `context` others (the first ones of all are left out).
    """
    ends = [len(text) * i // 100 for i in range(101)]
    hundredths = [text[start:stop] for start, stop in itertools.pairwise(ends)]
    held_out = "".join(hundredths[9::10])
    read = "".join(part for i, part in enumerate(hundredths) if i % 10 != 9)
    characters = "".join(sorted(set(text)))
    test = CharDataset(held_out, block_size, characters, block_size - context, context)
    return CharDataset(read, block_size, characters), test


def mean_loss(model: GPT, data: CharDataset) -> float:
    """The mean cross-entropy of the targets that are asked, in nats."""
    with evaluating(model):
        shares = [next_token(model, batch) for batch in DataLoader(data, 64)]
    return sum(float(total.item()) for total, _ in shares) / sum(count for _, count in shares)


# Writing


def continued(model: GPT, data: CharDataset, prompt: str, length: int, seed: int = 0) -> str:
    """The prompt and `length` more characters, each drawn from the ten likeliest."""
    idx = Tensor(data.encode(prompt)[None])
    drawn = model.generate(idx, length, do_sample=True, top_k=10, generator=Generator(seed))
    return data.decode(drawn[0])


# The program


def parser() -> Parser:
    made = options(
        "chargpt", __doc__, steps=6000, model="gpt-micro", batch=16, lr=2e-3, dropout=0.1, every=250, shards=2
    )
    made.add_argument("--block", type=at_least_one, default=128, help="characters that it looks back on")
    made.add_argument("--prompt", help="what samples begin with; the text's first line, if not given")
    text = made.add_mutually_exclusive_group()
    text.add_argument("--file", type=Path, help="a text to read, in UTF-8")
    text.add_argument("--shakespeare", type=Path, metavar="FOLDER", help="tiny Shakespeare, kept there")
    return made


def read(args: argparse.Namespace) -> str:
    """The text that the options name: Python's manual where they name none."""
    if args.shakespeare:
        return shakespeare(args.shakespeare)
    try:
        return str(args.file.read_text(encoding="utf-8")) if args.file else topics()
    except UnicodeDecodeError as error:
        raise ValueError(f"{args.file} is no text in UTF-8 ({error.reason}, byte {error.start})") from None


def run(args: argparse.Namespace) -> tuple[Samples, dict[str, int | float]]:
    """Train and test; the samples, and the figures."""
    text = read(args)
    train, test = split(text, args.block)
    prompt = args.prompt or text.partition("\n")[0][: args.block] or "\n"
    train.encode(prompt)  # raises now, rather than after the first steps
    model, samples = trained(
        args, train, test, len(train.characters), lambda model: continued(model, train, prompt, 200)
    )
    return samples, {
        "nats": samples.held_out[-1],
        "held_out_characters": test.tensors[1].numel(),
        "context": args.block // 2,
        "nats_in_context": mean_loss(model, split(text, args.block, args.block // 2)[1]),
        "parameters": model.num_parameters(),
    }


def main(argv: list[str] | None = None) -> None:
    last_line = (
        "chargpt: {nats:.4f} nats per character on {held_out_characters:,} held-out characters; "
        "{nats_in_context:.4f} where at least {context} stand before each"
    )
    started(parser(), run, last_line, argv)


if __name__ == "__main__":
    main()
