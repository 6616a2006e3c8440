"""Specifiers, declarators and the names of types."""

from __future__ import annotations

from difflib import get_close_matches

from warplens.errors import At, Fault, unsupported
from warplens.language import bfloat, groups, half, headers
from warplens.language.intrinsics import INTRINSICS
from warplens.language.parse_tokens import (
    BUILT_IN_TYPES,
    KEYWORDS,
    REFUSED_WORDS,
    STORAGE_WORDS,
    TYPE_WORDS,
    Tokens,
)
from warplens.language.syntax import (
    ArrayPart,
    Declarator,
    FunctionDefinition,
    FunctionPart,
    Name,
    Node,
    Parameter,
    Part,
    PointerPart,
    ReferencePart,
    Specifiers,
    TypeName,
)
from warplens.language.types import (
    BOOL,
    CHAR,
    DOUBLE,
    FLOAT,
    INT,
    LLONG,
    LONG,
    SCHAR,
    SHORT,
    UCHAR,
    UINT,
    ULLONG,
    ULONG,
    USHORT,
    VECTORS,
    VOID,
    Scalar,
    Void,
)

_SIGNED = {"char": SCHAR, "short": SHORT, "": INT, "long": LONG, "long long": LLONG}
_UNSIGNED = {"char": UCHAR, "short": USHORT, "": UINT, "long": ULONG, "long long": ULLONG}
_ALONE: dict[str, Scalar | Void] = {
    "void": VOID, "bool": BOOL, "char": CHAR, "float": FLOAT, "double": DOUBLE,
}  # fmt: skip


def built_in(words: list[str], at: At) -> Scalar | Void:
    """The type that words such as `unsigned long` name together."""
    if len(words) == 1 and words[0] in _ALONE:
        return _ALONE[words[0]]
    if sorted(words) == ["double", "long"]:
        raise unsupported(at, "long double", "use double")
    sign = [word for word in words if word in ("signed", "unsigned")]
    rest = [word for word in words if word not in ("signed", "unsigned")]
    if "int" in rest and rest != ["char", "int"]:
        rest.remove("int")
    size = " ".join(rest)
    if len(sign) > 1 or size not in _SIGNED:
        raise Fault(at, f"invalid combination of type specifiers: {' '.join(words)}")
    return (_UNSIGNED if sign == ["unsigned"] else _SIGNED)[size]


# The operators that a source may define for its structs, for vectors and enums.
OWN_OPERATORS = {
    "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "!", "~",
    "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=",
}  # fmt: skip
MEMBER_OPERATORS = {"=", "++", "--", "*", "->"}
CLASS_WORDS = ("struct", "class", "union")


# ------------------------------------------------------------------------------------------------ specifiers


def parse_specifiers(tokens: Tokens, storage: bool = True, constructor: str = "") -> Specifiers:
    """What stands before a name. `constructor`: the class whose name may be that of a function here."""
    result = Specifiers(tokens.at, None)
    words: list[str] = []
    tokens.attributes()
    while tokens.token.kind == "name" or (tokens.sees("::") and result.base is None and not words):
        text, at = tokens.token.text, tokens.at
        if text in TYPE_WORDS and text != "auto":
            if result.base is not None:
                raise Fault(at, "invalid combination of type specifiers")
            words.append(text)
            tokens.place += 1
        elif text in ("const", "volatile"):
            result.const = result.const or text == "const"
            result.volatile = result.volatile or text == "volatile"
            tokens.place += 1
        elif text in STORAGE_WORDS:
            if not storage:
                raise Fault(at, f"'{text}' is not allowed here")
            parse_storage_word(tokens, result)
        elif text in (*CLASS_WORDS, "enum", "typename") and result.base is None and not words:
            tokens.place += 1
            _not_defined_here(tokens, text)
            result.base = parse_name(tokens)
        elif text == constructor and result.base is None and tokens.ahead().text == "(":
            break
        elif result.base is None and not words and (text == "auto" or tokens.starts_type()):
            if text == "auto":
                tokens.place += 1
            result.base = "auto" if text == "auto" else parse_name(tokens)
        elif result.base is None and not words and text in REFUSED_WORDS:
            tokens.refuse_word()
        else:
            break
    if words:
        result.base = built_in(words, result.at)
    if result.base is None:
        refuse_std(tokens)
    return result


