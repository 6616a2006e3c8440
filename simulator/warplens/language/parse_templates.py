"""The parameters of templates."""

from __future__ import annotations

from warplens.errors import Fault, unsupported
from warplens.language.parse_expressions import parse_constant
from warplens.language.parse_tokens import KEYWORDS, Tokens
from warplens.language.parse_types import (
    bare_type,
    function_pointer,
    parse_declarator,
    parse_specifiers,
    parse_type_name,
    refuse_std,
)
from warplens.language.syntax import Node, TemplateParameter


def parse_template_parameters(tokens: Tokens) -> list[TemplateParameter]:
    tokens.must("<")
    tokens.no_greater = True
    result: list[TemplateParameter] = []
    while not tokens.sees(">"):
        result.append(_parameter(tokens))
        if not tokens.takes(","):
            break
    tokens.no_greater = False
    tokens.close_angle()
    return result


def _parameter(tokens: Tokens) -> TemplateParameter:
    at = tokens.at
    if tokens.sees("template"):
        raise unsupported(at, "templates as parameters of templates")
    if tokens.takes("typename", "class"):
        if tokens.sees("..."):
            raise unsupported(tokens.at, "templates with a variable number of parameters")
        name = tokens.identifier().text if tokens.token.kind == "name" else ""
        tokens.declare(name, "type")
        default: Node | None = parse_type_name(tokens) if tokens.takes("=") else None
        return TemplateParameter(at, name, None, default)
    if not tokens.starts_type():
        refuse_std(tokens)
        hint = "as in template <typename T> or template <int N>"
        if (
            tokens.token.kind == "name"
            and tokens.token.text not in KEYWORDS
            and not tokens.kind_of(tokens.token.text)
        ):
            raise Fault(at, f"identifier '{tokens.token.text}' is undefined", hint)
        raise Fault(at, "expected a parameter of the template", hint)
    specifiers = parse_specifiers(tokens, storage=False)
    declarator = function_pointer(parse_declarator(tokens, None))
    tokens.declare(declarator.name)
    type_ = bare_type(specifiers)
    type_.declarator.parts = declarator.parts
    default = parse_constant(tokens) if tokens.takes("=") else None
    return TemplateParameter(at, declarator.name, type_, default)
