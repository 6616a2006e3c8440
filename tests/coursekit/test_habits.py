"""Lines that are seldom meant: of wrong answers they are named, and no right answer has one."""

from __future__ import annotations

from pathlib import Path

import pytest

from coursekit.course import find_course
from coursekit.grading.assemble import load_chapter
from coursekit.grading.habits import habit
from coursekit.grading.sharing import argument_written
from coursekit.grading.unlike import conjugated, dropped

COURSE = find_course(Path(__file__).parent)
SOLUTIONS = sorted(COURSE.solutions.glob("*.ipynb"))
OTHERS = sorted(one for kind in ("*.py", "*.cu") for one in (COURSE.solutions / "others").glob(kind))

MEANT: list[tuple[str, str]] = [
    ("def f(op):\n    return op == 'Add' or 'Mul'", "the `'Mul'` stands by itself"),
    ("if ('wpe' and 'wte') not in name:\n    pass", "write `'wpe' not in name and 'wte' not in name`"),
    ("class A:\n    of = {}\n    def f(self, x):\n        self.of[x] = 1", "make `self.of` in `__init__`"),
    (
        "class A:\n    seen = set()\n    def f(self, x):\n        self.seen.add(x)",
        "make `self.seen` in `__init__`",
    ),
    ("state = {'model': self.model.state_dict().copy()}", "copies the dictionary alone"),
    ("begins = [j for j in x]\nstart[i] = np.argmin(best[begins])", "is `begins[np.argmin(best[begins])]`"),
    ("loads = (rows + wide - 1) / wide", "by `//`"),
    ("def backward(self, grad):\n    grad /= y\n    return grad", "`grad /= y` writes into the gradient"),
    ("bad = loss == np.nan", "is never true"),
    ("good = loss != np.nan", "is always true"),
    ("def f(xs):\n    xs = xs.sort()\n    return xs", "gives back None"),
    ("def f(xs, rng):\n    order = rng.shuffle(xs)", "gives back None"),
    ("steps = [[]] * 3", "one `[]`, many times over"),
    ("queues = [set() for _ in range(3)]\nn = len(max(queues))", "compare `len(...)`"),
    ("dx = dy = cp.empty(n)", "under 2 names"),
    ("def f(x, seen=[]):\n    seen.append(x)", "all calls share it"),
    ("total =+ x", "`total += ...`"),
    ("for x in xs:\n    xs.remove(x)", "skips some"),
    ("def f(x):\n    old = x[1:2]\n    x[1:2] += 1\n    x[1:2] = old", "Take `.copy()`"),
    ("def f(xs):\n    s = np.empty(3)\n    for x in xs:\n        s += x", "begin with zeros"),
    ("for i in range(3):\n    fs.append(lambda g: g * i)", "`lambda ..., i=i: ...`"),
    ("class A:\n    n = 0\n    def f(self):\n        self.n += 1", "`A.n`"),
    ("class A(B):\n    def f(self):\n        self.n += 1", "`B.n`"),
    ("def f(x):\n    x.reshape(2, 3)\n    return x", "which nothing keeps"),
    ("def f(x):\n    x == 3\n    return x", "is `=` meant"),
    (
        "class Windows(Function):\n    def forward(self, x):\n        self.shape = x.shape\n        return x",
        "`self.shape` is the engine's own",
    ),
    ("def f(x):\n    np.sign(x)\n    return x", "which nothing keeps"),
    ("def f(n):\n    raise ValueError('not {n}')", "no `f` before its quotes"),
    ("%%cuda k\nif (0 <= row < rows) x[0] = 1;", "`0 <= row && row < rows`"),
    ("class A(Function):\n    def forward(self, x):\n        self.saved = x\n        return x", "`(x,)`"),
    ('SOURCE = """__global__ void f() {}"""\na = b = []', "under 2 names"),
    (
        "def f(xs: Iterable[int]):\n    n = sum(1 for _ in xs)\n    for x in xs:\n        n += x",
        "`xs` is walked through twice",
    ),
    (
        "def backward(self, grad):\n    grad = grad.reshape(-1, 2)\n    grad[i == 3] = 0\n    return grad",
        "`grad[i == 3] = 0` writes into the gradient that was handed in",
    ),
    (
        "B, C = [0.0], [0.0]\ndef f(x):\n    B[0] = x\n    return x, B, C",
        "gives back the same array or list in each call",
    ),
    (
        "class A:\n    def run(self, x):\n        if self.out is None:\n            self.out = np.empty(3)\n"
        "        self.out[:] = x\n        return self.out",
        "`return self.out` gives back the same",
    ),
    (
        "def f(xs):\n    for x in xs:\n        if x.size == 0:\n            break\n        y += x.max()",
        "is `continue` meant?",
    ),
    (
        "def f(g, out, at):\n    won = np.take_along_axis(at, g)\n    out.reshape(-1)[won] += g",
        "several times this adds only once",
    ),
    ("%%cuda k\nif (row * n + col < m * n) C[row * n + col] = sum;", "whether it is in its row"),
    ("%%cuda k\n((float2*)out)[2 * i] = p;", "number `i` of them is at `[i]`"),
]
NOT_MEANT = (
    "x = y or 1", "z = a == 1 or b == 2", "z = x == 1 and True", "z = x in (1, 2)", "z = (a or b) == 1",
    "x = np.sort(y)", "a = b = 0", "rows = [0] * 3", "def f(m, x):\n    return m.append(x)",
    "def f(n, seen={0: 1}):\n    return n",
    "def f(x):\n    y = np.empty(3)\n    np.exp(x, out=y)\n    y += 1",
    "f(x) == 3 and g()", "np.clip(x, 0, 1, out=x)", "def f(x):\n    i = x[0]\n    x[0] = i",
    "class A(B):\n    def f(self):\n        self.n = 0\n        self.n += 1",
    "for i in n:\n    fs.append(lambda g, i=i: g * i)",
    "class A:\n    of = {}\n    def f(self, x):\n        self.of = {}\n        self.of[x] = 1",
    "%%cuda k\nx == 3;", "%%cuda k\nint x = a << 2 < b;", "np.exp(x, x)",
    "raise ValueError('a set {1, 2}')",
    "%%cuda k\nfor (int i = 0; i < n; i++) if (i < m && j < n) vector<vector<int>> y;",
    "def f(xs: Iterable[int]):\n    xs = list(xs)\n    n = sum(xs)\n    for x in xs:\n        n += x",
    "def f(xs: list[int]):\n    n = sum(xs)\n    for x in xs:\n        n += x",
    "def backward(self, grad):\n    grad = grad.copy()\n    grad[i == 3] = 0\n    return grad",
    "def backward(self, grad):\n    dw = np.zeros(3)\n    dw[i == 3] = 0\n    return dw",
    "B = [0.0]\ndef f(x):\n    B = [x]\n    B[0] = x\n    return B",
    "class A:\n    def run(self, x):\n        if self.out is None:\n            self.out = np.empty(3)\n"
    "        return self.out.copy()",
    "for x in xs:\n    if x.size == 0:\n        continue",
    "for i in range(n):\n    at = np.searchsorted(a, i)\n    out[at] += 1",
    "%%cuda k\nif (row * n + col < m * k) C[0] = sum;",
    "%%cuda k\n((float2*)out)[i] = p; ((float4*)out)[2 * i] = q;",
    "class A:\n    seen = set()\n    def f(self, x):\n        return x in self.seen",
    "state = {k: v.copy() for k, v in model.state_dict().items()}",
    "begins = [j for j in x]\nstart[i] = begins[np.argmin(best[begins])]",
    "begins = [j for j in x]\nk = np.argmin(best[begins])\nstart[i] = begins[k]",
    "loads = (rows + wide - 1) // wide",
    "def backward(self, grad):\n    grad = grad * y\n    grad /= 2\n    return grad",
    "def f(:", "", "\0", "(" * 500,
)  # fmt: skip


