"""The library as a book: each definition that a cell brings goes to the file where its name stands."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coursekit.course import Course
from coursekit.make.cuda_file import CudaFile
from coursekit.make.definitions import Definition, definitions, does_nothing, is_docstring
from coursekit.make.exports import Export
from coursekit.make.module import Module, clash
from coursekit.make.tidy import tidy, undefined_names
from coursekit.notebooks import Cell

TAUGHT = "Taught in {notebooks}: what {they} is edited there, then `make promote`."
_ORIGINS = ("Taught in ", "Built from ")
_WIDTH = 110


@dataclass
class Book:
    """The modules of the library by name (`functional.losses`), its CUDA C by file (`kernels/rows.cu`)."""

    course: Course
    modules: dict[str, Module] = field(default_factory=dict)
    cuda: dict[str, CudaFile] = field(default_factory=dict)
    docs: dict[str, str] = field(default_factory=dict)  # the first line of a module that is new
    imports: dict[str, list[Definition]] = field(default_factory=dict)  # what cells import, by module
    touched: dict[str, list[Path]] = field(default_factory=dict)  # the notebooks that each file comes from

    @staticmethod
    def of(course: Course, texts: Mapping[str, str], locked: Collection[str] = ()) -> Book:
        """The book whose files have these texts, by their names below minilib/ (`functional/losses.py`)."""
        book = Book(course)
        for file, text in texts.items():
            if file.endswith(".py"):
                name = module_name(file)
                own = {one.partition(":")[2] for one in locked if one.startswith(f"{name}:")}
                book.modules[name] = Module(name, text, own)
            elif file.endswith(".cu"):
                book.cuda[file] = CudaFile(file, text)
        return book

    def add(self, export: Export) -> None:
        """Put what a cell defines where it belongs. Raises SourceError."""
        if export.modules[0].endswith(".cu"):
            self.place_cuda(export)
            return
        self.place(export, definitions(export.cell))

    def place_cuda(self, export: Export) -> None:
        file = export.modules[0]
        self.cuda.setdefault(file, CudaFile(file)).place(export.cell)
        self._touch(file, export.cell)

    def place(self, export: Export, found: Iterable[Definition]) -> None:
        """Put these definitions of a cell, each below the one before it where it is new."""
        after: tuple[str, str] | None = None
        for definition in found:
            if definition.is_import:
                self._bring(definition, export.modules)
                continue
            _refuse_expressions(definition)
            name = self.home(definition, export.modules, after)
            module = self.modules[name]
            module.place(definition, after[1] if after and after[0] == name else None)
            self._touch(name, definition.cell)
            if definition.name:
                after = name, definition.name

    def _bring(self, definition: Definition, targets: tuple[str, ...]) -> None:
        """Keep an import for the modules that will miss its names."""
        _check_import(definition, targets)
        for target in targets:
            for other in self.imports.setdefault(target, []):
                _check_same_import(definition, other)
            self.imports[target].append(definition)

    def _touch(self, name: str, cell: Cell) -> None:
        notebooks = self.touched.setdefault(name, [])
        if cell.notebook not in notebooks:
            notebooks.append(cell.notebook)

    def home(
        self, definition: Definition, targets: tuple[str, ...], after: tuple[str, str] | None = None
    ) -> str:
        """The module in which the definition's name stands, or in which a new one joins the others."""
        candidates = [name for target in targets for name in self.files_of(target)]
        found = [
            name for name in candidates if any(self.modules[name].defines(one) for one in definition.names)
        ]
        if not found and definition.owner:
            found = [name for name in candidates if self.modules[name].defines(definition.owner)]
        if len(found) > 1:
            raise definition.error(
                f"`{definition.name}` stands in {' and in '.join(found)}; say which: `#| export {found[0]}`",
            )
        return found[0] if found else after[0] if after and after[0] in candidates else candidates[0]

    def files_of(self, target: str) -> list[str]:
        """The modules that a target names: a file, or all files of a package. A new one is made."""
        if target in self.modules:
            return [target]
        found = sorted(name for name in self.modules if name.startswith(f"{target}."))
        if not found:
            doc = self.docs.get(target)
            text = "from __future__ import annotations\n"
            self.modules[target] = Module(target, f'"""{_quoted(doc)}"""\n\n{text}' if doc else text)
            found = [target]
        return found

    # The texts

    def texts(self, origin: Mapping[str, str]) -> dict[str, str]:
        """The text of each file that cells went into, by file name; `origin` says where each comes from."""
        made = {}
        for name, module in self.modules.items():
            if name in self.touched:
                module.finish()
                made[file_name(name)] = self._text(module, origin[name])
        for name, file in self.cuda.items():
            if name in self.touched:
                made[name] = _with_cuda_origin(file.rendered(), origin[name])
        return made

    def _text(self, module: Module, origin: str) -> str:
        """The formatted text; imports of cells come in where a name would be missing."""
        brought = [
            one for target, items in self.imports.items() if _covers(target, module.name) for one in items
        ]
        for name, item in module.members():
            other = next((one for one in brought if name in one.names), None)
            if other and item.source:
                raise clash(item.source, other.cell.where(other.line), name)
        while True:
            text = tidy(with_origin(module.rendered(), origin), self.course, module.file)
            missing = undefined_names(text, self.course, module.file)
            names = {one.name for one in missing}
            needed = next((one for one in brought if one.names & names), None)
            if needed is None:
                break
            brought.remove(needed)
            module.add_import(needed)
        for one in missing:
            source = module.source_at(text, one.line)
            if source:
                message = f"in module {module.name}: {one.message[:1].lower() + one.message[1:]}"
                raise source.error(
                    f"{message}; export what defines it, or import it in {module.file}",
                )
        return text


