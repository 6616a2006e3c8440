"""Limits of a launch, and what each parameter takes. Oracles: CUDA's table of limits, and what CuPy does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from key_words import says
from tiers import check_each

from warplens.arguments import Arguments, Bound
from warplens.device.stand_in import cp
from warplens.errors import At, LaunchError
from warplens.kernel import RawKernel, profile
from warplens.language.tree import Function, Variable
from warplens.language.types import (
    BOOL,
    CHAR,
    DOUBLE,
    FLOAT,
    INT,
    LLONG,
    SCALARS,
    UCHAR,
    UINT,
    ULLONG,
    VECTORS,
    VOID,
    Field,
    Pointer,
    Record,
    Type,
)
from warplens.launch_limits import check_limits
from warplens.parameters import check_arguments, record_dtype


def kernel(*parameters: tuple[Type, str]) -> Function:
    at = At(1, 1)
    variables = [Variable(name, kind, "param", at) for kind, name in parameters]
    return Function("scale", VOID, variables, at, kernel=True)


def taking(kind: Type) -> Function:
    return kernel((kind, "a"))


def bind(function: Function, args: Any) -> list[Any]:
    """What the simulator gets for each argument."""
    return Arguments(function, args).bound


def message(error: type[Exception], call: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """What is said. It is one line of a LaunchError."""
    with pytest.raises(error) as found:
        call(*args, **kwargs)
    assert isinstance(found.value, LaunchError)
    assert "\n" not in str(found.value)
    return str(found.value)


# ---------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("grid", "block", "expected"),
    [
        ((4,), (256,), ((4, 1, 1), (256, 1, 1))),
        ((4, 2), (16, 16), ((4, 2, 1), (16, 16, 1))),
        ((1, 2, 3), (4, 5, 6), ((1, 2, 3), (4, 5, 6))),
        ((np.int64(7),), (np.uint8(32),), ((7, 1, 1), (32, 1, 1))),
        ((2**31 - 1, 65_535, 65_535), (1024,), ((2**31 - 1, 65_535, 65_535), (1024, 1, 1))),
        ((1,), (1, 16, 64), ((1, 1, 1), (1, 16, 64))),
        ((1,), (1, 1024), ((1, 1, 1), (1, 1024, 1))),
    ],
)
def test_what_cuda_allows_is_allowed(grid: Any, block: Any, expected: Any) -> None:
    assert check_limits(grid, block) == expected
    assert all(type(length) is int for lengths in check_limits(grid, block) for length in lengths)


@pytest.mark.parametrize(
    ("grid", "block", "error", "text"),
    [
        (4, (256,), TypeError, "grid tuple int (4,)"),
        ((4,), 256, TypeError, "block tuple int (256,)"),
        ([4], (1,), TypeError, "grid tuple (x,)"),
        (None, (1,), TypeError, "grid tuple None"),
        ((), (1,), ValueError, "grid 1 3 0 ()"),
        ((1,), (1, 1, 1, 1), ValueError, "block 1 3 4"),
        ((4.0,), (1,), TypeError, "grid (4.0,) float //"),
        ((True,), (1,), TypeError, "grid (True,) bool"),
        (("4",), (1,), TypeError, "str"),
        (
            (0,),
            (1,),
            ValueError,
            "grid (0,) 1",
        ),
        ((1,), (32, 0), ValueError, "block (32, 0) 1"),
        ((-1,), (1,), ValueError, "grid (-1,) 1"),
        ((1,), (1025,), ValueError, "1,025 x 1,024"),
        ((1,), (1, 1025), ValueError, "1,025 y 1,024"),
        ((1,), (1, 1, 65), ValueError, "1 x 1 x 65 65 z 64"),
        (
            (1,),
            (32, 33),
            ValueError,
            "32 x 33 x 1 1,056 1,024",
        ),
        ((2**31,), (1,), ValueError, "2,147,483,648 x 2,147,483,647"),
        ((1, 65_536), (1,), ValueError, "65,536 y 65,535"),
        ((1, 1, 65_536), (1,), ValueError, "65,536 z 65,535"),
    ],
)
def test_a_bad_grid_or_block_is_refused_in_one_line(
    grid: Any, block: Any, error: type[Exception], text: str
) -> None:
    said = message(error, check_limits, grid, block, name="scale")
    assert said.startswith("scale: ") and says(said, text)


def test_launch_bounds_are_a_limit() -> None:
    check_limits((1,), (128,), max_threads=128)
    said = message(ValueError, check_limits, (1,), (129,), max_threads=128)
    assert says(said, "129 __launch_bounds__(128)")


def test_shared_memory_has_48_kb_for_static_and_dynamic_together() -> None:
    check_limits((1,), (1,), 48 * 1024)
    check_limits((1,), (1,), 0, 48 * 1024)
    check_limits((1,), (1,), np.int64(1024), 47 * 1024)
    said = message(ValueError, check_limits, (1,), (1,), 1025, 47 * 1024)
    assert says(said, "49,153 shared (48,128 static 1,025")
    assert says(said, "49,152")
    assert says(message(ValueError, check_limits, (1,), (1,), 0, 49_153), "49,153 shared")


def test_shared_mem_is_a_number_of_bytes() -> None:
    assert says(message(ValueError, check_limits, (1,), (1,), -4), "shared_mem -4")
    assert says(message(TypeError, check_limits, (1,), (1,), 4.0), "float")
    assert says(message(TypeError, check_limits, (1,), (1,), True), "bool")
    assert says(message(TypeError, check_limits, (1,), (1,), None), "None")


def test_an_extern_array_needs_bytes() -> None:
    check_limits((1,), (1,), 4, dynamic="tile")
    said = message(ValueError, check_limits, (1,), (1,), dynamic="tile")
    assert says(said, "__shared__ tile[] shared_mem=")


# ------------------------------------------------------------------------------------------------- arguments


def test_the_number_of_arguments_must_match() -> None:
    f = kernel((Pointer(FLOAT, const=True), "x"), (INT, "n"))
    said = message(TypeError, bind, f, (1,))
    assert says(said, "scale 2 (const float *x, int n) 1")
    assert says(message(TypeError, bind, taking(INT), (1, 2)), "1 argument 2")
    assert says(message(TypeError, bind, kernel(), (1,)), "0 arguments 1")
    assert bind(kernel(), ()) == []


def test_the_arguments_are_one_tuple() -> None:
    said = message(TypeError, bind, taking(INT), 3)
    assert says(said, "tuple int") and "(x,)" in said
    assert says(message(TypeError, bind, taking(INT), cp.zeros(1)), "array float64")
    assert bind(taking(INT), [3]) == [3]


INTEGERS = [kind for kind in SCALARS if kind.is_integer and kind != BOOL]


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_a_python_int_goes_to_every_integer_parameter_that_it_fits(kind: Any) -> None:
    low, high = np.iinfo(kind.dtype).min, np.iinfo(kind.dtype).max
    for value in (int(low), 0, 1, int(high)):
        (got,) = bind(taking(kind), (value,))
        assert (got, type(got)) == (value, int)
    for value in (int(low) - 1, int(high) + 1):
        said = message(ValueError, bind, taking(kind), (value,))
        assert says(said, f"scale 1 ({kind} a) {value} {low} {high}")


def test_a_python_int_is_no_float() -> None:
    said = message(TypeError, bind, taking(FLOAT), (2,))
    assert says(said, "scale 1 (float a) np.float32(2)")
    assert says(message(TypeError, bind, taking(DOUBLE), (2,)), "np.float64(2)")


def test_a_python_float_goes_to_double_alone() -> None:
    (got,) = bind(taking(DOUBLE), (0.1,))
    assert type(got) is np.float64 and got == 0.1
    said = message(TypeError, bind, taking(FLOAT), (0.1,))
    assert says(said, "float 0.1 float np.float32(0.1)")
    said = message(TypeError, bind, taking(INT), (2.0,))
    assert says(said, "float 2.0 integer np.int32(2.0)")


def test_bools_are_integers_of_zero_and_one() -> None:
    assert bind(taking(BOOL), (True,)) == [True] and bind(taking(BOOL), (0,)) == [False]
    assert type(bind(taking(BOOL), (1,))[0]) is bool
    assert says(message(ValueError, bind, taking(BOOL), (2,)), "bool 0 1")
    assert bind(taking(INT), (True,)) == [1] and type(bind(taking(INT), (True,))[0]) is int
    assert bind(taking(BOOL), (np.bool_(True),)) == [True]
    assert "float a" in message(TypeError, bind, taking(FLOAT), (True,))


@pytest.mark.parametrize("kind", SCALARS, ids=str)
def test_a_numpy_scalar_must_have_the_dtype_of_the_parameter(kind: Any) -> None:
    check_each({kind.dtype.type for kind in SCALARS}, partial(check_scalar, kind))


def check_scalar(kind: Any, scalar: Any) -> None:
    if scalar(1).dtype == kind.dtype:
        (got,) = bind(taking(kind), (scalar(1),))
        assert got == 1
        assert type(got) is (kind.dtype.type if kind.is_float else bool if kind == BOOL else int)
    else:
        said = message(TypeError, bind, taking(kind), (scalar(1),))
        assert says(said, f"np.{scalar.__name__} np.{kind.dtype.name}")


def test_arrays_are_no_numbers() -> None:
    said = message(TypeError, bind, taking(INT), (cp.array(3, cp.int32),))
    assert says(said, "array int32 np.int32(x.item())")
    assert says(message(TypeError, bind, taking(INT), (np.array(3, np.int32),)), "NumPy array int32")


@pytest.mark.parametrize("value", [None, "3", 1j, np.complex64(1), object(), (1,), [1]])
@pytest.mark.parametrize("kind", [INT, FLOAT, BOOL], ids=str)
def test_nothing_else_is_a_number(kind: Any, value: Any) -> None:
    assert "argument 1" in message(TypeError, bind, taking(kind), (value,))


# -------------------------------------------------------------------------------------------------- pointers


def test_an_array_is_bounded_by_its_own_extent() -> None:
    x = cp.arange(12, dtype=cp.float32)
    assert bind(taking(Pointer(FLOAT)), (x,)) == [Bound(x.data.mem, 0, 0, 48)]
    assert bind(taking(Pointer(FLOAT)), (x[2:5],)) == [Bound(x.data.mem, 8, 8, 20)]
    assert bind(taking(Pointer(FLOAT)), (x.reshape(3, 4)[1:],)) == [Bound(x.data.mem, 16, 16, 48)]
    empty = bind(taking(Pointer(FLOAT)), (x[3:3],))[0]
    assert empty.low == empty.high


def test_a_memory_pointer_is_bounded_by_its_allocation() -> None:
    x = cp.arange(12, dtype=cp.float32)
    assert bind(taking(Pointer(FLOAT)), (x[2:5].data,)) == [Bound(x.data.mem, 8, 0, 48)]
    assert bind(taking(Pointer(FLOAT)), (x.data + 4,)) == [Bound(x.data.mem, 4, 0, 48)]
    transposed = x.reshape(3, 4).T
    assert bind(taking(Pointer(DOUBLE)), (transposed.data,))[0].high == 48


def test_a_bare_array_must_be_contiguous() -> None:
    x = cp.zeros((3, 4), cp.float32)
    for bad in (x.T, x[:, 1:], x[::2], cp.broadcast_to(x[0], (3, 4))):
        said = message(ValueError, bind, taking(Pointer(FLOAT)), (bad,))
        assert says(said, "C-contiguous") and says(said, "cp.ascontiguousarray(x) x.data")


@pytest.mark.parametrize("kind", SCALARS, ids=str)
def test_an_array_must_have_the_dtype_that_is_pointed_to(kind: Any) -> None:
    for dtype in {each.dtype for each in SCALARS}:
        x = cp.zeros(2, dtype)
        if dtype == kind.dtype:
            assert bind(taking(Pointer(kind)), (x,))[0].high == x.nbytes
        else:
            said = message(TypeError, bind, taking(Pointer(kind)), (x,))
            assert says(said, f"array {dtype} {kind.dtype} x.astype(cp")


def test_void_takes_every_array_and_vectors_take_arrays_of_their_parts() -> None:
    assert bind(taking(Pointer(VOID)), (cp.zeros(2),))[0].high == 16
    assert bind(taking(Pointer(VECTORS["float4"])), (cp.zeros(8, cp.float32),))[0].high == 32
    said = message(TypeError, bind, taking(Pointer(VECTORS["float4"])), (cp.zeros(8),))
    assert says(said, "(float4 *a) array float64 float32")
    mixed = Record("cell", (Field("n", INT, 0), Field("x", FLOAT, 4)), 8, 4)
    assert bind(taking(Pointer(mixed)), (cp.zeros(16, cp.uint8),))[0].high == 16
    assert "uint8" in message(TypeError, bind, taking(Pointer(mixed)), (cp.zeros(4, cp.float32),))


def test_a_pointer_to_pointers_takes_addresses() -> None:
    x = cp.zeros(2, cp.float32)
    table = cp.array([x.data.ptr], cp.uint64)
    assert bind(taking(Pointer(Pointer(FLOAT))), (table,))[0].high == 8


def test_a_numpy_array_is_on_the_host() -> None:
    said = message(TypeError, bind, taking(Pointer(FLOAT)), (np.zeros(2, np.float32),))
    assert says(said, "NumPy array host cp.asarray(...)")


def test_an_address_is_no_pointer() -> None:
    x = cp.zeros(2, cp.float32)
    said = message(TypeError, bind, taking(Pointer(FLOAT)), (x.data.ptr,))
    assert says(said, "int pointer x.data address")


@pytest.mark.parametrize("value", [None, 1.0, "x", [1.0], (1.0,), np.float32(1), object()])
def test_nothing_else_is_a_pointer(value: Any) -> None:
    assert says(message(TypeError, bind, taking(Pointer(FLOAT)), (value,)), "pointer array")


# --------------------------------------------------------------------------------------------------- records

CELL = Record("cell", (Field("tag", CHAR, 0), Field("x", DOUBLE, 8), Field("n", INT, 16)), 24, 8)


def test_the_dtype_of_a_record_has_its_offsets() -> None:
    dtype = record_dtype(CELL)
    assert dtype.itemsize == 24 and [dtype.fields[name][1] for name in dtype.names] == [0, 8, 16]
    assert record_dtype(VECTORS["float3"]).itemsize == 12


def test_a_tuple_is_a_record_where_each_part_fits() -> None:
    (got,) = bind(taking(CELL), ((1, 2.5, 3),))
    assert isinstance(got, np.void) and got.dtype == record_dtype(CELL) and got.item() == (1, 2.5, 3)
    (got,) = bind(taking(VECTORS["float2"]), ((np.float32(1), np.float32(2)),))
    assert got["y"] == 2
    nested = Record("pair", (Field("a", CELL, 0), Field("b", UCHAR, 24)), 32, 8)
    (got,) = bind(taking(nested), (((1, 2.5, 3), 4),))
    assert got["a"]["n"] == 3 and got["b"] == 4


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((1, 2.5), "tag double x int n 3 2"),
        ((1, 2, 3), "field x double int 2"),
        ((1, 2.5, 3.0), "field n int float 3.0"),
        ([1, 2.5, 3], "list tuple tag x n"),
        (np.zeros((), "i4,f4")[()], "<i4 <f4"),
        (np.zeros(2), "float64"),
        (3, "int"),
    ],
)
def test_a_record_must_be_exact(value: Any, text: str) -> None:
    assert says(message(TypeError, bind, taking(CELL), (value,)), text)


def test_a_part_of_a_record_must_fit() -> None:
    assert says(message(ValueError, bind, taking(CELL), ((200, 2.5, 3),)), "200")


def test_a_void_or_an_array_of_one_of_the_same_dtype_is_a_record() -> None:
    one = np.array([(1, 2.5, 3)], record_dtype(CELL))
    assert bind(taking(CELL), (one,))[0].item() == bind(taking(CELL), (one[0],))[0].item() == (1, 2.5, 3)


BOX = """
struct Box { float* out; const float* in; int n; };
struct Job { int times; Box box; };
extern "C" __global__ void k(Box b, Job job) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < b.n) b.out[i] = job.times * b.in[i] + (job.box.in ? job.box.in[i] : 0.0f);
}
"""
BOX_DTYPE = np.dtype([("out", "u8"), ("in", "u8"), ("n", "i4")], align=True)
JOB_DTYPE = np.dtype([("times", "i4"), ("box", BOX_DTYPE)], align=True)


def test_a_record_holds_arrays_in_a_tuple() -> None:
    x, y = cp.arange(8, dtype=cp.float32), cp.empty(8, cp.float32)
    RawKernel(BOX, "k")((1,), (8,), ((y, x, 8), (2, (y, x.data, 8))))
    np.testing.assert_array_equal(cp.asnumpy(y), np.arange(8) * 3)


def test_a_record_holds_addresses_as_cupy_takes_them() -> None:
    x, y = cp.arange(8, dtype=cp.float32), cp.zeros(8, cp.float32)
    box = np.array([(y.data.ptr, x.data.ptr, 8)], BOX_DTYPE)
    job = np.array([(5, (0, 0, 0))], JOB_DTYPE)[0]
    RawKernel(BOX, "k")((1,), (8,), (box, job))
    np.testing.assert_array_equal(cp.asnumpy(y), np.arange(8) * 5)
    wild = np.array([(0x4D, x.data.ptr, 8)], BOX_DTYPE)
    with pytest.raises(ValueError, match=r"address.*0x4d,.*array"):
        RawKernel(BOX, "k")((1,), (8,), (wild, job))


def test_a_report_names_and_gives_back_the_arrays_of_a_record() -> None:
    x, y = cp.arange(8, dtype=cp.float32), cp.zeros(8, cp.float32)
    report = profile(RawKernel(BOX, "k"), (1,), (16,), ((y[:4], x, 16), (2, (y, x, 8))))
    assert {finding.array for finding in report.out_of_bounds} == {"b.out", "b.in", "job.box.in"}
    np.testing.assert_array_equal(report.outputs[0][0], np.arange(4) * 3)
    assert report.outputs[0][2] is None and report.outputs[1][1][2] is None


def test_a_field_that_is_a_pointer_takes_no_address_in_a_tuple() -> None:
    x = cp.zeros(8, cp.float32)
    with pytest.raises(TypeError, match=r"\(float.*\*\):.*int"):
        RawKernel(BOX, "k")((1,), (8,), ((x.data.ptr, x, 8), (1, (x, x, 8))))


# -------------------------------------------------------------------------------------------------- for CuPy


def test_what_cupy_gets_has_the_types_of_the_parameters() -> None:
    x = cp.zeros(2, cp.float32)
    f = kernel((Pointer(FLOAT), "x"), (INT, "n"), (ULLONG, "m"), (DOUBLE, "s"), (VECTORS["int2"], "v"))
    got = Arguments(f, (x, 3, 2**63, 0.5, (1, 2))).typed()
    assert got[0] is x
    assert [type(value) for value in got[1:4]] == [np.int32, np.uint64, np.float64]
    assert got[4].shape == (1,) and got[4].nbytes == 8


def test_arguments_of_cupy_are_checked_by_the_names_that_it_has() -> None:
    """CuPy's arrays have no `_array`: here is one with the names that the check may use."""
    pointer = SimpleNamespace(ptr=512, mem=None)
    array = SimpleNamespace(
        data=pointer,
        dtype=np.dtype(np.float32),
        flags=SimpleNamespace(c_contiguous=True),
        shape=(2,),
        strides=(4,),
    )
    check_arguments(taking(Pointer(FLOAT)), (array,))
    check_arguments(taking(Pointer(FLOAT)), (pointer,))
    assert says(message(TypeError, check_arguments, taking(Pointer(DOUBLE)), (array,)), "array float32")


def test_the_argument_is_counted_from_one_and_named() -> None:
    f = kernel((Pointer(FLOAT), "x"), (UINT, "n"), (LLONG, "m"))
    said = message(ValueError, bind, f, (cp.zeros(1, cp.float32), -1, 0))
    assert says(said, "scale 2 (unsigned int n) -1")
