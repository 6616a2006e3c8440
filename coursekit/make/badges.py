"""Write the repository's address into the README and the chapters, from one place: pyproject.toml.

Three places change and nothing else: the text between `<!-- badges -->` and `<!-- /badges -->` in the README
and in the opening of each chapter, and the first code cell of each chapter, which begins with `# setup`.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from coursekit.course import Course
from coursekit.errors import CourseError
from coursekit.files import read_text, write_text
from coursekit.notebooks import as_text, cells, read

OPEN, CLOSE = "<!-- badges -->", "<!-- /badges -->"
BRANCH = "main"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")
_BLOCK = re.compile(re.escape(OPEN) + r".*?" + re.escape(CLOSE), re.DOTALL)
_SETTING = re.compile(r'^(\[tool\.coursekit\]\n(?:(?!\[).*\n)*?repository = )"[^"\n]*"', re.MULTILINE)

_SETUP = """\
# setup: installs the course where it is missing, and does nothing elsewhere
import importlib.util

if importlib.util.find_spec("coursekit") is None:
"""
_INSTALL = "    %pip install --quiet git+https://github.com/{repository} pygraphviz graphviz threadpoolctl"
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
    for path in chapters(course):
        planned[path] = in_chapter(path, repository)
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
    return _fill(path, read_text(path), readme_block(repository, [found.name for found in chapters(course)]))


def readme_block(repository: str, names: list[str]) -> str:
    """What stands between the README's markers."""
    if not repository:
        return "To install, clone this repository and run `make lab` in the clone."
    rows = [f"| `{name}` | {binder(repository, name)} | {colab(repository, name)} |" for name in names]
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


def chapter_block(repository: str, name: str) -> str:
    """What stands between the markers of a chapter's opening."""
    if not repository:
        return "To run this notebook, run `make lab` in a clone of the course."
    return f"{binder(repository, name)} {colab(repository, name)}"


def binder(repository: str, name: str) -> str:
    address = f"https://mybinder.org/v2/gh/{repository}/{BRANCH}?urlpath=lab/tree/chapters/{name}"
    return f"[![Open in Binder](https://mybinder.org/badge_logo.svg)]({address})"


def colab(repository: str, name: str) -> str:
    address = f"https://colab.research.google.com/github/{repository}/blob/{BRANCH}/chapters/{name}"
    return f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({address})"


def setup_cell(repository: str) -> str:
    """The first code cell of a chapter."""
    return _SETUP + (_INSTALL.format(repository=repository) if repository else _REFUSE)


def in_chapter(path: Path, repository: str) -> str:
    """The notebook's text with opening and first code cell filled."""
    text, notebook = read_text(path), read(path)
    found = cells(path, notebook)
    opening = next((cell for cell in found if not cell.is_code and OPEN in cell.source), None)
    setup = next((cell for cell in found if cell.is_code), None)
    if opening is None:
        raise CourseError(f"{path}: no Markdown cell holds `{OPEN}` and `{CLOSE}`; add them to the opening")
    if setup is None or not setup.source.startswith("# setup"):
        raise CourseError(f"{path}: its first code cell must begin with `# setup`; add one above it")
    before = opening.source, setup.source
    opening.node.source = _fill(path, opening.source, chapter_block(repository, path.name))
    setup.node.source = setup_cell(repository)
    return text if before == (opening.source, setup.source) else as_text(notebook)


def _fill(path: Path, text: str, block: str) -> str:
    filled, count = _BLOCK.subn(lambda _: f"{OPEN}\n{block}\n{CLOSE}", text)
    if count != 1:
        raise CourseError(f"{path}: must hold `{OPEN}` ... `{CLOSE}` once; it holds them {count} times")
    return filled
