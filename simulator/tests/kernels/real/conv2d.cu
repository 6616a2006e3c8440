// Convolution of x (N, C, H, W) with w (K, C, R, S), stride 1, `pad` zeros around: y (N, K, P, Q).
// One thread per element of the result, in all three kernels, so that no atomics are needed.

extern "C" __global__ void conv2d_forward(const float* x, const float* w, float* y, int N, int C, int H, int W,
                                          int K, int R, int S, int pad) {
    const int P = H + 2 * pad - R + 1, Q = W + 2 * pad - S + 1;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * K * P * Q) return;
    const int q = i % Q, p = i / Q % P, k = i / (Q * P) % K, n = i / (Q * P * K);
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) {
        for (int r = 0; r < R; ++r) {
            const int h = p + r - pad;
            if (h < 0 || h >= H) continue;
            for (int s = 0; s < S; ++s) {
                const int v = q + s - pad;
                if (v < 0 || v >= W) continue;
                sum += x[((n * C + c) * H + h) * W + v] * w[((k * C + c) * R + r) * S + s];
            }
        }
    }
    y[i] = sum;
}

extern "C" __global__ void conv2d_input_gradient(const float* dy, const float* w, float* dx, int N, int C, int H,
                                                 int W, int K, int R, int S, int pad) {
    const int P = H + 2 * pad - R + 1, Q = W + 2 * pad - S + 1;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * C * H * W) return;
    const int v = i % W, h = i / W % H, c = i / (W * H) % C, n = i / (W * H * C);
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        for (int r = 0; r < R; ++r) {
            for (int s = 0; s < S; ++s) {
                const int p = h - r + pad, q = v - s + pad;
                if (p >= 0 && p < P && q >= 0 && q < Q) {
                    sum += dy[((n * K + k) * P + p) * Q + q] * w[((k * C + c) * R + r) * S + s];
                }
            }
        }
    }
    dx[i] = sum;
}

extern "C" __global__ void conv2d_weight_gradient(const float* x, const float* dy, float* dw, int N, int C, int H,
                                                  int W, int K, int R, int S, int pad) {
    const int P = H + 2 * pad - R + 1, Q = W + 2 * pad - S + 1;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= K * C * R * S) return;
    const int s = i % S, r = i / S % R, c = i / (S * R) % C, k = i / (S * R * C);
    float sum = 0.0f;
    for (int n = 0; n < N; ++n) {
        for (int p = 0; p < P; ++p) {
            const int h = p + r - pad;
            if (h < 0 || h >= H) continue;
            for (int q = 0; q < Q; ++q) {
                const int v = q + s - pad;
                if (v >= 0 && v < W) {
                    sum += x[((n * C + c) * H + h) * W + v] * dy[((n * K + k) * P + p) * Q + q];
                }
            }
        }
    }
    dw[i] = sum;
}
