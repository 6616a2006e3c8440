"""`given`: a module without what the reader writes, for a notebook, and spelled out for the box."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from coursekit import given as given_module
from coursekit.given import parts, spelled_out

ENGINE = '''"""The engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minilib.tensor.core import Tensor

Array = list


class Function:
    """An operation."""

    def name(self) -> str:
        return type(self).__name__


def helper(x: Tensor) -> int:
    return 1
'''
OPERATIONS = '''"""Operations."""

from __future__ import annotations

import math

from minilib.engine import Function, helper

# Arithmetic


class Add(Function):
    def forward(self, x, y):
        return x + y


class Mul(Function):
    def forward(self, x, y):
        return x * y


# Curves


class Exp(Function):
    def forward(self, x):
        return math.exp(x) * helper(x)
'''
CORE = '''"""The tensor."""

from __future__ import annotations

from minilib.operations import Add, Exp, Mul


class Tensor:
    """A number."""

    def __init__(self, data):
        self.data = data

    # Arithmetic

    def __add__(self, other):
        return Tensor(Add().forward(self.data, other.data))

    __radd__ = __add__

    def __mul__(self, other):
        return Tensor(Mul().forward(self.data, other.data))

    # Curves

    def exp(self):
        return Tensor(Exp().forward(self.data))

    @property
    def broken(self):
        return 1 / 0
'''


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small minilib; nothing of it is imported, so that what is missing is noticed."""
    folder = tmp_path / "minilib"
    (folder / "tensor").mkdir(parents=True)
    for name, text in {"engine": ENGINE, "operations": OPERATIONS, "tensor/core": CORE}.items():
        (folder / f"{name}.py").write_text(text)
    for name in ("", "tensor/"):
        (folder / f"{name}__init__.py").write_text("")
    monkeypatch.setattr(given_module, "installed_library", lambda: folder)
    return folder


ALL = ("tensor", "operations", "engine")  # in any order


def notebook(*modules: str, start: str = "", **options: Any) -> dict[str, Any]:
    """The names of a notebook that ran `start` and then called `given`."""
    names: dict[str, Any] = {"__name__": "__main__", "given": given_module.given}
    exec(start, names)
    exec(f"given(*{modules!r}, **{options!r})", names)
    return names


def test_everything_but_what_is_left_out_is_there(library: Path) -> None:
    names = notebook(*ALL, without=["Mul", "Tensor.exp"])
    assert (names["Tensor"](2) + names["Tensor"](3)).data == 5
    assert "Mul" not in names and not hasattr(names["Tensor"], "exp")
    with pytest.raises(NameError, match="Mul"):
        names["Tensor"](2) * names["Tensor"](3)


def test_what_the_reader_writes_afterwards_is_what_is_called(library: Path) -> None:
    names = notebook(*ALL, without=["Mul"])
    exec("class Mul(Function):\n    def forward(self, x, y):\n        return 'mine'", names)
    assert (names["Tensor"](2) * names["Tensor"](3)).data == "mine"
    assert names["Mul"]().name() == "Mul"


def test_members_join_a_class_that_is_there(library: Path) -> None:
    start = "class Function: pass\nclass Tensor:\n    def __init__(self, data): self.data = data"
    names = notebook("operations", "tensor", start=start, only=["Add", "Tensor.__add__", "Tensor.__radd__"])
    tensor = names["Tensor"]
    assert (tensor(2) + tensor(3)).data == 5 and tensor.__radd__ is tensor.__add__
    assert tensor.__add__.__qualname__ == "Tensor.__add__"
    assert "Mul" not in names and not hasattr(tensor, "__mul__")


def test_a_member_that_joins_finds_what_its_class_derives_from(tmp_path: Path) -> None:
    file = tmp_path / "shapes.py"
    file.write_text(
        "class Shape(tuple):\n    def __iter__(self):\n        return (n + 1 for n in super().__iter__())\n"
    )
    names: dict[str, Any] = {}
    for part in 2 * parts(["shapes"], only=["Shape"], library=tmp_path):
        part.run(names)
    assert list(names["Shape"]((1, 2))) == [2, 3]


def test_a_section_leaves_what_is_there_as_it_is(library: Path) -> None:
    start = (
        "class Function: pass\nclass Add(Function): mine = True\n"
        "class Tensor:\n    def __mul__(self, other): return 'mine'"
    )
    names = notebook("operations", "tensor", start=start, only=["Arithmetic"])
    assert names["Add"].mine and "Mul" in names and "Exp" not in names
    assert names["Tensor"]() * 1 == "mine" and hasattr(names["Tensor"], "__add__")


def test_names_of_other_modules_are_imported_unless_the_notebook_has_them(library: Path) -> None:
    (part,) = parts(["operations"], only=["Exp"])
    assert part.text().startswith("import math\nfrom minilib.engine import Function, helper\n")
    (part,) = parts(["operations"], only=["Exp"], known=["Function"])
    assert part.text().startswith("import math\nfrom minilib.engine import helper\n")
    (part,) = parts(["operations"], only=["Add"], known=["Function"])
    assert part.text().startswith("class Add")


def test_spelled_out_it_is_the_same_without_the_rest(library: Path) -> None:
    cell = (
        'from coursekit.given import given\n\ngiven("engine", "operations", "tensor", without=["Mul"])\nx = 1'
    )
    text = spelled_out(cell, library)
    assert "coursekit" not in text and "class Mul" not in text and text.endswith("\nx = 1")
    names: dict[str, Any] = {}
    exec(text, names)
    assert (names["Tensor"](2) + names["Tensor"](3)).data == 5


def test_spelled_out_a_cell_that_only_imports_it_is_empty(library: Path) -> None:
    assert not spelled_out("from coursekit.given import given\n", library).strip()


def test_a_traceback_shows_the_line_of_the_file(library: Path) -> None:
    try:
        _ = notebook(*ALL)["Tensor"](1).broken
    except ZeroDivisionError as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
    assert (Path(last.filename).name, last.line) == ("core.py", "return 1 / 0")


@pytest.mark.parametrize(
    ("modules", "options", "message"),
    [
        (("tensr",), {}, "given: there is no minilib.tensr; did you mean 'tensor'?"),
        (
            ("tensor",),
            {"without": ["Tensor.ex"]},
            "there is no `Tensor.ex` in tensor; did you mean `Tensor.exp`?",
        ),
        (("operations",), {"only": ["Curve"]}, "there is no `Curve` in operations; did you mean `Curves`?"),
    ],
)
def test_a_name_that_is_not_there_is_named(
    library: Path, modules: tuple[str, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match="given: ") as caught:
        notebook(*modules, **options)
    assert message in str(caught.value)


def test_it_needs_the_standard_library_alone() -> None:
    code = "import coursekit.given, sys; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-S", "-c", code], cwd=Path(__file__).parents[2]).returncode == 0
