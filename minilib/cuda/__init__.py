"""CUDA C on any machine: through CuPy where there is a GPU, and otherwise on a simulator that explains it."""

from minilib.cuda.device.stand_in import cp
from minilib.cuda.errors import CompileError, KernelFault, LaunchError
from minilib.cuda.kernel import RawKernel, RawModule, profile, simulate
from minilib.cuda.reports.report import Finding, Report

__all__ = [
    "CompileError",
    "Finding",
    "KernelFault",
    "LaunchError",
    "RawKernel",
    "RawModule",
    "Report",
    "cp",
    "profile",
    "simulate",
]
