"""The .cu files of tests/kernels: what is accepted and refused, and directives that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_files import FOLDER, Example, read
from key_words import says
from tiers import check_each

from warplens import CompileError
from warplens.language.frontend import compile_source

FILES = [
    (name, path.name) for name in ("accepted", "refused") for path in sorted((FOLDER / name).glob("*.cu"))
]


@pytest.mark.parametrize(("folder", "file"), FILES)
def test_what_is_accepted_and_what_is_refused(folder: str, file: str) -> None:
    def check(example: Example) -> None:
        if example.kind == "accepted":
            assert compile_source(example.source).kernels
            return
        with pytest.raises(CompileError) as caught:
            compile_source(example.source)
        assert (caught.value.kind == "unsupported") == example.name.startswith("unsupported")
        assert says(str(caught.value), example.name), str(caught.value)

    check_each(read(FOLDER / folder / file), check)


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
