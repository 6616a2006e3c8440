// Inclusive scan of each block's part, after Hillis and Steele: log2(n) steps, each adds what is 1, 2, 4, ...
// to the left. Two rows, so that nobody overwrites what another still reads.
#define THREADS 256

extern "C" __global__ void scan_hillis_steele(const int* x, int* out, int n) {
    __shared__ int rows[2][THREADS];
    int t = threadIdx.x;
    int i = blockIdx.x * THREADS + t;
    int from = 0;
    rows[from][t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int offset = 1; offset < THREADS; offset *= 2) {
        int to = 1 - from;
        rows[to][t] = rows[from][t] + (t >= offset ? rows[from][t - offset] : 0);
        __syncthreads();
        from = to;
    }
    if (i < n) out[i] = rows[from][t];
}
