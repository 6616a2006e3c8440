"""The cutting of kernels out of .cu files, and the figures that are written down."""

from __future__ import annotations

import json
from pathlib import Path

import nvrtc
import public_kernels
import pytest
from kernel_cutter import Item, Reader, bare, instances, needed, source

from warplens.language.frontend import compile_source

COMMON = """
#pragma once
#include <stdio.h>
#define CHECK(call) do { if (call) exit(1); } while (0)
#define TILE 16
template <typename T> struct Range { T low, high; };
struct Cell { int n; float x; };
static inline int blocks(int n) { return (n + TILE - 1) / TILE; }
"""
FILE = r"""
#include "common.h"
#include <vector>
// a kernel: __global__ void not_this_one(int* x) {}
using Real = float;
constexpr int ROWS = 4;
const int COLS = ROWS * 2, UNUSED = 7;
enum Mode { FAST, SLOW = 3 };
#ifdef __CUDACC__
#define ON_DEVICE __device__ __forceinline__
#else
#define ON_DEVICE
#endif
#if 0
__global__ void never(int* x) {}
#endif
__constant__ Real weights[ROWS];
ON_DEVICE Real twice(Real x) { return 2 * x; }
__host__ __device__ int half_of(int n) { return n / 2; }
template <typename T, int N> __global__ void scale(T* x, int n) {
    __shared__ T tile[N];
    int i = threadIdx.x; /* } */
    if (i < n) x[i] = tile[i % N] * '}';
}
__global__ void __launch_bounds__(TILE * ROWS) smooth(Real* x, Cell* cells, uint32_t n)
{
#ifdef TWICE
    if (n > 2) {
#else
    if (n > half_of(COLS)) {
#endif
        x[n] = twice(weights[0]) + cells[n].x + (SLOW - FAST) + INFINITY;
    }
}
int main() {
    std::vector<float> x(100);
    CHECK(cudaMalloc(0, 4));
    scale<double, TILE><<<blocks(100), TILE>>>(nullptr, 3);
}
"""


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    (tmp_path / "common.h").write_text(COMMON)
    (tmp_path / "file.cu").write_text(FILE)
    return Reader(tmp_path).items(tmp_path / "file.cu")


def kernel(items: list[Item], name: str) -> Item:
    return next(item for item in items if item.kind == "kernel" and item.names[0] == name)


def test_kernels_are_found_where_they_are_compiled(items: list[Item]) -> None:
    assert [item.names[0] for item in items if item.kind == "kernel"] == ["scale", "smooth"]


def test_a_kernel_comes_with_what_it_needs_and_without_the_host(items: list[Item]) -> None:
    text = source(needed(kernel(items, "smooth"), items))
    assert text.startswith("#include <stdint.h>\n#include <math.h>\n")
    for part in ("struct Cell", "using Real", "ROWS = 4", "COLS =", "enum Mode", "weights", "twice"):
        assert part in text
    for part in ("Range", "main", "CHECK", "scale", "vector", "blocks"):
        assert part not in text


def test_a_template_gets_the_arguments_of_its_launch_first(items: list[Item]) -> None:
    found = list(instances(kernel(items, "scale"), items, FILE))
    assert found[:2] == ["double, TILE", "float, 256"]


@pytest.mark.skipif(nvrtc.library() is None, reason=nvrtc.WHY_NOT)
@pytest.mark.parametrize("name", ["smooth", "scale<double, TILE>"])
def test_what_is_cut_out_compiles_in_both(items: list[Item], name: str) -> None:
    one = kernel(items, name.partition("<")[0])
    text = source(needed(one, items, name.replace(">", "").split()))
    assert nvrtc.compile_ptx(text, 80, [name]) is None
    assert name in compile_source(text, name_expressions=[name]).kernels


def test_two_kernels_that_differ_in_comments_and_spaces_are_one() -> None:
    assert bare("int  a; // one\n/* two */ int b;") == bare("int a;\nint b;")


def test_the_written_figures_add_up() -> None:
    found = json.loads(public_kernels.RESULTS.read_text())
    rows = found["kernel_rows"]
    assert len(rows) == found["kernels"] == sum(found["verdicts"].values())
    assert found["accepted"] == sum(verdict == "accepted" for *_, verdict, _ in rows)
    for name, of in found["repositories"].items():
        assert of["kernels"] == sum(row[0] == name for row in rows) and len(of["commit"]) == 40
    assert sum(why["kernels"] for why in found["reasons"]) == found["kernels"] - found["accepted"]
