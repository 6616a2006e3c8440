"""What a kernel of `make lab` runs first, by `PYTHONSTARTUP`, in the reader's namespace: no name stays."""

import contextlib

with contextlib.suppress(ImportError):  # in a kernel that is not the course's
    __import__("coursekit.box.check", fromlist=["remind"]).remind()
del contextlib
