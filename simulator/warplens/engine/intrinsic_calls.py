"""Calls of built-in functions as Python: barriers, votes, atomics, output, mathematics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplens.analysis.traversal import BARRIERS
from warplens.engine import copying, group_operations, mathematics
from warplens.engine.emitter import Emitter
from warplens.engine.printing import Format
from warplens.language import bfloat, half
from warplens.language.intrinsics import COPIES
from warplens.language.tree import Function, Intrinsic, TextLiteral
from warplens.language.types import BFLOAT, BOOL, UCHAR, UINT, ULLONG, USHORT, Record, Scalar
from warplens.language.types import Pointer as PointerType

if TYPE_CHECKING:
    from warplens.engine.expressions import ExpressionWriter

SHUFFLES = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"}
VOTES = {"__ballot_sync", "__any_sync", "__all_sync", "__activemask"}
ELEMENTS = {kind.size: kind for kind in (UCHAR, USHORT, UINT, ULLONG)}  # in which memcpy moves bytes
FENCES = {"__threadfence", "__threadfence_block", "__threadfence_system"}
LARGER_OR_SMALLER = {"max", "min", "fmax", "fmin", "fmaxf", "fminf", "__hmax", "__hmin", "__hmax2", "__hmin2"}
NO_EFFECT = {"__nanosleep"}  # how long a thread takes, no result depends on


def told_of(function: Function, condition: str) -> tuple[str, str]:
    """Of an assert: the function as a compiler calls it, and the text of the condition."""
    parameters = ", ".join(str(p.type).replace(" *", "*") for p in function.parameters)
    return f"{function.returns} {function.name}({parameters})", condition


class IntrinsicWriter:
    """Calls of built-in functions; their arguments are expressions."""

    def __init__(self, code: Emitter, expressions: ExpressionWriter) -> None:
        self.code, self.expressions = code, expressions

    def intrinsic(self, node: Intrinsic) -> str:
        code = self.code
        name, line, mask = node.name, node.at.line, code.mask
        if name in BARRIERS:
            return self.barrier(node)
        if name == "printf":
            return self.printf(node)
        if name == "assert":
            told = code.constant(told_of(code.function, node.text), "s")
            code.emit(f"L.assertion({self.expressions.text(node.arguments[0])}, {told}, {mask}, {line})")
            return "None"
        if name in NO_EFFECT:
            for argument in node.arguments:
                code.temp(self.expressions.text(argument))
            return "None"
        if name == "__syncwarp" or name in FENCES:
            lanes = [self.expressions.text(a) for a in node.arguments]
            if code.watched and name == "__syncwarp":
                code.emit(f"L.syncwarp({lanes[0] if lanes else '0xffffffff'}, {mask}, {line})")
            elif code.watched:
                code.emit(f"L.fence({mask}, {line}, {name == '__threadfence_block'})")
            return "None"
        if name.startswith("atomic"):
            return self.atomic(node, True)
        if name in COPIES:
            return self.copy(node)
        arguments = [self.expressions.text(a) for a in node.arguments]
        if name in SHUFFLES:
            kind = node.type
            if not isinstance(kind, Scalar):
                raise code.unsupported(f"{name} of {kind}", node)
            rest = ", ".join(arguments)
            return code.temp(f"L.shuffle({name!r}, {rest}, {code.constant(kind, 'k')}, {mask}, {line})")
        if name in VOTES:
            rest = ", ".join(arguments) if arguments else "0xffffffff, True"
            return code.temp(f"L.vote({name!r}, {rest}, {mask}, {line})")
        if name in group_operations.FUNCTIONS:
            return self.group(node, arguments)
        function = mathematics.FUNCTIONS.get(name)
        if function is None:
            raise code.unsupported(name, node)
        operand = node.arguments[0].type if node.arguments else node.type
        plain = name.removesuffix(bfloat.MARK)
        compares = plain in LARGER_OR_SMALLER or node.type == BOOL
        if plain in half.OF_PAIRS and not compares:
            code.tally(node, 4 if plain == "__hfma2" else 2)
        if isinstance(node.type, Record):
            return code.temp(f"{code.constant(function, 'math_' + name.strip('_'))}({', '.join(arguments)})")
        assert isinstance(node.type, Scalar)
        floating = isinstance(operand, Scalar) and operand.is_float
        flops = 2 if name.strip("_").partition("_")[0] in ("fma", "fmaf", "hfma") else 1  # and __fmaf_rn
        if name not in half.CONVERSIONS and name not in bfloat.CONVERSIONS:  # conversions cost nothing
            code.tally(node, *((0 if compares else flops, 0) if floating else (0, 1)))
        call = f"{code.constant(function, 'math_' + name.strip('_'))}({', '.join(arguments)})"
        return call if node.type == BFLOAT else code.wrapped(call, node.type)

    def group(self, node: Intrinsic, arguments: list[str]) -> str:
        """What a group works out together; a sum in a tile of 32 is five additions of each lane."""
        code, name = self.code, node.name
        rest = [code.mask, str(node.at.line), *arguments]
        if name in group_operations.COMBINED:
            assert isinstance(node.type, Scalar)
            how, _, size = node.text.partition(":")
            steps = (int(size) or 32).bit_length() - 1
            flops = 0 if how in ("less", "greater") else steps  # the larger of two is a comparison
            code.tally(node, *((flops, 0) if node.type.is_float else (0, steps)))
            rest += [code.constant(node.text, "s"), code.constant(node.type, "k")]
        return code.temp(f"{code.constant(group_operations.FUNCTIONS[name], 'group')}(L, {', '.join(rest)})")

    def barrier(self, node: Intrinsic) -> str:
        """__syncthreads, and its like that count the threads for which something holds."""
        code = self.code
        test = code.temp(self.expressions.text(node.arguments[0])) if node.arguments else ""
        code.flush()
        barrier = f"L.barrier({node.name!r}, {code.mask}, {node.at.line})"
        if code.watched and not code.by_warp:
            code.emit(barrier)
        meet = f"yield {barrier if code.watched else code.mask}"
        if not test:
            if code.by_warp:
                code.emit(meet)
            return "None"
        out = code.fresh()
        if code.by_warp:
            code.emit(f"{out} = L.vote_in_block({test}, {code.mask})")
            code.emit(meet)
            code.emit(f"{out} = L.outcome({node.name!r}, {out})")
        else:
            code.emit(f"{out} = L.block_vote({node.name!r}, {test}, {code.mask})")
        return out

    def printf(self, node: Intrinsic) -> str:
        """Texts stand in the table of constants, and never in the source that is made."""
        code = self.code
        values = []
        for argument in node.arguments:
            if isinstance(argument, TextLiteral):
                values.append(code.constant(argument.value, "s"))
            elif isinstance(argument.type, PointerType):
                values.append(f"shown_address({self.expressions.text(argument)})")
            else:
                values.append(self.expressions.text(argument))
        given = "".join([value + ", " for value in values])
        code.emit(f"L.printf({code.constant(Format(node.text), 's')}, ({given}), {code.mask})")
        return str(len(values))

    def copy(self, node: Intrinsic) -> str:
        """memcpy or memset; both give their first argument."""
        code = self.code
        to, what, nbytes = [code.temp(self.expressions.text(a)) for a in node.arguments]
        kind = code.constant(ELEMENTS[node.step], "k")
        function = code.constant(copying.FUNCTIONS[node.name], "copy")
        code.emit(f"{function}(L, {to}, {what}, {nbytes}, {kind}, {code.mask}, {node.at.line})")
        return to

    def atomic(self, node: Intrinsic, wanted: bool) -> str:
        code = self.code
        kind = node.arguments[0].type
        assert isinstance(kind, PointerType)
        if not isinstance(kind.to, Scalar):
            raise code.unsupported(f"{node.name} of {kind.to}", node)
        base, index, unit = self.expressions.places.path(node.arguments[0], used=True)
        if unit != kind.to.size:
            base, index = f"advance({base}, wide({index}) * {unit})", "0"
        given = "".join([self.expressions.text(a) + ", " for a in node.arguments[1:]])
        call = (
            f"L.atomic({node.name!r}, {base}, {index}, ({given}), {code.constant(kind.to, 'k')}, "
            f"{code.mask}, {wanted}, {node.at.line})"
        )
        if not wanted:
            code.emit(call)
            return "None"
        out = code.fresh()
        code.emit(f"{out} = {call}")
        return out
