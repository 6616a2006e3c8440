extern "C" __global__ void transpose(const float *x, int rows, int columns, float *y) {
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 32, column = blockIdx.x * 32;
    for (int i = ty; i < 32; i += 8) tile[i][tx] = x[(row + i) * columns + column + tx];
    __syncthreads();
    for (int i = ty; i < 32; i += 8) y[(column + i) * rows + row + tx] = tile[tx][i];
}
