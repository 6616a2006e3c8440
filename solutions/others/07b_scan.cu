// Second right answers to the exercises of chapter 07b, by another way than the reference's: each earns all points.

// %% exercise=7.10
#define TIME 32
#define CHANNELS 8
#define ALL 0xffffffffu
#define ROW (CHANNELS + 1)

__device__ void fetch(const float* from, float* to, int start, int T, int first, int count, int width, int row) {
    for (int i = threadIdx.y * TIME + threadIdx.x; i < TIME * count; i += TIME * CHANNELS) {
        int t = start + i / count, c = first + i % count;
        to[i / count * row + i % count] = t < T && c < width ? from[t * width + c] : 0.0f;
    }
}

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
    bool holds = e < E && lane < N;
    float rate = holds ? A[e * N + lane] : 0.0f, state = holds ? carried[0] : 0.0f;
    for (int chunk = 0; chunk < chunks; chunk++) {
        int start = chunk * TIME;
        fetch(x, xs, start, T, first, CHANNELS, E, ROW);
        fetch(delta, ds, start, T, first, CHANNELS, E, ROW);
        fetch(B, bs, start, T, 0, N, N, N + 1);
        fetch(C, cs, start, T, 0, N, N, N + 1);
        __syncthreads();
        float out = 0.0f;
        for (int t = 0; t < TIME; t++) {
            float d = ds[t * ROW + threadIdx.y], v = xs[t * ROW + threadIdx.y], part = 0.0f;
            if (lane < N) {
                state = expf(d * rate) * state + d * v * bs[t * (N + 1) + lane];
                part = state * cs[t * (N + 1) + lane];
            }
            for (int offset = 16; offset > 0; offset /= 2) part += __shfl_xor_sync(ALL, part, offset);
            if (lane == t) out = part;
        }
        if (holds) carried[(chunk + 1) * E * N] = state;
        __syncthreads();
        xs[lane * ROW + threadIdx.y] = out;
        __syncthreads();
        int i = threadIdx.y * TIME + lane, t = start + i / CHANNELS, c = first + i % CHANNELS;
        if (t < T && c < E) y[t * E + c] = xs[i / CHANNELS * ROW + i % CHANNELS];
    }
}
