"""The front end of the CUDA simulator: the tree of small sources, and what beginners get to read."""

# ruff: noqa: E501  (one mistake to a line)

from __future__ import annotations

import pytest
from key_words import says

from warplens.errors import CompileError
from warplens.language import tree
from warplens.language.constant import fold
from warplens.language.frontend import compile_source
from warplens.language.types import (
    BOOL,
    CHAR,
    DOUBLE,
    FLOAT,
    INT,
    LLONG,
    LONG,
    UCHAR,
    UINT,
    ULLONG,
    ULONG,
    VECTORS,
    Array,
    Pointer,
    Type,
)

HEAD = (
    'extern "C" __global__ void k(float* x, const float* y, int* p, int n, unsigned u, float f, double d, '
    "char c, unsigned char b, long l, long long ll, unsigned long long ull, float4 v, bool t) {\n"
)


def body(text: str) -> list[tree.Statement]:
    block = compile_source(HEAD + text + "\n}").kernels["k"].body
    assert block is not None
    return block.statements


def expression(text: str) -> tree.Expression:
    statement = body(text + ";")[0]
    assert isinstance(statement, tree.Evaluate)
    return statement.expression


def refused(text: str) -> CompileError:
    with pytest.raises(CompileError) as caught:
        compile_source(text, "k.cu")
    return caught.value


# ---------------------------------------------------------------------------------------------------- types


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("n + n", INT), ("c + c", INT), ("b * b", INT), ("t + t", INT), ("n + u", UINT), ("n + l", LONG),
        ("u + l", LONG), ("l + ll", LLONG), ("l + ull", ULLONG), ("ll + ull", ULLONG), ("f * 0.1", DOUBLE),
        ("f * 0.1f", FLOAT), ("f * n", FLOAT), ("f * ull", FLOAT), ("n / d", DOUBLE), ("c", CHAR), ("-c", INT),
        ("+b", INT), ("~t", INT), ("!f", BOOL), ("n < u", BOOL), ("c << ll", INT), ("u >> 1", UINT),
        ("t ? c : c", CHAR), ("t ? c : b", INT), ("t ? n : f", FLOAT), ("t ? x : 0", Pointer(FLOAT)),
        ("t ? x : y", Pointer(FLOAT, True)), ("x[0]", FLOAT), ("y + 1", Pointer(FLOAT, True)), ("x - x", LONG),
        ("&n", Pointer(INT)), ("*p", INT), ("sizeof(float)", ULONG), ("threadIdx.x", UINT), ("warpSize", INT),
        ("threadIdx.x * 2", UINT), ("2147483647", INT), ("2147483648", LONG), ("0xffffffff", UINT), ("1u", UINT),
        ("1ll", LLONG), ("1.f", FLOAT), ("1e3", DOUBLE), ("'a'", CHAR), ("true", BOOL), ("v.x", FLOAT),
        ("c += 1", CHAR), ("n++", INT), ("n, f", FLOAT), ("(char)n", CHAR), ("static_cast<float>(n)", FLOAT),
        ("float(n)", FLOAT), ("reinterpret_cast<float4*>(x)[0]", VECTORS["float4"]), ("make_int2(1, 2).x", INT),
        ("exp(f)", FLOAT), ("exp(d)", DOUBLE), ("expf(d)", FLOAT), ("max(n, u)", UINT), ("max(f, d)", DOUBLE),
        ("min(n, n)", INT), ("pow(f, 2)", FLOAT), ("fmax(f, 1)", FLOAT), ("atomicAdd(x, 1)", FLOAT),
        ("atomicAdd(p, 1)", INT), ("__shfl_down_sync(~0u, f, 1)", FLOAT), ("__ballot_sync(~0u, n)", UINT),
        ("__ldg(y)", FLOAT), ("isnan(f)", BOOL),
    ],
)  # fmt: skip
def test_an_expression_has_the_type_that_c_gives_it(text: str, type_: Type) -> None:
    assert expression(text).type == type_


def test_operands_are_converted_to_the_common_type() -> None:
    node = expression("n + u")
    assert isinstance(node, tree.Binary) and isinstance(node.left, tree.Convert)
    assert node.left.type == node.right.type == UINT


def test_a_compound_assignment_computes_in_the_common_type() -> None:
    node = expression("f += 0.1")
    assert isinstance(node, tree.Assign)
    assert (node.op, node.type, node.compute, node.value.type) == ("+", FLOAT, DOUBLE, DOUBLE)


