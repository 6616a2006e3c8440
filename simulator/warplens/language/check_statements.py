"""Statements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from warplens.errors import At, Fault, unsupported
from warplens.language import syntax, tree
from warplens.language.check_context import Context
from warplens.language.check_declarations import DeclarationChecker
from warplens.language.check_expressions import ExpressionChecker
from warplens.language.check_hints import first_at, type_hint
from warplens.language.constant import fold, in_type
from warplens.language.conversion import Value, address, known, number, rvalue
from warplens.language.scope import FunctionName
from warplens.language.types import Scalar, Type, Void, is_scoped, promoted


class StatementChecker:
    """The statements of one function, or those at file scope."""

    def __init__(self, context: Context) -> None:
        self.context, self.expressions = context, ExpressionChecker(context)
        self.types, self.initials = self.expressions.types, self.expressions.initials
        self.declarations = DeclarationChecker(context, self.expressions)
        self.loops = 0  # around the statement
        self.switches = 0

    def block(self, node: syntax.BlockOf, scope: bool = True) -> tree.Block:
        if scope:
            self.context.push()
        statements: list[tree.Statement] = []
        for inner in node.statements:
            statements += self.statement(inner)
        if scope:
            self.context.pop()
        return tree.Block(node.at, statements)

    def statement(self, node: syntax.Node) -> list[tree.Statement]:
        at = node.at
        if isinstance(node, syntax.BlockOf):
            return [self.block(node)]
        if isinstance(node, syntax.ExpressionStatement):
            return [tree.Evaluate(at, self.expressions.rvalue(node.expression))]
        if isinstance(node, syntax.Declaration):
            return self.declarations.local(node)
        if isinstance(node, syntax.IfElse):
            return [self._if(node)]
        if isinstance(node, syntax.For):
            return [self._for(node)]
        if isinstance(node, syntax.While):
            test = self.expressions.condition(node.test)
            return [tree.Loop(at, [], test, None, self._body(node.body))]
        if isinstance(node, syntax.DoWhile):
            body = self._body(node.body)
            return [tree.Loop(at, [], self.expressions.condition(node.test), None, body, "after")]
        if isinstance(node, syntax.Jump):
            return [self._jump(node)]
        if isinstance(node, syntax.ReturnOf):
            return [self._return(node)]
        if isinstance(node, syntax.SwitchOf):
            return [self._switch(node)]
        return self._other(node)

    def _other(self, node: syntax.Node) -> list[tree.Statement]:
        if isinstance(node, syntax.Unroll):
            if node.count is not None and isinstance(
                node.statement, syntax.For | syntax.While | syntax.DoWhile
            ):
                self.types.constant_integer(
                    node.count, "the number of #pragma unroll is known when compiling"
                )
            return self.statement(node.statement)
        if isinstance(node, syntax.StaticAssert):
            self.declarations.static_assert(node)
        elif isinstance(node, syntax.Bindings):
            return [self.declarations.bindings(node)]
        elif isinstance(node, syntax.Alias):
            self.declarations.alias(node)
        elif isinstance(node, syntax.Using):
            self.declarations.using(node)
        elif isinstance(node, syntax.StructDefinition):
            self.declarations.classes.define(node)
        elif isinstance(node, syntax.EnumDefinition):
            self.declarations.enum(node)
        return []

    def _one(self, node: syntax.Node, reserved: Iterable[str] = ()) -> tree.Statement:
        """A statement in a scope of its own."""
        self.context.push()
        self.context.scope.reserved = set(reserved)
        if isinstance(node, syntax.BlockOf):
            statements: list[tree.Statement] = [self.block(node, scope=False)]
        else:
            statements = self.statement(node)
        self.context.pop()
        return statements[0] if len(statements) == 1 else tree.Block(node.at, statements)

    def _body(self, node: syntax.Node, reserved: Iterable[str] = ()) -> tree.Statement:
        self.loops += 1
        statement = self._one(node, reserved)
        self.loops -= 1
        return statement

    def _if(self, node: syntax.IfElse) -> tree.Statement:
        if node.initial is not None:
            self.context.push()
            first = self.statement(node.initial)
            result = self._if(replace(node, initial=None))
            self.context.pop()
            return tree.Block(node.at, [*first, result])
        test = self.expressions.condition(node.test)
        if node.constexpr:
            holds = fold(test)
            if holds is None:
                raise Fault(
                    first_at(node.test),
                    "expression must have a constant value",
                    "if constexpr is decided when compiling",
                )
            chosen = node.yes if holds else node.no
            if self.context.function is None or self.context.function.definition.template is None:
                both = [self._one(arm) for arm in (node.yes, node.no) if arm is not None]
                return both[0] if holds else both[1] if len(both) > 1 else tree.Block(node.at, [])
            return self._one(chosen) if chosen is not None else tree.Block(node.at, [])
        no = self._one(node.no) if node.no is not None else None
        return tree.If(node.at, test, self._one(node.yes), no)

    def _for(self, node: syntax.For) -> tree.Statement:
        self.context.push()
        initial: list[tree.Statement] = []
        for inner in node.initial:
            initial += self.statement(inner)
        test = self.expressions.condition(node.test) if node.test is not None else None
        step = self.expressions.rvalue(node.step) if node.step is not None else None
        body = self._body(node.body, self.context.scope.names)
        self.context.pop()
        return tree.Loop(node.at, initial, test, step, body)

    def _jump(self, node: syntax.Jump) -> tree.Statement:
        if node.word == "break":
            if not self.loops and not self.switches:
                raise Fault(node.at, "a break statement may only be used within a loop or switch")
            return tree.Break(node.at)
        if not self.loops:
            raise Fault(node.at, "a continue statement may only be used within a loop")
        return tree.Continue(node.at)

    def _return(self, node: syntax.ReturnOf) -> tree.Statement:
        assert self.context.function is not None
        to = self.context.function.returns
        if node.value is None:
            if not isinstance(to, Void):
                raise unsupported(node.at, f"return without a value in a function that returns '{to}'")
            return tree.Return(node.at)
        if isinstance(node.value, syntax.Braces):
            return tree.Return(node.at, self.initials.braces_value(node.value, to))
        value = self.expressions.operand(node.value)
        if self.context.function.auto:
            to = self._auto(self.context.function, value, node.at)
        if self.context.function.reference:
            return self._return_reference(node, value)
        if isinstance(to, Void):
            if isinstance(value.type, Void):
                return tree.Block(node.at, [tree.Evaluate(node.at, rvalue(value)), tree.Return(node.at)])
            hint = (
                "a kernel returns nothing; write its results into an array"
                if self.context.function.kernel
                else ""
            )
            message = f"return value type '{rvalue(value).type}' does not match the function type 'void'"
            raise Fault(first_at(node.value), message, hint)
        result = self.expressions.objects.converted(value, to, node.at)
        if result is None:
            source = rvalue(value).type
            message = f"return value type '{source}' does not match the function type '{to}'"
            raise Fault(first_at(node.value), message, type_hint(source, to))
        return tree.Return(node.at, result)

    def _auto(self, function: FunctionName, value: Value, at: At) -> Type:
        """The type of the function's first return, which all others have too."""
        assert function.function is not None
        type_ = rvalue(value).type
        if function.deduced and type_ != function.returns:
            message = (
                f"deduced return type '{type_}' conflicts with previously deduced type '{function.returns}'"
            )
            raise Fault(at, message, "write the type of the function")
        function.deduced = True
        function.returns = function.function.returns = rvalue(value).type
        return function.returns

    def _return_reference(self, node: syntax.ReturnOf, value: Value) -> tree.Statement:
        function = self.context.function
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

    # ------------------------------------------------------------------------------------------------ switch

    def _switch(self, node: syntax.SwitchOf) -> tree.Statement:
        value = self.expressions.rvalue(node.value)
        if not isinstance(value.type, Scalar) or not value.type.is_integer:
            raise Fault(
                first_at(node.value),
                "expression must have integral or enum type",
                f"it has type '{value.type}'",
            )
        type_ = promoted(value.type)
        cases: list[tree.Case] = []
        seen: set[int] = set()
        self.context.push()
        self.switches += 1
        for inner in node.body:
            if isinstance(inner, syntax.CaseLabel):
                self._label(inner, type_, cases, seen)
                continue
            if not cases:
                raise unsupported(inner.at, "a statement of a switch before its first case")
            cases[-1].statements += self.statement(inner)
        self.switches -= 1
        self.context.pop()
        return tree.Switch(node.at, number(value, type_), cases)

    def _label(self, node: syntax.CaseLabel, type_: Scalar, cases: list[tree.Case], seen: set[int]) -> None:
        if not cases or cases[-1].statements:
            cases.append(tree.Case([], False, []))
        case = cases[-1]
        if node.value is None:
            if any(other.default for other in cases):
                raise Fault(node.at, "default label has already appeared in this switch")
            case.default = True
            return
        written = self.expressions.value(node.value)
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
