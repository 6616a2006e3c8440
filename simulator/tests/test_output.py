"""printf and assert: what a kernel says, against C's own printf, and where it stops."""

from __future__ import annotations

import ctypes
import math
import re
from typing import Any

import numpy as np
import pytest
from key_words import says

from warplens import CompileError, KernelFault, RawKernel, cp, profile, simulate
from warplens.engine.printing import MORE, MOST_PRINTED, Format

SCHEDULES = ("lockstep", "forward", "reverse")


def kernel(body: str, parameters: str = "int n", before: str = "", **options: Any) -> RawKernel:
    return RawKernel(f'{before}extern "C" __global__ void k({parameters}) {{\n{body}\n}}\n', "k", **options)


def said(body: str, block: int = 1, grid: int = 1, before: str = "") -> str:
    """What a kernel prints, as a report has it."""
    return profile(kernel(body, before=before), (grid,), (block,), (5,)).printed


def refused(body: str, parameters: str = "int n, float x, const float* p, float4 v") -> CompileError:
    with pytest.raises(CompileError) as caught:
        kernel(body, parameters)
    return caught.value


# ---------------------------------------------------------------------------------------------------- formats

libc = ctypes.CDLL(None)
INTEGERS = (0, 1, -1, 42, -42, 255, 256, 65535, 2**31 - 1, -(2**31))
LONGS = (*INTEGERS, 2**63 - 1, -(2**63), 10**12)
FLOATS = (
    0.0, -0.0, 1.0, -1.5, 0.1, 2.5, 3.5, 1e-5, 123456789.0, 1e20, 1e300, 5e-324, 2.2250738585072014e-308,
    1e-310, 1.9999999999999998, 0.99999, math.pi, -1e-3, math.inf, -math.inf,
)  # fmt: skip
FLAGS = ("", "-", "+", " ", "0", "#", "-0", "+0", "# ", "+ -#0")
SIZES = ("", "1", "7", "12", ".0", ".3", "9.2", "20.10", ".", "3.")


def by_libc(text: str, *arguments: Any) -> str:
    buffer = ctypes.create_string_buffer(4096)
    libc.snprintf(buffer, ctypes.c_size_t(4096), text.encode(), *arguments)
    return buffer.value.decode("latin-1")


@pytest.mark.parametrize("letter", "diouxX")
@pytest.mark.parametrize("length", ["", "h", "hh", "l", "ll", "z"])
def test_integers_are_shown_as_c_shows_them(letter: str, length: str) -> None:
    long = length in ("l", "ll", "z")
    for flags in FLAGS:
        for size in SIZES:
            text = f"<%{flags}{size}{length}{letter}>"
            for value in LONGS if long else INTEGERS:
                given = ctypes.c_longlong(value) if long else ctypes.c_int(value)
                assert Format(text).fill((value,)) == by_libc(text, given), (text, value)


@pytest.mark.parametrize("letter", "fFeEgGaA")
def test_floats_are_shown_as_c_shows_them(letter: str) -> None:
    for flags in FLAGS:
        for size in SIZES:
            text = f"<%{flags}{size}{letter}>"
            for value in FLOATS:
                got, want = Format(text).fill((value,)), by_libc(text, ctypes.c_double(value))
                assert got == want or (letter in "aA" and float.fromhex(got.strip("< >")) == value), (
                    text, value, got, want,
                )  # fmt: skip


def test_nan_has_no_sign_which_differs_from_machine_to_machine() -> None:
    assert Format("%f %05.1f %G").fill((math.nan, -math.nan, math.nan)) == "nan   nan NAN"


@pytest.mark.parametrize("text", ["<%s>", "<%7s>", "<%-7s>", "<%.2s>", "<%7.1s>", "<%.0s>"])
def test_strings_are_shown_as_c_shows_them(text: str) -> None:
    for value in ("", "a", "abc", "a longer one"):
        assert Format(text).fill((value,)) == by_libc(text, ctypes.c_char_p(value.encode()))


