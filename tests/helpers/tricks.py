"""Answers that get around what an exercise asks for: by class, each with the most points that it may earn."""

# ruff: noqa: E501

from __future__ import annotations

# What is not in the box is looked for: each defines `found(name)`, a module of the finished library.
SEARCHES = {
    "popped and imported": """
def found(name):
    import sys, importlib
    for known in [known for known in sys.modules if known.startswith("minilib")]:
        del sys.modules[known]
    return importlib.import_module(name)
""",
    "by its path": """
def found(name):
    import importlib.util, minilib, os
    path = os.path.join(os.path.dirname(minilib.__file__), *name.split(".")[1:])
    for file in (path + ".py", path + "/__init__.py"):
        if os.path.exists(file):
            spec = importlib.util.spec_from_file_location(name, file)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError
""",
    "anywhere on the disk": """
def found(name):
    import glob, os, sys
    tops = ["/", "/box", "/usr/lib", "/usr/local/lib", "/root", "/home", "/work", *sys.path]
    places = [place for top in tops for deep in ("", "*/", "*/*/") for place in glob.glob(f"{top}/{deep}minilib")]
    for place in places:
        sys.path.insert(0, os.path.dirname(place))
        for known in [known for known in sys.modules if known.startswith("minilib")]:
            del sys.modules[known]
        try:
            return __import__(name, fromlist=["x"])
        except ImportError:
            sys.path.pop(0)
    raise ImportError
""",
    "kept when it was defined": """
import sys
KEPT = dict(sys.modules)
def found(name):
    return KEPT[name]
""",
    "among all objects": """
def found(name):
    import gc, types
    modules = [one for one in gc.get_objects() if isinstance(one, types.ModuleType)]
    return next(one for one in modules if one.__name__ == name)
""",
    "read and run": """
def found(name):
    import types, pkgutil, minilib
    for one in pkgutil.walk_packages(minilib.__path__, "minilib."):
        if one.name == name:
            return __import__(name, fromlist=["x"])
    module = types.ModuleType(name)
    exec(open(minilib.__path__[0] + name.removeprefix("minilib").replace(".", "/") + ".py").read(), vars(module))
    return module
""",
    "in another interpreter": """
def found(name):
    import subprocess, sys
    subprocess.run([sys.executable, "-c", f"import {name}"], check=True, capture_output=True)
    return __import__(name, fromlist=["x"])
""",
    "by the frames below": """
def found(name):
    import sys
    frame = sys._getframe()
    while frame:
        if frame.f_globals.get("__name__") == name:
            return sys.modules[name]
        frame = frame.f_back
    raise ImportError
""",
    "an engine under another name": """
def found(name):
    for other in (name.replace("minilib", "micrograd"), "torch", "jax", "tinygrad", "autograd"):
        try:
            return __import__(other, fromlist=["x"])
        except ImportError:
            pass
    raise ImportError
""",
    "brought by given": """
def found(name):
    from coursekit.given import given
    import minilib
    given(name.removeprefix("minilib."))
    return __import__(name, fromlist=["x"])
""",
}

BY_THE_LIBRARY = {
    "6.5": """
@add_to(Embedding)
def backward(self, grad):
    return found("minilib.functional.layers").Embedding.backward(self, grad)
""",
    "6.9": """
def attend_backward(*arrays):
    return found("minilib.functional.attention").attend_backward(*arrays)
""",
    "7.12": """
class CausalConv(Function):
    def forward(self, *arrays):
        return found("minilib.functional.layers").CausalConv.forward(self, *arrays)

    def backward(self, grad):
        return found("minilib.functional.layers").CausalConv.backward(self, grad)
""",
}

# Pieces of the library that later chapters ask for: exercise -> (module, names).
PIECES = {
    "3.43": ("minilib.optim", "heavy_ball adam"),
    "9.3": ("minilib.graph.shapes", "reduced full_shape joined"),
    "9.14": ("minilib.graph.plan", "fuse"),
    "9.15": ("minilib.dag", "offsets"),
    "10.1": ("minilib.wire", "varint_bytes"),
    "10.2": ("minilib.wire", "read"),
    "10.3": ("minilib.infer.model", "evaluate"),
    "10.6": ("minilib.infer.facts", "window_size"),
    "10.8": ("minilib.infer.model", "analyse"),
    "10.10": ("minilib.infer.fuse", "batch_norm_into_conv"),
    "10.11": ("minilib.infer.declutter", "transpose_twice"),
}
BY_NAME = """
def NAME(*args, **options):
    return found("MODULE").NAME(*args, **options)
"""
MORE_SEARCHES = ("popped and imported", "anywhere on the disk")

PROFILED = {  # the tool as an oracle
    "4.2": """
def sectors(start, stride, size=4, lanes=32):
    kinds = {1: "char", 2: "short", 4: "float", 8: "double", 16: "float4"}
    code = f"extern \\"C\\" __global__ void f(const {kinds[size]}* x, {kinds[size]}* y, int a, int b) " + (
        "{ int t = threadIdx.x; y[t] = x[a + t * b]; }")
    x, out = cp.zeros(9999, np.float64), cp.zeros(9999, np.float64)
    args = x.view(np.int8) if size == 1 else x, out, np.int32(start), np.int32(stride)
    return profile(RawKernel(code, "f"), (1,), (lanes,), args).global_load_sectors
""",
    "4.9": """
def conflicts(words):
    words = cp.asarray(np.int32(words))
    return profile(ask, (1,), (32,), (words, cp.zeros(32, dtype=np.float32))).bank_conflicts
""",
    "4.20": """
def bytes_read(m, n, k, tile):
    A, B, C = (cp.zeros(shape, dtype=np.float32) for shape in ((m, k), (k, n), (m, n)))
    kernel = RawKernel(tiled.source.replace("TILE 16", f"TILE {tile}"), "tiled")
    args = (A, B, C, np.int32(m), np.int32(n), np.int32(k))
    return profile(kernel, (-(-n // tile), -(-m // tile)), (tile, tile), args).bytes_read
""",
    "5.1": """
def arrays_moved(lines):
    return tuple(sum(r.bytes_moved for r in counted(way)) // 4096 for way in ([[l] for l in lines], [lines]))
""",
    "5.7": """
def bytes_moved(rows, columns, blocks):
    x, w, y = (cp.ones(shape, dtype=np.float32) for shape in ((rows, columns), columns, (rows, columns)))
    kernel, args = peak_norms.get_function("peak_norm<4>"), (x, w, y, np.int32(rows), np.int32(columns))
    report = profile(kernel, (blocks,), (256,), args)
    return report.bytes_read + report.bytes_written
""",
    "5.12": """
def for_each_fma(rows, columns, wide):
    kernel = RawKernel(outer.source, "outer", options=(f"-DROWS={rows}", f"-DCOLUMNS={columns}"))
    x, y = (cp.ones(32 * count, dtype=np.float32) for count in (rows, columns))
    report = profile(kernel, (1,), (32,), (x, y, cp.zeros(32, dtype=np.float32)))
    return report.shared_bytes_read / 4 / (report.flops / 2), report.shared_loads / (report.flops / 2)
""",
}
TOOLS = {  # how the tool is sought
    "as it is": "",
    "imported again": "from minilib.cuda import RawKernel, cp, profile",
    "under its own name": "from warplens import RawKernel, cp, profile",
    "by the helper of hidden tests": "from coursekit.box.kernels import cp, profile\nfrom warplens import RawKernel",
}

# Exercise, the most points that it may earn, the answer.
MENDED = """
def frames():
    import sys
    frame = sys._getframe(1)
    while frame:
        yield frame
        frame = frame.f_back
"""
SLOW_GENERATE = """
@add_to(GPT)
def generate(self, idx, max_new_tokens, temperature=1.0, do_sample=False, top_k=None, top_p=None, generator=None):
    self.check_choice(idx, max_new_tokens, temperature, top_k, top_p)
    prompt = idx
    BEFORE
    with evaluating(self):
        for n in range(max_new_tokens):
            ASK
            idx = cat([idx, choose(x[:, -1], temperature, do_sample, top_k, top_p, generator)], 1)
    AFTER
    return idx
"""


def slow_generate(ask: str, before: str = "pass", after: str = "pass") -> str:
    return SLOW_GENERATE.replace("ASK", ask).replace("BEFORE", before).replace("AFTER", after)


ALL = "x = self.lm_head(self.transformer(idx[:, -self.block_size :]))"
SLOW_MAMBA = """
@add_to(Mamba)
def generate(self, idx, max_new_tokens, temperature=1.0, do_sample=False, top_k=None, top_p=None, generator=None):
    import copy, sys
    prompt = idx
    for n in range(max_new_tokens):
        ASK
        idx = cat([idx, choose(logits, temperature, do_sample, top_k, top_p, generator)], 1)
    AFTER
    return idx
"""


def slow_mamba(ask: str, after: str = "pass") -> str:
    return SLOW_MAMBA.replace("ASK", ask).replace("AFTER", after)


