"""`python3 -m coursekit stamp`: what every notebook says in the same words is written from one source.

- the repository's address in pyproject.toml: the text between `<!-- badges -->` and `<!-- /badges -->` in the
  README and in the opening of each notebook, and the first code cell of each, which begins with `# setup` and
  installs the version of pyproject.toml, by its tag. Solutions that lack the two get them. Behind a link
  from notebook to notebook stands its page in Colab, where the link itself leads nowhere;
- the titles of the lessons: the links between a lesson, its exercises and the next lesson. A lesson ends with
  the cell `next`; exercises have the cell `back` below their opening, and end with `next` too. All folders of
  the course lie side by side, here as in `work/`, so that the same links hold in both;
- how long a lesson takes, where it says `**Time**: 5 minutes to read and run`: a minute for 180 words or
  8 lines of code, two for a displayed equation or a "Your turn", one for a prediction; then its exercises.

Nothing else in these files changes, and exercises/ is made anew from solutions/.
"""

from __future__ import annotations

import argparse
import math
import posixpath
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from coursekit.course import Course, chapter_number
from coursekit.errors import CourseError
from coursekit.files import read_text
from coursekit.make import exercises
from coursekit.make.drift import need_solutions, settle
from coursekit.make.exports import notebooks_in
from coursekit.notebooks import Cell, as_text, cells, locked_cell, read

OPEN, CLOSE = "<!-- badges -->", "<!-- /badges -->"
NO_HINTS = "In Colab exercises have their visible tests alone: hints are in Binder and in a clone."
BACK, NEXT = "back", "next"  # the ids of the cells with links
WORDS, LINES, ROUNDED = 180, 8, 5  # words and lines of code a minute; told in steps of so many minutes

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")
_BLOCK = re.compile(re.escape(OPEN) + r".*?" + re.escape(CLOSE), re.DOTALL)
_SETTING = re.compile(r'^(\[tool\.coursekit\]\n(?:(?!\[).*\n)*?repository = )"[^"\n]*"', re.MULTILINE)
_LINK = re.compile(r"\]\(((?:\.\./\w+/)?\w+\.ipynb)\)(?: \(\[in Colab\]\([^)\s]*\)\))?")
_SETUP = """\
# setup: {does} where it is missing, and does nothing elsewhere
import importlib.util

if importlib.util.find_spec("coursekit") is None:
"""
_INSTALL = '    %pip install --quiet "minilib-course[notebooks] @ git+https://github.com/{repository}@{tag}"'
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
        "--check", action="store_true", help="write nothing; show what differs, and exit with 1"
    )


def run(course: Course, args: argparse.Namespace) -> int:
    if args.check and args.repository is not None:
        raise CourseError("--check compares with pyproject.toml: leave out --repository")
    code = settle(
        course,
        made(course, args.repository),
        check=args.check,
        differ="badges, first cells or links differ: run `python3 -m coursekit stamp`",
        same="badges, first cells and links are as pyproject.toml and the titles say",
    )
    code = exercises.run(course, args) or code
    if course.settings().get("repository"):
        tag = _tag(course)
        print(f"badges and first cells name the tag {tag}: push it (`git tag {tag}`), else they find nothing")
    return code


