"""A whole .cu file, pasted: its kernels are taken, and host code is left aside with a note of its lines."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from fake_cupy import installed
from kernel_files import WHOLE_FILE as FILE
from key_words import says

from warplens import CompileError, KernelFault, RawKernel, RawModule, cp, profile
from warplens.language import host_code

LINES = "lines 3-6, 10, 13, 16, 23, 38, 41-56"


def taken(source: str = FILE, name: str = "add") -> RawKernel:
    with pytest.warns(UserWarning, match="aside.*host"):
        return RawKernel(source, name)


def arrays(n: int = 100) -> Any:
    return cp.arange(n, dtype=cp.float32), cp.ones(n, cp.float32), cp.zeros(n, cp.float32), n


def test_the_kernels_of_a_whole_file_run() -> None:
    args = arrays()
    taken()((4,), (32,), args)
    np.testing.assert_array_equal(args[2].get(), (np.arange(100) + 1) * 2 + 1)
    p = cp.zeros(8, cp.uint8)
    taken(name="pairs")((1,), (1,), (p, 1))
    assert p.get().tolist() == [0, 0, 0, 0, 1, 0, 0, 0]
    assert profile(taken(), (4,), (32,), arrays()).ok


def test_one_warning_names_the_lines_and_what_stands_there() -> None:
    with pytest.warns(UserWarning) as found:
        RawKernel(FILE, "add")
    (one,) = found
    text = str(one.message)
    assert one.filename == __file__ and "\n" not in text
    assert text.startswith("add.cu:") and LINES in text
    for word in ("main", "<<<>>>", "cudaStream_t", "std::vector"):
        assert word in text.partition(" on lines")[0]


def test_a_module_has_all_its_kernels_and_templates_by_their_expressions() -> None:
    with pytest.warns(UserWarning, match="host"):
        module = RawModule(code=FILE, name_expressions=["fill<3>"], name="mine.cu")
    assert module.names == ["add", "pairs"] and module.source == FILE
    x = cp.zeros(4, cp.float32)
    module.get_function("fill<3>")((1,), (4,), (x,))
    assert x.get().tolist() == [3] * 4


def test_lines_are_those_of_the_file() -> None:
    line = 1 + FILE[: FILE.index("tile[threadIdx.x] =")].count("\n")
    wrong = FILE.replace("i < n ? x[i] : 0", "x[i]")
    with pytest.raises(KernelFault, match=rf"^add\.cu:{line}: .*\b100\b"):
        taken(wrong)((4,), (32,), arrays())
    report = profile(taken(), (4,), (32,), arrays())
    assert report.lines[line].source == "tile[threadIdx.x] = i < n ? x[i] : 0;"


def test_a_mistake_in_a_kernel_is_told_at_its_line_with_what_was_left_aside() -> None:
    line = 1 + FILE[: FILE.index("if (i < n) out")].count("\n")
    with pytest.raises(CompileError) as error, warnings.catch_warnings():
        warnings.simplefilter("error")
        RawKernel(FILE.replace("SCALED) + SHIFT", "SCALED) + SHIFTED"), "add")
    assert (error.value.line, error.value.kind) == (line, "error") and says(
        str(error.value), "'SHIFTED' undefined"
    )
    assert LINES in error.value.hint and says(error.value.hint, "needed")


def test_a_source_of_kernels_alone_is_taken_as_it_is() -> None:
    source = 'extern "C" __global__ void k(int* p) { p[0] = 1; }'
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RawKernel(source, "k")
        with pytest.raises(ValueError, match='"C"'):
            RawKernel("__global__ void k(int* p) { p[0] = 1; }", "k")
        with pytest.raises(CompileError, match=r"'q'.*undefined"):
            RawKernel(source.replace("p[0]", "q[0]"), "k")
    assert host_code.taken(source) is None and host_code.taken("int main() { }") is None


def test_a_host_helper_that_a_kernel_calls_is_missing_then() -> None:
    source = "#include <iostream>\nfloat half_of(float x) { return x / 2; }\n"
    source += "__global__ void k(float* x) { *x = half_of(*x); }"
    with pytest.raises(CompileError, match="'half_of'") as error:
        RawKernel(source, "k")
    assert error.value.line == 3 and says(error.value.hint, "1-2")


def test_constants_types_and_macros_that_nobody_needs_are_left_aside_too() -> None:
    found = host_code.taken(FILE)
    assert found is not None and found.text.count("\n") == FILE.count("\n")
    for word in (
        "Timer",
        "runs",
        "on_the_host",
        "main",
        "seconds",
        "using namespace",
        "iostream",
        "helper_cuda",
    ):
        assert word not in found.text, word
    for word in ("TILE", "real", "SHIFT", "Pair", "Mode", "scaled", "#endif"):
        assert word in found.text, word
    assert says(found.text, "#include <float.h>") and says(found.text, "#include <stdint.h>")


@pytest.mark.parametrize(
    "odd",
    [
        'const char* text = "}{ \\" // <<<";\nint main() { return \'}\'; }',
        "/* { */ int main() { /* } */ return 0; } // {",
        "namespace host { int f() { return 1; } }\nint main() { return host::f(); }",
        'extern "C" { int main(); }\nclass A { public: A() : x(1) { } int x; } a;',
        "int table[] = {1, 2, 3};\nint main() { auto f = [](int a) { return a; }; return f(0); }",
        "template <typename T> struct Host { T* p; Host() { cudaMalloc(&p, 1); } };\nint main() { }",
        "std::vector<std::vector<int>> grid;\ncudaStream_t streams[4];\nint main() { }",
        "#if 1\nint main() {\n#else\nint main(int n) {\n#endif\n}",
        'static_assert(sizeof(int) == 4);\nconst std::string name = "a";\nint main() { }',
    ],
)
def test_host_code_of_all_kinds_is_left_aside(odd: str) -> None:
    for source in (f"#include <iostream>\n{odd}\n{KERNEL}", f"{KERNEL}\n{odd}\n#include <vector>\n"):
        x = cp.zeros(4, cp.int32)
        taken(source, "k")((1,), (4,), (x,))
        assert x.get().tolist() == [2] * 4


KERNEL = "#define N 2\n__global__ void k(int* x) { x[threadIdx.x] = N; }"


def test_a_type_that_only_an_instance_names_is_kept() -> None:
    source = (
        "int main() { return 0; }\ntypedef int one;\ntemplate <class T> __global__ void k(T* x) { x[0] = 1; }"
    )
    with pytest.warns(UserWarning, match="aside.*host"):
        RawModule(code=source, name_expressions=["k<one>"]).get_function("k<one>")


def test_a_type_of_functions_is_no_host_code() -> None:
    source = (
        "typedef int (*step)(int);\n__device__ step steps[2];\n"
        "__global__ void k(int* x) { x[0] = (*steps[0])(1); }\nint main() { return 0; }"
    )
    with pytest.raises(CompileError) as error:
        RawModule(code=source, name_expressions=["k"])
    assert error.value.kind == "unsupported", error.value


def test_a_device_macro_counts_as_device_code() -> None:
    source = (
        "#include <cstdio>\n#include <iostream>\n#define DEV __device__ inline\nDEV int two() { return 2; }\n"
    )
    source += "__global__ void k(int* x) { *x = two(); }\nint main() { k<<<1, 1>>>(0); }"
    x = cp.zeros(1, cp.int32)
    taken(source, "k")((1,), (1,), (x,))
    assert x.get().tolist() == [2]


HOST = "#include <iostream>\nvoid run(float* x) { cudaStream_t s; add<<<1, 32, 0, s>>>(x); }"


@pytest.mark.parametrize("source", [HOST, "int main() { std::vector<int> x; cudaFree(0); }"])
def test_host_code_alone_is_told_to_be_host_code(source: str) -> None:
    with pytest.raises(CompileError) as error:
        RawKernel(source, "add")
    assert says(error.value.hint, "host needed")
    for word in ("<<<>>>", "cudaStream_t", "main", "std::vector"):
        assert (word in error.value.hint) == (word.removesuffix(">>>") in source)


def test_a_kernel_that_forgot_its_word_is_told_so() -> None:
    with pytest.raises(CompileError, match="__global__"):
        RawKernel('extern "C" void add(float* x) { x[0] = 1; }', "add")


def test_a_kernel_of_a_whole_file_is_pickled() -> None:
    kernel = taken()
    with pytest.warns(UserWarning, match="aside"):
        again = pickle.loads(pickle.dumps(kernel))
    args = arrays()
    again((4,), (32,), args)
    assert args[2].get()[0] == 3


# ------------------------------------------------------------------------------------------------- on a GPU


def test_nvrtc_gets_the_same_source_without_host_code() -> None:
    with installed() as fake:
        kernel = taken()
        x = fake.asarray(np.ones(4, np.float32))
        kernel((1,), (4,), (x, x, fake.asarray(np.zeros(4, np.float32)), 4))
        module = fake.modules[-1]
        assert "main" not in module.code and module.code.count("\n") == FILE.count("\n")
        assert module.expressions == ("add",) and len(fake.launches) == 1


def test_a_whole_file_outside_of_the_language_goes_to_nvrtc_without_host_code() -> None:
    source = FILE.replace("__shared__ real tile", 'asm("");\n    __shared__ real tile')
    with installed() as fake:
        with pytest.warns(UserWarning, match="GPU.*unchecked") as found:
            RawKernel(source, "add")((1,), (1,), ())
        assert len(found) == 1 and found[0].filename == __file__
        assert "main" not in fake.modules[-1].code and "asm" in fake.modules[-1].code


def test_what_nvrtc_takes_as_it_is_keeps_its_host_code() -> None:
    source = FILE.replace("__shared__ real tile", 'asm("");\n    __shared__ real tile')
    with installed() as fake:
        fake.takes = "int main"
        with pytest.warns(UserWarning, match="GPU.*unchecked"):
            RawKernel(source.replace("__global__ void add", 'extern "C" __global__ void add'), "add")
        assert "main" in fake.modules[-1].code
