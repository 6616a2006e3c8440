"""What findings say: which thread did what to which element on which line, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, replace

Triple = tuple[int, int, int]
SPECULATIVE = (
    ". It is the first guess of a loop that tries atomicCAS until it succeeds: a wrong guess is tried again."
)
GUARD = " Guard the access with an if that keeps it inside."
ENLARGE = " Launch with more of it, or guard the access with an if that keeps it inside."
DOES = {"load": "reads", "store": "writes", "atomic": "atomically updates"}
DO = {"load": "read", "store": "write", "atomic": "update atomically"}
LAST_BLOCK = (
    " NVIDIA's own samples leave it out, but CUDA's memory model asks for it: without a fence of its own the "
    "last block may read what it has read before."
)
UPDATE = " Reading, adding and writing back are three steps; {} does them as one."
IN_PLACE = " All must have read before anyone writes: read into a variable, wait, and then write."
HALF_VOLATILE = " One of the two is volatile, and the other is not: for a flag both must be."
UNMARKED_WAIT = (
    " If the loop at line {} waits for that: the compiler may read it once and not again, so read it through "
    "a volatile pointer, or by an atomic."
)
LOOP_CARRIED = (
    " Line {} comes again in the next round of the loop at line {}: wait at the end of its body too."
)
OWN = "give each thread an element of its own, let one thread write, or use an atomic"
GARBAGE = {
    "shared": "Shared memory starts with garbage: write it first, then wait with __syncthreads()",
    "local": "A local array starts with garbage: give every element a value first",
    "global": "cp.empty does not clear memory. Write it first, or allocate it with cp.zeros",
}

# Where no later access of the launch writes it either, a barrier mends nothing.
UNWRITTEN = (
    "Shared memory starts with garbage, and no thread of this block writes {}: the index of the store leaves "
    "it out, or the condition before it"
)
ALL_UNWRITTEN = "Shared memory starts with garbage, and nothing is written to {} in this block: fill it first"

# What a report may lack where a launch goes beyond what is recorded in full.
MERGED = (
    "a block publishes more than 4 times through one atomic variable, and from there on that counts as one: "
    "a race with what it publishes later may be missed."
)
FORGOTTEN = (
    "only the last 262,144 atomics and fences are kept to explain races: a missing fence may not be named, "
    "and a counter that the last block resets may count as a race."
)
STOPPED = {
    "max_steps": "the loop at line {} was stopped by max_steps: no proof that it never ends.",
    "patience": "the loop at line {} was stopped by the clock (patience): no proof that it never ends.",
}
PRINTED = "more was printed than the {:,} characters that are kept."
KEPT = (
    "the arguments have {:,} bytes, and a report keeps at most {:,}: report.trace and advice that rests on "
    "running a block again are missing."
)
WAITING = (
    "block {} waits for another one, so that it cannot run again alone: advice that rests on that is missing."
)
REUSE = "of a block's accesses only the first {:,} are asked which thread wanted the same again."


@dataclass(frozen=True)
class Actor:
    """A thread; `alone`: there is one block only, which need not be named."""

    block: Triple
    thread: Triple
    warp: int = 0
    alone: bool = False

    def __str__(self) -> str:
        return f"thread {triple(self.thread)}" + ("" if self.alone else f" of block {triple(self.block)}")


@dataclass
class Told:
    """A thread told another one on line `told`, which learnt it on line `learnt`. `released`, `acquired`:
    whether a fence stands before the one and behind the other."""

    told: int
    learnt: int
    released: bool
    acquired: bool


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def triple(values: Triple) -> str:
    return "({},{},{})".format(*values)


def null(who: Actor, kind: str) -> str:
    """An access through a pointer to nowhere."""
    return f"{who} {DOES[kind]} through a null pointer, which points to nothing: give it an address first"


def element(name: str, index: int, shape: tuple[int, ...] | None = None) -> str:
    """tile[4], or tile[2][1] where the shape of the array is known."""
    if shape is None or len(shape) < 2 or index < 0:
        return f"{name}[{index}]"
    parts = []
    for length in reversed(shape[1:]):
        parts.append(index % length)
        index //= length
    return name + "".join(f"[{part}]" for part in [index, *reversed(parts)])


def race(
    what: str, kind: str, line: int, other_kind: str, other_line: int, me: Actor, other: Actor,
    same_value: bool, together: bool, told: Told | None,
) -> str:  # fmt: skip
    """`kind` and `other_kind`: load, store, atomic; `together`: one instruction writes twice; `told`: how the
    other one let the first one know."""
    if me.block == other.block:
        other = replace(other, alone=True)
    both = f"{me} and {other}" if me.block != other.block or me.alone else f"{other} and {me}"
    if same_value:
        where = f"at line {line}" if line == other_line else f"at lines {other_line} and {line}"
        return f"{both} both write the same value to {what} {where}, in no order: no harm is done."
    if together:
        return f"{both} both write {what} at line {line}, and which value stays is open: {OWN}."
    if kind == "store" and other_kind == "load":
        text = (
            f"{me} writes {what} at line {line}, while {other} may still be reading it at line {other_line}"
        )
    elif kind == "store" and other_kind == "store":
        text = f"{me} writes {what} at line {line}, and {other} writes it at line {other_line}"
    elif "atomic" in (kind, other_kind):
        text = (
            f"{me} {DOES[kind]} {what} at line {line}{_plain(kind)}, while {other} {DOES[other_kind]} it "
            f"at line {other_line}{_plain(other_kind)}"
        )
    else:
        text = (
            f"{me} {DOES[kind]} {what} at line {line}, which {other} {DOES[other_kind]} at line {other_line}"
        )
    if told is not None and not (told.released and told.acquired):
        return text + _missing_fence(other_line, told, me.block == other.block)
    return text + _missing(me, other)


def _plain(kind: str) -> str:
    return "" if kind == "atomic" else " without an atomic"


def _missing_fence(line: int, told: Told, one_block: bool) -> str:
    """The one that does something on `line` tells the other one of it."""
    before = f"after line {line} and before line {told.told}, which tells of it"
    behind = f"after line {told.learnt}, where that is learnt"
    missing = [text for text, there in ((before, told.released), (behind, told.acquired)) if not there]
    fence = "__threadfence_block" if one_block else "__threadfence"
    return f". {fence}() is missing {', and '.join(missing)}."


def _missing(me: Actor, other: Actor) -> str:
    if me.block != other.block:
        return (
            ". Nothing orders two blocks: let each write elements of its own, use atomics only, make two "
            "kernels of it, or tell the other by an atomic between two __threadfence()."
        )
    if me.warp == other.warp:
        return (
            " with neither __syncthreads() nor __syncwarp() between them. "
            "The threads of a warp run in no fixed order either."
        )
    return " with no __syncthreads() between them."


def bounds(
    what: str, name: str, who: Actor, kind: str, index: int, elements: int, length: int,
    shared_mem: int | None = None,
) -> str:  # fmt: skip
    """`elements` are read or written from `index` on; the array has `length`, as the launch gives it
    `shared_mem` bytes (None: it has its length by itself)."""
    does = DOES[kind] + (f" {elements} elements from" if elements > 1 else "")
    has = f"{name} has {length} element{'' if length == 1 else 's'}" + (
        f" (0 to {length - 1})" if length else ""
    )
    if shared_mem is not None:
        has += f", as the launch gives it shared_mem={shared_mem} bytes"
    if index < 0:
        return f"{who} {does} {what}, which lies before the first element; {has}.{GUARD}"
    hint = GUARD if shared_mem is None else ENLARGE
    if index > 2**31 and abs(index - 2**32) < 2**24:
        hint = (
            f" An unsigned index went below zero: {index} is {index - 2**32} wrapped around at 2**32. "
            "Use int, or test before you subtract."
        )
    if elements > 1 and index < length:
        return f"{who} {does} {what}, which goes beyond the end: {has}.{hint}"
    return f"{who} {does} {what}, but {has}.{hint}"


def row(who: Actor, array: str, index: int, length: int) -> str:
    """An index within one row of an array, and outside of it."""
    return (
        f"{who} uses the index {index} in a row of {array} that has {length} elements (0 to {length - 1}): "
        "it stays inside the array, but what it reaches belongs to something else there, as to the next row."
    )


def shift(who: Actor, by: int, bits: int) -> str:
    return (
        f"{who} shifts by {by}, and the value has {bits} bits: C++ leaves open what comes of a shift that is "
        f"not by 0 to {bits - 1}. A GPU and its compiler need not agree."
    )


def misaligned(
    what: str, who: Actor, kind: str, size: int, align: int, address: int, carved: bool = False
) -> str:
    """`carved`: in memory that a kernel divides into arrays by itself."""
    hint = " In it, put the array with the larger elements first, or round its start up." if carved else ""
    return (
        f"{who} {DOES[kind]} {size} bytes at {what}, whose address is not a multiple of {align} "
        f"(it is {address % align} too far). {size} bytes must start at a multiple of {align}.{hint}"
    )


def barrier_divergence(missing: Actor, name: str, arrived: int, live: int) -> str:
    return (
        f"only {arrived} of {live} running threads of block {triple(missing.block)} reach this "
        f"{name}(); thread {triple(missing.thread)} does not. "
        "Put it where all threads pass: after the if, not in it, and in loops that all repeat equally often."
    )


def early_return(who: Actor, name: str, returned: int) -> str:
    first = f"thread {triple(who.thread)} of block {triple(who.block)}"
    return (
        f"{returned} threads, {first} the first of them, have returned before this {name}(). "
        "It does not wait for them; what they would have loaded or stored is missing."
    )


def lanes_text(lanes: list[int]) -> str:
    """[0, 1, 2, 7] is "0-2, 7"."""
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and lane == runs[-1][1] + 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def waits_for_later(who: Actor, blocks: int) -> str:
    return (
        f"{who} has to wait here for a block that begins later. CUDA does not promise that all {blocks:,} "
        "blocks run at the same time: if they do not fit on the GPU together, this never ends. Launch no "
        "more blocks than fit (RawKernel(..., enable_cooperative_groups=True) has that checked), or let each "
        "block take its number from an atomicAdd when it begins."
    )
