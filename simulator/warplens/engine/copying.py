"""memcpy and memset: loads and stores of elements that both sides have. Generated code calls `FUNCTIONS`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from warplens.engine.lanes import Lanes
from warplens.engine.memory import LanePointer, Value
from warplens.engine.values import Mask, split
from warplens.language.types import UCHAR, Scalar

ndarray = np.ndarray


def memcpy(
    L: Lanes, to: LanePointer, source: LanePointer, nbytes: Value, kind: Scalar, mask: Mask, line: int
) -> None:
    """As loads and stores of elements of `kind`; bytes that are left over go one by one."""
    for element, index, lanes in _pieces(nbytes, kind, mask):
        value = L.load(source, index, element, lanes, line)
        L.store(to, index, value, element, lanes, line)


def memset(
    L: Lanes, to: LanePointer, byte: Value, nbytes: Value, kind: Scalar, mask: Mask, line: int
) -> None:
    for element, index, lanes in _pieces(nbytes, kind, mask):
        pattern = sum(1 << 8 * i for i in range(element.size))
        whole = byte.astype(np.uint8).astype(element.dtype) if type(byte) is ndarray else byte & 255
        L.store(to, index, whole * element.dtype.type(pattern), element, lanes, line)


def _pieces(nbytes: Value, kind: Scalar, mask: Mask) -> Iterator[tuple[Scalar, int, Mask]]:
    """The elements of so many bytes: the type and the number of each, and the lanes that have it."""
    most = int(np.max(np.where(mask, nbytes, 0))) if type(nbytes) is ndarray else int(nbytes)
    for i in range(-(-most // kind.size)):
        end = (i + 1) * kind.size
        whole, partly = split(mask, nbytes >= end)
        if whole is not False:
            yield kind, i, whole
        for j in range(i * kind.size, min(most, end - 1)):
            left, _ = split(partly, nbytes > j)
            if left is not False:
                yield UCHAR, j, left


FUNCTIONS: dict[str, Callable[..., None]] = {"memcpy": memcpy, "memset": memset}