def _not_defined_here(tokens: Tokens, word: str) -> None:
    if tokens.sees("{", "class", "struct", ":") or tokens.ahead().text in ("{", ":"):
        hint = "define it on a line of its own before"
        raise unsupported(
            tokens.at,
            f"{'an' if word in ('enum', 'union') else 'a'} {word} that is defined within a declaration",
            hint,
        )


def parse_name(tokens: Tokens) -> Name:
    """A name with what stands before it and behind it: `a::b<c>::d`."""
    node: Name | None = Name(tokens.at, "") if tokens.sees("::") else None
    kind = ""
    while True:
        if node is not None:
            tokens.must("::")
            tokens.takes("template")
        refuse_std(tokens)
        token = tokens.identifier("a name")
        kind = _kind(tokens, token.text, node)
        name = tokens.full(token.text) if node is None else token.text
        is_template = tokens.sees("<") and (
            kind in ("template", "class template") or name in groups.TYPE_TEMPLATES
        )
        arguments = parse_template_arguments(tokens) if is_template else None
        node = Name(token.at, name, arguments, node)
        if not tokens.sees("::") or tokens.ahead().kind != "name" or tokens.ahead().text == "operator":
            return node


def _kind(tokens: Tokens, name: str, of: Name | None) -> str:
    if of is None or not of.name:
        return tokens.kind_of(name)
    kind = tokens.members.get(of.name, {}).get(name, "")
    return kind or ("template" if name in tokens.templates else "")


def parse_template_arguments(tokens: Tokens) -> list[Node]:
    """What stands between < and >."""
    tokens.must("<")
    before, tokens.no_greater = tokens.no_greater, True
    result: list[Node] = []
    while not tokens.sees(">", ">>", ">=", ">>="):
        result.append(_template_argument(tokens))
        if not tokens.takes(","):
            break
        if tokens.sees(">", ">>"):
            raise Fault(tokens.at, "expected an expression", "another argument follows a comma")
    tokens.no_greater = before
    tokens.close_angle()
    return result


def _template_argument(tokens: Tokens) -> Node:
    if tokens.starts_type() and tokens.ahead(tokens.path()[1]).text not in ("(", "{"):
        return parse_type_name(tokens)
    return tokens.constant()


def parse_storage_word(tokens: Tokens, result: Specifiers) -> None:
    token = tokens.next()
    text = token.text
    if text in REFUSED_WORDS:
        raise unsupported(token.at, REFUSED_WORDS[text])
    if text == "__launch_bounds__":
        opened = tokens.must("(").at
        result.bounds = [tokens.assignment()]
        while tokens.takes(","):
            result.bounds.append(tokens.assignment())
        tokens.must(")", opened)
    elif text in ("__align__", "alignas"):
        opened = tokens.must("(").at
        if tokens.starts_type():
            raise unsupported(tokens.at, "alignas of a type", "write its size in bytes")
        result.align = tokens.constant()
        tokens.must(")", opened)
    elif text in ("register", "mutable") or (text == "explicit" and not tokens.classes):
        raise Fault(token.at, f"'{text}' is not allowed here")
    elif text in result.words and text in (
        "explicit",
        "inline",
        "static",
        "extern",
        "constexpr",
        "typedef",
    ):
        raise Fault(token.at, f"duplicate specifier '{text}'")
    result.words.setdefault(text, token.at)


# ----------------------------------------------------------------------------------------------- declarators


def parse_declarator(tokens: Tokens, named: bool | None = True) -> Declarator:
    """`named`: True: with a name, False: without, None: either."""
    prefix = _prefix(tokens)
    if tokens.sees("(") and (
        tokens.ahead().text in ("*", "&", "(")
        or (tokens.ahead().kind == "name" and not tokens.starts_type(1) and tokens.ahead().text != ")")
    ):
        opened = tokens.next().at
        inner = parse_declarator(tokens, named)
        tokens.must(")", opened)
    else:
        inner = Declarator(tokens.at, _declared_name(tokens, named), [])
        if inner.name and tokens.sees("<") and tokens.kind_of(inner.name) == "template":
            inner.arguments = parse_template_arguments(tokens)
    inner.parts += _suffixes(tokens, bool(inner.name))
    inner.parts += prefix[::-1]
    return inner


