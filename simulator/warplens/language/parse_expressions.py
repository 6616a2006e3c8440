"""Expressions, by the strength of their operators."""

from __future__ import annotations

from collections.abc import Callable

from warplens.errors import At, Fault, unsupported
from warplens.language.lexer import number, unquoted
from warplens.language.parse_tokens import KEYWORDS, OF_TEXTURES, Tokens
from warplens.language.parse_types import TypeParser, undefined_type
from warplens.language.syntax import (
    Assignment,
    BlockOf,
    Braces,
    CallOf,
    Cast,
    Declarator,
    Dot,
    FunctionDefinition,
    FunctionPart,
    Index,
    Infix,
    Lambda,
    Make,
    Name,
    Node,
    Null,
    Number,
    Postfix,
    Prefix,
    SizeOf,
    Specifiers,
    Ternary,
    Text,
    This,
    TypeName,
)
from warplens.language.types import BOOL, CHAR

_STRENGTH = {
    "||": 3, "&&": 4, "|": 5, "^": 6, "&": 7, "==": 8, "!=": 8, "<": 9, "<=": 9, ">": 9, ">=": 9,
    "<<": 10, ">>": 10, "+": 11, "-": 11, "*": 12, "/": 12, "%": 12,
}  # fmt: skip
_WORDS = {"or": "||", "and": "&&", "bitor": "|", "xor": "^", "bitand": "&", "not_eq": "!="}
_ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
_CASTS = {"static_cast": "static", "reinterpret_cast": "reinterpret", "const_cast": "const"}


