"""One file of the library: its definitions are replaced by name where they stand, and new ones join them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from coursekit.make.definitions import (
    FUNCTION,
    Definition,
    SourceError,
    Statement,
    as_class_body,
    as_members,
    attached,
    bound_names,
    class_parts,
    does_nothing,
    first_line,
    is_docstring,
    is_import,
    is_typing_block,
    names_read_now,
    repeats_on_purpose,
    statements,
)

_START = "from __future__ import annotations\n"
_SIMPLE = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Raise, ast.Pass, ast.Break, ast.Continue,
    ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal,
)  # fmt: skip


@dataclass(eq=False)
class Item:
    """A statement; a class is its header, its members and the comments below them."""

    statement: Statement
    names: frozenset[str]
    members: list[Item] | None = None
    below: Sequence[str] = ()
    source: Definition | None = None  # the cell's statement that stands here

    @property
    def node(self) -> ast.stmt:
        return self.statement.node

    @property
    def name(self) -> str:
        return min(self.names, default="")

    def rendered(self, column: int = 0) -> Iterator[str]:
        yield from self.statement.indented(column)
        if self.members is not None:
            inside = column + 4
            for member in [one for one in self.members if not does_nothing(one.node)] or self.members:
                yield from member.rendered(inside)
            yield from (" " * inside + line for line in self.below)


@dataclass(eq=False)
class Module:
    """The file `minilib/a/b.py` is the module `a.b`; without `text` it is new.

    `locked` names may not be replaced: a learner's answer takes the place of an answer, not of the lesson.
    """

    name: str
    text: str = _START
    locked: Collection[str] = ()
    placed: dict[str, list[Item]] = field(default_factory=dict)  # by qualified name

    @cached_property
    def read(self) -> tuple[list[Statement], list[str]]:
        return statements(self.text)  # most modules of a book are never asked

    @cached_property
    def items(self) -> list[Item]:
        return [_item(one) for one in self.read[0]]

    @property
    def file(self) -> str:
        return f"minilib/{self.name.replace('.', '/')}.py"

    def defines(self, name: str) -> bool:
        """Whether `Value` or `Value.tanh` stands here; not what is only imported."""
        owner, _, member = name.rpartition(".")
        if not owner:
            return any(name in item.names for item in self.items if not is_import(item.node))
        found = self._class(owner)
        return found is not None and any(member in item.names for item in found.members or ())

    def members(self) -> Iterator[tuple[str, Item]]:
        """Every name that the module defines, as in `Value.tanh`."""
        for item in self.items:
            for name in sorted(item.names):
                yield name, item
            for member in item.members or ():
                for name in sorted(member.names):
                    yield f"{item.name}.{name}", member

    # Placing

    def place(self, definition: Definition, after: str | None = None) -> None:
        """Put a definition where its name stands, or below the name `after`, or last. Raises SourceError."""
        node = definition.node
        if definition.owner is not None:
            self._place_member(definition, after)
        elif isinstance(node, ast.ClassDef):
            self._place_class(definition, after)
        elif not definition.names:
            self._place_nameless(definition, after)
        else:
            self._put(definition, definition.statement, self.items, after)

    def _place_class(self, definition: Definition, after: str | None) -> None:
        known = self._class(definition.name)
        if known is None or known.source is not None:
            self._put(definition, definition.statement, self.items, after)
            known = self._class(definition.name)
            assert known is not None
            for member, item in zip(as_members(definition), known.members or ()):
                item.source = member
                if member.names:
                    self.placed.setdefault(member.name, []).append(item)
            return
        self._refuse_locked(definition)
        kept = known.members or []
        header, _, known.below = class_parts(definition.statement)
        known.statement = _above(header, known.statement)
        known.source = definition
        self.placed[definition.name] = [known]
        known.members = [item for item in kept if not is_docstring(item.node)]
        if self.locked:  # a learner's class: of the reference's only methods stay, and what the lesson wrote
            known.members = [item for item in known.members if self._stays(definition.name, item)]
        last = None
        for member in as_members(definition):
            if member.names:
                self._put(member, member.statement, known.members, last)
                last = member.name
            elif is_docstring(member.node):
                known.members.insert(0, Item(member.statement, frozenset()))

    def _stays(self, owner: str, item: Item) -> bool:
        return isinstance(item.node, FUNCTION) or any(f"{owner}.{name}" in self.locked for name in item.names)

    def _place_member(self, definition: Definition, after: str | None) -> None:
        assert definition.owner is not None
        found = self._class(definition.owner)
        if found is None:
            raise definition.error(
                f"add_to({definition.owner}): module {self.name} has no class {definition.owner} "
                "above this cell",
            )
        self._check_decorators(definition)
        statement = as_class_body(definition)
        if definition.owner in names_read_now(statement.node):
            raise definition.error(
                f"{definition.owner} does not exist yet while its body is being run; write a method",
            )
        assert found.members is not None
        self._put(definition, statement, found.members, after)

    def _check_decorators(self, definition: Definition) -> None:
        node = definition.node
        if isinstance(node, FUNCTION) and not ast.unparse(node.decorator_list[0]).startswith(
            ("add_to(", "coursekit.add_to(")
        ):
            raise definition.error(
                f"@add_to({definition.owner}) stands above the other decorators",
            )

    def _place_nameless(self, definition: Definition, after: str | None) -> None:
        """A call, a loop: it stays where the same one stands already."""
        statement = definition.statement
        if isinstance(statement.node, _SIMPLE) or any(
            statement.text.split() == item.statement.text.split() for item in self.items
        ):
            return
        self._insert(Item(_apart(statement), frozenset(), source=definition), self.items, after)

    def _put(
        self, definition: Definition, statement: Statement, where: list[Item], after: str | None
    ) -> None:
        """Replace the item of this name among `where`, or insert a new one."""
        before = self.placed.get(definition.name, [])
        if before and not repeats_on_purpose(definition.node, before[-1].node):
            other = before[-1].source
            assert other is not None
            raise clash(definition, other.cell.where(other.line))
        self._refuse_locked(definition)
        own = {name.rpartition(".")[2] for name in definition.names}
        known = [item for item in where if own & item.names and item not in before]
        clashing = [item for item in known if is_import(item.node)]
        if clashing:
            raise clash(definition, self.file)
        if known:
            item = _item(_above(statement, known[0].statement))
            item.source = definition
            if known[0].members is not None and item.members is not None:
                item.members += [
                    one for one in known[0].members if not any(one.names & new.names for new in item.members)
                ]
            where[where.index(known[0])] = item
        else:
            item = _item(_apart(statement))
            item.source = definition
            self._insert(item, where, before[-1].name if before else after)
        for name in definition.names:
            self.placed.setdefault(name, []).append(item)

    def _insert(self, item: Item, where: list[Item], after: str | None) -> None:
        short = (after or "").rpartition(".")[2]
        places = [number for number, other in enumerate(where, 1) if short in other.names]
        place = places[-1] if places else len(where)
        if place and is_import(where[place - 1].node):
            item.statement = replace(item.statement, above=("", "", *item.statement.above))
        where.insert(place, item)

    def _refuse_locked(self, definition: Definition) -> None:
        for name in sorted(definition.names & set(self.locked)):
            raise clash(definition, self.file, name)

    def _class(self, name: str) -> Item | None:
        return next((item for item in self.items if item.members is not None and item.name == name), None)

    # The whole

    def add_import(self, definition: Definition) -> None:
        """Add an import that a cell brings; formatting sorts it in."""
        node, statement = definition.node, replace(definition.statement, above=())
        above = [
            number
            for number, item in enumerate(self.items, 1)
            if is_docstring(item.node)
            or (is_import(item.node) and (is_typing_block(node) or not is_typing_block(item.node)))
        ]
        self.items.insert(max(above, default=0), Item(statement, definition.names, source=definition))

    def finish(self) -> None:
        """Drop what a new property lost. Raise where a class needs what stands only below it."""
        for name, items in self.placed.items():
            where = self._home(name)
            short = name.rpartition(".")[2]
            where[:] = [
                item for item in where if short not in item.names or item in items or len(item.names) > 1
            ]
        for position, item in enumerate(self.items):
            later = {name for below in self.items[position:] for name in below.names}
            for member in item.members or ():
                self._check_order(item, member, later)

    def _home(self, name: str) -> list[Item]:
        owner = name.rpartition(".")[0]
        found = self._class(owner) if owner else None
        return found.members if found is not None and found.members is not None else self.items

    def _check_order(self, item: Item, member: Item, later: set[str]) -> None:
        if member.source is None or item.source is member.source:
            return
        for name in names_read_now(member.node):
            if name in later:
                raise member.source.error(
                    f"in the module, `{name}` is not defined yet when class {item.name} is made; "
                    "define it in a cell above the class, or use it inside a function",
                )

    def rendered(self) -> str:
        """The module as Python, to be formatted."""
        lines = [line for item in self.items for line in item.rendered()]
        return "\n".join([*lines, *self.read[1], ""])

    def source_at(self, text: str, line: int) -> Definition | None:
        """The cell's statement that stands at a line of `text`, which is this module's text, formatted."""
        found = {name: item for name, item in self.members()}
        for name, node in _named(ast.parse(text).body):
            if node.lineno <= line <= (node.end_lineno or 0) and name in found and found[name].source:
                return found[name].source
        return None


def _item(statement: Statement) -> Item:
    node = statement.node
    if not isinstance(node, ast.ClassDef):
        return Item(statement, frozenset() if is_typing_block(node) else frozenset(bound_names(node)))
    header, members, below = class_parts(statement)
    return Item(header, frozenset({node.name}), [_item(member) for member in members], below)


def _named(body: Sequence[ast.stmt], owner: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """The names of a module's text with their nodes, members first."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _named(node.body, f"{node.name}.")
        node.lineno = first_line(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield owner + node.name, node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name.partition(".")[0], node) for alias in node.names)
        else:
            yield from (
                (owner + name.id, node)
                for name in ast.walk(node)
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            )


def _above(statement: Statement, old: Statement) -> Statement:
    """`statement` with its own comment below the heading that stands above `old`."""
    heading, _ = attached(old.above)
    _, comment = attached(statement.above)
    return replace(statement, above=(*heading, *comment))


def _apart(statement: Statement) -> Statement:
    """`statement` with the comment above it, and one blank line where its author left any."""
    heading, comment = attached(statement.above)
    is_block = isinstance(statement.node, (*FUNCTION, ast.ClassDef)) or hasattr(statement.node, "body")
    return replace(statement, above=(*([""] if heading or is_block else ()), *comment))


def clash(definition: Definition, where: str, name: str = "") -> SourceError:
    name = (name or definition.name).rpartition(".")[2]
    return definition.error(f"`{name}` is already defined in {where}; keep one, or rename one")
