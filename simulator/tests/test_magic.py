"""The cell magic %%cuda, in a notebook's shell."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape

import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from kernel_files import WHOLE_FILE as FILE
from key_words import says

from warplens import CompileError, cp, profile

ADD = """extern "C" __global__ void add(const float* x, float* y, int n) {
    if (threadIdx.x < n) y[0] += x[n];
}
"""


@pytest.fixture
def shell():
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "warplens")
    yield shell
    shell.history_manager.end_session()


def test_the_kernels_of_a_cell_get_their_names(shell):
    shell.run_cell_magic("cuda", "both", ADD + ADD.replace("add", "twice"))
    y = cp.zeros(1, cp.float32)
    shell.user_ns["twice"]((1,), (1,), (cp.ones(2, cp.float32), y, np.int32(1)))
    assert y.get().tolist() == [1.0]
    assert {"add", "twice", "both"} <= shell.user_ns.keys()


def test_a_whole_file_is_pasted_into_a_cell(shell):
    with pytest.warns(UserWarning, match=r"all\.cu:.*aside.*host.*main.*"):
        made = shell.run_cell_magic("cuda", "all", FILE)
    assert [*made.kernels] == ["add", "pairs"] and shell.user_ns["add"] is made.kernels["add"]


def test_it_returns_the_kernels(shell):
    made = shell.run_cell_magic("cuda", "add", ADD)
    assert made.kernels["add"] is shell.user_ns["add"]
    assert repr(made) == "kernel add(const float* x, float* y, int n)"


def test_it_shows_the_source_with_the_line_numbers_of_the_cell(shell):
    html = shell.run_cell_magic("cuda", "add", ADD)._repr_html_()
    text = re.sub(r"<[^>]*>", "", html).split("\n")
    assert re.match(r' *2 *extern "C" __global__', unescape(text[0]))
    assert re.match(r" *3 +if", text[1])
    assert "__global__" not in shell.run_cell_magic("cuda", "add -q", ADD)._repr_html_()


def test_a_mistake_is_told_at_its_line_in_the_cell(shell, capsys):
    with pytest.raises(CompileError) as caught:
        shell.run_cell_magic("cuda", "add", ADD.replace("y[0]", "z[0]"))
    assert str(caught.value).startswith("add.cu:3:")
    assert says(str(caught.value), "'z' undefined")
    assert not shell.run_cell(f"%%cuda add\n{ADD.replace('y[0]', 'z[0]')}").success
    shown = capsys.readouterr().out
    assert "add.cu:3:" in shown and "Traceback" not in shown


def test_after_a_mistake_the_old_kernel_is_gone(shell):
    shell.run_cell_magic("cuda", "add", ADD)
    with pytest.raises(CompileError):
        shell.run_cell_magic("cuda", "add", ADD.replace("y[0]", "z[0]"))
    assert "add" not in shell.user_ns


def test_reports_count_lines_as_the_cell_does(shell):
    shell.run_cell_magic("cuda", "add", ADD)
    args = (cp.ones(1, cp.float32), cp.zeros(1, cp.float32), np.int32(1))
    assert profile(shell.user_ns["add"], (1,), (1,), args).out_of_bounds[0].line == 3


def test_instances_of_templates_and_macros_come_from_the_module(shell):
    source = "template <typename T> __global__ void fill(T* x) { x[threadIdx.x] = VALUE; }\n"
    shell.run_cell_magic("cuda", 'fills -D VALUE=7 -i "fill<short>"', source)
    x = cp.zeros(3, cp.int16)
    shell.user_ns["fills"].get_function("fill<short>")((1,), (3,), (x,))
    assert x.get().tolist() == [7, 7, 7]


def test_a_cell_can_begin_with_the_source_of_an_earlier_one(shell):
    shell.run_cell_magic("cuda", "helpers", "__device__ float twice(float x) { return 2 * x; }")
    shell.run_cell_magic(
        "cuda", "more -a helpers", "__device__ float thrice(float x) { return twice(x) + x; }"
    )
    source = 'extern "C" __global__ void fill(float* y) { y[threadIdx.x] = thrice(threadIdx.x); }'
    shell.run_cell_magic("cuda", "fill -a more", source)
    y = cp.zeros(3, dtype=np.float32)
    shell.user_ns["fill"]((1,), (3,), (y,))
    assert y.tolist() == [0, 3, 6]
    with pytest.raises(UsageError, match="%%cuda"):
        shell.run_cell_magic("cuda", "fill -a elsewhere", source)


def test_a_kernel_does_not_replace_what_is_no_kernel(shell):
    shell.user_ns["cp"] = cp
    with pytest.raises(UsageError, match="notebook"):
        shell.run_cell_magic("cuda", "mine", ADD.replace("add", "cp"))
    assert shell.user_ns["cp"] is cp


@pytest.mark.parametrize(
    ("cell", "message"),
    [(f"{ADD}\n%%cuda add\n{ADD}", "%%cuda"), (ADD + "\n" * 100_000, "100,000")],
)
def test_a_cell_that_cannot_be_one_is_refused(shell, cell, message):
    with pytest.raises(UsageError, match=message):
        shell.run_cell_magic("cuda", "add", cell)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "required: name"),
        ("1x", "1x"),
        ("a -z", "unrecognized"),
        ('a -i "b', "No closing"),
        ("a -D 3=4", "macro"),
    ],
)
def test_a_line_that_is_not_understood_says_how_to_write_it(shell, line, message):
    with pytest.raises(UsageError, match=message):
        shell.run_cell_magic("cuda", line, ADD)


def test_the_line_is_taken_as_it_stands(shell):
    with pytest.raises(UsageError, match="getcwd"):
        shell.run_cell_magic("cuda", "{__import__('os').getcwd()}", ADD)


@pytest.mark.slow
def test_the_library_does_not_import_ipython_without_the_magic():
    told = "import sys, warplens; warplens.RawKernel; print('IPython' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
