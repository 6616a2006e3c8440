// Each block makes one row of probabilities: stored in half, computed in float.
#include <cuda_fp16.h>

#define THREADS 64

__device__ float over_block(float value, bool largest) {
    __shared__ float parts[THREADS];
    parts[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {  // the name is free inside
        if (threadIdx.x < half) {
            float other = parts[threadIdx.x + half];
            parts[threadIdx.x] = largest ? fmaxf(parts[threadIdx.x], other) : parts[threadIdx.x] + other;
        }
        __syncthreads();
    }
    float result = parts[0];
    __syncthreads();
    return result;
}

extern "C" __global__ void softmax_half(const half* __restrict__ x, __half* __restrict__ y, int cols, half scale) {
    const half* row = x + blockIdx.x * cols;
    float largest = -3.4e38f, sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += THREADS) largest = fmaxf(largest, __half2float(row[c]));
    largest = over_block(largest, true);
    for (int c = threadIdx.x; c < cols; c += THREADS) sum += expf((float)scale * (float(row[c]) - largest));
    sum = over_block(sum, false);
    assert(sum > 0.0f && "a row without numbers");
    for (int c = threadIdx.x; c < cols; c += THREADS) {
        float p = expf(__half2float(scale) * (__half2float(row[c]) - largest)) / sum;
        y[blockIdx.x * cols + c] = __float2half(p);
    }
}
