"""Byte-pair encoding: merges, numbers of tokens, bytes, files, and what each mistake is told."""

from __future__ import annotations

import json
import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minilib import bpe
from minilib.bpe import (
    BPETokenizer,
    Encoder,
    bytes_to_unicode,
    merge_by_rank,
    merge_long,
    pieces,
    train,
    visible,
)
from minilib.data import topics
from minilib.tensor import tensor

TEXT = topics()[:30_000]
ENCODER = Encoder.train(TEXT, 700)
END = ENCODER.encoder["<|endoftext|>"]


# Bytes and pieces


def test_every_byte_has_a_character_of_its_own_that_one_can_see():
    characters = bytes_to_unicode()
    assert sorted(characters) == [*range(256)]
    assert len(set(characters.values())) == 256
    assert all(c.isprintable() and not c.isspace() for c in characters.values())


def test_the_byte_characters_are_those_of_gpt_2():
    """By hand from GPT-2's encoder.json: "!" is 0, "~" is 93, Ġ (space) is 220, Ċ (newline) is 198."""
    ordered = sorted(bytes_to_unicode().values())
    assert [ordered.index(c) for c in "!~Ġ"] == [0, 93, 220]
    assert ordered.index("Ċ") == 198
    assert visible(b"A \n\x00\xff") == "AĠĊĀÿ"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello world", ["Hello", " world"]),
        ("it's we'll I'M", ["it", "'s", " we", "'ll", " I", "'", "M"]),
        ("in 2024, x=3.14", ["in", " 2024", ",", " x", "=", "3", ".", "14"]),
        ("a   b", ["a", "  ", " b"]),
        ("a \n\n b  ", ["a", " \n\n", " b", "  "]),
        ("dog.dog!", ["dog", ".", "dog", "!"]),
        ("où 東京 ½", ["où", " 東京", " ½"]),
        ("", []),
    ],
)
def test_pieces_are_cut_as_gpt_2_cuts_them(text, expected):
    assert pieces(text) == expected


@given(st.text())
def test_pieces_joined_are_the_text(text):
    assert "".join(pieces(text)) == text


# Training


def recounted(text, vocab_size):
    """The rule of `train` said another way: count everything again for each merge."""
    words = Counter(tuple(visible(piece.encode())) for piece in pieces(text))
    age = {c: i for i, c in enumerate(sorted(bytes_to_unicode().values()))}
    merges = []
    while len(age) < vocab_size:
        counts = Counter()
        for word, times in words.items():
            for pair in pairwise(word):
                counts[pair] += times
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], age[pair[0]], age[pair[1]]))
        merges.append(best)
        age["".join(best)] = len(age)
        after = Counter()
        for word, times in words.items():
            after[tuple(bpe.merged(word, best, "".join(best)))] += times
        words = after
    return merges


def test_the_example_of_the_paper():
    """low x 5, lower x 2, newest x 6, widest x 3: es, est come first. arXiv:1508.07909, figure 1."""
    text = " low" * 5 + " lower" * 2 + " newest" * 6 + " widest" * 3
    made = train(text, 256 + 4)
    assert made[:2] == [("e", "s"), ("es", "t")]
    assert ("l", "o") in made


def test_of_equal_counts_the_older_tokens_go_first():
    assert train("ba ab", 257) == [("a", "b")]
    assert train("aa aa bab bab", 258)[0] == ("a", "a")


@pytest.mark.parametrize("text", ["aaaa aaa aaaaa", "abababab", "=" * 79 + "\n" + "=" * 50, TEXT[:5000]])
def test_training_equals_counting_everything_again(text):
    assert train(text, 340) == recounted(text, 340)


@given(st.text(alphabet="ab '\né", max_size=60), st.integers(256, 290))
def test_training_equals_counting_everything_again_on_drawn_texts(text, vocab_size):
    assert train(text, vocab_size) == recounted(text, vocab_size)


def test_several_texts_are_counted_together_and_never_joined():
    assert train(["ab", "ab", "cd"], 257) == [("a", "b")]
    assert train(["a", "b"] * 5, 300) == []
    assert train(iter(["the cat", " the hat"]), 262) == train("the cat the hat", 262)


def test_training_stops_where_no_pair_is_left():
    assert train("abc", 1000) == [("a", "b"), ("ab", "c")]
    assert train("", 1000) == train([], 1000) == train("abc", 256) == []


def test_a_token_never_holds_the_end_of_one_word_and_the_start_of_the_next():
    assert not [token for token in ENCODER.encoder if "Ġ" in token.lstrip("ĠĊ")]


# Encoding and decoding


@given(st.text())
def test_decoding_undoes_encoding(text):
    assert ENCODER.decode(ENCODER.encode(text)) == text


@given(st.binary())
def test_any_bytes_come_back(data):
    assert ENCODER.decode_bytes(ENCODER.encode_bytes(data)) == data


@given(st.text())
def test_the_bytes_of_a_text_have_the_numbers_of_the_text(text):
    assert ENCODER.encode_bytes(text.encode()) == ENCODER.encode(text)