def test_a_shift_keeps_the_type_of_its_count() -> None:
    node = expression("u <<= ll")
    assert isinstance(node, tree.Assign)
    assert (node.compute, node.value.type) == (UINT, LLONG)


def test_an_index_is_a_pointer_plus_an_integer() -> None:
    node = expression("x[u - 1u]")
    assert isinstance(node, tree.Load) and isinstance(node.place, tree.Deref)
    pointer = node.place.pointer
    assert isinstance(pointer, tree.PointerAdd) and pointer.index.type == UINT


def test_arrays_of_two_dimensions_decay_twice() -> None:
    declare, use = body("__shared__ float s[4][5]; s[1][2];")
    assert isinstance(declare, tree.Declare) and isinstance(use, tree.Evaluate)
    assert declare.variable.storage == "shared"
    assert declare.variable.type == Array(Array(FLOAT, 5), 4)
    load = use.expression
    assert isinstance(load, tree.Load) and isinstance(load.place, tree.Deref)
    inner = load.place.pointer
    assert isinstance(inner, tree.PointerAdd) and isinstance(inner.pointer, tree.Decay)


def test_extern_shared_is_as_long_as_the_launch_says() -> None:
    (declare,) = body("extern __shared__ float s[];")
    assert isinstance(declare, tree.Declare)
    assert (declare.variable.storage, declare.variable.type) == ("dynamic", Array(FLOAT, None))


def test_known_constants_become_literals() -> None:
    statements = body("const int m = 3 * 4; int a[m + 1]; m;")
    assert isinstance(statements[1], tree.Declare) and statements[1].variable.type == Array(INT, 13)
    assert isinstance(statements[2], tree.Evaluate)
    node = statements[2].expression
    assert isinstance(node, tree.Literal) and node.value == 12


def test_braces_fill_arrays_and_records() -> None:
    array, record = body("int a[2][2] = {{1}, {2, 3}}; float4 w = {f, 2};")
    assert isinstance(array, tree.Declare) and isinstance(record, tree.Declare)
    assert isinstance(array.initial, list)
    assert [[part.value for part in row] for row in array.initial] == [[1], [2, 3]]  # type: ignore[attr-defined]
    assert isinstance(record.initial, tree.MakeRecord) and len(record.initial.parts) == 4
    assert all(part.type == FLOAT for part in record.initial.parts)


def test_a_reference_is_a_pointer_and_its_target_lives_in_memory() -> None:
    declare, reference, assign = body("int a = 1; int& r = a; r = 2;")
    assert isinstance(declare, tree.Declare) and declare.variable.taken
    assert isinstance(reference, tree.Declare) and reference.variable.type == Pointer(INT)
    assert isinstance(assign, tree.Evaluate) and isinstance(assign.expression, tree.Assign)
    assert isinstance(assign.expression.place, tree.Deref)


def test_warp_functions_have_all_their_arguments() -> None:
    node = expression("__shfl_xor_sync(0xffffffff, f, 16)")
    assert isinstance(node, tree.Intrinsic)
    assert [argument.type for argument in node.arguments] == [UINT, FLOAT, INT, INT]
    assert isinstance(node.arguments[3], tree.Literal) and node.arguments[3].value == 32
    barrier = expression("__syncwarp()")
    assert isinstance(barrier, tree.Intrinsic) and len(barrier.arguments) == 1


def test_overloads_of_the_math_library_have_one_name_each() -> None:
    for text, name in (("exp(f)", "expf"), ("exp(d)", "exp"), ("__expf(f)", "__expf"), ("max(n, 1)", "max")):
        node = expression(text)
        assert isinstance(node, tree.Intrinsic) and node.name == name


def test_the_index_of_a_block_is_a_special_value() -> None:
    node = expression("blockIdx.y")
    assert isinstance(node, tree.Special) and (node.name, node.axis) == ("blockIdx", "y")


def test_a_for_has_its_own_scope_and_a_step() -> None:
    (loop,) = body("for (int i = 0; i < n; i += 2) { if (i == 3) continue; x[i] = 0; }")
    assert isinstance(loop, tree.Loop) and loop.test_comes == "before"
    assert len(loop.initial) == 1 and isinstance(loop.step, tree.Assign)
    assert isinstance(loop.test, tree.Binary) and loop.test.type == BOOL


