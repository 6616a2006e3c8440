// out (rows, cols), contiguous, from a matrix whose rows and columns lie any number of elements apart.
extern "C" __global__ void copy_strided(const double* in, long long row_stride, long long col_stride, double* out,
                                        int rows, int cols) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols; i += blockDim.x * gridDim.x) {
        const int row = i / cols, col = i - row * cols;
        out[i] = *(in + row * row_stride + col * col_stride);
    }
}
