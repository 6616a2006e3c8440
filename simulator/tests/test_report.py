"""What a report looks like, as text and as HTML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import recording
from key_words import says
from recording import FakeMemory, Run, shared

from warplens import RawKernel, cp, profile
from warplens.report.counters import Counters, LineCounters, Lines
from warplens.report.findings import Finding, Race
from warplens.report.occupancy import occupancy
from warplens.report.report import Report

SOURCE = """extern "C" __global__
void shift(const float *x, float *y, int n) {
    __shared__ float tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = x[i];
    if (i < n) y[i + 1] = tile[63 - threadIdx.x];
    __syncthreads();
}"""

TOTALS = [
    "global_load_requests",
    "global_load_sectors",
    "global_load_lines",
    "global_load_sectors_ideal",
    "global_store_requests",
    "global_store_sectors",
    "global_store_lines",
    "global_store_sectors_ideal",
    "shared_load_requests",
    "shared_store_requests",
    "shared_bytes_read",
    "shared_bytes_written",
    "bank_conflicts",
    "shared_bytes",
    "divergent_branches",
    "barriers",
    "atomics",
    "bytes_read",
    "bytes_written",
    "unique_bytes",
    "bytes_moved",
    "flops",
    "int_ops",
    "flops_per_byte",
    "flops_per_shared_byte",
    "threads",
    "warps",
]
FINDINGS = [
    "races",
    "out_of_bounds",
    "uninitialised",
    "misaligned",
    "barrier_divergence",
    "warp_sync",
    "arithmetic",
    "asserts",
    "notes",
]


@pytest.fixture
def shift(monkeypatch):
    monkeypatch.setattr(recording, "SOURCE", SOURCE)
    run = Run(grid=2, block=64)
    x, y = FakeMemory("x", 128), FakeMemory("y", 128, base=0x7000_0001_0000)
    tile = shared("tile", 64)
    run.load(5, x, run.g)
    run.store(5, tile, run.t)
    run.recorder.branch(6, run.g < 100, run.exists, run.warps)
    run.load(6, tile, 63 - run.t)
    run.store(6, y, run.g + 1)
    run.leave(run.t == 63)
    run.barrier(7, where=run.t < 40)
    return run.report([np.ones(3), None])


def test_the_names_are_those_that_exercises_use(shift):
    for name in TOTALS:
        assert isinstance(getattr(shift, name), int | float), name
        assert isinstance(getattr(shift.lines[5], name), int | float), name
    for name in FINDINGS:
        assert isinstance(getattr(shift, name), list), name
    assert shift.ok is False and shift.outputs[1] is None
    race = shift.races[0]
    for name in [
        "kind",
        "message",
        "line",
        "source",
        "array",
        "index",
        "block",
        "thread",
        "count",
        "other_line",
        "other_block",
        "other_thread",
    ]:
        assert hasattr(race, name), name
    assert race.source == "if (i < n) y[i + 1] = tile[63 - threadIdx.x];"


def test_a_line_that_did_nothing_has_zeros(shift):
    assert shift.lines[2].global_load_requests == 0 and 2 not in shift.lines
    assert isinstance(Lines()[3], LineCounters)


def test_ok_is_about_findings_that_do_harm():
    empty = {"program": "k.cu", "source": "", "grid": (1, 1, 1), "block": (32, 1, 1)}
    same = Race("same-value", "m", 1, "s")
    note = Finding("early-return", "m", 1, "s")
    bad = Finding("warp-sync", "m", 1, "s")
    assert Report(**empty).ok
    assert Report(**empty, races=[same], notes=[note]).ok
    assert not Report(**empty, warp_sync=[bad]).ok
    assert not Report(**empty, races=[same, Race("shared", "m", 1, "s")]).ok


def test_moved_bytes_and_intensity_follow_from_the_counters():
    counters = Counters(
        global_load_sectors=3, global_store_sectors=1, bytes_read=10, bytes_written=10, flops=40
    )
    assert (counters.bytes_moved, counters.flops_per_byte) == (128, 2.0)
    assert Counters(flops=1).flops_per_byte == float("inf")


SHARED = [f"shared_{what}" for what in ("load_requests", "store_requests", "bytes_read", "bytes_written")]


def shared_counts(counters):
    return [getattr(counters, name) for name in SHARED]


def test_shared_memory_is_counted_by_warp_and_by_line():
    """Two blocks of 48 threads, so of a warp and half a one."""
    run = Run(grid=2, block=48)
    tile, x = shared("tile", 64), FakeMemory("x", 128)
    run.store(3, tile, run.t)  # all four warps: 96 floats
    run.barrier(4)
    run.load(5, tile, run.t // 2 * 2, size=8)  # 96 float2
    run.load(6, tile, 4 * run.t, where=run.t < 8, size=16)  # the first warp of each block: 8 float4
    run.load(6, tile, run.t, where=run.t == 40)  # one thread of each block
    run.load(7, tile, run.t, where=False)
    run.load(7, x, run.g)
    run.atomic(8, tile, run.t)
    report = run.report()
    assert shared_counts(report.lines[3]) == [0, 4, 0, 384]
    assert shared_counts(report.lines[5]) == [4, 0, 768, 0]
    assert shared_counts(report.lines[6]) == [2 + 2, 0, 2 * 8 * 16 + 2 * 4, 0]
    assert shared_counts(report.lines[7]) == shared_counts(report.lines[8]) == [0, 0, 0, 0]
    assert shared_counts(report) == [8, 4, 768 + 264, 384]
    assert (report.shared_bytes, report.bytes_read) == (256, 384)
    assert (report.global_load_requests, report.atomics) == (4, 96)


KERNEL = """extern "C" __global__ void sums(const float* x, float* y) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < 3; k++) sum += tile[(t + k) % 64];
    if (t < 40) tile[t] += sum;
    y[t] = sum;
}"""


def test_shared_memory_of_a_kernel_is_counted_by_hand():
    """64 threads read three numbers each; 40 of them, in two warps, read and write theirs once more."""
    x, y = cp.zeros(64, cp.float32), cp.zeros(64, cp.float32)
    report = profile(
        RawKernel(KERNEL.replace("    if (t", "    __syncthreads();\n    if (t"), "sums"), (1,), (64,), (x, y)
    )
    assert report.ok
    assert shared_counts(report.lines[4]) == [0, 2, 0, 256]
    assert shared_counts(report.lines[7]) == [6, 0, 768, 0]
    assert shared_counts(report.lines[9]) == [2, 2, 160, 160]
    assert shared_counts(report) == [8, 4, 928, 416]
    assert report.flops_per_shared_byte == (3 * 64 + 40) / (928 + 416)
    assert report.lines[4].flops_per_shared_byte == 0 and Counters(flops=1).flops_per_shared_byte == float(
        "inf"
    )


def test_shared_memory_stands_in_the_tables(shift):
    text = str(shift)
    for label, count in [("load requests", "4"), ("store requests", "4"), ("bytes read", "512"),
                         ("bytes written", "512")]:  # fmt: skip
        assert re.search(rf"shared {label} +{count}\b", text), label
    heads = [line.split() for line in text.splitlines() if line.startswith("line ")]
    assert heads[0].count("shared") == 2
    assert re.search(r"^ *5 +4 +16 +4 +4 +tile\[threadIdx.x\] = x\[i\];$", text, re.MULTILINE)
    assert "shared<br>loads" in shift._repr_html_() and "shared<br>stores" in shift._repr_html_()


def test_two_reports_stand_side_by_side(shift):
    other = Run(block=64).report()
    both = shift | other
    text = str(both)
    assert says(text, "kernel.cu 2 (2, 1, 1) 64 (64, 1, 1) : 3")
    assert says(text, "kernel.cu 1 (1, 1, 1) 64 (64, 1, 1) : ok")
    assert re.search(r"^threads +128 +64$", text, re.MULTILINE)
    assert re.search(r"^shared load requests +4 +0$", text, re.MULTILINE)
    assert "atomics" not in text  # neither has any
    assert repr(both) == text and max(map(len, text.splitlines())) <= 130
    html = both._repr_html_()
    assert html.count('class="cuda-report"') == 1 and html.count("<b>line 6</b>") == 2
    assert re.search(r"<th>threads</th><td>128</td><td>64</td>", html)
    assert re.search(r"^threads +128 +64 +128$", str(both | shift), re.MULTILINE)
    assert re.search(r"^threads +64 +128 +64$", str(other | both), re.MULTILINE)


def test_text_says_what_is_wrong_and_what_it_cost(shift):
    text = str(shift)
    assert repr(shift) == text
    assert text.startswith("kernel.cu: 2 ") and says(text.splitlines()[0], "(2, 1, 1) 64 (64, 1, 1) 3")
    assert says(text, "6: (0,0,0) tile[63]")
    assert says(text, "y[128] 128")
    assert re.search(r"global load sectors +16\b", text)
    assert re.search(r"^ *5 +4 +16 .*tile\[threadIdx.x\] = x\[i\];$", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 144


def test_html_has_a_row_for_each_source_line_and_pictures(shift):
    html = shift._repr_html_()
    assert html.count("<tr") >= len(SOURCE.splitlines())
    assert "__global__" in html and "tile[threadIdx.x] = x[i];" in html
    assert html.count("<svg") >= 4
    assert says(html, "6 y: 5 sectors 32 4")
    for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        ElementTree.fromstring(svg)


def test_a_report_is_saved_as_a_page(shift, tmp_path):
    for report in (shift, shift | shift):
        report.save(tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert page.startswith("<!DOCTYPE html>") and report._repr_html_() in page
    with pytest.raises(ValueError, match=r"'report\.txt' must end in \.html"):
        shift.save(tmp_path / "report.txt")


def test_html_escapes_the_source(monkeypatch):
    monkeypatch.setattr(recording, "SOURCE", "if (a < b) <script>alert(1)</script>;")
    run = Run()
    run.load(1, FakeMemory("x<y>", 8), run.t)
    html = run.report()._repr_html_()
    assert "<script>" not in html and "x<y>" not in html and "&lt;script&gt;" in html


def test_an_empty_report_can_be_shown():
    report = Run().report()
    assert "ok" in str(report) and "<svg" not in report._repr_html_()


def test_pictures_stay_small_however_long_a_kernel_runs():
    run = Run(grid=8, block=256)
    x, tile = FakeMemory("x", 2048), shared("tile", 4096)
    for _ in range(300):
        run.load(1, x, run.g)
        run.load(2, tile, run.t * 2)
        run.barrier(3)
    assert len(run.report()._repr_html_()) < 400_000


def test_arrays_stand_under_their_names(shift):
    assert set(shift.arrays) == {"x", "y", "tile"}
    assert (shift.arrays["tile"].space, shift.arrays["x"].space) == ("shared", "global")
    assert shared_counts(shift.arrays["tile"]) == shared_counts(shift)
    assert shift.arrays["x"].global_load_sectors == 16 and shift.arrays["y"].global_load_sectors == 0
    assert shift.lines[6].arrays["y"].global_store_sectors == shift.lines[6].global_store_sectors == 19
    assert shift.lines[6].arrays["tile"].shared_load_requests == 4
    assert re.search(r"^ *tile .*shared, 256 bytes$", str(shift), re.MULTILINE)
    assert says(shift._repr_html_(), "256 bytes</td>")


def test_the_counters_of_arrays_add_up_to_those_of_lines_and_lines_to_the_launch():
    run = Run(grid=3, block=64)
    x, y, a, b = (
        FakeMemory("x", 4096),
        FakeMemory("y", 512, base=0x7000_0010_0000),
        shared("a", 64),
        shared("b", 2048),
    )
    for line in (3, 4):
        run.load(line, x, run.g * 2)
        run.load(line, y, run.g)
        run.store(line, y, run.g)
        run.store(line, a, run.t)
        run.load(line, b, 32 * run.t)
        run.barrier(line)
    report = run.report()
    for name in TOTALS:
        if name in (
            "shared_bytes",
            "unique_bytes",
            "threads",
            "warps",
            "flops_per_byte",
            "flops_per_shared_byte",
        ):
            continue
        by_line = sum(getattr(line, name) for line in report.lines.values())
        assert by_line == getattr(report, name), name
        if name != "barriers":
            by_array = sum(getattr(array, name) for array in report.arrays.values())
            assert by_array == by_line, name
    assert report.arrays["b"].bank_conflicts == report.bank_conflicts == 2 * 3 * 2 * 31
    assert report.arrays["x"].unique_bytes == 4 * 192 and report.unique_bytes == 4 * 2 * 192
    assert report.lines[3].arrays["b"].shared_bytes == 8192


def test_integer_operations_and_sectors_of_a_request_are_columns():
    x, y = cp.zeros(64, cp.float32), cp.zeros(64, cp.float32)
    report = profile(RawKernel(KERNEL, "sums"), (1,), (64,), (x, y))
    assert report.lines[7].int_ops > 0 and report.lines[7].warp_steps == 2 * (3 + 4)
    text = str(report)
    heads = [line for line in text.splitlines() if line.startswith("line ")]
    assert re.search(r"sectors +.*integer$", heads[0])
    assert re.search(r"^ *4 +2 +8 +4 +2 .* tile\[t\] = x\[t\];$", text, re.MULTILINE)
    assert "sectors<br>a request" in report._repr_html_() and "integer<br>operations" in report._repr_html_()


def test_totals_and_the_first_picture_are_open_and_the_others_folded(shift):
    html = shift._repr_html_()
    assert html.count("<details open>") == 1 and html.count("<details>") >= 3
    assert "Totals</summary>" not in html and "<th>barriers</th>" in html
    opened = html.partition("<details open><summary>")[2].partition("</summary>")[0]
    assert opened.startswith("Barriers: ")  # which some threads miss
    assert html.index("<details open>") < html.index("<th>line</th>") < html.index("<details>")


def test_the_worst_picture_comes_first():
    run = Run(grid=4, block=64)
    x, tile = FakeMemory("x", 64 * 4096), shared("tile", 4096)
    run.load(2, x, run.g)
    run.load(9, x, 32 * run.g)
    run.load(5, tile, 2 * run.t)
    html = run.report()._repr_html_()
    titles = re.findall(r"<summary>(Line \d+)", html)
    assert titles == ["Line 9", "Line 5", "Line 2"]
    assert run.report().picture("access").line == 2  # as ever, the first by line


def guarded(body, n=8, threads=32, arrays="abcdefg"):
    parameters = ", ".join(f"float* {name}" for name in arrays)
    source = f'extern "C" __global__ void k({parameters}, int n) {{\n    int i = threadIdx.x;\n{body}\n}}'
    return profile(RawKernel(source, "k"), (1,), (threads,), (*[cp.ones(n, cp.float32) for _ in arrays], n))


EIGHT = "a[i] = b[i] + c[i];\n d[i] = e[i] + f[i];\n g[i] = a[i];"


@pytest.mark.parametrize(
    "body",
    [
        f"if (i <= n) {{\n{EIGHT}\n}}",
        f"if (i > n) return;\n{EIGHT}",
        "if (i <= n) {\n if (i > -1) {\n a[i] = b[i] + c[i];\n d[i] = e[i] + f[i]; }\n g[i] = a[i]; }",
    ],
)
def test_what_one_guard_lets_through_is_one_finding_there(body):
    report = guarded(body)
    assert [(f.array, f.count) for f in report.out_of_bounds][:3] == [("b", 1), ("c", 1), ("a", 1)]
    assert len(report.out_of_bounds) == len(report.findings) == 8
    (one,) = report.problems
    assert one.line == 3 and one.kind == "guard" and one.count == 1
    assert says(one.message, "8") and "b, c, a, e, f, d, g" in one.message
    assert says(one.message, "(8,0,0) b[8] 8 7")
    assert ": 1 problem\n" in str(report) and str(report).count("\n  line 3: ") == 1
    assert report._repr_html_().count("<li>") == 1


def test_what_no_guard_lets_through_stays_where_it_is():
    report = guarded("a[i] = b[i];\nc[i] = 1;")
    assert [f.line for f in report.problems] == [3, 3, 4] and not report.out_of_bounds[0].guards


def test_one_access_behind_a_guard_stays_where_it_is():
    report = guarded("if (i <= n) {\n a[i] = 1;\n}")
    (one,) = report.problems
    assert (one.kind, one.line, one.guards) == ("out-of-bounds", 4, (3,))


def test_a_condition_that_compares_no_sizes_is_no_guard():
    report = guarded("if (n == 8) {\n a[i] = b[i];\n}")
    assert [f.line for f in report.problems] == [4, 4]


def test_a_loop_that_goes_too_far_is_not_blamed_on_the_guard_around_it():
    loop = "if (i < n) {\n for (int k = 0; k <= n; k++)\n  a[i] += b[k] * c[k];\n d[i] = a[i];\n}"
    (one,) = guarded(loop).problems
    assert one.line == 4 and says(one.message, "16")


def test_the_guard_is_blamed_for_what_a_loop_in_it_does():
    loop = "if (i <= n) {\n for (int k = 0; k < n; k++)\n  d[k] = b[i] * c[i];\n a[i] = 1;\n}"
    report = guarded(loop)
    found = [f for f in report.problems if f.kind == "guard"]
    assert [f.line for f in found] == [3] and says(found[0].message, "17")


def test_occupancy_is_limited_by_threads_blocks_or_shared_memory():
    """The limits of NVIDIA's table, worked out by hand."""

    def of(*given):
        found = occupancy(*given)
        words = ("threads", "blocks", "shared")
        return found.blocks, found.warps, [word for limit in found.limits for word in words if word in limit]

    assert of(256, 0) == (8, 64, ["threads"])
    assert of(32, 0) == (32, 32, ["blocks"])
    assert of(64, 0) == (32, 64, ["threads", "blocks"])
    assert of(1024, 0, "sm_86") == (1, 32, ["threads"])
    assert of(256, 48 * 1024) == (4, 32, ["shared"])  # 49 KB each of 228
    assert of(33, 0, "sm_75") == (16, 32, ["threads", "blocks"])
    assert of(128, 32 * 1024, "sm_75") == (2, 8, ["shared"])  # nothing is reserved
    assert of(128, 10_880, "sm_75") == (5, 20, ["shared"])  # 11,008 bytes each: by 256, not by 128
    assert of(128, 64 * 1024 + 1, "sm_75")[:2] == (0, 0)
    assert says(str(occupancy(128, 120 * 1024, "sm_89")), "shared")
    with pytest.raises(ValueError, match=r"'sm_1'.*sm_75,"):
        occupancy(32, 0, "sm_1")


def test_a_report_tells_its_occupancy_and_that_registers_are_unknown(shift):
    assert shift.occupancy("sm_80").warps == 64
    for text in (str(shift), shift._repr_html_()):
        assert says(text, "warps (100%) sm_90 registers")
