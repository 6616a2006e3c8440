"""A source with what it was compiled to: by our front end at once, by NVRTC where a GPU needs it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

from warplens import through_cupy
from warplens.backend import GPU, backend
from warplens.device.allocation import Allocation
from warplens.engine.file_scope import allocate
from warplens.errors import At, CompileError
from warplens.language import host_code
from warplens.language.frontend import compile_source
from warplens.language.tree import Program, Variable


@lru_cache(maxsize=256)
def compiled(source: str, name: str, options: tuple[str, ...], expressions: tuple[str, ...]) -> Program:
    """`compile_source`, once for each source."""
    return compile_source(source, name, options, expressions)


class Unit:
    """One source, of a RawKernel or a RawModule; of a whole .cu file, what is for the GPU (`host_code`).

    Where our front end cannot compile it, and kernels run on a GPU whose compiler can, `refusal` says what
    was in the way, and its kernels run there unchecked.
    """

    def __init__(
        self, code: str, name: str, options: Sequence[str], expressions: Sequence[str], **settings: Any
    ) -> None:
        self.source, self.name = code, name
        self.text = code  # what is compiled: without host code, where there is some in the way
        self.options, self.expressions, self.settings = tuple(options), tuple(expressions), settings
        self.refusal: CompileError | None = None
        self.variables: dict[Variable, Allocation] = {}
        self._program: Program | None = None
        self.unmarked: tuple[str, ...] = ()  # kernels of a whole file that need no extern "C"
        try:
            self._compile()
        except Exception as error:
            found = host_code.taken(code, self.expressions) if isinstance(error, CompileError) else None
            if found is None or (backend() == GPU and self._nvrtc_takes_it()):
                self.refusal = self.unchecked(_host_alone(error) if found is None else error)
                return
            self._leave_aside(found)
            try:
                self._compile()
            except CompileError as second:
                self.refusal = self.unchecked(_with_hint(second, found))
            else:
                told = f"{name}: left aside is {found.note}; its kernels are taken"
                warnings.warn(told, stacklevel=3)

    def _compile(self) -> None:
        self._program = compiled(self.text, self.name, self.options, self.expressions)
        self.variables = allocate(self._program)
        known = self._program.kernels
        self.unmarked = tuple(k for k in self.unmarked if k in known and not known[k].external_c)

    def _leave_aside(self, found: host_code.Taken) -> None:
        """Go on with what is for the GPU."""
        self.text, self.unmarked = found.text, found.kernels
        vars(self).pop("on_gpu", None)

    def __reduce__(self) -> Any:
        return _unpickled_unit, (self.source, self.name, self.options, self.expressions, self.settings)

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
        expressions = tuple(dict.fromkeys((*self.expressions, *self.unmarked)))
        return through_cupy.module(self.text, self.options, expressions, self.settings)

    def unchecked(self, error: Exception) -> CompileError:
        """`error` after a warning, where a GPU can run what stopped us. Else raises it.

        What we call a mistake NVRTC may take, and a fault of the simulator is none of the source: there NVRTC
        is the judge.
        """
        if backend() != GPU:
            raise error
        if not isinstance(error, CompileError):
            fault = f"the simulator fails at it ({type(error).__name__}: {error})"
            error = CompileError("unsupported", fault, At(1, 1), self.name, self.source)
        elif error.kind != "unsupported" and not self._nvrtc_takes_it():
            raise error
        warnings.warn(
            f"{error.name}:{error.line}: {error.message}. It runs on the GPU unchecked: nobody looks at the "
            "number and the types of its arguments and at sizes, and simulate and profile cannot run it",
            stacklevel=4,  # who called RawKernel, RawModule or get_function
        )
        return error

    def _nvrtc_takes_it(self) -> bool:
        try:
            self.on_gpu.compile()
        except Exception:  # CuPy's CompileException, and whatever else keeps it from running there
            return False
        return True

    def variable_on_gpu(self, variable: Variable) -> Any:
        """CuPy's pointer to a variable at file scope."""
        return through_cupy.variable(self.on_gpu, variable.name, variable.type.size)


def _with_hint(error: CompileError, found: host_code.Taken) -> CompileError:
    """What stops a whole file, and that its host code does not."""
    hint = f"not needed here, and left aside: {found.note}"
    told = f"{error.hint}; {hint}" if error.hint else hint
    return CompileError(error.kind, error.message, error.at, error.name, error.source, told)


def _host_alone(error: Exception) -> Exception:
    """What stops a source without a kernel, and that it is for the host, where it is."""
    if not isinstance(error, CompileError) or "__global__" in error.source:
        return error
    if not (named := host_code.named(error.source)):
        return error
    told = f"{', '.join(named)} is host code, which is not needed here: give the __global__ functions"
    return CompileError(error.kind, error.message, error.at, error.name, error.source, told)


def _unpickled_unit(
    code: str, name: str, options: Sequence[str], expressions: Sequence[str], settings: dict[str, Any]
) -> Unit:
    """What a pickled unit is made of: its variables begin anew, as CuPy's do."""
    return Unit(code, name, options, expressions, **settings)


def settings_of(backend: str, complexes: bool, cooperative: bool, jitify: bool) -> dict[str, Any]:
    """CuPy's keywords, those that differ from its defaults."""
    given = {
        "backend": (backend, "nvrtc"),
        "translate_cucomplex": (complexes, False),
        "enable_cooperative_groups": (cooperative, False),
        "jitify": (jitify, False),
    }
    return {name: value for name, (value, default) in given.items() if value != default}
