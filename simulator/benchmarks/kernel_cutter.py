"""Cuts the kernels out of .cu files: each with the types, functions, macros and constants that it needs.

Host code is left aside. A file is read as a row of items (directives, and declarations at file scope); what
it includes from its own repository stands where it is included. A kernel's source is the items whose names it
mentions, and those that these mention, in their order, under the headers that its words belong to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*(?:\\\n[^\n]*)*|/\*.*?\*/)
      | (?P<directive>^[ \t]*\#(?:[^\n\\/]|\\\r?\n|\\|/\*.*?\*/|/(?!/))*)
      | (?P<raw>R"(?P<mark>\w*)\(.*?\)(?P=mark)")
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<mark_>::|->|<<<|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_WITH_BRACKETS = {
    "__launch_bounds__", "__attribute__", "__align__", "alignas", "decltype", "__declspec", "noexcept",
}  # fmt: skip
_OPENING, _CLOSING = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
# What a word belongs to: the headers of CUDA, and those of C that nvcc always brings and NVRTC never does.
HEADERS = {
    "cuda_fp16.h": (
        r"half2?|__half\w*|__\w*2half\w*|__h(?!ost__)\w+|h2?(?:exp|log|r?sqrt|sin|cos|rcp)(?:2|10)?|make_half2"
    ),
    "cuda_bf16.h": r"\w*nv_bfloat16\w*|\w*bfloat162\w*|__\w*2bfloat16\w*|__bfloat16\w*",
    "cuda_fp8.h": r"__nv_fp8\w*",
    "cooperative_groups.h": r"cooperative_groups|cg",
    "mma.h": r"nvcuda|wmma",
    "cuComplex.h": r"cu(?:Float|Double)?Complex|cuC\w+f?|make_cu\w+Complex",
    "math_constants.h": r"CUDART_\w+",
    "curand_kernel.h": r"curand\w*",
    "cuda_pipeline.h": r"__pipeline_\w+",
    "stdint.h": r"u?int(?:_fast|_least)?(?:8|16|32|64)_t|u?intptr_t|U?INT(?:8|16|32|64)_(?:MAX|MIN)",
    "float.h": r"(?:FLT|DBL)_\w+",
    "limits.h": r"U?(?:CHAR|SHRT|INT|LONG|LLONG)_(?:MAX|MIN)|S?CHAR_(?:MAX|MIN)|CHAR_BIT",
    "math.h": r"INFINITY|NAN|HUGE_VALF?|M_\w+",
    "sys/types.h": r"uint|ushort|ulong|u_int\w*",
}
_HEADERS = {name: re.compile(words) for name, words in HEADERS.items()}
_EXTRA = {  # what a fragment of the text asks for beside these
    "cooperative_groups/reduce.h": r"\b(?:cg|cooperative_groups)::reduce|\breduce\s*\(\s*(?:warp|tile|cta)",
    "cooperative_groups/scan.h": r"clusive_scan\s*\(",
    "cooperative_groups/memcpy_async.h": r"\bcg::memcpy_async|cooperative_groups::memcpy_async",
    "cuda/pipeline": r"cuda::(?:make_)?pipeline|cuda::aligned_size",
    "cuda/barrier": r"cuda::barrier",
    "cuda/atomic": r"cuda::atomic",
    "cub/cub.cuh": r"\bcub::",
}


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


def scan(text: str) -> list[Token]:
    return [Token(m.lastgroup or "", m.group(), m.start(), m.end()) for m in _TOKEN.finditer(text)]


def bare(text: str) -> str:
    """Without comments, and with one space where there was any: what makes two kernels the same."""
    parts = (" " if token.kind == "space" else token.text for token in scan(text))
    return re.sub(r"\s+", " ", "".join(parts)).strip()


def words(text: str) -> set[str]:
    found = {token.text for token in scan(text) if token.kind == "name"}
    for token in scan(text):
        if token.kind == "directive":
            found |= set(re.findall(r"[A-Za-z_]\w*", token.text))
    return found


@dataclass(eq=False)
class Item:
    """A declaration at file scope, or a macro. `kind`: macro, kernel, function, host, type, value, using."""

    kind: str
    names: tuple[str, ...]
    text: str
    path: str
    around: tuple[str, ...] = ()  # the namespaces and extern "C" that it stands in
    template: tuple[str, ...] = ()  # its parameters, as written
    signature: str = ""
    words: set[str] = field(default_factory=set)

    @property
    def source(self) -> str:
        if not self.around:
            return self.text
        opened = " ".join(f"{words} {{" for words in self.around)
        return f"{opened}\n{self.text}\n{'}' * len(self.around)}"

    @property
    def external_c(self) -> bool:
        return 'extern "C"' in " ".join((*self.around, bare(self.text).partition("{")[0]))

    @property
    def qualified(self) -> str:
        spaces = [opened.split()[-1] for opened in self.around if opened.startswith(("namespace", "inline"))]
        return "::".join([*(s for s in spaces if s != "namespace"), self.names[0]])


# ---------------------------------------------------------------------------------------------------- reading


class Reader:
    """The items of a file, and of those that it includes from the same repository."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.by_name: dict[str, list[Path]] = {}
        for path in sorted(root.rglob("*")):
            if path.suffix in (".cu", ".cuh", ".h", ".hpp", ".inl"):
                self.by_name.setdefault(path.name, []).append(path)

    def items(self, path: Path) -> list[Item]:
        self.seen: set[Path] = set()
        self.macros: dict[str, str] = {"__CUDACC__": "1", "__CUDA_ARCH__": "800", "__cplusplus": "201703"}
        return list(self._file(path))

    def _file(self, path: Path) -> Iterator[Item]:
        if path in self.seen or path.stat().st_size > 1_000_000:
            return
        self.seen.add(path)
        where = path.relative_to(self.root).as_posix()
        conditions: list[list[bool]] = []  # active, taken
        around: list[str] = []
        text = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
        for piece, tokens in _pieces(text):
            if piece.lstrip().startswith("#"):
                yield from self._directive(bare(piece), piece, conditions, path, where)
            elif all(active for active, _ in conditions):
                if piece == "}":
                    around = around[:-1]
                elif piece.endswith("{"):
                    around.append(bare(piece[:-1]))
                elif item := self._item(piece, tokens):
                    item.path, item.around = where, tuple(around)
                    yield item

    def _directive(
        self, line: str, text: str, conditions: list[list[bool]], path: Path, where: str
    ) -> Iterator[Item]:
        match = re.match(r"#\s*(\w+)\s*(.*)", line, re.DOTALL)
        if match is None:
            return
        name, rest = match.groups()
        active = all(a for a, _ in conditions)
        if name in ("if", "ifdef", "ifndef"):
            known = rest.split()[0] in self.macros if rest else False
            holds = self._holds(rest) if name == "if" else known == (name == "ifdef")
            conditions.append([holds, holds])
        elif name in ("elif", "else") and conditions:
            here = conditions[-1]
            here[0] = not here[1] and (name == "else" or self._holds(rest))
            here[1] = here[1] or here[0]
        elif name == "endif" and conditions:
            conditions.pop()
        elif not active:
            return
        elif name == "include":
            if found := self._included(rest, path):
                yield from self._file(found)
        elif name == "define" and (defined := re.match(r"\w+", rest)):
            self.macros[defined[0]] = rest[defined.end() :].strip()
            yield Item("macro", (defined[0],), text.strip(), where, words=words(rest))
        elif name == "undef":
            self.macros.pop(rest, None)

    def _holds(self, condition: str) -> bool:
        text = re.sub(r"defined\s*\(?\s*(\w+)\s*\)?", lambda m: str(int(m[1] in self.macros)), condition)
        for _ in range(4):
            text = re.sub(r"\b[A-Za-z_]\w*", lambda m: self.macros.get(m[0], "0") or "0", text)
        text = re.sub(r"(\d)[uUlL]+", r"\1", text)
        text = text.replace("&&", " and ").replace("||", " or ").replace("!=", "<>")
        text = text.replace("!", " not ").replace("<>", "!=")
        if re.search(r"[^\d\s()<>=!+\-*/%andort]|[\d)]\s*\(", text):
            return False
        try:
            return bool(eval(text, {"__builtins__": {}}))
        except Exception:
            return False

    def _included(self, name: str, path: Path) -> Path | None:
        name = name.strip().strip('"<>')
        if "." not in name or name.startswith("std"):
            return None
        here = (path.parent / name).resolve()
        if here.is_file() and here.is_relative_to(self.root):
            return here if here.suffix in (".cu", ".cuh", ".h", ".hpp", ".inl") else None
        found = self.by_name.get(name.rsplit("/", 1)[-1], [])
        return min(found, key=lambda other: -_shared_parts(other, path)) if found else None

    def _item(self, text: str, tokens: list[Token]) -> Item | None:
        """What a declaration is, and which names it gives."""
        head = [token for token in tokens if token.kind not in ("space", "directive")]
        template, head = _without_template(head)
        if not head:
            return None
        told = {token.text for token in head[: _body(head)]}
        for word in list(told):
            told |= set(re.findall(r"\w+", self.macros.get(word, ""))) if word in self.macros else set()
        kind, names, signature = _kind(head, told)
        if not names:
            return None
        return Item(kind, names, text.strip(), "", (), template, signature, words(text))


