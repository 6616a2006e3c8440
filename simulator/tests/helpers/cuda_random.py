"""Random kernels without races and without undefined behaviour, and a shrinker for those that fail.

`make(seed)` gives the same kernel everywhere. Integer expressions carry the interval of their values, so
that signed arithmetic never overflows, shifts stay in range and divisors are not zero. Floats never feed
conditions or indices; a cast of a float to an integer has a value in range that a float holds exactly.
Functions whose last bits differ between libraries add to variables of their own (`m0`, `m1`), which nothing
else reads: all other results are the same bits wherever floating point follows IEEE 754 and no product is
fused with a sum.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

# ---------------------------------------------------------------------------- types and intervals

INTEGERS = {  # bits, signed
    "bool": (1, False),
    "signed char": (8, True),
    "unsigned char": (8, False),
    "short": (16, True),
    "unsigned short": (16, False),
    "int": (32, True),
    "unsigned int": (32, False),
    "long long": (64, True),
    "unsigned long long": (64, False),
}
PRIMARY, UNARY, TIMES, PLUS, SHIFT, LESS, EQUAL, AND, XOR, OR, BOTH, EITHER, CHOICE = range(15, 2, -1)
INPUTS = 64  # elements of in_i and in_f
LOCALS, FLOAT_LOCALS = 8, 4  # elements of the local arrays


def limits(kind: str) -> tuple[int, int]:
    bits, signed = INTEGERS[kind]
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)


def promoted(kind: str) -> str:
    return "int" if INTEGERS[kind][0] < 32 else kind


def common(a: str, b: str) -> str:
    """The type in which C computes with both."""
    a, b = promoted(a), promoted(b)
    if INTEGERS[a][0] != INTEGERS[b][0]:
        return max(a, b, key=lambda kind: INTEGERS[kind][0])
    return a if not INTEGERS[a][1] else b


# What a source includes, by what is in it.
HEADERS = {
    r"half": "#include <cuda_fp16.h>",
    r"bfloat16": "#include <cuda_bf16.h>",
    r"\bcg::": "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
    "#include <cooperative_groups/scan.h>\nnamespace cg = cooperative_groups;",
}

# Methods that return early, change the object, or give it back by a reference; a union; a template.
RECORD = """union Bytes { int whole; unsigned char part[4]; };
template <typename T, int N> struct Twice { T by; __device__ T operator()(T x) const { return x ^ by * N; } };
struct Record {
    int whole;
    float real;
    unsigned char small;
    __device__ int turn(int k) {
        if (k & 1) return small;
        whole ^= k;
        small += (unsigned char)k;
        return whole & 255;
    }
    __device__ int sum() const { return (whole & 0xffff) + small; }
    __device__ Record& operator^=(int k) { whole ^= k; return *this; }
};"""


@dataclass(frozen=True)
class Expression:
    """`kind`: a type's name; `low` and `high` bound an integer's value; `parts` may stand in its place."""

    text: str
    kind: str
    low: int = 0
    high: int = 0
    level: int = PRIMARY
    parts: tuple[Expression, ...] = ()


def converted(e: Expression, kind: str) -> tuple[int, int]:
    """The interval of `e` as a `kind`."""
    low, high = limits(kind)
    if kind == "bool" or not low <= e.low <= e.high <= high:
        return low, high
    return e.low, e.high


# ------------------------------------------------------------------------------------- statements


@dataclass(frozen=True)
class Node:
    """A statement: `head`, what it holds, `tail`.

    `fixed`: stays where the statement around it stays. `hoist`: its body may stand in its place.
    `simpler`: statements that may stand in its place.
    """

    head: str = ""
    body: tuple[Node, ...] = ()
    tail: str = ""
    fixed: bool = False
    hoist: bool = False
    simpler: tuple[Callable[[], Node], ...] = ()


def lines(nodes: tuple[Node, ...], depth: int = 1) -> Iterator[str]:
    pad = "    " * depth
    for node in nodes:
        if node.head:
            yield pad + node.head
        yield from lines(node.body, depth + (1 if node.tail else 0))
        if node.tail:
            yield pad + node.tail


@dataclass(frozen=True)
class RandomKernel:
    """`source` has one kernel, `name`; `arguments()` makes new ones. What comes out in `exact` is the same
    bits everywhere; `inexact` agrees within 1e-4."""

    seed: int
    name: str
    functions: tuple[tuple[str, str], ...]  # name, text
    prologue: str
    body: tuple[Node, ...]
    grid: tuple[int, int]
    block: tuple[int, int, int]
    shared_mem: int
    exact = (2, 3, 5, 6, 7)
    inexact = (4,)

    @property
    def threads(self) -> int:
        return self.grid[0] * self.grid[1] * int(np.prod(self.block))

    @property
    def source(self) -> str:
        body = "\n".join(lines(self.body))
        functions = [text for name, text in self.functions if name in body or self._called(name)]
        text = "\n".join([*functions, self.prologue, body, "}", ""])
        return "".join(f"{head}\n" for pattern, head in HEADERS.items() if re.search(pattern, text)) + text

    def _called(self, name: str) -> bool:
        return any(name in text for other, text in self.functions if other != name)

    def arguments(self) -> list[Any]:
        rng = np.random.default_rng(self.seed)
        in_i = rng.integers(-1000, 1000, INPUTS).astype(np.int32)
        in_i[rng.integers(0, INPUTS, 4)] = [-(2**31), 2**31 - 1, 0, -1]
        in_f = rng.normal(0, 4, INPUTS).astype(np.float32)
        acc = rng.integers(-1000, 1000, 16).astype(np.int32)
        return [
            in_i,
            in_f,
            np.full((2, self.threads, len(REGISTERS)), -77, np.int64),
            np.full((2, self.threads, 4), -77, np.float64),
            np.full((self.threads, 2), -77, np.float32),
            acc,
            rng.integers(0, 2**32, 8, dtype=np.uint64),
            rng.integers(-3, 3, self.threads).astype(np.int32),
            np.int32(rng.integers(1, self.threads + 1)),
        ]


# name, type, how it is made at first
REGISTERS = (
    ("i0", "int", "t * 7 - 30"),
    ("i1", "int", "in_i[(gid + 5) % 64]"),
    ("u0", "unsigned int", "2654435761u * gid"),
    ("u1", "unsigned int", "blockIdx.x + 40u"),
    ("c0", "signed char", "(signed char)(gid * 5)"),
    ("b0", "unsigned char", "(unsigned char)(t * 11)"),
    ("s0", "short", "(short)(gid * 300)"),
    ("w0", "unsigned short", "(unsigned short)(t ^ 0xfff0)"),
    ("l0", "long long", "(long long)gid * 3000000019LL"),
    ("q0", "unsigned long long", "0x9e3779b97f4a7c15ull * (gid + 1)"),
    ("p0", "bool", "t & 1"),
)
FLOATS = (
    ("f0", "float", "in_f[gid % 64]"),
    ("f1", "float", "0.5f * t"),
    ("d0", "double", "in_f[(gid + 9) % 64] * 0.1"),
    ("d1", "double", "gid"),
)
# Parameters of the overloads of one function, and how each makes an int of its x.
OVERLOADS = {
    "int": "x ^ 1",
    "unsigned int": "(int)(x >> 3)",
    "long long": "(int)(x & 0xffff) + 2",
    "float": "3",
    "bool": "x ? 4 : 5",
}
PARAMETERS = (
    "const int* in_i, const float* in_f, long long* out, double* fout, float* mout, int* acc, "
    "unsigned long long* acc_q, int* own, int n"
)
SHARED = (
    ("sh_i", "int"),
    ("sh_f", "float"),
    ("sh_q", "unsigned long long"),
    ("sh_c", "signed char"),
    ("sh_h", "half"),
)


@dataclass
class Scope:
    """What may be read and written here; `depth` bounds the nesting of statements."""

    integers: list[tuple[str, str]]
    floats: list[tuple[str, str]]
    known: list[tuple[str, str, int, int]]  # read only: name, type, interval
    kernel: bool = True
    may_return: bool = False
    result: str = ""  # the type that a function returns
    loops: int = 0
    in_loop: bool = False

    def inside(self, **changes: Any) -> Scope:
        return dataclasses.replace(self, **changes)


class Maker:
    styles: tuple[str, ...] = ("plain", "block", "warp")
    rounds = (1, 4)  # how often a block does something together, at least and at most
    shared: tuple[tuple[str, str], ...] = SHARED  # arrays with an element for each thread

    def __init__(self, seed: int, second: bool) -> None:
        self.random = random.Random(seed)
        self.seed, self.second = seed, second
        self.names = 0
        self.functions: list[tuple[str, str]] = []
        self.values: list[str] = []  # functions that give an int
        self.changers: list[str] = []  # functions with references
        self.threads = 0

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def pick(self, items: Any) -> Any:
        return self.random.choice(items)

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    # ------------------------------------------------------------------------ integer expressions

    def wrap(self, e: Expression, level: int) -> str:
        return f"({e.text})" if e.level < level or (e.level < UNARY and self.chance(0.3)) else e.text

    def literal(self) -> Expression:
        kind, value = self.pick(
            [("int", self.random.randint(-100, 100))] * 6
            + [("int", 2**31 - 1), ("int", 65), ("unsigned int", 0xDEADBEEF), ("unsigned int", 3)]
            + [("long long", 123456789012), ("unsigned long long", 2**63 + 5), ("unsigned int", 2**31)]
        )
        suffix = {"int": "", "unsigned int": "u", "long long": "LL", "unsigned long long": "ull"}[kind]
        text = (
            "'A'"
            if value == 65
            else f"{value}{suffix}"
            if value <= 100 or self.chance(0.5)
            else f"{value:#x}{suffix}"
        )
        return Expression(text, kind, value, value, UNARY if value < 0 else PRIMARY)

    def leaf(self, scope: Scope) -> Expression:
        choice = self.random.random()
        if choice < 0.2:
            return self.literal()
        if scope.known and choice < 0.45:
            name, kind, low, high = self.pick(scope.known)
            return Expression(name, kind, low, high)
        if scope.kernel and choice < 0.6:
            array = self.pick(["in_i", "loc"])
            index = self.index(scope, INPUTS if array == "in_i" else LOCALS)
            text = f"{array}[{index}]" if array == "loc" or self.chance(0.8) else f"*({array} + ({index}))"
            return Expression(text, "int", *limits("int"), PRIMARY if text[0] != "*" else UNARY)
        name, kind = self.pick(scope.integers)
        return Expression(name, kind, *limits(kind))

    def index(self, scope: Scope, size: int) -> str:
        """An integer from 0 to size - 1."""
        e = self.integer(scope, 1)
        if e.low >= 0 and e.high < size:
            return e.text
        if size & (size - 1) == 0 and self.chance(0.6):
            return f"{self.wrap(e, EQUAL)} & {size - 1}"
        return f"(unsigned int){self.wrap(e, PRIMARY)} % {size}"

    def narrow(self, e: Expression) -> Expression:
        """A small number made of `e`."""
        if self.chance(0.5):
            kind = common(e.kind, "int")
            return Expression(f"({self.wrap(e, EQUAL)} & 63)", kind, 0, 63, PRIMARY, (e,))
        kind = common(e.kind, "int")
        low, _ = converted(e, kind)
        return Expression(f"({self.wrap(e, TIMES)} % 97)", kind, -96 if low < 0 else 0, 96, PRIMARY, (e,))

    def integer(self, scope: Scope, depth: int) -> Expression:
        if depth <= 0 or self.chance(0.1):
            return self.leaf(scope)
        make = self.pick(
            [self.sum_or_product] * 6
            + [self.bitwise] * 4
            + [self.division] * 3
            + [self.shift] * 3
            + [self.unary] * 2
            + [self.cast] * 3
            + [self.condition] * 2
            + [self.choice] * 2
            + [self.built_in] * 2
            + [self.of_float]
            + [self.called] * 2
        )
        return make(scope, depth - 1)

    def sum_or_product(self, scope: Scope, depth: int) -> Expression:
        op = self.pick(["+", "-", "*"])
        a, b = self.integer(scope, depth), self.integer(scope, depth)
        kind = common(a.kind, b.kind)
        low, high = self.bounds(op, a, b, kind)
        if INTEGERS[kind][1] and not limits(kind)[0] <= low <= high <= limits(kind)[1]:
            a, b = self.narrow(a), self.narrow(b)
            low, high = self.bounds(op, a, b, kind)
        if not limits(kind)[0] <= low <= high <= limits(kind)[1]:
            low, high = limits(kind)
        level = TIMES if op == "*" else PLUS
        return Expression(
            f"{self.wrap(a, level)} {op} {self.wrap(b, level + 1)}", kind, low, high, level, (a, b)
        )

    @staticmethod
    def bounds(op: str, a: Expression, b: Expression, kind: str) -> tuple[int, int]:
        (al, ah), (bl, bh) = converted(a, kind), converted(b, kind)
        if op == "+":
            return al + bl, ah + bh
        if op == "-":
            return al - bh, ah - bl
        products = [al * bl, al * bh, ah * bl, ah * bh]
        return min(products), max(products)

    def bitwise(self, scope: Scope, depth: int) -> Expression:
        op, level = self.pick([("&", AND), ("|", OR), ("^", XOR)])
        a, b = self.integer(scope, depth), self.integer(scope, depth)
        kind = common(a.kind, b.kind)
        (al, ah), (bl, bh) = converted(a, kind), converted(b, kind)
        low, high = limits(kind)
        if al >= 0 and bl >= 0:
            low, high = 0, (1 << max(ah.bit_length(), bh.bit_length())) - 1
        text = f"{self.wrap(a, LESS + 1)} {op} {self.wrap(b, LESS + 1)}"
        return Expression(text, kind, low, high, level, (a, b))

    def division(self, scope: Scope, depth: int) -> Expression:
        op, a = self.pick(["/", "%"]), self.integer(scope, depth)
        if self.chance(0.6):
            value = self.pick([2, 3, 7, 16, 1000, -3, -8])
            b = Expression(str(value), "int", value, value, UNARY)
        else:
            e = self.integer(scope, depth)
            b = Expression(f"(({e.text}) & 7) + 1", common(e.kind, "int"), 1, 8, PLUS)
        kind = common(a.kind, b.kind)
        low, high = limits(kind)
        (al, ah), (bl, bh) = converted(a, kind), converted(b, kind)
        most = max(abs(al), abs(ah)) if op == "/" else max(abs(bl), abs(bh)) - 1
        low, high = max(low, -most if al < 0 or bl < 0 else 0), min(high, most)
        text = f"{self.wrap(a, TIMES)} {op} {self.wrap(b, UNARY)}"
        return Expression(text, kind, low, high, TIMES, (a,))

    def shift(self, scope: Scope, depth: int) -> Expression:
        op, a = self.pick(["<<", ">>"]), self.integer(scope, depth)
        kind = promoted(a.kind)
        if op == "<<" and INTEGERS[kind][1]:
            a = Expression(f"({self.wrap(a, EQUAL)} & 63)", kind, 0, 63, PRIMARY, (a,))
            most = 15
        else:
            most = INTEGERS[kind][0] - 1
        e = self.integer(scope, depth)
        count = str(self.random.randint(0, most)) if self.chance(0.5) else f"({self.wrap(e, EQUAL)} & {most})"
        if op == ">>":
            low, high = min(a.low, 0), max(a.high, 0)
        else:
            low, high = (0, 63 << 15) if INTEGERS[kind][1] else limits(kind)
        return Expression(f"{self.wrap(a, SHIFT)} {op} {count}", kind, low, high, SHIFT, (a,))

    def unary(self, scope: Scope, depth: int) -> Expression:
        op, a = self.pick(["-", "~", "!"]), self.integer(scope, depth)
        if op == "!":
            return Expression(f"!{self.wrap(a, PRIMARY)}", "bool", 0, 1, UNARY, (a,))
        kind = promoted(a.kind)
        if op == "-" and INTEGERS[kind][1] and a.low <= limits(kind)[0]:
            a = self.narrow(a)
            kind = promoted(a.kind)
        low, high = (-a.high, -a.low) if op == "-" else (-1 - a.high, -1 - a.low)
        if low < limits(kind)[0] or high > limits(kind)[1]:
            low, high = limits(kind)
        return Expression(f"{op}{self.wrap(a, PRIMARY)}", kind, low, high, UNARY, (a,))

    def cast(self, scope: Scope, depth: int) -> Expression:
        kind, a = self.pick(list(INTEGERS)), self.integer(scope, depth)
        text = f"static_cast<{kind}>({a.text})" if self.chance(0.2) else f"({kind}){self.wrap(a, PRIMARY)}"
        return Expression(text, kind, *converted(a, kind), UNARY, (a,))

    def condition(self, scope: Scope, depth: int) -> Expression:
        if depth > 0 and self.chance(0.25):
            op, level = self.pick([("&&", BOTH), ("||", EITHER)])
            a, b = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            if scope.kernel and self.chance(0.3):  # only where the left side holds may the right one load
                k = self.integer(scope, 1)
                where = f"((unsigned int){self.wrap(k, PRIMARY)} & 127u)"
                test = "<" if op == "&&" else ">="
                a = Expression(f"{where} {test} {INPUTS}", "bool", 0, 1, LESS)
                b = Expression(f"in_i[{where}] > {self.random.randint(-500, 500)}", "bool", 0, 1, LESS)
            return Expression(
                f"{self.wrap(a, EQUAL)} {op} {self.wrap(b, EQUAL)}", "bool", 0, 1, level, (a, b)
            )
        op, level = self.pick(
            [("<", LESS), ("<=", LESS), (">", LESS), (">=", LESS), ("==", EQUAL), ("!=", EQUAL)]
        )
        a, b = self.integer(scope, depth), self.integer(scope, depth)
        return Expression(f"{self.wrap(a, SHIFT)} {op} {self.wrap(b, SHIFT)}", "bool", 0, 1, level, (a, b))

    def test(self, scope: Scope) -> str:
        """A condition that some threads meet and others do not."""
        if self.chance(0.7):
            return self.condition(scope, 2).text
        e = self.integer(scope, 1)
        return f"{self.wrap(e, EQUAL)} & {self.pick([1, 2, 4, 6])}"

    def choice(self, scope: Scope, depth: int) -> Expression:
        test, a, b = self.condition(scope, depth), self.integer(scope, depth), self.integer(scope, depth)
        kind = common(a.kind, b.kind)
        (al, ah), (bl, bh) = converted(a, kind), converted(b, kind)
        text = f"{self.wrap(test, BOTH)} ? {self.wrap(a, BOTH)} : {self.wrap(b, BOTH)}"
        return Expression(text, kind, min(al, bl), max(ah, bh), CHOICE, (a, b))

    def built_in(self, scope: Scope, depth: int) -> Expression:
        a, b = self.integer(scope, depth), self.integer(scope, depth)
        what = self.random.randrange(6)
        if what == 0:
            return Expression(f"__popc((unsigned int)({a.text}))", "int", 0, 32)
        if what == 1:
            return Expression(f"__clz((int)({a.text}))", "int", 0, 32)
        if what == 2:
            return Expression(f"__ffs((int)({a.text}))", "int", 0, 32)
        if what == 3:
            text = f"__umulhi((unsigned int)({a.text}), (unsigned int)({b.text}))"
            return Expression(text, "unsigned int", *limits("unsigned int"))
        if what == 4:
            e = self.narrow(a)
            return Expression(f"abs((int){e.text})", "int", 0, 96) if e.high <= 96 else e
        kind, name = self.pick(["int", "unsigned int", "long long"]), self.pick(["min", "max"])
        (al, ah), (bl, bh) = converted(a, kind), converted(b, kind)
        pick = min if name == "min" else max
        text = f"{name}(({kind})({a.text}), ({kind})({b.text}))"
        return Expression(text, kind, pick(al, bl), pick(ah, bh))

    def of_float(self, scope: Scope, depth: int) -> Expression:
        """A float as an integer: in range, and exact before it is cut off."""
        e = self.integer(scope, depth)
        kind, real = (
            self.pick(["int", "unsigned char", "short", "long long", "unsigned int"]),
            self.pick(["float", "double"]),
        )
        quarter = "0.25f" if real == "float" else "0.25"
        text = f"({kind})(({real})(({e.text}) & 1023) * {quarter})"
        if kind in ("int", "long long", "short") and self.chance(0.5):
            text = f"({kind})(-{quarter} * (int)(({e.text}) & 1023))"
            return Expression(text, kind, -255, 0, UNARY)
        return Expression(text, kind, 0, 255, UNARY)

    def called(self, scope: Scope, depth: int) -> Expression:
        if not scope.kernel:
            return self.leaf(scope)
        a, b = self.integer(scope, depth), self.integer(scope, depth)
        if self.chance(0.3):
            where = self.pick(["loc", f"in_i + (({a.text}) & 31)", "&in_i[8]"])
            return Expression(f"peek_{self.seed}({where}, {self.wrap(b, CHOICE)})", "int", *limits("int"))
        if self.chance(0.3):
            return self.of_the_source(a)
        if not self.values:
            return a
        return Expression(f"{self.pick(self.values)}((int)({a.text}), {b.text})", "int", *limits("int"))

    def of_the_source(self, a: Expression) -> Expression:
        """An overload chosen by a type, or an element of constant memory."""
        if self.chance(0.4):
            text = f"table_{self.seed}[({a.text}) & 7]"
            return Expression(text, "short", *limits("short"))
        kind = self.pick([*OVERLOADS, "short", "unsigned char"])
        return Expression(f"over_{self.seed}(({kind})({a.text}))", "int", *limits("int"))

    # ------------------------------------------------------------------------- float expressions

    def real(self, scope: Scope, depth: int) -> Expression:
        if depth <= 0 or self.chance(0.1):
            return self.real_leaf(scope)
        what = self.random.randrange(8)
        a = self.real(scope, depth - 1)
        if what <= 3:
            op, level = self.pick([("+", PLUS), ("-", PLUS), ("*", TIMES)])
            if self.chance(0.2):
                e = self.integer(scope, 1)
                b = Expression(e.text, "float", level=e.level)  # an integer becomes what the other one is
                kind = a.kind
            else:
                b = self.real(scope, depth - 1)
                kind = "double" if "double" in (a.kind, b.kind) else "float"
            return Expression(
                f"{self.wrap(a, level)} {op} {self.wrap(b, level + 1)}", kind, level=level, parts=(a,)
            )
        if what == 4:
            b = self.real(scope, depth - 1)
            f = "f" if b.kind == "float" else ""
            under = f"(fabs{f}({b.text}) + 1.5{f})" if self.chance(0.6) else f"3.0{f}"
            kind = "double" if "double" in (a.kind, b.kind) else "float"
            return Expression(f"{self.wrap(a, TIMES)} / {under}", kind, level=TIMES, parts=(a,))
        f = "f" if a.kind == "float" else ""
        if what == 5:
            name = self.pick(["floor", "ceil", "trunc", "fabs"])
            inner = f"sqrt{f}(fabs{f}({a.text}))" if self.chance(0.4) else f"{name}{f}({a.text})"
            return Expression(inner, a.kind, parts=(a,))
        if what == 6:
            if self.chance(0.5):
                return Expression(
                    f"{self.pick(['fmax', 'fmin'])}{f}({a.text}, {self.pick(['1.5', '-2.5'])}{f})", a.kind
                )
            kind = self.pick(["float", "double"])
            return Expression(f"({kind}){self.wrap(a, PRIMARY)}", kind, level=UNARY, parts=(a,))
        b, test = self.real(scope, depth - 1), self.condition(scope, 1)
        kind = "double" if "double" in (a.kind, b.kind) else "float"
        text = f"{self.wrap(test, BOTH)} ? {self.wrap(a, BOTH)} : {self.wrap(b, BOTH)}"
        return Expression(text, kind, level=CHOICE, parts=(a, b))

    def real_leaf(self, scope: Scope) -> Expression:
        what = self.random.random()
        if what < 0.2:
            text = self.pick(["0.5f", "1.25f", "-2.0f", "0.1", "1e-3f", "3.0", ".75f", "1e2"])
            return Expression(text, "float" if text[-1] == "f" else "double", level=UNARY)
        if what < 0.35 and scope.kernel:
            array, size = self.pick([("in_f", INPUTS), ("floc", FLOAT_LOCALS)])
            return Expression(f"{array}[{self.index(scope, size)}]", "float")
        if what < 0.45 or not scope.floats:
            kind, e = self.pick(["float", "double"]), self.integer(scope, 1)
            return Expression(f"({kind})({e.text})", kind, level=UNARY)
        name, kind = self.pick(scope.floats)
        return Expression(name, kind)

    # -------------------------------------------------------------------------------- statements

    def assign(self, place: str, e: Expression) -> Node:
        """place = e, which shrinks to its parts."""
        parts = tuple(lambda part=part: self.assign(place, part) for part in e.parts)
        return Node(f"{place} = {e.text};", simpler=parts)

    def statements(self, scope: Scope, count: int, depth: int) -> tuple[Node, ...]:
        return tuple(self.statement(scope, depth) for _ in range(count))

    def statement(self, scope: Scope, depth: int) -> Node:
        simple = (
            [self.assign_integer] * 6 + [self.compound] * 4 + [self.assign_real] * (3 if scope.floats else 0)
        )
        if scope.kernel:
            simple += (
                [self.local] * 3 + [self.atomic] * 2 + [self.own] * 2 + [self.change] * 2 + [self.inexact]
            )
            simple += [self.pointer, self.anywhere, self.bytes, self.vector, self.table, self.chained]
            simple += [self.half_value]
            simple += [self.effect] * 2
            simple += [self.record, self.cached, self.copied, self.enum] if self.second else []
            simple += self.more_statements()
        nested = [self.branch] * 4 + [self.let]
        if scope.loops < 2:
            nested += [self.for_loop] * 2 + [self.while_loop, self.do_loop, self.two_ended, self.endless]
        if self.second:
            nested += [self.switch] * 2
        if scope.in_loop and self.chance(0.15):
            return Node(f"if ({self.test(scope)}) {self.pick(['break', 'continue'])};")
        if scope.may_return and self.chance(0.12):
            return Node(f"if ({self.test(scope)}) return{self.returned(scope)};")
        if depth > 0 and self.chance(0.4):
            return self.pick(nested)(scope, depth - 1)  # type: ignore[no-any-return]
        return self.pick(simple)(scope)  # type: ignore[no-any-return]

    def returned(self, scope: Scope) -> str:
        return f" {self.integer(scope, 1).text}" if scope.result else ""

    def assign_integer(self, scope: Scope) -> Node:
        return self.assign(self.pick(scope.integers)[0], self.integer(scope, self.pick([1, 2, 2, 3])))

    def compound(self, scope: Scope) -> Node:
        name, kind = self.pick([v for v in scope.integers if v[1] != "bool"])
        bits, signed = INTEGERS[kind]
        if signed and bits >= 32:
            return Node(f"{name} {self.pick(['&=', '|=', '^='])} {self.integer(scope, 2).text};")
        if self.chance(0.25):
            return Node(self.pick(["{}++;", "++{};", "{}--;", "--{};"]).format(name))
        what = self.random.randrange(4)
        e = self.integer(scope, 2)
        if what == 0:
            return Node(f"{name} {self.pick(['&=', '|=', '^='])} {e.text};")
        if what == 1:
            op = ">>=" if signed or bits < 32 else self.pick(["<<=", ">>="])
            return Node(f"{name} {op} {self.wrap(e, EQUAL)} & {bits - 1};")
        if what == 2:
            return Node(f"{name} {self.pick(['/=', '%='])} {self.pick([3, 7, 10])};")
        if signed or bits < 32:  # computed as an int, then cut off
            e = self.narrow(e)
            if INTEGERS[e.kind][0] > 32 or not INTEGERS[e.kind][1]:
                e = Expression(f"(int){e.text}", "int", e.low, e.high, UNARY)
        return Node(f"{name} {self.pick(['+=', '-=', '*='])} {e.text};")

    def assign_real(self, scope: Scope) -> Node:
        name, _ = self.pick(scope.floats)
        if self.chance(0.3):
            return Node(f"{name} {self.pick(['+=', '-=', '*='])} {self.real(scope, 1).text};")
        return self.assign(name, self.real(scope, 2))

    def inexact(self, scope: Scope) -> Node:
        x = f"fminf(fmaxf((float)({self.real(scope, 2).text}), -6.0f), 6.0f)"
        one = self.pick(
            [
                "sinf({})",
                "cosf({})",
                "expf({})",
                "tanhf({})",
                "logf(fabsf({}) + 1.0f)",
                "rsqrtf(fabsf({}) + 0.5f)",
                "powf(fabsf({}) + 0.5f, 1.5f)",
                "erff({})",
                "(float)exp((double){})",
                "fmaf({}, 0.3f, 1.1f)",
            ]
        )
        m = self.pick(["m0", "m1"])
        return Node(f"{m} = 0.5f * {m} + {one.format(x)};")

    def local(self, scope: Scope) -> Node:
        if self.chance(0.4):
            return Node(f"floc[{self.index(scope, FLOAT_LOCALS)}] = {self.real(scope, 2).text};")
        op = self.pick(["=", "=", "^=", "|="])
        return Node(f"loc[{self.index(scope, LOCALS)}] {op} {self.integer(scope, 2).text};")

    def atomic(self, scope: Scope) -> Node:
        """Each cell has one operation, so that the order does not matter; results are not used."""
        name, first = self.pick(
            [("Add", 0), ("Max", 4), ("Min", 6), ("Xor", 8), ("Or", 10), ("And", 11), ("Sub", 12)]
        )
        count = {0: 4, 4: 2, 6: 2, 8: 2, 10: 1, 11: 1, 12: 4}[first]
        value = f"(int)({self.integer(scope, 2).text})"
        if self.chance(0.25):
            return Node(
                f"atomicAdd(&acc_q[{self.index(scope, 8)}], "
                f"(unsigned long long)({self.integer(scope, 2).text}));"
            )
        cell = str(first) if count == 1 else f"{first} + ({self.index(scope, count)})"
        place = f"&acc[{cell}]" if self.chance(0.7) else f"acc + ({cell})"
        return Node(f"atomic{name}({place}, {value});")

    def own(self, scope: Scope) -> Node:
        """The thread's own cell of global memory: its old value may be used."""
        name = self.pick([name for name, kind in scope.integers if kind in ("int", "long long", "short")])
        value = f"(int)({self.integer(scope, 1).text})"
        call = self.pick(
            [
                f"atomicCAS(&own[gid], {self.random.randint(-3, 3)}, {value})",
                f"atomicExch(own + gid, {value})",
                f"(own[gid] ^= {value})",
                f"atomicAdd(&own[gid], {value})",
            ]
        )
        return Node(f"{name} = {call};")

    def change(self, scope: Scope) -> Node:
        if not self.changers:
            return self.assign_integer(scope)
        first = self.pick(["i0", "i1", f"loc[{self.index(scope, LOCALS)}]"])
        return Node(
            f"{self.pick(self.changers)}({first}, {self.pick(['u0', 'u1'])}, {self.pick(['f0', 'f1'])});"
        )

    def branch(self, scope: Scope, depth: int) -> Node:
        yes = Node(
            f"if ({self.test(scope)}) {{",
            self.statements(scope, self.random.randint(1, 3), depth),
            "}",
            hoist=True,
        )
        if self.chance(0.5):
            return yes
        no = Node("else {", self.statements(scope, self.random.randint(1, 2), depth), "}")
        return Node(body=(dataclasses.replace(yes, hoist=False, fixed=True), no))

    def let(self, scope: Scope, depth: int) -> Node:
        name, e = self.name("k"), self.integer(scope, 2)
        inner = scope.inside(known=[*scope.known, (name, e.kind, e.low, e.high)] * 2)
        return Node(f"{{ const {e.kind} {name} = {e.text};", self.statements(inner, 2, depth), "}")

    def for_loop(self, scope: Scope, depth: int) -> Node:
        name, most = self.name("j"), self.random.randint(1, 5)
        bound = str(most)
        if self.chance(0.5):
            most = self.pick([3, 7])
            bound = f"(int)(({self.integer(scope, 1).text}) & {most})"
        inner = scope.inside(
            known=[*scope.known, *[(name, "int", 0, most)] * 2], loops=scope.loops + 1, in_loop=True
        )
        body = self.statements(inner, self.random.randint(1, 3), depth)
        if self.chance(0.2):
            return Node(f"for (int {name} = {bound}; {name} > 0; --{name}) {{", body, "}")
        pragma = "#pragma unroll\n" if bound.isdigit() and self.chance(0.2) else ""
        # The bound is computed once: the body may change what it is made of.
        end = self.name("e")
        step = self.pick([f"++{name}", f"{name}++", f"{name} += 1"])
        head = f"{pragma}for (int {name} = 0, {end} = {bound}; {name} < {end}; {step}) {{"
        return Node(head, body, "}")

    def while_loop(self, scope: Scope, depth: int) -> Node:
        name = self.name("w")
        inner = scope.inside(known=[*scope.known, (name, "int", -1, 7)], loops=scope.loops + 1, in_loop=True)
        step = Node(f"{name} -= 1 + (int)(({self.integer(scope, 1).text}) & 1);", fixed=True)
        body = (step, *self.statements(inner, self.random.randint(1, 3), depth))
        start = Node(f"int {name} = (int)(({self.integer(scope, 1).text}) & 7);", fixed=True)
        return Node("{", (start, Node(f"while ({name} > 0) {{", body, "}", fixed=True)), "}")

    def do_loop(self, scope: Scope, depth: int) -> Node:
        name = self.name("w")
        inner = scope.inside(known=[*scope.known, (name, "int", 0, 5)], loops=scope.loops + 1, in_loop=True)
        body = (Node(f"++{name};", fixed=True), *self.statements(inner, self.random.randint(1, 2), depth))
        end = f"}} while ({name} < 4 && ({self.condition(scope, 1).text}));"
        return Node("{", (Node(f"int {name} = 0;", fixed=True), Node("do {", body, end, fixed=True)), "}")

    def switch(self, scope: Scope, depth: int) -> Node:
        """Cases with and without a break at the end; neither `break` nor `continue` of a loop inside."""
        inner = scope.inside(in_loop=False)
        cases = []
        for label in self.random.sample(range(5), self.random.randint(1, 4)):
            end = (Node("break;"),) if self.chance(0.7) else ()
            body = (*self.statements(inner, self.random.randint(1, 2), depth), *end)
            cases.append(Node(f"case {label}: {{", body, "}"))
        if self.chance(0.7):
            cases.insert(
                self.random.randint(0, len(cases)), Node("default: {", self.statements(inner, 1, depth), "}")
            )
        return Node(f"switch ((int)(({self.integer(scope, 1).text}) & 7)) {{", tuple(cases), "}")

    # ----------------------------------------------------- statements with pointers, vectors and small arrays

    def part(self, scope: Scope, most: int) -> str:
        """An integer from 0 to `most`, which is a power of two less one."""
        return f"(int)(({self.integer(scope, 1).text}) & {most})"

    def any_integer(self, scope: Scope) -> str:
        return self.pick([name for name, kind in scope.integers if kind != "bool"])  # type: ignore[no-any-return]

    def scoped(self, first: str, *others: Node) -> Node:
        """A declaration and what uses it."""
        return Node("{", (Node(first, fixed=True), *others), "}")

    def pointer(self, scope: Scope) -> Node:
        """A pointer into `loc` that moves by at most two."""
        p, name, e = self.name("p"), self.any_integer(scope), self.integer(scope, 1).text
        uses = [
            Node(f"{p} += {self.part(scope, 1)};"),
            Node(f"{name} = *{p}++;"),
            Node(f"{p}[{self.part(scope, 1)}] = {e};"),
            Node(f"*{p} ^= {e};"),
            Node(f"if ({p} > loc + 2) {name} = (int)({p} - loc);"),
        ]
        first = f"int* {p} = {self.condition(scope, 1).text} ? loc : &loc[3];"
        return self.scoped(first, *[use for use in uses if self.chance(0.7)])

    def anywhere(self, scope: Scope) -> Node:
        """A pointer to global memory in some threads, to a local array in others."""
        p, test, at = self.name("p"), self.condition(scope, 1).text, self.part(scope, 31)
        first = f"const int* {p} = {test} ? in_i + {at} : loc;"
        return self.scoped(first, Node(f"{self.any_integer(scope)} = {p}[{self.part(scope, 7)}];"))

    def bytes(self, scope: Scope) -> Node:
        name, e, at = self.any_integer(scope), self.integer(scope, 1).text, self.part(scope, 31)
        made = self.pick(
            [
                Node(f"{name} = ((unsigned char*)loc)[{at}];"),
                Node(f"((unsigned char*)loc)[{at}] = {e};"),
                Node(f"{name} = reinterpret_cast<unsigned int*>(loc)[{self.part(scope, 7)}] >> 3;"),
                Node(f"*(short*)&loc[{self.part(scope, 7)}] = {e};"),
            ]
        )
        return made  # type: ignore[no-any-return]

    def vector(self, scope: Scope) -> Node:
        v, name, at = self.name("v"), self.any_integer(scope), self.part(scope, 15)
        if self.chance(0.4):
            first = f"int2 {v} = make_int2({self.integer(scope, 1).text}, t);"
            return self.scoped(first, Node(f"{v}.x ^= {v}.y;"), Node(f"{name} = {v}.x;"))
        if self.chance(0.4) and scope.floats:
            real = self.pick(scope.floats)[0]
            first = f"const float4 {v} = *(const float4*)&in_f[4 * {at}];"
            return self.scoped(first, Node(f"{real} = {v}.{self.pick('xyzw')} - {v}.{self.pick('xyzw')};"))
        first = f"const int4 {v} = *reinterpret_cast<const int4*>(in_i + 4 * {at});"
        return self.scoped(first, Node(f"{name} = {v}.{self.pick('xyzw')} ^ {v}.{self.pick('xyzw')};"))

    def cached(self, scope: Scope) -> Node:
        """A read or a write that says which cache it means."""
        name, at = self.any_integer(scope), self.part(scope, 63)
        read = Node(f"{name} = {self.pick(['__ldcs', '__ldcg', '__ldca', '__ldg'])}(in_i + {at});")
        e, place = self.integer(scope, 1).text, f"&loc[{self.part(scope, 7)}]"
        return read if self.chance(0.5) else Node(f"{self.pick(['__stcs', '__stwt'])}({place}, {e});")

    def copied(self, scope: Scope) -> Node:
        """A few bytes of `loc`, copied or set."""
        count = self.pick(["4", "8", f"sizeof(int) * {self.part(scope, 3)}", self.part(scope, 15)])
        if self.chance(0.4):
            return Node(f"memset(&loc[{self.part(scope, 3)}], {self.integer(scope, 1).text}, {count});")
        source = self.pick([f"in_i + {self.part(scope, 31)}", f"(char*)(in_i + {self.part(scope, 31)}) + 1"])
        return Node(f"memcpy(&loc[{self.part(scope, 3)}], {source}, {count});")

    def enum(self, scope: Scope) -> Node:
        kind, e, name, test = (
            self.name("E"),
            self.name("e"),
            self.any_integer(scope),
            self.condition(scope, 1),
        )
        of = self.pick(["enum class", "enum"])
        value = f"(int){e}" if of == "enum class" else e
        first = f"{of} {kind} {{ A{kind}, B{kind} = {self.random.randint(1, 90)}, C{kind} = B{kind} * 2 }};"
        chosen = f"{kind} {e} = {test.text} ? {kind}::A{kind} : {kind}::C{kind};"
        cases = f"case {kind}::A{kind}: {name} ^= 5; break; default: {name} = {e} < {kind}::C{kind};"
        return self.scoped(
            first,
            Node(chosen, fixed=True),
            Node(f"{name} = {value} + {self.part(scope, 7)};"),
            Node(f"switch ({e}) {{ {cases} }}"),
        )

    def table(self, scope: Scope) -> Node:
        """A small array that lives in its block."""
        a, name, e = self.name("a"), self.any_integer(scope), self.integer(scope, 1).text
        if self.chance(0.5):
            first = f"const short {a}[4] = {{1, -2, 300}};"
            return self.scoped(first, Node(f"{name} = {a}[{self.part(scope, 3)}];"))
        return self.scoped(
            f"long long {a}[2][4] = {{{{1, 2}}, {{t}}}};",
            Node(f"{a}[{self.part(scope, 1)}][{self.part(scope, 3)}] = {e};"),
            Node(f"{name} = {a}[{self.part(scope, 1)}][{self.part(scope, 3)}];"),
        )

    def chained(self, scope: Scope) -> Node:
        one, two = self.random.sample([name for name, kind in scope.integers if kind != "bool"], 2)
        e = self.integer(scope, 2).text
        return Node(
            self.pick([f"{one} = {two} = {e};", f"{one} = ({two} ^= 3, {e});", f"{one} = {e}, {two} = 5;"])
        )

    def effect(self, scope: Scope) -> Node:
        """What happens in some threads only, on the right of && or || or in an arm of ?:"""
        test, e = self.condition(scope, 1), self.integer(scope, 1).text
        one, two, three = self.random.sample([name for name, kind in scope.integers if kind != "bool"], 3)
        left, op = self.wrap(test, EQUAL), self.pick(["&&", "||"])
        made = self.pick(
            [
                Node(f"if ({left} {op} ({one} = {e}) > 3) {two} = 1;"),
                Node(f"p0 = {left} {op} ++*(unsigned char*)&loc[{self.part(scope, 7)}];"),
                Node(f"{three} = {left} ? ({one} = {e}) : ({two} = 5);"),
                Node(f"{left} ? (void)({one} ^= {e}) : (void)(loc[{self.part(scope, 7)}] = 1);"),
                Node(f"if ({left} {op} atomicExch(own + gid, {self.part(scope, 63)}) > 0) {two} = 2;"),
                Node(f"p0 = {left} {op} (atomicAdd(&acc[{self.part(scope, 3)}], 1), true);"),
            ]
        )
        return made  # type: ignore[no-any-return]

    def record(self, scope: Scope) -> Node:
        """A struct by value with methods, and a union; only where `second` allows it."""
        r, name, kind = self.name("s"), self.any_integer(scope), f"Record_{self.seed}"
        steps = [
            f"if ({self.test(scope)}) {r}.turn({self.part(scope, 63)});",
            f"for (int i = 0; i < ({self.part(scope, 7)}); ++i) {name} ^= {r}.turn(i);",
            f"{r} ^= {self.part(scope, 63)};",
            f"{name} ^= {r}.sum() + Twice_{self.seed}<int, 3>{{{self.part(scope, 63)}}}({r}.sum());",
            f"Bytes_{self.seed} u{r};\nu{r}.whole = {r}.whole;\nu{r}.part[{self.part(scope, 3)}] ^= 9;\n"
            f"{r}.whole = u{r}.whole;",
        ]
        return self.scoped(
            f"{kind} {r} = {{{self.part(scope, 63)}, 0.5f, 7}};",
            Node(f"{r}.small = {self.integer(scope, 1).text};"),
            *(Node(step) for step in steps if self.chance(0.4)),
            Node(
                f"{kind} {r}b = {r};\n{r}b.whole ^= 5;\n"
                f"{name} = {r}b.whole ^ {r}.small ^ (int)sizeof({kind});"
            ),
        )

    def two_ended(self, scope: Scope, depth: int) -> Node:
        a, b = self.name("j"), self.name("j")
        inner = scope.inside(
            known=[*scope.known, (a, "int", 0, 7), (b, "int", 0, 7)], loops=scope.loops + 1, in_loop=True
        )
        head = f"for (int {a} = 0, {b} = {self.part(scope, 7)}; {a} < {b}; ++{a}, --{b}) {{"
        return Node(head, self.statements(inner, 2, depth), "}")

    def endless(self, scope: Scope, depth: int) -> Node:
        """while (true), which ends by break."""
        w = self.name("w")
        inner = scope.inside(known=[*scope.known, (w, "int", -1, 6)], loops=scope.loops + 1, in_loop=True)
        out = Node(f"if ({w}-- <= 0) break;", fixed=True)
        body = (out, *self.statements(inner, self.random.randint(1, 3), depth))
        loop = Node(self.pick(["while (true) {", "for (;;) {"]), body, "}", fixed=True)
        return self.scoped(f"int {w} = {self.part(scope, 7)};", loop)

    # ------------------------------------------- statements that all threads of a block execute

    def together(self, scope: Scope, warps: bool, depth: int) -> Node:
        choices = [self.exchange] * 3 + [self.shared_atomic] + [self.block_vote] * 2
        if warps:
            choices += [self.warp_value] * 4 + [self.warp_exchange]
        choices += self.more_together(warps)
        if depth > 0:
            choices += [self.uniform_loop, self.uniform_branch]
        made = self.pick(choices)
        if made in (self.uniform_loop, self.uniform_branch):
            return made(scope, warps, depth - 1)  # type: ignore[no-any-return]
        return made(scope)  # type: ignore[no-any-return]

    def more_statements(self) -> list[Callable[[Scope], Node]]:
        """What a later generation knows."""
        return []

    def more_together(self, warps: bool) -> list[Callable[[Scope], Node]]:
        """The same, of what all threads of a block execute; `warps`: all of its warps are complete."""
        return []

    def put(self, scope: Scope, kind: str) -> str:
        if kind == "half":
            e = self.real(scope, 2).text if self.chance(0.6) else self.integer(scope, 2).text
            return self.pick(["{}", "(half)({})", "__float2half({})"]).format(e)  # type: ignore[no-any-return]
        return self.real(scope, 2).text if kind in ("float", "double") else self.integer(scope, 2).text

    def get(self, scope: Scope, kind: str, place: str) -> Node:
        """A use of a place in shared memory."""
        if kind == "half":
            return self.get_half(scope, place)
        if kind in ("float", "double"):
            name = self.pick(scope.floats)[0]
            return self.pick([Node(f"{name} = {place};"), Node(f"{name} += {place};")])  # type: ignore[no-any-return]
        name = self.pick([name for name, k in scope.integers if k != "bool"])
        made = self.pick(
            [
                Node(f"{name} = {place};"),
                Node(f"{name} ^= {place};"),
                Node(f"if ({place} > {self.random.randint(-9, 99)}) {name} = {self.integer(scope, 1).text};"),
            ]
        )
        return made  # type: ignore[no-any-return]

    def get_half(self, scope: Scope, place: str) -> Node:
        """A half is only converted; towards an integer it stops at the ends of the type."""
        whole, real = self.any_integer(scope), self.pick(scope.floats)[0]
        kind = self.pick([kind for kind in INTEGERS if kind != "bool"])
        made = self.pick(
            [
                Node(f"{real} = {place};"),
                Node(f"{real} += __half2float({place});"),
                Node(f"{real} = {real} - (float){place};"),
                Node(f"{whole} = ({kind}){place};"),
                Node(f"{whole} ^= __half_as_ushort({place}) & 0x8000;"),
                Node(f"if ({place}) {whole} = {self.integer(scope, 1).text};"),
                Node(f"p0 = !{place};"),
            ]
        )
        return made  # type: ignore[no-any-return]

    def half_value(self, scope: Scope) -> Node:
        """Halves in a register, in a local array and in the bytes of another."""
        h, at, other = self.name("h"), self.part(scope, 3), self.part(scope, 15)
        if self.chance(0.3):  # never a nan, whose bits nobody promises
            first = f"half* {h} = (half*)loc;"
            return self.scoped(first, Node(f"{h}[{other}] = {self.integer(scope, 1).text};"),
                               self.get_half(scope, f"{h}[{self.part(scope, 15)}]"))  # fmt: skip
        if self.chance(0.5):
            first = f"half {h} = {self.put(scope, 'half')};"
            return self.scoped(first, self.get_half(scope, h))
        first = f"half {h}[4] = {{1.5f, {self.put(scope, 'half')}}};"
        return self.scoped(first, Node(f"{h}[{at}] = {self.put(scope, 'half')};"),
                           self.get_half(scope, f"{h}[{self.part(scope, 3)}]"))  # fmt: skip

    def exchange(self, scope: Scope) -> Node:
        array, kind = self.pick([*self.shared, ("dyn", "double")])
        reads = []
        for _ in range(self.random.randint(1, 3)):
            where = self.pick(
                [
                    f"(t + {self.random.randint(1, 9)}) % {self.threads}",
                    f"{self.threads - 1} - t",
                    self.index(scope, self.threads),
                    str(self.random.randrange(self.threads)),
                ]
            )
            read = self.get(scope, kind, f"{array}[{where}]")
            if self.chance(0.3):
                read = Node(f"if ({self.test(scope)}) {{", (read,), "}", hoist=True)
            reads.append(read)
        return Node(
            body=(
                Node(f"{array}[t] = {self.put(scope, kind)};", fixed=True),
                *self.statements(scope, self.random.randint(0, 1), 1),
                Node("__syncthreads();", fixed=True),
                *reads,
                *self.statements(scope, self.random.randint(0, 1), 1),
                Node("__syncthreads();", fixed=True),
            )
        )

    def shared_atomic(self, scope: Scope) -> Node:
        name = self.pick(["Add", "Xor", "Max", "Min"])
        call = Node(
            f"atomic{name}(&sh_i[{self.index(scope, self.threads)}], (int)({self.integer(scope, 2).text}));"
        )
        if self.chance(0.4):
            call = Node(f"if ({self.test(scope)}) {{", (call,), "}", hoist=True)
        return Node(
            body=(
                Node(f"sh_i[t] = {self.integer(scope, 1).text};", fixed=True),
                Node("__syncthreads();", fixed=True),
                call,
                Node("__syncthreads();", fixed=True),
                self.get(scope, "int", f"sh_i[{self.index(scope, self.threads)}]"),
                Node("__syncthreads();", fixed=True),
            )
        )

    def block_vote(self, scope: Scope) -> Node:
        """A barrier at which the block counts; what comes out is the same for all of its threads."""
        name = self.any_integer(scope)
        vote = f"__syncthreads_{self.pick(['count', 'and', 'or'])}({self.test(scope)})"
        made = self.pick(
            [
                Node(f"{name} = {vote};"),
                Node(f"{name} ^= {vote} * 3;"),
                Node(f"if ({vote} > {self.pick([0, 2])}) {{", self.statements(scope, 2, 1), "}"),
                Node(f"p0 = {vote} && (({self.integer(scope, 1).text}) & 1);"),
            ]
        )
        return made  # type: ignore[no-any-return]

    def warp_value(self, scope: Scope) -> Node:
        what = self.random.randrange(6)
        if what == 0:
            name = self.pick(["u0", "u1", "l0", "i0"])
            return Node(f"{name} = __ballot_sync(0xffffffffu, {self.test(scope)});")
        if what == 1:
            return Node(
                f"{self.pick(['p0', 'i0'])} = "
                f"{self.pick(['__any_sync', '__all_sync'])}(0xffffffff, {self.test(scope)});"
            )
        name, kind = self.pick(
            [
                v
                for v in (*scope.integers, *scope.floats)
                if v[1] in ("int", "unsigned int", "long long", "unsigned long long", "float", "double")
            ]
        )
        value = self.real(scope, 1).text if kind in ("float", "double") else self.integer(scope, 1).text
        width = self.pick(["", "", "", ", 8", ", 16", ", 32"])
        how = self.pick(["_up", "_down", "_xor", ""])
        lane = (
            f"(int)(({self.integer(scope, 1).text}) & 31)" if how == "" else str(self.random.randint(0, 17))
        )
        return Node(f"{name} = __shfl{how}_sync(0xffffffffu, ({kind})({value}), {lane}{width});")

    def warp_exchange(self, scope: Scope) -> Node:
        array, kind = self.pick(self.shared)
        where = f"(t & ~31) + (int)(({self.integer(scope, 1).text}) & 31)"
        return Node(
            body=(
                Node(f"{array}[t] = {self.put(scope, kind)};", fixed=True),
                Node("__syncwarp();", fixed=True),
                self.get(scope, kind, f"{array}[{where}]"),
                Node("__syncwarp();", fixed=True),
                Node("__syncthreads();", fixed=True),
            )
        )

    def uniform_loop(self, scope: Scope, warps: bool, depth: int) -> Node:
        name, count = self.name("r"), self.random.randint(1, 3)
        inner = scope.inside(known=[*scope.known, *[(name, "int", 0, count)] * 2])
        body = [self.together(inner, warps, depth), *self.statements(inner, 1, 1)]
        if self.chance(0.3):
            body.insert(
                1,
                Node(
                    f"if ({name} + (int)blockIdx.x == {self.random.randint(0, 2)}) "
                    f"{self.pick(['break', 'continue'])};"
                ),
            )
        if self.chance(0.3):
            vote = f"__syncthreads_{self.pick(['count', 'and', 'or'])}({self.test(inner)})"
            body.append(Node(f"if ({vote} > {self.pick([0, 1, 9])}) {self.pick(['break', 'continue'])};"))
        return Node(f"for (int {name} = 0; {name} < {count}; ++{name}) {{", tuple(body), "}")

    def uniform_branch(self, scope: Scope, warps: bool, depth: int) -> Node:
        test = self.pick(["blockIdx.x & 1", "n > 20", "blockIdx.y == 0 && n != 7", "gridDim.x > 1"])
        body = (self.together(scope, warps, depth), *self.statements(scope, 1, 1))
        return Node(f"if ({test}) {{", body, "}", hoist=True)

    # ---------------------------------------------------------------------------- whole programs

    def device_functions(self) -> None:
        peek = f"peek_{self.seed}"
        self.functions.append(
            (peek, f"__device__ int {peek}(const int* p, long long k) {{ return p[k & 7]; }}")
        )
        over, table = f"over_{self.seed}", f"table_{self.seed}"
        overloads = [f"__device__ int {over}({kind} x) {{ return {e}; }}" for kind, e in OVERLOADS.items()]
        self.functions.append((over, "\n".join(overloads)))
        first = ", ".join(str(self.random.randint(-99, 99)) for _ in range(6))
        self.functions.append((table, f"__constant__ short {table}[8] = {{{first}}};"))
        if self.second:
            record = f"Record_{self.seed}"
            self.functions.append(
                (
                    record,
                    RECORD.replace("Record", record)
                    .replace("Bytes", f"Bytes_{self.seed}")
                    .replace("Twice", f"Twice_{self.seed}"),
                )
            )
        for number in range(self.random.randint(0, 2)):
            name = f"value{number}_{self.seed}"
            scope = Scope(
                [("a", "int"), ("b", "unsigned int"), ("x", "short"), ("y", "long long")],
                [],
                [],
                kernel=False,
                may_return=True,
                result="int",
            )
            body = "\n".join(lines(self.statements(scope, self.random.randint(1, 4), 2)))
            last = self.integer(scope, 2).text
            head = f"__device__ {self.pick(['', '__forceinline__ '])}int {name}(int a, unsigned int b) {{"
            start = "    short x = a;\n    long long y = b * 5u;"
            self.functions.append((name, f"{head}\n{start}\n{body}\n    return {last};\n}}"))
            self.values.append(name)
        if self.chance(0.6):
            name = f"change_{self.seed}"
            scope = Scope(
                [("a", "int"), ("b", "unsigned int")], [("f", "float")], [], kernel=False, may_return=True
            )
            body = "\n".join(lines(self.statements(scope, self.random.randint(1, 4), 2)))
            self.functions.append(
                (name, f"__device__ void {name}(int& a, unsigned int& b, float& f) {{\n{body}\n}}")
            )
            self.changers.append(name)

    def kernel(self) -> RandomKernel:
        style = self.pick(self.styles)
        block = self.pick(
            {
                "plain": [(33, 1, 1), (7, 5, 1), (1, 1, 1), (64, 1, 1), (5, 3, 2)],
                "block": [(33, 1, 1), (48, 1, 1), (8, 8, 1), (96, 1, 1), (3, 4, 5)],
                "warp": [(32, 1, 1), (64, 1, 1), (16, 4, 1), (96, 1, 1)],
            }[style]
        )
        grid = self.pick([(1, 1), (3, 1), (2, 2)])
        self.threads = block[0] * block[1] * block[2]
        self.device_functions()
        known = [
            ("t", "int", 0, self.threads - 1),
            ("gid", "int", 0, self.threads * grid[0] * grid[1] - 1),
            ("n", "int", 1, self.threads * grid[0] * grid[1]),
            ("threadIdx.x", "unsigned int", 0, block[0] - 1),
            ("blockIdx.x", "unsigned int", 0, grid[0] - 1),
            ("blockDim.y", "unsigned int", block[1], block[1]),
        ]
        scope = Scope([(n, k) for n, k, _ in REGISTERS], [(n, k) for n, k, _ in FLOATS], known)
        body: list[Node] = []
        if style == "plain":
            free = scope.inside(may_return=True)
            if self.chance(0.5):
                body.append(Node("if (gid >= n) return;"))
            body += self.statements(free, self.random.randint(3, 8), 3)
        else:
            for _ in range(self.random.randint(*self.rounds)):
                body.append(self.together(scope, style == "warp", 2))
                body += self.statements(scope, self.random.randint(0, 2), 2)
        body += self.results(0)
        body += self.statements(scope.inside(may_return=True), self.random.randint(0, 3), 2)
        body += self.results(1)
        return RandomKernel(
            self.seed,
            f"random_{self.seed}",
            tuple(self.functions),
            self.prologue(style),
            tuple(body),
            grid,
            block,
            8 * self.threads if style != "plain" else 0,
        )

    def prologue(self, style: str) -> str:
        text = [f'extern "C" __global__ void random_{self.seed}({PARAMETERS}) {{']
        if style != "plain":
            text += ["extern __shared__ double dyn[];"]
            text += [f"__shared__ {kind} {name}[{self.threads}];" for name, kind in self.shared]
        text += [
            "const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);",
            f"const int gid = (blockIdx.x + gridDim.x * blockIdx.y) * {self.threads} + t;",
            *[f"{kind} {name} = {first};" for name, kind, first in (*REGISTERS, *FLOATS)],
            "float m0 = 0.0f, m1 = 1.0f;",
            f"int loc[{LOCALS}];",
            f"for (int j = 0; j < {LOCALS}; ++j) loc[j] = t - 10 * j;",
            f"float floc[{FLOAT_LOCALS}] = {{1.0f, 0.5f, f0}};",
        ]
        return "\n    ".join(text)

    @staticmethod
    def results(row: int) -> list[Node]:
        """Every register goes out; the second time only of threads that have not returned."""
        first = f"({row} * (int)(gridDim.x * gridDim.y * blockDim.x * blockDim.y * blockDim.z) + gid)"
        nodes = [
            Node(f"out[{first} * {len(REGISTERS)} + {i}] = {name};")
            for i, (name, _, _) in enumerate(REGISTERS)
        ]
        nodes += [Node(f"fout[{first} * 4 + {i}] = {name};") for i, (name, _, _) in enumerate(FLOATS)]
        if row == 0:
            nodes += [
                Node("for (int j = 0; j < 8; ++j) i0 ^= loc[j];"),
                Node("for (int j = 0; j < 4; ++j) f0 += floc[j];"),
            ]
        else:
            nodes += [Node("mout[2 * gid] = m0;"), Node("mout[2 * gid + 1] = m1;")]
        return nodes


