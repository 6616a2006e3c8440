// out[row][col] = 1000 * row + col, with a two-dimensional grid of two-dimensional blocks.
extern "C" __global__ void fill_2d(int* out, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) {
        out[row * cols + col] = 1000 * row + col;
    }
}
