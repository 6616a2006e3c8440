// Second right answers to the exercises of chapter 05c, by another way than the reference's: each earns all points.

// %% exercise=5.13
// Row after row of the sums, so that only four numbers of a and T / 16 of b are held at a time.
template <int T>
__device__ void multiply(const float* as, const float* bs, float (&sum)[8][T / 16], int depth) {
    const float *a = as + 4 * threadIdx.y, *b = bs + 4 * threadIdx.x;
    for (; depth > 0; depth--, a += T + 4, b += T + 4) {
        float4 y[T / 64];
        for (int group = 0; group < T / 64; group++) y[group] = *(const float4*)&b[64 * group];
        for (int half = 0; half < 2; half++) {
            float4 x = *(const float4*)&a[half * T / 2];
            for (int group = 0; group < T / 64; group++) {
                float4 v = y[group];
                float rows[4] = {x.x, x.y, x.z, x.w}, columns[4] = {v.x, v.y, v.z, v.w};
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++) {
                        float& into = sum[4 * half + i][4 * group + j];
                        into = fmaf(rows[i], columns[j], into);
                    }
            }
        }
    }
}


// %% exercise=5.14
#define ROWS 64
#define COLUMNS 32
#define BLOCK_X 8
#define BLOCK_Y 16
extern "C" __global__ void weight_gradient(const float* x, const float* dy, float* dw, int k, int m, int n) {
    __shared__ __align__(16) float a[4][ROWS + 4], b[4][COLUMNS + 4];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * BLOCK_X + tx;
    int top = blockIdx.y * ROWS, left = blockIdx.x * COLUMNS;
    float4 sum[4] = {};
    for (int start = 0; start < k; start += 4) {
        for (int p = t; p < 4 * ROWS; p += 128) {
            int s = p / ROWS, i = p % ROWS;
            a[s][i] = 0.0f;
            if (start + s < k && top + i < m) a[s][i] = x[(start + s) * m + top + i];
        }
        int s = t / COLUMNS, i = t % COLUMNS;
        b[s][i] = start + s < k && left + i < n ? dy[(start + s) * n + left + i] : 0.0f;
        __syncthreads();
        for (int s = 0; s < 4; s++) {
            float4 u = *(float4*)&a[s][4 * ty], v = *(float4*)&b[s][4 * tx];
            float rows[4] = {u.x, u.y, u.z, u.w};
            for (int i = 0; i < 4; i++) {
                sum[i].x += rows[i] * v.x;
                sum[i].y += rows[i] * v.y;
                sum[i].z += rows[i] * v.z;
                sum[i].w += rows[i] * v.w;
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) {
        float four[4] = {sum[i].x, sum[i].y, sum[i].z, sum[i].w};
        int row = top + 4 * ty + i, col = left + 4 * tx;
        for (int j = 0; j < 4; j++)
            if (row < m && col + j < n) dw[row * n + col + j] = four[j];
    }
}


// %% exercise=5.15
#define DEPTH 8
#define T 32
extern "C" __global__ void mended(const float* x, const float* y, float* C, int k, int m, int n) {
    __shared__ float a[DEPTH][T], b[DEPTH][T];
    int tx = threadIdx.x, ty = threadIdx.y, top = blockIdx.y * T, left = blockIdx.x * T;
    float sum[2][2] = {};
    for (int start = 0; start < k; start += DEPTH) {
        int s = ty % DEPTH, i = tx + 16 * (ty / DEPTH);
        a[s][i] = b[s][i] = 0.0f;
        if (start + s < k) {
            if (top + i < m) a[s][i] = x[(start + s) * m + top + i];
            if (left + i < n) b[s][i] = y[(start + s) * n + left + i];
        }
        __syncthreads();
        for (int s = 0; s < DEPTH; s++)
            for (int u = 0; u < 2; u++)
                for (int v = 0; v < 2; v++) sum[u][v] += a[s][ty + 16 * u] * b[s][tx + 16 * v];
        __syncthreads();
    }
    for (int u = 0, row = top + ty; u < 2; u++, row += 16)
        for (int v = 0, col = left + tx; v < 2; v++, col += 16)
            if (row < m && col < n) C[row * n + col] = sum[u][v];
}


// %% exercise=5.16
extern "C" __global__ void in_turn(const float* x, const float* y, float* C, int k, int m, int n) {
    __shared__ float tiles[4][16][17];  // a column to spare, against bank conflicts
    int tx = threadIdx.x, ty = threadIdx.y, top = blockIdx.y * 16, left = blockIdx.x * 16;
    float sum = 0.0f, next_a = 0.0f, next_b = 0.0f;
    if (ty < k && top + tx < m) next_a = x[ty * m + top + tx];
    if (ty < k && left + tx < n) next_b = y[ty * n + left + tx];
    for (int step = 0; step * 16 < k; step++) {  // fetch the next tile while this one is multiplied
        int from = step % 2 * 2, s = step * 16 + 16 + ty;
        tiles[from][ty][tx] = next_a;
        tiles[from + 1][ty][tx] = next_b;
        __syncthreads();
        next_a = s < k && top + tx < m ? x[s * m + top + tx] : 0.0f;
        next_b = s < k && left + tx < n ? y[s * n + left + tx] : 0.0f;
        for (int i = 0; i < 16; i++) sum = fmaf(tiles[from][i][ty], tiles[from + 1][i][tx], sum);
    }
    if (top + ty < m && left + tx < n) C[(top + ty) * n + left + tx] = sum;
}
