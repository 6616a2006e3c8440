// y = (x - mean) / sqrt(variance + eps) * weight + bias for each row; one block of 128 threads per row.
constexpr int THREADS = 128;

__device__ float block_sum(float value) {
    __shared__ float of_warp[THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0.0f;
    for (int w = 0; w < THREADS / 32; ++w) sum += of_warp[w];
    __syncthreads();  // of_warp is free for the next call
    return sum;
}

extern "C" __global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y,
                                      float* mean_out, float* rstd_out, int cols, float eps) {
    const float* row = x + (long long)blockIdx.x * cols;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += THREADS) sum += row[c];
    const float mean = block_sum(sum) / cols;
    float squares = 0.0f;
    for (int c = threadIdx.x; c < cols; c += THREADS) {
        const float d = row[c] - mean;
        squares += d * d;
    }
    const float rstd = rsqrtf(block_sum(squares) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += THREADS) {
        y[blockIdx.x * cols + c] = (row[c] - mean) * rstd * weight[c] + bias[c];
    }
    if (threadIdx.x == 0) {
        mean_out[blockIdx.x] = mean;
        rstd_out[blockIdx.x] = rstd;
    }
}
