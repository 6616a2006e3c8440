// softmax of each row of x (rows, cols); one block per row.
#define NEGATIVE_INFINITY __int_as_float(0xff800000)

// Two reductions in shared memory: the largest, then the sum. blockDim.x is a power of two.
extern "C" __global__ void softmax_two_pass(const float* x, float* out, int cols) {
    extern __shared__ float partial[];
    const int t = threadIdx.x;
    const float* row = x + blockIdx.x * cols;

    float largest = NEGATIVE_INFINITY;
    for (int c = t; c < cols; c += blockDim.x) {
        largest = fmaxf(largest, row[c]);
    }
    partial[t] = largest;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) partial[t] = fmaxf(partial[t], partial[t + half]);
        __syncthreads();
    }
    largest = partial[0];
    __syncthreads();  // all have read it before it is overwritten

    float sum = 0.0f;
    for (int c = t; c < cols; c += blockDim.x) {
        sum += expf(row[c] - largest);
    }
    partial[t] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) partial[t] += partial[t + half];
        __syncthreads();
    }
    sum = partial[0];
    for (int c = t; c < cols; c += blockDim.x) {
        out[blockIdx.x * cols + c] = expf(row[c] - largest) / sum;
    }
}

// The largest and the sum so far, together; a warp per row, block (32, rows per block).
struct Running {
    float largest;
    float sum;
};

__device__ Running combine(Running a, Running b) {
    Running both;
    both.largest = fmaxf(a.largest, b.largest);
    both.sum = a.sum * __expf(a.largest - both.largest) + b.sum * __expf(b.largest - both.largest);
    return both;
}

extern "C" __global__ void softmax_online(const float* x, float* out, int rows, int cols) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;  // the whole warp
    // A large negative number, since infinity minus infinity is no number.
    Running mine;
    mine.largest = -3.0e38f;
    mine.sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) {
        Running one;
        one.largest = x[row * cols + c];
        one.sum = 1.0f;
        mine = combine(mine, one);
    }
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        Running other;
        other.largest = __shfl_xor_sync(0xffffffff, mine.largest, lanes);
        other.sum = __shfl_xor_sync(0xffffffff, mine.sum, lanes);
        mine = combine(mine, other);
    }
    for (int c = threadIdx.x; c < cols; c += 32) {
        out[row * cols + c] = __expf(x[row * cols + c] - mine.largest) / mine.sum;
    }
}
