// Planted bugs: what a kernel says of itself.

// bug: an assert that fails in one thread
// launch: <<<2, 32>>> x:f32[64]=1..64 y:f32[64] n=64
// expect: asserts assert at=((1,0,0),(17,0,0)) count=1
extern "C" __global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(x[i] != 50.0f);  // BUG
    y[i] = 1.0f / (x[i] - 50.0f);
}

// bug: an assert in a loop
// launch: <<<1, 32>>> x:f32[12]=1..12 y:f32[32] n=12
// expect: asserts assert count=32
extern "C" __global__ void k(const float* x, float* y, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        sum += x[i];
        assert(sum < 70.0f && "too large");  // BUG
    }
    y[threadIdx.x] = sum;
}

// bug: printf of a variable without a value
// launch: <<<1, 32>>> x:f32[32]=1..32 y:f32[32] n=32
// expect: uninitialised uninitialised array=sum at=((0,0,0),(31,0,0)) count=1
extern "C" __global__ void k(const float* x, float* y, int n) {
    float sum;
    if (threadIdx.x < 31) sum = x[threadIdx.x];
    printf("%f\n", sum);  // BUG
    y[threadIdx.x] = 0.0f;
}

// bug: printf of what is beyond the end
// launch: <<<1, 32>>> x:f32[32]=1..32 y:f32[32] n=32
// expect: out_of_bounds out-of-bounds array=x index=32
extern "C" __global__ void k(const float* x, float* y, int n) {
    y[threadIdx.x] = 0.0f;
    printf("%f\n", x[threadIdx.x + 1]);  // BUG
}

// bug: printf of what another thread writes
// launch: <<<1, 64>>> x:f32[64]=1..64 y:f32[64] n=64
// expect: races shared array=s index=63
extern "C" __global__ void k(const float* x, float* y, int n) {
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];  // OTHER
    if (threadIdx.x == 0) printf("%f %f\n", s[0], s[63]);  // BUG
    y[threadIdx.x] = s[threadIdx.x];
}
