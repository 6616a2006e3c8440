"""One place for every version, and the files around the code agree with each other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from coursekit.testing import test as course_test

ROOT = Path(__file__).parents[2]
TABLES = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, SETTINGS = TABLES["project"], TABLES["tool"]["pytest"]["ini_options"]
EXTRAS = PROJECT["optional-dependencies"]


def environment() -> list[object]:
    data = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    return list(data["dependencies"])


def test_binder_gets_python_3_12_and_the_package_by_pip_and_no_other_version() -> None:
    assert environment() == ["python=3.12", "pip"]
    script = ROOT / "postBuild"
    assert os.access(script, os.X_OK) and subprocess.run(["bash", "-n", script]).returncode == 0
    assert "pip install --no-cache-dir --quiet -e '.[course]'" in script.read_text()


def test_work_is_there_when_binder_starts() -> None:
    assert (ROOT / "postBuild").read_text().endswith("\npython -m coursekit lab --prepare\n")


def lowest(needs: list[str]) -> set[str]:
    """Of `name>=1.2`, and of `name==1.2`, the line `name==1.2`; an extra of our own has none."""
    found = (re.match(r"([\w-]+)[>=]=([\w.]+)", need) for need in needs)
    return {f"{one[1]}=={one[2]}" for one in found if one}


def test_the_lowest_versions_are_those_that_are_tried() -> None:
    lines = (ROOT / "tests" / "bare" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    tried = {line for line in lines if not line.startswith("#")}
    allowed = lowest([*PROJECT["dependencies"], *EXTRAS["notebooks"], *EXTRAS["course"], *EXTRAS["test"]])
    assert tried == allowed - {"ipykernel==6.17.1"}  # Colab's own; pip's oldest for the course is newer


def test_the_python_of_binder_is_one_that_the_package_allows() -> None:
    version = next(str(item).partition("=")[2] for item in environment() if str(item).startswith("python="))
    assert version in SpecifierSet(PROJECT["requires-python"])


def test_there_are_the_extras_that_the_readme_and_the_commands_use() -> None:
    assert set(EXTRAS) == {
        "notebooks", "course", "gpu", "fast", "cluster", "pretrained", "torch", "test", "parity",
    }  # fmt: skip


def test_ci_installs_the_packages_that_the_readme_names() -> None:
    readme = re.search(r"^apt install (.*)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    script = re.search(r"^packages=\((.*)\)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert readme and script and readme[1] == script[1]


def test_bare_roots_get_the_packages_that_the_readme_names_and_run_its_commands() -> None:
    script = (ROOT / "tests" / "bare" / "run").read_text(encoding="utf-8")
    assert "s/^apt install " in script and "make lab" in script and "make test" in script
    assert subprocess.run(["bash", "-n", ROOT / "tests" / "bare" / "run"]).returncode == 0


def test_the_readme_names_the_test_command_and_ci_runs_the_whole_of_it() -> None:
    assert re.search(r"^make test\b", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert re.search(r"^make test-all\b", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert subprocess.run(["bash", "-n", ROOT / ".ci" / "run"]).returncode == 0


def test_marks_are_the_tiers_and_what_a_test_may_need() -> None:
    marks = {line.partition(":")[0] for line in SETTINGS["markers"]}
    assert marks == {"slow", "thorough", "nightly", "long", "oracle", *course_test.NEEDS}
    said = " ".join(mark for tier in course_test.TIERS.values() for mark in (*tier.left, tier.only))
    assert {*re.findall(r"\w+", said)} - {"or"} == marks - {"oracle"}
    nightly = (ROOT / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8")
    assert "- run: .ci/run\n" in nightly and "- run: make test-nightly\n" in nightly


def test_pytorch_is_pinned_and_nothing_that_all_install_needs_it() -> None:
    wanted = {extra: [one for one in needs if "torch" in one] for extra, needs in EXTRAS.items()}
    pinned = ["torch==2.13.0"]
    assert {extra: needs for extra, needs in wanted.items() if needs} == {"parity": pinned, "torch": pinned}


def test_the_linters_are_pinned() -> None:
    pinned = [need for needs in EXTRAS.values() for need in needs if need.startswith(("ruff", "mypy"))]
    assert len(pinned) == 2 and all("==" in need for need in pinned)


def test_what_a_learner_makes_is_not_committed() -> None:
    ignored = (ROOT / ".gitignore").read_text().split()
    assert {".venv/", "/work/", "/mine/"} <= set(ignored)


def test_nbformat_starts_without_a_grammar_that_no_notebook_needs() -> None:
    code = "import coursekit.light, nbformat, sys; print('lark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


# On the package index, `minilib` is somebody else's.
FOREIGN = re.compile(r"""pip3?\s+install\s[^\n`;]*?(?<![\w/.-])minilib(?!-course\b|\w|[./]\w)""")
TEXTS = {".py", ".md", ".ipynb", ".toml", ".yml", ".yaml", ".txt", ".cu", ".sh", ".in", ""}


def test_no_text_of_the_repository_installs_a_foreign_minilib() -> None:
    own = {path for path in ROOT.iterdir() if not path.name.startswith(".") or path.name == ".github"}
    own -= {ROOT / "work", ROOT / "mine"}
    paths = {path for place in own for path in (place.rglob("*") if place.is_dir() else [place])}
    texts = [path for path in paths if path.suffix in TEXTS and path.is_file() and path != Path(__file__)]
    assert {ROOT / "README.md", ROOT / "postBuild", ROOT / "minilib" / "pretrained.py"} <= set(texts)
    found = {path for path in texts if FOREIGN.search(path.read_text(encoding="utf-8", errors="replace"))}
    assert not found


@pytest.mark.parametrize(
    "line",
    ["pip install minilib", "pip install -U 'minilib[pretrained]'", '%pip install \\"minilib>=1\\"',
     "python -m pip install minilib-extra", "pip3 install numpy minilib."],
)  # fmt: skip
def test_the_search_sees_a_foreign_minilib(line: str) -> None:
    assert FOREIGN.search(line)


@pytest.mark.parametrize(
    "line",
    ["pip install minilib-course", "pip install 'minilib-course[notebooks] @ git+https://x/minilib'",
     "pip install -e ./minilib", "pip install numpy; python -m minilib.projects.sort",
     "`pip install x`: minilib"],
)  # fmt: skip
def test_the_search_lets_our_own_name_pass(line: str) -> None:
    assert not FOREIGN.search(line)