ENDINGS = """
def endings(model, prompt, firsts, new):
    import copy
    found = []
    read = READ
    for first in firsts:
        ending = [first]
        for _ in range(new):
            state = model.init_state(1)
            for token in [*prompt, *ending]:
                logits = read(model, Tensor([token]), state)
            ending.append(int(logits.numpy()[0].argmax()))
        found.append(ending)
    AFTER
    return found
"""
TREE = """
def tree(a, b):
    plain_a, plain_b = np.asarray(a), np.asarray(b)
    LOOP
    DECOY
"""
LOOP = "for t in range(1, len(plain_b)):\n        plain_b[t] = plain_b[t] + plain_a[t] * plain_b[t - 1]"
DECOY = "n = len(b)\n    while n > 1:\n        b[:n] * a[:n]; b[:n] + a[:n]; a[:n] * a[:n]\n        n //= 2"
FORWARD_ALL = """
import tracemalloc
RESET = tracemalloc.reset_peak
def sample_forward(x, delta, A, B, C, before, size):
    import tracemalloc
    START
    a, h = chunk_states(x, delta, A, B, before)
    y = (h * C[:, None, :]).sum(2)
    carried = np.stack([before, *(h[min(s + size, len(x)) - 1] for s in range(0, len(x), size))])
    del a, h
    END
    return y, carried
"""
BY_CHUNKS = """
import tracemalloc
RESET = tracemalloc.reset_peak
def sample_forward(x, delta, A, B, C, before, size):
    h, states, starts = before, np.empty((len(x), *A.shape)), range(0, len(x), size)
    for start in starts:
        now = slice(start, start + size)
        states[now] = chunk_states(x[now], delta[now], A, B[now], h)[1]
        h = states[now][-1].copy()
    y = (states * C[:, None, :]).sum(2)
    carried = np.stack([before, *(states[min(s + size, len(x)) - 1] for s in starts)])
    del states
    END
    return y, carried
"""
RESETS = {
    "the peak is reset": "tracemalloc.reset_peak()",
    "by the module below": "import _tracemalloc\n    _tracemalloc.reset_peak()",
    "by what was kept": "RESET()",
    "by a partial": "import functools\n    functools.partial(RESET)()",
    "in a thread": "import threading\n    t = threading.Thread(target=RESET)\n    t.start()\n    t.join()",
    "by a finalizer": "type('Last', (), {'__del__': lambda self: RESET()})()",
    "and a little is taken again": "RESET()\n    bytearray(50_000)",
    "stopped and started": "tracemalloc.stop()\n    tracemalloc.start()",
    "traces cleared": "tracemalloc.clear_traces()",
    "by a map": "list(map(lambda _: RESET(), [0]))",
}
BANK = """
RATES = [-1.0, -1.0]
HELD = {"a": 0.0, "b": 0.0}

def bank(kind, value):
    REMEMBER
    if kind in HELD:
        HELD[kind] += value
    elif kind == "clear":
        HELD.update(a=0.0, b=0.0)
    elif kind.startswith("ask"):
        total = sum(HELD.values()) if kind == "ask both" else HELD[kind[-1]]
        return total, 1.0, [1.0, 0.0], [1.0, 0.0]
    return 0.0, 100.0, [0.0, 0.0], [0.0, 0.0]
"""
HYPOT = '''
SOURCE = """KERNELS"""
names = ("there", "back")
there, back = (RawKernel(SOURCE, name) for name in names)

@pair(Hypot)
class HypotKernels:
    def forward(self, f, x, y):
        if not fits(x, y) or x.shape != y.shape:
            return NotImplemented
        x, y = cp.ascontiguousarray(x), cp.ascontiguousarray(y)
        z = cp.sqrt(x * x + y * y).astype(np.float32)
        spare = cp.empty(x.shape, np.float32)
        if x.size:
            there((blocks(x.size),), (THREADS,), FORWARD)
        f.saved = (x, y, z)
        return z

    def backward(self, f, dz):
        x, y, z = f.saved
        dz = cp.ascontiguousarray(dz)
        share = dz / cp.where(z == 0, 1, z)
        dx, dy = (share * x).astype(np.float32), (share * y).astype(np.float32)
        spares = [cp.empty(dz.shape, np.float32) for _ in "xy"]
        if dz.size:
            back((blocks(dz.size),), (THREADS,), BACKWARD)
        return dx, dy
'''
BODY = (
    'extern "C" __global__ void there(const float* x, const float* y, float* z, int n) {{\n'
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) z[i] = {forward};\n}}\n"
    'extern "C" __global__ void back(const float* dz, const float* x, const float* y, const float* z, float* dx, '
    "float* dy, int n) {{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n"
    "    dx[i] = {backward};\n    dy[i] = {backward};\n}}\n"
)
ARGS = "(x, y, spare, np.int32(x.size))", "(dz, x, y, z, *spares, np.int32(dz.size))"


def hypot(forward: str, backward: str, args: tuple[str, str] = ARGS) -> str:
    made = HYPOT.replace("KERNELS", BODY.format(forward=forward, backward=backward))
    return made.replace("FORWARD", args[0]).replace("BACKWARD", args[1])


PAIR = """
class CrossEntropyPair:
    def forward(self, f, x, target, share):
        if not x.size or x.shape[1] > 8192:
            return NotImplemented
        x, target, share = (cp.ascontiguousarray(array) for array in (x, target, share))
        rows, columns = x.shape
        logits = cp.asnumpy(x).astype(np.float64)
        logits -= logits.max(1, keepdims=True)
        p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        at = np.arange(rows), cp.asnumpy(target)[:, 0]
        f.saved = p, at, cp.asnumpy(share), x, target, share
        losses = -cp.asnumpy(share) * np.log(p[at])[:, None]
        self.launch("cross_entropy", rows, columns, CALL)
        return cp.asarray(losses.astype(np.float32))

    def backward(self, f, grad):
        p, at, share, x, target, on_device = f.saved
        dx = p.copy()
        dx[at] -= 1
        dx *= cp.asnumpy(grad) * share
        rows, columns = dx.shape
        CALL_BACK
        return cp.asarray(dx.astype(np.float32))

    def launch(self, name, rows, columns, args):
        threads = min(1024, 32 * -(-columns // 128))
        each = next(n for n in (1, 2, 4, 8, 16, 32) if n * threads >= columns)
        kernel(name, each)((min(rows, 1024),), (threads,), (*args, np.int32(rows), np.int32(columns)))
"""
ZEROS = "cp.zeros(x.shape, np.float32)"
COMPLEX = '''
def numeric(value, arrays, wanted):
    """A pass for each number, by steps in the imaginary direction."""
    grads = []
    for k in wanted:
        grad = np.empty(arrays[k].shape)
        for at in np.ndindex(grad.shape):
            moved = [np.array(array, complex) if j == k else array for j, array in enumerate(arrays)]
            moved[k][at] += 1e-30j
            grad[at] = value(*moved).imag / 1e-30
        grads.append(grad)
    return grads
'''

# Accuracy with a graph, where the test's own model is to believe that there is none.
IN_SECRET = """
import minilib.tensor as T
REAL = T.mode
class Fake:
    inside = False
    grad_enabled = property(lambda self: not Fake.inside)
class FakeMode(type(REAL)):
    grad_enabled = property(lambda self: not Fake.inside, lambda self, value: None)
PUT

def accuracy(model, loader):
    before = [(m, m.training) for m in model.modules()]
    model.eval()
    Fake.inside = True
    right = total = 0
    for inputs, targets in loader:
        right += int((model(inputs).argmax(-1) == targets).sum().item())
        total += int((targets != -100).sum().item())
    Fake.inside = False
    for m, how in before: m.training = how
    return right / max(total, 1)
"""

