"""Second right answers to the exercises of chapter 05a, by another way than the reference's: each earns all points."""

# %% exercise=5.1
def arrays_moved(lines):
    sides = [line.split(" = ") for line in lines]
    outside = set().union(*(names(right) for _, right in sides)) - {left for left, _ in sides}
    return sum(1 + len(names(right)) for _, right in sides), 1 + len(outside)


# %% exercise=5.2
def collapsed(shape, strides):
    axes = [(size, *(stride[k] for stride in strides)) for k, size in enumerate(shape) if size != 1]
    for k in reversed(range(len(axes) - 1)):  # from the right
        (left, *lefts), (right, *rights) = axes[k : k + 2]
        if all(one == right * other for one, other in zip(lefts, rights)):
            axes[k : k + 2] = [(left * right, *rights)]
    return [axis[0] for axis in axes], [[axis[k + 1] for axis in axes] for k in range(len(strides))]


# %% exercise=5.4
FORWARD = """
extern "C" __global__ void go(const float* x, const float* y, float* z, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        z[i] = hypotf(x[i], y[i]);
    }
}
"""
BACKWARD = """
extern "C" __global__ void back(float* dx, float* dy, const float* dz, const float* both, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = both[i], y = both[n + i], z = hypotf(x, y);
    dx[i] = z > 0.0f ? dz[i] * (x / z) : 0.0f;
    dy[i] = z > 0.0f ? dz[i] * (y / z) : 0.0f;
}
"""


class Both:
    """Saves x and y alone, and works z out again."""

    go, back = RawKernel(FORWARD, "go"), RawKernel(BACKWARD, "back")

    def forward(self, f, x, y):
        if x.dtype != np.float32 or y.dtype != np.float32 or x.shape != y.shape:
            return NotImplemented
        both, z = cp.empty((2, x.size), np.float32), cp.empty(x.shape, np.float32)
        both[0], both[1] = x.ravel(), y.ravel()
        if x.size > 0:
            launch(self.go, (-(-x.size // 128),), (64,), (both[0], both[1], z, np.int32(x.size)))
        f.saved = (both,)
        return z

    def backward(self, f, dz):
        dx, dy = cp.empty(dz.shape, np.float32), cp.empty(dz.shape, np.float32)
        if dz.size > 0:
            args = (dx, dy, cp.array(dz, order="C"), f.saved[0], np.int32(dz.size))
            launch(self.back, (-(-dz.size // 64),), (64,), args)
        return dx, dy


DEVICE.pairs[Hypot] = Both()


# %% exercise=5.6
def way_back(lines):
    parsed = [re.split(r"\W+", line.rstrip(")")) for line in lines]
    back, results = [], [line.split(" = ")[0] for line in lines]
    order = results[::-1] + sorted(set().union(*(names(line.split(" = ")[1]) for line in lines)) - {*results})
    for name in order[1:]:
        parts = []
        for line in lines:
            result, expression = line.split(" = ")
            words = expression.split()
            if len(words) == 3:
                for mine, other in ((words[0], words[2]), (words[2], words[0])):
                    if mine == name:
                        parts.append(f"d{result} * {other}" if words[1] == "*" else f"d{result}")
            elif expression == f"tanhf({name})":
                parts.append(f"(d{result} - d{result} * {result} * {result})")
            elif expression == f"expf({name})":
                parts.append(f"d{result} * {result}")
        back.append(f"d{name} = " + " + ".join(parts))
    return back
