"""What the compiler made of the lessons' kernels: a record that `make bench ARGS=compiled` writes anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def compiled() -> dict[str, Any]:
    """The record: `compiler`, `architecture`, and by name `kernels` and what stands `between_barriers`."""
    found: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return found
