// Cross entropy of logits (rows, classes) with one target each, and its gradient; one thread per row.
// A target of -100 is ignored: loss 0, gradient 0.
extern "C" __global__ void cross_entropy(const float* logits, const long long* targets, float* losses,
                                         float* gradient, int rows, int classes) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* z = logits + row * classes;
    float* dz = gradient + row * classes;
    const long long target = targets[row];
    if (target == -100) {
        losses[row] = 0.0f;
        for (int c = 0; c < classes; ++c) dz[c] = 0.0f;
        return;
    }
    float largest = z[0];
    for (int c = 1; c < classes; ++c) largest = max(largest, z[c]);
    float sum = 0.0f;
    for (int c = 0; c < classes; ++c) sum += expf(z[c] - largest);
    losses[row] = logf(sum) - (z[target] - largest);
    for (int c = 0; c < classes; ++c) {
        dz[c] = expf(z[c] - largest) / sum - (c == target ? 1.0f : 0.0f);
    }
}
