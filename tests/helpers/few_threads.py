"""Right kernels whose work a few threads do: what hidden tests must tell from work that is shared."""

from __future__ import annotations

import re

# Who goes on, and which of the block's threads (first, step) and blocks (first, step) each of them plays.
_ALL_BLOCKS = "blockIdx.x + gridDim.x * blockIdx.y", "gridDim.x * gridDim.y"
_ONE_BLOCK = "0", "1"
PLAYERS = {
    "one thread": ("me == 0 && here == 0", "0", "1", *_ONE_BLOCK),
    "one thread of each block": ("me == 0", "0", "1", *_ALL_BLOCKS),
    "one warp": ("me < 32 && here == 0", "me", "32", *_ONE_BLOCK),
    "one warp of each block": ("me < 32", "me", "32", *_ALL_BLOCKS),
    "one block": ("here == 0", "me", "threads", *_ONE_BLOCK),
}

_PLACE = """int me = threadIdx.x + blockDim.x * threadIdx.y, threads = blockDim.x * blockDim.y;
    int here = blockIdx.x + gridDim.x * blockIdx.y, there = gridDim.x * gridDim.y;"""


def played(source: str, players: str) -> str:
    """The kernel `source`, which has no barrier, with all threads played by a few, one after the other."""
    found = re.search(r'extern "C" __global__ void (\w+)\(([^)]*)\)', source)
    assert found and "sync" not in source
    name, parameters = found[1], found[2]
    given = ", ".join(re.findall(r"(\w+)\s*(?:,|$)", parameters.strip()))
    body = source.replace(found[0], f"__device__ void play(uint3 Thread, uint3 Block, {parameters})")
    body = body.replace("threadIdx", "Thread").replace("blockIdx", "Block")
    who, first, step, block, blocks = PLAYERS[players]
    return f"""{body}
extern "C" __global__ void {name}({parameters}) {{
    {_PLACE}
    if (!({who})) return;
    for (int b = {block}; b < there; b += {blocks})
        for (int t = {first}; t < threads; t += {step})
            play(
                make_uint3(t % blockDim.x, t / blockDim.x, 0),
                make_uint3(b % gridDim.x, b / gridDim.x, 0), {given}
            );
}}
"""


def few(source: str, players: str) -> str:
    """`source`, a kernel that walks from FIRST by STEP after the word FEW, with the numbers of `players`."""
    who, first, step, *_ = PLAYERS[players]
    assert "FEW;" in source
    return source.replace(
        "FEW;", f"{_PLACE}\n    if (!({who})) return;\n    const int FIRST = {first}, STEP = {step};"
    )
