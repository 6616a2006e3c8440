// C = A B: rows of A, (n, k), times columns of B, (k, m), give C (n, m), and `batches` of such products. Where
// `biased`, each row of C gets the bias (m,) too.
//
// Number (i, k) of an operand, i along n or m, is reached by a step along one of the two, and along the other
// numbers are neighbours: so the transposed matrices of the way back need no copy. What a kernel moves is
// said for rows that begin at a sector of 32 bytes; others cost up to a quarter more.

#define SIDE 16    // of a tile of the simple kernel
#define DEPTH 32   // numbers along k of a tile with registers
#define DEEP 1     // a way in which an operand lies: neighbours along k, and else along i
#define WIDE 2     // and another: four neighbours are aligned, and none of four lies beyond the end

#define ARGUMENTS                                                                                                 \
    const float *A, const float *B, const float *bias, float *C, int n, int m, int depth, int batches, int inner, \
        int A_way, int A_step, int A_outer, int A_inner, int B_way, int B_step, int B_outer, int B_inner, int biased
#define GIVEN                                                                                                   \
    A, B, bias, C, n, m, depth, batches, inner, A_way, A_step, A_outer, A_inner, B_way, B_step, B_outer, B_inner, \
        biased

// Where the matrix of a product begins: the leading axes are two, the second of them of length `inner`.
__device__ int place(int product, int inner, int outer_step, int inner_step) {
    return product / inner * outer_step + product % inner * inner_step;
}

// A number for each thread, of an operand's tile of SIDE x SIDE: (i, k) goes to tile[k * row + i], 0 beyond the
// end. Lanes walk along neighbours.
__device__ void fetch_one(float* tile, int row, const float* from, int step, int way, int first, int start,
                          int across, int depth) {
    bool deep = way & DEEP;
    int i = first + (deep ? threadIdx.y : threadIdx.x), k = start + (deep ? threadIdx.x : threadIdx.y);
    int at = deep ? i * step + k : k * step + i;
    tile[(k - start) * row + i - first] = i < across && k < depth ? from[at] : 0.0f;
}

// A patch of 4 x 4 numbers for each thread, of an operand's tile of T x DEPTH: number (i, k) goes to
// tile[k * (T + 4) + i], so that both products of the tile read along i, four at a time, without conflicts.
template <int T>
__device__ void fetch(float* tile, const float* from, int step, int way, int first, int start, int across,
                      int depth) {
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    if (way == (DEEP | WIDE)) {  // a warp: 16 rows of 32 numbers along k, turned in registers
        int i = t / 32 * 16 + t % 4 * 4, k = t % 32 / 4 * 4;
        float patch[4][4];
        for (int r = 0; r < 4; r++) {
            float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (first + i + r < across && start + k < depth)
                four = *(const float4*)(from + (first + i + r) * step + start + k);
            patch[0][r] = four.x, patch[1][r] = four.y, patch[2][r] = four.z, patch[3][r] = four.w;
        }
        for (int c = 0; c < 4; c++)
            *(float4*)(tile + (k + c) * (T + 4) + i) = make_float4(patch[c][0], patch[c][1], patch[c][2], patch[c][3]);
    } else if (way == DEEP) {  // a warp: 32 numbers along k of one row after the other
        int k = t % 32;
        for (int i = t / 32 * 16; i < t / 32 * 16 + 16; i += 4) {
            float row[4];
            for (int r = 0; r < 4; r++) {
                int at = (first + i + r) * step + start + k;
                row[r] = first + i + r < across && start + k < depth ? from[at] : 0.0f;
            }
            *(float4*)(tile + k * (T + 4) + i) = make_float4(row[0], row[1], row[2], row[3]);
        }
    } else if (way == WIDE) {
        for (int p = t; p < T / 4 * DEPTH; p += 2 * T) {
            int i = p % (T / 4) * 4, k = p / (T / 4);
            float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (first + i < across && start + k < depth)
                four = *(const float4*)(from + (start + k) * step + first + i);
            *(float4*)(tile + k * (T + 4) + i) = four;
        }
    } else {
        for (int p = t; p < T * DEPTH; p += 2 * T) {
            int i = p % T, k = p / T;
            int at = (start + k) * step + first + i;
            tile[k * (T + 4) + i] = first + i < across && start + k < depth ? from[at] : 0.0f;
        }
    }
}

