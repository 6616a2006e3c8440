// Depthwise causal convolution, as Mamba has it: y[b, d, t] = bias[d] + sum_k w[d, k] * x[b, d, t - K + 1 + k],
// then SiLU. x and y are (batch, channels, time); grid (ceil(time / blockDim.x), channels, batch).
#define K 4

extern "C" __global__ void conv1d_causal(const float* x, const float* w, const float* bias, float* y,
                                         int channels, int time) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int d = blockIdx.y, b = blockIdx.z;
    if (t >= time) return;
    const float* channel = x + (b * channels + d) * time;
    float sum = bias[d];
#pragma unroll
    for (int k = 0; k < K; ++k) {
        const int from = t - (K - 1) + k;
        if (from >= 0) sum += w[d * K + k] * channel[from];
    }
    y[(b * channels + d) * time + t] = sum / (1.0f + expf(-sum));
}
