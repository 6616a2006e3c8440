// One sum per block, by halving: log2(blockDim.x) steps. blockDim.x is a power of two.
extern "C" __global__ void reduce_tree(const float* x, float* sums, int n) {
    extern __shared__ float partial[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    partial[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) {
            partial[t] += partial[t + half];
        }
        __syncthreads();  // for all threads, also those that do not add
    }
    if (t == 0) {
        sums[blockIdx.x] = partial[0];
    }
}
