"""What code written for CuPy finds at a kernel: compile, attributes, pickling, shared memory beyond 48 KB."""

from __future__ import annotations

import copy
import pickle
from enum import Enum, IntEnum
from typing import Any

import numpy as np
import pytest
from fake_cupy import Fake, installed

from warplens import RawKernel, RawModule, cp, profile, simulate
from warplens.device import stand_in
from warplens.errors import LaunchError
from warplens.kernel import Kernel

TWICE = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
SHARED = (
    "__constant__ float factor[3] = {2, 3, 4};\n"
    'extern "C" __global__ void __launch_bounds__(128) k(float* x) {\n'
    "    extern __shared__ float s[];\n    __shared__ float fixed[8];\n"
    "    s[threadIdx.x] = x[threadIdx.x]; fixed[threadIdx.x % 8] = 1;\n"
    "    x[threadIdx.x] = s[threadIdx.x] * factor[0];\n}"
)


def test_compile_is_there_and_changes_nothing() -> None:
    kernel, module = RawKernel(TWICE, "twice"), RawModule(code=TWICE)
    assert kernel.compile() is None and module.compile(log_stream=None) is None
    x = cp.ones(4, cp.float32)
    kernel((1,), (4,), (x,))
    module.get_function("twice")((1,), (4,), (x,))
    assert x.get().tolist() == [4] * 4


def test_compile_asks_nvrtc_where_there_is_a_gpu() -> None:
    with installed() as fake:
        RawKernel(TWICE, "twice").compile()
        RawModule(code=TWICE).compile()
        assert [module.compiled for module in fake.modules] == [True, True]


def test_attributes_are_those_that_are_known_without_a_gpu() -> None:
    kernel = RawKernel(SHARED, "k")
    assert kernel.attributes == {
        "max_threads_per_block": 128,
        "shared_size_bytes": 32,
        "const_size_bytes": 12,
        "max_dynamic_shared_size_bytes": 48 * 1024 - 32,
    }
    assert kernel.const_size_bytes == 12
    with pytest.raises(AttributeError, match=r"num_regs.*GPU"):
        _ = kernel.num_regs


def test_a_module_says_what_it_was_made_of() -> None:
    module = RawModule(code=TWICE, options=("-DN=1",), name_expressions=["twice"])
    assert (module.code, module.options, module.name_expressions) == (TWICE, ("-DN=1",), ("twice",))
    kernel = RawKernel(TWICE, "twice", ("-DN=1",))
    assert kernel.options == ("-DN=1",) and kernel.backend == "nvrtc"


# --------------------------------------------------------------------------------------------------- pickling


@pytest.mark.parametrize("again", [lambda k: pickle.loads(pickle.dumps(k)), copy.copy, copy.deepcopy])
def test_kernels_are_pickled_and_copied(again: Any) -> None:
    kernel = RawKernel(TWICE.replace("2;", "N;"), "twice", ("-DN=3",))
    for made in (kernel, again(kernel)):
        x = cp.ones(4, cp.float32)
        made((1,), (4,), (x,))
        assert x.get().tolist() == [3] * 4 and type(made) is RawKernel and made.source == kernel.source
    assert profile(again(kernel), (1,), (4,), (cp.ones(4, cp.float32),)).ok


def test_modules_are_pickled_with_their_kernels() -> None:
    source = "template <typename T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }"
    module = RawModule(code=source, name_expressions=["twice<int>"], name="mine.cu")
    kernel = module.get_function("twice<int>")
    again, other = pickle.loads(pickle.dumps((module, kernel)))
    assert type(again) is RawModule and type(other) is Kernel and other.unit is again.unit
    x = cp.ones(4, cp.int32)
    again.get_function("twice<int>")((1,), (4,), (x,))
    other((1,), (4,), (x,))
    assert x.get().tolist() == [4] * 4 and again.program.name == "mine.cu"


def test_a_setting_of_a_kernel_is_pickled() -> None:
    kernel = RawKernel(SHARED, "k")
    kernel.max_dynamic_shared_size_bytes = 65536
    assert pickle.loads(pickle.dumps(kernel)).max_dynamic_shared_size_bytes == 65536


# ------------------------------------------------------------------------------ shared memory beyond 48 KB


