"""The preprocessor: macros, conditions and what else begins with #.

A token that a macro makes stands at the place where the macro was used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from warplens.errors import At, Fault, unsupported
from warplens.language import bfloat, groups, half, headers
from warplens.language.lexer import Token, number, strange, tokens, unquoted

_START = At(1, 1)
# Stand around what follows #pragma unroll.
UNROLL, UNROLL_END = "#pragma unroll", "#end"
HALF_HEADER = f"#include <{half.HEADER}>"
BFLOAT_HEADER = f"#include <{bfloat.HEADER}>"
MOST_MADE, MOST_WITHIN = 250_000, 500
ASSERT = "#assert"  # the function that assert(condition) becomes, with the condition and its text


@dataclass(frozen=True)
class Macro:
    """`parameters` None: it takes no arguments."""

    name: str
    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]


def _predefined() -> dict[str, str]:
    return {
        "__CUDACC__": "1",
        "__CUDACC_RTC__": "1",
        "__CUDA_ARCH__": "750",
        "__cplusplus": "201703L",
        "__NVCC__": "1",
    }


class Preprocessor:
    """`options` are NVRTC's, of which -D and -U count."""

    def __init__(self, options: Iterable[str]) -> None:
        self.macros: dict[str, Macro] = {}
        self.made = 0  # characters, by macros
        for name, value in _predefined().items():
            self._define_text(name, value)
        for option, value in _defines(options):
            if option == "U":
                self.macros.pop(value, None)
            else:
                name, equals, text = value.partition("=")
                self._define_text(name, text if equals else "1")
        self._define_assert()

    def _define_text(self, name: str, text: str) -> None:
        line = tokens(f"{name} {text}")
        self._define([token.moved(_START) for token in line[:-1]], _START)

    def _define_assert(self) -> None:
        """As in NVRTC: a macro from before the first line on, where only the option -DNDEBUG is known."""
        if "assert" in self.macros:
            return
        if "NDEBUG" in self.macros:
            self._define_text("assert(condition)", "((void)0)")
            return
        self._define_text("assert(condition)", "assert(condition, #condition)")
        macro = self.macros["assert"]
        body = (replace(macro.body[0], text=ASSERT), *macro.body[1:])
        self.macros["assert"] = replace(macro, body=body)

    def source(self, text: str) -> list[Token]:
        """The tokens of a source that are left for the parser."""
        return self.run(tokens(text))

    def expression(self, text: str, at: At) -> list[Token]:
        """The tokens of an expression that is no part of the source, all at one place, with its macros."""
        stream = [token.moved(at) for token in tokens(text)]
        return [*self._expand(stream[:-1]), stream[-1]]

    # ------------------------------------------------------------------------------------------- directives

    def run(self, stream: list[Token]) -> list[Token]:
        result: list[Token] = []
        text: list[Token] = []
        conditions: list[_Condition] = []
        for line in _lines(stream[:-1]):
            active = not conditions or conditions[-1].active
            if active and (wrong := next((token for token in line if token.kind == "strange"), None)):
                raise strange(wrong)
            if not (line[0].kind == "mark" and line[0].text == "#"):
                if active:
                    text += line
                continue
            result += self._expand(text)
            text = []
            result += self._directive(line, conditions, active)
        if conditions:
            raise Fault(conditions[-1].at, "this #if is never closed", "write #endif where it ends")
        return [*result, *self._expand(text), stream[-1]]

    def _directive(self, line: list[Token], conditions: list[_Condition], active: bool) -> list[Token]:
        """Obeys one line that begins with #; gives what it leaves for the parser."""
        if len(line) == 1:
            return []
        name, at, rest = line[1].text, line[0].at, line[2:]
        if name in ("if", "ifdef", "ifndef"):
            holds = active and self._test(name, rest, at)
            conditions.append(_Condition(at, holds, holds or not active))
        elif name in ("elif", "else", "endif"):
            self._next_branch(name, rest, at, conditions)
        elif not active:
            return []
        elif name == "define":
            self._define(rest, at)
        elif name == "undef":
            if not rest or rest[0].kind != "name":
                raise Fault(at, "#undef needs the name of a macro")
            self.macros.pop(rest[0].text, None)
        elif name == "include":
            return self._include(rest, at)
        elif name == "error":
            raise Fault(at, "#error " + _spelled(rest))
        elif name == "pragma":
            return self._pragma(rest, at)
        elif name in ("line", "warning"):
            raise unsupported(at, f"#{name}")
        else:
            raise Fault(at, f"unrecognized preprocessing directive '#{name}'")
        return []

    def _include(self, rest: list[Token], at: At) -> list[Token]:
        """What a header leaves for the parser, all of it at the place where it is included."""
        name = _spelled(rest).strip('<>"')
        if name == half.HEADER:
            return [Token("mark", HALF_HEADER, at)]
        if name == bfloat.HEADER:
            return [Token("mark", header, at) for header in (HALF_HEADER, BFLOAT_HEADER)]
        if name in groups.HEADERS:
            return [Token("mark", f"#include <{one}>", at) for one in sorted({groups.HEADER, name})]
        text = headers.text(name)
        if text is not None:
            return self.run([token.moved(at) for token in tokens(text)])[:-1]
        if name.startswith(headers.OF_CUDA):
            raise unsupported(at, f"#include <{name}>")
        hint = "a kernel needs no headers: threadIdx, the math functions and the atomics are built in"
        raise Fault(at, f"could not open source file {name!r}", hint)

    def _pragma(self, rest: list[Token], at: At) -> list[Token]:
        """#pragma unroll, whose number the parser reads; others mean nothing here."""
        if not rest or rest[0].text != "unroll":
            return []
        number = self._expand(rest[1:])
        return [Token("mark", UNROLL, at), *number, Token("mark", UNROLL_END, rest[-1].at)]

    def _next_branch(self, name: str, rest: list[Token], at: At, conditions: list[_Condition]) -> None:
        if not conditions:
            raise Fault(at, f"#{name} without #if")
        if name == "endif":
            conditions.pop()
            return
        last = conditions[-1]
        if last.closed:
            raise Fault(at, f"#{name} after #else")
        outer = len(conditions) < 2 or conditions[-2].active
        if name == "elif":
            last.active = outer and not last.taken and self._test("if", rest, at)
        else:
            last.active, last.closed = outer and not last.taken, True
        last.taken = last.taken or last.active

    def _test(self, name: str, rest: list[Token], at: At) -> bool:
        if name == "if":
            return bool(_Value(self._expand(self._without_defined(rest)), at).run())
        if not rest or rest[0].kind != "name":
            raise Fault(at, f"#{name} needs the name of a macro")
        return (rest[0].text in self.macros) == (name == "ifdef")

    def _without_defined(self, line: list[Token]) -> list[Token]:
        result, i = [], 0
        while i < len(line):
            if line[i].text != "defined":
                result.append(line[i])
                i += 1
                continue
            bracket = i + 1 < len(line) and line[i + 1].text == "("
            name = i + 1 + bracket
            if name >= len(line) or line[name].kind != "name":
                raise Fault(line[i].at, "'defined' needs the name of a macro")
            if bracket and (name + 1 >= len(line) or line[name + 1].text != ")"):
                raise Fault(line[i].at, "expected a ')'")
            result.append(replace(line[i], kind="number", text=str(int(line[name].text in self.macros))))
            i = name + 1 + bracket
        return result

    def _define(self, rest: list[Token], at: At) -> None:
        if not rest or rest[0].kind != "name":
            raise Fault(at, "#define needs a name")
        name, body = rest[0].text, rest[1:]
        if name == "defined":
            raise Fault(rest[0].at, "'defined' cannot be a macro")
        parameters: tuple[str, ...] | None = None
        if body and body[0].text == "(" and not body[0].space:
            parameters, body = _macro_parameters(body)
        macro = Macro(name, parameters, tuple(body))
        self.macros[name] = macro

    # -------------------------------------------------------------------------------------------- expansion

    def _expand(self, stream: list[Token]) -> list[Token]:
        result: list[Token] = []
        todo = stream[::-1]
        while todo:
            token = todo.pop()
            macro = self.macros.get(token.text) if token.kind == "name" else None
            if token.text in ("__LINE__", "__FILE__") and token.kind == "name":
                line = token.text == "__LINE__"
                text = str(token.at.line) if line else '"kernel"'
                result.append(replace(token, kind="number" if line else "string", text=text))
            elif token.text == "_Pragma" and todo and todo[-1].text == "(":
                todo = todo[:-3]
            elif macro is None or macro.name in token.hidden:
                result.append(token)
            elif macro.parameters is None:
                todo += self._substituted(macro, [], token)[::-1]
            elif todo and todo[-1].text == "(":
                arguments = _arguments(todo, macro, token)
                todo += self._substituted(macro, arguments, token)[::-1]
            else:
                result.append(token)
        return result

    def _substituted(self, macro: Macro, arguments: list[list[Token]], use: Token) -> list[Token]:
        by_name = dict(zip(macro.parameters or (), arguments))
        body, result, i = macro.body, list[Token](), 0
        while i < len(body):
            token = body[i]
            after = body[i + 1].text if i + 1 < len(body) else ""
            if token.text == "#" and macro.parameters is not None and after in by_name:
                text = '"' + _spelled(by_name[after]).replace("\\", "\\\\").replace('"', '\\"') + '"'
                result.append(replace(token, kind="string", text=text))
                i += 2
            elif token.text == "##" and result and i + 1 < len(body):
                right = by_name.get(after, [body[i + 1]])
                if right:
                    result[-1:] = [*_pasted(result[-1], right[0], use.at), *right[1:]]
                i += 2
            elif token.text in by_name and token.kind == "name":
                raw = by_name[token.text]
                result += raw if after == "##" else self._expand(raw)
                i += 1
            else:
                result.append(token)
                i += 1
        hidden = use.hidden | {macro.name}
        self._has_made(result, hidden, use.at)
        unions = {token.hidden: token.hidden | hidden for token in result}
        made = [replace(token, at=use.at, first=False, hidden=unions[token.hidden]) for token in result]
        if made:
            made[0] = replace(made[0], space=use.space, first=use.first)
        return made

    def _has_made(self, made: list[Token], hidden: frozenset[str], at: At) -> None:
        """Macros that use each other can make endlessly much of a few lines."""
        self.made += 1 + sum(1 + len(token.text) for token in made)
        if self.made > MOST_MADE:
            raise unsupported(at, f"macros that make more than {MOST_MADE:,} characters")
        if len(hidden) > MOST_WITHIN:
            raise unsupported(at, f"more than {MOST_WITHIN:,} macros within each other")


