// y = A (rows, cols) @ x, one warp per row: its lanes read side by side.
extern "C" __global__ void matvec_warp(const float* A, const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    const int lane = threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int c = lane; c < cols; c += warpSize) {
        sum += A[row * cols + c] * x[c];
    }
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (lane == 0) y[row] = sum;
}
