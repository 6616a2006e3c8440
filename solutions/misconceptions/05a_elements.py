# Plausible wrong answers to the exercises of chapter 05a, each with the hint that it earns.
# One is a whole program, or an edit of the reference answer: "- " a line that goes, "+ " one that comes.

# %% exercise=5.1 hint="You read an array again for each line that uses it. In one kernel it is read once, and stays in a register: collect names in a set."
-     apart, read, made = 0, set(), set()
+     apart, read, made = 0, [], set()

-         read |= names(expression) - made
+         read += names(expression) - made

# %% exercise=5.1 hint="Fused, what lies between the lines is neither read nor written: of the names on the right count those that no line before has made, and of the results the last."
-         read |= names(expression) - made
+         read |= names(expression)

# %% exercise=5.1 hint="A kernel writes an array as well: add one for each line, and one for the fused kernel."
-         apart += len(names(expression)) + 1
+         apart += len(names(expression))

-     return apart, len(read) + 1
+     return apart, len(read)

# %% exercise=5.1 hint="a * a reads a once: count different names, not how often they stand there."
-         apart += len(names(expression)) + 1
+         apart += len(re.findall(r"\b[a-z]\w*\b(?!\()", expression)) + 1

# %% exercise=5.2 hint="You join axes as soon as one array allows it. Each array must walk through both in one go: all(...), not any(...)."
-         if sizes and all(s[-1] == stride[axis] * size for s, stride in zip(steps, strides, strict=True)):
+         if sizes and any(s[-1] == stride[axis] * size for s, stride in zip(steps, strides, strict=True)):

# %% exercise=5.2 hint="You join axes whatever their steps are. That is right for arrays in order alone: ask whether the left step is the right one times its size."
-         if sizes and all(s[-1] == stride[axis] * size for s, stride in zip(steps, strides, strict=True)):
+         if sizes:

# %% exercise=5.2 hint="Where two axes become one, the step of the right one counts: how far it is to the next number."
-             for s, stride in zip(steps, strides, strict=True):
-                 s[-1] = stride[axis]
              continue

# %% exercise=5.2 hint="You compare the left step with the left axis's size. One step there equals the whole right axis: next stride * next size."
-         if sizes and all(s[-1] == stride[axis] * size for s, stride in zip(steps, strides, strict=True)):
+         if sizes and all(
+             s[-1] == stride[axis] * sizes[-1] for s, stride in zip(steps, strides, strict=True)
+         ):

# %% exercise=5.2 hint="You compare with the axis to the left in the shape, which may be one of length 1 that is gone, with any stride. Compare with the last axis that you have kept."
-         if sizes and all(s[-1] == stride[axis] * size for s, stride in zip(steps, strides, strict=True)):
+         if sizes and all(stride[axis - 1] == stride[axis] * size for stride in strides):

# %% exercise=5.2 hint="The places are right, but axes of length 1 are still there: skip them, whatever their strides are."
-         if size == 1:
-             continue
+         pass

# %% exercise=5.2 hint="The places are right, but axes are left that could be joined: compare steps, also where they have gaps, are 0 or below 0. Each axis costs four integer operations for each number."
def collapsed(shape, strides):
    axes = [axis for axis, size in enumerate(shape) if size != 1]
    return [shape[axis] for axis in axes], [[stride[axis] for axis in axes] for stride in strides]

# %% exercise=5.2 hint="You compare steps without their signs. -3 is not 3: one of the axes runs backwards then, the other forwards, and no single step does both."
-         if sizes and all(s[-1] == stride[axis] * size for s, stride in zip(steps, strides, strict=True)):
+         if sizes and all(
+             abs(s[-1]) == abs(stride[axis]) * size for s, stride in zip(steps, strides, strict=True)
+         ):

# %% exercise=5.2 hint="In yours one array alone decides whether two axes become one, the last that your loop looks at. What have the others said?"
-         if sizes and all(s[-1] == stride[axis] * size for s, stride in zip(steps, strides, strict=True)):
+         if sizes and [s[-1] == stride[axis] * size for s, stride in zip(steps, strides, strict=True)][-1]:

# %% exercise=5.2 hint="In yours the first array alone decides whether two axes become one. What do the others say?"
-         if sizes and all(s[-1] == stride[axis] * size for s, stride in zip(steps, strides, strict=True)):
+         if sizes and steps[0][-1] == strides[0][axis] * size:

