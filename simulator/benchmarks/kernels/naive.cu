extern "C" __global__ void naive(const float *a, const float *b, int n, int m, float *c) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < m; k++) sum += a[row * m + k] * b[k * n + column];
    c[row * n + column] = sum;
}