def made(course: Course, repository: str | None = None) -> dict[Path, str]:
    """The texts that pyproject.toml, the README, lessons and solutions should have, all known to be right."""
    need_solutions(course, "its notebooks are complete as they are")
    if repository is None:
        repository = str(course.settings().get("repository", ""))
    if repository and not _NAME.fullmatch(repository):
        raise CourseError(f'{repository!r} is not OWNER/NAME of a GitHub repository; "" means none')
    address = Address(repository, _tag(course))
    lessons = notebooks_in(course.chapters)
    titles = {path: _title(path) for path in lessons}
    solutions = {chapter_number(path): path for path in notebooks_in(course.solutions)}
    settings, readme = course.root / "pyproject.toml", course.root / "README.md"
    texts = {settings: _with_repository(settings, repository)}
    if readme.exists():
        with_exercises = {number: f"exercises/{course.exercise(number).name}" for number in solutions}
        rows = {f"chapters/{path.name}": with_exercises.get(chapter_number(path)) for path in lessons}
        texts[readme] = _fill(readme, read_text(readme), address.for_readme(rows))
    for place, lesson in enumerate(lessons):
        number = chapter_number(lesson)
        after = next(iter(lessons[place + 1 :]), None)
        exercise = f"exercises/{course.exercise(number).name}"
        practice = [f"**Now yours**: [the exercises](../{exercise})"] if number in solutions else []
        onward = [f"**Next chapter**: [{titles[after]}]({after.name})"] if after else []
        links = {NEXT: practice + onward}
        time = minutes(course, lesson)
        texts[lesson] = _stamped(lesson, links, address, f"chapters/{lesson.name}", time=time)
        if number in solutions:
            back = [f"**The chapter**: [{titles[lesson]}](../chapters/{lesson.name})"]
            onward = [f"**Next chapter**: [{titles[after]}](../chapters/{after.name})"] if after else []
            links = {BACK: back, NEXT: back + onward}
            path = solutions[number]
            texts[path] = _stamped(path, links, address, exercise, add_places=True)
    return texts


def _stamped(
    path: Path,
    links: Mapping[str, list[str]],
    address: Address,
    name: str,
    *,
    add_places: bool = False,
    time: Minutes | None = None,
) -> str:
    """The text of the notebook at `path`, which learners know as `name`, or its old one where it says all."""
    notebook = read(path)
    before = _sources(notebook)
    if add_places:
        _add_places(path, notebook)
    found = cells(path, notebook)
    opening = next((cell for cell in found if not cell.is_code and OPEN in cell.source), None)
    setup = next((cell for cell in found if cell.is_code), None)
    if opening is None:
        raise CourseError(f"{path}: no Markdown cell holds `{OPEN}` and `{CLOSE}`; add them to the opening")
    if setup is None or not setup.source.startswith("# setup"):
        raise CourseError(f"{path}: its first code cell must begin with `# setup`; add one above it")
    opening.node.source = _fill(path, opening.source, address.for_notebook(name))
    setup.node.source = address.setup_cell()
    begin = tuple(
        each[0].split("(")[0] for each in links.values() if each
    )  # also where a copy has lost its id
    ours = [cell.get("id") in (BACK, NEXT) or cell.source.startswith(begin) for cell in notebook.cells]
    first, *others = [cell for cell, is_ours in zip(notebook.cells, ours) if not is_ours]
    notebook.cells = [first, *_links(BACK, links), *others, *_links(NEXT, links)]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = address.with_colab(cell.source, name)
            cell.source = _TOLD.sub(str(time), cell.source) if time else cell.source
    return read_text(path) if _sources(notebook) == before else as_text(notebook)


def _sources(notebook: NotebookNode) -> list[tuple[str, str]]:
    return [(cell.get("id"), cell.source) for cell in notebook.cells]


# The repository's address


