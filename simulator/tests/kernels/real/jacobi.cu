// Each block solves one small system by Jacobi's method, until no unknown moves by more than `tolerance`.
#define MOST 64

extern "C" __global__ void jacobi(const float* A, const float* b, float* x, int* rounds, int n, float tolerance, int most) {
    __shared__ float old[MOST];
    const int row = threadIdx.x;
    const float* a = A + (blockIdx.x * n + row) * n;
    float now = 0.0f;
    int round = 0;
    bool moving = true;
    while (round < most && __syncthreads_or(moving)) {
        if (row < n) old[row] = now;
        __syncthreads();
        if (row < n) {
            float sum = b[blockIdx.x * n + row];
            for (int c = 0; c < n; ++c)
                if (c != row) sum -= a[c] * old[c];
            now = sum / a[row];
            moving = fabsf(now - old[row]) > tolerance;
        } else {
            moving = false;
        }
        ++round;
    }
    if (row < n) x[blockIdx.x * n + row] = now;
    if (row == 0) rounds[blockIdx.x] = round;
}
