// Taught in chapters/05b_rows.ipynb and solutions/05b_rows.ipynb: what they export is edited there, then `make promote`.

#define INFINITY __int_as_float(0x7f800000)  // its bits: kernels have no header that names it
#define ALL 0xffffffffu                      // lanes that take part in a shuffle

// Kernels on rows: a block has a row at a time and keeps it in registers, EACH numbers to a thread, so that each
// number is read once. The columns of thread t are t, t + blockDim.x, t + 2 blockDim.x, and so on.

__device__ float warp_sum(float x) {
    for (int lanes = 16; lanes > 0; lanes /= 2) x += __shfl_xor_sync(ALL, x, lanes);
    return x;
}

__device__ float warp_max(float x) {
    for (int lanes = 16; lanes > 0; lanes /= 2) x = fmaxf(x, __shfl_xor_sync(ALL, x, lanes));
    return x;
}

// The sum of x over all threads of the block, known to all of them.
__device__ float block_sum(float x) {
    __shared__ float of_warp[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    x = warp_sum(x);
    __syncthreads();  // somebody may still read what the last call wrote
    if (lane == 0) of_warp[warp] = x;
    __syncthreads();
    return warp_sum(lane < blockDim.x / 32 ? of_warp[lane] : 0.0f);
}

// The largest, known to all.
__device__ float block_max(float x) {
    __shared__ float of_warp[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    x = warp_max(x);
    __syncthreads();
    if (lane == 0) of_warp[warp] = x;
    __syncthreads();
    return warp_max(lane < blockDim.x / 32 ? of_warp[lane] : -INFINITY);
}

// This thread's numbers of a row, `beyond` in place of those that the row does not have; and back.
template <int EACH> __device__ void load(const float* row, float* mine, int columns, float beyond) {
    const float* at = row + threadIdx.x;  // one address that walks takes fewer registers than EACH addresses
#pragma unroll
    for (int i = 0; i < EACH; i++, at += blockDim.x)
        mine[i] = threadIdx.x + i * blockDim.x < columns ? *at : beyond;
}

template <int EACH> __device__ void store(float* row, const float* mine, int columns) {
    float* at = row + threadIdx.x;
#pragma unroll
    for (int i = 0; i < EACH; i++, at += blockDim.x)
        if (threadIdx.x + i * blockDim.x < columns) *at = mine[i];
}

// From here on all kernels: grid (blocks), each with rows blockIdx.x, blockIdx.x + gridDim.x, ...; block (threads)
// with threads a multiple of 32 and threads * EACH at least `columns`; arrays (rows, columns) if nothing is said.

// y = softmax(x). Moves 2 arrays.
template <int EACH> __global__ void __launch_bounds__(1024) softmax(const float* x, float* y, int rows, int columns) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns;
        float mine[EACH], top = -INFINITY, sum = 0.0f;
        load<EACH>(x + start, mine, columns, -INFINITY);
        for (int i = 0; i < EACH; i++) top = fmaxf(top, mine[i]);
        top = block_max(top);
        for (int i = 0; i < EACH; i++) {
            mine[i] = expf(mine[i] - top);  // 0 beyond the row: e to the power of minus infinity
            sum += mine[i];
        }
        sum = block_sum(sum);
        for (int i = 0; i < EACH; i++) mine[i] /= sum;
        store<EACH>(y + start, mine, columns);
    }
}

// For a row of any length, which is walked along and not kept: its largest number, and the sum of exp(x - largest),
// known to all. A thread that meets a larger number scales down what it has summed so far.
__device__ float2 top_and_sum(const float* row, int columns) {
    float top = -INFINITY, sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        float x = row[c], most = fmaxf(top, x), from = most == -INFINITY ? 0.0f : most;
        sum = sum * expf(top - from) + expf(x - from);
        top = most;
    }
    float most = block_max(top);
    return make_float2(most, block_sum(sum * expf(top - most)));
}

