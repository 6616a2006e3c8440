"""Cooperative groups: their methods and functions, as what barriers, shuffles and votes are made of."""

from __future__ import annotations

from collections.abc import Callable

from warplens.errors import At, Fault, unsupported
from warplens.language import groups, syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_overloads import wrong_count
from warplens.language.check_types import named_type, tile_size
from warplens.language.conversion import Value, has_call, implicit, known, number, rvalue
from warplens.language.groups import PREFIX, binary, uint
from warplens.language.types import BOOL, DIM3, INT, UINT, ULLONG, VOID, Group, Scalar, Type, is_scoped

_WARP = ("tile", "coalesced")
_WITHIN_WARP = {"shfl", "shfl_up", "shfl_down", "shfl_xor", "any", "all", "ballot", "match_any", "match_all"}
_OF_BLOCK = {
    "group_index": ("blockIdx", "xyz"), "thread_index": ("threadIdx", "xyz"),
    "group_dim": ("blockDim", "xyz"), "dim_threads": ("blockDim", "xyz"),
}  # fmt: skip
_OF_GRID = {"group_dim": "gridDim", "dim_blocks": "gridDim", "block_index": "blockIdx"}


def group_call(context: Context, node: syntax.CallOf) -> Value | None:
    """A method of a group, or a function of the namespace; None where it is neither."""
    function = node.function
    if not context.file.group_headers:
        return None
    if isinstance(function, syntax.Dot) and not function.arrow:
        base = context.operand(function.base)
        return _method(context, base, function, node) if isinstance(base.type, Group) else None
    if not isinstance(function, syntax.Name):
        return None
    if function.name.startswith(PREFIX):
        return _function(context, function.name.removeprefix(PREFIX), function, node)
    # found by the type of its argument
    if function.name in groups.FUNCTIONS and node.arguments and not context.scope.find(function.name):
        first = node.arguments[0]
        if not isinstance(first, syntax.Braces) and isinstance(context.value(first).type, Group):
            return _function(context, function.name, function, node)
    return None


# ------------------------------------------------------------------------------------------------ arguments


def _values(context: Context, node: syntax.CallOf, name: str, *kinds: Type | None) -> list[Value]:
    """The arguments, in these types (None: any)."""
    count = len(node.arguments)
    if count != len(kinds):
        hint = f"{name} takes {len(kinds)}, and here {'is' if count == 1 else 'are'} {count}"
        raise wrong_count(count, len(kinds), node.at, hint)
    values = [_operand(context, argument) for argument in node.arguments]
    return [_as(value, kind, node.at) for value, kind in zip(values, kinds)]


def _operand(context: Context, node: syntax.Node) -> Value:
    if isinstance(node, syntax.Braces):
        raise unsupported(node.at, "braces as an argument", "name the type")
    return context.operand(node)


def _as(value: Value, kind: Type | None, at: At) -> Value:
    if kind is None:
        return value
    result = implicit(value, kind)
    if result is None:
        source = rvalue(value).type
        message = f"argument of type '{source}' is incompatible with parameter of type '{kind}'"
        raise Fault(at, message)
    return Value(result)


def _group(value: Value, at: At) -> tree.Expression:
    """A group whose parts are read more than once."""
    group = rvalue(value)
    if has_call(group):
        raise unsupported(
            at, "a group that a function of your own makes and nobody keeps", "declare it: auto g = ..."
        )
    return group


def _moved(group: tree.Expression, at: At) -> tree.Expression:
    """The same group, used at another place."""
    if isinstance(group, tree.Load):
        return tree.Load(at, group.type, group.place)
    if isinstance(group, tree.MakeRecord):
        return tree.MakeRecord(at, group.type, group.parts)
    return group


# -------------------------------------------------------------------------------------------------- methods


