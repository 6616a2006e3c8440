// Second right answers to the exercises of chapter 04c, by another way than the reference's: each earns all points.

// %% exercise=4.17
extern "C" __global__ void block_max(const float* x, float* out, int n) {
    extern __shared__ float part[];
    int t = threadIdx.x, size = blockDim.x, half = 1;
    if (blockIdx.x * size + t < n) part[t] = x[blockIdx.x * size + t];
    else part[t] = __int_as_float(0xff800000);
    while (2 * half < size) half *= 2;  // the largest power of two below size
    for (; half > 0; half >>= 1) {
        __syncthreads();
        if (t < half && t + half < size) part[t] = max(part[t], part[t + half]);
    }
    __syncthreads();
    if (t == 0) out[blockIdx.x] = part[0];
}


// %% exercise=4.18
__device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
    return v;
}

extern "C" __global__ void dot(const float* x, const float* y, float* result, int n) {
    __shared__ float total;
    if (threadIdx.x == 0) total = 0.0f;
    __syncthreads();
    int step = gridDim.x * blockDim.x;
    float v = 0.0f;
    for (int start = blockIdx.x * blockDim.x; start < n; start += step) {
        int i = start + threadIdx.x;
        if (i < n) v = fmaf(x[i], y[i], v);
    }
    __shared__ float of_warp[32];
    v = warp_sum(v);
    of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 0; w < blockDim.x / 32; ++w) total += of_warp[w];
        atomicAdd(&result[0], total);
    }
}


// %% exercise=4.19
extern "C" __global__ void mean_var(const float* x, float* means, float* vars, int rows, int cols) {
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const float* mine = x + row * cols;
    float origin = lane == 0 ? mine[0] : 0.0f;  // distances from the first number lose no digits
    origin = __shfl_sync(0xffffffff, origin, 0);
    float sum = 0.0f, squares = 0.0f;
    for (int c = lane; c < cols; c += 32) {
        float d = mine[c] - origin;
        sum += d;
        squares += d * d;
    }
    for (int offset = 1; offset < 32; offset *= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
        squares += __shfl_xor_sync(0xffffffff, squares, offset);
    }
    if (lane == 0) {
        float d = sum / cols;
        means[row] = origin + d;
        vars[row] = squares / cols - d * d;
    }
}


// %% exercise=4.21
#define TILE 16
__device__ float at(const float* x, int row, int col, int rows, int cols) {
    return row < rows && col < cols ? x[row * cols + col] : 0.0f;
}

extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int ty = threadIdx.y, tx = threadIdx.x;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        __syncthreads();
        a[ty][tx] = at(A, row, start + tx, m, k);
        b[ty][tx] = at(B, start + ty, col, k, n);
        __syncthreads();
        for (int i = 0; i < min(TILE, k - start); ++i) sum += a[ty][i] * b[i][tx];
    }
    if (row >= m || col >= n) return;
    C[row * n + col] = sum;
}


// %% exercise=4.22
#define TILE 16
extern "C" __global__ void linear(const float* x, const float* w, const float* bias, float* y,
                                  int m, int n, int k) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];  // row r of b lies shuffled: column c at c ^ r
    int ty = threadIdx.y, tx = threadIdx.x;
    int row = blockIdx.y * TILE + ty, first = blockIdx.x * TILE, col = first + tx;
    float sum = col < n ? bias[col] : 0.0f;
    for (int start = 0; start < k; start += TILE) {
        a[ty][tx] = row < m && start + tx < k ? x[row * k + start + tx] : 0.0f;
        b[ty][tx ^ ty] = first + ty < n && start + tx < k ? w[(first + ty) * k + start + tx] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum = fmaf(a[ty][i], b[tx][i ^ tx], sum);
        __syncthreads();
    }
    if (row < m && col < n) y[row * n + col] = sum;
}


// %% exercise=4.23
extern "C" __global__ void row_scan(const float* x, float* out, int rows, int cols) {
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const float* from = x + row * cols;
    float* to = out + row * cols;
    float carry = 0.0f;
    for (int start = 0; start < cols; start += 32, from += 32, to += 32) {
        bool there = start + lane < cols;
        float v = there ? from[lane] : 0.0f;
        if (lane == 0) v += carry;  // the total before joins the first number
        for (int k = 0; k < 5; ++k) {
            float before = __shfl_up_sync(0xffffffff, v, 1 << k);
            v += lane >= 1 << k ? before : 0.0f;
        }
        if (there) to[lane] = v;
        carry = __shfl_sync(0xffffffff, v, 31);
    }
}


// %% exercise=4.24
extern "C" __global__ void recurrence(const float* a, const float* b, float* h, int time) {
    extern __shared__ float2 steps[];
    int t = threadIdx.x, i = blockIdx.x * time + t;
    steps[t] = t < time ? make_float2(a[i], b[i]) : make_float2(1.0f, 0.0f);
    for (int offset = 1; offset < blockDim.x; offset *= 2) {
        __syncthreads();
        float2 first = t >= offset ? steps[t - offset] : make_float2(1.0f, 0.0f), then = steps[t];
        __syncthreads();
        steps[t] = make_float2(then.x * first.x, then.x * first.y + then.y);
    }
    if (t < time) h[i] = steps[t].y;
}
