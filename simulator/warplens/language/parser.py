"""A whole source as a tree of what is written (`syntax`): functions, templates, and what else there is."""

from __future__ import annotations

from warplens.errors import Fault, unsupported
from warplens.language import bfloat, groups, half
from warplens.language.lexer import unquoted
from warplens.language.parse_classes import declarator_returns
from warplens.language.parse_declarations import DeclarationParser
from warplens.language.parse_expressions import ExpressionParser
from warplens.language.parse_statements import StatementParser
from warplens.language.parse_tokens import Tokens
from warplens.language.parse_types import CLASS_WORDS
from warplens.language.preprocess import BFLOAT_HEADER, HALF_HEADER, UNROLL, UNROLL_END
from warplens.language.syntax import (
    Declaration,
    Declarator,
    FunctionDefinition,
    FunctionPart,
    GroupsHeader,
    HalfHeader,
    NamespaceOf,
    Node,
    Specifiers,
    TemplateParameter,
    TranslationUnit,
)

STANDARD_NAMESPACES = ("std", "cuda", "cooperative_groups", "thrust", "cub")


class Parser:
    """The file scope; `expressions`, `declarations` and `statements` read what stands inside."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.expressions = ExpressionParser(tokens)
        self.types = self.expressions.types
        self.declarations = DeclarationParser(self.expressions)
        self.statements = StatementParser(self.declarations)
        self.classes = self.declarations.classes

    def unit(self) -> TranslationUnit:
        items: list[Node] = []
        while self.tokens.token.kind != "end":
            items += self._top()
        return TranslationUnit(items)

    def _top(self, external_c: bool = False) -> list[Node]:
        tokens = self.tokens
        tokens.attributes()
        if tokens.takes(";"):
            return []
        if tokens.sees(HALF_HEADER):
            return [self._half_header((*half.TYPES, *half.OTHER_TYPES))]
        if tokens.sees(BFLOAT_HEADER):
            return [self._half_header((*bfloat.TYPES, *bfloat.OTHER_TYPES), bfloat.HEADER)]
        if tokens.takes(groups.USING):
            tokens.use_groups()
            return []
        if tokens.token.kind == "mark" and tokens.token.text.startswith("#include"):
            token = tokens.next()
            return [GroupsHeader(token.at, token.text.removeprefix("#include <")[:-1])]
        if tokens.takes(UNROLL):
            while not tokens.takes(UNROLL_END):
                tokens.next()
            return []
        if tokens.sees("}"):
            raise Fault(tokens.at, "expected a declaration", "this '}' has no '{'")
        if tokens.sees("extern") and tokens.ahead().kind == "string":
            return self._linkage()
        if tokens.sees("template"):
            return [self._template()]
        if tokens.sees("static_assert"):
            return [self.declarations.static_assert()]
        if tokens.sees("using"):
            return [self.declarations.using()]
        if tokens.sees("namespace") or (tokens.sees("inline") and tokens.ahead().text == "namespace"):
            return self._namespace(external_c)
        if self.declarations.type_follows():
            return self.declarations.type_definition()
        return self._declaration_or_function(external_c)

    def _namespace(self, external_c: bool) -> list[Node]:
        """One with a name; what stands in one without, or in an inline one, stands outside as well."""
        tokens = self.tokens
        if self.declarations.alias_follows():
            return [self.declarations.namespace_alias()]
        inline = tokens.takes("inline")
        at = tokens.next().at
        names = []
        while tokens.token.kind == "name":
            names.append(tokens.identifier().text)
            if not tokens.takes("::"):
                break
        for name in names:
            if name in STANDARD_NAMESPACES:
                raise unsupported(at, f"the namespace {name}")
        if inline:
            names = []
        for name in names:
            tokens.declare(name, "namespace")
            tokens.scopes.append(tokens.members.setdefault(name, {}))
        opened = tokens.must("{").at
        items: list[Node] = []
        while not tokens.sees("}"):
            if tokens.token.kind == "end":
                raise tokens.expected("}", opened)
            items += self._top(external_c)
        tokens.place += 1
        for name in reversed(names):
            tokens.scopes.pop()
            items = [NamespaceOf(at, name, items)]
        return items

    def _half_header(self, types: tuple[str, ...], header: str = half.HEADER) -> Node:
        for name in types:
            self.tokens.scopes[0].setdefault(name, "type")
        return HalfHeader(self.tokens.next().at, header)

    def _linkage(self) -> list[Node]:
        tokens = self.tokens
        tokens.place += 1
        language = tokens.next()
        if unquoted(language) not in ("C", "C++"):
            raise Fault(language.at, f"unknown linkage {language.text}", 'write extern "C"')
        is_c = unquoted(language) == "C"
        if not tokens.sees("{"):
            if tokens.sees("template"):
                raise Fault(
                    tokens.at, 'this declaration may not have extern "C" linkage', "a template has no C name"
                )
            if tokens.sees("static", "extern"):
                hint = 'a static function has no name outside; leave out extern "C" or static'
                raise Fault(tokens.at, "a storage class may not be specified here", hint)
            items = self._top(is_c)
            for item in items:
                if isinstance(item, Declaration) and item.specifiers.const and not item.ones[-1].style:
                    raise unsupported(language.at, "extern variables")
            return items
        opened = tokens.next().at
        items = []
        while not tokens.sees("}"):
            if tokens.token.kind == "end":
                raise tokens.expected("}", opened)
            if tokens.sees("template") and is_c:
                raise Fault(
                    tokens.at, 'this declaration may not have extern "C" linkage', "a template has no C name"
                )
            items += self._top(is_c)
        tokens.place += 1
        return items

    def _template(self) -> Node:
        tokens = self.tokens
        tokens.must("template")
        if not tokens.sees("<"):
            return self._instance()
        tokens.scopes.append({})
        parameters = self.classes.templates.parameters()
        if tokens.sees(*CLASS_WORDS):
            return self._class_template(parameters)
        if not parameters:
            tokens.scopes.pop()
            return self._instance()
        if tokens.sees("using"):
            node = self.declarations.using(parameters)
            tokens.scopes.pop()
            return node
        if tokens.sees("template"):
            raise unsupported(tokens.at, f"'{tokens.token.text}' after template<...>")
        specifiers = self.declarations.typed_specifiers()
        declarator = self.types.declarator()
        if not (declarator.parts and isinstance(declarator.parts[0], FunctionPart)):
            raise unsupported(declarator.at, "templates of variables", "only functions may be templates")
        tokens.scopes[-2][declarator.name] = "template"
        tokens.used.discard(declarator.name)
        node = self._function(specifiers, declarator, False)
        tokens.scopes.pop()
        node.template = parameters
        return node

    def _class_template(self, parameters: list[TemplateParameter]) -> Node:
        tokens = self.tokens
        if not parameters:
            tokens.scopes.pop()
            nodes = self.classes.definition(special=True)
        else:
            nodes = self.classes.definition(parameters)
            tokens.scopes.pop()
        if len(nodes) > 1:
            raise Fault(nodes[1].at, "expected a ';'", "the definition of a template ends with };")
        return nodes[0]

    def _instance(self) -> Node:
        """`template <> float f<float>(float x) { ... }`, or `template float f<float>(float x);`."""
        specifiers = self.declarations.typed_specifiers()
        declarator = self.types.declarator()
        if not (declarator.parts and isinstance(declarator.parts[0], FunctionPart)):
            raise unsupported(declarator.at, "templates of variables", "only functions may be templates")
        node = self._function(specifiers, declarator, False)
        node.instance = True
        return node

    def _declaration_or_function(self, external_c: bool) -> list[Node]:
        tokens = self.tokens
        at = tokens.at
        specifiers = self.declarations.typed_specifiers()
        if tokens.sees(";"):
            raise unsupported(at, "a declaration that declares nothing", "a name is missing")
        declarator = self.types.declarator()
        if declarator.parts and isinstance(declarator.parts[0], FunctionPart):
            if tokens.kind_of(declarator.name) != "template":
                tokens.declare(declarator.name)
            return [self._function(specifiers, declarator, external_c)]
        return [self.declarations.rest(at, specifiers, declarator)]

    def _function(
        self, specifiers: Specifiers, declarator: Declarator, external_c: bool
    ) -> FunctionDefinition:
        tokens = self.tokens
        if tokens.takes("noexcept") and tokens.sees("("):
            raise unsupported(tokens.at, "noexcept with a condition")
        tokens.refuse_word()
        node = FunctionDefinition(specifiers.at, specifiers, declarator, None, None, external_c)
        declarator_returns(self.types, node)
        if tokens.takes(";"):
            return node
        if not tokens.sees("{"):
            message = (
                "expected a '{'"
                if not tokens.sees(",")
                else "unsupported: several functions in one declaration"
            )
            last = tokens.after_last()
            at = last if last.line != tokens.at.line else tokens.at
            raise Fault(at, message, "the body of a function stands between { and }", tokens.sees(","))
        tokens.scopes.append({})
        part = declarator.parts[0]
        assert isinstance(part, FunctionPart)
        for parameter in part.parameters:
            tokens.declare(parameter.declarator.name)
        node.body = self.statements.block(scope=False)
        tokens.scopes.pop()
        return node
