"""What networks are made of, each as one operation: losses, activations, norms, layers.

Each file lists in its `__all__` what is re-exported here; a name stands in one list.
"""

from __future__ import annotations

from minilib import parallel as _parallel
from minilib.functional import activations, attention, layers, losses, norms, pooling, rows
from minilib.functional.activations import *  # noqa: F403
from minilib.functional.attention import *  # noqa: F403
from minilib.functional.layers import *  # noqa: F403
from minilib.functional.losses import *  # noqa: F403
from minilib.functional.norms import *  # noqa: F403
from minilib.functional.pooling import *  # noqa: F403
from minilib.functional.rows import *  # noqa: F403
from minilib.tensor import explain as _explain

__all__: list[str] = []
__all__ += activations.__all__
__all__ += attention.__all__
__all__ += layers.__all__
__all__ += losses.__all__
__all__ += norms.__all__
__all__ += pooling.__all__
__all__ += rows.__all__

_explain(globals(), __all__)

# Few rows count as 32: what takes time is then to read the weight.
_parallel.small_on_one_thread(
    layers.Linear, lambda x, weight, *bias: max(x.size, 32 * x.shape[-1]) * len(weight)
)
