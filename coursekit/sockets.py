"""Kernels over Unix sockets, which no other program can take, and which need no warning about TCP."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager
from jupyter_core.paths import jupyter_runtime_dir


def own_socket() -> dict[str, Any]:
    """What to tell a kernel manager for a socket of its own; nothing where the system has none."""
    if os.name != "posix":
        return {}
    # A full path: the default is relative, and the kernel runs in another folder.
    os.makedirs(jupyter_runtime_dir(), exist_ok=True)
    return {"transport": "ipc", "ip": str(Path(jupyter_runtime_dir(), f"nb-{uuid.uuid4().hex[:8]}"))}


class SocketKernelManager(KernelManager):
    """Its kernels have a socket of their own."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**own_socket(), **settings)
