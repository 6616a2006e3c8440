"""Structs, classes and unions: what stands between their braces."""

from __future__ import annotations

from warplens.errors import At, Fault, unsupported
from warplens.language.parse_declarations import (
    enum_follows,
    no_type,
    parse_behind_type,
    parse_enum,
    parse_rest,
    parse_static_assert,
    parse_using,
    take_end,
)
from warplens.language.parse_expressions import parse_arguments, parse_braces
from warplens.language.parse_templates import parse_template_parameters
from warplens.language.parse_tokens import Tokens
from warplens.language.parse_types import (
    CLASS_WORDS,
    declarator_returns,
    parse_declarator,
    parse_parameters,
    parse_specifiers,
    parse_storage_word,
    parse_template_arguments,
)
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


def type_follows(tokens: Tokens) -> bool:
    """Whether the definition of a struct or of an enum begins here."""
    return _class_follows(tokens) or enum_follows(tokens)


def parse_type_definition(tokens: Tokens) -> list[Node]:
    """It, and the declaration that it begins, if any."""
    return parse_class(tokens) if _class_follows(tokens) else parse_enum(tokens)


def _class_follows(tokens: Tokens) -> bool:
    """Whether the definition of a class begins here, or its declaration."""
    i = 1 if tokens.sees("typedef") else 0
    if tokens.ahead(i).text not in CLASS_WORDS or tokens.ahead(i).kind != "name":
        return False
    i += 1
    if tokens.ahead(i).text in ("__align__", "alignas"):
        return True
    return tokens.ahead(i).text == "{" or tokens.ahead(i + 1).text in ("{", ":", ";", "final")


def parse_class(
    tokens: Tokens, template: list[TemplateParameter] | None = None, special: bool = False
) -> list[Node]:
    """A class, and the declaration that it begins, if any. `special`: template <> stands before it."""
    at = tokens.at
    typedef = tokens.takes("typedef")
    word = tokens.next().text
    node = StructDefinition(at, "", None, _alignment(tokens), word == "union", template)
    node.name = (
        f"<unnamed of line {at.line}, column {at.column}>" if tokens.sees("{") else tokens.identifier().text
    )
    if special or (template is not None and tokens.sees("<")):
        if template:
            raise unsupported(tokens.at, "templates of structs that are written for some arguments only")
        node.arguments = parse_template_arguments(tokens)
    else:
        outer = tokens.scopes[-2] if template is not None else tokens.scopes[-1]
        outer[node.name] = "class template" if template is not None else "type"
    if tokens.takes(";"):
        return [node]
    tokens.takes("final")
    if tokens.sees(":"):
        raise unsupported(tokens.at, "structs with bases (inheritance)", "make the base a member")
    before, tokens.generic = tokens.generic, tokens.generic or template is not None
    node.members = _members(tokens, node, word)
    tokens.generic = before
    if tokens.takes(";"):
        return [node]
    return [node, parse_behind_type(tokens, at, node.name, typedef)]


def _alignment(tokens: Tokens) -> Node | None:
    if not tokens.sees("__align__", "alignas"):
        return None
    holder = Specifiers(tokens.at, None)
    parse_storage_word(tokens, holder)
    return holder.align


def _members(tokens: Tokens, node: StructDefinition, word: str) -> list[Node]:
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
        found = _member(tokens, later)
        members += found
        if private:
            node.private |= {name for part in found for name in _names(part)}
    end = tokens.place
    for method, place in later:
        if tokens.generic or method.template is not None:
            _try_body(tokens, method, place)
        else:
            _body(tokens, method, place)
    tokens.place = end + 1
    tokens.classes.pop()
    tokens.scopes.pop()
    return members


def _body(tokens: Tokens, method: FunctionDefinition, place: int) -> None:
    tokens.place = place
    tokens.scopes.append({p.name: "type" if p.type is None else "other" for p in method.template or []})
    part = method.declarator.parts[0]
    assert isinstance(part, FunctionPart)
    for parameter in part.parameters:
        tokens.declare(parameter.declarator.name)
    if tokens.takes(":"):
        method.initials = _initials(tokens)
    method.body = tokens.body()
    tokens.scopes.pop()


def _try_body(tokens: Tokens, method: FunctionDefinition, place: int) -> None:
    """That of a template: a mistake in it matters when somebody uses it, as for NVRTC."""
    scopes = len(tokens.scopes)
    try:
        _body(tokens, method, place)
    except Fault as fault:
        method.fault, method.body = fault, BlockOf(method.at, [], method.at)
        del tokens.scopes[scopes:]
        tokens.no_greater = False


def _initials(tokens: Tokens) -> list[One]:
    """`: a(x), b{y}` of a constructor, the colon being taken."""
    result: list[One] = []
    while True:
        token = tokens.identifier("the name of a member")
        at = tokens.at
        style = "{" if tokens.sees("{") else "("
        parts = parse_braces(tokens).parts if style == "{" else parse_arguments(tokens)
        result.append(One(Declarator(token.at, token.text, []), Braces(at, parts), style))
        if not tokens.takes(","):
            return result


# ------------------------------------------------------------------------------------------------ one member