@given(st.lists(st.integers(0, len(ENCODER) - 1)))
def test_any_numbers_have_a_text(ids):
    assert ENCODER.decode(ids) == ENCODER.decode_bytes(ids).decode(errors="replace")


@given(st.text(alphabet="etaoin abc", max_size=200))
def test_the_queue_for_long_words_gives_the_same_tokens(text):
    word = visible(text.encode())
    assert merge_long(word, ENCODER.bpe_ranks) == merge_by_rank(word, ENCODER.bpe_ranks)


@pytest.mark.parametrize("word", ["a" * 63, "=" * 200, "ab" * 99 + "a", "-" * 64])
def test_long_runs_too(word):
    ranks = {pair: i for i, pair in enumerate(train(word, 300))}
    assert merge_long(word, ranks) == merge_by_rank(word, ranks)


def test_a_long_word_takes_no_quadratic_time():
    """100,000 letters without a space: the plain way looks at billions of pairs."""
    word = "".join(np.random.default_rng(0).choice(list("etaoinshrdlu"), 100_000))
    assert ENCODER.decode(ENCODER.encode(word)) == word


def test_merges_are_made_by_rank_and_not_from_left_to_right():
    encoder = Encoder.from_merges([("b", "c"), ("a", "b")])
    assert encoder.encode("abc") == [ord("a") - 33, 256]


def test_the_numbers_of_gpt_2s_bytes():
    """Without merges, by GPT-2's encoder.json: H 39, e 68, l 75, o 78, space 220, newline 198."""
    encoder = Encoder.from_merges([])
    assert encoder.encode("Hello \n") == [39, 68, 75, 75, 78, 220, 198]
    assert encoder.encoder["<|endoftext|>"] == 256 and len(encoder) == 257


def test_encoding_twice_gives_the_same_from_the_cache():
    encoder = Encoder.from_merges(ENCODER.bpe_merges)
    first = encoder.encode(TEXT)
    first_again = list(first)
    first.clear()
    assert encoder.encode(TEXT) == first_again == ENCODER.encode(TEXT)


def test_the_end_of_text_is_thirteen_characters_unless_one_asks():
    text = "one<|endoftext|>two<|endoftext|>"
    one, two = ENCODER.encode("one"), ENCODER.encode("two")
    assert END not in ENCODER.encode(text)
    assert ENCODER.encode(text, special=True) == [*one, END, *two, END]
    assert ENCODER.decode(ENCODER.encode(text)) == ENCODER.decode([*one, END, *two, END]) == text


def test_half_a_character_is_shown_as_unknown():
    first, *_ = ENCODER.encode_bytes("é".encode()[:1])
    assert ENCODER.decode([first]) == "\ufffd"
    assert ENCODER.decode_bytes([first]) == b"\xc3"


def test_the_work_is_shown_with_the_keys_of_mingpt():
    work = ENCODER.encode_and_show_work("the dog's 東")
    assert work["bpe_idx"] == ENCODER.encode("the dog's 東")
    assert work["tokens"] == ["the", " dog", "'s", " 東"]
    last = work["parts"][-1]
    assert list(last) == ["token", "token_bytes", "token_translated", "token_merged", "token_ix"]
    assert last["token_bytes"] == " 東".encode()
    assert "".join(last["token_merged"]) == last["token_translated"] == visible(" 東".encode())
    assert [i for part in work["parts"] for i in part["token_ix"]] == work["bpe_idx"]


def test_the_tokenizer_makes_a_batch_of_one():
    tokenizer = BPETokenizer(ENCODER)
    idx = tokenizer("the dog")
    assert idx.dtype == np.int64 and idx.shape == (1, len(ENCODER.encode("the dog")))
    assert tokenizer.decode(idx[0]) == tokenizer.decode(tensor(idx[0])) == "the dog"


# Files


def test_what_was_saved_is_loaded(tmp_path):
    ENCODER.save(tmp_path / "new" / "folder")
    loaded = Encoder.from_pretrained(str(tmp_path / "new" / "folder"))
    assert loaded.encoder == ENCODER.encoder and loaded.bpe_merges == ENCODER.bpe_merges
    assert loaded.encode(TEXT) == ENCODER.encode(TEXT)


def test_each_of_the_three_forms_is_enough(tmp_path):
    ENCODER.save(tmp_path / "all")
    forms = [
        {"vocab.json": "vocab.json", "merges.txt": "merges.txt"},
        {"vocab.json": "encoder.json", "merges.txt": "vocab.bpe"},
        {"tokenizer.json": "tokenizer.json"},
    ]
    for i, names in enumerate(forms):
        folder = tmp_path / str(i)
        folder.mkdir()
        for name, other in names.items():
            (folder / other).write_bytes((tmp_path / "all" / name).read_bytes())
        loaded = Encoder.from_pretrained(folder)
        assert (loaded.encoder, loaded.bpe_merges) == (ENCODER.encoder, ENCODER.bpe_merges)