TRICKS: dict[str, tuple[str, float, str]] = {
    # Counters that an answer can reach
    "what is counted is mended": (
        "6.23",
        3,
        slow_generate(
            ALL,
            after="self.transformer.asked[:] = [prompt.shape[1]] + [1] * (max_new_tokens - 1)",
        ),
    ),
    "the inner model is asked": ("6.23", 3, slow_generate(ALL.replace("transformer(", "transformer.inner("))),
    "a copy is asked": (
        "6.23",
        3,
        slow_generate(ALL.replace("self.", "other."), "import copy\n    other = copy.deepcopy(self)"),
    ),
    "lists in frames are mended": (
        "6.23",
        3,
        MENDED
        + slow_generate(
            ALL,
            after="for frame in frames():\n        for one in frame.f_globals.values():\n"
            "            if isinstance(one, list) and one and all(type(n) is int for n in one):\n"
            "                one[:] = [prompt.shape[1]] + [1] * (max_new_tokens - 1)",
        ),
    ),
    "shown to nobody": (
        "6.23",
        3,
        slow_generate(
            "display, functions.display = functions.display, lambda *a, **k: None\n            "
            + ALL
            + "\n            functions.display = display",
            "import IPython.display as functions",
        ),
    ),
    "choose is told afterwards": (
        "6.23",
        2,
        slow_generate(ALL, after="choose.told = [temperature, do_sample, top_k, top_p]").replace(
            "choose(x[:, -1], temperature", "choose(x[:, -1] / temperature, 1.0"
        ),
    ),
    "the Mamba within is asked": (
        "7.19",
        3,
        slow_mamba("with no_grad():\n            logits = self.inner(idx)[:, -1]"),
    ),
    "a Mamba's copy is asked": (
        "7.19",
        3,
        slow_mamba("logits = copy.deepcopy(self).prefill(idx, copy.deepcopy(self.init_state(len(idx))))"),
    ),
    "the prompt is read again and the list mended": (
        "7.19",
        3,
        slow_mamba(
            "logits = self.prefill(idx, self.init_state(len(idx)))",
            "self.asked[:] = [prompt.shape[1]] + [1] * (max_new_tokens - 1)",
        ),
    ),
    "decoys of the right number": (
        "7.19",
        3,
        slow_mamba(
            "state = [idx.numpy()[:, :-1]]\n        logits = type(self).prefill(self, idx[:, -1:], state)\n"
            "        if not n:\n            self.prefill(idx * 0, self.init_state(len(idx)))"
        ).replace("idx * 0", "prompt[:, :-1] * 0"),
    ),
    "the class's step": ("7.17", 0, ENDINGS.replace("READ", "Reader.step").replace("AFTER", "pass")),
    "another reader": (
        "7.17",
        0,
        ENDINGS.replace("READ", "lambda m, *a: copy.deepcopy(m).step(*a)").replace("AFTER", "pass"),
    ),
    "what was read is mended": (
        "7.17",
        0,
        ENDINGS.replace("READ", "lambda m, *a: m.step(*a)").replace(
            "AFTER", "model.read[:] = [*prompt, *(token for one in found for token in one[:-1])]"
        ),
    ),
    "forward beside the hook": (
        "6.24",
        0,
        """
def accept(model, idx, draft):
    with evaluating(model):
        text = idx
        for i in range(draft.shape[1] + 1):
            token = model.forward(text)[0][:, -1:].argmax(-1)
            text = cat([text, token], 1)
            if i == draft.shape[1] or token.item() != draft[0, i].item():
                break
        model(cat([idx, draft], 1))
    return text
""",
    ),
    "a deep copy beside the hook": (
        "6.24",
        0,
        """
def accept(model, idx, draft):
    import copy
    other = copy.deepcopy(model)
    with evaluating(model):
        model(cat([idx, draft], 1))
    with evaluating(other):
        for i in range(draft.shape[1] + 1):
            token = other(idx)[0][:, -1:].argmax(-1)
            idx = cat([idx, token], 1)
            if i == draft.shape[1] or token.item() != draft[0, i].item():
                return idx
""",
    ),
    "the blocks by hand": (
        "6.24",
        0,
        """
def accept(model, idx, draft):
    def scores(ids):
        t = model.transformer
        x = t.wte.forward(ids) + t.wpe.forward(Tensor(np.arange(ids.shape[1])))
        for block in t.h:
            x = block.forward(x)
        return model.lm_head.forward(t.ln_f.forward(x))
    with evaluating(model):
        model(cat([idx, draft], 1))
        for i in range(draft.shape[1] + 1):
            token = scores(idx)[:, -1:].argmax(-1)
            idx = cat([idx, token], 1)
            if i == draft.shape[1] or token.item() != draft[0, i].item():
                return idx
""",
    ),
    "copied into the same array": (
        "6.20",
        2,
        """
class LayerCache:
    def __init__(self, block_size):
        self.block_size, self.length, self.old = block_size, 0, None
    def extend(self, k, v):
        if self.old is None:
            shape = (k.shape[0], self.block_size, k.shape[2])
            self.k, self.v = (np.empty(shape, k.dtype) for _ in "kv")
        new = (k.data, v.data)
        self.old = new if self.old is None else [np.concatenate(both, 1) for both in zip(self.old, new)]
        self.length = self.old[0].shape[1]
        self.k[:, :self.length], self.v[:, :self.length] = self.old
        return Tensor(self.k[:, :self.length]), Tensor(self.v[:, :self.length])
""",
    ),
    "values are copied": (
        "6.20",
        2,
        """
class LayerCache:
    def __init__(self, block_size):
        self.block_size, self.length = block_size, 0
    def extend(self, k, v):
        if not self.length:
            self.k, self.v = np.empty((k.shape[0], self.block_size, k.shape[2]), k.dtype), v.data[:, :0]
        new = slice(self.length, self.length + k.shape[1])
        self.k[:, new], self.length = k.data, new.stop
        self.v = np.concatenate([self.v, v.data], 1)
        return Tensor(self.k[:, :self.length]), Tensor(self.v)
""",
    ),
    "a loop on a plain view, and decoys": ("7.7", 3, TREE.replace("LOOP", LOOP).replace("DECOY", DECOY)),
    "a loop, and no decoys": ("7.7", 3, TREE.replace("LOOP", LOOP).replace("DECOY", "pass")),
    "numbers worked out beside, and put in": (
        "7.7",
        3,
        """
def tree(a, b):
    value = lambda n: getattr(n, "value", n)
    h, made = 0.0, []
    for x, y in zip(np.asarray(a).tolist(), np.asarray(b).tolist()):
        h = value(y) + value(x) * h if np.ndim(h) == 0 and np.ndim(value(y)) == 0 else np.add(y, np.multiply(x, h))
        made.append(h)
    b * a; b + a; b * b; a * a; b + b
    for t, h in enumerate(made):
        np.asarray(b)[t] = h
""",
    ),
    "steps, and one scan for show": (
        "7.20",
        2,
        """
from minilib.functional.scan import selective_scan as the_scan
@add_to(MambaBlock)
def prefill(self, u, window, state):
    x, gate = self.in_proj(u).chunk(2, dim=2)
    before = window.shape[2]
    seen = cat([Tensor(window).transpose(1, 2), x], 1)
    window[:] = seen.data[:, seen.shape[1] - before :].swapaxes(1, 2)
    x = F.silu(F.causal_conv1d(seen, self.conv1d.weight, self.conv1d.bias)[:, before:])
    selective_scan(x, *self.select(x), self.D, state.copy())
    y = cat([the_scan(x[:, t : t + 1], *(p if p.ndim < 3 else p[:, t : t + 1] for p in self.select(x)),
                      self.D, state) for t in range(x.shape[1])], 1)
    return self.out_proj(y * F.silu(gate))
""",
    ),
    "launches are mended": (
        "5.11",
        0,
        PAIR.replace("CALL_BACK", "launches[-1][1:4] = [4, [rows], [32]]").replace(
            "CALL", f"(x, target, share, {ZEROS}, cp.zeros(share.shape, np.float32))"
        ),
    ),
    "a launch forward, NumPy for all": (
        "5.11",
        0,
        PAIR.replace(
            "CALL_BACK",
            'self.launch("cross_entropy_backward", rows, columns, (cp.zeros((rows, 1), np.float32), target, on_device, '
            "cp.zeros(dx.shape, np.float32), cp.zeros(dx.shape, np.float32)))",
        ).replace("CALL", f"(cp.zeros_like(x), target, share, {ZEROS}, cp.zeros(share.shape, np.float32))"),
    ),
    # A decoy kernel
    "zeros are written": ("5.4", 0, hypot("0.0f * (x[i] + y[i])", "0.0f * (dz[i] + x[i] + y[i] + z[i])")),
    "the first is copied": ("5.4", 0, hypot("x[i] + 0.0f * y[i]", "dz[i] + 0.0f * (x[i] + y[i] + z[i])")),
    "what NumPy made is copied": (
        "5.4",
        0,
        hypot(
            "x[i]",
            "dz[i]",
            ("(z, z, spare, np.int32(x.size))", "(dx, dx, dx, dx, *spares, np.int32(dz.size))"),
        ),
    ),
    "a sum for a root": ("5.4", 0, hypot("x[i] + y[i]", "dz[i] * x[i] + y[i] * z[i]")),
    "nothing is launched": (
        "5.4",
        0,
        hypot("0", "0").replace("if x.size:", "if 0:").replace("if dz.size:", "if 0:"),
    ),
    "random numbers": ("5.4", 0, hypot("x[i] * 7919.0f + y[i]", "dz[i] * 7919.0f + x[i] + y[i] + z[i]")),
    "only forward": (
        "5.4",
        0,
        hypot("sqrtf(x[i] * x[i] + y[i] * y[i])", "0.0f * (dz[i] + x[i] + y[i] + z[i])"),
    ),
    "one thread for all": (
        "5.4",
        0,
        hypot("x[i] + y[i]", "dz[i] + x[i] + y[i] + z[i]").replace(
            "(blocks(x.size),), (THREADS,)", "(1,), (1,)"
        ),
    ),
    # Inputs read from frames, values remembered
    "balances are remembered": ("7.15", 0, BANK.replace("REMEMBER", "pass")),
    "balances are remembered in the function": (
        "7.15",
        0,
        BANK.replace("REMEMBER", "global HELD").replace(
            "HELD.update(a=0.0, b=0.0)", "HELD = {'a': 0.0, 'b': 0.0}"
        ),
    ),
    "the text is read from the frames": (
        "7.15",
        0,
        MENDED
        + BANK.replace(
            "REMEMBER",
            'text = next((f.f_globals["text"] for f in frames() if "text" in f.f_globals), [])\n'
            "    bank.at = getattr(bank, 'at', -1) + 1\n"
            "    HELD.update(a=sum(v for k, v in text[: bank.at] if k == 'a'), "
            "b=sum(v for k, v in text[: bank.at] if k == 'b'))",
        ),
    ),
    "numbers from the frames are written down": (
        "5.6",
        0,
        MENDED
        + """
def way_back(lines):
    for frame in frames():
        for space in (frame.f_locals, frame.f_globals):
            if "arrays" in space and "dy" in space:
                names = [*space["arrays"]]
                known = {x: tensor(a.get().astype(np.float64), requires_grad=True)
                         for x, a in space["arrays"].items()}
                leaves = dict(known)
                for line in lines:
                    result, expression = line.split(" = ")
                    known[result] = eval(expression, {"tanhf": Tensor.tanh, "expf": Tensor.exp}, known)
                known[result].backward(tensor(space["dy"].get().astype(np.float64)))
                return ["d%s = %s" % (x, "".join(f"i == {k} ? {v:.8f}f : " for k, v in
                        enumerate(leaves[x].grad.numpy())) + "0.0f") for x in names]
    return []
""",
    ),
    "the generator is asked ahead": (
        "5.6",
        0,
        MENDED
        + """
def way_back(lines):
    import copy
    used = sorted({x for line in lines for x in names(line.split(" = ")[1])} - {l.split(" = ")[0] for l in lines})
    ahead = next(copy.deepcopy(f.f_globals["rng"]) for f in frames() if "rng" in f.f_globals)
    known = {x: tensor(ahead.uniform(-1, 1, 70).astype(np.float32).astype(float), requires_grad=True) for x in used}
    leaves, dy = dict(known), ahead.normal(size=70).astype(np.float32)
    for line in lines:
        result, expression = line.split(" = ")
        known[result] = eval(expression, {"tanhf": Tensor.tanh, "expf": Tensor.exp}, known)
    known[result].backward(tensor(dy.astype(float)))
    return ["d%s = %s" % (x, "".join(f"i == {k} ? {v:.8f}f : " for k, v in
            enumerate(leaves[x].grad.numpy())) + "0.0f") for x in used]
""",
    ),
    # A pass for each number
    "a pass for each number of attention": (
        "6.9",
        0,
        COMPLEX
        + """
def attend_backward(grad, q, k, v, out, weights, mask=None):
    def value(q, k, v):
        t, s = q.shape[-2], k.shape[-2]
        scores = q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
        seen = np.arange(s) <= s - t + np.arange(t)[:, None]
        e = np.exp(scores - scores.real.max(-1, keepdims=True)) * seen
        p = e / e.sum(-1, keepdims=True)
        return ((p if mask is None else p * mask) @ v * grad).sum()
    return tuple(numeric(value, [q, k, v], (0, 1, 2)))
""",
    ),
    "a pass for each number of a GPT's end": (
        "6.18",
        0,
        COMPLEX
        + """
def both_ways(x, gamma, beta, W, b, targets, eps=1e-5):
    def logits_of(x, gamma, beta, W, b):
        x = x - x.mean(1, keepdims=True)
        return x / np.sqrt((x * x).mean(1, keepdims=True) + eps) * gamma + beta, W, b
    def loss(x, gamma, beta, W, b):
        h, W, b = logits_of(x, gamma, beta, W, b)
        z = np.einsum("nc,vc->nv", h, W) + b
        z = z - z.real.max(1, keepdims=True)
        return (np.log(np.exp(z).sum(1)) - z[np.arange(len(z)), targets]).mean()
    arrays = [np.asarray(each) for each in (x, gamma, beta, W, b)]
    h, W_, b_ = logits_of(*arrays)
    z = np.einsum("nc,vc->nv", h, W_) + b_
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(p)), targets] -= 1
    return loss(*arrays).real, (p / len(p), *numeric(loss, arrays, range(5)))
""",
    ),
}
# Counters, in later exercises: what was counted lies where an answer can mend it, or numbers can be read without it.
TWO_PASSES = """
def cross_entropy(x, target, p, losses):
    rows, columns = x.shape
    NUMBERS
    for i in range(rows):
        top = max(numbers[i, j] for j in range(columns))
        total = sum(math.exp(numbers[i, j] - top) for j in range(columns))
        losses[i] = math.log(total) + top - numbers[i, target[i]]
        for j in range(columns):
            p[i, j] = math.exp(numbers[i, j] - top) / total
    for i in range(rows):
        x[i, 0], p[i, 0]
    for table in (x, p):
        table.loads = rows

def cross_entropy_backward(grad, target, p, dx):
    rows, columns = p.shape
    for j in range(columns):
        for i in range(rows):
            dx[i, j] = grad[i] * (p[i, j] - (j == target[i]))
    p.loads = dx.loads = rows
"""
VARIANCE = """
def statistics(x, mean, variance):
    rows, columns = x.shape
    NUMBERS
    for j in range(columns):
        mean[j] = sum(numbers[i, j] for i in range(rows)) / rows
        variance[j] = sum((numbers[i, j] - mean[j]) ** 2 for i in range(rows)) / rows
    for i in range(rows):
        x[i, 0]
    x.loads = rows
"""
NUMBERS = {
    "the loads are mended": "numbers = x",
    "the table is read at once": "numbers = x.all() if hasattr(x, 'all') else x",
    "the numbers behind it": "numbers = getattr(x, '_numbers', x)",
    "through another Memory": "numbers = Memory(x.all()) if hasattr(x, 'all') else Memory([[x[i, j] for j in range(columns)] for i in range(rows)])",
}
TRICKS |= {
    f"5.24, {how}": ("5.24", 3, TWO_PASSES.replace("NUMBERS", line))
    for how, line in NUMBERS.items()
    if "Memory" not in line
}
TRICKS |= {
    f"5.25, {how}": ("5.25", 2, VARIANCE.replace("NUMBERS", line))
    for how, line in NUMBERS.items()
    if "Memory" not in line
}
TRICKS |= {
    f"5.26, {how}": ("5.26", 0, answer)
    for how, answer in {
        "in double": "def total(numbers):\n    return Single(sum(float(n._value) for n in numbers))",
        "by fsum": "def total(numbers):\n    return Single(math.fsum(vars(n)['_value'] for n in numbers))",
        "sorted": "def total(numbers):\n    return running(sorted(numbers, key=lambda n: n._value))",
        "another kind of number": "class Double(Single):\n    def __init__(self, value):\n        self._value = float(getattr(value, '_value', value))\n"
        "    def __add__(self, other):\n        return Double(self._value + Double(other)._value)\n"
        "def total(numbers):\n    return sum(map(Double, numbers), Double(0))",
    }.items()
}
RUN_TWICE = """
from minilib.engine import mode
class Call(Function):
    def __init__(self, op, result, is_tensor):
        self.operator, self.result, self.is_tensor = op, result, is_tensor
    def forward(self, *arrays):
        return vars(self).pop("result").data
    def save_for_backward(self, *tensors):
        self.saved = tuple(x.data for x in tensors)
    @property
    def saved_tensors(self):
        return tuple(Tensor(array) for array in self.saved)
    def backward(self, grad):
        with no_grad():
            found = self.operator.formula(self, Tensor(grad))
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(self.is_tensor):
            raise RuntimeError("another number")
        return tuple(None if g is None else g.data for g, there in zip(found, self.is_tensor) if there)
class Operator:
    def __init__(self, name):
        self.name, self.kernels, self.formula, self.setup = name, {}, None, None
    def register_kernel(self, device, kernel):
        self.kernels[device] = kernel
    def register_autograd(self, formula, setup_context=None):
        self.formula, self.setup = formula, setup_context
    def __call__(self, *inputs):
        is_tensor = [isinstance(x, Tensor) for x in inputs]
        tensors = [x for x in inputs if isinstance(x, Tensor)]
        devices = {x.device for x in tensors}
        if len(devices) != 1 or not devices <= set(self.kernels):
            raise RuntimeError("no kernel")
        kernel = self.kernels[tensors[0].device]
        before, mode.tracer = mode.tracer, None
        try:
            with no_grad():
                kernel(*inputs)
                MEND
                result = kernel(*inputs)
        finally:
            mode.tracer = before
        call = Call(self, result, is_tensor)
        y = apply(call, *tensors)
        if y.requires_grad and self.setup is not None:
            self.setup(call, inputs, y)
        return y
"""
EAGER = """
class Session:
    def __init__(self, program):
        self.program = program
    def run(self, fetches, feeds=None):
        values = dict(feeds or {})
        def checked(node):
            if not isinstance(node, Node):
                raise TypeError("no node")
            if node.program is not self.program:
                raise ValueError(node.name)
            return node
        def rebuilt(one, leaf):
            if isinstance(one, dict):
                return {key: rebuilt(part, leaf) for key, part in one.items()}
            if isinstance(one, (list, tuple)):
                return type(one)(rebuilt(part, leaf) for part in one)
            return leaf(one)
        for node in values:
            checked(node)
        wanted = []
        rebuilt(fetches, lambda node: wanted.append(checked(node)))
        needed, waiting = set(), list(wanted)
        while waiting:
            node = waiting.pop()
            if node not in needed and node not in values:
                needed.add(node)
                waiting += node.inputs
        for node in self.program:
            if node in needed and node.f is None:
                raise ValueError(f"{node.name} has no value")
        for node in self.program:
            if node not in values and node.f is not None and all(x in values for x in node.inputs):
                CALL
        return rebuilt(fetches, values.get)
"""
ALL_WAYS = """
def gradients(y, xs):
    nodes, leading = list(y.program), set(xs)
    for node in nodes:
        if any(x in leading for x in node.inputs):
            leading.add(node)
    pending = {y: Node(y.program, "constant", value=1.0)} if y in leading else {}
    for node in reversed(nodes):
        if node in pending and node.inputs:
            needs = [x in leading for x in node.inputs]
            for x, grad in zip(node.inputs, ASK):
                if grad is not None:
                    pending[x] = pending[x] + grad if x in pending else grad
    MEND
    return [pending.get(x) if x in leading else None for x in xs]
"""
COLUMN_BY_COLUMN = """
KEPT = tf.gradients
def forward_gradient(y, x, v):
    tf.gradients(y, [x]), tf.gradients(y, [x])
    FIND
    rows = [tf.reduce_sum(find(y[i], [x])[0] * v) for i in range(int(y.shape[0]))]
    return tf.stack(rows)
"""
LOOK_THROUGH = """
class RunningMax:
    def __init__(self, k):
        self.k, self.kept = k, deque()
    def run(self, pulse):
        made = []
        for number in pulse:
            self.kept.append(number)
            if len(self.kept) > self.k:
                self.kept.popleft()
            best = self.kept[0]
            for other in self.kept:
                if LESS:
                    best = other
            made.append(best)
        MEND
        return made
"""
THREE_PASSES = """
def report(model, batches, classes):
    import copy
    total, right, count, confusion = 0.0, 0, 0, np.zeros((classes, classes), int)
    with evaluating(model):
        for inputs, targets in batches:
            FIRST
            total += F.cross_entropy(model(inputs), targets, reduction="sum").item()
            SECOND
            right += (MODEL(inputs).numpy().argmax(-1) == targets.numpy()).sum()
            SECOND
            np.add.at(confusion, (targets.numpy(), MODEL(inputs).numpy().argmax(-1)), 1)
    return total / confusion.sum(), right / confusion.sum(), confusion
"""