class ExpressionParser:
    """Holds the parser of types, which stand in casts, sizeof and the arguments of templates."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens, self.types = tokens, TypeParser(tokens, self)
        self.block: Callable[..., BlockOf]  # of the parser of statements

    def expression(self) -> Node:
        node = self.assignment()
        while self.tokens.sees(","):
            at = self.tokens.next().at
            node = Infix(at, ",", node, self.assignment())
        return node

    def assignment(self) -> Node:
        tokens = self.tokens
        if tokens.sees("throw"):
            tokens.refuse_word()
        left = self.constant()
        if tokens.token.kind == "mark" and tokens.token.text in _ASSIGNMENTS and not self._closes_angle():
            token = tokens.next()
            right = self.braces() if tokens.sees("{") else self.assignment()
            return Assignment(token.at, token.text[:-1], left, right)
        return left

    def _closes_angle(self) -> bool:
        return self.tokens.no_greater and self.tokens.token.text[0] == ">"

    def constant(self) -> Node:
        """Without commas and assignments: what C calls a constant expression."""
        tokens = self.tokens
        test = self._binary(3)
        if not tokens.sees("?"):
            return test
        at = tokens.next().at
        before, tokens.no_greater = tokens.no_greater, False
        yes = self.expression()
        tokens.no_greater = before
        tokens.must(":", hint="it belongs to the ? before it")
        return Ternary(at, test, yes, self.assignment())

    def _binary(self, weakest: int) -> Node:
        tokens = self.tokens
        left = self._unary()
        while True:
            token = tokens.token
            op = _WORDS.get(token.text, token.text) if token.kind in ("mark", "name") else ""
            strength = _STRENGTH.get(op, 0)
            if strength < weakest or (tokens.no_greater and op[0] == ">"):
                if token.text == "<<<" or (op == "<<" and tokens.ahead().text == "<"):
                    raise unsupported(token.at, "launching a kernel from device code")
                return left
            if op == "<<" and tokens.ahead().text == "<" and not tokens.ahead().space:
                raise unsupported(token.at, "launching a kernel from device code (<<<...>>>)")
            tokens.place += 1
            left = Infix(token.at, op, left, self._binary(strength + 1))

    # ------------------------------------------------------------------------------------------------ unary

    def _unary(self) -> Node:
        tokens = self.tokens
        token = tokens.token
        if token.kind == "mark" and token.text in ("+", "-", "!", "~", "*", "&", "++", "--"):
            tokens.place += 1
            return Prefix(token.at, token.text, self._unary())
        if token.kind == "name" and token.text in ("not", "compl"):
            tokens.place += 1
            return Prefix(token.at, "!" if token.text == "not" else "~", self._unary())
        if token.text in ("sizeof", "alignof", "__alignof__") and token.kind == "name":
            return self._size_of()
        if token.text == "(" and token.kind == "mark" and tokens.starts_type(1):
            opened = tokens.next().at
            if not self._functional_in_brackets():
                type_ = self.types.type_name()
                tokens.must(")", opened)
                if tokens.sees("{"):
                    raise unsupported(tokens.at, "compound literals", "write type{...}")
                return Cast(opened, "c", type_, self._unary())
            tokens.place -= 1
        return self._postfix(self._primary())

    def _functional_in_brackets(self) -> bool:
        """Whether `(float(x) ...` stands here, the ( being taken: a conversion in brackets and no cast."""
        token, length = self.tokens.token, self.tokens.path()[1]
        after = self.tokens.ahead(length)
        if after.text == "{":
            return True
        if after.text != "(" or token.text in ("const", "struct", "typename"):
            return False
        own = self.tokens.path()[0] in ("type", "class template")
        no_pointer = ("*", "&") if own else ("*", "&", ")")
        return self.tokens.ahead(length + 1).text not in no_pointer or self._pointer_is_operand(length)

    def _pointer_is_operand(self, length: int) -> bool:
        """`(float(*p) + 1)`: what follows the * is no part of a declarator, which ends at once."""
        ahead = self.tokens.ahead
        return (
            ahead(length + 1).text in ("*", "&")
            and ahead(length + 2).text != ")"
            and ahead(length + 2).kind == "name"
        )

    def _size_of(self) -> Node:
        tokens = self.tokens
        token = tokens.next()
        align = token.text != "sizeof"
        if tokens.sees("...") and not align:
            raise unsupported(tokens.at, "sizeof...")
        if tokens.sees("(") and tokens.starts_type(1) and not self._type_is_call(1):
            opened = tokens.next().at
            type_ = self.types.type_name()
            tokens.must(")", opened)
            return SizeOf(token.at, type_, align)
        return SizeOf(token.at, self._unary(), align)

    def _type_is_call(self, count: int) -> bool:
        after = count + self.tokens.path(count)[1]
        return self.tokens.ahead(after).text in ("(", "{") and self.tokens.ahead(after + 1).text not in (
            "*",
            "&",
        )

    # ---------------------------------------------------------------------------------------------- primary

    def _primary(self) -> Node:
        tokens = self.tokens
        token = tokens.token
        at = token.at
        if token.kind == "number":
            tokens.place += 1
            return Number(at, *number(token))
        if token.kind == "char":
            return self._character()
        if token.kind == "string":
            text = ""
            while tokens.token.kind == "string":
                text += unquoted(tokens.next())
            return Text(at, text)
        if tokens.sees("("):
            return self._bracketed()
        if tokens.sees("::"):
            return self._functional() if tokens.starts_type() else self.types.name()
        if tokens.sees("["):
            if tokens.ahead().text in ("]", "&", "=") or tokens.ahead(2).text in (",", "]", "="):
                return self._lambda()
            raise Fault(at, "expected an expression")
        if token.kind == "name":
            return self._word()
        if token.kind == "end":
            raise Fault(tokens.after_last(), "expected an expression", "the source ends too early")
        last = tokens.stream[max(tokens.place - 1, 0)]
        here = tokens.after_last() if tokens.place and last.at.line != at.line else at
        raise Fault(here, "expected an expression")

    def _lambda(self) -> Node:
        """[captures](parameters) { body }"""
        tokens = self.tokens
        at = tokens.next().at
        default, captures = self._captures(at)
        tokens.must("]", at)
        if tokens.sees("__device__", "__host__"):
            raise unsupported(tokens.at, f"{tokens.token.text} before a lambda", "leave it out in a kernel")
        parameters = self.types.parameters() if tokens.sees("(") else []
        mutable = tokens.takes("mutable")
        specifiers = Specifiers(at, "auto", words={"__device__": at})
        declarator = Declarator(at, "operator()", [FunctionPart(at, parameters)])
        if tokens.takes("->"):
            written = self.types.type_name()
            specifiers.base, specifiers.const = written.specifiers.base, written.specifiers.const
            declarator.parts += written.declarator.parts
        if not tokens.sees("{"):
            raise tokens.expected("{", hint="the body of a lambda stands between { and }")
        tokens.scopes.append({})
        for parameter in parameters:
            tokens.declare(parameter.declarator.name)
        before, tokens.no_greater = tokens.no_greater, False
        body = self.block(scope=False)
        tokens.no_greater = before
        tokens.scopes.pop()
        method = FunctionDefinition(at, specifiers, declarator, body, form="method", const=not mutable)
        return Lambda(at, default, captures, method)

    def _captures(self, at: At) -> tuple[str, list[tuple[At, str, bool]]]:
        tokens, default = self.tokens, ""
        captures: list[tuple[At, str, bool]] = []
        while not tokens.sees("]"):
            if tokens.sees("=", "&") and tokens.ahead().text in (",", "]"):
                default = tokens.next().text
            elif tokens.sees("this", "*"):
                raise unsupported(tokens.at, "a lambda that captures this")
            else:
                by_reference = tokens.takes("&")
                name = tokens.identifier()
                captures.append((name.at, name.text, by_reference))
                if not tokens.sees(",", "]"):
                    raise unsupported(tokens.at, "a lambda that captures more than variables")
            if not tokens.takes(","):
                break
        return default, captures

    def _character(self) -> Node:
        token = self.tokens.next()
        text = unquoted(token)
        if len(text) != 1 or token.text[0] != "'":
            raise unsupported(token.at, f"the character constant {token.text}")
        value = ord(text)
        return Number(token.at, value - 256 if value > 127 else value, CHAR)

    def _bracketed(self) -> Node:
        tokens = self.tokens
        opened = tokens.next().at
        before, tokens.no_greater = tokens.no_greater, False
        node = self.expression()
        tokens.no_greater = before
        tokens.must(")", opened)
        return node

    def _word(self) -> Node:
        tokens = self.tokens
        token = tokens.token
        text, at = token.text, token.at
        if text in ("true", "false"):
            tokens.place += 1
            return Number(at, text == "true", BOOL)
        if text == "nullptr":
            tokens.place += 1
            return Null(at)
        if text in _CASTS:
            return self._cast()
        tokens.refuse_word()
        if tokens.starts_type():
            return self._functional()
        if text == "this":
            tokens.place += 1
            return This(at)
        if text in KEYWORDS:
            raise Fault(at, "expected an expression", f"{text!r} is a word of the language")
        kind = tokens.kind_of(text)
        if tokens.ahead().text == "::" and not kind:
            raise undefined_type(text, at)
        if tokens.ahead().text == "<" and not kind:
            known = text in tokens.templates or text.startswith(OF_TEXTURES)
            if known and self._closes(1):
                tokens.place += 1
                return Name(at, text, self.template_arguments())
        return self.types.name()

    def _closes(self, ahead: int) -> bool:
        """Whether the < so many tokens ahead is a bracket: a call follows its >."""
        return self.tokens.ahead(self.tokens.behind_angle(ahead)).text == "("

    def _cast(self) -> Node:
        tokens = self.tokens
        token = tokens.next()
        tokens.must("<", hint=f"write {token.text}<type>(value)")
        type_ = self.types.type_name()
        tokens.close_angle()
        opened = tokens.must("(").at
        before, tokens.no_greater = tokens.no_greater, False
        operand = self.expression()
        tokens.no_greater = before
        tokens.must(")", opened)
        return Cast(token.at, _CASTS[token.text], type_, operand)

    def _functional(self) -> Node:
        tokens = self.tokens
        at = tokens.at
        specifiers = self.types.specifiers(storage=False)
        if specifiers.base is None or not tokens.sees("(", "{"):
            if specifiers.base is not None and tokens.token.kind == "name":
                raise Fault(at, "expected an expression", "a declaration cannot stand here")
            raise Fault(
                tokens.at if specifiers.base is not None else at, "expected a '('", "a type is no value"
            )
        type_ = self.bare_type(specifiers)
        if tokens.sees("{"):
            return Make(at, type_, self.braces().parts, True)
        parts = self.arguments()
        return Cast(at, "call", type_, parts[0]) if len(parts) == 1 else Make(at, type_, parts, False)

    def braces(self) -> Braces:
        tokens = self.tokens
        at = tokens.must("{").at
        parts: list[Node] = []
        before, tokens.no_greater = tokens.no_greater, False
        while not tokens.sees("}"):
            if tokens.sees("."):
                raise unsupported(tokens.at, "designated initializers")
            parts.append(self.braces() if tokens.sees("{") else self.assignment())
            if not tokens.takes(","):
                break
        tokens.no_greater = before
        tokens.must("}", at)
        return Braces(at, parts)

    # ---------------------------------------------------------------------------------------------- postfix

    def _postfix(self, node: Node) -> Node:
        tokens = self.tokens
        while True:
            at = tokens.at
            if tokens.sees("("):
                node = CallOf(at if not isinstance(node, Name) else node.at, node, self.arguments())
            elif tokens.sees("["):
                node = self._index(node)
            elif tokens.sees(".", "->"):
                arrow = tokens.next().text == "->"
                is_template = tokens.takes("template")
                if tokens.sees("operator"):
                    raise unsupported(
                        tokens.at, "an operator that is called by its name", "write it as an operator"
                    )
                name = tokens.identifier("the name of a member")
                is_template |= tokens.sees("<") and name.text in tokens.templates
                arguments = self.template_arguments() if is_template and tokens.sees("<") else None
                node = Dot(name.at, node, name.text, arrow, arguments)
            elif tokens.sees("++", "--"):
                node = Postfix(at, tokens.next().text, node)
            else:
                return node

    def _index(self, node: Node) -> Node:
        tokens = self.tokens
        opened = tokens.next().at
        before, tokens.no_greater = tokens.no_greater, False
        if tokens.sees("]"):
            raise Fault(tokens.at, "expected an expression", "an index stands between [ and ]")
        index = self.expression()
        tokens.no_greater = before
        tokens.must("]", opened)
        return Index(opened, node, index)

    def arguments(self) -> list[Node]:
        tokens = self.tokens
        opened = tokens.must("(").at
        before, tokens.no_greater = tokens.no_greater, False
        result: list[Node] = []
        while not tokens.sees(")"):
            result.append(self.braces() if tokens.sees("{") else self.assignment())
            if tokens.takes(","):
                if tokens.sees(")"):
                    raise Fault(tokens.at, "expected an expression", "another argument follows a comma")
            elif not tokens.sees(")"):
                raise tokens.expected(")", opened)
        tokens.no_greater = before
        tokens.must(")", opened)
        return result

    def template_arguments(self) -> list[Node]:
        tokens = self.tokens
        tokens.must("<")
        before, tokens.no_greater = tokens.no_greater, True
        result: list[Node] = []
        while not tokens.sees(">", ">>", ">=", ">>="):
            result.append(self.template_argument())
            if not tokens.takes(","):
                break
            if tokens.sees(">", ">>"):
                raise Fault(tokens.at, "expected an expression", "another argument follows a comma")
        tokens.no_greater = before
        tokens.close_angle()
        return result

    def template_argument(self) -> Node:
        tokens = self.tokens
        if tokens.starts_type() and tokens.ahead(tokens.path()[1]).text not in ("(", "{"):
            return self.types.type_name()
        return self.constant()

    def bare_type(self, specifiers: Specifiers) -> TypeName:
        return TypeName(specifiers.at, specifiers, Declarator(specifiers.at, "", []))
