"""Kernels from source: RawKernel and RawModule as in CuPy, and `simulate` and `profile`, which are ours.

All source is compiled by our front end, on a GPU by NVRTC as well. A launch runs where its arrays are.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from cudasim import through_cupy
from cudasim.arguments import Arguments
from cudasim.backend import GPU, SIMULATE, backend
from cudasim.device.allocation import Allocation, MemoryPointer
from cudasim.engine.file_scope import allocate, pointers
from cudasim.engine.generate import Code
from cudasim.engine.lanes import Launch
from cudasim.engine.run import SCHEDULES, run_lockstep, run_warps, run_watched
from cudasim.engine.survey import reachable, shared_variables
from cudasim.errors import CompileError, KernelFault, LaunchTypeError
from cudasim.language.frontend import compile_source
from cudasim.language.tree import Function, Program, Variable
from cudasim.launch import MAX_THREADS, Dim3, check_limits, machine
from cudasim.reports.recorder import Recorder
from cudasim.reports.report import Report

MAX_STEPS = 1_000_000


@lru_cache(maxsize=256)
def _program(source: str, name: str, options: tuple[str, ...], expressions: tuple[str, ...]) -> Program:
    return compile_source(source, name, options, expressions)


class Unit:
    """A source with what it was compiled to: by our front end at once, by NVRTC where a GPU needs it.

    Where the source is outside of our language, and kernels run on a GPU, `refusal` says what is outside, and
    its kernels run there unchecked.
    """

    def __init__(
        self, code: str, name: str, options: Sequence[str], expressions: Sequence[str], **settings: Any
    ) -> None:
        self.source, self.name = code, name
        self.options, self.expressions, self._settings = tuple(options), tuple(expressions), settings
        self.refusal: CompileError | None = None
        self.variables: dict[Variable, Allocation] = {}
        try:
            self._program: Program | None = _program(code, name, self.options, self.expressions)
            self.variables = allocate(self._program)
        except CompileError as error:
            self._program, self.refusal = None, self.unchecked(error)

    @property
    def program(self) -> Program:
        """What our front end made of it. Raises CompileError where that is nothing."""
        if self.refusal is not None:
            raise self.refusal
        assert self._program is not None
        return self._program

    @cached_property
    def on_gpu(self) -> Any:
        """The source as a module of CuPy's."""
        return through_cupy.module(self.source, self.options, self.expressions, self._settings)

    @staticmethod
    def unchecked(error: CompileError) -> CompileError:
        """`error` after a warning, where a GPU can run what is outside of our language. Else raises it."""
        if error.kind != "unsupported" or backend() != GPU:
            raise error
        warnings.warn(
            f"{error.name}:{error.line}: {error.message}. It runs on the GPU unchecked: nobody looks at the "
            "number and the types of its arguments and at sizes, and simulate and profile cannot run it",
            stacklevel=4,  # who called RawKernel, RawModule or get_function
        )
        return error

    def variable_on_gpu(self, variable: Variable) -> Any:
        """CuPy's pointer to a variable at file scope."""
        return through_cupy.variable(self.on_gpu, variable.name, variable.type.size)


