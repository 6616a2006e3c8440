"""What a notebook builds on, in one line: a module of minilib without the parts that its reader writes.

    from coursekit.given import given

    given("scalar", without=["Value.tanh", "Value.exp"])

puts everything else of `minilib.scalar` into the notebook's names, as if it had been typed there: it calls
what the reader writes afterwards. Standard library alone.
"""

from __future__ import annotations

import ast
import copy
import difflib
import functools
import importlib.util
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FUTURE = "from __future__ import annotations"
_MODULE = ast.parse(_FUTURE).body


def given(*modules: str, only: Sequence[str] | None = None, without: Sequence[str] = ()) -> None:
    """Put the definitions of minilib's `modules` into the names of the notebook that calls this.

    A module is a file (`"scalar"`, `"functional.losses"`) or a package, which stands for all of its files.
    `only` keeps the names that it lists (`"Mul"`, or `"Tensor.mean"` for a member of a class that the
    notebook has already) and the sections that it lists by their headings; of a section, what the notebook
    has already stays as it is. `without` leaves out what it lists. Names that are left out, and those that
    the notebook has already, are not imported from elsewhere in minilib either: the notebook's own are used.

    Raises ValueError for a module or a name that is not there, with the nearest one that is.
    """
    names = sys._getframe(1).f_globals
    for part in parts(modules, only=only, without=without, known=names):
        part.run(names)


@dataclass(frozen=True)
class Part:
    """The statements of one file that are given, in a tree of their own."""

    file: Path
    body: tuple[ast.stmt, ...]

    def run(self, names: dict[str, Any]) -> None:
        """Run the statements among `names`; members of a class that is there already join it."""
        for node in self.body:
            if isinstance(node, ast.ClassDef) and isinstance(names.get(node.name), type):
                self._grow(names[node.name], node, names)
            else:
                exec(self._code([node]), names)

    def _grow(self, cls: type, node: ast.ClassDef, names: dict[str, Any]) -> None:
        members = {**vars(cls)}
        exec(self._code([_outside(member, node.name) for member in node.body]), names, members)
        for name, member in members.items():
            if vars(cls).get(name) is not member:
                function = getattr(member, "fget", None) or getattr(member, "__func__", member)
                if getattr(function, "__qualname__", "") == name:
                    function.__qualname__ = f"{cls.__qualname__}.{name}"
                setattr(cls, name, member)

    def _code(self, body: Sequence[ast.stmt]) -> Any:
        tree = ast.Module([*_MODULE, *body], [])
        return compile(tree, str(self.file), "exec", dont_inherit=True)

    def text(self) -> str:
        """The statements as text, without comments."""
        return "\n".join(ast.unparse(node) for node in self.body)


def source(modules: Sequence[str], only: Sequence[str] | None, without: Sequence[str], library: Path) -> str:
    """What `given` runs in a notebook that has no names yet, as text: for where the rest must not be seen."""
    found = parts(modules, only=only, without=without, library=library)
    return "\n".join([_FUTURE, *(part.text() for part in found if part.body)])


def parts(
    modules: Sequence[str],
    *,
    only: Sequence[str] | None = None,
    without: Sequence[str] = (),
    known: Collection[str] | dict[str, Any] = (),
    library: Path | None = None,
) -> list[Part]:
    """What is given, file by file, in an order in which each file finds what it needs when it is run."""
    folder = library or installed_library()
    files = _in_order([file for module in modules for file in _files(folder, module)], folder)
    texts = {file: _Text(file) for file in files}
    _check_names(modules, texts.values(), [*(only or ()), *without])
    wanted = _Wanted(None if only is None else frozenset(only), frozenset(without), _known(known))
    own = {_dotted(file, folder) for file in files} | set(modules)
    return [Part(file, tuple(texts[file].chosen(wanted, own))) for file in files]


@dataclass(frozen=True)
class Call:
    """A call of `given` in a cell, as it is written there."""

    modules: tuple[str, ...]
    only: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()