// y = softmax(x). Moves 3 arrays.
extern "C" __global__ void __launch_bounds__(1024) softmax_long(const float* x, float* y, int rows, int columns) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns;
        float2 all = top_and_sum(x + start, columns);
        for (int c = threadIdx.x; c < columns; c += blockDim.x) y[start + c] = expf(x[start + c] - all.x) / all.y;
    }
}

// dx = y (grad - the row's sum of grad y). Moves 3 arrays.
template <int EACH> __global__ void __launch_bounds__(1024)
    softmax_backward(const float* grad, const float* y, float* dx, int rows, int columns) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns;
        float mine[EACH], slope[EACH], sum = 0.0f;
        load<EACH>(y + start, mine, columns, 0.0f);
        load<EACH>(grad + start, slope, columns, 0.0f);
        for (int i = 0; i < EACH; i++) sum += mine[i] * slope[i];
        sum = block_sum(sum);
        for (int i = 0; i < EACH; i++) mine[i] *= slope[i] - sum;
        store<EACH>(dx + start, mine, columns);
    }
}

// The same, a row of any length. Moves 5 arrays.
extern "C" __global__ void __launch_bounds__(1024)
    softmax_backward_long(const float* grad, const float* y, float* dx, int rows, int columns) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns;
        float sum = 0.0f;
        for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += grad[start + c] * y[start + c];
        sum = block_sum(sum);
        for (int c = threadIdx.x; c < columns; c += blockDim.x) dx[start + c] = y[start + c] * (grad[start + c] - sum);
    }
}

// y = log(softmax(x)). Moves 2 arrays.
template <int EACH> __global__ void __launch_bounds__(1024)
    log_softmax(const float* x, float* y, int rows, int columns) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns;
        float mine[EACH], top = -INFINITY, sum = 0.0f;
        load<EACH>(x + start, mine, columns, -INFINITY);
        for (int i = 0; i < EACH; i++) top = fmaxf(top, mine[i]);
        top = block_max(top);
        for (int i = 0; i < EACH; i++) {
            mine[i] -= top;
            sum += expf(mine[i]);
        }
        float low = logf(block_sum(sum));
        for (int i = 0; i < EACH; i++) mine[i] -= low;
        store<EACH>(y + start, mine, columns);
    }
}

// The same, a row of any length. Moves 3 arrays.
extern "C" __global__ void __launch_bounds__(1024) log_softmax_long(const float* x, float* y, int rows, int columns) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns;
        float2 all = top_and_sum(x + start, columns);
        float low = logf(all.y);
        for (int c = threadIdx.x; c < columns; c += blockDim.x) y[start + c] = x[start + c] - all.x - low;
    }
}

// dx = grad - exp(y) times the row's sum of grad. Moves 3 arrays.
template <int EACH> __global__ void __launch_bounds__(1024)
    log_softmax_backward(const float* grad, const float* y, float* dx, int rows, int columns) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns;
        float mine[EACH], slope[EACH], sum = 0.0f;
        load<EACH>(y + start, mine, columns, 0.0f);
        load<EACH>(grad + start, slope, columns, 0.0f);
        for (int i = 0; i < EACH; i++) sum += slope[i];
        sum = block_sum(sum);
        for (int i = 0; i < EACH; i++) slope[i] -= expf(mine[i]) * sum;
        store<EACH>(dx + start, slope, columns);
    }
}

// The same, a row of any length. Moves 4 arrays.
extern "C" __global__ void __launch_bounds__(1024)
    log_softmax_backward_long(const float* grad, const float* y, float* dx, int rows, int columns) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns;
        float sum = 0.0f;
        for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += grad[start + c];
        sum = block_sum(sum);
        for (int c = threadIdx.x; c < columns; c += blockDim.x)
            dx[start + c] = grad[start + c] - expf(y[start + c]) * sum;
    }
}