class Kernel:
    """One kernel of a source, ready to be launched: kernel(grid, block, args, shared_mem=0).

    `max_threads_per_block` and `shared_size_bytes` are known everywhere. `num_regs`, `local_size_bytes`,
    `attributes` and CuPy's other numbers of a compiled kernel are there where CuPy finds a GPU.
    """

    def __init__(self, unit: Unit, name: str) -> None:
        self.unit, self.name = unit, name
        self._known_as = name  # to CuPy
        self._codes: dict[str, Code] = {}
        self.shared_size_bytes, self.dynamic = 0, None
        self.refusal = unit.refusal
        if self.refusal is None:
            self._function = _found(unit.program, name, unit.expressions)
            self.name = self._function.name
            shared = shared_variables(self._function)
            self.shared_size_bytes = sum(v.type.size for v in shared if v.storage == "shared")
            self.dynamic = next((v.name for v in shared if v.storage == "dynamic"), None)
            try:
                self.code("lockstep")  # what is not supported shows here
            except CompileError as error:
                self.refusal = unit.unchecked(error)
        if self.refusal is not None:
            _ = self.on_gpu  # NVRTC is the only judge: what it says shows here

    @property
    def program(self) -> Program:
        return self.unit.program

    @property
    def variables(self) -> dict[Variable, Allocation]:
        """The simulated memory of variables at file scope."""
        return self.unit.variables

    @property
    def function(self) -> Function:
        """Its tree. Raises CompileError where the source is outside of our language."""
        if self.refusal is not None:
            raise self.refusal
        return self._function

    @property
    def source(self) -> str:
        """The CUDA C that it was made of."""
        return self.unit.source

    @property
    def declaration(self) -> str:
        """What it is called with: "add(const float* x, float* y, int n)"."""
        if self.refusal is not None:
            return f"{self.name}(...)"
        told = ", ".join(f"{p.type} {p.name}".replace(" *", "*") for p in self.function.parameters)
        return f"{self.name}({told})"

    def code(self, mode: str) -> Code:
        """The kernel as Python, made at first use."""
        if mode not in self._codes:
            self._codes[mode] = Code(self.program, self.function, mode)
        return self._codes[mode]

    @cached_property
    def on_gpu(self) -> Any:
        """The kernel as CuPy has it: a cupy.RawKernel, compiled by NVRTC."""
        return self.unit.on_gpu.get_function(self._known_as)

    @cached_property
    def max_threads_per_block(self) -> int:
        """How many threads a block may have: on a GPU, as many as it has registers for."""
        if backend() == GPU:
            return int(self.on_gpu.max_threads_per_block)
        return self.function.max_threads or MAX_THREADS

    def __getattr__(self, name: str) -> Any:
        if name not in through_cupy.ATTRIBUTES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if backend() != GPU:
            raise AttributeError(
                f"{name} belongs to a kernel that is compiled for a GPU, and there is none here"
            )
        return getattr(self.on_gpu, name)

    def __call__(
        self, grid: Any, block: Any, args: Any, *more: Any, shared_mem: int = 0, stream: Any = None
    ) -> None:
        """Run it where its arrays are; they are written in place.

        Simulated, a launch is over when the call returns, and KernelFault says what the first bad access was.
        On a GPU the same arguments and limits are refused, and what goes wrong later is not seen. The call
        returns at once, as CuPy's does: the kernel runs in `stream`, or in the current one, and its results
        are there when something waits for them, as cp.asnumpy does. What it prints comes then, too, from the
        driver, and may go past sys.stdout to the terminal.
        """
        if more:
            raise LaunchTypeError(
                f"{self.name}: the arguments go into one tuple, {self.name}(grid, block, (x, y, ...)), "
                "and shared memory is given by name: shared_mem=1024"
            )
        if self.refusal is not None:
            self.on_gpu(grid, block, args, shared_mem=shared_mem, stream=stream)
        elif (where := machine(self.name, args)) == SIMULATE:
            _run(self, where, grid, block, args, shared_mem)
        else:
            grid3, block3 = self.limits(grid, block, shared_mem)
            most, given = self.max_threads_per_block, Arguments(self.function, args).typed()
            through_cupy.launch(self.name, self.on_gpu, most, grid3, block3, given, shared_mem, stream)

    def limits(self, grid: Any, block: Any, shared_mem: int) -> tuple[Dim3, Dim3]:
        """Grid and block along x, y and z. Raises LaunchError where they or the shared memory cannot be."""
        return check_limits(
            grid,
            block,
            shared_mem,
            self.shared_size_bytes,
            dynamic=self.dynamic,
            max_threads=self.function.max_threads,
            name=self.name,
        )

    def prepare(
        self, grid: Any, block: Any, shared_mem: int, max_steps: int, reverse: bool = False
    ) -> Launch:
        """A launch that is simulated. Raises LaunchError where it cannot be."""
        grid3, block3 = self.limits(grid, block, shared_mem)
        program = self.program
        return Launch(program.name, program.source, grid3, block3, int(shared_mem), max_steps, reverse)

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"


class RawKernel(Kernel):
    """The kernel `name` of CUDA C source, as cupy.RawKernel: compiled at once here, so that mistakes show.

    It must be declared extern "C"; instances of templates come from RawModule. What follows `options` is
    CuPy's, and counts on a GPU alone.
    """

    def __init__(
        self,
        code: str,
        name: str,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        *,
        enable_cooperative_groups: bool = False,
        jitify: bool = False,
    ) -> None:
        for what, given in (("code", code), ("name", name)):
            if not isinstance(given, str):
                raise TypeError(f"RawKernel: {what} must be a string, not {type(given).__name__}")
        settings = _settings(backend, translate_cucomplex, enable_cooperative_groups, jitify)
        super().__init__(Unit(code, f"{name.partition('<')[0]}.cu", options, (), **settings), name)


class RawModule:
    """All kernels of CUDA C source, as cupy.RawModule. `name` (ours) is what messages call the source."""

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
        name: str | None = None,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("RawModule: give either code= or path=")
        if path is not None:
            with open(path, encoding="utf-8") as file:
                code = file.read()
        name = name or (path.replace("\\", "/").rsplit("/", 1)[-1] if path else "module.cu")
        if not isinstance(code, str):
            raise TypeError(f"RawModule: code must be a string, not {type(code).__name__}")
        settings = _settings(backend, translate_cucomplex, enable_cooperative_groups, jitify)
        self.unit = Unit(code, name, options, tuple(name_expressions or ()), **settings)

    @property
    def program(self) -> Program:
        return self.unit.program

    @property
    def source(self) -> str:
        """The CUDA C that it was made of."""
        return self.unit.source

    @property
    def names(self) -> list[str]:
        """The extern "C" kernels, in the order of the source."""
        if self.unit.refusal is not None:
            return re.findall(_DECLARED, self.source)
        return [name for name, function in self.program.kernels.items() if function.external_c]

    def get_function(self, name: str) -> Kernel:
        return Kernel(self.unit, name)

    def get_global(self, name: str) -> Any:
        """A pointer to a __constant__ or __device__ variable: cp.ndarray(shape, dtype, pointer) shows it."""
        if self.unit.refusal is not None:
            return self.unit.on_gpu.get_global(name)
        for variable, allocation in self.unit.variables.items():
            if variable.name == name:
                there = backend() == GPU
                return self.unit.variable_on_gpu(variable) if there else MemoryPointer(allocation, 0)
        known = ", ".join(variable.name for variable in self.unit.variables) or "none"
        raise ValueError(f"{self.program.name} has no variable {name!r} at file scope; there is: {known}")


