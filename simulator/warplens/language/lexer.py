"""Source text to tokens: each knows its line and column, and whether it begins a line."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

from warplens.errors import At, Fault, unsupported
from warplens.language.types import DOUBLE, FLOAT, INT, LLONG, LONG, UINT, ULLONG, ULONG, Scalar


@dataclass(frozen=True, slots=True)
class Token:
    """`kind`: "name", "number", "string", "char", "mark" (an operator or a bracket) or "end".

    `space`: white space stands before it; `first`: it is the first of its line; `hidden`: macros that must
    not expand it again.
    """

    kind: str
    text: str
    at: At
    space: bool = False
    first: bool = False
    hidden: frozenset[str] = frozenset()

    def moved(self, at: At) -> Token:
        return replace(self, at=at)


MARKS = (
    "<<=", ">>=", "...", "->*", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=",
    "*=", "/=", "%=", "&=", "|=", "^=", "::", "##", ".*", *"{}[]()<>;:,.?+-*/%&|^~!=#",
)  # fmt: skip

_PATTERN = re.compile(
    r"""(?P<space>[ \t\r\f\v]+|\\\r?\n)
      | (?P<newline>\n)
      | (?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?\*/)
      | (?P<number>\.?[0-9](?:[eEpP][+-]|'(?=\w)|[\w.])*)
      | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
      | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
      | (?P<name>[^\W\d]\w*)
      | (?P<mark>"""
    + "|".join(re.escape(mark) for mark in MARKS)
    + ")",
    re.VERBOSE | re.DOTALL | re.ASCII,
)


def tokens(source: str) -> list[Token]:
    """All tokens of `source`; the last one is of kind "end"."""
    result: list[Token] = []
    place, line, start, space, first = 0, 1, 0, False, True
    while place < len(source):
        match = _PATTERN.match(source, place)
        at = At(line, place - start + 1)
        if source.startswith("/*", place) and (match is None or match.lastgroup == "mark"):
            raise Fault(at, "this comment is never closed", "write */ where it ends")
        if match is None:  # wrong only where it is compiled, and not under #if 0
            end = source.find("\n", place)
            rest = source[place : end if end >= 0 else len(source)]
            result.append(Token("strange", rest, at, space, first))
            place += len(rest)
            space = first = False
            continue
        kind, text = str(match.lastgroup), match.group()
        place = match.end()
        if kind in ("space", "newline", "comment"):
            space, first = True, first or kind == "newline"
        else:
            result.append(Token(kind, text, at, space, first))
            space = first = False
        if "\n" in text:
            line, start = line + text.count("\n"), match.start() + text.rindex("\n") + 1
    result.append(Token("end", "", At(line, place - start + 1), True, True))
    return result


def strange(token: Token) -> Fault:
    """What is wrong with something that is no token."""
    text, at = token.text, token.at
    if text[0] == '"':
        return Fault(at, "missing closing quote", 'a string ends with " on the line where it begins')
    if text[0] == "'":
        return Fault(at, "missing closing quote", "a character stands between two quotes, as in 'a'")
    return Fault(at, f"unrecognized token {text[0]!r}", "this character has no meaning in CUDA C")


_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)([uUlL]*)")
_FLOAT = re.compile(r"((?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)([fFlL]?)")
_HEX_FLOAT = re.compile(r"(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)([fFlL]?)")
_SUFFIXES = {"": "", "u": "u", "l": "l", "ul": "ul", "lu": "ul", "ll": "ll", "ull": "ull", "llu": "ull"}


def number(token: Token) -> tuple[int | float, Scalar]:
    """The value of a number and its type."""
    text = token.text.replace("'", "")
    if match := _INTEGER.fullmatch(text):
        return _integer(token, match.group(1), match.group(2))
    for pattern, read in ((_FLOAT, float), (_HEX_FLOAT, float.fromhex)):
        if match := pattern.fullmatch(text):
            return _real(token, match.group(2).lower(), match.group(1), read)
    hint = "a float has a point or an exponent: 1.0f, not 1f" if text.lower().endswith("f") else ""
    raise Fault(token.at, f"{token.text!r} is not a number", hint)


def _real(token: Token, suffix: str, digits: str, read: Callable[[str], float]) -> tuple[float, Scalar]:
    if suffix == "l":
        raise unsupported(token.at, "long double", "write the number without the L")
    try:
        value = read(digits)
        if suffix == "f":
            value = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        value = math.inf
    if value == math.inf:
        hint = f"a {'float' if suffix else 'double'} ends at {'3.4e38' if suffix else '1.8e308'}"
        raise Fault(token.at, "floating constant is out of range", hint)
    return value, FLOAT if suffix else DOUBLE


def _integer(token: Token, digits: str, suffix: str) -> tuple[int, Scalar]:
    kind = _SUFFIXES.get(suffix.lower())
    if kind is None or "lL" in suffix or "Ll" in suffix:
        raise Fault(token.at, f"{token.text!r} is not a number", f"no number ends with {suffix!r}")
    decimal = digits[0] != "0" or len(digits) == 1
    if not decimal and digits[1] in "xXbB":
        value = int(digits, 0)
    else:
        try:  # of more digits than 30 any number is too large, and Python refuses thousands
            short = digits if len(digits.lstrip("0")) <= 30 else "7" * 30
            value = int(short, 10 if decimal else 8)
        except ValueError:
            message = f"{token.text!r} is not a number"
            raise Fault(token.at, message, "a number that begins with 0 is octal") from None
    fits = {
        "": (INT, LONG) if decimal else (INT, UINT, LONG, ULONG),
        "u": (UINT, ULONG),
        "l": (LONG,) if decimal else (LONG, ULONG),
        "ul": (ULONG,),
        "ll": (LLONG,) if decimal else (LLONG, ULLONG),
        "ull": (ULLONG,),
    }
    for type_ in fits[kind]:
        if value < 1 << (8 * type_.size - (type_.kind == "i")):
            return value, type_
    raise Fault(token.at, "integer constant is too large", "the largest integer type has 64 bits")


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def unquoted(token: Token) -> str:
    """The characters of a string or of a character constant."""
    body = token.text[token.text.index(token.text[-1]) + 1 : -1]

    def character(match: re.Match[str]) -> str:
        text = match.group(1)
        if text[0] == "x" and len(text) > 1:
            return chr(int(text[1:], 16) & 255)
        if text[0] in "01234567":
            return chr(int(text, 8) & 255)
        return _ESCAPES.get(text, text)

    return re.sub(r"\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)", character, body)
