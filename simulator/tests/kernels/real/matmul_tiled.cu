// C (m, n) = A (m, k) @ B (k, n), tile by tile: each element is read from global memory once per tile.
constexpr int TILE = 16;

extern "C" __global__ void matmul_tiled(const float* A, const float* B, float* C, int m, int n, int k) {
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        // Outside the matrices the tiles hold zeros, which add nothing.
        a[ty][tx] = row < m && start + tx < k ? A[row * k + start + tx] : 0.0f;
        b[ty][tx] = start + ty < k && col < n ? B[(start + ty) * n + col] : 0.0f;
        __syncthreads();  // the tiles are complete
        for (int i = 0; i < TILE; ++i) {
            sum += a[ty][i] * b[i][tx];
        }
        __syncthreads();  // nobody reads them any more
    }
    if (row < m && col < n) {
        C[row * n + col] = sum;
    }
}
