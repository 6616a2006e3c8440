"""What an answer needs of the reader's other cells: an own answer to another exercise, a helper, an import.

Each exercise is graded alone, but in the reader's notebook everything stood together. So of the names that an
answer and its hidden tests use, those that neither they nor the set-up cells nor Python have are looked for
in the reader's other cells. What binds such a name, and what that needs in turn, runs before the answer;
nothing else of these cells does. An own answer takes nobody's place: what the set-up gives is not looked for.
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
import symtable
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

LONGEST = 20_000  # characters of a cell: more could be too deep for Python's parser
MOST = 100  # cells that are looked into

OPERATORS = {  # the member that an operator calls
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.USub: "neg",
}

_GIVEN = {*vars(builtins), "get_ipython", "display", "exit", "quit", "In", "Out", "_", "__", "___"}
_TIME = re.compile(r"(?m)^([ \t]*)%time[ \t]+(?=\S)")  # its statement stays
_IDLE = "autoreload|capture|conda|config|load_ext|mamba|matplotlib|memit|pip|prun|reload_ext|time|timeit"
_MAGIC = re.compile(rf"(?m)^([ \t]*)(?:!|%%?[ \t]*(?:{_IDLE})\b).*$")
_OTHER_MAGIC = re.compile(r"(?m)^([ \t]*)%%?[a-zA-Z]\w*.*$")

ADDED = "a cell that you added"


def without_magics(source: str) -> str:
    """`source` without what installs, times, draws or loads: not wanted, or not there, where it is graded."""
    return _MAGIC.sub(lambda found: f"{found[1]}pass" if found[1] else "", _TIME.sub(r"\1", source))


@dataclass(frozen=True)
class Names:
    """What a piece of code needs and gives: names, and members that `add_to` puts into classes."""

    free: frozenset[str] = frozenset()
    bound: frozenset[str] = frozenset()
    used: frozenset[tuple[str, str]] = frozenset()  # attributes, of which name ("" of what is none)
    modules: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()


@functools.lru_cache(maxsize=1024)
def names_of(source: str, longest: int = LONGEST) -> Names:
    """The names in a cell; none where it cannot be read."""
    try:
        source = _python(source, longest)
        return _names(ast.parse(source), symtable.symtable(source, "cell", "exec"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Names()


def _python(source: str, longest: int = LONGEST) -> str:
    """A cell as Python, without magics. Raises ValueError for one of more than `longest` characters."""
    if len(source) > longest:
        raise ValueError("too long to look at")
    return _OTHER_MAGIC.sub(lambda found: f"{found[1]}pass" if found[1] else "", without_magics(source))


def _names(tree: ast.Module, table: symtable.SymbolTable) -> Names:
    bound = {one.get_name() for one in table.get_symbols() if _binds(one)}
    free = {one.get_name() for one in table.get_symbols() if one.is_referenced()}
    for inner in _below(table):
        for one in inner.get_symbols():
            if one.is_global() and one.is_referenced():
                free.add(one.get_name())
            if one.is_declared_global() and one.is_assigned():
                bound.add(one.get_name())
    nodes = list(ast.walk(tree))
    used = {(_base(one), one.attr) for one in nodes if isinstance(one, ast.Attribute)}
    used |= {("", name) for one in nodes for name in _called(one)}
    modules = {name for one in nodes if isinstance(one, ast.Import) for name in _imported(one)}
    members = {member for one in nodes for member in _members(one)}
    return Names(
        frozenset(free - bound), frozenset(bound), frozenset(used), frozenset(modules), frozenset(members)
    )


def _called(node: ast.AST) -> Iterator[str]:
    """`__add__` and `__radd__` of a sum."""
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.UnaryOp) and type(node.op) in OPERATORS:
        name = OPERATORS[type(node.op)]
        yield from (f"__{name}__", f"__r{name}__")


def _binds(one: symtable.Symbol) -> bool:
    return one.is_assigned() or one.is_imported() or one.is_namespace()


def _below(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _below(child)


def _imported(statement: ast.Import) -> Iterator[str]:
    return ((alias.asname or alias.name).partition(".")[0] for alias in statement.names)


def _base(attribute: ast.Attribute) -> str:
    return attribute.value.id if isinstance(attribute.value, ast.Name) else ""


def _members(node: ast.AST) -> Iterator[str]:
    """`tanh` of a function that is decorated with `add_to(Value)`."""
    if isinstance(node, ast.FunctionDef):
        for one in node.decorator_list:
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == "add_to":
                yield node.name


@functools.lru_cache(maxsize=256)
def statements(source: str) -> tuple[tuple[str, Names], ...]:
    """The statements of a cell, each with its names; none where the cell cannot be read."""
    try:
        texts = [ast.unparse(one) for one in ast.parse(_python(source)).body]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple((text, names_of(text)) for text in texts)


@dataclass(frozen=True)
class Loan:
    """Code of the reader's other cells that runs before an answer, and where it is from."""

    code: str = ""
    owners: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # cell ("1.2") -> names

    @property
    def words(self) -> str:
        """What the reader is told of it."""
        told = [
            f"{' and '.join(f'`{name}`' for name in names)} of "
            + (owner if owner == ADDED else f"your answer to {owner}")
            for owner, names in self.owners.items()
        ]
        return f"It ran together with {', and '.join(told)}." if told else ""


