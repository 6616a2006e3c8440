// Where the largest of each row of x (rows, cols) stands: the first of equals. One warp per row.
__device__ bool better(float value, int index, float than, int than_index) {
    return value > than || (value == than && index < than_index);
}

extern "C" __global__ void argmax(const float* x, int* out, int rows, int cols) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
    const int lane = threadIdx.x & 31;
    if (warp >= rows) return;
    float best = -3.4e38f;
    int where = cols;
    for (int c = lane; c < cols; c += 32) {
        if (better(x[warp * cols + c], c, best, where)) {
            best = x[warp * cols + c];
            where = c;
        }
    }
    for (int offset = 16; offset; offset >>= 1) {
        float other = __shfl_down_sync(0xffffffff, best, offset);
        int place = __shfl_down_sync(0xffffffff, where, offset);
        if (better(other, place, best, where)) {
            best = other;
            where = place;
        }
    }
    if (lane == 0) out[warp] = where;
}
