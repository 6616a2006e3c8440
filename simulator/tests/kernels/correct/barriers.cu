// Correct kernels: barriers.

// correct: tiled matmul
// launch: <<<(2, 2), (8, 8)>>> A:f32[256]=1..256 B:f32[256]=1..256 C:f32[256] n=16
extern "C" __global__ void k(const float* A, const float* B, float* C, int n) {
    __shared__ float a[8][8], b[8][8];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
    float sum = 0.0f;
    for (int start = 0; start < n; start += 8) {
        a[ty][tx] = A[row * n + start + tx];
        b[ty][tx] = B[(start + ty) * n + col];
        __syncthreads();
        for (int i = 0; i < 8; ++i) {
            sum += a[ty][i] * b[i][tx];
        }
        __syncthreads();
    }
    C[row * n + col] = sum;
}

// correct: tree reduction
// launch: <<<1, 128>>> x:f32[128]=1..128 out:f32[128]
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) out[0] = s[0];
}

// correct: threads return before a barrier
// launch: <<<1, 64>>> x:f32[64]=1..64 y:f32[64] n=50
// expect: note early-return
extern "C" __global__ void k(const float* x, float* y, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t >= n) return;
    s[t] = x[t];
    __syncthreads();
    y[t] = s[n - 1 - t];
}

// correct: two buffers and one barrier a step
// launch: <<<1, 64>>> x:i32[64]=1 out:i32[64]
extern "C" __global__ void k(const int* x, int* out) {
    __shared__ int s[2][64];
    int t = threadIdx.x, from = 0;
    s[0][t] = x[t];
    __syncthreads();
    for (int offset = 1; offset < 64; offset *= 2) {
        s[1 - from][t] = s[from][t] + (t >= offset ? s[from][t - offset] : 0);
        __syncthreads();
        from = 1 - from;
    }
    out[t] = s[from][t];
}

// correct: two buffers, loaded ahead
// launch: <<<1, 64>>> x:f32[256]=1..256 out:f32[64]
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[2][64];
    int t = threadIdx.x;
    float sum = 0.0f;
    s[0][t] = x[t];
    for (int step = 0; step < 4; ++step) {
        __syncthreads();
        if (step < 3) s[(step + 1) % 2][t] = x[64 * (step + 1) + t];
        sum += s[step % 2][63 - t];
    }
    out[t] = sum;
}

// correct: histogram in shared memory
// launch: <<<2, 64>>> x:i32[64]=0..63 out:i32[8]
extern "C" __global__ void k(const int* x, int* out) {
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[x[t] & 7], 1);
    __syncthreads();
    if (t < 8) atomicAdd(&out[t], bins[t]);
}

// correct: shared memory as a scratch of one's own
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[4][64];
    int t = threadIdx.x;
    for (int j = 0; j < 4; ++j) s[j][t] = j * x[t];
    out[t] = s[3][t] - s[1][t];
}

// correct: barrier in a branch that a whole block takes
// launch: <<<2, 64>>> x:f32[64]=1..64 out:f32[64]
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (blockIdx.x == 1) {
        s[t] = x[t];
        __syncthreads();
        out[t] = s[63 - t];
    }
}

// correct: barrier in a loop of equal length
// launch: <<<1, 64>>> x:f32[64]=1..64 y:f32[64] n=3
extern "C" __global__ void k(const float* x, float* y, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    int step = 0;
    do {
        s[t] = x[t] * step;
        __syncthreads();
        sum += s[63 - t];
        __syncthreads();
    } while (++step < n);
    y[t] = sum;
}

// correct: barrier in a function
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
__device__ float turned(float* s, float v) {
    s[threadIdx.x] = v;
    __syncthreads();
    return s[63 - threadIdx.x];
}
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    out[threadIdx.x] = turned(s, x[threadIdx.x]);
    __syncthreads();
    out[threadIdx.x] += turned(s, 1.0f);
}

// correct: written, read by others, written again
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int j = 0; j < 3; ++j) {
        s[(t + j) % 64] = x[t];
        __syncthreads();
        sum += s[t];
        __syncthreads();
    }
    out[t] = sum;
}

// correct: threads take turns, ordered by barriers
// launch: <<<1, 64>>> x:f32[1]=1
extern "C" __global__ void k(float* x) {
    for (int turn = 0; turn < 64; turn += 16) {
        if (threadIdx.x == turn) x[0] += turn;
        __syncthreads();
    }
}

// correct: dynamic shared memory, just enough
// launch: <<<1, 64, 256>>> x:f32[64]=1..64 out:f32[64]
extern "C" __global__ void k(const float* x, float* out) {
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    out[t] = s[63 - t];
}

// correct: until nobody has anything left
// launch: <<<2, 64>>> x:f32[64]=1..64 out:f32[128]
// expect: same-value
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    while (__syncthreads_or(s[t] > 2.0f)) {
        s[t] = 0.5f * s[t];
    }
    int many = __syncthreads_count(s[t] > 1.5f);
    out[t] = s[63 - t] + many;
    assert(__syncthreads_and(s[t] <= 2.0f));
    if (t == 0) printf("%d are left\n", many);
}
