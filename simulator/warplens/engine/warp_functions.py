"""What threads learn of each other: which lane a shuffle reads, and what comes of a vote."""

from __future__ import annotations

from typing import Any

import numpy as np

Rows = np.ndarray[Any, Any]  # (W, 32), as is what comes back
LANE = np.arange(32)


def source_of(name: str, by: Rows, width: Rows) -> Any:
    """The lane that each one reads; itself where there is no such lane."""
    start = LANE & ~(width - 1)
    if name == "__shfl_sync":
        return start | by & width - 1
    if name == "__shfl_up_sync":
        source = LANE - by
        return np.where(source < start, LANE, source)
    source = LANE + by if name == "__shfl_down_sync" else LANE ^ by
    return np.where(source >= start + width, LANE, source)


def voted(name: str, masks: Rows, chosen: Rows, holds: Rows) -> Any:
    """What a vote gives each lane, of the lanes that are `chosen`; `masks` are those it asks for."""
    yes, no = [
        (part * (1 << LANE)).sum(1, keepdims=True) & masks for part in (holds & chosen, ~holds & chosen)
    ]
    if name in ("__ballot_sync", "__activemask"):
        return yes.astype(np.uint32)
    return (yes != 0 if name == "__any_sync" else no == 0).astype(np.int32)


def outcome(name: str, yes: Any, no: Any) -> Any:
    """What a barrier that counts gives, of the numbers of threads for which something holds and does not."""
    return yes if name == "__syncthreads_count" else yes > 0 if name == "__syncthreads_or" else no == 0