def test_dynamic_shared_memory_beyond_48_kb_is_had_by_asking() -> None:
    kernel, x = RawKernel(SHARED, "k"), cp.ones(16, cp.float32)
    with pytest.raises(LaunchError, match=r"kernel\.max_dynamic_shared_size_bytes.*=.*65536"):
        kernel((1,), (16,), (x,), shared_mem=65536)
    kernel.max_dynamic_shared_size_bytes = 65536
    kernel((1,), (16,), (x,), shared_mem=65536)
    simulate(kernel, (1,), (16,), (x,), shared_mem=65536, schedule="reverse")
    assert profile(kernel, (1,), (16,), (x,), shared_mem=65536).shared_bytes == 65536 + 32
    assert x.get().tolist() == [4] * 16 and kernel.attributes["max_dynamic_shared_size_bytes"] == 65536
    with pytest.raises(LaunchError, match=r"65,540.*max_dynamic_shared_size_bytes.*65,536"):
        kernel((1,), (16,), (x,), shared_mem=65540)


@pytest.mark.parametrize("given", [163 * 1024 - 31, -1, 1.5, "64k"])
def test_more_than_a_gpu_has_cannot_be_asked_for(given: Any) -> None:
    kernel = RawKernel(SHARED, "k")
    with pytest.raises((ValueError, TypeError), match="max_dynamic_shared_size_bytes"):
        kernel.max_dynamic_shared_size_bytes = given
    kernel.max_dynamic_shared_size_bytes = 163 * 1024 - 32


def test_a_gpu_gets_the_setting_and_says_what_it_has() -> None:
    with installed() as fake:
        kernel, x = RawKernel(SHARED, "k"), fake.asarray(np.ones(16, np.float32))
        with pytest.raises(LaunchError, match="max_dynamic_shared_size_bytes"):
            kernel((1,), (16,), (x,), shared_mem=65536)
        kernel.max_dynamic_shared_size_bytes = 65536
        kernel.preferred_shared_memory_carveout = 50
        kernel((1,), (16,), (x,), shared_mem=65536)
        assert kernel.on_gpu.max_dynamic_shared_size_bytes == 65536 and len(fake.launches) == 1
        assert kernel.on_gpu.preferred_shared_memory_carveout == 50


# ---------------------------------------------------------------------------------------- memory and enums


def test_memory_is_allocated_by_bytes() -> None:
    pointer = stand_in.cp.cuda.alloc(16)
    x = cp.ndarray((4,), cp.float32, pointer)
    x[...] = 3
    RawKernel(TWICE, "twice")((1,), (4,), (pointer,))
    assert x.get().tolist() == [6] * 4 and pointer.mem.size == 16
    unset = profile(RawKernel(TWICE, "twice"), (1,), (4,), (stand_in.cp.cuda.alloc(16),))
    assert [one.array for one in unset.uninitialised] == ["x"]


class Mode(IntEnum):
    ADD = 0
    SUBTRACT = 1


class Colour(Enum):
    RED = 1


ENUMS = (
    "enum Mode { ADD, SUBTRACT }; enum class Op : unsigned char { X, Y };\n"
    'extern "C" __global__ void k(int* p, Mode m, Op o) { p[0] = m == SUBTRACT; p[1] = o == Op::Y; }'
)


def test_enums_of_python_are_passed_to_enums_and_integers() -> None:
    x = cp.zeros(2, cp.int32)
    RawKernel(ENUMS, "k")((1,), (1,), (x, Mode.SUBTRACT, Mode.ADD))
    assert x.get().tolist() == [1, 0]
    with installed() as fake:
        there: Fake = fake
        y = there.asarray(np.zeros(2, np.int32))
        RawKernel(ENUMS, "k")((1,), (1,), (y, Mode.SUBTRACT, Mode.SUBTRACT))
        assert y.get().tolist() == [1, 1]
        assert [type(value) for value in there.launches[0][3][1:]] == [np.int32, np.uint8]


def test_an_enum_that_is_no_integer_says_what_to_pass() -> None:
    with pytest.raises(LaunchError, match=r"argument.*2.*\(Mode.*m\):.*Colour.RED.*pass.*Colour.RED.value"):
        RawKernel(ENUMS, "k")((1,), (1,), (cp.zeros(2, cp.int32), Colour.RED, 0))


@pytest.mark.parametrize("make", [cp.ascontiguousarray, cp.asfortranarray])
@pytest.mark.parametrize("from_host", [np.zeros(3, np.float32), [1.0, 2.0]])
def test_a_layout_is_made_of_device_arrays_alone_as_with_cupy(make: Any, from_host: Any) -> None:
    with pytest.raises(TypeError, match=r"cp\.asarray"):
        make(from_host)
    assert make(cp.zeros((3, 2)).T).shape == (2, 3)
