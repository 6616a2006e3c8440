"""Memory that one array leaves is kept for the next.

Of a page that a program gets from its system, the system clears all 4,096 bytes when they are touched first.
GNU's C library gives the pages of large arrays back as soon as they are free, so that a step which makes
arrays of 16 MB pays for that in each turn: four fifths of the time of a cross-entropy of 4096 x 1000. It can be
told to keep them, by mallopt(3); a program then holds as many as it had at its largest moment.
"""

from __future__ import annotations

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # their numbers in malloc.h
LARGEST = 32 * 2**20  # bytes of one array: for larger ones glibc always asks the system
MOST = 2**30  # bytes that are free and kept


def keep_freed() -> bool:
    """Keep up to 1 GB of freed arrays. False where there is no such switch: outside of Linux with glibc."""
    try:
        mallopt = ctypes.CDLL(None).mallopt if sys.platform == "linux" else None
    except (OSError, AttributeError):  # another C library, or a place where it may not be called
        return False
    return mallopt is not None and bool(mallopt(MMAP_THRESHOLD, LARGEST) and mallopt(TRIM_THRESHOLD, MOST))
