"""The command line: look at a model, run it, time it, compare it; tract's commands and their names.

python -m minilib.infer MODEL [-i FACT]... [--pass load|analyse|declutter|optimise] [--pulse N]
    dump [--cost|--profile|--json] | run --input FILE.npz | bench | compare --with FILE.npz|onnxruntime
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import zipfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from minilib.infer.api import InferenceModel, Model, Runnable, nnef, onnx
from minilib.infer.drawing import rails
from minilib.infer.facts import Fact
from minilib.infer.model import Graph, ModelError
from minilib.infer.plan import Plan
from minilib.infer.profile import profile, size_text, total
from minilib.infer.pulse import Pulse

PASSES = ("load", "analyse", "declutter", "optimise")
SECONDS = 0.5  # that a bench runs


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command. What is wrong is told in one line, and 2 returned; 1 where a comparison fails."""
    options = parser().parse_args(arguments)
    try:
        return {"dump": dump, "run": run, "bench": bench, "compare": compare}[options.command](options)
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
    except (ValueError, MemoryError) as error:  # models and facts, and sizes beyond this machine
        print(f"error: {error}", file=sys.stderr)
    return 2


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("python -m minilib.infer", description="Look at a model, and run it.")
    made.add_argument("model", metavar="MODEL", help="an ONNX file, or NNEF: a folder, .tar or .tgz")
    made.add_argument(
        "-i", "--input-fact", metavar="FACT", action="append", default=[],
        help='what an input is, such as "B,1,8,8,f32"; once for each input',
    )  # fmt: skip
    made.add_argument("--pass", dest="stage", choices=PASSES, default="declutter", help="how far to go")
    made.add_argument("--pulse", metavar="N", help="cut the stream into pulses of so many frames")
    made.add_argument("--symbol", default="S", help="the length of the stream (S)")
    commands = made.add_subparsers(dest="command", required=True)
    shown = commands.add_parser("dump", help="nodes and facts")
    shown.add_argument("--cost", action="store_true", help="multiplications of each node")
    shown.add_argument("--profile", action="store_true", help="time of each node")
    shown.add_argument("--json", action="store_true", help="as JSON")
    running = commands.add_parser("run", help="outputs for inputs")
    running.add_argument("--output", metavar="FILE.npz", help="where to write the outputs")
    compared = commands.add_parser("compare", help="differences")
    compared.add_argument("--with", dest="other", required=True, metavar="FILE.npz|onnxruntime")
    for one in (shown, running, compared, commands.add_parser("bench", help="time of a run")):
        one.add_argument("--input", metavar="FILE.npz", help="arrays by the inputs' names; drawn without it")
    return made


# What the commands work on


def loaded(options: argparse.Namespace, stage: str) -> InferenceModel | Model:
    """The model, as far as this stage."""
    if options.pulse and stage in ("load", "analyse"):
        raise ModelError(f"pulses are cut after declutter, and --pass {stage} stops before")
    if os.path.isdir(options.model) or options.model.endswith((".tar", ".tgz", ".tar.gz")):
        if options.input_fact:
            raise ModelError(f"{options.model} is NNEF, which says itself what its inputs are: leave -i out")
        typed = nnef().load(options.model)
    else:
        model = onnx().load(options.model)
        for i, fact in enumerate(options.input_fact):
            model.set_input_fact(i, fact)
        if stage != "load":
            model.analyse()
        if stage in ("load", "analyse"):
            return model
        typed = model.into_model()
    if options.pulse:
        typed.transform(Pulse(options.pulse, options.symbol))
    return typed


def runnable(options: argparse.Namespace) -> Runnable:
    model = loaded(options, "declutter")
    assert isinstance(model, Model)
    return model.into_runnable()


def arrays(model: Any, path: str | None, kept: bool = False) -> dict[str, Any]:
    """An array for each input, from the file by name, or drawn; with `kept` also for those of a state."""
    names = [model.input_name(i) for i in range(model.input_count())]
    given = {} if path is None else picked(path, names)
    rng = np.random.default_rng(0)
    facts = model.graph.inputs if kept else {name: model.graph.inputs[name] for name in names}
    return {name: given[name] if name in given else drawn(name, fact, rng) for name, fact in facts.items()}


def picked(path: str, names: Sequence[str]) -> dict[str, Any]:
    """The arrays of a file that are called so."""
    given = opened(path)
    if missing := [name for name in names if name not in given]:
        raise ModelError(f"{path} has no array {missing[0]!r}, only {', '.join(given) or 'none'}")
    return {name: given[name] for name in names}


def opened(path: str) -> Mapping[str, Any]:
    if not path.endswith(".npz"):
        raise ModelError(f"{path}: arrays are read from .npz files; see numpy.savez")
    try:
        return dict(np.load(path))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or 'it is no .npz file'}") from None
    except Exception:  # zipfile.BadZipFile, and what pickles raise: NumPy has no error of its own for them
        raise ModelError(f"{path} cannot be read: it is no .npz file of plain arrays") from None


def drawn(name: str, fact: Fact, rng: np.random.Generator) -> Any:
    shape = fact.shape
    if shape is None or fact.dtype is None or not all(isinstance(n, int) for n in shape):
        raise ModelError(f"the input {name!r} is {fact}: say how large it is with -i, or give --input")
    sizes: Any = shape
    if fact.dtype.kind == "f":
        return rng.standard_normal(sizes).astype(fact.dtype)
    return np.zeros(sizes, fact.dtype)  # whole numbers may be places in a table: 0 is always there


# The commands


