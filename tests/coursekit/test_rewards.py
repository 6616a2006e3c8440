"""What a learner sees of their library: the milestone's picture, here on the finished library."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from coursekit.course import Course, chapter_number
from coursekit.mine.library import environment
from coursekit.mine.milestone import scripts
from coursekit.mine.rewards import REWARDS

pytestmark = pytest.mark.thorough

COURSE = Course(Path(__file__).parents[2])


def test_each_reward_is_asked_for_by_its_lesson() -> None:
    numbers = {chapter_number(path) for path in COURSE.chapters.glob("*.ipynb")}
    asked = {name for name, text in scripts(COURSE, numbers).items() if "import reward" in text}
    assert asked == {f"milestone_{number}.py" for number in REWARDS}


@pytest.mark.parametrize("number", sorted(REWARDS))
def test_what_a_reward_draws_is_there_in_its_milestone(number: str) -> None:
    (script, *_) = scripts(COURSE, {number}).values()
    drawn = re.findall(r'names\["(\w+)"\]', inspect.getsource(REWARDS[number][0]))
    assert drawn and [name for name in drawn if not re.search(rf"\b{name}\b", script)] == []


EACH_TIME, *AT_NIGHT = sorted(REWARDS)


@pytest.mark.parametrize(
    "number", [EACH_TIME, *(pytest.param(n, marks=pytest.mark.nightly) for n in AT_NIGHT)]
)
def test_a_milestone_draws_what_it_has_trained_and_says_where(number: str, tmp_path: Path) -> None:
    (name, text), *_ = scripts(COURSE, {number}).items()
    script = tmp_path / "mine" / name
    script.parent.mkdir()
    script.write_text(text)
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment(COURSE, COURSE.root),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    picture = script.with_suffix(".png")
    assert done.stdout.splitlines()[-1] == f"{REWARDS[number][1]}: mine/{picture.name}"
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000
