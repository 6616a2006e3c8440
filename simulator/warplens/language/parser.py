"""A whole source as a tree of what is written (`syntax`): functions, templates, and what else there is."""

from __future__ import annotations

from warplens.errors import Fault, unsupported
from warplens.language import bfloat, groups, half
from warplens.language.lexer import unquoted
from warplens.language.parse_classes import parse_class, parse_type_definition, type_follows
from warplens.language.parse_declarations import (
    alias_follows,
    parse_namespace_alias,
    parse_rest,
    parse_static_assert,
    parse_typed_specifiers,
    parse_using,
)
from warplens.language.parse_expressions import parse_assignment, parse_constant
from warplens.language.parse_statements import parse_body
from warplens.language.parse_templates import parse_template_parameters
from warplens.language.parse_tokens import Grammar, Tokens
from warplens.language.parse_types import CLASS_WORDS, declarator_returns, parse_declarator
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
GRAMMAR = Grammar(parse_assignment, parse_constant, parse_body)


def parse_unit(tokens: Tokens) -> TranslationUnit:
    """A whole source."""
    items: list[Node] = []
    while tokens.token.kind != "end":
        items += _top(tokens)
    return TranslationUnit(items)


def _top(tokens: Tokens, external_c: bool = False) -> list[Node]:
    tokens.attributes()
    if tokens.takes(";"):
        return []
    if tokens.sees(HALF_HEADER):
        return [_half_header(tokens, (*half.TYPES, *half.OTHER_TYPES))]
    if tokens.sees(BFLOAT_HEADER):
        return [_half_header(tokens, (*bfloat.TYPES, *bfloat.OTHER_TYPES), bfloat.HEADER)]
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
        return _linkage(tokens)
    if tokens.sees("template"):
        return [_template(tokens)]
    if tokens.sees("static_assert"):
        return [parse_static_assert(tokens)]
    if tokens.sees("using"):
        return [parse_using(tokens)]
    if tokens.sees("namespace") or (tokens.sees("inline") and tokens.ahead().text == "namespace"):
        return _namespace(tokens, external_c)
    if type_follows(tokens):
        return parse_type_definition(tokens)
    return _declaration_or_function(tokens, external_c)


def _namespace(tokens: Tokens, external_c: bool) -> list[Node]:
    """One with a name; what stands in one without, or in an inline one, stands outside as well."""
    if alias_follows(tokens):
        return [parse_namespace_alias(tokens)]
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
        items += _top(tokens, external_c)
    tokens.place += 1
    for name in reversed(names):
        tokens.scopes.pop()
        items = [NamespaceOf(at, name, items)]
    return items


def _half_header(tokens: Tokens, types: tuple[str, ...], header: str = half.HEADER) -> Node:
    for name in types:
        tokens.scopes[0].setdefault(name, "type")
    return HalfHeader(tokens.next().at, header)


def _linkage(tokens: Tokens) -> list[Node]:
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
        items = _top(tokens, is_c)
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
        items += _top(tokens, is_c)
    tokens.place += 1
    return items


def _template(tokens: Tokens) -> Node:
    tokens.must("template")
    if not tokens.sees("<"):
        return _instance(tokens)
    tokens.scopes.append({})
    parameters = parse_template_parameters(tokens)
    if tokens.sees(*CLASS_WORDS):
        return _class_template(tokens, parameters)
    if not parameters:
        tokens.scopes.pop()
        return _instance(tokens)
    if tokens.sees("using"):
        node = parse_using(tokens, parameters)
        tokens.scopes.pop()
        return node
    if tokens.sees("template"):
        raise unsupported(tokens.at, f"'{tokens.token.text}' after template<...>")
    specifiers = parse_typed_specifiers(tokens)
    declarator = parse_declarator(tokens)
    if not (declarator.parts and isinstance(declarator.parts[0], FunctionPart)):
        raise unsupported(declarator.at, "templates of variables", "only functions may be templates")
    tokens.scopes[-2][declarator.name] = "template"
    tokens.used.discard(declarator.name)
    node = _function(tokens, specifiers, declarator, False)
    tokens.scopes.pop()
    node.template = parameters
    return node


def _class_template(tokens: Tokens, parameters: list[TemplateParameter]) -> Node:
    if not parameters:
        tokens.scopes.pop()
        nodes = parse_class(tokens, special=True)
    else:
        nodes = parse_class(tokens, parameters)
        tokens.scopes.pop()
    if len(nodes) > 1:
        raise Fault(nodes[1].at, "expected a ';'", "the definition of a template ends with };")
    return nodes[0]


def _instance(tokens: Tokens) -> Node:
    """`template <> float f<float>(float x) { ... }`, or `template float f<float>(float x);`."""
    specifiers = parse_typed_specifiers(tokens)
    declarator = parse_declarator(tokens)
    if not (declarator.parts and isinstance(declarator.parts[0], FunctionPart)):
        raise unsupported(declarator.at, "templates of variables", "only functions may be templates")
    node = _function(tokens, specifiers, declarator, False)
    node.instance = True
    return node


def _declaration_or_function(tokens: Tokens, external_c: bool) -> list[Node]:
    at = tokens.at
    specifiers = parse_typed_specifiers(tokens)
    if tokens.sees(";"):
        raise unsupported(at, "a declaration that declares nothing", "a name is missing")
    declarator = parse_declarator(tokens)
    if declarator.parts and isinstance(declarator.parts[0], FunctionPart):
        if tokens.kind_of(declarator.name) != "template":
            tokens.declare(declarator.name)
        return [_function(tokens, specifiers, declarator, external_c)]
    return [parse_rest(tokens, at, specifiers, declarator)]


def _function(
    tokens: Tokens, specifiers: Specifiers, declarator: Declarator, external_c: bool
) -> FunctionDefinition:
    if tokens.takes("noexcept") and tokens.sees("("):
        raise unsupported(tokens.at, "noexcept with a condition")
    tokens.refuse_word()
    node = FunctionDefinition(specifiers.at, specifiers, declarator, None, None, external_c)
    declarator_returns(tokens, node)
    if tokens.takes(";"):
        return node
    if not tokens.sees("{"):
        message = (
            "expected a '{'" if not tokens.sees(",") else "unsupported: several functions in one declaration"
        )
        last = tokens.after_last()
        at = last if last.line != tokens.at.line else tokens.at
        raise Fault(at, message, "the body of a function stands between { and }", tokens.sees(","))
    tokens.scopes.append({})
    part = declarator.parts[0]
    assert isinstance(part, FunctionPart)
    for parameter in part.parameters:
        tokens.declare(parameter.declarator.name)
    node.body = parse_body(tokens)
    tokens.scopes.pop()
    return node
