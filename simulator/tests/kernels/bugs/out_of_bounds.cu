// Planted bugs: out of bounds.

// bug: off by one
// launch: <<<2, 64>>> x:f32[100]=1..100 y:f32[100] n=100
// expect: out_of_bounds out-of-bounds array=y index=100 at=((1,0,0),(36,0,0)) count=1
extern "C" __global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) y[i] = 2.0f * i;  // BUG
}

// bug: no guard at all
// launch: <<<2, 64>>> x:f32[100]=1..100 y:f32[100] n=100
// expect: out_of_bounds out-of-bounds array=x index=100 at=((1,0,0),(36,0,0)) count=28
extern "C" __global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];  // BUG
    if (i < n) y[i] = v;
}

// bug: guard in the wrong order
// launch: <<<2, 64>>> x:f32[100]=1..100 y:f32[100] n=100
// expect: out_of_bounds out-of-bounds array=x index=100 at=((1,0,0),(36,0,0)) count=28
extern "C" __global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > 0.0f && i < n) {  // BUG
        y[i] = x[i];
    }
}

// bug: negative index
// launch: <<<1, 64>>> x:f32[64]=1..64 y:f32[64] n=64
// expect: out_of_bounds out-of-bounds array=x index=-1 at=((0,0,0),(0,0,0)) count=1
extern "C" __global__ void k(const float* x, float* y, int n) {
    int i = threadIdx.x;
    y[i] = x[i - 1];  // BUG
}

// bug: an unsigned index below zero
// launch: <<<1, 64>>> x:f32[64]=1..64 y:f32[64] n=64
// expect: out_of_bounds out-of-bounds array=x index=4294967295 at=((0,0,0),(0,0,0)) count=1
extern "C" __global__ void k(const float* x, float* y, int n) {
    unsigned int i = threadIdx.x;
    y[i] = x[i - 1u];  // BUG
}

// bug: threadIdx.x - 1 is unsigned too
// launch: <<<1, 32>>> x:f32[32]=1..32 y:f32[32] n=32
// expect: out_of_bounds out-of-bounds array=x index=4294967295 at=((0,0,0),(0,0,0)) count=1
extern "C" __global__ void k(const float* x, float* y, int n) {
    y[threadIdx.x] = x[threadIdx.x - 1];  // BUG
}

// bug: shared array too short
// launch: <<<1, 96>>> x:f32[96]=1..96 out:f32[96]
// expect: out_of_bounds out-of-bounds array=s index=64 at=((0,0,0),(64,0,0)) count=32
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];  // BUG
    __syncthreads();
    out[t] = s[t % 64];
}

// bug: too little dynamic shared memory
// launch: <<<1, 64, 128>>> x:f32[64]=1..64 out:f32[64]
// expect: out_of_bounds out-of-bounds array=s index=32 at=((0,0,0),(32,0,0)) count=32
extern "C" __global__ void k(const float* x, float* out) {
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = x[t];  // BUG
    __syncthreads();
    out[t] = s[t % 32];
}

// bug: the end of the last row
// launch: <<<1, (8, 8)>>> x:f32[64]=1..64 out:f32[64]
// expect: out_of_bounds out-of-bounds array=tile index=64 at=((0,0,0),(7,7,0)) count=1
extern "C" __global__ void k(const float* x, float* out) {
    __shared__ float tile[8][8];
    int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = x[8 * ty + tx];
    __syncthreads();
    out[8 * ty + tx] = tile[ty][tx + 1];  // BUG
}

// bug: local array too short
// launch: <<<1, 5>>> x:f32[5]=1..5 out:f32[5]
// expect: out_of_bounds out-of-bounds array=last index=4 at=((0,0,0),(4,0,0)) count=1
extern "C" __global__ void k(const float* x, float* out) {
    float last[4];
    for (int j = 0; j < 4; ++j) last[j] = x[j];
    out[threadIdx.x] = last[threadIdx.x];  // BUG
}

// bug: float4 beyond the end
// launch: <<<1, 8>>> x:f32[30]=1..30 y:f32[8]
// expect: out_of_bounds out-of-bounds array=x index=28 at=((0,0,0),(7,0,0)) count=1
extern "C" __global__ void k(const float* x, float* y) {
    int i = threadIdx.x;
    float4 v = *reinterpret_cast<const float4*>(&x[4 * i]);  // BUG
    y[i] = v.x + v.w;
}
