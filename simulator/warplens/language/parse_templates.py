"""The parameters of templates."""

from __future__ import annotations

from warplens.errors import Fault, unsupported
from warplens.language.parse_expressions import ExpressionParser
from warplens.language.parse_tokens import KEYWORDS
from warplens.language.parse_types import function_pointer
from warplens.language.syntax import Node, TemplateParameter


class TemplateParser:
    """What stands in template <...>."""

    def __init__(self, expressions: ExpressionParser) -> None:
        self.tokens, self.types, self.expressions = expressions.tokens, expressions.types, expressions

    def parameters(self) -> list[TemplateParameter]:
        tokens = self.tokens
        tokens.must("<")
        tokens.no_greater = True
        result: list[TemplateParameter] = []
        while not tokens.sees(">"):
            result.append(self._parameter())
            if not tokens.takes(","):
                break
        tokens.no_greater = False
        tokens.close_angle()
        return result

    def _parameter(self) -> TemplateParameter:
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
        declarator = function_pointer(self.types.declarator(None))
        tokens.declare(declarator.name)
        type_ = self.expressions.bare_type(specifiers)
        type_.declarator.parts = declarator.parts
        default = self.expressions.constant() if tokens.takes("=") else None
        return TemplateParameter(at, declarator.name, type_, default)
