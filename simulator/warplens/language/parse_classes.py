"""Structs, classes and unions: what stands between their braces."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from warplens.errors import At, Fault, unsupported
from warplens.language.parse_templates import TemplateParser
from warplens.language.parse_types import CLASS_WORDS
from warplens.language.syntax import (
    BlockOf,
    Braces,
    Declarator,
    FunctionDefinition,
    FunctionPart,
    Node,
    One,
    Specifiers,
    StructDefinition,
    TemplateParameter,
)

if TYPE_CHECKING:
    from warplens.language.parse_declarations import DeclarationParser


class ClassParser:
    """Definitions of classes. The bodies of methods are read when all members are known."""

    def __init__(self, declarations: DeclarationParser) -> None:
        self.declarations, self.tokens = declarations, declarations.tokens
        self.types, self.expressions = declarations.types, declarations.expressions
        self.templates = TemplateParser(self.expressions)
        self.generic = False  # within a template of a class
        self.block: Callable[..., BlockOf]  # of the parser of statements

    def follows(self) -> bool:
        """Whether the definition of a class begins here, or its declaration."""
        tokens = self.tokens
        i = 1 if tokens.sees("typedef") else 0
        if tokens.ahead(i).text not in CLASS_WORDS or tokens.ahead(i).kind != "name":
            return False
        i += 1
        if tokens.ahead(i).text in ("__align__", "alignas"):
            return True
        return tokens.ahead(i).text == "{" or tokens.ahead(i + 1).text in ("{", ":", ";", "final")

    def definition(
        self, template: list[TemplateParameter] | None = None, special: bool = False
    ) -> list[Node]:
        """A class, and the declaration that it begins, if any. `special`: template <> stands before it."""
        tokens = self.tokens
        at = tokens.at
        typedef = tokens.takes("typedef")
        word = tokens.next().text
        node = StructDefinition(at, "", None, self._alignment(), word == "union", template)
        node.name = (
            f"<unnamed of line {at.line}, column {at.column}>"
            if tokens.sees("{")
            else tokens.identifier().text
        )
        if special or (template is not None and tokens.sees("<")):
            if template:
                raise unsupported(tokens.at, "templates of structs that are written for some arguments only")
            node.arguments = self.expressions.template_arguments()
        else:
            outer = tokens.scopes[-2] if template is not None else tokens.scopes[-1]
            outer[node.name] = "class template" if template is not None else "type"
        if tokens.takes(";"):
            return [node]
        tokens.takes("final")
        if tokens.sees(":"):
            raise unsupported(tokens.at, "structs with bases (inheritance)", "make the base a member")
        before, self.generic = self.generic, self.generic or template is not None
        node.members = self._members(node, word)
        self.generic = before
        if tokens.takes(";"):
            return [node]
        return [node, self.declarations.of_type(at, node.name, typedef)]

    def _alignment(self) -> Node | None:
        if not self.tokens.sees("__align__", "alignas"):
            return None
        holder = Specifiers(self.tokens.at, None)
        self.types.storage_word(holder)
        return holder.align

    def _members(self, node: StructDefinition, word: str) -> list[Node]:
        tokens = self.tokens
        opened = tokens.must("{").at
        scope: dict[str, str] = {}
        if node.arguments is None:
            tokens.members[node.name] = scope
        tokens.scopes.append(scope)
        tokens.classes.append(node.name)
        members: list[Node] = []
        later: list[tuple[FunctionDefinition, int]] = []
        private = word == "class"
        while not tokens.sees("}"):
            if tokens.token.kind == "end":
                raise tokens.expected("}", opened)
            if tokens.sees("public", "private", "protected") and tokens.ahead().text == ":":
                private = tokens.next().text != "public"
                tokens.place += 1
                continue
            found = self._member(later)
            members += found
            if private:
                node.private |= {name for part in found for name in _names(part)}
        end = tokens.place
        for method, place in later:
            if self.generic or method.template is not None:
                self._try_body(method, place)
            else:
                self._body(method, place)
        tokens.place = end + 1
        tokens.classes.pop()
        tokens.scopes.pop()
        return members

    def _body(self, method: FunctionDefinition, place: int) -> None:
        tokens = self.tokens
        tokens.place = place
        tokens.scopes.append({p.name: "type" if p.type is None else "other" for p in method.template or []})
        part = method.declarator.parts[0]
        assert isinstance(part, FunctionPart)
        for parameter in part.parameters:
            tokens.declare(parameter.declarator.name)
        if tokens.takes(":"):
            method.initials = self._initials()
        method.body = self.block(scope=False)
        tokens.scopes.pop()

    def _try_body(self, method: FunctionDefinition, place: int) -> None:
        """That of a template: a mistake in it matters when somebody uses it, as for NVRTC."""
        tokens, scopes = self.tokens, len(self.tokens.scopes)
        try:
            self._body(method, place)
        except Fault as fault:
            method.fault, method.body = fault, BlockOf(method.at, [], method.at)
            del tokens.scopes[scopes:]
            tokens.no_greater = False

    def _initials(self) -> list[One]:
        """`: a(x), b{y}` of a constructor, the colon being taken."""
        tokens = self.tokens
        result: list[One] = []
        while True:
            token = tokens.identifier("the name of a member")
            at = tokens.at
            style = "{" if tokens.sees("{") else "("
            parts = self.expressions.braces().parts if style == "{" else self.expressions.arguments()
            result.append(One(Declarator(token.at, token.text, []), Braces(at, parts), style))
            if not tokens.takes(","):
                return result

    # --------------------------------------------------------------------------------------------- one member

    def _member(self, later: list[tuple[FunctionDefinition, int]]) -> list[Node]:
        tokens, declarations = self.tokens, self.declarations
        tokens.attributes()
        if tokens.takes(";"):
            return []
        if tokens.sees("using"):
            return [declarations.using()]
        if tokens.sees("static_assert"):
            return [declarations.static_assert()]
        if tokens.sees("template"):
            return self._template(later)
        if declarations.type_follows():
            return declarations.type_definition()
        at, specifiers = tokens.at, self.types.specifiers(constructor=tokens.classes[-1])
        if tokens.sees("~"):
            return self._destructor()
        if specifiers.base is None and tokens.sees("operator"):
            return [self._conversion(specifiers, later)]
        if specifiers.base is None and tokens.token.text == tokens.classes[-1] and tokens.ahead().text == "(":
            declarator = Declarator(tokens.at, tokens.next().text, [])
            declarator.parts = [FunctionPart(tokens.at, self.types.parameters())]
            return [self._method(specifiers, declarator, "constructor", later)]
        if specifiers.base is None:
            raise declarations.no_type(specifiers)
        declarator = self.types.declarator()
        if declarator.parts and isinstance(declarator.parts[0], FunctionPart):
            tokens.declare(declarator.name)
            return [self._method(specifiers, declarator, "method", later)]
        if tokens.sees(":"):
            raise unsupported(tokens.at, "bit fields")
        return [declarations.rest(at, specifiers, declarator)]

    def _template(self, later: list[tuple[FunctionDefinition, int]]) -> list[Node]:
        tokens = self.tokens
        tokens.must("template")
        tokens.scopes.append({})
        parameters = self.templates.parameters()
        if tokens.sees(*CLASS_WORDS, "using"):
            raise unsupported(tokens.at, "templates of types within a struct", "define them before it")
        found = self._member(later)
        tokens.scopes.pop()
        for node in found:
            if not isinstance(node, FunctionDefinition):
                raise unsupported(node.at, "templates of members that are no functions")
            node.template = parameters
            tokens.templates.add(node.declarator.name)
            tokens.declare(node.declarator.name, "template")
        return found

    def _conversion(
        self, specifiers: Specifiers, later: list[tuple[FunctionDefinition, int]]
    ) -> FunctionDefinition:
        """`operator float() const { ... }`"""
        at = self.tokens.next().at
        to = self.types.specifiers(storage=False)
        if to.base is None:
            raise unsupported(
                at, f"operator {self.tokens.token.text} of your own", "write a method with a name"
            )
        to.words, to.bounds = specifiers.words, specifiers.bounds
        declarator = self.types.declarator(False)
        declarator.at = at
        if not (declarator.parts and isinstance(declarator.parts[0], FunctionPart)):
            raise self.tokens.expected("(")
        return self._method(to, declarator, "conversion", later)

    def _destructor(self) -> list[Node]:
        tokens = self.tokens
        at = tokens.next().at
        tokens.identifier()
        tokens.must("(")
        tokens.must(")")
        if tokens.takes("noexcept"):
            pass
        if tokens.takes("=") and tokens.takes("default"):
            self.declarations.end()
            return []
        if tokens.sees("{") and tokens.ahead().text == "}":
            tokens.place += 2
            return []
        raise unsupported(at, "destructors", "call a method where the object is not needed any more")

    def _method(
        self,
        specifiers: Specifiers,
        declarator: Declarator,
        form: str,
        later: list[tuple[FunctionDefinition, int]],
    ) -> FunctionDefinition:
        tokens = self.tokens
        node = FunctionDefinition(specifiers.at, specifiers, declarator, None, form=form)
        while tokens.sees("const", "noexcept", "override", "final", "volatile", "&", "&&"):
            word = tokens.next()
            node.const = node.const or word.text == "const"
            if word.text in ("&", "&&", "volatile", "override"):
                raise unsupported(word.at, f"'{word.text}' behind a method")
        declarator_returns(self.types, node)
        if tokens.takes("="):
            word = tokens.next()
            if word.text != "default":
                raise unsupported(word.at, f"methods that are = {word.text}")
            node.form = "default"
            self.declarations.end()
        elif tokens.sees("{") or (form == "constructor" and tokens.sees(":")):
            later.append((node, tokens.place))
            self._skip()
        elif not tokens.takes(";"):
            raise tokens.expected("{", hint="the body of a method stands between { and }")
        else:
            raise unsupported(declarator.at, "methods without a body", "write the body in the struct")
        return node

    def _skip(self) -> None:
        """To behind the body of a method, whose first values may have braces too."""
        tokens = self.tokens
        while True:
            opened = tokens.at
            while not tokens.sees("{"):
                if tokens.token.kind == "end":
                    raise tokens.expected("{")
                tokens.place += 1
            self._braces(opened)
            if not tokens.sees(",", "{"):
                return

    def _braces(self, opened: At) -> None:
        tokens, depth = self.tokens, 0
        while True:
            if tokens.token.kind == "end":
                raise tokens.expected("}", opened)
            depth += tokens.sees("{") - tokens.sees("}")
            tokens.place += 1
            if not depth:
                return


def declarator_returns(types: object, node: FunctionDefinition) -> None:
    """`auto f() -> float`: what stands behind the arrow is the type of the function."""
    tokens = types.tokens  # type: ignore[attr-defined]
    if node.specifiers.base == "auto" and tokens.takes("->"):
        written = types.type_name()  # type: ignore[attr-defined]
        node.specifiers.base, node.specifiers.const = written.specifiers.base, written.specifiers.const
        node.specifiers.volatile = written.specifiers.volatile
        node.declarator.parts += written.declarator.parts


def _names(node: Node) -> list[str]:
    """The names that a member declares."""
    ones = getattr(node, "ones", None)
    if ones is not None:
        return [one.declarator.name for one in ones]
    if isinstance(node, FunctionDefinition):
        return [node.declarator.name]
    return []
