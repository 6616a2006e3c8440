// Second right answers to the exercises of chapter 08c, by another way than the reference's: each earns all points.

// %% exercise=8.21
__device__ float block_sum(float x) {
    __shared__ float of_thread[256];
    of_thread[threadIdx.x] = x;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) of_thread[threadIdx.x] += of_thread[threadIdx.x + half];
    }
    __syncthreads();
    return of_thread[0];
}

extern "C" __global__ void backward_strided(const float* grad, int row_stride, int column_stride, const float* y,
                                            float* dx, int columns) {
    int row = blockIdx.x;
    float part = 0.0f;
    int c = threadIdx.x;
    while (c < columns) {
        part = fmaf(grad[row * row_stride + c * column_stride], y[row * columns + c], part);
        c += 256;
    }
    float sum = block_sum(part);
    for (c = threadIdx.x; c < columns; c += 256) {
        float g = grad[row * row_stride + c * column_stride];
        dx[row * columns + c] = (g - sum) * y[row * columns + c];
    }
}
