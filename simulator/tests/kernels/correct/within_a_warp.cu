// Correct kernels: a warp.

// correct: exchange in a warp, ordered by __syncwarp
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    out[t] = s[t ^ 1];
}

// correct: warp reduction that reads, waits and writes
// launch: <<<1, 64>>> x:f32[64]=1..64 out:f32[64]
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t % 32];
    if (t >= 32) return;
    for (int offset = 16; offset > 0; offset /= 2) {
        __syncwarp();
        float other = s[t ^ offset];
        __syncwarp();
        s[t] += other;
    }
    out[t] = s[t];
}

// correct: each half of a warp has its own mask
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t < 16) __syncwarp(0x0000ffff);
    else __syncwarp(0xffff0000);
    out[t] = s[t / 16 * 16 + (t + 1) % 16];
}

// correct: whole warps return
// launch: <<<1, 96>>> x:f32[96]=1..96 y:f32[96] n=2
extern "C" __global__ void k(const float* x, float* y, int n) {
    int row = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= n) return;
    float v = x[threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
    if (lane == 0) y[row] = v;
}

// correct: a shuffle under the mask of those that come
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
extern "C" __global__ void k(const float* x, float* out) {
    int t = threadIdx.x;
    float v = x[t];
    if (t < 16) {
        v += __shfl_xor_sync(0x0000ffff, v, 8);
    } else {
        v -= __shfl_xor_sync(0xffff0000, v, 8);
    }
    out[t] = v;
}

// correct: compaction with a ballot
// launch: <<<1, 96>>> x:i32[96]=0..95 out:i32[96] count:i32[1]
extern "C" __global__ void k(const int* x, int* out, int* count) {
    int t = threadIdx.x, lane = t % 32;
    unsigned int keep = __ballot_sync(0xffffffff, x[t] % 3 == 0);
    int start = 0;
    if (lane == 0) start = atomicAdd(count, __popc(keep));
    start = __shfl_sync(0xffffffff, start, 0);
    if (keep >> lane & 1) out[start + __popc(keep & ((1u << lane) - 1))] = x[t];
}
