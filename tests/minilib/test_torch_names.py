"""What public models use of torch: each name is here, here under another name, or out of scope."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

import minilib

TABLE = json.loads((Path(__file__).parents[1] / "helpers" / "torch_names.json").read_text(encoding="utf-8"))
NAMES: dict[str, dict[str, Any]] = TABLE["names"]
README = Path(minilib.__file__).with_name("README.md")
HOMES = {  # the longest first
    "torch.nn.functional.": "minilib.functional.",
    "torch.nn.init.": "minilib.nn.init.",
    "torch.nn.": "minilib.nn.",
    "torch.optim.lr_scheduler.": "minilib.optim.",
    "torch.optim.": "minilib.optim.",
    "torch.utils.data.": "minilib.data.",
    "torch.": "minilib.tensor.",
}


def home(name: str) -> str:
    """Where a name of torch would be here under its own name."""
    theirs = next(prefix for prefix in HOMES if name.startswith(prefix))
    return HOMES[theirs] + name.removeprefix(theirs)


def is_there(path: str) -> bool:
    """Whether the library has a module, or in one a class, function or attribute, of this dotted name."""
    parts = path.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("name", [name for name, row in NAMES.items() if "here" in row])
def test_what_is_said_to_be_here_is_here(name: str) -> None:
    assert is_there(NAMES[name]["here"]), f"{name} is said to be {NAMES[name]['here']}"


def test_what_is_out_of_scope_is_not_here() -> None:
    out = [name for name, row in NAMES.items() if "here" not in row]
    assert [name for name in out if is_there(home(name))] == []


def test_another_name_is_given_only_where_its_own_is_missing() -> None:
    """Then the table would be out of date."""
    other = [name for name, row in NAMES.items() if row.get("here", home(name)) != home(name)]
    assert [name for name in other if is_there(home(name))] == []


def test_each_row_says_one_thing_of_a_name_that_somebody_uses() -> None:
    for name, row in NAMES.items():
        assert set(row["in"]) <= set(TABLE["sources"]) and row["in"], name
        assert ("here" in row) != ("out of scope" in row), name


def test_each_reason_is_a_row_of_the_readmes_table() -> None:
    table = README.read_text(encoding="utf-8").partition("## Out of scope")[2]
    rows = re.findall(r"^\| ([^|`]+) \|", table, re.MULTILINE)
    reasons = {row["out of scope"] for row in NAMES.values() if "out of scope" in row}
    assert len(reasons) > 5 and reasons <= set(rows)


def test_the_table_is_linked() -> None:
    assert "(minilib/README.md" in (README.parents[1] / "README.md").read_text(encoding="utf-8")