# %% exercise=5.4 hint="A view reaches your kernel as it lies in memory: what it reads must lie in order. cp.ascontiguousarray copies it where it does not."
-         x, y, z = cp.ascontiguousarray(x), cp.ascontiguousarray(y), cp.empty(x.shape, np.float32)
+         z = cp.empty(x.shape, np.float32)

# %% exercise=5.4 hint="dz may be a view: after sum() it is a single 1 with stride 0. Your kernel reads it as if it lay in order."
-         args = (cp.ascontiguousarray(dz), *f.saved, dx, dy, np.int32(dz.size))
+         args = (dz, *f.saved, dx, dy, np.int32(dz.size))

# %% exercise=5.4 hint="Where z is 0 you divide by 0. The slopes there are 0: ask for it in the kernel."
-     float share = z[i] == 0.0f ? 0.0f : dz[i] / z[i];
+     float share = dz[i] / z[i];

# %% exercise=5.4 hint="Your backward leaves out dz, the gradient of the result: the chain rule multiplies by it."
-     float share = z[i] == 0.0f ? 0.0f : dz[i] / z[i];
+     float share = z[i] == 0.0f ? 0.0f : 1.0f / z[i];

# %% exercise=5.4 hint="The square root is forgotten in the slope: dz / z times x, not dz times x."
-     float share = z[i] == 0.0f ? 0.0f : dz[i] / z[i];
+     float share = dz[i];

# %% exercise=5.4 hint="Nothing runs a kernel of yours: the class is not in the table (put @pair(Hypot) above it), or it works by the array module."
@pair(Hypot)
class HypotKernels:
    def forward(self, f, x, y):
        z = cp.sqrt(x * x + y * y)
        f.saved = (x, y, z)
        return z

    def backward(self, f, dz):
        x, y, z = f.saved
        share = dz / cp.where(z == 0, 1, z)
        return share * x, share * y

# %% exercise=5.4 hint="The array module works it out, and your kernel copies the result. Give it x and y, and let it work out the rest."
-         x, y, z = cp.ascontiguousarray(x), cp.ascontiguousarray(y), cp.empty(x.shape, np.float32)
+         done, z = cp.ascontiguousarray(cp.sqrt(x * x + y * y)), cp.empty(x.shape, np.float32)
+         x, y = cp.ascontiguousarray(x), cp.ascontiguousarray(y)

-             hypot_forward((blocks(x.size),), (THREADS,), (x, y, z, np.int32(x.size)))
+             hypot_forward((blocks(x.size),), (THREADS,), (done, y, z, np.int32(x.size)))

-     if (i < n) z[i] = sqrtf(x[i] * x[i] + y[i] * y[i]);
+     if (i < n) z[i] = x[i] + 0.0f * y[i];

# %% exercise=5.4 hint="One block, one thread: your kernel works, but a single thread walks through all numbers. Launch a thread for each."
HYPOT = """
extern "C" __global__ void hypot_forward(const float* x, const float* y, float* z, int n) {
    for (int i = 0; i < n; i++) z[i] = sqrtf(x[i] * x[i] + y[i] * y[i]);
}

extern "C" __global__ void hypot_backward(const float* dz, const float* x, const float* y, const float* z,
                                          float* dx, float* dy, int n) {
    for (int i = 0; i < n; i++) {
        float share = z[i] == 0.0f ? 0.0f : dz[i] / z[i];
        dx[i] = share * x[i];
        dy[i] = share * y[i];
    }
}
"""
hypot_forward, hypot_backward = (RawKernel(HYPOT, f"hypot_{way}") for way in ("forward", "backward"))


@pair(Hypot)
class HypotKernels:
    def forward(self, f, x, y):
        if not fits(x, y) or x.shape != y.shape:
            return NotImplemented
        x, y, z = cp.ascontiguousarray(x), cp.ascontiguousarray(y), cp.empty(x.shape, np.float32)
        if x.size:
            hypot_forward((1,), (1,), (x, y, z, np.int32(x.size)))
        f.saved = (x, y, z)
        return z

    def backward(self, f, dz):
        dx, dy = (cp.empty(dz.shape, np.float32) for _ in "xy")
        args = (cp.ascontiguousarray(dz), *f.saved, dx, dy, np.int32(dz.size))
        if dz.size:
            hypot_backward((1,), (1,), args)
        return dx, dy

