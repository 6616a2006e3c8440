// Planted bugs: warp functions.

// bug: shuffle in a branch under the full mask
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: warp_sync warp-sync
extern "C" __global__ void k(const float* x, float* out) {
    int t = threadIdx.x;
    float v = x[t];
    if (t < 16) {
        v += __shfl_down_sync(0xffffffff, v, 8);  // BUG
    }
    out[t] = v;
}

// bug: shuffle from a lane outside the mask
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: warp_sync warp-sync
extern "C" __global__ void k(const float* x, float* out) {
    int t = threadIdx.x;
    float v = x[t];
    if (t < 16) {
        v = __shfl_sync(0x0000ffff, v, 20);  // BUG
    }
    out[t] = v;
}

// bug: shuffle from lanes that have returned
// launch: <<<1, 32>>> x:f32[32]=1..32 y:f32[32] n=20
// expect: warp_sync warp-sync
extern "C" __global__ void k(const float* x, float* y, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    y[t] = __shfl_down_sync(0xffffffff, x[t], 16);  // BUG
}

// bug: vote in a branch under the full mask
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: warp_sync warp-sync
extern "C" __global__ void k(const float* x, float* out) {
    int t = threadIdx.x;
    unsigned int votes = 0;
    if (t % 4 != 0) {
        votes = __ballot_sync(0xffffffff, x[t] > 5.0f);  // BUG
    }
    out[t] = __popc(votes);
}

// bug: __syncwarp that half of the warp never reaches
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
// expect: warp_sync warp-sync also=races
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    if (t < 16) {
        s[t] = x[t];
        __syncwarp();  // BUG
        out[t] = s[15 - t];
    } else {
        out[t] = 0.0f;
    }
}
