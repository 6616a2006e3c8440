// One step of AdamW, in place. correction1 = 1 - beta1^step, correction2 = 1 - beta2^step.
extern "C" __global__ void adamw(float* param, const float* grad, float* m, float* v, int n, float lr,
                                 float beta1, float beta2, float eps, float weight_decay,
                                 float correction1, float correction2) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float g = grad[i];
    m[i] = beta1 * m[i] + (1.0f - beta1) * g;
    v[i] = beta2 * v[i] + (1.0f - beta2) * g * g;
    float p = param[i];
    p -= lr * weight_decay * p;
    p -= lr * (m[i] / correction1) / (sqrtf(v[i] / correction2) + eps);
    param[i] = p;
}