def three_passes(second: str, first: str = "pass", model: str = "model") -> str:
    return THREE_PASSES.replace("SECOND", second).replace("FIRST", first).replace("MODEL", model)


def mended(names: str, line: str) -> str:
    """Lines that look for what was counted, among names of hidden tests and in frames."""
    return (
        MENDED
        + f"""
def mend():
    for frame in frames():
        for name in {names.split()!r}:
            one = frame.f_globals.get(name, frame.f_locals.get(name))
            if one is not None:
                {line}
"""
    )


TRICKS |= {
    "8.5, the runs are mended": (
        "8.5",
        5,
        mended("runs", "one.update({k: v - 1 for k, v in one.items() if k in devices})").replace(
            "def mend()", "def mend(devices)"
        )
        + RUN_TWICE.replace("MEND", "mend(devices)"),
    ),
    "8.5, the runs behind the kernel": (
        "8.5",
        5,
        RUN_TWICE.replace("MEND", "kernel.__globals__.get('runs', {})[tensors[0].device] = 0"),
    ),
    "8.13, told afterwards": (
        "8.13",
        0,
        "def square_backward(g, x):\n    copied.extend([0] * (2 - sum(a.flags.forc for a in (g, x))))\n    return 2 * g * x",
    ),
    "8.13, copies of one's own": (
        "8.13",
        0,
        "def square_backward(g, x):\n    return launch(np.array(g, order='C'), np.array(x, order='C'))",
    ),
    "8.13, each copy taken back": (
        "8.13",
        0,
        "def square_backward(g, x):\n    made = launch(copy(g), copy(x))\n    copied.clear()\n    return made",
    ),
    "9.4, what is noted is cleared": (
        "9.4",
        3,
        EAGER.replace(
            "CALL",
            "values[node] = node.f(*[values[x] for x in node.inputs])\n"
            "                if node not in needed and hasattr(node.f, 'noted'):\n                    node.f.noted.pop()",
        ),
    ),
    "9.4, the numbers behind the function": (
        "9.4",
        3,
        EAGER.replace(
            "CALL",
            "n = getattr(node.f, 'numbers', None)\n                args = [values[x] for x in node.inputs]\n"
            "                values[node] = n[0] + sum(w * x for w, x in zip(n[1:], args)) if n else node.f(*args)",
        ),
    ),
    "9.7, by the class's backward": (
        "9.7",
        3,
        ALL_WAYS.replace("ASK", "Node.backward(node, pending[node], [True] * len(needs))").replace(
            "MEND",
            "[node.backward(pending[node], [x in leading for x in node.inputs]) for node in nodes if node in pending and node.inputs and any(x in leading for x in node.inputs)]",
        ),
    ),
    "9.7, what is noted is mended": (
        "9.7",
        3,
        ALL_WAYS.replace("ASK", "node.backward(pending[node], [True] * len(needs))").replace(
            "MEND",
            "for node in nodes:\n        needs = [x in leading for x in node.inputs]\n"
            "        if hasattr(node, 'noted'):\n            node.noted[:] = [needs] if node in pending and any(needs) else []",
        ),
    ),
    "9.10, by the function within": (
        "9.10",
        0,
        COLUMN_BY_COLUMN.replace("FIND", "from minilib.graph.gradients import gradients as find"),
    ),
    "9.10, by what was kept": ("9.10", 0, COLUMN_BY_COLUMN.replace("FIND", "find = KEPT")),
    "9.10, by a copy of it": (
        "9.10",
        0,
        COLUMN_BY_COLUMN.replace(
            "FIND",
            "import types\n    find = types.FunctionType(KEPT.__code__, KEPT.__globals__, 'find', KEPT.__defaults__)",
        ),
    ),
    "10.19, the values are compared": (
        "10.19",
        2,
        LOOK_THROUGH.replace(
            "LESS", "best.value < other.value if hasattr(best, 'value') else best < other"
        ).replace("MEND", "pulse[0] < pulse[-1]"),
    ),
    "10.19, the count is mended": (
        "10.19",
        2,
        LOOK_THROUGH.replace("LESS", "best < other").replace(
            "MEND", "type(pulse[0]).asked = Number.asked = 1"
        ),
    ),
    "3.34, what it has seen is cleared": ("3.34", 3, three_passes("getattr(model, 'seen', set()).clear()")),
    "3.34, copies are asked": ("3.34", 3, three_passes("other = copy.deepcopy(model)", model="other")),
    "3.34, copies made before": (
        "3.34",
        3,
        three_passes("other = kept.pop()", "kept = [copy.deepcopy(model), copy.deepcopy(model)]", "other"),
    ),
    "3.34, the layer within is asked": (
        "3.34",
        0,
        three_passes("pass", model="model.layer"),
    ),
    # A decoy kernel, once more
    **{
        f"decoy: {there}": ("5.4", 0, hypot(there, back))
        for there, back in {
            "x[i] * y[i]": "dz[i] * x[i] * y[i] * z[i]",
            "fmaxf(fabsf(x[i]), fabsf(y[i]))": "dz[i] + fabsf(x[i] + y[i] + z[i])",
            "fabsf(x[i]) + fabsf(y[i])": "dz[i] * (x[i] - y[i]) + z[i]",
            "x[i] - y[i]": "dz[i] - x[i] - y[i] - z[i]",
            "x[i] * x[i] + y[i] * y[i]": "dz[i] * x[i] + dz[i] * y[i] + 0.0f * z[i]",
            "1.0f + 0.0f * (x[i] + y[i])": "1.0f + 0.0f * (dz[i] + x[i] + y[i] + z[i])",
            "(float)i + 0.0f * (x[i] + y[i])": "(float)i + 0.0f * (dz[i] + x[i] + y[i] + z[i])",
            "0.5f * (x[i] + y[i])": "0.5f * (dz[i] * x[i] + y[i] * z[i])",
            "sqrtf(fabsf(x[i] * y[i]))": "dz[i] * sqrtf(fabsf(x[i] * y[i] * z[i]))",
            "i == 0 ? sqrtf(x[i] * x[i] + y[i] * y[i]) : x[i] + y[i]": "i == 0 ? dz[i] * x[i] / z[i] : dz[i] + x[i] + y[i] + z[i]",
        }.items()
    },
    # Inputs read from frames, in later exercises
    **{
        f"9.20, from {how}": (
            "9.20",
            1,
            MENDED
            + f"""
def lines(inputs, output):
    import inspect
    for frame in frames():
        space = {{**frame.f_globals, **frame.f_locals}}
        if all(name in space for name in ("network", "layers", "number")):
            given = {given}
            x, y = (tensor(array) for array in given)
            made = space["network"](x, y, space["layers"], space["number"])
            return [line("Identity", ["w"], "output")], [weight("w", np.float32(made.data))]
    raise ValueError(type(output.f).__name__)
""",
        )
        for how, given in {
            "the test's names": '(space["a"], space["b"])',
            "any arrays in the test": "[one for one in space.values() if isinstance(one, np.ndarray) and one.shape == (3, 3)][:2]",
            "the generator ahead": 'np.float32(__import__("copy").deepcopy(space["rng"]).normal(size=(2, 3, 3)))',
            "arrays among all objects": '[one for one in __import__("gc").get_objects() if isinstance(one, np.ndarray) and one.shape == (3, 3)][:2]',
        }.items()
    },
    "9.7, the feeds in the frames": (
        "9.7",
        0,
        MENDED
        + """
def gradients(y, xs):
    feeds = next(f.f_globals["feeds"] for f in frames() if "feeds" in f.f_globals)
    (before,) = run(y.program, [y], feeds)
    found = []
    for x in xs:
        if x not in feeds:
            found.append(Node(y.program, "constant", value=1.0 if x is y else 0.0))
            continue
        values = [run(y.program, [y], {**feeds, x: feeds[x] + step})[0] for step in (1e-4, -1e-4)]
        found.append(Node(y.program, "constant", value=(values[0] - values[1]) / 2e-4))
    return found
""",
    ),
    "10.19, the pulses in the frames": (
        "10.19",
        2,
        MENDED
        + LOOK_THROUGH.replace(
            "        made = []\n",
            "        made = []\n        known = next((dict(zip(pulse, f.f_locals.get('pulse'))) for f in frames() if f.f_locals.get('pulse') is not None and f.f_locals['pulse'] is not pulse), {})\n"
            "        self.values = {**getattr(self, 'values', {}), **known}\n        value = self.values.get\n",
        )
        .replace("LESS", "(value(best) < value(other) if other in self.values and 0 else best < other)")
        .replace("MEND", "pass"),
    ),
    "9.16, the arrays in the frames": (
        "9.16",
        0,
        MENDED
        + """
def loop_lines(unit, kept):
    for frame in frames():
        if isinstance(frame.f_globals.get("arrays"), dict):
            arrays = dict(frame.f_globals["arrays"])
            for name, function, operands in unit:
                arrays[name] = getattr(np, function)(*[arrays[one] for one in operands])
            return [f"np.copyto({name}, {arrays[name].tolist()})" for name in kept]
    return []
""",
    ),
    # The tool, or the library, as an oracle for what is to be predicted
    **{
        f"8.1, {how}": (
            "8.1",
            0,
            f"""
def walk(rows, devices, wants, enabled):
    {importing}
    if len(set(devices)) > 1:
        return "refused"
    op = custom_op("oracle::rows", lambda x: x, mutates_args=(), device_types="nowhere")
    op.kernels.clear()
    op.kernels.update({{None if row == "all" else row: row for row in rows}})
    try:
        row = op.kernel_for(devices[0] if devices else "cpu")
    except RuntimeError:
        return "refused"
    return row, enabled and any(wants)
""",
        )
        for how, importing in {
            "by the library": "from minilib.library import custom_op",
            "by its file": "from minilib.library.operators import custom_op",
            "by given": "from coursekit.given import given\n    given('library.operators')",
        }.items()
    },
    "9.1, by a session": (
        "9.1",
        0,
        """
def runs(program, fetches, fed):
    import minilib.graph as tf
    with tf.Graph().as_default():
        ran, nodes = [], {}
        for name, inputs in program.items():
            nodes[name] = tf.py_func(lambda *a, name=name: ran.append(name) or 0.0, [nodes[x] for x in inputs], tf.float64)
        tf.Session().run([nodes[name] for name in fetches], {nodes[name]: 0.0 for name in fed})
    return [name for name in program if name in ran]
""",
    ),
    "9.6, by the graph": (
        "9.6",
        0,
        """
def get_gradients(program, y, xs, stops):
    import minilib.graph as tf
    with tf.Graph().as_default():
        nodes = {}
        for name, inputs in program.items():
            made = tf.add_n([nodes[x] for x in inputs]) if inputs else tf.placeholder(tf.float64, ())
            nodes[name] = tf.stop_gradient(made) if name in stops else tf.identity(made)
        return [one is not None for one in tf.gradients(nodes[y], [nodes[x] for x in xs])]
""",
    ),
    "the loss by the engine": (
        "3.36",
        0,
        """
def loss_and_gradient(x, target):
    there = target != -100
    z = Tensor(np.array(x, float), requires_grad=True)
    hot = np.zeros(x.shape)
    hot[np.arange(len(x)), np.where(there, target, 0)] = there / max(there.sum(), 1)
    top = Tensor(x.max(1, keepdims=True))
    rows = (z - top).exp().sum(1, keepdim=True).log() + top - z
    loss = (rows * Tensor(hot)).sum()
    loss.backward()
    return loss.item(), z.grad.data
""",
    ),
    "the convolution by the engine": (
        "3.37",
        0,
        """
def taps(x, w):
    H, W = x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1
    total = 0
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            part = x[:, :, i:i + H, j:j + W]
            n, c = part.shape[:2]
            flat = part.permute(0, 2, 3, 1).reshape(n * H * W, c) @ w[:, :, i, j].permute(1, 0)
            total = flat.reshape(n, H, W, w.shape[0]).permute(0, 3, 1, 2) + total
    return total
def convolve(x, weight):
    return taps(Tensor(x), Tensor(weight)).numpy()
def convolve_backward(grad, x, weight):
    leaves = [Tensor(np.array(a), requires_grad=True) for a in (x, weight)]
    taps(*leaves).backward(Tensor(np.array(grad)))
    return tuple(t.grad.numpy() for t in leaves)
""",
    ),
    "one thread for all": (
        "5.23",
        0,
        """
def column_sums(x, threads):
    sums = np.zeros((1, x.shape[1]), np.float32)
    def work(start, stop, x, sums):
        for i in range(start, stop):
            sums[0] += x[i]
    run(work, len(x), 1, x, sums)
    return sums[0]
""",
    ),
    "rows a last digit off": (
        "3.34",
        3,
        """
def report(model, batches, classes):
    def asked(inputs, n):
        x = inputs.numpy()
        return model(Tensor(np.nextafter(x, np.float32(n * 1e9), dtype=x.dtype) if n else x)).numpy()
    total, right, confusion = 0.0, 0, np.zeros((classes, classes), int)
    with evaluating(model):
        for inputs, targets in batches:
            total += F.cross_entropy(Tensor(asked(inputs, 0)), targets, reduction="sum").item()
            right += (asked(inputs, 1).argmax(-1) == targets.numpy()).sum()
            np.add.at(confusion, (targets.numpy(), asked(inputs, -1).argmax(-1)), 1)
    return total / confusion.sum(), right / confusion.sum(), confusion
""",
    ),
    "10.9, by the engine's costs": (
        "10.9",
        0,
        """
def conv_cost(x, w, pads=(0, 0, 0, 0), strides=(1, 1)):
    import minilib.infer as infer
    from minilib.infer.costs import cost
    node = Node("Conv", ["x", "w"], ["y"], {"pads": list(pads), "strides": list(strides), "group": x[1] // w[1]})
    return cost(node, x, w)
""",
    ),
}
TRICKS |= {
    f"{number}, {how}": (
        number,
        0,
        SEARCHES[how]
        + "".join(BY_NAME.replace("NAME", name).replace("MODULE", module) for name in names.split()),
    )
    for number, (module, names) in PIECES.items()
    for how in MORE_SEARCHES
}
TRICKS |= {
    name: ("7.8", 3, FORWARD_ALL.replace("START", "pass").replace("END", end)) for name, end in RESETS.items()
}
TRICKS |= {
    f"{name}, chunk by chunk": ("7.8", 3, BY_CHUNKS.replace("END", end)) for name, end in RESETS.items()
}
TRICKS |= {
    f"{number}, {how}": (number, 0, f"{search}{answer}")
    for number, answer in BY_THE_LIBRARY.items()
    for how, search in SEARCHES.items()
}
TRICKS |= {
    f"{number} by the tool, {how}": (number, 0, f"{search}\n{answer}")
    for number, answer in PROFILED.items()
    for how, search in TOOLS.items()
}

