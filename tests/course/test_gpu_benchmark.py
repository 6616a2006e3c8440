"""benchmarks/gpu.py: what it foretells, and that it would run where there is a GPU."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from fake_cupy import installed

from benchmarks import gpu, gpu_tensors
from benchmarks.gpu import ROWS, Row, foretold

pytestmark = pytest.mark.thorough


def row(name: str) -> Row:
    return next(row for row in ROWS if row.name == name)


@pytest.mark.parametrize("name", [row.name for row in ROWS])
def test_what_is_foretold_does_not_depend_on_the_size(name: str) -> None:
    small = foretold(row(name))
    larger = foretold(Row(**(vars(row(name)) | {"small": 2 * row(name).small})))
    assert small["bank_conflicts_by_request"] == pytest.approx(larger["bank_conflicts_by_request"], rel=0.05)
    assert small["sectors_by_ideal"] == pytest.approx(larger["sectors_by_ideal"], rel=0.1)


def test_transposes_differ_in_sectors_or_in_conflicts() -> None:
    naive, tiled, padded = (foretold(row(f"transpose_{kind}")) for kind in ("naive", "tiled", "padded"))
    # a store of 32 numbers in 32 sectors where 4 would do, beside a load in 4
    assert naive["sectors_by_ideal"] == 36 / 8 and naive["bank_conflicts_by_request"] == 0
    assert tiled["sectors_by_ideal"] == padded["sectors_by_ideal"] == 1
    # 31 for each load from the tile, of which there is one for two requests of global memory
    assert tiled["bank_conflicts_by_request"] == 31 / 2 and padded["bank_conflicts_by_request"] == 0


def test_tiles_of_a_product_are_worth_16_times_the_flops_for_a_byte() -> None:
    naive, tiled = foretold(row("matmul_naive")), foretold(row("matmul_tiled"))
    assert 10 < tiled["flops_by_byte"] / naive["flops_by_byte"] <= 16


class Event:
    def record(self) -> None:
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        pass


def test_it_measures_checks_and_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fake_cupy.CHUNK", 1 << 26)
    with installed() as fake:
        fake.__version__ = "13.0"  # type: ignore[attr-defined]
        fake.cuda.Event = Event
        fake.cuda.get_elapsed_time = lambda a, b: (b.time - a.time) * 1e3
        fake.cuda.runtime.getDeviceProperties = lambda device: {"name": b"no GPU"}
        monkeypatch.setattr(gpu, "ROUNDS", 1)
        gpu.main(["--size", "0.0005"])
        said = capsys.readouterr().out.splitlines()
        assert said[0] == "no GPU, CuPy 13.0" and len(said) == 3 + len(ROWS)
        monkeypatch.setattr(np, "zeros", np.ones)
        broken: Any = Row(**(vars(row("copy")) | {"source": gpu.COPY.replace("= x[i]", "+= 1")}))
        with pytest.raises(SystemExit, match="error: copy is wrong by"):
            gpu.measured(broken, 512)


def test_without_a_gpu_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with installed(devices=0):
        gpu.main([])
        gpu_tensors.main([])
    why = "measures nothing here: CuPy finds no GPU: nvidia-smi lists those that there are\n"
    assert capsys.readouterr().out == f"benchmarks.gpu {why}benchmarks.gpu_tensors {why}"


@pytest.mark.filterwarnings("ignore:there is no GPU here")
def test_all_work_with_tensors_runs_and_measures_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    gpu_tensors.main(["--tiny"])
    said = capsys.readouterr().out
    assert all(work.title in said for work in gpu_tensors.WORKS) and "ms" not in said.split()


def test_a_table_of_work_with_tensors_stands_beside_a_copy_and_cublas() -> None:
    """Of made-up times: a copy in 2 ms moves twice what 1 ms would, and half the time is twice the speed."""
    row = {"title": "copy", "n": 1, "cupy": 2e-3, "ours": 1e-3, "gb_per_second": 800.0}
    product = {"title": "product", "n": 1, "cupy": 1e-3, "ours": 2e-3, "torch": 1e-3, "gflops": 1234.0}
    lines = gpu_tensors.table([{"name": "copy"} | row, {"name": "matmul_1"} | product]).splitlines()
    assert lines[2] == "| copy | 1.000 ms | 2.000 ms |  | 800 |  | 2.00 |  |"
    assert lines[3] == "| product | 2.000 ms | 1.000 ms | 1.000 ms |  | 1,234 |  | 0.50 |"
