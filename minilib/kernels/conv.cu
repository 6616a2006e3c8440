// Convolution and pooling of planes, and causal convolution along time.
//
// A pixel y of the result reads pixel (y * up + k * step + shift) / down of the source for tap k, where that is
// whole: forward up is the stride, step the dilation, shift minus the padding and down 1; the way back to x has
// up 1, step minus the dilation, shift the padding and down the stride. A block has a tile of (tile_y, tile_x)
// pixels, and the source's pixels for it, tall rows of wide ones, in shared memory. What a kernel moves is said
// for rows that begin at a sector of 32 bytes; others cost up to a quarter more.

#define INFINITY __int_as_float(0x7f800000)  // its bits: kernels have no header that names it
#define OUT 8                                // channels of the result that a thread works out at once
#define LONGEST 8                            // taps of a causal convolution
#define TIME 64                              // tokens of a thread there

#define PLANES                                                                                               \
    int height, int width, int out_height, int out_width, int kernel_y, int kernel_x, int up_y, int up_x,    \
        int down_y, int down_x, int step_y, int step_x, int shift_y, int shift_x, int tile_y, int tile_x,    \
        int tall, int wide, int row

// The first pixel of the source that a tile from `start` on needs: rounded up.
__device__ int first_pixel(int start, int kernel, int up, int down, int step, int shift) {
    int first = start * up + min(0, (kernel - 1) * step) + shift;
    return first > 0 ? (first + down - 1) / down : first / down;
}

template <typename T>
__device__ void fill(T* patch, int count, T value) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) patch[i] = value;
}

// What a tile needs of `count` planes (height, width): pixel (y, x) goes to row y - top and column x - left of
// its plane in the patch. What lies outside stays as it is there. Lanes walk along whole rows.
template <typename From, typename To>
__device__ void fetch(To* patch, const From* from, int count, int height, int width, int top, int left, int tall,
                      int wide, int row) {
    int first = max(top, 0), begin = max(left, 0);
    int rows = max(min(top + tall, height) - first, 0), columns = max(min(left + wide, width) - begin, 0);
    for (int i = threadIdx.x; i < count * rows * columns; i += blockDim.x) {
        int x = begin + i % columns, y = first + i / columns % rows, plane = i / columns / rows;
        patch[(plane * tall + y - top) * row + x - left] = from[(plane * height + y) * width + x];
    }
}