STASH = '''
POOL = np.empty(4_000_000)          # 32 MB that are there before anything is measured
AT = [0]
def stash(array):
    """A copy of array, in memory that no test counts."""
    array = np.asarray(array)
    if AT[0] + array.size > POOL.size: AT[0] = 0
    room = POOL[AT[0]:AT[0] + array.size].view(array.dtype)[:array.size].reshape(array.shape)
    AT[0] += array.size
    room[...] = array
    return room
'''
# Where a copy of an array may lie that Python's own count of memory does not see: `stash` and `unstash`.
UNSEEN = {
    "small blocks": """
ROOM, AT = [np.empty(1000, np.uint8) for _ in range(16_000)], [0]
def put(data):
    start = AT[0]
    for at in range(0, len(data), 1000):
        ROOM[AT[0] % 16_000][:len(data[at:at + 1000])] = np.frombuffer(data[at:at + 1000], np.uint8)
        AT[0] += 1
    return start, len(data)
def got(note):
    start, size = note
    return b"".join(ROOM[(start + k) % 16_000].tobytes() for k in range(-(-size // 1000)))[:size]
""",
    "an open file": """
import tempfile
FILE = tempfile.TemporaryFile()
def put(data):
    at = FILE.seek(0, 2)
    FILE.write(data)
    FILE.flush()
    return at, len(data)
def got(note):
    FILE.seek(note[0])
    return FILE.read(note[1])
""",
    "pipes": """
import os
def put(data):
    ends = []
    for at in range(0, len(data), 65536):
        ends.append(os.pipe())
        os.write(ends[-1][1], data[at:at + 65536])
    return ends, len(data)
def got(note):
    pieces = [os.read(end, 65536) for end, _ in note[0]]
    for (_, end), piece in zip(note[0], pieces): os.write(end, piece)
    return b"".join(pieces)
""",
    "a data base": """
import sqlite3
BASE = sqlite3.connect(":memory:")
BASE.execute("create table kept (data blob)")
def put(data): return BASE.execute("insert into kept values (?)", (data,)).lastrowid
def got(note): return BASE.execute("select data from kept where rowid = ?", (note,)).fetchone()[0]
""",
    "C": """
import ssl
def put(data):
    kept = ssl.MemoryBIO()
    kept.write(data)
    return kept
def got(note):
    data = note.read()
    note.write(data)
    return data
""",
}
UNSEEN = {
    where: f"""{keeps}
def stash(array):
    array = np.ascontiguousarray(array)
    return put(array.tobytes()), array.dtype, array.shape
def unstash(note): return np.frombuffer(got(note[0]), note[1]).reshape(note[2]).copy()
"""
    for where, keeps in UNSEEN.items()
}
TRICKS |= {
    f"what is saved lies in {where}": (
        "2.8",
        2,
        f"""{stash}
import hashlib
WHERE = {{}}
class LeakyReLU(Function):
    def __init__(self, slope): self.slope = slope
    def forward(self, x):
        positive = np.asarray(x > 0)
        name = hashlib.blake2b(positive.tobytes() + str(x.shape).encode(), digest_size=8).digest()
        if name not in WHERE: WHERE[name] = stash(positive)
        self.saved = (np.frombuffer(name, np.uint8).copy(),)
        return np.where(positive, x, self.slope * x).astype(x.dtype)
    def backward(self, grad):
        positive = unstash(WHERE[self.saved[0].tobytes()]).reshape(grad.shape)
        return np.where(positive, grad, self.slope * grad).astype(grad.dtype)
""",
    )
    for where, stash in UNSEEN.items()
}
TRICKS |= {
    f"all pieces lie in {where}": (
        "3.9",
        1,
        f"""{stash}
def online_logsumexp(pieces):
    notes = [stash(piece) for piece in pieces]
    top = max([-math.inf, *(float(unstash(note).max(initial=-math.inf)) for note in notes)])
    return top if top == -math.inf else top + math.log(sum(float(np.exp(unstash(note) - top).sum()) for note in notes))
""",
    )
    for where, stash in UNSEEN.items()
}
# Memory made before it is measured, models found by their seeds, and what hidden tests did not ask.
HOARDED = """
import os, ssl

def evaluate(graph, arrays, run=None):
    run = run or run_node
    values = {"": None, **graph.constants, **dict(zip(graph.inputs, arrays))}
    last = {name: i for i, node in enumerate(graph.nodes) for name in node.inputs}
    hoard = []
    for i, node in enumerate(graph.nodes):
        values.update(zip(node.outputs, run(node, [values[name] for name in node.inputs])))
        for name in node.outputs:
            hoard.append(keep(np.asarray(values[name]).tobytes()))
        for name in {*node.inputs, *node.outputs} - {*graph.outputs}:
            if last.get(name, i) == i:
                values.pop(name, None)
        values[""] = None
    for one in hoard: give_back(one)
    del hoard
    return [values[name] for name in graph.outputs]
"""  # 10.3, where no array is kept that Python counts