def test_cases_of_a_switch_are_grouped_by_their_statements() -> None:
    (switch,) = body("switch (c) { case 1: case 2: n = 1; break; default: n = 2; case 'a': n = 3; }")
    assert isinstance(switch, tree.Switch) and switch.value.type == INT
    assert [(case.values, case.default) for case in switch.cases] == [
        ([1, 2], False),
        ([], True),
        ([97], False),
    ]


def test_unsigned_char_is_its_own_type() -> None:
    (declare,) = body("unsigned char q = 300;")
    assert isinstance(declare, tree.Declare) and declare.variable.type == UCHAR
    assert isinstance(declare.initial, tree.Literal) and declare.initial.value == 44


# ------------------------------------------------------------------------------------- functions and templates

TEMPLATE = """
template <typename T, int N = 2>
__device__ T sum(const T* values) { T total = 0; for (int i = 0; i < N; ++i) total += values[i]; return total; }
template <typename T, int N>
__global__ void scale(T* x, T s) { __shared__ T t[N]; t[0] = sum<T, N>(x) + sum(x); x[0] = t[0] * s; }
"""


def test_each_instance_of_a_template_is_a_function() -> None:
    program = compile_source(TEMPLATE, name_expressions=["scale<float, 4>", "scale<int,8>"])
    assert list(program.kernels) == ["scale<float, 4>", "scale<int,8>"]
    assert program.kernels["scale<int,8>"].parameters[0].type == Pointer(INT)
    names = [function.name for function in program.functions]
    assert names == ["sum<float, 4>", "sum<float, 2>", "sum<int, 8>", "sum<int, 2>"]


def test_callees_come_before_callers() -> None:
    source = "__device__ int a(int n) { return n; } __device__ int b(int n) { return a(n); }"
    program = compile_source(
        source + "__device__ int z() { return 1; } __global__ void k(int* p) { p[0] = b(1); }"
    )
    assert [function.name for function in program.functions] == ["a", "b"]


def test_the_better_overload_is_called() -> None:
    source = """__device__ int which(int a) { return 1; } __device__ int which(double a) { return 2; }
    template <typename T> __device__ int which(T* a) { return 3; }
    __global__ void k(float* p) { p[0] = which(p[0]); p[1] = which((char)1); p[2] = which(p); }"""
    program = compile_source(source)
    assert [function.parameters[0].type for function in program.functions] == [DOUBLE, INT, Pointer(FLOAT)]


def test_an_overload_of_a_function_that_is_built_in_stands_beside_it() -> None:
    own = "__device__ float3 make_float3(float x) { return make_float3(x, x, x); }\n"
    program = compile_source(own + HEAD + "make_float3(f); make_float3(f, f, f);\n}")
    block = program.kernels["k"].body
    assert block is not None
    kinds = [type(statement.expression) for statement in block.statements]  # type: ignore[attr-defined]
    assert kinds == [tree.Call, tree.MakeRecord]


def test_an_instance_that_no_call_chooses_may_make_no_sense() -> None:
    source = """
    template <typename T> __device__ int pick(T x, float y) { return x.member; }
    __device__ int pick(int x, int2 y) { return 1; }
    """
    compile_source(source + HEAD + "p[0] = pick(n, make_int2(1, 2));\n}")
    assert says(str(refused(source + HEAD + "p[0] = pick(n, f);\n}")), "class")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("enum E { A }; __global__ void k(int* p) { E e = 0; }", "'int' initialize"),
        ("enum E { A }; __global__ void k(int* p) { E e = A; e += 1; }", "'int' assigned"),
        ("enum E { A, A };", "'A' declared"),
        ("enum class E { A }; __global__ void k(int* p) { p[0] = E::A; }", "assigned 'int'"),
        ("enum class E { A }; __global__ void k(int* p) { p[0] = A; }", "'A' undefined"),
        ("enum class E { A }; __global__ void k(int* p) { p[0] = E::B; }", "'E' member 'B'"),
        ("enum class E { A }; __global__ void k(int* p, E e) { switch (e) { case 0: break; } }", "label"),
        ("enum E : unsigned char { A = 256 };", "range 'unsigned char'"),
        ("__device__ int operator+(int a, int b) { return 1; }", "class enum"),
        ("__device__ int operator/(int2 a) { return 1; }", "few operator"),
        ("__global__ void k(int2* p) { p[0] = p[1] + p[2]; }", "operator '+' 'int2'"),
        ("template <> __device__ int f<int>(int x) { return x; }", "templates variables"),
        ("template <typename T> __device__ T f(T x) { return x; } template <> __device__ int f<float>(int x) { return x; }",
         "'f' instance"),
        ('extern "C" static __global__ void k() { }', "storage class"),
        ("__global__ void k(float* p) { __stcs((const float*)p, 1.0f); }", "overloaded '__stcs'"),
        ("__global__ void k(float* p) { memcpy(p, p); }", "few arguments"),
        ("__global__ void k(cudaTextureObject_t t, float* p) { p[0] = tex2D<float>(t, 0, 0); }", "unsupported textures"),
        ("__global__ void k(clock_t* p) { }", "unsupported 'clock_t'"),
        ("__global__ void k(unsigned* p) { p[0] = __vadd4(p[0], p[1]); }", "unsupported __vadd4"),
        ("__global__ void k(unsigned* p) { p[0] = __of_a_new_gpu(p[0]); }", "unsupported '__of_a_new_gpu'"),
    ],
)  # fmt: skip
def test_what_is_refused_of_enums_operators_and_instances(source: str, message: str) -> None:
    assert says(str(refused(source)), message)


