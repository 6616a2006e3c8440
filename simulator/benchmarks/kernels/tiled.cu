extern "C" __global__ void tiled(const float *a, const float *b, int n, int m, float *c) {
    __shared__ float left[16][16];
    __shared__ float right[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int tile = 0; tile < m; tile += 16) {
        left[ty][tx] = a[row * m + tile + tx];
        right[ty][tx] = b[(tile + ty) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += left[ty][k] * right[k][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