def test_stars_take_arguments_of_their_own() -> None:
    for width, precision in ((8, 3), (-8, 2), (8, -1), (0, 0)):
        numbers = (ctypes.c_int(width), ctypes.c_int(precision))
        want = by_libc("<%*.*f>", *numbers, ctypes.c_double(3.14159))
        assert Format("<%*.*f>").fill((width, precision, 3.14159)) == want
        assert Format("<%*d>").fill((width, 7)) == by_libc("<%*d>", numbers[0], ctypes.c_int(7))


def test_a_width_that_an_argument_says_has_an_end() -> None:
    assert len(Format("%*d").fill((2**31 - 1, 7))) == 1000


def test_characters_and_percent_signs() -> None:
    assert Format("%c%c%3c|%%|100%%").fill((104, 105, 33)) == "hi  !|%|100%"


# ------------------------------------------------------------------------------------------------- the kernel


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('printf("hello\\n");', "hello\n"),
        ('printf("%d %u %x\\n", -n, 7u, 255);', "-5 7 ff\n"),
        ('printf("%d\\n", (unsigned char)300);', "44\n"),
        ("printf(\"%d %d\\n\", n > 3, 'a');", "1 97\n"),
        (
            'printf("%lld %llu %zu\\n", 1ll << 40, ~0ull, sizeof(int));',
            "1099511627776 18446744073709551615 4\n",
        ),
        ('printf("%f %.2f %g\\n", 0.5f, n / 3.0f, 1e-7);', "0.500000 1.67 1e-07\n"),
        ('printf("%.10f\\n", 0.1f);', "0.1000000015\n"),
        ('printf("%s is %s\\n", "this", "text");', "this is text\n"),
        ('printf("a" "b%d" "\\n", n);', "ab5\n"),
        ('printf("%-4d|%04d|%+d\\n", n, n, n);', "5   |0005|+5\n"),
        ('printf("%hhd %hu\\n", 300, 65537);', "44 1\n"),
        ('printf("%u\\n", -1);', "4294967295\n"),
        ('printf("tab\\tquote\\"\\\\ \\x41 \\101\\n");', 'tab\tquote"\\ A A\n'),
        ('if (n > 9) printf("no"); else printf("yes");', "yes"),
        ('for (int i = 0; i < 3; ++i) printf("%d,", i);', "0,1,2,"),
        ('n > 2 && printf("x"); n > 2 || printf("y");', "x"),
        ('printf("%d%d%d\\n", printf("%d", n), printf("none"), printf(NULL));', "5none10-1\n"),
        ("helper(3);", "[3]"),
        ('printf("%d", (n, 4));', "4"),
        ('printf("%p", (int*)0);', "(nil)"),
        ('printf("end\\0 nothing more");', "end"),
    ],
)
def test_a_kernel_prints_what_c_would(body: str, text: str) -> None:
    assert said(body, before='__device__ void helper(int i) { printf("[%d]", i); }\n') == text


def test_addresses_are_those_of_the_device() -> None:
    array = cp.zeros(4, np.float32)
    run = kernel('__shared__ int s[2]; s[0] = 1; printf("%p %p\\n", p + threadIdx.x, s);', "float* p")
    report = profile(run, (1,), (2,), (array,))
    first, shared, second, _ = re.findall(r"0x[0-9a-f]+", report.printed)
    assert int(first, 16) == array.data.ptr and int(second, 16) == array.data.ptr + 4
    assert int(shared, 16) > 0


