// Halves in shared memory and in structs, eight of them in one load, and from float and int and back.
#include <cuda_fp16.h>

struct Weighted {
    half value;
    float weight;
};

template <typename T>
__device__ T mixed(const T& a, const T& b, float t) {
    return T(float(a) * (1.0f - t) + float(b) * t);
}

extern "C" __global__ void half_layout(const half* x, half* out, int* whole, float bias, int n) {
    __shared__ half tile[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    half mine = 0;
    if (i < n) mine = x[i];
    tile[threadIdx.x] = mine;
    __syncthreads();
    half near[2] = {tile[threadIdx.x ^ 1], tile[63 - threadIdx.x]};
    Weighted w = {mixed(mine, near[1], 0.25f), 2.0f};
    w.value = w.weight * (float)w.value + bias;
    if (i < n) {
        out[i] = near[0] ? w.value : mine;
        whole[i] = (int)near[1] + (bool)mine;
    }
}

extern "C" __global__ void half_copy(const half* x, half* out, int n8) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n8) reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(x)[i];
}