// p = softmax(x); losses = share * -log p at the target, 0 where share is 0. target, share and losses (rows,).
// Moves 2 arrays.
template <int EACH> __global__ void __launch_bounds__(1024)
    cross_entropy(const float* x, const long long* target, const float* share, float* p, float* losses, int rows,
                  int columns) {
    __shared__ float at_target;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns, wanted = target[row];
        float mine[EACH], top = -INFINITY, sum = 0.0f;
        load<EACH>(x + start, mine, columns, -INFINITY);
        for (int i = 0; i < EACH; i++) top = fmaxf(top, mine[i]);
        top = block_max(top);
        for (int i = 0; i < EACH; i++) {
            if (threadIdx.x + i * blockDim.x == wanted) at_target = mine[i] - top;
            mine[i] = expf(mine[i] - top);
            sum += mine[i];
        }
        sum = block_sum(sum);
        if (threadIdx.x == 0) losses[row] = share[row] == 0.0f ? 0.0f : share[row] * (logf(sum) - at_target);
        for (int i = 0; i < EACH; i++) mine[i] /= sum;
        store<EACH>(p + start, mine, columns);
    }
}

// The same, a row of any length. Moves 3 arrays.
extern "C" __global__ void __launch_bounds__(1024)
    cross_entropy_long(const float* x, const long long* target, const float* share, float* p, float* losses, int rows,
                       int columns) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns, wanted = target[row];
        float2 all = top_and_sum(x + start, columns);
        if (threadIdx.x == 0 && share[row] == 0.0f) losses[row] = 0.0f;
        for (int c = threadIdx.x; c < columns; c += blockDim.x) {
            float below = x[start + c] - all.x;
            if (c == wanted && share[row] != 0.0f) losses[row] = share[row] * (logf(all.y) - below);
            p[start + c] = expf(below) / all.y;
        }
    }
}

// dx = grad share (p - 1 at the target). grad (rows,). Moves 2 arrays.
template <int EACH> __global__ void __launch_bounds__(1024)
    cross_entropy_backward(const float* grad, const long long* target, const float* share, const float* p, float* dx,
                           int rows, int columns) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns, wanted = target[row];
        float mine[EACH], scale = grad[row] * share[row];
        load<EACH>(p + start, mine, columns, 0.0f);
        for (int i = 0; i < EACH; i++) {
            bool here = threadIdx.x + i * blockDim.x == wanted;
            mine[i] = scale * mine[i] - (here ? scale : 0.0f);
        }
        store<EACH>(dx + start, mine, columns);
    }
}

// The same, a row of any length. Moves 2 arrays.
extern "C" __global__ void __launch_bounds__(1024)
    cross_entropy_backward_long(const float* grad, const long long* target, const float* share, const float* p,
                                float* dx, int rows, int columns) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns, wanted = target[row];
        float scale = grad[row] * share[row];
        for (int c = threadIdx.x; c < columns; c += blockDim.x)
            dx[start + c] = scale * p[start + c] - (c == wanted ? scale : 0.0f);
    }
}

// out = (x - mean) scale weight + bias, scale = 1 / sqrt(variance + eps). weight and bias (columns,), which each
// block reads once; mean and scale (rows,), the mean less the row's first number. Moves 2 arrays.
template <int EACH> __global__ void __launch_bounds__(1024)
    layer_norm(const float* x, const float* weight, const float* bias, float* out, float* mean, float* scale,
               float eps, int rows, int columns) {
    float w[EACH], b[EACH];
    load<EACH>(weight, w, columns, 0.0f);
    load<EACH>(bias, b, columns, 0.0f);
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns;
        float mine[EACH], first = x[start], sum = 0.0f, square = 0.0f;
        load<EACH>(x + start, mine, columns, first);
        for (int i = 0; i < EACH; i++) mine[i] -= first;  // large numbers that lie close keep their digits
        for (int i = 0; i < EACH; i++) sum += mine[i];
        sum = block_sum(sum) / columns;
        for (int i = 0; i < EACH; i++) mine[i] -= sum;
        for (int i = 0; i < EACH; i++) square += threadIdx.x + i * blockDim.x < columns ? mine[i] * mine[i] : 0.0f;
        float by = rsqrtf(block_sum(square) / columns + eps);
        if (threadIdx.x == 0) mean[row] = sum, scale[row] = by;
        for (int i = 0; i < EACH; i++) mine[i] = mine[i] * by * w[i] + b[i];
        store<EACH>(out + start, mine, columns);
    }
}

