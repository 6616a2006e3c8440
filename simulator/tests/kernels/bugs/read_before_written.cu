// Planted bugs: read before written.

// bug: half of shared memory was never written
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
// expect: uninitialised uninitialised array=s index=32 at=((0,0,0),(32,0,0)) count=32
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t < 32) s[t] = x[t];
    __syncthreads();
    out[t] = s[t];  // BUG
}

// bug: a local array was not filled
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: uninitialised uninitialised array=last index=3 at=((0,0,0),(0,0,0)) count=32
extern "C" __global__ void k(const float* x, float* out) {
    float last[4];
    for (int j = 0; j < 3; ++j) last[j] = x[j];
    out[threadIdx.x] = last[3];  // BUG
}

// bug: a variable has a value in some threads only
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: uninitialised uninitialised at=((0,0,0),(0,0,0)) count=16
extern "C" __global__ void k(const float* x, float* out) {
    float v;
    if (threadIdx.x % 2 == 1) v = x[threadIdx.x];
    out[threadIdx.x] = v;  // BUG
}

// bug: a sum starts with nothing
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: uninitialised uninitialised
extern "C" __global__ void k(const float* x, float* out) {
    float sum;
    for (int j = 0; j < 4; ++j) {
        sum += x[j];  // BUG
    }
    out[threadIdx.x] = sum;
}

// bug: cp.empty is not zero
// launch: <<<1, 32>>> x:f32[32]=1..32 total:f32[32]=empty
// expect: uninitialised uninitialised array=total index=0 at=((0,0,0),(0,0,0)) count=32
extern "C" __global__ void k(const float* x, float* total) {
    total[threadIdx.x] += x[threadIdx.x];  // BUG
}
