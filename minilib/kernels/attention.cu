// Taught in solutions/06b_attention.ipynb: what it exports is edited there, then `make promote`.

#define INFINITY __int_as_float(0x7f800000)  // its bits: kernels have no header that names it
#define TILE 16                              // queries, and keys, in a tile
#define WIDEST 64                            // numbers of a head at most

// The pair (m, d) joins (m2, d2): the largest so far, and the sum of exp(x - m).
__device__ void merge(float& m, float& d, float m2, float d2) {
    float top = fmaxf(m, m2), from = top == -INFINITY ? 0.0f : top;
    d = d * expf(m - from) + d2 * expf(m2 - from);
    m = top;
}

// Causal attention: q and out (heads, T, d), k and v (heads, S, d); the queries are the last T of S positions.
// Grid (tiles of queries, heads), block (TILE, TILE).
extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* out,
                                     int T, int S, int d) {
    __shared__ float qs[TILE][WIDEST + 1], ks[TILE][WIDEST + 1], vs[TILE][WIDEST], scores[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.x * TILE + ty;
    q += blockIdx.y * T * d;
    out += blockIdx.y * T * d;
    k += blockIdx.y * S * d;
    v += blockIdx.y * S * d;
    float m = -INFINITY, sum = 0.0f, mean[WIDEST / TILE] = {};
    for (int c = tx; c < d; c += TILE) qs[ty][c] = row < T ? q[row * d + c] * rsqrtf(d) : 0.0f;
    int seen = min(S, S - T + ((int)blockIdx.x + 1) * TILE);  // keys that the tile's last query may see
    for (int start = 0; start < seen; start += TILE) {
        for (int c = tx; c < d; c += TILE) {
            ks[ty][c] = start + ty < S ? k[(start + ty) * d + c] : 0.0f;
            vs[ty][c] = start + ty < S ? v[(start + ty) * d + c] : 0.0f;
        }
        __syncthreads();
        float score = 0.0f;
        for (int c = 0; c < d; c++) score += qs[ty][c] * ks[tx][c];
        scores[ty][tx] = start + tx <= S - T + row ? score : -INFINITY;
        __syncthreads();
        float before = m, m2 = -INFINITY, d2 = 0.0f;
        for (int j = 0; j < TILE; j++) merge(m2, d2, scores[ty][j], 1.0f);
        merge(m, sum, m2, d2);
        for (int i = 0; i < WIDEST / TILE; i++) mean[i] *= expf(before - m);
        for (int j = 0; j < TILE; j++) {
            float weight = expf(scores[ty][j] - m);
            for (int i = 0; tx + i * TILE < d; i++) mean[i] += weight * vs[j][tx + i * TILE];
        }
        __syncthreads();
    }
    for (int i = 0; tx + i * TILE < d && row < T; i++) out[row * d + tx + i * TILE] = mean[i] / sum;
}