def call_in(node: ast.stmt) -> Call | None:
    """The call of `given` that a statement is. Raises ValueError where its arguments are not written out."""
    if not (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "given"
    ):
        return None
    try:
        options = {str(word.arg): tuple(ast.literal_eval(word.value)) for word in node.value.keywords}
        return Call(tuple(ast.literal_eval(word) for word in node.value.args), **options)
    except (TypeError, ValueError):
        raise ValueError(
            f'write the arguments of `{ast.unparse(node)}` out: given("scalar", without=[...])'
        ) from None


def spelled_out(cell: str, library: Path) -> str:
    """A cell's source with what its calls of `given` run, in place of them."""
    if "given" not in cell:
        return cell
    lines = cell.split("\n")
    for node in reversed(ast.parse(cell).body):
        call = call_in(node)
        if call is not None:
            text = source(call.modules, call.only, call.without, library)
        elif isinstance(node, ast.ImportFrom) and node.module == "coursekit.given":
            text = ""
        else:
            continue
        lines[node.lineno - 1 : node.end_lineno] = [text]
    return "\n".join(lines)


def given_names(call: Call, library: Path) -> set[str]:
    """The names that a call gives, members as in `Value.tanh`."""
    found: set[str] = set()
    for part in parts(call.modules, only=call.only, without=call.without, library=library):
        for node in part.body:
            found.update(_names(node))
            if isinstance(node, ast.ClassDef):
                found.update(f"{node.name}.{name}" for member in node.body for name in _names(member))
    return found


def _known(names: Collection[str] | dict[str, Any]) -> frozenset[str]:
    """The names that are there, with the members of classes: `Tensor.mean`."""
    if not isinstance(names, dict):
        return frozenset(names)
    members = {
        f"{name}.{member}"
        for name, value in names.items()
        if isinstance(value, type)
        for member in vars(value)
    }
    return frozenset(names) | members


@dataclass(frozen=True)
class _Wanted:
    only: frozenset[str] | None
    without: frozenset[str]
    known: frozenset[str]

    def takes(self, name: str, section: str) -> bool:
        if name in self.without:
            return False
        if self.only is None or name in self.only:
            return True
        return section in self.only and name not in self.known

    def hides(self, name: str) -> bool:
        """Whether an import of `name` would bring what the notebook has, or what its reader writes."""
        return name in self.without or name in self.known


class _Text:
    """A file of minilib, its sections and its names."""

    def __init__(self, file: Path) -> None:
        self.file = file
        text = file.read_text(encoding="utf-8")
        self.tree = ast.parse(text)
        self.lines = text.split("\n")
        self.headings = {
            number: line.strip().removeprefix("# ")
            for number, line in enumerate(self.lines, 1)
            if self._is_heading(number, line)
        }

    def _is_heading(self, number: int, line: str) -> bool:
        """A comment that stands alone: blank lines around it, at the left or in the body of a class."""
        if not line.strip().startswith("# "):
            return False
        around = [self.lines[at - 1].strip() for at in (number - 1, number + 1) if 0 < at <= len(self.lines)]
        return not any(around)

    def section(self, line: int) -> str:
        above = [number for number in self.headings if number < line]
        return self.headings[max(above)] if above else ""

    def names(self) -> Iterator[str]:
        for node in self.tree.body:
            yield from _names(node)
            if isinstance(node, ast.ClassDef):
                yield from (f"{node.name}.{name}" for member in node.body for name in _names(member))

    def chosen(self, wanted: _Wanted, own: Collection[str]) -> Iterator[ast.stmt]:
        """The statements that are wanted, below the imports that they need, or all those of a whole file."""
        body = list(self._definitions(wanted))
        read_by = body if wanted.only is not None else [self.tree]
        needed = {name.id for node in read_by for name in ast.walk(node) if isinstance(name, ast.Name)}
        for node in self.tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield from _imported(node, wanted, own, needed)
        yield from body

    def _definitions(self, wanted: _Wanted) -> Iterator[ast.stmt]:
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                yield from self._class(node, wanted)
            elif isinstance(node, ast.Import | ast.ImportFrom) or _is_docstring(node) or _is_typing(node):
                continue
            elif names := list(_names(node)):
                if any(wanted.takes(name, self.section(node.lineno)) for name in names):
                    yield node
            elif wanted.only is None:
                yield node

    def _class(self, node: ast.ClassDef, wanted: _Wanted) -> Iterator[ast.ClassDef]:
        if node.name in wanted.without:
            return
        whole = wanted.takes(node.name, self.section(node.lineno))
        members = []
        for member in node.body:
            names = [f"{node.name}.{name}" for name in _names(member)]
            section = self.section(member.lineno)
            if not names:
                keep = whole
            elif whole:
                keep = not any(name in wanted.without for name in names)
            else:
                keep = any(wanted.takes(name, section) for name in names)
            if keep:
                members.append(member)
        if members or whole:
            made = ast.ClassDef(
                node.name, node.bases, node.keywords, members or [ast.Pass()], node.decorator_list
            )
            yield ast.fix_missing_locations(ast.copy_location(made, node))


