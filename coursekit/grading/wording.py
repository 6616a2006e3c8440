"""How much may be said of data that a student's process made: a choice of a few texts, never the data.

Feedback goes to the student, and the process that made the data has seen the hidden test: a shape, a count, a
distance or a word of an error that it may choose freely carries the test out. So numbers are rounded, shapes
are those that honest mistakes make of the expected one, and words come from lists of ours. What nobody has to
be kept from, on a learner's own machine or where the hidden tests are public, is told as it is (`own`).
"""

from __future__ import annotations

import ast
import builtins
import functools
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

EXACT = 20  # whole numbers up to here are told as they are, and powers of two
LARGEST = 10**6  # and rounded ones up to here
STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)  # in each decade
FEW = 16  # numbers of the reference's own that a judge may quote
SENTENCES = 128  # of one form that the words of an answer can make, or they are not told

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
_TWICE = re.compile(r"\babout (about|less|more|fewer|…)")
_WORD = re.compile(r"[^\W\d]\w*")


# Numbers


def distance(value: float, own: bool) -> str:
    """How far two numbers are apart: "about 0.01"."""
    if value >= 1e100:
        return "more than 1e100" if own else "more than 1,000"
    if own:
        return f"{value:.2g}"
    if not 3e-5 <= value < 3e3:
        return "less than 0.0001" if value < 1 else "more than 1,000"
    power = min(3, max(-4, round(math.log10(value))))
    return f"about {10.0**power:,.{max(0, -power)}f}"


def count(value: float) -> str:
    """A number in words that leave few to choose from: 7, about 300, more than 1,000,000."""
    if value > LARGEST:
        return f"more than {LARGEST:,}"
    if value == int(value) and (0 <= value <= EXACT or (int(value).bit_count() == 1 and value > 0)):
        return f"{int(value):,}"
    if value < EXACT:
        return "less than 0" if value < 0 else f"about {round(value)}" if value >= 0.5 else "less than 1"
    return f"about {_rounded(value):,}"


def _rounded(value: float) -> int:
    decade = 10 ** int(math.log10(value))
    return int(min((step * scale for scale in (decade, 10 * decade) for step in STEPS), key=_away(value)))


def _away(value: float) -> Callable[[float], float]:
    return lambda other: abs(other - value)


def quiet(text: str, ours: Iterable[float], words: Callable[[str], bool] | None = None) -> str:
    """`text` with one number at most that is not one of `ours`, rounded, and without words that are not.

    `words` says of a word whether it may stand.
    """
    known = set(ours)
    if words:
        text = _WORD.sub(lambda found: found[0] if words(found[0]) else "…", text)
    numbers = [_value(found[0]) for found in _NUMBER.finditer(text)]
    others = {value for value in numbers if value in known}
    told = iter([True])

    def instead(found: re.Match[str]) -> str:
        value = _value(found[0])
        if value in known:
            return found[0]
        return beside(value, others) if next(told, False) else "…"

    return _TWICE.sub(r"\1", _NUMBER.sub(instead, text))


def _value(text: str) -> float:
    return float(text.replace(",", "")) if len(text) < 300 else math.inf


def beside(value: float, others: set[float]) -> str:
    """A number in words that do not make it equal to one that stands beside it in the sentence."""
    said = count(value)
    same = next((other for other in others if count(other) == said and other != value), None)
    if same is None:
        return said
    return f"{'more' if value > same else 'fewer'} than {same:,.15g}"


def numbers_in(value: Any) -> list[float]:
    """Whole numbers of encoded data and the lengths of its lists, the outer ones first, few of them."""
    found: dict[float, None] = {}
    level = [value]
    while level and len(found) < FEW:
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict) and isinstance(one.get("int"), str):
                found[float(one["int"]) if len(one["int"]) < 300 else math.inf] = None
            elif isinstance(one, dict):
                found.update(dict.fromkeys(map(float, one.get("shape", ()))))
                below += [content for key, content in one.items() if key not in ("array", "shape")]
            elif isinstance(one, list):
                found[float(len(one))] = None
                below += one
            elif type(one) is str:
                found.update(dict.fromkeys(_value(number[0]) for number in _NUMBER.finditer(one)))
        level = below
    return list(found)[:FEW]


def words_in(text: str) -> list[str]:
    return _WORD.findall(text)


