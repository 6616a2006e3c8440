// Sums and extremes of rows and of columns. A long one goes in pieces, and what the pieces give goes once more.

#define INFINITY __int_as_float(0x7f800000)  // its bits: kernels have no header that names it
#define ALL 0xffffffffu                      // lanes that take part in a shuffle
#define WARPS 8                              // of a block

// How two numbers become one: kind 0 adds, 1 takes the larger, -1 the smaller; a nan stays.
template <int KIND> __device__ float join(float a, float b) {
    if (KIND == 0) return a + b;
    if (a != a || b != b) return a + b;
    return KIND > 0 ? fmaxf(a, b) : fminf(a, b);
}

template <int KIND> __device__ float nothing() { return KIND == 0 ? 0.0f : KIND > 0 ? -INFINITY : INFINITY; }

// y[row, piece] = what `length` numbers of a row of x (rows, columns) give: a block for each. Grid (pieces, rows of a
// turn), block (32 * WARPS). Moves 1 array.
template <int KIND> __global__ void reduce_rows(const float* x, float* y, int rows, int columns, int length) {
    __shared__ float room[WARPS];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, end = min((int)(blockIdx.x + 1) * length, columns);
    for (int row = blockIdx.y; row < rows; row += gridDim.y) {
        const float* from = x + (long long)row * columns;
        float mine = nothing<KIND>();
        for (int c = blockIdx.x * length + threadIdx.x; c < end; c += blockDim.x) mine = join<KIND>(mine, from[c]);
        for (int lanes = 16; lanes > 0; lanes /= 2) mine = join<KIND>(mine, __shfl_xor_sync(ALL, mine, lanes));
        if (lane == 0) room[warp] = mine;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int i = 1; i < WARPS; i++) mine = join<KIND>(mine, room[i]);
            y[(long long)row * gridDim.x + blockIdx.x] = mine;
        }
        __syncthreads();  // before room is used again
    }
}

// y[row] = what a short row of x (rows, columns) gives: a warp for each. Grid (rows / WARPS), block (32 * WARPS). Moves
// x and y.
template <int KIND> __global__ void reduce_short_rows(const float* x, float* y, int rows, int columns) {
    __shared__ float room[WARPS];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.x * WARPS, row = first + warp;
    float mine = nothing<KIND>();
    for (int c = lane; c < columns && row < rows; c += 32) mine = join<KIND>(mine, x[(long long)row * columns + c]);
    for (int lanes = 16; lanes > 0; lanes /= 2) mine = join<KIND>(mine, __shfl_xor_sync(ALL, mine, lanes));
    if (lane == 0) room[warp] = mine;
    __syncthreads();
    if (threadIdx.x < WARPS && first + threadIdx.x < rows) y[first + threadIdx.x] = room[threadIdx.x];
}

// y[piece, column] = what `length` numbers of a column of x (rows, columns) give: 32 columns to a block, a warp reads
// 32 neighbours of one row. Grid (columns / 32, pieces), block (32, WARPS). Moves 1 array.
template <int KIND> __global__ void reduce_columns(const float* x, float* y, int rows, int columns, int length) {
    __shared__ float room[WARPS][32];
    int column = blockIdx.x * 32 + threadIdx.x, end = min((int)(blockIdx.y + 1) * length, rows);
    float mine = nothing<KIND>();
    for (int row = blockIdx.y * length + threadIdx.y; row < end && column < columns; row += WARPS) {
        mine = join<KIND>(mine, x[(long long)row * columns + column]);
    }
    room[threadIdx.y][threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.y == 0 && column < columns) {
        for (int i = 1; i < WARPS; i++) mine = join<KIND>(mine, room[i][threadIdx.x]);
        y[(long long)blockIdx.y * columns + column] = mine;
    }
}
