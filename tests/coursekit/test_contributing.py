"""A contributor's tools and pages are right: hooks, workflow, attributes, and every path that is named."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from coursekit.__main__ import COMMANDS
from coursekit.machine import NEWEST_KNOWN, OLDEST

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / ".pre-commit-config.yaml"
PAGES = ("CONTRIBUTING.md", "README.md")


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_hooks_are_valid_and_run_in_the_environment_of_the_course() -> None:
    (repository,) = loaded(HOOKS)["repos"]
    assert repository["repo"] == "local"  # no other version of ruff, and no network
    entries = {hook["id"]: hook["entry"] for hook in repository["hooks"]}
    assert set(entries) == {"ruff-check", "ruff-format", "promote", "exercises"}
    assert all(entry.startswith(".venv/bin/python -m ") for entry in entries.values())
    assert all(f"coursekit {name} --check" in entries[name] for name in ("promote", "exercises"))
    assert {hook["language"] for hook in repository["hooks"]} == {"system"}
    if importlib.util.find_spec("pre_commit"):
        command = [sys.executable, "-m", "pre_commit", "validate-config", str(HOOKS)]
        assert subprocess.run(command, cwd=ROOT).returncode == 0


def test_the_workflow_runs_what_ci_runs_on_each_push_and_pull_request() -> None:
    workflow = loaded(ROOT / ".github" / "workflows" / "ci.yml")
    assert set(workflow[True]) == {"push", "pull_request"}  # YAML reads `on` as true
    assert workflow["concurrency"]["cancel-in-progress"] is True
    job = workflow["jobs"]["test"]
    assert job["runs-on"] == "ubuntu-latest"
    assert job["steps"][-1] == {"run": ".ci/run"}
    kept = next(step["with"]["path"] for step in job["steps"] if "cache" in step.get("uses", ""))
    assert "pip" in kept and "apt" in kept


def test_each_python_that_is_supported_runs_the_whole_or_the_quick_tests() -> None:
    jobs = loaded(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    assert jobs["versions"]["steps"][-1] == {"run": "make test-fast"}
    whole = re.findall(r"python:(3\.\d+)-", jobs["test"]["container"]["image"])
    supported = {f"3.{minor}" for minor in range(OLDEST[1], NEWEST_KNOWN + 1)}
    assert {*whole, *jobs["versions"]["strategy"]["matrix"]["python"]} == supported


def test_the_simulators_tests_run_where_it_has_changed() -> None:
    workflow = loaded(ROOT / ".github" / "workflows" / "simulator.yml")
    assert {tuple(event["paths"]) for event in workflow[True].values()} == {("simulator/**",)}
    assert "simulator/tests" in workflow["jobs"]["test"]["steps"][-1]["run"]


@pytest.mark.parametrize(
    ("path", "attribute", "value"),
    [
        ("exercises/01_exercises.ipynb", "linguist-generated", "set"),
        ("exercises/01_exercises.ipynb", "diff", "unset"),
        ("chapters/01_scalar.ipynb", "linguist-generated", "unspecified"),
        ("chapters/01_scalar.ipynb", "diff", "jupyternotebook"),
        ("chapters/01_scalar.ipynb", "eol", "lf"),
        ("minilib/scalar.py", "linguist-generated", "unspecified"),
        ("picture.png", "text", "unset"),
        ("kernel.cu", "linguist-language", "Cuda"),
    ],
)
def test_git_knows_what_is_made_and_how_to_compare_notebooks(path: str, attribute: str, value: str) -> None:
    command = ["git", "check-attr", attribute, "--", path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("not a clone: git does not read .gitattributes here")
    assert done.stdout.strip() == f"{path}: {attribute}: {value}"


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_a_page_names_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    folders = "chapters|exercises|solutions|minilib|simulator|coursekit|tests|benchmarks"
    named = set(re.findall(rf"`((?:{folders})/[\w./*-]*)`", text))
    missing = [name for name in named if not any(ROOT.glob(name.rstrip("/")))]
    assert not [name for name in missing if "NN" not in name]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_page_names_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE)) <= targets
    assert set(re.findall(r"-m coursekit ([a-z]+)", text)) <= set(COMMANDS)