def _method(context: Context, base: Value, function: syntax.Dot, node: syntax.CallOf) -> Value:
    name, at = function.name, function.at
    context.needs_function(name, at)
    group = _group(base, at)
    kind = groups.kind_of(group)
    if name == "sync":
        _values(context, node, name)
        return Value(_sync(group, at))
    numbers = {"thread_rank": _rank, "size": _size, "num_threads": _size}
    if kind.kind == "any":
        del numbers["num_threads"]  # declared in CUDA, and never defined
    if kind.kind in _WARP:
        numbers |= {"meta_group_rank": groups.meta_rank, "meta_group_size": groups.meta_size}
    if kind.kind == "grid":
        numbers |= {"block_rank": _block_rank, "num_blocks": _blocks}
    if name in numbers:
        _values(context, node, name)
        return Value(numbers[name](_moved(group, at)))
    if kind.kind == "block" and name in _OF_BLOCK:
        _values(context, node, name)
        return Value(_triple(_OF_BLOCK[name][0], at))
    if kind.kind == "grid" and name in _OF_GRID:
        _values(context, node, name)
        return Value(_triple(_OF_GRID[name], at))
    if kind.kind in _WARP and name in _WITHIN_WARP and not (name == "shfl_xor" and kind.kind != "tile"):
        return Value(_within_warp(context, name, _moved(group, at), node, at))
    if name in ("barrier_arrive", "barrier_wait", "is_valid", "get_type", "thread_index"):
        raise unsupported(at, f"{name}() of a {kind}")
    raise Fault(at, f"class '{PREFIX}{kind}' has no member '{name}'")


def _rank(group: tree.Expression) -> tree.Expression:
    if groups.kind_of(group).kind != "grid":
        return groups.rank(group)
    at = group.at
    block = binary("*", _block_rank(group), _ull(groups.block_size(at)))
    return binary("+", block, _ull(groups.block_rank(at)))


def _size(group: tree.Expression) -> tree.Expression:
    if groups.kind_of(group).kind != "grid":
        return groups.size(group)
    return binary("*", _blocks(group), _ull(groups.block_size(group.at)))


def _block_rank(group: tree.Expression) -> tree.Expression:
    """The number of a block in the grid; unsigned long long."""
    at = group.at
    x, y, z = (_ull(tree.Special(at, UINT, "blockIdx", axis)) for axis in "xyz")
    columns, rows = (_ull(tree.Special(at, UINT, "gridDim", axis)) for axis in "xy")
    return binary("+", binary("*", binary("+", binary("*", z, rows), y), columns), x)


def _blocks(group: tree.Expression) -> tree.Expression:
    x, y, z = (_ull(tree.Special(group.at, UINT, "gridDim", axis)) for axis in "xyz")
    return binary("*", binary("*", z, y), x)


def _sync(group: tree.Expression, at: At) -> tree.Expression:
    kind = groups.kind_of(group).kind
    if kind == "grid":
        raise unsupported(at, "barriers of the whole grid", "end the kernel, and launch another one")
    block = tree.Intrinsic(at, VOID, "__syncthreads", [])
    if kind == "block":
        return block
    lanes = tree.Intrinsic(at, VOID, "__syncwarp", [groups.mask(_moved(group, at))])
    return tree.Conditional(at, VOID, groups.is_block(group), block, lanes) if kind == "any" else lanes


def _within_warp(
    context: Context, name: str, group: tree.Expression, node: syntax.CallOf, at: At
) -> tree.Expression:
    if name.startswith("shfl"):
        value, by = _values(context, node, name, None, INT if name == "shfl" else UINT)
        return _shuffled(name, group, rvalue(value), rvalue(by), at)
    lanes, kind = groups.mask(group), groups.kind_of(group)
    if name.startswith("match"):
        raise unsupported(at, f"{name} of a group")
    [predicate] = _values(context, node, name, INT)
    if name == "any":
        return tree.Intrinsic(at, INT, "__any_sync", [lanes, rvalue(predicate)])
    ballot = tree.Intrinsic(at, UINT, "__ballot_sync", [lanes, rvalue(predicate)])
    if name == "all":
        return tree.Convert(at, INT, tree.Binary(at, BOOL, "==", ballot, groups.mask(group)))
    if kind.kind == "coalesced":
        return tree.Intrinsic(at, UINT, "group packed", [groups.mask(group), ballot])
    return ballot if kind.tile == 32 else binary(">>", ballot, groups.tile_start(group))


def _shuffled(
    name: str, group: tree.Expression, value: tree.Expression, by: tree.Expression, at: At
) -> tree.Expression:
    _exchanged(value, name, at)
    lanes, kind = groups.mask(group), groups.kind_of(group)
    if kind.kind == "tile":
        width = tree.Literal(at, INT, kind.tile)
        return tree.Intrinsic(at, value.type, f"__{name}_sync", [lanes, value, by, width])
    rank = by if name == "shfl" else binary("+" if name == "shfl_down" else "-", groups.rank(group), by)
    lane = tree.Intrinsic(at, INT, "group lane", [groups.mask(group), tree.Convert(at, INT, rank)])
    width = tree.Literal(at, INT, 32)
    return tree.Intrinsic(at, value.type, "__shfl_sync", [lanes, value, lane, width])