// dx, and what this block's rows add to dw and db: both (gridDim.x, columns). Moves 3 arrays.
template <int EACH> __global__ void __launch_bounds__(1024)
    layer_norm_backward(const float* grad, const float* x, const float* weight, const float* mean, const float* scale,
                        float* dx, float* dw, float* db, int rows, int columns) {
    float w[EACH], dws[EACH] = {}, dbs[EACH] = {};
    load<EACH>(weight, w, columns, 0.0f);
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns;
        float y[EACH], mine[EACH], sum = 0.0f, dot = 0.0f, first = x[start], by = scale[row];
        load<EACH>(x + start, y, columns, first);
        load<EACH>(grad + start, mine, columns, 0.0f);
        for (int i = 0; i < EACH; i++) {
            y[i] = (y[i] - first - mean[row]) * by;
            dws[i] += mine[i] * y[i];
            dbs[i] += mine[i];
            mine[i] *= w[i];
            sum += mine[i];
            dot += mine[i] * y[i];
        }
        sum = block_sum(sum) / columns;
        dot = block_sum(dot) / columns;
        for (int i = 0; i < EACH; i++) mine[i] = (mine[i] - sum - y[i] * dot) * by;
        store<EACH>(dx + start, mine, columns);
    }
    store<EACH>(dw + (long long)blockIdx.x * columns, dws, columns);
    store<EACH>(db + (long long)blockIdx.x * columns, dbs, columns);
}

// out = x scale weight, scale = 1 / sqrt(mean of squares + eps). scale (rows,), weight (columns,). Moves 2 arrays.
template <int EACH> __global__ void __launch_bounds__(1024)
    rms_norm(const float* x, const float* weight, float* out, float* scale, float eps, int rows, int columns) {
    float w[EACH];
    load<EACH>(weight, w, columns, 0.0f);
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns;
        float mine[EACH], square = 0.0f;
        load<EACH>(x + start, mine, columns, 0.0f);
        for (int i = 0; i < EACH; i++) square += mine[i] * mine[i];
        float by = rsqrtf(block_sum(square) / columns + eps);
        if (threadIdx.x == 0) scale[row] = by;
        for (int i = 0; i < EACH; i++) mine[i] *= by * w[i];
        store<EACH>(out + start, mine, columns);
    }
}

// dx, and what this block's rows add to dw, (gridDim.x, columns). Moves 3 arrays.
template <int EACH> __global__ void __launch_bounds__(1024)
    rms_norm_backward(const float* grad, const float* x, const float* weight, const float* scale, float* dx, float* dw,
                      int rows, int columns) {
    float w[EACH], dws[EACH] = {};
    load<EACH>(weight, w, columns, 0.0f);
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        long long start = (long long)row * columns;
        float y[EACH], mine[EACH], dot = 0.0f, by = scale[row];
        load<EACH>(x + start, y, columns, 0.0f);
        load<EACH>(grad + start, mine, columns, 0.0f);
        for (int i = 0; i < EACH; i++) {
            y[i] *= by;
            dws[i] += mine[i] * y[i];
            mine[i] *= w[i];
            dot += mine[i] * y[i];
        }
        dot = block_sum(dot) / columns;
        for (int i = 0; i < EACH; i++) mine[i] = (mine[i] - y[i] * dot) * by;
        store<EACH>(dx + start, mine, columns);
    }
    store<EACH>(dw + (long long)blockIdx.x * columns, dws, columns);
}