# %% exercise=5.4 hint="The values are right, but dx and dy come from two launches, and each reads dz and z. One launch can write both."
HYPOT = """
extern "C" __global__ void hypot_forward(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = sqrtf(x[i] * x[i] + y[i] * y[i]);
}

extern "C" __global__ void hypot_slope(const float* dz, const float* x, const float* z, float* dx, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) dx[i] = z[i] == 0.0f ? 0.0f : dz[i] / z[i] * x[i];
}
"""
hypot_forward, hypot_slope = (RawKernel(HYPOT, f"hypot_{way}") for way in ("forward", "slope"))


@pair(Hypot)
class HypotKernels:
    def forward(self, f, x, y):
        if not fits(x, y) or x.shape != y.shape:
            return NotImplemented
        x, y, z = cp.ascontiguousarray(x), cp.ascontiguousarray(y), cp.empty(x.shape, np.float32)
        if x.size:
            hypot_forward((blocks(x.size),), (THREADS,), (x, y, z, np.int32(x.size)))
        f.saved = (x, y, z)
        return z

    def backward(self, f, dz):
        x, y, z = f.saved
        dz = cp.ascontiguousarray(dz)
        made = []
        for one in (x, y):
            made.append(cp.empty(dz.shape, np.float32))
            if dz.size:
                hypot_slope((blocks(dz.size),), (THREADS,), (dz, one, z, made[-1], np.int32(dz.size)))
        return tuple(made)

# %% exercise=5.4 hint="f.saved is empty: what backward needs is kept elsewhere, where the engine can neither free it nor see a write into it."
-         f.saved = (x, y, z)
+         f.kept = (x, y, z)

-         args = (cp.ascontiguousarray(dz), *f.saved, dx, dy, np.int32(dz.size))
+         args = (cp.ascontiguousarray(dz), *f.kept, dx, dy, np.int32(dz.size))

# %% exercise=5.4 hint="An empty array has no blocks, and a grid of 0 blocks is no launch: ask for size before you launch."
-         if x.size:
-             hypot_forward((blocks(x.size),), (THREADS,), (x, y, z, np.int32(x.size)))
+         hypot_forward((blocks(x.size),), (THREADS,), (x, y, z, np.int32(x.size)))

# %% exercise=5.4 hint="Two arrays of one number and of many: yours reads beyond the end of the small one. Return NotImplemented where shapes differ."
-         if not fits(x, y) or x.shape != y.shape:
+         if not fits(x, y):

# %% exercise=5.6 hint="A name that is used twice has two shares: add them up in one line. You keep the last share only."
-         x, operator, y = expression.split()
-         shares[x].append(f"d{result} * {y}" if operator == "*" else f"d{result}")
-         shares[y].append(f"d{result} * {x}" if operator == "*" else f"d{result}")
+         x, operator, y = expression.split()
+         shares[x] = [f"d{result} * {y}" if operator == "*" else f"d{result}"]
+         shares[y] = [f"d{result} * {x}" if operator == "*" else f"d{result}"]

# %% exercise=5.6 hint="The lines must be gone through from the last to the first: who uses a result stands after it."
-     for line in reversed(lines):
+     for line in [lines[-1], *lines[:-1]]:

# %% exercise=5.6 hint="A product gives each factor the gradient times the other one, not times itself."
-         shares[x].append(f"d{result} * {y}" if operator == "*" else f"d{result}")
-         shares[y].append(f"d{result} * {x}" if operator == "*" else f"d{result}")
+         shares[x].append(f"d{result} * {x}" if operator == "*" else f"d{result}")
+         shares[y].append(f"d{result} * {y}" if operator == "*" else f"d{result}")

# %% exercise=5.6 hint="In x * x both shares are x's: one for each time that it stands there."
-         shares[y].append(f"d{result} * {x}" if operator == "*" else f"d{result}")
+         if y != x:
+             shares[y].append(f"d{result} * {x}" if operator == "*" else f"d{result}")

# %% exercise=5.6 hint="In x + x both shares are x's: one for each time that it stands there. A set of names has it once only."
-         shares[y].append(f"d{result} * {x}" if operator == "*" else f"d{result}")
+         if operator == "*" or y != x:
+             shares[y].append(f"d{result} * {x}" if operator == "*" else f"d{result}")

# %% exercise=5.2 hint="The numbers are right. They are asked for in lists, the sizes and the steps of each array."
-     return sizes, steps
+     return tuple(sizes), [tuple(s) for s in steps]
