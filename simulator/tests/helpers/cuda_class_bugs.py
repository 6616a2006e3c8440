"""Planted bugs around classes and unions, in the form of `cuda_bugs`, and correct kernels with them."""

from __future__ import annotations

import numpy as np
from cuda_bugs import Bug, Correct


def _kernel(before: str, body: str) -> str:
    head = 'extern "C" __global__ void k(const float* x, float* y, int n) {\n    int t = threadIdx.x;'
    return f"{before.strip()}\n{head}{body}\n}}\n"


def _arguments() -> list[object]:
    return [np.arange(64, dtype=np.float32), np.zeros(64, np.float32), 64]


PAIR = """
struct Pair {
    float a, b;
    __device__ float sum() const { return a + b; }
    __device__ void scale(float k) { a *= k; }
};"""

CLASS_BUGS = [
    Bug(
        "a method reads a member that nobody has written",
        _kernel(
            """
struct Pair {
    float a, b;
    __device__ float sum() const {
        return a + b;  // BUG
    }
};""",
            """
    Pair p;
    p.a = x[t];
    if (t < 60) p.b = 1.0f;
    y[t] = p.sum();""",
        ),
        (1,),
        (64,),
        _arguments,
        section="uninitialised",
        kind="uninitialised",
        array="this.b",
        at=((0, 0, 0), (60, 0, 0)),
        count=4,
    ),
    Bug(
        "a constructor forgets a member",
        _kernel(
            """
struct Count {
    int n, step;
    __device__ Count(int a) : n(a) {}
    __device__ void next() { n += step; }  // BUG
};""",
            """
    Count c(t);
    c.next();
    y[t] = c.n;""",
        ),
        (1,),
        (64,),
        _arguments,
        section="uninitialised",
        kind="uninitialised",
        array="this.step",
        count=64,
    ),
    Bug(
        "an operator [] beyond its array in an object",
        _kernel(
            """
struct Row {
    float v[4];
    __device__ float& operator[](int i) { return v[i]; }
};""",
            """
    Row r = {{1, 2, 3, 4}};
    int i = t == 9 ? 4 : t % 4;
    y[t] = r[i];  // BUG""",
        ),
        (1,),
        (64,),
        _arguments,
        section="out_of_bounds",
        kind="out-of-bounds",
        at=((0, 0, 0), (9, 0, 0)),
        count=1,
    ),
    Bug(
        "a method writes past a global array",
        _kernel(
            """
struct Matrix {
    float* data;
    int width;
    __device__ void set(int i, int j, float value) {
        data[i * width + j] = value;  // BUG
    }
};""",
            """
    Matrix m{y, 8};
    m.set(t / 8, t % 8 + 1, x[t]);""",
        ),
        (1,),
        (64,),
        _arguments,
        section="out_of_bounds",
        kind="out-of-bounds",
        array="y",
        index=64,
        at=((0, 0, 0), (63, 0, 0)),
        count=1,
        also=("races",),
    ),
    Bug(
        "objects in shared memory without a barrier",
        _kernel(
            PAIR.replace("Pair", "Pair5"),
            """
    __shared__ Pair5 s[64];
    s[t].a = x[t];  // OTHER
    s[t].b = 1.0f;
    y[t] = s[63 - t].a;  // BUG
    __syncthreads();
    s[t].scale(2.0f);""",
        ),
        (1,),
        (64,),
        _arguments,
        array="s",
    ),
    Bug(
        "a union read as what nobody wrote",
        _kernel(
            "union Bits { double d; float f[2]; };",
            """
    Bits b;
    b.f[0] = x[t];
    y[t] = b.f[1];  // BUG""",
        ),
        (1,),
        (64,),
        _arguments,
        section="uninitialised",
        kind="uninitialised",
        count=64,
    ),
]

CLASS_CORRECT = [
    Correct(
        "objects that are partly written and copied",
        _kernel(
            PAIR.replace("Pair", "Pair7"),
            """
    Pair7 p;
    p.a = x[t];
    p.scale(2.0f);
    y[t] = p.a;""",
        ),
        (1,),
        (64,),
        _arguments,
    ),
    Correct(
        "objects in shared memory with a barrier",
        _kernel(
            PAIR.replace("Pair", "Pair8"),
            """
    __shared__ Pair8 s[64];
    s[t].a = x[t];
    s[t].b = 1.0f;
    s[t].scale(3.0f);
    __syncthreads();
    y[t] = s[63 - t].sum();""",
        ),
        (1,),
        (64,),
        _arguments,
    ),
    Correct(
        "a union of a vector and an array",
        _kernel(
            "union Quad { float4 v; float a[4]; };",
            """
    Quad q;
    q.v = reinterpret_cast<const float4*>(x)[t % 16];
    float s = 0.0f;
    for (int i = 0; i < 4; ++i) s += q.a[i];
    y[t] = s;""",
        ),
        (1,),
        (64,),
        _arguments,
    ),
]
