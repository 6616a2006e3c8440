"""Kernels from source: RawKernel as in CuPy, and `simulate` and `profile`, which are ours.

All source is compiled by our front end, on a GPU by NVRTC as well. A launch runs where its arrays are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from warplens import through_cupy
from warplens.analysis.facts import Facts, facts_of
from warplens.arguments import Arguments
from warplens.backend import GPU, SIMULATE, backend
from warplens.device.allocation import Allocation
from warplens.engine.generate import Code
from warplens.engine.launch import Launch
from warplens.engine.run import SCHEDULES
from warplens.errors import CompileError, LaunchTypeError
from warplens.language.tree import Function, Program, Variable
from warplens.launch_limits import (
    MAX_SHARED,
    MAX_THREADS,
    Dim3,
    allowed_shared,
    check_limits,
    checked_patience,
    machine,
)
from warplens.report.report import Report
from warplens.simulation import MAX_STEPS, PATIENCE, recorded, run
from warplens.unit import Unit, settings_of

# What is known of a kernel without a GPU.
KNOWN = ("max_threads_per_block", "shared_size_bytes", "const_size_bytes", "max_dynamic_shared_size_bytes")


class Kernel:
    """One kernel of a source, ready to be launched: kernel(grid, block, args, shared_mem=0).

    `max_threads_per_block`, `shared_size_bytes`, `const_size_bytes` and `max_dynamic_shared_size_bytes` (it
    can be set) are known everywhere, and `attributes` has them all. `num_regs`, `local_size_bytes` and CuPy's
    other numbers of a compiled kernel are there where CuPy finds a GPU.
    """

    def __init__(self, unit: Unit, name: str) -> None:
        self.unit, self.name = unit, name
        self._known_as = name  # to CuPy
        self._codes: dict[str, Code] = {}
        self._carveout = -1
        self.shared_size_bytes = 0
        self._allowed_shared: int | None = None  # dynamic shared memory, where somebody has set it
        self.refusal = unit.refusal
        if self.refusal is None:
            self._function = _found(unit.program, name, (*unit.expressions, *unit.unmarked))
            self.name = self._function.name
            self.shared_size_bytes = self.facts.static_shared_bytes
            try:
                self.code("lockstep")  # what is not supported shows here
            except CompileError as error:
                self.refusal = unit.unchecked(error)
        if self.refusal is not None:
            _ = self.on_gpu  # NVRTC is the only judge: what it says shows here

    def __reduce__(self) -> Any:
        return _unpickled_kernel, (type(self), self.unit, self._known_as, self._allowed_shared)

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
    def facts(self) -> Facts:
        """What its tree tells before it runs."""
        return facts_of(self.function)

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
            self._codes[mode] = Code(self.program, self.facts, mode)
        return self._codes[mode]

    @property
    def options(self) -> tuple[str, ...]:
        """What it was compiled with."""
        return self.unit.options

    @property
    def backend(self) -> str:
        """What compiles it on a GPU: "nvrtc" or "nvcc"."""
        return str(self.unit.settings.get("backend", "nvrtc"))

    def compile(self, log_stream: Any = None) -> None:
        """On a GPU, have NVRTC compile it now; our own compiler has done so already."""
        if backend() == GPU:
            self.unit.on_gpu.compile(log_stream=log_stream)

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

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """How many bytes `shared_mem` may be: what is left of 48 KB, or what was set."""
        if self._allowed_shared is not None:
            return self._allowed_shared
        if backend() == GPU:
            return int(self.on_gpu.max_dynamic_shared_size_bytes)
        return MAX_SHARED - self.shared_size_bytes

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, nbytes: int) -> None:
        if backend() == GPU:
            self.on_gpu.max_dynamic_shared_size_bytes = nbytes  # the GPU knows how much it has
            self._allowed_shared = int(nbytes)
        else:
            self._allowed_shared = allowed_shared(self.name, nbytes, self.shared_size_bytes)

    @property
    def preferred_shared_memory_carveout(self) -> int:
        """How much of the L1 cache shall be shared memory, in percent: of use on a GPU alone."""
        return int(self.on_gpu.preferred_shared_memory_carveout) if backend() == GPU else self._carveout

    @preferred_shared_memory_carveout.setter
    def preferred_shared_memory_carveout(self, percent: int) -> None:
        self._carveout = int(percent)
        if backend() == GPU:
            self.on_gpu.preferred_shared_memory_carveout = percent

    @property
    def const_size_bytes(self) -> int:
        """How much __constant__ memory its source has."""
        if backend() == GPU:
            return int(self.on_gpu.const_size_bytes)
        return sum(v.type.size for v in self.variables if v.storage == "constant")

    @property
    def attributes(self) -> dict[str, int]:
        """CuPy's table of these numbers; without a GPU, those that are known."""
        if backend() == GPU:
            return dict(self.on_gpu.attributes)
        return {name: getattr(self, name) for name in KNOWN}

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
            run(self, where, grid, block, args, shared_mem)
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
            dynamic=self.facts.dynamic_shared_array,
            max_threads=self.function.max_threads,
            allowed=self._allowed_shared,
            name=self.name,
        )

    def prepare(
        self,
        grid: Any,
        block: Any,
        shared_mem: int,
        max_steps: int,
        reverse: bool = False,
        patience: float | None = None,
    ) -> Launch:
        """A launch that is simulated. Raises LaunchError where it cannot be."""
        grid3, block3 = self.limits(grid, block, shared_mem)
        program = self.program
        checked_patience(patience)
        shape = grid3, block3, int(shared_mem)
        waits = bool(self.facts.spin_waits)
        return Launch(program.name, program.source, *shape, max_steps, reverse, patience, waits)

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
        settings = settings_of(backend, translate_cucomplex, enable_cooperative_groups, jitify)
        super().__init__(Unit(code, f"{name.partition('<')[0]}.cu", options, (), **settings), name)