def _declared_name(tokens: Tokens, named: bool | None) -> str:
    is_name = tokens.token.kind == "name" and tokens.token.text not in KEYWORDS
    if named is None and not is_name:
        if tokens.token.kind == "name" and not tokens.sees("const", "volatile"):
            raise Fault(
                tokens.at, "expected an identifier", f"{tokens.token.text!r} is a word of the language"
            )
        return ""
    if named is False:
        return ""
    if named and tokens.sees("operator"):
        return _operator(tokens)
    if is_name and tokens.ahead().text == "::":
        what = "a member of a class or namespace that is defined outside of it"
        raise unsupported(tokens.ahead().at, what, "write it inside the braces")
    return tokens.identifier().text


def _operator(tokens: Tokens) -> str:
    """The name of an operator of the source's own: "operator+"."""
    at = tokens.next().at
    mark = tokens.token.text
    if mark in ("(", "[") and tokens.classes:
        tokens.place += 1
        tokens.must(")" if mark == "(" else "]")
        return "operator()" if mark == "(" else "operator[]"
    known = mark in OWN_OPERATORS or (mark in MEMBER_OPERATORS and tokens.classes)
    if tokens.token.kind != "mark" or not known or tokens.ahead().text != "(":
        raise unsupported(at, f"operator {mark} of your own", "write a function with a name")
    tokens.place += 1
    return f"operator{mark}"


def _prefix(tokens: Tokens) -> list[Part]:
    parts: list[Part] = []
    while tokens.sees("*", "&", "&&"):
        mark = tokens.next().text
        if mark != "*":
            parts.append(ReferencePart(mark == "&&"))
            tokens.takes("__restrict__", "__restrict")
            continue
        words = set()
        while tokens.sees("const", "volatile", "__restrict__", "__restrict"):
            words.add(tokens.next().text)
        parts.append(PointerPart("const" in words, "volatile" in words))
    return parts


def _suffixes(tokens: Tokens, named: bool) -> list[Part]:
    parts: list[Part] = []
    while True:
        tokens.attributes()
        if tokens.sees("["):
            opened = tokens.next().at
            length = None if tokens.sees("]") else _inside(tokens)
            tokens.must("]", opened)
            parts.append(ArrayPart(opened, length))
        elif tokens.sees("(") and (tokens.ahead().text in (")", "[") or tokens.starts_type(1)) and not parts:
            parts.append(FunctionPart(tokens.at, parse_parameters(tokens)))
        else:
            if tokens.sees("(") and not parts:
                _unknown_parameter_type(tokens)
            return parts


def _unknown_parameter_type(tokens: Tokens) -> None:
    """`void k(flaot* x)`: an unknown name where the first parameter's type would stand."""
    token, after = tokens.ahead(), tokens.ahead(2)
    unknown = token.kind == "name" and token.text not in KEYWORDS and not tokens.kind_of(token.text)
    if unknown and (after.kind == "name" or (after.text == "*" and tokens.ahead(3).kind == "name")):
        raise undefined_type(token.text, token.at)


def _inside(tokens: Tokens) -> Node:
    before, tokens.no_greater = tokens.no_greater, False
    node = tokens.constant()
    tokens.no_greater = before
    return node


def parse_parameters(tokens: Tokens) -> list[Parameter]:
    opened = tokens.must("(").at
    result: list[Parameter] = []
    if tokens.sees("void") and tokens.ahead().text == ")":
        tokens.place += 1
    while not tokens.sees(")"):
        result.append(_parameter(tokens, opened))
        if not tokens.sees(")"):
            tokens.must(",") if tokens.sees(",") else _parameter_end(tokens, opened)
            if tokens.sees(")"):
                raise Fault(tokens.at, "expected a type specifier", "another parameter follows a comma")
    tokens.must(")", opened)
    return result


def _parameter_end(tokens: Tokens, opened: At) -> None:
    raise tokens.expected(")", opened, "parameters are separated by commas")