def _shared_parts(a: Path, b: Path) -> int:
    return sum(1 for x, y in zip(a.parts, b.parts) if x == y)


def _pieces(text: str) -> Iterator[tuple[str, list[Token]]]:
    """Directives and declarations at file scope; 'namespace x {' and its '}' are pieces of their own."""
    piece: list[Token] = []
    depth, open_spaces = 0, 0
    at_if: list[int] = []

    def made() -> tuple[str, list[Token]]:
        return "".join(token.text for token in piece), list(piece)

    for token in scan(text):
        if token.kind == "directive":
            if all(t.kind == "space" for t in piece):
                piece.clear()
                yield token.text, [token]
                continue
            word = token.text.lstrip(" \t#").split()[0] if token.text.strip(" \t#") else ""
            if word.startswith("if"):
                at_if.append(depth)
            elif word in ("else", "elif") and at_if:
                depth = at_if[-1]
            elif word == "endif" and at_if:
                at_if.pop()
            piece.append(Token("directive", "\n" + token.text + "\n", token.start, token.end))
            continue
        piece.append(token)
        if token.kind != "mark_":
            continue
        if token.text in _OPENING:
            if token.text == "{" and depth == 0 and _opens_space(piece):
                yield made()
                piece.clear()
                open_spaces += 1
                continue
            depth += 1
        elif token.text in _CLOSING:
            if token.text == "}" and depth == 0 and open_spaces:
                piece.clear()
                open_spaces -= 1
                yield "}", []
                continue
            depth = max(0, depth - 1)
            if token.text == "}" and depth == 0 and _is_function(piece):
                yield made()
                piece.clear()
                at_if.clear()
        elif token.text == ";" and depth == 0:
            yield made()
            piece.clear()
            at_if.clear()


