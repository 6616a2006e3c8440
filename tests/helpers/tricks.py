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
        2,
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
        1,
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
