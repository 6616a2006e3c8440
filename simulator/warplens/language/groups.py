"""What `#include <cooperative_groups.h>` brings: the types of groups, and what one becomes another.

A group is a record of what the compiler does not know of it: of a block and of a tile of a block nothing, of
a tile that has forgotten what it is a part of its number among the others, of threads that happen to run
together which lanes they are. `thread_group` is any of them. Nobody can change a group, so that a reference
to one is a copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warplens.errors import At
from warplens.language import tree
from warplens.language.lexer import Token
from warplens.language.types import BOOL, INT, UINT, ULLONG, Field, Group, Scalar, Type

SPACE = "cooperative_groups"
PREFIX = f"{SPACE}::"
HEADER = "cooperative_groups.h"
HEADERS = {HEADER, f"{SPACE}/reduce.h", f"{SPACE}/scan.h", f"{SPACE}/memcpy_async.h"}
USING = f"using namespace {SPACE}"
ALL_LANES = 0xFFFF_FFFF
TILES = (1, 2, 4, 8, 16, 32)  # threads of one


def _group(name: str, kind: str, *fields: str) -> Group:
    parts = tuple(Field(field, UINT, 4 * i) for i, field in enumerate(fields))
    return Group(name, parts, max(1, 4 * len(parts)), 4 if parts else 1, kind=kind)


BLOCK = _group("thread_block", "block")
GRID = _group("grid_group", "grid")
COALESCED = _group("coalesced_group", "coalesced", "mask", "meta_rank", "meta_size")
ANY = _group("thread_group", "any", "block", "mask")
TYPES = {"thread_block": BLOCK, "grid_group": GRID, "coalesced_group": COALESCED, "thread_group": ANY}
OPERATIONS = ("plus", "less", "greater", "bit_and", "bit_or", "bit_xor")
TYPE_NAMES = (
    *TYPES, "thread_block_tile", *OPERATIONS, "multi_grid_group", "cluster_group", "block_tile_memory",
)  # fmt: skip
TYPE_TEMPLATES = {PREFIX + name for name in ("thread_block_tile", *OPERATIONS, "block_tile_memory")}
TEMPLATES = ("tiled_partition",)
FUNCTIONS = (
    "this_thread_block", "tiled_partition", "coalesced_threads", "this_grid", "sync", "thread_rank",
    "group_size",
    "reduce", "inclusive_scan", "exclusive_scan", "binary_partition", "labeled_partition",
)  # fmt: skip
# Known, and not had.
OTHERS = (
    "this_multi_grid", "this_cluster", "this_thread", "memcpy_async", "wait", "wait_prior", "invoke_one",
    "invoke_one_broadcast", "reduce_update_async", "reduce_store_async", "inclusive_scan_update",
    "exclusive_scan_update",
)  # fmt: skip
# What the parser knows of each name.
NAMES = {
    **dict.fromkeys((*FUNCTIONS, *OTHERS), "other"), **dict.fromkeys(TYPE_NAMES, "type"),
    **dict.fromkeys(TEMPLATES, "template"),
}  # fmt: skip


def tile(size: int, parent: Group | None = None) -> Group:
    """thread_block_tile<size, parent>"""
    if parent is None:
        fields = tuple(Field(name, UINT, 4 * i) for i, name in enumerate(("meta_rank", "meta_size")))
        return Group(f"thread_block_tile<{size}>", fields, 8, 4, kind="tile", tile=size)
    name = f"thread_block_tile<{size}, {parent}>"
    return Group(name, (), 1, 1, kind="tile", tile=size, parent=parent)


# --------------------------------------------------------------------------------------------- the namespace


def qualified(stream: Sequence[Token]) -> Iterator[Token]:
    """The tokens of a source in which each name of the namespace is one token, as `cooperative_groups::sync`
    is, whatever alias it is written with; USING stands for `using namespace`, and with a name behind it for
    `using` of that name."""
    included, i = False, 0
    aliases: list[set[str]] = [{SPACE}]  # by braces

    def known(name: str) -> bool:
        return included and any(name in names for names in aliases)

    while i < len(stream):
        token, texts = stream[i], [after.text for after in stream[i : i + 5]]
        before = stream[i - 1].text if i else ""
        included = included or (token.kind == "mark" and token.text == f"#include <{HEADER}>")
        i += 1
        if texts[:1] == ["namespace"] and texts[2:5:2] == ["=", ";"] and known(texts[3]):
            aliases[-1].add(texts[1])
            i += 4
        elif texts[:2] == ["using", "namespace"] and texts[3:4] == [";"] and known(texts[2]):
            yield Token("mark", USING, token.at)
            i += 3
        elif texts[:1] == ["using"] and texts[2:5:2] == ["::", ";"] and known(texts[1]):
            yield Token("mark", USING, token.at)
            yield Token("name", PREFIX + texts[3], token.at)
            i += 4
        elif (
            token.kind == "name"
            and texts[1:2] == ["::"]
            and known(token.text)
            and before not in (".", "->", "::")
        ):
            after = stream[i + 1]
            if after.kind == "name":
                yield Token("name", PREFIX + after.text, token.at, token.space, token.first)
                i += 2
            else:
                yield token
        else:
            if token.kind == "mark" and token.text in "{}":
                aliases = [*aliases, set()] if token.text == "{" else aliases[:-1] or [{SPACE}]
            yield token


# ------------------------------------------------------------------------------------------------- the values


def uint(at: At, value: int) -> tree.Expression:
    return tree.Literal(at, UINT, value)


def binary(op: str, left: tree.Expression, right: tree.Expression) -> tree.Expression:
    """Of two unsigned numbers; of two that are known, the result."""
    if isinstance(left, tree.Literal) and isinstance(right, tree.Literal) and op == "/":
        return uint(left.at, int(left.value) // int(right.value))
    return tree.Binary(left.at, left.type, op, left, right)


def block_rank(at: At) -> tree.Expression:
    """The number of a thread in its block."""
    return tree.Special(at, UINT, "blockRank", "")


def block_size(at: At) -> tree.Expression:
    return tree.Special(at, UINT, "blockSize", "")


def field(group: tree.Expression, name: str) -> tree.Expression:
    if isinstance(group, tree.Load):
        return tree.Load(group.at, UINT, tree.MemberPlace(group.at, UINT, group.place, name))
    return tree.Member(group.at, UINT, group, name)


def kind_of(group: tree.Expression) -> Group:
    assert isinstance(group.type, Group)
    return group.type


def mask(group: tree.Expression) -> tree.Expression:
    """The lanes of a group that is within a warp."""
    kind, at = kind_of(group), group.at
    if kind.kind != "tile":
        return field(group, "mask")
    if kind.tile == 32:
        return uint(at, ALL_LANES)
    return binary("<<", uint(at, (1 << kind.tile) - 1), tile_start(group))


def tile_start(group: tree.Expression) -> tree.Expression:
    """The first lane of a tile of fewer threads than a warp."""
    return binary("&", block_rank(group.at), uint(group.at, 32 - kind_of(group).tile))


def popc(value: tree.Expression) -> tree.Expression:
    return tree.Convert(value.at, UINT, tree.Intrinsic(value.at, INT, "__popc", [value]))


def rank(group: tree.Expression) -> tree.Expression:
    kind, at = kind_of(group), group.at
    if kind.kind == "block":
        return block_rank(at)
    if kind.kind == "tile":
        return binary("&", block_rank(at), uint(at, kind.tile - 1))
    lane = binary("&", block_rank(at), uint(at, 31))
    below = binary("-", binary("<<", uint(at, 1), lane), uint(at, 1))
    own = popc(binary("&", field(group, "mask"), below))
    return own if kind.kind == "coalesced" else _either(group, block_rank(at), own)


def size(group: tree.Expression) -> tree.Expression:
    kind, at = kind_of(group), group.at
    if kind.kind == "block":
        return block_size(at)
    if kind.kind == "tile":
        return uint(at, kind.tile)
    own = popc(field(group, "mask"))
    return own if kind.kind == "coalesced" else _either(group, block_size(at), own)


def _either(group: tree.Expression, block: tree.Expression, lanes: tree.Expression) -> tree.Expression:
    """Of a thread_group, which is the block or some lanes of a warp; unsigned long long."""
    parts = [tree.Convert(group.at, ULLONG, part) for part in (block, lanes)]
    return tree.Conditional(group.at, ULLONG, is_block(group), *parts)


def is_block(group: tree.Expression) -> tree.Expression:
    return tree.Convert(group.at, BOOL, field(group, "block"))


def meta_rank(group: tree.Expression) -> tree.Expression:
    """The number of a group among those that its parent was divided into."""
    kind, at = kind_of(group), group.at
    if kind.parent is None:
        return field(group, "meta_rank")
    return binary("/", rank(_static(at, kind.parent)), uint(at, kind.tile))


def meta_size(group: tree.Expression) -> tree.Expression:
    kind, at = kind_of(group), group.at
    if kind.parent is None:
        return field(group, "meta_size")
    if kind.parent.kind == "tile":
        return uint(at, kind.parent.tile // kind.tile)
    return binary("/", binary("+", block_size(at), uint(at, kind.tile - 1)), uint(at, kind.tile))


def _static(at: At, kind: Group) -> tree.Expression:
    """A group of which only the type counts."""
    return tree.MakeRecord(at, kind, [])


def converted(group: tree.Expression, to: Type) -> tree.Expression | None:
    """A group as one of another type, where C++ converts it."""
    kind, at = kind_of(group), group.at
    if kind == to:
        return group
    if not isinstance(to, Group):
        return None
    if to.kind == "tile" and to.parent is None and kind.tile == to.tile:
        return tree.MakeRecord(at, to, [meta_rank(group), meta_size(group)])
    if to == ANY and kind == BLOCK:
        return tree.MakeRecord(at, to, [uint(at, 1), uint(at, ALL_LANES)])
    if to == ANY and kind.kind in ("tile", "coalesced"):
        return tree.MakeRecord(at, to, [uint(at, 0), mask(group)])
    return None


def operation_type(kind: Scalar, name: str) -> bool:
    """Whether there is such an operation on numbers of a type."""
    return kind.is_integer or name in ("plus", "less", "greater")
