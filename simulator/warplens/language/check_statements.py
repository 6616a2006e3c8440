"""Statements, and the bodies of functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_conversions import condition_of
from warplens.language.check_initializers import braces_value, first_values
from warplens.language.check_methods import settle_calls
from warplens.language.check_types import constant_integer
from warplens.language.constant import fold, in_type
from warplens.language.conversion import Value, address, known, number, rvalue, type_hint
from warplens.language.scope import FunctionName
from warplens.language.syntax import first_at
from warplens.language.types import Scalar, Type, Void, is_scoped, promoted


def check_block(context: Context, node: syntax.BlockOf) -> tree.Statement:
    context.push()
    result = _block(context, node)
    context.pop()
    return result


def _block(context: Context, node: syntax.BlockOf) -> tree.Block:
    """Its statements, in the scope around it."""
    statements: list[tree.Statement] = []
    for inner in node.statements:
        statements += context.statement(inner)
    return tree.Block(node.at, statements)


def check_expression(context: Context, node: syntax.ExpressionStatement) -> tree.Statement:
    return tree.Evaluate(node.at, context.rvalue(node.expression))


def _one(context: Context, node: syntax.Node, reserved: Iterable[str] = ()) -> tree.Statement:
    """A statement in a scope of its own."""
    context.push()
    context.scope.reserved = set(reserved)
    if isinstance(node, syntax.BlockOf):
        statements: list[tree.Statement] = [_block(context, node)]
    else:
        statements = context.statement(node)
    context.pop()
    return statements[0] if len(statements) == 1 else tree.Block(node.at, statements)


def _body(context: Context, node: syntax.Node, reserved: Iterable[str] = ()) -> tree.Statement:
    context.loops += 1
    statement = _one(context, node, reserved)
    context.loops -= 1
    return statement


def check_if(context: Context, node: syntax.IfElse) -> tree.Statement:
    if node.initial is not None:
        context.push()
        first = context.statement(node.initial)
        result = check_if(context, replace(node, initial=None))
        context.pop()
        return tree.Block(node.at, [*first, result])
    test = condition_of(context, node.test)
    if node.constexpr:
        holds = fold(test)
        if holds is None:
            raise Fault(
                first_at(node.test),
                "expression must have a constant value",
                "if constexpr is decided when compiling",
            )
        chosen = node.yes if holds else node.no
        if context.function is None or context.function.definition.template is None:
            both = [_one(context, arm) for arm in (node.yes, node.no) if arm is not None]
            return both[0] if holds else both[1] if len(both) > 1 else tree.Block(node.at, [])
        return _one(context, chosen) if chosen is not None else tree.Block(node.at, [])
    no = _one(context, node.no) if node.no is not None else None
    return tree.If(node.at, test, _one(context, node.yes), no)


def check_for(context: Context, node: syntax.For) -> tree.Statement:
    context.push()
    initial: list[tree.Statement] = []
    for inner in node.initial:
        initial += context.statement(inner)
    test = condition_of(context, node.test) if node.test is not None else None
    step = context.rvalue(node.step) if node.step is not None else None
    body = _body(context, node.body, context.scope.names)
    context.pop()
    return tree.Loop(node.at, initial, test, step, body)


def check_while(context: Context, node: syntax.While) -> tree.Statement:
    test = condition_of(context, node.test)
    return tree.Loop(node.at, [], test, None, _body(context, node.body))


def check_do_while(context: Context, node: syntax.DoWhile) -> tree.Statement:
    body = _body(context, node.body)
    return tree.Loop(node.at, [], condition_of(context, node.test), None, body, "after")


def check_unroll(context: Context, node: syntax.Unroll) -> list[tree.Statement]:
    if node.count is not None and isinstance(node.statement, syntax.For | syntax.While | syntax.DoWhile):
        constant_integer(context, node.count, "the number of #pragma unroll is known when compiling")
    return context.statement(node.statement)


def check_jump(context: Context, node: syntax.Jump) -> tree.Statement:
    if node.word == "break":
        if not context.loops and not context.switches:
            raise Fault(node.at, "a break statement may only be used within a loop or switch")
        return tree.Break(node.at)
    if not context.loops:
        raise Fault(node.at, "a continue statement may only be used within a loop")
    return tree.Continue(node.at)


def check_return(context: Context, node: syntax.ReturnOf) -> tree.Statement:
    assert context.function is not None
    to = context.function.returns
    if node.value is None:
        if not isinstance(to, Void):
            raise unsupported(node.at, f"return without a value in a function that returns '{to}'")
        return tree.Return(node.at)
    if isinstance(node.value, syntax.Braces):
        return tree.Return(node.at, braces_value(context, node.value, to))
    value = context.operand(node.value)
    if context.function.auto:
        to = _returned_type(context.function, value, node.at)
    if context.function.reference:
        return _return_reference(context, node, value)
    if isinstance(to, Void):
        if isinstance(value.type, Void):
            return tree.Block(node.at, [tree.Evaluate(node.at, rvalue(value)), tree.Return(node.at)])
        hint = "a kernel returns nothing; write its results into an array" if context.function.kernel else ""
        message = f"return value type '{rvalue(value).type}' does not match the function type 'void'"
        raise Fault(first_at(node.value), message, hint)
    result = context.converted(value, to, node.at)
    if result is None:
        source = rvalue(value).type
        message = f"return value type '{source}' does not match the function type '{to}'"
        raise Fault(first_at(node.value), message, type_hint(source, to))
    return tree.Return(node.at, result)


def _returned_type(function: FunctionName, value: Value, at: At) -> Type:
    """The type of the function's first return, which all others have too."""
    assert function.function is not None
    type_ = rvalue(value).type
    if function.deduced and type_ != function.returns:
        message = f"deduced return type '{type_}' conflicts with previously deduced type '{function.returns}'"
        raise Fault(at, message, "write the type of the function")
    function.deduced = True
    function.returns = function.function.returns = rvalue(value).type
    return function.returns


