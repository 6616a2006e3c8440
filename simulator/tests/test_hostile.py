"""Sources from strangers: nothing of them becomes Python, and no source hangs the compiler or fills the memory."""

# ruff: noqa: E501 (one kernel, one line)

from __future__ import annotations

import ast
import builtins
import re
import sys
import time
from collections.abc import Iterator

import numpy as np
import pytest

from warplens import CompileError, RawKernel, cp, profile, simulate
from warplens.engine import run, values
from warplens.engine.watched import Watched
from warplens.kernel import Kernel
from warplens.language.half import FUNCTIONS as HALF_FUNCTIONS
from warplens.language.intrinsics import INTRINSICS

pytestmark = pytest.mark.slow

MODES = ("lockstep", "warps", "watched")
SECONDS = 20.0  # of the processor; each takes one or two


def within(body: str, before: str = "") -> str:
    return f'{before}\nextern "C" __global__ void k(int* p, int n) {{\n{body}\n}}\n'


# -------------------------------------------------------------------------------- what becomes of names and texts

# Names that mean something in Python, or in what the generator writes.
NAMES = (
    "L", "m", "G", "NULL", "np", "t1", "m1", "v_a_1", "f_k_1", "s_0", "k_0", "c_0", "result", "given", "split",
    "select", "join", "advance", "wide", "i32", "self", "None", "True", "False", "lambda", "yield", "exec", "eval",
    "import", "def", "pass", "global", "print", "open", "__import__", "__builtins__", "__class__", "os", "sys",
    "outcome", "poison_1", "assert_", "shown_address", "values", "Any", "raise", "with", "from", "is", "not_",
)  # fmt: skip


def everything_named(name: str) -> str:
    """A source whose function, parameters, variables, arrays, struct and field have that name."""
    return f"""
    struct S_{name} {{ int {name}; float other; }};
    __device__ int f_{name}(int {name}) {{ int q = {name} + 1; return q; }}
    __constant__ int c_{name}[2] = {{3, 4}};
    extern "C" __global__ void k(int* {name}, int n) {{
        __shared__ int s_{name}[8];
        int local_{name}[2] = {{1}};
        int unset_{name};
        S_{name} r = {{n, 1.0f}};
        s_{name}[threadIdx.x] = threadIdx.x;
        if (n > 100) unset_{name} = 1;
        __syncthreads();
        for (int i = 0; i < 2; ++i) {{ int {name} = i; local_{name}[i] += {name}; }}
        assert(r.{name} == n && "{name}");
        printf("{name} %s %d\\n", "{name}", r.{name});
        {name}[threadIdx.x] = f_{name}(s_{name}[7 - threadIdx.x]) + local_{name}[1] + c_{name}[1] + r.{name};
        if (n > 100) {name}[0] = unset_{name};
    }}"""


@pytest.mark.parametrize("name", NAMES)
def test_any_name_may_be_used(name: str) -> None:
    kernel = RawKernel(everything_named(name), "k")
    for schedule in ("lockstep", "forward", "reverse"):
        out = cp.zeros(8, np.int32)
        simulate(kernel, (1,), (8,), (out, 5), schedule=schedule)
        assert out.get().tolist() == [8 - t + 1 + 4 + 5 for t in range(8)]
    report = profile(kernel, (1,), (8,), (cp.zeros(8, np.int32), 5))
    assert report.ok and report.printed == f"{name} {name} 5\n" * 8


TEXTS = (
    "'", "\\\"", "\\\\", "{n}", "{__import__('os')}", "\\n", "\\0", "%%", '\\"\\"\\"', "'''", "); import os; (", "\\x27",
    "\\047 + 1", "#", "\\r", "${n}", "</pre><script>alert(1)</script>",
)  # fmt: skip
TRICKS = {
    "strings": within("".join(f'printf("{text}", n > 3 ? 1 : 2);\n'.replace(", n > 3 ? 1 : 2", "") for text in TEXTS)),
    "string arguments": within("".join(f'printf("%s", "{text}");\n' for text in TEXTS)),
    "conditions": within("".join(f'assert(n > 0 || "{text}");\n' for text in TEXTS)),
    "characters": within("p[0] = '\\'' + '\"' + '\\\\' + '#' + '\\n' + '\\x41';"),
    "numbers": within("p[0] = 0x7fffffff + 1'000'000 + 017 + 0b11; float f = 1e30f * 0x1p3f + .5f; p[1] = f;"),
    "macros": within("p[0] = CAT(n, n_) + LEN(a b); printf(STR(\"'); exit()\"));",
                     '#define CAT(a, b) a ## _\n#define STR(x) #x\n#define LEN(x) sizeof(STR(x))\n__device__ const int n_ = 3;').replace("LEN(a b)", "1").replace("CAT(n, n_)", "CAT(n, 1)"),
    "a file in a macro": within('printf("%s %d", __FILE__, __LINE__);'),
    "template names": "template <typename T, int N> __device__ T f(T x) { return x + N; }\n" + within("p[0] = f<unsigned long long, -3>(n) + f<int, 'a'>(n);"),
    "comments": within("p[0] = 1; // '''\n /* \"\"\" \\ */ // \\\n still a comment"),
    "conversions": within('printf("%*.*f%5c%-+ 08d%p", n, n, 1.0f, 65, n, p);'),
}  # fmt: skip