def test_a_merge_of_hashes_is_no_comment(tmp_path):
    encoder = Encoder.from_merges([("#", "#"), ("##", "##")])
    encoder.save(tmp_path)
    (tmp_path / "merges.txt").write_text("# #\n## ##\n")  # without the line of the version
    assert Encoder.from_pretrained(tmp_path).bpe_merges == encoder.bpe_merges


def test_a_name_is_looked_up_on_the_hub(tmp_path, monkeypatch):
    ENCODER.save(tmp_path)
    asked = []

    class Hub:
        @staticmethod
        def hf_hub_download(name, file):
            asked.append((name, file))
            return str(tmp_path / file)

    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub)
    assert bpe.get_encoder().encoder == ENCODER.encoder
    assert asked == [("gpt2", "vocab.json"), ("gpt2", "merges.txt")]


# What each mistake is told


def broken(folder, file, text):
    ENCODER.save(folder)
    (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    return Encoder.from_pretrained(folder)


TOKENS = Encoder.from_merges([("a", "b")]).encoder
MISTAKES = {
    "bytes to encode": (lambda _: ENCODER.encode(b"ab"), TypeError, "not bytes; encode_bytes takes"),
    "None to encode": (lambda _: ENCODER.encode(None), TypeError, "encode: needs a str, not NoneType"),
    "a str to encode_bytes": (lambda _: ENCODER.encode_bytes("ab"), TypeError, "needs bytes, not str"),
    "a lone surrogate": (
        lambda _: ENCODER.encode("ab\ud800c"), ValueError, r"character 2 is a lone .*'\\ud800'"
    ),
    "a surrogate to train": (lambda _: train("\udc80", 300), ValueError, "train: character 0 is a lone surr"),
    "a number that is too large": (
        lambda _: ENCODER.decode([3, len(ENCODER)]), IndexError, "701 is no token: .*from 0 to 700"
    ),
    "a number below zero": (lambda _: ENCODER.decode([-1]), IndexError, "-1 is no token"),
    "a batch to decode": (lambda _: ENCODER.decode([[1, 2]]), TypeError, "decode row by row"),
    "an array of two axes": (lambda _: ENCODER.decode(np.zeros((1, 2), int)), TypeError, "decode row by row"),
    "a small vocabulary": (lambda _: train("ab", 255), ValueError, "at least 256.* not 255"),
    "numbers to train on": (lambda _: train([1, 2], 300), TypeError, "train: needs a str, not int"),
    "a merge of what nobody makes": (
        lambda _: Encoder.from_merges([("a", "bc")]), ValueError, "merge 0.*no merge .* makes 'bc'"
    ),
    "merges in the wrong order": (
        lambda _: Encoder.from_merges([("ab", "c"), ("a", "b")]), ValueError, "merge 0.*no merge before.*'ab'"
    ),
    "one merge twice": (lambda _: Encoder.from_merges([("a", "b")] * 2), ValueError, "stands there twice"),
    "a merge of three": (lambda _: Encoder(TOKENS, [("a", "b", "c")]), ValueError, "a merge is two tokens"),
    "a merge without its token": (
        lambda _: Encoder(TOKENS, [("a", "b"), ("ab", "c")]), ValueError, "'abc', which is not in"
    ),
    "no bytes": (lambda _: Encoder({"a": 0}, []), ValueError, "lacks 255 of the 256 byte characters"),
    "two tokens of one number": (lambda _: Encoder({**TOKENS, "c": 0}, []), ValueError, "one number for two"),
    "a number that is none": (lambda _: Encoder({**TOKENS, "c": "x"}, []), ValueError, "token of number 'x'"),
    "a folder that is not there": (
        lambda tmp: Encoder.from_pretrained(tmp / "none"), FileNotFoundError, "there is no folder"
    ),
    "an empty folder": (lambda tmp: Encoder.from_pretrained(tmp), FileNotFoundError, "has no vocab.json"),
    "no JSON": (lambda tmp: broken(tmp, "vocab.json", "{"), ValueError, "vocab.json: line 1 is no JSON"),
    "a list for a vocabulary": (lambda tmp: broken(tmp, "vocab.json", "[]"), ValueError, "holds a list, not"),
    "merges cut off": (lambda tmp: broken(tmp, "merges.txt", "#version\nĠ"), ValueError, "merge 0 is"),
    "no UTF-8": (lambda tmp: broken(tmp, "merges.txt", b"\xff\xfe"), ValueError, "merges.txt: it is no text"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_one_line(mistake, tmp_path):
    make, error, message = MISTAKES[mistake]
    with pytest.raises(error, match=message) as caught:
        make(tmp_path)
    assert type(caught.value) is error and "\n" not in str(caught.value)


def test_another_kind_of_tokenizer_is_refused(tmp_path):
    other = {"model": {"type": "WordPiece", "vocab": {}}, "pre_tokenizer": {"type": "Whitespace"}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(other))
    with pytest.raises(ValueError, match="it is WordPiece after Whitespace, not BPE over bytes"):
        Encoder.from_pretrained(tmp_path)


def test_a_name_without_the_hub_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match=r"'gpt2' is no folder.*pip install huggingface_hub"):
        Encoder.from_pretrained("gpt2")