def dump(options: argparse.Namespace) -> int:
    model = loaded(options, options.stage)
    graph, rows, source = model.graph, list[dict[str, Any]](), ""
    if options.cost or options.profile:
        if not graph.facts:
            raise ModelError("costs are told of a model that is analysed: --pass analyse, or further")
        rows = profile(
            graph, list(arrays(model, options.input, kept=True).values()) if options.profile else None
        )
    if options.stage == "optimise":
        plan = Plan(graph)
        plan.run(list(arrays(model, options.input, kept=True).values()))
        source = plan.program.source
    told = described(model, rows, source)
    if options.json:
        print(json.dumps(told, indent=1))
        return 0
    for name, fact in told["inputs"].items():
        print(f"input   {name}: {fact}")
    for i, (line, node) in enumerate(zip(rails(graph), told["nodes"])):
        made = ", ".join(node["outputs"].values())
        print(f"{line} {node['op']:20} {made:24} {cost_text(rows[i]) if rows else ''}".rstrip())
    for name, fact in told["outputs"].items():
        print(f"output  {name}: {fact}")
    if rows:
        spent = {"seconds": sum(row["seconds"] for row in rows)} if options.profile else {}
        print(f"in all  {cost_text({'cost': total(graph), **spent}).lstrip()}")
    for name in model.property_keys():
        print(f"{name}: {model.property(name).to_numpy()}")
    print(source, end="\n" if source else "")
    return 0


def cost_text(row: Mapping[str, Any]) -> str:
    seconds = f"{row['seconds'] * 1e6:10.1f} us" if "seconds" in row else ""
    return f"{size_text(row['cost']):>12} FMA{seconds}"


def described(model: Any, rows: Sequence[Mapping[str, Any]], source: str) -> dict[str, Any]:
    graph: Graph = model.graph
    facts = {**graph.inputs, **graph.facts}
    nodes: list[dict[str, Any]] = [
        {
            "op": node.op,
            "name": node.name,
            "inputs": node.inputs,
            "outputs": {name: str(facts.get(name, Fact())) for name in node.outputs if name},
        }
        for node in graph.nodes
    ]
    for node, row in zip(nodes, rows):
        node["cost"] = row["cost"] if isinstance(row["cost"], int) else size_text(row["cost"])
        node |= {"seconds": row["seconds"]} if "seconds" in row else {}
    return {
        "inputs": {model.input_name(i): str(model.input_fact(i)) for i in range(model.input_count())},
        "outputs": {model.output_name(i): str(model.output_fact(i)) for i in range(model.output_count())},
        "nodes": nodes,
        "properties": {name: model.property(name).to_numpy().tolist() for name in model.property_keys()},
        **({"program": source} if source else {}),
    }


def run(options: argparse.Namespace) -> int:
    model = runnable(options)
    made = model.run(list(arrays(model, options.input).values()))
    found = {model.output_name(i): one.to_numpy() for i, one in enumerate(made)}
    for name, array in found.items():
        print(f"{name}: {Fact(array.dtype, array.shape)}")
        print(np.array2string(array, precision=6, threshold=100))
    if options.output:
        save(options.output, found)
    return 0


def save(path: str, arrays: Mapping[str, Any]) -> None:
    """As np.savez, whose own arguments have names that an output may have, too."""
    with zipfile.ZipFile(path if path.endswith(".npz") else f"{path}.npz", "w") as file:
        for name, array in arrays.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)


def bench(options: argparse.Namespace) -> int:
    model = runnable(options)
    given = list(arrays(model, options.input).values())
    step = model.spawn_state().run if options.pulse else model.run
    step(given)
    times: list[float] = []
    while sum(times) < SECONDS or len(times) < 5:
        start = time.perf_counter()
        step(given)
        times.append(time.perf_counter() - start)
    times.sort()
    print(f"{len(times)} runs: median {times[len(times) // 2] * 1e3:.4g} ms, fastest {times[0] * 1e3:.4g} ms")
    return 0


def compare(options: argparse.Namespace) -> int:
    model = runnable(options)
    by_runtime = options.other == "onnxruntime"
    given = arrays(model, options.input or (None if by_runtime else options.other))
    names = [model.output_name(i) for i in range(model.output_count())]
    if by_runtime and options.pulse:
        raise ModelError("compare: onnxruntime runs the whole, and not in pulses: leave --pulse out")
    wanted = answered(options.model, names, given) if by_runtime else picked(options.other, names)
    alike = True
    for name, one in zip(names, model.run(list(given.values()))):
        found, expected = one.to_numpy(), np.asarray(wanted[name])
        if found.shape != expected.shape:
            print(f"{name}: shapes differ: {found.shape} here, {expected.shape} there")
            alike = False
            continue
        if expected.dtype.kind not in "fiub":
            raise ModelError(f"{options.other}: the array {name!r} holds no numbers, but {expected.dtype}")
        same = np.allclose(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
        away = np.abs(found.astype(np.float64) - expected)[found != expected].max(initial=0.0)
        print(f"{name}: {'equal' if same else 'DIFFERENT'}, at most {away:.3g} apart")
        alike &= bool(same)
    return 0 if alike else 1


def answered(path: str, names: Sequence[str], given: dict[str, Any]) -> dict[str, Any]:
    """What onnxruntime makes of a model's inputs."""
    try:
        session = import_module("onnxruntime").InferenceSession(path)
        return dict(zip(names, session.run(names, given)))
    except ImportError:
        raise ModelError("onnxruntime is not installed: pip install onnxruntime") from None
    except Exception as error:  # it has a class of its own for each kind of failure
        raise ModelError(f"onnxruntime refuses it: {' '.join(str(error).split())}") from None


if __name__ == "__main__":
    raise SystemExit(main())
