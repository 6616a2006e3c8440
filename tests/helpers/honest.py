"""Notebooks of honest people that look unlike the reference: all of them deserve full points."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from coursekit import notebooks
from coursekit.course import find_course
from coursekit.grading.assemble import load_chapter

COURSE = find_course(Path(__file__).parent)
Notebook = dict[str, Any]


@cache
def _solved(name: str) -> str:
    """The exercises with the reference's answers in them, as JSON."""
    path = next(COURSE.exercises.glob(f"{name}_*.ipynb"))
    made = notebooks.read(path)
    reference = load_chapter(next(COURSE.solutions.glob(f"{name}_*.ipynb"))).reference()
    for cell in notebooks.cells(path, made):
        if cell.is_answer and cell.exercise in reference:
            cell.node.source = reference[cell.exercise]
    return notebooks.as_text(made)


def notebook(name: str, answers: Mapping[str, str] | None = None) -> Notebook:
    """The solved exercises of a chapter, with other answers; each begins with its line if it has none."""
    made: Notebook = json.loads(_solved(name))
    for number, source in (answers or {}).items():
        where = cell(made, number)
        where["source"] = source if f"exercise: {number}" in source else f"# exercise: {number}\n{source}"
    for one in made["cells"]:
        one["source"] = "".join(one["source"])
    return made


def cell(made: Notebook, key: str) -> dict[str, Any]:
    """The answer cell of an exercise, or the one of helpers."""
    wanted = "# helpers" if key == "helpers" else f"exercise: {key}\n"
    code = (one for one in made["cells"] if one["cell_type"] == "code")
    return next(one for one in code if wanted in f"{''.join(one['source'])}\n")


def code(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "execution_count": 7, "outputs": [], "source": source}


def changed(
    name: str, change: Callable[[Notebook], Any], answers: Mapping[str, str] | None = None
) -> Notebook:
    made = notebook(name, answers)
    change(made)
    return made


# Forms of a file


def as_written(made: Notebook) -> bytes:
    return json.dumps(made).encode()


def windows(made: Notebook) -> bytes:
    """CR LF in the file, and in the sources."""
    for one in made["cells"]:
        one["source"] = one["source"].replace("\n", "\r\n")
    return json.dumps(made, indent=1).replace("\n", "\r\n").encode()


def with_a_bom(made: Notebook) -> bytes:
    return b"\xef\xbb\xbf" + as_written(made)


def of_minor(minor: int) -> Callable[[Notebook], None]:
    """nbformat 4.0 to 4.4: no ids; sources as lists of lines."""

    def change(made: Notebook) -> None:
        made["nbformat_minor"] = minor
        for one in made["cells"]:
            one.pop("id", None)
            one["source"] = one["source"].splitlines(keepends=True)

    return change


def vs_code(made: Notebook) -> None:
    of_minor(2)(made)
    made["metadata"] = {
        "language_info": {"name": "python"},
        "orig_nbformat": 4,
        "vscode": {"interpreter": {}},
    }
    for one in made["cells"]:
        one["metadata"]["vscode"] = {"languageId": "python"}


def colab(made: Notebook) -> None:
    of_minor(0)(made)
    made["metadata"] = {"colab": {"provenance": []}, "kernelspec": {"name": "python3"}}
    for number, one in enumerate(made["cells"]):
        one["metadata"] |= {
            "id": f"aBc{number}",
            "executionInfo": {"user": {"displayName": "A"}},
            "outputId": "x",
        }


def without_metadata(made: Notebook) -> None:
    made["metadata"] = {}
    for one in made["cells"]:
        one["metadata"] = {}


def split(key: str) -> Callable[[Notebook], None]:
    """JupyterLab's *Split Cell*, after the second line: the metadata is copied."""

    def change(made: Notebook) -> None:
        first = cell(made, key)
        second = copy.deepcopy(first)
        lines = first["source"].split("\n")
        first["source"], second["source"] = "\n".join(lines[:2]), "\n".join(lines[2:])
        made["cells"].insert(made["cells"].index(first) + 1, second)

    return change


