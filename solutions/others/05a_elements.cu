// Second right answers to the exercises of chapter 05a, by another way than the reference's: each earns all points.

// %% exercise=5.3
extern "C" __global__ void silu_backward(const float* dy, const float* x, float* dx, int n) {
    int step = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        float half = 0.5f * tanhf(0.5f * x[i]);  // s is 1/2 + half
        dx[i] = dy[i] * (0.5f + half + x[i] * (0.25f - half * half));
    }
}


// %% exercise=5.5
extern "C" __global__ void gather(const float* x, int first, const int* sizes, const int* steps, int axes,
                                  float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int behind = n, rest = i;
    for (int axis = 0; axis < axes; axis++) {  // from the first: how many numbers lie behind a step?
        behind /= sizes[axis];
        first += rest / behind * steps[axis];
        rest %= behind;
    }
    y[i] = x[first];
}
