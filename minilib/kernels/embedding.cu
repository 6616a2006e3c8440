// Rows of a table.

#define ALL 0xffffffffu  // lanes that take part in a shuffle
#define FEW 4            // rows of a warp: their numbers are one sector

// The number of the row that this warp's row i asks for, of n; -1 beyond the end. Lanes 0 to FEW - 1 read them.
__device__ int wanted(const long long* index, int first, int n) {
    int lane = threadIdx.x % 32;
    return lane < FEW && first + lane < n ? (int)index[first + lane] : -1;
}

// weight (rows, d), index (n,): out (n, d). Grid (n / rows of a block), block (a warp for FEW rows). Moves
// index, a row of the weight for each, and out.
extern "C" __global__ void embedding(const float* weight, const long long* index, float* out, int n, int d) {
    int lane = threadIdx.x % 32, first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * FEW;
    int rows = wanted(index, first, n);
    for (int i = 0; i < FEW; i++) {
        int row = __shfl_sync(ALL, rows, i);
        for (int c = lane; c < d && row >= 0; c += 32) out[(first + i) * d + c] = weight[row * d + c];
    }
}

// dweight (rows, d), which begins as 0, from dout: each adds to its row, but for row `padding`. In which order is
// not said: sums of the same numbers may differ in their last digits. Moves index and dout; what atomics move
// comes on top.
extern "C" __global__ void embedding_backward(const float* dout, const long long* index, float* dweight, int n,
                                              int d, int padding) {
    int lane = threadIdx.x % 32, first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * FEW;
    int rows = wanted(index, first, n);
    for (int i = 0; i < FEW; i++) {
        int row = __shfl_sync(ALL, rows, i);
        for (int c = lane; c < d && row >= 0 && row != padding; c += 32)
            atomicAdd(&dweight[row * d + c], dout[(first + i) * d + c]);
    }
}
