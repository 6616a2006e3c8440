// The dot product of x and y in double, by one block that walks over both.
#define THREADS 256

extern "C" __global__ void dot(const float* x, const float* y, double* result, int n) {
    __shared__ double partial[THREADS];
    const unsigned int t = threadIdx.x;
    double sum = 0.0;
    for (int i = t; i < n; i += THREADS) {
        sum += (double)x[i] * y[i];
    }
    partial[t] = sum;
    for (unsigned int half = THREADS / 2; half > 0; half >>= 1) {
        __syncthreads();
        if (t < half) {
            partial[t] += partial[t + half];
        }
    }
    if (t == 0) {
        *result = partial[0];
    }
}
