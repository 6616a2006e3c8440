"""Statements."""

from __future__ import annotations

from collections.abc import Callable

from warplens.errors import At, Fault, unsupported
from warplens.language import groups
from warplens.language.parse_classes import parse_type_definition, type_follows
from warplens.language.parse_declarations import (
    alias_follows,
    declaration_follows,
    parse_namespace_alias,
    parse_one,
    parse_rest,
    parse_static_assert,
    parse_typed_specifiers,
    parse_using,
    take_end,
)
from warplens.language.parse_expressions import (
    parse_assignment,
    parse_braces,
    parse_constant,
    parse_expression,
)
from warplens.language.parse_tokens import KEYWORDS, Tokens
from warplens.language.parse_types import parse_declarator, refuse_std, undefined_type
from warplens.language.preprocess import UNROLL, UNROLL_END
from warplens.language.syntax import (
    Bindings,
    BlockOf,
    CaseLabel,
    Declaration,
    DoWhile,
    ExpressionStatement,
    For,
    FunctionPart,
    IfElse,
    Jump,
    Node,
    Nothing,
    ReturnOf,
    Specifiers,
    SwitchOf,
    Unroll,
    While,
)

FOR_HINT = "the three parts of a for are separated by ;"


def parse_body(tokens: Tokens) -> BlockOf:
    """Statements between braces, in the scope around."""
    opened = tokens.must("{").at
    statements: list[Node] = []
    while not tokens.sees("}"):
        if tokens.token.kind == "end":
            raise tokens.expected("}", opened)
        _not_a_function(tokens, opened)
        statements += _statements(tokens)
    return BlockOf(opened, statements, tokens.next().at)


def _block(tokens: Tokens) -> BlockOf:
    tokens.scopes.append({})
    block = parse_body(tokens)
    tokens.scopes.pop()
    return block


def _not_a_function(tokens: Tokens, opened: At) -> None:
    if tokens.sees("__global__"):
        hint = f"a '}}' seems to be missing before this line: the '{{' of line {opened.line} is still open"
        raise Fault(tokens.at, "a __global__ function cannot stand inside another function", hint)


def _statements(tokens: Tokens) -> list[Node]:
    """One statement, or a struct or an enum with the variables that are declared along with it."""
    tokens.attributes()
    if tokens.takes(groups.USING):
        tokens.use_groups()
        return []
    if type_follows(tokens):
        return parse_type_definition(tokens)
    if alias_follows(tokens):
        return [parse_namespace_alias(tokens)]
    return [_statement(tokens)]


def _scoped(tokens: Tokens) -> Node:
    """The body of an if or of a loop: declarations end with it."""
    tokens.scopes.append({})
    if tokens.sees("}") or tokens.token.kind == "end":
        raise Fault(tokens.at, "expected a statement")
    node = _statement(tokens)
    tokens.scopes.pop()
    return node


def _statement(tokens: Tokens) -> Node:
    tokens.attributes()
    token = tokens.token
    at = token.at
    if tokens.sees("{"):
        return _block(tokens)
    if tokens.takes(";"):
        return Nothing(at)
    if tokens.sees(UNROLL):
        return _unroll(tokens)
    if token.kind == "name":
        parse = _BY_WORD.get(token.text)
        if parse:
            return parse(tokens)
        if token.text in ("case", "default"):
            raise Fault(at, f"a {token.text} label may only be used within a switch")
        if token.text == "else":
            raise Fault(
                at, "expected a statement", "this else has no if: one statement or { } stands before it"
            )
        if token.text not in ("new", "throw"):
            tokens.refuse_word()
        if tokens.ahead().text == ":" and token.text not in KEYWORDS and tokens.ahead().kind == "mark":
            raise unsupported(at, "labels")
        if declaration_follows(tokens):
            return _local_declaration(tokens)
        _undefined_type(tokens)
        _no_brackets(tokens)
    node = parse_expression(tokens)
    take_end(tokens)
    return ExpressionStatement(at, node)


