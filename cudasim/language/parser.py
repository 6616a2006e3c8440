"""A whole source as a tree of what is written (`syntax`): functions, templates, and what else there is."""

from __future__ import annotations

from cudasim.errors import Fault, unsupported
from cudasim.language import half
from cudasim.language.lexer import unquoted
from cudasim.language.parse_declarations import DeclarationParser
from cudasim.language.parse_expressions import ExpressionParser
from cudasim.language.parse_statements import StatementParser
from cudasim.language.parse_tokens import KEYWORDS, Tokens
from cudasim.language.preprocess import HALF_HEADER, UNROLL, UNROLL_END
from cudasim.language.syntax import (
    Declarator,
    FunctionDefinition,
    FunctionPart,
    HalfHeader,
    Node,
    Specifiers,
    TemplateParameter,
    TranslationUnit,
)


class Parser:
    """The file scope; `expressions`, `declarations` and `statements` read what stands inside."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.expressions = ExpressionParser(tokens)
        self.types = self.expressions.types
        self.declarations = DeclarationParser(self.expressions)
        self.statements = StatementParser(self.declarations)

    def unit(self) -> TranslationUnit:
        items: list[Node] = []
        while self.tokens.token.kind != "end":
            items += self._top()
        return TranslationUnit(items)

    def _top(self, external_c: bool = False) -> list[Node]:
        tokens = self.tokens
        if tokens.takes(";"):
            return []
        if tokens.sees(HALF_HEADER):
            return [self._half_header()]
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
        if self.declarations.struct_follows():
            return self.declarations.struct()
        return self._declaration_or_function(external_c)

    def _half_header(self) -> Node:
        for name in half.TYPES + half.OTHER_TYPES:
            self.tokens.scopes[0].setdefault(name, "type")
        return HalfHeader(self.tokens.next().at)

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
            return self._top(is_c)
        opened = tokens.next().at
        items: list[Node] = []
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
        at = tokens.next().at
        if not tokens.sees("<"):
            raise unsupported(at, "explicit instantiation of templates", "pass name_expressions instead")
        tokens.scopes.append({})
        parameters = self._template_parameters()
        if not parameters:
            raise unsupported(at, "explicit specialization of templates", "write an overload")
        if tokens.sees("struct", "class", "union"):
            raise unsupported(
                tokens.at, "templates of structs and classes", "only functions may be templates"
            )
        if tokens.sees("using", "template"):
            raise unsupported(tokens.at, f"'{tokens.token.text}' after template<...>")
        specifiers = self.declarations.typed_specifiers()
        declarator = self.types.declarator()
        if not (declarator.parts and isinstance(declarator.parts[0], FunctionPart)):
            raise unsupported(declarator.at, "templates of variables", "only functions may be templates")
        tokens.scopes[-2][declarator.name] = "template"
        node = self._function(specifiers, declarator, False)
        tokens.scopes.pop()
        node.template = parameters
        return node

    def _template_parameters(self) -> list[TemplateParameter]:
        tokens = self.tokens
        tokens.must("<")
        tokens.no_greater = True
        result: list[TemplateParameter] = []
        while not tokens.sees(">"):
            result.append(self._template_parameter())
            if not tokens.takes(","):
                break
        tokens.no_greater = False
        tokens.close_angle()
        return result

    def _template_parameter(self) -> TemplateParameter:
        tokens = self.tokens
        at = tokens.at
        if tokens.sees("template"):
            raise unsupported(at, "templates as parameters of templates")
        if tokens.takes("typename", "class"):
            if tokens.sees("..."):
                raise unsupported(tokens.at, "templates with a variable number of parameters")
            name = tokens.identifier().text if tokens.token.kind == "name" else ""
            tokens.declare(name, "type")
            default: Node | None = self.types.type_name() if tokens.takes("=") else None
            return TemplateParameter(at, name, None, default)
        if not tokens.starts_type():
            hint = "as in template <typename T> or template <int N>"
            if (
                tokens.token.kind == "name"
                and tokens.token.text not in KEYWORDS
                and not tokens.kind_of(tokens.token.text)
            ):
                raise Fault(at, f"identifier '{tokens.token.text}' is undefined", hint)
            raise Fault(at, "expected a parameter of the template", hint)
        specifiers = self.types.specifiers(storage=False)
        declarator = self.types.declarator(None)
        tokens.declare(declarator.name)
        type_ = self.expressions.bare_type(specifiers)
        type_.declarator.parts = declarator.parts
        default = self.expressions.constant() if tokens.takes("=") else None
        return TemplateParameter(at, declarator.name, type_, default)

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
        tokens.refuse_word()
        node = FunctionDefinition(specifiers.at, specifiers, declarator, None, None, external_c)
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
