// Each block counts what is not zero in its part, and says whether there is anything and whether it is all.
extern "C" __global__ void nonzeros(const int* x, int* counts, int* any, int* all, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool inside = i < n;
    const int count = __syncthreads_count(inside && x[i] != 0);
    const int some = __syncthreads_or(inside && x[i] != 0);
    const int every = __syncthreads_and(!inside || x[i]);
    assert(count <= blockDim.x && (count > 0) == (some != 0));
    if (threadIdx.x == 0) {
        counts[blockIdx.x] = count;
        any[blockIdx.x] = some != 0;
        all[blockIdx.x] = every != 0;
        if (every && count == blockDim.x) printf("block %d is full: %d\n", blockIdx.x, count);
    }
}
