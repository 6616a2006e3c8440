"""What a compiler says of CUDA C, in words for somebody who knows Python."""

from __future__ import annotations

import re

from coursekit.grading.answer import Answer


def cuda(message: str, answer: Answer) -> str | None:
    found = re.search(r":(\d+):\d+: error: (.*)", message) or re.search(r"line (\d+): (.*)", message)
    line = answer.code(int(found[1])) if found else ""
    for pattern, words in IN_CUDA:
        if re.search(pattern, line):
            return f"{words} `{line}`" if len(line) < 90 else words
    what = found[2] if found else message
    if "expected a ';'" in what and found:
        return f"A `;` is missing at the end of a statement, here or in the line before: `{line}`"
    if name := re.search(r"identifier ['\"](\w+)['\"] is undefined", what):
        return NAMES_OF_CUDA.get(
            name[1],
            (
                f"`{name[1]}` is not declared: in C a name gets a type where it appears first, "
                f"as in `float {name[1]} = ...;`, and lives only inside of its `{{ }}`."
            ),
        )
    if "expected a '}'" in what:
        return "A `{` is never closed: count the braces."
    return None


IN_CUDA = (
    (r"\bfor\s+\w+\s+in\b", "In C a loop is `for (int i = 0; i < n; i++) { ... }`:"),
    (r"\*\*", "C has no power `**`: multiply, or `powf(x, y)`:"),
    (r"//", "In C `//` begins a comment; whole numbers are divided by `/`:"),
    (r"^\s*(if|while)\s+[^(]", "In C a condition stands in brackets, and no `:` follows:"),
    (r"\belif\b", "In C it is `else if`:"),
    (r"^[^\"/]*#(?!define|pragma|include)", "In C a comment begins with `//`:"),
    (r"\bif\b.*\belse\b(?!.*;.*else)", "In C a choice is `condition ? one : other`:"),
    (r"\bnp\.|\bmath\.", "C has no modules: it is `expf(x)`, `sqrtf(x)`, `fmaxf(x, y)`:"),
    (r"\bdef\b|\blambda\b", "In C a function is `__device__ float name(float x) { ... }`:"),
    (r"\.shape\b|\blen\(", "In C an array is an address: its length comes as a parameter:"),
    (r"\[[^\]]*:[^\]]*\]", "C has no slices: take one element at a time:"),
)
NAMES_OF_CUDA = {
    "None": "C has no `None`.",
    "True": "In C it is `true`.",
    "False": "In C it is `false`.",
    "print": "In C it is `printf(\"%f\\n\", x);`.",
    "pass": "C has no `pass`: an empty body is `{ }`.",
    "elif": "In C it is `else if`.",
    "def": "In C a function begins with the type of its result.",
    "range": "In C a loop is `for (int i = 0; i < n; i++)`.",
    "len": "In C an array is an address: its length comes as a parameter.",
    "sum": "There is no `sum`: add in a loop.",
    "abs_": "Of floats it is `fabsf`.",
}  # fmt: skip
