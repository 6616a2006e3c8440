"""A whole .cu file: what is for the GPU is taken, and host code is left aside.

`taken` keeps the places of all that it keeps: host code becomes blanks. Kernels and other functions for the
device are kept, and of types, constants and `using` those that they mention, and those that these mention.
What is found is a guess from the words of a source; whether it compiles, the front end says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from warplens.errors import Fault
from warplens.language import half, headers
from warplens.language.lexer import Token, tokens

_DEVICE = {"__global__", "__device__", "__constant__", "__shared__", "__managed__"}
_TYPES = {"struct", "class", "union", "enum", "typedef", "using", "static_assert", "namespace"}
_OPENING, _CLOSING = {"(", "[", "{"}, {")", "]", "}"}
_WITH_BRACKETS = {"__launch_bounds__", "__attribute__", "__align__", "alignas", "decltype", "noexcept"}
# Headers of CUDA for device code; all others that the front end does not know are for the host.
_OF_DEVICE = (
    "cooperative_groups",
    "cuda_bf16",
    "cuda_fp8",
    "mma.h",
    "curand_kernel",
    "cub/",
    "cuComplex",
    "cuda/",
)
# What tells a reader most clearly that lines are host code.
_TOLD = re.compile(
    r"\bmain\b|<<<|\bcuda(?:Stream_t|Event_t|Malloc|Memcpy|Free|DeviceSynchronize|Error_t)\b|\bstd::\w+"
)


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# Words that tell nothing, since every declaration may have them.
_KEYWORDS = {
    "auto", "bool", "char", "class", "const", "constexpr", "default", "double", "enum", "extern", "float",
    "inline", "int", "long", "private", "protected", "public", "return", "short", "signed", "size_t",
    "static", "struct", "typedef", "union", "unsigned", "using", "virtual", "void", "volatile",
}  # fmt: skip


@dataclass(eq=False)
class Item:
    """A directive, or a declaration at file scope.

    `kind`: "device", "help" (a type, a constant: for whom is open), "host", "directive", or "space" for the
    beginning and for the end of a namespace or of an extern "C" { }.
    """

    kind: str
    start: int
    end: int
    names: tuple[str, ...] = ()  # that it gives
    words: set[str] = field(default_factory=set)
    around: tuple[Item, ...] = ()  # the beginnings that it stands in; of an end, its own
    kernel: str = ""  # the name of a kernel that no extern "C" and no template stands before


@dataclass(frozen=True)
class Taken:
    """What is left of a source: `text` with blanks for host code, which was on `lines` and is `named` by what
    is best known of it. `kernels` are those that a GPU knows by their C++ names."""

    text: str
    lines: tuple[tuple[int, int], ...]
    named: tuple[str, ...]
    kernels: tuple[str, ...]

    @property
    def note(self) -> str:
        """Which lines were left aside."""
        shown = [str(a) if a == b else f"{a}-{b}" for a, b in self.lines[:12]]
        more = f" and {len(self.lines) - 12} more places" if len(self.lines) > 12 else ""
        what = f" ({', '.join(self.named)})" if self.named else ""
        one = len(self.lines) == 1 and self.lines[0][0] == self.lines[0][1]
        return f"host code and its includes{what} on line{'' if one else 's'} {', '.join(shown)}{more}"


def taken(source: str, expressions: Iterable[str] = ()) -> Taken | None:
    """What of a source is for the GPU; None where it has no kernel, or no host code. `expressions` name
    instances of templates that are asked for."""
    try:
        items = list(_items(source))
    except Fault:
        return None
    if not any(item.kind == "device" for item in items):
        return None
    kept = _needed(items, set(re.findall(r"\w+", " ".join(expressions))))
    aside = [item for item in items if item not in kept]
    if not aside:
        return None
    text = list(source)
    for item in aside:
        for i in range(item.start, item.end):
            text[i] = text[i] if text[i] == "\n" else " "
    for item in kept:  # also #if and #endif within what is left aside
        if item.kind == "directive":
            text[item.start : item.end] = source[item.start : item.end]
    left = "\n".join(source[item.start : item.end] for item in aside)
    return Taken(
        _with_headers(text, source, items),
        _lines(source, aside),
        named(left),
        tuple(dict.fromkeys(item.kernel for item in items if item.kernel)),
    )


def named(source: str) -> tuple[str, ...]:
    """What of a source tells most clearly that it is host code."""
    found = dict.fromkeys("<<<>>>" if word == "<<<" else word for word in _TOLD.findall(source))
    return tuple(found)[:6]


def _needed(items: Sequence[Item], asked: set[str]) -> set[Item]:
    """All for the device, and what it mentions, or is mentioned where an instance is asked for."""
    kept = {item for item in items if item.kind in ("device", "directive")}
    words = asked.union(*(item.words for item in kept))
    waiting = [item for item in items if item.kind == "help"]
    while found := [item for item in waiting if words.intersection(item.names)]:
        kept.update(found)
        words.update(word for item in found for word in item.words)
        waiting = [item for item in waiting if item not in kept]
    kept.update(space for item in list(kept) if item.kind != "directive" for space in item.around)
    kept.update(item for item in items if item.kind == "space" and kept.intersection(item.around[-1:]))
    return kept


def _lines(source: str, aside: Iterable[Item]) -> tuple[tuple[int, int], ...]:
    """The lines of what is left aside, with nothing but comments between as one range."""
    ranges: list[tuple[int, int]] = []
    end = 0
    for item in aside:
        first, last = (source.count("\n", 0, place) + 1 for place in (item.start, item.end))
        if ranges and not _COMMENT.sub("", source[end : item.start]).strip():
            ranges[-1] = ranges[-1][0], last
        else:
            ranges.append((first, last))
        end = item.end
    return tuple(ranges)


def _with_headers(text: list[str], source: str, items: Iterable[Item]) -> str:
    """The text with the headers of C that nvcc brings by itself, where one of the host was included."""
    words = sorted(set(re.findall(r"[A-Za-z_]\w*", "".join(text))))
    wanted = dict.fromkeys(line for word in words if (line := headers.include_for(word)))
    missing = [line for line in wanted if line not in source.split("\n")]
    conditions = 0
    for item in items:
        told = source[item.start : item.end]
        if item.kind == "directive":
            conditions += bool(re.match(r"#\s*if", told)) - bool(re.match(r"#\s*endif", told))
        elif item.kind in ("device", "help"):
            break
        elif told.startswith("#") and conditions == 0 and missing:
            text[item.start] = missing.pop(0)
    return "".join(text)


# ---------------------------------------------------------------------------------------------------- reading


def _items(source: str) -> Iterator[Item]:
    starts = [0, *(i + 1 for i, c in enumerate(source) if c == "\n")]

    def offset(token: Token) -> int:
        return starts[token.at.line - 1] + token.at.column - 1

    macros: set[str] = set()  # that stand for a word of the device
    piece: list[Token] = []
    depth, spaces = 0, list[Item]()
    at_if: list[int] = []
    for line in _logical_lines(tokens(source)[:-1]):
        if line[0].text == "#":
            start, end = offset(line[0]), offset(line[-1]) + len(line[-1].text)
            depth = _condition(line, depth, at_if)
            if len(line) > 2 and line[1].text == "define" and _DEVICE & {t.text for t in line[3:]}:
                macros.add(line[2].text)
            yield Item(_directive(line), start, end, words={t.text for t in line[1:] if t.kind == "name"})
            continue
        for token in line:
            piece.append(token)
            ends = token.text == ";" and depth == 0
            if token.text in _OPENING and token.kind == "mark":
                if token.text == "{" and depth == 0 and _opens_space(piece):
                    spaces.append(Item("space", offset(piece[0]), offset(token) + 1, around=tuple(spaces)))
                    yield spaces[-1]
                    piece = []
                    continue
                depth += 1
            elif token.text in _CLOSING and token.kind == "mark":
                if token.text == "}" and depth == 0 and spaces:
                    yield Item("space", offset(token), offset(token) + 1, around=tuple(spaces))
                    spaces.pop()
                    piece = []
                    continue
                depth = max(0, depth - 1)
                ends = token.text == "}" and depth == 0 and _is_function(piece)
            if ends:
                item = _item(piece, offset(piece[0]), offset(token) + len(token.text), macros)
                item.around = tuple(spaces)
                item.kernel = "" if spaces else item.kernel
                yield item
                piece = []
    if piece:
        yield Item("host", offset(piece[0]), offset(piece[-1]) + len(piece[-1].text))


def _logical_lines(stream: list[Token]) -> Iterator[list[Token]]:
    line: list[Token] = []
    for token in stream:
        if token.first and line:
            yield line
            line = []
        line.append(token)
    if line:
        yield line


def _condition(line: list[Token], depth: int, at_if: list[int]) -> int:
    """How deep in brackets the text goes on behind #if, #else, #endif: a branch begins as the first did."""
    word = line[1].text if len(line) > 1 else ""
    if word.startswith("if"):
        at_if.append(depth)
    elif word in ("else", "elif") and at_if:
        return at_if[-1]
    elif word == "endif" and at_if:
        at_if.pop()
    return depth