def _exchanged(value: tree.Expression, name: str, at: At) -> Scalar:
    if not isinstance(value.type, Scalar) or is_scoped(value.type):
        raise unsupported(
            at, f"{name} of a group with a value of type '{value.type}'", "pass its parts one by one"
        )
    return value.type


def _ull(value: tree.Expression) -> tree.Expression:
    return number(value, ULLONG)


def _triple(name: str, at: At) -> tree.Expression:
    return tree.MakeRecord(at, DIM3, [tree.Special(at, UINT, name, axis) for axis in "xyz"])


# ------------------------------------------------------------------------------------------------ functions


def _function(context: Context, name: str, function: syntax.Name, node: syntax.CallOf) -> Value:
    at = function.at
    if name not in groups.FUNCTIONS:
        raise unsupported(at, f"{PREFIX}{name}")
    if name in ("reduce", "inclusive_scan", "exclusive_scan"):
        _header(context, "reduce" if name == "reduce" else "scan", name, at)
    context.needs_function(name, at)
    methods: dict[str, Callable[[Context, syntax.Name, syntax.CallOf], tree.Expression]] = {
        "tiled_partition": _tiled_partition,
        **dict.fromkeys(("reduce", "inclusive_scan", "exclusive_scan"), _combined),
        **dict.fromkeys(("binary_partition", "labeled_partition"), _partition),
    }
    if name in methods:
        return Value(methods[name](context, function, node))
    if name.startswith("this_") or name == "coalesced_threads":
        _values(context, node, name)
        if name == "coalesced_threads":
            lanes = tree.Intrinsic(at, UINT, "__activemask", [])
            return Value(tree.MakeRecord(at, groups.COALESCED, [lanes, uint(at, 0), uint(at, 1)]))
        return Value(tree.MakeRecord(at, groups.BLOCK if name == "this_thread_block" else groups.GRID, []))
    group = _group_argument(context, node, name, 1)
    if name == "group_size" and group.type == groups.ANY:
        raise Fault(
            at, "function 'thread_group::num_threads' was referenced but not defined", "write .size()"
        )
    made = {"sync": lambda g: _sync(g, at), "thread_rank": _rank, "group_size": _size}
    return Value(made[name](_moved(group, at)))


def _header(context: Context, header: str, name: str, at: At) -> None:
    wanted = f"{groups.SPACE}/{header}.h"
    if wanted not in context.file.group_headers:
        message = f"namespace '{groups.SPACE}' has no member '{name}'"
        raise Fault(at, message, f"write #include <{wanted}> in the first line")


def _group_argument(context: Context, node: syntax.CallOf, name: str, count: int) -> tree.Expression:
    """The first of so many arguments."""
    if len(node.arguments) != count:
        raise wrong_count(len(node.arguments), count, node.at, f"{name} takes {count}")
    value = _operand(context, node.arguments[0])
    if not isinstance(value.type, Group):
        message = f"no instance of function template '{PREFIX}{name}' matches the argument list"
        raise Fault(node.at, message, f"its first argument is a group, and here is a '{value.type}'")
    return _group(value, node.at)


def _tiled_partition(context: Context, function: syntax.Name, node: syntax.CallOf) -> tree.Expression:
    at = function.at
    if function.arguments is None:
        return _dynamic_tile(context, _group_argument(context, node, "tiled_partition", 2), node, at)
    group = _group_argument(context, node, "tiled_partition", 1)
    if len(function.arguments) != 1 or isinstance(function.arguments[0], syntax.TypeName):
        raise unsupported(at, "tiled_partition with other template arguments than a size")
    size = tile_size(context, function.arguments[0])
    parent = groups.kind_of(group)
    if parent.kind not in ("block", "tile"):
        raise Fault(
            at, f"tiled_partition<{size}> takes a thread_block or a thread_block_tile, and no {parent}"
        )
    if parent.kind == "tile" and size >= parent.tile:
        raise Fault(at, "Tile size bigger or equal to the parent group size")
    return tree.MakeRecord(at, groups.tile(size, parent), [])