def loan(
    needing: Iterable[str], given: Iterable[str], cells: Sequence[tuple[str, str]], after: Iterable[str] = ()
) -> Loan:
    """What the sources `needing` lack beside the sources `given`, from `cells` (owner, source).

    `after` run between the loan and those that need it: hidden tests, which no answer's names are kept from.
    """
    found = _Search([*given], cells)
    wanted = [names_of(source) for source in needing]
    tested = [names_of(source) for source in after]
    own = {name for one in wanted for name in one.bound}
    found.seen |= own
    for one in (*wanted, *tested):
        for name in sorted(one.free - {name for test in tested for name in test.bound}):
            found.name(name)
    for one in wanted:
        found.modules |= one.modules
        for base, name in sorted(one.used):
            if not any(name in other.members for other in wanted):
                found.member(base, name)
    return Loan("\n".join(found.code), {owner: tuple(names) for owner, names in found.owners.items()})


class _Search:
    def __init__(self, given: Sequence[str], cells: Sequence[tuple[str, str]]) -> None:
        known = [names_of(source, sys.maxsize) for source in given]  # ours
        self.given = given
        self.seen = {*_GIVEN, *(name for one in known for name in one.bound)}
        self.modules = {name for one in known for name in one.modules}
        self.cells = cells[:MOST]
        self.code: list[str] = []
        self.owners: dict[str, list[str]] = {}

    def name(self, name: str) -> None:
        """Take up what binds `name`, after what that needs."""
        if name not in self.seen:
            self.seen.add(name)
            self.take(
                name, [(owner, source) for owner, source in self.cells if name in names_of(source).bound]
            )

    def member(self, base: str, name: str) -> None:
        """Take up what adds a member to a class, where the class as given has none of this name."""
        if base in self.modules or f".{name}" in self.seen:
            return
        self.seen.add(f".{name}")
        cells = [(owner, source) for owner, source in self.cells if name in names_of(source).members]
        if cells and not any(re.search(rf"\bdef {re.escape(name)}\b", source) for source in self.given):
            self.take(name, cells)

    def take(self, name: str, cells: Sequence[tuple[str, str]]) -> None:
        for owner, source in cells[:1]:
            self.owners.setdefault(owner, []).append(name)
            for text, names in statements(source):
                if name in names.bound and text not in self.code:
                    self.seen |= names.bound
                    for other in sorted(names.free):
                        self.name(other)
                    for base, attribute in sorted(names.used):
                        self.member(base, attribute)
                    self.code.append(text)
