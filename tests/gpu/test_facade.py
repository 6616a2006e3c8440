"""What the facade promises of a real GPU and the real CuPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minilib.cuda
from minilib.cuda import CompileError, RawKernel, RawModule, backend, profile, simulate

# The file is tried with the CuPy of tests/warplens/helpers/fake_cupy.py, too.
FAKE = type(sys.modules.get("cupy")).__module__ == "fake_cupy"

ADD = (
    'extern "C" __global__ void add(const float* x, float* y, int n) {\n'
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] += x[i];\n}"
)


def test_cp_is_cupy() -> None:
    import cupy

    assert backend() == "gpu" and minilib.cuda.cp is cupy


@pytest.mark.skipif(FAKE, reason="asks in another process")
def test_a_gpu_is_found_without_being_asked_for() -> None:
    code = "from minilib.cuda import backend, cp; print(backend(), cp.__name__)"
    root = str(Path(minilib.cuda.__file__).parents[1])
    env = {name: value for name, value in os.environ.items() if name != "MINILIB_CUDA"}
    done = subprocess.run([sys.executable, "-c", code], cwd=root, env=env, capture_output=True, text=True)
    assert done.stdout == "gpu cupy\n", done.stderr


def test_arguments_that_cupy_would_take_wrongly_are_refused() -> None:
    from minilib.cuda import cp

    kernel, x = RawKernel(ADD, "add"), cp.zeros(8, cp.float32)
    for args in ((x, x), (x, x, 8.0), (x, np.zeros(8, np.float32), 8), (cp.zeros(8), x, 8), (x[::2], x, 4)):
        with pytest.raises((TypeError, ValueError), match="add"):
            kernel((1,), (8,), args)
    with pytest.raises(ValueError, match="1,025 threads"):
        kernel((1,), (1025,), (x, x, 8))


def test_python_numbers_records_and_pointers_arrive() -> None:
    from minilib.cuda import cp

    source = (
        "struct Pair { char a; double b; };\n"
        'extern "C" __global__ void k(Pair p, float* x, bool add, short s, float f, unsigned long long q) {\n'
        "    if (add) { x[0] = p.a + p.b; x[1] = s; x[2] = f; x[3] = q; }\n}"
    )
    x = cp.zeros(5, cp.float32)
    RawKernel(source, "k")((1,), (1,), ((2, 0.5), x.data + 4, True, -3, np.float32(1.5), 7))
    assert x.get().tolist() == [0, 2.5, -3, 1.5, 7]


def test_views_of_one_array_share_their_copy() -> None:
    from minilib.cuda import cp

    kernel, x = RawKernel(ADD, "add"), cp.asarray(np.arange(64), np.float32)
    report = profile(kernel, (1,), (32,), (x[32:], x[:32], 32))
    assert report.ok and x.get().tolist() == list(range(64))
    simulate(kernel, (1,), (32,), (x[32:], x[:32], 32))
    expected = [2 * i + 32 for i in range(32)]
    assert x.get()[:32].tolist() == expected
    kernel((1,), (32,), (x[32:], x[:32], 32))
    assert x.get()[:32].tolist() == [e + i + 32 for i, e in enumerate(expected)]


def test_a_pointer_reaches_its_allocation() -> None:
    from minilib.cuda import cp

    x = cp.zeros(1000, cp.float32)
    assert x.data.mem.size >= x.nbytes
    source = 'extern "C" __global__ void k(float* x, int i) { x[i] = 1; }'
    simulate(RawKernel(source, "k"), (1,), (1,), (x[500:].data, -500))
    assert x.get()[0] == 1


def test_variables_at_file_scope() -> None:
    from minilib.cuda import cp

    source = (
        "__constant__ float factors[2] = {2.0f, 3.0f};\n__device__ int calls;\n"
        'extern "C" __global__ void scale(float* x) {\n'
        "    x[threadIdx.x] *= factors[threadIdx.x];\n    atomicAdd(&calls, 1);\n}"
    )
    module = RawModule(code=source)
    kernel, x = module.get_function("scale"), cp.asarray(np.ones(2), np.float32)
    factors = cp.ndarray((2,), cp.float32, module.get_global("factors"))
    calls = cp.ndarray((1,), cp.int32, module.get_global("calls"))
    assert factors.get().tolist() == [2, 3]
    factors[...] = cp.asarray([5, 7], np.float32)
    kernel((1,), (2,), (x,))
    assert x.get().tolist() == [5, 7] and calls.get().tolist() == [2]
    assert profile(kernel, (1,), (2,), (x,)).outputs[0].tolist() == [25, 49]
    assert calls.get().tolist() == [2]
    simulate(kernel, (1,), (2,), (x,))
    assert x.get().tolist() == [25, 49] and calls.get().tolist() == [4]


@pytest.mark.skipif(FAKE, reason="has no streams")
def test_streams_options_and_numbers_of_a_kernel() -> None:
    from minilib.cuda import cp

    kernel = RawKernel('extern "C" __global__ void k(float* x) { x[threadIdx.x] = N; }', "k", ("-DN=3",))
    x, stream = cp.zeros(4, cp.float32), cp.cuda.Stream(non_blocking=True)
    cp.cuda.runtime.deviceSynchronize()
    kernel((1,), (4,), (x,), stream=stream)
    stream.synchronize()
    assert x.get().tolist() == [3] * 4
    assert kernel.num_regs > 0 and 0 < kernel.max_threads_per_block <= 1024
    assert kernel.local_size_bytes == 0 and kernel.attributes["num_regs"] == kernel.num_regs


@pytest.mark.skipif(FAKE, reason="has no NVRTC")
def test_source_outside_of_the_language_runs_unchecked() -> None:
    from minilib.cuda import cp

    source = (
        'extern "C" __global__ void lane(int* x) {\n    int i;\n'
        '    asm("mov.u32 %0, %%laneid;" : "=r"(i));\n    x[threadIdx.x] = i;\n}'
    )
    with pytest.warns(UserWarning, match=r"lane\.cu:3: unsupported: .*unchecked"):
        kernel = RawKernel(source, "lane")
    x = cp.zeros(64, cp.int32)
    kernel((1,), (64,), (x,))
    assert x.get().tolist() == [*range(32), *range(32)]
    with pytest.raises(CompileError, match="unsupported"):
        profile(kernel, (1,), (64,), (x,))
