"""The third generation of random kernels: groups of threads, and arithmetic of half and bfloat16.

A group is made where all threads of a block are, from complete warps; the threads that run together are
known there by their number in the block, and meet again behind. Bits are read of no nan, and a sum of floats
has one order, so that all results are the same bits everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cuda_random import INTEGERS, SHARED, Maker, Node, RandomKernel, Scope

INTEGER_OPERATIONS = ("plus", "less", "greater", "bit_and", "bit_or", "bit_xor")
FLOAT_OPERATIONS = ("plus", "plus", "less", "greater")
EXCHANGED = ("int", "unsigned int", "long long", "unsigned long long", "float", "double")
NARROW = {"half": "half", "__nv_bfloat16": "bfloat16"}  # a type, and how its functions call it
PAIRS = {"half": "half2", "__nv_bfloat16": "__nv_bfloat162"}
TILES = (2, 4, 8, 16, 32)
# Functions of groups: of any type of group, of one that has forgotten what it is, of a tile's size.
FUNCTIONS = """template <typename G> __device__ int count_SEED(const G& g, int v) {
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


@dataclass(frozen=True)
class Group:
    """What the source calls it, and how many threads of a warp it has; `size` 0: only the kernel knows."""

    name: str
    size: int = 0

    @property
    def is_tile(self) -> bool:
        return self.size > 0


class ThirdMaker(Maker):
    styles = ("plain", "block", "warp", "warp", "warp", "warp")
    rounds = (2, 5)
    shared = (*SHARED, ("sh_b", "__nv_bfloat16"), ("sh_p", "__nv_bfloat162"))

    def __init__(self, seed: int) -> None:
        super().__init__(seed, second=True)

    def device_functions(self) -> None:
        super().device_functions()
        # Each by itself, so that only those stand in the source that are called.
        parts = FUNCTIONS.replace("SEED", str(self.seed)).split("\n}\n")
        texts = [part.removesuffix("\n}") + "\n}" for part in parts]
        self.functions += [
            (f"{name}_{self.seed}", text) for name, text in zip(("count", "spread", "next"), texts)
        ]

    def prologue(self, style: str) -> str:
        text = super().prologue(style)
        return text if style == "plain" else f"{text}\n    cg::thread_block block = cg::this_thread_block();"

    def more_statements(self) -> list[Callable[[Scope], Node]]:
        return (
            [self.narrow_value] * 4 + [self.narrow_pair] * 3 + [self.narrow_memory] * 2 + [self.narrow_test]
        )

    def more_together(self, warps: bool) -> list[Callable[[Scope], Node]]:
        found: list[Callable[[Scope], Node]] = [self.block_group] * 4
        if warps:
            found += [self.tile] * 8 + [self.some_tiles] * 5 + [self.group_function] * 4
            found += [self.partition] * 6 + [self.run_together] * 6
        return found

    # ------------------------------------------------------------------------ half and bfloat16

    def put(self, scope: Scope, kind: str) -> str:
        if kind == "__nv_bfloat162":
            return self.pair_of(scope, "__nv_bfloat16", ())
        if kind in NARROW and self.chance(0.6):
            return self.narrow_expression(scope, kind, (), 2)
        if kind in NARROW:
            e = self.real(scope, 2).text if self.chance(0.6) else self.integer(scope, 2).text
            ways = ["{}", f"({kind})({{}})", f"__float2{NARROW[kind]}({{}})"]
            return self.pick(ways).format(e)  # type: ignore[no-any-return]
        return super().put(scope, kind)

    def get(self, scope: Scope, kind: str, place: str) -> Node:
        if kind == "__nv_bfloat162":
            part = self.pick(["{}.x", "{}.y", "__low2bfloat16({})", "__high2bfloat16(__lowhigh2highlow({}))"])
            return self.get_narrow(scope, "__nv_bfloat16", part.format(place))
        return self.get_narrow(scope, kind, place) if kind in NARROW else super().get(scope, kind, place)

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

    def get_half(self, scope: Scope, place: str) -> Node:
        return self.get_narrow(scope, "half", place)

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


def make_third(seed: int) -> RandomKernel:
    """The kernel of a seed, with groups, half and bfloat16."""
    return ThirdMaker(seed).kernel()
