"""Declarations of variables, types and structs, at file scope and in functions."""

from __future__ import annotations

from warplens.errors import At, Fault, unsupported
from warplens.language.lexer import unquoted
from warplens.language.parse_expressions import (
    parse_arguments,
    parse_assignment,
    parse_braces,
    parse_constant,
)
from warplens.language.parse_tokens import KEYWORDS, STORAGE_WORDS, Tokens
from warplens.language.parse_types import (
    CLASS_WORDS,
    parse_declarator,
    parse_name,
    parse_specifiers,
    parse_type_name,
    refuse_std,
    undefined_type,
)
from warplens.language.syntax import (
    Alias,
    Braces,
    Declaration,
    Declarator,
    EnumDefinition,
    Name,
    Node,
    Nothing,
    One,
    Specifiers,
    StaticAssert,
    TemplateParameter,
    Using,
)

END_HINT = "a statement ends with ;"


def parse_typed_specifiers(tokens: Tokens) -> Specifiers:
    """Specifiers that name a type."""
    specifiers = parse_specifiers(tokens)
    if specifiers.base is None:
        raise no_type(tokens, specifiers)
    return specifiers


def no_type(tokens: Tokens, specifiers: Specifiers) -> Fault:
    token, after = tokens.token, tokens.ahead()
    if token.kind == "name" and token.text not in KEYWORDS and not tokens.kind_of(token.text):
        if after.kind == "name" or after.text in ("*", "&", "::"):
            return undefined_type(token.text, token.at)
        if after.text == "(" and specifiers.words:
            message = f"the type that '{token.text}' returns is missing"
            return Fault(token.at, message, "a kernel returns void: __global__ void name(...)")
    if token.kind == "name" and token.text in KEYWORDS and tokens.place:
        return Fault(token.at, "expected a declaration", f"'{token.text}' cannot stand outside of a function")
    if token.kind == "end":
        return Fault(tokens.after_last(), "expected a declaration", "the source ends too early")
    hint = "outside of functions only declarations may stand" if not specifiers.words else "a type is missing"
    return Fault(token.at, "this declaration has no type", hint)


def declaration_follows(tokens: Tokens) -> bool:
    """Whether a declaration begins here, and no expression."""
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


def parse_rest(
    tokens: Tokens, at: At, specifiers: Specifiers, first: Declarator, hint: str = "a statement ends with ;"
) -> Declaration:
    """A declaration, of which the first declarator has been taken."""
    kind = "type" if "typedef" in specifiers.words else "other"
    ones = [parse_one(tokens, first, kind)]
    while tokens.takes(","):
        ones.append(parse_one(tokens, parse_declarator(tokens), kind))
    take_end(tokens, hint)
    return Declaration(at, specifiers, ones)


def parse_one(tokens: Tokens, declarator: Declarator, kind: str) -> One:
    """A variable with its first value, if it has one; its declarator has been taken."""
    tokens.declare(declarator.name, kind)
    if tokens.takes("="):
        return One(
            declarator,
            parse_braces(tokens) if tokens.sees("{") else parse_assignment(tokens),
            "=",
        )
    if tokens.sees("{"):
        return One(declarator, parse_braces(tokens), "{")
    if tokens.sees("("):
        at = tokens.at
        parts = parse_arguments(tokens)
        if not parts:
            raise Fault(at, "expected an expression")
        if len(parts) > 1:
            return One(declarator, Braces(at, parts), "(")
        return One(declarator, parts[0], "(")
    return One(declarator)


def take_end(tokens: Tokens, hint: str = "a statement ends with ;") -> None:
    """The semicolon."""
    if tokens.takes(";"):
        return
    if tokens.token.text in STORAGE_WORDS and tokens.ahead().text in (";", ",", "="):
        raise unsupported(tokens.at, f"'{tokens.token.text}' behind a name", "it stands before the type")
    if tokens.token.kind == "name" and tokens.token.text not in KEYWORDS and tokens.place:
        last = tokens.stream[tokens.place - 1]
        if last.at.line == tokens.at.line and last.kind == "name":
            hint = f"an operator or a ; is missing before '{tokens.token.text}'"
    raise tokens.expected(";", hint=hint)


# ---------------------------------------------------------------------------------------- other declarations


def parse_static_assert(tokens: Tokens) -> Node:
    at = tokens.next().at
    opened = tokens.must("(").at
    test = parse_constant(tokens)
    message = ""
    if tokens.takes(","):
        if tokens.token.kind != "string":
            raise Fault(tokens.at, "expected a string")
        while tokens.token.kind == "string":
            message += unquoted(tokens.next())
    tokens.must(")", opened)
    take_end(tokens)
    return StaticAssert(at, test, message)


