// Second right answers to the exercises of chapter 04b, by another way than the reference's: each earns all points.

// %% exercise=4.10
extern "C" __global__ void reverse_pieces(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int from = blockIdx.x * blockDim.x, to = from + blockDim.x;
    if (to > n) to = n;
    float mine = x[i];
    __syncthreads();
    x[from + to - 1 - i] = mine;
}


// %% exercise=4.11
extern "C" __global__ void warm(float* x, int n, int rounds) {
    __shared__ float rods[2][256];
    int t = threadIdx.x, now = 0;
    if (t < n) rods[0][t] = rods[1][t] = x[t];
    __syncthreads();
    for (int r = 0; r < rounds; r++, now ^= 1) {
        const float* rod = rods[now];
        if (t > 0 && t < n - 1) rods[now ^ 1][t] = (rod[t - 1] + rod[t] + rod[t + 1]) / 3.0f;
        __syncthreads();
    }
    if (t < n) x[t] = rods[now][t];
}


// %% exercise=4.12
extern "C" __global__ void look_back(float a, float b, float c, float d, const float* x, float* y, int n) {
    __shared__ float board[259];
    const float w[4] = {d, c, b, a};
    int first = blockIdx.x * blockDim.x;
    for (int k = threadIdx.x; k < blockDim.x + 3; k += blockDim.x) {
        int j = first + k - 3;
        board[k] = 0.0f;
        if (j >= 0 && j < n) board[k] = x[j];
    }
    __syncthreads();
    if (first + threadIdx.x >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < 4; k++) sum += w[k] * board[threadIdx.x + k];
    y[first + threadIdx.x] = sum;
}


// %% exercise=4.13
extern "C" __global__ void quarter(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, left = blockIdx.x * 32, top = blockIdx.y * 32;
    if (top + ty < rows && left + tx < cols) tile[ty][tx ^ ty] = in[(top + ty) * cols + left + tx];
    __syncthreads();
    if (top + tx < rows && left + ty < cols) {
        out[(left + ty) * rows + (rows - 1 - top - tx)] = tile[tx][ty ^ tx];
    }
}


// %% exercise=4.14
extern "C" __global__ void count_above(const float* x, float limit, unsigned int* count, int n) {
    __shared__ int board[256];
    int t = threadIdx.x, step = blockDim.x * gridDim.x;
    board[t] = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += step) board[t] += x[i] > limit ? 1 : 0;
    __syncthreads();
    if (t != 0) return;
    for (int k = 1; k < blockDim.x; k++) board[0] += board[k];
    if (board[0] > 0) atomicAdd(count, (unsigned int)board[0]);
}


// %% exercise=4.15
extern "C" __global__ void cartesian(const float* polar, float* out, int n) {
    __shared__ float board[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    if (i < 2 * n) board[t] = polar[i];
    __syncthreads();
    if (i < 2 * n) {
        float r = board[t - t % 2], angle = board[t | 1];
        out[i] = r * (t % 2 ? sinf(angle) : cosf(angle));
    }
}


// %% exercise=4.16
extern "C" __global__ void norm_once(const float* x, float* squares, float* norm,
                                     unsigned int* tickets, int n) {
    __shared__ float board[256];
    __shared__ bool last;
    int t = threadIdx.x;
    board[t] = 0.0f;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x) board[t] += x[i] * x[i];
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < blockDim.x; k++) board[0] += board[k];
        squares[blockIdx.x] = board[0];
        __threadfence();
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;  // wraps to 0
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        float sum = 0.0f;
        for (int b = 0; b < gridDim.x; b++) sum += squares[b];
        *norm = sqrtf(sum);
    }
}