def _no_brackets(tokens: Tokens) -> None:
    """`Pair(x);` is a declaration of x."""
    kind, after = tokens.path()
    if kind not in ("type", "class template"):
        return
    texts = [tokens.ahead(after + i).text for i in (0, 2, 3)]
    if texts == ["(", ")", ";"] and tokens.ahead(after + 1).kind == "name":
        raise unsupported(tokens.at, "a declaration with brackets around its name", "leave them out")


def _unroll(tokens: Tokens) -> Node:
    at = tokens.next().at
    count = None if tokens.sees(UNROLL_END) else parse_expression(tokens)
    if not tokens.takes(UNROLL_END):
        raise unsupported(tokens.at, "text after the number of #pragma unroll")
    return Unroll(at, count, Nothing(at) if tokens.sees("}") else _statement(tokens))


def _undefined_type(tokens: Tokens) -> None:
    """`flaot x = 3;` and `std::vector v`: an unknown name where a type would make sense."""
    refuse_std(tokens)
    token, after = tokens.token, tokens.ahead()
    if token.text in KEYWORDS or tokens.kind_of(token.text):
        return
    two_names = after.kind == "name" and after.text not in KEYWORDS
    pointer = (
        after.text in ("*", "&") and tokens.ahead(2).kind == "name" and tokens.ahead(3).text in ("=", ";")
    )
    if two_names or pointer or after.text == "::":
        raise undefined_type(token.text, token.at)


def _local_declaration(tokens: Tokens) -> Node:
    at = tokens.at
    specifiers = parse_typed_specifiers(tokens)
    if tokens.sees(";"):
        raise unsupported(at, "a declaration that declares nothing", "a name is missing")
    after = tokens.ahead().text if tokens.sees("&", "&&") else tokens.token.text
    if specifiers.base == "auto" and after == "[":
        return _bindings(tokens, at, specifiers)
    declarator = parse_declarator(tokens)
    if declarator.parts and isinstance(declarator.parts[0], FunctionPart):
        if tokens.sees("{"):
            hint = "is a '}' missing above? Functions cannot stand inside functions"
            raise Fault(tokens.at, "expected a ';'", hint)
        raise unsupported(declarator.at, "declaring a function inside a function")
    return parse_rest(tokens, at, specifiers, declarator)


def _bindings(tokens: Tokens, at: At, specifiers: Specifiers) -> Node:
    """auto [a, b] = value;"""
    if tokens.sees("&&"):
        raise unsupported(tokens.at, "references with &&")
    reference = tokens.takes("&")
    opened = tokens.must("[").at
    names = []
    while True:
        name = tokens.identifier()
        names.append((name.at, name.text))
        if not tokens.takes(","):
            break
    tokens.must("]", opened)
    tokens.must("=")
    value = parse_assignment(tokens)
    take_end(tokens)
    for _, text in names:
        tokens.declare(text)
    return Bindings(at, names, value, specifiers.const, specifiers.volatile, reference)


# ------------------------------------------------------------------------------------ with statements inside


def _condition(tokens: Tokens) -> Node:
    opened = tokens.must("(", hint="a condition stands between ( and )").at
    if tokens.starts_type() and declaration_follows(tokens):
        raise unsupported(tokens.at, "a declaration as a condition", "declare it on the line before")
    test = parse_expression(tokens)
    tokens.must(")", opened)
    return test


def _if(tokens: Tokens) -> Node:
    at = tokens.next().at
    constexpr = tokens.takes("constexpr")
    tokens.scopes.append({})
    initial, test = _if_condition(tokens)
    yes = _scoped(tokens)
    no = _scoped(tokens) if tokens.takes("else") else None
    tokens.scopes.pop()
    return IfElse(at, initial, test, yes, no, constexpr)


