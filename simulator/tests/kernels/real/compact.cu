// The positive elements of x, one after the other. *count is 0 before; the order is that in which warps come.
extern "C" __global__ void compact(const int* x, int* out, int* count, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned lane = threadIdx.x % 32;
    // Threads beyond n stay: the whole warp must vote.
    const int value = i < n ? x[i] : 0;
    const unsigned keep = __ballot_sync(0xffffffff, value > 0);
    int start = 0;
    if (lane == 0) start = atomicAdd(count, __popc(keep));  // one atomic for 32 lanes
    start = __shfl_sync(0xffffffff, start, 0);
    if (value > 0) {
        const unsigned before = keep & ((1u << lane) - 1);
        out[start + __popc(before)] = value;
    }
}