// OUT planes of the result, of `outs` for each group, from all `sources` of the group, `chunk` at a time. The
// weight of a group lies (outs, sources, taps), or with `turned` (sources, outs, taps).
__device__ void convolve(const float* from, const float* weight, const float* bias, float* to, int groups,
                         int sources, int outs, int turned, int biased, int chunk, PLANES) {
    extern __shared__ __align__(16) float room[];
    __shared__ float added[OUT];
    int taps = kernel_y * kernel_x, t = threadIdx.x, rest = blockIdx.x;
    float *weights = room, *patch = room + chunk * taps * OUT;
    int across = (out_width + tile_x - 1) / tile_x, down = (out_height + tile_y - 1) / tile_y;
    int left = rest % across * tile_x, top = rest / across % down * tile_y;
    rest /= across * down;
    int parts = (outs + OUT - 1) / OUT, first = rest % parts * OUT, plane = rest / parts, group = plane % groups;
    int y = top + t / tile_x, x = left + t % tile_x;
    bool inside = t < tile_y * tile_x && y < out_height && x < out_width;
    top = first_pixel(top, kernel_y, up_y, down_y, step_y, shift_y);
    left = first_pixel(left, kernel_x, up_x, down_x, step_x, shift_x);
    from += plane * sources * height * width;
    to += (plane * outs + first) * out_height * out_width;
    weight += group * outs * sources * taps;
    fill(patch, chunk * tall * row, 0.0f);
    if (t < OUT) added[t] = biased && first + t < outs ? bias[group * outs + first + t] : 0.0f;
    __syncthreads();
    float sum[OUT];
#pragma unroll
    for (int j = 0; j < OUT; j++) sum[j] = added[j];
    for (int start = 0; start < sources; start += chunk) {
        int some = min(chunk, sources - start);
        fetch(patch, from + start * height * width, some, height, width, top, left, tall, wide, row);
        for (int i = t; i < some * taps * OUT; i += blockDim.x) {
            int tap = i % taps, q = i / taps, s = turned ? q / OUT : q % some, j = turned ? q % OUT : q / some;
            int at = turned ? (start + s) * outs + first + j : (first + j) * sources + start + s;
            weights[(s * taps + tap) * OUT + j] = first + j < outs ? weight[at * taps + tap] : 0.0f;
        }
        __syncthreads();
        for (int tap = 0; tap < taps && inside; tap++) {
            int py = y * up_y + tap / kernel_x * step_y + shift_y;
            int px = x * up_x + tap % kernel_x * step_x + shift_x;
            if (py % down_y == 0 && px % down_x == 0) {
                const float* pixel = patch + (py / down_y - top) * row + px / down_x - left;
                for (int s = 0; s < some; s++) {
                    float value = pixel[s * tall * row];
#pragma unroll
                    for (int j = 0; j < OUT; j += 4) {
                        float4 four = *(const float4*)(weights + (s * taps + tap) * OUT + j);
                        sum[j] += value * four.x, sum[j + 1] += value * four.y;
                        sum[j + 2] += value * four.z, sum[j + 3] += value * four.w;
                    }
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < OUT; j++)
        if (inside && first + j < outs) to[(j * out_height + y) * out_width + x] = sum[j];
}

// x (N, C, H, W), weight (O, C / groups, taps), bias (O,): y (N, O, H', W'). Grid (tiles x eighths of O / groups
// x groups x N), block (a thread for each pixel of a tile), shared memory for chunk * (OUT * taps + tall * row)
// floats. Moves x with the halo of tiles for each eight channels of y, the weight for each tile, and y.
extern "C" __global__ void conv(const float* x, const float* weight, const float* bias, float* y, int groups,
                                int sources, int outs, int biased, int chunk, PLANES) {
    convolve(x, weight, bias, y, groups, sources, outs, 0, biased, chunk, height, width, out_height, out_width,
             kernel_y, kernel_x, up_y, up_x, down_y, down_x, step_y, step_x, shift_y, shift_x, tile_y, tile_x,
             tall, wide, row);
}

// dx from dy: the same with both turned.
extern "C" __global__ void conv_backward_x(const float* dy, const float* weight, float* dx, int groups,
                                           int sources, int outs, int chunk, PLANES) {
    convolve(dy, weight, dy, dx, groups, sources, outs, 1, 0, chunk, height, width, out_height, out_width,
             kernel_y, kernel_x, up_y, up_x, down_y, down_x, step_y, step_x, shift_y, shift_x, tile_y, tile_x,
             tall, wide, row);
}

// The gradients of weight and bias from dy (N, O, H', W') and x, of `images` at a time: partial (N / images,
// numbers of the weight + O), whose rows are yet to be added up. A thread has one tap of one of `channels` of x,
// or 1 for the bias, and a part of the pixels, for OUT channels of dy. Grid (C / groups / channels x eighths of
// O / groups x groups x N / images), block (channels * taps + 1, as often as there are parts), shared memory for
// OUT * tile + channels * tall * row floats, and one for each thread. Moves x with the halo of tiles for each
// eight channels of dy, dy for each `channels` of x, and partial.
extern "C" __global__ void conv_backward_weight(const float* dy, const float* x, float* partial, int groups,
                                                int sources, int outs, int count, int images, int channels,
                                                PLANES) {
    extern __shared__ __align__(16) float room[];
    int taps = kernel_y * kernel_x, tile = tile_y * tile_x, rest = blockIdx.x, t = threadIdx.x;
    int pairs = channels * taps + 1, r = t % pairs, part = t / pairs, parts = blockDim.x / pairs;
    float *dys = room, *patch = room + tile * OUT, *sums = patch + channels * tall * row;
    int some = (sources + channels - 1) / channels, start = rest % some * channels;
    rest /= some;
    int eighths = (outs + OUT - 1) / OUT, first = rest % eighths * OUT, group = rest / eighths % groups;
    int chunk = rest / eighths / groups, end = min(count, (chunk + 1) * images), tap = r % taps, channel = r / taps;
    bool one = r == pairs - 1 && part < parts, mine = r < pairs - 1 && part < parts && start + channel < sources;
    some = min(channels, sources - start);
    int offset = (channel * tall + tap / kernel_x * step_y) * row + tap % kernel_x * step_x;
    float sum[OUT] = {};
    for (int image = chunk * images; image < end; image++) {
        int plane = image * groups + group;
        for (int top = 0; top < out_height; top += tile_y)
            for (int left = 0; left < out_width; left += tile_x) {
                fill(patch, channels * tall * row, 0.0f);
                for (int i = t; i < tile * OUT; i += blockDim.x) {
                    int j = i / tile, y = top + i % tile / tile_x, xx = left + i % tile % tile_x;
                    bool inside = first + j < outs && y < out_height && xx < out_width;
                    int at = ((plane * outs + first + j) * out_height + y) * out_width + xx;
                    dys[i % tile * OUT + j] = inside ? dy[at] : 0.0f;
                }
                __syncthreads();
                fetch(patch, x + (plane * sources + start) * height * width, some, height, width,
                      top * up_y + shift_y, left * up_x + shift_x, tall, wide, row);
                __syncthreads();
                for (int p = part; p < tile && (one || mine); p += parts) {
                    float value = one ? 1.0f : patch[offset + p / tile_x * up_y * row + p % tile_x * up_x];
#pragma unroll
                    for (int j = 0; j < OUT; j += 4) {
                        float4 four = *(const float4*)(dys + p * OUT + j);
                        sum[j] += value * four.x, sum[j + 1] += value * four.y;
                        sum[j + 2] += value * four.z, sum[j + 3] += value * four.w;
                    }
                }
                __syncthreads();
            }
    }
    int all = groups * outs * sources * taps, channel_of_y = group * outs + first;
    partial += chunk * (all + groups * outs);
#pragma unroll
    for (int j = 0; j < OUT; j++) {
        sums[t] = sum[j];
        __syncthreads();
        if (part == 0 && first + j < outs) {
            float total = 0.0f;
            for (int i = 0; i < parts; i++) total += sums[i * pairs + r];
            if (mine) partial[((channel_of_y + j) * sources + start) * taps + r] = total;
            if (one && start == 0) partial[all + channel_of_y + j] = total;
        }
        __syncthreads();
    }
}

// The largest of each window of `count` planes x (count, H, W): y (count, H', W'), and which tap it is, the first
// of them where several are. Grid (tiles x count / chunk), block (any), shared memory for chunk * tall * row
// floats. Moves x with the halo of tiles, y and winner, a byte each.
extern "C" __global__ void max_pool(const float* x, float* y, unsigned char* winner, int count, int chunk,
                                    PLANES) {
    extern __shared__ float room[];
    int across = (out_width + tile_x - 1) / tile_x, down = (out_height + tile_y - 1) / tile_y, rest = blockIdx.x;
    int left = rest % across * tile_x, top = rest / across % down * tile_y, plane = rest / across / down * chunk;
    int some = min(chunk, count - plane), first_y = top * up_y + shift_y, first_x = left * up_x + shift_x;
    fill(room, chunk * tall * row, -INFINITY);
    __syncthreads();
    fetch(room, x + plane * height * width, some, height, width, first_y, first_x, tall, wide, row);
    __syncthreads();
    for (int i = threadIdx.x; i < some * tile_y * tile_x; i += blockDim.x) {
        int px = i % tile_x, py = i / tile_x % tile_y, c = i / tile_x / tile_y, best = 0;
        if (top + py < out_height && left + px < out_width) {
            const float* window = room + (c * tall + py * up_y) * row + px * up_x;
            float most = window[0];
            for (int tap = 1; tap < kernel_y * kernel_x; tap++) {
                float value = window[tap / kernel_x * step_y * row + tap % kernel_x * step_x];
                if (value > most) best = tap;
                if (value > most || value != value) most = value;  // NaN stays
            }
            int to = ((plane + c) * out_height + top + py) * out_width + left + px;
            y[to] = most;
            winner[to] = best;
        }
    }
}

// dx (count, H', W'), here the result, from dy and winner (count, H, W), here the source: each pixel of x looks
// at the windows that it is in. Shared memory for twice chunk * tall * row numbers. Moves dy, winner and dx.
extern "C" __global__ void max_pool_backward(const float* dy, const unsigned char* winner, float* dx, int count,
                                             int chunk, PLANES) {
    extern __shared__ float room[];
    int* winners = (int*)(room + chunk * tall * row);
    int across = (out_width + tile_x - 1) / tile_x, down = (out_height + tile_y - 1) / tile_y, rest = blockIdx.x;
    int left = rest % across * tile_x, top = rest / across % down * tile_y, plane = rest / across / down * chunk;
    int some = min(chunk, count - plane), from = plane * height * width;
    int first_y = first_pixel(top, kernel_y, up_y, down_y, step_y, shift_y);
    int first_x = first_pixel(left, kernel_x, up_x, down_x, step_x, shift_x);
    fill(winners, chunk * tall * row, -1);
    __syncthreads();
    fetch(room, dy + from, some, height, width, first_y, first_x, tall, wide, row);
    fetch(winners, winner + from, some, height, width, first_y, first_x, tall, wide, row);
    __syncthreads();
    for (int i = threadIdx.x; i < some * tile_y * tile_x; i += blockDim.x) {
        int x = left + i % tile_x, y = top + i / tile_x % tile_y, c = i / tile_x / tile_y;
        if (y < out_height && x < out_width) {
            float sum = 0.0f;
            for (int tap = 0; tap < kernel_y * kernel_x; tap++) {
                int py = y * up_y + tap / kernel_x * step_y + shift_y;
                int px = x * up_x + tap % kernel_x * step_x + shift_x;
                int at = (c * tall + py / down_y - first_y) * row + px / down_x - first_x;
                if (py % down_y == 0 && px % down_x == 0 && winners[at] == tap) sum += room[at];
            }
            dx[((plane + c) * out_height + y) * out_width + x] = sum;
        }
    }
}

// y[t] = weight[K-1] x[t] + weight[K-2] x[t-1] + ... + bias for each channel: x and y (B, T, E), weight (E, K),
// bias (E,). A thread walks along TIME tokens and keeps the last of them in registers. Grid (E / threads x
// T / TIME x B), block (threads), shared memory for threads * K floats. Moves x and y, and K - 1 tokens and the
// weight once more for each TIME tokens.
extern "C" __global__ void causal_conv(const float* x, const float* weight, const float* bias, float* y, int T,
                                       int E, int K, int biased) {
    extern __shared__ float taps[];
    int across = (E + blockDim.x - 1) / blockDim.x, runs = (T + TIME - 1) / TIME, t = threadIdx.x;
    int first = blockIdx.x % across * blockDim.x, e = first + t, run = blockIdx.x / across;
    int start = run % runs * TIME, end = min(T, start + TIME), sample = run / runs;
    for (int i = t; i < blockDim.x * K && first * K + i < E * K; i += blockDim.x) taps[i] = weight[first * K + i];
    __syncthreads();
    if (e < E) {
        float now[LONGEST] = {}, factor[LONGEST], more = biased ? bias[e] : 0.0f;
#pragma unroll
        for (int i = 0; i < LONGEST; i++) factor[i] = i < K ? taps[t * K + K - 1 - i] : 0.0f;
        for (int time = start - K + 1; time < end; time++) {
            float sum = more;
#pragma unroll
            for (int i = LONGEST - 1; i > 0; i--) now[i] = now[i - 1];
            now[0] = time >= 0 ? x[(sample * T + time) * E + e] : 0.0f;
#pragma unroll
            for (int i = 0; i < LONGEST; i++) sum += factor[i] * now[i];
            if (time >= start) y[(sample * T + time) * E + e] = sum;
        }
    }
}

// dx from dy, and of each run of TIME tokens the gradients of weight and bias: partial (B x runs, E * K + E),
// whose rows are yet to be added up. Moves dy, x and dx, K - 1 tokens of both and the weight once more for each
// TIME tokens, and partial.
extern "C" __global__ void causal_conv_backward(const float* dy, const float* x, const float* weight, float* dx,
                                                float* partial, int T, int E, int K) {
    extern __shared__ float taps[];
    int across = (E + blockDim.x - 1) / blockDim.x, runs = (T + TIME - 1) / TIME, t = threadIdx.x;
    int first = blockIdx.x % across * blockDim.x, e = first + t, run = blockIdx.x / across;
    int start = run % runs * TIME, end = min(T, start + TIME), sample = run / runs;
    for (int i = t; i < blockDim.x * K && first * K + i < E * K; i += blockDim.x) taps[i] = weight[first * K + i];
    __syncthreads();
    if (e < E) {
        float now[LONGEST] = {}, slope[LONGEST] = {}, factor[LONGEST], total[LONGEST] = {}, all = 0.0f;
#pragma unroll
        for (int i = 0; i < LONGEST; i++) factor[i] = i < K ? taps[t * K + i] : 0.0f;
        for (int time = start - K + 1; time < end + K - 1; time++) {
            int at = (sample * T + time) * E + e;
            float sum = 0.0f;
#pragma unroll
            for (int i = LONGEST - 1; i > 0; i--) now[i] = now[i - 1], slope[i] = slope[i - 1];
            now[0] = time >= 0 && time < end ? x[at] : 0.0f;
            slope[0] = time >= start && time < T ? dy[at] : 0.0f;
#pragma unroll
            for (int i = 0; i < LONGEST; i++) sum += factor[i] * slope[i];
            if (time >= start + K - 1) dx[at - (K - 1) * E] = sum;
            if (time >= start && time < end) {
                all += slope[0];
#pragma unroll
                for (int i = 0; i < LONGEST; i++) total[i] += slope[0] * now[i];
            }
        }
        partial[run * (E * K + E) + E * K + e] = all;
#pragma unroll
        for (int i = 0; i < LONGEST; i++)
            if (i < K) taps[t * K + K - 1 - i] = total[i];
    }
    __syncthreads();
    for (int i = t; i < blockDim.x * K && first * K + i < E * K; i += blockDim.x)
        partial[run * (E * K + E) + first * K + i] = taps[i];
}