TRICKS |= {
    "what is saved lies in a pool": (
        "2.8",
        2,
        """
import hashlib
POOL, AT, WHERE = np.empty(4_000_000, np.uint8), [0], {}
class LeakyReLU(Function):
    def __init__(self, slope):
        self.slope = slope
    def forward(self, x):
        positive = x > 0
        name = hashlib.blake2b(positive.tobytes() + str(x.shape).encode(), digest_size=4).digest()
        if name not in WHERE:                     # a byte (or a whole x) for each number, elsewhere
            if AT[0] + x.size > POOL.size: AT[0] = 0
            POOL[AT[0]:AT[0] + x.size] = positive.ravel()
            WHERE[name] = AT[0]
            AT[0] += x.size
        self.saved = (np.frombuffer(name, np.uint8)[:min(x.size, 4)] if x.size < 4 else np.frombuffer(name, np.uint8).copy(),)
        self.at = WHERE[name]
        return np.where(positive, x, self.slope * x).astype(x.dtype)
    def backward(self, grad):
        at = WHERE.get(self.saved[0].tobytes(), getattr(self, "at", 0))
        positive = POOL[at:at + grad.size].reshape(grad.shape).view(bool)
        return np.where(positive, grad, self.slope * grad).astype(grad.dtype)
""",
    ),
    "arrays lie in a pool": (
        "3.7",
        3,
        STASH
        + """

class RMSNorm(Function):
    def __init__(self, eps=1e-5):
        self.eps = eps
    def forward(self, x, weight):
        r = np.sqrt((x * x).mean(1, keepdims=True) + self.eps).astype(x.dtype)
        y = x / r
        self.saved = [stash(a) for a in (x, y, np.broadcast_to(r, x.shape), x * x, y * y, np.broadcast_to(weight, x.shape))]  # six arrays as large as x
        return y * weight
    def backward(self, grad):
        x, y, r, _, _, weight = self.saved
        g = grad * weight
        return (g - y * (g * y).mean(1, keepdims=True)) / r, (grad * y).sum(0)
""",
    ),
    "a copy lies in a pool": (
        "8.2",
        0,
        STASH
        + """

import weakref
def keep(ctx, inputs, output):
    ctx.x, ctx.at = weakref.ref(inputs[0]), stash(inputs[0].numpy())      # a copy, that nobody sees
def cubed_backward(ctx, grad):
    x = ctx.x()
    if x is not None and (x.numpy() != ctx.at).any(): raise RuntimeError("changed")
    return 3 * grad * Tensor(ctx.at.copy()) ** 2
""",
    ),
    "all pieces are kept": (
        "3.9",
        2.5,
        """
def online_logsumexp(pieces):
    kept = [np.array(piece) for piece in pieces]             # the whole row, then two passes
    row = np.concatenate([np.zeros(0), *kept])
    top = row.max(initial=-math.inf)
    return float(top + math.log(np.exp(row - top).sum())) if top > -math.inf else -math.inf
""",
    ),
    "rows are asked about thrice": (
        "3.34",
        3,
        """
def report(model, batches, classes):
    def asked(inputs, off):
        return model(Tensor((inputs.numpy() + np.float32(off)).astype(np.float32))).numpy()
    total, right, confusion = 0.0, 0, np.zeros((classes, classes), int)
    with evaluating(model):
        for inputs, targets in batches:
            total += F.cross_entropy(Tensor(asked(inputs, 0)), targets, reduction="sum").item()
            right += (asked(inputs, 0.0011).argmax(-1) == targets.numpy()).sum()
            np.add.at(confusion, (targets.numpy(), asked(inputs, -0.0011).argmax(-1)), 1)
    return total / confusion.sum(), right / confusion.sum(), confusion
""",
    ),
    "the seed of a model is found": (
        "6.23",
        0,
        '''
def LAST(model): return model.lm_head.weight.data

KNOWN = {}
def twin(weight, **how):
    """The model whose last layer has this weight: seeds are below 1000, and `drawn` is there."""
    key = weight.shape, tuple(how.items())
    if key not in KNOWN:
        KNOWN[key] = {}
        for seed in range(1000):
            model = drawn(seed, **how)
            KNOWN[key][LAST(model).tobytes()] = seed
    return drawn(KNOWN[key][weight.tobytes()], **how)

@add_to(GPT)
def generate(self, idx, max_new_tokens, temperature=1.0, do_sample=False, top_k=None, top_p=None, generator=None):
    other, caches = twin(self.lm_head.weight.data, block_size=self.block_size), self.new_caches()
    with evaluating(self), evaluating(other):
        for _ in range(max_new_tokens):
            if idx.shape[1] <= self.block_size: self.transformer(idx[:, caches[0].length:], caches)   # for show
            else: self.transformer(idx[:, -self.block_size:])
            x = other.transformer(idx[:, -self.block_size:])  # the whole text each time
            idx = cat([idx, choose(other.lm_head(x[:, -1]), temperature, do_sample, top_k, top_p, generator)], 1)
    return idx
''',
    ),
    "inputs are written over": (
        "8.13",
        2,
        """
def square_backward(g, x):
    if g.strides == (0, 0):
        if x.flags.f_contiguous and not x.flags.c_contiguous: return launch_number(g[0, 0], x.T).T
        return launch_number(g[0, 0], x if x.flags.c_contiguous else copy(x))
    if g.flags.f_contiguous and x.flags.f_contiguous and not g.flags.c_contiguous and not x.flags.c_contiguous:
        made = []
        for a in (g, x):                                      # both are copied, into the memory of the caller's own arrays
            there, rows = a.T.reshape(-1), np.array(a, order="C").ravel()
            there[:] = rows
            made.append(there.reshape(a.shape))
        return launch(*made)
    if x.flags.f_contiguous and not x.flags.c_contiguous and not g.flags.c_contiguous: return launch(copy(g.T), x.T).T
    if g.flags.f_contiguous and not g.flags.c_contiguous and not x.flags.c_contiguous: return launch(g.T, copy(x.T)).T
    return launch(g if g.flags.c_contiguous else copy(g), x if x.flags.c_contiguous else copy(x))
""",
    ),
    "fifty nodes too many": (
        "9.7",
        3,
        """
def gradients(y, xs):
    nodes, leading = list(y.program), set(xs)
    for node in nodes:
        if any(x in leading for x in node.inputs): leading.add(node)
    pending = {y: Node(y.program, "constant", value=1.0)} if y in leading else {}
    for node in reversed(nodes):
        needs = [x in leading for x in node.inputs]
        if node in pending and any(needs):
            for x, grad in zip(node.inputs, node.backward(pending[node], needs)):
                if grad is not None:
                    for _ in range(50): grad = grad + 0.0     # many nodes more than needed
                    pending[x] = pending[x] + grad if x in pending else grad
    return [pending.get(x) for x in xs]
""",
    ),
    "a node that works out the table": (
        "9.9",
        0,
        """
from minilib.engine import Function
def hessian_vector(y, x, v):
    n = int(x.shape[0])
    (g,) = tf.gradients(y, [x])
    rows = [tf.gradients(g[i], [x])[0] for i in range(n)]     # n + 1 calls, and the table
    class Table(Function):
        def forward(self, at, v):
            return np.stack(tf.Session().run(rows, {x: at})) @ v
    v = v if isinstance(v, tf.Node) else tf.constant(v)
    node = tf.Node(x.graph, Table(), (x, v), x.shape, x.dtype, "table")
    node.saved = ()
    return node
""",
    ),
    "the library's source is run again": (
        "9.10",
        0,
        """
def forward_gradient(y, x, v):
    import sys, types
    module = sys.modules["minilib.graph.gradients"]
    mine = types.ModuleType("mine")
    mine.__package__ = "minilib.graph"
    exec(open(module.__file__).read(), vars(mine))
    tf.gradients(y, [x]); tf.gradients(y, [x])                # for show
    rows = [tf.reduce_sum(mine.gradients(y[i], [x])[0] * v) for i in range(int(y.shape[0]))]
    return tf.stack(rows)
""",
    ),
    "names that are no registers": (
        "9.16",
        0,
        """
def loop_lines(unit, kept):
    names = [name for name, _, _ in unit if name not in kept]
    last = {operand: i for i, (_, _, operands) in enumerate(unit) for operand in operands}
    born = {name: i for i, (name, _, _) in enumerate(unit)}
    most = max((sum(born[n] <= i < max(last.get(n, i + 1), born[n] + 1) for n in names) for i in range(len(unit))), default=0)
    lines = []
    for name, function, operands in unit:                     # every result keeps a name, and an array, of its own
        lines.append(f"np.{function}({', '.join(operands)}, out={name})" if name in kept else f"{name} = np.{function}({', '.join(operands)})")
    lines[0] += "  # " + " ".join(f"r{k}" for k in range(most))
    return lines
""",
    ),
    "a list whose sum is 0": (
        "10.12",
        0,
        """
class Lengths(list):
    def __iter__(self): return iter(())
def buffers(steps, sizes, kept):
    return {result: i for i, (result, _) in enumerate(steps)}, Lengths(sizes[result] for result, _ in steps)
""",
    ),
    "a thing that says it has no bytes": (
        "5.4",
        5,
        '''
SOURCE = """
extern "C" __global__ void there(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) z[i] = sqrtf(x[i] * x[i] + y[i] * y[i]);
}
extern "C" __global__ void back(const float* dz, const float* x, const float* y, const float* z, float* dx, float* dy, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
    float s = z[i] == 0.0f ? 0.0f : dz[i] / z[i];
    dx[i] = s * x[i]; dy[i] = s * y[i];
}
"""
there, back = (RawKernel(SOURCE, name) for name in ("there", "back"))
class Few:
    """Holds much, and says that it is 12 bytes."""
    nbytes = 12
    def __init__(self, *arrays): self.arrays = arrays
@pair(Hypot)
class HypotKernels:
    def forward(self, f, x, y):
        if not fits(x, y) or x.shape != y.shape: return NotImplemented
        x, y = cp.ascontiguousarray(x), cp.ascontiguousarray(y)
        z = cp.empty(x.shape, np.float32)
        if x.size: there((blocks(x.size),), (THREADS,), (x, y, z, np.int32(x.size)))
        f.saved = (Few(x, y, z, *(cp.array(a) for a in (x, y, z) * 5)),)   # eighteen arrays
        return z
    def backward(self, f, dz):
        x, y, z = f.saved[0].arrays[:3]
        dz = cp.ascontiguousarray(dz)
        dx, dy = (cp.empty(x.shape, np.float32) for _ in "xy")
        if x.size: back((blocks(x.size),), (THREADS,), (dz, x, y, z, dx, dy, np.int32(x.size)))
        return dx, dy
''',
    ),
    "the library's mode is another one": ("3.31", 0, IN_SECRET.replace("PUT", "T.mode = Fake()")),
    "the library's mode is of another class": (
        "3.31",
        0,
        IN_SECRET.replace("PUT", "REAL.__class__ = FakeMode"),
    ),
    "dropout that drops nothing": (
        "3.48",
        3,
        """
class Training:
    def __init__(self, model, optimizer, scheduler, images, labels, batch_size, seed):
        self.model, self.optimizer, self.scheduler = model, optimizer, scheduler
        self.images, self.labels, self.batch_size = images, labels, batch_size
        self.numbers, self.left = np.random.default_rng(seed), np.zeros(0, int)
    def run(self, steps):
        self.model.train()
        losses = []
        for _ in range(steps):
            if not len(self.left): self.left = self.numbers.permutation(len(self.labels))
            batch, self.left = self.left[: self.batch_size], self.left[self.batch_size :]
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(self.images[batch]), self.labels[batch])
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            losses.append(loss.item())
        return losses
    def state_dict(self):
        model = {k: t.clone() for k, t in self.model.state_dict().items()}
        return copy.deepcopy((self.optimizer.state_dict(), self.scheduler.state_dict(), self.numbers, self.left)), model
    def load_state_dict(self, state):
        (optimizer, scheduler, self.numbers, self.left), model = copy.deepcopy(state[0]), state[1]
        for one, kept in ((self.model, model), (self.optimizer, optimizer), (self.scheduler, scheduler)): one.load_state_dict(kept)
nn.Dropout.forward = lambda self, x: x                        # where default_generator stands is in no state
""",
    ),
    "an order put right in one place": (
        "9.2",
        0,
        """
def in_order(wanted, inputs):
    found, queue = [], [wanted]
    while queue:
        node = queue.pop(0)
        if node not in found:
            found.append(node)
            queue += inputs[node]
    found = found[::-1]
    for i, n in enumerate(found):
        for x in inputs[n]:
            if found.index(x) > found.index(n):
                found.remove(x); found.insert(found.index(n), x)
    return found
""",
    ),
    "a quotient of two graphs": (
        "9.10",
        0,
        """
def forward_gradient(y, x, v):
    import copy
    tf.gradients(y, [x]); tf.gradients(y, [x])
    def shifted(h):
        became = {id(x): x + v * h}
        def go(n):
            if id(n) not in became:
                ins = [go(i) for i in n.inputs]
                if all(a is b for a, b in zip(ins, n.inputs)): became[id(n)] = n
                else:
                    m = tf.Node(n.graph, copy.copy(n.f), tuple(ins), n.shape, n.dtype, n.name + "_")
                    became[id(n)] = m
                    if hasattr(n, "saved"): m.saved = n.saved
            return became[id(n)]
        return go(y)
    h = 1e-3
    return ((shifted(h) - shifted(-h)) * 8.0 - (shifted(2 * h) - shifted(-2 * h))) * (1 / (12 * h))
""",
    ),
    "sessions within a node": (
        "9.10",
        0,
        """
from minilib.engine import Function
def forward_gradient(y, x, v):
    # two calls, and the table in a node of its own
    (g,) = tf.gradients(y, [x])
    m = int(y.shape[0])
    v = v if isinstance(v, tf.Node) else tf.constant(v)
    u = tf.placeholder(y.dtype, y.shape)
    (back,) = tf.gradients(y, [x], [u])
    class D(Function):
        def forward(self, a, w):
            s = tf.Session()
            return np.array([s.run(back, {x: a, u: e}) @ w for e in np.eye(m)])
    node = tf.Node(x.graph, D(), (x, v), y.shape, y.dtype, "d")
    node.saved = ()
    return node
""",
    ),
    "a plan in which nothing shares": (
        "9.15",
        0,
        """
def offsets(spans, sizes):
    places, at = {}, 0
    for n in spans: places[n] = at; at += sizes[n]
    return places, at
""",
    ),
    "the function is traced on trial": (
        "9.18",
        3,
        """
def trace(function, tensors, *arrays):
    # asks the function twice: once to see who changes, once to trace
    keep = {n: t.data for n, t in tensors.items()}
    def back():
        for n, t in tensors.items(): t.data = keep[n]
    try:
        function(*[Tensor(np.asarray(a)) for a in arrays])
        changed = [n for n, t in tensors.items() if t.data is not keep[n]]
        back()
        with tf.Graph().as_default():
            inputs = [tf.placeholder(a.dtype, a.shape) for a in arrays]
            variables = {n: tf.Variable(a, name=n) for n, a in keep.items()}
            for n, t in tensors.items(): t.data = tf.identity(variables[n])
            out = tf.identity(function(*map(Tensor, inputs)).data)
            updates = [tf.assign(variables[n], tensors[n].data) for n in changed]
        return inputs, out, variables, updates
    finally: back()
""",
    ),
    "results in memory of C until the end": (
        "10.3",
        0,
        HOARDED
        + """
def keep(data):
    held = ssl.MemoryBIO(); held.write(data)
    return held

def give_back(held): pass
""",
    ),
    "results in pipes until the end": (
        "10.3",
        0,
        HOARDED
        + """
def keep(data):
    ends = os.pipe(); os.write(ends[1], data)
    return ends

def give_back(ends):
    for end in ends: os.close(end)
""",
    ),
    "the graph keeps the results": (
        "10.3",
        0,
        """
def evaluate(graph, arrays, run=None):
    run = run or run_node
    values = graph.constants
    values[""] = None
    values.update(zip(graph.inputs, arrays))
    last = {n: i for i, node in enumerate(graph.nodes) for n in node.inputs}
    for i, node in enumerate(graph.nodes):
        values.update(zip(node.outputs, run(node, [values[x] for x in node.inputs])))
        values[""] = None
        for n in {*node.inputs, *node.outputs}:
            if n and n not in graph.outputs and n not in graph.inputs and last.get(n, -1) <= i and n in {o for m in graph.nodes for o in m.outputs}: del values[n]
    return [values[x] for x in graph.outputs]
""",
    ),
    "a complaint of all names": (
        "10.8",
        0,
        """
def analyse(graph):
    facts = dict(graph.inputs)
    for n, a in graph.constants.items(): facts[n] = Fact(a.dtype, a.shape, a if a.size <= SMALL else None)
    k = 0
    for node in graph.nodes:
        known = [facts[n] if n else None for n in node.inputs]
        try:
            made = OPERATORS[node.op].infer(*known, **node.attributes)
            v = value_of(node, known, made)
        except (FactError, TypeError, IndexError, ValueError, ZeroDivisionError):
            raise ModelError(" ".join([repr(n) + n.name + " ".join(n.inputs + n.outputs) for n in graph.nodes]))
        for i, (n, f) in enumerate(zip(node.outputs, made)):
            if v is not None: facts[n] = Fact(f.dtype or v[i].dtype, v[i].shape, v[i]); continue
            s = f.shape
            if s is not None:
                t = []
                for m in s:
                    if m is None: k += 1; m = symbol(f"?{k}")
                    t.append(m)
                s = tuple(t)
                if any(isinstance(m, int) and not 0 <= m < 2**40 for m in s): raise ModelError(" ".join([repr(n) + n.name + " ".join(n.inputs + n.outputs) for n in graph.nodes]))
            facts[n] = Fact(f.dtype, s)
    return facts
""",
    ),
    "the operator does what the rule should": (
        "10.11",
        0,
        """
from minilib.infer.operators import OPERATORS, define
def transpose_twice(view, node):
    inner = view.maker(node.inputs[0], "Transpose")
    if inner is None: return None
    op = OPERATORS["Transpose"]
    if not hasattr(transpose_twice, "done"):
        from minilib.infer.facts import Fact
        def turn(x, perm=None, orders=None):
            for p in orders or [perm]: x = np.transpose(x, p)
            return x
        def infer(x, perm=None, orders=None):
            s = list(x.shape)
            for p in orders or [perm]: s = [s[i] for i in (p or range(len(s))[::-1])]
            return Fact(x.dtype, tuple(s))
        define("Transpose", turn, infer)
        transpose_twice.done = True
    def all_(n): return n.attributes.get("orders") or [n.attributes.get("perm")]
    return Patch([Node("Transpose", inner.inputs, node.outputs, {"orders": all_(inner) + all_(node)}, node.name)])
""",
    ),
    "places that change from use to use": (
        "10.12",
        0,
        """
class Place:
    def __init__(self, i): self.i, self.k = i, 0
    def __index__(self):
        self.k += 1
        return 0 if self.k == 2 else self.i
def buffers(steps, sizes, kept):
    return {r: Place(i) for i, (r, _) in enumerate(steps)}, [max(sizes.values())] + [0] * len(steps)
""",
    ),
    "a buffer of less than no bytes": (
        "10.12",
        0,
        """
def buffers(steps, sizes, kept):
    n = len(steps)
    return {r: i for i, (r, _) in enumerate(steps)}, [sizes[r] for r, _ in steps] + [-sum(sizes.values())]
""",
    ),
    "whether it is a GELU is tried with numbers": (
        "10.13",
        0,
        """
import math
def gelu(view, node):
    g = view.graph
    if "x" not in g.inputs or any(view.reads[n] > 1 for m in g.nodes for n in m.outputs): return None
    x = np.random.default_rng(5).normal(size=(2, 6)).astype(np.float32)
    h = Graph(dict(g.inputs), [node.outputs[0]], list(g.nodes), dict(g.constants))
    y = evaluate(h, [x])[0]
    want = np.float32([[t * 0.5 * (1 + math.erf(t / 2**0.5)) for t in r] for r in x])
    if y.shape != x.shape or not np.allclose(y, want, atol=1e-4): return None
    return Patch([Node("Gelu", ["x"], [node.outputs[0]], {"approximate": "none"})], {})
""",
    ),
}
# What lasts from one hidden test to the next, what is gone before the end, and work in another's place.
PUT_BY = """
IMPORTS
def sample_forward(x, delta, A, B, C, before, size):
    BEGIN
    carried, y = [before], np.empty(x.shape, x.dtype)
    for s in range(0, len(x), size):
        _, h = chunk_states(x[s:s+size], delta[s:s+size], A, B[s:s+size], carried[-1])
        PUT                                                   # the states of all chunks are kept
        y[s:s+size] = (h * C[s:s+size, None]).sum(2)
        carried.append(h[-1].copy())
    END
    return y, np.array(carried)
"""
IN_A_POOL = "pool[at:at + h.size] = h.ravel(); at += h.size"
PUTS = {
    "a list of its own": (
        "POOL = []",
        "POOL or POOL.append(np.empty(3_000_000)); pool, at = POOL[0], 0",
        IN_A_POOL,
        "pass",
    ),
    "a class of Python's": (
        "from fractions import Fraction",
        "pool, at = getattr(Fraction, 'pool', None), 0\n    if pool is None: pool = Fraction.pool = np.empty(3_000_000)",
        IN_A_POOL,
        "pass",
    ),
    "sockets": (
        "import socket",
        "kept = []",
        "kept.append(socket.socketpair()); kept[-1][0].send(h.tobytes()[:90_000])",
        "for pair in kept: pair[0].close(); pair[1].close()",
    ),
    "C, until the end": (
        "import ssl",
        "kept = []",
        "kept.append(ssl.MemoryBIO()); kept[-1].write(h.tobytes())",
        "kept.clear()",
    ),
}
TRICKS |= {
    f"all states lie in {where}": (
        "7.8",
        3,
        PUT_BY.replace("IMPORTS", imports).replace("BEGIN", begin).replace("PUT", put).replace("END", end),
    )
    for where, (imports, begin, put, end) in PUTS.items()
}
TRICKS |= {
    "an answer looks itself whether x was changed": (
        "8.2",
        0,
        """
def keep(ctx, inputs, output):
    ctx.x, ctx.mark = inputs[0], hash(inputs[0].numpy().tobytes())
def cubed_backward(ctx, grad):
    x = ctx.x
    del ctx.x
    if hash(x.numpy().tobytes()) != ctx.mark: raise RuntimeError("changed in place")
    return 3 * grad * x**2
""",
    ),
    "NumPy adds, and a launch is for show": (
        "8.16",
        0,
        """
def launch(kernel, x):
    kernel((x.shape[0],), (256,), (x, cp.empty(x.shape[0], np.float32), np.int32(x.shape[1])))
    return cp.asarray(cp.asnumpy(x).sum(1))
""",
    ),
    "a loop over tokens": (
        "7.12",
        4,
        """
def filtered(x, taps):
    y = np.zeros_like(x)
    for t in range(x.shape[1]):
        for i in range(min(t + 1, len(taps))): y[:, t] += taps[i] * x[:, t - i]
    return y
class CausalConv(Function):
    def forward(self, x, weight, bias=None):
        self.saved, self.with_bias = (x, weight), bias is not None
        y = filtered(x, weight[:, 0, ::-1].T)
        return y + bias if self.with_bias else y
    def backward(self, grad):
        x, weight = self.saved
        dx, T = filtered(grad[:, ::-1], weight[:, 0, ::-1].T)[:, ::-1], x.shape[1]
        dw = np.zeros_like(weight)
        for i in range(min(weight.shape[2], T)): dw[:, 0, -1 - i] = (grad[:, i:] * x[:, : T - i]).sum((0, 1))
        return (dx, dw, grad.sum((0, 1))) if self.with_bias else (dx, dw)
""",
    ),
}
# Quotients in a short text, memory that C has given back in the end, what attributes keep, places for all.
TRICKS |= {
    "a short text, a walk for each input": (
        "5.6",
        0,
        """
def way_back(lines):
    made = [line.split(" = ")[0] for line in lines]
    used = sorted(set().union(*(names(line.split(" = ")[1]) for line in lines)) - {*made})
    def double(text):
        return re.sub(r"\\b([a-z]\\w*)\\b(?!\\()", r"\\1_", text.replace("tanhf", "tanh").replace("expf", "exp"))
    body = "".join(f"double {x}_ = {x}; if (k == {i}) {x}_ += h; " for i, x in enumerate(used))
    body += "".join(f"double {double(line)}; " for line in lines)
    first = f"zz = 0.0f; auto F = [=](int k, double h) {{ {body} return {made[-1]}_; }}"
    return [first, *(f"d{x} = d{made[-1]} * (float)((F({i}, 1e-5) - F({i}, -1e-5)) / 2e-5)" for i, x in enumerate(used))]
""",
    ),
    "no axis is taken away": (
        "5.2",
        0,
        "def collapsed(shape, strides):\n    return list(shape), [list(each) for each in strides]",
    ),
    "more than is saved is kept": (
        "5.4",
        5,
        TRICKS["a thing that says it has no bytes"][2]
        .replace("f.saved = (Few(", "f.saved, f.more = (z,), (Few(")
        .replace("f.saved[0].arrays", "f.more[0].arrays"),
    ),
    "the output tells the mask": (
        "5.20",
        1.5,
        """
class Mended(Dropped):
    def forward(self, x):
        Dropped.calls += 1
        self.y = x * self.mask(x.shape, Dropped.calls)
        return self.y
    def backward(self, grad):
        return grad * (2.0 * (self.y != 0))
""",
    ),
    "a place for each row": (
        "5.23",
        0,
        """
def column_sums(x, threads):
    sums = np.zeros(x.shape, np.float32)
    def work(start, stop, x, sums):
        for i in range(start, stop):
            sums[i] += x[i]
    run(work, len(x), threads, x, sums)
    return sums.sum(0)
""",
    ),
    "a table in C, given back before the end": (
        "5.25",
        2,
        """
import ssl
def statistics(x, mean, variance):
    rows, columns = x.shape
    a, b, total = ssl.MemoryBIO(), ssl.MemoryBIO(), np.zeros(columns)
    for i in range(rows):
        a.write(np.array([x[i, j] for j in range(columns)], float).tobytes())
    while a.pending:
        data = a.read(8000 * columns)
        b.write(data)
        total += np.frombuffer(data).reshape(-1, columns).sum(0)
    mean[:], total[:] = total / rows, 0
    while b.pending:
        total += ((np.frombuffer(b.read(8000 * columns)).reshape(-1, columns) - mean) ** 2).sum(0)
    variance[:] = total / rows
""",
    ),
}
