// Taught in solutions/05d_training.ipynb: what it exports is edited there, then `make promote`.

// One step of Adam or AdamW for each number: x, mean and square change in place. `shrink` is 1 - lr * weight_decay
// of AdamW, `decay` the weight_decay of Adam; scale and eps are corrected for the first steps already.
// Grid (n / threads), block (threads). Moves 7 arrays: four in, three out.
extern "C" __global__ void adamw(float* x, const float* grad, float* mean, float* square, float shrink, float decay,
                                 float beta1, float rest1, float beta2, float rest2, float scale, float eps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float now = x[i], g = grad[i] + decay * now;
    float m = beta1 * mean[i] + rest1 * g, s = beta2 * square[i] + rest2 * (g * g);
    mean[i] = m;
    square[i] = s;
    x[i] = now * shrink - scale * (m / (sqrtf(s) + eps));
}
