"""Write the repository's address into the README and all notebooks, from one place: pyproject.toml.

Three places change and nothing else: the text between `<!-- badges -->` and `<!-- /badges -->` in the README
and in the opening of each notebook, and the first code cell of each notebook, which begins with `# setup`.
Exercises that lack the two get them. What is installed has the version in pyproject.toml, by its tag.
"""

from __future__ import annotations

import argparse
import copy
import re
import tomllib
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from coursekit.course import Course, chapter_number
from coursekit.errors import CourseError
from coursekit.files import read_text, write_text
from coursekit.notebooks import as_text, cells, read

OPEN, CLOSE = "<!-- badges -->", "<!-- /badges -->"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")
_BLOCK = re.compile(re.escape(OPEN) + r".*?" + re.escape(CLOSE), re.DOTALL)
_SETTING = re.compile(r'^(\[tool\.coursekit\]\n(?:(?!\[).*\n)*?repository = )"[^"\n]*"', re.MULTILINE)

_SETUP = """\
# setup: installs the course where it is missing, and does nothing elsewhere
import importlib.util

if importlib.util.find_spec("coursekit") is None:
"""
_INSTALL = '    %pip install --quiet "minilib[notebooks] @ git+https://github.com/{repository}@{tag}"'
_LOCKED: dict[str, object] = {
    "nbgrader": {
        "grade": False, "grade_id": "install", "locked": True, "points": 0, "schema_version": 3,
        "solution": False, "task": False,
    }
}  # fmt: skip
_REFUSE = (
    '    raise ModuleNotFoundError("run `make lab` in a clone of the course, and open this notebook there")'
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repository",
        metavar="OWNER/NAME",
        help='on GitHub, or "" for none (default: as pyproject.toml says)',
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit code 1 where something differs"
    )


def run(course: Course, args: argparse.Namespace) -> int:
    if args.check and args.repository is not None:
        raise CourseError("--check compares with pyproject.toml: leave out --repository")
    changes = plan(course, args.repository)
    if args.check:
        for path in changes:
            print(f"{path.relative_to(course.root)}: differs from pyproject.toml; run `make badges`")
        return 1 if changes else 0
    for path, text in changes.items():
        write_text(path, text)
        print(f"{path.relative_to(course.root)}: written")
    if not changes:
        print("nothing to change")
    return 0


def plan(course: Course, repository: str | None = None) -> dict[Path, str]:
    """The files that have to change, with their new text: all is known to be right before one is written."""
    settings = course.root / "pyproject.toml"
    if repository is None:
        repository = str(course.settings().get("repository", ""))
    check_name(repository)
    planned = {settings: set_repository(settings, repository)}
    readme = course.root / "README.md"
    if readme.exists():
        planned[readme] = in_readme(readme, repository, course)
    tag = tag_of(course)
    for folder in (course.chapters, course.solutions, course.exercises):
        for path in sorted(folder.glob("*.ipynb")):
            planned[path] = in_notebook(path, repository, tag, of_exercises=folder != course.chapters)
    return {path: text for path, text in planned.items() if text != read_text(path)}


def chapters(course: Course) -> list[Path]:
    return sorted(course.chapters.glob("*.ipynb"))


def check_name(repository: str) -> None:
    if repository and not _NAME.fullmatch(repository):
        raise CourseError(f'{repository!r} is not OWNER/NAME of a GitHub repository; "" means none')


def set_repository(path: Path, repository: str) -> str:
    text, count = _SETTING.subn(rf'\1"{repository}"', read_text(path))
    if count != 1:
        raise CourseError(f'{path}: has no line `repository = ""` below [tool.coursekit]; add it')
    return text


def in_readme(path: Path, repository: str, course: Course) -> str:
    names = [found.name for found in chapters(course)]
    return _fill(path, read_text(path), readme_block(repository, tag_of(course), names))


def tag_of(course: Course) -> str:
    """The tag of the version that pyproject.toml names: "v0.1.0"."""
    with open(course.root / "pyproject.toml", "rb") as file:
        return f"v{tomllib.load(file).get('project', {}).get('version', '0')}"


