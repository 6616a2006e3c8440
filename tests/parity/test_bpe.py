"""Byte-pair encoding beside Hugging Face's `tokenizers`: the same merges and numbers, files both ways."""

from __future__ import annotations

import json
import random

import pytest

from minilib.bpe import Encoder, train
from minilib.data import topics

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is missing: `make test-all` installs it")
ByteLevel = tokenizers.pre_tokenizers.ByteLevel

PROSE = topics()
MIXED = (
    "It's we'll they've I'd 1999 3.14159 naïve café Ångström straße Москва Привет 東京タワー 你好世界 "
    "안녕하세요 שלום مرحبا नमस्ते สวัสดี 👩‍👩‍👧‍👦 e\u0301 o\u0308\u0323 \t\n\n   \r\n x=y==z!!! http://a.b/c?d=e "
) * 20
# What a drawn string is made of.
KINDS = [
    list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    list("0123456789²½٣४"),
    ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "\u2019s"],
    [" ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u3000", "\u2003", "\u2028"],
    list('!?.,;:-_=+*/()[]{}<>@#$%^&|~`"\\'),
    list("éüñçøßæœłžąğıİ") + list("абвгдежзЖЯ") + list("αβγδΩ"),
    list("東京都日本語漢字你好世界中文") + list("あいうえおアイウ") + list("한국어안녕"),
    list("שלוםمرحبا") + list("नमस्तेสวัสดี"),
    ["e\u0301", "a\u0308\u0323", "\u0301", "\u200d", "\ufe0f", "\u20e3"],
    ["😀", "🎉", "👩‍👩‍👧‍👦", "🇫🇷", "👍🏽", "❤️"],
    [chr(c) for c in (0, 1, 7, 8, 27, 0x7F, 0x80, 0x9F, 0xAD, 0xFEFF)],
    ["the", " of", "ing", "Python", " class", "<|endoftext|>", "<|end"],
]


def drawn(seed):
    numbers = random.Random(seed)
    kinds = numbers.sample(KINDS, numbers.randint(1, 5))
    return "".join(numbers.choice(numbers.choice(kinds)) for _ in range(numbers.randint(0, 80)))


def trained(texts, vocab_size):
    """Their trainer with our start, the 256 byte characters."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab_size, initial_alphabet=ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def merges_of(tokenizer):
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [tuple(m.split(" ") if isinstance(m, str) else m) for m in merges]


@pytest.fixture(scope="module")
def encoder():
    return Encoder.train([PROSE, MIXED], 2256)


@pytest.fixture(scope="module")
def theirs(encoder):
    """Their encoder of our vocabulary and merges, put together by hand."""
    vocab = {token: i for token, i in encoder.encoder.items() if token != "<|endoftext|>"}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=encoder.bpe_merges))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer


@pytest.mark.parametrize(
    ("texts", "vocab_size"),
    [([PROSE], 2256), ([MIXED], 600), ([PROSE[:20_000], MIXED], 1500), (["aaaa aaa aa", "=" * 99], 300)],
    ids=["prose", "mixed", "both", "runs"],
)
def test_training_gives_their_merges_and_numbers(texts, vocab_size):
    theirs = trained(texts, vocab_size)
    ours = train(texts, vocab_size)
    assert ours == merges_of(theirs)
    encoder = Encoder.from_merges(ours).encoder
    del encoder["<|endoftext|>"]
    assert encoder == theirs.get_vocab()


def test_training_on_drawn_strings_gives_their_merges():
    for seed in range(20):
        texts = [drawn(100 * seed + k) for k in range(30)]
        assert train(texts, 400) == merges_of(trained(texts, 400)), seed


def test_a_thousand_drawn_strings_have_their_numbers(encoder, theirs):
    for seed in range(1000):
        text = drawn(seed)
        ids = theirs.encode(text).ids
        assert encoder.encode(text) == ids, (seed, text)
        assert encoder.decode(ids) == text == theirs.decode(ids)


def test_prose_has_their_numbers(encoder, theirs):
    assert encoder.encode(PROSE) == theirs.encode(PROSE).ids


def test_half_characters_are_decoded_as_they_do(encoder, theirs):
    numbers = random.Random(0)
    for _ in range(200):
        ids = [numbers.randrange(256) for _ in range(12)]
        assert encoder.decode(ids) == theirs.decode(ids)


def test_their_library_reads_our_files(encoder, tmp_path):
    encoder.save(tmp_path)
    whole = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    pair = tokenizers.ByteLevelBPETokenizer.from_file(
        str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")
    )
    for seed in range(100):
        text = drawn(seed)
        assert whole.encode(text).ids == encoder.encode(text, special=True)
        assert pair.encode(text.replace("<|endoftext|>", "")).ids == encoder.encode(
            text.replace("<|endoftext|>", "")
        )


def test_we_read_their_files(theirs, encoder, tmp_path):
    theirs.save(str(tmp_path / "tokenizer.json"))
    ours = Encoder.from_pretrained(tmp_path)
    assert ours.bpe_merges == encoder.bpe_merges
    assert ours.encode(MIXED) == theirs.encode(MIXED).ids