// A number of C for each thread, and tiles of SIDE x SIDE of A and B in shared memory: where n or m is small.
// Grid (tiles of C, products or less), block (SIDE, SIDE). Moves A once for each SIDE columns of C, B once for
// each SIDE rows, and C.
extern "C" __global__ void matmul_simple(ARGUMENTS) {
    __shared__ float as[SIDE * (SIDE + 2)], bs[SIDE * (SIDE + 2)];
    int a_row = A_way & DEEP ? SIDE + 2 : SIDE, b_row = B_way & DEEP ? SIDE + 2 : SIDE;  // no two lanes in one bank
    int across = (m + SIDE - 1) / SIDE, row = blockIdx.x / across * SIDE, column = blockIdx.x % across * SIDE;
    int i = row + threadIdx.y, j = column + threadIdx.x;
    for (int p = blockIdx.y; p < batches; p += gridDim.y) {
        const float* a = A + place(p, inner, A_outer, A_inner);
        const float* b = B + place(p, inner, B_outer, B_inner);
        float sum = 0.0f;
        for (int start = 0; start < depth; start += SIDE) {
            fetch_one(as, a_row, a, A_step, A_way, row, start, n, depth);
            fetch_one(bs, b_row, b, B_step, B_way, column, start, m, depth);
            __syncthreads();
            for (int k = 0; k < SIDE; k++) sum += as[k * a_row + threadIdx.y] * bs[k * b_row + threadIdx.x];
            __syncthreads();
        }
        if (i < n && j < m) C[(p * n + i) * m + j] = sum + (biased ? bias[j] : 0.0f);
    }
}

// A tile of T x T of C, for each product of this block. Each thread has 8 rows, four by four T / 2 apart, and
// T / 16 columns, four by four 64 apart: a step along k reads 8 + T / 16 numbers for 8 * T / 16 products.
template <int T>
__device__ void product(const float* A, const float* B, const float* bias, float* C, int n, int m, int depth,
                        int batches, int inner, int A_way, int A_step, int A_outer, int A_inner, int B_way,
                        int B_step, int B_outer, int B_inner, int biased) {
    __shared__ __align__(16) float as[DEPTH * (T + 4)];
    __shared__ __align__(16) float bs[DEPTH * (T + 4)];
    const int COLUMNS = T / 16;
    int across = (m + T - 1) / T, row = blockIdx.x / across * T, column = blockIdx.x % across * T;
    int up = threadIdx.y * 4, left = threadIdx.x * 4, lane = (threadIdx.y * 16 + threadIdx.x) % 32;
    float add[T / 32];
    for (int q = 0; q < T / 32; q++) {
        int j = column + q * 32 + lane;
        add[q] = biased && j < m ? bias[j] : 0.0f;
    }
    for (int p = blockIdx.y; p < batches; p += gridDim.y) {
        const float* a = A + place(p, inner, A_outer, A_inner);
        const float* b = B + place(p, inner, B_outer, B_inner);
        float sum[8][COLUMNS] = {};
        for (int start = 0; start < depth; start += DEPTH) {
            fetch<T>(as, a, A_step, A_way, row, start, n, depth);
            fetch<T>(bs, b, B_step, B_way, column, start, m, depth);
            __syncthreads();
            int end = min(DEPTH, depth - start);
            for (int k = 0; k < end; k++) {
                float x[8], y[COLUMNS];
#pragma unroll
                for (int i = 0; i < 8; i += 4) {
                    float4 four = *(const float4*)(as + k * (T + 4) + i / 4 * (T / 2) + up);
                    x[i] = four.x, x[i + 1] = four.y, x[i + 2] = four.z, x[i + 3] = four.w;
                }
#pragma unroll
                for (int j = 0; j < COLUMNS; j += 4) {
                    float4 four = *(const float4*)(bs + k * (T + 4) + j / 4 * 64 + left);
                    y[j] = four.x, y[j + 1] = four.y, y[j + 2] = four.z, y[j + 3] = four.w;
                }
#pragma unroll
                for (int i = 0; i < 8; i++)
#pragma unroll
                    for (int j = 0; j < COLUMNS; j++) sum[i][j] += x[i] * y[j];
            }
            __syncthreads();
        }
        float* c = C + p * n * m;
        for (int i = 0; i < 8; i++) {  // row by row through the tile of A, so that each warp writes whole lines
            for (int j = 0; j < COLUMNS; j += 4)
                *(float4*)(as + threadIdx.y * (T + 4) + j / 4 * 64 + left) =
                    make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
            __syncwarp();
            for (int q = 0; q < T / 16; q++) {
                int y = threadIdx.y / 2 * 2 + q / (T / 32), from = q % (T / 32) * 32 + lane;
                int to = row + i / 4 * (T / 2) + y * 4 + i % 4;
                if (to < n && column + from < m)
                    c[to * m + column + from] = as[y * (T + 4) + from] + add[q % (T / 32)];
            }
            __syncwarp();
        }
        __syncthreads();
    }
}

// Tiles of T x T of C by registers, of T x DEPTH of A and B in shared memory. Grid (tiles of C, products or less),
// block (16, T / 8). They move A once for each T columns of C, B once for each T rows, and C.
extern "C" __global__ void matmul_64(ARGUMENTS) { product<64>(GIVEN); }

extern "C" __global__ void __launch_bounds__(256) matmul_128(ARGUMENTS) { product<128>(GIVEN); }