def _imported(
    node: ast.Import | ast.ImportFrom, wanted: _Wanted, own: Collection[str], needed: Collection[str]
) -> Iterator[ast.stmt]:
    """What is needed of an import and neither given, nor left to the reader, nor in the notebook."""
    names = [alias for alias in node.names if (alias.asname or alias.name.partition(".")[0]) in needed]
    if isinstance(node, ast.Import):
        if names:
            yield ast.copy_location(ast.Import(names), node)
        return
    module = node.module or ""
    if module.partition(".")[0] == "minilib":
        inside = module.removeprefix("minilib").lstrip(".")
        if any(inside == name or inside.startswith(f"{name}.") for name in own):
            return
        names = [alias for alias in names if not wanted.hides(alias.asname or alias.name)]
    if names and module != "__future__":
        yield ast.copy_location(ast.ImportFrom(module, names, 0), node)


def _outside(member: ast.stmt, cls: str) -> ast.stmt:
    """A copy of a member of `cls` whose `super()` says so, as it has to outside of the body of its class."""
    found = copy.deepcopy(member)
    if isinstance(found, ast.FunctionDef) and found.args.args:
        for node in ast.walk(found):
            if isinstance(node, ast.Call) and ast.unparse(node) == "super()":
                node.args = [ast.Name(name, ast.Load()) for name in (cls, found.args.args[0].arg)]
    return ast.fix_missing_locations(found)


def _names(node: ast.stmt) -> Iterator[str]:
    """The names that a statement binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_typing(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _check_names(modules: Sequence[str], texts: Collection[_Text], asked: Sequence[str]) -> None:
    names = {name for text in texts for name in (*text.names(), *text.headings.values())}
    for name in asked:
        if name not in names:
            near = difflib.get_close_matches(name, sorted(names), 1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise ValueError(f"given: there is no `{name}` in {', '.join(modules)}{hint}")


@functools.cache
def installed_library() -> Path:
    """The folder of minilib's files."""
    found = importlib.util.find_spec("minilib")
    if found is None or not found.submodule_search_locations:
        raise ValueError(
            "given: minilib is not installed here; `make lab` in a clone of the course installs it"
        )
    return Path(next(iter(found.submodule_search_locations)))


def _files(folder: Path, module: str) -> list[Path]:
    path = folder.joinpath(*module.split("."))
    if path.with_suffix(".py").is_file():
        return [path.with_suffix(".py")]
    if path.is_dir():
        return sorted(file for file in path.glob("*.py") if file.name != "__init__.py")
    names = sorted(file.stem for file in folder.iterdir() if file.is_dir() or file.suffix == ".py")
    near = difflib.get_close_matches(module, names, 1)
    raise ValueError(
        f"given: there is no minilib.{module}" + (f"; did you mean {near[0]!r}?" if near else "")
    )


def _dotted(file: Path, folder: Path) -> str:
    return ".".join(file.relative_to(folder).with_suffix("").parts)


def _in_order(files: list[Path], folder: Path) -> list[Path]:
    """Each file below those that it imports."""
    names = {_dotted(file, folder): file for file in files}
    done: list[Path] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if names[name] in done or name in above:
            return
        for node in ast.parse(names[name].read_text(encoding="utf-8")).body:
            inside = (getattr(node, "module", None) or "").removeprefix("minilib.")
            for needed in names if isinstance(node, ast.ImportFrom) else ():
                if inside == needed or (needed.startswith(f"{inside}.") and inside not in names):
                    visit(needed, (*above, name))
        done.append(names[name])

    for name in names:
        visit(name, ())
    return done
