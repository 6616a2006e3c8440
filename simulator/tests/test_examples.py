"""The .cu files of tests/kernels: what is accepted and refused, and directives that are wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kernel_files import Example, examples, read

from warplens import CompileError
from warplens.language.frontend import compile_source


@pytest.mark.parametrize("example", examples("accepted"), ids=lambda example: example.id)
def test_what_is_accepted(example: Example) -> None:
    assert compile_source(example.source).kernels


@pytest.mark.parametrize("example", examples("refused"), ids=lambda example: example.id)
def test_what_is_refused(example: Example) -> None:
    """Names and key words stand in the message; how it is worded is not looked at."""
    with pytest.raises(CompileError) as caught:
        compile_source(example.source)
    said = str(caught.value)
    assert (caught.value.kind == "unsupported") == example.name.startswith("unsupported")
    missing = [word for word in re.findall(r"'[^']*'|\S+", example.name) if word not in said]
    assert not missing, said


@pytest.mark.parametrize(
    ("directive", "words"),
    [
        ("launch: <<<1, 64>>> x:f33[64]", "x:f33[64]"),
        ("launch: <<<1, 64>>> x:f32[64]=1..63", "63 values"),
        ("launch: 1, 64", "<<<"),
        ("expect: races", "races"),
        ("expect: races shared line=3", "line"),
        ("lunch: <<<1, 64>>>", "lunch"),
    ],
)
def test_a_wrong_directive_is_told_with_its_line(directive: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "topic.cu"
    path.write_text(f"// bug: one\n// {directive}\nvoid k() {{}}\n")
    with pytest.raises(ValueError, match=r"topic:2") as caught:
        read(path)
    assert words in str(caught.value)


def test_a_file_without_a_kernel_is_told(tmp_path: Path) -> None:
    path = tmp_path / "topic.cu"
    path.write_text("// bugs: none\n")
    with pytest.raises(ValueError, match=r"topic\.cu"):
        read(path)