def doubled(made: Notebook) -> None:
    """Each cell copied and pasted below itself, ids and metadata too."""
    made["cells"] = [twin for one in made["cells"] for twin in (one, copy.deepcopy(one))]


def backwards(made: Notebook) -> None:
    made["cells"].reverse()


def added(*sources: str, at: int = 3) -> Callable[[Notebook], None]:
    """Cells of one's own."""

    def change(made: Notebook) -> None:
        made["cells"][at:at] = [code(source) for source in sources]

    return change


def helpers(source: str) -> Callable[[Notebook], None]:
    def change(made: Notebook) -> None:
        cell(made, "helpers")["source"] += f"\n{source}"

    return change


def set_up(line: str) -> Callable[[Notebook], None]:
    """An import added to a cell of the set-up."""

    def change(made: Notebook) -> None:
        where = next(one for one in made["cells"] if "import math" in one["source"])
        where["source"] += f"\n{line}"

    return change


def above(key: str, *lines: str) -> Callable[[Notebook], None]:
    """Lines before the one that names the exercise."""

    def change(made: Notebook) -> None:
        where = cell(made, key)
        where["source"] = "\n".join([*lines, where["source"]])

    return change


def below(key: str, *lines: str) -> Callable[[Notebook], None]:
    """Lines at the end of an answer."""

    def change(made: Notebook) -> None:
        where = cell(made, key)
        where["source"] = "\n".join([where["source"], *lines])

    return change


def under_the_stub(key: str, *, named: bool = True) -> Callable[[Notebook], None]:
    """The answer in a new cell below the stub, which stays as it was."""

    def change(made: Notebook) -> None:
        where = cell(made, key)
        answer = where["source"]
        path = next(COURSE.exercises.glob(f"0{key[0]}*_*.ipynb"))
        stubs = (one for one in notebooks.cells(path, notebooks.read(path)) if one.exercise == key)
        where["source"] = next(stubs).source
        new = code(answer if named else "\n".join(answer.split("\n")[1:]))
        made["cells"].insert(made["cells"].index(where) + 1, new)

    return change


def both(*changes: Callable[[Notebook], Any]) -> Callable[[Notebook], None]:
    def change(made: Notebook) -> None:
        for one in changes:
            one(made)

    return change


SLOPE = "def derivative(f, x, h=1e-5):\n    return (f(x + h) - f(x - h)) / (2 * h)"
TANH = """@add_to(Value)
def tanh(self):
    t = {tanh}
    return node(t, "tanh", self, 1 - t * t)"""
LADDER = "def visits(n):\n    return n if n < 2 else 1 + visits(n - 1) + visits(n - 2)"
CACHED = """@functools.cache
def visits(n):
    return 1 if n < 2 else 1 + visits(n - 1) + visits(n - 2)"""
DESCEND = "def descend(parameters, learning_rate):\n    for p in parameters:\n        {step}"
STEP = "p.data, p.grad = p.data - learning_rate * p.grad, 0"