@dataclass(frozen=True)
class Address:
    """Where the course is published, if it is."""

    repository: str  # OWNER/NAME, or empty
    tag: str

    def for_readme(self, rows: Mapping[str, str | None]) -> str:
        """What stands between the README's markers; `rows` are lessons, and the exercises of each."""
        if not self.repository:
            return "To install, clone this repository and run `make lab` in the clone."
        badges = [
            f"| `{posixpath.basename(path)}` | {self.binder(path)} {self.colab(path)} | "
            + (f"{self.binder(exercise)} {self.colab(exercise)} |" if exercise else "|")
            for path, exercise in rows.items()
        ]
        return "\n".join(
            [
                f"To install, `git clone https://github.com/{self.repository}` and run `make lab` in the "
                f"clone. Or open a chapter of {self.tag} in the browser:",
                "",
                "| chapter | lesson | exercises |",
                "|---|---|---|",
                *badges,
                "",
                NO_HINTS,
            ]
        )

    def for_notebook(self, path: str) -> str:
        """What stands between the markers of the opening of the notebook at `path` in the repository."""
        if not self.repository:
            return "To run this notebook, run `make lab` in a clone of the course."
        badges = f"{self.binder(path)} {self.colab(path)}"
        return f"{badges}\n\n{NO_HINTS}" if path.startswith("exercises/") else badges

    def with_colab(self, text: str, path: str) -> str:
        """`text` of the notebook at `path`, with a link to Colab behind each link to another notebook."""

        def linked(found: re.Match[str]) -> str:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[1]))
            return f"]({found[1]})" + (f" ([in Colab]({self.in_colab(target)}))" if self.repository else "")

        return _LINK.sub(linked, text)

    def setup_cell(self) -> str:
        """The first code cell of a notebook."""
        install = _INSTALL.format(repository=self.repository, tag=self.tag)
        if self.repository:
            return _SETUP.format(does="installs the course") + install
        return _SETUP.format(does="says how to get the course") + _REFUSE

    def binder(self, path: str) -> str:
        """The badge that opens the reader's own copy, where `lab --prepare` puts it."""
        address = f"https://mybinder.org/v2/gh/{self.repository}/{self.tag}?urlpath=lab/tree/work/{path}"
        return f"[![Open in Binder](https://mybinder.org/badge_logo.svg)]({address})"

    def colab(self, path: str) -> str:
        badge = "https://colab.research.google.com/assets/colab-badge.svg"
        return f"[![Open in Colab]({badge})]({self.in_colab(path)})"

    def in_colab(self, path: str) -> str:
        return f"https://colab.research.google.com/github/{self.repository}/blob/{self.tag}/{path}"


def _tag(course: Course) -> str:
    """The tag of the version that pyproject.toml names: "v0.1.0"."""
    with open(course.root / "pyproject.toml", "rb") as file:
        return f"v{tomllib.load(file).get('project', {}).get('version', '0')}"


def _with_repository(path: Path, repository: str) -> str:
    text, count = _SETTING.subn(rf'\1"{repository}"', read_text(path))
    if count != 1:
        raise CourseError(f'{path}: has no line `repository = ""` below [tool.coursekit]; add it')
    return text


def _add_places(path: Path, notebook: NotebookNode) -> None:
    """Give solutions what they lack: markers below the title, and a locked first code cell."""
    found = cells(path, notebook)
    opening = next((cell for cell in found if not cell.is_code), None)
    if opening and not any(OPEN in cell.source for cell in found):
        title, _, text = opening.source.partition("\n")
        opening.node.source = f"{title}\n\n{OPEN}\n{CLOSE}\n\n{text.lstrip()}".rstrip()
    first = next((cell for cell in found if cell.is_code), None)
    if first and not first.source.startswith("# setup"):
        cell = locked_cell("# setup", "install")
        cell.execution_count = first.node.execution_count
        notebook.cells.insert(first.number - 1, cell)


def _fill(path: Path, text: str, block: str) -> str:
    filled, count = _BLOCK.subn(lambda _: f"{OPEN}\n{block}\n{CLOSE}", text)
    if count != 1:
        raise CourseError(f"{path}: must hold `{OPEN}` ... `{CLOSE}` once; it holds them {count} times")
    return filled


# Links


def _title(path: Path) -> str:
    first = str(read(path).cells[0].source).partition("\n")[0]
    if not first.startswith("# "):
        raise CourseError(f"{path}: its first cell must begin with its title, `# ...`")
    return first.removeprefix("# ")


