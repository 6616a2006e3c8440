"""`%%cuda NAME`: a notebook cell that holds CUDA C. `%load_ext warplens` makes it known."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class, no_var_expand
from IPython.display import HTML, display
from pygments import highlight  # type: ignore[import-untyped]
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import CudaLexer  # type: ignore[import-untyped]

from warplens.errors import CompileError
from warplens.kernel import Kernel
from warplens.module import RawModule

MOST = 100_000  # characters of a cell
STYLE = (
    "margin:0; padding:4px 8px; background:#f6f8fa; color:#1f2933; font-family:monospace; line-height:1.35"
)


class Cell:
    """What a `%%cuda` cell gives: its module, and `kernels` by name. Shown with numbered lines."""

    def __init__(self, module: RawModule, quiet: bool, instances: Sequence[str] = ()) -> None:
        self.module, self.quiet = module, quiet
        self.kernels: dict[str, Kernel] = {name: module.get_function(name) for name in module.names}
        self.instances = [module.get_function(name) for name in instances]

    def __repr__(self) -> str:
        return "\n".join(self._declarations())

    def _repr_html_(self) -> str:
        told = "<br>".join(f"<code>{escape(line)}</code>" for line in self._declarations())
        told = f"<div style='color:#56616c'>{told}</div>"
        return told if self.quiet else listing(self.module.source) + told

    def _declarations(self) -> list[str]:
        told = [f"kernel {kernel.declaration}" for kernel in (*self.kernels.values(), *self.instances)]
        if not told and "__global__" not in self.module.source:
            return ["functions for other cells: -a puts them before a kernel"]
        return told or ['no kernel that is extern "C": write extern "C" __global__ void name(...)']


def listing(source: str, wrong: int | None = None) -> str:
    """CUDA C as HTML, its lines numbered as in the cell; the line `wrong` is marked."""
    skipped = len(source) - len(source.lstrip("\n"))
    formatter = HtmlFormatter(
        noclasses=True,
        linenos="inline",
        linenostart=skipped + 1,
        hl_lines=[] if wrong is None else [wrong - skipped],
        prestyles=STYLE,
    )
    return str(highlight(source, CudaLexer(), formatter))


@magics_class
class CudaMagics(Magics):
    """The magic, for one notebook."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._names: dict[str, dict[str, Any]] = {}  # what each cell named, by its title

    @no_var_expand
    @cell_magic
    def cuda(self, line: str, cell: str) -> Cell:
        """Compile the cell: %%cuda NAME [-q] [-a OTHER] [-D MACRO=VALUE] [-i "scale<float>"]

        Each extern "C" kernel gets its own name in the notebook. Where NAME is none of them it becomes the
        module, from which get_function takes instances of templates (named with -i) and get_global variables.
        -q leaves out the listing. -a puts the source of an earlier cell before this one, helpers for example.
        Lines are counted as in the cell, with this one as the first; after -a, from the earlier cell on.
        """
        asked = _asked(line)
        if re.search(r"^[^\S\n]*%%cuda", cell, re.MULTILINE):
            raise UsageError("%%cuda: a second %%cuda line in the cell: give what follows a cell of its own")
        if len(cell) > MOST:
            raise UsageError(
                f"%%cuda: a cell has {len(cell):,} characters, and at most {MOST:,} are possible"
            )
        options = [f"-D{macro}" for macro in asked.define]
        before = self._source(asked.after) if asked.after else ""
        self._forget(asked.name)  # where this does not compile, its old kernels are not used by accident
        try:
            module = RawModule(
                code=f"{before}\n{cell}",
                options=options,
                name_expressions=asked.instance,
                name=f"{asked.name}.cu",
            )
            made = Cell(module, asked.quiet, asked.instance)
        except CompileError as error:
            display(HTML(listing(error.source, error.line)))  # type: ignore[no-untyped-call]
            raise
        assert self.shell is not None
        self._refuse_taken({asked.name, *made.kernels})
        self._names[asked.name] = {asked.name: module} | made.kernels
        self.shell.user_ns.update(self._names[asked.name])
        return made

    def _source(self, title: str) -> str:
        """The source of an earlier cell."""
        known = self._names.get(title)
        if known is None:
            raise UsageError(
                f"%%cuda: -a {title} is no cell that was compiled here: run the cell %%cuda {title}"
            )
        return str(next(iter(known.values())).source)

    def _refuse_taken(self, names: set[str]) -> None:
        """Raise where a kernel would replace something of the notebook that is none."""
        assert self.shell is not None
        for name in sorted(names & self.shell.user_ns.keys()):
            if not isinstance(self.shell.user_ns[name], Kernel | RawModule):
                raise UsageError(
                    f"%%cuda: {name} is something else in this notebook: give the kernel another name"
                )

    def _forget(self, title: str) -> None:
        """Take back the names that a cell of this title gave."""
        assert self.shell is not None
        for name, value in self._names.pop(title, {}).items():
            if self.shell.user_ns.get(name) is value:
                del self.shell.user_ns[name]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise UsageError(f"%%cuda: {message}; write it as in %%cuda add, or %%cuda add -q -D TILE=16")


def _asked(line: str) -> argparse.Namespace:
    """What stands behind `%%cuda`."""
    import shlex

    parser = _Parser(prog="%%cuda", add_help=False)
    parser.add_argument("name")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("-a", "--after")
    parser.add_argument("-D", "--define", action="append", default=[])
    parser.add_argument("-i", "--instance", action="append", default=[])
    try:
        asked = parser.parse_args(shlex.split(line))
    except ValueError as error:  # a quote that is not closed
        parser.error(str(error))
    if not asked.name.isidentifier():
        parser.error(f"the name {asked.name!r} cannot be a name in Python")
    for macro in asked.define:
        if not macro.partition("=")[0].isidentifier():
            parser.error(f"-D {macro} is not a macro")
    return asked
