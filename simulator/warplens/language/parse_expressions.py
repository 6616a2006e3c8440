"""Expressions, by the strength of their operators."""

from __future__ import annotations

from warplens.errors import At, Fault, unsupported
from warplens.language.lexer import number, unquoted
from warplens.language.parse_tokens import KEYWORDS, OF_TEXTURES, Tokens
from warplens.language.parse_types import (
    bare_type,
    parse_name,
    parse_parameters,
    parse_specifiers,
    parse_template_arguments,
    parse_type_name,
    refuse_std,
    undefined_type,
)
from warplens.language.syntax import (
    Assignment,
    Braces,
    CallOf,
    Cast,
    Declarator,
    Dot,
    FunctionDefinition,
    FunctionPart,
    Index,
    Infix,
    Lambda,
    Make,
    Name,
    Node,
    Null,
    Number,
    Postfix,
    Prefix,
    SizeOf,
    Specifiers,
    Ternary,
    Text,
    This,
)
from warplens.language.types import BOOL, CHAR

_STRENGTH = {
    "||": 3, "&&": 4, "|": 5, "^": 6, "&": 7, "==": 8, "!=": 8, "<": 9, "<=": 9, ">": 9, ">=": 9,
    "<<": 10, ">>": 10, "+": 11, "-": 11, "*": 12, "/": 12, "%": 12,
}  # fmt: skip
_WORDS = {"or": "||", "and": "&&", "bitor": "|", "xor": "^", "bitand": "&", "not_eq": "!="}
_ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
_CASTS = {"static_cast": "static", "reinterpret_cast": "reinterpret", "const_cast": "const"}


def parse_expression(tokens: Tokens) -> Node:
    node = parse_assignment(tokens)
    while tokens.sees(","):
        at = tokens.next().at
        node = Infix(at, ",", node, parse_assignment(tokens))
    return node


def parse_assignment(tokens: Tokens) -> Node:
    if tokens.sees("throw"):
        tokens.refuse_word()
    left = parse_constant(tokens)
    if tokens.token.kind == "mark" and tokens.token.text in _ASSIGNMENTS and not _closes_angle(tokens):
        token = tokens.next()
        right = parse_braces(tokens) if tokens.sees("{") else parse_assignment(tokens)
        return Assignment(token.at, token.text[:-1], left, right)
    return left


def _closes_angle(tokens: Tokens) -> bool:
    return tokens.no_greater and tokens.token.text[0] == ">"


def parse_constant(tokens: Tokens) -> Node:
    """Without commas and assignments: what C calls a constant expression."""
    test = _binary(tokens, 3)
    if not tokens.sees("?"):
        return test
    at = tokens.next().at
    before, tokens.no_greater = tokens.no_greater, False
    yes = parse_expression(tokens)
    tokens.no_greater = before
    tokens.must(":", hint="it belongs to the ? before it")
    return Ternary(at, test, yes, parse_assignment(tokens))


def _binary(tokens: Tokens, weakest: int) -> Node:
    left = _unary(tokens)
    while True:
        token = tokens.token
        op = _WORDS.get(token.text, token.text) if token.kind in ("mark", "name") else ""
        strength = _STRENGTH.get(op, 0)
        if strength < weakest or (tokens.no_greater and op[0] == ">"):
            if token.text == "<<<" or (op == "<<" and tokens.ahead().text == "<"):
                raise unsupported(token.at, "launching a kernel from device code")
            return left
        if op == "<<" and tokens.ahead().text == "<" and not tokens.ahead().space:
            raise unsupported(token.at, "launching a kernel from device code (<<<...>>>)")
        tokens.place += 1
        left = Infix(token.at, op, left, _binary(tokens, strength + 1))


# ----------------------------------------------------------------------------------------------------- unary


def _unary(tokens: Tokens) -> Node:
    token = tokens.token
    if token.kind == "mark" and token.text in ("+", "-", "!", "~", "*", "&", "++", "--"):
        tokens.place += 1
        return Prefix(token.at, token.text, _unary(tokens))
    if token.kind == "name" and token.text in ("not", "compl"):
        tokens.place += 1
        return Prefix(token.at, "!" if token.text == "not" else "~", _unary(tokens))
    if token.text in ("sizeof", "alignof", "__alignof__") and token.kind == "name":
        return _size_of(tokens)
    if token.text == "(" and token.kind == "mark" and tokens.starts_type(1):
        opened = tokens.next().at
        if not _functional_in_brackets(tokens):
            type_ = parse_type_name(tokens)
            tokens.must(")", opened)
            if tokens.sees("{"):
                raise unsupported(tokens.at, "compound literals", "write type{...}")
            return Cast(opened, "c", type_, _unary(tokens))
        tokens.place -= 1
    return _postfix(tokens, _primary(tokens))


def _functional_in_brackets(tokens: Tokens) -> bool:
    """Whether `(float(x) ...` stands here, the ( being taken: a conversion in brackets and no cast."""
    token, length = tokens.token, tokens.path()[1]
    after = tokens.ahead(length)
    if after.text == "{":
        return True
    if after.text != "(" or token.text in ("const", "struct", "typename"):
        return False
    own = tokens.path()[0] in ("type", "class template")
    no_pointer = ("*", "&") if own else ("*", "&", ")")
    return tokens.ahead(length + 1).text not in no_pointer or _pointer_is_operand(tokens, length)


