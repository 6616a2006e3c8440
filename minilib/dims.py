"""Sizes that are not known yet, as algebra: `S - 2`, `2 * S`, `(S - 1) // 2 + 1`.

A size is an int or a `Dim`: a sum of products of symbols with whole factors, in one normal form, so that
equal expressions compare equal. A result without symbols is an int again. A symbol stands for a whole number
of at least `least`, 0 unless told otherwise: what follows from that is known (`S + 1 > 0`), the rest cannot
be told.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

__all__ = [
    "Dim", "Equations", "Length", "Size", "at", "bounds", "broadcast", "larger", "parse", "smaller", "symbol",
    "symbols_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Symbol:
    """A size with a name. Two of one name are one size."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Quotient:
    """upper // lower where no rule gets rid of the division."""

    upper: Size
    lower: Size

    def __str__(self) -> str:
        return f"{_inner(self.upper)}//{_inner(self.lower)}"


class Least(Quotient):
    """The smaller of both, where that is not known."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"min({self.upper}, {self.lower})"


Atom: TypeAlias = "Symbol | Quotient"
Monomial: TypeAlias = tuple[Atom, ...]  # a product, its factors in order; () is 1
Terms: TypeAlias = dict[Monomial, int]  # a sum: how often each product is in it


_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def _told(sign: str) -> Callable[[Any, Any], bool]:
    """Whether `left sign right`, where that is so, or is not, whatever the symbols are."""

    def told(left: Any, right: Any) -> bool:
        at_least, at_most = (_COMPARED[sign](end, 0) for end in bounds(left - right))
        if at_least != at_most:  # the comparison grows or falls with the difference, so its ends decide
            raise TypeError(f"whether {left} {sign} {right} cannot be told before the symbols are known")
        return at_least

    return told


class Dim:
    """A size with symbols in it, in normal form. Made by `symbol`, `parse`, and by arithmetic on others."""

    __slots__ = ("_key", "terms")

    value = None  # that of a `Length`: not known

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._key = tuple(sorted(terms.items(), key=lambda term: _rank(term[0])))

    # Arithmetic: sums and products of polynomials

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Dim | int):
            return NotImplemented
        total = dict(self.terms)
        for monomial, factor in _terms(other).items():
            total[monomial] = total.get(monomial, 0) + factor
        return _made(total)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Dim | int):
            return NotImplemented
        total: Terms = {}
        for left, n in self.terms.items():
            for right, m in _terms(other).items():
                both = tuple(sorted(left + right, key=str))
                total[both] = total.get(both, 0) + n * m
        return _made(total)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, Dim | int) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __floordiv__(self, other: Any) -> Any:
        return divided(self, other) if isinstance(other, Dim | int) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return divided(other, self)

    def __mod__(self, other: Any) -> Any:
        return self - self // other * other

    def __rmod__(self, other: Any) -> Any:
        return other - other // self * self

    # Comparisons: by normal form, or by what holds for all sizes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    __lt__, __le__, __gt__, __ge__ = map(_told, ("<", "<=", ">", ">="))

    def __bool__(self) -> bool:
        least, most = bounds(self)
        if least > 0 or most < 0:
            return True
        raise TypeError(f"whether the size {self} is 0 cannot be told before its symbols are known")

    def _refuse(self) -> NoReturn:
        raise TypeError(f"the size {self} is no number before {', '.join(sorted(symbols_of(self)))} is known")

    __int__ = __index__ = __float__ = _refuse

    # What it is made of

    def __repr__(self) -> str:
        text = ""
        terms = sorted(self.terms.items(), key=lambda term: (-len(term[0]), term[1] < 0, str(term[0])))
        for monomial, n in terms:
            sign = (" - " if n < 0 else " + ") if text else "-" * (n < 0)
            text += sign + _product(monomial, abs(n), alone=n == 1)
        return text


class Length(int):
    """A size that is known, with its number where TensorFlow 1 has it: `x.shape[1].value`."""

    value = property(int)


Size: TypeAlias = int | Dim


def symbol(name: str) -> Dim:
    """The size called `name`, of which it is known that it is no less than 0."""
    return Dim({(Symbol(name),): 1})


def parse(text: str) -> Size:
    """The size that `text` writes down with names, whole numbers, + - * // % and parentheses.

    A name that is none of Python's ("batch size", an ONNX file's) is one symbol. Raises ValueError for other
    signs.
    """
    try:
        return _read(ast.parse(text, mode="eval").body)
    except (ZeroDivisionError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text[:60]!r} is no size: {error}") from None
    except SyntaxError:
        if any(sign in text for sign in "+-*/%()"):
            raise ValueError(f"{text!r} is no size: write names, whole numbers, + - * // %") from None
        return symbol(text)


_SIGNS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.USub: operator.neg,
}  # fmt: skip


def _read(node: ast.AST) -> Any:
    match node:
        case ast.Name(name):
            return symbol(name)
        case ast.Constant(int(number)):
            return number
        case ast.BinOp(left, sign, right) if type(sign) in _SIGNS:
            return _SIGNS[type(sign)](_read(left), _read(right))
        case ast.Call(ast.Name("min"), [one, other]):
            return smaller(_read(one), _read(other))
        case ast.UnaryOp(sign, operand) if type(sign) in _SIGNS:
            return _SIGNS[type(sign)](_read(operand))
    raise ValueError(f"{ast.unparse(node)!r} is no size: write names, whole numbers, + - * // %")


# Normal form


def _terms(size: Size) -> Terms:
    return size.terms if isinstance(size, Dim) else {(): size} if size else {}


MOST_SYMBOLS = 500  # in one size, counted as often as they are written
MOST_CASES = 4  # so many sizes of which one of two is the smaller are told apart


def _weight(terms: Terms) -> int:
    return sum(
        1 if isinstance(atom, Symbol) else 1 + _weight(_terms(atom.upper)) + _weight(_terms(atom.lower))
        for monomial in terms
        for atom in monomial
    )


def _made(terms: Terms) -> Size:
    """The sum as a size: an int where no symbol is left. Raises ValueError where it is too long."""
    terms = {monomial: n for monomial, n in terms.items() if n}
    if _weight(terms) > MOST_SYMBOLS or any(abs(n) >= 2**64 for n in terms.values()):
        raise ValueError(f"a size of more than {MOST_SYMBOLS} symbols, or of factors over 64 bits")
    return Dim(terms) if terms.keys() - {()} else terms.get((), 0)


def _rank(monomial: Monomial) -> Any:
    return len(monomial), [str(atom) for atom in monomial]


def _product(monomial: Monomial, n: int, alone: bool) -> str:
    """One term as Python reads it: -S // 2 would be (-S) // 2, and 2 * S // 2 is not 2 * (S // 2)."""
    bare = alone and len(monomial) == 1
    factors = [f"({atom})" if type(atom) is Quotient and not bare else str(atom) for atom in monomial]
    return "*".join([*([str(n)] if n != 1 or not factors else []), *factors])


