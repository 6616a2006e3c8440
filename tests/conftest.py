"""Asserts of shared tests say as much as those of test files, and Ctrl-C reaches what tests start."""

import os
import signal

import pytest

# The same tests on every machine. Those that need a GPU ask for it: tests/gpu.
os.environ.setdefault("MINILIB_CUDA", "simulate")

pytest.register_assert_rewrite("graded")

# Run in the background (`make test &`), tests would ignore SIGINT, and so would what they start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