def _pointer_is_operand(tokens: Tokens, length: int) -> bool:
    """`(float(*p) + 1)`: what follows the * is no part of a declarator, which ends at once."""
    ahead = tokens.ahead
    return (
        ahead(length + 1).text in ("*", "&")
        and ahead(length + 2).text != ")"
        and ahead(length + 2).kind == "name"
    )


def _size_of(tokens: Tokens) -> Node:
    token = tokens.next()
    align = token.text != "sizeof"
    if tokens.sees("...") and not align:
        raise unsupported(tokens.at, "sizeof...")
    if tokens.sees("(") and tokens.starts_type(1) and not _type_is_call(tokens, 1):
        opened = tokens.next().at
        type_ = parse_type_name(tokens)
        tokens.must(")", opened)
        return SizeOf(token.at, type_, align)
    return SizeOf(token.at, _unary(tokens), align)


def _type_is_call(tokens: Tokens, count: int) -> bool:
    after = count + tokens.path(count)[1]
    return tokens.ahead(after).text in ("(", "{") and tokens.ahead(after + 1).text not in (
        "*",
        "&",
    )


# --------------------------------------------------------------------------------------------------- primary


def _primary(tokens: Tokens) -> Node:
    token = tokens.token
    at = token.at
    if token.kind == "number":
        tokens.place += 1
        return Number(at, *number(token))
    if token.kind == "char":
        return _character(tokens)
    if token.kind == "string":
        text = ""
        while tokens.token.kind == "string":
            text += unquoted(tokens.next())
        return Text(at, text)
    if tokens.sees("("):
        return _bracketed(tokens)
    if tokens.sees("::"):
        return _functional(tokens) if tokens.starts_type() else parse_name(tokens)
    if tokens.sees("["):
        if tokens.ahead().text in ("]", "&", "=") or tokens.ahead(2).text in (",", "]", "="):
            return _lambda(tokens)
        raise Fault(at, "expected an expression")
    if token.kind == "name":
        return _word(tokens)
    if token.kind == "end":
        raise Fault(tokens.after_last(), "expected an expression", "the source ends too early")
    last = tokens.stream[max(tokens.place - 1, 0)]
    here = tokens.after_last() if tokens.place and last.at.line != at.line else at
    raise Fault(here, "expected an expression")


def _lambda(tokens: Tokens) -> Node:
    """[captures](parameters) { body }"""
    at = tokens.next().at
    default, captures = _captures(tokens, at)
    tokens.must("]", at)
    if tokens.sees("__device__", "__host__"):
        raise unsupported(tokens.at, f"{tokens.token.text} before a lambda", "leave it out in a kernel")
    parameters = parse_parameters(tokens) if tokens.sees("(") else []
    mutable = tokens.takes("mutable")
    specifiers = Specifiers(at, "auto", words={"__device__": at})
    declarator = Declarator(at, "operator()", [FunctionPart(at, parameters)])
    if tokens.takes("->"):
        written = parse_type_name(tokens)
        specifiers.base, specifiers.const = written.specifiers.base, written.specifiers.const
        declarator.parts += written.declarator.parts
    if not tokens.sees("{"):
        raise tokens.expected("{", hint="the body of a lambda stands between { and }")
    tokens.scopes.append({})
    for parameter in parameters:
        tokens.declare(parameter.declarator.name)
    before, tokens.no_greater = tokens.no_greater, False
    body = tokens.body()
    tokens.no_greater = before
    tokens.scopes.pop()
    method = FunctionDefinition(at, specifiers, declarator, body, form="method", const=not mutable)
    return Lambda(at, default, captures, method)


def _captures(tokens: Tokens, at: At) -> tuple[str, list[tuple[At, str, bool]]]:
    tokens, default = tokens, ""
    captures: list[tuple[At, str, bool]] = []
    while not tokens.sees("]"):
        if tokens.sees("=", "&") and tokens.ahead().text in (",", "]"):
            default = tokens.next().text
        elif tokens.sees("this", "*"):
            raise unsupported(tokens.at, "a lambda that captures this")
        else:
            by_reference = tokens.takes("&")
            name = tokens.identifier()
            captures.append((name.at, name.text, by_reference))
            if not tokens.sees(",", "]"):
                raise unsupported(tokens.at, "a lambda that captures more than variables")
        if not tokens.takes(","):
            break
    return default, captures


def _character(tokens: Tokens) -> Node:
    token = tokens.next()
    text = unquoted(token)
    if len(text) != 1 or token.text[0] != "'":
        raise unsupported(token.at, f"the character constant {token.text}")
    value = ord(text)
    return Number(token.at, value - 256 if value > 127 else value, CHAR)


def _bracketed(tokens: Tokens) -> Node:
    opened = tokens.next().at
    before, tokens.no_greater = tokens.no_greater, False
    node = parse_expression(tokens)
    tokens.no_greater = before
    tokens.must(")", opened)
    return node


