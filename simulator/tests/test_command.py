"""python -m warplens: what compiles and what does not, in the compiler's words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from warplens.__main__ import main

WHOLE = """#include <iostream>
template <typename T> __global__ void scale(T* x) { x[threadIdx.x] *= 2; }
__global__ void add(const float* x, float* y, int n) { if (n > 0) y[threadIdx.x] += x[threadIdx.x]; }
int main() { std::cout << 1; scale<float><<<1, 1>>>(0); }
"""
ADD = "add(const float* x, float* y, int n)"


@pytest.mark.parametrize(
    ("code", "words", "kernels"),
    [
        (WHOLE, (), [ADD]),
        (
            WHOLE,
            ("-i", "scale<double>"),
            [ADD, "scale<double>(double* x)"],
        ),
        ("__global__ void one(int* x) { *x = A; }", ("-D", "A=3"), ["one(int* x)"]),
        ('extern "C" __global__ void two(int* x) { }', (), ["two(int* x)"]),
    ],
)
def test_kernels_are_listed_with_their_parameters(
    code: str, words: tuple[str, ...], kernels: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("WARPLENS", "simulate")
    (tmp_path / "code.cu").write_text(code)
    assert main([str(tmp_path / "code.cu"), *words]) == 0
    assert sorted(capsys.readouterr().out.splitlines()) == kernels


def test_a_mistake_is_told_with_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "wrong.cu").write_text("__global__ void f(int* x) {\n  x[treadIdx.x] = 1;\n}\n")
    command = [sys.executable, "-m", "warplens", "wrong.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("wrong.cu:2:5: error: ")


def test_a_file_that_is_missing_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nowhere.cu"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_help_names_each_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert all(word in told for word in ("file", "-D", "-i", "status"))