def _dynamic_tile(context: Context, group: tree.Expression, node: syntax.CallOf, at: At) -> tree.Expression:
    """tiled_partition(group, size): the size may be known to the running kernel alone."""
    kind = groups.kind_of(group)
    value = _as(_operand(context, node.arguments[1]), UINT, at)
    size = known(value)
    if kind.kind == "grid":
        raise Fault(at, "a grid is not divided into tiles")
    if size is None:
        raise unsupported(at, "tiled_partition into tiles of a size that only the running kernel knows")
    if size not in groups.TILES:
        raise unsupported(at, f"a tile of {size} threads, which stops the kernel", "1, 2, 4, 8, 16 or 32")
    number = uint(at, int(size))
    whole = uint(at, groups.ALL_LANES) if kind.kind == "block" else groups.mask(group)
    if kind.kind == "tile" and size >= kind.tile:
        lanes: tree.Expression = whole
    else:
        lanes = tree.Intrinsic(at, UINT, "group part", [whole, number])
    if kind.kind != "coalesced":
        return tree.MakeRecord(at, groups.ANY, [uint(at, 0), lanes])
    parts = binary("/", binary("+", groups.size(group), uint(at, int(size) - 1)), number)
    whole_group = tree.Binary(at, BOOL, "<=", groups.size(group), number)  # which stays what it is
    rank = tree.Conditional(
        at, UINT, whole_group, groups.meta_rank(group), binary("/", groups.rank(group), number)
    )
    count = tree.Conditional(at, UINT, whole_group, groups.meta_size(group), parts)
    return tree.MakeRecord(at, kind, [lanes, rank, count])


def _partition(context: Context, function: syntax.Name, node: syntax.CallOf) -> tree.Expression:
    """binary_partition and labeled_partition: the threads that say the same."""
    name, at = function.name.removeprefix(PREFIX), function.at
    group = _group_argument(context, node, name, 2)
    if groups.kind_of(group).kind not in _WARP:
        raise Fault(at, f"no instance of '{PREFIX}{name}' takes a {group.type}")
    value = _operand(context, node.arguments[1])
    if name == "binary_partition":
        value = _as(value, BOOL, at)
    label = _exchanged(rvalue(value), name, at)
    if not label.is_integer:
        message = "labeled_partition predicate must be an integral or pointer type"
        raise Fault(at, message, "convert it: (int)x")
    parts: list[tree.Expression] = [
        tree.Intrinsic(at, UINT, f"group {what}", [groups.mask(group), rvalue(value)])
        for what in ("label", "label rank", "labels")
    ]
    if label == BOOL:  # the number of a part is what its threads say
        two = tree.Binary(at, BOOL, "==", parts[2], uint(at, 2))
        parts[1] = tree.Conditional(at, UINT, two, number(rvalue(value), UINT), uint(at, 0))
    return tree.MakeRecord(at, groups.COALESCED, parts)


def _combined(context: Context, function: syntax.Name, node: syntax.CallOf) -> tree.Expression:
    """reduce, inclusive_scan and exclusive_scan."""
    name, at = function.name.removeprefix(PREFIX), function.at
    scan = name != "reduce"
    if function.arguments is not None:
        raise unsupported(at, f"{name} with template arguments of its own")
    plain = scan and len(node.arguments) == 2
    group = _group_argument(context, node, name, 2 if plain else 3)
    if groups.kind_of(group).kind not in _WARP:
        hint = "divide it: tiled_partition<32>(block)"
        raise Fault(at, "This group does not exclusively represent a tile", hint)
    value = rvalue(_operand(context, node.arguments[1]))
    kind = _exchanged(value, name, at)
    operation = "plus" if plain else _operation(context, node.arguments[2], kind, name)
    kind_of = groups.kind_of(group)
    text = f"{operation}:{kind_of.tile if kind_of.kind == 'tile' else 0}"
    return tree.Intrinsic(at, kind, f"group {name}", [groups.mask(group), value], text=text)


def _operation(context: Context, node: syntax.Node, kind: Scalar, name: str) -> str:
    base = node.type.specifiers.base if isinstance(node, syntax.Make) else None
    written = base.name.removeprefix(PREFIX) if isinstance(base, syntax.Name) else ""
    if not isinstance(node, syntax.Make) or written not in groups.OPERATIONS or node.parts:
        raise unsupported(node.at, f"{name} by other operations than cg::plus<T>() and its like")
    assert isinstance(base, syntax.Name)
    argument = base.arguments[0] if base.arguments and len(base.arguments) == 1 else None
    if not isinstance(argument, syntax.TypeName):
        raise Fault(node.at, f"{written} needs the type of the numbers: {PREFIX}{written}<float>()")
    of = named_type(context, argument).type
    if of != kind:
        hint = f"the value is a '{kind}', and the operation one of '{of}'"
        raise Fault(node.at, "Operator and argument types differ", hint)
    if not groups.operation_type(kind, written):
        raise Fault(node.at, f"no operator matches: {written} of '{kind}'")
    return written
