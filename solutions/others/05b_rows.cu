// Second right answers to the exercises of chapter 05b, by another way than the reference's: each earns all points.

// %% exercise=5.8
template <int EACH> __global__ void softmax_backward(const float* grad, const float* y, float* dx, int rows,
                                                     int columns) {
    __shared__ float board[1024];  // a tree in place of shuffles, and pointers that walk
    int t = threadIdx.x;
    const float *g = grad + blockIdx.x * columns, *p = y + blockIdx.x * columns;
    float* out = dx + blockIdx.x * columns;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        float products[EACH], ours[EACH];
        board[t] = 0.0f;
        for (int i = 0; i < EACH; i++) {
            int c = t + i * blockDim.x;
            ours[i] = c < columns ? p[c] : 0.0f;
            products[i] = c < columns ? ours[i] * g[c] : 0.0f;
            board[t] += products[i];
        }
        float dot = block_sum(board[t]);
        for (int i = 0; i < EACH; i++)
            if (t + i * blockDim.x < columns) out[t + i * blockDim.x] = products[i] - ours[i] * dot;
        g += gridDim.x * columns;
        p += gridDim.x * columns;
        out += gridDim.x * columns;
    }
}


// %% exercise=5.9
#define INFINITY __int_as_float(0x7f800000)
extern "C" __global__ void mended(const float* x, float* y, int columns) {
    extern __shared__ float row[];
    __shared__ float of_warp[2][32];  // a board for each of the two results, so that none is used again
    int t = threadIdx.x, start = blockIdx.x * columns;
    float top = -INFINITY, sum = 0.0f;
    for (int c = t; c < columns; c += blockDim.x) top = fmaxf(top, row[c] = x[start + c]);
    for (int o = 1; o < 32; o *= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, o));
    of_warp[0][t / 32] = top;
    __syncthreads();
    for (int w = 0; w < blockDim.x / 32; w++) top = fmaxf(top, of_warp[0][w]);
    for (int c = t; c < columns; c += blockDim.x) sum += row[c] = expf(row[c] - top);
    for (int o = 1; o < 32; o *= 2) sum += __shfl_xor_sync(0xffffffff, sum, o);
    of_warp[1][t / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < blockDim.x / 32; w++) sum += of_warp[1][w];
    for (int c = t; c < columns; c += blockDim.x) y[start + c] = row[c] / sum;
}


// %% exercise=5.10
template <int EACH> __global__ void rms_norm(const float* x, const float* weight, float* out, float* scale,
                                             float eps, int rows, int columns) {
    float w[EACH];
    for (int i = 0; i < EACH; i++) {
        int c = threadIdx.x + i * blockDim.x;
        w[i] = c < columns ? weight[c] : 0.0f;
    }
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const float* from = x + row * columns;
        float kept[EACH], squares = 0.0f;
        load<EACH>(from, kept, columns, 0.0f);
        for (int i = EACH - 1; i >= 0; --i) squares = fmaf(kept[i], kept[i], squares);
        float s = 1.0f / sqrtf(block_sum(squares) / (float)columns + eps);
        scale[row] = s;  // all threads write the same
        for (int i = 0; i < EACH; i++) {
            int c = threadIdx.x + i * blockDim.x;
            if (c < columns) out[row * columns + c] = w[i] * s * kept[i];
        }
    }
}

template <int EACH> __global__ void rms_norm_backward(const float* grad, const float* x, const float* weight,
                                                      const float* scale, float* dx, float* dw, int rows,
                                                      int columns) {
    float w[EACH], part[EACH];
    load<EACH>(weight, w, columns, 0.0f);
    for (int i = 0; i < EACH; i++) part[i] = 0.0f;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        float v[EACH], g[EACH], s = scale[row], dot = 0.0f;
        load<EACH>(x + row * columns, v, columns, 0.0f);
        load<EACH>(grad + row * columns, g, columns, 0.0f);
        for (int i = 0; i < EACH; i++) dot += g[i] * w[i] * v[i];  // with x in place of x_hat
        dot = block_sum(dot) * s * s * s / columns;
        for (int i = 0; i < EACH; i++) {
            part[i] = fmaf(g[i], v[i] * s, part[i]);
            g[i] = s * g[i] * w[i] - dot * v[i];
        }
        store<EACH>(dx + row * columns, g, columns);
    }
    store<EACH>(dw + blockIdx.x * columns, part, columns);
}