def _inner(size: Size) -> str:
    return f"({size})" if isinstance(size, Dim) and (len(size.terms) > 1 or "*" in str(size)) else str(size)


def divided(upper: Size, lower: Size) -> Any:
    """upper // lower, rounded down, in normal form. Raises ZeroDivisionError for a lower of 0."""
    if not isinstance(lower, Dim):
        return _by_number(upper, lower)
    exact = _exactly(upper, lower)
    return Dim({(Quotient(upper, lower),): 1}) if exact is None else exact


def _by_number(upper: Size, lower: int) -> Any:
    if not isinstance(upper, Dim):
        return upper // lower
    if lower < 0:
        return _by_number(-upper, -lower)
    # What `lower` divides comes out: (S + 3) // 2 = (S + 1) // 2 + 1.
    whole = _made({monomial: n // lower for monomial, n in upper.terms.items()})
    rest = {monomial: n % lower for monomial, n in upper.terms.items() if n % lower}
    within, known = {m: n for m, n in rest.items() if m}, rest.get((), 0)
    if not within:
        return whole
    common = math.gcd(lower, *within.values())
    if common > 1:  # (4 S + 3) // 6 = (2 S + 1) // 3: what is left cannot reach the next whole number
        within, lower, known = {m: n // common for m, n in within.items()}, lower // common, known // common
    if lower == 1:
        return whole + _made(within)
    inner = [m[0] for m, n in within.items() if len(m) == 1 and type(m[0]) is Quotient and n == 1]
    if len(inner) == 1 and isinstance(step := inner[0].lower, int):  # (a // 2 + b) // 3 = (a + 2 b) // 6
        del within[(inner[0],)]
        return whole + _by_number(inner[0].upper + step * (_made(within) + known), step * lower)
    return whole + Dim({(Quotient(_made({**within, (): known}), lower),): 1})


def _exactly(upper: Size, lower: Dim) -> Any:
    """The quotient of two polynomials where nothing is left, else None: (2 S T) // S = 2 T, but for S = 0."""
    lead, factor = max(lower.terms.items(), key=lambda term: _rank(term[0]))
    quotient: Size = 0
    while upper != 0:
        first, n = max(_terms(upper).items(), key=lambda term: _rank(term[0]))
        left = list(first)
        for atom in lead:
            if atom not in left:
                return None
            left.remove(atom)
        if n % factor:
            return None
        step = _made({tuple(left): n // factor})
        quotient, upper = quotient + step, upper - step * lower
    return quotient


# What holds whatever the symbols are


def bounds(size: Size) -> tuple[float, float]:
    """Numbers that a size is never below, and never above."""
    chosen = [(m[0], n) for m, n in _terms(size).items() if len(m) == 1 and isinstance(m[0], Least)]
    if 0 < len(chosen) <= MOST_CASES:  # the smaller is one of both, which may meet what stands beside it
        (least_of, n), *_ = chosen
        rest = size - Dim({(least_of,): n})
        cases = [bounds(rest + n * one) for one in (least_of.upper, least_of.lower)]
        low, high = (min(ends) if n > 0 else max(ends) for ends in zip(*cases))
        return low, high
    low = high = 0.0
    for monomial, n in _terms(size).items():
        lows, highs = zip(*map(_limits, monomial)) if monomial else ((), ())
        if any(least < 0 for least in lows):
            return -math.inf, math.inf
        most = 0 if 0 in highs else math.prod(highs)  # not 0 * inf
        ends = n * math.prod(lows), n * most
        low, high = low + min(ends), high + max(ends)
    return low, high


def _limits(atom: Atom) -> tuple[float, float]:
    if isinstance(atom, Symbol):
        return 0, math.inf
    (least, most), (below, above) = bounds(atom.upper), bounds(atom.lower)
    if isinstance(atom, Least):
        return min(least, below), min(most, above)
    if below <= 0:
        return -math.inf, math.inf
    return least // (above if least >= 0 else below), most // below if most < math.inf else math.inf


def smaller(a: Size, b: Size) -> Any:
    """The smaller of two sizes: one of them where that can be told, else a size for the run to say."""
    for one, other in ((a, b), (b, a)):
        try:
            return one if one <= other else other
        except TypeError:
            pass
    apart = _terms(a - b)
    more = _made({m: n for m, n in apart.items() if n > 0})
    one, other = sorted((more, more - a + b), key=str)
    return a - more + Dim({(Least(one, other),): 1})


def larger(a: Size, b: Size) -> Any:
    """The larger of two sizes: what is left of both beside the smaller."""
    return a + b - smaller(a, b)


# Putting numbers in


def symbols_of(size: Size) -> set[str]:
    """The names of the symbols in a size."""
    found: set[str] = set()
    for monomial in _terms(size):
        for atom in monomial:
            found |= (
                {atom.name} if isinstance(atom, Symbol) else symbols_of(atom.upper) | symbols_of(atom.lower)
            )
    return found


def at(size: Any, values: Mapping[str, Any]) -> Any:
    """The size with `values` in the place of those symbols that they name; what has none stays as it is."""
    if not isinstance(size, Dim):
        return size
    total: Any = 0
    for monomial, n in size.terms.items():
        total += math.prod([_atom_at(atom, values) for atom in monomial], start=n)
    return total


def _atom_at(atom: Atom, values: Mapping[str, Size]) -> Any:
    if isinstance(atom, Symbol):
        return values.get(atom.name, Dim({(atom,): 1}))
    upper, lower = at(atom.upper, values), at(atom.lower, values)
    return smaller(upper, lower) if isinstance(atom, Least) else upper // lower


# Sizes that have to be equal


class Equations:
    """What follows for symbols from sizes that have to be equal.

    `known` says for some symbols what they are, in numbers or in others. What no symbol could be solved for
    waits in `open`, until more is known.
    """

    def __init__(self) -> None:
        self.known: dict[str, Size] = {}
        self.open: list[Dim] = []  # each has to be 0

    def resolve(self, size: Size) -> Any:
        """The size by all that is known."""
        return at(size, self.known)

    def equate(self, left: Size, right: Size) -> Any:
        """The size that both are from now on. Raises ValueError where they cannot be equal."""
        left, right = self.resolve(left), self.resolve(right)
        self._zero(left - right, f"{left} and {right} cannot be equal")
        return self.resolve(left)

    def bind(self, shape: Sequence[Size], lengths: Sequence[int]) -> None:
        """Each size of `shape` is the length of an array. Raises ValueError where that cannot be."""
        if len(shape) != len(lengths):
            raise ValueError(f"{len(shape)} axes and {len(lengths)} cannot be equal")
        for size, n in zip(shape, lengths):
            self.equate(size, n)

    def _zero(self, difference: Size, otherwise: str) -> None:
        if not isinstance(difference, Dim):
            if difference:
                raise ValueError(otherwise)
            return
        solved = _solved(difference)
        if solved is None:
            least, most = bounds(difference)
            constant = difference.terms.get((), 0)
            if least > 0 or most < 0 or constant % math.gcd(*(n for m, n in difference.terms.items() if m)):
                raise ValueError(otherwise)
            self.open.append(difference)
            return
        name, size = solved
        if bounds(size)[1] < 0:
            raise ValueError(otherwise)
        self.known = {other: at(value, {name: size}) for other, value in self.known.items()} | {name: size}
        waiting, self.open = self.open, []
        for one in waiting:
            self._zero(self.resolve(one), f"{otherwise}: then {one} would not be 0")


def _solved(difference: Dim) -> tuple[str, Size] | None:
    """A symbol and what it is where `difference` is 0; None where no symbol can be solved for."""
    for monomial, n in sorted(difference.terms.items(), key=lambda term: _rank(term[0]), reverse=True):
        if len(monomial) == 1 and isinstance(atom := monomial[0], Symbol):
            rest = _made({m: -k for m, k in difference.terms.items() if m != monomial})
            if atom.name not in symbols_of(rest) and all(k % n == 0 for k in _terms(rest).values()):
                return atom.name, rest // n
    return None


def broadcast(*shapes: Sequence[Size], equations: Equations | None = None) -> tuple[Any, ...]:
    """The shape of arrays of these shapes together: along each axis all but those of length 1 are equal.

    A symbol that meets another length is that length from now on, by the `equations`. (An array of length 1
    could be repeated there as well: a size that is not known is no 1.) Raises ValueError for shapes that do
    not fit.
    """
    equations = equations or Equations()
    ndim = max(map(len, shapes), default=0)
    made = []
    for axis in range(-ndim, 0):
        size: Size = 1
        for shape in shapes:
            n = equations.resolve(shape[axis]) if -axis <= len(shape) else 1
            try:
                size = n if size == 1 else size if n == 1 else equations.equate(size, n)
            except ValueError:
                shown = " and ".join(
                    f"({', '.join(map(str, s))}{',' if len(s) == 1 else ''})" for s in shapes
                )
                told = f"shapes {shown} do not broadcast: {size} is not {n}, and neither is 1"
                raise ValueError(told) from None
        made.append(size)
    return tuple(equations.resolve(size) for size in made)
