"""How much of the CUDA C that people write the simulator takes: kernels of public repositories.

    python benchmarks/public_kernels.py FOLDER  # writes results/public_kernels.json
    python benchmarks/public_kernels.py FOLDER --reason 'union'  # prints the sources refused in such words

FOLDER holds a folder for each repository, OWNER+NAME, with its .cu files and their headers, and its commit
in a file COMMIT. `kernel_cutter` cuts each kernel out with what it needs. Counted is what NVRTC accepts, each
text once; the front end is asked for the same source, and a kernel counts as accepted when the Python is made
that runs it. Sources are neither kept nor run. `--toolkit` names folders of further headers of CUDA (CCCL,
cuRAND), without which NVRTC refuses cooperative groups and cub. What NVRTC said is kept in FOLDER/nvrtc.json:
it costs most of the time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_cutter import Item, Reader, bare, instances, needed, source
from timing import machine

from warplens.errors import CompileError
from warplens.language import headers
from warplens.module import RawModule

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))
import nvrtc

RESULTS = Path(__file__).parent / "results" / "public_kernels.json"
ARCHITECTURE = 80
MOST_ATTEMPTS = 5  # instances of a template that NVRTC is asked for


@dataclass(frozen=True)
class Cut:
    """A kernel that NVRTC accepts. `name` is that of an instance where it is a template."""

    repository: str
    path: str
    name: str
    text: str
    expressions: tuple[str, ...]  # its name, unless it is extern "C"


class Judge:
    """NVRTC, which remembers what it said."""

    def __init__(self, memory: Path, toolkit: Sequence[str]) -> None:
        self.memory = memory
        self.said: dict[str, bool] = json.loads(memory.read_text(encoding="utf-8")) if memory.exists() else {}
        places = [*toolkit, str(headers.FOLDER)]
        self.options = ["--device-int128", *(f"--include-path={place}" for place in places)]
        self.compiler = nvrtc.Apart()

    def accepts(self, text: str, expressions: Sequence[str]) -> bool:
        key = hashlib.sha256(repr((text, expressions, self.options)).encode()).hexdigest()[:24]
        if key not in self.said:
            log = self.compiler.compile_ptx(text, ARCHITECTURE, expressions, self.options)
            self.said[key] = log is None
            if len(self.said) % 100 == 0:
                self.keep()
        return self.said[key]

    def keep(self) -> None:
        self.memory.write_text(json.dumps(self.said), encoding="utf-8")


def cuts(folder: Path, judge: Judge, tally: Counter[str]) -> Iterator[Cut]:
    """The kernels of all repositories that NVRTC accepts, each text once; `tally` counts what was met."""
    seen: set[str] = set()
    for root in sorted(path for path in folder.iterdir() if path.is_dir()):
        reader = Reader(root.resolve())
        tried: set[tuple[str, str]] = set()
        for path in sorted(root.resolve().rglob("*.cu")) + sorted(root.resolve().rglob("*.cuh")):
            items = reader.items(path)
            texts = "\n".join(other.read_text(encoding="utf-8", errors="replace") for other in reader.seen)
            for kernel in items:
                if kernel.kind != "kernel":
                    continue
                key = bare(kernel.text)
                if key in seen or (key, path.as_posix()) in tried:
                    continue
                tally["met"] += (kernel.path, key) not in tried
                tried |= {(kernel.path, key), (key, path.as_posix())}
                if cut := _accepted(kernel, items, texts, root.name, judge):
                    seen.add(key)
                    yield cut
    judge.keep()


def _accepted(kernel: Item, items: Sequence[Item], texts: str, repository: str, judge: Judge) -> Cut | None:
    """The kernel in the first form that NVRTC accepts."""
    for i, arguments in enumerate(instances(kernel, items, texts)):
        if i >= MOST_ATTEMPTS:
            break
        text = source(needed(kernel, items, re.findall(r"[A-Za-z_]\w*", arguments)))
        name = f"{kernel.qualified}<{arguments}>" if arguments else kernel.qualified
        expressions = () if kernel.external_c else (name,)
        if judge.accepts(text, expressions):
            return Cut(repository.replace("+", "/", 1), kernel.path, name, text, expressions)
    return None


def verdict(cut: Cut) -> tuple[str, str]:
    """accepted, unsupported, error or crash; and what the front end says."""
    try:
        module = RawModule(code=cut.text, name_expressions=cut.expressions, name="kernel.cu")
        kernel = module.get_function(cut.name)
        for mode in ("lockstep", "warps"):
            kernel.code(mode)
    except CompileError as error:
        return error.kind, error.message.removeprefix("unsupported: ")
    except Exception as error:
        return "crash", f"{type(error).__name__}: {error}"
    return "accepted", ""


def reason(message: str) -> str:
    """The message as a class: names that differ from source to source are left out."""
    if message.startswith("#include"):
        return message
    if known := re.match(r"identifier '(__\w+|cu\w+|cg|std|nv\w*)' is", message):
        return f"identifier '{known[1]}' is undefined"
    if known := re.match(r"(textures|surfaces|clocks|__\w+|tex[123]D\w*) ?", message):
        return known[1]
    return re.sub(r"'[^']*'", "'...'", message)[:110]


def measured(folder: Path, judge: Judge) -> tuple[dict[str, Any], list[tuple[Cut, str, str]]]:
    rows, tally = [], Counter[str]()
    for cut in cuts(folder, judge, tally):
        rows.append((cut, *verdict(cut)))
    return {"met": tally["met"], **summary(folder, rows)}, rows


def summary(folder: Path, rows: Sequence[tuple[Cut, str, str]]) -> dict[str, Any]:
    repositories = {}
    for name in sorted({cut.repository for cut, _, _ in rows}):
        own = [kind for cut, kind, _ in rows if cut.repository == name]
        commit = (folder / name.replace("/", "+", 1) / "COMMIT").read_text(encoding="utf-8").strip()
        repositories[name] = {"commit": commit, "kernels": len(own), "accepted": own.count("accepted")}
    reasons = Counter((kind, reason(message)) for _, kind, message in rows if kind != "accepted")
    return {
        "kernels": len(rows),
        "accepted": sum(kind == "accepted" for _, kind, _ in rows),
        "verdicts": dict(Counter(kind for _, kind, _ in rows)),
        "repositories": repositories,
        "reasons": [
            {"kernels": count, "verdict": kind, "reason": why} for (kind, why), count in reasons.most_common()
        ],
    }


def table(found: dict[str, Any]) -> str:
    lines = [f"{found['accepted']} of {found['kernels']} kernels that NVRTC accepts ({found['met']} met)", ""]
    for name, of in found["repositories"].items():
        lines.append(f"{of['accepted']:5} of {of['kernels']:4}  {name}")
    lines.append("")
    lines += [f"{why['kernels']:5}  {why['verdict']:11}  {why['reason']}" for why in found["reasons"]]
    return "\n".join(lines)


def written(found: dict[str, Any], rows: Sequence[tuple[Cut, str, str]]) -> str:
    """As JSON, with a line for each kernel."""
    kernels = [
        json.dumps([cut.repository, cut.path, cut.name, kind, reason(message)]) for cut, kind, message in rows
    ]
    command = "python benchmarks/public_kernels.py FOLDER --toolkit FOLDER"
    head = {**found, "nvrtc_architecture": ARCHITECTURE, "machine": machine(), "command": command}
    return json.dumps(head, indent=1)[:-2] + ',\n "kernel_rows": [\n' + ",\n".join(kernels) + "\n ]\n}\n"


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--toolkit", nargs="*", default=[], help="folders of further headers of CUDA")
    parser.add_argument("--reason", help="print the sources that are refused with such words")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    judge = Judge(asked.folder / "nvrtc.json", asked.toolkit)
    with judge.compiler:
        found, rows = measured(asked.folder, judge)
    if asked.reason:
        for cut, kind, message in rows:
            if kind != "accepted" and re.search(asked.reason, message):
                print(f"// {cut.repository} {cut.path} {cut.name}: {kind}: {message}\n{cut.text}")
        return
    asked.out.write_text(written(found, rows), encoding="utf-8")
    print(table(found))


if __name__ == "__main__":
    main()
