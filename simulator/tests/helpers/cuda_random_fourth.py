"""The fourth generation of random kernels: volatile, and threads that wait for each other.

A warp waits for another one, a block for blocks that begin before or after it: for a flag that is volatile,
or read and set by atomics. Between the flag and what is told by it stands a fence. Each gate is passed once,
where all threads of a block are, so that no wait lasts for ever and no result depends on who comes first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from cuda_random import INTEGERS, PARAMETERS, Node, RandomKernel, Scope, make
from cuda_random_third import ThirdMaker

GATES, ROUNDS = 8, 3  # flags of one wait of blocks, which are four at most; waits of blocks in a kernel
# Functions with volatile parameters, overloads that differ in it, a struct with volatile members.
FUNCTIONS = """__device__ int seen_SEED(const volatile int* p, long long k) { return p[k & 7] ^ *p; }
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
NAMES = ("seen", "bump", "which", "by", "swap", "size", "cell", "wait", "spin", "Kept")


class WaitingKernel(RandomKernel):
    """`gate` and `mail` come behind the other arguments: flags, and what they tell of."""

    def arguments(self) -> list[Any]:
        return [
            *super().arguments(),
            np.zeros(GATES * ROUNDS, np.int32),
            np.full(ROUNDS * self.threads, -5, np.int32),
        ]


class FourthMaker(ThirdMaker):
    styles = ("plain", "block", "block", "warp", "warp", "warp")
    shared = (*ThirdMaker.shared, ("sh_v", "int"), ("sh_w", "float"), ("sh_u", "unsigned char"))
    are_volatile = ("sh_v", "sh_w", "sh_u")

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.passed = 0  # waits of blocks

    def kernel(self) -> RandomKernel:
        made = super().kernel()
        return WaitingKernel(**{f.name: getattr(made, f.name) for f in dataclasses.fields(made)})

    def device_functions(self) -> None:
        super().device_functions()
        for name in NAMES:
            whole = f"{name}_SEED"
            parts = FUNCTIONS.replace("\n__device__", "\0__device__").replace("\ntemplate", "\0template")
            texts = [p for p in parts.replace("\nstruct", "\0struct").split("\0") if whole in p]
            text = "\n".join(texts).replace("SEED", str(self.seed))
            self.functions.append((f"{name}_{self.seed}", text))

    def prologue(self, style: str) -> str:
        text = super().prologue(style).replace(PARAMETERS, f"{PARAMETERS}, int* gate, int* mail")
        for name in self.are_volatile:
            kind = dict(self.shared)[name]
            text = text.replace(f"__shared__ {kind} {name}", f"__shared__ volatile {kind} {name}")
        if style == "plain":
            return text
        number = "const int blocks = gridDim.x * gridDim.y, own_block = blockIdx.x + gridDim.x * blockIdx.y;"
        return f"{text}\n    __shared__ volatile int flag;\n    __shared__ int lamp;\n    {number}"

    def more_statements(self) -> list[Callable[[Scope], Node]]:
        found = super().more_statements()
        return (
            found
            + [self.volatile_local, self.volatile_real, self.volatile_record, self.volatile_call] * 2
            + [self.volatile_pointer, self.volatile_reference, self.volatile_own] * 2
        )

    def more_together(self, warps: bool) -> list[Callable[[Scope], Node]]:
        found = [*super().more_together(warps), *[self.volatile_exchange] * 3]
        return found + [self.warp_wait] * 8 if warps and self.threads > 32 else found

    def together(self, scope: Scope, warps: bool, depth: int) -> Node:
        if depth == 2 and self.passed < ROUNDS and self.chance(0.4):  # where each thread comes once
            return self.block_wait(scope, warps)
        return super().together(scope, warps, depth)

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


def make_fourth(seed: int) -> RandomKernel:
    """The kernel of a seed, with volatile and with waits."""
    return FourthMaker(seed).kernel()


def usual(seed: int) -> RandomKernel:
    """The kernel that the tests run for a seed: of every fifth one the third generation, and the fourth."""
    if seed % 5 == 2:
        return make_fourth(seed)
    return ThirdMaker(seed).kernel() if seed % 5 == 4 else make(seed, seed % 3 == 0)
