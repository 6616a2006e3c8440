"""NVIDIA's own compiler judges the front end: on the kernels, and on kernels with one token changed."""

from __future__ import annotations

import os
import random
from pathlib import Path

import nvrtc
import pytest
from kernel_files import FOLDER, Example, examples
from kernel_files import WHOLE_FILE as FILE
from tiers import check_each

from warplens.errors import CompileError
from warplens.language import headers, host_code
from warplens.language.frontend import compile_source
from warplens.language.lexer import Token, tokens

pytestmark = [pytest.mark.parity, pytest.mark.skipif(nvrtc.library() is None, reason=nvrtc.WHY_NOT)]

# Beside the kernels, for the front end alone: a bit of everything in the language.
KERNELS = [path for name in ("real", "language") for path in sorted((FOLDER / name).glob("*.cu"))]
INSTANCES = {"flip_template": ["flip<float, 32>", "flip<int, 64>"]}
# By night, a few minutes; by day a quarter of them. Another seed with WARPLENS_SEED.
MUTATIONS = int(os.environ.get("WARPLENS_MUTATIONS", "2000"))
SEED = int(os.environ.get("WARPLENS_SEED", "0"))


def least(source: str) -> int:
    """The architecture from which on there is all that a source uses: bfloat16 came with 80."""
    return 80 if "cuda_bf16.h" in source else 75


def has_its_headers(source: str) -> bool:
    if "cooperative_groups" in source and nvrtc.of_cccl() is None:
        return False
    return "#include <c" not in source or nvrtc.headers() is not None


@pytest.mark.parametrize("architecture", [75, 80, 90])
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_nvrtc_compiles_every_kernel(path: Path, architecture: int) -> None:
    names = INSTANCES.get(path.stem, [])
    if not has_its_headers(path.read_text()):
        pytest.skip("no headers: pip install nvidia-cuda-runtime-cu12 nvidia-cuda-cccl-cu12")
    if architecture < least(path.read_text()):
        pytest.skip("newer than this architecture")
    assert nvrtc.compile_ptx(path.read_text(), architecture, names) is None


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_we_compile_every_kernel(path: Path) -> None:
    names = INSTANCES.get(path.stem, [])
    program = compile_source(path.read_text(), path.name, name_expressions=names)
    assert program.kernels


def test_nvrtc_takes_a_whole_file_without_its_host_code() -> None:
    found = host_code.taken(FILE)
    assert found is not None
    options = [f"--include-path={headers.FOLDER}", "--std=c++17"]
    assert nvrtc.compile_ptx(FILE, 80, found.kernels, options) is not None
    assert nvrtc.compile_ptx(found.text, 80, (*found.kernels, "fill<3>"), options) is None


def verdict(source: str, names: list[str]) -> CompileError | None:
    try:
        compile_source(source, "kernel.cu", name_expressions=names)
    except CompileError as error:
        return error
    return None


def mutated(source: str, rng: random.Random) -> tuple[str, str]:
    """The source with one token deleted, doubled, swapped with the next, or replaced; and what was done."""
    found = tokens(source)[:-1]
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def start(token: Token) -> int:
        return starts[token.at.line - 1] + token.at.column - 1

    i = rng.randrange(len(found) - 1)
    token, after = found[i], found[i + 1]
    a, b, c, d = start(token), start(token) + len(token.text), start(after), start(after) + len(after.text)
    how = rng.choice(("delete", "duplicate", "swap", "replace"))
    if how == "delete":
        return source[:a] + source[b:], f"line {token.at.line}: without {token.text!r}"
    if how == "duplicate":
        return f"{source[:b]} {token.text}{source[b:]}", f"line {token.at.line}: {token.text!r} twice"
    if how == "swap":
        text = source[:a] + after.text + source[b:c] + token.text + source[d:]
        return text, f"line {token.at.line}: {token.text!r} and {after.text!r} swapped"
    other = rng.choice(found).text
    return source[:a] + other + source[b:], f"line {token.at.line}: {token.text!r} replaced by {other!r}"


def disagreements(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    found = []
    kernels = [path for path in KERNELS if has_its_headers(path.read_text())]
    with nvrtc.Apart() as compiler:
        for _ in range(count):
            path = rng.choice(kernels)
            source, what = mutated(path.read_text(), rng)
            names = INSTANCES.get(path.stem, [])
            ours, log = verdict(source, names), compiler.compile_ptx(source, least(path.read_text()), names)
            if log == nvrtc.CRASHED:  # no verdict
                continue
            if ours is None and log is not None:
                told = log.strip().splitlines()[0]
                found.append(f"{path.name}, {what}: NVRTC refuses, we accept\n    {told}")
            if ours is not None and log is None and ours.kind != "unsupported":
                found.append(f"{path.name}, {what}: NVRTC accepts, we refuse\n    {ours}")
    return found


@pytest.mark.parametrize("count", [MUTATIONS // 16, pytest.param(MUTATIONS, marks=pytest.mark.nightly)])
def test_mutations_are_judged_as_nvrtc_judges_them(count: int) -> None:
    found = disagreements(count, SEED)
    assert not found, f"{len(found)} of {count} (seed {SEED}):\n" + "\n".join(found)


@pytest.mark.parametrize("kind", ["accepted", "refused"])
def test_nvrtc_judges_examples_as_we_do(kind: str) -> None:
    if nvrtc.headers() is None:
        pytest.skip("no headers: pip install nvidia-cuda-runtime-cu12")

    def check(example: Example) -> None:
        log = nvrtc.compile_ptx(example.source, 80)
        if not example.name.startswith("unsupported"):
            assert (log is None) == (kind == "accepted"), log

    check_each([example for example in examples(kind) if has_its_headers(example.source)], check)
