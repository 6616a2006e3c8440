// Planted bugs: within a warp.

// bug: warp reduction without __syncwarp
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: races warp array=s
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    for (int half = 16; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];  // BUG
    }
    out[t] = s[t];
}

// bug: neighbours exchange without __syncwarp
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: races warp array=s
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];  // OTHER
    out[t] = s[t ^ 1];  // BUG
}

// bug: a shuffle orders no memory
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: races warp array=s
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];  // OTHER
    float v = __shfl_xor_sync(0xffffffff, x[t], 1);
    out[t] = s[31 - t] + v;  // BUG
}

// bug: __syncwarp of one half does not order the other
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: races warp array=s
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];  // OTHER
    if (t < 16) __syncwarp(0x0000ffff);
    else __syncwarp(0xffff0000);
    out[t] = s[31 - t];  // BUG
}

// bug: one instruction writes twice to one element
// launch: <<<1, 32>>> out:i32[32]
// expect: races warp array=out
extern "C" __global__ void k(int* out) {
    out[threadIdx.x / 2] = threadIdx.x;  // BUG
}
