// Planted bugs: barriers missing: races in a block.

// bug: matmul without its first barrier
// launch: <<<(2, 2), (8, 8)>>> A:f32[256]=1..256 B:f32[256]=1..256 C:f32[256] n=16
// expect: races shared array=b
extern "C" __global__ void k(const float* A, const float* B, float* C, int n) {
    __shared__ float a[8][8], b[8][8];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
    float sum = 0.0f;
    for (int start = 0; start < n; start += 8) {
        a[ty][tx] = A[row * n + start + tx];
        b[ty][tx] = B[(start + ty) * n + col];  // OTHER
        
        for (int i = 0; i < 8; ++i) {
            sum += a[ty][i] * b[i][tx];  // BUG
        }
        __syncthreads();
    }
    C[row * n + col] = sum;
}

// bug: matmul without its second barrier
// launch: <<<(2, 2), (8, 8)>>> A:f32[256]=1..256 B:f32[256]=1..256 C:f32[256] n=16
// expect: races shared array=b
extern "C" __global__ void k(const float* A, const float* B, float* C, int n) {
    __shared__ float a[8][8], b[8][8];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
    float sum = 0.0f;
    for (int start = 0; start < n; start += 8) {
        a[ty][tx] = A[row * n + start + tx];
        b[ty][tx] = B[(start + ty) * n + col];  // BUG
        __syncthreads();
        for (int i = 0; i < 8; ++i) {
            sum += a[ty][i] * b[i][tx];  // OTHER
        }
        
    }
    C[row * n + col] = sum;
}

// bug: reduction without the barrier in its loop
// launch: <<<1, 128>>> x:f32[128]=1..128 out:f32[128]
// expect: races shared array=s
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];  // BUG
    }
    if (t == 0) out[0] = s[0];
}

// bug: reduction without the barrier after loading
// launch: <<<1, 128>>> x:f32[128]=1..128 out:f32[128]
// expect: races shared array=s
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];  // OTHER
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];  // BUG
        __syncthreads();
    }
    if (t == 0) out[0] = s[0];
}

// bug: stencil without its barrier
// launch: <<<1, 64>>> x:f32[64]=1..64 y:f32[64] n=64
// expect: races shared array=part
extern "C" __global__ void k(const float* x, float* y, int n) {
    __shared__ float part[66];
    int t = threadIdx.x;
    part[t + 1] = x[t];  // OTHER
    if (t == 0) part[0] = part[65] = 0.0f;
    y[t] = part[t] + part[t + 1] + part[t + 2];  // BUG
}

// bug: scan in one row
// launch: <<<1, 64>>> x:i32[64]=1 out:i32[64]
// expect: races shared array=s
extern "C" __global__ void k(const int* x, int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int offset = 1; offset < 64; offset *= 2) {
        if (t >= offset) s[t] += s[t - offset];  // BUG
        __syncthreads();
    }
    out[t] = s[t];
}

// bug: a result is overwritten while others read it
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
// expect: races shared array=s index=0
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    float first = s[0];  // OTHER
    s[t] = first + t;  // BUG
    __syncthreads();
    out[t] = s[63 - t];
}

// bug: one thread tells the others without a barrier
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
// expect: races shared array=scale
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float scale;
    int t = threadIdx.x;
    if (t == 0) scale = 2.0f * x[0];  // OTHER
    out[t] = scale * x[t];  // BUG
}

// bug: counters are cleared without a barrier before they count
// launch: <<<1, 64>>> x:i32[64]=63..0 out:i32[64]
// expect: races shared array=bins
extern "C" __global__ void k(const int* x, int* out) {
    __shared__ int bins[64];
    int t = threadIdx.x;
    bins[t] = 0;  // OTHER
    atomicAdd(&bins[x[t]], 1);  // BUG
    __syncthreads();
    out[t] = bins[t];
}

// bug: shared atomics read without a barrier
// launch: <<<1, 64>>> x:i32[64]=9 out:i32[1]
// expect: races shared array=count index=0
extern "C" __global__ void k(const int* x, int* out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (threadIdx.x < 32 && x[threadIdx.x] > 3) atomicAdd(&count, 1);  // OTHER
    if (threadIdx.x == 40) out[0] = count;  // BUG
}
