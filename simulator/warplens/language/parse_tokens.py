"""The parser's view of the tokens: which comes next, which must come, which names are types."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from warplens.errors import At, Fault, unsupported
from warplens.language import groups
from warplens.language.lexer import Token
from warplens.language.syntax import BlockOf, Node
from warplens.language.types import DIM3, LONG, ULONG, VECTORS, Type

TYPE_WORDS = {"void", "bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double", "auto"}
STORAGE_WORDS = {
    "static", "extern", "inline", "constexpr", "typedef", "__global__", "__device__", "__host__",
    "__shared__", "__constant__", "__forceinline__",
    "__noinline__", "__inline__", "__inline",
    "__launch_bounds__",
    "__restrict__", "__restrict", "__align__", "alignas", "register", "thread_local", "friend", "virtual",
    "explicit", "mutable", "__managed__", "__grid_constant__", "__cluster_dims__",
    "__maxnreg__",
}  # fmt: skip
STATEMENT_WORDS = {
    "if", "else", "for", "while", "do", "switch", "case", "default", "break", "continue", "return", "goto",
}  # fmt: skip
OTHER_WORDS = {
    "true", "false", "nullptr", "sizeof", "alignof", "static_cast", "reinterpret_cast", "const_cast",
    "dynamic_cast", "static_assert", "template", "typename", "class", "struct", "union", "enum", "using",
    "namespace", "const", "volatile", "new", "delete", "throw", "try", "catch", "asm", "__asm__", "__asm",
    "operator", "decltype", "typeid", "this", "public", "private", "protected", "noexcept", "export", "and",
    "or",
    "not", "xor", "bitand", "bitor", "compl", "and_eq", "or_eq", "xor_eq", "not_eq", "wchar_t", "char16_t",
    "char32_t", "__volatile__", "__attribute__", "__declspec", "__alignof__",
}  # fmt: skip
KEYWORDS = TYPE_WORDS | STORAGE_WORDS | STATEMENT_WORDS | OTHER_WORDS
TYPE_START = TYPE_WORDS | STORAGE_WORDS | {
    "const", "volatile", "struct", "typename", "enum", "union", "class", "decltype", "wchar_t",
    "char16_t", "char32_t",
}  # fmt: skip

BUILT_IN_TYPES: dict[str, Type] = {**VECTORS, "dim3": DIM3, "size_t": ULONG, "ptrdiff_t": LONG}

REFUSED_WORDS = {
    "goto": "goto", "asm": "inline PTX (asm)", "__asm__": "inline PTX (asm)", "__asm": "inline PTX (asm)",
    "new": "new", "delete": "delete", "throw": "exceptions", "try": "exceptions",
    "decltype": "decltype", "typeid": "typeid", "virtual": "virtual functions",
    "friend": "friends of a class",
    "wchar_t": "wchar_t", "char16_t": "char16_t", "char32_t": "char32_t",
    "__attribute__": "__attribute__", "dynamic_cast": "dynamic_cast", "__managed__": "__managed__",
    "__grid_constant__": "__grid_constant__", "__cluster_dims__": "__cluster_dims__",
    "__maxnreg__": "__maxnreg__",
    "thread_local": "thread_local",
}  # fmt: skip
# Types that NVRTC knows without a header.
REFUSED_TYPES = {
    "cudaTextureObject_t": "textures", "cudaSurfaceObject_t": "surfaces", "clock_t": "clocks",
    "cudaSurfaceBoundaryMode": "surfaces", "cudaTextureReadMode": "textures",
    "va_list": "functions with a variable number of arguments",
    **dict.fromkeys(
        ("cudaExtent", "cudaPos", "cudaPitchedPtr", "cudaStream_t", "cudaEvent_t", "cudaError_t",
         "cudaDeviceProp", "cudaMemcpyKind", "cudaChannelFormatDesc", "cudaArray_t"),
        "what belongs to the host",
    ),
}  # fmt: skip
OF_TEXTURES = ("tex1D", "tex2D", "tex3D", "texCubemap", "surf1D", "surf2D", "surf3D", "surfCubemap")
OPENING = {")": "(", "]": "[", "}": "{"}
TOKEN_HINTS = {
    ";": "a statement ends with ;",
    ")": "a ( before it is not closed",
    "]": "a [ before it is not closed",
}


class Grammar(NamedTuple):
    """The parsers that those below them need: types have expressions in them, lambdas hold statements."""

    assignment: Callable[[Tokens], Node]
    constant: Callable[[Tokens], Node]
    body: Callable[[Tokens], BlockOf]


class Tokens:
    """The tokens and a scope of names: "type", "template" or "other"."""

    def __init__(self, stream: list[Token], grammar: Grammar) -> None:
        self.stream, self.place, self.grammar = stream, 0, grammar
        self.scopes: list[dict[str, str]] = [dict.fromkeys((*BUILT_IN_TYPES, *REFUSED_TYPES), "type")]
        self.scopes[0] |= {groups.PREFIX + name: kind for name, kind in groups.NAMES.items()}
        self.used: set[str] = set()  # names that stand for those of the namespace of groups
        self.no_greater = False  # inside <...>, where > is a bracket
        self.members: dict[str, dict[str, str]] = {}  # what stands in namespaces and classes, by their names
        self.opened: list[dict[str, str]] = []  # of namespaces: using namespace
        self.templates: set[str] = set()  # the names of methods that are templates
        self.classes: list[str] = []  # those around this place
        self.generic = False  # within a template of a class

    # ----------------------------------------------------------------------------------------------- tokens

    @property
    def token(self) -> Token:
        return self.stream[self.place]

    @property
    def at(self) -> At:
        return self.token.at

    def ahead(self, count: int = 1) -> Token:
        return self.stream[min(self.place + count, len(self.stream) - 1)]

    def attributes(self) -> None:
        """Skips [[...]]: what a kernel computes does not depend on them."""
        while self.sees("[") and self.ahead().text == "[" and self.ahead().kind == "mark":
            opened, depth = self.next().at, 1
            while depth:
                if self.token.kind == "end":
                    raise self.expected("]", opened)
                depth += self.sees("[") - self.sees("]")
                self.place += 1

    def next(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.place += 1
        return token

    def sees(self, *texts: str) -> bool:
        return self.token.text in texts and self.token.kind in ("mark", "name")

    def takes(self, *texts: str) -> bool:
        if self.sees(*texts):
            self.place += 1
            return True
        return False

    def after_last(self) -> At:
        """The place behind the last token that was taken."""
        last = self.stream[max(self.place - 1, 0)]
        return At(last.at.line, last.at.column + len(last.text))

    def must(self, text: str, opened: At | None = None, hint: str = "") -> Token:
        if self.sees(text):
            return self.next()
        raise self.expected(text, opened, hint)

    def expected(self, text: str, opened: At | None = None, hint: str = "") -> Fault:
        """What is missing is shown behind the last token where the next one stands on another line."""
        last = self.stream[max(self.place - 1, 0)]
        at = self.after_last() if self.place and last.at.line != self.at.line else self.at
        if text == "}" and opened is not None:
            hint = hint or f"the '{{' of line {opened.line} is never closed"
        elif opened is not None:
            hint = hint or f"it closes the '{OPENING[text]}' of line {opened.line}, column {opened.column}"
        return Fault(at, f"expected a '{text}'", hint or TOKEN_HINTS.get(text, ""))

    def close_angle(self) -> None:
        """Takes one >, also the first half of >>."""
        if self.token.kind == "mark" and self.token.text in (">>", ">=", ">>="):
            rest = Token("mark", self.token.text[1:], At(self.at.line, self.at.column + 1))
            self.stream[self.place] = rest
            return
        self.must(">")

    def identifier(self, what: str = "an identifier") -> Token:
        if self.token.kind != "name" or self.token.text in KEYWORDS:
            if self.token.text == "operator":
                raise unsupported(self.at, "operator overloading", "write a function with a name")
            hint = f"{self.token.text!r} is a word of the language" if self.token.text in KEYWORDS else ""
            raise Fault(self.at, f"expected {what}", hint)
        return self.next()

    def refuse_word(self) -> None:
        if self.token.kind == "name" and self.token.text in REFUSED_WORDS:
            raise unsupported(self.at, REFUSED_WORDS[self.token.text])

    # ---------------------------------------------------------------------------------------------- grammar

    def assignment(self) -> Node:
        """An expression without commas."""
        return self.grammar.assignment(self)

    def constant(self) -> Node:
        """What C calls a constant expression."""
        return self.grammar.constant(self)

    def body(self) -> BlockOf:
        """Statements between braces, in the scope around."""
        return self.grammar.body(self)

    # ------------------------------------------------------------------------------------------------ names

    def declare(self, name: str, kind: str = "other") -> None:
        if name:
            self.scopes[-1][name] = kind
            self.used.discard(name)

    def use_groups(self) -> None:
        """using namespace cooperative_groups: its names, but for those that the source has itself; or the one
        that stands here."""
        one = (
            self.next().text.removeprefix(groups.PREFIX) if self.token.text.startswith(groups.PREFIX) else ""
        )
        own = {name for name in groups.NAMES if (not one and not self.kind_of(name)) or name == one}
        self.scopes[-1] |= {name: groups.NAMES[name] for name in own}
        self.used |= own

    def full(self, name: str) -> str:
        """A name with its namespace."""
        return groups.PREFIX + name if name in self.used and self.kind_of(name) else name

    def kind_of(self, name: str) -> str:
        """ "type", "class template", "template", "namespace", "other", or "" where the name is unknown."""
        for scope in (*reversed(self.scopes), *self.opened):
            if name in scope:
                return scope[name]
        return ""

    def path(self, ahead: int = 0) -> tuple[str, int]:
        """The kind of the name so many tokens ahead (of `a::b<c>::d` that of d), and its length in tokens."""
        start = ahead
        ahead += self.ahead(ahead).text == "::"
        kind = self.kind_of(self.ahead(ahead).text) if self.ahead(ahead).kind == "name" else ""
        while True:
            name = self.ahead(ahead).text
            ahead += 1
            if kind in ("class template", "template") and self.ahead(ahead).text == "<":
                ahead = self.behind_angle(ahead)
            if self.ahead(ahead).text != "::":
                return kind, ahead - start
            ahead += 1
            kind = self.members.get(name, {}).get(self.ahead(ahead).text, "other")

    def behind_angle(self, ahead: int) -> int:
        """The number of the token behind the > that closes this <."""
        angles = brackets = 0
        while self.ahead(ahead).kind != "end":
            text = self.ahead(ahead).text
            brackets += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
            if not brackets:
                angles += (text == "<") - (text == ">") - 2 * (text == ">>")
            ahead += 1
            if angles <= 0 or text == ";":
                break
        return ahead

    def starts_type(self, ahead: int = 0) -> bool:
        """Whether a type begins so many tokens ahead; `Color::RED` is a value."""
        token = self.ahead(ahead)
        if token.kind == "name" and token.text in TYPE_START:
            return True
        return (token.kind == "name" or token.text == "::") and self.path(ahead)[0] in (
            "type",
            "class template",
        )