def test_lockstep_prints_instruction_by_instruction_in_the_order_of_threads(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = kernel('printf("a%d.%d ", blockIdx.x, threadIdx.x); printf("b%d ", threadIdx.x);')
    simulate(run, (2,), (2,), (1,))
    assert capsys.readouterr().out == "a0.0 a0.1 a1.0 a1.1 b0 b1 b0 b1 "


def test_threads_are_numbered_with_x_fastest(capsys: pytest.CaptureFixture[str]) -> None:
    run = kernel('printf("%d%d%d ", threadIdx.x, threadIdx.y, blockIdx.y);')
    for schedule in ("lockstep", "forward"):
        simulate(run, (1, 2), (2, 2), (1,), schedule=schedule)
        assert capsys.readouterr().out == "000 100 010 110 001 101 011 111 "


def test_warps_print_as_they_are_executed(capsys: pytest.CaptureFixture[str]) -> None:
    run = kernel('if (threadIdx.x % 32 < 2) printf("%d ", threadIdx.x); __syncthreads(); '
                 'if (threadIdx.x % 32 == 0) printf("b%d ", threadIdx.x);')  # fmt: skip
    simulate(run, (1,), (64,), (1,), schedule="forward")
    assert capsys.readouterr().out == "0 1 32 33 b0 b32 "
    simulate(run, (1,), (64,), (1,), schedule="reverse")
    assert capsys.readouterr().out == "33 32 1 0 b32 b0 "


def test_only_the_threads_that_come_there_print() -> None:
    assert said('if (threadIdx.x & 1) printf("%d ", threadIdx.x);', block=6) == "1 3 5 "
    assert (
        said('for (int i = 0; i < threadIdx.x; ++i) printf("%d%d ", threadIdx.x, i);', block=3) == "10 20 21 "
    )


def test_a_launch_prints_where_python_prints(capsys: pytest.CaptureFixture[str]) -> None:
    kernel('printf("%d\\n", n);')((1,), (1,), (3,))
    assert capsys.readouterr().out == "3\n"
    kernel("")((1,), (1,), (3,))
    assert capsys.readouterr().out == ""


def test_what_was_printed_before_a_fault_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    run = kernel('printf("before\\n"); p[n] = 1; printf("after\\n");', "int* p, int n")
    with pytest.raises(KernelFault):
        run((1,), (1,), (cp.zeros(2, np.int32), 5))
    assert capsys.readouterr().out == "before\n"


def test_what_is_printed_has_an_end() -> None:
    text = said('printf("%d\\n", threadIdx.x + 1000000);', block=1024, grid=64)
    assert text.endswith(MORE) and len(text) <= MOST_PRINTED + 2 * len(MORE)
    assert text.startswith("1000000\n1000001\n")
    assert said('printf("%*d", 1000, 1);', block=1024).endswith("\n" + MORE)
    assert said('for (int i = 0; i < 100; ++i) printf("%*d", 1000, 1);').endswith(MORE)


def test_profile_keeps_the_text_and_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    report = profile(kernel('printf("<b>%d</b>\\n", n);'), (1,), (1,), (3,))
    assert capsys.readouterr().out == ""
    assert report.printed == "<b>3</b>\n" and report.ok
    assert "Printed\n  <b>3</b>\n" in str(report)
    assert "&lt;b&gt;3&lt;/b&gt;" in report._repr_html_() and "<b>3" not in report._repr_html_()
    assert "Printed" not in str(profile(kernel(""), (1,), (1,), (3,)))


@pytest.mark.parametrize(
    ("body", "message", "hint"),
    [
        ('printf("%d\\n", x);', "'%d' 32 1 'float'",
         "%f (int)x"),
        ('printf("%f\\n", n);', "'%f' 1 'int'",
         "%d"),
        ('printf("%d %d\\n", n, 1ll);', "'%d' 32 2 'long long'",
         "%lld"),
        ('printf("%ld\\n", n);', "'%ld' 64 1 'int'",
         "%d"),
        ('printf("%d\\n", p);', "'%d' 32 1 'const float *'",
         "* [...] %p"),
        ('printf("%d %d\\n", n);', "2 1",
         "%%"),
        ('printf("done\\n", n);', "0 1",
         "%%"),
        ('printf("%s", n);', "'%s' 1 'int'",
         "%d"),
        ('printf("%d", "text");', "'%d' 32 1 'const char *'",
         "write %s"),
        ('printf("%f", v);', "'%f' 1 'float4'",
         "'float4'"),
        ('printf("50% of %d", n);', "", ""),
        ('printf("%n", n);', "'%n'",
         "%lld %p %%"),
        ('printf("100%");', "'%'",
         "%lld %p %%"),
        ('printf("%Lf", x);', "'%Lf'", "write %f"),
        ('printf("%1000000000d", n);', "width precision 1,000", "smaller"),
        ('printf("%.99999999999999999999f", x);', "width precision 1,000",
         "smaller"),
        ('const char* s = "text";', "strings", "printf assert"),
    ],
)  # fmt: skip
def test_what_c_leaves_open_is_refused(body: str, message: str, hint: str) -> None:
    error = refused(body)
    if "50%" in body:  # "% o" is a conversion, and then "%d" takes another argument
        assert error.kind == "unsupported" and says(error.message, "2 arguments")
        return
    assert error.kind == "unsupported" and says(error.message, message) and says(error.hint, hint)


def test_at_most_32_arguments() -> None:
    fine = 'printf("' + "%d" * 32 + '"' + ", n" * 32 + ");"
    assert said(fine) == "5" * 32
    assert refused('printf("' + "%d" * 33 + '"' + ", n" * 33 + ");").kind == "unsupported"


def test_what_is_no_format_is_a_mistake() -> None:
    error = refused("printf(n);")
    assert error.kind == "error"
    assert says(error.message, "'int' incompatible 'const char *'")
    assert says(refused("printf();").message, "few arguments")


# ----------------------------------------------------------------------------------------------------- assert

GUARD = 'int i = blockIdx.x * blockDim.x + threadIdx.x;\nassert(i < n && "too many");\np[i] = 1;'


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_assert_that_fails_stops_the_launch(schedule: str) -> None:
    run, array = kernel(GUARD, "int* p, int n"), cp.zeros(64, np.int32)
    with pytest.raises(KernelFault) as caught:
        simulate(run, (2,), (32,), (array, 63), schedule=schedule)
    assert str(caught.value) == (
        'k.cu:3: void k(int*, int): block: [1,0,0], thread: [31,0,0] Assertion `i < n && "too many"` failed.'
    )
    finding: Any = caught.value.finding
    assert (finding.kind, finding.line, finding.block, finding.thread) == ("assert", 3, (1, 0, 0), (31, 0, 0))
    simulate(run, (2,), (32,), (array, 64), schedule=schedule)


def test_a_report_has_the_asserts_that_fail_and_what_comes_of_it() -> None:
    report = profile(kernel(GUARD, "int* p, int n"), (2,), (32,), (cp.zeros(60, np.int32), 60))
    (found,) = report.asserts
    assert not report.ok
    assert (found.kind, found.line, found.count, found.thread) == ("assert", 3, 4, (28, 0, 0))
    assert says(found.message, '(28,0,0) (1,0,0) `i < n && "too many"`')
    assert [f.line for f in report.out_of_bounds] == [4]
    assert says(str(report), "Assertions\n 3 (28,0,0)")


def test_an_assert_in_a_device_function_names_it() -> None:
    before = "__device__ float root(float x) { assert(x >= 0.0f); return sqrtf(x); }\n"
    run = kernel("p[0] = root(-1.0f);", "float* p", before)
    with pytest.raises(KernelFault, match=r"k.cu:1:.*float.*root\(float\):.*\[0,0,0\].*`x.*>=.*0.0f`"):
        run((1,), (1,), (cp.zeros(1, np.float32),))


def test_asserts_look_at_the_threads_that_come_there() -> None:
    report = profile(kernel("if (threadIdx.x < 4) assert(threadIdx.x < 4);"), (1,), (32,), (1,))
    assert report.ok
    assert profile(kernel("assert(n == 5);"), (1,), (32,), (5,)).ok
    assert profile(kernel('assert(!"here");'), (1,), (32,), (5,)).asserts[0].count == 32


def test_ndebug_is_an_option_as_in_nvrtc() -> None:
    off = kernel("assert(n < 0 || unknown);", options=("-DNDEBUG",))
    off((1,), (1,), (5,))
    on = kernel("assert(n < 0);", before="#define NDEBUG\n")
    with pytest.raises(KernelFault):
        on((1,), (1,), (5,))


def test_an_assert_of_ones_own_replaces_it() -> None:
    kernel("assert(n < 0);", before="#define assert(x) ((void)0)\n")((1,), (1,), (5,))
    kernel("int assert = n; n = assert;")((1,), (1,), (5,))


def test_the_condition_is_shown_as_it_is_written() -> None:
    before = "#define LIMIT 3\n"
    finding = profile(kernel("assert(n  <\n LIMIT);", before=before), (1,), (1,), (5,)).asserts[0]
    assert "`n < LIMIT`" in finding.message