def _links(name: str, links: Mapping[str, list[str]]) -> list[NotebookNode]:
    source = " · ".join(links.get(name, []))
    return [new_markdown_cell(source, id=name)] if source else []  # type: ignore[no-untyped-call]


# Minutes: of a lesson, of its exercises, and of those that are a stretch, each rounded up to five

NOT_PROSE = [
    r"\$\$.*?\$\$",  # formulas
    r"<details>.*?</details>",
    r"```.*?```",
    r"<!-- badges -->.*?<!-- /badges -->",
    r"\(\[in Colab\]\([^)]*\)\)",
    r"\*The picture.*?\.\*",  # what a picture shows, in words for those who cannot see it
    r"(?m)^[|#].*?$",  # tables, headings
    r"\$[^$]*\$",
    r"<[^>]*>",
]
_TOLD = re.compile(  # wherever its lines end
    (
        r"\*\*Time\*\*: \d+ minutes to read and run"
        r"(?:; the exercises take \d+ more(?:, (?:a stretch|the stretches) \d+)?)?"
    ).replace(" ", r"\s+")
)
_EXERCISE = re.compile(r"(?m)^### \d+\.\d+ .*\(((?:warm-up|core|stretch), \d+ minutes.*)\)$")
_TIER = re.compile(r"(warm-up|core|stretch), (\d+)")  # two in one where the last points are a stretch


@dataclass(frozen=True)
class Minutes:
    """Of a part: to read and run its lesson, for its exercises, and for those that are a stretch."""

    lesson: int
    exercises: int = 0
    stretch: int = 0
    stretches: int = 1  # how many

    def __str__(self) -> str:
        text = f"**Time**: {self.lesson} minutes to read and run"
        if self.exercises:
            text += f"; the exercises take {self.exercises} more"
        which = "a stretch" if self.stretches == 1 else "the stretches"
        return text + (f", {which} {self.stretch}" if self.stretch else "")


def minutes(course: Course, lesson: Path) -> Minutes:
    """What the rule says of a lesson and its exercises."""
    found = cells(lesson, read(lesson))
    own: dict[str, list[int]] = {"warm-up": [], "core": [], "stretch": []}
    for path in course.solutions.glob(f"{chapter_number(lesson)}_*.ipynb"):
        for told in _EXERCISE.findall(prose(cells(path, read(path)))):
            for tier, count in _TIER.findall(told):
                own[tier].append(int(count))
    reading = words(found) / WORDS + lines(found) / LINES + pauses(found)
    most, stretch = rounded(sum(own["warm-up"] + own["core"])), rounded(sum(own["stretch"]))
    return Minutes(rounded(reading), most, stretch, len(own["stretch"]))


def pauses(found: list[Cell]) -> int:
    """Minutes in which nothing is read: a displayed equation, "Your turn", a prediction."""
    equations = re.findall(r"\$\$.+?\$\$", prose(found), flags=re.DOTALL)
    turns = re.findall(r"\*\*Your turn", prose(found))
    predictions = [cell for cell in found if "predict" in cell.node.metadata.get("tags", [])]
    return 2 * (len(equations) + len(turns)) + len(predictions)


def rounded(count: float) -> int:
    return ROUNDED * math.ceil(count / ROUNDED)


def words(found: list[Cell]) -> int:
    """Words of prose: without formulas, tables, headings, closed answers and the links at the end."""
    text = prose(found)
    for pattern in NOT_PROSE:
        text = re.sub(pattern, " ", text, flags=re.DOTALL)
    return len(re.findall(r"[A-Za-z][\w'-]*", text))


def prose(found: list[Cell]) -> str:
    return "\n\n".join(cell.source for cell in found if not cell.is_code and cell.node.id != NEXT)


def lines(found: list[Cell]) -> int:
    """Lines of code, without comments and empty ones."""
    return sum(len(lines_of_code(cell)) for cell in found if cell.is_code)


def lines_of_code(cell: Cell) -> list[str]:
    return [line for line in cell.source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