def _parameter(tokens: Tokens, opened: At) -> Parameter:
    at = tokens.at
    if tokens.sees("..."):
        raise unsupported(at, "functions with a variable number of arguments")
    if tokens.token.kind == "end":
        raise tokens.expected(")", opened)
    specifiers = parse_specifiers(tokens)
    if specifiers.base is None:
        raise _missing_type(tokens, specifiers)
    declarator = function_pointer(parse_declarator(tokens, None))
    default = tokens.assignment() if tokens.takes("=") else None
    return Parameter(at, specifiers, declarator, default)


def _missing_type(tokens: Tokens, specifiers: Specifiers) -> Fault:
    token = tokens.token
    if token.kind == "name" and token.text not in KEYWORDS and not tokens.kind_of(token.text):
        after = tokens.ahead()
        if (after.kind == "name" and after.text not in KEYWORDS) or after.text in ("*", "&", "::"):
            return undefined_type(token.text, token.at)
    return Fault(tokens.at, "expected a type specifier", "a parameter is a type and a name, as in 'int n'")


def parse_type_name(tokens: Tokens) -> TypeName:
    at = tokens.at
    specifiers = parse_specifiers(tokens, storage=False)
    if specifiers.base is None:
        raise Fault(tokens.at, "expected a type specifier")
    return TypeName(at, specifiers, parse_declarator(tokens, False))


def bare_type(specifiers: Specifiers) -> TypeName:
    """A type of which only the words have been written, as in float(x)."""
    return TypeName(specifiers.at, specifiers, Declarator(specifiers.at, "", []))


def declarator_returns(tokens: Tokens, node: FunctionDefinition) -> None:
    """`auto f() -> float`: what stands behind the arrow is the type of the function."""
    if node.specifiers.base == "auto" and tokens.takes("->"):
        written = parse_type_name(tokens)
        node.specifiers.base, node.specifiers.const = written.specifiers.base, written.specifiers.const
        node.specifiers.volatile = written.specifiers.volatile
        node.declarator.parts += written.declarator.parts


def function_pointer(declarator: Declarator) -> Declarator:
    """`int f(int)` as a parameter is a pointer to a function."""
    if declarator.parts and isinstance(declarator.parts[0], FunctionPart):
        declarator.parts.insert(0, PointerPart())
    return declarator


_OTHER_TYPES = {
    "int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long long", "uint64_t": "unsigned long long",
    "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
    "string": "const char *", "boolean": "bool", "Float": "float", "Int": "int", "integer": "int",
    "byte": "unsigned char",
    "float32": "float", "float64": "double", "int32": "int", "int64": "long long", "uint": "unsigned int",
    "uint32": "unsigned int", "str": "const char *", "real": "float",
}  # fmt: skip
_WORDS = (*TYPE_WORDS, *VECTORS, "const", "__shared__", "__global__", "__device__", "__constant__")


def refuse_std(tokens: Tokens) -> None:
    """`std::exp`: where no header fills it, the namespace std is empty, for NVRTC as well."""
    token = tokens.ahead(2)
    if not tokens.sees("std") or tokens.ahead().text != "::" or token.kind != "name" or tokens.kind_of("std"):
        return
    name = token.text
    if name in INTRINSICS:
        single = name + "f" in INTRINSICS and name[-1] != "f"
        hint = f"write '{name}f' for a float, '{name}' for a double" if single else f"write '{name}'"
        hint += "; CUDA's functions stand in no namespace"
    elif name in BUILT_IN_TYPES:
        hint = f"write '{name}'"
    elif include := headers.include_for(name):
        hint = f"write '{name}', and {include} in the first line"
    else:
        hint = "the C++ standard library does not exist in a kernel; use pointers, arrays and loops"
    raise Fault(token.at, f"namespace 'std' has no member '{name}'", hint)


def undefined_type(name: str, at: At) -> Fault:
    if name in (*half.TYPES, *half.OTHER_TYPES):
        hint = half.INCLUDE_IT
    elif name in (*bfloat.TYPES, *bfloat.OTHER_TYPES):
        hint = bfloat.INCLUDE_IT
    elif name in _OTHER_TYPES:
        include = headers.include_for(name)
        hint = f"write {_OTHER_TYPES[name]!r}" + (f", or {include} in the first line" if include else "")
    else:
        close = get_close_matches(name, _WORDS, 1, 0.7)
        hint = f"did you mean {close[0]!r}?" if close else "a declaration begins with a type, as in 'int n'"
    return Fault(at, f"identifier '{name}' is undefined", hint)
