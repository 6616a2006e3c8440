// A polynomial by Horner's rule, in double: coefficients from the highest power down.
__device__ double horner_value(const double* c, int degree, double x) {
    double value = c[0];
    int k = 1;
    while (k <= degree) {
        value = fma(value, x, c[k++]);
    }
    return value;
}

extern "C" __global__ void horner(const double* c, int degree, const double* x, double* out, int n) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = horner_value(c, degree, x[i]);
}
