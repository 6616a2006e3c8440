"""Trainings for the record: what a run leaves, the file that holds the runs, and the command line.

`steps`, `losses` (the mean since the step before) and `held_out` of a row belong together. `seconds` are
those of the clock, `cpu_seconds` those of all threads: where they are fewer, the machine had other work too.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from timing import machine

from coursekit import notebooks
from minilib.parallel import set_num_threads
from minilib.projects.running import Samples

Row = dict[str, Any]


def without_options(description: str | None) -> None:
    """The command line of a program that has no options but --help; its trainings take one thread each."""
    argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    set_num_threads(1)


def milestone(chapter: str, *, reward: bool = False) -> dict[str, Any]:
    """What the lesson of a chapter defines for its milestone, without its reward or with it."""
    names: dict[str, Any] = {}
    (lesson,) = (Path(__file__).parents[1] / "chapters").glob(f"{chapter}_*.ipynb")
    for cell in notebooks.read(lesson).cells:
        if cell.source.startswith("#| milestone\n") or (
            reward and cell.source.startswith("#| milestone reward")
        ):
            exec(cell.source, names)
    return names


def trained(program: Any, options: str, keep: Path | None) -> tuple[argparse.Namespace, Samples, Row]:
    """Run a program of `minilib.projects`, with a checkpoint in `keep` where one is given.

    Returns its options, its samples and what every row has, with the command that repeats it.
    """
    folder = []
    if keep is not None:
        folder = ["--resume" if (keep / "training.json").exists() else "--checkpoint", str(keep)]
    args = program.parser().parse_args([*options.split(), *folder])
    set_num_threads(args.shards)
    samples, figures = program.run(args)
    stretches = itertools.pairwise([0, *samples.steps])
    return (
        args,
        samples,
        {
            "command": " ".join([program.parser().prog, *options.split(), f"--seed {args.seed}"]),
            "options": {
                name: value for name, value in vars(args).items() if isinstance(value, int | float | str)
            },
            "machine": machine(),
            "figures": figures,
            "seconds": samples.seconds[-1],
            "cpu_seconds": samples.cpu_seconds[-1],
            "steps": samples.steps,
            "losses": [float(f"{fmean(samples.losses[a:b]):.4g}") for a, b in stretches],
            "held_out": [float(f"{loss:.4g}") for loss in samples.held_out],
        },
    )


def write(results: Path, row: Row, key: str, names: Sequence[str]) -> None:
    """Put a run into the file, in the place of an earlier one of the same name."""
    runs = json.loads(results.read_text(encoding="utf-8"))["runs"] if results.exists() else []
    runs = [other for other in runs if other[key] != row[key]] + [row]
    runs.sort(key=lambda one: names.index(one[key]))
    results.write_text(json.dumps({"runs": runs}, indent=1) + "\n", encoding="utf-8")


def main(
    description: str | None,
    results: Path,
    key: str,
    names: Sequence[str],
    run: Callable[[str, Path | None], Row],
) -> None:
    """The command line: the runs that are named, or all; each is written as soon as it is done."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar=key.upper(), help=f"of {', '.join(names)}; all, if none is named"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help=f"of the checkpoint of one {key}")
    args = parser.parse_args()
    if strange := [name for name in args.names if name not in names]:
        parser.error(f"no {key} {strange[0]!r}: there are {', '.join(names)}")
    if args.keep and len(args.names) != 1:
        parser.error(f"--keep belongs to one {key}: name it")
    for name in args.names or names:
        row = run(name, args.keep)
        write(results, row, key, names)
        times = f"{row['seconds']:.0f} s, {row['cpu_seconds']:.0f} s of processors"
        print(name, row["figures"].get("scores", row["figures"]), times)
    print(f"wrote {results}")
