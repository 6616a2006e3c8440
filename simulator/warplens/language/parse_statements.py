"""Statements."""

from __future__ import annotations

from collections.abc import Callable

from warplens.errors import At, Fault, unsupported
from warplens.language import groups
from warplens.language.parse_declarations import DeclarationParser
from warplens.language.parse_tokens import KEYWORDS
from warplens.language.parse_types import undefined_type
from warplens.language.preprocess import UNROLL, UNROLL_END
from warplens.language.syntax import (
    Bindings,
    BlockOf,
    CaseLabel,
    Declaration,
    DoWhile,
    ExpressionStatement,
    For,
    FunctionPart,
    IfElse,
    Jump,
    Node,
    Nothing,
    ReturnOf,
    Specifiers,
    SwitchOf,
    Unroll,
    While,
)

FOR_HINT = "the three parts of a for are separated by ;"


class StatementParser:
    """Statements; those that declare something go to the parser of declarations."""

    def __init__(self, declarations: DeclarationParser) -> None:
        self.declarations, self.expressions = declarations, declarations.expressions
        self.tokens, self.types = declarations.tokens, declarations.types
        declarations.classes.block = self.expressions.block = self.block
        self._by_word: dict[str, Callable[[], Node]] = {
            "if": self._if, "for": self._for, "while": self._while, "do": self._do, "switch": self._switch,
            "return": self._return, "break": self._jump, "continue": self._jump,
            "static_assert": declarations.static_assert, "using": declarations.using,
        }  # fmt: skip

    def block(self, scope: bool = True) -> BlockOf:
        """Statements between braces, in a scope of their own unless told otherwise."""
        tokens = self.tokens
        opened = tokens.must("{").at
        if scope:
            tokens.scopes.append({})
        statements: list[Node] = []
        while not tokens.sees("}"):
            if tokens.token.kind == "end":
                raise tokens.expected("}", opened)
            self._not_a_function(opened)
            statements += self.statements()
        if scope:
            tokens.scopes.pop()
        return BlockOf(opened, statements, tokens.next().at)

    def _not_a_function(self, opened: At) -> None:
        if self.tokens.sees("__global__"):
            hint = (
                f"a '}}' seems to be missing before this line: the '{{' of line {opened.line} is still open"
            )
            raise Fault(self.tokens.at, "a __global__ function cannot stand inside another function", hint)

    def statements(self) -> list[Node]:
        """One statement, or a struct or an enum with the variables that are declared along with it."""
        self.tokens.attributes()
        if self.tokens.takes(groups.USING):
            self.tokens.use_groups()
            return []
        if self.declarations.type_follows():
            return self.declarations.type_definition()
        if self.declarations.alias_follows():
            return [self.declarations.namespace_alias()]
        return [self.statement()]

    def _scoped(self) -> Node:
        """The body of an if or of a loop: declarations end with it."""
        tokens = self.tokens
        tokens.scopes.append({})
        if tokens.sees("}") or tokens.token.kind == "end":
            raise Fault(tokens.at, "expected a statement")
        node = self.statement()
        tokens.scopes.pop()
        return node

    def statement(self) -> Node:
        tokens = self.tokens
        tokens.attributes()
        token = tokens.token
        at = token.at
        if tokens.sees("{"):
            return self.block()
        if tokens.takes(";"):
            return Nothing(at)
        if tokens.sees(UNROLL):
            return self._unroll()
        if token.kind == "name":
            method = self._by_word.get(token.text)
            if method:
                return method()
            if token.text in ("case", "default"):
                raise Fault(at, f"a {token.text} label may only be used within a switch")
            if token.text == "else":
                raise Fault(
                    at, "expected a statement", "this else has no if: one statement or { } stands before it"
                )
            if token.text not in ("new", "throw"):
                tokens.refuse_word()
            if tokens.ahead().text == ":" and token.text not in KEYWORDS and tokens.ahead().kind == "mark":
                raise unsupported(at, "labels")
            if self.declarations.follows():
                return self._local_declaration()
            self._undefined_type()
            self._no_brackets()
        node = self.expressions.expression()
        self.declarations.end()
        return ExpressionStatement(at, node)

    def _no_brackets(self) -> None:
        """`Pair(x);` is a declaration of x."""
        tokens = self.tokens
        kind, after = tokens.path()
        if kind not in ("type", "class template"):
            return
        texts = [tokens.ahead(after + i).text for i in (0, 2, 3)]
        if texts == ["(", ")", ";"] and tokens.ahead(after + 1).kind == "name":
            raise unsupported(tokens.at, "a declaration with brackets around its name", "leave them out")

    def _unroll(self) -> Node:
        tokens = self.tokens
        at = tokens.next().at
        count = None if tokens.sees(UNROLL_END) else self.expressions.expression()
        if not tokens.takes(UNROLL_END):
            raise unsupported(tokens.at, "text after the number of #pragma unroll")
        return Unroll(at, count, Nothing(at) if tokens.sees("}") else self.statement())

    def _undefined_type(self) -> None:
        """`flaot x = 3;` and `std::vector v`: an unknown name where a type would make sense."""
        tokens = self.tokens
        token, after = tokens.token, tokens.ahead()
        if token.text in KEYWORDS or tokens.kind_of(token.text):
            return
        two_names = after.kind == "name" and after.text not in KEYWORDS
        pointer = (
            after.text in ("*", "&") and tokens.ahead(2).kind == "name" and tokens.ahead(3).text in ("=", ";")
        )
        if two_names or pointer or after.text == "::":
            raise undefined_type(token.text, token.at)

    def _local_declaration(self) -> Node:
        tokens = self.tokens
        at = tokens.at
        specifiers = self.declarations.typed_specifiers()
        if tokens.sees(";"):
            raise unsupported(at, "a declaration that declares nothing", "a name is missing")
        after = tokens.ahead().text if tokens.sees("&", "&&") else tokens.token.text
        if specifiers.base == "auto" and after == "[":
            return self._bindings(at, specifiers)
        declarator = self.types.declarator()
        if declarator.parts and isinstance(declarator.parts[0], FunctionPart):
            if tokens.sees("{"):
                hint = "is a '}' missing above? Functions cannot stand inside functions"
                raise Fault(tokens.at, "expected a ';'", hint)
            raise unsupported(declarator.at, "declaring a function inside a function")
        return self.declarations.rest(at, specifiers, declarator)

    def _bindings(self, at: At, specifiers: Specifiers) -> Node:
        """auto [a, b] = value;"""
        tokens = self.tokens
        if tokens.sees("&&"):
            raise unsupported(tokens.at, "references with &&")
        reference = tokens.takes("&")
        opened = tokens.must("[").at
        names = []
        while True:
            name = tokens.identifier()
            names.append((name.at, name.text))
            if not tokens.takes(","):
                break
        tokens.must("]", opened)
        tokens.must("=")
        value = self.expressions.assignment()
        self.declarations.end()
        for _, text in names:
            tokens.declare(text)
        return Bindings(at, names, value, specifiers.const, specifiers.volatile, reference)

    # --------------------------------------------------------------------------------- with statements inside

    def _condition(self) -> Node:
        tokens = self.tokens
        opened = tokens.must("(", hint="a condition stands between ( and )").at
        if tokens.starts_type() and self.declarations.follows():
            raise unsupported(tokens.at, "a declaration as a condition", "declare it on the line before")
        test = self.expressions.expression()
        tokens.must(")", opened)
        return test

    def _if(self) -> Node:
        tokens = self.tokens
        at = tokens.next().at
        constexpr = tokens.takes("constexpr")
        tokens.scopes.append({})
        initial, test = self._if_condition()
        yes = self._scoped()
        no = self._scoped() if tokens.takes("else") else None
        tokens.scopes.pop()
        return IfElse(at, initial, test, yes, no, constexpr)

    def _if_condition(self) -> tuple[Node | None, Node]:
        """(test) or (first; test)"""
        tokens = self.tokens
        opened = tokens.must("(", hint="a condition stands between ( and )").at
        initial: Node | None = None
        if tokens.starts_type() and self.declarations.follows():
            at, specifiers = tokens.at, self.declarations.typed_specifiers()
            one = self.declarations.one(self.types.declarator(), "other")
            if not tokens.takes(";"):
                raise unsupported(at, "a declaration as a condition", "declare it on the line before")
            initial = Declaration(at, specifiers, [one])
        elif tokens.takes(";"):
            initial = Nothing(opened)
        test = self.expressions.expression()
        if initial is None and tokens.takes(";"):
            initial, test = ExpressionStatement(test.at, test), self.expressions.expression()
        tokens.must(")", opened)
        return initial, test

    def _for(self) -> Node:
        tokens = self.tokens
        at = tokens.next().at
        opened = tokens.must("(").at
        tokens.scopes.append({})
        initial: list[Node] = []
        if tokens.starts_type() and self.declarations.follows():
            initial.append(self._for_declaration())
        elif not tokens.takes(";"):
            self._undefined_type()
            initial.append(ExpressionStatement(tokens.at, self.expressions.expression()))
            self._for_semicolon()
        test = None if tokens.sees(";") else self.expressions.expression()
        self._for_semicolon()
        step = None if tokens.sees(")") else self.expressions.expression()
        if tokens.sees(";"):
            raise Fault(tokens.at, "expected a ')'", "a for has three parts: for (start; test; step)")
        tokens.must(")", opened)
        body = self._scoped()
        tokens.scopes.pop()
        return For(at, initial, test, step, body)

    def _for_semicolon(self) -> None:
        self.tokens.must(";", hint=FOR_HINT)

    def _for_declaration(self) -> Node:
        at = self.tokens.at
        specifiers = self.declarations.typed_specifiers()
        declarator = self.types.declarator()
        if self.tokens.sees(":"):
            raise unsupported(self.tokens.at, "for over a range", "count with an index")
        return self.declarations.rest(at, specifiers, declarator, FOR_HINT)

    def _while(self) -> Node:
        at = self.tokens.next().at
        return While(at, self._condition(), self._scoped())

    def _do(self) -> Node:
        tokens = self.tokens
        at = tokens.next().at
        body = self._scoped()
        if not tokens.sees("while"):
            raise tokens.expected("while", hint="do { ... } while (condition);")
        tokens.place += 1
        test = self._condition()
        self.declarations.end()
        return DoWhile(at, body, test)

    def _jump(self) -> Node:
        token = self.tokens.next()
        self.declarations.end()
        return Jump(token.at, token.text)

    def _return(self) -> Node:
        at = self.tokens.next().at
        value: Node | None = None
        if not self.tokens.sees(";"):
            value = self.expressions.braces() if self.tokens.sees("{") else self.expressions.expression()
        self.declarations.end()
        return ReturnOf(at, value)

    def _switch(self) -> Node:
        tokens = self.tokens
        at = tokens.next().at
        value = self._condition()
        if not tokens.sees("{"):
            raise unsupported(tokens.at, "a switch without { }")
        opened = tokens.next().at
        tokens.scopes.append({})
        body: list[Node] = []
        while not tokens.sees("}"):
            if tokens.token.kind == "end":
                raise tokens.expected("}", opened)
            if tokens.sees("case", "default"):
                body.append(self._case())
            else:
                body += self.statements()
        tokens.place += 1
        tokens.scopes.pop()
        return SwitchOf(at, value, body)

    def _case(self) -> Node:
        token = self.tokens.next()
        value = self.expressions.constant() if token.text == "case" else None
        if not self.tokens.takes(":"):
            raise self.tokens.expected(":", hint="a label of a switch ends with :")
        return CaseLabel(token.at, value)
