"""Random kernels without races and without undefined behaviour, and a shrinker for those that fail.

`make(seed, *features)` gives the same kernel everywhere; the features are switched on by their names:

    classes     switch, structs with methods, unions and templates
    groups      cooperative groups, made where all threads of a block are, and of complete warps
    narrow      arithmetic of half and bfloat16
    volatile    volatile variables, members, references, pointers and shared arrays
    waits       a warp waits for another one, a block for blocks that begin before or after it

Integer expressions carry the interval of their values, so that signed arithmetic never overflows, shifts stay
in range and divisors are not zero. Floats never feed conditions or indices; a cast of a float to an integer
has a value in range that a float holds exactly. Functions whose last bits differ between libraries add to
variables of their own (`m0`, `m1`), which nothing else reads. Threads that run together in a group are known
by their number in the block and meet again behind it; bits are read of no nan, and a sum of floats has one
order. Between a flag and what is told by it stands a fence, and each gate is passed once, where all threads
of a block are, so that no wait lasts for ever. So all other results are the same bits wherever floating point
follows IEEE 754 and no product is fused with a sum.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable, Collection, Iterator
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


FEATURES = ("classes", "groups", "narrow", "volatile", "waits")

INTEGER_OPERATIONS = ("plus", "less", "greater", "bit_and", "bit_or", "bit_xor")
FLOAT_OPERATIONS = ("plus", "plus", "less", "greater")
EXCHANGED = ("int", "unsigned int", "long long", "unsigned long long", "float", "double")
NARROW = {"half": "half", "__nv_bfloat16": "bfloat16"}  # a type, and how its functions call it
PAIRS = {"half": "half2", "__nv_bfloat16": "__nv_bfloat162"}
TILES = (2, 4, 8, 16, 32)
# Functions of groups: of any type of group, of one that has forgotten what it is, of a tile's size.
GROUP_FUNCTIONS = """template <typename G> __device__ int count_SEED(const G& g, int v) {
    for (int i = 1; i < (int)g.size(); i *= 2) v += g.shfl_down(v, i) & 0xff;
    return g.shfl(v, 0) * 3 + (int)g.thread_rank();
}
template <unsigned N> __device__ unsigned int spread_SEED(const cg::thread_block_tile<N>& g, unsigned int v) {
    return cg::reduce(g, v, cg::plus<unsigned int>()) * N + g.meta_group_rank();
}
__device__ int next_SEED(cg::thread_group g, int* s, int v) {
    int rank = (int)g.thread_rank();
    g.sync();
    s[rank] = v;
    g.sync();
    v ^= s[(rank + 1) % (int)g.size()];
    g.sync();
    return v;
}"""

GATES, ROUNDS = 8, 3  # flags of one wait of blocks, which are four at most; waits of blocks in a kernel
# Functions with volatile parameters, overloads that differ in it, a struct with volatile members.
VOLATILE_FUNCTIONS = """__device__ int seen_SEED(const volatile int* p, long long k) { return p[k & 7] ^ *p; }
__device__ int bump_SEED(volatile int& r, int k) { r ^= k; return r & 255; }
__device__ int which_SEED(int* p) { return 1; }
__device__ int which_SEED(const int* p) { return 2; }
__device__ int which_SEED(volatile int* p) { return 3; }
__device__ int which_SEED(const volatile int* p) { return 4; }
__device__ int by_SEED(int& r) { return 1; }
__device__ int by_SEED(const int& r) { return 2; }
__device__ int by_SEED(volatile int& r) { return 3; }
__device__ int by_SEED(const volatile int& r) { return 4; }
template <typename T> __device__ T swap_SEED(volatile T& r, T by) { T old = r; r = by; return old; }
template <typename T> __device__ int size_SEED(T& r) { return (int)sizeof(r) + (r > 9); }
__device__ volatile int& cell_SEED(int* p, int k) { return p[k & 7]; }
__device__ void wait_SEED(const volatile int& flag, int wanted) {
    while (flag != wanted) {}
}
__device__ void spin_SEED(volatile int* flag, int wanted) {
    while (*flag != wanted) {}
}
struct Kept_SEED {
    volatile int v;
    int n;
    volatile short w[2];
    __device__ int turn(int k) { v = v ^ k; n ^= v & 7; return w[k & 1] + (n & 15); }
    __device__ volatile int& of() { return v; }
};"""
VOLATILE_NAMES = ("seen", "bump", "which", "by", "swap", "size", "cell", "wait", "spin", "Kept")


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
    waits: bool = False  # `gate` and `mail` come behind the other arguments: flags, and what they tell of
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
        waits = [np.zeros(GATES * ROUNDS, np.int32), np.full(ROUNDS * self.threads, -5, np.int32)]
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
            *(waits if self.waits else []),
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


NARROW_SHARED = (("sh_b", "__nv_bfloat16"), ("sh_p", "__nv_bfloat162"))
VOLATILE_SHARED = (("sh_v", "int"), ("sh_w", "float"), ("sh_u", "unsigned char"))


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


@dataclass(frozen=True)
class Group:
    """What the source calls it, and how many threads of a warp it has; `size` 0: only the kernel knows."""

    name: str
    size: int = 0

    @property
    def is_tile(self) -> bool:
        return self.size > 0


class Maker:
    def __init__(self, seed: int, features: Collection[str]) -> None:
        if unknown := set(features) - {*FEATURES}:
            raise ValueError(f"no features: {sorted(unknown)}; there are {', '.join(FEATURES)}")
        self.random = random.Random(seed)
        self.seed, self.features = seed, features
        self.names = 0
        self.functions: list[tuple[str, str]] = []
        self.values: list[str] = []  # functions that give an int
        self.changers: list[str] = []  # functions with references
        self.threads = 0
        self.passed = 0  # waits of blocks
        # Arrays with an element for each thread, and how often a block does something together, at most.
        self.shared = SHARED
        self.shared += NARROW_SHARED if "narrow" in features else ()
        self.shared += VOLATILE_SHARED if "volatile" in features else ()
        self.rounds = (2, 5) if "groups" in features else (1, 4)

    def style(self) -> str:
        """How the threads of a kernel work together: not at all, by blocks, or by complete warps as well."""
        if "waits" in self.features:
            return self.pick(("plain", "block", "block", "warp", "warp", "warp"))  # type: ignore[no-any-return]
        return self.pick(("plain", "block", *["warp"] * (4 if "groups" in self.features else 1)))  # type: ignore[no-any-return]

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
            simple += [self.record, self.cached, self.copied, self.enum] if "classes" in self.features else []
            simple += self.more_statements()
        nested = [self.branch] * 4 + [self.let]
        if scope.loops < 2:
            nested += [self.for_loop] * 2 + [self.while_loop, self.do_loop, self.two_ended, self.endless]
        if "classes" in self.features:
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
        """A struct by value with methods, and a union; only with `classes`."""
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
        if "waits" in self.features and depth == 2 and self.passed < ROUNDS and self.chance(0.4):
            return self.block_wait(scope, warps)  # where each thread comes once
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
        found: list[Callable[[Scope], Node]] = []
        if "narrow" in self.features:
            found += [self.narrow_value] * 4 + [self.narrow_pair] * 3 + [self.narrow_memory] * 2
            found += [self.narrow_test]
        if "volatile" in self.features:
            found += [self.volatile_local, self.volatile_real, self.volatile_record, self.volatile_call] * 2
            found += [self.volatile_pointer, self.volatile_reference, self.volatile_own] * 2
        return found

    def more_together(self, warps: bool) -> list[Callable[[Scope], Node]]:
        """What all threads of a block execute; `warps`: all of its warps are complete."""
        found: list[Callable[[Scope], Node]] = []
        if "groups" in self.features:
            found += [self.block_group] * 4
        if "groups" in self.features and warps:
            found += [self.tile] * 8 + [self.some_tiles] * 5 + [self.group_function] * 4
            found += [self.partition] * 6 + [self.run_together] * 6
        if "volatile" in self.features:
            found += [self.volatile_exchange] * 3
        if "waits" in self.features and warps and self.threads > 32:
            found += [self.warp_wait] * 8
        return found

    def put(self, scope: Scope, kind: str) -> str:
        if kind == "__nv_bfloat162":
            return self.pair_of(scope, "__nv_bfloat16", ())
        if kind in NARROW and self.chance(0.6):
            return self.narrow_expression(scope, kind, (), 2)
        if kind in NARROW:
            e = self.real(scope, 2).text if self.chance(0.6) else self.integer(scope, 2).text
            ways = ["{}", f"({kind})({{}})", f"__float2{NARROW[kind]}({{}})"]
            return self.pick(ways).format(e)  # type: ignore[no-any-return]
        return self.real(scope, 2).text if kind in ("float", "double") else self.integer(scope, 2).text

    def get(self, scope: Scope, kind: str, place: str) -> Node:
        """A use of a place in shared memory."""
        if kind == "__nv_bfloat162":
            part = self.pick(["{}.x", "{}.y", "__low2bfloat16({})", "__high2bfloat16(__lowhigh2highlow({}))"])
            return self.get_narrow(scope, "__nv_bfloat16", part.format(place))
        if kind in NARROW:
            return self.get_narrow(scope, kind, place)
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

    def half_value(self, scope: Scope) -> Node:
        """Halves in a register, in a local array and in the bytes of another."""
        h, at, other = self.name("h"), self.part(scope, 3), self.part(scope, 15)
        if self.chance(0.3):  # never a nan, whose bits nobody promises
            first = f"half* {h} = (half*)loc;"
            return self.scoped(first, Node(f"{h}[{other}] = {self.integer(scope, 1).text};"),
                               self.get_narrow(scope, "half", f"{h}[{self.part(scope, 15)}]"))  # fmt: skip
        if self.chance(0.5):
            first = f"half {h} = {self.put(scope, 'half')};"
            return self.scoped(first, self.get_narrow(scope, "half", h))
        first = f"half {h}[4] = {{1.5f, {self.put(scope, 'half')}}};"
        return self.scoped(first, Node(f"{h}[{at}] = {self.put(scope, 'half')};"),
                           self.get_narrow(scope, "half", f"{h}[{self.part(scope, 3)}]"))  # fmt: skip

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

    # ------------------------------------------------------------------------ half and bfloat16

    def get_narrow(self, scope: Scope, kind: str, place: str) -> Node:
        """A use of a half or bfloat16; of a nan the sign is not read."""
        whole, real, word = self.any_integer(scope), self.pick(scope.floats)[0], NARROW[kind]
        to = self.pick([name for name in INTEGERS if name != "bool"])
        mode, of = self.pick(["rn", "rz", "rd", "ru"]), self.pick(["int", "uint"])
        made = self.pick(
            [
                Node(f"{real} = {place};"),
                Node(f"{real} += __{word}2float({place});"),
                Node(f"{real} = {real} - (float){place};"),
                Node(f"{whole} = ({to}){place};"),
                Node(f"{whole} ^= __{word}2{of}_{mode}({place});"),
                Node(f"{whole} ^= __{word}_as_ushort(__hmax({place}, ({kind})-100));"),
                Node(f"if ({place}) {whole} = {self.integer(scope, 1).text};"),
                Node(f"p0 = !{place};"),
                Node(f"{whole} = __hisnan({place}) + 2 * __hisinf({place});"),
            ]
        )
        return made  # type: ignore[no-any-return]

    def narrow_leaf(self, scope: Scope, kind: str, names: tuple[str, ...]) -> str:
        if names and self.chance(0.6):
            return self.pick(names)  # type: ignore[no-any-return]
        word, e, real = NARROW[kind], self.integer(scope, 1).text, self.real(scope, 1).text
        ways = [
            f"({kind})({real})", f"__float2{word}_rn({real})", f"__double2{word}({real})", f"({kind})({e})",
            f"__int2{word}_rn((int)({e}))", f"__ll2{word}_rn((long long)({e}))",
            f"__uint2{word}_rn((unsigned int)({e}))", f"__ull2{word}_rn((unsigned long long)({e}))",
            f"__short2{word}_rn((short)({e}))", f"__ushort_as_{word}((unsigned short)({e}) & 0xbfff)",
        ]  # fmt: skip
        if kind == "__nv_bfloat16" and scope.kernel:  # the upper half of a float
            ways.append(f"((const __nv_bfloat16*)in_f)[2 * {self.part(scope, 63)} + 1]")
        return self.pick(ways)  # type: ignore[no-any-return]

    def narrow_expression(self, scope: Scope, kind: str, names: tuple[str, ...], depth: int) -> str:
        """A value of one of the types of two bytes, of variables of that type and of other numbers."""
        if depth <= 0 or self.chance(0.1):
            return self.narrow_leaf(scope, kind, names)
        a, b, c = (self.narrow_expression(scope, kind, names, depth - 1) for _ in "abc")
        two = self.pick(
            ["__hadd", "__hsub", "__hmul", "__hdiv", "__hmax", "__hmin", "__hadd_rn", "__hmul_rn"]
        )
        one = self.pick(["hfloor", "hceil", "htrunc", "hrint", "__habs", "__hneg", "hrcp"])
        made = self.pick(
            [f"({a} {self.pick('+-*/')} {b})"] * 4
            + [f"{two}({a}, {b})"] * 3
            + [f"__hfma({a}, {b}, {c})"] * 2
            + [f"{one}({a})", f"hsqrt(__habs({a}))", f"-{a}" if a[0] != "-" else a]
            + [f"({a} {self.pick(['<', '<=', '==', '!=', '>', '>='])} {b} ? {a} : {c})"]
        )
        return made  # type: ignore[no-any-return]

    def narrow_value(self, scope: Scope) -> Node:
        kind, h, g = self.pick(list(NARROW)), self.name("h"), self.name("h")
        names = (h, g)
        steps = [
            Node(f"{h} = {self.narrow_expression(scope, kind, names, 2)};"),
            Node(
                f"{g} {self.pick(['+=', '-=', '*=', '/='])} {self.narrow_expression(scope, kind, names, 1)};"
            ),
            Node(f"{self.pick(['++{}', '{}--', '--{}', '{}++']).format(h)};"),
            Node(f"if ({self.test(scope)}) {h} = {self.narrow_expression(scope, kind, names, 1)};"),
            self.get_narrow(scope, kind, h),
        ]
        first = f"{kind} {h} = {self.put(scope, kind)}, {g} = {self.put(scope, kind)};"
        uses = [step for step in steps if self.chance(0.5)]
        return self.scoped(first, *uses, self.get_narrow(scope, kind, self.pick(names)))

    def narrow_test(self, scope: Scope) -> Node:
        kind = self.pick(list(NARROW))
        a, b = (self.narrow_expression(scope, kind, (), 1) for _ in "ab")
        compare = f"__h{self.pick(['eq', 'ne', 'lt', 'le', 'gt', 'ge'])}{self.pick(['', 'u'])}"
        body = self.statements(scope, 1, 0)
        return Node(f"if ({compare}({a}, {b})) {{", body, "}", hoist=True)

    def pair_of(self, scope: Scope, kind: str, names: tuple[str, ...]) -> str:
        """Two of them, made of numbers or of pairs that are there."""
        word, pair = NARROW[kind], PAIRS[kind]
        a, b = (self.narrow_leaf(scope, kind, ()) for _ in "ab")
        if names and self.chance(0.7):
            p, q = self.pick(names), self.pick(names)
            two = self.pick(
                ["__hadd2", "__hmul2", "__hmax2", "__hmin2", f"__lows2{word}2", f"__highs2{word}2"]
            )
            ways = [
                f"{p} {self.pick('+-*/')} {q}", f"{two}({p}, {q})", f"__hfma2({p}, {q}, {self.pick(names)})",
                f"__lowhigh2highlow({p})", f"__low2{word}2({p})", f"h2sqrt(__habs2({p}))", f"-{p}",
            ]  # fmt: skip
            return self.pick(ways)  # type: ignore[no-any-return]
        ways = [
            f"make_{word}2({a}, {b})", f"{pair}({a}, {b})", f"__{word}2{word}2({a})",
            f"__halves2{word}2({a}, {b})", f"__floats2{word}2_rn({self.real(scope, 1).text}, 0.3f)",
        ]  # fmt: skip
        return self.pick(ways)  # type: ignore[no-any-return]

    def narrow_pair(self, scope: Scope) -> Node:
        kind, p, q = self.pick(list(NARROW)), self.name("h"), self.name("h")
        real = self.pick(scope.floats)[0]
        steps = [
            Node(f"{p} = {self.pair_of(scope, kind, (p, q))};"),
            Node(f"{q} {self.pick(['+=', '-=', '*='])} {self.pair_of(scope, kind, (p, q))};"),
            Node(f"{q}.{self.pick('xy')} = {self.narrow_expression(scope, kind, (f'{p}.x', f'{q}.y'), 1)};"),
            Node(f"{real} = __{NARROW[kind]}22float2({p}).{self.pick('xy')} + __high2float({q});"),
        ]
        last = self.get_narrow(scope, kind, f"{self.pick([p, q])}.{self.pick('xy')}")
        first = f"{PAIRS[kind]} {p} = {self.pair_of(scope, kind, ())}, {q} = {self.pair_of(scope, kind, ())};"
        return self.scoped(first, *[step for step in steps if self.chance(0.7)], last)

    def narrow_memory(self, scope: Scope) -> Node:
        """In the thread's own cell of global memory, or in its local array; a nan is not stored."""
        kind, p, h = self.pick(list(NARROW)), self.name("p"), self.name("h")
        place = self.pick(["own + gid", "loc", "&loc[3]"])
        value = f"__hmax({self.put(scope, kind)}, ({kind})-100)"
        if self.chance(0.4):
            first = f"{PAIRS[kind]}* {p} = ({PAIRS[kind]}*)({place});"
            store = f"*{p} = __hmax2({self.pair_of(scope, kind, ())}, __float2{NARROW[kind]}2_rn(-100.0f));"
            return self.scoped(
                first, Node(store, fixed=True), self.get_narrow(scope, kind, f"{p}->{self.pick('xy')}")
            )
        at = self.part(scope, 1)
        return self.scoped(
            f"{kind}* {p} = ({kind}*)({place});",
            Node(f"for (int {h} = 0; {h} < 2; ++{h}) {p}[{h}] = ({kind})(0.5f * t);", fixed=True),
            Node(f"{p}[{at}] = {value};"),
            self.get_narrow(scope, kind, f"{p}[{self.part(scope, 1)}]"),
        )

    # ------------------------------------------------------------------------- groups of threads

    def exchanged(self, scope: Scope) -> tuple[str, str, str]:
        """A variable, the type that a group works with, and a value of it."""
        known = scope.integers if self.chance(0.6) else scope.floats
        name, kind = self.pick([v for v in known if v[1] in EXCHANGED])
        if kind in ("float", "double"):
            return name, kind, f"({kind})({self.real(scope, 1).text})"
        return name, kind, f"({kind})({self.integer(scope, 1).text})"

    def combined(self, scope: Scope, g: Group) -> Node:
        """reduce and scans; a sum of signed numbers does not overflow."""
        name, kind, value = self.exchanged(scope)
        real = kind in ("float", "double")
        operation = self.pick(FLOAT_OPERATIONS if real else INTEGER_OPERATIONS)
        if operation == "plus" and not real and INTEGERS[kind][1]:
            value = f"({kind}){self.narrow(self.integer(scope, 1)).text}"
        what = self.pick(["reduce", "reduce", "inclusive_scan", "exclusive_scan"])
        if what != "reduce" and operation == "plus" and self.chance(0.5):
            return Node(f"{name} = cg::{what}({g.name}, {value});")
        return Node(f"{name} = cg::{what}({g.name}, {value}, cg::{operation}<{kind}>());")

    def combined_narrow(self, scope: Scope, g: Group) -> Node:
        kind, h = self.pick(list(NARROW)), self.name("h")
        value = self.put(scope, kind)
        call = self.pick(
            ["cg::reduce({0}, {1}, cg::{2}<{3}>())", "cg::inclusive_scan({0}, {1}, cg::{2}<{3}>())"]
        )
        use = call.format(g.name, h, self.pick(FLOAT_OPERATIONS), kind)
        if self.chance(0.4):
            use = f"{g.name}.{self.pick(['shfl_up', 'shfl_down'])}({h}, {self.random.randint(0, 5)})"
        return self.scoped(f"{kind} {h} = {value};", Node(f"{h} = {use};"), self.get_narrow(scope, kind, h))

    def shuffled(self, scope: Scope, g: Group) -> Node:
        name, _, value = self.exchanged(scope)
        how = self.pick(["shfl", "shfl_up", "shfl_down", *(["shfl_xor"] if g.is_tile else [])])
        if how == "shfl":
            by = f"(int)(({self.integer(scope, 1).text}) & 31)"
            if not g.is_tile:
                by = f"(int)((unsigned int)({self.integer(scope, 1).text}) % {g.name}.size())"
        else:
            by = str(self.random.randint(0, g.size - 1 if how == "shfl_xor" else 17))
        return Node(f"{name} = {g.name}.{how}({value}, {by});")

    def voted(self, scope: Scope, g: Group) -> Node:
        what, name = self.pick(["any", "all", "ballot", "ballot"]), self.any_integer(scope)
        if self.chance(0.3):  # the same for all of the group
            test = f"{g.name}.{what}({self.test(scope)})"
            inner = self.use_of_group(scope, g, 0)
            return Node(f"if ({test} & 1) {{", (inner, *self.statements(scope, 1, 0)), "}")
        return Node(f"{name} {self.pick(['=', '^='])} {g.name}.{what}({self.test(scope)});")

    def ranks(self, scope: Scope, g: Group) -> Node:
        number = self.pick(["thread_rank", "size", "num_threads", "meta_group_rank", "meta_group_size"])
        name = self.any_integer(scope)
        return Node(f"{name} = {g.name}.thread_rank() * 3 + {g.name}.{number}();")

    def looped(self, scope: Scope, g: Group) -> Node:
        """As often as one of the group says."""
        j, e = self.name("j"), self.name("e")
        count = f"(int)({g.name}.shfl((int)({self.integer(scope, 1).text}), 0) & 3)"
        inner = scope.inside(known=[*scope.known, (j, "int", 0, 3)])
        body = (self.use_of_group(inner, g, 0), *self.statements(inner, 1, 0))
        return Node(f"for (int {j} = 0, {e} = {count}; {j} < {e}; ++{j}) {{", body, "}")

    def through_memory(self, scope: Scope, g: Group) -> Node:
        """Of a tile, which waits for nobody else."""
        array, kind = self.pick(self.shared)
        wait = self.pick([f"{g.name}.sync();", f"cg::sync({g.name});"])
        where = f"(t & ~{g.size - 1}) + (int)(({self.integer(scope, 1).text}) & {g.size - 1})"
        return Node(
            body=(
                Node(wait, fixed=True),
                Node(f"{array}[t] = {self.put(scope, kind)};", fixed=True),
                Node(wait, fixed=True),
                self.get(scope, kind, f"{array}[{where}]"),
                Node(wait, fixed=True),
            )
        )

    def use_of_group(self, scope: Scope, g: Group, depth: int = 1) -> Node:
        uses = (
            [self.combined] * 3
            + [self.shuffled] * 3
            + [self.combined_narrow, self.combined_narrow, self.ranks]
        )
        if depth:
            uses += [self.voted] * 2 + [self.looped]
        if g.is_tile:
            uses.append(self.through_memory)
        return self.pick(uses)(scope, g)  # type: ignore[no-any-return]

    def uses_of_group(self, scope: Scope, g: Group) -> list[Node]:
        return [self.use_of_group(scope, g) for _ in range(self.random.randint(1, 3))]

    def tile_of(self, g: str) -> tuple[Group, str]:
        """A tile of the block, and its declaration."""
        size = self.pick(TILES)
        larger = [n for n in TILES if n > size]
        of = f"cg::tiled_partition<{self.pick(larger)}>(block)" if larger and self.chance(0.4) else "block"
        kind = self.pick(["auto", "const auto", f"cg::thread_block_tile<{size}>"])
        return Group(g, size), f"{kind} {g} = cg::tiled_partition<{size}>({of});"

    def closed(self, first: str, *uses: Node) -> Node:
        """A group and its uses, behind which the block waits: shared memory may be used otherwise."""
        return Node(body=(self.scoped(first, *uses), Node("__syncthreads();", fixed=True)))

    def tile(self, scope: Scope) -> Node:
        g, first = self.tile_of(self.name("g"))
        return self.closed(first, *self.uses_of_group(scope, g))

    def some_tiles(self, scope: Scope) -> Node:
        """Whole tiles go one way, and others another one."""
        g, first = self.tile_of(self.name("g"))
        test = self.pick(
            [f"{g.name}.meta_group_rank() & 1", f"t / {g.size} % 3 == 1", f"{g.name}.any(t & 8)"]
        )
        uses = Node(f"if ({test}) {{", (*self.uses_of_group(scope, g), *self.statements(scope, 1, 0)), "}")
        if self.chance(0.5):
            return self.closed(first, uses)
        return self.closed(first, uses, Node("else {", (self.use_of_group(scope, g),), "}"))

    def partition(self, scope: Scope) -> Node:
        """The lanes that say the same."""
        g, whole = self.name("g"), f"cg::tiled_partition<{self.pick(TILES)}>(block)"
        label = self.pick(["(int)(({}) & 3)", "(unsigned char)({}) % 3", "(long long)({}) % 4"])
        call = f"cg::labeled_partition({whole}, {label.format(self.integer(scope, 1).text)})"
        if self.chance(0.4):
            call = f"cg::binary_partition({whole}, {self.test(scope)})"
        kind, uses = self.pick(["auto", "cg::coalesced_group"]), self.uses_of_group(scope, Group(g))
        uses.append(self.ranks(scope, Group(g)))
        if self.chance(0.3):
            part = self.name("g")
            smaller = f"{kind} {part} = cg::tiled_partition({g}, {self.pick(TILES[:4])});"
            uses = [self.scoped(smaller, *self.uses_of_group(scope, Group(part))), *uses[1:]]
        return self.closed(f"{kind} {g} = {call};", *uses)

    def run_together(self, scope: Scope) -> Node:
        """coalesced_threads() of lanes that are known, which all others of the warp wait for behind."""
        k = self.random.randint(1, 5)
        test = self.pick(
            [f"t % {k + 1} == 0", f"(t & 31) > {3 * k}", f"t & {2**k}", "block.thread_rank() < 40", "true"]
        )

        def branch(head: str) -> Node:
            g = Group(self.name("g"))
            first = Node(f"cg::coalesced_group {g.name} = cg::coalesced_threads();", fixed=True)
            return Node(head, (first, *self.uses_of_group(scope, g)), "}", fixed=True)

        yes = branch(f"if ({test}) {{")
        no = [branch("else {")] if self.chance(0.4) else []
        return Node(body=(yes, *no, Node("__syncthreads();", fixed=True)))

    def block_group(self, scope: Scope) -> Node:
        """The block as a group: its barrier, its numbers."""
        name = self.any_integer(scope)
        if self.chance(0.4):
            number = self.pick(
                ["thread_rank()", "size()", "num_threads()", "group_index().x", "group_dim().y"]
            )
            return Node(f"{name} = block.{number} + {self.part(scope, 7)};")
        wait = self.pick(["block.sync();", "cg::sync(block);"])
        array, kind = self.pick(self.shared)
        where = self.pick(["block.size() - 1 - block.thread_rank()", f"(t + 5) % {self.threads}"])
        return Node(
            body=(
                Node(f"{array}[block.thread_rank()] = {self.put(scope, kind)};", fixed=True),
                Node(wait, fixed=True),
                self.get(scope, kind, f"{array}[{where}]"),
                Node(wait, fixed=True),
            )
        )

    def group_function(self, scope: Scope) -> Node:
        name, e, s = self.any_integer(scope), self.integer(scope, 1).text, self.seed
        size = self.pick(TILES)
        tile = f"cg::tiled_partition<{size}>(block)"
        call = self.pick(
            [
                f"count_{s}({tile}, (int)(({e}) & 255))",
                f"spread_{s}<{size}>({tile}, (unsigned int)({e}))",
                f"next_{s}(block, sh_i, (int)({e}))",
                f"next_{s}(cg::tiled_partition(block, {size}), sh_i + t / {size} * {size}, (int)({e}))",
            ]
        )
        return Node(body=(Node(f"{name} = {call};"), Node("__syncthreads();", fixed=True)))

    # -------------------------------------------------------------------------------------- volatile

    def whole(self, scope: Scope, depth: int = 1) -> str:
        return f"(int)({self.integer(scope, depth).text})"

    def volatile_local(self, scope: Scope) -> Node:
        kind, v, name = (
            self.pick([k for k in INTEGERS if k != "bool"]),
            self.name("v"),
            self.any_integer(scope),
        )
        e, s = self.integer(scope, 1).text, self.seed
        steps = [
            Node(f"{v} {self.pick(['=', '^=', '|=', '&='])} {self.integer(scope, 2).text};"),
            Node(f"{name} ^= {v} & {self.integer(scope, 1).text};"),
            Node(f"if ({v} > {self.random.randint(-9, 99)}) {v} = {self.integer(scope, 1).text};"),
            Node(f"{name} = swap_{s}({v}, ({kind})({e}));"),
            Node(f"{name} = size_{s}({v});"),
        ]
        kept = [step for step in steps if self.chance(0.5)]
        word = self.pick([f"volatile {kind}", f"{kind} volatile"])
        return self.scoped(f"{word} {v} = {e};", *kept, Node(f"{name} = {v};"))

    def volatile_real(self, scope: Scope) -> Node:
        if not scope.floats:
            return self.volatile_local(scope)
        kind, v, real = self.pick(["float", "double"]), self.name("v"), self.pick(scope.floats)[0]
        steps = [
            Node(f"{v} {self.pick(['+=', '-=', '*=', '='])} {self.real(scope, 1).text};"),
            Node(f"volatile {kind}& r{v} = {v};\nr{v} = {real} - r{v};"),
            Node(f"{real} = {v} * 0.5f;"),
        ]
        first = f"volatile {kind} {v} = {self.real(scope, 1).text};"
        return self.scoped(first, *[step for step in steps if self.chance(0.6)], Node(f"{real} += {v};"))

    def volatile_pointer(self, scope: Scope) -> Node:
        """A volatile pointer into `loc` that moves by at most two."""
        p, name, e, s = self.name("p"), self.any_integer(scope), self.integer(scope, 1).text, self.seed
        uses = [
            Node(f"{p} += {self.part(scope, 1)};"),
            Node(f"{name} = *{p}++;"),
            Node(f"{p}[{self.part(scope, 1)}] = {e};"),
            Node(f"*{p} ^= {e};"),
            Node(f"{name} = bump_{s}(*{p}, {self.whole(scope)}) + seen_{s}(loc, {self.part(scope, 15)});"),
            Node(f"*(int*){p} = {self.whole(scope)};"),
            Node(f"if ({p} > loc + 2) {name} = (int)({p} - loc) + which_{s}({p});"),
            Node(f"((volatile unsigned char*){p})[{self.part(scope, 3)}] = {e};"),
        ]
        word = self.pick(["volatile int*", "volatile int* volatile"])
        first = f"{word} {p} = {self.condition(scope, 1).text} ? loc : &loc[3];"
        return self.scoped(first, *[use for use in uses if self.chance(0.4)])

    def volatile_reference(self, scope: Scope) -> Node:
        r, name, at = self.name("r"), self.any_integer(scope), f"loc[{self.part(scope, 7)}]"
        first = f"volatile int& {r} = {self.pick([at, 'i0', 'i1'])};"
        uses = [
            Node(f"{r} ^= {self.whole(scope)};"),
            Node(f"{name} ^= {r} & 0xff;"),
            Node(f"const volatile int& c{r} = {r};\n{name} = c{r} | 1;"),
            Node(f"cell_{self.seed}(loc, {self.part(scope, 7)}) = {r};"),
            Node(f"{r} = static_cast<volatile int&>(i0) ^ const_cast<int&>({r});"),
        ]
        return self.scoped(first, *[use for use in uses if self.chance(0.6)])

    def volatile_own(self, scope: Scope) -> Node:
        """The thread's own cell of global memory."""
        p, name = self.name("p"), self.any_integer(scope)
        uses = [
            Node(f"*{p} = {self.whole(scope)};"),
            Node(f"{name} = {p}[0] ^ 5;"),
            Node(f"{name} = atomicExch((int*){p}, {self.part(scope, 63)});"),
            Node(f"{name} = __ldcv(own + gid);"),
        ]
        return self.scoped(f"volatile int* {p} = own + gid;", *[use for use in uses if self.chance(0.6)])

    def volatile_call(self, scope: Scope) -> Node:
        name, s, v = self.any_integer(scope), self.seed, self.name("v")
        call = self.pick(
            [
                f"which_{s}(loc) + 10 * which_{s}(in_i) + 100 * which_{s}(&{v}) + by_{s}({v})",
                f"by_{s}(i0) + 10 * by_{s}({self.part(scope, 7)}) + 100 * by_{s}(t) + which_{s}(&c{v})",
                f"seen_{s}(in_i + {self.part(scope, 31)}, {self.integer(scope, 1).text})",
                f"seen_{s}(loc, {v}) ^ bump_{s}({v}, {self.whole(scope)})",
                f"bump_{s}(loc[{self.part(scope, 7)}], {v}) + (cell_{s}(loc, 3) & 7) + by_{s}(c{v})",
            ]
        )
        first = f"volatile int {v} = {self.whole(scope)};\nconst volatile int c{v} = {v};"
        return self.scoped(first, Node(f"{name} = {call};"), Node(f"{name} ^= {v} + (c{v} & 0);"))

    def volatile_record(self, scope: Scope) -> Node:
        r, name, kind = self.name("s"), self.any_integer(scope), f"Kept_{self.seed}"
        steps = [
            f"{r}.of() ^= {self.whole(scope)};",
            f"{name} = {r}.turn({self.part(scope, 63)});",
            f"volatile int* p{r} = &{r}.v;\n*p{r} = {self.whole(scope)};",
            f"volatile {kind}& q{r} = {r};\nq{r}.n = {self.part(scope, 63)};\n{name} ^= q{r}.w[1];",
            f"{kind} b{r} = {r};\nb{r}.v ^= 1;\n{name} = b{r}.v;",
            f"{r}.w[{self.part(scope, 1)}] = {self.integer(scope, 1).text};",
        ]
        return self.scoped(
            f"{kind} {r} = {{{self.part(scope, 63)}, {self.part(scope, 63)}, {{1, 2}}}};",
            *[Node(step) for step in steps if self.chance(0.4)],
            Node(f"{name} = {r}.v ^ {r}.n ^ {r}.w[{self.part(scope, 1)}];"),
        )

    def volatile_exchange(self, scope: Scope) -> Node:
        """Through an array in shared memory that is volatile for this time only."""
        array, kind = self.pick([one for one in self.shared if one[1] in ("int", "float", "signed char")])
        p, where = self.name("p"), f"(t + {self.random.randint(1, 9)}) % {self.threads}"
        put = Node(f"{p}[t] = {self.put(scope, kind)};", fixed=True)
        read, wait = self.get(scope, kind, f"{p}[{where}]"), Node("__syncthreads();", fixed=True)
        return self.scoped(f"volatile {kind}* {p} = {array};", put, wait, read, wait)

    # ----------------------------------------------------------------------------------------- waits

    def raised(self, place: str, value: str) -> str:
        """A flag is set; `place` is no volatile variable."""
        ways = [
            "*(volatile int*)&{0} = {1};",
            "atomicExch(&{0}, {1});",
            "const_cast<volatile int&>({0}) = {1};",
        ]
        return self.pick(ways).format(place, value)  # type: ignore[no-any-return]

    def waited(self, place: str, value: str, volatile: bool = False) -> str:
        """Until a flag has a value."""
        looks = (
            ["{}"]
            if volatile
            else ["*(volatile int*)&{}", "atomicAdd(&{}, 0)", "atomicOr(&{}, 0)", "__ldcv(&{})"]
        )
        look, w, pause = self.pick(looks).format(place), self.name("w"), self.pick([4, 20, 100])
        ways = [
            f"while ({look} != {value}) {{}}",
            f"while ({look} != {value}) __nanosleep({pause});",
            f"for (int {w} = 0; {look} != {value}; ++{w}) if ({w} > 3) __nanosleep({pause});",
            f"do {{ __nanosleep({pause}); }} while ({look} != {value});",
            f"for (;;) {{ if ({look} == {value}) break; __nanosleep({pause}); }}",
            f"while (true) {{ const int {w} = {look}; if ({w} == {value}) break; __nanosleep({pause}); }}",
            f"wait_{self.seed}({place}, {value});",
            f"spin_{self.seed}(&{place}, {value});",
        ]
        return self.pick(ways)  # type: ignore[no-any-return]

    def warp_wait(self, scope: Scope) -> Node:
        """Warps wait for what one of them, `by`, writes into shared memory."""
        by, value = self.random.randrange(self.threads // 32), self.random.randint(1, 99)
        array, kind = self.pick(self.shared)
        volatile, fence = self.chance(0.5), self.pick(["__threadfence_block();", "__threadfence();"])
        flag = "flag" if volatile else "lamp"
        raised = f"flag = {value};" if volatile else self.raised("lamp", str(value))
        waited = self.waited(flag, str(value), volatile)
        if self.chance(0.6):
            waited = f"if ((t & 31) == 0) {{\n{waited}\n{fence}\n}}\n__syncwarp();"
        else:
            waited = f"{waited}\n{fence}"
        tells = (
            Node(f"{array}[t] = {self.put(scope, kind)};\n{fence}\n__syncwarp();", fixed=True),
            Node(f"if ((t & 31) == {self.pick([0, 7, 31])}) {raised}", fixed=True),
        )
        where = f"{32 * by} + {self.part(scope, 31)}"
        told = (Node(waited, fixed=True), self.get(scope, kind, f"{array}[{where}]"))
        return Node(
            body=(
                Node(f"if (t == 0) {flag} = 0;\n__syncthreads();", fixed=True),
                *self.statements(scope, self.random.randint(0, 1), 1),
                Node(f"if (t / 32 == {by}) {{", tells, "}", fixed=True),
                Node("else {", told, "}", fixed=True),
                Node("__syncthreads();", fixed=True),
            )
        )

    def block_wait(self, scope: Scope, warps: bool) -> Node:
        gate, mail = GATES * self.passed, f"{self.passed} * blocks * {self.threads}"
        self.passed += 1
        make_ = self.pick(
            [self.neighbour, self.neighbour, self.all_blocks, self.one_after_another, self.one_tells]
        )
        return make_(scope, gate, mail, "t < 32" if warps and self.chance(0.3) else "t == 0")  # type: ignore[no-any-return]

    def fence(self) -> str:
        return self.pick(["__threadfence();", "__threadfence();", "__threadfence_system();"])  # type: ignore[no-any-return]

    def mailed(self, scope: Scope, mail: str) -> Node:
        """Each thread of the block has written what others are to read."""
        text = f"mail[{mail} + gid] = {self.whole(scope, 2)};\n{self.fence()}\n__syncthreads();"
        return Node(text, fixed=True)

    def read(self, scope: Scope, text: str, place: str) -> tuple[Node, ...]:
        """Behind a wait, which one thread or warp does."""
        place = self.pick([place, place, f"((volatile int*)mail){place.removeprefix('mail')}"])
        return (Node(f"{text}\n__syncthreads();", fixed=True), self.get(scope, "int", place))

    def neighbour(self, scope: Scope, gate: int, mail: str, who: str) -> Node:
        """Each block waits for one before or behind it."""
        other = f"(own_block + {self.pick(['1', 'blocks - 1', '2', '3'])}) % blocks"
        raised = self.raised(f"gate[{gate} + own_block]", "3")
        waited = self.waited(f"gate[{gate} + {other}]", "3")
        text = f"if (t == 0) {raised}\nif ({who}) {{\n{waited}\n{self.fence()}\n}}"
        place = f"mail[{mail} + {other} * {self.threads} + ({self.index(scope, self.threads)})]"
        return Node(body=(self.mailed(scope, mail), *self.read(scope, text, place)))

    def all_blocks(self, scope: Scope, gate: int, mail: str, who: str) -> Node:
        """A barrier of all blocks."""
        waited = self.waited(f"gate[{gate}]", "blocks")
        text = f"if (t == 0) atomicAdd(&gate[{gate}], 1);\nif ({who}) {{\n{waited}\n{self.fence()}\n}}"
        where = f"(unsigned int){self.whole(scope)} % (unsigned int)(blocks * {self.threads})"
        return Node(body=(self.mailed(scope, mail), *self.read(scope, text, f"mail[{mail} + {where}]")))

    def one_after_another(self, scope: Scope, gate: int, mail: str, who: str) -> Node:
        """Each block hands a number on to the next one."""
        turn = self.pick(["own_block", "(blocks - 1 - own_block)"])
        name, place = self.any_integer(scope), f"mail[{mail}]"
        raised = self.raised(f"gate[{gate}]", f"{turn} + 1")
        steps = [
            self.waited(f"gate[{gate}]", turn),
            self.fence(),
            f"{name} = {place};",
            f"{place} = {place} ^ {self.whole(scope)};",
            self.fence(),
            raised,
        ]
        body = Node("\n".join(steps), fixed=True)
        return Node(
            body=(Node("if (t == 0) {", (body,), "}", fixed=True), Node("__syncthreads();", fixed=True))
        )

    def one_tells(self, scope: Scope, gate: int, mail: str, who: str) -> Node:
        """All blocks wait for the first or for the last one."""
        by = self.pick(["0", "blocks - 1"])
        place = f"mail[{mail} + ({self.index(scope, self.threads)})]"
        told = f"mail[{mail} + t] = {self.whole(scope, 2)};\n{self.fence()}"
        raised, waited = self.raised(f"gate[{gate}]", "1"), self.waited(f"gate[{gate}]", "1")
        first = f"if (own_block == {by}) {{\n{told}\n}}\n__syncthreads();"
        text = f"if (own_block == {by} && t == 0) {raised}\nif ({who}) {{\n{waited}\n{self.fence()}\n}}"
        return Node(body=(Node(first, fixed=True), *self.read(scope, text, place)))

    # ------------------------------------------------------------------------ a whole kernel

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
        if "classes" in self.features:
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
        if (
            "groups" in self.features
        ):  # each by itself, so that only those stand in the source that are called
            parts = GROUP_FUNCTIONS.replace("SEED", str(self.seed)).split("\n}\n")
            texts = [part.removesuffix("\n}") + "\n}" for part in parts]
            named = zip(("count", "spread", "next"), texts)
            self.functions += [(f"{name}_{self.seed}", text) for name, text in named]
        if {"volatile", "waits"} & {*self.features}:
            parts = re.split(r"\n(?=__device__|template|struct)", VOLATILE_FUNCTIONS)
            for name in VOLATILE_NAMES:
                text = "\n".join(part for part in parts if f"{name}_SEED" in part)
                self.functions.append((f"{name}_{self.seed}", text.replace("SEED", str(self.seed))))

    def kernel(self) -> RandomKernel:
        style = self.style()
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
            "waits" in self.features,
        )

    def prologue(self, style: str) -> str:
        gates = ", int* gate, int* mail" if "waits" in self.features else ""
        text = [f'extern "C" __global__ void random_{self.seed}({PARAMETERS}{gates}) {{']
        if style != "plain":
            text += ["extern __shared__ double dyn[];"]
            for name, kind in self.shared:
                volatile = "volatile " if (name, kind) in VOLATILE_SHARED else ""
                text.append(f"__shared__ {volatile}{kind} {name}[{self.threads}];")
        text += [
            "const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);",
            f"const int gid = (blockIdx.x + gridDim.x * blockIdx.y) * {self.threads} + t;",
            *[f"{kind} {name} = {first};" for name, kind, first in (*REGISTERS, *FLOATS)],
            "float m0 = 0.0f, m1 = 1.0f;",
            f"int loc[{LOCALS}];",
            f"for (int j = 0; j < {LOCALS}; ++j) loc[j] = t - 10 * j;",
            f"float floc[{FLOAT_LOCALS}] = {{1.0f, 0.5f, f0}};",
        ]
        if "groups" in self.features and style != "plain":
            text.append("cg::thread_block block = cg::this_thread_block();")
        if "waits" in self.features and style != "plain":
            text += [
                "__shared__ volatile int flag;",
                "__shared__ int lamp;",
                "const int blocks = gridDim.x * gridDim.y, own_block = blockIdx.x + gridDim.x * blockIdx.y;",
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


def make(seed: int, *features: str) -> RandomKernel:
    """The kernel of a seed, with these of FEATURES."""
    return Maker(seed, features).kernel()


def usual(seed: int) -> RandomKernel:
    """The kernel that the tests run for a seed: of every fifth all features, of another one all but waits."""
    if seed % 5 == 2:
        return make(seed, *FEATURES)
    if seed % 5 == 4:
        return make(seed, "classes", "groups", "narrow")
    return make(seed, *(["classes"] if seed % 3 == 0 else []))


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