def _member(tokens: Tokens, later: list[tuple[FunctionDefinition, int]]) -> list[Node]:
    tokens.attributes()
    if tokens.takes(";"):
        return []
    if tokens.sees("using"):
        return [parse_using(tokens)]
    if tokens.sees("static_assert"):
        return [parse_static_assert(tokens)]
    if tokens.sees("template"):
        return _template(tokens, later)
    if type_follows(tokens):
        return parse_type_definition(tokens)
    at, specifiers = tokens.at, parse_specifiers(tokens, constructor=tokens.classes[-1])
    if tokens.sees("~"):
        return _destructor(tokens)
    if specifiers.base is None and tokens.sees("operator"):
        return [_conversion(tokens, specifiers, later)]
    if specifiers.base is None and tokens.token.text == tokens.classes[-1] and tokens.ahead().text == "(":
        declarator = Declarator(tokens.at, tokens.next().text, [])
        declarator.parts = [FunctionPart(tokens.at, parse_parameters(tokens))]
        return [_method(tokens, specifiers, declarator, "constructor", later)]
    if specifiers.base is None:
        raise no_type(tokens, specifiers)
    declarator = parse_declarator(tokens)
    if declarator.parts and isinstance(declarator.parts[0], FunctionPart):
        tokens.declare(declarator.name)
        return [_method(tokens, specifiers, declarator, "method", later)]
    if tokens.sees(":"):
        raise unsupported(tokens.at, "bit fields")
    return [parse_rest(tokens, at, specifiers, declarator)]


def _template(tokens: Tokens, later: list[tuple[FunctionDefinition, int]]) -> list[Node]:
    tokens.must("template")
    tokens.scopes.append({})
    parameters = parse_template_parameters(tokens)
    if tokens.sees(*CLASS_WORDS, "using"):
        raise unsupported(tokens.at, "templates of types within a struct", "define them before it")
    found = _member(tokens, later)
    tokens.scopes.pop()
    for node in found:
        if not isinstance(node, FunctionDefinition):
            raise unsupported(node.at, "templates of members that are no functions")
        node.template = parameters
        tokens.templates.add(node.declarator.name)
        tokens.declare(node.declarator.name, "template")
    return found


def _conversion(
    tokens: Tokens, specifiers: Specifiers, later: list[tuple[FunctionDefinition, int]]
) -> FunctionDefinition:
    """`operator float() const { ... }`"""
    at = tokens.next().at
    to = parse_specifiers(tokens, storage=False)
    if to.base is None:
        raise unsupported(at, f"operator {tokens.token.text} of your own", "write a method with a name")
    to.words, to.bounds = specifiers.words, specifiers.bounds
    declarator = parse_declarator(tokens, False)
    declarator.at = at
    if not (declarator.parts and isinstance(declarator.parts[0], FunctionPart)):
        raise tokens.expected("(")
    return _method(tokens, to, declarator, "conversion", later)


def _destructor(tokens: Tokens) -> list[Node]:
    at = tokens.next().at
    tokens.identifier()
    tokens.must("(")
    tokens.must(")")
    if tokens.takes("noexcept"):
        pass
    if tokens.takes("=") and tokens.takes("default"):
        take_end(tokens)
        return []
    if tokens.sees("{") and tokens.ahead().text == "}":
        tokens.place += 2
        return []
    raise unsupported(at, "destructors", "call a method where the object is not needed any more")


def _method(
    tokens: Tokens,
    specifiers: Specifiers,
    declarator: Declarator,
    form: str,
    later: list[tuple[FunctionDefinition, int]],
) -> FunctionDefinition:
    node = FunctionDefinition(specifiers.at, specifiers, declarator, None, form=form)
    while tokens.sees("const", "noexcept", "override", "final", "volatile", "&", "&&"):
        word = tokens.next()
        node.const = node.const or word.text == "const"
        if word.text in ("&", "&&", "volatile", "override"):
            raise unsupported(word.at, f"'{word.text}' behind a method")
    declarator_returns(tokens, node)
    if tokens.takes("="):
        word = tokens.next()
        if word.text != "default":
            raise unsupported(word.at, f"methods that are = {word.text}")
        node.form = "default"
        take_end(tokens)
    elif tokens.sees("{") or (form == "constructor" and tokens.sees(":")):
        later.append((node, tokens.place))
        _skip(tokens)
    elif not tokens.takes(";"):
        raise tokens.expected("{", hint="the body of a method stands between { and }")
    else:
        raise unsupported(declarator.at, "methods without a body", "write the body in the struct")
    return node


def _skip(tokens: Tokens) -> None:
    """To behind the body of a method, whose first values may have braces too."""
    while True:
        opened = tokens.at
        while not tokens.sees("{"):
            if tokens.token.kind == "end":
                raise tokens.expected("{")
            tokens.place += 1
        _braces(tokens, opened)
        if not tokens.sees(",", "{"):
            return


def _braces(tokens: Tokens, opened: At) -> None:
    depth = 0
    while True:
        if tokens.token.kind == "end":
            raise tokens.expected("}", opened)
        depth += tokens.sees("{") - tokens.sees("}")
        tokens.place += 1
        if not depth:
            return


def _names(node: Node) -> list[str]:
    """The names that a member declares."""
    ones = getattr(node, "ones", None)
    if ones is not None:
        return [one.declarator.name for one in ones]
    if isinstance(node, FunctionDefinition):
        return [node.declarator.name]
    return []