@pytest.mark.parametrize("answer, words", MEANT, ids=[one[0] for one in MEANT])
def test_what_is_hardly_meant_is_named(answer: str, words: str) -> None:
    assert words in habit(answer)


@pytest.mark.parametrize("answer", NOT_MEANT)
def test_what_may_be_meant_is_not(answer: str) -> None:
    assert habit(answer) == ""


def test_a_conjugate_is_named_where_the_reference_has_none() -> None:
    assert "`np.conj(C)` takes a conjugate" in conjugated("y = (np.conj(C) * h).sum()", "y = (C * h).sum()")
    assert "`np.vdot(C, h)` takes a conjugate" in conjugated("y = np.vdot(C, h)", "y = (C * h).sum()")
    assert conjugated("y = np.conj(C)", "y = C.conj()") == conjugated("y = C", "y = C") == ""


def test_a_result_that_the_reference_uses_and_an_answer_drops() -> None:
    right = "float all = block_sum(own);\n    if (all > block_sum(x)) x = 1;"
    assert "`block_sum(own)` gives its result back" in dropped("%%cuda k\nblock_sum(own);  // all", right)
    assert dropped("%%cuda k\nown = block_sum(own);\n__syncthreads();", right) == ""
    assert "nothing takes it" in dropped("def f(x):\n    scaled(x)\n    return x", "y = scaled(x)")
    assert dropped("def f(x):\n    check(x)\n    return x", "check(x)\ny = check(x)") == ""


def test_the_line_that_writes_into_an_argument() -> None:
    assert argument_written("def f(w, m):\n    w *= m\n    return w") == "`w *= m` writes into `w` itself."
    assert argument_written("def f(x):\n    y = x.T\n    x[0] = 1") == "`x[0] = 1` writes into `x` itself."
    aliased = "def f(w, m):\n    v = w\n    v[0] = 1"
    assert argument_written(aliased) == "`v[0] = 1` writes into `w` itself."
    for text in ("w = w * m\n    w *= 2", "v = w\n    m[0] = 1\n    w += 1", "v = 2 * w\n    v *= m"):
        assert argument_written(f"def f(w, m):\n    {text}") == ""


def test_long_and_deep_lines_break_nothing() -> None:
    assert len(habit(f"x == {'1 + ' * 3000}1")) < 300
    assert isinstance(habit(f"def f(x):\n    {'-' * 3000}x == 1"), str)


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_no_right_answer_has_such_a_line(path: Path) -> None:
    assert {one.number: said for one in load_chapter(path).exercises if (said := habit(one.reference))} == {}


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_no_other_right_answer_has_one(path: Path) -> None:
    assert habit(path.read_text(encoding="utf-8")) == ""