SCALAR: dict[str, Notebook] = {
    "the reference": notebook("01"),
    "numpy scalars": notebook(
        "01",
        {
            "1.1": "def derivative(f, x, h=1e-5):\n    return np.float64((f(x + h) - f(x - h)) / (2 * h))",
            "1.3": f"import numpy\n{CACHED.replace('@functools.cache', '')}".replace(
                "visits", "count"
            ).replace("def count", "import functools\n@functools.cache\ndef count", 1)
            + "\ndef visits(n):\n    return count(n) if count(n) >= 2**63 else numpy.int64(count(n))",
        },
    ),
    "a 0-d array": notebook(
        "01", {"1.1": "def derivative(f, x, h=1e-5):\n    return np.array((f(x + h) - f(x - h)) / (2 * h))"}
    ),
    "helpers": changed(
        "01",
        helpers("def half(x):\n    return x / 2"),
        {"1.1": "def derivative(f, x, h=1e-5):\n    return half((f(x + h) - f(x - h)) / h)"},
    ),
    "a helper in an added cell": changed(
        "01",
        added("def ratio(f, a, b):\n    return (f(b) - f(a)) / (b - a)\n\nprint(ratio(abs, 1, 2))"),
        {"1.1": "def derivative(f, x, h=1e-5):\n    return ratio(f, x - h, x + h)"},
    ),
    "a helper of a helper, and an import, in three added cells": changed(
        "01",
        added("import math as m", "STEPS = 2 * m.pi / m.pi", "def width(h):\n    return STEPS * h"),
        {"1.1": "def derivative(f, x, h=1e-5):\n    return (f(x + h) - f(x - h)) / width(h)"},
    ),
    "a helper in another answer": notebook(
        "01",
        {
            "1.1": f"import math as m\n\n{SLOPE}\n\ndef power(x, n):\n    return m.exp(n * m.log(x))",
            "1.4": TANH.format(tanh="1 - 2 / (power(m.e, 2 * self.data) + 1)"),
        },
    ),
    "an own answer used in another": notebook(
        "01",
        {
            "1.4": TANH.format(tanh="math.tanh(self.data)"),
            "1.5": "@add_to(Value)\ndef exp(self):\n    return node(math.exp(self.data), 'exp', self, "
            "math.exp(self.data))\n\n@add_to(Value)\ndef log(self):\n    if not self.data > 0:\n"
            "        raise ValueError(f'log of {self.data}, which is not positive')\n"
            "    t = (Value(self.data).tanh().data + 1) * 0\n"
            "    return node(math.log(self.data) + t, 'log', self, 1 / self.data)",
        },
    ),
    "two answers in one cell": notebook(
        "01", {"1.1": f"{SLOPE}\n\n\nimport functools\n{CACHED}", "1.3": "pass"}
    ),
    "an import in an added cell": changed("01", added("import functools, torch"), {"1.3": CACHED}),
    "an import in the set-up": changed("01", set_up("import functools"), {"1.3": CACHED}),
    "helpers that need an added cell": changed(
        "01",
        both(added("from functools import cache"), helpers("remember = cache")),
        {"1.3": CACHED.replace("functools.cache", "remember")},
    ),
    "saved by VS Code": changed("01", vs_code),
    "saved by Colab": changed("01", colab),
    "Colab without metadata": changed("01", both(colab, without_metadata)),
    **{f"nbformat 4.{minor}": changed("01", of_minor(minor)) for minor in range(5)},
    "no metadata, magics above": changed(
        "01", both(above("1.1", "%matplotlib inline", ""), above("1.3", "%%time"), without_metadata)
    ),
    "magics above": changed(
        "01",
        both(
            above("1.1", "%matplotlib inline", "%load_ext autoreload", "%autoreload 2"),
            above("1.3", "%%time"),
            above("1.4", "!pip install numpy", "%pip install numpy"),
            below("1.9", "%timeit descend([], 1)", "%time slow = sum(range(10))"),
        ),
    ),
    "split": changed("01", both(*map(split, ("1.1", "1.3", "1.7")))),
    "split by %%time": changed("01", both(split("1.3"), above("1.3", "%%time"))),
    "reordered": changed("01", backwards),
    "doubled": changed("01", doubled),
    "new cells under untouched stubs": changed("01", both(*map(under_the_stub, ("1.1", "1.3", "1.4")))),
    "new cells without a name under untouched stubs": changed(
        "01", both(*(under_the_stub(key, named=False) for key in ("1.1", "1.3", "1.4")))
    ),
    "new cells under stubs, and no metadata": changed(
        "01", both(*map(under_the_stub, ("1.1", "1.5")), without_metadata)
    ),
    "a name above the line, and no metadata": changed(
        "01", both(*(above(f"1.{k}", "# Anna", "", "# my answer") for k in range(1, 11)), without_metadata)
    ),
    "added cells that fail": changed(
        "01", added("1 / 0", "this is no Python", "while True: pass", "%quickref")
    ),
    "type hints and the future": notebook(
        "01",
        {
            "1.1": "from __future__ import annotations\nfrom typing import Protocol\n\n"
            "class Curve(Protocol):\n"
            "    def __call__(self, x: float) -> float: ...\n\n"
            "def derivative(f: Curve, x: float, h: float | Unknown = 1e-5) -> float:\n"
            "    left: float = f(x - h)\n    return (f(x + h) - left) / (2 * h)"
        },
    ),
    "a dataclass": notebook(
        "01",
        {
            "1.1": "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass Ends:\n"
            "    low: float\n"
            "    high: float\n\n    @property\n    def slope(self):\n        return self.high - self.low\n\n"
            "def derivative(f, x, h=1e-5):\n    return Ends(f(x - h), f(x + h)).slope / (2 * h)"
        },
    ),
    "a callable object": notebook(
        "01",
        {
            "1.1": "class Derivative:\n    def __call__(self, f, x, h=1e-5):\n"
            "        return (f(x + h) - f(x - h)) / (2 * h)\n\nderivative = Derivative()"
        },
    ),
    "a lambda": notebook("01", {"1.1": "derivative = lambda f, x, h=1e-5: (f(x + h) - f(x - h)) / (2 * h)"}),
    "a partial": notebook(
        "01",
        {
            "1.1": "from functools import partial\ndef slope(f, x, step, h=1e-5):\n"
            "    return (f(x + h) - f(x - h)) / (step * h)\nderivative = partial(slope, step=2)"
        },
    ),
    "a walrus, and a comprehension": notebook(
        "01",
        {
            "1.1": "def derivative(f, x, h=1e-5):\n"
            "    return sum([s * f(x + s * h) for s in (-1, 1)]) / (w := 2 * h)"
        },
    ),
    "a generator": notebook(
        "01",
        {
            "1.3": "def rungs():\n    a, b = 1, 1\n    while True:\n        yield a\n"
            "        a, b = b, 1 + a + b\n\n"
            "def visits(n):\n    from itertools import islice\n    return next(islice(rungs(), n, None))"
        },
    ),
    "a global cache": notebook(
        "01",
        {
            "1.3": "KNOWN = {0: 1, 1: 1}\ndef visits(n):\n    global calls_so_far\n    calls_so_far = n\n"
            "    if n not in KNOWN:\n        KNOWN[n] = 1 + visits(n - 1) + visits(n - 2)\n"
            "    return KNOWN[n]"
        },
    ),
    "a decorator": notebook(
        "01",
        {
            "1.3": "def remembering(f):\n    known = {}\n    def found(n):\n        if n not in known:\n"
            "            known[n] = f(n)\n        return known[n]\n    return found\n\n@remembering\n"
            "def visits(n):\n    return 1 if n < 2 else 1 + visits(n - 1) + visits(n - 2)"
        },
    ),
    "a closed formula": notebook(
        "01",
        {
            "1.3": "def visits(n):\n    def fibonacci(k):\n        if k == 0:\n            return 0, 1\n"
            "        a, b = fibonacci(k // 2)\n        c, d = a * (2 * b - a), a * a + b * b\n"
            "        return (d, c + d) if k % 2 else (c, d)\n    return 2 * fibonacci(n + 1)[0] - 1"
        },
    ),
    "match": notebook(
        "01",
        {
            "1.3": "def visits(n, known={}):\n    match n:\n        case 0 | 1:\n            return 1\n"
            "        case _ if n in known:\n            return known[n]\n        case _:\n"
            "            known[n] = 1 + visits(n - 1) + visits(n - 2)\n            return known[n]"
        },
    ),
    "other letters": notebook(
        "01",
        {
            "1.1": "# 中心差分, Größe, наклон\ndef derivative(f, x, h=1e-5):\n"
            '    """Steigung: Δf / Δx \U0001f600"""\n'
            "    Δ = 2 * h\n    größe = f(x + h) - f(x - h)\n    return größe / Δ"
        },
    ),
    "tabs, spaces and semicolons": notebook(
        "01",
        {
            "1.1": "def derivative(f, x, h=1e-5):  \n\tup = f(x + h);  down = f(x - h);\n\n"
            "\treturn (up - down) / (2 * h);   \n\n\n"
        },
    ),
    "main": changed(
        "01",
        below("1.1", 'if __name__ == "__main__":', "    print(derivative(math.sin, 0.0))", "    DONE = True"),
    ),
    "asserts, prints and a value": changed(
        "01",
        below(
            "1.1",
            "assert abs(derivative(abs, 2) - 1) < 1e-6",
            "print(derivative(abs, -1))",
            "derivative(abs, 3)",
        ),
        {
            "1.3": LADDER.replace("def visits(n):", "def visits(n):\n    print('n is', n) if n < 0 else None")
            .replace("return n if n < 2 else", "return 1 if n < 2 else")
            .replace("def visits", "@__import__('functools').cache\ndef visits")
        },
    ),
    "a call that fails at the end": changed("01", below("1.1", "derivative('x', 1)", "print('never')")),
    "an assert that fails at the end": changed("01", below("1.3", "assert visits(5) == 99, 'hm'")),
    "a name that is gone at the end": changed("01", below("1.9", "descend(old_parameters, 0.1)")),
    "a plot": changed(
        "01",
        below(
            "1.1",
            "import matplotlib.pyplot as plt",
            "plt.plot([derivative(math.sin, x / 9) for x in range(50)])",
            "plt.show()",
        ),
    ),
    "3,000 lines": changed(
        "01", below("1.1", "for i in range(3000):", "    print('step', i, derivative(math.exp, i / 3000))")
    ),
    "an animation": changed(
        "01",
        below(
            "1.1",
            "from IPython.display import HTML, clear_output, display",
            "for i in range(1200):",
            "    clear_output(wait=True)",
            "    display(HTML('<b>x</b>' * 500))",
        ),
    ),
    "a progress bar": changed(
        "01",
        below(
            "1.1",
            "from tqdm.auto import tqdm",
            "for i in tqdm(range(2000), mininterval=0):",
            "    derivative(abs, i)",
        ),
    ),
    "a library that may be absent": changed(
        "01", above("1.1", "try:", "    import torch", "except ImportError:", "    torch = None")
    ),
    "warnings": changed(
        "01",
        below("1.1", "import warnings", "warnings.warn('careful')", "np.log(0)", "np.float32(1e9) * 1e30"),
    ),
    "patched for convenience": changed(
        "01",
        below(
            "1.1",
            "np.set_printoptions(precision=2)",
            "np.random.seed(0)",
            "math.tau = 6.28",
            "derivative.__doc__ = 'mine'",
        ),
    ),
    "a thread": changed(
        "01", below("1.1", "import threading", "threading.Thread(target=print, args=('hello',)).start()")
    ),
    "a file": changed("01", below("1.1", "with open('notes.txt', 'w') as file:", "    file.write('hello')")),
    "an own rng": changed("01", below("1.1", "rng = np.random.default_rng(0)", "x = y = z = w = 3")),
}