@dataclass
class _Condition:
    """An #if that is open. `active`: what follows counts, which asks for those around it too."""

    at: At
    active: bool
    taken: bool
    closed: bool = False


def _lines(stream: list[Token]) -> Iterable[list[Token]]:
    line: list[Token] = []
    for token in stream:
        if token.first and line:
            yield line
            line = []
        line.append(token)
    if line:
        yield line


def _defines(options: Iterable[str]) -> Iterable[tuple[str, str]]:
    waiting = ""
    for option in options:
        if waiting:
            yield waiting, option
            waiting = ""
        elif option in ("-D", "-U", "--define-macro", "--undefine-macro"):
            waiting = "U" if option in ("-U", "--undefine-macro") else "D"
        elif option.startswith(("-D", "-U")):
            yield option[1], option[2:].lstrip()
        elif option.startswith(("--define-macro=", "--undefine-macro=")):
            yield option[2].upper(), option.partition("=")[2]


def _macro_parameters(body: list[Token]) -> tuple[tuple[str, ...], list[Token]]:
    names: list[str] = []
    i = 1
    while i < len(body) and body[i].text != ")":
        if body[i].text == "...":
            raise unsupported(body[i].at, "macros with a variable number of arguments")
        if body[i].kind != "name" or body[i].text in names:
            raise Fault(body[i].at, "expected the name of a parameter of the macro")
        names.append(body[i].text)
        i += 1
        if i < len(body) and body[i].text == ",":
            i += 1
            if i < len(body) and body[i].text == "...":
                continue
            if i >= len(body) or body[i].kind != "name":
                raise Fault(body[min(i, len(body) - 1)].at, "expected the name of a parameter of the macro")
        elif i < len(body) and body[i].text != ")":
            raise Fault(body[i].at, "expected a ',' or a ')'")
    if i >= len(body):
        raise Fault(body[0].at, "expected a ')'", "the list of the macro's parameters is never closed")
    return tuple(names), body[i + 1 :]