def _directive(line: list[Token]) -> str:
    """Whether a directive is kept: all but the headers of the host."""
    if len(line) < 2 or line[1].text != "include":
        return "directive"
    name = "".join(token.text for token in line[2:]).strip('<>"')
    device = name == half.HEADER or name.startswith(_OF_DEVICE)
    return "directive" if device or (headers.text(name) or "") else "host"


def _item(piece: list[Token], start: int, end: int, macros: set[str]) -> Item:
    """What a declaration is, and which names it gives."""
    words = {token.text for token in piece if token.kind == "name"}
    head = _without_template(piece)
    told = [token.text for token in head[: _body(head)]]
    if not told or told == [";"]:
        return Item("help", start, end)
    if (_DEVICE | macros) & set(told):
        named = _called(head) if "__global__" in told else ""
        plain = head is piece and '"C"' not in told
        return Item("device", start, end, words=words, kernel=named if plain else "")
    if told[:2] == ["using", "namespace"]:
        return Item("help", start, end, tuple(told[2:3]) if told[2:3] != ["std"] else ())
    if told[0] in _TYPES or "constexpr" in told or "const" in told or "#define" in told:
        if _is_function(piece) and "constexpr" not in told and told[0] not in _TYPES:
            return Item("host", start, end)
        return Item("help", start, end, _names(head), words)
    return Item("host", start, end)