def _solid(piece: Sequence[Token]) -> list[Token]:
    return [token for token in piece if token.kind not in ("space", "directive")]


def _opens_space(piece: Sequence[Token]) -> bool:
    line = " ".join(token.text for token in _solid(piece))
    return re.fullmatch(r'(?:inline )?namespace(?: [\w: ]+)? \{|extern "C(?:\+\+)?" \{', line) is not None


def _is_function(piece: Sequence[Token]) -> bool:
    """Whether the '}' at its end closes the body of a function, and not a type or a value."""
    _, head = _without_template(_solid(piece))
    body = next((i for i, token in enumerate(head) if token.text == "{"), len(head))
    before = head[:body]
    for i, token in enumerate(before):
        if token.text == "(" and (i == 0 or before[i - 1].text not in _WITH_BRACKETS):
            return not any(t.text == "=" for t in _outside(before))
    return False


def _outside(tokens: Sequence[Token]) -> list[Token]:
    """Those outside of all brackets."""
    found, depth = [], 0
    for token in tokens:
        depth -= token.text in _CLOSING and token.kind == "mark_"
        if depth <= 0:
            found.append(token)
        depth += token.text in _OPENING and token.kind == "mark_"
    return found


def _without_template(head: list[Token]) -> tuple[tuple[str, ...], list[Token]]:
    """The parameters of its template<...>, and the rest."""
    if not head or head[0].text != "template" or len(head) < 2 or head[1].text != "<":
        return (), head
    depth, i, parameters, now = 0, 1, list[str](), list[str]()
    while i < len(head):
        text = head[i].text
        depth += (text == "<") - (text == ">") + (text == "(") - (text == ")")
        if (text == "," and depth == 1) or (text == ">" and depth == 0):
            parameters += [" ".join(now)] if now else []
            now = []
        elif not (text == "<" and depth == 1):
            now.append(text)
        if depth == 0:
            break
        i += 1
    _, rest = _without_template(head[i + 1 :])
    return tuple(parameters) or ("",), rest


def _body(head: Sequence[Token]) -> int:
    return next((i for i, token in enumerate(head) if token.text in ("{", ";", "=")), len(head))