def readme_block(repository: str, tag: str, names: list[str]) -> str:
    """What stands between the README's markers."""
    if not repository:
        return "To install, clone this repository and run `make lab` in the clone."
    places = [(name, (repository, tag, f"chapters/{name}")) for name in names]
    rows = [f"| `{name}` | {binder(*place)} | {colab(*place)} |" for name, place in places]
    return "\n".join(
        [
            f"To install, `git clone https://github.com/{repository}` and run `make lab` in the clone. "
            "Or open a chapter in the browser:",
            "",
            "| chapter | Binder | Colab |",
            "|---|---|---|",
            *rows,
        ]
    )


def notebook_block(repository: str, tag: str, path: str) -> str:
    """What stands between the markers of the opening of the notebook at `path` in the repository."""
    if not repository:
        return "To run this notebook, run `make lab` in a clone of the course."
    return f"{binder(repository, tag, path)} {colab(repository, tag, path)}"


def binder(repository: str, tag: str, path: str) -> str:
    """The badge that opens the reader's own copy, where `lab --prepare` puts it."""
    address = f"https://mybinder.org/v2/gh/{repository}/{tag}?urlpath=lab/tree/work/{path}"
    return f"[![Open in Binder](https://mybinder.org/badge_logo.svg)]({address})"


def colab(repository: str, tag: str, path: str) -> str:
    address = f"https://colab.research.google.com/github/{repository}/blob/{tag}/{path}"
    return f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({address})"


def setup_cell(repository: str, tag: str) -> str:
    """The first code cell of a notebook."""
    return _SETUP + (_INSTALL.format(repository=repository, tag=tag) if repository else _REFUSE)


def in_notebook(path: Path, repository: str, tag: str, *, of_exercises: bool) -> str:
    """The notebook's text with opening and first code cell filled."""
    text, notebook = read_text(path), read(path)
    had = len(notebook.cells)
    if of_exercises:
        add_places(path, notebook)
    found = cells(path, notebook)
    opening = next((cell for cell in found if not cell.is_code and OPEN in cell.source), None)
    setup = next((cell for cell in found if cell.is_code), None)
    if opening is None:
        raise CourseError(f"{path}: no Markdown cell holds `{OPEN}` and `{CLOSE}`; add them to the opening")
    if setup is None or not setup.source.startswith("# setup"):
        raise CourseError(f"{path}: its first code cell must begin with `# setup`; add one above it")
    before = had, opening.source, setup.source
    name = f"exercises/{chapter_number(path)}_exercises.ipynb" if of_exercises else f"chapters/{path.name}"
    opening.node.source = _fill(path, opening.source, notebook_block(repository, tag, name))
    setup.node.source = setup_cell(repository, tag)
    return text if before == (len(notebook.cells), opening.source, setup.source) else as_text(notebook)


def add_places(path: Path, notebook: NotebookNode) -> None:
    """Give a notebook of exercises what it lacks: markers below its title, and a locked first code cell."""
    found = cells(path, notebook)
    opening = next((cell for cell in found if not cell.is_code), None)
    if opening and not any(OPEN in cell.source for cell in found):
        title, _, text = opening.source.partition("\n")
        opening.node.source = f"{title}\n\n{OPEN}\n{CLOSE}\n\n{text.lstrip()}".rstrip()
    first = next((cell for cell in found if cell.is_code), None)
    if first and not first.source.startswith("# setup"):
        metadata: dict[str, object] = copy.deepcopy(_LOCKED)
        was_run = first.node.execution_count is not None  # else it is a notebook of exercises/
        if not was_run:
            metadata |= {"deletable": False, "editable": False}
        cell = new_code_cell("# setup", id="install", metadata=metadata)  # type: ignore[no-untyped-call]
        cell.execution_count = 1 if was_run else None
        notebook.cells.insert(first.number - 1, cell)


def _fill(path: Path, text: str, block: str) -> str:
    filled, count = _BLOCK.subn(lambda _: f"{OPEN}\n{block}\n{CLOSE}", text)
    if count != 1:
        raise CourseError(f"{path}: must hold `{OPEN}` ... `{CLOSE}` once; it holds them {count} times")
    return filled
