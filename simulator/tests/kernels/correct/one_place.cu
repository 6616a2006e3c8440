// Correct kernels: who touches which place.

// correct: all write the same value
// launch: <<<2, 64>>> x:i32[128]=0..127 found:i32[1]
// expect: same-value
extern "C" __global__ void k(const int* x, int* found) {
    if (x[blockIdx.x * blockDim.x + threadIdx.x] > 10) *found = 1;
}

// correct: atomics of several kinds on one place
// launch: <<<2, 64>>> x:i32[2]
extern "C" __global__ void k(int* x) {
    atomicAdd(&x[0], 2 * (int)threadIdx.x);
    atomicMax(&x[1], (int)threadIdx.x);
    atomicOr(&x[0], 1);
}

// correct: largest float by atomicCAS
// launch: <<<2, 32>>> x:f32[64]=1..64 largest:i32[1]
extern "C" __global__ void k(const float* x, int* largest) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int seen = 0;
    while (x[i] > __int_as_float(seen)) {
        int old = atomicCAS(largest, seen, __float_as_int(x[i]));
        if (old == seen) break;
        seen = old;
    }
}

// correct: float4, aligned
// launch: <<<1, 16>>> x:f32[64]=1..64 y:f32[64]
extern "C" __global__ void k(const float* x, float* y) {
    int i = threadIdx.x;
    float4 v = reinterpret_cast<const float4*>(x)[i];
    v.x += 1.0f;
    *(float4*)&y[4 * i] = v;
}

// correct: written as float4, read one by one after a barrier
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ __align__(16) float s[64];
    int t = threadIdx.x;
    if (t < 16) *reinterpret_cast<float4*>(&s[4 * t]) = make_float4(x[t], 1.0f, 2.0f, 3.0f);
    __syncthreads();
    out[t] = s[63 - t];
}

// correct: bytes side by side are not one another
// launch: <<<1, 64>>> x:u8[64]=0..63 y:u8[64]
extern "C" __global__ void k(const unsigned char* x, unsigned char* y) {
    __shared__ unsigned char s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    y[t] = s[t] + 1;
}

// correct: blocks write side by side
// launch: <<<4, 16>>> x:f32[64]=1..64 out:f32[64]
extern "C" __global__ void k(const float* x, float* out) {
    int i = blockIdx.x + gridDim.x * threadIdx.x;
    out[i] = x[0];
}

// correct: all read what nobody writes
// launch: <<<2, 64>>> x:f32[128]=1..128 out:f32[128]
extern "C" __global__ void k(const float* x, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[0] + x[i % 2];
}

// correct: in place, each its own
// launch: <<<2, 32>>> x:f32[150]=1..150 n=150
extern "C" __global__ void k(float* x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        x[i] = x[i] * x[i];
    }
}
