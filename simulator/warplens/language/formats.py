"""The formats of printf: the text between the conversions, and what each conversion takes."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_WIDTH = 1000  # of a width or a precision: one number shall not fill the memory
MOST_ARGUMENTS = 32  # CUDA's
INTEGERS, FLOATS = "diouxXc", "fFeEgGaA"
KNOWN = (
    "write %d, %u, %x or %lld for integers, %f, %e or %g for floats, %c, %s, %p, and %% for a percent sign"
)

_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|[0-9]*)(?:\.(?P<precision>\*|[0-9]*))?(?P<length>hh|h|ll|l|z|j|t|L)?"
    r"(?P<letter>.?)",
    re.DOTALL,
)


class FormatError(ValueError):
    """A format that is not understood; `hint` says what may be written."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Conversion:
    """One %... of a format; `width` and `precision` are None where there is none, "*" if an argument says."""

    text: str
    flags: str
    width: int | str | None
    precision: int | str | None
    length: str
    letter: str

    @property
    def takes(self) -> tuple[str, ...]:
        """What each of its arguments must be: "int" (32 bits), "long" (64), "double", "text" or "pointer"."""
        stars = sum(given == "*" for given in (self.width, self.precision))
        return (*["int"] * stars, self._own)

    @property
    def _own(self) -> str:
        if self.letter in INTEGERS:
            return "long" if self.length in ("l", "ll", "z") else "int"
        return "double" if self.letter in FLOATS else {"s": "text", "p": "pointer"}[self.letter]

    @property
    def bits(self) -> int:
        """Of an integer, how many bits are shown."""
        return {"hh": 8, "h": 16, "": 32}.get(self.length, 64)


Part = str | Conversion


def parts(text: str) -> list[Part]:
    """A format as text and conversions, in their order; text ends where C's string ends."""
    text = text.partition("\0")[0]
    found: list[Part] = []
    place = 0
    while place < len(text):
        end = text.find("%", place)
        if end != place:
            end = len(text) if end < 0 else end
            found.append(text[place:end])
            place = end
            continue
        match = _CONVERSION.match(text, place)
        assert match is not None
        place = match.end()
        found.append("%" if match.group() == "%%" else _conversion(match))
    return found


def _conversion(match: re.Match[str]) -> Conversion:
    text, letter, length = match.group(), match["letter"], match["length"] or ""
    allowed = {"s": ("",), "p": ("",), "c": ("",)} | dict.fromkeys(FLOATS, ("", "l"))
    if letter not in INTEGERS + FLOATS + "sp" or not letter:
        raise FormatError(f"{text!r} in a format", KNOWN)
    if length not in allowed.get(letter, ("", "h", "hh", "l", "ll", "z")):
        raise FormatError(f"{text!r} in a format", f"write %{letter}")
    return Conversion(
        text,
        match["flags"],
        _size(match["width"] or None, text),
        _size(match["precision"], text),
        length,
        letter,
    )


def _size(digits: str | None, text: str) -> int | str | None:
    if digits is None or digits == "*":
        return digits
    digits = digits.lstrip("0") or "0"
    if len(digits) > 4 or int(digits) > MOST_WIDTH:
        message = f"a width or precision of more than {MOST_WIDTH:,} in a format"
        raise FormatError(message, "take a smaller one")
    return int(digits)