# A kernel's name, where no front end tells it.
_DECLARED = r'extern\s*"C"\s+__global__\s+(?:\w+\s+|__launch_bounds__\s*\([^)]*\)\s*)*?(?!__)(\w+)\s*\('


def _settings(backend: str, complexes: bool, cooperative: bool, jitify: bool) -> dict[str, Any]:
    """CuPy's keywords, those that differ from its defaults."""
    given = {
        "backend": (backend, "nvrtc"),
        "translate_cucomplex": (complexes, False),
        "enable_cooperative_groups": (cooperative, False),
        "jitify": (jitify, False),
    }
    return {name: value for name, (value, default) in given.items() if value != default}


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
    hint = ""
    if isinstance(kernel, RawModule):
        there = ", ".join(kernel.program.kernels) or "none"
        hint = f": take a kernel with .get_function(name); its kernels: {there}"
    raise TypeError(f"{what}: the first argument must be a kernel, not {type(kernel).__name__}{hint}")


# ----------------------------------------------------------------------------------------------- the calls


@contextmanager
def _simulated(kernel: Kernel, arguments: Arguments, where: str, keep: bool) -> Iterator[Arguments]:
    """The arguments in simulated memory: as they are, or copied from a GPU, with the variables at file scope.

    With `keep`, what is in the copies at the end goes back, whatever stopped the kernel.
    """
    if where == SIMULATE:
        yield arguments
        return
    copies = through_cupy.GpuCopies(arguments.given)
    for variable, allocation in kernel.variables.items():
        try:
            there = kernel.unit.variable_on_gpu(variable)
        except RuntimeError:
            continue  # NVRTC has left it out, or it is static: nobody outside of the source can see it
        copies.add(there, allocation)
    try:
        yield arguments.copied(copies.args)
    finally:
        if keep:
            copies.back()


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
    _run(kernel, machine(kernel.name, args), grid, block, args, shared_mem, schedule, max_steps)


def _run(
    kernel: Kernel,
    where: str,
    grid: Any,
    block: Any,
    args: Any,
    shared_mem: int,
    schedule: str = "lockstep",
    max_steps: int = MAX_STEPS,
) -> None:
    """A simulation of arguments that are there where `machine` has found them."""
    launch = kernel.prepare(grid, block, shared_mem, max_steps, schedule == "reverse")
    with _simulated(kernel, Arguments(kernel.function, args), where, keep=True) as arguments:
        code = kernel.code("lockstep" if schedule == "lockstep" else "warps")
        code.variables.update(pointers(kernel.variables))
        launch.waits = code.waits
        run = run_lockstep if schedule == "lockstep" else run_warps
        try:
            with _recursion_named(kernel):
                run(code, launch, arguments.values())
        finally:
            sys.stdout.write(launch.printed.text)
        arguments.wrote()


def profile(
    kernel: Kernel,
    grid: Any,
    block: Any,
    args: Any,
    shared_mem: int = 0,
    *,
    max_steps: int = MAX_STEPS,
    max_span: int | None = None,
) -> Report:
    """Run a kernel on copies of its arguments and report everything that it did: see `Report`.

    What it prints is in `Report.printed`; after a failed assert it goes on. Raises LongThread where a thread
    takes more than `max_span` steps.
    """
    kernel = _kernel("profile", kernel)
    where = machine(kernel.name, args)
    launch = kernel.prepare(grid, block, shared_mem, max_steps)
    with _simulated(kernel, Arguments(kernel.function, args), where, keep=False) as arguments:
        copies: dict[int, np.ndarray[Any, Any]] = {}
        values = arguments.values(copies)
    recorder = Recorder(launch.name, launch.source, launch.grid, launch.block, max_span)
    code = kernel.code("watched")
    code.variables.update(pointers(kernel.variables, copies))
    launch.waits = code.waits
    with _recursion_named(kernel):
        run_watched(code, launch, values, recorder)
    report = recorder.report(arguments.outputs(copies))
    report.printed = launch.printed.text
    report.shared_bytes = kernel.shared_size_bytes + int(shared_mem)
    return report
