"""printf and assert: the format and its arguments, and the condition with its text."""

from __future__ import annotations

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_conversions import condition_of
from warplens.language.conversion import Value, number, rvalue
from warplens.language.formats import MOST_ARGUMENTS, Conversion, FormatError, parts
from warplens.language.types import CHAR, DOUBLE, INT, NARROW, VOID, Pointer, Scalar, Type, promoted

FORMAT = Pointer(CHAR, True)
_WORDS = {
    "int": "an integer of 32 bits",
    "long": "an integer of 64 bits",
    "double": "a float or double",
    "text": "a string literal",
    "pointer": "a pointer",
}


def call_printf(context: Context, node: syntax.CallOf) -> Value:
    """What C leaves open, arguments that do not fit the format, is refused: it would show garbage."""
    at = node.at
    context.needs_function("printf", at)
    if not node.arguments:
        hint = 'printf takes a format: printf("%d\\n", n)'
        raise Fault(at, "too few arguments in function call", hint)
    first, *others = node.arguments
    if not isinstance(first, syntax.Text):
        return _no_format(context.operand(first), first.at)
    try:
        conversions = [part for part in parts(first.text) if isinstance(part, Conversion)]
    except FormatError as error:
        raise unsupported(first.at, str(error), error.hint) from None
    written = [_written(context, other) for other in others]
    arguments = [_promoted(one) for one in written]
    if len(arguments) > MOST_ARGUMENTS:
        raise unsupported(at, f"more than {MOST_ARGUMENTS} arguments after the format of printf")
    wanted = [(what, one) for one in conversions for what in one.takes]
    if len(wanted) != len(arguments):
        hint = "each % takes one argument, each * one more; a percent sign is %%"
        message = f"a format that takes {_count(len(wanted))}, and here are {len(arguments)}"
        raise unsupported(at, message, hint)
    for count, ((what, one), argument, before) in enumerate(zip(wanted, arguments, written), 1):
        if (given := _kind(argument)) != what:
            type_ = before.type
            message = f"{one.text!r} takes {_WORDS[what]}, and argument {count} has the type '{type_}'"
            raise unsupported(argument.at, message, _hint(given, one, type_))
    return Value(tree.Intrinsic(at, INT, "printf", arguments, first.text))


def _no_format(value: Value, at: At) -> Value:
    if value.null:  # CUDA's guide: then the result is -1
        return Value(tree.Literal(at, INT, -1))
    source = rvalue(value).type
    if isinstance(source, Pointer) and source.to == CHAR:
        hint = 'write it where it is used: printf("...")'
        raise unsupported(at, "a format that is not a string literal", hint)
    message = f"argument of type '{source}' is incompatible with parameter of type '{FORMAT}'"
    raise Fault(at, message, 'the first argument is the format: printf("%d\\n", n)')


def _written(context: Context, node: syntax.Node) -> tree.Expression:
    """An argument as it stands there."""
    if isinstance(node, syntax.Text):
        return tree.TextLiteral(node.at, FORMAT, node.text.partition("\0")[0])
    if isinstance(node, syntax.Braces):
        raise Fault(node.at, "expected an expression")
    value = context.rvalue(node)
    if value.type == VOID:
        raise Fault(value.at, 'incomplete type "void" is not allowed', "the function returns nothing")
    return value


def _promoted(value: tree.Expression) -> tree.Expression:
    """What C makes of it where a function takes anything."""
    if not isinstance(value.type, Scalar) or value.type in NARROW:
        return value
    return number(value, DOUBLE if value.type.is_float else promoted(value.type))


def _kind(argument: tree.Expression) -> str:
    type_ = argument.type
    if isinstance(argument, tree.TextLiteral):
        return "text"
    if type_ in NARROW:
        return "half"
    if isinstance(type_, Scalar):
        return "double" if type_.is_float else "long" if type_.size == 8 else "int"
    return "pointer" if isinstance(type_, Pointer) else str(type_)


def _hint(given: str, one: Conversion, type_: Type) -> str:
    letter = one.letter if one.letter in "dioxXu" else "d"
    if given == "pointer":
        return "write * or [...] to show what the pointer points to, and %p to show the address"
    return {
        "int": f"write %{letter}, or convert the number",
        "long": f"write %ll{letter}",
        "double": "write %f, or convert the number: (int)x",
        "text": "write %s",
        "half": "convert it: (float)x gives a float, which %f shows",
    }.get(given, f"show the members of the '{type_}' one by one")


def _count(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"


def call_assert(context: Context, node: syntax.CallOf) -> Value:
    """assert(condition), which the preprocessor has given the text of its condition."""
    condition, text = node.arguments
    assert isinstance(text, syntax.Text)
    context.needs_function("assert", node.at)
    return Value(tree.Intrinsic(node.at, VOID, "assert", [condition_of(context, condition)], text.text))