def _kind(head: list[Token], told: set[str]) -> tuple[str, tuple[str, ...], str]:
    first = head[0].text
    line = " ".join(token.text for token in head)
    if first == "using" or first == "namespace":
        if match := re.match(r"using namespace ([\w: ]+);", line):
            return "using", (match[1].split()[0],), ""
        if match := re.match(r"(?:using|namespace) (\w+) =", line):
            return "type", (match[1],), ""
        if match := re.match(r"using (?:\w+ :: )+(\w+)", line):
            return "type", (match[1],), ""
        return "host", (), ""
    body = next((i for i, token in enumerate(head) if token.text == "{"), len(head))
    called = _called(head[:body])
    types = {"struct", "class", "union", "enum"} & {token.text for token in _outside(head[:body])}
    if first == "typedef":
        pointer = re.search(r"\( \* (\w+) \)", line)
        names = [token.text for token in _outside(head) if token.kind == "name"]
        given = _type_names(head, body) if body < len(head) else ()
        return "type", (*given, *((pointer[1],) if pointer else names[-1:])), ""
    if types and called is None and (body < len(head) or len(head) < 6):
        return "type", _type_names(head, body), ""
    if called is not None:
        _, names = called
        kind = "function" if told & {"__global__", "__device__", "constexpr"} else "host"
        if "__global__" in told and body < len(head):
            kind = "kernel"
        return kind, names, line[: len(" ".join(token.text for token in head[:body]))]
    known = told & {"const", "constexpr", "__constant__", "__device__", "__shared__", "__managed__"}
    return ("value" if known else "host"), _value_names(head), ""


def _called(head: Sequence[Token]) -> tuple[int, tuple[str, ...]] | None:
    """Where a function's parameters begin, and its name; None where this declares no function."""
    depth = i = 0
    while i < len(head):
        text = head[i].text
        if text in _WITH_BRACKETS and i + 1 < len(head) and head[i + 1].text == "(":
            i = _after_brackets(head, i + 1)
            continue
        if text == "=" and depth == 0 and (i == 0 or head[i - 1].text != "operator"):
            return None
        if text == "operator":
            while i + 1 < len(head) and head[i + 1].text != "(":
                i += 1
            return i, ("operator",)
        if text == "(" and depth == 0 and i:
            back = i - 1
            if head[back].text == ">":  # a specialisation: f<float>(
                level = 0
                while back >= 0:
                    level += (head[back].text == ">") - (head[back].text == "<")
                    if level == 0:
                        break
                    back -= 1
                back -= 1
            if back >= 0 and head[back].kind == "name":
                owner = (head[back - 2].text,) if back > 1 and head[back - 1].text == "::" else ()
                return i, (head[back].text, *owner)
            return None
        depth += (text in _OPENING) - (text in _CLOSING)
        i += 1
    return None


def _after_brackets(head: Sequence[Token], start: int) -> int:
    depth = 0
    for i in range(start, len(head)):
        depth += (head[i].text == "(") - (head[i].text == ")")
        if depth == 0:
            return i + 1
    return len(head)


_TYPE_WORDS = {"struct", "class", "union", "enum", "typedef", "final", "static", "const"}


def _type_names(head: Sequence[Token], body: int) -> tuple[str, ...]:
    names, i = list[str](), 0
    while i < body:
        if head[i].text in _WITH_BRACKETS:
            i = _after_brackets(head, i + 1)
            continue
        if head[i].text in (":", "<"):
            break
        if head[i].kind == "name" and not head[i].text.startswith("__"):
            names.append(head[i].text)
        i += 1
    names = [name for name in names if name not in _TYPE_WORDS]
    end = max((i for i, token in enumerate(head) if token.text == "}"), default=len(head))
    names += [token.text for token in head[end:] if token.kind == "name"]
    if any(token.text == "enum" for token in head[:body]):
        inside = head[body + 1 : end + 1]
        ends = (",", "=", "}")
        names += [t.text for t, after in pairwise(inside) if t.kind == "name" and after.text in ends]
    return tuple(names)


def _value_names(head: Sequence[Token]) -> tuple[str, ...]:
    plain = _outside(head)
    return tuple(
        token.text
        for token, after in pairwise(plain)
        if token.kind == "name" and after.text in ("=", "[", ",", ";", "{", "(")
    )


# ---------------------------------------------------------------------------------------------------- cutting


