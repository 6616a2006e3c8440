"""What printf shows: numbers by C's rules, and the text of a launch, which has an end."""

from __future__ import annotations

import math
from typing import Any

from warplens.language.formats import FLOATS, INTEGERS, MOST_WIDTH, Conversion, Part, parts

MOST_PRINTED = 50_000  # characters of a launch
MORE = "... more was printed than is shown\n"


class Printed:
    """The text of a launch; what is beyond its end is dropped, and said to be."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.room = MOST_PRINTED

    def add(self, text: str) -> None:
        if self.room < 0:
            return
        self.room -= len(text)
        if self.room >= 0:
            self._pieces.append(text)
            return
        kept = text[: self.room]
        line = "" if kept.endswith("\n") or not (kept or self._pieces) else "\n"
        self._pieces.append(kept + line + MORE)

    @property
    def text(self) -> str:
        return "".join(self._pieces)


class Format:
    """A format that has been read once; `fill` makes the text of one thread."""

    def __init__(self, text: str) -> None:
        self.parts: list[Part] = parts(text)

    def fill(self, arguments: tuple[Any, ...]) -> str:
        given = iter(arguments)
        made = []
        for part in self.parts:
            if isinstance(part, str):
                made.append(part)
                continue
            flags, width, precision = part.flags, part.width, part.precision
            if width == "*":
                width = _clamped(next(given))
                if width < 0:
                    flags, width = flags + "-", -width
            if precision == "*":
                precision = _clamped(next(given))
            assert not isinstance(width, str) and not isinstance(precision, str)
            if precision is not None and precision < 0:
                precision = None
            made.append(_shown(part, flags, width or 0, precision, next(given)))
        return "".join(made)


def _clamped(size: Any) -> int:
    return max(-MOST_WIDTH, min(MOST_WIDTH, int(size)))


def _shown(one: Conversion, flags: str, width: int, precision: int | None, value: Any) -> str:
    letter = one.letter
    sign, digits, zeros = "", "", False  # `zeros`: the flag 0 may fill up with them
    if letter == "c":
        digits = chr(int(value) & 255)
    elif letter == "s":
        digits = value[:precision]
    elif letter == "p":
        digits = f"{int(value):#x}" if value else "(nil)"
    elif letter in INTEGERS:
        sign, digits = _integer(one, flags, precision, int(value))
        zeros = precision is None
    elif letter in FLOATS:
        sign, digits = _float(letter, flags, precision, float(value))
        zeros = math.isfinite(value)
    missing = width - len(sign) - len(digits)
    if missing <= 0:
        return sign + digits
    if "-" in flags:
        return sign + digits + " " * missing
    return sign + "0" * missing + digits if zeros and "0" in flags else " " * missing + sign + digits


def _sign(negative: bool, flags: str) -> str:
    return "-" if negative else "+" if "+" in flags else " " if " " in flags else ""


def _integer(one: Conversion, flags: str, precision: int | None, value: int) -> tuple[str, str]:
    """What stands before the zeros that fill it up, and the digits."""
    value &= (1 << one.bits) - 1
    sign = ""
    if one.letter in "di":
        if value >> (one.bits - 1):
            value -= 1 << one.bits
        sign = _sign(value < 0, flags)
    digits = "" if precision == 0 and value == 0 else format(abs(value), one.letter.translate(_AS_D))
    digits = digits.rjust(precision or 0, "0")
    if "#" in flags and one.letter in "xX" and value:
        sign = "0" + one.letter
    if "#" in flags and one.letter == "o" and digits[:1] != "0":
        digits = "0" + digits
    return sign, digits


_AS_D = str.maketrans("iu", "dd")


def _float(letter: str, flags: str, precision: int | None, value: float) -> tuple[str, str]:
    """The sign, and the rest; nan has no sign: that of 0/0 differs from machine to machine."""
    sign = _sign(math.copysign(1, value) < 0 and value == value, flags)
    upper = letter.isupper()
    if not math.isfinite(value):
        text = "nan" if value != value else "inf"
    elif letter in "aA":
        head, text = _hexadecimal(abs(value), precision, "#" in flags)
        return sign + (head.upper() if upper else head), text.upper() if upper else text
    else:
        point = "#" if "#" in flags else ""
        text = f"%{point}.{6 if precision is None else precision}{letter}" % abs(value)
    return sign, text.upper() if upper else text


def _hexadecimal(value: float, precision: int | None, point: bool) -> tuple[str, str]:
    """0x and h.hhhp+d, with as many digits as are needed, or rounded to `precision` of them."""
    exponent = math.frexp(value)[1] - 1
    if exponent < -1022:  # too small for a leading 1
        exponent = -1022
    bits = int(math.ldexp(value, 52 - exponent)) if value else 0  # 53 bits
    exponent = exponent if value else 0
    if precision is not None and precision < 13:
        unit = 1 << 4 * (13 - precision)
        rest = bits % unit
        bits -= rest
        if 2 * rest > unit or (2 * rest == unit and bits // unit % 2):
            bits += unit
    digits = f"{bits & (1 << 52) - 1:013x}"
    digits = digits.rstrip("0") if precision is None else digits[:precision].ljust(precision, "0")
    return "0x", f"{bits >> 52:x}{'.' if digits or point else ''}{digits}p{exponent:+d}"
