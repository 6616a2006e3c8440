// Taught in solutions/07b_scan.ipynb: what it exports is edited there, then `make promote`.

#define TIME 32            // tokens of a chunk: the lanes of a warp
#define CHANNELS 8         // channels of a block: a warp each
#define ALL 0xffffffffu    // lanes that take part in a shuffle
#define ROW (CHANNELS + 1) // of a tile of tokens by channels in shared memory: one more, against bank conflicts

// Each lane's step becomes all steps from the first lane's to its own: first (a2, b2), then (a, b).
__device__ void scan_up(float& a, float& b) {
    for (int offset = 1; offset < TIME; offset *= 2) {
        float a2 = __shfl_up_sync(ALL, a, offset), b2 = __shfl_up_sync(ALL, b, offset);
        if (threadIdx.x >= offset) {
            b += a * b2;
            a *= a2;
        }
    }
}

// The same from the last lane down to its own.
__device__ void scan_down(float& a, float& b) {
    for (int offset = 1; offset < TIME; offset *= 2) {
        float a2 = __shfl_down_sync(ALL, a, offset), b2 = __shfl_down_sync(ALL, b, offset);
        if (threadIdx.x + offset < TIME) {
            b += a * b2;
            a *= a2;
        }
    }
}

// Rows of `width` numbers of tokens start and on, into shared memory, or 0 beyond the end (T, width).
__device__ void fetch(const float* from, float* to, int start, int T, int first, int count, int width, int row) {
    for (int i = threadIdx.y * TIME + threadIdx.x; i < TIME * count; i += TIME * CHANNELS) {
        int t = start + i / count, c = first + i % count;
        to[i / count * row + i % count] = t < T && c < width ? from[t * width + c] : 0.0f;
    }
}

// x, delta and y (batch, T, E), A (E, N), B and C (batch, T, N), carried (batch, chunks + 1, E, N): the state
// before each chunk, of which the first is given. N is at most 32. Grid (blocks of channels, batch), block
// (TIME, CHANNELS), shared memory for TIME * (2 * ROW + 2 * (N + 1)) floats.
extern "C" __global__ void scan_forward(const float* x, const float* delta, const float* A, const float* B,
                                        const float* C, float* y, float* carried, int T, int E, int N) {
    extern __shared__ float room[];
    float *xs = room, *ds = xs + TIME * ROW, *bs = ds + TIME * ROW, *cs = bs + TIME * (N + 1);
    int lane = threadIdx.x, first = blockIdx.x * CHANNELS, e = first + threadIdx.y, chunks = (T + TIME - 1) / TIME;
    x += blockIdx.y * T * E;
    delta += blockIdx.y * T * E;
    y += blockIdx.y * T * E;
    B += blockIdx.y * T * N;
    C += blockIdx.y * T * N;
    carried += blockIdx.y * (chunks + 1) * E * N + e * N + lane;
    bool holds = e < E && lane < N;  // this lane keeps number `lane` of its channel's state
    float rate = holds ? A[e * N + lane] : 0.0f, state = holds ? carried[0] : 0.0f;
    for (int start = 0; start < T; start += TIME) {
        fetch(x, xs, start, T, first, CHANNELS, E, ROW);
        fetch(delta, ds, start, T, first, CHANNELS, E, ROW);
        fetch(B, bs, start, T, 0, N, N, N + 1);
        fetch(C, cs, start, T, 0, N, N, N + 1);
        __syncthreads();
        float step = ds[lane * ROW + threadIdx.y], in = step * xs[lane * ROW + threadIdx.y], out = 0.0f;
        for (int n = 0; n < N; n++) {
            float a = expf(step * __shfl_sync(ALL, rate, n)), h = in * bs[lane * (N + 1) + n];
            scan_up(a, h);
            h += a * __shfl_sync(ALL, state, n);
            out += h * cs[lane * (N + 1) + n];
            float last = __shfl_sync(ALL, h, TIME - 1);
            if (lane == n) state = last;
        }
        carried += E * N;
        if (holds) *carried = state;
        xs[lane * ROW + threadIdx.y] = out;
        __syncthreads();
        for (int i = threadIdx.y * TIME + lane; i < TIME * CHANNELS; i += TIME * CHANNELS) {
            int t = start + i / CHANNELS, c = first + i % CHANNELS;
            if (t < T && c < E) y[t * E + c] = xs[i / CHANNELS * ROW + i % CHANNELS];
        }
    }
}

