"""List in what minilib differs from PyTorch: `python -m tests.parity.databases [--most N] [NAME ...]`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from . import modules, operations, optimisers
from .compare import KINDS
from .expected import expected, reason_for

DATABASES = (operations, modules, optimisers)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.parity.databases", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="such as sum, nn.functional.gelu, Linear, SGD"
    )
    parser.add_argument("--most", type=int, help="samples of each dtype (default: all there are)")
    args = parser.parse_args()
    started, runs, seen = time.monotonic(), 0, Counter[tuple[str, str, str, str]]()
    first: dict[tuple[str, str, str, str], str] = {}
    named = {name: (db, entry) for db in DATABASES for name, entry in db.entries().items()}
    unknown = set(args.names) - set(named)
    if unknown:
        print(f"no entry that is here is called {sorted(unknown)[0]}; there are: {', '.join(named)}")
        return 2
    for name in args.names or named:
        database, entry = named[name]
        for found in database.differences(entry, args.most):
            runs += 1
            if found is not None:
                listed = reason_for(found)
                row = found.kind, found.form, found.message[:150], listed.reason if listed else "NOT LISTED"
                seen[row] += 1
                first.setdefault(row, found.sample)
    for row in sorted(seen, key=lambda row: (row[3] != "NOT LISTED", KINDS.index(row[0]), row)):
        kind, form, message, reason = row
        print(f"{kind:<9}{form}: {message}\n         {seen[row]} times, {reason}; first: {first[row]}")
    missing = sum(count for row, count in seen.items() if row[3] == "NOT LISTED")
    print(
        f"{len(args.names or named)} entries, {runs} runs, {seen.total()} differ, {missing} of them not in "
        f"the {len(expected())} lines of expected.toml; {time.monotonic() - started:.0f} s"
    )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