def test_a_typedef_may_stand_twice_if_it_says_the_same() -> None:
    twice = "typedef unsigned int uint; typedef unsigned int uint; __global__ void k(uint* p) { p[0] = 1; }"
    assert compile_source(twice).kernels
    other = twice.replace("typedef unsigned int uint;", "typedef volatile unsigned int uint;", 1)
    assert says(str(refused(other)), "'uint' declared")


def test_a_name_expression_may_use_macros_of_the_source() -> None:
    source = "#define N 4\ntemplate <int M> __global__ void k(int* p) { p[0] = M; }"
    assert list(compile_source(source, name_expressions=["k<N>", "k<N * 2>"]).kernels) == ["k<N>", "k<N * 2>"]


def test_default_arguments_are_filled_in() -> None:
    source = "__device__ int f(int a, int b = 7) { return a + b; } __global__ void k(int* p) { p[0] = f(1); }"
    block = compile_source(source).kernels["k"].body
    assert block is not None and isinstance(block.statements[0], tree.Evaluate)
    assign = block.statements[0].expression
    assert isinstance(assign, tree.Assign) and isinstance(assign.value, tree.Call)
    assert [argument.value for argument in assign.value.arguments] == [1, 7]  # type: ignore[attr-defined]


def test_launch_bounds_are_kept() -> None:
    program = compile_source("__global__ void __launch_bounds__(128, 2) k() {}")
    assert program.kernels["k"].max_threads == 128


def test_constant_memory_is_a_variable_of_the_program() -> None:
    source = "__constant__ float w[3] = {1, 2, 3}; __device__ int hits; __global__ void k(float* x) { x[0] = w[1]; }"
    program = compile_source(source)
    assert [(v.name, v.storage) for v in program.variables] == [("w", "constant"), ("hits", "device")]


def test_a_struct_is_laid_out_as_in_c() -> None:
    source = "struct Pair { char a; double b; int c; }; __global__ void k(Pair* p) { p->c = sizeof(Pair); }"
    pointer = compile_source(source).kernels["k"].parameters[0].type
    assert isinstance(pointer, Pointer) and pointer.to.size == 24
    assert [field.offset for field in pointer.to.fields] == [0, 8, 16]  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------------ preprocessor


@pytest.mark.parametrize(
    ("head", "text", "value"),
    [
        ("#define N 3\n", "N * 2", 6),
        ("#define AT(i, j) ((i) * 4 + (j))\n", "AT(1 + 1, 2)", 10),
        ("#define TWICE(a) a + a\n#define F(a) TWICE(a) * 2\n", "F(3)", 9),
        ("#define N N\n#define M (1 + \\\n 2)\n", "M", 3),
        ("#define CAT(a, b) a##b\n", "CAT(1, 2)", 12),
        ("#ifdef WIDE\n#define N 1\n#elif LIMIT > 3 && defined(LIMIT)\n#define N 2\n#else\n#define N 3\n#endif\n", "N", 2),
        ("#if 0\n#error no\n#if 1\n#endif\n#endif\n#undef LIMIT\n#define LIMIT 5\n", "LIMIT", 5),
        ("", "__LINE__", 1),
    ],
)  # fmt: skip
def test_macros_and_conditions(head: str, text: str, value: int) -> None:
    source = f"{head}__device__ const int z = {text}; __global__ void k(int* p) {{ p[0] = z; }}"
    initial = compile_source(source, options=["-DLIMIT=4"]).variables[0].initial
    assert isinstance(initial, tree.Expression)
    assert fold(initial) == value


