"""`Facts`: all that is known of a kernel before it runs."""

from __future__ import annotations

from functools import cached_property, lru_cache

from warplens.analysis.guards import guard_lines
from warplens.analysis.loops import repeated_lines, updates_in_place
from warplens.analysis.speculation import speculative_reads
from warplens.analysis.spin_waits import SpinWaits, spin_waits, unmarked_waits
from warplens.analysis.tickets import ticket_lines
from warplens.analysis.traversal import reachable, shared_in, used_intrinsics
from warplens.analysis.writes import written_variables
from warplens.language.tree import Function, Variable


class Facts:
    """What the source of a kernel, and of all that it calls, tells. Each fact is found when it is first asked
    for, and holds for all launches.
    """

    def __init__(self, kernel: Function) -> None:
        self.kernel = kernel

    # ------------------------------------------------------------------------------------------ what it uses

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """The kernel, and all functions that it calls."""
        return reachable(self.kernel)

    @cached_property
    def prints(self) -> bool:
        """Whether it calls printf."""
        return "printf" in used_intrinsics(self.kernel)

    @cached_property
    def shared_variables(self) -> tuple[Variable, ...]:
        """All variables in shared memory, those of `extern __shared__` included."""
        return tuple(dict.fromkeys(v for function in self.functions for v in shared_in(function)))

    @cached_property
    def shares(self) -> bool:
        """Whether the threads of a block share memory."""
        return bool(self.shared_variables)

    @cached_property
    def static_shared_bytes(self) -> int:
        """The bytes of shared memory that the source asks for."""
        return sum(v.type.size for v in self.shared_variables if v.storage == "shared")

    @cached_property
    def dynamic_shared_array(self) -> str | None:
        """The name of the first array whose bytes the launch gives: `extern __shared__`."""
        return next((v.name for v in self.shared_variables if v.storage == "dynamic"), None)

    # ------------------------------------------------------------------------------------------ what it does

    @cached_property
    def written_variables(self) -> frozenset[Variable]:
        """The variables, parameters among them, through which it presumably writes to memory."""
        return written_variables(self.kernel)

    @cached_property
    def ticket_lines(self) -> frozenset[int]:
        """The lines of atomics that number those who come, as in a reduction by the last block."""
        return ticket_lines(self.kernel)

    @cached_property
    def speculative_reads(self) -> frozenset[tuple[int, int]]:
        """The line of each plain read that an atomicCAS checks, and that of the atomicCAS."""
        return speculative_reads(self.kernel)

    @cached_property
    def updates_in_place(self) -> dict[int, str]:
        """The lines that do `a[i] += v`, with the atomic that does the same, "" where there is none."""
        return updates_in_place(self.kernel)

    # ------------------------------------------------------------------------------------ branches and loops

    @cached_property
    def guard_lines(self) -> dict[int, tuple[int, ...]]:
        """By line, the lines of the conditions that keep it in bounds, the innermost first."""
        return guard_lines(self.kernel)

    @cached_property
    def spin_waits(self) -> SpinWaits:
        """The loops in which a thread waits for another one."""
        return spin_waits(self.kernel)

    @cached_property
    def unmarked_waits(self) -> dict[int, int]:
        """The lines of plain loads that a loop may wait for, with its line."""
        return unmarked_waits(self.kernel)

    @cached_property
    def _repeated_lines(self) -> tuple[tuple[int, range], ...]:
        return repeated_lines(self.kernel)

    def innermost_loop(self, *lines: int) -> int | None:
        """The line of the innermost loop that repeats all of the lines."""
        return next((at for at, inside in self._repeated_lines if all(i in inside for i in lines)), None)


@lru_cache(maxsize=256)
def facts_of(kernel: Function) -> Facts:
    """The facts of a kernel, which all that is made of it share."""
    return Facts(kernel)