ARRAYS: dict[str, Notebook] = {
    "numpy integers in lists": notebook(
        "02a",
        {
            "2.1": "def strides(n, m, itemsize, step):\n"
            "    row, one = np.int64(m * itemsize), np.int32(itemsize)\n"
            "    return (row, one), [one, row], (row, step * one), (-row, one), (np.uint8(0), one)"
        },
    ),
    "an own answer, asked of NumPy": notebook(
        "02a",
        {
            "2.1": "def strides(n, m, itemsize, step):\n"
            "    rows = np.array([m, 1, m, -m, 0]) * itemsize\n"
            "    return list(zip(rows, np.array([1, m, step, 1, 1]) * itemsize))",
            "2.3": "def unbroadcast(grad, shape):\n    lost = grad.ndim - len(shape)\n"
            "    ones = tuple(i for i, n in enumerate(shape, lost) if n == 1)\n"
            "    return np.reshape(grad.sum((*range(lost), *ones)), shape)",
        },
    ),
    "an own class used in another answer": changed(
        "02a",
        added(
            "class Base(Function):\n    slope = 0.0\n\n    def __init__(self, slope):\n"
            "        self.slope = slope"
        ),
        {
            "2.8": "class LeakyReLU(Base):\n    def forward(self, x):\n"
            "        self.saved = (np.packbits(x > 0),)\n"
            "        return np.maximum(x, 0) + self.slope * np.minimum(x, 0)\n\n"
            "    def backward(self, grad):\n"
            "        bits = np.unpackbits(self.saved[0], count=grad.size).reshape(grad.shape)\n"
            "        return grad * (bits + (1 - bits) * self.slope)\n\nLeakyReLU(0.1).forward('oops')"
        },
    ),
    "saved by Colab": changed("02a", both(colab, without_metadata)),
}