def _return_reference(context: Context, node: syntax.ReturnOf, value: Value) -> tree.Statement:
    function = context.function
    assert function is not None and node.value is not None
    if value.place is None or value.type != function.returns:
        if function.returns_const or value.lost:
            raise unsupported(node.at, "a reference to a value that is not stored", "return the value")
        message = "initial value of reference to non-const must be an lvalue"
        raise Fault(first_at(node.value), message, f"the function returns a '{function.returns} &'")
    assert function.function is not None
    volatile = getattr(function.function.returns, "volatile", False)
    if value.const > function.returns_const or value.volatile > volatile:
        message = f"qualifiers dropped in binding reference of type '{function.returns} &'"
        qualifier = "const" if value.const > function.returns_const else "volatile"
        raise Fault(first_at(node.value), message, f"return a {qualifier} reference")
    if function.returns_const:
        value = Value(place=value.place, const=True)
    return tree.Return(node.at, address(value, node.at))


def check_switch(context: Context, node: syntax.SwitchOf) -> tree.Statement:
    value = context.rvalue(node.value)
    if not isinstance(value.type, Scalar) or not value.type.is_integer:
        raise Fault(
            first_at(node.value),
            "expression must have integral or enum type",
            f"it has type '{value.type}'",
        )
    type_ = promoted(value.type)
    cases: list[tree.Case] = []
    seen: set[int] = set()
    context.push()
    context.switches += 1
    for inner in node.body:
        if isinstance(inner, syntax.CaseLabel):
            _label(context, inner, type_, cases, seen)
            continue
        if not cases:
            raise unsupported(inner.at, "a statement of a switch before its first case")
        cases[-1].statements += context.statement(inner)
    context.switches -= 1
    context.pop()
    return tree.Switch(node.at, number(value, type_), cases)


def _label(
    context: Context, node: syntax.CaseLabel, type_: Scalar, cases: list[tree.Case], seen: set[int]
) -> None:
    if not cases or cases[-1].statements:
        cases.append(tree.Case([], False, []))
    case = cases[-1]
    if node.value is None:
        if any(other.default for other in cases):
            raise Fault(node.at, "default label has already appeared in this switch")
        case.default = True
        return
    written = context.value(node.value)
    if (is_scoped(type_) or is_scoped(written.type)) and written.type != type_:
        raise Fault(node.value.at, f"this label has type '{written.type}', and the switch '{type_}'")
    found = known(written)
    if found is None or isinstance(found, float):
        raise Fault(
            node.value.at,
            "expression must have a constant value",
            "a case is an integer that is known when compiling",
        )
    value = in_type(found, type_)
    if value != found:
        raise Fault(node.value.at, f"invalid narrowing conversion: {found} is no value of '{type_}'")
    assert value is not None
    if int(value) in seen:
        raise Fault(node.value.at, f"case label value {int(value)} has already appeared in this switch")
    seen.add(int(value))
    case.values.append(int(value))


# ---------------------------------------------------------------------------------------- bodies of functions


def check_function_body(context: Context, node: syntax.FunctionDefinition) -> tree.Statement:
    """The body of the function that the context is in."""
    function = context.function
    assert function is not None and node.body is not None
    first = first_values(context, function) if node.form == "constructor" else []
    body = _block(context, node.body)
    settle_calls(context.file, function)
    hidden = [tree.Declare(variable.at, variable) for variable in function.temporaries]
    body.statements[:0] = [*hidden, *first]
    return body
