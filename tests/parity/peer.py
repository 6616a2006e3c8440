"""`from parity.peer import torch`: PyTorch, or the file is skipped with a reason that says what to do."""

from __future__ import annotations

import pytest

REMEDY = "PyTorch is missing: `make test-all` installs it, or `pip install -e '.[parity]'`"

torch = pytest.importorskip("torch", reason=REMEDY)
