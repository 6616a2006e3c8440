"""Exported cells merged into one module: methods in their class, imports at the top, in course order."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from coursekit.make.exports import Export
from coursekit.make.pieces import (
    Piece,
    SourceError,
    as_class_body,
    assigned_class,
    bound_names,
    first_line,
    indented,
    last_line,
    member_decorator,
    names_read_now,
    parse,
    pieces,
    repeats_on_purpose,
    split,
    without_markers,
    without_member_decorator,
)

_WIDTH = 110


@dataclass(eq=False)
class Item:
    """A statement of the module; a class is its header and its members."""

    piece: Piece
    indent: str = ""
    members: list[Piece] = field(default_factory=list)
    moved: list[Piece] = field(default_factory=list)  # the members that came from other cells

    def text(self) -> str:
        if not self.indent:
            return without_markers(self.piece.text)
        members = (
            [member for member in self.members if not _does_nothing(member)] if self.moved else self.members
        )
        return "\n".join([without_markers(self.piece.text), *_joined(members)])


class Module:
    """A module that grows by one exported cell at a time."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.imports: list[Piece] = []
        self.items: list[Item] = []

    def add(self, export: Export) -> None:
        """Merge one cell. Raises SourceError where it does not fit."""
        for piece in pieces(export.cell):
            piece.heading = export.heading
            self.place(piece)

    def finish(self) -> None:
        """Raise where making a class needs what the module defines only below it."""
        for position, item in enumerate(self.items):
            later = {name for below in self.items[position:] for name in below.piece.names}
            for member in item.moved:
                for name in names_read_now(member.node):
                    if name in later:
                        raise SourceError(
                            member.cell,
                            member.line,
                            f"in the module, `{name}` is not defined yet when class {_name(item)} is made; "
                            "define it in a cell above the class, or use it inside a function",
                        )

    def members(self) -> Iterator[tuple[str, Piece]]:
        """Every name that the module defines, as in `Value.tanh`, with its piece."""
        for item in self.items:
            for name in sorted(item.piece.names):
                yield name, item.piece
            for member in item.members:
                for name in sorted(member.names):
                    yield f"{_name(item)}.{name}", member

    def text(self, docstring: str | None = None) -> str:
        """The module as Python, to be formatted."""
        parts = [f'"""{docstring}"""\n'] if docstring else []
        parts.append("from __future__ import annotations\n")
        parts += [
            without_markers(piece.text)
            for piece in sorted(self.imports, key=lambda piece: isinstance(piece.node, ast.If))
        ]
        return "\n".join(parts) + "\n\n\n" + "\n\n\n".join(self._sections()) + "\n"

    def piece_at(self, text: str, line: int) -> Piece | None:
        """The piece that stands at a line of `text`, which is this module's text, formatted."""
        found = {name: piece for piece in self.imports for name in piece.names} | dict(self.members())
        for node in parse(text).body:
            for name, inner in qualified(node):
                if name in found and first_line(inner) <= line <= last_line(inner):
                    return found[name]
        return None

    def _sections(self) -> Iterator[str]:
        heading = None
        group: list[Item] = []
        for item in self.items:
            if item.piece.heading and item.piece.heading != heading:
                yield from _run(group)
                group = []
                heading = item.piece.heading
                yield f"# {heading}"
            group.append(item)
        yield from _run(group)

    def place(self, piece: Piece) -> None:
        """Put one statement where it belongs."""
        node = piece.node
        if isinstance(node, ast.Import | ast.ImportFrom) or _is_typing_block(node):
            self._import(piece)
        elif member_decorator(node) is not None:
            self._add_to(piece)
        elif (owner := assigned_class(node)) is not None and (item := self._class(owner)):
            piece.names = frozenset(target.attr for target in node.targets)  # type: ignore[attr-defined]
            self._into(item, owner, piece, as_class_body(piece.text, owner))
        else:
            self._define(piece)

    def _import(self, piece: Piece) -> None:
        node = piece.node
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return
        if isinstance(node, ast.ImportFrom) and node.module == "coursekit":
            if any(alias.name != "add_to" or alias.asname for alias in node.names):
                raise SourceError(
                    piece.cell, piece.line, "only `add_to` of coursekit may stand in an exported cell"
                )
            return
        if isinstance(node, ast.ImportFrom) and (
            node.module == f"minilib.{self.name}" or node.names[0].name == "*"
        ):
            raise SourceError(
                piece.cell, piece.line, f"`{ast.unparse(node)}` cannot stand in module {self.name}"
            )
        for name in piece.names:
            for other in self.imports:
                if name in other.names and _target(other.node, name) != _target(node, name):
                    self._clash(piece, other, name)
            self._check_name(piece, name)
        self.imports.append(piece)

    def _define(self, piece: Piece) -> None:
        if isinstance(piece.node, ast.Expr) and not isinstance(piece.node.value, ast.Call | ast.Constant):
            raise SourceError(
                piece.cell, piece.line, "an exported cell defines things; show a value in a cell of its own"
            )
        for name in piece.names:
            for other in self.imports:
                if name in other.names:
                    self._clash(piece, other, name)
        old = [other for other in self.items if other.piece.names & piece.names]
        piece.heading = next((other.piece.heading for other in old if other.piece.replaceable), piece.heading)
        item = as_item(piece)
        position = self._room(piece, [item.piece for item in old], [item.piece for item in self.items])
        for gone in old:
            if gone.piece.replaceable:
                item.members += [member for member in gone.members if _is_kept(member, item)]
                self.items = [other for other in self.items if other is not gone]
        self.items.insert(position, item)

    def _check_name(self, piece: Piece, name: str) -> None:
        for item in self.items:
            if name in item.piece.names:
                self._clash(piece, item.piece, name)

    def _add_to(self, piece: Piece) -> None:
        decorator = member_decorator(piece.node)
        assert decorator is not None
        owner = ", ".join(ast.unparse(argument) for argument in decorator.args)
        item = self._class(owner)
        if item is None:
            raise SourceError(
                piece.cell,
                decorator.lineno,
                f"add_to({owner}): module {self.name} has no class {owner} above this cell",
            )
        if decorator is not piece.node.decorator_list[0]:  # type: ignore[attr-defined]
            raise SourceError(
                piece.cell, decorator.lineno, f"@add_to({owner}) stands above the other decorators"
            )
        piece.node.decorator_list.remove(decorator)  # type: ignore[attr-defined]
        self._into(item, owner, piece, without_member_decorator(piece.text))

    def _into(self, item: Item, owner: str, piece: Piece, text: str) -> None:
        """Put a member into the body of a class."""
        piece.node = _only(text)
        piece.text = indented(text, item.indent)
        if owner in names_read_now(piece.node):
            raise SourceError(
                piece.cell,
                piece.line,
                f"{owner} does not exist yet while its body is being run; write a method",
            )
        old = [member for member in item.members if member.names & piece.names]
        position = self._room(piece, old, item.members)
        item.members.insert(position, piece)
        item.members = [member for member in item.members if not (member in old and member.replaceable)]
        item.moved = [member for member in item.moved if member in item.members] + [piece]

    def _room(self, piece: Piece, old: list[Piece], where: list[Piece]) -> int:
        """Where the piece goes: in place of a replaceable one, else last. Raises for a second definition."""
        for other in old:
            name = min(other.names & piece.names)
            if not other.replaceable and not repeats_on_purpose(piece.node, other.node, name):
                self._clash(piece, other, name)
        if not old:
            return len(where)
        if old[0].replaceable:
            return next(place for place, other in enumerate(where) if other is old[0])
        return 1 + next(place for place, other in enumerate(where) if other is old[-1])

    def _clash(self, piece: Piece, other: Piece, name: str) -> None:
        raise SourceError(
            piece.cell,
            piece.line,
            f"`{name}` is already defined in {other.cell.where(other.line)}; keep one, or rename one",
        )

    def _class(self, name: str) -> Item | None:
        return next((item for item in self.items if item.indent and _name(item) == name), None)


