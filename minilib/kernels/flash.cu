// Causal attention whose scores never leave the chip: forward keeps of them one number a query, and backward works
// them out again. q and out (batch, T, heads, d), k and v (batch, S, heads, d), where a token is q_step or k_step
// numbers after the one before; the queries are the last T of S positions. Dao et al. 2022, arXiv:2205.14135.

#define INFINITY __int_as_float(0x7f800000)  // its bits: kernels have no header that names it
#define TILE 16                              // queries, and keys, in a tile
#define WIDEST 64                            // numbers of a head at most
#define EACH (WIDEST / TILE)                 // of them to a thread
#define DROPOUT unsigned key0, unsigned key1, unsigned limit, float scale
#define DROPPED key0, key1, limit, scale

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

// What dropout makes of the weight of query `row` of `T` and key `column` of `S`, as in dropout.cu: 0 or `scale`, and
// without a limit 1.
__device__ float kept(int row, int column, int T, int S, DROPOUT) {
    if (limit == 0) return 1.0f;
    long long sequence = (long long)blockIdx.z * gridDim.y + blockIdx.y, place = (sequence * T + row) * S + column;
    uint4 drawn = philox(make_uint4((unsigned)(place / 4), 0, 0, 0), key0, key1);
    int word = place % 4;
    return (word == 0 ? drawn.x : word == 1 ? drawn.y : word == 2 ? drawn.z : drawn.w) >= limit ? scale : 0.0f;
}

// Tokens start ... start + TILE - 1 of one head into shared memory, times `scale`; 0 beyond the last.
__device__ void fetch(const float* from, float to[TILE][WIDEST + 1], int start, int count, int step, int d,
                      float scale) {
    for (int i = threadIdx.y * TILE + threadIdx.x; i < TILE * d; i += TILE * TILE) {
        int token = start + i / d, c = i % d;
        to[i / d][c] = token < count ? from[(long long)token * step + c] * scale : 0.0f;
    }
}

__device__ float dot(const float* a, const float* b, int d) {
    float sum = 0.0f;
    for (int c = 0; c < d; c++) sum += a[c] * b[c];
    return sum;
}