def generated(source: str) -> Iterator[ast.Module]:
    for mode in MODES:
        yield ast.parse(RawKernel(source, "k").code(mode).text)


OWN = re.compile(
    r"L|G|m|result|given|a|b|[mnt][0-9]+|[vf]_\w+_[0-9]+(_set[0-9]*)?|(math_)?\w+_[0-9]+|poison_[0-9]+"
)
CALLED = {name for name in vars(values) if not name.startswith("_")} | {"NULL", "None", "range"}
LOOKED_UP = {name for name in dir(Watched)} | set(["launch", "changes", "first_look", "address"]) | {
    f"{stem}_{axis}" for stem in ("tid", "bid", "bdim", "gdim") for axis in "xyz"
} | {"vote_in_block", "outcome"}  # fmt: skip
WORDS = set(INTRINSICS) | {s.name for group in INTRINSICS.values() for s in group} | set(HALF_FUNCTIONS)


@pytest.mark.parametrize("what", TRICKS)
def test_nothing_of_a_source_stands_in_the_python(what: str) -> None:
    """Names are the generator's own, texts are those of intrinsics, and there is no statement that it never makes."""
    for module in generated(TRICKS[what]):
        check(module, set())


@pytest.mark.parametrize("name", NAMES)
def test_names_stand_in_the_python_under_others(name: str) -> None:
    for module in generated(everything_named(name)):
        check(module, {f"unset_{name}"})  # the one text: what a finding calls a variable


def check(module: ast.Module, texts: set[str]) -> None:
    for node in ast.walk(module):
        assert not isinstance(
            node,
            ast.Import
            | ast.ImportFrom
            | ast.Global
            | ast.Nonlocal
            | ast.ClassDef
            | ast.Try
            | ast.With
            | ast.Delete,
        )
        if isinstance(node, ast.Name):
            assert OWN.fullmatch(node.id) or node.id in CALLED, node.id
            assert node.id == "range" or not hasattr(builtins, node.id)
        if isinstance(node, ast.Attribute):
            assert node.attr in LOOKED_UP, node.attr
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert node.value in WORDS | texts, node.value


def test_texts_come_out_as_they_went_in() -> None:
    report = profile(RawKernel(TRICKS["string arguments"], "k"), (1,), (1,), (cp.zeros(2, np.int32), 1))
    want = "".join(TEXTS).replace("\\x27", "'").replace("\\047", "'").replace("\\0", "")
    want = (
        want.replace("\\\\", "\0")
        .replace("\\n", "\n")
        .replace("\\r", "\r")
        .replace('\\"', '"')
        .replace("\0", "\\")
    )
    assert report.printed == want
    assert "<script>" not in report._repr_html_()


def test_names_are_letters_of_ascii_as_in_nvrtc() -> None:
    for name in ("ünï", "变", "a²", "\u017f", "a\u0301", "µ", "$a", "\u212a"):
        with pytest.raises(CompileError, match="unrecognized"):
            RawKernel(within(f"int {name} = 3; p[0] = {name};"), "k")
    RawKernel(within('printf("ü 变 %d", n);  // \u017f\n#if 0\nü\n#endif'), "k")


def test_line_directives_are_refused() -> None:
    for text in ('#line 7 "evil.py"', "#line 100000000", '# 7 "evil.py"'):
        with pytest.raises(CompileError):
            RawKernel(f"{text}\n{within('p[0] = 1;')}", "k")


# ------------------------------------------------------------------------------------------- what is too much


def macros(first: str, other: str, count: int) -> str:
    return "\n".join([f"#define A0{first}", *(f"#define A{i}{other.format(i - 1)}" for i in range(1, count))])


