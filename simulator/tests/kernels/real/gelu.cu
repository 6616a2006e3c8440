// GELU with tanh, as GPT-2 has it, and its gradient.
#define SQRT_2_OVER_PI 0.7978845608f

extern "C" __global__ void gelu_forward(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    float inner = SQRT_2_OVER_PI * (v + 0.044715f * v * v * v);
    y[i] = 0.5f * v * (1.0f + tanhf(inner));
}

extern "C" __global__ void gelu_backward(const float* x, const float* dy, float* dx, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    float t = tanhf(SQRT_2_OVER_PI * (v + 0.044715f * v * v * v));
    float slope = SQRT_2_OVER_PI * (1.0f + 3.0f * 0.044715f * v * v);
    dx[i] = dy[i] * (0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * slope);
}
