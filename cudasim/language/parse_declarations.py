"""Declarations of variables, types and structs, at file scope and in functions."""

from __future__ import annotations

from cudasim.errors import At, Fault, unsupported
from cudasim.language.lexer import unquoted
from cudasim.language.parse_expressions import ExpressionParser
from cudasim.language.parse_tokens import KEYWORDS, STORAGE_WORDS
from cudasim.language.parse_types import undefined_type
from cudasim.language.syntax import (
    Alias,
    Braces,
    Declaration,
    Declarator,
    FunctionPart,
    Name,
    Node,
    One,
    Specifiers,
    StaticAssert,
    StructDefinition,
)

END_HINT = "a statement ends with ;"


class DeclarationParser:
    """Declarations of variables, types and structs."""

    def __init__(self, expressions: ExpressionParser) -> None:
        self.tokens, self.types, self.expressions = expressions.tokens, expressions.types, expressions

    def typed_specifiers(self) -> Specifiers:
        """Specifiers that name a type."""
        specifiers = self.types.specifiers()
        if specifiers.base is None:
            raise self._no_type(specifiers)
        return specifiers

    def _no_type(self, specifiers: Specifiers) -> Fault:
        tokens = self.tokens
        token, after = tokens.token, tokens.ahead()
        if token.kind == "name" and token.text not in KEYWORDS and not tokens.kind_of(token.text):
            if after.kind == "name" or after.text in ("*", "&", "::"):
                return undefined_type(token.text, token.at)
            if after.text == "(" and specifiers.words:
                message = f"the type that '{token.text}' returns is missing"
                return Fault(token.at, message, "a kernel returns void: __global__ void name(...)")
        if token.kind == "name" and token.text in KEYWORDS and tokens.place:
            return Fault(
                token.at, "expected a declaration", f"'{token.text}' cannot stand outside of a function"
            )
        if token.kind == "end":
            return Fault(tokens.after_last(), "expected a declaration", "the source ends too early")
        hint = (
            "outside of functions only declarations may stand"
            if not specifiers.words
            else "a type is missing"
        )
        return Fault(token.at, "this declaration has no type", hint)

    def follows(self) -> bool:
        """Whether a declaration begins here, and no expression."""
        tokens = self.tokens
        if not tokens.starts_type():
            return False
        after = tokens.ahead()
        if after.text == "(":
            return tokens.ahead(2).text in ("*", "&") or tokens.token.text in ("alignas", "__align__")
        return after.text != "{" or tokens.token.text == "struct"

    def rest(
        self, at: At, specifiers: Specifiers, first: Declarator, hint: str = "a statement ends with ;"
    ) -> Declaration:
        """A declaration, of which the first declarator has been taken."""
        kind = "type" if "typedef" in specifiers.words else "other"
        ones = [self.one(first, kind)]
        while self.tokens.takes(","):
            ones.append(self.one(self.types.declarator(), kind))
        self.end(hint)
        return Declaration(at, specifiers, ones)

    def one(self, declarator: Declarator, kind: str) -> One:
        """A variable with its first value, if it has one; its declarator has been taken."""
        tokens = self.tokens
        tokens.declare(declarator.name, kind)
        if tokens.takes("="):
            return One(
                declarator,
                self.expressions.braces() if tokens.sees("{") else self.expressions.assignment(),
                "=",
            )
        if tokens.sees("{"):
            return One(declarator, self.expressions.braces(), "{")
        if tokens.sees("("):
            at = tokens.at
            parts = self.expressions.arguments()
            if not parts:
                raise Fault(at, "expected an expression")
            if len(parts) > 1:
                return One(declarator, Braces(at, parts), "(")
            return One(declarator, parts[0], "(")
        return One(declarator)

    def end(self, hint: str = "a statement ends with ;") -> None:
        """The semicolon."""
        tokens = self.tokens
        if tokens.takes(";"):
            return
        if tokens.token.text in STORAGE_WORDS and tokens.ahead().text in (";", ",", "="):
            raise unsupported(tokens.at, f"'{tokens.token.text}' behind a name", "it stands before the type")
        if tokens.token.kind == "name" and tokens.token.text not in KEYWORDS and tokens.place:
            last = tokens.stream[tokens.place - 1]
            if last.at.line == tokens.at.line and last.kind == "name":
                hint = f"an operator or a ; is missing before '{tokens.token.text}'"
        raise tokens.expected(";", hint=hint)

    # ------------------------------------------------------------------------------------- other declarations

    def static_assert(self) -> Node:
        tokens = self.tokens
        at = tokens.next().at
        opened = tokens.must("(").at
        test = self.expressions.constant()
        message = ""
        if tokens.takes(","):
            if tokens.token.kind != "string":
                raise Fault(tokens.at, "expected a string")
            while tokens.token.kind == "string":
                message += unquoted(tokens.next())
        tokens.must(")", opened)
        self.end()
        return StaticAssert(at, test, message)

    def using(self) -> Node:
        tokens = self.tokens
        at = tokens.next().at
        if tokens.sees("namespace"):
            raise unsupported(at, "using namespace", "a kernel has no namespaces, std neither")
        name = tokens.identifier()
        if tokens.sees("::"):
            raise unsupported(at, "using declarations")
        tokens.must("=")
        type_ = self.types.type_name()
        self.end()
        tokens.declare(name.text, "type")
        return Alias(at, name.text, type_)

    def struct_follows(self) -> bool:
        """Whether the definition of a struct begins here."""
        tokens = self.tokens
        i = 1 if tokens.sees("typedef") else 0
        if tokens.ahead(i).text != "struct" or tokens.ahead(i).kind != "name":
            return False
        i += 1
        if tokens.ahead(i).text in ("__align__", "alignas"):
            return True
        return tokens.ahead(i).text == "{" or tokens.ahead(i + 1).text in ("{", ":", ";", "final")

    def struct(self) -> list[Node]:
        """The definition of a struct, and the declaration that it begins, if any."""
        tokens = self.tokens
        at = tokens.at
        typedef = tokens.takes("typedef")
        tokens.must("struct")
        align: Node | None = None
        if tokens.sees("__align__", "alignas"):
            holder = Specifiers(tokens.at, None)
            self.types.storage_word(holder)
            align = holder.align
        name = tokens.identifier().text if not tokens.sees("{") else f"<unnamed of line {at.line}>"
        if not tokens.sees("{"):
            raise unsupported(tokens.at, "structs with bases, or declared before they are defined")
        tokens.declare(name, "type")
        fields = self._fields()
        result: list[Node] = [StructDefinition(at, name, fields, align)]
        if tokens.takes(";"):
            return result
        specifiers = Specifiers(at, Name(at, name))
        if typedef:
            specifiers.words["typedef"] = at
        elif tokens.token.kind != "name" and not tokens.sees("*"):
            raise tokens.expected(";", hint="the definition of a struct ends with };")
        result.append(self.rest(at, specifiers, self.types.declarator()))
        return result

    def _fields(self) -> list[Declaration]:
        tokens = self.tokens
        opened = tokens.must("{").at
        tokens.scopes.append({})
        fields: list[Declaration] = []
        while not tokens.sees("}"):
            if tokens.token.kind == "end":
                raise tokens.expected("}", opened)
            if tokens.sees(
                "__device__", "__host__", "~", "template", "public", "private", "operator", "using"
            ):
                raise unsupported(
                    tokens.at, "structs with methods", "write a __device__ function that takes the struct"
                )
            if tokens.takes(";"):
                continue
            at = tokens.at
            specifiers = self.typed_specifiers()
            if tokens.sees("("):
                raise unsupported(tokens.at, "structs with methods", "write a __device__ function")
            tokens.refuse_word()
            declarator = self.types.declarator()
            if tokens.sees("=", "{"):
                raise unsupported(tokens.at, "initial values in structs")
            if declarator.parts and isinstance(declarator.parts[0], FunctionPart):
                raise unsupported(declarator.at, "structs with methods", "write a __device__ function")
            if tokens.sees(":"):
                raise unsupported(tokens.at, "bit fields")
            fields.append(self.rest(at, specifiers, declarator))
        tokens.scopes.pop()
        tokens.place += 1
        return fields