def _word(tokens: Tokens) -> Node:
    token = tokens.token
    text, at = token.text, token.at
    if text in ("true", "false"):
        tokens.place += 1
        return Number(at, text == "true", BOOL)
    if text == "nullptr":
        tokens.place += 1
        return Null(at)
    if text in _CASTS:
        return _cast(tokens)
    tokens.refuse_word()
    if tokens.starts_type():
        return _functional(tokens)
    if text == "this":
        tokens.place += 1
        return This(at)
    if text in KEYWORDS:
        raise Fault(at, "expected an expression", f"{text!r} is a word of the language")
    kind = tokens.kind_of(text)
    refuse_std(tokens)
    if tokens.ahead().text == "::" and not kind:
        raise undefined_type(text, at)
    if tokens.ahead().text == "<" and not kind:
        known = text in tokens.templates or text.startswith(OF_TEXTURES)
        if known and _closes(tokens, 1):
            tokens.place += 1
            return Name(at, text, parse_template_arguments(tokens))
    return parse_name(tokens)


def _closes(tokens: Tokens, ahead: int) -> bool:
    """Whether the < so many tokens ahead is a bracket: a call follows its >."""
    return tokens.ahead(tokens.behind_angle(ahead)).text == "("


def _cast(tokens: Tokens) -> Node:
    token = tokens.next()
    tokens.must("<", hint=f"write {token.text}<type>(value)")
    type_ = parse_type_name(tokens)
    tokens.close_angle()
    opened = tokens.must("(").at
    before, tokens.no_greater = tokens.no_greater, False
    operand = parse_expression(tokens)
    tokens.no_greater = before
    tokens.must(")", opened)
    return Cast(token.at, _CASTS[token.text], type_, operand)


def _functional(tokens: Tokens) -> Node:
    at = tokens.at
    specifiers = parse_specifiers(tokens, storage=False)
    if specifiers.base is None or not tokens.sees("(", "{"):
        if specifiers.base is not None and tokens.token.kind == "name":
            raise Fault(at, "expected an expression", "a declaration cannot stand here")
        raise Fault(tokens.at if specifiers.base is not None else at, "expected a '('", "a type is no value")
    type_ = bare_type(specifiers)
    if tokens.sees("{"):
        return Make(at, type_, parse_braces(tokens).parts, True)
    parts = parse_arguments(tokens)
    return Cast(at, "call", type_, parts[0]) if len(parts) == 1 else Make(at, type_, parts, False)


def parse_braces(tokens: Tokens) -> Braces:
    at = tokens.must("{").at
    parts: list[Node] = []
    before, tokens.no_greater = tokens.no_greater, False
    while not tokens.sees("}"):
        if tokens.sees("."):
            raise unsupported(tokens.at, "designated initializers")
        parts.append(parse_braces(tokens) if tokens.sees("{") else parse_assignment(tokens))
        if not tokens.takes(","):
            break
    tokens.no_greater = before
    tokens.must("}", at)
    return Braces(at, parts)


# --------------------------------------------------------------------------------------------------- postfix


def _postfix(tokens: Tokens, node: Node) -> Node:
    while True:
        at = tokens.at
        if tokens.sees("("):
            node = CallOf(at if not isinstance(node, Name) else node.at, node, parse_arguments(tokens))
        elif tokens.sees("["):
            node = _index(tokens, node)
        elif tokens.sees(".", "->"):
            arrow = tokens.next().text == "->"
            is_template = tokens.takes("template")
            if tokens.sees("operator"):
                raise unsupported(
                    tokens.at, "an operator that is called by its name", "write it as an operator"
                )
            name = tokens.identifier("the name of a member")
            is_template |= tokens.sees("<") and name.text in tokens.templates
            arguments = parse_template_arguments(tokens) if is_template and tokens.sees("<") else None
            node = Dot(name.at, node, name.text, arrow, arguments)
        elif tokens.sees("++", "--"):
            node = Postfix(at, tokens.next().text, node)
        else:
            return node


def _index(tokens: Tokens, node: Node) -> Node:
    opened = tokens.next().at
    before, tokens.no_greater = tokens.no_greater, False
    if tokens.sees("]"):
        raise Fault(tokens.at, "expected an expression", "an index stands between [ and ]")
    index = parse_expression(tokens)
    tokens.no_greater = before
    tokens.must("]", opened)
    return Index(opened, node, index)


def parse_arguments(tokens: Tokens) -> list[Node]:
    opened = tokens.must("(").at
    before, tokens.no_greater = tokens.no_greater, False
    result: list[Node] = []
    while not tokens.sees(")"):
        result.append(parse_braces(tokens) if tokens.sees("{") else parse_assignment(tokens))
        if tokens.takes(","):
            if tokens.sees(")"):
                raise Fault(tokens.at, "expected an expression", "another argument follows a comma")
        elif not tokens.sees(")"):
            raise tokens.expected(")", opened)
    tokens.no_greater = before
    tokens.must(")", opened)
    return result
