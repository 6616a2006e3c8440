"""`cp.cuda` of the stand-in: devices, streams and events. All work is done when a call returns."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np

from warplens.device.allocation import Allocation, MemoryPointer, MemoryPool


class Device:
    """The one device that there is, number 0."""

    def __init__(self, device: int | None = None) -> None:
        self.id = int(device or 0)
        if self.id != 0:
            raise ValueError(f"there is no device {self.id}: without a GPU there is device 0 alone")

    def synchronize(self) -> None:
        pass

    def use(self) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id} (simulated)>"


class Event:
    """A moment, between two of which time can be measured."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self._time: float | None = None

    @property
    def done(self) -> bool:
        return True

    def record(self, stream: Stream | None = None) -> None:
        self._time = time.perf_counter()

    def synchronize(self) -> None:
        pass


class Stream:
    """An order of work; here everything is done at once, in the order of the calls."""

    null: ClassVar[Stream]

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False) -> None:
        self.ptr = 0

    @property
    def done(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def use(self) -> Self:
        return self

    def record(self, event: Event | None = None) -> Event:
        """`event`, or a new one, at this moment."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


Stream.null = Stream(null=True)


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds between two recorded events."""
    if start_event._time is None or end_event._time is None:
        raise RuntimeError(
            "get_elapsed_time: an event was not recorded: call event.record() before and after"
        )
    return (end_event._time - start_event._time) * 1e3


def get_current_stream(device_id: int = -1) -> Stream:
    return Stream.null


def alloc(size: int) -> MemoryPointer:
    """So many bytes of new memory, which nobody has written."""
    return MemoryPointer(Allocation.of(np.full(size, 0xFF, np.uint8), written=False), 0)


def make_cuda() -> SimpleNamespace:
    """The namespace `cp.cuda`."""
    runtime = SimpleNamespace(
        deviceSynchronize=lambda: None,
        streamSynchronize=lambda stream: None,
        getDeviceCount=lambda: 0,
        getDevice=lambda: 0,
    )
    names: dict[str, Any] = {
        "Device": Device, "Event": Event, "MemoryPointer": MemoryPointer, "MemoryPool": MemoryPool,
        "Stream": Stream, "alloc": alloc,
        "get_current_stream": get_current_stream, "get_elapsed_time": get_elapsed_time,
        "is_available": lambda: False, "runtime": runtime,
    }  # fmt: skip
    return SimpleNamespace(**names)
