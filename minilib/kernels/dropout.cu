// Taught in chapters/05d_training.ipynb: what it exports is edited there, then `make promote`.

// Ten rounds that scramble a counter of four words by a key of two.
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

// y = x times `scale` where the number drawn is at least `limit`, else 0; four neighbours to a thread. The gradient
// goes the same way. Grid (n / 4 / threads), block (threads). Moves 2 arrays.
extern "C" __global__ void dropout(const float* x, float* y, unsigned key0, unsigned key1, unsigned limit, float scale,
                                   int n) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x, i = 4 * thread;
    uint4 drawn = philox(make_uint4(thread, 0, 0, 0), key0, key1);
    if (i < n) y[i] = drawn.x >= limit ? x[i] * scale : 0.0f;
    if (i + 1 < n) y[i + 1] = drawn.y >= limit ? x[i + 1] * scale : 0.0f;
    if (i + 2 < n) y[i + 2] = drawn.z >= limit ? x[i + 2] * scale : 0.0f;
    if (i + 3 < n) y[i + 3] = drawn.w >= limit ? x[i + 3] * scale : 0.0f;
}
