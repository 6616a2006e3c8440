"""No chapter gives away what it asks for: not in its hints, nor in the cells before a prediction."""

from __future__ import annotations

import html
import math
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from coursekit import notebooks
from coursekit.notebooks import Cell

ROOT = Path(__file__).parents[2]


def read(path: Path) -> list[Cell]:
    return notebooks.cells(path, notebooks.read(path))


# Hints. There are three: a question, the idea, and the first line. The first two tell no line of the answer,
# and all three together no more than TOLD of it.

TOLD = 0.4
RUN = 6  # tokens in a row that are the same in hint and answer: fewer are in both by chance
TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass
class Asked:
    """An exercise: its hints as plain text, what it shows besides, and the lines of its answer."""

    number: str
    hints: list[str]
    shown: str
    answer: list[str]


def tokens(text: str) -> list[str]:
    return TOKEN.findall(re.sub(r"(?m)(?<!\w)(?:#|//).*$", "", text))


def exercises(path: Path) -> list[Asked]:
    found: list[Asked] = []
    for cell in read(path):
        heading = None if cell.is_code else re.search(r"(?m)^### (\d+\.\d+) ", cell.source)
        if heading:
            hints = re.findall(r"(?s)<details><summary>.*?</summary>(.*?)</details>", cell.source)
            plain = [html.unescape(re.sub(r"</?\w+>", " ", hint)) for hint in hints]
            found.append(Asked(heading[1], plain, re.sub(r"(?s)<details>.*?</details>", "", cell.source), []))
        elif found and cell.is_answer:
            solution = r"(?s)BEGIN SOLUTION\n(.*?)(?:#+|//) END SOLUTION"
            found[-1].answer += [
                line for part in re.findall(solution, cell.source) for line in part.splitlines()
            ]
            found[-1].shown += re.sub(solution, "", cell.source)
        elif found and cell.is_code and not cell.is_hidden_test:
            found[-1].shown += "\n" + cell.source
    return found


def is_told(line: str, text: str) -> bool:
    """Whether a line of an answer stands in a text, however it is spaced."""
    code = "".join(tokens(line))
    return len(tokens(line)) >= RUN and code in "".join(TOKEN.findall(text))


def share_told(asked: Asked) -> float:
    """The share of the answer's tokens that some hint has in the same order, RUN or more in a row."""
    answer = tokens("\n".join(asked.answer))
    told: set[int] = set()
    for hint in asked.hints:
        blocks = SequenceMatcher(None, tokens(hint), answer, autojunk=False).get_matching_blocks()
        for block in blocks:
            if block.size >= RUN:
                told |= {*range(block.b, block.b + block.size)}
    return len(told) / max(len(answer), 1)


SOLUTIONS = [asked for path in sorted((ROOT / "solutions").glob("*.ipynb")) for asked in exercises(path)]


@pytest.mark.parametrize("asked", SOLUTIONS, ids=lambda asked: asked.number)
def test_no_hint_prints_the_answer(asked: Asked) -> None:
    assert len(asked.hints) == 3 and asked.answer
    secret = [line for line in asked.answer if not is_told(line, asked.shown)]
    assert [line for line in secret if is_told(line, " ".join(asked.hints[:2]))] == []
    assert share_told(asked) <= TOLD


@pytest.mark.parametrize(
    ("hint", "share"),
    [
        ("Begin with <code>a = first(x, y)</code>", 0.5),
        ("a=first( x,y )  # spaced otherwise", 0.5),
        ("a, then b", 0.0),
        ("a = first(x, y), then return a + second(x)", 1.0),
    ],
)
def test_what_a_hint_tells_is_measured(hint: str, share: float) -> None:
    answer = ["    a = first(x, y)", "    return a + second(x)  # why"]
    assert abs(share_told(Asked("1.1", [hint], "", answer)) - share) < 0.06
    assert is_told(answer[0], hint) == (share > 0)


# Predictions. What a cell with the tag `predict` prints stands in no earlier cell and not in its own. Sizes
# are no answers, nor is what the cell's own code is given. A picture says its labels in words too: of its
# numbers only those count that the cell's own code tells, as shares.

NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
TIME = re.compile(r"\*\*Time\*\*: .*")  # minutes are counted by `coursekit stamp`, and change


def numbers(text: str) -> set[float]:
    return {float(found.replace(",", "")) for found in NUMBER.findall(text)}


def is_size(number: float) -> bool:
    """A number of one digit, or a power of two or of ten."""
    powers = {math.log2(number) % 1, math.log10(number) % 1} if number else {0}
    return number in range(10) or 0 in powers


def printed(cell: Cell) -> str:
    outputs = cell.node.get("outputs", [])
    return "\n".join(o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs)


def answers(cell: Cell) -> set[float]:
    """The numbers that a cell prints and is not given."""
    return {n for n in numbers(printed(cell)) - numbers(cell.source) if not is_size(n)}


def is_same(told: float, answer: float) -> bool:
    """A share may be told as 0.847 and asked for as 85 %."""
    return told == answer or (0 < told < 1 and answer in {round(100 * told, digits) for digits in (0, 1, 2)})


def given_away(cell: Cell, earlier: list[Cell]) -> list[str]:
    """Where an answer to a prediction can be read before the cell has run, each in words."""
    asked, found = answers(cell), []
    is_picture = any("image/png" in output.get("data", {}) for output in cell.node.get("outputs", []))
    for one in [cell] if is_picture else [*earlier, cell]:
        text = one.source if one is cell else TIME.sub("", one.source) + "\n" + printed(one)
        for answer in asked:
            if any(is_same(told, answer) for told in numbers(text)):
                found.append(f"{answer:g} stands in {one.where()}")
    return found


@pytest.mark.parametrize("path", sorted((ROOT / "chapters").glob("*.ipynb")), ids=lambda path: path.stem)
def test_what_is_to_be_predicted_stands_in_no_earlier_cell(path: Path) -> None:
    lesson = read(path)
    predictions = [k for k, cell in enumerate(lesson) if "predict" in cell.node.metadata.get("tags", [])]
    assert [given_away(lesson[k], lesson[:k]) for k in predictions] == [[] for _ in predictions]
