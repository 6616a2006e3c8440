"""Kernels on a GPU, by a CuPy that has none: who decides, what CuPy gets, what is copied, what is refused."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import SCHEDULES
from fake_cupy import ROUND, START, Fake, asked_anew, installed
from key_words import says
from lesson import lesson
from real_kernels import CASES, Case

import warplens
from warplens import CompileError, KernelFault, RawKernel, RawModule, backend, profile, simulate
from warplens.device import stand_in
from warplens.errors import LaunchError
from warplens.through_cupy import GpuCopies, merged
from warplens.unit import compiled

pytestmark = pytest.mark.slow

ADD = 'extern "C" __global__ void add(const float* x, float* y, int n) {\n' + (
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] += x[i];\n}"
)
TENSOR_CORES = "#include <mma.h>\n" + (
    'extern "C" __global__ void __launch_bounds__(64) sync(float* x) {\n    x[0] = 1;\n}'
)


@pytest.fixture
def cupy() -> Iterator[Fake]:
    with installed() as fake:
        yield fake


def ramp(fake: Fake, n: int, dtype: Any = np.float32) -> Any:
    return fake.asarray(np.arange(n, dtype=dtype))


# --------------------------------------------------------------------------------------------------- backend


def test_kernels_run_on_a_gpu_where_cupy_finds_one(cupy: Fake) -> None:
    assert backend() == warplens.backend() == "gpu"
    assert warplens.cp is cupy


@pytest.mark.parametrize("devices", [0, -1])
def test_kernels_are_simulated_where_cupy_finds_no_gpu(devices: int) -> None:
    with installed(devices):
        assert backend() == "simulate" and warplens.cp is stand_in.cp


def test_the_variable_decides_against_a_gpu() -> None:
    with installed(wanted="simulate"):
        assert backend() == "simulate" and warplens.cp is stand_in.cp


@pytest.mark.parametrize(
    ("devices", "told"),
    [
        (0, "CuPy GPU nvidia-smi"),
        (-1, "CuPy GPU cudaErrorInsufficientDriver"),
    ],
)
def test_a_gpu_that_is_asked_for_and_missing_is_one_clear_line(devices: int, told: str) -> None:
    with installed(devices, "gpu"):
        with pytest.raises(RuntimeError) as error:
            backend()
        assert says(str(error.value), f"WARPLENS=gpu {told}")
        assert "\n" not in str(error.value)
        with pytest.raises(RuntimeError, match="WARPLENS=gpu"):
            _ = warplens.cp


@pytest.mark.parametrize("wanted", ["cpu", "GPU", "1"])
def test_other_values_of_the_variable_are_refused(wanted: str) -> None:
    with asked_anew(wanted), pytest.raises(ValueError, match=f"gpu.*simulate.*'{wanted}'"):
        backend()


def test_what_is_missing_is_named_without_importing_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("warplens.backend")
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    assert says(module.missing_for_gpu(), "pip install cupy-cuda12x")
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(module, "missing_driver", lambda: "no driver")
    assert module.missing_for_gpu() == "no driver" and "cupy" not in sys.modules


class Driver:
    """libcuda, with a result of cuInit and a number of GPUs."""

    def __init__(self, result: int, count: int) -> None:
        self.result, self.count = result, count

    def cuInit(self, flags: int) -> int:
        return self.result

    def cuDeviceGetCount(self, pointer: Any) -> int:
        pointer._obj.value = self.count
        return 0


@pytest.mark.parametrize(
    ("driver", "told"),
    [(Driver(0, 1), None), (Driver(100, 0), "GPU"), (Driver(0, 0), "GPU")],
)
def test_the_driver_is_asked(monkeypatch: pytest.MonkeyPatch, driver: Driver, told: str | None) -> None:
    module = import_module("warplens.backend")
    monkeypatch.setattr("ctypes.CDLL", lambda name: driver)
    found = module.missing_driver()
    assert found is None if told is None else told in found


def test_without_a_driver_its_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr("ctypes.CDLL", missing)
    assert says(import_module("warplens.backend").missing_driver(), "NVIDIA driver")


def test_the_package_asks_nothing_before_it_is_asked() -> None:
    code = (
        "import sys, warplens; warplens.backend; assert 'numpy' not in sys.modules;"
        "assert 'ctypes' not in sys.modules; import warplens.kernel, warplens.through_cupy;"
        "assert warplens.backend.cache_info().currsize == 0; print(warplens.backend())"
    )
    root = str(Path(warplens.__file__).parents[1])
    env = {"PYTHONPATH": root, "WARPLENS": "simulate", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("simulate\n", "")


@pytest.fixture
def cupy_without_driver(tmp_path: Path) -> str:
    """A folder with a CuPy that says what CuPy says without a driver."""
    (tmp_path / "cupy.py").write_text(
        "from types import SimpleNamespace\nclass CUDARuntimeError(RuntimeError): pass\n"
        "def getDeviceCount():\n    raise CUDARuntimeError('cudaErrorInsufficientDriver: CUDA driver version "
        "is insufficient for CUDA runtime version')\n"
        "cuda = SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=getDeviceCount))\n"
    )
    return str(tmp_path)


def test_a_lesson_is_the_same_with_a_cupy_that_has_no_gpu(cupy_without_driver: str) -> None:
    absent, present = lesson(WARPLENS="simulate"), lesson(path=cupy_without_driver)
    assert absent == present and present.endswith("simulate <stand-in for CuPy on NumPy> False\n")
    imported = lesson("import cupy", path=cupy_without_driver)
    assert imported == absent.replace("False\n", "True\n")


def test_a_lesson_that_wants_a_gpu_says_what_is_missing(cupy_without_driver: str) -> None:
    for first, told in (
        ("", "NVIDIA"),
        ("import cupy", "cudaErrorInsufficientDriver"),
    ):
        said = lesson(first, path=cupy_without_driver, WARPLENS="gpu")
        assert said.startswith("RuntimeError: ") and says(said, f"WARPLENS=gpu {told}")


# ---------------------------------------------------------------------------------------------------- launch


def test_a_launch_goes_to_cupy_with_typed_arguments(cupy: Fake) -> None:
    kernel, x, y = RawKernel(ADD, "add"), ramp(cupy, 100), ramp(cupy, 100)
    kernel((1,), (128,), (x, y, 100))
    ((name, grid, block, args, shared_mem, stream),) = cupy.launches
    assert (name, grid, block, shared_mem, stream) == ("add", (1, 1, 1), (128, 1, 1), 0, None)
    assert args[:2] == (x, y) and args[2] == 100 and type(args[2]) is np.int32
    assert y.get().tolist() == [2 * i for i in range(100)]


def test_options_stream_and_shared_memory_are_passed_on(cupy: Fake) -> None:
    source = 'extern "C" __global__ void k(float* x) { extern __shared__ float s[]; x[0] = N; }'
    kernel = RawKernel(source, "k", options=["-DN=3"], jitify=True)
    x, stream = cupy.zeros(1, np.float32), object()
    kernel((1,), (1,), (x,), shared_mem=np.int64(64), stream=stream)
    assert x.get() == 3
    assert cupy.launches[0][4:] == (64, stream) and type(cupy.launches[0][4]) is int
    assert cupy.modules[0].options == ("-DN=3", "--std=c++17") and cupy.modules[0].settings == {
        "jitify": True
    }


@pytest.mark.parametrize("option", ["--std=c++14", "-std=c++14"])
def test_who_names_a_standard_gets_it(cupy: Fake, option: str) -> None:
    RawKernel(ADD, "add", (option,))((1,), (1,), (ramp(cupy, 1), ramp(cupy, 1), 1))
    assert cupy.modules[0].options == (option,)


def test_nvrtc_compiles_once_and_at_the_first_launch(cupy: Fake) -> None:
    kernel = RawKernel(ADD, "add")
    assert cupy.modules == []
    for _ in range(3):
        kernel((1,), (1,), (ramp(cupy, 1), ramp(cupy, 1), 1))
    assert len(cupy.modules) == 1


def test_records_and_pointers_reach_cupy_by_value(cupy: Fake) -> None:
    source = (
        "struct Pair { int a; float b; };\n"
        'extern "C" __global__ void k(Pair p, float* x, bool add) { if (add) x[1] = p.a + p.b; }'
    )
    x = cupy.zeros(3, np.float32)
    RawKernel(source, "k")((1,), (1,), ((2, np.float32(0.5)), x.data, True))
    record, pointer, flag = cupy.launches[0][3]
    assert (
        record.shape == (1,) and record.dtype.itemsize == 8 and pointer is x.data and type(flag) is np.bool_
    )
    assert x.get()[1] == 2.5


def test_an_instance_of_a_template_is_found_by_its_expression(cupy: Fake) -> None:
    source = "template <typename T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }"
    kernel = RawModule(code=source, name_expressions=["twice<int>"]).get_function("twice<int>")
    x = ramp(cupy, 4, np.int32)
    kernel((1,), (4,), (x,))
    assert x.get().tolist() == [0, 2, 4, 6] and cupy.modules[0].expressions == ("twice<int>",)


def bad_launches(fake: Fake) -> list[tuple[Any, ...]]:
    x, n, host = ramp(fake, 8), 8, np.zeros(8, np.float32)
    return [
        (TypeError, "takes 3 arguments", (1,), (8,), (x, x)),
        (TypeError, "NumPy host", (1,), (8,), (host, x, n)),
        (
            TypeError,
            "NumPy host",
            (1,),
            (8,),
            (host, host, n),
        ),
        (TypeError, "float32", (1,), (8,), (ramp(fake, 8, np.float64), x, n)),
        (TypeError, "float 8.0", (1,), (8,), (x, x, 8.0)),
        (ValueError, "C-contiguous", (1,), (8,), (x[::2], x, n)),
        (ValueError, "1,025 x", (1,), (1025,), (x, x, n)),
        (ValueError, "grid 1", (0,), (8,), (x, x, n)),
        (TypeError, "grid tuple", 1, (8,), (x, x, n)),
        (TypeError, "tuple", (1,), (8,), x),
        (TypeError, "CuPy", (1,), (8,), (x, stand_in.cp.zeros(8, np.float32), n)),
    ]


@pytest.mark.parametrize("number", range(11))
def test_what_is_refused_without_a_gpu_is_refused_with_one(cupy: Fake, number: int) -> None:
    error, text, grid, block, args = bad_launches(cupy)[number]
    kernel = RawKernel(ADD, "add")
    for run in (kernel, lambda *a: simulate(kernel, *a), lambda *a: profile(kernel, *a)):
        with pytest.raises(error) as found:
            run(grid, block, args)
        assert isinstance(found.value, LaunchError) and says(str(found.value), text)
    assert cupy.launches == []


def test_a_block_for_which_there_are_too_few_registers_is_refused(cupy: Fake) -> None:
    cupy.most_threads = 512
    kernel, x = RawKernel(ADD, "add"), ramp(cupy, 8)
    with pytest.raises(ValueError, match=r"513.*GPU.*registers.*512"):
        kernel((1,), (513,), (x, x, 8))
    kernel((1,), (512,), (x, x, 8))


def test_arrays_decide_where_a_launch_runs() -> None:
    kernel = RawKernel(ADD, "add")
    for wanted in ("simulate", "gpu"):
        with installed(wanted=wanted) as fake:
            here = stand_in.cp.ones(4, np.float32)
            kernel((1,), (4,), (here, here, 4))
            assert fake.launches == [] and here.get().tolist() == [2] * 4
            there = ramp(fake, 4)
            RawKernel(ADD, "add")((1,), (4,), (there, there, 4))
            assert len(fake.launches) == 1 and there.get().tolist() == [0, 2, 4, 6]


def test_without_arrays_the_backend_decides(cupy: Fake) -> None:
    RawKernel('extern "C" __global__ void k(int n) { }', "k")((1,), (1,), (3,))
    assert len(cupy.launches) == 1
    with asked_anew("simulate"):
        RawKernel('extern "C" __global__ void k(int n) { }', "k")((1,), (1,), (3,))
    assert len(cupy.launches) == 1


def test_a_kernel_tells_its_source_its_name_and_its_resources(cupy: Fake) -> None:
    source = 'extern "C" __global__ void k(float* x) { __shared__ float s[8]; s[0] = *x; }'
    kernel = RawKernel(source, "k")
    assert (kernel.name, kernel.source, kernel.shared_size_bytes) == ("k", source, 32)
    assert (kernel.max_threads_per_block, kernel.num_regs, kernel.local_size_bytes) == (1024, 32, 0)
    assert kernel.attributes["num_regs"] == 32
    with asked_anew("simulate"):
        kernel = RawKernel(source.replace("void", "void __launch_bounds__(96)"), "k")
        assert (kernel.name, kernel.max_threads_per_block, kernel.shared_size_bytes) == ("k", 96, 32)
        with pytest.raises(AttributeError, match=r"num_regs.*GPU"):
            _ = kernel.num_regs
        assert not hasattr(kernel, "grid")


# ------------------------------------------------------------------------------------------------ all kernels


@pytest.mark.parametrize("case", CASES[::3], ids=lambda case: case.id)
def test_every_lesson_kernel_runs_there_and_on_copies(case: Case) -> None:
    with installed() as fake:
        names = (case.kernel,) if "<" in case.kernel else None
        kernel = RawModule(code=case.source, name_expressions=names).get_function(case.kernel)

        def given() -> list[Any]:
            return [fake.asarray(a) if isinstance(a, np.ndarray) else a for a in case.args]

        def held(args: list[Any]) -> list[Any]:
            return [a.get() if isinstance(a, fake.ndarray) else None for a in args]

        args = given()
        kernel(case.grid, case.block, args, shared_mem=case.shared_mem)
        assert len(fake.launches) == 1
        case.check(held(args))
        args = given()
        simulate(kernel, case.grid, case.block, args, case.shared_mem, schedule="reverse")
        case.check(held(args))
        args = given()
        report = profile(kernel, case.grid, case.block, args, case.shared_mem)
        case.check(report.outputs)
        for before, after in zip(case.args, held(args), strict=True):
            if after is not None:
                np.testing.assert_array_equal(after, before, err_msg="profile wrote to its arguments")
        assert len(fake.launches) == 1


# ---------------------------------------------------------------------------------------------------- copies


def test_ranges_that_share_a_unit_are_merged() -> None:
    assert merged([(10, 20), (0, 5), (15, 30), (30, 31)], 1) == [(0, 5), (10, 30), (30, 31)]
    assert merged([(0, 5), (10, 20), (40, 50)], 16) == [(0, 20), (40, 50)]
    assert merged([(0, 16), (16, 20)], 16) == [(0, 16), (16, 20)] and merged([], 1) == []


def test_only_what_arguments_reach_is_copied(cupy: Fake) -> None:
    cupy.zeros(1000)
    x, y = ramp(cupy, 100), ramp(cupy, 100)
    cupy.heap.read.clear()
    profile(RawKernel(ADD, "add"), (1,), (32,), (x[10:20], y[5:15], 10))
    spans = [(x.data.ptr + 40, x.data.ptr + 80), (y.data.ptr + 20, y.data.ptr + 60)]
    assert cupy.heap.read == spans and cupy.heap.written == []


def test_arguments_that_overlap_share_a_copy_and_addresses_stay(cupy: Fake) -> None:
    x, y = ramp(cupy, 300), ramp(cupy, 8)
    copies = GpuCopies((x[:200], x[100:], x[280:].view(np.int32), y, 7))
    a, b, c, d, n = copies.args
    assert a.data.mem is b.data.mem is c.data.mem and d.data.mem is not a.data.mem and n == 7
    for copy, array in zip((a, b, c, d), (x, x[100:], x[280:], y)):
        assert copy.data.ptr == array.data.ptr and copy.data.mem.base % 512 == 0
    a._array[150] = -1
    assert b._array[50] == -1 and c.dtype == np.int32
    assert len(cupy.heap.read) == 2
    copies.back()
    assert x.get()[150] == -1


def test_neighbours_in_one_allocation_are_copied_apart_and_simulated_together(cupy: Fake) -> None:
    x = ramp(cupy, 100)
    cupy.heap.read.clear()
    copies = GpuCopies((x[:10], x[30:40]))
    start = x.data.ptr
    assert cupy.heap.read == [(start, start + 40), (start + 120, start + 160)]
    a, b = copies.args
    assert a.data.mem is b.data.mem and b._array.tolist() == list(range(30, 40))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_simulate_writes_back_what_aliasing_arguments_wrote(cupy: Fake, schedule: str) -> None:
    x = ramp(cupy, 64)
    simulate(RawKernel(ADD, "add"), (1,), (32,), (x[32:], x[:32], 32), schedule=schedule)
    assert x.get()[:32].tolist() == [i + i + 32 for i in range(32)]
    assert x.get()[32:].tolist() == list(range(32, 64)) and cupy.launches == []


def test_alignment_is_that_of_the_gpu(cupy: Fake) -> None:
    source = (
        'extern "C" __global__ void k(float* x) { float4* v = (float4*)x; v[threadIdx.x] = v[threadIdx.x]; }'
    )
    kernel, x = RawKernel(source, "k"), ramp(cupy, 64)
    assert profile(kernel, (1,), (4,), (x[4:],)).ok
    report = profile(kernel, (1,), (4,), (x[5:],))
    assert report.misaligned and not report.out_of_bounds
    add = RawKernel(ADD, "add")
    sectors = [
        profile(add, (1,), (32,), (x[i:][:32], ramp(cupy, 32), 32)).global_load_sectors for i in (0, 1)
    ]
    assert sectors[1] == sectors[0] + 1  # 128 bytes that begin within a sector touch five of them


def test_a_pointer_reaches_its_whole_allocation_and_no_more(cupy: Fake) -> None:
    source = 'extern "C" __global__ void k(float* x, int i) { x[i] = 1; }'
    kernel, x = RawKernel(source, "k"), ramp(cupy, 128)
    _, y = ramp(cupy, 128), x[64:]
    cupy.heap.read.clear()
    simulate(kernel, (1,), (1,), (y.data, -64))
    simulate(kernel, (1,), (1,), (y.data, 63))
    assert x.get()[[0, 127]].tolist() == [1, 1]
    assert cupy.heap.read[0] == (x.data.ptr, x.data.ptr + ROUND)
    for i in (-65, 64):
        with pytest.raises(KernelFault, match=r"\b128\b"):
            simulate(kernel, (1,), (1,), (y.data, i))
    with pytest.raises(KernelFault, match=r"\b64\b"):
        simulate(kernel, (1,), (1,), (y, -1))


def test_what_a_kernel_wrote_before_a_fault_is_there(cupy: Fake) -> None:
    source = 'extern "C" __global__ void k(float* x) { x[0] = 7; x[8] = 1; }'
    x = ramp(cupy, 8)
    with pytest.raises(KernelFault, match=r"\b8\b"):
        simulate(RawKernel(source, "k"), (1,), (1,), (x,))
    assert x.get()[0] == 7


def test_empty_arrays_are_passed(cupy: Fake) -> None:
    x = cupy.zeros(0, np.float32)
    kernel = RawKernel(ADD, "add")
    kernel((1,), (1,), (x, x, 0))
    simulate(kernel, (1,), (1,), (x, x.data, 0))
    assert profile(kernel, (1,), (1,), (x, x, 0)).outputs[0].shape == (0,)


def test_a_pointer_of_unknown_size_is_refused_for_copies(cupy: Fake) -> None:
    x = ramp(cupy, 8)
    unknown = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(x.data.ptr, 0, x), 0)
    kernel = RawKernel(ADD, "add")
    kernel((1,), (1,), (unknown, x, 1))
    with pytest.raises(LaunchError, match=r"cp\.ndarray"):
        profile(kernel, (1,), (1,), (unknown, x, 1))


# ------------------------------------------------------------------------------------ variables at file scope

SCALE = (
    "__constant__ float factors[2] = {2.0f, 3.0f};\n__device__ int calls;\n"
    'extern "C" __global__ void scale(float* x) {\n'
    "    x[threadIdx.x] *= factors[threadIdx.x];\n    atomicAdd(&calls, 1);\n}"
)


def test_get_global_is_cupys_and_knows_its_size(cupy: Fake) -> None:
    module = RawModule(code=SCALE)
    pointer = module.get_global("factors")
    assert isinstance(pointer, cupy.cuda.MemoryPointer) and pointer.mem.size == 8
    cupy.ndarray((2,), np.float32, pointer)[...] = np.float32([5, 7])
    x = cupy.asarray(np.ones(2, np.float32))
    module.get_function("scale")((1,), (2,), (x,))
    assert x.get().tolist() == [5, 7]
    with pytest.raises(ValueError, match=r"'factor'.*factors, calls"):
        module.get_global("factor")


def test_variables_of_the_gpu_are_copied_and_written_back(cupy: Fake) -> None:
    module = RawModule(code=SCALE)
    kernel, x = module.get_function("scale"), cupy.asarray(np.ones(2, np.float32))
    factors = cupy.ndarray((2,), np.float32, module.get_global("factors"))
    calls = cupy.ndarray((1,), np.int32, module.get_global("calls"))
    factors[...] = np.float32([5, 7])
    assert profile(kernel, (1,), (2,), (x,)).outputs[0].tolist() == [5, 7]
    assert calls.get() == 0 and x.get().tolist() == [1, 1]
    simulate(kernel, (1,), (2,), (x,))
    assert calls.get() == 2 and x.get().tolist() == [5, 7]
    kernel((1,), (2,), (x,))
    assert calls.get() == 4


def test_a_variable_that_a_gpu_does_not_show_is_left_as_it_is(cupy: Fake) -> None:
    cupy.hidden = {"factors", "calls"}
    x = cupy.asarray(np.ones(2, np.float32))
    simulate(RawModule(code=SCALE).get_function("scale"), (1,), (2,), (x,))
    assert x.get().tolist() == [2, 3]


# ------------------------------------------------------------------------------------ outside of the language


def test_source_outside_of_the_language_runs_unchecked_after_one_warning(cupy: Fake) -> None:
    with pytest.warns(UserWarning) as found:
        kernel = RawKernel(TENSOR_CORES, "sync")
        for args in ((cupy.zeros(1, np.float32),), (1, 2.0, None)):
            kernel((1,), (64,), args, shared_mem=8)
    assert len(found) == 1 and found[0].filename == __file__
    text = str(found[0].message)
    assert text.startswith("sync.cu:1: unsupported: ") and "\n" not in text
    assert says(text, "GPU unchecked simulate profile")
    assert [launch[3] for launch in cupy.launches][1] == (1, 2.0, None) and cupy.launches[0][4] == 8
    assert (kernel.name, kernel.source, kernel.num_regs) == ("sync", TENSOR_CORES, 32)
    assert kernel.declaration == "sync(...)"
    for run in (simulate, profile):
        with pytest.raises(CompileError, match="unsupported"):
            run(kernel, (1,), (1,), (cupy.zeros(1, np.float32),))


def test_a_module_outside_of_the_language_warns_once_and_names_its_kernels(cupy: Fake) -> None:
    with pytest.warns(UserWarning) as found:
        module = RawModule(code=TENSOR_CORES, name="lesson.cu")
        module.get_function("sync")((1,), (1,), (ramp(cupy, 1),))
    assert len(found) == 1 and str(found[0].message).startswith("lesson.cu:1: ")
    assert module.names == ["sync"] and module.source == TENSOR_CORES
    with pytest.raises(CompileError, match="unsupported"):
        _ = module.program


def test_the_names_of_a_module_are_its_extern_c_kernels(cupy: Fake) -> None:
    source = f'{ADD}\n__global__ void hidden() {{ }}\nextern "C" __global__ void last() {{ }}'
    assert RawModule(code=source).names == ["add", "last"]


def test_mistakes_are_refused_there_too(cupy: Fake) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CompileError, match=r"'m'.*undefined"):
            RawKernel(ADD.replace("i < n", "i < m"), "add")
        with pytest.raises(ValueError, match="'sub'"):
            RawKernel(ADD, "sub")
    assert cupy.launches == []


def odd(body: str, before: str = "") -> str:
    return f'{before}\nextern "C" __global__ void odd(float* x) {{ {body} }}'


# NVRTC takes them, and our front end calls them mistakes, or did so once.
TAKEN = {
    "what is a mistake to it": odd("x[0] = m;"),
    "a name that it does not know": odd("x[0] = __some_new_intrinsic(x[1]);"),
    "a type that it does not know": odd("some_new_type t; x[0] = 1;"),
    "syntax that it does not know": odd("auto [a, b] = make_pair_of(x);"),
    "a header that it does not know": odd("x[0] = 1;", "#include <some_new_header.cuh>"),
    "textures": odd("x[0] = tex1D<float>(t, 0.5f);", "texture<float> t;"),
    "cub": odd("", "#include <cub/cub.cuh>"),
    "complex numbers": odd("", "#include <cuComplex.h>"),
}


@pytest.mark.parametrize("what", TAKEN)
def test_what_nvrtc_takes_is_never_refused(cupy: Fake, what: str) -> None:
    source = cupy.takes = TAKEN[what]
    with pytest.warns(UserWarning, match="unchecked") as found:
        kernel = RawKernel(source, "odd")
        kernel((1,), (1,), (1, 2))
    assert len(found) == 1 and found[0].filename == __file__ and len(cupy.launches) == 1
    with pytest.warns(UserWarning, match="unchecked") as found:
        RawModule(code=source).get_function("odd")((1,), (1,), ())
    assert len(found) == 1 and found[0].filename == __file__


def test_what_both_compilers_refuse_is_told_in_our_words(cupy: Fake) -> None:
    source = TAKEN["what is a mistake to it"]
    with pytest.raises(CompileError) as error:
        RawKernel(source, "odd")
    assert str(error.value) == refusal(source) and says(str(error.value), "'m' undefined")


def refusal(source: str) -> str:
    with installed(wanted="simulate"), pytest.raises(CompileError) as error:
        RawKernel(source, "odd")
    return str(error.value)


def test_a_fault_of_our_front_end_blocks_nobody_with_a_gpu(
    cupy: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any) -> None:
        raise AssertionError("a case that nobody thought of")

    monkeypatch.setattr("warplens.unit.compiled", broken)
    with pytest.warns(UserWarning, match="AssertionError"):
        kernel = RawKernel(ADD, "add")
    with monkeypatch.context() as patch:
        patch.setattr("warplens.unit.compiled", compiled)
        kernel((1,), (1,), (ramp(cupy, 1), ramp(cupy, 1), np.int32(1)))
    assert len(cupy.launches) == 1
    with asked_anew("simulate"), pytest.raises(AssertionError, match="nobody thought of"):
        RawKernel(ADD, "add")


def test_without_a_gpu_what_is_outside_of_the_language_is_an_error() -> None:
    with installed(wanted="simulate"), pytest.raises(CompileError, match="unsupported"):
        RawKernel(TENSOR_CORES, "sync")


def test_the_heap_of_the_fake_is_what_the_tests_think() -> None:
    with installed() as fake:
        x, y = ramp(fake, 3), ramp(fake, 3)
        assert (x.data.ptr, y.data.ptr, x.data.mem.size) == (START, START + ROUND, ROUND)
        with pytest.raises(RuntimeError, match="IllegalAddress"):
            fake.ndarray((4096,), np.uint8, x.data).get()