def test_options_define_macros() -> None:
    for options in (["-DN=16"], ["-D", "N=16"], ["--define-macro=N=16"], ["-std=c++17", "-DN=16", "-DN2"]):
        program = compile_source("__global__ void k() { __shared__ int s[N]; }", options=options)
        assert program.kernels


def test_a_mistake_in_a_macro_is_shown_where_it_is_used() -> None:
    error = refused("#define BAD tid + 1\n__global__ void k(int* p) {\n    p[0] = BAD;\n}")
    assert (error.line, error.column) == (3, 12)


# ---------------------------------------------------------------------------------------------------- messages


def test_a_message_shows_line_caret_and_hint() -> None:
    error = refused("__global__ void k(int* p) {\n\tp[0] = threadidx.x;\n}")
    first, source, caret, hint = str(error).splitlines()
    assert first.startswith("k.cu:2:9: error: ") and says(first, "'threadidx'")
    assert (source, caret) == ("    \tp[0] = threadidx.x;", "    \t       ^")
    assert hint.startswith("    hint: ") and says(hint, "'threadIdx'")
    assert error.kind == "error"


K = "__global__ void k(float* x, const float* y, int* p, int n) {\n    "
MISTAKES = [
    (K + "int i = 0\n    x[i] = 1;\n}", 2, 14, "expected ';'", ";"),
    (K + "int i = threadIdx.x;\n    x[i] = y[i]\n}", 3, 16, "expected ';'", ";"),
    (K + "x[tid] = 1;\n}", 2, 7, "'tid' undefined", "declare"),
    (K + "if (n = 3) {\n    }\n    y = 1;\n}", 4, 7, "'int' assigned 'const float *'", ""),
    (K + "if (3 = n) { }\n}", 2, 9, "modifiable lvalue", "stored"),
    (K + "x[0] = sqrtf(1.f, 2.f);\n}", 2, 12, "many arguments", "'sqrtf' 1 2"),
    (K + "x[0] = powf(2.f);\n}", 2, 12, "few arguments", "'powf' 2 1"),
    (K + "x[0 = 1;\n}", 2, 12, "expected ']'", "'[' 2 6"),
    (K + "if (n > 3 {\n    x[0] = 1; }\n}", 2, 15, "expected ')'", "'(' 2 8"),
    (K + "int* q = x;\n}", 2, 14, "'float *' initialize 'int *'", "reinterpret_cast<int *>"),
    (K + "y[0] = 2;\n}", 2, 5, "modifiable lvalue", "'y'"),
    (K + "__shared__ float s[n];\n}", 2, 24, "constant", "extern __shared__"),
    ("__global__ void g() { }\n" + K + "g();\n}", 3, 5, "unsupported __global__ 'g'", "host __device__"),
    ("__global__ k(float* x) { }", 1, 12, "'k' type", "void"),
    ("__global__ int k(float* x) { return 1; }", 1, 16, "__global__ void", "arrays"),
    (K + "float* q = malloc(4);\n}", 2, 16, "unsupported malloc", ""),
    (K + "std::vector<int> q;\n}", 2, 10, "'std' no member 'vector'", "C++"),
    (K + "cout << n;\n}", 2, 5, "'cout' undefined", "printf"),
    (K + "x[threadidx.x] = 1;\n}", 2, 7, "'threadidx' undefined", "'threadIdx'"),
    (K + "__syncthread();\n}", 2, 5, "'__syncthread' undefined", "'__syncthreads'"),
    (K + "syncthreads();\n}", 2, 5, "'syncthreads' undefined", "'__syncthreads'"),
    (K + "if (n > 3) {\n        x[0] = 1;\n}", 4, 2, "expected '}'", "'{' 1 closed"),
    (K + "x[0] = 1;\n}\n}", 4, 1, "expected declaration", "'}' '{'"),
    (K + "x[0] = 1; }\n    x[1] = 2;\n}", 3, 5, "declaration type", "functions"),
    ("void k(float* x) { }", 1, 6, "'k' host function", "__global__ __device__"),
    ("_global_ void k(float* x) { }", 1, 1, "'_global_' undefined", "'__global__'"),
    ("__global__ void k(flaot* x) { }", 1, 19, "'flaot' undefined", "'float'"),
    ("__global__ void k(float* x int n) { }", 1, 28, "expected ')'", "commas"),
    (K + "int32_t i = 0;\n}", 2, 5, "'int32_t' undefined", "'int' #include <stdint.h>"),
    (K + "int n = 2;\n}", 2, 9, "'n' declared", "1"),
    (K + "for (int i = 0, i < n, i++) { }\n}", 2, 23, "expected ';'", ";"),
    (K + "for (int i = 0; i < n) { }\n}", 2, 26, "expected ';'", ";"),
    (K + "x[1.5f] = 1;\n}", 2, 7, "integral 'float'", "(int)x"),
    (K + "n[0] = 1;\n}", 2, 5, "pointer-to-object 'int'", "arrays pointers"),
    (K + "x[0] = x[0] % 2;\n}", 2, 17, "integral '%' 'float'", "fmodf"),
    (K + "x[0] = y;\n}", 2, 10, "'const float *' assigned 'float'", "* [...]"),
    (K + "float4 a, b; a = a + b;\n}", 2, 24, "operator '+' 'float4'", "a.x"),
    (K + "x[0] = threadIdx;\n}", 2, 10, "'uint3' assigned 'float'", ""),
    (K + "threadIdx.x = 3;\n}", 2, 5, "modifiable lvalue", "'threadIdx.x'"),
    (K + "x[0] = threadIdx.w;\n}", 2, 22, "'uint3' member 'w'", "x y z"),
    (K + "return 1;\n}", 2, 12, "return 'int' 'void'", "array"),
    (K + "break;\n}", 2, 5, "break loop", ""),
    (K + "else x[0] = 1;\n}", 2, 5, "expected statement", "if"),
    ("#include <vector>\n" + K + "}", 1, 1, "'vector'", "headers"),
    (K + "x[0] = 1f;\n}", 2, 12, "'1f' number", "1.0f"),
    (K + "x[0] = max(1, 2.0f);\n}", 2, 12, "overloaded 'max'", "'int' 'float'"),
    ("__device__ float f(float a) { return a; }\n" + K + "x[0] = f(y);\n}", 3, 14, "argument 'const float *' incompatible 'float'", "* [...]"),
    (K + "atomicAdd(x[0], 1.0f);\n}", 2, 5, "overloaded 'atomicAdd'", "'float'"),
    ("int size = 3;\n" + K + "}", 1, 5, "'size' host", "__device__ __constant__"),
    (K + "x[0] = INFINITY;\n}", 2, 12, "'INFINITY' undefined", "#include <math.h>"),
    (K + "__shared__ float s = 0;\n}", 2, 22, "initializer __shared__", "__syncthreads()"),
    (K + "asm(\"nop;\");\n}", 2, 5, "unsupported PTX", ""),
    (K + "extern __shared__ float k[];\n}", 2, 29, "incompatible 'k' function", "extern"),
    (K + "float s = 1, d();\n}", 2, 18, "'d' function", "d{}"),
    (K + "printf(\"%d\\n\", x[0]);\n}", 2, 21, "unsupported '%d' 32 1 'float'", "%f (int)x"),
    (K + "prinft(\"%d\\n\", n);\n}", 2, 5, "'prinft' undefined", "'printf'"),
    (K + "assert(n > 0, n < 9);\n}", 2, 5, "many arguments 'assert' 2 1", ""),
    (K + "__syncthreads_count();\n}", 2, 5, "few arguments", "'__syncthreads_count' 1 0"),
    (K + "half h = x[0];\n}", 2, 5, "'half' undefined", "#include <cuda_fp16.h>"),
    ("#include <cuda_fp16.h>\n__global__ void k(half* x) {\n    x[0] = x[0] * 2.0f;\n}", 3, 17, "unsupported half", "__half2float"),
    (K + "/* never closed\n}", 2, 5, "comment closed", "*/"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "line", "column", "message", "hint"), MISTAKES)
def test_a_mistake_is_explained(source: str, line: int, column: int, message: str, hint: str) -> None:
    error = refused(source)
    assert (error.line, error.column) == (line, column)
    assert says(error.message, message) and says(error.hint, hint) and bool(hint) == bool(error.hint)
    assert error.kind == ("unsupported" if message.startswith("unsupported") else "error")