def parse_using(tokens: Tokens, template: list[TemplateParameter] | None = None) -> Node:
    """using name = type; using namespace name; using name;"""
    at = tokens.next().at
    if tokens.takes("namespace"):
        if tokens.sees("std") and not tokens.kind_of("std"):  # NVRTC knows it, and it is empty
            tokens.place += 1
            take_end(tokens)
            return Nothing(at)
        name = _namespace_name(tokens, at)
        take_end(tokens)
        tokens.opened.append(tokens.members.setdefault(name.name, {}))
        return Using(at, name, whole=True)
    if tokens.ahead().text == "::" or tokens.sees("::"):
        refuse_std(tokens)
        if tokens.token.kind == "name" and not tokens.kind_of(tokens.token.text):
            raise undefined_type(tokens.token.text, tokens.at)
        kind = tokens.path()[0]
        target = parse_name(tokens)
        take_end(tokens)
        tokens.declare(target.name, kind)
        return Using(at, target)
    token = tokens.identifier()
    tokens.must("=")
    type_ = parse_type_name(tokens)
    take_end(tokens)
    if template is not None:
        tokens.scopes[-2][token.text] = "class template"
    else:
        tokens.declare(token.text, "type")
    return Alias(at, token.text, type_, template)


def alias_follows(tokens: Tokens) -> bool:
    """Whether namespace name = other; stands here."""
    return tokens.sees("namespace") and tokens.ahead(2).text == "="


def parse_namespace_alias(tokens: Tokens) -> Node:
    at = tokens.next().at
    name = tokens.identifier().text
    tokens.must("=")
    target = parse_name(tokens)
    take_end(tokens)
    tokens.declare(name, "namespace")
    tokens.members[name] = tokens.members.setdefault(target.name, {})
    return Using(at, target, alias=name)


def _namespace_name(tokens: Tokens, at: At) -> Name:
    token = tokens.ahead(1 if tokens.sees("::") else 0)
    if tokens.kind_of(token.text) != "namespace":
        raise unsupported(at, f"using namespace {token.text}", "only namespaces of the source are known")
    return parse_name(tokens)


def enum_follows(tokens: Tokens) -> bool:
    i = 1 if tokens.sees("typedef") else 0
    if tokens.ahead(i).text != "enum" or tokens.ahead(i).kind != "name":
        return False
    i += 2 if tokens.ahead(i + 1).text in ("class", "struct") else 1
    return tokens.ahead(i).text in ("{", ":") or tokens.ahead(i + 1).text in ("{", ":", ";")


def parse_enum(tokens: Tokens) -> list[Node]:
    at = tokens.at
    typedef = tokens.takes("typedef")
    tokens.must("enum")
    scoped = tokens.takes("class", "struct")
    name = tokens.identifier().text if not tokens.sees("{", ":") or scoped else ""
    base = parse_specifiers(tokens, storage=False) if tokens.takes(":") else None
    if tokens.sees(";"):
        raise unsupported(at, "an enum that is declared before it is defined")
    made = name or f"<unnamed of line {at.line}>"
    tokens.declare(made, "type")
    result: list[Node] = [EnumDefinition(at, made, scoped, base, _enumerators(tokens, scoped))]
    return result if tokens.takes(";") else [*result, parse_behind_type(tokens, at, made, typedef)]


def _enumerators(tokens: Tokens, scoped: bool) -> list[tuple[At, str, Node | None]]:
    opened = tokens.must("{").at
    items: list[tuple[At, str, Node | None]] = []
    while not tokens.sees("}"):
        token = tokens.identifier()
        items.append((token.at, token.text, parse_constant(tokens) if tokens.takes("=") else None))
        if not scoped:
            tokens.declare(token.text)
        if not tokens.takes(","):
            break
    tokens.must("}", opened)
    return items


def parse_behind_type(tokens: Tokens, at: At, name: str, typedef: bool) -> Node:
    """What is declared behind the } of a type."""
    specifiers = Specifiers(at, Name(at, name))
    if typedef:
        specifiers.words["typedef"] = at
    elif tokens.token.kind != "name" and not tokens.sees("*"):
        raise tokens.expected(";", hint="the definition of a type ends with };")
    return parse_rest(tokens, at, specifiers, parse_declarator(tokens))