def is_taught(text: str) -> bool:
    """Whether a file's docstring, or its first comment, says that notebooks or answers are its source."""
    return any(line.removeprefix("// ").startswith(_ORIGINS) for line in text.split("\n")[:8])


def module_name(file: str) -> str:
    """`functional/losses.py` is `functional.losses`; a package's `__init__.py` keeps its name."""
    return file.removesuffix(".py").replace("/", ".")


def file_name(name: str) -> str:
    return name if name.endswith(".cu") else f"{name.replace('.', '/')}.py"


def taught(notebooks: Iterable[Path]) -> str:
    """Where a file's definitions come from, for the second paragraph of its docstring."""
    names = list(dict.fromkeys(path.as_posix() for path in notebooks))
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return TAUGHT.format(notebooks=listed, they="they export" if len(names) > 1 else "it exports")


def with_origin(text: str, origin: str) -> str:
    """`text` whose docstring says where the module comes from; without `origin`, that sentence goes."""
    node = ast.parse(text).body[0] if text.strip() else None
    filled = textwrap.fill(origin, _WIDTH, break_long_words=False, break_on_hyphens=False)
    if not (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ):
        return f'"""{filled}"""\n\n{text}' if origin else text
    lines = text.split("\n")
    end = node.end_lineno or 1
    raw = "\n".join(lines[node.lineno - 1 : end])
    inside = raw.strip()[3:-3].strip("\n").rstrip()
    paragraphs = inside.split("\n\n")
    where = next((n for n, one in enumerate(paragraphs) if one.lstrip().startswith(_ORIGINS)), None)
    if where is not None:
        paragraphs[where : where + 1] = [filled] if origin else []
    elif origin:
        paragraphs.insert(1, filled)
    inside = "\n\n".join(one for one in paragraphs if one)
    closed = f'"""{inside}\n"""' if "\n" in inside else f'"""{inside}"""'
    return "\n".join([*lines[: node.lineno - 1], closed, *lines[end:]])


def without_origin(file: str, text: str) -> str:
    """The text of an ordinary file, whose source no notebook is any more."""
    return _without_cuda_origin(text).lstrip("\n") if file.endswith(".cu") else with_origin(text, "")


def _without_cuda_origin(text: str) -> str:
    lines = text.split("\n")
    while lines and lines[0].startswith(tuple(f"// {word}" for word in _ORIGINS)):
        lines.pop(0)
    return "\n".join(lines)


def _with_cuda_origin(text: str, origin: str) -> str:
    lines = _without_cuda_origin(text).split("\n")
    return "\n".join([f"// {origin}", *(["", *lines] if lines and lines[0] else lines)])


def _quoted(doc: str) -> str:
    return doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def _covers(target: str, module: str) -> bool:
    return module == target or module.startswith(f"{target}.")


def _check_import(definition: Definition, targets: tuple[str, ...]) -> None:
    """Raise for an import that would be wrong in the library."""
    for part in ast.walk(definition.node):
        if not isinstance(part, ast.ImportFrom):
            continue
        source, names = part.module or "", [one.name for one in part.names]
        if source.partition(".")[0] == "coursekit" and (source, names) != ("coursekit", ["add_to"]):
            line = "only `add_to` of coursekit may stand in an exported cell"
        elif "*" in names or any(source == f"minilib.{name}" for name in targets):
            line = f"`{ast.unparse(part)}` cannot stand in module {targets[0]}"
        else:
            continue
        raise definition.error(line)


def _check_same_import(definition: Definition, other: Definition) -> None:
    """Raise where two imports bind one name to different things."""
    for name in sorted(definition.names & other.names):
        if _imported_from(definition, name) != _imported_from(other, name):
            raise clash(definition, other.cell.where(other.line), name)


def _imported_from(definition: Definition, name: str) -> tuple[str, ...]:
    for part in ast.walk(definition.node):
        for alias in part.names if isinstance(part, ast.Import | ast.ImportFrom) else ():
            if name == (alias.asname or alias.name.partition(".")[0]):
                of = (part.module or "") if isinstance(part, ast.ImportFrom) else ""
                return of, alias.name if of or alias.asname else name
    return ()


def _refuse_expressions(definition: Definition) -> None:
    node = definition.node
    is_quiet = is_docstring(node) or does_nothing(node)
    if isinstance(node, ast.Expr) and not (is_quiet or isinstance(node.value, ast.Call)):
        raise definition.error(
            "an exported cell defines things; show a value in a cell of its own",
        )