def make(seed: int, second: bool = False) -> RandomKernel:
    """The kernel of a seed; `second` allows `switch` and structs as well."""
    return Maker(seed, second).kernel()


# ----------------------------------------------------------------------------------------- shrink


def smaller(nodes: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    """Every way to take something away, the large pieces first."""
    free = [i for i, node in enumerate(nodes) if not node.fixed]
    size = len(free)
    while size:
        for start in range(0, len(free), size):
            gone = set(free[start : start + size])
            yield tuple(node for i, node in enumerate(nodes) if i not in gone)
        size //= 2
    for i, node in enumerate(nodes):
        before, after = nodes[:i], nodes[i + 1 :]
        if node.hoist:
            yield (*before, *node.body, *after)
        for simpler in node.simpler:
            yield (*before, simpler(), *after)
        for body in smaller(node.body):
            yield (*before, dataclasses.replace(node, body=body), *after)


def shrink(
    kernel: RandomKernel, fails: Callable[[RandomKernel], bool], most_tries: int = 2000
) -> RandomKernel:
    """A kernel from which nothing can be taken away so that `fails` still holds; it holds of `kernel`."""
    tries, found = 0, True
    while found:
        found = False
        for body in smaller(kernel.body):
            tries += 1
            if tries > most_tries:
                return kernel
            candidate = dataclasses.replace(kernel, body=body)
            if fails(candidate):
                kernel, found = candidate, True
                break
    return kernel


def statement_count(kernel: RandomKernel) -> int:
    return len(re.findall(r"[;{]", "\n".join(lines(kernel.body))))
