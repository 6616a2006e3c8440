extern "C" __global__ void histogram(const int *x, int *counts) {
    __shared__ int bins[256];
    int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    for (int i = 0; i < 16; i++) atomicAdd(&bins[x[(blockIdx.x * 16 + i) * 256 + t]], 1);
    __syncthreads();
    atomicAdd(&counts[t], bins[t]);
}