def texts_in(value: Any) -> Iterator[str]:
    """All texts in encoded data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts_in(one)


@functools.cache
def words_of(path: Path) -> frozenset[str]:
    """The words in the string literals of a file of ours: what it can say by itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = (one.value for one in ast.walk(tree) if isinstance(one, ast.Constant))
    return frozenset(word for text in texts if isinstance(text, str) for word in words_in(text))


def numbers_said(path: Path) -> Iterator[float]:
    """The numbers in the messages of a file of ours."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    documents = {id(one.value) for one in nodes if isinstance(one, ast.Expr)}
    for one in nodes:
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in documents:
            yield from (_value(number[0]) for number in _NUMBER.finditer(one.value))


# Shapes


def shape(expected: Sequence[int], got: Any, size: int, own: bool) -> str:
    """A shape in words: one that honest mistakes make of the `expected`, where it has `size` values."""
    axes = got if isinstance(got, list) and all(type(n) is int and n >= 0 for n in got) else None
    if own and axes is not None and len(axes) < 30:
        return str(tuple(axes))
    if axes is None or len(axes) > 8 or math.prod(axes) != size:
        return "another one"
    if any(tuple(axes) == known for known in _likely(tuple(expected))):
        return str(tuple(axes))
    return f"another one, of {len(axes)} ax{'i' if len(axes) == 1 else 'e'}s" if len(axes) < 5 else "another"


def _likely(expected: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Transposed, flat, with an axis lost, kept as 1 or added; added at an end also with a few numbers."""
    places = range(len(expected))
    yield from ((), (math.prod(expected),), expected[::-1])
    for i in places:
        yield expected[:i] + expected[i + 1 :]
        yield (*expected[:i], 1, *expected[i + 1 :])
        if i:
            yield (*expected[: i - 1], expected[i], expected[i - 1], *expected[i + 1 :])
    for i in range(len(expected) + 1):
        yield (*expected[:i], 1, *expected[i:])
    for n in range(2, 10):
        yield from ((n, *expected), (*expected, n))


# Errors


KINDS = {
    *("ArithmeticError", "AssertionError", "AttributeError", "EOFError", "FileNotFoundError", "IndexError"),
    *("FloatingPointError", "ImportError", "IndentationError", "KeyError", "LookupError", "MemoryError"),
    *("ModuleNotFoundError", "NameError", "NotImplementedError", "OSError", "OverflowError", "TypeError"),
    *("PermissionError", "RecursionError", "RuntimeError", "StopIteration", "SyntaxError", "SystemExit"),
    *("TabError", "UnboundLocalError", "UnicodeError", "ValueError", "ZeroDivisionError"),
}
_TYPES = ("NoneType", "int", "float", "str", "list", "tuple", "function", "ndarray")
_TYPE = f"'({'|'.join(_TYPES)})'"
_ABLE = "(callable|iterable|subscriptable)"
_CALL = r"(?:\w+\.)*(\w+)\(\)"
_FORMS = [  # of which error; its message; what is said of that; where the words in it may come from
    ("NameError", r"name '(\w+)' is not defined", "name '{}' is not defined", ["free"]),
    (
        "UnboundLocalError",
        r"cannot access local variable '(\w+)' where it is not",
        "'{}' is used before it has a value",
        ["bound"],
    ),
    ("ModuleNotFoundError", r"No module named '([\w.]+)'", "No module named '{}'", ["module"]),
    (
        "AttributeError",
        rf"{_TYPE} object has no attribute '(\w+)'",
        "'{}' object has no attribute '{}'",
        ["type", "attribute"],
    ),
    (
        "AttributeError",
        r"'\w+' object has no attribute '(\w+)'",
        "an object has no attribute '{}'",
        ["attribute"],
    ),
    ("TypeError", rf"{_TYPE} object is not {_ABLE}", "'{}' object is not {}", ["type", "able"]),
    (
        "TypeError",
        rf"unsupported operand type\(s\) for \S+(?: or pow\(\))?: {_TYPE} and {_TYPE}",
        "unsupported operand types: '{}' and '{}'",
        ["type", "type"],
    ),
    ("TypeError", rf"{_CALL} got an unexpected keyword", "{}() got an unexpected keyword argument", ["def"]),
    ("TypeError", rf"{_CALL} missing \d+ (?:required )?", "{}() misses an argument", ["def"]),
    ("TypeError", rf"{_CALL} takes (?:from )?\d+", "{}() was given too many arguments", ["def"]),
]
_FIXED = re.compile(
    r"(?:list|tuple|string) index out of range|division by zero|float division by zero"
    r"|math domain error|math range error|expected a (?:positive|nonnegative) input"  # so since 3.14
    r"|maximum recursion depth exceeded"
    r"|'[\[({]' was never closed|expected ':'|unterminated (?:triple-quoted )?(?:f-)?string literal"
    r"|invalid syntax|unexpected indent|expected an indented block|unmatched '[)\]}]'"
)
_OF_FIXED = {"IndexError", "ZeroDivisionError", "ValueError", "OverflowError", "RecursionError"}
_OF_FIXED |= {"SyntaxError", "IndentationError"}