def _if_condition(tokens: Tokens) -> tuple[Node | None, Node]:
    """(test) or (first; test)"""
    opened = tokens.must("(", hint="a condition stands between ( and )").at
    initial: Node | None = None
    if tokens.starts_type() and declaration_follows(tokens):
        at, specifiers = tokens.at, parse_typed_specifiers(tokens)
        one = parse_one(tokens, parse_declarator(tokens), "other")
        if not tokens.takes(";"):
            raise unsupported(at, "a declaration as a condition", "declare it on the line before")
        initial = Declaration(at, specifiers, [one])
    elif tokens.takes(";"):
        initial = Nothing(opened)
    test = parse_expression(tokens)
    if initial is None and tokens.takes(";"):
        initial, test = ExpressionStatement(test.at, test), parse_expression(tokens)
    tokens.must(")", opened)
    return initial, test


def _for(tokens: Tokens) -> Node:
    at = tokens.next().at
    opened = tokens.must("(").at
    tokens.scopes.append({})
    initial: list[Node] = []
    if tokens.starts_type() and declaration_follows(tokens):
        initial.append(_for_declaration(tokens))
    elif not tokens.takes(";"):
        _undefined_type(tokens)
        initial.append(ExpressionStatement(tokens.at, parse_expression(tokens)))
        _for_semicolon(tokens)
    test = None if tokens.sees(";") else parse_expression(tokens)
    _for_semicolon(tokens)
    step = None if tokens.sees(")") else parse_expression(tokens)
    if tokens.sees(";"):
        raise Fault(tokens.at, "expected a ')'", "a for has three parts: for (start; test; step)")
    tokens.must(")", opened)
    body = _scoped(tokens)
    tokens.scopes.pop()
    return For(at, initial, test, step, body)


def _for_semicolon(tokens: Tokens) -> None:
    tokens.must(";", hint=FOR_HINT)


def _for_declaration(tokens: Tokens) -> Node:
    at = tokens.at
    specifiers = parse_typed_specifiers(tokens)
    declarator = parse_declarator(tokens)
    if tokens.sees(":"):
        raise unsupported(tokens.at, "for over a range", "count with an index")
    return parse_rest(tokens, at, specifiers, declarator, FOR_HINT)


def _while(tokens: Tokens) -> Node:
    at = tokens.next().at
    return While(at, _condition(tokens), _scoped(tokens))


def _do(tokens: Tokens) -> Node:
    at = tokens.next().at
    body = _scoped(tokens)
    if not tokens.sees("while"):
        raise tokens.expected("while", hint="do { ... } while (condition);")
    tokens.place += 1
    test = _condition(tokens)
    take_end(tokens)
    return DoWhile(at, body, test)


def _jump(tokens: Tokens) -> Node:
    token = tokens.next()
    take_end(tokens)
    return Jump(token.at, token.text)


def _return(tokens: Tokens) -> Node:
    at = tokens.next().at
    value: Node | None = None
    if not tokens.sees(";"):
        value = parse_braces(tokens) if tokens.sees("{") else parse_expression(tokens)
    take_end(tokens)
    return ReturnOf(at, value)


def _switch(tokens: Tokens) -> Node:
    at = tokens.next().at
    value = _condition(tokens)
    if not tokens.sees("{"):
        raise unsupported(tokens.at, "a switch without { }")
    opened = tokens.next().at
    tokens.scopes.append({})
    body: list[Node] = []
    while not tokens.sees("}"):
        if tokens.token.kind == "end":
            raise tokens.expected("}", opened)
        if tokens.sees("case", "default"):
            body.append(_case(tokens))
        else:
            body += _statements(tokens)
    tokens.place += 1
    tokens.scopes.pop()
    return SwitchOf(at, value, body)


def _case(tokens: Tokens) -> Node:
    token = tokens.next()
    value = parse_constant(tokens) if token.text == "case" else None
    if not tokens.takes(":"):
        raise tokens.expected(":", hint="a label of a switch ends with :")
    return CaseLabel(token.at, value)


_BY_WORD: dict[str, Callable[[Tokens], Node]] = {
    "if": _if, "for": _for, "while": _while, "do": _do, "switch": _switch, "return": _return, "break": _jump,
    "continue": _jump, "static_assert": parse_static_assert, "using": parse_using,
}  # fmt: skip