// Gradients from dy, of which dA (E, N), dB and dC begin as 0: several blocks add to them. Shared memory for
// TIME * (3 * ROW + 4 * (N + 1)) floats.
extern "C" __global__ void scan_backward(const float* dy, const float* x, const float* delta, const float* A,
                                         const float* B, const float* C, const float* carried, float* dx,
                                         float* ddelta, float* dA, float* dB, float* dC, int T, int E, int N) {
    extern __shared__ float room[];
    float *xs = room, *ds = xs + TIME * ROW, *dys = ds + TIME * ROW, *bs = dys + TIME * ROW;
    float *cs = bs + TIME * (N + 1), *dbs = cs + TIME * (N + 1), *dcs = dbs + TIME * (N + 1);
    int lane = threadIdx.x, first = blockIdx.x * CHANNELS, e = first + threadIdx.y, chunks = (T + TIME - 1) / TIME;
    int tokens = blockIdx.y * T, mine = lane * ROW + threadIdx.y;
    carried += (blockIdx.y * (chunks + 1) + chunks) * E * N + e * N + lane;
    bool holds = e < E && lane < N;
    float rate = holds ? A[e * N + lane] : 0.0f, later = 0.0f, drate = 0.0f;
    for (int start = (chunks - 1) * TIME; start >= 0; start -= TIME) {
        fetch(x + tokens * E, xs, start, T, first, CHANNELS, E, ROW);
        fetch(delta + tokens * E, ds, start, T, first, CHANNELS, E, ROW);
        fetch(dy + tokens * E, dys, start, T, first, CHANNELS, E, ROW);
        fetch(B + tokens * N, bs, start, T, 0, N, N, N + 1);
        fetch(C + tokens * N, cs, start, T, 0, N, N, N + 1);
        for (int i = threadIdx.y * TIME + lane; i < 2 * TIME * (N + 1); i += TIME * CHANNELS) dbs[i] = 0.0f;
        carried -= E * N;
        float state = holds ? *carried : 0.0f, dbx = 0.0f, dstep = 0.0f;
        __syncthreads();
        float step = ds[mine], in = step * xs[mine], slope = dys[mine];
        for (int n = 0; n < N; n++) {
            int at = lane * (N + 1) + n;
            float factor = __shfl_sync(ALL, rate, n), a = expf(step * factor), all = a, h = in * bs[at];
            scan_up(all, h);  // the states once more
            float begin = __shfl_sync(ALL, state, n);
            h += all * begin;
            float before = __shfl_up_sync(ALL, h, 1);
            if (lane == 0) before = begin;
            float g = slope * cs[at];
            all = __shfl_down_sync(ALL, a, 1);  // what fades h on its way to the next token
            if (lane == TIME - 1) all = 1.0f;
            scan_down(all, g);
            g += all * __shfl_sync(ALL, later, n);
            float carry = __shfl_sync(ALL, a * g, 0);
            dbx += g * bs[at];
            atomicAdd(&dbs[at], g * in);
            atomicAdd(&dcs[at], slope * h);
            float fade = g * a * before, part = fade * step;  // of delta A
            dstep += fade * factor;
            for (int offset = TIME / 2; offset > 0; offset /= 2) part += __shfl_xor_sync(ALL, part, offset);
            if (lane == n) {
                later = carry;
                drate += part;
            }
        }
        dstep += dbx * xs[mine];
        __syncthreads();
        xs[mine] = dbx * step;
        ds[mine] = dstep;
        __syncthreads();
        for (int i = threadIdx.y * TIME + lane; i < TIME * CHANNELS; i += TIME * CHANNELS) {
            int t = start + i / CHANNELS, c = first + i % CHANNELS, from = i / CHANNELS * ROW + i % CHANNELS;
            if (t < T && c < E) {
                dx[(tokens + t) * E + c] = xs[from];
                ddelta[(tokens + t) * E + c] = ds[from];
            }
        }
        for (int i = threadIdx.y * TIME + lane; i < TIME * N; i += TIME * CHANNELS) {
            int from = i / N * (N + 1) + i % N;
            if (start + i / N < T) {
                atomicAdd(&dB[(tokens + start) * N + i], dbs[from]);
                atomicAdd(&dC[(tokens + start) * N + i], dcs[from]);
            }
        }
        __syncthreads();
    }
    if (holds) atomicAdd(&dA[e * N + lane], drate);
}