def error(text: str, answer: str) -> str:
    """As much of an error as leaves few sentences to choose from, all of them made of the `answer`'s words.

    An exception's message is made in the student's process, beside the hidden test: it could hold its source.
    An answer with a dictionary in it, to pick words from, is told the exception's type alone.
    """
    kind, _, message = text.partition(": ")
    if kind not in KINDS:
        return "an exception that is not one of Python's usual ones"
    if kind in _OF_FIXED and (fixed := _FIXED.match(message)):
        return f"{kind}: {fixed[0]}"
    vocabulary = Vocabulary.of(answer)
    for raised, pattern, sentence, sources in _FORMS:
        found = re.match(pattern, message) if raised == kind else None
        if found and vocabulary.may(found, sources):
            return f"{kind}: {sentence.format(*found.groups())}"
    return text if text in vocabulary.messages else kind


class Vocabulary:
    """The words that an answer has for each part of a sentence."""

    def __init__(self, tree: ast.AST) -> None:
        nodes = list(ast.walk(tree))
        loaded = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
        arguments = {one.arg for one in nodes if isinstance(one, ast.arg)}
        stored = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        defined = {one.name for one in nodes if isinstance(one, ast.FunctionDef | ast.ClassDef)}
        self.words: dict[str, set[str]] = {
            "free": loaded - stored - arguments - defined - set(vars(builtins)),
            "bound": stored,
            "module": set(_modules(nodes)),
            "attribute": {one.attr for one in nodes if isinstance(one, ast.Attribute)},
            "def": defined,
            "type": set(_TYPES),
            "able": {"callable", "iterable", "subscriptable"},
        }
        said = {text for one in nodes for text in _raised(one)}
        self.messages = said if len(said) <= FEW else set()

    @staticmethod
    def of(answer: str) -> Vocabulary:
        try:
            return _vocabulary(answer)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return Vocabulary(ast.Module([], []))

    def may(self, found: re.Match[str], sources: Sequence[str]) -> bool:
        """Whether a sentence with the words `found` may be told."""
        words = [self.words[source] for source in sources]
        known = all(word in some for word, some in zip(found.groups(), words, strict=True))
        return known and math.prod(map(len, words)) <= SENTENCES


@functools.lru_cache(maxsize=64)
def _vocabulary(answer: str) -> Vocabulary:
    if len(answer) > 20_000:
        raise ValueError("too long to look at")
    source = "\n".join(line for line in answer.splitlines() if not line.lstrip().startswith(("%", "!")))
    return Vocabulary(ast.parse(textwrap.dedent(source)))


def _modules(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for one in nodes:
        if isinstance(one, ast.Import):
            yield from (alias.name for alias in one.names)
        elif isinstance(one, ast.ImportFrom):
            yield one.module or ""


def messages_of(source: str) -> set[str]:
    """What the assertions and raised errors of some Python of ours say, where they say it in plain words."""
    try:
        return {text for one in ast.walk(ast.parse(source)) for text in _raised(one)}
    except SyntaxError:
        return set()


def _raised(statement: ast.AST) -> Iterator[str]:
    """`ValueError: what it says`, of a statement that raises it in plain words."""
    if isinstance(statement, ast.Assert) and isinstance(statement.msg, ast.Constant):
        yield f"AssertionError: {statement.msg.value!s}"
    elif isinstance(statement, ast.Raise) and isinstance(statement.exc, ast.Call):
        name, words = statement.exc.func, statement.exc.args
        if isinstance(name, ast.Name) and len(words) == 1 and isinstance(words[0], ast.Constant):
            yield f"{name.id}: {words[0].value!s}"
