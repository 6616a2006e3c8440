"""Chapter 06a, graded: wrong answers earn their hints, other right answers all points. And its figures."""

from __future__ import annotations

import json

from graded import COURSE, Exercises, ExerciseTests

from benchmarks import bpe
from coursekit import notebooks
from coursekit.pictures import draw_melting

# Right answers by another way than the reference's.
OTHERS = {
    "6.1": """
def pair_counts(words):
    row = [(pair, times) for word, times in words.items() for pair in zip(word, word[1:])]
    return Counter({pair: sum(n for other, n in row if other == pair) for pair, _ in row})
""",
    "6.2": """
def train(texts, vocab_size):
    if vocab_size < 256:
        raise ValueError("a vocabulary holds 256 bytes")
    words = {tuple(visible(piece.encode())): n for piece, n in count_pieces(texts).items()}
    age = {token: i for i, token in enumerate(sorted(BYTE_OF))}
    merges = []
    while len(age) < vocab_size:
        counts = Counter()
        for word, n in words.items():
            for pair in zip(word, word[1:]):
                counts[pair] += n
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], age[pair[0]], age[pair[1]]))
        merges.append(best)
        age[best[0] + best[1]] = len(age)
        words = {tuple(merged(word, best, best[0] + best[1])): n for word, n in words.items()}
    return merges
""",
    "6.3": """
def merge_by_rank(word, ranks):
    word = list(word)
    for pair in sorted(ranks, key=ranks.get):
        i = 0
        while i < len(word) - 1:
            if (word[i], word[i + 1]) == pair:
                word[i : i + 2] = ["".join(pair)]
            i += 1
    return word
""",
    "6.4": """
def shown(tokens):
    texts, waiting = [], b""
    for token in tokens:
        waiting += token
        keep = 0
        for n in range(1, min(4, len(waiting) + 1)):
            last = waiting[-n:]
            if last[0] >= 0xC0:
                try:
                    last.decode()
                except UnicodeDecodeError as error:
                    keep = n if error.reason == "unexpected end of data" else 0
                break
        texts.append(waiting[: len(waiting) - keep].decode(errors="replace"))
        waiting = waiting[len(waiting) - keep :]
    return [*texts, waiting.decode(errors="replace")]
""",
    "6.5": """
@add_to(Embedding)
def backward(self, grad):
    rows, width = self.inputs[0].shape
    one_hot = (self.saved[0].reshape(-1, 1) == np.arange(rows)).astype(grad.dtype)
    if self.padding_idx is not None:
        one_hot[:, self.padding_idx] = 0
    return one_hot.T @ grad.reshape(-1, width)
""",
    "6.6": """
def fewest(text, vocabulary):
    reached, ways = {0: ()}, [0]
    while len(text) not in reached:
        after = []
        for i in ways:
            for n in range(1, max(map(len, vocabulary)) + 1):
                if i + n <= len(text) and i + n not in reached and text[i : i + n] in vocabulary:
                    reached[i + n] = (i,)
                    after.append(i + n)
        ways = after
    tokens, i = [], len(text)
    while i:
        (j,) = reached[i]
        tokens.append(text[j:i])
        i = j
    return tokens[::-1]
""",
}


class TestExercises(ExerciseTests):
    exercises = Exercises("06a_tokens", OTHERS)


def lesson():
    return notebooks.read(COURSE.chapters / "06a_tokens.ipynb")


def test_the_lesson_shows_what_was_recorded():
    rows = json.loads(bpe.RESULTS.read_text())["rows"]
    assert bpe.table(rows) in "\n".join(cell.source for cell in lesson().cells)


def test_the_recorded_rows_are_of_the_same_numbers_and_training_takes_seconds():
    recorded = json.loads(bpe.RESULTS.read_text())
    assert recorded["text"]["characters"] == 1_000_000 and len(recorded["text"]["sha256"]) == 64
    seconds = {(row["library"], row["task"]): row["seconds"] for row in recorded["rows"]}
    assert seconds["minilib", "train"] < 5
    assert seconds["minilib", "fresh"] < seconds["mingpt", "fresh"]


def test_the_text_of_the_benchmark_has_a_million_characters_and_words_in_cipher():
    text = bpe.megabyte()
    assert len(text) == 1_000_000
    assert "The statement" in text and "Uif tubufnfou" in text and "Vjg uvcvgogpv" in text


def test_the_slider_of_the_lesson_has_every_state_and_a_still_in_one_output():
    picture = draw_melting("abc <abd>", [("a", "b"), ("x", "y"), ("ab", "c")])
    assert [k for k, _ in picture.steps] == [0, 1, 3]
    assert picture.steps[-1][1] == ("abc", " ", "<", "ab", "d", ">")
    data, metadata = picture._repr_mimebundle_()
    assert "<output>3</output>" in data["text/html"] and "&lt;" in data["text/html"]
    assert data["image/png"] and metadata["image/png"]["alt"] == picture.alt
    (shown,) = (o for c in lesson().cells for o in c.get("outputs", []) if "<script>" in str(o.get("data")))
    assert "image/png" in shown.data and shown.metadata["image/png"]["alt"]