def _names(head: list[Token]) -> tuple[str, ...]:
    """What a type, an alias, a constant or a constexpr function may be called by."""
    texts = [token.text for token in head]
    body = _body(head)
    found = [t.text for t in head[:body] if t.kind == "name"]
    if texts[0] == "enum" and "{" in texts:
        inside = head[texts.index("{") + 1 :]
        found += [t.text for before, t in zip([head[body], *inside], inside) if before.text in ("{", ",")]
    if texts[0] in ("typedef", "struct", "union", "class"):
        found += [token.text for token in head[-4:] if token.kind == "name"]
    for i, text in enumerate(texts[:-1]):  # const int M = 3, N = 4;
        if text == "," and head[i + 1].kind == "name":
            found.append(texts[i + 1])
    return tuple(name for name in found if name not in _KEYWORDS)


def _called(head: list[Token]) -> str:
    """The name of a function: what stands before its parameters."""
    for before, token, then in zip([head[0], *head], head, head[1:]):
        if then.text == "(" and token.kind == "name" and token.text not in _WITH_BRACKETS:
            return token.text if before.text != "::" else ""
    return ""


def _body(head: list[Token]) -> int:
    return next((i for i, token in enumerate(head) if token.text in ("{", ";", "=")), len(head))


def _without_template(head: list[Token]) -> list[Token]:
    """A declaration without its template<...>."""
    if len(head) < 2 or head[0].text != "template" or head[1].text != "<":
        return head
    depth = 0
    for i, token in enumerate(head[1:], 1):
        depth += token.text.count("<") - (token.text.count(">") if token.text in (">", ">>") else 0)
        if depth <= 0:
            return _without_template(head[i + 1 :])
    return []


def _opens_space(piece: list[Token]) -> bool:
    line = " ".join(token.text for token in piece)
    return re.fullmatch(r'(?:inline )?namespace(?: [\w: ]+)? \{|extern "C(?:\+\+)?" \{', line) is not None


def _is_function(piece: list[Token]) -> bool:
    """Whether the '}' at its end closes the body of a function, and not a type or a value."""
    head = _without_template(piece)
    before = head[: next((i for i, token in enumerate(head) if token.text == "{"), len(head))]
    depth, assigned, called = 0, False, False
    for i, token in enumerate(before):
        if token.text == "(" and depth == 0 and (i == 0 or before[i - 1].text not in _WITH_BRACKETS):
            called = True
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        assigned |= token.text == "=" and depth == 0
    return called and not assigned
