// The sum of x: shuffles within each warp, then the first warp adds the warps' sums.
__device__ __forceinline__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        value += __shfl_down_sync(0xffffffff, value, offset);
    }
    return value;  // of the whole warp, in lane 0
}

// *total is 0 before.
extern "C" __global__ void reduce_shuffle(const float* x, float* total, int n) {
    __shared__ float of_warp[32];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += x[i];
    }
    const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    sum = warp_sum(sum);
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < blockDim.x / warpSize ? of_warp[lane] : 0.0f;
        sum = warp_sum(sum);
        if (lane == 0) atomicAdd(total, sum);
    }
}