def needed(kernel: Item, items: Sequence[Item], more: Iterable[str] = ()) -> list[Item]:
    """The kernel and what it needs, in the order of the file."""
    by_name: dict[str, list[Item]] = {}
    for item in items:
        if item.kind not in ("host", "using", "kernel"):
            for name in item.names:
                by_name.setdefault(name, []).append(item)
    chosen, todo, known = {id(kernel)}, [kernel], set(kernel.words) | set(more)
    extra = list(more)
    types = {name for item in items if item.kind == "type" for name in item.names}
    while todo or extra:
        wanted = todo.pop().words if todo else set()
        wanted, extra = wanted | set(extra), []
        known |= wanted
        for name in wanted:
            for item in by_name.get(name, []):
                if id(item) not in chosen and (name != "operator"):
                    chosen.add(id(item))
                    todo.append(item)
        if not todo:
            for item in by_name.get("operator", []):
                signature = words(item.signature)
                asked = {w for w in signature if w in types or re.fullmatch(r"u?\w+[1-4]", w)}
                if id(item) not in chosen and asked <= known and (asked or item.template):
                    chosen.add(id(item))
                    todo.append(item)
    around = [opened for item in items if id(item) in chosen for opened in item.around]
    spaces = {name for opened in around for name in opened.split()}
    for item in items:
        if item.kind == "using" and item.names[0] in ("cooperative_groups", "nvcuda", *spaces):
            chosen.add(id(item))
    return [item for item in items if id(item) in chosen]


_GROUP = re.compile(
    r"\b(?:this_thread_block|this_grid|tiled_partition|thread_block\w*|coalesced_threads|thread_group|grid_group)\b"
)


def source(chosen: Sequence[Item]) -> str:
    """The text that a compiler gets."""
    text = "\n".join(item.source for item in chosen if item.kind != "using")
    usings = []
    for item in chosen:
        if item.kind == "using" and item.text not in usings:
            if item.names[0] == "cooperative_groups" and not _GROUP.search(text):
                continue
            if item.names[0] == "nvcuda" and "wmma" not in text and "fragment" not in text:
                continue
            usings.append(item.text)
    told = words(text) | words(" ".join(usings))
    headers = [name for name, pattern in _HEADERS.items() if any(pattern.fullmatch(word) for word in told)]
    headers += [name for name, pattern in _EXTRA.items() if re.search(pattern, text)]
    if "cooperative_groups/reduce.h" in headers and "cooperative_groups.h" not in headers:
        headers.remove("cooperative_groups/reduce.h")
    own = [item for item in chosen if item.kind == "using" and item.text in usings]
    late = [u.text for u in own if u.names[0] not in ("cooperative_groups", "nvcuda")]
    early = [u for u in usings if u not in late]
    body = [item.source for item in chosen if item.kind != "using"]
    if late:
        body.insert(len(body) - 1, "\n".join(dict.fromkeys(late)))
    return "\n".join([*(f"#include <{name}>" for name in headers), *early, *body]) + "\n"


_BUILTIN = {
    "float", "double", "int", "unsigned", "long", "char", "short", "bool", "true", "false", "half", "half2",
    "__half", "nv_bfloat16", "__nv_bfloat16", "float4", "float2", "float3", "int4", "uint",
}  # fmt: skip
_GUESSES = {
    "type": ("float", "int", "double", "float", "half"),
    "int": ("256", "16", "4", "32", "1"),
    "bool": ("true", "false", "true", "true", "true"),
}


def instances(kernel: Item, items: Sequence[Item], text: str) -> Iterator[str]:
    """What may stand between < and > of a template: what the host code says, then guesses."""
    if not kernel.template:
        yield ""
        return
    kinds = ("type", "value", "macro", "function")
    given = {name for item in items if item.kind in kinds for name in item.names}
    seen = set()
    for match in re.finditer(rf"\b{re.escape(kernel.names[0])}\s*<([^;{{}}]*?)>\s*(?:<<<|\)|,|;|\()", text):
        arguments = re.sub(r"\s+", " ", match[1]).strip()
        if arguments.startswith("<") or arguments in seen or arguments.count("<") != arguments.count(">"):
            continue
        seen.add(arguments)
        if all(word in _BUILTIN or word in given for word in re.findall(r"\b[A-Za-z_]\w*", arguments)):
            yield arguments
    for attempt in range(5):
        guess = []
        for parameter in kernel.template:
            if "..." in parameter or "=" in parameter:
                break
            first = parameter.split()[0] if parameter else ""
            what = "type" if first in ("typename", "class") else "bool" if first == "bool" else "int"
            guess.append(_GUESSES[what][attempt])
        yield ", ".join(guess)