def _unpickled_kernel(kind: type[Kernel], unit: Unit, name: str, allowed_shared: int | None) -> Kernel:
    """What a pickled kernel is made of."""
    made = kind.__new__(kind)
    Kernel.__init__(made, unit, name)
    if allowed_shared is not None:
        made.max_dynamic_shared_size_bytes = allowed_shared
    return made


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
    if hasattr(kernel, "get_function"):
        there = ", ".join(kernel.program.kernels) or "none"
        hint = f": take a kernel with .get_function(name); its kernels: {there}"
    raise TypeError(f"{what}: the first argument must be a kernel, not {type(kernel).__name__}{hint}")


# ----------------------------------------------------------------------------------------------- the calls


def simulate(
    kernel: Kernel,
    grid: Any,
    block: Any,
    args: Any,
    shared_mem: int = 0,
    *,
    schedule: str = "lockstep",
    max_steps: int = MAX_STEPS,
    patience: float | None = PATIENCE,
) -> None:
    """Run a kernel on the CPU; arrays are written in place. Raises KernelFault at the first bad access.

    `schedule`: "lockstep" runs all threads together; "forward" and "reverse" run one warp after the other
    from barrier to barrier, so that a missing barrier shows as wrong numbers, as it may on a GPU. A loop
    that has no end is stopped: where that can be proved, after `max_steps` iterations, and after `patience`
    seconds (None: never) if it comes no nearer to its end. What the kernel prints goes to sys.stdout once it
    has ended or is stopped.
    """
    if schedule not in SCHEDULES:
        raise ValueError(f"simulate: schedule must be one of {', '.join(SCHEDULES)}, not {schedule!r}")
    kernel = _kernel("simulate", kernel)
    run(kernel, machine(kernel.name, args), grid, block, args, shared_mem, schedule, max_steps, patience)


def profile(
    kernel: Kernel,
    grid: Any,
    block: Any,
    args: Any,
    shared_mem: int = 0,
    *,
    max_steps: int = MAX_STEPS,
    max_span: int | None = None,
    patience: float | None = PATIENCE,
) -> Report:
    """Run a kernel on copies of its arguments and report everything that it did: see `Report`.

    What it prints is in `Report.printed`; after a failed assert it goes on. A loop that has no end is
    stopped, as by `simulate`, and the report says what ran until then. Raises LongThread where a thread takes
    more than `max_span` steps.
    """
    kernel = _kernel("profile", kernel)
    where = machine(kernel.name, args)
    return recorded(kernel, where, grid, block, args, shared_mem, max_steps, max_span, patience)
