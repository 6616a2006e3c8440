"""The record of machine code that lessons show is what the compiler says."""

from __future__ import annotations

import nvrtc
import pytest

from benchmarks import compiled
from coursekit import pictures

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(nvrtc.library() is None, reason=nvrtc.WHY_NOT),
    pytest.mark.skipif(
        compiled.disassembler() is None, reason="nvdisasm is missing: pip install nvidia-cuda-nvdisasm"
    ),
]


@pytest.mark.nightly  # it compiles every kernel for every architecture
def test_the_record_is_what_this_version_of_the_compiler_makes() -> None:
    """Another version may choose other instructions: then record and lessons are looked at."""
    kept = pictures.compiled()
    if kept["compiler"] != f"NVRTC {nvrtc.version()}":
        pytest.skip(f"the record is of {kept['compiler']}")
    assert kept == compiled.record()
