"""Kernels over Unix sockets, which no other program can take, and which need no warning about TCP."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager
from jupyter_core.paths import jupyter_runtime_dir


class SocketKernelManager(KernelManager):
    """Its kernels have a socket of their own, where the system has such."""

    def __init__(self, **settings: Any) -> None:
        if os.name == "posix":
            # A full path: the default is relative, and the kernel runs in another folder.
            os.makedirs(jupyter_runtime_dir(), exist_ok=True)
            socket = Path(jupyter_runtime_dir(), f"nb-{uuid.uuid4().hex[:8]}")
            settings |= {"transport": "ipc", "ip": str(socket)}
        super().__init__(**settings)