DEEP = "deeply"
MACROS = "macros"
TEMPLATE = "template <int A, int B, int C, int D> __device__ int f() {\n"
BOMBS = {
    "brackets": (within("p[0] = " + "(" * 5000 + "1" + ")" * 5000 + ";"), DEEP),
    "signs": (within("p[0] = " + "- " * 5000 + "n;"), DEEP),
    "a long sum": (within("p[0] = n" + " + n" * 5000 + ";"), DEEP),
    "many commas": (within("p[0] = (n" + ", n" * 5000 + ");"), DEEP),
    "blocks": (within("{" * 3000 + "}" * 3000), DEEP),
    "branches": (within("if (n) " * 3000 + "p[0] = 1;"), DEEP),
    "loops": (within("for (;;) " * 30 + "p[0] = 1;"), DEEP),
    "choices": (within("p[0] = " + "n ? 1 : " * 3000 + "2;"), DEEP),
    "indices": (within("p[0] = " + "p[" * 900 + "0" + "]" * 900 + ";"), DEEP),
    "conditions": (within("p[0] = n" + " && p[n]" * 2000 + ";"), DEEP),
    "arrays of arrays": (within("int a" + "[1]" * 2000 + ";"), DEEP),
    "an #if": ("#if " + "(" * 5000 + "1" + ")" * 5000 + "\n#endif\n" + within(""), DEEP),
    "calls": ("".join(f"__device__ int f{i}(int a) {{ return {f'f{i - 1}(a)' if i else 'a'}; }}\n" for i in range(2000))
              + within("p[0] = f1999(n);"), DEEP),
    "macros that double": (macros(" x x", " A{0} A{0}", 60) + within("A59"), MACROS),
    "empty macros": (macros("", " A{0} A{0}", 60) + within("A59"), MACROS),
    "macros with arguments": (macros("(x) x x", "(x) A{0}(A{0}(x))", 40) + within("A39(n)"), MACROS),
    "pasted names": ("#define P(a, b) a##b\n#define Q(a) P(a, a)" + within("int " + "Q(" * 30 + "x" + ")" * 30 + ";"), MACROS),
    "texts of texts": ("#define S(x) #x\n#define T(x) S(x)" + within("printf(" + "T(" * 25 + '"' + '"' + ")" * 25 + ");"), MACROS),
    "a chain of macros": (macros(" 1", " A{0}", 5000) + within("p[0] = A4999;"), MACROS),
    "a macro in its argument": ("#define F(x) x\n" + within("p[0] = " + "F(" * 3000 + "1" + ")" * 3000 + ";"), DEEP),
    "products in an #if": (macros(" 9223372036854775807*3", " A{0}*A{0}", 40) + "\n#if A39\n#endif\n" + within(""), MACROS),
    "a template without end": ("template <int N> __device__ int f() { return f<N + 1>(); }" + within("p[0] = f<0>();"), DEEP),
    "a type without end": ("template <typename T> __device__ int f(T a) { return f(&a); }" + within("p[0] = f(n);"), DEEP),
    "many instances": (TEMPLATE + "if constexpr (A + B + C + D < 40) return f<A+1, B, C, D>() + f<A, B+1, C, D>() + f<A, B, C+1, D>()"
                       " + f<A, B, C, D+1>(); else return 1; }" + within("p[0] = f<0, 0, 0, 0>();"), "instances"),
    "a large local array": (within("int a[1ll << 38]; a[n] = 1;"), "local variable"),
    "a large array of zeros": (within("int a[100000000] = {1}; p[0] = a[n];"), "local variable"),
    "arrays of typedefs": ("typedef int T0;" + "".join(f"typedef T{i - 1} T{i}[2];" for i in range(1, 60)) + within("T59 a;"), "local variable"),
    "structs of structs": ("struct S0 { int a; };" + "".join(f"struct S{i} {{ S{i - 1} a, b; }};" for i in range(1, 40)) + within("S39 s;"), "structs"),
    "constant memory": ("__constant__ int c[1ll << 38];" + within("p[0] = c[n];"), "65,536"),
    "global memory": ("__device__ int c[1ll << 38];" + within("p[0] = c[n];"), "1,073,741,824"),
    "an integer": (within("p[0] = " + "9" * 100_000 + ";"), "too large"),
    "an octal integer": (within("p[0] = 0" + "7" * 100_000 + ";"), "too large"),
    "a float": (within("p[0] = " + "9" * 100_000 + ".0;"), "out of range"),
    "an exponent": (within("p[0] = 1e999999999;"), "out of range"),
    "a float of 32 bits": (within("p[0] = 1e39f;"), "out of range"),
    "a hexadecimal float": (within("p[0] = 0x1p999999999999;"), "out of range"),
    "a width": (within('printf("%1000000000d", n);'), "precision"),
    "a comment": ("/*" * 100_000, "closed"),
    "quotes": ('"' * 100_001, "quote"),
    "a zero": (within("p[0] = 1;\0"), "unrecognized"),
}  # fmt: skip