LOSSES: dict[str, Notebook] = {
    "sums by NumPy": notebook(
        "03a",
        {
            "3.9": "def online_logsumexp(pieces):\n    total = np.array(-np.inf)\n    for piece in pieces:\n"
            "        total = np.logaddexp(total, np.logaddexp.reduce(piece, initial=-np.inf))\n"
            "    return total",
        },
    ),
    "row by row": notebook(
        "03a",
        {
            "3.36": "def loss_and_gradient(x, target):\n"
            "    x, losses, dx = np.array(x), [], np.zeros_like(x)\n"
            "    for i in np.flatnonzero(target != -100):\n"
            "        top = max(x[i])\n"
            "        p = np.exp(x[i] - top)\n"
            "        losses.append(top + math.log(p.sum()) - x[i, target[i]])\n"
            "        dx[i] = p / p.sum()\n"
            "        dx[i, target[i]] -= 1\n"
            "    return sum(losses) / max(len(losses), 1), dx / max(len(losses), 1)\n\n"
            "plt.hist([1, 2, 3])\nplt.show()\nloss_and_gradient(None, None)"
        },
    ),
    "Windows": changed("03a", above("3.2", "%matplotlib inline")),
}

KERNELS: dict[str, Notebook] = {
    "other kernels": notebook(
        "04a",
        {
            "4.1": "%%cuda saxpy -q\n// exercise: 4.1\n"
            'extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {\n'
            "    unsigned int at = threadIdx.x + blockDim.x * blockIdx.x;  // größer\n"
            "    if (at >= n) return;\n"
            "    y[at] = a * x[at] + y[at];\n}",
            "4.2": "def sectors(start, stride, size=4, lanes=32):\n"
            "    at = (start + stride * np.arange(lanes)) * size // 32\n"
            "    return np.unique(at).size\n\nsectors('x')",
        },
    ),
    "a helper for Python": changed(
        "04a",
        added(
            "import numpy as numbers\ndef addresses(start, stride, lanes):\n"
            "    return start + stride * numbers.arange(lanes)"
        ),
        {
            "4.2": "def sectors(start, stride, size=4, lanes=32):\n"
            "    return len({*(addresses(start, stride, lanes) * size // 32)})"
        },
    ),
    "without metadata": changed("04a", both(of_minor(1), without_metadata)),
}

CLASSES = {"01": SCALAR, "02a": ARRAYS, "03a": LOSSES, "04a": KERNELS}
FORMS: dict[str, Callable[[Notebook], bytes]] = {"Windows": windows, "the reference": with_a_bom}
