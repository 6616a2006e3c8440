// out = in^T through a tile in shared memory, so that reads and writes are both side by side.
// Block (32, 8): each thread moves four elements.
#define TILE 32
#define ROWS 8

// A column of this tile lies in one bank: every read of it is a 32-way conflict.
extern "C" __global__ void transpose_tiled_32(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[TILE][TILE];
    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) {
        if (row + j < rows && col < cols) {
            tile[threadIdx.y + j][threadIdx.x] = in[(row + j) * cols + col];
        }
    }
    __syncthreads();
    // The block's place in the output: its x and y are exchanged.
    col = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) {
        if (row + j < cols && col < rows) {
            out[(row + j) * rows + col] = tile[threadIdx.x][threadIdx.y + j];
        }
    }
}

// One more column, and the 32 elements of a column lie in 32 banks.
extern "C" __global__ void transpose_tiled_33(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[TILE][TILE + 1];
    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS) {
        if (row + j < rows && col < cols) {
            tile[threadIdx.y + j][threadIdx.x] = in[(row + j) * cols + col];
        }
    }
    __syncthreads();
    col = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS) {
        if (row + j < cols && col < rows) {
            out[(row + j) * rows + col] = tile[threadIdx.x][threadIdx.y + j];
        }
    }
}
