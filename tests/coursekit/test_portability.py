"""What differs on Windows and macOS, as far as it shows on any machine: encodings, line ends, processes."""

from __future__ import annotations

import ast
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coursekit import notebooks
from coursekit.course import Course
from coursekit.make import exercises, promote
from coursekit.needs import CELL_TAG, of_notebook
from coursekit.notebooks import cuda_line

ROOT = Path(__file__).parents[2]
SOURCES = [
    path
    for name in ("coursekit", "minilib", "simulator/warplens", "benchmarks")
    for path in (ROOT / name).rglob("*.py")
]
IN_THE_EXTRA = {"scikit-learn": "sklearn"}  # a package whose module has another name


def without_encoding(tree: ast.AST) -> Iterator[str]:
    """Calls that read or write text in whatever encoding the machine prefers: cp1252 on many Windows."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        words = {word.arg for word in call.keywords}
        as_text = (
            (
                name in ("read_text", "write_text")
                and len(call.args) == (name == "write_text")
                and None not in words
            )
            or (name == "open" and isinstance(call.func, ast.Name) and "b" not in mode_of(call))
            or any(word.arg == "text" and ast.unparse(word.value) == "True" for word in call.keywords)
        )
        if as_text and "encoding" not in words:
            yield f"line {call.lineno}: {ast.unparse(call)}"


def mode_of(call: ast.Call) -> str:
    modes = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
    return str(ast.literal_eval(modes[0])) if modes else "r"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_text_has_its_encoding_said(path: Path) -> None:
    assert list(without_encoding(ast.parse(path.read_text(encoding="utf-8")))) == []


def test_the_check_sees_each_kind_of_call() -> None:
    wrong = "p.read_text()\np.write_text(x)\nopen(p)\nsubprocess.run(c, text=True)"
    right = "p.read_text(encoding='utf-8')\nopen(p, 'rb')\nopen(p, encoding='utf-8')"
    assert len(list(without_encoding(ast.parse(wrong)))) == 4
    assert not list(without_encoding(ast.parse(right)))


@pytest.mark.slow
@pytest.mark.parametrize("words", [["doctor"], ["test", "--help"], ["build", "--help"]], ids=" ".join)
def test_commands_speak_to_a_console_of_few_letters(words: list[str]) -> None:
    environment = {**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "coursekit", *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, stdin=subprocess.DEVNULL)
    assert b"Traceback" not in done.stderr and done.stdout


@pytest.mark.nightly
def test_a_checkout_with_crlf_makes_the_same_bytes(tmp_path: Path) -> None:
    course = Course(tmp_path / "course")
    for name in ("chapters", "solutions", "exercises", "minilib"):
        shutil.copytree(ROOT / name, course.root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", course.root)
    for path in course.root.rglob("*"):
        if path.suffix in (".ipynb", ".py", ".cu", ".toml"):
            path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    original = Course(ROOT)
    assert promote.promoted(course) == promote.promoted(original)
    made = {path.name: text for path, text in exercises.made(course).items()}
    assert made == {path.name: text for path, text in exercises.made(original).items()}


@pytest.mark.slow
def test_every_import_of_a_notebook_is_in_its_extra() -> None:
    """Else the first cell of a notebook in Colab would install too little."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["notebooks"]]
    packages = {need.partition(">")[0].partition("=")[0] for need in wanted}
    known = {IN_THE_EXTRA.get(name, name) for name in packages} | {"IPython"}  # by way of ipykernel
    known.add("onnxruntime")  # 09d compares with it where it is installed
    own = {"minilib", "coursekit", "warplens"}
    for path in [*(ROOT / "chapters").glob("*.ipynb"), *(ROOT / "exercises").glob("*.ipynb")]:
        asked = set(of_notebook(notebooks.read(path)))  # what its first cell asks the reader for
        assert imports_of(path) - set(sys.stdlib_module_names) - own - asked <= known, path.name


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for cell in notebooks.cells(path, notebooks.read(path)):
        needs_torch = CELL_TAG in cell.node.metadata.get("tags", [])  # its reader is told what to install
        if cell.is_code and not cuda_line(cell.source) and not needs_torch:
            tree = ast.parse(re.sub(r"(?m)^(\s*)%.*$", r"\1pass", cell.source))
            for node in ast.walk(tree):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                found |= {name.partition(".")[0] for name in names}
    return found


def test_without_fork_shards_in_processes_say_what_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows. Where fork is there and not the default (macOS, Python 3.14) it is asked for by name."""
    from minilib import nn
    from minilib.train import shards

    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    with pytest.raises(RuntimeError, match="workers='threads'"):
        shards.ProcessShards(2, lambda model, batch: (model(batch).sum(), 1), nn.Linear(2, 1), [])
