// Taught in chapters/05d_training.ipynb: what it exports is edited there, then `make promote`.

#define THREADS 256

// Philox4x32-10 of Salmon, Moraes, Dror and Shaw 2011: ten rounds that scramble a counter of four words by a key.
__device__ uint4 philox(uint4 x, unsigned key0, unsigned key1) {
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(0xD2511F53u, x.x), low0 = 0xD2511F53u * x.x;
        unsigned high1 = __umulhi(0xCD9E8D57u, x.z), low1 = 0xCD9E8D57u * x.z;
        x = make_uint4(high1 ^ x.y ^ key0, low1, high0 ^ x.w ^ key1, low0);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return x;
}

// y = x times `scale` where the number drawn is at least `limit`, else 0: four numbers to a thread.
// The gradient goes the same way. Grid (n / 4 / THREADS), block (THREADS). Moves 2 arrays.
extern "C" __global__ void dropout(const float* x, float* y, unsigned key0, unsigned key1,
                                   unsigned limit, float scale, int n) {
    __shared__ __align__(16) unsigned drawn[4 * THREADS];
    int t = threadIdx.x, first = blockIdx.x * 4 * THREADS;
    *(uint4*)(drawn + 4 * t) = philox(make_uint4(blockIdx.x * THREADS + t, 0, 0, 0), key0, key1);
    __syncthreads();
    for (int i = t; i < 4 * THREADS && i < n - first; i += THREADS) {
        y[first + i] = drawn[i] >= limit ? x[first + i] * scale : 0.0f;
    }
}
