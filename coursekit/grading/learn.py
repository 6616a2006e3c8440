"""`python3 -m coursekit.grading.learn 1.4 NOTEBOOK "hint"`: make a known mistake of a wrong answer.

The instructor's report lists wrong answers that nothing explains. One of them, with a hint, becomes an entry
of `solutions/misconceptions/`; the chapter's tests then grade it as they grade all others. It is written only
if the answer is wrong, and earns no hint yet.
"""

from __future__ import annotations

import sys
from pathlib import Path

from coursekit import notebooks
from coursekit.course import Course, chapter_number
from coursekit.errors import CourseError
from coursekit.grading.assemble import Chapter, Exercise, load_chapter
from coursekit.grading.control import misconceptions_of
from coursekit.grading.live import Live, here
from coursekit.grading.submissions import answers_of

SEED = 7


def learn(course: Course, number: str, path: Path, hint: str) -> Path:
    """Write the entry; the file that it stands in. Raises CourseError where the answer is no such mistake."""
    chapter, exercise = _exercise(course, number)
    answers, _ = answers_of(path, chapter)
    answer = answers.get(number)
    if exercise.left_alone(answer) or answer is None:
        raise CourseError(f"{path}: has no answer to {number}; name the notebook of a wrong one")
    with Live.opened(chapter, course, SEED) as live:
        result = live.examine(exercise, {number: answer}, [])
    if result.passed:
        raise CourseError(f"{path}: its answer to {number} earns all points; a known mistake must lose some")
    if result.hint:
        raise CourseError(f'{path}: its answer to {number} earns a hint already: "{result.hint}"')
    folder = chapter.path.parent / "misconceptions"
    target = folder / f"{chapter.path.stem}.{'cu' if exercise.cuda else 'py'}"
    mark = "//" if exercise.cuda else "#"
    body = notebooks.cuda_text(answer) if exercise.cuda else answer
    quoted = hint.replace("\\", "\\\\").replace('"', '\\"')
    entry = f'\n{mark} %% exercise={number} hint="{quoted}"\n{body.strip()}\n'
    before = target.read_text(encoding="utf-8") if target.is_file() else ""
    target.write_text(before.rstrip("\n") + "\n" + entry, encoding="utf-8")
    if not _is_read(chapter, number, hint, body):
        target.write_text(before, encoding="utf-8")
        raise CourseError(
            f"{target}: the entry could not be read back; the hint must be one line, "
            f"and no line of the answer may begin with `{mark} %%`"
        )
    return target


def _is_read(chapter: Chapter, number: str, hint: str, answer: str) -> bool:
    """Whether the chapter's known mistakes, read anew, hold this one."""
    wanted = (number, hint, answer.strip())
    try:
        return wanted in [(one.exercise, one.hint, one.source.strip()) for one in misconceptions_of(chapter)]
    except CourseError:
        return False


def _exercise(course: Course, number: str) -> tuple[Chapter, Exercise]:
    part = f"{int(number.partition('.')[0]):02d}" if number.partition(".")[0].isdecimal() else ""
    for path in sorted(course.solutions.glob(f"{part}*.ipynb") if part else ()):
        if chapter_number(path).startswith(part):
            chapter = load_chapter(path)
            for exercise in chapter.exercises:
                if exercise.number == number:
                    return chapter, exercise
    raise CourseError(f"{course.solutions}: has no exercise {number}; it is a number such as 1.4")


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__.partition("\n")[0], file=sys.stderr)
        return 2
    try:
        print(f"{learn(here(), sys.argv[1], Path(sys.argv[2]), sys.argv[3])}: look at its end")
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
