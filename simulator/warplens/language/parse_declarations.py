"""Declarations of variables, types and structs, at file scope and in functions."""

from __future__ import annotations

from warplens.errors import At, Fault, unsupported
from warplens.language.lexer import unquoted
from warplens.language.parse_classes import ClassParser
from warplens.language.parse_expressions import ExpressionParser
from warplens.language.parse_tokens import KEYWORDS, STORAGE_WORDS
from warplens.language.parse_types import CLASS_WORDS, undefined_type
from warplens.language.syntax import (
    Alias,
    Braces,
    Declaration,
    Declarator,
    EnumDefinition,
    Name,
    Node,
    One,
    Specifiers,
    StaticAssert,
    TemplateParameter,
    Using,
)

END_HINT = "a statement ends with ;"


class DeclarationParser:
    """Declarations of variables, types and structs."""

    def __init__(self, expressions: ExpressionParser) -> None:
        self.tokens, self.types, self.expressions = expressions.tokens, expressions.types, expressions
        self.classes = ClassParser(self)

    def typed_specifiers(self) -> Specifiers:
        """Specifiers that name a type."""
        specifiers = self.types.specifiers()
        if specifiers.base is None:
            raise self.no_type(specifiers)
        return specifiers

    def no_type(self, specifiers: Specifiers) -> Fault:
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
        length = tokens.path()[1]
        after = tokens.ahead(length)
        if after.text == "(":
            return tokens.ahead(length + 1).text in ("*", "&") or tokens.token.text in (
                "alignas",
                "__align__",
            )
        return after.text != "{" or tokens.token.text in CLASS_WORDS

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

    def using(self, template: list[TemplateParameter] | None = None) -> Node:
        """using name = type; using namespace name; using name;"""
        tokens = self.tokens
        at = tokens.next().at
        if tokens.takes("namespace"):
            name = self._namespace_name(at)
            self.end()
            tokens.opened.append(tokens.members.setdefault(name.name, {}))
            return Using(at, name, whole=True)
        if tokens.ahead().text == "::" or tokens.sees("::"):
            if tokens.token.kind == "name" and not tokens.kind_of(tokens.token.text):
                raise undefined_type(tokens.token.text, tokens.at)
            kind = tokens.path()[0]
            target = self.types.name()
            self.end()
            tokens.declare(target.name, kind)
            return Using(at, target)
        token = tokens.identifier()
        tokens.must("=")
        type_ = self.types.type_name()
        self.end()
        if template is not None:
            tokens.scopes[-2][token.text] = "class template"
        else:
            tokens.declare(token.text, "type")
        return Alias(at, token.text, type_, template)

    def alias_follows(self) -> bool:
        """Whether namespace name = other; stands here."""
        return self.tokens.sees("namespace") and self.tokens.ahead(2).text == "="

    def namespace_alias(self) -> Node:
        tokens = self.tokens
        at = tokens.next().at
        name = tokens.identifier().text
        tokens.must("=")
        target = self.types.name()
        self.end()
        tokens.declare(name, "namespace")
        tokens.members[name] = tokens.members.setdefault(target.name, {})
        return Using(at, target, alias=name)

    def _namespace_name(self, at: At) -> Name:
        tokens = self.tokens
        token = tokens.ahead(1 if tokens.sees("::") else 0)
        if tokens.kind_of(token.text) != "namespace":
            raise unsupported(at, f"using namespace {token.text}", "only namespaces of the source are known")
        return self.types.name()

    def type_follows(self) -> bool:
        """Whether the definition of a struct or of an enum begins here."""
        return self.classes.follows() or self._enum_follows()

    def type_definition(self) -> list[Node]:
        """It, and the declaration that it begins, if any."""
        return self.classes.definition() if self.classes.follows() else self._enum()

    def _enum_follows(self) -> bool:
        tokens = self.tokens
        i = 1 if tokens.sees("typedef") else 0
        if tokens.ahead(i).text != "enum" or tokens.ahead(i).kind != "name":
            return False
        i += 2 if tokens.ahead(i + 1).text in ("class", "struct") else 1
        return tokens.ahead(i).text in ("{", ":") or tokens.ahead(i + 1).text in ("{", ":", ";")

    def _enum(self) -> list[Node]:
        tokens = self.tokens
        at = tokens.at
        typedef = tokens.takes("typedef")
        tokens.must("enum")
        scoped = tokens.takes("class", "struct")
        name = tokens.identifier().text if not tokens.sees("{", ":") or scoped else ""
        base = self.types.specifiers(storage=False) if tokens.takes(":") else None
        if tokens.sees(";"):
            raise unsupported(at, "an enum that is declared before it is defined")
        made = name or f"<unnamed of line {at.line}>"
        tokens.declare(made, "type")
        result: list[Node] = [EnumDefinition(at, made, scoped, base, self._enumerators(scoped))]
        return result if tokens.takes(";") else [*result, self.of_type(at, made, typedef)]

    def _enumerators(self, scoped: bool) -> list[tuple[At, str, Node | None]]:
        tokens = self.tokens
        opened = tokens.must("{").at
        items: list[tuple[At, str, Node | None]] = []
        while not tokens.sees("}"):
            token = tokens.identifier()
            items.append((token.at, token.text, self.expressions.constant() if tokens.takes("=") else None))
            if not scoped:
                tokens.declare(token.text)
            if not tokens.takes(","):
                break
        tokens.must("}", opened)
        return items

    def of_type(self, at: At, name: str, typedef: bool) -> Node:
        """What is declared behind the } of a type."""
        tokens = self.tokens
        specifiers = Specifiers(at, Name(at, name))
        if typedef:
            specifiers.words["typedef"] = at
        elif tokens.token.kind != "name" and not tokens.sees("*"):
            raise tokens.expected(";", hint="the definition of a type ends with };")
        return self.rest(at, specifiers, self.types.declarator())
