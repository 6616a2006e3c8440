// Planted bugs: barriers.

// bug: barrier in a branch
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
// expect: barrier_divergence barrier-divergence also=races
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t < 32) {
        s[t] = x[t];
        __syncthreads();  // BUG
    } else {
        s[t] = 0.0f;
    }
    __syncthreads();
    out[t] = s[63 - t];
}

// bug: a loop whose end each thread decides for itself
// launch: <<<1, 64>>> left:i32[64]=0..63 rounds:i32[64]
// expect: barrier_divergence barrier-divergence
extern "C" __global__ void k(int* left, int* rounds) {
    int t = threadIdx.x, mine = left[t];
    while (mine > 0) {
        --mine;
        if (!__syncthreads_or(mine > 0)) break;  // BUG
        ++rounds[t];
    }
    __syncthreads();
    if (t == 0) rounds[0] += rounds[63];
}

// bug: counted in a branch
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
// expect: barrier_divergence barrier-divergence
extern "C" __global__ void k(const float* x, float* out) {
    int t = threadIdx.x;
    out[t] = 0.0f;
    if (x[t] > 20.0f) {
        out[t] = __syncthreads_count(x[t] > 30.0f);  // BUG
    }
    __syncthreads();
}

// bug: barrier in a branch within a warp
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: barrier_divergence barrier-divergence
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t % 2 == 0) __syncthreads();  // BUG
    out[t] = s[t];
    __syncthreads();
}

// bug: barrier in a loop of unequal length
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
// expect: barrier_divergence barrier-divergence
extern "C" __global__ void k(const float* x, float* out) {
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int j = 0; j < t % 3; ++j) {
        sum += x[j];
        __syncthreads();  // BUG
    }
    out[t] = sum;
    __syncthreads();
}

// bug: barrier after a break
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
// expect: barrier_divergence barrier-divergence
extern "C" __global__ void k(const float* x, float* out) {
    int t = threadIdx.x;
    for (int j = 0; j < 4; ++j) {
        if (x[t] + j > 60.0f) break;
        __syncthreads();  // BUG
    }
    out[t] = x[t];
    __syncthreads();
}
