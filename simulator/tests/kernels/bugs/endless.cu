// Kernels that never end.

// endless: a flag that a compiler reads once
// launch: <<<1, 64>>> flag:i32[1] out:i32[32]
extern "C" __global__ void k(int* flag, int* out) {
    if (threadIdx.x < 32) {
        while (flag[0] == 0) {}  // BUG
        out[threadIdx.x] = 1;
    } else {
        flag[0] = 1;
    }
}

// endless: a flag that nobody sets
// launch: <<<2, 64>>> x:f32[64]=1..64 data:f32[64] out:f32[64] flag:i32[1]
extern "C" __global__ void k(const float* x, float* data, float* out, int* flag) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        
        data[t] = 2.0f * x[t];
        __threadfence();
        __syncthreads();
        if (t == 0) ;
    } else {
        if (t == 0) {
            while (*(volatile int*)flag == 0) {}  // BUG
            __threadfence();
        }
        __syncthreads();
        out[t] = data[t];
    }
}

// endless: two blocks wait for each other
// launch: <<<2, 32>>> flag:i32[2]
extern "C" __global__ void k(volatile int* flag) {
    if (threadIdx.x == 0) {
        while (flag[1 - blockIdx.x] == 0) {}  // BUG
        flag[blockIdx.x] = 1;
    }
}

// endless: waits for what nobody writes
// launch: <<<1, 32>>> flag:i32[1] out:i32[32]
extern "C" __global__ void k(int* flag, int* out) {
    while (flag[0] == 0) {  // BUG
    }
    out[threadIdx.x] = 1;
}

// endless: the step does not step
// launch: <<<1, 32>>> out:i32[32] n=64
extern "C" __global__ void k(int* out, int n) {
    int i = threadIdx.x;
    while (i < n) {  // BUG
        out[i % 32] = i;
    }
}

// endless: a half that stays 0
// launch: <<<1, 32>>> out:i32[32] n=64
extern "C" __global__ void k(int* out, int n) {
    int sum = 0;
    for (int s = n / 2; s >= 0; s /= 2) {  // BUG
        sum += s;
    }
    out[threadIdx.x] = sum;
}

// endless: an unsigned index counts down past 0
// launch: <<<1, 32>>> out:i32[32] n=32
extern "C" __global__ void k(int* out, unsigned int n) {
    for (unsigned int i = n - 1; i >= 0; --i) {  // BUG
        if (i < 32) out[i] = i;
    }
}

// endless: runs past the end it waits for
// launch: <<<1, 32>>> out:i32[32]
extern "C" __global__ void k(int* out) {
    unsigned int i = threadIdx.x;
    for (; i != 1; i += 2) {  // BUG
        out[threadIdx.x] = 1;
    }
}
