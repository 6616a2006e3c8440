// out[i] = sum of x[i - 3 .. i + 3], zeros outside. The block's part and its halo lie in shared memory.
#define RADIUS 3
#define THREADS 128

extern "C" __global__ void stencil(const float* x, float* out, int n) {
    __shared__ float part[THREADS + 2 * RADIUS];
    int i = blockIdx.x * THREADS + threadIdx.x;
    int at = threadIdx.x + RADIUS;
    part[at] = i < n ? x[i] : 0.0f;
    if (threadIdx.x < RADIUS) {
        // The first threads load both edges too.
        int left = i - RADIUS, right = i + THREADS;
        part[at - RADIUS] = left >= 0 ? x[left] : 0.0f;
        part[at + THREADS] = right < n ? x[right] : 0.0f;
    }
    __syncthreads();
    if (i < n) {
        float sum = 0.0f;
        for (int d = -RADIUS; d <= RADIUS; ++d) {
            sum += part[at + d];
        }
        out[i] = sum;
    }
}