def _arguments(todo: list[Token], macro: Macro, use: Token) -> list[list[Token]]:
    """Takes the arguments of a use of `macro` off `todo`, which holds its tokens last first."""
    todo.pop()
    arguments: list[list[Token]] = [[]]
    depth = 0
    while True:
        if not todo:
            raise Fault(use.at, f"expected a ')' after the arguments of the macro {macro.name!r}")
        token = todo.pop()
        if token.text == ")" and depth == 0:
            break
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and depth == 0:
            arguments.append([])
        else:
            arguments[-1].append(token)
    want = len(macro.parameters or ())
    if want == 0 and arguments == [[]]:
        return []
    if len(arguments) != want:
        few = "few" if len(arguments) < want else "many"
        message = f"too {few} arguments for the macro {macro.name!r}: {len(arguments)}, and it takes {want}"
        raise Fault(use.at, message)
    return arguments


def _pasted(left: Token, right: Token, at: At) -> list[Token]:
    made = tokens(left.text + right.text)[:-1]
    if len(made) != 1:
        raise Fault(at, f"## makes no token of {left.text!r} and {right.text!r}")
    return [replace(made[0], at=left.at, space=left.space, first=False)]


def _spelled(line: list[Token]) -> str:
    return "".join((" " if token.space and i else "") + token.text for i, token in enumerate(line))


_LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"),
           ("+", "-"), ("*", "/", "%"))  # fmt: skip


def _in_64_bits(value: int) -> int:
    return (value + (1 << 63) & (1 << 64) - 1) - (1 << 63)


class _Value:
    """The value of an #if: integers of 64 bits, names that are no macros are 0."""

    def __init__(self, line: list[Token], at: At) -> None:
        self.line, self.at, self.place = line, at, 0

    def run(self) -> int:
        value = self._ternary()
        if self.place < len(self.line):
            raise Fault(self.line[self.place].at, "extra text after the condition")
        return value

    @property
    def _text(self) -> str:
        return self.line[self.place].text if self.place < len(self.line) else ""

    def _ternary(self) -> int:
        test = self._binary(0)
        if self._text != "?":
            return test
        self.place += 1
        yes = self._ternary()
        if self._text != ":":
            raise Fault(self.at, "expected a ':'")
        self.place += 1
        no = self._ternary()
        return yes if test else no

    def _binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._text in _LEVELS[level]:
            op = self._text
            self.place += 1
            left = self._apply(op, left, self._binary(level + 1))
        return left

    def _apply(self, op: str, a: int, b: int) -> int:
        if op in ("/", "%") and b == 0:
            raise Fault(self.at, "division by zero")
        quotient = (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0
        values = {
            "||": a or b, "&&": a and b, "|": a | b, "^": a ^ b, "&": a & b, "==": a == b, "!=": a != b,
            "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "<<": a << (b & 63), ">>": a >> (b & 63),
            "+": a + b, "-": a - b, "*": a * b, "/": quotient, "%": a - b * quotient,
        }  # fmt: skip
        value = int(values[op])
        return int(bool(value)) if op in ("||", "&&") else _in_64_bits(value)

    def _unary(self) -> int:
        if self.place >= len(self.line):
            raise Fault(self.at, "expected an expression", "the condition of this #if is not complete")
        token = self.line[self.place]
        self.place += 1
        if token.text in ("!", "-", "+", "~"):
            value = self._unary()
            return {"!": int(not value), "-": -value, "+": value, "~": ~value}[token.text]
        if token.text == "(":
            value = self._ternary()
            if self._text != ")":
                raise Fault(token.at, "expected a ')'")
            self.place += 1
            return value
        if token.kind == "number":
            amount, type_ = number(token)
            if type_.is_float:
                raise Fault(token.at, "a condition of #if is an integer")
            return int(amount)
        if token.kind == "char":
            return ord(unquoted(token)[0])
        if token.kind == "name":
            return int(token.text == "true")
        raise Fault(token.at, "expected an expression")
