// Correct kernels: guards, and values that are there.

// correct: guard before the access
// launch: <<<2, 64>>> x:f32[100]=1..100 y:f32[100] n=100
extern "C" __global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 3.0f) y[i] = i > 0 ? x[i - 1] : 0.0f;
}

// correct: the arms of ?: load only where they are chosen
// launch: <<<1, 64>>> x:f32[64]=1..64 y:f32[64] n=64
extern "C" __global__ void k(const float* x, float* y, int n) {
    unsigned int i = threadIdx.x;
    float left = i == 0u ? 0.0f : x[i - 1u];
    float right = i + 1 < n ? x[i + 1] : 0.0f;
    y[i] = left + right;
}

// correct: || stops before it loads
// launch: <<<1, 64>>> x:f32[50]=1..50 y:f32[50] n=50
extern "C" __global__ void k(const float* x, float* y, int n) {
    int i = threadIdx.x;
    if (i >= n || x[i] < 0.0f) return;
    y[i] = x[i];
}

// correct: a local array, filled where it is read
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
extern "C" __global__ void k(const float* x, float* out) {
    float last[4];
    for (int j = 0; j < 4; ++j) {
        if (j % 2 == threadIdx.x % 2) last[j] = x[j];
    }
    out[threadIdx.x] = last[threadIdx.x % 2 + 2];
}

// correct: a variable that every path sets
// launch: <<<1, 32>>> x:f32[32]=1..32 out:f32[32]
extern "C" __global__ void k(const float* x, float* out) {
    float v;
    if (x[threadIdx.x] > 5.0f) {
        v = 1.0f;
    } else {
        v = 2.0f;
    }
    out[threadIdx.x] = v;
}

// correct: cp.empty, written before it is read
// launch: <<<1, 32>>> x:f32[32]=1..32 y:f32[32]=empty
extern "C" __global__ void k(const float* x, float* y) {
    int t = threadIdx.x;
    y[t] = x[t];
    y[t] += 1.0f;
}

// correct: the divisor is looked at first
// launch: <<<1, 32>>> x:i32[32]=-5..26 out:i32[32]
extern "C" __global__ void k(const int* x, int* out) {
    int t = threadIdx.x;
    out[t] = x[t] != 0 ? 100 / x[t] : 0;
    if (x[t] != 0 && 7 % x[t] == 1) out[t] += 1;
}