// out, and lse (batch, heads, T), the logarithm of each query's sum of exp(score). Grid (tiles of queries, heads,
// batch), block (TILE, TILE). Moves q, out and lse, and of k and v for each tile of queries what it sees.
extern "C" __global__ void flash(const float* q, const float* k, const float* v, float* out, float* lse, int T, int S,
                                 int d, int q_step, int k_step, DROPOUT) {
    __shared__ float qs[TILE][WIDEST + 1], ks[TILE][WIDEST + 1], vs[TILE][WIDEST + 1], scores[TILE][TILE];
    __shared__ float stay[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, heads = gridDim.y, row = blockIdx.x * TILE + ty;
    q += (long long)blockIdx.z * T * q_step + blockIdx.y * d;
    k += (long long)blockIdx.z * S * k_step + blockIdx.y * d;
    v += (long long)blockIdx.z * S * k_step + blockIdx.y * d;
    out += ((long long)blockIdx.z * T * heads + blockIdx.y) * d;
    lse += ((long long)blockIdx.z * heads + blockIdx.y) * T;
    float top = -INFINITY, sum = 0.0f, mean[EACH] = {};
    fetch(q, qs, blockIdx.x * TILE, T, q_step, d, rsqrtf(d));
    int seen = min(S, S - T + (int)(blockIdx.x + 1) * TILE);  // keys that the tile's last query may see
    for (int start = 0; start < seen; start += TILE) {
        fetch(k, ks, start, S, k_step, d, 1.0f);
        fetch(v, vs, start, S, k_step, d, 1.0f);
        __syncthreads();
        scores[ty][tx] = start + tx <= S - T + row ? dot(qs[ty], ks[tx], d) : -INFINITY;
        stay[ty][tx] = kept(row, start + tx, T, S, DROPPED);
        __syncthreads();
        float before = top;
        for (int j = 0; j < TILE; j++) top = fmaxf(top, scores[ty][j]);
        float shrink = before == top ? 1.0f : expf(before - top);
        sum *= shrink;
        for (int i = 0; i < EACH; i++) mean[i] *= shrink;
        for (int j = 0; j < TILE; j++) {
            float weight = expf(scores[ty][j] - top);
            sum += weight;
            weight *= stay[ty][j];
            for (int i = 0; tx + i * TILE < d; i++) mean[i] += weight * vs[j][tx + i * TILE];
        }
        __syncthreads();
    }
    if (row >= T) return;
    for (int i = 0; tx + i * TILE < d; i++) out[(long long)row * heads * d + tx + i * TILE] = mean[i] / sum;
    if (tx == 0) lse[row] = top + logf(sum);
}

// dq. With weight = exp(score - lse) a score's slope is weight (grad . v - dots), where dots (batch, heads, T) is
// grad . out of each query. grad lies as out does, dq as q. Grid and block as above. Moves q, grad, dq, lse and dots,
// and k and v as above.
extern "C" __global__ void flash_dq(const float* grad, const float* q, const float* k, const float* v, const float* lse,
                                    const float* dots, float* dq, int T, int S, int d, int q_step, int k_step,
                                    DROPOUT) {
    __shared__ float qs[TILE][WIDEST + 1], gs[TILE][WIDEST + 1], ks[TILE][WIDEST + 1], vs[TILE][WIDEST + 1];
    __shared__ float dscores[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, heads = gridDim.y, row = blockIdx.x * TILE + ty;
    long long place = ((long long)blockIdx.z * heads + blockIdx.y) * T + row;
    q += (long long)blockIdx.z * T * q_step + blockIdx.y * d;
    dq += (long long)blockIdx.z * T * q_step + blockIdx.y * d;
    k += (long long)blockIdx.z * S * k_step + blockIdx.y * d;
    v += (long long)blockIdx.z * S * k_step + blockIdx.y * d;
    grad += ((long long)blockIdx.z * T * heads + blockIdx.y) * d;
    float low = row < T ? lse[place] : 0.0f, along = row < T ? dots[place] : 0.0f, sum[EACH] = {};
    fetch(q, qs, blockIdx.x * TILE, T, q_step, d, rsqrtf(d));
    fetch(grad, gs, blockIdx.x * TILE, T, heads * d, d, 1.0f);
    int seen = min(S, S - T + (int)(blockIdx.x + 1) * TILE);
    for (int start = 0; start < seen; start += TILE) {
        fetch(k, ks, start, S, k_step, d, 1.0f);
        fetch(v, vs, start, S, k_step, d, 1.0f);
        __syncthreads();
        bool sees = row < T && start + tx <= S - T + row;
        float weight = sees ? expf(dot(qs[ty], ks[tx], d) - low) : 0.0f;
        dscores[ty][tx] = weight * (dot(gs[ty], vs[tx], d) * kept(row, start + tx, T, S, DROPPED) - along);
        __syncthreads();
        for (int j = 0; j < TILE; j++) {
            for (int i = 0; tx + i * TILE < d; i++) sum[i] += dscores[ty][j] * ks[j][tx + i * TILE];
        }
        __syncthreads();
    }
    for (int i = 0; tx + i * TILE < d && row < T; i++) {
        dq[(long long)row * q_step + tx + i * TILE] = sum[i] * rsqrtf(d);
    }
}

// dk and dv, which lie as k and v: a block has a tile of keys and goes through the queries that see them. Grid (tiles
// of keys, heads, batch), block as above. Moves k, v, dk and dv, and for each tile of keys of the queries that see them
// q, grad, lse and dots.
extern "C" __global__ void flash_dkv(const float* grad, const float* q, const float* k, const float* v,
                                     const float* lse, const float* dots, float* dk, float* dv, int T, int S, int d,
                                     int q_step, int k_step, DROPOUT) {
    __shared__ float qs[TILE][WIDEST + 1], gs[TILE][WIDEST + 1], ks[TILE][WIDEST + 1], vs[TILE][WIDEST + 1];
    __shared__ float weights[TILE][TILE], dscores[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, heads = gridDim.y, first = blockIdx.x * TILE, key = first + ty;
    long long place = ((long long)blockIdx.z * heads + blockIdx.y) * T;
    q += (long long)blockIdx.z * T * q_step + blockIdx.y * d;
    k += (long long)blockIdx.z * S * k_step + blockIdx.y * d;
    v += (long long)blockIdx.z * S * k_step + blockIdx.y * d;
    dk += (long long)blockIdx.z * S * k_step + blockIdx.y * d;
    dv += (long long)blockIdx.z * S * k_step + blockIdx.y * d;
    grad += ((long long)blockIdx.z * T * heads + blockIdx.y) * d;
    float to_k[EACH] = {}, to_v[EACH] = {};
    fetch(k, ks, first, S, k_step, d, 1.0f);
    fetch(v, vs, first, S, k_step, d, 1.0f);
    int start = max(0, first - (S - T)) / TILE * TILE;  // the first tile with a query that sees the first key
    for (; start < T; start += TILE) {
        fetch(q, qs, start, T, q_step, d, rsqrtf(d));
        fetch(grad, gs, start, T, heads * d, d, 1.0f);
        __syncthreads();
        int row = start + ty;
        bool sees = row < T && first + tx < S && first + tx <= S - T + row;
        float weight = sees ? expf(dot(qs[ty], ks[tx], d) - lse[place + row]) : 0.0f;
        float stay = kept(row, first + tx, T, S, DROPPED);
        weights[ty][tx] = weight * stay;
        dscores[ty][tx] = sees ? weight * (dot(gs[ty], vs[tx], d) * stay - dots[place + row]) : 0.0f;
        __syncthreads();
        for (int j = 0; j < TILE; j++) {
            for (int i = 0; tx + i * TILE < d; i++) {
                to_k[i] += dscores[j][ty] * qs[j][tx + i * TILE];
                to_v[i] += weights[j][ty] * gs[j][tx + i * TILE];
            }
        }
        __syncthreads();
    }
    for (int i = 0; tx + i * TILE < d && key < S; i++) {
        dk[(long long)key * k_step + tx + i * TILE] = to_k[i];
        dv[(long long)key * k_step + tx + i * TILE] = to_v[i];
    }
}
