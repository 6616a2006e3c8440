// A copy in order of numbers that lie across.

#define TILE 32

// Number (r, c) of a matrix of `rows` and `columns` goes from x[c * x_step + r] to y[r * y_step + c], through a tile in
// shared memory, so that the lanes of a warp read neighbours and write neighbours. Matrix i lies i / inner * outer +
// i % inner * step numbers on. Grid (tiles, matrices of a turn), block (TILE, 8). Moves 2 arrays.
extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns, int x_step, int y_step,
                                     int matrices, int inner, int x_outer, int x_inner, int y_outer, int y_inner) {
    __shared__ float tile[TILE][TILE + 1];
    int across = (columns + TILE - 1) / TILE, row = blockIdx.x / across * TILE, column = blockIdx.x % across * TILE;
    for (int i = blockIdx.y; i < matrices; i += gridDim.y) {
        const float* from = x + i / inner * x_outer + i % inner * x_inner;
        float* to = y + i / inner * y_outer + i % inner * y_inner;
        for (int c = column + threadIdx.y; c < min(column + TILE, columns); c += 8) {
            int r = row + threadIdx.x;
            if (r < rows) tile[c - column][r - row] = from[c * x_step + r];
        }
        __syncthreads();
        for (int r = row + threadIdx.y; r < min(row + TILE, rows); r += 8) {
            int c = column + threadIdx.x;
            if (c < columns) to[r * y_step + c] = tile[c - column][r - row];
        }
        __syncthreads();  // before the tile is used again
    }
}
