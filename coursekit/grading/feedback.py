"""What one student reads: the tasks, their own answers, points, and what is wrong in words.

On this page stand the instructor's task texts, the student's own code, and the grader's messages; where the
hidden tests are public, also the smallest value that is wrong, beside the expected one. Where they are not,
no output of any kernel, no hidden test, no input and no expected value is even passed to this module.
"""

from __future__ import annotations

import functools
import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup
from pygments import highlight  # type: ignore[import-untyped]
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import CudaLexer, PythonLexer  # type: ignore[import-untyped]

from coursekit.files import writing
from coursekit.grading.assemble import HELPERS, Chapter
from coursekit.grading.beside import side_by_side
from coursekit.grading.graphs import picture
from coursekit.grading.markdown import task
from coursekit.grading.page import page, words
from coursekit.grading.results import Result
from coursekit.notebooks import cuda_line

LONGEST = 20_000  # characters of an answer that a page shows

_BLANK = re.compile(r"(?m)^[^\S\n]+$")  # of many such lines the lexer makes quadratic work


def feedback(chapter: Chapter, result: Result) -> str:
    """The page of one student."""
    return page(
        "feedback.html",
        chapter=chapter,
        result=result,
        submission=result.submission,
        helpers=_helpers(result),
        task=task,
        coloured=_coloured,
        side_by_side=side_by_side,
        picture=picture,
        longest=LONGEST,
        code_css=_code_css(),
    )


def write_zip(path: Path, chapter: Chapter, results: Sequence[Result]) -> None:
    """The pages in `feedback/` beside `path`, named as a platform named what it exported, to give back to it.

    A student's folder keeps its name (Moodle); a file's name keeps all but its ending (Canvas).
    """
    with writing(path), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in results:
            place = one.submission.place
            top, ending = os.path.splitext(place)
            is_file = ending.lower() in (".ipynb", ".zip")
            entry = zipfile.ZipInfo(f"{top}.html" if is_file else f"{place}/{chapter.number}_feedback.html")
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED  # no date of today
            if place:
                made = path.parent / "feedback" / one.submission.slug / f"{chapter.number}.html"
                archive.writestr(entry, made.read_bytes())


def _helpers(result: Result) -> str:
    """The helpers cell, where a student wrote something into it."""
    source = result.submission.answers.get(HELPERS, "")
    own = "".join(line for line in source.split("\n") if not line.startswith("#")).strip()
    return source if own else ""


def _coloured(source: str) -> Markup:
    cut = _BLANK.sub("", source[:LONGEST].strip("\n"))
    long = any(len(line) > 500 for line in cut.split("\n"))  # which would keep the lexer busy for minutes
    long |= bool(cuda_line(source)) and len(cut) > 5000  # that of CUDA C goes back and forth over white space
    lexer = CudaLexer() if cuda_line(source) else PythonLexer()
    return Markup((words(cut) if long else highlight(cut, lexer, HtmlFormatter(nowrap=True))).rstrip())


@functools.cache
def _code_css() -> Markup:
    """Colours of Pygments' classes, for light and dark."""
    light = HtmlFormatter(style="default").get_style_defs(".code")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".code")
    kept = [
        "\n".join(line for line in style.splitlines() if line.startswith(".code ."))
        for style in (light, dark)
    ]
    dark_only = f"@media (prefers-color-scheme: dark) {{\n.code span {{ color: inherit; }}\n{kept[1]}\n}}\n"
    return Markup(f"{kept[0]}\n{dark_only}")