@pytest.mark.parametrize("what", BOMBS)
def test_what_is_too_much_is_refused_soon(what: str) -> None:
    source, message = BOMBS[what]
    start = time.process_time()
    with pytest.raises(CompileError, match=re.escape(message)):
        every(source)
    assert time.process_time() - start < SECONDS


@pytest.mark.parametrize("what", [what for what, (_, message) in BOMBS.items() if message == DEEP])
def test_a_refusal_does_not_depend_on_pythons_limit(what: str) -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)  # PyTorch's compiler raises it, and leaves it so
    try:
        with pytest.raises(CompileError, match=DEEP):
            every(BOMBS[what][0])
        assert sys.getrecursionlimit() == 10_000
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.parametrize("limit", [sys.getrecursionlimit(), 10_000])
def test_a_deep_template_that_ends_is_unsupported_and_no_mistake(limit: int) -> None:
    source = (
        "template <int N> __device__ int f() { if constexpr (N < 150) return f<N + 1>(); else return 1; }"
    )
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        with pytest.raises(CompileError, match=DEEP) as refused:
            every(source + within("p[0] = f<0>();"))
    finally:
        sys.setrecursionlimit(before)
    assert refused.value.kind == "unsupported"


def every(source: str) -> Kernel:
    """A kernel, compiled in all three ways."""
    kernel = RawKernel(source, "k")
    for mode in MODES:
        kernel.code(mode)
    return kernel


MUCH = {
    "conditions of the preprocessor": "#if 1\n" * 5000 + "#endif\n" * 5000 + within("p[0] = 1;"),
    "shifts in an #if": "#if 1" + " << 63" * 5000 + "\n#endif\n" + within("p[0] = 1;"),
    "cases": within("switch (n) {" + "".join(f"case {i}: p[0] = {i}; break;" for i in range(300)) + "}"),
    "variables": within("".join(f"int a{i} = n;" for i in range(1000))),
    "a long name": within("int " + "a" * 1_000_000 + " = 1; p[0] = 1;"),
    "a long text": within('printf("' + "a" * 1_000_000 + '");'),
    "pieces of a text": within("printf(" + '"a" ' * 5000 + ");"),
    "lines that go on": "\\\n" * 20_000 + within("p[0] = 1;"),
    "zeros": within("int a[400][300] = {{1, 2}, {3}}; p[0] = a[0][1] + 10 * a[1][0] + 100 * a[n][n];"),
    "pointers to pointers": "typedef int T0;" + "".join(f"typedef T{i - 1}* T{i};" for i in range(1, 500)) + within("T499 a; p[0] = 1;"),
    "brackets": within("p[0] = " + "(" * 60 + "n" + ")" * 60 + ";"),
    "empty directives": "#\n" * 20_000 + within("p[0] = 1;"),
}  # fmt: skip


@pytest.mark.parametrize("what", MUCH)
def test_what_is_much_but_not_too_much_is_done_soon(what: str) -> None:
    start = time.process_time()
    kernel, out = every(MUCH[what]), cp.zeros(4, np.int32)
    kernel((1,), (1,), (out, 1))
    assert time.process_time() - start < SECONDS
    if what == "zeros":
        assert int(out.get()[0]) == 32


def test_large_local_arrays_run_in_few_threads_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = RawKernel(
        within("char a[4096] = {1}; a[n] = 2; p[blockIdx.x * 64 + threadIdx.x] = a[n] + a[0] + a[9];"), "k"
    )
    assert run.lanes_of(kernel.code("lockstep")) == 65_536
    monkeypatch.setattr(run, "LOCAL_BYTES", 1 << 19)
    assert run.lanes_of(kernel.code("lockstep")) == 128
    out = cp.zeros(64 * 5, np.int32)
    kernel((5,), (64,), (out, 5))
    assert (out.get() == 3).all()


def test_the_compiler_leaves_pythons_limits_as_they_are() -> None:
    before = sys.getrecursionlimit()
    for what in ("brackets", "a long sum"):
        with pytest.raises(CompileError):
            every(BOMBS[what][0])
    assert sys.getrecursionlimit() == before
