"""How many blocks and warps a multiprocessor holds at a time, as far as threads and shared memory decide it.

The limits are those of the table "Technical Specifications per Compute Capability" in NVIDIA's CUDA C++
Programming Guide, which also says that from capability 8.0 on each block takes 1 KB of shared memory more,
for the system. Registers limit as well, and how many a kernel needs only its compiler knows.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Architecture:
    """Of one multiprocessor: the warps and blocks that it holds, the bytes of its shared memory, how many a
    block takes unasked, and what they are given out in multiples of."""

    name: str
    warps: int
    blocks: int
    shared: int
    reserved: int = 1024
    unit: int = 128


ARCHITECTURES = {
    "sm_75": Architecture("T4", 32, 16, 64 * 1024, 0, 256),
    "sm_80": Architecture("A100", 64, 32, 164 * 1024),
    "sm_86": Architecture("RTX 30", 48, 16, 100 * 1024),
    "sm_89": Architecture("RTX 40, L4", 48, 24, 100 * 1024),
    "sm_90": Architecture("H100, H200", 64, 32, 228 * 1024),
}


@dataclass(frozen=True)
class Occupancy:
    """`blocks` and `warps` at a time on one multiprocessor, of `most` warps, and what limits them."""

    architecture: str
    blocks: int
    warps: int
    most: int
    limits: tuple[str, ...]

    @property
    def share(self) -> float:
        return self.warps / self.most

    def __str__(self) -> str:
        name = f"{self.architecture} ({ARCHITECTURES[self.architecture].name})"
        if not self.blocks:
            return f"none: a block needs more {self.limits[0]} than a multiprocessor of {name} has"
        limited = f", limited by {' and '.join(self.limits)}" if self.warps < self.most else ""
        return (
            f"at most {self.warps} of {self.most} warps ({self.share:.0%}) on a multiprocessor of {name}"
            f"{limited}; registers, which limit too, are not known here"
        )


def occupancy(threads: int, shared_bytes: int, architecture: str = "sm_90") -> Occupancy:
    """Of blocks with so many threads and bytes of shared memory."""
    found = ARCHITECTURES.get(architecture)
    if found is None:
        known = ", ".join(ARCHITECTURES)
        raise ValueError(f"occupancy: the architecture {architecture!r} is not known: take one of {known}")
    warps = -(-threads // 32)
    shared = -(-(shared_bytes + found.reserved) // found.unit) * found.unit
    allowed = {
        "the threads of a block": found.warps // warps,
        f"the {found.blocks} blocks that it holds": found.blocks,
        "shared memory": found.shared // shared if shared_bytes else found.blocks,
    }
    blocks = min(allowed.values())
    limits = [name for name, most in allowed.items() if most == blocks]
    if not shared_bytes:
        limits = [name for name in limits if name != "shared memory"]
    return Occupancy(architecture, blocks, blocks * warps, found.warps, tuple(limits))
