"""Kernels from source: RawKernel and RawModule as in CuPy, and `simulate` and `profile`, which are ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from minilib.cuda.device.allocation import Allocation, MemoryPointer
from minilib.cuda.engine.file_scope import allocate, pointers
from minilib.cuda.engine.generate import Code
from minilib.cuda.engine.lanes import Launch
from minilib.cuda.engine.memory import Global, Pointer, element_of
from minilib.cuda.engine.run import SCHEDULES, run_lockstep, run_warps, run_watched
from minilib.cuda.engine.survey import reachable, shared_variables
from minilib.cuda.errors import KernelFault
from minilib.cuda.language.frontend import compile_source
from minilib.cuda.language.tree import Function, Program, Variable
from minilib.cuda.language.types import Pointer as PointerType
from minilib.cuda.language.types import Type
from minilib.cuda.launch import Bound, bind, check_limits, is_device_array, is_pointer
from minilib.cuda.reports.recorder import Recorder
from minilib.cuda.reports.report import Report

MAX_STEPS = 1_000_000


@lru_cache(maxsize=256)
def _program(source: str, name: str, options: tuple[str, ...], expressions: tuple[str, ...]) -> Program:
    return compile_source(source, name, options, expressions)


class Kernel:
    """One kernel of a program, ready to be launched: kernel(grid, block, args, shared_mem=0)."""

    def __init__(
        self, program: Program, function: Function, variables: dict[Variable, Allocation] | None = None
    ) -> None:
        self.program, self.function = program, function
        self.variables = allocate(program) if variables is None else variables
        self.name = function.name
        shared = shared_variables(function)
        self.shared_size_bytes = sum(v.type.size for v in shared if v.storage == "shared")
        self.dynamic = next((v.name for v in shared if v.storage == "dynamic"), None)
        self._codes: dict[str, Code] = {}
        self.code("lockstep")  # what is not supported shows here

    def code(self, mode: str) -> Code:
        """The kernel as Python, made at first use."""
        if mode not in self._codes:
            self._codes[mode] = Code(self.program, self.function, mode)
        return self._codes[mode]

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0, stream: Any = None) -> None:
        """Run it; arrays are written in place. Raises KernelFault at the first bad access.

        `stream` is CuPy's; here a launch is over when it returns.
        """
        simulate(self, grid, block, args, shared_mem)

    def prepare(
        self, grid: Any, block: Any, args: Any, shared_mem: int, max_steps: int, reverse: bool = False
    ) -> tuple[Launch, list[Any]]:
        """Check a launch; the launch, and its arguments as `bind` makes them."""
        grid3, block3 = check_limits(
            grid,
            block,
            shared_mem,
            self.shared_size_bytes,
            dynamic=self.dynamic,
            max_threads=self.function.max_threads,
            name=self.name,
        )
        bound = bind(self.function, args)
        program = self.program
        launch = Launch(program.name, program.source, grid3, block3, int(shared_mem), max_steps, reverse)
        return launch, bound

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"


class RawKernel(Kernel):
    """The kernel `name` of CUDA C source, as cupy.RawKernel: compiled at once here, so that mistakes show.

    It must be declared extern "C"; instances of templates come from RawModule.
    """

    def __init__(
        self,
        code: str,
        name: str,
        options: Sequence[str] = (),
        backend: str = "nvrtc",  # this and what follows: CuPy's, without effect here
        *,
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool = False,
    ) -> None:
        for what, given in (("code", code), ("name", name)):
            if not isinstance(given, str):
                raise TypeError(f"RawKernel: {what} must be a string, not {type(given).__name__}")
        program = _program(code, f"{name.partition('<')[0]}.cu", tuple(options), ())
        super().__init__(program, _found(program, name, ()))


class RawModule:
    """All kernels of CUDA C source, as cupy.RawModule."""

    def __init__(
        self,
        *,
        code: str | None = None,
        path: str | None = None,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool = False,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("RawModule: give either code= or path=")
        if path is not None:
            with open(path, encoding="utf-8") as file:
                code = file.read()
        name = path.replace("\\", "/").rsplit("/", 1)[-1] if path else "module.cu"
        if not isinstance(code, str):
            raise TypeError(f"RawModule: code must be a string, not {type(code).__name__}")
        self.expressions = tuple(name_expressions or ())
        self.program = _program(code, name, tuple(options), self.expressions)
        self.variables = allocate(self.program)

    def get_function(self, name: str) -> Kernel:
        return Kernel(self.program, _found(self.program, name, self.expressions), self.variables)

    def get_global(self, name: str) -> MemoryPointer:
        """A pointer to a __constant__ or __device__ variable: cp.ndarray(shape, dtype, pointer) shows it."""
        for variable, allocation in self.variables.items():
            if variable.name == name:
                return MemoryPointer(allocation, 0)
        there = ", ".join(variable.name for variable in self.variables) or "none"
        raise ValueError(f"{self.program.name} has no variable {name!r} at file scope; there is: {there}")


def _found(program: Program, name: str, expressions: tuple[str, ...]) -> Function:
    """A kernel by its name. A GPU knows it by that only if it is extern "C" or one of `expressions`."""
    function = program.kernels.get(name)
    if function is None:
        if any(f.name == name for f in program.functions):
            raise ValueError(f"{name} is a __device__ function, which kernels call: declare it __global__")
        if "<" in name:
            raise ValueError(
                f"{name} is an instance of a template: take it from "
                f'RawModule(code=..., name_expressions=("{name}",)).get_function("{name}")'
            )
        there = ", ".join(program.kernels) or "none"
        raise ValueError(f"{program.name} has no kernel {name!r}: its kernels are {there}")
    if not function.external_c and name not in expressions:
        raise ValueError(
            f'{name} is not declared extern "C", without which a GPU does not find it by its name: '
            f'write extern "C" __global__ void {name}(...), or use RawModule with name_expressions'
        )
    return function


def _kernel(what: str, kernel: Any) -> Kernel:
    if isinstance(kernel, Kernel):
        return kernel
    hint = ": take a kernel with .get_function(name)" if isinstance(kernel, RawModule) else ""
    raise TypeError(f"{what}: the first argument must be a kernel, not {type(kernel).__name__}{hint}")


# ----------------------------------------------------------------------------------------------- arguments


def _dtype(to: Type, value: Any) -> np.dtype[Any]:
    """In what elements a report counts through a pointer."""
    return element_of(to) if to.__class__.__name__ != "Void" else np.dtype(getattr(value, "dtype", np.uint8))


def _values(
    kernel: Kernel, args: Any, bound: list[Any], copies: dict[int, np.ndarray[Any, Any]] | None
) -> list[Any]:
    """Arguments as generated code takes them; with `copies`, over copies of the allocations, kept there."""
    made: list[Any] = []
    for parameter, given, value in zip(kernel.function.parameters, args, bound):
        if isinstance(value, Bound):
            assert isinstance(parameter.type, PointerType)
            allocation: Allocation = value.allocation
            content = allocation.bytes
            if copies is not None:
                content = copies.setdefault(id(allocation), content.copy())
            memory = Global(
                parameter.name,
                content,
                _dtype(parameter.type.to, given),
                allocation.base,
                value.low,
                value.high,
            )
            memory.initialised = True if allocation.written is None else allocation.written
            made.append(Pointer(memory, value.offset))
        elif isinstance(value, np.void):
            made.append(_fields(value))
        else:
            made.append(value)
    return made


def _fields(value: Any) -> tuple[Any, ...]:
    """A record as generated code has it."""
    names = value.dtype.names or ()
    parts = [value[name] for name in names]
    return tuple(
        [_fields(p) if isinstance(p, np.void) else p if p.dtype.kind == "f" else p.item() for p in parts]
    )


def _mark_written(kernel: Kernel, bound: list[Any]) -> None:
    """After a run: what the kernel may have written to counts as written."""
    for parameter, value in zip(kernel.function.parameters, bound):
        if isinstance(value, Bound) and isinstance(parameter.type, PointerType) and not parameter.type.const:
            value.allocation.wrote()


# ----------------------------------------------------------------------------------------------- the calls


@contextmanager
def _recursion_named(kernel: Kernel) -> Iterator[None]:
    """Say in the course's words that functions call each other too often."""
    try:
        yield
    except RecursionError:
        names = ", ".join(f.name for f in reachable(kernel.function)[1:])
        raise KernelFault(
            f"{kernel.program.name}: a function called itself too often: {names}. "
            "Does every call come closer to the end?"
        ) from None