def qualified(node: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    """The names that a statement gives to a module, members first: `Value.tanh` with its own node."""
    decorator = member_decorator(node)
    owner = ast.unparse(decorator.args[0]) if decorator and decorator.args else assigned_class(node)
    if isinstance(node, ast.ClassDef):
        for member in node.body:
            yield from ((f"{node.name}.{name}", member) for name in bound_names(member))
    if owner is None:
        yield from ((name, node) for name in bound_names(node))
    elif isinstance(node, ast.Assign):
        yield from ((ast.unparse(target), node) for target in node.targets)
    else:
        yield from ((f"{owner}.{name}", node) for name in bound_names(node))


def as_item(piece: Piece) -> Item:
    """A class is taken apart into header and members; anything else stays whole."""
    node = piece.node
    if not isinstance(node, ast.ClassDef):
        return Item(piece)
    text = piece.text
    tree = parse(text).body[0]
    assert isinstance(tree, ast.ClassDef)
    first = tree.body[0]
    lines = text.split("\n")
    before = lines[first.lineno - 1].encode()[: first.col_offset].decode()
    if before.strip():  # `class Error(Exception): ...` on one line
        rest = lines[first.lineno - 1].encode()[first.col_offset :].decode()
        lines[first.lineno - 1 : first.lineno] = [before.rstrip(), "    " + rest]
        text = "\n".join(lines)
        tree = parse(text).body[0]
        assert isinstance(tree, ast.ClassDef)
    skip = _header_end(text.split("\n"), first_line(tree.body[0]))
    offset = piece.line - first_line(tree)
    found = split(text, tree.body, cell=piece.cell, skip=skip, offset=offset)
    piece.text = "\n".join(text.split("\n")[:skip])
    return Item(piece, " " * tree.body[0].col_offset, list(found))


def _header_end(lines: list[str], body: int) -> int:
    """The line that ends a class's header; comments between it and line `body` are the body's."""
    end = body - 1
    while not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#"):
        end -= 1
    return end


def docstring(doc: str | None, notebooks: Iterable[Path], origin: str) -> str:
    """The docstring of a module: its sentence, and below it where it comes from, as `origin` says it."""
    names = list(dict.fromkeys(path.as_posix() for path in notebooks))
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    from_where = textwrap.fill(
        origin.format(notebooks=listed), _WIDTH, break_long_words=False, break_on_hyphens=False
    )
    text = f"{doc}\n\n{from_where}\n" if doc else f"{from_where}\n"
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def _name(item: Item) -> str:
    return next(iter(item.piece.names), "")


def _joined(pieces: Iterable[Piece]) -> Iterator[str]:
    """The members of a class, a blank line between them where their author left one."""
    for number, piece in enumerate(pieces):
        yield ("\n" if piece.apart and number else "") + without_markers(piece.text)


def _run(items: list[Item]) -> Iterator[str]:
    """Statements that stand together in one block, those that their author kept apart in several."""
    block: list[str] = []
    for item in items:
        if item.piece.apart and block:
            yield "\n".join(block)
            block = []
        block.append(item.text())
    if block:
        yield "\n".join(block)


def _only(text: str) -> ast.stmt:
    return parse(text).body[0]


def _is_typing_block(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.If)
        and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        and all(isinstance(line, ast.Import | ast.ImportFrom) for line in node.body)
        and not node.orelse
    )


def _target(node: ast.stmt, name: str) -> tuple[object, ...]:
    """What an import binds to `name`, to compare two of them."""
    for alias in getattr(node, "names", []):
        if isinstance(node, ast.ImportFrom) and name == (alias.asname or alias.name):
            return node.level, node.module, alias.name
        if isinstance(node, ast.Import) and name == (alias.asname or alias.name.partition(".")[0]):
            return (alias.name if alias.asname else name,)
    return (ast.unparse(node),)


def _does_nothing(member: Piece) -> bool:
    node = member.node
    is_dots = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...
    return isinstance(node, ast.Pass) or is_dots


def _is_kept(member: Piece, item: Item) -> bool:
    """Whether a member stays when its class is replaced: a method that the new class does not have."""
    known = {name for other in item.members for name in other.names}
    is_method = isinstance(member.node, ast.FunctionDef | ast.AsyncFunctionDef)
    return (is_method or not member.replaceable) and not member.names & known
