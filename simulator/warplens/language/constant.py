"""The value of an expression that the compiler can work out: lengths of arrays, arguments of templates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from warplens.language import bfloat, tree
from warplens.language.types import BFLOAT, BOOL, Scalar, Type

Number = bool | int | float


def in_type(value: Number, type_: Type) -> Number | None:
    """`value` as a number of a type holds it: integers wrap, float32 rounds."""
    if not isinstance(type_, Scalar):
        return None
    if type_ == BOOL:
        return bool(value)
    if type_ == BFLOAT:
        return float(bfloat.rounded_double(float(value)))
    if type_.is_float:
        with np.errstate(all="ignore"):
            return float(type_.dtype.type(value))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    bits = 8 * type_.size
    wrapped = int(value) & ((1 << bits) - 1)
    return wrapped - (1 << bits) if type_.kind == "i" and wrapped >> (bits - 1) else wrapped


def fold(node: tree.Expression) -> Number | None:
    """Its value, or None where only a running kernel knows it."""
    if isinstance(node, tree.Literal):
        return node.value
    if isinstance(node, tree.Convert):
        value = fold(node.operand)
        return None if value is None else in_type(value, node.type)
    if isinstance(node, tree.Unary):
        return _unary(node)
    if isinstance(node, tree.Binary):
        return _binary(node)
    if isinstance(node, tree.Logical):
        return _logical(node)
    if isinstance(node, tree.Conditional):
        test = fold(node.test)
        return None if test is None else fold(node.yes if test else node.no)
    return None


def _unary(node: tree.Unary) -> Number | None:
    value = fold(node.operand)
    if value is None:
        return None
    if node.op == "!":
        return not value
    return in_type(-value if node.op == "-" else ~int(value), node.type)


def _logical(node: tree.Logical) -> Number | None:
    left = fold(node.left)
    if left is None:
        return None
    if bool(left) == (node.op == "||"):
        return bool(left)
    right = fold(node.right)
    return None if right is None else bool(right)


def _binary(node: tree.Binary) -> Number | None:
    a, b = fold(node.left), fold(node.right)
    if a is None or b is None:
        return None
    if node.op in ("/", "%") and b == 0:
        return None
    if node.op in ("<<", ">>") and not 0 <= b < 8 * node.type.size:
        return None
    value = _compute(node.op, a, b, isinstance(node.type, Scalar) and node.type.is_float)
    return in_type(value, node.type)


def _compute(op: str, a: Any, b: Any, floats: bool) -> Number:
    if op in ("/", "%") and not floats:
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return int(quotient if op == "/" else a - b * quotient)
    value: Number = {
        "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b, "&": lambda: a & b,
        "|": lambda: a | b, "^": lambda: a ^ b, "<<": lambda: a << b, ">>": lambda: a >> b,
        "==": lambda: a == b, "!=": lambda: a != b, "<": lambda: a < b, "<=": lambda: a <= b,
        ">": lambda: a > b, ">=": lambda: a >= b,
    }[op]()  # fmt: skip
    return value