def simulate(
    kernel: Kernel,
    grid: Any,
    block: Any,
    args: Any,
    shared_mem: int = 0,
    *,
    schedule: str = "lockstep",
    max_steps: int = MAX_STEPS,
) -> None:
    """Run a kernel on the CPU; arrays are written in place. Raises KernelFault at the first bad access.

    `schedule`: "lockstep" runs all threads together; "forward" and "reverse" run one warp after the other
    from barrier to barrier, so that a missing barrier shows as wrong numbers, as it may on a GPU. A loop is
    stopped after `max_steps` iterations. What the kernel prints goes to sys.stdout once it has ended or is
    stopped.
    """
    if schedule not in SCHEDULES:
        raise ValueError(f"simulate: schedule must be one of {', '.join(SCHEDULES)}, not {schedule!r}")
    kernel = _kernel("simulate", kernel)
    launch, bound = kernel.prepare(grid, block, args, shared_mem, max_steps, schedule == "reverse")
    values = _values(kernel, args, bound, None)
    code = kernel.code("lockstep" if schedule == "lockstep" else "warps")
    code.variables.update(pointers(kernel.variables))
    launch.waits = code.waits
    run = run_lockstep if schedule == "lockstep" else run_warps
    try:
        with _recursion_named(kernel):
            run(code, launch, values)
    finally:
        sys.stdout.write(launch.printed.text)
    _mark_written(kernel, bound)


def profile(
    kernel: Kernel, grid: Any, block: Any, args: Any, shared_mem: int = 0, *, max_steps: int = MAX_STEPS
) -> Report:
    """Run a kernel on copies of its arguments and report everything that it did: see `Report`.

    What it prints is in `Report.printed`; after a failed assert it goes on.
    """
    kernel = _kernel("profile", kernel)
    launch, bound = kernel.prepare(grid, block, args, shared_mem, max_steps)
    copies: dict[int, np.ndarray[Any, Any]] = {}
    values = _values(kernel, args, bound, copies)
    recorder = Recorder(launch.name, launch.source, launch.grid, launch.block)
    code = kernel.code("watched")
    code.variables.update(pointers(kernel.variables, copies))
    launch.waits = code.waits
    with _recursion_named(kernel):
        run_watched(code, launch, values, recorder)
    report = recorder.report([_output(given, value, copies) for given, value in zip(args, bound)])
    report.printed = launch.printed.text
    report.shared_bytes = kernel.shared_size_bytes + int(shared_mem)
    return report


def _output(given: Any, value: Any, copies: dict[int, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any] | None:
    """What an array argument holds after the run."""
    if not isinstance(value, Bound):
        return None
    content = copies[id(value.allocation)]
    if is_device_array(given):
        part: np.ndarray[Any, Any] = content[value.low : value.high].view(given.dtype)
        return part.reshape(given.shape).copy()
    assert is_pointer(given)
    whole: np.ndarray[Any, Any] = content.copy()
    return whole
