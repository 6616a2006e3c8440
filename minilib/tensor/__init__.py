"""Arrays that know their gradient: what to import from `minilib.tensor`, whatever file holds it.

Each file lists in its `__all__` what is re-exported here; a name stands in one list.
"""

from __future__ import annotations

import builtins as _builtins

from minilib import engine as _engine
from minilib import names as _names
from minilib import operations as _operations
from minilib import parallel as _parallel
from minilib.engine import *  # noqa: F403
from minilib.engine import _clock as _clock
from minilib.engine import _on_device as _on_device
from minilib.engine import _writes as _writes
from minilib.names import *  # noqa: F403 (not in `__all__`: some are names of Python's own functions)
from minilib.operations import *  # noqa: F403
from minilib.tensor import applying, arguments, core, creation, derivatives, functions, hooks, random, rules
from minilib.tensor.applying import *  # noqa: F403
from minilib.tensor.arguments import *  # noqa: F403
from minilib.tensor.core import *  # noqa: F403
from minilib.tensor.creation import *  # noqa: F403
from minilib.tensor.derivatives import *  # noqa: F403
from minilib.tensor.functions import *  # noqa: F403
from minilib.tensor.hooks import *  # noqa: F403
from minilib.tensor.random import *  # noqa: F403
from minilib.tensor.rules import *  # noqa: F403
from minilib.tensor.rules import _CATEGORY as _CATEGORY
from minilib.tensor.rules import _sizes as _sizes

__all__: list[str] = []
__all__ += _engine.__all__
__all__ += _operations.__all__
__all__ += applying.__all__
__all__ += arguments.__all__
__all__ += core.__all__
__all__ += creation.__all__
__all__ += derivatives.__all__
__all__ += functions.__all__
__all__ += hooks.__all__
__all__ += random.__all__
__all__ += rules.__all__

for _file in (creation, derivatives, functions):
    arguments.explain(globals(), _file.__all__)
arguments.explain(globals(), ["matmul", *(name for name in vars(_names) if not name.startswith("_"))])

# Few rows count as 32: what takes time is then to read y.
_parallel.small_on_one_thread(
    _operations.MatMul, lambda x, y: _builtins.max(x.shape[-2], 32) * x.shape[-1] * y.shape[-1]
)
