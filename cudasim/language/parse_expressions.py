"""Expressions, by the strength of their operators."""

from __future__ import annotations

from cudasim.errors import Fault, unsupported
from cudasim.language.lexer import number, unquoted
from cudasim.language.parse_tokens import KEYWORDS
from cudasim.language.parse_types import TypeParser, undefined_type
from cudasim.language.syntax import (
    Assignment,
    Braces,
    CallOf,
    Cast,
    Declarator,
    Dot,
    Index,
    Infix,
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
    TypeName,
)
from cudasim.language.types import BOOL, CHAR

_STRENGTH = {
    "||": 3, "&&": 4, "|": 5, "^": 6, "&": 7, "==": 8, "!=": 8, "<": 9, "<=": 9, ">": 9, ">=": 9,
    "<<": 10, ">>": 10, "+": 11, "-": 11, "*": 12, "/": 12, "%": 12,
}  # fmt: skip
_WORDS = {"or": "||", "and": "&&", "bitor": "|", "xor": "^", "bitand": "&", "not_eq": "!="}
_ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
_CASTS = {"static_cast": "static", "reinterpret_cast": "reinterpret", "const_cast": "const"}


class ExpressionParser(TypeParser):
    def expression(self) -> Node:
        node = self.assignment()
        while self.sees(","):
            at = self.next().at
            node = Infix(at, ",", node, self.assignment())
        return node

    def constant(self) -> Node:
        return self._ternary()

    def assignment(self) -> Node:
        if self.sees("throw"):
            self.refuse_word()
        left = self._ternary()
        if self.token.kind == "mark" and self.token.text in _ASSIGNMENTS and not self._closes_angle():
            token = self.next()
            right = self.braces() if self.sees("{") else self.assignment()
            return Assignment(token.at, token.text[:-1], left, right)
        return left

    def _closes_angle(self) -> bool:
        return self.no_greater and self.token.text[0] == ">"

    def _ternary(self) -> Node:
        test = self._binary(3)
        if not self.sees("?"):
            return test
        at = self.next().at
        before, self.no_greater = self.no_greater, False
        yes = self.expression()
        self.no_greater = before
        self.must(":", hint="it belongs to the ? before it")
        return Ternary(at, test, yes, self.assignment())

    def _binary(self, weakest: int) -> Node:
        left = self._unary()
        while True:
            token = self.token
            op = _WORDS.get(token.text, token.text) if token.kind in ("mark", "name") else ""
            strength = _STRENGTH.get(op, 0)
            if strength < weakest or (self.no_greater and op[0] == ">"):
                if token.text == "<<<" or (op == "<<" and self.ahead().text == "<"):
                    raise unsupported(token.at, "launching a kernel from device code")
                return left
            if op == "<<" and self.ahead().text == "<" and not self.ahead().space:
                raise unsupported(token.at, "launching a kernel from device code (<<<...>>>)")
            self.place += 1
            left = Infix(token.at, op, left, self._binary(strength + 1))

    # ------------------------------------------------------------------------------------------------ unary

    def _unary(self) -> Node:
        token = self.token
        if token.kind == "mark" and token.text in ("+", "-", "!", "~", "*", "&", "++", "--"):
            self.place += 1
            return Prefix(token.at, token.text, self._unary())
        if token.kind == "name" and token.text in ("not", "compl"):
            self.place += 1
            return Prefix(token.at, "!" if token.text == "not" else "~", self._unary())
        if token.text in ("sizeof", "alignof", "__alignof__") and token.kind == "name":
            return self._size_of()
        if token.text == "(" and token.kind == "mark" and self.starts_type(self.ahead()):
            opened = self.next().at
            if not self._functional_in_brackets():
                type_ = self.type_name()
                self.must(")", opened)
                if self.sees("{"):
                    raise unsupported(self.at, "compound literals", "write type{...}")
                return Cast(opened, "c", type_, self._unary())
            self.place -= 1
        return self._postfix(self._primary())

    def _functional_in_brackets(self) -> bool:
        """Whether `(float(x) ...` stands here, the ( being taken: a conversion in brackets and no cast."""
        token, after = self.token, self.ahead()
        if after.text == "{":
            return True
        if after.text != "(" or token.text in ("const", "struct", "typename"):
            return False
        return self.ahead(2).text not in ("*", "&", ")") or self._pointer_is_operand()

    def _pointer_is_operand(self) -> bool:
        """`(float(*p) + 1)`: what follows the * is no part of a declarator, which ends at once."""
        return self.ahead(2).text in ("*", "&") and self.ahead(3).text != ")" and self.ahead(3).kind == "name"

    def _size_of(self) -> Node:
        token = self.next()
        align = token.text != "sizeof"
        if self.sees("...") and not align:
            raise unsupported(self.at, "sizeof...")
        if self.sees("(") and self.starts_type(self.ahead()) and not self._type_is_call(1):
            opened = self.next().at
            type_ = self.type_name()
            self.must(")", opened)
            return SizeOf(token.at, type_, align)
        return SizeOf(token.at, self._unary(), align)

    def _type_is_call(self, count: int) -> bool:
        return self.ahead(count + 1).text in ("(", "{") and self.ahead(count + 2).text not in ("*", "&")

    # ---------------------------------------------------------------------------------------------- primary

    def _primary(self) -> Node:
        token = self.token
        at = token.at
        if token.kind == "number":
            self.place += 1
            return Number(at, *number(token))
        if token.kind == "char":
            return self._character()
        if token.kind == "string":
            text = ""
            while self.token.kind == "string":
                text += unquoted(self.next())
            return Text(at, text)
        if self.sees("("):
            return self._bracketed()
        if self.sees("["):
            raise self._lambda_or_fault()
        if token.kind == "name":
            return self._word()
        if token.kind == "end":
            raise Fault(self.after_last(), "expected an expression", "the source ends too early")
        last = self.stream[max(self.place - 1, 0)]
        here = self.after_last() if self.place and last.at.line != at.line else at
        raise Fault(here, "expected an expression")

    def _lambda_or_fault(self) -> Fault:
        if self.ahead().text in ("]", "&", "="):
            return unsupported(self.at, "lambda functions", "write a __device__ function")
        return Fault(self.at, "expected an expression")

    def _character(self) -> Node:
        token = self.next()
        text = unquoted(token)
        if len(text) != 1 or token.text[0] != "'":
            raise unsupported(token.at, f"the character constant {token.text}")
        value = ord(text)
        return Number(token.at, value - 256 if value > 127 else value, CHAR)

    def _bracketed(self) -> Node:
        opened = self.next().at
        before, self.no_greater = self.no_greater, False
        node = self.expression()
        self.no_greater = before
        self.must(")", opened)
        return node

    def _word(self) -> Node:
        token = self.token
        text, at = token.text, token.at
        if text in ("true", "false"):
            self.place += 1
            return Number(at, text == "true", BOOL)
        if text == "nullptr":
            self.place += 1
            return Null(at)
        if text in _CASTS:
            return self._cast()
        self.refuse_word()
        if self.starts_type():
            return self._functional()
        if text in KEYWORDS:
            raise Fault(at, "expected an expression", f"{text!r} is a word of the language")
        self.place += 1
        if self.sees("::"):
            if self.kind_of(text):
                raise unsupported(self.at, "members of types and namespaces (::)")
            raise undefined_type(text, at)
        if self.sees("<") and self.kind_of(text) == "template":
            return Name(at, text, self.template_arguments())
        return Name(at, text)

    def _cast(self) -> Node:
        token = self.next()
        self.must("<", hint=f"write {token.text}<type>(value)")
        type_ = self.type_name()
        self.close_angle()
        opened = self.must("(").at
        before, self.no_greater = self.no_greater, False
        operand = self.expression()
        self.no_greater = before
        self.must(")", opened)
        return Cast(token.at, _CASTS[token.text], type_, operand)

    def _functional(self) -> Node:
        at = self.at
        specifiers = self.specifiers(storage=False)
        if specifiers.base is None or not self.sees("(", "{"):
            if specifiers.base is not None and self.token.kind == "name":
                raise Fault(at, "expected an expression", "a declaration cannot stand here")
            raise Fault(
                self.at if specifiers.base is not None else at, "expected a '('", "a type is no value"
            )
        type_ = self.bare_type(specifiers)
        if self.sees("{"):
            return Make(at, type_, self.braces().parts, True)
        parts = self.arguments()
        return Cast(at, "call", type_, parts[0]) if len(parts) == 1 else Make(at, type_, parts, False)

    def braces(self) -> Braces:
        at = self.must("{").at
        parts: list[Node] = []
        before, self.no_greater = self.no_greater, False
        while not self.sees("}"):
            if self.sees("."):
                raise unsupported(self.at, "designated initializers")
            parts.append(self.braces() if self.sees("{") else self.assignment())
            if not self.takes(","):
                break
        self.no_greater = before
        self.must("}", at)
        return Braces(at, parts)

    # ---------------------------------------------------------------------------------------------- postfix

    def _postfix(self, node: Node) -> Node:
        while True:
            at = self.at
            if self.sees("("):
                node = CallOf(at if not isinstance(node, Name) else node.at, node, self.arguments())
            elif self.sees("["):
                node = self._index(node)
            elif self.sees(".", "->"):
                arrow = self.next().text == "->"
                name = self.identifier("the name of a member")
                node = Dot(name.at, node, name.text, arrow)
            elif self.sees("++", "--"):
                node = Postfix(at, self.next().text, node)
            else:
                return node

    def _index(self, node: Node) -> Node:
        opened = self.next().at
        before, self.no_greater = self.no_greater, False
        if self.sees("]"):
            raise Fault(self.at, "expected an expression", "an index stands between [ and ]")
        index = self.expression()
        self.no_greater = before
        self.must("]", opened)
        return Index(opened, node, index)

    def arguments(self) -> list[Node]:
        opened = self.must("(").at
        before, self.no_greater = self.no_greater, False
        result: list[Node] = []
        while not self.sees(")"):
            result.append(self.braces() if self.sees("{") else self.assignment())
            if self.takes(","):
                if self.sees(")"):
                    raise Fault(self.at, "expected an expression", "another argument follows a comma")
            elif not self.sees(")"):
                raise self.expected(")", opened)
        self.no_greater = before
        self.must(")", opened)
        return result

    def template_arguments(self) -> list[Node]:
        self.must("<")
        before, self.no_greater = self.no_greater, True
        result: list[Node] = []
        while not self.sees(">", ">>", ">=", ">>="):
            result.append(self.template_argument())
            if not self.takes(","):
                break
            if self.sees(">", ">>"):
                raise Fault(self.at, "expected an expression", "another argument follows a comma")
        self.no_greater = before
        self.close_angle()
        return result

    def template_argument(self) -> Node:
        if self.starts_type() and self.ahead().text not in ("(", "{"):
            return self.type_name()
        return self._ternary()

    def bare_type(self, specifiers: Specifiers) -> TypeName:
        return TypeName(specifiers.at, specifiers, Declarator(specifiers.at, "", []))
